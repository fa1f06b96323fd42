//! Subswitches: from the row buffers of a tile over channels to the column buffers of the outputs in its column.

use super::{Step, Switch};
use crate::tiled::mask::Mask;
use crate::tiled::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Grant, Observer};
use flitway_wiring::PortId;

/// What is offered to the channels of a tile in one cycle. Kept between cycles for its memory, with nothing in it.
#[derive(Debug)]
pub(super) struct Offers<M> {
    /// By row of the output: columns of the inputs whose packets are offered.
    to: Box<[M]>,
    /// By column of the input: the virtual channel that is offered.
    vcs: Box<[u8]>,
    /// Columns of the inputs that could offer another one as well.
    several: M,
}

impl<M: Mask> Offers<M> {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        Offers { to: vec![M::NONE; rows].into(), vcs: vec![0; columns].into(), several: M::NONE }
    }
}

impl<M: Mask> Switch<M> {
    /// Packets cross the subswitch of `tile` in cycle `now`.
    pub(super) fn cross<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, tile: usize) {
        if self.offering[tile].is_empty() {
            return;
        }
        let (rows, mut wake) = self.offer(cx.shared, now, tile);
        let several = std::mem::replace(&mut self.offers.several, M::NONE);
        for row in rows.places() {
            let mut offered = std::mem::replace(&mut self.offers.to[row], M::NONE);
            let eldest = self.of_age(cx.shared, tile, offered);
            let place = eldest.grant(&mut self.arbiters.channel, tile * self.rows + row);
            let vc = usize::from(self.offers.vcs[place]);
            self.arbiters.buffer_vc.grant_only(tile * self.columns + place, vc);
            // Whoever was not chosen, or comes next, waits for the channel or the buffer; or it offers another one in the next
            // cycle.
            offered.remove(place);
            if offered.meets(several) {
                wake = now + 1;
            }
            let until = self.take_channel(cx, now, tile, place, vc, row);
            if !offered.is_empty() || self.offering[tile].has(place) {
                wake = wake.min(until);
            }
        }
        if wake < Cycle::NEVER {
            self.schedule(Step::Subswitch, tile, wake);
        }
    }

    /// Each row buffer of `tile` that can offers a packet in cycle `now`. Returns the rows to which there is an offer, and when
    /// others may offer one, as far as known.
    #[inline(always)]
    fn offer(&mut self, shared: &Shared, now: Cycle, tile: usize) -> (M, Cycle) {
        let (mut rows, mut wake) = (M::NONE, Cycle::NEVER);
        for place in self.offering[tile].places() {
            let number = tile * self.columns + place;
            let until = self.rows_in[number].free_at;
            if until > now {
                wake = wake.min(until);
                continue;
            }
            let (vcs, mut row) = self.vcs_to_offer(shared, now, tile, number, &mut wake);
            if vcs == 0 {
                continue;
            }
            let mut vc = vcs.trailing_zeros() as usize;
            if !vcs.is_power_of_two() {
                vc = self.arbiters.buffer_vc.choose(number, self.vcs_of_age(shared, number, vcs));
                let head = shared.pools.states.head_of_ring(self.rows_in[number].queues[vc]);
                row = self.place(shared.pools.states[head].port.into()).0;
                self.offers.several.insert(place);
            }
            self.offers.to[row].insert(place);
            self.offers.vcs[place] = vc as u8;
            rows.insert(row);
        }
        (rows, wake)
    }

    /// Virtual channels of row buffer `number`, of `tile`, of which a packet can be offered in cycle `now`, and the row that
    /// the last of them goes to; `wake` is lowered to when others may.
    #[inline(always)]
    fn vcs_to_offer(
        &mut self,
        shared: &Shared,
        now: Cycle,
        tile: usize,
        number: usize,
        wake: &mut Cycle,
    ) -> (u64, usize) {
        let from = self.place(tile).0;
        let (mut vcs, mut to) = (0, 0);
        for vc in bits(self.rows_in[number].waiting.into()) {
            let states = &shared.pools.states;
            let state = &states[states.head_of_ring(self.rows_in[number].queues[vc])];
            // It comes to its turn by itself.
            if state.at > now {
                continue;
            }
            let output = usize::from(state.port);
            let row = self.place(output).0;
            let channel = self.channels[tile * self.rows + row];
            if channel > now {
                *wake = (*wake).min(channel);
                continue;
            }
            let buffer = &mut self.columns_in[output * self.rows + from];
            if buffer.has_room(shared.parts.column, now, state.out_vc.into(), state.flits.into()) {
                (vcs, to) = (vcs | 1 << vc, row);
            } else {
                *wake = (*wake).min(buffer.room_at());
            }
        }
        (vcs, to)
    }

    /// Those of the virtual channels `vcs` of row buffer `number` among which its arbiter chooses.
    #[inline]
    fn vcs_of_age(&self, shared: &Shared, number: usize, vcs: u64) -> u64 {
        if !shared.settings.arbiter.is_by_age() {
            return vcs;
        }
        let states = &shared.pools.states;
        vcs.oldest(|vc| states[states.head_of_ring(self.rows_in[number].queues[vc])].injected)
    }

    /// Those of the places that are `offered` to a channel of `tile` among which its arbiter chooses.
    #[inline]
    fn of_age(&self, shared: &Shared, tile: usize, offered: M) -> M {
        if !shared.settings.arbiter.is_by_age() {
            return offered;
        }
        let states = &shared.pools.states;
        offered.oldest(|place| {
            let vc = usize::from(self.offers.vcs[place]);
            states[states.head_of_ring(self.rows_in[tile * self.columns + place].queues[vc])].injected
        })
    }

    /// The first packet on `vc` of the row buffer in `place` of `tile` crosses to `row`. Returns when the channel is free
    /// again.
    #[inline(always)]
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
        let states = &mut cx.shared.pools.states;
        let buffer = &mut self.rows_in[number];
        let slot = buffer.read(states, parts.row, now, vc);
        let state = &mut states[slot];
        let (flits, output, out_vc) = (state.flits, usize::from(state.port), usize::from(state.out_vc));
        state.at = now + u64::from(cx.shared.settings.pipeline.across());
        let (at, until) = (state.at, now + u64::from(flits));
        buffer.free_at = until;
        let is_short = std::mem::take(&mut buffer.is_short);
        if buffer.waiting == 0 {
            self.offering[tile].remove(place);
        }
        self.channels[tile * self.rows + row] = until;
        self.columns_in[output * self.rows + from].write(states, parts.column, slot, out_vc);
        self.leaving[output].insert(from);
        let it = &mut self.outputs[output];
        it.waiting += 1;
        // Before its link is free it need not be looked at.
        let looks_at = it.sender.as_ref().map_or(at, |sender| at.max(sender.free_at));
        let input = self.tile(from, place);
        cx.counters.events += 1;
        cx.observer.granted(&Grant {
            cycle: now,
            switch: self.number,
            output: PortId::new(output),
            vc: vc as u8,
            input: PortId::new(input),
        });
        self.schedule(Step::Output, output, looks_at);
        if is_short {
            self.schedule(Step::Row, input, until);
        }
        until
    }
}
