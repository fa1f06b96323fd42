//! Barriers on a machine: how long they take in each way, what losses cost, what saturated traffic does to them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::choice;
use flitway_fabric::BarrierId;
use flitway_fabric::barrier::{Loss, PacketKind};
use flitway_machine::Machine;
use flitway_process::synchroniser::Method;
use flitway_report::measure::Verdict;
use flitway_report::point::{BarrierPoint, Latency, Point};
use flitway_report::session::barrier::{BY, BarrierRun, BarrierSettings};
use flitway_report::session::{Patience, Session};
use flitway_wiring::PortId;
use flitway_workload::Fraction;
use flitway_workload::barrier::BarrierChoice;
use flitway_workload::multicast::members;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const PATIENT: Patience = Patience { precision: 0.05, warm_up: None, duration: None };

fn session(machine: &str, threads: u32) -> Session {
    Session::new(Machine::load(machine, &[]).unwrap(), 1, threads)
}

/// With timers that are long beside a batch.
fn slow_session(machine: &str) -> Session {
    let set = ["switch.barrier.retransmit=1ms", "switch.barrier.dun=5ms"].map(str::to_owned);
    Session::new(Machine::load(machine, &set).unwrap(), 1, 1)
}

fn settings(groups: &str, by: Method) -> BarrierSettings {
    let choice = BarrierChoice { members: members::parse(groups).unwrap(), interval: 1_000, imbalance: 0 };
    BarrierSettings { choice, by, has_overheads: false, losses: Vec::new() }
}

fn point(session: &Session, settings: &BarrierSettings) -> (BarrierRun, Point) {
    let run = session.barrier(settings).unwrap();
    let point = session.barrier_point(&run, None, PATIENT, &AtomicBool::new(false), &mut |_| {});
    (run, point)
}

fn mean(latency: &Option<Latency>) -> f64 {
    latency.as_ref().unwrap().mean
}

/// Nothing but the members themselves is in the way: the closed form, in which packets wait for each other where many meet
/// alone, is near. The combines of 16 nodes of one switch take a turn each at its engine, and the one before the last has
/// its ACK in front of the distribute: up to 19 cycles more.
#[test]
fn every_way_takes_about_as_long_as_its_closed_form_says() {
    for (machine, groups) in [("hpp-switch", "all"), ("fattree-128", "nodes(0-2+17+44+120-127)")] {
        let session = session(machine, 1);
        for (name, by, _) in BY.into_iter().filter(|it| it.1 != Method::Conditional) {
            let (run, point) = point(&session, &settings(groups, by));
            let barrier = point.barrier.unwrap();
            let theory = barrier.zero_load_latency_ns;
            let ratio = mean(&barrier.latency) / theory;
            assert!((0.9..1.75).contains(&ratio), "{machine}, {name}: {ratio:.3} of {theory} ns");
            assert_eq!(point.verdict, Verdict::Steady);
            assert_eq!(barrier.packets.is_some(), run.plan().is_of_switches(), "{name}");
            assert!(mean(&barrier.release_latency) <= mean(&barrier.latency));
            if run.plan().is_of_switches() {
                let parts = mean(&barrier.combine) + mean(&barrier.distribute);
                assert!((parts - mean(&barrier.latency)).abs() < 1e-6, "{name}");
            }
        }
    }
}

/// All messages meet at one node; in one switch nothing else is between them but adverts, and those nowhere if processors are
/// slower than links.
#[test]
fn a_counter_in_one_switch_takes_what_its_closed_form_says() {
    let session = session("hpp-switch", 1);
    let measured = |has_overheads| {
        let mut settings = BarrierSettings { has_overheads, ..settings("all", Method::CentralCounter) };
        // All processors are idle when the next operation begins.
        settings.choice.interval = 20_000;
        let barrier = point(&session, &settings).1.barrier.unwrap();
        (mean(&barrier.latency), barrier.zero_load_latency_ns)
    };
    let (links, theory) = measured(false);
    assert!((1.0..1.02).contains(&(links / theory)), "{links} of {theory} ns");
    let (processors, theory) = measured(true);
    assert!((processors - theory).abs() < 0.01, "{processors} of {theory} ns");
}

#[test]
fn a_tree_to_a_node_is_longer_and_three_trips_are_longer_still() {
    let session = session("hpp-switch", 1);
    let latency = |by| {
        let (_, point) = point(&session, &settings("all", by));
        mean(&point.barrier.unwrap().latency)
    };
    let [hardware, node, trips] = [Method::Switches, Method::NodeRoot, Method::ThreeTrips].map(latency);
    assert!(1.4 * hardware < node && 1.2 * node < trips, "{hardware} {node} {trips} ns");
}

/// Tests and releases take their closed forms to the cycle; where all answer by messages, these wait at the root.
#[test]
fn elites_broadcast_what_they_test_and_release() {
    for (machine, groups, ranges) in
        [("elite4", "all", 1), ("qsnet2-64", "all", 1), ("qsnet2-64", "nodes(3-20+22-40)", 2)]
    {
        let session = session(machine, 1);
        let mut tests = settings(groups, Method::Conditional);
        tests.choice.interval = 4_000;
        let (_, measured) = point(&session, &tests);
        let barrier = measured.barrier.unwrap();
        let latency = barrier.latency.as_ref().unwrap();
        assert_eq!(
            (latency.mean, latency.max),
            (barrier.zero_load_latency_ns, latency.mean),
            "{machine} {groups}"
        );
        let tests = barrier.tests.unwrap();
        assert_eq!((tests.answered, tests.false_ones), (ranges * barrier.operations, 0));
        let (_, by_messages) = point(&session, &settings(groups, Method::ThreeTrips));
        let barrier = by_messages.barrier.unwrap();
        let ratio = mean(&barrier.latency) / barrier.zero_load_latency_ns;
        // Messages also wait for each other, and for paths that are held, on their way.
        assert!((0.9..1.4).contains(&ratio), "{machine} {groups}: {ratio} of {barrier:?}");
        assert!(barrier.tests.is_none() && barrier.packets.is_none());
    }
}

