//! The NIC port: the same link layer as a switch port, with source queues in front and a node behind that takes every
//! flit at once (`mechanisms.md` 4.1: nodes sink).

mod bounded;
mod leaf;

use super::barrier_link_sender::{BarrierLinkSender, settle_told};
use super::credit::{AdvertTimer, Receiver, Sender};
use super::link_sender::{Receives, ShardCx, first_after};
use super::packet_state::{Arrival, CreditUpdate, Inbox, Kind, Mark, PacketState, Run};
use super::{Cx, Hpp, Shared, credit_schedule};
use bounded::Bounded;
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::bits::bits;
use flitway_fabric::component::{PortEvent, PortModel, Rest, Stage};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::{Departure, Observer};
use flitway_fabric::pool::{List, Pool, Slot};
use flitway_fabric::simulation::{Conservation, Wire};
use flitway_fabric::{BarrierId, Delivery, Packet};
use flitway_wiring::{Destination, NodeId, NodeSet, PortId, RailId};
use leaf::Leaf;
use std::collections::VecDeque;
use std::sync::Arc;

/// The NIC port of a node in one rail.
#[derive(Debug)]
pub struct Port {
    rail: RailId,
    link: BarrierLinkSender,
    lanes: Box<[Lane]>,
    advert_timers: Box<[AdvertTimer]>,
    /// Packets on their way in, by time. Of those at its head, some have been delivered and some have been seen to leave
    /// the buffer; which have been both is gone.
    arriving: List,
    /// The first that has not been delivered, and the first that has not been seen to leave the buffer.
    undelivered: Slot,
    undrained: Slot,
    /// When the first of `undelivered` is delivered, and when the link decides.
    deliver_at: Cycle,
    decide_at: Cycle,
    /// Of the packets in `arriving` those that come with gaps.
    gapped: VecDeque<Gapped>,
    /// Adverts may be urgent.
    is_newsy: bool,
    /// Senders that wait for adverts.
    waits_for_credit: u16,
    /// Where there are barriers.
    leaf: Option<Box<Leaf>>,
    /// Where NIC ports are bounded. Then `arriving` is empty, and `deliver_at` is when any of that is due.
    bounded: Option<Box<Bounded>>,
    /// Where adverts are posted: the schedule of the first sender.
    first_board: usize,
}

/// A packet that comes with gaps, as far as it is known.
#[derive(Debug)]
struct Gapped {
    slot: Slot,
    flits: u16,
    /// Flits that have been let out of the buffer.
    drained: u16,
    runs: Vec<(u16, Cycle)>,
}

impl Gapped {
    /// When its last flit will be on the wire, once that is known.
    fn end(&self) -> Option<Cycle> {
        self.runs.last().filter(|run| run.0 == self.flits).map(|run| run.1 + u64::from(self.flits) - 1)
    }

    /// The next flits to let out, and when the first of them comes, if that is known.
    fn next_run(&self) -> Option<(u16, Cycle)> {
        let &(upto, base) = self.runs.iter().find(|run| run.0 > self.drained)?;
        Some((upto, base + u64::from(self.drained)))
    }
}

/// One virtual channel of a NIC port.
#[derive(Clone, Debug)]
struct Lane {
    receiver: Receiver,
    sender: Sender,
    /// It waits for credits, and no advert that has come can help.
    is_starved: bool,
    queue: List,
}

impl<C: ShardCx> Receives<Cycle, C> for Lane {
    type Half = Receiver;

    #[inline]
    fn receiver(&mut self) -> &mut Receiver {
        &mut self.receiver
    }
}

impl Port {
    pub(super) fn new(shared: &mut Shared, number: u32, rail: RailId, wire: Wire) -> Self {
        let timing = &shared.timing;
        if rail == RailId(0) {
            shared.pools.schedules.add_place();
        }
        let first_board = shared.pools.schedules.add_ports(timing, 1);
        let lane = Lane {
            receiver: Receiver::new(timing),
            sender: Sender::new(timing),
            is_starved: false,
            queue: List::default(),
        };
        Port {
            rail,
            link: BarrierLinkSender::new(timing, number, rail.0, Some(wire), true),
            lanes: vec![lane; timing.vcs].into(),
            advert_timers: vec![AdvertTimer::new(timing); timing.vcs].into(),
            arriving: List::default(),
            undelivered: Slot::NONE,
            undrained: Slot::NONE,
            deliver_at: Cycle::NEVER,
            decide_at: Cycle::NEVER,
            gapped: VecDeque::new(),
            is_newsy: false,
            waits_for_credit: 0,
            leaf: Leaf::new(shared, number, rail),
            bounded: Bounded::new(shared),
            first_board,
        }
    }

