//! Runs in which nothing is sent, or nothing can arrive, are refused before they start.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_refused, assert_valid, json};

#[test]
fn a_pattern_that_maps_every_node_to_itself_is_refused_for_every_workload() {
    let two = ["run", "hpp-switch", "--set", "topology.nodes=2"];
    let nobody = ["--traffic: nobody sends", "each of the 2 nodes to itself"];
    for pattern in ["tornado", "bit-reverse", "bit-rotation", "butterfly", "shuffle"] {
        for rest in [&["--load", "0.3"][..], &["--load", "max"], &["--barrier", "all", "--load", "0.3"]] {
            let arguments = [&two[..], &["--traffic", pattern], rest].concat();
            assert_refused(&[(&arguments, &nobody)]);
        }
    }
    assert_refused(&[
        (&[&two[..], &["--traffic", "random-permutation", "--seed", "2"]].concat(), &nobody),
        (&[&two[..], &["--multicast", "all", "--traffic", "tornado", "--load", "0.1"]].concat(), &nobody),
        (
            &["run", "torus-8x8", "--set", "topology.dimensions=[2,2]", "--traffic", "tornado"],
            &["--traffic: nobody sends: `tornado` maps each of the 4 nodes to itself"],
        ),
        (&["check", "hpp-switch", "--set", "topology.nodes=2", "--traffic", "tornado"], &nobody),
    ]);
}

#[test]
fn a_load_of_which_nothing_comes_in_the_time_asked_for_is_refused() {
    let run = |load: &'static [&'static str]| [&["run", "hpp-switch", "--duration", "5us"], load].concat();
    assert_refused(&[
        (&run(&["--load", "0.0000001"]), &["--load: `0.0000001`: nothing is sent in 5.00 µs", "--duration"]),
        (&run(&["--load", "0.3,0.0000001"]), &["--load: `0.0000001`: nothing is sent"]),
        (
            &run(&["--multicast", "all", "--multicast-load", "0.00001"]),
            &["--multicast-load: `0.00001`: nothing is sent", "operations in that time"],
        ),
        (
            &["run", "hpp-switch", "--duration", "1 ps", "--load", "0.5"],
            &["nothing is sent in 3 ns", "lengthen --duration"],
        ),
        (
            &["run", "dawning5000", "--duration", "100 ns", "--load", "max"],
            &["--duration: nothing can arrive in 100 ns: the way to the next node takes"],
        ),
    ]);
}

#[test]
fn what_has_few_packets_or_none_is_valid_all_the_same() {
    let few = ["run", "hpp-switch", "--warm-up", "1us", "--duration", "5us", "--load", "0.005"];
    for seed in ["1", "2", "3", "4", "5", "6"] {
        assert_valid(&json(&[&few[..], &["--seed", seed]].concat()));
    }
}
