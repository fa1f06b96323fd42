//! What a bounded NIC port has beside an ideal one: packets stay in its buffer until the NIC drains them, and it hears when
//! one has left a source queue. The paragraph *Bounded NIC ports* of the normative text.

use crate::tiled::Shared;
use crate::tiled::link::Receiver;
use crate::tiled::packet_state::{self, PacketState};
use flitway_engine::Cycle;
use flitway_fabric::deadlock::{Fifo, Waiting};
use flitway_fabric::pool::{List, Pool, Slot};
use flitway_fabric::simulation::Conservation;
use flitway_fabric::{Delivery, Flow, FlowKind};
use flitway_wiring::{NodeId, RailId};
use std::collections::VecDeque;

/// The buffer of a bounded NIC port.
#[derive(Debug)]
pub(super) struct Bounded {
    /// By virtual channel.
    kept: Box<[Kept]>,
    /// When packets have left their source queues.
    leaving: VecDeque<(Cycle, Flow)>,
}

/// The packets of one virtual channel that are on the way in or in the buffer.
#[derive(Clone, Debug)]
struct Kept {
    /// By time.
    packets: List,
    /// When the first of them is delivered, as far as known; `NEVER` when it has been.
    delivers_at: Cycle,
    /// It has been, and not been drained.
    is_delivered: bool,
    /// The cycle after the one in which the last flit of what was drained leaves the buffer, and its flits until then.
    empty_at: Cycle,
    flits: u32,
}

impl Bounded {
    pub(super) fn new(shared: &Shared) -> Option<Box<Self>> {
        let kept = Kept {
            packets: List::default(),
            delivers_at: Cycle::NEVER,
            is_delivered: false,
            empty_at: Cycle::ZERO,
            flits: 0,
        };
        (shared.nic_ports.are_bounded())
            .then(|| Box::new(Bounded { kept: vec![kept; shared.vcs].into(), leaving: VecDeque::new() }))
    }

    /// When something happens next.
    pub(super) fn next(&self) -> Cycle {
        let left = self.leaving.front().map_or(Cycle::NEVER, |&(at, _)| at);
        self.kept.iter().fold(left, |next, kept| {
            let empty = if kept.flits > 0 { kept.empty_at } else { Cycle::NEVER };
            next.min(kept.delivers_at).min(empty)
        })
    }

    /// Takes in the packet in `slot`, which has been accepted.
    pub(super) fn keep(&mut self, states: &mut Pool<PacketState>, slot: Slot) {
        let kept = &mut self.kept[usize::from(states[slot].vc)];
        states.append(&mut kept.packets, slot);
        kept.expect_delivery(states);
    }

    /// The packet that is delivered to `node` by cycle `now`, of the lowest virtual channel that has one.
    pub(super) fn delivery(
        &mut self,
        shared: &Shared,
        now: Cycle,
        node: NodeId,
        rail: RailId,
    ) -> Option<Delivery> {
        let kept = self.kept.iter_mut().find(|kept| kept.delivers_at <= now)?;
        (kept.is_delivered, kept.delivers_at) = (true, Cycle::NEVER);
        let state = shared.pools.states.first(&kept.packets)?;
        Some(state.delivery(node, rail, now))
    }

    /// The NIC drains the first packet of `vc` in cycle `now`.
    pub(super) fn drain(&mut self, states: &mut Pool<PacketState>, now: Cycle, vc: usize) {
        let kept = &mut self.kept[vc];
        assert!(kept.is_delivered, "a packet is drained once, after it has been delivered");
        kept.is_delivered = false;
        let slot = states.unlink(&mut kept.packets);
        kept.flits = states.take(slot).flits.into();
        kept.empty_at = now + u64::from(kept.flits);
        kept.expect_delivery(states);
    }

    /// Tells `receiver` of what has been given back by cycle `now`.
    pub(super) fn settle(&mut self, shared: &Shared, now: Cycle, receiver: &mut Receiver) {
        for (vc, kept) in self.kept.iter_mut().enumerate() {
            if kept.flits > 0 && kept.empty_at <= now {
                receiver.give_back(shared, now, vc, kept.flits);
                kept.flits = 0;
            }
        }
    }

    /// A packet of `flow` has left its source queue in cycle `at`.
    pub(super) fn leave(&mut self, at: Cycle, flow: Flow) {
        self.leaving.push_back((at, flow));
    }

    /// A packet that has left by cycle `now`, each told once.
    pub(super) fn take_sent(&mut self, now: Cycle) -> Option<Flow> {
        let &(_, flow) = self.leaving.front().filter(|(at, _)| *at <= now)?;
        self.leaving.pop_front();
        Some(flow)
    }

    /// The requests that are kept, which wait for replies on these `vcs`; the port is that of `fifo`, by virtual channel.
    pub(super) fn stuck(
        &self,
        states: &Pool<PacketState>,
        node: NodeId,
        fifo: impl Fn(usize) -> Fifo,
        vcs: &[usize],
    ) -> Vec<Waiting> {
        let kept = self.kept.iter().enumerate().filter(|(_, kept)| kept.is_delivered);
        let requests = kept.filter_map(|(vc, kept)| {
            let state = states.first(&kept.packets).filter(|state| state.flow().is(FlowKind::Request))?;
            Some(Waiting::for_replies(fifo(vc), state.source, node, vcs.iter().copied()))
        });
        requests.collect()
    }

    /// Flits of what has been drained and has not given back its room.
    pub(super) fn leaving(&self, vc: usize) -> u16 {
        self.kept[vc].flits as u16
    }

    pub(super) fn audit(&self, states: &Pool<PacketState>, books: &mut Conservation) {
        for kept in &self.kept {
            states.iter(&kept.packets).for_each(|state| packet_state::enter(state, books));
            books.in_network -= u64::from(kept.is_delivered);
            books.units_held += u64::from(kept.flits);
        }
    }
}

impl Kept {
    /// Finds out when the first packet is delivered.
    fn expect_delivery(&mut self, states: &Pool<PacketState>) {
        let whole = states.first(&self.packets).map_or(Cycle::NEVER, |state| state.at);
        self.delivers_at = if self.is_delivered { Cycle::NEVER } else { whole.max(self.empty_at) };
    }
}
