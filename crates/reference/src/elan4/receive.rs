//! The input buffer, the input processor, and the event processor.

use super::dma::Descriptor;
use super::{Completion, Content, Due, Found, Header, Host, Side, Story, Unit, Waiter, What, completion};
use crate::host::cross;
use flitway_engine::Picos;
use flitway_fabric::Delivery;
use flitway_nic::elan4::{DESCRIPTOR, EVENT, VERDICT};
use flitway_nic::host::program::CompletionKind;

/// A packet that the NIC port keeps.
#[derive(Debug)]
pub(super) struct Arrived {
    delivery: Delivery,
    content: Content,
}

/// What is written when its page is known: the data of a packet.
#[derive(Debug)]
pub(super) struct Write(Content);

impl Write {
    /// Bytes of the input buffer that it has.
    pub(super) fn bytes(&self) -> u64 {
        self.0.header.bytes
    }
}

impl Host {
    /// A packet is in the NIC port.
    pub(super) fn arrive(&mut self, delivery: &Delivery, mut content: Content) {
        cross(&self.around.surroundings, &mut content.story, delivery);
        self.arrived.push(Arrived { delivery: *delivery, content });
        if !self.drain() {
            self.counts.held += 1;
        }
    }

    /// Drains packets, the first first, as long as there is room: whether none is left.
    fn drain(&mut self) -> bool {
        while let Some(Arrived { delivery, content }) = self.arrived.first() {
            let bytes = u64::from(delivery.payload);
            if bytes > self.buffer {
                return false;
            }
            let (ticket, mut content) = (delivery.ticket(), content.clone());
            self.arrived.remove(0);
            self.buffer -= bytes;
            self.around.drained.push(ticket);
            content.story.pass(Unit::Room, self.around.at);
            let dealt = self.around.after(self.settings.input);
            content.story.pass(Unit::Input, dealt);
            self.around.ask(dealt, Due::Dealt(content));
        }
        true
    }

    /// Room in the input buffer is free.
    pub(super) fn has_left_buffer(&mut self, bytes: u64) {
        self.buffer += bytes;
        self.drain();
    }

    /// The input processor deals with a packet.
    pub(super) fn dealt(&mut self, content: Content) {
        let Header { name, what, to, bytes, back, .. } = content.header;
        match what {
            What::Said(is_accepted) => {
                self.has_left_buffer(VERDICT.into());
                return self.said(name, is_accepted);
            }
            What::Message => {
                self.has_left_buffer(
                    bytes + content.header.words.map_or(0, |words| 8 * u64::from(words.count())),
                );
                return self.message(content);
            }
            What::Put if content.header.event.is_some() => {
                self.has_left_buffer(bytes);
                return self.fill_block(content);
            }
            What::Put | What::Answer | What::Descriptor => {}
        }
        if what != What::Descriptor {
            let page = (to.process, to.byte / self.settings.tlb.page);
            if self.tlbs[Side::Input as usize].look(page) {
                self.write(Write(content));
            } else {
                self.wait_for(Side::Input, page, Waiter::Input(Box::new(Write(content))));
            }
            return;
        }
        let runs = self.around.after(self.settings.command);
        let mut story = content.story;
        story.pass(Unit::Command, runs);
        let descriptor = Descriptor {
            name,
            what: What::Answer,
            node: name.0,
            bytes,
            first: 0,
            from: to,
            to: back,
            tells_left: false,
            event: None,
            story,
        };
        self.around.ask(runs, Due::Runs(descriptor));
        self.has_left_buffer(DESCRIPTOR.into());
    }

    /// Data whose page is known are written.
    pub(super) fn write(&mut self, Write(content): Write) {
        let Content { header, mut story, data } = content;
        story.pass(Unit::Translation, self.around.at);
        let (left, visible) = self.bus.post(self.around.at, header.bytes as u32);
        self.around.ask(left, Due::Left(header.bytes));
        if let Some(data) = data {
            self.around.ask(visible, Due::Landed(header.to, data));
        }
        self.data_written(&header, story);
    }

    /// Data of an operation have been written: when all have, its event is set.
    fn data_written(&mut self, header: &Header, story: Story) {
        if !self.all_are_there(header) {
            return;
        }
        if header.what == What::Answer && self.thread_is_told(header, story) {
            return;
        }
        let (process, what) = match header.what {
            What::Answer => (header.name.1, CompletionKind::Fetched),
            _ => (header.to.process, CompletionKind::Received),
        };
        self.set_event(process, completion(what, header.name, header.of, story), None);
    }

    /// Whether, with these, all data of an operation are there.
    pub(super) fn all_are_there(&mut self, header: &Header) -> bool {
        let before = self.written.iter().position(|(name, _)| *name == header.name);
        let before = before.map_or(0, |place| self.written.remove(place).1);
        let written = before + header.bytes;
        if written < header.of {
            self.written.push((header.name, written));
        }
        written == header.of
    }

    /// An event of a process is set, and comes after those that were set before; that of an input queue has a message.
    pub(super) fn set_event(&mut self, process: u8, completion: Completion, message: Option<Found>) {
        self.events.push((process, completion, message));
        let done = self.occupy_events(self.settings.event.0);
        self.around.ask(done, Due::EventDone);
    }

    /// The event processor has one thing more to do that takes it so long: when it has done that.
    pub(super) fn occupy_events(&mut self, time: u64) -> Picos {
        self.counts.events += 1;
        self.event_busy += time;
        self.events_done = Picos(self.events_done.max(self.around.at).0 + time);
        self.events_done
    }

    /// The event processor has done with the first event: it writes the word that the process polls.
    pub(super) fn event_done(&mut self) {
        let (process, mut completion, message) = self.events.remove(0);
        completion.story.pass(Unit::Event, self.around.at);
        let bytes = EVENT + message.as_ref().map_or(0, Found::carried) as u32;
        let (_, visible) = self.bus.post(self.around.at, bytes);
        completion.story.pass(Unit::Bus, visible);
        self.around.ask(visible, Due::Visible(process, completion, message));
    }
}
