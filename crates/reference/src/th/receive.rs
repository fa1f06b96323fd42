//! The receive path: the receive buffer, the rings of processes, and what is written for them.

use super::engine::{Job, completion};
use super::submission::Descriptor;
use super::translation::Waiter;
use super::{Completion, Content, Due, Header, Host, Name, Parcel, Part, Story, Verb};
use crate::host::cross;
use flitway_engine::Picos;
use flitway_fabric::Delivery;
use flitway_nic::host::program::{Collective, CompletionKind};
use flitway_nic::th::end_to_end::DataTag;
use flitway_nic::th::{CONTROL, DOORBELL, ENTRY_HEAD, EVENT, REQUEST, ThSettings};

/// A packet that the NIC port keeps.
#[derive(Debug)]
pub(super) struct Arrived {
    delivery: Delivery,
    parcel: Parcel,
}

/// A ring in the memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ring {
    Mpq = 0,
    Eq = 1,
}

/// What is written when its page is known.
#[derive(Debug)]
pub(super) enum Write {
    Mini(Content),
    Data(Content),
    /// Of a reliable transfer, with the packet that has been written last.
    Event(u8, Completion, Option<DataTag>),
}

impl Write {
    fn story(&mut self) -> &mut Story {
        match self {
            Write::Mini(content) | Write::Data(content) => &mut content.story,
            Write::Event(_, completion, _) => &mut completion.story,
        }
    }
}

#[derive(Debug)]
pub(super) struct RingState {
    entries: u32,
    /// Entries that the NIC knows to be free.
    free: u32,
    /// What waits for one, each with a number, and the next number.
    waiting: Vec<(u64, Write)>,
    next: u64,
    /// Entries that the process has seen and not told of.
    seen: u32,
}

/// The MPQ and the EQ of a process.
pub(super) fn rings(settings: &ThSettings) -> [RingState; 2] {
    [settings.mpq, settings.eq].map(|entries| RingState {
        entries,
        free: entries,
        waiting: Vec::new(),
        next: 0,
        seen: 0,
    })
}

impl RingState {
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// The page of an MPQ, and that of an EQ.
const PAGES: [u64; 2] = [1 << 40, (1 << 40) + 1];

impl Host {
    fn ring(&mut self, process: u8, ring: Ring) -> &mut RingState {
        &mut self.rings[usize::from(process)][ring as usize]
    }

    /// A packet is in the NIC port.
    pub(super) fn arrive(&mut self, delivery: &Delivery, mut parcel: Parcel) {
        if let Parcel::Data(content) = &mut parcel {
            cross(&self.around.surroundings, &mut content.story, delivery);
        }
        self.arrived.push(Arrived { delivery: *delivery, parcel });
        if !self.drain() {
            self.counts.held += 1;
        }
    }

    /// Drains packets, the first first, as long as there is room: whether none is left.
    fn drain(&mut self) -> bool {
        while let Some(Arrived { delivery, .. }) = self.arrived.first() {
            let bytes = u64::from(delivery.payload);
            if bytes > self.buffer {
                return false;
            }
            let Arrived { delivery, mut parcel } = self.arrived.remove(0);
            self.buffer -= bytes;
            self.around.drained.push(delivery.ticket());
            let parsed = Picos(self.around.at.0 + self.settings.receive.0 + self.settings.parse.0);
            if let Parcel::Data(content) = &mut parcel {
                content.story.pass(Part::Room, self.around.at);
                content.story.pass(Part::Interface, parsed);
            }
            self.around.ask(parsed, Due::Parsed(delivery, parcel));
        }
        true
    }

    /// Room in the receive buffer is free.
    pub(super) fn has_left_buffer(&mut self, bytes: u64) {
        self.buffer += bytes;
        self.drain();
    }

    /// What a packet with data takes of the receive buffer.
    fn room(&self, content: &Content) -> u64 {
        let Header { verb, is_answer, bytes, .. } = content.header;
        let is_request = verb == Verb::Get && !is_answer;
        let more = if content.tag.is_some() { self.settings.end_to_end.overhead } else { 0 };
        let own = match verb {
            Verb::Control => CONTROL.into(),
            _ if is_request => REQUEST.into(),
            _ => bytes,
        };
        u64::from(more) + own
    }

