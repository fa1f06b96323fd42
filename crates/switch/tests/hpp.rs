//! The HPP fabric from outside: latencies in closed form, conservation, determinism.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Deliveries, Script, fabric, hpp, random_scripts};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::deadlock::{Deadlock, Need};
use flitway_fabric::observer::{
    Departure, LinkObserver, MessageObserver, NicObserver, PacketName, Passage, SwitchObserver,
};
use flitway_fabric::simulation::Counters;
use flitway_fabric::{Chip, Delivery, Fabric, Flow, Packet, Simulation};
use flitway_fabric::{LaneChoice, ReplyLanes};
use flitway_switch::hpp::{
    AdvertSettings, Gathering, Hpp, HppSettings, MulticastSettings, Pipeline, works_in_batches,
};
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::routing::{RoutingKind, Selection};
use flitway_wiring::topology::TopologySettings;
use flitway_wiring::{Destination, GroupId, Groups, NodeId, PortId, RailId};
use std::sync::atomic::AtomicBool;

const FOREVER: Cycle = Cycle(1 << 40);

fn run(fabric: &Fabric<HppSettings>, scripts: Vec<Script>, threads: u32) -> (Vec<Delivery>, Counters) {
    run_and_look(fabric, scripts, threads, &[500, 1_111, 5_000])
}

/// The same with a look at the books in the cycles `looks`.
fn run_and_look(
    fabric: &Fabric<HppSettings>,
    scripts: Vec<Script>,
    threads: u32,
    looks: &[u64],
) -> (Vec<Delivery>, Counters) {
    let packets: usize = scripts.iter().map(|script| script.packets.len()).sum();
    let mut simulation = Simulation::<Hpp, _, _>::new(fabric, scripts, threads, Deliveries::default);
    // Look at the books while packets are everywhere, and at the end.
    for until in looks.iter().map(|&look| Cycle(look)).chain([FOREVER]) {
        let outcome = simulation.run_until(until, &AtomicBool::new(false));
        assert!(simulation.audit().holds(), "{:?}", simulation.audit());
        assert!(until < FOREVER || outcome == Outcome::Idle);
    }
    simulation.settle();
    let books = simulation.audit();
    assert_eq!((books.delivered, books.in_network, books.units_held), (packets as u64, 0, 0));
    let mut deliveries: Vec<Delivery> = simulation
        .gather_observers(|observer| std::mem::take(&mut observer.0))
        .into_iter()
        .flatten()
        .collect();
    deliveries.sort_by_key(|delivery| {
        (delivery.delivered, delivery.destination, delivery.source, delivery.flow.tag)
    });
    (deliveries, Counters { wakes: 0, ..simulation.counters() })
}

/// The deliveries of a run with packets for groups, which may end with packets that wait for each other.
fn run_copies(
    fabric: &Fabric<HppSettings>,
    scripts: Vec<Script>,
) -> (Vec<Delivery>, Counters, Option<Deadlock>) {
    let mut simulation = Simulation::<Hpp, _, _>::new(fabric, scripts, 1, Deliveries::default);
    assert_eq!(simulation.run_until(FOREVER, &AtomicBool::new(false)), Outcome::Idle);
    simulation.settle();
    assert!(simulation.audit().holds(), "{:?}", simulation.audit());
    let deliveries = simulation
        .gather_observers(|observer| std::mem::take(&mut observer.0))
        .into_iter()
        .flatten()
        .collect();
    (deliveries, simulation.counters(), simulation.deadlock())
}

fn one_packet(fabric: &Fabric<HppSettings>, source: u32, destination: u32, payload: u16) -> Delivery {
    let packet = Packet {
        destination: Destination::Node(NodeId(destination)),
        rail: RailId(fabric.rails - 1),
        lane: 0,
        payload,
        created: Cycle(100),
        flow: Flow::traffic(7),
    };
    let mut scripts = vec![Script::default(); fabric.nodes() as usize];
    scripts[source as usize] = Script::new(vec![packet]);
    run(fabric, scripts, 1).0[0]
}

