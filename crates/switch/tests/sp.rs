//! The SP fabric from outside: latencies in closed form, one copy for each destination, deadlock and its absence.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_engine::window::Outcome;
use flitway_fabric::deadlock::{Deadlock, Need};
use flitway_fabric::observer::{
    Departure, LinkObserver, MessageObserver, NicObserver, PacketName, Passage, SwitchObserver,
};
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{
    ANY_PAYLOAD, Barriers, Chip, Delivery, Endpoint, Fabric, Faults, Flow, LinkErrors, NicPorts, Outgoing,
    Packet, Rate, Rates, Simulation, Up,
};
use flitway_switch::sp::{
    CentralSettings, NextPacket, Organisation, Replication, Sp, SpAscent, SpPipeline, SpSettings, Store,
    WormSettings,
};
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{End, StageWiring, Topology, TopologySettings};
use flitway_wiring::{Destination, Groups, NodeId, NodeSet, PortId, RailId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const FOREVER: Cycle = Cycle(1 << 40);
const INPUT: Store = Store::Input(Organisation::RegisterStaircase);
const CENTRAL: Store = Store::Central(CentralSettings { chunks: 256, next_packet: NextPacket::Shared });

/// The SP Switch of multidestination-worms.txt section 7.1.
fn sp(store: Store, bits: u32) -> SpSettings {
    SpSettings {
        ports: 8,
        store,
        chunk_flits: 8,
        fifo_flits: if store.is_input() { 320 } else { 64 },
        pipeline: SpPipeline { receive: 1, route: 4, transmit: 1 },
        credit: 1,
        format: PacketFormat {
            flit_bytes: 2,
            header_flits: 1,
            trailer_flits: 0,
            mtu_bytes: 512,
            block: None,
        },
        ascent: SpAscent::Adaptive,
        worms: WormSettings { bits, replication: Replication::Asynchronous },
    }
}

fn fabric(levels: u32, settings: SpSettings) -> Fabric<SpSettings> {
    on(&TopologySettings::KaryNTree { arity: 4, levels }, RoutingKind::DModK, settings)
}

fn stages(wiring: StageWiring, arity: u32, stages: u32, settings: SpSettings) -> Fabric<SpSettings> {
    on(&TopologySettings::Stages { wiring, arity, stages }, RoutingKind::DestinationTag, settings)
}

fn on(topology: &TopologySettings, kind: RoutingKind, settings: SpSettings) -> Fabric<SpSettings> {
    let topology = Arc::new(Topology::build(topology).unwrap());
    Fabric {
        latencies: vec![1; topology.links().len()],
        routing: Routing::new(kind, topology).unwrap().with_selection(settings.selection()),
        rails: 1,
        chip: settings,
        groups: Groups::none(),
        barriers: Barriers::none(),
        payloads: ANY_PAYLOAD,
        nic_ports: NicPorts::Ideal,
        rates: Rates::full(),
        errors: LinkErrors::default(),
        faults: Faults::default(),
    }
}

/// Keeps every delivery.
#[derive(Clone, Debug, Default)]
struct Deliveries(Vec<Delivery>);

impl LinkObserver for Deliveries {}

impl SwitchObserver for Deliveries {}

impl NicObserver for Deliveries {
    fn delivered(&mut self, delivery: &Delivery) {
        self.0.push(*delivery);
    }
}

impl MessageObserver for Deliveries {}

/// Sends given packets, for nodes or for sets, at given times: first one last.
#[derive(Clone, Debug, Default)]
struct Script(Vec<(Packet, Option<Arc<NodeSet>>)>);

impl Endpoint for Script {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while let Some((packet, set)) = self.0.pop_if(|it| it.0.created <= now) {
            match set {
                Some(set) => out.push_to_set(packet, set),
                None => out.push(packet),
            }
        }
        self.0.last().map(|it| it.0.created)
    }

    fn hear(&mut self, _: Cycle, _: Up<'_>, _: &mut Outgoing) -> Option<Cycle> {
        self.0.last().map(|it| it.0.created)
    }
}

fn packet(destination: u32, payload: u16, created: u64, tag: u64) -> Packet {
    let destination = Destination::Node(NodeId(destination));
    Packet {
        destination,
        rail: RailId(0),
        lane: 0,
        payload,
        created: Cycle(created),
        flow: Flow::traffic(tag),
    }
}

fn set(nodes: &[u32]) -> Arc<NodeSet> {
    Arc::new(NodeSet::new(nodes.iter().copied().map(NodeId)))
}

