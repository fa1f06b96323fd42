//! The protocol engine and the sending half of the network interface. See points 3 to 6 of the header of this module.

use super::connection::{Cutter, Saying};
use super::end_to_end::{ContextUse, DataTag};
use super::submission::From;
use super::{
    CONTROL, Job, MINI_PACKET, Outbound, Parcel, Purpose, REQUEST, Th, ThContext, ThEvent, ThSettings, Waiter,
};
use crate::Place;
use crate::host::atc::{Look, Page};
use crate::host::bus::{self, Read, plus};
use crate::host::memory::Address;
use crate::host::program::{Collective, CompletionKind, Verb};
use crate::host::story::{Stage, Story, Unit as In};
use crate::host::transfer::{Carries, Content, Departures};
use flitway_engine::Picos;
use flitway_engine::random::{Purpose as RandomPurpose, Stream};
use flitway_wiring::{NodeId, RailId};
use std::collections::VecDeque;

/// The units, and what is on its way to the NIC ports.
#[derive(Debug)]
pub(super) struct Engine {
    /// Those that take descriptors, and behind them the one that sends packets of reliable transfers again.
    units: Box<[Unit]>,
    /// By rail: packets in the source queue, or on their way there.
    ports: Box<[u32]>,
    /// Whose turn it is.
    next_unit: usize,
    next_rail: usize,
    /// What was taken last was something that is said.
    has_said: bool,
    lanes: Stream,
    leaving: Departures,
    /// Since when all units have been busy, while they are; and picoseconds in which they were before.
    full_since: Option<Picos>,
    full: u64,
}

#[derive(Debug, Default)]
struct Unit {
    is_busy: bool,
    /// What is left of a collective descriptor: the next of its nodes, and those behind it.
    rest: Option<Job>,
    /// Those that have not read all of their data, in order; the last may not have asked for all.
    transfers: VecDeque<Transfer>,
    /// Bytes asked for and not sent on.
    buffered: u64,
    /// Packets that can be sent on.
    ready: VecDeque<Outbound>,
}

/// A transfer that a unit is at.
#[derive(Debug)]
pub(super) struct Transfer {
    job: Job,
    /// Its context, if it is reliable.
    sender: Option<ContextUse>,
    /// It is a packet that is sent again: its tag, and of which job from which byte on.
    again: Option<(DataTag, Job, u64)>,
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
            units: (0..=settings.units).map(|_| Unit::default()).collect(),
            ports: vec![0; place.rails as usize].into(),
            next_unit: 0,
            next_rail: 0,
            has_said: false,
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

/// Whether a descriptor holds its data, or has none.
fn holds_data(job: &Job, settings: &ThSettings) -> bool {
    match job.verb {
        Verb::Send | Verb::Control | Verb::Event => true,
        Verb::Put => job.bytes <= settings.immediate.into(),
        _ => false,
    }
}

/// Whether a descriptor needs no data from memory.
pub(super) fn is_immediate(job: &Job, settings: &ThSettings) -> bool {
    holds_data(job, settings) || job.is_request()
}

/// What is left of a collective descriptor behind the node of `job`.
fn behind(job: &Job) -> Option<Job> {
    let further = job.collective.further.checked_sub(1)?;
    let (node, process) = job.to;
    let collective = Collective { further, ..job.collective };
    Some(Job { to: (NodeId(node.0 + 1), process), collective, ..*job })
}

/// The packet with `bytes` of an operation from `offset` on.
pub(super) fn packet(job: &Job, offset: u64, bytes: u64, story: Story) -> Outbound {
    Outbound {
        to: job.to.0,
        payload: match job.verb {
            Verb::Control => CONTROL,
            _ if job.is_request() => REQUEST,
            _ => bytes as u16,
        },
        // Of a collective descriptor to the last of its nodes.
        is_last: offset + bytes == job.bytes && job.collective.further == 0,
        is_buffered: false,
        tells_left: job.tells_left,
        tag: None,
        sender: None,
        header: job.header(offset, bytes, story),
    }
}

impl Th {
    /// Free units take descriptors.
    pub(super) fn schedule(&mut self, cx: &mut ThContext<'_>) {
        while let Some(unit) = self.engine.next_to_take() {
            let (mut job, from) = match self.engine.units[unit].rest.take() {
                Some(rest) => (rest, None),
                None => {
                    let has_context = self.connections.senders.has_free();
                    self.connections.counts.waited += self.submissions.pass_over(has_context);
                    let Some((job, from)) = self.submissions.take(cx, self.node, has_context) else { break };
                    self.counts.descriptors[from as usize] += 1;
                    (job, Some(from))
                }
            };
            self.engine.units[unit].is_busy = true;
            if self.engine.takers().iter().all(|unit| unit.is_busy) {
                self.engine.full_since = Some(cx.at);
            }
            job.story.pass(if from.is_some() { In::Submission } else { In::Engine }, cx.at);
            if matches!(from, Some(From::Hdq | From::Sdq)) {
                let holds_data = holds_data(&job, &self.settings);
                self.system.check(&mut job, holds_data);
                self.counts.illegal[0] += u64::from(job.is_illegal);
            }
            self.engine.units[unit].rest = behind(&job).filter(|_| !job.is_illegal);
            if job.is_illegal || is_immediate(&job, &self.settings) {
                cx.ask(plus(cx.at, self.settings.interval), ThEvent::Ready(unit as u8));
            }
            let is_transfer = job.is_reliable && !job.is_illegal;
            let sender = is_transfer.then(|| self.connections.open(&job, unit as u8, &self.settings));
            cx.ask(plus(cx.at, self.settings.decode), ThEvent::Decoded(unit as u8, job, sender));
            if from == Some(From::Sdq) {
                self.fetch(cx);
            }
        }
    }

