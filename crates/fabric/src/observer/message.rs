//! What processes report.

use crate::message::{BarrierPassage, MessageEvent, Receipt};
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

    /// Sorts what a process of `node` reports.
    fn reported(&mut self, node: NodeId, event: &MessageEvent) {
        match event {
            MessageEvent::Received(receipt) => self.received(node, receipt),
            MessageEvent::Synchronised(passage) => self.synchronised(node, passage),
        }
    }
}
