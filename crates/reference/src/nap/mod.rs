//! The host and the NIC of Dawning 5000, as `flitway_nic::host`, its `bus` and `hyper_transport`, and `flitway_nic::nap` say
//! it, sentence by sentence.
//!
//! What is due stands in one list, of which the first is looked for; what waits stands in lists in the order in which it came.
//! The fabric around it is the fast one: it has its own reference models.

mod barrier;
mod bus;
mod channel;
mod locks;
mod processor;
mod receive;
mod words;

use crate::host::model::{Around, Model, Modelled};
use crate::host::noise::Noise;
use barrier::Meeters;
use bus::{Bus, Read};
use channel::{Descriptor, Engine, Leaves, MSG, NAP, Queue, Ready};
use flitway_engine::Picos;
use flitway_fabric::{BarrierId, Delivery};
use flitway_nic::Place;
use flitway_nic::host::memory::{Address, Memory};
use flitway_nic::host::program::{Completion, CompletionKind, Operation, Program, Submission, Verb};
use flitway_nic::host::story::{Story, Unit};
use flitway_nic::host::{AnyHost, HostCounts, Surroundings};
use flitway_nic::nap::{CREDITS, NapCounts, NapSettings, Peer};
use flitway_wiring::{NodeId, RailId};
use processor::{Processor, Written};
use receive::{Arrived, Expected, Records};

/// Which operation: its node, its process, its number there.
type Name = (NodeId, u8, u64);

/// A packet, from when it is taken out of a queue or made until it is dealt with.
#[derive(Clone, Debug)]
pub struct Packet {
    name: Name,
    operation: Operation,
    what: What,
    from: Peer,
    to: Peer,
    /// Bytes on the link.
    payload: u32,
    /// Where its data are in the node that sends it, if it takes any along.
    source: Option<Address>,
    /// Where they go in the node that it is for.
    target: Address,
    /// Data in bytes.
    bytes: u64,
    /// The NIC reads them first.
    reads: bool,
    /// It is the last of its message.
    is_last: bool,
    /// Its number among those for NAP rings from its process to that process.
    number: u64,
    /// Credits that it brings.
    credits: u32,
    story: Story,
    data: Option<Box<[u8]>>,
}

/// What a descriptor or a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Message,
    Ask,
    Grant,
    /// Data of a put.
    Put,
    Request,
    /// Data that were asked for.
    Fetched,
    Credits,
    /// A word, or a lock.
    Word,
    /// The answer to it: yes, or the word, or no.
    Answer,
    No,
    /// The process has come to its barrier; so has a node below; all have.
    Barrier,
    Below,
    All,
}

impl What {
    /// What is posted first for an operation.
    fn begins(operation: &Operation) -> What {
        match (operation.verb, operation.by) {
            (Verb::Send, Submission::Pio | Submission::Dma) => What::Message,
            (Verb::Put, Submission::Rendezvous) => What::Ask,
            (Verb::Put, Submission::Dma) => What::Put,
            (Verb::Get, Submission::Dma) => What::Request,
            (Verb::Load | Verb::Store | Verb::FetchAdd, Submission::Pio) => What::Word,
            (Verb::Lock | Verb::TryLock | Verb::Unlock, Submission::Pio) => What::Word,
            (Verb::Barrier, Submission::Pio) => What::Barrier,
            (verb, by) => panic!("the NIC of Dawning 5000 has no {verb:?} by {by:?}"),
        }
    }

    /// The queue of its process that it goes into.
    fn queue(self) -> usize {
        match self {
            What::Message | What::Ask | What::Grant => NAP,
            _ => MSG,
        }
    }

    /// Where it is counted: packets of NAP channels, of MSG channels, of words.
    fn counts_as(self) -> usize {
        match self {
            What::Message | What::Ask | What::Grant | What::Credits => 0,
            What::Put | What::Request | What::Fetched => 1,
            What::Word | What::Answer | What::No => 2,
            What::Barrier | What::Below | What::All => 3,
        }
    }
}

