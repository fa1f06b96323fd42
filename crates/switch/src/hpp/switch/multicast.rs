//! Multicast in the switch: step 4 of a cycle, and what is special about a packet that crosses to several outputs.
//!
//! Such a packet moves one flit to all of its TX FIFOs in the same cycle, or none. It is in one run, like any other; how
//! far the run reaches is the least of what its outputs allow.

use super::parts::Parts;
use super::{Input, Output, Switch};
use crate::hpp::packet_state::{Kind, Run};
use crate::hpp::timing::Timing;
use crate::hpp::{Cx, Gathering, Shared};
use flitway_engine::Cycle;
use flitway_engine::agenda::Reminder;
use flitway_fabric::arbiter::ArbiterBank;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Grant, Miss, Observer, Outputs, Passage};
use flitway_fabric::pool::Slot;
use flitway_fabric::simulation::Conservation;
use flitway_wiring::multicast::Ascent;
use flitway_wiring::{GroupId, PortId, SwitchId};
use std::collections::VecDeque;

/// What a switch has for multicast.
#[derive(Debug)]
pub(super) struct Multicast {
    pub(super) vc: usize,
    lookup: u64,
    /// Whether all outputs of a packet are granted at once.
    has_bulletin: bool,
    patience: Option<u64>,
    /// Whether a packet goes out by the port it came by.
    turns_back: bool,
    /// The table: by group, the ports that belong to it.
    table: Box<[u64]>,
    arbiter: ArbiterBank,
    /// Inputs whose first packet requests all its outputs at once, now or from a known cycle on.
    pub(super) requests: u64,
    /// The input that has waited so long that its outputs are kept free for it, and these outputs.
    favoured: Option<usize>,
    pub(super) reserved: u64,
    /// When it granted last: it grants once in a cycle, however often it is woken in it.
    granted_at: Cycle,
    /// Of the patience with the request that has waited longest.
    reminder: Reminder,
    /// Inputs from which a packet for a group is crossing.
    pub(super) crossing: u64,
    /// By input.
    copies: Box<[Copies]>,
}

/// The packet for a group that is first in, or crosses from, the input FIFO of one port.
#[derive(Clone, Debug, Default)]
struct Copies {
    outputs: u64,
    /// Those that have been granted one by one.
    kept: u64,
    flits: u16,
    /// Flits that are there, or will have been when they are to cross.
    arrived: u16,
    /// Runs of packets that come with gaps, of those that have not been counted as arrived.
    runs: VecDeque<Run>,
    /// Outputs whose link has chosen its copy and does not know yet when it will have sent it.
    sending: u64,
    /// By output.
    branches: Box<[Branch]>,
}

/// The copy at one output.
#[derive(Clone, Copy, Debug, Default)]
struct Branch {
    /// Flits for which there is room in the TX FIFO, or will have been when they come.
    allowed: u16,
    /// Flits that the other end of the link has been told of.
    told: u16,
    /// Flit `j` of the run that was told last leaves the TX FIFO in cycle `base + j`, and is on the receiver's wire `lead`
    /// cycles later.
    base: Cycle,
    lead: u64,
}

impl Multicast {
    /// That of switch component `number`, if there are groups.
    pub(super) fn new(shared: &Shared, number: u32, ports: usize) -> Option<Box<Self>> {
        if shared.groups.is_empty() {
            return None;
        }
        let settings = &shared.multicast;
        let here = SwitchId(number % shared.routing.topology().switches());
        let (has_bulletin, patience) = match settings.gathering {
            Gathering::Bulletin { patience } => (true, patience.map(u64::from)),
            Gathering::OneByOne => (false, None),
        };
        let copies = Copies { branches: vec![Branch::default(); ports].into(), ..Copies::default() };
        Some(Box::new(Multicast {
            vc: settings.vc as usize,
            lookup: u64::from(settings.lookup),
            has_bulletin,
            patience,
            turns_back: shared.groups.ascent() == Ascent::Routed,
            table: (0..shared.groups.len())
                .map(|group| shared.groups.mask(here, GroupId::new(group)))
                .collect(),
            arbiter: ArbiterBank::new(shared.arbiter, 1, ports),
            requests: 0,
            favoured: None,
            reserved: 0,
            granted_at: Cycle::NEVER,
            reminder: Reminder::default(),
            crossing: 0,
            copies: vec![copies; ports].into(),
        }))
    }

