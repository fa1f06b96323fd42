//! What a shard sees of links that change and packets that are lost, and how much is created and delivered in time.

use flitway_engine::Cycle;
use flitway_fabric::observer::{LinkChange, Loss};

/// What has been seen since the start.
#[derive(Clone, Debug, Default)]
pub struct FaultRecord {
    /// Cycles of a bin.
    pub bin: u64,
    /// By bin: flits created and delivered.
    pub created: Vec<u64>,
    pub delivered: Vec<u64>,
    /// Packets that are lost for good.
    pub losses: Vec<Loss>,
    /// States of links that have changed, in order for each port.
    pub changes: Vec<LinkChange>,
}

impl FaultRecord {
    /// With bins of so many cycles.
    #[must_use]
    pub fn new(bin: u64) -> Self {
        FaultRecord { bin: bin.max(1), ..FaultRecord::default() }
    }

    /// A packet of so many flits is created in cycle `now`.
    pub fn create(&mut self, now: Cycle, flits: u64) {
        enter(&mut self.created, now.0 / self.bin, flits);
    }

    /// One is delivered.
    pub fn deliver(&mut self, now: Cycle, flits: u64) {
        enter(&mut self.delivered, now.0 / self.bin, flits);
    }

    /// Adds what another shard has seen.
    pub fn add(&mut self, other: &FaultRecord) {
        self.bin = self.bin.max(other.bin);
        for (sums, parts) in [(&mut self.created, &other.created), (&mut self.delivered, &other.delivered)] {
            (0..).zip(parts).for_each(|(bin, &flits)| enter(sums, bin, flits));
        }
        self.losses.extend(&other.losses);
        self.changes.extend(&other.changes);
    }

    /// The same in an order that does not depend on shards.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.losses.sort_unstable();
        // Those of a port are in order already, and stay so.
        self.changes.sort_by_key(|change| (change.at, change.component, change.port));
        self
    }
}

fn enter(bins: &mut Vec<u64>, bin: u64, flits: u64) {
    let bin = bin as usize;
    if bins.len() <= bin {
        bins.resize(bin + 1, 0);
    }
    bins[bin] += flits;
}
