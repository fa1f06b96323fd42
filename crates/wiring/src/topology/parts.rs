//! The parts of a machine: which nodes are together.
//!
//! The nodes of a switch are; then those whose switches links of the first class join, then those that links of the first
//! two classes join, and so on up to all of them. So a dragonfly has switches and groups, a tree switches and the subtrees
//! of each level, a grid switches, rows of dimension 0, planes of dimensions 0 and 1. A [`Structure`](super::Structure)
//! may know others, which no links tell: frames, servers with several NICs.

use super::{End, Topology};
use crate::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// A way to divide the nodes, or the switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// What the parts are called: `switches`, `groups` of a dragonfly, elsewhere as the highest class of links within them.
    pub name: String,
    /// The part of each node, or of each switch. Parts are numbered by the lowest of their nodes; those of switches that
    /// have none come after, by the lowest of their switches.
    pub of: Vec<u32>,
}

impl Topology {
    /// The ways to divide the nodes: those of switches and links, the smallest parts first, then others. What leaves all nodes
    /// together is none, but for switches.
    #[must_use]
    pub fn parts(&self) -> Vec<Parts> {
        let mut together = Together::new(self.switches());
        let mut parts = vec![Parts { name: "switches".into(), of: self.numbered(&mut together) }];
        if let Some(known) = self.shape().structure().parts(self) {
            parts.extend(known);
            return parts;
        }
        for (class, name) in (0..).zip(self.classes()).skip(1) {
            together.join_class(self, class);
            let of = self.numbered(&mut together);
            if of.iter().all(|&part| part == 0) {
                break;
            }
            // The local links of a dragonfly join a group.
            let name = if name == "local" { "groups" } else { name };
            parts.push(Parts { name: name.to_owned(), of });
        }
        parts.extend(self.by_servers());
        parts
    }

    /// Where servers have several NICs: the NICs of each together; those that are the first of theirs, the second, and so on;
    /// and those of servers whose NICs are at the same switches, if not all are.
    fn by_servers(&self) -> Vec<Parts> {
        if self.servers.is_empty() {
            return Vec::new();
        }
        // A node that no server has is one.
        let mut servers: Vec<Option<usize>> = vec![None; self.nodes() as usize];
        let mut rails = vec![0; self.nodes() as usize];
        for (server, nics) in self.servers.iter().enumerate() {
            for (rail, nic) in (0..).zip(nics) {
                servers[nic.index()] = Some(server);
                rails[nic.index()] = rail;
            }
        }
        let nics =
            |node: NodeId| servers[node.index()].map_or(vec![node], |server| self.servers[server].clone());
        let nodes = || (0..self.nodes()).map(NodeId);
        let first = nodes().map(|node| nics(node).into_iter().min());
        let switches = nodes().map(|node| {
            let switches = nics(node).into_iter().map(|nic| self.home(nic).0);
            switches.collect::<BTreeSet<_>>()
        });
        let (servers, pods) = (numbered(first), numbered(switches));
        let parts = [("servers", servers), ("rails", rails), ("pods", pods)];
        let parts = parts.map(|(name, of)| Parts { name: name.into(), of });
        parts
            .into_iter()
            .filter(|parts| parts.name != "pods" || parts.of.iter().any(|&pod| pod > 0))
            .collect()
    }

    /// The ways to divide the switches, the smallest parts first: each for itself, then those that links of the first class
    /// join, and so on while nodes are in different parts. They are called as the [`parts`](Self::parts) of their nodes.
    #[must_use]
    pub fn switch_parts(&self) -> Vec<Parts> {
        let known = self.parts();
        let mut together = Together::new(self.switches());
        let mut divisions = vec![Parts { name: "switches".into(), of: (0..self.switches()).collect() }];
        for (class, name) in (0..).zip(self.classes()).skip(1) {
            together.join_class(self, class);
            let of_nodes = self.numbered(&mut together);
            if of_nodes.iter().all(|&part| part == 0) {
                break;
            }
            let name = known.iter().find(|parts| parts.of == of_nodes).map_or(name, |parts| &parts.name);
            let of = self.numbered_switches(&mut together, &of_nodes);
            divisions.push(Parts { name: name.clone(), of });
        }
        divisions
    }

    /// The part of each switch, where those of nodes are `of_nodes`.
    fn numbered_switches(&self, together: &mut Together, of_nodes: &[u32]) -> Vec<u32> {
        let mut numbers = vec![None; self.switches() as usize];
        for (node, part) in (0..).map(NodeId).zip(of_nodes) {
            numbers[together.first(self.home(node).0.0) as usize] = Some(*part);
        }
        let mut next = of_nodes.iter().max().map_or(0, |part| part + 1);
        let number = |switch| {
            *numbers[together.first(switch) as usize].get_or_insert_with(|| {
                next += 1;
                next - 1
            })
        };
        (0..self.switches()).map(number).collect()
    }

    /// The part of each node, where those whose switches are `together` are in one.
    fn numbered(&self, together: &mut Together) -> Vec<u32> {
        let mut numbers = vec![None; self.switches() as usize];
        let mut next = 0;
        let number = |node| {
            let first = together.first(self.home(NodeId(node)).0.0);
            *numbers[first as usize].get_or_insert_with(|| {
                next += 1;
                next - 1
            })
        };
        (0..self.nodes()).map(number).collect()
    }
}

