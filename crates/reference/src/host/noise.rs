//! Times in which system software has a processor, one after the other.

use flitway_engine::Picos;
use flitway_engine::random::{Purpose, Stream};
use flitway_nic::Place;
use flitway_nic::host::program::Program;
use flitway_nic::host::story::{Story, Unit};

/// The last such time that has ended, or that which comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noise {
    begins: u64,
    length: u64,
    period: u64,
}

impl Noise {
    /// That of a process of the node that `place` names, if it has any.
    pub(crate) fn of(place: Place, process: usize, program: &dyn Program) -> Option<Self> {
        let noise = program.setup().noise?;
        let processor = place.node.index() as u64 * 256 + process as u64;
        let begins = Stream::new(place.seed, processor, Purpose::Noise).below(noise.period.0);
        Some(Noise { begins, length: noise.length.0, period: noise.period.0 })
    }

    /// Dates come in order.
    fn reach(&mut self, at: u64) {
        while self.begins + self.length < at {
            self.begins += self.period;
        }
    }

    /// When system software gives the processor back that it has at `at`.
    pub(crate) fn ends(&mut self, at: Picos) -> Option<Picos> {
        self.reach(at.0);
        let ends = self.begins + self.length;
        (self.begins <= at.0 && at.0 < ends).then_some(Picos(ends))
    }

    /// What is seen at `at` has waited, if system software gives the processor back then.
    pub(crate) fn has_held(&mut self, story: &mut Story, at: Picos) {
        self.reach(at.0);
        if self.begins + self.length == at.0 {
            story.pass(Unit::Poll, Picos(self.begins).max(story.until()));
            story.pass(Unit::Noise, at);
        }
    }
}
