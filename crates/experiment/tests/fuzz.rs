//! Whatever the text, the reader of experiment files answers: points that have keys, or diagnostics that can be drawn.
//!
//! Every case follows from its number. `FLITWAY_FUZZ_SECONDS=300 cargo test -p flitway-experiment --test fuzz` runs longer,
//! and a failure prints the number; `FLITWAY_FUZZ_CASE=n` repeats that one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::random::{Purpose, Stream};
use flitway_experiment::frame::Frame;
use flitway_experiment::{Experiment, Overrides, Store, schema};
use flitway_machine::Colour;
use flitway_test_kit::fuzz::{self, damage, pick};
use serde_json::{Value, json};
use std::path::Path;

/// What a slip of a person could put in.
const PIECES: &[&str] = &[
    "",
    "0",
    "-1",
    "0.5",
    "1e9",
    "true",
    "[]",
    "[1, 2]",
    "[[1], [2]]",
    "[\"64B\", \"8B\"]",
    "{",
    "}",
    "{{",
    "{max accepted_load}",
    "{load of min packets at load=0.2 / load}",
    "{a at b=c, d}",
    " at ",
    " / ",
    " as %",
    "[",
    "]",
    "\"",
    "\"\"\"",
    "'",
    "=",
    "#",
    "\n",
    ".",
    ",",
    "\"max\"",
    "\"0.1..0.5:0.1\"",
    "\"switch.vcs\"",
    "\"load\"",
    "[\"load\", \"seed\"]",
    "\"accepted_load\"",
    "\"verdict\"",
    "\"mesh-8x8\"",
    "\"none.goal\"",
    "[[vary]]",
    "[[plot]]",
    "[run]",
    "18446744073709551616",
    "\u{0}",
    "\u{feff}",
    "\u{b5}",
    "\u{1f600}",
    "inf",
    "2024-01-01",
];

fn run(number: u64) {
    let mut random = Stream::new(3, number, Purpose::Test);
    let mut text = include_str!("mistakes/base.toml").to_owned();
    (0..random.below(6)).for_each(|_| damage(&mut text, PIECES, &mut random));
    let mut overrides = Overrides::default();
    if random.chance(1 << 61) {
        let mut set = "switch.vcs=2".to_owned();
        (0..random.below(3)).for_each(|_| damage(&mut set, PIECES, &mut random));
        overrides.set.push(set);
        overrides.precision = Some(pick(&mut random, PIECES).to_owned());
    }
    match Experiment::from_text("fuzz.toml", text, Path::new(""), &overrides) {
        Ok(experiment) => {
            assert!(!experiment.points().is_empty());
            let none = experiment.points().iter().map(|point| {
                assert_eq!(point.key().len(), 32);
                None
            });
            let report = experiment.gather(none.collect());
            assert!(experiment.to_json(&report, &[]).is_object());
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            let plain = problems.render(Colour::Plain);
            assert!(plain.len() > 20 && !problems.render(Colour::Ansi).is_empty());
        }
    }
}

#[test]
fn no_text_breaks_the_reader() {
    fuzz::run(500, run);
}

/// A result of a point, kept in a store, and of an experiment: what it names as its schema, and all else that is looked at.
fn kept() -> (Value, String) {
    let result: Value = serde_json::from_str(RESULT).unwrap();
    assert_eq!(schema::problems(&result), [] as [&str; 0], "it is right before it is damaged");
    let experiment = json!({
        "schema": "flitway/experiment/1", "flitway": "0.1.0", "command": [],
        "experiment": { "name": "a", "title": "b", "text": "" },
        "points": [{ "values": { "switch.vcs": 2 }, "key": KEY, "result": result }], "plots": [], "findings": [],
    });
    (result, experiment.to_string())
}

const KEY: &str = "0123456789abcdef0123456789abcdef";

const RESULT: &str = r#"{"schema": "flitway/result/1", "flitway": "0.1.0", "machine": {"name": "m", "description": {}},
"command": ["flitway"], "seed": 1, "workload": {"train": "0-1", "count": "1", "packet": "1B"},
"points": [
{"packets": 1, "train": {"time_ns": 4.5, "packets_per_us": 1.5, "model_ns": 4, "pipelined_ns": 4}, "events": 5, "packet_hops": 1,
"flit_hops": 6, "adverts": 0, "wall_s": 0.5}
]}"#;

const JSON: &[&str] = &[
    "",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "1e999",
    "1e308",
    "\"a\"",
    "\"points\": []",
    "\\u0000",
    "\u{feff}",
    "\u{1f600}",
    "\"schema\": \"flitway/check/1\"",
    "18446744073709551616",
];

/// Whatever the text, what reads our own JSON answers: a result that can be shown, or what is wrong with it.
fn run_results(number: u64, folder: &Path) {
    let mut random = Stream::new(5, number, Purpose::Test);
    let (result, experiment) = kept();
    let store = Store::open(folder).unwrap();
    store.save(KEY, &result).unwrap();
    let mut of_store = std::fs::read_to_string(store.path(KEY)).unwrap();
    for text in [&mut of_store, &mut RESULT.to_owned(), &mut experiment.clone()] {
        (0..random.below(4)).for_each(|_| damage(text, JSON, &mut random));
        let Ok(value) = serde_json::from_str::<Value>(text) else { continue };
        let problems = schema::problems(&value);
        if problems.is_empty() {
            let frame = Frame::new(&value);
            assert!(!frame.to_csv().is_empty() && frame.to_parquet().starts_with(b"PAR1"));
        } else {
            assert!(problems.iter().all(|problem| problem.len() > 10 && problem.len() < 400));
        }
    }
    std::fs::write(store.path(KEY), &of_store).unwrap();
    match store.load(KEY) {
        // Damage may be in what does not matter, such as blanks.
        Ok(found) => assert_eq!(found, Some(result)),
        Err(error) => assert!(error.to_string().len() > 20 && error.help.is_some()),
    }
}

#[test]
fn no_text_breaks_the_readers_of_results_and_stores() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-store");
    fuzz::run(200, |number| run_results(number, &folder));
}
