//! One switch.

use super::{KIND, KindRow, Topology};
use crate::setting::{Choice, Kind, Presence, Setting, When};
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

pub(super) static NODES: Setting = Setting {
    path: "topology.nodes",
    kind: Kind::Count { min: 1, max: 64 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[SINGLE] }),
    doc: "Nodes on the one switch, on its first ports.",
    example: "16",
    source: "hpp-switch.txt section 3.1 (P-HP-065)",
};
