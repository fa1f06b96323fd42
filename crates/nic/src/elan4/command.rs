//! Command queues, the command processor and STEN. See points 1 to 5 of the header of this module.

use super::{
    COMMANDS, Command, DESCRIPTOR, Elan4, ElanContext, ElanEvent, ElanSettings, Maker, Order, Outbound,
    POINTER, Threads, WORD,
};
use crate::host::bus::{BusSettings as _, plus};
use crate::host::program::{Submission, Verb};
use crate::host::story::Unit;
use crate::host::transfer::Job;
use crate::host::{Post, Posting};
use flitway_engine::Picos;
use std::collections::VecDeque;

/// The command queues, and the command processor.
#[derive(Debug)]
pub(super) struct Commands {
    /// Those of the processes, and behind them those of their events.
    queues: Box<[Queue]>,
    processes: u16,
    bytes: u32,
    window: u32,
    is_busy: bool,
    /// Where the search for a queue begins.
    next: usize,
    /// Picoseconds in which the command processor was busy.
    busy: u64,
}

/// A command queue, and what its process knows of it.
#[derive(Debug)]
struct Queue {
    /// Free bytes, as far as the process knows.
    room: u32,
    /// The operation that is being written, and what of its commands has been.
    writing: Option<Writing>,
    waits: bool,
    commands: VecDeque<Command>,
    /// Blocks of events that wait for room.
    blocks: VecDeque<Vec<Command>>,
    /// Packets that have not been answered.
    under_way: u32,
    /// Bytes that are free without the process having been told.
    freed: u32,
    /// Its commands are dropped.
    is_in_error: bool,
    /// Since when the command processor, when it was free, has passed it over, and picoseconds for which it was before.
    waits_since: Option<Picos>,
    waited: u64,
}

/// An operation whose commands are being written.
#[derive(Clone, Copy, Debug)]
struct Writing {
    /// Bytes of commands in all, those that have been written, and those of packets that are whole.
    all: u64,
    written: u64,
    whole: u64,
    /// Where the packet begins whose commands are written next; none when all have been.
    packet: Option<u64>,
    /// Until when the processor writes.
    until: Picos,
}

/// What an operation is by STEN: how much data each packet has, and how many bytes its commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packets {
    job: Job,
    /// The command queue that they are in.
    queue: u16,
    most: u64,
}

impl Packets {
    pub(super) fn of(job: Job, queue: u16, settings: &ElanSettings) -> Self {
        Packets { job, queue, most: settings.sten_packet.into() }
    }

    /// Data of the packet that begins at `offset`, and bytes of its commands.
    pub(super) fn at(&self, offset: u64) -> (u64, u64) {
        match self.job.verb {
            // The descriptor is all that it has.
            Verb::Get => (self.job.bytes, u64::from(COMMANDS + DESCRIPTOR)),
            verb => {
                let is_one = verb != Verb::Put;
                let data = if is_one { self.job.bytes } else { self.job.cut(offset, self.most) };
                let begins = if verb == Verb::Thread { WORD } else { COMMANDS };
                (data, u64::from(begins) + self.words() + data.next_multiple_of(WORD.into()))
            }
        }
    }

    /// Bytes of the words.
    fn words(&self) -> u64 {
        self.job.words.map_or(0, |words| u64::from(words.count()) * u64::from(WORD))
    }

    /// Bytes of all commands.
    pub(super) fn all(&self) -> u64 {
        let ((first, bytes), all) = (self.at(0), self.job.bytes);
        let whole = (all - first) / self.most;
        let rest = first + whole * self.most;
        let last = if rest < all { self.at(rest).1 } else { 0 };
        let middle = if whole > 0 { whole * self.at(first).1 } else { 0 };
        bytes + middle + last
    }

