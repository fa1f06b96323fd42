//! All shortest paths between two nodes, one of which is drawn: for each packet (*spraying*), or once for each pair of nodes
//! (equal-cost multi-path, *ECMP*), as the source draws.
//!
//! Sources: Hopps, "Analysis of an Equal-Cost Multi-Path Algorithm", RFC 2992, 2000; Dixit, Prakash, Hu and Kompella, "On the
//! impact of packet spraying in data center networks", INFOCOM 2013. Here every shortest path is as likely as the others.
//! The header has the number of the path among those that are left from where the packet is: the paths over the first of the
//! ports that lead nearer come first.
//!
//! Where no cycle of channels closes, as in trees, there is one class of virtual channels. Elsewhere a packet is in the
//! class of its hop, so that none is followed by one of the same class or a lower one.

use super::balance::{Link, links};
use super::valiant::drawn;
use super::{Arrival, Candidate, Header, Hop, Relation, from_nodes};
use crate::NodeId;
use crate::digraph::Digraph;
use crate::topology::{Shape, Topology};
use crate::{PortId, SwitchId};

#[derive(Debug)]
pub(super) struct MultiPath {
    /// Per node: the switch and port that send to it.
    exits: Vec<(SwitchId, PortId)>,
    /// Per switch and port: whether packets of nodes come in there.
    is_from_node: Vec<Vec<bool>>,
    links: Vec<Vec<Link>>,
    ways: Ways,
    classes: u32,
}

/// How far it is from each switch to those that have nodes, and over how many shortest paths.
#[derive(Debug)]
pub(super) struct Ways {
    switches: usize,
    /// Per switch: which one it is of those with nodes.
    homes: Vec<u32>,
    /// By home and switch: links to go.
    distance: Vec<u8>,
    /// By home and switch: shortest paths, or so many as a header tells apart.
    paths: Vec<u32>,
}

/// Links to go, or so many at least: far more than a header holds, so that what is as far is refused.
const FAR: u8 = u8::MAX - 1;

/// Paths that a header tells apart.
const PATHS_MAX: u32 = (1 << 24) - 1;

impl Ways {
    /// `None` if some path has more than so many links: found out at the first switch that it leads to, before the others are
    /// looked at.
    pub(super) fn new(topology: &Topology, links: &[Vec<Link>], links_max: u32) -> Option<Self> {
        let switches = links.len();
        let mut homes = vec![u32::MAX; switches];
        let mut targets = Vec::new();
        for node in (0..topology.nodes()).map(NodeId) {
            let home = &mut homes[topology.exit(node).0.index()];
            if *home == u32::MAX {
                *home = targets.len() as u32;
                targets.push(topology.exit(node).0);
            }
        }
        let entries = targets.len() * switches;
        let (distance, paths) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        let mut ways = Ways { switches, homes, distance, paths };
        let mut open = Vec::with_capacity(switches);
        for (home, target) in targets.into_iter().enumerate() {
            ways.distance.resize((home + 1) * switches, u8::MAX);
            ways.paths.resize((home + 1) * switches, 0);
            ways.find(home * switches, target.index(), links, &mut open);
            let farthest = open.last().map_or(0, |&last| ways.distance[home * switches + last]);
            if u32::from(farthest) > links_max {
                return None;
            }
        }
        Some(ways)
    }

    /// Fills in the row from `first` on, of paths to `target`, nearest switches first; they are left in `open`.
    fn find(&mut self, first: usize, target: usize, links: &[Vec<Link>], open: &mut Vec<usize>) {
        open.clear();
        open.push(target);
        (self.distance[first + target], self.paths[first + target]) = (0, 1);
        let mut place = 0;
        while let Some(&here) = open.get(place) {
            let (away, paths) = ((self.distance[first + here] + 1).min(FAR), self.paths[first + here]);
            // Links lead both ways, so that a neighbour has as many links here as there are links to it.
            for next in links[here].iter().map(|link| link.next) {
                if self.distance[first + next] == u8::MAX {
                    self.distance[first + next] = away;
                    open.push(next);
                }
                if self.distance[first + next] == away {
                    let all = &mut self.paths[first + next];
                    *all = (*all + paths).min(PATHS_MAX);
                }
            }
            place += 1;
        }
    }

    pub(super) fn row(&self, target: SwitchId) -> usize {
        self.homes[target.index()] as usize * self.switches
    }

    /// The links of `here` that lead nearer to the target of the row from `first` on.
    pub(super) fn nearer<'a>(
        &'a self,
        first: usize,
        here: usize,
        links: &'a [Vec<Link>],
    ) -> impl Iterator<Item = &'a Link> {
        let distance = self.distance[first + here];
        links[here].iter().filter(move |link| self.distance[first + link.next] + 1 == distance)
    }

    pub(super) fn longest(&self) -> u32 {
        self.distance.iter().copied().max().unwrap_or(0).into()
    }

    /// Whether no cycle of channels closes, whichever paths packets take.
    fn is_free(&self, topology: &Topology, links: &[Vec<Link>]) -> bool {
        let mut first = vec![0_usize];
        for here in 0..self.switches {
            first.push(first[here] + topology.ports(SwitchId::new(here)) as usize);
        }
        // By channel: those by which packets go on after it.
        let mut after = vec![Vec::new(); first[self.switches]];
        for row in (0..self.distance.len()).step_by(self.switches) {
            for here in 0..self.switches {
                for link in self.nearer(row, here, links) {
                    let after = &mut after[first[here] + link.port.index()];
                    for next in self.nearer(row, link.next, links) {
                        let channel = (first[link.next] + next.port.index()) as u32;
                        if !after.contains(&channel) {
                            after.push(channel);
                        }
                    }
                }
            }
        }
        Digraph::new(after).order().is_some()
    }
}

