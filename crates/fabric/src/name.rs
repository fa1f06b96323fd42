//! What components and packets are called, by those who watch them.

use flitway_engine::Cycle;
use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{NodeId, PortId, RailId, SwitchId};

/// A component as observers see it: switches of rail 0, of rail 1, ..., then nodes.
pub type ComponentNumber = u32;

/// Which component has `end` of a link in `rail`, in a fabric of so many rails of `topology`, and by which of its ports (of a
/// node: the rail).
#[must_use]
pub fn component_at(topology: &Topology, rails: u32, rail: RailId, end: End) -> (ComponentNumber, PortId) {
    let switches = topology.switches();
    match end {
        End::Switch(switch, port) => (rail.0 * switches + switch.0, port),
        End::Node(node) => (rails * switches + node.0, PortId(rail.0)),
    }
}

/// The rail and the end that `port` of `component` is: what [`component_at`] was asked.
#[must_use]
pub fn end_at(topology: &Topology, rails: u32, component: ComponentNumber, port: PortId) -> (RailId, End) {
    let switches = topology.switches();
    match component.checked_sub(rails * switches) {
        None => (RailId(component / switches), End::Switch(SwitchId(component % switches), port)),
        Some(node) => (RailId(port.0), End::Node(NodeId(node))),
    }
}

/// The component and the port at the other end of the link of `port` of `component`.
///
/// # Panics
/// If nothing is wired there.
#[must_use]
pub fn other_end(
    topology: &Topology,
    rails: u32,
    (component, port): (ComponentNumber, PortId),
) -> (ComponentNumber, PortId) {
    let (rail, end) = end_at(topology, rails, component, port);
    let link = topology.link_of(end).expect("what sends is wired");
    let [first, second] = topology.links()[link.index()].ends;
    component_at(topology, rails, rail, if first == end { second } else { first })
}

/// Which packet it is: a NIC port begins to send no two in the same cycle. Copies of a packet have one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketName {
    /// Who sent it.
    pub source: NodeId,
    /// When its first flit was on the wire there.
    pub injected: Cycle,
}
