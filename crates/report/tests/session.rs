//! From a machine to a point: verdicts, and theory beside measurement.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::choice;
use flitway_engine::{Cycle, Picos};
use flitway_machine::Machine;
use flitway_process::multicaster::RootPolicy;
use flitway_report::measure::{Unsettled, Verdict};
use flitway_report::point::Point;
use flitway_report::session::multicast::{By, MulticastSettings};
use flitway_report::session::{Patience, Session};
use flitway_report::theory::Theory;
use flitway_workload::Fraction;
use flitway_workload::multicast::{MulticastChoice, members};
use flitway_workload::traffic::size::SizeChoice;
use flitway_workload::traffic::{Traffic, arrival, size};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const PATIENT: Patience = Patience { precision: 0.02, warm_up: None, duration: None };

fn session(machine: &str, set: &[&str]) -> Session {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Session::new(Machine::load(machine, &set).unwrap(), 1, 1)
}

fn traffic(session: &Session, pattern: &str, payload: &str, percent: u64) -> Arc<Traffic> {
    let choice = choice(pattern, payload, "bernoulli");
    Arc::new(session.traffic(&choice, Fraction::percent(percent)).unwrap())
}

fn point(session: &Session, pattern: &str, percent: u64, patience: Patience) -> Point {
    let traffic = traffic(session, pattern, "256B", percent);
    session.point(&traffic, percent as f64 / 100.0, patience, &AtomicBool::new(false), &mut |_| {})
}

#[test]
fn a_lightly_loaded_network_is_steady_and_delivers_what_is_offered() {
    let session = session("hpp-switch", &[]);
    let point = point(&session, "uniform", 20, PATIENT);
    assert_eq!(point.verdict, Verdict::Steady);
    assert!((point.accepted_load - 0.2).abs() < 0.01, "{}", point.accepted_load);
    let latency = point.packet_latency.unwrap();
    assert!(latency.ci95.unwrap() <= 0.02 * latency.mean);
    assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.p999 && latency.p999 <= latency.max);
    assert!(point.network_latency.unwrap().mean <= latency.mean);
    assert!(point.accepted_min_node > 0.15 && point.accepted_max_node < 0.25);
    assert!(
        (point.hops_mean - 1.0).abs() < f64::EPSILON && (point.packet_bytes - 256.0).abs() < f64::EPSILON
    );
}

#[test]
fn an_overloaded_network_is_saturated_and_accepts_less_than_is_offered() {
    // One FIFO per input: no more than about 0.6 for 16 ports, whatever the size of the buffer.
    let session = session("hpp-switch", &["switch.vcs=1"]);
    for percent in [80, 100] {
        let point = point(&session, "uniform", percent, PATIENT);
        assert_eq!(point.verdict, Verdict::Saturated, "{percent} %");
        assert!((0.5..0.7).contains(&point.accepted_load), "{}", point.accepted_load);
        // Latencies grow for ever, what is accepted does not.
        assert!(point.accepted_load_ci95.unwrap() <= 0.02 * point.accepted_load);
        assert!(point.unsettled.is_none() && point.packet_latency.unwrap().ci95.is_none());
    }
}

/// Tornado traffic on a ring: its channels fill, and nodes behind a full one get ever less. It is too early to say so while
/// the network fills.
#[test]
fn a_network_that_fills_is_unsettled_and_a_full_one_may_starve_nodes() {
    let point = |nodes: u32, warm_up: u64| {
        let session = session("torus-8x8", &[&format!("topology.dimensions=[{nodes}]")]);
        let patience = Patience { warm_up: Some(Cycle(warm_up)), duration: Some(Cycle(10_000)), ..PATIENT };
        point(&session, "tornado", 90, patience)
    };
    let early = point(8, 600);
    assert_eq!((early.verdict, early.unsettled), (Verdict::Unsettled, Some(Unsettled::Filling)));
    assert!(early.packet_latency.unwrap().ci95.is_none());
    let late = point(16, 60_000);
    assert_eq!((late.verdict, late.unsettled), (Verdict::Saturated, None));
    // A node that merges gets a half of what is left at each switch: one far down gets next to nothing.
    assert!((4..16).contains(&late.starved_nodes), "{}", late.starved_nodes);
}

