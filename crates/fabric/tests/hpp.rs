//! The HPP fabric from outside: latencies in closed form, conservation, determinism.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Deliveries, Script, fabric, hpp, random_scripts};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::hpp::{Hpp, HppSettings};
use flitway_fabric::routing::RoutingKind;
use flitway_fabric::simulation::Counters;
use flitway_fabric::topology::TopologySettings;
use flitway_fabric::{Delivery, Fabric, NodeId, Packet, RailId, Simulation};
use std::sync::atomic::AtomicBool;

const FOREVER: Cycle = Cycle(1 << 40);

fn run(fabric: &Fabric, scripts: Vec<Script>, threads: u32) -> (Vec<Delivery>, Counters) {
    let packets: usize = scripts.iter().map(|script| script.packets.len()).sum();
    let mut simulation = Simulation::<Hpp, _, _>::new(fabric, scripts, threads, Deliveries::default);
    // Look at the books while packets are everywhere, and at the end.
    for until in [Cycle(500), Cycle(1_111), Cycle(5_000), FOREVER] {
        let outcome = simulation.run_until(until, &AtomicBool::new(false));
        assert!(simulation.audit().holds(), "{:?}", simulation.audit());
        assert!(until < FOREVER || outcome == Outcome::Idle);
    }
    simulation.settle();
    let books = simulation.audit();
    assert_eq!((books.delivered, books.in_network, books.units_held), (packets as u64, 0, 0));
    let mut deliveries: Vec<Delivery> =
        simulation.observers_mut().flat_map(|observer| std::mem::take(&mut observer.0)).collect();
    deliveries
        .sort_by_key(|delivery| (delivery.delivered, delivery.destination, delivery.source, delivery.tag));
    (deliveries, Counters { wakes: 0, ..simulation.counters() })
}

fn one_packet(fabric: &Fabric, source: u32, destination: u32, payload: u16) -> Delivery {
    let packet = Packet {
        destination: NodeId(destination),
        rail: RailId(fabric.rails - 1),
        lane: 0,
        payload,
        created: Cycle(100),
        tag: 7,
    };
    let mut scripts = vec![Script::default(); fabric.nodes() as usize];
    scripts[source as usize] = Script::new(vec![packet]);
    run(fabric, scripts, 1).0[0]
}

#[test]
fn zero_load_latency_is_the_sum_of_its_parts() {
    let with = |settings: HppSettings, rails| Fabric {
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
