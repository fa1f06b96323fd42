//! Elan4, the NIC of QsNetII (qsnet2.txt, "Elan4"; mechanisms 3.2 to 3.7).
//!
//! # The parts
//!
//! A *command queue* for each process, a ring in the memory of the NIC (SDRAM) that the process appends to by writing to a page
//! of the bus. The *command processor*, which takes commands out of them. The *short transaction engine* (STEN), which makes
//! packets of commands. The *DMA engine*: a run queue of descriptors, a prefetcher, two packet assemblers. The *input
//! processor*, which carries out what packets say. An *input queue* for each process, a ring in SDRAM of `slots` slots that
//! have a message each. The *event processor*. Two *translation buffers* (TLB), one for addresses that the DMA engine reads,
//! one for those that the input processor writes. The bus is `pci_x`; what a processor does is said in `host`.
//!
//! # What happens when
//!
//! Names in code font are settings ([`ElanSettings`]). Commands and data are in bytes; times are in picoseconds.
//!
//! 1. **Commands.** A put by STEN is cut into packets that end where addresses in the memory of the destination are a multiple
//!    of `sten_packet`; the commands of each are [`COMMANDS`] and its data, rounded up to words of [`WORD`]. A send is one
//!    packet, whose commands are as long, of `sten_packet` at most: the longest message. A get is one packet, with a
//!    descriptor: [`COMMANDS`] and [`DESCRIPTOR`]. A put by DMA is one command, its descriptor.
//! 2. **Posting.** The processor writes the commands of an operation in their order, in bursts of `bus.burst` (the last of an
//!    operation may have less), one behind the other, each of which takes it `bus.burst_time`; a burst goes over the bus when
//!    it has been written. Before each it waits until, as far as it knows, the queue has room for it. It knows at once what it
//!    takes itself. For a put by DMA it waits for room for the descriptor, and is then busy for `issue`; its bursts are the
//!    last part of that. A command is in the queue when the last burst that has a part of it has reached the NIC.
//! 3. **Command processor.** When it is free it takes the first command (all the commands of a packet are one) of a queue:
//!    queues take turns, and the search begins behind the one from which it took last. A queue whose first command is a packet
//!    is passed over while `window` packets that were taken from it have not been answered. It is free again after `word_time`
//!    for each word of the command, begun ones too.
//! 4. **STEN.** A packet reaches its NIC port `command + form` after its command was taken. It is *answered* when the NIC port
//!    says so, that of a send when the other NIC has accepted it (13). What the network refuses the NIC port sends again by
//!    itself.
//! 5. **Room.** Commands of a packet are free when it has been answered, a descriptor when it is taken. Whenever a quarter of
//!    the queue or more has become free since it last did, the NIC writes so into memory: [`POINTER`] bytes. When memory has
//!    them the process knows of it, in no time.
//! 6. **DMA engine.** A descriptor is in the run queue `command` after it was taken; one that a get has brought, `command`
//!    after the input processor has dealt with its packet. The prefetcher takes the first when it has none and an assembler is
//!    free, which the descriptor has from then on; it begins `start` later. It reads the data in order, in reads that end where
//!    addresses are a multiple of the greatest read of the bus, as long as what has been asked for and is not in a packet fits
//!    into `dma_buffer`. Before a read that fits and is the first of its descriptor, or begins in another page than the one
//!    before, the page is translated. When it has asked for all data it has none.
//! 7. **Assemblers.** Whenever fewer than `port_packets` packets of the DMA engine are on their way to the NIC port or in its
//!    source queue, and data of a descriptor are there that are in no packet, they become one, of the descriptor that came
//!    first: all that are there, but none beyond where the address at the destination is a multiple of the MTU. It reaches the
//!    NIC port `form` later. The assembler is free when the last data are in a packet.
//! 8. **What packets carry** is what memory has there when they reach the NIC port. Their lane is a random number.
//! 9. **Receiving.** A packet is drained out of the NIC port as soon as the input buffer has room for its bytes, in the order
//!    of delivery. `input` later the input processor deals with it:
//!    * *data*: the page of the first byte is translated, and they are written, in writes of at most that of the bus. When
//!      writes of all data of an operation have been asked for, its event is set: the one here for a put, the one of the
//!      process that asked for a get. Its word goes over the bus after them.
//!    * *a descriptor*: see 6. Descriptors have a memory of their own, without limit.
//!    * *a message*, and what another NIC *says* of one: see 13.
//!
//!    Room in the input buffer is free when the last write has left the chip, and that of anything else when it is dealt with,
//!    after what comes of a descriptor and before what comes of the others.
//! 10. **Events.** The event processor takes `event` for each, one after the other in the order in which they are set. Then it
//!     writes a word of [`EVENT`] bytes into memory, which the process polls. When all packets of an operation that wants it
//!     have been answered, an event is set for its own process: its data may be overwritten.
//! 11. **Translation.** One that a TLB has takes no time. Another one takes `walk`, to find it in the hash table in SDRAM; what
//!     asked waits, and so do further reads of the prefetcher; nothing else does. So many are sought at a time by each TLB, in
//!     the order of asking. When one has been found who waits for it goes on, in the order of asking, and then the next is
//!     sought. Any page can be anywhere in a TLB; the one that was used least recently is replaced. Words of events need none.
//! 12. **Stories.** A packet of the DMA engine goes on with that of the last of its data, and waits for room from when it has
//!     been read. What a process is told of that has left goes on with the packet that was answered last, which was in the NIC
//!     port until then.
//! 13. **Messages.** The first time that a send reaches its NIC port it takes what memory has there. If the input processor of
//!     the other node knows of a free slot in the queue of the process, the message has it, and is *accepted*; otherwise it is
//!     *refused*. That is said to its source by a packet of [`VERDICT`] bytes that reaches the NIC port `form` later. Then, if
//!     it is accepted, the event of the queue is set: when it fires the message goes over the bus with the word, as one.
//!     When the source deals with the packet that says so, an accepted send is answered. A refused one is made again of its
//!     commands, which stay in the queue, as it was: it reaches the NIC port `form` later, from the refusal after the first
//!     `repeats` on `back_off` after that. It does not end to be under way meanwhile, so only the queue that it is in waits;
//!     another send can overtake it.
//! 14. **Slots.** When a process has found a message it copies it to its place, which takes `copy` for each word, begun ones
//!     too. Then the message has been seen, and its slot is free. When the process has seen a quarter of the slots, rounded up,
//!     since it last did, it writes so to the NIC: a burst of [`POINTER`] bytes, which costs the processor nothing.
//! 15. **The story** of a send that is made again passes as *connection* from when it reached the NIC port until it does so
//!     again; that of one that has been accepted was in the NIC port until then.
//!
//! 16. **Counted events.** A process has set up events before the start, each with a count and a *block* of commands in SDRAM,
//!     of up to [`BLOCK`] bytes and no more than a command queue: packets of STEN. Data of a put that names one come into its
//!     block, in SDRAM, when the input processor deals with them: over no bus, to no page, and their room is free before. When
//!     all data of the put are there the event is set, and its process is not told. Each time that it has been set as often as
//!     its count it fires. The event processor takes `event` for it as for others, and, when it fires, `event_copy` more for
//!     each word of the block. Then the block is copied.
//! 17. **Chains.** Blocks are copied into another command queue, which each process has for its events: those of all processes
//!     come behind those of point 3. A block that finds no room for all of it, or others that wait, waits for room; room is
//!     free when that of point 5 is, without a word to the process. The operations of a block are numbered from 2^63 on, in
//!     the order in which blocks are copied, and go on with the story of the data that were there last.
//!
//! The thread processor: points 18 to 26, in the header of `thread`. Faults and errors: points 27 to 31, in that of `system`.
//!
//! What comes of something in no time comes at once, before whatever else has that date; what takes a time that is none is due
//! at that date like anything else. Where several things come of one, they come in the order in which the points above name
//! them.

