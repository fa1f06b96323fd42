//! Processors: each does one thing after the other.

use super::submission::Descriptor;
use super::{Completion, Due, Host, Operation, Part, Program, Ring, Story};
use crate::host::noise::Noise;
use flitway_engine::Picos;
use flitway_nic::host::program::{Submission, Waits};
use flitway_nic::th::end_to_end::ContextUse;

#[derive(Debug)]
pub(super) struct Processor {
    pub(super) program: Box<dyn Program>,
    /// What it has to do, in order.
    todo: Vec<Task>,
    free: Picos,
    /// It waits for room in its queue.
    waits: bool,
    /// It sleeps until an interrupt.
    sleeps: bool,
    /// The number of the next operation.
    next: u64,
    /// Picoseconds in which it was busy.
    pub(super) busy: u64,
    /// Descriptors that, as far as it knows, its queue on the chip and that in memory have room for.
    pub(super) hdq_room: u32,
    pub(super) sdq_room: u32,
    noise: Option<Noise>,
}

#[derive(Debug)]
enum Task {
    Begin,
    See(Ring, Completion),
    Post(Operation),
    /// An operation that it has come to, and for which there was no room.
    Wait(Descriptor),
}

impl Processor {
    pub(super) fn new(program: Box<dyn Program>, noise: Option<Noise>, hdq_room: u32, sdq_room: u32) -> Self {
        let todo = vec![Task::Begin];
        Processor {
            program,
            todo,
            free: Picos(0),
            waits: false,
            sleeps: false,
            next: 0,
            busy: 0,
            hdq_room,
            sdq_room,
            noise,
        }
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

    /// A process begins to see completion; of a reliable transfer, `receiver` says DONE just before.
    pub(super) fn visible(
        &mut self,
        process: u8,
        ring: Ring,
        completion: Completion,
        receiver: Option<ContextUse>,
    ) {
        if let Some(receiver) = receiver {
            self.finished(receiver);
        }
        self.processor(process).todo.push(Task::See(ring, completion));
        self.next_task(process);
    }

    pub(super) fn seen(&mut self, process: u8, ring: Ring, completion: &Completion) {
        self.entry_seen(process, ring);
        let at = self.around.at;
        self.processor(process).act(at, Some(completion));
    }

    /// The queue that `process` may wait for has room.
    pub(super) fn go_on(&mut self, process: u8) {
        let at = self.around.at;
        let processor = self.processor(process);
        if processor.waits {
            processor.waits = false;
            processor.free = at;
            self.around.ask(at, Due::Free(process));
        }
    }

    /// The processor does what comes next, if it is free.
    pub(super) fn next_task(&mut self, process: u8) {
        let (at, poll) = (self.around.at, self.settings.host.poll);
        let processor = self.processor(process);
        if processor.waits || processor.free > at || processor.sleeps {
            return;
        }
        if processor.todo.is_empty() {
            if processor.program.setup().waits == Waits::Sleeping {
                processor.sleeps = true;
                self.says_it_sleeps(process);
            }
            return;
        }
        if let Some(ends) = processor.noise.as_mut().and_then(|noise| noise.ends(at)) {
            processor.free = ends;
            return self.around.ask(ends, Due::Free(process));
        }
        match processor.todo.remove(0) {
            Task::Begin => {
                processor.act(at, None);
                self.busy_for(process, Picos(0));
            }
            Task::See(ring, mut completion) => {
                if let Some(noise) = &mut processor.noise {
                    noise.has_held(&mut completion.story, at);
                }
                let seen = self.around.after(poll);
                completion.story.pass(Part::Poll, seen);
                self.around.ask(seen, Due::Seen(process, ring, completion));
                self.busy_for(process, poll);
            }
            Task::Post(operation) => {
                let number = processor.next;
                processor.next += 1;
                let name = (self.around.node, process, number);
                self.try_to_post(process, Descriptor::of(name, &operation, Story::begin(at)));
            }
            Task::Wait(descriptor) => self.try_to_post(process, descriptor),
        }
    }

    /// The system software has handled the interrupt for a process that sleeps, for `time`.
    pub(super) fn wake(&mut self, process: u8, time: Picos) {
        let at = self.around.at;
        let processor = self.processor(process);
        assert!(processor.sleeps, "one that sleeps is woken once");
        processor.sleeps = false;
        processor.busy += time.0;
        for task in &mut processor.todo {
            match task {
                Task::See(_, completion) => completion.story.pass(Part::Interrupt, at),
                _ => panic!("a process that sleeps has nothing else to do"),
            }
        }
        self.next_task(process);
    }

    fn try_to_post(&mut self, process: u8, mut descriptor: Descriptor) {
        let at = self.around.at;
        let by = descriptor.by.expect("a processor posts it");
        let processor = self.processor(process);
        processor.busy += at.0 - descriptor.story.until().0;
        descriptor.story.pass(Part::Processor, at);
        let room = match by {
            Submission::Hdq => &mut processor.hdq_room,
            Submission::Sdq => &mut processor.sdq_room,
            _ => panic!("the NIC of TH Express-2 has two kinds of queues, and no {by:?}"),
        };
        if *room == 0 {
            processor.waits = true;
            processor.todo.insert(0, Task::Wait(descriptor));
        } else {
            *room -= 1;
            let time = self.write_descriptor(process, by, descriptor);
            self.busy_for(process, time);
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
