//! NAP and MSG, the channels of the NIC of Dawning 5000 (dawning5000.txt sections 3.2 and 6; mechanisms 1.8).
//!
//! # The parts
//!
//! A process has a *NAP channel* for short messages and an *MSG channel* for long ones: of each a queue of descriptors on the
//! NIC, and in the memory of the process a ring of equal slots (NAP) and a ring of event records (MSG), which it polls.
//! *DMA engines* make packets for all channels. The *remote access unit* loads, stores and adds words of other nodes. The
//! *rails* are NIC ports, one in each. The *library* of a process is what it does by itself, without its program: credits and
//! rendezvous. The bus is `hyper_transport`: process `i` belongs to port `i` modulo the ports, and all that goes between the
//! NIC and that process or its memory goes through that port, whatever engine or rail it has to do with. Addresses are
//! physical and memory is pinned ("a globally unified physical address space"), so nothing is translated.
//!
//! # What happens when
//!
//! Names in code font are settings ([`NapSettings`]). Sizes are in bytes; times are in picoseconds.
//!
//! 1. **Descriptors.** A *message* (`send`) of up to `immediate` by PIO is [`NAP_HEAD`] and its data, rounded up to words of
//!    [`WORD`]; any other message is a descriptor of [`DESCRIPTOR`], and the NIC reads its data. A put by rendezvous is an
//!    *ask* first: [`NAP_HEAD`] and [`HANDSHAKE`]; when the process there has seen it, its library posts a *grant* (the
//!    address), of the same size, and when that has been seen, the library here posts what a put by DMA is at once: *data*, a
//!    descriptor of [`DESCRIPTOR`]. A get is a *request*: [`DESCRIPTOR`]. Messages, asks and grants go into the NAP queue of
//!    their process, data and requests into its MSG queue.
//! 2. **Posting.** The processor waits until, as far as it knows, the queue has fewer than `depth` descriptors, and goes on
//!    seeing what comes meanwhile. Then it is busy for `issue`, and writes the descriptor in bursts, one behind the other, each
//!    of which goes over the bus when it has been written. The NIC has the descriptor when it has the last burst. It is out of
//!    the queue when its last packet has been taken (3). Whenever `depth / 4` descriptors, rounded up, have gone out of it
//!    since it last did, the NIC writes so into memory: [`POINTER`] bytes. When memory has them the process knows, in no time.
//! 3. **Engines.** A free engine takes *one packet*: the next of the first descriptor of a queue. Queues take turns: the NAP
//!    queues of all processes in their order, their MSG queues, and the requests of other nodes; the search begins behind the
//!    queue from which the last was taken. A NAP queue is passed over while its first descriptor lacks a credit (4). Packets
//!    are taken whenever there is one and an engine is free, by the free engine with the lowest number. A message is cut into
//!    packets of `slot` data, the last with what is left; data where addresses at the destination are a multiple of the MTU.
//!    Asks and grants are packets of [`HANDSHAKE`], requests of [`REQUEST`]. A packet of a NAP queue has the next number of
//!    those from its process to that process. `start` after it took the packet the engine asks for its data, all at once and in
//!    order, in reads that end where addresses are a multiple of the greatest read of the bus. The packet is *ready* when all
//!    are there; one that has its data, or needs none, `start` after it was taken. The engine is free when its packet is taken
//!    by a rail.
//! 4. **Credits.** A ring has `slots` slots, of which each of up to `peers` processes of other nodes that send to it has
//!    `slots / peers`, rounded down, for ever: these are its credits at the start. (Who makes programs sees to it that no ring
//!    has more senders.) Taking a packet of a NAP queue costs a
//!    credit of the process there; what lacks one waits, and what comes after it in that queue, and nothing else. A process
//!    that has seen a slot owes its sender a credit, of which it tells the NIC: with the next message, ask or grant to that
//!    sender that it posts, of all that it owes when there is room for it (2); or, when these are half of the credits of
//!    a sender, rounded up, by a burst of [`DOORBELL`] that costs the processor nothing. The NIC knows of them when it has the
//!    descriptor or the burst. A packet for the ring of that sender brings all that the NIC knows of when it is taken. When
//!    those that the NIC knows of come to half, a packet of [`CREDITS`] brings them, which is ready at once. Credits count when
//!    the packet that brings them is dealt with (6), whatever its number. (Of `c` credits, half of which are `h`, less than `h`
//!    are owed without the NIC knowing for long, and less than `h` known: together less than `c`. So no sender waits for
//!    credits that wait themselves.)
//! 5. **Rails.** Packets that are ready go to NIC ports in the order in which they became so: each to that of the next rail, in
//!    turn, which has, or gets, fewer than `port_packets` in its source queue; they wait if none has. It reaches the NIC port
//!    `transmit` later, and carries what memory has then. Its lane is a random number. When all packets of a message, or all
//!    data of a put, that wants it have left, its process gets an event record.
//! 6. **Receiving.** A packet is drained out of the NIC port as soon as the receive buffer has room for its bytes, in the order
//!    of delivery, and dealt with `receive` later. First count the credits that it brings.
//!    * *One for a NAP ring* waits until all from its process to this one with lower numbers have been dealt with, in a memory
//!      that has a place for each slot. Then it is written into the tail slot: [`SLOT_HEAD`] (the valid flag is the last of it)
//!      and its bytes. When they are in memory the data of a message are at their place, and the process sees the slot. Of a
//!      message the program acts on the last slot; the library takes note of others.
//!    * *Data* are written to their address. When all of an operation have been, the process gets an event record: the one here
//!      for a put, the one that asked for a get.
//!    * *A request* is one more descriptor for the engines. Requests have a memory of their own, without limit.
//!    * *Words*: see 8. *Locks*: see 9. *Barriers*: see 10.
//!
//!    Room in the receive buffer is free when the write of data has left the chip, and that of any other packet when it is
//!    dealt with.
//! 7. **An event record** gets an entry of the ring of its process, which has `events`; if none is free it waits, without end,
//!    and who waits gets one in the order in which they came. Then it is written: [`EVENT`]. A process that has seen a quarter
//!    of the entries, rounded up, since it last did writes so to the NIC, in a burst of [`DOORBELL`] that costs it nothing.
//! 8. **Words** of up to [`WORD`]. The processor waits while `words` of its process are under way, seeing what comes, and
//!    writes a burst without `issue`: the data of a store or of what is added, nothing for a load. `remote` after the NIC has
//!    that a packet is ready: [`LOAD`], or [`STORE`] with a word. Where it is dealt with a load reads the word; a store writes
//!    it, and is done when memory has it; an addition, of which a NIC does one at a time in the order in which they came, reads
//!    the word and then writes the sum, and is over when memory has that. `remote` after the word has been read, or stored, a
//!    packet of [`ANSWER`] is ready. When that is dealt with the word is no longer under way, and is written to the processor,
//!    a write without data for a store; the process sees it, in no time, when that is there. It comes to `here` (what is added
//!    is the word that memory had there when the packet reached its NIC port). Words are added as numbers of as many bytes as
//!    the operation has, the first byte the lowest, without what is carried out of the last.
//! 9. **Locks.** Each byte of the memory of a process has a lock, which the remote access unit of its node keeps, and memory
//!    does not; it is free at the start. An operation for one goes the way of a load (8), of no bytes. Where its packet of
//!    [`LOAD`] is dealt with, a *lock* or a *try* takes the lock for its process if it is free. If it is not, a try is refused,
//!    and a lock waits there, behind those that wait already, without limit. An *unlock* of who has the lock gives it to the
//!    first that waits, or frees it; any other is refused, and changes nothing. `remote` after a lock has been taken, given or
//!    freed, or something has been refused, a packet of [`ANSWER`] is ready: that to who gets a lock before that to who has
//!    freed it. When it is dealt with a write without data tells the processor, as for a store. A lock is no word under way and
//!    waits for none, since it may wait long, and what frees others must not wait for it.
//! 10. **Barriers.** The *barrier module* has, for one barrier, how many processes of its node are members, and either a group
//!     of the switches, or a parent and children among the nodes. A process that comes writes a burst of [`DOORBELL`], without
//!     `issue`; `barrier` after the NIC has it, it has come, and waits there; what it posts after that can come too, for later
//!     barriers. When one of each member waits, and all children have come, and the one before is over, the node has come: it
//!     says so to the switches, or a packet of [`MEET`] to its parent is ready; without a parent all have come. All have come,
//!     too, `barrier` after the switches say so, or a packet of [`MEET`] from the parent is dealt with. Then one to each child
//!     is ready, in their order, and for each member, in order, [`POINTER`] is written into its memory, where it polls it; then
//!     the next barrier may be complete here. A child has come `barrier` after its packet is dealt with.
//! 11. **Stories.** A descriptor waits in a submission queue until it goes or lacks a credit, for which it waits then as for
//!     room, until credits come for its process from there. A packet goes on with that of its descriptor: it is in the engine
//!     for `start`, then its data are read, and from when it is ready it is in the network interface until it reaches the NIC
//!     port. It waits for room until it is drained, and again if others of its process have to be dealt with first; an event
//!     record waits for room until it has an entry. For `remote` a word is in the remote access unit, and while it waits for
//!     other additions; a lock waits for the lock until it is its own. A barrier is in the barrier module of its own node until
//!     all have come. What a process is told of all that has left goes on with the packet that left last, and of all data that
//!     have come with the one that came last.
//!
//! What comes of something in no time comes at once, before whatever else has that date; what takes a time that is none is due
//! at that date like anything else. Where several things come of one, they come in the order in which the points above name
//! them; what may be taken is looked for last, by rails and then by engines.

