//! What components and packets are called, by those who watch them.

use flitway_engine::Cycle;
use flitway_wiring::NodeId;

/// A component as observers see it: switches of rail 0, of rail 1, ..., then nodes.
pub type ComponentNumber = u32;

/// Which packet it is: a NIC port begins to send no two in the same cycle. Copies of a packet have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketName {
    /// Who sent it.
    pub source: NodeId,
    /// When its first flit was on the wire there.
    pub injected: Cycle,
}
