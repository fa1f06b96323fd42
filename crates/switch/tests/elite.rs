//! The Elite4 from outside: what holding a path costs, deadlock and its absence.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Deliveries, Script, fabric, random_scripts};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::packet::{BlockFormat, PacketFormat};
use flitway_fabric::{Delivery, Fabric, Flow, Packet, Simulation};
use flitway_switch::elite::{AnswerSettings, Elite, ElitePipeline, EliteSettings};
use flitway_wiring::dependency::{Dependencies, Verdict};
use flitway_wiring::routing::{RoutingKind, Selection};
use flitway_wiring::topology::TopologySettings;
use flitway_wiring::{Destination, NodeId, RailId};
use std::sync::atomic::AtomicBool;

const HELD: Option<AnswerSettings> = Some(AnswerSettings { node: 1, switch: 7, repeats: 16, back_off: 334 });

/// The Elite4 with so many virtual channels.
fn elite(vcs: u32, answer: Option<AnswerSettings>) -> EliteSettings {
    EliteSettings {
        ports: 8,
        vcs,
        buffer_flits: 256,
        selection: Selection::First,
        answer,
        pipeline: ElitePipeline { receive: 2, route: 3, transmit: 2 },
        credit: 1,
        is_coded: false,
        format: PacketFormat {
            flit_bytes: 4,
            header_flits: 8,
            trailer_flits: 4,
            mtu_bytes: 2_048,
            block: Some(BlockFormat { bytes: 128, header_flits: 4 }),
        },
    }
}

/// Runs until nothing is left to do, and gives what was delivered, the packets that are left, and the length of a ring of
/// those that wait for each other.
fn run(fabric: &Fabric<EliteSettings>, scripts: Vec<Script>) -> (Vec<Delivery>, u64, Option<usize>) {
    let mut simulation = Simulation::<Elite, _, _>::new(fabric, scripts, 1, Deliveries::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    simulation.settle();
    let books = simulation.audit();
    assert!(books.holds(), "{books:?}");
    let delivered = simulation.gather_observers(|observer| std::mem::take(&mut observer.0));
    let delivered = delivered.into_iter().flatten().collect();
    (delivered, books.in_network, simulation.deadlock().map(|deadlock| deadlock.ring.len()))
}

fn packet(destination: u32, payload: u16, tag: u64) -> Packet {
    let destination = Destination::Node(NodeId(destination));
    Packet { destination, rail: RailId(0), lane: 0, payload, created: Cycle(0), flow: Flow::traffic(tag) }
}

/// Cycles between the deliveries of packets of so many flits that one node sends to another over a link of `latency`.
fn interval(payload: u16, latency: u32, vcs: u32, answer: Option<AnswerSettings>) -> u64 {
    let pair = TopologySettings::Single { nodes: 2 };
    let fabric = fabric(&pair, RoutingKind::UpDown, latency, elite(vcs, answer));
    let packets = (0..20).map(|tag| packet(1, payload, tag)).collect();
    let (delivered, left, _) = run(&fabric, vec![Script::new(packets), Script::default()]);
    assert_eq!((delivered.len(), left), (20, 0));
    (delivered[18].delivered.0 - delivered[10].delivered.0) / 8
}

/// A packet is on its way for `transmit + latency + 7 + latency + flits` cycles, and its answer for `1 + latency + 7 +
/// latency`.
#[test]
fn who_holds_paths_waits_for_answers_as_virtual_channels_run_out() {
    for latency in [2, 14, 67] {
        // 588 and 18 flits.
        for (payload, flits) in [(2_048, 588), (8, 18)] {
            let round_trip = flits + 2 + 7 + 1 + 7 + 4 * u64::from(latency);
            assert_eq!(interval(payload, latency, 1, HELD), round_trip);
            assert_eq!(interval(payload, latency, 2, HELD), flits.max(round_trip / 2), "{latency}");
            assert_eq!(interval(payload, latency, 1, None), flits);
        }
    }
}

/// With two flits of a thousand wrong on each link hardly a long packet comes through at once, and all do in the end.
#[test]
fn corrupt_packets_are_sent_again_until_each_has_been_delivered_once() {
    let tree = TopologySettings::KaryNTree { arity: 2, levels: 3 };
    for vcs in [1, 2] {
        let mut fabric = fabric(&tree, RoutingKind::DModK, 5, elite(vcs, HELD));
        fabric.errors.flit = u64::MAX / 1_000;
        let scripts = random_scripts(3, &fabric, 400, 20_000, 700);
        let sent: usize = scripts.iter().map(|script| script.packets.len()).sum();
        let mut simulation = Simulation::<Elite, _, _>::new(&fabric, scripts, 1, Deliveries::default);
        assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
        assert!(simulation.audit().holds());
        let link = simulation.counters().link;
        assert!(link.nacks > sent as u64 / 4 && link.nacks == link.repeated, "{link:?}");
        assert!(link.corrupted >= link.nacks && link.dropped == 0, "{link:?}");
        let delivered = simulation.gather_observers(|observer| std::mem::take(&mut observer.0));
        let mut names: Vec<_> = delivered.iter().flatten().map(|it| (it.source, it.flow.tag)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), delivered.iter().map(Vec::len).sum()), (sent, sent));
    }
}

/// Two packets on one link take turns: both take twice as long, and no longer.
#[test]
fn virtual_channels_share_a_link_flit_by_flit() {
    let star = TopologySettings::Single { nodes: 4 };
    let fabric = fabric(&star, RoutingKind::UpDown, 2, elite(2, HELD));
    let sends = || Script::new(vec![packet(3, 2_048, 0)]);
    let (delivered, _, _) = run(&fabric, vec![sends(), sends(), Script::default(), Script::default()]);
    let times: Vec<u64> = delivered.iter().map(|it| it.delivered.0).collect();
    let alone = 2 + 2 + 7 + 2 + 588;
    assert_eq!(times, [alone + 587, alone + 588]);
}

/// Every node sends three hops up a ring: each packet holds what the one before needs.
#[test]
fn a_ring_without_dateline_deadlocks_and_with_it_does_not() {
    let ring = TopologySettings::Torus { dimensions: vec![8], nodes_per_switch: 1 };
    for answer in [None, HELD] {
        for seed in [1, 2] {
            let run = |kind, vcs| {
                let fabric = fabric(&ring, kind, 5, elite(vcs, answer));
                let mut scripts = random_scripts(seed, &fabric, 400, 20_000, 2_048);
                for (node, script) in (0..).zip(&mut scripts) {
                    for packet in &mut script.packets {
                        packet.destination = Destination::Node(NodeId((node + 3) % 8));
                    }
                }
                let packets = scripts.iter().map(|script| script.packets.len()).sum::<usize>() as u64;
                let (delivered, left, ring) = run(&fabric, scripts);
                assert_eq!(delivered.len() as u64 + left, packets);
                let is_free = matches!(Dependencies::of(&fabric.routing).verdict(), Verdict::Free(_));
                (is_free, left == 0, ring.is_some())
            };
            for vcs in [1, 2] {
                let without = run(RoutingKind::DimensionOrderWithoutDateline, vcs);
                assert_eq!(without, (false, false, true), "{vcs} {answer:?}");
            }
            assert_eq!(run(RoutingKind::DimensionOrder, 2), (true, true, false));
        }
    }
}