mod barrier;
mod channel;
mod engine;
mod locks;
mod receive;
mod theory;
mod words;

use crate::Place;
use crate::host::bus::Port;
use crate::host::hyper_transport::HyperTransportSettings;
use crate::host::memory::{Address, Memory};
use crate::host::program::{Completion, Operation, Program, Setup, Submission, Verb};
use crate::host::transfer::Header;
use crate::host::{
    AnyHost, Context, Device, Host, HostSettings, Hosts, IdleTimes, Network, OnABus, Post, Posting, Programs,
    Seen, Surroundings,
};
use barrier::{Barrier, BarrierDue};
use channel::{Channels, Descriptor, Queue};
use engine::{Engines, Rails};
use flitway_engine::{Clock, Picos};
use flitway_fabric::chip::Offers;
use flitway_fabric::{BarrierId, Delivery};
use flitway_wiring::{NodeId, RailId};
use locks::Locks;
use receive::Receive;
use words::{Foreign, Words, WordsDue};

/// Bytes of a descriptor. Source: \[assumed\].
pub const DESCRIPTOR: u32 = 32;
/// Bytes of a message that is written with its data, beside those. Source: \[assumed\].
pub const NAP_HEAD: u32 = 16;
/// Bytes of a word. Source: \[assumed\], 64 bits.
pub const WORD: u32 = 8;
/// Data of an ask or a grant in bytes: a size and an address. Source: \[assumed\].
pub const HANDSHAKE: u32 = 16;
/// Bytes of a packet that asks for data. Source: \[assumed\].
pub const REQUEST: u32 = 16;
/// Bytes of a packet that brings credits. Source: \[assumed\].
pub const CREDITS: u32 = 8;
/// Bytes of a slot beside its data: the valid flag, sender, length and number. Source: \[assumed\]; "1 KB + header" (OQ-D7).
pub const SLOT_HEAD: u32 = 16;
/// Bytes of an event record. Source: \[assumed\].
pub const EVENT: u32 = 16;
/// Bytes in which the NIC tells of room in a queue. Source: \[assumed\].
pub const POINTER: u32 = 8;
/// Bytes in which a process tells the NIC of what it has seen. Source: \[assumed\].
pub const DOORBELL: u32 = 8;
/// Bytes of a packet that loads a word, or is for a lock: its address. Source: \[assumed\].
pub const LOAD: u32 = 8;
/// Bytes of a packet that stores or adds a word: address and word. Source: \[assumed\].
pub const STORE: u32 = 16;
/// Bytes of the answer to it. Source: \[assumed\].
pub const ANSWER: u32 = 8;
/// Bytes of a packet of a barrier. Source: \[assumed\].
pub const MEET: u32 = 8;
/// The most data of an operation in bytes. Source: \[assumed\], 31 bits.
pub const TRANSFER: u64 = 1 << 31;
/// Channels of each kind. Source: \[assumed\]; the number is not given (P-DN-032).
pub const CHANNELS: u32 = 32;

