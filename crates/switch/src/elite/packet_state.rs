//! A packet as it travels, and the mail between ports.

use super::forecast::Run;
use flitway_engine::Cycle;
use flitway_fabric::observer::{ComponentNumber, Loss, PacketName};
use flitway_fabric::simulation::Conservation;
use flitway_fabric::{Delivery, Flow, LossCause, Packet, Rate};
use flitway_wiring::routing::Header;
use flitway_wiring::{Destination, NodeId, NodeSet, RailId, SetId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
    pub(super) payload: u16,
    pub(super) hops: u16,
    /// How often it has been refused, whether its NIC port has sent it before, and the cycle before which it is not sent again.
    pub(super) refusals: u32,
    pub(super) was_sent: bool,
    pub(super) not_before: Cycle,
    /// It has been delivered to its one node, and its source knows nothing of that.
    pub(super) was_delivered: bool,
    /// A link has corrupted it: known when all of it has been received.
    pub(super) is_corrupt: bool,
    /// Of a broadcast: whom it is for, and which one of its source.
    pub(super) range: Option<Arc<NodeSet>>,
    pub(super) number: u32,
    /// Those of the range that have not been delivered a copy, as far as NACKs say; all of it before the first.
    missing: Option<Arc<NodeSet>>,
    /// The tables with which it has begun.
    pub(super) tables: u16,
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
            refusals: 0,
            was_sent: false,
            not_before: Cycle::ZERO,
            was_delivered: false,
            is_corrupt: false,
            range: None,
            number: 0,
            missing: None,
            tables: 0,
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
            is_corrupt: false,
            flow: self.flow(),
        }
    }

    /// Whom it is for.
    #[inline]
    pub(super) fn destination(&self) -> Destination {
        match &self.range {
            None => Destination::Node(self.header.destination()),
            Some(range) => Destination::Nodes(SetId { set: 0, nodes: range.len() }),
        }
    }

    /// What it is part of.
    pub(super) fn flow(&self) -> Flow {
        Flow::from_bits(self.flow_bits, self.tag)
    }

    /// A NACK says that copies for these nodes have not been delivered.
    pub(super) fn miss(&mut self, nodes: Option<Arc<NodeSet>>) {
        self.missing = match (self.missing.take(), nodes) {
            (Some(before), Some(nodes)) => Some(Arc::new(before.of_both(&nodes))),
            (before, nodes) => before.or(nodes),
        };
    }

    /// That it is lost at `component` in cycle `at`, for each of those who lack it.
    pub(super) fn losses(&self, at: Cycle, component: ComponentNumber, cause: LossCause) -> Vec<Loss> {
        let loss = |destination| Loss {
            at,
            component,
            source: self.source,
            destination,
            created: self.created,
            flow: self.flow(),
            flits: self.flits as u16,
            was_sent: self.was_sent,
            cause,
        };
        match self.missing.as_ref().or(self.range.as_ref()) {
            None if self.was_delivered => Vec::new(),
            None => vec![loss(self.header.destination())],
            Some(nodes) => {
                let mut losses: Vec<Loss> = nodes.iter().map(loss).collect();
                losses.iter_mut().skip(1).for_each(|loss| loss.was_sent = true);
                losses
            }
        }
    }

    /// What observers call it.
    pub(super) fn name(&self) -> PacketName {
        PacketName { source: self.source, injected: self.injected }
    }
}

/// What an answer says: of those of copies that are combined, the greatest counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Verdict {
    /// An ACK: it has been received, and is true if it is a test.
    #[default]
    True,
    /// It has been received, and is a test that is false.
    False,
    /// A NACK: a NIC port had no room for it.
    Full,
    /// A NACK: it was corrupt, or had no way.
    Nack,
}

impl Verdict {
    /// Whether it says that the packet has not been received.
    pub(super) fn is_nack(self) -> bool {
        self >= Verdict::Full
    }
}

/// The answer to a packet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// The port and virtual channel by which the packet was sent.
    pub(super) port: u16,
    pub(super) vc: u8,
    /// When it comes.
    pub(super) at: Cycle,
    pub(super) verdict: Verdict,
    /// A link has corrupted it, or was down: who hears it does not know the verdict, which is kept for the books.
    pub(super) is_void: bool,
    /// It answers a broadcast.
    pub(super) is_combined: bool,
    /// Of a NACK to a broadcast: for whom nothing has come. The books need it; switches and NIC ports make nothing of it.
    pub(super) missing: Option<Arc<NodeSet>>,
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
    /// The answer to the packet that was sent by a port and virtual channel.
    Answer(Answer),
    /// The packet that comes by that port and virtual channel is corrupt.
    Corrupt(u16, u8),
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
    pub(super) answers: Vec<Answer>,
    pub(super) corrupt: Vec<(u16, u8)>,
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
            Mail::Answer(answer) => self.answers.push(answer),
            Mail::Corrupt(port, vc) => self.corrupt.push((port, vc)),
            Mail::Whole(rail, vc, at, state) => self.whole.push((rail, vc, at, state)),
            Mail::Pace(port, at, rate) => self.paces.push((port, at, rate)),
        }
    }

    /// A packet is where its first flit is, and one that was corrupt where its NACK is; but a copy that was is gone.
    pub(super) fn audit(&self, books: &mut Conservation) {
        let whole = self.whole.iter().filter(|(.., state)| !state.is_corrupt).count();
        let nacks =
            self.answers.iter().filter(|answer| answer.verdict.is_nack() && !answer.is_combined).count();
        books.in_network += (self.heads.len() + whole + nacks) as u64;
        books.units_held += self.heads.iter().map(|(.., state)| u64::from(state.flits)).sum::<u64>();
    }
}
