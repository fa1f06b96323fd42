//! What happened, step by step, for a person to read.

use super::{Meaning, Model};
use std::fmt;

/// A way from the start of a world to something that must not be.
#[derive(Clone, Debug)]
pub struct Witness {
    lines: Vec<String>,
    conclusion: String,
}

impl Witness {
    /// How many steps it has.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.lines.len()
    }

    /// The states of `way`, then a step that must not be.
    pub(super) fn unsafe_step<M: Model>(model: &M, way: &[u128]) -> Self {
        let (mut lines, last) = replay(model, way);
        let mut conclusion = None;
        model.each(&last, |step, outcome| {
            if M::meaning(outcome) == Meaning::Unsafe && conclusion.is_none() {
                lines.push(model.line(&last, step, outcome));
                conclusion = Some(model.violation(outcome));
            }
        });
        Witness { lines, conclusion: conclusion.expect("the last state of the way has an unsafe step") }
    }

    /// The states of `way`, from the last of which nothing goes on.
    pub(super) fn stuck<M: Model>(model: &M, way: &[u128]) -> Self {
        let (lines, _) = replay(model, way);
        Witness { lines, conclusion: M::STUCK.to_owned() }
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in (1..).zip(&self.lines) {
            writeln!(f, "{number:>4}. {line}")?;
        }
        writeln!(f, "      {}", self.conclusion)
    }
}

/// Keys stand for many snapshots; this goes through those of one run, from the start.
fn replay<M: Model>(model: &M, way: &[u128]) -> (Vec<String>, M::Snapshot) {
    let mut snapshot = model.first();
    let mut lines = Vec::new();
    for &key in &way[1..] {
        let mut taken = None;
        model.each(&snapshot, |step, outcome| {
            if taken.is_none() && model.key(M::next(outcome)) == key {
                taken = Some((model.line(&snapshot, step, outcome), *M::next(outcome)));
            }
        });
        let (line, next) = taken.expect("each state of a way follows from the one before");
        lines.push(line);
        snapshot = next;
    }
    (lines, snapshot)
}
