//! What processes report.

use crate::message::{BarrierPassage, MessageEvent, Receipt, Request};
use flitway_wiring::NodeId;

/// Is told what processes report.
pub trait MessageObserver {
    /// A process of `node` has taken in a message.
    fn received(&mut self, node: NodeId, receipt: &Receipt) {
        let _ = (node, receipt);
    }

    /// A process of `node` has passed a barrier.
    fn synchronised(&mut self, node: NodeId, passage: &BarrierPassage) {
        let _ = (node, passage);
    }

    /// A process of `node` has a request to send, now or later.
    fn requested(&mut self, node: NodeId, request: &Request) {
        let _ = (node, request);
    }

    /// Sorts what a process of `node` reports.
    fn reported(&mut self, node: NodeId, event: &MessageEvent) {
        match event {
            MessageEvent::Received(receipt) => self.received(node, receipt),
            MessageEvent::Synchronised(passage) => self.synchronised(node, passage),
            MessageEvent::Requested(request) => self.requested(node, request),
        }
    }
}
