//! A switch, step by step.

mod request;

use super::store::{Buffer, Stored};
use super::{Flit, Order, Wires, World, is_central, port};
use flitway_engine::Cycle;
use flitway_fabric::observer::{Grant, SwitchObserver};
use flitway_switch::sp::{CentralSettings, NextPacket, SpSettings, Store};
use flitway_wiring::SwitchId;
use std::collections::VecDeque;

/// What an input does with its first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    Gathering { outputs: Vec<usize>, got: Vec<usize> },
    Crossing,
    Storing,
    Serving,
}

#[derive(Debug)]
struct Input {
    wires: Option<Wires>,
    /// With the cycle in which each was on the wire.
    fifo: VecDeque<(Flit, u64)>,
    doing: Doing,
    /// The outputs of the packet, and the copy for each.
    copies: Vec<(usize, usize)>,
    /// Chunks that each of them has read.
    reads: Vec<u32>,
    register: Vec<Flit>,
    /// Copies for which the first chunk has not been written.
    to_write: Vec<(usize, usize)>,
    is_admitted: bool,
    reserve: u32,
}

#[derive(Debug)]
struct Output {
    wires: Option<Wires>,
    leads_up: bool,
    credits: u32,
    load: u32,
    taken: bool,
    kept: Option<usize>,
    register: VecDeque<Flit>,
    /// It is in the middle of a packet out of the store.
    is_busy: bool,
    /// Input buffer: those put down, in no order, the input served, and the one taken last.
    asking: Vec<usize>,
    serving: Option<usize>,
    last: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Switch {
    number: u32,
    here: SwitchId,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    buffer: Buffer,
    granted: Order,
    written: Order,
    read: Vec<Order>,
    claim: Option<usize>,
    turn: usize,
}

impl Switch {
    /// The channel that the port at `place` sends on.
    pub(super) fn out(&self, place: usize) -> usize {
        self.outputs[place].wires.expect("what changes is wired").out
    }

    pub(super) fn new(settings: &SpSettings, number: u32, here: SwitchId, wires: &[Option<Wires>]) -> Self {
        let input = |wires: &Option<Wires>| Input {
            wires: *wires,
            fifo: VecDeque::new(),
            doing: Doing::Nothing,
            copies: Vec::new(),
            reads: Vec::new(),
            register: Vec::new(),
            to_write: Vec::new(),
            is_admitted: false,
            reserve: 0,
        };
        let output = |wires: &Option<Wires>| Output {
            wires: *wires,
            leads_up: false,
            credits: wires.map_or(0, |wires| wires.room),
            load: 0,
            taken: false,
            kept: None,
            register: VecDeque::new(),
            is_busy: false,
            asking: Vec::new(),
            serving: None,
            last: None,
        };
        let ports = wires.len();
        let order = Order::new(ports);
        let readers = if is_central(settings) { 1 } else { ports };
        Switch {
            number,
            here,
            inputs: wires.iter().map(input).collect(),
            outputs: wires.iter().map(output).collect(),
            buffer: Buffer::new(ports),
            granted: order.clone(),
            written: order.clone(),
            read: vec![order; readers],
            claim: None,
            turn: 0,
        }
    }

    pub(super) fn fifos(&self) -> impl Iterator<Item = (Wires, u32)> {
        self.inputs.iter().filter_map(|input| Some((input.wires?, input.fifo.len() as u32)))
    }

    pub(super) fn senders(&self) -> impl Iterator<Item = (Wires, u32)> {
        self.outputs.iter().filter_map(|output| Some((output.wires?, output.credits)))
    }

    pub(super) fn assert_chunks(&self, world: &World) {
        let Store::Central(central) = world.settings.store else { return };
        let reserved: u32 = self.inputs.iter().map(|input| input.reserve).sum();
        assert!(self.buffer.full() + reserved <= central.chunks, "chunks are full, reserved or free");
    }

    /// One cycle.
    pub(super) fn cycle(&mut self, world: &mut World) {
        self.step_credits(world);
        if is_central(&world.settings) {
            self.step_registers(world);
            let has_passed = self.step_write(world);
            if !has_passed {
                self.step_read();
            }
        } else {
            self.step_read_inputs(world);
        }
        self.step_links(world);
        self.step_requests(world);
    }

