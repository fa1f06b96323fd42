//! Whatever a graph file says.

use super::{Links, OF_KIND, Row, Topology};
use crate::diagnostic::Diagnostics;
use crate::graph;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::TopologySettings;

pub(super) static GRAPH: Row = Row {
    choice: Choice { name: "graph", doc: "Whatever a graph file says." },
    noun: "a graph",
    own_routing: RoutingKind::UpDown,
    links: Links::Alike,
    settings: &[&FILE],
    shared: &[],
    build,
};

settings! {
    /// The graph file. Its path is relative to the machine file that names it; in a `--set`, to the current directory.
    /// Lines are `switch NAME ...`, `node NAME ...` and `link END - END [LENGTH] [RATE] [back RATE] [class NAME]`, where the
    /// end at a switch is NAME:PORT; `server NODE ...` says whose NICs the nodes are, `at SWITCH X Y` where a switch is
    /// drawn; `s0..s7` declares s0 to s7; `#` begins a comment.
    FILE = "topology.file", Kind::Path, required, for OF_KIND, example("ring.graph"), source("Flitway");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let graph = graph::read(&values.path(&FILE)?, values.location(&FILE).as_ref(), findings)?;
    let settings = TopologySettings::Graph(graph.graph.clone());
    let [nodes, switches] = [graph.graph.nodes, graph.graph.switches].map(u64::from);
    Some(Topology { graph: Some(graph), ..Topology::plain(&GRAPH, settings, nodes, switches) })
}
