//! Whom packets are for.

use crate::{GroupId, NodeId};

/// Whom a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// One node. A packet to the node itself is legal and crosses the node's own switch.
    Node(NodeId),
    /// The members of a multicast group, by way of a root of those that [`Groups::roots`](crate::Groups::roots) counts
    /// where the sender chooses one.
    Group(GroupId, u32),
    /// A set of nodes, each of which gets a copy: a worm, where switches have reachability strings.
    Nodes(SetId),
}

/// A set of nodes that the sender keeps beside its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetId {
    /// Its place there.
    pub set: u32,
    /// How many nodes are in it.
    pub nodes: u32,
}
