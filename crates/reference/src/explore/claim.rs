//! What is claimed of a protocol, and what was found.

use super::{Exploration, Verdict};

/// What should come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing that must not be can happen, and from every state it goes on.
    SafeAndLive,
    /// What must not be can happen, after so many steps at the earliest.
    Unsafe(usize),
    /// It is safe, but after so many steps at the earliest nothing goes on any more.
    Stuck(usize),
}

/// How long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds in a test.
    Quick,
    /// Up to minutes in a release build.
    Long,
}

/// A world and what is claimed of it.
#[derive(Clone, Debug)]
pub struct Claim<M> {
    /// A topic and, after a colon, a name.
    pub name: &'static str,
    /// The world.
    pub world: M,
    /// What should come out.
    pub expected: Expected,
    /// How long it takes.
    pub effort: Effort,
}

impl<M> Claim<M> {
    /// The first part of the name.
    #[must_use]
    pub fn topic(&self) -> &'static str {
        self.name.split_once(':').map_or(self.name, |(topic, _)| topic)
    }

    /// Says how `found` differs from the claim, if it does.
    #[must_use]
    pub fn refute(&self, found: &Exploration) -> Option<String> {
        let (outcome, witness) = match &found.verdict {
            Verdict::SafeAndLive => (Expected::SafeAndLive, None),
            Verdict::Unsafe(witness) => (Expected::Unsafe(witness.steps()), Some(witness)),
            Verdict::Stuck(_, witness) => (Expected::Stuck(witness.steps()), Some(witness)),
        };
        let name = self.name;
        let text = || format!("{name}: found {outcome:?}, expected {:?}\n", self.expected);
        (outcome != self.expected).then(|| text() + &witness.map(ToString::to_string).unwrap_or_default())
    }
}
