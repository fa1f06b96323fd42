//! A switch: what it has to do, and when.
//!
//! Nothing is moved flit by flit. What goes on without a decision is a run, a flit a cycle, that is certain when it begins:
//! its flits are there or known to come in time, and so are the credits. A port acts at the ends of runs. Of each the switch
//! keeps when that is next, works it out anew only where something has been done or has come, and looks in such cycles at
//! the ports that are due and at those that wait for others; looking once too often changes nothing. The steps of a cycle
//! are those of the text in `sp/mod.rs`.

mod deadlock;
mod request;
mod steps;

use super::link::DatedCredits;
use super::packet_state::{Inbox, PacketState};
use super::settings::Store;
use super::store::LeastRecent;
use super::store::central::Central;
use super::{Cx, Shared, Sp};
use flitway_engine::{Cycle, prefetch};
use flitway_fabric::component::{PostOf, Rest, Stage, SwitchModel};
use flitway_fabric::deadlock::Waiting;
use flitway_fabric::observer::Observer;
use flitway_fabric::simulation::{Conservation, Wire, Wires};
use flitway_fabric::{NicPorts, Pace};
use flitway_wiring::reach::{Ports, ports};
use flitway_wiring::topology::End;
use flitway_wiring::{Destination, NodeId, PortId, SwitchId};
use std::collections::VecDeque;

/// What an input does with its first packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// It has not been given an output.
    #[default]
    Idle,
    /// In lock step, some of its outputs are still to come.
    Gathering,
    /// It crosses, flit by flit.
    Crossing,
    /// It goes into the central buffer.
    Storing,
    /// It is read out of the FIFO in chunks.
    Serving,
}

/// What observers are told of a packet that has been given its outputs.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    /// When it could have requested, had it been first in its FIFO and had its header come without a gap.
    ready: Cycle,
    requested: Cycle,
    given: Cycle,
}

#[derive(Debug, Default)]
struct Input {
    /// The channel back to the sender, for credits.
    wire: Option<Wire>,
    /// Packets that come or are there and have not been given all of their outputs.
    heads: VecDeque<Box<PacketState>>,
    /// Flits in the FIFO, by the cycle in which they are ready.
    flits: DatedCredits,
    mode: Mode,
    /// The packet that has been given its outputs, and those.
    state: Option<Box<PacketState>>,
    outputs: Ports,
    /// Who sent it, and for whom.
    about: Option<(NodeId, Destination)>,
    /// When its first packet requested, if it has not been given all of its outputs.
    requested: Option<Cycle>,
    asked: Asked,
    /// The outputs that a gathering packet has got, or those that a first chunk is still to be written for.
    some: Ports,
    /// Flits of the packet that have not left the FIFO, apart from those of the run that goes on.
    left: u32,
    /// The first cycle after the run that goes on.
    until: Cycle,
    /// Flits in the chunk register, those of the run included, and flits of the chunk.
    register: u32,
    chunk: u32,
    /// The chunk is the packet's first.
    is_first: bool,
    /// Room has been reserved for the packet, and so many chunks of that are left.
    reserve: u32,
    is_admitted: bool,
    /// Of a packet in the FIFO: chunks that all outputs have read, and for each other how many have still to.
    chunks_gone: u32,
    unread: VecDeque<u8>,
    /// Flits that have left the FIFO since the start, modulo 2^32.
    freed: u32,
}

#[derive(Debug, Default)]
struct Output {
    wire: Option<Wire>,
    pace: Pace,
    leads_to_node: bool,
    /// What takes every flit at once, so that none needs a credit: an ideal NIC port.
    is_sink: bool,
    leads_up: bool,
    credits: DatedCredits,
    /// Packets that have been given this output and that it is not done with.
    load: u32,
    /// The input whose packet has it through the crossbar.
    taken: Option<u8>,
    /// The input for whose packet it is kept.
    kept: Option<u8>,
    /// Since when it is free of others for the packet that it sends.
    free: Cycle,
    /// It sends a packet out of the store.
    is_busy: bool,
    /// The packet that it sends, until that has been handed over.
    state: Option<Box<PacketState>>,
    /// Who sent that, and for whom.
    about: Option<(NodeId, Destination)>,
    /// The packet that it sends has been handed over: its first flit is sent, or to a node its last.
    has_handed_over: bool,
    /// Flits that it has still to send of that packet, apart from those of the run that goes on.
    left: u32,
    /// Flits in the chunk register, apart from those of the run.
    register: u32,
    /// The first cycle after the run that goes on.
    until: Cycle,
    /// Input buffer: those put down, the one that it serves, the one that it took last, and its next chunk.
    asking: Ports,
    serving: Option<u8>,
    last: u8,
    next_chunk: u32,
    /// Flits sent since the start; the books count them modulo 2^32.
    sent: u64,
}