    /// The outputs of a packet for `group` that has come by `port`.
    fn outputs(&self, group: u32, port: u8) -> u64 {
        let arrival = if self.turns_back { 0 } else { 1 << port };
        self.table[group as usize] & !arrival
    }
}

impl Multicast {
    /// The outputs that the packet for a group at the head of the FIFO of input port `from` needs, and those that it has while
    /// it `gathers` them one by one.
    pub(super) fn wanted(&self, from: usize, gathers: bool) -> (u64, u64) {
        let copies = &self.copies[from];
        (copies.outputs, if gathers { copies.kept } else { 0 })
    }

    /// The input for which the output at `port` of crossbar `vc` is kept free.
    pub(super) fn favours(&self, port: u8, vc: u8) -> Option<usize> {
        self.favoured.filter(|_| self.reserved >> port & 1 == 1 && usize::from(vc) == self.vc)
    }
}

impl Copies {
    /// Counts as arrived what can cross in cycle `now`, if the packet came with gaps. Returns when there will be more.
    fn count_arrived(&mut self, timing: &Timing, now: Cycle) -> Option<Cycle> {
        while self.arrived < self.flits {
            let run = self.runs.front()?;
            let crosses = run.base + u64::from(run.first) + timing.to_crossbar;
            if crosses > now {
                return Some(crosses);
            }
            self.arrived = run.upto;
            self.runs.pop_front();
        }
        None
    }

    /// Flits that may cross, as far as known.
    fn upto(&self) -> u16 {
        bits(self.outputs).fold(self.arrived, |upto, output| upto.min(self.branches[output].allowed))
    }
}

