//! HyperX, and with it flattened butterflies, full meshes and hypercubes.

use super::grid::{DIMENSIONS, NODES_PER_SWITCH};
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{PORTS_MAX, TopologySettings};

pub(super) static HYPERX: Row = Row {
    choice: Choice {
        name: "hyperx",
        doc: "In every dimension each switch is joined to all others of its row. One dimension is a full mesh, sides of two make a \
          hypercube, and a flattened butterfly has as many nodes on a switch as its sides are long.",
    },
    noun: "a HyperX",
    own_routing: RoutingKind::DimensionOrder,
    links: Links::Dimensions,
    settings: &[&LINKS],
    shared: &[&DIMENSIONS, &NODES_PER_SWITCH],
    build,
};

settings! {
    /// Parallel links between two switches: of a HyperX a number for each dimension, or one for all; of an xgft a
    /// number for each level, 1 for the links to nodes first, or one for all other levels.
    pub(super) LINKS = "topology.links", Kind::Counts { min: 1, max: PORTS_MAX - 2, longest: 16 }, default([1]), for OF_KIND,
        example([1, 2]), source("Ahn et al., SC 2009, section 3.1: K; Zahavi, CCIT report 776, 2010: p");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (dimensions, links) = (values.counts(&DIMENSIONS), values.counts(&LINKS));
    let (dimensions, links, nodes_per_switch) = (dimensions?, links?, values.count(&NODES_PER_SWITCH)?);
    if links.len() != 1 && links.len() != dimensions.len() {
        let message =
            format!("`{}` has {} numbers for {} dimensions", LINKS.path, links.len(), dimensions.len());
        let problem = values.conflict(Code::OutOfRange, &[&LINKS, &DIMENSIONS], message);
        findings.push(problem.expected("a number for each dimension, or one for all"));
        return None;
    }
    let links_of = |dimension: usize| links[dimension % links.len()];
    let switches = dimensions.iter().try_fold(1_u64, |product, &size| product.checked_mul(u64::from(size)));
    let nodes = switches.and_then(|count| count.checked_mul(u64::from(nodes_per_switch)));
    let sizes: Vec<String> = dimensions.iter().map(u32::to_string).collect();
    let rule = format!("the HyperX has {} switches with {nodes_per_switch} nodes on each", sizes.join(" x "));
    let [nodes, switches] = fits(values, &[&DIMENSIONS], [nodes, switches], &rule, findings)?;
    let ports = |(dimension, &size): (usize, &u32)| u64::from(size - 1) * u64::from(links_of(dimension));
    let ports = u64::from(nodes_per_switch) + dimensions.iter().enumerate().map(ports).sum::<u64>();
    let class = |dimension: usize| format!("dimension-{dimension}");
    let wired = (0..dimensions.len()).filter(|&dimension| dimensions[dimension] > 1);
    Some(Topology {
        classes: (0..dimensions.len()).map(class).collect(),
        wired_classes: wired.clone().map(class).collect(),
        ports,
        has_intermediates: wired.clone().count() <= 3,
        has_alternatives: wired.clone().count() <= 3,
        ..Topology::plain(
            &HYPERX,
            TopologySettings::HyperX { dimensions, links, nodes_per_switch },
            nodes,
            switches,
        )
    })
}
