//! A case from a seed.
//!
//! Every quantity is drawn so that its corners come up often: the smallest and the largest, one more and one less. The
//! length of the run is what is left of a budget of reference work after the size of the fabric.

mod barriers;
mod sp;

use super::case::Case;
use crate::script::ASKS;
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Flow, FlowKind, PROCESSES_MAX, Packet};
use flitway_switch::hpp::{AdvertSettings, Gathering, HppSettings, LaneChoice, MulticastSettings, Pipeline};
use flitway_test_kit::nic::NicSettings;
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{
    Arrangement, DragonflyPlus, DragonflyShape, End, Graph, GraphLink, RandomRegular, Shape, Topology,
    TopologySettings,
};
use flitway_wiring::{Destination, GroupId, NodeId, PortId, RailId, SwitchId};
use std::sync::Arc;

/// Kinds of packets for one node.
const KINDS: [FlowKind; 3] = [FlowKind::Traffic, FlowKind::Message, FlowKind::Barrier];

/// FIFO-cycles of the reference that the traffic of a case may take; one case in sixteen is eight times as large.
const BUDGET: u64 = 40_000;

/// The case of `seed`: one in four is of SP Switches.
///
/// # Panics
/// If a generated description is not valid: a bug of the generator.
#[must_use]
pub fn generate(seed: u64) -> Case {
    if seed % 4 == 3 {
        return sp::generate(seed);
    }
    let mut dice = Dice(Stream::new(seed, 0, Purpose::Test));
    let sparse = dice.one_in(4);
    let (settings, routing) = if sparse {
        (TopologySettings::Single { nodes: dice.between(2, 3) }, RoutingKind::UpDown)
    } else {
        topology(&mut dice, seed)
    };
    let topology = Arc::new(Topology::build(&settings).expect("a generated topology can be built"));
    let classes = Routing::new(routing, Arc::clone(&topology)).expect("a generated routing fits").classes();
    let mut switch = switch(&mut dice, topology.ports_max(), classes);
    if sparse {
        repeat_often(&mut dice, &mut switch);
    }
    // Such that switches may work by stretches; the other cases of older campaigns stay as they were.
    let mut other_dice = Dice(Stream::new(seed, 1, Purpose::Test));
    let is_long = !sparse && classes == 1 && other_dice.one_in(3);
    let least = if is_long { lengthen(&mut other_dice, &mut switch) } else { 1 };
    let (ascent, groups) = if !is_long && classes == 1 && has_groups(routing, &topology) && dice.one_in(2) {
        groups(&mut dice, &topology)
    } else {
        (Ascent::Table, Vec::new())
    };
    // They do not share a virtual channel.
    switch.barrier.dedicated |= !groups.is_empty() && switch.multicast.vc == 0;
    let rails = if dice.one_in(4) { 2 } else { 1 };
    let has_barriers = !sparse && !is_long && dice.one_in(3);
    let mut latencies = latencies(&mut dice, topology.links().len());
    // Such that adverts are posted: half of those that could be.
    let mut short_dice = Dice(Stream::new(seed, 2, Purpose::Test));
    if switch.advert.flits == 0 && !is_long && short_dice.one_in(2) {
        shorten(&mut short_dice, &mut switch, &mut latencies);
    }
    let fifos = u64::from(rails * switch.vcs) * topology.links().len() as u64 * 2;
    let longest = u64::from(latencies.iter().copied().max().unwrap_or(1));
    let budget = if sparse || dice.one_in(16) { 8 * BUDGET } else { BUDGET };
    let length = (budget / (fifos + 8)).clamp(200, 6_000) + 2 * longest;
    let (nodes, format) = (topology.nodes(), switch.format);
    let traffic = Traffic { nodes, rails, format, least, length, sparse, groups: groups.len() as u32 };
    let scripts = traffic.scripts(&mut dice);
    let plan = has_barriers.then(|| barriers::plan(&mut dice, &topology, rails, length));
    let barriers::Plan { groups: barriers, faults, arrivals } = plan.unwrap_or(barriers::Plan::none(nodes));
    Case {
        seed,
        topology: settings,
        routing,
        rails,
        latencies,
        settings: switch,
        sp: None,
        ascent,
        groups,
        scripts,
        barriers,
        faults,
        arrivals,
        test_nics: test_nics(seed).filter(|_| !is_long),
        promises: is_long || other_dice.one_in(2),
        threads: dice.pick(&[1, 1, 1, 1, 1, 1, 1, 1, 2, 3]),
        pauses: pauses(&mut dice, length, is_long && other_dice.one_in(2)),
        limit: Cycle(2 * length + 500),
        margin: dice.below(600),
    }
}

