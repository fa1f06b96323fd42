//! The NIC port that is bounded: packets stay in the receive buffer until the NIC drains them, and it hears when one has left a
//! source queue. The paragraph *Bounded NIC ports* of the normative text.

use super::Port;
use crate::hpp::packet_state::PacketState;
use crate::hpp::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::{List, Slot};
use flitway_fabric::simulation::Conservation;
use flitway_fabric::{Delivery, Flow, FlowKind};
use flitway_wiring::{Destination, NodeId, PortId};
use std::collections::VecDeque;

/// What a bounded NIC port has beside an ideal one.
#[derive(Debug)]
pub(super) struct Bounded {
    /// By virtual channel.
    kept: Box<[Kept]>,
    /// When the packets that its link has chosen have left their source queues.
    leaving: VecDeque<(Cycle, Flow)>,
}

/// The packets of one virtual channel that are on the way in or in the receive buffer.
#[derive(Clone, Debug)]
struct Kept {
    /// By time.
    packets: List,
    /// When the first of them is delivered, as far as known; `NEVER` when it has been.
    deliver_at: Cycle,
    /// It has been, and not been drained.
    is_delivered: bool,
    /// The cycle after the one in which the last flit left the buffer, or will.
    empty_at: Cycle,
}

impl Bounded {
    pub(super) fn new(shared: &Shared) -> Option<Box<Self>> {
        let kept = Kept {
            packets: List::default(),
            deliver_at: Cycle::NEVER,
            is_delivered: false,
            empty_at: Cycle::ZERO,
        };
        (shared.nic_ports.are_bounded()).then(|| {
            Box::new(Bounded { kept: vec![kept; shared.timing.vcs].into(), leaving: VecDeque::new() })
        })
    }

    fn next(&self) -> Cycle {
        let left = self.leaving.front().map_or(Cycle::NEVER, |&(at, _)| at);
        self.kept.iter().fold(left, |next, kept| next.min(kept.deliver_at))
    }
}

impl Port {
    fn bounded(&mut self) -> &mut Bounded {
        self.bounded.as_mut().expect("what only bounded NIC ports do is asked of those")
    }

    /// Takes in the packet in `slot`, which is on the way on `vc`.
    #[cold]
    #[inline(never)]
    pub(super) fn keep(&mut self, shared: &mut Shared, slot: Slot, vc: usize) {
        shared.pools.states.append(&mut self.bounded().kept[vc].packets, slot);
        self.expect_delivery(shared, vc);
    }

    /// Finds out when the first packet of `vc` is delivered.
    pub(super) fn expect_delivery(&mut self, shared: &Shared, vc: usize) {
        let kept = &self.bounded().kept[vc];
        let (first, empty_at, is_delivered) = (kept.packets.head(), kept.empty_at, kept.is_delivered);
        let whole = if is_delivered { Cycle::NEVER } else { self.delivered_at(&shared.pools.states, first) };
        let bounded = self.bounded();
        bounded.kept[vc].deliver_at = whole.max(empty_at);
        self.deliver_at = self.bounded().next();
    }

