//! The settings as the numbers that the switch and the NIC ports compute with.

use super::barrier::FLITS;
use super::{Hpp, HppSettings, rules};
use flitway_engine::Cycle;
use flitway_engine::time32::Time;
use flitway_fabric::Fabric;
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{LaneChoice, ReplyLanes};

/// Longer than any simulation, and far from overflow.
pub(super) const NO_REFRESH: u64 = 1 << 62;
/// Periods of repetition after which a shorter way is worth looking for.
const LONG: u64 = 3;

#[derive(Clone, Debug)]
pub(super) struct Timing {
    /// The cycle that [`Time32`](flitway_engine::time32::Time32)s count from.
    pub(super) epoch: Cycle,
    pub(super) vcs: usize,
    /// VCs of one class.
    pub(super) lanes: usize,
    /// Which of them a packet for a node takes.
    pub(super) lane_choice: LaneChoice,
    pub(super) reply_lanes: ReplyLanes,
    /// From the first flit on the input wire to the first cycle in which it can cross.
    pub(super) to_crossbar: u64,
    pub(super) receive: u64,
    pub(super) transmit_buffer: u64,
    pub(super) transmit: u64,
    pub(super) tx_fifo: u32,
    /// See [`rules::cut_through`].
    pub(super) cuts_through: bool,
    /// See [`rules::batched`].
    pub(super) is_batched: bool,
    /// What a sent-ahead start flit saves: one cycle, or none without show-ahead.
    pub(super) show_ahead: u64,
    pub(super) advert_flits: u64,
    /// Adverts have wires of their own.
    pub(super) sideband: bool,
    /// And each is posted where its sender looks it up: see [`rules::posted`].
    pub(super) posts: bool,
    /// Cycles after which an advert is repeated; [`NO_REFRESH`] for never.
    pub(super) refresh: u64,
    /// Time of repetition after which a shorter way is worth looking for.
    pub(super) long: u64,
    /// From the first flit of a barrier packet on the input wire of a switch to its check, and from the event that makes
    /// one until it is ready for the link.
    pub(super) to_engine: u64,
    pub(super) from_engine: u64,
    /// Flits of a unit that is not the last one, and flits up to the end of the first one, if that is not the last.
    pub(super) unit_flits: u16,
    pub(super) first_unit: u16,
    pub(super) capacity: u32,
    /// Credit units: see [`rules::slack`].
    pub(super) slack: u32,
    /// The same for a NIC port, which may read of a packet later.
    pub(super) nic_slack: u32,
}

/// The latency of the longest link.
pub(super) fn longest(fabric: &Fabric) -> u64 {
    fabric.latencies.iter().copied().max().map_or(0, u64::from)
}

/// Cycles of a window, at most.
pub(super) fn window(settings: &HppSettings, fabric: &Fabric) -> u64 {
    Hpp::lookahead(settings, fabric, fabric.latencies.iter().copied().min().unwrap_or(1))
}

impl Timing {
    pub(super) fn new(settings: &HppSettings, fabric: &Fabric) -> Self {
        let classes = fabric.routing.classes();
        let pipeline = &settings.pipeline;
        let mut timing = Timing {
            epoch: Cycle::ZERO,
            vcs: settings.vcs as usize,
            lanes: (settings.vcs / classes) as usize,
            lane_choice: settings.lanes,
            reply_lanes: settings.reply_lanes,
            to_crossbar: u64::from(pipeline.receive + pipeline.queue + pipeline.route),
            receive: u64::from(pipeline.receive),
            transmit_buffer: u64::from(pipeline.transmit_buffer),
            transmit: u64::from(pipeline.transmit),
            tx_fifo: settings.tx_fifo,
            cuts_through: false,
            is_batched: false,
            show_ahead: u64::from(settings.show_ahead),
            advert_flits: u64::from(settings.advert.flits),
            sideband: settings.advert.flits == 0,
            posts: false,
            refresh: settings
                .advert
                .refresh
                .filter(|_| settings.advert.flits > 0)
                .map_or(NO_REFRESH, u64::from),
            long: settings.advert.refresh.map_or(NO_REFRESH, |refresh| LONG * u64::from(refresh)),
            to_engine: FLITS + u64::from(pipeline.receive + pipeline.queue),
            from_engine: u64::from(pipeline.route + settings.barrier.engine + pipeline.transmit_buffer),
            unit_flits: settings.unit_flits as u16,
            first_unit: (settings.format.header_flits + settings.unit_flits).min(u16::MAX.into()) as u16,
            capacity: settings.buffer_units,
            slack: 0,
            nic_slack: 0,
        };
        timing.cuts_through = rules::cut_through::holds(&timing, settings);
        timing.is_batched = rules::batched::holds(&timing, fabric, settings);
        timing.slack = rules::slack::units(&timing, fabric, settings, timing.felt_by_switch());
        timing.nic_slack = rules::slack::units(&timing, fabric, settings, timing.felt_by_node(u32::MAX));
        timing.posts = rules::posted::holds(&timing, fabric, settings);
        timing
    }

    /// Cycles from the choice of an advert of one flit until it counts at the other end of a link of this latency.
    #[inline]
    pub(super) fn on_the_way(&self, latency: u32) -> u64 {
        self.transmit + u64::from(latency) + self.receive
    }

    /// Cycles by which the start flit goes ahead of what is chosen in cycle `now` on a link that is free from cycle `free` on.
    #[inline(always)]
    pub(super) fn ahead<T: Time>(&self, free: T, now: T) -> u64 {
        self.show_ahead & u64::from(free < now)
    }

    /// The virtual channel that a packet on `vc` takes on a link where the routing wants `class`.
    #[inline]
    pub(super) fn relabel(&self, vc: usize, class: u8) -> usize {
        if self.lanes == self.vcs { vc } else { usize::from(class) * self.lanes + vc % self.lanes }
    }

    /// Cycles from the arrival of a packet's first flit until a switch, at the earliest, requests for it.
    #[inline]
    pub(super) fn felt_by_switch(&self) -> u64 {
        self.to_crossbar - 1
    }

    /// Cycles from the arrival of the first of its `flits` until a node, at the earliest, has it, or its NIC port a unit
    /// of it to advertise.
    #[inline]
    pub(super) fn felt_by_node(&self, flits: u32) -> u64 {
        u64::from(flits.min(self.first_unit.into()))
    }

    /// Cycles from the arrival of the first of the `flits` of a packet for a group until somebody acts on it: it does not
    /// know whether it comes to a switch or to a node.
    pub(super) fn felt_of_copy(&self, flits: u32) -> u64 {
        self.felt_by_switch().min(self.felt_by_node(flits))
    }

    /// Cycles from the grant of a packet until it is ready for the link.
    #[inline]
    pub(super) fn to_link(&self) -> u64 {
        1 + self.transmit_buffer
    }

    /// Credit units of a packet.
    pub(super) fn units(&self, payload_flits: u32) -> u32 {
        payload_flits.div_ceil(self.unit_flits.into()).max(1)
    }
}