/// NICs on bounded NIC ports, in one case of four; those of older campaigns stay as they were.
fn test_nics(seed: u64) -> Option<NicSettings> {
    let mut dice = Dice(Stream::new(seed, 3, Purpose::Test));
    dice.one_in(4).then(|| NicSettings {
        window: dice.pick(&[1, 1, 2, 5, 1_000]),
        room: dice.pick(&[1, 1, 2, 4, 100]),
        gap: dice.pick(&[1, 5, 30, 100, 300]),
    })
}

/// Half the time none, else up to five, or very many; now and then in the same window or in the same cycle.
fn pauses(dice: &mut Dice, length: u64, are_many: bool) -> Vec<Cycle> {
    let count = if dice.one_in(2) { 0 } else { dice.between(1, 5) };
    let count = if are_many { 100 } else { count };
    let reach = dice.pick(&[length, length, 40]);
    let first = dice.below(length);
    let mut pauses: Vec<Cycle> = (0..count).map(|_| Cycle(first + dice.below(reach))).collect();
    pauses.sort_unstable();
    pauses
}

/// Whether trees of groups go with a routing.
fn has_groups(routing: RoutingKind, topology: &Topology) -> bool {
    match routing {
        RoutingKind::DModK => matches!(topology.shape(), Shape::Tree(_)),
        _ => routing == RoutingKind::UpDown,
    }
}

/// Up to five groups, small and large.
fn groups(dice: &mut Dice, topology: &Topology) -> (Ascent, Vec<GroupSettings>) {
    let is_tree = matches!(topology.shape(), Shape::Tree(_));
    let ascent = if is_tree && dice.one_in(2) { Ascent::Routed } else { Ascent::Table };
    let nodes = topology.nodes();
    let group = |dice: &mut Dice| {
        let wanted = dice.corner(1, nodes);
        let mut members: Vec<NodeId> = (0..nodes).map(NodeId).collect();
        while members.len() > wanted as usize {
            members.swap_remove(dice.below(members.len() as u64) as usize);
        }
        GroupSettings { members, root: dice.0.bits() as u32 }
    };
    let count = dice.between(1, 5);
    (ascent, (0..count).map(|_| group(dice)).collect())
}

/// A stream with a few more ways to draw.
struct Dice(Stream);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Uniform, both ends included.
    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// Like `between`, but half the time one of the ends.
    fn corner(&mut self, low: u32, high: u32) -> u32 {
        match self.below(4) {
            0 => low,
            1 => high,
            _ => self.between(low, high),
        }
    }

    /// Like `between`, with every power of two equally likely.
    fn scaled(&mut self, low: u32, high: u32) -> u32 {
        let ceiling = self.below(u64::from((high - low).max(1).ilog2()) + 2);
        self.between(low, high.min(low + ((1 << ceiling) - 1)))
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }
}

/// A topology and a routing: one of the first ones that there were, or, of another stream, one of those that came later, so
/// that other cases of older campaigns stay as they were.
fn topology(dice: &mut Dice, seed: u64) -> (TopologySettings, RoutingKind) {
    let first = first_topology(dice);
    let mut later = Dice(Stream::new(seed, 4, Purpose::Test));
    if later.one_in(5) { later_topology(&mut later) } else { first }
}

fn first_topology(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    let (settings, own) = match dice.below(8) {
        0 | 1 => (TopologySettings::Single { nodes: dice.between(2, 16) }, RoutingKind::UpDown),
        2 => {
            let (ports, levels) = dice.pick(&[(4, 1), (4, 2), (4, 2), (4, 3), (6, 2), (8, 1), (8, 2)]);
            (TopologySettings::FatTree { ports, levels }, RoutingKind::DModK)
        }
        3 => {
            let (arity, levels) = dice.pick(&[(2, 1), (2, 2), (2, 3), (2, 4), (3, 2), (4, 2)]);
            (TopologySettings::KaryNTree { arity, levels }, RoutingKind::DModK)
        }
        4 => {
            let (dimensions, nodes_per_switch) = grid(dice);
            (TopologySettings::Mesh { dimensions, nodes_per_switch }, RoutingKind::DimensionOrder)
        }
        5 | 6 => {
            let (dimensions, nodes_per_switch) = grid(dice);
            (TopologySettings::Torus { dimensions, nodes_per_switch }, RoutingKind::DimensionOrder)
        }
        _ => (TopologySettings::Graph(graph(dice)), RoutingKind::UpDown),
    };
    (settings, if dice.one_in(4) { RoutingKind::UpDown } else { own })
}

