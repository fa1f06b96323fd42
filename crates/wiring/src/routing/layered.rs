//! Shortest paths on any topology, made free of deadlock by layers of virtual channels.
//!
//! Sources: Skeie, Lysne and Theiss, "Layered shortest path (LASH) routing in irregular system area networks", IPDPS 2002;
//! Domke, Hoefler and Nagel, "Deadlock-free oblivious routing for arbitrary topologies", IPDPS 2011. Paths are balanced as
//! [`balance`](super::balance) says. A path stays in one class of virtual channels on all of its way: the first one in
//! whose channel-dependency graph it closes no cycle with the paths before it, which are those of destination 0 from all
//! switches, the nearest ones first, then those of destination 1, and so on. Where no path has more links between switches
//! than there would be layers, a packet is in the class of its hop instead: none is followed by one of the same class or a
//! lower one.
//!
//! In one class, for study, all paths are in it, and packets can wait for each other for ever where cycles close.

use super::balance::{Balance, Table, links};
use super::{Arrival, Candidate, Header, Hop, Relation, from_nodes};
use crate::digraph::Growing;
use crate::topology::{End, Topology};
use crate::{NodeId, PortId, SwitchId};

#[derive(Debug)]
pub(super) struct Layered {
    switches: usize,
    classes: u32,
    /// Per node: the switch and port that send to it.
    exits: Vec<(SwitchId, PortId)>,
    /// Per switch and port: whether packets of nodes come in there.
    is_from_node: Vec<Vec<bool>>,
    next: Table,
    rule: Rule,
}

/// Which class a packet is in.
#[derive(Debug)]
enum Rule {
    /// The only one.
    One,
    /// That of its path: `[node * switches + here]` for what nodes of `here` send to `node`.
    Layer(Vec<u8>),
    /// That of its hop.
    Hop,
}

impl Layered {
    /// Paths with as many classes as they need, or with one.
    pub(super) fn new(topology: &Topology, has_classes: bool) -> Self {
        let switches = topology.switches() as usize;
        let mut nodes = vec![0; switches];
        (0..topology.nodes()).for_each(|node| nodes[topology.home(NodeId(node)).0.index()] += 1);
        let mut balance = Balance::new(&links(topology), 1, |_, _, _| Some(0));
        let next = Table::new(topology, &mut balance, |_, weights| weights.copy_from_slice(&nodes));
        let is_from_node = from_nodes(topology);
        let exits = (0..topology.nodes()).map(|node| topology.exit(NodeId(node))).collect();
        let mut routing = Layered { switches, classes: 1, exits, is_from_node, next, rule: Rule::One };
        if has_classes {
            let all = (0..topology.switches()).map(SwitchId);
            let sources: Vec<SwitchId> = all.filter(|here| nodes[here.index()] > 0).collect();
            routing.lay(topology, &sources);
        }
        routing
    }

    /// Puts every path from one of `sources` into a layer.
    fn lay(&mut self, topology: &Topology, sources: &[SwitchId]) {
        let mut first = vec![0_u32];
        for here in (0..topology.switches()).map(SwitchId) {
            first.push(first[here.index()] + topology.ports(here));
        }
        let channels = first[self.switches];
        let mut graphs = vec![Growing::new(channels)];
        let hops = self.next.longest() - 1;
        let mut layers = vec![0; self.switches * self.exits.len()];
        for node in (0..topology.nodes()).map(NodeId) {
            let mut paths: Vec<(SwitchId, Vec<u32>)> = sources
                .iter()
                .map(|&source| (source, self.channels(topology, source, node, &first)))
                .collect();
            // Longer paths end as shorter ones do, which thus come first.
            paths.sort_by_key(|(source, path)| (path.len(), *source));
            for (source, path) in paths {
                let place = graphs.iter_mut().position(|graph| graph.add_path(&path));
                let layer = place.unwrap_or(graphs.len());
                if place.is_none() {
                    if graphs.len() as u32 + 1 >= hops {
                        (self.classes, self.rule) = (hops, Rule::Hop);
                        return;
                    }
                    let mut graph = Growing::new(channels);
                    assert!(graph.add_path(&path), "a shortest path does not cross itself");
                    graphs.push(graph);
                }
                layers[node.index() * self.switches + source.index()] = layer as u8;
            }
        }
        if graphs.len() > 1 {
            (self.classes, self.rule) = (graphs.len() as u32, Rule::Layer(layers));
        }
    }

    /// The channels between switches of the path from a switch to a node.
    fn channels(&self, topology: &Topology, source: SwitchId, node: NodeId, first: &[u32]) -> Vec<u32> {
        let (mut here, mut channels) = (source, Vec::new());
        while here != self.exits[node.index()].0 {
            let port = self.next.port(node, here.index());
            channels.push(first[here.index()] + port.0);
            let Some((_, End::Switch(next, _))) = topology.wire(here, port) else {
                unreachable!("a path leads on to a switch")
            };
            here = next;
        }
        channels
    }
}

impl Relation for Layered {
    fn classes(&self) -> u32 {
        self.classes
    }

    fn hops_max(&self) -> Option<u32> {
        Some(self.next.longest())
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let node = header.destination();
        let is_first = self.is_from_node[here.index()][arrival.port.index()];
        let class = match &self.rule {
            Rule::One => 0,
            Rule::Layer(layers) if is_first => layers[node.index() * self.switches + here.index()],
            Rule::Layer(_) => arrival.class,
            Rule::Hop if is_first || here == self.exits[node.index()].0 => arrival.class,
            Rule::Hop => arrival.class + 1,
        };
        let (target, exit) = self.exits[node.index()];
        let port = if here == target { exit } else { self.next.port(node, here.index()) };
        Candidate { hop: Hop { port, class }, header }
    }
}
