//! Traces, read back: well formed, bounded, and what they say is what happened.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output};

fn flitway(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flitway")).args(arguments).output().unwrap()
}

/// The trace of a run, what was said, and the result.
fn trace(name: &str, arguments: &[&str]) -> (Value, String, Value) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let files = ["--trace", path.to_str().unwrap(), "--json", "-"];
    let output = flitway(&[&["run"], arguments, &files].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let trace = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    (trace, said, serde_json::from_slice(&output.stdout).unwrap())
}

fn events<'a>(trace: &'a Value, phase: &'a str) -> impl Iterator<Item = &'a Value> {
    trace["traceEvents"].as_array().unwrap().iter().filter(move |event| event["ph"] == phase)
}

const SHORT: [&str; 6] = ["--load", "0.5", "--warm-up", "10us", "--duration", "20us"];

#[test]
fn the_slowest_packets_are_followed_from_creation_to_delivery() {
    let (trace, said, result) = trace("slowest.json", &[&["fattree-128"], &SHORT[..]].concat());
    assert!(said.contains("steps of the last point") && !said.contains("left out"), "{said}");
    assert_eq!((&trace["otherData"]["of"], &trace["otherData"]["left_out"]), (&"slowest".into(), &0.into()));
    let delivered: Vec<&Value> = events(&trace, "i").collect();
    assert_eq!(delivered.len(), 10);
    let slowest = delivered.iter().map(|event| event["args"]["packet_latency_ns"].as_f64().unwrap());
    let max = result["points"][0]["packet_latency_ns"]["max"].as_f64().unwrap();
    assert_eq!(slowest.fold(0.0, f64::max), max, "the slowest of all is among them");
    // By name: the cycles in which the first flit arrived at the other end of each link.
    let mut links: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for event in events(&trace, "X") {
        let args = &event["args"];
        let arrival = (args["arrives_cycle"].as_u64().unwrap(), args["flits"].as_u64().unwrap());
        links.entry(event["name"].as_str().unwrap()).or_default().push(arrival);
        // 3.2 ns a cycle, 1 us in the viewer.
        let micros = event["dur"].as_f64().unwrap();
        assert!((micros - arrival.1 as f64 * 3.2e-3).abs() < 1e-9, "{event}");
    }
    for event in delivered {
        let name = event["name"].as_str().unwrap().strip_suffix(" delivered").unwrap();
        let &(last, flits) = links[name].iter().max().unwrap();
        assert_eq!(
            event["args"]["delivered_cycle"].as_u64(),
            Some(last + flits),
            "the tail follows the head"
        );
        // Each switch that it waits in is entered when a link has brought it.
        let inside = events(&trace, "b").filter(|wait| wait["name"] == name && wait["cat"] == "input queue");
        let entered: Vec<u64> = inside.map(|wait| wait["args"]["arrived_cycle"].as_u64().unwrap()).collect();
        assert_eq!(entered.len() + 1, links[name].len(), "a link more than switches");
        assert!(entered.iter().all(|at| links[name].iter().any(|(arrival, _)| arrival == at)));
    }
    assert_eq!(events(&trace, "b").count(), events(&trace, "e").count());
}

#[test]
fn packets_and_worms_of_sp_switches_are_followed() {
    for machine in ["sp-switch-16", "sp-switch-16-input", "sp-omega-64"] {
        let name = format!("slowest-{machine}.json");
        let (slowest, ..) = trace(&name, &[&[machine], &SHORT[..]].concat());
        assert_eq!(events(&slowest, "i").count(), 10);
        for event in events(&slowest, "i") {
            let name = event["name"].as_str().unwrap().strip_suffix(" delivered").unwrap();
            let of_packet = events(&slowest, "X").filter(|link| link["name"] == name);
            let last = of_packet.map(|link| link["args"]["arrives_cycle"].as_u64().unwrap()).max().unwrap();
            // A packet of 256 B is 129 flits.
            assert!(event["args"]["delivered_cycle"].as_u64().unwrap() >= last + 129);
        }
    }
    let worms =
        ["sp-switch-16", "--multicast", "fresh(receivers=4)", "--warm-up", "10us", "--duration", "20us"];
    let (copies, ..) = trace("worms.json", &worms);
    assert!(events(&copies, "b").any(|wait| wait["cat"] == "input queue"));
    assert!(events(&copies, "X").count() > 10);
}

#[test]
fn nodes_and_switches_can_be_chosen_and_what_has_no_room_is_counted() {
    let nodes = [&["hpp-switch", "--trace-of", "nodes(3+5-6)"], &SHORT[..]].concat();
    let (of_nodes, ..) = trace("nodes.json", &nodes);
    let sources = |trace: &Value| {
        let name = |event: &Value| event["name"].as_str().unwrap().split(' ').nth(1).unwrap().to_owned();
        let mut sources: Vec<String> = events(trace, "X").map(name).collect();
        sources.sort();
        sources.dedup();
        sources
    };
    assert_eq!(sources(&of_nodes), ["3", "5", "6"]);
    let (of_switch, ..) =
        trace("switch.json", &[&["hpp-switch", "--trace-of", "switches(0)"], &SHORT[..]].concat());
    assert_eq!(sources(&of_switch).len(), 16);
    assert!(events(&of_switch, "X").all(|event| event["pid"] == 0), "what happens elsewhere is not in it");
    let small = ["hpp-switch", "--packet", "8B", "--load", "0.5", "--trace-of", "switches(0)"];
    let much = [&small[..], &["--duration", "400us", "--warm-up", "1us"]].concat();
    let (bounded, said, _) = trace("bounded.json", &much);
    let left_out = bounded["otherData"]["left_out"].as_u64().unwrap();
    assert!(bounded["otherData"]["steps"] == 200_000 && left_out > 0);
    assert!(said.contains(&format!("{left_out} more were left out")), "{said}");
    let copies =
        ["fattree-128", "--multicast", "random(members=5)", "--warm-up", "5us", "--duration", "20us"];
    assert!(events(&trace("copies.json", &copies).0, "X").count() > 10);
    let graph = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/halo-8.goal");
    assert!(events(&trace("graph.json", &["hpp-switch", "--graph", graph]).0, "X").count() > 10);
}

#[test]
fn what_is_not_there_cannot_be_followed() {
    for (wrong, message) in [
        (&["--trace", "x.json", "--trace-of", "nodes(16)"][..], "`16` names none of 16 nodes"),
        (&["--trace", "x.json", "--trace-of", "switches(1)"], "`1` names none of 1 switches"),
        (&["--trace", "x.json", "--trace-of", "nodes(5-3)"], "`5-3` names none"),
        (&["--trace", "x.json", "--trace-of", "packets"], "write slowest, nodes(0+4-7)"),
        (&["--trace", "-"], "a trace goes to a file"),
        (&["--trace", "x.json", "--report", "x.json"], "goes to the same file"),
        (&["--trace", env!("CARGO_TARGET_TMPDIR")], "this is a folder"),
    ] {
        let output = flitway(&[&["run", "hpp-switch"], wrong].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(message), "{said}");
    }
    assert!(!PathBuf::from("x.json").exists());
}