/// A network that is saturated looks steady for a while: source queues have had no time to grow.
#[test]
fn a_time_that_is_too_short_is_not_called_steady() {
    let verdicts = |cycles: u64, percent: u64| {
        let verdict = |seed| {
            let session = Session::new(Machine::load("hpp-switch", &[]).unwrap(), seed, 1);
            let patience =
                Patience { warm_up: Some(Cycle(cycles)), duration: Some(Cycle(cycles)), ..PATIENT };
            let point = point(&session, "uniform", percent, patience);
            assert_eq!(point.verdict == Verdict::Steady, point.unsettled.is_none());
            point.verdict
        };
        (1..=8).map(verdict).collect::<Vec<_>>()
    };
    for cycles in [1_500, 6_000] {
        assert!(!verdicts(cycles, 90).contains(&Verdict::Steady), "{cycles} cycles");
    }
    assert_eq!(verdicts(25_000, 50), [Verdict::Steady; 8]);
}

#[test]
fn a_time_that_is_asked_for_is_kept_to_a_batch() {
    let session = session("hpp-switch", &[]);
    let patience = Patience { warm_up: Some(Cycle(5_000)), duration: Some(Cycle(20_000)), ..PATIENT };
    let point = point(&session, "uniform", 50, patience);
    let (warm_up, duration) = (point.warmup_ns / 3.2, point.duration_ns / 3.2);
    assert!((5_000.0..5_250.0).contains(&warm_up), "{warm_up}");
    assert!((20_000.0..20_250.0).contains(&duration), "{duration}");
}

#[test]
fn the_closed_form_is_what_is_measured_with_next_to_no_load() {
    for machine in ["hpp-switch", "mesh-8x8", "torus-8x8", "fattree-128"] {
        // Repeated adverts are in the way of a packet now and then; without them nothing is.
        let session = session(machine, &["switch.credit.refresh=off"]);
        let traffic = traffic(&session, "uniform", "64B", 0);
        assert!(traffic.rate().as_f64() == 0.0);
        let theory = Theory::new(session.fabric(), &traffic).unwrap();
        let choice = self::traffic(&session, "uniform", "64B", 1);
        let point = session.point(&choice, 0.01, PATIENT, &AtomicBool::new(false), &mut |_| {});
        let measured = point.packet_latency.unwrap();
        let closed = session.machine().clock.nanos(theory.zero_load_cycles);
        let excess = measured.mean / closed - 1.0;
        assert!((-0.02..0.05).contains(&excess), "{machine}: {} against {closed}", measured.mean);
    }
}

#[test]
fn no_network_accepts_more_than_its_busiest_channel() {
    for (machine, pattern) in
        [("mesh-8x8", "transpose"), ("torus-8x8", "tornado"), ("fattree-128", "hotspot")]
    {
        let session = session(machine, &[]);
        let theory = Theory::new(session.fabric(), &traffic(&session, pattern, "256B", 50)).unwrap();
        let patience = Patience { warm_up: Some(Cycle(30_000)), duration: Some(Cycle(30_000)), ..PATIENT };
        let point = point(&session, pattern, 100, patience);
        let silent = traffic(&session, pattern, "256B", 50).destinations().silent_nodes();
        let active = 1.0 - f64::from(silent) / f64::from(session.fabric().nodes());
        // Nodes whose way is free may send at full load; those behind the busiest channel may not.
        assert!(point.accepted_min_node <= theory.channel_bound * 1.01, "{machine}: {theory:?} {point:?}");
        assert!(point.accepted_load <= active, "{machine}");
        assert!(theory.channel_bound < 1.0, "{machine}: {theory:?}");
    }
}

#[test]
fn no_routing_does_better_than_the_bisection() {
    // Each half sends 32 * 32 / 63 packets across 8 links one way, or 16 with the ends joined.
    for (machine, bound) in
        [("mesh-8x8", 63.0 / 128.0), ("torus-8x8", 126.0 / 128.0), ("hpp-switch", 30.0 / 16.0)]
    {
        let session = session(machine, &[]);
        let of = |pattern| Theory::new(session.fabric(), &traffic(&session, pattern, "256B", 50)).unwrap();
        let uniform = of("uniform").bisection_bound.unwrap();
        assert!((uniform - bound).abs() < 1e-9, "{machine}: {uniform}");
        for pattern in ["uniform", "tornado", "bitcomp", "transpose", "hotspot", "neighbor"] {
            let theory = of(pattern);
            let bisection = theory.bisection_bound.unwrap();
            assert!(theory.channel_bound <= bisection * (1.0 + 1e-9), "{machine}, {pattern}: {theory:?}");
        }
    }
}

