//! `flitway run --graph`: task graphs, and what each came to, for people: the ranks that matter, never a line for each of many.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::faults::{causes, links};
use crate::layout::fitted;
use crate::output::{Targets, manner};
use crate::table::{bare_table, cost_line, named, plural};
use crate::task::{Each, Task, session};
use flitway_experiment::workload::graph::GraphJob;
use flitway_experiment::workload::{GraphWorkload, Tasks};
use flitway_machine::Machine;
use flitway_report::graph::{GraphResult, waiting};
use flitway_report::page::time;
use flitway_report::session::Session;
use flitway_report::shown::Unit;
use flitway_report::stages::{Stage, Stages};
use flitway_wiring::topology::Topology;
use flitway_workload::graph::RankSummary;
use flitway_workload::graph::stuck::Stuck;
use std::fmt::Write;

/// Up to so many ranks each has its line.
const ALL: usize = 16;

/// Of more so many are shown of a kind: the slowest, the fastest, those that wait longest.
const SOME: usize = 3;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &GraphWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let each = Each {
        label: &|_, _| workload.written.shown("graph"),
        texts: &|_, results: &Vec<GraphResult>| {
            let jobs = workload.jobs.iter().zip(results);
            let texts = jobs.map(|(job, result)| fitted(&text(&session, workload, job, (result, &[])), 2));
            // Those of the links are of all of them.
            let links = results.first().and_then(|result| links(&result.counters.link, &[], ""));
            texts.chain(links).collect()
        },
        is_table: false,
        fault: &|results: &Vec<GraphResult>| results.iter().try_for_each(|result| verdict(&session, result)),
    };
    Task { arguments, session: &session, workload, targets, theory: None }.run_each(&tasks, &each)
}

/// Lines of a kind that are shown of a graph that cannot finish; the JSON has more.
const WAITING_MAX: usize = 10;

/// What a graph that cannot finish waits for, the cause first: messages that nobody received, then ranks that wait.
fn shown_waiting(stuck: &Stuck) -> Vec<String> {
    let (unmatched, tasks) = waiting(stuck);
    let some = |lines: Vec<String>| {
        let more = lines.len().saturating_sub(WAITING_MAX);
        let more = (more > 0).then(|| format!("... and {more} more lines of this kind; --json has more"));
        lines.into_iter().take(WAITING_MAX).chain(more)
    };
    some(unmatched).chain(some(tasks)).collect()
}

/// A graph that did not finish is a fault, unless somebody stopped it.
pub(super) fn verdict(session: &Session, result: &GraphResult) -> Result<(), Failure> {
    if result.out_of_memory {
        let after = time(session.machine().clock.nanos(result.last.0 as f64));
        let message = format!("memory for packets that wait was about to run out after {after} simulated");
        let help =
            "what there was until then is shown; send large messages in parts that wait for each other";
        return Err(Failure::input(message, Some(help.to_owned())));
    }
    if result.stopped {
        return Ok(());
    }
    let Some(stuck) = &result.stuck else { return Ok(()) };
    let name = result.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    let what = if stuck.ranks.is_empty() {
        "the graph has finished, but messages were sent that nobody received"
    } else {
        "the graph cannot finish: ranks wait for what will never come"
    };
    Err(Failure::Fault(format!("fault: {name}{what}\n  {}", shown_waiting(stuck).join("\n  "))))
}

/// The text of `result`, beside which `others` run.
pub(super) fn text(
    session: &Session,
    workload: &GraphWorkload,
    job: &GraphJob,
    (result, others): (&GraphResult, &[String]),
) -> String {
    let graph = &job.graph;
    let path = result.name.as_ref().unwrap_or(&job.path);
    let clock = session.machine().clock;
    let nanos = |cycles: u64| clock.nanos(cycles as f64);
    let summary = &result.summary;
    let mut text = format!(
        "{}: {path}, {} ranks, {} tasks{}\n{} messages, {} bytes, {} packets{}\n",
        named(session.machine()),
        graph.ranks(),
        graph.tasks(),
        beside(workload, others),
        summary.messages,
        summary.bytes,
        result.counters.packets_created,
        if workload.jobs.len() == 1 && others.is_empty() { "" } else { " of all that ran" }
    );
    // Writing to a string does not fail.
    let _ = match summary.completion {
        Some(completion) => {
            writeln!(text, "completion: {}", Unit::of(nanos(completion.0)).with(nanos(completion.0)))
        }
        None if result.counters.lost.sum() > 0 => {
            let lost = &result.counters.lost;
            writeln!(
                text,
                "not completed: {} lost for good, {}",
                plural(lost.sum(), "packet", "s"),
                causes(lost)
            )
        }
        None => writeln!(text, "not completed"),
    };
    let [least, mean, most] = summary.communication_share.map(|share| share * 100.0);
    let _ = writeln!(
        text,
        "communication share: {mean:.1} % in the mean over ranks, {least:.1} % to {most:.1} %\n"
    );
    let longest = |rank: &RankSummary| {
        let end = rank.completion.map_or(0, |at| at.0);
        end.max(rank.computing).max(rank.overhead).max(rank.waiting)
    };
    let unit = Unit::of(nanos(summary.ranks.iter().map(longest).max().unwrap_or(0)));
    if summary.ranks.len() > ALL {
        let _ =
            writeln!(text, "{}", quantiles(&summary.ranks, |cycles| unit.number(nanos(cycles)), unit.name()));
    }
    let busy = result.stages.as_ref().map_or_else(String::new, |(stages, _)| {
        format!("\n\n{}", channels(stages, session.fabric().topology()))
    });
    let _ = write!(
        text,
        "{}{busy}\n\ncomputing: in calc; overhead: in o_s or o_r; waiting: neither, for messages\n\
         communication share: (overhead + waiting) / all",
        ranks(&summary.ranks, |cycles| unit.number(nanos(cycles)), unit.name()),
    );
    if manner().verbose {
        let counters = &result.counters;
        let cost = cost_line(counters.events, counters.packet_hops, result.wall.as_secs_f64());
        let _ = write!(text, "\n{cost}");
    }
    text
}

