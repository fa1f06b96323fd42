//! A bus between the processors and memory of a host and a device, whichever it is: what has to wait for what.
//!
//! # What happens when
//!
//! * A bus carries one thing after the other, in the order in which they are asked for: in each direction by itself, or, if it
//!   is *half duplex*, in both together. How long it takes for each is said with the kind of bus.
//! * *Arbitration* of a half-duplex bus: data that were read let what the device asks for pass. They wait for each other in the
//!   order in which they were found. The first of them, when it is found and when the data before it have ended, waits until
//!   the bus has carried what has been asked for by then (and at that date comes after whatever else has it, also if that is
//!   asked for later), and asks for the bus only then. So what is asked for meanwhile goes before it, and nothing that is asked
//!   for later: neither side starves.
//! * **A write of a processor** goes to the device for each burst, when that has been written. The device has it a fixed time,
//!   the *write flight*, after it has ended.
//! * **A posted write of the device** goes to memory in as many pieces as the bus needs, one behind the other. Memory has all
//!   of it a fixed time, the *post flight*, after the last has ended. A later write is never seen before an earlier one.
//! * **A read of the device** takes a tag, for which it waits if all are in use, in the order of asking. Its request goes to
//!   memory. A fixed time after it has ended, that of memory or of a cache as the device says, the data go to the device. When
//!   they have ended the tag is free, for the next read that waits, whose request is asked for; then the next data wait for a
//!   half-duplex bus, and then the device has the data.
//! * A bus may have several *ports* of the same kind, each with directions and tags of its own, between which nothing waits. A
//!   device says through which port something goes; where it says nothing that is the first, which most buses have alone.
//! * The settings say what a reference takes on an idle bus, as platforms are measured: a write of [`REFERENCE_BYTES`] by a
//!   processor from its first byte, a posted write of [`REFERENCE_POST_BYTES`], a read of [`REFERENCE_BYTES`]. The fixed times
//!   are what is left of those without what the bus takes and, for a write, without the time that the processor takes.

use super::agenda::Agenda;
use flitway_engine::Picos;
use std::collections::VecDeque;
use std::fmt::Debug;

/// The size of the writes and reads that the settings give the latency of, in bytes.
pub const REFERENCE_BYTES: u32 = 128;

/// The size of such posted writes, in bytes.
pub const REFERENCE_POST_BYTES: u32 = 8;

/// The settings of a kind of bus, and of the processors that write over it.
pub trait BusSettings: Copy + Debug + Send + Sync + 'static {
    /// It carries one thing at a time, in either direction.
    const IS_HALF_DUPLEX: bool;

    /// The time on the bus of a burst of `bytes` that a processor writes.
    fn written(&self, bytes: u32) -> Picos;

    /// The time on the bus of `bytes` that the device writes.
    fn posted(&self, bytes: u32) -> Picos;

    /// The time on the bus of the request of a read.
    fn request(&self) -> Picos;

    /// The time on the bus of `bytes` that were read.
    fn completed(&self, bytes: u32) -> Picos;

    /// Bytes that a processor writes as one burst.
    fn burst(&self) -> u32;

    /// The time that a processor takes for each.
    fn burst_time(&self) -> Picos;

    /// Data of one read at most, in bytes.
    fn read_request(&self) -> u32;

    /// Reads under way at most.
    fn reads(&self) -> u32;

    /// Ports of the device.
    fn ports(&self) -> u32 {
        1
    }

    /// What a reference takes on an idle bus.
    fn latency(&self, of: Reference) -> Picos;

    /// Bursts that a processor writes `bytes` in.
    fn bursts(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.burst()).max(1)
    }

    /// When an idle bus has carried `bytes` that a processor begins to write at the start.
    fn all_written(&self, bytes: u32) -> Picos {
        let mut bus = Picos(0);
        for burst in 1..=self.bursts(bytes) {
            // It begins when the burst has been written and the one before has ended.
            let written = self.burst_time().0 * u64::from(burst);
            let bytes = self.burst().min(bytes - (burst - 1) * self.burst());
            bus = plus(Picos(written).max(bus), self.written(bytes));
        }
        bus
    }

    /// What bus and processor take of a latency.
    fn least(&self, of: Reference) -> Picos {
        match of {
            Reference::Write => self.all_written(REFERENCE_BYTES),
            Reference::Post => self.posted(REFERENCE_POST_BYTES),
            Reference::Read | Reference::CachedRead => plus(self.request(), self.completed(REFERENCE_BYTES)),
        }
    }

    /// What is left of it.
    fn flight(&self, of: Reference) -> Picos {
        Picos(self.latency(of).0 - self.least(of).0)
    }

    /// The first latency that is too short for the bus itself.
    fn too_short(&self) -> Option<TooShort> {
        let all = [Reference::Write, Reference::Post, Reference::Read, Reference::CachedRead];
        all.into_iter().find_map(|of| {
            let least = self.least(of);
            (self.latency(of) < least).then_some(TooShort { of, least })
        })
    }
}