fn run(fabric: &Fabric<SpSettings>, scripts: &[Script], threads: u32) -> (Vec<Delivery>, Option<Deadlock>) {
    let mut simulation = Simulation::<Sp, _, _>::new(fabric, scripts.to_vec(), threads, Deliveries::default);
    assert_eq!(simulation.run_until(FOREVER, &AtomicBool::new(false)), Outcome::Idle);
    assert!(simulation.audit().holds(), "{:?}", simulation.audit());
    let mut deliveries: Vec<Delivery> = simulation
        .gather_observers(|observer| std::mem::take(&mut observer.0))
        .into_iter()
        .flatten()
        .collect();
    deliveries.sort_by_key(|it| (it.delivered, it.destination, it.source, it.flow.tag));
    (deliveries, simulation.deadlock())
}

fn scripts(nodes: u32, packets: &[(u32, Packet, Option<Arc<NodeSet>>)]) -> Vec<Script> {
    let mut scripts = vec![Script::default(); nodes as usize];
    for (source, packet, set) in packets.iter().rev() {
        scripts[*source as usize].0.push((*packet, set.clone()));
    }
    scripts
}

#[test]
fn a_packet_takes_six_cycles_through_each_crossbar() {
    for (store, header_flits) in [(CENTRAL, 1), (CENTRAL, 3), (INPUT, 1), (INPUT, 4)] {
        let mut settings = sp(store, 64);
        settings.format.header_flits = header_flits;
        let fabric = fabric(3, settings);
        for (destination, hops) in [(1, 1_u32), (5, 3), (63, 5)] {
            for payload in [1, 2, 64, 128, 512] {
                let only = scripts(64, &[(0, packet(destination, payload, 100, 7), None)]);
                let delivery = run(&fabric, &only, 1).0[0];
                let cycles = delivery.delivered.0 - 100;
                // A stage in the NIC, links of one cycle, and the packet's own length; a switch waits for the header.
                let flits = header_flits + u32::from(payload.div_ceil(2));
                let stages = 6 + header_flits - 1;
                assert_eq!(cycles, u64::from(1 + hops * stages + hops + 1 + flits), "{payload} B");
                let theory = fabric.zero_load_cycles(NodeId(0), NodeId(destination), payload.into());
                assert_eq!((cycles, u32::from(delivery.hops)), theory);
            }
        }
    }
}

/// The second of two packets for one node finds its output busy and takes the store, whose first flit comes out 13 cycles
/// after it came in, if by then the output is free.
#[test]
fn the_store_takes_seven_cycles_more() {
    for store in [CENTRAL, INPUT] {
        let fabric = on(&TopologySettings::Single { nodes: 3 }, RoutingKind::UpDown, sp(store, 3));
        // Packets of 9 and 33 flits, the second of which requests while the last flits of the first go out.
        let late = 100 + 7;
        let both = [(0, packet(2, 16, 100, 0), None), (1, packet(2, 64, late, 1), None)];
        let deliveries = run(&fabric, &scripts(3, &both), 1).0;
        let cycles = |place: usize| deliveries[place].delivered.0 - deliveries[place].created.0;
        assert_eq!(cycles(0), 1 + 6 + 2 + 9);
        assert_eq!(cycles(1), 1 + 13 + 2 + 33);
    }
}

#[test]
fn a_worm_takes_thirteen_cycles_where_it_is_replicated_and_its_header_is_real() {
    let separate = Store::Central(CentralSettings { chunks: 256, next_packet: NextPacket::Separate });
    for store in [CENTRAL, separate, INPUT] {
        let small = fabric(2, sp(store, 16));
        // One destination: as many cycles as a packet for one node, since the header is as long.
        let only = scripts(16, &[(0, packet(0, 128, 0, 0), Some(set(&[9])))]);
        assert_eq!(run(&small, &only, 1).0[0].delivered.0, 1 + 3 * 6 + 4 + 65);
        // Two below the top: the first copy is 7 cycles later, and the second one more.
        let two = scripts(16, &[(0, packet(0, 128, 0, 0), Some(set(&[5, 9])))]);
        let lag = u64::from(store == CENTRAL);
        let cycles: Vec<u64> = run(&small, &two, 1).0.iter().map(|it| it.delivered.0).collect();
        assert_eq!(cycles, [1 + 3 * 6 + 7 + 4 + 65 + lag, 1 + 3 * 6 + 8 + 4 + 65 + lag]);
        let large = fabric(3, sp(store, 64));
        for (source, nodes) in [(0, vec![1, 2]), (0, vec![0, 4, 5, 6, 17, 63]), (9, (0..64).collect())] {
            for payload in [1, 8, 10, 20, 26, 128, 512] {
                let all = scripts(64, &[(source, packet(0, payload, 0, 0), Some(set(&nodes)))]);
                let mut found: Vec<(NodeId, u64, u32)> = run(&large, &all, 1)
                    .0
                    .iter()
                    .map(|it| (it.destination, it.delivered.0, it.hops.into()))
                    .collect();
                found.sort_unstable();
                let theory = large.zero_load_worm(NodeId(source), &set(&nodes), payload.into()).unwrap();
                assert_eq!(found, theory, "{payload} B to {nodes:?} by {store:?}");
            }
        }
    }
}

