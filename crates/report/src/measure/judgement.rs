//! What is concluded from the batches of a measurement: whether it is over, and how it has ended.

use super::{Aim, Series, Unsettled, Verdict};
use crate::recorder::Batch;
use crate::stats::{self, Estimate};

/// The fewest batches from which anything is concluded.
const BATCHES_FIRST: usize = 20;

/// The fewest from which saturation is concluded.
const BATCHES_SATURATED: usize = 40;

/// Deviations from what chance gives from which something is said.
const SURE: f64 = 3.0;

/// Batches between two looks for packets that wait for each other.
const LOOK_EVERY: usize = 20;

pub(super) enum Judgement {
    /// It ends so, with the first batches cut off.
    Over(Verdict, usize),
    /// It goes on; this is the precision reached.
    GoOn(Option<f64>),
}

impl Series<'_> {
    /// Whether it is time to look for packets that wait for each other: when less was delivered than created, in batches of
    /// which there are ever fewer.
    pub(super) fn asks_for_deadlock(&self) -> bool {
        let last = self.batches.last().is_some_and(|batch| batch.delivered_flits < batch.created_flits);
        last && (self.batches.len().is_power_of_two() || self.batches.len().is_multiple_of(LOOK_EVERY))
    }

    pub(super) fn judge(&self) -> Judgement {
        let count = self.batches.len();
        if let Some(duration) = self.plan.duration {
            return match self.found_warm_up() {
                Some(cut) if count >= cut + duration.div_ceil(self.length).max(1) as usize => {
                    Judgement::Over(self.verdict_of_all(cut), cut)
                }
                None => self.give_up_or_go_on(None, None),
                Some(_) => Judgement::GoOn(None),
            };
        }
        if count < BATCHES_FIRST {
            return Judgement::GoOn(None);
        }
        let is_saturated = self.is_saturated();
        let is_flat = self.estimate(count / 2, Self::accepted).is_within(self.plan.precision);
        if is_saturated && is_flat && !self.is_filling(0.0) && self.aim != Aim::Barriers {
            return Judgement::Over(Verdict::Saturated, self.fallback());
        }
        let Some(cut) = self.found_warm_up() else { return self.give_up_or_go_on(None, None) };
        let latency = self.estimate(cut, |batch| self.latency(batch));
        let accepted = self.estimate(cut, Self::accepted);
        // How many operations begin in a batch is chance, and they are few.
        let is_known = self.aim != Aim::Packets || accepted.is_within(self.plan.precision);
        if latency.is_within(self.plan.precision) && is_known && !self.has_grown(cut) {
            // Barriers may be steady in a network that is not.
            let is_saturated = is_saturated && self.aim == Aim::Barriers;
            return Judgement::Over(if is_saturated { Verdict::Saturated } else { Verdict::Steady }, cut);
        }
        let reached = Some(latency.half_width / latency.mean).filter(|reached| reached.is_finite());
        self.give_up_or_go_on(reached, Some(cut))
    }

    fn give_up_or_go_on(&self, reached: Option<f64>, cut: Option<usize>) -> Judgement {
        if self.batches.len() < self.plan.batches_max {
            return Judgement::GoOn(reached);
        }
        if self.is_saturated() {
            return Judgement::Over(Verdict::Saturated, self.fallback());
        }
        Judgement::Over(Verdict::Unsettled, cut.unwrap_or_else(|| self.fallback()))
    }

    /// What to say of a time that was asked for, which begins after `cut` batches.
    fn verdict_of_all(&self, cut: usize) -> Verdict {
        let latencies = self.batches[cut..].iter().map(|batch| self.latency(batch));
        let latencies: Vec<f64> = latencies.filter(|latency| latency.is_finite()).collect();
        if self.is_saturated() {
            Verdict::Saturated
        } else if self.is_filling(SURE)
            || self.has_grown(cut)
            || stats::trend(&latencies).abs() > self.plan.precision
        {
            Verdict::Unsettled
        } else {
            Verdict::Steady
        }
    }

    /// Why a run that has ended so, with the first `cut` batches cut off, is unsettled.
    pub(super) fn unsettled(&self, verdict: Verdict, cut: usize) -> Option<Unsettled> {
        let is_moving = self.plan.duration.is_some() || self.found_warm_up() != Some(cut);
        match verdict {
            Verdict::Saturated | Verdict::Unsettled if self.is_filling(SURE) => Some(Unsettled::Filling),
            Verdict::Unsettled if is_moving => Some(Unsettled::Trend),
            Verdict::Unsettled => Some(Unsettled::Imprecise),
            Verdict::Steady | Verdict::Saturated | Verdict::Deadlock | Verdict::Stopped => None,
        }
    }

    /// The warm-up as the data show it, when every batch after it has packets to show; none is left if it was asked for.
    fn found_warm_up(&self) -> Option<usize> {
        if self.plan.warm_up.is_some() {
            return Some(0);
        }
        let first =
            self.batches.iter().rposition(|batch| self.counted(batch) == 0).map_or(0, |last| last + 1);
        let rest = &self.batches[first..];
        if rest.len() < BATCHES_FIRST || first > stats::warm_up_limit(self.batches.len()) {
            return None;
        }
        let latencies: Vec<f64> = rest.iter().map(|batch| self.latency(batch)).collect();
        Some(first + stats::warm_up(&latencies)?)
    }

    /// Where to cut when the data show no end of the warm-up: in the middle.
    pub(super) fn fallback(&self) -> usize {
        if self.plan.warm_up.is_some() { 0 } else { self.batches.len() / 2 }
    }

    fn accepted(batch: &Batch) -> f64 {
        batch.delivered_flits as f64
    }

    /// The latency that has to be known.
    fn latency(&self, batch: &Batch) -> f64 {
        match self.aim {
            Aim::Packets => batch.mean_packet_latency(),
            Aim::LastCopies => batch.operations.last.mean(),
            Aim::Barriers | Aim::MessageBarriers => batch.barriers.last.mean(),
        }
    }

    /// What it is the mean over.
    fn counted(&self, batch: &Batch) -> u64 {
        match self.aim {
            Aim::Packets => batch.packets,
            Aim::LastCopies => batch.operations.last.count,
            Aim::Barriers | Aim::MessageBarriers => batch.barriers.last.count,
        }
    }

    pub(super) fn estimate(&self, cut: usize, value: impl Fn(&Batch) -> f64) -> Estimate {
        let values = self.batches[cut..].iter().map(value).filter(|value| value.is_finite());
        stats::estimate(&values.collect::<Vec<_>>())
    }

    fn is_saturated(&self) -> bool {
        let count = self.batches.len();
        // A run with barriers does not end with this, it only says so.
        let fewest = if self.aim == Aim::Barriers { BATCHES_FIRST } else { BATCHES_SATURATED };
        if count < fewest {
            return false;
        }
        let is_warm = self.plan.warm_up.is_some();
        let (before, half) = self.batches.split_at(count / 2);
        let quarters = half.chunks(half.len().div_ceil(4));
        let before = if is_warm { before } else { &before[count / 4..] };
        let all = Growth::of(if is_warm { &self.batches } else { half });
        let (before, half) = (Growth::of(before), Growth::of(half));
        half.by > self.plan.precision
            && all.by > self.plan.precision.max(SURE * all.chance)
            && half.by + 2.0 * half.chance >= 0.8 * (before.by - 2.0 * before.chance)
            && quarters.map(Growth::of).all(|part| part.by + 2.0 * part.chance > 0.0)
    }

    /// Whether more was created than delivered after the first `cut` batches, and not by chance: then queues grow, if slowly.
    fn has_grown(&self, cut: usize) -> bool {
        let sum = |of: fn(&Batch) -> u64| self.batches[cut..].iter().map(of).sum::<u64>() as f64;
        let (created, delivered) = (sum(|batch| batch.created_flits), sum(|batch| batch.delivered_flits));
        let packet = sum(|batch| batch.queued_flits) / sum(|batch| batch.created).max(1.0);
        // By Little's law; what is under way comes and goes by itself, at the beginning and at the end.
        let cycles = (self.batches.len() - cut) as f64 * self.length as f64;
        let latency = sum(|batch| batch.packet_latency) / sum(|batch| batch.packets).max(1.0);
        let chance = (2.0 * delivered / cycles * latency * packet).sqrt();
        self.aim != Aim::Barriers
            && created - delivered > (SURE * chance).max(self.plan.precision / 4.0 * created)
    }

    /// Whether more goes into the network than comes out of it, in the part of the run that is shown, by more than `deviations`
    /// of what chance does: then what is delivered is not what it will be. Barriers in the switches do not wait for that.
    fn is_filling(&self, deviations: f64) -> bool {
        let sum = |batches: &[Batch], of: fn(&Batch) -> u64| batches.iter().map(of).sum::<u64>() as f64;
        let shown = &self.batches[self.fallback()..];
        let injected = sum(shown, |batch| batch.injected_flits);
        let delivered = sum(shown, |batch| batch.delivered_flits);
        let arrived =
            self.warmed_up.delivered_flits as f64 + sum(&self.batches, |batch| batch.delivered_flits);
        // Packets under way come and go by themselves, at the beginning and at the end.
        let under_way = (self.injected as f64 - arrived).max(0.0);
        let packet = sum(shown, |batch| batch.queued_flits) / sum(shown, |batch| batch.created).max(1.0);
        let chance = (2.0 * under_way * packet).sqrt();
        self.aim != Aim::Barriers && injected > delivered * (1.0 + self.plan.precision) + deviations * chance
    }
}

