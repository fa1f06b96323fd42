//! Multicast operations of a node, in the switches or by forwarding.
//!
//! **Out.** An operation becomes one packet for its group or for the set of its receivers, one for each run of consecutive
//! members, or one for each child of the sender in a forwarding tree. **In.** In a tree, who gets a packet sends it on to
//! its own children.
//!
//! **Processor.** Each packet sent takes the processor of the node for the send overhead, before it is handed to a NIC port;
//! each packet of an operation received takes it for the receive overhead, before anything is sent on. It does one thing
//! at a time, in the order in which they come up. Rails take turns by packet. A copy has been received when the processor has
//! taken it in: at once where that takes no time, and else it reports a [`Receipt`].

mod plan;
mod root;

pub use plan::{Copying, Method, MulticastPlan, OperationTag, PlanSettings};
pub use root::{Loads, Manager, Request, RootPolicy};

use crate::processor::Processor;
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::observer::{MessageEvent, Receipt};
use flitway_fabric::{Delivery, Endpoint, Flow, Outgoing, Packet, Up};
use flitway_wiring::NodeId;
use flitway_wiring::{Destination, GroupId, NodeSet, RailId};
use flitway_workload::multicast::{Operation, OperationSource};
use root::RootChooser;
use std::collections::VecDeque;
use std::sync::Arc;

/// The multicast operations of a node.
#[derive(Debug)]
pub struct Multicaster {
    plan: Arc<MulticastPlan>,
    node: NodeId,
    operations: OperationSource,
    /// It makes packets.
    processor: Processor<Pending>,
    begun: u32,
    next_rail: u32,
    lanes: Stream,
    roots: RootChooser,
    managed: Managed,
}

/// A packet that the processor will have made.
#[derive(Clone, Debug)]
struct Pending {
    to: To,
    rail: RailId,
    payload: u16,
    created: Cycle,
    flow: Flow,
}

/// What management decides for a node.
#[derive(Debug)]
struct Managed {
    /// Operations from the first one on that it has not decided on, and the rail of the first packet of that.
    ahead: OperationSource,
    rail: u32,
    /// Those of operations that have not begun, packet by packet.
    roots: VecDeque<u32>,
}

#[derive(Clone, Debug)]
enum To {
    /// By way of this root, if management has decided on it.
    Group(GroupId, Option<u32>),
    Set(Arc<NodeSet>),
    Node(NodeId),
}

impl Multicaster {
    /// The operations of `node`.
    #[must_use]
    pub fn new(plan: &Arc<MulticastPlan>, node: NodeId) -> Self {
        let operations = OperationSource::new(plan.multicast(), node);
        Multicaster {
            plan: Arc::clone(plan),
            node,
            managed: Managed { ahead: operations.clone(), rail: 0, roots: VecDeque::new() },
            operations,
            processor: Processor::new(),
            begun: 0,
            next_rail: 0,
            lanes: Stream::new(plan.seed(), node.0.into(), Purpose::Forwarding),
            roots: RootChooser::new(plan, node),
        }
    }

    /// Begins `operation`.
    fn begin(&mut self, operation: Operation) {
        let Operation { created, group, payload } = operation;
        // As much of the number as the tag keeps.
        let tag = OperationTag { group, source: self.node, sequence: self.begun & 0xFF_FFFF };
        self.begun += 1;
        let plan = Arc::clone(&self.plan);
        for mut to in plan.first_packets(tag) {
            if let To::Group(_, root) = &mut to
                && plan.root().is_managed()
            {
                let decided = self.managed.roots.pop_front();
                *root = Some(decided.expect("management decides before an operation begins"));
            }
            self.send(created, to, payload, created, tag.into());
        }
    }

    /// The processor makes a packet, in cycle `now` or as soon as it has done what it has to do before.
    fn send(&mut self, now: Cycle, to: To, payload: u16, created: Cycle, flow: Flow) {
        let rail = RailId(self.next_rail);
        self.next_rail = (self.next_rail + 1) % self.plan.rails();
        self.processor.work(now, self.plan.send_overhead(), Pending { to, rail, payload, created, flow });
    }

    /// What management has decided is void.
    pub fn forget_roots(&mut self) {
        self.managed =
            Managed { ahead: self.operations.clone(), rail: self.next_rail, roots: VecDeque::new() };
    }

    /// The packets of operations that begin before `until` and on which management has not decided.
    pub fn requests(&mut self, until: Cycle) -> Vec<Request> {
        let (plan, node) = (&self.plan, self.node);
        let Managed { ahead, rail, .. } = &mut self.managed;
        let mut requests = Vec::new();
        while ahead.next_creation().is_some_and(|created| created < until) {
            let Some(Operation { created, group, .. }) = ahead.create() else { break };
            for group in plan.parts(group, node) {
                requests.push(Request { created, node, rail: RailId(*rail), group });
                *rail = (*rail + 1) % plan.rails();
            }
        }
        requests
    }

    /// Management has decided on the roots of the next packets without one.
    pub fn learn_roots(&mut self, roots: &[u32]) {
        self.managed.roots.extend(roots);
    }

    /// Hands over what the processor has made by now.
    fn hand_over(&mut self, now: Cycle, out: &mut Outgoing) {
        while let Some(packet) = self.processor.done(now) {
            let Pending { to, rail, payload, created, flow } = packet;
            let destination = match to {
                To::Node(node) => Destination::Node(node),
                To::Group(group, Some(root)) => Destination::Group(group, root),
                To::Group(group, None) => {
                    Destination::Group(group, self.roots.choose(&self.plan, self.node, rail, group))
                }
                To::Set(_) => Destination::Node(self.node),
            };
            let packet = Packet { destination, rail, lane: self.lanes.bits() as u32, payload, created, flow };
            match to {
                To::Set(set) => out.push_to_set(packet, set),
                To::Node(_) | To::Group(..) => out.push(packet),
            }
        }
    }

    fn next(&self) -> Option<Cycle> {
        [self.processor.next(), self.operations.next_creation()].into_iter().flatten().min()
    }
}

impl Endpoint for Multicaster {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while self.operations.next_creation().is_some_and(|created| created <= now) {
            let Some(operation) = self.operations.create() else { break };
            self.begin(operation);
        }
        self.hand_over(now, out);
        self.next()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        if let Up::Delivery(delivery) = up
            && let Some(tag) = OperationTag::of(delivery.flow).filter(|tag| tag.source != self.node)
        {
            let overhead = self.plan.receive_overhead();
            let taken_in = self.processor.spend(now, overhead);
            let plan = Arc::clone(&self.plan);
            let Delivery { payload, created, flits, flow, .. } = *delivery;
            if overhead > 0 {
                let receipt = Receipt { flow, flits: flits.into(), created, received: taken_in };
                out.report(MessageEvent::Received(receipt));
            }
            for to in plan.forwards(tag, self.node) {
                self.send(now, to, payload, created, flow);
            }
            self.hand_over(now, out);
        }
        self.next()
    }
}

#[cfg(test)]
mod tests;
