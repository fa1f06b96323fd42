//! A NIC port: a source queue that sends one packet after the other, and a sink.

mod bounded;
mod copies;
mod faults;
mod stalls;

use super::forecast::Forecast;
use super::packet_state::{Answer, Inbox, Mail, PacketState, Verdict};
use super::sender::{Lane, Place, Sender, post};
use super::settings::EliteSettings;
use super::{Cx, Elite, Shared};
use bounded::Bounded;
use copies::Broadcasts;
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;
use flitway_fabric::component::{PortEvent, PortModel, Rest, Stage};
use flitway_fabric::observer::{LinkErrorKind, Observer};
use flitway_fabric::simulation::{Conservation, NodeWires, Wire};
use flitway_fabric::{BarrierId, Delivery, Flow, LossCause, NicPorts, Packet};
use flitway_wiring::{Destination, NodeId, NodeSet, PortId, RailId};
use stalls::Stalls;
use std::collections::VecDeque;
use std::sync::Arc;

/// More flits than a packet has: all of a packet that a node sends are there.
const ALL: u64 = 1 << 40;

/// A NIC port.
#[derive(Debug)]
pub struct Port {
    rail: RailId,
    sender: Sender,
    /// When the sender has something to do, as far as known.
    due: Cycle,
    /// Packets to send.
    source: VecDeque<Box<PacketState>>,
    /// Where packets may be sent again: by virtual channel the packet that may have to be.
    kept: Box<[Option<Box<PacketState>>]>,
    /// When its flits are ready: always, unless the node is stalled.
    flits: Forecast,
    stalls: Stalls,
    /// Packets that have come, with the virtual channel, by the cycle in which each is received.
    whole: VecDeque<Whole>,
    /// Where NIC ports are bounded.
    bounded: Option<Box<Bounded>>,
    /// Broadcasts that it has been handed, modulo 2^32.
    broadcasts: u32,
    /// Where packets may be sent again.
    copies: Option<Box<Broadcasts>>,
    /// The way back to the sender of what comes, for what an answer says.
    back: Wire,
    /// Packets that have been answered, of which it is told and has not been: when, of which flow, and whether affirmatively.
    answered: VecDeque<(Cycle, Flow, bool)>,
    /// When its link goes down or comes up next, or a stall matters.
    fault_due: Cycle,
}

/// A packet that has come, when it is received, and on which virtual channel.
type Whole = (Cycle, u8, Box<PacketState>);

/// The first of `whole`, if it is received by cycle `now`.
fn take_due(whole: &mut VecDeque<Whole>, now: Cycle) -> Option<Whole> {
    whole.front().is_some_and(|(at, ..)| *at <= now).then(|| whole.pop_front()).flatten()
}

/// Bytes of a NIC port.
pub(super) fn bytes_per_port(vcs: usize) -> usize {
    size_of::<Port>() + vcs * (size_of::<Lane>() + 128) + 128
}

impl Port {
    pub(super) fn new(shared: &Shared, number: u32, rail: RailId, wires: &NodeWires) -> Self {
        let place = Place { component: number, port: PortId(rail.0) };
        let sender = Sender::new(shared, place, wires.out, wires.rate, false).with_answers(shared);
        let stalls = Stalls::new(shared, place);
        let fault_due = sender.next_change(None).min(stalls.next(None));
        Port {
            rail,
            sender,
            due: fault_due,
            source: VecDeque::new(),
            kept: (0..shared.vcs).map(|_| None).collect(),
            flits: Forecast::new(ALL),
            stalls,
            whole: VecDeque::new(),
            bounded: Bounded::new(shared, wires),
            broadcasts: 0,
            copies: shared.repeats.then(Box::default),
            back: wires.back,
            answered: VecDeque::new(),
            fault_due,
        }
    }

    /// Takes in that something comes for the sender of `rail` in cycle `at`.
    fn call(ports: &mut [Self], rail: u16, at: Cycle) -> u64 {
        let port = &mut ports[usize::from(rail)];
        port.due = port.due.min(at);
        1 << rail
    }