mod command;
mod dma;
mod event;
mod message;
mod on_a_bus;
mod receive;
mod system;
mod theory;
mod thread;

use crate::Place;
use crate::host::atc::{Atc, AtcCounts, AtcSettings, Look, Page};
use crate::host::memory::Address;
use crate::host::pci_x::PciXSettings;
use crate::host::program::{Completion, CompletionKind, CountedEvent, Setup};
use crate::host::story::Story;
use crate::host::thread::{Thread, ThreadFault};
use crate::host::transfer::{Carries, Content, Departures, Header, Job};
use crate::host::{Context, Device, HostSettings, OnABus as _, Post, Posting, Seen};
use command::Commands;
use dma::Dma;
use event::Counted;
use flitway_engine::Picos;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::Delivery;
use flitway_wiring::{NodeId, RailId};
use message::{Firing, Message, Messages, Sending, Verdict};
use receive::{Incoming, Receive};
use std::collections::BTreeMap;
use system::{Fault, System};
use thread::{Item, Threads};

pub use system::{ENTRY, INTERRUPT};
pub use thread::{REFUSALS, ThreadSettings};

/// Bytes of the commands of a packet beside its data: to begin it, what is done at the destination, the address there, and
/// the event. Source: \[assumed\], four words.
pub const COMMANDS: u32 = 32;
/// Bytes of a word: data of a packet are whole ones.
pub const WORD: u32 = 8;
/// Bytes of a DMA descriptor. Source: \[assumed\], eight words.
pub const DESCRIPTOR: u32 = 64;
/// Bytes in which the NIC tells of room in a command queue. Source: \[assumed\], a word.
pub const POINTER: u32 = 8;
/// Bytes of an event in memory. Source: \[assumed\], a word.
pub const EVENT: u32 = 8;
/// Bytes of the packet that says whether a message has been accepted. Source: \[assumed\], a word.
pub const VERDICT: u16 = 8;
/// Bytes of the block that an event copies at most. Source: P-QS-047.
pub const BLOCK: u64 = 2048;
/// The number of the first operation of a process that an event starts.
pub const STARTED: u64 = 1 << 63;
/// The most data of a put or a get in bytes. Source: \[assumed\], 31 bits.
pub const TRANSFER: u64 = 1 << 31;
/// Command queues: as many as the NIC keeps the heads of. Source: P-QS-039.
pub const QUEUES: u32 = 8000;

