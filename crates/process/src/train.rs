//! A train of packets: one node sends so many to another, all of them at once, rails taking turns.

use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::{Endpoint, Flow, FlowKind, Outgoing, Packet, Up};
use flitway_wiring::NodeId;
use flitway_wiring::{Destination, RailId};

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainSettings {
    /// Who sends.
    pub from: NodeId,
    /// To whom; may be the sender.
    pub to: NodeId,
    /// How many packets.
    pub count: u32,
    /// Payload of each in bytes.
    pub payload: u16,
    /// Rails.
    pub rails: u32,
    /// Of every random choice.
    pub seed: u64,
}

/// The part of a node in a train.
#[derive(Clone, Debug)]
pub struct Train {
    settings: TrainSettings,
    sends: bool,
    received: u32,
    last: Cycle,
}

impl Train {
    /// The part of `node`.
    #[must_use]
    pub fn new(settings: TrainSettings, node: NodeId) -> Self {
        Train { settings, sends: node == settings.from, received: 0, last: Cycle::ZERO }
    }

    /// Packets received.
    #[must_use]
    pub fn received(&self) -> u32 {
        self.received
    }

    /// When the last of them was.
    #[must_use]
    pub fn last(&self) -> Cycle {
        self.last
    }
}

impl Endpoint for Train {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        let TrainSettings { from, to, count, payload, rails, seed } = self.settings;
        if self.sends {
            let mut lanes = Stream::new(seed, from.0.into(), Purpose::Lane);
            out.extend((0..count).map(|number| Packet {
                destination: Destination::Node(to),
                rail: RailId(number % rails),
                lane: lanes.bits() as u32,
                payload,
                created: now,
                flow: Flow::new(FlowKind::Message, number.into()),
            }));
        }
        None
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, _: &mut Outgoing) -> Option<Cycle> {
        if let Up::Delivery(_) = up {
            self.received += 1;
            self.last = now;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;

    #[test]
    fn rails_take_turns_and_everything_arrives() {
        let settings =
            TrainSettings { from: NodeId(1), to: NodeId(2), count: 7, payload: 9, rails: 3, seed: 1 };
        let mut nodes: Vec<Train> = (0..4).map(|node| Train::new(settings, NodeId(node))).collect();
        let sent = run(&mut nodes, &[10, 20, 30], 100);
        let rails: Vec<u32> = sent.iter().map(|(_, _, packet)| packet.rail.0).collect();
        assert_eq!(rails, [0, 1, 2, 0, 1, 2, 0]);
        assert!(sent.iter().all(|&(at, from, packet)| (at, from, packet.payload) == (0, 1, 9)));
        assert_eq!((nodes[2].received(), nodes[2].last()), (7, Cycle(30)));
        assert_eq!(nodes[3].received(), 0);
    }
}
