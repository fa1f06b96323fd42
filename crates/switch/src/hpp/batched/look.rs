//! The shard as the simulation asks it, between windows.

use super::context::BatchedCx;
use super::lists::Letter;
use super::port::{Lane, NOBODY, Output, Port};
use super::{BatchedShard, FAR, Network, Switch, epoch_before};
use crate::hpp::packet_state::Mail;
use flitway_engine::Cycle;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::Endpoint;
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Conservation, Counters, ShardModel};
use flitway_wiring::{Destination, NodeId, PortId};
use std::ops::Range;

impl<const V: usize, E: Endpoint, O: Observer> ShardModel<E, O> for BatchedShard<V, E, O> {
    fn endpoints(&mut self) -> Box<dyn Iterator<Item = (NodeId, &mut E)> + '_> {
        Box::new(self.nodes.iter_mut().map(|node| (node.id, &mut node.endpoint)))
    }

    fn observer(&mut self) -> &mut O {
        &mut self.network.cx.observer
    }

    fn counters(&self) -> Counters {
        self.network.cx.counters
    }

    fn settle(&mut self, now: Cycle) {
        loop {
            let at = now.min(self.network.cx.timing.epoch + FAR);
            self.network.settle(&mut self.ports, at);
            if self.is_far(at) {
                self.network.count_from(&mut self.ports, epoch_before(at, self.network.lists.round()));
            }
            if at == now {
                return;
            }
        }
    }

    fn audit(&self, now: Cycle) -> Conservation {
        let Network { cx, nics, .. } = &self.network;
        let mut books = Conservation::of(&cx.counters);
        for Lane { output, input } in self.ports.iter().flat_map(|port| &port.lanes) {
            input.receiver.audit(&cx.timing, &cx.behind, now, &mut books);
            cx.states.iter(&input.waiting).for_each(|state| state.audit(&mut books));
            books.units_sent += u64::from(output.sender.sent());
        }
        nics.iter().for_each(|nic| nic.audit(cx, now, &mut books));
        // Mail that nobody has read yet is still on a link.
        for letter in self.network.lists.letters() {
            cx.states[letter.coming.slot].audit(&mut books);
        }
        for letter in &self.inbox {
            if let Mail::Packet(state) = &letter.mail {
                state.audit(&mut books);
            }
        }
        books
    }

    fn waiting(&self, switch: u32, now: Cycle) -> Vec<Waiting> {
        let fifos = self.network.places(switch).flat_map(|place| (0..V).map(move |vc| (place, vc)));
        fifos.filter_map(|(place, vc)| self.network.packet_waiting(&self.ports, place, vc, now)).collect()
    }

    fn position(&self, switch: u32, port: PortId, vc: u8, now: Cycle) -> u32 {
        let place = self.network.places(switch).start + port.index();
        let BatchedCx { timing, behind, .. } = &self.network.cx;
        self.ports[place].lanes[usize::from(vc)].input.receiver.position(timing, behind, now)
    }

    fn queued_flits(&self, switch: u32, now: Cycle) -> u64 {
        let (states, places) = (&self.network.cx.states, self.network.places(switch));
        let is_there = |letter: &&Letter| places.contains(&(letter.place as usize));
        let coming = self.network.lists.letters().filter(is_there).map(|letter| &states[letter.coming.slot]);
        let lanes = self.ports[places.clone()].iter().flat_map(|port| &port.lanes);
        let mail = self.inbox.iter().filter(|letter| letter.place == switch);
        let mail = mail.filter_map(|letter| match &letter.mail {
            Mail::Packet(state) => Some(state),
            _ => None,
        });
        let waiting = lanes.flat_map(|lane| states.iter(&lane.input.waiting)).chain(coming).chain(mail);
        waiting.filter(|state| state.at < now).map(|state| u64::from(state.flits)).sum()
    }

    fn sent_flits(&self, place: u32, port: PortId) -> Option<u64> {
        let place = self.network.place_of(place, port.0) as usize;
        Some(match place.checked_sub(self.ports.len()) {
            None => self.ports[place].link.sent,
            Some(nic) => self.network.nics[nic].link.sent,
        })
    }
}

impl<const V: usize, O: Observer> Network<V, O> {
    /// The places of the ports of a switch.
    fn places(&self, switch: u32) -> Range<usize> {
        let Switch { first, ports, .. } = self.switches[switch as usize];
        first as usize..(first + ports) as usize
    }

    /// Does what was put off in the cycles before `now` because nobody looked.
    fn settle(&mut self, ports: &mut [Port<V>], now: Cycle) {
        let Some(last) = now.0.checked_sub(1).map(Cycle) else { return };
        let last = Time32::of(last, self.cx.timing.epoch);
        for place in 0..ports.len() {
            self.catch_up(ports, place as u32, last);
        }
        self.nics.iter_mut().for_each(|nic| nic.catch_up(last, &mut self.cx));
        debug_assert!(
            self.cx.mail.told.is_empty() && self.cx.mail.away.iter().all(Vec::is_empty),
            "whatever somebody needs to know has been said when the window ended"
        );
    }

    /// Counts time from `epoch` on. All that was put off has been done.
    fn count_from(&mut self, ports: &mut [Port<V>], epoch: Cycle) {
        let span = epoch.since(self.cx.timing.epoch) as u32;
        self.cx.timing.epoch = epoch;
        for time in [&mut self.links_from, &mut self.news_at] {
            *time = time.moved(span);
        }
        self.lists.move_epoch(span);
        let behind = &mut self.cx.behind;
        ports.iter_mut().for_each(|port| port.count_from(span, behind));
        self.nics.iter_mut().for_each(|nic| nic.count_from(span, behind));
    }

    /// The first packet of FIFO `vc` at `place`, if it requests in cycle `now` and is short of credits.
    fn packet_waiting(&self, ports: &[Port<V>], place: usize, vc: usize, now: Cycle) -> Option<Waiting> {
        let (base, input) = (self.bases[place] as usize, &ports[place].lanes[vc].input);
        let BatchedCx { timing, states, limits, .. } = &self.cx;
        let state =
            states.first(&input.waiting).filter(|_| input.requests_from < Time32::of(now, timing.epoch))?;
        let output = state.route.hop().port;
        let Output { sender, from, .. } = &ports[base + output.index()].lanes[vc].output;
        if base + usize::from(*from) == place {
            return None;
        }
        // The link takes the credits of a packet that has been granted when it chooses it; they are nobody else's before.
        let granted =
            if *from == NOBODY { 0 } else { ports[base + usize::from(*from)].lanes[vc].input.units.into() };
        let units = u32::from(input.units);
        let is_short = !sender.would_have(limits, now, granted + units);
        let sent = sender.sent().wrapping_add(granted);
        let space = is_short.then_some(Need::Space { output, vc: vc as u8, units, sent });
        Some(Waiting {
            fifo: Fifo {
                switch: self.number(place as u32),
                port: PortId::new(place - base),
                vc: vc as u8,
                side: Side::Input,
            },
            source: state.source,
            destination: Destination::Node(NodeId(state.to)),
            feeds: 0,
            needs: space.into_iter().collect(),
            alternatives: Vec::new(),
        })
    }
}