/// The settings of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElanSettings {
    /// The host that it is on.
    pub host: HostSettings<PciXSettings>,
    /// The time for which a processor is busy with a put by DMA, until the descriptor has been written.
    pub issue: Picos,
    /// Bytes of a command queue: the commands of a packet and a quarter more at least.
    pub queue: u32,
    /// The time of a command through an empty queue.
    pub command: Picos,
    /// The time of the command processor for each word.
    pub word_time: Picos,
    /// The time from a command, or data, to the packet at the NIC port.
    pub form: Picos,
    /// The most data of a packet of STEN in bytes, a power of two.
    pub sten_packet: u32,
    /// Packets of a command queue that have not been answered at most.
    pub window: u32,
    /// Packet assemblers.
    pub assemblers: u32,
    /// The time from when the prefetcher takes a descriptor until it reads.
    pub start: Picos,
    /// Bytes that have been asked for and are in no packet; a read at least.
    pub dma_buffer: u32,
    /// Packets of the DMA engine in the source queue of the NIC port, or on their way there.
    pub port_packets: u32,
    /// The time of the input processor.
    pub input: Picos,
    /// Bytes of the input buffer; an MTU at least.
    pub input_buffer: u32,
    /// The time of the event processor for each event.
    pub event: Picos,
    /// The time in which it copies a word of a block into a command queue.
    pub event_copy: Picos,
    /// Slots of an input queue, each of which has a message of up to `sten_packet`.
    pub slots: u32,
    /// The time in which a process copies a word of a message to its place.
    pub copy: Picos,
    /// Refusals of a message after which it is sent again at once.
    pub repeats: u32,
    /// What it waits for after further ones.
    pub back_off: Picos,
    /// The thread processor.
    pub thread: ThreadSettings,
    /// The time in which a processor takes an interrupt, without copies.
    pub interrupt: Picos,
    /// A translation buffer: there are two.
    pub tlb: AtcSettings,
    /// The time to find a translation in the hash table, or that there is none.
    pub walk: Picos,
    /// The time in which a processor deals with a fault of a translation.
    pub fault: Picos,
    /// The most data of a packet in bytes: a power of two, and no more than a page.
    pub mtu: u32,
}

