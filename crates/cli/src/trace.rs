//! `--trace`: what happened to chosen packets, as a file for Perfetto or Chrome's own viewer.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, complain};
use flitway_experiment::views;
use flitway_report::details::Details;
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::trace::{STEPS_MAX, Trace};
use flitway_report::watch::Step;

/// The file that the trace goes to, if one is asked for.
fn target(arguments: &RunArguments) -> Result<Option<Target>, Failure> {
    let Some(path) = &arguments.trace else { return Ok(None) };
    if path == "-" {
        return Err(Failure::input("--trace -: a trace goes to a file, not to standard output", None));
    }
    let others = [&arguments.json, &arguments.parquet, &arguments.report];
    if others.into_iter().flatten().any(|other| other == path) {
        return Err(Failure::input(format!("--trace {path}: another result goes to the same file"), None));
    }
    Ok(Some(Target::new("--trace", path)))
}

/// Finds out before the run whether the trace can be written, and whether what it is to be of is there.
pub(crate) fn probe(arguments: &RunArguments, session: &Session) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    let wrong = |problem| Failure::workload(vec![problem]);
    views::traceable(session.fabric()).map_err(wrong)?;
    views::selection(&arguments.trace_of, session.fabric(), None).map_err(wrong)?;
    target.probe()
}

/// Writes the trace, if one is asked for: of the last point, which has `details`. `follow` makes the run again.
pub(crate) fn write(
    arguments: &RunArguments,
    session: &Session,
    details: Option<&Details>,
    follow: impl FnOnce(&Follow) -> (Vec<Step>, u64),
) -> Result<(), Failure> {
    let (Some(target), Some(details)) = (target(arguments)?, details) else { return Ok(()) };
    let following = views::follow(&arguments.trace_of, session.fabric(), details);
    let (steps, left_out) = follow(&following.map_err(|problem| Failure::workload(vec![problem]))?);
    let command: Vec<String> = std::env::args().collect();
    let trace = Trace {
        fabric: session.fabric(),
        clock: session.machine().clock,
        steps: &steps,
        left_out,
        of: &arguments.trace_of,
        command: &command.join(" "),
    };
    target.write_pieces(trace.pieces())?;
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
