//! The switch where every packet is long: it decides by stretches. What it does in which cycle is said in the
//! [parent module](super); here stands why the order does not matter.
//!
//! What is decided in a switch acts there a while later. A grant of cycle `g` reaches the link in cycle
//! `g + 1 + transmit_buffer`, and frees nothing before the packet of `n` flits has crossed. A choice of the link in cycle `d`
//! lets the rest of the packet out of the TX FIFO, so that it has crossed in cycle `max(g + n, d + n - 1 - tx_fifo)`, and
//! lets it out of the input FIFO, whose first unit that ends beyond the TX FIFO, with flit `f`, has left no earlier than in
//! cycle `d + f - tx_fifo`. So for a *stretch* of cycles that is no longer than the least of these distances, all arbiters
//! decide, one after the other, each for the whole stretch; then all links, for a stretch that begins
//! `1 + transmit_buffer` later, which is no longer than a stretch either: they are kept back at a look from outside, and then
//! decide for all of it at once. Nothing has to be sorted, and no packet is under way of which it is not known when it will
//! have crossed: of one that has been granted nothing leaves that anybody hears of before its link chooses it, so it stays
//! at the head of its FIFO until then.

mod ahead;
mod input;
mod look;
mod rows;

use super::chip::Chip;
use super::credit::{Sender, Voice};
use super::line::{Line, Owner, first_after};
use super::moment::{Moment, Time};
use super::timing::Timing;
use super::token::{Inbox, Limit};
use super::{Cx, Shared};
use crate::PortId;
use crate::arbiter::ArbiterBank;
use crate::bits::bits;
use crate::observer::{Departure, Grant, Observer, Passage};
use crate::pool::Slot;
use crate::simulation::{Rest, Wire};
use flitway_engine::Cycle;
use input::{Input, Leaving};
use rows::Rows;

/// The most VCs of such a switch.
pub(super) const VCS: usize = 4;

/// Cycles of a stretch.
pub(super) const STRETCH: u32 = 16;

/// Cycles that have passed and can at least be told from each other, as far as decisions need that.
pub(super) const KEPT_LEAST: u64 = 1 << 10;

/// Cycles that have passed and can be told from each other: observers are told for how long a packet has waited. Where
/// everything is checked they are the least that will do.
const KEPT: u64 = if cfg!(debug_assertions) { KEPT_LEAST } else { 1 << 28 };

/// An HPP Switch of `V` VCs.
#[derive(Debug)]
pub struct Long<const V: usize> {
    number: u32,
    /// Senders that wait for adverts.
    starving: u32,
    /// Ports that may have news that the other end needs.
    newsy: u64,
    /// The end of the window that is being run or was run last.
    until: Moment,
    /// The first cycle in which links have not decided.
    links_from: Moment,
    rows: Rows,
    ports: Box<[Port<V>]>,
    arbiters: ArbiterBank,
    /// Looks of arbiters and links that have not been counted.
    looks: u64,
    /// Packets that begin to leave their FIFOs before it has been said what of the ones before them has left, by port and VC.
    leaving: Vec<(u8, u8, Leaving)>,
}

#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Port<const V: usize> {
    /// The sending half. Where nothing is connected nothing is ever routed to, nor received.
    link: Line<Moment>,
    voices: [Voice<Moment>; V],
    outputs: [Output; V],
    inputs: [Input; V],
}

/// One output of one crossbar, with its TX FIFO and the sender half of the VC.
#[derive(Clone, Debug)]
struct Output {
    sender: Sender,
    /// Inputs whose first packet requests this output, now or from a known cycle on.
    requests: u64,
    /// When the packet that has been granted is ready for the link, until that chooses it. If there is none, the cycle in
    /// which the last flit of the packet before crosses.
    at: Moment,
    /// The input port of the packet that has been granted; [`NOBODY`] if there is none.
    from: u8,
    /// Somebody waits for credits, and no advert that has come can help.
    is_starved: bool,
}

/// No input port.
const NOBODY: u8 = u8::MAX;

const _: () =
    assert!(size_of::<Port<3>>() == 6 * 64, "cache lines of a port; the link and its voices are one");

/// The cycle that time is counted from once all has been settled up to `now`: so long before that what matters of the time
/// before `now` can still be told. Stretches stay in their rows.
pub(super) fn epoch_before(now: Cycle) -> Cycle {
    Cycle(now.since(Cycle(KEPT)) / rows::ROUND * rows::ROUND)
}

