//! What a switch asks the memory for before it runs, in three stages after its own lines and its inbox: each reads what the
//! one before asked for.

use super::{Output, Switch};
use crate::hpp::packet_state::Arrival;
use crate::hpp::{Hpp, Shared};
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::bits::bits;
use flitway_fabric::component::PostOf;

/// What comes out of the agenda.
enum Coming {
    Link(usize),
    Arbiter(usize),
}

impl Switch {
    /// What is known to come out of the agenda before `until`, multicast aside.
    #[inline]
    fn coming(&self, until: Cycle) -> impl Iterator<Item = Coming> {
        self.agenda.coming(until).filter_map(|slot| {
            if slot < self.links.len() {
                return Some(Coming::Link(slot));
            }
            slot.checked_sub(self.first_arbiter).map(Coming::Arbiter)
        })
    }

    /// The packets that come, and the links and outputs that have something to do.
    #[inline]
    pub(super) fn prefetch_first(&self, shared: &Shared, packets: &[Arrival], until: Cycle) {
        packets.iter().for_each(|it| shared.pools.states.prefetch(it.slot));
        for coming in self.coming(until) {
            match coming {
                Coming::Link(link) => prefetch::element(&self.links, link),
                Coming::Arbiter(output) => prefetch::element(&self.outputs, output),
            }
        }
    }

    /// What these packets go through.
    #[inline]
    pub(super) fn prefetch_second(&self, shared: &Shared, packets: &[Arrival], until: Cycle) {
        for &Arrival { slot, port, vc } in packets {
            let (state, port, vc) = (&shared.pools.states[slot], usize::from(port), usize::from(vc));
            prefetch::element(&self.links, port);
            if !state.spreads() {
                self.prefetch_request(port, state.route.hop().port.index(), vc);
            }
        }
        for coming in self.coming(until) {
            match coming {
                Coming::Link(link) => {
                    self.granted(link).for_each(|output| prefetch::element(&self.outputs, output))
                }
                Coming::Arbiter(output) => {
                    let Output { port, vc, requests, .. } = self.outputs[output];
                    bits(requests).for_each(|from| self.prefetch_request(from, port.into(), vc.into()));
                }
            }
        }
    }

    /// Where they go next.
    #[inline]
    pub(super) fn prefetch_third(
        &self,
        shared: &Shared,
        packets: &[Arrival],
        until: Cycle,
        post: &PostOf<Hpp>,
    ) {
        let states = &shared.pools.states;
        for state in packets.iter().map(|it| &states[it.slot]).filter(|state| !state.spreads()) {
            let output = state.route.hop().port.index();
            self.prefetch_news(usize::from(state.port), until);
            self.prefetch_news(output, until);
            post.prefetch_inbox(self.links[output].wire.peer);
        }
        for coming in self.coming(until) {
            match coming {
                Coming::Link(link) => {
                    post.prefetch_inbox(self.links[link].wire.peer);
                    self.granted(link)
                        .for_each(|output| states.prefetch(self.outputs[output].granted.head()));
                }
                Coming::Arbiter(output) => {
                    let Output { vc, requests, .. } = self.outputs[output];
                    for from in bits(requests) {
                        let input = from * self.vcs + usize::from(vc);
                        states.prefetch(self.inputs[input].waiting.head());
                    }
                }
            }
        }
    }

    /// Asks for the inputs of `port` that may have something to say before `until`.
    #[inline]
    fn prefetch_news(&self, port: usize, until: Cycle) {
        if self.links[port].is_due(until) {
            let vcs = port * self.vcs..(port + 1) * self.vcs;
            for (advert_timer, input) in self.advert_timers[vcs.clone()].iter().zip(&self.inputs[vcs]) {
                if advert_timer.news < until {
                    prefetch::line(input);
                }
            }
        }
    }

    /// The outputs of `port` that have granted packets.
    #[inline]
    fn granted(&self, port: usize) -> impl Iterator<Item = usize> {
        bits(self.links[port].waiting.into()).map(move |vc| port * self.vcs + vc)
    }

    /// Asks for what a request of input port `from` at output port `to` touches.
    #[inline]
    fn prefetch_request(&self, from: usize, to: usize, vc: usize) {
        let (input, output) = (from * self.vcs + vc, to * self.vcs + vc);
        prefetch::element(&self.inputs, input);
        prefetch::element(&self.advert_timers, input);
        prefetch::element(&self.outputs, output);
        prefetch::element(&self.links, to);
        prefetch::element(&self.advert_timers, output);
        self.arbiters.prefetch(output, from);
    }
}
