//! The steps of a cycle, but for the requests.

use super::{Asked, Input, Mode, Output, Switch};
use crate::sp::packet_state::{Mail, PacketState};
use crate::sp::store::central::Written;
use crate::sp::{Cx, link};
use flitway_engine::Cycle;
use flitway_fabric::observer::{Departure, Grant, Observer, Outputs, Passage};
use flitway_wiring::PortId;
use flitway_wiring::reach::{Ports, ports};

impl Switch {
    /// Everything that is to be done in cycle `now`. To be called in a cycle in which nothing is makes no difference.
    pub(super) fn step<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let inputs_due = mask_of(self.waiting_inputs, |input| self.inputs_due[input] <= now);
        self.touched_inputs = inputs_due;
        self.touched_outputs = mask_of(self.waiting_outputs, |output| self.outputs_due[output] <= now);
        let mut has_changed = false;
        let mut has_passed = false;
        if self.central.is_some() {
            self.fill_registers(cx, now, inputs_due);
            if self.full != 0 {
                has_changed |= self.admit(cx);
                if let Some(input) = self.next_writer(now) {
                    has_passed = self.write(cx, now, input);
                    has_changed = true;
                }
            }
        }
        if !has_passed {
            has_changed |=
                if self.central.is_some() { self.read_central(now) } else { self.read_inputs(cx, now) };
        }
        for output in ports(self.touched_outputs).map(|port| port.index()) {
            self.send(cx, now, output);
            has_changed |= self.finish_output(now, output);
        }
        for input in ports(inputs_due).map(|port| port.index()) {
            if self.inputs[input].mode == Mode::Crossing {
                self.cross(cx, now, input);
                has_changed |= self.finish_crossing(now, input);
            }
        }
        let (requested, somebody_waits) = self.request(cx, now);
        has_changed |= requested;
        self.again = has_changed && (somebody_waits || self.somebody_waits(now));
        #[cfg(debug_assertions)]
        if let Some(central) = &mut self.central {
            central.check(self.inputs.iter().map(|input| input.reserve).sum());
        }
    }

    /// Whether somebody could go on in the next cycle, and does so at no cycle known.
    fn somebody_waits(&self, now: Cycle) -> bool {
        let readers = self.central.as_ref().map_or(self.serving, |central| central.readable());
        self.full != 0 || ports(readers).any(|output| self.outputs[output.index()].is_empty(now + 1))
    }

    /// Step 2, for the inputs that are `due`. Notes whose registers hold a whole chunk.
    fn fill_registers<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, due: Ports) {
        for port in ports(due) {
            let input = &mut self.inputs[port.index()];
            if input.mode != Mode::Storing {
                continue;
            }
            if input.until <= now && input.register < input.chunk {
                let count = input.flits.in_a_row(now).min(input.chunk - input.register);
                if count > 0 {
                    input.register += count;
                    input.leave(cx, now, count);
                }
            }
            self.full |= u64::from(input.has_chunk(now)) << port.0;
        }
    }

    /// Step 3, first: the claim. Says whether something has changed.
    fn admit<O: Observer>(&mut self, cx: &Cx<'_, O>) -> bool {
        let Some(central) = &mut self.central else { return false };
        let mut has_changed = false;
        if self.claim.is_none() {
            let asks = |input: usize| {
                let input = &self.inputs[input];
                input.outputs.count_ones() > 1 && !input.is_admitted
            };
            let asking = mask_of(self.full, asks);
            self.claim = self.written.first(asking).map(|input| input as u8);
            has_changed = self.claim.is_some();
        }
        let Some(claim) = self.claim else { return false };
        let input = &mut self.inputs[usize::from(claim)];
        let flits = input.state.as_ref().map_or(0, |state| state.flits);
        let chunks = cx.shared.settings.chunks_to_replicate(flits, input.outputs.count_ones());
        if central.free() >= chunks {
            central.reserve(chunks);
            (input.is_admitted, input.reserve) = (true, chunks);
            self.claim = None;
            has_changed = true;
        }
        has_changed
    }

    /// Step 3: the input that writes.
    fn next_writer(&self, now: Cycle) -> Option<usize> {
        let can_write =
            |number: usize| self.has_room(&self.inputs[number]) || self.passes(now, number).is_some();
        self.written.first(mask_of(self.full, can_write))
    }

    /// Whether the chunk of `input` can be written into the central buffer.
    fn has_room(&self, input: &Input) -> bool {
        let Some(central) = &self.central else { return false };
        if input.outputs.count_ones() > 1 {
            return input.is_admitted;
        }
        let is_allowed =
            !self.leads_up(input.outputs) || central.leading_up() + self.spared < central.chunks();
        self.claim.is_none() && central.free() > 0 && is_allowed
    }

    fn leads_up(&self, outputs: Ports) -> bool {
        ports(outputs).any(|port| self.outputs[port.index()].leads_up)
    }

    /// The output to which the chunk of input `number` could go through.
    fn passes(&self, now: Cycle, number: usize) -> Option<usize> {
        let (input, central) = (&self.inputs[number], self.central.as_ref()?);
        if input.outputs.count_ones() > 1 {
            return None;
        }
        let output = input.outputs.trailing_zeros() as usize;
        let waits = central.waits_for(output, number, input.is_first);
        (waits && self.outputs[output].is_empty(now)).then_some(output)
    }

    /// Step 3: input `number` writes its chunk. Says whether that went through, and took the read port too.
    fn write<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize) -> bool {
        self.written.serve(number);
        let has_room = self.has_room(&self.inputs[number]);
        let leads_up = self.leads_up(self.inputs[number].outputs);
        let input = &mut self.inputs[number];
        let Some(central) = &mut self.central else { return false };
        let mut written = Written {
            input: number,
            outputs: input.outputs,
            flits: input.register,
            is_last: input.left == 0,
            leads_up,
            is_reserved: input.is_admitted,
        };
        if has_room && input.is_first {
            let once = !central.copies_first_chunks();
            let is_first_copy = input.some == input.outputs;
            written.outputs = if once { input.outputs } else { input.some & input.some.wrapping_neg() };
            input.some &= !written.outputs;
            let state = if input.some == 0 { input.state.take() } else { input.state.clone() };
            let mut state = state.expect("a packet that is stored is there");
            state.ready = now;
            if is_first_copy {
                cx.observer.passed(&input.passage(self.number, number, &state, now));
            }
            central.write_first(&written, state);
        } else if has_room {
            central.write_next(&written);
        } else {
            central.pass(written.outputs.trailing_zeros() as usize, &written, input.is_first);
            input.some = 0;
        }
        input.reserve -= u32::from(has_room && input.is_admitted);
        let is_first = input.is_first;
        let mut state = if has_room { None } else { input.state.take() };
        if let Some(state) = &mut state {
            state.ready = now;
            cx.observer.passed(&input.passage(self.number, number, state, now));
        }
        self.touched_inputs |= 1 << number;
        if input.some == 0 {
            input.end_chunk(now, cx.shared.settings.chunk_flits);
            self.full &= !(1 << number);
        }
        if is_first {
            grants(cx, now, self.number, number, written.outputs);
        }
        if !has_room {
            let output = written.outputs.trailing_zeros() as usize;
            self.read[0].serve(output);
            self.touched_outputs |= 1 << output;
            self.outputs[output].take_chunk(now, written.flits, state);
        }
        !has_room
    }

    /// Step 4, central buffer. Says whether somebody has read.
    fn read_central(&mut self, now: Cycle) -> bool {
        let Some(central) = &mut self.central else { return false };
        let asking = mask_of(central.readable(), |output| self.outputs[output].is_empty(now));
        let Some(output) = self.read[0].first(asking) else { return false };
        self.read[0].serve(output);
        self.touched_outputs |= 1 << output;
        let read = central.read(output);
        self.outputs[output].take_chunk(now, read.flits, read.state);
        true
    }

    /// Step 4, input buffers.
    fn read_inputs<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> bool {
        let reads = |output: usize| {
            let output = &self.outputs[output];
            let Some(input) = output.serving.filter(|_| output.is_empty(now)) else { return false };
            let input = &self.inputs[usize::from(input)];
            output.next_chunk < input.chunks_gone + input.unread.len() as u32
                && input.chunk_ready(output.next_chunk, self.chunk_flits).is_some_and(|ready| ready <= now)
        };
        let mut asking = mask_of(self.serving, reads);
        let has_changed = asking != 0;
        while asking != 0 {
            // One after the other the inputs that are asked, each by all that ask it.
            let number = self.outputs[asking.trailing_zeros() as usize].serving.map_or(0, usize::from);
            let of_input = mask_of(asking, |output| self.outputs[output].serving == Some(number as u8));
            asking &= !of_input;
            if let Some(output) = self.read[number].first(of_input) {
                self.read_input(cx, now, number, output);
            }
        }
        has_changed
    }

    /// Step 4, input buffers: output `number` reads its next chunk in the FIFO of input `from`.
    fn read_input<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, from: usize, number: usize) {
        self.read[from].serve(number);
        self.touched_inputs |= 1 << from;
        self.touched_outputs |= 1 << number;
        let (input, output) = (&mut self.inputs[from], &mut self.outputs[number]);
        let index = output.next_chunk;
        output.next_chunk += 1;
        let mut state = if index == 0 { input.state.clone() } else { None };
        if let Some(state) = &mut state {
            let whole = input.chunk_ready(0, self.chunk_flits);
            state.ready = whole.map_or(now, |whole| whole.max(input.asked.given + 1));
        }
        output.take_chunk(now, input.flits_of(index, self.chunk_flits), state);
        input.unread[(index - input.chunks_gone) as usize] -= 1;
        while input.unread.front() == Some(&0) {
            input.free_chunk(cx, now, self.chunk_flits);
        }
    }

    /// Step 5: output `number` sends what is in its register.
    fn send<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize) {
        let output = &mut self.outputs[number];
        if output.register == 0 || output.until > now {
            return;
        }
        let count = output.sends_in_a_row(now).min(output.register);
        if count > 0 {
            output.register -= count;
            output.transmit(cx, now, (self.number, PortId::new(number)), count);
        }
    }

    /// Step 5: output `number` is done with a packet out of the store, if its last flit is sent in cycle `now`.
    fn finish_output(&mut self, now: Cycle, number: usize) -> bool {
        let output = &mut self.outputs[number];
        let is_done = output.is_busy && output.left == 0 && output.until <= now + 1;
        if is_done {
            output.finish();
            output.serving = None;
            self.serving &= !(1 << number);
        }
        is_done
    }

    /// Step 5: the packet of input `number` crosses.
    fn cross<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize) {
        let input = &mut self.inputs[number];
        if input.until > now || input.left == 0 {
            return;
        }
        let mut count = input.flits.in_a_row(now).min(input.left);
        for port in ports(input.outputs) {
            count = count.min(self.outputs[port.index()].sends_in_a_row(now));
        }
        if count > 0 {
            input.leave(cx, now, count);
            for port in ports(input.outputs) {
                self.outputs[port.index()].transmit(cx, now, (self.number, port), count);
            }
        }
    }

    /// Step 5: input `number` and its outputs are done with a packet that crosses, if its last flit is sent in cycle `now`.
    fn finish_crossing(&mut self, now: Cycle, number: usize) -> bool {
        let input = &mut self.inputs[number];
        let is_done = input.left == 0 && input.until <= now + 1;
        if is_done {
            self.touched_outputs |= input.outputs;
            input.mode = Mode::Idle;
            for port in ports(input.outputs) {
                let output = &mut self.outputs[port.index()];
                output.finish();
                output.taken = None;
            }
        }
        is_done
    }
}