/// The settings of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NapSettings {
    /// The host that it is on.
    pub host: HostSettings<HyperTransportSettings>,
    /// The time for which a processor is busy with an operation before it writes.
    pub issue: Picos,
    /// Descriptors that a queue holds.
    pub depth: u32,
    /// The most data of a message that the processor writes with its descriptor, in bytes.
    pub immediate: u32,
    /// Slots of a NAP ring; `peers` at least.
    pub slots: u32,
    /// Processes of other nodes that have slots in a ring.
    pub peers: u32,
    /// Data of a slot in bytes; [`HANDSHAKE`] at least, and no more than the MTU.
    pub slot: u32,
    /// Entries of a ring of event records.
    pub events: u32,
    /// DMA engines.
    pub engines: u32,
    /// The time from when an engine takes a packet until it reads, or has made it.
    pub start: Picos,
    /// The time from a packet that is ready to the NIC port.
    pub transmit: Picos,
    /// Packets in the source queue of a NIC port.
    pub port_packets: u32,
    /// The time from the NIC port until a packet is dealt with.
    pub receive: Picos,
    /// Bytes of the receive buffer; an MTU at least.
    pub receive_buffer: u32,
    /// Words of a process that are under way at most.
    pub words: u32,
    /// The time of the remote access unit.
    pub remote: Picos,
    /// The time of the barrier module.
    pub barrier: Picos,
    /// The most data of a packet in bytes.
    pub mtu: u32,
}

