//! A node: the endpoint on top of its NIC ports, one per rail.

use super::Network;
use super::port::Port;
use flitway_engine::Cycle;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::observer::Observer;
use flitway_fabric::{Endpoint, Outgoing, Up};
use flitway_wiring::NodeId;
use std::ops::Range;

/// It begins with a cache line: so no more of them are asked for than there are, and no fewer.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Node<E> {
    pub(super) id: NodeId,
    /// Its NIC ports.
    pub(super) nics: Range<usize>,
    pub(super) endpoint: E,
    /// The block that it runs with.
    pub(super) block: u32,
    /// The end of the last batch in which it has had its turn.
    pub(super) seen: Cycle,
    /// When the endpoint wants to be woken.
    pub(super) wake: Cycle,
}

impl<E: Endpoint> Node<E> {
    /// Does everything due before cycle `end`: deliveries and the endpoint's own doings, cycle by cycle, then what links
    /// decide. Returns when something is due next, as far as known.
    #[inline(always)]
    pub(super) fn run<const V: usize, O: Observer>(
        &mut self,
        network: &mut Network<V, O>,
        ports: &mut [Port<V>],
        end: Cycle,
        out: &mut Outgoing,
    ) -> Cycle {
        let mut next = self.next(network);
        while next < end {
            self.act(network, next, out);
            next = self.next(network);
        }
        let epoch = network.cx.timing.epoch;
        let end = Time32::of(end, epoch);
        for nic in self.nics.clone() {
            let decides = network.advance(ports, nic, end);
            if decides != Time32::NEVER {
                next = next.min(decides.cycle(epoch));
            }
        }
        next
    }

    /// When the endpoint acts or is told of a delivery, as far as known.
    #[inline(always)]
    fn next<const V: usize, O: Observer>(&self, network: &Network<V, O>) -> Cycle {
        if network.undelivered == 0 {
            return self.wake;
        }
        network.nics[self.nics.clone()].iter().fold(self.wake, |next, nic| next.min(nic.deliver_at))
    }

    /// Deliveries and the endpoint's own doings in cycle `now`.
    #[inline(always)]
    fn act<const V: usize, O: Observer>(
        &mut self,
        network: &mut Network<V, O>,
        now: Cycle,
        out: &mut Outgoing,
    ) {
        network.cx.counters.wakes += 1;
        let is_woken = self.wake == now;
        let told = if network.undelivered == 0 { 0..0 } else { self.nics.clone() };
        for nic in told {
            while let Some(delivery) = network.next_delivery(nic, now) {
                if E::REACTS {
                    self.wake = self.endpoint.hear(now, Up::Delivery(&delivery), out).unwrap_or(Cycle::NEVER);
                }
            }
        }
        if is_woken {
            self.wake = self.endpoint.wake(now, out).unwrap_or(Cycle::NEVER);
        }
        assert!(self.wake > now, "an endpoint is woken in a later cycle than the one it is in");
        let is_plain = out.sets.is_empty() && out.arrivals.is_empty() && out.drained.is_empty();
        assert!(is_plain, "nodes send packets for one node alone");
        out.events.drain(..).for_each(|event| network.cx.observer.reported(self.id, &event));
        for packet in out.packets.drain(..) {
            network.submit(self.nics.start + packet.rail.index(), now, self.id, &packet);
        }
    }
}
