//! Sends, input queues, and what NICs say of messages. See points 13 to 15 of the header of this module.

use super::{Elan4, ElanContext, ElanEvent, ElanSettings, Maker, Outbound, POINTER, Parcel, VERDICT, WORD};
use crate::host::bus::plus;
use crate::host::memory::Address;
use crate::host::program::{Completion, CompletionKind, OperationId};
use crate::host::story::Unit;
use crate::host::transfer::Content;
use flitway_engine::Picos;
use flitway_wiring::NodeId;
use std::collections::BTreeMap;

/// The input queues of a node, and its sends of which other nodes have not said anything.
#[derive(Debug)]
pub(super) struct Messages {
    /// By process.
    queues: Box<[InputQueue]>,
    slots: u32,
    /// The time in which a process copies a word.
    copy: Picos,
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
    /// Messages that are in memory, or on the way there, and have not been seen, by the sends that brought them.
    told: BTreeMap<OperationId, Message>,
}

/// A message in a slot.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: u32,
    /// Where its process copies it to.
    to: u64,
    data: Option<Box<[u8]>>,
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

impl Messages {
    pub(super) fn new(settings: &ElanSettings, processes: usize) -> Self {
        let ElanSettings { slots, copy, .. } = *settings;
        let queues = (0..processes).map(|_| InputQueue::default()).collect();
        Messages { queues, slots, copy, sends: BTreeMap::new() }
    }

    /// A message for a process is on the bus with the word that tells of it.
    pub(super) fn tell(&mut self, process: u8, of: OperationId, message: Message) {
        self.queue(process).told.insert(of, message);
    }

    /// How long a process copies what it is told of.
    pub(super) fn copies(&self, process: u8, completion: &Completion) -> Picos {
        let message = self.queues[usize::from(process)].told.get(&completion.of());
        message.map_or(Picos(0), |message| Picos(self.copy.0 * u64::from(message.bytes.div_ceil(WORD))))
    }

    /// A process has seen what it was told of: if that is a message, it has copied it.
    pub(super) fn seen(&mut self, cx: &mut ElanContext<'_>, process: u8, completion: &Completion) {
        let quarter = self.slots.div_ceil(4);
        let queue = self.queue(process);
        let Some(Message { to, data, .. }) = queue.told.remove(&completion.of()) else { return };
        if let Some(data) = data {
            cx.memory.write(Address { process, byte: to }, &data);
        }
        queue.seen += 1;
        if queue.seen >= quarter {
            let slots = std::mem::take(&mut queue.seen);
            let there = cx.bus.write(cx.at, POINTER);
            cx.ask(there, ElanEvent::Emptied(process, slots));
        }
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
        let slots = self.messages.slots;
        let queue = self.messages.queue(header.process);
        let is_accepted = queue.used < slots;
        queue.used += u32::from(is_accepted);
        self.counts.messages[usize::from(!is_accepted)] += 1;
        let said = self.after(cx, self.settings.form);
        cx.ask(said, ElanEvent::Say(from, Verdict { number, is_accepted }));
        if is_accepted {
            let message = Message { bytes: header.bytes as u32, to: header.byte, data };
            let completion = header.completion(CompletionKind::Received);
            self.set_event(cx, header.process, Firing { completion, message: Some(message) });
        }
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
        if !verdict.is_accepted {
            sending.refusals += 1;
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
