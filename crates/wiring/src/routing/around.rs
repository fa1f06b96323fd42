//! Routes in trees around what is down: those of the tree's own routing, as long as they lead to the destination, and by
//! another port up where they do not. The way down from a switch is unique, so that all there is to choose is where a packet
//! turns.
//!
//! Like the tables of [`rtb`](super::rtb) they name a port that does not exist where no way is left.

use super::rtb::{Down, Hole};
use super::{Arrival, Candidate, Header, Hop, Left, Relation};
use crate::topology::{End, Topology};
use crate::{NodeId, PortId, SwitchId};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Around {
    /// The routing of the tree.
    own: Arc<dyn Relation>,
    /// One that names all ports up.
    all: Arc<dyn Relation>,
    /// By switch and port.
    leads: Vec<Vec<Leads>>,
    /// By destination and switch: whether a packet there comes to it, a bit each.
    reaches: Vec<u64>,
    words: usize,
}

/// Where a port leads, as far as it is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leads {
    Nowhere,
    ToNode,
    ToSwitch(SwitchId),
}

/// Whether a packet comes to its destination, switch by switch, while that is found out.
const UNKNOWN: u8 = 2;

impl Around {
    /// That of `topology`, a tree, around what is `down`, and where nodes have no way to others.
    pub(super) fn new(
        topology: &Topology,
        own: Arc<dyn Relation>,
        all: Arc<dyn Relation>,
        down: &Down,
    ) -> (Self, Vec<Hole>) {
        let words = (topology.switches() as usize).div_ceil(u64::BITS as usize);
        let reaches = vec![0; words * topology.nodes() as usize];
        let mut around = Around { own, all, leads: leads(topology, down), reaches, words };
        let mut known = Vec::new();
        for node in (0..topology.nodes()).map(NodeId) {
            known.clear();
            known.resize(topology.switches() as usize, UNKNOWN);
            for switch in (0..topology.switches()).map(SwitchId) {
                if around.find(switch, Header::to(node), &mut known) {
                    let place = node.index() * words + switch.index() / u64::BITS as usize;
                    around.reaches[place] |= 1 << (switch.index() % u64::BITS as usize);
                }
            }
        }
        let holes = around.holes(topology, down);
        (around, holes)
    }

    /// Whether a packet at `here` comes to its destination by some ports up, and down from there.
    fn find(&self, here: SwitchId, header: Header, known: &mut [u8]) -> bool {
        if known[here.index()] == UNKNOWN {
            let mut ports = Vec::new();
            self.all.candidates(here, NOWHERE, header, &mut |it| ports.push(it.hop.port));
            let comes = ports.into_iter().any(|port| match self.leads(here, port) {
                Leads::Nowhere => false,
                Leads::ToNode => true,
                Leads::ToSwitch(next) => self.find(next, header, known),
            });
            known[here.index()] = comes.into();
        }
        known[here.index()] == 1
    }

    fn leads(&self, here: SwitchId, port: PortId) -> Leads {
        self.leads[here.index()].get(port.index()).copied().unwrap_or(Leads::Nowhere)
    }

    /// Whether a packet for `destination` comes there by `port`.
    fn is_way(&self, here: SwitchId, port: PortId, destination: NodeId) -> bool {
        match self.leads(here, port) {
            Leads::Nowhere => false,
            Leads::ToNode => true,
            Leads::ToSwitch(next) => self.reaches(next, destination),
        }
    }

    fn reaches(&self, here: SwitchId, destination: NodeId) -> bool {
        let word = self.reaches[destination.index() * self.words + here.index() / u64::BITS as usize];
        word >> (here.index() % u64::BITS as usize) & 1 == 1
    }

