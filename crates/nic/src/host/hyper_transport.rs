//! HyperTransport between the processors and memory of a host and a device, with a port for each of several processors.
//!
//! # What happens when
//!
//! What has to wait for what is said in `bus`. Each port has a link of its own with two directions, of `width` bytes, which
//! carry data at both edges of the clock. A direction carries one packet after the other. One with `n` bytes of data takes the
//! time of the bytes that it has beside its data and of `n`, rounded up to words of [`WORD`], at that rate, rounded up to a
//! picosecond. Beside data have: what is written, and the request of a read, `request` bytes (command and address); the data of
//! a read `response` bytes (command). A burst of a processor, what the device writes and the data of a read go in packets of at
//! most `payload` data, the request of a read is one without data. HyperTransport keeps posted writes of a device, and
//! reads after them, in their order, as `bus` does.

use super::bus::{BusSettings, Reference, in_packets};
use flitway_engine::Picos;

/// Bytes of a word: data of a packet are whole ones. Source: \[LIT\] HyperTransport I/O Link Specification.
pub const WORD: u32 = 4;

/// The settings of HyperTransport, and of the processors that write over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyperTransportSettings {
    /// Ports of the device, each with a link.
    pub ports: u32,
    /// The clock in hertz, and what that is divided by; there are two edges in a cycle.
    pub clock: (u64, u64),
    /// Bytes that a direction of a link carries at an edge.
    pub width: u32,
    /// Data of a packet at most, in bytes.
    pub payload: u32,
    /// What a packet that is written, or asks for data, has beside data, in bytes.
    pub request: u32,
    /// What a packet with data that were read has beside them, in bytes.
    pub response: u32,
    /// Data of one read at most, in bytes.
    pub read_request: u32,
    /// Reads under way at most, of each port.
    pub reads: u32,
    /// A processor's write of [`REFERENCE_BYTES`](super::bus::REFERENCE_BYTES), from its first byte until the device has all.
    pub write_latency: Picos,
    /// Bytes that a processor writes as one burst.
    pub burst: u32,
    /// The time that it takes for each.
    pub burst_time: Picos,
    /// A posted write of [`REFERENCE_POST_BYTES`](super::bus::REFERENCE_POST_BYTES) until it is in memory.
    pub post_latency: Picos,
    /// A read of [`REFERENCE_BYTES`](super::bus::REFERENCE_BYTES), in requests one behind the other.
    pub read_latency: Picos,
}

impl HyperTransportSettings {
    /// The time of a packet with `bytes` of data and `overhead` beside them.
    fn packet(&self, overhead: u32, bytes: u32) -> Picos {
        let (hertz, divisor) = self.clock;
        let bytes = u128::from(overhead + bytes.next_multiple_of(WORD));
        let rate = 2 * u128::from(hertz) * u128::from(self.width);
        Picos((bytes * u128::from(divisor) * 1_000_000_000_000).div_ceil(rate) as u64)
    }

    /// The time of the packets that carry `bytes`.
    fn packets(&self, overhead: u32, bytes: u32) -> Picos {
        in_packets(bytes, self.payload, |bytes| self.packet(overhead, bytes))
    }
}

impl BusSettings for HyperTransportSettings {
    const IS_HALF_DUPLEX: bool = false;

    fn written(&self, bytes: u32) -> Picos {
        self.packets(self.request, bytes)
    }

    fn posted(&self, bytes: u32) -> Picos {
        self.packets(self.request, bytes)
    }

    fn request(&self) -> Picos {
        self.packet(self.request, 0)
    }

    fn completed(&self, bytes: u32) -> Picos {
        self.packets(self.response, bytes)
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

    fn ports(&self) -> u32 {
        self.ports
    }

    fn latency(&self, of: Reference) -> Picos {
        match of {
            Reference::Write => self.write_latency,
            Reference::Post => self.post_latency,
            Reference::Read | Reference::CachedRead => self.read_latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::agenda::Agenda;
    use super::super::bus::{Bus, BusEvent, Place, Port, Read};
    use super::*;

    const DAWNING: HyperTransportSettings = HyperTransportSettings {
        ports: 2,
        clock: (200_000_000, 1),
        width: 2,
        payload: 64,
        request: 8,
        response: 4,
        read_request: 64,
        reads: 32,
        write_latency: Picos(296_000),
        burst: 64,
        burst_time: Picos(16_000),
        post_latency: Picos(120_000),
        read_latency: Picos(400_000),
    };

    /// dawning5000.txt section 6: "ingress aggregated bandwidth of 12.8 Gbps (single HT interface is 16-bit data, 200MHz DDR)".
    #[test]
    fn each_direction_of_a_port_carries_800_mb_a_second_less_what_packets_have_beside_data() {
        let (mut bus, mut agenda) = (Bus::new(&DAWNING), Agenda::<BusEvent>::new());
        let posted = bus.post(Picos(0), 1024);
        assert_eq!(posted.sent, Picos(16 * 90_000), "72 B of a packet take 90 ns");
        // The other direction and the other port carry as much meanwhile.
        assert_eq!(bus.write(Picos(0), 13), Picos(30_000 + 100_000), "13 B are 4 words");
        assert_eq!(bus.post_through(Port(1), Picos(0), 64).visible, Picos(90_000 + 100_000));
        for tag in 0..40 {
            let read = Read { tag, bytes: 64, place: Place::Memory };
            bus.read_through(Port(1), Picos(0), read, &mut agenda);
        }
        let mut done = Vec::new();
        while let Some((at, event)) = agenda.next_by(Picos(u64::MAX)) {
            done.extend(bus.handle(at, event, &mut agenda).map(|_| at.0));
        }
        // Behind the write, a request; then data, 85 ns for each 64 B, one behind the other.
        assert_eq!((done[0], done[31] - done[0]), (90_000 + 10_000 + 220_000 + 85_000, 31 * 85_000));
        assert_eq!((bus.counts().reads, bus.counts().reads_waited), (40, 8));
        assert_eq!(bus.counts().up, 16 * 90_000, "of the port that was busy for longer");
    }
}
