//! The NIC of TH Express-2 (th-express-2.txt, sections 2.2, 4.1 and 4.2.1, 4.2.2, 4.2.4).
//!
//! # The parts
//!
//! *Submission*: eight queues of descriptors on the chip (HDQ), and 32 in memory (SDQ) of which the chip keeps what it has
//! read. *Protocol engine*: units that carry out descriptors. *Connection management*: contexts of transfers that are reliable
//! from end to end. *Address translation cache* (ATC). *Network interface*. *Receive path*. A process has a queue of each kind
//! (an HDQ only if it is one of the first eight), a receive queue for mini-packets (MPQ) and one for events (EQ), both in its
//! memory.
//!
//! # What happens when
//!
//! 1. **Posting.** A descriptor has [`DESCRIPTOR`] bytes. *By HDQ* the processor waits until, as far as it knows, the queue
//!    has room, and writes the descriptor in bursts, one behind the other; the NIC has it when it has the last. *By SDQ* it
//!    waits likewise for the queue in memory, writes the descriptor there, which takes the time of a store, and rings the
//!    doorbell: a write of [`DOORBELL`] bytes.
//! 2. **Fetching.** A queue in memory of which the NIC knows descriptors that it has not read is read, if no read of it is
//!    under way and its group has room: a bus read, from the cache of the processors, of as many as are known, fit, and a
//!    fetch takes. Queues take turns: when one may be read the search begins behind the one that was read last. What has been
//!    read is in the memory of the group (4 queues each, in order), which all of its queues share, until a unit takes it.
//! 3. **Scheduling.** Whenever a unit is free and a descriptor is there it is taken: from the HDQs in order, the SDQs in
//!    order, and the requests of other nodes, round robin; by the free unit with the lowest number. Taking one from an HDQ, or
//!    the last of a fetch from memory, gives its room back: a posted write of [`POINTER`] bytes, which the process knows of
//!    when it is in memory.
//! 4. **Decoding** takes a fixed time. A descriptor that holds its data (a mini-packet, a put of up to `immediate` bytes) or
//!    asks for data (a get) makes one packet then; the unit takes the next descriptor an *interval* after it took this one,
//!    before it makes that packet if both have the same date. A get's packet has [`REQUEST`] bytes. Any other is a *transfer*;
//!    its unit takes the next descriptor when it has asked for all data of this one.
//! 5. **A transfer** reads its data from memory, in order, in requests that end where addresses are a multiple of their
//!    greatest size: as long as what is asked for and not sent on fits into the buffer of the unit. Before a request that fits
//!    and begins in another page than the one before, the page is translated. Packets are cut where addresses in the memory of
//!    the destination are a multiple of the MTU, and are there when their data are.
//! 6. **Sending.** The network interface takes packets of units, round robin, and hands each to a NIC port a fixed time later:
//!    to that of the next rail, in turn, which has, or gets, fewer than so many in its source queue. It waits if none has. A
//!    packet has been sent on when it is taken. What it carries is what memory has there when it reaches the NIC port, also if
//!    its descriptor holds its data; its lane is a random number. When all packets of an operation that wants it have left,
//!    its process gets an event.
//! 7. **Receiving.** A packet is drained out of the NIC port as soon as the receive buffer has room for its bytes, in the
//!    order of delivery. The fixed times of the interface and of parsing later it is dealt with:
//!    * *a mini-packet*: it gets an entry of the MPQ of its process, the address of the MPQ is translated, and the packet is
//!      written there with [`ENTRY_HEAD`] more bytes. When it is in memory its data are at their place, and the process sees
//!      it. If no entry is free it waits, and its data stay in the receive buffer; if it has waited for `hold` it is dropped
//!      (OQ-T7).
//!    * *data*: the page of the first byte is translated, and they are written. When all data of an operation have been, its
//!      process gets an event: the one here for a put, the one that asked for a get.
//!    * *a request*: it is another descriptor to schedule, a transfer. Requests have a memory of their own, without limit.
//!
//!    Room in the receive buffer is free when a write has left the chip, and that of a request when it is dealt with.
//! 8. **An event** gets an entry of the EQ of its process, waits and is dropped like a mini-packet, is translated like one,
//!    and is written: [`EVENT`] bytes. Who waits for entries gets them in the order in which they came.
//! 9. **A process that has seen** a quarter of the entries of its MPQ or EQ, rounded up, since it last did writes so to the
//!    NIC, in one burst of [`DOORBELL`] bytes which costs the processor nothing.
//! 10. **A translation** that is in the ATC takes no time. Another one is read from memory, [`TRANSLATION`] bytes; what asked
//!     waits, and so do a transfer's further requests; nothing else does. So many are read at a time, in the order of asking;
//!     when one is there the next is read, and then who waits for this one goes on, in the order of asking. The ATC is in
//!     sets, of which the page that was used least recently is replaced. Consecutive pages are in consecutive sets; those of
//!     each further process begin a sixty-fourth of the sets, and one, later. An MPQ is in page 2^40 of its process, an EQ in
//!     the one after.
//!
//! # Reliable operations
//!
//! 11. **A reliable operation** is a *transfer* from end to end. A get is two: the packet that asks, and the data that are
//!     asked for, which are a descriptor of the other node. What the two ends of a transfer say to each other, and why, stands
//!     in [`end_to_end`]; here stands when. A packet of a transfer has `overhead` more bytes, for its context, its number and a
//!     CRC. It ends where a page of the destination does, and has as much data as an MTU leaves it otherwise (instead of point
//!     5). A descriptor that holds its data, or asks for data, is one packet as in point 4. What is said is a packet of
//!     `control` bytes.
//! 12. **A sender context** is taken when a unit takes the descriptor. If none is free when a unit looks for one, it passes
//!     over all queues whose first descriptor is reliable, that of requests included; no other queue waits. A descriptor is
//!     counted when it is passed over first, also if the unit finds another one before it comes to that queue.
//!     When a context is free again units look.
//! 13. **Set-up.** When the descriptor is decoded SETUP is said, and then its packet is made or its data are asked for as in
//!     points 4 and 5. A packet that is there before the transfer is open waits, its data in the buffer of the unit. When it
//!     is open these can be sent, in order, behind what its unit has; later ones at once. A packet has gone out, as
//!     [`end_to_end`] says it, from when it can be sent. What is said is kept in one queue, in order. The network interface
//!     takes the first of what is said and a packet as in point 6 in turn, or what there is. A transfer that is refused, or
//!     given up, is *dropped* by its unit: its packets that wait are not sent, and their room in the buffer is free. The unit
//!     asks for no more of its data (if it waits for a translation, when that is known), which are all that it had to ask for
//!     then. Those that it has asked for are dropped when they are there.
//! 14. **Sending again.** With each NACK that has packets go out again that were not to, and when one that was refused is
//!     open, the transfer is put behind others in a queue. A unit of its own, which takes no descriptors and whose turn in the
//!     network interface is behind that of all others, takes packets of the first of them, the lowest number first, until it
//!     has no more; then it is taken out of the queue. A packet that needs no read can be sent at once. The data of another
//!     one are read, translated and kept as in point 5, in a buffer of its own; when all are asked for it takes the next
//!     packet. If the transfer is over when they come, they are dropped.
//! 15. **Receiving.** What is said is heard when it has been parsed, and then its room is free. If its CRC is wrong it says
//!     nothing. Data are accepted, or dropped and their room is free: then first a NACK is said if one is. Accepted ones go on
//!     as in point 7: a request is a descriptor, then DONE is said, and then its room is free. When all data of a put or of an
//!     answer have been written its process gets an event. DONE is said when the entry of a mini-packet or that event is in
//!     memory, just before its process begins to see it. One that has waited for an entry for `hold` is not dropped: it is
//!     refused, and NACK is said with *full*, and then its room is free. Of an event it is the packet that has been written
//!     last that comes again. If its transfer is over it is dropped.
//! 16. **Timers.** That of a sender begins when SETUP, ASK or a packet of the transfer reaches the NIC port, that of a receiver
//!     when SETUP, ASK or a packet for it has been parsed, and again when it has expired, each time before anything is said. A
//!     timer that does not run asks for a date, a time-out later; one that runs takes note. When the date comes it has expired,
//!     if it has not begun again since; otherwise it asks for the date a time-out after it began last. The time-out of a
//!     receiver is twice that of a sender. The n-th refusal in a row of a SETUP backs off for `back_off` · 2^(n - 1), the
//!     longest at most.
//! 17. **The end.** When DONE is heard RELEASE is said, the process gets the event that its operation has left, if it wants
//!     that, and units look for descriptors. So *left* means arrived. That event waits and is dropped as in point 8. When a
//!     sender gives up RELEASE is said, if it was open; its unit drops it, and units look for descriptors.
//!
//! # Collective operations
//!
//! Source: th-express-2.txt sections 4.2.3 and 5.2; mechanisms 2.7; OQ-T17, OQ-T18. Processes form a tree, and each posts a
//! *sequence*: descriptors of one queue, some of which wait for control packets. NICs carry it out while processors compute.
//!
//! 18. **A control packet** has no data and [`CONTROL`] bytes. When it has been parsed it is *kept* for its process, and its
//!     room is free. A put that *triggers* counts as one when memory has all of its data, and its process gets no event.
//! 19. **A descriptor that waits** for `n` control packets is passed over while it is the first of its queue and fewer are
//!     kept for its process; nothing else waits for it but what is behind it. When a unit takes it `n` are kept no longer,
//!     those that came first. So what comes before its descriptor is posted is not lost (OQ-T18). If the last of the `n` was
//!     kept after the descriptor came into its queue, the descriptor goes on with the story of that one. One that waits for
//!     none and *follows* goes on with the story of the descriptor before it in its queue, if that was taken later than this
//!     one came there. Units look for descriptors whenever a control packet is kept.
//! 20. **A collective descriptor** names further nodes, those behind its own. The unit that takes it carries it out for its own
//!     node, and then, whenever it would take the next descriptor, for the next of those nodes. A unit that has nodes left goes
//!     before all others. What left means is when the packets for all of them have.
//! 21. **An event descriptor** makes no packet: when it is decoded its process gets an event.
//!
//! Swaps are not modelled: a process knows its place in the tree and the buffers of its children.
//!
//! # Protection and interrupts
//!
//! Source: th-express-2.txt sections 2.2.2, 2.2.3 and 4.1; mechanisms 2.5, 2.6 and 2.9.
//!
//! 22. **The system software** has set up each process before the start ([`Setup`]): its *key*, its *valid* addresses, whether
//!     its operations name *physical* ones, and whether it waits by *interrupts*. Each packet but what is said has the key of
//!     the process that posted its operation. Data of an operation with physical addresses are read and written without a
//!     translation, at both ends.
//! 23. **A descriptor is illegal** if its addresses are not physical and not all data that are to be read for it from memory,
//!     or of a get are to come into it, are at valid addresses. It makes no packet, takes no context, and its unit takes the
//!     next as if it held its data; of a collective descriptor no further node has a part in it. When it is decoded its process
//!     gets an event, *failed*.
//! 24. **A packet is illegal** if its node has no process of that number, if its key is not that of the process, or if its
//!     addresses are not physical and the data that it brings, or asks for, are not all at valid addresses of that process. It
//!     is discarded when it has been parsed, also if it is of a transfer, whose receiver takes no note of it. One of a transfer
//!     that is corrupt is not looked at.
//! 25. **An error** is recorded in the queue of interrupts (INTQ) if that has a free entry. Then the packet is saved in the
//!     queue of error packets (EPQ), if that has a free entry too: it is written there with [`REQUEST`] bytes for what it says,
//!     and its room in the receive buffer is free when that has left the chip; otherwise it is free at once, before what
//!     follows. Then comes the record. Both queues are in memory, at physical addresses.
//! 26. **A record** is written, [`RECORD`] bytes, and behind it an interrupt, [`INTERRUPT`] bytes. When memory has that the
//!     system software handles it: one after the other, each for `interrupt`. When it has handled a quarter of the entries of
//!     the INTQ, rounded up, since it last did, it writes so to the NIC, a burst of [`DOORBELL`] bytes; then the same for the
//!     EPQ, of the packets that came with those records.
//! 27. **A process that sleeps** writes so to the NIC, in one burst of [`DOORBELL`] bytes which costs the processor nothing.
//!     When the NIC hears it, and an entry of the MPQ or EQ of the process has gone up the bus that it has not seen, there is a
//!     record for it; otherwise when the next one has, behind that. A record for a process that finds no entry of the INTQ free
//!     waits for one, without end. When it has been handled, after what that says of queues, the process goes on.
//!
//! Time that a packet waits for its transfer to be open, and from when its descriptor was decoded until it is taken to be sent
//! again, or until DONE is heard for the event that its operation has left, is that of the *connection*.
//!
//! What comes of something in no time comes at once, before whatever else has that date.

