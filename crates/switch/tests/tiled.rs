//! The tiled fabric from outside: deadlock and its absence.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Deliveries, Script, fabric, random_scripts};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::chip::{Chip, Cost, CostPart};
use flitway_fabric::link::lanes::LaneSettings;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{
    Delivery, Endpoint, Fabric, Flow, LaneChoice, NicPorts, Outgoing, Packet, Rate, ReplyLanes, Simulation,
    Up,
};
use flitway_switch::tiled::{
    AckSettings, Arbitration, BufferSettings, LaneOut, RetrySettings, Tiled, TiledBuffers, TiledPipeline,
    TiledSettings, TrainingSettings,
};
use flitway_wiring::dependency::{Dependencies, Verdict};
use flitway_wiring::routing::{RoutingKind, Selection};
use flitway_wiring::topology::TopologySettings;
use flitway_wiring::{Destination, NodeId, RailId};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// A switch of so many rows and columns whose buffers hold a packet of each virtual channel.
fn tiled((rows, columns): (u32, u32), vcs: u32, retry: Option<RetrySettings>) -> TiledSettings {
    let buffer = BufferSettings { flits: 9 * vcs, private: 9 };
    TiledSettings {
        rows,
        columns,
        vcs,
        buffers: TiledBuffers { input: buffer, row: buffer, column: buffer },
        arbiter: Arbitration::ByGrants(ArbiterKind::RoundRobin),
        selection: Selection::First,
        load_interval: 16,
        lane: LaneOut::Kept,
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
        pipeline: TiledPipeline {
            receive: 3,
            input: 1,
            row: 1,
            subswitch: 1,
            column: 1,
            output: 1,
            link: 1,
            transmit: 2,
        },
        retry,
        ack: AckSettings { packets: 2, delay: 10 },
        training: TrainingSettings {
            test: 400,
            misses: 2,
            give_up: 1_000,
            lanes: LaneSettings { lanes: 8, discarded_max: 4, rates: vec![Rate::FULL] },
        },
        format: PacketFormat {
            flit_bytes: 32,
            header_flits: 1,
            trailer_flits: 0,
            mtu_bytes: 256,
            block: None,
        },
    }
}