    /// A packet is dealt with.
    pub(super) fn parsed(&mut self, delivery: &Delivery, parcel: Parcel) {
        let is_intact = !delivery.is_corrupt;
        match parcel {
            Parcel::Said(message) => {
                self.hear(delivery.source, &message, is_intact);
                self.has_left_buffer(self.settings.end_to_end.control.into());
            }
            Parcel::Data(content) => {
                if (is_intact || content.tag.is_none()) && !self.is_legal(&content.header) {
                    self.discard(self.room(&content));
                } else if content.tag.is_none_or(|tag| self.accepts(tag, is_intact)) {
                    self.accepted(*content);
                } else {
                    self.has_left_buffer(self.room(&content));
                }
            }
        }
    }

    fn accepted(&mut self, content: Content) {
        let Header { name, verb, is_answer, to, bytes, back, .. } = content.header;
        match (verb, is_answer) {
            (Verb::Send, _) => self.wants_entry(to.process, Ring::Mpq, Write::Mini(content)),
            (Verb::Control, _) => {
                self.keep(to.process, content.story);
                self.has_left_buffer(self.room(&content));
                self.schedule();
            }
            (Verb::Put, _) | (_, true) => self.translate_and_write(Write::Data(content)),
            (_, false) => {
                let (node, here, there) = (name.0, to, back);
                let (is_answer, tells_left, is_reliable) = (true, false, content.tag.is_some());
                let (sender, begin, end, again) = (None, 0, bytes, None);
                let (collective, nodes, is_illegal) = (Collective::default(), 1, false);
                let Header { key, is_physical, .. } = content.header;
                let job = Job {
                    name,
                    is_answer,
                    verb,
                    node,
                    bytes,
                    here,
                    there,
                    tells_left,
                    is_reliable,
                    sender,
                    begin,
                    end,
                    again,
                    collective,
                    nodes,
                    key,
                    is_physical,
                    is_illegal,
                };
                self.sources
                    .last_mut()
                    .expect("requests are the last")
                    .push(Descriptor::request(job, content.story));
                if let Some(tag) = content.tag {
                    self.finished(tag.receiver);
                }
                self.has_left_buffer(self.room(&content));
                self.schedule();
            }
        }
    }

