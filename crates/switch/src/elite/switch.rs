//! A switch: what it has to do, and when.
//!
//! It looks at an output when its plan ([`Sender`]) ends or something that it did not foresee comes, at requests when they
//! can be made and when something has been freed, and at nothing in other cycles. The steps of a cycle are those of the text
//! in `elite/mod.rs`.

mod copies;
mod deadlock;
mod faults;
mod grant;

use super::forecast::{Forecast, Run};
use super::packet_state::{Answer, Inbox, Mail, PacketState, Verdict};
use super::period::Places;
use super::sender::{Lane, Place, Sender, post};
use super::{Cx, Elite, Shared};
use copies::Copies;
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::bits::bits;
use flitway_fabric::component::{PostOf, Rest, Stage, SwitchModel};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::{LinkErrorKind, Observer};
use flitway_fabric::simulation::{Conservation, Wire, Wires};
use flitway_wiring::topology::End;
use flitway_wiring::{NodeSet, PortId, SwitchId};
use std::collections::VecDeque;
use std::sync::Arc;

/// An incoming virtual channel.
#[derive(Debug)]
struct Input {
    /// When flits are ready, and how many of packets that have gone have left the buffer, since the start.
    flits: Forecast,
    taken: u64,
    /// Packets whose heads have come or are about to, and which have been given no output.
    heads: VecDeque<Box<PacketState>>,
    /// The output and virtual channel that the first packet has.
    output: Option<(u16, u8)>,
    /// What becomes of the first packet, if it is a broadcast.
    copies: Option<Box<Copies>>,
    /// The packet that it holds is corrupt.
    is_corrupt: bool,
    /// Flits of the packets that have come and whose last flit has not left, and of all that have left, modulo 2^32.
    held: u64,
    freed: u32,
    /// Packets that are done with it, modulo 2^32.
    released: u32,
}

impl Input {
    /// All flits of its packet, so many, have been sent by an output. Says whether the packet is corrupt.
    #[inline]
    fn part_with(&mut self, flits: u32) -> bool {
        let is_corrupt = self.is_corrupt;
        if self.copies.as_mut().is_none_or(|copies| copies.part()) {
            self.held -= u64::from(flits);
            self.freed = self.freed.wrapping_add(flits);
            self.taken += u64::from(flits);
            self.is_corrupt = false;
        }
        is_corrupt
    }
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    number: u32,
    here: SwitchId,
    vcs: usize,
    ports: u32,
    /// By port and virtual channel.
    inputs: Box<[Input]>,
    /// By port: the way back to who sends.
    backs: Box<[Option<Wire>]>,
    /// By port; where links break, and the drain after them.
    outputs: Box<[Option<Sender>]>,
    /// By port: when the output needs another plan, and when an answer comes to it, as far as known.
    dues: Box<[Cycle]>,
    answers: Box<[Cycle]>,
    /// Incoming virtual channels whose first packet has no output, with the cycle from which on it requests; in that order.
    waiting: Vec<(Cycle, u16)>,
    /// The port at which the next packet that has a choice looks first.
    turn: u32,
    /// An outgoing virtual channel has been freed.
    has_freed: bool,
    /// When it has to be looked how credits of broadcasts come back.
    copies_due: Cycle,
    /// Copies that links to nodes have corrupted.
    copies_lost: u64,
    /// When one of its links goes down or comes up next.
    fault_due: Cycle,
    /// The next cycle in which something may have to be done.
    due: Cycle,
}

/// The ports of which the cycle is no later than `now`, as bits.
#[inline]
fn due_by(cycles: &[Cycle], now: Cycle) -> u64 {
    let mut due = 0;
    for &at in cycles.iter().rev() {
        due = due << 1 | u64::from(at <= now);
    }
    due
}

/// The first of `cycles`.
#[inline]
fn first_of(cycles: &[Cycle]) -> Cycle {
    cycles.iter().fold(Cycle::NEVER, |first, &at| first.min(at))
}

/// Bytes of a switch port.
pub(super) fn bytes_per_port(vcs: usize) -> usize {
    size_of::<Sender>() + vcs * (size_of::<Input>() + size_of::<Lane>() + 256)
}