/// A HyperX, a dragonfly, a random regular graph, a tree of any ports or any graph, in a routing of its own or any other.
fn later_topology(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    let nodes_per_switch = dice.scaled(1, 3);
    let (settings, own) = match dice.below(4) {
        0 => {
            let dimensions =
                dice.pick(&[vec![3], vec![5], vec![2, 2, 2], vec![3, 2], vec![4, 3], vec![2, 1, 3]]);
            let links = vec![dice.between(1, 2); dimensions.len()];
            (TopologySettings::HyperX { dimensions, links, nodes_per_switch }, RoutingKind::DimensionOrder)
        }
        1 => {
            let (switches_per_group, global_ports, groups) =
                dice.pick(&[(1, 2, 3), (2, 1, 3), (2, 2, 3), (3, 1, 4), (3, 2, 3), (4, 1, 5), (2, 1, 2)]);
            let arrangement = dice.pick(&[Arrangement::PalmTree, Arrangement::Absolute]);
            let shape =
                DragonflyShape { groups, switches_per_group, nodes_per_switch, global_ports, arrangement };
            (TopologySettings::Dragonfly(shape), RoutingKind::Minimal)
        }
        2 if dice.one_in(3) => {
            (TopologySettings::SlimFly { q: 3, nodes_per_switch: 1 }, RoutingKind::Minimal)
        }
        2 if dice.one_in(2) => {
            let plus = DragonflyPlus {
                groups: dice.between(2, 3),
                leaves: dice.between(1, 2),
                spines: dice.between(1, 2),
                nodes_per_switch,
                global_ports: 2,
                arrangement: Arrangement::Absolute,
            };
            (TopologySettings::DragonflyPlus(plus), RoutingKind::Minimal)
        }
        2 => {
            let (switches, degree) = dice.pick(&[(4, 2), (5, 2), (6, 3), (8, 3), (9, 4)]);
            let seed = dice.below(100);
            let graph = RandomRegular { switches, degree, nodes_per_switch, seed };
            (TopologySettings::RandomRegular(graph), RoutingKind::Minimal)
        }
        3 => {
            let (down, up) = dice.pick(&[
                (vec![2, 3], vec![1, 2]),
                (vec![3, 2], vec![1, 3]),
                (vec![2, 2, 2], vec![1, 2, 1]),
                (vec![3], vec![1]),
            ]);
            let cables = vec![dice.between(1, 2)];
            (TopologySettings::Xgft { down, up, cables }, RoutingKind::DModK)
        }
        _ => (TopologySettings::Graph(graph(dice)), RoutingKind::Minimal),
    };
    let has_intermediates =
        matches!(settings, TopologySettings::HyperX { .. } | TopologySettings::Dragonfly(_));
    let drawn = if has_intermediates { RoutingKind::Valiant } else { own };
    (settings, dice.pick(&[own, own, drawn, drawn, RoutingKind::Minimal, RoutingKind::UpDown]))
}

/// Sizes of a grid of at most 16 switches, and nodes on each.
fn grid(dice: &mut Dice) -> (Vec<u32>, u32) {
    let mut dimensions = Vec::new();
    let mut room = 16;
    for _ in 0..dice.between(1, 3) {
        let size = dice.between(1, 6.min(room));
        dimensions.push(size);
        room /= size;
    }
    (dimensions, dice.scaled(1, 3))
}

/// A connected graph with parallel links and unused ports.
fn graph(dice: &mut Dice) -> Graph {
    let (switches, nodes) = (dice.between(1, 8), dice.between(2, 12));
    let mut next_port = vec![0; switches as usize];
    let mut end = |dice: &mut Dice, switch: u32| {
        let port = &mut next_port[switch as usize];
        *port += 1 + u32::from(dice.one_in(6));
        End::Switch(SwitchId(switch), PortId(*port - 1))
    };
    let mut links = Vec::new();
    let mut link = |ends| links.push(GraphLink { ends, length_mm: None });
    for node in 0..nodes {
        let switch = dice.between(0, switches - 1);
        link([End::Node(NodeId(node)), end(dice, switch)]);
    }
    for switch in 1..switches {
        let other = dice.between(0, switch - 1);
        link([end(dice, switch), end(dice, other)]);
    }
    if switches > 1 {
        for _ in 0..dice.between(0, switches) {
            let a = dice.between(0, switches - 1);
            let b = (a + dice.between(1, switches - 1)) % switches;
            link([end(dice, a), end(dice, b)]);
        }
    }
    Graph { nodes, switches, links }
}

