//! `flitway run --experiment` as a user and a script meet it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A new folder of this test run.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("experiment").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn flitway(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flitway")).args(arguments).current_dir(folder).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn assert_valid(value: &Value, schema: &str) {
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn assert_result(experiment: &Value) {
    assert_valid(experiment, include_str!("../../../docs/experiment.schema.json"));
    for point in experiment["points"].as_array().unwrap() {
        if let Some(result) = point.get("result") {
            assert_valid(result, include_str!("../../../docs/result.schema.json"));
        }
    }
}

const QUICK: &str =
    "name = \"quick\"\n[run]\nmachine = \"hpp-switch\"\nload = 0.3\nwarm_up = \"2 us\"\nduration = \"5 us\"
[[vary]]\nover = \"switch.vcs\"\nvalues = [1, 2, 3]
[[plot]]\nname = \"vcs\"\nx = \"switch.vcs\"\ny = \"accepted_load\"
[[finding]]\ntext = \"{max accepted_load}\"\n";

fn quick(name: &str) -> PathBuf {
    let folder = scratch(name);
    std::fs::write(folder.join("quick.toml"), QUICK).unwrap();
    folder
}

/// `FLITWAY_ACCEPT=1 cargo test -p flitway --test experiment` writes what it prints today.
#[test]
fn the_example_of_the_page_is_run_and_prints_what_the_page_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let block = |start: &str| {
        let from = page.find(start).unwrap() + start.len();
        (from, from + page[from..].find("\n```").unwrap() + 1)
    };
    let file = block("```toml\n");
    let output = block("```text\n");
    let folder = scratch("page");
    std::fs::write(folder.join("few-vcs.toml"), &page[file.0..file.1]).unwrap();
    let run = flitway(&folder, &["run", "--experiment", "few-vcs.toml"]);
    assert!(run.status.success() && run.stderr.is_empty(), "{}", stderr(&run));
    let lines: Vec<String> = stdout(&run).lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let shown = format!("$ flitway run --experiment few-vcs.toml\n{}", lines.concat());
    if std::env::var_os("FLITWAY_ACCEPT").is_some() {
        std::fs::write(&path, format!("{}{shown}{}", &page[..output.0], &page[output.1..])).unwrap();
    } else {
        assert_eq!(shown, page[output.0..output.1]);
    }
}

#[test]
fn a_result_keeps_to_its_schema_and_goes_where_it_is_told() {
    let folder = quick("schema");
    let run = flitway(&folder, &["run", "--experiment", "quick.toml", "--out", "here", "--json", "out.json"]);
    assert!(run.status.success(), "{}", stderr(&run));
    let result: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("out.json")).unwrap()).unwrap();
    assert_result(&result);
    assert_eq!(result["experiment"]["text"], QUICK);
    assert_eq!(result["points"][2]["values"]["switch.vcs"], 3);
    let csv = std::fs::read_to_string(folder.join("here/vcs.csv")).unwrap();
    assert!(csv.starts_with("switch.vcs,accepted_load,accepted_load ci95,verdict\n1,0."), "{csv}");
    let picture = std::fs::read_to_string(folder.join("here/vcs.svg")).unwrap();
    assert!(picture.starts_with("<svg xmlns=") && picture.matches("<circle").count() == 3, "{picture}");
    assert_eq!(std::fs::read_dir(folder.join("here/points")).unwrap().count(), 3);
    // A kept point is a result like any other, and its command runs it alone.
    let command = result["points"][1]["result"]["command"].as_array().unwrap();
    let mut arguments: Vec<&str> = command[1..].iter().map(|word| word.as_str().unwrap()).collect();
    arguments.extend(["--json", "-"]);
    let alone: Value = serde_json::from_str(&stdout(&flitway(&folder, &arguments))).unwrap();
    let accepted = |result: &Value| result["points"][0]["accepted_load"].clone();
    assert_eq!(accepted(&alone), accepted(&result["points"][1]["result"]));
    // With `-` there is JSON on standard output and nothing else; all points are kept.
    let again = flitway(&folder, &["run", "--experiment", "quick.toml", "--out", "here", "--json", "-"]);
    let mut again: Value = serde_json::from_str(&stdout(&again)).unwrap();
    again["command"] = result["command"].clone();
    assert_eq!(again, result);
}

