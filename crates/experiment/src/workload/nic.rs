//! Operations of NICs between two nodes.

use super::beside::{self, Beside, Task};
use super::broken::{self, Broken};
use super::option::{ValueKind, WorkloadOption};
use super::{
    Described, Kind, KindId, Measured, Outcome, Problem, Surroundings, Tasks, Workload, WorkloadOptions,
    Written,
};
use flitway_machine::units;
use flitway_report::faults::FaultsResult;
use flitway_report::measure::Progress;
use flitway_report::session::Session;
use flitway_report::session::nic::program::{Submission, Verb, Waits};
use flitway_report::session::nic::{
    CollectiveKind, GroupChoice, Manner, NicChoice, NicMisfit, NicResult, NicRun,
};
use flitway_workload::catalog::{Catalog, Choice, ChoiceError, Entry, Parameter};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// What an operation is, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub verb: Verb,
    /// By which node, and with which.
    pub nodes: [u32; 2],
    /// How it is submitted to the NIC; `None` as that NIC has it first of all.
    pub by: Option<Submission>,
    /// Whether it is reliable from end to end.
    pub is_reliable: bool,
    /// Operations in a row, to and fro, in its place: each but the first is started by the event of the one before.
    pub chain: u32,
    /// How processes go about it.
    pub manner: Manner,
    /// Of an operation of all nodes from the one to the other: which, and how.
    pub group: Option<GroupChoice>,
}

/// Reads the parameters of an operation.
pub type Reader = fn(&Choice) -> Result<Operation, ChoiceError>;

const NODES: Parameter = Parameter {
    name: "nodes",
    expected: "two different nodes, such as `0-15`",
    default: None,
    doc: "Who does it, and with whom.",
};

const QUEUE: Parameter = Parameter {
    name: "queue",
    expected: "`hdq` or `sdq`",
    default: Some("hdq"),
    doc: "How descriptors reach the NIC of TH Express-2: `hdq`, the processor writes them into a queue on the chip, or `sdq`, into \
          one in memory, of which the NIC reads them when a doorbell tells it to.",
};

const BY: Parameter = Parameter {
    name: "by",
    expected: "`sten`, `dma`, `pio` or `rendezvous`",
    default: Some("sten"),
    doc: "How data reach other NICs. `dma`: the processor writes a descriptor, and the NIC reads them. Elan4: `sten`, the \
          processor writes them with commands of which short packets are made. That of Dawning 5000: `pio`, it writes small data \
          with the descriptor; `rendezvous`, it asks the other process by a message where the data go, and then writes one. There \
          `pio` and `rendezvous` are meant unless another is said.",
};

const RELIABLE: Parameter = Parameter {
    name: "reliable",
    expected: "`yes` or `no`",
    default: Some("no"),
    doc: "Whether it is reliable from end to end, on the NIC of TH Express-2: a connection is set up before each transfer, and what \
          is lost or corrupt is sent again (`flitway explain th`). Source: th-express-2.txt section 4.2.4.",
};

const CHAIN: Parameter = Parameter {
    name: "chain",
    expected: "a number from 1 to 1000",
    default: Some("1"),
    doc: "Puts in the place of one, to and fro, on an Elan4: each but the first is started by the event of the one before, which \
          copies its commands and the data that came into a command queue, without a processor. Where they are even the caller sees the \
          end. Source: qsnet2.txt \"Event processor\".",
};

const WAIT: Parameter = Parameter {
    name: "wait",
    expected: "`poll` or `interrupt`",
    default: Some("poll"),
    doc: "How processes find out what comes: they `poll` their memory, or on the NIC of TH Express-2 sleep until an `interrupt` \
          wakes them (`nic.interrupt`). Source: th-express-2.txt section 4.1.2.",
};

const ADDRESSES: Parameter = Parameter {
    name: "addresses",
    expected: "`virtual` or `physical`",
    default: Some("virtual"),
    doc: "Which addresses descriptors name: `virtual` ones, which the NIC translates, or on that of TH Express-2 `physical` ones, as \
          the system software may. Source: mechanisms.md 2.6.",
};

const BUFFERS: Parameter = Parameter {
    name: "buffers",
    expected: "a number from 1 to 4000000",
    default: Some("1"),
    doc: "Buffers that each process uses one after the other, for data that it sends and for data that come, each from the \
          beginning of a page of 4 KiB on: more of them than a NIC has translations for make it read translations.",
};

