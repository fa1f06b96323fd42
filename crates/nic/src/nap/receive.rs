//! The receive path, rings, and what libraries do. See points 4, 6 and 7 of the header of this module.

use super::channel::{Descriptor, FOLLOW, GRANT};
use super::{Content, DOORBELL, EVENT, Kind, Nap, NapContext, NapEvent, NapSettings, Peer, SLOT_HEAD, Slot};
use crate::host::buffer::ReceiveBuffer;
use crate::host::memory::Address;
use crate::host::program::{Completion, CompletionKind, Operation, OperationId, Submission, Verb};
use crate::host::ring::Ring;
use crate::host::story::Unit;
use crate::host::transfer::{Arrivals, Header};
use crate::host::{Post, Seen};
use flitway_engine::Picos;
use flitway_fabric::Delivery;
use flitway_wiring::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// What the NIC has received.
#[derive(Debug)]
pub(super) struct Receive {
    buffer: ReceiveBuffer<Content>,
    /// Packets that have come before their turn: by process, peer and number.
    early: BTreeMap<(u8, Peer, u64), Early>,
    /// The number of the next packet of each.
    expected: BTreeMap<(u8, Peer), u64>,
    arrived: Arrivals,
    processes: Box<[Process]>,
    slots: u32,
    peers: u32,
}

/// What a packet for a ring says, with its data.
type Early = (Slot, Option<Box<[u8]>>);

/// What the NIC and its library have for a process.
#[derive(Debug)]
struct Process {
    /// Slots of its ring that are written and have not been seen.
    slots: u32,
    events: Ring<Completion>,
    /// What it sees next, the first first.
    told: VecDeque<Told>,
    /// Those that have sent to its ring.
    senders: u32,
    /// Puts that it has asked another process for, by their number.
    asked: BTreeMap<u64, Operation>,
}

/// What a process is told.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// A slot.
    Slot(Filled),
    /// An event record.
    Event,
    /// A word.
    Word,
}

/// A slot that is filled.
#[derive(Clone, Copy, Debug)]
struct Filled {
    /// From whom.
    peer: Peer,
    kind: Kind,
    /// It is the last of its message.
    is_last: bool,
    /// Of what operation it is, where that wants its data, and how many.
    of: OperationId,
    byte: u64,
    of_bytes: u64,
}

impl Receive {
    pub(super) fn new(settings: &NapSettings, processes: usize) -> Self {
        let process = |_| Process {
            slots: 0,
            events: Ring::new(settings.events),
            told: VecDeque::new(),
            senders: 0,
            asked: BTreeMap::new(),
        };
        Receive {
            buffer: ReceiveBuffer::new(settings.receive_buffer),
            early: BTreeMap::new(),
            expected: BTreeMap::new(),
            arrived: Arrivals::default(),
            processes: (0..processes).map(process).collect(),
            slots: settings.slots,
            peers: settings.peers,
        }
    }

    /// A process asks where the data of a put go.
    pub(super) fn asks(&mut self, process: u8, post: &Post) {
        self.processes[usize::from(process)].asked.insert(post.number, post.operation);
    }

    /// What a packet that has come before its turn says, if its turn has come.
    fn next(&mut self, process: u8, peer: Peer) -> Option<Early> {
        let of = &mut self.processes[usize::from(process)];
        let expected = self.expected.entry((process, peer)).or_insert_with(|| {
            of.senders += 1;
            0
        });
        assert!(of.senders <= self.peers, "a ring has slots for so many senders");
        let next = self.early.remove(&(process, peer, *expected))?;
        *expected += 1;
        Some(next)
    }

    pub(super) fn is_idle(&self) -> bool {
        let is_idle = |process: &Process| process.events.is_idle() && process.asked.is_empty();
        let nothing_waits = self.buffer.is_idle() && self.early.is_empty() && self.arrived.is_idle();
        nothing_waits && self.processes.iter().all(is_idle)
    }
}

