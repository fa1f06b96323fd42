//! A node: its NIC ports, one per rail, and the endpoint on top.

use super::{Components, Context, PortEvent, PortModel, Rest, Stage};
use crate::bits::bits;
use crate::observer::Observer;
use crate::{Endpoint, Outgoing, Ticket, Up};
use flitway_engine::{Cycle, prefetch};
use flitway_wiring::{NodeId, RailId};

#[derive(Debug)]
pub(super) struct Node<P, E> {
    pub(super) id: NodeId,
    pub(super) ports: Box<[P]>,
    /// What is known of each port, so that one that has nothing to do is not asked.
    watches: Box<[Watch]>,
    pub(super) endpoint: E,
    /// When the endpoint wants to be woken.
    wake: Cycle,
}

/// What a node knows of one of its ports.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// When something is due.
    next: Cycle,
    /// How it went to rest.
    rest: Rest,
    /// Something has come or happened since then.
    is_awake: bool,
}

impl<P, E: Endpoint> Node<P, E> {
    pub(super) fn new<A: Components<Port = P>>(id: NodeId, ports: Box<[P]>, endpoint: E) -> Self
    where
        P: PortModel<A>,
    {
        let rest = Rest { next: Cycle::NEVER, waits: false };
        let watch = |port: &P| Watch { next: port.first(), rest, is_awake: false };
        Node { id, watches: ports.iter().map(watch).collect(), ports, endpoint, wake: Cycle::ZERO }
    }

    /// Asks the memory for what a run until `until` will need: see [`SwitchModel::prefetch`](super::SwitchModel::prefetch).
    #[inline]
    pub(super) fn prefetch<A: Components<Port = P>>(
        &self,
        shared: &A::Shared,
        inbox: &A::Inbox,
        until: Cycle,
        stage: Stage,
    ) where
        P: PortModel<A>,
    {
        let watches = &self.watches;
        match stage {
            Stage::Itself => prefetch::item(self),
            Stage::Mail => {
                prefetch::slice(watches);
                P::prefetch(&self.ports, 0, shared, inbox, stage);
            }
            _ => {
                let is_due = |watch: &Watch| u64::from((watch.next < until) | (watch.rest.next < until));
                let due = (0..).zip(watches).fold(0, |due, (port, watch)| due | is_due(watch) << port);
                P::prefetch(&self.ports, due, shared, inbox, stage);
            }
        }
    }

    fn next(&self) -> Cycle {
        self.watches.iter().map(|watch| watch.next).fold(self.wake, Cycle::min)
    }

    /// Takes in what has come.
    #[inline]
    pub(super) fn receive<A: Components<Port = P>, O: Observer>(
        &mut self,
        cx: &mut Context<'_, A, O>,
        inbox: &mut A::Inbox,
    ) where
        P: PortModel<A>,
    {
        let mail = if E::REACTS {
            P::receive::<true, O>(&mut self.ports, cx, inbox, self.id)
        } else {
            P::receive::<false, O>(&mut self.ports, cx, inbox, self.id)
        };
        for port in bits(mail) {
            self.watches[port].is_awake = true;
            self.watches[port].next = self.ports[port].next();
        }
    }

