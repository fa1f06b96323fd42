//! The DMA engine. See points 6 and 7 of the header of this module, and 29 in that of `system`.

use super::{Elan4, ElanContext, ElanEvent, Maker, Outbound, Side, Waiter};
use crate::host::atc::{Look, Page};
use crate::host::bus::{Place, Read};
use crate::host::story::{Story, Unit};
use crate::host::transfer::Job;
use flitway_engine::Picos;
use std::collections::VecDeque;

/// The DMA engine, and its packets in the NIC port.
#[derive(Debug, Default)]
pub(super) struct Dma {
    /// Descriptors, and behind how many bytes each begins.
    run_queue: VecDeque<(Job, u64)>,
    /// The prefetcher has a descriptor: the last of the transfers, or one that has not begun.
    is_fetching: bool,
    /// Those that have an assembler and have begun, the first first.
    transfers: VecDeque<Transfer>,
    /// Bytes asked for that are in no packet.
    buffered: u64,
    /// Packets in the source queue of the NIC port, or on their way there.
    port: u32,
}

/// A transfer that has an assembler.
#[derive(Debug)]
struct Transfer {
    job: Job,
    /// Data asked for, and cut into packets, with those before it in bytes; and those where it ends.
    asked: u64,
    cut: u64,
    end: u64,
    /// Reads under way: their bytes, and the story until each was asked for.
    reading: VecDeque<(u64, Story)>,
    /// Data that are there and in no packet: those of each read, and the story until they came.
    there: VecDeque<(u64, Story)>,
    /// The page whose translation is known.
    page: Option<Page>,
    /// The read that waits for a translation: the story until then.
    waits: Option<Story>,
}

impl Transfer {
    /// All of its data are in packets.
    fn is_over(&self) -> bool {
        self.cut == self.end
    }

    /// Takes what is there for a packet, up to `most`, which is 1 at least: how much, and the story of the last of it.
    fn take(&mut self, most: u64) -> (u64, Story) {
        let mut taken = 0;
        loop {
            let (bytes, story) = self.there.front_mut().expect("some data are there");
            let (part, story) = ((most - taken).min(*bytes), *story);
            taken += part;
            *bytes -= part;
            if *bytes == 0 {
                self.there.pop_front();
            }
            if taken == most || self.there.is_empty() {
                return (taken, story);
            }
        }
    }
}

impl Dma {
    /// A packet has left the source queue.
    pub(super) fn port_has_room(&mut self) {
        self.port -= 1;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.run_queue.is_empty() && !self.is_fetching && self.transfers.is_empty() && self.port == 0
    }

    /// The transfer that asks for data.
    fn fetching(&mut self) -> &mut Transfer {
        self.transfers.back_mut().expect("the prefetcher has one")
    }
}

impl Elan4 {
    /// A descriptor is in the run queue.
    pub(super) fn runs(&mut self, cx: &mut ElanContext<'_>, job: Job) {
        self.counts.descriptors[0] += 1;
        self.counts.descriptors[1] += u64::from(job.is_answer);
        self.runs_from(cx, job, 0);
    }

    /// What is left of a descriptor is in the run queue.
    pub(super) fn runs_from(&mut self, cx: &mut ElanContext<'_>, job: Job, first: u64) {
        self.dma.run_queue.push_back((job, first));
        self.fetch(cx);
    }

    /// The prefetcher takes a descriptor, if it may.
    pub(super) fn fetch(&mut self, cx: &mut ElanContext<'_>) {
        let has_one = !self.dma.is_fetching && self.dma.transfers.len() < self.settings.assemblers as usize;
        if has_one && let Some((mut job, first)) = self.dma.run_queue.pop_front() {
            self.dma.is_fetching = true;
            let begins = self.after(cx, self.settings.start);
            job.story.pass(Unit::Dma, begins);
            cx.ask(begins, ElanEvent::Begins(job, first));
        }
    }

    /// The prefetcher begins to read.
    pub(super) fn begins(&mut self, cx: &mut ElanContext<'_>, job: Job, first: u64) {
        let (reading, there, end) = (VecDeque::new(), VecDeque::new(), job.bytes);
        let begun = Transfer { job, asked: first, cut: first, end, reading, there, page: None, waits: None };
        self.dma.transfers.push_back(begun);
        self.ask_for_data(cx);
    }