impl Nap {
    /// A packet is in a NIC port.
    pub(super) fn take_in(&mut self, cx: &mut NapContext<'_>, delivery: &Delivery, mut content: Content) {
        if let Some(header) = content.header_mut() {
            cx.cross(&mut header.story, delivery);
        }
        match self.receive.buffer.enter(delivery, content) {
            Some(content) => self.accept(cx, delivery, content),
            None => self.counts.held += 1,
        }
    }

    /// A packet goes into the receive buffer, which has room.
    fn accept(&mut self, cx: &mut NapContext<'_>, delivery: &Delivery, mut content: Content) {
        cx.drain(delivery);
        let dealt = self.after(cx, self.settings.receive);
        if let Some(header) = content.header_mut() {
            header.story.pass(Unit::Room, cx.at);
            header.story.pass(Unit::Interface, dealt);
        }
        cx.ask(dealt, NapEvent::Dealt(delivery.source, Box::new(content), delivery.payload.into()));
    }

    /// Bytes of the receive buffer are free.
    pub(super) fn freed(&mut self, cx: &mut NapContext<'_>, bytes: u32) {
        self.receive.buffer.free(bytes);
        while let Some((delivery, content)) = self.receive.buffer.admit() {
            self.accept(cx, &delivery, content);
        }
    }

    /// A packet of `from` is dealt with.
    pub(super) fn dealt(&mut self, cx: &mut NapContext<'_>, from: NodeId, content: Content, payload: u32) {
        match content {
            Content::Data(header, data) => return self.write(cx, header, data),
            Content::Slot(slot, data) => {
                let peer = Peer { node: from, process: slot.source };
                if slot.credits > 0 {
                    self.channels.credit(cx.at, slot.header.process, peer, slot.credits);
                }
                self.sort(cx, slot, peer, data);
            }
            Content::Credits(process, source, count) => {
                self.channels.credit(cx.at, process, Peer { node: from, process: source }, count);
            }
            Content::Request(header) => {
                self.channels.request(Descriptor::answer(&header));
            }
            Content::Word(verb, header, data) => self.word(cx, verb, header, data),
            Content::Answer(answer) => self.answered(cx, answer),
            Content::Meets => self.child_has_come(cx),
            Content::Met => self.all_have_come(cx),
        }
        self.freed(cx, payload);
        self.schedule(cx);
    }

    /// A packet for a NAP ring is written when all with lower numbers have been.
    fn sort(&mut self, cx: &mut NapContext<'_>, slot: Slot, peer: Peer, data: Option<Box<[u8]>>) {
        let process = slot.header.process;
        self.receive.early.insert((process, peer, slot.number), (slot, data));
        let mut wrote = 0;
        while let Some((slot, data)) = self.receive.next(process, peer) {
            self.fill(cx, slot, peer, data);
            wrote += 1;
        }
        self.counts.early += u64::from(wrote == 0);
    }

    /// A packet is written into the tail slot of a ring.
    fn fill(&mut self, cx: &mut NapContext<'_>, mut slot: Slot, peer: Peer, data: Option<Box<[u8]>>) {
        let header = &mut slot.header;
        let process = header.process;
        header.story.pass(Unit::Room, cx.at);
        let bytes = match slot.kind {
            Kind::Message => header.bytes as u32,
            _ => super::HANDSHAKE,
        };
        let posted = cx.bus.post_through(self.settings.port(process), cx.at, SLOT_HEAD + bytes);
        header.story.pass(Unit::Bus, posted.visible);
        if let Some(data) = data {
            cx.ask(posted.visible, NapEvent::Landed(Address { process, byte: header.byte }, data));
        }
        let completion = header.completion(CompletionKind::Received);
        let of = &mut self.receive.processes[usize::from(process)];
        of.slots += 1;
        assert!(of.slots <= self.receive.slots, "credits are slots of the ring");
        let Slot { kind, is_last, header: Header { of: operation, byte, of_bytes, .. }, .. } = slot;
        let filled = Filled { peer, kind, is_last, of: operation, byte, of_bytes };
        of.told.push_back(Told::Slot(filled));
        cx.tell(posted.visible, process, completion);
    }

