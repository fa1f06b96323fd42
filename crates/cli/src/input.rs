//! Workload arguments as typed values. All that is wrong is collected before anything runs.

use crate::args::TrafficArguments;
use crate::failure::Failure;
use flitway_engine::{Clock, Cycle};
use flitway_machine::units;
use flitway_report::session::Patience;
use flitway_workload::Fraction;
use flitway_workload::graph::goal::Diagnostics as GoalProblems;
use flitway_workload::graph::{Placement, TaskGraph, goal};
use flitway_workload::traffic::size::{SizeChoice, Sizes};
use flitway_workload::traffic::{TrafficChoice, arrival, destination, size};
use std::fmt::Write;
use std::fs::File;
use std::io::BufReader;

/// Synthetic traffic, read.
#[derive(Debug)]
pub(crate) struct TrafficInput {
    pub(crate) choice: TrafficChoice,
    pub(crate) loads: Vec<Load>,
    pub(crate) patience: Patience,
}

/// A load to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// A fraction of the injection rate.
    Fraction(Fraction),
    /// Sources that always have a packet.
    Max,
}

/// The most load points of one run.
const LOADS_MAX: usize = 1_000;

/// Reads the arguments of synthetic traffic; all mistakes at once.
pub(crate) fn traffic(arguments: &TrafficArguments, clock: Clock) -> Result<TrafficInput, Failure> {
    let mut problems = Vec::new();
    let mut keep = |argument: &str, problem: String| problems.push(format!("error: {argument}: {problem}"));
    let destinations =
        destination::parse(&arguments.traffic).map_err(|error| keep("--traffic", error.to_string()));
    let mut arrivals =
        arrival::parse(arguments.arrival()).map_err(|error| keep("--arrival", error.to_string()));
    let sizes = sizes(&arguments.packet).map_err(|error| keep("--packet", error));
    let loads = loads(&arguments.load).map_err(|error| keep("--load", error));
    let ignores_load = arrivals.as_ref().is_ok_and(|arrivals| arrivals.ignores_load());
    if ignores_load && loads.as_ref().is_ok_and(|loads| loads.iter().any(|load| *load != Load::Max)) {
        let help = "write `--load max`, which implies `--arrival saturating`";
        keep(
            "--arrival",
            format!("saturating sources take what they get: they have no load\n  = help: {help}"),
        );
        arrivals = Err(());
    }
    let precision = arguments.precision.parse::<Fraction>().map(Fraction::as_f64);
    let precision = match precision {
        Ok(precision) if precision > 0.0 && precision < 1.0 => Ok(precision),
        _ => {
            let read = &arguments.precision;
            keep("--precision", format!("`{read}`: expected a fraction between 0 and 1, such as `2%`"));
            Err(())
        }
    };
    let mut span = |argument: &str, text: &Option<String>| {
        text.as_deref().map(|text| units::time(text).map(|span| clock.cycles_ceil(span))).transpose().map_err(
            |error| {
                let help = error.help().map_or_else(String::new, |help| format!("\n  = help: {help}"));
                keep(argument, format!("{error}: expected {}{help}", error.expectation()));
            },
        )
    };
    let (warm_up, duration) =
        (span("--warm-up", &arguments.warm_up), span("--duration", &arguments.duration));
    let duration = match duration {
        Ok(Some(Cycle::ZERO)) => {
            keep("--duration", "expected more than nothing".to_owned());
            Err(())
        }
        duration => duration,
    };
    match (destinations, arrivals, sizes, loads, precision, warm_up, duration) {
        (Ok(destinations), Ok(arrivals), Ok(sizes), Ok(loads), Ok(precision), Ok(warm_up), Ok(duration)) => {
            Ok(TrafficInput {
                choice: TrafficChoice { destinations, sizes, arrivals },
                loads,
                patience: Patience { precision, warm_up, duration },
            })
        }
        _ => Err(Failure::Input(problems.join("\n"))),
    }
}

fn sizes(text: &str) -> Result<Sizes, String> {
    match size::parse(text).map_err(|error| error.to_string())? {
        SizeChoice::Sizes(sizes) => Ok(sizes),
        SizeChoice::File(path) => {
            let list =
                std::fs::read_to_string(&path).map_err(|error| format!("{path}: cannot read: {error}"))?;
            Sizes::list(&list).map_err(|errors| {
                let lines: Vec<String> = errors.iter().map(|error| format!("{path}: {error}")).collect();
                lines.join("\nerror: --packet: ")
            })
        }
    }
}

