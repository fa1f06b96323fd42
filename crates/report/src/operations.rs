//! Multicast operations as a measurement sees them: when their copies arrive.
//!
//! A copy counts when it has reached a member's NIC, and its latency ends when the processor of the node has taken it in, if
//! that takes time. An operation is over with its last copy; until then what is known of
//! it is kept, since its copies are seen by the observers of several shards.

use crate::tally::Tally;
use flitway_fabric::Delivery;
use flitway_process::multicaster::{MulticastPlan, OperationTag};
use std::collections::BTreeMap;

/// Copies that have been delivered, by operation.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    of: BTreeMap<OperationTag, Partial>,
}

/// What is known of one operation.
#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    copies: u32,
    flits: u64,
    /// Latencies of its copies in cycles: their sum and the largest.
    sum: u64,
    last: u64,
}

impl Copies {
    /// A copy has been delivered.
    #[inline]
    pub fn record(&mut self, tag: OperationTag, delivery: &Delivery) {
        // By way of a root that it has chosen, a member gets its own copy, too.
        if tag.source == delivery.destination {
            return;
        }
        let latency = delivery.delivered.since(delivery.created);
        self.enter(tag, delivery.flits.into(), latency);
    }

    /// A copy of so many flits has been received, so many cycles after the beginning of the operation.
    pub fn enter(&mut self, tag: OperationTag, flits: u32, latency: u64) {
        let known = self.of.entry(tag).or_default();
        known.copies += 1;
        known.flits += u64::from(flits);
        known.sum += latency;
        known.last = known.last.max(latency);
    }

    /// Takes in what another shard has seen, and counts the operations that are over with it in `over`. Nothing of `plan` but
    /// the receivers of its groups is asked.
    pub fn merge(&mut self, other: Copies, plan: &MulticastPlan, over: &mut Operations) {
        for (tag, part) in other.of {
            over.copies += u64::from(part.copies);
            over.flits += part.flits;
            let known = self.of.entry(tag).or_default();
            known.copies += part.copies;
            known.sum += part.sum;
            known.last = known.last.max(part.last);
            if known.copies == plan.receivers(tag.group) {
                over.count(*known);
                self.of.remove(&tag);
            }
        }
    }
}

/// Operations that are over, and copies delivered.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    /// Copies delivered, of all operations.
    pub copies: u64,
    /// Their flits.
    pub flits: u64,
    /// Latencies of the last copy of each operation that is over.
    pub last: Tally,
    /// Mean latencies of the copies of each.
    pub mean: Tally,
}

impl Operations {
    fn count(&mut self, of: Partial) {
        self.last.record(of.last);
        self.mean.record_mean(of.sum, of.copies.into());
    }

    /// Adds what another batch has seen.
    pub fn add(&mut self, other: &Operations) {
        self.copies += other.copies;
        self.flits += other.flits;
        self.last.add(&other.last);
        self.mean.add(&other.mean);
    }
}
