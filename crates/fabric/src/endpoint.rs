//! The contract between a node's NIC ports and what sits on top of them.
//!
//! A node has one NIC port in each rail. One door leads each way between those and the node's [`Endpoint`]: down go the things
//! that it puts into [`Outgoing`], up comes what it hears of, an [`Up`]. It acts on its own node only; whatever two nodes have
//! to tell each other goes through the network.
//!
//! **Ideal** NIC ports ([`NicPorts`]) take packets without end, and each flit leaves the receive buffer as it comes. With
//! **bounded** ones a NIC model knows what is under way: it hears when a packet has left the source queue (room), it keeps
//! each packet in the receive buffer, with its credits, until it drains it, and so presses back into the network when it is
//! full. **Answers** go to the sender of a packet: where switches carry none of their own, each is a packet of one byte.
//! Where they do, that to a packet for a set of nodes is the conjunction of what the nodes say, and may be a *test* of
//! something at all of them.

use crate::message::MessageEvent;
use crate::{BarrierId, Flow, FlowKind};
use flitway_engine::Cycle;
use flitway_wiring::NodeId;
use flitway_wiring::{Destination, GroupId, NodeSet, RailId, SetId};
use std::sync::Arc;

/// A packet that an endpoint hands to one of its NIC ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whom it is for.
    pub destination: Destination,
    /// The rail it travels on.
    pub rail: RailId,
    /// The lane it keeps from end to end: a random number, of which the NIC port takes the remainder by the number of
    /// lanes that the routing leaves free to choose. Packets for groups have a lane of their own, and where lanes are chosen
    /// by flow this number has no effect.
    pub lane: u32,
    /// Payload in bytes, 1 to the MTU.
    pub payload: u16,
    /// When it came into being; not later than the cycle in which it is handed over.
    pub created: Cycle,
    /// Comes back unchanged with the [`Delivery`].
    pub flow: Flow,
}

/// A packet that has reached its destination, or one copy of it a member of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The node that sent it.
    pub source: NodeId,
    /// The node that it has reached.
    pub destination: NodeId,
    /// The group it was for, if it was for one.
    pub group: Option<GroupId>,
    /// The rail it travelled on.
    pub rail: RailId,
    /// The virtual channel that it came in on.
    pub vc: u8,
    /// Payload in bytes.
    pub payload: u16,
    /// Length on the link in flits, header and trailer included.
    pub flits: u16,
    /// Switches crossed.
    pub hops: u16,
    /// When it came into being.
    pub created: Cycle,
    /// When its head left the source: the cycle in which the first flit was on the wire.
    pub injected: Cycle,
    /// When its last flit had been received: the cycle after the one in which that flit was on the receiver's wire.
    pub delivered: Cycle,
    /// A link has corrupted it, and no check of links has shown it.
    pub is_corrupt: bool,
    /// What the sender gave.
    pub flow: Flow,
}

impl Delivery {
    /// What names it to the NIC port that holds it.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        Ticket { rail: self.rail, vc: self.vc }
    }
}

/// The packet that a bounded NIC port holds: the one delivered last on that virtual channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    /// Of which NIC port.
    pub rail: RailId,
    /// On which virtual channel.
    pub vc: u8,
}

/// How the NIC ports of a fabric deal with the NICs behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicPorts {
    /// Source queues without end, and receive buffers that empty by themselves.
    Ideal,
    /// The NIC hears when a packet has left its source queue, and receive buffers keep packets until it drains them: for
    /// endpoints that are [`BOUNDED`](Endpoint::BOUNDED).
    Bounded,
    /// The same, and the NIC hears of the answer to each packet, where switches carry answers.
    Answering,
}

impl NicPorts {
    /// Whether receive buffers keep packets until the NIC drains them.
    #[must_use]
    pub const fn are_bounded(self) -> bool {
        matches!(self, NicPorts::Bounded | NicPorts::Answering)
    }
}

/// What an endpoint hears from its NIC ports.
#[derive(Clone, Copy, Debug)]
pub enum Up<'a> {
    /// A packet has arrived; it is `delivered` now. If the NIC port is bounded it stays there until it is drained, and so does
    /// what comes after it on its virtual channel.
    Delivery(&'a Delivery),
    /// The node's process is released from the barrier of the group at which it arrived last.
    Released(BarrierId),
    /// A packet has left the source queue of the NIC port in this rail, which is bounded: its last flit has been sent, and
    /// there is room for another. This was its flow.
    Sent(RailId, Flow),
    /// A packet of this flow has been answered in this rail, where switches carry answers. If it went to a set of nodes, by all
    /// of them, and whether none has [denied](Outgoing::deny) it. Packets for one node: if the NIC port is
    /// [answering](NicPorts::Answering).
    Answered(RailId, Flow, bool),
}

