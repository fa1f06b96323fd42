//! Up*/down* tables around what is down.
//!
//! Every link keeps its directions as long as ways that go up and then down join all switches that any ways join. Then no ring
//! of dependencies closes of ways in the old tables and in the new ones together. Where they do not, as without the root, what
//! is left is ranked anew, each part of it from its first switch in the old order on: new ways by themselves close no ring, but
//! packets that have set out by old tables may go up after they have come down.

use super::{Parent, UpDown, distances, places, ranks, tree_over};
use crate::NodeId;
use crate::SwitchId;
use crate::routing::Left;
use crate::routing::balance::{Link, links};
use crate::routing::rtb::{Down, Hole};
use crate::topology::Topology;
use std::collections::BTreeSet;

impl UpDown {
    /// Tables of `topology` around what is `down`, and the nodes to which those of a switch that is up have no way.
    pub(in crate::routing) fn around(topology: &Topology, down: &Down) -> (Self, Vec<Hole>) {
        let (around, ..) = Self::ranked(topology, down);
        let holes = around.holes(topology, &homes(topology), down);
        (around, holes)
    }

    /// The tables, the links that are left, and the order of switches.
    fn ranked(topology: &Topology, down: &Down) -> (Self, Vec<Vec<Link>>, Vec<usize>) {
        let whole = links(topology);
        let left = left(topology, &whole, down);
        let rank = ranks(&whole);
        let part = parts(&left, &rank);
        let kept = Self::over(topology, &left, &rank);
        let joins_parts = homes(topology).iter().all(|&here| {
            (0..topology.nodes()).map(NodeId).all(|node| {
                let home = topology.exit(node).0.index();
                part[here.index()].0 != part[home].0 || kept.has_way(topology, here, node)
            })
        });
        if joins_parts {
            return (kept, left, rank);
        }
        let anew = places(left.len(), |&switch| (part[switch], switch));
        (Self::over(topology, &left, &anew), left, anew)
    }

    /// Whether a packet that starts at `here` comes to the switch of `node`.
    fn has_way(&self, topology: &Topology, here: SwitchId, node: NodeId) -> bool {
        self.exits[node.index()].0 == here || self.first_port(here, node).0 < topology.ports(here)
    }

    /// Nodes without a way from the switches of nodes that are up, as runs.
    fn holes(&self, topology: &Topology, homes: &BTreeSet<SwitchId>, down: &Down) -> Vec<Hole> {
        let is_cut = |node: &u32| down.links.contains(&topology.node_link(NodeId(*node)));
        let cut: BTreeSet<u32> = (0..topology.nodes()).filter(is_cut).collect();
        let mut holes: Vec<Hole> = Vec::new();
        for &at in homes.iter().filter(|at| !down.switches.contains(at)) {
            for node in 0..topology.nodes() {
                if !cut.contains(&node) && self.has_way(topology, at, NodeId(node)) {
                    continue;
                }
                match holes.last_mut().filter(|hole| hole.at == at && hole.nodes.end == node) {
                    Some(hole) => hole.nodes.end = node + 1,
                    None => holes.push(Hole { at, nodes: node..node + 1 }),
                }
            }
        }
        holes
    }
}

/// The tree of up links of those tables: for each switch but a root its port up, the switch there, and the port it arrives at.
pub(crate) fn tree_around(topology: &Topology, down: &Down) -> Vec<Parent> {
    let (_, left, rank) = UpDown::ranked(topology, down);
    tree_over(topology, &left, &rank)
}

/// The switches of nodes.
fn homes(topology: &Topology) -> BTreeSet<SwitchId> {
    (0..topology.nodes()).map(|node| topology.home(NodeId(node)).0).collect()
}

/// Those of the links of every switch that are up, between switches that are.
fn left(topology: &Topology, whole: &[Vec<Link>], down: &Down) -> Vec<Vec<Link>> {
    let left = Left::of(topology, Some(down));
    let of = |(here, links): (usize, &Vec<Link>)| {
        let is_up = |link: &&Link| left.has(topology, SwitchId::new(here), link.port);
        links.iter().filter(is_up).copied().collect()
    };
    whole.iter().enumerate().map(of).collect()
}

