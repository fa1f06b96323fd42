//! What comes over a link: packets and adverts. They are told at once, with their dates.

use super::Network;
use super::build::place_of;
use super::context::BatchedCx;
use super::lists::Letter;
use super::nic::Nic;
use super::port::{Coming, Port};
use super::receiver::Leaving;
use crate::hpp::packet_state::{CreditUpdate, Mail, PacketState};
use flitway_engine::Cycle;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::Delivery;
use flitway_fabric::component;
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::Slot;
use flitway_fabric::simulation::Address;
use flitway_wiring::NodeId;
use flitway_wiring::routing::Route;

impl<const V: usize, O: Observer> Network<V, O> {
    /// A packet, which is in no list, goes to `port` of the component at `to`, in another shard; in this one `to` says the
    /// place of the port itself.
    #[inline(always)]
    pub(super) fn pass_on(
        &mut self,
        ports: &mut [Port<V>],
        to: Address,
        port: u16,
        coming: Coming,
        route: Route,
    ) {
        if to.shard != self.cx.mail.shard {
            return self.send_away(to, port, coming.slot);
        }
        let place = to.place;
        let base = place - u32::from(port);
        if let Some(index) = (place as usize).checked_sub(ports.len()) {
            if self.nic_blocks[index] as usize == self.lists.running() {
                return self.expect_in_nic(index, coming);
            }
        } else if self.lists.block_of(place) == self.lists.running() {
            return self.expect_in_switch(ports, base, place, coming, route);
        }
        // The state of the other block is far from what is at work now.
        self.post(Letter { place, base, coming, route });
    }

    /// A packet comes to a port in any block, which will read of it in the batch in which it is felt, or a while before.
    #[inline(always)]
    fn post(&mut self, letter: Letter) {
        let Letter { place, coming, .. } = letter;
        let timing = &self.cx.timing;
        let (block, felt) = match place.checked_sub(self.first_nic) {
            None => (self.lists.block_of(place) as u32, timing.felt_by_switch()),
            Some(nic) => (self.nic_blocks[nic as usize], timing.felt_by_node(coming.flits.into())),
        };
        self.lists.post_coming(block, letter, felt);
    }

    /// The packet in `slot` goes to `port` of the component at `to`, in another shard.
    #[inline(never)]
    fn send_away(&mut self, to: Address, port: u16, slot: Slot) {
        let state = self.cx.states.take(slot);
        self.cx.mail.send_away(to, state.at, Mail::Packet(PacketState { port, ..state }));
    }

    /// The packets that other blocks and other shards have sent come to the block that runs.
    #[inline(never)]
    pub(super) fn read_letters(&mut self, ports: &mut [Port<V>]) {
        let mut letters = std::mem::take(&mut self.read);
        self.lists.take_letters(&mut letters);
        if self.asks_ahead {
            Self::prefetch_first_letters(ports, &letters);
        }
        for (index, &Letter { place, base, coming, route }) in letters.iter().enumerate() {
            if self.asks_ahead {
                Self::prefetch_letters(ports, &letters, index);
            }
            match (place as usize).checked_sub(ports.len()) {
                None => self.expect_in_switch(ports, base, place, coming, route),
                Some(nic) => self.expect_in_nic(nic, coming),
            }
        }
        self.read = letters;
    }

    /// Takes in mail from another shard, before a window that begins in cycle `start`.
    pub(super) fn accept(&mut self, ports: &mut [Port<V>], letter: component::Letter<Mail>, start: Cycle) {
        match letter.mail {
            Mail::Packet(state) => {
                let place = self.place_of(letter.place, state.port.into());
                let PacketState { flits, units, vc, route, .. } = state;
                let at = Time32::of(state.at, self.cx.timing.epoch);
                let slot = self.cx.states.put(PacketState { next: Slot::NONE, ..state });
                let base = place - u32::from(state.port);
                let coming = Coming { slot, at, flits, units, vc };
                self.post(Letter { place, base, coming, route });
            }
            Mail::Advert(limit) => {
                let place = self.place_of(letter.place, limit.port.into());
                self.receive_credit(ports, place, &limit, start);
            }
            Mail::CreditRun(..) | Mail::Run(_) | Mail::Signal(_) => {
                unreachable!("there is nothing beside packets and adverts on links")
            }
        }
    }

    /// The place of `port` (of a node: the rail) of a component of this shard.
    pub(super) fn place_of(&self, component: u32, port: u32) -> u32 {
        place_of(&self.switches, self.first_nic, self.rails, component, port)
    }

    /// A packet is on its way to the port at `place`, of the switch whose first port is at `base`.
    #[inline(always)]
    fn expect_in_switch(
        &mut self,
        ports: &mut [Port<V>],
        base: u32,
        place: u32,
        coming: Coming,
        route: Route,
    ) {
        let BatchedCx { timing, states, .. } = &mut self.cx;
        let port = &mut ports[place as usize];
        let vc = usize::from(coming.vc);
        let input = &mut port.lanes[vc].input;
        let is_credit_critical = input.receiver.arrive(coming.units, timing.slack);
        let is_first = input.waiting.is_empty();
        states.append_ended(&mut input.waiting, coming.slot);
        let request = is_first.then(|| input.request(timing, coming, route));
        if is_credit_critical && port.link.make_credit_critical(coming.vc) {
            // If it has been credit-critical for longer, what is urgent is known already.
            self.with_pending_adverts.insert(place);
        }
        if let Some(request) = request {
            self.enter(ports, base, place, vc, request);
        }
    }

