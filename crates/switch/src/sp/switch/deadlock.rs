//! What packets cannot do without that others have, for [`flitway_fabric::deadlock`].
//!
//! A packet that can neither be written into the central buffer nor go through it has a choice: it goes on with room, which
//! anybody there may make, or when its output needs its next chunk.

use super::{Input, Mode, Output, Switch};
use crate::sp::packet_state::PacketState;
use flitway_engine::Cycle;
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_wiring::reach::ports;
use flitway_wiring::{Destination, NodeId, PortId};

/// Who sent a packet, and for whom.
type About = (NodeId, Destination);

fn about(state: &PacketState) -> About {
    (state.source, state.destination())
}

impl Switch {
    /// Packets that cannot move at the end of cycle `now - 1`: at inputs, and in the central buffer at outputs.
    pub(super) fn stuck(&self, now: Cycle) -> Vec<Waiting> {
        let inputs = (0..self.inputs.len()).filter_map(|input| self.stuck_at_input(input, now));
        let outputs = (0..self.outputs.len()).filter_map(|output| self.stuck_at_output(output, now));
        inputs.chain(outputs).collect()
    }

    fn stuck_at_input(&self, number: usize, now: Cycle) -> Option<Waiting> {
        let input = &self.inputs[number];
        let (about, feeds, needs) = match input.mode {
            Mode::Gathering => (about(input.heads.front()?), 0, self.outputs_missing(number)),
            Mode::Crossing if input.until <= now => {
                let credits = ports(input.outputs).filter_map(|output| self.credit_missing(output));
                let needs = credits.chain(flits_missing(input, number)).collect();
                (input.about?, input.outputs, needs)
            }
            Mode::Storing if input.until <= now && input.register < input.chunk => {
                (input.about?, 0, flits_missing(input, number).into_iter().collect())
            }
            Mode::Storing if input.until <= now => return self.stuck_at_buffer(number),
            Mode::Serving => (about(input.state.as_ref()?), 0, self.outputs_reading(number)),
            _ => return None,
        };
        self.waiting(Side::Input, number, about, feeds, needs)
    }

    /// The packet that an output takes out of the store. Each output goes on for itself, whatever becomes of others that take
    /// the same packet.
    fn stuck_at_output(&self, number: usize, now: Cycle) -> Option<Waiting> {
        let output = &self.outputs[number];
        if output.until > now {
            return None;
        }
        let Some(central) = &self.central else { return self.stuck_at_reader(number) };
        if !output.is_busy {
            return None;
        }
        let needs = if output.register > 0 {
            self.credit_missing(PortId::new(number))
        } else {
            let from = central.comes_from(number)?;
            flits_missing(&self.inputs[from], from)
        };
        self.waiting(Side::Output, number, output.about?, 1 << number, needs.into_iter().collect())
    }

    /// The same of an output that reads in an input FIFO.
    fn stuck_at_reader(&self, number: usize) -> Option<Waiting> {
        let output = &self.outputs[number];
        let from = usize::from(output.serving?);
        let input = &self.inputs[from];
        let need = if output.register > 0 {
            self.credit_missing(PortId::new(number))
        } else {
            let is_known = input.chunk_ready(output.next_chunk, self.chunk_flits).is_some();
            (!is_known).then_some(flits_of(input, from))
        };
        self.waiting(Side::Output, number, input.about?, 1 << number, need.into_iter().collect())
    }

    /// The packet of an input whose register holds a whole chunk.
    fn stuck_at_buffer(&self, number: usize) -> Option<Waiting> {
        let (input, central) = (&self.inputs[number], self.central.as_ref()?);
        let is_single = input.outputs.count_ones() == 1;
        if input.is_admitted {
            return None;
        }
        let held = |output: PortId, of_room: bool| match self.outputs[output.index()].taken {
            Some(by) => Need::Output { output, by: PortId(by.into()) },
            None if of_room => Need::Room { output },
            None => Need::Queue { output, vc: 0 },
        };
        let own = ports(input.outputs).next()?;
        let mut alternatives: Vec<Need> = if is_single { vec![held(own, false)] } else { Vec::new() };
        match self.claim.filter(|&by| usize::from(by) != number) {
            Some(by) => alternatives.push(Need::Output { output: own, by: PortId(by.into()) }),
            None => {
                // With room left, it is those on their way up that have taken too much.
                let counts = |output: &PortId| {
                    !is_single || central.free() == 0 || self.outputs[output.index()].leads_up
                };
                let holders = ports(central.holders()).filter(counts);
                alternatives.extend(holders.map(|output| held(output, true)));
            }
        }
        // What is reserved is read and free again one day, too.
        let reserves = (0..self.inputs.len()).filter(|&by| self.inputs[by].reserve > 0);
        alternatives.extend(reserves.map(|by| Need::Output { output: own, by: PortId::new(by) }));
        let waiting =
            self.waiting(Side::Input, number, input.about?, 0, vec![Need::Queue { output: own, vc: 0 }])?;
        Some(Waiting { needs: Vec::new(), alternatives, ..waiting })
    }

    fn waiting(
        &self,
        side: Side,
        port: usize,
        about: About,
        feeds: u64,
        needs: Vec<Need>,
    ) -> Option<Waiting> {
        let fifo = Fifo { switch: self.number, port: PortId::new(port), vc: 0, side };
        let (source, destination) = about;
        (!needs.is_empty()).then_some(Waiting {
            fifo,
            source,
            destination,
            feeds,
            needs,
            alternatives: Vec::new(),
        })
    }

    /// Who has the outputs that a gathering packet has not got.
    fn outputs_missing(&self, number: usize) -> Vec<Need> {
        let input = &self.inputs[number];
        let missing = |output: PortId| {
            let it = &self.outputs[output.index()];
            let keeper = it.kept.filter(|&by| usize::from(by) != number);
            match keeper.or(it.taken) {
                Some(by) => Some(Need::Output { output, by: PortId(by.into()) }),
                None => (it.load > 0).then_some(Need::Queue { output, vc: 0 }),
            }
        };
        ports(input.outputs & !input.some).filter_map(missing).collect()
    }

    fn credit_missing(&self, output: PortId) -> Option<Need> {
        let it: &Output = &self.outputs[output.index()];
        let is_missing = !it.is_sink && it.credits.when(0).is_none();
        is_missing.then_some(Need::Space { output, vc: 0, units: 1, sent: it.sent as u32 })
    }

    /// The outputs that have still to take the packet out of the FIFO of an input: each when those before it there have gone.
    fn outputs_reading(&self, number: usize) -> Vec<Need> {
        let reads = |output: &PortId| {
            let it = &self.outputs[output.index()];
            it.asking >> number & 1 == 1 || it.serving == Some(number as u8)
        };
        let need = |output: PortId| match self.outputs[output.index()].taken {
            Some(by) => Need::Output { output, by: PortId(by.into()) },
            None => Need::Queue { output, vc: 0 },
        };
        let outputs = ports(self.inputs[number].outputs);
        outputs.filter(reads).map(need).collect()
    }
}

/// The next flit of the packet of an input has not come, nor has it been sent.
fn flits_missing(input: &Input, number: usize) -> Option<Need> {
    input.flits.when(0).is_none().then(|| flits_of(input, number))
}

fn flits_of(input: &Input, number: usize) -> Need {
    Need::Flits { input: PortId::new(number), received: input.freed.wrapping_add(input.flits.total()) }
}