/// Those of `all` of which `holds` does.
pub(super) fn mask_of(all: Ports, holds: impl Fn(usize) -> bool) -> Ports {
    ports(all).filter(|port| holds(port.index())).fold(0, |mask, port| mask | 1 << port.0)
}

/// `outputs` of switch component `switch` have been granted to `input`.
pub(super) fn grants<O: Observer>(
    cx: &mut Cx<'_, O>,
    cycle: Cycle,
    switch: u32,
    input: usize,
    outputs: Ports,
) {
    for output in ports(outputs) {
        cx.counters.events += 1;
        cx.observer.granted(&Grant { cycle, switch, output, vc: 0, input: PortId::new(input) });
    }
}

impl Input {
    /// Its packet `state` has all of its outputs from cycle `now` on.
    pub(super) fn note_given(&mut self, delay: u64, state: &PacketState, now: Cycle) {
        let requested = self.requested.take().unwrap_or(now);
        let header = u64::from(state.header.min(state.flits) - 1);
        let ready = (state.arrived + (header + delay - 1)).min(requested);
        self.asked = Asked { ready, requested, given: now };
    }

    /// Its packet `state` is let across switch component `switch` in cycle `now`: it crosses, is put down, or its first chunk
    /// has been written. What it waited for before the chunk came together counts as if it had done so behind that.
    pub(super) fn passage(&self, switch: u32, number: usize, state: &PacketState, now: Cycle) -> Passage {
        let Asked { ready, requested, given } = self.asked;
        let whole = if self.mode == Mode::Storing { Cycle(self.until.0 - 1) } else { given };
        let moved = whole.since(given);
        Passage {
            packet: state.name(),
            switch,
            input: PortId::new(number),
            vc: 0,
            outputs: Outputs::Several(self.outputs),
            arrived: state.arrived,
            ready: ready + moved,
            requested: requested + moved,
            free: None,
            granted: now,
        }
    }

