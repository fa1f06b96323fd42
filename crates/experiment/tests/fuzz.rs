//! Whatever the text, the reader of experiment files answers: points that have keys, or diagnostics that can be drawn.
//!
//! Every case follows from its number. `FLITWAY_FUZZ_SECONDS=300 cargo test -p flitway-experiment --test fuzz` runs longer,
//! and a failure prints the number; `FLITWAY_FUZZ_CASE=n` repeats that one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::random::{Purpose, Stream};
use flitway_experiment::{Experiment, Overrides};
use flitway_machine::Colour;
use flitway_test_kit::fuzz::{self, damage, pick};
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
