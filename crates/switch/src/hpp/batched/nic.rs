//! The NIC port: the same link layer as a switch port, with source queues in front and a node behind that takes every
//! flit at once (`mechanisms.md` 4.1: nodes sink).

use super::Network;
use super::context::BatchedCx;
use super::port::{Coming, Port};
use super::receiver::{Leaving, Receiver};
use super::sender::Sender;
use crate::hpp::credit::AdvertTimer;
use crate::hpp::link_sender::{LinkSender, Owner, Receives, first_after};
use crate::hpp::packet_state::{CreditUpdate, Kind, Mark, PacketState};
use crate::hpp::timing::Timing;
use flitway_engine::Cycle;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::Packet;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Departure, Observer};
use flitway_fabric::pool::{List, Pool, Slot};
use flitway_fabric::simulation::{Conservation, Wire};
use flitway_wiring::{Destination, NodeId, PortId, RailId};

#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Nic<const V: usize> {
    pub(super) link: LinkSender<Time32>,
    advert_timers: [AdvertTimer<Time32>; V],
    pub(super) lanes: [Lane; V],
    /// VCs that wait for credits, of which no advert that has come can help.
    starved: u8,
    /// Packets of which the node is to be told, by time, and when the first of them is delivered.
    pub(super) undelivered: List,
    pub(super) deliver_at: Cycle,
    /// When the link decides.
    pub(super) decide_at: Time32,
    pub(super) rail: RailId,
    /// The node, in its shard and in the fabric, and its component number.
    pub(super) node: u32,
    pub(super) node_id: u32,
    component: u32,
}

const _: () = assert!(size_of::<Nic<3>>() == 4 * 64, "cache lines of a NIC port");

/// One virtual channel of a NIC port.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) receiver: Receiver,
    pub(super) sender: Sender,
    queue: List,
}

impl<O: Observer> Receives<Time32, BatchedCx<O>> for Lane {
    type Half = Receiver;

    #[inline(always)]
    fn receiver(&mut self) -> &mut Receiver {
        &mut self.receiver
    }
}

/// Whose a NIC port is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) rail: RailId,
    pub(super) node: u32,
    pub(super) node_id: NodeId,
    pub(super) component: u32,
}

impl<const V: usize> Nic<V> {
    pub(super) fn new(timing: &Timing, wire: Wire, home: Home) -> Self {
        Nic {
            link: LinkSender::new(timing, Some(wire)),
            advert_timers: std::array::from_fn(|_| AdvertTimer::new(timing)),
            lanes: std::array::from_fn(|_| Lane {
                receiver: Receiver::new(timing),
                sender: Sender::new(timing),
                queue: List::default(),
            }),
            starved: 0,
            undelivered: List::default(),
            deliver_at: Cycle::NEVER,
            decide_at: Time32::NEVER,
            rail: home.rail,
            node: home.node,
            node_id: home.node_id.0,
            component: home.component,
        }
    }

    fn owner(&self) -> Owner {
        Owner { component: self.component, port: self.rail.0 as u8, is_nic: true }
    }

    /// A packet comes, and leaves the buffer of `vc`. Says whether the sender may come to need what it has not been told.
    #[inline(always)]
    pub(super) fn begin<O: Observer>(&mut self, vc: usize, leaving: Leaving, cx: &mut BatchedCx<O>) -> bool {
        let news = self.lanes[vc].receiver.begin(&cx.timing, &mut cx.behind, leaving);
        self.advert_timers[vc].expect(news);
        self.link.expect_news(news);
        self.link.is_credit_critical()
    }

    /// Takes in an advert for `vc`. Nobody acts on credits in a cycle before `passed` any more. Says whether somebody waits for
    /// it.
    pub(super) fn receive_credit(
        &mut self,
        vc: usize,
        limits: &mut Pool<CreditUpdate>,
        advert: &CreditUpdate,
        passed: Cycle,
    ) -> bool {
        self.lanes[vc].sender.advertise(limits, advert, passed);
        let is_starved = self.starved >> vc & 1 == 1;
        self.starved &= !(1 << vc);
        is_starved
    }

    /// Sends the adverts that were due in the cycles up to `now`.
    pub(super) fn catch_up<O: Observer>(&mut self, now: Time32, cx: &mut BatchedCx<O>) {
        let owner = self.owner();
        if self.link.could_advertise(now) {
            self.link.send_adverts::<V, _>(&mut self.advert_timers, &mut self.lanes, now, owner, cx);
        }
    }

    /// Ends a window before `until`: see [`LinkSender::finish`].
    pub(super) fn finish<O: Observer>(&mut self, until: Time32, cx: &mut BatchedCx<O>) -> Cycle {
        let owner = self.owner();
        self.link.finish(&mut self.advert_timers, &mut self.lanes, until, owner, cx)
    }

    /// Time is counted from a cycle on that is `span` later than the one so far. All adverts due before have been sent.
    pub(super) fn count_from(&mut self, span: u32, behind: &mut Pool<Leaving>) {
        self.link.count_from(&mut self.advert_timers, span);
        self.lanes.iter_mut().for_each(|lane| lane.receiver.count_from(span, behind));
        self.decide_at = self.decide_at.moved(span);
    }

    /// Enters what it holds into the books at the start of cycle `now`.
    pub(super) fn audit<O: Observer>(&self, cx: &BatchedCx<O>, now: Cycle, books: &mut Conservation) {
        for lane in &self.lanes {
            lane.receiver.audit(&cx.timing, &cx.behind, now, books);
            books.units_sent += u64::from(lane.sender.sent());
            // Credits are taken when they are sent.
            books.in_network += cx.states.iter(&lane.queue).count() as u64;
        }
        books.in_network += cx.states.iter(&self.undelivered).count() as u64;
    }