#[test]
fn zero_load_latency_is_the_sum_of_its_parts() {
    let with = |settings: HppSettings, rails| Fabric {
        groups: Groups::none(),
        rails,
        ..fabric(&TopologySettings::FatTree { ports: 8, levels: 3 }, RoutingKind::DModK, 13, settings)
    };
    for show_ahead in [false, true] {
        for rails in [1, 3] {
            for (destination, hops) in [(1, 1), (5, 3), (127, 5)] {
                for payload in [1, 2, 64, 255, 1024] {
                    let fabric = with(HppSettings { show_ahead, ..hpp(8) }, rails);
                    let delivery = one_packet(&fabric, 0, destination, payload);
                    let flits = 5 + u64::from(payload.div_ceil(2));
                    let per_switch = 12 - u64::from(show_ahead);
                    let latency = (1 - u64::from(show_ahead)) + 13 * (hops + 1) + per_switch * hops + flits;
                    assert_eq!(delivery.delivered, Cycle(100 + latency), "{hops} hops, {payload} B");
                    let closed = fabric.zero_load_cycles(NodeId(0), NodeId(destination), u32::from(payload));
                    assert_eq!(closed, (latency, hops as u32));
                    assert!(fabric.zero_load_cycles_max(u32::from(payload)) >= latency);
                    assert_eq!(u64::from(delivery.hops), hops);
                    assert_eq!(delivery.injected, Cycle(100 + 1 - u64::from(show_ahead)));
                }
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let settings = HppSettings { buffer_units: 16, ..hpp(8) };
    let fabric = fabric(&TopologySettings::FatTree { ports: 8, levels: 2 }, RoutingKind::DModK, 9, settings);
    let scripts = random_scripts(5, &fabric, 120, 20_000, 300);
    let one = run(&fabric, scripts.clone(), 1);
    assert!(one.0.len() > 4_000);
    for threads in [2, 3, 4] {
        assert!(one == run(&fabric, scripts.clone(), threads), "{threads} threads");
    }
}

/// A switch adds `lookup` to the way of a packet for a group, and nothing else (mechanisms.md 1.5: 13 + 2 cycles).
#[test]
fn a_multicast_takes_the_lookup_longer_in_every_switch() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
    for show_ahead in [false, true] {
        for ascent in [Ascent::Table, Ascent::Routed] {
            let mut fabric = fabric(&tree, RoutingKind::DModK, 7, HppSettings { show_ahead, ..hpp(4) });
            let members = [0, 1, 5, 15].map(NodeId).to_vec();
            let group = [GroupSettings { members: members.clone(), root: 1 }];
            fabric.groups = Groups::new(&fabric.routing, ascent, &group).unwrap();
            let packet = Packet {
                destination: Destination::Group(GroupId(0), 2),
                rail: RailId(0),
                lane: 0,
                payload: 200,
                created: Cycle(50),
                flow: Flow::traffic(1),
            };
            let mut scripts = vec![Script::default(); 16];
            scripts[0] = Script::new(vec![packet]);
            let (deliveries, counters, deadlock) = run_copies(&fabric, scripts);
            assert_eq!(deadlock, None);
            let expected: Vec<NodeId> =
                members.into_iter().filter(|node| ascent == Ascent::Routed || node.0 != 0).collect();
            let mut reached: Vec<NodeId> = deliveries.iter().map(|delivery| delivery.destination).collect();
            reached.sort_unstable();
            assert_eq!(reached, expected);
            assert_eq!(counters.packets_copied + 1, expected.len() as u64);
            for delivery in deliveries {
                // On the way to a root that was chosen there is nothing to look up.
                let (hops, lookups) = match (ascent, delivery.destination.0) {
                    (Ascent::Routed, _) => (5, 3),
                    (Ascent::Table, 1) => (1, 1),
                    (Ascent::Table, _) => (5, 5),
                };
                let settings = &fabric.chip;
                let cycles = settings.zero_load_cycles(hops, 200) + u64::from(hops + 1) * 7 + 2 * lookups;
                assert_eq!((u32::from(delivery.hops), delivery.delivered), (hops, Cycle(50 + cycles)));
                assert_eq!(delivery.group, Some(GroupId(0)));
                let copies = fabric.zero_load_copies(NodeId(0), GroupId(0), 2, 200).unwrap();
                assert!(copies.contains(&(delivery.destination, cycles)), "{copies:?}");
            }
        }
    }
}

/// Without the bulletin two packets for the same two outputs can each keep one and wait for the other.
#[test]
fn gathering_one_by_one_deadlocks_where_the_bulletin_does_not() {
    let run = |gathering: Gathering| {
        let multicast = MulticastSettings { gathering, ..MulticastSettings::published(2) };
        let settings = HppSettings { multicast, arbiter: ArbiterKind::RoundRobin, ..hpp(6) };
        let single = TopologySettings::Single { nodes: 6 };
        let mut fabric = fabric(&single, RoutingKind::UpDown, 3, settings);
        let group = |members: [u32; 3]| GroupSettings { members: members.map(NodeId).to_vec(), root: 0 };
        fabric.groups =
            Groups::new(&fabric.routing, Ascent::Table, &[group([0, 4, 5]), group([1, 4, 5])]).unwrap();
        let packet = |destination, created| Packet {
            destination,
            rail: RailId(0),
            lane: 2,
            payload: 1000,
            created: Cycle(created),
            flow: Flow::traffic(0),
        };
        let to = |group| Destination::Group(GroupId(group), 0);
        let node = |node| Destination::Node(NodeId(node));
        let mut scripts = vec![Script::default(); 6];
        // Output 4 is taken when node 1 asks, so it keeps 5 alone; when 4 comes free it is the turn of node 0.
        scripts[2] = Script::new(vec![packet(node(4), 0)]);
        scripts[1] = Script::new(vec![packet(to(1), 20)]);
        scripts[0] = Script::new(vec![packet(to(0), 60)]);
        let (_, counters, deadlock) = run_copies(&fabric, scripts);
        (counters, deadlock)
    };
    let (bulletin, deadlock) = run(Gathering::Bulletin { patience: None });
    assert_eq!(deadlock, None);
    assert_eq!((bulletin.packets_delivered, bulletin.packets_copied), (5, 2));
    let (one_by_one, deadlock) = run(Gathering::OneByOne);
    assert_eq!((one_by_one.packets_delivered, one_by_one.packets_copied), (1, 0));
    let fifos: Vec<(u32, Need)> =
        deadlock.expect("it is found").ring.iter().map(|link| (link.fifo.port.0, link.need)).collect();
    let kept = |output, by| Need::Output { output: PortId(output), by: PortId(by) };
    assert_eq!(fifos, [(0, kept(5, 1)), (1, kept(4, 0))]);
}

/// "The packet takes the candidate with the least load, times its weight: the minimal one among equals, and so if its load is
/// no more than twice that of the other." In a full mesh of three switches, with links so long that no credits come back:
/// minimally with loads 0 and 0, by way with 1 and 0, minimally with 1 and 1, 2 and 1, and so on; and minimally again when
/// all have come back.
#[test]
fn packets_go_by_way_when_the_minimal_one_has_more_than_twice_the_load() {
    let dimensions = vec![3];
    let topology = TopologySettings::HyperX { dimensions, links: vec![1], nodes_per_switch: 1 };
    for advert_flits in [0, 2] {
        let advert = AdvertSettings { flits: advert_flits, ..hpp(3).advert };
        let hops = |selection| {
            let settings = HppSettings { vcs: 2, advert, selection, ..hpp(3) };
            let mut fabric = fabric(&topology, RoutingKind::Ugal, 2_000, settings);
            fabric.routing = fabric.routing.with_selection(selection);
            let (source, node) = (NodeId(0), NodeId(1));
            let lane = (0..).find(|&lane| fabric.routing.header(source, node, lane).via() == 2).unwrap();
            let packet = |created| Packet {
                destination: Destination::Node(node),
                rail: RailId(0),
                lane,
                payload: 64,
                created: Cycle(created),
                flow: Flow::traffic(created),
            };
            let burst = (0..9).map(|number| number * 40).chain([20_000, 40_000]);
            let mut scripts = vec![Script::default(); 3];
            scripts[0] = Script::new(burst.map(packet).collect());
            let (mut deliveries, counters) = run(&fabric, scripts.clone(), 1);
            assert_eq!((deliveries.clone(), counters), run(&fabric, scripts, 3), "on any number of threads");
            deliveries.sort_by_key(|it| it.created);
            deliveries.iter().map(|it| it.hops).collect::<Vec<_>>()
        };
        assert_eq!(hops(Selection::LeastLoaded), [2, 3, 2, 2, 3, 2, 2, 3, 2, 2, 2]);
        assert_eq!(hops(Selection::First), [2; 11]);
    }
}

/// In each rail packets of a pair are delivered in the order of their creation if their lane is that of the pair, on a torus
/// with its classes too; if each names a lane they overtake each other.
#[test]
fn packets_of_a_pair_keep_their_order_by_flow() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
    let torus = TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 };
    for (topology, routing) in [(&tree, RoutingKind::DModK), (&torus, RoutingKind::DimensionOrder)] {
        let overtaking = |lanes| {
            let settings = HppSettings { lanes, vcs: 8, ..hpp(8) };
            let mut fabric = fabric(topology, routing, 7, settings);
            fabric.rails = 2;
            let scripts = random_scripts(5, &fabric, 20, 20_000, 300);
            let (mut deliveries, _) = run(&fabric, scripts, 1);
            deliveries.sort_by_key(|it| (it.source, it.destination, it.rail, it.delivered));
            let same = |a: &Delivery, b: &Delivery| {
                (a.source, a.destination, a.rail) == (b.source, b.destination, b.rail)
            };
            let pairs = deliveries.windows(2).filter(|it| same(&it[0], &it[1]));
            pairs.filter(|it| it[0].created > it[1].created).count()
        };
        assert_eq!(overtaking(LaneChoice::ByFlow), 0, "{topology:?}");
        assert!(overtaking(LaneChoice::ByPacket) > 100, "{topology:?}");
    }
}

