//! The thread processor of Elan4 (qsnet2.txt, "Input queues", Table 1 and Table 3; mechanisms 3.5; P-QS-027 to P-QS-032,
//! P-QS-051, P-QS-052, P-QS-080). The points go on from those of `elan4`.
//!
//! 18. **Threads.** A process can have a thread, given before the start: a program and what is in its registers 1 to 6
//!     ([`host::thread`](crate::host::thread)). All threads share one thread processor. A thread has a memory of [`MEMORY`]
//!     bytes, and a queue of *items*, which it sleeps in front of at the start.
//! 19. **Slots.** An item is a message, a command of its process, or the word of a DMA of its own (25). It has words and
//!     data. Messages and commands have a slot each, the lowest that is free, whose data are at an address of the thread:
//!     those of messages `slots`, and those of commands as many behind them. Data begin with a word; what is behind them
//!     there is 0, and so are data that no memory keeps.
//! 20. **Messages.** A send with words is for the thread of the other process. Its packet has the words, of [`WORD`] each,
//!     before its data, and its commands have them too; with both it has `sten_packet` at most. If a slot is free it comes
//!     into the queue of that thread, otherwise it is refused (13). It is accepted when it is in its slot, or, if the program
//!     answers messages itself, when the thread frees its slot. What has been refused [`REFUSALS`] times is dropped, and from
//!     then on what is refused of that source at all: its source takes it as accepted. So does that of a message for a
//!     process without a thread, which is dropped.
//! 21. **Commands.** What a process tells its own thread is a command of [`WORD`] for where it goes, the words, and the data
//!     rounded up to words. A queue whose first command is one is passed over while no slot for it is free. The command is
//!     free like a descriptor, and takes its slot, when it is taken; `command` later it is in the queue, with what memory has
//!     there then.
//! 22. **Turns.** A thread that sleeps is *ready* when an item comes. When the thread processor has no thread it takes the
//!     one that has been ready for longest, which costs `thread.switch`. Then the thread goes on with its first step, or
//!     takes the first item if it waits for one.
//! 23. **Runs.** A thread does its steps one after the other, each of which takes `thread.cycle`, and `count` no time. Steps
//!     up to the next *act*, and that itself, are one run, which takes as long as they do; the act happens at its end, and
//!     then the next run begins. A run that begins behind a taken item takes `thread.take` more, a `copy` and an `interrupt`
//!     `thread.copy` more for each word of the data, of no more than its memory has, a `send` or a `dma` for each word of its
//!     commands.
//! 24. **Waiting.** At the end of `wait` a thread takes the next item if there is one and no other thread is ready. Otherwise
//!     it is ready behind those, or sleeps if there is no item; the thread processor has no thread then. Taking an item puts
//!     its words into registers 1 to 6, the address of its slot into 7, its bytes into 8, and the node that it has come from
//!     into 9; words that it does not have, and the slot of an item without one, are 0.
//! 25. **Acts.** *free* and *refuse*: the answer to a message reaches the NIC port `form` later (13); then a command queue
//!     may be served. *copy*: the data are written over the bus. *send* and *dma*: a block is copied into the command queue
//!     of the events of the process (17), with the next number; of a `dma` that is a get. When its data have been written an
//!     event is set, which tells the process, or when it fires appends an item to the queue of the thread, without a slot.
//!     *event*: an event of the process is set. *interrupt*: the same, with data like those of a message (13), and the
//!     processor of the process is interrupted, for `interrupt` and the copy. A thread that stops, or cannot go on, leaves
//!     the thread processor, and its items where they are; it cannot go on when a run would begin that comes to what it
//!     cannot do, or at the act.
//! 26. **Stories.** A thread is about the item that it took last, or *resumed* since: what it does goes on with the story of
//!     that. The story of an item passes in the *thread processor* from when it is in the queue until the thread is about
//!     another one; if its slot is in use then, it passes as *kept* until what it is resumed for has been taken.

mod act;
mod memory;
mod run;

use super::{Elan4, ElanContext, ElanEvent};
use crate::host::program::OperationId;
use crate::host::story::{Story, Unit};
use crate::host::thread::{REGISTERS, Register, Step, Thread, ThreadFault, WORDS, Words};
use crate::host::transfer::{Content, Header, Job};
use flitway_engine::Picos;
use flitway_wiring::NodeId;
use memory::{Slots, Store};
use std::collections::{BTreeMap, VecDeque};

#[cfg(doc)]
use super::WORD;
#[cfg(doc)]
use crate::host::thread::MEMORY;

/// Refusals of a message for a thread after which it is dropped. Source: \[assumed\]: a process that is late by milliseconds is
/// waited for, and a run with one that never comes ends.
pub const REFUSALS: u32 = 10_000;

