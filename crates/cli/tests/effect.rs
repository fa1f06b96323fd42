//! What was asked for and had no effect in a run is said.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;

const SHORT: [&str; 6] = ["run", "hpp-switch", "--warm-up", "20us", "--duration", "500us"];

#[test]
fn a_rule_of_losses_that_never_came_true_is_said() {
    let run = |rules: &[&'static str]| {
        let rules = rules.iter().flat_map(|rule| ["--lose", rule]);
        SHORT.into_iter().chain(["--barrier", "all"]).chain(rules).collect::<Vec<_>>()
    };
    let idle = |rules: &[&'static str]| {
        let barrier = json(&run(rules))["points"][0]["barrier"].clone();
        (barrier["packets"]["lost_by_fault"].as_u64().unwrap(), barrier["idle_lose_rules"].to_string())
    };
    let (first, never) = ("distribute(at=node 3, nth=2)", "distribute(at=node 3, nth=999999999)");
    assert_eq!(idle(&[first]), (1, "null".to_owned()));
    assert_eq!(idle(&[never]), (0, "[0]".to_owned()));
    assert_eq!(idle(&[first, never, "any(at=node 5)"]), (2, "[1]".to_owned()));
    let output = flitway(&run(&[first, never]));
    assert!(output.status.success());
    let text = stdout(&output);
    assert!(text.contains("not lost           `distribute(at=node 3, nth=999999999)`: fewer such"), "{text}");
    assert!(!text.contains("`distribute(at=node 3, nth=2)`"), "{text}");
}

#[test]
fn barriers_without_time_are_unsettled_and_no_fault() {
    let output = flitway(&[&SHORT[..], &["--barrier", "all", "--imbalance", "1 s"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("no barrier         none was over in the time measured: measure longer"), "{text}");
    assert!(text.contains("unsettled"), "{text}");
}

#[test]
fn a_setting_without_effect_in_this_run_is_said() {
    let barrier = ["--set", "switch.barrier.bit_errors=1 errors/Gbit"];
    let said = |arguments: &[&str]| stderr(&flitway(&[&SHORT[..], &["--load", "0.1"], arguments].concat()));
    let error = said(&barrier);
    assert!(
        error.contains(
            "warning: `switch.barrier.bit_errors` has no effect in this run: there are no barriers"
        ),
        "{error}"
    );
    assert_eq!(said(&[&barrier[..], &["--barrier", "all"]].concat()), "");
    assert!(said(&["--set", "nic.send_overhead=1 us"]).contains("nic.send_overhead"));
    assert_eq!(said(&["--set", "switch.vcs=2"]), "");
}

/// What `run` says of the busiest channel is what `check` says, also where each packet draws its way.
#[test]
fn the_channel_bound_of_drawn_ways_is_that_of_check() {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-dragonfly/dragonfly-72.toml");
    for (routing, bound) in [("valiant", 7.0 / 24.0), ("minimal", 0.125)] {
        let set = format!("routing.algorithm={routing}");
        let of = [machine, "--set", &set, "--traffic", "tornado"];
        let checked = json(&[&["check"], &of[..]].concat());
        let run = ["--load", "0.05", "--duration", "10us", "--warm-up", "1us"];
        let measured = json(&[&["run"], &of[..], &run].concat());
        let [checked, measured] =
            [&checked["channel_loads"]["bound"], &measured["points"][0]["theory"]["channel_bound"]];
        for said in [checked, measured] {
            assert!((said.as_f64().unwrap() - bound).abs() < 1e-9, "{routing}: {checked}, {measured}");
        }
    }
}
