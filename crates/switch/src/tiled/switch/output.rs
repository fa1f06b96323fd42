//! Outputs: from the column buffers to the link, and acknowledgements.

use super::{Leaving, Step, Switch, bits};
use crate::tiled::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::observer::{Departure, Observer};
use flitway_fabric::pool::Slot;
use flitway_wiring::PortId;

impl Switch {
    /// The link of `output` begins a packet in cycle `now`, if it is free and one can go.
    pub(super) fn go_out<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, output: usize) {
        let it = &mut self.outputs[output];
        let Some(sender) = &it.sender else { unreachable!("packets leave by ports that are wired") };
        if it.waiting == 0 {
            return;
        }
        let slot = sender.pace.slot_from(now.max(sender.free_at));
        if slot > now {
            if slot < Cycle::NEVER {
                self.schedule(Step::Output, output, slot);
            }
            return;
        }
        it.hear(cx.shared, now);
        let vcs = self.vcs_to_send(cx.shared, now, output);
        if vcs == 0 {
            let hears = it_hears(&self.outputs[output], cx.shared);
            if hears < Cycle::NEVER {
                self.schedule(Step::Output, output, hears);
            }
            return;
        }
        let vc = self.arbiters.output_vc.grant(output, vcs);
        let rows = self.rows_to_send(cx.shared, now, output, vc);
        let row = self.arbiters.output_row.grant(output * self.vcs + vc, rows);
        self.take_link(cx, now, output, vc, row);
    }

    /// Virtual channels of which a packet for `output` requests its link in cycle `now`.
    fn vcs_to_send(&self, shared: &Shared, now: Cycle, output: usize) -> u64 {
        let buffers = &self.columns_in[output * self.rows..][..self.rows];
        let waiting = buffers.iter().fold(0, |waiting, buffer| waiting | u64::from(buffer.waiting));
        bits(waiting)
            .filter(|&vc| self.rows_to_send(shared, now, output, vc) != 0)
            .fold(0, |vcs, vc| vcs | 1 << vc)
    }

    /// The same of one virtual channel: rows of the column buffers.
    fn rows_to_send(&self, shared: &Shared, now: Cycle, output: usize, vc: usize) -> u64 {
        let Some(sender) = &self.outputs[output].sender else { return 0 };
        let mut rows = 0;
        for row in 0..self.rows {
            let number = output * self.rows + row;
            if self.columns_in[number].waiting >> vc & 1 == 0 {
                continue;
            }
            let state = &shared.pools.states[self.column_queues[number * self.vcs + vc].head()];
            let can_go = state.at <= now && sender.takes(shared, vc, state.flits.into());
            rows |= u64::from(can_go) << row;
        }
        rows
    }

    /// The first packet on `vc` from `row` leaves by `output`.
    fn take_link<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        output: usize,
        vc: usize,
        row: usize,
    ) {
        let column = self.place(output).1;
        let number = output * self.rows + row;
        let queue = &mut self.column_queues[number * self.vcs + vc];
        let slot = cx.shared.pools.states.unlink(queue);
        let is_last = queue.is_empty();
        let flits = cx.shared.pools.states[slot].flits;
        let until = self.send(cx, now, output, slot, vc);
        let buffer = &mut self.columns_in[number];
        buffer.settle(cx.shared.parts.column, now);
        buffer.leaving = Leaving { until, flits, vc: vc as u8 };
        if is_last {
            buffer.waiting &= !(1 << vc);
        }
        self.inside -= u64::from(flits);
        self.at_outputs -= 1;
        let it = &mut self.outputs[output];
        it.waiting -= 1;
        if it.waiting > 0 {
            self.schedule(Step::Output, output, until);
        }
        let tile = self.tile(row, column);
        if self.offering[tile] != 0 {
            self.schedule(Step::Subswitch, tile, until);
        }
    }

    /// The link of `output` begins the packet in `slot`. Returns the cycle after its last slot.
    fn send<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        output: usize,
        slot: Slot,
        vc: usize,
    ) -> Cycle {
        let Some(sender) = &mut self.outputs[output].sender else { unreachable!("it has a link") };
        let free = sender.free_at;
        let state = &mut cx.shared.pools.states[slot];
        state.hops += 1;
        let (packet, flits) = (state.name(), state.flits);
        let ready = state.created + u64::from(state.ready_after);
        cx.counters.events += 1;
        cx.counters.packet_hops += 1;
        cx.counters.flit_hops += u64::from(flits);
        let flight = sender.begin(cx, now, slot, vc);
        cx.observer.departed(&Departure {
            packet,
            component: self.number,
            port: PortId::new(output),
            vc: vc as u8,
            flits,
            ready,
            free,
            chosen: now,
            arrives: flight.arrives,
        });
        sender.tell_along(cx, &mut self.inputs[output].receiver);
        flight.ends
    }

    /// The news of the receiver at `port` goes alone in cycle `now`, if it is due and the link is free.
    pub(super) fn tell<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, port: usize) {
        let Some(sender) = &mut self.outputs[port].sender else { return };
        let receiver = &mut self.inputs[port].receiver;
        if receiver.due(cx.shared) > now {
            return;
        }
        let slot = sender.pace.slot_from(now.max(sender.free_at));
        if slot == now {
            sender.tell_alone(cx, now, receiver);
        } else if slot < Cycle::NEVER {
            self.schedule(Step::Ack, port, slot);
        }
    }
}

/// When the sender of `output` hears an acknowledgement next.
fn it_hears(output: &super::Output, shared: &Shared) -> Cycle {
    output.sender.as_ref().map_or(Cycle::NEVER, |sender| sender.hears_at(&shared.pools))
}
