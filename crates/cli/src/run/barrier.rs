//! `flitway run --barrier`: barriers on a machine.

use super::multicast::{beside_and_verdict, mean_with_interval, of};
use crate::args::RunArguments;
use crate::failure::Failure;
use crate::layout::{self, Column};
use crate::output::Targets;
use crate::progress::Goal;
use crate::table::{beside, plural, sizes_of, verdicts};
use crate::task::{Shown, Task, session};
use flitway_experiment::workload::barrier::BarrierTask;
use flitway_experiment::workload::{BarrierWorkload, Tasks};
use flitway_machine::Machine;
use flitway_process::synchroniser::Method;
use flitway_report::faults::About;
use flitway_report::measure::Verdict;
use flitway_report::page::time;
use flitway_report::point::{BarrierPoint, Latency, Point};
use flitway_report::session::Session;
use flitway_report::session::barrier::BarrierRun;
use flitway_report::shown::load;
use std::fmt::Write;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &BarrierWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    // Everything is fitted before anything runs, so that nothing is lost to a mistake in the last point.
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let shown = Shown {
        header: &|| format!("{}; {}", sizes_of(&session), header(&session, workload, &tasks[0].run)),
        heading,
        label: |task: &BarrierTask| match &task.background {
            Some((_, offered)) => format!("barriers beside load {}", load(*offered, 3)),
            None => "barriers".to_owned(),
        },
        row,
        summary: &|points| definitions(workload, points),
        goal: Goal { clock: session.machine().clock, patience: workload.patience },
        fault: some_barriers,
    };
    Task { arguments, session: &session, workload, targets, theory: None }.run_points(&tasks, &shown)
}

/// That no barrier in the switches is ever over is a fault.
pub(crate) fn some_barriers(points: &[Point]) -> Result<(), Failure> {
    let of = |point: &Point| point.barrier.as_ref().filter(|it| it.operations == 0)?.packets;
    let Some(packets) = points.iter().filter(|point| !point.is_stopped()).find_map(of) else { return Ok(()) };
    let lost = packets.lost_by_fault + packets.lost_by_full_queue;
    if lost == 0 {
        // Nothing went wrong: there was no time for a barrier, and the point says that it is not settled.
        return Ok(());
    }
    Err(Failure::Fault(format!(
        "fault: no barrier was over: {lost} of {} barrier packets were lost",
        packets.sent
    )))
}

/// What is about to be measured, and what theory says of it.
pub(crate) fn header(session: &Session, workload: &BarrierWorkload, run: &BarrierRun) -> String {
    let barrier = run.plan().barrier();
    let mut text = format!(
        "barrier {} by {}, interval {}, imbalance {}",
        workload.written.text("barrier"),
        workload.written.text("by"),
        workload.written.text("interval"),
        workload.written.text("imbalance"),
    );
    // Writing to a string does not fail.
    let groups = plural(barrier.groups().len() as u32, "group", "s");
    let _ = write!(text, "\n{groups}; {:.1} members in the mean", barrier.members_mean());
    if let Some(ranges) = run.plan().ranges_mean() {
        let _ = write!(text, ", in {ranges:.1} ranges");
    }
    text.push_str(&beside(workload.beside.as_ref(), &workload.written));
    let nanos = session.machine().clock.nanos(run.zero_load() as f64);
    let when = if run.plan().is_of_switches() {
        "the slowest comes alone, after all others"
    } else {
        "all come at once"
    };
    // Messages also meet on their way to the one that asks, and paths are held.
    let plan = run.plan();
    let about = if plan.broadcasts() && plan.method() == Method::ThreeTrips { "about " } else { "" };
    let _ = write!(text, "\ntheory: {about}{nanos:.0} ns when nothing else is in the network and {when}");
    if run.plan().is_of_switches() && barrier.imbalance() == 0 {
        text.push_str(
            "; without --imbalance all come at once, and their combines wait for each other in the switches",
        );
    }
    text
}

const COLUMNS: [Column; 12] = [
    Column("barrier ns", 18, Some(16)),
    Column("p50", 8, None),
    Column("p99", 9, Some(8)),
    Column("a release", 9, None),
    Column("combine", 9, Some(8)),
    Column("distribute", 10, Some(10)),
    Column("barriers", 8, Some(8)),
    Column("lost", 5, Some(5)),
    Column("again", 5, Some(5)),
    Column("unicast", 7, None),
    Column("accepted", 8, None),
    Column("", 9, Some(9)),
];

fn heading() -> String {
    layout::heading(&COLUMNS)
}

