//! The NIC port: the same link layer as a switch port, with source queues in front and a node behind that takes every
//! flit at once (`mechanisms.md` 4.1: nodes sink).

use super::Shared;
use super::credit::{Receiver, Sender};
use super::link::{Link, Receivers, first_after};
use super::token::{Arriving, Limit, Mail, Token};
use crate::observer::Observer;
use crate::pool::List;
use crate::simulation::{Conservation, Context, PortModel, Rest, Wire};
use crate::{Delivery, NodeId, Packet, RailId};
use flitway_engine::Cycle;

/// The NIC port of a node in one rail.
#[derive(Debug)]
pub struct Port {
    rail: RailId,
    link: Link,
    /// By VC.
    receivers: Box<[Receiver]>,
    senders: Box<[Sender]>,
    queues: Box<[List]>,
    /// Packets on their way in whose first flit has not been taken out of the buffer yet.
    arriving: List,
    /// Packets on their way in that do not count as delivered yet.
    undelivered: List,
    /// When the first of `arriving` begins to leave the buffer, the first of `undelivered` is delivered, and the link
    /// decides.
    drain_at: Cycle,
    deliver_at: Cycle,
    decide_at: Cycle,
}

/// The receiver halves of a NIC port.
struct Buffers<'a>(&'a mut [Receiver]);

impl Receivers for Buffers<'_> {
    #[inline]
    fn get(&mut self, vc: usize) -> &mut Receiver {
        &mut self.0[vc]
    }
}

impl Port {
    pub(super) fn new(shared: &Shared, number: u32, rail: RailId, wire: Wire) -> Self {
        let (timing, vcs) = (&shared.timing, shared.timing.vcs);
        Port {
            rail,
            link: Link::new(timing, number, rail.0, Some(wire)),
            receivers: vec![Receiver::new(timing); vcs].into(),
            senders: vec![Sender::new(timing); vcs].into(),
            queues: vec![List::default(); vcs].into(),
            arriving: List::default(),
            undelivered: List::default(),
            drain_at: Cycle::NEVER,
            deliver_at: Cycle::NEVER,
            decide_at: Cycle::NEVER,
        }
    }

    /// Sends the adverts that were due in the cycles up to `now`.
    #[inline]
    fn catch_up<O: Observer>(&mut self, now: Cycle, cx: &mut Context<'_, Shared, Mail, O>) {
        if self.link.is_due(now) {
            let buffers = &mut Buffers(&mut self.receivers);
            self.link.send_adverts(buffers, &cx.shared.timing, now, &mut cx.effects);
        }
    }

    /// The first flit of a packet leaves the buffer in cycle `now`, the others follow.
    fn drain<O: Observer>(&mut self, now: Cycle, cx: &mut Context<'_, Shared, Mail, O>) {
        let Some(token) = cx.shared.tokens.pop(&mut self.arriving) else { return };
        self.catch_up(now, cx);
        let flits = u32::from(token.flits);
        let receiver = &mut self.receivers[usize::from(token.vc)];
        receiver.arrive(token.units);
        receiver.begin(&cx.shared.timing, now, flits, flits, token.units);
        self.link.expect_news(receiver.news);
        let next = cx.shared.tokens.first(&self.arriving);
        self.drain_at = next.map_or(Cycle::NEVER, |next| next.at + cx.shared.timing.receive);
    }

    fn decide<O: Observer>(&mut self, now: Cycle, cx: &mut Context<'_, Shared, Mail, O>) {
        self.catch_up(now, cx);
        if self.link.free_at <= now
            && let Some(vc) = self.choose(cx.shared, now)
        {
            self.send(vc, now, cx);
        }
        self.arm(cx.shared, now);
    }

    /// Round robin over the VCs whose first packet has credits.
    fn choose(&mut self, shared: &mut Shared, now: Cycle) -> Option<usize> {
        first_after(self.link.data_turn, self.queues.len(), |vc| {
            let units = shared.tokens.first(&self.queues[vc]).map(|token| u32::from(token.units));
            units.is_some_and(|units| self.senders[vc].has(&mut shared.adverts, now, units))
        })
    }

    fn send<O: Observer>(&mut self, vc: usize, now: Cycle, cx: &mut Context<'_, Shared, Mail, O>) {
        let Some(mut token) = cx.shared.tokens.pop(&mut self.queues[vc]) else { return };
        self.senders[vc].take(u32::from(token.units));
        self.link.data_turn = vc as u8;
        token.at = self.link.send(&cx.shared.timing, now, u64::from(token.flits));
        token.injected = token.at - u64::from(self.link.wire.latency);
        let arriving = Arriving { port: self.link.wire.port, token };
        let by = token.felt_at(&cx.shared.timing);
        cx.effects.post.send(self.link.wire.peer, by, Mail::Packet(arriving));
    }

