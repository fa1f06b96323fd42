//! Processors: each does one thing after the other, its program's or its library's, and sees what comes while it waits.

use super::channel::{Descriptor, NAP};
use super::words::Word;
use super::{Completion, Due, Host, Operation, Peer, Sight, Story, Unit, What};
use crate::host::noise::Noise;
use flitway_engine::Picos;
use flitway_nic::host::program::{CompletionKind, Program, Submission, Verb};
use flitway_nic::nap::{DESCRIPTOR, DOORBELL, HANDSHAKE, NAP_HEAD, WORD};

#[derive(Debug)]
pub(super) struct Processor {
    pub(super) program: Box<dyn Program>,
    /// What it has to do, in order.
    todo: Vec<Task>,
    free: Picos,
    /// It waits to post what comes first.
    waits: bool,
    /// The number of the next operation.
    next: u64,
    /// Picoseconds in which it was busy, or waited to post.
    pub(super) busy: u64,
    /// By kind of queue: descriptors that, as far as it knows, it has room for.
    pub(super) room: [u32; 2],
    /// Words under way, since when they are as many as may be, and for how long they have been before.
    words: u32,
    /// Locks that it has asked for, and not got.
    locks: u32,
    words_full_since: Option<u64>,
    words_full: u64,
    /// Credits that it owes, and has not told the NIC of.
    owed: Vec<(Peer, u32)>,
    /// Event records that it has seen since it last told the NIC.
    records: u32,
    noise: Option<Noise>,
}

#[derive(Debug)]
enum Task {
    Begin,
    See(Sight),
    Post(Operation),
    /// What its library has to post.
    Step(Step),
    /// What it has come to, and could not post.
    Again(Step),
}

/// What is posted: an operation, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    name: super::Name,
    operation: Operation,
    what: What,
    story: Story,
}

impl Processor {
    pub(super) fn new(program: Box<dyn Program>, noise: Option<Noise>, depth: u32) -> Self {
        Processor {
            program,
            todo: vec![Task::Begin],
            free: Picos(0),
            waits: false,
            next: 0,
            busy: 0,
            room: [depth; 2],
            words: 0,
            locks: 0,
            words_full_since: None,
            words_full: 0,
            owed: Vec::new(),
            records: 0,
            noise,
        }
    }

    fn act(&mut self, at: Picos, completion: Option<&Completion>) {
        let mut operations = Vec::new();
        self.program.act(at, completion, &mut operations);
        self.todo.extend(operations.into_iter().map(Task::Post));
    }

    /// What it does next: what it sees, if it waits.
    fn next_task(&mut self) -> Option<Task> {
        self.next_place().map(|place| self.todo.remove(place))
    }

    fn next_place(&self) -> Option<usize> {
        let place = match self.waits {
            true => self.todo.iter().position(|task| matches!(task, Task::See(_)))?,
            false => 0,
        };
        (place < self.todo.len()).then_some(place)
    }

    /// For how long it had as many words under way as may be.
    pub(super) fn words_full(&self, at: Picos) -> u64 {
        self.words_full + self.words_full_since.map_or(0, |since| at.0 - since)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.todo.is_empty() && self.words == 0 && self.locks == 0
    }

    /// All that it owes to `peer`, of which it tells the NIC.
    fn pay(&mut self, peer: Peer) -> u32 {
        let place = self.owed.iter().position(|(to, _)| *to == peer);
        place.map_or(0, |place| self.owed.remove(place).1)
    }
}

impl Host {
    fn processor(&mut self, process: u8) -> &mut Processor {
        &mut self.processors[usize::from(process)]
    }

    /// Memory or a register has something for a process.
    pub(super) fn visible(&mut self, process: u8, sight: Sight) {
        self.processor(process).todo.push(Task::See(sight));
        self.work(process);
    }

    /// The process has seen it.
    pub(super) fn seen(&mut self, process: u8, sight: Sight) {
        let at = self.around.at;
        match sight {
            Sight::Slot { name, operation, what, is_last, from, story } => {
                self.slot_seen(process, from);
                let step = |what| Task::Step(Step { name, operation, what, story });
                match what {
                    What::Message if is_last => {
                        let completion = super::completion(CompletionKind::Received, name, &operation, story);
                        self.processor(process).act(at, Some(&completion));
                    }
                    What::Message => {}
                    What::Ask => self.processor(process).todo.push(step(What::Grant)),
                    What::Grant => self.processor(process).todo.push(step(What::Put)),
                    what => panic!("{what:?} is in no slot"),
                }
            }
            Sight::Record(completion) => {
                self.record_seen(process);
                self.processor(process).act(at, Some(&completion));
            }
            Sight::Word(completion) | Sight::Barrier(completion) => {
                self.processor(process).act(at, Some(&completion));
            }
        }
    }