/// One process in eight comes late by up to 20 us: tests are false until it is there, and it is released soon after.
#[test]
fn who_is_late_is_tested_again_and_again() {
    let session = session("qsnet2-64", 2);
    let mut late = settings("random(members=8, groups=6)", Method::Conditional);
    (late.choice.interval, late.choice.imbalance) = (20_000, 6_667);
    let (_, point) = point(&session, &late);
    let barrier = point.barrier.unwrap();
    let tests = barrier.tests.unwrap();
    assert!(tests.false_ones > 8 * barrier.operations, "{tests:?} of {} barriers", barrier.operations);
    let latency = barrier.latency.unwrap();
    // A test under way, a back-off of 1 us, and all ranges of several groups that wait for each other.
    assert!(latency.mean > 1_000.0 && latency.mean < 8_000.0, "{latency:?}");
}

#[test]
fn an_operation_that_has_lost_a_packet_takes_as_long_as_its_timer() {
    let session = session("hpp-switch", 1);
    let lossy = |kind, port| {
        let loss = Loss { component: 0, port: PortId(port), group: BarrierId(0), kind: Some(kind), nth: 3 };
        BarrierSettings { losses: vec![loss], ..settings("all", Method::Switches) }
    };
    let at_node = |kind| {
        let at = lossy(kind, 0);
        // Component 0 is the switch; then come the nodes, with the rail for a port.
        let losses = at.losses.iter().map(|loss| Loss { component: 1 + 7, ..*loss }).collect();
        BarrierSettings { losses, ..at }
    };
    for (settings, timer) in
        [(lossy(PacketKind::Combine, 5), 10_000.0), (at_node(PacketKind::Distribute), 100_000.0)]
    {
        let barrier = point(&session, &settings).1.barrier.unwrap();
        let recovery = barrier.recovery.unwrap();
        assert_eq!((recovery.operations, barrier.packets.unwrap().lost_by_fault), (1, 1));
        assert!((timer..timer + 500.0).contains(&recovery.latency_max_ns), "{recovery:?}");
        assert!((timer - 200.0..timer + 200.0).contains(&recovery.mean_ns.unwrap()), "{recovery:?}");
    }
    // Nothing is over for many batches, while the first but one waits; then it goes on as if nothing had been.
    let mut early = lossy(PacketKind::Combine, 5);
    early.losses[0].nth = 2;
    let (_, late) = point(&slow_session("hpp-switch"), &early);
    assert_eq!((late.verdict, late.unsettled), (Verdict::Steady, None));
    assert!(late.barrier.unwrap().recovery.unwrap().latency_max_ns > 1e6);
    // A combine-ACK that is lost costs nothing: the distribute comes before the timer expires.
    let barrier = point(&session, &at_node(PacketKind::CombineAck)).1.barrier.unwrap();
    assert_eq!((barrier.recovery.unwrap().operations, barrier.packets.unwrap().retransmissions), (1, 0));
    assert!(barrier.recovery.unwrap().latency_max_ns < 200.0);
}

fn beside_saturated_traffic(threads: u32) -> BarrierPoint {
    let session = session("hpp-switch", threads);
    let choice = choice("uniform", "256B", "bernoulli");
    let traffic = Arc::new(session.traffic(&choice, Fraction::ONE).unwrap());
    let run = session.barrier(&settings("random(members=9, groups=4)", Method::NodeRoot)).unwrap();
    let stop = AtomicBool::new(false);
    let point = session.barrier_point(&run, Some((&traffic, 1.0)), PATIENT, &stop, &mut |_| {});
    assert_eq!(point.verdict, Verdict::Saturated);
    assert!(point.accepted_load > 0.6);
    point.barrier.unwrap()
}

#[test]
fn the_latency_of_a_barrier_is_known_in_a_saturated_network() {
    let barrier = beside_saturated_traffic(1);
    let latency = barrier.latency.clone().unwrap();
    assert!(latency.ci95.unwrap() < 0.05 * latency.mean);
    // A packet of 138 flits can be in the way on each of the two passes and links, and seldom is more.
    assert!((1.5..20.0).contains(&(latency.mean / barrier.zero_load_latency_ns)), "{latency:?}");
    assert_eq!(barrier, beside_saturated_traffic(2));
}

#[test]
fn all_that_happens_at_barriers_is_in_the_result() {
    // Of several switches, so that there is a root and others.
    let session = session("fattree-128", 1);
    let loss = Loss { component: 0, port: PortId(2), group: BarrierId(0), kind: None, nth: 3 };
    let settings = BarrierSettings { losses: vec![loss], ..settings("nodes(0-9)", Method::Switches) };
    let json = point(&session, &settings).1.to_json();
    let tested = point(&self::session("elite4", 1), &self::settings("all", Method::Conditional)).1.to_json();
    for (path, _) in BarrierPoint::FIELDS {
        let json = if path.contains("tests") { &tested } else { &json };
        let value = path.split('.').fold(json, |value, key| &value[key]);
        assert!(value.is_number(), "{path} in {json:#}");
    }
}