    /// Enters what has been sent before cycle `now`, and whether it is all of a packet.
    fn catch_up<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        if self.due > now {
            return;
        }
        let shared = &*cx.shared;
        self.sender.settle(shared.period, now);
        for vc in bits(self.sender.note_gone()) {
            let is_corrupt = self.sender.corrupts(cx.shared.period, vc);
            if is_corrupt {
                self.sender.count(cx, now, LinkErrorKind::Corrupted);
            }
            if self.stalls.made_up(vc)
                || is_corrupt
                || self.sender.breaks(vc, now, cx.shared.settings.pipeline.transmit)
            {
                self.sender.tell_corrupt(cx, vc);
            }
            let is_repeated = self.kept[vc].as_ref().is_some_and(|state| state.was_sent);
            if let Some(bounded) = self.bounded.as_mut().filter(|_| !is_repeated) {
                bounded.leave(now, self.sender.lanes[vc].flow);
            }
            if cx.shared.settings.answer.is_none() {
                self.sender.lanes[vc].release(now);
            }
        }
    }

    /// The first packet gets a virtual channel, if one is free and all of those before have been sent.
    fn start<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        if self.stalls.is_stalled() || self.sender.lanes.iter().any(Lane::is_sending) {
            return;
        }
        if !cx.shared.faults.are_none() {
            self.refuse(cx, now);
        }
        let shared = &*cx.shared;
        let Some(state) = self.source.front().filter(|state| state.not_before <= now) else { return };
        if let Some(vc) = self.free_vc(shared, state) {
            self.kept[vc] = shared.repeats.then(|| state.clone());
            if let Some(mut state) = self.source.pop_front() {
                state.tables = shared.routings.number_at(now);
                self.sender.lanes[vc].give((0, 0), state, now);
            }
        }
    }

    /// The virtual channel that the packet `state` would be given, if one is free.
    fn free_vc(&self, shared: &Shared, state: &PacketState) -> Option<usize> {
        let first = if state.range.is_some() { EliteSettings::broadcast_vc(shared.lanes) } else { 0 };
        (first..shared.lanes).find(|&vc| self.sender.lanes[vc].owner.is_none())
    }

    /// The answer to the packet of `vc` has come: it is free, and if the packet was corrupt that is sent again.
    fn hear_answer<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: usize) {
        let (verdict, is_void) = self.sender.hear(cx, now, vc);
        let lane = &mut self.sender.lanes[vc];
        lane.credits.reset(now, lane.sent + u64::from(cx.shared.settings.buffer_flits));
        let missing = lane.missing.take();
        lane.release(now);
        let tells = lane.is_broadcast || cx.shared.nic_ports == NicPorts::Answering;
        if tells && !verdict.is_nack() && !is_void {
            self.answered.push_back((now + 1, lane.flow, verdict == Verdict::True));
        }
        if let Some(mut state) = self.kept[vc].take().filter(|_| verdict.is_nack() || is_void) {
            cx.counters.link.nacks += u64::from(!is_void);
            state.was_sent = true;
            let was_taken = !verdict.is_nack();
            state.was_delivered |= was_taken;
            let is_range = state.range.is_some();
            if is_range {
                state.miss(missing.or_else(|| was_taken.then(Arc::default)));
            }
            let comes_again = is_range || was_taken;
            if let Some(copies) = self.copies.as_mut().filter(|_| comes_again) {
                copies.repeat();
            }
            let is_full = verdict == Verdict::Full && !is_void;
            let cause = if is_full { LossCause::Refused } else { LossCause::LinkDown };
            self.put_back(cx, now, state, cause);
        }
    }

    /// The answer to the packet that is received on `vc` in cycle `at`, a copy of a broadcast or not, is not an ACK.
    fn answer<O>(&self, cx: &mut Cx<'_, O>, at: Cycle, vc: u8, (verdict, is_copy): (Verdict, bool)) {
        let answer = cx.shared.settings.answer.expect("what is denied or refused is answered");
        let (port, at) = (self.back.port, at + u64::from(answer.node + self.back.latency));
        let (is_void, is_combined) = (false, is_copy);
        let answer = Answer { port, vc, at, verdict, is_void, is_combined, missing: None };
        post(cx.post, &self.back, at, Mail::Answer(answer));
    }

    /// Makes a plan from cycle `now` on, and tells what is new in it.
    fn send<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let (flits, period) = (&self.flits, cx.shared.period);
        let begins = self.sender.plan(period, now, |_| flits);
        for vc in 0..cx.shared.vcs {
            let does_begin = begins >> vc & 1 == 1;
            if does_begin {
                let injected = now + u64::from(cx.shared.settings.pipeline.transmit);
                let begun = self.sender.lanes[vc].state.as_mut().map(|state| {
                    state.injected = injected;
                    (state.created, state.was_sent)
                });
                let (ready, is_again) = begun.unwrap_or((now, false));
                if is_again {
                    self.sender.count(cx, now, LinkErrorKind::Repeated);
                }
                self.sender.begin(cx, now, vc, ready);
            }
            let lane = &self.sender.lanes[vc];
            if lane.has_begun
                && lane.is_sending()
                && let Some(places) = self.sender.news(period, vc, now, does_begin)
            {
                self.sender.tell(cx, now, vc, places);
            }
        }
        self.due = self.sender.until().min(self.sender.next_answer()).min(self.fault_due);
        let waits = self.source.front().map_or(Cycle::ZERO, |state| state.not_before);
        if waits > now {
            self.due = self.due.min(waits);
        }
    }
}

