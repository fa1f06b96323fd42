//! One switch.

use super::{Links, OF_KIND, Row, Topology};
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{PORTS_MAX, TopologySettings};

pub(super) static SINGLE: Row = Row {
    choice: Choice { name: "single", doc: "One switch with all nodes." },
    noun: "a single switch",
    own_routing: RoutingKind::UpDown,
    links: Links::None,
    settings: &[&NODES],
    shared: &[],
    build,
};

settings! {
    /// Nodes on the one switch, on its first ports.
    NODES = "topology.nodes", Kind::Count { min: 1, max: PORTS_MAX }, required, for OF_KIND, example(16),
        source("hpp-switch.txt section 3.1 (P-HP-065)");
}

fn build(values: &Values, _: &mut Diagnostics) -> Option<Topology> {
    let nodes = values.count(&NODES)?;
    let settings = TopologySettings::Single { nodes };
    Some(Topology { ports: nodes.into(), ..Topology::plain(&SINGLE, settings, nodes.into(), 1) })
}
