//! Synthetic traffic that is answered: round trips, requests that wait, and what both make of the load.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod common;

use common::choice;
use flitway_engine::Cycle;
use flitway_machine::Machine;
use flitway_report::channels::{Answers, Waiting};
use flitway_report::measure::Verdict;
use flitway_report::point::{Point, ReplyPoint};
use flitway_report::session::{Patience, Session};
use flitway_report::theory::Theory;
use flitway_workload::Fraction;
use flitway_workload::traffic::{Replies, Traffic, TrafficChoice};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn session(machine: &str, set: &[&str], threads: u32) -> Session {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Session::new(Machine::load(machine, &set).unwrap(), 1, threads)
}

/// Packets of 256 B that are answered with 64 B.
fn traffic(session: &Session, pattern: &str, outstanding: Option<u32>, percent: Option<u64>) -> Arc<Traffic> {
    let arrivals = if percent.is_some() { "bernoulli" } else { "saturating" };
    let replies = Some(Replies { payload: 64, outstanding });
    let choice = TrafficChoice { replies, ..choice(pattern, "256B", arrivals) };
    Arc::new(session.traffic(&choice, Fraction::percent(percent.unwrap_or(100))).unwrap())
}

fn point(session: &Session, traffic: &Arc<Traffic>, load: f64) -> Point {
    let patience = Patience { precision: 0.02, warm_up: Some(Cycle(4_000)), duration: Some(Cycle(100_000)) };
    session.point(traffic, load, patience, &AtomicBool::new(false), &mut |_| {})
}

/// Sixteen nodes, each with one request under way to another: nothing is ever in the way. A packet of 256 B has 133 flits, one
/// of 64 B has 37, and both cross in 13 cycles beyond them.
#[test]
fn a_round_trip_is_a_way_there_and_a_way_back() {
    const CYCLE: f64 = 3.2;
    let session = session("hpp-switch", &[], 1);
    let point = point(&session, &traffic(&session, "tornado", Some(1), None), 1.0);
    let reply = point.reply.as_ref().unwrap();
    let [there, back] = [133.0 + 13.0, 37.0 + 13.0];
    let near = |found: f64, cycles: f64| assert!((found - cycles * CYCLE).abs() < 0.01, "{found}, {cycles}");
    near(point.packet_latency.as_ref().unwrap().mean, there);
    near(reply.packet_latency.as_ref().unwrap().mean, back);
    near(reply.round_trip_latency.as_ref().unwrap().max, there + back);
    // As many flits in a round trip as there are in a request, and in a reply.
    assert!((point.accepted_load - 133.0 / (there + back)).abs() < 0.005, "{}", point.accepted_load);
    assert!((reply.accepted_load - 37.0 / (there + back)).abs() < 0.005, "{}", reply.accepted_load);
    let object = point.to_json();
    for (path, _) in ReplyPoint::FIELDS.iter().filter(|(path, _)| !path.ends_with("ci95")) {
        let number = object.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_f64);
        assert!(number.is_some_and(|number| number > 0.0), "{path}: {object}");
    }
}

/// Little's law: what is accepted is what is outstanding over the time that it is.
#[test]
fn a_closed_loop_accepts_what_is_outstanding_in_a_round_trip() {
    let session = session("torus-8x8", &[], 1);
    for outstanding in [1, 4, 16] {
        let point = point(&session, &traffic(&session, "uniform", Some(outstanding), None), 1.0);
        assert_ne!(point.verdict, Verdict::Saturated, "{outstanding}: nothing waits in a source queue");
        let reply = point.reply.unwrap();
        let trip = reply.round_trip_latency.unwrap().mean;
        let replies = reply.packets as f64 / 64.0 * trip / point.duration_ns;
        assert!((replies / f64::from(outstanding) - 1.0).abs() < 0.02, "{outstanding}: {replies}");
    }
}

