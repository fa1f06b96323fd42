//! At equal intervals.

use super::{ArrivalArguments, ArrivalChoice, Arrivals, Process, Progress};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::{Rate, TrafficError};
use flitway_engine::random::Stream;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "periodic",
    aliases: &[Alias { name: "regular", tool: "others" }],
    doc: "at equal intervals, from a random moment on",
    details: "Moments are exact to 2^-64 of a cycle; a packet is created in the cycle that holds its moment. The first \
              moment of each node is drawn from one interval.",
    parameters: &[],
};

pub(super) fn read(_: &ArrivalArguments) -> Result<ArrivalChoice, ChoiceError> {
    Ok(Arc::new(AtEqualIntervals))
}

#[derive(Debug)]
struct AtEqualIntervals;

impl Process for AtEqualIntervals {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, rate: Rate) -> Result<Arrivals, TrafficError> {
        Ok(Periodic::fit(rate).map_or(Arrivals::Never, Arrivals::Periodic))
    }
}

/// Equal intervals.
#[derive(Clone, Copy, Debug)]
pub struct Periodic {
    /// Cycles from creation to creation in 64-bit fixed point, below 2^126.
    interval: u128,
}

impl Periodic {
    /// `None` for a rate of zero, or so small that a simulation never comes to the second packet.
    pub(super) fn fit(rate: Rate) -> Option<Self> {
        rate.interval().map(|interval| Periodic { interval })
    }

    pub(super) fn start(self, stream: &mut Stream) -> Option<Progress> {
        let bits = u128::from(stream.bits());
        let phase = (self.interval >> 64) * bits + (((self.interval & u128::from(u64::MAX)) * bits) >> 64);
        Some(Progress { slot: (phase >> 64) as u64 + 1, carry: phase as u64 })
    }

    /// `carry` is the part of a cycle beyond the slot.
    #[inline]
    pub(super) fn advance(self, progress: Progress) -> Option<Progress> {
        let moment = (u128::from(progress.slot) << 64) + u128::from(progress.carry);
        let next = moment.checked_add(self.interval)?;
        Some(Progress { slot: (next >> 64) as u64, carry: next as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cycles, rate};

    #[test]
    fn intervals_are_equal_to_the_cycle_and_do_not_drift() {
        let created = cycles("periodic", rate(3, 10), 1, 3_001);
        assert!(created.windows(2).all(|pair| matches!(pair[1] - pair[0], 3 | 4)));
        assert!((created[3_000] - created[0]).abs_diff(10_000) <= 1);
    }

    #[test]
    fn the_first_moment_lies_in_the_first_interval() {
        let first: Vec<u64> = (0..200).map(|seed| cycles("periodic", rate(1, 16), seed, 1)[0]).collect();
        assert!(first.iter().all(|&cycle| cycle < 16));
        assert!((0..16).all(|cycle| first.contains(&cycle)));
    }
}
