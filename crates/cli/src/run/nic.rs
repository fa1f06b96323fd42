//! `flitway run --nic`: operations of NICs between two nodes.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::faults::links;
use crate::layout::{self, Column, broken, fitted};
use crate::output::{Targets, manner};
use crate::table::{cost_line, plural, sizes_of};
use crate::task::{Each, Task, no_deadlock, session};
use flitway_engine::Picos;
use flitway_experiment::workload::nic::{NicTask, Operation};
use flitway_experiment::workload::{NicWorkload, Tasks};
use flitway_machine::Machine;
use flitway_machine::units::{self, Dimension};
use flitway_report::session::Session;
use flitway_report::session::nic::program::{Submission, Waits};
use flitway_report::session::nic::{
    Busy, GroupChoice, LockChoice, Manner, MatchChoice, Meets, NicChoice, NicResult, Noise, Stage, Taking,
    stage_names,
};
use flitway_report::shown::load;
use flitway_wiring::NodeId;
use flitway_wiring::topology::Names;
use std::cell::RefCell;
use std::slice::from_ref;

/// Runs `workload` as `arguments` say.
pub(crate) fn run(
    arguments: &RunArguments,
    machine: Machine,
    workload: &NicWorkload,
    targets: &Targets,
) -> Result<(), Failure> {
    let session = session(arguments, machine);
    let tasks = workload.tasks(&session).map_err(Failure::workload)?;
    let seen = RefCell::new(Vec::new());
    let each = Each {
        label: &|_, task: &NicTask| {
            let choice = task.run.choice();
            format!("{} of {}{}", choice.name(), size(choice.bytes), at(task))
        },
        texts: &|task, result: &NicResult| {
            let mut seen = seen.borrow_mut();
            let lines = lines(&session, workload, task, result, &mut seen);
            if seen.len() == tasks.len() {
                let meets = session.meets_by(&result.choice).is_some();
                [lines, vec![summary(&seen, &workload.operation, meets)]].concat()
            } else {
                lines
            }
        },
        is_table: true,
        fault: &|result| {
            no_deadlock(from_ref(&result.point)).and_then(|()| all_seen(result, names_of(&session)))
        },
    };
    Task { arguments, session: &session, workload, targets, theory: None }.run_each(&tasks, &each)
}

/// What the nodes of the machine are called.
fn names_of(session: &Session) -> &Names {
    session.fabric().topology().names()
}

/// At what load of the traffic beside it, if there is some.
fn at(task: &NicTask) -> String {
    task.background().map_or_else(String::new, |(_, offered)| format!(" at {}", load(offered, 3)))
}

/// The lines of a result, with the heading before the first, and the load of the traffic where it is another one.
fn lines(
    session: &Session,
    workload: &NicWorkload,
    task: &NicTask,
    result: &NicResult,
    seen: &mut Vec<Seen>,
) -> Vec<String> {
    let mut lines = Vec::new();
    if seen.is_empty() {
        lines.push(header(session, workload, &result.choice));
    }
    let beside = at(task);
    if let (Some(traffic), true) = (&workload.beside, seen.last().is_none_or(|last| last.beside != beside)) {
        lines.push(format!("beside {} traffic{beside}", traffic.traffic));
    }
    lines.push(row(result));
    if let Some(accepted) = result.accepted_of_saturated() {
        let text = "  saturated: the network accepts {} of it, queues grow, and latencies with the number of operations";
        lines.push(broken(&text.replace("{}", &load(accepted, 3)), 2));
    }
    let size = size(result.choice.bytes);
    lines.extend(match &result.point.faults {
        Some(faults) => Some(fitted(
            &crate::faults::text(faults, (&result.counters.link, &result.point.links), names_of(session)),
            19,
        )),
        None => links(&result.counters.link, &result.point.links, &format!("{size}{beside}: ")),
    });
    lines.extend(handed_over(result));
    lines.extend(protocol(result));
    lines.extend(refused(result, names_of(session)));
    lines.extend(refused_by_threads(result));
    if manner().verbose {
        let counters = &result.counters;
        lines.push(cost_line(counters.events, counters.packet_hops, result.wall.as_secs_f64()));
    }
    seen.push(Seen { size, beside, stages: result.stages(), limit: limit(result, names_of(session)) });
    lines
}

