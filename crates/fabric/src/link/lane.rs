//! Which of the lanes of its class of virtual channels a packet takes.

use flitway_wiring::NodeId;

/// Which lane a packet for a node takes, from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneChoice {
    /// The one that it names (OQ-H12). Packets of a pair of nodes on different lanes may overtake each other.
    ByPacket,
    /// One for each pair of nodes.
    ByFlow,
}

impl LaneChoice {
    /// The lane, of so many, of a packet from `source` to `destination` that names `drawn`.
    #[inline]
    #[must_use]
    pub const fn lane(self, source: NodeId, destination: NodeId, drawn: u32, lanes: usize) -> usize {
        /// 2^32 divided by the golden ratio, made odd: it spreads what is alike.
        const SPREAD: u32 = 0x9E37_79B1;
        match self {
            LaneChoice::ByPacket => drawn as usize % lanes,
            LaneChoice::ByFlow => {
                let pair = source.0.wrapping_mul(SPREAD).wrapping_add(destination.0);
                let flow = (pair ^ (pair >> 15)).wrapping_mul(SPREAD);
                (flow >> 16) as usize % lanes
            }
        }
    }

    /// What a packet that names `drawn` draws its way by, where the routing has several.
    #[inline]
    #[must_use]
    pub const fn draw(self, drawn: u32) -> u32 {
        match self {
            LaneChoice::ByPacket => drawn,
            LaneChoice::ByFlow => 0,
        }
    }
}
