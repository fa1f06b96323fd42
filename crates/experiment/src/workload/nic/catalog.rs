//! The operations of NICs, as they are written.

use flitway_engine::Picos;
use flitway_machine::units;
use flitway_report::session::nic::Noise;
use flitway_report::session::nic::program::{Submission, Verb, Waits};
use flitway_report::session::nic::{
    CollectiveKind, GroupChoice, LockChoice, Manner, MatchChoice, Taking, Unexpected,
};
use flitway_workload::catalog::{Catalog, Choice, ChoiceError, Entry, Parameter};
use std::path::PathBuf;

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
    /// Of sends that threads match with receives: how.
    pub matching: Option<MatchChoice>,
    /// Of a lock that is handed round: how.
    pub lock: Option<LockChoice>,
    /// When system software has the processors, if it has.
    pub noise: Option<Noise>,
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

const TRANSLATIONS: Parameter = Parameter {
    name: "translations",
    expected: "`before` or `on-demand`",
    default: Some("before"),
    doc: "When a NIC gets the translations of pages: `before` the start, or on an Elan4 `on-demand`: it faults on a page that it uses \
          for the first time, and the processor of the process whose page that is gives the translation (`nic.tlb.fault`). With `buffers` \
          each operation can be the first in its page. Source: qsnet2.txt \"Packet receipt\" (P-QS-060).",
};

const BUFFERS: Parameter = Parameter {
    name: "buffers",
    expected: "a number from 1 to 4000000, without `chain` or `match`",
    default: Some("1"),
    doc: "Buffers that each process uses one after the other, for data that it sends and for data that come, each from the \
          beginning of a page of 4 KiB on: more of them than a NIC has translations for make it read translations. Not with \
          `chain` or `match`.",
};

