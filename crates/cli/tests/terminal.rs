//! Nothing of any input steers the terminal, and nothing that is read is taken for what it is not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use serde_json::{Value, json};

#[test]
fn control_characters_of_inputs_are_shown_as_symbols() {
    let machine = stdout(&flitway(&["explain", "hpp-switch"]));
    let red = scratch("terminal-red.toml", &machine.replace("\"hpp-switch\"", "\"\\u001b[31mred\""));
    let red = red.to_str().unwrap();
    let goal = scratch("terminal.goal", "num_ranks 1\nrank 0 {\n\u{1b}]0;title\u{7} calk 5\n}\n");
    let list = scratch("terminal.txt", "\u{1b}[31m 5\n");
    let (list, goal) = (list.to_str().unwrap().to_owned(), goal.to_str().unwrap());
    let (sizes, matrix) = (format!("file({list})"), format!("matrix({list})"));
    let small = scratch("terminal-small.goal", "num_ranks 1\nrank 0 {\ncalc 1\n}\n");
    let result = scratch("terminal.json", "");
    let short = ["--load", "0.1", "--warm-up", "1us", "--duration", "5us"];
    let run = [&["run", red], &short[..], &["--json", result.to_str().unwrap()]].concat();
    assert!(flitway(&run).status.success());
    let commands: [&[&str]; 10] = [
        &["check", red],
        &[&["run", red], &short[..]].concat(),
        &["compare", result.to_str().unwrap(), result.to_str().unwrap()],
        &["run", "hpp-switch", "--graph", goal],
        &["run", "hpp-switch", "--graph", small.to_str().unwrap(), "--placement", &list],
        &["run", "hpp-switch", "--packet", &sizes],
        &["run", "hpp-switch", "--traffic", &matrix],
        &["run", "hpp-switch", "--traffic", "\u{1b}[31mred"],
        &["run", "hpp-switch", "--\u{1b}[31mred"],
        &["check", "hpp-switch", "--set", "\u{1b}[31mred=1"],
    ];
    for command in commands {
        let output = flitway(command);
        let text = stdout(&output) + &stderr(&output);
        let steers = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
        assert!(!text.is_empty() && !text.contains(steers), "{command:?}: {text:?}");
    }
}

#[test]
fn compare_refuses_what_the_schema_refuses() {
    let run = ["run", "hpp-switch", "--load", "0.1", "--warm-up", "1us", "--duration", "5us"];
    let right = json(&run);
    let path = scratch("compare-right.json", &right.to_string());
    assert!(flitway(&["compare", path.to_str().unwrap(), path.to_str().unwrap()]).status.success());
    let spoilt = |pointer: &str, value: Value| {
        let mut result = right.clone();
        *result.pointer_mut(pointer).unwrap() = value;
        result
    };
    for (name, wrong, place) in [
        ("point", spoilt("/points/0", json!("<b>")), "`/points/0`: \"<b>\" is not of type \"object\""),
        (
            "mean",
            spoilt("/points/0/packet_latency_ns/mean", json!("<b>")),
            "`/points/0/packet_latency_ns/mean`",
        ),
        ("null", spoilt("/points/0/packet_latency_ns/mean", Value::Null), "null is not of type \"number\""),
        ("minus", spoilt("/points/0/packet_latency_ns/mean", json!(-1)), "less than the minimum of 0"),
        ("verdict", spoilt("/points/0/verdict", json!(7)), "`/points/0/verdict`: 7 is not one of"),
        ("machine", spoilt("/machine", Value::Null), "`/machine`: null is not of type \"object\""),
    ] {
        let path_of = scratch(&format!("compare-{name}.json"), &wrong.to_string());
        let wrong = path_of.to_str().unwrap();
        let expected = ["does not pass `docs/result.schema.json`", place, "= help: expected a result"];
        assert_refused(&[(&["compare", path.to_str().unwrap(), wrong], &expected)]);
    }
}

