//! The switch at packet cost. What it does in which cycle is said in the [parent module](super).
//!
//! A granted packet moves in *runs* of one flit a cycle, so three decisions describe all of its flits: the grant, the
//! choice by the link, and (if its TX FIFO filled up meanwhile) where it stalls. An [`Agenda`] slot stands for each
//! decision that is due: first the links of a cycle, then the arbiters.

use super::Shared;
use super::credit::{Receiver, Sender};
use super::link::{Link, Receivers, first_after};
use super::token::{Arriving, Limit, Mail};
use crate::PortId;
use crate::arbiter::ArbiterBank;
use crate::observer::{Grant, Observer};
use crate::pool::List;
use crate::simulation::{Conservation, Context, Rest, SwitchModel, Wire};
use flitway_engine::Cycle;
use flitway_engine::agenda::Agenda;

type Cx<'a, O> = Context<'a, Shared, Mail, O>;

/// An HPP Switch.
#[derive(Debug)]
pub struct Switch {
    number: u32,
    vcs: usize,
    agenda: Agenda,
    /// The sending half of each port. Where nothing is connected nothing is ever routed to, nor received.
    links: Box<[Link]>,
    /// Ports that may have news that the other end needs.
    newsy: u64,
    /// Senders that wait for adverts.
    starving: u32,
    /// The first cycle not yet run.
    now: Cycle,
    /// FIFOs, `port * vcs + vc`.
    inputs: Box<[Input]>,
    /// Crossbar outputs, `port * vcs + vc`.
    outputs: Box<[Output]>,
    arbiters: ArbiterBank,
}

/// One input FIFO.
#[derive(Clone, Debug)]
struct Input {
    receiver: Receiver,
    /// Packets that have not been granted yet, some of them still on the way.
    waiting: List,
    /// The cycle in which the last flit of the packet now crossing crosses; `NEVER` while that is open.
    crossed: Cycle,
    /// Of the first waiting packet, once that is known: when it begins to request, its credit units, and its VC on the
    /// next link.
    requests_from: Cycle,
    units: u16,
    next_vc: u8,
}

/// One output of one crossbar, with its TX FIFO and the sender half of the VC of the same number.
#[derive(Clone, Debug)]
struct Output {
    sender: Sender,
    /// Packets granted and not yet chosen by the link.
    granted: List,
    /// When the first of them is ready for the link; `NEVER` if there is none.
    ready: Cycle,
    /// Their flits.
    granted_flits: u32,
    /// The cycle in which the last flit of the packet now crossing crosses; `NEVER` while that is open.
    crossed: Cycle,
    /// The input it crosses from.
    from: u16,
    /// Inputs whose first packet requests this output, now or from a known cycle on.
    requests: u64,
}

/// The FIFOs of one port.
struct Fifos<'a>(&'a mut [Input]);

impl Receivers for Fifos<'_> {
    #[inline]
    fn get(&mut self, vc: usize) -> &mut Receiver {
        &mut self.0[vc].receiver
    }
}

impl Switch {
    pub(super) fn new(shared: &Shared, number: u32, wires: &[Option<Wire>]) -> Self {
        let (timing, ports) = (&shared.timing, wires.len());
        let input = Input {
            receiver: Receiver::new(timing),
            waiting: List::default(),
            crossed: Cycle::ZERO,
            requests_from: Cycle::ZERO,
            units: 0,
            next_vc: 0,
        };
        let output = Output {
            sender: Sender::new(timing),
            granted: List::default(),
            ready: Cycle::NEVER,
            granted_flits: 0,
            crossed: Cycle::ZERO,
            from: 0,
            requests: 0,
        };
        let planes = ports * timing.vcs;
        Switch {
            number,
            vcs: timing.vcs,
            agenda: Agenda::new(ports + planes),
            links: (0..).zip(wires).map(|(port, wire)| Link::new(timing, number, port, *wire)).collect(),
            newsy: 0,
            starving: 0,
            now: Cycle::ZERO,
            inputs: vec![input; planes].into(),
            outputs: vec![output; planes].into(),
            arbiters: ArbiterBank::new(shared.arbiter, planes, ports),
        }
    }