    /// Lets packets leave the buffer and sends the adverts that were due in the cycles up to `now`.
    #[inline]
    fn catch_up<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        while self.undrained != Slot::NONE {
            let state = &cx.shared.pools.states[self.undrained];
            if state.mark.is_gapped() {
                if self.drain_gapped(now, cx) {
                    continue;
                }
                break;
            }
            let start = state.at + cx.shared.timing.receive;
            if start > now {
                break;
            }
            let (vc, flits, units) = (usize::from(state.vc), state.flits, state.units);
            self.undrained = state.next;
            self.send_adverts_with(vc, start, cx);
            self.lanes[vc].receiver.begin(&cx.shared.timing, start, flits, flits, units);
            self.hear_of_unit(vc, cx);
            self.free(cx.shared);
        }
        if self.link.is_due(now) {
            self.link.catch_up(&mut self.advert_timers, &mut self.lanes, now, cx);
        }
    }

    /// The same before the link decides in cycle `now`, of adverts that may be in its way: posted ones never are.
    #[inline(always)]
    fn catch_up_to_decide<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        if !cx.shared.timing.posts {
            self.catch_up(now, cx);
        }
    }

    /// Lets flits of the packet at `undrained`, which comes with gaps, out of the buffer up to cycle `now`. Says whether all of
    /// them are out.
    #[cold]
    #[inline(never)]
    fn drain_gapped<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) -> bool {
        let state = cx.shared.pools.states[self.undrained];
        let vc = usize::from(state.vc);
        let place = self.gapped.iter().position(|it| it.slot == self.undrained);
        let place = place.expect("what comes with gaps is known as such");
        while let Some((upto, first)) = self.gapped[place].next_run() {
            let at = first + cx.shared.timing.receive;
            if at > now {
                return false;
            }
            self.send_adverts_with(vc, at, cx);
            let drained = std::mem::replace(&mut self.gapped[place].drained, upto);
            let (receiver, timing) = (&mut self.lanes[vc].receiver, &cx.shared.timing);
            if drained == 0 {
                receiver.begin(timing, at, upto, state.flits, state.units);
            } else {
                if receiver.stalls_before(at) {
                    receiver.resume(timing, at);
                }
                receiver.extend(upto - drained);
            }
            self.hear_of_unit(vc, cx);
        }
        if self.gapped[place].drained < state.flits {
            return false;
        }
        self.undrained = state.next;
        self.free(cx.shared);
        true
    }

    /// Sends the adverts that were due in the cycles up to `now`, of what is known to have left the buffer, before the receiver
    /// of `vc` changes in a way that would blur its past.
    #[inline(always)]
    fn send_adverts_with<O: Observer>(&mut self, vc: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let timing = &cx.shared.timing;
        if timing.sideband & !timing.posts {
            self.link.count_sideband(&mut self.lanes[vc].receiver, vc as u8, now, cx);
        } else if self.link.is_due(now) {
            self.link.catch_up(&mut self.advert_timers, &mut self.lanes, now, cx);
        }
    }

    /// It is known when more of the packet will have left that leaves the buffer of `vc`.
    #[inline]
    fn hear_of_unit<O: Observer>(&mut self, vc: usize, cx: &mut Cx<'_, O>) {
        let receiver = &mut self.lanes[vc].receiver;
        if cx.shared.timing.posts {
            return self.link.post_adverts(receiver, vc as u8, cx);
        }
        if cx.shared.timing.sideband {
            return self.link.tell_sideband(receiver, vc as u8, cx);
        }
        let news = receiver.next_unit();
        self.advert_timers[vc].expect(news);
        self.link.expect_news(news);
    }

    /// Frees what has been delivered and has left the buffer.
    #[inline]
    fn free(&mut self, shared: &mut Shared) {
        let states = &mut shared.pools.states;
        while ![self.undelivered, self.undrained, Slot::NONE].contains(&self.arriving.head()) {
            let slot = states.unlink(&mut self.arriving);
            if states.take(slot).mark.is_gapped() {
                self.gapped.pop_front();
            }
        }
    }

    fn decide<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        if self.leaf.is_some() {
            return self.decide_as_leaf(now, cx);
        }
        self.catch_up_to_decide(now, cx);
        if self.link.free_at <= now
            && let Some(vc) = self.choose(cx.shared, now)
        {
            self.send(vc, now, cx);
        }
        self.arm(cx.shared, now);
    }

    /// The credit units of the first packet queued for `vc`.
    #[inline]
    fn queued_units(&self, shared: &Shared, vc: usize) -> u32 {
        shared.pools.states.first(&self.lanes[vc].queue).map_or(0, |state| u32::from(state.units))
    }

    /// Round robin over the VCs whose first packet has credits.
    #[inline]
    fn choose(&mut self, shared: &mut Shared, now: Cycle) -> Option<usize> {
        let mut ready = 0;
        for vc in bits(self.link.waiting.into()) {
            let units = self.queued_units(shared, vc);
            let has = self.has_credits(shared, vc, now, units);
            ready |= u16::from(has) << vc;
        }
        first_after(self.link.data_turn, ready)
    }

    /// Whether there are credits for `units` in cycle `now`.
    #[inline]
    fn has_credits(&mut self, shared: &mut Shared, vc: usize, now: Cycle, units: u32) -> bool {
        self.lanes[vc].sender.has_credits(shared, self.first_board + vc, now, units)
    }

    /// When the next advert for `vc` counts. If none is known the next to come will be noticed.
    #[inline]
    fn next_advert(&mut self, shared: &mut Shared, vc: usize, now: Cycle) -> Option<Cycle> {
        let Lane { sender, is_starved, .. } = &mut self.lanes[vc];
        let next = sender.next_credits(shared, self.first_board + vc, now);
        if next.is_none() && !std::mem::replace(is_starved, true) {
            self.waits_for_credit += 1;
        }
        next
    }

    fn send<O: Observer>(&mut self, vc: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let lane = &mut self.lanes[vc];
        let slot = pools.states.unlink(&mut lane.queue);
        if lane.queue.is_empty() {
            self.link.waiting &= !(1 << vc);
        }
        let state = &mut pools.states[slot];
        lane.sender.take(u32::from(state.units));
        self.link.data_turn = vc as u8;
        let free = self.link.free_at;
        let at = self.link.send_packet(timing, now, u64::from(state.flits));
        state.injected = at - u64::from(self.link.wire.latency);
        if cx.observer.follows_departures() {
            cx.observer.departed(&Departure {
                packet: state.name(),
                component: self.link.component(),
                port: PortId(self.rail.0),
                vc: vc as u8,
                flits: state.flits,
                ready: state.created,
                free,
                chosen: now,
                arrives: at,
            });
        }
        let (left_at, flow) = (now + u64::from(state.flits), state.flow());
        let by = state.go::<true>(timing, &self.link.wire, at);
        pools.send(cx.post, &self.link.wire, slot, by);
        cx.counters.events += 1;
        if self.bounded.is_some() {
            self.note_leaving(left_at, flow);
        }
    }

    /// Sees to it that the link decides when it next can.
    #[inline]
    fn arm(&mut self, shared: &mut Shared, now: Cycle) {
        self.decide_at = Cycle::NEVER;
        for vc in bits(self.link.waiting.into()) {
            let units = self.queued_units(shared, vc);
            let at = if self.has_credits(shared, vc, now, units) {
                now
            } else {
                self.next_advert(shared, vc, now).unwrap_or(Cycle::NEVER)
            };
            self.decide_at = self.decide_at.min(at.max(self.link.free_at));
        }
    }

    /// Takes in the packet in `slot`, which is on the way to `node`. What happens to it is certain, unless it comes with gaps;
    /// so what happens before anybody looks from outside is done at once, in the order of packets: the delivery to an endpoint
    /// unless it `REACTS`, and, where adverts are posted, those of the units that it frees, as far as a schedule reaches.
    #[inline]
    fn expect<const REACTS: bool, O: Observer>(&mut self, slot: Slot, node: NodeId, cx: &mut Cx<'_, O>) {
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let state = &pools.states[slot];
        let (vc, flits, units) = (usize::from(state.vc), state.flits, state.units);
        let [leaves, comes] = [state.at + timing.receive, state.at + u64::from(flits)];
        let is_whole = !state.mark.is_gapped();
        if !is_whole {
            self.gapped.push_back(Gapped { slot, flits, drained: 0, runs: Vec::new() });
        }
        let receiver = &mut self.lanes[vc].receiver;
        if !timing.posts && receiver.arrive(units, timing.nic_slack) {
            self.link.make_credit_critical(vc as u8);
            self.is_newsy = true;
        }
        if self.bounded.is_some() {
            return self.keep(cx.shared, slot, vc);
        }
        let is_delivered = !REACTS && is_whole && self.undelivered == Slot::NONE && comes < cx.horizon;
        if is_delivered {
            cx.counters.record(&state.delivery(self.rail, node, comes), cx.observer);
        }
        let is_drained = timing.posts
            && is_whole
            && self.undrained == Slot::NONE
            && leaves < cx.horizon
            && leaves + u64::from(flits) + timing.on_the_way(self.link.wire.latency)
                <= cx.post.start() + credit_schedule::SPAN;
        if is_drained {
            receiver.begin(timing, leaves, flits, flits, units);
            self.link.post_adverts(receiver, vc as u8, cx);
        }
        let states = &mut cx.shared.pools.states;
        if is_delivered && is_drained {
            return states.free(slot);
        }
        if !is_delivered && self.undelivered == Slot::NONE {
            self.undelivered = slot;
            self.deliver_at = self.delivered_at(states, slot);
        }
        if !is_drained && self.undrained == Slot::NONE {
            self.undrained = slot;
        }
        states.append(&mut self.arriving, slot);
    }

    /// When the next flits leave the buffer, as far as known.
    fn drains_at(&self, shared: &Shared) -> Cycle {
        if self.undrained == Slot::NONE {
            return Cycle::NEVER;
        }
        let state = &shared.pools.states[self.undrained];
        let next = if state.mark.is_gapped() {
            let packet = self.gapped.iter().find(|packet| packet.slot == self.undrained);
            packet.and_then(Gapped::next_run).map(|run| run.1)
        } else {
            Some(state.at)
        };
        next.map_or(Cycle::NEVER, |at| at + shared.timing.receive)
    }

    /// Takes in more of what is known of the first packet of which not all is.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, shared: &Shared, run: Run) {
        let packet = self.gapped.iter_mut().find(|packet| packet.end().is_none());
        let packet = packet.expect("runs follow their packet");
        packet.runs.push((run.upto, run.base));
        // Flits will leave of which nothing was known when the last window ended.
        self.is_newsy = true;
        let end = packet.end();
        if self.bounded.is_some() {
            if end.is_some() {
                let vc = shared.pools.states[packet.slot].vc;
                self.expect_delivery(shared, vc.into());
            }
        } else if let Some(end) = end.filter(|_| packet.slot == self.undelivered) {
            self.deliver_at = end + 1;
        }
    }

    /// When the packet in `slot` is delivered, as far as known.
    #[inline(always)]
    fn delivered_at(&self, states: &Pool<PacketState>, slot: Slot) -> Cycle {
        if slot == Slot::NONE {
            return Cycle::NEVER;
        }
        let state = &states[slot];
        if !state.mark.is_gapped() {
            return state.at + u64::from(state.flits);
        }
        self.gapped_delivered_at(slot)
    }

    /// The same of one that comes with gaps.
    #[cold]
    #[inline(never)]
    fn gapped_delivered_at(&self, slot: Slot) -> Cycle {
        let packet = self.gapped.iter().find(|packet| packet.slot == slot);
        packet.and_then(Gapped::end).map_or(Cycle::NEVER, |end| end + 1)
    }

    /// An operation that is complete by cycle `now`, or else a packet that has left by then.
    #[cold]
    #[inline(never)]
    fn next_event<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> Option<PortEvent> {
        let group = if self.leaf.is_some() { self.release_one(now, cx) } else { None };
        group.map(PortEvent::Released).or_else(|| self.take_sent(now).map(PortEvent::Sent))
    }

    /// Takes in an advert. Of those that are posted only such come as are waited for.
    fn receive_credit(&mut self, shared: &mut Shared, advert: CreditUpdate) {
        let Lane { sender, is_starved, .. } = &mut self.lanes[usize::from(advert.vc)];
        if !shared.timing.posts {
            sender.advertise(&mut shared.pools.limits, &advert, self.link.free_at);
        }
        if std::mem::take(is_starved) {
            self.waits_for_credit -= 1;
            self.decide_at = self.decide_at.min(advert.from.max(self.link.free_at));
        }
    }
}

