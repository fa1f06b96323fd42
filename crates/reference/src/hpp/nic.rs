//! A NIC port: source queues and a link on one side, a buffer that empties by itself on the other.

use super::World;
use super::barrier::{Member, Signal};
use super::flit::{Flit, Travelling};
use super::port::{Credits, Port, Source};
use flitway_engine::Cycle;
use flitway_fabric::barrier::Actions;
use flitway_fabric::observer::ComponentNumber;
use flitway_fabric::{BarrierId, Barriers, Delivery, NicPorts, Packet};
use flitway_wiring::{Destination, NodeId, PortId, RailId};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Nic {
    number: ComponentNumber,
    rail: RailId,
    pub(super) port: Port,
    pub(super) queues: SourceQueues,
    /// Flits in the receiver's buffers, with the cycle in which they were on the wire.
    pub(super) buffer: VecDeque<(Flit, u64)>,
    /// Flits that have left it.
    pub(super) absorbed: u64,
    /// A packet whose last flit was on the wire in the cycle before, and its virtual channel.
    complete: Option<(usize, usize)>,
    /// Where NIC ports are bounded.
    bounded: Option<Bounded>,
    /// The node in the barrier groups of this rail.
    members: Vec<Option<Member>>,
    /// Groups that its process has completed with its arrival.
    completed: Vec<BarrierId>,
}

/// Source queues, one per virtual channel.
#[derive(Debug)]
pub(super) struct SourceQueues {
    waiting: Vec<VecDeque<usize>>,
    /// The packet being sent and its next flit.
    sending: Option<(usize, u32)>,
    /// Those whose last flit was sent in the cycle before, until they are told.
    sent: Vec<usize>,
}

impl Nic {
    pub(super) fn new(
        number: ComponentNumber,
        rail: RailId,
        port: Port,
        vcs: u32,
        members: Vec<Option<Member>>,
        nic_ports: NicPorts,
    ) -> Self {
        Nic {
            number,
            rail,
            port,
            queues: SourceQueues {
                waiting: vec![VecDeque::new(); vcs as usize],
                sending: None,
                sent: Vec::new(),
            },
            buffer: VecDeque::new(),
            absorbed: 0,
            complete: None,
            bounded: (nic_ports == NicPorts::Bounded).then(|| Bounded::new(vcs)),
            members,
            completed: Vec::new(),
        }
    }

    /// An endpoint hands over `packet`.
    pub(super) fn submit(&mut self, source: NodeId, packet: Packet, world: &mut World) {
        self.queues.waiting[world.label(source, &packet)].push_back(world.packets.len());
        let packet = Travelling::new(&world.settings, source, packet);
        world.flits_created += u64::from(packet.flits);
        world.packets.push(packet);
        world.counters.packets_created += 1;
    }

    /// One cycle.
    pub(super) fn cycle(&mut self, world: &mut World) {
        if let Some(flit) = self.port.receive(world) {
            self.buffer.push_back((flit, world.now));
            self.complete = flit.last.then_some((flit.packet, flit.vc));
        }
        self.expire_timers(world);
        self.port.step_credits(world);
        self.port.step_link((self.number, PortId(self.rail.0)), &mut self.queues, world);
        match &mut self.bounded {
            None => self.empty_buffer(world),
            Some(bounded) => {
                if let Some((packet, vc)) = self.complete.take() {
                    bounded.kept[vc].whole.push_back(packet);
                }
                self.absorbed += bounded.empty_buffer(&mut self.buffer, &mut self.port);
            }
        }
    }

    /// The packets that it delivers in this cycle, by virtual channel where it is bounded. Otherwise: "A packet counts as
    /// delivered one cycle after its last flit was on the NIC's wire."
    pub(super) fn deliver(&mut self, node: NodeId, world: &mut World) -> Vec<Delivery> {
        let delivered: Vec<_> = match &mut self.bounded {
            None => self.complete.take().into_iter().collect(),
            Some(bounded) => bounded.deliver(),
        };
        delivered.into_iter().map(|delivered| self.count_delivery(delivered, node, world)).collect()
    }