/// What reliable operations made up for, or that others have wrong data: a line where something was wrong.
fn protocol(result: &NicResult) -> Option<String> {
    let undetected = result.counters.link.undetected;
    let text = if result.choice.is_reliable {
        let sum = |name: &str| (0..2).map(|side| counted(result, side, name)).sum::<u64>();
        let made_up = [
            ("CRC errors", "found corrupt by their user CRC"),
            ("packets sent again, or after a refusal", "sent again"),
            ("packets refused for want of an entry", "refused for want of an entry"),
        ];
        let made_up = made_up.map(|(name, what)| (sum(name), what));
        let mut parts: Vec<String> = made_up
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", plural(*count, "packet", "s")))
            .collect();
        let given_up = sum(GIVEN_UP);
        if given_up > 0 {
            parts.push(format!("{} given up", plural(given_up, "transfer", "s")));
        }
        (!parts.is_empty()).then(|| parts.join(", "))?
    } else if undetected > 0 {
        "operations are not reliable: data of packets that are corrupt are wrong in memory".to_owned()
    } else {
        return None;
    };
    Some(fitted(&format!("{:<19}{text}", "end to end"), 19))
}

/// How a lock was handed over: a line where there is one.
fn handed_over(result: &NicResult) -> Option<String> {
    result.choice.lock?;
    let waited = counted(result, 0, "locks waited for");
    let refused = counted(result, 0, "locks refused");
    let mean = match result.hand_over_ns() {
        Some(ns) => format!("handed over in {ns:.1} ns"),
        None => "never handed over to one that waited".to_owned(),
    };
    let text = format!("{mean}; {waited} waited for their turn, {} refused", plural_of_tries(refused));
    Some(fitted(&format!("{:<19}{text}", "lock"), 19))
}

fn plural_of_tries(count: u64) -> String {
    if count == 1 { "1 try was".to_owned() } else { format!("{count} tries were") }
}

/// That input queues of Elan4 were full: a line where one was.
fn refused(result: &NicResult, names: &Names) -> Option<String> {
    let [of_caller, of_other] = [0, 1].map(|side| counted(result, side, MESSAGES_REFUSED));
    (of_caller + of_other > 0).then(|| {
        let nodes = result.choice.nodes;
        let text = format!(
            "{} refused by the NIC of node {} and {of_caller} by that of node {}, as their input queue was full, and sent again",
            plural(of_other, "message", "s"),
            names.node(NodeId(nodes[1])),
            names.node(NodeId(nodes[0]))
        );
        fitted(&format!("{:<19}{text}", "input queues"), 19)
    })
}

/// That threads refused messages: a line where they did.
fn refused_by_threads(result: &NicResult) -> Option<String> {
    let refused = [0, 1].map(|side| counted(result, side, "messages refused by threads"));
    let all = refused[0] + refused[1];
    let text = format!("{} refused, as no receive waited, and sent again", plural(all, "message", "s"));
    (all > 0).then(|| fitted(&format!("{:<19}{text}", "threads"), 19))
}

/// The counter of messages that found their input queue full.
const MESSAGES_REFUSED: &str = "messages refused, as their input queue was full";

/// The counter of transfers that senders have given up.
const GIVEN_UP: &str = "transfers given up";

/// A counter of the NIC of the caller or of the other node.
fn counted(result: &NicResult, side: usize, name: &str) -> u64 {
    result.counters_of(side).iter().find(|(counter, _)| *counter == name).map_or(0, |(_, count)| *count)
}

/// The columns of the table.
const COLUMNS: [Column; 8] = [
    Column("size", 9, Some(8)),
    Column("mean ns", 11, Some(10)),
    Column("p99 ns", 11, Some(10)),
    Column("idle ns", 10, Some(9)),
    Column("MB/s", 9, Some(8)),
    Column("M/s", 8, Some(7)),
    Column("sender ns", 10, Some(9)),
    Column("receiver ns", 11, Some(11)),
];

/// The most sizes of which it is shown where the time goes.
const SIZES: usize = 4;

