//! A NIC port: a source queue that sends a flit a cycle while there are credits, and a sink.

mod bounded;

use super::link::{self, DatedCredits};
use super::packet_state::{Inbox, PacketState};
use super::{Cx, Shared, Sp};
use bounded::Bounded;
use flitway_engine::Cycle;
use flitway_fabric::component::{PortEvent, PortModel, Rest, Stage};
use flitway_fabric::deadlock::{Fifo, Need, Side, Waiting};
use flitway_fabric::observer::{Departure, Observer};
use flitway_fabric::simulation::{Conservation, NodeWires, Wire};
use flitway_fabric::{BarrierId, Delivery, FlowKind, Pace, Packet};
use flitway_wiring::{Destination, NodeId, NodeSet, PortId, RailId};
use std::collections::VecDeque;
use std::sync::Arc;

/// A NIC port.
#[derive(Debug)]
pub struct Port {
    /// The node among the components.
    number: u32,
    rail: RailId,
    wire: Wire,
    pace: Pace,
    credits: DatedCredits,
    /// Packets to send; of the first one so many flits are left, apart from those of the run that goes on.
    source: VecDeque<Box<PacketState>>,
    left: u32,
    /// The first cycle after the run that goes on.
    until: Cycle,
    /// Packets that have come, by the cycle in which they count as delivered.
    whole: VecDeque<(Cycle, Box<PacketState>)>,
    /// No flit is sent before this cycle any more.
    from: Cycle,
    /// When a flit can be sent next, as far as known.
    due: Cycle,
    /// Flits sent since the start; the books count them modulo 2^32.
    sent: u64,
    /// Where NIC ports are bounded.
    bounded: Option<Box<Bounded>>,
}

impl Port {
    pub(super) fn new(shared: &Shared, number: u32, rail: RailId, wires: &NodeWires) -> Self {
        Port {
            number,
            rail,
            wire: wires.out,
            pace: wires.rate.into(),
            credits: DatedCredits::new(shared.settings.fifo_flits),
            source: VecDeque::new(),
            left: 0,
            until: Cycle::ZERO,
            whole: VecDeque::new(),
            from: Cycle::ZERO,
            due: Cycle::NEVER,
            sent: 0,
            bounded: Bounded::new(shared, wires),
        }
    }

    /// When the first packet that has come is delivered, as far as known.
    fn delivers_at(&self) -> Cycle {
        let whole = self.whole.front().map_or(Cycle::NEVER, |(at, _)| *at);
        self.bounded.as_ref().map_or(whole, |bounded| bounded.delivers_at(whole))
    }

    /// Takes in changes of rates. Returns a mask of the ports that have some.
    #[cold]
    fn receive_paces(ports: &mut [Self], inbox: &mut Inbox) -> u64 {
        let mut mail = 0;
        for (rail, at, rate) in inbox.paces.drain(..) {
            let port = &mut ports[usize::from(rail)];
            port.pace.change(at, rate);
            port.look(Cycle::ZERO);
            mail |= 1 << rail;
        }
        mail
    }

    /// Looks again when a flit can be sent, not before cycle `from`.
    fn look(&mut self, from: Cycle) {
        self.from = self.from.max(from);
        let credit = self.credits.when(0).unwrap_or(Cycle::NEVER);
        let nothing = self.source.is_empty();
        let due = credit.max(self.until).max(self.from);
        self.due = if nothing { Cycle::NEVER } else { self.pace.slot_from(due) };
    }
}

impl PortModel<Sp> for Port {
    fn receive<const REACTS: bool, O: Observer>(
        ports: &mut [Self],
        cx: &mut Cx<'_, O>,
        inbox: &mut Inbox,
        node: NodeId,
    ) -> u64 {
        let mut mail = 0;
        for (rail, at, state) in inbox.whole.drain(..) {
            let port = &mut ports[usize::from(rail)];
            if !REACTS && at < cx.horizon && port.whole.is_empty() {
                cx.counters.record(&state.delivery(node, port.rail, at), cx.observer);
            } else {
                port.whole.push_back((at, state));
            }
            mail |= 1 << rail;
        }
        if !inbox.heads.is_empty() | !inbox.flits.is_empty() {
            mail |= Self::receive_flits(ports, cx.shared, inbox);
        }
        for run in inbox.credits.drain(..) {
            let port = &mut ports[usize::from(run.port)];
            port.credits.add(run);
            port.look(Cycle::ZERO);
            mail |= 1 << run.port;
        }
        if !inbox.paces.is_empty() {
            mail |= Self::receive_paces(ports, inbox);
        }
        mail
    }

    fn prefetch(_: &[Self], _: u64, _: &Shared, _: &Inbox, _: Stage) {}

