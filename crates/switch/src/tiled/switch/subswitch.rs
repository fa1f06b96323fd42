//! Subswitches: from the row buffers of a tile over channels to the column buffers of the outputs in its column.

use super::{Leaving, Step, Switch, bits};
use crate::tiled::Cx;
use flitway_engine::Cycle;
use flitway_fabric::observer::{Grant, Observer};
use flitway_wiring::PortId;

/// What is offered to the channels of a tile.
struct Offers {
    /// By row of the output: columns of the inputs whose packets are offered.
    to: [u64; Switch::ROWS_MAX],
    /// By column of the input: the virtual channel that is offered.
    vcs: [u8; Switch::ROWS_MAX],
    /// Rows to which something is offered.
    rows: u64,
    /// When more may be, as far as known.
    wake: Cycle,
}

impl Switch {
    /// The most rows, and the most columns.
    pub(super) const ROWS_MAX: usize = 64;

    /// Packets cross the subswitch of `tile` in cycle `now`.
    pub(super) fn cross<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, tile: usize) {
        if self.offering[tile] == 0 {
            return;
        }
        let mut offers = self.offers(cx, now, tile);
        for row in bits(offers.rows) {
            let offered = offers.to[row];
            let place = self.arbiters.channel.grant(tile * self.rows + row, offered);
            let vc = usize::from(offers.vcs[place]);
            let buffer = tile * self.columns + place;
            self.arbiters.buffer_vc.grant_only(buffer, vc);
            let until = self.take_channel(cx, now, tile, place, vc, row);
            // Whoever was not chosen, or comes next, waits for the channel or the buffer.
            offers.wake = offers.wake.min(until);
        }
        if self.offering[tile] != 0 && offers.wake < Cycle::NEVER {
            self.schedule(Step::Subswitch, tile, offers.wake);
        }
    }

    fn offers<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, tile: usize) -> Offers {
        let mut offers =
            Offers { to: [0; Self::ROWS_MAX], vcs: [0; Self::ROWS_MAX], rows: 0, wake: Cycle::NEVER };
        for place in bits(self.offering[tile]) {
            let number = tile * self.columns + place;
            let until = self.rows_in[number].leaving.until;
            if until > now {
                offers.wake = offers.wake.min(until);
                continue;
            }
            let vcs = self.vcs_to_offer(cx, now, tile, number, &mut offers.wake);
            if vcs == 0 {
                continue;
            }
            let vc = self.arbiters.buffer_vc.choose(number, vcs);
            let head = self.row_queues[number * self.vcs + vc].head();
            let row = self.place(cx.shared.pools.states[head].port.into()).0;
            offers.to[row] |= 1 << place;
            offers.vcs[place] = vc as u8;
            offers.rows |= 1 << row;
        }
        offers
    }

    /// Virtual channels of row buffer `number`, of `tile`, of which a packet can be offered in cycle `now`; `wake` is lowered
    /// to when others may.
    fn vcs_to_offer<O>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        tile: usize,
        number: usize,
        wake: &mut Cycle,
    ) -> u64 {
        let from = self.place(tile).0;
        let mut vcs = 0;
        for vc in bits(self.rows_in[number].waiting.into()) {
            let state = &cx.shared.pools.states[self.row_queues[number * self.vcs + vc].head()];
            // It comes to its turn by itself.
            if state.at > now {
                continue;
            }
            let output = usize::from(state.port);
            let channel = self.channels[tile * self.rows + self.place(output).0];
            if channel > now {
                *wake = (*wake).min(channel);
                continue;
            }
            let buffer = &mut self.columns_in[output * self.rows + from];
            if buffer.has_room(cx.shared.parts.column, now, state.out_vc.into(), state.flits.into()) {
                vcs |= 1 << vc;
            } else {
                *wake = (*wake).min(buffer.room_at());
            }
        }
        vcs
    }

    /// The first packet on `vc` of the row buffer in `place` of `tile` crosses to `row`. Returns when the channel is free
    /// again.
    fn take_channel<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        tile: usize,
        place: usize,
        vc: usize,
        row: usize,
    ) -> Cycle {
        let (from, _) = self.place(tile);
        let (parts, number) = (cx.shared.parts, tile * self.columns + place);
        let queue = &mut self.row_queues[number * self.vcs + vc];
        let states = &mut cx.shared.pools.states;
        let slot = states.unlink(queue);
        let state = &mut states[slot];
        let (flits, output, out_vc) = (state.flits, usize::from(state.port), usize::from(state.out_vc));
        state.at = now + u64::from(cx.shared.settings.pipeline.across());
        let (at, until) = (state.at, now + u64::from(flits));
        let buffer = &mut self.rows_in[number];
        buffer.settle(parts.row, now);
        buffer.leaving = Leaving { until, flits, vc: vc as u8 };
        if queue.is_empty() {
            buffer.waiting &= !(1 << vc);
            if buffer.waiting == 0 {
                self.offering[tile] &= !(1 << place);
            }
        }
        self.channels[tile * self.rows + row] = until;
        let number = output * self.rows + from;
        states.append(&mut self.column_queues[number * self.vcs + out_vc], slot);
        let buffer = &mut self.columns_in[number];
        buffer.room.take(parts.column, out_vc, flits.into());
        buffer.waiting |= 1 << out_vc;
        self.outputs[output].waiting += 1;
        self.at_outputs += 1;
        let input = self.tile(from, place);
        cx.counters.events += 1;
        cx.observer.granted(&Grant {
            cycle: now,
            switch: self.number,
            output: PortId::new(output),
            vc: vc as u8,
            input: PortId::new(input),
        });
        self.schedule(Step::Output, output, at);
        if self.inputs[input].waiting > 0 {
            self.schedule(Step::Row, input, until);
        }
        until
    }
}