/// What is due within the NIC.
#[derive(Debug)]
pub enum ElanEvent {
    /// A processor has written a burst of so many bytes, with the last part of these commands.
    Burst(u8, u32, Vec<Command>),
    /// Commands are in the queue of a process.
    Queued(u8, Vec<Command>),
    /// The command processor is free.
    Ready,
    /// A process knows of so many more free bytes of its queue.
    Room(u8, u32),
    /// A descriptor is in the run queue of the DMA engine.
    Runs(Job),
    /// The prefetcher begins to read, behind so many bytes.
    Begins(Job, u64),
    /// A packet reaches the NIC port.
    Hand(Outbound),
    /// A send that has been refused reaches the NIC port again.
    Again(Box<Sending>),
    /// What is said of a message reaches the NIC port.
    Say(NodeId, Verdict),
    /// The input processor deals with a packet.
    Dealt(Box<Incoming>),
    /// So many bytes of the input buffer are free.
    Freed(u32),
    /// Bytes are in memory.
    Landed(Address, Box<[u8]>),
    /// An event of a process fires.
    Fires(u8, Firing),
    /// The block of a counted event of a process has been copied; the story until then.
    Copied(u8, u16, Box<Story>),
    /// A command for a thread is in its queue.
    Started(Job),
    /// Something else is in the queue of the thread of a process.
    Item(u8, Box<Item>),
    /// The thread processor has the thread that it has taken.
    Turn,
    /// Its thread comes to the end of a run.
    Acts,
    /// The NIC has been told that so many slots of a process are free.
    Emptied(u8, u32),
    /// A walk for a translation is over.
    Found(Side, Page),
    /// The driver has told the NIC what becomes of a fault.
    Handled(Box<Fault>),
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// What it is.
    what: Order,
    /// Bytes that it takes in its queue.
    bytes: u32,
}

/// What a command says.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// A packet is made.
    Packet(Outbound),
    /// The DMA engine has to do this.
    Descriptor(Job),
    /// The thread of its process is told.
    Start(Job),
}

/// A packet on its way to the NIC port.
#[derive(Clone, Copy, Debug)]
pub struct Outbound {
    /// Who made it.
    maker: Maker,
    to: NodeId,
    /// Data in bytes.
    payload: u16,
    /// It is the last of its operation.
    is_last: bool,
    /// Its process wants to know when all have been answered.
    tells_left: bool,
    /// What it says; its bytes are read when it is handed to the NIC port.
    header: Header,
}

/// The content of a packet.
#[derive(Debug)]
pub enum Parcel {
    /// Data, or a descriptor.
    Data(Box<Content>),
    /// What a NIC says of a message that has come.
    Said(Verdict),
}

/// What has made a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    /// STEN, of commands of so many bytes in that command queue.
    Sten(u16, u32),
    /// The DMA engine.
    Dma,
    /// A send, or what is said of one: the answer of the network to it changes nothing.
    Message,
}

/// Whose addresses a translation buffer translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Those that the DMA engine reads.
    Dma,
    /// Those that the input processor writes.
    Input,
}

/// Who waits for a translation.
#[derive(Debug)]
enum Waiter {
    Prefetcher,
    Write(Box<receive::Write>),
}

