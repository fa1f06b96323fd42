//! Arbiters: whose first packet may cross to an output, and when.

use super::Network;
use super::context::BatchedCx;
use super::lists::Lists;
use super::port::{Input, NOBODY, Output, Port};
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Grant, Observer, Outputs, Passage};
use flitway_wiring::PortId;

impl<const V: usize, O: Observer> Network<V, O> {
    /// The arbiters of the block that runs look that are due before cycle `end`, with which the batch ends.
    pub(super) fn arbitrate_all(&mut self, ports: &mut [Port<V>], end: Time32) {
        let mut due = std::mem::take(&mut self.due);
        self.lists.take_arbiters(&mut due);
        self.cx.counters.wakes += due.len() as u64;
        if self.asks_ahead {
            self.arbitrate_each::<true>(ports, &due, end);
        } else {
            self.arbitrate_each::<false>(ports, &due, end);
        }
        self.due = due;
    }

    #[inline(never)]
    fn arbitrate_each<const AHEAD: bool>(&mut self, ports: &mut [Port<V>], due: &[u32], end: Time32) {
        if AHEAD {
            self.prefetch_first_arbiters(ports, due);
        }
        for (index, &arbiter) in due.iter().enumerate() {
            if AHEAD {
                self.prefetch_arbiters(ports, due, index);
            }
            let (place, vc) = (Lists::place_of(arbiter), Lists::vc_of(arbiter));
            self.arbitrate(ports, place, vc, end);
        }
    }

    /// The arbiter of output `vc` of `place` grants one of its requests before cycle `end`, if one can be.
    #[inline(always)]
    fn arbitrate(&mut self, ports: &mut [Port<V>], place: u32, vc: usize, end: Time32) {
        let Output { requests, at: crossed, from, ref sender, .. } = ports[place as usize].lanes[vc].output;
        if requests == 0 || from != NOBODY {
            // If a packet has been granted, the choice of the link wakes the arbiter.
            return;
        }
        if requests & (requests - 1) != 0 {
            return self.arbitrate_among(ports, requests, place, vc, end);
        }
        let (base, first) = (self.bases[place as usize], requests.trailing_zeros());
        let Input { requests_from, units, .. } = ports[(base + first) as usize].lanes[vc].input;
        let now = requests_from.max(crossed).max(self.lists.now());
        if now >= end {
            self.lists.wake_arbiter(place, vc, now);
        } else if sender.has_known(units.into()) {
            self.arbiters.grant_only(place as usize * V + vc, first as usize);
            self.grant(ports, base, first, place, vc, now);
        } else {
            self.arbitrate_among(ports, requests, place, vc, end);
        }
    }

    /// The same where there are several `requests`, or credits are scarce. It is in line because it has loops: of the later of
    /// two times in an innermost loop the compiler makes a branch, which nobody can guess.
    #[inline(always)]
    fn arbitrate_among(&mut self, ports: &mut [Port<V>], requests: u64, place: u32, vc: usize, end: Time32) {
        let base = self.bases[place as usize];
        let from = |ports: &[Port<V>], port: usize| ports[base as usize + port].lanes[vc].input.requests_from;
        let first = bits(requests).fold(Time32::NEVER, |first, port| first.min(from(ports, port)));
        let mut now = first.max(ports[place as usize].lanes[vc].output.at).max(self.lists.now());
        while now < end {
            let (mut eligible, mut later) = (0, Time32::NEVER);
            let cycle = now.cycle(self.cx.timing.epoch);
            for other in bits(requests) {
                let Input { requests_from, units, .. } = ports[base as usize + other].lanes[vc].input;
                if requests_from <= now {
                    let sender = &mut ports[place as usize].lanes[vc].output.sender;
                    let fits = sender.has(&mut self.cx.limits, cycle, units.into());
                    eligible |= u64::from(fits) << other;
                } else {
                    later = later.min(requests_from);
                }
            }
            if eligible != 0 {
                let from = self.arbiters.grant(place as usize * V + vc, eligible) as u32;
                return self.grant(ports, base, from, place, vc, now);
            }
            now = later.min(self.next_advert(&mut ports[place as usize].lanes[vc].output));
        }
        if now != Time32::NEVER {
            self.lists.wake_arbiter(place, vc, now);
        }
    }

    /// When the next advert for `output` counts; `NEVER` if none is known, and the next to come wakes its arbiter.
    #[cold]
    fn next_advert(&self, output: &mut Output) -> Time32 {
        let Output { sender, is_starved, .. } = output;
        let next = sender.next_advert(&self.cx.limits);
        *is_starved |= next.is_none();
        next.map_or(Time32::NEVER, |next| Time32::of(next, self.cx.timing.epoch))
    }

    /// The packet from input `from` may cross to output `vc` of `place` from the cycle after `now` on.
    #[inline(always)]
    fn grant(&mut self, ports: &mut [Port<V>], base: u32, from: u32, place: u32, vc: usize, now: Time32) {
        if self.cx.observer.follows_passages() {
            self.describe_passage(ports, base, from, place, vc, now);
        }
        let Port { link, lanes, .. } = &mut ports[place as usize];
        let BatchedCx { timing, counters, .. } = &mut self.cx;
        let output = &mut lanes[vc].output;
        let to_link = timing.to_link();
        output.requests &= !(1 << from);
        output.from = from as u8;
        output.at = now + to_link;
        // If something waits it will look: at what has been granted in this batch, or when it is free.
        self.lists.wake_link_if(place, output.at.max(link.free_at) - to_link, link.waiting == 0);
        link.waiting |= 1 << vc;
        counters.events += 1;
        if O::WATCHES_SWITCHES {
            let grant = Grant {
                cycle: now.cycle(timing.epoch),
                switch: self.number(place),
                output: PortId(place - base),
                vc: vc as u8,
                input: PortId(from),
            };
            self.cx.observer.granted(&grant);
        }
    }

    /// Tells the observer of the packet at the head of FIFO `vc` of input `from`, which is granted the output at `place`.
    #[cold]
    #[inline(never)]
    fn describe_passage(
        &mut self,
        ports: &[Port<V>],
        base: u32,
        from: u32,
        place: u32,
        vc: usize,
        now: Time32,
    ) {
        let number = self.number(place);
        let output = &ports[place as usize].lanes[vc].output;
        let input = &ports[(base + from) as usize].lanes[vc].input;
        let BatchedCx { timing, observer, states, .. } = &mut self.cx;
        let state = &states[input.waiting.head()];
        observer.passed(&Passage {
            packet: state.name(),
            switch: number,
            input: PortId(from),
            vc: vc as u8,
            outputs: Outputs::One(PortId(place - base)),
            arrived: state.at,
            ready: state.at + timing.felt_by_switch(),
            requested: input.requests_from.cycle(timing.epoch),
            free: Some(output.at.cycle(timing.epoch)),
            granted: now.cycle(timing.epoch),
        });
    }
}
