//! Reproducible chance: one stream per component and purpose, so that a new draw disturbs nobody.
//!
//! A [`Stream`] is a xoshiro256++ generator keyed by (seed, component, purpose). Every draw is integer arithmetic, so
//! the same seed gives the same numbers on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// What a stream is for. Streams of one component with different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// When a source creates.
    Arrival = 1,
    /// To whom it sends.
    Destination = 2,
    /// How much it sends.
    Size = 3,
    /// Which virtual channel an injector picks.
    Lane = 4,
    /// Where a rank is placed.
    Placement = 5,
    /// A permutation drawn once for the whole machine.
    Permutation = 6,
    /// Cases made up by a test.
    Test = 7,
    /// When a node begins a multicast.
    Operation = 8,
    /// How much it multicasts.
    OperationSize = 9,
    /// In which of its groups.
    Group = 10,
    /// By way of which root.
    Root = 11,
    /// Who is in a group.
    Members = 12,
    /// Which lane a node forwards the packets of a multicast on.
    Forwarding = 13,
    /// Which packets a link corrupts.
    BitError = 14,
    /// When the first barrier of a group begins.
    FirstOperation = 15,
    /// By how much a process is late at a barrier.
    Imbalance = 16,
    /// Which switches a random topology joins.
    Wiring = 17,
    /// Which lane a node sends the messages of a barrier on.
    Synchronising = 18,
    /// Which nodes send and receive in an incast.
    Incast = 19,
    /// Which flits a link corrupts.
    FlitError = 20,
    /// Which lane a node answers a request on.
    Reply = 21,
    /// Which packets a link corrupts without anybody noticing.
    UndetectedError = 22,
    /// Which links fail, and when.
    Failure = 23,
    /// Which answers a link corrupts that have wires of their own.
    AnswerError = 24,
    /// When system software takes a processor first.
    Noise = 25,
}

/// The key of `component` for `purpose` in a run with `seed`.
fn key(seed: u64, component: u64, purpose: Purpose) -> u64 {
    // Each step passes through SplitMix64, whose output is a bijection of its state: distinct parts, distinct keys.
    [component, purpose as u64]
        .into_iter()
        .fold(seed, |key, part| SplitMix64::seed_from_u64(key).next_u64() ^ part)
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

/// Random numbers that are asked for by number, in any order. What is asked for twice is the same.
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Those of `component` for `purpose` in a run with `seed`.
    #[must_use]
    pub fn new(seed: u64, component: u64, purpose: Purpose) -> Self {
        Draws(SplitMix64::seed_from_u64(key(seed, component, purpose)).next_u64())
    }

    /// True with probability `threshold / 2^64`, the same for each `number`.
    #[inline]
    #[must_use]
    pub fn chance(self, number: u64, threshold: u64) -> bool {
        // The numbers that SplitMix64 gives one after the other, found without those before.
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let state = self.0.wrapping_add(number.wrapping_mul(STEP));
        SplitMix64::seed_from_u64(state).next_u64() < threshold
    }
}

impl Stream {
    /// The stream of `component` for `purpose` in a run with `seed`.
    #[must_use]
    pub fn new(seed: u64, component: u64, purpose: Purpose) -> Self {
        Stream(Xoshiro256PlusPlus::seed_from_u64(key(seed, component, purpose)))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number in `0..bound`, without bias (Lemire's multiply and reject).
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a range to draw from is not empty");
        let mut wide = u128::from(self.bits()) * u128::from(bound);
        if (wide as u64) < bound {
            let reject = bound.wrapping_neg() % bound;
            while (wide as u64) < reject {
                wide = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// True with probability `threshold / 2^64`.
    #[inline]
    pub fn chance(&mut self, threshold: u64) -> bool {
        self.bits() < threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_by_number_come_in_any_order_and_as_often_as_they_should() {
        let draws = Draws::new(3, 4, Purpose::FlitError);
        let quarter = u64::MAX / 4;
        let drawn: Vec<bool> = (0..100_000).map(|number| draws.chance(number, quarter)).collect();
        let again: Vec<bool> = (0..100_000).rev().map(|number| draws.chance(number, quarter)).collect();
        assert!(drawn.iter().eq(again.iter().rev()));
        let hits = drawn.iter().filter(|&&hit| hit).count();
        assert!((24_500..25_500).contains(&hits), "{hits} of 100,000 at a quarter");
        let in_a_row = drawn.windows(2).filter(|pair| pair[0] && pair[1]).count();
        assert!((5_900..6_600).contains(&in_a_row), "{in_a_row} pairs: neighbours do not know each other");
        let other = Draws::new(3, 5, Purpose::FlitError);
        assert!((0..64).any(|number| draws.chance(number, quarter) != other.chance(number, quarter)));
        assert!(!draws.chance(7, 0));
    }

    #[test]
    fn streams_are_reproducible_and_distinct() {
        let draw = |seed, component, purpose| Stream::new(seed, component, purpose).bits();
        assert_eq!(draw(1, 2, Purpose::Arrival), draw(1, 2, Purpose::Arrival));
        let mut all: Vec<u64> = Vec::new();
        for seed in 0..8 {
            for component in 0..64 {
                all.push(draw(seed, component, Purpose::Arrival));
                all.push(draw(seed, component, Purpose::Lane));
            }
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn below_is_uniform() {
        let mut stream = Stream::new(7, 0, Purpose::Test);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        // Each count has standard deviation 91; six of them are a wide margin for a fixed seed.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 550), "{counts:?}");
    }
}