    /// Does everything due before `until`, cycle by cycle: deliveries, the endpoint's own doings, then the ports.
    pub(super) fn run<A: Components<Port = P>, O: Observer>(
        &mut self,
        cx: &mut Context<'_, A, O>,
        until: Cycle,
        out: &mut Outgoing,
    ) -> Rest
    where
        P: PortModel<A>,
    {
        let mut now = self.next();
        while now < until {
            cx.counters.wakes += 1;
            let woken = self.wake == now;
            let due = self.ports.iter_mut().zip(&self.watches).enumerate();
            for (rail, (port, _)) in due.filter(|(_, (_, watch))| watch.next <= now) {
                while let Some(delivery) = port.delivery(cx.shared, now, self.id) {
                    cx.counters.record(&delivery, cx.observer);
                    if E::REACTS {
                        self.wake =
                            self.endpoint.hear(now, Up::Delivery(&delivery), out).unwrap_or(Cycle::NEVER);
                    }
                }
                while let Some(event) = port.event(cx, now) {
                    let up = observed(event, now, self.id, RailId(rail as u32), cx.observer);
                    self.wake = self.endpoint.hear(now, up, out).unwrap_or(Cycle::NEVER);
                }
            }
            if woken {
                self.wake = self.endpoint.wake(now, out).unwrap_or(Cycle::NEVER);
            }
            assert!(self.wake > now, "an endpoint is woken in a later cycle than the one it is in");
            for packet in out.packets.drain(..) {
                cx.counters.events += 1;
                cx.counters.packets_created += 1;
                let rail = packet.rail.index();
                let flits = self.ports[rail].submit(cx.shared, now, self.id, &packet, &out.sets);
                cx.observer.created(now, self.id, &packet, flits);
                self.watches[rail].next = now;
            }
            out.sets.clear();
            let has_tickets = !(out.drained.is_empty() & out.denied.is_empty());
            if has_tickets | !(out.arrivals.is_empty() & out.events.is_empty()) {
                out.events.drain(..).for_each(|event| cx.observer.reported(self.id, &event));
                self.arrive(cx, now, out);
                self.deal_with_tickets(cx, now, out);
            }
            let mut next = self.wake;
            for (port, watch) in self.ports.iter_mut().zip(&mut self.watches) {
                if watch.next <= now {
                    port.advance(cx, now);
                    (watch.next, watch.is_awake) = (port.next(), true);
                }
                next = next.min(watch.next);
            }
            now = next;
        }
        let mut rest = Rest { next: now, waits: false };
        for (port, watch) in self.ports.iter_mut().zip(&mut self.watches) {
            if watch.is_awake | (watch.rest.next < until) {
                (watch.rest, watch.is_awake) = (port.finish(cx, until), false);
            }
            rest.next = rest.next.min(watch.rest.next);
            rest.waits |= watch.rest.waits;
        }
        rest
    }

    /// Drains packets out of the NIC ports, and denies those that they have delivered.
    #[cold]
    fn deal_with_tickets<A: Components<Port = P>, O: Observer>(
        &mut self,
        cx: &mut Context<'_, A, O>,
        now: Cycle,
        out: &mut Outgoing,
    ) where
        P: PortModel<A>,
    {
        for Ticket { rail, vc } in out.drained.drain(..) {
            assert!(E::BOUNDED, "ideal NIC ports drain by themselves");
            cx.counters.events += 1;
            self.ports[rail.index()].drain(cx, now, vc);
            self.watches[rail.index()].next = now;
        }
        for Ticket { rail, vc } in out.denied.drain(..) {
            cx.counters.events += 1;
            self.ports[rail.index()].deny(cx, now, vc);
        }
    }

    /// Hands the arrivals at barriers to the NIC ports.
    #[cold]
    fn arrive<A: Components<Port = P>, O: Observer>(
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
            let mut ports = self.ports.iter_mut().zip(&mut self.watches);
            let taken = ports.any(|(port, watch)| {
                let taken = port.arrive(cx, now, group);
                watch.next = if taken { now } else { watch.next };
                taken
            });
            assert!(
                taken,
                "node {} arrives at barriers of groups that it is a member of, not of {group}",
                self.id
            );
        }
    }
}

/// What the endpoint of `node` hears of `event`, which `observer` is told of.
fn observed(
    event: PortEvent,
    now: Cycle,
    node: NodeId,
    rail: RailId,
    observer: &mut impl Observer,
) -> Up<'static> {
    match event {
        PortEvent::Released(group) => {
            observer.released(now, node, group);
            Up::Released(group)
        }
        PortEvent::Sent(flow) => {
            observer.sent(now, node, rail, flow);
            Up::Sent(rail, flow)
        }
        PortEvent::Answered(flow, is_true) => {
            observer.answered(now, node, rail, (flow, is_true));
            Up::Answered(rail, flow, is_true)
        }
    }
}
