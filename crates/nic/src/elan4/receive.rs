//! The input processor and the event processor. See points 9 and 10 of the header of this module.

use super::{EVENT, Elan4, ElanContext, ElanEvent, ElanSettings, Side, Waiter};
use crate::host::atc::Look;
use crate::host::buffer::ReceiveBuffer;
use crate::host::memory::Address;
use crate::host::program::{Completion, CompletionKind};
use crate::host::story::{Stage, Unit};
use crate::host::transfer::{Arrivals, Carries, Content, Header, Job};
use flitway_engine::Picos;
use flitway_fabric::Delivery;

/// What the NIC has received, and the event processor.
#[derive(Debug)]
pub(super) struct Receive {
    buffer: ReceiveBuffer<Content>,
    arrived: Arrivals,
    /// When the event processor is free.
    events_free: Picos,
    /// Picoseconds for which it has been busy.
    events_busy: u64,
}

/// Data that are written into memory.
#[derive(Debug)]
pub(super) struct Write {
    header: Header,
    data: Option<Box<[u8]>>,
    /// Bytes of the input buffer that they have.
    payload: u32,
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
    pub(super) fn take_in(&mut self, cx: &mut ElanContext<'_>, delivery: &Delivery, mut content: Content) {
        cx.cross(&mut content.header.story, delivery);
        match self.receive.buffer.enter(delivery, content) {
            Some(content) => self.accept(cx, delivery, content),
            None => self.counts.held += 1,
        }
    }

    /// A packet is in the input buffer.
    fn accept(&mut self, cx: &mut ElanContext<'_>, delivery: &Delivery, mut content: Content) {
        cx.drain(delivery);
        let dealt = self.after(cx, self.settings.input);
        content.header.story.pass(Unit::Room, cx.at);
        content.header.story.pass(Unit::Input, dealt);
        cx.ask(dealt, ElanEvent::Dealt(content, delivery.payload.into()));
    }

    /// Bytes of the input buffer are free.
    pub(super) fn freed(&mut self, cx: &mut ElanContext<'_>, bytes: u32) {
        self.receive.buffer.free(bytes);
        while let Some((delivery, content)) = self.receive.buffer.admit() {
            self.accept(cx, &delivery, content);
        }
    }

    /// The input processor deals with a packet.
    pub(super) fn dealt(&mut self, cx: &mut ElanContext<'_>, content: Content, payload: u32) {
        let Content { header, data } = content;
        if header.what == Carries::Request {
            let mut job = Job::answer(&header);
            let runs = self.after(cx, self.settings.command);
            job.story.pass(Unit::Command, runs);
            cx.ask(runs, ElanEvent::Runs(job));
            self.freed(cx, payload);
            return;
        }
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
            self.set_event(cx, header.process, completion);
        }
    }

    /// All packets of an operation have been answered, as its process wants to know.
    pub(super) fn has_left(&mut self, cx: &mut ElanContext<'_>, mut header: Header) {
        header.story.pass_stage(Stage::NicPort, cx.at);
        self.set_event(cx, header.of.process, header.completion(CompletionKind::Left));
    }

    /// An event of a process is set.
    fn set_event(&mut self, cx: &mut ElanContext<'_>, process: u8, mut completion: Completion) {
        let fires = Picos(self.receive.events_free.max(cx.at).0 + self.settings.event.0);
        self.counts.events += 1;
        self.receive.events_free = fires;
        self.receive.events_busy += self.settings.event.0;
        completion.story.pass(Unit::Event, fires);
        cx.ask(fires, ElanEvent::Fires(process, completion));
    }

    /// An event fires: its word is written into memory.
    pub(super) fn fires(&mut self, cx: &mut ElanContext<'_>, process: u8, mut completion: Completion) {
        let posted = cx.bus.post(cx.at, EVENT);
        completion.story.pass(Unit::Bus, posted.visible);
        cx.tell(posted.visible, process, completion);
    }
}