/// `max`, one load, several with commas, or `A..B:STEP`.
fn loads(text: &str) -> Result<Vec<Load>, String> {
    if text == "max" {
        return Ok(vec![Load::Max]);
    }
    let expected = "expected a load (0.3), several (0.1,0.5), a range with a step (0.1..0.9:0.1) or `max`";
    let one = |text: &str| -> Result<Fraction, String> {
        let load: Fraction = text.parse().map_err(|_| format!("`{text}` is no load: {expected}"))?;
        match load.as_f64() {
            load if load <= 0.0 => Err(format!("`{text}`: a load is above 0")),
            load if load > 10.0 => {
                Err(format!("`{text}`: a load is a fraction of the injection rate, at most 10"))
            }
            _ => Ok(load),
        }
    };
    let Some((first, rest)) = text.split_once("..") else {
        return text.split(',').map(|text| one(text.trim()).map(Load::Fraction)).collect();
    };
    let (last, step) = rest.split_once(':').ok_or_else(|| format!("`{text}` has no step: {expected}"))?;
    let (first, last, step) = (one(first)?, one(last)?, one(step)?);
    let parts = |load: Fraction| (u128::from(load.numerator()), u128::from(load.denominator()));
    let ((a, b), (s, t)) = (parts(first), parts(step));
    let mut loads = Vec::new();
    for k in 0.. {
        // first + k step, exactly.
        let (top, bottom) = (a * t + k * s * b, b * t);
        let load =
            u64::try_from(top).ok().zip(u64::try_from(bottom).ok()).and_then(|(n, d)| Fraction::new(n, d));
        let load = load.ok_or_else(|| format!("`{text}`: too many digits"))?;
        if load.as_f64() > last.as_f64() + 1e-12 {
            break;
        }
        if loads.len() == LOADS_MAX {
            return Err(format!("`{text}` has more than {LOADS_MAX} points"));
        }
        loads.push(Load::Fraction(load));
    }
    if loads.is_empty() { Err(format!("`{text}` is empty: it begins above its end")) } else { Ok(loads) }
}

/// Reads a task graph.
pub(crate) fn graph(path: &str) -> Result<TaskGraph, Failure> {
    let file = File::open(path)
        .map_err(|error| Failure::input(format!("--graph {path}: cannot open: {error}"), None))?;
    goal::read(BufReader::new(file)).map_err(|problems| Failure::Input(goal_picture(path, &problems)))
}

/// The mistakes of a GOAL file, each with its place.
fn goal_picture(path: &str, problems: &GoalProblems) -> String {
    let mut text = String::new();
    for problem in &problems.list {
        let span = problem.span;
        let number = span.line.to_string();
        let margin = " ".repeat(number.len());
        // Writing to a string does not fail.
        let _ = writeln!(text, "error[{}]: {}", problem.problem.code(), problem.problem);
        let _ = writeln!(text, "{margin}--> {path}:{}:{}", span.line, span.column);
        if !problem.source_line.is_empty() {
            let before: String = problem
                .source_line
                .chars()
                .take(span.column.saturating_sub(1) as usize)
                .map(|character| if character == '\t' { '\t' } else { ' ' })
                .collect();
            let _ = writeln!(text, "{margin} |\n{number} | {}", problem.source_line);
            let _ = writeln!(text, "{margin} | {before}{}", "^".repeat(span.length.clamp(1, 80) as usize));
        }
        if let Some(help) = problem.problem.help() {
            let _ = writeln!(text, "{margin} = help: {help}");
        }
        text.push('\n');
    }
    match problems.omitted {
        0 => text.truncate(text.trim_end().len()),
        omitted => {
            let _ = write!(text, "error: {omitted} more mistakes in {path}");
        }
    }
    text
}

/// Reads `--placement`.
pub(crate) fn placement(text: &str, ranks: u32, nodes: u32, seed: u64) -> Result<Placement, Failure> {
    let placed = match text {
        "linear" => Placement::linear(ranks, nodes).map_err(|error| vec![error]),
        "random" => Placement::random(ranks, nodes, seed).map_err(|error| vec![error]),
        path => {
            let list = std::fs::read_to_string(path).map_err(|error| {
                let help = "expected `linear`, `random` or a file with a node number for each rank";
                Failure::input(format!("--placement {path}: cannot read: {error}"), Some(help.into()))
            })?;
            Placement::from_text(&list, ranks, nodes)
        }
    };
    placed.map_err(|errors| {
        let lines: Vec<String> =
            errors.iter().map(|error| format!("error: --placement {text}: {error}")).collect();
        Failure::Input(lines.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_loads_is_exact_and_holds_its_end() {
        let list = loads("0.1..0.9:0.1").unwrap();
        assert_eq!(list.len(), 9);
        assert_eq!(list[8], Load::Fraction(Fraction::new(9, 10).unwrap()));
        assert_eq!(loads("0.3").unwrap(), [Load::Fraction(Fraction::new(3, 10).unwrap())]);
        assert_eq!(loads("10%, 0.5").unwrap().len(), 2);
        assert_eq!(loads("max").unwrap(), [Load::Max]);
    }

    #[test]
    fn what_is_no_load_says_what_is() {
        for (text, message) in [
            ("0", "above 0"),
            ("fast", "`fast` is no load"),
            ("0.1..0.9", "no step"),
            ("0.9..0.1:0.1", "empty"),
            ("0.1..0.9:0.0001", "more than 1000 points"),
            ("30", "at most 10"),
            ("0.1..0.9:0", "above 0"),
        ] {
            let error = loads(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
