//! Which of the lanes of its class of virtual channels a packet takes.

use crate::{FlowKind, Packet};
use flitway_wiring::NodeId;
use std::ops::Range;

/// Which lane a packet for a node takes, from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneChoice {
    /// The one that it names (OQ-H12). Packets of a pair of nodes on different lanes may overtake each other.
    ByPacket,
    /// One for each pair of nodes.
    ByFlow,
}

impl LaneChoice {
    /// The lane, of so many, of `packet` from `source` to `destination`, where replies have the lanes that `replies` says.
    #[inline]
    #[must_use]
    pub const fn lane(
        self,
        replies: ReplyLanes,
        source: NodeId,
        destination: NodeId,
        packet: &Packet,
        lanes: usize,
    ) -> usize {
        /// 2^32 divided by the golden ratio, made odd: it spreads what is alike.
        const SPREAD: u32 = 0x9E37_79B1;
        let Range { start, end } = replies.of(packet.flow.is(FlowKind::Reply), lanes);
        let chosen = match self {
            LaneChoice::ByPacket => packet.lane as usize,
            LaneChoice::ByFlow => {
                let pair = source.0.wrapping_mul(SPREAD).wrapping_add(destination.0);
                let flow = (pair ^ (pair >> 15)).wrapping_mul(SPREAD);
                (flow >> 16) as usize
            }
        };
        start + chosen % (end - start)
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

/// Which lanes replies have (*message classes*): what waits for a reply to be sent must not be what the reply waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyLanes {
    /// All of them, as everything else.
    Shared,
    /// The upper half of the lanes of each class, the smaller one if they are odd; everything else has the lower half. A
    /// single lane is shared.
    Own,
}

impl ReplyLanes {
    /// Those of so many `lanes` that replies have, or all other packets.
    #[inline]
    #[must_use]
    pub const fn of(self, is_reply: bool, lanes: usize) -> Range<usize> {
        let half = lanes.div_ceil(2);
        match self {
            ReplyLanes::Shared => 0..lanes,
            ReplyLanes::Own if lanes == 1 => 0..1,
            ReplyLanes::Own if is_reply => half..lanes,
            ReplyLanes::Own => 0..half,
        }
    }

    /// The lanes that packets on `lane` of so many have.
    #[inline]
    #[must_use]
    pub const fn beside(self, lane: usize, lanes: usize) -> Range<usize> {
        self.of(lane >= lanes.div_ceil(2), lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flow;
    use flitway_engine::Cycle;
    use flitway_wiring::{Destination, RailId};

    #[test]
    fn replies_and_others_have_all_lanes_or_their_own_half() {
        let lane = |choice: LaneChoice, replies, kind, drawn, lanes| {
            let [source, node] = [NodeId(3), NodeId(drawn)];
            let flow = Flow::new(kind, 0);
            let destination = Destination::Node(node);
            let packet =
                Packet { destination, rail: RailId(0), lane: drawn, payload: 1, created: Cycle::ZERO, flow };
            choice.lane(replies, source, node, &packet, lanes)
        };
        for choice in [LaneChoice::ByPacket, LaneChoice::ByFlow] {
            for (replies, kind, lanes, expected) in [
                (ReplyLanes::Shared, FlowKind::Reply, 4, 0..4),
                (ReplyLanes::Own, FlowKind::Reply, 4, 2..4),
                (ReplyLanes::Own, FlowKind::Request, 4, 0..2),
                (ReplyLanes::Own, FlowKind::Traffic, 3, 0..2),
                (ReplyLanes::Own, FlowKind::Reply, 3, 2..3),
                (ReplyLanes::Own, FlowKind::Reply, 1, 0..1),
            ] {
                let mut seen = vec![false; lanes];
                for drawn in 0..200 {
                    let lane = lane(choice, replies, kind, drawn, lanes);
                    assert_eq!(replies.beside(lane, lanes), expected, "{choice:?} {replies:?} {kind:?}");
                    seen[lane] = true;
                }
                assert!((0..lanes).all(|lane| seen[lane] == expected.contains(&lane)), "{seen:?}");
            }
        }
    }
}