/// Pairs of nodes are spread over the lanes.
#[test]
fn flows_are_spread_over_the_lanes() {
    for lanes in [2, 3, 4, 8] {
        let mut counts = vec![0_u32; lanes];
        for (source, destination) in (0..64).flat_map(|s| (0..64).map(move |d| (s, d))) {
            let packet = Packet {
                destination: Destination::Node(NodeId(destination)),
                rail: RailId(0),
                lane: 0,
                payload: 64,
                created: Cycle::ZERO,
                flow: Flow::traffic(0),
            };
            let [source, destination] = [source, destination].map(NodeId);
            let lane = LaneChoice::ByFlow.lane(ReplyLanes::Shared, source, destination, &packet, lanes);
            counts[lane] += 1;
        }
        let share = 64 * 64 / lanes as u32;
        assert!(counts.iter().all(|count| count.abs_diff(share) < share / 5), "{counts:?}");
    }
}

#[test]
fn every_channel_counts_the_flits_of_the_packets_that_it_carries() {
    let topology = TopologySettings::Torus { dimensions: vec![4, 3], nodes_per_switch: 2 };
    let fabric = Fabric { rails: 2, ..fabric(&topology, RoutingKind::DimensionOrder, 5, hpp(6)) };
    let fabric = Fabric { chip: HppSettings { vcs: 4, ..hpp(6) }, ..fabric };
    let scripts = random_scripts(3, &fabric, 60, 4_000, 300);
    let packets = scripts.iter().flat_map(|script| &script.packets);
    let injected: u64 = packets.map(|packet| u64::from(packet.payload).div_ceil(2) + 5).sum();
    let mut simulation = Simulation::<Hpp, _, _>::new(&fabric, scripts, 2, Deliveries::default);
    simulation.run_until(FOREVER, &AtomicBool::new(false));
    let sent = simulation.sent_flits().unwrap();
    assert_eq!(sent.len(), simulation.channels());
    let (of_switches, of_nodes) = sent.split_at(sent.len() - 2 * fabric.nodes() as usize);
    assert_eq!(of_switches.iter().sum::<u64>(), simulation.counters().flit_hops);
    assert_eq!(of_nodes.iter().sum::<u64>(), injected);
}