/// Bytes of a switch per port.
pub(super) fn bytes_per_port(vcs: usize, ports: usize) -> usize {
    let of_port = [size_of::<Port<1>>(), size_of::<Port<2>>(), size_of::<Port<3>>(), size_of::<Port<4>>()];
    of_port[vcs - 1] + vcs * ArbiterBank::bytes(ports) + (size_of::<Chip>() + Rows::bytes(ports)) / ports
}

impl<const V: usize> Port<V> {
    fn new(timing: &Timing, wire: Option<Wire>) -> Self {
        Port {
            link: Line::new(timing, wire),
            voices: std::array::from_fn(|_| Voice::new(timing)),
            outputs: std::array::from_fn(|_| Output {
                sender: Sender::new(timing),
                requests: 0,
                at: Moment::ZERO,
                from: NOBODY,
                is_starved: false,
            }),
            inputs: std::array::from_fn(|_| Input::new(timing)),
        }
    }

    /// Sends the adverts that were due in the cycles up to `now`.
    #[inline(always)]
    fn catch_up<O: Observer>(&mut self, now: Moment, owner: Owner, cx: &mut Cx<'_, O>) {
        if self.link.could_advertise(now) {
            self.send_adverts(now, owner, cx);
        }
    }

    /// The same where there are such cycles.
    #[inline(never)]
    fn send_adverts<O: Observer>(&mut self, now: Moment, owner: Owner, cx: &mut Cx<'_, O>) {
        self.link.send_adverts::<V, O>(&mut self.voices, &mut self.inputs, now, owner, cx);
    }

    /// A packet begins to leave FIFO `vc`, of which it is known what of the one before has left. Says whether the sender may
    /// come to need what it has not been told.
    #[inline(always)]
    fn begin(&mut self, vc: usize, leaving: &Leaving, timing: &Timing) -> bool {
        let news = self.inputs[vc].begin(timing, leaving);
        self.voices[vc].expect(news);
        self.link.expect_news(news);
        self.link.is_tight()
    }
}

impl<const V: usize> Long<V> {
    pub(super) fn new(shared: &Shared, number: u32, wires: &[Option<Wire>]) -> Self {
        Long {
            number,
            starving: 0,
            newsy: 0,
            until: Moment::ZERO,
            links_from: Moment::ZERO,
            rows: Rows::new(wires.len()),
            ports: wires.iter().map(|wire| Port::new(&shared.timing, *wire)).collect(),
            arbiters: ArbiterBank::new(shared.arbiter, wires.len() * V, wires.len()),
            looks: 0,
            leaving: Vec::new(),
        }
    }

    #[inline(always)]
    fn owner(&self, port: usize) -> Owner {
        Owner { component: self.number, port: port as u8, is_nic: false }
    }

    /// Time is counted from a cycle on that is `span` later than the one so far. All adverts due before have been sent.
    pub(super) fn count_from(&mut self, span: u32) {
        for time in [&mut self.until, &mut self.links_from] {
            *time = time.moved(span);
        }
        self.rows.pass(self.rows.now().moved(span));
        for Port { link, voices, outputs, inputs } in &mut self.ports {
            for time in [&mut link.free_at, &mut link.due_at] {
                *time = time.moved(span);
            }
            for Voice { news, due } in voices {
                (*news, *due) = (news.moved(span), due.moved(span));
            }
            outputs.iter_mut().for_each(|output| output.at = output.at.moved(span));
            inputs.iter_mut().for_each(|input| input.count_from(span));
        }
    }

    /// Takes in an advert.
    fn hear(&mut self, shared: &mut Shared, advert: &Limit) {
        let (port, vc) = (usize::from(advert.port), usize::from(advert.vc));
        let epoch = shared.timing.epoch;
        let Output { sender, is_starved, .. } = &mut self.ports[port].outputs[vc];
        sender.advertise(&mut shared.pools.limits, advert, self.until.cycle(epoch));
        if std::mem::take(is_starved) {
            self.starving -= 1;
            self.rows.wake_arbiter(port, vc, Moment::of(advert.from, epoch).max(self.rows.now()));
        }
    }

    /// Takes in the packet in `slot`, which is on the way.
    #[inline(always)]
    fn expect(&mut self, shared: &mut Shared, slot: Slot) {
        let token = &shared.pools.tokens[slot];
        let (index, vc) = (usize::from(token.port), usize::from(token.vc));
        let port = &mut self.ports[index];
        let input = &mut port.inputs[vc];
        if input.arrive(token.units, shared.timing.slack) {
            // If it has been tight for longer, what is urgent is known already.
            self.newsy |= u64::from(port.link.tighten(token.vc)) << index;
        }
        let is_first = input.waiting.is_empty();
        shared.pools.tokens.append(&mut input.waiting, slot);
        if is_first {
            let end = input.end();
            self.request(shared, index, vc, end);
        }
    }

