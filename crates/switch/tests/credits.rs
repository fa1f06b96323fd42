//! Credits from outside: what a buffer must hold so that a link is never idle, and what happens without a dateline.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Deliveries, Script, fabric, hpp, random_scripts};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::headroom::Longest;
use flitway_fabric::{Fabric, Flow, Packet, Simulation};
use flitway_switch::hpp::{AdvertSettings, Ends, Hpp, HppSettings, works_in_batches};
use flitway_wiring::dependency::{Dependencies, Verdict};
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::TopologySettings;
use flitway_wiring::{Destination, NodeId, RailId};
use std::sync::atomic::AtomicBool;

fn packet(destination: u32, payload: u16, tag: u64) -> Packet {
    let destination = Destination::Node(NodeId(destination));
    Packet { destination, rail: RailId(0), lane: 0, payload, created: Cycle(0), flow: Flow::traffic(tag) }
}

/// Runs until nothing is left to do, and gives the delivery times, the packets that are left and the length of a ring of
/// those that wait for each other.
fn run(fabric: &Fabric<HppSettings>, scripts: Vec<Script>) -> (Vec<u64>, u64, Option<usize>) {
    let mut simulation = Simulation::<Hpp, _, _>::new(fabric, scripts, 1, Deliveries::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    simulation.settle();
    let books = simulation.audit();
    assert!(books.holds(), "{books:?}");
    let deliveries =
        simulation.gather_observers(|observer| std::mem::take(&mut observer.0)).into_iter().flatten();
    let mut times: Vec<u64> = deliveries.map(|delivery| delivery.delivered.0).collect();
    times.sort_unstable();
    let ring = simulation.deadlock().map(|deadlock| deadlock.ring.len());
    (times, books.in_network, ring)
}

/// Whether packets follow each other without a gap on a link of `latency` between `ends`, all other links being short.
fn is_busy(settings: &HppSettings, ends: Ends, latency: u32, payload: u16) -> bool {
    let pair = TopologySettings::Mesh { dimensions: vec![2], nodes_per_switch: 1 };
    let mut fabric = fabric(&pair, RoutingKind::DimensionOrder, 1, settings.clone());
    // Node 0 - switch 0, node 1 - switch 1, and the link between.
    let link = match ends {
        Ends::IntoSwitch => 0,
        Ends::IntoNode => 1,
        Ends::Switches => 2,
    };
    fabric.latencies[link] = latency;
    // Long enough to fill the buffer several times: the gaps of a stop and go repeat with every round trip.
    let count = 100 + 4 * settings.buffer_units as usize;
    let packets = (0..count as u64).map(|tag| packet(1, payload, tag)).collect();
    let (times, left, _) = run(&fabric, vec![Script::new(packets), Script::default()]);
    assert_eq!((times.len(), left), (count, 0));
    let flits = u64::from(settings.format.packet_flits(payload.into()));
    times[count - 1] - times[count / 2] == (count - 1 - count / 2) as u64 * flits
}

#[test]
fn the_units_needed_are_those_that_keep_a_link_busy() {
    let plain = HppSettings { vcs: 1, ..hpp(4) };
    let sideband = AdvertSettings { flits: 0, ..plain.advert };
    let kinds = [
        plain.clone(),
        HppSettings { show_ahead: false, ..plain.clone() },
        HppSettings { advert: sideband, ..plain.clone() },
    ];
    let mut bounded = 0;
    for settings in &kinds {
        for ends in [Ends::Switches, Ends::IntoSwitch, Ends::IntoNode] {
            for latency in [150, 700, 1_562] {
                for payload in [1, 64, 200, 1_024] {
                    let needed = settings.headroom_between(ends, latency, payload.into()).units_needed;
                    let is_busy = |buffer_units| {
                        is_busy(&HppSettings { buffer_units, ..settings.clone() }, ends, latency, payload)
                    };
                    let case = format!("{ends:?}, {latency} cycles, {payload} B, {needed} units");
                    assert!(is_busy(needed), "{case}");
                    assert!(!is_busy(needed - 1), "one unit less: {case}");
                    bounded += 1;
                }
            }
        }
    }
    assert_eq!(bounded, 108);
}

#[test]
fn the_longest_round_trip_is_that_of_the_longest_link() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 2 };
    let mut fabric = fabric(&tree, RoutingKind::DModK, 10, hpp(4));
    let settings = &fabric.chip;
    let longest =
        |latencies: &[u32]| settings.headroom_of(Longest::of(fabric.routing.topology(), latencies), 1_024);
    assert_eq!(longest(&fabric.latencies), settings.headroom_between(Ends::Switches, 10, 1_024));
    fabric.latencies[3] = 500;
    let into_switch = settings.headroom_between(Ends::IntoSwitch, 500, 1_024);
    assert_eq!(longest(&fabric.latencies), into_switch);
    // 0 to the wire with show-ahead, 500, 9 to the crossbar, 35 flits more; then 1, 0 with show-ahead, 1 more, 500, 2.
    assert_eq!(into_switch.round_trip, 500 + 9 + 35 + 1 + 1 + 500 + 2);
    assert_eq!(into_switch.units, 64);
}