/// multidestination-worms.txt section 2: "In unidirectional MINs, messages must traverse all switch stages".
#[test]
fn in_a_unidirectional_network_everything_crosses_all_stages() {
    for store in [CENTRAL, INPUT] {
        for (wiring, arity, count) in [(StageWiring::Omega, 8, 2), (StageWiring::Butterfly, 4, 3)] {
            let mut fabric = stages(wiring, arity, count, sp(store, 64));
            fabric.latencies = (0..fabric.latencies.len() as u32).map(|link| 1 + link % 5).collect();
            for (source, destination) in [(0, 1), (0, 63), (9, 9), (40, 7)] {
                let only = scripts(64, &[(source, packet(destination, 128, 100, 0), None)]);
                let delivery = run(&fabric, &only, 1).0[0];
                let found = (delivery.delivered.0 - 100, u32::from(delivery.hops));
                assert_eq!(found, fabric.zero_load_cycles(NodeId(source), NodeId(destination), 128));
                assert_eq!(found.1, count);
            }
            for (source, nodes) in [(0, vec![5]), (0, vec![0, 4, 5, 6, 17, 63]), (9, (0..64).collect())] {
                let all = scripts(64, &[(source, packet(0, 128, 0, 0), Some(set(&nodes)))]);
                let found = run(&fabric, &all, 1).0;
                let mut found: Vec<(NodeId, u64, u32)> =
                    found.iter().map(|it| (it.destination, it.delivered.0, it.hops.into())).collect();
                found.sort_unstable();
                assert_eq!(found, fabric.zero_load_worm(NodeId(source), &set(&nodes), 128).unwrap());
            }
        }
    }
}

/// Random worms and packets for one node, on average so many flits for a node and cycle as `percent` says.
fn random(
    seed: u64,
    fabric: &Fabric<SpSettings>,
    percent: u64,
    until: u64,
) -> Vec<(u32, Packet, Option<Arc<NodeSet>>)> {
    let nodes = fabric.nodes();
    let mut packets = Vec::new();
    for node in 0..nodes {
        let mut stream = Stream::new(seed, u64::from(node), Purpose::Test);
        let mut at = stream.below(100);
        while at < until {
            let payload = 1 + stream.below(512) as u16;
            let members: Vec<u32> =
                (0..1 + stream.below(8)).map(|_| stream.below(nodes.into()) as u32).collect();
            let is_worm = stream.below(2) == 0;
            let copies = if is_worm { members.len() as u64 } else { 1 };
            let destination = stream.below(nodes.into()) as u32;
            let to = is_worm.then(|| set(&members));
            packets.push((node, packet(destination, payload, at, packets.len() as u64), to));
            at += 1 + stream.below(2 * 128 * copies * 100 / percent);
        }
    }
    packets
}

/// Asked at any time, nobody is said to wait for ever in a run in which everything arrives.
fn assert_none_on_the_way(fabric: &Fabric<SpSettings>, scripts: &[Script]) {
    let mut simulation = Simulation::<Sp, _, _>::new(fabric, scripts.to_vec(), 1, Deliveries::default);
    let mut until = Cycle::ZERO;
    while until.0 < 6_000 {
        until += 97;
        simulation.run_until(until, &AtomicBool::new(false));
        assert_eq!(simulation.deadlock(), None, "in cycle {until}");
    }
}