impl PortModel<Elite> for Port {
    fn first(&self) -> Cycle {
        self.fault_due
    }

    fn receive<const REACTS: bool, O: Observer>(
        ports: &mut [Self],
        cx: &mut Cx<'_, O>,
        inbox: &mut Inbox,
        node: NodeId,
    ) -> u64 {
        let mut mail = 0;
        for (rail, vc, at, mut state) in inbox.whole.drain(..) {
            let (port, refuses) = (&mut ports[usize::from(rail)], cx.shared.refuses);
            let may_be_again = (state.range.is_some() || state.was_delivered) && !state.is_corrupt;
            if let Some(copies) = port.copies.as_mut().filter(|_| may_be_again && !refuses) {
                // What comes again is as good as corrupt here.
                let before = copies.has_come(&state);
                state.is_corrupt = before.is_some();
                match before {
                    None => copies.take(&state),
                    Some(Verdict::False) => port.answer(cx, at, vc, (Verdict::False, true)),
                    Some(_) => {}
                }
            }
            if state.is_corrupt && (port.bounded.is_none() || refuses) {
                continue;
            }
            if !REACTS && at < cx.horizon && port.whole.is_empty() {
                cx.counters.record(&state.delivery(node, port.rail, vc, at), cx.observer);
            } else {
                port.whole.push_back((at, vc, state));
            }
            mail |= 1 << rail;
        }
        for run in inbox.credits.drain(..) {
            let at = ports[usize::from(run.port)].sender.hear_credits(cx.shared.period, &run);
            mail |= Self::call(ports, run.port, at);
        }
        for Answer { port, vc, at, verdict, is_void, missing, .. } in inbox.answers.drain(..) {
            let lane = &mut ports[usize::from(port)].sender.lanes[usize::from(vc)];
            (lane.answer_at, lane.verdict, lane.missing) = (at, verdict, missing);
            lane.is_void = is_void;
            mail |= Self::call(ports, port, at);
        }
        for (rail, at, rate) in inbox.paces.drain(..) {
            ports[usize::from(rail)].sender.change_rate(at, rate);
            mail |= Self::call(ports, rail, at);
        }
        mail
    }

    fn prefetch(_: &[Self], _: u64, _: &Shared, _: &Inbox, _: Stage) {}

