//! `--trace`: what happened to chosen packets, as a file for Perfetto or Chrome's own viewer.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, complain, own_file};
use flitway_experiment::views::{self, Views};
use flitway_report::session::Session;
use flitway_report::trace::STEPS_MAX;
use std::sync::atomic::AtomicBool;

/// The file that the trace goes to, if one is asked for.
fn target(arguments: &RunArguments) -> Result<Option<Target>, Failure> {
    own_file(arguments, "--trace", arguments.trace.as_deref(), "a trace goes")
}

/// Finds out before the run whether the trace can be written, and whether what it is to be of is there.
pub(crate) fn probe(arguments: &RunArguments, session: &Session) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    views::selection(&arguments.trace_of, session.fabric(), None)
        .map_err(|problem| Failure::workload(vec![problem]))?;
    target.probe()
}

/// Writes the trace of the last point, if one is asked for.
pub(crate) fn write(arguments: &RunArguments, views: &Views<'_>, stop: &AtomicBool) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    let of = &arguments.trace_of;
    let steps = views.steps(of, stop).map_err(|problem| Failure::workload(vec![problem]))?;
    let Some((steps, left_out)) = steps else { return Ok(()) };
    target.write_pieces(views.trace(of, &steps, left_out).pieces())?;
    let path = arguments.trace.as_deref().unwrap_or_default();
    let note = match left_out {
        0 => String::new(),
        _ => format!(
            "; {left_out} more were left out, as a trace holds {STEPS_MAX}: choose fewer nodes or switches"
        ),
    };
    complain(&format!("trace: {path}, {} steps of the last point{note}", steps.len()));
    Ok(())
}