/// Runs until nothing is left to do, and gives the packets delivered, those that are left, and the length of a ring of those
/// that wait for each other.
fn run(fabric: &Fabric<TiledSettings>, scripts: Vec<Script>) -> (usize, u64, Option<usize>) {
    let mut simulation = Simulation::<Tiled, _, _>::new(fabric, scripts, 1, Deliveries::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    simulation.settle();
    let books = simulation.audit();
    assert!(books.holds(), "{books:?}");
    let delivered = simulation.gather_observers(|observer| observer.0.len()).into_iter().sum();
    (delivered, books.in_network, simulation.deadlock().map(|deadlock| deadlock.ring.len()))
}

/// Whether a routing is free of cyclic dependence.
fn is_free(fabric: &Fabric<TiledSettings>) -> bool {
    matches!(Dependencies::of(&fabric.routing).verdict(), Verdict::Free(_))
}

fn packet(destination: u32, tag: u64) -> Packet {
    let destination = Destination::Node(NodeId(destination));
    Packet {
        destination,
        rail: RailId(0),
        lane: 0,
        payload: 256,
        created: Cycle(0),
        flow: Flow::traffic(tag),
    }
}

/// Every node sends three hops up a ring: each packet waits for the buffers that the next ones hold.
#[test]
fn a_ring_without_dateline_deadlocks_and_with_it_does_not() {
    let ring = TopologySettings::Torus { dimensions: vec![8], nodes_per_switch: 1 };
    for shape in [(1, 3), (3, 1), (2, 2)] {
        for retry in
            [None, Some(RetrySettings { window: 4, sequence_bits: 4, timeout: 2_000, heartbeat: 400 })]
        {
            let run = |kind, vcs| {
                let fabric = fabric(&ring, kind, 5, tiled(shape, vcs, retry));
                let packets = |node: u32| (0..20).map(|tag| packet((node + 3) % 8, tag)).collect();
                let scripts = (0..8).map(|node| Script::new(packets(node))).collect();
                let (delivered, left, ring) = run(&fabric, scripts);
                assert_eq!(delivered as u64 + left, 160);
                (is_free(&fabric), left == 0, ring.is_some())
            };
            assert_eq!(run(RoutingKind::DimensionOrderWithoutDateline, 1), (false, false, true), "{shape:?}");
            assert_eq!(run(RoutingKind::DimensionOrder, 2), (true, true, false), "{shape:?}");
        }
    }
}

/// The same of both lanes that packets take, at times of their own.
#[test]
fn what_is_left_of_random_traffic_waits_for_itself() {
    let ring = TopologySettings::Torus { dimensions: vec![8], nodes_per_switch: 1 };
    for lane in [LaneOut::Kept, LaneOut::LeastLoaded] {
        let run = |kind, vcs| {
            let switch = TiledSettings {
                lane,
                ..tiled(
                    (2, 2),
                    vcs,
                    Some(RetrySettings { window: 8, sequence_bits: 4, timeout: 2_000, heartbeat: 400 }),
                )
            };
            let fabric = fabric(&ring, kind, 5, switch);
            let mut scripts = random_scripts(11, &fabric, 5, 3_000, 256);
            for (node, script) in (0..).zip(&mut scripts) {
                for packet in &mut script.packets {
                    packet.destination = Destination::Node(NodeId((node + 3) % 8));
                }
            }
            let packets: usize = scripts.iter().map(|script| script.packets.len()).sum();
            let (delivered, left, ring) = run(&fabric, scripts);
            assert_eq!(ring.is_some(), left > 0, "what is left waits for itself");
            assert!(packets > 2_000 && delivered <= packets);
            (delivered == packets, left > 0)
        };
        assert_eq!(run(RoutingKind::DimensionOrderWithoutDateline, 2), (false, true));
        assert_eq!(run(RoutingKind::DimensionOrder, 4), (true, false));
    }
}

#[test]
fn tiles_have_small_arbiters_and_a_crossbar_the_fewest_buffers() {
    // The chip of TH Express-2: 4 x 6 tiles, 4 virtual channels, flits of 32 B (P-TH-019, P-TH-106, OQ-T3).
    let chip = |rows, columns| {
        let buffer = |flits| BufferSettings { flits, private: 9 };
        let buffers = TiledBuffers { input: buffer(1_024), row: buffer(64), column: buffer(64) };
        TiledSettings { buffers, ..tiled((rows, columns), 4, None) }
    };
    let costs = chip(4, 6).costs();
    let names: Vec<&str> = costs.iter().map(|cost| cost.organisation.as_str()).collect();
    assert_eq!(names, ["tiles 4 x 6", "tiles 1 x 24", "crossbar"]);
    let of = |part: CostPart| -> Vec<u64> {
        let count = |cost: &Cost| cost.parts.iter().find(|(it, _)| *it == part).unwrap().1;
        costs.iter().map(count).collect()
    };
    assert_eq!(of(CostPart::Crosspoints), [24 * 28, 24 * 25, 24 * 24]);
    assert_eq!(of(CostPart::LargestArbiter), [6, 24, 24]);
    assert_eq!(of(CostPart::Wires), [24 * 10 * 256, 24 * 25 * 256, 24 * 24 * 256]);
    let [tiles, row, crossbar] = of(CostPart::RamBits)[..] else { panic!("three organisations") };
    // 32 KiB at an input, 2 KiB in each of 6 row and 4 column buffers; 24 and 1 in one row.
    assert_eq!(tiles, 24 * (32 + 6 * 2 + 4 * 2) * 1_024 * 8);
    assert_eq!(row, 24 * (32 + 24 * 2 + 2) * 1_024 * 8);
    assert_eq!(crossbar, 24 * 32 * 1_024 * 8);
    assert_eq!(chip(1, 8).costs().len(), 2, "one row is tiles and a buffer at each crosspoint");
}

/// A parking lot (Dally and Towles, section 15.4): all nodes of a chain send to its end, and at every switch those that have
/// come far meet the next node. By who was granted before, each switch halves what is left for those behind it; by age, all
/// packets take as long once they are in the network, and who comes far is not cut off.
#[test]
fn by_age_packets_from_far_take_as_long_as_those_from_near() {
    let chain = TopologySettings::Mesh { dimensions: vec![6], nodes_per_switch: 1 };
    let shares = |arbiter| -> (Vec<usize>, Vec<u64>) {
        let switch = TiledSettings { arbiter, ..tiled((2, 2), 1, None) };
        let fabric = fabric(&chain, RoutingKind::DimensionOrder, 5, switch);
        let packets = |node: u32| (0..if node == 0 { 0 } else { 1_000 }).map(|tag| packet(0, tag)).collect();
        let scripts = (0..6).map(|node| Script::new(packets(node))).collect();
        let mut simulation = Simulation::<Tiled, _, _>::new(&fabric, scripts, 1, Deliveries::default);
        // As long as all of them have packets.
        assert_eq!(simulation.run_until(Cycle(10_000), &AtomicBool::new(false)), Outcome::Reached);
        let delivered = simulation.gather_observers(|observer| observer.0.clone()).concat();
        let from = |node: u32| delivered.iter().filter(move |it| it.source == NodeId(node));
        let longest = |node: u32| from(node).map(|it| it.delivered.since(it.injected)).max().unwrap();
        (1..6).map(|node| (from(node).count(), longest(node))).unzip()
    };
    let most_of_least = |of: &[u64]| of.iter().max().unwrap() / of.iter().min().unwrap();
    let (halves, latencies) = shares(Arbitration::ByGrants(ArbiterKind::RoundRobin));
    assert_eq!(halves, [114, 57, 28, 14, 14]);
    assert_eq!(most_of_least(&latencies), 25, "{latencies:?}");
    let (packets, latencies) = shares(Arbitration::ByAge);
    assert!(latencies.iter().max().unwrap() - latencies.iter().min().unwrap() < 50, "{latencies:?}");
    // Who comes far has buffers at more switches, all of which are served in turn.
    assert!(packets.is_sorted() && packets[0] >= 25, "{packets:?}");
}

/// A node that leaves what comes on some virtual channels in its bounded NIC port for ever.
struct Drains {
    script: Script,
    /// By virtual channel, whether it is drained.
    vcs: [bool; 4],
}

impl Endpoint for Drains {
    const BOUNDED: bool = true;

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.script.wake(now, out)
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        if let Up::Delivery(delivery) = up
            && self.vcs[usize::from(delivery.vc)]
        {
            out.drain(delivery.ticket());
        }
        self.script.hear(now, up, out)
    }
}

