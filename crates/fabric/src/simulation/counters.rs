//! Totals of a run, and its books.

use crate::observer::{LinkError, LinkErrorKind, Loss, Observer};
use crate::{Delivery, LossCause};

/// Totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Decisions: packets created, granted, chosen by a link, delivered.
    pub events: u64,
    /// Times that a switch or a node looked whether something is to be done: the engine's work. It may depend on the
    /// number of threads; nothing else does.
    pub wakes: u64,
    /// Packets handed to NIC ports.
    pub packets_created: u64,
    /// Copies that switches have made of packets for groups: one less than the outputs of each.
    pub packets_copied: u64,
    /// Packets for groups that a switch has discarded because its table named no output.
    pub packets_missed: u64,
    /// Packets that have reached their destination, copies included.
    pub packets_delivered: u64,
    /// Their flits.
    pub flits_delivered: u64,
    /// Packets that the link of a switch has chosen.
    pub packet_hops: u64,
    /// Their flits.
    pub flit_hops: u64,
    /// Adverts sent.
    pub adverts: u64,
    /// Of links that make up for errors.
    pub link: LinkCounters,
    /// Packets that are lost for good.
    pub lost: LostCounters,
    /// Of barrier packets.
    pub barrier: BarrierCounters,
}

impl Counters {
    /// Counts a delivery, and tells the observer of it.
    #[inline(always)]
    pub fn record<O: Observer>(&mut self, delivery: &Delivery, observer: &mut O) {
        self.events += 1;
        self.packets_delivered += 1;
        self.flits_delivered += u64::from(delivery.flits);
        observer.delivered(delivery);
    }

    /// Counts a packet that is lost, and tells the observer of it.
    pub fn lose<O: Observer>(&mut self, loss: &Loss, observer: &mut O) {
        *self.lost.of(loss.cause) += 1;
        observer.lost(loss);
    }

    /// Counts an error of a link, and tells the observer of it.
    #[cold]
    pub fn err<O: Observer>(&mut self, error: &LinkError, observer: &mut O) {
        *match error.kind {
            LinkErrorKind::Corrupted => &mut self.link.corrupted,
            LinkErrorKind::Repeated => &mut self.link.repeated,
            LinkErrorKind::TimedOut => &mut self.link.timeouts,
            LinkErrorKind::Refused => &mut self.link.refused,
        } += 1;
        observer.link_erred(error);
    }
}

/// Totals of links that make up for errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets and acknowledgements that links have corrupted.
    pub corrupted: u64,
    /// Packets delivered that a link has corrupted so that no check shows it.
    pub undetected: u64,
    /// Packets that have been dropped though they were not corrupt: behind one that was lost, or accepted before.
    pub dropped: u64,
    /// Packets that have been sent again.
    pub repeated: u64,
    /// NACKs sent.
    pub nacks: u64,
    /// Times that a timer has expired.
    pub timeouts: u64,
    /// Packets that NIC ports have refused because they were full.
    pub refused: u64,
}

/// Packets that are lost for good, by [cause](LossCause).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostCounters {
    /// See [`LossCause::InDeadSwitch`].
    pub in_dead_switch: u64,
    /// See [`LossCause::LinkDown`].
    pub link_down: u64,
    /// See [`LossCause::Unacknowledged`].
    pub unacknowledged: u64,
    /// See [`LossCause::NoRoute`].
    pub no_route: u64,
    /// See [`LossCause::Refused`].
    pub refused: u64,
}

impl LostCounters {
    /// All of them.
    #[must_use]
    pub const fn sum(&self) -> u64 {
        self.in_dead_switch + self.link_down + self.unacknowledged + self.no_route + self.refused
    }

    fn of(&mut self, cause: LossCause) -> &mut u64 {
        match cause {
            LossCause::InDeadSwitch => &mut self.in_dead_switch,
            LossCause::LinkDown => &mut self.link_down,
            LossCause::Unacknowledged => &mut self.unacknowledged,
            LossCause::NoRoute => &mut self.no_route,
            LossCause::Refused => &mut self.refused,
        }
    }
}