impl Parts<'_> {
    /// What it has for multicast, where a packet for a group says that there is something.
    fn copier(&mut self) -> &mut Multicast {
        self.multicast.as_mut().expect("packets for groups are sent where there are groups")
    }

    /// The outputs of crossbar `vc` at the `ports` of a mask.
    #[inline]
    pub(super) fn columns(&self, ports: u64, vc: usize) -> impl Iterator<Item = usize> + use<> {
        let vcs = self.vcs;
        bits(ports).map(move |port| port * vcs + vc)
    }

    /// Has the multicast arbiter look in cycle `at`.
    #[inline]
    fn wake_multicast(&mut self, at: Cycle) {
        self.agenda.schedule(self.links.len(), at);
    }

    /// The first packet of FIFO `input`, which is for a group, requests its outputs from the first cycle on in which it can.
    #[cold]
    #[inline(never)]
    pub(super) fn request_copies(&mut self, shared: &Shared, input: usize) {
        let fifo = &mut self.inputs[input];
        let first = &shared.pools.states[fifo.waiting.head()];
        let (port, vc, group) = (fifo.port, usize::from(fifo.vc), first.to);
        let there = first.at + shared.timing.to_crossbar - 1;
        fifo.units = first.units;
        let copier = self.multicast.as_mut().expect("packets for groups are sent where there are groups");
        debug_assert_eq!(vc, copier.vc, "packets for groups have a virtual channel of their own");
        let at = fifo.receiver.end().max(there + copier.lookup);
        fifo.requests_from = at;
        let outputs = copier.outputs(group, port);
        let copies = &mut copier.copies[usize::from(port)];
        (copies.outputs, copies.kept) = (outputs, 0);
        if copier.has_bulletin || outputs == 0 {
            copier.requests |= 1 << port;
            self.wake_multicast(at);
            return;
        }
        fifo.gathers = true;
        for output in self.columns(outputs, vc) {
            self.outputs[output].requests |= 1 << port;
            let crossed = self.outputs[output].crossed;
            if crossed != Cycle::NEVER {
                self.wake_arbiter(output, at.max(crossed));
            }
        }
    }

    /// Flits of the packet that came last to a port are on the way.
    #[cold]
    #[inline(never)]
    pub(super) fn hear_run(&mut self, shared: &Shared, run: Run) {
        self.copier().copies[usize::from(run.port)].runs.push_back(run);
        self.wake_multicast(run.base + u64::from(run.first) + shared.timing.to_crossbar);
    }

    /// The end of step 3, and step 4.
    #[cold]
    #[inline(never)]
    pub(super) fn run_multicast<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        for from in bits(self.copier().crossing) {
            let copies = &mut self.copier().copies[from];
            let arrived = copies.arrived;
            let next = copies.count_arrived(&cx.shared.timing, now);
            let has_grown = copies.arrived > arrived;
            if let Some(next) = next {
                self.wake_multicast(next);
            }
            if has_grown {
                self.grow(from, now, cx);
            }
        }
        if self.copier().requests == 0 {
            return;
        }
        if self.copier().granted_at == now {
            // A packet that has crossed in this cycle has let the next one request, which has woken the arbiter once more.
            self.wake_multicast(now + 1);
        } else {
            self.arbitrate_multicast(now, cx);
        }
    }

    /// Step 4: grants one of the requests that can have all their outputs.
    fn arbitrate_multicast<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        self.favour(now);
        let Multicast { requests, favoured, reserved, vc, .. } = *self.copier();
        let mut eligible = 0;
        for from in bits(requests) {
            let requests_from = self.inputs[from * self.vcs + vc].requests_from;
            if requests_from > now {
                self.wake_multicast(requests_from);
                continue;
            }
            let is_kept_out =
                favoured.is_some_and(|it| it != from) && self.copier().copies[from].outputs & reserved != 0;
            if !is_kept_out && self.has_all(cx.shared, from, now) {
                eligible |= 1 << from;
            }
        }
        if eligible != 0 {
            let from = self.copier().arbiter.grant(0, eligible);
            self.copier().granted_at = now;
            self.grant_all(from, now, cx);
            if self.copier().requests != 0 {
                self.wake_multicast(now + 1);
            }
        }
    }

    /// Keeps outputs free for the request that has waited longest of those that have waited too long.
    fn favour(&mut self, now: Cycle) {
        let copier = self.multicast.as_mut().expect("it has been woken for multicast");
        let (Some(patience), None) = (copier.patience, copier.favoured) else { return };
        let since = |from: &usize| self.inputs[from * self.vcs + copier.vc].requests_from;
        let oldest = bits(copier.requests).min_by_key(|from| (since(from), *from));
        if let Some(from) = oldest {
            let lost = since(&from) + patience;
            if lost <= now {
                (copier.favoured, copier.reserved) = (Some(from), copier.copies[from].outputs);
            } else {
                self.agenda.remind(&mut copier.reminder, self.links.len(), lost);
            }
        }
    }

    /// Whether every output of the packet from input port `from` is free and has credits for it. Where not, the arbiter
    /// looks again when the first that is missing may have come.
    fn has_all(&mut self, shared: &mut Shared, from: usize, now: Cycle) -> bool {
        let (vc, outputs) = (self.copier().vc, self.copier().copies[from].outputs);
        let units = u32::from(self.inputs[from * self.vcs + vc].units);
        let free_at = self.columns(outputs, vc).fold(now, |at, output| at.max(self.outputs[output].crossed));
        if free_at > now {
            if free_at != Cycle::NEVER {
                self.wake_multicast(free_at);
            }
            return false;
        }
        for output in self.columns(outputs, vc) {
            if !self.has_credits(shared, output, now, units) {
                if let Some(at) = self.next_advert(shared, output, now) {
                    self.wake_multicast(at);
                }
                return false;
            }
        }
        true
    }

    /// The packet from input port `from` may cross to all its outputs from the next cycle on.
    fn grant_all<O: Observer>(&mut self, from: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let copier = self.copier();
        let (vc, outputs) = (copier.vc, copier.copies[from].outputs);
        copier.requests &= !(1 << from);
        if copier.favoured == Some(from) {
            (copier.favoured, copier.reserved) = (None, 0);
        }
        let input = from * self.vcs + vc;
        let units = self.inputs[input].units;
        for output in self.columns(outputs, vc) {
            let output = &mut self.outputs[output];
            output.sender.take(u32::from(units));
            output.from = from as u8;
            let (output, input) = (PortId(output.port.into()), PortId::new(from));
            cx.observer.granted(&Grant { cycle: now, switch: self.number, output, vc: vc as u8, input });
        }
        self.cross_to_many(from, now, cx);
    }

    /// An output has been granted to the packet from input port `from`, which keeps it until it has all of them.
    #[cold]
    #[inline(never)]
    pub(super) fn keep<O: Observer>(&mut self, from: usize, index: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let vc = self.copier().vc;
        let input = from * self.vcs + vc;
        let units = u32::from(self.inputs[input].units);
        let output = &mut self.outputs[index];
        output.sender.take(units);
        output.requests &= !(1 << from);
        output.from = from as u8;
        output.crossed = Cycle::NEVER;
        let port = usize::from(output.port);
        let (output, number) = (PortId::new(port), self.number);
        let grant = Grant { cycle: now, switch: number, output, vc: vc as u8, input: PortId::new(from) };
        cx.observer.granted(&grant);
        let copies = &mut self.copier().copies[from];
        copies.kept |= 1 << port;
        if copies.kept == copies.outputs {
            self.inputs[input].gathers = false;
            self.cross_to_many(from, now, cx);
        }
    }

    /// The packet from input port `from`, to which all its outputs have been granted, crosses from the next cycle on.
    fn cross_to_many<O: Observer>(&mut self, from: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let vc = self.copier().vc;
        let input = from * self.vcs + vc;
        self.catch_up_with(from, input, now, cx);
        cx.counters.events += 1;
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let copier = self.multicast.as_mut().expect("packets for groups are sent where there are groups");
        let copies = &mut copier.copies[from];
        let slot = pools.states.unlink(&mut self.inputs[input].waiting);
        let state = &mut pools.states[slot];
        let flits = state.flits;
        cx.observer.passed(&Passage {
            packet: state.name(),
            switch: self.number,
            input: PortId::new(from),
            vc: vc as u8,
            outputs: Outputs::Several(copies.outputs),
            arrived: state.at,
            ready: state.at + timing.to_crossbar - 1,
            requested: self.inputs[input].requests_from,
            free: None,
            granted: now,
        });
        copies.flits = flits;
        copies.arrived = if state.mark.is_gapped() { 0 } else { flits };
        state.mark.set_kind(Kind::Copy);
        state.vc = vc as u8;
        let more = copies.count_arrived(timing, now + 1);
        copier.crossing |= 1 << from;
        if let Some(at) = more {
            self.wake_multicast(at);
        }
        let upto = self.fan_out(cx, from, slot, now);
        let fifo = &mut self.inputs[input];
        fifo.receiver.begin(&cx.shared.timing, now + 1, upto, flits, fifo.units);
        let is_open = fifo.receiver.is_open();
        self.hear_of_unit(from, input, cx);
        if is_open {
            self.links[from].open |= 1 << vc;
        } else {
            self.close_copies(cx.shared, from);
        }
    }

    /// Puts a copy of the packet in `slot`, which crosses from input port `from`, before the link of each of its outputs.
    /// Returns how many of its flits may cross without stalling.
    fn fan_out<O: Observer>(&mut self, cx: &mut Cx<'_, O>, from: usize, slot: Slot, now: Cycle) -> u16 {
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let copier = self.multicast.as_mut().expect("packets for groups are sent where there are groups");
        let (vc, copies) = (copier.vc, &mut copier.copies[from]);
        let (outputs, flits) = (copies.outputs, copies.flits);
        for port in bits(outputs) {
            let waiting = self.outputs[port * self.vcs + vc].granted_flits;
            let room = timing.tx_fifo.saturating_sub(waiting);
            copies.branches[port].allowed = if u32::from(flits) <= room { flits } else { room as u16 };
        }
        let upto = copies.upto();
        let ready = if upto > 0 { now + 1 + timing.transmit_buffer } else { Cycle::NEVER };
        pools.states[slot].at = ready;
        let (copy, mut original) = (pools.states[slot], Some(slot));
        for port in bits(outputs) {
            let slot = original.take().unwrap_or_else(|| pools.states.put(copy));
            let output = &mut self.outputs[port * self.vcs + vc];
            pools.states.append(&mut output.granted, slot);
            output.granted_flits += u32::from(flits);
            output.ready = output.ready.min(ready);
            output.crossed = Cycle::NEVER;
            self.links[port].waiting |= 1 << vc;
        }
        if let Some(slot) = original {
            // There is no output.
            pools.states.free(slot);
            cx.counters.packets_missed += 1;
            let (switch, input, vc) = (self.number, PortId::new(from), vc as u8);
            cx.observer.missed(&Miss { cycle: now, switch, input, vc });
        }
        cx.counters.packets_copied += u64::from(outputs.count_ones().saturating_sub(1));
        for port in bits(outputs) {
            self.wake_link(port, ready.max(self.links[port].free_at));
        }
        upto
    }

    /// The link of `output` has chosen a packet of `flits`, which makes room for the copy that is crossing to it from
    /// `input`, or is that copy.
    fn allow<O: Observer>(
        &mut self,
        input: usize,
        output: usize,
        now: Cycle,
        flits: u16,
        cx: &mut Cx<'_, O>,
    ) {
        let (from, port) = (usize::from(self.inputs[input].port), usize::from(self.outputs[output].port));
        let branch = &mut self.copier().copies[from].branches[port];
        branch.allowed = branch.allowed.saturating_add(flits);
        self.grow(from, now, cx);
    }

    /// More flits of the packet that is crossing from input port `from` may cross, perhaps.
    fn grow<O: Observer>(&mut self, from: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let copier = self.copier();
        let (vc, upto) = (copier.vc, copier.copies[from].upto());
        let input = from * self.vcs + vc;
        let before = self.inputs[input].receiver.upto();
        if upto > before {
            self.go_on(from, input, upto - before, now, cx);
        }
        if before == 0 && upto > 0 {
            let ready = self.inputs[input].receiver.base() + cx.shared.timing.transmit_buffer;
            self.ready_copies(cx.shared, from, ready);
        }
        self.tell_runs(from, cx);
        if upto > before && !self.inputs[input].receiver.is_open() {
            self.links[from].open &= !(1 << vc);
            self.close_copies(cx.shared, from);
        }
    }

    /// The copies of the packet that crosses from input port `from` are ready for their links from cycle `ready` on.
    fn ready_copies(&mut self, shared: &mut Shared, from: usize, ready: Cycle) {
        let copier = self.copier();
        let (vc, outputs) = (copier.vc, copier.copies[from].outputs);
        for output in self.columns(outputs, vc) {
            let Output { granted, port, .. } = self.outputs[output];
            let slot = granted.tail();
            shared.pools.states[slot].at = ready;
            if granted.head() == slot {
                self.outputs[output].ready = ready;
                let port = usize::from(port);
                self.wake_link(port, ready.max(self.links[port].free_at));
            }
        }
    }

    /// The link of output `index` has chosen the packet in `slot`, which may be for a group or not.
    #[cold]
    #[inline(never)]
    pub(super) fn send_any<O: Observer>(&mut self, index: usize, slot: Slot, now: Cycle, cx: &mut Cx<'_, O>) {
        let flits = cx.shared.pools.states[slot].flits;
        let output = &self.outputs[index];
        let (from, vc) = (usize::from(output.from), output.vc);
        let input = from * self.vcs + usize::from(vc);
        // An output that is kept until the others come is not being crossed to yet.
        let is_open = output.crossed == Cycle::NEVER && !self.inputs[input].gathers;
        let to_many = is_open && self.is_crossing_to_many(input);
        if to_many && output.granted.is_empty() {
            // What has been chosen is what is crossing.
            self.transmit_open(index, slot, now, cx);
        } else {
            let Output { port, vc, .. } = self.outputs[index];
            self.transmit::<true, O>(port.into(), vc, slot, now, cx);
        }
        if to_many {
            self.allow(input, index, now, flits, cx);
        } else if is_open {
            self.extend::<true, O>((from, vc), index, now, flits, cx);
        }
    }

    /// Puts the copy in `slot`, chosen in cycle `now` and still crossing, on the link of `output`, flit by flit as they come.
    fn transmit_open<O: Observer>(&mut self, output: usize, slot: Slot, now: Cycle, cx: &mut Cx<'_, O>) {
        let Output { port, vc, from, .. } = self.outputs[output];
        let (port, from) = (usize::from(port), usize::from(from));
        cx.shared.pools.states[slot].mark.set_kind(Kind::Gapped);
        let lead = self.transmit::<true, O>(port, vc, slot, now, cx).since(now);
        self.links[port].free_at = Cycle::NEVER;
        let copies = &mut self.copier().copies[from];
        copies.sending |= 1 << port;
        let allowed = copies.branches[port].allowed;
        copies.branches[port] = Branch { allowed, told: 0, base: now, lead };
    }

    /// Tells the other ends of the links that are sending copies of what crosses from input port `from` which flits come.
    fn tell_runs<O: Observer>(&mut self, from: usize, cx: &mut Cx<'_, O>) {
        let copier = self.multicast.as_mut().expect("packets for groups are sent where there are groups");
        let (vc, copies) = (copier.vc, &mut copier.copies[from]);
        let receiver = &self.inputs[from * self.vcs + vc].receiver;
        let (upto, crosses) = (receiver.upto(), receiver.base());
        let mut sent = 0;
        for port in bits(copies.sending) {
            let (link, branch) = (&mut self.links[port], &mut copies.branches[port]);
            if branch.told == upto {
                continue;
            }
            branch.base = branch.base.max(crosses + 1);
            let first = std::mem::replace(&mut branch.told, upto);
            let run =
                Run { base: branch.base + branch.lead, next: Slot::NONE, first, upto, port: link.wire.port };
            let Shared { timing, pools, .. } = &mut *cx.shared;
            pools.tell_run(timing, cx.post, &link.wire, run, copies.flits);
            if upto == copies.flits {
                let ahead = cx.shared.timing.transmit + u64::from(link.wire.latency) - branch.lead;
                link.free_at = branch.base + (u64::from(upto) - ahead);
                sent |= 1 << port;
            }
        }
        copies.sending &= !sent;
        *self.with_pending_adverts |= sent;
        bits(sent).for_each(|port| self.arm_link(port));
    }

    /// It has become known when the packet for a group that is crossing from input port `from` will have crossed.
    pub(super) fn close_copies(&mut self, shared: &Shared, from: usize) {
        let copier = self.copier();
        let (vc, outputs) = (copier.vc, copier.copies[from].outputs);
        copier.crossing &= !(1 << from);
        let input = from * self.vcs + vc;
        let end = self.inputs[input].receiver.end();
        for output in self.columns(outputs, vc) {
            self.outputs[output].crossed = end;
            if self.outputs[output].requests != 0 {
                self.wake_arbiter(output, end);
            }
        }
        self.wake_requests(end);
        self.request::<true>(shared, input);
    }

    /// An output of the crossbar of multicast will be free from cycle `at` on.
    #[cold]
    #[inline(never)]
    pub(super) fn wake_requests(&mut self, at: Cycle) {
        if self.copier().requests != 0 {
            self.wake_multicast(at);
        }
    }

    /// Whether `output` is kept free for a packet for a group.
    #[cold]
    #[inline(never)]
    pub(super) fn is_reserved(&self, output: usize) -> bool {
        self.multicast.as_ref().is_some_and(|copier| {
            let Output { port, vc, .. } = self.outputs[output];
            copier.reserved >> port & 1 == 1 && usize::from(vc) == copier.vc
        })
    }

    /// Whether output `port` is kept for a packet for a group that has not got all its outputs. The last one may be granted
    /// at another port, and later in the same cycle.
    #[inline]
    pub(super) fn is_kept(&self, port: usize) -> bool {
        self.multicast
            .as_ref()
            .is_some_and(|copier| self.outputs[port * self.vcs + copier.vc].crossed == Cycle::NEVER)
    }

    /// Whether what crosses from FIFO `input` crosses to several outputs.
    fn is_crossing_to_many(&self, input: usize) -> bool {
        let Input { port, vc, .. } = self.inputs[input];
        self.multicast
            .as_ref()
            .is_some_and(|copier| copier.crossing >> port & 1 == 1 && usize::from(vc) == copier.vc)
    }
}

impl Switch {
    /// Enters the credits of outputs that are kept for packets that gather theirs one by one into the books.
    pub(super) fn audit_kept(&self, books: &mut Conservation) {
        let Some(copier) = &self.multicast else { return };
        for (port, copies) in copier.copies.iter().enumerate() {
            let fifo = &self.inputs[port * self.vcs + copier.vc];
            if fifo.gathers {
                books.units_held += u64::from(copies.kept.count_ones()) * u64::from(fifo.units);
            }
        }
    }
}
