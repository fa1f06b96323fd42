//! From a description to running parts: latencies, wires, shards.

use super::sides::Sides;
use super::{Address, Architecture, ShardModel, Simulation, Wire, Wires};
use crate::barrier::Root;
use crate::hpp::{BarrierSettings, Gathering, HppSettings, PacketFormat};
use crate::observer::Observer;
use crate::routing::{Routing, RoutingKind};
use crate::sp::{Replication, SpAscent, SpSettings};
use crate::topology::{End, LinkId, Shape, Topology};
use crate::{BarrierId, Barriers, Endpoint, GroupId, Groups, NodeId, PortId, RailId, SwitchId};
use flitway_engine::window::Windows;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A complete description of a fabric: nothing in it has a default.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// The routing, with the topology of one rail.
    pub routing: Routing,
    /// Identical planes; each node has a NIC port in every one.
    pub rails: u32,
    /// Cycles from wire to wire, per link of the topology; at least 1.
    pub latencies: Vec<u32>,
    /// The switches, and the link layer that they share with the NIC ports.
    pub switch: SwitchSettings,
    /// What the tables of the switches say of multicast groups.
    pub groups: Groups,
    /// What their registers say of barrier groups.
    pub barriers: Barriers,
    /// Payload bytes of the packets which nodes send: a promise, without which ([`ANY_PAYLOAD`](Fabric::ANY_PAYLOAD)) the
    /// simulation takes longer. NIC ports of HPP Switches panic at packets with more or fewer.
    pub payloads: RangeInclusive<u32>,
}

/// The settings of one switch architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchSettings {
    /// Input-queued virtual cut-through with one crossbar per VC.
    Hpp(HppSettings),
    /// Buffered wormhole with a central buffer or large input FIFOs.
    Sp(SpSettings),
}

impl SwitchSettings {
    /// Those of an HPP Switch.
    #[must_use]
    pub fn hpp(&self) -> Option<&HppSettings> {
        match self {
            SwitchSettings::Hpp(settings) => Some(settings),
            SwitchSettings::Sp(_) => None,
        }
    }

    /// The setting with which copies of packets for several nodes can wait for each other for ever, if it is chosen.
    #[must_use]
    pub fn copies_can_deadlock(&self) -> Option<&'static str> {
        match self {
            SwitchSettings::Hpp(switch) => (switch.multicast.gathering == Gathering::OneByOne)
                .then_some("switch.multicast.gathering = \"one-by-one\""),
            SwitchSettings::Sp(switch) => (switch.worms.replication == Replication::LockStep)
                .then_some("switch.multicast.replication = \"lock-step\""),
        }
    }

    /// Those of an SP Switch.
    #[must_use]
    pub fn sp(&self) -> Option<&SpSettings> {
        match self {
            SwitchSettings::Hpp(_) => None,
            SwitchSettings::Sp(settings) => Some(settings),
        }
    }

    /// Ports of a chip.
    #[must_use]
    pub fn ports(&self) -> u32 {
        match self {
            SwitchSettings::Hpp(settings) => settings.ports,
            SwitchSettings::Sp(settings) => settings.ports,
        }
    }

    /// Data virtual channels of a link.
    #[must_use]
    pub fn vcs(&self) -> u32 {
        match self {
            SwitchSettings::Hpp(settings) => settings.vcs,
            SwitchSettings::Sp(_) => 1,
        }
    }

    /// The format of packets for one node.
    #[must_use]
    pub fn format(&self) -> PacketFormat {
        match self {
            SwitchSettings::Hpp(settings) => settings.format,
            SwitchSettings::Sp(settings) => settings.format,
        }
    }

    fn zero_load_cycles(&self, hops: u32, payload_bytes: u32) -> u64 {
        match self {
            SwitchSettings::Hpp(settings) => settings.zero_load_cycles(hops, payload_bytes),
            SwitchSettings::Sp(settings) => settings.zero_load_cycles(hops, payload_bytes),
        }
    }
}

