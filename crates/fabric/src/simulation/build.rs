//! From a description to running parts: latencies, wires, shards.

use super::sides::Sides;
use super::{Address, Architecture, NodeWires, Simulation, Wire, Wires};
use crate::observer::Observer;
use crate::{Endpoint, Fabric};
use flitway_engine::window::Windows;
use flitway_wiring::topology::{End, LinkId, Topology};
use flitway_wiring::{NodeId, PortId, RailId, SwitchId};
use std::sync::Arc;

/// What a shard is made of: its switches, then its nodes, are its components.
#[derive(Debug)]
pub struct Plan<E, O> {
    pub number: u32,
    pub shards: u32,
    /// Cycles that pass in a window.
    pub window_length: u64,
    /// Sides that take turns, 1 or 2.
    pub sides: u64,
    /// On which each component is.
    pub side: Vec<u8>,
    /// Memory that it needs without packets and endpoints, about.
    pub bytes: u64,
    pub switches: Vec<SwitchPart>,
    pub nodes: Vec<NodePart<E>>,
    pub observer: O,
}

/// A switch, component `number`, with what is wired to each of its ports.
#[derive(Debug)]
pub struct SwitchPart {
    pub number: u32,
    pub wires: Vec<Wires>,
}

/// A node, component `number`, with a wire in each rail.
#[derive(Debug)]
pub struct NodePart<E> {
    pub id: NodeId,
    pub number: u32,
    pub wires: Vec<NodeWires>,
    pub endpoint: E,
}

/// Numbers of components: the switches of rail 0, of rail 1, ..., then the nodes.
#[derive(Debug)]
struct Wiring<'a> {
    fabric: &'a Fabric,
    addresses: Vec<Address>,
}

impl<'a> Wiring<'a> {
    /// Deals the components out to `shards` shards with about equal work, neighbours together; `takes_part`, by node.
    fn new(fabric: &'a Fabric, shards: u32, takes_part: &[bool]) -> Self {
        let topology = fabric.topology();
        let (switches, nodes) = (topology.switches(), topology.nodes());
        let shard_of_switch = deal(topology, shards, takes_part);
        let mut places = vec![0; shards as usize];
        let mut address = |shard: u32| {
            let place = &mut places[shard as usize];
            *place += 1;
            Address { shard, place: *place - 1 }
        };
        let mut addresses = Vec::with_capacity((switches * fabric.rails + nodes) as usize);
        for switch in 0..switches * fabric.rails {
            addresses.push(address(shard_of_switch[(switch % switches) as usize]));
        }
        for node in (0..nodes).map(NodeId) {
            addresses.push(address(shard_of_switch[topology.home(node).0.index()]));
        }
        Wiring { fabric, addresses }
    }

    fn switch_number(&self, rail: RailId, switch: SwitchId) -> u32 {
        rail.0 * self.fabric.topology().switches() + switch.0
    }

    fn node_number(&self, node: NodeId) -> u32 {
        self.fabric.rails * self.fabric.topology().switches() + node.0
    }

    /// The wire to `end` in `rail`, over a link of `latency` cycles.
    fn wire(&self, rail: RailId, end: End, latency: u32) -> Wire {
        let (number, port) = match end {
            End::Node(node) => (self.node_number(node), rail.0),
            End::Switch(switch, port) => (self.switch_number(rail, switch), port.0),
        };
        Wire { peer: self.addresses[number as usize], port: port as u16, latency }
    }

    fn wires_of(&self, rail: RailId, switch: SwitchId) -> Vec<Wires> {
        let topology = self.fabric.topology();
        let wire = |(link, end): (LinkId, End)| self.wire(rail, end, self.fabric.latencies[link.index()]);
        (0..topology.ports(switch))
            .map(PortId)
            .map(|port| Wires {
                out: topology.wire(switch, port).map(wire),
                rate: self.fabric.rates.of(End::Switch(switch, port)),
                back: topology.feeder(switch, port).map(wire),
            })
            .collect()
    }