/// Bytes of a NIC port.
pub(super) fn bytes_per_port(vcs: usize) -> usize {
    size_of::<Port>() + vcs * (size_of::<Lane>() + size_of::<AdvertTimer>())
}

impl PortModel<Hpp> for Port {
    fn receive<const REACTS: bool, O: Observer>(
        ports: &mut [Port],
        cx: &mut Cx<'_, O>,
        inbox: &mut Inbox,
        node: NodeId,
    ) -> u64 {
        let mut mail = 0;
        while !inbox.adverts.is_empty() {
            let slot = cx.shared.pools.limits.unlink(&mut inbox.adverts);
            let advert = cx.shared.pools.limits.take(slot);
            let port = usize::from(advert.port);
            ports[port].receive_credit(cx.shared, advert);
            mail |= 1 << port;
        }
        for Arrival { slot, port, .. } in inbox.packets.drain(..) {
            ports[usize::from(port)].expect::<REACTS, O>(slot, node, cx);
            mail |= 1 << port;
        }
        while !inbox.runs.is_empty() {
            let slot = cx.shared.pools.runs.unlink(&mut inbox.runs);
            let run = cx.shared.pools.runs.take(slot);
            ports[usize::from(run.port)].extend(cx.shared, run);
            mail |= 1 << run.port;
        }
        let signals = &mut cx.shared.pools.signals;
        while !inbox.signals.is_empty() {
            let slot = signals.unlink(&mut inbox.signals);
            let signal = signals.take(slot);
            ports[usize::from(signal.port)].hear_signal(signal);
            mail |= 1 << signal.port;
        }
        mail
    }

