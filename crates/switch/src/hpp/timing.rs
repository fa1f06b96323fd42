//! The settings as the numbers that the switch and the NIC ports compute with.

use super::barrier::FLITS;
use super::{Hpp, HppSettings, LaneChoice, batched, credit_schedule};
use flitway_engine::Cycle;
use flitway_engine::time32::Time;
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{Fabric, NicPorts};

/// Longer than any simulation, and far from overflow.
const NO_REFRESH: u64 = 1 << 62;
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
    /// From the first flit on the input wire to the first cycle in which it can cross.
    pub(super) to_crossbar: u64,
    pub(super) receive: u64,
    pub(super) transmit_buffer: u64,
    pub(super) transmit: u64,
    pub(super) tx_fifo: u32,
    /// A packet that finds its TX FIFO empty and its link free never fills the former before it goes on to the latter, and
    /// in the meantime no packet that is granted later can have freed a unit whose advert takes the link.
    pub(super) cuts_through: bool,
    /// Every packet is so long, and there is nothing beside packets, that switches can decide in batches: see
    /// [`batched`](super::batched).
    pub(super) is_batched: bool,
    /// What a sent-ahead start flit saves: one cycle, or none without show-ahead.
    pub(super) show_ahead: u64,
    pub(super) advert_flits: u64,
    /// Adverts have wires of their own.
    pub(super) sideband: bool,
    /// And each is posted where its sender looks it up, since with such small buffers a sender may always come to need it (see
    /// [`slack`](Self::slack)), and packets and links are so short that it counts soon.
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
    /// A switch need not tell adverts to a sender that has at least this many units more than have arrived from it.
    ///
    /// What it has taken without our knowing is bounded: flits cross to one link at one a cycle (per class), so since
    /// the last packet that we know of no more can have crossed than a full TX FIFO and the cycles until now, and one
    /// packet may have been granted beyond that. While the rest still holds the largest packet, the old limit answers
    /// every question as the new one would. It is enough to look when a packet has been read: until then nothing here
    /// changes for the worse. Where two sides take turns the sender is a window ahead when we look, but we have read all of
    /// that, so a window is enough there too.
    pub(super) slack: u32,
    /// The same for a NIC port, which may read of a packet later.
    pub(super) nic_slack: u32,
}

/// The latency of the longest link.
fn longest(fabric: &Fabric) -> u64 {
    fabric.latencies.iter().copied().max().map_or(0, u64::from)
}

/// Cycles of a window, at most.
fn window(settings: &HppSettings, fabric: &Fabric) -> u64 {
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
        let first_unit = timing.felt_by_node(settings.format.packet_flits(1));
        let frees_later = timing.sideband || first_unit > timing.transmit_buffer;
        timing.cuts_through = settings.tx_fifo >= pipeline.transmit_buffer && frees_later;
        timing.is_batched = timing.is_batched(fabric, settings);
        timing.slack = timing.slack(fabric, settings, timing.felt_by_switch());
        timing.nic_slack = timing.slack(fabric, settings, timing.felt_by_node(u32::MAX));
        // What leaves a bounded NIC port is not known ahead.
        timing.posts = timing.sideband
            && fabric.nic_ports == NicPorts::Ideal
            && timing.capacity <= timing.slack.min(timing.nic_slack)
            && timing.posts_ahead(fabric, settings) <= credit_schedule::SPAN;
        timing
    }

    /// See [`is_batched`](Self::is_batched). Nothing that is decided acts on what the others of the switch decide for a batch.
    fn is_batched(&self, fabric: &Fabric, settings: &HppSettings) -> bool {
        let is_plain =
            fabric.groups.is_empty() && fabric.barriers.is_empty() && fabric.routing.classes() == 1;
        let has_ideal_ports = fabric.nic_ports == NicPorts::Ideal;
        let shortest = u64::from(settings.format.packet_flits(*fabric.payloads.start()));
        // From the grant of a packet and from its choice until it has crossed, and from its choice until it has freed a unit.
        let crossed = (shortest + self.transmit_buffer).saturating_sub(self.tx_fifo.into());
        let freed = shortest.min(self.first_unit.into()).saturating_sub(self.tx_fifo.into());
        // Spans of time that are counted in 32 bits beside that from the epoch, and such as reach back from a cycle.
        let longest = longest(fabric);
        let refresh = if self.refresh == NO_REFRESH { 0 } else { self.refresh };
        let ahead = [longest, refresh, self.transmit, self.receive, self.to_crossbar];
        let is_short =
            ahead.iter().all(|&span| span < 1 << 28) && u64::from(self.tx_fifo) < batched::KEPT_LEAST;
        // While a link is busy nothing is advertised: for a packet and an advert of each VC, at most.
        let largest = u64::from(settings.format.packet_flits(settings.format.mtu_bytes));
        let is_told_in_time =
            largest + batched::VCS as u64 * self.advert_flits + batched::BATCH as u64 * 8 < batched::KEPT;
        is_plain
            && has_ideal_ports
            && is_short
            && is_told_in_time
            && self.vcs <= batched::VCS
            && self.capacity <= batched::UNITS
            && !self.sideband
            && shortest.min(crossed).min(freed) >= batched::BATCH.into()
            // After a look from outside links decide at once for all cycles that arbiters are ahead of them.
            && self.to_link() <= batched::BATCH.into()
    }

    /// Cycles from the start of a window until an advert counts that becomes known then, at most: two sides run for two
    /// windows, and the packet granted last leaves from the next cycle on. A NIC port that knows more waits.
    fn posts_ahead(&self, fabric: &Fabric, settings: &HppSettings) -> u64 {
        let largest = settings.format.mtu_bytes.min(*fabric.payloads.end());
        let largest = u64::from(settings.format.packet_flits(largest));
        2 * window(settings, fabric) + 1 + largest + self.transmit + longest(fabric) + self.receive
    }

    /// The slack of a receiver that reads of a packet no later than `felt` cycles after its first flit.
    fn slack(&self, fabric: &Fabric, settings: &HppSettings, felt: u64) -> u32 {
        let (longest, window) = (longest(fabric), window(settings, fabric));
        // From a decision at the sender to our having read it, and from our advert to its counting there.
        let unread = self.transmit + longest + felt + window;
        // Where switches decide in batches their links enter adverts beyond the end of the window.
        let entered_ahead = if self.is_batched { self.to_link() } else { 0 };
        let pending_adverts =
            self.transmit + longest + self.advert_flits.max(1) + self.receive + window + entered_ahead;
        let crossed = u64::from(self.tx_fifo) + unread + pending_adverts;
        let smallest = u64::from(settings.format.packet_flits(1)).min(self.unit_flits.into());
        let classes = u64::from(fabric.routing.classes());
        let largest = u64::from(self.units(settings.format.payload_flits(settings.format.mtu_bytes)));
        (classes * (crossed / smallest + 1 + largest) + largest).try_into().unwrap_or(u32::MAX)
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