/// The settings of the thread processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSettings {
    /// The time of a step.
    pub cycle: Picos,
    /// The time to take a thread.
    pub switch: Picos,
    /// The time to take an item.
    pub take: Picos,
    /// The time for a word of data.
    pub copy: Picos,
}

/// The thread processor, and the threads of the processes.
#[derive(Debug)]
pub(super) struct Threads {
    /// By process.
    threads: Box<[Option<State>]>,
    /// Those that are ready, the first first.
    ready: VecDeque<u8>,
    /// The one that the thread processor has.
    running: Option<u8>,
    /// Data of sends that have not reached the NIC port, by process and number.
    outgoing: BTreeMap<(u8, u64), Box<[u8]>>,
    /// What threads are told when the data of a DMA are there, by process and number.
    awaited: BTreeMap<(u8, u64), Words>,
    /// Picoseconds in which the thread processor was busy.
    busy: u64,
    slots: u32,
    fault: Option<ThreadFault>,
}

/// A thread.
#[derive(Debug)]
struct State {
    thread: Thread,
    registers: [u64; REGISTERS],
    /// The step that comes next.
    next: usize,
    /// Steps since it has last told its process of something: by `event`, or by a `dma` that does.
    steps: u64,
    phase: Phase,
    /// It has waited, and takes an item when it goes on.
    takes: bool,
    items: VecDeque<Item>,
    store: Store,
    /// The item that it is about.
    about: Option<About>,
    /// When it took an item last.
    taken: Picos,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Sleeps,
    Ready,
    Runs,
    Stopped,
}

/// An item of a queue, with the slot that it has.
#[derive(Debug)]
pub struct Item {
    about: About,
    words: Words,
    from: NodeId,
}

/// What a thread is about.
#[derive(Clone, Copy, Debug)]
struct About {
    of: OperationId,
    bytes: u64,
    story: Story,
    slot: Option<u32>,
}

impl Threads {
    pub(super) fn new(processes: usize, slots: u32) -> Self {
        Threads {
            threads: (0..processes).map(|_| None).collect(),
            ready: VecDeque::new(),
            running: None,
            outgoing: BTreeMap::new(),
            awaited: BTreeMap::new(),
            busy: 0,
            slots,
            fault: None,
        }
    }

    /// A process has a thread.
    pub(super) fn set_up(&mut self, process: u8, thread: Thread) {
        let mut registers = [0; REGISTERS];
        registers[1..=WORDS].copy_from_slice(&thread.registers);
        self.threads[usize::from(process)] = Some(State {
            thread,
            registers,
            next: 0,
            steps: 0,
            phase: Phase::Sleeps,
            takes: false,
            items: VecDeque::new(),
            store: Store::new(self.slots),
            about: None,
            taken: Picos(0),
        });
    }

    fn of(&mut self, process: u8) -> &mut State {
        self.threads[usize::from(process)].as_mut().expect("a process with a thread")
    }

    /// The thread of a process, if it has one.
    fn find(&mut self, process: u8) -> Option<&mut State> {
        self.threads.get_mut(usize::from(process))?.as_mut()
    }

    /// Whether a command for the thread of a process can be taken.
    pub(super) fn has_room(&self, process: u8) -> bool {
        self.threads[usize::from(process)].as_ref().is_none_or(|it| it.store.slots(Slots::Commands).is_free())
    }

    /// The data of a send of a thread, the first time that it reaches the NIC port.
    pub(super) fn take_data(&mut self, header: &Header) -> Option<Box<[u8]>> {
        self.outgoing.remove(&(header.of.process, header.of.number))
    }

    /// What the thread of a process is told of a DMA of its own whose data are there.
    pub(super) fn awaits(&mut self, process: u8, number: u64) -> Option<Words> {
        self.awaited.remove(&(process, number))
    }

    /// Picoseconds in which the thread processor was busy.
    pub(super) fn busy(&self) -> u64 {
        self.busy
    }

    pub(super) fn fault(&self) -> Option<&ThreadFault> {
        self.fault.as_ref()
    }

    /// Whether the thread processor has nothing to do, and what threads began has ended. Threads may keep items.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none() && self.outgoing.is_empty() && self.awaited.is_empty()
    }
}

impl State {
    /// The step that comes next, unless the program has ended.
    fn step(&self) -> Option<Step> {
        self.thread.code.steps.get(self.next).copied()
    }

    /// It is about another item, or none: the story of the last one goes on in its slot, if that is in use.
    fn leave(&mut self, at: Picos) {
        if let Some(About { mut story, slot: Some(slot), .. }) = self.about.take()
            && let Some(kept) = self.store.slot_mut(slot)
        {
            story.pass(Unit::Thread, at);
            kept.about.story = story;
        }
    }