    /// Step 1, and what comes in.
    fn step_credits(&mut self, world: &World) {
        for input in &mut self.inputs {
            let flit = input.wires.and_then(|wires| world.channels[wires.back].received());
            input.fifo.extend(flit.map(|flit| (flit, world.now)));
        }
        for (number, output) in self.outputs.iter_mut().enumerate() {
            if let Some(wires) = output.wires {
                output.credits += world.channels[wires.out].credits[0];
            }
            let reach = world.reach.as_ref();
            output.leads_up = reach.is_some_and(|reach| reach.up(self.here) >> number & 1 == 1);
        }
    }

    /// Step 2.
    fn step_registers(&mut self, world: &mut World) {
        for input in &mut self.inputs {
            if input.doing != Doing::Storing || input.has_chunk(world) {
                continue;
            }
            if let Some(flit) = input.take_ready(world) {
                input.register.push(flit);
            }
        }
    }

    /// Step 3. Says whether a chunk went through.
    fn step_write(&mut self, world: &mut World) -> bool {
        self.admit(world);
        let can_write = |input: usize| {
            self.inputs[input].has_chunk(world)
                && (self.has_room(input, world) || self.passes_to(input).is_some())
        };
        let Some(number) = self.written.first(can_write) else { return false };
        let (has_room, passes_to) = (self.has_room(number, world), self.passes_to(number));
        self.written.serve(number);
        let leads_up = self.leads_up(number);
        let input = &mut self.inputs[number];
        let flits = input.register.clone();
        let is_first = flits[0].index == 0;
        let is_last = flits.iter().any(|&flit| world.is_last(flit));
        let mut granted = Vec::new();
        if !has_room {
            let (output, packet) = input.copies[0];
            assert_eq!(passes_to, Some(output));
            input.to_write.clear();
            let register = flits.iter().map(|flit| Flit { packet, ..*flit }).collect();
            self.pass(output, number, packet, register, is_first, is_last);
            granted.extend(is_first.then_some(output));
        } else if is_first {
            let copies = if next_packet(world) == NextPacket::Shared { 1 } else { input.to_write.len() };
            let copies: Vec<(usize, usize)> = input.to_write.drain(..copies).collect();
            self.buffer.begin(number, &flits, &copies, is_last, leads_up);
            granted.extend(copies.iter().map(|copy| copy.0));
        } else {
            self.buffer.go_on(number, &flits, &input.copies, is_last, leads_up);
        }
        let input = &mut self.inputs[number];
        if has_room && input.is_admitted {
            input.reserve -= 1;
        }
        if input.to_write.is_empty() {
            input.register.clear();
            if is_last {
                input.doing = Doing::Nothing;
            }
        }
        for output in granted {
            self.note(number, output, world);
        }
        !has_room
    }

    /// "First, if no input claims, ..."
    fn admit(&mut self, world: &World) {
        if self.claim.is_none() {
            let asks = |input: usize| {
                let input = &self.inputs[input];
                input.has_chunk(world) && input.copies.len() > 1 && !input.is_admitted
            };
            self.claim = self.written.first(asks);
        }
        let Some(claim) = self.claim else { return };
        let (free, shared) = (self.free(world), next_packet(world) == NextPacket::Shared);
        let input = &mut self.inputs[claim];
        let chunks = world.flits_of(input.register[0].packet).div_ceil(world.settings.chunk_flits);
        let needed = chunks + if shared { input.copies.len() as u32 - 1 } else { 0 };
        if needed <= free {
            (input.is_admitted, input.reserve) = (true, needed);
            self.claim = None;
        }
    }

    fn free(&self, world: &World) -> u32 {
        let reserved: u32 = self.inputs.iter().map(|input| input.reserve).sum();
        central(world).chunks - self.buffer.full() - reserved
    }

    fn leads_up(&self, input: usize) -> bool {
        self.inputs[input].copies.iter().any(|&(output, _)| self.outputs[output].leads_up)
    }

