//! Whatever the text, the reader of experiment files answers: points that have keys, or diagnostics that can be drawn.
//!
//! Every case follows from its number. `FLITWAY_FUZZ_SECONDS=300 cargo test -p flitway-experiment --test fuzz` runs longer,
//! and a failure prints the number; `FLITWAY_FUZZ_CASE=n` repeats that one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::random::{Purpose, Stream};
use flitway_experiment::{Experiment, Overrides};
use flitway_machine::Colour;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

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

fn pick<'a>(random: &mut Stream, list: &[&'a str]) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

fn boundary(text: &str, random: &mut Stream) -> usize {
    let mut at = random.below(text.len() as u64 + 1) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn mutate(text: &mut String, random: &mut Stream) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match random.below(4) {
        0 => {
            let at = boundary(text, random);
            text.insert_str(at, pick(random, PIECES));
        }
        1 => {
            let at = boundary(text, random);
            if let Some(letter) = text[at..].chars().next() {
                text.replace_range(at..at + letter.len_utf8(), "");
            }
        }
        2 if !lines.is_empty() => {
            // Another value for a key.
            let line = random.below(lines.len() as u64) as usize;
            let key = lines[line].split('=').next().unwrap_or("").to_owned();
            lines[line] = format!("{key}= {}", pick(random, PIECES));
            *text = lines.join("\n");
        }
        _ if lines.len() > 1 => {
            let (a, b) =
                (random.below(lines.len() as u64) as usize, random.below(lines.len() as u64) as usize);
            if random.chance(1 << 63) {
                lines.swap(a, b);
            } else {
                lines.remove(a);
            }
            *text = lines.join("\n");
        }
        _ => {}
    }
}

fn run(number: u64) {
    let mut random = Stream::new(3, number, Purpose::Test);
    let mut text = include_str!("mistakes/base.toml").to_owned();
    (0..random.below(6)).for_each(|_| mutate(&mut text, &mut random));
    let mut overrides = Overrides::default();
    if random.chance(1 << 61) {
        let mut set = "switch.vcs=2".to_owned();
        (0..random.below(3)).for_each(|_| mutate(&mut set, &mut random));
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

fn number_from(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_text_breaks_the_reader() {
    if let Some(number) = number_from("FLITWAY_FUZZ_CASE") {
        return run(number);
    }
    let limit = number_from("FLITWAY_FUZZ_SECONDS").map(Duration::from_secs);
    let start = Instant::now();
    let mut number = 0;
    while limit.map_or(number < 500, |limit| start.elapsed() < limit) {
        let outcome = catch_unwind(AssertUnwindSafe(|| run(number)));
        assert!(outcome.is_ok(), "repeat with FLITWAY_FUZZ_CASE={number}");
        number += 1;
    }
}
