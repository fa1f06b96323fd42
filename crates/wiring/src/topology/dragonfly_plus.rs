//! Dragonfly+: groups that are leaf-spine networks, whose spines have the global links.
//!
//! Source: Shpiner, Haramaty, Eliad, Zdornov, Gafni and Zahavi, "Dragonfly+: low cost topology for scaling datacenters",
//! HiPINEB 2017. Shortest ways go up to a spine, over a global link, and down, so that they need one class of virtual
//! channels.
//!
//! Leaf switches are numbered first, group by group, then spines. The first ports of a leaf hold its nodes, and the others
//! lead to the spines of its group; the first ports of a spine lead to the leaves, and the others to other groups, as in a
//! [dragonfly](super::dragonfly) of the spines.

use super::{Arrangement, Builder, DragonflyShape, End, Shape, Topology, TopologyError};
use crate::{PortId, SwitchId};

/// What a dragonfly+ is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DragonflyPlus {
    /// Groups.
    pub groups: u32,
    /// Leaf switches of a group.
    pub leaves: u32,
    /// Spines of a group.
    pub spines: u32,
    /// Nodes on every leaf switch.
    pub nodes_per_switch: u32,
    /// Global ports of a spine.
    pub global_ports: u32,
    /// Which of them leads where.
    pub arrangement: Arrangement,
}

pub(super) fn build(settings: &DragonflyPlus) -> Result<Topology, TopologyError> {
    let DragonflyPlus { groups, leaves, spines, nodes_per_switch, global_ports, arrangement } = *settings;
    let most = 1 + u64::from(spines) * u64::from(global_ports);
    if [groups, leaves, spines, nodes_per_switch].contains(&0) || u64::from(groups) > most {
        let what = format!(
            "a dragonfly+ has leaves, spines and nodes, and 1 to {most} groups, which is what global ports join"
        );
        return Err(TopologyError::Size(what));
    }
    let [leaf_count, spine_count] = [leaves, spines].map(|count| u64::from(groups) * u64::from(count));
    let nodes = leaf_count * u64::from(nodes_per_switch);
    let classes = ["node", "local", "global"].map(str::to_owned).to_vec();
    let mut builder = Builder::new(nodes, leaf_count + spine_count, classes)?;
    builder.nodes(nodes_per_switch);
    let first_spine = leaf_count as u32;
    for (group, leaf) in (0..groups).flat_map(|group| (0..leaves).map(move |leaf| (group, leaf))) {
        for spine in 0..spines {
            let here = SwitchId(group * leaves + leaf);
            let above = SwitchId(first_spine + group * spines + spine);
            let ends =
                [End::Switch(here, PortId(nodes_per_switch + spine)), End::Switch(above, PortId(leaf))];
            builder.link(ends, 1);
        }
    }
    // The spines are joined as the switches of a dragonfly are, whose ports for nodes and for its group are others.
    let shape =
        DragonflyShape { groups, switches_per_group: spines, nodes_per_switch: 1, global_ports, arrangement };
    for (group, other) in (0..groups).flat_map(|group| (group + 1..groups).map(move |other| (group, other))) {
        for copy in 0..shape.links_between_groups() {
            let ends = [(group, other), (other, group)].map(|(one, other)| {
                let (spine, port) = shape.global_end(one, other, copy);
                End::Switch(SwitchId(first_spine + spine.0), PortId(leaves + port.0 - spines))
            });
            builder.link(ends, 2);
        }
    }
    builder.finish(Shape::Irregular)
}
