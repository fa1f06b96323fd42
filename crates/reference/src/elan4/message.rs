//! Sends, input queues, and what NICs say of messages.

use super::{
    Address, CompletionKind, Content, Due, Header, Host, Name, Outbound, PageFault, Unit, completion,
};
use flitway_engine::Picos;
use flitway_nic::elan4::{POINTER, REFUSALS};

/// A send, which stays in the command queue until it has been accepted.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) packet: Outbound,
    pub(super) data: Option<Box<[u8]>>,
    pub(super) refusals: u32,
}

/// What a process finds beside the word of an event, and takes to its place.
#[derive(Debug)]
pub(super) enum Found {
    /// A message, which has a slot of its input queue.
    Message { bytes: u64, to: Address, data: Option<Box<[u8]>> },
    /// What its thread has told it to move within its memory.
    Moved { to: u64, from: u64, bytes: u64 },
    /// Data that have come by an interrupt.
    Interrupt { to: u64, data: Vec<u8> },
    /// A page without a translation, for the driver.
    Fault(Box<PageFault>),
}

impl Found {
    /// Bytes that go over the bus.
    pub(super) fn carried(&self) -> u64 {
        if let Found::Moved { .. } = self { 0 } else { self.copied() }
    }

    /// Bytes that the process copies.
    pub(super) fn copied(&self) -> u64 {
        match self {
            Found::Message { bytes, .. } | Found::Moved { bytes, .. } => *bytes,
            Found::Interrupt { data, .. } => data.len() as u64,
            Found::Fault(_) => 0,
        }
    }
}

/// The input queue of a process.
#[derive(Debug, Default)]
pub(super) struct InputQueue {
    /// Slots with messages, as the NIC knows, and those of them that have been seen since it was told last.
    taken: u32,
    seen: u32,
}

impl Host {
    /// A message has come: its process gets it, or it is refused.
    pub(super) fn message(&mut self, content: Content) {
        let Content { header, story, data } = content;
        if let Some(words) = header.words {
            return self.message_for_thread(Content { header, story, data }, words);
        }
        let Header { name, to, bytes, of, .. } = header;
        let queue = &mut self.input_queues[usize::from(to.process)];
        let is_accepted = queue.taken < self.settings.slots;
        self.say(&header, is_accepted);
        if !is_accepted {
            self.counts.messages[1] += 1;
            return;
        }
        self.input_queues[usize::from(to.process)].taken += 1;
        self.counts.messages[0] += 1;
        let seen = completion(CompletionKind::Received, name, of, story);
        self.set_event(to.process, seen, Some(Found::Message { bytes, to, data }));
    }

    /// The other NIC has said whether it has accepted the send of that name.
    pub(super) fn said(&mut self, name: Name, is_accepted: bool) {
        let place = self.sends.iter().position(|send| send.packet.header.name == name);
        let mut send = self.sends.remove(place.expect("a send that it knows of"));
        if is_accepted {
            return self.is_answered(&send.packet);
        }
        send.refusals += 1;
        let one_was_given_up = self.counts.given_up > 0;
        if send.packet.header.words.is_some() && (send.refusals >= REFUSALS || one_was_given_up) {
            self.counts.given_up += 1;
            return self.is_answered(&send.packet);
        }
        let mut again = self.settings.form;
        if send.refusals > self.settings.repeats {
            again.0 += self.settings.back_off.0;
        }
        let again = self.around.after(again);
        send.packet.story.pass(Unit::Connection, again);
        self.around.ask(again, Due::HandedAgain(send));
    }

    /// A send that has been refused reaches the NIC port again.
    pub(super) fn handed_again(&mut self, send: Send) {
        self.counts.again += 1;
        self.hand_on(send.packet, send.data.clone());
        self.sends.push(send);
    }

    /// A process has taken to its place what it has found.
    pub(super) fn has_copied(&mut self, process: u8, found: Found) {
        let at: Picos = self.around.at;
        let own = |byte| Address { process, byte };
        let (to, data) = match found {
            Found::Moved { to, from, bytes } => {
                if let Some(data) = self.around.memory.read(own(from), bytes) {
                    self.around.memory.write(own(to), &data);
                }
                return;
            }
            Found::Fault(fault) => return self.driver_answers(*fault),
            Found::Interrupt { to, data } => return self.around.memory.write(own(to), &data),
            Found::Message { to, data, .. } => (to, data),
        };
        if let Some(data) = data {
            self.around.memory.write(to, &data);
        }
        let queue = &mut self.input_queues[usize::from(process)];
        queue.seen += 1;
        if queue.seen * 4 >= self.settings.slots {
            let slots = std::mem::take(&mut queue.seen);
            let there = self.bus.write(at, POINTER);
            self.around.ask(there, Due::SlotsFree(process, slots));
        }
    }

    /// The NIC knows of free slots.
    pub(super) fn slots_free(&mut self, process: u8, slots: u32) {
        self.input_queues[usize::from(process)].taken -= slots;
    }
}
