//! Step 2: who is given which output.

use super::Switch;
use crate::elite::packet_state::PacketState;
use crate::elite::settings::{EliteSettings, PrioritySettings};
use crate::elite::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::observer::{Grant, Observer, Outputs, Passage};
use flitway_wiring::PortId;
use flitway_wiring::routing::{Arrival, Candidate, Header};

impl Switch {
    /// Gives outputs to those that request in cycle `now`, the first first. Returns the outputs that were given, as bits.
    pub(super) fn grant<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) -> u64 {
        let mut granted = 0;
        let mut waiting = std::mem::take(&mut self.waiting);
        match cx.shared.settings.priority {
            None => waiting.retain(|&asks| asks.0 > now || self.serve(cx, now, asks, &mut granted)),
            Some(priority) => {
                let mut order: Vec<(Cycle, u16)> =
                    waiting.iter().copied().filter(|(asked, _)| *asked <= now).collect();
                order.sort_by_key(|&asks| self.is_low(priority, now, asks));
                order.retain(|&asks| !self.serve(cx, now, asks, &mut granted));
                waiting.retain(|asks| !order.contains(asks));
            }
        }
        debug_assert!(self.waiting.is_empty(), "nobody requests anew while outputs are given");
        self.waiting = waiting;
        granted
    }

    /// Gives what is free to the first packet of an incoming virtual channel that requests since cycle `asked`, and notes it in
    /// `granted`. Says whether the packet goes on requesting.
    fn serve<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        (asked, input): (Cycle, u16),
        granted: &mut u64,
    ) -> bool {
        let Some(state) = self.unicast_head(usize::from(input)) else {
            *granted |= self.grant_copies(cx, now, (asked, input));
            return self.wants_more(usize::from(input));
        };
        let way = (state.header, state.tables);
        let Some((candidate, vc)) = self.choose(cx.shared, now, usize::from(input), way) else { return true };
        self.give(cx, now, (asked, input), candidate, vc);
        *granted |= 1 << candidate.hop.port.0;
        false
    }

    /// Whether the first packet of an incoming virtual channel that requests since cycle `asked` has the low priority.
    fn is_low(&self, priority: PrioritySettings, now: Cycle, (asked, input): (Cycle, u16)) -> bool {
        let input = &self.inputs[usize::from(input)];
        let state = input.heads.front().or(input.copies.as_ref().map(|copies| &copies.state));
        let is_long = state.is_some_and(|state| u32::from(state.payload) > priority.up_to_bytes);
        is_long && now.since(asked) < u64::from(priority.ageing)
    }

    /// The first packet of incoming virtual channel `number`, if it has been given nothing and is for one node.
    fn unicast_head(&self, number: usize) -> Option<&PacketState> {
        self.inputs[number].heads.front().filter(|state| state.range.is_none()).map(Box::as_ref)
    }

    /// The output and virtual channel that the first packet of incoming virtual channel `number` takes, if one is free.
    fn choose(
        &mut self,
        shared: &Shared,
        now: Cycle,
        number: usize,
        way: (Header, u16),
    ) -> Option<(Candidate, usize)> {
        let mut best: Option<(u32, Candidate, usize)> = None;
        let (mut count, ports) = (0, self.ports);
        self.candidates(shared, now, number, way, |switch, candidate| {
            count += 1;
            let port = candidate.hop.port;
            let Some(vc) = switch.free_vc(shared, candidate) else { return };
            let distance = (port.0 + ports - switch.turn) % ports;
            let rank = switch.taken_vcs(port) * ports + distance;
            if best.is_none_or(|(least, ..)| rank < least) {
                best = Some((rank, candidate, vc));
            }
        });
        if count == 0 {
            return self.refuse(way.0);
        }
        let (_, candidate, vc) = best?;
        if count > 1 {
            self.turn = (candidate.hop.port.0 + 1) % ports;
        }
        Some((candidate, vc))
    }

    /// Tells `take` what the routing names for a packet with this header and tables in incoming virtual channel `number`, as
    /// far as its links are up in cycle `now`.
    pub(super) fn candidates(
        &self,
        shared: &Shared,
        now: Cycle,
        number: usize,
        (header, tables): (Header, u16),
        mut take: impl FnMut(&Self, Candidate),
    ) {
        let (port, class) = (PortId::new(number / self.vcs), (number % self.vcs / shared.lanes) as u8);
        let routing = shared.routings.numbered(tables);
        routing.candidates(self.here, Arrival { port, class }, header, |it| {
            let output = self.outputs[..self.ports as usize].get(it.hop.port.index());
            if output.is_some_and(|output| output.as_ref().is_some_and(|output| !output.is_down(now))) {
                take(self, it);
            }
        });
    }

    /// The lowest virtual channel that is free of those that a candidate may take.
    fn free_vc(&self, shared: &Shared, candidate: Candidate) -> Option<usize> {
        let lanes = &self.outputs[candidate.hop.port.index()].as_ref()?.lanes;
        EliteSettings::vcs_of(candidate.hop.class, shared.lanes).find(|&vc| lanes[vc].owner.is_none())
    }

    pub(super) fn taken_vcs(&self, port: PortId) -> u32 {
        let lanes = self.outputs[port.index()].iter().flat_map(|output| &output.lanes);
        lanes.filter(|lane| lane.owner.is_some()).count() as u32
    }

    /// Gives `vc` of the output of `candidate` to the packet of an incoming virtual channel that requested in cycle `asked`.
    fn give<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        (asked, number): (Cycle, u16),
        candidate: Candidate,
        vc: usize,
    ) {
        let port = candidate.hop.port;
        let input = &mut self.inputs[usize::from(number)];
        let Some(mut state) = input.heads.pop_front() else { return };
        input.output = Some((port.0 as u16, vc as u8));
        state.header = candidate.header;
        self.hand(cx, now, (asked, number), (port, vc), state);
    }

    /// The packet `state` of an incoming virtual channel that requested in cycle `asked` has `vc` of the output at `port`.
    pub(super) fn hand<O: Observer>(
        &mut self,
        cx: &mut Cx<'_, O>,
        now: Cycle,
        (asked, number): (Cycle, u16),
        (port, vc): (PortId, usize),
        state: Box<PacketState>,
    ) {
        let by = PortId::new(usize::from(number) / self.vcs);
        let came = (usize::from(number) % self.vcs) as u8;
        cx.counters.events += 1;
        if port.0 < self.ports {
            cx.observer.granted(&Grant {
                cycle: now,
                switch: self.number,
                output: port,
                vc: came,
                input: by,
            });
        }
        self.settle_output(cx, now, port.index());
        let Some(output) = &mut self.outputs[port.index()] else { return };
        if !output.is_drain && cx.observer.follows_passages() {
            cx.observer.passed(&Passage {
                packet: state.name(),
                switch: self.number,
                input: by,
                vc: came,
                outputs: Outputs::One(port),
                arrived: state.arrived,
                ready: state.arrived + u64::from(cx.shared.settings.pipeline.ready()),
                requested: asked,
                free: Some(output.lanes[vc].free),
                granted: now,
            });
        }
        let taken = self.inputs[usize::from(number)].taken;
        output.lanes[vc].give((number, taken), state, now);
    }
}
