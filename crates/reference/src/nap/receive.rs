//! The receive buffer, slots in their order, data, and event records.

use super::{Completion, Due, Host, Packet, Peer, Sight, Unit, What};
use crate::host::cross;
use flitway_fabric::Delivery;
use flitway_nic::host::memory::Address;
use flitway_nic::host::program::{CompletionKind, Verb};
use flitway_nic::nap::{EVENT, SLOT_HEAD};

/// Who sends to the ring of which process, and the number of the packet from there that is due next.
pub(super) type Expected = (Peer, u8, u64);

/// A packet that the NIC port keeps.
#[derive(Debug)]
pub(super) struct Arrived {
    delivery: Delivery,
    packet: Packet,
}

/// The ring of event records of a process.
#[derive(Debug)]
pub(super) struct Records {
    /// Entries that are free, as far as the NIC knows.
    free: u32,
    /// Records that wait for one.
    waiting: Vec<Completion>,
}

impl Records {
    pub(super) fn new(entries: u32) -> Self {
        Records { free: entries, waiting: Vec::new() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl Host {
    /// A packet is in a NIC port.
    pub(super) fn arrive(&mut self, delivery: &Delivery, mut packet: Packet) {
        cross(&self.around.surroundings, &mut packet.story, delivery);
        self.arrived.push(Arrived { delivery: *delivery, packet });
        if !self.drain() {
            self.counts.held += 1;
        }
    }

    /// Drains packets, the first first, as long as there is room: whether none is left.
    fn drain(&mut self) -> bool {
        while let Some(Arrived { delivery, packet }) = self.arrived.first() {
            let bytes = u64::from(delivery.payload);
            if bytes > self.buffer {
                return false;
            }
            let (ticket, mut packet) = (delivery.ticket(), packet.clone());
            self.arrived.remove(0);
            self.buffer -= bytes;
            self.around.drained.push(ticket);
            packet.story.pass(Unit::Room, self.around.at);
            let dealt = self.around.after(self.settings.receive);
            packet.story.pass(Unit::Interface, dealt);
            self.around.ask(dealt, Due::Dealt(Box::new(packet)));
        }
        true
    }

    /// Room in the receive buffer is free.
    pub(super) fn has_left_buffer(&mut self, bytes: u32) {
        self.buffer += u64::from(bytes);
        self.drain();
    }

    /// A packet is dealt with: first its credits count.
    pub(super) fn dealt(&mut self, packet: Packet) {
        let payload = packet.payload;
        if packet.credits > 0 {
            self.credits_come(packet.to.process, packet.from, packet.credits);
        }
        match packet.what {
            What::Message | What::Ask | What::Grant => self.in_turn(packet),
            What::Put | What::Fetched => return self.data(packet),
            What::Request => self.requested(&packet),
            What::Credits => {}
            What::Word => self.word_comes(packet),
            What::Answer | What::No => self.answer_comes(packet),
            What::Barrier => panic!("who comes is told to its own NIC"),
            What::Below => self.around.ask(self.around.after(self.settings.barrier), Due::ComesBelow),
            What::All => self.all_are_said_to_have(),
        }
        self.has_left_buffer(payload);
    }

    /// A packet for a ring waits until those with lower numbers have been dealt with.
    fn in_turn(&mut self, packet: Packet) {
        let (from, process) = (packet.from, packet.to.process);
        let place = self.expected.iter().position(|it| (it.0, it.1) == (from, process));
        let place = place.unwrap_or_else(|| {
            self.expected.push((from, process, 0));
            self.expected.len() - 1
        });
        if packet.number != self.expected[place].2 {
            self.counts.early += 1;
            self.early.push(packet);
            return;
        }
        let mut next = Some(packet);
        while let Some(packet) = next {
            self.write_slot(packet);
            self.expected[place].2 += 1;
            let number = self.expected[place].2;
            let is_next = |it: &Packet| (it.from, it.to.process, it.number) == (from, process, number);
            let place = self.early.iter().position(is_next);
            next = place.map(|place| self.early.remove(place));
        }
    }

    /// A packet is written into the tail slot.
    fn write_slot(&mut self, packet: Packet) {
        let Packet { name, operation, what, from, to, payload, target, is_last, mut story, data, .. } =
            packet;
        story.pass(Unit::Room, self.around.at);
        let (_, visible) = self.bus.post(to.process, self.around.at, SLOT_HEAD + payload);
        story.pass(Unit::Bus, visible);
        if what == What::Message
            && let Some(data) = data
        {
            self.around.ask(visible, Due::Landed(target, data));
        }
        self.around.ask(
            visible,
            Due::Visible(to.process, Sight::Slot { name, operation, what, is_last, from, story }),
        );
    }

    /// Data are written to their address.
    fn data(&mut self, packet: Packet) {
        let Packet { name, operation, to, payload, target, bytes, story, data, .. } = packet;
        let (left, visible) = self.bus.post(to.process, self.around.at, payload);
        if let Some(data) = data {
            self.around.ask(visible, Due::Landed(target, data));
        }
        if super::all_of(&mut self.written, name, bytes, operation.bytes) {
            let what = match operation.verb {
                Verb::Get => CompletionKind::Fetched,
                _ => CompletionKind::Received,
            };
            self.record(to.process, super::completion(what, name, &operation, story));
        }
        self.around.ask(left, Due::Left(payload));
    }

    /// A process gets an event record, when an entry is free.
    pub(super) fn record(&mut self, process: u8, completion: Completion) {
        let ring = &mut self.records[usize::from(process)];
        if ring.free == 0 {
            ring.waiting.push(completion);
            self.counts.waited += 1;
            return;
        }
        ring.free -= 1;
        self.write_record(process, completion);
    }

    fn write_record(&mut self, process: u8, mut completion: Completion) {
        completion.story.pass(Unit::Room, self.around.at);
        let (_, visible) = self.bus.post(process, self.around.at, EVENT);
        completion.story.pass(Unit::Bus, visible);
        self.around.ask(visible, Due::Visible(process, Sight::Record(completion)));
    }

    /// The NIC knows of so many more free entries.
    pub(super) fn entries_free(&mut self, process: u8, count: u32) {
        let place = usize::from(process);
        self.records[place].free += count;
        while self.records[place].free > 0 && !self.records[place].waiting.is_empty() {
            self.records[place].free -= 1;
            let completion = self.records[place].waiting.remove(0);
            self.write_record(process, completion);
        }
    }

    /// Memory has bytes.
    pub(super) fn landed(&mut self, to: Address, data: &[u8]) {
        self.around.memory.write(to, data);
    }
}