#[test]
fn what_observers_hear_of_a_packet_joins_up_from_creation_to_delivery() {
    let topology = TopologySettings::Torus { dimensions: vec![4, 3], nodes_per_switch: 2 };
    let settings = HppSettings { vcs: 2, buffer_units: 8, ..hpp(6) };
    let fabric = Fabric { rails: 2, ..fabric(&topology, RoutingKind::DimensionOrder, 5, settings) };
    let scripts = random_scripts(11, &fabric, 250, 20_000, 400);
    let packets: usize = scripts.iter().map(|script| script.packets.len()).sum();
    let mut simulation = Simulation::<Hpp, _, _>::new(&fabric, scripts, 1, Journeys::default);
    simulation.run_until(FOREVER, &AtomicBool::new(false));
    let Journeys { departures, passages, deliveries } = simulation.gather_observers(std::mem::take).remove(0);
    let switches = fabric.topology().switches();
    let first_node = fabric.rails * switches;
    let (mut waited, mut hops) = ([0_u64; 4], 0);
    for delivery in &deliveries {
        let packet = PacketName { source: delivery.source, injected: delivery.injected };
        let is_own = |rail| rail == delivery.rail.0;
        let mut of_packet = departures.iter().filter(|it| {
            it.packet == packet
                && is_own(if it.component < first_node { it.component / switches } else { it.port.0 })
        });
        let first = of_packet.next().unwrap();
        assert_eq!((first.component, first.ready), (first_node + delivery.source.0, delivery.created));
        let mut arrives = first.arrives;
        for passage in passages.iter().filter(|it| it.packet == packet && is_own(it.switch / switches)) {
            assert_eq!((passage.arrived, passage.ready >= passage.arrived), (arrives, true));
            assert!(passage.ready <= passage.requested && passage.requested <= passage.granted);
            let free = passage.free.unwrap().max(passage.requested);
            assert!(free <= passage.granted);
            let next = of_packet.next().unwrap();
            assert!(next.component == passage.switch && passage.outputs.contain(next.port));
            assert!(next.ready == passage.granted + 3 && next.chosen >= next.ready.max(next.free));
            for (sum, wait) in waited.iter_mut().zip([
                passage.requested.since(passage.ready),
                free.since(passage.requested),
                passage.granted.since(free),
                next.chosen.since(next.ready),
            ]) {
                *sum += wait;
            }
            (arrives, hops) = (next.arrives, hops + 1);
        }
        assert_eq!(delivery.delivered, arrives + u64::from(delivery.flits));
        assert!(of_packet.next().is_none());
    }
    assert_eq!((deliveries.len(), hops), (packets, passages.len()));
    assert!(waited.iter().all(|&cycles| cycles > 500), "every kind of wait occurs: {waited:?}");
}

