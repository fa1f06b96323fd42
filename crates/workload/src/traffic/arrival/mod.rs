//! When: the cycle in which each packet comes into being.
//!
//! All processes offer the same load; they differ in how evenly. Time is counted in *slots*, a whole number of them in
//! a cycle, numbered from 1 so that 0 is before the first; no floating point is used while running.
//!
//! Adding a process: one file with its entry, its reader and its draws, a variant of [`Arrivals`], and one line in
//! [`CATALOG`].

mod bernoulli;
mod bursts;
mod exponential;
mod periodic;
mod saturating;

use crate::catalog::{Catalog, Choice, ChoiceError};
use crate::traffic::{Rate, TrafficError};
use bernoulli::Trials;
use bursts::Bursts;
use flitway_engine::Cycle;
use flitway_engine::random::Stream;
use periodic::Periodic;
use std::fmt;
use std::sync::Arc;

/// Reads the parameters of a process.
pub type Reader = fn(&ArrivalArguments) -> Result<ArrivalChoice, ChoiceError>;

/// The parameters of a process, as written.
#[derive(Debug)]
pub struct ArrivalArguments(Choice);

/// A process with its parameters, not yet fitted to a rate.
pub type ArrivalChoice = Arc<dyn Process>;

/// All processes.
pub const CATALOG: Catalog<Reader> = Catalog::new(
    "arrival process",
    &[
        (bernoulli::ENTRY, bernoulli::read),
        (exponential::ENTRY, exponential::read),
        (bursts::ENTRY, bursts::read),
        (periodic::ENTRY, periodic::read),
        (saturating::ENTRY, saturating::read),
    ],
);

/// Reads a process: `bernoulli`, `bursts(on=200, off=600)`.
///
/// # Errors
/// If it is not in [`CATALOG`] or its parameters are wrong.
pub fn parse(text: &str) -> Result<ArrivalChoice, ChoiceError> {
    let (choice, read) = CATALOG.choose(text)?;
    read(&ArrivalArguments(choice))
}

/// A process that can be fitted to a rate.
pub trait Process: fmt::Debug + Send + Sync {
    /// Its name in [`CATALOG`].
    fn name(&self) -> &'static str;

    /// Fits it to a rate.
    ///
    /// # Errors
    /// If the numbers have more digits than exact arithmetic holds, or packets are too rare for the process.
    fn fit(&self, rate: Rate) -> Result<Arrivals, TrafficError>;

    /// True if it offers all that the network takes, whatever the load.
    fn ignores_load(&self) -> bool {
        false
    }
}

/// A process fitted to a rate. Immutable; each source has its own [`Progress`].
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// Creates nothing.
    Never,
    /// Independent trials: Bernoulli, and exponential on a finer grid.
    Trials(Trials),
    /// Trials in bursts.
    Bursts(Bursts),
    /// At equal intervals.
    Periodic(Periodic),
    /// Whenever asked; unasked, at equal intervals at full load.
    Saturating(Periodic),
}

/// How far a source has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The slot of the next creation, from 1.
    slot: u64,
    /// What the process carries on to the creation after it.
    carry: u64,
}

impl Arrivals {
    /// The first creation of a source.
    pub(crate) fn start(&self, stream: &mut Stream) -> Option<Progress> {
        match self {
            Arrivals::Never => None,
            Arrivals::Trials(trials) => trials.advance(Progress { slot: 0, carry: 0 }, stream),
            Arrivals::Bursts(bursts) => bursts.start(stream),
            Arrivals::Periodic(periodic) | Arrivals::Saturating(periodic) => periodic.start(stream),
        }
    }

    /// The creation after this one; `None` beyond the end of time.
    #[inline]
    pub(crate) fn advance(&self, progress: Progress, stream: &mut Stream) -> Option<Progress> {
        match self {
            Arrivals::Never => None,
            Arrivals::Trials(trials) => trials.advance(progress, stream),
            Arrivals::Bursts(bursts) => bursts.advance(progress, stream),
            Arrivals::Periodic(periodic) | Arrivals::Saturating(periodic) => periodic.advance(progress),
        }
    }

    /// The cycle of a creation.
    #[inline]
    pub(crate) fn cycle(&self, progress: Progress) -> Cycle {
        let slots = match self {
            Arrivals::Trials(trials) => trials.slots(),
            Arrivals::Bursts(bursts) => bursts.slots(),
            Arrivals::Never | Arrivals::Periodic(_) | Arrivals::Saturating(_) => 1,
        };
        let before = progress.slot - 1;
        // Most have one slot a cycle, and nothing to divide.
        Cycle(if slots == 1 { before } else { before / slots })
    }

    pub(crate) fn is_saturating(&self) -> bool {
        matches!(self, Arrivals::Saturating(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::Purpose;

    pub(super) fn rate(above: u128, below: u128) -> Rate {
        Rate::new(&[above], &[below]).unwrap()
    }

    /// The cycles of the first `count` creations.
    pub(super) fn cycles(arrival: &str, rate: Rate, seed: u64, count: usize) -> Vec<u64> {
        let arrivals = parse(arrival).unwrap().fit(rate).unwrap();
        let mut stream = Stream::new(seed, 0, Purpose::Arrival);
        let mut progress = arrivals.start(&mut stream);
        let mut cycles = Vec::new();
        while let Some(here) = progress.filter(|_| cycles.len() < count) {
            cycles.push(arrivals.cycle(here).0);
            progress = arrivals.advance(here, &mut stream);
        }
        cycles
    }

    /// The conformance kit of every process: the rate from the first cycle on, and at every load.
    #[test]
    fn the_number_of_creations_in_a_span_has_the_mean_of_the_rate() {
        for entry in CATALOG.entries() {
            assert_eq!(parse(entry.name).unwrap().name(), entry.name);
            for (above, below) in [(1, 100), (1, 7), (9, 10), (1, 1), (5, 2)] {
                let span = 500;
                let seeds = 250;
                let expected = 500.0 * above as f64 / below as f64;
                let mut total = 0;
                for seed in 0..seeds {
                    let cycles = cycles(entry.name, rate(above, below), seed, 2_000);
                    total += cycles.iter().filter(|&&cycle| cycle < span).count();
                }
                let mean = total as f64 / seeds as f64;
                // Bursts vary most: standard deviation of the count below 3 sqrt(n) + n / 2 at this span.
                let wide = 4.0 * (3.0 * expected.sqrt() + expected / 2.0) / (seeds as f64).sqrt();
                assert!((mean - expected).abs() < wide, "{}: {mean} against {expected}", entry.name);
            }
        }
    }

    #[test]
    fn a_rate_of_zero_creates_nothing() {
        for entry in CATALOG.entries() {
            assert_eq!(cycles(entry.name, rate(0, 1), 1, 5), [], "{}", entry.name);
        }
    }

    #[test]
    fn the_end_of_time_is_an_end_and_not_an_overflow() {
        for entry in CATALOG.entries() {
            if entry.name == "bursts" {
                let misfit = parse(entry.name).unwrap().fit(rate(1, 1 << 61));
                assert_eq!(misfit.unwrap_err(), TrafficError::TooRare);
                continue;
            }
            let cycles = cycles(entry.name, rate(1, 1 << 61), 1, 1_000);
            assert!(cycles.len() < 500 && cycles.is_sorted(), "{}: {}", entry.name, cycles.len());
        }
    }
}