/// Every node sends two hops up a ring whose buffers hold a packet each: after the first hop each packet waits for the
/// buffer that the next one holds.
#[test]
fn a_torus_without_dateline_deadlocks_and_with_it_does_not() {
    for switches in [5, 8] {
        let ring = TopologySettings::Torus { dimensions: vec![switches], nodes_per_switch: 1 };
        let run = |kind, vcs| {
            let fabric = fabric(&ring, kind, 5, HppSettings { vcs, buffer_units: 16, ..hpp(3) });
            let to = |node| (node + 2) % switches;
            let scripts = (0..switches)
                .map(|node| Script::new((0..10).map(|tag| packet(to(node), 1_024, tag)).collect()))
                .collect();
            let is_free = matches!(Dependencies::of(&fabric.routing).verdict(), Verdict::Free(_));
            let (times, left, ring) = run(&fabric, scripts);
            (is_free, times.len() as u32, left > 0, ring)
        };
        let (delivered_none, delivered_all) = (0, 10 * switches);
        assert_eq!(
            run(RoutingKind::DimensionOrderWithoutDateline, 1),
            (false, delivered_none, true, Some(switches as usize))
        );
        assert_eq!(run(RoutingKind::DimensionOrder, 2), (true, delivered_all, false, None));
    }
}

#[test]
fn a_torus_with_dateline_delivers_what_a_torus_without_does_not() {
    let torus = TopologySettings::Torus { dimensions: vec![6, 5], nodes_per_switch: 1 };
    let run = |kind, vcs| {
        let fabric = fabric(&torus, kind, 5, HppSettings { vcs, buffer_units: 16, ..hpp(5) });
        // More than the torus carries, until sources stop.
        let scripts = random_scripts(11, &fabric, 50, 5_000, 1_024);
        let packets: usize = scripts.iter().map(|script| script.packets.len()).sum();
        let (times, left, ring) = run(&fabric, scripts);
        assert_eq!(ring.is_some(), left > 0, "what is left waits for itself");
        assert!(packets > 2_000 && times.len() <= packets);
        (times.len() == packets, left > 0)
    };
    assert_eq!(run(RoutingKind::DimensionOrderWithoutDateline, 1), (false, true));
    assert_eq!(run(RoutingKind::DimensionOrder, 2), (true, false));
}

/// A ring is found in the same cycle, and is the same, whichever model of the switch runs.
#[test]
fn a_ring_is_told_by_switches_that_work_in_batches_as_by_others() {
    const LEAST: u16 = 54;
    let ring = TopologySettings::Torus { dimensions: vec![8], nodes_per_switch: 1 };
    for (seed, latency) in [(6, 5), (7, 40), (8, 1)] {
        let settings = HppSettings { vcs: 1, buffer_units: 40, ..hpp(3) };
        let plain = fabric(&ring, RoutingKind::DimensionOrderWithoutDateline, latency, settings);
        let mut scripts = random_scripts(seed, &plain, 100, 9_000, 300);
        for (node, script) in (0..).zip(&mut scripts) {
            for packet in &mut script.packets {
                packet.destination = Destination::Node(NodeId((node + 2) % 8));
                packet.payload += LEAST;
            }
        }
        let mut runs = [LEAST, 0].map(|least| {
            let fabric = Fabric { payloads: least.into()..=u32::MAX, ..plain.clone() };
            assert_eq!(works_in_batches(&fabric), least > 0);
            Simulation::<Hpp, _, _>::new(&fabric, scripts.clone(), 1, Deliveries::default)
        });
        let looks = (1..2_500).map(|look| Cycle(look * 2));
        let rings = looks.map(|until| {
            let [batches, other] = runs.each_mut().map(|simulation| {
                simulation.run_until(until, &AtomicBool::new(false));
                simulation.deadlock()
            });
            assert_eq!(batches, other, "seed {seed}, in cycle {until}");
            other
        });
        let rings: Vec<_> = rings.collect();
        assert!(rings[0].is_none() && rings[rings.len() - 1].is_some(), "it comes to it");
    }
}
