//! Every number of a point, from a measurement in which each is known by hand and none is another.

use super::{BarrierPoint, ClosedForms, MulticastPoint, Point, Scale};
use crate::latencies::{Latencies, latencies, record};
use crate::measure::{Measurement, Verdict};
use crate::recorder::Batch;
use crate::stats::Estimate;
use crate::tally::Tally;
use flitway_engine::Clock;
use flitway_fabric::simulation::{BarrierCounters, Conservation, Counters, LinkCounters};
use flitway_wiring::topology::{Topology, TopologySettings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

/// A cycle is a nanosecond.
fn scale() -> Scale<'static> {
    static RAIL: LazyLock<Topology> =
        LazyLock::new(|| Topology::build(&TopologySettings::Single { nodes: 4 }).unwrap());
    Scale { clock: Clock::new(1_000_000_000).unwrap(), topology: &RAIL, rails: 2, flit_bytes: 4 }
}

/// A thousand latencies, from `base` + 1 to `base` + 1000.
fn spread(base: u64) -> Latencies {
    let mut all = latencies();
    (1..=1_000).for_each(|more| record(&mut all, base + more, 1));
    all
}

fn tally(base: u64) -> Tally {
    let mut tally = Tally::default();
    (1..=1_000).for_each(|more| tally.record(base + more));
    tally
}

/// What such latencies come to, under `path`.
fn of_spread(path: &str, base: u64, mean: f64, ci95: Option<f64>) -> Vec<(String, f64)> {
    let at = |more: u64| (base + more) as f64;
    let parts = [("mean", mean), ("p50", at(500)), ("p99", at(990)), ("p999", at(999)), ("max", at(1_000))];
    let interval = ci95.map(|half| ("ci95", half));
    parts.into_iter().chain(interval).map(|(key, value)| (format!("{path}.{key}"), value)).collect()
}

fn measurement() -> Measurement {
    let estimate = |mean, half_width| Estimate { mean, half_width };
    let mut total = Batch {
        created_flits: 6_400,
        packets: 1_000,
        payload: 16_000,
        hops: 3_000,
        packet_latency_max: 1_000 + 900,
        network_latency_max: 1_000 + 700,
        packet_latencies: spread(900),
        network_latencies: spread(700),
        ..Batch::default()
    };
    let operations = &mut total.operations;
    (operations.copies, operations.flits) = (4_000, 3_200);
    (operations.last, operations.mean) = (tally(300), tally(200));
    let barriers = &mut total.barriers;
    (barriers.last, barriers.mean) = (tally(110), tally(90));
    (barriers.combine, barriers.distribute) = (tally(80), tally(70));
    let stations = &mut barriers.stations;
    (stations.combine_from_first, stations.combine_from_last) = (tally(61), tally(52));
    (stations.distribute_to_last, stations.distribute_to_mean) = (tally(43), tally(34));
    (stations.stage, stations.root) = (tally(25), tally(16));
    (barriers.tests, barriers.false_tests) = (27, 26);
    for (tally, latencies) in [(&mut barriers.disturbed, [500, 700]), (&mut barriers.undisturbed, [100, 140])]
    {
        latencies.into_iter().for_each(|latency| tally.record(latency));
    }
    Measurement {
        verdict: Verdict::Steady,
        deadlock: None,
        is_out_of_memory: false,
        total,
        unsettled: None,
        has_intervals: true,
        has_accepted_interval: true,
        packet_latency: estimate(1_401.0, 41.0),
        network_latency: estimate(1_202.0, 42.0),
        accepted: estimate(6.0, 0.4),
        reply_latency: estimate(0.0, 46.0),
        round_trip: estimate(0.0, 47.0),
        last_copy_latency: estimate(0.0, 43.0),
        mean_copy_latency: estimate(0.0, 44.0),
        barrier_latency: estimate(0.0, 45.0),
        mean_release_latency: estimate(0.0, 46.0),
        accepted_of: vec![0.2, 1.0, 1.6, 0.02],
        wanted_by: vec![0.0; 4],
        sent_of: None,
        warm_up: 250,
        duration: 1_000,
        counters: counters(),
        books: Conservation::default(),
        wall: Duration::from_millis(1_500),
    }
}

fn counters() -> Counters {
    Counters {
        events: 11,
        packet_hops: 12,
        flit_hops: 13,
        adverts: 14,
        packets_missed: 15,
        link: LinkCounters {
            corrupted: 16,
            undetected: 24,
            dropped: 17,
            repeated: 18,
            nacks: 19,
            timeouts: 20,
            refused: 27,
        },
        barrier: BarrierCounters {
            sent: 21,
            lost_by_fault: 22,
            lost_by_full_queue: 23,
            retransmissions: 24,
            duns: 25,
            ..BarrierCounters::default()
        },
        ..Counters::default()
    }
}

fn expected_of_traffic() -> Vec<(String, f64)> {
    let single = [
        ("offered_load", 0.9),
        // 6 flits a cycle of 4 nodes with 2 rails; 6,400 flits and 16,000 B in 4-byte flits over 1,000 cycles.
        ("accepted_load", 0.75),
        ("accepted_load_ci95", 0.05),
        ("accepted_payload", 0.5),
        ("created_load", 0.8),
        ("packets", 1_000.0),
        ("packet_bytes", 16.0),
        ("hops_mean", 3.0),
        ("reordered", 26.0),
        ("accepted_min_node", 0.01),
        ("accepted_max_node", 0.8),
        ("starved_nodes", 1.0),
        ("duration_ns", 1_000.0),
        ("warmup_ns", 250.0),
        ("events", 11.0),
        ("packet_hops", 12.0),
        ("flit_hops", 13.0),
        ("adverts", 14.0),
        ("link_errors.corrupted", 16.0),
        ("link_errors.undetected", 24.0),
        ("link_errors.dropped", 17.0),
        ("link_errors.repeated", 18.0),
        ("link_errors.nacks", 19.0),
        ("link_errors.timeouts", 20.0),
        ("link_errors.refused", 27.0),
    ];
    let single = single.map(|(path, value)| (path.to_owned(), value)).to_vec();
    let packet = of_spread("packet_latency_ns", 900, 1_401.0, Some(41.0));
    let network = of_spread("network_latency_ns", 700, 1_202.0, Some(42.0));
    [single, packet, network].concat()
}

