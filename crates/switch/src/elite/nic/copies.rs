//! What a NIC port knows of broadcasts where links corrupt some: which have been delivered, so that none is twice.

use crate::elite::packet_state::PacketState;
use flitway_fabric::simulation::Conservation;
use flitway_wiring::NodeId;
use std::collections::BTreeMap;

/// Broadcasts that have come, and those that are sent again.
#[derive(Debug, Default)]
pub(super) struct Broadcasts {
    /// By source the last one of which the copy was delivered: a source sends one after the other.
    delivered: BTreeMap<NodeId, u32>,
    /// Copies that have come again.
    superfluous: u64,
    /// Broadcasts of this port that are sent again.
    repeated: u64,
}

impl Broadcasts {
    /// A copy has come, which is not corrupt. Says whether it has come before.
    pub(super) fn has_come(&mut self, state: &PacketState) -> bool {
        let last = self.delivered.insert(state.source, state.number);
        let comes_again = state.refusals > 0 && last == Some(state.number);
        self.superfluous += u64::from(comes_again);
        comes_again
    }

    /// A broadcast is sent again, and with it come as many copies as before.
    pub(super) fn repeat(&mut self) {
        self.repeated += 1;
    }

    pub(super) fn audit(&self, books: &mut Conservation) {
        books.created += self.repeated;
        books.delivered += self.superfluous;
    }
}