impl Switch {
    pub(super) fn new(shared: &Shared, number: u32, wires: &[Wires]) -> Self {
        let topology = shared.routings.first().topology();
        let here = SwitchId(number % topology.switches());
        let input = || Input {
            flits: Forecast::new(0),
            taken: 0,
            heads: VecDeque::new(),
            output: None,
            copies: None,
            is_corrupt: false,
            held: 0,
            freed: 0,
            released: 0,
        };
        let output = |(port, wires): (u32, &Wires)| {
            let port = PortId(port);
            let leads_to_node = matches!(topology.wire(here, port), Some((_, End::Node(_))));
            let place = Place { component: number, port };
            Some(Sender::new(shared, place, wires.out?, wires.rate, leads_to_node).with_answers(shared))
        };
        let mut outputs: Vec<_> = (0..).zip(wires).map(output).collect();
        if !shared.faults.are_none() {
            let place = Place { component: number, port: PortId::new(wires.len()) };
            outputs.push(Some(Sender::drain(shared, place)));
        }
        let fault_due = faults::next_change(&outputs, None);
        Switch {
            number,
            here,
            vcs: shared.vcs,
            ports: wires.len() as u32,
            inputs: (0..wires.len() * shared.vcs).map(|_| input()).collect(),
            backs: wires.iter().map(|wires| wires.back).collect(),
            dues: vec![Cycle::NEVER; outputs.len()].into(),
            answers: vec![Cycle::NEVER; outputs.len()].into(),
            outputs: outputs.into(),
            waiting: Vec::new(),
            turn: 0,
            has_freed: false,
            copies_due: Cycle::NEVER,
            copies_lost: 0,
            fault_due,
            due: fault_due,
        }
    }

