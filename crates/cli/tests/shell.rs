//! What shells, pipes and scripts need: completions, the man page, standard input, quiet, colours, what is denied.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// `flitway` with `input` at its standard input.
fn piped(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitway"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn completions_know_machines_experiments_and_settings() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&flitway(&["completions", shell]));
        let knows_options = script.contains("multicast-load") && script.contains("no-progress");
        assert!(knows_options, "{shell}: {script}");
    }
    let script = stdout(&flitway(&["completions", "bash"]));
    for name in ["dawning5000", "switch.credit.advert=", "hpp-vcs"] {
        assert!(script.contains(name), "{name}");
    }
}

#[test]
fn the_man_page_is_roff_and_has_every_option() {
    let page = stdout(&flitway(&["man"]));
    assert!(page.contains(".TH flitway 1") && page.contains("flitway\\-run(1)"), "{page}");
    let page = stdout(&flitway(&["man", "run"]));
    assert!(page.contains(".TH flitway-run 1") && page.contains("\\-\\-multicast\\-load"), "{page}");
    assert_refused(&[(&["man", "fly"], &["there is no command `fly`", "run, check"])]);
}

#[test]
fn machines_and_task_graphs_come_from_standard_input() {
    let machine = stdout(&flitway(&["explain", "hpp-switch"]));
    let output = piped(&["check", "-"], &machine);
    assert!(output.status.success() && stdout(&output).contains("16 nodes"), "{}", stderr(&output));
    let output = piped(&["check", "-"], "rails = 0\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("standard input:1"), "{}", stderr(&output));
    let goal = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    let output = piped(&["run", "hpp-switch", "--graph", "-"], goal);
    assert!(output.status.success() && stdout(&output).contains("2 ranks, 2 tasks"), "{}", stderr(&output));
}

#[test]
fn quiet_prints_what_is_asked_for_and_errors_alone() {
    let short = ["--load", "0.1", "--warm-up", "1us", "--duration", "5us", "--quiet"];
    let run =
        [&["run", "hpp-switch", "--set", "switch.barrier.bit_errors=1 errors/Gbit"], &short[..]].concat();
    let output = flitway(&run);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    let output = flitway(&[&run[..], &["--json", "-"]].concat());
    assert!(stdout(&output).starts_with('{') && output.stderr.is_empty());
    assert!(flitway(&["check", "torus-8x8", "--quiet"]).stdout.is_empty());
    assert!(!flitway(&["check", "nothing", "--quiet"]).stderr.is_empty());
}

#[test]
fn colours_are_where_they_are_wanted() {
    let coloured = |arguments: &[&str]| stderr(&flitway(arguments)).contains('\u{1b}');
    let wrong = ["check", "hpp-switch", "--set", "switch.vc=1"];
    assert!(!coloured(&wrong) && !coloured(&[&wrong[..], &["--color", "never"]].concat()));
    assert!(coloured(&[&wrong[..], &["--color", "always"]].concat()));
}

#[test]
fn what_is_denied_is_a_fault() {
    let deadlock = ["check", "torus-8x8", "--set", "routing.dateline=false"];
    let status = |deny: &[&str]| flitway(&[&deadlock[..], deny].concat()).status.code();
    assert_eq!(status(&[]), Some(0));
    assert_eq!(status(&["--deny", "deadlock"]), Some(1));
    assert_eq!(status(&["--deny", "credits,warnings"]), Some(1));
    let output = flitway(&[&deadlock[..], &["--deny", "deadlock"]].concat());
    assert!(stderr(&output).contains("fault: denied deadlock: packets can wait"), "{}", stderr(&output));
    assert!(flitway(&["check", "torus-8x8", "--deny", "deadlock,credits"]).status.success());
}

#[test]
fn points_come_as_csv_and_nothing_else_with_them() {
    let run = ["run", "hpp-switch", "--load", "0.1,0.2", "--warm-up", "1us", "--duration", "20us"];
    let output = flitway(&[&run[..], &["--csv", "-"]].concat());
    let text = stdout(&output);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    let column = |name: &str| lines[0].iter().position(|it| *it == name).unwrap();
    let (load, mean) = (column("offered_load"), column("packet_latency_ns.mean"));
    assert_eq!((lines[1][load], lines[2][load]), ("0.1", "0.2"));
    let result = json(&run);
    let of = |point: usize| result["points"][point]["packet_latency_ns"]["mean"].to_string();
    assert_eq!((lines[1][mean], lines[2][mean]), (of(0).as_str(), of(1).as_str()));
    assert_refused(&[(
        &[&run[..], &["--csv", "a", "--json", "./a"]].concat(),
        &["--csv a: --json writes to the same"],
    )]);
}

#[test]
fn an_experiment_without_plots_and_findings_prints_its_points() {
    let text = "name = \"plain\"\n[run]\nmachine = \"hpp-switch\"\nduration = \"20 us\"\nwarm_up = \"1 us\"\n\
                [[vary]]\nover = \"load\"\nvalues = [0.1, 0.2]\n";
    let path = scratch("plain.toml", text);
    let out = format!("{}/plain-out", env!("CARGO_TARGET_TMPDIR"));
    let text = stdout(&flitway(&["run", "--experiment", path.to_str().unwrap(), "--out", &out]));
    assert!(text.contains("load  accepted  latency ns"), "{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("0.2 ")), "{text}");
}
