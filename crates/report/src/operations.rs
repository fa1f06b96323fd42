//! Multicast operations as a measurement sees them: when their copies arrive.
//!
//! A copy counts when it has reached a member's NIC. An operation is over with its last copy; until then what is known of
//! it is kept, since its copies are seen by the observers of several shards.

use crate::recorder::{Latencies, latencies};
use flitway_fabric::Delivery;
use flitway_nic::multicaster::{MulticastPlan, OperationTag};
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
        let known = self.of.entry(tag).or_default();
        known.copies += 1;
        known.flits += u64::from(delivery.flits);
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

/// Parts of a cycle.
const PARTS: u128 = 1 << 20;

/// Operations that are over, and copies delivered.
#[derive(Clone, Debug)]
pub struct Operations {
    /// Operations that are over.
    pub operations: u64,
    /// Copies delivered, of all operations.
    pub copies: u64,
    /// Their flits.
    pub flits: u64,
    /// Latencies of the last copy of each operation, in cycles: sum and largest, exactly.
    pub last: u64,
    /// The largest of them.
    pub last_max: u64,
    /// All of them.
    pub last_latencies: Latencies,
    /// Mean latencies of the copies of each operation, in parts of a cycle: their sum.
    mean: u128,
    /// The largest of them, rounded.
    pub mean_max: u64,
    /// All of them, rounded.
    pub mean_latencies: Latencies,
}

impl Default for Operations {
    fn default() -> Self {
        Operations {
            operations: 0,
            copies: 0,
            flits: 0,
            last: 0,
            last_max: 0,
            last_latencies: latencies(),
            mean: 0,
            mean_max: 0,
            mean_latencies: latencies(),
        }
    }
}

impl Operations {
    fn count(&mut self, of: Partial) {
        // Whole numbers, so that the sum does not depend on the order of its parts.
        let mean = u128::from(of.sum) * PARTS / u128::from(of.copies);
        let rounded = ((mean + PARTS / 2) / PARTS) as u64;
        self.operations += 1;
        self.last += of.last;
        self.last_max = self.last_max.max(of.last);
        self.mean += mean;
        self.mean_max = self.mean_max.max(rounded);
        for (latencies, latency) in [(&mut self.last_latencies, of.last), (&mut self.mean_latencies, rounded)]
        {
            latencies.record(latency).expect("a histogram that grows as needed takes any latency");
        }
    }

    /// Adds what another batch has seen.
    pub fn add(&mut self, other: &Operations) {
        self.operations += other.operations;
        self.copies += other.copies;
        self.flits += other.flits;
        self.last += other.last;
        self.last_max = self.last_max.max(other.last_max);
        self.mean += other.mean;
        self.mean_max = self.mean_max.max(other.mean_max);
        for (sum, part) in [
            (&mut self.last_latencies, &other.last_latencies),
            (&mut self.mean_latencies, &other.mean_latencies),
        ] {
            sum.add(part).expect("histograms of one precision that grow as needed can be added");
        }
    }

    /// Mean latency of the last copy in cycles.
    #[must_use]
    pub fn mean_last(&self) -> f64 {
        self.last as f64 / self.operations as f64
    }

    /// Mean latency of a copy in cycles, averaged over operations.
    #[must_use]
    pub fn mean_copy(&self) -> f64 {
        self.mean as f64 / PARTS as f64 / self.operations as f64
    }
}
