//! `flitway run --graph --multicast`, `--train --barrier`: what ends, with what goes on beside it until then.

use super::barrier::{self, some_barriers};
use super::multicast::{self, of};
use super::{graph, train};
use crate::args::RunArguments;
use crate::failure::Failure;
use crate::layout::fitted;
use crate::output::{Targets, manner};
use crate::table::{cost_line, plural, sizes_of};
use crate::task::{Each, Task, no_deadlock, none_lost, session};
use flitway_experiment::workload::mix::MixTask;
use flitway_experiment::workload::{MixWorkload, Tasks};
use flitway_machine::Machine;
use flitway_report::page::time;
use flitway_report::point::{Latency, Point};
use flitway_report::session::Session;
use flitway_report::session::mix::MixResult;
use flitway_report::shown::load;
use std::fmt::Write;
use std::slice::from_ref;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &MixWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let each = Each {
        label: &|place, _| format!("run {} of {}", place + 1, tasks.len()),
        texts: &|task, result| vec![fitted(&text(&session, workload, task, result), 12)],
        is_table: false,
        fault: &|result| verdict(&session, result),
    };
    Task { arguments, session: &session, workload, targets, theory: None }.run_each(&tasks, &each)
}

/// What is a fault of the network or of a graph.
fn verdict(session: &Session, result: &MixResult) -> Result<(), Failure> {
    let point = from_ref(&result.point);
    let graphs = result.graphs.iter().map(|graph| graph::verdict(session, graph));
    let lost = none_lost(point);
    no_deadlock(point).and(lost).and_then(|()| graphs.collect()).and_then(|()| some_barriers(point))
}

/// What each of them came to.
fn text(session: &Session, workload: &MixWorkload, task: &MixTask, result: &MixResult) -> String {
    let mut parts = Vec::new();
    if let Some(graphs) = &workload.graph {
        let others = others(workload, &result.point);
        let jobs = graphs.jobs.iter().zip(&result.graphs);
        parts.extend(jobs.map(|(job, result)| graph::text(session, graphs, job, (result, &others))));
    }
    if let (Some(train), Some(result)) = (&workload.train, &result.train) {
        parts.push(train::text(session, train, result));
    }
    parts.push(beside(session, workload, task, &result.point));
    let (link, links) = (&result.point.link, &result.point.links);
    parts.extend(match &result.point.faults {
        Some(faults) => Some(crate::faults::text(faults, (link, links), session.fabric().topology().names())),
        None => crate::faults::links(link, links, ""),
    });
    // Each graph has told it.
    if manner().verbose && result.graphs.is_empty() {
        let point = &result.point;
        parts.push(cost_line(point.events, point.packet_hops, point.wall_s));
    }
    parts.join("\n\n")
}

/// What runs beside task graphs.
fn others(workload: &MixWorkload, point: &Point) -> Vec<String> {
    let traffic = workload
        .beside
        .as_ref()
        .map(|beside| format!("{} traffic at load {}", beside.traffic, load(point.offered_load, 3)));
    let others = [
        ("multicast", workload.multicast.is_some()),
        ("barriers", workload.barrier.is_some()),
        ("a train", workload.train.is_some()),
    ];
    let others = others.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| (*name).to_owned());
    others.chain(traffic).collect()
}

/// What goes on: what it is, and what was measured of it.
fn beside(session: &Session, workload: &MixWorkload, task: &MixTask, point: &Point) -> String {
    let goes_on = workload.multicast.is_some() || workload.barrier.is_some() || workload.beside.is_some();
    let what = if goes_on { "beside it, for all of" } else { "everything is over, after" };
    let mut text = format!("{}; {what} {}", sizes_of(session), time(point.duration_ns));
    let mut add = |name: &str, what: String| {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{name:<10}  {what}");
    };
    let latency = |latency: &Option<Latency>| {
        of(latency, |latency| format!("{:.1} ns in the mean, p99 {:.0} ns", latency.mean, latency.p99))
    };
    let loads = |offered, accepted| format!("offered {}, accepted {}", load(offered, 3), load(accepted, 4));
    if let (Some(of_all), Some(run), Some(it)) = (&workload.multicast, task.multicast(), &point.multicast) {
        add("multicast", loads(it.offered_load, it.accepted_load));
        add("", format!("last copy {}; {} operations", latency(&it.last_copy_latency), it.operations));
        add("", multicast::header(session, of_all, run).replace('\n', "\n            "));
    }
    if let (Some(of_all), Some(run), Some(it)) = (&workload.barrier, task.barrier(), &point.barrier) {
        let lost = it.packets.map_or(0, |packets| packets.lost_by_fault + packets.lost_by_full_queue);
        let lost = if lost > 0 { format!(", {lost} barrier packets lost") } else { String::new() };
        let over = plural(it.operations as u32, "barrier", "s");
        add("barriers", format!("last arrival to last release {}; {over} over{lost}", latency(&it.latency)));
        add("", barrier::header(session, of_all, run).replace('\n', "\n            "));
        text.push_str(&barrier::idle_rules(of_all, from_ref(point)));
    }
    if workload.beside.is_some() {
        let unicast = loads(point.offered_load, point.accepted_load);
        let what = format!("{unicast}; latency {}", latency(&point.packet_latency));
        // Writing to a string does not fail.
        let _ = write!(text, "\nunicast     {what}");
    }
    text
}
