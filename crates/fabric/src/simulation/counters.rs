//! Totals of a run, and its books.

use crate::Delivery;
use crate::observer::Observer;
use std::iter::Sum;
use std::ops::Add;

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

impl Add for BarrierCounters {
    type Output = BarrierCounters;

    fn add(self, other: BarrierCounters) -> BarrierCounters {
        BarrierCounters {
            made: self.made + other.made,
            sent: self.sent + other.sent,
            handled: self.handled + other.handled,
            lost_by_fault: self.lost_by_fault + other.lost_by_fault,
            lost_by_full_queue: self.lost_by_full_queue + other.lost_by_full_queue,
            retransmissions: self.retransmissions + other.retransmissions,
            duns: self.duns + other.duns,
        }
    }
}

impl Add for Counters {
    type Output = Counters;

    fn add(self, other: Counters) -> Counters {
        Counters {
            events: self.events + other.events,
            wakes: self.wakes + other.wakes,
            packets_created: self.packets_created + other.packets_created,
            packets_copied: self.packets_copied + other.packets_copied,
            packets_missed: self.packets_missed + other.packets_missed,
            packets_delivered: self.packets_delivered + other.packets_delivered,
            flits_delivered: self.flits_delivered + other.flits_delivered,
            packet_hops: self.packet_hops + other.packet_hops,
            flit_hops: self.flit_hops + other.flit_hops,
            adverts: self.adverts + other.adverts,
            barrier: self.barrier + other.barrier,
        }
    }
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Counters>>(all: I) -> Counters {
        all.fold(Counters::default(), Add::add)
    }
}

/// The books of a fabric. Each component enters what it holds; [`Conservation::holds`] says whether the sums agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conservation {
    /// Packets handed to NIC ports, and copies made of them.
    pub created: u64,
    /// Packets that have reached their destination or have been discarded.
    pub delivered: u64,
    /// Packets in source queues, FIFOs and on links.
    pub in_network: u64,
    /// Credit units that senders have taken since the start.
    pub units_sent: u64,
    /// Credit units that receivers have given back since the start.
    pub units_freed: u64,
    /// Credit units of packets that are on a link or in a receiver's FIFO.
    pub units_held: u64,
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
            delivered: counters.packets_delivered + counters.packets_missed,
            barrier_made: barrier.made,
            barrier_gone: barrier.handled + barrier.lost_by_fault + barrier.lost_by_full_queue,
            ..Conservation::default()
        }
    }

    /// Whether every packet and every credit unit is accounted for.
    #[must_use]
    pub fn holds(&self) -> bool {
        // Positions are counted modulo 2^32, so their sums are compared so.
        let balance = self.units_sent.wrapping_sub(self.units_freed).wrapping_sub(self.units_held) as u32;
        self.created == self.delivered + self.in_network
            && balance == 0
            && self.barrier_made == self.barrier_gone + self.barrier_in_network
    }
}

impl Sum for Conservation {
    fn sum<I: Iterator<Item = Conservation>>(all: I) -> Conservation {
        all.fold(Conservation::default(), |a, b| Conservation {
            created: a.created + b.created,
            delivered: a.delivered + b.delivered,
            in_network: a.in_network + b.in_network,
            units_sent: a.units_sent + b.units_sent,
            units_freed: a.units_freed + b.units_freed,
            units_held: a.units_held + b.units_held,
            barrier_made: a.barrier_made + b.barrier_made,
            barrier_gone: a.barrier_gone + b.barrier_gone,
            barrier_in_network: a.barrier_in_network + b.barrier_in_network,
        })
    }
}