    /// Its register holds a whole chunk in cycle `now`.
    fn has_chunk(&self, now: Cycle) -> bool {
        self.mode == Mode::Storing && self.register == self.chunk && self.until <= now + 1
    }

    /// `count` flits leave the FIFO from cycle `now` on, one a cycle.
    fn leave<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, count: u32) {
        self.flits.take(count);
        self.left -= count;
        self.until = now + u64::from(count);
        self.freed = self.freed.wrapping_add(count);
        if let Some(wire) = &self.wire {
            link::send_credits(cx, wire, now, count, false);
        }
    }

    /// All outputs have read the first chunk in the FIFO.
    fn free_chunk<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, chunk_flits: u32) {
        let flits = self.flits_of(self.chunks_gone, chunk_flits);
        self.unread.pop_front();
        self.chunks_gone += 1;
        self.flits.at(now);
        self.flits.take(flits);
        self.freed = self.freed.wrapping_add(flits);
        if let Some(wire) = &self.wire {
            link::send_credits(cx, wire, now, flits, true);
        }
        if self.unread.is_empty() {
            (self.mode, self.state) = (Mode::Idle, None);
        }
    }

    /// The chunk in the register has been written for all outputs.
    fn end_chunk(&mut self, now: Cycle, chunk_flits: u32) {
        self.register = 0;
        self.is_first = false;
        self.chunk = chunk_flits.min(self.left);
        self.until = now + 1;
        if self.left == 0 {
            self.mode = Mode::Idle;
            debug_assert!(self.reserve == 0, "as much is reserved as is written");
        }
    }
}