/// What an endpoint does in one call, on its way to the NIC ports.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// Packets that it sends.
    pub packets: Vec<Packet>,
    /// The sets of nodes that packets are for.
    pub sets: Vec<Arc<NodeSet>>,
    /// Barriers at which its process arrives.
    pub arrivals: Vec<BarrierId>,
    /// Packets that it has taken out of bounded NIC ports.
    pub drained: Vec<Ticket>,
    /// Packets for sets of nodes that it has denied.
    pub denied: Vec<Ticket>,
    /// What its processes report to observers.
    pub events: Vec<MessageEvent>,
}

impl Outgoing {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Outgoing {
            packets: Vec::new(),
            sets: Vec::new(),
            arrivals: Vec::new(),
            drained: Vec::new(),
            denied: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Sends `packet`.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.packets.push(packet);
    }

    /// Sends `packet` to the nodes of `set`, whatever its destination says.
    pub fn push_to_set(&mut self, packet: Packet, set: Arc<NodeSet>) {
        let id = SetId { set: self.sets.len() as u32, nodes: set.len() };
        self.sets.push(set);
        self.packets.push(Packet { destination: Destination::Nodes(id), ..packet });
    }

    /// The node's process arrives at a barrier of `group`, of which the node is a member. It is released later, and
    /// may not arrive again before.
    #[inline]
    pub fn arrive(&mut self, group: BarrierId) {
        self.arrivals.push(group);
    }

    /// Reports `event` to observers.
    pub fn report(&mut self, event: MessageEvent) {
        self.events.push(event);
    }

    /// Drains the packet of `ticket`: its flits leave the receive buffer one a cycle, from this cycle on.
    pub fn drain(&mut self, ticket: Ticket) {
        self.drained.push(ticket);
    }

    /// Denies the packet of `ticket`, a test that an ideal NIC port delivers in this very cycle: the answer that switches carry
    /// to the sender says so ([`Up::Answered`]). Nothing else is done with the packet.
    pub fn deny(&mut self, ticket: Ticket) {
        self.denied.push(ticket);
    }

    /// Answers `delivery` in cycle `now`: its sender hears of a packet of kind [`Accepted`](FlowKind::Accepted) or
    /// [`Refused`](FlowKind::Refused) with the same process and tag. It travels on `lane`.
    pub fn answer(&mut self, now: Cycle, delivery: &Delivery, is_accepted: bool, lane: u32) {
        let kind = if is_accepted { FlowKind::Accepted } else { FlowKind::Refused };
        let flow = Flow::new(kind, delivery.flow.tag).of_process(delivery.flow.process());
        let destination = Destination::Node(delivery.source);
        self.push(Packet { destination, rail: delivery.rail, lane, payload: 1, created: now, flow });
    }
}

impl Extend<Packet> for Outgoing {
    fn extend<I: IntoIterator<Item = Packet>>(&mut self, packets: I) {
        self.packets.extend(packets);
    }
}

/// What sits on top of the NIC ports of one node.
///
/// All calls may put something into `out`, which reaches its NIC port in cycle `now`. All return the next cycle, after
/// `now`, in which the endpoint wants to be woken; a later call's answer replaces an earlier one's.
pub trait Endpoint: Send {
    /// Whether a delivery makes it change or act. One for which it does not may not be told of deliveries, which saves time;
    /// then observers are told of a delivery as soon as it is certain to come before somebody looks from outside.
    const REACTS: bool = true;

    /// Whether it drains the receive buffers of its NIC ports itself and hears what they have sent: its fabric has bounded ones
    /// then.
    const BOUNDED: bool = false;

    /// Whether it is [`BOUNDED`](Endpoint::BOUNDED) and keeps requests in the receive buffers until some of its replies have
    /// left their source queues, and for no other reason: then packets can wait for each other by way of it.
    const KEEPS_FOR_REPLIES: bool = false;

    /// Whether it may ever send. Where threads share a fabric, those of its parts near nodes that do are dealt out evenly.
    fn takes_part(&self) -> bool {
        true
    }

    /// Called once in cycle 0, and in every cycle asked for.
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle>;

    /// Called with whatever comes up from its NIC ports, in cycle `now`.
    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle>;
}
