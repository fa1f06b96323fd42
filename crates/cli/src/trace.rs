//! `--trace`: what happened to chosen packets, as a file for Perfetto or Chrome's own viewer.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, complain};
use flitway_engine::Cycle;
use flitway_report::details::Details;
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::trace::{STEPS_MAX, Trace};
use flitway_report::watch::{Selection, Step};

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
    if !session.fabric().switch.tells_steps() {
        let help = "leave it out; packets can be followed on machines with HPP Switches";
        let message = "--trace: SP Switches do not tell what packets wait for";
        return Err(Failure::input(message, Some(help.to_owned())));
    }
    chosen(arguments, session, None)?;
    target.probe()
}

/// Whose steps are asked for; the slowest packets are those of `details`.
fn chosen(
    arguments: &RunArguments,
    session: &Session,
    details: Option<&Details>,
) -> Result<Selection, Failure> {
    let fabric = session.fabric();
    let text = arguments.trace_of.as_str();
    let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if text == "slowest" {
        let stories = details.map_or(&[][..], |details| &details.stories);
        return Ok(Selection::packets(stories.iter().map(|story| &story.delivery)));
    }
    if let Some(list) = inside("nodes") {
        return Ok(Selection::sources(fabric, &numbers(text, list, fabric.nodes(), "nodes")?));
    }
    if let Some(list) = inside("switches") {
        let switches = fabric.topology().switches();
        return Ok(Selection::switches(fabric, &numbers(text, list, switches, "switches")?));
    }
    let help = "slowest, nodes(0+4-7) for all packets that these nodes send, or switches(0+1) for all that cross these";
    Err(Failure::input(format!("--trace-of {text}: nothing is called so"), Some(format!("write {help}"))))
}

/// The numbers of a list like `0+4-7`, all below `count`.
fn numbers(text: &str, list: &str, count: u32, what: &str) -> Result<Vec<u32>, Failure> {
    let wrong = |part: &str| {
        let message = format!("--trace-of {text}: `{part}` names none of {count} {what}");
        Failure::input(message, Some("write numbers and ranges, joined with +: 0+4-7".to_owned()))
    };
    let mut all = Vec::new();
    for part in list.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong(part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= count {
            return Err(wrong(part));
        }
        all.extend(first..=last);
    }
    Ok(all)
}

/// Writes the trace, if one is asked for: of the last point, which has `details`. `follow` makes the run again.
pub(crate) fn write(
    arguments: &RunArguments,
    session: &Session,
    details: Option<&Details>,
    follow: impl FnOnce(&Follow) -> (Vec<Step>, u64),
) -> Result<(), Failure> {
    let (Some(target), Some(details)) = (target(arguments)?, details) else { return Ok(()) };
    let selection = chosen(arguments, session, Some(details))?;
    let is_slowest = arguments.trace_of == "slowest";
    // The slowest may have been created before the warm-up was over.
    let from = if is_slowest { Cycle::ZERO } else { details.span[0] };
    let (steps, left_out) = follow(&Follow { selection, from, until: details.span[1], room: STEPS_MAX });
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
