//! Step 6: who is given which output.

use super::{Doing, Switch};
use crate::sp::{World, is_central, port};
use flitway_switch::sp::{Replication, SpAscent};
use flitway_wiring::routing::{Arrival, Candidate, Header};

impl Switch {
    pub(super) fn step_requests(&mut self, world: &mut World) {
        // The order is that of the beginning of the step.
        for input in self.granted.0.clone() {
            let asks = match self.inputs[input].doing {
                Doing::Gathering { .. } => true,
                Doing::Nothing => self.header_came(input, world).is_some(),
                _ => false,
            };
            if asks && self.give(input, world) {
                self.granted.serve(input);
            }
        }
        if !is_central(&world.settings) {
            self.serve_inputs(world);
        }
    }

    /// When the last flit of the header of the first packet was on the wire, if that is long enough ago.
    fn header_came(&self, input: usize, world: &World) -> Option<u64> {
        let fifo = &self.inputs[input].fifo;
        let packet = fifo.front()?.0.packet;
        let header = world.packets[packet].header;
        let &(flit, on_wire) = fifo.get(header as usize - 1)?;
        assert_eq!((flit.packet, flit.index), (packet, header - 1), "flits of a packet are together");
        (on_wire + world.delay() <= world.now + 1).then_some(on_wire)
    }

    /// Gives the first packet of `input` its outputs; says whether it has them all.
    fn give(&mut self, input: usize, world: &mut World) -> bool {
        if let Doing::Gathering { .. } = self.inputs[input].doing {
            return self.gather(input, world);
        }
        let packet = self.inputs[input].fifo[0].0.packet;
        let travelling = world.packets[packet].clone();
        let (mut outputs, mut climbs, mut chooses) = (Vec::new(), false, false);
        let ports_of = |mask: u64| (0..64).filter(move |port| mask >> port & 1 == 1).collect::<Vec<usize>>();
        if let Some(set) = &travelling.set {
            let reach = world.reach.as_ref().expect("worms are sent where they can go");
            if travelling.climb > 0 {
                climbs = true;
                outputs = ports_of(reach.up(self.here));
                chooses = world.settings.ascent == SpAscent::Adaptive;
                if !chooses {
                    outputs = vec![outputs[travelling.source.index() % outputs.len()]];
                }
            } else {
                outputs = ports_of(reach.outputs(self.here, set));
            }
        } else {
            let flitway_wiring::Destination::Node(to) = travelling.packet.destination else {
                panic!("who has no set is for one node")
            };
            let arrival = Arrival { port: port(input), class: 0 };
            let take = |next: Candidate| outputs.push(next.hop.port.index());
            world.routing.candidates(self.here, arrival, Header::to(to), take);
            outputs.sort_unstable();
            chooses = outputs.len() > 1;
        }
        if outputs.len() > 1 && !chooses {
            if world.settings.worms.replication == Replication::LockStep {
                self.inputs[input].doing = Doing::Gathering { outputs, got: Vec::new() };
                return self.gather(input, world);
            }
            self.put(input, &outputs, world);
            return true;
        }
        let output = self.choose(&outputs);
        if self.outputs[output].kept.is_some() {
            return false;
        }
        if chooses {
            self.turn = (output + 1) % self.outputs.len();
        }
        if climbs {
            world.packets[packet].climb -= 1;
        }
        let is_first_cycle = self.header_came(input, world) == Some(world.now + 1 - world.delay());
        if self.outputs[output].load == 0 && (is_central(&world.settings) || is_first_cycle) {
            self.outputs[output].load = 1;
            self.outputs[output].taken = true;
            self.note(input, output, world);
            self.cross_to(input, &[output], world);
        } else {
            self.put(input, &[output], world);
        }
        true
    }

    /// The first from the turn on that has the least load.
    fn choose(&self, outputs: &[usize]) -> usize {
        let count = self.outputs.len();
        let least = outputs.iter().map(|&output| self.outputs[output].load).min().expect("there is one");
        let turns = (0..count).map(|place| (self.turn + place) % count);
        let mut best = turns.filter(|port| outputs.contains(port) && self.outputs[*port].load == least);
        best.next().expect("one of them has it")
    }

    /// The copies of the first packet of `input`, the first of which is the packet itself.
    fn copy(&mut self, input: usize, outputs: &[usize], world: &mut World) {
        let packet = self.inputs[input].fifo[0].0.packet;
        let mut copies = vec![(outputs[0], packet)];
        let original = world.packets[packet].clone();
        for &output in &outputs[1..] {
            copies.push((output, world.packets.len()));
            world.packets.push(original.clone());
            world.counters.packets_copied += 1;
        }
        self.inputs[input].reads = vec![0; copies.len()];
        self.inputs[input].copies = copies;
    }

    fn cross_to(&mut self, input: usize, outputs: &[usize], world: &mut World) {
        self.copy(input, outputs, world);
        self.inputs[input].doing = Doing::Crossing;
    }

    /// The first packet of `input` goes into the store.
    fn put(&mut self, input: usize, outputs: &[usize], world: &mut World) {
        self.copy(input, outputs, world);
        for &output in outputs {
            self.outputs[output].load += 1;
        }
        let it = &mut self.inputs[input];
        if is_central(&world.settings) {
            it.doing = Doing::Storing;
            it.to_write = it.copies.clone();
            (it.is_admitted, it.reserve) = (false, 0);
        } else {
            it.doing = Doing::Serving;
            for &output in outputs {
                self.outputs[output].asking.push(input);
            }
        }
    }

    fn gather(&mut self, input: usize, world: &mut World) -> bool {
        let Doing::Gathering { outputs, mut got } = self.inputs[input].doing.clone() else {
            panic!("who gathers has begun to")
        };
        for &output in &outputs {
            if got.contains(&output) {
                continue;
            }
            let it = &mut self.outputs[output];
            let keeper = *it.kept.get_or_insert(input);
            if keeper == input && it.load == 0 {
                (it.kept, it.load, it.taken) = (None, 1, true);
                got.push(output);
                self.note(input, output, world);
            }
        }
        let has_all = got.len() == outputs.len();
        if has_all {
            self.cross_to(input, &outputs, world);
        } else {
            self.inputs[input].doing = Doing::Gathering { outputs, got };
        }
        has_all
    }

    /// Input buffer: idle outputs take one of those that are put down at them.
    fn serve_inputs(&mut self, world: &mut World) {
        let count = self.inputs.len();
        for output in 0..self.outputs.len() {
            let it = &mut self.outputs[output];
            if it.is_busy || it.taken || it.serving.is_some() {
                continue;
            }
            let first = it.last.map_or(0, |last| last + 1);
            let mut turns = (0..count).map(|place| (first + place) % count);
            let Some(input) = turns.find(|input| it.asking.contains(input)) else { continue };
            it.asking.retain(|&one| one != input);
            (it.serving, it.last) = (Some(input), Some(input));
            self.note(input, output, world);
        }
    }
}
