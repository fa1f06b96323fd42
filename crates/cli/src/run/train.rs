//! `flitway run --train`: a train of packets on a machine.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::faults::links;
use crate::layout::fitted;
use crate::output::{Targets, manner};
use crate::table::{cost_line, plural, sizes_of};
use crate::task::{Each, Task, session};
use flitway_experiment::workload::{Tasks, TrainWorkload};
use flitway_machine::{Machine, SwitchSettings};
use flitway_report::session::Session;
use flitway_report::session::train::TrainResult;
use flitway_wiring::NodeId;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &TrainWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let each = Each {
        label: &|_, _| "train".to_owned(),
        texts: &|_, result: &TrainResult| {
            let counters = &result.counters;
            let cost = || cost_line(counters.events, counters.packet_hops, result.wall.as_secs_f64());
            let text = fitted(&text(&session, workload, result), 11);
            let links = links(&counters.link, &[], "");
            std::iter::once(text).chain(links).chain(manner().verbose.then(cost)).collect()
        },
        is_table: false,
        fault: &|_| Ok(()),
    };
    Task { arguments, session: &session, workload, targets, theory: None }.run_each(&tasks, &each)
}

/// What there was of a train that is not complete.
fn incomplete(result: &TrainResult) -> String {
    let (packets, time) = (result.counters.packets_delivered, result.last_ns());
    if packets == 0 {
        return "not complete: no packet was delivered".to_owned();
    }
    let count = result.choice.count;
    format!("not complete: {packets} of {count} packets were delivered, the last one after {time:.1} ns")
}

/// The text of `result`.
pub(super) fn text(session: &Session, workload: &TrainWorkload, result: &TrainResult) -> String {
    let (choice, names) = (workload.choice, session.fabric().topology().names());
    let head = format!(
        "{}; {} of {} from node {} to node {}\n\n",
        sizes_of(session),
        plural(choice.count, "packet", "s"),
        workload.packet,
        names.node(NodeId(choice.from)),
        names.node(NodeId(choice.to)),
    );
    let Some(time) = result.time_ns() else { return head + &incomplete(result) };
    let rate = f64::from(choice.count) / time * 1_000.0;
    let payload = rate * f64::from(choice.payload);
    let repeats = session.fabric().chip.repeat_share();
    let repeats = if repeats > 0.0 {
        format!(
            " (repeated adverts, switch.credit.refresh, take up to {:.1} % more)",
            repeats / (1.0 - repeats) * 100.0
        )
    } else {
        String::new()
    };
    // The model is one of that switch.
    let model = match session.machine().switch {
        SwitchSettings::Hpp(_) => format!(
            "\nmodel      {:12.1} ns: if a switch passes a packet of a rail every T_switch (dawning5000.txt section 3.1)",
            result.model_ns()
        ),
        _ => String::new(),
    };
    head + &format!(
        "time       {time:12.1} ns: to the last packet delivered\n\
         rate       {rate:12.3} packets/us, {payload:.1} MB/s of payload\n\
         links      {:12.1} ns: if links alone set the pace{repeats}{model}",
        result.pipelined_ns(),
    )
}
