//! The settings as the numbers that the switch and the NIC ports compute with.

use super::{Hpp, HppSettings};
use crate::simulation::{Architecture, Fabric, SwitchSettings};

#[derive(Clone, Debug)]
pub(super) struct Timing {
    pub(super) vcs: usize,
    /// VCs of one class.
    pub(super) lanes: usize,
    /// From the first flit on the input wire to the first cycle in which it can cross.
    pub(super) to_crossbar: u64,
    pub(super) receive: u64,
    pub(super) transmit_buffer: u64,
    pub(super) transmit: u64,
    pub(super) tx_fifo: u32,
    /// What a sent-ahead start flit saves: one cycle, or none without show-ahead.
    pub(super) show_ahead: u64,
    pub(super) advert_flits: u64,
    pub(super) sideband: bool,
    pub(super) refresh: Option<u64>,
    pub(super) header_flits: u32,
    pub(super) unit_flits: u32,
    pub(super) capacity: u32,
    /// Adverts need not be told to a sender that has at least this many units more than have arrived from it.
    ///
    /// What it has taken without our knowing is bounded: flits cross to one link at one a cycle (per class), so since
    /// the last packet that we know of no more can have crossed than a full TX FIFO and the cycles until now, and one
    /// packet may have been granted beyond that. While the rest still holds the largest packet, the old limit answers
    /// every question as the new one would. It is enough to look when a packet has been read: until then nothing here
    /// changes for the worse.
    pub(super) slack: u32,
}

impl Timing {
    pub(super) fn new(fabric: &Fabric) -> Self {
        let SwitchSettings::Hpp(settings) = &fabric.switch;
        let classes = fabric.routing.classes();
        let pipeline = &settings.pipeline;
        let mut timing = Timing {
            vcs: settings.vcs as usize,
            lanes: (settings.vcs / classes) as usize,
            to_crossbar: u64::from(pipeline.receive + pipeline.queue + pipeline.route),
            receive: u64::from(pipeline.receive),
            transmit_buffer: u64::from(pipeline.transmit_buffer),
            transmit: u64::from(pipeline.transmit),
            tx_fifo: settings.tx_fifo,
            show_ahead: u64::from(settings.show_ahead),
            advert_flits: u64::from(settings.advert.flits),
            sideband: settings.advert.flits == 0,
            refresh: settings.advert.refresh.map(u64::from).filter(|_| settings.advert.flits > 0),
            header_flits: settings.format.header_flits,
            unit_flits: settings.unit_flits,
            capacity: settings.buffer_units,
            slack: 0,
        };
        timing.slack = timing.slack(fabric, settings);
        timing
    }

    fn slack(&self, fabric: &Fabric, settings: &HppSettings) -> u32 {
        let longest = fabric.latencies.iter().copied().max().map_or(0, u64::from);
        let window = Hpp::lookahead(fabric, fabric.latencies.iter().copied().min().unwrap_or(1));
        // From a decision at the sender to our having read it, and from our advert to its counting there.
        let unread = self.transmit + longest + self.to_crossbar.max(self.receive) + window;
        let untold = self.transmit + longest + self.advert_flits.max(1) + self.receive + window;
        let crossed = u64::from(self.tx_fifo) + unread + untold;
        let smallest = u64::from(settings.format.packet_flits(1)).min(u64::from(self.unit_flits));
        let classes = u64::from(fabric.routing.classes());
        let largest = u64::from(self.units(settings.format.payload_flits(settings.format.mtu_bytes)));
        (classes * (crossed / smallest + 1 + largest) + largest).try_into().unwrap_or(u32::MAX)
    }

    /// The virtual channel that a packet on `vc` takes on a link where the routing wants `class`.
    #[inline]
    pub(super) fn relabel(&self, vc: usize, class: u8) -> usize {
        if self.lanes == self.vcs { vc } else { usize::from(class) * self.lanes + vc % self.lanes }
    }

    /// Credit units of a packet.
    pub(super) fn units(&self, payload_flits: u32) -> u32 {
        payload_flits.div_ceil(self.unit_flits).max(1)
    }

    /// The flit that completes unit `unit`.
    #[inline]
    pub(super) fn last_flit(&self, unit: u32, flits: u32, units: u32) -> u32 {
        if unit + 1 == units { flits - 1 } else { self.header_flits + self.unit_flits * (unit + 1) - 1 }
    }
}