/// A latency that is shorter than the bus alone takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// What it is the latency of.
    pub of: Reference,
    /// What the bus and the processor take of it.
    pub least: Picos,
}

/// What a setting gives the latency of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A write by a processor.
    Write,
    /// A posted write.
    Post,
    /// A read from memory.
    Read,
    /// A read from a cache.
    CachedRead,
}

/// Where a device reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory.
    Memory,
    /// What a processor has in its cache.
    Cache,
}

/// What is due on a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusEvent {
    /// Memory has the data of a read.
    Found(Port, Read),
    /// The first data that have been found ask for a half-duplex bus.
    Turn(Port),
    /// The device has them.
    Completed(Port, Read),
}

/// One of the ports of a device: its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(pub u8);

impl Port {
    /// The first of them, or the only one.
    pub const FIRST: Port = Port(0);
}

/// A read of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// What names it to the device.
    pub tag: u64,
    /// Data in bytes.
    pub bytes: u32,
    /// Where.
    pub place: Place,
}

/// A posted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// When the bus has carried all of it.
    pub sent: Picos,
    /// When memory has it.
    pub visible: Picos,
}

/// A bus.
#[derive(Clone, Debug)]
pub struct Bus<S> {
    settings: S,
    write_flight: Picos,
    post_flight: Picos,
    memory: Picos,
    cache: Picos,
    ports: Box<[PortState]>,
}

/// A port of a bus.
#[derive(Clone, Debug, Default)]
struct PortState {
    /// When each direction has carried everything asked for so far; a half-duplex bus has the first alone.
    down: Picos,
    up: Picos,
    /// Reads under way, and those that wait for a tag.
    reads: u32,
    waiting: VecDeque<Read>,
    /// On a half-duplex bus: reads whose data have been found and have not asked for it, and whether data are at it.
    found: VecDeque<Read>,
    has_data: bool,
    /// Since when all tags have been in use, while they are.
    full_since: Picos,
    counts: BusCounts,
}

/// What a bus has carried; of several ports reads together, and times of the port in which they were longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusCounts {
    /// Picoseconds in which it was busy with what went to the device.
    pub down: u64,
    /// The same of what came from it.
    pub up: u64,
    /// Reads.
    pub reads: u64,
    /// Reads that waited for a tag.
    pub reads_waited: u64,
    /// Picoseconds in which all tags were in use.
    pub full: u64,
    /// Both directions share one set of wires.
    pub is_half_duplex: bool,
}

impl BusCounts {
    /// Picoseconds in which parts of the bus were busy, each by its name.
    #[must_use]
    pub fn busy(&self) -> Vec<(&'static str, u64)> {
        let reads = ("reads under way on the bus", self.full);
        if self.is_half_duplex {
            vec![("bus", self.down + self.up), reads]
        } else {
            vec![("bus to the NIC", self.down), ("bus from the NIC", self.up), reads]
        }
    }
}