/// What a NIC has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElanCounts {
    /// Packets made by STEN, and by the DMA engine.
    pub packets: [u64; 2],
    /// Descriptors of the DMA engine, and those of them that gets of other nodes have brought.
    pub descriptors: [u64; 2],
    /// Packets that waited in the NIC port for room in the input buffer.
    pub held: u64,
    /// Events.
    pub events: u64,
    /// Counted events that fired.
    pub fired: u64,
    /// Blocks that waited for room in a command queue.
    pub blocks_waited: u64,
    /// Messages that were accepted here, and that were refused.
    pub messages: [u64; 2],
    /// Sends of this node that were made again.
    pub again: u64,
    /// Times that the thread processor has taken a thread.
    pub switches: u64,
    /// What programs of threads have counted.
    pub counted: u64,
    /// Messages that threads have refused.
    pub refused_by_threads: u64,
    /// Messages and commands for threads that there are not.
    pub dropped: u64,
    /// Sends of this node that were given up.
    pub given_up: u64,
    /// Threads that could not go on.
    pub faults: u64,
    /// Faults of translations, by [`Side`].
    pub page_faults: [u64; 2],
    /// Of those, faults of addresses that are not valid.
    pub illegal: u64,
    /// Commands dropped, as their queue is in error.
    pub commands_dropped: u64,
}

/// Elan4.
#[derive(Debug)]
pub struct Elan4 {
    settings: ElanSettings,
    commands: Commands,
    dma: Dma,
    receive: Receive,
    messages: Messages,
    counted: Counted,
    threads: Threads,
    system: System,
    /// By [`Side`].
    tlbs: [Atc<Waiter>; 2],
    lanes: Stream,
    /// Packets in the network, by the number of their content.
    under_way: BTreeMap<u64, Maker>,
    leaving: Departures,
    counts: ElanCounts,
}

type ElanContext<'a> = Context<'a, Elan4>;

impl Elan4 {
    /// The NIC of the node that `place` names.
    #[must_use]
    pub fn new(settings: &ElanSettings, place: Place, processes: usize) -> Self {
        Elan4 {
            settings: *settings,
            commands: Commands::new(settings, processes),
            dma: Dma::default(),
            receive: Receive::new(settings),
            messages: Messages::new(settings, processes),
            counted: Counted::new(processes),
            threads: Threads::new(processes, settings.slots),
            system: System::new(processes),
            tlbs: [Atc::new(settings.tlb), Atc::new(settings.tlb)],
            lanes: Stream::new(place.seed, place.node.0.into(), Purpose::Lane),
            under_way: BTreeMap::new(),
            leaving: Departures::default(),
            counts: ElanCounts::default(),
        }
    }

    /// A packet reaches the NIC port.
    fn hand(&mut self, cx: &mut ElanContext<'_>, packet: &Outbound) {
        let Outbound { maker, to, payload, is_last, tells_left, header } = *packet;
        self.counts.packets[usize::from(maker == Maker::Dma)] += 1;
        let (process, byte) = header.from;
        let data = match header.what {
            Carries::Request => None,
            Carries::Mini if let Some(data) = self.threads.take_data(&header) => Some(data),
            _ => cx.memory.read(Address { process, byte }, header.bytes),
        };
        if header.what == Carries::Mini {
            return self.send(cx, Sending::new(*packet, data));
        }
        let number = self.send_on(cx, maker, to, payload, Parcel::Data(Box::new(Content { header, data })));
        if tells_left {
            self.leaving.hand(number, &header, is_last);
        }
    }

    /// A packet of `maker` is in the NIC port: the number of its content.
    fn send_on(
        &mut self,
        cx: &mut ElanContext<'_>,
        maker: Maker,
        to: NodeId,
        payload: u16,
        parcel: Parcel,
    ) -> u64 {
        let lane = self.lanes.bits() as u32;
        let number = cx.send(to, RailId(0), lane, payload, parcel);
        self.under_way.insert(number, maker);
        number
    }

    /// A packet that STEN made of so many bytes of that command queue has been answered.
    fn sten_answered(&mut self, cx: &mut ElanContext<'_>, queue: u16, bytes: u32) {
        self.commands.answered(cx.at, queue);
        self.work(cx);
        self.commands.give_back(cx, queue, bytes);
        self.work(cx);
    }

