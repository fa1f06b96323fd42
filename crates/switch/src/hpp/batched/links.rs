//! Links: which of the packets that have been granted goes next, and what follows from that for the FIFO that it leaves.

use super::Network;
use super::ahead::STEP;
use super::context::BatchedCx;
use super::port::{Coming, Input, NOBODY, Output, Port, Request, ready};
use super::receiver::Leaving;
use crate::hpp::link_sender::first_after;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::observer::{Departure, Observer};
use flitway_fabric::pool::Slot;
use flitway_fabric::simulation::Wire;
use flitway_wiring::PortId;
use flitway_wiring::routing::{Hop, Route};

impl<const V: usize, O: Observer> Network<V, O> {
    /// The links of the block that runs decide that are due in the cycles before `upto`, after the arbiters have for those
    /// before `end`.
    pub(super) fn decide_all(&mut self, ports: &mut [Port<V>], end: Time32, upto: Time32) {
        let mut due = std::mem::take(&mut self.due);
        self.lists.take_links(&mut due);
        self.cx.counters.wakes += due.len() as u64;
        if self.asks_ahead {
            self.decide_each::<true>(ports, &due, end, upto);
        } else {
            self.decide_each::<false>(ports, &due, end, upto);
        }
        self.due = due;
    }

    #[inline(never)]
    fn decide_each<const AHEAD: bool>(
        &mut self,
        ports: &mut [Port<V>],
        due: &[u32],
        end: Time32,
        upto: Time32,
    ) {
        let mut sources = if AHEAD { self.prefetch_first_links(ports, due) } else { [(0, 0); STEP] };
        for (index, &place) in due.iter().enumerate() {
            if AHEAD {
                self.prefetch_links(ports, due, index, &mut sources);
            }
            self.decide(ports, place, end, upto);
        }
    }