impl<S: BusSettings> Bus<S> {
    /// An idle bus.
    ///
    /// # Panics
    /// If a latency is [too short](BusSettings::too_short).
    #[must_use]
    pub fn new(settings: &S) -> Self {
        assert_eq!(settings.too_short(), None, "the bus is part of its latencies");
        Bus {
            settings: *settings,
            write_flight: settings.flight(Reference::Write),
            post_flight: settings.flight(Reference::Post),
            memory: settings.flight(Reference::Read),
            cache: settings.flight(Reference::CachedRead),
            ports: (0..settings.ports()).map(|_| PortState::default()).collect(),
        }
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &S {
        &self.settings
    }

    /// What it has carried.
    #[must_use]
    pub fn counts(&self) -> BusCounts {
        let all = BusCounts { is_half_duplex: S::IS_HALF_DUPLEX, ..BusCounts::default() };
        self.ports.iter().map(|port| port.counts).fold(all, |all, of| BusCounts {
            down: all.down.max(of.down),
            up: all.up.max(of.up),
            reads: all.reads + of.reads,
            reads_waited: all.reads_waited + of.reads_waited,
            full: all.full.max(of.full),
            is_half_duplex: all.is_half_duplex,
        })
    }

    /// A processor has written a burst of `bytes` at `at`: when the device has it.
    pub fn write(&mut self, at: Picos, bytes: u32) -> Picos {
        self.write_through(Port::FIRST, at, bytes)
    }

    /// The same through a port.
    pub fn write_through(&mut self, port: Port, at: Picos, bytes: u32) -> Picos {
        let time = self.settings.written(bytes);
        plus(self.port(port).go_down(at, time), self.write_flight)
    }

    /// The device writes `bytes` at `at`.
    pub fn post(&mut self, at: Picos, bytes: u32) -> Posted {
        self.post_through(Port::FIRST, at, bytes)
    }

    /// The same through a port.
    pub fn post_through(&mut self, port: Port, at: Picos, bytes: u32) -> Posted {
        let time = self.settings.posted(bytes);
        let sent = self.port(port).go_up::<S>(at, time);
        Posted { sent, visible: plus(sent, self.post_flight) }
    }

    /// The device reads at `at`.
    ///
    /// # Panics
    /// If it reads more than a request may.
    pub fn read<E: From<BusEvent>>(&mut self, at: Picos, read: Read, agenda: &mut Agenda<E>) {
        self.read_through(Port::FIRST, at, read, agenda);
    }

    /// The same through a port.
    ///
    /// # Panics
    /// If it reads more than a request may.
    pub fn read_through<E: From<BusEvent>>(
        &mut self,
        port: Port,
        at: Picos,
        read: Read,
        agenda: &mut Agenda<E>,
    ) {
        assert!(read.bytes <= self.settings.read_request(), "a read is cut into requests: {read:?}");
        let reads = self.settings.reads();
        let of = self.port(port);
        of.counts.reads += 1;
        if of.reads == reads {
            of.counts.reads_waited += 1;
            of.waiting.push_back(read);
        } else {
            self.request(port, at, read, agenda);
        }
    }

    /// The request of a read, which has a tag, goes up.
    fn request<E: From<BusEvent>>(&mut self, port: Port, at: Picos, read: Read, agenda: &mut Agenda<E>) {
        let (reads, time) = (self.settings.reads(), self.settings.request());
        let flight = match read.place {
            Place::Memory => self.memory,
            Place::Cache => self.cache,
        };
        let of = self.port(port);
        of.reads += 1;
        if of.reads == reads {
            of.full_since = at;
        }
        let asked = of.go_up::<S>(at, time);
        agenda.ask(plus(asked, flight), E::from(BusEvent::Found(port, read)));
    }

    /// What was due at `at`; the read that has been completed, if it was that.
    pub fn handle<E: From<BusEvent>>(
        &mut self,
        at: Picos,
        event: BusEvent,
        agenda: &mut Agenda<E>,
    ) -> Option<Read> {
        match event {
            BusEvent::Found(port, read) if S::IS_HALF_DUPLEX => {
                self.port(port).found.push_back(read);
                self.compete(port, at, agenda);
                None
            }
            BusEvent::Turn(port) => {
                let read = self.port(port).found.pop_front();
                self.complete(port, at, read.expect("data that have been found have their turn"), agenda);
                None
            }
            BusEvent::Found(port, read) => {
                self.complete(port, at, read, agenda);
                None
            }
            BusEvent::Completed(port, read) => {
                let reads = self.settings.reads();
                let of = self.port(port);
                if of.reads == reads {
                    of.counts.full += at.0 - of.full_since.0;
                }
                of.reads -= 1;
                of.has_data = false;
                if let Some(next) = of.waiting.pop_front() {
                    self.request(port, at, next, agenda);
                }
                self.compete(port, at, agenda);
                Some(read)
            }
        }
    }

    /// Data that were read go to the device.
    fn complete<E: From<BusEvent>>(&mut self, port: Port, at: Picos, read: Read, agenda: &mut Agenda<E>) {
        let time = self.settings.completed(read.bytes);
        let done = self.port(port).go_down(at, time);
        agenda.ask(done, E::from(BusEvent::Completed(port, read)));
    }

    /// The first data that have been found wait for the bus, if no others are at it.
    fn compete<E: From<BusEvent>>(&mut self, port: Port, at: Picos, agenda: &mut Agenda<E>) {
        let of = self.port(port);
        if !of.has_data && !of.found.is_empty() {
            of.has_data = true;
            agenda.ask_last(of.down.max(at), E::from(BusEvent::Turn(port)));
        }
    }

    fn port(&mut self, port: Port) -> &mut PortState {
        &mut self.ports[usize::from(port.0)]
    }
}

impl PortState {
    fn go_down(&mut self, at: Picos, time: Picos) -> Picos {
        self.counts.down += time.0;
        self.down = plus(self.down.max(at), time);
        self.down
    }

    fn go_up<S: BusSettings>(&mut self, at: Picos, time: Picos) -> Picos {
        self.counts.up += time.0;
        let free = if S::IS_HALF_DUPLEX { &mut self.down } else { &mut self.up };
        *free = plus((*free).max(at), time);
        *free
    }
}

/// The time of the packets that `bytes` need, each with `payload` of data at most and one at least, of which `packet` says what
/// one takes.
pub(super) fn in_packets(bytes: u32, payload: u32, packet: impl Fn(u32) -> Picos) -> Picos {
    let cut = (0..bytes.div_ceil(payload).max(1)).map(|part| payload.min(bytes - part * payload));
    cut.map(packet).fold(Picos(0), plus)
}

/// Both spans, one after the other.
pub(crate) fn plus(a: Picos, b: Picos) -> Picos {
    Picos(a.0 + b.0)
}
