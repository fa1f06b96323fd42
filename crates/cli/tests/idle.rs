//! Simulated time in which nothing happens costs nothing: each of these would run for hours if it cost a stride of cycles each
//! time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_valid, json, scratch};
use serde_json::Value;

/// Rank 0 computes for so many nanoseconds between two messages to rank 1.
fn goal(name: &str, nanos: u64) -> String {
    let text = format!(
        "num_ranks 2\nrank 0 {{\na: send 3000b to 1\nb: calc {nanos}\nb requires a\nc: send 3000b to 1\n\
         c requires b\n}}\nrank 1 {{\na: recv 3000b from 0\nb: recv 3000b from 0\nb requires a\n}}\n"
    );
    scratch(name, &text).to_str().unwrap().to_owned()
}

fn completion(result: &Value) -> f64 {
    result["points"][0]["graph"]["completion_ns"].as_f64().unwrap()
}

#[test]
fn eleven_days_of_computing_end_at_once_on_every_kind_of_machine() {
    let (short, long) = (goal("idle-short.goal", 1_000_000), goal("idle-long.goal", 1_000_000_000_000_000));
    let machines: [&[&str]; 6] = [
        &["hpp-switch"],
        &["hpp-switch", "--set", "switch.credit.refresh=off"],
        &["hpp-switch", "--set", "switch.credit.refresh=100 ns", "--threads", "2"],
        &["fattree-128", "--set", "switch.credit.advert=0 flits"],
        &["sp-switch-16"],
        &["dawning5000", "--threads", "2"],
    ];
    for machine in machines {
        let run = |graph: &str| json(&[&["run"], machine, &["--graph", graph]].concat());
        let (short, long) = (run(&short), run(&long));
        assert_valid(&long);
        // Both numbers of nanoseconds are rounded to a whole number of cycles, of which floats of this size are half an eighth.
        let more = completion(&long) - completion(&short);
        assert!((more - (1e15 - 1e6)).abs() < 20.0, "{machine:?}: {more}");
        for count in ["packets", "events", "packet_hops", "flit_hops"] {
            assert_eq!(short["points"][0][count], long["points"][0][count], "{machine:?}: {count}");
        }
    }
}

#[test]
fn a_load_of_a_packet_in_seconds_is_measured_at_once() {
    let run = ["run", "hpp-switch", "--load", "0.000000001", "--warm-up", "1 s", "--duration", "1000 s"];
    let result = json(&run);
    assert_valid(&result);
    let point = &result["points"][0];
    // 16 nodes send 5 Gbit/s x 1e-9 each.
    let packets = point["packets"].as_f64().unwrap();
    assert!(packets > 1.0, "{packets}");
    let latency = point["packet_latency_ns"]["mean"].as_f64().unwrap();
    let alone = point["theory"]["zero_load_latency_ns"].as_f64().unwrap();
    assert!((latency / alone - 1.0).abs() < 0.01, "nothing is in the way: {latency} {alone}");
}