/// What is delivered until cycle `end` where each node of a chain of four, two nodes to a switch, sends so many packets on
/// each virtual channel to the last node, which drains the `vcs` that are said; of `late` from cycle `start` on.
fn through_a_chain(
    buffer: BufferSettings,
    counts: [u64; 4],
    drained: [bool; 4],
    late: usize,
) -> Vec<Delivery> {
    let chain = TopologySettings::Mesh { dimensions: vec![4], nodes_per_switch: 2 };
    let buffers = TiledBuffers { input: buffer, row: buffer, column: buffer };
    let retry = Some(RetrySettings { window: 16, sequence_bits: 5, timeout: 2_000, heartbeat: 400 });
    let switch = TiledSettings { buffers, ..tiled((2, 2), 4, retry) };
    let mut fabric = fabric(&chain, RoutingKind::DimensionOrder, 5, switch);
    fabric.nic_ports = NicPorts::Bounded;
    let of_vc = |vc: usize| {
        let created = Cycle(if vc == late { START } else { 0 });
        (0..counts[vc]).map(move |tag| Packet { lane: vc as u32, created, ..packet(7, tag) })
    };
    let scripts = (0..8).map(|node| {
        let packets = if node == 7 { Vec::new() } else { (0..4).flat_map(of_vc).collect() };
        Drains { script: Script::new(packets), vcs: drained }
    });
    let scripts = scripts.collect();
    let mut simulation = Simulation::<Tiled, _, _>::new(&fabric, scripts, 1, Deliveries::default);
    simulation.run_until(Cycle(END), &AtomicBool::new(false));
    simulation.settle();
    assert!(simulation.audit().holds());
    simulation.gather_observers(|observer| observer.0.clone()).concat()
}

/// When the packets of the last virtual channel are created, long after all buffers are full of others, and the end.
const START: u64 = 20_000;
const END: u64 = 100_000;

/// DAMQ with a shared part for seven packets, and for one; SAMQ.
const ORGANISATIONS: [BufferSettings; 3] = [
    BufferSettings { flits: 99, private: 9 },
    BufferSettings { flits: 45, private: 9 },
    BufferSettings { flits: 72, private: 18 },
];

/// Cycles from a packet that goes over a link into a private part with room for one to the next one: its nine flits go, stay
/// for as long while the NIC drains them, and the acknowledgement comes back, each way through transmitter, link and receiver.
const TURN: u64 = 43;