    /// Takes in all that has come, before a run that begins in cycle `start`.
    pub(super) fn take_in(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        // After a pause a window begins before it.
        self.rows.pass(Moment::of(start, shared.timing.epoch).max(self.until));
        while !inbox.adverts.is_empty() {
            let slot = shared.pools.limits.unlink(&mut inbox.adverts);
            let advert = shared.pools.limits.take(slot);
            self.hear(shared, &advert);
        }
        for &slot in &inbox.packets {
            self.expect(shared, slot);
        }
        inbox.packets.clear();
    }

    /// Lets the first packet of FIFO `vc` at `port` request its output from the first cycle on in which it can: the one before
    /// it has crossed in cycle `end`.
    #[inline(always)]
    fn request(&mut self, shared: &Shared, port: usize, vc: usize, end: Moment) {
        let input = &mut self.ports[port].inputs[vc];
        let Some(first) = shared.pools.tokens.first(&input.waiting) else { return };
        // It may have come before the epoch, if it takes long to be felt.
        let felt = first.at + shared.timing.felt_by_switch();
        let at = end.max(Moment::of(felt, shared.timing.epoch));
        (input.requests_from, input.units) = (at, first.units);
        let to = first.route.hop().port.index();
        let output = &mut self.ports[to].outputs[vc];
        output.requests |= 1 << port;
        if output.from == NOBODY {
            self.rows.wake_arbiter(to, vc, at.max(output.at));
        }
    }

