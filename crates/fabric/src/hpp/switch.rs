//! The switch at packet cost. What it does in which cycle is said in the [parent module](super).
//!
//! A granted packet moves in *runs* of one flit a cycle, so three decisions describe all of its flits: the grant, the
//! choice by the link, and (if its TX FIFO filled up meanwhile) where it stalls. An [`Agenda`] slot stands for each
//! decision that is due: first the links of a cycle, then the arbiters.

mod barrier;
mod multicast;
mod staging;
mod waiting;

use super::credit::{Receiver, Sender, Voice};
use super::link::{Link, Receivers, bits, first_after};
use super::token::Inbox;
use super::{Cx, Hpp, Shared};
use crate::PortId;
use crate::arbiter::ArbiterBank;
use crate::deadlock::Waiting;
use crate::observer::{Departure, Grant, Observer, Passage};
use crate::pool::{List, Slot};
use crate::simulation::{Conservation, Post, Rest, SwitchModel, Wire};
use barrier::Barrier;
use flitway_engine::agenda::Agenda;
use flitway_engine::{Cycle, prefetch};
use multicast::Multicast;

/// An HPP Switch.
#[derive(Debug)]
pub struct Switch {
    number: u32,
    vcs: usize,
    /// Senders that wait for adverts.
    starving: u32,
    /// Ports that may have news that the other end needs.
    newsy: u64,
    /// The end of the window that is being run or was run last.
    until: Cycle,
    agenda: Agenda,
    /// The sending half of each port. Where nothing is connected nothing is ever routed to, nor received.
    links: Box<[Link]>,
    /// By `port * vcs + vc`, like all that follows.
    voices: Box<[Voice]>,
    inputs: Box<[Input]>,
    outputs: Box<[Output]>,
    arbiters: ArbiterBank,
    /// Where there are groups.
    multicast: Option<Box<Multicast>>,
    /// Where there are barriers.
    barrier: Option<Box<Barrier>>,
    /// Barrier packets share the order of VC 0.
    shares_order: bool,
    /// The slot of the agenda of the first arbiter.
    first_arbiter: usize,
}

/// One input FIFO.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Input {
    receiver: Receiver,
    /// Packets that have not been granted yet, some of them still on the way.
    waiting: List,
    port: u8,
    vc: u8,
    /// Its first packet is for a group and gathers its outputs one by one.
    gathers: bool,
    /// Of the first waiting packet, once it is known when it begins to request: that cycle, its credit units, and the
    /// output whose sender has the VC that it takes on the next link.
    units: u16,
    next: u16,
    requests_from: Cycle,
}

/// One output of one crossbar, with its TX FIFO and the sender half of the VC of the same number.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Output {
    sender: Sender,
    port: u8,
    vc: u8,
    /// The input that a packet crosses from.
    from: u16,
    /// Flits of the packets granted and not yet chosen by the link.
    granted_flits: u32,
    granted: List,
    /// When the first of them is ready for the link; `NEVER` if there is none.
    ready: Cycle,
    /// The cycle in which the last flit of the packet now crossing crosses; `NEVER` while that is open.
    crossed: Cycle,
    /// Inputs whose first packet requests this output, now or from a known cycle on.
    requests: u64,
}

const _: () = assert!(size_of::<Input>() == 64 && size_of::<Output>() == 64, "one cache line each");

/// The receiving half of one port.
struct Fifos<'a> {
    voices: &'a mut [Voice],
    inputs: &'a mut [Input],
}

impl Receivers for Fifos<'_> {
    #[inline]
    fn voices(&mut self) -> &mut [Voice] {
        self.voices
    }

    #[inline]
    fn get(&mut self, vc: usize) -> (&mut Voice, &mut Receiver) {
        (&mut self.voices[vc], &mut self.inputs[vc].receiver)
    }
}