    /// The first packet queued for `vc`: from when on it can be sent, and its credit units.
    #[inline]
    fn queued<O: Observer>(&self, vc: usize, cx: &BatchedCx<O>) -> (Time32, u32) {
        let state = cx.states.first(&self.lanes[vc].queue).expect("a VC that waits has a packet queued");
        (Time32::of(state.at, cx.timing.epoch), state.units.into())
    }

    /// The VCs whose first packet can be sent in cycle `now`, and when the link can decide next, if nothing is sent.
    #[inline]
    fn look<O: Observer>(&mut self, now: Time32, cx: &mut BatchedCx<O>) -> (u16, Time32) {
        let (mut ready, mut next) = (0, Time32::NEVER);
        let cycle = now.cycle(cx.timing.epoch);
        for vc in bits(self.link.waiting.into()) {
            let (from, units) = self.queued(vc, cx);
            let sender = &mut self.lanes[vc].sender;
            if from > now {
                next = next.min(from);
            } else if sender.has(&mut cx.limits, cycle, units) {
                ready |= 1 << vc;
            } else {
                match sender.next_advert(&cx.limits) {
                    Some(advert) => next = next.min(Time32::of(advert, cx.timing.epoch)),
                    None => self.starved |= 1 << vc,
                }
            }
        }
        (ready, next)
    }
}

impl<const V: usize, O: Observer> Network<V, O> {
    /// Takes a packet of `source` into a source queue, in cycle `now`.
    #[inline(always)]
    pub(super) fn submit(&mut self, index: usize, now: Cycle, source: NodeId, packet: &Packet) {
        let BatchedCx { timing, lengths, payloads, routing, states, counters, observer, .. } = &mut self.cx;
        assert!(payloads.contains(&packet.payload.into()), "packets are as long as was promised");
        let Destination::Node(node) = packet.destination else {
            unreachable!("where switches work in batches all packets are for one node")
        };
        let (flits, units) = lengths[usize::from(packet.payload)];
        let route = routing.way_drawn(source, node, timing.lane_choice.draw(packet.lane));
        let vc = timing.lane_choice.lane(timing.reply_lanes, source, node, packet, V);
        let state = || PacketState {
            route,
            at: now,
            created: packet.created,
            injected: Cycle::NEVER,
            source,
            to: node.0,
            tag: packet.flow.tag,
            flits,
            units,
            payload: packet.payload,
            hops: 0,
            port: 0,
            vc: vc as u8,
            mark: Mark::new(Kind::Single, packet.flow),
            next: Slot::NONE,
        };
        let nic = &mut self.nics[index];
        let queue = &mut nic.lanes[vc].queue;
        if queue.is_empty() {
            let at = Time32::of(now, timing.epoch).max(nic.link.free_at);
            nic.decide_at = nic.decide_at.min(at);
            nic.link.waiting |= 1 << vc;
        }
        let slot = states.put_with(state);
        states.append(queue, slot);
        counters.events += 1;
        counters.packets_created += 1;
        observer.created(now, source, packet, flits.into());
    }

    /// The link of a NIC port decides in the cycles before `end`. Returns when it does next.
    #[inline(always)]
    pub(super) fn advance(&mut self, ports: &mut [Port<V>], index: usize, end: Time32) -> Time32 {
        loop {
            let nic = &mut self.nics[index];
            let (first, owner) = (nic.decide_at, nic.owner());
            if first >= end {
                return first;
            }
            let Nic { link, advert_timers, lanes, .. } = nic;
            let now = link.send_adverts_before(advert_timers, lanes, [first, end], owner, &mut self.cx);
            if now >= end {
                nic.decide_at = now;
                return now;
            }
            let (ready, next) = nic.look(now, &mut self.cx);
            match first_after(nic.link.data_turn, ready) {
                Some(vc) => self.inject(ports, index, vc, now),
                None => nic.decide_at = next,
            }
        }
    }

    /// The link of a NIC port has chosen, in cycle `now`, the first packet queued for `vc`.
    #[inline(always)]
    fn inject(&mut self, ports: &mut [Port<V>], index: usize, vc: usize, now: Time32) {
        let nic = &mut self.nics[index];
        let BatchedCx { timing, states, counters, observer, .. } = &mut self.cx;
        let Lane { queue, sender, .. } = &mut nic.lanes[vc];
        let slot = states.unlink(queue);
        states[slot].next = Slot::NONE;
        if queue.is_empty() {
            nic.link.waiting &= !(1 << vc);
        }
        let state = &mut states[slot];
        sender.take(state.units.into());
        nic.link.data_turn = vc as u8;
        let free = nic.link.free_at;
        let arrives = nic.link.send_packet(timing, now, state.flits.into());
        state.at = arrives.cycle(timing.epoch);
        state.injected = state.at - u64::from(nic.link.wire.latency);
        nic.decide_at = if nic.link.waiting == 0 { Time32::NEVER } else { nic.link.free_at };
        counters.events += 1;
        if observer.follows_departures() {
            observer.departed(&Departure {
                packet: state.name(),
                component: nic.component,
                port: PortId(nic.rail.0),
                vc: vc as u8,
                flits: state.flits,
                ready: state.created,
                free: free.cycle(timing.epoch),
                chosen: now.cycle(timing.epoch),
                arrives: state.at,
            });
        }
        let PacketState { flits, units, route, .. } = *state;
        let Wire { peer, port: to_port, .. } = nic.link.wire;
        self.pass_on(ports, peer, to_port, Coming { slot, at: arrives, flits, units, vc: vc as u8 }, route);
    }
}
