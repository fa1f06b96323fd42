//! PCI-X between the processors and memory of a host and a device: one set of wires for both directions.
//!
//! # What happens when
//!
//! What has to wait for what is said in `bus`; this one is half duplex. A *transaction* with `n` bytes of data takes the cycles
//! of those, `width` in each, and `overhead` more: arbitration, address and attributes, the answer of the target, the
//! turn-around. The time of so many cycles is rounded up to a picosecond. A burst of a processor is one transaction. A read is
//! *split*: its request is a transaction without data, and its data come in one of their own. Posted writes of the device go in
//! transactions of at most `write`: so adjacent blocks are merged.

use super::bus::{BusSettings, Reference};
use flitway_engine::Picos;

/// The settings of a PCI-X bus, and of the processors that write over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciXSettings {
    /// The clock in hertz, and what that is divided by.
    pub clock: (u64, u64),
    /// Bytes that it carries in a cycle.
    pub width: u32,
    /// Cycles of a transaction beside those of its data.
    pub overhead: u32,
    /// Data of one read at most, in bytes.
    pub read_request: u32,
    /// Reads under way at most.
    pub reads: u32,
    /// Data of one transaction in which the device writes at most, in bytes.
    pub write: u32,
    /// A processor's write of [`REFERENCE_BYTES`](super::bus::REFERENCE_BYTES), from its first byte until the device has all.
    pub write_latency: Picos,
    /// Bytes that a processor writes as one burst.
    pub burst: u32,
    /// The time that it takes for each.
    pub burst_time: Picos,
    /// A posted write of [`REFERENCE_POST_BYTES`](super::bus::REFERENCE_POST_BYTES) until it is in memory.
    pub post_latency: Picos,
    /// A read of [`REFERENCE_BYTES`](super::bus::REFERENCE_BYTES), from wherever in memory.
    pub read_latency: Picos,
}

impl PciXSettings {
    /// The time of a transaction with `bytes` of data.
    #[must_use]
    pub fn transaction(&self, bytes: u32) -> Picos {
        let cycles = u128::from(self.overhead + bytes.div_ceil(self.width));
        let (hertz, divisor) = self.clock;
        Picos((cycles * u128::from(divisor) * 1_000_000_000_000).div_ceil(hertz.into()) as u64)
    }
}

impl BusSettings for PciXSettings {
    const IS_HALF_DUPLEX: bool = true;

    fn written(&self, bytes: u32) -> Picos {
        self.transaction(bytes)
    }

    fn posted(&self, bytes: u32) -> Picos {
        let (whole, rest) = (bytes / self.write, bytes % self.write);
        let last = if rest > 0 { self.transaction(rest).0 } else { 0 };
        Picos(u64::from(whole) * self.transaction(self.write).0 + last)
    }

    fn request(&self) -> Picos {
        self.transaction(0)
    }

