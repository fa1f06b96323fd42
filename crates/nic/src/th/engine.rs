//! The protocol engine and the sending half of the network interface. See points 3 to 6 of the header of this module.

use super::submission::From;
use super::{Job, MINI_PACKET, Outbound, Purpose, REQUEST, Th, ThContext, ThEvent, ThSettings, Waiter};
use crate::Place;
use crate::host::atc::{Look, Page};
use crate::host::bus::{self, Read, plus};
use crate::host::memory::Address;
use crate::host::program::{CompletionKind, Verb};
use crate::host::story::{Stage, Story, Unit as In};
use crate::host::transfer::{Carries, Content, Departures};
use flitway_engine::Picos;
use flitway_engine::random::{Purpose as RandomPurpose, Stream};
use flitway_wiring::RailId;
use std::collections::VecDeque;

/// The units, and what is on its way to the NIC ports.
#[derive(Debug)]
pub(super) struct Engine {
    units: Box<[Unit]>,
    /// By rail: packets in the source queue, or on their way there.
    ports: Box<[u32]>,
    /// Whose turn it is.
    next_unit: usize,
    next_rail: usize,
    lanes: Stream,
    leaving: Departures,
    /// Since when all units have been busy, while they are; and picoseconds in which they were before.
    full_since: Option<Picos>,
    full: u64,
}

#[derive(Debug, Default)]
struct Unit {
    is_busy: bool,
    /// Those that have not read all of their data, in order; the last may not have asked for all.
    transfers: VecDeque<Transfer>,
    /// Bytes asked for and not sent on.
    buffered: u64,
    /// Packets that can be sent on.
    ready: VecDeque<Outbound>,
}

/// A transfer that a unit is at.
#[derive(Debug)]
struct Transfer {
    job: Job,
    /// Data asked for, read, and cut into packets, in bytes.
    asked: u64,
    read: u64,
    cut: u64,
    /// Requests under way: their bytes, and the story until each was made.
    reading: VecDeque<(u64, Story)>,
    /// The page whose translation is known.
    page: Option<Page>,
    /// The request that waits for a translation: the story until then.
    waits: Option<Story>,
}

impl Engine {
    pub(super) fn new(settings: &ThSettings, place: Place) -> Self {
        Engine {
            units: (0..settings.units).map(|_| Unit::default()).collect(),
            ports: vec![0; place.rails as usize].into(),
            next_unit: 0,
            next_rail: 0,
            lanes: Stream::new(place.seed, place.node.0.into(), RandomPurpose::Lane),
            leaving: Departures::default(),
            full_since: None,
            full: 0,
        }
    }

    /// A unit may take a descriptor.
    pub(super) fn free(&mut self, at: Picos, unit: u8) {
        self.units[usize::from(unit)].is_busy = false;
        self.full += self.full_since.take().map_or(0, |since| at.0 - since.0);
    }

    /// Picoseconds until `at` in which all units were busy.
    pub(super) fn full(&self, at: Picos) -> u64 {
        self.full + self.full_since.map_or(0, |since| at.0.saturating_sub(since.0))
    }

    pub(super) fn is_idle(&self) -> bool {
        let is_idle = |unit: &Unit| unit.transfers.is_empty() && unit.ready.is_empty();
        self.units.iter().all(is_idle) && self.ports.iter().all(|&packets| packets == 0)
    }
}

/// Whether a descriptor holds its data, or needs none.
fn is_immediate(job: &Job, settings: &ThSettings) -> bool {
    match job.verb {
        Verb::Send => true,
        Verb::Put => job.bytes <= settings.immediate.into(),
        _ => job.is_request(),
    }
}

/// The packet with `bytes` of an operation from `offset` on.
fn packet(job: &Job, offset: u64, bytes: u64, story: Story) -> Outbound {
    Outbound {
        to: job.to.0,
        payload: if job.is_request() { REQUEST } else { bytes as u16 },
        is_last: offset + bytes == job.bytes,
        is_buffered: false,
        tells_left: job.tells_left,
        header: job.header(offset, bytes, story),
    }
}