    fn wires_of_node(&self, rail: RailId, node: NodeId) -> NodeWires {
        let topology = self.fabric.topology();
        let wire = |(switch, port), link: LinkId| {
            self.wire(rail, End::Switch(switch, port), self.fabric.latencies[link.index()])
        };
        let exit = topology.exit(node);
        let exit_link = topology.wire(exit.0, exit.1).map_or(topology.node_link(node), |(link, _)| link);
        NodeWires {
            out: wire(topology.home(node), topology.node_link(node)),
            rate: self.fabric.rates.of(End::Node(node)),
            back: wire(exit, exit_link),
        }
    }
}

/// The shard of each switch, and of the nodes at it: neighbours together, and about as much to do in each of `shards`. Where
/// some nodes do not take part, the switches near them have less to do.
fn deal(topology: &Topology, shards: u32, takes_part: &[bool]) -> Vec<u32> {
    /// What a node takes, and a switch that no packet crosses, of what a switch takes among nodes that all take part: about.
    const NODE: f64 = 0.1;
    const IDLE: f64 = 0.01;
    let takes_part = |node: NodeId| if takes_part[node.index()] { 1.0 } else { 0.0 };
    let places = spread(topology, |node| f64::from(node.0));
    let mut work: Vec<f64> = spread(topology, takes_part).iter().map(|part| part.max(IDLE)).collect();
    for node in (0..topology.nodes()).map(NodeId) {
        work[topology.home(node).0.index()] += NODE * takes_part(node).max(IDLE);
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&a, &b| f64::total_cmp(&places[a], &places[b]).then(a.cmp(&b)));
    // In whole numbers, so that equal shares are equal.
    let work: Vec<u64> = work.iter().map(|work| (work * 1000.0).round() as u64).collect();
    let all: u64 = work.iter().sum();
    let mut shard_of = vec![0; places.len()];
    let mut before = 0;
    for switch in order {
        shard_of[switch] = (before * u64::from(shards) / all) as u32;
        before += work[switch];
    }
    shard_of
}