const ALL_NODES: Parameter = Parameter {
    name: "nodes",
    expected: "the first and the last of two or more nodes, such as `0-15`",
    default: None,
    doc: "Who takes part: all nodes from the first, which is the root, to the last.",
};

const CARRIED_OUT: Parameter = Parameter {
    name: "by",
    expected: "`nic` or `hosts`",
    default: Some("nic"),
    doc: "Who carries it out. `nic`: each process posts all descriptors of its part at once, of which some wait for control packets, and \
          the NICs do the rest; `hosts`: processors see each message and post what follows.",
};

const ARITY: Parameter = Parameter {
    name: "arity",
    expected: "a number from 1 to 64",
    default: Some("4"),
    doc: "The most children of a node in the tree. Source: OQ-T17.",
};

/// The operations of NICs.
pub const CATALOG: Catalog<Reader> = Catalog::new(
    "NIC operation",
    &[
        (
            Entry {
                name: "put",
                aliases: &[],
                doc: "data are written into the memory of a process on another node",
                details: "Its latency is the time from when the caller's processor begins to post it until the other process has \
                          seen the event that all data are there. On TH Express-2 a put of up to `nic.immediate` has its data in the \
                          descriptor. Source: th-express-2.txt section 4.2.2; dawning5000.txt section 3.2, the MSG channel.",
                parameters: &[NODES, QUEUE, BY, RELIABLE, CHAIN, WAIT, ADDRESSES, BUFFERS],
            },
            |choice| operation(Verb::Put, choice),
        ),
        (
            Entry {
                name: "get",
                aliases: &[],
                doc: "data are read from the memory of a process on another node",
                details: "Its latency is the time from when the caller's processor begins to post it until the caller has seen \
                          the event that all data are there. The other node's processor has no part in it. Source: \
                          th-express-2.txt section 4.2.2.",
                parameters: &[NODES, QUEUE, BY, RELIABLE, WAIT, ADDRESSES, BUFFERS],
            },
            |choice| operation(Verb::Get, choice),
        ),
        (
            Entry {
                name: "send",
                aliases: &[],
                doc: "a message goes into the receive queue of a process on another node",
                details: "Its latency is the time from when the caller's processor begins to post it until the other process has \
                          seen it there: on TH Express-2 a mini-packet of up to 120 B in the MPQ (th-express-2.txt section 4.2.1), on Dawning \
                          5000 all of its slots in the ring of the NAP channel (dawning5000.txt section 3.2). On QsNetII it is one packet of STEN for \
                          the input queue of the other process, which has copied it then; one that finds the queue full is refused, and \
                          sent again (qsnet2.txt \"Input queues\").",
                parameters: &[NODES, QUEUE, BY, RELIABLE, WAIT, ADDRESSES, BUFFERS],
            },
            |choice| operation(Verb::Send, choice),
        ),
        (
            Entry {
                name: "remote-load",
                aliases: &[],
                doc: "a word of the memory of another node is read into a register",
                details: "Up to 8 B. Its latency is the time from when the caller's processor begins to ask until it has the word. \
                          Source: dawning5000.txt section 3.2, remote Load/Store.",
                parameters: &[NODES, QUEUE, BY],
            },
            |choice| operation(Verb::Load, choice),
        ),
        (
            Entry {
                name: "remote-store",
                aliases: &[],
                doc: "a word is written into the memory of another node",
                details: "Up to 8 B. Its latency is the time from when the caller's processor begins to write until it has the answer \
                          that memory there has the word. Source: dawning5000.txt section 3.2, remote Load/Store.",
                parameters: &[NODES, QUEUE, BY],
            },
            |choice| operation(Verb::Store, choice),
        ),
        (
            Entry {
                name: "fetch-add",
                aliases: &[],
                doc: "a word is added to one in the memory of another node, and what that was before is read",
                details: "Up to 8 B. Its latency is that of a load. A NIC carries out one at a time. [assumed], beside remote \
                          Load/Store (dawning5000.txt section 3.2).",
                parameters: &[NODES, QUEUE, BY],
            },
            |choice| operation(Verb::FetchAdd, choice),
        ),
        (
            Entry {
                name: "barrier",
                aliases: &[],
                doc: "no process of many nodes goes on until all have come",
                details: "On TH Express-2: a tree of consecutive nodes, in which control packets go up and down. The latency of each process ends when \
                          that has seen that all have come. By the NICs it begins where the longest way to that began: when a processor began \
                          to post; by the hosts when the last process began. There are no data, and so no `--size`. Source: \
                          th-express-2.txt sections 4.2.3 and 5.2.",
                parameters: &[ALL_NODES, QUEUE, CARRIED_OUT, ARITY],
            },
            |choice| of_group(CollectiveKind::Barrier, choice),
        ),
        (
            Entry {
                name: "broadcast",
                aliases: &[],
                doc: "data of a node come into the memory of many others",
                details: "On TH Express-2: puts down a tree of consecutive nodes. Its latency goes, for each process but the first, from when \
                          the processor of the first begins to post until the process has seen the event that all data are there. The next one \
                          follows when the first node has heard that all have them. Source: th-express-2.txt sections 4.2.3 and \
                          5.2.",
                parameters: &[ALL_NODES, QUEUE, CARRIED_OUT, ARITY],
            },
            |choice| of_group(CollectiveKind::Broadcast, choice),
        ),
    ],
);

