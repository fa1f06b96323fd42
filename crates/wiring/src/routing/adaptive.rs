//! Adaptive minimal routing on any topology, with an escape layer: a packet may take any link of a shortest path, in class 1,
//! while its room at the other end is certain; where there is none it escapes into class 0, which is routed up*/down*, and
//! stays there to the end.
//!
//! Sources: Duato, *IEEE Trans. Parallel and Distributed Systems* 4(12), 1993; Silla and Duato, "High-performance routing in
//! networks of workstations with irregular topology", the same, 11(7), 2000: adaptive shortest paths with up*/down* for
//! escapes. The first candidate is the escape, which alone makes a routing; a switch that selects takes it last.

use super::balance::{Link, links};
use super::multi_path::Ways;
use super::up_down::UpDown;
use super::{Arrival, Candidate, Header, Hop, Relation, from_nodes};
use crate::topology::Topology;
use crate::{NodeId, PortId, SwitchId};

#[derive(Debug)]
pub(super) struct Adaptive {
    /// Per node: the switch and port that send to it.
    exits: Vec<(SwitchId, PortId)>,
    /// Per switch and port: whether packets of nodes come in there.
    is_from_node: Vec<Vec<bool>>,
    links: Vec<Vec<Link>>,
    ways: Ways,
    escape: UpDown,
}

/// The classes of the escape layer and of the shortest paths.
const ESCAPE: u8 = 0;
const SHORTEST: u8 = 1;

impl Adaptive {
    pub(super) fn new(topology: &Topology) -> Self {
        let links = links(topology);
        Adaptive {
            exits: (0..topology.nodes()).map(|node| topology.exit(NodeId(node))).collect(),
            is_from_node: from_nodes(topology),
            ways: Ways::new(topology, &links, u32::MAX).expect("no path has more links"),
            links,
            escape: UpDown::new(topology),
        }
    }

    /// Whether a packet has escaped: then it does not come back.
    fn has_escaped(&self, here: SwitchId, arrival: Arrival) -> bool {
        arrival.class == ESCAPE && !self.is_from_node[here.index()][arrival.port.index()]
    }
}

impl Relation for Adaptive {
    fn classes(&self) -> u32 {
        2
    }

    fn is_adaptive(&self) -> bool {
        true
    }

    fn hops_max(&self) -> Option<u32> {
        // It may escape anywhere, and go the longest way from there.
        Some(self.escape.hops_max()? + self.ways.longest())
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let (target, exit) = self.exits[header.destination().index()];
        if here == target {
            return Candidate { hop: Hop { port: exit, class: arrival.class }, header };
        }
        if self.has_escaped(here, arrival) {
            return self.escape.next(here, arrival, header);
        }
        let port = self.escape.first_port(here, header.destination());
        Candidate { hop: Hop { port, class: ESCAPE }, header }
    }

    fn has_choice(&self) -> bool {
        true
    }

    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        take(self.next(here, arrival, header));
        let (target, _) = self.exits[header.destination().index()];
        if here == target || self.has_escaped(here, arrival) {
            return;
        }
        for link in self.ways.nearer(self.ways.row(target), here.index(), &self.links) {
            take(Candidate { hop: Hop { port: link.port, class: SHORTEST }, header });
        }
    }

    /// A node takes what comes to it, whatever the class.
    fn is_escape(&self, here: SwitchId, hop: Hop) -> bool {
        hop.class == ESCAPE || self.is_from_node[here.index()][hop.port.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{random_graph, routing};
    use super::super::{Routing, RoutingKind, Selection};
    use super::*;
    use crate::dependency::{Dependencies, Verdict};
    use crate::topology::TopologySettings;
    use flitway_engine::random::{Purpose, Stream};

    fn all(routing: &Routing, here: SwitchId, arrival: Arrival, header: Header) -> Vec<Hop> {
        let mut all = Vec::new();
        routing.candidates(here, arrival, header, |candidate| all.push(candidate.hop));
        all
    }

    #[test]
    fn every_shortest_path_is_a_candidate_until_a_packet_escapes() {
        let torus = TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 };
        let routing = routing(RoutingKind::Adaptive, &torus).with_selection(Selection::LeastLoaded);
        let (here, arrival) = routing.start(NodeId(0));
        // Two links away in both dimensions: all four links lead nearer, and one of them or another is the escape.
        let header = Header::to(NodeId(10));
        let hops = all(&routing, here, arrival, header);
        assert_eq!(hops.iter().map(|hop| hop.class).collect::<Vec<_>>(), [ESCAPE, 1, 1, 1, 1]);
        let at = |hop| routing.follow(here, hop).unwrap();
        let (escaped, on_the_way) = (at(hops[0]), at(hops[1]));
        assert_eq!(all(&routing, escaped.0, escaped.1, header).len(), 1);
        assert!(all(&routing, on_the_way.0, on_the_way.1, header).len() > 1);
    }

    /// Escapes alone are free of cycles; shortest paths on a torus are not.
    #[test]
    fn escapes_keep_it_free_of_deadlock_on_any_topology() {
        let mut stream = Stream::new(3, 0, Purpose::Test);
        let graphs = (0..12).map(|_| TopologySettings::Graph(random_graph(&mut stream)));
        let torus = TopologySettings::Torus { dimensions: vec![5, 4], nodes_per_switch: 2 };
        for settings in graphs.chain([torus]) {
            let routing = routing(RoutingKind::Adaptive, &settings).with_selection(Selection::LeastLoaded);
            let dependencies = Dependencies::of(&routing);
            assert_eq!(dependencies.lost(), None);
            assert!(matches!(dependencies.verdict(), Verdict::Free(_)), "{settings:?}");
        }
    }
}
