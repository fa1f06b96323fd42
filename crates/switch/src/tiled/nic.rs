//! A NIC port: source queues, a link like that of a switch, and a sink.

mod bounded;

use super::link::{Out, Receiver, Sender};
use super::packet_state::{self, Arrival, Inbox, PacketState, Rare};
use super::{Cx, Shared, Tiled};
use bounded::Bounded;
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::arbiter::ArbiterBank;
use flitway_fabric::bits::bits;
use flitway_fabric::component::{PortEvent, PortModel, Rest, Stage};
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_fabric::observer::{Departure, Loss, Observer};
use flitway_fabric::pool::{List, Slot};
use flitway_fabric::simulation::{Conservation, NodeWires};
use flitway_fabric::{BarrierId, Delivery, FlowKind, LossCause, Packet};
use flitway_wiring::{Destination, NodeId, NodeSet, PortId, RailId};
use std::sync::Arc;

/// A NIC port.
#[derive(Debug)]
pub struct Port {
    /// The node among the components.
    number: u32,
    rail: RailId,
    sender: Sender,
    receiver: Receiver,
    /// By virtual channel: packets to send, and those of which there are some.
    queues: Box<[List]>,
    waiting: u64,
    arbiter: ArbiterBank,
    /// Packets on the link, by the cycle in which they are received.
    coming: List,
    /// When the first of them is.
    receives_at: Cycle,
    /// Nothing is begun before this cycle any more.
    from: Cycle,
    /// When something can be begun, as far as known.
    due: Cycle,
    /// When the timer of the link expires.
    expires_at: Cycle,
    /// Packets dropped, and packets accepted that are wrong, which have not been counted.
    dropped: u32,
    undetected: u32,
    /// Packets wait, and none of them can go before an acknowledgement is heard.
    is_starved: bool,
    /// Where NIC ports are bounded.
    bounded: Option<Box<Bounded>>,
}

/// Bytes of a NIC port.
pub(super) fn bytes_per_port(vcs: usize) -> usize {
    size_of::<Port>() + vcs * size_of::<List>() + ArbiterBank::bytes(vcs)
}

impl Port {
    pub(super) fn new(shared: &Shared, number: u32, rail: RailId, wires: &NodeWires) -> Self {
        let out = Out {
            component: number,
            port: PortId(rail.0),
            wire: wires.out,
            rate: wires.rate,
            to_wire: shared.settings.pipeline.nic_to_wire(),
            leads_to_node: false,
        };
        let mut sender = Sender::new(shared, out);
        let due = sender.training().map_or(Cycle::NEVER, |training| training.next());
        Port {
            number,
            rail,
            sender,
            receiver: Receiver::default(),
            queues: vec![List::default(); shared.vcs].into(),
            waiting: 0,
            arbiter: ArbiterBank::new(shared.settings.arbiter.kind(), 1, shared.vcs),
            coming: List::default(),
            receives_at: Cycle::NEVER,
            from: Cycle::ZERO,
            due,
            expires_at: Cycle::NEVER,
            dropped: 0,
            undetected: 0,
            is_starved: false,
            bounded: Bounded::new(shared),
        }
    }

    /// Virtual channels of which a packet can go, as has been heard.
    fn vcs_to_send(&self, shared: &Shared) -> u64 {
        let can_go = |vc: usize| {
            let head = &shared.pools.states[self.queues[vc].head()];
            self.sender.takes(shared, vc, head.flits.into())
        };
        bits(self.waiting).filter(|&vc| can_go(vc)).fold(0, |vcs, vc| vcs | 1 << vc)
    }

    /// Looks again when something can be begun, not before cycle `now`.
    fn look(&mut self, shared: &Shared, now: Cycle) {
        self.from = self.from.max(now);
        self.is_starved = self.waiting != 0 && self.vcs_to_send(shared) == 0;
        let slot = |from: Cycle| self.sender.slot_from(from.max(self.from));
        let packet = if self.sender.is_replaying() {
            slot(Cycle::ZERO)
        } else if self.waiting == 0 {
            Cycle::NEVER
        } else if self.is_starved {
            self.sender.hears_at(&shared.pools)
        } else {
            slot(Cycle::ZERO)
        };
        let ack = self.receiver.due(shared).min(self.sender.beats_at(shared));
        let ack = if ack == Cycle::NEVER { ack } else { slot(ack) };
        self.due = packet.min(ack);
        if shared.is_unreliable() {
            let link = self.sender.training().map_or(Cycle::NEVER, |training| training.next());
            self.due = self.due.min(self.sender.hears_at(&shared.pools)).min(self.expires_at).min(link);
            if self.sender.is_down() && self.waiting != 0 {
                self.due = self.due.min(self.sender.free_at.max(self.from));
            }
        }
    }