    /// A process that has seen a slot owes its sender a credit.
    fn slot_seen(&mut self, process: u8, from: Peer) {
        let half = self.settings.credits().div_ceil(2);
        let processor = self.processor(process);
        let owed = processor.pay(from) + 1;
        if owed < half {
            processor.owed.push((from, owed));
            return;
        }
        let there = self.bus.write(process, self.around.at, DOORBELL);
        self.around.ask(there, Due::Owed(process, from, owed));
    }

    /// A process has seen an event record.
    fn record_seen(&mut self, process: u8) {
        let quarter = self.settings.events.div_ceil(4);
        let processor = self.processor(process);
        processor.records += 1;
        if processor.records == quarter {
            processor.records = 0;
            let there = self.bus.write(process, self.around.at, DOORBELL);
            self.around.ask(there, Due::Entries(process, quarter));
        }
    }

    /// The processor may be free, or know of room.
    pub(super) fn free(&mut self, process: u8) {
        self.processor(process).waits = false;
        self.work(process);
    }

    /// The process knows of room in a queue.
    pub(super) fn has_room(&mut self, process: u8, queue: usize, count: u32) {
        self.processor(process).room[queue] += count;
        self.release(process);
    }

    /// If the processor waits it goes on, after what has been asked for with this date.
    fn release(&mut self, process: u8) {
        if self.processor(process).waits {
            self.around.ask(self.around.at, Due::Free(process));
        }
    }

    /// The processor does what comes next, if it is free.
    fn work(&mut self, process: u8) {
        let (at, poll, node) = (self.around.at, self.settings.host.poll, self.around.node);
        let processor = self.processor(process);
        if processor.free > at {
            return;
        }
        let has_something = processor.next_place().is_some();
        if let Some(ends) = processor.noise.as_mut().filter(|_| has_something).and_then(|it| it.ends(at)) {
            processor.free = ends;
            return self.around.ask(ends, Due::Free(process));
        }
        match processor.next_task() {
            None => {}
            Some(Task::Begin) => {
                processor.act(at, None);
                self.busy_for(process, Picos(0));
            }
            Some(Task::See(mut sight)) => {
                let poll = if matches!(sight, Sight::Word(_)) { Picos(0) } else { poll };
                if !processor.waits {
                    processor.busy += poll.0;
                }
                processor.free = Picos(at.0 + poll.0);
                let free = processor.free;
                if let Some(noise) = &mut processor.noise {
                    noise.has_held(sight.story(), at);
                }
                sight.story().pass(Unit::Poll, free);
                self.around.ask(free, Due::Seen(process, sight));
                self.around.ask(free, Due::Free(process));
            }
            Some(Task::Post(operation)) if operation.computes.0 > 0 => {
                processor.todo.insert(0, Task::Post(Operation { computes: Picos(0), ..operation }));
                let free = Picos(at.0 + operation.computes.0);
                processor.free = free;
                self.around.ask(free, Due::Free(process));
            }
            Some(Task::Post(operation)) => {
                let name = (node, process, processor.next);
                processor.next += 1;
                let what = What::begins(&operation);
                self.try_to_post(process, Step { name, operation, what, story: Story::begin(at) });
            }
            Some(Task::Step(mut step)) => {
                step.story.pass(Unit::Processor, at);
                self.try_to_post(process, step);
            }
            Some(Task::Again(mut step)) => {
                processor.busy += at.0 - step.story.until().0;
                step.story.pass(Unit::Processor, at);
                self.try_to_post(process, step);
            }
        }
    }

    fn try_to_post(&mut self, process: u8, step: Step) {
        let words = self.settings.words;
        let processor = self.processor(process);
        let has_room = match step.what {
            What::Barrier => true,
            What::Word if step.operation.verb == Verb::Lock => true,
            What::Word => processor.words < words,
            what => processor.room[what.queue()] > 0,
        };
        if !has_room {
            processor.waits = true;
            processor.todo.insert(0, Task::Again(step));
            // It sees what has come.
            return self.work(process);
        }
        match step.what {
            What::Word => self.post_word(process, step),
            What::Barrier => {
                let Step { name, operation, story, .. } = step;
                let completion = super::completion(CompletionKind::Reached, name, &operation, story);
                self.write_bursts(
                    process,
                    Picos(0),
                    DOORBELL.min(self.settings.host.bus.burst),
                    Written::Comes(Box::new(completion)),
                );
            }
            _ => self.post_descriptor(process, step),
        }
    }