/// What is about to be measured, what disturbs it, and the heading of the table.
fn header(session: &Session, workload: &NicWorkload, choice: &NicChoice) -> String {
    let time = |Picos(time)| units::format(time, Dimension::Time);
    let noise = workload.operation.noise.map_or_else(String::new, |Noise { length, period }| {
        format!("system software has each processor for {} of every {}\n", time(length), time(period))
    });
    let text = header_of_operations(session, workload, choice);
    format!("{noise}{}\n{}", broken(&text, 2), layout::heading(&COLUMNS))
}

/// What is about to be measured.
fn header_of_operations(session: &Session, workload: &NicWorkload, choice: &NicChoice) -> String {
    let by = choice.by;
    let NicWorkload { operation, count, outstanding, processes, .. } = workload;
    let [from, to] = operation.nodes;
    let how = match outstanding {
        None if operation.verb.comes_back() || operation.chain.is_multiple_of(2) => {
            "one after the other".to_owned()
        }
        None => "ping-pong".to_owned(),
        Some(outstanding) => format!("{outstanding} under way"),
    };
    let of_each = if *processes > 1 { format!(", of each of {processes} processes") } else { String::new() };
    let chained = match operation.chain {
        1 => String::new(),
        chain => format!("chains of {chain} to and fro, "),
    };
    if let Some(meets) = session.meets_by(choice) {
        return header_of_barrier(session, workload, choice, meets);
    }
    if let Some(group) = operation.group {
        return header_of_group(session, workload, group, by);
    }
    if let Some(lock) = operation.lock {
        return header_of_lock(session, workload, lock);
    }
    format!(
        "{}; {}{} between nodes {from} and {to}, {} {}; {}{}{chained}{how}, {} after {} that warm up{of_each}\n",
        sizes_of(session),
        if operation.is_reliable { "reliable " } else { "" },
        operation.verb.name(),
        by.parameter(),
        by.name(),
        operation.matching.map_or_else(String::new, matched),
        in_manner(operation.manner),
        plural(*count, "operation", "s"),
        workload.warm_up(),
    )
}

/// How processes go about operations, where that is not as usual.
fn in_manner(Manner { waits, is_physical, is_on_demand, buffers }: Manner) -> String {
    let sleeps = if waits == Waits::Sleeping { "processes sleep until an interrupt; " } else { "" };
    let physical = if is_physical { "physical addresses; " } else { "" };
    let buffers = if buffers > 1 { format!("{buffers} buffers in turn; ") } else { String::new() };
    let demand = if is_on_demand { "translations on demand; " } else { "" };
    format!("{sleeps}{physical}{demand}{buffers}")
}

/// How sends are matched.
fn matched(MatchChoice { place, unexpected, late }: MatchChoice) -> String {
    let late = match late {
        Picos(0) => String::new(),
        Picos(late) => format!(", posted {} late", units::format(late, Dimension::Time)),
    };
    format!(
        "matched by threads with receive {place} of the list{late}, {} what is not expected; ",
        unexpected.name()
    )
}

/// The same for a barrier of barrier modules.
fn header_of_barrier(session: &Session, workload: &NicWorkload, choice: &NicChoice, meets: Meets) -> String {
    let [first, last] = choice.nodes;
    format!(
        "{}; barrier of {} of each of nodes {first} to {last}, by barrier modules of their NICs {}; one after the other, {} after \
         {} that warm up\n",
        sizes_of(session),
        if choice.processes == 1 {
            "a process".to_owned()
        } else {
            format!("{} processes", choice.processes)
        },
        match (meets, choice.group) {
            (Meets::Messages, Some(group)) => format!("in a tree of arity {}", group.arity),
            _ => "and the barrier of the switches".to_owned(),
        },
        plural(workload.count, "barrier", "s"),
        workload.warm_up(),
    )
}

/// The same for a lock.
fn header_of_lock(
    session: &Session,
    workload: &NicWorkload,
    LockChoice { taking, hold }: LockChoice,
) -> String {
    let [first, last] = workload.operation.nodes;
    let NicWorkload { count, processes, .. } = workload;
    let time = |Picos(time)| units::format(time, Dimension::Time);
    let how = match taking {
        Taking::Turn => "which queues at its NIC".to_owned(),
        Taking::Again(back_off) => format!("which try again {} after a first refusal", time(back_off)),
    };
    let takers = (last - first) * processes;
    format!(
        "{}; a lock of node {first} among {} of nodes {} to {last}, {how}; each takes it {} and holds it for {}\n",
        sizes_of(session),
        if takers == 1 { "1 process".to_owned() } else { format!("{takers} processes") },
        first + 1,
        plural(*count, "time", "s"),
        time(hold),
    )
}

