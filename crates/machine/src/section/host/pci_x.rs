//! The PCI-X bus, and the platform around it.

use flitway_engine::Picos;
use flitway_nic::host::HostSettings;
use flitway_nic::host::bus::Reference;
use flitway_nic::host::pci_x::PciXSettings;

use super::{ON_PCI_X, count, size, time};
use crate::diagnostic::Diagnostics;
use crate::section::host::platform::Platform;
use crate::setting::{Kind, settings};
use crate::values::Values;

settings! {
    pub(crate) static SETTINGS;

    /// Clock of the PCI-X bus.
    CLOCK = "host.bus.clock", Kind::Frequency { min: 1_000_000, max: 10_000_000_000 }, default("400/3 MHz"), for ON_PCI_X,
        source("qsnet2.txt Table 1 (P-QS-066): 133 MHz");

    /// Bytes that it carries in a cycle, in either direction.
    WIDTH = "host.bus.width", size(4, 64), default("8 B"), for ON_PCI_X, source("P-QS-066: 64 bits, wider knowledge");

    /// Cycles of a transaction beside those of its data: arbitration, address, attributes, answer, turn-around.
    OVERHEAD = "host.bus.overhead_cycles", count(1, 64), default(5), for ON_PCI_X,
        source("[INF] P-QS-063: 512 B at 920 MB/s are 74 cycles, of which 64 have data and the request and the data one overhead each");

    /// The most data that the NIC reads at a time; a power of two.
    pub(crate) READ_REQUEST = "host.bus.read_request", size(128, 4096), default("512 B"), for ON_PCI_X,
        source("qsnet2.txt \"Performance evaluation\" (P-QS-062)");

    /// Split reads of the NIC that are under way at most.
    READS = "host.bus.reads", count(1, 1024), default(12), for ON_PCI_X, source("qsnet2.txt Table 1 (P-QS-067)");

    /// The most data of a transaction in which the NIC writes: adjacent blocks of 128 B are merged up to that.
    WRITE = "host.bus.write", size(128, 4096), default("512 B"), for ON_PCI_X,
        source("[assumed], as much as a read; that blocks are merged: qsnet2.txt DMA step 6 (P-QS-064)");

    /// Time until the NIC has read 128 B of memory, over an idle bus.
    READ_LATENCY = "host.read_latency", time(), default("750 ns"), for ON_PCI_X,
        source("qsnet2.txt \"Packet generation\" (P-QS-068)");
}

/// The host, if the machine has one on PCI-X.
pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<HostSettings<PciXSettings>> {
    let platform = Platform::of(values)?;
    let time = |setting| values.quantity(setting).map(Picos);
    let bus = PciXSettings {
        clock: values.frequency(&CLOCK)?,
        width: values.quantity_u32(&WIDTH)?,
        overhead: values.count(&OVERHEAD)?,
        read_request: values.quantity_u32(&READ_REQUEST)?,
        reads: values.count(&READS)?,
        write: values.quantity_u32(&WRITE)?,
        write_latency: time(platform.write_latency)?,
        burst: values.quantity_u32(platform.burst)?,
        burst_time: time(platform.burst_time)?,
        post_latency: time(platform.post_latency)?,
        read_latency: time(&READ_LATENCY)?,
    };
    let poll = time(platform.poll)?;
    let latency = |of| match of {
        Reference::Write => platform.write_latency,
        Reference::Post => platform.post_latency,
        Reference::Read | Reference::CachedRead => &READ_LATENCY,
    };
    super::check(values, &bus, &READ_REQUEST, latency, findings).then_some(HostSettings { bus, poll })
}