    /// The prefetcher reads what there is room for.
    fn ask_for_data(&mut self, cx: &mut ElanContext<'_>) {
        while let Some((bytes, story)) = self.next_read(cx) {
            let transfer = self.dma.fetching();
            let Job { source, bytes: all, .. } = transfer.job;
            let page = self.tlbs[Side::Dma as usize].page(source.0, source.1 + transfer.asked);
            if transfer.page != Some(page) {
                transfer.page = Some(page);
                if self.translate(cx, Side::Dma, page, || Waiter::Prefetcher) != Look::Hit {
                    self.dma.fetching().waits = Some(story);
                    return;
                }
            }
            let transfer = self.dma.fetching();
            transfer.asked += bytes;
            transfer.reading.push_back((bytes, story));
            let is_over = transfer.asked == all;
            self.dma.buffered += bytes;
            cx.read(Read { tag: 0, bytes: bytes as u32, place: Place::Memory });
            if is_over {
                self.dma.is_fetching = false;
                self.fetch(cx);
                return;
            }
        }
    }

    /// The next read and the story until now, if there is one, it waits for no translation and fits.
    fn next_read(&self, cx: &ElanContext<'_>) -> Option<(u64, Story)> {
        let transfer = self.dma.transfers.back().filter(|it| self.dma.is_fetching && it.waits.is_none())?;
        if transfer.asked == transfer.end {
            // The prefetcher has taken another one, which has not begun.
            return None;
        }
        let bytes = transfer.job.read(transfer.asked, cx.bus.settings().read_request.into());
        let mut story = transfer.job.story;
        story.pass(Unit::Dma, cx.at);
        (self.dma.buffered + bytes <= self.settings.dma_buffer.into()).then_some((bytes, story))
    }

    /// The translation that the prefetcher waits for has been found.
    pub(super) fn page_known(&mut self, cx: &mut ElanContext<'_>) {
        let transfer = self.dma.fetching();
        let mut story = transfer.waits.take().expect("it waits for one translation");
        story.pass(Unit::Translation, cx.at);
        // Further reads have waited for it too.
        transfer.job.story = story;
        self.ask_for_data(cx);
    }

    /// The page that the prefetcher waits for has no translation: it has no descriptor any more. What is left of that, and
    /// behind how many bytes.
    pub(super) fn put_off(&mut self) -> (Job, u64) {
        self.dma.is_fetching = false;
        let transfer = self.dma.fetching();
        let story = transfer.waits.take().expect("it waits for one translation");
        transfer.end = transfer.asked;
        let (job, first) = (Job { story, ..transfer.job }, transfer.end);
        if transfer.is_over() {
            self.dma.transfers.pop_back();
        }
        (job, first)
    }

    /// Data that were asked for are there: reads are completed in their order.
    pub(super) fn data_read(&mut self, cx: &mut ElanContext<'_>) {
        let transfer = self.dma.transfers.iter_mut().find(|transfer| !transfer.reading.is_empty());
        let transfer = transfer.expect("a transfer reads data");
        let (bytes, mut story) = transfer.reading.pop_front().expect("it has asked for them");
        story.pass(Unit::Read, cx.at);
        transfer.there.push_back((bytes, story));
        self.assemble(cx);
    }

    /// Assemblers make packets of what is there, as long as the NIC port takes them.
    pub(super) fn assemble(&mut self, cx: &mut ElanContext<'_>) {
        while self.dma.port < self.settings.port_packets
            && let Some(place) = self.dma.transfers.iter().position(|it| !it.there.is_empty())
        {
            let transfer = &mut self.dma.transfers[place];
            let job = transfer.job;
            let (bytes, mut story) = transfer.take(job.cut(transfer.cut, self.settings.mtu.into()));
            story.pass(Unit::Room, cx.at);
            let formed = Picos(cx.at.0 + self.settings.form.0);
            story.pass(Unit::Dma, formed);
            let header = job.header(transfer.cut, bytes, story);
            transfer.cut += bytes;
            let is_last = transfer.cut == job.bytes;
            let Job { to, tells_left, .. } = job;
            let packet =
                Outbound { maker: Maker::Dma, to: to.0, payload: bytes as u16, is_last, tells_left, header };
            cx.ask(formed, ElanEvent::Hand(packet));
            self.dma.port += 1;
            self.dma.buffered -= bytes;
            if self.dma.transfers[place].is_over() {
                self.dma.transfers.remove(place);
                self.fetch(cx);
            }
            self.ask_for_data(cx);
        }
    }
}