    // Slots of the agenda, in the order of the phases of a cycle.

    fn link_slot(port: usize) -> usize {
        port
    }

    fn arbiter_slot(&self, output: usize) -> usize {
        self.links.len() + output
    }

    /// Lets the first packet of FIFO `input` request its output from the first cycle on in which it can, if that is
    /// known.
    #[inline]
    fn request(&mut self, shared: &Shared, input: usize) {
        let fifo = &mut self.inputs[input];
        let Some(first) = shared.tokens.first(&fifo.waiting).filter(|_| fifo.crossed != Cycle::NEVER) else {
            return;
        };
        let (port, vc) = (input / self.vcs, input % self.vcs);
        let hop = first.route.hop();
        fifo.requests_from = fifo.crossed.max(first.at + shared.timing.to_crossbar - 1);
        fifo.units = first.units;
        fifo.next_vc = shared.timing.relabel(vc, hop.class) as u8;
        let at = fifo.requests_from;
        let index = hop.port.index() * self.vcs + vc;
        let output = &mut self.outputs[index];
        output.requests |= 1 << port;
        if output.crossed != Cycle::NEVER {
            let at = at.max(output.crossed);
            self.agenda.schedule(self.arbiter_slot(index), at);
        }
    }

    /// Sees to it that the link of `port` decides when it next can.
    #[inline]
    fn arm_link(&mut self, port: usize) {
        let mut ready = Cycle::NEVER;
        for output in &self.outputs[port * self.vcs..(port + 1) * self.vcs] {
            ready = ready.min(output.ready);
        }
        if ready != Cycle::NEVER {
            self.agenda.schedule(Self::link_slot(port), ready.max(self.links[port].free_at));
        }
    }

