//! What of a difference between flits that are counted at two places may be chance.

use crate::recorder::Batch;

/// By how much the source queues have grown, as a fraction of the flits put into them, and how much of that may be chance: a
/// standard deviation.
pub(super) struct Growth {
    pub(super) by: f64,
    pub(super) chance: f64,
}

impl Growth {
    pub(super) fn of(batches: &[Batch]) -> Growth {
        let sum = |of: fn(&Batch) -> u64| batches.iter().map(of).sum::<u64>() as f64;
        let (queued, injected) = (sum(|batch| batch.queued_flits), sum(|batch| batch.injected_flits));
        let packets = sum(|batch| batch.created);
        // Operations are not created by chance.
        let chance = if packets > 0.0 { packets.sqrt().recip() } else { 0.0 };
        Growth { by: (queued - injected) / queued.max(1.0), chance }
    }
}

/// By how much more was created than delivered or lost, as a fraction of what was created, and how much of that may be chance:
/// a standard deviation.
pub(super) struct Excess {
    pub(super) by: f64,
    pub(super) chance: f64,
    /// What one packet makes, or one operation where there are some.
    pub(super) one: f64,
}

impl Excess {
    /// Of `batches` of `length` cycles.
    pub(super) fn of(batches: &[Batch], length: u64) -> Excess {
        let sum = |of: fn(&Batch) -> u64| batches.iter().map(of).sum::<u64>() as f64;
        let (created, delivered) = (sum(|batch| batch.created_flits), sum(|batch| batch.delivered_flits));
        let gone = sum(Batch::gone_flits);
        let cycles = batches.len() as f64 * length as f64;
        // By Little's law; what is under way comes and goes by itself, at the beginning and at the end, packet by packet.
        let variance = |flits: f64, latency: f64, whole: f64| 2.0 * flits / cycles * latency * whole;
        let latency = sum(|batch| batch.packet_latency) / sum(|batch| batch.packets).max(1.0);
        let tallies = || batches.iter().flat_map(|batch| [&batch.operations.last, &batch.barriers.last]);
        let operations = tallies().map(|of| of.count).sum::<u64>() as f64;
        let (variance, one) = if operations > 0.0 {
            let of_packets = sum(|batch| batch.flits);
            let (packet, operation) =
                (of_packets / sum(|batch| batch.packets).max(1.0), (delivered - of_packets) / operations);
            let known = tallies().filter(|of| of.count > 0).map(|of| of.mean() * of.count as f64);
            let of_operations = variance(delivered - of_packets, known.sum::<f64>() / operations, operation);
            (variance(of_packets, latency, packet) + of_operations, packet.max(operation))
        } else {
            let packet = sum(|batch| batch.queued_flits) / sum(|batch| batch.created).max(1.0);
            (variance(delivered, latency, packet), packet)
        };
        let part = |flits: f64| flits / created.max(1.0);
        Excess { by: part(created - gone), chance: part(variance.sqrt()), one: part(one) }
    }

    /// Whether so many deviations of chance do not explain it, nor one packet or operation more or less at the end.
    pub(super) fn is_beyond(&self, deviations: f64) -> bool {
        self.by > deviations * self.chance.hypot(self.one / 2.0_f64.sqrt())
    }
}