/// Totals of barrier packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarrierCounters {
    /// Packets that switches and NIC ports have made.
    pub made: u64,
    /// Packets that links have chosen, those of NIC ports included.
    pub sent: u64,
    /// Packets that switches and NIC ports have acted on.
    pub handled: u64,
    /// Packets that faults have lost: rules and bit errors.
    pub lost_by_fault: u64,
    /// Packets that have found a queue full.
    pub lost_by_full_queue: u64,
    /// Combines that have been sent again.
    pub retransmissions: u64,
    /// Duns.
    pub duns: u64,
}

flitway_engine::add_fields!(LostCounters { in_dead_switch, link_down, unacknowledged, no_route, refused });

flitway_engine::add_fields!(LinkCounters {
    corrupted,
    undetected,
    dropped,
    repeated,
    nacks,
    timeouts,
    refused
});

flitway_engine::add_fields!(BarrierCounters {
    made,
    sent,
    handled,
    lost_by_fault,
    lost_by_full_queue,
    retransmissions,
    duns
});

flitway_engine::add_fields!(Counters {
    events,
    wakes,
    packets_created,
    packets_copied,
    packets_missed,
    packets_delivered,
    flits_delivered,
    packet_hops,
    flit_hops,
    adverts,
    link,
    lost,
    barrier
});

/// The books of a fabric. Each component enters what it holds; [`Conservation::holds`] says whether the sums agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets handed to NIC ports, and copies made of them.
    pub created: u64,
    /// Packets that have reached their destination, have been discarded, or are lost.
    pub delivered: u64,
    /// Packets in source queues, FIFOs and on links.
    pub in_network: u64,
    /// Packets on links that lose some: those that senders have begun, less those that receivers have accepted, or know to be
    /// lost for good.
    pub on_links: i64,
    /// Credit units that senders have taken since the start.
    pub units_sent: u64,
    /// Credit units that receivers have given back since the start.
    pub units_freed: u64,
    /// Credit units of packets that are on a link or in a receiver's FIFO.
    pub units_held: u64,
    /// The same of packets on links that lose some, as [`on_links`](Self::on_links).
    pub units_on_links: i64,
    /// Barrier packets that have been made.
    pub barrier_made: u64,
    /// Barrier packets that have been acted on or lost.
    pub barrier_gone: u64,
    /// Barrier packets in queues and on links.
    pub barrier_in_network: u64,
}

impl Conservation {
    /// What the totals say.
    pub fn of(counters: &Counters) -> Self {
        let barrier = &counters.barrier;
        Conservation {
            created: counters.packets_created + counters.packets_copied,
            delivered: counters.packets_delivered + counters.packets_missed + counters.lost.sum(),
            barrier_made: barrier.made,
            barrier_gone: barrier.handled + barrier.lost_by_fault + barrier.lost_by_full_queue,
            ..Conservation::default()
        }
    }

    /// Whether every packet and every credit unit is accounted for.
    #[must_use]
    pub fn holds(&self) -> bool {
        // Positions are counted modulo 2^32, so their sums are compared so.
        let held = self.units_held.wrapping_add_signed(self.units_on_links);
        let balance = self.units_sent.wrapping_sub(self.units_freed).wrapping_sub(held) as u32;
        let in_network = self.in_network.wrapping_add_signed(self.on_links);
        self.created == self.delivered.wrapping_add(in_network)
            && balance == 0
            && self.barrier_made == self.barrier_gone + self.barrier_in_network
    }
}

flitway_engine::add_fields!(Conservation {
    created,
    delivered,
    in_network,
    on_links,
    units_sent,
    units_freed,
    units_held,
    units_on_links,
    barrier_made,
    barrier_gone,
    barrier_in_network
});
