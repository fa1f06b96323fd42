//! Platforms: what processors and their way to a PCI-X bus take on the computers that QsNetII was built into.
//!
//! Sizes and rates of bursts are those of qsnet2.txt, "Packet generation". The times are *solved*, from one input for each
//! platform (mechanisms 3.9): what a remote write of 8 B by STEN takes over one Elite4. 450 ns of it are the bus (75 ns for the
//! commands, 45 ns each for the data and the event), Elan4 (76.5 ns, 103.5 ns) and the network (105 ns, machine `elite4`), and
//! the processor writes one burst. Half of what is left is on the way to the NIC, a quarter on the way back into memory, and a
//! quarter is the poll: that division is \[assumed\]. Everything else is predicted.

use super::{ON_PCI_X, size, time};
use crate::setting::{Setting, When, settings};
use crate::values::Values;

const OF_OPTERON: When = When { selector: &PLATFORM, holds: |_, name| name == OPTERON };
const OF_XEON: When = When { selector: &PLATFORM, holds: |_, name| name == XEON };
const OF_ITANIUM2: When = When { selector: &PLATFORM, holds: |_, name| name == ITANIUM2 };

settings! {
    pub(crate) static SETTINGS;

    /// The computer around a NIC on PCI-X: what its processors and their way to the bus take, unless that is said.
    pub(crate) PLATFORM = "host.platform", one of {
        /// Opterons: bursts of 64 B.
        OPTERON = "opteron",
        /// Xeons with EM64T.
        XEON = "xeon-em64t",
        /// Itanium2s on a Tiger board: bursts of 128 B.
        ITANIUM2 = "itanium2",
    }, default("opteron"), for ON_PCI_X, example("itanium2"), source("spec/mechanisms.md 3.9; the first [assumed]");

    /// Bytes that a processor writes to the NIC as one burst.
    OPTERON_BURST = "host.burst", size(8, 256), default("64 B"), for OF_OPTERON, source("P-QS-071");

    /// Time that a processor takes to write one.
    OPTERON_BURST_TIME = "host.burst_time", time(), default("142.222 ns"), for OF_OPTERON, source("P-QS-071: 450 MB/s");

    /// Time until the NIC has 128 B that a processor writes, from the first byte on; processor and bus idle.
    OPTERON_WRITE = "host.write_latency", time(), default("510.833 ns"), for OF_OPTERON,
        source("solved from 0.85 us (spec/mechanisms.md 3.9): two bursts, and half of 257.778 ns");

    /// Time until 8 B that the NIC writes are in memory, over an idle bus.
    OPTERON_POST = "host.post_latency", time(), default("109.444 ns"), for OF_OPTERON,
        source("solved from 0.85 us (spec/mechanisms.md 3.9): the bus, and a quarter of 257.778 ns");

    /// Time until a process that polls sees what is in memory. Its processor is busy with each event for so long.
    OPTERON_POLL = "host.poll", time(), default("64.445 ns"), for OF_OPTERON,
        source("solved from 0.85 us (spec/mechanisms.md 3.9): a quarter of 257.778 ns");

    /// Bytes that a processor writes to the NIC as one burst.
    XEON_BURST = "host.burst", size(8, 256), default("64 B"), for OF_XEON, source("[assumed], as Opterons");

    /// Time that a processor takes to write one.
    XEON_BURST_TIME = "host.burst_time", time(), default("142.222 ns"), for OF_XEON, source("[assumed], as Opterons");

    /// Time until the NIC has 128 B that a processor writes, from the first byte on; processor and bus idle.
    XEON_WRITE = "host.write_latency", time(), default("655.833 ns"), for OF_XEON,
        source("solved from 1.14 us (spec/mechanisms.md 3.9): two bursts, and half of 547.778 ns");

    /// Time until 8 B that the NIC writes are in memory, over an idle bus.
    XEON_POST = "host.post_latency", time(), default("181.944 ns"), for OF_XEON,
        source("solved from 1.14 us (spec/mechanisms.md 3.9): the bus, and a quarter of 547.778 ns");

    /// Time until a process that polls sees what is in memory. Its processor is busy with each event for so long.
    XEON_POLL = "host.poll", time(), default("136.945 ns"), for OF_XEON,
        source("solved from 1.14 us (spec/mechanisms.md 3.9): a quarter of 547.778 ns");

    /// Bytes that a processor writes to the NIC as one burst.
    ITANIUM2_BURST = "host.burst", size(8, 256), default("128 B"), for OF_ITANIUM2, source("P-QS-070");

    /// Time that a processor takes to write one.
    ITANIUM2_BURST_TIME = "host.burst_time", time(), default("213.333 ns"), for OF_ITANIUM2, source("P-QS-070: 600 MB/s");

    /// Time until the NIC has 128 B that a processor writes, from the first byte on; processor and bus idle.
    ITANIUM2_WRITE = "host.write_latency", time(), default("839.166 ns"), for OF_ITANIUM2,
        source("solved from 1.6 us (spec/mechanisms.md 3.9): a burst, and half of 936.667 ns");

    /// Time until 8 B that the NIC writes are in memory, over an idle bus.
    ITANIUM2_POST = "host.post_latency", time(), default("279.167 ns"), for OF_ITANIUM2,
        source("solved from 1.6 us (spec/mechanisms.md 3.9): the bus, and a quarter of 936.667 ns");

    /// Time until a process that polls sees what is in memory. Its processor is busy with each event for so long.
    ITANIUM2_POLL = "host.poll", time(), default("234.167 ns"), for OF_ITANIUM2,
        source("solved from 1.6 us (spec/mechanisms.md 3.9): a quarter of 936.667 ns");
}

/// The settings of a platform.
pub(crate) struct Platform {
    pub(crate) burst: &'static Setting,
    pub(crate) burst_time: &'static Setting,
    pub(crate) write_latency: &'static Setting,
    pub(crate) post_latency: &'static Setting,
    pub(crate) poll: &'static Setting,
}

impl Platform {
    /// Those of the platform that is chosen.
    pub(crate) fn of(values: &Values) -> Option<Self> {
        let [burst, burst_time, write_latency, post_latency, poll]: [&'static Setting; 5] = match values
            .choice(&PLATFORM)?
        {
            OPTERON => [&OPTERON_BURST, &OPTERON_BURST_TIME, &OPTERON_WRITE, &OPTERON_POST, &OPTERON_POLL],
            XEON => [&XEON_BURST, &XEON_BURST_TIME, &XEON_WRITE, &XEON_POST, &XEON_POLL],
            _ => [&ITANIUM2_BURST, &ITANIUM2_BURST_TIME, &ITANIUM2_WRITE, &ITANIUM2_POST, &ITANIUM2_POLL],
        };
        Some(Platform { burst, burst_time, write_latency, post_latency, poll })
    }
}
