//! A packet as it travels, and the mail between ports.

use super::forecast::Run;
use flitway_engine::Cycle;
use flitway_fabric::observer::PacketName;
use flitway_fabric::simulation::Conservation;
use flitway_fabric::{Delivery, Flow, Packet, Rate};
use flitway_wiring::routing::Header;
use flitway_wiring::{NodeId, RailId};
use serde::{Deserialize, Serialize};

/// A packet, wherever its first flit is: in a queue, a buffer or on a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PacketState {
    pub(super) header: Header,
    pub(super) created: Cycle,
    pub(super) injected: Cycle,
    /// When its first flit is on the wire of the component that it comes to.
    pub(super) arrived: Cycle,
    tag: u64,
    pub(super) source: NodeId,
    pub(super) flits: u32,
    payload: u16,
    pub(super) hops: u16,
    /// Kind and process of its flow.
    flow_bits: u8,
}

impl PacketState {
    /// `packet` of `source`, which has just been created.
    pub(super) fn new(source: NodeId, header: Header, packet: &Packet, flits: u32) -> Self {
        PacketState {
            header,
            created: packet.created,
            injected: Cycle::ZERO,
            arrived: Cycle::ZERO,
            tag: packet.flow.tag,
            source,
            flits,
            payload: packet.payload,
            hops: 0,
            flow_bits: packet.flow.bits(),
        }
    }

    /// What its destination is told in cycle `now`, to which it has come on `vc`.
    pub(super) fn delivery(&self, node: NodeId, rail: RailId, vc: u8, now: Cycle) -> Delivery {
        Delivery {
            source: self.source,
            destination: node,
            group: None,
            rail,
            vc,
            payload: self.payload,
            flits: self.flits as u16,
            hops: self.hops,
            created: self.created,
            injected: self.injected,
            delivered: now,
            flow: self.flow(),
        }
    }

    /// What it is part of.
    pub(super) fn flow(&self) -> Flow {
        Flow::from_bits(self.flow_bits, self.tag)
    }

    /// What observers call it.
    pub(super) fn name(&self) -> PacketName {
        PacketName { source: self.source, injected: self.injected }
    }
}

/// What one port tells the port at the other end of its link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mail {
    /// A packet comes to a switch, by that port and virtual channel; its flits are told beside it.
    Head(u16, u8, Box<PacketState>),
    /// Flits come: when they are ready.
    Flits(Run),
    /// Credits come back: when they count.
    Credits(Run),
    /// The answer to the packet that was sent by that port and virtual channel, which comes in that cycle.
    Answer(u16, u8, Cycle),
    /// A packet comes to a node, in that rail and virtual channel, and has all been received in that cycle.
    Whole(u16, u8, Cycle, Box<PacketState>),
    /// The channel of that port has another rate from that cycle on, or is stopped.
    Pace(u16, Cycle, Option<Rate>),
}

/// What has come for a component, in the order of each port.
#[derive(Debug, Default)]
pub struct Inbox {
    pub(super) heads: Vec<(u16, u8, Box<PacketState>)>,
    pub(super) flits: Vec<Run>,
    pub(super) credits: Vec<Run>,
    pub(super) answers: Vec<(u16, u8, Cycle)>,
    pub(super) whole: Vec<(u16, u8, Cycle, Box<PacketState>)>,
    pub(super) paces: Vec<(u16, Cycle, Option<Rate>)>,
}

impl Inbox {
    #[inline]
    pub(super) fn accept(&mut self, mail: Mail) {
        match mail {
            Mail::Head(port, vc, state) => self.heads.push((port, vc, state)),
            Mail::Flits(run) => self.flits.push(run),
            Mail::Credits(run) => self.credits.push(run),
            Mail::Answer(port, vc, at) => self.answers.push((port, vc, at)),
            Mail::Whole(rail, vc, at, state) => self.whole.push((rail, vc, at, state)),
            Mail::Pace(port, at, rate) => self.paces.push((port, at, rate)),
        }
    }

    /// A packet is where its first flit is.
    pub(super) fn audit(&self, books: &mut Conservation) {
        books.in_network += (self.heads.len() + self.whole.len()) as u64;
        books.units_held += self.heads.iter().map(|(.., state)| u64::from(state.flits)).sum::<u64>();
    }
}
