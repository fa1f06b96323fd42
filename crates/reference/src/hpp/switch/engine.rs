//! The barrier engine of a switch: the section *Barriers* of the normative text.

use super::Switch;
use crate::arbiter::first_after;
use crate::hpp::World;
use crate::hpp::barrier::{Member, Signal};
use flitway_engine::Cycle;
use flitway_fabric::barrier::{Actions, PacketKind};
use flitway_fabric::observer::{BarrierNote, LossReason};
use flitway_fabric::{BarrierId, Barriers};
use flitway_switch::hpp::BarrierSettings;
use flitway_wiring::{PortId, RailId, SwitchId};
use std::collections::VecDeque;

/// What a switch has for barriers.
#[derive(Debug)]
pub(in crate::hpp) struct Engine {
    /// By group; none where the switch is not in its tree.
    members: Vec<Option<Member>>,
    /// Checked packets, by input, how many packets of VC 0 came in there before each, and when its first flit was on the wire.
    pub(super) inputs: Vec<VecDeque<(Signal, u64, u64)>>,
    /// Packets granted before this cycle, and in all: out of FIFO `(i, 0)`, and to TX FIFO `(o, 0)`.
    pub(super) granted_from: Vec<[u64; 2]>,
    pub(super) granted_to: Vec<[u64; 2]>,
    /// The place in the ring that had its turn last.
    last: usize,
}

impl Engine {
    pub(in crate::hpp) fn new(barriers: &Barriers, rail: RailId, id: SwitchId, ports: usize) -> Self {
        let member = |group| barriers.place(rail, id, group).map(Member::new);
        Engine {
            members: barriers.ids().map(member).collect(),
            inputs: vec![VecDeque::new(); ports],
            granted_from: vec![[0; 2]; ports],
            granted_to: vec![[0; 2]; ports],
            // The place before that of input 0.
            last: ports + 2 * barriers.len() - 1,
        }
    }

    /// Whether something is to be done at `place` of the ring: inputs, then two timers of each group.
    fn is_waiting(&self, place: usize, is_dedicated: bool, now: u64) -> bool {
        match place.checked_sub(self.inputs.len()) {
            None => self.inputs[place]
                .front()
                .is_some_and(|&(_, before, _)| is_dedicated || before <= self.granted_from[place][0]),
            Some(timer) => {
                self.members[timer / 2].as_ref().is_some_and(|member| member.expired(now)[timer % 2])
            }
        }
    }
}

impl Switch {
    /// What has been checked comes into the queues of the inputs, and the engine takes one event.
    pub(super) fn step_engine(&mut self, world: &mut World) {
        let pipeline = world.settings.pipeline;
        for (port, queue) in self.ports.iter_mut().zip(&mut self.engine.inputs) {
            let Some(port) = port else { continue };
            if let Some((signal, before)) = port.lane.checked(pipeline.receive + pipeline.queue, world) {
                if queue.len() == world.settings.barrier.buffer_packets as usize {
                    port.lane.lose(signal, LossReason::InputFull, world);
                } else {
                    let stages = BarrierSettings::PACKET_FLITS + pipeline.receive + pipeline.queue;
                    queue.push_back((signal, before, world.now - u64::from(stages)));
                }
            }
        }
        let inputs = self.engine.inputs.len();
        let places = inputs + 2 * self.engine.members.len();
        let engine = &mut self.engine;
        let is_dedicated = world.settings.barrier.dedicated;
        let waiting = |place| engine.is_waiting(place, is_dedicated, world.now);
        let Some(place) = first_after(engine.last, places, waiting) else { return };
        engine.last = place;
        let turns = match place.checked_sub(inputs) {
            None => self.input_turn(place, world),
            Some(timer) => {
                let member = engine.members[timer / 2].as_mut().expect("it is waiting");
                vec![(BarrierId::new(timer / 2), member.expire(timer % 2 == 1, world))]
            }
        };
        for (group, actions) in turns {
            self.act(group, &actions, world);
        }
    }

    /// "When an input has its turn with a combine, those that say the same are taken in the same cycle."
    fn input_turn(&mut self, place: usize, world: &mut World) -> Vec<(BarrierId, Actions)> {
        let first = self.engine.inputs[place].front().expect("it is waiting").0;
        let mut turns = vec![self.take_input(place, world)];
        if !world.settings.barrier.together || first.packet.kind != PacketKind::Combine {
            return turns;
        }
        let inputs = self.engine.inputs.len();
        for other in (1..inputs).map(|step| (place + step) % inputs) {
            let is_same = self.engine.inputs[other].front().is_some_and(|(signal, ..)| *signal == first);
            let is_first = self.engine.is_waiting(other, world.settings.barrier.dedicated, world.now);
            let is_complete = turns.iter().any(|(_, actions)| actions.completed);
            if is_same && is_first && !is_complete {
                turns.push(self.take_input(other, world));
            }
        }
        // "Then there is no combine-ACK of the others either."
        if turns.iter().any(|(_, actions)| actions.completed) {
            turns.retain(|(_, actions)| actions.completed);
        }
        turns
    }

    fn take_input(&mut self, place: usize, world: &mut World) -> (BarrierId, Actions) {
        let engine = &mut self.engine;
        let (signal, _, arrived) = engine.inputs[place].pop_front().expect("it is waiting");
        let Signal { group, packet } = signal;
        let member = engine.members[group.index()].as_mut().expect("it is in the tree");
        let (port, place, before) = (PortId::new(place), member.place, member.state());
        let event = place.event(port, packet);
        world.counters.barrier.handled += 1;
        let actions = member.happen(event.expect("both ends know the tree"), world);
        if before != member.state() {
            let (cycle, arrived, switch) = (Cycle(world.now), Cycle(arrived), self.number);
            world.record.notes.push(BarrierNote { cycle, switch, port, group, packet, arrived, place });
        }
        (group, actions)
    }

    fn act(&mut self, group: BarrierId, actions: &Actions, world: &mut World) {
        let member = self.engine.members[group.index()].as_ref().expect("it is in the tree");
        if actions.completed && member.place.parent().is_none() {
            world.record.completions.push((Cycle(world.now), self.number, group));
        }
        for sent in actions.sends.iter().flatten() {
            for port in member.ports(sent.to) {
                let before = self.engine.granted_to[port][0];
                let port = self.ports[port].as_mut().expect("trees have wired ports");
                port.lane.put(Signal { group, packet: sent.packet }, before, world);
            }
        }
    }
}
