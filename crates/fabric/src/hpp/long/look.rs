//! The switch as the simulation sees it, and looks at it from outside.

use super::{Long, NOBODY, Output, Port};
use crate::PortId;
use crate::deadlock::{Fifo, Need, Side, Waiting};
use crate::hpp::moment::{Moment, Time};
use crate::hpp::token::Inbox;
use crate::hpp::{Cx, Hpp, Shared};
use crate::observer::Observer;
use crate::simulation::{Conservation, Post, Rest, Stage, SwitchModel};
use crate::{Destination, NodeId};
use flitway_engine::{Cycle, prefetch};

impl<const V: usize> SwitchModel<Hpp> for Long<V> {
    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        self.take_in(shared, inbox, start);
    }

    #[inline]
    fn prefetch(&self, shared: &Shared, post: &Post<Hpp>, place: usize, until: Cycle, stage: Stage) {
        let packets = &post.inbox_of(place).packets;
        let until = Moment::of(until, shared.timing.epoch);
        match stage {
            Stage::Itself => prefetch::item(self),
            Stage::Mail => {
                self.rows.prefetch();
                prefetch::slice(packets);
            }
            Stage::First => self.prefetch_first(shared, packets, until),
            Stage::Second => self.prefetch_second(shared, packets, until),
            Stage::Third => self.prefetch_third(shared, packets, until, post),
            Stage::Ports => {
                self.rows.prefetch();
                prefetch::slice(packets);
                prefetch::slice(&self.ports);
            }
            Stage::Queues => {
                packets.iter().for_each(|&slot| shared.pools.tokens.prefetch(slot));
                self.arbiters.prefetch_all();
            }
        }
    }

    #[inline(never)]
    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        self.work(cx, until)
    }

    fn settle<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let Some(last) = now.0.checked_sub(1).map(Cycle) else { return };
        let last = Moment::of(last, cx.shared.timing.epoch);
        for index in 0..self.ports.len() {
            let owner = self.owner(index);
            self.ports[index].catch_up(last, owner, cx);
        }
    }

    fn audit(&self, shared: &Shared, now: Cycle, books: &mut Conservation) {
        for Port { inputs, outputs, .. } in &self.ports {
            for input in inputs {
                input.audit(&shared.timing, now, books);
                shared.pools.audit(&input.waiting, books);
            }
            books.units_sent += outputs.iter().map(|output| u64::from(output.sender.sent())).sum::<u64>();
        }
    }

    fn waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        let fifos = (0..self.ports.len()).flat_map(|port| (0..V).map(move |vc| (port, vc)));
        fifos.filter_map(|(port, vc)| self.packet_waiting(shared, port, vc, now)).collect()
    }

    fn position(&self, shared: &Shared, port: PortId, vc: u8, now: Cycle) -> u32 {
        self.ports[port.index()].inputs[usize::from(vc)].position(&shared.timing, now)
    }

    fn queued_flits(&self, shared: &Shared, inbox: &Inbox, now: Cycle) -> u64 {
        let tokens = &shared.pools.tokens;
        let inputs = self.ports.iter().flat_map(|port| &port.inputs);
        let waiting = inputs.flat_map(|input| tokens.iter(&input.waiting));
        let coming = inbox.packets.iter().map(|&slot| &tokens[slot]);
        waiting.chain(coming).filter(|token| token.at < now).map(|token| u64::from(token.flits)).sum()
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        Some(self.ports[port.index()].link.sent)
    }
}

impl<const V: usize> Long<V> {
    /// The first packet of FIFO `vc` of `port`, if it requests in cycle `now` and is short of credits.
    fn packet_waiting(&self, shared: &Shared, port: usize, vc: usize, now: Cycle) -> Option<Waiting> {
        let input = &self.ports[port].inputs[vc];
        let token = shared
            .pools
            .tokens
            .first(&input.waiting)
            .filter(|_| input.requests_from < Moment::of(now, shared.timing.epoch))?;
        let output = token.route.hop().port;
        let Output { sender, from, .. } = &self.ports[output.index()].outputs[vc];
        // The link takes the credits of a packet that has been granted when it chooses it; they are nobody else's before.
        let granted =
            if *from == NOBODY { 0 } else { self.ports[usize::from(*from)].inputs[vc].units.into() };
        let units = u32::from(input.units);
        let is_short = !sender.would_have(&shared.pools.limits, now, granted + units);
        let sent = sender.sent().wrapping_add(granted);
        let space = is_short.then_some(Need::Space { output, vc: vc as u8, units, sent });
        Some(Waiting {
            fifo: Fifo { switch: self.number, port: PortId::new(port), vc: vc as u8, side: Side::Input },
            source: token.source,
            destination: Destination::Node(NodeId(token.to)),
            feeds: 0,
            needs: space.into_iter().collect(),
            alternatives: Vec::new(),
        })
    }
}
