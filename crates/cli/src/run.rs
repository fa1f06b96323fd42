//! `flitway run`: a workload on a machine.

use crate::args::{GraphArguments, RunArguments};
use crate::chart;
use crate::failure::{Failure, colour};
use crate::input::{self, Load, TrafficInput};
use crate::output::{Target, complain, say};
use crate::progress::{Line, stop_flag};
use crate::table;
use flitway_machine::Machine;
use flitway_report::graph::{GraphResult, waiting};
use flitway_report::measure::Verdict;
use flitway_report::point::Point;
use flitway_report::session::Session;
use flitway_report::theory::Theory;
use flitway_workload::Fraction;
use flitway_workload::traffic::{Traffic, TrafficError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Runs what `arguments` say.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let machine = Machine::load(&arguments.machine.machine, &arguments.machine.set)?;
    if !machine.warnings.is_empty() {
        complain(&machine.warnings.render(colour()));
    }
    let target = arguments.json.as_deref().map(Target::new);
    if let Some(target) = &target {
        target.probe()?;
    }
    match &arguments.graph.graph {
        Some(path) => run_graph(arguments, machine, path, target.as_ref()),
        None => run_traffic(arguments, machine, target.as_ref()),
    }
}

fn run_traffic(arguments: &RunArguments, machine: Machine, target: Option<&Target>) -> Result<(), Failure> {
    let input = input::traffic(&arguments.traffic, machine.clock)?;
    let session = Session::new(machine, arguments.seed, arguments.threads);
    // Everything is fitted before anything runs, so that nothing is lost to a mistake in the last point.
    let points: Vec<(f64, Arc<Traffic>)> = input
        .loads
        .iter()
        .map(|&load| fit(&session, &input, load))
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::input(format!("{}: {error}", argument_of(&error)), None))?;
    let theory = points.first().and_then(|(_, traffic)| Theory::new(session.fabric(), traffic));
    let chatty = target != Some(&Target::Standard);
    if chatty {
        say(&table::traffic_header(&session, &arguments.traffic, &points[0].1, theory.as_ref()))?;
    }
    let stop = stop_flag()?;
    let measured = measure_points(&session, &points, &input, &stop, chatty)?;
    if chatty {
        say(&table::definitions(&session, &measured))?;
        let latencies: Vec<(f64, f64)> = measured
            .iter()
            .filter(|point| matches!(point.verdict, Verdict::Steady))
            .filter_map(|point| Some((point.accepted_load, point.packet_latency.as_ref()?.mean / 1_000.0)))
            .collect();
        let chart = chart::latency_load(&latencies);
        if !chart.is_empty() {
            say("\nmean packet latency over accepted load")?;
            say(&chart)?;
        }
    }
    write_json(arguments, &session, target, measured.iter().map(Point::to_json).collect())?;
    if stop.load(Ordering::Relaxed) {
        complain("interrupted: what was measured until then is shown");
    }
    Ok(())
}

fn fit(session: &Session, input: &TrafficInput, load: Load) -> Result<(f64, Arc<Traffic>), TrafficError> {
    let load = match load {
        Load::Fraction(load) => load,
        Load::Max => Fraction::ONE,
    };
    Ok((load.as_f64(), Arc::new(session.traffic(&input.choice, load)?)))
}

/// The argument that is most likely at fault.
fn argument_of(error: &TrafficError) -> &'static str {
    match error {
        TrafficError::Misfit(_) => "--traffic",
        TrafficError::AboveMtu { .. } => "--packet",
        _ => "--load",
    }
}

fn measure_points(
    session: &Session,
    points: &[(f64, Arc<Traffic>)],
    input: &TrafficInput,
    stop: &AtomicBool,
    chatty: bool,
) -> Result<Vec<Point>, Failure> {
    let line = Line::new();
    let started = Instant::now();
    let mut measured = Vec::new();
    if chatty {
        say(&table::point_heading())?;
    }
    for (index, (load, traffic)) in points.iter().enumerate() {
        let left = (index > 0).then(|| started.elapsed() / index as u32 * (points.len() - index) as u32);
        let label = format!("load {load:.3} ({} of {})", index + 1, points.len());
        let point = session.point(traffic, *load, input.patience, stop, |now| line.point(&label, now, left));
        line.clear_for(|| if chatty { say(&table::point(&point)) } else { Ok(()) })?;
        measured.push(point);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    line.clear();
    Ok(measured)
}

fn run_graph(
    arguments: &RunArguments,
    machine: Machine,
    path: &str,
    target: Option<&Target>,
) -> Result<(), Failure> {
    let GraphArguments { placement, .. } = &arguments.graph;
    let graph = Arc::new(input::graph(path)?);
    let session = Session::new(machine, arguments.seed, arguments.threads);
    let placement = input::placement(placement, graph.ranks(), session.fabric().nodes(), arguments.seed)?;
    let (stop, line) = (stop_flag()?, Line::new());
    let clock = session.machine().clock;
    let result = session
        .graph(&graph, placement, &stop, |now| {
            line.message(format!("{path}: {:.3} ms simulated", clock.nanos(now.0 as f64) / 1e6));
        })
        .map_err(|error| Failure::input(format!("--graph {path}: {error}"), None))?;
    line.clear();
    if target != Some(&Target::Standard) {
        say(&table::graph(&session, path, &graph, &result))?;
    }
    write_json(arguments, &session, target, vec![result.to_json()])?;
    graph_verdict(&result)
}

/// A graph that did not finish is a fault, unless somebody stopped it.
fn graph_verdict(result: &GraphResult) -> Result<(), Failure> {
    if result.stopped {
        complain("interrupted: what had happened until then is shown");
        return Ok(());
    }
    let Some(stuck) = &result.stuck else { return Ok(()) };
    let what = if stuck.ranks.is_empty() {
        "the graph has finished, but messages were sent that nobody received"
    } else {
        "the graph cannot finish: ranks wait for what will never come"
    };
    Err(Failure::Fault(format!("fault: {what}\n  {}", waiting(stuck).join("\n  "))))
}

fn write_json(
    arguments: &RunArguments,
    session: &Session,
    target: Option<&Target>,
    points: Vec<Value>,
) -> Result<(), Failure> {
    let Some(target) = target else { return Ok(()) };
    let machine = session.machine();
    let result = json!({
        "schema": "flitway/result/1",
        "flitway": env!("CARGO_PKG_VERSION"),
        "machine": { "name": machine.name, "description": machine.to_json() },
        "command": std::env::args().collect::<Vec<_>>(),
        "seed": arguments.seed,
        "points": points,
    });
    target.write(&format!("{result:#}"))
}
