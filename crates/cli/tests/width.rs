//! What is printed fits the terminal, and no word is broken.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use std::fmt::Write;
use std::process::{Command, Output};

fn at(columns: usize, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitway"));
    command.args(arguments).env("COLUMNS", columns.to_string()).output().unwrap()
}

/// A graph in which every rank computes, and sends a message to the next one.
fn ring(ranks: usize) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let (next, last) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let calc = 1_000 + 10 * rank;
        writeln!(
            text,
            "rank {rank} {{\na: calc {calc}\nb: send 8b to {next}\nc: recv 8b from {last}\nb requires a\nc requires b\n}}"
        )
        .unwrap();
    }
    text
}

#[test]
fn what_is_left_out_of_a_table_has_no_legend() {
    let run = ["run", "hpp-switch", "--load", "0.1", "--warm-up", "5us", "--duration", "20us"];
    let has_legend = |columns: usize| stdout(&at(columns, &run)).contains("\nnetwork  ");
    assert_eq!([80, 150].map(has_legend), [false, true]);
}

#[test]
fn everything_fits_80_columns() {
    let goal = scratch("width.goal", &ring(64));
    let out = format!("{}/width-out", env!("CARGO_TARGET_TMPDIR"));
    let short = ["--warm-up", "20us", "--duration", "60us"];
    let run = |rest: &[&'static str]| [&["run", "hpp-switch"], rest, &short[..]].concat();
    let commands: [Vec<&str>; 12] = [
        run(&["--load", "0.1,0.5,0.9"]),
        run(&["--load", "0.8", "--packet", "bimodal(64B, 1KiB, 20%)"]),
        run(&["--multicast", "all", "--multicast-load", "0.1,0.5", "--load", "0.1"]),
        run(&["--barrier", "all", "--load", "0.3"]),
        vec!["run", "hpp-switch", "--train", "0-15", "--count", "100"],
        vec!["run", "fattree-128", "--graph", goal.to_str().unwrap()],
        vec!["check", "torus-8x8", "--set", "routing.dateline=false"],
        vec!["check", "dawning5000"],
        vec!["check", "sp-switch-16"],
        vec!["check", "th-frame"],
        vec!["run", "--experiment", "hpp-vcs", "--duration", "5us", "--out", &out],
        vec!["list"],
    ];
    for command in commands {
        let output = at(80, &command);
        assert!(output.status.success(), "{command:?}: {}", stderr(&output));
        let (text, wide) = (stdout(&output), stdout(&at(150, &command)));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{command:?}: {line}");
        }
        // Words that are there when there is room are not broken when there is none.
        let note = ["left", "this", "width"];
        let known: Vec<&str> = wide.split_whitespace().chain(note).collect();
        let is_word = |word: &&str| word.len() > 3 && word.chars().all(|letter| letter.is_ascii_alphabetic());
        for word in text.split_whitespace().filter(is_word) {
            assert!(known.contains(&word), "{command:?}: {word} is part of a word");
        }
    }
}

#[test]
fn headings_of_several_lines_stand_on_what_is_under_them() {
    let text = stdout(&at(80, &["check", "th-frame"]));
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.trim_start().starts_with("tiles 4 x 6")).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    assert_eq!(words(lines[first - 2]), "a switch largest arbiter", "{text}");
    assert_eq!(words(lines[first - 1]), "built as crosspoints arbiter inputs RAM bits wires", "{text}");
}

#[test]
fn a_narrow_table_says_what_it_leaves_out() {
    let barrier = ["run", "hpp-switch", "--barrier", "all", "--load", "0.1", "--packet", "1KiB"];
    let barrier = [&barrier[..], &["--warm-up", "10us", "--duration", "200us"]].concat();
    let text = stdout(&at(80, &barrier));
    assert!(text.contains("left out at this width (see --json or --csv): p50, a release, unicast"), "{text}");
    assert!(!stdout(&at(150, &barrier)).contains("left out"));
}

#[test]
fn a_file_that_explain_shows_keeps_its_lines() {
    let experiment = ["explain", "hpp-vcs"];
    assert_eq!(stdout(&at(60, &experiment)), stdout(&flitway(&experiment)));
}

#[test]
fn of_many_ranks_those_that_matter_are_shown() {
    let goal = scratch("width-ranks.goal", &ring(100));
    let output = flitway(&["run", "fattree-128", "--graph", goal.to_str().unwrap()]);
    let text = stdout(&output);
    assert!(text.lines().count() < 36, "{text}");
    // Rank 0 computes 1,000 ns in cycles of 3.2 ns, rank 99 1,990, for which rank 0 waits.
    let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
    let cells = |start: &str| line(start).split_whitespace().collect::<Vec<_>>();
    assert_eq!(cells("slowest")[1], "0", "{text}");
    assert_eq!((cells("computing")[1], cells("computing")[5]), ("1.002", "1.990"), "{text}");
    assert!(text.contains("times in us") && text.contains("--json has every rank"), "{text}");
    let heading = text.lines().find(|line| line.contains("comm %")).unwrap();
    assert!(heading.ends_with("received") && heading.chars().count() <= 80, "{heading}");
    let few = scratch("width-few.goal", &ring(16));
    let text = stdout(&flitway(&["run", "fattree-128", "--graph", few.to_str().unwrap()]));
    assert!(
        !text.contains("slowest") && text.lines().filter(|line| line.contains(" 1.1")).count() >= 5,
        "{text}"
    );
}

#[test]
fn a_graph_that_cannot_finish_names_the_cause_first_and_ten_of_a_kind() {
    let mut goal = ring(64);
    goal.truncate(goal.rfind("c: recv").unwrap());
    goal.push_str("c: recv 8b from 62 tag 99\nb requires a\nc requires b\n}\n");
    let path = scratch(
        "width-stuck.goal",
        &goal.replace("c requires b\n}", "c requires b\nd: recv 8b from 0 tag 7\n}"),
    );
    let output = flitway(&["run", "fattree-128", "--graph", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines.len() < 26, "{error}");
    assert!(lines[1].contains("never received"), "{error}");
    assert!(error.contains("more lines of this kind; --json has more"), "{error}");
}
