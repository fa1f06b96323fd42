//! System noise: times in which system software has a processor.

use crate::Place;
use flitway_engine::Picos;
use flitway_engine::random::{Purpose, Stream};

/// System software takes a processor for a time, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// For how long; less than the period.
    pub length: Picos,
    /// From each beginning to the next.
    pub period: Picos,
}

/// The same, of one processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoiseOf {
    noise: Noise,
    /// When it begins first, in the first period.
    first: Picos,
}

impl NoiseOf {
    /// That of a process of the node that `place` names: it begins at a random date in the first period.
    pub(crate) fn new(noise: Noise, place: Place, process: u8) -> Self {
        let processor = u64::from(place.node.0) << 8 | u64::from(process);
        let first = Stream::new(place.seed, processor, Purpose::Noise).below(noise.period.0);
        NoiseOf { noise, first: Picos(first) }
    }

    /// Until when system software has the processor, if it does at `at`.
    pub(crate) fn until(&self, at: Picos) -> Option<Picos> {
        let since = at.0.checked_sub(self.first.0)? % self.noise.period.0;
        (since < self.noise.length.0).then(|| Picos(at.0 - since + self.noise.length.0))
    }

    /// Since when it has had it, if it does until `at`.
    pub(crate) fn since(&self, at: Picos) -> Option<Picos> {
        let begun = Picos(at.0.checked_sub(self.noise.length.0)?);
        let is_end = begun >= self.first && (begun.0 - self.first.0).is_multiple_of(self.noise.period.0);
        is_end.then_some(begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_software_has_a_processor_again_and_again() {
        let noise = Noise { length: Picos(10), period: Picos(100) };
        let noise = NoiseOf { noise, first: Picos(30) };
        let until = [0, 29, 30, 39, 40, 129, 130, 139].map(|at| noise.until(Picos(at)).map(|at| at.0));
        assert_eq!(until, [None, None, Some(40), Some(40), None, None, Some(140), Some(140)]);
        let since = [5, 30, 39, 40, 41, 140].map(|at| noise.since(Picos(at)).map(|at| at.0));
        assert_eq!(since, [None, None, None, Some(30), None, Some(130)]);
    }
}
