//! One switch.

use super::{KIND, KindRow, Topology};
use crate::setting::{Choice, Kind, When, settings};
use flitway_wiring::topology::TopologySettings;

const SINGLE: &str = "single";

pub(super) const CHOICE: Choice = Choice { name: SINGLE, doc: "One switch with all nodes." };

pub(super) const ROW: KindRow = KindRow {
    name: SINGLE,
    build: |values, _| {
        let nodes = values.count(&NODES)?;
        let settings = TopologySettings::Single { nodes };
        Some(Topology { ports: nodes.into(), ..Topology::plain(SINGLE, settings, nodes.into(), 1) })
    },
};

settings! {
    /// Nodes on the one switch, on its first ports.
    pub(super) NODES = "topology.nodes", Kind::Count { min: 1, max: 64 }, required,
        for When { selector: &KIND, values: &[SINGLE] }, example(16), source("hpp-switch.txt section 3.1 (P-HP-065)");
}