    /// Sends the adverts of the port at `place` that were due in the cycles up to `now`.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, ports: &mut [Port<V>], place: u32, now: Time32) {
        if ports[place as usize].link.could_advertise(now) {
            let owner = self.owner(place);
            ports[place as usize].send_adverts(now, owner, &mut self.cx);
        }
    }

    /// The link of `place` decides in the cycles before `upto`. Arbiters have for those before `end`.
    #[inline(always)]
    fn decide(&mut self, ports: &mut [Port<V>], place: u32, end: Time32, upto: Time32) {
        let owner = self.owner(place);
        loop {
            let Port { link, advert_timers, lanes } = &mut ports[place as usize];
            let waiting = link.waiting;
            if waiting == 0 {
                return;
            }
            // In most cases there is one.
            let only = (waiting & (waiting - 1) == 0).then_some(waiting.trailing_zeros() as usize);
            let first = match only {
                Some(vc) => lanes[vc].output.at,
                None => ready(lanes, waiting).into_iter().fold(Time32::NEVER, Time32::min),
            };
            let now = link.send_adverts_before(advert_timers, lanes, [first, upto], owner, &mut self.cx);
            if now >= upto {
                let at = end.max(now.before(self.cx.timing.to_link()));
                return self.lists.wake_link_if(place, at, true);
            }
            let vc = only.unwrap_or_else(|| {
                let ready = ready(lanes, waiting);
                let wanted = (0..V).fold(0, |wanted, vc| wanted | u16::from(ready[vc] <= now) << vc);
                first_after(link.data_turn, wanted).expect("the first that is ready is wanted")
            });
            self.send(ports, place, vc, now);
        }
    }

    /// The link of `place` has chosen, in cycle `now`, the packet granted in crossbar `vc`.
    #[inline(always)]
    fn send(&mut self, ports: &mut [Port<V>], place: u32, vc: usize, now: Time32) {
        let base = self.bases[place as usize];
        let Output { from, at: ready, .. } = ports[place as usize].lanes[vc].output;
        let from = base + u32::from(from);
        let Input { waiting, flits, units, .. } = &ports[from as usize].lanes[vc].input;
        let (slot, flits, units) = (waiting.head(), *flits, *units);
        if self.cx.observer.follows_departures() {
            self.describe_departure(&ports[place as usize], place, vc, slot, now);
        }
        let BatchedCx { timing, states, counters, .. } = &mut self.cx;
        counters.events += 1;
        counters.packet_hops += 1;
        counters.flit_hops += u64::from(flits);
        // Its first flit has crossed a while before it was ready; it stops when it has filled the TX FIFO.
        let leaving = Leaving {
            base: ready.before(timing.transmit_buffer).max(now.before(timing.tx_fifo.into())),
            flits,
            units,
            next: Slot::NONE,
        };
        let crossed = leaving.end();
        // It goes over the link.
        let Port { link, lanes, .. } = &mut ports[place as usize];
        let output = &mut lanes[vc].output;
        output.sender.take(units.into());
        (output.at, output.from) = (crossed, NOBODY);
        if output.requests != 0 {
            self.lists.wake_arbiter(place, vc, crossed);
        }
        link.waiting &= !(1 << vc);
        link.data_turn = vc as u8;
        let at = link.send_packet(timing, now, flits.into());
        let Wire { peer, port: to_port, .. } = link.wire;
        let state = &mut states[slot];
        let behind = std::mem::replace(&mut state.next, Slot::NONE);
        state.at = at.cycle(timing.epoch);
        state.hops += 1;
        state.route = state.route.rest();
        let mut route = state.route;
        if route.is_continued() {
            route = self.continue_route(place, slot);
        }
        // It leaves its FIFO.
        let BatchedCx { timing, states, behind: pool, .. } = &mut self.cx;
        let port = &mut ports[from as usize];
        let input = &mut port.lanes[vc].input;
        input.waiting.pop_to(behind);
        input.requests_from = crossed;
        if port.begin(vc, leaving, timing, pool) {
            self.with_pending_adverts.insert(from);
        }
        if behind != Slot::NONE {
            let input = &mut ports[from as usize].lanes[vc].input;
            let request = input.request_behind(timing, &states[behind]);
            self.enter(ports, base, from, vc, request);
        }
        self.pass_on(ports, peer, to_port, Coming { slot, at, flits, units, vc: vc as u8 }, route);
    }

    /// Gives the packet in `slot`, which has left the switch by the port at `place`, the rest of its route.
    #[cold]
    #[inline(never)]
    fn continue_route(&mut self, place: u32, slot: Slot) -> Route {
        let number = self.number(place);
        let port = PortId(place - self.bases[place as usize]);
        let BatchedCx { routing, states, .. } = &mut self.cx;
        states[slot].continue_route(routing, number, Hop { port, class: 0 });
        states[slot].route
    }

    /// The first packet of FIFO `vc` at `place`, of the switch whose first port is at `base`, makes `request`.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        ports: &mut [Port<V>],
        base: u32,
        place: u32,
        vc: usize,
        request: Request,
    ) {
        let to = base + request.to.0;
        let output = &mut ports[to as usize].lanes[vc].output;
        output.requests |= 1 << (place - base);
        if output.from == NOBODY {
            self.lists.wake_arbiter(to, vc, request.at.max(output.at));
        }
    }

    /// Tells the observer of the packet in `slot`, which the link of `place` chooses in cycle `now` from crossbar `vc`.
    #[cold]
    #[inline(never)]
    fn describe_departure(&mut self, port: &Port<V>, place: u32, vc: usize, slot: Slot, now: Time32) {
        let (base, number) = (self.bases[place as usize], self.number(place));
        let Port { link, lanes, .. } = port;
        let BatchedCx { timing, observer, states, .. } = &mut self.cx;
        let (mut link, state) = (link.clone(), &states[slot]);
        observer.departed(&Departure {
            packet: state.name(),
            component: number,
            port: PortId(place - base),
            vc: vc as u8,
            flits: state.flits,
            ready: lanes[vc].output.at.cycle(timing.epoch),
            free: link.free_at.cycle(timing.epoch),
            chosen: now.cycle(timing.epoch),
            arrives: link.send_packet(timing, now, state.flits.into()).cycle(timing.epoch),
        });
    }
}