    /// The nodes to which those of a switch that is up have no way, as runs.
    fn holes(&self, topology: &Topology, down: &Down) -> Vec<Hole> {
        let mut leaves: Vec<SwitchId> =
            (0..topology.nodes()).map(|node| topology.home(NodeId(node)).0).collect();
        leaves.dedup();
        leaves.retain(|leaf| !down.switches.contains(leaf));
        let mut holes: Vec<Hole> = Vec::new();
        for at in leaves {
            for node in (0..topology.nodes()).filter(|&node| !self.reaches(at, NodeId(node))) {
                match holes.last_mut().filter(|hole| hole.at == at && hole.nodes.end == node) {
                    Some(hole) => hole.nodes.end = node + 1,
                    None => holes.push(Hole { at, nodes: node..node + 1 }),
                }
            }
        }
        holes
    }

    /// The port by which a packet goes that none of its own routing leads on: one of those that do, by its destination.
    fn other(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let (mut ports, destination) = (Vec::new(), header.destination());
        self.all.candidates(here, arrival, header, &mut |it| ports.push(it.hop.port));
        ports.retain(|&port| self.is_way(here, port, destination));
        let drawn = destination.0.wrapping_mul(0x9E37_79B9) >> 16;
        let none = PortId::new(self.leads[here.index()].len());
        let port = ports.get(drawn as usize % ports.len().max(1)).copied().unwrap_or(none);
        Candidate { hop: Hop { port, class: 0 }, header }
    }
}

/// A packet that comes by no port in particular: to [`all`](Around::all) it makes no difference.
const NOWHERE: Arrival = Arrival { port: PortId(0), class: 0 };

/// By switch and port: where it leads, unless that is down.
fn leads(topology: &Topology, down: &Down) -> Vec<Vec<Leads>> {
    let left = Left::of(topology, Some(down));
    let of = |here: SwitchId| {
        let lead = |port| match topology.wire(here, port).filter(|_| left.has(topology, here, port)) {
            Some((_, End::Switch(next, _))) => Leads::ToSwitch(next),
            Some((_, End::Node(_))) => Leads::ToNode,
            None => Leads::Nowhere,
        };
        (0..topology.ports(here)).map(PortId).map(lead).collect()
    };
    (0..topology.switches()).map(SwitchId).map(of).collect()
}

impl Relation for Around {
    fn tells_nodes_apart(&self) -> bool {
        self.own.tells_nodes_apart()
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let own = self.own.next(here, arrival, header);
        if self.is_way(here, own.hop.port, header.destination()) {
            return own;
        }
        self.other(here, arrival, header)
    }

    fn has_choice(&self) -> bool {
        self.own.has_choice()
    }

