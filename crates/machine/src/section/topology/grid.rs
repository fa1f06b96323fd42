//! Meshes and tori.

use super::{Links, OF_KIND, Row, Topology, fits};
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{PORTS_MAX, TopologySettings};

pub(super) static MESH: Row = Row {
    choice: Choice { name: "mesh", doc: "A grid of switches in any number of dimensions." },
    noun: "a mesh",
    own_routing: RoutingKind::DimensionOrder,
    links: Links::Dimensions,
    settings: &[&DIMENSIONS],
    shared: &[&NODES_PER_SWITCH],
    build: |values, findings| grid(values, &MESH, findings),
};

pub(super) static TORUS: Row = Row {
    choice: Choice { name: "torus", doc: "A grid whose rows close to rings." },
    noun: "a torus",
    own_routing: RoutingKind::DimensionOrder,
    links: Links::Rings,
    settings: &[],
    shared: &[&DIMENSIONS, &NODES_PER_SWITCH],
    build: |values, findings| grid(values, &TORUS, findings),
};

settings! {
    /// Switches in each dimension, dimension 0 first. In a torus a ring of two switches has two links, and both are
    /// used; a dimension of one switch is a dimension of none.
    pub(crate) DIMENSIONS = "topology.dimensions", Kind::Counts { min: 1, max: 65_536, longest: 16 }, required,
        for OF_KIND, example([8, 8]), source("the usual definition");

    /// Nodes on each switch; of a dragonfly-plus on each leaf switch.
    pub(super) NODES_PER_SWITCH = "topology.nodes_per_switch", Kind::Count { min: 1, max: PORTS_MAX - 2 }, default(1), for OF_KIND,
        source("the usual definition");
}

fn grid(values: &Values, row: &'static Row, findings: &mut Diagnostics) -> Option<Topology> {
    let (dimensions, nodes_per_switch) = (values.counts(&DIMENSIONS), values.count(&NODES_PER_SWITCH));
    let (dimensions, nodes_per_switch) = (dimensions?, nodes_per_switch?);
    let switches = dimensions.iter().try_fold(1_u64, |product, &size| product.checked_mul(u64::from(size)));
    let nodes = switches.and_then(|count| count.checked_mul(u64::from(nodes_per_switch)));
    let sizes: Vec<String> = dimensions.iter().map(u32::to_string).collect();
    let each = if nodes_per_switch == 1 { "a node".to_owned() } else { format!("{nodes_per_switch} nodes") };
    let rule = format!("the {} has {} switches with {each} on each", row.choice.name, sizes.join(" x "));
    let [nodes, switches] = fits(values, &[&DIMENSIONS], [nodes, switches], &rule, findings)?;
    let wired = dimensions.iter().filter(|&&size| size > 1).count();
    let ports = u64::from(nodes_per_switch) + 2 * wired as u64;
    let classes = (0..dimensions.len()).map(|dimension| format!("dimension-{dimension}")).collect();
    let wired_classes = (0..dimensions.len())
        .filter(|&dimension| dimensions[dimension] > 1)
        .map(|dimension| format!("dimension-{dimension}"))
        .collect();
    let longest = dimensions.iter().copied().max();
    let has_rings = row.links == Links::Rings;
    let settings = if has_rings {
        TopologySettings::Torus { dimensions, nodes_per_switch }
    } else {
        TopologySettings::Mesh { dimensions, nodes_per_switch }
    };
    Some(Topology {
        classes,
        wired_classes,
        ports,
        longest_ring: longest.filter(|_| has_rings),
        has_intermediates: true,
        ..Topology::plain(row, settings, nodes, switches)
    })
}
