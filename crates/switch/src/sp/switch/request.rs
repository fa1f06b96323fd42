//! The last step of a cycle: packets are given their outputs.

use super::steps::{grants, mask_of};
use super::{Mode, Switch};
use crate::sp::packet_state::PacketState;
use crate::sp::settings::{Replication, SpAscent};
use crate::sp::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::observer::Observer;
use flitway_wiring::PortId;
use flitway_wiring::reach::{Ports, ports};
use flitway_wiring::routing::select::least_loaded;
use flitway_wiring::routing::{Arrival, Header};

impl Switch {
    /// Step 6. Says whether somebody has been given something, and whether somebody waits for it.
    pub(super) fn request<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> (bool, bool) {
        let asks = |input: usize| {
            let input = &self.inputs[input];
            match (input.mode, input.heads.front()) {
                (Mode::Gathering, _) => true,
                (Mode::Idle, Some(head)) => {
                    input.flits.when(head.header.min(head.flits) - 1).is_some_and(|ready| ready <= now + 1)
                }
                _ => false,
            }
        };
        let mut asking = mask_of(self.touched_inputs | self.asking, asks);
        self.touched_inputs |= asking;
        self.asking = asking;
        let (mut has_changed, mut waits) = (false, false);
        while let Some(input) = self.granted.first(asking) {
            asking &= !(1 << input);
            let before = (self.inputs[input].mode, self.inputs[input].some);
            let is_given = self.give(cx, now, input);
            waits |= !is_given;
            has_changed |= is_given || before != (self.inputs[input].mode, self.inputs[input].some);
            if is_given {
                self.granted.serve(input);
                self.asking &= !(1 << input);
            }
        }
        if self.put_down != 0 {
            has_changed |= self.serve_inputs(cx, now);
        }
        (has_changed, waits)
    }