/// By switch: the rank of the first switch of the part of the network that it is in, and its distance from there.
fn parts(links: &[Vec<Link>], rank: &[usize]) -> Vec<(usize, u32)> {
    let mut parts = vec![(usize::MAX, 0); links.len()];
    let mut roots: Vec<usize> = (0..links.len()).collect();
    roots.sort_by_key(|&switch| rank[switch]);
    for root in roots {
        if parts[root].0 == usize::MAX {
            let distance = distances(root, links);
            let near = parts.iter_mut().zip(distance).filter(|(_, distance)| *distance < u32::MAX);
            near.for_each(|(part, distance)| *part = (rank[root], distance));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortId;
    use crate::dependency::{Channel, Dependencies, Verdict};
    use crate::digraph::Digraph;
    use crate::routing::{Routing, RoutingKind};
    use crate::topology::TopologySettings;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn torus() -> Routing {
        let settings = TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 2 };
        Routing::new(RoutingKind::UpDown, Arc::new(Topology::build(&settings).unwrap())).unwrap()
    }

    /// Pairs of nodes between which there is a way; it avoids `down`.
    fn pairs(routing: &Routing, down: &Down) -> usize {
        let topology = routing.topology();
        let nodes = (0..topology.nodes()).map(NodeId);
        let pairs = nodes.clone().flat_map(|source| nodes.clone().map(move |to| (source, to)));
        let leads = |&(source, to): &(NodeId, NodeId)| {
            let (mut here, mut arrival) = routing.start(source);
            let header = routing.header(source, to, 0);
            for _ in 0..topology.switches() {
                assert!(!down.switches.contains(&here), "no way leads through a dead switch");
                let hop = routing.first(here, arrival, header).hop;
                let Some((link, _)) = topology.wire(here, hop.port) else { return false };
                if down.links.contains(&link) {
                    assert_eq!(link, topology.node_link(to), "no way leads over a dead link to a switch");
                    return false;
                }
                match routing.follow(here, hop) {
                    Some(next) => (here, arrival) = next,
                    None => return true,
                }
            }
            panic!("from {source:?} to {to:?} goes round and round");
        };
        let is_up = |&(source, _): &(NodeId, NodeId)| !down.switches.contains(&topology.home(source).0);
        pairs.filter(is_up).filter(leads).count()
    }

    /// Whether dependencies of old and new ways together close no ring.
    fn mix(old: &Routing, new: &Routing) -> bool {
        let mut number: BTreeMap<Channel, u32> = BTreeMap::new();
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for (from, to) in [old, new].iter().flat_map(|it| Dependencies::of(it).iter().collect::<Vec<_>>()) {
            let [from, to] = [from, to].map(|channel| {
                let next = number.len() as u32;
                *number.entry(channel).or_insert(next)
            });
            rows.resize(number.len(), Vec::new());
            rows[from as usize].push(to);
        }
        Digraph::new(rows).order().is_some()
    }

    #[test]
    fn links_keep_their_directions_as_long_as_all_are_reached() {
        let whole = torus();
        let topology = whole.topology();
        assert_eq!(pairs(&whole, &Down::default()), 32 * 32);
        let link = |switch, port| topology.wire(SwitchId(switch), PortId(port)).unwrap().0;
        // The first port of a switch that is not of a node.
        let down = Down { switches: vec![SwitchId(10)], links: vec![link(5, 3), link(12, 2)] };
        let (around, holes) = whole.around(&down).unwrap();
        assert_eq!(pairs(&around, &down), 30 * 30);
        // 15 switches have no way to the two nodes of the dead one.
        assert_eq!(holes.len(), 15);
        assert!(holes.iter().all(|hole| hole.nodes == (20..22)), "{holes:?}");
        assert!(mix(&whole, &around), "old and new ways together");
    }

    #[test]
    fn without_the_root_what_is_left_is_ranked_anew() {
        let whole = torus();
        let root = SwitchId::new(ranks(&links(whole.topology())).iter().position(|&rank| rank == 0).unwrap());
        let down = Down { switches: vec![root], links: Vec::new() };
        let (around, holes) = whole.around(&down).unwrap();
        assert_eq!((pairs(&around, &down), holes.len()), (30 * 30, 15));
        assert!(matches!(Dependencies::of(&around).verdict(), Verdict::Free(_)));
        assert!(!mix(&whole, &around), "packets of both tables could wait for each other");
    }

    #[test]
    fn parts_that_nothing_joins_are_routed_each_by_itself() {
        let settings = TopologySettings::Mesh { dimensions: vec![5], nodes_per_switch: 1 };
        let whole = Routing::new(RoutingKind::UpDown, Arc::new(Topology::build(&settings).unwrap())).unwrap();
        let node = whole.topology().node_link(NodeId(4));
        let down = Down { switches: vec![SwitchId(2)], links: vec![node] };
        let (around, holes) = whole.around(&down).unwrap();
        // Two and two are left, and node 4 is cut off.
        assert_eq!(pairs(&around, &down), 4 + 2);
        let of = |at| {
            holes.iter().filter(move |hole| hole.at == SwitchId(at)).map(|it| (it.nodes.start, it.nodes.end))
        };
        assert_eq!(of(0).collect::<Vec<_>>(), [(2, 5)]);
        assert_eq!(of(3).collect::<Vec<_>>(), [(0, 3), (4, 5)]);
    }
}