/// What is known of nodes, carried to every switch: the mean over its nodes, or else over those of its neighbours that know,
/// again and again. The number of a node gives switches an order in which neighbours are close: for a tree it keeps subtrees
/// together, for a grid rows.
fn spread(topology: &Topology, of: impl Fn(NodeId) -> f64) -> Vec<f64> {
    let switches = topology.switches() as usize;
    let mut sums = vec![(0.0, 0.0); switches];
    for node in (0..topology.nodes()).map(NodeId) {
        let (sum, count) = &mut sums[topology.home(node).0.index()];
        (*sum, *count) = (*sum + of(node), *count + 1.0);
    }
    let mean = |(sum, count): (f64, f64)| (count > 0.0).then(|| sum / count);
    let mut known: Vec<Option<f64>> = sums.into_iter().map(mean).collect();
    while known.contains(&None) {
        let before = known.clone();
        for switch in (0..switches).filter(|&switch| before[switch].is_none()) {
            let id = SwitchId::new(switch);
            let near = (0..topology.ports(id)).filter_map(|port| match topology.feeder(id, PortId(port)) {
                Some((_, End::Switch(next, _))) => before[next.index()],
                _ => None,
            });
            known[switch] = mean(near.fold((0.0, 0.0), |(sum, count), it| (sum + it, count + 1.0)));
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}

pub(super) fn simulation<A: Architecture, E: Endpoint, O: Observer>(
    fabric: &Fabric<A::Chip>,
    endpoints: Vec<E>,
    threads: u32,
    mut observer: impl FnMut() -> O,
) -> Simulation<A, E, O> {
    assert_eq!(endpoints.len(), fabric.nodes() as usize, "every node has an endpoint");
    let is_bounded = fabric.nic_ports.are_bounded();
    const { assert!(E::REACTS || !E::BOUNDED, "who drains NIC ports hears of deliveries") };
    assert_eq!(E::BOUNDED, is_bounded, "who drains NIC ports has bounded ones, and the other way round");
    assert_eq!(fabric.latencies.len(), fabric.topology().links().len(), "every link has a latency");
    let shards = threads.clamp(1, fabric.topology().switches());
    let takes_part: Vec<bool> = endpoints.iter().map(Endpoint::takes_part).collect();
    let wiring = Wiring::new(fabric, shards, &takes_part);
    let shortest = fabric.latencies.iter().copied().min().unwrap_or(1);
    let window_length = A::lookahead(&fabric.chip, fabric, shortest).max(1);
    let sides = Sides::new(fabric.topology());
    let count = if A::takes_turns(fabric) { sides.count() } else { 1 };
    let mut plans: Vec<Plan<E, O>> = (0..shards)
        .map(|number| Plan {
            number,
            shards,
            window_length,
            sides: count,
            side: Vec::new(),
            bytes: fabric.bytes() / u64::from(shards),
            switches: Vec::new(),
            nodes: Vec::new(),
            observer: observer(),
        })
        .collect();
    for rail in (0..fabric.rails).map(RailId) {
        for switch in (0..fabric.topology().switches()).map(SwitchId) {
            let number = wiring.switch_number(rail, switch);
            let plan = &mut plans[wiring.addresses[number as usize].shard as usize];
            plan.switches.push(SwitchPart { number, wires: wiring.wires_of(rail, switch) });
            plan.side.push(sides.of_switch(switch));
        }
    }
    let mut nodes = Vec::with_capacity(endpoints.len());
    for (index, endpoint) in endpoints.into_iter().enumerate() {
        let id = NodeId::new(index);
        let number = wiring.node_number(id);
        let address = wiring.addresses[number as usize];
        let plan = &mut plans[address.shard as usize];
        let wires = (0..fabric.rails).map(|rail| wiring.wires_of_node(RailId(rail), id)).collect();
        plan.nodes.push(NodePart { id, number, wires, endpoint });
        plan.side.push(sides.of_node(id));
        nodes.push(address);
    }
    let shards = plans.into_iter().map(|plan| A::shard(fabric, plan)).collect();
    Simulation {
        windows: Windows::new(shards, window_length, count),
        topology: Arc::clone(fabric.routing.topology()),
        rails: fabric.rails,
        switches: wiring.addresses[..(fabric.rails * fabric.topology().switches()) as usize].to_vec(),
        nodes,
        decides_ahead: A::decides_ahead(&fabric.chip),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_wiring::topology::TopologySettings;

    /// Nodes that take part, by shard, among the first `busy` nodes of a fat tree of 128.
    fn dealt(busy: u32, shards: u32) -> Vec<u32> {
        let tree = Topology::build(&TopologySettings::FatTree { ports: 8, levels: 3 }).unwrap();
        let takes_part: Vec<bool> = (0..tree.nodes()).map(|node| node < busy).collect();
        let shard_of = deal(&tree, shards, &takes_part);
        let mut dealt = vec![0; shards as usize];
        (0..busy).for_each(|node| dealt[shard_of[tree.home(NodeId(node)).0.index()] as usize] += 1);
        dealt
    }

    #[test]
    fn nodes_that_take_part_are_dealt_out_and_not_nodes() {
        assert_eq!(dealt(128, 2), [64, 64]);
        // Those in the middle have the switches at the top.
        assert_eq!(dealt(128, 4), [40, 24, 24, 40]);
        // The switches at the top, which are nearer to the other nodes, count with the second shard.
        assert_eq!(dealt(32, 2), [24, 8]);
        // With nothing to do anywhere it is dealt out all the same.
        assert_eq!(dealt(0, 2), [0, 0]);
    }
}
