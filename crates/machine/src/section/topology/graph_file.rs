//! Whatever a graph file says.

use super::{KIND, KindRow, Topology};
use crate::diagnostic::Diagnostics;
use crate::graph;
use crate::setting::{Choice, Kind, When, settings};
use crate::values::Values;
use flitway_wiring::topology::TopologySettings;

const GRAPH: &str = "graph";

pub(super) const CHOICE: Choice = Choice { name: GRAPH, doc: "Whatever a graph file says." };

pub(super) const ROW: KindRow = KindRow { name: GRAPH, build };

settings! {
    /// The graph file. Its path is relative to the machine file that names it; in a `--set`, to the current directory.
    /// Lines are `switch NAME ...`, `node NAME ...` and `link END - END [LENGTH]`, where the end at a switch is
    /// NAME:PORT; `s0..s7` declares s0 to s7; `#` begins a comment.
    pub(super) FILE = "topology.file", Kind::Path, required, for When { selector: &KIND, values: &[GRAPH] },
        example("ring.graph"), source("Flitway");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let graph = graph::read(&values.path(&FILE)?, values.location(&FILE).as_ref(), findings)?;
    let settings = TopologySettings::Graph(graph.graph.clone());
    let [nodes, switches] = [graph.graph.nodes, graph.graph.switches].map(u64::from);
    Some(Topology { graph: Some(graph), ..Topology::plain(GRAPH, settings, nodes, switches) })
}
