//! `flitway check`: everything that is wrong with a machine, or what follows from it.

use crate::args::{CheckArguments, Deny};
use crate::cabling::cabling_section;
use crate::channels::{loads_section, shared_line, waiting_section, worst_line};
use crate::failure::Failure;
use crate::inputs;
use crate::layout::fitted;
use crate::output::{Target, colour, manner, say, warn};
use crate::progress::Line;
use crate::table;
use crate::task::too_large;
use flitway_experiment::Examination;
use flitway_fabric::Fabric;
use flitway_machine::input;
use flitway_report::channels::how;
use flitway_report::memory;
use flitway_report::session::Session;
use serde_json::Value;
use std::path::Path;

/// Checks what `arguments` say.
pub(crate) fn check(arguments: &CheckArguments) -> Result<(), Failure> {
    let target = arguments.json.as_deref().map(|text| Target::new("--json", text));
    let (session, examination) = match examined(arguments) {
        Ok(examined) => examined,
        Err(failure) => {
            if let Some(target) = &target {
                refuse(target, &failure)?;
            }
            return Err(failure);
        }
    };
    if let Some(Target::File { option, path }) = &target {
        inputs::keep(&[(option, path.as_ref())], &session.machine().files)?;
    }
    if target != Some(Target::Standard) && !manner().quiet {
        say(&shown(&session, &examination))?;
    }
    if let Some(target) = target {
        target.write(&format!("{:#}", examination.to_json(&session)))?;
    }
    match examination.waiting.as_ref().and_then(|waiting| waiting.lost()) {
        Some(lost) => {
            let names = session.fabric().topology().names();
            let (source, node) = (names.node(lost.source), names.node(lost.destination));
            let message =
                format!("a packet from node {source} to node {node} does not arrive: {}", how(lost.how));
            Err(Failure::Fault(format!("fault: {message}")))
        }
        None => denied(arguments, &session, &examination),
    }
}

/// The machine and what follows from it; warnings are shown, and on a terminal what is being done.
fn examined(arguments: &CheckArguments) -> Result<(Session, Examination), Failure> {
    let line = Line::new();
    let examined = examined_in(&line, arguments);
    line.clear();
    examined
}

fn examined_in(line: &Line, arguments: &CheckArguments) -> Result<(Session, Examination), Failure> {
    let name = &arguments.machine.machine;
    line.message(format!("{name}: reads the machine and lays its routes"));
    let machine = inputs::machine(name, &arguments.machine.set)?;
    memory::fits_machine(&machine, false).map_err(too_large)?;
    if !machine.warnings.is_empty() {
        line.clear_for(|| warn(&machine.warnings.render(colour())));
    }
    line.message(format!("{name}: builds the fabric"));
    let session = Session::new(machine, 1, 1);
    line.message(format!("{name}: follows every route: what waits for what, and what channels carry"));
    let [packet, traffic, outstanding] =
        [&arguments.packet, &arguments.traffic, &arguments.outstanding].map(Option::as_deref);
    let examination = Examination::new(&session, packet, traffic, outstanding).map_err(Failure::workload)?;
    Ok((session, examination))
}

/// Writes why nothing can be examined. Since not all inputs are known then, only what this command has written is replaced.
fn refuse(target: &Target, failure: &Failure) -> Result<(), Failure> {
    if let Target::File { option, path } = target
        && Path::new(path).is_file()
    {
        let text = input::read_text(Path::new(path), input::MADE_MAX).unwrap_or_default();
        let found: Value = serde_json::from_str(&text).unwrap_or_default();
        if found["schema"] != "flitway/check/1" {
            let why = "it is there, and not what `flitway check` has written: it may be an input";
            warn(&format!("warning: {option} {path}: nothing is written: {why}"));
            return Ok(());
        }
    }
    let (diagnostics, has_more) = failure.diagnostics();
    target.write(&format!("{:#}", Examination::refused(diagnostics, has_more)))
}

/// What is printed of `examination`.
fn shown(session: &Session, examination: &Examination) -> String {
    let Examination { facts, bill, cabling, waiting, headroom, pattern, loads, worst, shared } = examination;
    let names = session.fabric().topology().names();
    let waiting = waiting_section(session, waiting.as_ref(), *headroom, names);
    let selects = loads.as_ref().is_some_and(|loads| loads.are_shared);
    let loads = loads_section(pattern, loads.as_ref(), session.fabric(), names);
    let worst = worst.as_ref().map_or_else(String::new, |worst| worst_line(worst, selects, names));
    let shared = shared.map_or_else(String::new, shared_line);
    let cabling = cabling_section(cabling.as_ref(), names);
    let cost = cost_section(session.fabric());
    let (facts, bill) = (table::facts(session, facts), table::bill(bill));
    fitted(&format!("{facts}\n\n{bill}\n\n{cabling}{waiting}{cost}\n\n{loads}{worst}{shared}"), 2)
}

/// What was found of what the command denies is a fault.
fn denied(arguments: &CheckArguments, session: &Session, examination: &Examination) -> Result<(), Failure> {
    let has_cycle = examination.waiting.as_ref().is_some_and(|waiting| waiting.cycle().is_some());
    let (units, needed) = (examination.headroom.units, examination.headroom.units_needed);
    let found = arguments.deny.iter().filter_map(|denied| match denied {
        Deny::Deadlock if examination.waiting.is_none() => {
            Some("deadlock: not analysed, since the machine is too large".to_owned())
        }
        Deny::Deadlock => has_cycle.then(|| "deadlock: packets can wait for each other for ever".to_owned()),
        Deny::Credits => {
            (units < needed).then(|| format!("credits: a VC has {units} units, and its link needs {needed}"))
        }
        Deny::Warnings => {
            let count = session.machine().warnings.len();
            (count > 0).then(|| format!("warnings: {count} of the machine"))
        }
    });
    let found: Vec<String> = found.collect();
    if found.is_empty() { Ok(()) } else { Err(Failure::Fault(format!("fault: denied {}", found.join("; ")))) }
}

/// What a switch costs, where that is known.
fn cost_section(fabric: &Fabric) -> String {
    let costs = fabric.chip.costs();
    if costs.is_empty() { String::new() } else { format!("\n\n{}", table::costs(&costs)) }
}
