//! A lock that is handed round: what is measured with `--nic 'lock(...)'`.
//!
//! Each process takes the lock, holds it, frees it, and takes it again when it has heard that it is free. *By the NIC* of the
//! node that has the lock, a process waits there for its turn. *By trying again* its try is refused while another has the
//! lock; it waits for a time that doubles with each refusal, and tries again.

use crate::operator::Done;
use flitway_engine::Picos;
use flitway_nic::host::program::{Completion, CompletionKind, Operation, Program, Submission, Verb};
use flitway_nic::host::story::{Story, Unit};
use flitway_wiring::NodeId;
use std::any::Any;

/// How a process comes to a lock that another has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// It waits for its turn at the NIC of the lock.
    Turn,
    /// It tries again, after that time when it has been refused once.
    Again(Picos),
}

impl Taking {
    /// What it asks for.
    #[must_use]
    pub const fn verb(self) -> Verb {
        match self {
            Taking::Turn => Verb::Lock,
            Taking::Again(_) => Verb::TryLock,
        }
    }
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockerSettings {
    /// The node of the lock.
    pub home: NodeId,
    /// How a process comes to it.
    pub taking: Taking,
    /// For how long a process has it before it begins to free it.
    pub hold: Picos,
    /// How many times each process takes it.
    pub count: u32,
}

/// The time after a refusal is no longer than so many times the first.
const LONGEST: u32 = 16;
/// The process of its node whose lock it is, and the byte.
const LOCK: (u8, u64) = (0, 0);

impl LockerSettings {
    /// What a process posts to take the lock, or to free it.
    #[must_use]
    pub fn operation(&self, verb: Verb, computes: Picos) -> Operation {
        let (process, there) = LOCK;
        Operation { there, computes, ..Operation::plain(verb, Submission::Pio, (self.home, process)) }
    }
}

/// A process that takes the lock, or one of its node, which does not.
#[derive(Clone, Debug)]
pub struct Locker {
    settings: LockerSettings,
    takes_part: bool,
    /// It has the lock, or has not heard yet that it has freed it.
    has_it: bool,
    /// What it has spent with tries that were refused, since it wants the lock.
    tried: Option<Story>,
    /// How many were.
    refused: u32,
    done: Done,
}

impl Locker {
    /// A process of `node`.
    #[must_use]
    pub fn new(settings: LockerSettings, node: NodeId) -> Self {
        let takes_part = node != settings.home;
        Locker { settings, takes_part, has_it: false, tried: None, refused: 0, done: Done::default() }
    }

    /// What it has seen: when it got the lock, each time.
    #[must_use]
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Whether it has had the lock as often as it is to have it, and has heard that it is free.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.takes_part || self.done.seen == self.settings.count && !self.has_it
    }

    fn ask(&mut self, computes: Picos, todo: &mut Vec<Operation>) {
        todo.push(self.settings.operation(self.settings.taking.verb(), computes));
    }

    /// The tries until now, with the last.
    fn tries(&mut self, last: &Story) -> Story {
        match self.tried.take() {
            None => *last,
            Some(mut story) => {
                story.go_on(Unit::Lock, last);
                story
            }
        }
    }
}

impl Program for Locker {
    fn act(&mut self, _: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        let LockerSettings { taking, hold, count, .. } = self.settings;
        let Some(completion) = completion else {
            if self.takes_part {
                self.ask(Picos(0), todo);
            }
            return;
        };
        match (completion.what, taking) {
            (CompletionKind::Loaded, _) if self.has_it => {
                self.has_it = false;
                if self.done.seen < count {
                    self.ask(Picos(0), todo);
                }
            }
            (CompletionKind::Loaded, _) => {
                let story = self.tries(&completion.story);
                self.done.record(&story, 0);
                (self.has_it, self.refused) = (true, 0);
                todo.push(self.settings.operation(Verb::Unlock, hold));
            }
            (CompletionKind::Refused, Taking::Again(first)) => {
                self.tried = Some(self.tries(&completion.story));
                let times = (1 << self.refused.min(LONGEST.ilog2())).min(LONGEST);
                self.refused += 1;
                self.ask(Picos(first.0 * u64::from(times)), todo);
            }
            (what, _) => panic!("a process that takes a lock, and frees its own, sees no {what:?}"),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_nic::host::story::Stage;

    const SETTINGS: LockerSettings =
        LockerSettings { home: NodeId(0), taking: Taking::Again(Picos(10)), hold: Picos(7), count: 2 };

    /// What it does when it sees what, of an operation that began at `begun` and ends at `until`.
    fn act(locker: &mut Locker, seen: Option<(CompletionKind, u64, u64)>) -> Vec<(Verb, u64)> {
        let completion = seen.map(|(what, begun, until)| {
            let mut story = Story::begin(Picos(begun));
            story.pass(Unit::Remote, Picos(until));
            Completion { what, number: 0, node: NodeId(3), process: 0, bytes: 0, story }
        });
        let mut todo = Vec::new();
        locker.act(Picos(0), completion.as_ref(), &mut todo);
        todo.iter().map(|it| (it.verb, it.computes.0)).collect()
    }

    #[test]
    fn who_is_refused_waits_longer_each_time() {
        let mut locker = Locker::new(SETTINGS, NodeId(3));
        assert_eq!(act(&mut locker, None), [(Verb::TryLock, 0)]);
        let mut at = 0;
        for waits in [10, 20, 40, 80, 160, 160] {
            assert_eq!(
                act(&mut locker, Some((CompletionKind::Refused, at, at + 5))),
                [(Verb::TryLock, waits)]
            );
            at += 5 + waits;
        }
        assert_eq!(act(&mut locker, Some((CompletionKind::Loaded, at, at + 5))), [(Verb::Unlock, 7)]);
        assert_eq!(locker.done().latencies, [at + 5]);
        let spent =
            |stage| Stage::all().zip(&locker.done().spent).find(|(it, _)| *it == stage).map(|it| *it.1);
        assert_eq!(spent(Stage::Near(Unit::Lock)), Some(470), "what it waited for after refusals");
        assert_eq!(spent(Stage::Near(Unit::Remote)), Some(35));
        assert_eq!(act(&mut locker, Some((CompletionKind::Loaded, at + 12, at + 17))), [(Verb::TryLock, 0)]);
        assert_eq!(act(&mut locker, Some((CompletionKind::Refused, 0, 5))), [(Verb::TryLock, 10)], "anew");
    }

    #[test]
    fn a_process_is_done_when_its_lock_is_free_again() {
        let settings = LockerSettings { taking: Taking::Turn, count: 1, ..SETTINGS };
        let mut locker = Locker::new(settings, NodeId(3));
        assert_eq!(act(&mut locker, None), [(Verb::Lock, 0)]);
        assert_eq!(act(&mut locker, Some((CompletionKind::Loaded, 0, 5))), [(Verb::Unlock, 7)]);
        assert!(!locker.is_done(), "it has the lock");
        assert_eq!(act(&mut locker, Some((CompletionKind::Loaded, 12, 15))), []);
        assert!(locker.is_done());
        let mut home = Locker::new(settings, NodeId(0));
        assert_eq!(act(&mut home, None), [], "that of the node of the lock takes no part");
        assert!(home.is_done());
    }
}