    fn submit(
        &mut self,
        shared: &mut Shared,
        now: Cycle,
        source: NodeId,
        packet: &Packet,
        sets: &[Arc<NodeSet>],
    ) -> u32 {
        let (node, range) = match packet.destination {
            Destination::Node(node) => (node, None),
            Destination::Nodes(id) => (source, Some(Arc::clone(&sets[id.set as usize]))),
            Destination::Group(..) => panic!("Elite4s have tables for no groups"),
        };
        let flits = shared.settings.format.packet_flits(packet.payload.into());
        let header = shared.routings.first().header(source, node, packet.lane);
        let mut state = PacketState::new(source, header, packet, flits);
        if let Some(range) = range {
            debug_assert!(range.is_run() && shared.settings.answer.is_some(), "a broadcast goes to a range");
            self.broadcasts = self.broadcasts.wrapping_add(1);
            (state.range, state.number) = (Some(range), self.broadcasts);
        }
        self.source.push_back(Box::new(state));
        if !self.sender.lanes.iter().any(Lane::is_sending) {
            self.due = self.due.min(now);
        }
        flits
    }

    fn delivery(&mut self, shared: &mut Shared, now: Cycle, node: NodeId) -> Option<Delivery> {
        match &mut self.bounded {
            None => {
                let (_, vc, state) = take_due(&mut self.whole, now)?;
                if let Some(copies) = self.copies.as_mut().filter(|_| state.range.is_some()) {
                    copies.deliver(vc, &state);
                }
                Some(state.delivery(node, self.rail, vc, now))
            }
            Some(bounded) => {
                while let Some((at, vc, state)) = take_due(&mut self.whole, now) {
                    match self.copies.as_mut().filter(|_| shared.refuses) {
                        Some(copies) => bounded.keep_or_refuse(shared, copies, (at, vc, state)),
                        None => bounded.keep(at, vc, state),
                    }
                }
                bounded.delivery(now, node, self.rail)
            }
        }
    }

    fn event<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> Option<PortEvent> {
        if let Some(bounded) = &mut self.bounded {
            bounded.drop_corrupt(cx, now);
            for (vc, is_copy) in std::mem::take(&mut bounded.refused) {
                self.sender.count(cx, now, LinkErrorKind::Refused);
                self.answer(cx, now, vc, (Verdict::Full, is_copy));
            }
            self.catch_up(cx, now);
        }
        if let Some(flow) = self.bounded.as_mut().and_then(|bounded| bounded.take_sent(now)) {
            return Some(PortEvent::Sent(flow));
        }
        let is_heard = self.answered.front().is_some_and(|(at, ..)| *at <= now);
        let (_, flow, is_true) = is_heard.then(|| self.answered.pop_front()).flatten()?;
        Some(PortEvent::Answered(flow, is_true))
    }

    fn deny<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: u8) {
        assert!(self.bounded.is_none(), "tests are denied as they are delivered, by ideal NIC ports");
        self.answer(cx, now, vc, (Verdict::False, true));
        if let Some(copies) = &mut self.copies {
            copies.deny(vc);
        }
    }

    fn drain<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: u8) {
        let bounded = self.bounded.as_mut().expect("an ideal NIC port is not drained");
        bounded.drain(cx, now, vc);
    }

    fn arrive<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle, _: BarrierId) -> bool {
        false
    }

    fn advance<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        if self.due > now {
            return;
        }
        self.catch_up(cx, now);
        if self.fault_due <= now {
            self.note_faults(cx, now);
        }
        for vc in bits(self.sender.answers(now)) {
            self.hear_answer(cx, now, vc);
        }
        self.start(cx, now);
        self.send(cx, now);
    }

    fn next(&self) -> Cycle {
        let next = self.whole.front().map_or(self.due, |(at, ..)| self.due.min(*at));
        let next = self.answered.front().map_or(next, |(at, ..)| next.min(*at));
        self.bounded.as_ref().map_or(next, |bounded| next.min(bounded.delivers_at()).min(bounded.tells_at()))
    }

    fn finish<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) -> Rest {
        Rest { next: self.next(), waits: false }
    }

    fn settle<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) {}

    fn sent_flits(&self) -> Option<u64> {
        Some(self.sender.flits)
    }

    fn audit(&self, _: &Shared, _: Cycle, books: &mut Conservation) {
        let whole = self.whole.iter().filter(|(.., state)| !state.is_corrupt).count();
        books.in_network += (self.source.len() + whole) as u64;
        self.sender.audit(books);
        if let Some(bounded) = &self.bounded {
            bounded.audit(books);
        }
        if let Some(copies) = &self.copies {
            copies.audit(books);
        }
    }
}
