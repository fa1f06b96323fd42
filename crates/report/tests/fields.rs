//! Every number of a task graph and of a train, and what a run of synthetic traffic measures, from runs whose values are known
//! by hand.
//!
//! The machine is `hpp-switch` with adverts on wires of their own: a cycle is 3.2 ns, a flit is 2 B, a packet has 5 flits more
//! than its payload, and the flits of a packet that nothing is in the way of are delivered 13 cycles after they are sent.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::choice;
use flitway_engine::Cycle;
use flitway_machine::Machine;
use flitway_report::graph::GraphResult;
use flitway_report::measure::Verdict;
use flitway_report::session::mix::{Mix, MixResult};
use flitway_report::session::train::{TrainChoice, TrainResult};
use flitway_report::session::{Patience, Session};
use flitway_workload::Fraction;
use flitway_workload::graph::{Placement, goal};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const CYCLE: f64 = 3.2;

fn session() -> Session {
    Session::new(Machine::load("hpp-switch", &["switch.credit.advert=0 flits".to_owned()]).unwrap(), 1, 1)
}

/// Holds what `object` has at each path against its value; all of `fields` but `open` are among the paths.
fn check(object: &Value, expected: &[(&str, f64)], fields: &[(&str, &str)], open: &[&str]) {
    check_within(1e-9, object, expected);
    for (path, _) in fields.iter().filter(|(path, _)| !open.contains(path)) {
        assert!(expected.iter().any(|(known, _)| known == path), "a field that no test knows: `{path}`");
    }
}

/// Holds what `object` has at each path against its value, as a fraction of that.
fn check_within(part: f64, object: &Value, expected: &[(&str, f64)]) {
    for (path, value) in expected {
        let got = object.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_f64);
        let is_it = |got: f64| (got - value).abs() <= part * value.abs();
        assert!(got.is_some_and(is_it), "`{path}` is {got:?} and not {value}");
    }
}

#[test]
fn every_number_of_a_task_graph_is_its_own() {
    let text = "num_ranks 3\nrank 0 {\na: calc 1000\nb: send 1024b to 1\nb requires a\n}\nrank 1 {\nrecv 1024b from 0\n}\n\
                rank 2 {\ncalc 5000\n}\n";
    let graph = Arc::new(goal::read(text.as_bytes()).unwrap());
    let session = session();
    let placement = Placement::linear(graph.ranks(), &Placement::everywhere(16)).unwrap();
    let exchange = session.exchange(&graph, placement, 0).unwrap();
    let result = session.graphs(&[exchange], &AtomicBool::new(false), &mut |_| {}).remove(0);
    let object = result.to_json();
    // 1000 and 5000 ns are 313 and 1563 cycles, the overheads of 0.63 us and 0.7 us 197 and 219.
    let [calc, long, overhead, receive] = [313.0, 1_563.0, 197.0, 219.0];
    let flits = 512.0 + 5.0;
    let sent = calc + overhead;
    let received = sent + flits + 13.0 + receive;
    let share = overhead / sent;
    let expected = [
        ("packets", 1.0),
        ("graph.completion_ns", long * CYCLE),
        ("graph.messages", 1.0),
        ("graph.bytes", 1_024.0),
        ("graph.communication_share.min", 0.0),
        ("graph.communication_share.mean", (share + 1.0) / 3.0),
        ("graph.communication_share.max", 1.0),
        ("graph.ranks.0.rank", 0.0),
        ("graph.ranks.0.completion_ns", sent * CYCLE),
        ("graph.ranks.0.computing_ns", calc * CYCLE),
        ("graph.ranks.0.overhead_ns", overhead * CYCLE),
        ("graph.ranks.0.waiting_ns", 0.0),
        ("graph.ranks.0.communication_share", share),
        ("graph.ranks.0.messages_sent", 1.0),
        ("graph.ranks.0.bytes_sent", 1_024.0),
        ("graph.ranks.0.messages_received", 0.0),
        ("graph.ranks.0.bytes_received", 0.0),
        ("graph.ranks.1.rank", 1.0),
        ("graph.ranks.1.completion_ns", received * CYCLE),
        ("graph.ranks.1.computing_ns", 0.0),
        ("graph.ranks.1.overhead_ns", receive * CYCLE),
        ("graph.ranks.1.waiting_ns", (received - receive) * CYCLE),
        ("graph.ranks.1.communication_share", 1.0),
        ("graph.ranks.1.messages_sent", 0.0),
        ("graph.ranks.1.bytes_sent", 0.0),
        ("graph.ranks.1.messages_received", 1.0),
        ("graph.ranks.1.bytes_received", 1_024.0),
        ("graph.ranks.2.completion_ns", long * CYCLE),
        ("graph.ranks.2.computing_ns", long * CYCLE),
        ("graph.ranks.2.communication_share", 0.0),
        ("channel_load.injection.channels", 16.0),
        ("channel_load.injection.mean", flits / long / 16.0),
        ("channel_load.injection.max", flits / long),
        ("channel_load.ejection.mean", flits / long / 16.0),
        ("channel_load.busiest.0.load", flits / long),
        // It is created, chosen by the link of its node, granted, chosen by that of the switch, and delivered.
        ("events", 5.0),
        ("packet_hops", 1.0),
        ("flit_hops", flits),
    ];
    check(&object, &expected, GraphResult::FIELDS, &["adverts"]);
    assert_eq!(object["graph"]["completed"], true);
}