impl Output {
    /// It sends nothing, and nobody has it.
    fn is_idle(&self) -> bool {
        self.taken.is_none() && !self.is_busy && self.serving.is_none()
    }

    /// Its register can take a chunk in cycle `now`.
    fn is_empty(&self, now: Cycle) -> bool {
        self.taken.is_none() && self.register == 0 && self.until <= now
    }

    /// When it has a credit, as far as known.
    fn credit_due(&self) -> Cycle {
        if self.is_sink { Cycle::ZERO } else { self.credits.when(0).unwrap_or(Cycle::NEVER) }
    }

    /// Flits that it can send from cycle `now` on without a gap: slots, with a credit for each.
    fn sends_in_a_row(&mut self, now: Cycle) -> u32 {
        let slots = self.pace.slots_in_a_row(now);
        if self.is_sink { slots } else { self.credits.in_a_row(now).min(slots) }
    }
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    number: u32,
    here: SwitchId,
    chunk_flits: u32,
    /// Chunks that packets on their way up leave free.
    spared: u32,
    inputs: Box<[Input]>,
    outputs: Box<[Output]>,
    /// Outputs that have a load.
    used_outputs: Ports,
    /// By port: the next cycle in which an input, or an output, may have to do something that waits for nobody else.
    inputs_due: Box<[Cycle]>,
    outputs_due: Box<[Cycle]>,
    /// Those of them for which that is known.
    waiting_inputs: Ports,
    waiting_outputs: Ports,
    /// Ports that something has been done with, so that they may be due in another cycle.
    touched_inputs: Ports,
    touched_outputs: Ports,
    /// Inputs whose register holds a whole chunk to write, and those that have asked for outputs and not got all.
    full: Ports,
    asking: Ports,
    /// Input buffer: outputs at which packets are put down, and those that read one.
    put_down: Ports,
    serving: Ports,
    central: Option<Box<Central>>,
    /// Who has been given an output, written, and read the longest ago (by input, where those have a port each).
    granted: LeastRecent,
    written: LeastRecent,
    read: Box<[LeastRecent]>,
    /// The input that waits for room to be admitted.
    claim: Option<u8>,
    /// The port that the next packet up looks at first.
    turn: u32,
    /// The next cycle in which something may have to be done.
    due: Cycle,
    /// Something was done in the last cycle looked at that may let others go on in the next.
    again: bool,
}

/// Bytes of a switch port.
pub(super) const fn bytes_per_port() -> usize {
    size_of::<Input>() + size_of::<Output>() + 4 * size_of::<u64>()
}

/// Puts `port` into `mask`, or takes it out.
#[inline]
fn set(mask: &mut Ports, port: PortId, is_in: bool) {
    *mask = *mask & !(1 << port.0) | u64::from(is_in) << port.0;
}

impl Switch {
    pub(super) fn new(shared: &Shared, number: u32, wires: &[Wires]) -> Self {
        let (settings, topology) = (&shared.settings, shared.routing.topology());
        let here = SwitchId(number % topology.switches());
        let up = shared.reach.as_ref().map_or(0, |reach| reach.up(here));
        let input = |wires: &Wires| Input { wire: wires.back, ..Input::default() };
        let leads_to_node = |port| matches!(topology.wire(here, PortId(port)), Some((_, End::Node(_))));
        let output = |(port, wires): (u32, &Wires)| Output {
            wire: wires.out,
            pace: wires.rate.into(),
            leads_to_node: leads_to_node(port),
            is_sink: leads_to_node(port) && shared.nic_ports == NicPorts::Ideal,
            leads_up: up >> port & 1 == 1,
            credits: DatedCredits::new(if leads_to_node(port) {
                settings.nic_buffer_flits()
            } else {
                settings.fifo_flits
            }),
            ..Output::default()
        };
        let ports = wires.len();
        let (central, readers) = match settings.store {
            Store::Central(central) => (Some(Box::new(Central::new(central, ports))), 1),
            Store::Input(_) => (None, ports),
        };
        Switch {
            number,
            here,
            chunk_flits: settings.chunk_flits,
            spared: settings.chunks_spared(),
            inputs: wires.iter().map(input).collect(),
            outputs: (0..).zip(wires).map(output).collect(),
            used_outputs: 0,
            inputs_due: vec![Cycle::NEVER; ports].into(),
            outputs_due: vec![Cycle::NEVER; ports].into(),
            waiting_inputs: 0,
            waiting_outputs: 0,
            touched_inputs: 0,
            touched_outputs: 0,
            full: 0,
            asking: 0,
            put_down: 0,
            serving: 0,
            central,
            granted: LeastRecent::new(ports),
            written: LeastRecent::new(ports),
            read: vec![LeastRecent::new(ports); readers].into(),
            claim: None,
            turn: 0,
            due: Cycle::NEVER,
            again: false,
        }
    }