#[test]
fn a_report_page_carries_a_policy_that_lets_nothing_in() {
    let page = scratch("policy.html", "");
    let path = page.to_str().unwrap();
    let run =
        ["run", "hpp-switch", "--load", "0.1", "--warm-up", "1us", "--duration", "5us", "--report", path];
    assert!(flitway(&run).status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    let policy = html.find("Content-Security-Policy").unwrap();
    assert!(html[policy..].contains("default-src 'none'") && policy < html.find("<style").unwrap());
}

#[test]
fn what_a_simulation_cost_is_told_on_request() {
    let goal = scratch("cost.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n");
    let short = ["--warm-up", "2us", "--duration", "10us"];
    let runs: [Vec<&str>; 5] = [
        [&["--load", "0.1"], &short[..]].concat(),
        [&["--multicast", "all"], &short[..]].concat(),
        [&["--barrier", "all", "--interval", "2us"], &short[..]].concat(),
        vec!["--train", "0-1", "--count", "9"],
        vec!["--graph", goal.to_str().unwrap()],
    ];
    for run in runs {
        let text = |more: &[&str]| stdout(&flitway(&[&["run", "hpp-switch"], &run[..], more].concat()));
        assert!(!text(&[]).contains("packet-hop"), "{run:?}");
        let told = text(&["--verbose"]);
        let last = told.lines().last().unwrap();
        assert!(last.starts_with("cost: ") && last.contains(" packet-hops in "), "{run:?}: {told}");
    }
}

#[test]
fn headings_name_what_set_has_changed() {
    let goal = scratch("set.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n");
    let short = ["--warm-up", "2us", "--duration", "10us"];
    let set = ["--set", "switch.vcs=2", "--set", "topology.nodes=8"];
    let runs: [Vec<&str>; 6] = [
        [&["--load", "0.1"], &short[..]].concat(),
        [&["--multicast", "all"], &short[..]].concat(),
        [&["--barrier", "all", "--interval", "2us"], &short[..]].concat(),
        [&["--load", "0.1", "--seeds", "2"], &short[..]].concat(),
        vec!["--train", "0-1", "--count", "9"],
        vec!["--graph", goal.to_str().unwrap()],
    ];
    for run in runs {
        let text = stdout(&flitway(&[&["run", "hpp-switch"], &run[..], &set].concat()));
        assert!(text.starts_with("hpp-switch with topology.nodes=8, switch.vcs=2: "), "{run:?}: {text}");
    }
    let out = format!("{}/set-out", env!("CARGO_TARGET_TMPDIR"));
    let run =
        ["run", "--experiment", "hpp-vcs", "--duration", "1us", "--out", &out, "--set", "topology.nodes=4"];
    let text = stdout(&flitway(&run));
    assert!(text.starts_with("hpp-vcs with topology.nodes=4: "), "{text}");
}

#[test]
fn the_table_of_a_plot_says_what_is_in_it_and_fits() {
    let values: Vec<String> = (1..=16).map(|rails| format!("[{rails}, \"{} B\"]", rails * 64)).collect();
    let text = format!(
        "name = \"wide\"\n[run]\nmachine = \"dawning5000-asic\"\ntrain = \"0-1\"\ncount = \"10\"\n\
         [[vary]]\nover = [\"rails\", \"packet\"]\nvalues = [{}]\n[[vary]]\nover = \"switch.vcs\"\nvalues = [1, 2]\n\
         [[plot]]\nname = \"time\"\nx = \"switch.vcs\"\ny = \"train.time_ns\"\nby = [\"rails\", \"packet\"]\n",
        values.join(", ")
    );
    let experiment = scratch("wide-plot.toml", &text);
    let out = format!("{}/wide-plot", env!("CARGO_TARGET_TMPDIR"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_flitway"));
    let output = command
        .args(["run", "--experiment", experiment.to_str().unwrap(), "--out", &out])
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(
        text.contains("train.time_ns in us, a column for each rails, packet"),
        "{text}{}",
        stderr(&output)
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let heads: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("rails ")).collect();
    let rails = heads.iter().flat_map(|line| line.split_whitespace().skip(1));
    let expected: Vec<String> = (1..=16).map(|rails| rails.to_string()).collect();
    assert!(
        heads.len() > 1 && rails.eq(expected.iter()),
        "each line of the plot has its column once: {text}"
    );
}
