//! Latencies of something that is counted: their exact sum, the largest, and how they are spread.

use crate::latencies::{Latencies, latencies, record};

/// Parts of a cycle, so that means of a few latencies can be summed up in whole numbers: then the sum does not depend on the
/// order of its parts.
const PARTS: u128 = 1 << 20;

/// A tally.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// In parts of a cycle.
    sum: u128,
    /// The largest, in cycles, rounded.
    pub max: u64,
    /// All of them, rounded; `None` while there is none, since most of a run counts nothing of most kinds.
    latencies: Option<Latencies>,
}

impl Tally {
    /// One of so many cycles.
    pub fn record(&mut self, cycles: u64) {
        self.record_mean(cycles, 1);
    }

    /// One that is the mean of `count` latencies whose sum is `cycles`.
    pub fn record_mean(&mut self, cycles: u64, count: u64) {
        let mean = u128::from(cycles) * PARTS / u128::from(count);
        let rounded = ((mean + PARTS / 2) / PARTS) as u64;
        self.count += 1;
        self.sum += mean;
        self.max = self.max.max(rounded);
        record(self.latencies.get_or_insert_with(latencies), rounded, 1);
    }

    /// Adds what another one has counted.
    pub fn add(&mut self, other: &Tally) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        if let Some(others) = &other.latencies {
            let added = self.latencies.get_or_insert_with(latencies).add(others);
            added.expect("histograms of one precision that grow as needed can be added");
        }
    }

    /// All of them, rounded; `None` if there is none.
    #[must_use]
    pub fn latencies(&self) -> Option<&Latencies> {
        self.latencies.as_ref()
    }

    /// The mean in cycles; not a number if there is nothing to take it of.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / PARTS as f64 / self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_exact_and_the_order_does_not_matter() {
        let mut one = Tally::default();
        one.record(10);
        one.record_mean(10, 4);
        let mut other = Tally::default();
        other.record(4);
        let mut sum = other.clone();
        sum.add(&one);
        one.add(&other);
        assert_eq!((one.count, one.max, one.latencies().unwrap().max()), (3, 10, 10));
        assert!((one.mean() - 5.5).abs() < 1e-12 && (sum.mean() - one.mean()).abs() < 1e-12);
        assert!(Tally::default().mean().is_nan());
    }
}
