//! What is concluded from the batches of a measurement: whether it is over, and how it has ended.

use super::chance::{Excess, Growth};
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

/// Whether a saturated run may end after `count` batches: after √2 times as many as the time before, so that chance has few
/// tries, and every try has much that the one before had not.
fn is_look(count: usize) -> bool {
    let octave = |count: usize| (count * count / (BATCHES_SATURATED * BATCHES_SATURATED)).checked_ilog2();
    octave(count) > octave(count - 1)
}

pub(super) enum Judgement {
    /// It ends so, with the first batches cut off.
    Over(Verdict, usize),
    /// It goes on; this is the precision reached.
    GoOn(Option<f64>),
}

impl Aim {
    /// The latency that has to be known.
    fn latency(self, batch: &Batch) -> f64 {
        match self {
            Aim::Packets => batch.mean_packet_latency(),
            Aim::RoundTrips => batch.replies.round_trip.mean(),
            Aim::LastCopies => batch.operations.last.mean(),
            Aim::Barriers | Aim::MessageBarriers => batch.barriers.last.mean(),
        }
    }
}

/// Whether it is time to look for packets that wait for each other, after `count` batches: ever less often.
pub(super) fn is_time_to_look(count: usize) -> bool {
    count.is_power_of_two() || count.is_multiple_of(LOOK_EVERY)
}

