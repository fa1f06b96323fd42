//! No output replaces an input, by whatever name it is called.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{flitway, stderr, stdout};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const GOAL: &str = "num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n";
const GRAPH: &str = "switch a\nnode n0 n1\nlink a:0 - n0\nlink a:1 - n1\n";
const TABLES: &str = "switch a\nto n0 port 0\nto n1 port 1\n";
const SHORT: [&str; 6] = ["--load", "0.1", "--warm-up", "1us", "--duration", "5us"];

/// A folder with an input of every kind.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let machine = stdout(&flitway(&["explain", "hpp-switch"]));
    let experiment = "name = \"mine\"\n[run]\nmachine = \"m.toml\"\nload = 0.1\nduration = \"5 us\"\nwarm_up = \"1 us\"\n\
                      packet = \"file(s.txt)\"\n[[vary]]\nover = \"seed\"\nvalues = [1, 2]\n[[plot]]\nname = \"p\"\n\
                      x = \"seed\"\ny = \"accepted_load\"\n";
    let files = [
        ("m.toml", machine.as_str()),
        ("a.goal", GOAL),
        ("t.graph", GRAPH),
        ("t.tables", TABLES),
        ("p.txt", "0\n1\n"),
        ("s.txt", "64 1\n128 1\n"),
        ("w.txt", "0 1\n1 0\n"),
        ("e.toml", experiment),
    ];
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    symlink("m.toml", folder.join("soft")).unwrap();
    fs::hard_link(folder.join("m.toml"), folder.join("hard")).unwrap();
    folder
}

/// That `arguments` run, and that with each output in the place of `input` they are refused and change nothing.
fn refused(folder: &Path, arguments: &[&str], outputs: &[&str], inputs: &[&str]) {
    let paths: Vec<String> =
        arguments.iter().map(|it| it.replace('@', &format!("{}/", folder.display()))).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let output = flitway(&paths);
    assert!(output.status.success(), "{paths:?}: {}", stderr(&output));
    for (option, input) in outputs.iter().flat_map(|option| inputs.iter().map(move |input| (option, input))) {
        let path = folder.join(input);
        let before = fs::read(&path).unwrap();
        let output = flitway(&[&paths[..], &[option, path.to_str().unwrap()]].concat());
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{option} {input}: {message}");
        let expected = ["would replace an input", "the experiment itself keeps"];
        assert!(expected.iter().any(|part| message.contains(part)), "{option} {input}: {message}");
        assert_eq!(fs::read(&path).unwrap(), before, "{option} {input}");
    }
}

const ALL: [&str; 4] = ["--json", "--parquet", "--report", "--trace"];

#[test]
fn no_output_of_a_run_replaces_what_it_reads() {
    let folder = folder("inputs-run");
    let set = "topology={kind=\"graph\",file=\"@t.graph\"}";
    let run = |rest: &[&'static str]| [&["run", "@m.toml"], &SHORT[..], rest].concat();
    refused(&folder, &run(&[]), &ALL, &["m.toml", "soft", "hard"]);
    refused(&folder, &run(&["--packet", "file(@s.txt)"]), &ALL, &["s.txt"]);
    let two = ["--set", set, "--set", "link.length.switch=5 m", "--set", "routing.algorithm=up-down"];
    refused(
        &folder,
        &run(&[&two[..], &["--traffic", "matrix(@w.txt)"]].concat()),
        &["--json"],
        &["t.graph", "w.txt"],
    );
    let tables = "routing={algorithm=\"tables\",file=\"@t.tables\"}";
    let by_tables = ["--set", set, "--set", "link.length.switch=5 m", "--set", tables];
    refused(&folder, &run(&by_tables), &["--json"], &["t.tables"]);
    let graph = ["run", "hpp-switch", "--graph", "@a.goal", "--placement", "@p.txt"];
    refused(&folder, &graph, &ALL, &["a.goal", "p.txt"]);
    refused(&folder, &["check", "@m.toml"], &["--json"], &["m.toml", "soft", "hard"]);
}

#[test]
fn no_output_of_an_experiment_replaces_what_it_reads_or_keeps() {
    let folder = folder("inputs-experiment");
    let out = format!("{}/out", folder.display());
    let run = ["run", "--experiment", "@e.toml", "--out", &out];
    let output = flitway(
        &run.map(|it| it.replace('@', &format!("{}/", folder.display()))).each_ref().map(|it| it.as_str()),
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let point = fs::read_dir(folder.join("out/points")).unwrap().next().unwrap().unwrap().file_name();
    let point = format!("out/points/{}", point.to_str().unwrap());
    let kept = ["e.toml", "m.toml", "s.txt", "soft", "out/p.csv", "out/p.svg", &point];
    refused(&folder, &run, &["--json", "--parquet", "--report"], &kept);
    // Nor does what an experiment keeps replace what it reads.
    fs::rename(folder.join("s.txt"), folder.join("p.csv")).unwrap();
    let text = fs::read_to_string(folder.join("e.toml")).unwrap().replace("s.txt", "p.csv");
    fs::write(folder.join("e.toml"), text).unwrap();
    let here = folder.to_str().unwrap();
    let output = flitway(&["run", "--experiment", folder.join("e.toml").to_str().unwrap(), "--out", here]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("would replace an input"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.join("p.csv")).unwrap(), "64 1\n128 1\n");
}
