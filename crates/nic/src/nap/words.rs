//! The remote access unit. See points 8 and 9 of the header of this module.

use super::engine::Reader;
use super::{ANSWER, Content, LOAD, Nap, NapContext, NapEvent, Outbound, STORE, WORD};
use crate::host::bus::{self, BusSettings as _, Read, plus};
use crate::host::memory::Address;
use crate::host::program::{CompletionKind, Verb};
use crate::host::story::Unit;
use crate::host::transfer::{Carries, Header, Job};
use crate::host::{Post, Posting};
use flitway_engine::Picos;
use flitway_wiring::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// What the remote access unit has under way.
#[derive(Debug)]
pub(super) struct Words {
    /// By process.
    accounts: Box<[Account]>,
    /// Reads for other nodes, by their number.
    reading: BTreeMap<u64, Foreign>,
    reads: u64,
    /// Additions that wait, and whether one is under way.
    additions: VecDeque<Foreign>,
    is_adding: bool,
    /// Answers that are being prepared.
    answering: u32,
}

/// The words of a process.
#[derive(Debug, Default)]
struct Account {
    under_way: u32,
    /// Locks that it has asked for, and has not heard of.
    locks: u32,
    waits: bool,
    /// Since when as many are under way as may be, while they are; and picoseconds for which they were before.
    full_since: Option<Picos>,
    full: u64,
}

/// A word of another node that a process here wants something of.
#[derive(Debug)]
pub struct Own {
    verb: Verb,
    to: NodeId,
    header: Header,
}

/// A word, or a lock, that another node wants something of, and the answer.
#[derive(Debug)]
pub struct Foreign {
    pub(super) verb: Verb,
    pub(super) header: Header,
    pub(super) data: Option<Box<[u8]>>,
    /// The answer is no.
    pub(super) is_refused: bool,
}

/// What is due of the remote access unit.
#[derive(Debug)]
pub enum WordsDue {
    /// A processor has written what it wants.
    Written(Box<Own>),
    /// That has become a packet.
    Asks(Box<Own>),
    /// Memory has a sum.
    Added,
    /// The answer is a packet.
    Answers(Box<Foreign>),
}

impl Words {
    pub(super) fn new(processes: usize) -> Self {
        Words {
            accounts: (0..processes).map(|_| Account::default()).collect(),
            reading: BTreeMap::new(),
            reads: 0,
            additions: VecDeque::new(),
            is_adding: false,
            answering: 0,
        }
    }

    /// Picoseconds until `at` in which the process that has waited longest had as many under way as it may.
    pub(super) fn full(&self, at: Picos) -> u64 {
        let of = |of: &Account| of.full + of.full_since.map_or(0, |since| at.0.saturating_sub(since.0));
        self.accounts.iter().map(of).max().unwrap_or(0)
    }

    pub(super) fn is_idle(&self) -> bool {
        let own_are = self.accounts.iter().all(|of| of.under_way == 0 && of.locks == 0);
        let none_wait = self.additions.is_empty() && !self.is_adding && self.answering == 0;
        own_are && none_wait && self.reading.is_empty()
    }
}

impl Nap {
    /// A processor comes to a word.
    pub(super) fn post_word(&mut self, cx: &mut NapContext<'_>, process: u8, post: &Post) -> Posting {
        let of = &mut self.words.accounts[usize::from(process)];
        let operation = &post.operation;
        if operation.verb == Verb::Lock {
            of.locks += 1;
        } else if of.under_way == self.settings.words {
            of.waits = true;
            return Posting::Waits;
        } else {
            of.under_way += 1;
            if of.under_way == self.settings.words {
                of.full_since = Some(cx.at);
            }
        }
        assert!(operation.bytes <= WORD.into(), "operations are fitted to the NIC: {operation:?}");
        let job = Job::of(self.node, process, post);
        let header = Header {
            of: job.of,
            what: Carries::Request,
            process: operation.process,
            byte: operation.there,
            bytes: operation.bytes,
            of_bytes: operation.bytes,
            from: (process, operation.here),
            event: None,
            triggers: false,
            key: 0,
            is_physical: false,
            words: None,
            story: post.story,
        };
        let written = plus(cx.at, cx.bus.settings().burst_time());
        cx.ask(
            written,
            NapEvent::Words(WordsDue::Written(Box::new(Own {
                verb: operation.verb,
                to: operation.node,
                header,
            }))),
        );
        Posting::Until(written)
    }

    /// Something of the remote access unit is due.
    pub(super) fn words_due(&mut self, cx: &mut NapContext<'_>, due: WordsDue) {
        match due {
            WordsDue::Written(mut own) => {
                let Own { verb, header, .. } = &mut *own;
                header.story.pass(Unit::Processor, cx.at);
                let bytes = if *verb == Verb::Load { 0 } else { header.bytes as u32 };
                let there = cx.bus.write_through(self.settings.port(header.from.0), cx.at, bytes);
                header.story.pass(Unit::Bus, there);
                let asks = plus(there, self.settings.remote);
                header.story.pass(Unit::Remote, asks);
                cx.ask(asks, NapEvent::Words(WordsDue::Asks(own)));
            }
            WordsDue::Asks(own) => {
                let Own { verb, to, header } = *own;
                let payload = if brings_word(verb) { STORE } else { LOAD };
                self.send_word(cx, to, payload, Content::Word(verb, header, None));
            }
            WordsDue::Added => {
                self.words.is_adding = false;
                self.add(cx);
            }
            WordsDue::Answers(foreign) => {
                self.words.answering -= 1;
                self.send_word(cx, foreign.header.of.node, ANSWER, Content::Answer(*foreign));
            }
        }
    }

