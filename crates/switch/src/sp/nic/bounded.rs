//! The NIC port that is bounded: flits take credits, packets stay in the receive buffer until the NIC drains them, and it hears
//! when one has left the source queue. The paragraph *Bounded NIC ports* of the normative text.

use super::Port;
use crate::sp::packet_state::{Inbox, PacketState};
use crate::sp::{Cx, Shared, link};
use flitway_engine::Cycle;
use flitway_fabric::simulation::{Conservation, NodeWires, Wire};
use flitway_fabric::{Flow, FlowKind};
use flitway_wiring::NodeId;
use std::collections::VecDeque;

/// What a bounded NIC port has beside an ideal one.
#[derive(Debug)]
pub(super) struct Bounded {
    /// The way back to the sender of what comes, for credits.
    back: Wire,
    /// Packets that have begun to come, with the flits of which nothing is known yet.
    coming: VecDeque<(Box<PacketState>, u32)>,
    /// The packet that has been delivered and not drained: its flits, who sent it, and what it is part of.
    delivered: Option<(u32, NodeId, Flow)>,
    /// The cycle after the one in which the last flit left the buffer, or will.
    empty_at: Cycle,
    /// Flits in the buffer, those on the way included, and those that have left it since the start, modulo 2^32.
    held: u32,
    freed: u32,
    /// When packets have left the source queue.
    leaving: VecDeque<(Cycle, Flow)>,
}

impl Bounded {
    pub(super) fn new(shared: &Shared, wires: &NodeWires) -> Option<Box<Self>> {
        (shared.nic_ports.are_bounded()).then(|| {
            Box::new(Bounded {
                back: wires.back,
                coming: VecDeque::new(),
                delivered: None,
                empty_at: Cycle::ZERO,
                held: 0,
                freed: 0,
                leaving: VecDeque::new(),
            })
        })
    }

    /// When a packet that is whole in cycle `whole` can be delivered, as far as known.
    pub(super) fn delivers_at(&self, whole: Cycle) -> Cycle {
        if self.delivered.is_some() { Cycle::NEVER } else { whole.max(self.empty_at) }
    }

    /// When the next packet has left the source queue, as far as known.
    pub(super) fn leaves_at(&self) -> Cycle {
        self.leaving.front().map_or(Cycle::NEVER, |&(at, _)| at)
    }

    /// The last flits of a packet of `flow` are sent before cycle `at`.
    pub(super) fn leave(&mut self, at: Cycle, flow: Flow) {
        self.leaving.push_back((at, flow));
    }

    /// A packet that has left by cycle `now`, each told once.
    pub(super) fn take_sent(&mut self, now: Cycle) -> Option<Flow> {
        let &(_, flow) = self.leaving.front().filter(|(at, _)| *at <= now)?;
        self.leaving.pop_front();
        Some(flow)
    }

    /// A packet is delivered.
    pub(super) fn deliver(&mut self, state: &PacketState) {
        self.delivered = Some((state.flits, state.source, state.flow()));
    }

    /// Who sent the request that is kept, if one is.
    pub(super) fn kept_request(&self) -> Option<NodeId> {
        let (_, source, _) = self.delivered.filter(|(.., flow)| flow.is(FlowKind::Request))?;
        Some(source)
    }

    /// Flits that have left the buffer since the start, modulo 2^32.
    pub(super) fn freed(&self) -> u32 {
        self.freed
    }

    /// The NIC drains it in cycle `now`.
    pub(super) fn drain<O>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        let (flits, ..) =
            self.delivered.take().expect("a packet is drained once, after it has been delivered");
        link::send_credits(cx, &self.back, now, flits, false);
        self.empty_at = now + u64::from(flits);
        self.held -= flits;
        self.freed = self.freed.wrapping_add(flits);
    }

    pub(super) fn audit(&self, books: &mut Conservation) {
        books.in_network += self.coming.len() as u64;
        books.units_held += u64::from(self.held);
        books.units_freed += u64::from(self.freed);
    }
}

impl Port {
    /// Takes in the flits that have come for bounded `ports`. Returns a mask of the ports for which there were some.
    pub(super) fn receive_flits(ports: &mut [Port], shared: &Shared, inbox: &mut Inbox) -> u64 {
        let mut mail = 0;
        for (rail, state) in inbox.heads.drain(..) {
            let flits = state.flits;
            ports[usize::from(rail)].bounded().coming.push_back((state, flits));
        }
        for run in inbox.flits.drain(..) {
            let port = &mut ports[usize::from(run.port)];
            let bounded = port.bounded();
            bounded.held += run.count;
            let room = shared.settings.nic_buffer_flits();
            debug_assert!(bounded.held <= room, "credits keep a buffer from overflowing");
            let (_, left) = bounded.coming.front_mut().expect("flits follow the head of their packet");
            *left -= run.count;
            if *left == 0
                && let Some((state, _)) = bounded.coming.pop_front()
            {
                port.whole.push_back((run.at + u64::from(run.count), state));
            }
            mail |= 1 << run.port;
        }
        mail
    }

    fn bounded(&mut self) -> &mut Bounded {
        self.bounded.as_mut().expect("flits are told to bounded NIC ports only")
    }
}