/// The nodes that `text` names.
fn nodes(text: &str) -> Option<[u32; 2]> {
    let (from, to) = text.split_once('-')?;
    let nodes = [from.trim().parse().ok()?, to.trim().parse().ok()?];
    // A node has no link to itself.
    (nodes[0] != nodes[1]).then_some(nodes)
}

fn of_group(kind: CollectiveKind, choice: &Choice) -> Result<Operation, ChoiceError> {
    let nodes = choice.value(0, |text| nodes(text).filter(|[first, last]| first < last))?;
    let queues = [Submission::Hdq, Submission::Sdq];
    let by = choice.value(1, |text| queues.into_iter().find(|queue| queue.name() == text))?;
    let is_offloaded = choice.value(2, |text| match text {
        "nic" => Some(true),
        "hosts" => Some(false),
        _ => None,
    })?;
    let arity = choice.value(3, |text| text.parse().ok().filter(|arity| (1..=64).contains(arity)))?;
    let verb = match kind {
        CollectiveKind::Barrier => Verb::Send,
        CollectiveKind::Broadcast => Verb::Put,
    };
    let group = Some(GroupChoice { kind, is_offloaded, arity });
    Ok(Operation { verb, nodes, by: Some(by), is_reliable: false, chain: 1, manner: Manner::USUAL, group })
}

fn operation(verb: Verb, choice: &Choice) -> Result<Operation, ChoiceError> {
    let nodes = choice.value(0, nodes)?;
    let mut by = None;
    for (place, parameter) in [(1, QUEUE), (2, BY)] {
        let is_so = |text: &str, it: &Submission| it.parameter() == parameter.name && it.name() == text;
        let read = choice.value(place, |text| Submission::ALL.into_iter().find(|it| is_so(text, it)))?;
        if choice.is_given(place) && by.replace(read).is_some() {
            // No NIC takes both.
            return choice.value(place, |_| None);
        }
    }
    let may_be_reliable = matches!(verb, Verb::Send | Verb::Put | Verb::Get);
    let is_reliable = may_be_reliable
        && choice.value(3, |text| match text {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        })?;
    let manner = manner(choice)?;
    let chain = match verb {
        Verb::Put => choice.value(4, |text| text.parse().ok().filter(|chain| (1..=1000).contains(chain)))?,
        _ => 1,
    };
    Ok(Operation { verb, nodes, by, is_reliable, chain, manner, group: None })
}

/// How processes go about an operation, as far as that can be said of it.
fn manner(choice: &Choice) -> Result<Manner, ChoiceError> {
    let waits = choice.taken(&WAIT, |text| match text {
        "poll" => Some(Waits::Polling),
        "interrupt" => Some(Waits::Sleeping),
        _ => None,
    })?;
    let is_physical = choice.taken(&ADDRESSES, |text| match text {
        "virtual" => Some(false),
        "physical" => Some(true),
        _ => None,
    })?;
    let buffers =
        choice.taken(&BUFFERS, |text| text.parse().ok().filter(|it| (1..=4_000_000).contains(it)))?;
    Ok(Manner {
        waits: waits.unwrap_or_default(),
        is_physical: is_physical.unwrap_or_default(),
        buffers: buffers.unwrap_or(1),
    })
}