mod connection;
mod counts;
pub mod end_to_end;
mod engine;
mod receive;
mod submission;
mod system;
mod theory;

use crate::Place;
use crate::host::atc::{Atc, AtcCounts, AtcSettings, Look, Page};
use crate::host::bus;
use crate::host::memory::{Address, Memory};
use crate::host::pcie::PcieSettings;
use crate::host::program::{Completion, Operation, Program, Setup, Submission, Verb};
use crate::host::story::Story;
use crate::host::transfer::{Content, Header, Job};
use crate::host::{
    AnyHost, Context, Device, Host, HostSettings, Hosts, IdleTimes, Network, OnABus, Post, Posting, Programs,
    Seen, Surroundings,
};
pub use counts::ThCounts;

use connection::{Connections, Saying};
use end_to_end::{ContextUse, DataTag, Message};
use engine::Engine;
use flitway_engine::{Clock, Picos};
use flitway_fabric::Delivery;
use flitway_wiring::{NodeId, RailId};
use receive::{Incoming, Receive};
use submission::Submissions;
use system::{Record, System};

/// Bytes of a descriptor. Source: OQ-T8.
pub const DESCRIPTOR: u32 = 128;
/// Bytes of a doorbell.
pub const DOORBELL: u32 = 8;
/// Bytes of a pointer that the NIC writes for a process.
pub const POINTER: u32 = 8;
/// Bytes of an event.
pub const EVENT: u32 = 16;
/// Bytes of an entry of an MPQ beside the data of its packet. Source: OQ-T8, 120 + 8.
pub const ENTRY_HEAD: u32 = 8;
/// Bytes of the packet that asks for data: what a descriptor has beside immediate data. Source: OQ-T8, 96 + 32.
pub const REQUEST: u16 = 32;
/// Bytes of a translation in memory.
pub const TRANSLATION: u32 = 8;
/// Bytes of a record of the INTQ: a type, a source and a process. Source: P-TH-080; \[assumed\].
pub const RECORD: u32 = 16;
/// Bytes of an interrupt. Source: that of a message-signalled one.
pub const INTERRUPT: u32 = 4;
/// Bytes of a control packet: an address and a process, for swaps. Source: \[assumed\].
pub const CONTROL: u16 = 16;
/// The most data of a mini-packet in bytes. Source: P-TH-082.
pub const MINI_PACKET: u64 = 120;
/// The most data of a transfer in bytes: 128 MB. Source: P-TH-084.
pub const TRANSFER: u64 = 128_000_000;
/// Pages of the memory of a process from which on its MPQ and its EQ are; its data are below.
const MPQ_PAGE: u64 = 1 << 40;
const EQ_PAGE: u64 = MPQ_PAGE + 1;

