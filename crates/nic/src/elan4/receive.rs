//! The input processor and the event processor. See points 9 and 10 of the header of this module.

use super::{EVENT, Elan4, ElanContext, ElanEvent, ElanSettings, Firing, Parcel, Side, Waiter};
use crate::host::atc::Look;
use crate::host::buffer::ReceiveBuffer;
use crate::host::memory::Address;
use crate::host::program::CompletionKind;
use crate::host::story::{Stage, Unit};
use crate::host::transfer::{Arrivals, Carries, Content, Header, Job};
use flitway_engine::Picos;
use flitway_fabric::Delivery;
use flitway_wiring::NodeId;

/// What the NIC has received, and the event processor.
#[derive(Debug)]
pub(super) struct Receive {
    buffer: ReceiveBuffer<Parcel>,
    arrived: Arrivals,
    /// When the event processor is free.
    events_free: Picos,
    /// Picoseconds for which it has been busy.
    events_busy: u64,
}

/// A packet in the input buffer.
#[derive(Debug)]
pub struct Incoming {
    /// Who sent it, and the number of its content there.
    pub(super) from: (NodeId, u64),
    parcel: Parcel,
    /// Bytes of the input buffer that it has.
    payload: u32,
}

/// Data that are written into memory.
#[derive(Debug)]
pub(super) struct Write {
    header: Header,
    data: Option<Box<[u8]>>,
    /// Bytes of the input buffer that they have.
    pub(super) payload: u32,
}

impl Receive {
    pub(super) fn new(settings: &ElanSettings) -> Self {
        Receive {
            buffer: ReceiveBuffer::new(settings.input_buffer),
            arrived: Arrivals::default(),
            events_free: Picos(0),
            events_busy: 0,
        }
    }

    /// Picoseconds for which the event processor has been busy.
    pub(super) fn events_busy(&self) -> u64 {
        self.events_busy
    }

    pub(super) fn is_idle(&self) -> bool {
        self.buffer.is_idle() && self.arrived.is_idle()
    }
}

impl Elan4 {
    /// A packet is in the NIC port.
    pub(super) fn take_in(&mut self, cx: &mut ElanContext<'_>, delivery: &Delivery, mut parcel: Parcel) {
        if let Parcel::Data(content) = &mut parcel {
            cx.cross(&mut content.header.story, delivery);
        }
        match self.receive.buffer.enter(delivery, parcel) {
            Some(parcel) => self.accept(cx, delivery, parcel),
            None => self.counts.held += 1,
        }
    }

    /// A packet is in the input buffer.
    fn accept(&mut self, cx: &mut ElanContext<'_>, delivery: &Delivery, mut parcel: Parcel) {
        cx.drain(delivery);
        let dealt = self.after(cx, self.settings.input);
        if let Parcel::Data(content) = &mut parcel {
            content.header.story.pass(Unit::Room, cx.at);
            content.header.story.pass(Unit::Input, dealt);
        }
        let from = (delivery.source, delivery.flow.tag);
        let incoming = Incoming { from, parcel, payload: delivery.payload.into() };
        cx.ask(dealt, ElanEvent::Dealt(Box::new(incoming)));
    }

    /// Bytes of the input buffer are free.
    pub(super) fn freed(&mut self, cx: &mut ElanContext<'_>, bytes: u32) {
        self.receive.buffer.free(bytes);
        while let Some((delivery, parcel)) = self.receive.buffer.admit() {
            self.accept(cx, &delivery, parcel);
        }
    }

    /// The input processor deals with a packet.
    pub(super) fn dealt(&mut self, cx: &mut ElanContext<'_>, incoming: Incoming) {
        let Incoming { from, parcel, payload } = incoming;
        match parcel {
            Parcel::Said(verdict) => {
                self.freed(cx, payload);
                self.hear(cx, verdict);
            }
            Parcel::Data(content) if content.header.what == Carries::Request => {
                let mut job = Job::answer(&content.header);
                let runs = self.after(cx, self.settings.command);
                job.story.pass(Unit::Command, runs);
                cx.ask(runs, ElanEvent::Runs(job));
                self.freed(cx, payload);
            }
            Parcel::Data(content) if content.header.what == Carries::Mini => {
                self.freed(cx, payload);
                self.append(cx, from, *content);
            }
            Parcel::Data(content) if let Some(event) = content.header.event => {
                self.freed(cx, payload);
                self.fill_block(cx, event, *content);
            }
            Parcel::Data(content) => self.dealt_data(cx, *content, payload),
        }
    }

