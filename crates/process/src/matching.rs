//! Sends that the threads of two nodes match with receives, again and again: what is measured with `--nic 'send(0-1,
//! match=1)'`.
//!
//! Both ends have the built-in program `match` on their NIC, and post receives before what they wait for is sent. So many
//! entries that nothing ever matches come first in the list of each. A message whose data fit into a packet of STEN has them;
//! of another one the packet says where they are, and the thread of the other node has the DMA engine here send them
//! (qsnet2.txt "Input queues"; P-QS-052, P-QS-053). **Ping-pong** and **streams** are as in [`operator`](crate::operator).
//! The process of the other node can be *late*: it computes before it posts a receive, so that the message is not expected.

use crate::operator::Done;
use flitway_engine::Picos;
use flitway_nic::host::program::{Completion, CompletionKind, Operation, Program, Submission, Verb};
use flitway_nic::host::thread::{Code, Thread, Words};
use flitway_wiring::NodeId;
use std::any::Any;
use std::sync::Arc;

/// What becomes of a message that no receive waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unexpected {
    /// The NIC keeps it.
    Keep,
    /// The NIC refuses it, and its source sends it again.
    Refuse,
    /// The NIC interrupts the processor, which puts it aside.
    Interrupt,
}

impl Unexpected {
    /// All of them, each at its number in the program.
    pub const ALL: [Unexpected; 3] = [Unexpected::Keep, Unexpected::Refuse, Unexpected::Interrupt];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unexpected::Keep => "keep",
            Unexpected::Refuse => "refuse",
            Unexpected::Interrupt => "interrupt",
        }
    }
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchSettings {
    /// The callers' node, and the other one.
    pub nodes: [NodeId; 2],
    /// Data of each in bytes.
    pub bytes: u64,
    /// How many of each caller count.
    pub count: u32,
    /// How many of each caller come before those.
    pub warm_up: u32,
    /// How many of a caller are under way; `None` for ping-pong.
    pub outstanding: Option<u32>,
    /// The place in the list of the receive that matches, 1 for the first.
    pub place: u32,
    /// What becomes of messages that no receive waits for.
    pub unexpected: Unexpected,
    /// For how long the process of the other node computes before it posts a receive.
    pub late: Picos,
    /// The most that a packet of STEN has, in bytes.
    pub packet: u64,
    /// The program `match`.
    pub code: Arc<Code>,
}

/// Kinds of items, as the program has them.
const RECEIVE: u64 = 0;
const MESSAGE: u64 = 1;
const ENVELOPE: u64 = 2;
/// The tag of what is sent, and that of receives that nothing matches.
const TAG: u64 = 1;
const NO_TAG: u64 = 2;
/// Where data go, and where those are put aside that are not expected.
const TO: u64 = 1 << 32;
const ASIDE: u64 = 1 << 33;

/// Bytes of the words of a message that has its data with it.
const WORDS: u64 = 16;

impl MatchSettings {
    /// Whether a message has its data with it.
    #[must_use]
    pub fn has_data(&self) -> bool {
        self.bytes + WORDS <= self.packet
    }

    fn all(&self) -> u32 {
        self.count + self.warm_up
    }

    /// A send of `process` from the node at `from`.
    #[must_use]
    pub fn send(&self, from: usize, process: u8) -> Operation {
        let has_data = self.has_data();
        let words =
            if has_data { Words::of(&[MESSAGE, TAG]) } else { Words::of(&[ENVELOPE, TAG, self.bytes, 0]) };
        Operation {
            bytes: if has_data { self.bytes } else { 0 },
            tells_left: self.outstanding.is_some(),
            words: Some(words),
            ..Operation::plain(Verb::Send, Submission::Sten, (self.nodes[1 - from], process))
        }
    }
}

/// One end: the process of the caller, or that of the other node.
#[derive(Clone, Debug)]
pub struct Matcher {
    settings: MatchSettings,
    process: u8,
    is_caller: bool,
    sent: u32,
    received: u32,
    done: Done,
}

impl Matcher {
    /// The caller, or the other end, of `process`.
    #[must_use]
    pub fn new(settings: MatchSettings, process: u8, is_caller: bool) -> Self {
        Matcher { settings, process, is_caller, sent: 0, received: 0, done: Done::default() }
    }

    /// What it has seen.
    #[must_use]
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Whether it has seen all that it is to see.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let sees = self.settings.outstanding.is_none() || !self.is_caller;
        !sees || self.done.seen == self.settings.all()
    }

    fn send(&mut self, todo: &mut Vec<Operation>) {
        if self.sent < self.settings.all() {
            self.sent += 1;
            todo.push(self.settings.send(usize::from(!self.is_caller), self.process));
        }
    }

    /// A receive, which waits at `TO`.
    fn post(&self, tag: u64, computes: Picos) -> Operation {
        let from = usize::from(!self.is_caller);
        Operation {
            verb: Verb::Thread,
            node: self.settings.nodes[from],
            bytes: 0,
            tells_left: false,
            words: Some(Words::of(&[RECEIVE, tag, TO])),
            computes,
            ..self.settings.send(from, self.process)
        }
    }

    fn receive(&mut self, todo: &mut Vec<Operation>) {
        let late = if self.is_caller { Picos(0) } else { self.settings.late };
        if self.received < self.settings.all() {
            self.received += 1;
            todo.push(self.post(TAG, late));
        }
    }
}