    /// The packets that left their source queues in the cycle before.
    pub(super) fn take_sent(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.queues.sent)
    }

    /// The NIC drains the packet on `vc` that was delivered last.
    pub(super) fn drain(&mut self, vc: u8) {
        let bounded = self.bounded.as_mut().expect("the NIC port is bounded");
        bounded.kept[usize::from(vc)].drain();
    }

    /// The groups of which the node's process is released in this cycle: those that its arrivals have completed in the cycle
    /// before, then the one that is complete with a barrier packet that has been checked.
    pub(super) fn releases(&mut self, world: &mut World) -> Vec<BarrierId> {
        let mut groups = std::mem::take(&mut self.completed);
        groups.extend(self.take_checked(world));
        groups
    }

    fn take_checked(&mut self, world: &mut World) -> Option<BarrierId> {
        let (Signal { group, packet }, _) = self.port.lane.checked(0, world)?;
        let member = self.members[group.index()].as_mut().expect("it is in the tree");
        let event = member.place.event(Barriers::leaf_ports().1, packet);
        world.counters.barrier.handled += 1;
        let actions = member.happen(event.expect("both ends know the tree"), world);
        self.act(group, &actions, world);
        actions.completed.then_some(group)
    }

    /// The node's process arrives at a barrier of `group`, if that is in this rail.
    pub(super) fn arrive(&mut self, group: BarrierId, world: &mut World) {
        if let Some(member) = &mut self.members[group.index()] {
            let actions = member.arrive(Barriers::leaf_ports().0, world);
            self.act(group, &actions, world);
            if actions.completed {
                self.completed.push(group);
            }
        }
    }

    fn expire_timers(&mut self, world: &mut World) {
        for group in world.barriers.ids() {
            for is_dun in [false, true] {
                let member = self.members[group.index()].as_mut();
                if let Some(member) = member.filter(|member| member.expired(world.now)[usize::from(is_dun)]) {
                    let actions = member.expire(is_dun, world);
                    self.act(group, &actions, world);
                }
            }
        }
    }

    /// What is for the switch is sent; what is for the process it learns when it is released.
    fn act(&mut self, group: BarrierId, actions: &Actions, world: &mut World) {
        let member = self.members[group.index()].as_ref().expect("it is in the tree");
        if actions.completed && member.place.parent().is_none() {
            world.record.completions.push((Cycle(world.now), self.number, group));
        }
        let (process, nic_port) = Barriers::leaf_ports();
        for sent in actions.sends.iter().flatten() {
            for port in member.ports(sent.to) {
                if port == nic_port.index() {
                    self.port.lane.put(Signal { group, packet: sent.packet }, 0, world);
                } else {
                    assert_eq!(port, process.index(), "a node has one process");
                }
            }
        }
    }

    /// "A NIC takes each flit out of its buffer in cycle `t + receive`."
    fn empty_buffer(&mut self, world: &World) {
        let receive = u64::from(world.settings.pipeline.receive);
        while let Some((flit, on_wire)) = self.buffer.front().copied()
            && on_wire + receive == world.now
        {
            self.buffer.pop_front();
            self.absorbed += 1;
            if flit.completes_unit {
                self.port.book.free(flit.vc);
            }
        }
    }

    fn count_delivery(&self, (number, vc): (usize, usize), node: NodeId, world: &mut World) -> Delivery {
        let travelling = &world.packets[number];
        let packet = &travelling.packet;
        assert_eq!(packet.rail, self.rail, "packets do not change rails");
        let group = match packet.destination {
            Destination::Node(destination) => {
                assert_eq!(destination, node, "packets arrive where they are sent to");
                None
            }
            Destination::Group(group, _) => Some(group),
            Destination::Nodes(_) => unreachable!("it was refused when it was handed over"),
        };
        let injected = travelling.injected.expect("a packet that arrives has been injected");
        let delivery = Delivery {
            source: travelling.source,
            destination: node,
            group,
            rail: packet.rail,
            vc: vc as u8,
            payload: packet.payload,
            flits: travelling.flits as u16,
            hops: travelling.hops,
            created: packet.created,
            injected: Cycle(injected),
            delivered: Cycle(world.now),
            is_corrupt: false,
            flow: packet.flow,
        };
        world.record.deliveries.push(delivery);
        world.counters.packets_delivered += 1;
        world.counters.flits_delivered += u64::from(travelling.flits);
        delivery
    }
}

