//! `--counters`: what the statistic registers of every port count, as a table in a file.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, is_same_file};
use flitway_engine::Clock;
use flitway_experiment::views::Views;
use flitway_experiment::workload::Problem;
use flitway_machine::units;
use flitway_report::registers::Registers;
use std::sync::atomic::AtomicBool;

/// The file that the counters go to, if one is asked for.
fn target(arguments: &RunArguments) -> Result<Option<Target>, Failure> {
    let Some(path) = &arguments.counters else { return Ok(None) };
    if path == "-" {
        return Err(Failure::input("--counters -: counters go to a file, not to standard output", None));
    }
    let others = [&arguments.json, &arguments.parquet, &arguments.csv, &arguments.report, &arguments.trace];
    if others.into_iter().flatten().any(|other| is_same_file(other, path)) {
        return Err(Failure::input(format!("--counters {path}: another result goes to the same file"), None));
    }
    Ok(Some(Target::new("--counters", path)))
}

/// The cycles between two readings, if it is said.
fn every(arguments: &RunArguments, clock: Clock) -> Result<Option<u64>, Failure> {
    let Some(text) = &arguments.every else { return Ok(None) };
    let wrong = |message: String, help: Option<String>| {
        let problem = Problem { help, ..Problem::new("every", message) };
        Failure::workload(vec![problem])
    };
    let span = units::time(text)
        .map_err(|error| wrong(format!("{error}: expected {}", error.expectation()), error.help()))?;
    let cycles = clock.cycles_ceil(span).0;
    if cycles == 0 {
        return Err(wrong(format!("`{text}`: expected a time above 0"), None));
    }
    Ok(Some(cycles))
}

/// Finds out before the run whether the counters can be written.
pub(crate) fn probe(arguments: &RunArguments, clock: Clock) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    every(arguments, clock)?;
    target.probe()
}

/// Writes the counters of all runs, if they are asked for.
pub(crate) fn write(arguments: &RunArguments, views: &Views<'_>, stop: &AtomicBool) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    let clock = views.session.machine().clock;
    let runs = views.registers(every(arguments, clock)?, stop);
    let head = std::iter::once("point").chain(Registers::COLUMNS).map(str::to_owned);
    let rows = runs.iter().flat_map(|(place, registers)| {
        let cells =
            move |row: [String; 12]| std::iter::once(place.to_string()).chain(row).collect::<Vec<_>>();
        registers.rows(clock).map(cells)
    });
    let lines = std::iter::once(head.collect::<Vec<_>>()).chain(rows);
    target.write_pieces(lines.map(|cells| cells.join(",") + "\n"))
}
