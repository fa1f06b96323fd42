//! Dragonfly+.

use super::dragonfly::{ARRANGEMENT, GLOBAL_PORTS, GROUPS, arrangement, groups};
use super::grid::NODES_PER_SWITCH;
use super::{Links, OF_KIND, Row, Topology, fits};
use crate::diagnostic::Diagnostics;
use crate::setting::{Choice, Kind, settings};
use crate::values::Values;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{DragonflyPlus, PORTS_MAX, TopologySettings};

pub(super) static DRAGONFLY_PLUS: Row = Row {
    choice: Choice {
        name: "dragonfly-plus",
        doc: "Groups that are leaf-spine networks, every group joined to every other by links of its spines.",
    },
    noun: "a dragonfly-plus",
    own_routing: RoutingKind::Minimal,
    links: Links::Groups,
    settings: &[&LEAVES, &SPINES, &GLOBAL_PORTS, &GROUPS, &ARRANGEMENT],
    shared: &[&NODES_PER_SWITCH],
    build,
};

settings! {
    /// The leaf switches of each group of a dragonfly+, which have the nodes.
    LEAVES = "topology.leaves", Kind::Count { min: 1, max: PORTS_MAX - 2 }, required, for OF_KIND, example(4),
        source("Shpiner et al., HiPINEB 2017");

    /// The spines of each of its groups, which have the global ports.
    SPINES = "topology.spines", Kind::Count { min: 1, max: PORTS_MAX - 2 }, required, for OF_KIND, example(4),
        source("Shpiner et al., HiPINEB 2017");
}

fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let (leaves, spines, global_ports) =
        (values.count(&LEAVES), values.count(&SPINES), values.count(&GLOBAL_PORTS));
    let (leaves, spines, global_ports) = (leaves?, spines?, global_ports?);
    let nodes_per_switch = values.count(&NODES_PER_SWITCH)?;
    let groups = groups(values, (&SPINES, spines), global_ports, findings)?;
    let switches = u64::from(groups) * u64::from(leaves + spines);
    let nodes = u64::from(groups) * u64::from(leaves) * u64::from(nodes_per_switch);
    let rule = format!("{groups} groups of {leaves} leaf switches with {nodes_per_switch} nodes on each");
    let [nodes, switches] =
        fits(values, &[&LEAVES, &SPINES], [Some(nodes), Some(switches)], &rule, findings)?;
    let arrangement = arrangement(values)?;
    let settings = DragonflyPlus { groups, leaves, spines, nodes_per_switch, global_ports, arrangement };
    let ports = (nodes_per_switch + spines).max(leaves + if groups > 1 { global_ports } else { 0 });
    let classes = |has_global: bool| {
        let names = [Some("local"), has_global.then_some("global")];
        names.into_iter().flatten().map(str::to_owned).collect()
    };
    Some(Topology {
        classes: classes(true),
        wired_classes: classes(groups > 1),
        ports: ports.into(),
        ..Topology::plain(&DRAGONFLY_PLUS, TopologySettings::DragonflyPlus(settings), nodes, switches)
    })
}