    #[inline]
    fn prefetch(ports: &[Port], due: u64, shared: &Shared, inbox: &Inbox, stage: Stage) {
        let states = &shared.pools.states;
        let mail = inbox.packets.iter().map(|it| usize::from(it.port));
        let queues = |port: &Port| {
            prefetch::slice(&port.lanes);
            prefetch::slice(&port.advert_timers);
        };
        match stage {
            Stage::Mail => prefetch::slice(&inbox.packets),
            Stage::First => {
                inbox.packets.iter().for_each(|it| states.prefetch(it.slot));
                bits(due).for_each(|port| prefetch::item(&ports[port]));
            }
            Stage::Second => {
                mail.for_each(|port| prefetch::item(&ports[port]));
                for port in bits(due).map(|port| &ports[port]) {
                    queues(port);
                    states.prefetch(port.undelivered);
                }
            }
            Stage::Third => {
                mail.for_each(|port| queues(&ports[port]));
                for Port { link, lanes, .. } in bits(due).map(|port| &ports[port]) {
                    bits(link.waiting.into()).for_each(|vc| states.prefetch(lanes[vc].queue.head()));
                }
            }
            Stage::Itself | Stage::Ports | Stage::Queues => {}
        }
    }

    #[inline(always)]
    fn submit(
        &mut self,
        shared: &mut Shared,
        now: Cycle,
        source: NodeId,
        packet: &Packet,
        _: &[Arc<NodeSet>],
    ) -> u32 {
        let timing = &shared.timing;
        assert!(shared.payloads.contains(&packet.payload.into()), "packets are as long as was promised");
        let (flits, units) = shared.lengths[usize::from(packet.payload)];
        let (route, to, vc, kind) = match packet.destination {
            Destination::Node(node) => {
                let vc = timing.lane_choice.lane(timing.reply_lanes, source, node, packet, timing.lanes);
                let draw = timing.lane_choice.draw(packet.lane);
                (shared.routing.way_drawn(source, node, draw), node.0, vc, Kind::Single)
            }
            Destination::Group(group, root) => {
                let way = shared.groups.way_up(source, group, root);
                (way, group.0, shared.multicast.vc as usize, Kind::Copy)
            }
            Destination::Nodes(_) => unreachable!("HPP Switches have no reachability strings"),
        };
        let state = || PacketState {
            route,
            at: now,
            created: packet.created,
            injected: Cycle::NEVER,
            source,
            to,
            tag: packet.flow.tag,
            flits,
            units,
            payload: packet.payload,
            hops: 0,
            port: 0,
            vc: vc as u8,
            mark: Mark::new(kind, packet.flow),
            next: Slot::NONE,
        };
        let queue = &mut self.lanes[vc].queue;
        if queue.is_empty() {
            self.decide_at = self.decide_at.min(now.max(self.link.free_at));
            self.link.waiting |= 1 << vc;
        }
        let slot = shared.pools.states.put_with(state);
        shared.pools.states.append(queue, slot);
        u32::from(flits)
    }