impl Switch {
    pub(super) fn new(shared: &Shared, number: u32, wires: &[Option<Wire>]) -> Self {
        let (timing, ports) = (&shared.timing, wires.len());
        let vcs = timing.vcs;
        let planes = ports * vcs;
        let input = |index: usize| Input {
            receiver: Receiver::new(timing),
            waiting: List::default(),
            port: (index / vcs) as u8,
            vc: (index % vcs) as u8,
            gathers: false,
            units: 0,
            next: 0,
            requests_from: Cycle::ZERO,
        };
        let output = |index: usize| Output {
            sender: Sender::new(timing),
            port: (index / vcs) as u8,
            vc: (index % vcs) as u8,
            from: 0,
            granted_flits: 0,
            granted: List::default(),
            ready: Cycle::NEVER,
            crossed: Cycle::ZERO,
            requests: 0,
        };
        let multicast = Multicast::new(shared, number, ports);
        let barrier = Barrier::new(shared, number, ports);
        let first_arbiter = ports + usize::from(multicast.is_some()) + usize::from(barrier.is_some());
        Switch {
            number,
            vcs,
            starving: 0,
            newsy: 0,
            until: Cycle::ZERO,
            agenda: Agenda::new(first_arbiter + planes),
            links: (0..)
                .zip(wires)
                .map(|(port, wire)| Link::new(timing, number, port, *wire, timing.slack))
                .collect(),
            voices: vec![Voice::new(timing); planes].into(),
            inputs: (0..planes).map(input).collect(),
            outputs: (0..planes).map(output).collect(),
            arbiters: ArbiterBank::new(shared.arbiter, planes, ports),
            shares_order: barrier.is_some() && !shared.barrier.dedicated,
            multicast,
            barrier,
            first_arbiter,
        }
    }

    // Slots of the agenda, in the order of the phases of a cycle: links by port, then the arbiter of multicast, the barrier
    // engine, and arbiters by output.

    /// If `at` is `NEVER`, what the link waits for wakes it.
    #[inline]
    fn wake_link(&mut self, port: usize, at: Cycle) {
        if at != Cycle::NEVER {
            self.agenda.schedule(port, at);
        }
    }

    #[inline]
    fn wake_arbiter(&mut self, output: usize, at: Cycle) {
        self.agenda.schedule(self.first_arbiter + output, at);
    }

    /// The link of `port` and its receiving half.
    #[inline]
    fn port(&mut self, port: usize) -> (&mut Link, Fifos<'_>) {
        let vcs = port * self.vcs..(port + 1) * self.vcs;
        (
            &mut self.links[port],
            Fifos { voices: &mut self.voices[vcs.clone()], inputs: &mut self.inputs[vcs] },
        )
    }