const NOISE: Parameter = Parameter {
    name: "noise",
    expected: "`no`, or for how long and how often, such as `10us/1ms`: from 1 ns on, less than half of a period of up to 1 s",
    default: Some("no"),
    doc: "System noise: system software takes the processor of each process for so long once in each period, the first time at a \
          random date in the first. What a processor would begin then it begins when it has it back; NICs go on. A run of a few periods says little: \
          `--count` makes it longer, `--seeds` draws the first dates again.",
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

const MET: Parameter = Parameter {
    expected: "`nic`, `messages` or `hosts`",
    doc: "Who carries it out. `nic`, on TH Express-2: each process posts all descriptors of its part at once, of which some wait for \
          control packets, and the NICs do the rest; on Dawning 5000: barrier modules of NICs, with the barrier of the switches where \
          they have one. `messages`: barrier modules by packets to each other, whatever the switches have. `hosts`, on TH Express-2: \
          processors see each message and post what follows.",
    ..CARRIED_OUT
};

const ARITY: Parameter = Parameter {
    name: "arity",
    expected: "a number from 1 to 64",
    default: Some("4"),
    doc: "The most children of a node in the tree. Source: OQ-T17.",
};

const MATCH: Parameter = Parameter {
    name: "match",
    expected: "`no` or a number from 1 to 10000",
    default: Some("no"),
    doc: "Whether the thread processor of Elan4 matches messages with receives that their processes post, and the place in the list \
          of the receive that matches: 1 for the first. What does not fit into the packet of a message it has the DMA engine of the other node \
          send. Source: qsnet2.txt \"Input queues\"; OQ-Q6.",
};

const UNEXPECTED: Parameter = Parameter {
    name: "unexpected",
    expected: "`keep`, `refuse` or `interrupt`, beside `match=1`",
    default: Some("keep"),
    doc: "With `match`: what becomes of a message that no receive waits for. `keep`: the NIC keeps it, and copies it when its receive is \
          posted; `refuse`: the NIC refuses it, and its source sends it again; `interrupt`: the NIC interrupts the processor, which \
          puts it aside, and copies it again then. Source: qsnet2.txt \"Input queues\".",
};

const LATE: Parameter = Parameter {
    name: "late",
    expected: "a time from 0 ns to 1 ms, such as `5us`, beside `match=1`",
    default: Some("0ns"),
    doc: "With `match`: the time that the process of the second node computes before it posts a receive, when it has seen the message \
          before. It is a part of the latency, and not of the time of the processor.",
};

const PROGRAM: Parameter = Parameter {
    name: "program",
    expected: "the path of a program of threads",
    default: None,
    doc: "The program, in the language of docs/elan4-threads.md.",
};

const OF_THREADS: Parameter = Parameter {
    doc: "Who carries it out. `nic`: threads of the NICs, on an Elan4; `hosts`: processors see each message and post what follows, on any \
          NIC that has sends and puts.",
    ..CARRIED_OUT
};

const TAKEN: Parameter = Parameter {
    name: "by",
    expected: "`nic` or `retry`",
    default: Some("nic"),
    doc: "How a process comes to a lock that another has. `nic`: it waits for its turn at the NIC of the first node; `retry`: it \
          is refused, and tries again after `backoff`.",
};

const HOLD: Parameter = Parameter {
    name: "hold",
    expected: "a time from 0 ns to 1 ms, such as `5us`",
    default: Some("0ns"),
    doc: "The time for which a process has the lock before it begins to free it.",
};

const BACK_OFF: Parameter = Parameter {
    name: "backoff",
    expected: "a time from 0 ns to 1 ms, such as `5us`, beside `by=retry`",
    default: Some("1us"),
    doc: "With `by=retry`: the time between a first refusal and the next try. It doubles with each further one, up to 16 times as long. \
          [assumed].",
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
                parameters: &[
                    NODES,
                    QUEUE,
                    BY,
                    RELIABLE,
                    CHAIN,
                    WAIT,
                    ADDRESSES,
                    TRANSLATIONS,
                    BUFFERS,
                    NOISE,
                ],
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
                parameters: &[NODES, QUEUE, BY, RELIABLE, WAIT, ADDRESSES, TRANSLATIONS, BUFFERS, NOISE],
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
                          sent again (qsnet2.txt \"Input queues\"). With \
                          `match=1` its thread processor gives it to the receive that its process has posted.",
                parameters: &[
                    NODES,
                    QUEUE,
                    BY,
                    RELIABLE,
                    MATCH,
                    UNEXPECTED,
                    LATE,
                    WAIT,
                    ADDRESSES,
                    TRANSLATIONS,
                    BUFFERS,
                    NOISE,
                ],
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
                parameters: &[NODES, QUEUE, BY, NOISE],
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
                parameters: &[NODES, QUEUE, BY, NOISE],
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
                parameters: &[NODES, QUEUE, BY, NOISE],
            },
            |choice| operation(Verb::FetchAdd, choice),
        ),
        (
            Entry {
                name: "lock",
                aliases: &[],
                doc: "a lock of the first node is handed round by the processes of all others up to the last",
                details: "Each takes it so many times as `--count` says. Its latency is the time from when a processor begins to ask for the lock \
                          until it has it; the hand-over that from when a processor begins to free it until the next one has it, if that had \
                          begun to ask; the rate is that of processes that get it. There are no data, and so no `--size`. A processor \
                          frees the lock, and asks for it again when it has heard that it is free. Source: hpp-switch.txt section 2.1, \
                          hardware locks; all else is [assumed].",
                parameters: &[ALL_NODES, TAKEN, HOLD, BACK_OFF, NOISE],
            },
            of_a_lock,
        ),
        (
            Entry {
                name: "barrier",
                aliases: &[],
                doc: "no process of many nodes goes on until all have come",
                details: "On TH Express-2: a tree of consecutive nodes, in which control packets go up and down. The latency of each process ends when \
                          that has seen that all have come. By the NICs it begins where the longest way to that began: when a processor began \
                          to post; by the hosts when the last process began. There are no data, and so no `--size`. On Dawning 5000: the \
                          barrier module of each NIC waits for all processes of its node (`--processes`), and then tells the switches, which \
                          combine what nodes say, or up and down a tree of nodes those of other NICs. There the latency of each process goes from when it begins \
                          to say that it has come, so it has the wait for others in it. Source: \
                          th-express-2.txt sections 4.2.3 and 5.2; dawning5000.txt sections 3.2 and 4.",
                parameters: &[ALL_NODES, QUEUE, MET, ARITY, NOISE],
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
                parameters: &[ALL_NODES, QUEUE, CARRIED_OUT, ARITY, NOISE],
            },
            |choice| of_group(CollectiveKind::Broadcast, choice),
        ),
        (
            Entry {
                name: "reduce",
                aliases: &[],
                doc: "a word of each of many nodes is added up, and all get the sum",
                details: "Up a tree of consecutive nodes and down again: on an Elan4 by threads of the NICs, or by the hosts of any NIC. The \
                          latency of each process ends when that has seen the sum. By threads it begins where the longest way to that began: \
                          when a processor began to post; by the hosts when the last process began. There is one word, and so no \
                          `--size`. Source: qsnet2.txt \"Event processor\" and \"Input queues\".",
                parameters: &[ALL_NODES, OF_THREADS, ARITY, NOISE],
            },
            |choice| of_threads(CollectiveKind::Reduce, choice),
        ),
        (
            Entry {
                name: "gather",
                aliases: &[],
                doc: "data of each of many nodes come to the first one",
                details: "On an Elan4 threads pass them up a tree, those that do not fit into a packet by where they are, and the first node \
                          has the DMA engines send them; by the hosts each node puts its own. Its latency ends when the process of the first \
                          node has seen that it has all. The next one follows when all have heard so. Source: qsnet2.txt \"Event \
                          processor\" and \"Input queues\".",
                parameters: &[ALL_NODES, OF_THREADS, ARITY, NOISE],
            },
            |choice| of_threads(CollectiveKind::Gather, choice),
        ),
        (
            Entry {
                name: "thread",
                aliases: &[],
                doc: "a program of yours, that the threads of the Elan4s of many nodes run",
                details: "Each process tells its thread that the next operation begins, and goes on when the thread has set its event. What \
                          threads do then is up to the program (docs/elan4-threads.md). The latency of each process ends when it has seen the \
                          event, and begins where the longest way to that began. Source: qsnet2.txt \"Input queues\".",
                parameters: &[ALL_NODES, PROGRAM, ARITY, NOISE],
            },
            |choice| of_threads(CollectiveKind::Threads, choice),
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
    let queue = choice.value(1, |text| queues.into_iter().find(|queue| queue.name() == text))?;
    let by = choice.is_given(1).then_some(queue);
    let by_messages = kind == CollectiveKind::Barrier && choice.value(2, |text| Some(text == "messages"))?;
    let is_offloaded = by_messages || choice.value(2, is_by_nic)?;
    let arity = choice.value(3, |text| text.parse().ok().filter(|arity| (1..=64).contains(arity)))?;
    let verb = match kind {
        CollectiveKind::Broadcast => Verb::Put,
        _ => Verb::Send,
    };
    let group = Some(GroupChoice { kind, is_offloaded, arity, by_messages });
    Ok(Operation {
        verb,
        nodes,
        by,
        is_reliable: false,
        chain: 1,
        manner: Manner::USUAL,
        group,
        matching: None,
        lock: None,
        noise: None,
    })
}

/// An operation that threads carry out, or hosts.
fn of_threads(kind: CollectiveKind, choice: &Choice) -> Result<Operation, ChoiceError> {
    let nodes = choice.value(0, |text| nodes(text).filter(|[first, last]| first < last))?;
    let is_own = kind == CollectiveKind::Threads;
    let is_offloaded = is_own || choice.value(1, is_by_nic)?;
    let arity = choice.value(2, |text| text.parse().ok().filter(|arity| (1..=64).contains(arity)))?;
    let verb = match kind {
        _ if is_offloaded => Verb::Thread,
        CollectiveKind::Gather => Verb::Put,
        _ => Verb::Send,
    };
    let group = Some(GroupChoice { kind, is_offloaded, arity, by_messages: false });
    let by = is_offloaded.then_some(Submission::Sten);
    Ok(Operation {
        verb,
        nodes,
        by,
        is_reliable: false,
        chain: 1,
        manner: Manner::USUAL,
        group,
        matching: None,
        lock: None,
        noise: None,
    })
}

/// A lock that is handed round.
fn of_a_lock(choice: &Choice) -> Result<Operation, ChoiceError> {
    let nodes = choice.value(0, |text| nodes(text).filter(|[first, last]| first < last))?;
    let is_queued = choice.value(1, |text| match text {
        "nic" => Some(true),
        "retry" => Some(false),
        _ => None,
    })?;
    let time = |text: &str| units::time(text).ok().filter(|time| *time <= LATE_MAX);
    let (hold, back_off) = (choice.value(2, time)?, choice.value(3, time)?);
    if is_queued && choice.is_given(3) {
        // Nobody is refused.
        choice.value(3, |_| None::<()>)?;
    }
    let taking = if is_queued { Taking::Turn } else { Taking::Again(back_off) };
    Ok(Operation {
        verb: taking.verb(),
        nodes,
        by: None,
        is_reliable: false,
        chain: 1,
        manner: Manner::USUAL,
        group: None,
        matching: None,
        lock: Some(LockChoice { taking, hold }),
        noise: None,
    })
}

fn is_by_nic(text: &str) -> Option<bool> {
    match text {
        "nic" => Some(true),
        "hosts" => Some(false),
        _ => None,
    }
}

/// How threads match what is sent, if they do.
fn matching(choice: &Choice) -> Result<Option<MatchChoice>, ChoiceError> {
    let place = choice.value(4, |text| match text {
        "no" => Some(None),
        text => text.parse().ok().filter(|place| (1..=10_000).contains(place)).map(Some),
    })?;
    let unexpected = choice.value(5, |text| Unexpected::ALL.into_iter().find(|it| it.name() == text))?;
    let late = choice.value(6, |text| units::time(text).ok().filter(|late| *late <= LATE_MAX))?;
    let matched = place.map(|place| MatchChoice { place, unexpected, late });
    // What is said of it needs it.
    let of_it = [5, 6].into_iter().find(|&place| choice.is_given(place));
    match (matched, of_it) {
        (None, Some(place)) => choice.value(place, |_| None),
        _ => Ok(matched),
    }
}

/// The latest that a receive can be: what is refused is sent again for as long.
const LATE_MAX: Picos = Picos(1_000_000_000);

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
    let matching = if verb == Verb::Send { matching(choice)? } else { None };
    if manner.buffers > 1 && (chain > 1 || matching.is_some()) {
        // Their data have one place.
        choice.taken(&BUFFERS, |_| None::<()>)?;
    }
    Ok(Operation {
        verb,
        nodes,
        by,
        is_reliable,
        chain,
        manner,
        group: None,
        matching,
        lock: None,
        noise: None,
    })
}

