//! What is refused: packets that have no output left. The paragraph *Faults* of the normative text.

use super::Switch;
use crate::elite::{Flit, Verdict, World};
use flitway_wiring::PortId;
use flitway_wiring::routing::{Candidate, Header, Hop};

impl Switch {
    /// The drain, an output after all others, if a virtual channel of it is free.
    pub(super) fn refuse(&self, header: Header) -> Option<(Candidate, usize)> {
        let vc = self.drain.0.iter().position(|lane| lane.packet.is_none())?;
        let hop = Hop { port: PortId::new(self.ports.len()), class: 0 };
        Some((Candidate { hop, header }, vc))
    }

    /// NACKs come to the drain.
    pub(super) fn answer_refused(&mut self, world: &mut World) {
        for vc in 0..self.drain.0.len() {
            let lane = &mut self.drain.0[vc];
            let node = world.settings.answer.map_or(0, |answer| answer.node);
            let takes = u64::from(world.settings.pipeline.transmit + node + 3);
            let is_whole = lane.packet.is_some_and(|packet| lane.sent == world.flits_of(packet));
            if !is_whole || lane.slots.last().is_none_or(|last| last + takes != world.now) {
                continue;
            }
            lane.packet = None;
            let (port, input) = lane.from;
            let it = &mut self.ports[port].inputs[input];
            (it.is_given, it.freed, it.copies) = (false, world.now, None);
            let back = self.ports[port].wires.expect("what came came by a wire").back;
            let switch = world.settings.answer.expect("what is refused is answered").switch;
            world.channels[back].answer(world.now + u64::from(switch), input, Verdict::Nack);
        }
    }

    /// Step 3 of the drain: it takes a flit in every cycle.
    pub(super) fn step_drain(&mut self, world: &mut World) {
        let (lanes, last) = (&self.drain.0, self.drain.1);
        let turns = (1..=lanes.len()).map(|place| (last + place) % lanes.len());
        let can_take = |vc: &usize| {
            let lane = &lanes[*vc];
            let (port, input) = lane.from;
            let front = self.ports[port].inputs[input].buffer.front();
            let is_next = |packet: usize| {
                let next = Flit { packet: world.packets[packet].of.unwrap_or(packet), index: lane.sent };
                front.is_some_and(|&(flit, arrived)| flit == next && arrived + world.delay() <= world.now)
            };
            lane.packet.is_some_and(is_next)
        };
        let Some(vc) = turns.into_iter().find(can_take) else { return };
        self.drain.1 = vc;
        let lane = &mut self.drain.0[vc];
        lane.sent += 1;
        lane.slots.push(world.now);
        let (port, input) = lane.from;
        self.ports[port].inputs[input].buffer.pop_front().expect("what is taken is there");
        let back = self.ports[port].wires.expect("what came came by a wire").back;
        world.channels[back].give_back(input);
    }
}