/// The same for an operation of many nodes.
fn header_of_group(
    session: &Session,
    workload: &NicWorkload,
    GroupChoice { kind, is_offloaded, arity, .. }: GroupChoice,
    by: Submission,
) -> String {
    let [first, last] = workload.operation.nodes;
    format!(
        "{}; {} of nodes {first} to {last} by {}, {} {}, in a tree of arity {arity}; one after the other, {} after {} that \
         warm up\n",
        sizes_of(session),
        kind.name(),
        match (is_offloaded, kind.is_of_threads()) {
            (true, true) => "threads of the NICs",
            (true, false) => "the NICs",
            (false, _) => "the hosts",
        },
        by.parameter(),
        by.name(),
        plural(workload.count, "operation", "s"),
        workload.warm_up(),
    )
}

/// A line of the table.
fn row(result: &NicResult) -> String {
    let known = |number: Option<f64>, digits: usize| {
        number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
    };
    let [sender, receiver] = [0, 1].map(|side| result.processor_ns().map(|of| of[side]));
    let cells = [
        size(result.choice.bytes),
        known(result.mean_ns(), 1),
        known(result.percentile_ns(990), 1),
        known(result.zero_load.map(Picos::as_nanos), 1),
        known(result.bandwidth_mb_per_s(), 1),
        known(result.rate_per_s().map(|rate| rate / 1e6), 3),
        known(sender, 1),
        known(receiver, 1),
    ];
    layout::line(&COLUMNS, cells.iter().map(String::as_str))
}

/// What the columns are, and where the time of an operation goes.
fn summary(results: &[Seen], operation: &Operation, meets: bool) -> String {
    let of_two = "\nmean, p99: from when the caller's processor begins to post until the data have been seen. idle: the closed form for \
                the first operation of an idle machine with all translations, where one packet has the data. MB/s: 10^6 B of \
                data a second. M/s: million operations a second, of a stream. sender, receiver: time of their processors for each. The mean \
                can differ from idle by the phase of the clock, a cycle for each packet";
    let of_many = "\nmean, p99: of each process, until it has seen the end, of a gather of the first one alone. They count from when the \
                   processor began to post on which that had to wait: by the hosts the last one, of a broadcast that of the first node, \
                   which does not count itself. M/s: million operations a second, one after the other. sender, receiver: time of \
                   the processors of the first node and of the last for each";
    let of_lock = "\nmean, p99: from when a processor begins to ask for the lock until it has it. idle: the closed form for a lock that is \
                   free, of the node behind that of the lock. M/s: millions of processes that get it in a second. handed over: from when a \
                   processor begins to free it until the next one has it, where that had begun to ask";
    let of_modules = "\nmean, p99: of each process, from when it begins to say that it has come until it has seen that all have: the wait for \
                      others is in it, as barrier module. M/s: million barriers a second, one after the other. sender, receiver: time \
                      of the processors of the first node and of the last for each";
    let of_it = match operation {
        _ if meets => of_modules,
        Operation { lock: Some(_), .. } => of_lock,
        Operation { group: Some(_), .. } => of_many,
        _ => of_two,
    };
    let mut text = broken(of_it, 2);
    let step = results.len().div_ceil(SIZES);
    let shown: Vec<&Seen> = results.iter().step_by(step.max(1)).collect();
    if results.iter().all(|seen| seen.stages.is_empty()) {
        return text;
    }
    text.push_str("\n\nwhere the time goes, mean of each stage in ns; they sum to the mean latency\n");
    let heads = |of: fn(&Seen) -> &str| {
        let cells = shown.iter().map(|seen| format!("  {:>10}", of(seen).trim())).collect::<String>();
        format!("{:<31}{cells}", "")
    };
    text.push_str(&heads(|seen| &seen.size));
    if shown.iter().any(|seen| !seen.beside.is_empty()) {
        text.push_str(&format!("\n{}", heads(|seen| &seen.beside)));
    }
    for stage in Stage::all() {
        let of = |seen: &&Seen| seen.stages.iter().find(|(it, _)| *it == stage).map(|&(_, ns)| ns);
        if shown.iter().any(|seen| of(seen).is_some()) {
            let [place, unit] = stage_names(stage);
            let cells = shown
                .iter()
                .map(|seen| of(seen).map_or_else(|| format!("  {:>10}", "-"), |ns| format!("  {ns:>10.1}")));
            text.push_str(&format!("\n{:<31}{}", format!("{place:<8} {unit}"), cells.collect::<String>()));
        }
    }
    let limits = results.iter().filter_map(|seen| seen.limit.as_deref());
    let limits: String = limits.map(|limit| format!("\n{}", broken(limit, 2))).collect();
    if !limits.is_empty() {
        text.push_str(&format!("\n{limits}"));
    }
    text
}

