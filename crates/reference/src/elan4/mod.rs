//! The host and the NIC Elan4, as `flitway_nic::host`, its `bus` and `pci_x`, and `flitway_nic::elan4` say it, sentence by
//! sentence.
//!
//! What is due stands in one list, of which the first is looked for; what waits stands in lists in the order in which it came.
//! The fabric around it is the fast one: it has its own reference models.

mod bus;
mod command;
mod dma;
mod event;
mod message;
mod processor;
mod receive;
mod system;
mod thread;

use crate::host::model::{Around, Model, Modelled};
use crate::host::noise::Noise;
use crate::host::translation::{Page, Translations};
use bus::{Bus, Read};
use command::{Command, Queue};
use dma::{Assembly, Descriptor, Prefetch};
use event::OfEvents;
use flitway_engine::Picos;
use flitway_fabric::Delivery;
use flitway_nic::Place;
use flitway_nic::elan4::{ElanCounts, ElanSettings};
use flitway_nic::host::memory::{Address, Memory};
use flitway_nic::host::program::{Completion, CompletionKind, Operation, Program, Submission, Verb};
use flitway_nic::host::story::{Stage, Story, Unit};
use flitway_nic::host::thread::Words;
use flitway_nic::host::{AnyHost, HostCounts, Surroundings};
use flitway_wiring::{NodeId, RailId};
use message::{Found, InputQueue, Send};
use processor::{Burst, Processor};
use receive::{Arrived, Write};
use system::PageFault;
use thread::{Item, ThreadProcessor};

/// What a packet says.
#[derive(Clone, Debug)]
pub struct Content {
    header: Header,
    story: Story,
    data: Option<Box<[u8]>>,
}

/// Which operation: its node, its process, its number there.
type Name = (NodeId, u8, u64);

/// What a packet says but for its data.
#[derive(Clone, Copy, Debug)]
struct Header {
    name: Name,
    what: What,
    /// Where the data go, in the node that it is for; of a descriptor, where they are.
    to: Address,
    /// Data of the packet in bytes; of a descriptor, those that it asks for.
    bytes: u64,
    /// Data of the operation in bytes.
    of: u64,
    /// The counted event that they set.
    event: Option<u16>,
    /// Of a descriptor: where the data go.
    back: Address,
    /// What a message says to the thread of the process that it is for.
    words: Option<Words>,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Data of a put.
    Put,
    /// The descriptor of a get.
    Descriptor,
    /// Data that a get asked for.
    Answer,
    /// Data of a send.
    Message,
    /// Whether those of the send of that name have been accepted.
    Said(bool),
}

/// A packet that is on its way to the NIC port, or has been handed to it.
#[derive(Clone, Copy, Debug)]
struct Outbound {
    maker: Maker,
    node: NodeId,
    header: Header,
    payload: u16,
    /// Where its data are in this node, if it has any.
    from: Option<Address>,
    tells_left: bool,
    story: Story,
}

/// What has made a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    /// STEN, of so many bytes of commands in a queue.
    Sten(usize, u32),
    Dma,
    /// The input processor.
    Input,
}

/// Which translation buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Dma = 0,
    Input = 1,
}

/// Who waits for a translation.
#[derive(Debug)]
enum Waiter {
    Prefetcher,
    Input(Box<Write>),
}

/// What is due.
#[derive(Debug)]
enum Due {
    /// A processor may be free.
    Free(u8),
    /// Memory has something for a process, and what it finds beside it.
    Visible(u8, Completion, Option<Found>),
    /// The process has seen it.
    Seen(u8, Completion, Option<Found>),
    /// A processor has written a burst.
    Burst(u8, Burst),
    /// Commands are in the queue of a process.
    Queued(u8, Vec<Command>),
    /// The command processor is free.
    Ready,
    /// A process knows that its queue has room for so many more bytes.
    Room(u8, u32),
    /// Data of a read have been found.
    Found(Read),
    /// The first data that have been found ask for the bus.
    Turn,
    /// The NIC has the data of a read.
    HasRead(Read),
    /// A descriptor is in the run queue.
    Runs(Descriptor),
    /// The prefetcher begins.
    Begins,
    /// A packet reaches the NIC port.
    Handed(Outbound),
    /// A send does so again.
    HandedAgain(Send),
    /// A counted event of a process copies its block.
    BlockCopied(u8, usize, Story),
    /// The NIC knows that so many slots of a process are free.
    SlotsFree(u8, u32),
    /// The input processor deals with a packet.
    Dealt(Content),
    /// So many bytes of the input buffer are free.
    Left(u64),
    /// Memory has bytes.
    Landed(Address, Box<[u8]>),
    /// The event processor has done with its event.
    EventDone,
    /// A command for the thread of a process, with its story, is in the queue of that.
    ThreadCommand(Name, Box<Operation>, Box<Story>),
    /// Something else is.
    Item(u8, Item),
    /// The thread processor has a thread.
    ThreadTaken,
    /// That comes to the end of a run.
    ThreadActs,
    /// A walk for a translation is over.
    WalkDone(Side, Page),
    /// The NIC has what the driver has written about a fault.
    DriverHasAnswered(PageFault),
}

