//! HyperTransport, and the hosts of the prototype of Dawning 5000.
//!
//! Ports, width and clock are those of dawning5000.txt section 6; packets those of the HyperTransport I/O Link Specification
//! \[LIT\]. The times of the host are *solved*, from one input: software and both NICs take 1.4 us of a message (mechanisms
//! 1.8, OQ-H17), half of it on each side. Of a message of 8 B (a send) the sender's 700 ns have in them a cycle of the NIC port
//! and nine flits of the link, 100 ns at 100 MHz, which the network has; 16 ns for a burst, 40 ns for 24 B over the bus, and
//! the NIC (`nic.start`, `nic.transmit`, 150 ns). What is left of both sides, 394 ns and 510 ns, is 100 ns each way between bus
//! and processor or memory and otherwise software (`nic.issue`, `host.poll`): that division, and that of the NIC, is
//! \[assumed\].

use flitway_engine::Picos;
use flitway_nic::host::HostSettings;
use flitway_nic::host::bus::Reference;
use flitway_nic::host::hyper_transport::HyperTransportSettings;

use super::{ON_HYPER_TRANSPORT, count, size, time};
use crate::diagnostic::Diagnostics;
use crate::setting::{Kind, Setting, When, settings};
use crate::values::Values;

const OF_DAWNING: When = When { selector: &PLATFORM, holds: |_, name| name == DAWNING };

settings! {
    pub(crate) static SETTINGS;

    /// HyperTransport ports of the NIC: processes of a node belong to them in turn.
    PORTS = "host.bus.ports", count(1, 16), default(2), for ON_HYPER_TRANSPORT,
        source("dawning5000.txt section 6 (P-DN-040): one for each processor");

    /// Clock of a HyperTransport link, which carries data at both edges.
    CLOCK = "host.bus.clock", Kind::Frequency { min: 1_000_000, max: 10_000_000_000 }, default("200 MHz"),
        for ON_HYPER_TRANSPORT, source("dawning5000.txt section 6 (P-DN-041)");

    /// Bytes that each direction of a link carries at an edge.
    WIDTH = "host.bus.width", size(1, 8), default("2 B"), for ON_HYPER_TRANSPORT,
        source("dawning5000.txt section 6 (P-DN-041): 16 bits; 6.4 Gbit/s each way");

    /// The most data of a packet.
    PAYLOAD = "host.bus.payload", size(8, 64), default("64 B"), for ON_HYPER_TRANSPORT,
        source("[LIT] HyperTransport I/O Link Specification: 16 words of 4 B");

    /// What a packet that is written, or asks for data, has beside data.
    REQUEST = "host.bus.request", size(4, 64), default("8 B"), for ON_HYPER_TRANSPORT,
        source("[LIT] HyperTransport I/O Link Specification: command and address");

    /// What a packet with data that were read has beside them.
    RESPONSE = "host.bus.response", size(4, 64), default("4 B"), for ON_HYPER_TRANSPORT,
        source("[LIT] HyperTransport I/O Link Specification");

    /// The most data that the NIC reads at a time; a power of two.
    pub(crate) READ_REQUEST = "host.bus.read_request", size(8, 64), default("64 B"), for ON_HYPER_TRANSPORT,
        source("[LIT] HyperTransport I/O Link Specification: 16 words of 4 B");

    /// Reads of the NIC that are under way at most, of each port.
    READS = "host.bus.reads", count(1, 1024), default(32), for ON_HYPER_TRANSPORT,
        source("[LIT] HyperTransport I/O Link Specification: tags of 5 bits");

    /// The computer around a NIC on HyperTransport: what its processors take, unless that is said.
    PLATFORM = "host.platform", one of {
        /// The nodes of the prototype of Dawning 5000, with two Opterons.
        DAWNING = "dawning",
    }, default("dawning"), for ON_HYPER_TRANSPORT, source("dawning5000.txt section 6");

    /// Bytes that a processor writes to the NIC as one burst.
    BURST = "host.burst", size(8, 64), default("64 B"), for OF_DAWNING, source("P-QS-071: as Opterons on PCI-X");

    /// Time that a processor takes to write one.
    BURST_TIME = "host.burst_time", time(), default("16 ns"), for OF_DAWNING, source("[assumed], 4 GB/s");

    /// Time until the NIC has 128 B that a processor writes, from the first byte on; processor and bus idle.
    WRITE_LATENCY = "host.write_latency", time(), default("296 ns"), for OF_DAWNING,
        source("[assumed], processor and bus, and 100 ns of the 1.4 us of spec/mechanisms.md 1.8");

    /// Time until 8 B that the NIC writes are in memory, over an idle bus.
    POST_LATENCY = "host.post_latency", time(), default("120 ns"), for OF_DAWNING,
        source("[assumed], the bus, and 100 ns of the 1.4 us of spec/mechanisms.md 1.8");

    /// Time until the NIC has read 128 B of memory, over an idle bus.
    READ_LATENCY = "host.read_latency", time(), default("400 ns"), for OF_DAWNING,
        source("[assumed], the bus, and 220 ns: 100 ns each way as above, and 20 ns more for memory");

    /// Time until a process that polls sees what is in memory, with what its library does about it. Its processor is busy with
    /// each slot and each event record for so long.
    POLL = "host.poll", time(), default("410 ns"), for OF_DAWNING,
        source("solved from 1.4 us (spec/mechanisms.md 1.8, OQ-H17): 700 ns less the bus, 100 ns and the NIC");
}

/// The host, if the machine has one on HyperTransport.
pub(crate) fn build(
    values: &Values,
    findings: &mut Diagnostics,
) -> Option<HostSettings<HyperTransportSettings>> {
    values.choice(&PLATFORM)?;
    let time = |setting| values.quantity(setting).map(Picos);
    let bytes = |setting| values.quantity_u32(setting);
    let bus = HyperTransportSettings {
        ports: values.count(&PORTS)?,
        clock: values.frequency(&CLOCK)?,
        width: bytes(&WIDTH)?,
        payload: bytes(&PAYLOAD)?,
        request: bytes(&REQUEST)?,
        response: bytes(&RESPONSE)?,
        read_request: bytes(&READ_REQUEST)?,
        reads: values.count(&READS)?,
        write_latency: time(&WRITE_LATENCY)?,
        burst: bytes(&BURST)?,
        burst_time: time(&BURST_TIME)?,
        post_latency: time(&POST_LATENCY)?,
        read_latency: time(&READ_LATENCY)?,
    };
    let poll = time(&POLL)?;
    let latency = |of| -> &'static Setting {
        match of {
            Reference::Write => &WRITE_LATENCY,
            Reference::Post => &POST_LATENCY,
            Reference::Read | Reference::CachedRead => &READ_LATENCY,
        }
    };
    super::check(values, &bus, &READ_REQUEST, latency, findings).then_some(HostSettings { bus, poll })
}
