//! The two ends of a channel: what has come and what may be sent, in runs of one a cycle.

use super::packet_state::{Inbox, Mail, Run};
use super::{Cx, Sp};
use flitway_engine::Cycle;
use flitway_fabric::component::PostOf;
use flitway_fabric::simulation::Wire;
use std::collections::VecDeque;

/// Things that count from certain cycles on: flits that come into a FIFO, credits that come back.
#[derive(Debug, Default)]
pub(super) struct DatedCredits {
    /// All of them.
    total: u32,
    /// Those that count already.
    now: u32,
    /// Those to come, in order.
    later: VecDeque<Run>,
}

impl DatedCredits {
    /// With `now` of them from the start.
    pub(super) fn new(now: u32) -> Self {
        DatedCredits { total: now, now, later: VecDeque::new() }
    }

    /// More of them: one a cycle, or all at once.
    pub(super) fn add(&mut self, run: Run) {
        self.total += run.count;
        match self.later.back_mut() {
            Some(last) if !run.bulk && !last.bulk && last.at + u64::from(last.count) == run.at => {
                last.count += run.count;
            }
            _ => self.later.push_back(run),
        }
    }

    /// How many count in cycle `now`, which comes no earlier than in the calls before.
    pub(super) fn at(&mut self, now: Cycle) -> u32 {
        while let Some(run) = self.later.front_mut() {
            if run.at > now {
                break;
            }
            let passed = now.0 - run.at.0 + 1;
            if run.bulk || passed >= u64::from(run.count) {
                self.now += run.count;
                self.later.pop_front();
            } else {
                self.now += passed as u32;
                run.count -= passed as u32;
                run.at = now + 1;
            }
        }
        self.now
    }

    /// How many can be taken, one a cycle from cycle `now` on, without a gap, as far as known.
    pub(super) fn in_a_row(&mut self, now: Cycle) -> u32 {
        let mut count = self.at(now);
        for run in &self.later {
            if count == 0 || run.at > now + u64::from(count) {
                break;
            }
            count += run.count;
        }
        count
    }

    /// Takes `count` out, as [`DatedCredits::in_a_row`] allows.
    pub(super) fn take(&mut self, count: u32) {
        self.total -= count;
        let mut left = count;
        let now = left.min(self.now);
        self.now -= now;
        left -= now;
        while left > 0 {
            let run = self.later.front_mut().expect("no more is taken than is known to come");
            let part = left.min(run.count);
            if part == run.count {
                self.later.pop_front();
            } else if run.bulk {
                // What is left of it counts in the same cycle.
                run.count -= part;
            } else {
                run.at += u64::from(part);
                run.count -= part;
            }
            left -= part;
        }
    }

    /// The cycle in which number `index`, of those that have not been taken, counts; `None` if it is not known yet. Those that
    /// count already do so in cycle zero.
    pub(super) fn when(&self, index: u32) -> Option<Cycle> {
        if index < self.now {
            return Some(Cycle::ZERO);
        }
        let mut before = self.now;
        for run in &self.later {
            if index < before + run.count {
                return Some(if run.bulk { run.at } else { run.at + u64::from(index - before) });
            }
            before += run.count;
        }
        None
    }

    /// All of them.
    #[inline]
    pub(super) fn total(&self) -> u32 {
        self.total
    }
}

/// Puts `mail` into the inbox of the component at the other end of `wire`, which reads it by cycle `by`.
pub(super) fn post(post: &mut PostOf<Sp>, wire: &Wire, by: Cycle, mail: Mail) {
    match post.inbox(wire.peer, by) {
        Some(inbox) => Inbox::accept(inbox, mail),
        None => post.send_away(wire.peer, by, mail),
    }
}

/// Tells the switch or node at the other end of `wire` that `count` flits are sent from cycle `at` on, one a cycle.
pub(super) fn send_flits<O>(cx: &mut Cx<'_, O>, wire: &Wire, at: Cycle, count: u32, is_for_node: bool) {
    let pipeline = &cx.shared.settings.pipeline;
    let on_wire = at + u64::from(pipeline.transmit + wire.latency);
    // The first flit may complete a header, and then there is a request. A node has the packet with its last flit.
    let felt = if is_for_node { count } else { pipeline.receive + pipeline.route - 1 };
    let by = on_wire + u64::from(felt);
    let run = Run { at: on_wire, count, bulk: false, port: wire.port };
    post(cx.post, wire, by, Mail::Flits(run));
}

/// Tells the sender at the other end of `wire` that `count` flits leave the FIFO from cycle `at` on, one a cycle or at once.
pub(super) fn send_credits<O>(cx: &mut Cx<'_, O>, wire: &Wire, at: Cycle, count: u32, bulk: bool) {
    let counts = at + u64::from(cx.shared.settings.credit + wire.latency);
    let run = Run { at: counts, count, bulk, port: wire.port };
    post(cx.post, wire, Cycle::NEVER, Mail::Credits(run));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(at: u64, count: u32, bulk: bool) -> Run {
        Run { at: Cycle(at), count, bulk, port: 0 }
    }

    #[test]
    fn runs_count_one_a_cycle_and_bulks_at_once() {
        let mut supply = DatedCredits::new(1);
        supply.add(run(10, 3, false));
        supply.add(run(13, 2, false));
        supply.add(run(20, 8, true));
        assert_eq!((supply.at(Cycle(9)), supply.when(1), supply.total()), (1, Some(Cycle(10)), 14));
        assert_eq!(
            (supply.when(0), supply.when(3), supply.when(6)),
            (Some(Cycle(0)), Some(Cycle(12)), Some(Cycle(20)))
        );
        assert_eq!((supply.at(Cycle(11)), supply.when(14)), (3, None));
        assert_eq!(
            supply.in_a_row(Cycle(11)),
            6,
            "one a cycle as they come; what comes at 20 comes too late"
        );
        supply.take(4);
        assert_eq!((supply.at(Cycle(12)), supply.at(Cycle(14)), supply.when(2)), (0, 2, Some(Cycle(20))));
        assert_eq!(supply.in_a_row(Cycle(18)), 10);
        supply.take(7);
        assert_eq!((supply.at(Cycle(19)), supply.at(Cycle(20))), (0, 3));
    }
}