#[test]
fn only_what_has_changed_is_run_again() {
    let folder = quick("changed");
    let run = |arguments: &[&str]| {
        let run = flitway(&folder, &[&["run", "--experiment", "quick.toml"], arguments].concat());
        assert!(run.status.success(), "{}", stderr(&run));
        std::fs::read_dir(folder.join("results/quick/points")).unwrap().count()
    };
    assert_eq!(run(&[]), 3);
    assert_eq!(run(&["--threads", "2"]), 3);
    std::fs::write(folder.join("quick.toml"), QUICK.replace("[1, 2, 3]", "[1, 2, 3, 4]")).unwrap();
    assert_eq!(run(&[]), 4);
    assert_eq!(run(&["--seed", "2"]), 8);
    assert_eq!(run(&["--duration", "4 us"]), 12);
    assert_eq!(run(&["--set", "switch.arbiter=lrg"]), 16);
}

#[cfg(unix)]
#[test]
fn an_interrupted_experiment_keeps_its_points_and_says_so() {
    let folder = quick("interrupted");
    let text = QUICK.replace("warm_up = \"2 us\"\nduration = \"5 us\"", "precision = \"20%\"");
    // The second point takes longer than anybody waits.
    let long = text
        .replace("\"switch.vcs\"\nvalues = [1, 2, 3]", "\"duration\"\nvalues = [\"5 us\", \"1000 s\"]")
        .replace("x = \"switch.vcs\"", "x = \"duration\"");
    std::fs::write(folder.join("long.toml"), long).unwrap();
    for (signal, threads) in [("-INT", "1"), ("-TERM", "2")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flitway"));
        command.args(["run", "--experiment", "long.toml", "--json", "long.json", "--threads", threads]);
        command.current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let points = folder.join("results/quick/points");
        let is_kept = || {
            std::fs::read_dir(&points).is_ok_and(|files| {
                files.flatten().any(|file| file.path().extension().is_some_and(|end| end == "json"))
            })
        };
        let started = Instant::now();
        while !is_kept() {
            assert!(started.elapsed() < Duration::from_secs(60), "the first point takes too long");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Once a point is kept, somebody listens.
        std::thread::sleep(Duration::from_millis(100));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("interrupted"));
        let said = stdout(&output);
        assert!(said.contains("* `?` is not known yet: ?") && said.contains("1 point not run"), "{said}");
        let result: Value =
            serde_json::from_str(&std::fs::read_to_string(folder.join("long.json")).unwrap()).unwrap();
        assert_result(&result);
        assert!(result["points"][0].get("result").is_some() && result["points"][1].get("result").is_none());
        assert_eq!(std::fs::read_dir(&points).unwrap().count(), 1);
    }
}

#[test]
fn a_task_graph_that_cannot_finish_is_a_fault() {
    let folder = scratch("stuck");
    let goal = "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 1\n}\nrank 1 {\n}\n";
    std::fs::write(folder.join("stuck.goal"), goal).unwrap();
    let text = "name = \"stuck\"\n[run]\nmachine = \"hpp-switch\"\ngraph = \"stuck.goal\"\n";
    std::fs::write(folder.join("stuck.toml"), text).unwrap();
    for _ in 0..2 {
        let run = flitway(&folder, &["run", "--experiment", "stuck.toml"]);
        assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
        let message = stderr(&run);
        assert!(
            message.contains("rank 0 a: recv 8b from 1 tag 1") && message.contains("--graph stuck.goal"),
            "{message}"
        );
    }
}