impl Packet {
    /// One that brings credits alone.
    fn of_credits(from: Peer, to: Peer, credits: u32, at: Picos) -> Self {
        // No operation has it: what stands for one is never looked at.
        let operation =
            Operation { bytes: 1, ..Operation::plain(Verb::Send, Submission::Pio, (to.node, to.process)) };
        let name = (from.node, from.process, u64::MAX);
        let word = Packet::of_word(What::Credits, name, operation, [from, to], Story::begin(at));
        Packet { payload: CREDITS, bytes: 0, credits, ..word }
    }

    /// One with a word, or about one.
    fn of_word(what: What, name: Name, operation: Operation, [from, to]: [Peer; 2], story: Story) -> Self {
        Packet {
            name,
            operation,
            what,
            from,
            to,
            payload: 0,
            source: None,
            target: Address { process: to.process, byte: 0 },
            bytes: operation.bytes,
            reads: false,
            is_last: true,
            number: 0,
            credits: 0,
            story,
            data: None,
        }
    }
}

/// What a process finds.
#[derive(Clone, Debug)]
enum Sight {
    /// A slot of its NAP ring.
    Slot { name: Name, operation: Operation, what: What, is_last: bool, from: Peer, story: Story },
    /// An event record.
    Record(Completion),
    /// A word or an answer, in a register.
    Word(Completion),
    /// That all have come to a barrier.
    Barrier(Completion),
}

impl Sight {
    fn story(&mut self) -> &mut Story {
        match self {
            Sight::Slot { story, .. } => story,
            Sight::Record(completion) | Sight::Word(completion) | Sight::Barrier(completion) => {
                &mut completion.story
            }
        }
    }
}

/// What is due.
#[derive(Debug)]
enum Due {
    /// A processor may be free.
    Free(u8),
    /// Memory, or a register, has something for a process.
    Visible(u8, Sight),
    /// The process has seen it.
    Seen(u8, Sight),
    /// A processor has written a burst of so many bytes; it may be the last of something.
    Burst(u8, u32, Option<Written>),
    /// The NIC has a descriptor.
    Queued(u8, Box<Descriptor>),
    /// The NIC knows of credits that a process owes.
    Owed(u8, Peer, u32),
    /// The NIC knows of free entries of the ring of event records of a process.
    Entries(u8, u32),
    /// A process knows that a queue has room for so many more.
    Room(u8, usize, u32),
    /// Memory has the data of a read.
    Found(Read),
    /// The NIC has them.
    HasRead(Read),
    /// An engine has taken its packet so long ago that it reads.
    Begins(usize),
    /// A packet of the remote access unit is ready.
    WordReady(Box<Packet>),
    /// A packet reaches the NIC port of a rail.
    Handed(RailId, Box<Packet>),
    /// A packet is dealt with.
    Dealt(Box<Packet>),
    /// So many bytes of the receive buffer are free.
    Left(u32),
    /// Memory has bytes.
    Landed(Address, Box<[u8]>),
    /// The first addition is over.
    AdditionOver,
    /// A process has come to its barrier.
    Comes(Box<Completion>),
    /// A node below has.
    ComesBelow,
    /// All have.
    AllHave,
}