    /// The command of the packet that begins at `offset`.
    fn command(&self, offset: u64) -> Command {
        let (data, bytes) = self.at(offset);
        if self.job.verb == Verb::Thread {
            return Command { what: Order::Start(self.job), bytes: bytes as u32 };
        }
        let Job { to, tells_left, story, .. } = self.job;
        let packet = Outbound {
            maker: Maker::Sten(self.queue, bytes as u32),
            to: to.0,
            payload: if self.job.is_request() { DESCRIPTOR as u16 } else { (self.words() + data) as u16 },
            is_last: offset + data == self.job.bytes,
            tells_left,
            header: self.job.header(offset, data, story),
        };
        Command { what: Order::Packet(packet), bytes: bytes as u32 }
    }

    /// Where the packet behind the one that begins at `offset` does, if there is one. Words need no data.
    fn next(&self, offset: u64) -> Option<u64> {
        let next = offset + self.at(offset).0;
        (next < self.job.bytes).then_some(next)
    }

    /// All commands, in order.
    pub(super) fn commands(&self) -> impl Iterator<Item = Command> + '_ {
        let mut offset = Some(0);
        std::iter::from_fn(move || {
            let command = self.command(offset?);
            offset = self.next(offset?);
            Some(command)
        })
    }
}

impl Commands {
    pub(super) fn new(settings: &ElanSettings, processes: usize) -> Self {
        let queue = || Queue {
            room: settings.queue,
            writing: None,
            waits: false,
            commands: VecDeque::new(),
            blocks: VecDeque::new(),
            under_way: 0,
            freed: 0,
            is_in_error: false,
            waits_since: None,
            waited: 0,
        };
        let queues = (0..2 * processes).map(|_| queue()).collect();
        let processes = processes as u16;
        let ElanSettings { queue: bytes, window, .. } = *settings;
        Commands { queues, processes, bytes, window, is_busy: false, next: 0, busy: 0 }
    }

    /// A processor comes to an operation.
    pub(super) fn post(
        &mut self,
        cx: &mut ElanContext<'_>,
        process: u8,
        post: &Post,
        settings: &ElanSettings,
    ) -> Posting {
        let queue = &mut self.queues[usize::from(process)];
        let job = Job::of(cx.node, process, post);
        match post.operation.by {
            Submission::Sten => queue.write(cx, Packets::of(job, process.into(), settings)),
            Submission::Dma => queue.write_descriptor(cx, job, settings.issue),
            by => panic!("operations are fitted to the NIC, which has no {by:?}"),
        }
    }

    /// The queue of a process is in error from now on: how many commands are dropped, which were in it.
    pub(super) fn fail(&mut self, cx: &mut ElanContext<'_>, process: u8) -> u64 {
        let queue = &mut self.queues[usize::from(process)];
        queue.is_in_error = true;
        queue.ends_wait(cx.at);
        let commands = Vec::from(std::mem::take(&mut queue.commands));
        self.drop(cx, process, &commands)
    }

    /// Drops commands, whose room is free: how many.
    fn drop(&mut self, cx: &mut ElanContext<'_>, process: u8, commands: &[Command]) -> u64 {
        self.give_back(cx, process.into(), commands.iter().map(|command| command.bytes).sum());
        commands.len() as u64
    }

    /// The command processor is free.
    pub(super) fn free(&mut self) {
        self.is_busy = false;
    }

    /// A process knows of more room in its queue.
    pub(super) fn has_room(&mut self, cx: &mut ElanContext<'_>, process: u8, bytes: u32) {
        let queue = &mut self.queues[usize::from(process)];
        queue.room += bytes;
        if std::mem::take(&mut queue.waits) {
            let until = queue.writing.map_or(cx.at, |writing| writing.until.max(cx.at));
            cx.release(until, process);
        }
    }

    /// A packet has been answered.
    pub(super) fn answered(&mut self, at: Picos, queue: u16) {
        let queue = &mut self.queues[usize::from(queue)];
        queue.under_way -= 1;
        queue.ends_wait(at);
    }

