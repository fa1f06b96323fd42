//! Meshes and tori.

use super::{KIND, KindRow, Topology, fits};
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, When, settings};
use crate::values::Values;
use flitway_wiring::topology::TopologySettings;

const MESH: &str = "mesh";
const TORUS: &str = "torus";
/// The kinds that have dimensions.
pub(crate) const KINDS: &[&str] = &[MESH, TORUS, super::hyperx::HYPERX];

pub(super) const MESH_CHOICE: Choice =
    Choice { name: MESH, doc: "A grid of switches in any number of dimensions." };

pub(super) const TORUS_CHOICE: Choice = Choice { name: TORUS, doc: "A grid whose rows close to rings." };

pub(super) const MESH_ROW: KindRow =
    KindRow { name: MESH, build: |values, findings| grid(values, MESH, findings) };
pub(super) const TORUS_ROW: KindRow =
    KindRow { name: TORUS, build: |values, findings| grid(values, TORUS, findings) };

settings! {
    /// Switches in each dimension, dimension 0 first. In a torus a ring of two switches has two links, and both are
    /// used; a dimension of one switch is a dimension of none.
    pub(crate) DIMENSIONS = "topology.dimensions", Kind::Counts { min: 1, max: 65_536, longest: 16 }, required,
        for When { selector: &KIND, values: KINDS }, example([8, 8]), source("the usual definition");

    /// Nodes on each switch; of a dragonfly-plus on each leaf switch.
    pub(super) NODES_PER_SWITCH = "topology.nodes_per_switch", Kind::Count { min: 1, max: 62 }, default(1),
        for When { selector: &KIND, values: WITH_NODES }, source("the usual definition");
}

/// The kinds with nodes on each switch, or on each leaf switch.
const WITH_NODES: &[&str] =
    &[MESH, TORUS, "hyperx", "dragonfly", "dragonfly-plus", "slim-fly", "random-regular"];

fn grid(values: &Values, kind: &'static str, findings: &mut Diagnostics) -> Option<Topology> {
    let (dimensions, nodes_per_switch) = (values.counts(&DIMENSIONS), values.count(&NODES_PER_SWITCH));
    let (dimensions, nodes_per_switch) = (dimensions?, nodes_per_switch?);
    let switches = dimensions.iter().try_fold(1_u64, |product, &size| product.checked_mul(u64::from(size)));
    let nodes = switches.and_then(|count| count.checked_mul(u64::from(nodes_per_switch)));
    let sizes: Vec<String> = dimensions.iter().map(u32::to_string).collect();
    let each = if nodes_per_switch == 1 { "a node".to_owned() } else { format!("{nodes_per_switch} nodes") };
    let rule = format!("the {kind} has {} switches with {each} on each", sizes.join(" x "));
    let [nodes, switches] = fits(values, &[&DIMENSIONS], [nodes, switches], &rule, findings)?;
    let wired = dimensions.iter().filter(|&&size| size > 1).count();
    let ports = u64::from(nodes_per_switch) + 2 * wired as u64;
    let classes = (0..dimensions.len()).map(|dimension| format!("dimension-{dimension}")).collect();
    let wired_classes = (0..dimensions.len())
        .filter(|&dimension| dimensions[dimension] > 1)
        .map(|dimension| format!("dimension-{dimension}"))
        .collect();
    let longest = dimensions.iter().copied().max();
    let settings = match kind {
        MESH => TopologySettings::Mesh { dimensions, nodes_per_switch },
        _ => TopologySettings::Torus { dimensions, nodes_per_switch },
    };
    Some(Topology {
        classes,
        wired_classes,
        ports,
        own_routing: "dimension-order",
        longest_ring: longest.filter(|_| kind == TORUS),
        ..Topology::plain(kind, settings, nodes, switches)
    })
}