#[test]
fn every_number_of_a_train_is_its_own() {
    let choice = TrainChoice { from: 0, to: 5, count: 10, payload: 256 };
    // Without show-ahead, which a link of cycle 0 cannot have done, node and switch take a cycle more each.
    let set = ["switch.credit.advert=0 flits", "switch.show_ahead=false"].map(str::to_owned);
    let session = Session::new(Machine::load("hpp-switch", &set).unwrap(), 1, 1);
    let run = session.fit_train(choice).unwrap();
    let result = session.train(run, &AtomicBool::new(false), &mut |_| {});
    // The link carries a flit in every cycle: ten packets of 133 flits.
    let cycles = 10.0 * 133.0 + 15.0;
    let expected = [
        ("packets", 10.0),
        ("train.time_ns", cycles * CYCLE),
        ("train.packets_per_us", 10_000.0 / (cycles * CYCLE)),
        ("train.pipelined_ns", cycles * CYCLE),
        ("train.model_ns", cycles * CYCLE),
        ("events", 50.0),
        ("packet_hops", 10.0),
        ("flit_hops", 1_330.0),
    ];
    check(&result.to_json(), &expected, TrainResult::FIELDS, &["adverts"]);
}

#[test]
fn every_number_of_what_runs_beside_a_train_is_there() {
    let session = session();
    let choice = choice("tornado", "256B", "periodic");
    let traffic = Arc::new(session.traffic(&choice, Fraction::percent(20)).unwrap());
    let train = session.fit_train(TrainChoice { from: 0, to: 5, count: 100, payload: 256 }).unwrap();
    let stop = AtomicBool::new(false);
    let background = Some((&traffic, 0.2));
    let mix = Mix { exchanges: &[], train: Some(train), multicast: None, barrier: None, background };
    let object = session.mix(mix, &stop, &mut |_| {}).to_json().remove(0);
    let number = |path: &str| object.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_f64);
    for (path, _) in MixResult::FIELDS {
        assert!(number(path).is_some_and(|number| number > 0.0), "{path}: {object}");
    }
    // The train has a link that it shares, and fifteen nodes have theirs for themselves.
    let alone = session.train(train, &stop, &mut |_| {}).time_ns().unwrap();
    let time = number("train.time_ns").unwrap();
    assert!(time > alone && number("duration_ns").unwrap() >= time, "{time} and not above {alone}");
    assert!((number("accepted_load").unwrap() - 0.2).abs() < 0.02, "{object}");
}

#[test]
fn what_runs_without_conflict_is_measured_as_it_is_offered() {
    let session = session();
    let choice = choice("tornado", "256B", "periodic");
    // A packet in 266 cycles from each of 16 nodes, each to another: nothing is ever in the way.
    let traffic = Arc::new(session.traffic(&choice, Fraction::percent(50)).unwrap());
    let duration = 266 * 50 * 4;
    let patience = Patience { precision: 0.02, warm_up: Some(Cycle(2_660)), duration: Some(Cycle(duration)) };
    let point = session.point(&traffic, 0.5, patience, &AtomicBool::new(false), &mut |_| {});
    assert_eq!(point.verdict, Verdict::Steady);
    let object = point.to_json();
    let alone = (133.0 + 13.0) * CYCLE;
    let mut expected = vec![
        ("offered_load", 0.5),
        ("accepted_load", 0.5),
        ("accepted_payload", 0.5 * 128.0 / 133.0),
        ("created_load", 0.5),
        ("packets", 16.0 * duration as f64 / 266.0),
        ("packet_bytes", 256.0),
        ("hops_mean", 1.0),
        ("accepted_min_node", 0.5),
        ("accepted_max_node", 0.5),
        ("starved_nodes", 0.0),
        ("duration_ns", duration as f64 * CYCLE),
        ("channel_load.injection.mean", 0.5),
        ("channel_load.ejection.max", 0.5),
    ];
    for path in
        ["packet_latency_ns.mean", "packet_latency_ns.p50", "packet_latency_ns.p999", "packet_latency_ns.max"]
    {
        expected.push((path, alone));
    }
    // Which flits are counted at the two ends of the time is a matter of a packet.
    check_within(5e-3, &object, &expected);
    let network = object["network_latency_ns"]["max"].as_f64().unwrap();
    assert!(network < alone && network > 133.0 * CYCLE, "the source queue is not in it: {network}");
}