    /// Sends the adverts of `port` that were due in the cycles up to `now`.
    #[inline]
    fn catch_up<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        if self.links[port].is_due(now) {
            let (link, mut fifos) = self.port(port);
            link.catch_up(&mut fifos, now, cx);
        }
    }

    /// Lets the first packet of FIFO `input` request its output from the first cycle on in which it can, if that is
    /// known.
    #[inline(always)]
    fn request(&mut self, shared: &Shared, input: usize) {
        let fifo = &mut self.inputs[input];
        if fifo.receiver.is_open() || fifo.waiting.is_empty() {
            return;
        }
        let first = &shared.pools.tokens[fifo.waiting.head()];
        if first.spreads() {
            return self.request_copies(shared, input);
        }
        let hop = first.route.hop();
        let at = fifo.receiver.end().max(first.at + shared.timing.to_crossbar - 1);
        let (port, vc) = (hop.port.index() * self.vcs, usize::from(fifo.vc));
        (fifo.requests_from, fifo.units) = (at, first.units);
        fifo.next = (port + shared.timing.relabel(vc, hop.class)) as u16;
        let output = &mut self.outputs[port + vc];
        output.requests |= 1 << fifo.port;
        if output.crossed != Cycle::NEVER {
            let at = at.max(output.crossed);
            self.wake_arbiter(port + vc, at);
        }
    }

    /// The link of `port` decides.
    fn decide<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        self.catch_up(port, now, cx);
        let link = &self.links[port];
        if link.free_at <= now {
            if link.barrier_at <= now {
                return self.send_signal(port, now, cx);
            }
            let first = port * self.vcs;
            let mut ready = 0;
            for vc in bits(link.waiting.into()) {
                ready |= u16::from(self.outputs[first + vc].ready <= now) << vc;
            }
            if let Some(vc) = first_after(link.data_turn, ready) {
                self.send(first + vc, now, cx);
            }
        }
        self.arm_link(port);
    }

    /// Sees to it that the link of `port` decides when it next can.
    #[inline(always)]
    fn arm_link(&mut self, port: usize) {
        let link = &self.links[port];
        let mut ready = link.barrier_at;
        for vc in bits(link.waiting.into()) {
            ready = ready.min(self.outputs[port * self.vcs + vc].ready);
        }
        self.wake_link(port, ready.max(link.free_at));
    }

    /// The link of `output` has chosen, in cycle `now`, the first packet granted to it.
    #[inline]
    fn send<O: Observer>(&mut self, index: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let in_order = self.shares_order && self.outputs[index].vc == 0;
        if in_order && self.sends_signal_in_order(usize::from(self.outputs[index].port), now, cx) {
            return;
        }
        let output = &mut self.outputs[index];
        let tokens = &mut cx.shared.pools.tokens;
        let slot = tokens.unlink(&mut output.granted);
        let flits = tokens[slot].flits;
        output.granted_flits -= u32::from(flits);
        match tokens.first(&output.granted) {
            Some(next) => output.ready = next.at,
            None => {
                output.ready = Cycle::NEVER;
                self.links[usize::from(output.port)].waiting &= !(1 << output.vc);
            }
        }
        if in_order {
            self.expose_signal(index);
        }
        if self.multicast.is_some() {
            return self.send_any(index, slot, now, cx);
        }
        let Output { crossed, from, .. } = self.outputs[index];
        let (is_open, input) = (crossed == Cycle::NEVER, usize::from(from));
        self.transmit(index, slot, now, cx);
        if is_open {
            // Its flits make room for the packet that is still crossing, which may be this one.
            self.extend(input, index, now, flits, cx);
        }
    }

    /// Puts the packet in `slot`, chosen in cycle `now`, on the link of `output`. Returns when its first flit arrives.
    #[inline(always)]
    fn transmit<O: Observer>(&mut self, output: usize, slot: Slot, now: Cycle, cx: &mut Cx<'_, O>) -> Cycle {
        let Output { port, vc, .. } = self.outputs[output];
        let link = &mut self.links[usize::from(port)];
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let token = &mut pools.tokens[slot];
        token.hops += 1;
        let flits = u64::from(token.flits);
        link.data_turn = vc;
        let free = link.free_at;
        let at = link.send_packet(timing, now, flits);
        cx.observer.departed(&Departure {
            packet: token.name(),
            component: self.number,
            port: PortId(port.into()),
            vc: token.vc,
            flits: token.flits,
            ready: token.at,
            free,
            chosen: now,
            arrives: at,
        });
        pools.send(timing, cx.post, &link.wire, slot, at);
        cx.counters.events += 1;
        cx.counters.packet_hops += 1;
        cx.counters.flit_hops += flits;
        at
    }

    /// The packet crossing from `input` to `output` may go on by `flits`.
    #[inline(always)]
    fn extend<O: Observer>(
        &mut self,
        input: usize,
        output: usize,
        now: Cycle,
        flits: u16,
        cx: &mut Cx<'_, O>,
    ) {
        if self.inputs[input].receiver.stalls_before(now) {
            self.catch_up(usize::from(self.inputs[input].port), now, cx);
        }
        let receiver = &mut self.inputs[input].receiver;
        receiver.extend(&cx.shared.timing, &mut self.voices[input], now, flits);
        let is_open = receiver.is_open();
        self.hear_of_units(cx.shared, input);
        if !is_open {
            let fifo = &self.inputs[input];
            self.links[usize::from(fifo.port)].open &= !(1 << fifo.vc);
            self.close(cx.shared, input, output);
        }
    }

    /// The run of the packet crossing from `input` has been set: units will leave.
    #[inline(always)]
    fn hear_of_units(&mut self, shared: &Shared, input: usize) {
        let fifo = &self.inputs[input];
        let (port, news) = (usize::from(fifo.port), self.voices[input].news);
        if news != Cycle::NEVER {
            self.links[port].expect_news(news);
            self.newsy |= u64::from(fifo.receiver.is_tight(shared.timing.slack)) << port;
        }
    }

    /// It has become known when the packet crossing from `input` to `output` will have crossed.
    #[inline(always)]
    fn close(&mut self, shared: &Shared, input: usize, output: usize) {
        let end = self.inputs[input].receiver.end();
        self.outputs[output].crossed = end;
        if self.outputs[output].requests != 0 {
            self.wake_arbiter(output, end);
        }
        if self.multicast.is_some() {
            self.wake_requests(end);
        }
        self.request(shared, input);
    }

    /// The arbiter of `output` looks at its requests.
    fn arbitrate<O: Observer>(&mut self, output: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let (requests, crossed) = (self.outputs[output].requests, self.outputs[output].crossed);
        if requests == 0 || crossed == Cycle::NEVER {
            // While a packet is crossing with open end, its end wakes the arbiter.
            return;
        }
        if crossed > now {
            self.wake_arbiter(output, crossed);
            return;
        }
        if self.multicast.is_some() && self.is_reserved(output) {
            // The grant of the packet that it is kept for wakes the arbiter.
            return;
        }
        let eligible = self.eligible(cx.shared, output, now);
        if eligible == 0 {
            self.await_chance(cx.shared, output, now);
        } else {
            let port = self.arbiters.grant(output, eligible);
            self.grant(port, output, now, cx);
        }
    }

    /// The requests at `output` that stand in cycle `now` and for whose packets the credits suffice.
    #[inline(always)]
    fn eligible(&mut self, shared: &mut Shared, output: usize, now: Cycle) -> u64 {
        let Output { vc, requests, .. } = self.outputs[output];
        let mut eligible = 0;
        for from in bits(requests) {
            let fifo = &self.inputs[from * self.vcs + usize::from(vc)];
            if fifo.requests_from <= now {
                let next = if fifo.gathers { output } else { usize::from(fifo.next) };
                let sender = &mut self.outputs[next].sender;
                let fits = sender.has(&mut shared.pools.limits, now, u32::from(fifo.units));
                eligible |= u64::from(fits) << from;
            }
        }
        eligible
    }

    /// Has the arbiter of `output` look again when the next request stands, or the next advert counts or comes in.
    fn await_chance(&mut self, shared: &Shared, output: usize, now: Cycle) {
        let Output { vc, requests, .. } = self.outputs[output];
        for from in bits(requests) {
            let fifo = &self.inputs[from * self.vcs + usize::from(vc)];
            let requests_from = fifo.requests_from;
            if requests_from > now {
                self.wake_arbiter(output, requests_from);
                continue;
            }
            let next = if fifo.gathers { output } else { usize::from(fifo.next) };
            let sender = &mut self.outputs[next].sender;
            let starved = sender.starved;
            match sender.next_advert(&shared.pools.limits) {
                Some(at) => self.wake_arbiter(output, at),
                None => self.starving += u32::from(!starved),
            }
        }
    }

    /// The packet from input port `from` may cross to `index` from the next cycle on.
    #[inline]
    fn grant<O: Observer>(&mut self, from: usize, index: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        self.catch_up(from, now, cx);
        let vc = self.outputs[index].vc;
        let input = from * self.vcs + usize::from(vc);
        if self.multicast.is_some() && self.inputs[input].gathers {
            return self.keep(from, index, now, cx);
        }
        let fifo = &mut self.inputs[input];
        let first = usize::from(self.outputs[index].port) * self.vcs;
        let next_vc = (usize::from(fifo.next) - first) as u8;
        self.outputs[usize::from(fifo.next)].sender.take(u32::from(fifo.units));
        let output = &mut self.outputs[index];
        output.requests &= !(1 << from);
        output.from = input as u16;
        let (requested, free) = (fifo.requests_from, output.crossed);
        let Shared { timing, routing, pools, .. } = &mut *cx.shared;
        let ready = now + 1 + timing.transmit_buffer;
        let slot = pools.tokens.unlink(&mut fifo.waiting);
        let token = &mut pools.tokens[slot];
        cx.observer.passed(&Passage {
            packet: token.name(),
            switch: self.number,
            input: PortId::new(from),
            vc,
            outputs: 1 << output.port,
            arrived: token.at,
            ready: token.at + timing.to_crossbar - 1,
            requested,
            free: Some(free),
            granted: now,
        });
        token.advance(routing, self.number, next_vc);
        token.at = ready;
        let (flits, units, port) = (token.flits, fifo.units, usize::from(output.port));
        if self.is_certain(index, now, ready, cx) {
            let fifo = &mut self.inputs[input];
            fifo.receiver.begin(&cx.shared.timing, &mut self.voices[input], now + 1, flits, flits, units);
            self.hear_of_units(cx.shared, input);
            self.close(cx.shared, input, index);
            self.transmit(index, slot, ready, cx);
        } else {
            self.queue(input, index, slot, now, ready, cx);
        }
        if self.shares_order && vc == 0 {
            self.pass_turn_in(from, now);
        }
        let (output, input) = (PortId::new(port), PortId::new(from));
        cx.counters.events += 1;
        cx.observer.granted(&Grant { cycle: now, switch: self.number, output, vc, input });
    }

    /// Whether a packet that is granted now, in cycle `now`, will be chosen by its link in cycle `ready`, when it is ready,
    /// whatever happens until then: nothing else is waiting or may be granted in this cycle too, here or as the last output
    /// of a packet that keeps this one; nothing is or will be to be advertised; what is granted later is ready later, and so
    /// is what the barrier engine, which has had its turn in this cycle, makes later. Then it need not queue.
    #[inline]
    fn is_certain<O: Observer>(
        &mut self,
        output: usize,
        now: Cycle,
        ready: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> bool {
        let port = usize::from(self.outputs[output].port);
        let link = &self.links[port];
        if (link.waiting | link.open != 0)
            | (link.free_at > ready)
            | (link.barrier_at <= ready)
            | (ready >= self.until)
            | !cx.shared.timing.cuts_through
        {
            return false;
        }
        self.catch_up(port, now, cx);
        let arbiters = self.first_arbiter;
        let others = arbiters + output + 1..arbiters + (port + 1) * self.vcs;
        !self.links[port].is_due(ready)
            && self.links[port].free_at <= ready
            && !self.agenda.is_due(others, now)
            && !self.is_kept(port)
    }

    /// The packet in `slot` waits for the link of `output`, which it reaches in cycle `ready`.
    fn queue<O: Observer>(
        &mut self,
        input: usize,
        index: usize,
        slot: Slot,
        now: Cycle,
        ready: Cycle,
        cx: &mut Cx<'_, O>,
    ) {
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let (fifo, output) = (&mut self.inputs[input], &mut self.outputs[index]);
        let flits = pools.tokens[slot].flits;
        pools.tokens.append(&mut output.granted, slot);
        let room = timing.tx_fifo.saturating_sub(output.granted_flits);
        let upto = if u32::from(flits) <= room { flits } else { room as u16 };
        fifo.receiver.begin(timing, &mut self.voices[input], now + 1, upto, flits, fifo.units);
        output.granted_flits += u32::from(flits);
        output.ready = output.ready.min(ready);
        let (port, vc) = (usize::from(output.port), output.vc);
        let link = &mut self.links[port];
        link.waiting |= 1 << vc;
        let decides = ready.max(link.free_at);
        let is_open = fifo.receiver.is_open();
        if is_open {
            output.crossed = Cycle::NEVER;
            self.links[usize::from(fifo.port)].open |= 1 << fifo.vc;
        }
        if self.shares_order && vc == 0 {
            self.expose_signal(index);
        }
        self.wake_link(port, decides);
        self.hear_of_units(cx.shared, input);
        if !is_open {
            self.close(cx.shared, input, index);
        }
    }

    /// Takes in the packet in `slot`, which is on the way.
    #[inline]
    fn expect(&mut self, shared: &mut Shared, slot: Slot) {
        let token = &shared.pools.tokens[slot];
        let port = usize::from(token.port);
        let input = port * self.vcs + usize::from(token.vc);
        let fifo = &mut self.inputs[input];
        self.newsy |= u64::from(fifo.receiver.arrive(token.units, shared.timing.slack)) << port;
        let first = fifo.waiting.is_empty();
        shared.pools.tokens.append(&mut fifo.waiting, slot);
        if first {
            self.request(shared, input);
        }
    }

    /// Takes in the advert in `slot`.
    fn hear(&mut self, shared: &mut Shared, slot: Slot) {
        let limit = shared.pools.limits[slot];
        let (port, vc, lanes) = (usize::from(limit.port), usize::from(limit.vc), shared.timing.lanes);
        let sender = &mut self.outputs[port * self.vcs + vc].sender;
        if sender.advertise(&mut shared.pools.limits, slot) {
            self.starving -= 1;
            let from = limit.from.max(self.until);
            // Every crossbar whose packets may be relabelled to this VC.
            for lane in (vc % lanes..self.vcs).step_by(lanes) {
                self.wake_arbiter(port * self.vcs + lane, from);
            }
            if self.multicast.is_some() {
                self.wake_requests(from);
            }
        }
    }
}

