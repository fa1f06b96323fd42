//! Barriers as a measurement sees them: when the last process arrived, when the root knew, when processes were released.
//!
//! An operation is over when all members have been released. Until then what is known of it is kept, since its passages
//! and what the switches did for it are seen in several shards.
//!
//! An operation's *latency* is the time from its last arrival to its last release: T_combine + T_distribute of
//! hpp-switch.txt section 3.3, with the last leaf in both (OQ-H8). In the other reading, the mean over its releases.

use crate::stations::Stations;
use crate::tally::Tally;
use flitway_engine::Cycle;
use flitway_fabric::BarrierId;
use flitway_fabric::barrier::{Loss, Sequence};
use flitway_fabric::observer::{BarrierLoss, BarrierPassage};
use flitway_process::synchroniser::BarrierPlan;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What switches and processes have told of barriers.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    /// Operations that were complete at their roots: those of one group are in order.
    pub completions: Vec<(Cycle, BarrierId)>,
    /// Packets that were lost.
    pub losses: Vec<Lost>,
    /// Those that a rule said are lost.
    pub by_rule: Vec<BarrierLoss>,
    /// What processes have passed.
    pub passages: Vec<BarrierPassage>,
}

/// A barrier packet that was lost: when, of which group, of an even or an odd operation.
pub type Lost = (Cycle, BarrierId, Sequence);

/// Barriers that are over.
#[derive(Clone, Debug, Default)]
pub struct Barriers {
    /// From the last arrival to the last release.
    pub last: Tally,
    /// From the last arrival to the releases, in the mean over the members.
    pub mean: Tally,
    /// From the last arrival until the root knew of it, where there is one.
    pub combine: Tally,
    /// From then on to the last release.
    pub distribute: Tally,
    /// What they have taken in single switches.
    pub stations: Stations,
    /// The first again, of operations that have lost packets; in a total those of the warm-up are in it.
    pub disturbed: Tally,
    /// The first again, of all others; likewise.
    pub undisturbed: Tally,
    /// Packets that a rule said are lost; likewise.
    pub by_rule: Vec<BarrierLoss>,
    /// Tests that were answered, and those of them that were false.
    pub tests: u64,
    pub false_tests: u64,
}

impl Barriers {
    /// Adds what another batch has seen.
    pub fn add(&mut self, other: &Barriers) {
        self.last.add(&other.last);
        self.mean.add(&other.mean);
        self.combine.add(&other.combine);
        self.distribute.add(&other.distribute);
        self.stations.add(&other.stations);
        self.disturbed.add(&other.disturbed);
        self.undisturbed.add(&other.undisturbed);
        self.by_rule.extend(&other.by_rule);
        self.tests += other.tests;
        self.false_tests += other.false_tests;
    }

    /// Those of the rules `losses` that never came true: fewer packets arrived there. Of rules for the same packets those for
    /// the first ones came true.
    #[must_use]
    pub fn idle_rules(&self, losses: &[Loss]) -> Vec<usize> {
        let is_alike = |a: &Loss, b: &Loss| Loss { nth: 0, ..*a } == Loss { nth: 0, ..*b };
        let came_true = |rule: &Loss| {
            let matches = |lost: &&BarrierLoss| {
                (lost.component, lost.port) == (rule.component, rule.port)
                    && rule.counts(lost.group, lost.packet)
            };
            let earlier = losses.iter().filter(|other| is_alike(other, rule) && other.nth < rule.nth);
            self.by_rule.iter().filter(matches).count() > earlier.count()
        };
        (0..losses.len()).filter(|&rule| !came_true(&losses[rule])).collect()
    }

    fn count(&mut self, of: &Partial, is_disturbed: bool) {
        let latency = of.last_release.since(of.last_arrival);
        self.last.record(latency);
        let members = u64::from(of.members);
        self.mean.record_mean(of.releases - members * of.last_arrival.0, members);
        if let Some(completed) = of.completed {
            self.combine.record(completed.since(of.last_arrival));
            self.distribute.record(of.last_release.since(completed));
        }
        let tally = if is_disturbed { &mut self.disturbed } else { &mut self.undisturbed };
        tally.record(latency);
    }
}

/// What is known of operations that are not over.
#[derive(Debug)]
pub struct Book {
    plan: Arc<BarrierPlan>,
    /// By group and operation.
    open: BTreeMap<(u32, u32), Partial>,
    /// By group: operations that have been complete at the root.
    completed: Vec<u32>,
    losses: Vec<Lost>,
    by_rule: Vec<BarrierLoss>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    /// Members that have been released, and the sum of the cycles in which they were.
    members: u32,
    releases: u64,
    first_arrival: Option<Cycle>,
    last_arrival: Cycle,
    last_release: Cycle,
    completed: Option<Cycle>,
}

impl Book {
    /// An empty book of the operations of `plan`.
    #[must_use]
    pub fn new(plan: &Arc<BarrierPlan>) -> Self {
        let completed = vec![0; plan.barrier().groups().len()];
        Book {
            plan: Arc::clone(plan),
            open: BTreeMap::new(),
            completed,
            losses: Vec::new(),
            by_rule: Vec::new(),
        }
    }

    /// Enters what switches and processes have told.
    pub fn enter_signs(&mut self, signs: Signs) {
        for (now, group) in signs.completions {
            let operation = &mut self.completed[group.index()];
            self.open.entry((group.0, *operation)).or_default().completed = Some(now);
            *operation += 1;
        }
        self.losses.extend(signs.losses);
        self.by_rule.extend(signs.by_rule);
        signs.passages.into_iter().for_each(|passage| self.enter(passage));
    }

    /// Enters what a process has passed.
    fn enter(&mut self, passage: BarrierPassage) {
        let BarrierPassage { group, operation, arrived, released } = passage;
        let known = self.open.entry((group, operation)).or_default();
        known.members += 1;
        known.releases += released.0;
        known.first_arrival = Some(known.first_arrival.map_or(arrived, |first| first.min(arrived)));
        known.last_arrival = known.last_arrival.max(arrived);
        known.last_release = known.last_release.max(released);
    }

    /// Counts the operations that are over in `over`, and closes them.
    pub fn close(&mut self, over: &mut Barriers) {
        over.by_rule.append(&mut self.by_rule);
        let (plan, losses) = (&self.plan, &mut self.losses);
        self.open.retain(|&(group, operation), known| {
            let is_open = known.members < plan.members(group);
            if !is_open {
                over.count(known, takes_losses(losses, group, operation, known));
            }
            is_open
        });
    }
}

/// Takes the losses of an operation that is over out of `losses`; whether there were any. Of two operations of a group that
/// are alive at a time one is even and one is odd.
fn takes_losses(losses: &mut Vec<Lost>, group: u32, operation: u32, known: &Partial) -> bool {
    let mut has_lost = false;
    let first = known.first_arrival.unwrap_or_default();
    losses.retain(|&(at, of, sequence)| {
        let is_later = at > known.last_release;
        if of.0 != group || sequence != Sequence::of(operation.into()) || is_later {
            return true;
        }
        // What was lost before is of an earlier one, which did without.
        has_lost |= at >= first;
        false
    });
    has_lost
}