impl NapSettings {
    /// The port of a process.
    #[must_use]
    pub fn port(&self, process: u8) -> Port {
        Port((u32::from(process) % self.host.bus.ports) as u8)
    }

    /// Credits of a sender at the start.
    #[must_use]
    pub fn credits(&self) -> u32 {
        self.slots / self.peers
    }

    /// Credits that are owed to a sender when they are returned by a packet of their own.
    #[must_use]
    pub fn threshold(&self) -> u32 {
        self.credits().div_ceil(2)
    }

    /// Reads of `bytes` of memory from `byte` on.
    fn reads(&self, byte: u64, bytes: u64) -> impl Iterator<Item = u32> + use<> {
        let most = u64::from(self.host.bus.read_request);
        let end = byte + bytes;
        let starts = std::iter::successors(Some(byte), move |at| Some((at / most + 1) * most));
        starts
            .take_while(move |&at| at < end)
            .map(move |at| ((at / most + 1) * most).min(end) as u32 - at as u32)
    }
}

/// A process of a node, as its peers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// The node.
    pub node: NodeId,
    /// Its process there.
    pub process: u8,
}

/// What a packet says.
#[derive(Debug)]
pub enum Content {
    /// What goes into a slot.
    Slot(Slot, Option<Box<[u8]>>),
    /// Credits alone: for which process, of which of the node that sends them, and how many.
    Credits(u8, u8, u32),
    /// Data of a put, or data that were asked for.
    Data(Header, Option<Box<[u8]>>),
    /// A request for data.
    Request(Header),
    /// A word to load, store or add to, or a lock.
    Word(Verb, Header, Option<Box<[u8]>>),
    /// The answer to it.
    Answer(Foreign),
    /// A child has come to a barrier, or all nodes have.
    Meets,
    Met,
}

