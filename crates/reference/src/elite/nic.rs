//! A NIC port: a queue on one side, a sink on the other.

use super::switch::depart;
use super::{Flit, Lane, PacketNumber, Travelling, Verdict, Wires, World};
use flitway_engine::Cycle;
use flitway_fabric::observer::{LinkErrorKind, Loss};
use flitway_fabric::{Delivery, LossCause, NicPorts};
use flitway_switch::elite::{EliteSettings, WhenFull};
use flitway_wiring::{Destination, NodeId, PortId, RailId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug)]
pub(super) struct Nic {
    pub(super) component: u32,
    node: NodeId,
    rail: RailId,
    wires: Wires,
    pub(super) queue: VecDeque<usize>,
    /// Packets that it has been handed; and those that it has taken.
    pub(super) packets: u32,
    taken: BTreeSet<PacketNumber>,
    /// By virtual channel the last one of them; and those that were denied.
    names: BTreeMap<usize, PacketNumber>,
    denied: BTreeSet<PacketNumber>,
    /// Packets that have been answered, of which the NIC is told, with the cycle, and whether affirmatively.
    answered: VecDeque<(u64, usize, bool)>,
    lanes: Vec<Lane>,
    /// The packets that left the source queue in the cycle before.
    sent: Vec<usize>,
    /// By virtual channel.
    receivers: Vec<Receiver>,
    is_bounded: bool,
    /// It takes every flit, and refuses packets for which its buffer has no room.
    refuses: bool,
    /// Flits of the buffer of each virtual channel.
    room: u32,
    /// It refuses a packet in the next cycle, in which that is received.
    refuses_one: bool,
    /// When nothing is fed, from which cycle to before which; when the packet that is half-sent is closed, and the virtual
    /// channel of one that has been.
    pub(super) stalls: Vec<[u64; 2]>,
    closes: Option<u64>,
    closed: Option<usize>,
    /// The NIC hears of the answer to any packet, and not only to broadcasts.
    is_answering: bool,
}

/// What comes in on a virtual channel.
#[derive(Clone, Debug, Default)]
struct Receiver {
    /// The next flit of the packet that comes.
    expected: Option<Flit>,
    /// Packets that have been received; in bounded NIC ports until they have been emptied.
    whole: VecDeque<usize>,
    is_delivered: bool,
    /// Flits of the first packet that have left the buffer, if it is being drained.
    leaving: Option<u32>,
    /// Flits in the buffer.
    stored: u32,
}

impl Nic {
    pub(super) fn new(
        settings: &EliteSettings,
        (component, node): (u32, NodeId),
        rail: RailId,
        wires: Wires,
        nic_ports: NicPorts,
    ) -> Self {
        let vcs = settings.vcs as usize;
        Nic {
            component,
            node,
            rail,
            wires,
            queue: VecDeque::new(),
            packets: 0,
            taken: BTreeSet::new(),
            names: BTreeMap::new(),
            denied: BTreeSet::new(),
            answered: VecDeque::new(),
            lanes: vec![Lane::new(wires.room); vcs],
            sent: Vec::new(),
            receivers: vec![Receiver::default(); vcs],
            is_bounded: nic_ports.are_bounded(),
            room: 2 * settings.format.packet_flits(settings.format.mtu_bytes),
            refuses_one: false,
            refuses: nic_ports.are_bounded()
                && settings.answer.is_some_and(|answer| answer.when_full == WhenFull::Refuse),
            stalls: Vec::new(),
            closes: None,
            closed: None,
            is_answering: nic_ports == NicPorts::Answering,
        }
    }

    /// The channel that it sends on.
    pub(super) fn out(&self) -> usize {
        self.wires.out
    }

    pub(super) fn sender(&self) -> (Wires, &[Lane]) {
        (self.wires, &self.lanes)
    }

    /// The channel that it receives from, and the flits in each buffer, if it is bounded.
    pub(super) fn buffers(&self) -> Option<(usize, Vec<u32>)> {
        let stored = self.receivers.iter().map(|it| it.stored).collect();
        (self.is_bounded && !self.refuses).then_some((self.wires.back, stored))
    }

