//! An operation of many nodes that the threads of their NICs carry out, again and again: what is measured with `--nic
//! 'reduce(0-63)'`, `'gather(0-63)'` and `'thread(0-63, program=FILE)'`.
//!
//! The process of each of consecutive nodes tells its thread that the next operation begins, and goes on when the thread tells
//! it that it is over. What the thread does is up to its program, which finds a tree of the nodes in its registers.

use crate::operator::Done;
use flitway_engine::Picos;
use flitway_nic::host::program::{Completion, Operation, Program, Submission, Verb};
use flitway_nic::host::thread::{Code, Thread, Words};
use flitway_wiring::NodeId;
use std::any::Any;
use std::sync::Arc;

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadsSettings {
    /// The first node, and how many there are from it on; two or more.
    pub nodes: (NodeId, u32),
    /// The most children of a node; 1 at least.
    pub arity: u32,
    /// Data of each process in bytes.
    pub bytes: u64,
    /// How many operations count.
    pub count: u32,
    /// How many come before those.
    pub warm_up: u32,
    /// The most that a packet of STEN has, in bytes.
    pub packet: u64,
    /// The program.
    pub code: Arc<Code>,
}

/// The only process of each node.
const PROCESS: u8 = 0;
/// Where its data are, and where results go.
const DATA: u64 = 0;
const RESULT: u64 = 1 << 32;
/// Bytes of the words of a command.
const WORDS: u64 = 32;

/// The process of a node.
#[derive(Clone, Debug)]
pub struct ThreadMember {
    settings: ThreadsSettings,
    rank: u32,
    begun: u32,
    done: Done,
}

impl ThreadMember {
    /// That of `node`.
    ///
    /// # Panics
    /// If it is none of the nodes.
    #[must_use]
    pub fn new(settings: ThreadsSettings, node: NodeId) -> Self {
        let rank = node.0.checked_sub(settings.nodes.0.0).filter(|&rank| rank < settings.nodes.1);
        let rank = rank.expect("a node of those that take part");
        ThreadMember { settings, rank, begun: 0, done: Done::default() }
    }

    /// What it has seen.
    #[must_use]
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Whether it has seen the end of all.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done.seen == self.settings.count + self.settings.warm_up
    }

    /// Tells the thread that an operation begins: 0, a value, how many bytes of data there are, and where; and the data if they
    /// fit into a packet with that.
    fn begin(&mut self, todo: &mut Vec<Operation>) {
        let ThreadsSettings { nodes, bytes, count, warm_up, packet, .. } = self.settings;
        if self.begun == count + warm_up {
            return;
        }
        self.begun += 1;
        let fits = bytes + WORDS <= packet;
        todo.push(Operation {
            bytes: if fits { bytes } else { 0 },
            here: DATA,
            words: Some(Words::of(&[0, u64::from(self.rank) + 1, bytes, DATA])),
            ..Operation::plain(Verb::Thread, Submission::Sten, (NodeId(nodes.0.0 + self.rank), PROCESS))
        });
    }
}

impl Program for ThreadMember {
    fn act(&mut self, _: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        if let Some(completion) = completion {
            self.done.record(&completion.story, self.settings.warm_up);
        }
        self.begin(todo);
    }

    fn thread(&self) -> Option<Thread> {
        let ThreadsSettings { nodes: (first, count), arity, .. } = self.settings;
        let registers = [self.rank.into(), count.into(), first.0.into(), arity.into(), RESULT, 0];
        Some(Thread { code: Arc::clone(&self.settings.code), registers })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