    /// Sees to it that the link decides when it next can.
    fn arm(&mut self, shared: &mut Shared, now: Cycle) {
        self.decide_at = Cycle::NEVER;
        for vc in 0..self.queues.len() {
            let Some(units) = shared.tokens.first(&self.queues[vc]).map(|token| u32::from(token.units))
            else {
                continue;
            };
            let sender = &mut self.senders[vc];
            let credits = if sender.has(&mut shared.adverts, now, units) {
                Some(now)
            } else {
                sender.next_advert(&shared.adverts)
            };
            if let Some(at) = credits {
                self.decide_at = self.decide_at.min(at.max(self.link.free_at));
            }
        }
    }
}

/// Bytes of a NIC port.
pub(super) fn bytes_per_port(vcs: usize) -> usize {
    size_of::<Port>() + vcs * (size_of::<Receiver>() + size_of::<Sender>() + size_of::<List>())
}

impl PortModel for Port {
    type Shared = Shared;
    type Mail = Mail;

    fn receive(&mut self, shared: &mut Shared, mail: Mail) {
        match mail {
            Mail::Packet(Arriving { token, .. }) => {
                self.drain_at = self.drain_at.min(token.at + shared.timing.receive);
                self.deliver_at = self.deliver_at.min(token.at + u64::from(token.flits));
                shared.tokens.push(&mut self.arriving, token);
                shared.tokens.push(&mut self.undelivered, token);
            }
            Mail::Advert(Limit { vc, from, position, .. }) => {
                let sender = &mut self.senders[usize::from(vc)];
                sender.advertise(&mut shared.adverts, from, position);
                if std::mem::take(&mut sender.starved) {
                    self.decide_at = self.decide_at.min(from.max(self.link.free_at));
                }
            }
        }
    }

    fn submit(&mut self, shared: &mut Shared, now: Cycle, source: NodeId, packet: &Packet) {
        let timing = &shared.timing;
        let payload = u32::from(packet.payload);
        let vc = packet.lane as usize % timing.lanes;
        let (switch, arrival) = shared.routing.start(source);
        let token = Token {
            route: shared.routing.route(switch, arrival, packet.destination),
            at: now,
            created: packet.created,
            injected: Cycle::NEVER,
            source,
            destination: packet.destination,
            tag: packet.tag,
            flits: shared.format.packet_flits(payload) as u16,
            units: timing.units(shared.format.payload_flits(payload)) as u16,
            payload: packet.payload,
            hops: 0,
            vc: vc as u8,
        };
        if self.queues[vc].is_empty() {
            self.decide_at = self.decide_at.min(now.max(self.link.free_at));
        }
        shared.tokens.push(&mut self.queues[vc], token);
    }

    fn delivery(&mut self, shared: &mut Shared, now: Cycle) -> Option<Delivery> {
        if self.deliver_at > now {
            return None;
        }
        let token = shared.tokens.pop(&mut self.undelivered)?;
        let next = shared.tokens.first(&self.undelivered);
        self.deliver_at = next.map_or(Cycle::NEVER, |next| next.at + u64::from(next.flits));
        Some(Delivery {
            source: token.source,
            destination: token.destination,
            rail: self.rail,
            payload: token.payload,
            flits: token.flits,
            hops: token.hops,
            created: token.created,
            injected: token.injected,
            delivered: now,
            tag: token.tag,
        })
    }

    fn advance<O: Observer>(&mut self, cx: &mut Context<'_, Shared, Mail, O>, now: Cycle) {
        while self.drain_at <= now {
            self.drain(now, cx);
        }
        while self.decide_at <= now {
            self.decide(now, cx);
        }
    }

    fn next(&self) -> Cycle {
        self.drain_at.min(self.deliver_at).min(self.decide_at)
    }

    fn finish<O: Observer>(&mut self, cx: &mut Context<'_, Shared, Mail, O>, until: Cycle) -> Rest {
        let buffers = &mut Buffers(&mut self.receivers);
        let next = self.link.finish(buffers, &cx.shared.timing, until, &mut cx.effects);
        Rest { next, waits: self.senders.iter().any(|sender| sender.starved) }
    }

    fn settle<O: Observer>(&mut self, cx: &mut Context<'_, Shared, Mail, O>, now: Cycle) {
        if now > Cycle::ZERO {
            self.catch_up(now - 1, cx);
        }
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        for receiver in &self.receivers {
            receiver.audit(&shared.timing, now, books);
        }
        books.units_sent += self.senders.iter().map(|sender| u64::from(sender.sent())).sum::<u64>();
        let queued = self.queues.iter().chain([&self.undelivered]);
        books.in_network += queued.map(|list| shared.tokens.iter(list).count() as u64).sum::<u64>();
        books.units_held +=
            shared.tokens.iter(&self.arriving).map(|token| u64::from(token.units)).sum::<u64>();
    }
}
