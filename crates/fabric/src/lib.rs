//! The fabric: topology, routing, links, switches and NIC ports; what is wired and how flits move.
//!
//! This crate knows no files and prints nothing. What sits on top of a NIC port is an [`Endpoint`]; what the endpoint
//! says, and why, the fabric does not know either.

pub mod arbiter;
pub mod barrier;
mod bits;
pub mod deadlock;
pub mod dependency;
mod digraph;
pub mod endpoint;
pub mod headroom;
pub mod hpp;
pub mod multicast;
pub mod node_set;
pub mod observer;
pub mod packet;
mod pool;
pub mod reach;
pub mod routing;
pub mod simulation;
pub mod sp;
pub mod topology;

pub use barrier::{BarrierId, Barriers};
pub use endpoint::{Delivery, Destination, Endpoint, Outgoing, Packet};
pub use flitway_engine::NodeId;
pub use multicast::{GroupId, Groups};
pub use node_set::NodeSet;
pub use observer::{Observer, Unobserved};
pub use packet::PacketFormat;
pub use simulation::{Fabric, Simulation, SwitchSettings};

flitway_engine::id! {
    /// A switch (a chip) of one rail, from 0.
    SwitchId
}

flitway_engine::id! {
    /// A port of a switch, from 0.
    PortId
}

flitway_engine::id! {
    /// One of several identical networks that join the same nodes, from 0.
    RailId
}
