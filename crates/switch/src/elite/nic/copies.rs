//! What a NIC port knows of broadcasts where some are sent again: which have been delivered, so that none is twice.

use crate::elite::packet_state::{PacketState, Verdict};
use flitway_fabric::simulation::Conservation;
use flitway_wiring::NodeId;
use std::collections::BTreeMap;

/// Broadcasts that have come, and those that are sent again.
#[derive(Debug, Default)]
pub(super) struct Broadcasts {
    /// By source the last one of which the copy was delivered, and what was said of it: a source sends one after the other.
    delivered: BTreeMap<NodeId, (u32, Verdict)>,
    /// The virtual channel and the source of the copy that was delivered last.
    last: Option<(u8, NodeId)>,
    /// Packets that have come again, and copies that have been refused.
    superfluous: u64,
    /// Broadcasts of this port that are sent again, and packets that have been delivered.
    repeated: u64,
    /// Of those that were lost: nodes for which they were, less the broadcast itself.
    lost: i64,
}

impl Broadcasts {
    /// A packet for one node, or a copy, has come, which is not corrupt. Says what was said of it if it has come before.
    ///
    /// A node knows a packet by its source and its number. Here it says itself that it has been delivered, so that no node has
    /// to keep numbers: what a source sends again has come before if and only if the answer to it that was void said so.
    pub(super) fn has_come(&mut self, state: &PacketState) -> Option<Verdict> {
        if state.range.is_none() {
            self.superfluous += u64::from(state.was_delivered);
            return state.was_delivered.then_some(Verdict::True);
        }
        let last = self.delivered.get(&state.source).filter(|(number, _)| *number == state.number);
        if let Some((_, verdict)) = last.filter(|_| state.refusals > 0) {
            self.superfluous += 1;
            return Some(*verdict);
        }
        None
    }

    /// A copy is taken that has not come before.
    pub(super) fn take(&mut self, state: &PacketState) {
        self.delivered.insert(state.source, (state.number, Verdict::True));
    }

    /// A copy is refused that has not come before.
    pub(super) fn refuse(&mut self) {
        self.superfluous += 1;
    }

    /// A copy that came on `vc` is delivered.
    pub(super) fn deliver(&mut self, vc: u8, state: &PacketState) {
        self.last = Some((vc, state.source));
    }

    /// The node denies what was delivered last on `vc`.
    pub(super) fn deny(&mut self, vc: u8) {
        let source = self.last.filter(|(last, _)| *last == vc).map(|(_, source)| source);
        let said = source.and_then(|source| self.delivered.get_mut(&source));
        said.expect("a test that has just been delivered is denied").1 = Verdict::False;
    }

    /// A broadcast is sent again, and with it come as many copies as before; or a packet that has been delivered is.
    pub(super) fn repeat(&mut self) {
        self.repeated += 1;
    }

    /// A broadcast is lost for so many nodes, or a packet that has been delivered is given up.
    pub(super) fn give_up(&mut self, nodes: usize) {
        self.lost += nodes as i64 - 1;
    }

    pub(super) fn audit(&self, books: &mut Conservation) {
        books.created = (books.created + self.repeated).wrapping_add_signed(self.lost);
        books.delivered += self.superfluous;
    }
}