impl Fabric {
    /// Nothing is promised of what packets carry.
    pub const ANY_PAYLOAD: RangeInclusive<u32> = 0..=u32::MAX;

    /// The topology of one rail.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        self.routing.topology()
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.topology().nodes()
    }

    /// Memory that a simulation of it needs without packets and endpoints, about, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let topology = self.topology();
        let ports: u64 =
            (0..topology.switches()).map(|switch| u64::from(topology.ports(SwitchId(switch)))).sum();
        let [switch_port, nic_port] = self.bytes_per_port();
        u64::from(self.rails) * (ports * switch_port + u64::from(self.nodes()) * nic_port)
    }

    /// The same of a switch port and of a NIC port.
    #[must_use]
    pub fn bytes_per_port(&self) -> [u64; 2] {
        match &self.switch {
            SwitchSettings::Hpp(_) => crate::hpp::bytes_per_port(self),
            SwitchSettings::Sp(settings) => [settings.bytes_per_switch_port(), settings.bytes_per_nic_port()],
        }
    }

    /// Whether its switches decide for many cycles at a time, since all packets are long.
    #[must_use]
    pub fn works_by_stretches(&self) -> bool {
        self.switch.hpp().is_some() && crate::hpp::works_by_stretches(self)
    }

    /// Whether adverts, which have wires of their own, are written where their senders look them up, since buffers are small,
    /// and packets and links short.
    #[must_use]
    pub fn posts_adverts(&self) -> bool {
        self.switch.hpp().is_some() && crate::hpp::posts_adverts(self)
    }

    /// Whether packets for one node choose among several ports up: on a tree, with adaptive ascent.
    #[must_use]
    pub fn has_adaptive_ascent(&self) -> bool {
        let is_tree = matches!(self.topology().shape(), Shape::Tree(_));
        let is_adaptive = self.switch.sp().is_some_and(|settings| settings.ascent == SpAscent::Adaptive);
        is_tree && is_adaptive && self.routing.kind() == RoutingKind::DModK
    }

    /// Packet latency in cycles from `source` to `destination` when nothing is in the way, in closed form, and the
    /// number of hops.
    #[must_use]
    pub fn zero_load_cycles(&self, source: NodeId, destination: NodeId, payload_bytes: u32) -> (u64, u32) {
        let topology = self.topology();
        let mut links = u64::from(self.latencies[topology.node_link(source).index()]);
        let mut hops = 0;
        for (switch, hop) in self.routing.path(source, destination) {
            let link = topology.wire(switch, hop.port).map(|(link, _)| link);
            links += link.map_or(0, |link| u64::from(self.latencies[link.index()]));
            hops += 1;
        }
        (links + self.switch.zero_load_cycles(hops, payload_bytes), hops)
    }

    /// Packet latency in cycles of each copy of a packet of `source` for `group` by way of `root` when nothing is in the way,
    /// in closed form: a lookup longer in every switch in which the way up is behind it.
    #[must_use]
    pub fn zero_load_copies(
        &self,
        source: NodeId,
        group: GroupId,
        root: u32,
        payload_bytes: u32,
    ) -> Vec<(NodeId, u64)> {
        let settings = self.switch.hpp().expect("groups are for HPP Switches");
        let topology = self.topology();
        let cycles_of = |link: LinkId| u64::from(self.latencies[link.index()]);
        let (mut here, mut arrival) = self.routing.start(source);
        let (mut links, mut hops) = (cycles_of(topology.node_link(source)), 0);
        let mut way = self.groups.way_up(source, group, root);
        while !way.has_arrived() {
            let Some((link, End::Switch(next, port))) = topology.wire(here, way.hop().port) else { break };
            (here, arrival.port, way) = (next, port, way.rest());
            (links, hops) = (links + cycles_of(link), hops + 1);
        }
        let mut copies = Vec::new();
        let mut to_do = vec![(here, arrival.port, links, hops)];
        while let Some((here, port, cycles, hops)) = to_do.pop() {
            let outputs = self.groups.outputs(here, group, port);
            let cycles = cycles + u64::from(settings.multicast.lookup);
            for output in (0..u64::BITS).filter(|output| outputs >> output & 1 == 1) {
                match topology.wire(here, PortId(output)) {
                    Some((link, End::Switch(next, port))) => {
                        to_do.push((next, port, cycles + cycles_of(link), hops + 1));
                    }
                    Some((link, End::Node(node))) => {
                        let rest = settings.zero_load_cycles(hops + 1, payload_bytes);
                        copies.push((node, cycles + cycles_of(link) + rest));
                    }
                    None => {}
                }
            }
        }
        copies.sort_unstable();
        copies
    }

    /// Cycles from the arrival of `last` at a barrier of `group` to the release of `member`, when all others have arrived
    /// long before and nothing is in the way, in closed form.
    #[must_use]
    pub fn zero_load_barrier_cycles(&self, group: BarrierId, last: NodeId, member: NodeId) -> u64 {
        let settings = self.switch.hpp().expect("barriers are for HPP Switches");
        let (up, down) = (self.barrier_path(group, last), self.barrier_path(group, member));
        let cables: u64 = up.iter().chain(&down).map(|link| u64::from(self.latencies[link.index()])).sum();
        let flits = u64::from(BarrierSettings::PACKET_FLITS);
        let start = u64::from(settings.pipeline.transmit - u32::from(settings.show_ahead));
        // Between two links there is a switch.
        let passes = |links: usize| (links - 1) as u64 * settings.barrier_pass_cycles();
        let root = match self.barriers.root(group) {
            Root::Node(root) => root,
            Root::Switch(_) => return start + cables + passes(up.len() + down.len()) + flits,
        };
        cables
            + match (last == root, member == root) {
                // Nobody else is asked.
                (true, true) => 1,
                (true, false) => start + passes(down.len()) + flits,
                (false, true) => start + passes(up.len()) + flits,
                (false, false) => 2 * (start + flits) + passes(up.len()) + passes(down.len()),
            }
    }

    /// The links from `node` to the root of `group`; none if the node is the root.
    fn barrier_path(&self, group: BarrierId, node: NodeId) -> Vec<LinkId> {
        let topology = self.topology();
        if self.barriers.root(group) == Root::Node(node) {
            return Vec::new();
        }
        let mut links = vec![topology.node_link(node)];
        let mut switch = topology.home(node).0;
        let parent = |switch| self.barriers.place(self.barriers.rail(group), switch, group)?.parent();
        while let Some(port) = parent(switch)
            && let Some((link, end)) = topology.wire(switch, port)
        {
            links.push(link);
            let End::Switch(next, _) = end else { break };
            switch = next;
        }
        links
    }

    /// No less than the packet latency between any two nodes when nothing is in the way.
    #[must_use]
    pub fn zero_load_cycles_max(&self, payload_bytes: u32) -> u64 {
        let hops = self.routing.hops_max();
        let longest = u64::from(self.latencies.iter().copied().max().unwrap_or(0));
        longest * u64::from(hops + 1) + self.switch.zero_load_cycles(hops, payload_bytes)
    }
}

