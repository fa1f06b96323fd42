//! Sends, input queues, and what NICs say of messages. See points 13 to 15 of the header of this module.

use super::{
    Elan4, ElanContext, ElanEvent, ElanSettings, Fault, Maker, Outbound, POINTER, Parcel, REFUSALS, VERDICT,
    WORD,
};
use crate::host::bus::plus;
use crate::host::memory::Address;
use crate::host::program::{Completion, CompletionKind, OperationId};
use crate::host::story::Unit;
use crate::host::transfer::Content;
use flitway_engine::Picos;
use flitway_wiring::NodeId;
use std::collections::{BTreeMap, VecDeque};

/// The input queues of a node, and its sends of which other nodes have not said anything.
#[derive(Debug)]
pub(super) struct Messages {
    /// By process.
    queues: Box<[InputQueue]>,
    slots: u32,
    /// The time in which a process copies a word.
    copy: Picos,
    /// The time in which its processor takes an interrupt, and a fault.
    interrupt: Picos,
    fault: Picos,
    /// By the number of the content of the packet.
    sends: BTreeMap<u64, Sending>,
}

/// The input queue of a process.
#[derive(Debug, Default)]
struct InputQueue {
    /// Slots that have a message, as far as the NIC knows.
    used: u32,
    /// Slots that are free without the NIC knowing.
    seen: u32,
    /// What is in memory, or on the way there, and has not been seen, by the operation.
    told: BTreeMap<OperationId, Told>,
    /// The same of what comes by interrupts.
    interrupts: Told,
}

/// What a process has not seen, the first first.
#[derive(Debug, Default)]
struct Told {
    messages: VecDeque<Message>,
    /// How many of them its processor has begun to deal with.
    begun: usize,
}

impl Told {
    /// The processor begins with the next.
    fn begin(&mut self) -> Option<&Message> {
        self.begun += 1;
        self.messages.get(self.begun - 1)
    }

    /// The process has seen the first.
    fn end(&mut self) -> Option<Message> {
        self.begun -= 1;
        self.messages.pop_front()
    }
}

/// What a process copies to its place when it has found it.
#[derive(Debug)]
pub(super) struct Message {
    /// Bytes that go over the bus with the word.
    pub(super) bytes: u32,
    /// Bytes that it copies, and where to.
    copied: u64,
    to: u64,
    data: Data,
    /// It has a slot of the input queue.
    has_slot: bool,
}

/// Where what is copied comes from.
#[derive(Debug)]
enum Data {
    /// It came with the word.
    Bytes(Option<Box<[u8]>>),
    /// It is in the memory of the process.
    At(u64),
    /// There are none: it is a fault.
    Fault(Box<Fault>),
}

/// Data that a process copies within its memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved {
    pub(super) to: u64,
    pub(super) from: u64,
    pub(super) bytes: u64,
}

impl Message {
    /// What a thread tells of, with what its process copies then.
    pub(super) fn of_thread(moved: Option<Moved>) -> Self {
        let Moved { to, from, bytes } = moved.unwrap_or(Moved { to: 0, from: 0, bytes: 0 });
        Message { bytes: 0, copied: bytes, to, data: Data::At(from), has_slot: false }
    }

    /// A fault, which the driver deals with.
    pub(super) fn of_fault(fault: Fault) -> Self {
        Message { bytes: 0, copied: 0, to: 0, data: Data::Fault(Box::new(fault)), has_slot: false }
    }

    /// Data that come to a process by an interrupt.
    pub(super) fn by_interrupt(to: u64, data: Box<[u8]>) -> Self {
        let bytes = data.len() as u32;
        Message { bytes, copied: bytes.into(), to, data: Data::Bytes(Some(data)), has_slot: false }
    }
}

/// What the word of an event tells a process.
#[derive(Debug)]
pub struct Firing {
    pub(super) completion: Completion,
    /// The message that goes with the word.
    pub(super) message: Option<Message>,
}

/// A send whose commands are in SDRAM until it has been accepted.
#[derive(Debug)]
pub struct Sending {
    packet: Outbound,
    data: Option<Box<[u8]>>,
    refusals: u32,
}

/// What a NIC says of a message.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    /// The content of its packet.
    number: u64,
    is_accepted: bool,
}

impl Sending {
    pub(super) fn new(packet: Outbound, data: Option<Box<[u8]>>) -> Self {
        Sending { packet, data, refusals: 0 }
    }
}

impl InputQueue {
    /// What its process has seen, if there is something to copy.
    fn take(&mut self, completion: &Completion) -> Option<Message> {
        if completion.what == CompletionKind::Interrupted {
            return self.interrupts.end();
        }
        let told = self.told.get_mut(&completion.of())?;
        let message = told.end();
        if told.messages.is_empty() {
            self.told.remove(&completion.of());
        }
        message
    }
}

impl Messages {
    pub(super) fn new(settings: &ElanSettings, processes: usize) -> Self {
        let ElanSettings { slots, copy, interrupt, fault, .. } = *settings;
        let queues = (0..processes).map(|_| InputQueue::default()).collect();
        Messages { queues, slots, copy, interrupt, fault, sends: BTreeMap::new() }
    }

    /// A message for a process is on the bus with the word that tells of it.
    pub(super) fn tell(&mut self, process: u8, completion: &Completion, message: Message) {
        let queue = self.queue(process);
        match completion.what {
            CompletionKind::Interrupted => &mut queue.interrupts,
            _ => queue.told.entry(completion.of()).or_default(),
        }
        .messages
        .push_back(message);
    }