    /// Looks for the translation of `page`, and seeks it if it must.
    fn translate(
        &mut self,
        cx: &mut ElanContext<'_>,
        side: Side,
        page: Page,
        waiter: impl FnOnce() -> Waiter,
    ) -> Look {
        let look = self.tlbs[side as usize].look(page, waiter);
        let reads = look == Look::Miss { reads: true };
        self.walk(cx, side, reads.then_some(page));
        look
    }

    /// A walk is over: the translation has been found, or there is none.
    fn found(&mut self, cx: &mut ElanContext<'_>, side: Side, page: Page) {
        if !self.system.has(page, self.settings.tlb.page) {
            return self.fault(cx, side, page);
        }
        let (waiters, next) = self.tlbs[side as usize].fill(page);
        for waiter in waiters {
            match waiter {
                Waiter::Prefetcher => self.page_known(cx),
                Waiter::Write(write) => self.write(cx, *write),
            }
        }
        self.walk(cx, side, next);
    }

    /// The translation of a page is sought, if there is one to be.
    fn walk(&self, cx: &mut ElanContext<'_>, side: Side, page: Option<Page>) {
        if let Some(page) = page {
            cx.ask(self.after(cx, self.settings.walk), ElanEvent::Found(side, page));
        }
    }

    /// So much later than now.
    fn after(&self, cx: &ElanContext<'_>, time: Picos) -> Picos {
        Picos(cx.at.0 + time.0)
    }
}

impl Command {
    fn story_mut(&mut self) -> &mut Story {
        match &mut self.what {
            Order::Packet(packet) => &mut packet.header.story,
            Order::Descriptor(job) | Order::Start(job) => &mut job.story,
        }
    }
}

impl Device for Elan4 {
    type Bus = PciXSettings;
    type Event = ElanEvent;
    type Content = Parcel;

    fn post(&mut self, cx: &mut ElanContext<'_>, process: u8, post: &Post) -> Posting {
        self.commands.post(cx, process, post, &self.settings)
    }

    fn set_up(&mut self, process: u8, events: Vec<CountedEvent>, thread: Option<Thread>) {
        self.counted.set_up(process, events, &self.settings);
        if let Some(thread) = thread {
            self.threads.set_up(process, thread);
        }
    }

    fn admit(&mut self, process: u8, setup: Setup) {
        assert!(self.settings.takes(&setup), "that is of another NIC, or of TLBs that miss");
        self.system.admit(process, setup);
    }

    fn handle(&mut self, cx: &mut ElanContext<'_>, event: ElanEvent) {
        match event {
            ElanEvent::Burst(process, bytes, commands) => command::burst(cx, process, bytes, commands),
            ElanEvent::Queued(process, commands) => self.queued(cx, process, commands),
            ElanEvent::Ready => {
                self.commands.free();
                self.work(cx);
            }
            ElanEvent::Room(process, bytes) => self.commands.has_room(cx, process, bytes),
            ElanEvent::Runs(job) => self.runs(cx, job),
            ElanEvent::Begins(job, first) => self.begins(cx, job, first),
            ElanEvent::Hand(packet) => self.hand(cx, &packet),
            ElanEvent::Again(sending) => self.send_again(cx, *sending),
            ElanEvent::Say(to, verdict) => self.say(cx, to, verdict),
            ElanEvent::Dealt(incoming) => self.dealt(cx, *incoming),
            ElanEvent::Freed(bytes) => self.freed(cx, bytes),
            ElanEvent::Landed(to, data) => cx.memory.write(to, &data),
            ElanEvent::Fires(process, firing) => self.fires(cx, process, firing),
            ElanEvent::Copied(process, event, story) => self.copied(cx, process, event, *story),
            ElanEvent::Emptied(process, slots) => self.messages.emptied(process, slots),
            ElanEvent::Found(side, page) => self.found(cx, side, page),
            ElanEvent::Started(job) => self.started(cx, &job),
            ElanEvent::Item(process, item) => self.append_item(cx, process, *item),
            ElanEvent::Turn => self.turn(cx),
            ElanEvent::Acts => self.acts(cx),
            ElanEvent::Handled(fault) => self.handled(cx, *fault),
        }
    }

    fn has_read(&mut self, cx: &mut ElanContext<'_>, _: u64) {
        self.data_read(cx);
    }