/// The settings of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThSettings {
    /// The host that it is on.
    pub host: HostSettings<PcieSettings>,
    /// The time that a processor takes to write a descriptor into memory.
    pub store: Picos,
    /// Submission queues on the chip.
    pub hdqs: u32,
    /// Descriptors that each holds.
    pub hdq_depth: u32,
    /// Submission queues in memory: processes at most.
    pub sdqs: u32,
    /// Descriptors that each holds.
    pub sdq_depth: u32,
    /// Groups of them; a divisor.
    pub sdq_groups: u32,
    /// Descriptors read from memory that the chip keeps for each group.
    pub group_room: u32,
    /// Descriptors of a queue that are read at a time.
    pub fetch: u32,
    /// Units of the protocol engine.
    pub units: u32,
    /// The time of decoding a descriptor.
    pub decode: Picos,
    /// The time between two descriptors of a unit.
    pub interval: Picos,
    /// Bytes that a unit has asked for and not sent on; a read and an MTU at least.
    pub unit_buffer: u32,
    /// The most data of a put that its descriptor holds, in bytes.
    pub immediate: u32,
    /// The time of the network interface, to the NIC port.
    pub transmit: Picos,
    /// Packets in the source queue of a NIC port.
    pub port_packets: u32,
    /// The time of the network interface, from the NIC port.
    pub receive: Picos,
    /// The time of parsing.
    pub parse: Picos,
    /// Bytes of the receive buffer; an MTU at least.
    pub receive_buffer: u32,
    /// Entries of an MPQ.
    pub mpq: u32,
    /// Entries of an EQ.
    pub eq: u32,
    /// How long a packet or an event waits for an entry.
    pub hold: Picos,
    /// Entries of the INTQ, and of the EPQ: none if error packets are not saved.
    pub intq: u32,
    pub epq: u32,
    /// The time in which the system software handles an interrupt.
    pub interrupt: Picos,
    /// The address translation cache.
    pub atc: AtcSettings,
    /// What is reliable from end to end.
    pub end_to_end: EndToEndSettings,
    /// The most data of a packet in bytes: a power of two, [`MINI_PACKET`] at least and no more than a page.
    pub mtu: u32,
}

