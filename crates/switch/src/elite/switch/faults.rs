//! Links that go down, and packets that have nowhere to go. The paragraph *Faults* of the normative text.

use super::Switch;
use crate::elite::Cx;
use crate::elite::sender::Sender;
use flitway_engine::Cycle;
use flitway_fabric::observer::Observer;
use flitway_wiring::PortId;
use flitway_wiring::routing::{Candidate, Header, Hop};

/// When a link of `outputs` goes down or comes up next, after cycle `now`.
pub(super) fn next_change(outputs: &[Option<Sender>], now: Option<Cycle>) -> Cycle {
    outputs.iter().flatten().map(|output| output.next_change(now)).fold(Cycle::NEVER, Cycle::min)
}

impl Switch {
    /// Links have gone down or come up in cycle `now`: what waits looks again.
    #[cold]
    pub(super) fn note_faults<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        for output in self.outputs.iter().flatten() {
            output.tell_change(cx, now);
        }
        self.has_freed = true;
        self.fault_due = next_change(&self.outputs, Some(now));
    }

    /// Whether the link of `port` is down in cycle `now`.
    pub(super) fn is_down(&self, port: PortId, now: Cycle) -> bool {
        self.outputs[port.index()].as_ref().is_none_or(|output| output.is_down(now))
    }

    /// The drain, for a packet with this header that has no output left, if a virtual channel of it is free.
    #[cold]
    pub(super) fn refuse(&self, header: Header) -> Option<(Candidate, usize)> {
        let drain = self.outputs.get(self.ports as usize)?.as_ref()?;
        let vc = drain.lanes.iter().position(|lane| lane.owner.is_none())?;
        Some((Candidate { hop: Hop { port: PortId(self.ports), class: 0 }, header }, vc))
    }
}