    fn completed(&self, bytes: u32) -> Picos {
        self.transaction(bytes)
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
            Reference::Read | Reference::CachedRead => self.read_latency,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::agenda::Agenda;
    use super::super::bus::{Bus, BusEvent, Place, Port, Read};
    use super::*;

    const OPTERON: PciXSettings = PciXSettings {
        clock: (400_000_000, 3),
        width: 8,
        overhead: 5,
        read_request: 512,
        reads: 12,
        write: 512,
        write_latency: Picos(510_833),
        burst: 64,
        burst_time: Picos(142_222),
        post_latency: Picos(109_444),
        read_latency: Picos(750_000),
    };

    /// Completes so many reads that are asked for at the start: when each is there.
    fn read(bus: &mut Bus<PciXSettings>, count: u64) -> Vec<u64> {
        let mut agenda: Agenda<BusEvent> = Agenda::new();
        for tag in 0..count {
            bus.read(Picos(0), Read { tag, bytes: 512, place: Place::Memory }, &mut agenda);
        }
        let mut done = Vec::new();
        while let Some((at, event)) = agenda.next_by(Picos(u64::MAX)) {
            if bus.handle(at, event, &mut agenda).is_some() {
                done.push(at.0);
            }
        }
        done
    }

    /// qsnet2.txt, "Packet generation": "the Elan4 DMA engine can read from the PCI-X bus at up to 920 Mbytes/s".
    #[test]
    fn reads_in_a_row_take_74_cycles_of_the_bus_for_512_bytes() {
        let mut bus = Bus::new(&OPTERON);
        let done = read(&mut bus, 60);
        let span = (done[40] - done[10]) as f64 / 30.0;
        let rate = 512.0 / span * 1e6;
        assert!((900.0..930.0).contains(&rate), "{rate} MB/s");
        assert!(bus.counts().reads_waited == 48 && bus.counts().full > 0, "12 are under way");
    }

    #[test]
    fn what_the_device_asks_for_passes_data_that_wait_and_does_not_starve_them() {
        let (mut bus, mut agenda) = (Bus::new(&OPTERON), Agenda::<BusEvent>::new());
        for tag in 0..3 {
            bus.read(Picos(0), Read { tag, bytes: 512, place: Place::Memory }, &mut agenda);
        }
        // The first data are on the bus from 37.5 + 555 ns on; then the device writes twice as much as fits beside them.
        let (mut done, mut posted) = (Vec::new(), Vec::new());
        while let Some((at, event)) = agenda.next_by(Picos(u64::MAX)) {
            if bus.handle(at, event, &mut agenda).is_some() {
                done.push(at.0);
                posted.extend((0..2).map(|_| bus.post(at, 512).sent.0));
            }
        }
        assert_eq!(done, [1_110_000, 1_110_000 + 3 * 517_500, 1_110_000 + 6 * 517_500]);
        assert_eq!(posted[..2], [1_627_500, 2_145_000]);
    }

    #[test]
    fn data_come_after_whatever_is_asked_for_at_their_date() {
        let (mut bus, mut agenda) = (Bus::new(&OPTERON), Agenda::<BusEvent>::new());
        bus.read(Picos(0), Read { tag: 0, bytes: 512, place: Place::Memory }, &mut agenda);
        let (at, found) = agenda.next_by(Picos(u64::MAX)).expect("data are found");
        assert_eq!(bus.handle(at, found, &mut agenda), None);
        // The bus is idle, so they could go now; but something else is found at the same date.
        agenda.ask(at, BusEvent::Found(Port::FIRST, Read { tag: 1, bytes: 8, place: Place::Memory }));
        let (_, other) = agenda.next_by(at).expect("it is due");
        assert!(matches!(other, BusEvent::Found(_, Read { tag: 1, .. })));
        assert_eq!(bus.post(at, 512).sent.0, at.0 + 517_500);
        let (turn_at, turn) = agenda.next_by(at).expect("data are due");
        assert_eq!((turn_at, bus.handle(turn_at, turn, &mut agenda)), (at, None));
        assert_eq!(agenda.next(), Some(Picos(at.0 + 2 * 517_500)));
    }

    #[test]
    fn one_thing_at_a_time_goes_over_a_half_duplex_bus() {
        let mut bus = Bus::new(&OPTERON);
        // 13 cycles for 64 B to the device, and then 6 for 8 B from it.
        let there = bus.write(Picos(1_000), 64);
        assert_eq!(there, Picos(1_000 + 97_500 + 128_889));
        let posted = bus.post(Picos(2_000), 8);
        assert_eq!((posted.sent, posted.visible), (Picos(98_500 + 45_000), Picos(143_500 + 64_444)));
        // Two transactions of 512 B and one of 8 B.
        assert_eq!(OPTERON.posted(1_032), Picos(2 * 517_500 + 45_000));
        assert_eq!(bus.counts().busy()[0], ("bus", 97_500 + 45_000));
    }
}
