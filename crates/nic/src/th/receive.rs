//! The receive path. See points 7 to 9 of the header of this module.

use super::end_to_end::{DataTag, Message};
use super::{
    DOORBELL, ENTRY_HEAD, EQ_PAGE, EVENT, Header, Job, MPQ_PAGE, Parcel, Record, Rings, Th, ThContext,
    ThEvent, ThSettings, Waiter,
};
use crate::host::atc::{Look, Page};
use crate::host::buffer::ReceiveBuffer;
use crate::host::bus::plus;
use crate::host::memory::Address;
use crate::host::program::{Completion, CompletionKind};
use crate::host::ring::Ring;
use crate::host::story::{Story, Unit};
use crate::host::transfer::{Arrivals, Carries, Content};
use flitway_engine::Picos;
use flitway_fabric::Delivery;
use flitway_wiring::NodeId;
use std::collections::VecDeque;

/// What the NIC has received.
#[derive(Debug)]
pub(super) struct Receive {
    buffer: ReceiveBuffer<Parcel>,
    /// By process.
    mpqs: Box<[Ring<Write>]>,
    eqs: Box<[Ring<Write>]>,
    /// By process: where what it sees next stands.
    told: Box<[VecDeque<Rings>]>,
    arrived: Arrivals,
}

/// A packet in the receive buffer.
#[derive(Debug)]
pub struct Incoming {
    from: NodeId,
    parcel: Parcel,
    payload: u32,
    /// Its CRC is wrong.
    is_corrupt: bool,
}

/// What is written into memory.
#[derive(Debug)]
pub(super) struct Write {
    what: WriteKind,
    /// Of which process.
    process: u8,
    /// Until now.
    story: Story,
    /// Bytes of the receive buffer that it has, and of those that are data.
    payload: u32,
    bytes: u32,
    /// What of a reliable transfer it is, or of which it is the event.
    tag: Option<DataTag>,
    /// Where the data go, where they are kept.
    data: Option<(u64, Box<[u8]>)>,
}

#[derive(Clone, Copy, Debug)]
enum WriteKind {
    /// A mini-packet, and what its process sees.
    Mini(Completion),
    /// Data of an operation: the packet that brought them.
    Data(Header),
    /// An event, which its process sees.
    Event(Completion),
}

impl Receive {
    pub(super) fn new(settings: &ThSettings, processes: usize) -> Self {
        Receive {
            buffer: ReceiveBuffer::new(settings.receive_buffer),
            mpqs: (0..processes).map(|_| Ring::new(settings.mpq)).collect(),
            eqs: (0..processes).map(|_| Ring::new(settings.eq)).collect(),
            told: (0..processes).map(|_| VecDeque::new()).collect(),
            arrived: Arrivals::default(),
        }
    }

    fn ring(&mut self, ring: Rings, process: u8) -> &mut Ring<Write> {
        match ring {
            Rings::Mpq => &mut self.mpqs[usize::from(process)],
            Rings::Eq => &mut self.eqs[usize::from(process)],
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        let mut rings = self.mpqs.iter().chain(&self.eqs);
        self.buffer.is_idle() && rings.all(Ring::is_idle) && self.arrived.is_idle()
    }
}

impl Th {
    /// A packet is in a NIC port.
    pub(super) fn take_in(&mut self, cx: &mut ThContext<'_>, delivery: &Delivery, mut parcel: Parcel) {
        if let Parcel::Data(content, _) = &mut parcel {
            cx.cross(&mut content.header.story, delivery);
        }
        match self.receive.buffer.enter(delivery, parcel) {
            Some(parcel) => self.accept(cx, delivery, parcel),
            None => self.counts.held += 1,
        }
    }

    /// A packet goes into the receive buffer, which has room.
    fn accept(&mut self, cx: &mut ThContext<'_>, delivery: &Delivery, mut parcel: Parcel) {
        let Delivery { source: from, payload, is_corrupt, .. } = *delivery;
        cx.drain(delivery);
        let parsed = plus(plus(cx.at, self.settings.receive), self.settings.parse);
        if let Parcel::Data(content, _) = &mut parcel {
            content.header.story.pass(Unit::Room, cx.at);
            content.header.story.pass(Unit::Interface, parsed);
        }
        let incoming = Incoming { from, parcel, payload: payload.into(), is_corrupt };
        cx.ask(parsed, ThEvent::Parsed(Box::new(incoming)));
    }

