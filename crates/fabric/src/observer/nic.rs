//! What happens between NIC ports and the nodes behind them.

use crate::barrier::BarrierId;
use crate::{Delivery, Flow, Packet};
use flitway_engine::Cycle;
use flitway_wiring::{NodeId, RailId};

/// Is told what passes between NIC ports and nodes.
pub trait NicObserver {
    /// An endpoint has handed a packet, of so many flits, to a NIC port.
    fn created(&mut self, now: Cycle, source: NodeId, packet: &Packet, flits: u32) {
        let _ = (now, source, packet, flits);
    }

    /// A packet has reached its destination, or is certain to, at an endpoint that does not react to it. If a run is stopped
    /// it may be one that would have been delivered by the cycle up to which it was to go.
    fn delivered(&mut self, delivery: &Delivery) {
        let _ = delivery;
    }

    /// A packet has left the source queue of the NIC port of `node` in `rail`, which is bounded.
    fn sent(&mut self, now: Cycle, node: NodeId, rail: RailId, flow: Flow) {
        let _ = (now, node, rail, flow);
    }

    /// `node` has heard the answer to a packet of its own in `rail` that went to a set of nodes, and whether it is affirmative.
    fn answered(&mut self, now: Cycle, node: NodeId, rail: RailId, (flow, is_true): (Flow, bool)) {
        let _ = (now, node, rail, flow, is_true);
    }

    /// The process of `node` has arrived at a barrier.
    fn arrived(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        let _ = (now, node, group);
    }

    /// It has been released from it.
    fn released(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        let _ = (now, node, group);
    }
}