/// Operations of a process that count, unless it is said how many: one after the other on an idle network, where they differ
/// by the phase of the clock alone, and of a stream or beside others.
const COUNT: u32 = 10;
const COUNT_OF_MANY: u32 = 1000;

pub(super) const KIND: Kind = Kind {
    id: KindId::Nic,
    name: "NIC operations",
    selectors: &["nic"],
    asks: Kind::is_selected,
    example: "'put(0-1)'",
    heading: "NIC operations (--count says how many)",
    options: &[
        WorkloadOption::new(
            "nic",
            KindId::Nic,
            ValueKind::Text("OPERATION"),
            "An operation of NICs between two nodes: put(0-1), get(...), send(...), remote-load(...), remote-store(...), fetch-add(...), or of many, barrier(0-15), broadcast(0-15); with \
             queue=... or by=..., as the NIC has it, and reliable=yes (flitway explain put); its latency, bandwidth and rate, and where the time goes",
        ),
        WorkloadOption::new(
            "size",
            KindId::Nic,
            ValueKind::Text("SIZES"),
            "Data of each: one size, several (8B,1KiB), or a range that doubles (8B..4MiB); {} unless given",
        )
        .default("8B"),
        WorkloadOption::new(
            "processes",
            KindId::Nic,
            ValueKind::Count,
            "Processes of each of the two nodes, each with a processor and queues of its own; {} unless given",
        )
        .default("1"),
    ],
    shares: &["count", "outstanding", "traffic", "packet", "arrival", "load", "faults"],
    of_a_point: None,
    fields: &[NicResult::FIELDS, FaultsResult::FIELDS],
    check,
};

/// Operations of NICs, checked.
#[derive(Clone, Debug)]
pub struct NicWorkload {
    /// The operation.
    pub operation: Operation,
    /// The same, as written.
    pub written: String,
    /// Data of each, in bytes, a point each.
    pub sizes: Vec<u64>,
    size: String,
    /// How many count, for each process.
    pub count: u32,
    /// How many are under way for each process; `None` for ping-pong.
    pub outstanding: Option<u32>,
    /// Processes of each node.
    pub processes: u32,
    /// Synthetic traffic beside it.
    pub beside: Option<Beside>,
    /// What breaks.
    faults: Option<Broken>,
    /// What is said of those two.
    of_others: Written,
}

/// One point: operations of one size, with what is beside them.
pub type NicTask = Task<NicRun>;

impl NicWorkload {
    /// How many come before those that count, for each process. A stream is what it is when as many are under way as there
    /// will be, and a buffer when it has been used before.
    #[must_use]
    pub fn warm_up(&self) -> u32 {
        let all_buffers = self.operation.manner.buffers;
        let of_buffers = if all_buffers > 1 { all_buffers } else { 0 };
        self.count.div_ceil(10).max(self.outstanding.unwrap_or(0)).max(of_buffers)
    }
}

fn check(options: &WorkloadOptions, _: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let written = options.get("nic").unwrap_or("").to_owned();
    let chosen = CATALOG.choose(&written).and_then(|(choice, read)| read(&choice));
    let operation = chosen.map_err(|error| problems.push(Problem::new("nic", error.to_string()))).ok();
    let size = options.text("size").to_owned();
    let sizes = sizes(&size).map_err(|problem| problems.push(problem)).ok();
    let mut number = |option: &'static str, text: &str, most: u32| {
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            problems.push(Problem::new(option, format!("`{text}`: expected a number from 1 to {most}")));
        }
        number
    };
    let processes = number("processes", options.text("processes"), 32);
    let outstanding = options.get("outstanding").map(|text| number("outstanding", text, 1_000_000));
    let are_many = outstanding.is_some() || options.is_given("load") || options.is_given(broken::OPTION);
    let unless_given = if are_many { COUNT_OF_MANY } else { COUNT };
    let count = options.get("count").map_or(Some(unless_given), |text| number("count", text, 1_000_000));
    let beside = beside::check(options, &mut problems);
    let faults = Broken::check(options).map_err(|found| problems.extend(found)).unwrap_or(None);
    let (sizes, size) = match operation.and_then(|operation: Operation| operation.group) {
        Some(group) => {
            problems.extend(misfits_of_group(group, options));
            let has_data = group.kind == CollectiveKind::Broadcast;
            (
                sizes.map(|sizes| if has_data { sizes } else { vec![0] }),
                if has_data { size } else { String::new() },
            )
        }
        None => (sizes, size),
    };
    match (operation, sizes, count, processes, outstanding, beside) {
        (Some(operation), Some(sizes), Some(count), Some(processes), None | Some(Some(_)), Some(beside))
            if problems.is_empty() =>
        {
            let of_others = beside::OPTIONS.into_iter().chain([broken::OPTION]);
            Ok(Workload::Nic(Box::new(NicWorkload {
                operation,
                written,
                sizes,
                size,
                count,
                outstanding: outstanding.flatten(),
                processes,
                beside,
                faults,
                of_others: Written::of(of_others, options),
            })))
        }
        _ => Err(problems),
    }
}