/// What is asked for, by a reader of its parameters and what all operations have.
pub(super) fn read(choice: &Choice, read: Reader) -> Result<Operation, ChoiceError> {
    let operation = read(choice)?;
    Ok(Operation { noise: noise(choice)?, ..operation })
}

/// When system software has the processors. Less than half of the time is its own, so that a process gets on.
fn noise(choice: &Choice) -> Result<Option<Noise>, ChoiceError> {
    let read = |text: &str| {
        let (length, period) = text.split_once('/')?;
        let [length, period] = [units::time(length).ok()?, units::time(period).ok()?];
        let is_sound =
            length >= Picos(1_000) && length.0 < period.0 / 2 && period <= Picos(1_000_000_000_000);
        is_sound.then_some(Noise { length, period })
    };
    let noise = choice.taken(&NOISE, |text| if text == "no" { Some(None) } else { read(text).map(Some) })?;
    Ok(noise.flatten())
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
    let is_on_demand = choice.taken(&TRANSLATIONS, |text| match text {
        "before" => Some(false),
        "on-demand" => Some(true),
        _ => None,
    })?;
    let buffers =
        choice.taken(&BUFFERS, |text| text.parse().ok().filter(|it| (1..=4_000_000).contains(it)))?;
    Ok(Manner {
        waits: waits.unwrap_or_default(),
        is_physical: is_physical.unwrap_or_default(),
        is_on_demand: is_on_demand.unwrap_or_default(),
        buffers: buffers.unwrap_or(1),
    })
}