    /// The packet that is delivered to `node` by cycle `now`, of the lowest virtual channel that has one.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_kept(&mut self, shared: &Shared, now: Cycle, node: NodeId) -> Option<Delivery> {
        let rail = self.rail;
        let kept = self.bounded().kept.iter_mut().find(|kept| kept.deliver_at <= now)?;
        (kept.is_delivered, kept.deliver_at) = (true, Cycle::NEVER);
        let state = &shared.pools.states[kept.packets.head()];
        let delivery = state.delivery(rail, node, now);
        self.deliver_at = self.bounded().next();
        Some(delivery)
    }

    /// The NIC drains the first packet of `vc` in cycle `now`.
    #[cold]
    #[inline(never)]
    pub(super) fn drain_kept<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, vc: usize) {
        // What the link does in this cycle is decided when all of it is known.
        if let Some(before) = now.0.checked_sub(1).map(Cycle) {
            self.send_adverts_with(vc, before, cx);
        }
        let states = &mut cx.shared.pools.states;
        let kept = &mut self.bounded().kept[vc];
        assert!(kept.is_delivered, "a packet is drained once, after it has been delivered");
        kept.is_delivered = false;
        let state = {
            let slot = states.unlink(&mut kept.packets);
            states.take(slot)
        };
        kept.empty_at = now + u64::from(state.flits);
        if state.mark.is_gapped() {
            self.gapped.pop_front();
        }
        self.lanes[vc].receiver.begin(&cx.shared.timing, now, state.flits, state.flits, state.units);
        self.hear_of_unit(vc, cx);
        // Nothing was known of it when the last window ended.
        self.is_newsy = true;
        self.expect_delivery(cx.shared, vc);
    }

    /// The link has chosen a packet of `flow`, which has left its source queue in cycle `at`.
    #[cold]
    #[inline(never)]
    pub(super) fn note_leaving(&mut self, at: Cycle, flow: Flow) {
        let bounded = self.bounded();
        bounded.leaving.push_back((at, flow));
        self.deliver_at = bounded.next();
    }

    /// A packet that has left its source queue by cycle `now`, each told once.
    pub(super) fn take_sent(&mut self, now: Cycle) -> Option<Flow> {
        let bounded = self.bounded.as_mut()?;
        let &(_, flow) = bounded.leaving.front().filter(|(at, _)| *at <= now)?;
        bounded.leaving.pop_front();
        self.deliver_at = bounded.next();
        Some(flow)
    }

    /// The requests that are kept, and what the first packets of source queues are short of, at the end of cycle `now - 1`.
    pub(super) fn stuck(&self, shared: &Shared, node: NodeId, now: Cycle) -> Vec<Waiting> {
        let states = &shared.pools.states;
        let number = self.link.component();
        let fifo = |vc: usize, side| Fifo { switch: number, port: PortId(self.rail.0), vc: vc as u8, side };
        let is_reply = |state: &PacketState| state.flow().is(FlowKind::Reply);
        let has_reply = |vc: &usize| states.iter(&self.lanes[*vc].queue).any(is_reply);
        let kept = self.bounded.iter().flat_map(|bounded| bounded.kept.iter().enumerate());
        let requests = kept.filter_map(|(vc, kept)| {
            let state = states.first(&kept.packets).filter(|_| kept.is_delivered)?;
            let is_request = state.flow().is(FlowKind::Request);
            let replies = (0..self.lanes.len()).filter(has_reply);
            is_request.then(|| Waiting::for_replies(fifo(vc, Side::Input), state.source, node, replies))
        });
        let firsts = self.lanes.iter().enumerate().filter_map(|(vc, lane)| {
            let state = states.first(&lane.queue)?;
            let units = u32::from(state.units);
            let board = self.first_board + vc;
            let need =
                Need::Space { output: PortId(self.rail.0), vc: vc as u8, units, sent: lane.sender.sent() };
            (!lane.sender.would_have_credits(shared, board, now, units)).then(|| Waiting {
                fifo: fifo(vc, Side::Output),
                source: node,
                destination: Destination::Node(NodeId(state.to)),
                feeds: 0,
                needs: vec![need],
                alternatives: Vec::new(),
            })
        });
        requests.chain(firsts).collect()
    }

    /// Enters what it keeps into the books.
    pub(super) fn audit_kept(&self, shared: &Shared, books: &mut Conservation) {
        let kept = self.bounded.iter().flat_map(|bounded| &bounded.kept);
        for Kept { packets, is_delivered, .. } in kept {
            let states = || shared.pools.states.iter(packets);
            books.in_network += states().count() as u64 - u64::from(*is_delivered);
            books.units_held += states().map(|state| u64::from(state.units)).sum::<u64>();
        }
    }
}
