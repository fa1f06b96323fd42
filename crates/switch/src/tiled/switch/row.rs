//! Row buses: from an input buffer to the row buffer in the column of the output.

use super::{Step, Switch};
use crate::tiled::mask::Mask;
use crate::tiled::requests::Requests;
use crate::tiled::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Observer, Outputs, Passage};
use flitway_fabric::pool::Slot;
use flitway_wiring::PortId;

impl<M: Mask> Switch<M> {
    /// The row bus of `input` takes a packet in cycle `now`, if it is free and one has room.
    pub(super) fn go_over_row<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, input: usize) {
        let free_at = self.inputs[input].free_at;
        if !self.has_waiting(input) {
            return;
        }
        if free_at > now {
            return self.schedule(Step::Row, input, free_at);
        }
        self.inputs[input].settle(cx.shared, now);
        let requests = self.requests_of_row(cx.shared, now, input);
        if requests.vcs == 0 {
            if requests.wake < Cycle::NEVER {
                self.schedule(Step::Row, input, requests.wake);
            }
            return;
        }
        let vc = self.arbiters.bus_vc.grant(input, requests.vcs);
        let column = requests.places[vc].grant(&mut self.arbiters.bus_column, input * self.vcs + vc);
        let slot = self.take_waiting(cx.shared, (input, vc), column);
        self.take_bus(cx, now, slot, (input, vc), column);
    }

    /// What requests the row bus of `input` in cycle `now`: the first packets of queues that have room in their row buffer.
    fn requests_of_row(&mut self, shared: &Shared, now: Cycle, input: usize) -> Requests<M> {
        let (row, place) = self.place(input);
        let mut requests = Requests::none();
        for vc in bits(self.input_vcs[input].into()) {
            for column in self.input_columns[input * self.vcs + vc].places() {
                let queue = self.input_queues[(input * self.vcs + vc) * self.columns + column];
                let states = &shared.pools.states;
                let flits = u32::from(states[states.head_of_ring(queue)].flits);
                let buffer = &mut self.rows_in[(row * self.columns + column) * self.columns + place];
                if buffer.has_room(shared.parts.row, now, vc, flits) {
                    requests.add(vc, column);
                } else {
                    requests.wake = requests.wake.min(buffer.room_at());
                }
            }
        }
        if shared.settings.arbiter.is_by_age() {
            let states = &shared.pools.states;
            return requests.oldest(|vc, column| {
                let queue = self.input_queues[(input * self.vcs + vc) * self.columns + column];
                states[states.head_of_ring(queue)].injected
            });
        }
        requests
    }

    /// Whether the row bus of `input` is free for a packet of so many flits on `vc` for `column` that has come in cycle `now`,
    /// and which nobody waits beside. Then it is granted.
    #[inline]
    pub(super) fn has_bus(
        &mut self,
        shared: &Shared,
        now: Cycle,
        (input, vc): (usize, usize),
        column: usize,
        flits: u32,
    ) -> bool {
        let (row, place) = self.place(input);
        let it = &mut self.inputs[input];
        if it.free_at > now {
            return false;
        }
        it.settle(shared, now);
        let buffer = &mut self.rows_in[(row * self.columns + column) * self.columns + place];
        let has_room = buffer.has_room(shared.parts.row, now, vc, flits);
        if has_room {
            self.arbiters.bus_vc.grant_only(input, vc);
            M::grant_only(&mut self.arbiters.bus_column, input * self.vcs + vc, column);
        }
        has_room
    }

    /// Takes the first packet of `input` on `vc` for `column` out of its queue.
    fn take_waiting(&mut self, shared: &mut Shared, (input, vc): (usize, usize), column: usize) -> Slot {
        let queue = input * self.vcs + vc;
        let packets = &mut self.input_queues[queue * self.columns + column];
        let slot = shared.pools.states.unlink_from_ring(packets);
        if packets.is_empty() {
            self.input_columns[queue].remove(column);
            if self.input_columns[queue].is_empty() {
                self.input_vcs[input] &= !(1 << vc);
            }
        }
        slot
    }

    /// The packet in `slot`, of `input` on `vc` for `column`, goes over the bus.
    pub(super) fn take_bus<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        slot: Slot,
        (input, vc): (usize, usize),
        column: usize,
    ) {
        let (row, place) = self.place(input);
        let states = &mut cx.shared.pools.states;
        let is_more = self.has_waiting(input);
        let it = &mut self.inputs[input];
        let pipeline = &cx.shared.settings.pipeline;
        let state = &mut states[slot];
        let flits = state.flits;
        if cx.observer.follows_passages() {
            cx.observer.passed(&Passage {
                packet: state.name(),
                switch: self.number,
                input: PortId::new(input),
                vc: vc as u8,
                outputs: Outputs::One(PortId(state.port.into())),
                arrived: Cycle(state.at.0 - u64::from(state.ready_after)),
                ready: state.at,
                requested: state.at,
                free: Some(it.free_at),
                granted: now,
            });
        }
        state.at = now + u64::from(pipeline.row);
        state.ready_after = (state.at + u64::from(pipeline.across())).since(state.created) as u32;
        let (at, until) = (state.at, now + u64::from(flits));
        it.free_at = until;
        it.receiver.begin_leaving(flits, vc);
        let told_by = it.receiver.told_by(cx.shared, until);
        let tile = self.tile(row, column);
        let states = &mut cx.shared.pools.states;
        self.rows_in[tile * self.columns + place].write(states, cx.shared.parts.row, slot, vc);
        self.offering[tile].insert(place);
        cx.counters.events += 1;
        self.schedule(Step::Subswitch, tile, at);
        if is_more {
            self.schedule(Step::Row, input, until);
        }
        self.look_at_ack(input, told_by);
    }
}