fn point() -> Point {
    Point { reordered: Some(26), ..Point::new(0.9, &measurement(), scale()) }
}

/// Holds every number of `object`, but for what it cost, against what is `expected`, which has each of `fields`.
fn check(object: &Value, mut expected: Vec<(String, f64)>, fields: &[&[(&str, &str)]]) {
    fn leaves(prefix: &str, value: &Value, found: &mut BTreeMap<String, f64>) {
        if let Some(object) = value.as_object() {
            for (key, value) in object {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(&path, value, found);
            }
        } else if let Some(number) = value.as_f64() {
            found.insert(prefix.to_owned(), number);
        }
    }
    let mut found = BTreeMap::new();
    leaves("", object, &mut found);
    found.retain(|path, _| !["wall_s", "peak_rss_bytes"].contains(&path.as_str()));
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, value) in &expected {
        let got = found.remove(path);
        assert!(got.is_some_and(|got| (got - value).abs() < 1e-9), "`{path}` is {got:?} and not {value}");
    }
    assert!(found.is_empty(), "numbers that no test knows: {found:?}");
    let untested =
        fields.concat().into_iter().find(|(path, _)| !expected.iter().any(|(known, _)| known == path));
    assert_eq!(untested, None, "a field that no test knows");
}

#[test]
fn every_number_of_a_load_point_is_its_own() {
    let point = point();
    let object = point.to_json();
    check(&object, expected_of_traffic(), &[Point::FIELDS]);
    assert_eq!(
        (&object["verdict"], &object["saturated"], &object["wall_s"]),
        (&"steady".into(), &false.into(), &1.5.into())
    );
}

#[test]
fn every_number_of_multicast_operations_is_its_own() {
    let closed = ClosedForms { offered_load: 0.35, last_copy_cycles: 777.0, ranges: Some(2.5) };
    let point = point().with_multicast(&closed, &measurement(), scale());
    let single = [
        ("multicast.offered_load", 0.35),
        ("multicast.accepted_load", 0.4),
        ("multicast.zero_load_last_copy_ns", 777.0),
        ("multicast.ranges", 2.5),
        ("multicast.operations", 1_000.0),
        ("multicast.copies", 4_000.0),
        ("multicast.missed", 15.0),
    ];
    let mut expected = expected_of_traffic();
    // It would count what operations create.
    expected.retain(|(path, _)| path != "created_load");
    expected.extend(single.map(|(path, value)| (path.to_owned(), value)));
    expected.extend(of_spread("multicast.last_copy_latency_ns", 300, 800.5, Some(43.0)));
    expected.extend(of_spread("multicast.mean_copy_latency_ns", 200, 700.5, Some(44.0)));
    check(&point.to_json(), expected, &[MulticastPoint::FIELDS]);
}

#[test]
fn every_number_of_barriers_is_its_own() {
    let point = point().with_barrier(true, 66, &measurement(), scale());
    let single = [
        ("barrier.operations", 1_000.0),
        ("barrier.zero_load_latency_ns", 66.0),
        ("barrier.recovery.operations", 2.0),
        // 600 in the mean, and 120 of those that have lost nothing.
        ("barrier.recovery.mean_ns", 480.0),
        ("barrier.recovery.latency_max_ns", 700.0),
        ("barrier.packets.sent", 21.0),
        ("barrier.packets.lost_by_fault", 22.0),
        ("barrier.packets.lost_by_full_queue", 23.0),
        ("barrier.packets.retransmissions", 24.0),
        ("barrier.packets.duns", 25.0),
        ("barrier.tests.answered", 27.0),
        ("barrier.tests.false", 26.0),
    ];
    let mut expected = expected_of_traffic();
    expected.extend(single.map(|(path, value)| (path.to_owned(), value)));
    for (path, base, ci95) in [
        ("latency_ns", 110, Some(45.0)),
        ("release_latency_ns", 90, Some(46.0)),
        ("combine_ns", 80, None),
        ("distribute_ns", 70, None),
        ("switch.combine_from_first_ns", 61, None),
        ("switch.combine_from_last_ns", 52, None),
        ("switch.distribute_to_last_ns", 43, None),
        ("switch.distribute_to_mean_ns", 34, None),
        ("switch.stage_ns", 25, None),
        ("switch.root_ns", 16, None),
    ] {
        expected.extend(of_spread(&format!("barrier.{path}"), base, base as f64 + 500.5, ci95));
    }
    check(&point.to_json(), expected, &[BarrierPoint::FIELDS]);
}

#[test]
fn what_is_not_steady_has_no_interval_and_a_saturated_point_that_of_what_it_accepts() {
    let saturated = Measurement { verdict: Verdict::Saturated, has_intervals: false, ..measurement() };
    let object = Point::new(0.9, &saturated, scale()).to_json();
    assert_eq!((&object["saturated"], &object["verdict"]), (&true.into(), &"saturated".into()));
    assert!(object["packet_latency_ns"].get("ci95").is_none() && object["accepted_load_ci95"].is_number());
    let unknown = Measurement { has_accepted_interval: false, ..saturated };
    assert!(Point::new(0.9, &unknown, scale()).to_json().get("accepted_load_ci95").is_none());
}