    /// Sends the adverts of `port` that were due in the cycles up to `now`.
    #[inline]
    fn catch_up<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let link = &mut self.links[port];
        if link.is_due(now) {
            let fifos = &mut Fifos(&mut self.inputs[port * self.vcs..(port + 1) * self.vcs]);
            link.send_adverts(fifos, &cx.shared.timing, now, &mut cx.effects);
        }
    }

    /// The packet crossing from `input` goes on: units will be freed, and the next packet may request.
    #[inline]
    fn arm_after(&mut self, shared: &Shared, input: usize) {
        self.request(shared, input);
        let port = input / self.vcs;
        self.links[port].expect_news(self.inputs[input].receiver.news);
        self.newsy |= 1 << port;
    }

    /// The link of `port` decides.
    fn decide<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        self.catch_up(port, now, cx);
        if self.links[port].free_at <= now
            && let Some(vc) = self.choose(port, now)
        {
            self.send(port, vc, now, cx);
        }
        self.arm_link(port);
    }

    /// Round robin over the VCs of `port` that have a packet ready.
    #[inline]
    fn choose(&self, port: usize, now: Cycle) -> Option<usize> {
        let outputs = &self.outputs[port * self.vcs..(port + 1) * self.vcs];
        first_after(self.links[port].data_turn, self.vcs, |vc| outputs[vc].ready <= now)
    }

    /// Sends the first granted packet of `vc` on the link of `port`.
    fn send<O: Observer>(&mut self, port: usize, vc: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let index = port * self.vcs + vc;
        let output = &mut self.outputs[index];
        let Some(mut token) = cx.shared.tokens.pop(&mut output.granted) else { return };
        let flits = u32::from(token.flits);
        output.granted_flits -= flits;
        output.ready = cx.shared.tokens.first(&output.granted).map_or(Cycle::NEVER, |next| next.at);
        let (open, from) = (output.crossed == Cycle::NEVER, usize::from(output.from));
        let link = &mut self.links[port];
        link.data_turn = vc as u8;
        token.at = link.send(&cx.shared.timing, now, u64::from(flits));
        token.hops += 1;
        let counters = &mut cx.effects.counters;
        counters.packet_hops += 1;
        counters.flit_hops += u64::from(flits);
        let by = token.felt_at(&cx.shared.timing);
        cx.effects.post.send(link.wire.peer, by, Mail::Packet(Arriving { port: link.wire.port, token }));
        if open {
            // Its flits make room for the packet that is still crossing, which may be this one.
            let input = from * self.vcs + vc;
            self.catch_up(from, now, cx);
            let receiver = &mut self.inputs[input].receiver;
            receiver.extend(&cx.shared.timing, now, flits);
            if !receiver.is_open() {
                self.close(input, index);
            }
            self.arm_after(cx.shared, input);
        }
    }

    /// It has become known when the packet crossing from `input` to `output` will have crossed.
    fn close(&mut self, input: usize, output: usize) {
        let end = self.inputs[input].receiver.end();
        self.inputs[input].crossed = end;
        self.outputs[output].crossed = end;
        if self.outputs[output].requests != 0 {
            self.agenda.schedule(self.arbiter_slot(output), end);
        }
    }

    /// The arbiter of `output` looks at its requests.
    fn arbitrate<O: Observer>(&mut self, output: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let (requests, crossed) = (self.outputs[output].requests, self.outputs[output].crossed);
        if requests == 0 || crossed == Cycle::NEVER {
            // While a packet is crossing with open end, its end wakes the arbiter.
            return;
        }
        if crossed > now {
            self.agenda.schedule(self.arbiter_slot(output), crossed);
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
    #[inline]
    fn eligible(&mut self, shared: &mut Shared, output: usize, now: Cycle) -> u64 {
        let (port, vc) = (output / self.vcs, output % self.vcs);
        let mut eligible = 0;
        for from in bits(self.outputs[output].requests) {
            let fifo = &self.inputs[from * self.vcs + vc];
            let sender = &mut self.outputs[port * self.vcs + usize::from(fifo.next_vc)].sender;
            if fifo.requests_from <= now && sender.has(&mut shared.adverts, now, u32::from(fifo.units)) {
                eligible |= 1 << from;
            }
        }
        eligible
    }

    /// Has the arbiter of `output` look again when the next request stands, or the next advert counts or comes in.
    fn await_chance(&mut self, shared: &Shared, output: usize, now: Cycle) {
        let (port, vc) = (output / self.vcs, output % self.vcs);
        for from in bits(self.outputs[output].requests) {
            let fifo = &self.inputs[from * self.vcs + vc];
            if fifo.requests_from > now {
                self.agenda.schedule(self.arbiter_slot(output), fifo.requests_from);
                continue;
            }
            let sender = &mut self.outputs[port * self.vcs + usize::from(fifo.next_vc)].sender;
            let starved = sender.starved;
            match sender.next_advert(&shared.adverts) {
                Some(at) => self.agenda.schedule(self.arbiter_slot(output), at),
                None => self.starving += u32::from(!starved),
            }
        }
    }

    /// The packet from input port `from` may cross to `index` from the next cycle on.
    fn grant<O: Observer>(&mut self, from: usize, index: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let (port, vc) = (PortId::new(index / self.vcs), index % self.vcs);
        let input = from * self.vcs + vc;
        self.catch_up(from, now, cx);
        let fifo = &mut self.inputs[input];
        let units = u32::from(fifo.units);
        self.outputs[port.index() * self.vcs + usize::from(fifo.next_vc)].sender.take(units);
        let output = &mut self.outputs[index];
        output.requests &= !(1 << from);
        output.from = from as u16;
        let (timing, routing) = (&cx.shared.timing, &cx.shared.routing);
        let ready = now + 1 + timing.transmit_buffer;
        let mut flits = 0;
        cx.shared.tokens.transfer(&mut fifo.waiting, &mut output.granted, |token| {
            flits = u32::from(token.flits);
            token.advance(routing, self.number, fifo.next_vc);
            token.at = ready;
        });
        let room = timing.tx_fifo.saturating_sub(output.granted_flits);
        fifo.receiver.begin(timing, now + 1, flits.min(room), flits, fifo.units);
        output.granted_flits += flits;
        output.ready = output.ready.min(ready);
        if fifo.receiver.is_open() {
            (fifo.crossed, output.crossed) = (Cycle::NEVER, Cycle::NEVER);
        } else {
            self.close(input, index);
        }
        let decides = ready.max(self.links[port.index()].free_at);
        self.agenda.schedule(Self::link_slot(port.index()), decides);
        self.arm_after(cx.shared, input);
        let grant =
            Grant { cycle: now, switch: self.number, output: port, vc: vc as u8, input: PortId::new(from) };
        cx.effects.observer.granted(&grant);
    }
}

/// Bytes of a switch per port.
pub(super) fn bytes_per_port(vcs: usize, ports: usize) -> usize {
    let per_vc = size_of::<Input>() + size_of::<Output>() + ports;
    let slots = ports * (1 + vcs);
    size_of::<Link>() + vcs * per_vc + (size_of::<Switch>() + Agenda::bytes(slots)) / ports
}

/// The positions of the ones in `mask`.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then_some(mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(bit)
    })
}