impl Th {
    /// Free units take descriptors.
    pub(super) fn schedule(&mut self, cx: &mut ThContext<'_>) {
        while let Some(unit) = self.engine.units.iter().position(|unit| !unit.is_busy) {
            let Some((mut job, from)) = self.submissions.take(cx, self.node) else { break };
            self.counts.descriptors[from as usize] += 1;
            self.engine.units[unit].is_busy = true;
            if self.engine.units.iter().all(|unit| unit.is_busy) {
                self.engine.full_since = Some(cx.at);
            }
            job.story.pass(In::Submission, cx.at);
            if is_immediate(&job, &self.settings) {
                cx.ask(plus(cx.at, self.settings.interval), ThEvent::Ready(unit as u8));
            }
            cx.ask(plus(cx.at, self.settings.decode), ThEvent::Decoded(unit as u8, job));
            if from == From::Sdq {
                self.fetch(cx);
            }
        }
    }

    /// Queues in memory are read.
    pub(super) fn fetch(&mut self, cx: &mut ThContext<'_>) {
        self.counts.fetches += self.submissions.fetch(cx, &self.settings);
    }

    /// A unit has decoded a descriptor.
    pub(super) fn decoded(&mut self, cx: &mut ThContext<'_>, unit: u8, mut job: Job) {
        job.story.pass(In::Engine, cx.at);
        let of_unit = &mut self.engine.units[usize::from(unit)];
        if is_immediate(&job, &self.settings) {
            assert!(job.verb != Verb::Send || job.bytes <= MINI_PACKET, "a mini-packet is small: {job:?}");
            of_unit.ready.push_back(packet(&job, 0, job.bytes, job.story));
            self.transmit(cx);
        } else {
            let (reading, page, waits) = (VecDeque::new(), None, None);
            of_unit.transfers.push_back(Transfer { job, asked: 0, read: 0, cut: 0, reading, page, waits });
            self.ask_for_data(cx, unit);
        }
    }

    /// The last transfer of a unit asks for what there is room for. When it has asked for everything the unit is free.
    fn ask_for_data(&mut self, cx: &mut ThContext<'_>, unit: u8) {
        while let Some((request, story)) = self.next_request(cx, unit) {
            let transfer = self.engine.asking(unit);
            let Job { source, bytes, .. } = transfer.job;
            let page = self.atc.page(source.0, source.1 + transfer.asked);
            if transfer.page != Some(page) {
                transfer.page = Some(page);
                if self.translate(cx, page, || Waiter::Unit(unit)) != Look::Hit {
                    self.engine.asking(unit).waits = Some(story);
                    return;
                }
            }
            self.engine.request(cx, unit, request, story);
            if self.engine.asking(unit).asked == bytes {
                self.engine.free(cx.at, unit);
                self.schedule(cx);
                return;
            }
        }
    }

    /// The next request of a unit, and the story until now, if there is one, it waits for no translation and has room.
    fn next_request(&self, cx: &ThContext<'_>, unit: u8) -> Option<(u64, Story)> {
        let of_unit = &self.engine.units[usize::from(unit)];
        let transfer = of_unit.transfers.back()?;
        let (request, mut story) = (transfer.next(cx), transfer.job.story);
        let is_full = of_unit.buffered + request > u64::from(self.settings.unit_buffer);
        story.pass(In::Engine, cx.at);
        (request > 0 && !is_full && transfer.waits.is_none()).then_some((request, story))
    }

    /// The translation that a transfer waits for is known.
    pub(super) fn page_known(&mut self, cx: &mut ThContext<'_>, unit: u8) {
        let transfer = self.engine.asking(unit);
        let mut story = transfer.waits.take().expect("it waits for one translation");
        story.pass(In::Translation, cx.at);
        // Further requests have waited for it too.
        transfer.job.story = story;
        self.ask_for_data(cx, unit);
    }