/// Keeps what is told of packets.
#[derive(Default)]
struct Journeys {
    departures: Vec<Departure>,
    passages: Vec<Passage>,
    deliveries: Vec<Delivery>,
}

impl LinkObserver for Journeys {
    fn departed(&mut self, departure: &Departure) {
        self.departures.push(*departure);
    }
}

impl SwitchObserver for Journeys {
    fn passed(&mut self, passage: &Passage) {
        self.passages.push(*passage);
    }
}

impl NicObserver for Journeys {
    fn delivered(&mut self, delivery: &Delivery) {
        self.deliveries.push(*delivery);
    }
}

impl MessageObserver for Journeys {}

#[test]
fn switches_work_in_batches_where_packets_are_promised_to_be_long() {
    let topology = TopologySettings::FatTree { ports: 8, levels: 3 };
    let with = |settings: HppSettings, least| Fabric {
        payloads: least..=u32::MAX,
        ..fabric(&topology, RoutingKind::DModK, 13, settings)
    };
    let plain = HppSettings { unit_flits: 32, tx_fifo: 16, ..hpp(8) };
    // 5 flits around the payload of 2 bytes a flit: 32 flits, 16 beyond the TX FIFO.
    assert!(works_in_batches(&with(plain.clone(), 54)));
    assert!(!works_in_batches(&with(plain.clone(), 52)), "too short");
    assert!(!works_in_batches(&with(plain.clone(), 0)), "nothing is promised");
    assert!(!works_in_batches(&with(HppSettings { tx_fifo: 17, ..plain.clone() }, 54)));
    assert!(!works_in_batches(&with(HppSettings { unit_flits: 27, ..plain.clone() }, 200)), "frees too soon");
    assert!(!works_in_batches(&with(HppSettings { vcs: 5, ..plain.clone() }, 54)));
    let with_buffer = |buffer_units| with(HppSettings { buffer_units, ..plain.clone() }, 54);
    assert!(works_in_batches(&with_buffer(32_767)));
    assert!(!works_in_batches(&with_buffer(32_768)), "twice as many units are more than 16 bits");
    let advert = AdvertSettings { flits: 0, ..plain.advert };
    assert!(!works_in_batches(&with(HppSettings { advert, ..plain.clone() }, 54)), "on wires of their own");
}