/// What is said beside an operation of many nodes and does not go with it.
fn misfits_of_group(group: GroupChoice, options: &WorkloadOptions) -> Vec<Problem> {
    let name = group.kind.name();
    let refused = [
        ("size", group.kind == CollectiveKind::Barrier, "has no data"),
        ("processes", options.get("processes") != Some("1"), "is of one process of each node"),
        ("outstanding", true, "is followed by the next one when it is over"),
    ];
    let given = refused.into_iter().filter(|&(option, is_wrong, _)| is_wrong && options.is_given(option));
    let problem = |(option, _, why)| {
        Problem::new(option, format!("a {name} {why}")).help(format!("leave --{option} out"))
    };
    given.map(problem).collect()
}

/// The sizes that `text` says.
fn sizes(text: &str) -> Result<Vec<u64>, Problem> {
    let one = |text: &str| {
        let text = text.trim();
        match units::size(text) {
            Ok(0) => Err(Problem::new("size", format!("`{text}`: expected at least 1 B"))),
            Ok(bytes) => Ok(bytes),
            Err(error) => {
                let message =
                    format!("{error}: expected {}, or a range such as `8B..4MiB`", error.expectation());
                Err(Problem { help: error.help(), ..Problem::new("size", message) })
            }
        }
    };
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let Some((low, high)) = part.split_once("..") else {
            sizes.push(one(part)?);
            continue;
        };
        let (first, last) = (one(low)?, one(high)?);
        if first > last {
            let message = format!("`{part}`: a range goes from the smaller size to the larger");
            return Err(Problem::new("size", message).help(format!("use `{high}..{low}`")));
        }
        let doubled = std::iter::successors(Some(first), |size| size.checked_mul(2));
        sizes.extend(doubled.take_while(|&size| size < last));
        sizes.push(last);
    }
    Ok(sizes)
}

/// The option that is most likely at fault.
fn misfit(error: NicMisfit) -> Problem {
    let option = match error {
        NicMisfit::NoOperations
        | NicMisfit::NoOperation { .. }
        | NicMisfit::NoWay { .. }
        | NicMisfit::NotReliable
        | NicMisfit::NoSetup(_)
        | NicMisfit::NoCollectives
        | NicMisfit::Misses(_)
        | NicMisfit::NoNode { .. } => "nic",
        NicMisfit::TooLarge { .. } => "size",
        NicMisfit::NoQueue { .. } => "processes",
    };
    Problem { help: error.help(), ..Problem::new(option, error.to_string()) }
}

impl Described for NicWorkload {
    fn to_json(&self) -> Value {
        let mut workload = json!({
            "nic": self.written,
            "count": self.count.to_string(),
            "processes": self.processes.to_string(),
        });
        if !self.size.is_empty() {
            workload["size"] = json!(self.size);
        }
        if let Some(outstanding) = self.outstanding {
            workload["outstanding"] = json!(outstanding.to_string());
        }
        if let (Some(workload), Value::Object(others)) = (workload.as_object_mut(), self.of_others.to_json())
        {
            workload.extend(others);
        }
        workload
    }

    fn identity(&self) -> Value {
        let beside = self.beside.as_ref().map(Beside::identity);
        let identity = json!({ "options": self.to_json(), "background": beside });
        Broken::identified(identity, self.faults.as_ref())
    }

    fn has_page(&self) -> bool {
        true
    }

    fn has_views(&self) -> bool {
        false
    }
}

impl Tasks for NicWorkload {
    type Task = NicTask;
    type Outcome = NicResult;