/// What a packet for a NAP ring says.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Of what operation it is, and for whom.
    header: Header,
    /// What it is.
    kind: Kind,
    /// The process that has sent it.
    source: u8,
    /// Its number among those from there to that process.
    number: u64,
    /// It is the last of its message.
    is_last: bool,
    /// Credits that it brings.
    credits: u32,
}

/// What a descriptor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message.
    Message,
    /// The first part of a rendezvous.
    Ask,
    /// The second.
    Grant,
    /// Data of a put, or data that were asked for.
    Data,
    /// A request for data.
    Request,
}

impl Content {
    fn header(&self) -> Option<&Header> {
        match self {
            Content::Slot(slot, _) => Some(&slot.header),
            Content::Credits(..) | Content::Meets | Content::Met => None,
            Content::Data(header, _) | Content::Request(header) => Some(header),
            Content::Word(_, header, _) => Some(header),
            Content::Answer(answer) => Some(&answer.header),
        }
    }

    fn header_mut(&mut self) -> Option<&mut Header> {
        match self {
            Content::Slot(slot, _) => Some(&mut slot.header),
            Content::Credits(..) | Content::Meets | Content::Met => None,
            Content::Data(header, _) | Content::Request(header) => Some(header),
            Content::Word(_, header, _) => Some(header),
            Content::Answer(answer) => Some(&mut answer.header),
        }
    }
}

/// A packet on its way to a NIC port.
#[derive(Debug)]
pub struct Outbound {
    to: NodeId,
    /// Bytes on the link.
    payload: u32,
    /// What it says; its data are added when it is handed to the NIC port.
    content: Content,
    /// The engine that has made it.
    engine: Option<u8>,
    /// Data that it reads from the memory of its process first.
    reads: bool,
    /// The process wants to know when all of its operation have left.
    tells_left: bool,
}

/// What is due within the NIC.
#[derive(Debug)]
pub enum NapEvent {
    /// A processor has written a burst of so many bytes, with the last part of a descriptor.
    Burst(u8, u32, Option<Box<Descriptor>>),
    /// A descriptor of a process is in its queue.
    Queued(u8, Box<Descriptor>),
    /// A process knows of so much more room in a queue.
    Room(Queue, u32),
    /// An engine has prepared a packet.
    Begins(u8),
    /// A packet reaches the NIC port of a rail.
    Hand(RailId, Box<Outbound>),
    /// A packet that has been received is dealt with.
    Dealt(NodeId, Box<Content>, u32),
    /// So many bytes of the receive buffer are free.
    Freed(u32),
    /// Bytes are in memory.
    Landed(Address, Box<[u8]>),
    /// The NIC knows that a process owes so many credits to a peer.
    Owed(u8, Peer, u32),
    /// The NIC knows of so many more free entries of the ring of event records of a process.
    Entries(u8, u32),
    /// Something of the remote access unit.
    Words(WordsDue),
    /// Something of the barrier module.
    Barrier(BarrierDue),
}

/// What a NIC has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NapCounts {
    /// Descriptors of NAP queues, of MSG queues, and requests of other nodes.
    pub descriptors: [u64; 3],
    /// Packets of NAP channels, with those that bring credits alone; with data of MSG channels or requests; of words; and of
    /// barriers.
    pub packets: [u64; 4],
    /// Packets that lacked a credit when it was their turn first, with an engine free.
    pub lacked: u64,
    /// Packets that bring credits alone.
    pub credits: u64,
    /// Packets that waited for others of their process with lower numbers.
    pub early: u64,
    /// Packets that waited in the NIC port for room in the receive buffer.
    pub held: u64,
    /// Event records that waited for an entry.
    pub waited: u64,
    /// Locks of this node that were taken at once, or waited for; tries for one that were refused, and unlocks that were.
    pub locks: [u64; 4],
    /// Barriers.
    pub barriers: u64,
}

