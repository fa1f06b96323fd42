//! Processors: each does one thing after the other.

use super::command::{Command, sten_commands};
use super::dma::Descriptor;
use super::{
    Completion, CompletionKind, Due, Found, Host, Operation, Program, Story, Submission, Unit, Verb, What,
};
use crate::host::noise::Noise;
use flitway_engine::Picos;
use flitway_nic::elan4::{DESCRIPTOR, WORD};

#[derive(Debug)]
pub(super) struct Processor {
    pub(super) program: Box<dyn Program>,
    /// What it has to do, in order.
    todo: Vec<Task>,
    /// Bursts of the operation that it posts, which it has not begun to write.
    bursts: Vec<Burst>,
    free: Picos,
    /// It waits for room in its queue, and since when it has, until it goes on.
    waits: bool,
    since: Option<Picos>,
    /// The number of the next operation.
    next: u64,
    /// Picoseconds in which it was busy.
    pub(super) busy: u64,
    /// Bytes that, as far as it knows, its queue has room for.
    room: u32,
    /// When it has dealt with the interrupts that have come.
    interrupts_end: Picos,
    noise: Option<Noise>,
}

#[derive(Debug)]
enum Task {
    Begin,
    See(Box<Completion>, Option<Found>),
    Post(Operation),
}

/// What a processor writes as one.
#[derive(Debug)]
pub(super) struct Burst {
    bytes: u32,
    /// The room that it waits for before, in bytes, and takes.
    room: u32,
    /// How long it is busy.
    time: Picos,
    /// The commands whose last part this is.
    commands: Vec<Command>,
}

impl Processor {
    pub(super) fn new(program: Box<dyn Program>, noise: Option<Noise>, room: u32) -> Self {
        let (todo, bursts) = (vec![Task::Begin], Vec::new());
        let (free, interrupts_end) = (Picos(0), Picos(0));
        Processor {
            program,
            todo,
            bursts,
            free,
            waits: false,
            since: None,
            next: 0,
            busy: 0,
            room,
            interrupts_end,
            noise,
        }
    }

    /// Whether it has written all of what it has begun to post.
    pub(super) fn has_written(&self) -> bool {
        self.bursts.is_empty()
    }

    fn act(&mut self, at: Picos, completion: Option<&Completion>) {
        let mut operations = Vec::new();
        self.program.act(at, completion, &mut operations);
        self.todo.extend(operations.into_iter().map(Task::Post));
    }
}

impl Host {
    fn processor(&mut self, process: u8) -> &mut Processor {
        &mut self.processors[usize::from(process)]
    }

    pub(super) fn visible(&mut self, process: u8, completion: Completion, message: Option<Found>) {
        if completion.what == CompletionKind::Interrupted {
            return self.is_interrupted(process, completion, message);
        }
        self.processor(process).todo.push(Task::See(Box::new(completion), message));
        self.next_task(process);
    }

    /// A processor deals with an interrupt, after those that have come before; what it was to do next comes so much later.
    fn is_interrupted(&mut self, process: u8, mut completion: Completion, found: Option<Found>) {
        let at = self.around.at;
        let words = found.as_ref().map_or(0, Found::copied).div_ceil(WORD.into());
        let takes = match found {
            Some(Found::Fault(_)) => self.settings.fault.0,
            _ => self.settings.interrupt.0 + words * self.settings.copy.0,
        };
        let processor = self.processor(process);
        let begins = at.max(processor.interrupts_end);
        let ends = Picos(begins.0 + takes);
        processor.interrupts_end = ends;
        completion.story.pass(Unit::Copy, ends);
        self.around.ask(ends, Due::Seen(process, completion, found));
        let processor = self.processor(process);
        if processor.since.is_some() {
            return;
        }
        processor.busy += takes;
        processor.free = Picos(processor.free.max(begins).0 + takes);
        let free = processor.free;
        self.around.ask(free, Due::Free(process));
    }

    pub(super) fn seen(&mut self, process: u8, completion: &Completion, message: Option<Found>) {
        let at = self.around.at;
        if let Some(message) = message {
            self.has_copied(process, message);
        }
        if completion.what != CompletionKind::Interrupted {
            self.processor(process).act(at, Some(completion));
        }
    }

    /// The process knows of room in its queue.
    pub(super) fn has_room(&mut self, process: u8, bytes: u32) {
        let at = self.around.at;
        let processor = self.processor(process);
        processor.room += bytes;
        if std::mem::take(&mut processor.waits) {
            let goes_on = at.max(processor.free);
            self.around.ask(goes_on, Due::Free(process));
        }
    }

