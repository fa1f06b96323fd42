//! DMA engines and rails. See points 3 and 5 of the header of this module.

use super::channel::Taken;
use super::{CREDITS, Content, Kind, Nap, NapContext, NapEvent, NapSettings, Outbound, Peer};
use crate::Place;
use crate::host::bus::{self, Read};
use crate::host::memory::Address;
use crate::host::program::{CompletionKind, OperationId};
use crate::host::story::{Stage, Unit};
use crate::host::transfer::Header;
use flitway_engine::Picos;
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::RailId;
use std::collections::{BTreeMap, VecDeque};

/// The DMA engines.
#[derive(Debug)]
pub(super) struct Engines {
    all: Box<[Engine]>,
    /// Since when all have been busy, while they are; and picoseconds in which they were before.
    full_since: Option<Picos>,
    full: u64,
}

#[derive(Debug, Default)]
struct Engine {
    /// It has a packet, which may be ready and wait for a rail.
    is_busy: bool,
    /// The packet, until it is ready.
    packet: Option<Outbound>,
    /// Reads of its data that have not been completed.
    reading: u32,
}

/// Who reads over the bus: it is in the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Engine(u8),
    /// The remote access unit, so manieth.
    Words(u64),
}

impl Reader {
    pub(super) fn tag(self) -> u64 {
        match self {
            Reader::Engine(engine) => u64::from(engine) << 1,
            Reader::Words(number) => number << 1 | 1,
        }
    }

    pub(super) fn of(tag: u64) -> Self {
        if tag & 1 == 0 { Reader::Engine((tag >> 1) as u8) } else { Reader::Words(tag >> 1) }
    }
}

impl Engines {
    pub(super) fn new(settings: &NapSettings) -> Self {
        let all = (0..settings.engines).map(|_| Engine::default()).collect();
        Engines { all, full_since: None, full: 0 }
    }

    fn take(&mut self, at: Picos, engine: usize, packet: Outbound) {
        let of = &mut self.all[engine];
        (of.is_busy, of.packet) = (true, Some(packet));
        if self.all.iter().all(|engine| engine.is_busy) {
            self.full_since = Some(at);
        }
    }

    fn free(&mut self, at: Picos, engine: u8) {
        self.all[usize::from(engine)].is_busy = false;
        self.full += self.full_since.take().map_or(0, |since| at.0 - since.0);
    }

    /// Picoseconds until `at` in which all of them were busy.
    pub(super) fn full(&self, at: Picos) -> u64 {
        self.full + self.full_since.map_or(0, |since| at.0.saturating_sub(since.0))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.all.iter().all(|engine| !engine.is_busy)
    }
}

/// Packets that are ready, and on their way to the NIC ports.
#[derive(Debug)]
pub(super) struct Rails {
    /// By rail: packets in the source queue, or on their way there.
    ports: Box<[u32]>,
    next: usize,
    ready: VecDeque<Outbound>,
    lanes: Stream,
    /// Packets that have been handed on and whose process wants to know when they have left, by the number of their content.
    leaving: BTreeMap<u64, Header>,
    /// Data that have left of their operations.
    left: BTreeMap<OperationId, u64>,
}

impl Rails {
    pub(super) fn new(place: Place) -> Self {
        Rails {
            ports: vec![0; place.rails as usize].into(),
            next: 0,
            ready: VecDeque::new(),
            lanes: Stream::new(place.seed, place.node.0.into(), Purpose::Lane),
            leaving: BTreeMap::new(),
            left: BTreeMap::new(),
        }
    }

    /// The next rail in turn that has room.
    fn turn(&mut self, port_packets: u32) -> Option<usize> {
        let rails = self.ports.len();
        let rail = (0..rails).map(|step| (self.next + step) % rails);
        let rail = rail.into_iter().find(|&rail| self.ports[rail] < port_packets)?;
        self.next = (rail + 1) % rails;
        Some(rail)
    }

    /// A packet has left; what it says, if it was the last of its operation and that wants it.
    fn leave(&mut self, number: u64) -> Option<Header> {
        let header = self.leaving.remove(&number)?;
        let left = self.left.entry(header.of).or_default();
        *left += header.bytes;
        if *left < header.of_bytes {
            return None;
        }
        self.left.remove(&header.of);
        Some(header)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.ports.iter().all(|&packets| packets == 0)
    }
}

impl Nap {
    /// Free engines take packets.
    pub(super) fn schedule(&mut self, cx: &mut NapContext<'_>) {
        while let Some(engine) = self.engines.all.iter().position(|engine| !engine.is_busy) {
            let Taken { packet, lacked } = self.channels.take(&self.settings, cx);
            self.counts.lacked += lacked;
            let Some((mut packet, ended)) = packet else { return };
            if let Some(kind) = ended {
                self.counts.descriptors[kind] += 1;
            }
            packet.engine = Some(engine as u8);
            self.engines.take(cx.at, engine, packet);
            cx.ask(self.after(cx, self.settings.start), NapEvent::Begins(engine as u8));
        }
    }

