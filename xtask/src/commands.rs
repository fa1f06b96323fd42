//! The commands that run other programs, in the order in which `ci` runs them.

use crate::gate;
use crate::python;
use crate::run::{Outcome, Steps, cargo, has_component, root};
use crate::tidy;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// What is fuzzed.
struct Reader {
    /// The package with a test `fuzz` that `FLITWAY_FUZZ_SECONDS` prolongs.
    package: &'static str,
    /// The target in `fuzz/`.
    target: &'static str,
    /// Where examples of what it reads lie.
    examples: &'static str,
}

const READERS: [Reader; 6] = [
    Reader { package: "flitway-machine", target: "machine", examples: "machines" },
    Reader { package: "flitway-experiment", target: "experiment", examples: "experiments" },
    Reader { package: "flitway-workload", target: "goal", examples: "tests/golden" },
    Reader { package: "flitway-machine", target: "graph_file", examples: "docs" },
    Reader { package: "flitway-workload", target: "lists", examples: "docs" },
    Reader { package: "flitway-experiment", target: "results", examples: "docs" },
];

pub(crate) fn check() -> Outcome {
    check_steps(&mut Steps::default())
}

fn check_steps(steps: &mut Steps) -> Outcome {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !has_component(subcommand) {
            return Err(format!("{component} is not installed: run `rustup component add rustfmt clippy`"));
        }
    }
    steps.run(&mut cargo(&["fmt", "--all", "--check"]))?;
    steps.run(&mut cargo(&["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    steps.run(&mut cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let mut doc = cargo(&["doc", "--quiet", "--workspace", "--no-deps"]);
    steps.run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

pub(crate) fn test(rest: &[OsString]) -> Outcome {
    test_steps(&mut Steps::default(), rest)
}

fn test_steps(steps: &mut Steps, rest: &[OsString]) -> Outcome {
    // `--quiet`: a dot a test; names and output of those that fail.
    steps.run(cargo(&["test", "--quiet", "--no-fail-fast", "--workspace"]).args(rest))
}

/// Runs a command of the package `flitway-lab`; speed is measured in release builds, and long searches run in them.
pub(crate) fn lab(command: &str, rest: &[OsString]) -> Outcome {
    let status = if ["bench", "prove"].contains(&command) {
        let run = ["run", "--quiet", "--release", "--package", "flitway-lab", "--", command];
        cargo(&run).args(rest).status()
    } else {
        let binary = built("flitway-lab")?;
        // As `cargo run` would have it.
        let own = root().join("xtask/lab");
        let mut run = Command::new(binary);
        run.arg(command).args(rest).current_dir(root()).env("CARGO_MANIFEST_DIR", own).status()
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("{command} has failed")),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

/// The program `name`, built as the tests of the whole workspace are. A package alone would be built with fewer features of
/// some dependencies, and so would all that depends on them, a second time.
pub(crate) fn built(name: &str) -> Outcome<PathBuf> {
    let status = cargo(&["build", "--quiet", "--workspace", "--bin", name]).status();
    match status {
        Ok(status) if status.success() => Ok(python::target().join("debug").join(name)),
        Ok(_) => Err(format!("{name} cannot be built")),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

pub(crate) fn fuzz(seconds: u32, coverage: bool) -> Outcome {
    let mut steps = Steps::default();
    if coverage && !has_component("fuzz") {
        return Err(
            "cargo-fuzz is not installed: run `cargo install cargo-fuzz`; it needs a C++ compiler".to_owned()
        );
    }
    for (place, reader) in READERS.iter().enumerate() {
        // The test of a package has all of its readers.
        if !coverage && READERS[..place].iter().any(|other| other.package == reader.package) {
            continue;
        }
        let mut command = if coverage { guided(reader, seconds)? } else { seeded(reader, seconds) };
        steps.run(&mut command)?;
    }
    Ok(())
}

/// What is built in. Advisories change from day to day and need the network: `cargo deny check` has them.
pub(crate) fn deny() -> Outcome {
    if !has_component("deny") {
        return Err("cargo-deny is not installed: run `cargo install cargo-deny --locked`".to_owned());
    }
    let mut steps = Steps::default();
    steps.run(&mut cargo(&["deny", "--offline", "check", "licenses", "bans", "sources"]))
}

/// Random damage that a number repeats: nothing to install.
fn seeded(reader: &Reader, seconds: u32) -> Command {
    let mut command = cargo(&["test", "--quiet", "--package", reader.package, "--test", "fuzz"]);
    command.env("FLITWAY_FUZZ_SECONDS", seconds.to_string());
    command
}

/// Damage that libFuzzer guides by coverage; no sanitizer, because those need a nightly compiler.
fn guided(reader: &Reader, seconds: u32) -> Outcome<Command> {
    let corpus = format!("fuzz/corpus/{}", reader.target);
    let folder = root().join(&corpus);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{corpus} cannot be made: {error}"))?;
    let mut command = cargo(&["fuzz", "run", "--sanitizer", "none", reader.target, &corpus, reader.examples]);
    command.args(["--", "-max_len=8192", &format!("-max_total_time={seconds}")]);
    Ok(command)
}

/// All of it, whatever fails on the way: one run tells everything. The quick ones first.
pub(crate) fn ci() -> Outcome {
    let mut steps = Steps::default();
    let mut outcomes = Vec::new();
    if std::env::var_os("CI").is_some() {
        outcomes.push(check_lock(&mut steps));
    }
    outcomes.push(steps.work("cargo xtask tidy", tidy::run));
    outcomes.push(check_steps(&mut steps));
    outcomes.push(steps.work("cargo xtask gen --check", || lab("gen", &["--check".into()])));
    outcomes.push(steps.work("cargo xtask golden", || lab("golden", &[])));
    outcomes.push(test_steps(&mut steps, &[]));
    let campaign = ["--today", "--seconds", "30"].map(OsString::from);
    outcomes.push(steps.work("cargo xtask campaign --today --seconds 30", || lab("campaign", &campaign)));
    outcomes.push(python::steps(&mut steps, &[]));
    outcomes.push(steps.work("cargo xtask gate", || gate::gate(false)));
    // The README's main command names no package: Cargo must know which program is meant.
    outcomes.push(steps.run(&mut cargo(&["run", "--quiet", "--release", "--", "list", "machines"])));
    steps.print_times();
    let failures: Vec<String> = outcomes.into_iter().filter_map(Outcome::err).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\nxtask: ")) }
}

/// Cargo brings a stale lock file up to date by itself, so everybody would build something else.
fn check_lock(steps: &mut Steps) -> Outcome {
    let mut git = Command::new("git");
    git.args(["diff", "--exit-code", "--stat", "--", "Cargo.lock"]).current_dir(root());
    steps.run(&mut git).map_err(|_| "Cargo.lock was not current: build, then commit it".to_owned())
}