    /// Does everything due before `until`.
    #[inline(always)]
    pub(super) fn work<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        let epoch = cx.shared.timing.epoch;
        let until = Moment::of(until, epoch);
        self.until = until;
        let (to_link, horizon) = (cx.shared.timing.to_link(), Moment::of(cx.horizon, epoch));
        // The cycle before which links can decide once arbiters have for the cycles before `end`.
        let links_upto = |end: Moment| (end + to_link).min(horizon);
        let now = self.rows.now();
        if self.links_from < links_upto(now) {
            // A look from outside has kept them back.
            self.decide_all(now, links_upto(now), cx);
        }
        while self.rows.now() < until {
            let end = self.rows.end().min(until);
            self.arbitrate_all(end, cx);
            self.decide_all(end, links_upto(end), cx);
            self.rows.pass(end);
        }
        cx.counters.wakes += std::mem::take(&mut self.looks);
        let mut next = self.rows.next().map_or(Cycle::NEVER, |next| next.cycle(epoch));
        for index in bits(self.newsy) {
            let owner = self.owner(index);
            let port = &mut self.ports[index];
            match port.link.finish(&mut port.voices, &mut port.inputs, until, owner, cx) {
                Cycle::NEVER => self.newsy &= !(1 << index),
                news => next = next.min(news),
            }
        }
        Rest { next, waits: self.starving > 0 }
    }

    /// The arbiters look that are due before cycle `end`, with which the stretch ends.
    #[inline(always)]
    fn arbitrate_all<O: Observer>(&mut self, end: Moment, cx: &mut Cx<'_, O>) {
        for word in 0..self.rows.words() {
            let mut due = self.rows.take_arbiters(word);
            while due != 0 {
                let bit = due.trailing_zeros() as usize;
                due &= due - 1;
                self.looks += 1;
                self.arbitrate(Rows::port_of(word, bit), Rows::vc_of(bit), end, cx);
            }
        }
    }

    /// The arbiter of output `vc` of `port` grants one of its requests before cycle `end`, if one can be.
    #[inline(always)]
    fn arbitrate<O: Observer>(&mut self, port: usize, vc: usize, end: Moment, cx: &mut Cx<'_, O>) {
        let output = &self.ports[port].outputs[vc];
        let (requests, crossed) = (output.requests, output.at);
        if requests == 0 || output.from != NOBODY {
            // If a packet has been granted, the choice of the link wakes the arbiter.
            return;
        }
        let first = requests.trailing_zeros() as usize;
        if requests & (requests - 1) != 0 {
            return self.arbitrate_among(requests, port, vc, end, cx);
        }
        let Input { requests_from, units, .. } = self.ports[first].inputs[vc];
        let now = requests_from.max(crossed).max(self.rows.now());
        if now >= end {
            self.rows.wake_arbiter(port, vc, now);
        } else if self.ports[port].outputs[vc].sender.has_known(units.into()) {
            self.grant(requests, port, vc, now, cx);
        } else {
            self.arbitrate_among(requests, port, vc, end, cx);
        }
    }

    /// The same where there are several `requests`, or credits are scarce.
    #[inline(never)]
    fn arbitrate_among<O: Observer>(
        &mut self,
        requests: u64,
        port: usize,
        vc: usize,
        end: Moment,
        cx: &mut Cx<'_, O>,
    ) {
        let from = |ports: &[Port<V>], port: usize| ports[port].inputs[vc].requests_from;
        let first = bits(requests).fold(Moment::NEVER, |first, port| first.min(from(&self.ports, port)));
        let mut now = first.max(self.ports[port].outputs[vc].at).max(self.rows.now());
        while now < end {
            let (mut eligible, mut later) = (0, Moment::NEVER);
            let cycle = now.cycle(cx.shared.timing.epoch);
            for other in bits(requests) {
                let Input { requests_from, units, .. } = self.ports[other].inputs[vc];
                if requests_from <= now {
                    let sender = &mut self.ports[port].outputs[vc].sender;
                    let fits = sender.has(&mut cx.shared.pools.limits, cycle, units.into());
                    eligible |= u64::from(fits) << other;
                } else {
                    later = later.min(requests_from);
                }
            }
            if eligible != 0 {
                return self.grant(eligible, port, vc, now, cx);
            }
            now = later.min(self.next_advert(cx.shared, port, vc));
        }
        if now != Moment::NEVER {
            self.rows.wake_arbiter(port, vc, now);
        }
    }

    /// When the next advert for output `vc` of `port` counts; `NEVER` if none is known, and the next to come wakes its
    /// arbiter.
    #[cold]
    fn next_advert(&mut self, shared: &Shared, port: usize, vc: usize) -> Moment {
        let Output { sender, is_starved, .. } = &mut self.ports[port].outputs[vc];
        let next = sender.next_advert(&shared.pools.limits);
        if next.is_none() && !std::mem::replace(is_starved, true) {
            self.starving += 1;
        }
        next.map_or(Moment::NEVER, |next| Moment::of(next, shared.timing.epoch))
    }

    /// The packet from one of the `eligible` input ports may cross to output `vc` of `port` from the cycle after `now` on.
    #[inline(always)]
    fn grant<O: Observer>(&mut self, eligible: u64, port: usize, vc: usize, now: Moment, cx: &mut Cx<'_, O>) {
        let from = self.arbiters.grant(port * V + vc, eligible);
        if cx.observer.follows_packets() {
            self.describe_passage([from, port, vc], now, cx);
        }
        self.ports[from].inputs[vc].requests_from = Moment::NEVER;
        let Port { link, outputs, .. } = &mut self.ports[port];
        let output = &mut outputs[vc];
        let to_link = cx.shared.timing.to_link();
        output.requests &= !(1 << from);
        output.from = from as u8;
        output.at = now + to_link;
        link.waiting |= 1 << vc;
        self.rows.wake_link(port, output.at.max(link.free_at) - to_link);
        cx.counters.events += 1;
        let (output, input) = (PortId::new(port), PortId::new(from));
        let now = now.cycle(cx.shared.timing.epoch);
        cx.observer.granted(&Grant { cycle: now, switch: self.number, output, vc: vc as u8, input });
    }

    /// Tells the observer of the packet at the head of FIFO `vc` of port `from`, which is granted the output at `port`.
    #[cold]
    #[inline(never)]
    fn describe_passage<O: Observer>(&self, [from, port, vc]: [usize; 3], now: Moment, cx: &mut Cx<'_, O>) {
        let input = &self.ports[from].inputs[vc];
        let token = &cx.shared.pools.tokens[input.waiting.head()];
        let epoch = cx.shared.timing.epoch;
        cx.observer.passed(&Passage {
            packet: token.name(),
            switch: self.number,
            input: PortId::new(from),
            vc: vc as u8,
            outputs: 1 << port,
            arrived: token.at,
            ready: token.at + cx.shared.timing.felt_by_switch(),
            requested: input.requests_from.cycle(epoch),
            free: Some(self.ports[port].outputs[vc].at.cycle(epoch)),
            granted: now.cycle(epoch),
        });
    }

    /// The links decide that are due in the cycles before `upto`, after the arbiters have for those before `end`.
    #[inline(always)]
    fn decide_all<O: Observer>(&mut self, end: Moment, upto: Moment, cx: &mut Cx<'_, O>) {
        let mut due = self.rows.take_links();
        while due != 0 {
            let port = due.trailing_zeros() as usize;
            due &= due - 1;
            self.looks += 1;
            self.decide(port, end, upto, cx);
        }
        self.links_from = upto;
        while let Some((index, vc, leaving)) = self.leaving.pop() {
            let owner = self.owner(index.into());
            let port = &mut self.ports[usize::from(index)];
            port.catch_up(upto - 1, owner, cx);
            self.newsy |= u64::from(port.begin(vc.into(), &leaving, &cx.shared.timing)) << index;
        }
    }

    /// The link of `port` decides in the cycles before `upto`. Arbiters have for those before `end`.
    #[inline(always)]
    fn decide<O: Observer>(&mut self, index: usize, end: Moment, upto: Moment, cx: &mut Cx<'_, O>) {
        let owner = self.owner(index);
        loop {
            let port = &mut self.ports[index];
            let waiting = u64::from(port.link.waiting);
            let ready = bits(waiting).fold(Moment::NEVER, |ready, vc| ready.min(port.outputs[vc].at));
            let now = ready.max(port.link.free_at);
            if now >= upto {
                if ready != Moment::NEVER {
                    self.rows.wake_link(index, end.max(now.before(cx.shared.timing.to_link())));
                }
                return;
            }
            port.catch_up(now, owner, cx);
            if port.link.free_at > now {
                continue;
            }
            let is_ready = |vc: usize| u16::from(port.outputs[vc].at <= now) << vc;
            let wanted = bits(waiting).fold(0, |wanted, vc| wanted | is_ready(vc));
            if let Some(vc) = first_after(port.link.data_turn, wanted) {
                self.send(index, vc, now, cx);
            }
        }
    }

    /// The link of port `index` has chosen, in cycle `now`, the packet granted in crossbar `vc`.
    #[inline(always)]
    fn send<O: Observer>(&mut self, index: usize, vc: usize, now: Moment, cx: &mut Cx<'_, O>) {
        let output = &mut self.ports[index].outputs[vc];
        let (from, ready) = (usize::from(output.from), output.at);
        let Shared { timing, pools, routing, .. } = &mut *cx.shared;
        let input = &mut self.ports[from].inputs[vc];
        let (slot, token) = pools.tokens.pop(&mut input.waiting);
        let (flits, units) = (token.flits, input.units);
        token.advance(routing, self.number, vc as u8);
        token.hops += 1;
        // Its first flit has crossed a while before it was ready; it stops when it has filled the TX FIFO.
        let base = ready.before(timing.transmit_buffer).max(now.before(timing.tx_fifo.into()));
        let leaving = Leaving { base, flits, units };
        let crossed = leaving.end();
        if cx.observer.follows_packets() {
            self.describe_departure([index, vc], slot, now, cx);
        }
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let Port { link, outputs, .. } = &mut self.ports[index];
        let output = &mut outputs[vc];
        output.sender.take(units.into());
        (output.at, output.from) = (crossed, NOBODY);
        if output.requests != 0 {
            self.rows.wake_arbiter(index, vc, crossed);
        }
        link.waiting &= !(1 << vc);
        link.data_turn = vc as u8;
        let at = link.send_packet(timing, now, flits.into()).cycle(timing.epoch);
        let by = pools.tokens[slot].go::<false>(timing, &link.wire, at);
        pools.send(cx.post, &link.wire, slot, by);
        cx.counters.events += 1;
        cx.counters.packet_hops += 1;
        cx.counters.flit_hops += u64::from(flits);
        self.request(cx.shared, from, vc, crossed);
        let port = &mut self.ports[from];
        if port.inputs[vc].is_uncounted() {
            self.leaving.push((from as u8, vc as u8, leaving));
        } else {
            self.newsy |= u64::from(port.begin(vc, &leaving, &cx.shared.timing)) << from;
        }
    }

    /// Tells the observer of the packet in `slot`, which the link of port `index` chooses in cycle `now` from crossbar `vc`.
    #[cold]
    #[inline(never)]
    fn describe_departure<O: Observer>(
        &self,
        [index, vc]: [usize; 2],
        slot: Slot,
        now: Moment,
        cx: &mut Cx<'_, O>,
    ) {
        let token = &cx.shared.pools.tokens[slot];
        let Port { link, outputs, .. } = &self.ports[index];
        let (mut link, epoch) = (link.clone(), cx.shared.timing.epoch);
        cx.observer.departed(&Departure {
            packet: token.name(),
            component: self.number,
            port: PortId::new(index),
            vc: vc as u8,
            flits: token.flits,
            ready: outputs[vc].at.cycle(epoch),
            free: link.free_at.cycle(epoch),
            chosen: now.cycle(epoch),
            arrives: link.send_packet(&cx.shared.timing, now, token.flits.into()).cycle(epoch),
        });
    }
}