/// What a shard is made of: its switches, then its nodes, are its components.
#[derive(Debug)]
pub struct Plan<E, O> {
    pub(crate) number: u32,
    pub(crate) shards: u32,
    /// Cycles that pass in a window.
    pub(crate) window_length: u64,
    /// Sides that take turns, 1 or 2.
    pub(super) sides: u64,
    /// On which each component is.
    pub(super) side: Vec<u8>,
    /// Memory that it needs without packets and endpoints, about.
    pub(crate) bytes: u64,
    pub(crate) switches: Vec<SwitchPart>,
    pub(crate) nodes: Vec<NodePart<E>>,
    pub(crate) observer: O,
}

/// A switch, component `number`, with what is wired to each of its ports.
#[derive(Debug)]
pub(crate) struct SwitchPart {
    pub(crate) number: u32,
    pub(crate) wires: Vec<Wires>,
}

/// A node, component `number`, with a wire in each rail.
#[derive(Debug)]
pub(crate) struct NodePart<E> {
    pub(crate) id: NodeId,
    pub(crate) number: u32,
    pub(crate) wires: Vec<Wire>,
    pub(crate) endpoint: E,
}

/// Numbers of components: the switches of rail 0, of rail 1, ..., then the nodes.
#[derive(Debug)]
struct Wiring<'a> {
    fabric: &'a Fabric,
    addresses: Vec<Address>,
}

