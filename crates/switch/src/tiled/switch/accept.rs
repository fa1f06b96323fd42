//! A packet is accepted: it takes an output, and the row bus of its input, or waits for it.

use super::{Output, Switch};
use crate::tiled::mask::Mask;
use crate::tiled::settings::LaneOut;
use crate::tiled::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::observer::{Observer, PacketName};
use flitway_wiring::PortId;
use flitway_wiring::routing::{Arrival, Candidate, Header, Routing, Selection, select};
use std::ops::Range;

impl<M: Mask> Switch<M> {
    /// Accepts the packet that is due at `input` in cycle `now`.
    pub(super) fn accept<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, input: usize) {
        let shared = &mut *cx.shared;
        let pools = &mut shared.pools;
        let Some(state) = pools.states.first(&self.inputs[input].coming).filter(|it| it.at <= now) else {
            debug_assert!(false, "a packet is accepted when it is due");
            return;
        };
        let (header, vc, flits) = (state.header, usize::from(state.vc), u32::from(state.flits));
        let name = state.name();
        let stamp = state.stamp();
        let it = &mut self.inputs[input];
        let slot = pools.states.unlink(&mut it.coming);
        if shared.is_unreliable() && !self.outputs[input].hears(shared, now) {
            shared.pools.states.free(slot);
            return;
        }
        let it = &mut self.inputs[input];
        let is_accepted = it.receiver.receive(shared, now, stamp);
        let due = it.receiver.due(shared);
        self.look_at_ack(input, due.max(now));
        if !is_accepted {
            cx.counters.link.dropped += u64::from(!stamp.is_corrupt);
            shared.pools.states.free(slot);
            return;
        }
        if shared.is_unreliable() {
            self.outputs[input].note_accepted(flits);
        }
        let (candidate, out_vc) = self.take_output(shared, now, input, (header, vc, flits), name);
        if self.output_at(candidate.hop.port).is_none() {
            return self.lose_without_route(cx, now, input, slot);
        }
        let output = candidate.hop.port.index();
        self.outputs[output].load[out_vc] += flits;
        self.note_load(shared, now, output);
        self.inside += u64::from(flits);
        let state = &mut shared.pools.states[slot];
        (state.header, state.port, state.out_vc) = (candidate.header, output as u16, out_vc as u8);
        // No other input accepts anything that its row bus depends on, so it need not wait for them.
        let column = self.place(output).1;
        if !self.has_waiting(input) && self.has_bus(shared, now, (input, vc), column, flits) {
            return self.take_bus(cx, now, slot, (input, vc), column);
        }
        let queue = input * self.vcs + vc;
        shared.pools.states.link_to_ring(&mut self.input_queues[queue * self.columns + column], slot);
        self.input_columns[queue].insert(column);
        self.input_vcs[input] |= 1 << vc;
        self.go_over_row(cx, now, input);
    }

    /// The output and virtual channel that a packet of so many flits takes which has come by `input` on `vc`.
    fn take_output(
        &mut self,
        shared: &mut Shared,
        now: Cycle,
        input: usize,
        (header, vc, flits): (Header, usize, u32),
        name: PacketName,
    ) -> (Candidate, usize) {
        let arrival = Arrival { port: PortId::new(input), class: (vc / shared.lanes) as u8 };
        let lane = vc % shared.lanes;
        let candidate = match shared.settings.selection {
            Selection::LeastLoaded if shared.routings.at(now).is_adaptive() => {
                self.adaptive(shared, now, (arrival, header), (lane, flits))
            }
            Selection::LeastLoaded => self.least_loaded(shared, now, arrival, header),
            Selection::Hashed => {
                let PacketName { source, .. } = name;
                let chosen = |count| select::of_flow(self.here, source, header.destination(), count);
                self.drawn(shared.routings.at(now), arrival, header, chosen)
            }
            Selection::Random => {
                let PacketName { source, injected } = name;
                let chosen = |count| select::of_packet(self.here, source, injected.0, count);
                self.drawn(shared.routings.at(now), arrival, header, chosen)
            }
            Selection::First => shared.routings.at(now).first(self.here, arrival, header),
        };
        let vc = self.output_at(candidate.hop.port).map(|output| output.vc_out(shared, now, candidate, lane));
        (candidate, vc.unwrap_or(0))
    }

    /// The output at `port`, if it is wired: tables may name one that is not for what has nowhere to go.
    #[inline]
    fn output_at(&mut self, port: PortId) -> Option<&mut Output> {
        self.outputs.get_mut(port.index()).filter(|output| output.sender.is_some())
    }

    /// The one whose number `chosen` says of so many escapes whose link is active; of all escapes, if none is.
    fn drawn(
        &self,
        routing: &Routing,
        arrival: Arrival,
        header: Header,
        chosen: impl Fn(usize) -> usize,
    ) -> Candidate {
        let can_be_taken = |it: &Candidate, must_be_active: bool| {
            let sender = self.outputs.get(it.hop.port.index()).and_then(|output| output.sender.as_ref());
            sender.is_some_and(|sender| !must_be_active || sender.is_active())
                && routing.is_escape(self.here, it.hop)
        };
        for must_be_active in [true, false] {
            let mut count = 0;
            routing.candidates(self.here, arrival, header, |it| {
                count += usize::from(can_be_taken(&it, must_be_active));
            });
            let mut left = if count == 0 { continue } else { chosen(count) };
            let mut found = None;
            routing.candidates(self.here, arrival, header, |it| {
                if can_be_taken(&it, must_be_active) {
                    found = found.or((left == 0).then_some(it));
                    left = left.wrapping_sub(1);
                }
            });
            if let Some(found) = found {
                return found;
            }
        }
        // None is wired: it has nowhere to go.
        routing.first(self.here, arrival, header)
    }

    /// The candidate whose output has the least load, the first of equals.
    fn least_loaded(
        &mut self,
        shared: &mut Shared,
        now: Cycle,
        arrival: Arrival,
        header: Header,
    ) -> Candidate {
        // A clone of handles: candidates are told while loads are heard.
        let routing = shared.routings.at(now).clone();
        // Links that carry nothing come last.
        let mut best: Option<((bool, u32), Candidate)> = None;
        routing.candidates(self.here, arrival, header, |candidate| {
            let Some(output) = self.output_at(candidate.hop.port) else {
                best = best.or(Some(((true, 0), candidate)));
                return;
            };
            output.hear(shared, now);
            let is_idle = output.sender.as_ref().is_some_and(|sender| !sender.is_active());
            let load = (is_idle, output.load.iter().sum());
            if best.is_none_or(|(least, _)| load < least) {
                best = Some((load, candidate));
            }
        });
        best.expect("a packet has somewhere to go").1
    }

    /// The same where loads count differently, and where some candidates are no escapes: those go first, as far as the room of
    /// the packet, which is on `lane`, is certain.
    fn adaptive(
        &mut self,
        shared: &mut Shared,
        now: Cycle,
        (arrival, header): (Arrival, Header),
        (lane, flits): (usize, u32),
    ) -> Candidate {
        let routing = shared.routings.at(now).clone();
        let mut best: Option<((bool, bool, u32), Candidate)> = None;
        routing.candidates(self.here, arrival, header, |candidate| {
            let told = self.told_load(now, &routing, candidate);
            let output = &mut self.outputs[candidate.hop.port.index()];
            output.hear(shared, now);
            let vc = output.vc_out(shared, now, candidate, lane);
            let is_escape = routing.is_escape(self.here, candidate.hop);
            if !is_escape && !shared.parts.input.has_certainly(output.load[vc] + flits) {
                return;
            }
            let is_idle = output.sender.as_ref().is_some_and(|sender| !sender.is_active());
            let cost =
                (is_idle, is_escape, (output.load.iter().sum::<u32>() + told) * routing.weight(candidate));
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, candidate));
            }
        });
        best.expect("a packet has an escape").1
    }
}

impl Output {
    /// The virtual channel by which a packet on `lane` leaves that takes `candidate`, which is here. Acknowledgements are heard
    /// up to cycle `now` where loads count.
    fn vc_out(&mut self, shared: &mut Shared, now: Cycle, candidate: Candidate, lane: usize) -> usize {
        let first = usize::from(candidate.hop.class) * shared.lanes;
        let lane = match shared.settings.lane {
            LaneOut::Kept => lane,
            LaneOut::LeastLoaded => {
                self.hear(shared, now);
                let Range { start, end } = shared.settings.reply_lanes.beside(lane, shared.lanes);
                let lanes = (lane..end).chain(start..lane);
                lanes.min_by_key(|lane| self.load[first + lane]).unwrap_or(lane)
            }
        };
        first + lane
    }

    /// Hears the acknowledgements that are heard in cycle `now` or before.
    #[inline]
    pub(super) fn hear(&mut self, shared: &mut Shared, now: Cycle) {
        if let Some(sender) = &mut self.sender {
            sender.hear(shared, now, |vc, flits| self.load[vc] -= flits);
        }
    }
}