/// Settings of operations that are reliable from end to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndToEndSettings {
    /// Contexts of senders.
    pub senders: u32,
    /// Contexts of receivers.
    pub receivers: u32,
    /// The time-out of a sender; that of a receiver is twice as long.
    pub timeout: Picos,
    /// The first back-off of a sender that was refused a context, and the longest; each is twice the one before.
    pub back_off: [Picos; 2],
    /// After how many failures in a row an end gives up.
    pub tries: u32,
    /// Bytes of a packet without data.
    pub control: u32,
    /// Bytes of a packet with data for context, number and user-level CRC.
    pub overhead: u32,
}

/// What is due within the NIC.
#[derive(Debug)]
pub enum ThEvent {
    /// A processor has written a burst of a descriptor, or of its doorbell, of which so many bytes were left.
    Burst(Queue, Post, u32),
    /// A descriptor is in an HDQ.
    Written(u8, Post),
    /// A doorbell has been rung for an SDQ.
    Rung(u8),
    /// The room of so many descriptors of that queue is known to be free.
    Room(Queue, u32),
    /// A unit may take a descriptor.
    Ready(u8),
    /// A unit has decoded what it took.
    Decoded(u8, Job, Option<ContextUse>),
    /// A packet reaches the NIC port of a rail.
    Hand(RailId, Outbound),
    /// What is said reaches it.
    Say(RailId, Saying),
    /// A packet that was received has been parsed.
    Parsed(Box<Incoming>),
    /// So many bytes of the receive buffer are free.
    Freed(u32),
    /// Bytes are in memory.
    Landed(Address, Box<[u8]>),
    /// All data of an operation are there that count as a control packet for a process, and what it has spent until then.
    Triggers(u8, Story),
    /// The MPQ or EQ of a process is known to have so many more free entries.
    Seen(Rings, u8, u32),
    /// A process sleeps.
    Sleeps(u8),
    /// Memory has a record, and its interrupt.
    Interrupts(Record),
    /// The system software has handled a record.
    Handled(Record),
    /// The INTQ, or the EPQ, is known to have so many more free entries.
    Taken(SystemRings, u32),
    /// What waits for an entry gives up.
    GivesUp(Rings, u8, u64),
    /// The timer of a sender context may have expired.
    SenderTimer(ContextUse),
    /// The timer of a receiver context may have expired.
    ReceiverTimer(ContextUse),
    /// The back-off of a sender context is over.
    BackedOff(ContextUse),
    /// All data of the transfer of a receiver context are in memory, and its event.
    Finished(ContextUse),
}