    fn candidates(&self, here: SwitchId, arrival: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        let mut any = false;
        self.own.candidates(here, arrival, header, &mut |it| {
            if self.is_way(here, it.hop.port, header.destination()) {
                any = true;
                take(it);
            }
        });
        if !any {
            take(self.other(here, arrival, header));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Routing, RoutingError, RoutingKind, Selection};
    use super::*;
    use crate::dependency::{Dependencies, Verdict};
    use crate::topology::{LinkId, TopologySettings};

    fn tree(kind: RoutingKind, selection: Selection) -> Routing {
        let settings = TopologySettings::KaryNTree { arity: 4, levels: 3 };
        let topology = Arc::new(Topology::build(&settings).unwrap());
        Routing::new(kind, topology).unwrap().with_selection(selection)
    }

    /// The link of a port of a switch.
    fn link(routing: &Routing, switch: u32, port: u32) -> LinkId {
        routing.topology().wire(SwitchId(switch), PortId(port)).unwrap().0
    }

    /// Pairs of nodes between which every way that switches can choose leads to the destination and avoids `down`, and those
    /// between which there is none.
    fn pairs(routing: &Routing, down: &Down) -> (u32, u32) {
        let (mut connected, mut apart) = (0, 0);
        let nodes = routing.topology().nodes();
        for (source, to) in (0..nodes).flat_map(|source| (0..nodes).map(move |to| (source, to))) {
            let header = routing.header(NodeId(source), NodeId(to), 0);
            let mut open = vec![routing.start(NodeId(source))];
            let mut arrives = true;
            while let Some((here, arrival)) = open.pop() {
                assert!(!down.switches.contains(&here), "no way leads through a dead switch");
                let mut hops = Vec::new();
                routing.candidates(here, arrival, header, |it| hops.push(it.hop));
                for hop in hops {
                    match routing.topology().wire(here, hop.port) {
                        None => arrives = false,
                        Some((link, _)) => {
                            assert!(!down.links.contains(&link), "no way leads over a dead link")
                        }
                    }
                    open.extend(routing.follow(here, hop));
                }
            }
            if arrives { connected += 1 } else { apart += 1 }
        }
        (connected, apart)
    }

    #[test]
    fn everybody_is_reached_around_links_and_switches_as_long_as_there_is_a_way() {
        for (kind, selection) in [
            (RoutingKind::DModK, Selection::First),
            (RoutingKind::DModK, Selection::LeastLoaded),
            (RoutingKind::SModK, Selection::First),
        ] {
            let whole = tree(kind, selection);
            // A link up of a leaf, one down to a leaf, one below the top, and a switch of the middle.
            let links = [(0, 5), (16, 1), (20, 6)].map(|(switch, port)| link(&whole, switch, port));
            let down = Down { switches: vec![SwitchId(18)], links: links.to_vec() };
            let (around, holes) = whole.around(&down).unwrap();
            assert!(holes.is_empty(), "{holes:?}");
            assert_eq!(pairs(&around, &down), (64 * 64, 0), "{kind:?}");
            let dependencies = Dependencies::of(&around);
            assert_eq!(dependencies.lost(), None);
            assert!(matches!(dependencies.verdict(), Verdict::Free(_)), "{kind:?}");
        }
    }

    #[test]
    fn what_is_not_broken_goes_its_own_way() {
        let whole = tree(RoutingKind::DModK, Selection::First);
        let down = Down { switches: Vec::new(), links: vec![link(&whole, 0, 5)] };
        let (around, _) = whole.around(&down).unwrap();
        let ways =
            |routing: &Routing, source, to| routing.path(NodeId(source), NodeId(to)).collect::<Vec<_>>();
        for (source, to) in (4..64).flat_map(|source| (4..64).map(move |to| (source, to))) {
            assert_eq!(ways(&whole, source, to), ways(&around, source, to));
        }
        // Node 5 is one for which packets of node 0 took that link.
        assert_ne!(ways(&whole, 0, 5), ways(&around, 0, 5));
    }

    #[test]
    fn who_is_cut_off_is_told() {
        let whole = tree(RoutingKind::DModK, Selection::LeastLoaded);
        let node = link(&whole, 0, 2);
        let down = Down { switches: vec![SwitchId(1)], links: vec![node] };
        let (around, holes) = whole.around(&down).unwrap();
        // The leaf of the node itself, and 14 others: to each, node 2 and those of the leaf that is dead.
        assert_eq!(holes[0], Hole { at: SwitchId(0), nodes: 2..3 });
        assert_eq!(holes[1], Hole { at: SwitchId(0), nodes: 4..8 });
        assert_eq!(holes.len(), 2 * 15);
        let (here, arrival) = around.start(NodeId(9));
        let hop = around.first(here, arrival, around.header(NodeId(9), NodeId(2), 0)).hop;
        assert_eq!(around.topology().wire(here, hop.port), None);
        let grid = TopologySettings::Mesh { dimensions: vec![2, 2], nodes_per_switch: 1 };
        let grid = Arc::new(Topology::build(&grid).unwrap());
        let grid = Routing::new(RoutingKind::DimensionOrder, grid).unwrap();
        assert_eq!(grid.around(&down).unwrap_err(), RoutingError::NoTables);
    }
}