    /// It takes the first item.
    fn take(&mut self, at: Picos) {
        let Item { mut about, words, from } = self.items.pop_front().expect("it is ready with an item");
        about.story.pass(Unit::Thread, at);
        self.registers[1..=WORDS].copy_from_slice(&words.all());
        self.registers[Register::SLOT.index()] = about.slot.map_or(0, memory::address);
        self.registers[Register::BYTES.index()] = about.bytes;
        self.registers[Register::NODE.index()] = from.0.into();
        (self.about, self.taken) = (Some(about), at);
    }
}

impl Elan4 {
    /// A message for the thread of a process has come, under that number of that node.
    pub(super) fn append_to_thread(
        &mut self,
        cx: &mut ElanContext<'_>,
        (from, number): (NodeId, u64),
        content: Content,
        words: Words,
    ) {
        let Content { header, data } = content;
        let Some(thread) = self.threads.find(header.process) else {
            self.counts.dropped += 1;
            return self.answer(cx, from, number, true);
        };
        let about = About { of: header.of, bytes: header.bytes, story: header.story, slot: None };
        let answers = thread.thread.code.answers;
        let awaits = answers.then_some((from, number));
        let Some(about) = thread.store.fill(Slots::Messages, about, data, awaits) else {
            self.counts.messages[1] += 1;
            return self.answer(cx, from, number, false);
        };
        if !answers {
            self.counts.messages[0] += 1;
            self.answer(cx, from, number, true);
        }
        self.append_item(cx, header.process, Item { about, words, from });
    }

    /// A command for a thread has been taken: it has a slot.
    pub(super) fn reserve(&mut self, process: u8) {
        if let Some(thread) = self.threads.find(process) {
            thread.store.slots_mut(Slots::Commands).reserve();
        }
    }

    /// It is in the queue of its thread.
    pub(super) fn started(&mut self, cx: &mut ElanContext<'_>, job: &Job) {
        let Job { of, bytes, source: (process, byte), story, words, .. } = *job;
        let data = cx.memory.read(crate::host::memory::Address { process, byte }, bytes);
        let Some(thread) = self.threads.find(process) else {
            self.counts.dropped += 1;
            return;
        };
        let about = About { of, bytes, story, slot: None };
        let about = thread.store.fill_reserved(about, data);
        let words = words.unwrap_or_default();
        self.append_item(cx, process, Item { about, words, from: cx.node });
    }

    /// A DMA of the thread of a process has brought its data.
    pub(super) fn told(&mut self, cx: &mut ElanContext<'_>, process: u8, words: Words, header: &Header) {
        let fires = self.event_takes(cx, self.settings.event);
        let mut story = header.story;
        story.pass(Unit::Event, fires);
        let about = About { of: header.of, bytes: 0, story, slot: None };
        let item = Item { about, words, from: cx.node };
        cx.ask(fires, ElanEvent::Item(process, Box::new(item)));
    }

    /// An item is in the queue of a thread.
    pub(super) fn append_item(&mut self, cx: &mut ElanContext<'_>, process: u8, item: Item) {
        let thread = self.threads.of(process);
        thread.items.push_back(item);
        if thread.phase == Phase::Sleeps {
            self.is_ready(process);
            self.next_thread(cx);
        }
    }

    fn is_ready(&mut self, process: u8) {
        self.threads.of(process).phase = Phase::Ready;
        self.threads.ready.push_back(process);
    }

    /// The thread processor takes a thread, if it has none.
    fn next_thread(&mut self, cx: &mut ElanContext<'_>) {
        if self.threads.running.is_none()
            && let Some(process) = self.threads.ready.pop_front()
        {
            let switch = self.settings.thread.switch;
            self.threads.running = Some(process);
            self.threads.busy += switch.0;
            self.counts.switches += 1;
            cx.ask(self.after(cx, switch), ElanEvent::Turn);
        }
    }

    /// The thread processor has none any more.
    fn leaves(&mut self, cx: &mut ElanContext<'_>, process: u8, phase: Phase) {
        self.threads.running = None;
        match phase {
            Phase::Ready => self.is_ready(process),
            phase => self.threads.of(process).phase = phase,
        }
        self.next_thread(cx);
    }

    /// It has the thread that it has taken.
    pub(super) fn turn(&mut self, cx: &mut ElanContext<'_>) {
        let process = self.threads.running.expect("it has taken one");
        let thread = self.threads.of(process);
        thread.phase = Phase::Runs;
        if thread.takes {
            self.take_item(cx, process);
        } else {
            self.run(cx, process, Picos(0));
        }
    }

    /// A thread takes an item, and goes on.
    fn take_item(&mut self, cx: &mut ElanContext<'_>, process: u8) {
        let thread = self.threads.of(process);
        thread.takes = false;
        thread.take(cx.at);
        self.run(cx, process, self.settings.thread.take);
    }
}