impl MultiPath {
    /// `None` if some path has more than so many hops.
    pub(super) fn new(topology: &Topology, hops_max: u32) -> Option<Self> {
        let links = links(topology);
        let ways = Ways::new(topology, &links, hops_max - 1)?;
        let is_tree = matches!(topology.shape(), Shape::Tree(_) | Shape::Xgft(_));
        let is_free = is_tree || ways.is_free(topology, &links);
        Some(MultiPath {
            exits: (0..topology.nodes()).map(|node| topology.exit(NodeId(node))).collect(),
            is_from_node: from_nodes(topology),
            classes: if is_free { 1 } else { ways.longest() },
            links,
            ways,
        })
    }

    /// Shortest paths between two nodes.
    fn paths(&self, source: NodeId, destination: NodeId) -> u32 {
        let [home, target] = [source, destination].map(|node| self.exits[node.index()].0);
        self.ways.paths[self.ways.row(target) + home.index()]
    }
}

impl Relation for MultiPath {
    fn classes(&self) -> u32 {
        self.classes
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn hops_max(&self) -> Option<u32> {
        Some(self.ways.longest() + 1)
    }

    fn start(&self, source: NodeId, destination: NodeId, draw: u64) -> Header {
        let path = drawn(source, destination, draw, self.paths(source, destination));
        Header::to(destination).by_way_of(path)
    }

    fn starts(&self, source: NodeId, destination: NodeId) -> Vec<Header> {
        (0..self.paths(source, destination)).map(|path| Header::to(destination).by_way_of(path)).collect()
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let (target, exit) = self.exits[header.destination().index()];
        if here == target {
            return Candidate { hop: Hop { port: exit, class: arrival.class }, header };
        }
        let is_first = self.is_from_node[here.index()][arrival.port.index()];
        let class = if self.classes == 1 || is_first { arrival.class } else { arrival.class + 1 };
        let (row, mut left) = (self.ways.row(target), header.via());
        for link in self.ways.nearer(row, here.index(), &self.links) {
            let paths = self.ways.paths[row + link.next];
            if left < paths {
                let header = header.by_way_of(left);
                return Candidate { hop: Hop { port: link.port, class }, header };
            }
            left -= paths;
        }
        unreachable!("a header has a path among those that are left")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{hops, routing};
    use super::super::{Routing, RoutingError, RoutingKind};
    use super::*;
    use crate::topology::{End, TopologySettings};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    #[test]
    fn multi_path_draws_among_all_shortest_paths_alike() {
        let tree = routing(RoutingKind::MultiPath, &TopologySettings::FatTree { ports: 8, levels: 3 });
        // 4 ways up from a leaf, 4 more from there, and one way down.
        let paths = |routing: &Routing, a, b| {
            let all: Vec<Vec<_>> = routing.paths(NodeId(a), NodeId(b)).map(Iterator::collect).collect();
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "each is another");
            all
        };
        assert_eq!([0, 1, 4, 127].map(|to| paths(&tree, 0, to).len()), [1, 1, 4, 16]);
        assert_eq!((tree.classes(), tree.hops_max()), (1, 5));
        // In a mesh of 4 x 4 from corner to corner C(6, 3) paths, in a class for each of up to six links.
        let mesh = routing(
            RoutingKind::MultiPath,
            &TopologySettings::Mesh { dimensions: vec![4, 4], nodes_per_switch: 1 },
        );
        assert_eq!((paths(&mesh, 0, 15).len(), mesh.classes(), mesh.hops_max()), (20, 6, 7));
        // Parallel cables are paths of their own; with a ring of four cycles close.
        let ring = routing(
            RoutingKind::MultiPath,
            &TopologySettings::Torus { dimensions: vec![4], nodes_per_switch: 1 },
        );
        assert_eq!((paths(&ring, 0, 2).len(), ring.classes()), (2, 2));
        let row = routing(
            RoutingKind::MultiPath,
            &TopologySettings::Mesh { dimensions: vec![5], nodes_per_switch: 1 },
        );
        assert_eq!(row.classes(), 1, "a row of switches closes no cycle");
        for routing in [tree, ring, row] {
            crate::dependency::tests::is_free(&routing);
            let nodes = routing.topology().nodes();
            let shortest =
                Routing::new(RoutingKind::MinimalInOneClass, Arc::clone(routing.topology())).unwrap();
            for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
                for path in paths(&routing, a, b) {
                    let &(last, hop) = path.last().unwrap();
                    assert_eq!(routing.topology().wire(last, hop.port).unwrap().1, End::Node(NodeId(b)));
                    assert_eq!(path.len(), hops(&shortest, a, b));
                }
                let drawn: BTreeSet<Header> =
                    (0..1_000).map(|draw| routing.header(NodeId(a), NodeId(b), draw)).collect();
                assert_eq!(drawn.len(), paths(&routing, a, b).len(), "every path is drawn");
            }
        }
    }

    /// A path of a mesh that is too long for the header is not cut off.
    #[test]
    fn multi_path_refuses_paths_that_a_header_does_not_hold() {
        // A row of 16,384 switches has ways for 2^28 pairs of them: they are not laid before it is refused.
        for dimensions in [vec![5, 4], vec![600], vec![16_384]] {
            let mesh = TopologySettings::Mesh { dimensions, nodes_per_switch: 1 };
            let topology = Arc::new(Topology::build(&mesh).unwrap());
            assert_eq!(Routing::new(RoutingKind::MultiPath, topology).err(), Some(RoutingError::TooLong));
        }
    }
}
