//! A switch at work: what packets go through, decision by decision.

use super::barrier::Barrier;
use super::chooser::Chooser;
use super::multicast::Multicast;
use super::{Input, Output};
use crate::hpp::barrier_link_sender::BarrierLinkSender;
use crate::hpp::credit::AdvertTimer;
use crate::hpp::link_sender::first_after;
use crate::hpp::packet_state::{Arrival, CreditUpdate, Inbox};
use crate::hpp::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_engine::agenda::Agenda;
use flitway_fabric::arbiter::ArbiterBank;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Departure, Grant, Observer, Outputs, Passage};
use flitway_fabric::pool::Slot;
use flitway_wiring::PortId;

/// A switch at work. Its parts side by side, not behind it: so what is known of one of them does not have to be looked up
/// again when something is written into another.
pub(super) struct Parts<'a> {
    pub(super) number: u32,
    pub(super) vcs: usize,
    pub(super) until: Cycle,
    pub(super) shares_order: bool,
    pub(super) first_arbiter: usize,
    pub(super) first_board: usize,
    pub(super) waits_for_credit: &'a mut u32,
    pub(super) with_pending_adverts: &'a mut u64,
    pub(super) agenda: &'a mut Agenda,
    pub(super) links: &'a mut [BarrierLinkSender],
    pub(super) advert_timers: &'a mut [AdvertTimer],
    pub(super) inputs: &'a mut [Input],
    pub(super) outputs: &'a mut [Output],
    pub(super) arbiters: &'a mut ArbiterBank,
    pub(super) multicast: &'a mut Option<Box<Multicast>>,
    pub(super) barrier: &'a mut Option<Box<Barrier>>,
    pub(super) chooser: &'a mut Option<Box<Chooser>>,
}