impl Output {
    /// A chunk comes into the register, the first one with its packet.
    fn take_chunk(&mut self, now: Cycle, flits: u32, state: Option<Box<PacketState>>) {
        self.register = flits;
        if let Some(state) = state {
            self.is_busy = true;
            self.start(state, now);
        }
    }

    /// It begins to send a packet, and is free of others for it since cycle `free`.
    pub(super) fn start(&mut self, state: Box<PacketState>, free: Cycle) {
        self.free = free;
        self.left = state.flits;
        self.about = Some((state.source, state.destination()));
        self.state = Some(state);
        self.has_handed_over = false;
    }

    /// The last flit of its packet is sent.
    fn finish(&mut self) {
        self.load -= 1;
        self.is_busy = false;
        self.has_handed_over = false;
    }

    /// Sends `count` flits from cycle `now` on, one a cycle; `place` is its switch and itself.
    fn transmit<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, place: (u32, PortId), count: u32) {
        let Some(wire) = self.wire else { unreachable!("a packet leaves by a port that is wired") };
        if !self.is_sink {
            self.credits.take(count);
        }
        let is_first = self.state.as_ref().is_some_and(|state| state.flits == self.left);
        self.left -= count;
        self.until = now + u64::from(count);
        self.sent += u64::from(count);
        if is_first && let Some(state) = &mut self.state {
            cx.counters.packet_hops += 1;
            cx.counters.flit_hops += u64::from(state.flits);
            state.hops += 1;
            state.arrived = now + u64::from(cx.shared.settings.pipeline.transmit + wire.latency);
            cx.observer.departed(&Departure {
                packet: state.name(),
                component: place.0,
                port: place.1,
                vc: 0,
                flits: state.flits as u16,
                ready: state.ready,
                free: self.free,
                chosen: now,
                arrives: state.arrived,
            });
        }
        if !self.is_sink {
            if let Some(state) = self.state.take() {
                self.has_handed_over = true;
                link::post(cx.post, &wire, Cycle::NEVER, Mail::Head(wire.port, state));
            }
            link::send_flits(cx, &wire, now, count, self.leads_to_node);
        } else if self.left == 0
            && let Some(state) = self.state.take()
        {
            self.has_handed_over = true;
            let pipeline = &cx.shared.settings.pipeline;
            let delivered = self.until + u64::from(pipeline.transmit + wire.latency);
            link::post(cx.post, &wire, delivered, Mail::Whole(wire.port, delivered, state));
        }
    }
}