    /// The next packet that is accepted by cycle `now`, if there is one; those before it are dropped.
    fn take_received(&mut self, shared: &mut Shared, now: Cycle) -> Option<Slot> {
        if let Some(training) = self.sender.training() {
            training.process(now);
        }
        while self.receives_at <= now {
            let states = &mut shared.pools.states;
            let slot = states.unlink(&mut self.coming);
            self.receives_at = states.first(&self.coming).map_or(Cycle::NEVER, |next| next.at);
            let (stamp, at, flits) = (states[slot].stamp(), states[slot].at, states[slot].flits);
            if !self.sender.hears(at) {
                states.free(slot);
                continue;
            }
            if self.receiver.receive(shared, now, stamp) {
                if let Some(unreliable) = self.sender.unreliable() {
                    unreliable.note_accepted(flits.into());
                    self.undetected += u32::from(shared.pools.states[slot].is_wrong);
                }
                return Some(slot);
            }
            shared.pools.states.free(slot);
            self.dropped += u32::from(!stamp.is_corrupt);
        }
        None
    }

    /// A packet that counts as delivered to `node` in cycle `now`.
    fn take_delivery(&mut self, shared: &mut Shared, now: Cycle, node: NodeId) -> Option<Delivery> {
        while let Some(slot) = self.take_received(shared, now) {
            match &mut self.bounded {
                Some(bounded) => bounded.keep(&mut shared.pools.states, slot),
                None => {
                    let state = shared.pools.states.take(slot);
                    self.receiver.give_back(shared, now, state.vc.into(), state.flits.into());
                    return Some(state.delivery(node, self.rail, now));
                }
            }
        }
        self.bounded.as_mut()?.delivery(shared, now, node, self.rail)
    }

    /// Takes in changes of rates. Returns a mask of the ports that have some.
    #[cold]
    fn receive_paces(ports: &mut [Self], shared: &Shared, inbox: &mut Inbox, start: Cycle) -> u64 {
        let mut mail = 0;
        for (rail, at, rate) in inbox.paces.drain(..) {
            let port = &mut ports[usize::from(rail)];
            port.sender.change(at, rate);
            port.look(shared, start);
            mail |= 1 << rail;
        }
        mail
    }

    /// Takes in what is rare.
    #[cold]
    fn receive_rare(ports: &mut [Self], shared: &Shared, inbox: &mut Inbox, start: Cycle) -> u64 {
        let mut mail = 0;
        for rare in inbox.rare.drain(..) {
            let (Rare::Signal(rail, _) | Rare::GivenUp(rail, _)) = rare;
            let port = &mut ports[usize::from(rail)];
            if let Some(training) = port.sender.training() {
                match rare {
                    Rare::Signal(_, signal) => training.expect(*signal),
                    Rare::GivenUp(_, given_up) => training.expect_given_up(given_up),
                }
            }
            port.look(shared, start);
            mail |= 1 << rail;
        }
        mail
    }

    /// The link is down: a packet that it would take is lost.
    #[cold]
    fn discard<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let vc = self.arbiter.grant(0, self.waiting);
        let slot = self.take_first(cx.shared, vc);
        let state = cx.shared.pools.states.take(slot);
        self.sender.free_at = now + u64::from(state.flits);
        let loss = Loss { was_sent: false, ..state.loss(now, self.number, LossCause::LinkDown) };
        cx.counters.lose(&loss, cx.observer);
        if let Some(bounded) = &mut self.bounded {
            bounded.leave(self.sender.free_at, state.flow());
        }
    }

    /// Takes the first packet of `vc` out of its queue.
    fn take_first(&mut self, shared: &mut Shared, vc: usize) -> Slot {
        let slot = shared.pools.states.unlink(&mut self.queues[vc]);
        if self.queues[vc].is_empty() {
            self.waiting &= !(1 << vc);
        }
        slot
    }

    /// The link begins the first packet of an arbiter's choice among `vcs`.
    fn send<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vcs: u64) {
        let vc = self.arbiter.grant(0, vcs);
        let slot = self.take_first(cx.shared, vc);
        let state = &mut cx.shared.pools.states[slot];
        state.injected = now + u64::from(cx.shared.settings.pipeline.nic_to_wire());
        let (packet, flits, created, flow) = (state.name(), state.flits, state.created, state.flow());
        let free = self.sender.free_at;
        let flight = self.sender.begin(cx, now, slot, vc, &mut self.receiver);
        cx.observer.departed(&Departure {
            packet,
            component: self.number,
            port: PortId(self.rail.0),
            vc: vc as u8,
            flits,
            ready: created,
            free,
            chosen: now,
            arrives: flight.arrives,
        });
        if let Some(bounded) = &mut self.bounded {
            bounded.leave(flight.ends, flow);
        }
    }
}

