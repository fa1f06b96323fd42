//! A world of the barrier protocol as one whose states can be looked at.

use super::words;
use super::world::{Meaning, Outcome, Snapshot, Step, World};
use crate::explore;

impl explore::Model for World {
    type Snapshot = Snapshot;
    type Step = Step;
    type Outcome = Outcome;
    const STUCK: &'static str = "from here on no barrier can complete";

    fn first(&self) -> Snapshot {
        self.fresh()
    }

    fn each(&self, snapshot: &Snapshot, visit: impl FnMut(Step, &Outcome)) {
        self.each_step(snapshot, visit);
    }

    fn next(outcome: &Outcome) -> &Snapshot {
        &outcome.next
    }

    fn meaning(outcome: &Outcome) -> explore::Meaning {
        match outcome.meaning {
            Meaning::Nothing => explore::Meaning::Nothing,
            Meaning::Complete => explore::Meaning::Progress,
            Meaning::Unsafe { .. } => explore::Meaning::Unsafe,
        }
    }

    fn width(&self) -> usize {
        self.width_below(0)
    }

    fn key(&self, snapshot: &Snapshot) -> u128 {
        self.number(snapshot)
    }

    fn snapshot(&self, key: u128) -> Snapshot {
        self.numbered(key)
    }

    fn line(&self, before: &Snapshot, step: Step, outcome: &Outcome) -> String {
        words::line(self, before, step, outcome)
    }

    fn violation(&self, outcome: &Outcome) -> String {
        let Meaning::Unsafe { leaf, missing } = outcome.meaning else {
            return "nothing is wrong".to_owned();
        };
        let name = |member: usize| &self.tree.members[member].name;
        format!("{} is released, but {} has not arrived", name(leaf), name(missing))
    }
}