/// What runs beside a graph, for the end of a sentence.
fn beside(workload: &GraphWorkload, others: &[String]) -> String {
    let graphs = workload.jobs.len() - 1;
    let graphs = (graphs > 0).then(|| plural(graphs as u32, "graph", "s"));
    let all: Vec<String> = graphs.into_iter().chain(others.iter().cloned()).collect();
    match &all[..] {
        [] => String::new(),
        [one] => format!(", beside {one}"),
        [first @ .., last] => format!(", beside {} and {last}", first.join(", ")),
    }
}

/// How busy the channels were: each stage, and the busiest of each.
fn channels(stages: &Stages, topology: &Topology) -> String {
    let mut table = bare_table(&["channels", "", "mean %", "max %"]);
    // Of what each could carry.
    let percent = |load: f64| format!("{:.1}", load * 100.0);
    for (stage, load) in [Stage::Injection, Stage::Network, Stage::Ejection].into_iter().zip(&stages.shares) {
        if load.channels > 0 {
            let cells =
                [load.channels.to_string(), stage.place().to_owned(), percent(load.mean), percent(load.max)];
            table.add_row(cells);
        }
    }
    let busiest = match stages.busiest.first() {
        Some(busy) if busy.load > 0.0 => {
            let channel = busy.channel.named(topology);
            format!("\nbusiest channel: {channel}, {} % of what it could carry", percent(busy.share()))
        }
        _ => String::new(),
    };
    format!("{table}{busiest}")
}

/// A time of a rank in cycles.
type Cycles = fn(&RankSummary) -> Option<u64>;

/// The spread of each time over all ranks.
fn quantiles(ranks: &[RankSummary], number: impl Fn(u64) -> String, unit: &str) -> String {
    let mut table = bare_table(&[unit, "least", "quarter", "half", "three quarters", "most"]);
    let kinds: [(&str, Cycles); 4] = [
        ("completion", |rank| rank.completion.map(|at| at.0)),
        ("computing", |rank| Some(rank.computing)),
        ("overhead", |rank| Some(rank.overhead)),
        ("waiting", |rank| Some(rank.waiting)),
    ];
    for (name, of) in kinds {
        let mut values: Vec<u64> = ranks.iter().filter_map(of).collect();
        values.sort_unstable();
        let Some(last) = values.len().checked_sub(1) else { continue };
        let cells = (0..=4).map(|quarter| number(values[last * quarter / 4]));
        table.add_row(std::iter::once(name.to_owned()).chain(cells));
    }
    format!("over all {} ranks\n{table}\n", ranks.len())
}

/// A line for each rank that matters.
fn ranks(ranks: &[RankSummary], number: impl Fn(u64) -> String, unit: &str) -> String {
    let has_all = ranks.len() <= ALL;
    let heading = ["rank", "completion", "computing", "overhead", "waiting", "comm %", "sent", "received"];
    let heading = std::iter::once("").filter(|_| !has_all).chain(heading);
    let mut table = bare_table(&heading.collect::<Vec<_>>());
    for (why, rank) in chosen(ranks) {
        let cells = [
            rank.rank.to_string(),
            rank.completion.map_or_else(|| "-".to_owned(), |at| number(at.0)),
            number(rank.computing),
            number(rank.overhead),
            number(rank.waiting),
            format!("{:.1}", rank.communication_share() * 100.0),
            rank.messages_sent.to_string(),
            rank.messages_received.to_string(),
        ];
        table.add_row(std::iter::once(why.to_owned()).filter(|_| !has_all).chain(cells));
    }
    let left = if has_all { String::new() } else { "\n--json has every rank".to_owned() };
    format!("times in {unit}\n{table}{left}")
}

/// The ranks that are shown, and why.
fn chosen(ranks: &[RankSummary]) -> Vec<(&'static str, &RankSummary)> {
    if ranks.len() <= ALL {
        return ranks.iter().map(|rank| ("", rank)).collect();
    }
    let mut by_end: Vec<&RankSummary> = ranks.iter().collect();
    // What has not completed is slowest of all. Stable: of equals the first rank comes first.
    by_end.sort_by_key(|rank| std::cmp::Reverse(rank.completion.map_or(u64::MAX, |at| at.0)));
    let mut by_waiting: Vec<&RankSummary> = ranks.iter().collect();
    by_waiting.sort_by_key(|rank| std::cmp::Reverse(rank.waiting));
    let slowest = by_end.iter().take(SOME).map(|rank| ("slowest", *rank));
    let fastest = by_end.iter().rev().take(SOME).map(|rank| ("fastest", *rank));
    let waiting = by_waiting.iter().take(SOME).map(|rank| ("waiting", *rank));
    slowest.chain(fastest).chain(waiting).collect()
}
