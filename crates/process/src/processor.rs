//! The processor of a node: it does one thing at a time, in the order in which things come up.

use flitway_engine::Cycle;
use std::collections::VecDeque;

/// A processor, with what it will have done in known cycles.
#[derive(Debug)]
pub(crate) struct Processor<T> {
    free_at: Cycle,
    /// In the order of time.
    pending: VecDeque<(Cycle, T)>,
}

impl<T> Processor<T> {
    pub(crate) fn new() -> Self {
        Processor { free_at: Cycle::ZERO, pending: VecDeque::new() }
    }

    /// It works for `cycles`, from cycle `now` on or as soon as it has done what came up before. Says when it has done that.
    pub(crate) fn spend(&mut self, now: Cycle, cycles: u64) -> Cycle {
        self.free_at = self.free_at.max(now) + cycles;
        self.free_at
    }

    /// The same, and then there is `result`.
    pub(crate) fn work(&mut self, now: Cycle, cycles: u64, result: T) {
        let done = self.spend(now, cycles);
        self.pending.push_back((done, result));
    }

    /// The next thing that it has done by cycle `now`.
    pub(crate) fn done(&mut self, now: Cycle) -> Option<T> {
        let is_done = self.next().is_some_and(|at| at <= now);
        if is_done { self.pending.pop_front().map(|(_, result)| result) } else { None }
    }

    /// When it has done something next.
    pub(crate) fn next(&self) -> Option<Cycle> {
        self.pending.front().map(|&(at, _)| at)
    }
}
