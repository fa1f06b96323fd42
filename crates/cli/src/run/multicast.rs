//! `flitway run --multicast`: multicast operations, alone or beside synthetic traffic.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::layout::{self, Column};
use crate::output::Targets;
use crate::progress::Goal;
use crate::remarks;
use crate::table::{beside, plural, sizes_of, verdicts};
use crate::task::{Shown, Task, session};
use flitway_experiment::workload::multicast::MulticastTask;
use flitway_experiment::workload::{MulticastWorkload, Tasks};
use flitway_machine::Machine;
use flitway_report::measure::Verdict;
use flitway_report::point::{Latency, Point};
use flitway_report::session::Session;
use flitway_report::session::multicast::MulticastRun;
use flitway_report::shown::load;
use std::fmt::Write;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &MulticastWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    // Everything is fitted before anything runs, so that nothing is lost to a mistake in the last point.
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let shown = Shown {
        header: &|| format!("{}; {}", sizes_of(&session), header(&session, workload, &tasks[0].run)),
        heading,
        label: |task: &MulticastTask| format!("multicast load {}", load(task.run.offered_load(), 3)),
        row,
        summary: &definitions,
        goal: Goal { clock: session.machine().clock, patience: workload.patience },
        fault: |_| Ok(()),
    };
    Task { arguments, session: &session, workload, targets, theory: None }.run_points(&tasks, &shown)
}

/// What is about to be measured, and what theory says of it.
pub(crate) fn header(session: &Session, workload: &MulticastWorkload, run: &MulticastRun) -> String {
    let multicast = run.plan().multicast();
    let mut text = format!(
        "multicast {}, {}, by {}",
        workload.written.text("multicast"),
        workload.written.text("multicast_packet"),
        workload.written.text("by"),
    );
    if !run.plan().groups().is_empty() {
        // Writing to a string does not fail.
        let _ = write!(text, ", root {}", workload.written.text("root"));
    }
    let groups = if multicast.is_fresh() {
        "receivers drawn for each operation".to_owned()
    } else {
        plural(multicast.groups().len() as u32, "group", "s")
    };
    let _ = write!(
        text,
        "\n{groups}, {} sending; {:.1} receivers of an operation in the mean",
        plural(multicast.senders() as u32, "node", "s"),
        multicast.receivers_mean(),
    );
    if let Some(ranges) = run.plan().ranges_mean() {
        let _ = write!(text, ", in {ranges:.1} ranges");
    }
    text.push_str(&remarks::above_one(&workload.loads, false));
    text.push_str(&beside(workload.beside.as_ref(), &workload.written));
    let nanos = session.machine().clock.nanos(run.zero_load_last_copy());
    let _ = write!(text, "\ntheory: last copy after {nanos:.0} ns when nothing else is in the network");
    if matches!(workload.written.text("by"), "sequence" | "binomial" | "postal") {
        text.push_str(" and packets meet at their senders alone");
        if run.overtakes() {
            text.push_str(", where they overtake each other on several virtual channels (in the mean)");
        }
    }
    text
}

const COLUMNS: [Column; 11] = [
    Column("offered", 7, Some(7)),
    Column("accepted", 8, Some(8)),
    Column("last copy ns", 18, Some(16)),
    Column("p50", 8, None),
    Column("p99", 9, Some(8)),
    Column("a copy ns", 10, None),
    Column("operations", 10, Some(10)),
    Column("unicast", 7, Some(7)),
    Column("accepted", 8, Some(8)),
    Column("latency ns", 10, None),
    Column("", 9, Some(9)),
];

fn heading() -> String {
    layout::heading(&COLUMNS)
}

fn row(point: &Point) -> String {
    let Some(multicast) = &point.multicast else { return String::new() };
    let last = &multicast.last_copy_latency;
    let cells = [
        load(multicast.offered_load, 3),
        load(multicast.accepted_load, 4),
        of(last, mean_with_interval),
        of(last, |latency| format!("{:.0}", latency.p50)),
        of(last, |latency| format!("{:.0}", latency.p99)),
        of(&multicast.mean_copy_latency, |latency| format!("{:.1}", latency.mean)),
        multicast.operations.to_string(),
    ];
    layout::line(&COLUMNS, cells.iter().chain(&beside_and_verdict(point)).map(String::as_str))
}

/// The last four cells of a row: load offered and accepted beside operations and mean latency, where there is some, and what
/// became of the point, unless it is steady.
pub(crate) fn beside_and_verdict(point: &Point) -> [String; 4] {
    let unicast = |text: String| if point.offered_load > 0.0 { text } else { String::new() };
    [
        unicast(load(point.offered_load, 3)),
        unicast(load(point.accepted_load, 4)),
        unicast(of(&point.packet_latency, |latency| format!("{:.1}", latency.mean))),
        if point.verdict == Verdict::Steady { String::new() } else { point.verdict.name().to_owned() },
    ]
}

/// A latency as `show` shows it, or that there is none.
pub(crate) fn of(latency: &Option<Latency>, show: fn(&Latency) -> String) -> String {
    latency.as_ref().map_or_else(|| "-".to_owned(), show)
}

/// The mean of a latency with half of its interval, where that is known.
pub(crate) fn mean_with_interval(latency: &Latency) -> String {
    match latency.ci95 {
        Some(ci95) => format!("{:.1} +-{ci95:.1}", latency.mean),
        None => format!("{:.1}", latency.mean),
    }
}

/// What load and last copy mean.
pub(crate) const LEGEND: &str = "
offered, accepted  flits of copies to be delivered, delivered; fraction of what the nodes can receive
last copy          beginning of an operation to its last copy at a NIC (with --overheads, taken in); mean
                   +-half of the 95 % interval, where known";

/// What the numbers of the table mean.
fn definitions(points: &[Point]) -> String {
    let mut text = LEGEND.to_owned();
    if layout::has_column(&COLUMNS, "a copy ns") {
        text.push_str("\na copy             the same in the mean over the copies of an operation");
    }
    if points.iter().any(|point| point.offered_load > 0.0) {
        text.push_str("\nunicast            load offered and accepted beside it, mean packet latency");
    }
    text.push_str(&verdicts(points));
    text.push_str(&missed(points));
    text
}

/// That packets found no entry in a table, if some did not.
pub(crate) fn missed(points: &[Point]) -> String {
    let missed: u64 = points.iter().filter_map(|point| point.multicast.as_ref()).map(|it| it.missed).sum();
    if missed == 0 {
        return String::new();
    }
    format!("\nmissed             {missed} packets for groups found no entry in the table of a switch")
}
