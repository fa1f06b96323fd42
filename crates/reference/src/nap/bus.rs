//! HyperTransport: ports, each with two directions that carry one packet after the other, and reads that need a tag.

use super::{Due, Host};
use flitway_engine::Picos;
use flitway_nic::host::bus::{BusCounts, REFERENCE_BYTES, REFERENCE_POST_BYTES};
use flitway_nic::host::hyper_transport::{HyperTransportSettings, WORD};

/// What a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Data of the packet of an engine.
    Packet(usize),
    /// A word that is loaded: its number among those that were brought here.
    Load(u64),
    /// The word that is added to.
    Addition,
}

/// A read of the NIC, through a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    port: usize,
    purpose: Purpose,
    bytes: u32,
}

#[derive(Debug)]
pub(super) struct Bus {
    settings: HyperTransportSettings,
    ports: Vec<Port>,
}

#[derive(Debug, Default)]
struct Port {
    /// Until when the direction to the NIC carries what was asked for, and that from it.
    down: u64,
    up: u64,
    /// Reads that have a tag.
    tags: u32,
    /// Reads that wait for one.
    waiting: Vec<Read>,
    /// Since when all tags are in use, if they are.
    full_since: Option<u64>,
    counts: BusCounts,
}

impl Bus {
    pub(super) fn new(settings: HyperTransportSettings) -> Self {
        Bus { settings, ports: (0..settings.ports).map(|_| Port::default()).collect() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.ports.iter().all(|port| port.tags == 0 && port.waiting.is_empty())
    }

    /// Times are those of the port that was busy for longest; reads are those of all ports.
    pub(super) fn counts(&self) -> BusCounts {
        let most = |count: fn(&BusCounts) -> u64| self.ports.iter().map(|it| count(&it.counts)).max();
        let all = |count: fn(&BusCounts) -> u64| self.ports.iter().map(|it| count(&it.counts)).sum();
        BusCounts {
            down: most(|it| it.down).unwrap_or(0),
            up: most(|it| it.up).unwrap_or(0),
            reads: all(|it| it.reads),
            reads_waited: all(|it| it.reads_waited),
            full: most(|it| it.full).unwrap_or(0),
            is_half_duplex: false,
        }
    }

    /// Process `i` belongs to port `i` modulo the ports.
    fn port_of(&self, process: u8) -> usize {
        usize::from(process) % self.ports.len()
    }

    /// The time of a packet with `bytes` of data and `beside` other bytes, at both edges of the clock.
    fn packet(&self, beside: u32, bytes: u32) -> u64 {
        let HyperTransportSettings { clock: (hertz, divisor), width, .. } = self.settings;
        let words = bytes.div_ceil(WORD);
        let edges_a_second = 2 * u128::from(hertz);
        let bytes = u128::from(beside + words * WORD);
        (bytes * u128::from(divisor) * 1_000_000_000_000).div_ceil(edges_a_second * u128::from(width)) as u64
    }

    /// The times of the packets that carry `bytes`: one without data if there are none.
    fn packets(&self, beside: u32, bytes: u32) -> Vec<u64> {
        let mut left = bytes;
        let mut times = Vec::new();
        while left > 0 {
            let data = left.min(self.settings.payload);
            times.push(self.packet(beside, data));
            left -= data;
        }
        if times.is_empty() {
            times.push(self.packet(beside, 0));
        }
        times
    }

    /// Carries packets to the NIC: when they have ended.
    fn carry_down(&mut self, port: usize, at: Picos, times: &[u64]) -> u64 {
        let port = &mut self.ports[port];
        for time in times {
            port.counts.down += time;
            port.down = port.down.max(at.0) + time;
        }
        port.down
    }

    /// Carries packets from the NIC: when they have ended.
    fn carry_up(&mut self, port: usize, at: Picos, times: &[u64]) -> u64 {
        let port = &mut self.ports[port];
        for time in times {
            port.counts.up += time;
            port.up = port.up.max(at.0) + time;
        }
        port.up
    }

    /// What is left of the latency of a write without the bus and the processor, which work side by side.
    fn write_flight(&self) -> u64 {
        let HyperTransportSettings { burst, burst_time, write_latency, request, .. } = self.settings;
        let (mut left, mut written, mut carried) = (REFERENCE_BYTES, 0, 0);
        while left > 0 {
            let bytes = left.min(burst);
            written += burst_time.0;
            carried = written.max(carried) + self.packets(request, bytes).iter().sum::<u64>();
            left -= bytes;
        }
        write_latency.0 - carried
    }

    /// A processor has written a burst: when the NIC has it.
    pub(super) fn write(&mut self, process: u8, at: Picos, bytes: u32) -> Picos {
        let times = self.packets(self.settings.request, bytes);
        let ended = self.carry_down(self.port_of(process), at, &times);
        Picos(ended + self.write_flight())
    }

    /// The NIC writes for a process: when that has left it, and when memory has it.
    pub(super) fn post(&mut self, process: u8, at: Picos, bytes: u32) -> (Picos, Picos) {
        let HyperTransportSettings { request, post_latency, .. } = self.settings;
        let times = self.packets(request, bytes);
        let left = self.carry_up(self.port_of(process), at, &times);
        let reference: u64 = self.packets(request, REFERENCE_POST_BYTES).iter().sum();
        (Picos(left), Picos(left + post_latency.0 - reference))
    }

    /// The request of a read, which has a tag, goes to memory: when that has the data.
    fn request(&mut self, at: Picos, read: Read) -> Picos {
        let HyperTransportSettings { request, response, read_latency, .. } = self.settings;
        let time = self.packet(request, 0);
        let data: u64 = self.packets(response, REFERENCE_BYTES).iter().sum();
        let ended = self.carry_up(read.port, at, &[time]);
        Picos(ended + read_latency.0 - time - data)
    }
}

impl Host {
    /// The NIC reads `bytes` of the memory of `process`.
    pub(super) fn read(&mut self, process: u8, purpose: Purpose, bytes: u32) {
        let read = Read { port: self.bus.port_of(process), purpose, bytes };
        let tags = self.bus.settings.reads;
        let port = &mut self.bus.ports[read.port];
        port.counts.reads += 1;
        if port.tags == tags {
            port.counts.reads_waited += 1;
            port.waiting.push(read);
            return;
        }
        port.tags += 1;
        if port.tags == tags {
            port.full_since = Some(self.around.at.0);
        }
        let found = self.bus.request(self.around.at, read);
        self.around.ask(found, Due::Found(read));
    }

    /// Memory has the data of a read: they go to the NIC.
    pub(super) fn data_found(&mut self, read: Read) {
        let times = self.bus.packets(self.bus.settings.response, read.bytes);
        let ended = self.bus.carry_down(read.port, self.around.at, &times);
        self.around.ask(Picos(ended), Due::HasRead(read));
    }

    /// The data of a read have ended: the tag is free for the next read, and the NIC has the data.
    pub(super) fn has_read(&mut self, read: Read) {
        let port = &mut self.bus.ports[read.port];
        if port.waiting.is_empty() {
            port.tags -= 1;
            if let Some(since) = port.full_since.take() {
                port.counts.full += self.around.at.0 - since;
            }
        } else {
            let next = port.waiting.remove(0);
            let found = self.bus.request(self.around.at, next);
            self.around.ask(found, Due::Found(next));
        }
        match read.purpose {
            Purpose::Packet(engine) => self.data_read(engine),
            Purpose::Load(number) => self.word_loaded(number),
            Purpose::Addition => self.word_to_add_to_read(),
        }
    }
}
