//! Every state that a world can reach, breadth first, and from where it can still go on.
//!
//! A [`Model`] says how a world begins, which steps it can take from each state, and what a step is to what it is for: nothing,
//! *progress*, or something that must not be. Two things are asked.
//!
//! * *Safe*: what must not be never happens. Looked at on every step.
//! * *Live*: from every state some way leads to progress. That is what no walk forwards can tell, because worlds that send
//!   again are full of cycles; it is found by going back from the steps that make progress. If all states are live, then
//!   whatever has happened, fair timers and channels that do not lose everything will lead to progress, again and again.
//!
//! States have numbers; states that differ in what does not matter may have the same one, which makes fewer of them.

mod bits;
mod claim;
mod witness;

pub(crate) use bits::Bits;
pub use claim::{Claim, Effort, Expected};
pub use witness::Witness;

use indexmap::IndexSet;
use std::hash::{BuildHasherDefault, Hasher};

/// What a step is to what a protocol is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing.
    Nothing,
    /// What it is for is done once.
    Progress,
    /// What it is for is violated.
    Unsafe,
}

impl Meaning {
    /// That of a step by which something is violated, or everything is over and at home.
    pub(crate) fn of(is_violated: bool, is_home: bool) -> Self {
        match (is_violated, is_home) {
            (true, _) => Meaning::Unsafe,
            (false, true) => Meaning::Progress,
            (false, false) => Meaning::Nothing,
        }
    }
}

/// A world whose states can be looked at.
pub trait Model {
    /// Everything that there is at one moment.
    type Snapshot: Copy;
    /// What can happen next.
    type Step;
    /// What that leads to.
    type Outcome;
    /// What is to be said of a state from which nothing goes on.
    const STUCK: &'static str;

    /// The moment at which everything begins.
    fn first(&self) -> Self::Snapshot;
    /// Takes every step that can be taken, in every way.
    fn each(&self, snapshot: &Self::Snapshot, visit: impl FnMut(Self::Step, &Self::Outcome));
    /// The moment after a step.
    fn next(outcome: &Self::Outcome) -> &Self::Snapshot;
    /// What the step means.
    fn meaning(outcome: &Self::Outcome) -> Meaning;
    /// How many bits the number of a state has; more than 128 are too many.
    fn width(&self) -> usize;
    /// The number of a snapshot.
    fn key(&self, snapshot: &Self::Snapshot) -> u128;
    /// A snapshot with that number.
    fn snapshot(&self, key: u128) -> Self::Snapshot;
    /// What happens in a step, in words.
    fn line(&self, before: &Self::Snapshot, step: Self::Step, outcome: &Self::Outcome) -> String;
    /// What must not be about an unsafe step, in words.
    fn violation(&self, outcome: &Self::Outcome) -> String;

    /// The number of the first state, for other checkers.
    ///
    /// # Panics
    /// If the world is too large for numbers of 128 bits.
    fn first_key(&self) -> u128 {
        assert!(self.width() <= 128, "a state has a number of its own");
        self.key(&self.first())
    }

    /// The numbers of the states that follow from one, some more than once; none for an unsafe step.
    fn next_keys(&self, key: u128) -> Vec<Option<u128>> {
        let mut next = Vec::new();
        self.each(&self.snapshot(key), |_, outcome| {
            let is_safe = Self::meaning(outcome) != Meaning::Unsafe;
            next.push(is_safe.then(|| self.key(Self::next(outcome))));
        });
        next
    }
}

/// What is true of a world.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// What must not be never happens, and from every state it goes on.
    SafeAndLive,
    /// A shortest way to what must not be.
    Unsafe(Witness),
    /// It is safe; there are so many states from which nothing goes on, and this is a shortest way to one.
    Stuck(usize, Witness),
}

/// What has been found.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// States; of an unsafe world those found until then.
    pub states: usize,
    /// Pairs of a state and a next one.
    pub transitions: usize,
    /// Steps to the farthest state.
    pub depth: usize,
    /// What is true.
    pub verdict: Verdict,
}

/// Keys are spread well enough by two multiplications.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers of 128 bits");
    }

    fn write_u128(&mut self, key: u128) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let low = (key as u64 ^ ODD).wrapping_mul(ODD);
        let high = (low.rotate_left(32) ^ (key >> 64) as u64).wrapping_mul(ODD);
        self.0 = high ^ high >> 29;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The graph of a world, as far as found.