fn latencies(dice: &mut Dice, links: usize) -> Vec<u32> {
    let longest = dice.scaled(1, 200);
    match dice.below(3) {
        0 => vec![longest; links],
        1 => (0..links).map(|_| dice.between(1, longest)).collect(),
        _ => (0..links).map(|_| if dice.one_in(4) { longest } else { 1 }).collect(),
    }
}

fn switch(dice: &mut Dice, ports: u32, classes: u32) -> HppSettings {
    let format = format(dice);
    let payload = format.mtu_bytes.div_ceil(format.flit_bytes);
    let unit_flits = dice.scaled(1, 64);
    let packet_units = payload.div_ceil(unit_flits);
    let buffer_units = match dice.below(5) {
        0 => packet_units,
        1 => packet_units + dice.between(0, packet_units),
        2 => packet_units * dice.between(2, 4),
        3 => packet_units * dice.between(4, 16),
        // So many that for a while nobody needs adverts.
        _ => packet_units + dice.scaled(1, 1_000),
    };
    let show_ahead = dice.one_in(2);
    let pipeline = Pipeline {
        // Longer than a barrier packet, at times: then that is what ends a window.
        receive: if dice.one_in(6) { dice.between(4, 9) } else { dice.corner(0, 3) },
        queue: dice.corner(0, 3),
        route: dice.corner(1, 5),
        transmit_buffer: dice.corner(1 + u32::from(show_ahead), 4),
        transmit: dice.between(1, 2),
    };
    let vcs = classes * dice.scaled(1, (8 / classes).max(1));
    HppSettings {
        ports: ports.max(2) + dice.pick(&[0, 0, 3]),
        vcs,
        buffer_units,
        unit_flits,
        arbiter: dice.pick(&[
            ArbiterKind::Matrix,
            ArbiterKind::RoundRobin,
            ArbiterKind::LeastRecentlyGranted,
        ]),
        show_ahead,
        pipeline,
        tx_fifo: dice.scaled(pipeline.transmit_buffer + 1, 40),
        format,
        advert: advert(dice, vcs, buffer_units),
        multicast: multicast(dice, vcs),
        barrier: barriers::settings(dice),
        lanes: dice.pick(&[LaneChoice::ByPacket, LaneChoice::ByPacket, LaneChoice::ByFlow]),
    }
}

/// Makes packets so much longer than TX FIFOs that switches decide by stretches, or just not. Returns the bytes of the
/// shortest one.
fn lengthen(dice: &mut Dice, settings: &mut HppSettings) -> u32 {
    /// What switches need beyond a TX FIFO.
    const STRETCH: u32 = 16;
    let HppSettings { format, advert, pipeline, .. } = settings;
    settings.tx_fifo = if dice.one_in(3) {
        // A link is ready no later than a stretch after a grant, or just not; a packet frees a unit soon after its choice.
        pipeline.transmit_buffer = dice.pick(&[STRETCH - 2, STRETCH - 1, STRETCH - 1, STRETCH + 24]);
        dice.scaled(1, 8)
    } else {
        dice.scaled(pipeline.transmit_buffer + 1, 20)
    };
    // Longer than what is told apart of the time before an epoch, at times.
    if dice.one_in(6) {
        pipeline.receive = dice.scaled(4, 3_000);
    }
    let needed = settings.tx_fifo + STRETCH;
    let unit = needed.saturating_sub(format.header_flits);
    settings.unit_flits = settings.unit_flits.max(dice.corner(unit - 1, unit + 60));
    format.mtu_bytes = format.mtu_bytes.max(dice.between(needed, 300) * format.flit_bytes);
    let units = format.mtu_bytes.div_ceil(format.flit_bytes).div_ceil(settings.unit_flits);
    settings.buffer_units = settings.buffer_units.max(units);
    advert.flits = if dice.one_in(8) { dice.between(4, 64) } else { advert.flits.max(1) };
    advert.refresh = advert.refresh.map(|refresh| refresh.max(2 * settings.vcs * advert.flits + 1));
    advert.position_bits = 16;
    let payload = needed - format.header_flits - format.trailer_flits;
    (dice.corner(payload - 1, payload + 60) * format.flit_bytes).min(format.mtu_bytes)
}