/// What a bounded NIC port keeps.
#[derive(Debug)]
struct Bounded {
    /// By virtual channel.
    kept: Vec<Kept>,
}

/// The packets of a virtual channel whose last flit is in the buffer, and what becomes of the first.
#[derive(Clone, Debug, Default)]
struct Kept {
    whole: VecDeque<usize>,
    state: State,
}

/// What becomes of the first packet of a virtual channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// It has not been delivered.
    #[default]
    Waits,
    /// It has.
    Delivered,
    /// Its flits leave.
    Drains,
}

impl Kept {
    fn deliver(&mut self) -> Option<usize> {
        let first = *self.whole.front().filter(|_| self.state == State::Waits)?;
        self.state = State::Delivered;
        Some(first)
    }

    fn drain(&mut self) {
        assert_eq!(self.state, State::Delivered, "what has been delivered is drained, once");
        self.state = State::Drains;
    }
}

impl Bounded {
    fn new(vcs: u32) -> Self {
        Bounded { kept: vec![Kept::default(); vcs as usize] }
    }

    /// The packets that are delivered in this cycle, with their virtual channels.
    fn deliver(&mut self) -> Vec<(usize, usize)> {
        let kept = self.kept.iter_mut().enumerate();
        kept.filter_map(|(vc, kept)| Some((kept.deliver()?, vc))).collect()
    }

    /// "From the cycle in which it is drained on, its flits leave the buffer, one a cycle." Returns how many do.
    fn empty_buffer(&mut self, buffer: &mut VecDeque<(Flit, u64)>, port: &mut Port) -> u64 {
        let mut absorbed = 0;
        for kept in self.kept.iter_mut().filter(|kept| kept.state == State::Drains) {
            let first = kept.whole.front().copied();
            let place = buffer.iter().position(|(flit, _)| Some(flit.packet) == first);
            let (flit, _) = place.and_then(|place| buffer.remove(place)).expect("it is in the buffer");
            absorbed += 1;
            if flit.completes_unit {
                port.book.free(flit.vc);
            }
            if flit.last {
                kept.whole.pop_front();
                kept.state = State::Waits;
            }
        }
        absorbed
    }
}

impl SourceQueues {
    /// Flits in the source queues.
    pub(super) fn flits(&self, world: &World) -> u64 {
        let waiting = self.waiting.iter().flatten().map(|&number| world.packets[number].flits);
        let sending = self.sending.iter().map(|&(number, next)| world.packets[number].flits - next);
        waiting.chain(sending).map(u64::from).sum()
    }

    /// The virtual channel of the packet that is being sent, and the credit units that it still has to bring.
    pub(super) fn units_to_come(&self, world: &World) -> Option<(usize, u64)> {
        let (number, next) = self.sending?;
        let packet = &world.packets[number];
        Some((world.label(packet.source, &packet.packet), packet.units_from(&world.settings, next)))
    }
}

impl Source for SourceQueues {
    fn shares_order(&self, _: &World) -> bool {
        false
    }

    fn stages_of_signals(&self, _: &World) -> u32 {
        0
    }

    fn ready(&self, vc: usize, credits: &Credits, world: &World) -> bool {
        self.waiting[vc].front().is_some_and(|&number| {
            let packet = &world.packets[number];
            packet.packet.created.0 <= world.now && credits.available(vc) >= u64::from(packet.units)
        })
    }

    fn start(&mut self, vc: usize, credits: &mut Credits, world: &mut World) -> u32 {
        assert!(self.sending.is_none(), "a link sends one packet at a time");
        let number = self.waiting[vc].pop_front().expect("a packet that is chosen is ready");
        let packet = &world.packets[number];
        credits.take(vc, packet.units);
        self.sending = Some((number, 0));
        packet.flits
    }

    fn next_flit(&mut self, vc: usize, on_wire: u64, world: &mut World) -> Option<Flit> {
        let (number, index) = self.sending.expect("a packet is being sent");
        let packet = &mut world.packets[number];
        if index == 0 {
            packet.injected = Some(on_wire);
        }
        self.sending = Some((number, index + 1)).filter(|_| index + 1 < packet.flits);
        if self.sending.is_none() {
            self.sent.push(number);
        }
        Some(packet.flit(&world.settings, number, index, vc))
    }
}
