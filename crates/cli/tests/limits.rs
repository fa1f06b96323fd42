//! What is too large, has no end, or is no text is refused in a moment, with a message and status 2.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output};

/// `flitway` with 4 GB of addresses.
fn limited(arguments: &[&str]) -> Output {
    let script = "ulimit -v 4000000 && exec \"$0\" \"$@\"";
    Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_flitway")]).args(arguments).output().unwrap()
}

#[test]
fn memory_is_estimated_before_anything_is_built() {
    let goal = "num_ranks 2\nrank 0 {\nsend 200000000000b to 1\n}\nrank 1 {\nrecv 200000000000b from 0\n}\n";
    let goal = scratch("limits-200gb.goal", goal);
    let experiment = "name = \"large\"\n[run]\nmachine = \"mesh-8x8\"\nload = 0.1\nduration = \"1 us\"\n\
                      set.topology.dimensions = [2048, 4096]\n";
    let experiment = scratch("limits-large.toml", experiment);
    let large = ["--set", "topology.dimensions=[4096,4096]"];
    let cases: [(Vec<&str>, &str); 5] = [
        ([&["check", "mesh-8x8"], &large[..]].concat(), "the machine, without packets, needs about "),
        ([&["run", "mesh-8x8"], &large[..]].concat(), "the machine, without packets, needs about "),
        (vec!["run", "hpp-switch", "--graph", goal.to_str().unwrap()], "its largest message of each rank"),
        (
            vec!["run", "--experiment", experiment.to_str().unwrap()],
            "the machine, without packets, needs about ",
        ),
        (
            vec!["run", "hpp-switch", "--set", "packet.mtu=1B", "--graph", goal.to_str().unwrap()],
            "200000000000 packets of 1 B",
        ),
    ];
    for (arguments, message) in cases {
        let output = limited(&arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(message) && error.contains("of memory, and "), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn what_is_no_file_is_refused_by_every_reader() {
    let pipe = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("limits.toml");
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let pipe = pipe.to_str().unwrap().to_owned();
    let graph = |path: &str| format!("topology={{kind=\"graph\",file=\"{path}\"}}");
    for (path, what) in [("/dev/zero", "a device"), (&pipe, "a named pipe"), ("/tmp", "a directory")] {
        let (file, list) = (format!("file({path})"), format!("matrix({path})"));
        let (link, graph) = ("link.length.switch=5 m", graph(path));
        let goal = scratch("limits-small.goal", "num_ranks 1\nrank 0 {\ncalc 1\n}\n");
        let readers: [&[&str]; 7] = [
            &["check", path],
            &["check", "hpp-switch", "--set", &graph, "--set", link],
            &["run", "--experiment", path],
            &["run", "hpp-switch", "--graph", path],
            &["run", "hpp-switch", "--graph", goal.to_str().unwrap(), "--placement", path],
            &["run", "hpp-switch", "--packet", &file],
            &["run", "hpp-switch", "--traffic", &list],
        ];
        for reader in readers {
            assert_refused(&[(reader, &[what])]);
        }
        assert_refused(&[(&["compare", path, path], &[what])]);
    }
}

#[test]
fn an_argument_that_is_not_utf_8_is_refused_with_a_message() {
    let run = |arguments: &[&[u8]]| {
        let arguments = arguments.iter().map(|bytes| OsStr::from_bytes(bytes));
        Command::new(env!("CARGO_BIN_EXE_flitway")).args(arguments).output().unwrap()
    };
    for arguments in [
        &[&b"check"[..], b"x\xff"][..],
        &[b"check", b"hpp-switch", b"--set", b"switch.vcs=\xff"],
        &[b"run", b"hpp-switch", b"--json", b"out\xff.json"],
    ] {
        let output = run(arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("is not UTF-8 text") && error.contains("= help:"), "{error}");
    }
}

#[test]
fn a_hundred_problems_are_told_of_any_number() {
    let mut text = String::new();
    (0..20_000).for_each(|number| writeln!(text, "k{number} = 1").unwrap());
    let machine = scratch("limits-keys.toml", &text);
    let output = flitway(&["check", machine.to_str().unwrap()]);
    let error = stderr(&output);
    assert_eq!((output.status.code(), error.matches("error[").count()), (Some(2), 100));
    assert!(error.ends_with("there are more problems than these 100; the rest is not listed\n"), "{error}");
    let values: Vec<String> = (100..2_100).map(|value| value.to_string()).collect();
    let text = format!(
        "name = \"x\"\n[run]\nmachine = \"hpp-switch\"\nload = 0.1\n[[vary]]\nover = \"switch.vcs\"\nvalues = [{}]\n",
        values.join(", ")
    );
    let experiment = scratch("limits-values.toml", &text);
    let error = stderr(&flitway(&["run", "--experiment", experiment.to_str().unwrap()]));
    assert_eq!(error.matches("error[").count(), 100);
}

#[test]
fn a_binary_file_is_named_and_not_shown() {
    let elf = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("binary.toml");
    for bytes in [&b"\x7fELF\x02\x01\x01\0\0\xc0\xff"[..], b"name = \"\0\"\n"] {
        std::fs::write(&elf, bytes).unwrap();
        let path = elf.to_str().unwrap();
        let topology = format!("topology={{kind=\"graph\",file=\"{path}\"}}");
        assert_refused(&[
            (&["check", path], &["is a binary file, and not a machine file"]),
            (&["run", path], &["is a binary file, and not a machine file"]),
            (&["run", "--experiment", path], &["is a binary file, and not an experiment file"]),
            (&["check", "hpp-switch", "--set", &topology], &["is a binary file, and not a graph file"]),
        ]);
        let shown = stderr(&flitway(&["check", path]));
        assert!(!shown.contains("ELF") && !shown.contains('\u{2400}'), "{shown}");
    }
}

#[test]
fn a_duration_below_a_step_of_the_simulation_is_told() {
    let run = |duration| {
        stdout(&flitway(&["run", "hpp-switch", "--load=0.9", "--warm-up=1us", "--duration", duration]))
    };
    assert!(run("1 ns").contains("measured           13 ns: --duration is rounded up"), "{}", run("1 ns"));
    assert!(!run("1 us").contains("is rounded up"));
}
