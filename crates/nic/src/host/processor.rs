//! A processor, and what it has to do.

use super::Post;
use super::noise::NoiseOf;
use super::program::{Completion, Operation, Program, Waits};
use super::story::{Story, Unit};
use crate::Place;
use flitway_engine::Picos;
use std::collections::VecDeque;

/// A processor, with the process that runs on it.
#[derive(Debug)]
pub(super) struct Processor {
    pub(super) program: Box<dyn Program>,
    /// What it has to do, the first first.
    pub(super) todo: VecDeque<Task>,
    /// When it is free.
    pub(super) free: Picos,
    /// It waits to post what comes first.
    pub(super) waits: bool,
    /// How its process finds out what comes, and whether it sleeps.
    pub(super) by: Waits,
    pub(super) is_asleep: bool,
    /// The number of the next operation.
    pub(super) number: u64,
    /// Picoseconds in which it was busy, or waited to post.
    pub(super) busy: u64,
    /// Until when it deals with interrupts.
    pub(super) interrupted: Picos,
    noise: Option<NoiseOf>,
}

/// What a processor does next.
#[derive(Debug)]
pub(super) enum Task {
    Begin,
    See(Completion),
    Post(Operation),
    /// The same, when it has been tried before.
    Again(Post),
    /// A step that its library has added.
    Step(Post),
}

impl Processor {
    /// One on which `program` begins, as that process of the node that `place` names.
    pub(super) fn new(program: Box<dyn Program>, place: Place, process: u8) -> Self {
        let setup = program.setup();
        Processor {
            by: setup.waits,
            noise: setup.noise.map(|noise| NoiseOf::new(noise, place, process)),
            is_asleep: false,
            program,
            todo: VecDeque::from([Task::Begin]),
            free: Picos(0),
            waits: false,
            number: 0,
            busy: 0,
            interrupted: Picos(0),
        }
    }

    /// What it does next; while it waits to post, only what it sees then, if it does.
    pub(super) fn next(&mut self, sees_while_waiting: bool) -> Option<Task> {
        self.place(sees_while_waiting).and_then(|place| self.todo.remove(place))
    }

    /// Which task that is.
    fn place(&self, sees_while_waiting: bool) -> Option<usize> {
        if !self.waits {
            return (!self.todo.is_empty()).then_some(0);
        }
        let first = || self.todo.iter().position(|task| matches!(task, Task::See(_)));
        if sees_while_waiting { first() } else { None }
    }

    /// Until when system software has it at `at`, if it has something to do.
    pub(super) fn noise_until(&self, at: Picos, sees_while_waiting: bool) -> Option<Picos> {
        let noise = self.noise.as_ref()?;
        self.place(sees_while_waiting).and_then(|_| noise.until(at))
    }

    /// What it sees at `at` has waited for system software, if that had it until then.
    pub(super) fn pass_noise(&self, story: &mut Story, at: Picos) {
        if let Some(since) = self.noise.as_ref().and_then(|noise| noise.since(at)) {
            story.pass(Unit::Poll, since.max(story.until()));
            story.pass(Unit::Noise, at);
        }
    }

    /// Whether it waits for room for an operation, or has not gone on since.
    pub(super) fn has_waited(&self) -> bool {
        matches!(self.todo.front(), Some(Task::Again(_)))
    }

    /// It has nothing to do now: whether it sleeps from now on.
    pub(super) fn falls_asleep(&mut self) -> bool {
        self.is_asleep = self.by == Waits::Sleeping && !self.waits;
        self.is_asleep
    }

    /// An interrupt that has been handled in `time` wakes it.
    pub(super) fn wake(&mut self, at: Picos, time: Picos) {
        self.is_asleep = false;
        self.busy += time.0;
        for task in &mut self.todo {
            if let Task::See(completion) = task {
                completion.story.pass(Unit::Interrupt, at);
            }
        }
    }

    pub(super) fn act(&mut self, at: Picos, completion: Option<&Completion>) {
        let mut todo = Vec::new();
        self.program.act(at, completion, &mut todo);
        self.todo.extend(todo.into_iter().map(Task::Post));
    }
}