/// A host with its NIC and its programs.
#[derive(Debug)]
struct Host {
    around: Around<Packet, Due>,
    settings: NapSettings,
    processors: Vec<Processor>,
    bus: Bus,
    /// NAP queues by process, MSG queues by process, and that of requests.
    queues: Vec<Queue>,
    /// Which of them the next search begins with.
    queue_turn: usize,
    /// What each process has at another one: credits, and numbers of packets for its ring.
    credits: Vec<(u8, Peer, u32)>,
    numbers: Vec<(u8, Peer, u64)>,
    /// Credits that processes owe to others, as far as the NIC knows.
    known: Vec<(u8, Peer, u32)>,
    engines: Vec<Engine>,
    /// Since when all engines are busy, if they are, and for how long they have been before.
    engines_full_since: Option<u64>,
    engines_full: u64,
    /// Packets that are ready, in the order in which they became so.
    ready: Vec<Ready>,
    /// The rail whose turn it is.
    rail_turn: usize,
    /// By rail: packets in the source queue or on their way there.
    in_port: Vec<u32>,
    in_source_queues: Vec<(RailId, u64, Leaves)>,
    /// Bytes that have left, of operations of which not all have and that want to know.
    left: Vec<(Name, u64)>,
    /// Packets in NIC ports, in the order of delivery.
    arrived: Vec<Arrived>,
    /// Bytes of the receive buffer that are free.
    buffer: u64,
    /// Numbers of slots that come next, and those that came before their turn.
    expected: Vec<Expected>,
    early: Vec<Packet>,
    /// What has been written of operations of which not all has.
    written: Vec<(Name, u64)>,
    /// By process.
    records: Vec<Records>,
    /// Words of this node that are loaded, by number, and how many have been before.
    loads: Vec<(u64, Packet)>,
    loads_begun: u64,
    /// Additions to words of this node, of which the first is under way.
    additions: Vec<Packet>,
    /// Who has which lock of this node, and what waits for one, in the order in which it came.
    locks: Vec<(Address, Peer)>,
    locks_waited_for: Vec<Packet>,
    meeters: Meeters,
    counts: NapCounts,
}

/// The host of the node that `place` names, with a processor for each of `programs`.
#[must_use]
pub fn host(
    settings: &NapSettings,
    place: Place,
    memory: Memory,
    programs: Vec<Box<dyn Program>>,
    surroundings: Surroundings<Packet>,
) -> Box<dyn AnyHost> {
    let processes = programs.len();
    let meeters = Meeters::new(&programs);
    let mut host = Host {
        around: Around::new(place, memory, surroundings),
        settings: *settings,
        processors: (0..)
            .zip(programs)
            .map(|(process, it)| (Noise::of(place, process, &*it), it))
            .map(|(noise, it)| Processor::new(it, noise, settings.depth))
            .collect(),
        bus: Bus::new(settings.host.bus),
        queues: (0..=2 * processes).map(|_| Queue::default()).collect(),
        queue_turn: 0,
        credits: Vec::new(),
        numbers: Vec::new(),
        known: Vec::new(),
        engines: (0..settings.engines).map(|_| Engine::default()).collect(),
        engines_full_since: None,
        engines_full: 0,
        ready: Vec::new(),
        rail_turn: 0,
        in_port: vec![0; place.rails as usize],
        in_source_queues: Vec::new(),
        left: Vec::new(),
        arrived: Vec::new(),
        buffer: settings.receive_buffer.into(),
        expected: Vec::new(),
        early: Vec::new(),
        written: Vec::new(),
        records: (0..processes).map(|_| Records::new(settings.events)).collect(),
        loads: Vec::new(),
        loads_begun: 0,
        additions: Vec::new(),
        locks: Vec::new(),
        locks_waited_for: Vec::new(),
        meeters,
        counts: NapCounts::default(),
    };
    (0..processes).for_each(|process| host.around.ask(Picos(0), Due::Free(process as u8)));
    Box::new(Modelled(host))
}

/// Completion of an operation.
fn completion(
    what: CompletionKind,
    (node, process, number): Name,
    of: &Operation,
    story: Story,
) -> Completion {
    Completion { what, number, node, process, bytes: of.bytes, story }
}

/// Whether, with these `bytes`, all `of` an operation have come; `parts` has what came before.
fn all_of(parts: &mut Vec<(Name, u64)>, name: Name, bytes: u64, of: u64) -> bool {
    let before = parts.iter().position(|part| part.0 == name);
    let before = before.map_or(0, |place| parts.remove(place).1);
    let all = before + bytes;
    if all < of {
        parts.push((name, all));
    }
    all == of
}

impl Model for Host {
    type Content = Packet;
    type Due = Due;

    fn around(&self) -> &Around<Packet, Due> {
        &self.around
    }

    fn around_mut(&mut self) -> &mut Around<Packet, Due> {
        &mut self.around
    }