    /// Bytes of the receive buffer are free.
    pub(super) fn freed(&mut self, cx: &mut ThContext<'_>, bytes: u32) {
        self.receive.buffer.free(bytes);
        while let Some((delivery, parcel)) = self.receive.buffer.admit() {
            self.accept(cx, &delivery, parcel);
        }
    }

    /// A packet has been parsed.
    pub(super) fn parsed(&mut self, cx: &mut ThContext<'_>, incoming: Incoming) {
        let Incoming { from, parcel, payload, is_corrupt } = incoming;
        match parcel {
            Parcel::Said(message) => self.parsed_saying(cx, from, &message, is_corrupt, payload),
            Parcel::Data(content, tag)
                if !(is_corrupt && tag.is_some() || self.system.allows(&content.header)) =>
            {
                self.discard_illegal(cx, payload);
            }
            Parcel::Data(content, None) => self.deal(cx, *content, payload, None),
            Parcel::Data(content, Some(tag)) => {
                if self.data_come(cx, tag, !is_corrupt) {
                    self.deal(cx, *content, payload, Some(tag));
                } else {
                    self.freed(cx, payload);
                }
            }
        }
    }

    /// What node `from` says has been parsed; one that is corrupt says nothing.
    fn parsed_saying(
        &mut self,
        cx: &mut ThContext<'_>,
        from: NodeId,
        message: &Message,
        is_corrupt: bool,
        payload: u32,
    ) {
        if is_corrupt {
            self.connections.counts.corrupt += 1;
        } else {
            self.hear(cx, from, message);
        }
        self.freed(cx, payload);
    }

    /// A packet of data, or a request, is dealt with.
    fn deal(&mut self, cx: &mut ThContext<'_>, content: Content, payload: u32, tag: Option<DataTag>) {
        let Content { header, data } = content;
        let Header { process, byte, story, .. } = header;
        let bytes = header.bytes as u32;
        let data = data.map(|data| (byte, data));
        let write = |what| Write { what, process, story, payload, bytes, tag, data };
        match header.what {
            Carries::Mini => {
                let seen = header.completion(CompletionKind::Received);
                self.enter(cx, Rings::Mpq, write(WriteKind::Mini(seen)));
            }
            Carries::Put | Carries::Answer => {
                let page = self.atc.page(process, byte);
                let write = write(WriteKind::Data(header));
                if header.is_physical { self.write(cx, write) } else { self.write_to(cx, page, write) }
            }
            Carries::Control => {
                self.keep(process, story);
                self.freed(cx, payload);
                self.schedule(cx);
            }
            Carries::Request => {
                self.submissions.request(Job { is_reliable: tag.is_some(), ..Job::answer(&header) });
                if let Some(DataTag { receiver, .. }) = tag
                    && self.connections.receivers.written(receiver) == Some(true)
                {
                    self.finished(cx, receiver);
                }
                self.freed(cx, payload);
                self.schedule(cx);
            }
        }
    }

    /// A control packet is kept for a process.
    pub(super) fn keep(&mut self, process: u8, story: Story) {
        self.counts.controls[0] += 1;
        self.counts.controls[1] += u64::from(self.submissions.keep(process, story));
    }

    /// An event for a process, of a reliable transfer if it has a tag: that of the packet that was the last.
    pub(super) fn raise(
        &mut self,
        cx: &mut ThContext<'_>,
        process: u8,
        completion: Completion,
        tag: Option<DataTag>,
    ) {
        let (what, story) = (WriteKind::Event(completion), completion.story);
        self.enter(cx, Rings::Eq, Write { what, process, story, payload: 0, bytes: 0, tag, data: None });
    }

    /// Something gets an entry of a queue of its process, or waits for one.
    fn enter(&mut self, cx: &mut ThContext<'_>, ring: Rings, write: Write) {
        let process = write.process;
        match self.receive.ring(ring, process).enter(write) {
            Ok(write) => self.write_entry(cx, ring, write),
            Err(number) => {
                self.counts.waited[ring as usize] += 1;
                cx.ask(plus(cx.at, self.settings.hold), ThEvent::GivesUp(ring, process, number));
            }
        }
    }

    /// Something has an entry.
    fn write_entry(&mut self, cx: &mut ThContext<'_>, ring: Rings, mut write: Write) {
        write.story.pass(Unit::Room, cx.at);
        let page = match ring {
            Rings::Mpq => MPQ_PAGE,
            Rings::Eq => EQ_PAGE,
        };
        self.write_to(cx, (write.process, page), write);
    }

