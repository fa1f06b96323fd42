//! The choice between the two ways that a packet holds: see [`hpp`](crate::hpp), *Two ways*.
//!
//! Nothing that happens after step 3 of a cycle and before step 4 changes a load, so one slot of the agenda stands for the
//! choice of all inputs. Credits are known as of the cycle, because every advert is told where ways are chosen: see
//! [`rules::slack`](crate::hpp::rules::slack).

use super::parts::Parts;
use crate::hpp::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::observer::Observer;
use flitway_wiring::routing::{Arrival, Candidate};
use flitway_wiring::{NodeId, PortId, SwitchId};

/// What waits for its choice in a switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Chooser {
    /// Inputs whose first packet has not chosen; it does so in the cycle from which it requests.
    inputs: Vec<u16>,
}

impl Chooser {
    /// That of a switch, where switches choose ways.
    pub(super) fn new(shared: &Shared) -> Option<Box<Self>> {
        shared.routing.chooses_ways().then(Box::default)
    }
}

impl Parts<'_> {
    /// The first packet of FIFO `input`, whose route is open, chooses in the first cycle in which it can request.
    #[cold]
    pub(super) fn await_choice(&mut self, shared: &Shared, input: usize) {
        let fifo = &mut self.inputs[input];
        let first = &shared.pools.states[fifo.waiting.head()];
        fifo.requests_from = fifo.receiver.end().max(first.at + shared.timing.felt_by_switch());
        let chooser = self.chooser.as_mut().expect("routes are open only where switches choose ways");
        chooser.inputs.push(input as u16);
        self.agenda.schedule(self.links.len(), fifo.requests_from);
    }

    /// Packets choose whose cycle is `now`, and request.
    #[cold]
    pub(super) fn choose_ways<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        let Some(chooser) = self.chooser.as_mut() else { return };
        let inputs = &*self.inputs;
        let due = |input: &mut u16| inputs[usize::from(*input)].requests_from <= now;
        let due: Vec<u16> = chooser.inputs.extract_if(.., due).collect();
        for input in due.into_iter().map(usize::from) {
            debug_assert_eq!(self.inputs[input].requests_from, now, "it chooses when it first can");
            self.choose_way(cx.shared, input, now);
            self.request::<true>(cx.shared, input);
        }
    }

    /// The first packet of FIFO `input` chooses its way in cycle `now`.
    fn choose_way(&mut self, shared: &mut Shared, input: usize, now: Cycle) {
        let fifo = &self.inputs[input];
        let (slot, vc) = (fifo.waiting.head(), usize::from(fifo.vc));
        let arrival = Arrival { port: PortId(fifo.port.into()), class: (vc / shared.timing.lanes) as u8 };
        let state = &shared.pools.states[slot];
        let routing = &shared.routing;
        let here = SwitchId(self.number % routing.topology().switches());
        let mut best: Option<(u32, Candidate)> = None;
        routing.ways(state.route, here, arrival, NodeId(state.to), |candidate| {
            let load = self.load(shared, candidate.hop.port, now) * routing.weight(candidate);
            if best.is_none_or(|(least, _)| load < least) {
                best = Some((load, candidate));
            }
        });
        let (_, way) = best.expect("an open route has two ways");
        shared.pools.states[slot].take_way(&shared.routing, self.number, way);
    }

    /// Credit units of all virtual channels of the link of `port` that have been taken and are not known to have been given
    /// back.
    fn load(&self, shared: &Shared, port: PortId, now: Cycle) -> u32 {
        let vcs = port.index() * self.vcs..(port.index() + 1) * self.vcs;
        vcs.map(|output| self.outputs[output].sender.load(shared, self.first_board + output, now)).sum()
    }
}
