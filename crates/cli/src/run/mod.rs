//! `flitway run`: a workload on a machine, and how each kind is shown.

mod barrier;
mod graph;
mod mix;
mod multicast;
mod nic;
mod together;
mod train;

use crate::args::RunArguments;
use crate::chart;
use crate::experiment;
use crate::failure::Failure;
use crate::output::Targets;
use crate::progress::Goal;
use crate::table;
use crate::task::{Prepared, Shown, Task, prepared, session};
use flitway_experiment::workload::traffic::TrafficTask;
use flitway_experiment::workload::{Tasks, TrafficWorkload, Workload};
use flitway_machine::Machine;
use flitway_report::measure::Verdict;
use flitway_report::point::Point;
use flitway_report::session::Session;
use flitway_report::shown;
use flitway_workload::traffic::Traffic;

/// Runs what `arguments` say.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let name = match (&arguments.experiment.experiment, &arguments.machine) {
        (Some(experiment), _) => return experiment::run(arguments, experiment),
        (None, Some(machine)) => machine,
        (None, None) => return Err(Failure::input("no machine is named", None)),
    };
    let Prepared { machine, workload, targets } = prepared(arguments, name)?;
    match &workload {
        Workload::Traffic(traffic) => run_traffic(arguments, machine, traffic, &targets),
        Workload::Mix(work) => mix::run(arguments, machine, work, &targets),
        Workload::Graph(work) => graph::run(arguments, machine, work, &targets),
        Workload::Multicast(work) => multicast::run(arguments, machine, work, &targets),
        Workload::Barrier(work) => barrier::run(arguments, machine, work, &targets),
        Workload::Together(work) => together::run(arguments, machine, work, &targets),
        Workload::Nic(work) => nic::run(arguments, machine, work, &targets),
        Workload::Train(work) => train::run(arguments, machine, work, &targets),
    }
}

fn run_traffic(
    arguments: &RunArguments,
    machine: Machine,
    workload: &TrafficWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    // Everything is fitted before anything runs, so that nothing is lost to a mistake in the last point.
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let (first, theory) = (&tasks[0].traffic, tasks[0].theory(&session));
    let shown = Shown {
        header: &|| table::traffic_header(&session, workload, first, theory),
        heading: table::point_heading,
        label: |task: &TrafficTask| format!("load {}", shown::load(task.load, 3)),
        row: table::point,
        summary: &|measured| summary(&session, workload, first, measured),
        goal: Goal { clock: session.machine().clock, patience: workload.patience },
        fault: |_| Ok(()),
    };
    Task { arguments, session: &session, workload, targets, theory }.run_points(&tasks, &shown)
}

/// What is printed below the table of load points.
fn summary(session: &Session, workload: &TrafficWorkload, traffic: &Traffic, measured: &[Point]) -> String {
    let mut text = table::definitions(session, workload, traffic, measured);
    let latencies: Vec<(f64, f64)> = measured
        .iter()
        .filter(|point| matches!(point.verdict, Verdict::Steady))
        .filter_map(|point| Some((point.accepted_load, point.packet_latency.as_ref()?.mean / 1_000.0)))
        .collect();
    let chart = chart::latency_load(&latencies);
    if !chart.is_empty() {
        text.push_str("\n\nmean packet latency over accepted load, steady points\n");
        text.push_str(&chart);
    }
    text
}
