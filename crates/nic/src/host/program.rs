//! What runs on a processor of a host, and what it asks its NIC for.

use super::Noise;
use super::memory::Address;
use super::story::Story;
use super::thread::{Thread, Words};
use flitway_engine::Picos;
use flitway_fabric::BarrierId;
use flitway_wiring::NodeId;
use std::fmt::Debug;
use std::ops::Range;

/// A process of a node: a program that has a processor for itself.
pub trait Program: Debug + Send {
    /// It has seen `completion` at `at`, or begins, if there is none: puts what it does then into `todo`, in order.
    fn act(&mut self, at: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>);

    /// Its counted events, which it has set up before the start, where the NIC has those.
    fn events(&self) -> Vec<CountedEvent> {
        Vec::new()
    }

    /// What the system software has set up for it before the start, where the NIC has that.
    fn setup(&self) -> Setup {
        Setup::default()
    }

    /// Its thread on the NIC, where the NIC [has those](super::OnABus::has_threads).
    fn thread(&self) -> Option<Thread> {
        None
    }

    /// For what it has found out, when the run has been.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// What the system software has set up for a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Its protection key: packets of processes that have another are not for it.
    pub key: u32,
    /// The valid addresses of its memory, if not all are.
    pub valid: Option<Box<[Range<u64>]>>,
    /// Its operations name physical addresses, which need no translation and are not checked.
    pub is_physical: bool,
    /// The NIC gets translations of its pages when it faults on them, and none before.
    pub is_on_demand: bool,
    /// How it finds out what comes.
    pub waits: Waits,
    /// When system software has its processor.
    pub noise: Option<Noise>,
    /// The barrier that it is a member of, where the NIC [has those](super::OnABus::has_barriers).
    pub barrier: Option<Meeting>,
}

/// The barrier of the processes of many nodes, as the NIC of a node has it: of each that takes part one. All of its processes
/// that are members have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// The switches combine what NICs say, as this group.
    Switches(BarrierId),
    /// NICs tell each other, up a tree of nodes and down again.
    Tree {
        /// The parent of the node, if it is not the root.
        parent: Option<NodeId>,
        /// Its children.
        children: Range<u32>,
    },
}

impl Setup {
    /// Whether there is nothing that a NIC has to do with.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        Setup { noise: None, ..self.clone() } == Setup::default()
    }

    /// Whether all of `bytes` from `byte` on are at valid addresses.
    #[must_use]
    pub fn has(&self, byte: u64, bytes: u64) -> bool {
        let has_all = |range: &Range<u64>| range.contains(&byte) && bytes <= range.end - byte;
        self.valid.as_ref().is_none_or(|valid| valid.iter().any(has_all))
    }
}

/// How a process finds out what comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// It polls its memory.
    #[default]
    Polling,
    /// It sleeps until an interrupt wakes it.
    Sleeping,
}

/// What a process asks its NIC for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub verb: Verb,
    /// With which node; not its own.
    pub node: NodeId,
    /// With which process of it.
    pub process: u8,
    /// Data in bytes: 1 at least, where it has some.
    pub bytes: u64,
    /// Where the data are in its own memory, or come to.
    pub here: u64,
    /// The same in the memory of the other process. Where it is sent, the place to which that process takes it.
    pub there: u64,
    /// How it is submitted to the NIC.
    pub by: Submission,
    /// Whether its process wants to see that it has [left](CompletionKind::Left).
    pub tells_left: bool,
    /// Whether it is reliable from end to end, where the NIC [has that](super::OnABus::has_reliable).
    pub is_reliable: bool,
    /// The counted event of the other process that a put sets, by its place: its data come into the block of that, and the
    /// process is not told. `None` for the event that tells it.
    pub event: Option<u16>,
    /// What it has to do with operations of other processes, where the NIC [has that](super::OnABus::has_collectives).
    pub collective: Collective,
    /// Of a send: what it says, to the thread of the other process and not to the process. Of what is
    /// [for its own thread](Verb::Thread): what that is told.
    pub words: Option<Words>,
    /// The time for which its processor computes before it posts it.
    pub computes: Picos,
}

/// What makes an operation a part of one of many processes, which NICs carry out by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collective {
    /// It begins when so many control packets have come for its process, beside those that others have waited for.
    pub waits: u32,
    /// It is carried out for so many further nodes, those behind its own: for the process of that number of each.
    pub further: u32,
    /// It goes on with the story of the operation before it in its queue, as it has waited for what that has.
    pub follows: bool,
    /// When its data are in memory they count as a control packet, and their process is not told.
    pub triggers: bool,
}

/// An event that starts operations when it has been set so many times, each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedEvent {
    /// How many times, 1 at least.
    pub count: u32,
    /// What it starts, in order.
    pub then: Vec<Operation>,
}

impl Operation {
    /// An operation without data and without options: what else it has is said beside it.
    #[must_use]
    pub fn plain(verb: Verb, by: Submission, (node, process): (NodeId, u8)) -> Self {
        Operation {
            verb,
            node,
            process,
            bytes: 0,
            here: 0,
            there: 0,
            by,
            tells_left: false,
            is_reliable: false,
            event: None,
            collective: Collective::default(),
            words: None,
            computes: Picos(0),
        }
    }

