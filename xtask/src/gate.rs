//! `gate`: instructions of small runs by callgrind, against accepted figures. Times depend on who else uses the machine;
//! instructions do not, and a loss of some percent shows.

use crate::run::{Outcome, root};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// What is run: its name in the file of figures, and the arguments of `flitway run`.
const CASES: &[(&str, &[&str])] = &[
    ("hpp-switch", &["hpp-switch", "--load", "0.6", "--warm-up", "20us", "--duration", "60us"]),
    ("fattree-128", &["fattree-128", "--load", "0.5", "--warm-up", "10us", "--duration", "30us"]),
    ("sp-switch-16", &["sp-switch-16", "--load", "0.5", "--warm-up", "50us", "--duration", "150us"]),
];

/// What reads how much memory there is: in a run that takes longer more often. They are not counted.
const BY_THE_CLOCK: [&str; 3] = [
    "flitway_report::memory::Guard::is_exhausted",
    "flitway_report::memory::fits_for",
    "flitway_report::memory::peak_rss_bytes",
];

/// By how much figures may differ from those accepted, in percent.
const TOLERANCE: f64 = 1.5;

const FIGURES: &str = "tests/instructions.txt";

/// Measures, and compares or accepts.
pub(crate) fn gate(accept: bool) -> Outcome {
    let compiler = compiler()?;
    let binary = build()?;
    let measured: Vec<(&str, u64)> = CASES
        .iter()
        .map(|(name, arguments)| Ok((*name, instructions(&binary, arguments)?)))
        .collect::<Result<_, String>>()?;
    if accept {
        return write(&compiler, &measured);
    }
    let text = std::fs::read_to_string(root().join(FIGURES))
        .map_err(|error| format!("{FIGURES} cannot be read: {error}; run `cargo xtask gate --accept`"))?;
    let accepted = read(&text);
    if accepted.compiler != compiler {
        println!(
            "the figures are those of {}; with {compiler} they are not compared: run `cargo xtask gate --accept`",
            accepted.compiler
        );
        return Ok(());
    }
    compare(&accepted.figures, &measured)
}

fn compare(accepted: &BTreeMap<&str, u64>, measured: &[(&str, u64)]) -> Outcome {
    let mut failures = Vec::new();
    for &(name, now) in measured {
        let Some(&before) = accepted.get(name) else {
            failures.push(format!("{name} has no accepted figure"));
            continue;
        };
        let change = (now as f64 / before as f64 - 1.0) * 100.0;
        println!("{name:14} {before:>13} -> {now:>13} instructions, {change:+.2} %");
        if change.abs() > TOLERANCE {
            failures.push(format!("{name} takes {change:+.2} % instructions, more than {TOLERANCE} % away"));
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    let cure = "if it is meant, run `cargo xtask gate --accept`, in a commit that says why";
    Err(format!("{}\n{cure}", failures.join("\n")))
}

/// The accepted figures, and the compiler that they were measured with.
#[derive(Debug, PartialEq, Eq)]
struct Accepted<'a> {
    compiler: &'a str,
    figures: BTreeMap<&'a str, u64>,
}

/// Reads `compiler: NAME`, then lines `CASE INSTRUCTIONS`; `#` begins a comment.
fn read(text: &str) -> Accepted<'_> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let compiler = lines().find_map(|line| line.strip_prefix("compiler: ")).unwrap_or("an unknown compiler");
    let figure = |line: &'_ str| -> Option<(usize, u64)> {
        let end = line.find(' ')?;
        Some((end, line[end..].trim().parse().ok()?))
    };
    let figures = lines().filter_map(|line| figure(line).map(|(end, figure)| (&line[..end], figure)));
    Accepted { compiler, figures: figures.collect() }
}

fn write(compiler: &str, measured: &[(&str, u64)]) -> Outcome {
    let mut text = String::from(
        "# Instructions of small runs, by callgrind, with the release build: `cargo xtask gate`, and --accept.\n",
    );
    text.push_str(&format!("compiler: {compiler}\n"));
    for (name, instructions) in measured {
        text.push_str(&format!("{name} {instructions}\n"));
    }
    std::fs::write(root().join(FIGURES), &text).map_err(|error| format!("{FIGURES}: {error}"))?;
    print!("{text}");
    Ok(())
}

/// As `rustc --version` says.
fn compiler() -> Result<String, String> {
    let output = Command::new("rustc").arg("--version").output();
    let output = output.map_err(|error| format!("rustc cannot be started: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Builds the release binary.
fn build() -> Result<PathBuf, String> {
    let status = crate::run::cargo(&["build", "--quiet", "--release", "--package", "flitway"]).status();
    match status {
        Ok(status) if status.success() => Ok(root().join("target/release/flitway")),
        Ok(_) => Err("the release build has failed".to_owned()),
        Err(error) => Err(format!("cargo cannot be started: {error}")),
    }
}

/// Instructions of `flitway run` with these arguments, on one thread.
fn instructions(binary: &PathBuf, arguments: &[&str]) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    command.args(BY_THE_CLOCK.map(|function| format!("--toggle-collect={function}")));
    // It counts from the start, and not in those functions.
    command.arg("--collect-atstart=yes").arg(binary).arg("run");
    command.args(arguments).args(["--threads", "1", "--json", "-"]);
    let output = command.output().map_err(|error| {
        format!("valgrind cannot be started: {error}; on Debian, apt-get install valgrind")
    })?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("flitway run {} has failed:\n{text}", arguments.join(" ")));
    }
    let collected = text.lines().find_map(|line| line.split_once("Collected : "));
    let count = collected.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| format!("valgrind says no count of instructions:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_and_compared() {
        let accepted = read("# comment\ncompiler: rustc 1.2.3\na 1000\nb 2000\n");
        assert_eq!(accepted.compiler, "rustc 1.2.3");
        assert_eq!(accepted.figures, BTreeMap::from([("a", 1_000), ("b", 2_000)]));
        assert_eq!(compare(&accepted.figures, &[("a", 1_014), ("b", 1_971)]), Ok(()));
        let failure = compare(&accepted.figures, &[("a", 1_016), ("c", 1)]).unwrap_err();
        assert!(
            failure.contains("a takes +1.60 %") && failure.contains("c has no accepted figure"),
            "{failure}"
        );
    }
}
