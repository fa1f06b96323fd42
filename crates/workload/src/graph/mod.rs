//! Task graphs: what the ranks of a parallel program compute, send and receive, and in which order.
//!
//! A [`TaskGraph`] is immutable and shared: the tasks of each rank, and their dependencies within the rank. Ranks meet
//! through messages only.
//! * [`goal`] reads the GOAL text format;
//! * [`RankTasks`] builds a graph in code;
//! * [`run`] is the state machine of one rank, [`stuck`] says why a run did not finish;
//! * [`placement`] puts ranks on nodes.
//!
//! **Meaning.** `a requires b`: a starts after b has *completed*. `a irequires b`: a starts after b has *started*.
//! * `calc n` occupies a cpu of its rank for n **nanoseconds** (as in LogGOPSim), rounded up to whole cycles.
//! * `send` occupies a cpu for the send overhead o_s; then the message is handed to the NIC and the send has
//!   completed, whatever its size (eager: no send waits for its receive).
//! * `recv` starts, occupying nothing, as soon as its dependencies allow. It takes the first message that matches in
//!   the order in which the source sent them; when the last byte of that message has arrived it occupies a cpu for
//!   the receive overhead o_r, and then has completed.
//!
//! A rank has one cpu, or as many as the numbers after `cpu` name; each works on one task at a time, first come first
//! served.

mod builder;
pub mod goal;
mod matching;
pub mod placement;
pub mod run;
pub mod stuck;
mod summary;

pub use builder::{GraphError, RankTasks};
pub use matching::{Envelope, MessageId};
pub use placement::{Placement, PlacementError};
pub use run::{HandOver, RankCosts, RankRun};
pub use summary::{GraphSummary, RankSummary};

use std::fmt;
use std::ops::Range;

flitway_engine::id! {
    /// A process of the parallel program, from 0.
    RankId
}

flitway_engine::id! {
    /// A task of a rank, from 0 in the order of the file.
    TaskId
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Computes.
    Calc {
        /// For how long.
        nanos: u64,
    },
    /// Sends a message.
    Send {
        /// To whom.
        to: RankId,
        /// How much.
        bytes: u64,
        /// What the receive must ask for.
        tag: u64,
    },
    /// Receives a message.
    Recv {
        /// From whom; `None` from anyone.
        from: Option<RankId>,
        /// How much fits. A longer message is received whole and counted as truncated.
        bytes: u64,
        /// With which tag; `None` with any.
        tag: Option<u64>,
    },
}

impl fmt::Display for Work {
    /// As in GOAL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Calc { nanos } => write!(f, "calc {nanos}"),
            Work::Send { to, bytes, tag } => write!(f, "send {bytes}b to {to} tag {tag}"),
            Work::Recv { from, bytes, tag } => {
                write!(f, "recv {bytes}b from ")?;
                match from {
                    Some(from) => from.fmt(f)?,
                    None => f.write_str("-1")?,
                }
                match tag {
                    Some(tag) => write!(f, " tag {tag}"),
                    None => f.write_str(" tag -1"),
                }
            }
        }
    }
}

/// A task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// What it does.
    pub work: Work,
    /// Which cpu of the rank it occupies.
    pub cpu: u8,
    /// Which rail its message must take; `None` leaves that to the NIC. A receive takes messages from any rail.
    pub nic: Option<u8>,
}

/// What has to have happened to a task before another may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It has started (`irequires`).
    Started,
    /// It has completed (`requires`).
    Completed,
}

/// The tasks of all ranks and their dependencies.
///
/// A structure of arrays: 29 bytes a task, 4 bytes a dependency, and the labels.
#[derive(Debug)]
pub struct TaskGraph {
    /// The first task of each rank, and the end.
    first: Box<[usize]>,
    kinds: Box<[Kind]>,
    /// Nanoseconds or bytes.
    amounts: Box<[u64]>,
    peers: Box<[u32]>,
    tags: Box<[u64]>,
    cpus: Box<[u8]>,
    nics: Box<[Option<u8>]>,
    /// How many dependencies each task waits for.
    waits: Box<[u32]>,
    /// Where the dependents of each task begin, and the end.
    dependents_first: Box<[usize]>,
    dependents: Box<[Dependent]>,
    labels: Box<str>,
    labels_end: Box<[usize]>,
}

/// The kind of a task; peer and tag of a receive that takes anyone's or any are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Calc,
    Send,
    Recv { any_source: bool, any_tag: bool },
}

/// A task that waits for another one: its number, and in the lowest bit whether for the completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dependent(u32);

impl Dependent {
    fn new(task: TaskId, event: Event) -> Self {
        Dependent(task.0 << 1 | u32::from(event == Event::Completed))
    }

    fn task(self) -> TaskId {
        TaskId(self.0 >> 1)
    }

    fn event(self) -> Event {
        if self.0 & 1 == 1 { Event::Completed } else { Event::Started }
    }
}

impl TaskGraph {
    /// Ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        (self.first.len() - 1) as u32
    }

    /// Tasks of all ranks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.kinds.len()
    }

    /// Dependencies of all ranks.
    #[must_use]
    pub fn dependencies(&self) -> usize {
        self.dependents.len()
    }

    /// Tasks of one rank.
    #[must_use]
    pub fn tasks_of(&self, rank: RankId) -> u32 {
        self.range(rank).len() as u32
    }

    fn range(&self, rank: RankId) -> Range<usize> {
        self.first[rank.index()]..self.first[rank.index() + 1]
    }

    #[inline]
    fn place(&self, rank: RankId, task: TaskId) -> usize {
        let range = self.range(rank);
        let place = range.start + task.index();
        debug_assert!(range.contains(&place), "rank {rank} has no task {task}");
        place
    }

    /// A task.
    #[inline]
    #[must_use]
    pub fn task(&self, rank: RankId, task: TaskId) -> Task {
        let place = self.place(rank, task);
        let (amount, peer, tag) = (self.amounts[place], self.peers[place], self.tags[place]);
        let work = match self.kinds[place] {
            Kind::Calc => Work::Calc { nanos: amount },
            Kind::Send => Work::Send { to: RankId(peer), bytes: amount, tag },
            Kind::Recv { any_source, any_tag } => Work::Recv {
                from: (!any_source).then_some(RankId(peer)),
                bytes: amount,
                tag: (!any_tag).then_some(tag),
            },
        };
        Task { work, cpu: self.cpus[place], nic: self.nics[place] }
    }

    /// How many dependencies a task waits for.
    #[must_use]
    pub fn waits(&self, rank: RankId, task: TaskId) -> u32 {
        self.waits[self.place(rank, task)]
    }

    /// The tasks that wait for a task, and for what. A pair that was given twice is there twice.
    pub fn dependents(&self, rank: RankId, task: TaskId) -> impl Iterator<Item = (TaskId, Event)> + '_ {
        let place = self.place(rank, task);
        let range = self.dependents_first[place]..self.dependents_first[place + 1];
        self.dependents[range].iter().map(|dependent| (dependent.task(), dependent.event()))
    }

    /// The label of a task, or `#` and its number if it has none.
    #[must_use]
    pub fn label(&self, rank: RankId, task: TaskId) -> String {
        let place = self.place(rank, task);
        let start = if place == 0 { 0 } else { self.labels_end[place - 1] };
        match &self.labels[start..self.labels_end[place]] {
            "" => format!("#{task}"),
            label => label.to_owned(),
        }
    }
}