impl PortModel<Tiled> for Port {
    fn first(&self) -> Cycle {
        self.due
    }

    fn receive<const REACTS: bool, O: Observer>(
        ports: &mut [Self],
        cx: &mut Cx<'_, O>,
        inbox: &mut Inbox,
        _: NodeId,
    ) -> u64 {
        let (mut mail, start) = (0, cx.post.start());
        let is_unreliable = cx.shared.is_unreliable();
        let pools = &mut cx.shared.pools;
        for ack in inbox.acks.drain(..) {
            let rail = usize::from(ack.port);
            ports[rail].sender.expect(pools, ack);
            mail |= u64::from(ports[rail].is_starved || is_unreliable) << rail;
        }
        for Arrival { slot, port: rail, sequence } in inbox.packets.drain(..) {
            let rail = usize::from(rail);
            let port = &mut ports[rail];
            pools.states[slot].port = sequence.0;
            pools.states.append(&mut port.coming, slot);
            port.receives_at = port.receives_at.min(pools.states[slot].at);
            mail |= 1 << rail;
        }
        if !inbox.paces.is_empty() {
            mail |= Self::receive_paces(ports, cx.shared, inbox, start);
        }
        if !inbox.rare.is_empty() {
            mail |= Self::receive_rare(ports, cx.shared, inbox, start);
        }
        for port in ports.iter_mut().filter(|port| port.is_starved || is_unreliable) {
            port.look(cx.shared, start);
        }
        mail
    }

    fn prefetch(ports: &[Self], _: u64, shared: &Shared, inbox: &Inbox, stage: Stage) {
        match stage {
            Stage::Itself | Stage::Ports | Stage::Queues | Stage::Third => {}
            Stage::Mail => {
                prefetch::slice(ports);
                prefetch::slice(&inbox.packets);
                prefetch::slice(&inbox.acks);
            }
            Stage::First => {
                inbox.packets.iter().for_each(|it| shared.pools.states.prefetch(it.slot));
                ports.iter().for_each(|port| prefetch::slice(&port.queues));
            }
            Stage::Second => {
                for port in ports {
                    shared.pools.states.prefetch(port.coming.head());
                    bits(port.waiting).for_each(|vc| shared.pools.states.prefetch(port.queues[vc].head()));
                }
            }
        }
    }

    fn submit(
        &mut self,
        shared: &mut Shared,
        now: Cycle,
        source: NodeId,
        packet: &Packet,
        _: &[Arc<NodeSet>],
    ) -> u32 {
        let Destination::Node(node) = packet.destination else {
            panic!("tiled switches have tables for no groups")
        };
        let settings = &shared.settings;
        let lane = settings.lanes.lane(settings.reply_lanes, source, node, packet, shared.lanes);
        let header = shared.routings.at(now).header(source, node, settings.lanes.draw(packet.lane));
        let flits = settings.format.packet_flits(packet.payload.into());
        let slot = shared.pools.states.put(PacketState::new(source, header, packet, flits));
        shared.pools.states.append(&mut self.queues[lane], slot);
        // It is looked at when the port goes on in this cycle.
        self.waiting |= 1 << lane;
        flits
    }

    #[inline]
    fn delivery(&mut self, shared: &mut Shared, now: Cycle, node: NodeId) -> Option<Delivery> {
        if self.receives_at > now && self.bounded.is_none() && !shared.is_unreliable() {
            return None;
        }
        self.take_delivery(shared, now, node)
    }

