//! A node: its NIC ports, one per rail, and the endpoint on top.

use super::{Architecture, Context, PortModel, Rest};
use crate::observer::Observer;
use crate::{Endpoint, NodeId, Outgoing};
use flitway_engine::Cycle;

#[derive(Debug)]
pub(super) struct Node<P, E> {
    pub(super) id: NodeId,
    pub(super) ports: Box<[P]>,
    pub(super) endpoint: E,
    /// When the endpoint wants to be woken.
    wake: Cycle,
}

impl<P, E: Endpoint> Node<P, E> {
    pub(super) fn new(id: NodeId, ports: Box<[P]>, endpoint: E) -> Self {
        Node { id, ports, endpoint, wake: Cycle::ZERO }
    }

    fn next<A: Architecture>(&self) -> Cycle
    where
        P: PortModel<A>,
    {
        self.ports.iter().map(P::next).fold(self.wake, Cycle::min)
    }

    /// Does everything due before `until`, cycle by cycle: deliveries, the endpoint's own doings, then the ports.
    pub(super) fn run<A: Architecture<Port = P>, O: Observer>(
        &mut self,
        cx: &mut Context<'_, A, O>,
        until: Cycle,
        out: &mut Outgoing,
    ) -> Rest
    where
        P: PortModel<A>,
    {
        loop {
            let now = self.next();
            if now >= until {
                break;
            }
            cx.counters.wakes += 1;
            let woken = self.wake == now;
            for port in &mut self.ports {
                while let Some(delivery) = port.delivery(cx.shared, now, self.id) {
                    cx.counters.events += 1;
                    cx.counters.packets_delivered += 1;
                    cx.counters.flits_delivered += u64::from(delivery.flits);
                    cx.observer.delivered(&delivery);
                    self.wake = self.endpoint.deliver(now, &delivery, out).unwrap_or(Cycle::NEVER);
                }
                while let Some(group) = port.release(cx, now) {
                    cx.observer.released(now, self.id, group);
                    self.wake = self.endpoint.released(now, group, out).unwrap_or(Cycle::NEVER);
                }
            }
            if woken {
                self.wake = self.endpoint.wake(now, out).unwrap_or(Cycle::NEVER);
            }
            assert!(self.wake > now, "an endpoint is woken in a later cycle than the one it is in");
            for packet in out.packets.drain(..) {
                cx.counters.events += 1;
                cx.counters.packets_created += 1;
                cx.observer.created(now, self.id, &packet);
                self.ports[packet.rail.index()].submit(cx.shared, now, self.id, &packet, &out.sets);
            }
            out.sets.clear();
            if !out.arrivals.is_empty() {
                self.arrive(cx, now, out);
            }
            for port in &mut self.ports {
                port.advance(cx, now);
            }
        }
        let mut rest = Rest { next: self.next(), waits: false };
        for port in &mut self.ports {
            let port = port.finish(cx, until);
            rest = Rest { next: rest.next.min(port.next), waits: rest.waits || port.waits };
        }
        rest
    }

    /// Hands the arrivals at barriers to the NIC ports.
    #[cold]
    fn arrive<A: Architecture<Port = P>, O: Observer>(
        &mut self,
        cx: &mut Context<'_, A, O>,
        now: Cycle,
        out: &mut Outgoing,
    ) where
        P: PortModel<A>,
    {
        for group in out.arrivals.drain(..) {
            cx.counters.events += 1;
            cx.observer.arrived(now, self.id, group);
            let taken = self.ports.iter_mut().any(|port| port.arrive(cx, now, group));
            assert!(
                taken,
                "node {} arrives at barriers of groups that it is a member of, not of {group}",
                self.id
            );
        }
    }
}