    pub(super) fn cycle(&mut self, world: &mut World) {
        world.watch(self.component, PortId(self.rail.0), self.wires.out);
        if std::mem::take(&mut self.refuses_one) {
            world.count(self.wires.out, LinkErrorKind::Refused);
        }
        self.receive(world);
        for (lane, credits) in self.lanes.iter_mut().zip(&world.channels[self.wires.out].credits[0]) {
            lane.credits += credits;
        }
        self.lanes.iter_mut().for_each(|lane| lane.check(self.wires.out, world));
        self.free(world);
        self.stall(world);
        if self.half_sent(world).is_none() && !self.is_stalled(world) {
            self.refuse(world);
            let may_go = |packet: &&usize| world.packets[**packet].not_before <= world.now;
            if let Some(&packet) = self.queue.front().filter(may_go)
                && let Some(vc) = self.free_vc(packet, world)
            {
                self.queue.pop_front();
                world.packets[packet].tables = world.tables_now();
                self.lanes[vc].give(packet, (0, vc), world.now);
            }
        }
        self.send(world);
    }

    fn receive(&mut self, world: &mut World) {
        let mut whole = None;
        if let Some((vc, flit)) = world.channels[self.wires.back].received() {
            let it = &mut self.receivers[vc];
            assert!(it.expected.is_none_or(|expected| expected == flit), "flits come in order");
            assert!(it.expected.is_some() || flit.index == 0, "a packet begins with its first flit");
            let is_last = world.is_last(flit);
            it.expected = (!is_last).then_some(Flit { index: flit.index + 1, ..flit });
            it.stored += u32::from(self.is_bounded && !self.refuses);
            whole = is_last.then_some((vc, flit.packet));
        }
        for vc in 0..self.receivers.len() {
            if self.receivers[vc].empty(world) && !self.refuses {
                world.channels[self.wires.back].give_back(vc);
            }
        }
        if let Some((vc, packet)) = whole {
            let verdict = self.judge(vc, packet, world);
            if let Some(answer) = world.settings.answer {
                let at = world.now + 1 + u64::from(answer.node);
                world.channels[self.wires.back].answer(at, vc, verdict);
            }
        }
    }

    /// What the answer to a packet says that has come on `vc`, which is kept if that is to be delivered or to leave a buffer.
    fn judge(&mut self, vc: usize, packet: usize, world: &mut World) -> Verdict {
        let (is_corrupt, flits) = (world.is_corrupt(packet), world.flits_of(packet));
        let Travelling { source, packet: sent, number, .. } = &world.packets[packet];
        let name = (*source, sent.rail, *number);
        let is_superfluous = !is_corrupt && self.taken.contains(&name);
        world.packets[packet].is_superfluous = is_superfluous;
        let it = &mut self.receivers[vc];
        let verdict = if is_corrupt {
            Verdict::Nack
        } else if is_superfluous {
            if self.denied.contains(&name) { Verdict::False } else { Verdict::True }
        } else if self.refuses && it.stored + flits > self.room {
            self.refuses_one = true;
            Verdict::Full
        } else {
            self.taken.insert(name);
            self.names.insert(vc, name);
            world.reached.entry(name).or_default().insert(self.node);
            it.stored += if self.refuses { flits } else { 0 };
            Verdict::True
        };
        let is_kept = !(is_corrupt || is_superfluous || verdict == Verdict::Full);
        if is_kept || !self.refuses {
            it.whole.push_back(packet);
        }
        verdict
    }

    /// Frees virtual channels: with answers, or when all has been sent.
    fn free(&mut self, world: &mut World) {
        for vc in 0..self.lanes.len() {
            let lane = &mut self.lanes[vc];
            let is_sent = lane.packet.is_some_and(|packet| lane.sent == world.flits_of(packet));
            if world.settings.answer.is_none() && is_sent {
                (lane.packet, lane.free) = (None, world.now);
            }
        }
        if world.settings.answer.is_none() {
            return;
        }
        for (vc, verdict) in world.hear(self.wires) {
            let lane = &mut self.lanes[vc];
            let packet = lane.packet.take().expect("what is answered has been sent");
            lane.free = world.now;
            let is_told = self.is_answering || world.packets[packet].range.is_some();
            if !verdict.is_nack() && is_told {
                self.answered.push_back((world.now, packet, verdict == Verdict::True));
            }
            if verdict.is_nack() {
                // It is sent as another one, with the same contents.
                let refused = &world.packets[packet];
                let to = match refused.packet.destination {
                    Destination::Node(to) => to,
                    Destination::Nodes(_) | Destination::Group(..) => refused.source,
                };
                let header = world.routing.header(refused.source, to, refused.packet.lane);
                let again =
                    Travelling { header, hops: 0, was_sent: true, is_corrupt: false, ..refused.clone() };
                world.counters.link.nacks += u64::from(verdict != Verdict::Void);
                world.packets.push(again);
                let cause = if verdict == Verdict::Full { LossCause::Refused } else { LossCause::LinkDown };
                self.put_back(world.packets.len() - 1, cause, world);
            }
        }
    }

    fn is_stalled(&self, world: &World) -> bool {
        self.stalls.iter().any(|[from, until]| (*from..*until).contains(&world.now))
    }