#[test]
fn one_fifo_per_input_accepts_what_theory_says_of_this_traffic() {
    // Nodes never send to themselves: two ports never wait for each other.
    for (ports, limit) in [(2, 1.0), (3, 0.75), (4, 0.6905), (8, 0.6256)] {
        let (nodes, spare) = (format!("topology.nodes={ports}"), "switch.credit.advert=0 flits");
        let session = session("hpp-switch", &[&nodes, "switch.vcs=1", spare, "switch.buffer=16 KiB"]);
        let choice = choice("uniform", "1KiB", "saturating");
        let traffic = Arc::new(session.traffic(&choice, Fraction::ONE).unwrap());
        let theory = Theory::new(session.fabric(), &traffic).unwrap().head_of_line.unwrap();
        assert!((theory - limit).abs() < 1e-4, "{ports}: {theory}");
        let cycles = |time: u64| session.machine().clock.cycles_ceil(Picos(time * 1_000_000));
        let patience =
            Patience { precision: 0.02, warm_up: Some(cycles(200)), duration: Some(cycles(2_000)) };
        let point = session.point(&traffic, 1.0, patience, &AtomicBool::new(false), &mut |_| {});
        let measured = point.accepted_load;
        assert!((measured / theory - 1.0).abs() < 0.02, "{ports}: measured {measured}, theory {theory}");
    }
}

#[test]
fn a_head_of_line_limit_is_said_only_of_what_it_is_the_limit_of() {
    let limit = |set: &[&str], pattern: &str, size: &str| {
        let session = session("hpp-switch", set);
        Theory::new(session.fabric(), &traffic(&session, pattern, size, 50)).unwrap().head_of_line
    };
    let one = ["switch.vcs=1"];
    assert!((limit(&one, "uniform", "256B").unwrap() - 0.603).abs() < 1e-3);
    // 18 ports lie between 16 and 20.
    let some = limit(&["switch.vcs=1", "topology.nodes=18", "switch.ports=18"], "uniform", "256B").unwrap();
    assert!((some - 0.6012).abs() < 2e-4, "{some}");
    assert_eq!(limit(&[], "uniform", "256B"), None);
    assert_eq!(limit(&one, "transpose", "256B"), None);
    assert_eq!(limit(&one, "uniform", "bimodal(64B, 1KiB, 20%)"), None);
}

/// Packets of an operation draw their virtual channels, and what is made first does not always leave first: theory of
/// forwarding trees counts that, and without it says a third too little.
#[test]
fn theory_of_forwarding_counts_the_turns_of_virtual_channels() {
    for (vcs, by) in
        [(1, By::Binomial), (2, By::Binomial), (3, By::Binomial), (3, By::Postal), (8, By::Sequence)]
    {
        // Adverts on wires of their own are in nobody's way.
        let session = session("hpp-switch", &[&format!("switch.vcs={vcs}"), "switch.credit.advert=0 flits"]);
        let SizeChoice::Sizes(sizes) = size::parse("256B").unwrap() else { panic!("a size") };
        let choice = MulticastChoice {
            members: members::parse("broadcast").unwrap(),
            sizes,
            arrivals: arrival::parse("bernoulli").unwrap(),
        };
        let settings = MulticastSettings {
            choice,
            by,
            root: RootPolicy::Table,
            staleness: Cycle(1_000),
            has_overheads: false,
        };
        let run = session.multicast(&settings, Fraction::new(1, 5_000).unwrap()).unwrap();
        let patience =
            Patience { warm_up: Some(Cycle(10_000)), duration: Some(Cycle(300_000_000)), ..PATIENT };
        let point = session.multicast_point(&run, None, patience, &AtomicBool::new(false), &mut |_| {});
        let of = point.multicast.unwrap();
        assert!(of.operations > 200, "{}", of.operations);
        let measured = of.last_copy_latency.unwrap().mean;
        let ratio = of.zero_load_last_copy_ns / measured;
        let allowed = if vcs == 1 || by == By::Sequence { 0.005 } else { 0.05 };
        assert!(
            (ratio - 1.0).abs() < allowed,
            "{vcs} VCs, {by:?}: {} and {measured}",
            of.zero_load_last_copy_ns
        );
    }
}

/// Bit reversal in a tree of 128 nodes: by destination up to seven flows share a way, drawn for each pair
/// some collide, and drawn for each packet all ways are used alike.
#[test]
fn spraying_accepts_more_than_ecmp_and_that_more_than_ways_by_destination() {
    let accepted = |set: &[&str]| {
        let session = session("fattree-128", set);
        let patience = Patience { warm_up: Some(Cycle(20_000)), duration: Some(Cycle(20_000)), ..PATIENT };
        point(&session, "bit-reverse", 100, patience).accepted_load
    };
    let drawn = "routing.algorithm=multi-path";
    let [fixed, ecmp, spraying] =
        [accepted(&[]), accepted(&[drawn, "nic.vc=by-flow"]), accepted(&[drawn, "nic.vc=by-packet"])];
    assert!((fixed - 0.125).abs() < 0.01, "{fixed}");
    assert!((0.25..0.5).contains(&ecmp) && (0.5..0.9).contains(&spraying), "{ecmp} {spraying}");
}
