//! Counters, read back: what they hold is what was sent, and intervals add up.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use serde_json::Value;
use std::path::PathBuf;

/// The table of a run, row by row, without its head; and the result.
fn counters(name: &str, arguments: &[&str]) -> (Vec<Vec<String>>, Value) {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let result = json(&[&["run"], arguments, &["--counters", path.to_str().unwrap()]].concat());
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(
        rows.next().unwrap().join(","),
        "point,until_ns,rail,component,number,port,vc,packets,flits,cycles_without_credit,refused,lost,table_misses,name"
    );
    (rows.collect(), result)
}

/// The sum of a column over the rows of a kind of component.
fn sum(rows: &[Vec<String>], kind: &str, column: usize) -> u64 {
    let of_kind = rows.iter().filter(|row| row[3] == kind);
    of_kind.map(|row| row[column].parse::<u64>().unwrap()).sum()
}

#[test]
fn one_message_is_counted_where_it_was_sent() {
    let text = "num_ranks 2\nrank 0 {\na: send 1000b to 1\n}\nrank 1 {\na: recv 1000b from 0\n}\n";
    let graph = scratch("one-message.goal", text);
    let run = ["hpp-switch", "--graph", graph.to_str().unwrap()];
    let (rows, result) = counters("one-message.csv", &run);
    // 500 flits of payload, with header and trailer.
    let [switch, node] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!(switch[2..], ["0", "switch", "0", "1", "0", "1", "505", "0", "0", "0", "0", "0"]);
    assert_eq!(node[2..], ["0", "node", "0", "0", "0", "1", "505", "0", "0", "0", "0", "0"]);
    let end = result["points"][0]["graph"]["completion_ns"].as_f64().unwrap();
    let until: f64 = switch[1].parse().unwrap();
    assert!(until > 0.0 && until <= end, "{until} of {end}");
}

#[test]
fn intervals_add_up_and_threads_change_nothing() {
    let run =
        ["fattree-128", "--load", "0.4", "--barrier", "random(members=16, groups=2)", "--interval", "2us"];
    let run = [&run[..], &["--warm-up", "5us", "--duration", "20us"]].concat();
    let (whole, result) = counters("whole.csv", &run);
    let (parts, _) = counters("parts.csv", &[&run[..], &["--every", "3us", "--threads", "2"]].concat());
    assert!(parts.len() > 5 * whole.len(), "{} and {} rows", parts.len(), whole.len());
    for kind in ["switch", "node"] {
        for column in 7..13 {
            assert_eq!(sum(&parts, kind, column), sum(&whole, kind, column), "{kind}, column {column}");
        }
    }
    // What a chip counts from its start is what the whole run has sent, but for a window at its end.
    let hops = result["points"][0]["packet_hops"].as_u64().unwrap();
    let data: Vec<Vec<String>> = whole.iter().filter(|row| row[6] != "barrier").cloned().collect();
    let counted = sum(&data, "switch", 7);
    assert!(counted <= hops && counted * 1000 > hops * 995, "{counted} of {hops}");
    assert!(data.len() < whole.len(), "barrier packets are counted");
}

#[test]
fn packets_that_lack_credits_are_told_from_those_that_wait_for_others() {
    let run = ["mesh-8x8", "--load", "0.5", "--warm-up", "2us", "--duration", "10us"];
    let (large, _) = counters("large.csv", &run);
    let (small, _) = counters("small.csv", &[&run[..], &["--set", "switch.buffer=1KiB"]].concat());
    let waited = |rows: &[Vec<String>]| sum(rows, "switch", 9) + sum(rows, "node", 9);
    assert!(waited(&small) > 4 * waited(&large), "{} and {}", waited(&small), waited(&large));
    // The last hop leads to a node, which takes everything.
    let (alone, _) = counters("alone.csv", &["hpp-switch", "--load", "0.6", "--duration", "50us"]);
    assert_eq!(waited(&alone), 0);
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
    let file = scratch("refused.csv", "kept");
    let name = file.to_str().unwrap();
    assert_refused(&[
        (&["run", "hpp-switch", "--counters", "-"], &["counters go to a file"]),
        (
            &["run", "hpp-switch", "--counters", name, "--csv", name],
            &["another result goes to the same file"],
        ),
        (
            &["run", "hpp-switch", "--counters", name, "--every", "0us"],
            &["--every", "expected a time above 0"],
        ),
        (&["run", "hpp-switch", "--counters", name, "--every", "5"], &["--every", "unit"]),
        (&["run", "hpp-switch", "--every", "5us"], &["--counters"]),
        (&["run", "hpp-switch", "--train", "0-1", "--counters", name], &["--train"]),
    ]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "kept");
}