    /// Works out anew when the ports are due that something has been done with, after cycle `now`. Returns when the first of
    /// them is.
    fn look(&mut self, now: Cycle) -> Cycle {
        let mut first = Cycle::NEVER;
        for port in ports(std::mem::take(&mut self.touched_inputs)) {
            let due = self.input_due(&self.inputs[port.index()], now);
            self.inputs_due[port.index()] = due;
            set(&mut self.waiting_inputs, port, due < Cycle::NEVER);
            first = first.min(due);
        }
        for port in ports(std::mem::take(&mut self.touched_outputs)) {
            let output = &self.outputs[port.index()];
            let is_used = output.load > 0;
            let due = if is_used { self.output_due(output, now) } else { Cycle::NEVER };
            self.outputs_due[port.index()] = due;
            set(&mut self.waiting_outputs, port, due < Cycle::NEVER);
            first = first.min(due);
            set(&mut self.used_outputs, port, is_used);
        }
        #[cfg(debug_assertions)]
        self.assert_due(now);
        first
    }

    /// Nothing that makes a port due has been overlooked.
    #[cfg(debug_assertions)]
    fn assert_due(&self, now: Cycle) {
        for (input, &due) in self.inputs.iter().zip(&self.inputs_due) {
            assert_eq!(due, self.input_due(input, now), "an input after cycle {now}");
        }
        for (output, &due) in self.outputs.iter().zip(&self.outputs_due) {
            let expected = if output.load > 0 { self.output_due(output, now) } else { Cycle::NEVER };
            assert_eq!(due, expected, "an output after cycle {now}");
        }
    }

    /// The next cycle after `now` in which something may have to be done.
    fn next_due(&self, now: Cycle) -> Cycle {
        if self.again {
            return now + 1;
        }
        let earliest = |waiting: Ports, due: &[Cycle]| {
            ports(waiting).fold(Cycle::NEVER, |next, port| next.min(due[port.index()]))
        };
        let inputs = earliest(self.waiting_inputs, &self.inputs_due);
        inputs.min(earliest(self.waiting_outputs, &self.outputs_due))
    }

    #[cold]
    fn receive_paces(&mut self, inbox: &mut Inbox) {
        for (port, at, rate) in inbox.paces.drain(..) {
            let output = &mut self.outputs[usize::from(port)];
            output.pace.change(at, rate);
            self.touched_outputs |= 1 << port;
            self.touched_inputs |= output.taken.map_or(0, |input| 1 << input);
        }
    }

    fn input_due(&self, input: &Input, now: Cycle) -> Cycle {
        let later = |cycle: Cycle| if cycle > now { cycle } else { Cycle::NEVER };
        // Flits that are there before have a cycle of zero; then the end of the run is what counts.
        let flit = |index| input.flits.when(index).map_or(Cycle::NEVER, |cycle| cycle.max(input.until));
        match input.mode {
            Mode::Idle => {
                let Some(head) = input.heads.front() else { return Cycle::NEVER };
                let ready = input.flits.when(head.header.min(head.flits) - 1);
                // It waits for nothing else, unless an output is kept from it.
                ready.map_or(Cycle::NEVER, |cycle| later(Cycle(cycle.0.saturating_sub(1))))
            }
            Mode::Gathering | Mode::Serving => Cycle::NEVER,
            Mode::Storing if input.register == input.chunk => later(Cycle(input.until.0 - 1)),
            Mode::Storing => later(flit(0)),
            Mode::Crossing if input.left == 0 => later(Cycle(input.until.0 - 1)),
            Mode::Crossing => {
                let credits = ports(input.outputs).map(|port| self.outputs[port.index()].credit_due());
                self.common_slot(input.outputs, credits.fold(flit(0), Cycle::max).max(now + 1))
            }
        }
    }

    /// The first cycle from `at` on that is a slot of all `outputs`; never if one of them is stopped for ever. Otherwise there
    /// is one: of each rate the cycle before a multiple of its period is a slot.
    fn common_slot(&self, outputs: Ports, at: Cycle) -> Cycle {
        let mut slot = at;
        loop {
            let next =
                ports(outputs).fold(slot, |slot, port| self.outputs[port.index()].pace.slot_from(slot));
            if next == slot {
                return slot;
            }
            slot = next;
        }
    }

