//! The contract between a node's NIC ports and what sits on top of them.
//!
//! A node has one NIC port in each rail. Its [`Endpoint`] hands packets to those ports and is told of packets that have
//! arrived for it. It acts on its own node only; whatever two nodes have to tell each other goes through the network.

use crate::{BarrierId, Flow};
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
    /// What the sender gave.
    pub flow: Flow,
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
}

impl Outgoing {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Outgoing { packets: Vec::new(), sets: Vec::new(), arrivals: Vec::new() }
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

    /// Called once in cycle 0, and in every cycle asked for.
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle>;

    /// A packet has arrived; `now` is `delivery.delivered`.
    fn deliver(&mut self, now: Cycle, delivery: &Delivery, out: &mut Outgoing) -> Option<Cycle>;

    /// The node's process is released from the barrier of `group` at which it arrived last. Only an endpoint that arrives at
    /// barriers is told so.
    fn released(&mut self, now: Cycle, group: BarrierId, out: &mut Outgoing) -> Option<Cycle> {
        let _ = out;
        unreachable!("nobody is released from {group} in {now} who has not arrived")
    }
}
