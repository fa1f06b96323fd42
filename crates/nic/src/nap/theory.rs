//! What an operation takes in an idle machine, in closed form, if one packet has its data.

use super::{
    ANSWER, DESCRIPTOR, EVENT, HANDSHAKE, LOAD, NAP_HEAD, NapSettings, REQUEST, SLOT_HEAD, STORE, WORD,
};
use crate::host::bus::{BusSettings as _, Reference, plus};
use crate::host::program::{Operation, Submission, Verb};
use crate::host::{Network, Way};
use flitway_engine::Picos;

/// See [`OnABus::seen_at`](crate::host::OnABus::seen_at).
pub(super) fn seen_at(settings: &NapSettings, operation: &Operation, network: Network<'_>) -> Option<Picos> {
    let Operation { verb, bytes, here, there, by, .. } = *operation;
    let parts = Parts { settings, network };
    match verb {
        Verb::Send if bytes <= settings.slot.into() => {
            let is_small = by == Submission::Pio && bytes <= settings.immediate.into();
            let data = if is_small { Picos(0) } else { parts.read(here, bytes)? };
            let written =
                if is_small { NAP_HEAD + (bytes as u32).next_multiple_of(WORD) } else { DESCRIPTOR };
            let made = plus(parts.posted(Picos(0), written), plus(settings.start, data));
            Some(parts.slot(parts.sent(made, Way::There, bytes as u32), bytes as u32))
        }
        Verb::Put if parts.is_whole(there, bytes) => {
            let begun = match by {
                Submission::Rendezvous => parts.granted()?,
                _ => Picos(0),
            };
            let made = plus(parts.posted(begun, DESCRIPTOR), plus(settings.start, parts.read(here, bytes)?));
            Some(parts.event(parts.sent(made, Way::There, bytes as u32), bytes as u32))
        }
        Verb::Get if parts.is_whole(here, bytes) => {
            let asks = plus(parts.posted(Picos(0), DESCRIPTOR), settings.start);
            let asked = parts.sent(asks, Way::There, REQUEST);
            let made = plus(asked, plus(settings.start, parts.read(there, bytes)?));
            Some(parts.event(parts.sent(made, Way::Back, bytes as u32), bytes as u32))
        }
        Verb::Load | Verb::Store | Verb::FetchAdd => Some(parts.word(verb, bytes as u32)),
        Verb::Lock | Verb::TryLock | Verb::Unlock => Some(parts.word(verb, 0)),
        _ => None,
    }
}

/// What the ways of all operations are made of.
struct Parts<'a> {
    settings: &'a NapSettings,
    network: Network<'a>,
}

impl Parts<'_> {
    /// Whether data that go to `byte` are one packet.
    fn is_whole(&self, byte: u64, bytes: u64) -> bool {
        let mtu = u64::from(self.settings.mtu);
        byte % mtu + bytes <= mtu
    }

    /// When the NIC has so many bytes that a processor comes to at `at`.
    fn posted(&self, at: Picos, bytes: u32) -> Picos {
        let bus = self.settings.host.bus;
        let written = plus(bus.all_written(bytes), bus.flight(Reference::Write));
        plus(plus(at, self.settings.issue), written)
    }

    /// The time in which an idle bus reads `bytes`, if it has a tag for each read.
    fn read(&self, byte: u64, bytes: u64) -> Option<Picos> {
        let bus = self.settings.host.bus;
        let (mut asked, mut done, mut reads) = (Picos(0), Picos(0), 0);
        for bytes in self.settings.reads(byte, bytes) {
            asked = plus(asked, bus.request());
            done = plus(plus(asked, bus.flight(Reference::Read)).max(done), bus.completed(bytes));
            reads += 1;
        }
        (reads <= bus.reads).then_some(done)
    }

    /// When a packet that is ready at `at` is dealt with.
    fn sent(&self, at: Picos, way: Way, payload: u32) -> Picos {
        let there = (self.network)(plus(at, self.settings.transmit), way, payload as u16);
        plus(there, self.settings.receive)
    }

    /// When memory has `bytes` that the NIC writes from `at` on.
    fn visible(&self, at: Picos, bytes: u32) -> Picos {
        let bus = self.settings.host.bus;
        plus(plus(at, bus.posted(bytes)), bus.flight(Reference::Post))
    }

    /// When a process sees a slot that is written from `at` on.
    fn slot(&self, at: Picos, bytes: u32) -> Picos {
        plus(self.visible(at, SLOT_HEAD + bytes), self.settings.host.poll)
    }

    /// When a process sees the event record behind data that are written from `at` on.
    fn event(&self, at: Picos, bytes: u32) -> Picos {
        let data = self.settings.host.bus.posted(bytes);
        plus(self.visible(plus(at, data), EVENT), self.settings.host.poll)
    }

    /// When a process that asks at the start sees that it may put, if no credits are returned meanwhile.
    fn granted(&self) -> Option<Picos> {
        let handshake = |at, way| {
            let made = plus(self.posted(at, NAP_HEAD + HANDSHAKE), self.settings.start);
            self.slot(self.sent(made, way, HANDSHAKE), HANDSHAKE)
        };
        (self.settings.threshold() > 1).then(|| handshake(handshake(Picos(0), Way::There), Way::Back))
    }

    /// When a processor has the answer to a word of another node, or to what it wants of a lock that is free or its own.
    fn word(&self, verb: Verb, bytes: u32) -> Picos {
        let (bus, remote) = (self.settings.host.bus, self.settings.remote);
        let (payload, has, brings) = match verb {
            Verb::Load => (LOAD, 0, bytes),
            Verb::Lock | Verb::TryLock | Verb::Unlock => (LOAD, 0, 0),
            Verb::Store => (STORE, bytes, 0),
            _ => (STORE, bytes, bytes),
        };
        let written = plus(plus(bus.burst_time, bus.written(has)), bus.flight(Reference::Write));
        let there = self.sent(plus(written, remote), Way::There, payload);
        let read = plus(plus(bus.request(), bus.flight(Reference::Read)), bus.completed(bytes));
        let done = match verb {
            Verb::Store => self.visible(there, bytes),
            Verb::Lock | Verb::TryLock | Verb::Unlock => there,
            _ => plus(there, read),
        };
        self.visible(self.sent(plus(done, remote), Way::Back, ANSWER), brings)
    }
}