#[derive(Default)]
struct Graph {
    /// In the order in which they were found.
    keys: IndexSet<u128, BuildHasherDefault<KeyHasher>>,
    /// From which state each was found first.
    parents: Vec<u32>,
    /// The next states of each, one state after the other.
    next: Vec<u32>,
    /// Where those of each end.
    ends: Vec<usize>,
    /// Which states are known to be live.
    live: Vec<bool>,
}

/// Looks at everything that a world can do.
///
/// # Panics
/// If the world has more than 2^32 states, or is too large for numbers of 128 bits.
#[must_use]
pub fn explore<M: Model>(world: &M) -> Exploration {
    let mut graph = Graph::of(world.first_key());
    let (mut depth, mut layer_end) = (0, 1);
    let mut at = 0;
    while let Some(&key) = graph.keys.get_index(at) {
        if at == layer_end {
            (depth, layer_end) = (depth + 1, graph.keys.len());
        }
        let snapshot = world.snapshot(key);
        let start = graph.next.len();
        let (mut goes_on, mut is_unsafe) = (false, false);
        world.each(&snapshot, |_, outcome| match M::meaning(outcome) {
            Meaning::Unsafe => is_unsafe = true,
            meaning => {
                goes_on |= meaning == Meaning::Progress;
                graph.add(world.key(M::next(outcome)), at as u32);
            }
        });
        if is_unsafe {
            let witness = Witness::unsafe_step(world, &graph.way(at));
            return graph.exploration(depth + 1, Verdict::Unsafe(witness));
        }
        graph.close(start, goes_on);
        at += 1;
    }
    graph.spread_life();
    let verdict = match graph.live.iter().position(|live| !live) {
        None => Verdict::SafeAndLive,
        Some(first) => {
            let count = graph.live.iter().filter(|live| !**live).count();
            Verdict::Stuck(count, Witness::stuck(world, &graph.way(first)))
        }
    };
    graph.exploration(depth, verdict)
}

impl Graph {
    /// Of one state.
    fn of(first: u128) -> Self {
        let mut graph = Graph { parents: vec![0], ..Graph::default() };
        graph.keys.insert(first);
        graph
    }

    /// A state follows from another.
    fn add(&mut self, key: u128, parent: u32) {
        let (index, is_new) = self.keys.insert_full(key);
        if is_new {
            self.parents.push(parent);
        }
        self.next.push(u32::try_from(index).expect("states are numbered in 32 bits"));
    }

    /// All next states of a state are found: those from `start` on.
    fn close(&mut self, start: usize, goes_on: bool) {
        self.next[start..].sort_unstable();
        let mut kept = start;
        for index in start..self.next.len() {
            if kept == start || self.next[index] != self.next[kept - 1] {
                self.next[kept] = self.next[index];
                kept += 1;
            }
        }
        self.next.truncate(kept);
        self.ends.push(kept);
        self.live.push(goes_on);
    }

    /// A state with a live next state is live. Backwards, because life comes from what is found later, and again
    /// until nothing changes, because not all of it does.
    fn spread_life(&mut self) {
        let mut changes = true;
        while changes {
            changes = false;
            for state in (0..self.live.len()).rev() {
                if self.live[state] {
                    continue;
                }
                let start = if state == 0 { 0 } else { self.ends[state - 1] };
                let next = &self.next[start..self.ends[state]];
                if next.iter().any(|&next| self.live[next as usize]) {
                    self.live[state] = true;
                    changes = true;
                }
            }
        }
    }

    /// The keys on a shortest way to a state.
    fn way(&self, state: usize) -> Vec<u128> {
        let mut way = vec![state];
        while let Some(&last) = way.last()
            && last != 0
        {
            way.push(self.parents[last] as usize);
        }
        way.iter().rev().map(|&state| self.keys[state]).collect()
    }

    fn exploration(&self, depth: usize, verdict: Verdict) -> Exploration {
        Exploration { states: self.keys.len(), transitions: self.next.len(), depth, verdict }
    }
}

/// Walks so many steps through the states of `world`, or until nothing comes after one: each number is that of its snapshot.
/// Says how many steps that were.
#[cfg(test)]
pub(crate) fn keys_are_those_of_their_snapshots<M: Model>(world: &M, steps: usize) -> usize {
    let mut key = world.first_key();
    for step in 0..steps {
        let next: Vec<u128> = world.next_keys(key).into_iter().flatten().collect();
        let Some(place) = (step * 31).checked_rem(next.len()) else { return step };
        key = next[place];
        assert_eq!(world.key(&world.snapshot(key)), key);
    }
    steps
}