    /// How long a process copies what it is told of.
    pub(super) fn copies(&mut self, process: u8, completion: &Completion) -> Picos {
        let Messages { copy, interrupt, fault, .. } = *self;
        let queue = self.queue(process);
        let (message, takes) = if completion.what == CompletionKind::Interrupted {
            let message = queue.interrupts.begin();
            let is_fault = message.is_some_and(|message| matches!(message.data, Data::Fault(_)));
            (message, if is_fault { fault } else { interrupt })
        } else {
            (queue.told.get_mut(&completion.of()).and_then(Told::begin), Picos(0))
        };
        let words = message.map_or(0, |message| message.copied.div_ceil(WORD.into()));
        Picos(takes.0 + copy.0 * words)
    }

    /// A process has seen what it was told of: if that is a message, it has copied it. It is a fault if it gives one.
    pub(super) fn seen(
        &mut self,
        cx: &mut ElanContext<'_>,
        process: u8,
        completion: &Completion,
    ) -> Option<Fault> {
        let quarter = self.slots.div_ceil(4);
        let queue = self.queue(process);
        let message = queue.take(completion)?;
        let Message { copied, to, data, has_slot, .. } = message;
        let data = match data {
            Data::Bytes(data) => data,
            Data::At(byte) => cx.memory.read(Address { process, byte }, copied),
            Data::Fault(fault) => return Some(*fault),
        };
        if let Some(data) = data {
            cx.memory.write(Address { process, byte: to }, &data);
        }
        let queue = self.queue(process);
        queue.seen += u32::from(has_slot);
        if queue.seen >= quarter {
            let slots = std::mem::take(&mut queue.seen);
            let there = cx.bus.write(cx.at, POINTER);
            cx.ask(there, ElanEvent::Emptied(process, slots));
        }
        None
    }

    /// The NIC knows of more free slots.
    pub(super) fn emptied(&mut self, process: u8, slots: u32) {
        self.queue(process).used -= slots;
    }

    /// Whether nothing is awaited of another NIC.
    pub(super) fn is_idle(&self) -> bool {
        self.sends.is_empty()
    }

    fn queue(&mut self, process: u8) -> &mut InputQueue {
        &mut self.queues[usize::from(process)]
    }
}

impl Elan4 {
    /// A send reaches the NIC port.
    pub(super) fn send(&mut self, cx: &mut ElanContext<'_>, sending: Sending) {
        let Outbound { to, payload, header, .. } = sending.packet;
        let parcel = Parcel::Data(Box::new(Content { header, data: sending.data.clone() }));
        let number = self.send_on(cx, Maker::Message, to, payload, parcel);
        self.messages.sends.insert(number, sending);
    }

    /// One that has been refused reaches it again.
    pub(super) fn send_again(&mut self, cx: &mut ElanContext<'_>, sending: Sending) {
        self.counts.again += 1;
        self.send(cx, sending);
    }

    /// A message has come, under that number of that node: it is appended to the input queue of its process, or refused.
    pub(super) fn append(
        &mut self,
        cx: &mut ElanContext<'_>,
        (from, number): (NodeId, u64),
        content: Content,
    ) {
        let Content { header, data } = content;
        if let Some(words) = header.words {
            return self.append_to_thread(cx, (from, number), Content { header, data }, words);
        }
        let slots = self.messages.slots;
        let queue = self.messages.queue(header.process);
        let is_accepted = queue.used < slots;
        queue.used += u32::from(is_accepted);
        self.counts.messages[usize::from(!is_accepted)] += 1;
        self.answer(cx, from, number, is_accepted);
        if is_accepted {
            let bytes = header.bytes as u32;
            let data = Data::Bytes(data);
            let message = Message { bytes, copied: header.bytes, to: header.byte, data, has_slot: true };
            let completion = header.completion(CompletionKind::Received);
            self.set_event(cx, header.process, Firing { completion, message: Some(message) });
        }
    }

    /// The source of a message is told whether that is accepted.
    pub(super) fn answer(&mut self, cx: &mut ElanContext<'_>, from: NodeId, number: u64, is_accepted: bool) {
        let said = self.after(cx, self.settings.form);
        cx.ask(said, ElanEvent::Say(from, Verdict { number, is_accepted }));
    }

    /// What is said of a message of node `to` reaches the NIC port.
    pub(super) fn say(&mut self, cx: &mut ElanContext<'_>, to: NodeId, verdict: Verdict) {
        self.send_on(cx, Maker::Message, to, VERDICT, Parcel::Said(verdict));
    }

    /// Another NIC has said something of a send of this one.
    pub(super) fn hear(&mut self, cx: &mut ElanContext<'_>, verdict: Verdict) {
        let sending = self.messages.sends.remove(&verdict.number);
        let mut sending = sending.expect("it is said once of each packet");
        let Outbound { maker, header, tells_left, .. } = sending.packet;
        let Maker::Sten(queue, bytes) = maker else { panic!("STEN makes sends, and not {maker:?}") };
        let mut is_over = verdict.is_accepted;
        if !is_over {
            sending.refusals += 1;
            let is_often = sending.refusals == REFUSALS || self.counts.given_up > 0;
            is_over = header.words.is_some() && is_often;
            self.counts.given_up += u64::from(is_over);
        }
        if !is_over {
            let waits =
                if sending.refusals > self.settings.repeats { self.settings.back_off } else { Picos(0) };
            let again = plus(self.after(cx, waits), self.settings.form);
            sending.packet.header.story.pass(Unit::Connection, again);
            cx.ask(again, ElanEvent::Again(Box::new(sending)));
            return;
        }
        self.sten_answered(cx, queue, bytes);
        if tells_left {
            self.has_left(cx, header);
        }
    }
}