/// Switches that work in batches keep times in 32 bits. Bursts, silences in which adverts are repeated, one of them longer
/// than 32 bits can count, and looks from outside in them: all of it as the other model has it.
#[test]
fn batches_go_on_however_long_a_run_is() {
    const LEAST: u32 = 54;
    let topology = TopologySettings::FatTree { ports: 4, levels: 2 };
    let with = |least, (refresh, buffer_units, transmit_buffer, receive)| {
        let plain = hpp(4);
        let advert = AdvertSettings { refresh, ..plain.advert };
        let pipeline = Pipeline { transmit_buffer, receive, ..plain.pipeline };
        let settings = HppSettings { advert, buffer_units, pipeline, ..plain };
        Fabric { payloads: least..=u32::MAX, ..fabric(&topology, RoutingKind::DModK, 13, settings) }
    };
    let variants = [(None, 20, 2, 2), (Some(900), 100, 15, 2), (Some(900), 100, 2, 2_500)];
    let bursts = [0, 3_000, 9_000, 70_000, (1 << 20) - 700, (1 << 32) - 1_500, (1 << 32) + 30_000, 21 << 31];
    let mut looks: Vec<u64> =
        bursts.iter().flat_map(|burst| (1..60).map(move |look| burst + look * 97)).collect();
    looks.sort_unstable();
    let mut scripts = vec![Script::default(); 8];
    for (seed, burst) in (0..).zip(bursts) {
        let gap = if seed % 2 == 0 { 40 } else { 300 };
        let more = random_scripts(seed, &with(LEAST, variants[0]), gap, 2_500, 700);
        for (script, more) in scripts.iter_mut().zip(more) {
            script.packets.extend(more.packets.into_iter().map(|packet| Packet {
                created: packet.created + burst,
                payload: packet.payload.max(LEAST as u16),
                ..packet
            }));
        }
    }
    let scripts: Vec<Script> = scripts.into_iter().map(|script| Script::new(script.packets)).collect();
    for variant in variants {
        let (batches, other) = (with(LEAST, variant), with(0, variant));
        assert!(works_in_batches(&batches) && !works_in_batches(&other));
        let expected = run_and_look(&other, scripts.clone(), 1, &looks);
        assert!(expected.1.packets_delivered > 2_000, "{:?}", expected.1);
        for threads in [1, 2] {
            let found = run_and_look(&batches, scripts.clone(), threads, &looks);
            assert!(found.0 == expected.0, "{variant:?}, {threads} threads: other deliveries");
            assert_eq!(found.1, expected.1, "{variant:?}, {threads} threads");
        }
    }
}