    fn has_room(&self, input: usize, world: &World) -> bool {
        if self.inputs[input].copies.len() > 1 {
            return self.inputs[input].is_admitted;
        }
        let limit = central(world).chunks.saturating_sub(world.settings.chunks_spared());
        let is_allowed = !self.leads_up(input) || self.buffer.leading_up() < limit;
        self.claim.is_none() && self.free(world) >= 1 && is_allowed
    }

    /// The output that needs the chunk of `input` next.
    fn passes_to(&self, number: usize) -> Option<usize> {
        let input = &self.inputs[number];
        let [(output, packet)] = input.copies[..] else { return None };
        let it = &self.outputs[output];
        if !it.register.is_empty() || it.taken {
            return None;
        }
        let queue = &self.buffer.queues[output];
        let is_first = input.register[0].index == 0;
        let waits = if is_first {
            queue.is_empty() && !it.is_busy
        } else {
            // The packet that it sends is the first in its queue as long as not all of it has been read.
            it.is_busy
                && !self.buffer.can_read(output)
                && queue.front().is_some_and(|stored| stored.packet == packet)
        };
        waits.then_some(output)
    }

    fn pass(
        &mut self,
        output: usize,
        input: usize,
        packet: usize,
        flits: VecDeque<Flit>,
        is_first: bool,
        is_last: bool,
    ) {
        let queue = &mut self.buffer.queues[output];
        if is_first && !is_last {
            queue.push_back(Stored::empty(input, packet));
        } else if is_last && !is_first {
            queue.pop_front();
        }
        let it = &mut self.outputs[output];
        it.is_busy = true;
        it.register = flits;
        self.read[0].serve(output);
    }

    /// Step 4, central buffer.
    fn step_read(&mut self) {
        let asks = |number: usize| {
            let output = &self.outputs[number];
            output.register.is_empty() && !output.taken && self.buffer.can_read(number)
        };
        let Some(output) = self.read[0].first(asks) else { return };
        self.read[0].serve(output);
        self.outputs[output].register = self.buffer.read(output).into();
        self.outputs[output].is_busy = true;
    }

    /// Step 4, input buffers.
    fn step_read_inputs(&mut self, world: &mut World) {
        let size = world.settings.chunk_flits;
        for number in 0..self.inputs.len() {
            if self.inputs[number].doing != Doing::Serving {
                continue;
            }
            let asks = |output: usize| {
                let it = &self.outputs[output];
                it.serving == Some(number)
                    && it.register.is_empty()
                    && self.inputs[number].next_chunk(output, world).is_some()
            };
            let Some(output) = self.read[number].first(asks) else { continue };
            self.read[number].serve(output);
            let input = &mut self.inputs[number];
            let it = &mut self.outputs[output];
            let place =
                input.copies.iter().position(|copy| copy.0 == output).expect("it is one of its outputs");
            let (_, packet) = input.copies[place];
            let chunk = input.chunk(input.reads[place], world).expect("who asks has something to read");
            it.register = chunk.iter().map(|flit| Flit { packet, ..*flit }).collect();
            it.is_busy = true;
            input.reads[place] += 1;
            // What all outputs have read leaves the FIFO.
            let first = input.fifo[0].0.index / size;
            if input.reads.iter().all(|&read| read > first) {
                input.drop_chunk(first, world);
            }
        }
    }

    /// Step 5.
    fn step_links(&mut self, world: &mut World) {
        for output in &mut self.outputs {
            if output.register.is_empty() || !output.can_send(world) {
                continue;
            }
            let flit = output.register.pop_front().expect("it is not empty");
            output.send(flit, world);
            if world.is_last(flit) {
                output.load -= 1;
                output.is_busy = false;
                output.serving = None;
            }
        }
        for number in 0..self.inputs.len() {
            if self.inputs[number].doing == Doing::Crossing {
                self.cross(number, world);
            }
        }
    }