impl Program for Matcher {
    fn act(&mut self, _: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        let MatchSettings { outstanding, place, warm_up, .. } = self.settings;
        let Some(completion) = completion else {
            let receives = outstanding.is_none() || !self.is_caller;
            if receives {
                todo.extend((1..place).map(|_| self.post(NO_TAG, Picos(0))));
                (0..outstanding.unwrap_or(1)).for_each(|_| self.receive(todo));
            }
            if self.is_caller {
                (0..outstanding.unwrap_or(1)).for_each(|_| self.send(todo));
            }
            return;
        };
        match completion.what {
            CompletionKind::Left => self.send(todo),
            CompletionKind::Received | CompletionKind::Fetched => {
                self.done.record(&completion.story, warm_up);
                if outstanding.is_none() {
                    self.send(todo);
                }
                self.receive(todo);
            }
            CompletionKind::Loaded
            | CompletionKind::Reached
            | CompletionKind::Refused
            | CompletionKind::Interrupted
            | CompletionKind::Failed => {}
        }
    }

    fn thread(&self) -> Option<Thread> {
        let unexpected = self.settings.unexpected;
        let policy = Unexpected::ALL.iter().position(|it| *it == unexpected).expect("it is one of them");
        let code = Code { answers: unexpected == Unexpected::Refuse, ..(*self.settings.code).clone() };
        Some(Thread { code: Arc::new(code), registers: [0, 0, 0, 0, ASIDE, policy as u64] })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_nic::host::story::Story;

    fn settings() -> MatchSettings {
        MatchSettings {
            nodes: [NodeId(3), NodeId(5)],
            bytes: 8,
            count: 2,
            warm_up: 1,
            outstanding: None,
            place: 3,
            unexpected: Unexpected::Keep,
            late: Picos(7),
            packet: 128,
            code: Arc::new(Code { name: String::new(), answers: false, steps: Vec::new() }),
        }
    }

    fn acts(matcher: &mut Matcher, what: Option<CompletionKind>) -> Vec<(Verb, u32, [u64; 2], u64)> {
        let story = Story::begin(Picos(0));
        let completion =
            what.map(|what| Completion { what, number: 0, node: NodeId(0), process: 0, bytes: 8, story });
        let mut todo = Vec::new();
        matcher.act(Picos(0), completion.as_ref(), &mut todo);
        let of = |operation: &Operation| {
            let [kind, tag, ..] = operation.words.map_or([0; 6], |words| words.all());
            (operation.verb, operation.node.0, [kind, tag], operation.computes.0)
        };
        todo.iter().map(of).collect()
    }

    #[test]
    fn receives_are_posted_before_what_they_wait_for_and_late_by_the_other_end() {
        let nothing = (Verb::Thread, 3, [RECEIVE, NO_TAG], 0);
        let mut caller = Matcher::new(settings(), 0, true);
        let receive = (Verb::Thread, 3, [RECEIVE, TAG], 0);
        let send = (Verb::Send, 5, [MESSAGE, TAG], 0);
        assert_eq!(acts(&mut caller, None), [nothing, nothing, receive, send]);
        assert_eq!(acts(&mut caller, Some(CompletionKind::Received)), [send, receive]);
        let mut other = Matcher::new(settings(), 0, false);
        let late = (Verb::Thread, 5, [RECEIVE, TAG], 7);
        assert_eq!(acts(&mut other, None).last(), Some(&late));
        let back = (Verb::Send, 3, [MESSAGE, TAG], 0);
        assert_eq!(acts(&mut other, Some(CompletionKind::Received)), [back, late]);
        acts(&mut other, Some(CompletionKind::Interrupted));
        assert!(!other.is_done(), "an interrupt is no message");
        acts(&mut other, Some(CompletionKind::Received));
        assert_eq!(acts(&mut other, Some(CompletionKind::Fetched)), [back], "as many receives as sends");
        assert_eq!(acts(&mut caller, Some(CompletionKind::Fetched)), [send, receive]);
        assert_eq!(acts(&mut caller, Some(CompletionKind::Fetched)), [], "all has been sent and received");
        assert!(other.is_done() && caller.is_done());
    }

    #[test]
    fn what_does_not_fit_into_a_packet_is_said_and_not_sent() {
        let large = MatchSettings { bytes: 113, ..settings() };
        assert!(!large.has_data() && MatchSettings { bytes: 112, ..settings() }.has_data());
        let send = large.send(0, 0);
        assert_eq!((send.bytes, send.words), (0, Some(Words::of(&[ENVELOPE, TAG, 113, 0]))));
    }
}