    /// Data that a unit has asked for are there.
    pub(super) fn data_read(&mut self, cx: &mut ThContext<'_>, unit: u8) {
        let mtu = u64::from(self.settings.mtu);
        let of_unit = &mut self.engine.units[usize::from(unit)];
        let transfer = of_unit.transfers.front_mut().expect("a transfer reads data");
        let (bytes, mut story) = transfer.reading.pop_front().expect("it has asked for them");
        story.pass(In::Read, cx.at);
        transfer.read += bytes;
        let Job { bytes, .. } = transfer.job;
        while transfer.cut < bytes {
            let end = transfer.cut + transfer.job.cut(transfer.cut, mtu);
            if end > transfer.read {
                break;
            }
            let packet = packet(&transfer.job, transfer.cut, end - transfer.cut, story);
            of_unit.ready.push_back(Outbound { is_buffered: true, ..packet });
            transfer.cut = end;
        }
        if transfer.read == bytes {
            of_unit.transfers.pop_front();
        }
        self.transmit(cx);
    }

    /// The network interface takes packets, as long as NIC ports have room.
    fn transmit(&mut self, cx: &mut ThContext<'_>) {
        while let Some((unit, rail)) = self.engine.next_to_send(self.settings.port_packets) {
            let of_unit = &mut self.engine.units[unit];
            let mut packet = of_unit.ready.pop_front().expect("it has a packet");
            self.engine.ports[rail] += 1;
            let there = plus(cx.at, self.settings.transmit);
            packet.header.story.pass(In::Interface, there);
            cx.ask(there, ThEvent::Hand(RailId::new(rail), packet));
            if packet.is_buffered {
                of_unit.buffered -= packet.header.bytes;
                self.ask_for_data(cx, unit as u8);
            }
        }
    }

    /// A packet reaches its NIC port.
    pub(super) fn hand(&mut self, cx: &mut ThContext<'_>, rail: RailId, packet: Outbound) {
        let Outbound { to, payload, is_last, tells_left, header, .. } = packet;
        self.counts.packets += 1;
        let (process, byte) = header.from;
        let data = match header.what {
            Carries::Request => None,
            _ => cx.memory.read(Address { process, byte }, header.bytes),
        };
        let lane = self.engine.lanes.bits() as u32;
        let number = cx.send(to, rail, lane, payload, Content { header, data });
        if tells_left {
            self.engine.leaving.hand(number, &header, is_last);
        }
    }

    /// A packet has left its NIC port.
    pub(super) fn has_left(&mut self, cx: &mut ThContext<'_>, rail: RailId, number: u64) {
        self.engine.ports[rail.index()] -= 1;
        if let Some(mut header) = self.engine.leaving.leave(number) {
            header.story.pass_stage(Stage::NicPort, cx.at);
            self.raise(cx, header.of.process, header.completion(CompletionKind::Left));
        }
        self.transmit(cx);
    }
}

impl Transfer {
    /// Bytes of its next request; none if it has asked for everything.
    fn next(&self, cx: &ThContext<'_>) -> u64 {
        self.job.read(self.asked, cx.bus.settings().read_request.into())
    }
}

impl Engine {
    /// The transfer of a unit that asks for data, or has done so last.
    fn asking(&mut self, unit: u8) -> &mut Transfer {
        self.units[usize::from(unit)].transfers.back_mut().expect("it has a transfer")
    }

    /// The transfer of a unit that asks for data reads so many.
    fn request(&mut self, cx: &mut ThContext<'_>, unit: u8, bytes: u64, story: Story) {
        let transfer = self.asking(unit);
        transfer.asked += bytes;
        transfer.reading.push_back((bytes, story));
        self.units[usize::from(unit)].buffered += bytes;
        let tag = Purpose::Data(unit).tag();
        cx.read(Read { tag, bytes: bytes as u32, place: bus::Place::Memory });
    }

    /// The unit and the rail whose turn it is, if there is a packet and room for it.
    fn next_to_send(&mut self, port_packets: u32) -> Option<(usize, usize)> {
        let (units, rails) = (self.units.len(), self.ports.len());
        let unit = (0..units).map(|step| (self.next_unit + step) % units);
        let unit = unit.into_iter().find(|&unit| !self.units[unit].ready.is_empty())?;
        let rail = (0..rails).map(|step| (self.next_rail + step) % rails);
        let rail = rail.into_iter().find(|&rail| self.ports[rail] < port_packets)?;
        (self.next_unit, self.next_rail) = ((unit + 1) % units, (rail + 1) % rails);
        Some((unit, rail))
    }
}
