//! A packet as it travels, and the mail between ports.

use super::SpSettings;
use flitway_engine::Cycle;
use flitway_fabric::observer::PacketName;
use flitway_fabric::simulation::Conservation;
use flitway_fabric::{Delivery, Flow, Packet, Rate};
use flitway_wiring::NodeSet;
use flitway_wiring::{Destination, NodeId, RailId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A packet, wherever it is: in a queue, a FIFO or on a link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PacketState {
    pub(super) created: Cycle,
    pub(super) injected: Cycle,
    /// When its first flit is on the wire of the component that it comes to.
    pub(super) arrived: Cycle,
    /// In a switch: when the first flit could be sent, were the output free of others.
    pub(super) ready: Cycle,
    tag: u64,
    pub(super) source: NodeId,
    /// The node it is for, unless it is for a set.
    pub(super) to: NodeId,
    /// The nodes it is for.
    pub(super) set: Option<Arc<NodeSet>>,
    pub(super) flits: u32,
    pub(super) header: u32,
    /// Switches that a worm still has to climb.
    pub(super) climb: u32,
    pub(super) payload: u16,
    pub(super) hops: u16,
    /// Kind and process of its flow.
    flow_bits: u8,
}

impl PacketState {
    /// `packet` of `source`, which climbs so many switches, if it is for a set of nodes.
    pub(super) fn new(
        settings: &SpSettings,
        source: NodeId,
        packet: &Packet,
        set: Option<Arc<NodeSet>>,
        climb: u32,
    ) -> Self {
        let payload = u32::from(packet.payload);
        let (flits, header) = match set {
            Some(_) => (settings.worm_flits(payload), settings.bit_string_flits()),
            None => (settings.format.packet_flits(payload), settings.format.header_flits),
        };
        let to = match packet.destination {
            Destination::Node(node) => node,
            Destination::Group(..) | Destination::Nodes(_) => source,
        };
        PacketState {
            created: packet.created,
            injected: Cycle::ZERO,
            arrived: Cycle::ZERO,
            ready: Cycle::ZERO,
            tag: packet.flow.tag,
            source,
            to,
            set,
            flits,
            header: header.max(1),
            climb,
            payload: packet.payload,
            hops: 0,
            flow_bits: packet.flow.bits(),
        }
    }

    /// What its destination `node` is told in cycle `now`.
    pub(super) fn delivery(&self, node: NodeId, rail: RailId, now: Cycle) -> Delivery {
        Delivery {
            source: self.source,
            destination: node,
            group: None,
            rail,
            vc: 0,
            payload: self.payload,
            flits: self.flits as u16,
            hops: self.hops,
            created: self.created,
            injected: self.injected,
            delivered: now,
            is_corrupt: false,
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

    /// Whom it is for, as a witness tells it.
    pub(super) fn destination(&self) -> Destination {
        match &self.set {
            Some(set) => Destination::Nodes(flitway_wiring::SetId { set: 0, nodes: set.len() }),
            None => Destination::Node(self.to),
        }
    }
}

/// Consecutive cycles: `count` flits or credits, one a cycle from `at` on, or all in cycle `at` if they are `bulk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub(super) at: Cycle,
    pub(super) count: u32,
    pub(super) bulk: bool,
    /// The port it comes to.
    pub(super) port: u16,
}

/// What one port tells the port at the other end of its link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mail {
    /// A packet comes to a switch: its first flit is told in the next run.
    Head(u16, Box<PacketState>),
    /// Flits come: when each is on the receiver's wire.
    Flits(Run),
    /// Credits come back: when each counts.
    Credits(Run),
    /// The channel of that port has another rate from that cycle on, or is stopped.
    Pace(u16, Cycle, Option<Rate>),
    /// A packet comes to a node, in that rail, and counts as delivered in that cycle.
    Whole(u16, Cycle, Box<PacketState>),
}

/// What has come for a component, in the order of each port.
#[derive(Debug, Default)]
pub struct Inbox {
    pub(super) heads: Vec<(u16, Box<PacketState>)>,
    pub(super) flits: Vec<Run>,
    pub(super) credits: Vec<Run>,
    pub(super) paces: Vec<(u16, Cycle, Option<Rate>)>,
    pub(super) whole: Vec<(u16, Cycle, Box<PacketState>)>,
}

impl Inbox {
    pub(super) fn accept(&mut self, mail: Mail) {
        match mail {
            Mail::Head(port, state) => self.heads.push((port, state)),
            Mail::Flits(run) => self.flits.push(run),
            Mail::Credits(run) => self.credits.push(run),
            Mail::Pace(port, at, rate) => self.paces.push((port, at, rate)),
            Mail::Whole(rail, at, state) => self.whole.push((rail, at, state)),
        }
    }

    /// A packet is where its first flit is.
    pub(super) fn audit(&self, books: &mut Conservation) {
        books.in_network += (self.heads.len() + self.whole.len()) as u64;
        books.units_held += self.flits.iter().map(|run| u64::from(run.count)).sum::<u64>();
    }
}