    /// Gives the first packet of `input` its outputs, unless one of them is kept from it.
    fn give<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, input: usize) -> bool {
        if self.inputs[input].mode == Mode::Gathering {
            return self.gather(cx, now, input);
        }
        self.inputs[input].requested.get_or_insert(now);
        let Some(head) = self.inputs[input].heads.front() else { return false };
        let wanted = self.wanted(cx.shared, input, head);
        let goes_up = wanted.goes_up;
        if wanted.outputs.count_ones() > 1 && !goes_up {
            if cx.shared.settings.worms.replication == Replication::LockStep {
                let it = &mut self.inputs[input];
                (it.mode, it.outputs, it.some) = (Mode::Gathering, wanted.outputs, 0);
                return self.gather(cx, now, input);
            }
            self.put(cx, now, input, wanted.outputs);
            return true;
        }
        let (output, turn) = self.choose(wanted.outputs);
        if self.outputs[output].kept.is_some() {
            return false;
        }
        if wanted.has_choice {
            self.turn = turn;
        }
        if goes_up && let Some(head) = self.inputs[input].heads.front_mut() {
            head.climb = head.climb.saturating_sub(1);
        }
        if self.outputs[output].load == 0 && (self.central.is_some() || self.is_fresh(input, now)) {
            self.outputs[output].load = 1;
            self.outputs[output].taken = Some(input as u8);
            grants(cx, now, self.number, input, 1 << output);
            self.start_crossing(cx, now, input, 1 << output);
        } else {
            self.put(cx, now, input, 1 << output);
        }
        true
    }

    /// Whether the first packet of `input` could not have requested before cycle `now`.
    fn is_fresh(&self, input: usize, now: Cycle) -> bool {
        let input = &self.inputs[input];
        let header = input.heads.front().map_or(0, |head| head.header.min(head.flits) - 1);
        input.flits.when(header) == Some(now + 1)
    }

    /// The first packet of input `number` goes into the store, for `outputs`.
    fn put<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize, outputs: Ports) {
        cx.counters.packets_copied += u64::from(outputs.count_ones() - 1);
        self.touched_outputs |= outputs;
        let is_central = self.central.is_some();
        self.put_down |= if is_central { 0 } else { outputs };
        for port in ports(outputs) {
            let output = &mut self.outputs[port.index()];
            output.load += 1;
            output.asking |= u64::from(!is_central) << number;
        }
        let input = &mut self.inputs[number];
        let state = input.heads.pop_front().expect("a packet that is given outputs is there");
        input.note_given(cx.shared.delay(), &state, now);
        input.about = Some((state.source, state.destination()));
        let flits = state.flits;
        (input.outputs, input.some, input.left, input.until) = (outputs, outputs, flits, now + 1);
        if is_central {
            input.mode = Mode::Storing;
            (input.register, input.chunk) = (0, flits.min(self.chunk_flits));
            (input.is_first, input.is_admitted, input.reserve) = (true, false, 0);
        } else {
            input.mode = Mode::Serving;
            input.chunks_gone = 0;
            input.unread.resize(flits.div_ceil(self.chunk_flits) as usize, outputs.count_ones() as u8);
            cx.observer.passed(&input.passage(self.number, number, &state, now));
        }
        input.state = Some(state);
    }

    /// The first packet of input `number` crosses to `outputs`, which are its own, from the next cycle on.
    fn start_crossing<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, number: usize, outputs: Ports) {
        cx.counters.packets_copied += u64::from(outputs.count_ones() - 1);
        let input = &mut self.inputs[number];
        self.touched_outputs |= outputs;
        let mut state = input.heads.pop_front().expect("a packet that crosses is there");
        (input.mode, input.outputs, input.left, input.until) =
            (Mode::Crossing, outputs, state.flits, now + 1);
        input.about = Some((state.source, state.destination()));
        input.note_given(cx.shared.delay(), &state, now);
        cx.observer.passed(&input.passage(self.number, number, &state, now));
        state.ready = now + 1;
        for port in ports(outputs) {
            self.outputs[port.index()].start(state.clone(), state.ready);
        }
    }

    /// Lock step: the packet of `input` asks for the outputs that it has not got. Says whether it has all.
    fn gather<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, input: usize) -> bool {
        let (outputs, got) = (self.inputs[input].outputs, self.inputs[input].some);
        for port in ports(outputs & !got) {
            let output = &mut self.outputs[port.index()];
            let keeper = *output.kept.get_or_insert(input as u8);
            if usize::from(keeper) == input && output.load == 0 {
                (output.kept, output.load, output.taken) = (None, 1, Some(input as u8));
                self.touched_outputs |= 1 << port.0;
                self.inputs[input].some |= 1 << port.0;
                grants(cx, now, self.number, input, 1 << port.0);
            }
        }
        let has_all = self.inputs[input].some == outputs;
        if has_all {
            self.inputs[input].some = 0;
            self.start_crossing(cx, now, input, outputs);
        }
        has_all
    }

    /// Input buffer: idle outputs take one of those that are put down at them.
    fn serve_inputs<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> bool {
        let mut has_changed = false;
        for number in ports(self.put_down).map(|port| port.index()) {
            let output = &mut self.outputs[number];
            if !output.is_idle() {
                continue;
            }
            // The first after the one taken last, going round.
            let after = output.asking & (!0 << output.last);
            let input = if after == 0 { output.asking } else { after }.trailing_zeros();
            output.asking &= !(1 << input);
            (output.serving, output.next_chunk) = (Some(input as u8), 0);
            output.last = (input as u8 + 1) % 64;
            self.put_down &= !(u64::from(output.asking == 0) << number);
            self.serving |= 1 << number;
            self.touched_outputs |= 1 << number;
            grants(cx, now, self.number, input as usize, 1 << number);
            has_changed = true;
        }
        has_changed
    }
}

/// The outputs that a packet can be given: all of them, or one where there is a choice.
struct Wanted {
    outputs: Ports,
    has_choice: bool,
    goes_up: bool,
}

impl Switch {
    fn wanted(&self, shared: &Shared, input: usize, head: &PacketState) -> Wanted {
        let up = |is_free: bool| {
            let up = shared.reach().up(self.here);
            let count = up.count_ones();
            let outputs = if is_free {
                up
            } else {
                ports(up).nth((head.source.0 % count) as usize).map_or(0, |port| 1 << port.0)
            };
            Wanted { outputs, has_choice: is_free, goes_up: true }
        };
        match &head.set {
            Some(_) if head.climb > 0 => up(shared.settings.ascent == SpAscent::Adaptive),
            Some(set) => {
                let outputs = shared.reach().outputs(self.here, set);
                Wanted { outputs, has_choice: false, goes_up: false }
            }
            None => {
                let arrival = Arrival { port: PortId::new(input), class: 0 };
                let mut outputs: Ports = 0;
                let header = Header::to(head.to);
                shared.routing.candidates(self.here, arrival, header, |next| outputs |= 1 << next.hop.port.0);
                let has_choice = outputs.count_ones() > 1;
                Wanted { outputs, has_choice, goes_up: has_choice }
            }
        }
    }

    /// One of `outputs`, and the turn after it: the first without load, or that with the least.
    fn choose(&self, outputs: Ports) -> (usize, u32) {
        let load = |port: u32| self.outputs[port as usize].load;
        let (port, turn) = least_loaded(outputs, self.outputs.len() as u32, self.turn, load);
        (port as usize, turn)
    }
}