    /// Everything that is to be done in cycle `now`.
    fn step<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        if self.fault_due <= now {
            self.note_faults(cx, now);
        }
        let mut touched = due_by(&self.dues, now);
        for output in bits(touched) {
            self.settle_output(cx, now, output);
        }
        for output in bits(due_by(&self.answers, now)) {
            self.hear_answers(cx, now, output);
        }
        if self.has_freed || self.waiting.iter().any(|&(at, _)| at == now) {
            self.has_freed = false;
            touched |= self.grant(cx, now);
        }
        for output in bits(touched) {
            self.send(cx, now, output);
        }
        if self.copies_due <= now {
            self.give_back_of_copies(cx, now);
        }
    }

    /// When something is due after cycle `now`.
    fn next_due(&self, now: Cycle) -> Cycle {
        let later = self.waiting.partition_point(|&(at, _)| at <= now);
        let asks = self.waiting.get(later).map_or(Cycle::NEVER, |&(at, _)| at);
        let other = asks.min(self.copies_due).min(self.fault_due);
        other.min(first_of(&self.dues)).min(first_of(&self.answers))
    }

    /// Enters what output `number` has sent before cycle `now`, and which packets have gone.
    fn settle_output<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize) {
        let Some(output) = &mut self.outputs[number] else { return };
        output.settle(cx.shared.period, now);
        for vc in bits(output.note_gone()) {
            self.finish(cx, now, number, vc);
        }
    }

    /// The last flit of the packet that has `vc` of output `number` has been sent in the cycle before `now`.
    fn finish<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize, vc: usize) {
        let Some(output) = &mut self.outputs[number] else { return };
        let mut is_corrupt = output.corrupts(cx.shared.period, vc);
        if is_corrupt {
            output.count(cx, now, LinkErrorKind::Corrupted);
        }
        is_corrupt |= output.breaks(vc, now, cx.shared.settings.pipeline.transmit);
        let lane = &mut output.lanes[vc];
        if let Some(owner) = lane.owner {
            is_corrupt |= self.inputs[usize::from(owner)].part_with(lane.flits);
        }
        if output.is_drain {
            // Refused: the packet is gone, and its NACK comes.
            self.copies_lost += u64::from(lane.is_broadcast);
            let settings = &cx.shared.settings;
            let node = settings.answer.map_or(0, |answer| answer.node);
            let at = now + u64::from(settings.pipeline.transmit + node + 2);
            (lane.state, lane.verdict, lane.answer_at) = (None, Verdict::Nack, at);
            self.answers[number] = self.answers[number].min(at);
            return;
        }
        let settings = &cx.shared.settings;
        if let Some(mut state) = lane.state.take() {
            state.is_corrupt = is_corrupt;
            lane.verdict = if is_corrupt { Verdict::Nack } else { Verdict::True };
            self.copies_lost += u64::from(is_corrupt & lane.is_broadcast);
            let wire = &output.wire;
            let received = now + u64::from(settings.pipeline.transmit + wire.latency);
            if let Some(answer) = settings.answer {
                lane.answer_at = received + u64::from(answer.node + wire.latency);
                self.answers[number] = self.answers[number].min(lane.answer_at);
            }
            post(cx.post, wire, received, Mail::Whole(wire.port, vc as u8, received, state));
        } else if is_corrupt {
            output.tell_corrupt(cx, vc);
        }
        let settings = &cx.shared.settings;
        if settings.answer.is_none() {
            self.release(cx, now, number, vc);
        }
    }

    /// The answers that have come to output `number` by cycle `now` release what their packets have held, and go on.
    fn hear_answers<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize) {
        let Some(output) = &self.outputs[number] else { return };
        for vc in bits(output.answers(now)) {
            let Some(output) = &mut self.outputs[number] else { continue };
            let said = output.hear(cx, now, vc);
            if output.lanes[vc].is_broadcast {
                self.combine(cx, now, number, vc);
            } else if let Some(input) = self.release(cx, now, number, vc) {
                self.answer(cx, now, input, said, None);
            }
        }
        self.answers[number] = self.outputs[number].as_ref().map_or(Cycle::NEVER, Sender::next_answer);
    }

    /// Sends the answer to the packet of incoming virtual channel `input` on, of a NACK with those that lack a broadcast.
    fn answer<O>(
        &self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        input: usize,
        (verdict, is_void): (Verdict, bool),
        missing: Option<Arc<NodeSet>>,
    ) {
        if let (Some(answer), Some(back)) = (cx.shared.settings.answer, &self.backs[input / self.vcs]) {
            let at = now + u64::from(answer.switch + back.latency);
            let (vc, is_combined) = ((input % self.vcs) as u8, missing.is_some());
            let answer = Answer { port: back.port, vc, at, verdict, is_void, is_combined, missing };
            post(cx.post, back, at, Mail::Answer(answer));
        }
    }

    /// Frees `vc` of output `number` and the incoming virtual channel whose packet had it, which is returned.
    fn release<O>(&mut self, cx: &Cx<'_, O>, now: Cycle, number: usize, vc: usize) -> Option<usize> {
        let input = usize::from(self.free_output(cx.shared, now, number, vc)?);
        self.free_input(cx.shared, now, input);
        Some(input)
    }

    /// Frees `vc` of output `number`. Returns the incoming virtual channel whose packet had it.
    fn free_output(&mut self, shared: &Shared, now: Cycle, number: usize, vc: usize) -> Option<u16> {
        let output = self.outputs[number].as_mut()?;
        let lane = &mut output.lanes[vc];
        if shared.settings.answer.is_some() && !output.leads_to_node {
            lane.credits.reset(now, lane.sent + u64::from(shared.settings.buffer_flits));
        }
        self.has_freed = true;
        lane.release(now)
    }

    /// Frees incoming virtual channel `number`.
    fn free_input(&mut self, shared: &Shared, now: Cycle, number: usize) {
        let input = &mut self.inputs[number];
        input.output = None;
        input.released = input.released.wrapping_add(1);
        if let Some(next) = input.heads.front() {
            let ready = next.arrived + u64::from(shared.settings.pipeline.ready());
            self.ask(number, ready.max(now));
        }
    }

    /// The first packet of incoming virtual channel `input` requests from cycle `at` on.
    fn ask(&mut self, input: usize, at: Cycle) {
        let entry = (at, input as u16);
        let place = self.waiting.partition_point(|other| *other < entry);
        self.waiting.insert(place, entry);
    }

    /// Step 3: makes a plan for output `number` from cycle `now` on, and tells the neighbours what is new in it.
    fn send<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize) {
        let (inputs, period) = (&mut self.inputs, cx.shared.period);
        let Some(output) = &mut self.outputs[number] else { return };
        for owner in output.lanes.iter().filter_map(|lane| lane.owner) {
            inputs[usize::from(owner)].flits.forget(now);
        }
        let source = |owner: u16| &inputs[usize::from(owner)].flits;
        let begins = output.plan(period, now, source);
        for vc in 0..self.vcs {
            let does_begin = begins >> vc & 1 == 1;
            if does_begin {
                self.begin(cx, now, number, vc);
            }
            let Some(output) = &mut self.outputs[number] else { return };
            let lane = &output.lanes[vc];
            if lane.has_begun
                && lane.is_sending()
                && let Some(places) = output.news(period, vc, now, does_begin)
            {
                output.tell(cx, now, vc, places);
                self.give_back(cx, now, number, vc, places);
            }
        }
        if let Some(output) = &self.outputs[number] {
            self.dues[number] = output.until();
        }
    }

    /// The first flit of the packet of `vc` of output `number` leaves in cycle `now`.
    fn begin<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize, vc: usize) {
        let Some(output) = &mut self.outputs[number] else { return };
        let lane = &mut output.lanes[vc];
        let given = lane.given;
        if !output.is_drain {
            if let Some(state) = &mut lane.state {
                state.hops += 1;
            }
            cx.counters.packet_hops += 1;
            cx.counters.flit_hops += u64::from(lane.flits);
        }
        cx.counters.events += 1;
        output.begin(cx, now, vc, given);
    }

    /// Tells whoever sends to the input of the packet of `vc` of output `number` that credits come back in this pattern: flits
    /// leave in it from cycle `now` on.
    fn give_back<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize, vc: usize, places: Places) {
        let Some(output) = &self.outputs[number] else { return };
        let lane = &output.lanes[vc];
        let Some(owner) = lane.owner.map(usize::from) else { return };
        if lane.is_broadcast {
            self.copies_due = now;
            return;
        }
        let (taken, left) = (lane.taken(), lane.end - lane.sent);
        let settings = &cx.shared.settings;
        // Where the path is held, what has room for the rest of the packet needs no more credits.
        if settings.answer.is_some() && left <= u64::from(settings.buffer_flits) {
            return;
        }
        let Some(back) = &self.backs[owner / self.vcs] else { return };
        let cycles = u64::from(settings.credit + back.latency);
        let before = u64::from(settings.buffer_flits) + taken;
        let run = Run {
            port: back.port,
            vc: (owner % self.vcs) as u8,
            at: now + cycles,
            before,
            places: cx.shared.period.later(places, cycles),
            end: before + left,
        };
        post(cx.post, back, run.at, Mail::Credits(run));
    }

    fn receive_flits(&mut self, shared: &Shared, inbox: &mut Inbox) {
        let ready = u64::from(shared.settings.pipeline.ready());
        for run in inbox.flits.drain(..) {
            let input = &mut self.inputs[usize::from(run.port) * self.vcs + usize::from(run.vc)];
            input.flits.add(shared.period, &run);
            if let Some((port, vc)) = input.output
                && let Some(output) = &self.outputs[usize::from(port)]
            {
                let taken = output.lanes[usize::from(vc)].taken();
                let at = output.revises_at(shared.period, vc.into(), &run, taken);
                self.call(port, at);
            } else if input.copies.is_some() {
                self.revise_copies(shared, &run);
            }
        }
        for (port, vc, state) in inbox.heads.drain(..) {
            let number = usize::from(port) * self.vcs + usize::from(vc);
            let input = &mut self.inputs[number];
            input.held += u64::from(state.flits);
            let asks = state.arrived + ready;
            input.heads.push_back(state);
            debug_assert!(input.copies.is_none(), "a broadcast is answered before the next packet comes");
            if input.output.is_none() && input.heads.len() == 1 {
                self.ask(number, asks);
                self.due = self.due.min(asks);
            }
        }
    }

    /// Output `number` has something to do in cycle `at`.
    fn call(&mut self, number: u16, at: Cycle) {
        let due = &mut self.dues[usize::from(number)];
        *due = at.min(*due);
        self.due = self.due.min(at);
    }
}

