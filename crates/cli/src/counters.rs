//! `--counters`: what the statistic registers of every port count, as a table in a file.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, is_same_file};
use flitway_engine::Clock;
use flitway_experiment::views::{Views, interval};
use flitway_experiment::workload::Problem;
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

/// Finds out before the run whether the counters can be written.
pub(crate) fn probe(arguments: &RunArguments, clock: Clock) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    arguments.every.as_deref().map(|text| interval(text, clock)).transpose().map_err(refused)?;
    target.probe()
}

/// Writes the counters of all runs, if they are asked for.
pub(crate) fn write(arguments: &RunArguments, views: &Views<'_>, stop: &AtomicBool) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    target.write_pieces(views.counters(arguments.every.as_deref(), stop).map_err(refused)?)
}

fn refused(problem: Problem) -> Failure {
    Failure::workload(vec![problem])
}