/// By how much the source queues have grown, as a fraction of the flits put into them, and how much of that may be chance: a
/// standard deviation.
struct Growth {
    by: f64,
    chance: f64,
}

impl Growth {
    fn of(batches: &[Batch]) -> Growth {
        let sum = |of: fn(&Batch) -> u64| batches.iter().map(of).sum::<u64>() as f64;
        let (queued, injected) = (sum(|batch| batch.queued_flits), sum(|batch| batch.injected_flits));
        let packets = sum(|batch| batch.created);
        // Operations are not created by chance.
        let chance = if packets > 0.0 { packets.sqrt().recip() } else { 0.0 };
        Growth { by: (queued - injected) / queued.max(1.0), chance }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;

    /// A hundred flits come out in each of 40 batches; of the second half it counts whether more than 2 % more go in.
    #[test]
    fn a_network_fills_while_more_goes_in_than_comes_out() {
        let plan = Plan { precision: 0.02, batch: 1, warm_up: None, duration: None, batches_max: 400 };
        let fills = |first: u64, second: u64| {
            let batch = |sent| Batch { injected_flits: sent, delivered_flits: 100, ..Batch::default() };
            let batches: Vec<_> =
                (0..40).map(|place| batch(if place < 20 { first } else { second })).collect();
            let series = Series {
                length: 1,
                plan: &plan,
                aim: Aim::Packets,
                warmed_up: Batch::default(),
                injected: batches.iter().map(|batch| batch.injected_flits).sum(),
                batches,
                snapshots: Vec::new(),
            };
            series.is_filling(0.0)
        };
        assert!(fills(100, 103) && fills(130, 110));
        assert!(!fills(103, 102) && !fills(150, 100) && !fills(100, 90));
    }
}
