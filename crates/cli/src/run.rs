//! `flitway run`: a workload on a machine.

use crate::args::{GraphArguments, RunArguments, TrafficArguments};
use crate::chart;
use crate::failure::{Failure, colour};
use crate::input::{self, Load, TrafficInput};
use crate::output::{Target, complain, say};
use crate::progress::{Line, stop_flag};
use crate::table;
use flitway_machine::Machine;
use flitway_report::graph::{GraphResult, waiting};
use flitway_report::measure::Verdict;
use flitway_report::memory;
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
    fits_memory(&session)?;
    let mut voice = Voice::new(target);
    voice.say(|| table::traffic_header(&session, &arguments.traffic, &points[0].1, theory.as_ref()))?;
    let stop = stop_flag()?;
    let measured = measure_points(&session, &points, &input, &stop, &mut voice)?;
    voice.say(|| report(&session, &measured))?;
    write_json(arguments, &session, target, measured.iter().map(Point::to_json).collect())?;
    voice.end(&stop)
}

/// What is printed below the table of load points.
fn report(session: &Session, measured: &[Point]) -> String {
    let mut text = table::definitions(session, measured);
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

/// Prints to standard output, unless the result goes there. When nobody reads any more, a run whose result goes to a file
/// goes on in silence.
struct Voice {
    is_silent: bool,
    has_target: bool,
    /// Why it fell silent.
    failure: Option<Failure>,
}

impl Voice {
    fn new(target: Option<&Target>) -> Self {
        Voice { is_silent: target == Some(&Target::Standard), has_target: target.is_some(), failure: None }
    }

    fn say(&mut self, text: impl FnOnce() -> String) -> Result<(), Failure> {
        if self.is_silent {
            return Ok(());
        }
        match say(&text()) {
            Err(failure) if self.has_target => {
                (self.is_silent, self.failure) = (true, Some(failure));
                Ok(())
            }
            said => said,
        }
    }

    /// How a run ends whose result has been written.
    fn end(self, stop: &AtomicBool) -> Result<(), Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None if stop.load(Ordering::Relaxed) => Err(Failure::Interrupted),
            None => Ok(()),
        }
    }
}

/// Refuses a machine that is larger than the memory that is left.
fn fits_memory(session: &Session) -> Result<(), Failure> {
    let (needed, left) = (session.fabric().bytes(), memory::available_bytes());
    match left {
        Some(left) if needed > left => {
            let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
            let (needed, left) = (gibibytes(needed), gibibytes(left));
            let read = format!("about {needed:.1} GiB for switches and NIC ports alone");
            let message = format!("the machine needs {read}, and {left:.1} GiB of memory are available");
            Err(Failure::input(message, Some("fewer nodes, rails or virtual channels need less".into())))
        }
        _ => Ok(()),
    }
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
    voice: &mut Voice,
) -> Result<Vec<Point>, Failure> {
    voice.say(table::point_heading)?;
    let line = Line::new();
    let started = Instant::now();
    let mut measured = Vec::new();
    for (index, (load, traffic)) in points.iter().enumerate() {
        let left = (index > 0).then(|| started.elapsed() / index as u32 * (points.len() - index) as u32);
        let label = format!("load {load:.3} ({} of {})", index + 1, points.len());
        let point = session.point(traffic, *load, input.patience, stop, |now| line.point(&label, now, left));
        line.clear_for(|| voice.say(|| table::point(&point)))?;
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
    fits_memory(&session)?;
    let mut voice = Voice::new(target);
    let (stop, line) = (stop_flag()?, Line::new());
    let clock = session.machine().clock;
    let result = session
        .graph(&graph, placement, &stop, |now| {
            line.message(format!("{path}: {:.3} ms simulated", clock.nanos(now.0 as f64) / 1e6));
        })
        .map_err(|error| Failure::input(format!("--graph {path}: {error}"), None))?;
    line.clear();
    voice.say(|| table::graph(&session, path, &graph, &result))?;
    write_json(arguments, &session, target, vec![result.to_json()])?;
    graph_verdict(&result)?;
    voice.end(&stop)
}

/// A graph that did not finish is a fault, unless somebody stopped it.
fn graph_verdict(result: &GraphResult) -> Result<(), Failure> {
    if result.stopped {
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
    let workload = match &arguments.graph.graph {
        Some(path) => json!({ "graph": path, "placement": arguments.graph.placement }),
        None => {
            let TrafficArguments { traffic, packet, precision, .. } = &arguments.traffic;
            let arrival = arguments.traffic.arrival();
            json!({ "traffic": traffic, "packet": packet, "arrival": arrival, "precision": precision })
        }
    };
    let result = json!({
        "schema": "flitway/result/1",
        "flitway": env!("CARGO_PKG_VERSION"),
        "machine": { "name": machine.name, "description": machine.to_json() },
        "command": std::env::args().collect::<Vec<_>>(),
        "seed": arguments.seed,
        "workload": workload,
        "points": points,
    });
    target.write(&format!("{result:#}"))
}
