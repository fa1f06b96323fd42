//! What packets cannot do without that others have, for [`flitway_fabric::deadlock`].
//!
//! A packet that has no output waits for one of the virtual channels that it may take. One that has an outgoing virtual
//! channel goes on when that does: when it gets credits, or, where paths are held, when the packet has been answered, which
//! the next switch has to let go on.
//!
//! A broadcast needs all of its outputs. One that has sent all flits that have come waits for more: until the slowest of the
//! others has made room in the buffer, if that is full, or else until they come by the link. Only while it does so it keeps
//! the next switch waiting for flits; otherwise it waits for that, and nothing is said of both at a time.

use super::{Copies, Input, Switch};
use crate::elite::Shared;
use crate::elite::sender::{Lane, Sender};
use crate::elite::settings::EliteSettings;
use flitway_engine::Cycle;
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_wiring::reach::ports;
use flitway_wiring::{Destination, NodeId, PortId};

impl Switch {
    /// Packets that cannot move at the end of cycle `now - 1`.
    pub(super) fn stuck(&self, shared: &Shared, now: Cycle) -> Vec<Waiting> {
        let inputs = (0..self.inputs.len()).filter_map(|number| self.stuck_at_input(shared, now, number));
        let outputs = self.outputs.iter().flatten().filter(|output| !output.is_drain).flat_map(|output| {
            let lanes = output.lanes.iter().enumerate();
            lanes.filter_map(|(vc, lane)| self.stuck_at_output(shared, now, output, vc, lane))
        });
        inputs.chain(outputs).collect()
    }

    fn stuck_at_input(&self, shared: &Shared, now: Cycle, number: usize) -> Option<Waiting> {
        let input = &self.inputs[number];
        let (port, vc) = (number / self.vcs, number % self.vcs);
        if let Some(copies) = &input.copies {
            return Some(self.stuck_broadcast(shared, now, number, copies));
        }
        if let Some((output, vc_out)) = input.output {
            let lane = &self.outputs[usize::from(output)].as_ref()?.lanes[usize::from(vc_out)];
            let need = Need::Queue { output: PortId(output.into()), vc: vc_out };
            let waiting = self.waiting_at(Side::Input, port, vc, (lane.source, lane.destination));
            return Some(Waiting { needs: vec![need], ..waiting });
        }
        let state = input.heads.front()?;
        let asks = |&(at, by): &(Cycle, u16)| at < now && usize::from(by) == number;
        if state.range.is_some() || !self.waiting.iter().any(asks) {
            return None;
        }
        let mut alternatives = Vec::new();
        self.candidates(shared, now, number, (state.header, state.tables), |_, candidate| {
            let output = candidate.hop.port;
            let vcs = EliteSettings::vcs_of(candidate.hop.class, shared.lanes);
            alternatives.extend(vcs.map(|vc| Need::Queue { output, vc: vc as u8 }));
        });
        let waiting = self.waiting_at(Side::Input, port, vc, (state.source, state.destination()));
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
        if lane.is_broadcast && lane.owner.is_some() && self.starves(shared, now, output, lane) {
            return self.starving(shared, now, output, lane);
        }
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
        Some(Waiting { needs: vec![need], ..waiting })
    }

    /// A broadcast that has requested its outputs: it needs those that it has not got, and that others go on.
    fn stuck_broadcast(&self, shared: &Shared, now: Cycle, number: usize, copies: &Copies) -> Waiting {
        let (port, vc) = (number / self.vcs, number % self.vcs);
        let queue =
            |output: PortId| Need::Queue { output, vc: EliteSettings::broadcast_vc(shared.lanes) as u8 };
        let waits_here = |port: &PortId| {
            let Some((output, lane)) = self.broadcast_lane(shared, *port) else { return false };
            self.starves(shared, now, output, lane) && self.is_full(shared, now, number)
        };
        let needs = ports(copies.given).filter(|port| !waits_here(port)).map(queue);
        let wanted = if copies.climbs { self.ports_up(copies, now) } else { copies.wants };
        let wanted = ports(wanted).map(queue);
        let about = (copies.state.source, copies.state.destination());
        let waiting = self.waiting_at(Side::Input, port, vc, about);
        if copies.climbs {
            Waiting { needs: needs.collect(), alternatives: wanted.collect(), ..waiting }
        } else {
            Waiting { needs: needs.chain(wanted).collect(), ..waiting }
        }
    }

    /// The virtual channel of broadcasts at an output.
    fn broadcast_lane(&self, shared: &Shared, port: PortId) -> Option<(&Sender, &Lane)> {
        let output = self.outputs[port.index()].as_ref()?;
        Some((output, &output.lanes[EliteSettings::broadcast_vc(shared.lanes)]))
    }

    /// Whether a broadcast has sent what it has of its flits by `lane`, and as far as is known no more come.
    fn starves(&self, shared: &Shared, now: Cycle, output: &Sender, lane: &Lane) -> bool {
        let vc = EliteSettings::broadcast_vc(shared.lanes);
        let sent = output.sent_before(shared.period, vc, now);
        let flits = lane.owner.map(|owner| &self.inputs[usize::from(owner)].flits);
        let next = lane.taken() + (sent - lane.sent);
        sent < lane.end && flits.is_some_and(|flits| flits.when(shared.period, next) == Cycle::NEVER)
    }

    /// Whether the buffer of incoming virtual channel `number`, which has a broadcast, is full.
    fn is_full(&self, shared: &Shared, now: Cycle, number: usize) -> bool {
        let input = &self.inputs[number];
        let Some(copies) = &input.copies else { return false };
        let sent = |port: PortId| {
            let (output, lane) = self.broadcast_lane(shared, port)?;
            let vc = EliteSettings::broadcast_vc(shared.lanes);
            Some(lane.taken() + output.sent_before(shared.period, vc, now) - lane.sent)
        };
        let slowest = ports(copies.given).filter_map(sent).min();
        let left = if copies.wants == 0 { slowest.unwrap_or(input.taken) } else { input.taken };
        input.flits.count(shared.period, now) - left >= u64::from(shared.settings.buffer_flits)
    }

    /// What a broadcast waits for that has sent all of its flits that have come.
    fn starving(&self, shared: &Shared, now: Cycle, output: &Sender, lane: &Lane) -> Option<Waiting> {
        let number = usize::from(lane.owner?);
        let (input, vc) = (PortId::new(number / self.vcs), (number % self.vcs) as u8);
        let need = if self.is_full(shared, now, number) {
            Need::Copies { input, vc }
        } else {
            let of_port = &self.inputs[input.index() * self.vcs..][..self.vcs];
            let received = of_port.iter().map(|input| (input.held as u32).wrapping_add(input.freed));
            Need::Flits { input, received: received.fold(0, u32::wrapping_add) }
        };
        let port = output.place.port;
        let about = (lane.source, lane.destination);
        let vc = EliteSettings::broadcast_vc(shared.lanes);
        let waiting = self.waiting_at(Side::Output, port.index(), vc, about);
        Some(Waiting { feeds: 1 << port.0, needs: vec![need], ..waiting })
    }

    fn waiting_at(
        &self,
        side: Side,
        port: usize,
        vc: usize,
        (source, destination): (NodeId, Destination),
    ) -> Waiting {
        Waiting {
            fifo: Fifo { switch: self.number, port: PortId::new(port), vc: vc as u8, side },
            source,
            destination,
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
            let lane = &output.lanes[vc];
            lane.taken() + output.sent_before(shared.period, vc, now) - lane.sent
        })
    }
}