/// Parts of nodes by a key, numbered by the lowest of their nodes.
fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<u32> {
    let mut numbers = BTreeMap::new();
    keys.map(|key| {
        let next = numbers.len() as u32;
        *numbers.entry(key).or_insert(next)
    })
    .collect()
}

/// Sets of switches that are together, each a tree towards one of them.
struct Together(Vec<u32>);

impl Together {
    fn new(switches: u32) -> Self {
        Together((0..switches).collect())
    }

    /// The switch that stands for the set of `switch`.
    fn first(&mut self, mut switch: u32) -> u32 {
        while self.0[switch as usize] != switch {
            let above = self.0[switch as usize];
            self.0[switch as usize] = self.0[above as usize];
            switch = above;
        }
        switch
    }

    /// Joins the switches that links of `class` join.
    fn join_class(&mut self, topology: &Topology, class: u32) {
        for link in topology.links().iter().filter(|link| link.class == class) {
            if let [End::Switch(one, _), End::Switch(other, _)] = link.ends {
                self.join(one.0, other.0);
            }
        }
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other) as usize] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Arrangement, DragonflyPlus, DragonflyShape, TopologySettings};
    use super::*;

    fn parts(settings: TopologySettings) -> Vec<(String, Vec<u32>)> {
        Topology::build(&settings).unwrap().parts().into_iter().map(|parts| (parts.name, parts.of)).collect()
    }

    /// So many nodes of part 0, then of part 1, and so on.
    fn runs(name: &str, nodes: u32, each: u32) -> (String, Vec<u32>) {
        (name.to_owned(), (0..nodes).map(|node| node / each).collect())
    }

    #[test]
    fn trees_have_switches_and_the_subtrees_of_each_level() {
        let tree = parts(TopologySettings::FatTree { ports: 4, levels: 3 });
        assert_eq!(tree, [runs("switches", 16, 2), runs("level-1", 16, 4)]);
        let xgft = TopologySettings::xgft(&[3, 2, 2], &[1, 1, 2], &[1, 1, 1], 1);
        assert_eq!(parts(xgft), [runs("switches", 12, 3), runs("level-1", 12, 6)]);
        assert_eq!(parts(TopologySettings::FatTree { ports: 4, levels: 2 }), [runs("switches", 8, 2)]);
        assert_eq!(parts(TopologySettings::Single { nodes: 3 }), [runs("switches", 3, 3)]);
    }

    /// Two pods of four servers with two NICs each: NIC i of a server is at leaf switch i of its pod.
    #[test]
    fn rail_optimised_trees_have_servers_rails_and_pods() {
        let xgft = TopologySettings::xgft(&[4, 4], &[1, 2], &[1], 2);
        let of = |part: &dyn Fn(u32) -> u32| (0..16).map(part).collect::<Vec<_>>();
        let switches = of(&|node| node / 8 * 2 + node % 2);
        assert_eq!(
            parts(xgft.clone()),
            [
                ("switches".into(), switches.clone()),
                runs("servers", 16, 2),
                ("rails".into(), of(&|node| node % 2)),
                runs("pods", 16, 8),
            ]
        );
        let tree = Topology::build(&xgft).unwrap();
        for node in (0..16).map(NodeId) {
            let (switch, port) = tree.home(node);
            assert_eq!([switch.0, port.0], [switches[node.index()], node.0 / 2 % 4]);
        }
        assert_eq!(tree.node_dimensions(), [2, 8]);
        let upper: Vec<bool> = (0..16).map(|node| tree.is_in_upper_half(NodeId(node))).collect();
        assert_eq!(upper, [vec![false; 8], vec![true; 8]].concat());
    }

    #[test]
    fn dragonflies_have_switches_and_groups() {
        let arrangement = Arrangement::PalmTree;
        let shape = DragonflyShape {
            groups: 3,
            switches_per_group: 2,
            nodes_per_switch: 2,
            global_ports: 1,
            arrangement,
        };
        assert_eq!(
            parts(TopologySettings::Dragonfly(shape)),
            [runs("switches", 12, 2), runs("groups", 12, 4)]
        );
        let plus = DragonflyPlus {
            groups: 3,
            leaves: 2,
            spines: 2,
            nodes_per_switch: 3,
            global_ports: 1,
            arrangement,
        };
        assert_eq!(
            parts(TopologySettings::DragonflyPlus(plus)),
            [runs("switches", 18, 3), runs("groups", 18, 6)]
        );
    }

    #[test]
    fn switches_above_all_subtrees_are_parts_of_their_own() {
        let tree = Topology::build(&TopologySettings::FatTree { ports: 4, levels: 3 }).unwrap();
        let parts = tree.switch_parts();
        assert_eq!(
            parts.iter().map(|parts| parts.name.as_str()).collect::<Vec<_>>(),
            ["switches", "level-1"]
        );
        // Eight leaf switches, the eight above them, and four at the top, which only links of level 2 join to others.
        assert_eq!(parts[0].of, (0..20).collect::<Vec<_>>());
        assert_eq!(parts[1].of, [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7]);
        let single = Topology::build(&TopologySettings::Single { nodes: 3 }).unwrap();
        assert_eq!(single.switch_parts().len(), 1);
    }

    #[test]
    fn grids_have_switches_rows_and_planes() {
        let torus = TopologySettings::Torus { dimensions: vec![3, 2, 2], nodes_per_switch: 2 };
        let expected = [runs("switches", 24, 2), runs("dimension-0", 24, 6), runs("dimension-1", 24, 12)];
        assert_eq!(parts(torus), expected);
    }
}
