//! The fast engine is held against the reference model on random cases.
//!
//! `FLITWAY_CASE=SEED` replays one case. `cargo xtask campaign` runs as many as there is time for.

use flitway_engine::Cycle;
use flitway_fabric::barrier::Faults;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{Flow, Packet};
use flitway_reference::campaign::{Case, Extent, campaign, compare, generate, replay};
use flitway_switch::SwitchSettings;
use flitway_switch::hpp::{AdvertSettings, Gathering, HppSettings, MulticastSettings, Pipeline};
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{End, Link, Topology, TopologySettings};
use flitway_wiring::{Destination, GroupId, NodeId, RailId};

fn hpp(case: &mut Case) -> &mut HppSettings {
    match &mut case.chip {
        SwitchSettings::Hpp(settings) => settings,
        SwitchSettings::Sp(_) => panic!("it is a case of HPP Switches"),
    }
}

fn is_hpp(case: &Case) -> bool {
    matches!(case.chip, SwitchSettings::Hpp(_))
}

/// The cases of a CI run are always the same: three in four of HPP Switches, one of SP Switches.
const CASES: u64 = 2_400;

#[test]
fn engine_and_reference_agree_on_random_cases() {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let outcome = match std::env::var("FLITWAY_CASE") {
        Ok(seed) => replay(seed.parse().expect("FLITWAY_CASE is a number")),
        Err(_) => campaign(0, Extent::Cases(CASES), workers),
    };
    match outcome {
        Ok(coverage) => {
            println!("{coverage:?}");
            let is_replay = coverage.cases == 1;
            assert!(is_replay || coverage.by_stretches > CASES / 20, "both models of the HPP Switch");
            assert!(is_replay || coverage.posting > CASES / 30, "both ways of adverts on wires of their own");
        }
        Err(finding) => panic!("{finding}"),
    }
}

/// Cases that campaigns have found: the arbiter of multicast granted twice in a cycle in which it was woken twice.
#[test]
fn engine_and_reference_agree_on_what_campaigns_have_found() {
    for seed in [1_795_331_016_000_002_453] {
        if let Err(failure) = compare(&generate(seed)) {
            panic!("seed {seed}: {failure}");
        }
    }
}

/// A packet that gathers its outputs one by one may get the last one in the cycle in which another packet is granted at an
/// output that it keeps; then both are ready for that link at once.
#[test]
fn an_output_that_is_kept_is_certain_for_nobody() {
    let single = TopologySettings::Single { nodes: 6 };
    let packet = |destination, lane, payload, created| Packet {
        destination,
        rail: RailId(0),
        lane,
        payload,
        created: Cycle(created),
        flow: Flow::traffic(created),
    };
    let node = |node| Destination::Node(NodeId(node));
    let mut case = (0..)
        .map(generate)
        .find(|case| is_hpp(case) && case.topology == single)
        .expect("single switches are common");
    hpp(&mut case).multicast =
        MulticastSettings { gathering: Gathering::OneByOne, ..MulticastSettings::published(0) };
    hpp(&mut case).vcs = 2;
    hpp(&mut case).buffer_units = 64;
    hpp(&mut case).tx_fifo = 32;
    hpp(&mut case).format = PacketFormat { flit_bytes: 1, header_flits: 4, trailer_flits: 0, mtu_bytes: 200 };
    hpp(&mut case).unit_flits = 32;
    hpp(&mut case).advert.position_bits = 16;
    hpp(&mut case).pipeline = Pipeline { receive: 2, queue: 3, route: 4, transmit_buffer: 2, transmit: 1 };
    case.rails = 1;
    case.latencies.fill(1);
    case.ascent = Ascent::Table;
    case.groups = vec![GroupSettings { members: [1, 2, 3].map(NodeId).to_vec(), root: 0 }];
    (case.barriers, case.arrivals) = (Vec::new(), vec![Vec::new(); 6]);
    case.test_nics = None;
    (case.faults, case.pauses, case.threads) = (Faults::default(), Vec::new(), 1);
    (case.limit, case.margin) = (Cycle(2_000), 50);
    for created in 1..300 {
        case.scripts = vec![Vec::new(); 6];
        case.scripts[4] = vec![packet(node(2), 0, 150, 20)];
        case.scripts[3] = vec![packet(Destination::Group(GroupId(0), 0), 0, 20, 50)];
        // After the first one of these it is the other lane's turn.
        case.scripts[5] = vec![packet(node(1), 1, 1, 0), packet(node(1), 1, 20, created)];
        if let Err(failure) = compare(&case) {
            panic!("{case}{failure}");
        }
    }
}