/// A submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// On the chip.
    Hdq(u8),
    /// In memory.
    Sdq(u8),
}

/// A queue in the memory of a process that the NIC fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rings {
    /// Of mini-packets.
    Mpq,
    /// Of events.
    Eq,
}

/// A queue in memory that all processes share, and that the system software reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemRings {
    /// Of records of interrupts.
    Intq,
    /// Of error packets.
    Epq,
}

/// A packet on its way to a NIC port.
#[derive(Clone, Copy, Debug)]
pub struct Outbound {
    /// To whom.
    pub to: NodeId,
    /// Data in bytes.
    pub payload: u16,
    /// It is the last of its operation.
    pub is_last: bool,
    /// Its data are in the buffer of a unit.
    pub is_buffered: bool,
    /// Its process wants to know when all have left.
    pub tells_left: bool,
    /// What it says; its bytes are read when it is handed to the NIC port.
    pub header: Header,
    /// What names it, and its context, if its transfer is reliable and open.
    pub tag: Option<DataTag>,
    /// The same.
    pub sender: Option<ContextUse>,
}

/// What a packet of this NIC is.
#[derive(Debug)]
pub enum Parcel {
    /// Data, or a request, and what names it if its transfer is reliable.
    Data(Box<Content>, Option<DataTag>),
    /// What one end of a reliable transfer says to the other.
    Said(Message),
}