    fn receive(&mut self, cx: &mut ElanContext<'_>, delivery: &Delivery, parcel: Parcel) {
        self.take_in(cx, delivery, parcel);
    }

    fn sent(&mut self, cx: &mut ElanContext<'_>, _: RailId, number: u64) {
        if self.under_way.get(&number) == Some(&Maker::Dma) {
            self.dma.port_has_room();
            self.assemble(cx);
        }
    }

    fn answered(&mut self, cx: &mut ElanContext<'_>, number: u64) {
        let maker =
            self.under_way.remove(&number).expect("a packet is answered once, after it was handed on");
        if let Maker::Sten(queue, bytes) = maker {
            self.sten_answered(cx, queue, bytes);
        }
        if let Some(header) = self.leaving.leave(number) {
            self.has_left(cx, header);
        }
    }

    fn copies(&mut self, process: u8, completion: &Completion) -> Picos {
        self.messages.copies(process, completion)
    }

    fn seen(&mut self, cx: &mut ElanContext<'_>, process: u8, completion: &Completion) -> Seen {
        if let Some(fault) = self.messages.seen(cx, process, completion) {
            self.driver_answers(cx, fault);
        }
        if completion.what == CompletionKind::Interrupted { Seen::Library } else { Seen::Program }
    }

    fn is_idle(&self) -> bool {
        let tlbs_are = self.tlbs.iter().all(Atc::is_idle);
        let nics_are = self.commands.is_idle() && self.dma.is_idle() && self.receive.is_idle();
        let are = nics_are && tlbs_are && self.threads.is_idle();
        are && self.under_way.is_empty() && self.messages.is_idle()
    }

    fn fault(&self) -> Option<ThreadFault> {
        self.threads.fault().cloned()
    }

    fn unanswered(&self) -> usize {
        self.under_way.len()
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let ElanCounts { packets, descriptors, held, events, fired, blocks_waited, messages, .. } =
            self.counts;
        let ElanCounts { again, switches, counted, refused_by_threads, dropped, given_up, faults, .. } =
            self.counts;
        let ElanCounts { page_faults, illegal, commands_dropped, .. } = self.counts;
        let [of_dma, of_input] = self.tlbs.each_ref().map(Atc::counts);
        let AtcCounts { hits, misses, replaced } = AtcCounts {
            hits: of_dma.hits + of_input.hits,
            misses: of_dma.misses + of_input.misses,
            replaced: of_dma.replaced + of_input.replaced,
        };
        vec![
            ("packets of STEN", packets[0]),
            ("packets of the DMA engine", packets[1]),
            ("descriptors of the DMA engine", descriptors[0]),
            ("of those, brought by gets of other nodes", descriptors[1]),
            ("packets held in the NIC port", held),
            ("events", events),
            ("events that copied a block into a command queue", fired),
            ("of those, blocks that waited for room", blocks_waited),
            ("messages accepted", messages[0]),
            ("messages refused, as their input queue was full", messages[1]),
            ("messages sent again", again),
            ("threads taken by the thread processor", switches),
            ("counted by programs of threads", counted),
            ("messages refused by threads", refused_by_threads),
            ("messages for no thread, dropped", dropped),
            ("messages refused too often, dropped", given_up),
            ("threads that could not go on", faults),
            ("translations in the TLBs", hits),
            ("translations sought in SDRAM", misses),
            ("translations replaced", replaced),
            ("faults of pages that the DMA engine reads", page_faults[Side::Dma as usize]),
            ("faults of pages that the input processor writes", page_faults[Side::Input as usize]),
            ("of those, faults of addresses that are not valid", illegal),
            ("commands dropped, as their queue is in error", commands_dropped),
        ]
    }

    fn full(&self, at: Picos) -> Vec<(&'static str, u64)> {
        vec![
            ("command processor", self.commands.busy()),
            ("wait for answers of a command queue", self.commands.waited(at)),
            ("event processor", self.receive.events_busy()),
            ("thread processor", self.threads.busy()),
        ]
    }
}