#[test]
fn every_wrong_argument_has_its_message_and_status_2_and_nothing_is_written() {
    let folder = quick("wrong");
    std::fs::write(folder.join("file"), "").unwrap();
    let quick = ["run", "--experiment", "quick.toml"];
    let cases: &[(&[&str], &[&str])] = &[
        (&["run"], &["<MACHINE>"]),
        (&["run", "--experiment", "hpp-vc"], &["did you mean `hpp-vcs`", "FW-X001"]),
        (&["run", "--experiment", "quik.toml"], &["does not exist", "did you mean `quick.toml`"]),
        (&["run", "hpp-switch", "--experiment", "quick.toml"], &["[MACHINE]", "--experiment"]),
        (&["run", "hpp-switch", "--out", "x"], &["--out"]),
        (&[&quick[..], &["--load", "0.3"]].concat(), &["--experiment", "--load"]),
        (&[&quick[..], &["--traffic", "uniform"]].concat(), &["--experiment", "--traffic"]),
        (&[&quick[..], &["--packet", "8B"]].concat(), &["--experiment", "--packet"]),
        (&[&quick[..], &["--arrival", "periodic"]].concat(), &["--experiment", "--arrival"]),
        (&[&quick[..], &["--warm-up", "1us"]].concat(), &["--experiment", "--warm-up"]),
        (&[&quick[..], &["--graph", "a.goal"]].concat(), &["--experiment", "--graph"]),
        (&[&quick[..], &["--by", "hardware"]].concat(), &["--experiment", "--by"]),
        (&[&quick[..], &["--overheads"]].concat(), &["--experiment", "--overheads"]),
        (&[&quick[..], &["--root", "table"]].concat(), &["--experiment", "--root"]),
        (&[&quick[..], &["--staleness", "1us"]].concat(), &["--experiment", "--staleness"]),
        (&[&quick[..], &["--multicast-load", "0.1"]].concat(), &["--experiment", "--multicast-load"]),
        (&[&quick[..], &["--multicast-packet", "8B"]].concat(), &["--experiment", "--multicast-packet"]),
        (&[&quick[..], &["--interval", "1us"]].concat(), &["--experiment", "--interval"]),
        (&[&quick[..], &["--imbalance", "1us"]].concat(), &["--experiment", "--imbalance"]),
        (&[&quick[..], &["--lose", "any(at=node 1)"]].concat(), &["--experiment", "--lose"]),
        (&[&quick[..], &["--count", "3"]].concat(), &["--experiment", "--count"]),
        (&[&quick[..], &["--placement", "linear"]].concat(), &["--experiment", "--placement"]),
        (&[&quick[..], &["--set", "switch.vcs=2"]].concat(), &["FW-X005", "varied here"]),
        (&[&quick[..], &["--set", "switch.vc=2"]].concat(), &["did you mean `switch.vcs`"]),
        (&[&quick[..], &["--precision", "2"]].concat(), &["--precision:1:1", "between 0 and 1"]),
        (&[&quick[..], &["--duration", "5"]].concat(), &["--duration:1:1", "has no unit"]),
        (&[&quick[..], &["--out", "file"]].concat(), &["file: this is a file, expected a folder"]),
        (&[&quick[..], &["--json", "no/folder/x.json"]].concat(), &["cannot write there"]),
    ];
    for (arguments, expected) in cases {
        let output = flitway(&folder, arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?} ran something");
        for part in *expected {
            assert!(message.contains(part), "{arguments:?} should say {part:?}:\n{message}");
        }
        assert!(!message.contains("panicked"), "{message}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "nothing was written");
}

#[test]
fn a_damaged_point_is_refused_with_its_name_and_the_cure() {
    let folder = quick("damaged");
    assert!(flitway(&folder, &["run", "--experiment", "quick.toml"]).status.success());
    let points = folder.join("results/quick/points");
    let file = std::fs::read_dir(&points).unwrap().flatten().next().unwrap().path();
    std::fs::write(&file, "{}").unwrap();
    let csv = folder.join("results/quick/vcs.csv");
    std::fs::write(&csv, "before").unwrap();
    let output = flitway(&folder, &["run", "--experiment", "quick.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(message.contains(file.file_name().unwrap().to_str().unwrap()), "{message}");
    assert!(
        message.contains("this is no finished point") && message.contains("delete the file"),
        "{message}"
    );
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "before", "nothing is overwritten");
}