    /// The processor does what comes next, if it is free.
    pub(super) fn next_task(&mut self, process: u8) {
        let (at, poll) = (self.around.at, self.settings.host.poll);
        let processor = self.processor(process);
        if processor.waits || processor.free > at {
            return;
        }
        let ends = processor.interrupts_end;
        if processor.since.is_some() && ends > at {
            return self.around.ask(ends, Due::Free(process));
        }
        let has_something = !processor.bursts.is_empty() || !processor.todo.is_empty();
        if let Some(ends) = processor.noise.as_mut().filter(|_| has_something).and_then(|it| it.ends(at)) {
            processor.free = ends;
            return self.around.ask(ends, Due::Free(process));
        }
        if let Some(since) = processor.since.take() {
            processor.busy += at.0 - since.0;
        }
        if !processor.bursts.is_empty() {
            return self.write_on(process);
        }
        if processor.todo.is_empty() {
            return;
        }
        match processor.todo.remove(0) {
            Task::Begin => {
                processor.act(at, None);
                self.busy_for(process, Picos(0));
            }
            Task::See(mut completion, message) => {
                if let Some(noise) = &mut processor.noise {
                    noise.has_held(&mut completion.story, at);
                }
                let copy = message.as_ref().map_or(0, Found::copied).div_ceil(WORD.into());
                let takes = Picos(poll.0 + copy * self.settings.copy.0);
                let seen = self.around.after(takes);
                completion.story.pass(Unit::Poll, self.around.after(poll));
                completion.story.pass(Unit::Copy, seen);
                self.around.ask(seen, Due::Seen(process, *completion, message));
                self.busy_for(process, takes);
            }
            Task::Post(operation) if operation.computes.0 > 0 => {
                processor.todo.insert(0, Task::Post(Operation { computes: Picos(0), ..operation }));
                let free = Picos(at.0 + operation.computes.0);
                processor.free = free;
                self.around.ask(free, Due::Free(process));
            }
            Task::Post(operation) => {
                let number = processor.next;
                processor.next += 1;
                let name = (self.around.node, process, number);
                let bursts = match operation.by {
                    Submission::Sten if operation.verb == Verb::Thread => {
                        self.bursts(vec![Command::for_thread(name, operation, Story::begin(at))])
                    }
                    Submission::Sten => self.bursts(sten_commands(
                        name,
                        process.into(),
                        &operation,
                        &self.settings,
                        Story::begin(at),
                    )),
                    Submission::Dma => self.bursts_of_dma(Descriptor::of(name, &operation, Story::begin(at))),
                    by => panic!("Elan4 has STEN and the DMA engine, and no {by:?}"),
                };
                self.processor(process).bursts = bursts;
                self.write_on(process);
            }
        }
    }

    /// Commands of packets, in bursts: each waits for room for itself.
    fn bursts(&self, commands: Vec<Command>) -> Vec<Burst> {
        let (burst, time) = (self.settings.host.bus.burst, self.settings.host.bus.burst_time);
        let mut left: u32 = commands.iter().map(|command| command.bytes).sum();
        let (mut bursts, mut written, mut end) = (Vec::new(), 0, 0);
        let mut commands = commands.into_iter().peekable();
        while left > 0 {
            let bytes = left.min(burst);
            (left, written) = (left - bytes, written + bytes);
            let mut ended = Vec::new();
            while let Some(command) = commands.next_if(|command| end + command.bytes <= written) {
                end += command.bytes;
                ended.push(command);
            }
            bursts.push(Burst { bytes, room: bytes, time, commands: ended });
        }
        bursts
    }

    /// A descriptor, in bursts: the first waits for room for all of it, and is written so that the last ends after `issue`.
    fn bursts_of_dma(&self, descriptor: Descriptor) -> Vec<Burst> {
        let burst_time = self.settings.host.bus.burst_time;
        let mut bursts = self.bursts(vec![Command::of_descriptor(descriptor)]);
        bursts.iter_mut().for_each(|burst| burst.room = 0);
        bursts[0].room = DESCRIPTOR;
        bursts[0].time = Picos(self.settings.issue.0 - burst_time.0 * (bursts.len() as u64 - 1));
        bursts
    }

    /// The processor writes bursts, as long as it knows of room for the next.
    fn write_on(&mut self, process: u8) {
        let at = self.around.at;
        let mut written = Picos(0);
        loop {
            let processor = self.processor(process);
            if processor.bursts.is_empty() {
                return self.busy_for(process, written);
            }
            if processor.bursts[0].room > processor.room {
                processor.free = Picos(at.0 + written.0);
                (processor.waits, processor.since) = (true, Some(at));
                return;
            }
            let burst = processor.bursts.remove(0);
            processor.room -= burst.room;
            written.0 += burst.time.0;
            self.around.ask(self.around.after(written), Due::Burst(process, burst));
        }
    }

    /// A burst has been written, and goes over the bus.
    pub(super) fn burst(&mut self, process: u8, burst: Burst) {
        let at = self.around.at;
        let there = self.bus.write(at, burst.bytes);
        let mut commands = burst.commands;
        if commands.is_empty() {
            return;
        }
        for command in &mut commands {
            command.story().pass(Unit::Processor, at);
            command.story().pass(Unit::Bus, there);
        }
        self.around.ask(there, Due::Queued(process, commands));
    }

    fn busy_for(&mut self, process: u8, time: Picos) {
        let free = self.around.after(time);
        let processor = self.processor(process);
        processor.busy += time.0;
        processor.free = free;
        self.around.ask(free, Due::Free(process));
    }
}

impl Descriptor {
    /// The put of an operation by DMA.
    fn of(name: super::Name, operation: &Operation, story: Story) -> Self {
        Descriptor {
            name,
            what: What::Put,
            node: operation.node,
            bytes: operation.bytes,
            first: 0,
            from: operation.local(name.1),
            to: operation.remote(),
            tells_left: operation.tells_left,
            event: operation.event,
            story,
        }
    }
}