impl SwitchModel<Elite> for Switch {
    fn first(&self) -> Cycle {
        self.fault_due
    }

    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, _: Cycle) {
        self.receive_flits(shared, inbox);
        for run in inbox.credits.drain(..) {
            let Some(output) = &mut self.outputs[usize::from(run.port)] else { continue };
            let at = output.hear_credits(shared.period, &run);
            self.call(run.port, at);
        }
        for (port, vc) in inbox.corrupt.drain(..) {
            self.inputs[usize::from(port) * self.vcs + usize::from(vc)].is_corrupt = true;
        }
        for Answer { port, vc, at, verdict, is_void, missing, .. } in inbox.answers.drain(..) {
            if let Some(output) = &mut self.outputs[usize::from(port)] {
                let lane = &mut output.lanes[usize::from(vc)];
                (lane.answer_at, lane.verdict, lane.missing) = (at, verdict, missing);
                lane.is_void = is_void;
                let next = &mut self.answers[usize::from(port)];
                *next = at.min(*next);
                self.due = self.due.min(at);
            }
        }
        for (port, at, rate) in inbox.paces.drain(..) {
            if let Some(output) = &mut self.outputs[usize::from(port)] {
                output.change_rate(at, rate);
            }
            self.call(port, at);
        }
    }

    fn prefetch(&self, _: &Shared, post: &PostOf<Elite>, place: usize, until: Cycle, stage: Stage) {
        let due = || {
            self.dues.iter().zip(&self.outputs).filter(|(at, _)| **at < until).filter_map(|it| it.1.as_ref())
        };
        match stage {
            Stage::Itself => prefetch::item(self),
            Stage::Mail => {
                let inbox = post.inbox_of(place);
                prefetch::slice(&self.dues);
                prefetch::slice(&inbox.flits);
                prefetch::slice(&inbox.credits);
            }
            Stage::First => {
                let at = |run: &Run| usize::from(run.port) * self.vcs + usize::from(run.vc);
                post.inbox_of(place).flits.iter().for_each(|run| prefetch::item(&self.inputs[at(run)]));
                let outputs = self.dues.iter().zip(&self.outputs).filter(|(at, _)| **at < until);
                outputs.for_each(|(_, output)| prefetch::item(output));
            }
            Stage::Second => due().for_each(|output| prefetch::slice(&output.lanes)),
            Stage::Third => {
                let owners = due().flat_map(|output| output.lanes.iter().filter_map(|lane| lane.owner));
                owners.for_each(|owner| prefetch::item(&self.inputs[usize::from(owner)]));
            }
            Stage::Ports => {
                prefetch::slice(&self.inputs);
                prefetch::slice(&self.outputs);
            }
            Stage::Queues => due().for_each(|output| prefetch::slice(&output.lanes)),
        }
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        while self.due < until {
            let now = self.due;
            cx.counters.wakes += 1;
            self.step(cx, now);
            self.due = self.next_due(now);
        }
        Rest { next: self.due, waits: false }
    }

    fn settle<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) {}

    fn audit(&self, _: &Shared, _: Cycle, books: &mut Conservation) {
        for input in &self.inputs {
            let missing = input.copies.as_ref().map_or(0, |copies| copies.missing());
            books.in_network += input.heads.len() as u64 + u64::from(missing);
            books.units_held += input.held;
            books.units_freed += u64::from(input.freed);
        }
        for output in self.outputs.iter().flatten() {
            output.audit(books);
        }
        books.delivered += self.copies_lost;
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        self.stuck(shared, now)
    }

    /// With answers, packets that are done with the incoming virtual channel; otherwise flits that it has room for.
    fn position(&self, shared: &Shared, port: PortId, vc: u8, now: Cycle) -> u32 {
        let number = port.index() * self.vcs + usize::from(vc);
        let input = &self.inputs[number];
        if shared.settings.answer.is_some() {
            return input.released;
        }
        shared.settings.buffer_flits.wrapping_add(self.taken_by(shared, input, now) as u32)
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        Some(self.outputs[port.index()].as_ref().map_or(0, |output| output.flits))
    }

    fn queued_flits(&self, _: &Shared, inbox: &Inbox, _: Cycle) -> u64 {
        let inside = self.inputs.iter().flat_map(|input| &input.heads).map(|state| u64::from(state.flits));
        let given = self.outputs.iter().flatten().map(Sender::queued_flits);
        let coming = inbox.heads.iter().map(|(.., state)| u64::from(state.flits));
        inside.chain(given).chain(coming).sum()
    }
}
