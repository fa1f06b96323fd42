//! Packets that come out of order: where switches choose the ways, or packets draw them, those of a pair of nodes overtake each
//! other.
//!
//! A packet counts as *reordered* if one of its pair that was created later has been delivered before it (the definition of
//! RFC 4737, section 3, with the time of creation for a sequence number).

use flitway_engine::Cycle;
use flitway_fabric::{Delivery, Fabric};
use flitway_wiring::routing::Selection;

/// Nodes up to which pairs are looked at: a list of all pairs of more takes too much memory.
const NODES_MAX: u32 = 2_048;

/// The newest packets that have been delivered, seen by one shard.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// By destination, and there by source: when it was created. Nothing of destinations that no packet has come to.
    newest: Vec<Box<[Cycle]>>,
}

impl Order {
    /// Whether it is looked at on `fabric`: packets of a pair of nodes may take several ways, and nodes are not too many.
    pub(crate) fn is_counted(fabric: &Fabric) -> bool {
        let selects = fabric.routing.selection() != Selection::First;
        let has_ways = selects || fabric.routing.is_adaptive() || !fabric.routing.is_plain();
        has_ways && fabric.nodes() <= NODES_MAX
    }

    /// Of the pairs of nodes of `fabric`, if it is looked at.
    pub(crate) fn of(fabric: &Fabric) -> Option<Order> {
        Order::is_counted(fabric).then(|| Order { newest: vec![Box::default(); fabric.nodes() as usize] })
    }

    /// Whether `delivery` is reordered.
    pub(crate) fn is_late(&mut self, delivery: &Delivery) -> bool {
        let nodes = self.newest.len();
        let of_destination = &mut self.newest[delivery.destination.index()];
        if of_destination.is_empty() {
            *of_destination = vec![Cycle::ZERO; nodes].into();
        }
        let newest = &mut of_destination[delivery.source.index()];
        let is_late = delivery.created < *newest;
        *newest = delivery.created.max(*newest);
        is_late
    }
}