    /// The virtual channel of the packet that has flits left to send.
    fn half_sent(&self, world: &World) -> Option<usize> {
        let flits_left = |lane: &Lane| lane.packet.is_some_and(|packet| lane.sent < world.flits_of(packet));
        self.lanes.iter().position(flits_left)
    }

    /// The paragraph *Stalls*: "if it is not fed again in or before cycle `t + half_packet` it is closed in that cycle".
    fn stall(&mut self, world: &mut World) {
        let half = self.half_sent(world);
        if self.closed != half {
            self.closed = None;
        }
        if !self.is_stalled(world) {
            self.closes = None;
        }
        let begins = self.stalls.iter().any(|[from, _]| *from == world.now);
        let has_begun = half.is_some_and(|vc| self.lanes[vc].sent > 0);
        if begins && has_begun && self.closed.is_none() {
            let answer = world.settings.answer.expect("where nodes stall packets are answered");
            self.closes = Some(world.now + u64::from(answer.half_packet));
        }
        if self.closes == Some(world.now) {
            (self.closes, self.closed) = (None, half);
            let packet = half.and_then(|vc| self.lanes[vc].packet).expect("what is closed is half-sent");
            world.packets[packet].is_corrupt = true;
        }
    }

    /// The packets in the queue that could be sent: those that have no way are lost, and where the link is down they are
    /// refused.
    fn refuse(&mut self, world: &mut World) {
        while let Some(&packet) = self.queue.front() {
            let Travelling { source, header, not_before, .. } = world.packets[packet];
            if not_before > world.now || self.free_vc(packet, world).is_none() {
                return;
            }
            let routing = world.routing_by(world.tables_now());
            let (here, arrival) = routing.start(source);
            let first = routing.first(here, arrival, header).hop.port;
            let has_way = routing.topology().wire(here, first).is_some();
            if has_way && !world.channels[self.wires.out].is_down(world.now) {
                return;
            }
            self.queue.pop_front();
            if has_way {
                self.put_back(packet, LossCause::LinkDown, world);
            } else {
                self.lose(packet, LossCause::NoRoute, world);
            }
        }
    }

    /// The virtual channel that a packet would be given.
    fn free_vc(&self, packet: usize, world: &World) -> Option<usize> {
        let is_broadcast = world.packets[packet].range.is_some();
        let first = if is_broadcast { world.broadcast_vc() } else { 0 };
        (first..world.lanes()).find(|&vc| self.lanes[vc].packet.is_none())
    }

    /// A packet has been refused: it comes first, or is given up for `cause`.
    fn put_back(&mut self, packet: usize, cause: LossCause, world: &mut World) {
        let settings = world.settings.answer.expect("what is refused is answered");
        let refused = &mut world.packets[packet];
        let wait = if refused.refusals < settings.repeats { 0 } else { settings.back_off };
        refused.not_before = world.now + u64::from(wait);
        refused.refusals += 1;
        if refused.refusals >= settings.attempts {
            self.lose(packet, cause, world);
        } else {
            self.queue.push_front(packet);
        }
    }

    fn lose(&mut self, packet: usize, cause: LossCause, world: &mut World) {
        let lacking = world.lacking(packet);
        let Travelling { source, flits, was_sent, packet: sent, range, .. } = &world.packets[packet];
        if self.is_bounded && !was_sent {
            self.sent.push(packet);
        }
        if range.is_some() {
            self.answered.push_back((world.now, packet, false));
        }
        for (place, destination) in lacking.into_iter().enumerate() {
            let loss = Loss {
                at: Cycle(world.now),
                component: self.component,
                source: *source,
                destination,
                created: sent.created,
                flow: sent.flow,
                flits: *flits as u16,
                was_sent: *was_sent || place > 0,
                cause,
            };
            world.counters.lose(&loss, &mut world.record);
        }
    }

    fn send(&mut self, world: &mut World) {
        if !world.channels[self.wires.out].is_slot(world.now) {
            return;
        }
        let sends = |lane: &Lane| {
            lane.credits > 0 && lane.packet.is_some_and(|packet| lane.sent < world.flits_of(packet))
        };
        let Some(vc) = self.lanes.iter().position(sends) else { return };
        if self.is_stalled(world) && self.closed != Some(vc) {
            return;
        }
        let lane = &mut self.lanes[vc];
        let Some(packet) = lane.packet else { return };
        let flit = Flit { packet, index: lane.sent };
        lane.credits -= 1;
        lane.sent += 1;
        lane.slots.push(world.now);
        if flit.index == 0 {
            if world.packets[packet].was_sent {
                world.count(self.wires.out, LinkErrorKind::Repeated);
            }
            world.packets[packet].injected = world.now + u64::from(world.settings.pipeline.transmit);
            let place = (self.component, PortId(self.rail.0), vc);
            let ready = world.packets[packet].packet.created.0;
            depart(world, place, self.wires, packet, (ready, self.lanes[vc].free));
        }
        if world.is_last(flit) {
            let leaves = self.is_bounded && !world.packets[packet].was_sent;
            self.sent.extend(leaves.then_some(packet));
        }
        world.channels[self.wires.out].send(vc, flit);
    }