impl Parts<'_> {
    // Slots of the agenda, in the order of the phases of a cycle: links by port, then the choice of ways or the arbiter of
    // multicast, the barrier engine, and arbiters by output.

    /// If `at` is `NEVER`, what the link waits for wakes it.
    #[inline]
    pub(super) fn wake_link(&mut self, port: usize, at: Cycle) {
        if at != Cycle::NEVER {
            self.agenda.schedule(port, at);
        }
    }

    #[inline]
    pub(super) fn wake_arbiter(&mut self, output: usize, at: Cycle) {
        self.agenda.schedule(self.first_arbiter + output, at);
    }

    /// Sends the adverts of `port` that were due in the cycles up to `now`.
    #[inline(always)]
    pub(super) fn catch_up<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        if self.links[port].is_due(now) {
            self.send_adverts(port, now, cx);
        }
    }

    #[inline(never)]
    fn send_adverts<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let vcs = port * self.vcs..(port + 1) * self.vcs;
        self.links[port].catch_up(&mut self.advert_timers[vcs.clone()], &mut self.inputs[vcs], now, cx);
    }

    /// Sends the adverts that were due in the cycles up to `now`, before the receiver of `input`, at `port`, changes in a way
    /// that would blur its past.
    #[inline(always)]
    pub(super) fn catch_up_with<O: Observer>(
        &mut self,
        port: usize,
        input: usize,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) {
        let timing = &cx.shared.timing;
        if timing.sideband & !timing.posts {
            let Input { receiver, vc, .. } = &mut self.inputs[input];
            self.links[port].count_sideband(receiver, *vc, now, cx);
        } else {
            self.catch_up(port, now, cx);
        }
    }

    /// Lets the first packet of FIFO `input` request its output from the first cycle on in which it can, if that is
    /// known.
    #[inline(always)]
    pub(super) fn request<const COLLECTIVE: bool>(&mut self, shared: &Shared, input: usize) {
        let fifo = &mut self.inputs[input];
        if fifo.receiver.is_open() || fifo.waiting.is_empty() {
            return;
        }
        let first = &shared.pools.states[fifo.waiting.head()];
        if COLLECTIVE && first.spreads() {
            return self.request_copies(shared, input);
        }
        if COLLECTIVE && first.route.is_open() {
            return self.await_choice(shared, input);
        }
        let hop = first.route.hop();
        let at = fifo.receiver.end().max(first.at + shared.timing.felt_by_switch());
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
    #[inline(always)]
    fn decide<const COLLECTIVE: bool, O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        self.catch_up(port, now, cx);
        let link = &self.links[port];
        if link.free_at <= now {
            if COLLECTIVE && link.barrier_at <= now {
                return self.send_signal(port, now, cx);
            }
            let first = port * self.vcs;
            let outputs = &self.outputs[first..first + self.vcs];
            let mut ready = 0;
            for vc in bits(link.waiting.into()) {
                ready |= u16::from(outputs[vc].ready <= now) << vc;
            }
            if let Some(vc) = first_after(link.data_turn, ready) {
                self.send::<COLLECTIVE, O>(first + vc, port, now, cx);
            }
        }
        self.arm_link(port);
    }

    /// Sees to it that the link of `port` decides when it next can.
    #[inline(always)]
    pub(super) fn arm_link(&mut self, port: usize) {
        let link = &self.links[port];
        let mut ready = link.barrier_at;
        for vc in bits(link.waiting.into()) {
            ready = ready.min(self.outputs[port * self.vcs + vc].ready);
        }
        self.wake_link(port, ready.max(link.free_at));
    }

    /// The link of `port` has chosen, in cycle `now`, the first packet granted to output `index`.
    #[inline(always)]
    fn send<const COLLECTIVE: bool, O: Observer>(
        &mut self,
        index: usize,
        port: usize,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) {
        let in_order = COLLECTIVE && self.shares_order && self.outputs[index].vc == 0;
        if in_order && self.sends_signal_in_order(port, now, cx) {
            return;
        }
        let output = &mut self.outputs[index];
        let states = &mut cx.shared.pools.states;
        let (slot, state) = states.pop(&mut output.granted);
        let flits = state.flits;
        output.granted_flits -= u32::from(flits);
        match states.first(&output.granted) {
            Some(next) => output.ready = next.at,
            None => {
                output.ready = Cycle::NEVER;
                self.links[port].waiting &= !(1 << output.vc);
            }
        }
        let (vc, from, is_open) = (output.vc, usize::from(output.from), output.crossed == Cycle::NEVER);
        if in_order {
            self.expose_signal(index);
        }
        if COLLECTIVE && self.multicast.is_some() {
            return self.send_any(index, slot, now, cx);
        }
        self.transmit::<COLLECTIVE, O>(port, vc, slot, now, cx);
        if is_open {
            // Its flits make room for the packet that is still crossing, which may be this one.
            self.extend::<COLLECTIVE, O>((from, vc), index, now, flits, cx);
        }
    }

    /// Puts the packet in `slot`, chosen in cycle `now` in crossbar `vc`, on the link of `port`. Returns when its first flit
    /// arrives.
    #[inline(always)]
    pub(super) fn transmit<const COLLECTIVE: bool, O: Observer>(
        &mut self,
        port: usize,
        vc: u8,
        slot: Slot,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> Cycle {
        if cx.observer.follows_departures() {
            self.describe_departure(port, slot, now, cx);
        }
        let link = &mut self.links[port];
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let state = &mut pools.states[slot];
        state.hops += 1;
        let flits = u64::from(state.flits);
        link.data_turn = vc;
        let at = link.send_packet(timing, now, flits);
        let by = state.go::<COLLECTIVE>(timing, &link.wire, at);
        pools.send(cx.post, &link.wire, slot, by);
        cx.counters.events += 1;
        cx.counters.packet_hops += 1;
        cx.counters.flit_hops += flits;
        at
    }

    /// Tells the observer of the packet in `slot`, which the link of `port` chooses in cycle `now`.
    #[cold]
    #[inline(never)]
    fn describe_departure<O: Observer>(&self, port: usize, slot: Slot, now: Cycle, cx: &mut Cx<'_, O>) {
        let (state, mut link) = (&cx.shared.pools.states[slot], self.links[port].clone());
        cx.observer.departed(&Departure {
            packet: state.name(),
            component: self.number,
            port: PortId::new(port),
            vc: state.vc,
            flits: state.flits,
            ready: state.at,
            free: link.free_at,
            chosen: now,
            arrives: link.send_packet(&cx.shared.timing, now, state.flits.into()),
        });
    }

    /// The packet crossing from input port `from` in crossbar `vc` to `output` may go on by `flits`.
    #[inline(always)]
    pub(super) fn extend<const COLLECTIVE: bool, O: Observer>(
        &mut self,
        (from, vc): (usize, u8),
        output: usize,
        now: Cycle,
        flits: u16,
        cx: &mut Cx<'_, O>,
    ) {
        let input = from * self.vcs + usize::from(vc);
        self.go_on(from, input, flits, now, cx);
        if !self.inputs[input].receiver.is_open() {
            self.links[from].open &= !(1 << vc);
            self.close::<COLLECTIVE>(cx.shared, input, output);
        }
    }

    /// The packet crossing from `input`, at port `from`, may go on by `flits`, from cycle `now` on if it has stalled.
    #[inline(always)]
    pub(super) fn go_on<O: Observer>(
        &mut self,
        from: usize,
        input: usize,
        flits: u16,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) {
        if self.inputs[input].receiver.stalls_before(now) {
            self.catch_up_with(from, input, now, cx);
            self.inputs[input].receiver.resume(&cx.shared.timing, now);
        }
        self.inputs[input].receiver.extend(flits);
        self.hear_of_unit(from, input, cx);
    }

    /// It is known when more of the packet will have left that is crossing from `input`, at port `from`.
    #[inline(always)]
    pub(super) fn hear_of_unit<O: Observer>(&mut self, from: usize, input: usize, cx: &mut Cx<'_, O>) {
        let Input { receiver, vc, .. } = &mut self.inputs[input];
        if cx.shared.timing.posts {
            return self.links[from].post_adverts(receiver, *vc, cx);
        }
        let news = receiver.next_unit();
        if news == Cycle::NEVER {
            return;
        }
        if cx.shared.timing.sideband {
            return self.links[from].tell_sideband(receiver, *vc, cx);
        }
        self.advert_timers[input].expect(news);
        let link = &mut self.links[from];
        link.expect_news(news);
        *self.with_pending_adverts |= u64::from(link.is_credit_critical()) << from;
    }

    /// It has become known when the packet crossing from `input` to `output` will have crossed.
    #[inline(always)]
    fn close<const COLLECTIVE: bool>(&mut self, shared: &Shared, input: usize, output: usize) {
        let end = self.inputs[input].receiver.end();
        let column = &mut self.outputs[output];
        column.crossed = end;
        if column.requests != 0 {
            self.wake_arbiter(output, end);
        }
        if COLLECTIVE && self.multicast.is_some() {
            self.wake_requests(end);
        }
        self.request::<COLLECTIVE>(shared, input);
    }

    /// The arbiter of `output` looks at its requests; of its word in the agenda, `left` are still to come out in cycle `now`.
    #[inline(always)]
    fn arbitrate<const COLLECTIVE: bool, O: Observer>(
        &mut self,
        output: usize,
        now: Cycle,
        left: u64,
        cx: &mut Cx<'_, O>,
    ) {
        let Output { requests, crossed, .. } = self.outputs[output];
        if requests == 0 || crossed == Cycle::NEVER {
            // While a packet is crossing with open end, its end wakes the arbiter.
            return;
        }
        if crossed > now {
            self.wake_arbiter(output, crossed);
            return;
        }
        if COLLECTIVE && self.multicast.is_some() && self.is_reserved(output) {
            // The grant of the packet that it is kept for wakes the arbiter.
            return;
        }
        let eligible = self.eligible::<COLLECTIVE>(cx.shared, output, now);
        if eligible == 0 {
            self.await_chance(cx.shared, output, now);
        } else {
            let port = self.arbiters.grant(output, eligible);
            self.grant::<COLLECTIVE, O>((port, output), now, left, cx);
        }
    }

    /// The requests at `output` that stand in cycle `now` and for whose packets the credits suffice.
    #[inline(always)]
    fn eligible<const COLLECTIVE: bool>(&mut self, shared: &mut Shared, output: usize, now: Cycle) -> u64 {
        let Output { requests, vc, .. } = self.outputs[output];
        let vcs = self.vcs;
        let input = |from: usize| from * vcs + usize::from(vc);
        if requests.is_power_of_two() {
            // Most often there is one, and it has woken the arbiter: that it stands is easier to guess than of one of many.
            let input = input(requests.trailing_zeros() as usize);
            let stands = self.inputs[input].requests_from <= now;
            return if stands && self.suffice::<COLLECTIVE>(shared, input, output, now) {
                requests
            } else {
                0
            };
        }
        let mut standing = 0;
        for from in bits(requests) {
            standing |= u64::from(self.inputs[input(from)].requests_from <= now) << from;
        }
        let mut eligible = 0;
        for from in bits(standing) {
            eligible |= u64::from(self.suffice::<COLLECTIVE>(shared, input(from), output, now)) << from;
        }
        eligible
    }

    /// Whether the credits suffice, in cycle `now`, for the first packet of FIFO `input`, which requests `output`.
    #[inline(always)]
    fn suffice<const COLLECTIVE: bool>(
        &mut self,
        shared: &mut Shared,
        input: usize,
        output: usize,
        now: Cycle,
    ) -> bool {
        let fifo = &self.inputs[input];
        let (next, units) = (fifo.next_output::<COLLECTIVE>(output), fifo.units.into());
        self.has_credits(shared, next, now, units)
    }

    /// Whether the next link of `output` has credits for `units` in cycle `now`.
    #[inline(always)]
    pub(super) fn has_credits(&mut self, shared: &mut Shared, output: usize, now: Cycle, units: u32) -> bool {
        self.outputs[output].sender.has_credits(shared, self.first_board + output, now, units)
    }

    /// Has the arbiter of `output` look again when the next request stands, or the next advert counts or comes in.
    #[inline(never)]
    fn await_chance(&mut self, shared: &mut Shared, output: usize, now: Cycle) {
        let Output { vc, requests, .. } = self.outputs[output];
        for from in bits(requests) {
            let fifo = &self.inputs[from * self.vcs + usize::from(vc)];
            let requests_from = fifo.requests_from;
            if requests_from > now {
                self.wake_arbiter(output, requests_from);
                continue;
            }
            let next = fifo.next_output::<true>(output);
            if let Some(at) = self.next_advert(shared, next, now) {
                self.wake_arbiter(output, at);
            }
        }
    }

    /// When the next advert for the sender of `output` counts. If none is known the next to come will be noticed.
    #[inline]
    pub(super) fn next_advert(&mut self, shared: &mut Shared, output: usize, now: Cycle) -> Option<Cycle> {
        let Output { sender, is_starved, .. } = &mut self.outputs[output];
        let next = sender.next_credits(shared, self.first_board + output, now);
        if next.is_none() && !std::mem::replace(is_starved, true) {
            *self.waits_for_credit += 1;
        }
        next
    }

    /// The packet from input port `from` may cross to `index` from the next cycle on; `left` as above.
    #[inline(always)]
    fn grant<const COLLECTIVE: bool, O: Observer>(
        &mut self,
        (from, index): (usize, usize),
        now: Cycle,
        left: u64,
        cx: &mut Cx<'_, O>,
    ) {
        let Output { port, vc, .. } = self.outputs[index];
        let (port, input) = (usize::from(port), from * self.vcs + usize::from(vc));
        if COLLECTIVE && self.inputs[input].gathers {
            return self.keep(from, index, now, cx);
        }
        if !cx.shared.timing.posts && self.inputs[input].receiver.is_uncounted() {
            self.catch_up_with(from, input, now, cx);
        }
        let ready = now + 1 + cx.shared.timing.transmit_buffer;
        let (slot, flits) = self.take(input, index, now, ready, cx);
        if self.is_certain::<COLLECTIVE, O>((index, port), now, ready, left, cx) {
            self.cross::<COLLECTIVE, O>((from, input), index, now, (flits, flits), cx);
            self.transmit::<COLLECTIVE, O>(port, vc, slot, ready, cx);
        } else {
            let upto = self.queue(index, slot, flits, ready, cx.shared);
            self.cross::<COLLECTIVE, O>((from, input), index, now, (upto, flits), cx);
            self.wake_link(port, ready.max(self.links[port].free_at));
        }
        if COLLECTIVE && self.shares_order && vc == 0 {
            self.expose_signal(index);
            self.pass_turn_in(from, now);
        }
    }

    /// Takes the packet that is granted `index` in cycle `now`, and is ready for the link in cycle `ready`, out of FIFO
    /// `input`. Returns where it is and how long.
    #[inline(always)]
    fn take<O: Observer>(
        &mut self,
        input: usize,
        index: usize,
        now: Cycle,
        ready: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> (Slot, u16) {
        if cx.observer.follows_passages() {
            self.describe_passage(input, index, now, cx);
        }
        let Shared { routing, pools, .. } = &mut *cx.shared;
        let fifo = &mut self.inputs[input];
        self.outputs[usize::from(fifo.next)].sender.take(u32::from(fifo.units));
        let output = &mut self.outputs[index];
        // Read before its neighbour is written, or the processor waits for that.
        let (switch, vc, to) = (self.number, output.vc, PortId(output.port.into()));
        let next_vc = usize::from(fifo.next) - to.index() * self.vcs;
        output.requests &= !(1 << fifo.port);
        output.from = fifo.port;
        let from = PortId(fifo.port.into());
        let (slot, state) = pools.states.pop(&mut fifo.waiting);
        state.advance(routing, self.number, next_vc as u8);
        state.at = ready;
        cx.counters.events += 1;
        cx.observer.granted(&Grant { cycle: now, switch, output: to, vc, input: from });
        (slot, state.flits)
    }

    /// Tells the observer of the packet at the head of FIFO `input`, which is granted `index` in cycle `now`.
    #[cold]
    #[inline(never)]
    fn describe_passage<O: Observer>(&self, input: usize, index: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let (fifo, output) = (&self.inputs[input], &self.outputs[index]);
        let state = &cx.shared.pools.states[fifo.waiting.head()];
        cx.observer.passed(&Passage {
            packet: state.name(),
            switch: self.number,
            input: PortId(fifo.port.into()),
            vc: output.vc,
            outputs: Outputs::One(PortId(output.port.into())),
            arrived: state.at,
            ready: state.at + cx.shared.timing.felt_by_switch(),
            requested: fifo.requests_from,
            free: Some(output.crossed),
            granted: now,
        });
    }

    /// The packet in `slot`, which crosses to `index`, waits for the link, which it reaches in cycle `ready`. Returns how many
    /// of its flits may cross before others have gone.
    #[inline(always)]
    fn queue(&mut self, index: usize, slot: Slot, flits: u16, ready: Cycle, shared: &mut Shared) -> u16 {
        let output = &mut self.outputs[index];
        let room = shared.timing.tx_fifo.saturating_sub(output.granted_flits);
        output.granted_flits += u32::from(flits);
        output.ready = output.ready.min(ready);
        shared.pools.states.append(&mut output.granted, slot);
        self.links[usize::from(output.port)].waiting |= 1 << output.vc;
        u32::from(flits).min(room) as u16
    }

    /// The packet granted `index` in cycle `now`, of `flits`, crosses from `input` at port `from`; its first `upto` flits do
    /// not stall.
    #[inline(always)]
    fn cross<const COLLECTIVE: bool, O: Observer>(
        &mut self,
        (from, input): (usize, usize),
        index: usize,
        now: Cycle,
        (upto, flits): (u16, u16),
        cx: &mut Cx<'_, O>,
    ) {
        let fifo = &mut self.inputs[input];
        fifo.receiver.begin(&cx.shared.timing, now + 1, upto, flits, fifo.units);
        self.hear_of_unit(from, input, cx);
        if upto < flits {
            self.outputs[index].crossed = Cycle::NEVER;
            self.links[from].open |= 1 << self.inputs[input].vc;
        } else {
            self.close::<COLLECTIVE>(cx.shared, input, index);
        }
    }

    /// Whether a packet that is granted now, in cycle `now`, will be chosen by the link of its output at `port` in cycle
    /// `ready`, when it is ready, whatever happens until then: nothing else is waiting or may be granted in this cycle too,
    /// here or as the last output of a packet that keeps this one; nothing is or will be to be advertised; what is granted
    /// later is ready later, and so is what the barrier engine, which has had its turn in this cycle, makes later. Then it
    /// need not queue.
    #[inline(always)]
    fn is_certain<const COLLECTIVE: bool, O: Observer>(
        &mut self,
        (output, port): (usize, usize),
        now: Cycle,
        ready: Cycle,
        left: u64,
        cx: &mut Cx<'_, O>,
    ) -> bool {
        let link = &self.links[port];
        if (link.waiting | link.open != 0)
            | (link.free_at > ready)
            | (COLLECTIVE && link.barrier_at <= ready)
            | (ready >= cx.horizon)
            | !cx.shared.timing.cuts_through
        {
            return false;
        }
        if link.is_due(ready) {
            self.catch_up(port, now, cx);
            let link = &self.links[port];
            if link.is_due(ready) | (link.free_at > ready) {
                return false;
            }
        }
        let others = (port + 1) * self.vcs - (output + 1);
        let is_kept = COLLECTIVE && self.is_kept(port);
        !(self.agenda.is_due_behind(left, self.first_arbiter + output, others, now) | is_kept)
    }

    /// Takes in a packet that is on the way. It is not touched where it need not be known.
    #[inline(always)]
    fn expect<const COLLECTIVE: bool>(&mut self, shared: &mut Shared, arrival: Arrival) {
        let Arrival { slot, port, vc } = arrival;
        let port = usize::from(port);
        let input = port * self.vcs + usize::from(vc);
        let fifo = &mut self.inputs[input];
        let Shared { timing, pools, .. } = &mut *shared;
        if !timing.posts && fifo.receiver.arrive(pools.states[slot].units, timing.slack) {
            // If it has been credit-critical for longer, what is urgent is known already.
            *self.with_pending_adverts |= u64::from(self.links[port].make_credit_critical(fifo.vc)) << port;
        }
        let first = fifo.waiting.is_empty();
        pools.states.append_ended(&mut fifo.waiting, slot);
        if first {
            self.request::<COLLECTIVE>(shared, input);
        }
    }

    /// Takes in an advert. Of those that are posted only such come as are waited for.
    #[inline(always)]
    fn receive_credit<const COLLECTIVE: bool>(&mut self, shared: &mut Shared, advert: CreditUpdate) {
        let (port, vc, lanes) = (usize::from(advert.port), usize::from(advert.vc), shared.timing.lanes);
        let Output { sender, is_starved, .. } = &mut self.outputs[port * self.vcs + vc];
        if !shared.timing.posts {
            sender.advertise(&mut shared.pools.limits, &advert, self.until);
        }
        if std::mem::take(is_starved) {
            *self.waits_for_credit -= 1;
            let from = advert.from.max(self.until);
            // Every crossbar whose packets may be relabelled to this VC.
            for lane in (vc % lanes..self.vcs).step_by(lanes) {
                self.wake_arbiter(port * self.vcs + lane, from);
            }
            if COLLECTIVE && self.multicast.is_some() {
                self.wake_requests(from);
            }
        }
    }

    /// Takes in all that has come.
    pub(super) fn receive<const COLLECTIVE: bool>(mut self, shared: &mut Shared, inbox: &mut Inbox) {
        while !inbox.adverts.is_empty() {
            let slot = shared.pools.limits.unlink(&mut inbox.adverts);
            let advert = shared.pools.limits.take(slot);
            self.receive_credit::<COLLECTIVE>(shared, advert);
        }
        inbox.packets.drain(..).for_each(|it| self.expect::<COLLECTIVE>(shared, it));
        if !COLLECTIVE {
            return;
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

    /// Does what the agenda says of the cycles before `until`.
    pub(super) fn work<const COLLECTIVE: bool, O: Observer>(mut self, cx: &mut Cx<'_, O>) {
        if !COLLECTIVE {
            return self.work_by_cycles(cx);
        }
        while let Some((now, slot)) = self.agenda.pop(self.until) {
            cx.counters.wakes += 1;
            if slot < self.links.len() {
                self.decide::<COLLECTIVE, O>(slot, now, cx);
            } else if let Some(output) = slot.checked_sub(self.first_arbiter) {
                let left = self.agenda.left(slot, now);
                self.arbitrate::<COLLECTIVE, O>(output, now, left, cx);
            } else if slot + 1 == self.first_arbiter && self.barrier.is_some() {
                self.run_engine(now, cx);
            } else if self.chooser.is_some() {
                self.choose_ways(now, cx);
            } else {
                self.run_multicast(now, cx);
            }
        }
    }

    /// The same where there are only links and arbiters. Links wake arbiters of the same cycle, and a link that is free at once
    /// wakes itself; arbiters wake nobody before the next cycle.
    #[inline(always)]
    fn work_by_cycles<O: Observer>(&mut self, cx: &mut Cx<'_, O>) {
        debug_assert!((1..=64).contains(&self.links.len()), "ports are bits of a word");
        let links = u64::MAX >> (64 - self.links.len());
        while let Some(now) = self.agenda.open(self.until) {
            while let Some(port) = self.agenda.take_first(now, links) {
                cx.counters.wakes += 1;
                self.decide::<false, O>(port, now, cx);
            }
            for word in 0..self.agenda.words() {
                let mut left = self.agenda.take(now, word);
                while left != 0 {
                    let slot = word * 64 + left.trailing_zeros() as usize;
                    left &= left - 1;
                    cx.counters.wakes += 1;
                    self.arbitrate::<false, O>(slot - self.first_arbiter, now, left, cx);
                }
            }
        }
    }
}