/// Every packet comes to each of its nodes once, and nothing waits for ever.
fn assert_complete(fabric: &Fabric<SpSettings>, packets: &[(u32, Packet, Option<Arc<NodeSet>>)]) {
    let (deliveries, deadlock) = run(fabric, &scripts(fabric.nodes(), packets), 1);
    assert_eq!(deadlock, None);
    assert_none_on_the_way(fabric, &scripts(fabric.nodes(), packets));
    let expected = |&(source, packet, ref to): &(u32, Packet, Option<Arc<NodeSet>>)| {
        let nodes: Vec<NodeId> = match (to, packet.destination) {
            (Some(set), _) => set.iter().collect(),
            (None, Destination::Node(node)) => vec![node],
            _ => panic!("packets are for nodes or sets"),
        };
        nodes.into_iter().map(move |node| (packet.flow.tag, source, node.0))
    };
    let mut expected: Vec<(u64, u32, u32)> = packets.iter().flat_map(expected).collect();
    let mut found: Vec<(u64, u32, u32)> =
        deliveries.iter().map(|it| (it.flow.tag, it.source.0, it.destination.0)).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert!(found == expected, "{} of {} copies", found.len(), expected.len());
}

#[test]
fn each_destination_gets_one_copy_and_asynchronous_replication_never_deadlocks() {
    for seed in 0..6 {
        // Barely room for the largest packet: 33 chunks and 7 more for its header.
        let chunks = [40, 41, 64, 256][seed as usize % 4];
        let next_packet = if seed % 3 == 0 { NextPacket::Separate } else { NextPacket::Shared };
        let stores = [Store::Central(CentralSettings { chunks, next_packet }), INPUT];
        for store in stores {
            let mut settings = sp(store, 64);
            settings.fifo_flits = if store.is_input() { 260 } else { [4, 8, 64][seed as usize % 3] };
            let fabric = fabric(2 + u32::from(seed % 4 == 3), settings.clone());
            for percent in [20, 90, 400] {
                assert_complete(&fabric, &random(seed, &fabric, percent, 2_000));
            }
            let torus = TopologySettings::Torus { dimensions: vec![3, 3], nodes_per_switch: 2 };
            let irregular = on(&torus, RoutingKind::UpDown, settings.clone());
            assert_complete(&irregular, &random(seed, &irregular, 300, 2_000));
            let wiring = [StageWiring::Omega, StageWiring::Butterfly][seed as usize % 2];
            let forward = stages(wiring, 4, 2 + seed as u32 % 2, settings);
            assert_complete(&forward, &random(seed, &forward, 300, 2_000));
        }
    }
}

#[test]
fn packets_of_a_pair_keep_their_order_where_the_way_up_is_routed() {
    for store in [CENTRAL, INPUT] {
        let fabric = fabric(2, SpSettings { ascent: SpAscent::Routed, ..sp(store, 16) });
        let mut packets = random(5, &fabric, 150, 20_000);
        packets.retain(|it| it.2.is_none());
        let (deliveries, _) = run(&fabric, &scripts(16, &packets), 1);
        let mut last = std::collections::BTreeMap::new();
        for it in &deliveries {
            let before = last.insert((it.source, it.destination), it.flow.tag);
            assert!(before < Some(it.flow.tag), "packets overtake each other");
        }
    }
}

#[test]
fn the_number_of_threads_makes_no_difference() {
    for store in [CENTRAL, INPUT] {
        let fabric = fabric(3, sp(store, 64));
        let packets = random(1, &fabric, 100, 3_000);
        let scripts = scripts(64, &packets);
        let one = run(&fabric, &scripts, 1).0;
        assert!(one.len() > 1_000, "{}", one.len());
        for threads in [2, 4] {
            assert!(run(&fabric, &scripts, threads).0 == one, "{threads} threads");
        }
    }
}

/// What is told of packets and worms fits together link by link, and what is no wait is the way itself: a packet takes its
/// zero-load latency and, through the store, the time in which a chunk comes together.
#[test]
fn what_observers_are_told_of_a_packet_is_its_way() {
    for (store, replication) in [
        (CENTRAL, Replication::Asynchronous),
        (INPUT, Replication::Asynchronous),
        (INPUT, Replication::LockStep),
    ] {
        let mut settings = sp(store, 16);
        settings.worms.replication = replication;
        let fabric = fabric(2, settings);
        let mut packets = random(3, &fabric, 60, 6_000);
        if replication == Replication::LockStep {
            packets.retain(|it| it.2.is_none());
        }
        let journeys = journeys(&fabric, &scripts(16, &packets));
        let (mut waited, mut copies) = ([0; 4], 0);
        for delivery in &journeys.deliveries {
            let (waits, moved) = journeys.follow(&fabric, delivery);
            waited.iter_mut().zip(waits).for_each(|(sum, wait)| *sum += wait);
            copies += 1;
            let to = Destination::Node(delivery.destination);
            if packets
                .iter()
                .any(|it| it.1.flow.tag == delivery.flow.tag && it.1.destination == to && it.2.is_none())
            {
                let (least, hops) =
                    fabric.zero_load_cycles(delivery.source, delivery.destination, delivery.payload.into());
                // Flits that come with gaps keep their own chunks waiting.
                assert!(moved >= least, "{delivery:?}: {moved} cycles, {least} at least, {hops} hops");
            }
        }
        // In an input buffer outputs are waited for at the links.
        let least = [1_000, 0, u64::from(store == CENTRAL), 500];
        let is_enough = waited.iter().zip(least).all(|(&cycles, least)| cycles >= least);
        assert!(copies > 50 && is_enough, "{copies}: {waited:?}");
    }
}

