//! On-off bursts: trials while on, nothing while off.

use super::{ArrivalArguments, ArrivalChoice, Arrivals, Process, Progress};
use crate::catalog::{Alias, ChoiceError, Entry, Parameter};
use crate::fraction::{Chance, Fraction, fixed_point};
use crate::traffic::geometric::Geometric;
use crate::traffic::{Rate, TrafficError};
use flitway_engine::random::Stream;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "bursts",
    aliases: &[Alias { name: "on-off", tool: "BookSim2" }],
    doc: "in bursts: on and off periods of geometric length",
    details: "While on, a trial in every cycle as in bernoulli; while off, nothing. The rate while on is such that the \
              mean is the offered load, and may exceed the link's. BookSim2's on_off with alpha and beta has on = \
              1 / beta and off = 1 / alpha. The process is stationary from the first cycle on.",
    parameters: &[
        Parameter {
            name: "on",
            expected: "a mean length in cycles, 1 or more",
            default: Some("200"),
            doc: "Mean length of an on period in cycles. Default: chosen, some packets of 32 flits.",
        },
        Parameter {
            name: "off",
            expected: "a mean length in cycles, 1 or more",
            default: Some("200"),
            doc: "Mean length of an off period in cycles. Default: as long as on.",
        },
    ],
};

pub(super) fn read(arguments: &ArrivalArguments) -> Result<ArrivalChoice, ChoiceError> {
    let length = |place| {
        arguments.0.value(place, |text| {
            let number = text.trim_end_matches("cycles").trim_end();
            number.parse().ok().filter(|length: &Fraction| length.numerator() >= length.denominator())
        })
    };
    Ok(Arc::new(OnOff { on: length(0)?, off: length(1)? }))
}

#[derive(Debug)]
struct OnOff {
    on: Fraction,
    off: Fraction,
}

impl Process for OnOff {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, rate: Rate) -> Result<Arrivals, TrafficError> {
        let (part, while_on) = self.share(rate).ok_or(TrafficError::TooManyDigits)?;
        let slots = while_on.parts();
        let success = while_on.part(slots).ok_or(TrafficError::TooManyDigits)?;
        if rate.is_zero() {
            return Ok(Arrivals::Never);
        }
        // A draw goes through every period between two packets.
        let packets = while_on.times(self.on).ok_or(TrafficError::TooManyDigits)?;
        if packets.numerator.saturating_mul(PERIODS) < packets.denominator {
            return Err(TrafficError::TooRare);
        }
        Ok(Arrivals::Bursts(Bursts {
            slots,
            gap: Geometric::new(success),
            starts_on: Chance::new(part),
            on: Geometric::new(reciprocal(self.on)),
            off: Geometric::new(reciprocal(self.off)),
        }))
    }
}

impl OnOff {
    /// The part of time that is on, and the rate while on.
    fn share(&self, rate: Rate) -> Option<(Fraction, Rate)> {
        let (on, off) = (self.on, self.off);
        let above = u128::from(on.numerator()).checked_mul(off.denominator().into())?;
        let rest = u128::from(off.numerator()).checked_mul(on.denominator().into())?;
        let part = Rate::new(&[above], &[above.checked_add(rest)?])?;
        let part = Fraction::new(part.numerator.try_into().ok()?, part.denominator.try_into().ok()?)?;
        Some((part, rate.times(Fraction::new(part.denominator(), part.numerator())?)?))
    }
}

/// Most on periods to a packet: beyond it a draw takes longer than a thousandth of a second.
const PERIODS: u128 = 65_536;

/// One over a length of one or more, in 64-bit fixed point, not below the smallest.
fn reciprocal(length: Fraction) -> u128 {
    fixed_point(length.denominator().into(), length.numerator().into()).max(1)
}

/// Trials while on, `slots` in a cycle.
#[derive(Clone, Debug)]
pub struct Bursts {
    slots: u64,
    /// Failed trials between two creations, counted in slots that are on.
    gap: Geometric,
    starts_on: Chance,
    /// Cycles of an on period beyond its first.
    on: Geometric,
    /// Cycles of an off period beyond its first.
    off: Geometric,
}

impl Bursts {
    pub(super) fn slots(&self) -> u64 {
        self.slots
    }

    pub(super) fn start(&self, stream: &mut Stream) -> Option<Progress> {
        // Lengths are memoryless: what is left of the period at cycle 0 is as long as a whole one.
        let before = if self.starts_on.draw(stream) {
            Progress { slot: 0, carry: self.length(&self.on, stream)? }
        } else {
            Progress { slot: self.length(&self.off, stream)?, carry: self.length(&self.on, stream)? }
        };
        self.advance(before, stream)
    }

    /// `carry` is the number of slots left in the on period.
    #[inline]
    pub(super) fn advance(&self, progress: Progress, stream: &mut Stream) -> Option<Progress> {
        let Progress { mut slot, carry: mut left } = progress;
        let mut gap = self.gap.draw(stream) + 1;
        while gap > left {
            gap -= left;
            slot = slot.checked_add(left)?.checked_add(self.length(&self.off, stream)?)?;
            left = self.length(&self.on, stream)?;
        }
        Some(Progress { slot: slot.checked_add(gap)?, carry: left - gap })
    }

    /// The length of a period in slots.
    #[inline]
    fn length(&self, cycles: &Geometric, stream: &mut Stream) -> Option<u64> {
        (cycles.draw(stream) + 1).checked_mul(self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::super::tests::{cycles, rate};

    #[test]
    fn a_burst_that_carries_one_packet_a_cycle_shows_the_lengths() {
        // A rate of 1/4 with a quarter of the time on: every cycle that is on creates.
        let created = cycles("bursts(on=10, off=30)", rate(1, 4), 3, 400_000);
        let bursts: Vec<usize> = created.chunk_by(|a, b| *b == a + 1).map(<[u64]>::len).collect();
        let mean = created.len() as f64 / bursts.len() as f64;
        assert!((mean - 10.0).abs() < 0.25, "mean on period {mean}");
        let off = *created.last().unwrap() as f64 / bursts.len() as f64 - mean;
        assert!((off - 30.0).abs() < 0.75, "mean off period {off}");
        let of_one = bursts.iter().filter(|&&length| length == 1).count() as f64 / bursts.len() as f64;
        assert!((of_one - 0.1).abs() < 0.01, "periods of one cycle: {of_one}");
    }

    #[test]
    fn lengths_are_one_cycle_or_more() {
        assert!(parse("bursts(on=1/2)").is_err());
        assert!(parse("bursts(off=0)").is_err());
        assert!(parse("bursts(on=5 cycles, off=1)").is_ok());
    }
}