    fn post_descriptor(&mut self, process: u8, step: Step) {
        let Step { name, operation, what, story } = step;
        let own = Peer { node: self.around.node, process };
        let to = match what {
            What::Grant => Peer { node: name.0, process: name.1 },
            _ => Peer { node: operation.node, process: operation.process },
        };
        let immediate = u64::from(self.settings.immediate);
        let has_data = operation.by == Submission::Pio && operation.bytes <= immediate;
        let bytes = match what {
            What::Message if has_data => NAP_HEAD + (operation.bytes as u32).div_ceil(WORD) * WORD,
            What::Ask | What::Grant => NAP_HEAD + HANDSHAKE,
            _ => DESCRIPTOR,
        };
        let reads = what == What::Put || what == What::Message && !has_data;
        let processor = self.processor(process);
        processor.room[what.queue()] -= 1;
        let credits = if what.queue() == NAP { processor.pay(to) } else { 0 };
        let descriptor = Descriptor { name, operation, what, from: own, to, reads, story, credits, taken: 0 };
        self.write_bursts(process, self.settings.issue, bytes, Written::Descriptor(Box::new(descriptor)));
    }

    fn post_word(&mut self, process: u8, step: Step) {
        let (at, most) = (self.around.at, self.settings.words);
        let Step { name, operation, story, .. } = step;
        let processor = self.processor(process);
        if operation.verb == Verb::Lock {
            processor.locks += 1;
        } else {
            processor.words += 1;
            if processor.words == most {
                processor.words_full_since = Some(at.0);
            }
        }
        let bytes = if operation.verb == Verb::Load { 0 } else { operation.bytes as u32 };
        self.write_bursts(process, Picos(0), bytes, Written::Word(Box::new(Word { name, operation, story })));
    }

    /// The process has a lock that it has asked for.
    pub(super) fn lock_is_there(&mut self, process: u8) {
        self.processor(process).locks -= 1;
    }

    /// A word of the process is no longer under way.
    pub(super) fn word_is_over(&mut self, process: u8) {
        let at = self.around.at;
        let processor = self.processor(process);
        processor.words -= 1;
        if let Some(since) = processor.words_full_since.take() {
            processor.words_full += at.0 - since;
        }
        self.release(process);
    }

    /// After `issue` the processor writes `bytes` in bursts, one behind the other; the last has the end of `what`.
    fn write_bursts(&mut self, process: u8, issue: Picos, bytes: u32, what: Written) {
        let (burst, time) = (self.settings.host.bus.burst, self.settings.host.bus.burst_time);
        let mut written = issue;
        let mut left = bytes;
        while left > burst {
            written.0 += time.0;
            self.around.ask(self.around.after(written), Due::Burst(process, burst, None));
            left -= burst;
        }
        written.0 += time.0;
        self.around.ask(self.around.after(written), Due::Burst(process, left, Some(what)));
        self.busy_for(process, written);
    }

    /// A burst has been written, and goes over the bus.
    pub(super) fn burst(&mut self, process: u8, bytes: u32, what: Option<Written>) {
        let at = self.around.at;
        let there = self.bus.write(process, at, bytes);
        match what {
            None => {}
            Some(Written::Descriptor(mut descriptor)) => {
                descriptor.story.pass(Unit::Processor, at);
                descriptor.story.pass(Unit::Bus, there);
                self.around.ask(there, Due::Queued(process, descriptor));
            }
            Some(Written::Word(mut word)) => {
                word.story.pass(Unit::Processor, at);
                word.story.pass(Unit::Bus, there);
                self.word_asked_for(*word, there);
            }
            Some(Written::Comes(mut completion)) => {
                completion.story.pass(Unit::Processor, at);
                completion.story.pass(Unit::Bus, there);
                self.around.ask(Picos(there.0 + self.settings.barrier.0), Due::Comes(completion));
            }
        }
    }

    fn busy_for(&mut self, process: u8, time: Picos) {
        let free = self.around.after(time);
        let processor = self.processor(process);
        processor.busy += time.0;
        processor.free = free;
        self.around.ask(free, Due::Free(process));
    }
}

/// What the last burst of a write has the end of.
#[derive(Debug)]
pub(super) enum Written {
    Descriptor(Box<Descriptor>),
    Word(Box<Word>),
    Comes(Box<Completion>),
}
