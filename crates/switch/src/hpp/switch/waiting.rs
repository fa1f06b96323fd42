//! What the packets at the heads of the input FIFOs wait for that others have, for [`flitway_fabric::deadlock`].

use super::{Input, Switch};
use crate::hpp::Shared;
use crate::hpp::packet_state::PacketState;
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_wiring::{Destination, GroupId, NodeId, PortId};

impl Switch {
    /// The packets that request in cycle `now` and are short of something that another packet may hold.
    pub(super) fn packets_waiting(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        self.inputs.iter().filter_map(|fifo| self.packet_waiting(shared, fifo, now)).collect()
    }

    fn packet_waiting(&self, shared: &Shared, fifo: &Input, now: Cycle) -> Option<Waiting> {
        if fifo.receiver.is_open() || fifo.waiting.is_empty() || fifo.requests_from >= now {
            return None;
        }
        let state = &shared.pools.states[fifo.waiting.head()];
        let (port, vc) = (usize::from(fifo.port), usize::from(fifo.vc));
        let needs = if state.spreads() {
            self.needs_of_copies(shared, fifo, now)
        } else {
            let output = state.route.hop().port.index() * self.vcs + vc;
            let next = usize::from(fifo.next);
            self.kept(output, port).into_iter().chain(self.space(shared, next, fifo.units, now)).collect()
        };
        Some(Waiting {
            fifo: Fifo { switch: self.number, port: PortId::new(port), vc: fifo.vc, side: Side::Input },
            source: state.source,
            destination: destination(state),
            feeds: 0,
            needs,
            alternatives: Vec::new(),
        })
    }

    fn needs_of_copies(&self, shared: &Shared, fifo: &Input, now: Cycle) -> Vec<Need> {
        let Some(copier) = &self.multicast else { return Vec::new() };
        let (outputs, has) = copier.wanted(usize::from(fifo.port), fifo.gathers);
        let missing = bits(outputs & !has).map(|port| port * self.vcs + copier.vc);
        missing
            .flat_map(|output| {
                let kept = self.kept(output, usize::from(fifo.port));
                kept.into_iter().chain(self.space(shared, output, fifo.units, now))
            })
            .collect()
    }

    /// `output` is kept for another packet than that of input `port`.
    fn kept(&self, output: usize, port: usize) -> Option<Need> {
        let column = &self.outputs[output];
        let from = usize::from(column.from);
        let holder = &self.inputs[from * self.vcs + usize::from(column.vc)];
        let gathered = (column.crossed == Cycle::NEVER && holder.gathers).then_some(from);
        let favoured = self.multicast.as_ref().and_then(|copier| copier.favours(column.port, column.vc));
        let by = gathered.or(favoured).filter(|&by| by != port)?;
        Some(Need::Output { output: PortId(column.port.into()), by: PortId::new(by) })
    }

    /// The next link of `output` is short of credits for `units`.
    fn space(&self, shared: &Shared, output: usize, units: u16, now: Cycle) -> Option<Need> {
        let column = &self.outputs[output];
        let units = u32::from(units);
        let is_short = !column.sender.would_have_credits(shared, self.first_board + output, now, units);
        let (output, vc) = (PortId(column.port.into()), column.vc);
        is_short.then(|| Need::Space { output, vc, units, sent: column.sender.sent() })
    }

    /// The position of the receiver at `port` for `vc` at the start of cycle `now`, whether it has been said or not.
    pub(super) fn position_of(&self, shared: &Shared, port: PortId, vc: u8, now: Cycle) -> u32 {
        self.inputs[port.index() * self.vcs + usize::from(vc)].receiver.position(&shared.timing, now)
    }
}

fn destination(state: &PacketState) -> Destination {
    match state.group() {
        Some(GroupId(group)) => Destination::Group(GroupId(group), 0),
        None => Destination::Node(NodeId(state.to)),
    }
}
