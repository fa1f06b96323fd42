//! PCI Express between the processors and memory of a host and a device.
//!
//! # What happens when
//!
//! * A *link* has lanes of a generation, and two directions: *down* to the device, *up* from it. A direction carries one
//!   transaction layer packet (TLP) after the other, in the order in which they are asked for. One with `n` bytes of data
//!   takes the time of `n` plus the overhead, at the rate of the lanes with their coding, rounded up to a picosecond.
//! * **A write of a processor** goes down in one TLP for each burst, when that has been written. The device has it a fixed
//!   time, the *write flight*, after its TLP has ended.
//! * **A posted write of the device** goes up in TLPs of at most the payload, one behind the other. Memory has all of it a
//!   fixed time, the *post flight*, after the last has ended. A later write is never seen before an earlier one.
//! * **A read of the device** takes a tag, for which it waits if all are in use, in the order of asking. Its request, a TLP
//!   without data, goes up. A fixed time after it has ended, that of memory or of a cache as the device says, the completions
//!   go down, in TLPs of at most the payload. When the last has ended the tag is free, for the next read that waits, and the
//!   device has the data.
//! * The settings say what a reference takes on an idle bus, as platforms are measured: a write of 128 B by a processor from
//!   its first byte, a posted write of 8 B, a read of 128 B. The fixed times are what is left of those without the TLPs and,
//!   for a write, without the time that the processor takes.

use super::agenda::Agenda;
use flitway_engine::Picos;
use std::collections::VecDeque;

/// The settings of a PCI Express bus, and of the processors that write over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PcieSettings {
    /// Lanes.
    pub lanes: u32,
    /// Generation, 1 to 5.
    pub generation: u32,
    /// Data of a TLP at most, in bytes.
    pub payload: u32,
    /// What a TLP has beside its data, in bytes.
    pub overhead: u32,
    /// Data of one read at most, in bytes.
    pub read_request: u32,
    /// Reads under way at most.
    pub reads: u32,
    /// A processor's write of [`REFERENCE_BYTES`], from its first byte until the device has all.
    pub write_latency: Picos,
    /// Bytes that a processor writes as one burst.
    pub burst: u32,
    /// The time that it takes for each.
    pub burst_time: Picos,
    /// A posted write of [`REFERENCE_POST_BYTES`] until it is in memory.
    pub post_latency: Picos,
    /// A read of [`REFERENCE_BYTES`] from memory.
    pub read_latency: Picos,
    /// The same of what processors have just written, and have in their cache.
    pub cached_read_latency: Picos,
}

/// The size of the writes and reads that the settings give the latency of, in bytes.
pub const REFERENCE_BYTES: u32 = 128;

/// The size of such posted writes, in bytes.
pub const REFERENCE_POST_BYTES: u32 = 8;

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

impl PcieSettings {
    /// The time of a TLP with `bytes` of data.
    #[must_use]
    pub fn tlp(&self, bytes: u32) -> Picos {
        // Gigatransfers a second, and the coding: 8 of 10 bits, or 128 of 130.
        let (rate, data, coded) = match self.generation {
            1 => (2_500_000_000, 8, 10),
            2 => (5_000_000_000, 8, 10),
            generation => (8_000_000_000 << (generation - 3), 128, 130),
        };
        let bits = u128::from(bytes + self.overhead) * 8;
        let picos = (bits * coded * 1_000_000_000_000).div_ceil(data * rate * u128::from(self.lanes));
        Picos(picos as u64)
    }

    /// The time of the TLPs that carry `bytes`.
    #[must_use]
    pub fn tlps(&self, bytes: u32) -> Picos {
        self.cut(bytes).map(|bytes| self.tlp(bytes)).fold(Picos(0), plus)
    }

    /// The data of each TLP that `bytes` need.
    fn cut(&self, bytes: u32) -> impl Iterator<Item = u32> + use<> {
        let payload = self.payload;
        (0..bytes.div_ceil(payload).max(1)).map(move |part| payload.min(bytes - part * payload))
    }

    /// Bursts that a processor writes `bytes` in.
    #[must_use]
    pub fn bursts(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.burst).max(1)
    }

    /// The first latency that is too short for the bus itself.
    #[must_use]
    pub fn too_short(&self) -> Option<TooShort> {
        let all = [Reference::Write, Reference::Post, Reference::Read, Reference::CachedRead];
        all.into_iter().find_map(|of| {
            let least = self.least(of);
            (self.latency(of) < least).then_some(TooShort { of, least })
        })
    }

    fn latency(&self, of: Reference) -> Picos {
        match of {
            Reference::Write => self.write_latency,
            Reference::Post => self.post_latency,
            Reference::Read => self.read_latency,
            Reference::CachedRead => self.cached_read_latency,
        }
    }

    /// What bus and processor take of a latency.
    fn least(&self, of: Reference) -> Picos {
        match of {
            Reference::Write => {
                // The TLP of each burst begins when the burst has been written and the one before has ended.
                let mut bus = Picos(0);
                for burst in 1..=self.bursts(REFERENCE_BYTES) {
                    let written = self.burst_time.0 * u64::from(burst);
                    let bytes = self.burst.min(REFERENCE_BYTES - (burst - 1) * self.burst);
                    bus = plus(Picos(written).max(bus), self.tlp(bytes));
                }
                bus
            }
            Reference::Post => self.tlps(REFERENCE_POST_BYTES),
            Reference::Read | Reference::CachedRead => plus(self.tlp(0), self.tlps(REFERENCE_BYTES)),
        }
    }

    /// What is left of it.
    pub(crate) fn flight(&self, of: Reference) -> Picos {
        Picos(self.latency(of).0 - self.least(of).0)
    }
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
    Found(Read),
    /// The device has them.
    Completed(Read),
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

