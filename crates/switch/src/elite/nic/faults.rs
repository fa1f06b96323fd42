//! A NIC port whose link goes down, and packets that are given up. The paragraph *Faults* of the normative text.

use super::Port;
use crate::elite::Cx;
use crate::elite::packet_state::PacketState;
use flitway_engine::Cycle;
use flitway_fabric::LossCause;
use flitway_fabric::observer::Observer;

impl Port {
    /// Its link has gone down or come up in cycle `now`, or a stall matters.
    #[cold]
    pub(super) fn note_faults<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        self.sender.tell_change(cx, now);
        self.note_stalls(cx.shared, now);
        self.fault_due = self.sender.next_change(Some(now)).min(self.stalls.next(Some(now)));
    }

    /// Packets at the front of the queue that would be sent in cycle `now` are refused while the link is down, and lost if they
    /// have no way.
    #[cold]
    pub(super) fn refuse<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        while let Some(state) = self.source.front().filter(|state| state.not_before <= now) {
            if self.free_vc(cx.shared, state).is_none() {
                return;
            }
            let has_way = has_way(cx, now, state);
            if has_way && !self.sender.is_down(now) {
                return;
            }
            let Some(state) = self.source.pop_front() else { return };
            if has_way {
                self.put_back(cx, now, state, LossCause::LinkDown);
            } else {
                self.lose(cx, now, &state, LossCause::NoRoute);
            }
        }
    }

    /// The packet `state` has been refused once more: it is the first to be sent, later, or lost for `cause`.
    pub(super) fn put_back<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        mut state: Box<PacketState>,
        cause: LossCause,
    ) {
        let answer = cx.shared.settings.answer.expect("what is refused is answered");
        state.not_before = now + answer.repeats().wait(state.refusals);
        state.refusals += 1;
        if state.refusals >= answer.attempts {
            self.lose(cx, now, &state, cause);
        } else {
            self.source.push_front(state);
        }
    }

    fn lose<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, state: &PacketState, cause: LossCause) {
        let losses = state.losses(now, self.sender.place.component, cause);
        losses.iter().for_each(|loss| cx.counters.lose(loss, cx.observer));
        let is_range = state.range.is_some();
        if let Some(copies) = self.copies.as_mut().filter(|_| is_range || state.was_delivered) {
            copies.give_up(losses.len());
        }
        if is_range {
            self.answered.push_back((now + 1, state.flow(), false));
        }
        if let Some(bounded) = self.bounded.as_mut().filter(|_| !state.was_sent) {
            bounded.leave(now + 1, state.flow());
        }
    }
}

/// Whether a packet that begins in cycle `now` has a way from its first switch on.
fn has_way<O>(cx: &Cx<'_, O>, now: Cycle, state: &PacketState) -> bool {
    let routing = cx.shared.routings.at(now);
    let (here, arrival) = routing.start(state.source);
    let first = routing.first(here, arrival, state.header);
    routing.topology().wire(here, first.hop.port).is_some()
}
