//! The settings as the numbers that the switch and the NIC ports compute with.

use super::HppSettings;

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
}

impl Timing {
    pub(super) fn new(settings: &HppSettings, classes: u32) -> Self {
        let pipeline = &settings.pipeline;
        Timing {
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
        }
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