    /// Queues in memory are read.
    pub(super) fn fetch(&mut self, cx: &mut ThContext<'_>) {
        self.counts.fetches += self.submissions.fetch(cx, &self.settings);
    }

    /// A unit has decoded a descriptor.
    pub(super) fn decoded(
        &mut self,
        cx: &mut ThContext<'_>,
        unit: u8,
        mut job: Job,
        sender: Option<ContextUse>,
    ) {
        job.story.pass(In::Engine, cx.at);
        if let Some(sender) = sender {
            self.set_up(cx, sender, &job);
        }
        if job.is_illegal || job.verb == Verb::Event {
            let header = job.header(0, job.bytes, job.story);
            let what = if job.is_illegal { CompletionKind::Failed } else { CompletionKind::Reached };
            self.raise(cx, job.of.process, header.completion(what), None);
        } else if is_immediate(&job, &self.settings) {
            assert!(job.verb != Verb::Send || job.bytes <= MINI_PACKET, "a mini-packet is small: {job:?}");
            self.offer(cx, unit, sender, packet(&job, 0, job.bytes, job.story));
            self.transmit(cx);
        } else {
            self.engine.units[usize::from(unit)].transfers.push_back(Transfer::new(job, sender));
            self.ask_for_data(cx, unit);
        }
    }

    /// A packet can be sent. If its transfer is reliable it waits until that is open, and is not sent if it is over.
    fn offer(&mut self, cx: &mut ThContext<'_>, unit: u8, sender: Option<ContextUse>, mut packet: Outbound) {
        let Some(sender) = sender else { return self.engine.ready(unit, packet) };
        packet.payload += self.settings.end_to_end.overhead as u16;
        packet.tells_left = false;
        if self.connections.is_dropped(sender) {
            self.discard(cx, unit, VecDeque::from([packet]));
        } else if let Some(packet) = self.connections.offer(sender, packet) {
            self.engine.ready(unit, packet);
        }
    }

    /// Packets of a unit are not sent.
    pub(super) fn discard(&mut self, cx: &mut ThContext<'_>, unit: u8, packets: VecDeque<Outbound>) {
        let of_unit = &mut self.engine.units[usize::from(unit)];
        let buffered = packets.iter().filter(|packet| packet.is_buffered);
        of_unit.buffered -= buffered.map(|packet| packet.header.bytes).sum::<u64>();
        self.ask_for_data(cx, unit);
    }

    /// The last transfer of a unit asks for what there is room for. When it has asked for everything, or is dropped, the unit
    /// is free.
    pub(super) fn ask_for_data(&mut self, cx: &mut ThContext<'_>, unit: u8) {
        if self.drops(unit) {
            return self.asked_all(cx, unit);
        }
        while let Some((request, story)) = self.next_request(cx, unit) {
            let transfer = self.engine.asking(unit);
            let Job { source, bytes, is_physical, .. } = transfer.job;
            let page = self.atc.page(source.0, source.1 + transfer.asked);
            if !is_physical && transfer.page != Some(page) {
                transfer.page = Some(page);
                if self.translate(cx, page, || Waiter::Unit(unit)) != Look::Hit {
                    self.engine.asking(unit).waits = Some(story);
                    return;
                }
            }
            self.engine.request(cx, unit, request, story);
            if self.engine.asking(unit).asked == bytes {
                return self.asked_all(cx, unit);
            }
        }
    }

