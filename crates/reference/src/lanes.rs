//! On which lane of its class a packet for a node starts.

use flitway_fabric::{FlowKind, LaneChoice, Packet, ReplyLanes};
use flitway_wiring::NodeId;

/// The lane, of so many, on which the NIC of `source` sends `packet`, which is for `destination`.
pub(crate) fn lane(
    (choice, replies): (LaneChoice, ReplyLanes),
    source: NodeId,
    destination: NodeId,
    packet: &Packet,
    lanes: usize,
) -> usize {
    let (below, lanes) = match (replies, packet.flow.kind() == FlowKind::Reply) {
        (ReplyLanes::Shared, _) => (0, lanes),
        (ReplyLanes::Own, _) if lanes == 1 => (0, 1),
        (ReplyLanes::Own, false) => (0, lanes - lanes / 2),
        (ReplyLanes::Own, true) => (lanes - lanes / 2, lanes / 2),
    };
    below
        + match choice {
            LaneChoice::ByFlow => {
                let pair = (u64::from(source.0) * 0x9E37_79B1 + u64::from(destination.0)) % (1 << 32);
                let flow = (pair ^ (pair >> 15)) * 0x9E37_79B1 % (1 << 32);
                (flow >> 16) as usize % lanes
            }
            LaneChoice::ByPacket => packet.lane as usize % lanes,
        }
}

/// The number by which it draws its way, where the routing has several.
pub(crate) fn draw(choice: LaneChoice, packet: &Packet) -> u32 {
    match choice {
        LaneChoice::ByPacket => packet.lane,
        LaneChoice::ByFlow => 0,
    }
}