    /// So many bytes of a queue are free. A process is told of a quarter of its queue at a time; in one of events blocks have
    /// waited for them.
    pub(super) fn give_back(&mut self, cx: &mut ElanContext<'_>, place: u16, bytes: u32) {
        let queue = &mut self.queues[usize::from(place)];
        if place >= self.processes {
            queue.room += bytes;
            return queue.take_blocks();
        }
        let process = place as u8;
        queue.freed += bytes;
        if queue.freed >= self.bytes.div_ceil(4) {
            let freed = std::mem::take(&mut queue.freed);
            let posted = cx.bus.post(cx.at, POINTER);
            cx.ask(posted.visible, ElanEvent::Room(process, freed));
        }
    }

    /// The queue of the events of a process.
    pub(super) fn of_events(&self, process: u8) -> u16 {
        self.processes + u16::from(process)
    }

    /// A block has been copied: whether its commands are in the queue at once.
    pub(super) fn copy(&mut self, queue: u16, block: Vec<Command>) -> bool {
        let queue = &mut self.queues[usize::from(queue)];
        queue.blocks.push_back(block);
        queue.take_blocks();
        queue.blocks.is_empty()
    }

    /// The queue that has its turn.
    fn turn(&mut self, at: Picos, threads: &Threads) -> Option<usize> {
        let queues = self.queues.len();
        for queue in &mut self.queues {
            let is_packet = |it: &Command| matches!(it.what, Order::Packet(_));
            if queue.under_way == self.window && queue.commands.front().is_some_and(is_packet) {
                queue.waits_since.get_or_insert(at);
            }
        }
        let may = |queue: &Queue| {
            let first = queue.commands.front().filter(|_| queue.waits_since.is_none());
            first.is_some_and(|command| match command.what {
                Order::Start(job) => threads.has_room(job.of.process),
                Order::Packet(_) | Order::Descriptor(_) => true,
            })
        };
        let place =
            (0..queues).map(|step| (self.next + step) % queues).find(|&place| may(&self.queues[place]))?;
        self.next = (place + 1) % queues;
        Some(place)
    }

    /// Picoseconds in which the command processor was busy.
    pub(super) fn busy(&self) -> u64 {
        self.busy
    }

    /// Picoseconds until `at` in which the queue that has waited longest waited for answers.
    pub(super) fn waited(&self, at: Picos) -> u64 {
        let of =
            |queue: &Queue| queue.waited + queue.waits_since.map_or(0, |since| at.0.saturating_sub(since.0));
        self.queues.iter().map(of).max().unwrap_or(0)
    }

    /// Whether no command is anywhere.
    pub(super) fn is_idle(&self) -> bool {
        let is_idle =
            |queue: &Queue| queue.commands.is_empty() && queue.writing.is_none() && queue.blocks.is_empty();
        self.queues.iter().all(is_idle)
    }
}

impl Queue {
    /// It is no longer passed over.
    fn ends_wait(&mut self, at: Picos) {
        self.waited += self.waits_since.take().map_or(0, |since| at.0 - since.0);
    }

    /// Blocks that wait are in the queue as far as there is room, the first first.
    fn take_blocks(&mut self) {
        let bytes = |block: &Vec<Command>| block.iter().map(|command| command.bytes).sum::<u32>();
        while self.blocks.front().is_some_and(|block| bytes(block) <= self.room)
            && let Some(block) = self.blocks.pop_front()
        {
            self.room -= bytes(&block);
            self.commands.extend(block);
        }
    }

    /// The processor writes the commands of packets, as far as there is room.
    fn write(&mut self, cx: &mut ElanContext<'_>, packets: Packets) -> Posting {
        let bus = *cx.bus.settings();
        let begun = || Writing { all: packets.all(), written: 0, whole: 0, packet: Some(0), until: cx.at };
        let mut writing = self.writing.take().unwrap_or_else(begun);
        writing.until = writing.until.max(cx.at);
        while writing.written < writing.all {
            let bytes = u64::from(bus.burst).min(writing.all - writing.written) as u32;
            if self.room < bytes {
                self.waits = true;
                self.writing = Some(writing);
                return Posting::Waits;
            }
            self.room -= bytes;
            writing.written += u64::from(bytes);
            writing.until = plus(writing.until, bus.burst_time);
            let mut commands = Vec::new();
            while let Some(packet) = writing.packet {
                let (_, bytes) = packets.at(packet);
                if writing.whole + bytes > writing.written {
                    break;
                }
                commands.push(packets.command(packet));
                writing.whole += bytes;
                writing.packet = packets.next(packet);
            }
            cx.ask(writing.until, ElanEvent::Burst(packets.job.of.process, bytes, commands));
        }
        Posting::Until(writing.until)
    }

