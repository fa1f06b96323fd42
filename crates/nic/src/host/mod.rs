//! A host: the processors, the memory and the bus of a node, and the NIC on it.
//!
//! # What happens when
//!
//! * Time within a node is integer picoseconds. A cycle of the network is as late as it begins, rounded down. What is due by
//!   then happens in that cycle: first what is due within the node, by date, and what has the same date in the order in which
//!   it was asked for, which is as soon as its date is certain; then what NIC ports bring, and after each of those what has
//!   become due. A packet that a NIC sends between two cycles is in the source queue of its NIC port in the later one.
//! * **A process** has a processor for itself, which does one thing after the other, in this order: what the program does at
//!   the start, then what comes of what it sees, as it comes. *Seeing* takes the time of a poll, from when memory has it or
//!   the processor is free, and then that of the copy, if the NIC says that the process copies what it sees to its place. The
//!   program acts when it has seen, in no time: it puts operations behind what the processor has to do. *Posting* an
//!   operation takes what the NIC says; it may have to wait for room, and the processor with it: it goes on when it knows of
//!   room, after what has been asked for with that date. An operation begins when its processor comes to it. A word that has
//!   been loaded is in a register, and seen in no time. Before it posts an operation it may *compute*, which is no part of
//!   that, and for which it is not counted as busy.
//! * **Interrupts.** A NIC may interrupt a processor. It deals with that from when memory has it, one after the other, for
//!   the time that the NIC says; whatever it was to do next, when it was free, comes so much later, what it has begun does
//!   not. An operation that waits for room goes on no earlier than that, and the time is a part of its wait. The library has
//!   seen what has come then, and not the program.
//! * **A process that waits by interrupts** *sleeps* whenever its processor comes to have nothing to do, and the NIC is told at
//!   that date. Then it sees nothing until an interrupt wakes it. What has come has waited for the *interrupt* until then, and
//!   its processor has been busy as long as the system software took to handle it.
//! * **System noise.** System software may have a processor for a time, again and again: the first time at a random date in the
//!   first period. What the processor would begin then it begins at the end of that time; what it has begun goes on, and so do
//!   interrupts. What a process sees so late has waited for the *noise* from when that began, or it came.
//! * **The library** of a process, if its NIC has one, acts in place of the program when the process has seen something that
//!   is for the library: it may put a *step* of an operation behind what the processor has to do. With such a NIC a processor
//!   that waits for room sees what comes meanwhile, the first first; when it has, it tries again.
//! * The bus is `bus`, of the kind that the NIC has an interface to: `pcie`, `pci_x` or `hyper_transport`. What a NIC does is
//!   said with it.

pub mod agenda;
pub mod atc;
pub mod buffer;
pub mod bus;
pub mod contents;
mod hosted;
pub mod hyper_transport;
pub mod memory;
mod noise;
mod on_a_bus;
pub mod pci_x;
pub mod pcie;
mod processor;
pub mod program;
pub(crate) mod ring;
pub mod story;
pub mod thread;
pub mod transfer;

pub use hosted::{Hosted, Hosts};
pub use noise::Noise;
pub use on_a_bus::{Network, OnABus, Way};

use crate::Place;
use agenda::Agenda;
use bus::{Bus, BusCounts, BusEvent, BusSettings, plus};
use contents::Contents;
use flitway_engine::{Clock, Cycle, Picos};
use flitway_fabric::{BarrierId, Delivery, Flow, FlowKind, Outgoing, PROCESSES_MAX, Packet};
use flitway_wiring::{Destination, NodeId, RailId};
use memory::Memory;
use processor::{Processor, Task};
use program::{Completion, CompletionKind, CountedEvent, Operation, Program, Setup};
use std::fmt::{self, Debug};
use std::sync::Arc;
use story::{Stage, Story, Unit};
use thread::{Thread, ThreadFault};

/// The settings of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSettings<S> {
    /// Its bus.
    pub bus: S,
    /// The time of a poll: from when memory has something until its process sees it.
    pub poll: Picos,
}

/// The process number of packets that NICs make: no other process of a node may have it.
pub const NIC_PROCESS: u8 = PROCESSES_MAX - 1;

