//! PCI Express between the processors and memory of a host and a device.
//!
//! # What happens when
//!
//! What has to wait for what is said in `bus`. A *link* has lanes of a generation, and two directions: *down* to the device,
//! *up* from it. A direction carries one transaction layer packet (TLP) after the other. One with `n` bytes of data takes the
//! time of `n` plus the overhead, at the rate of the lanes with their coding, rounded up to a picosecond. A burst of a
//! processor is one TLP, the request of a read one without data; posted writes and the data of reads go in TLPs of at most the
//! payload.

use super::bus::{BusSettings, Reference, in_packets};
use flitway_engine::Picos;

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
    /// A processor's write of [`REFERENCE_BYTES`](super::bus::REFERENCE_BYTES), from its first byte until the device has all.
    pub write_latency: Picos,
    /// Bytes that a processor writes as one burst.
    pub burst: u32,
    /// The time that it takes for each.
    pub burst_time: Picos,
    /// A posted write of [`REFERENCE_POST_BYTES`](super::bus::REFERENCE_POST_BYTES) until it is in memory.
    pub post_latency: Picos,
    /// A read of [`REFERENCE_BYTES`](super::bus::REFERENCE_BYTES) from memory.
    pub read_latency: Picos,
    /// The same of what processors have just written, and have in their cache.
    pub cached_read_latency: Picos,
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
        in_packets(bytes, self.payload, |bytes| self.tlp(bytes))
    }
}

impl BusSettings for PcieSettings {
    const IS_HALF_DUPLEX: bool = false;

    fn written(&self, bytes: u32) -> Picos {
        self.tlp(bytes)
    }

    fn posted(&self, bytes: u32) -> Picos {
        self.tlps(bytes)
    }

    fn request(&self) -> Picos {
        self.tlp(0)
    }

    fn completed(&self, bytes: u32) -> Picos {
        self.tlps(bytes)
    }

    fn burst(&self) -> u32 {
        self.burst
    }

    fn burst_time(&self) -> Picos {
        self.burst_time
    }

    fn read_request(&self) -> u32 {
        self.read_request
    }

    fn reads(&self) -> u32 {
        self.reads
    }

    fn latency(&self, of: Reference) -> Picos {
        match of {
            Reference::Write => self.write_latency,
            Reference::Post => self.post_latency,
            Reference::Read => self.read_latency,
            Reference::CachedRead => self.cached_read_latency,
        }
    }
}