/// What reads are for: it is in the low bits of their tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Descriptors(u8),
    Data(u8),
    Translation(Page),
}

impl Purpose {
    fn tag(self) -> u64 {
        match self {
            Purpose::Descriptors(queue) => u64::from(queue) << 2,
            Purpose::Data(unit) => u64::from(unit) << 2 | 1,
            Purpose::Translation((process, page)) => page << 10 | u64::from(process) << 2 | 2,
        }
    }

    fn of(tag: u64) -> Self {
        let low = (tag >> 2) as u8;
        match tag & 3 {
            0 => Purpose::Descriptors(low),
            1 => Purpose::Data(low),
            _ => Purpose::Translation((low, tag >> 10)),
        }
    }
}

/// Who waits for a translation.
#[derive(Debug)]
enum Waiter {
    /// A transfer.
    Unit(u8),
    /// A packet or an event.
    Write(Box<receive::Write>),
}

/// The NIC of TH Express-2.
#[derive(Debug)]
pub struct Th {
    settings: ThSettings,
    node: NodeId,
    submissions: Submissions,
    engine: Engine,
    receive: Receive,
    atc: Atc<Waiter>,
    connections: Connections,
    system: System,
    counts: ThCounts,
}

type ThContext<'a> = Context<'a, Th>;

impl Th {
    /// The NIC of the node that `place` names.
    #[must_use]
    pub fn new(settings: &ThSettings, place: Place, processes: usize) -> Self {
        Th {
            settings: *settings,
            node: place.node,
            submissions: Submissions::new(settings, processes),
            engine: Engine::new(settings, place),
            receive: Receive::new(settings, processes),
            atc: Atc::new(settings.atc),
            connections: Connections::new(&settings.end_to_end),
            system: System::new(settings, processes),
            counts: ThCounts::default(),
        }
    }