    fn event<O: Observer>(&mut self, _: &mut Cx<'_, O>, now: Cycle) -> Option<PortEvent> {
        self.bounded.as_mut()?.take_sent(now).map(PortEvent::Sent)
    }

    fn drain<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: u8) {
        let bounded = self.bounded.as_mut().expect("an ideal NIC port is not drained");
        bounded.settle(cx.shared, now, &mut self.receiver);
        bounded.drain(&mut cx.shared.pools.states, now, vc.into());
    }

    fn arrive<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle, _: BarrierId) -> bool {
        false
    }

    fn advance<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        if let Some(bounded) = &mut self.bounded {
            bounded.settle(cx.shared, now, &mut self.receiver);
        }
        cx.counters.link.dropped += u64::from(std::mem::take(&mut self.dropped));
        cx.counters.link.undetected += u64::from(std::mem::take(&mut self.undetected));
        self.sender.train(cx, now, &mut self.receiver, |_, _| ());
        self.sender.hear(cx.shared, now, |_, _| ());
        self.expires_at = self.sender.expire(cx, now);
        if self.sender.is_down() {
            if self.waiting != 0 && now >= self.from.max(self.sender.free_at) {
                self.discard(cx, now);
                self.from = now + 1;
            }
            return self.look(cx.shared, now);
        }
        if now >= self.from && self.sender.slot_from(now) == now {
            let vcs = self.vcs_to_send(cx.shared);
            if self.sender.is_replaying() {
                self.sender.repeat(cx, now, &mut self.receiver);
            } else if vcs != 0 {
                self.send(cx, now, vcs);
            } else {
                self.sender.tell_alone(cx, now, &mut self.receiver);
            }
            self.from = now + 1;
            self.expires_at = self.sender.expire(cx, now);
        }
        self.look(cx.shared, now);
    }

    fn next(&self) -> Cycle {
        let bounded = self.bounded.as_ref().map_or(Cycle::NEVER, |bounded| bounded.next());
        self.receives_at.min(self.due).min(bounded)
    }

    fn finish<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) -> Rest {
        Rest { next: self.next(), waits: self.is_starved }
    }

    fn settle<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) {}

    fn sent_flits(&self) -> Option<u64> {
        Some(self.sender.flits())
    }

    fn waiting(&self, shared: &Shared, node: NodeId, _: Cycle) -> Vec<Waiting> {
        let states = &shared.pools.states;
        let (switch, port) = (self.number, PortId(self.rail.0));
        let is_reply = |state: &PacketState| state.flow().is(FlowKind::Reply);
        let replies: Vec<usize> =
            (0..shared.vcs).filter(|&vc| states.iter(&self.queues[vc]).any(is_reply)).collect();
        let input = |vc: usize| Fifo { switch, port, vc: vc as u8, side: Side::Input };
        let kept = self.bounded.as_ref().map(|bounded| bounded.stuck(states, node, input, &replies));
        let firsts = bits(self.waiting).filter_map(|vc| {
            let state = states.first(&self.queues[vc])?;
            let need = |vc: usize| Need::Space {
                output: port,
                vc: vc as u8,
                units: 1,
                sent: self.sender.heard(vc).into(),
            };
            (!self.sender.takes(shared, vc, state.flits.into())).then(|| Waiting {
                fifo: Fifo { side: Side::Output, ..input(vc) },
                source: node,
                destination: Destination::Node(state.header.destination()),
                feeds: 0,
                needs: Vec::new(),
                alternatives: self.sender.lacks_of(shared.parts.input, vc).map(need).collect(),
            })
        });
        kept.into_iter().flatten().chain(firsts).collect()
    }

    fn position(&self, _: &Shared, vc: u8, _: Cycle) -> u32 {
        let leaving = self.bounded.as_ref().map_or(0, |bounded| bounded.leaving(vc.into()));
        self.receiver.returned(vc.into()).wrapping_add(leaving).into()
    }

    fn audit(&self, shared: &Shared, _: Cycle, books: &mut Conservation) {
        let states = &shared.pools.states;
        let queued: usize = self.queues.iter().map(|queue| states.iter(queue).count()).sum();
        books.in_network += queued as u64;
        packet_state::audit(shared, &self.coming, books);
        self.sender.audit(books);
        books.units_freed += u64::from(self.receiver.freed());
        if let Some(bounded) = &self.bounded {
            bounded.audit(states, books);
        }
    }
}
