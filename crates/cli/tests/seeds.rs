//! Runs with several seeds, and comparisons of them, of several files and of experiments.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use flitway_experiment::schema::problems;
use serde_json::{Value, json};
use std::path::PathBuf;

const RUN: [&str; 9] =
    ["run", "hpp-switch", "--load", "0.2,0.6", "--warm-up", "2us", "--duration", "20us", "--packet=64B"];

fn path(name: &str) -> String {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().to_owned()
}

#[test]
fn several_seeds_are_the_runs_of_each_and_their_spread() {
    let all = json(&[&RUN[..], &["--seed", "7", "--seeds", "3", "--threads", "2"]].concat());
    assert_valid(&all);
    assert_eq!((&all["seed"], &all["seeds"]), (&json!(7), &json!(3)));
    let points = all["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    let mut accepted = Vec::new();
    for (place, seed) in ["7", "8", "9"].into_iter().enumerate() {
        let one = reproducible(json(&[&RUN[..], &["--seed", seed]].concat()));
        for (index, point) in one["points"].as_array().unwrap().iter().enumerate() {
            let mut of_all = reproducible(all.clone())["points"][2 * place + index].clone();
            assert_eq!(of_all.as_object_mut().unwrap().shift_remove("seed").unwrap().to_string(), seed);
            assert_eq!(&of_all, point, "seed {seed}");
        }
        accepted.push(one["points"][1]["accepted_load"].as_f64().unwrap());
    }
    let of = &all["spread"][1]["quantities"]["accepted_load"];
    let mean = accepted.iter().sum::<f64>() / 3.0;
    assert!((of["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{of}");
    let most = accepted.iter().copied().fold(0.0, f64::max);
    assert_eq!((of["max"].as_f64().unwrap(), &all["spread"][1]["offered_load"]), (most, &json!(0.6)));
    // t(2) is 4.303.
    let deviation = (accepted.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    let half = 4.303 * deviation / 3.0_f64.sqrt();
    assert!((of["ci95"].as_f64().unwrap() - half).abs() < 1e-12, "{of}");
}

#[test]
fn the_spread_is_shown_for_every_kind_of_workload() {
    let graph =
        scratch("seeds.goal", "num_ranks 2\nrank 0 {\nsend 5000b to 1\n}\nrank 1 {\nrecv 5000b from 0\n}\n");
    let short = ["--warm-up", "5us", "--duration", "50us"];
    let runs: [(&[&str], &str); 4] = [
        (&["--graph", graph.to_str().unwrap(), "--placement", "random"], "completion ns"),
        (&["--train", "0-3", "--count", "50"], "train ns"),
        (&[&["--multicast", "random(members=4, groups=4)"], &short[..]].concat(), "last copy ns"),
        (&[&["--barrier", "all", "--interval", "2us"], &short[..]].concat(), "barrier ns"),
    ];
    for (arguments, heading) in runs {
        let arguments = [&["run", "hpp-switch"], arguments, &["--seeds", "2"]].concat();
        let text = stdout(&flitway(&arguments));
        let row = text.lines().find(|line| line.contains(heading));
        assert!(row.is_some_and(|row| row.ends_with(" 2")), "{arguments:?}: {text}");
        assert!(text.contains("seeds 1 to 2") && text.contains("half of the 95 % interval"), "{text}");
        assert_valid(&json(&arguments));
    }
    assert_refused(&[
        (&["run", "hpp-switch", "--seeds", "1"], &["--seeds", "2.."]),
        (&["run", "hpp-switch", "--seeds", "2", "--report", "x.html"], &["--seeds", "--report"]),
        (
            &["run", "hpp-switch", "--seeds", "2", "--counters", "x.csv"],
            &["--counters: the counters of one run", "--seed N --counters FILE"],
        ),
        (&["run", "hpp-switch", "--seeds", "2", "--seed", "18446744073709551615"], &["there are no 2 seeds"]),
        (&["run", "hpp-switch", "--seeds", "2", "--traffic", "tornadoo"], &["did you mean `tornado`"]),
    ]);
}

#[test]
fn a_fault_of_one_seed_is_named() {
    let never = "num_ranks 2\nrank 0 {\nrecv 8b from 1\n}\nrank 1 {\n}\n";
    let never = scratch("seeds-never.goal", never);
    let output = flitway(&["run", "hpp-switch", "--graph", never.to_str().unwrap(), "--seeds", "2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot finish with seed 1; run that alone: --seed 1"));
}

#[test]
fn several_files_are_held_against_the_first() {
    let files = ["of-1.json", "of-2.json", "of-3.json"].map(path);
    for (file, vcs) in files.iter().zip(["1", "2", "3"]) {
        let vcs = format!("switch.vcs={vcs}");
        let seeds = ["--seeds", "4", "--set", &vcs, "--json", file];
        assert!(flitway(&[&RUN[..], &seeds].concat()).status.success());
    }
    let [one, two, three] = files.each_ref().map(String::as_str);
    let output = flitway(&["compare", one, two, three]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for part in
        ["settings of of-2 that differ:\n  switch.vcs: 1 -> 2", "switch.vcs: 1 -> 3", "ratio: to of-1"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut narrow = std::process::Command::new(env!("CARGO_BIN_EXE_flitway"));
    for files in [&[one, two][..], &[one, two, three]] {
        let output = narrow.arg("compare").args(files).env("COLUMNS", "80").output().unwrap();
        let text = stdout(&output);
        // The places of the files are as long as they are.
        let lines = text.lines().skip_while(|line| !line.contains("offered"));
        assert!(lines.clone().count() > 8 && lines.clone().all(|line| line.chars().count() <= 80), "{text}");
        narrow = std::process::Command::new(env!("CARGO_BIN_EXE_flitway"));
    }
    let compared = json(&["compare", one, two, three]);
    assert_eq!(problems(&compared), [] as [&str; 0]);
    let names: Vec<&Value> = compared["files"].as_array().unwrap().iter().map(|file| &file["name"]).collect();
    assert_eq!(names, ["of-1", "of-2", "of-3"]);
    // The spread over seeds gives every number an interval, p99 too.
    for quantity in ["packet_latency_ns.p99", "accepted_load"] {
        let of = &compared["points"][1]["quantities"][quantity];
        assert_eq!((of["values"].as_array().unwrap().len(), of["ratios"].as_array().unwrap().len()), (3, 2));
        assert!(of["ratios"][0]["ci95"].is_number(), "{of}");
        let [first, second] = [0, 1].map(|place| of["values"][place]["mean"].as_f64().unwrap());
        assert!((of["ratios"][0]["mean"].as_f64().unwrap() - second / first).abs() < 1e-12, "{of}");
    }
    assert_refused(&[(&["compare", one, two, "--json", two], &["--json", "would replace an input"])]);
}

#[test]
fn every_ratio_that_may_be_chance_is_marked() {
    let files = ["chance-a.json", "chance-b.json"].map(path);
    for (file, seed) in files.iter().zip(["1", "2"]) {
        assert!(flitway(&[&RUN[..], &["--seed", seed, "--json", file]].concat()).status.success());
    }
    let [a, b] = files.each_ref().map(String::as_str);
    let text = stdout(&flitway(&["compare", a, b]));
    let of = |heading: &str| text.lines().rfind(|line| line.contains(heading)).unwrap().to_owned();
    assert!(of("p99 ns").ends_with(" ?"), "{text}");
    assert!(text.contains("chance-b / chance-a") && text.contains("?: no interval is known"), "{text}");
    let same = stdout(&flitway(&["compare", a, a]));
    assert!(!same.contains('~') && !same.contains('?'), "the same numbers are the same: {same}");
    assert!(same.contains("chance-a (2) / chance-a"), "{same}");
}

#[test]
fn two_results_of_an_experiment_are_compared_by_what_it_varies() {
    let text = "name = \"vcs\"\n[run]\nmachine = \"hpp-switch\"\nload = 0.3\nwarm_up = \"1 us\"\n\
                duration = \"10 us\"\n[[vary]]\nover = \"switch.vcs\"\nvalues = [1, 2]\n";
    let experiment = scratch("compared.toml", text);
    let files = ["compared-1.json", "compared-2.json"].map(path);
    for (file, size) in files.iter().zip(["1 KiB", "2 KiB"]) {
        let (out, set) = (path(&format!("compared-{}", &size[..1])), format!("switch.buffer={size}"));
        let run = ["run", "--experiment", experiment.to_str().unwrap(), "--set", &set, "--out", &out];
        let output = flitway(&[&run[..], &["--json", file]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let [one, two] = files.each_ref().map(String::as_str);
    let compared = json(&["compare", one, two]);
    assert_eq!(problems(&compared), [] as [&str; 0]);
    let points = compared["points"].as_array().unwrap();
    let varied: Vec<&Value> = points.iter().map(|point| &point["values"]["switch.vcs"]).collect();
    assert_eq!(varied, [1, 2]);
    assert!(points.iter().all(|point| point["quantities"]["accepted_load"]["values"][1]["mean"].is_number()));
    let text = stdout(&flitway(&["compare", one, two]));
    assert!(text.contains("switch.vcs=2") && text.contains("(experiment vcs)"), "{text}");
    assert!(text.contains("switch.buffer: \"1 KiB\" -> \"2 KiB\""), "{text}");
}