    /// A host with one of them, and a processor for each of `programs`.
    #[must_use]
    pub fn host(
        settings: &ThSettings,
        place: Place,
        memory: Memory,
        programs: Vec<Box<dyn Program>>,
        surroundings: Surroundings<Parcel>,
    ) -> Box<dyn AnyHost> {
        let nic = Th::new(settings, place, programs.len());
        Box::new(Host::new(place, settings.host, nic, memory, programs, surroundings))
    }

    /// Looks for the translation of `page`, and reads it if it must.
    fn translate(&mut self, cx: &mut ThContext<'_>, page: Page, waiter: impl FnOnce() -> Waiter) -> Look {
        let look = self.atc.look(page, waiter);
        if look == (Look::Miss { reads: true }) {
            self.read_translation(cx, page);
        }
        look
    }

    fn read_translation(&self, cx: &mut ThContext<'_>, page: Page) {
        let tag = Purpose::Translation(page).tag();
        cx.read(bus::Read { tag, bytes: TRANSLATION, place: bus::Place::Memory });
    }

    /// A translation is there.
    fn translated(&mut self, cx: &mut ThContext<'_>, page: Page) {
        let (waiters, next) = self.atc.fill(page);
        if let Some(page) = next {
            self.read_translation(cx, page);
        }
        for waiter in waiters {
            match waiter {
                Waiter::Unit(unit) => self.page_known(cx, unit),
                Waiter::Write(write) => self.write(cx, *write),
            }
        }
    }
}

impl OnABus for ThSettings {
    fn most(&self, verb: Verb) -> (u64, &'static str) {
        match verb {
            Verb::Send => (MINI_PACKET, "th-express-2.txt section 4.2.1"),
            Verb::Control | Verb::Event => (0, "th-express-2.txt section 4.2.3"),
            _ => (TRANSFER, "th-express-2.txt section 4.2.2"),
        }
    }

    fn ways(&self, verb: Verb) -> &'static [Submission] {
        match verb {
            Verb::Send | Verb::Put | Verb::Get | Verb::Control | Verb::Event => {
                &[Submission::Hdq, Submission::Sdq]
            }
            Verb::Load | Verb::Store | Verb::FetchAdd | Verb::Thread => &[],
            Verb::Lock | Verb::TryLock | Verb::Unlock | Verb::Barrier => &[],
        }
    }

    fn queues(&self, by: Submission) -> u32 {
        match by {
            Submission::Hdq => self.hdqs,
            Submission::Sdq => self.sdqs,
            Submission::Sten | Submission::Dma | Submission::Pio | Submission::Rendezvous => 0,
        }
    }

    fn has_reliable(&self) -> bool {
        true
    }

    fn takes(&self, setup: &Setup) -> bool {
        !setup.is_on_demand && setup.barrier.is_none()
    }

    fn wakes_in(&self) -> Option<Picos> {
        Some(theory::wakes_in(self))
    }

    fn has_collectives(&self) -> bool {
        true
    }

    fn hosts(&self, nodes: u32, clock: Clock, idle: IdleTimes, programs: Programs) -> Hosts {
        let settings = *self;
        let nic = move |place, processes| Th::new(&settings, place, processes);
        Hosts::of(self.host, nodes, (clock, idle), programs, nic)
    }

    fn seen_at(&self, operation: &Operation, network: Network<'_>) -> Option<Picos> {
        theory::seen_at(self, operation, network)
    }
}

impl Device for Th {
    type Bus = PcieSettings;
    type Event = ThEvent;
    type Content = Parcel;

    fn post(&mut self, cx: &mut ThContext<'_>, process: u8, post: &Post) -> Posting {
        self.submissions.post(cx, process, post, &self.settings)
    }

    fn admit(&mut self, process: u8, setup: Setup) {
        assert!(self.settings.takes(&setup), "that is of another NIC");
        self.system.admit(process, setup);
    }