    fn send_word(&mut self, cx: &mut NapContext<'_>, to: NodeId, payload: u32, content: Content) {
        self.ready(cx, Outbound { to, payload, content, engine: None, reads: false, tells_left: false });
    }

    /// Another node wants something of a word here.
    pub(super) fn word(
        &mut self,
        cx: &mut NapContext<'_>,
        verb: Verb,
        header: Header,
        data: Option<Box<[u8]>>,
    ) {
        let mut foreign = Foreign { verb, header, data, is_refused: false };
        match verb {
            Verb::Lock | Verb::TryLock | Verb::Unlock => self.lock(cx, foreign),
            Verb::Store => {
                let Header { process, byte, bytes, .. } = header;
                let posted = cx.bus.post_through(self.settings.port(process), cx.at, bytes as u32);
                foreign.header.story.pass(Unit::Bus, posted.visible);
                if let Some(data) = foreign.data.take() {
                    cx.ask(posted.visible, NapEvent::Landed(Address { process, byte }, data));
                }
                self.answer(cx, foreign, posted.visible);
            }
            Verb::FetchAdd => {
                self.words.additions.push_back(foreign);
                self.add(cx);
            }
            _ => self.read_word(cx, foreign),
        }
    }

    /// The next addition begins, if none is under way.
    fn add(&mut self, cx: &mut NapContext<'_>) {
        if !self.words.is_adding
            && let Some(mut foreign) = self.words.additions.pop_front()
        {
            self.words.is_adding = true;
            foreign.header.story.pass(Unit::Remote, cx.at);
            self.read_word(cx, foreign);
        }
    }

    fn read_word(&mut self, cx: &mut NapContext<'_>, foreign: Foreign) {
        let Header { process, bytes, .. } = foreign.header;
        let tag = Reader::Words(self.words.reads).tag();
        self.words.reading.insert(self.words.reads, foreign);
        self.words.reads += 1;
        let read = Read { tag, bytes: bytes as u32, place: bus::Place::Memory };
        cx.read_through(self.settings.port(process), read);
    }

    /// A word has been read for another node.
    pub(super) fn word_read(&mut self, cx: &mut NapContext<'_>, number: u64) {
        let mut foreign = self.words.reading.remove(&number).expect("it was read once");
        let Header { process, byte, bytes, .. } = foreign.header;
        let to = Address { process, byte };
        foreign.header.story.pass(Unit::Read, cx.at);
        let was = cx.memory.read(to, bytes);
        let added = std::mem::replace(&mut foreign.data, was);
        if foreign.verb == Verb::FetchAdd {
            let posted = cx.bus.post_through(self.settings.port(process), cx.at, bytes as u32);
            if let (Some(was), Some(added)) = (&foreign.data, added) {
                cx.ask(posted.visible, NapEvent::Landed(to, sum(was, &added)));
            }
            cx.ask(posted.visible, NapEvent::Words(WordsDue::Added));
        }
        self.answer(cx, foreign, cx.at);
    }

    /// The answer to another node is prepared from `done` on, when what it asks for has been done, or refused.
    pub(super) fn answer(&mut self, cx: &mut NapContext<'_>, mut foreign: Foreign, done: Picos) {
        let answers = plus(done, self.settings.remote);
        foreign.header.story.pass(Unit::Remote, answers);
        self.words.answering += 1;
        cx.ask(answers, NapEvent::Words(WordsDue::Answers(Box::new(foreign))));
    }

    /// Another node has answered.
    pub(super) fn answered(&mut self, cx: &mut NapContext<'_>, answer: Foreign) {
        let Foreign { verb, mut header, data, is_refused } = answer;
        let (process, byte) = header.from;
        let of = &mut self.words.accounts[usize::from(process)];
        if verb == Verb::Lock {
            of.locks -= 1;
        } else {
            of.full += of.full_since.take().map_or(0, |since| cx.at.0 - since.0);
            of.under_way -= 1;
            if std::mem::take(&mut of.waits) {
                cx.release(cx.at, process);
            }
        }
        let bytes = if verb == Verb::Store { 0 } else { header.bytes as u32 };
        let posted = cx.bus.post_through(self.settings.port(process), cx.at, bytes);
        header.story.pass(Unit::Bus, posted.visible);
        if let Some(data) = data {
            cx.ask(posted.visible, NapEvent::Landed(Address { process, byte }, data));
        }
        let what = if is_refused { CompletionKind::Refused } else { CompletionKind::Loaded };
        self.tell_word(cx, process, posted.visible, header.completion(what));
    }
}

/// Whether a packet that asks for it has a word.
pub(super) fn brings_word(verb: Verb) -> bool {
    matches!(verb, Verb::Store | Verb::FetchAdd)
}

/// The sum of two words as long as each other, the first byte the lowest, without what is carried out of it.
fn sum(one: &[u8], other: &[u8]) -> Box<[u8]> {
    let mut carry = 0;
    let byte = |(&one, &other): (&u8, &u8)| {
        let sum = u16::from(one) + u16::from(other) + carry;
        carry = sum >> 8;
        sum as u8
    };
    one.iter().zip(other).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_added_with_carry() {
        assert_eq!(*sum(&[0xff, 0xff, 1], &[2, 0, 0]), [1, 0, 2]);
        assert_eq!(*sum(&[0xff], &[1]), [0], "what is carried out is lost");
    }
}