    fn output_due(&self, output: &Output, now: Cycle) -> Cycle {
        let later = |cycle: Cycle| if cycle > now { cycle } else { Cycle::NEVER };
        if output.taken.is_some() {
            return Cycle::NEVER;
        }
        if output.register > 0 {
            return output.pace.slot_from(output.credit_due().max(output.until).max(now + 1));
        }
        if output.is_busy && output.left == 0 {
            return later(Cycle(output.until.0 - 1));
        }
        match output.serving {
            None => later(output.until),
            Some(input) => {
                let ready = self.inputs[usize::from(input)].chunk_ready(output.next_chunk, self.chunk_flits);
                later(ready.map_or(Cycle::NEVER, |cycle| cycle.max(output.until)))
            }
        }
    }
}

impl Input {
    /// Flits of chunk `index` of the packet that is read out of the FIFO.
    fn flits_of(&self, index: u32, chunk_flits: u32) -> u32 {
        let flits = self.state.as_ref().map_or(0, |state| state.flits);
        chunk_flits.min(flits - index * chunk_flits)
    }

    /// When all flits of chunk `index` of the packet that is read out of the FIFO are ready, as far as known.
    fn chunk_ready(&self, index: u32, chunk_flits: u32) -> Option<Cycle> {
        let before = (index - self.chunks_gone) * chunk_flits;
        self.flits.when(before + self.flits_of(index, chunk_flits) - 1)
    }
}

impl SwitchModel<Sp> for Switch {
    fn receive(&mut self, shared: &mut Shared, inbox: &mut Inbox, start: Cycle) {
        for (port, state) in inbox.heads.drain(..) {
            self.inputs[usize::from(port)].heads.push_back(state);
            self.touched_inputs |= 1 << port;
        }
        let delay = shared.delay();
        for mut run in inbox.flits.drain(..) {
            run.at += delay;
            let input = &mut self.inputs[usize::from(run.port)];
            input.flits.add(run);
            debug_assert!(
                input.flits.total() <= shared.settings.fifo_flits,
                "credits keep a FIFO from overflowing"
            );
            self.touched_inputs |= 1 << run.port;
            if input.mode == Mode::Serving {
                self.touched_outputs |= input.outputs;
            }
        }
        for run in inbox.credits.drain(..) {
            let output = &mut self.outputs[usize::from(run.port)];
            output.credits.add(run);
            self.touched_outputs |= 1 << run.port;
            self.touched_inputs |= output.taken.map_or(0, |input| 1 << input);
        }
        if !inbox.paces.is_empty() {
            self.receive_paces(inbox);
        }
        if self.touched_inputs | self.touched_outputs != 0 {
            let first = self.look(Cycle(start.0.saturating_sub(1)));
            self.due = self.due.min(first).max(start);
        }
    }

    fn prefetch(&self, _: &Shared, _: &PostOf<Sp>, _: usize, _: Cycle, stage: Stage) {
        if matches!(stage, Stage::Third | Stage::Queues) {
            prefetch::slice(&self.inputs);
            prefetch::slice(&self.outputs);
        }
    }

    fn run<O: Observer>(&mut self, cx: &mut Cx<'_, O>, until: Cycle) -> Rest {
        while self.due < until {
            let now = self.due;
            cx.counters.wakes += 1;
            self.step(cx, now);
            self.look(now);
            self.due = self.next_due(now);
        }
        // Credits come without waking anybody else.
        let starved = |port: PortId| {
            let output = &self.outputs[port.index()];
            !output.is_sink && output.credits.total() == 0
        };
        Rest { next: self.due, waits: ports(self.used_outputs).any(starved) }
    }

    fn settle<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) {}

    fn audit(&self, _: &Shared, _: Cycle, books: &mut Conservation) {
        let mut packets = 0;
        for output in &self.outputs {
            packets += u64::from(output.load) - u64::from(output.has_handed_over);
            books.units_sent += if output.is_sink { 0 } else { u64::from(output.sent as u32) };
        }
        for input in &self.inputs {
            // A gathering packet is there once, however many outputs it has got.
            let got = if input.mode == Mode::Gathering { input.some.count_ones() } else { 0 };
            packets = packets + input.heads.len() as u64 - u64::from(got);
            books.units_held += u64::from(input.flits.total());
            books.units_freed += u64::from(input.freed);
        }
        books.in_network += packets;
    }

    fn waiting(&self, _: &Shared, now: Cycle) -> Vec<Waiting> {
        self.stuck(now)
    }

    fn position(&self, shared: &Shared, port: PortId, _: u8, _: Cycle) -> u32 {
        shared.settings.fifo_flits.wrapping_add(self.inputs[port.index()].freed)
    }

    fn sent_flits(&self, port: PortId) -> Option<u64> {
        Some(self.outputs[port.index()].sent)
    }

    fn queued_flits(&self, _: &Shared, inbox: &Inbox, _: Cycle) -> u64 {
        let arrived = self.inputs.iter().map(|input| u64::from(input.flits.total())).sum::<u64>();
        arrived + inbox.flits.iter().map(|run| u64::from(run.count)).sum::<u64>()
    }
}
