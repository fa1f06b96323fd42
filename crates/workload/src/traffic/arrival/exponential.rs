//! Exponential gaps, on a grid of 1/256 of a cycle.

use super::bernoulli::Trials;
use super::{ArrivalArguments, ArrivalChoice, Arrivals, Process};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::{Rate, TrafficError};
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "exponential",
    aliases: &[Alias { name: "poisson", tool: "others" }],
    doc: "with exponential gaps: a Poisson process",
    details: "Gaps on a grid of 1/256 of a cycle; a packet is created in the cycle that holds its moment, so several \
              may be created in one cycle. Used by Sivaram's studies (OQ-A4).",
    parameters: &[],
};

/// Grid points a cycle.
const GRID: u64 = 256;

pub(super) fn read(_: &ArrivalArguments) -> Result<ArrivalChoice, ChoiceError> {
    Ok(Arc::new(Exponential))
}

#[derive(Debug)]
struct Exponential;

impl Process for Exponential {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, rate: Rate) -> Result<Arrivals, TrafficError> {
        Trials::fit(rate, rate.parts().checked_mul(GRID).ok_or(TrafficError::TooManyDigits)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cycles, rate};

    #[test]
    fn creations_in_a_cycle_are_poisson() {
        let created = cycles("exponential", rate(1, 1), 5, 100_000);
        let last = *created.last().unwrap();
        let mut counts = [0u32; 5];
        for group in created.chunk_by(|a, b| a == b) {
            counts[group.len().min(4)] += 1;
        }
        let mut expected = last as f64 * (-1.0f64).exp();
        for (creations, &count) in counts.iter().enumerate().skip(1).take(3) {
            expected /= creations as f64;
            // Within four standard deviations and the error of the grid, 1/512.
            let wide = 4.0 * expected.sqrt() + expected / 256.0;
            assert!((f64::from(count) - expected).abs() < wide, "{creations} in a cycle: {count}");
        }
    }
}