/// A PCI Express bus.
#[derive(Clone, Debug)]
pub struct Pcie {
    settings: PcieSettings,
    write_flight: Picos,
    post_flight: Picos,
    memory: Picos,
    cache: Picos,
    /// When each direction has carried everything asked for so far.
    down: Picos,
    up: Picos,
    /// Reads under way, and those that wait for a tag.
    reads: u32,
    waiting: VecDeque<Read>,
    /// Since when all tags have been in use, while they are.
    full_since: Picos,
    counts: BusCounts,
}

/// What a bus has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusCounts {
    /// Picoseconds in which the direction to the device was busy.
    pub down: u64,
    /// The same of the direction from it.
    pub up: u64,
    /// Reads.
    pub reads: u64,
    /// Reads that waited for a tag.
    pub reads_waited: u64,
    /// Picoseconds in which all tags were in use.
    pub full: u64,
}

/// A posted write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posted {
    /// When its last TLP has ended.
    pub sent: Picos,
    /// When memory has it.
    pub visible: Picos,
}

impl Pcie {
    /// An idle bus.
    ///
    /// # Panics
    /// If a latency is [too short](PcieSettings::too_short).
    #[must_use]
    pub fn new(settings: &PcieSettings) -> Self {
        assert_eq!(settings.too_short(), None, "the bus is part of its latencies");
        Pcie {
            settings: *settings,
            write_flight: settings.flight(Reference::Write),
            post_flight: settings.flight(Reference::Post),
            memory: settings.flight(Reference::Read),
            cache: settings.flight(Reference::CachedRead),
            down: Picos(0),
            up: Picos(0),
            reads: 0,
            waiting: VecDeque::new(),
            full_since: Picos(0),
            counts: BusCounts::default(),
        }
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &PcieSettings {
        &self.settings
    }

    /// What it has carried.
    #[must_use]
    pub fn counts(&self) -> BusCounts {
        self.counts
    }

    /// A processor has written a burst of `bytes` at `at`: when the device has it.
    pub fn write(&mut self, at: Picos, bytes: u32) -> Picos {
        plus(self.go_down(at, self.settings.tlp(bytes)), self.write_flight)
    }

    /// The device writes `bytes` at `at`.
    pub fn post(&mut self, at: Picos, bytes: u32) -> Posted {
        let sent = self.go_up(at, self.settings.tlps(bytes));
        Posted { sent, visible: plus(sent, self.post_flight) }
    }

    /// The device reads at `at`.
    ///
    /// # Panics
    /// If it reads more than a request may.
    pub fn read<E: From<BusEvent>>(&mut self, at: Picos, read: Read, agenda: &mut Agenda<E>) {
        assert!(read.bytes <= self.settings.read_request, "a read is cut into requests: {read:?}");
        self.counts.reads += 1;
        if self.reads == self.settings.reads {
            self.counts.reads_waited += 1;
            self.waiting.push_back(read);
        } else {
            self.request(at, read, agenda);
        }
    }

    /// The request of a read, which has a tag, goes up.
    fn request<E: From<BusEvent>>(&mut self, at: Picos, read: Read, agenda: &mut Agenda<E>) {
        self.reads += 1;
        if self.reads == self.settings.reads {
            self.full_since = at;
        }
        let asked = self.go_up(at, self.settings.tlp(0));
        let flight = match read.place {
            Place::Memory => self.memory,
            Place::Cache => self.cache,
        };
        agenda.ask(plus(asked, flight), E::from(BusEvent::Found(read)));
    }

    /// What was due at `at`; the read that has been completed, if it was that.
    pub fn handle<E: From<BusEvent>>(
        &mut self,
        at: Picos,
        event: BusEvent,
        agenda: &mut Agenda<E>,
    ) -> Option<Read> {
        match event {
            BusEvent::Found(read) => {
                let done = self.go_down(at, self.settings.tlps(read.bytes));
                agenda.ask(done, E::from(BusEvent::Completed(read)));
                None
            }
            BusEvent::Completed(read) => {
                if self.reads == self.settings.reads {
                    self.counts.full += at.0 - self.full_since.0;
                }
                self.reads -= 1;
                if let Some(next) = self.waiting.pop_front() {
                    self.request(at, next, agenda);
                }
                Some(read)
            }
        }
    }

    fn go_down(&mut self, at: Picos, time: Picos) -> Picos {
        self.counts.down += time.0;
        self.down = plus(self.down.max(at), time);
        self.down
    }

    fn go_up(&mut self, at: Picos, time: Picos) -> Picos {
        self.counts.up += time.0;
        self.up = plus(self.up.max(at), time);
        self.up
    }
}

/// Both spans, one after the other.
pub(crate) fn plus(a: Picos, b: Picos) -> Picos {
    Picos(a.0 + b.0)
}