    fn sleeps(&mut self, cx: &mut ThContext<'_>, process: u8) {
        let there = cx.bus.write(cx.at, DOORBELL);
        cx.ask(there, ThEvent::Sleeps(process));
    }

    fn handle(&mut self, cx: &mut ThContext<'_>, event: ThEvent) {
        match event {
            ThEvent::Burst(queue, post, left) => self.submissions.burst(cx, queue, post, left),
            ThEvent::Written(queue, post) => {
                self.submissions.written(queue, post);
                self.schedule(cx);
            }
            ThEvent::Rung(queue) => {
                self.submissions.rung(queue);
                self.fetch(cx);
            }
            ThEvent::Room(queue, count) => self.submissions.has_room(cx, queue, count),
            ThEvent::Ready(unit) => {
                self.engine.free(cx.at, unit);
                self.schedule(cx);
            }
            ThEvent::Decoded(unit, job, sender) => self.decoded(cx, unit, job, sender),
            ThEvent::Hand(rail, packet) => self.hand(cx, rail, packet),
            ThEvent::Say(rail, saying) => self.hand_saying(cx, rail, saying),
            ThEvent::Parsed(incoming) => self.parsed(cx, *incoming),
            ThEvent::Landed(to, data) => cx.memory.write(to, &data),
            ThEvent::Triggers(process, story) => {
                self.keep(process, story);
                self.schedule(cx);
            }
            ThEvent::Freed(bytes) => self.freed(cx, bytes),
            ThEvent::Seen(ring, process, entries) => self.entries_free(cx, ring, process, entries),
            ThEvent::GivesUp(ring, process, number) => self.gives_up(cx, ring, process, number),
            ThEvent::Sleeps(process) => self.process_sleeps(cx, process),
            ThEvent::Interrupts(record) => self.interrupts(cx, record),
            ThEvent::Handled(record) => self.handled(cx, record),
            ThEvent::Taken(ring, entries) => self.taken(cx, ring, entries),
            ThEvent::SenderTimer(sender) => self.sender_due(cx, sender),
            ThEvent::ReceiverTimer(receiver) => self.receiver_due(cx, receiver),
            ThEvent::BackedOff(sender) => self.backed_off(cx, sender),
            ThEvent::Finished(receiver) => self.finished(cx, receiver),
        }
    }

    fn has_read(&mut self, cx: &mut ThContext<'_>, tag: u64) {
        match Purpose::of(tag) {
            Purpose::Descriptors(queue) => {
                self.submissions.fetched(cx.at, queue);
                self.schedule(cx);
                self.fetch(cx);
            }
            Purpose::Data(unit) => self.data_read(cx, unit),
            Purpose::Translation(page) => self.translated(cx, page),
        }
    }

    fn receive(&mut self, cx: &mut ThContext<'_>, delivery: &Delivery, parcel: Parcel) {
        self.take_in(cx, delivery, parcel);
    }

    fn sent(&mut self, cx: &mut ThContext<'_>, rail: RailId, number: u64) {
        self.has_left(cx, rail, number);
    }

    fn seen(&mut self, cx: &mut ThContext<'_>, process: u8, _: &Completion) -> Seen {
        self.process_saw(cx, process);
        Seen::Program
    }

    fn is_idle(&self) -> bool {
        let is_idle = self.submissions.is_idle() && self.engine.is_idle() && self.receive.is_idle();
        is_idle && self.atc.is_idle() && self.connections.is_idle() && self.system.is_idle()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let AtcCounts { hits, misses, replaced } = self.atc.counts();
        let mut all = self.counts.named().to_vec();
        all.extend([
            ("translations in the ATC", hits),
            ("translations read from memory", misses),
            ("translations replaced", replaced),
        ]);
        all.extend(self.connections.counts.named());
        all
    }

    fn full(&self, at: Picos) -> Vec<(&'static str, u64)> {
        vec![("units of the protocol engine", self.engine.full(at))]
    }
}