fn row(point: &Point) -> String {
    let Some(barrier) = &point.barrier else { return String::new() };
    let mean = |latency: &Latency| format!("{:.1}", latency.mean);
    let [offered, accepted, _, verdict] = beside_and_verdict(point);
    let packets = |count: fn(&BarrierPoint) -> Option<u64>| {
        count(barrier).map_or_else(|| "-".to_owned(), |count| count.to_string())
    };
    let cells = [
        of(&barrier.latency, mean_with_interval),
        of(&barrier.latency, |latency| format!("{:.0}", latency.p50)),
        of(&barrier.latency, |latency| format!("{:.0}", latency.p99)),
        of(&barrier.release_latency, mean),
        of(&barrier.combine, mean),
        of(&barrier.distribute, mean),
        barrier.operations.to_string(),
        packets(|it| it.packets.map(|packets| packets.lost_by_fault + packets.lost_by_full_queue)),
        packets(|it| it.packets.map(|packets| packets.retransmissions + packets.duns)),
        offered,
        accepted,
        verdict,
    ];
    layout::line(&COLUMNS, cells.iter().map(String::as_str))
}

/// What the numbers of the table mean.
fn definitions(workload: &BarrierWorkload, points: &[Point]) -> String {
    let barriers = || points.iter().filter_map(|point| point.barrier.as_ref());
    let mut text =
        String::from("\nbarrier            last arrival to last release; mean +-half of the 95 % interval");
    if layout::has_column(&COLUMNS, "a release") {
        text.push_str("\na release          last arrival to a release, in the mean over the members");
    }
    if barriers().any(|barrier| barrier.packets.is_some()) {
        text.push_str(
            "\ncombine            last arrival until the root knows of it; distribute: from then to the last release\n\
             lost, again        barrier packets lost, and combines and duns sent when a timer expired; warm-up included",
        );
    }
    for tests in barriers().filter_map(|barrier| barrier.tests) {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\ntests              {} of whether all have arrived, {} of them false",
            tests.answered, tests.false_ones
        );
    }
    if points.iter().any(|point| point.offered_load > 0.0) && layout::has_column(&COLUMNS, "unicast") {
        text.push_str("\nunicast            load offered and accepted beside it");
    }
    text.push_str(&verdicts(points));
    let in_switches = barriers().any(|barrier| barrier.packets.is_some());
    if in_switches && points.iter().any(|point| point.verdict == Verdict::Saturated) {
        text.push_str(
            "\nbarriers           their latency does not grow for ever where the network is saturated: one begins when the one before is over",
        );
    }
    text.push_str(&without_effect(workload, points));
    if barriers().any(|barrier| barrier.operations > 0) && points.iter().any(loses) {
        text.push_str(
            "\nlost for good      a group of which a message is lost waits for ever: it has no barrier after that",
        );
    }
    for recovery in barriers().filter_map(|barrier| barrier.recovery) {
        let operations = plural(recovery.operations as u32, "barrier", "s");
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\nrecovery           {operations} lost packets; the slowest took {}",
            time(recovery.latency_max_ns)
        );
        if let Some(mean) = recovery.mean_ns {
            let _ = write!(text, ", in the mean {} more than the others", time(mean));
        }
    }
    text
}

/// Whether packets were lost for good.
fn loses(point: &Point) -> bool {
    point.faults.as_ref().is_some_and(|faults| faults.lost.sum() > 0)
}

/// The rules of `--lose` that never came true.
pub(super) fn idle_rules(workload: &BarrierWorkload, points: &[Point]) -> String {
    let mut text = String::new();
    let barriers = || points.iter().filter_map(|point| point.barrier.as_ref());
    for (place, rule) in workload.written.text("lose").split(';').enumerate() {
        let idle = barriers().filter(|barrier| barrier.idle_rules.contains(&place)).count();
        if idle > 0 {
            let times = if points.len() == 1 {
                String::new()
            } else {
                format!("at {idle} of {} points ", points.len())
            };
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "\nnot lost           {times}`{}`: fewer such packets arrived there, so this rule had no effect",
                rule.trim()
            );
        }
    }
    text
}

/// The rules of `--lose` that never came true, and that no barrier was over though nothing was lost.
pub(crate) fn without_effect(workload: &BarrierWorkload, points: &[Point]) -> String {
    let mut text = idle_rules(workload, points);
    let mut barriers = points.iter().filter_map(|point| point.barrier.as_ref());
    if points.iter().any(|point| !point.is_stopped()) && barriers.any(|barrier| barrier.operations == 0) {
        let stalled = points.iter().find_map(stalled);
        text.push_str(&if points.iter().any(loses) {
            "\nno barrier         none was over in the time measured: packets were lost for good, and who waits for such a \
             message waits for ever"
                .to_owned()
        } else if let Some(stalled) = stalled {
            format!(
                "\nno barrier         none was over in the time measured: {stalled}, and who waits for that node waits as long"
            )
        } else {
            "\nno barrier         none was over in the time measured: measure longer (--duration), or shorten --interval or \
             --imbalance"
                .to_owned()
        });
    }
    text
}

/// The first node that was stalled, in words.
fn stalled(point: &Point) -> Option<String> {
    let notes = point.faults.iter().flat_map(|faults| &faults.log);
    notes.into_iter().find_map(|note| match &note.about {
        About::Node(place) => Some(format!("from {} on {place}: {}", time(note.at_ns), note.text)),
        _ => None,
    })
}