/// A host with its NIC and its programs.
#[derive(Debug)]
struct Host {
    around: Around<Content, Due>,
    settings: ElanSettings,
    processors: Vec<Processor>,
    bus: Bus,
    /// By process, and behind them those of their events.
    queues: Vec<Queue>,
    /// Which queue the command processor looks at first, and whether it is busy.
    turn: usize,
    command_is_busy: bool,
    command_busy: u64,
    /// Descriptors in the run queue, and the one that the prefetcher has.
    run_queue: Vec<Descriptor>,
    prefetch: Option<Prefetch>,
    /// Assemblers in use, those of the descriptors that came first first.
    assemblies: Vec<Assembly>,
    /// Bytes that have been asked for and are in no packet.
    buffered: u64,
    /// Reads under way, with their bytes.
    reads: Vec<(u64, Story)>,
    /// Packets of the DMA engine in the source queue, or on their way there.
    in_port: u32,
    /// Packets that have not been answered, by the number of their content.
    under_way: Vec<(u64, Outbound)>,
    /// Bytes that have been answered, of operations that want to know of all.
    answered: Vec<(Name, u64)>,
    /// Packets in the NIC port, in the order of delivery.
    arrived: Vec<Arrived>,
    /// Bytes of the input buffer that are free.
    buffer: u64,
    /// What has been written of operations of which not all has.
    written: Vec<(Name, u64)>,
    /// Events that have been set, and when the event processor has done with all of them.
    events: Vec<(u8, Completion, Option<Found>)>,
    events_done: Picos,
    event_busy: u64,
    /// By process.
    counted: Vec<OfEvents>,
    /// By process.
    input_queues: Vec<InputQueue>,
    /// Sends that have been handed on, of which the other NIC has not said anything.
    sends: Vec<Send>,
    threads: ThreadProcessor,
    /// By side.
    tlbs: [Translations<Waiter>; 2],
    /// Pages whose translation the driver has given.
    given: Vec<Page>,
    counts: ElanCounts,
}

/// The host of the node that `place` names, with a processor for each of `programs`.
#[must_use]
pub fn host(
    settings: &ElanSettings,
    place: Place,
    memory: Memory,
    programs: Vec<Box<dyn Program>>,
    surroundings: Surroundings<Content>,
) -> Box<dyn AnyHost> {
    let processes = programs.len();
    let threads = programs.iter().map(|program| program.thread()).collect();
    let counted = programs.iter().map(|program| OfEvents::new(program.events(), settings.queue)).collect();
    let mut host = Host {
        around: Around::new(place, memory, surroundings),
        settings: *settings,
        processors: (0..)
            .zip(programs)
            .map(|(process, it)| (Noise::of(place, process, &*it), it))
            .map(|(noise, it)| Processor::new(it, noise, settings.queue))
            .collect(),
        bus: Bus::new(settings.host.bus),
        queues: (0..2 * processes).map(|_| Queue::default()).collect(),
        turn: 0,
        command_is_busy: false,
        command_busy: 0,
        run_queue: Vec::new(),
        prefetch: None,
        assemblies: Vec::new(),
        buffered: 0,
        reads: Vec::new(),
        in_port: 0,
        under_way: Vec::new(),
        answered: Vec::new(),
        arrived: Vec::new(),
        buffer: settings.input_buffer.into(),
        written: Vec::new(),
        events: Vec::new(),
        events_done: Picos(0),
        event_busy: 0,
        counted,
        input_queues: (0..processes).map(|_| InputQueue::default()).collect(),
        sends: Vec::new(),
        threads: ThreadProcessor::new(threads, settings.slots),
        tlbs: [Translations::new(&settings.tlb), Translations::new(&settings.tlb)],
        given: Vec::new(),
        counts: ElanCounts::default(),
    };
    (0..processes).for_each(|process| host.around.ask(Picos(0), Due::Free(process as u8)));
    Box::new(Modelled(host))
}