    /// The data of a put or an answer are written, when their page is known.
    fn dealt_data(&mut self, cx: &mut ElanContext<'_>, content: Content, payload: u32) {
        let Content { header, data } = content;
        let page = self.tlbs[Side::Input as usize].page(header.process, header.byte);
        let mut write = Some(Write { header, data, payload });
        let waiter = || Waiter::Write(Box::new(write.take().expect("it waits once")));
        if self.translate(cx, Side::Input, page, waiter) == Look::Hit
            && let Some(write) = write
        {
            self.write(cx, write);
        }
    }

    /// Data are written into memory; when all of their operation have been, its event is set.
    pub(super) fn write(&mut self, cx: &mut ElanContext<'_>, write: Write) {
        let Write { mut header, data, payload } = write;
        header.story.pass(Unit::Translation, cx.at);
        let posted = cx.bus.post(cx.at, payload);
        if let Some(data) = data {
            let to = Address { process: header.process, byte: header.byte };
            cx.ask(posted.visible, ElanEvent::Landed(to, data));
        }
        cx.ask(posted.sent, ElanEvent::Freed(payload));
        if let Some(completion) = self.receive.arrived.count(&header) {
            let is_own = header.what == Carries::Answer;
            let awaited = if is_own { self.threads.awaits(header.process, header.of.number) } else { None };
            match awaited {
                Some(words) => self.told(cx, header.process, words, &header),
                None => self.set_event(cx, header.process, Firing { completion, message: None }),
            }
        }
    }

    /// All packets of an operation have been answered, as its process wants to know.
    pub(super) fn has_left(&mut self, cx: &mut ElanContext<'_>, mut header: Header) {
        header.story.pass_stage(Stage::NicPort, cx.at);
        let completion = header.completion(CompletionKind::Left);
        self.set_event(cx, header.of.process, Firing { completion, message: None });
    }

    /// Data come into the block of a counted event, which is set when all of their operation have.
    fn fill_block(&mut self, cx: &mut ElanContext<'_>, event: u16, content: Content) {
        let Content { header, data } = content;
        if let Some(data) = data {
            cx.memory.write(Address { process: header.process, byte: header.byte }, &data);
        }
        if let Some(completion) = self.receive.arrived.count(&header) {
            self.set_counted(cx, header.process, event, completion.story);
        }
    }

    /// When the event processor has done with what takes it so long.
    pub(super) fn event_takes(&mut self, cx: &ElanContext<'_>, time: Picos) -> Picos {
        let done = Picos(self.receive.events_free.max(cx.at).0 + time.0);
        self.counts.events += 1;
        self.receive.events_free = done;
        self.receive.events_busy += time.0;
        done
    }

    /// An event of a process is set.
    pub(super) fn set_event(&mut self, cx: &mut ElanContext<'_>, process: u8, mut firing: Firing) {
        let fires = self.event_takes(cx, self.settings.event);
        firing.completion.story.pass(Unit::Event, fires);
        cx.ask(fires, ElanEvent::Fires(process, firing));
    }

    /// An event fires: its word is written into memory, with the message that it tells of, if it does.
    pub(super) fn fires(&mut self, cx: &mut ElanContext<'_>, process: u8, firing: Firing) {
        let Firing { mut completion, message } = firing;
        let bytes = message.as_ref().map_or(0, |message| message.bytes);
        let posted = cx.bus.post(cx.at, EVENT + bytes);
        if let Some(message) = message {
            self.messages.tell(process, &completion, message);
        }
        completion.story.pass(Unit::Bus, posted.visible);
        cx.tell(posted.visible, process, completion);
    }
}
