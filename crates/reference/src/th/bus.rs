//! The bus: two directions that carry one packet after the other, and reads that need a tag.

use super::{Due, Host};
use flitway_engine::Picos;
use flitway_nic::host::bus::{BusCounts, REFERENCE_BYTES, REFERENCE_POST_BYTES};
use flitway_nic::host::pcie::PcieSettings;

/// What a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Descriptors of a queue in memory.
    Descriptors(usize),
    /// Data for a unit.
    Data(usize),
    /// The translation of a page of a process.
    Translation((u8, u64)),
}

/// A read of the NIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    purpose: Purpose,
    bytes: u32,
}

#[derive(Debug)]
pub(super) struct Bus {
    settings: PcieSettings,
    /// Until when the direction to the NIC carries what was asked for, and that from it.
    down: u64,
    up: u64,
    /// Reads that have a tag.
    tags: u32,
    /// Reads that wait for one.
    waiting: Vec<Read>,
    /// Since when all tags are in use, if they are.
    full_since: Option<u64>,
    pub(super) counts: BusCounts,
}

impl Bus {
    pub(super) fn new(settings: PcieSettings) -> Self {
        Bus {
            settings,
            down: 0,
            up: 0,
            tags: 0,
            waiting: Vec::new(),
            full_since: None,
            counts: BusCounts::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.tags == 0 && self.waiting.is_empty()
    }

    /// The time of a packet with `bytes` of data.
    fn packet(&self, bytes: u32) -> u64 {
        let PcieSettings { lanes, generation, overhead, .. } = self.settings;
        // Bits on the lanes for so many bits of data, and millions of them a second on each lane.
        let (coded, of, mega_bits) = match generation {
            1 => (10, 8, 2_500),
            2 => (10, 8, 5_000),
            3 => (130, 128, 8_000),
            4 => (130, 128, 16_000),
            _ => (130, 128, 32_000),
        };
        let bits = u128::from(bytes + overhead) * 8 * coded;
        (bits * 1_000_000).div_ceil(of * mega_bits * u128::from(lanes)) as u64
    }

    /// The data of the packets that carry `bytes`.
    fn cut(&self, bytes: u32) -> Vec<u32> {
        let mut left = bytes;
        let mut all = Vec::new();
        while left > 0 {
            all.push(left.min(self.settings.payload));
            left -= all[all.len() - 1];
        }
        all
    }

    /// The time of the packets that carry `bytes`.
    fn packets(&self, bytes: u32) -> u64 {
        self.cut(bytes).into_iter().map(|data| self.packet(data)).sum()
    }

    /// Carries one packet to the NIC: when it has ended.
    fn carry_down(&mut self, at: Picos, bytes: u32) -> u64 {
        let time = self.packet(bytes);
        self.counts.down += time;
        self.down = self.down.max(at.0) + time;
        self.down
    }

    /// Carries one packet from the NIC: when it has ended.
    fn carry_up(&mut self, at: Picos, bytes: u32) -> u64 {
        let time = self.packet(bytes);
        self.counts.up += time;
        self.up = self.up.max(at.0) + time;
        self.up
    }

    /// What is left of the latency of a write without the bus and the processor, which work side by side.
    fn write_flight(&self) -> u64 {
        let PcieSettings { burst, burst_time, write_latency, .. } = self.settings;
        let (mut left, mut written, mut carried) = (REFERENCE_BYTES, 0, 0);
        while left > 0 {
            let bytes = left.min(burst);
            written += burst_time.0;
            carried = written.max(carried) + self.packet(bytes);
            left -= bytes;
        }
        write_latency.0 - carried
    }

    /// A processor has written a burst: when the NIC has it.
    pub(super) fn write(&mut self, at: Picos, bytes: u32) -> Picos {
        Picos(self.carry_down(at, bytes) + self.write_flight())
    }

    /// The NIC writes: when that has left it, and when memory has it.
    pub(super) fn post(&mut self, at: Picos, bytes: u32) -> (Picos, Picos) {
        let mut left = at.0;
        for data in self.cut(bytes) {
            left = self.carry_up(at, data);
        }
        let flight = self.settings.post_latency.0 - self.packets(REFERENCE_POST_BYTES);
        (Picos(left), Picos(left + flight))
    }

    /// The request of a read, which has a tag, goes up: when memory has the data.
    fn request(&mut self, at: Picos, read: Read) -> Picos {
        let PcieSettings { read_latency, cached_read_latency, .. } = self.settings;
        let is_cached = matches!(read.purpose, Purpose::Descriptors(_));
        let latency = if is_cached { cached_read_latency } else { read_latency };
        let flight = latency.0 - self.packet(0) - self.packets(REFERENCE_BYTES);
        Picos(self.carry_up(at, 0) + flight)
    }
}

impl Host {
    /// The NIC reads.
    pub(super) fn read(&mut self, purpose: Purpose, bytes: u32) {
        let read = Read { purpose, bytes };
        self.bus.counts.reads += 1;
        if self.bus.tags == self.bus.settings.reads {
            self.bus.counts.reads_waited += 1;
            self.bus.waiting.push(read);
            return;
        }
        self.bus.tags += 1;
        if self.bus.tags == self.bus.settings.reads {
            self.bus.full_since = Some(self.around.at.0);
        }
        let fetched = self.bus.request(self.around.at, read);
        self.around.ask(fetched, Due::Fetched(read));
    }

    /// Memory has the data of a read: the completions go down.
    pub(super) fn complete(&mut self, read: Read) {
        let mut ended = self.around.at.0;
        for data in self.bus.cut(read.bytes) {
            ended = self.bus.carry_down(self.around.at, data);
        }
        self.around.ask(Picos(ended), Due::HasRead(read));
    }

    /// The NIC has the data, and the tag is free.
    pub(super) fn has_read(&mut self, read: Read) {
        if self.bus.waiting.is_empty() {
            self.bus.tags -= 1;
            if let Some(since) = self.bus.full_since.take() {
                self.bus.counts.full += self.around.at.0 - since;
            }
        } else {
            let next = self.bus.waiting.remove(0);
            let fetched = self.bus.request(self.around.at, next);
            self.around.ask(fetched, Due::Fetched(next));
        }
        match read.purpose {
            Purpose::Descriptors(queue) => self.descriptors_read(queue),
            Purpose::Data(unit) => self.data_read(unit, read.bytes.into()),
            Purpose::Translation(page) => self.translation_read(page),
        }
    }
}
