//! Sends, input queues, and what NICs say of messages.

use super::{
    Address, CompletionKind, Content, Due, Header, Host, Maker, Name, Outbound, Story, Unit, What, completion,
};
use flitway_engine::Picos;
use flitway_nic::elan4::{POINTER, VERDICT};

/// A send, which stays in the command queue until it has been accepted.
#[derive(Debug)]
pub(super) struct Send {
    pub(super) packet: Outbound,
    pub(super) data: Option<Box<[u8]>>,
    pub(super) refusals: u32,
}

/// A message that a process finds beside the word of an event.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: u64,
    /// Its place.
    to: Address,
    data: Option<Box<[u8]>>,
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
        let Header { name, to, bytes, of, back, .. } = header;
        let queue = &mut self.input_queues[usize::from(to.process)];
        let is_accepted = queue.taken < self.settings.slots;
        // It says so.
        let said = Header { what: What::Said(is_accepted), to: back, back: to, ..header };
        let saying = Outbound {
            maker: Maker::Input,
            node: name.0,
            header: said,
            payload: VERDICT,
            from: None,
            tells_left: false,
            story: Story::begin(self.around.after(self.settings.form)),
        };
        self.around.ask(self.around.after(self.settings.form), Due::Handed(saying));
        if !is_accepted {
            self.counts.messages[1] += 1;
            return;
        }
        self.input_queues[usize::from(to.process)].taken += 1;
        self.counts.messages[0] += 1;
        let seen = completion(CompletionKind::Received, name, of, story);
        self.set_event(to.process, seen, Some(Message { bytes, to, data }));
    }

    /// The other NIC has said whether it has accepted the send of that name.
    pub(super) fn said(&mut self, name: Name, is_accepted: bool) {
        let place = self.sends.iter().position(|send| send.packet.header.name == name);
        let mut send = self.sends.remove(place.expect("a send that it knows of"));
        if is_accepted {
            return self.is_answered(&send.packet);
        }
        send.refusals += 1;
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

    /// A process has copied a message.
    pub(super) fn has_copied(&mut self, process: u8, message: Message) {
        let at: Picos = self.around.at;
        if let Some(data) = message.data {
            self.around.memory.write(message.to, &data);
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