/// Keeps what is told of packets.
#[derive(Default)]
struct Journeys {
    departures: BTreeMap<(PacketName, u32, PortId), Departure>,
    passages: BTreeMap<(PacketName, u32, PortId), Passage>,
    deliveries: Vec<Delivery>,
}

impl LinkObserver for Journeys {
    fn departed(&mut self, it: &Departure) {
        assert_eq!(self.departures.insert((it.packet, it.component, it.port), *it), None, "told once");
    }
}

impl SwitchObserver for Journeys {
    fn passed(&mut self, it: &Passage) {
        assert_eq!(self.passages.insert((it.packet, it.switch, it.input), *it), None, "told once");
    }
}

impl NicObserver for Journeys {
    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }
}

impl MessageObserver for Journeys {}

impl Journeys {
    /// Cycles that the packet of `delivery` waited in the source queue, in input queues, for outputs and the store, and at
    /// links, and those in which it moved.
    fn follow(&self, fabric: &Fabric<SpSettings>, delivery: &Delivery) -> ([u64; 4], u64) {
        let packet = PacketName { source: delivery.source, injected: delivery.injected };
        let (topology, first_node) = (fabric.topology(), fabric.topology().switches());
        let departure = |component: u32, port| &self.departures[&(packet, component, port)];
        let (mut at, mut port) = topology.exit(delivery.destination);
        let mut arrives = departure(at.0, port).arrives;
        assert!(delivery.delivered >= arrives + u64::from(delivery.flits));
        let mut waits = [0; 4];
        for _ in 0..delivery.hops {
            // A worm may cross a switch on its way up and again on its way down.
            let here = (packet, at.0, PortId(0))..=(packet, at.0, PortId(63));
            let leads_there = |it: &&Passage| it.outputs.contain(port);
            let passage = self.passages.range(here).map(|it| it.1).find(leads_there).unwrap();
            let departure = departure(at.0, port);
            assert_eq!(departure.arrives, arrives);
            let Passage { arrived, ready, requested, granted, .. } = *passage;
            let order = [arrived, ready, requested, granted, departure.ready, departure.chosen];
            assert!(order.is_sorted() && departure.free <= departure.chosen, "{passage:?} {departure:?}");
            waits[1] += requested.since(ready);
            waits[2] += granted.since(requested);
            waits[3] += departure.chosen.since(departure.ready);
            arrives = arrived;
            match topology.feeder(at, passage.input).unwrap().1 {
                End::Switch(before, by) => (at, port) = (before, by),
                End::Node(node) => assert_eq!(node, delivery.source),
            }
        }
        let start = departure(first_node + delivery.source.0, PortId(0));
        assert!(start.arrives == arrives && start.ready == delivery.created && start.chosen >= start.free);
        waits[0] = start.chosen.since(start.ready);
        (waits, delivery.delivered.since(delivery.created) - waits.iter().sum::<u64>())
    }
}

fn journeys(fabric: &Fabric<SpSettings>, scripts: &[Script]) -> Journeys {
    let mut simulation = Simulation::<Sp, _, _>::new(fabric, scripts.to_vec(), 1, Journeys::default);
    assert_eq!(simulation.run_until(FOREVER, &AtomicBool::new(false)), Outcome::Idle);
    simulation.gather_observers(std::mem::take).remove(0)
}