#[test]
fn requests_beyond_those_that_may_be_outstanding_wait_and_saturate() {
    let session = session("torus-8x8", &[], 1);
    let of = |outstanding| point(&session, &traffic(&session, "uniform", outstanding, Some(50)), 0.5);
    let (free, held) = (of(None), of(Some(1)));
    assert_eq!((free.verdict, held.verdict), (Verdict::Steady, Verdict::Saturated));
    // They come into being as they would without.
    assert!((free.created_load.unwrap() - 0.5).abs() < 0.01, "{free:?}");
    assert_eq!(held.created_load, free.created_load);
    assert!(held.accepted_load < 0.4 && (free.accepted_load - 0.5).abs() < 0.01, "{held:?}");
}

/// Theory counts replies: the bound is where requests and replies fill the busiest channel together.
#[test]
fn replies_lower_the_load_at_which_channels_are_full() {
    let session = session("torus-8x8", &[], 1);
    let bound = |traffic: &Traffic| Theory::new(session.fabric(), traffic).unwrap().channel_bound;
    let answered = bound(&traffic(&session, "uniform", None, Some(50)));
    let choice = choice("uniform", "256B", "bernoulli");
    let alone = bound(&session.traffic(&choice, Fraction::percent(50)).unwrap());
    assert!((answered / alone - 133.0 / (133.0 + 37.0)).abs() < 1e-9, "{answered} {alone}");
}

/// The protocol deadlock of Dally and Towles (2004, section 14.1.5): requests that are kept until their replies have room, and
/// replies that wait behind them. What `check` says beforehand the run proves on every kind of switch.
#[test]
fn requests_and_replies_on_the_same_channels_deadlock_and_on_their_own_they_do_not() {
    let verdict = |machine: &str, set: &[&str]| {
        let all: Vec<&str> = std::iter::once("nic.model=bounded").chain(set.iter().copied()).collect();
        let session = session(machine, &all, 1);
        let traffic = traffic(&session, "uniform", Some(200), None);
        let answers = Answers::new(session.machine(), &traffic);
        let waiting = Waiting::new(session.fabric(), answers).unwrap();
        let point = point(&session, &traffic, 1.0);
        let is_stuck = point.verdict == Verdict::Deadlock;
        let ring = point.deadlock.unwrap_or_default();
        assert_eq!(is_stuck, ring.iter().any(|packet| packet.node.is_some()), "{machine}: {ring:?}");
        (answers.unwrap(), waiting.cycle().is_some(), is_stuck)
    };
    for (machine, more) in [
        ("torus-8x8", &["switch.vcs=4", "switch.buffer=1 KiB"][..]),
        (
            "th-frame",
            &["switch.buffers.input=1152B", "switch.buffers.row=1152B", "switch.buffers.column=1152B"],
        ),
        ("sp-switch-16", &[]),
    ] {
        let shared =
            [more, &["nic.reply_queue=1"], if machine == "th-frame" { &["switch.vcs=1"] } else { &[] }]
                .concat();
        assert_eq!(verdict(machine, &shared), (Answers::Shared, true, true), "{machine}");
        // As many as there can be under way to a node.
        let room = [more, &["nic.reply_queue=12600"]].concat();
        assert_eq!(verdict(machine, &room), (Answers::Fit, false, false), "{machine}");
        if machine != "sp-switch-16" {
            let own = [more, &["nic.reply_queue=1", "nic.reply_vcs=own"]].concat();
            assert_eq!(verdict(machine, &own), (Answers::Own, false, false), "{machine}");
        }
    }
}

#[test]
fn threads_change_nothing() {
    let of = |threads| {
        let session = session("torus-8x8", &[], threads);
        let Point { reply, packets, packet_latency, .. } =
            point(&session, &traffic(&session, "uniform", Some(3), Some(30)), 0.3);
        (reply, packets, packet_latency)
    };
    assert_eq!(of(1), of(4));
}
