//! The bus: one set of wires that carries one transaction after the other, and reads that need a tag.

use super::{Due, Host};
use flitway_engine::Picos;
use flitway_nic::host::bus::{BusCounts, REFERENCE_BYTES, REFERENCE_POST_BYTES};
use flitway_nic::host::pci_x::PciXSettings;

/// A read of the DMA engine, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read(u32);

#[derive(Debug)]
pub(super) struct Bus {
    settings: PciXSettings,
    /// Until when it carries what was asked for.
    until: u64,
    /// Reads that have a tag.
    tags: u32,
    /// Reads that wait for one.
    waiting: Vec<Read>,
    /// Reads whose data have been found and have not asked for the bus.
    found: Vec<Read>,
    /// The first of them waits to ask, or data are on the bus or wait for it.
    is_taken: bool,
    /// Since when all tags are in use, if they are.
    full_since: Option<u64>,
    pub(super) counts: BusCounts,
}

impl Bus {
    pub(super) fn new(settings: PciXSettings) -> Self {
        Bus {
            settings,
            until: 0,
            tags: 0,
            waiting: Vec::new(),
            found: Vec::new(),
            is_taken: false,
            full_since: None,
            counts: BusCounts { is_half_duplex: true, ..BusCounts::default() },
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.tags == 0 && self.waiting.is_empty() && self.found.is_empty() && !self.is_taken
    }

    /// The time of a transaction with `bytes` of data, rounded up to a picosecond.
    fn transaction(&self, bytes: u32) -> u64 {
        let PciXSettings { clock: (hertz, divisor), width, overhead, .. } = self.settings;
        let cycles = u128::from(overhead) + u128::from(bytes.div_ceil(width));
        (cycles * 1_000_000_000_000 * u128::from(divisor)).div_ceil(u128::from(hertz)) as u64
    }

    /// The data of the transactions in which the NIC writes `bytes`.
    fn cut(&self, bytes: u32) -> Vec<u32> {
        let mut left = bytes;
        let mut all = Vec::new();
        while left > 0 {
            all.push(left.min(self.settings.write));
            left -= all[all.len() - 1];
        }
        all
    }

    /// Carries a transaction that is asked for at `at`: how long it takes, and when it has ended.
    fn carry(&mut self, at: Picos, bytes: u32) -> (u64, u64) {
        let time = self.transaction(bytes);
        self.until = self.until.max(at.0) + time;
        (time, self.until)
    }

    /// What is left of the latency of a write without the bus and the processor, which work side by side.
    fn write_flight(&self) -> u64 {
        let PciXSettings { burst, burst_time, write_latency, .. } = self.settings;
        let (mut left, mut written, mut carried) = (REFERENCE_BYTES, 0, 0);
        while left > 0 {
            let bytes = left.min(burst);
            written += burst_time.0;
            carried = written.max(carried) + self.transaction(bytes);
            left -= bytes;
        }
        write_latency.0 - carried
    }

    /// A processor has written a burst: when the NIC has it.
    pub(super) fn write(&mut self, at: Picos, bytes: u32) -> Picos {
        let (time, ended) = self.carry(at, bytes);
        self.counts.down += time;
        Picos(ended + self.write_flight())
    }

    /// The NIC writes: when that has left it, and when memory has it.
    pub(super) fn post(&mut self, at: Picos, bytes: u32) -> (Picos, Picos) {
        let mut left = at.0;
        for data in self.cut(bytes) {
            let (time, ended) = self.carry(at, data);
            self.counts.up += time;
            left = ended;
        }
        let reference: u64 =
            self.cut(REFERENCE_POST_BYTES).into_iter().map(|data| self.transaction(data)).sum();
        (Picos(left), Picos(left + self.settings.post_latency.0 - reference))
    }

    /// The request of a read, which has a tag, goes to memory: when the data are found.
    fn request(&mut self, at: Picos) -> Picos {
        let flight = self.settings.read_latency.0 - self.transaction(0) - self.transaction(REFERENCE_BYTES);
        let (time, ended) = self.carry(at, 0);
        self.counts.up += time;
        Picos(ended + flight)
    }
}

impl Host {
    /// The NIC reads `bytes`.
    pub(super) fn read(&mut self, bytes: u32) {
        let read = Read(bytes);
        let at = self.around.at;
        self.bus.counts.reads += 1;
        if self.bus.tags == self.bus.settings.reads {
            self.bus.counts.reads_waited += 1;
            self.bus.waiting.push(read);
            return;
        }
        self.bus.tags += 1;
        if self.bus.tags == self.bus.settings.reads {
            self.bus.full_since = Some(at.0);
        }
        let found = self.bus.request(at);
        self.around.ask(found, Due::Found(read));
    }

    /// Memory has the data of a read.
    pub(super) fn data_found(&mut self, read: Read) {
        self.bus.found.push(read);
        self.first_data_wait();
    }

    /// The first data that have been found wait until the bus has carried what has been asked for by now.
    fn first_data_wait(&mut self) {
        if self.bus.is_taken || self.bus.found.is_empty() {
            return;
        }
        self.bus.is_taken = true;
        let until = Picos(self.bus.until.max(self.around.at.0));
        self.around.due.ask_last(until, Due::Turn);
    }

    /// They ask for the bus.
    pub(super) fn data_ask(&mut self) {
        let read = self.bus.found.remove(0);
        let (time, ended) = self.bus.carry(self.around.at, read.0);
        self.bus.counts.down += time;
        self.around.ask(Picos(ended), Due::HasRead(read));
    }

    /// The data of a read have ended: the tag is free, the next data wait for the bus, and the NIC has these.
    pub(super) fn has_read(&mut self, read: Read) {
        let at = self.around.at;
        if self.bus.waiting.is_empty() {
            self.bus.tags -= 1;
            if let Some(since) = self.bus.full_since.take() {
                self.bus.counts.full += at.0 - since;
            }
        } else {
            let next = self.bus.waiting.remove(0);
            let found = self.bus.request(at);
            self.around.ask(found, Due::Found(next));
        }
        self.bus.is_taken = false;
        self.first_data_wait();
        self.data_read(read.0.into());
    }
}