/// Adverts on wires of their own are posted, but those of NIC ports, over links of 45 cycles, count so late that a board does
/// not reach as far when a port reads that a packet comes: it posts them when the packet leaves.
#[test]
fn nic_ports_post_when_a_board_reaches_as_far() {
    let mut case = (0..)
        .map(generate)
        .find(|case| is_hpp(case) && matches!(case.topology, TopologySettings::Single { .. }))
        .expect("single switches are common");
    case.topology = TopologySettings::Mesh { dimensions: vec![2, 2], nodes_per_switch: 2 };
    case.routing = RoutingKind::DimensionOrder;
    hpp(&mut case).ports = 6;
    hpp(&mut case).vcs = 2;
    hpp(&mut case).show_ahead = false;
    hpp(&mut case).buffer_units = 3;
    hpp(&mut case).unit_flits = 1;
    hpp(&mut case).tx_fifo = 8;
    hpp(&mut case).format = PacketFormat { flit_bytes: 1, header_flits: 0, trailer_flits: 0, mtu_bytes: 3 };
    hpp(&mut case).pipeline = Pipeline { receive: 1, queue: 1, route: 1, transmit_buffer: 1, transmit: 1 };
    hpp(&mut case).advert = AdvertSettings { flits: 0, refresh: None, position_bits: 16 };
    hpp(&mut case).multicast = MulticastSettings::published(0);
    let topology = Topology::build(&case.topology).expect("a mesh can be built");
    let is_of_node = |link: &Link| link.ends.iter().any(|end| matches!(end, End::Node(_)));
    (case.rails, case.promises, case.threads, case.ascent) = (1, true, 1, Ascent::Table);
    (case.groups, case.barriers, case.arrivals) = (Vec::new(), Vec::new(), vec![Vec::new(); 8]);
    case.test_nics = None;
    (case.faults, case.limit, case.margin) = (Faults::default(), Cycle(6_000), 50);
    case.pauses = (1..20).map(|pause| Cycle(pause * 37)).collect();
    let packet = |node: u32, number: u64| Packet {
        destination: Destination::Node(NodeId((node + 1 + number as u32 % 7) % 8)),
        rail: RailId(0),
        lane: number as u32,
        payload: 1 + (number % 3) as u16,
        created: Cycle(number * 5),
        flow: Flow::traffic(number << 8),
    };
    case.scripts = (0..8).map(|node| (0..150).map(|number| packet(node, number)).collect()).collect();
    for (latency, threads) in [(1, 1), (45, 1), (45, 2)] {
        let of_link = |link| if is_of_node(link) { latency } else { 1 };
        case.latencies = topology.links().iter().map(of_link).collect();
        case.threads = threads;
        match compare(&case) {
            Ok(coverage) => assert_eq!(coverage.posting, 1),
            Err(failure) => panic!("{case}{failure}"),
        }
    }
}

/// Packets just long enough for stretches of 16 cycles, in a single switch that is looked at from outside in every window:
/// links do not decide ahead then, and of a packet that has stalled another one behind it may request 15 cycles later.
#[test]
fn a_look_from_outside_does_not_change_stretches() {
    let single = TopologySettings::Single { nodes: 4 };
    let packet = |to, lane, created| Packet {
        destination: Destination::Node(NodeId(to)),
        rail: RailId(0),
        lane,
        payload: 27,
        created: Cycle(created),
        flow: Flow::traffic(created),
    };
    let mut case = (0..)
        .map(generate)
        .find(|case| is_hpp(case) && matches!(case.topology, TopologySettings::Single { .. }))
        .expect("single switches are common");
    case.topology = single;
    hpp(&mut case).ports = 4;
    hpp(&mut case).vcs = 2;
    hpp(&mut case).show_ahead = true;
    hpp(&mut case).buffer_units = 64;
    hpp(&mut case).unit_flits = 32;
    hpp(&mut case).tx_fifo = 16;
    hpp(&mut case).format = PacketFormat { flit_bytes: 1, header_flits: 4, trailer_flits: 1, mtu_bytes: 64 };
    hpp(&mut case).pipeline = Pipeline { receive: 2, queue: 3, route: 4, transmit_buffer: 2, transmit: 1 };
    hpp(&mut case).advert = AdvertSettings { flits: 2, refresh: None, position_bits: 16 };
    hpp(&mut case).multicast = MulticastSettings::published(0);
    (case.rails, case.latencies, case.promises, case.threads) = (1, vec![13; 4], true, 1);
    (case.groups, case.barriers, case.arrivals) = (Vec::new(), Vec::new(), vec![Vec::new(); 4]);
    case.test_nics = None;
    (case.faults, case.limit, case.margin) = (Faults::default(), Cycle(2_000), 50);
    case.pauses = (1..500).map(Cycle).collect();
    for created in 0..64 {
        for after in 0..4 {
            // The second one waits for the link that the first one has, on the other VC; the third stands behind it.
            let second = created + after;
            case.scripts = vec![Vec::new(); 4];
            case.scripts[2] = vec![packet(1, 1, created)];
            case.scripts[0] = vec![packet(1, 0, second), packet(3, 0, second + 1)];
            match compare(&case) {
                Ok(coverage) => assert_eq!(coverage.by_stretches, 1),
                Err(failure) => panic!("first at {created}, second at {second}: {failure}"),
            }
        }
    }
}