    fn cross(&mut self, number: usize, world: &mut World) {
        let input = &mut self.inputs[number];
        let can_send = |&(output, _): &(usize, usize)| self.outputs[output].can_send(world);
        if !input.copies.iter().all(can_send) {
            return;
        }
        let Some(flit) = input.take_ready(world) else { return };
        let is_last = world.is_last(flit);
        for &(output, packet) in &input.copies {
            let it = &mut self.outputs[output];
            it.send(Flit { packet, ..flit }, world);
            if is_last {
                it.load -= 1;
                it.taken = false;
            }
        }
        if is_last {
            input.doing = Doing::Nothing;
        }
    }

    fn note(&self, input: usize, output: usize, world: &mut World) {
        let grant = Grant {
            cycle: Cycle(world.now),
            switch: self.number,
            output: port(output),
            vc: 0,
            input: port(input),
        };
        world.record.granted(&grant);
    }
}

fn central(world: &World) -> CentralSettings {
    let Store::Central(central) = world.settings.store else {
        panic!("only a central buffer has chunks to count")
    };
    central
}

fn next_packet(world: &World) -> NextPacket {
    central(world).next_packet
}

impl Input {
    /// The first flit in the FIFO leaves it, if it is ready.
    fn take_ready(&mut self, world: &mut World) -> Option<Flit> {
        let &(flit, on_wire) = self.fifo.front()?;
        if on_wire + world.delay() > world.now {
            return None;
        }
        self.fifo.pop_front();
        let wires = self.wires.expect("what comes in comes by a wire");
        world.channels[wires.back].give_back(1);
        Some(flit)
    }

    /// The register holds a whole chunk.
    fn has_chunk(&self, world: &World) -> bool {
        self.register.len() == world.settings.chunk_flits as usize
            || self.register.last().is_some_and(|&flit| world.is_last(flit))
    }

    /// The flits of chunk `index` of the first packet in the FIFO, if all of them are ready.
    fn chunk(&self, index: u32, world: &World) -> Option<Vec<Flit>> {
        let size = world.settings.chunk_flits;
        let packet = self.fifo.front()?.0.packet;
        let flits = world.flits_of(packet);
        let is_in = |flit: &Flit| flit.packet == packet && flit.index / size == index;
        let ready =
            self.fifo.iter().filter(|(flit, on_wire)| is_in(flit) && on_wire + world.delay() <= world.now);
        let ready: Vec<Flit> = ready.map(|it| it.0).collect();
        let whole = flits.saturating_sub(size * index).min(size);
        (whole > 0 && ready.len() == whole as usize).then_some(ready)
    }

    /// The next chunk for `output`, if all of its flits are ready.
    fn next_chunk(&self, output: usize, world: &World) -> Option<Vec<Flit>> {
        let place = self.copies.iter().position(|copy| copy.0 == output)?;
        self.chunk(self.reads[place], world)
    }

    /// Chunk `first` leaves the FIFO.
    fn drop_chunk(&mut self, first: u32, world: &mut World) {
        let size = world.settings.chunk_flits;
        let packet = self.fifo[0].0.packet;
        let mut count = 0;
        while let Some((flit, _)) = self.fifo.front()
            && flit.packet == packet
            && flit.index / size == first
        {
            if world.is_last(*flit) {
                self.doing = Doing::Nothing;
            }
            self.fifo.pop_front();
            count += 1;
        }
        let wires = self.wires.expect("what comes in comes by a wire");
        world.channels[wires.back].give_back(count);
    }
}

impl Output {
    /// Whether its channel takes a flit in this cycle.
    fn can_send(&self, world: &World) -> bool {
        let is_slot = |wires: Wires| world.channels[wires.out].is_slot(world.now);
        let takes = |wires: Wires| (self.credits > 0 || wires.leads_to_sink) && is_slot(wires);
        self.wires.is_some_and(takes)
    }

    fn send(&mut self, flit: Flit, world: &mut World) {
        let wires = self.wires.expect("packets leave by ports that are wired");
        if !wires.leads_to_sink {
            self.credits -= 1;
        }
        if flit.index == 0 {
            world.packets[flit.packet].hops += 1;
            world.counters.packet_hops += 1;
            world.counters.flit_hops += u64::from(world.flits_of(flit.packet));
        }
        world.channels[wires.out].send(flit);
    }
}