/// What is kept of a result for what is said below the table.
struct Seen {
    size: String,
    /// At what load of traffic beside it.
    beside: String,
    stages: Vec<(Stage, f64)>,
    limit: Option<String>,
}

/// What limits a stream, or that it is too short to say what it does in a second.
fn limit(result: &NicResult, names: &Names) -> Option<String> {
    let size = size(result.choice.bytes);
    if let Some(Picos(end)) = result.shorter_than_noise() {
        let end = units::format(end, Dimension::Time);
        return Some(format!(
            "{size}: over in {end}, less than a period of the noise; --count makes it longer"
        ));
    }
    if result.choice.outstanding.is_some() && result.is_complete && result.rate_per_s().is_none() {
        return Some(format!("{size}: too short for a rate; --count says how many, more than are under way"));
    }
    let named = |Busy { part, side, share }: &Busy| {
        let node = names.node(NodeId(result.choice.nodes[*side]));
        let part = part.strip_suffix(" the node").map_or_else(|| format!("{part} of"), str::to_owned);
        (format!("{part} node {node}"), share * 100.0)
    };
    let all: Vec<(String, f64)> = result.limits().iter().map(named).collect();
    let ((part, share), others) = all.split_first()?;
    let mut text = format!("{size}: limited by the {part}, full {share:.0} % of the time");
    if !others.is_empty() {
        let others: Vec<String> =
            others.iter().map(|(part, share)| format!("the {part} ({share:.0} %)")).collect();
        text.push_str(&format!(", or by what it waits for: {}", others.join(", ")));
    }
    Some(text)
}

/// Operations that nobody has seen are a fault.
fn all_seen(result: &NicResult, names: &Names) -> Result<(), Failure> {
    if result.is_complete || result.is_stopped {
        return Ok(());
    }
    if let Some((node, fault)) = &result.fault {
        let node = names.node(NodeId(*node));
        return Err(Failure::Fault(format!("fault: on node {node} {fault}")));
    }
    let lost = [0, 1].into_iter().flat_map(|side| {
        let node = names.node(NodeId(result.choice.nodes[side]));
        let is_loss = |name: &str| name.ends_with("dropped") || name == GIVEN_UP;
        let dropped =
            result.counters_of(side).iter().filter(move |(name, count)| is_loss(name) && *count > 0);
        dropped.map(move |(name, count)| format!("{count} {name} in the NIC of node {node}"))
    });
    let lost: Vec<String> = lost.collect();
    let why = match (lost.is_empty(), &result.program) {
        (false, _) => lost.join(", "),
        (true, Some(program)) if result.point.faults.is_none() => {
            format!(
                "threads that run program {program} wait for what does not come, or for slots that are never free"
            )
        }
        (true, _) => "packets were lost".to_owned(),
    };
    let name = result.choice.name();
    let what = if result.choice.bytes == 0 {
        name.to_owned()
    } else {
        format!("{name} of {}", size(result.choice.bytes))
    };
    Err(Failure::Fault(format!("fault: not every {what} was seen: {why}")))
}

/// A size as it is written.
fn size(bytes: u64) -> String {
    units::format(bytes, Dimension::Size)
}
