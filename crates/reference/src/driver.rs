//! Runs a model of a switch: what sits on top of its NIC ports, cycle by cycle.

use crate::record::Record;
use crate::script::Scripted;
use flitway_engine::Cycle;
use flitway_fabric::simulation::Counters;
use flitway_fabric::{BarrierId, Delivery, Flow, Outgoing, Packet, Ticket, Up};
use flitway_wiring::{Destination, NodeId, NodeSet, RailId};
use std::sync::Arc;

/// A model of a fabric of one kind of switch, from NIC port to NIC port.
pub trait Model {
    /// All components do this cycle.
    fn step(&mut self);

    /// The first cycle not yet simulated.
    fn now(&self) -> Cycle;

    /// What has happened so far.
    fn record(&self) -> &Record;

    /// Where the driver writes what it does.
    fn record_mut(&mut self) -> &mut Record;

    /// Totals so far. `events` is the fast engine's own business, and zero.
    fn counters(&self) -> Counters;

    /// The packets that a NIC port delivers in this cycle.
    fn deliveries(&mut self, node: NodeId, rail: RailId) -> Vec<Delivery>;

    /// Those that left the source queue of a bounded NIC port in the cycle before.
    fn sent(&mut self, node: NodeId, rail: RailId) -> Vec<Flow>;

    /// Packets that were answered in a cycle before, and whether affirmatively: those for sets of nodes, or all if NIC ports
    /// are answering.
    fn answered(&mut self, node: NodeId, rail: RailId) -> Vec<(Flow, bool)> {
        let _ = (node, rail);
        Vec::new()
    }

    /// The packet of `ticket`, which has been delivered in this cycle, is denied.
    fn deny(&mut self, node: NodeId, ticket: Ticket) {
        panic!("{node} denies what came by {ticket:?}, and switches carry no answers");
    }

    /// A NIC port takes a packet, which may be for a set of nodes.
    fn submit(&mut self, node: NodeId, packet: Packet, set: Option<Arc<NodeSet>>);

    /// The packet of `ticket`, which a bounded NIC port keeps, is drained.
    fn drain(&mut self, node: NodeId, ticket: Ticket);

    /// The groups of whose barriers a NIC port releases its process in this cycle.
    fn releases(&mut self, node: NodeId, rail: RailId) -> Vec<BarrierId>;

    /// The process of `node` arrives at a barrier of `group`.
    fn arrive(&mut self, node: NodeId, group: BarrierId);
}

/// A model, with what sits on top of its NIC ports.
#[derive(Debug)]
pub struct Reference<M, E> {
    model: M,
    rails: u32,
    endpoints: Vec<E>,
}

impl<M: Model, E: Scripted> Reference<M, E> {
    /// `model`, which has so many rails, with an endpoint on each node.
    #[must_use]
    pub fn new(model: M, rails: u32, endpoints: Vec<E>) -> Self {
        Reference { model, rails, endpoints }
    }

    /// The first cycle not yet simulated.
    #[must_use]
    pub fn now(&self) -> Cycle {
        self.model.now()
    }

    /// Whether every packet has been delivered and every endpoint has done.
    #[must_use]
    pub fn has_delivered_all(&self) -> bool {
        let counters = self.model.counters();
        self.endpoints.iter().all(Scripted::is_done)
            && counters.packets_delivered + counters.packets_missed + counters.lost.sum()
                == counters.packets_created + counters.packets_copied
    }

    /// What has happened so far.
    #[must_use]
    pub fn record(&self) -> &Record {
        self.model.record()
    }

    /// Totals so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.model.counters()
    }

    /// Simulates all cycles before `end`.
    pub fn run_until(&mut self, end: Cycle) {
        while self.now() < end {
            self.cycle();
        }
    }

    /// Simulates until every packet has been delivered, at most to `limit`.
    pub fn run_to_delivery(&mut self, limit: Cycle) {
        while self.now() < limit && !self.has_delivered_all() {
            self.cycle();
        }
    }

    /// One cycle.
    fn cycle(&mut self) {
        for (node, endpoint) in self.endpoints.iter_mut().enumerate() {
            act(&mut self.model, NodeId::new(node), self.rails, endpoint);
        }
        self.model.step();
    }
}

/// `endpoint` hears, rail by rail, what is delivered and what has been sent, then of barriers; what it does then reaches the
/// NIC ports in this cycle: packets first, arrivals at barriers next.
fn act<M: Model, E: Scripted>(model: &mut M, node: NodeId, rails: u32, endpoint: &mut E) {
    let (now, mut out) = (model.now(), Outgoing::new());
    for rail in (0..rails).map(RailId) {
        for delivery in model.deliveries(node, rail) {
            endpoint.hear(now, Up::Delivery(&delivery), &mut out);
        }
        for flow in if E::BOUNDED { model.sent(node, rail) } else { Vec::new() } {
            model.record_mut().sent.push((now, node, rail, flow));
            endpoint.hear(now, Up::Sent(rail, flow), &mut out);
        }
        for (flow, is_true) in model.answered(node, rail) {
            model.record_mut().answered.push((now, node, rail, flow, is_true));
            endpoint.hear(now, Up::Answered(rail, flow, is_true), &mut out);
        }
    }
    for rail in (0..rails).map(RailId) {
        for group in model.releases(node, rail) {
            model.record_mut().releases.push((now, node, group));
            endpoint.hear(now, Up::Released(group), &mut out);
        }
    }
    endpoint.wake(now, &mut out);
    for packet in out.packets {
        let set = match packet.destination {
            Destination::Nodes(id) => Some(Arc::clone(&out.sets[id.set as usize])),
            Destination::Node(_) | Destination::Group(..) => None,
        };
        model.submit(node, packet, set);
    }
    for group in out.arrivals {
        model.record_mut().arrivals.push((now, node, group));
        model.arrive(node, group);
    }
    for ticket in out.drained {
        model.drain(node, ticket);
    }
    for ticket in out.denied {
        model.deny(node, ticket);
    }
}