impl<'a> Wiring<'a> {
    /// Deals the components out to `shards` shards of about equal size, neighbours together.
    fn new(fabric: &'a Fabric, shards: u32) -> Self {
        let topology = fabric.topology();
        let (switches, nodes) = (topology.switches(), topology.nodes());
        let order = by_neighbourhood(topology);
        let mut shard_of_switch = vec![0; switches as usize];
        for (position, switch) in order.into_iter().enumerate() {
            shard_of_switch[switch] = (position as u64 * u64::from(shards) / u64::from(switches)) as u32;
        }
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
                back: topology.feeder(switch, port).map(wire),
            })
            .collect()
    }

    fn wire_of(&self, rail: RailId, node: NodeId) -> Wire {
        let topology = self.fabric.topology();
        let (switch, port) = topology.home(node);
        let latency = self.fabric.latencies[topology.node_link(node).index()];
        self.wire(rail, End::Switch(switch, port), latency)
    }
}

/// Switches in an order in which neighbours are close: by the mean of the first node below, taken again and again over
/// neighbours. For a tree that cuts subtrees apart, for a grid rows.
fn by_neighbourhood(topology: &Topology) -> Vec<usize> {
    let switches = topology.switches() as usize;
    let mut key = vec![f64::NAN; switches];
    for node in 0..topology.nodes() {
        let home = topology.home(NodeId(node)).0.index();
        if key[home].is_nan() {
            key[home] = f64::from(node);
        }
    }
    while key.iter().any(|key| key.is_nan()) {
        let before = key.clone();
        for switch in (0..switches).filter(|&switch| before[switch].is_nan()) {
            let id = SwitchId::new(switch);
            let known = (0..topology.ports(id)).filter_map(|port| match topology.feeder(id, PortId(port)) {
                Some((_, End::Switch(next, _))) => Some(before[next.index()]).filter(|key| !key.is_nan()),
                _ => None,
            });
            let (sum, count) = known.fold((0.0, 0.0), |(sum, count), key| (sum + key, count + 1.0));
            if count > 0.0 {
                key[switch] = sum / count;
            }
        }
    }
    let mut order: Vec<usize> = (0..switches).collect();
    order.sort_by(|&a, &b| key[a].total_cmp(&key[b]).then(a.cmp(&b)));
    order
}

pub(super) fn simulation<A: Architecture, E: Endpoint, O: Observer>(
    fabric: &Fabric,
    endpoints: Vec<E>,
    threads: u32,
    mut observer: impl FnMut() -> O,
) -> Simulation<A, E, O> {
    assert_eq!(endpoints.len(), fabric.nodes() as usize, "every node has an endpoint");
    assert_eq!(fabric.latencies.len(), fabric.topology().links().len(), "every link has a latency");
    let shards = threads.clamp(1, fabric.topology().switches());
    let wiring = Wiring::new(fabric, shards);
    let shortest = fabric.latencies.iter().copied().min().unwrap_or(1);
    let window_length = A::lookahead(fabric, shortest).max(1);
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
        let wires = (0..fabric.rails).map(|rail| wiring.wire_of(RailId(rail), id)).collect();
        plan.nodes.push(NodePart { id, number, wires, endpoint });
        plan.side.push(sides.of_node(id));
        nodes.push(address);
    }
    let shards = plans.into_iter().map(|plan| A::Shard::new(fabric, plan)).collect();
    Simulation {
        windows: Windows::new(shards, window_length, count),
        topology: Arc::clone(fabric.routing.topology()),
        rails: fabric.rails,
        switches: wiring.addresses[..(fabric.rails * fabric.topology().switches()) as usize].to_vec(),
        nodes,
    }
}