/// Which parameter of `thread` names its program.
const PROGRAM_PLACE: usize = 1;

/// The program that the threads run, if a user says which.
pub(super) fn program(choice: &Choice, operation: &Operation) -> Option<PathBuf> {
    let is_own = operation.group.is_some_and(|group| group.kind == CollectiveKind::Threads);
    is_own.then(|| choice.value(PROGRAM_PLACE, |text| Some(PathBuf::from(text))).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            matching: None,
            lock: None,
            noise: None,
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
        let group =
            GroupChoice { kind: CollectiveKind::Barrier, is_offloaded: false, arity: 2, by_messages: false };
        assert_eq!(barrier, Ok(Some(group)));
        let lock = read("lock(0-63, by=retry, hold=2us)").map(|it| (it.verb, it.lock));
        let taking = Taking::Again(Picos(1_000_000));
        assert_eq!(lock, Ok((Verb::TryLock, Some(LockChoice { taking, hold: Picos(2_000_000) }))));
        assert!(read("lock(0-3, backoff=1us)").unwrap_err().to_string().contains("beside `by=retry`"));
        assert!(read("barrier(3-1)").unwrap_err().to_string().contains("the first and the last"));
        assert!(read("broadcast(0-3, by=dma)").unwrap_err().to_string().contains("`nic` or `hosts`"));
        assert!(read("put(0-1, queue=dma)").unwrap_err().to_string().contains("`hdq` or `sdq`"));
    }
}
