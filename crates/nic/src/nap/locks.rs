//! Locks of this node. See point 9 of the header of this module.

use super::words::Foreign;
use super::{Nap, NapContext, Peer};
use crate::host::memory::Address;
use crate::host::program::Verb;
use crate::host::story::Unit;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

/// The locks that processes of other nodes have.
#[derive(Debug, Default)]
pub(super) struct Locks(BTreeMap<Address, Taken>);

/// A lock that is taken.
#[derive(Debug)]
struct Taken {
    /// Who has it.
    by: Peer,
    /// Who waits for it, the first first.
    waiting: VecDeque<Foreign>,
}

impl Locks {
    pub(super) fn is_idle(&self) -> bool {
        self.0.values().all(|taken| taken.waiting.is_empty())
    }
}

impl Foreign {
    /// Who asks.
    fn asker(&self) -> Peer {
        let of = self.header.of;
        Peer { node: of.node, process: of.process }
    }
}

impl Nap {
    /// Another node wants something of a lock here.
    pub(super) fn lock(&mut self, cx: &mut NapContext<'_>, foreign: Foreign) {
        let by = foreign.asker();
        let place = Address { process: foreign.header.process, byte: foreign.header.byte };
        match (foreign.verb, self.locks.0.entry(place)) {
            (Verb::Unlock, Entry::Occupied(mut taken)) if taken.get().by == by => {
                match taken.get_mut().waiting.pop_front() {
                    Some(mut next) => {
                        taken.get_mut().by = next.asker();
                        next.header.story.pass(Unit::Lock, cx.at);
                        self.answer(cx, next, cx.at);
                    }
                    None => _ = taken.remove(),
                }
                self.answer(cx, foreign, cx.at);
            }
            (Verb::Unlock, _) => {
                self.counts.locks[3] += 1;
                self.answer(cx, Foreign { is_refused: true, ..foreign }, cx.at);
            }
            (_, Entry::Vacant(free)) => {
                free.insert(Taken { by, waiting: VecDeque::new() });
                self.counts.locks[0] += 1;
                self.answer(cx, foreign, cx.at);
            }
            (Verb::Lock, Entry::Occupied(mut taken)) => {
                taken.get_mut().waiting.push_back(foreign);
                self.counts.locks[1] += 1;
            }
            (_, Entry::Occupied(_)) => {
                self.counts.locks[2] += 1;
                self.answer(cx, Foreign { is_refused: true, ..foreign }, cx.at);
            }
        }
    }
}