/// Makes packets and links so short, and buffers so small, that adverts on wires of their own are posted, or just not.
fn shorten(dice: &mut Dice, settings: &mut HppSettings, latencies: &mut [u32]) {
    let HppSettings { format, .. } = settings;
    format.mtu_bytes = format.mtu_bytes.min(dice.scaled(1, 24) * format.flit_bytes);
    settings.unit_flits = settings.unit_flits.min(dice.between(1, 6));
    let units = format.mtu_bytes.div_ceil(format.flit_bytes).div_ceil(settings.unit_flits);
    settings.buffer_units = units * dice.between(1, 4) + dice.below(2) as u32;
    settings.advert.position_bits = 16;
    let longest = dice.scaled(1, 12);
    latencies.iter_mut().for_each(|latency| *latency = (*latency).min(longest));
}

fn multicast(dice: &mut Dice, vcs: u32) -> MulticastSettings {
    let gathering = match dice.below(5) {
        0 => Gathering::OneByOne,
        1 => Gathering::Bulletin { patience: Some(dice.scaled(0, 300)) },
        _ => Gathering::Bulletin { patience: None },
    };
    MulticastSettings { groups: 16, vc: dice.corner(0, vcs - 1), lookup: dice.between(0, 3), gathering }
}

fn format(dice: &mut Dice) -> PacketFormat {
    let flit_bytes = dice.pick(&[1, 2, 2, 4, 8, 32]);
    let payload = dice.scaled(1, 300);
    PacketFormat {
        flit_bytes,
        header_flits: dice.corner(0, 5),
        trailer_flits: dice.between(0, 1),
        mtu_bytes: payload * flit_bytes - dice.below(u64::from(flit_bytes)) as u32,
    }
}

fn advert(dice: &mut Dice, vcs: u32, buffer_units: u32) -> AdvertSettings {
    let flits = dice.pick(&[0, 1, 1, 2, 2, 3]);
    let quickest = 2 * vcs * flits + 1;
    let narrowest = (2 * buffer_units).ilog2() + 1;
    AdvertSettings {
        flits,
        refresh: (!dice.one_in(3)).then(|| dice.scaled(quickest, 400)),
        position_bits: dice.corner(narrowest, 16),
    }
}

/// Makes an idle link repeat short adverts in patterns of several VCs, some of them in one cycle.
fn repeat_often(dice: &mut Dice, settings: &mut HppSettings) {
    settings.vcs = dice.between(4, 8);
    settings.multicast.vc = dice.below(u64::from(settings.vcs)) as u32;
    settings.show_ahead = true;
    settings.pipeline.transmit_buffer = settings.pipeline.transmit_buffer.max(2);
    settings.tx_fifo = settings.tx_fifo.max(settings.pipeline.transmit_buffer + 1);
    settings.advert.flits = 1;
    settings.advert.refresh = Some(2 * settings.vcs + dice.between(1, 8));
}

/// To whom.
#[derive(Clone, Copy)]
enum Pattern {
    Uniform,
    Hot(u32),
    Shift(u32),
    Own,
    Few(u32),
}

/// How much.
#[derive(Clone, Copy)]
enum Sizes {
    Fixed(u32),
    Upto(u32),
    Either(u32, u32),
}

/// What kind of traffic a case can have.
struct Traffic {
    nodes: u32,
    rails: u32,
    format: PacketFormat,
    /// Bytes of the shortest packet.
    least: u32,
    length: u64,
    /// Hardly any, with long silences between.
    sparse: bool,
    groups: u32,
}

/// A stretch of time with one kind of traffic.
struct Phase {
    start: u64,
    end: u64,
    pattern: Pattern,
    sizes: Sizes,
    /// Mean cycles between packets of a node.
    gap: u64,
    /// Packets at a time.
    burst: u64,
    /// Whether all packets take one lane.
    one_lane: bool,
    /// Whether packets ask for replies.
    asks: bool,
    /// How many in a hundred packets are for groups.
    multicast: u64,
}

impl Traffic {
    fn scripts(&self, dice: &mut Dice) -> Vec<Vec<Packet>> {
        let phases = dice.pick(&[1, 1, 2, 3]);
        let mut scripts = vec![Vec::new(); self.nodes as usize];
        let mut start = dice.pick(&[0, 0, 1, 7]);
        for _ in 0..phases {
            // Phases take half the time; the rest is for idling and draining.
            let end = start + 1 + dice.below(self.length / phases);
            let phase = self.phase(dice, start, end);
            for (node, script) in scripts.iter_mut().enumerate() {
                self.fill(dice, &phase, node as u32, script);
            }
            start = end + if dice.one_in(2) { dice.below(self.length) } else { dice.below(30) };
        }
        scripts
    }