impl Host {
    /// A packet reaches the NIC port. What it carries is what memory has there now.
    fn handed(&mut self, packet: Outbound) {
        match packet.maker {
            Maker::Sten(..) => self.counts.packets[0] += 1,
            Maker::Dma => self.counts.packets[1] += 1,
            Maker::Input => {}
        }
        let of_thread = if packet.header.what == What::Message && packet.header.words.is_some() {
            self.threads.data_of(packet.header.name)
        } else {
            None
        };
        let data = of_thread
            .or_else(|| packet.from.and_then(|from| self.around.memory.read(from, packet.header.bytes)));
        if packet.header.what == What::Message {
            self.sends.push(Send { packet, data: data.clone(), refusals: 0 });
        }
        self.hand_on(packet, data);
    }

    /// A packet is in the NIC port with its data.
    fn hand_on(&mut self, packet: Outbound, data: Option<Box<[u8]>>) {
        let Outbound { node, header, payload, story, .. } = packet;
        let number = self.around.hand(node, RailId(0), payload, Content { header, story, data });
        self.under_way.push((number, packet));
    }

    /// A packet has been answered.
    fn has_answer(&mut self, number: u64) {
        let place = self.under_way.iter().position(|it| it.0 == number);
        let (_, packet) = self.under_way.remove(place.expect("a packet is answered once"));
        // What counts of a send is what the other NIC says.
        if !matches!(packet.header.what, What::Message | What::Said(_)) {
            self.is_answered(&packet);
        }
    }

    fn is_answered(&mut self, packet: &Outbound) {
        if let Maker::Sten(queue, bytes) = packet.maker {
            self.sten_answered(queue, bytes);
        }
        if packet.tells_left && self.all_are_answered(&packet.header) {
            let Header { name, of, .. } = packet.header;
            let mut story = packet.story;
            story.pass_stage(Stage::NicPort, self.around.at);
            self.set_event(name.1, completion(CompletionKind::Left, name, of, story), None);
        }
    }

    /// Whether, with this packet, all of an operation have been answered.
    fn all_are_answered(&mut self, header: &Header) -> bool {
        let before = self.answered.iter().position(|(name, _)| *name == header.name);
        let before = before.map_or(0, |place| self.answered.remove(place).1);
        let answered = before + header.bytes;
        if answered < header.of {
            self.answered.push((header.name, answered));
        }
        answered == header.of
    }

    /// `waiter` waits for a page that is not in the TLB of `side`.
    fn wait_for(&mut self, side: Side, page: Page, waiter: Waiter) {
        let seeks = self.tlbs[side as usize].wait_for(page, waiter);
        self.seek(side, seeks.then_some(page));
    }

    /// A walk begins, if there is a page to be sought.
    fn seek(&mut self, side: Side, page: Option<Page>) {
        if let Some(page) = page {
            self.around.ask(self.around.after(self.settings.walk), Due::WalkDone(side, page));
        }
    }

    fn walk_done(&mut self, side: Side, page: Page) {
        if !self.is_translated(page) {
            return self.page_is_missing(side, page);
        }
        let (waiters, next) = self.tlbs[side as usize].found(page);
        for waiter in waiters {
            match waiter {
                Waiter::Prefetcher => self.page_known(),
                Waiter::Input(write) => self.write(*write),
            }
        }
        self.seek(side, next);
    }
}

/// Completion of an operation.
fn completion(what: CompletionKind, (node, process, number): Name, bytes: u64, story: Story) -> Completion {
    Completion { what, number, node, process, bytes, story }
}

impl Model for Host {
    type Content = Content;
    type Due = Due;

    fn around(&self) -> &Around<Content, Due> {
        &self.around
    }

    fn around_mut(&mut self) -> &mut Around<Content, Due> {
        &mut self.around
    }

