//! `flitway run`: a workload on a machine.

use crate::args::RunArguments;
use crate::barrier;
use crate::chart;
use crate::experiment;
use crate::failure::Failure;
use crate::graph;
use crate::multicast;
use crate::output::Targets;
use crate::progress::Goal;
use crate::table;
use crate::task::{Prepared, Shown, Task, prepared, session};
use crate::together;
use crate::train;
use flitway_experiment::workload::{TrafficWorkload, Workload};
use flitway_machine::Machine;
use flitway_report::measure::Verdict;
use flitway_report::point::Point;
use flitway_report::session::Session;
use flitway_report::shown;
use flitway_report::theory::Theory;
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
        Workload::Graph(work) => graph::run(arguments, machine, work, &targets),
        Workload::Multicast(work) => multicast::run(arguments, machine, work, &targets),
        Workload::Barrier(work) => barrier::run(arguments, machine, work, &targets),
        Workload::Together(work) => together::run(arguments, machine, work, &targets),
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
    let points = workload.points(&session).map_err(|problem| Failure::workload(vec![problem]))?;
    let theory = points.first().and_then(|(_, traffic)| Theory::new(session.fabric(), traffic));
    let shown = Shown {
        header: &|| table::traffic_header(&session, workload, &points[0].1, theory.as_ref()),
        heading: table::point_heading,
        label: |(load, _): &(f64, _)| format!("load {}", shown::load(*load, 3)),
        row: table::point,
        summary: &|measured| summary(&session, workload, &points[0].1, measured),
        goal: Goal { clock: session.machine().clock, patience: workload.patience },
        fault: |_| Ok(()),
    };
    let task = Task { arguments, session: &session, workload, targets, theory: theory.as_ref() };
    task.run_points(&points, &shown, |session, (load, traffic), stop, progress| {
        let point = session.point(traffic, *load, workload.patience, stop, progress);
        point.with_theory(theory.as_ref(), session.machine().clock)
    })
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