/// What is due long after it is known: packets on long links, and nodes that are silent for long.
#[test]
fn batches_reach_over_links_of_any_length() {
    const LEAST: u32 = 54;
    let topology = TopologySettings::FatTree { ports: 4, levels: 2 };
    let with = |least, long: u32| {
        let mut fabric = Fabric {
            payloads: least..=u32::MAX,
            ..fabric(&topology, RoutingKind::DModK, 1, HppSettings { buffer_units: 40, ..hpp(4) })
        };
        fabric.latencies.iter_mut().step_by(3).for_each(|latency| *latency = long);
        fabric
    };
    for long in [150, 3_000, 200_000] {
        let (batches, other) = (with(LEAST, long), with(0, long));
        assert!(works_in_batches(&batches) && !works_in_batches(&other));
        let scripts: Vec<Script> = random_scripts(u64::from(long), &other, 900, 30_000, 700)
            .into_iter()
            .map(|script| {
                let lengthen =
                    |packet: Packet| Packet { payload: packet.payload.max(LEAST as u16), ..packet };
                Script::new(script.packets.into_iter().map(lengthen).collect())
            })
            .collect();
        let looks: Vec<u64> = (1..40).map(|look| look * 17_041).collect();
        let expected = run_and_look(&other, scripts.clone(), 1, &looks);
        assert!(expected.1.packets_delivered > 100, "{:?}", expected.1);
        for threads in [1, 3] {
            let found = run_and_look(&batches, scripts.clone(), threads, &looks);
            assert!(found.0 == expected.0, "{long} cycles, {threads} threads: other deliveries");
            assert_eq!(found.1, expected.1, "{long} cycles, {threads} threads");
        }
    }
}

/// Counts of units have 16 bits there. Two nodes send to a third one until the largest buffers are full, and for so long that
/// positions pass 2^16 more than once; nothing goes the other way, so receivers count nothing before the sender may need it.
#[test]
fn batches_fill_the_largest_buffers() {
    const LEAST: u32 = 54;
    let topology = TopologySettings::FatTree { ports: 4, levels: 2 };
    let with = |least| {
        let plain = hpp(4);
        // Small units, 40 of which are a packet.
        let settings = HppSettings { buffer_units: 32_767, unit_flits: 13, tx_fifo: 1, ..plain };
        Fabric { payloads: least..=u32::MAX, ..fabric(&topology, RoutingKind::DModK, 13, settings) }
    };
    let script = |node: u32| {
        let packet = |number: u64| Packet {
            destination: Destination::Node(NodeId(0)),
            rail: RailId(0),
            lane: 1,
            payload: 1_024,
            created: Cycle(number * 517),
            flow: Flow::traffic(number),
        };
        Script::new((0..if node == 1 || node == 7 { 3_500 } else { 0 }).map(packet).collect())
    };
    let scripts: Vec<Script> = (0..8).map(script).collect();
    let (batches, other) = (with(LEAST), with(0));
    assert!(works_in_batches(&batches) && !works_in_batches(&other));
    let looks = [300_000, 850_000, 900_000, 1_200_000];
    let expected = run_and_look(&other, scripts.clone(), 1, &looks);
    assert_eq!(expected.1.packets_delivered, 7_000);
    let waits = expected.0.iter().map(|delivery| delivery.injected.since(delivery.created)).max();
    assert!(waits > Some(100_000), "sources wait for credits: {waits:?}");
    for threads in [1, 2] {
        let found = run_and_look(&batches, scripts.clone(), threads, &looks);
        assert!(found.0 == expected.0, "{threads} threads: other deliveries");
        assert_eq!(found.1, expected.1, "{threads} threads");
    }
}

#[test]
#[should_panic(expected = "packets are as long as was promised")]
fn a_packet_shorter_than_promised_is_refused() {
    let fabric = fabric(&TopologySettings::Single { nodes: 3 }, RoutingKind::UpDown, 5, hpp(6));
    one_packet(&Fabric { payloads: 55..=u32::MAX, ..fabric }, 0, 1, 54);
}

#[test]
#[should_panic(expected = "packets are as long as was promised")]
fn a_packet_longer_than_promised_is_refused() {
    let fabric = fabric(&TopologySettings::Single { nodes: 3 }, RoutingKind::UpDown, 5, hpp(6));
    one_packet(&Fabric { payloads: 0..=53, ..fabric }, 0, 1, 54);
}