    /// The packets that it delivers in this cycle.
    pub(super) fn deliver(&mut self, node: NodeId, world: &mut World) -> Vec<Delivery> {
        let is_bounded = self.is_bounded;
        let mut delivered = Vec::new();
        for (vc, it) in self.receivers.iter_mut().enumerate() {
            if it.whole.front().is_some_and(|&packet| world.is_void(packet)) {
                it.drop_first(is_bounded);
                continue;
            }
            let first = if is_bounded {
                let first = it.whole.front().copied().filter(|_| !it.is_delivered);
                it.is_delivered |= first.is_some();
                first
            } else {
                it.whole.pop_front()
            };
            delivered.extend(first.map(|packet| (vc, packet)));
        }
        delivered.into_iter().map(|(vc, packet)| self.count_delivery(vc, packet, node, world)).collect()
    }

    /// The packets that left the source queue in the cycle before.
    pub(super) fn take_sent(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.sent)
    }

    /// The packets that were answered in a cycle before `now`, and whether affirmatively.
    pub(super) fn take_answered(&mut self, now: u64) -> Vec<(usize, bool)> {
        let heard = self.answered.iter().take_while(|(at, ..)| *at < now).count();
        self.answered.drain(..heard).map(|(_, packet, is_true)| (packet, is_true)).collect()
    }

    /// The node denies the copy that was delivered on `vc` in this cycle: its answer is on its way.
    pub(super) fn deny(&mut self, vc: usize, world: &mut World) {
        self.denied.insert(self.names[&vc]);
        let node = world.settings.answer.expect("a broadcast is answered").node;
        let (now, channel) = (world.now, &mut world.channels[self.wires.back]);
        let at = now + u64::from(node + channel.latency);
        let answer = channel.answers.iter_mut().find(|it| (it.vc, it.at) == (vc, at));
        answer.expect("what has just been delivered has not been answered").verdict = Verdict::False;
    }

    /// The NIC drains the packet of `vc` that was delivered last.
    pub(super) fn drain(&mut self, vc: usize) {
        let it = &mut self.receivers[vc];
        assert!(it.is_delivered && it.leaving.is_none(), "it is drained once");
        it.leaving = Some(0);
    }

    fn count_delivery(&self, vc: usize, packet: usize, node: NodeId, world: &mut World) -> Delivery {
        let travelling = &world.packets[packet];
        let packet = &travelling.packet;
        let is_for_node = match &travelling.range {
            Some(range) => range.contains(node),
            None => packet.destination == Destination::Node(node),
        };
        assert!(is_for_node, "packets arrive where they are sent to");
        assert_eq!(packet.rail, self.rail, "packets do not change rails");
        let delivery = Delivery {
            source: travelling.source,
            destination: node,
            group: None,
            rail: packet.rail,
            vc: vc as u8,
            payload: packet.payload,
            flits: travelling.flits as u16,
            hops: travelling.hops,
            created: packet.created,
            injected: Cycle(travelling.injected),
            delivered: Cycle(world.now),
            is_corrupt: false,
            flow: packet.flow,
        };
        world.counters.packets_delivered += 1;
        world.counters.flits_delivered += u64::from(travelling.flits);
        world.record.deliveries.push(delivery);
        delivery
    }
}

impl Receiver {
    /// The first packet is corrupt: it leaves the buffer, if there is one.
    fn drop_first(&mut self, is_bounded: bool) {
        if !is_bounded {
            self.whole.pop_front();
        } else if !self.is_delivered {
            (self.is_delivered, self.leaving) = (true, Some(0));
        }
    }

    /// "From the cycle in which it is drained on, its flits leave the buffer, one a cycle." Says whether one does.
    fn empty(&mut self, world: &World) -> bool {
        let (Some(leaving), Some(&first)) = (&mut self.leaving, self.whole.front()) else { return false };
        self.stored -= 1;
        *leaving += 1;
        if *leaving == world.flits_of(first) {
            self.whole.pop_front();
            (self.leaving, self.is_delivered) = (None, false);
        }
        true
    }
}
