//! Outputs: from the column buffers to the link, and acknowledgements.

use super::{Sender, Step, Switch};
use crate::tiled::mask::Mask;
use crate::tiled::requests::Requests;
use crate::tiled::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;
use flitway_fabric::observer::{Departure, Observer};
use flitway_fabric::pool::Slot;
use flitway_wiring::PortId;

impl<M: Mask> Switch<M> {
    /// The link of `output` begins a packet in cycle `now`, if it is free and one can go.
    pub(super) fn go_out<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, output: usize) {
        if self.outputs[output].sender.as_ref().is_some_and(Sender::is_down) {
            return self.discard(cx, now, output);
        }
        if cx.shared.is_unreliable() && self.makes_up(cx, now, output) {
            return;
        }
        let it = &mut self.outputs[output];
        let Some(sender) = &it.sender else { unreachable!("packets leave by ports that are wired") };
        if it.waiting == 0 {
            return;
        }
        let slot = sender.slot_from(now);
        if slot > now {
            if slot < Cycle::NEVER {
                self.schedule(Step::Output, output, slot);
            }
            return;
        }
        let requests = loop {
            let requests = self.requests_of_link(cx.shared, now, output);
            if requests.wake > now {
                break requests;
            }
            // Acknowledgements only make room: before some is short they need not be heard.
            self.outputs[output].hear(cx.shared, now);
        };
        self.note_starved(output, requests.vcs == 0);
        if requests.vcs == 0 {
            if requests.wake < Cycle::NEVER {
                self.schedule(Step::Output, output, requests.wake);
            }
            return;
        }
        let vc = self.arbiters.output_vc.grant(output, requests.vcs);
        let row = requests.places[vc].grant(&mut self.arbiters.output_row, output * self.vcs + vc);
        self.take_link(cx, now, output, vc, row);
    }

    /// Whether the packets of `output` wait for an acknowledgement.
    #[inline]
    fn note_starved(&mut self, output: usize, is_starved: bool) {
        let was_starved = std::mem::replace(&mut self.outputs[output].is_starved, is_starved);
        self.starved = self.starved + u32::from(is_starved) - u32::from(was_starved);
    }

    /// Makes up for errors on the link of `output` in cycle `now`. Says whether packets that go out again are next, so that no
    /// others are.
    fn makes_up<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, output: usize) -> bool {
        let it = &mut self.outputs[output];
        it.hear(cx.shared, now);
        let Some(sender) = &mut it.sender else { return false };
        sender.expire(cx, now);
        let replays = sender.is_replaying();
        self.watch_timer(output);
        if !replays {
            return false;
        }
        let Some(sender) = &mut self.outputs[output].sender else { return false };
        let mut next = sender.slot_from(now);
        if next == now {
            let input = &mut self.inputs[output];
            input.settle(cx.shared, now);
            sender.repeat(cx, now, &mut input.receiver);
            next = sender.free_at;
            let beats_at = sender.beats_at(cx.shared);
            self.look_at_ack(output, beats_at);
        }
        if next < Cycle::NEVER {
            self.schedule(Step::Output, output, next);
        }
        true
    }

    /// Looks at `output` again when the timer of its link expires.
    fn watch_timer(&mut self, output: usize) {
        let Some(unreliable) = self.outputs[output].sender.as_mut().and_then(|it| it.unreliable()) else {
            return;
        };
        let deadline = unreliable.deadline();
        if deadline < Cycle::NEVER {
            let slot = (Step::Output as usize) << self.step_bits | output;
            self.agenda.remind(&mut unreliable.reminder, slot, deadline);
        }
    }

    /// Looks whether an acknowledgement goes alone in cycle `at`, if that is not never; before, if a look is due then.
    #[inline]
    pub(super) fn look_at_ack(&mut self, port: usize, at: Cycle) {
        if at < self.ack_looks[port] {
            self.ack_looks[port] = at;
            self.schedule(Step::Ack, port, at);
        }
    }

    /// What requests the link of `output` in cycle `now`: the first packets of column buffers that have room at the other end.
    #[inline(always)]
    pub(super) fn requests_of_link(&self, shared: &Shared, now: Cycle, output: usize) -> Requests<M> {
        let mut requests = Requests::none();
        let Some(sender) = &self.outputs[output].sender else { return requests };
        let is_down = sender.is_down();
        for row in self.leaving[output].places() {
            let buffer = &self.columns_in[output * self.rows + row];
            for vc in bits(buffer.waiting.into()) {
                let states = &shared.pools.states;
                let state = &states[states.head_of_ring(buffer.queues[vc])];
                // Others come to their turn by themselves.
                if state.at <= now {
                    if is_down || sender.takes(shared, vc, state.flits.into()) {
                        requests.add(vc, row);
                    } else {
                        requests.wake = sender.hears_at(&shared.pools);
                    }
                }
            }
        }
        if shared.settings.arbiter.is_by_age() { self.oldest_of(shared, output, requests) } else { requests }
    }

    /// The oldest of what requests the link of `output`.
    #[inline(never)]
    fn oldest_of(&self, shared: &Shared, output: usize, requests: Requests<M>) -> Requests<M> {
        let states = &shared.pools.states;
        requests.oldest(|vc, row| {
            let queue = self.columns_in[output * self.rows + row].queues[vc];
            states[states.head_of_ring(queue)].injected
        })
    }

    /// The first packet on `vc` from `row` leaves by `output`.
    #[inline(always)]
    fn take_link<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        output: usize,
        vc: usize,
        row: usize,
    ) {
        let number = output * self.rows + row;
        let parts = cx.shared.parts.column;
        let slot = self.columns_in[number].read(&mut cx.shared.pools.states, parts, now, vc);
        let flits = cx.shared.pools.states[slot].flits;
        let until = self.send(cx, now, output, slot, vc);
        self.has_left(output, row, flits, until);
    }

    /// A packet of so many flits has begun to leave the column buffer of `output` for `row`, and has left it in cycle `until`.
    #[inline]
    pub(super) fn has_left(&mut self, output: usize, row: usize, flits: u16, until: Cycle) {
        let column = self.place(output).1;
        let buffer = &mut self.columns_in[output * self.rows + row];
        buffer.free_at = until;
        let is_short = std::mem::take(&mut buffer.is_short);
        if buffer.waiting == 0 {
            self.leaving[output].remove(row);
        }
        self.inside -= u64::from(flits);
        let it = &mut self.outputs[output];
        it.waiting -= 1;
        if it.waiting > 0 {
            self.schedule(Step::Output, output, until);
        }
        if is_short {
            self.schedule(Step::Subswitch, self.tile(row, column), until);
        }
    }

    /// The link of `output` begins the packet in `slot`. Returns the cycle after its last slot.
    #[inline(always)]
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
        let input = &mut self.inputs[output];
        input.settle(cx.shared, now);
        let flight = sender.begin(cx, now, slot, vc, &mut input.receiver);
        let beats_at = sender.beats_at(cx.shared);
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
        self.look_at_ack(output, beats_at);
        if cx.shared.is_unreliable() {
            self.watch_timer(output);
        }
        flight.ends
    }

    /// The news of the receiver at `port` goes alone in cycle `now`, if it is due and the link is free.
    pub(super) fn tell<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, port: usize) {
        if self.ack_looks[port] <= now {
            self.ack_looks[port] = Cycle::NEVER;
        }
        let Some(sender) = &mut self.outputs[port].sender else { return };
        let input = &mut self.inputs[port];
        input.settle(cx.shared, now);
        let mut due = input.receiver.due(cx.shared).min(sender.beats_at(cx.shared));
        if due <= now {
            let slot = sender.slot_from(now);
            if slot > now {
                return self.look_at_ack(port, slot);
            }
            sender.tell_alone(cx, now, &mut input.receiver);
            // A heartbeat leaves news where it is.
            due = input.receiver.due(cx.shared).min(sender.beats_at(cx.shared));
        }
        // It was expected earlier if an acknowledgement went along with a packet since then.
        if input.receiver.leaving().0 > 0 {
            due = due.min(input.receiver.told_by(cx.shared, input.free_at));
        }
        self.look_at_ack(port, due);
    }
}