    /// An engine asks for the data of its packet, or has made it.
    pub(super) fn begins(&mut self, cx: &mut NapContext<'_>, engine: u8) {
        let of = &mut self.engines.all[usize::from(engine)];
        let packet = of.packet.as_mut().expect("it has a packet");
        let reads = packet.reads;
        let header = packet.content.header_mut().expect("what engines make has a header");
        header.story.pass(Unit::Dma, cx.at);
        if !reads {
            return self.is_made(cx, engine);
        }
        let (process, byte) = header.from;
        for bytes in self.settings.reads(byte, header.bytes) {
            of.reading += 1;
            let read = Read { tag: Reader::Engine(engine).tag(), bytes, place: bus::Place::Memory };
            cx.read_through(self.settings.port(process), read);
        }
    }

    /// Data that an engine has asked for are there.
    pub(super) fn data_read(&mut self, cx: &mut NapContext<'_>, engine: u8) {
        let of = &mut self.engines.all[usize::from(engine)];
        of.reading -= 1;
        if of.reading > 0 {
            return;
        }
        if let Some(header) = of.packet.as_mut().and_then(|packet| packet.content.header_mut()) {
            header.story.pass(Unit::Read, cx.at);
        }
        self.is_made(cx, engine);
    }

    /// An engine has made its packet.
    fn is_made(&mut self, cx: &mut NapContext<'_>, engine: u8) {
        let packet = self.engines.all[usize::from(engine)].packet.take();
        self.ready(cx, packet.expect("it has made one"));
    }

    /// A packet is ready.
    pub(super) fn ready(&mut self, cx: &mut NapContext<'_>, packet: Outbound) {
        self.rails.ready.push_back(packet);
        self.transmit(cx);
    }

    /// A process owes credits to `peer`, as its library has said; enough are brought by a packet of their own.
    pub(super) fn bring_credits(&mut self, cx: &mut NapContext<'_>, process: u8, peer: Peer, count: u32) {
        let Some(count) = self.channels.know(process, peer, count) else { return };
        self.counts.credits += 1;
        let packet = Outbound {
            to: peer.node,
            payload: CREDITS,
            content: Content::Credits(peer.process, process, count),
            engine: None,
            reads: false,
            tells_left: false,
        };
        self.ready(cx, packet);
    }

    /// Rails take packets that are ready.
    fn transmit(&mut self, cx: &mut NapContext<'_>) {
        let mut frees = false;
        while !self.rails.ready.is_empty()
            && let Some(rail) = self.rails.turn(self.settings.port_packets)
        {
            let mut packet = self.rails.ready.pop_front().expect("there is one");
            self.rails.ports[rail] += 1;
            let there = self.after(cx, self.settings.transmit);
            if let Some(header) = packet.content.header_mut() {
                header.story.pass(Unit::Interface, there);
            }
            if let Some(engine) = packet.engine {
                self.engines.free(cx.at, engine);
                frees = true;
            }
            cx.ask(there, NapEvent::Hand(RailId::new(rail), Box::new(packet)));
        }
        if frees {
            self.schedule(cx);
        }
    }

    /// A packet reaches its NIC port.
    pub(super) fn hand(&mut self, cx: &mut NapContext<'_>, rail: RailId, packet: Outbound) {
        let Outbound { to, payload, mut content, tells_left, .. } = packet;
        let header = content.header().copied();
        let kind = match &mut content {
            Content::Slot(slot, data) if slot.kind == Kind::Message => {
                *data = read(cx, &slot.header);
                0
            }
            Content::Slot(..) | Content::Credits(..) => 0,
            Content::Data(header, data) => {
                *data = read(cx, header);
                1
            }
            Content::Request(_) => 1,
            Content::Word(verb, header, data) => {
                if super::words::brings_word(*verb) {
                    *data = read(cx, header);
                }
                2
            }
            Content::Answer(..) => 2,
            Content::Meets | Content::Met => 3,
        };
        self.counts.packets[kind] += 1;
        let lane = self.rails.lanes.bits() as u32;
        let number = cx.send(to, rail, lane, payload as u16, content);
        if let Some(header) = header.filter(|_| tells_left) {
            self.rails.leaving.insert(number, header);
        }
    }

    /// A packet has left its NIC port.
    pub(super) fn has_left(&mut self, cx: &mut NapContext<'_>, rail: RailId, number: u64) {
        self.rails.ports[rail.index()] -= 1;
        if let Some(mut header) = self.rails.leave(number) {
            header.story.pass_stage(Stage::NicPort, cx.at);
            self.raise(cx, header.of.process, header.completion(CompletionKind::Left));
        }
        self.transmit(cx);
    }
}

/// What memory has of the data of a packet.
fn read(cx: &NapContext<'_>, header: &Header) -> Option<Box<[u8]>> {
    let (process, byte) = header.from;
    cx.memory.read(Address { process, byte }, header.bytes)
}
