//! The PCI Express bus.

use flitway_engine::Picos;
use flitway_nic::host::HostSettings;
use flitway_nic::host::bus::Reference;
use flitway_nic::host::pcie::PcieSettings;

use super::{ON_PCIE, count, size, time};
use crate::diagnostic::Diagnostics;
use crate::setting::settings;
use crate::values::Values;

settings! {
    pub(crate) static SETTINGS;

    /// Generation of the PCI Express bus: 2.5 and 5 GT/s a lane in 8b/10b coding, then 8, 16 and 32 in 128b/130b.
    GENERATION = "host.bus.generation", count(1, 5), default(3), for ON_PCIE,
        source("th-express-2.txt section 2.2 (P-TH-030)");

    /// Its lanes.
    LANES = "host.bus.lanes", count(1, 32), default(16), for ON_PCIE,
        source("th-express-2.txt section 2.2 (P-TH-030)");

    /// The most data that a transaction layer packet carries.
    PAYLOAD = "host.bus.payload", size(64, 4096), default("256 B"), for ON_PCIE, source("OQ-T10");

    /// What a transaction layer packet has beside its data.
    OVERHEAD = "host.bus.overhead", size(8, 256), default("26 B"), for ON_PCIE, source("OQ-T10");

    /// The most data that the NIC reads at a time; a power of two.
    pub(crate) READ_REQUEST = "host.bus.read_request", size(128, 4096), default("512 B"), for ON_PCIE,
        source("[assumed], the most that PCI Express devices ask for unless told otherwise");

    /// Reads of the NIC that are under way at most.
    READS = "host.bus.reads", count(1, 1024), default(32), for ON_PCIE,
        source("[assumed], the tags of PCI Express without extension");

    /// Time until the NIC has a descriptor of 128 B that a processor writes, from the first byte on; processor and bus idle.
    WRITE_LATENCY = "host.write_latency", time(), default("180 ns"), for ON_PCIE, source("OQ-T9");

    /// Bytes that a processor writes to the NIC as one burst: a write-combining buffer.
    BURST = "host.burst", size(8, 256), default("64 B"), for ON_PCIE, source("[assumed], a cache line");

    /// Time that a processor takes to write one.
    BURST_TIME = "host.burst_time", time(), default("16 ns"), for ON_PCIE, source("[assumed], 4 GB/s");

    /// Time until 8 B that the NIC writes are in memory, over an idle bus.
    POST_LATENCY = "host.post_latency", time(), default("150 ns"), for ON_PCIE, source("OQ-T9");

    /// Time until the NIC has read 128 B of memory, over an idle bus.
    READ_LATENCY = "host.read_latency", time(), default("300 ns"), for ON_PCIE, source("OQ-T10");

    /// The same of what a processor has just written, and has in its cache: a descriptor.
    CACHED_READ_LATENCY = "host.cached_read_latency", time(), default("200 ns"), for ON_PCIE, source("OQ-T10");

    /// Time until a process that polls sees what is in memory. Its processor is busy with each event for so long.
    POLL = "host.poll", time(), default("70 ns"), for ON_PCIE, source("OQ-T9");

    /// Time that a processor takes to write a descriptor into memory.
    pub(crate) STORE = "host.store", time(), default("20 ns"), for ON_PCIE, source("[assumed], two cache lines");
}

/// The host, if the machine has one on PCI Express.
pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<HostSettings<PcieSettings>> {
    let bytes = |setting| values.quantity_u32(setting);
    let time = |setting| values.quantity(setting).map(Picos);
    let bus = PcieSettings {
        lanes: values.count(&LANES)?,
        generation: values.count(&GENERATION)?,
        payload: bytes(&PAYLOAD)?,
        overhead: bytes(&OVERHEAD)?,
        read_request: bytes(&READ_REQUEST)?,
        reads: values.count(&READS)?,
        write_latency: time(&WRITE_LATENCY)?,
        burst: bytes(&BURST)?,
        burst_time: time(&BURST_TIME)?,
        post_latency: time(&POST_LATENCY)?,
        read_latency: time(&READ_LATENCY)?,
        cached_read_latency: time(&CACHED_READ_LATENCY)?,
    };
    let poll = time(&POLL)?;
    let latency = |of| match of {
        Reference::Write => &WRITE_LATENCY,
        Reference::Post => &POST_LATENCY,
        Reference::Read => &READ_LATENCY,
        Reference::CachedRead => &CACHED_READ_LATENCY,
    };
    super::check(values, &bus, &READ_REQUEST, latency, findings).then_some(HostSettings { bus, poll })
}