    /// A unit has asked for all data of its last transfer.
    fn asked_all(&mut self, cx: &mut ThContext<'_>, unit: u8) {
        if unit == self.engine.resender() {
            self.engine.units[usize::from(unit)].is_busy = false;
            self.send_again(cx);
        } else {
            self.engine.free(cx.at, unit);
            self.schedule(cx);
        }
    }

    /// Ends the last transfer of a unit with what it has asked for, if that asks for data still and is dropped.
    fn drops(&mut self, unit: u8) -> bool {
        let of_unit = &mut self.engine.units[usize::from(unit)];
        let Some(transfer) = of_unit.transfers.back_mut() else { return false };
        let asks =
            transfer.asked < transfer.job.bytes && transfer.waits.is_none() && transfer.again.is_none();
        if !asks || !transfer.sender.is_some_and(|sender| self.connections.is_dropped(sender)) {
            return false;
        }
        transfer.job.bytes = transfer.asked;
        if transfer.read == transfer.asked {
            of_unit.buffered -= transfer.read - transfer.cut;
            of_unit.transfers.pop_back();
        }
        true
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
        let of_unit = &mut self.engine.units[usize::from(unit)];
        let transfer = of_unit.transfers.front_mut().expect("a transfer reads data");
        let (bytes, mut story) = transfer.reading.pop_front().expect("it has asked for them");
        story.pass(In::Read, cx.at);
        transfer.read += bytes;
        let (sender, again) = (transfer.sender, transfer.again);
        let packets = transfer.packets(story, &self.settings);
        if transfer.read == transfer.job.bytes {
            of_unit.transfers.pop_front();
        }
        for packet in packets {
            match again {
                Some(_) => self.sent_again(cx, packet),
                None => self.offer(cx, unit, sender, packet),
            }
        }
        self.transmit(cx);
    }

    /// A packet that is sent again has its data: it goes out, unless its transfer is over.
    fn sent_again(&mut self, cx: &mut ThContext<'_>, mut packet: Outbound) {
        let unit = self.engine.resender();
        packet.payload += self.settings.end_to_end.overhead as u16;
        packet.tells_left = false;
        if packet.sender.is_some_and(|sender| self.connections.senders.transfer(sender).is_some()) {
            self.engine.ready(unit, packet);
        } else {
            self.discard(cx, unit, VecDeque::from([packet]));
        }
    }

    /// The network interface takes what is said, and packets, as long as NIC ports have room.
    pub(super) fn transmit(&mut self, cx: &mut ThContext<'_>) {
        while let Some(rail) = self.engine.next_port(self.settings.port_packets) {
            let there = plus(cx.at, self.settings.transmit);
            let unit = self.engine.next_to_send();
            if (unit.is_none() || !self.engine.has_said)
                && let Some(saying) = self.connections.said.pop_front()
            {
                self.engine.has_said = true;
                self.engine.take_port(rail);
                cx.ask(there, ThEvent::Say(RailId::new(rail), saying));
                continue;
            }
            let Some(unit) = unit else { break };
            self.engine.has_said = false;
            self.engine.take_port(rail);
            let mut packet = self.engine.take_packet(unit);
            packet.header.story.pass(In::Interface, there);
            cx.ask(there, ThEvent::Hand(RailId::new(rail), packet));
            if packet.is_buffered {
                self.ask_for_data(cx, unit as u8);
            }
        }
    }

    /// A packet reaches its NIC port.
    pub(super) fn hand(&mut self, cx: &mut ThContext<'_>, rail: RailId, packet: Outbound) {
        let Outbound { to, payload, is_last, tells_left, header, tag, sender, .. } = packet;
        self.counts.packets += 1;
        let (process, byte) = header.from;
        let data = match header.what {
            Carries::Request | Carries::Control => None,
            _ => cx.memory.read(Address { process, byte }, header.bytes),
        };
        let lane = self.engine.lanes.bits() as u32;
        let number = cx.send(to, rail, lane, payload, Parcel::Data(Box::new(Content { header, data }), tag));
        self.start_sender(cx, sender);
        if tells_left {
            self.engine.leaving.hand(number, &header, is_last);
        }
    }

    /// What is said reaches its NIC port.
    pub(super) fn hand_saying(&mut self, cx: &mut ThContext<'_>, rail: RailId, saying: Saying) {
        let Saying { to, message, timer } = saying;
        self.counts.packets += 1;
        let lane = self.engine.lanes.bits() as u32;
        let payload = self.settings.end_to_end.control as u16;
        cx.send(to, rail, lane, payload, Parcel::Said(message));
        self.start_sender(cx, timer);
    }