    /// What is for a ring gets an entry, or waits.
    fn wants_entry(&mut self, process: u8, ring: Ring, write: Write) {
        let gives_up = self.around.after(self.settings.hold);
        let state = self.ring(process, ring);
        if state.free > 0 {
            state.free -= 1;
            self.translate_and_write(write);
            return;
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push((number, write));
        self.counts.waited[ring as usize] += 1;
        self.around.ask(gives_up, Due::GivesUp(process, ring, number));
    }

    /// Entries of a ring are free: the first that wait get them.
    pub(super) fn entries_free(&mut self, process: u8, ring: Ring, count: u32) {
        self.ring(process, ring).free += count;
        loop {
            let at = self.around.at;
            let state = self.ring(process, ring);
            if state.free == 0 || state.waiting.is_empty() {
                return;
            }
            state.free -= 1;
            let (_, mut write) = state.waiting.remove(0);
            write.story().pass(Part::Room, at);
            self.translate_and_write(write);
        }
    }

    /// What waits for an entry gives up, if it still waits.
    pub(super) fn gives_up(&mut self, process: u8, ring: Ring, number: u64) {
        let state = self.ring(process, ring);
        let Some(place) = state.waiting.iter().position(|it| it.0 == number) else { return };
        let (_, write) = state.waiting.remove(place);
        let tag = match &write {
            Write::Mini(content) | Write::Data(content) => content.tag,
            Write::Event(_, _, tag) => *tag,
        };
        if !tag.is_some_and(|tag| self.refuse(tag)) {
            self.counts.dropped[ring as usize] += 1;
        }
        if let Write::Mini(content) = write {
            self.has_left_buffer(self.room(&content));
        }
    }

    /// A process has seen an entry.
    pub(super) fn entry_seen(&mut self, process: u8, ring: Ring) {
        self.system.unseen[usize::from(process)] -= 1;
        let state = self.ring(process, ring);
        state.seen += 1;
        if state.seen * 4 >= state.entries {
            let count = std::mem::take(&mut state.seen);
            let there = self.bus.write(self.around.at, DOORBELL);
            self.around.ask(there, Due::Entries(process, ring, count));
        }
    }

    fn translate_and_write(&mut self, write: Write) {
        if let Write::Data(content) = &write
            && content.header.is_physical
        {
            self.write_translated(write);
            return;
        }
        let page = match &write {
            Write::Mini(content) => (content.header.to.process, PAGES[0]),
            Write::Event(process, ..) => (*process, PAGES[1]),
            Write::Data(content) => {
                (content.header.to.process, content.header.to.byte / self.settings.atc.page)
            }
        };
        if self.atc.look(page) {
            self.write_translated(write);
        } else {
            self.wait_for(page, Waiter::Write(Box::new(write)));
        }
    }

    /// What is written goes up the bus.
    pub(super) fn write_translated(&mut self, mut write: Write) {
        write.story().pass(Part::Translation, self.around.at);
        match write {
            Write::Mini(content) => {
                let visible = self.post_data(&content, ENTRY_HEAD);
                let Content { header, mut story, tag, .. } = content;
                story.pass(Part::Bus, visible);
                let completion = completion(CompletionKind::Received, header.name, header.of, story);
                let receiver = tag.map(|tag| tag.receiver);
                self.around.ask(visible, Due::Visible(header.to.process, Ring::Mpq, completion, receiver));
                self.has_come(header.to.process);
            }
            Write::Data(content) => {
                let visible = self.post_data(&content, 0);
                match content.tag {
                    None => self.data_written(&content.header, content.story, visible),
                    Some(tag) if self.is_dealt_with(tag) => {
                        self.all_written(&content.header, content.story, Some(tag))
                    }
                    Some(_) => {}
                }
            }
            Write::Event(process, mut completion, tag) => {
                let (_, visible) = self.bus.post(self.around.at, EVENT);
                completion.story.pass(Part::Bus, visible);
                let receiver = tag.map(|tag| tag.receiver);
                self.around.ask(visible, Due::Visible(process, Ring::Eq, completion, receiver));
                self.has_come(process);
            }
        }
    }

    /// Writes the data of a packet, and so many bytes more: when memory has them.
    fn post_data(&mut self, content: &Content, more: u32) -> Picos {
        let Header { to, bytes, .. } = content.header;
        let (left, visible) = self.bus.post(self.around.at, bytes as u32 + more);
        self.around.ask(left, Due::Left(self.room(content)));
        if let Some(data) = &content.data {
            self.around.ask(visible, Due::Landed(to, data.clone()));
        }
        visible
    }

    /// Data of an operation have been written, which memory has then: when all have, there is an event, or they are kept as a
    /// control packet is when memory has them.
    fn data_written(&mut self, header: &Header, mut story: Story, visible: Picos) {
        let before = self.written.iter().position(|(name, _)| *name == header.name);
        let before = before.map_or(0, |place| self.written.remove(place).1);
        let written = before + header.bytes;
        if written < header.of {
            self.written.push((header.name, written));
            return;
        }
        if header.triggers {
            story.pass(Part::Bus, visible);
            self.around.ask(visible, Due::Triggers(header.to.process, story));
            return;
        }
        self.all_written(header, story, None);
    }

    /// All data of an operation have been written, those of packet `tag` last if it is reliable.
    fn all_written(&mut self, header: &Header, story: Story, tag: Option<DataTag>) {
        let name: Name = header.name;
        let (process, what) = if header.is_answer {
            (name.1, CompletionKind::Fetched)
        } else {
            (header.to.process, CompletionKind::Received)
        };
        self.begin_event(process, completion(what, name, header.of, story), tag);
    }

    /// There is an event for a process.
    pub(super) fn begin_event(&mut self, process: u8, completion: Completion, tag: Option<DataTag>) {
        self.wants_entry(process, Ring::Eq, Write::Event(process, completion, tag));
    }
}
