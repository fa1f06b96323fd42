//! Random quantities of a case.

use flitway_engine::random::{Purpose, Stream};

/// A stream with a few more ways to draw.
pub(super) struct Dice(Stream);

impl Dice {
    /// One of several streams of a seed: what is drawn from one disturbs no other.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Dice(Stream::new(seed, stream, Purpose::Test))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Uniform, both ends included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// Like `between`, but half the time one of the ends.
    pub(super) fn corner(&mut self, low: u32, high: u32) -> u32 {
        match self.below(4) {
            0 => low,
            1 => high,
            _ => self.between(low, high),
        }
    }

    /// Like `between`, with every power of two equally likely.
    pub(super) fn scaled(&mut self, low: u32, high: u32) -> u32 {
        let ceiling = self.below(u64::from((high - low).max(1).ilog2()) + 2);
        self.between(low, high.min(low + ((1 << ceiling) - 1)))
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }
}