    /// Something is written into `page`, when that has been translated.
    fn write_to(&mut self, cx: &mut ThContext<'_>, page: Page, write: Write) {
        let mut write = Some(write);
        let look = self.translate(cx, page, || Waiter::Write(Box::new(write.take().expect("it waits once"))));
        if look == Look::Hit
            && let Some(write) = write
        {
            self.write(cx, write);
        }
    }

    /// Something is written into memory.
    pub(super) fn write(&mut self, cx: &mut ThContext<'_>, write: Write) {
        let Write { what, process, mut story, payload, bytes, tag, data } = write;
        story.pass(Unit::Translation, cx.at);
        let bytes = match what {
            WriteKind::Mini(_) => bytes + ENTRY_HEAD,
            WriteKind::Data(_) => bytes,
            WriteKind::Event(_) => EVENT,
        };
        let posted = cx.bus.post(cx.at, bytes);
        if let Some((byte, data)) = data {
            cx.ask(posted.visible, ThEvent::Landed(Address { process, byte }, data));
        }
        if payload > 0 {
            cx.ask(posted.sent, ThEvent::Freed(payload));
        }
        let receiver = tag.map(|tag| tag.receiver);
        if let (WriteKind::Mini(_) | WriteKind::Event(_), Some(receiver)) = (what, receiver) {
            cx.ask(posted.visible, ThEvent::Finished(receiver));
        }
        match what {
            WriteKind::Mini(completion) => {
                self.tell(cx, Rings::Mpq, process, Completion { story, ..completion }, posted.visible)
            }
            WriteKind::Event(completion) => {
                self.tell(cx, Rings::Eq, process, Completion { story, ..completion }, posted.visible)
            }
            WriteKind::Data(header) => self.count(cx, &Header { story, ..header }, tag, posted.visible),
        }
    }

    /// A process sees an entry of a queue when it is in memory, at `visible`.
    fn tell(
        &mut self,
        cx: &mut ThContext<'_>,
        ring: Rings,
        process: u8,
        mut completion: Completion,
        visible: Picos,
    ) {
        self.receive.told[usize::from(process)].push_back(ring);
        completion.story.pass(Unit::Bus, visible);
        cx.tell(visible, process, completion);
        if self.system.wakes(process) {
            self.record(cx, Record::Wakes(process));
        }
    }

    /// Data of an operation are on their way into memory, where they are `visible` then; when all are, its process gets an
    /// event, or they count as a control packet when they are there.
    fn count(&mut self, cx: &mut ThContext<'_>, header: &Header, tag: Option<DataTag>, visible: Picos) {
        let completion = match tag {
            None => self.receive.arrived.count(header),
            Some(tag) => {
                let are_all = self.connections.receivers.written(tag.receiver) == Some(true);
                let is_put = header.what == Carries::Put;
                let what = if is_put { CompletionKind::Received } else { CompletionKind::Fetched };
                are_all.then(|| header.completion(what))
            }
        };
        let Some(completion) = completion else { return };
        if header.triggers {
            let mut story = completion.story;
            story.pass(Unit::Bus, visible);
            cx.ask(visible, ThEvent::Triggers(header.process, story));
        } else {
            self.raise(cx, header.process, completion, tag);
        }
    }

    /// Entries of a queue are free.
    pub(super) fn entries_free(&mut self, cx: &mut ThContext<'_>, ring: Rings, process: u8, entries: u32) {
        for write in self.receive.ring(ring, process).free(entries) {
            self.write_entry(cx, ring, write);
        }
    }

    /// What waits for an entry gives up, if it waits still.
    pub(super) fn gives_up(&mut self, cx: &mut ThContext<'_>, ring: Rings, process: u8, number: u64) {
        if let Some(write) = self.receive.ring(ring, process).give_up(number) {
            self.refuse(cx, write.tag, ring);
            self.freed(cx, write.payload);
        }
    }

    /// Whether an entry of a queue of `process` has gone up the bus that it has not seen.
    pub(super) fn has_told(&self, process: u8) -> bool {
        !self.receive.told[usize::from(process)].is_empty()
    }

    /// A process has seen what it was told next.
    pub(super) fn process_saw(&mut self, cx: &mut ThContext<'_>, process: u8) {
        let ring = self.receive.told[usize::from(process)].pop_front().expect("it was told");
        if let Some(entries) = self.receive.ring(ring, process).see() {
            let there = cx.bus.write(cx.at, DOORBELL);
            cx.ask(there, ThEvent::Seen(ring, process, entries));
        }
    }
}