/// In a ring without dateline packets for one node wait for each other: in input FIFOs, and through full central buffers.
#[test]
fn in_a_ring_without_dateline_packets_wait_for_each_other_and_the_ring_says_so() {
    let ring = TopologySettings::Torus { dimensions: vec![6], nodes_per_switch: 1 };
    let small = Store::Central(CentralSettings { chunks: 20, next_packet: NextPacket::Shared });
    for store in [small, INPUT] {
        let settings = SpSettings { fifo_flits: 16, ..sp(store, 0) };
        let fabric = on(&ring, RoutingKind::DimensionOrderWithoutDateline, settings);
        let packets: Vec<_> = (0..600)
            .map(|number| {
                (number % 6, packet((number % 6 + 2) % 6, 512, u64::from(number), number.into()), None)
            })
            .collect();
        let (deliveries, deadlock) = run(&fabric, &scripts(6, &packets), 1);
        assert!(deliveries.len() < packets.len(), "it does deadlock");
        let deadlock = deadlock.expect("and that is proved");
        assert!(deadlock.ring.len() >= 6, "{deadlock:?}");
    }
}

/// Two worms for the same two outputs: each gets one of them (multidestination-worms.txt section 3, Fig. 2).
#[test]
fn in_lock_step_two_worms_wait_for_each_other_and_the_ring_says_so() {
    let worms = WormSettings { bits: 16, replication: Replication::LockStep };
    for store in [CENTRAL, INPUT] {
        let settings = SpSettings { worms, fifo_flits: 16, ..sp(store, 16) };
        let bidirectional = fabric(2, settings.clone());
        let mut found = [0; 2];
        for seed in 0..40 {
            let fabrics = [&bidirectional, &stages(StageWiring::Omega, 4, 2, settings.clone())];
            let fabric = fabrics[seed as usize % 2];
            let mut packets = random(seed, fabric, 100, 3_000);
            packets.retain(|it| it.2.is_some());
            let (deliveries, deadlock) = run(fabric, &scripts(16, &packets), 1);
            let copies: u32 = packets.iter().flat_map(|it| &it.2).map(|set| set.len()).sum();
            let is_complete = deliveries.len() as u32 == copies;
            assert_eq!(is_complete, deadlock.is_none(), "a run that does not end has a ring");
            let Some(deadlock) = deadlock else { continue };
            found[seed as usize % 2] += 1;
            assert!(deadlock.ring.len() >= 2);
            let is_held = |need| matches!(need, Need::Output { .. } | Need::Queue { .. });
            let outputs = deadlock.ring.iter().filter(|link| is_held(link.need));
            assert!(outputs.count() >= 2, "somebody holds what another needs: {deadlock:?}");
        }
        assert!(found.iter().all(|&found| found > 0), "strict wormhole replication deadlocks");
    }
}

/// A channel of 4 flits in 5 cycles between switches, and one of 1 in 3 into a node, carry just that.
#[test]
fn a_slow_channel_carries_what_its_rate_says() {
    let central = Store::Central(CentralSettings { chunks: 64, next_packet: NextPacket::Shared });
    for store in [central, Store::Input(Organisation::SplitRam)] {
        let mut fabric = fabric(2, SpSettings { fifo_flits: 200, ascent: SpAscent::Routed, ..sp(store, 0) });
        let full = zero_load(&fabric);
        let (switch, hop) = fabric.routing.path(NodeId(0), NodeId(15)).next().unwrap();
        let (exit, port) = fabric.topology().exit(NodeId(15));
        for (sender, (flits, cycles)) in [
            (End::Switch(switch, hop.port), (4, 5)),
            (End::Switch(exit, port), (1, 3)),
            (End::Node(NodeId(0)), (7, 8)),
        ] {
            fabric.rates = Rates::full();
            fabric.rates.set(sender, Rate::new(flits, cycles).unwrap());
            let packets = u64::from(fabric.chip.format.packet_flits(128));
            let time = zero_load(&fabric) - full;
            let longer = (packets - 1) * u64::from(cycles - flits) / u64::from(flits);
            // A flit waits for the first slot, and the last one may come a slot late.
            assert!((longer..longer + 2 * u64::from(cycles)).contains(&time), "{sender:?}: {time}, {longer}");
        }
    }
}

/// Latency of one packet of 128 B from the first node to the last.
fn zero_load(fabric: &Fabric<SpSettings>) -> u64 {
    let packet = Packet {
        destination: Destination::Node(NodeId(15)),
        rail: RailId(0),
        lane: 0,
        payload: 128,
        created: Cycle(100),
        flow: Flow::traffic(0),
    };
    let mut scripts = vec![Script(Vec::new()); fabric.nodes() as usize];
    scripts[0] = Script(vec![(packet, None)]);
    let (deliveries, _) = run(fabric, &scripts, 1);
    deliveries[0].delivered.since(deliveries[0].created)
}
