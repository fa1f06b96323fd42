//! Locks that are handed round: their programs, and what came of them.

use super::{NicChoice, NicResult};
use flitway_engine::Picos;
use flitway_nic::host::program::{Operation, Program};
use flitway_process::locker::{Locker, LockerSettings, Taking};
use flitway_wiring::NodeId;

/// How a lock is handed round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockChoice {
    /// How a process comes to it while another has it.
    pub taking: Taking,
    /// For how long a process has it before it begins to free it.
    pub hold: Picos,
}

fn settings(choice: &NicChoice, lock: LockChoice) -> LockerSettings {
    let LockChoice { taking, hold } = lock;
    LockerSettings { home: NodeId(choice.nodes[0]), taking, hold, count: choice.count }
}

/// The programs of `node`.
pub(super) fn programs(choice: &NicChoice, lock: LockChoice, node: NodeId) -> Vec<Box<dyn Program>> {
    let program = |_| Box::new(Locker::new(settings(choice, lock), node)) as Box<dyn Program>;
    (0..choice.processes).map(program).collect()
}

/// What a process posts first.
pub(super) fn first(choice: &NicChoice, lock: LockChoice) -> Operation {
    settings(choice, lock).operation(lock.taking.verb(), Picos(0))
}

/// A turn of a process that has the lock.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// When the process had begun to ask, and when it got it.
    begun: Picos,
    got: Picos,
}

impl NicResult {
    /// All turns, in order.
    fn turns(&self) -> Vec<Turn> {
        let of_each = self.done.iter().flat_map(|done| done.begun.iter().zip(&done.dates));
        let mut turns: Vec<Turn> = of_each.map(|(&begun, &got)| Turn { begun, got }).collect();
        turns.sort_by_key(|turn| turn.got);
        turns
    }

    /// Of a lock: the times of its hand-overs in picoseconds, in order: from when the processor that has it begins to free it
    /// until the next one has it, if that had begun to ask by then.
    #[must_use]
    pub fn hand_overs(&self) -> Vec<u64> {
        let Some(LockChoice { hold, .. }) = self.choice.lock else { return Vec::new() };
        let turns = self.turns();
        let freed = turns.iter().map(|turn| Picos(turn.got.0 + hold.0));
        let pairs = freed.zip(turns.iter().skip(1));
        pairs.filter(|(freed, next)| next.begun <= *freed).map(|(freed, next)| next.got.0 - freed.0).collect()
    }

    /// Their mean in nanoseconds.
    #[must_use]
    pub fn hand_over_ns(&self) -> Option<f64> {
        let all = self.hand_overs();
        (!all.is_empty()).then(|| all.iter().sum::<u64>() as f64 / all.len() as f64 / 1_000.0)
    }

    /// Turns a second, from the first to the last.
    pub(super) fn turns_per_s(&self) -> Option<f64> {
        let turns = self.turns();
        let (first, last) = (turns.first()?, turns.last()?);
        (first.got < last.got).then(|| (turns.len() - 1) as f64 / (last.got.0 - first.got.0) as f64 * 1e12)
    }
}
