//! What packets of NICs say: more than the tag of a packet can hold.
//!
//! The tag of a packet is the number of what it says, among what its source sends. That lies here from when the packet is
//! handed to the NIC port until its destination takes it. Whoever takes it does so in a later window than the one in which it
//! was laid down, so the result does not depend on threads.

use flitway_wiring::NodeId;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The contents under way, by source.
#[derive(Debug)]
pub struct Contents<L> {
    from: Box<[Mutex<Sent<L>>]>,
}

/// The contents of one node.
#[derive(Debug)]
struct Sent<L> {
    next: u64,
    under_way: BTreeMap<u64, L>,
}

impl<L> Contents<L> {
    /// None, of `nodes` nodes.
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        let none = || Mutex::new(Sent { next: 0, under_way: BTreeMap::new() });
        Contents { from: (0..nodes).map(|_| none()).collect() }
    }

    fn of(&self, source: NodeId) -> MutexGuard<'_, Sent<L>> {
        // Each change below is whole, so what a thread that panicked has left is good.
        self.from[source.index()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lays down the content of a packet of `source`: its number.
    pub fn lay(&self, source: NodeId, content: L) -> u64 {
        let mut sent = self.of(source);
        let number = sent.next;
        sent.next += 1;
        sent.under_way.insert(number, content);
        number
    }

    /// Takes what `source` has laid down under `number`.
    ///
    /// # Panics
    /// If it is not there.
    #[must_use]
    pub fn take(&self, source: NodeId, number: u64) -> L {
        let content = self.of(source).under_way.remove(&number);
        content.expect("a packet arrives once, after it was sent")
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.from.len() as u64
    }

    /// Contents under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        (0..self.from.len()).map(|node| self.of(NodeId(node as u32)).under_way.len()).sum()
    }
}