    /// Data are written into memory; when all of their operation are, its process gets an event record.
    fn write(&mut self, cx: &mut NapContext<'_>, header: Header, data: Option<Box<[u8]>>) {
        let Header { process, byte, bytes, .. } = header;
        let posted = cx.bus.post_through(self.settings.port(process), cx.at, bytes as u32);
        if let Some(data) = data {
            cx.ask(posted.visible, NapEvent::Landed(Address { process, byte }, data));
        }
        cx.ask(posted.sent, NapEvent::Freed(bytes as u32));
        if let Some(completion) = self.receive.arrived.count(&header) {
            self.raise(cx, process, completion);
        }
    }

    /// An event record for a process gets an entry of its ring, or waits for one.
    pub(super) fn raise(&mut self, cx: &mut NapContext<'_>, process: u8, completion: Completion) {
        match self.receive.processes[usize::from(process)].events.enter(completion) {
            Ok(completion) => self.write_event(cx, process, completion),
            Err(_) => self.counts.waited += 1,
        }
    }

    fn write_event(&mut self, cx: &mut NapContext<'_>, process: u8, mut completion: Completion) {
        completion.story.pass(Unit::Room, cx.at);
        let posted = cx.bus.post_through(self.settings.port(process), cx.at, EVENT);
        completion.story.pass(Unit::Bus, posted.visible);
        self.receive.processes[usize::from(process)].told.push_back(Told::Event);
        cx.tell(posted.visible, process, completion);
    }

    /// Entries of the ring of event records of a process are free.
    pub(super) fn entries_free(&mut self, cx: &mut NapContext<'_>, process: u8, count: u32) {
        for completion in self.receive.processes[usize::from(process)].events.free(count) {
            self.write_event(cx, process, completion);
        }
    }

    /// A word is written to a processor, or what tells it of a barrier: see points 8 to 10.
    pub(super) fn tell_word(
        &mut self,
        cx: &mut NapContext<'_>,
        process: u8,
        at: Picos,
        completion: Completion,
    ) {
        self.receive.processes[usize::from(process)].told.push_back(Told::Word);
        cx.tell(at, process, completion);
    }

    /// A process has seen what it was told next.
    pub(super) fn process_saw(
        &mut self,
        cx: &mut NapContext<'_>,
        process: u8,
        completion: &Completion,
    ) -> Seen {
        let of = &mut self.receive.processes[usize::from(process)];
        match of.told.pop_front().expect("it was told") {
            Told::Slot(slot) => {
                of.slots -= 1;
                if let Some(count) = self.channels.owe(process, slot.peer) {
                    self.return_credits(cx, process, slot.peer, count);
                }
                self.library(process, &slot, completion)
            }
            Told::Event => {
                if let Some(count) = of.events.see() {
                    let there = cx.bus.write_through(self.settings.port(process), cx.at, DOORBELL);
                    cx.ask(there, NapEvent::Entries(process, count));
                }
                Seen::Program
            }
            Told::Word => Seen::Program,
        }
    }

    /// What comes of a slot that a process has seen.
    fn library(&mut self, process: u8, slot: &Filled, completion: &Completion) -> Seen {
        let Filled { of, byte, of_bytes, .. } = *slot;
        let (number, story) = (of.number, completion.story);
        match slot.kind {
            Kind::Ask => {
                let operation = Operation {
                    bytes: of_bytes,
                    here: byte,
                    there: byte,
                    ..Operation::plain(Verb::Put, Submission::Rendezvous, (of.node, of.process))
                };
                Seen::Step(Box::new(Post { operation, number, story, step: GRANT }))
            }
            Kind::Grant => {
                let asked = self.receive.processes[usize::from(process)].asked.remove(&number);
                let operation = asked.expect("a process that asked is granted once");
                Seen::Step(Box::new(Post { operation, number, story, step: FOLLOW }))
            }
            _ if slot.is_last => Seen::Program,
            _ => Seen::Library,
        }
    }
}