impl Series<'_> {
    /// Whether it is time to look for packets that wait for each other: when less was delivered than created, in batches of
    /// which there are ever fewer.
    pub(super) fn asks_for_deadlock(&self) -> bool {
        // Where each packet waits for another to be answered nothing is created either.
        let lags = |batch: &Batch| batch.gone_flits() < batch.created_flits || batch.delivered_flits == 0;
        let last = self.batches.last().is_some_and(lags);
        last && is_time_to_look(self.batches.len())
    }

    /// Whether more goes into the network than comes out, as far as there is enough to tell.
    pub(super) fn still_fills(&self) -> bool {
        self.batches.len() >= BATCHES_FIRST && self.is_filling(SURE)
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
        let is_asked = is_saturated && is_look(count) && self.aim() != Aim::Barriers;
        if is_asked && self.why_open(0.0).is_none() {
            return Judgement::Over(Verdict::Saturated, self.fallback());
        }
        let Some(cut) = self.found_warm_up() else { return self.give_up_or_go_on(None, None) };
        let latency = self.estimate(cut, |batch| self.latency(batch));
        let accepted = self.estimate(cut, Self::accepted);
        // How many operations begin in a batch is chance, and they are few.
        let is_known = self.aim() != Aim::Packets || accepted.is_within(self.plan.precision);
        let is_steady = self.are_known(cut) && is_known;
        if is_steady && !self.has_grown(cut) && !self.is_short(cut) && !self.has_stalled(cut) {
            // Barriers may be steady in a network that is not.
            let is_saturated = is_saturated && self.aim() == Aim::Barriers;
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
        if self.is_saturated() {
            Verdict::Saturated
        } else if self.is_filling(SURE)
            || self.has_grown(cut)
            || self.has_trend(cut)
            || self.is_short(cut)
            || self.has_stalled(cut)
        {
            Verdict::Unsettled
        } else {
            Verdict::Steady
        }
    }

    /// Why a run that has ended so, with the first `cut` batches cut off, is unsettled.
    pub(super) fn unsettled(&self, verdict: Verdict, cut: usize) -> Option<Unsettled> {
        // A time that is asked for need not be precise: if it is not short, no end of the warm-up was found.
        let is_moving = match self.plan.duration {
            Some(_) => self.has_grown(cut) || self.has_trend(cut) || !self.is_short(cut),
            None => self.found_warm_up() != Some(cut),
        };
        match verdict {
            Verdict::Saturated if self.aim() != Aim::Barriers => self.why_open(SURE),
            Verdict::Unsettled if self.has_stalled(cut) => Some(Unsettled::Stalled),
            Verdict::Unsettled if self.is_filling(SURE) => Some(Unsettled::Filling),
            Verdict::Unsettled if self.is_growing() => Some(Unsettled::Growing),
            Verdict::Unsettled if is_moving => Some(Unsettled::Trend),
            Verdict::Unsettled if self.is_short(cut) => Some(Unsettled::Short),
            Verdict::Unsettled => Some(Unsettled::Imprecise),
            Verdict::Steady | Verdict::Saturated | Verdict::Deadlock | Verdict::Stopped => None,
        }
    }

    /// Why it is not known what a saturated network accepts; that it fills has to be so many `deviations` from chance.
    fn why_open(&self, deviations: f64) -> Option<Unsettled> {
        let is_asked = self.plan.duration.is_some();
        let accepted = self.estimate(self.fallback(), Self::accepted);
        if self.is_filling(deviations) {
            Some(Unsettled::Filling)
        } else if self.has_shifted() || (!is_asked && self.has_moved()) {
            Some(Unsettled::Drift)
        } else if !is_asked && !accepted.is_within(self.plan.precision) {
            Some(Unsettled::Imprecise)
        } else {
            None
        }
    }

    /// The warm-up as the data show it, when enough batches after it have packets to show; none is left if it was asked for.
    fn found_warm_up(&self) -> Option<usize> {
        if self.plan.warm_up.is_some() {
            return Some(0);
        }
        let showing = self.showing();
        let first = *showing.first()?;
        if showing.len() < BATCHES_FIRST || first > stats::warm_up_limit(self.batches.len()) {
            return None;
        }
        let latencies: Vec<f64> = showing.iter().map(|&place| self.latency(&self.batches[place])).collect();
        stats::warm_up(&latencies).map(|cut| showing[cut])
    }

    /// The batches in which the end of the warm-up is sought. Those of a time that is asked for are as short as that, so that
    /// many may have nothing to show; elsewhere every batch after the warm-up has.
    fn showing(&self) -> Vec<usize> {
        let is_empty = |batch: &Batch| self.counted(batch) == 0;
        let first = match self.plan.duration {
            Some(_) => 0,
            None => self.batches.iter().rposition(is_empty).map_or(0, |last| last + 1),
        };
        (first..self.batches.len()).filter(|&place| !is_empty(&self.batches[place])).collect()
    }

    /// Where to cut when the data show no end of the warm-up: in the middle.
    pub(super) fn fallback(&self) -> usize {
        if self.plan.warm_up.is_some() { 0 } else { self.batches.len() / 2 }
    }

    fn accepted(batch: &Batch) -> f64 {
        batch.delivered_flits as f64
    }

    /// What decides on the warm-up.
    pub(super) fn aim(&self) -> Aim {
        self.aims[0]
    }

    /// The latency that decides.
    fn latency(&self, batch: &Batch) -> f64 {
        self.aim().latency(batch)
    }

    /// What it is the mean over.
    fn counted(&self, batch: &Batch) -> u64 {
        match self.aim() {
            Aim::Packets => batch.packets,
            Aim::RoundTrips => batch.replies.round_trip.count,
            Aim::LastCopies => batch.operations.last.count,
            Aim::Barriers | Aim::MessageBarriers => batch.barriers.last.count,
        }
    }

    /// Whether the latencies of all that has to be known are known after the first `cut` batches.
    fn are_known(&self, cut: usize) -> bool {
        let is_known =
            |aim: &Aim| self.estimate(cut, |batch| aim.latency(batch)).is_within(self.plan.precision);
        self.aims.iter().all(is_known)
    }

    pub(super) fn estimate(&self, cut: usize, value: impl Fn(&Batch) -> f64) -> Estimate {
        let values = self.batches[cut..].iter().map(value).filter(|value| value.is_finite());
        stats::estimate(&values.collect::<Vec<_>>())
    }

    fn is_saturated(&self) -> bool {
        let count = self.batches.len();
        // A run with barriers does not end with this, it only says so.
        let fewest = if self.aim() == Aim::Barriers { BATCHES_FIRST } else { BATCHES_SATURATED };
        count >= fewest && self.grows(self.plan.precision)
    }

    /// Whether it would be saturated, however fine the precision: then it probably is. Of operations, which do not begin by
    /// chance, nobody can tell.
    fn is_growing(&self) -> bool {
        self.aim() == Aim::Packets && self.batches.len() >= BATCHES_SATURATED && self.grows(0.0)
    }

    /// Whether source queues grow, by more than such a fraction of what is created and than chance, and not ever more slowly.
    fn grows(&self, fraction: f64) -> bool {
        let (before, half) = self.parts();
        let quarters = half.chunks(half.len().div_ceil(4));
        let all = Growth::of(if self.plan.warm_up.is_some() { &self.batches } else { half });
        let (before, half) = (Growth::of(before), Growth::of(half));
        half.by > fraction
            && all.by > fraction.max(SURE * all.chance)
            && half.by + 2.0 * half.chance >= 0.8 * (before.by - 2.0 * before.chance)
            && quarters.map(Growth::of).all(|part| part.by + 2.0 * part.chance > 0.0)
    }

    /// What is compared where a network may still change: the second half, and the quarter before it. The half before it, where
    /// the warm-up is given.
    fn parts(&self) -> (&[Batch], &[Batch]) {
        let count = self.batches.len();
        let (before, half) = self.batches.split_at(count / 2);
        (if self.plan.warm_up.is_some() { before } else { &before[count / 4..] }, half)
    }

    /// Whether the second half of the run delivers more or less than was delivered before, by more than the precision. In a
    /// time that is asked for, which may be short, it has to be a trend, so that it is not chance.
    fn has_shifted(&self) -> bool {
        let (before, half) = self.parts();
        let values: Vec<f64> = before.iter().chain(half).map(Self::accepted).collect();
        if self.plan.duration.is_some() {
            return stats::trend(&values, stats::ONE_IN_TEN_THOUSAND).abs() > self.plan.precision;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (earlier, later) = values.split_at(before.len());
        (mean(later) - mean(earlier)).abs() > self.plan.precision * mean(later)
    }

    /// Whether the flits under way in the network have a trend over the second half of the run, by more than the precision: if
    /// so, what is delivered may follow much later.
    fn has_moved(&self) -> bool {
        let more = |batch: &Batch| batch.injected_flits as f64 - batch.gone_flits() as f64;
        let mut under_way = more(&self.warmed_up);
        let contents = self.batches.iter().map(|batch| {
            under_way += more(batch);
            under_way
        });
        let contents: Vec<f64> = contents.skip(self.batches.len() / 2).collect();
        // Copies of a packet are more than the packet.
        self.aim() == Aim::Packets && stats::trend(&contents, SURE).abs() > self.plan.precision
    }

    /// Whether more was created than delivered or lost after the first `cut` batches, and not by chance: then queues grow, if
    /// slowly.
    fn has_grown(&self, cut: usize) -> bool {
        let excess = Excess::of(&self.batches[cut..], self.length);
        self.aim() != Aim::Barriers && excess.is_beyond(SURE) && excess.by > self.plan.precision / 4.0
    }

    /// Whether nothing is delivered in the last quarter of what comes after the first `cut` batches, though so much was before
    /// that this is not chance. Operations may be rare.
    fn has_stalled(&self, cut: usize) -> bool {
        /// Packets that would come in that time, at the least.
        const EXPECTED: u64 = 20;
        let shown = &self.batches[cut..];
        let (before, last) = shown.split_at(shown.len() - shown.len() / 4);
        let packets = |batches: &[Batch]| batches.iter().map(|batch| batch.packets).sum::<u64>();
        matches!(self.aim(), Aim::Packets | Aim::RoundTrips)
            && packets(before) >= 3 * EXPECTED
            && last.iter().all(|batch| batch.delivered_flits == 0)
            && !last.is_empty()
    }

    /// Whether latencies have a trend after the first `cut` batches.
    fn has_trend(&self, cut: usize) -> bool {
        let latencies = self.batches[cut..].iter().map(|batch| self.latency(batch));
        let latencies: Vec<f64> = latencies.filter(|latency| latency.is_finite()).collect();
        stats::trend(&latencies, stats::ONE_IN_TEN_THOUSAND).abs() > self.plan.precision
    }

    /// Whether what comes after the first `cut` batches is too little for any verdict. An interval, and a trend, are made of at
    /// least ten batches that know nothing of each other: what is under way when one begins has to be over before the next,
    /// or all of them see the same. And if chance can do with so few packets what [`Self::has_grown`] looks for, beyond the
    /// precision, it finds nothing in a network that is saturated.
    fn is_short(&self, cut: usize) -> bool {
        let latency = self.estimate(cut, |batch| self.latency(batch));
        let time = (self.batches.len() - cut) as f64 * self.length as f64;
        let is_blind = SURE * Excess::of(&self.batches[cut..], self.length).chance > self.plan.precision;
        // In so few batches that have a latency no end of the warm-up is sought.
        let is_sparse = self.plan.warm_up.is_none() && self.showing().len() < BATCHES_FIRST;
        latency.half_width.is_infinite()
            || is_sparse
            || time < stats::BATCHES_MIN as f64 * latency.mean
            || (self.aim() == Aim::Packets && is_blind)
    }

    /// Whether more goes into the network than comes out of it, in the part of the run that is shown, by more than `deviations`
    /// of what chance does: then what is delivered is not what it will be. Barriers in the switches do not wait for that.
    fn is_filling(&self, deviations: f64) -> bool {
        let sum = |batches: &[Batch], of: fn(&Batch) -> u64| batches.iter().map(of).sum::<u64>() as f64;
        let shown = &self.batches[self.fallback()..];
        let injected = sum(shown, |batch| batch.injected_flits);
        let gone = sum(shown, Batch::gone_flits);
        // Packets under way come and go by themselves, at the beginning and at the end.
        let of_all = |of: fn(&Batch) -> u64| of(&self.warmed_up) as f64 + sum(&self.batches, of);
        let under_way = (of_all(|batch| batch.injected_flits) - of_all(Batch::gone_flits)).max(0.0);
        let packet = sum(shown, |batch| batch.queued_flits) / sum(shown, |batch| batch.created).max(1.0);
        let chance = (2.0 * under_way * packet).sqrt();
        self.aim() != Aim::Barriers && injected > gone * (1.0 + self.plan.precision) + deviations * chance
    }
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;

    const PLAN: Plan = Plan { precision: 0.02, batch: 1, warm_up: None, duration: None, batches_max: 400 };

    fn series(plan: &Plan, batches: Vec<Batch>) -> Series<'_> {
        Series {
            length: 1,
            plan,
            aims: vec![Aim::Packets],
            warmed_up: Batch::default(),
            sent: 0,
            batches,
            snapshots: Vec::new(),
        }
    }

    /// A hundred flits come out in each of 40 batches; of the second half it counts whether more than 2 % more go in.
    #[test]
    fn a_network_fills_while_more_goes_in_than_comes_out() {
        let fills = |first: u64, second: u64| {
            let batch = |sent| Batch { injected_flits: sent, delivered_flits: 100, ..Batch::default() };
            let batches = (0..40).map(|place| batch(if place < 20 { first } else { second }));
            series(&PLAN, batches.collect()).is_filling(0.0)
        };
        assert!(fills(100, 103) && fills(130, 110));
        assert!(!fills(103, 102) && !fills(150, 100) && !fills(100, 90));
    }

    /// Batches of a saturated network, of which each delivers and holds what the functions say.
    fn saturated(count: u64, delivered: impl Fn(u64) -> u64, held: impl Fn(u64) -> u64) -> Vec<Batch> {
        let before = |place| if place == 0 { 0 } else { held(place) };
        let batch = |place| Batch {
            created: 10_000,
            created_flits: 20_000,
            queued_flits: 20_000,
            injected_flits: delivered(place) + held(place + 1) - before(place),
            delivered_flits: delivered(place),
            packets: delivered(place),
            packet_latency: 1_000 * delivered(place) * (place + 1),
            ..Batch::default()
        };
        (0..count).map(batch).collect()
    }

    /// What is accepted by then is 10,000 flits a batch at last: at once, after it has fallen, while it has not, and while the
    /// network slowly takes more.
    #[test]
    fn a_saturated_run_goes_on_while_what_it_accepts_or_holds_changes() {
        let is_over = |batches| match series(&PLAN, batches).judge() {
            Judgement::Over(verdict, cut) => {
                assert_eq!(verdict, Verdict::Saturated);
                cut > 0
            }
            Judgement::GoOn(_) => false,
        };
        let falling = |place: u64| 10_000 + 40 * 100_u64.saturating_sub(place);
        assert!(is_over(saturated(40, |_| 10_000, |_| 5_000)));
        assert!(
            !is_over(saturated(39, |_| 10_000, |_| 5_000)) && !is_over(saturated(41, |_| 10_000, |_| 5_000))
        );
        assert!(!is_over(saturated(80, falling, |_| 5_000)) && is_over(saturated(400, falling, |_| 5_000)));
        assert!(!is_over(saturated(80, |_| 10_000, |place| 5_000 + 100 * place)));
        assert!(is_over(saturated(80, |_| 10_000, |place| 50_000 + 10 * place)));
    }

    #[test]
    fn what_a_saturated_run_leaves_open_at_its_limit_is_said() {
        let why = |plan: &Plan, batches| series(plan, batches).unsettled(Verdict::Saturated, 0);
        let limited = Plan { batches_max: 80, ..PLAN };
        let asked = Plan { duration: Some(80), warm_up: Some(0), ..PLAN };
        let falling = |place: u64| 12_000 - 20 * place;
        let uneven = |place: u64| if place % 30 < 15 { 12_000 } else { 9_000 };
        for plan in [&limited, &asked] {
            assert_eq!(why(plan, saturated(80, |_| 10_000, |_| 5_000)), None);
            assert_eq!(why(plan, saturated(80, falling, |_| 5_000)), Some(Unsettled::Drift));
        }
        // A few batches are no trend, and an interval as wide as this one is nothing that a time asked for has to reach.
        assert_eq!(why(&limited, saturated(120, uneven, |_| 5_000)), Some(Unsettled::Imprecise));
        assert_eq!(why(&asked, saturated(120, uneven, |_| 5_000)), None);
    }

    /// Of 20,000 flits a batch so many are left over: a growth of 1 % is less than the precision, one of 0.1 % is chance.
    #[test]
    fn what_grows_by_less_than_the_precision_is_probably_saturated() {
        let why = |batches| series(&PLAN, batches).unsettled(Verdict::Unsettled, 0);
        assert_eq!(why(saturated(400, |_| 19_800, |_| 5_000)), Some(Unsettled::Growing));
        assert_ne!(why(saturated(400, |_| 19_980, |_| 5_000)), Some(Unsettled::Growing));
        let slower = |place: u64| if place < 200 { 19_400 } else { 19_800 };
        assert_ne!(why(saturated(400, slower, |_| 5_000)), Some(Unsettled::Growing));
        assert!(!series(&PLAN, saturated(400, |_| 19_800, |_| 5_000)).is_saturated());
    }

    /// A batch that creates and delivers so many packets of ten flits each, which take so many cycles.
    fn even(packets: u64, latency: u64) -> Batch {
        Batch {
            created: packets,
            created_flits: 10 * packets,
            queued_flits: 10 * packets,
            injected_flits: 10 * packets,
            delivered_flits: 10 * packets,
            packets,
            packet_latency: packets * latency,
            ..Batch::default()
        }
    }

    /// Fifty such batches.
    #[test]
    fn a_verdict_needs_time_and_packets() {
        let asked = Plan { warm_up: Some(0), duration: Some(50_000), ..PLAN };
        let verdict = |packets: u64, latency: u64| {
            let batches = vec![even(packets, latency); 50];
            let series = Series { length: 1_000, ..series(&asked, batches) };
            let verdict = series.verdict_of_all(0);
            (verdict, series.unsettled(verdict, 0))
        };
        let short = (Verdict::Unsettled, Some(Unsettled::Short));
        // Ten times 5,000 cycles were measured; of 100,000 packets 10,000 are under way, and 0.4 % may be chance.
        assert_eq!(verdict(2_000, 5_000), (Verdict::Steady, None));
        assert_eq!(verdict(2_000, 5_001), short);
        // Of 500 packets one is under way, which makes 0.8 %; with ten it is 2.7 %.
        assert_eq!(verdict(10, 100), (Verdict::Steady, None));
        assert_eq!(verdict(10, 1_000), short);
        assert_eq!(verdict(0, 0), short);
    }

    /// Barriers that take 100 cycles each, one in so many batches; a time of fifty batches is asked for, without a warm-up.
    #[test]
    fn operations_that_are_rarer_than_batches_are_steady_or_too_few() {
        let asked = Plan { duration: Some(50_000), ..PLAN };
        let ends = |every: usize| {
            let batch = |place: usize| {
                let mut batch = Batch::default();
                if place % every == every - 1 {
                    batch.barriers.last.record(100);
                }
                batch
            };
            let run = |count: usize| {
                let batches = (0..count).map(batch).collect();
                Series { length: 1_000, aims: vec![Aim::Barriers], ..series(&asked, batches) }
            };
            let end = (1..=400).find(|&count| matches!(run(count).judge(), Judgement::Over(..)))?;
            let Judgement::Over(verdict, cut) = run(end).judge() else { return None };
            Some((end, verdict, run(end).unsettled(verdict, cut)))
        };
        assert_eq!(ends(1), Some((50, Verdict::Steady, None)));
        assert_eq!(ends(5), Some((100, Verdict::Steady, None)));
        assert_eq!(ends(21), Some((400, Verdict::Unsettled, Some(Unsettled::Short))));
    }

    /// An operation of 150 flits in each of fifty batches, of which so many of the last are under way.
    #[test]
    fn operations_under_way_at_the_end_are_chance_as_far_as_their_latency_goes() {
        let grows = |open: usize| {
            let batch = |place: usize| {
                let mut batch = Batch { created_flits: 150, queued_flits: 10, ..Batch::default() };
                if place < 50 - open {
                    batch.delivered_flits = 150;
                    batch.operations.last.record(400);
                }
                batch
            };
            let batches = (0..50).map(batch).collect();
            let series = series(&PLAN, batches);
            Series { length: 1_000, aims: vec![Aim::LastCopies], ..series }.has_grown(0)
        };
        assert!(!grows(1) && !grows(2) && grows(5));
    }

    /// Of fifty batches so many deliver a hundred packets each, and the others nothing: all that they wait for is lost.
    #[test]
    fn a_network_in_which_nothing_comes_any_more_is_not_steady() {
        let asked = Plan { warm_up: Some(0), duration: Some(50_000), ..PLAN };
        let verdict = |delivering: usize| {
            let batch = |place: usize| even(if place < delivering { 100 } else { 0 }, 100);
            let series = Series { length: 1_000, ..series(&asked, (0..50).map(batch).collect()) };
            let verdict = series.verdict_of_all(0);
            (verdict, series.unsettled(verdict, 0))
        };
        assert_eq!(verdict(50), (Verdict::Steady, None));
        assert_eq!(verdict(39), (Verdict::Steady, None));
        assert_eq!(verdict(30), (Verdict::Unsettled, Some(Unsettled::Stalled)));
    }

    #[test]
    fn looks_are_apart_by_a_root_of_two() {
        let looks: Vec<usize> = (1..=400).filter(|&count| is_look(count)).collect();
        assert_eq!(looks, [40, 57, 80, 114, 160, 227, 320]);
    }
}