    /// A packet has left its NIC port.
    pub(super) fn has_left(&mut self, cx: &mut ThContext<'_>, rail: RailId, number: u64) {
        self.engine.ports[rail.index()] -= 1;
        if let Some(mut header) = self.engine.leaving.leave(number) {
            header.story.pass_stage(Stage::NicPort, cx.at);
            self.raise(cx, header.of.process, header.completion(CompletionKind::Left), None);
        }
        self.transmit(cx);
    }
}

impl Transfer {
    /// The transfer of a descriptor.
    fn new(job: Job, sender: Option<ContextUse>) -> Self {
        let (reading, page, waits) = (VecDeque::new(), None, None);
        Transfer { job, sender, again: None, asked: 0, read: 0, cut: 0, reading, page, waits }
    }

    /// A packet that is sent again: `piece` is its part of `job`, from a byte on.
    pub(super) fn again(piece: Job, (sender, tag): (ContextUse, DataTag), (job, from): (Job, u64)) -> Self {
        Transfer { again: Some((tag, job, from)), ..Transfer::new(piece, Some(sender)) }
    }

    /// The packets that can be cut from what has been read, of which the last came with `story`.
    fn packets(&mut self, story: Story, settings: &ThSettings) -> Vec<Outbound> {
        let mut packets = Vec::new();
        while self.cut < self.job.bytes {
            let data = match self.sender {
                Some(_) => Cutter::of(settings).cut(&self.job, self.cut),
                None => self.job.cut(self.cut, settings.mtu.into()),
            };
            if self.cut + data > self.read {
                break;
            }
            let packet = match self.again {
                None => packet(&self.job, self.cut, data, story),
                Some((tag, job, from)) => {
                    let packet = packet(&job, from, data, story);
                    Outbound { tag: Some(tag), sender: self.sender, ..packet }
                }
            };
            packets.push(Outbound { is_buffered: true, ..packet });
            self.cut += data;
        }
        packets
    }

    /// Bytes of its next request; none if it has asked for everything.
    fn next(&self, cx: &ThContext<'_>) -> u64 {
        self.job.read(self.asked, cx.bus.settings().read_request.into())
    }
}

impl Engine {
    /// The units that take descriptors.
    fn takers(&self) -> &[Unit] {
        &self.units[..self.units.len() - 1]
    }

    /// The free unit that goes on with a collective descriptor, or the one with the lowest number.
    fn next_to_take(&self) -> Option<usize> {
        let first = |is_so: &dyn Fn(&Unit) -> bool| self.takers().iter().position(is_so);
        first(&|unit| !unit.is_busy && unit.rest.is_some()).or_else(|| first(&|unit| !unit.is_busy))
    }

    /// The unit that sends packets again.
    pub(super) fn resender(&self) -> u8 {
        self.units.len() as u8 - 1
    }

    /// Whether that one asks for data.
    pub(super) fn resends(&self) -> bool {
        self.units[usize::from(self.resender())].is_busy
    }

    /// That one takes a packet.
    pub(super) fn resend(&mut self, transfer: Transfer) {
        let unit = &mut self.units[usize::from(self.resender())];
        unit.is_busy = true;
        unit.transfers.push_back(transfer);
    }

    /// A packet of a unit can be sent on.
    pub(super) fn ready(&mut self, unit: u8, packet: Outbound) {
        self.units[usize::from(unit)].ready.push_back(packet);
    }

    /// The rail whose turn it is, if one has room.
    fn next_port(&self, port_packets: u32) -> Option<usize> {
        let rails = self.ports.len();
        let mut turns = (0..rails).map(|step| (self.next_rail + step) % rails);
        turns.find(|&rail| self.ports[rail] < port_packets)
    }

    /// A packet is on its way to the NIC port of `rail`.
    fn take_port(&mut self, rail: usize) {
        self.ports[rail] += 1;
        self.next_rail = (rail + 1) % self.ports.len();
    }

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

    /// The unit whose turn it is to send a packet, if there is one.
    fn next_to_send(&self) -> Option<usize> {
        let units = self.units.len();
        let mut turns = (0..units).map(|step| (self.next_unit + step) % units);
        turns.find(|&unit| !self.units[unit].ready.is_empty())
    }

    /// The next packet of a unit that has one.
    fn take_packet(&mut self, unit: usize) -> Outbound {
        self.next_unit = (unit + 1) % self.units.len();
        let of_unit = &mut self.units[unit];
        let packet = of_unit.ready.pop_front().expect("it has a packet");
        if packet.is_buffered {
            of_unit.buffered -= packet.header.bytes;
        }
        packet
    }
}