/// A NIC on the bus of a host, without its time: what it does at each date.
pub trait Device: Debug + Send {
    /// The bus that it has an interface to.
    type Bus: BusSettings;
    /// What is due within it.
    type Event: Debug + Send;
    /// What its packets say.
    type Content: Debug + Send;

    /// A processor that waits to post sees what comes meanwhile.
    const SEES_WHILE_WAITING: bool = false;

    /// The processor of `process` comes to an operation, or comes back to it.
    fn post(&mut self, cx: &mut Context<'_, Self>, process: u8, post: &Post) -> Posting;

    /// A process has set up counted events, and a thread if it has one, before the start.
    ///
    /// # Panics
    /// If it has none of those and is given some.
    fn set_up(&mut self, _: u8, events: Vec<CountedEvent>, thread: Option<Thread>) {
        assert!(events.is_empty(), "events that start operations are those of another NIC");
        assert!(thread.is_none(), "threads are those of another NIC");
    }

    /// What the system software has set up for a process before the start.
    ///
    /// # Panics
    /// If it has none of that and is given some.
    fn admit(&mut self, _: u8, setup: Setup) {
        assert!(setup.is_usual(), "keys, valid addresses and interrupts are those of another NIC");
    }

    /// A process that waits by interrupts sleeps.
    fn sleeps(&mut self, _: &mut Context<'_, Self>, _: u8) {}

    /// Something is due.
    fn handle(&mut self, cx: &mut Context<'_, Self>, event: Self::Event);

    /// A read of its own has been completed.
    fn has_read(&mut self, cx: &mut Context<'_, Self>, tag: u64);

    /// A packet is in the NIC port. It stays there until it is drained.
    fn receive(&mut self, cx: &mut Context<'_, Self>, delivery: &Delivery, content: Self::Content);

    /// A packet of its own has left the source queue of its NIC port.
    fn sent(&mut self, cx: &mut Context<'_, Self>, rail: RailId, number: u64);

    /// A packet of its own has been answered, where it asked for [ports that say so](OnABus::ports).
    fn answered(&mut self, _: &mut Context<'_, Self>, _: u64) {}

    /// The group of the switches whose barrier it carries out, if it does.
    fn meets_as(&self) -> Option<BarrierId> {
        None
    }

    /// The switches say that all nodes of that group have come.
    fn released(&mut self, _: &mut Context<'_, Self>) {}

    /// How long a process copies what it is told of, when it has found that; no time where data come to their place.
    fn copies(&mut self, _: u8, _: &Completion) -> Picos {
        Picos(0)
    }

    /// A process has seen what it was told next: who acts.
    fn seen(&mut self, cx: &mut Context<'_, Self>, process: u8, completion: &Completion) -> Seen;

    /// Whether it has nothing under way.
    fn is_idle(&self) -> bool;

    /// The first thread on it that could not go on.
    fn fault(&self) -> Option<ThreadFault> {
        None
    }

    /// Packets that it has handed to its NIC ports and awaits the answer of, where NIC ports tell of that, and barriers of the
    /// switches that it waits for.
    fn unanswered(&self) -> usize {
        0
    }

    /// What it has counted, each by its name.
    fn counters(&self) -> Vec<(&'static str, u64)>;

    /// Picoseconds until `at` in which a part of it could take no more, each by its name.
    fn full(&self, at: Picos) -> Vec<(&'static str, u64)>;
}

/// An operation that a processor posts.
#[derive(Clone, Copy, Debug)]
pub struct Post {
    /// What it is.
    pub operation: Operation,
    /// Its number among those of its process.
    pub number: u64,
    /// From when its processor came to it.
    pub story: Story,
    /// Which step of it: 0 for what a program asks for, others for what libraries add.
    pub step: u8,
}

/// Who acts when a process has seen something.
#[derive(Clone, Debug)]
pub enum Seen {
    /// Its program.
    Program,
    /// Its library, which takes note.
    Library,
    /// Its library, which posts a step.
    Step(Box<Post>),
}

/// What comes of an attempt to post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// The processor is free at that date.
    Until(Picos),
    /// It waits until it is [`Context::release`]d.
    Waits,
}

/// What is due within a node.
#[derive(Debug)]
pub enum Event<E> {
    /// On the bus.
    Bus(BusEvent),
    /// Memory has something for a process.
    Visible(u8, Completion),
    /// A process has seen it.
    Seen(u8, Completion),
    /// A processor may be free.
    Free(u8),
    /// An interrupt wakes a process; handling it has taken its processor so long.
    Wake(u8, Picos),
    /// What is due in its NIC.
    Device(E),
}

impl<E> From<BusEvent> for Event<E> {
    fn from(event: BusEvent) -> Self {
        Event::Bus(event)
    }
}

/// What a NIC has around it when it acts.
#[derive(Debug)]
pub struct Context<'a, D: Device + ?Sized> {
    /// The date.
    pub at: Picos,
    /// The node.
    pub node: NodeId,
    /// The bus.
    pub bus: &'a mut Bus<D::Bus>,
    /// The memory.
    pub memory: &'a mut Memory,
    agenda: &'a mut Agenda<Event<D::Event>>,
    surroundings: &'a Surroundings<D::Content>,
    now: Cycle,
    out: &'a mut Outgoing,
}

impl<D: Device + ?Sized> Context<'_, D> {
    /// Asks for `event` at `at`.
    pub fn ask(&mut self, at: Picos, event: D::Event) {
        self.agenda.ask(at, Event::Device(event));
    }

    /// Reads over the bus: see [`Device::has_read`].
    pub fn read(&mut self, read: bus::Read) {
        self.bus.read(self.at, read, self.agenda);
    }

    /// Reads over the bus through `port`.
    pub fn read_through(&mut self, port: bus::Port, read: bus::Read) {
        self.bus.read_through(port, self.at, read, self.agenda);
    }

    /// Memory has `completion` for `process` at `at`.
    pub fn tell(&mut self, at: Picos, process: u8, completion: Completion) {
        self.agenda.ask(at, Event::Visible(process, completion));
    }

    /// The processor of `process`, which waits, may post again at `at`.
    pub fn release(&mut self, at: Picos, process: u8) {
        self.agenda.ask(at, Event::Free(process));
    }

    /// An interrupt that has been handled in `time` wakes `process` now.
    pub fn wake(&mut self, process: u8, time: Picos) {
        self.agenda.ask(self.at, Event::Wake(process, time));
    }

    /// Hands a packet with `payload` bytes and `content` to the NIC port of `rail`: the number of the content.
    pub fn send(&mut self, to: NodeId, rail: RailId, lane: u32, payload: u16, content: D::Content) -> u64 {
        let number = self.surroundings.contents.lay(self.node, content);
        let flow = Flow::new(FlowKind::Message, number).of_process(NIC_PROCESS);
        let destination = Destination::Node(to);
        self.out.push(Packet { destination, rail, lane, payload, created: self.now, flow });
        number
    }

    /// Says that the node has come to the barrier of that group.
    pub fn arrive(&mut self, group: BarrierId) {
        self.out.arrive(group);
    }

    /// Takes the packet of `delivery` out of its NIC port.
    pub fn drain(&mut self, delivery: &Delivery) {
        self.out.drain(delivery.ticket());
    }

    /// Nodes of the network.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.surroundings.contents.nodes()
    }

    /// The story of a packet that was handed to a NIC port goes on until it is delivered.
    pub fn cross(&self, story: &mut Story, delivery: &Delivery) {
        let Surroundings { clock, idle, .. } = self.surroundings;
        let IdleTime { all, switches } = idle(delivery.source, delivery.destination, delivery.payload);
        let all = all.min(delivery.delivered.since(delivery.injected));
        let links = all - switches.min(all);
        story.pass_stage(Stage::NicPort, clock.picos_floor(delivery.injected));
        story.pass_stage(Stage::Links, clock.picos_floor(delivery.injected + links));
        story.pass_stage(Stage::Switches, clock.picos_floor(delivery.injected + all));
        story.pass_stage(Stage::Contention, clock.picos_floor(delivery.delivered));
        story.cross();
    }
}

/// What a packet takes in an idle network, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleTime {
    /// From its first flit on the wire until all of it is there.
    pub all: u64,
    /// Switches, as a part of it.
    pub switches: u64,
}

/// Tells that time by source, destination and payload.
pub type IdleTimes = Arc<dyn Fn(NodeId, NodeId, u16) -> IdleTime + Send + Sync>;

/// What the nodes of a run have in common.
pub struct Surroundings<L> {
    /// The clock of the network.
    pub clock: Clock,
    /// What packets take in an idle network.
    pub idle: IdleTimes,
    /// What packets say.
    pub contents: Arc<Contents<L>>,
}

impl<L> Clone for Surroundings<L> {
    fn clone(&self) -> Self {
        let Surroundings { clock, idle, contents } = self;
        Surroundings { clock: *clock, idle: Arc::clone(idle), contents: Arc::clone(contents) }
    }
}

impl<L> Debug for Surroundings<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// A host with its NIC and its programs.
#[derive(Debug)]
pub struct Host<D: Device> {
    node: NodeId,
    settings: HostSettings<D::Bus>,
    surroundings: Surroundings<D::Content>,
    agenda: Agenda<Event<D::Event>>,
    bus: Bus<D::Bus>,
    memory: Memory,
    device: D,
    processors: Box<[Processor]>,
    flits: u64,
}

/// Calls `$call` of the device of a host with the [`Context`] that it has at `$at`.
macro_rules! in_context {
    ($host:expr, $at:expr, $now:expr, $out:expr, $method:ident($($argument:expr),*)) => {{
        let Host { node, surroundings, agenda, bus, memory, device, .. } = $host;
        let mut cx = Context { at: $at, node: *node, bus, memory, agenda, surroundings, now: $now, out: $out };
        device.$method(&mut cx $(, $argument)*)
    }};
}

impl<D: Device> Host<D> {
    /// The host of the node that `place` names, with a processor for each of `programs`.
    #[must_use]
    pub fn new(
        place: Place,
        settings: HostSettings<D::Bus>,
        mut device: D,
        memory: Memory,
        programs: Vec<Box<dyn Program>>,
        surroundings: Surroundings<D::Content>,
    ) -> Self {
        let mut agenda = Agenda::new();
        for (process, program) in (0..).zip(&programs) {
            device.set_up(process, program.events(), program.thread());
            device.admit(process, program.setup());
        }
        (0..programs.len()).for_each(|process| agenda.ask(Picos(0), Event::Free(process as u8)));
        Host {
            node: place.node,
            settings,
            surroundings,
            agenda,
            bus: Bus::new(&settings.bus),
            memory,
            device,
            processors: (0..)
                .zip(programs)
                .map(|(process, program)| Processor::new(program, place, process))
                .collect(),
            flits: 0,
        }
    }

    fn handle(&mut self, at: Picos, event: Event<D::Event>, now: Cycle, out: &mut Outgoing) {
        match event {
            Event::Bus(event) => {
                if let Some(read) = self.bus.handle(at, event, &mut self.agenda) {
                    in_context!(self, at, now, out, has_read(read.tag));
                }
            }
            Event::Device(event) => in_context!(self, at, now, out, handle(event)),
            Event::Visible(process, completion) if completion.what == CompletionKind::Interrupted => {
                self.interrupt(at, process, completion);
            }
            Event::Visible(process, completion) => {
                self.processors[usize::from(process)].todo.push_back(Task::See(completion));
                self.work(at, process, now, out);
            }
            Event::Seen(process, completion) => {
                let seen = in_context!(self, at, now, out, seen(process, &completion));
                let processor = &mut self.processors[usize::from(process)];
                match seen {
                    Seen::Program => processor.act(at, Some(&completion)),
                    Seen::Library => {}
                    Seen::Step(post) => processor.todo.push_back(Task::Step(*post)),
                }
            }
            Event::Wake(process, time) => {
                self.processors[usize::from(process)].wake(at, time);
                self.work(at, process, now, out);
            }
            Event::Free(process) => {
                let processor = &mut self.processors[usize::from(process)];
                processor.waits = false;
                if processor.has_waited() && processor.free > at {
                    // It has been interrupted meanwhile.
                    self.agenda.ask(processor.free, Event::Free(process));
                }
                self.work(at, process, now, out);
            }
        }
    }

    /// A processor is interrupted: whatever it does next comes so much later.
    fn interrupt(&mut self, at: Picos, process: u8, mut completion: Completion) {
        let takes = self.device.copies(process, &completion);
        let processor = &mut self.processors[usize::from(process)];
        let begins = processor.interrupted.max(at);
        processor.interrupted = plus(begins, takes);
        completion.story.pass(Unit::Copy, processor.interrupted);
        self.agenda.ask(processor.interrupted, Event::Seen(process, completion));
        if processor.has_waited() {
            // That is a part of what it waits; who ends its wait asks for what comes then.
            processor.free = processor.free.max(processor.interrupted);
        } else {
            processor.busy += takes.0;
            processor.free = plus(processor.free.max(begins), takes);
            self.agenda.ask(processor.free, Event::Free(process));
        }
    }

    /// A processor does what it can at `at`.
    fn work(&mut self, at: Picos, process: u8, now: Cycle, out: &mut Outgoing) {
        let processor = &mut self.processors[usize::from(process)];
        if processor.free > at || processor.is_asleep {
            return;
        }
        if let Some(until) = processor.noise_until(at, D::SEES_WHILE_WAITING) {
            processor.free = until;
            return self.agenda.ask(until, Event::Free(process));
        }
        let Some(task) = processor.next(D::SEES_WHILE_WAITING) else {
            if processor.falls_asleep() {
                in_context!(self, at, now, out, sleeps(process));
            }
            return;
        };
        let sees = matches!(task, Task::See(_));
        let free = match task {
            Task::Begin => {
                processor.act(at, None);
                at
            }
            Task::See(mut completion) => {
                let poll = if completion.needs_poll() { self.settings.poll } else { Picos(0) };
                let (found, copies) = (plus(at, poll), self.device.copies(process, &completion));
                let seen = plus(found, copies);
                processor.pass_noise(&mut completion.story, at);
                completion.story.pass(Unit::Poll, found);
                completion.story.pass(Unit::Copy, seen);
                if !processor.waits {
                    // Otherwise it is busy waiting to post.
                    processor.busy += poll.0 + copies.0;
                }
                self.agenda.ask(seen, Event::Seen(process, completion));
                seen
            }
            Task::Post(operation) if operation.computes > Picos(0) => {
                processor.todo.push_front(Task::Post(Operation { computes: Picos(0), ..operation }));
                plus(at, operation.computes)
            }
            Task::Post(operation) => {
                processor.number += 1;
                let post = Post { operation, number: processor.number - 1, story: Story::begin(at), step: 0 };
                self.post(at, process, post, now, out)
            }
            Task::Again(post) => self.post(at, process, post, now, out),
            Task::Step(mut post) => {
                post.story.pass(Unit::Processor, at);
                self.post(at, process, post, now, out)
            }
        };
        let processor = &mut self.processors[usize::from(process)];
        processor.free = free;
        if sees || !processor.waits {
            self.agenda.ask(free, Event::Free(process));
        } else {
            // What has come before it waited.
            self.work(at, process, now, out);
        }
    }

    /// A processor posts, or waits: when it is free.
    fn post(&mut self, at: Picos, process: u8, mut post: Post, now: Cycle, out: &mut Outgoing) -> Picos {
        let waited = at.0 - post.story.until().0;
        post.story.pass(Unit::Processor, at);
        let posting = in_context!(self, at, now, out, post(process, &post));
        let processor = &mut self.processors[usize::from(process)];
        processor.busy += waited;
        match posting {
            Posting::Until(free) => {
                processor.busy += free.0 - at.0;
                free
            }
            Posting::Waits => {
                processor.todo.push_front(Task::Again(post));
                processor.waits = true;
                at
            }
        }
    }
}

/// What a host has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// On its bus.
    pub bus: BusCounts,
    /// By process: picoseconds in which its processor was busy.
    pub busy: Vec<u64>,
    /// Flits of packets for its NIC that have come.
    pub flits: u64,
    /// In its NIC, each by its name.
    pub nic: Vec<(&'static str, u64)>,
    /// Picoseconds in which parts of its NIC could take no more.
    pub full: Vec<(&'static str, u64)>,
    /// The first thread on it that could not go on.
    pub fault: Option<ThreadFault>,
}

/// A host, whatever NIC it has.
pub trait AnyHost: Debug + Send {
    /// Does what is due by the beginning of `now`.
    fn run(&mut self, now: Cycle, out: &mut Outgoing);

    /// A packet of a NIC is there.
    fn receive(&mut self, now: Cycle, delivery: &Delivery, out: &mut Outgoing);

    /// A packet of its own has left a source queue.
    fn sent(&mut self, now: Cycle, rail: RailId, flow: Flow, out: &mut Outgoing);

    /// A packet of its own has been answered, where its NIC ports say so.
    fn answered(&mut self, _: Cycle, _: Flow, _: &mut Outgoing) {}

    /// The switches have released the node from the barrier of `group`: whether that is one of its NIC.
    fn released(&mut self, _: Cycle, _: BarrierId, _: &mut Outgoing) -> bool {
        false
    }

    /// When something is due.
    fn next(&self) -> Option<Cycle>;

    /// The program of a process.
    fn program(&self, process: u8) -> &dyn Program;

    /// Its memory.
    fn memory(&mut self) -> &mut Memory;

    /// What it has done until `at`.
    fn counts(&self, at: Picos) -> HostCounts;

    /// Whether nothing is under way in it.
    fn is_idle(&self) -> bool;

    /// Packets of the NICs of all nodes that are in NIC ports and the network, those that were lost there included.
    fn under_way(&self) -> u64;

    /// Packets of its own whose answer it awaits, those that were lost included, where NIC ports tell of that, and barriers of
    /// the switches that it waits for.
    fn unanswered(&self) -> u64 {
        0
    }
}

impl<D: Device> AnyHost for Host<D> {
    fn run(&mut self, now: Cycle, out: &mut Outgoing) {
        let until = self.surroundings.clock.picos_floor(now);
        while let Some((at, event)) = self.agenda.next_by(until) {
            self.handle(at, event, now, out);
        }
    }

    fn receive(&mut self, now: Cycle, delivery: &Delivery, out: &mut Outgoing) {
        let at = self.surroundings.clock.picos_floor(now);
        self.flits += u64::from(delivery.flits);
        let content = self.surroundings.contents.take(delivery.source, delivery.flow.tag);
        in_context!(self, at, now, out, receive(delivery, content));
    }

    fn sent(&mut self, now: Cycle, rail: RailId, flow: Flow, out: &mut Outgoing) {
        let at = self.surroundings.clock.picos_floor(now);
        in_context!(self, at, now, out, sent(rail, flow.tag));
    }

    fn answered(&mut self, now: Cycle, flow: Flow, out: &mut Outgoing) {
        let at = self.surroundings.clock.picos_floor(now);
        in_context!(self, at, now, out, answered(flow.tag));
    }

    fn released(&mut self, now: Cycle, group: BarrierId, out: &mut Outgoing) -> bool {
        if self.device.meets_as() != Some(group) {
            return false;
        }
        let at = self.surroundings.clock.picos_floor(now);
        in_context!(self, at, now, out, released());
        true
    }

    fn next(&self) -> Option<Cycle> {
        self.agenda.next().map(|at| self.surroundings.clock.cycles_ceil(at))
    }

    fn program(&self, process: u8) -> &dyn Program {
        &*self.processors[usize::from(process)].program
    }

    fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    fn counts(&self, at: Picos) -> HostCounts {
        HostCounts {
            flits: self.flits,
            full: self.device.full(at),
            bus: self.bus.counts(),
            busy: self.processors.iter().map(|processor| processor.busy).collect(),
            nic: self.device.counters(),
            fault: self.device.fault(),
        }
    }

    fn is_idle(&self) -> bool {
        self.agenda.next().is_none() && self.device.is_idle()
    }

    fn under_way(&self) -> u64 {
        self.surroundings.contents.under_way() as u64
    }

    fn unanswered(&self) -> u64 {
        self.device.unanswered() as u64
    }
}

/// What runs on the processors of a node.
pub type Programs = Arc<dyn Fn(NodeId) -> Vec<Box<dyn Program>> + Send + Sync>;