    /// A packet is on its way to the NIC port with this `index`.
    #[inline(always)]
    fn expect_in_nic(&mut self, index: usize, coming: Coming) {
        // As small numbers: what is handed to code out of line as a whole is written first.
        let Coming { slot, at, flits, units, vc } = coming;
        self.take_in(index, slot, at, [flits, units], vc);
    }

    /// The packet in `slot` is on its way to the NIC port with this `index`; its first flit is there in cycle `at`.
    #[inline(never)]
    fn take_in(&mut self, index: usize, slot: Slot, at: Time32, [flits, units]: [u16; 2], vc: u8) {
        let nic = &mut self.nics[index];
        let timing = &self.cx.timing;
        if nic.lanes[usize::from(vc)].receiver.arrive(units, timing.nic_slack) {
            nic.link.make_credit_critical(vc);
        }
        let leaving = Leaving { base: at + timing.receive, flits, units, next: Slot::NONE };
        let delivered = at.cycle(timing.epoch) + u64::from(flits);
        if nic.begin(vc.into(), leaving, &mut self.cx) {
            self.with_pending_adverts.insert(self.first_nic + index as u32);
        }
        if self.nodes_are_deaf && delivered < self.horizon {
            return self.deliver(index, slot, delivered);
        }
        let nic = &mut self.nics[index];
        let is_first = nic.undelivered.is_empty();
        if is_first {
            nic.deliver_at = delivered;
        }
        self.cx.states.append_ended(&mut nic.undelivered, slot);
        self.undelivered += 1;
        if is_first {
            self.call_node(index, delivered);
        }
    }

    /// The node of a NIC port acts in cycle `at`.
    fn call_node(&mut self, index: usize, at: Cycle) {
        let (node, block) = (self.nics[index].node, self.nic_blocks[index]);
        let said = &mut self.node_at[node as usize];
        if at < *said {
            *said = at;
            let at = Time32::of(at, self.cx.timing.epoch);
            self.lists.call_node(node, block, at.max(self.lists.now()));
        }
    }

    /// The packet in `slot`, which is in no list, is delivered in cycle `now`, without telling its node.
    #[inline(always)]
    fn deliver(&mut self, index: usize, slot: Slot, now: Cycle) {
        let Nic { rail, node_id, .. } = self.nics[index];
        let delivery = self.cx.states[slot].delivery(rail, NodeId(node_id), now);
        self.cx.states.free(slot);
        self.cx.record(&delivery);
    }

    /// The first packet that is delivered to a NIC port in cycle `now`, if there is one.
    #[inline]
    pub(super) fn next_delivery(&mut self, index: usize, now: Cycle) -> Option<Delivery> {
        let nic = &mut self.nics[index];
        if nic.deliver_at > now {
            return None;
        }
        let states = &mut self.cx.states;
        let slot = states.unlink(&mut nic.undelivered);
        self.undelivered -= 1;
        let next = states.first(&nic.undelivered);
        nic.deliver_at = next.map_or(Cycle::NEVER, |state| state.at + u64::from(state.flits));
        let delivery = states[slot].delivery(nic.rail, NodeId(nic.node_id), now);
        states.free(slot);
        self.cx.record(&delivery);
        Some(delivery)
    }

    /// Tells the ports of this shard the adverts that they have not heard of. Nobody acts on credits in a cycle before `passed`
    /// any more.
    pub(super) fn tell_all(&mut self, ports: &mut [Port<V>], passed: Cycle) {
        self.count_heard(ports, passed);
        let mut told = std::mem::take(&mut self.cx.mail.told);
        for (place, limit) in told.drain(..) {
            self.receive_credit(ports, place, &limit, passed);
        }
        self.cx.mail.told = told;
    }

    /// The adverts that count before cycle `passed`, or in it, are taken in, though nobody needs them yet: so that there are
    /// few that have not been, in memory that the cache holds. Where it holds everything they wait, and so do those that come
    /// over a link that is much longer than others: they would keep back what was heard after them.
    fn count_heard(&mut self, ports: &mut [Port<V>], passed: Cycle) {
        while let Some(&(_, place, vc)) = self.heard.front().filter(|&&(from, ..)| from <= passed) {
            self.heard.pop_front();
            let vc = usize::from(vc);
            let sender = match (place as usize).checked_sub(ports.len()) {
                None => &mut ports[place as usize].lanes[vc].output.sender,
                Some(nic) => &mut self.nics[nic].lanes[vc].sender,
            };
            sender.count(&mut self.cx.limits, passed);
        }
    }

    /// The port at `place` takes in an advert.
    fn receive_credit(&mut self, ports: &mut [Port<V>], place: u32, advert: &CreditUpdate, passed: Cycle) {
        if self.asks_ahead && advert.from <= passed + 2 * self.window_length {
            self.heard.push_back((advert.from, place, advert.vc));
        }
        let limits = &mut self.cx.limits;
        let from = Time32::of(advert.from, self.cx.timing.epoch);
        let vc = usize::from(advert.vc);
        if let Some(index) = (place as usize).checked_sub(ports.len()) {
            let nic = &mut self.nics[index];
            if nic.receive_credit(vc, limits, advert, passed) {
                nic.decide_at = nic.decide_at.min(from.max(nic.link.free_at));
                let at = nic.decide_at.cycle(self.cx.timing.epoch);
                self.call_node(index, at);
            }
            return;
        }
        let output = &mut ports[place as usize].lanes[vc].output;
        output.sender.advertise(limits, advert, passed);
        if std::mem::take(&mut output.is_starved) {
            self.lists.call_arbiter(place, vc, from.max(self.lists.now()));
        }
    }
}
