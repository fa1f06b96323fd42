//! The wiring of a fabric: what is connected, which ways through it are legal, and whether they can deadlock.
//!
//! This crate runs nothing: it knows no switch architecture, no flit and no time.
//!
//! * [`topology`]: the graph of switches, nodes and links, with its coordinates;
//! * [`routing`]: a relation from where a packet is to where it may go next;
//! * [`reach`]: which nodes each port leads down to;
//! * [`multicast`]: the trees of multicast groups;
//! * [`dependency`]: which channels wait for which, and the load of each;
//! * [`bisection`] and [`pattern`]: what the cables of any graph say of it.

pub mod bisection;
mod cables;
pub mod contention_free;
pub mod dependency;
mod destination;
pub mod digraph;
mod drawn;
pub mod multicast;
mod node_set;
pub mod pattern;
pub mod reach;
pub mod routing;
pub mod topology;
pub mod worst;

pub use destination::{Destination, SetId};
pub use multicast::{GroupId, Groups};
pub use node_set::NodeSet;

flitway_engine::id! {
    /// A numbered endpoint of a machine, from 0.
    NodeId
}

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