    /// Of each size at each load of the traffic.
    fn tasks(&self, session: &Session) -> Result<Vec<NicTask>, Vec<Problem>> {
        let Operation { verb, nodes, by, is_reliable, chain, manner, group } = self.operation;
        let NicWorkload { count, outstanding, processes, .. } = *self;
        let warm_up = self.warm_up();
        // What is said is checked with all else.
        let by = by.map_or_else(|| session.nic_way(verb, None), Ok).map_err(|error| vec![misfit(error)])?;
        let faults = Broken::fit(self.faults.as_ref(), session)?;
        let mut tasks = Vec::new();
        for background in beside::fit(self.beside.as_ref(), session)? {
            for &bytes in &self.sizes {
                let choice = NicChoice {
                    verb,
                    nodes,
                    by,
                    is_reliable,
                    bytes,
                    count,
                    warm_up,
                    outstanding,
                    processes,
                    chain,
                    manner,
                    group,
                };
                let run = session.fit_nic(choice).map_err(|error| vec![misfit(error)])?;
                tasks.push(Task { run, background: background.clone(), faults: faults.clone() });
            }
        }
        Ok(tasks)
    }

    fn measure(
        &self,
        session: &Session,
        task: &NicTask,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> NicResult {
        task.with_faults(session).nic(&task.run, task.background(), stop, progress)
    }
}

impl Outcome for NicResult {
    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    fn measured(self) -> Vec<Measured> {
        vec![Measured { value: self.to_json(), details: None }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_listed_and_doubled() {
        assert_eq!(sizes("8B"), Ok(vec![8]));
        assert_eq!(sizes("8B..64B, 1KiB"), Ok(vec![8, 16, 32, 64, 1024]));
        assert_eq!(sizes("8B..20B"), Ok(vec![8, 16, 20]));
        let wrong = |text| sizes(text).unwrap_err().message;
        assert_eq!(wrong("64B..8B"), "`64B..8B`: a range goes from the smaller size to the larger");
        assert_eq!(wrong("0B"), "`0B`: expected at least 1 B");
        assert!(wrong("8").contains("or a range such as `8B..4MiB`"), "{}", wrong("8"));
    }

    #[test]
    fn an_operation_is_between_two_nodes() {
        let read = |text: &str| CATALOG.choose(text).and_then(|(choice, read)| read(&choice));
        let by = Some(Submission::Sdq);
        let put = Operation {
            verb: Verb::Put,
            nodes: [0, 15],
            by,
            is_reliable: false,
            chain: 1,
            manner: Manner::USUAL,
            group: None,
        };
        assert_eq!(read("put(0-15, queue=sdq)"), Ok(put));
        assert_eq!(read("put(0-15, queue=sdq, chain=8)"), Ok(Operation { chain: 8, ..put }));
        assert!(read("put(0-1, chain=0)").unwrap_err().to_string().contains("from 1 to 1000"));
        let reliable = read("put(0-15, queue=sdq, reliable=yes)");
        assert_eq!(reliable, Ok(Operation { is_reliable: true, ..put }));
        assert!(read("put(0-1, reliable=maybe)").unwrap_err().to_string().contains("`yes` or `no`"));
        assert_eq!(read("get(3-1)").map(|it| (it.verb, it.by)), Ok((Verb::Get, None)));
        assert!(read("put").unwrap_err().to_string().contains("two different nodes"));
        assert!(read("put(1-1)").unwrap_err().to_string().contains("two different nodes"));
        assert_eq!(read("put(0-1, by=dma)").map(|it| it.by), Ok(Some(Submission::Dma)));
        assert!(read("put(0-1, queue=sdq, by=dma)").is_err(), "no NIC takes both");
        let barrier = read("barrier(0-63, by=hosts, arity=2)").map(|it| it.group);
        let group = GroupChoice { kind: CollectiveKind::Barrier, is_offloaded: false, arity: 2 };
        assert_eq!(barrier, Ok(Some(group)));
        assert!(read("barrier(3-1)").unwrap_err().to_string().contains("the first and the last"));
        assert!(read("broadcast(0-3, by=dma)").unwrap_err().to_string().contains("`nic` or `hosts`"));
        assert!(read("put(0-1, queue=dma)").unwrap_err().to_string().contains("`hdq` or `sdq`"));
    }
}