/// The NIC of Dawning 5000.
#[derive(Debug)]
pub struct Nap {
    settings: NapSettings,
    node: NodeId,
    channels: Channels,
    engines: Engines,
    rails: Rails,
    receive: Receive,
    words: Words,
    locks: Locks,
    barrier: Barrier,
    counts: NapCounts,
}

type NapContext<'a> = Context<'a, Nap>;

impl Nap {
    /// The NIC of the node that `place` names.
    #[must_use]
    pub fn new(settings: &NapSettings, place: Place, processes: usize) -> Self {
        Nap {
            settings: *settings,
            node: place.node,
            channels: Channels::new(settings, processes),
            engines: Engines::new(settings),
            rails: Rails::new(place),
            receive: Receive::new(settings, processes),
            words: Words::new(processes),
            locks: Locks::default(),
            barrier: Barrier::new(processes),
            counts: NapCounts::default(),
        }
    }

    /// A host with one of them, and a processor for each of `programs`.
    #[must_use]
    pub fn host(
        settings: &NapSettings,
        place: Place,
        memory: Memory,
        programs: Vec<Box<dyn Program>>,
        surroundings: Surroundings<Content>,
    ) -> Box<dyn AnyHost> {
        let nic = Nap::new(settings, place, programs.len());
        Box::new(Host::new(place, settings.host, nic, memory, programs, surroundings))
    }

    /// So much later than now.
    fn after(&self, cx: &NapContext<'_>, time: Picos) -> Picos {
        Picos(cx.at.0 + time.0)
    }
}

impl OnABus for NapSettings {
    fn most(&self, verb: Verb) -> (u64, &'static str) {
        match verb {
            Verb::Send | Verb::Put | Verb::Get => (TRANSFER, "[assumed]"),
            Verb::Load | Verb::Store | Verb::FetchAdd => (WORD.into(), "a word, [assumed]"),
            Verb::Lock | Verb::TryLock | Verb::Unlock => (0, "a lock has no data"),
            Verb::Barrier => (0, "a barrier has no data"),
            Verb::Control | Verb::Event | Verb::Thread => (0, "[assumed]"),
        }
    }

    fn ways(&self, verb: Verb) -> &'static [Submission] {
        match verb {
            Verb::Send => &[Submission::Pio, Submission::Dma],
            Verb::Put => &[Submission::Rendezvous, Submission::Dma],
            Verb::Get => &[Submission::Dma],
            Verb::Load | Verb::Store | Verb::FetchAdd => &[Submission::Pio],
            Verb::Lock | Verb::TryLock | Verb::Unlock | Verb::Barrier => &[Submission::Pio],
            Verb::Control | Verb::Event | Verb::Thread => &[],
        }
    }

    fn misses(&self, _: u32, _: &Offers) -> Option<&'static str> {
        (self.mtu < HANDSHAKE)
            .then_some("the NIC of Dawning 5000 asks in packets of 16 B, more than the MTU of this machine")
    }

    fn queues(&self, _: Submission) -> u32 {
        CHANNELS
    }

    fn senders(&self) -> Option<u32> {
        Some(self.peers)
    }

    fn hosts(&self, nodes: u32, clock: Clock, idle: IdleTimes, programs: Programs) -> Hosts {
        let settings = *self;
        let nic = move |place, processes| Nap::new(&settings, place, processes);
        Hosts::of(self.host, nodes, (clock, idle), programs, nic)
    }

    fn takes(&self, setup: &Setup) -> bool {
        Setup { barrier: None, ..setup.clone() }.is_usual()
    }

    fn has_barriers(&self) -> bool {
        true
    }

    fn seen_at(&self, operation: &Operation, network: Network<'_>) -> Option<Picos> {
        theory::seen_at(self, operation, network)
    }
}

impl Device for Nap {
    type Bus = HyperTransportSettings;
    type Event = NapEvent;
    type Content = Content;

    const SEES_WHILE_WAITING: bool = true;