/// Bytes of a switch per port.
pub(super) fn bytes_per_port(vcs: usize, ports: usize) -> usize {
    let per_vc = size_of::<Voice>() + size_of::<Input>() + size_of::<Output>() + ArbiterBank::bytes(ports);
    let slots = ports * (1 + vcs);
    size_of::<Link>() + vcs * per_vc + (size_of::<Switch>() + Agenda::bytes(slots)) / ports
}

impl SwitchModel<Hpp> for Switch {
    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        self.agenda.pass(start);
        while !inbox.adverts.is_empty() {
            let slot = shared.pools.limits.unlink(&mut inbox.adverts);
            self.hear(shared, slot);
        }
        for slot in inbox.packets.drain(..) {
            self.expect(shared, slot);
        }
        while !inbox.runs.is_empty() {
            let slot = shared.pools.runs.unlink(&mut inbox.runs);
            let run = shared.pools.runs.take(slot);
            self.hear_run(shared, run);
        }
        while !inbox.signals.is_empty() {
            let slot = shared.pools.signals.unlink(&mut inbox.signals);
            let signal = shared.pools.signals.take(slot);
            self.hear_signal(shared, signal);
        }
    }

    #[inline]
    fn prefetch(&self, shared: &Shared, post: &Post<Hpp>, place: usize, until: Cycle, stage: usize) {
        let packets = &post.inbox_of(place).packets;
        match stage {
            4 => prefetch::item(self),
            3 => {
                self.agenda.prefetch(until);
                prefetch::slice(packets);
            }
            2 => self.prefetch_first(shared, packets, until),
            1 => self.prefetch_second(shared, packets, until),
            _ => self.prefetch_third(shared, packets, until, post),
        }
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        self.until = until;
        while let Some((now, slot)) = self.agenda.pop(until) {
            cx.counters.wakes += 1;
            if slot < self.links.len() {
                self.decide(slot, now, cx);
            } else if let Some(output) = slot.checked_sub(self.first_arbiter) {
                self.arbitrate(output, now, cx);
            } else if slot + 1 == self.first_arbiter && self.barrier.is_some() {
                self.run_engine(now, cx);
            } else {
                self.run_multicast(now, cx);
            }
        }
        let mut next = self.agenda.next().unwrap_or(Cycle::NEVER);
        for port in bits(self.newsy) {
            let (link, mut fifos) = self.port(port);
            match link.finish(&mut fifos, until, cx) {
                Cycle::NEVER => self.newsy &= !(1 << port),
                news => next = next.min(news),
            }
        }
        Rest { next, waits: self.starving > 0 }
    }

    fn settle<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        for port in (0..self.links.len()).filter(|_| now > Cycle::ZERO) {
            self.catch_up(port, now - 1, cx);
        }
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        self.packets_waiting(shared, now)
    }

    fn position(&self, shared: &Shared, port: PortId, vc: u8, now: Cycle) -> u32 {
        self.position_of(shared, port, vc, now)
    }

    fn queued_flits(&self, shared: &Shared, inbox: &Inbox, now: Cycle) -> u64 {
        let tokens = &shared.pools.tokens;
        let waiting = self.inputs.iter().flat_map(|input| tokens.iter(&input.waiting));
        let coming = inbox.packets.iter().map(|&slot| &tokens[slot]);
        let come = waiting.chain(coming).filter(|token| token.at < now).map(|token| u64::from(token.flits));
        come.sum::<u64>() + self.outputs.iter().map(|output| u64::from(output.granted_flits)).sum::<u64>()
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        Some(self.links[port.index()].sent)
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        for input in &self.inputs {
            input.receiver.audit(&shared.timing, now, books);
            shared.pools.audit(&input.waiting, books);
        }
        self.audit_kept(books);
        self.audit_signals(books);
        for output in &self.outputs {
            books.units_sent += u64::from(output.sender.sent());
            // Their credits on the next link have been taken already.
            shared.pools.audit(&output.granted, books);
        }
    }
}