impl SwitchModel for Switch {
    type Shared = Shared;
    type Mail = Mail;

    fn receive(&mut self, shared: &mut Shared, mail: Mail) {
        match mail {
            Mail::Packet(Arriving { port, token }) => {
                let input = usize::from(port) * self.vcs + usize::from(token.vc);
                let fifo = &mut self.inputs[input];
                fifo.receiver.arrive(token.units);
                if fifo.receiver.is_tight(&shared.timing) {
                    self.newsy |= 1 << port;
                }
                let first = fifo.waiting.is_empty();
                shared.tokens.push(&mut fifo.waiting, token);
                if first {
                    self.request(shared, input);
                }
            }
            Mail::Advert(Limit { port, vc, from, position }) => {
                let (port, vc) = (usize::from(port) * self.vcs, usize::from(vc));
                let sender = &mut self.outputs[port + vc].sender;
                sender.advertise(&mut shared.adverts, from, position);
                if std::mem::take(&mut sender.starved) {
                    self.starving -= 1;
                    let from = from.max(self.now);
                    // Every crossbar whose packets may be relabelled to this VC.
                    for lane in (vc % shared.timing.lanes..self.vcs).step_by(shared.timing.lanes) {
                        self.agenda.schedule(self.arbiter_slot(port + lane), from);
                    }
                }
            }
        }
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        let arbiters = self.links.len();
        while let Some((now, slot)) = self.agenda.pop(until) {
            cx.effects.counters.events += 1;
            if slot < arbiters {
                self.decide(slot, now, cx);
            } else {
                self.arbitrate(slot - arbiters, now, cx);
            }
        }
        let mut next = self.agenda.next().unwrap_or(Cycle::NEVER);
        for port in bits(self.newsy) {
            let fifos = &mut Fifos(&mut self.inputs[port * self.vcs..(port + 1) * self.vcs]);
            match self.links[port].finish(fifos, &cx.shared.timing, until, &mut cx.effects) {
                Cycle::NEVER => self.newsy &= !(1 << port),
                news => next = next.min(news),
            }
        }
        self.now = until;
        Rest { next, waits: self.starving > 0 }
    }

    fn settle<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        for port in (0..self.links.len()).filter(|_| now > Cycle::ZERO) {
            self.catch_up(port, now - 1, cx);
        }
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        for input in &self.inputs {
            input.receiver.audit(&shared.timing, now, books);
            for token in shared.tokens.iter(&input.waiting) {
                books.in_network += 1;
                books.units_held += u64::from(token.units);
            }
        }
        for output in &self.outputs {
            books.units_sent += u64::from(output.sender.sent());
            // Their credits on the next link have been taken already.
            for token in shared.tokens.iter(&output.granted) {
                books.in_network += 1;
                books.units_held += u64::from(token.units);
            }
        }
    }
}
