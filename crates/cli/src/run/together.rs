//! `flitway run --multicast --barrier`: both in one run, alone or beside synthetic traffic.

use super::barrier::{self, some_barriers, without_effect};
use super::multicast::{self, LEGEND, beside_and_verdict, mean_with_interval, missed, of};
use crate::args::RunArguments;
use crate::failure::Failure;
use crate::layout::{self, Column};
use crate::output::Targets;
use crate::progress::Goal;
use crate::table::{sizes_of, verdicts};
use crate::task::{Shown, Task, session};
use flitway_experiment::workload::together::TogetherTask;
use flitway_experiment::workload::{Tasks, TogetherWorkload};
use flitway_machine::Machine;
use flitway_report::point::Point;
use flitway_report::session::Session;
use flitway_report::shown::load;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &TogetherWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    // Everything is fitted before anything runs, so that nothing is lost to a mistake in the last point.
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let patience = workload.multicast.patience;
    let shown = Shown {
        header: &|| header(&session, workload, &tasks[0]),
        heading,
        label: |task: &TogetherTask| {
            format!("barriers beside multicast load {}", load(task.run.multicast().offered_load(), 3))
        },
        row,
        summary: &|points| definitions(workload, points),
        goal: Goal { clock: session.machine().clock, patience },
        fault: some_barriers,
    };
    Task { arguments, session: &session, workload, targets, theory: None }.run_points(&tasks, &shown)
}

/// What is about to be measured, and what theory says of each alone.
fn header(session: &Session, workload: &TogetherWorkload, task: &TogetherTask) -> String {
    format!(
        "{}; {}\n{}",
        sizes_of(session),
        multicast::header(session, &workload.multicast, task.run.multicast()),
        barrier::header(session, &workload.barrier, task.run.barrier())
    )
}

const COLUMNS: [Column; 11] = [
    Column("offered", 7, Some(7)),
    Column("accepted", 8, Some(8)),
    Column("last copy ns", 18, Some(15)),
    Column("copy p99", 9, None),
    Column("barrier ns", 18, Some(15)),
    Column("barrier p99", 11, None),
    Column("barriers", 8, Some(8)),
    Column("unicast", 7, Some(7)),
    Column("accepted", 8, Some(8)),
    Column("latency ns", 10, None),
    Column("", 9, Some(9)),
];

fn heading() -> String {
    layout::heading(&COLUMNS)
}

fn row(point: &Point) -> String {
    let (Some(multicast), Some(barrier)) = (&point.multicast, &point.barrier) else { return String::new() };
    let cells = [
        load(multicast.offered_load, 3),
        load(multicast.accepted_load, 4),
        of(&multicast.last_copy_latency, mean_with_interval),
        of(&multicast.last_copy_latency, |latency| format!("{:.0}", latency.p99)),
        of(&barrier.latency, mean_with_interval),
        of(&barrier.latency, |latency| format!("{:.0}", latency.p99)),
        barrier.operations.to_string(),
    ];
    layout::line(&COLUMNS, cells.iter().chain(&beside_and_verdict(point)).map(String::as_str))
}

/// What the numbers of the table mean.
fn definitions(workload: &TogetherWorkload, points: &[Point]) -> String {
    let mut text = format!("{LEGEND}\nbarrier            last arrival to last release; the same");
    if points.iter().any(|point| point.offered_load > 0.0) {
        text.push_str("\nunicast            load offered and accepted beside both, mean packet latency");
    }
    text.push_str(&verdicts(points));
    text.push_str(&missed(points));
    text.push_str(&without_effect(&workload.barrier, points));
    text
}