    fn handle(&mut self, due: Due) {
        match due {
            Due::Free(process) => self.free(process),
            Due::Visible(process, sight) => self.visible(process, sight),
            Due::Seen(process, sight) => self.seen(process, sight),
            Due::Burst(process, bytes, what) => self.burst(process, bytes, what),
            Due::Queued(process, descriptor) => self.queued(process, *descriptor),
            Due::Owed(process, to, credits) => self.owes(process, to, credits),
            Due::Entries(process, count) => self.entries_free(process, count),
            Due::Room(process, queue, count) => self.has_room(process, queue, count),
            Due::Found(read) => self.data_found(read),
            Due::HasRead(read) => self.has_read(read),
            Due::Begins(engine) => self.begins(engine),
            Due::WordReady(packet) => self.word_ready(packet),
            Due::Handed(rail, packet) => self.handed(rail, *packet),
            Due::Dealt(packet) => self.dealt(*packet),
            Due::Left(bytes) => self.has_left_buffer(bytes),
            Due::Landed(to, data) => self.landed(to, &data),
            Due::AdditionOver => self.addition_is_over(),
            Due::Comes(completion) => self.comes(*completion),
            Due::ComesBelow => self.comes_below(),
            Due::AllHave => self.all_have(),
        }
    }

    fn receive(&mut self, delivery: &Delivery, packet: Packet) {
        self.arrive(delivery, packet);
    }

    fn sent(&mut self, rail: RailId, number: u64) {
        self.has_left(rail, number);
    }

    fn meets_as(&self) -> Option<BarrierId> {
        self.meeters.group()
    }

    fn released(&mut self) {
        self.all_are_said_to_have();
    }

    fn unanswered(&self) -> usize {
        self.meeters.wait_for_switches().into()
    }

    fn follow_up(&mut self) {
        self.look();
    }

    fn program(&self, process: usize) -> &dyn Program {
        &*self.processors[process].program
    }

    fn counts(&self, at: Picos) -> HostCounts {
        let NapCounts { descriptors, packets, lacked, credits, early, held, waited, locks, barriers } =
            self.counts;
        let engines_full = self.engines_full + self.engines_full_since.map_or(0, |since| at.0 - since);
        let lacked_most = self.queues.iter().map(|queue| queue.lacked(at)).max();
        let words_most = self.processors.iter().map(|processor| processor.words_full(at)).max();
        HostCounts {
            bus: self.bus.counts(),
            busy: self.processors.iter().map(|processor| processor.busy).collect(),
            nic: vec![
                ("descriptors of NAP channels", descriptors[NAP]),
                ("descriptors of MSG channels", descriptors[MSG]),
                ("requests of other nodes", descriptors[2]),
                ("packets of NAP channels", packets[0]),
                ("packets of MSG channels", packets[1]),
                ("packets of words", packets[2]),
                ("packets of barriers", packets[3]),
                ("packets that lacked a credit", lacked),
                ("packets that bring credits alone", credits),
                ("packets that came before their turn", early),
                ("packets held in the NIC port", held),
                ("event records that waited for an entry", waited),
                ("locks taken at once", locks[0]),
                ("locks waited for", locks[1]),
                ("locks refused", locks[2]),
                ("unlocks refused", locks[3]),
                ("barriers", barriers),
            ],
            full: vec![
                ("DMA engines", engines_full),
                ("wait for credits of a NAP channel", lacked_most.unwrap_or(0)),
                ("wait for words of a process", words_most.unwrap_or(0)),
            ],
            ..HostCounts::default()
        }
    }

    fn is_idle(&self) -> bool {
        self.bus.is_idle()
            && self.processors.iter().all(Processor::is_idle)
            && self.queues.iter().all(Queue::is_idle)
            && self.engines.iter().all(Engine::is_idle)
            && self.ready.is_empty()
            && self.in_port.iter().all(|&count| count == 0)
            && self.left.is_empty()
            && self.arrived.is_empty()
            && self.early.is_empty()
            && self.written.is_empty()
            && self.records.iter().all(Records::is_idle)
            && self.loads.is_empty()
            && self.additions.is_empty()
            && self.locks_waited_for.is_empty()
            && self.meeters.are_idle()
    }
}
