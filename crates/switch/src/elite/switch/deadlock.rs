//! What packets cannot do without that others have, for [`flitway_fabric::deadlock`].
//!
//! A packet that has no output waits for one of the virtual channels that it may take. One that has an outgoing virtual
//! channel goes on when that does: when it gets credits, or, where paths are held, when the packet has been answered, which
//! the next switch has to let go on.

use super::{Input, Switch};
use crate::elite::Shared;
use crate::elite::sender::{Lane, Sender};
use crate::elite::settings::EliteSettings;
use flitway_engine::Cycle;
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_wiring::{Destination, NodeId, PortId};

impl Switch {
    /// Packets that cannot move at the end of cycle `now - 1`.
    pub(super) fn stuck(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        let inputs = (0..self.inputs.len()).filter_map(|number| self.stuck_at_input(shared, now, number));
        let outputs = self.outputs.iter().flatten().flat_map(|output| {
            let lanes = output.lanes.iter().enumerate();
            lanes.filter_map(|(vc, lane)| self.stuck_at_output(shared, now, output, vc, lane))
        });
        inputs.chain(outputs).collect()
    }

    fn stuck_at_input(&self, shared: &Shared, now: Cycle, number: usize) -> Option<Waiting> {
        let input = &self.inputs[number];
        let (port, vc) = (number / self.vcs, number % self.vcs);
        if let Some((output, vc_out)) = input.output {
            let lane = &self.outputs[usize::from(output)].as_ref()?.lanes[usize::from(vc_out)];
            let need = Need::Queue { output: PortId(output.into()), vc: vc_out };
            let waiting = self.waiting_at(Side::Input, port, vc, (lane.source, lane.destination));
            return Some(Waiting { needs: vec![need], ..waiting });
        }
        let asks = |&(at, by): &(Cycle, u16)| at < now && usize::from(by) == number;
        let state = input.heads.front().filter(|_| self.waiting.iter().any(asks))?;
        let mut alternatives = Vec::new();
        self.candidates(shared, number, state.header, |_, candidate| {
            let output = candidate.hop.port;
            let vcs = EliteSettings::vcs_of(candidate.hop.class, shared.lanes);
            alternatives.extend(vcs.map(|vc| Need::Queue { output, vc: vc as u8 }));
        });
        let waiting = self.waiting_at(Side::Input, port, vc, (state.source, state.header.destination()));
        Some(Waiting { alternatives, ..waiting })
    }

    fn stuck_at_output(
        &self,
        shared: &Shared,
        now: Cycle,
        output: &Sender,
        vc: usize,
        lane: &Lane,
    ) -> Option<Waiting> {
        lane.owner.filter(|_| !output.leads_to_node)?;
        let (port, vc_out) = (output.place.port, vc as u8);
        let need = if shared.settings.answer.is_some() {
            if !lane.has_begun {
                return None;
            }
            Need::Space { output: port, vc: vc_out, units: 1, sent: lane.begun.wrapping_sub(1) }
        } else {
            let sent = output.sent_before(shared.period, vc, now);
            let has_credit = lane.credits.when(shared.period, sent) < Cycle::NEVER;
            if has_credit || sent == lane.end {
                return None;
            }
            Need::Space { output: port, vc: vc_out, units: 1, sent: sent as u32 }
        };
        let about = (lane.source, lane.destination);
        let waiting = self.waiting_at(Side::Output, port.index(), vc, about);
        Some(Waiting { feeds: 1 << port.0, needs: vec![need], ..waiting })
    }

    fn waiting_at(&self, side: Side, port: usize, vc: usize, (source, node): (NodeId, NodeId)) -> Waiting {
        Waiting {
            fifo: Fifo { switch: self.number, port: PortId::new(port), vc: vc as u8, side },
            source,
            destination: Destination::Node(node),
            feeds: 0,
            needs: Vec::new(),
            alternatives: Vec::new(),
        }
    }

    /// Flits that have left the buffer of `input` before cycle `now`.
    pub(super) fn taken_by(&self, shared: &Shared, input: &Input, now: Cycle) -> u64 {
        let output =
            input.output.and_then(|(port, vc)| Some((self.outputs[usize::from(port)].as_ref()?, vc)));
        output.map_or(input.taken, |(output, vc)| {
            let vc = usize::from(vc);
            input.taken + output.sent_before(shared.period, vc, now) - output.lanes[vc].sent
        })
    }
}