    fn handle(&mut self, due: Due) {
        match due {
            Due::Free(process) => self.next_task(process),
            Due::Visible(process, completion, message) => self.visible(process, completion, message),
            Due::Seen(process, completion, message) => self.seen(process, &completion, message),
            Due::Burst(process, burst) => self.burst(process, burst),
            Due::Queued(process, commands) => self.queued(process, commands),
            Due::Ready => self.command_done(),
            Due::Room(process, bytes) => self.has_room(process, bytes),
            Due::Found(read) => self.data_found(read),
            Due::Turn => self.data_ask(),
            Due::HasRead(read) => self.has_read(read),
            Due::Runs(descriptor) => self.runs(descriptor),
            Due::Begins => self.begins(),
            Due::Handed(packet) => self.handed(packet),
            Due::HandedAgain(send) => self.handed_again(send),
            Due::BlockCopied(process, event, story) => self.block_copied(process, event, story),
            Due::SlotsFree(process, slots) => self.slots_free(process, slots),
            Due::Dealt(content) => self.dealt(content),
            Due::Left(bytes) => self.has_left_buffer(bytes),
            Due::Landed(to, data) => self.around.memory.write(to, &data),
            Due::EventDone => self.event_done(),
            Due::ThreadCommand(name, operation, story) => self.command_for_thread(name, &operation, *story),
            Due::Item(process, item) => self.item(process, item),
            Due::ThreadTaken => self.thread_taken(),
            Due::ThreadActs => self.thread_acts(),
            Due::WalkDone(side, page) => self.walk_done(side, page),
            Due::DriverHasAnswered(fault) => self.driver_has_answered(fault),
        }
    }

    fn receive(&mut self, delivery: &Delivery, content: Content) {
        self.arrive(delivery, content);
    }

    fn sent(&mut self, _: RailId, number: u64) {
        self.has_left(number);
    }

    fn answered(&mut self, number: u64) {
        self.has_answer(number);
    }

    fn program(&self, process: usize) -> &dyn Program {
        &*self.processors[process].program
    }

    fn counts(&self, at: Picos) -> HostCounts {
        let ElanCounts { packets, descriptors, held, events, fired, blocks_waited, messages, .. } =
            self.counts;
        let of_tlbs = |count: fn(&Translations<Waiter>) -> u64| self.tlbs.iter().map(count).sum();
        HostCounts {
            bus: self.bus.counts,
            busy: self.processors.iter().map(|processor| processor.busy).collect(),
            nic: vec![
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
                ("messages sent again", self.counts.again),
                ("threads taken by the thread processor", self.counts.switches),
                ("counted by programs of threads", self.counts.counted),
                ("messages refused by threads", self.counts.refused_by_threads),
                ("messages for no thread, dropped", self.counts.dropped),
                ("messages refused too often, dropped", self.counts.given_up),
                ("threads that could not go on", self.counts.faults),
                ("translations in the TLBs", of_tlbs(|tlb| tlb.counts.hits)),
                ("translations sought in SDRAM", of_tlbs(|tlb| tlb.counts.misses)),
                ("translations replaced", of_tlbs(|tlb| tlb.counts.replaced)),
                ("faults of pages that the DMA engine reads", self.counts.page_faults[0]),
                ("faults of pages that the input processor writes", self.counts.page_faults[1]),
                ("of those, faults of addresses that are not valid", self.counts.illegal),
                ("commands dropped, as their queue is in error", self.counts.commands_dropped),
            ],
            full: vec![
                ("command processor", self.command_busy),
                (
                    "wait for answers of a command queue",
                    self.queues.iter().map(|queue| queue.waited(at)).max().unwrap_or(0),
                ),
                ("event processor", self.event_busy),
                ("thread processor", self.threads.busy),
            ],
            fault: self.threads.fault.clone(),
            ..HostCounts::default()
        }
    }

    fn unanswered(&self) -> usize {
        self.under_way.len()
    }

    fn is_idle(&self) -> bool {
        self.bus.is_idle()
            && self.queues.iter().all(Queue::is_idle)
            && self.run_queue.is_empty()
            && self.prefetch.is_none()
            && self.assemblies.is_empty()
            && self.in_port == 0
            && self.under_way.is_empty()
            && self.arrived.is_empty()
            && self.written.is_empty()
            && self.events.is_empty()
            && self.sends.is_empty()
            && self.threads.is_idle()
            && self.processors.iter().all(Processor::has_written)
            && self.counted.iter().all(OfEvents::is_idle)
            && self.tlbs.iter().all(Translations::is_idle)
    }
}