    /// The processor is busy for `issue` until it has written a descriptor, if there is room for it.
    fn write_descriptor(&mut self, cx: &mut ElanContext<'_>, job: Job, issue: Picos) -> Posting {
        if self.room < DESCRIPTOR {
            self.waits = true;
            return Posting::Waits;
        }
        self.room -= DESCRIPTOR;
        let bus = *cx.bus.settings();
        let until = plus(cx.at, issue);
        let mut left = DESCRIPTOR;
        for burst in (0..bus.bursts(DESCRIPTOR)).rev() {
            let written = Picos(until.0 - u64::from(burst) * bus.burst_time.0);
            let bytes = bus.burst.min(left);
            left -= bytes;
            let command = Command { what: Order::Descriptor(job), bytes: DESCRIPTOR };
            let commands = if left == 0 { vec![command] } else { Vec::new() };
            cx.ask(written, ElanEvent::Burst(job.of.process, bytes, commands));
        }
        Posting::Until(until)
    }
}

/// A processor has written a burst, with the last part of `commands`.
pub(super) fn burst(cx: &mut ElanContext<'_>, process: u8, bytes: u32, mut commands: Vec<Command>) {
    let there = cx.bus.write(cx.at, bytes);
    for command in &mut commands {
        command.story_mut().pass(Unit::Processor, cx.at);
        command.story_mut().pass(Unit::Bus, there);
    }
    cx.ask(there, ElanEvent::Queued(process, commands));
}

impl Elan4 {
    /// Commands are in the queue of a process.
    pub(super) fn queued(&mut self, cx: &mut ElanContext<'_>, process: u8, commands: Vec<Command>) {
        let queue = &mut self.commands.queues[usize::from(process)];
        if queue.is_in_error {
            self.counts.commands_dropped += self.commands.drop(cx, process, &commands);
        } else {
            queue.commands.extend(commands);
            self.work(cx);
        }
    }

    /// The command processor takes a command, if it is free and there is one.
    pub(super) fn work(&mut self, cx: &mut ElanContext<'_>) {
        if self.commands.is_busy {
            return;
        }
        let Some(place) = self.commands.turn(cx.at, &self.threads) else { return };
        let queue = &mut self.commands.queues[place];
        let mut command = queue.commands.pop_front().expect("a queue whose turn it is has a command");
        let ElanSettings { word_time, command: passes, form, .. } = self.settings;
        let time = Picos(word_time.0 * u64::from(command.bytes.div_ceil(WORD)));
        self.commands.is_busy = true;
        self.commands.busy += time.0;
        cx.ask(plus(cx.at, time), ElanEvent::Ready);
        command.story_mut().pass(Unit::Submission, cx.at);
        let passed = plus(cx.at, passes);
        match command.what {
            Order::Packet(mut packet) => {
                queue.under_way += 1;
                let formed = plus(passed, form);
                packet.header.story.pass(Unit::Command, formed);
                cx.ask(formed, ElanEvent::Hand(packet));
            }
            Order::Descriptor(mut job) => {
                job.story.pass(Unit::Command, passed);
                self.commands.give_back(cx, place as u16, command.bytes);
                cx.ask(passed, ElanEvent::Runs(job));
            }
            Order::Start(mut job) => {
                job.story.pass(Unit::Command, passed);
                self.commands.give_back(cx, place as u16, command.bytes);
                self.reserve(job.of.process);
                cx.ask(passed, ElanEvent::Started(job));
            }
        }
    }
}