    /// Where the data come from: in its own node, whose process is `own`.
    #[must_use]
    pub fn local(&self, own: u8) -> Address {
        Address { process: own, byte: self.here }
    }

    /// Where they are in the other node.
    #[must_use]
    pub fn remote(&self) -> Address {
        Address { process: self.process, byte: self.there }
    }
}

/// What names an operation: its node, its process and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationId {
    /// Who posted it.
    pub node: NodeId,
    /// Which process there.
    pub process: u8,
    /// The how manieth of that process.
    pub number: u64,
}

/// What is done with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// They are sent to the receive queue of a process.
    Send,
    /// They are written into the memory of a process, which is told.
    Put,
    /// They are read from there.
    Get,
    /// A word is read from there, into a register.
    Load,
    /// A word is written there, and the caller hears so.
    Store,
    /// A word is added to one there, and what that was before comes into a register.
    FetchAdd,
    /// A lock there is taken for the process; while another has it that waits there for its turn.
    Lock,
    /// A lock there is taken, if nobody has it.
    TryLock,
    /// A lock there that the process has is free.
    Unlock,
    /// Its process has come to the barrier that it is a [member](Setup::barrier) of; the other node and process have no part in
    /// it.
    Barrier,
    /// A packet without data says to the NIC there that its process may go on.
    Control,
    /// Its own process is told, and no other.
    Event,
    /// The thread of its own process is told, by a command; the other node and process have no part in it.
    Thread,
}

impl Verb {
    /// Those that bring data.
    pub const ALL: [Verb; 6] = [Verb::Send, Verb::Put, Verb::Get, Verb::Load, Verb::Store, Verb::FetchAdd];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verb::Send => "send",
            Verb::Put => "put",
            Verb::Get => "get",
            Verb::Load => "remote-load",
            Verb::Store => "remote-store",
            Verb::FetchAdd => "fetch-add",
            Verb::Lock => "lock",
            Verb::TryLock => "try-lock",
            Verb::Unlock => "unlock",
            Verb::Barrier => "barrier",
            Verb::Control => "control",
            Verb::Event => "event",
            Verb::Thread => "thread",
        }
    }

    /// Whether it is for a lock, and has no data.
    #[must_use]
    pub const fn is_of_a_lock(self) -> bool {
        matches!(self, Verb::Lock | Verb::TryLock | Verb::Unlock)
    }

    /// Whether the process that asks for it sees the end of it, and no other.
    #[must_use]
    pub const fn comes_back(self) -> bool {
        !matches!(self, Verb::Send | Verb::Put | Verb::Control | Verb::Event | Verb::Thread)
    }
}

/// How an operation is submitted to the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// The processor writes it into a queue on the chip.
    Hdq,
    /// The processor writes it into a queue in memory and rings a doorbell; the NIC reads it.
    Sdq,
    /// The processor writes commands into a queue, of which short packets are made.
    Sten,
    /// It writes one for the DMA engine, which reads the data.
    Dma,
    /// It writes small data with the descriptor; larger ones the NIC reads.
    Pio,
    /// It asks the other process where the data go, and then writes a descriptor for the DMA engine.
    Rendezvous,
}

impl Submission {
    /// All of them.
    pub const ALL: [Submission; 6] = [
        Submission::Hdq,
        Submission::Sdq,
        Submission::Sten,
        Submission::Dma,
        Submission::Pio,
        Submission::Rendezvous,
    ];

    /// The parameter of an operation that says it.
    #[must_use]
    pub const fn parameter(self) -> &'static str {
        match self {
            Submission::Hdq | Submission::Sdq => "queue",
            Submission::Sten | Submission::Dma | Submission::Pio | Submission::Rendezvous => "by",
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Submission::Hdq => "hdq",
            Submission::Sdq => "sdq",
            Submission::Sten => "sten",
            Submission::Dma => "dma",
            Submission::Pio => "pio",
            Submission::Rendezvous => "rendezvous",
        }
    }
}

/// What a process sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What has happened.
    pub what: CompletionKind,
    /// To which operation: its number among those of its process.
    pub number: u64,
    /// The node of that process.
    pub node: NodeId,
    /// Its process there.
    pub process: u8,
    /// Data in bytes.
    pub bytes: u64,
    /// What it has spent its time with until now.
    pub story: Story,
}

impl Completion {
    /// The operation.
    #[must_use]
    pub fn of(&self) -> OperationId {
        let Completion { node, process, number, .. } = *self;
        OperationId { node, process, number }
    }

    /// Whether it is in memory that its process polls, not in a register.
    #[must_use]
    pub fn needs_poll(&self) -> bool {
        !matches!(self.what, CompletionKind::Loaded | CompletionKind::Refused | CompletionKind::Interrupted)
    }
}

/// What happens to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// One of its own has left the NIC, or if it is reliable has arrived: its data may be overwritten.
    Left,
    /// One of another process has brought data here.
    Received,
    /// One of its own has brought data here.
    Fetched,
    /// One of its own has brought a word into a register, or an answer.
    Loaded,
    /// The answer to one of its own is no: it has not got a lock, or had none to free.
    Refused,
    /// One of its own has come to its turn, behind what it has waited for.
    Reached,
    /// One of its own is illegal, and has not been carried out.
    Failed,
    /// A thread has interrupted its processor, which takes data to their place. The program hears nothing of it.
    Interrupted,
}