    fn phase(&self, dice: &mut Dice, start: u64, end: u64) -> Phase {
        let node = dice.between(0, self.nodes - 1);
        let pattern = dice.pick(&[
            Pattern::Uniform,
            Pattern::Uniform,
            Pattern::Hot(node),
            Pattern::Shift(node),
            Pattern::Own,
            Pattern::Few(node),
        ]);
        let mtu = self.format.mtu_bytes;
        let one = dice.scaled(1, mtu.max(2)).clamp(self.least, mtu);
        let flit = self.format.flit_bytes.clamp(self.least, mtu);
        let sizes = dice.pick(&[
            Sizes::Fixed(flit),
            Sizes::Fixed(mtu),
            Sizes::Fixed(one),
            Sizes::Upto(mtu),
            Sizes::Upto(mtu),
            Sizes::Upto(one),
            Sizes::Either(flit, mtu),
            Sizes::Either(one, mtu),
        ]);
        let sizes = if self.sparse { Sizes::Fixed(flit) } else { sizes };
        let mean = match sizes {
            Sizes::Fixed(size) => size,
            Sizes::Upto(size) => (self.least + size).div_ceil(2),
            Sizes::Either(a, b) => (a + b).div_ceil(2),
        };
        let burst = dice.pick(&[1, 1, 1, 2, 5]);
        let flits = u64::from(self.format.packet_flits(mean)) * burst;
        let percents: &[u64] =
            if self.sparse { &[2, 5, 10, 20] } else { &[2, 20, 40, 60, 80, 95, 100, 150, 300] };
        let percent = dice.pick(percents);
        let multicast = if self.groups == 0 { 0 } else { dice.pick(&[2, 10, 30, 100]) };
        // A packet for a group is about half as many as there are nodes.
        let copies = 100 + multicast * u64::from(self.nodes) / 2;
        Phase {
            start,
            end,
            pattern,
            sizes,
            gap: (flits * copies / percent).max(1),
            burst,
            one_lane: !self.sparse && dice.one_in(4),
            asks: dice.one_in(3),
            multicast,
        }
    }

    fn fill(&self, dice: &mut Dice, phase: &Phase, node: u32, script: &mut Vec<Packet>) {
        let mut at = phase.start + dice.below(phase.gap);
        while at < phase.end {
            for _ in 0..phase.burst {
                let packet = self.packet(dice, phase, node, at, script.len());
                script.push(packet);
            }
            at += dice.below(2 * phase.gap + 1);
        }
    }

    fn packet(&self, dice: &mut Dice, phase: &Phase, node: u32, at: u64, tag: usize) -> Packet {
        let anyone = dice.between(0, self.nodes - 1);
        let destination = match phase.pattern {
            Pattern::Uniform => anyone,
            Pattern::Hot(hot) => {
                if dice.one_in(8) {
                    anyone
                } else {
                    hot
                }
            }
            Pattern::Shift(by) => (node + by) % self.nodes,
            Pattern::Own => {
                if dice.one_in(4) {
                    anyone
                } else {
                    node
                }
            }
            Pattern::Few(first) => (first + anyone % 2) % self.nodes,
        };
        let payload = match phase.sizes {
            Sizes::Fixed(size) => size,
            Sizes::Upto(size) => dice.between(self.least, size),
            Sizes::Either(a, b) => {
                if dice.one_in(2) {
                    a
                } else {
                    b
                }
            }
        };
        let destination = if dice.below(100) < phase.multicast {
            Destination::Group(GroupId(dice.between(0, self.groups - 1)), dice.0.bits() as u32)
        } else {
            Destination::Node(NodeId(destination))
        };
        let is_single = matches!(destination, Destination::Node(_));
        Packet {
            destination,
            rail: RailId(dice.between(0, self.rails - 1)),
            lane: if phase.one_lane { 0 } else { dice.0.bits() as u32 },
            payload: payload as u16,
            created: Cycle(at),
            // Of many kinds and all processes: they have to come back as they were.
            flow: Flow::new(
                if is_single { KINDS[tag % KINDS.len()] } else { FlowKind::Multicast },
                tag as u64 | if phase.asks { ASKS } else { 0 },
            )
            .of_process((tag % usize::from(PROCESSES_MAX)) as u8),
        }
    }
}
