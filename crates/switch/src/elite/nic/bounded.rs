//! What a bounded NIC port has beside an ideal one: packets stay in its buffers, with their credits, until the NIC drains them,
//! and it hears when one has left the source queue. The paragraph *Bounded NIC ports* of the normative text.

use super::copies::Broadcasts;
use crate::elite::forecast::Run;
use crate::elite::packet_state::{Mail, PacketState};
use crate::elite::sender::post;
use crate::elite::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::simulation::{Conservation, NodeWires, Wire};
use flitway_fabric::{Delivery, Flow};
use flitway_wiring::{NodeId, RailId};
use std::collections::VecDeque;

/// The buffers of a bounded NIC port.
#[derive(Debug)]
pub(super) struct Bounded {
    /// The way back to the sender of what comes, for credits.
    back: Wire,
    /// By virtual channel.
    kept: Box<[Kept]>,
    /// Flows of packets that have left the source queue, and have not been told, with the cycle in which they are.
    sent: VecDeque<(Cycle, Flow)>,
    /// What has been refused in this cycle: the virtual channel, and whether it was a copy of a broadcast.
    pub(super) refused: Vec<(u8, bool)>,
}

/// The packets of one virtual channel that have been received.
#[derive(Debug, Default)]
struct Kept {
    packets: VecDeque<(Cycle, Box<PacketState>)>,
    /// The first of them has been delivered, and not been drained.
    is_delivered: bool,
    /// The cycle after the one in which the last flit left the buffer, or will.
    empty_at: Cycle,
    /// Flits that have been drained since the start.
    drained: u64,
}

impl Kept {
    fn first_is_corrupt(&self) -> bool {
        self.packets.front().is_some_and(|(_, state)| state.is_corrupt)
    }

    /// Flits that are in the buffer at the beginning of cycle `now`.
    fn stored(&self, now: Cycle) -> u64 {
        let leaving = self.empty_at.0.saturating_sub(now.0);
        self.packets.iter().map(|(_, state)| u64::from(state.flits)).sum::<u64>() + leaving
    }

    fn delivers_at(&self) -> Cycle {
        match self.packets.front() {
            Some((at, _)) if !self.is_delivered => self.empty_at.max(*at),
            _ => Cycle::NEVER,
        }
    }
}

impl Bounded {
    pub(super) fn new(shared: &Shared, wires: &NodeWires) -> Option<Box<Self>> {
        let is_bounded = shared.nic_ports.are_bounded();
        let kept = (0..shared.vcs).map(|_| Kept::default());
        is_bounded.then(|| {
            let (kept, sent) = (kept.collect(), VecDeque::new());
            Box::new(Bounded { back: wires.back, kept, sent, refused: Vec::new() })
        })
    }

    /// When a packet is delivered next, as far as known.
    pub(super) fn delivers_at(&self) -> Cycle {
        self.kept.iter().map(Kept::delivers_at).fold(Cycle::NEVER, Cycle::min)
    }

    /// Takes in a packet that is received in cycle `at`.
    pub(super) fn keep(&mut self, at: Cycle, vc: u8, state: Box<PacketState>) {
        self.kept[usize::from(vc)].packets.push_back((at, state));
    }

    /// Takes in a packet that is received in cycle `at`, or refuses it.
    pub(super) fn keep_or_refuse(
        &mut self,
        shared: &Shared,
        copies: &mut Broadcasts,
        (at, vc, state): (Cycle, u8, Box<PacketState>),
    ) {
        let is_copy = state.range.is_some();
        if copies.has_come(&state).is_some() {
            return;
        }
        let stored = self.kept[usize::from(vc)].stored(at);
        if stored + u64::from(state.flits) > shared.settings.nic_buffer_flits().into() {
            if is_copy {
                copies.refuse();
            }
            return self.refused.push((vc, is_copy));
        }
        if is_copy {
            copies.take(&state);
        }
        self.keep(at, vc, state);
    }

    /// A packet that is delivered by cycle `now`, of the lowest virtual channel that has one.
    pub(super) fn delivery(&mut self, now: Cycle, node: NodeId, rail: RailId) -> Option<Delivery> {
        let is_due = |kept: &Kept| kept.delivers_at() <= now && !kept.first_is_corrupt();
        let vc = self.kept.iter().position(is_due)?;
        let kept = &mut self.kept[vc];
        kept.is_delivered = true;
        let (_, state) = kept.packets.front()?;
        Some(state.delivery(node, rail, vc as u8, now))
    }

    /// Corrupt packets that would be delivered in cycle `now` leave the buffer.
    pub(super) fn drop_corrupt<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        for vc in 0..self.kept.len() {
            let kept = &mut self.kept[vc];
            if kept.delivers_at() <= now && kept.first_is_corrupt() {
                kept.is_delivered = true;
                self.drain(cx, now, vc as u8);
            }
        }
    }

    /// The NIC drains the first packet of `vc` in cycle `now`.
    pub(super) fn drain<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: u8) {
        let kept = &mut self.kept[usize::from(vc)];
        assert!(kept.is_delivered, "a packet is drained once, after it has been delivered");
        kept.is_delivered = false;
        let (_, state) = kept.packets.pop_front().expect("a packet that is delivered is there");
        kept.empty_at = now + u64::from(state.flits);
        if cx.shared.refuses {
            return;
        }
        let (settings, period) = (&cx.shared.settings, cx.shared.period);
        let at = now + u64::from(settings.credit + self.back.latency);
        let before = u64::from(settings.nic_buffer_flits()) + kept.drained;
        let end = before + u64::from(state.flits);
        let run = Run { port: self.back.port, vc, at, before, places: period.every(), end };
        post(cx.post, &self.back, at, Mail::Credits(run));
        kept.drained += u64::from(state.flits);
    }

    /// That a packet of `flow` has left the source queue is told in cycle `at`.
    pub(super) fn leave(&mut self, at: Cycle, flow: Flow) {
        self.sent.push_back((at, flow));
    }

    /// When that is told of a packet next.
    pub(super) fn tells_at(&self) -> Cycle {
        self.sent.front().map_or(Cycle::NEVER, |(at, _)| *at)
    }

    /// A packet of which it is told by cycle `now`, each once.
    pub(super) fn take_sent(&mut self, now: Cycle) -> Option<Flow> {
        (self.tells_at() <= now).then(|| self.sent.pop_front()).flatten().map(|(_, flow)| flow)
    }

    pub(super) fn audit(&self, books: &mut Conservation) {
        for kept in &self.kept {
            let waits = kept.packets.iter().skip(usize::from(kept.is_delivered));
            books.in_network += waits.filter(|(_, state)| !state.is_corrupt).count() as u64;
        }
    }
}
