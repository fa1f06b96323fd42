//! `flitway run --barrier`: barriers on a machine.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::Targets;
use crate::progress::stop_flag;
use crate::report::{self, Material};
use crate::run::{Shown, Voice, fits_memory, measure_points, no_deadlock, write_result};
use crate::table::{beside, plural, sizes_of, verdicts};
use crate::trace;
use flitway_experiment::workload::BarrierWorkload;
use flitway_experiment::workload::barrier::BarrierTask;
use flitway_machine::Machine;
use flitway_report::measure::Verdict;
use flitway_report::point::{BarrierPoint, Latency, Point};
use flitway_report::session::Session;
use serde_json::Value;
use std::fmt::Write;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &BarrierWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session =
        Session::new(machine, arguments.seed(), arguments.threads).with_details(arguments.has_details());
    // Everything is fitted before anything runs, so that nothing is lost to a mistake in the last point.
    let tasks = workload.tasks(&session).map_err(|problem| Failure::workload(vec![problem]))?;
    fits_memory(session.fabric().bytes())?;
    trace::probe(arguments, &session)?;
    let mut voice = Voice::new(targets).with_report(arguments.has_details());
    voice.say(|| header(&session, workload, &tasks[0]))?;
    voice.say(heading)?;
    let stop = stop_flag()?;
    let label = |task: &BarrierTask| match &task.background {
        Some((_, load)) => format!("barriers beside load {load:.3}"),
        None => "barriers".to_owned(),
    };
    let points = measure_points(&tasks, &Shown { label, row }, &stop, &mut voice, |task, progress| {
        session.barrier_point(&task.run, task.background(), workload.patience, &stop, progress)
    })?;
    voice.say(|| definitions(&points))?;
    let values: Vec<Value> = points.iter().map(Point::to_json).collect();
    write_result(&session, workload, targets, values.clone())?;
    let details = points.iter().map(|point| point.details.as_deref()).collect();
    report::write(arguments, &session, Material { workload, points: values, theory: None, details })?;
    if let (Some(point), Some(task)) = (points.last(), tasks.get(points.len() - 1)) {
        let traffic = task.background.as_ref().map(|(traffic, _)| traffic);
        trace::write(arguments, &session, point.details.as_deref(), |follow| {
            session.follow_barriers(&task.run, traffic, follow, &stop)
        })?;
    }
    no_deadlock(&points)?;
    some_barriers(&points)?;
    voice.end(&stop)
}

/// That no barrier in the switches is ever over is a fault.
fn some_barriers(points: &[Point]) -> Result<(), Failure> {
    let of = |point: &Point| point.barrier.as_ref().filter(|it| it.operations == 0)?.packets;
    let Some(packets) = points.iter().filter(|point| !point.is_stopped()).find_map(of) else { return Ok(()) };
    let lost = packets.lost_by_fault + packets.lost_by_full_queue;
    Err(Failure::Fault(format!(
        "fault: no barrier was over: {lost} of {} barrier packets were lost",
        packets.sent
    )))
}

/// What is about to be measured, and what theory says of it.
fn header(session: &Session, workload: &BarrierWorkload, task: &BarrierTask) -> String {
    let barrier = task.run.plan().barrier();
    let mut text = format!(
        "{}; barrier {} by {}, interval {}, imbalance {}",
        sizes_of(session),
        workload.written.text("barrier"),
        workload.written.text("by"),
        workload.written.text("interval"),
        workload.written.text("imbalance"),
    );
    // Writing to a string does not fail.
    let groups = plural(barrier.groups().len() as u32, "group", "s");
    let _ = write!(text, "\n{groups}; {:.1} members in the mean", barrier.members_mean());
    if workload.beside.is_some() {
        text.push_str(&beside(&workload.written));
    }
    let nanos = session.machine().clock.nanos(task.run.zero_load() as f64);
    let _ = write!(text, "\ntheory: {nanos:.0} ns when nothing else is in the network");
    text
}

const COLUMNS: [(&str, usize); 11] = [
    ("barrier ns", 18),
    ("p50", 8),
    ("p99", 9),
    ("a release", 9),
    ("combine", 9),
    ("distribute", 10),
    ("barriers", 8),
    ("lost", 5),
    ("again", 5),
    ("unicast", 7),
    ("accepted", 8),
];

fn heading() -> String {
    let cells = COLUMNS.map(|(name, width)| format!("{name:>width$}"));
    format!("\n{}", cells.join("  ").trim_end())
}

fn row(point: &Point) -> String {
    let Some(barrier) = &point.barrier else { return String::new() };
    let of = |latency: &Option<Latency>, show: fn(&Latency) -> String| {
        latency.as_ref().map_or_else(|| "-".to_owned(), show)
    };
    let mean = |latency: &Latency| format!("{:.1}", latency.mean);
    let unicast = |text: String| if point.offered_load > 0.0 { text } else { String::new() };
    let packets = |count: fn(&BarrierPoint) -> Option<u64>| {
        count(barrier).map_or_else(|| "-".to_owned(), |count| count.to_string())
    };
    let cells = [
        of(&barrier.latency, |latency| match latency.ci95 {
            Some(ci95) => format!("{:.1} +-{ci95:.1}", latency.mean),
            None => format!("{:.1}", latency.mean),
        }),
        of(&barrier.latency, |latency| format!("{:.0}", latency.p50)),
        of(&barrier.latency, |latency| format!("{:.0}", latency.p99)),
        of(&barrier.release_latency, mean),
        of(&barrier.combine, mean),
        of(&barrier.distribute, mean),
        barrier.operations.to_string(),
        packets(|it| it.packets.map(|packets| packets.lost_by_fault + packets.lost_by_full_queue)),
        packets(|it| it.packets.map(|packets| packets.retransmissions + packets.duns)),
        unicast(format!("{:.3}", point.offered_load)),
        unicast(format!("{:.4}", point.accepted_load)),
    ];
    let mut line: Vec<String> =
        cells.iter().zip(COLUMNS).map(|(cell, (_, width))| format!("{cell:>width$}")).collect();
    if point.verdict != Verdict::Steady {
        line.push(point.verdict.name().to_owned());
    }
    line.join("  ").trim_end().to_owned()
}

/// What the numbers of the table mean.
fn definitions(points: &[Point]) -> String {
    let barriers = || points.iter().filter_map(|point| point.barrier.as_ref());
    let mut text = String::from(
        "\nbarrier            last arrival to last release; mean +-half of the 95 % interval\n\
         a release          last arrival to a release, in the mean over the members",
    );
    if barriers().any(|barrier| barrier.packets.is_some()) {
        text.push_str(
            "\ncombine            last arrival until the root knows of it; distribute: from then to the last release\n\
             lost, again        barrier packets lost, and combines and duns sent when a timer expired; warm-up included",
        );
    }
    if points.iter().any(|point| point.offered_load > 0.0) {
        text.push_str("\nunicast            load offered and accepted beside it");
    }
    text.push_str(&verdicts(points));
    let in_switches = barriers().any(|barrier| barrier.packets.is_some());
    if in_switches && points.iter().any(|point| point.verdict == Verdict::Saturated) {
        text.push_str(
            "\n                   (those of packets: a barrier begins when the one before is over)",
        );
    }
    for recovery in barriers().filter_map(|barrier| barrier.recovery) {
        let operations = plural(recovery.operations as u32, "barrier", "s");
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\nrecovery           {operations} lost packets; the slowest took {:.0} ns",
            recovery.latency_max_ns
        );
        if let Some(mean) = recovery.mean_ns {
            let _ = write!(text, ", in the mean {mean:.0} ns more than the others");
        }
    }
    text
}