    fn post(&mut self, cx: &mut NapContext<'_>, process: u8, post: &Post) -> Posting {
        match post.operation.verb {
            Verb::Send | Verb::Put | Verb::Get => self.post_descriptor(cx, process, post),
            Verb::Load | Verb::Store | Verb::FetchAdd => self.post_word(cx, process, post),
            Verb::Lock | Verb::TryLock | Verb::Unlock => self.post_word(cx, process, post),
            Verb::Barrier => self.post_barrier(cx, process, post),
            verb => panic!("operations are fitted to the NIC, which has no {verb:?}"),
        }
    }

    fn handle(&mut self, cx: &mut NapContext<'_>, event: NapEvent) {
        match event {
            NapEvent::Burst(process, bytes, descriptor) => self.burst(cx, process, bytes, descriptor),
            NapEvent::Queued(process, descriptor) => {
                let (peer, credits) = self.channels.queued(*descriptor);
                if credits > 0 {
                    self.bring_credits(cx, process, peer, credits);
                }
                self.schedule(cx);
            }
            NapEvent::Room(queue, count) => self.channels.has_room(cx, queue, count),
            NapEvent::Begins(engine) => self.begins(cx, engine),
            NapEvent::Hand(rail, packet) => self.hand(cx, rail, *packet),
            NapEvent::Dealt(from, content, payload) => self.dealt(cx, from, *content, payload),
            NapEvent::Freed(bytes) => self.freed(cx, bytes),
            NapEvent::Landed(to, data) => cx.memory.write(to, &data),
            NapEvent::Owed(process, peer, credits) => self.bring_credits(cx, process, peer, credits),
            NapEvent::Entries(process, count) => self.entries_free(cx, process, count),
            NapEvent::Words(due) => self.words_due(cx, due),
            NapEvent::Barrier(due) => self.barrier_due(cx, due),
        }
    }

    fn admit(&mut self, process: u8, setup: Setup) {
        assert!(self.settings.takes(&setup), "keys, valid addresses and interrupts are those of another NIC");
        self.barrier.admit(process, setup.barrier);
    }

    fn meets_as(&self) -> Option<BarrierId> {
        self.barrier.group()
    }

    fn released(&mut self, cx: &mut NapContext<'_>) {
        self.all_have_come(cx);
    }

    fn unanswered(&self) -> usize {
        self.barrier.waits_for_switches().into()
    }

    fn has_read(&mut self, cx: &mut NapContext<'_>, tag: u64) {
        match engine::Reader::of(tag) {
            engine::Reader::Engine(engine) => self.data_read(cx, engine),
            engine::Reader::Words(number) => self.word_read(cx, number),
        }
    }

    fn receive(&mut self, cx: &mut NapContext<'_>, delivery: &Delivery, content: Content) {
        self.take_in(cx, delivery, content);
    }

    fn sent(&mut self, cx: &mut NapContext<'_>, rail: RailId, number: u64) {
        self.has_left(cx, rail, number);
    }

    fn seen(&mut self, cx: &mut NapContext<'_>, process: u8, completion: &Completion) -> Seen {
        self.process_saw(cx, process, completion)
    }

    fn is_idle(&self) -> bool {
        let nics_are = self.channels.is_idle() && self.engines.is_idle() && self.rails.is_idle();
        nics_are
            && self.receive.is_idle()
            && self.words.is_idle()
            && self.locks.is_idle()
            && self.barrier.is_idle()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let NapCounts { descriptors, packets, lacked, credits, early, held, waited, locks, barriers } =
            self.counts;
        vec![
            ("descriptors of NAP channels", descriptors[0]),
            ("descriptors of MSG channels", descriptors[1]),
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
        ]
    }

    fn full(&self, at: Picos) -> Vec<(&'static str, u64)> {
        vec![
            ("DMA engines", self.engines.full(at)),
            ("wait for credits of a NAP channel", self.channels.lacked(at)),
            ("wait for words of a process", self.words.full(at)),
        ]
    }
}