/// All virtual channels but one are full of packets that never leave: what is sent on that one goes as if it were alone in
/// buffers that are its private part.
#[test]
fn a_virtual_channel_goes_on_where_all_others_stand() {
    for buffer in ORGANISATIONS {
        for vc in 0..4 {
            let (mut counts, mut drained) = ([100; 4], [false; 4]);
            (counts[vc], drained[vc]) = (50, true);
            let delivered = through_a_chain(buffer, counts, drained, vc);
            let (on, others): (Vec<Delivery>, Vec<Delivery>) =
                delivered.into_iter().partition(|it| usize::from(it.vc) == vc);
            assert_eq!(others.len(), 3, "one stands in the NIC port for each of the others");
            assert!(others.iter().all(|it| it.delivered.0 < START));
            assert_eq!(on.len(), 7 * 50, "{buffer:?}, virtual channel {vc}");
            let longest = on.iter().map(|it| it.delivered.since(it.created)).max();
            assert!(longest < Some(7 * 50 * TURN), "{buffer:?}, virtual channel {vc}: {longest:?}");
            let mut counts = [0; 4];
            counts[vc] = 50;
            let private = BufferSettings { flits: 4 * buffer.private, ..buffer };
            let alone = through_a_chain(private, counts, drained, vc);
            // Whose turn it is first depends on what has gone before.
            let times = |of: &[Delivery]| of.iter().map(|it| it.delivered).collect::<Vec<_>>();
            assert!(times(&on) == times(&alone), "{buffer:?}, virtual channel {vc}");
        }
    }
}

/// All others have packets all the time, which leave as fast as the last link takes them: a virtual channel gets its turns. At
/// each of its own it waits for a packet of each of the three others.
#[test]
fn a_virtual_channel_gets_its_turns_where_all_others_are_full() {
    for buffer in ORGANISATIONS {
        for vc in 0..4 {
            let mut counts = [2_000; 4];
            counts[vc] = 50;
            let delivered = through_a_chain(buffer, counts, [true; 4], vc);
            let on: Vec<&Delivery> = delivered.iter().filter(|it| usize::from(it.vc) == vc).collect();
            assert_eq!(on.len(), 7 * 50, "{buffer:?}, virtual channel {vc}");
            let longest = on.iter().map(|it| it.delivered.since(it.created)).max().unwrap();
            assert!(longest < 7 * 50 * (TURN + 3 * 9), "{buffer:?}, virtual channel {vc}: {longest}");
            let after = delivered.iter().filter(|it| it.delivered.0 > START + longest).count();
            assert!(after > 1_000, "the others have packets all the time: {after}");
        }
    }
}

/// From and to ports beyond 64; in the last three shapes rows or columns are beyond 64 too.
#[test]
fn chips_of_many_ports_deliver_what_is_sent() {
    let retry = Some(RetrySettings { window: 8, sequence_bits: 4, timeout: 2_000, heartbeat: 400 });
    for (shape, arbiter) in [
        ((16, 8), Arbitration::ByGrants(ArbiterKind::RoundRobin)),
        ((16, 32), Arbitration::ByAge),
        ((1, 100), Arbitration::ByGrants(ArbiterKind::Matrix)),
        ((100, 1), Arbitration::ByAge),
        ((2, 128), Arbitration::ByGrants(ArbiterKind::RoundRobin)),
    ] {
        let switch = TiledSettings { arbiter, ..tiled(shape, 2, retry) };
        let nodes = switch.ports();
        let fabric = fabric(&TopologySettings::Single { nodes }, RoutingKind::UpDown, 5, switch);
        // All at once to the node across, none of which meet, and later some to the last node, for which they wait.
        let across = |node: u32| Packet { lane: node, ..packet((node + nodes / 2) % nodes, 0) };
        let later = Packet { created: Cycle(100), ..packet(nodes - 1, 1) };
        let waits = |node: u32| node.is_multiple_of(7);
        let packets = |node: u32| if waits(node) { vec![across(node), later] } else { vec![across(node)] };
        let scripts = (0..nodes).map(|node| Script::new(packets(node))).collect();
        let mut simulation = Simulation::<Tiled, _, _>::new(&fabric, scripts, 1, Deliveries::default);
        assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
        simulation.settle();
        let books = simulation.audit();
        assert!(books.holds() && books.in_network == 0, "{shape:?}: {books:?}");
        let delivered = simulation.gather_observers(|observer| observer.0.clone()).concat();
        let waiting = (0..nodes).filter(|&node| waits(node)).count();
        assert_eq!(delivered.len(), nodes as usize + waiting, "{shape:?}");
        let first = delivered.iter().filter(|it| it.flow.tag == 0);
        let times: BTreeSet<u64> = first.map(|it| it.delivered.since(it.created)).collect();
        let zero_load = fabric.chip.zero_load_cycles(1, 256) + 2 * 5;
        assert_eq!(times, [zero_load].into(), "{shape:?}");
        let last =
            delivered.iter().filter(|it| it.destination == NodeId(nodes - 1)).map(|it| it.delivered.0).max();
        // Nine flits each, one after the other.
        assert!(last >= Some(100 + 9 * waiting as u64), "{shape:?}: {last:?}");
    }
}
