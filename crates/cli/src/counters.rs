//! `--counters`: what the statistic registers of every port count, as a table in a file.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, own_file};
use flitway_engine::Clock;
use flitway_experiment::views::{Views, interval};
use flitway_experiment::workload::Problem;
use std::sync::atomic::AtomicBool;

/// The file that the counters go to, if one is asked for.
fn target(arguments: &RunArguments) -> Result<Option<Target>, Failure> {
    own_file(arguments, "--counters", arguments.counters.as_deref(), "counters go")
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