    #[inline(always)]
    fn delivery(&mut self, shared: &mut Shared, now: Cycle, node: NodeId) -> Option<Delivery> {
        if self.deliver_at > now {
            return None;
        }
        if self.bounded.is_some() {
            return self.deliver_kept(shared, now, node);
        }
        let states = &shared.pools.states;
        let state = &states[self.undelivered];
        let delivery = state.delivery(self.rail, node, now);
        self.undelivered = state.next;
        self.deliver_at = self.delivered_at(&shared.pools.states, self.undelivered);
        self.free(shared);
        Some(delivery)
    }

    #[inline(always)]
    fn event<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> Option<PortEvent> {
        if self.leaf.is_none() & self.bounded.is_none() { None } else { self.next_event(cx, now) }
    }

    fn drain<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: u8) {
        self.drain_kept(cx, now, vc.into());
    }

    fn arrive<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, group: BarrierId) -> bool {
        self.take_arrival(group, now, cx)
    }

    fn advance<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        while self.decide_at <= now {
            self.decide(now, cx);
        }
    }

    fn next(&self) -> Cycle {
        self.deliver_at.min(self.decide_at)
    }

    fn finish<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        let mut next = Cycle::NEVER;
        if self.undrained != Slot::NONE {
            // What has left the buffer is entered in every window, lest it pile up.
            self.catch_up(until - 1, cx);
        }
        if cx.shared.timing.posts {
            next = self.drains_at(cx.shared);
        } else if self.is_newsy {
            next = if cx.shared.timing.sideband {
                self.link.finish_sideband(&mut self.lanes, cx)
            } else {
                self.link.finish(&mut self.advert_timers, &mut self.lanes, until, cx)
            };
            if self.link.is_credit_critical() {
                next = next.min(self.drains_at(cx.shared));
            }
            self.is_newsy = next != Cycle::NEVER;
        }
        Rest { next, waits: self.waits_for_credit > 0 }
    }

    fn settle<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let Some(last) = now.0.checked_sub(1).map(Cycle) else { return };
        self.catch_up(last, cx);
        if cx.shared.timing.posts {
            return self.lanes.iter_mut().for_each(|lane| settle_told(&mut lane.receiver, last, cx));
        }
        for vc in 0..self.lanes.len() {
            self.send_adverts_with(vc, last, cx);
        }
    }

    fn waiting(&self, shared: &Shared, node: NodeId, now: Cycle) -> Vec<Waiting> {
        self.stuck(shared, node, now)
    }

    fn position(&self, shared: &Shared, vc: u8, now: Cycle) -> u32 {
        self.lanes[usize::from(vc)].receiver.position(&shared.timing, now)
    }

    fn sent_flits(&self) -> Option<u64> {
        Some(self.link.sent)
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        for lane in &self.lanes {
            lane.receiver.audit(&shared.timing, now, books);
            books.units_sent += u64::from(lane.sender.sent());
            // Credits are taken when they are sent.
            books.in_network += shared.pools.states.iter(&lane.queue).count() as u64;
        }
        self.audit_signals(books);
        self.audit_kept(shared, books);
        let states = &shared.pools.states;
        let (mut delivered, mut drained) = (true, true);
        let mut slot = self.arriving.head();
        while slot != Slot::NONE {
            delivered &= slot != self.undelivered;
            drained &= slot != self.undrained;
            let state = &states[slot];
            books.in_network += u64::from(!delivered);
            let begun = self.gapped.iter().any(|packet| packet.slot == slot && packet.drained > 0);
            books.units_held += if drained || begun { 0 } else { u64::from(state.units) };
            slot = state.next;
        }
    }
}
