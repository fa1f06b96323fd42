//! An independent trial in every slot: geometric gaps (OQ-A4).

use super::{ArrivalArguments, ArrivalChoice, Arrivals, Process, Progress};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::geometric::Geometric;
use crate::traffic::{Rate, TrafficError};
use flitway_engine::random::Stream;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "bernoulli",
    aliases: &[Alias { name: "geometric", tool: "others" }],
    doc: "in every cycle with the same probability",
    details: "One trial a cycle; gaps are geometric. Default process (OQ-A4). Where a node creates more than one packet \
              a cycle on average, a cycle has as few equal trials as hold the rate.",
    parameters: &[],
};

pub(super) fn read(_: &ArrivalArguments) -> Result<ArrivalChoice, ChoiceError> {
    Ok(Arc::new(Bernoulli))
}

#[derive(Debug)]
struct Bernoulli;

impl Process for Bernoulli {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, rate: Rate) -> Result<Arrivals, TrafficError> {
        Trials::fit(rate, rate.parts())
    }
}

/// Independent trials, `slots` in a cycle.
#[derive(Clone, Debug)]
pub struct Trials {
    slots: u64,
    gap: Geometric,
}

impl Trials {
    /// Trials in `slots` slots a cycle.
    pub(super) fn fit(rate: Rate, slots: u64) -> Result<Arrivals, TrafficError> {
        let success = rate.part(slots).ok_or(TrafficError::TooManyDigits)?;
        if success == 0 {
            return Ok(Arrivals::Never);
        }
        Ok(Arrivals::Trials(Trials { slots, gap: Geometric::new(success) }))
    }

    pub(super) fn slots(&self) -> u64 {
        self.slots
    }

    #[inline]
    pub(super) fn advance(&self, progress: Progress, stream: &mut Stream) -> Option<Progress> {
        let slot = progress.slot.checked_add(self.gap.draw(stream) + 1)?;
        Some(Progress { slot, carry: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cycles, rate};

    #[test]
    fn every_cycle_is_a_trial_of_its_own() {
        let created = cycles("bernoulli", rate(1, 4), 1, 50_000);
        assert!(created.is_sorted_by(|a, b| a < b), "at most one a cycle");
        // Given a creation, the next cycle has one again with probability 1/4: standard deviation 97.
        let again = created.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(again.abs_diff(12_500) < 400, "{again}");
    }

    #[test]
    fn a_rate_of_one_creates_in_every_cycle_from_the_first() {
        assert_eq!(cycles("bernoulli", rate(1, 1), 1, 5), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_rate_above_one_has_more_trials_in_a_cycle() {
        assert_eq!(cycles("bernoulli", rate(2, 1), 1, 5), [0, 0, 1, 1, 2]);
        let created = cycles("bernoulli", rate(5, 2), 1, 60_000);
        let most = created.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
        assert_eq!(most, Some(3));
    }
}
