//! Row buses: from an input buffer to the row buffer in the column of the output.

use super::{Leaving, Step, Switch, bits};
use crate::tiled::Cx;
use flitway_engine::Cycle;
use flitway_fabric::observer::{Observer, Passage};
use flitway_wiring::PortId;

impl Switch {
    /// The row bus of `input` takes a packet in cycle `now`, if it is free and one has room.
    pub(super) fn go_over_row<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, input: usize) {
        let it = &mut self.inputs[input];
        if it.leaving.until > now {
            return;
        }
        let free = it.leaving.until;
        if it.leaving.flits > 0 {
            let Leaving { flits, vc, .. } = std::mem::take(&mut it.leaving);
            it.leaving.until = free;
            let due = it.receiver.give_back(cx.shared, now, vc.into(), flits.into());
            if let Some(due) = due {
                self.schedule(Step::Ack, input, due);
            }
        }
        if self.inputs[input].waiting == 0 {
            return;
        }
        let (vcs, wake) = self.requests_of_row(cx, now, input);
        if vcs == 0 {
            if wake < Cycle::NEVER {
                self.schedule(Step::Row, input, wake);
            }
            return;
        }
        let vc = self.arbiters.bus_vc.grant(input, vcs);
        let columns = self.columns_with_room(cx, now, input, vc).0;
        let column = self.arbiters.bus_column.grant(input * self.vcs + vc, columns);
        self.take_bus(cx, now, free, input, vc, column);
    }

    /// Virtual channels of `input` of which a packet requests the row bus in cycle `now`, and when more may, as far as known.
    fn requests_of_row<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, input: usize) -> (u64, Cycle) {
        let (mut vcs, mut wake) = (0, Cycle::NEVER);
        for vc in 0..self.vcs {
            if self.inputs[input].columns[vc] != 0 {
                let (columns, next) = self.columns_with_room(cx, now, input, vc);
                vcs |= u64::from(columns != 0) << vc;
                wake = wake.min(next);
            }
        }
        (vcs, wake)
    }

    /// Columns of which the first packet on `vc` at `input` has room in its row buffer, and when others may have, as far as
    /// known.
    fn columns_with_room<O>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        input: usize,
        vc: usize,
    ) -> (u64, Cycle) {
        let (row, place) = self.place(input);
        let (mut columns, mut wake) = (0, Cycle::NEVER);
        for column in bits(self.inputs[input].columns[vc]) {
            let queue = (input * self.vcs + vc) * self.columns + column;
            let head = self.input_queues[queue].head();
            let flits = u32::from(cx.shared.pools.states[head].flits);
            let buffer = self.tile(row, column) * self.columns + place;
            let buffer = &mut self.rows_in[buffer];
            if buffer.has_room(cx.shared.parts.row, now, vc, flits) {
                columns |= 1 << column;
            } else {
                wake = wake.min(buffer.room_at());
            }
        }
        (columns, wake)
    }

    /// The first packet of `input` on `vc` for `column` goes over the bus, which was free since cycle `free`.
    fn take_bus<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        free: Cycle,
        input: usize,
        vc: usize,
        column: usize,
    ) {
        let (row, place) = self.place(input);
        let queue = &mut self.input_queues[(input * self.vcs + vc) * self.columns + column];
        let states = &mut cx.shared.pools.states;
        let slot = states.unlink(queue);
        let it = &mut self.inputs[input];
        if queue.is_empty() {
            it.columns[vc] &= !(1 << column);
        }
        it.waiting -= 1;
        let pipeline = &cx.shared.settings.pipeline;
        let state = &mut states[slot];
        let flits = state.flits;
        if cx.observer.follows_passages() {
            cx.observer.passed(&Passage {
                packet: state.name(),
                switch: self.number,
                input: PortId::new(input),
                vc: vc as u8,
                outputs: 1 << state.port,
                arrived: Cycle(state.at.0 - u64::from(state.ready_after)),
                ready: state.at,
                requested: state.at,
                free: Some(free),
                granted: now,
            });
        }
        state.at = now + u64::from(pipeline.row);
        state.ready_after = (state.at + u64::from(pipeline.across())).since(state.created) as u32;
        let at = state.at;
        it.leaving = Leaving { until: now + u64::from(flits), flits, vc: vc as u8 };
        let until = it.leaving.until;
        let tile = self.tile(row, column);
        let buffer = tile * self.columns + place;
        states.append(&mut self.row_queues[buffer * self.vcs + vc], slot);
        let buffer = &mut self.rows_in[buffer];
        buffer.room.take(cx.shared.parts.row, vc, flits.into());
        buffer.waiting |= 1 << vc;
        self.offering[tile] |= 1 << place;
        cx.counters.events += 1;
        self.schedule(Step::Subswitch, tile, at);
        self.schedule(Step::Row, input, until);
    }
}