    fn submit(
        &mut self,
        shared: &mut Shared,
        now: Cycle,
        source: NodeId,
        packet: &Packet,
        sets: &[Arc<NodeSet>],
    ) -> u32 {
        let set = match packet.destination {
            Destination::Nodes(id) => Some(Arc::clone(&sets[id.set as usize])),
            Destination::Node(_) | Destination::Group(..) => None,
        };
        let climb = set.as_ref().map_or(0, |set| {
            assert!(!set.is_empty(), "a packet for a set of nodes is for one at least");
            shared.reach().climb(shared.routing.topology(), source, set)
        });
        let state = PacketState::new(&shared.settings, source, packet, set, climb);
        let flits = state.flits;
        if self.source.is_empty() {
            self.left = flits;
        }
        self.source.push_back(Box::new(state));
        self.look(now);
        flits
    }

    fn delivery(&mut self, _: &mut Shared, now: Cycle, node: NodeId) -> Option<Delivery> {
        if self.delivers_at() > now {
            return None;
        }
        let (_, state) = self.whole.pop_front()?;
        if let Some(bounded) = &mut self.bounded {
            bounded.deliver(&state);
        }
        Some(state.delivery(node, self.rail, now))
    }

    fn event<O: Observer>(&mut self, _: &mut Cx<'_, O>, now: Cycle) -> Option<PortEvent> {
        self.bounded.as_mut()?.take_sent(now).map(PortEvent::Sent)
    }

    fn drain<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle, _: u8) {
        let bounded = self.bounded.as_mut().expect("an ideal NIC port is not drained");
        bounded.drain(cx, now);
    }

    fn arrive<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle, _: BarrierId) -> bool {
        false
    }

    fn advance<O: Observer>(&mut self, cx: &mut Cx<'_, O>, now: Cycle) {
        if self.due > now {
            return;
        }
        let count = self.credits.in_a_row(now).min(self.left).min(self.pace.slots_in_a_row(now));
        if count > 0 {
            self.credits.take(count);
            let transmit = u64::from(cx.shared.settings.pipeline.transmit);
            let head = &mut self.source[0];
            if head.flits == self.left {
                head.injected = now + transmit;
                head.arrived = head.injected + u64::from(self.wire.latency);
                cx.observer.departed(&Departure {
                    packet: head.name(),
                    component: self.number,
                    port: PortId(self.rail.0),
                    vc: 0,
                    flits: head.flits as u16,
                    ready: head.created,
                    free: self.until,
                    chosen: now,
                    arrives: head.arrived,
                });
                let state = head.clone();
                let mail = super::packet_state::Mail::Head(self.wire.port, state);
                link::post(cx.post, &self.wire, Cycle::NEVER, mail);
            }
            link::send_flits(cx, &self.wire, now, count, false);
            self.sent += u64::from(count);
            self.left -= count;
            self.until = now + u64::from(count);
            if self.left == 0 {
                let sent = self.source.pop_front();
                self.left = self.source.front().map_or(0, |next| next.flits);
                if let (Some(bounded), Some(state)) = (&mut self.bounded, sent) {
                    bounded.leave(self.until, state.flow());
                }
            }
        }
        self.look(now + 1);
    }

    fn next(&self) -> Cycle {
        let left = self.bounded.as_ref().map_or(Cycle::NEVER, |bounded| bounded.leaves_at());
        self.delivers_at().min(self.due).min(left)
    }

    fn finish<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) -> Rest {
        let starved = !self.source.is_empty() && self.credits.total() == 0;
        Rest { next: self.next(), waits: starved }
    }

    fn settle<O: Observer>(&mut self, _: &mut Cx<'_, O>, _: Cycle) {}

    fn sent_flits(&self) -> Option<u64> {
        Some(self.sent)
    }

    fn waiting(&self, _: &Shared, node: NodeId, _: Cycle) -> Vec<Waiting> {
        let output = PortId(self.rail.0);
        let input = Fifo { switch: self.number, port: output, vc: 0, side: Side::Input };
        let has_reply = self.source.iter().any(|state| state.flow().is(FlowKind::Reply));
        let source = self.bounded.as_ref().and_then(|bounded| bounded.kept_request());
        let kept = source.map(|source| Waiting::for_replies(input, source, node, has_reply.then_some(0)));
        let first = self.source.front().filter(|_| self.credits.total() == 0).map(|state| Waiting {
            fifo: Fifo { side: Side::Output, ..input },
            source: node,
            destination: state.destination(),
            feeds: 0,
            needs: vec![Need::Space { output, vc: 0, units: 1, sent: self.sent as u32 }],
            alternatives: Vec::new(),
        });
        kept.into_iter().chain(first).collect()
    }

    fn position(&self, shared: &Shared, _: u8, _: Cycle) -> u32 {
        let freed = self.bounded.as_ref().map_or(0, |bounded| bounded.freed());
        shared.settings.nic_buffer_flits().wrapping_add(freed)
    }

    fn audit(&self, _: &Shared, _: Cycle, books: &mut Conservation) {
        // A packet is where its first flit is.
        let begun = self.source.front().is_some_and(|head| head.flits != self.left);
        books.in_network += (self.source.len() + self.whole.len()) as u64 - u64::from(begun);
        books.units_sent += u64::from(self.sent as u32);
        if let Some(bounded) = &self.bounded {
            bounded.audit(books);
        }
    }
}
