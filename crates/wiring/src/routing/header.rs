//! What the header of a packet says to the routing on its way.

use crate::NodeId;
use serde::{Deserialize, Serialize};

/// The routing's part of a header: whom the packet is for, by way of whom, and how far it has come. Eight bytes, by value.
///
/// ```
/// use flitway_wiring::NodeId;
/// use flitway_wiring::routing::Header;
/// let header = Header::to(NodeId(7)).by_way_of(12).in_phase(1);
/// assert_eq!((header.destination(), header.via(), header.phase()), (NodeId(7), 12, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Header(u64);

impl Header {
    /// Bits of a number of a node or switch: see [`MAX_COMPONENTS`](crate::topology::MAX_COMPONENTS).
    const NUMBER_BITS: u32 = 24;
    const PHASE_AT: u32 = 2 * Self::NUMBER_BITS;

    /// That of a packet for `destination`, at the beginning of its way.
    ///
    /// # Panics
    /// If there is no such node in any fabric.
    #[inline]
    #[must_use]
    pub const fn to(destination: NodeId) -> Header {
        assert!(destination.0 < 1 << Self::NUMBER_BITS, "a header holds 24 bits of a node");
        Header(destination.0 as u64)
    }

    /// The same by way of a switch or node, which the relation that says so understands.
    ///
    /// # Panics
    /// If the number is too large for any fabric.
    #[must_use]
    pub const fn by_way_of(self, number: u32) -> Header {
        assert!(number < 1 << Self::NUMBER_BITS, "a header holds 24 bits of an intermediate switch");
        let rest = self.0 & !((1 << Self::PHASE_AT) - (1 << Self::NUMBER_BITS));
        Header(rest | (number as u64) << Self::NUMBER_BITS)
    }

    /// The same in another phase of its way, 0 at first.
    #[must_use]
    pub const fn in_phase(self, phase: u16) -> Header {
        Header(self.0 & ((1 << Self::PHASE_AT) - 1) | (phase as u64) << Self::PHASE_AT)
    }

    /// Whom the packet is for.
    #[inline]
    #[must_use]
    pub const fn destination(self) -> NodeId {
        NodeId((self.0 & ((1 << Self::NUMBER_BITS) - 1)) as u32)
    }

    /// By way of which switch or node; 0 where the relation knows none.
    #[must_use]
    pub const fn via(self) -> u32 {
        (self.0 >> Self::NUMBER_BITS) as u32 & ((1 << Self::NUMBER_BITS) - 1)
    }

    /// How far it has come, in phases of the relation.
    #[must_use]
    pub const fn phase(self) -> u16 {
        (self.0 >> Self::PHASE_AT) as u16
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "to {} by way of {} in phase {}", self.destination(), self.via(), self.phase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let largest = (1 << 24) - 1;
        for (node, via, phase) in [(0, 0, 0), (largest, 0, 0), (0, largest, 0), (0, 0, u16::MAX), (5, 6, 7)] {
            let header =
                Header::to(NodeId(node)).by_way_of(largest).in_phase(9).by_way_of(via).in_phase(phase);
            assert_eq!((header.destination(), header.via(), header.phase()), (NodeId(node), via, phase));
        }
    }

    #[test]
    #[should_panic(expected = "24 bits of a node")]
    fn a_node_beyond_every_fabric_is_refused() {
        let _ = Header::to(NodeId(1 << 24));
    }
}
