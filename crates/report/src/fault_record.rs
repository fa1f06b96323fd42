//! What a shard sees of links that change and packets that are lost, and how much is created and delivered in time.

use flitway_engine::Cycle;
use flitway_fabric::FlowKind;
use flitway_fabric::observer::{LinkChange, LinkError, LinkErrorKind, Loss};

/// Bins of a record. In a run that is longer they become twice as long.
const BINS_MAX: u64 = 4_096;

/// What has been seen since the start.
#[derive(Clone, Debug, Default)]
pub struct FaultRecord {
    /// Cycles of a bin.
    pub bin: u64,
    /// By bin: flits created and delivered.
    pub created: Vec<u64>,
    pub delivered: Vec<u64>,
    /// Packets that are lost for good, and how many of them are part of a task graph or a train.
    pub losses: Vec<Loss>,
    pub messages_lost: u64,
    /// States of links that have changed, in order for each port.
    pub changes: Vec<LinkChange>,
    /// CRC errors that the manager has not read, where there is one.
    unread: Option<Vec<LinkError>>,
}

impl FaultRecord {
    /// With bins of so many cycles.
    #[must_use]
    pub fn new(bin: u64) -> Self {
        FaultRecord { bin: bin.max(1), ..FaultRecord::default() }
    }

    /// The same, with CRC errors kept for a manager who reads them, if there is one.
    #[must_use]
    pub fn read_by_manager(self, is_read: bool) -> Self {
        FaultRecord { unread: is_read.then(Vec::new), ..self }
    }

    /// A link has counted an error.
    pub fn err(&mut self, error: &LinkError) {
        if let Some(unread) = self.unread.as_mut().filter(|_| error.kind == LinkErrorKind::Corrupted) {
            unread.push(*error);
        }
    }

    /// CRC errors before cycle `until` that have not been read, which now are.
    pub fn read(&mut self, until: Cycle) -> Vec<LinkError> {
        self.unread
            .as_mut()
            .map_or_else(Vec::new, |unread| unread.extract_if(.., |it| it.at < until).collect())
    }

    /// A packet of so many flits is created in cycle `now`.
    pub fn create(&mut self, now: Cycle, flits: u64) {
        self.make_room(now);
        enter(&mut self.created, now.0 / self.bin, flits);
    }

    /// One is delivered.
    pub fn deliver(&mut self, now: Cycle, flits: u64) {
        self.make_room(now);
        enter(&mut self.delivered, now.0 / self.bin, flits);
    }

    /// One is lost.
    pub fn lose(&mut self, loss: &Loss) {
        self.losses.push(*loss);
        self.messages_lost += u64::from(loss.flow.is(FlowKind::Message));
    }

    fn make_room(&mut self, now: Cycle) {
        while now.0 / self.bin >= BINS_MAX {
            self.coarsen(self.bin.saturating_mul(2));
        }
    }

    /// Has bins of so many cycles, a multiple of what they had.
    fn coarsen(&mut self, bin: u64) {
        let joined = bin / self.bin;
        for flits in [&mut self.created, &mut self.delivered] {
            let parts = std::mem::take(flits);
            (0..).zip(parts).for_each(|(place, part): (u64, u64)| enter(flits, place / joined, part));
        }
        self.bin = bin;
    }

    /// Adds what another shard of the same run has seen.
    pub fn add(&mut self, other: &FaultRecord) {
        let bin = self.bin.max(other.bin);
        if self.bin > 0 {
            self.coarsen(bin);
        }
        self.bin = bin;
        for (sums, parts) in [(&mut self.created, &other.created), (&mut self.delivered, &other.delivered)] {
            (0..).zip(parts).for_each(|(place, &flits): (u64, _)| {
                enter(sums, place * other.bin / bin, flits);
            });
        }
        self.losses.extend(&other.losses);
        self.messages_lost += other.messages_lost;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_longer_bins_and_shards_agree_on_them() {
        let mut short = FaultRecord::new(10);
        short.create(Cycle(25), 3);
        short.deliver(Cycle(31), 2);
        let mut long = short.clone();
        long.deliver(Cycle(10 * BINS_MAX), 5);
        assert_eq!((long.bin, &long.created[..], long.delivered[1]), (20, &[0, 3][..], 2));
        for (one, other) in [(&short, &long), (&long, &short)] {
            let mut sum = FaultRecord::default();
            sum.add(one);
            sum.add(other);
            assert_eq!((sum.bin, &sum.created[..], sum.delivered[1]), (20, &[0, 6][..], 4));
            assert_eq!(sum.delivered.iter().sum::<u64>(), 9);
        }
    }
}
