//! A measurement of synthetic traffic at one load: runs batch after batch until the mean packet latency is known well
//! enough, or until it is clear that there is none because the network is saturated.
//!
//! * The **warm-up** is found from the data (see [`crate::stats`]), unless it is given.
//! * **Steady**: the run ends when the 95 % confidence interval of the mean packet latency is within the precision asked
//!   for, and so is that of the accepted load. With multicast operations it is the mean latency of their last copies that
//!   has to be known, with barriers that of barriers.
//! * **Saturated**: packets are created faster than NIC ports can send them, so that they would never all be delivered. That is
//!   so when in each quarter of the second half of the run the number of flits in source queues has grown, over that half
//!   by more than the precision, as a fraction of the flits created, and by no less than four fifths of the fraction by
//!   which it grew in the quarter of the run before. How many packets are created is chance, with a deviation of
//!   the root of their number: the growth over the half has to be three of them, and what two of them explain does not speak
//!   against it.
//!
//!   The run goes on until the network itself has filled, so that NIC ports send no more flits than arrive, and delivers what
//!   it will: until the 95 % confidence interval of what the second half of the run delivers is within the precision, that
//!   half delivers as much as the quarter before it, and the flits under way in it have no trend (of three deviations), each
//!   within the precision. That is asked after 40, 57, 80, ... batches, so that chance has few tries. What is still open at
//!   the limit is said.
//!
//!   Latencies of a saturated run are those of the packets delivered while it was watched; they would grow for
//!   ever. Those of barriers do not: the next one begins when the last one is over. So with barriers in the switches a
//!   saturated run goes on until their latency is known. Where the warm-up is given, the three deviations are asked of the
//!   whole of the measured time, and its first half is what was before.
//! * **Deadlock**: packets wait for each other for ever, which is proved by their ring ([`flitway_fabric::deadlock`]).
//! * **Unsettled**: none of these, when the limit of simulated time is reached, because latencies have a trend, so that no end
//!   of the warm-up was found, or the interval is wider than asked for. Where source queues grow as those of a
//!   saturated network do, if by less than the precision, it is said to be probably saturated.
//!
//! What was created after the warm-up and not delivered must be chance, too, or less than a quarter of the precision.
//! Otherwise a time that is asked for is steady, however wide the interval, unless one of the others is found in it: it may be
//! too early, while the network fills, or too short to tell a trend from chance (see [`crate::stats::trend`]). Less than ten
//! mean latencies, or so few packets that three deviations of chance hide a difference of the precision between what is
//! created and what is delivered, are too little for any verdict.

mod chance;
mod judgement;
mod unsettled;
mod whole;

use crate::memory::Guard;
use crate::recorder::{Batch, Recorder};
use crate::stats::Estimate;
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::deadlock::Deadlock;
use flitway_fabric::simulation::{Architecture, Conservation, Counters};
use flitway_fabric::{Endpoint, Simulation};
use judgement::Judgement;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub use unsettled::Unsettled;
pub use whole::measure_whole;

/// How to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Half-width of the confidence interval to reach, as a fraction of the mean.
    pub precision: f64,
    /// Cycles of a batch; rounded up to whole windows.
    pub batch: u64,
    /// Cycles of warm-up; `None` to find it from the data.
    pub warm_up: Option<u64>,
    /// Cycles to measure after the warm-up; `None` until the precision is reached.
    pub duration: Option<u64>,
    /// Batches after which an unsettled run is given up.
    pub batches_max: usize,
}

/// How a measurement has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The means are steady and known to the precision asked for, or the duration asked for is over.
    Steady,
    /// Packets are created faster than they are delivered.
    Saturated,
    /// Packets wait for each other for ever.
    Deadlock,
    /// The time was over first.
    Unsettled,
    /// Somebody stopped it.
    Stopped,
}

/// What was measured, in cycles and flits.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// How it has ended.
    pub verdict: Verdict,
    /// The packets that wait for each other, if it ended so.
    pub deadlock: Option<Deadlock>,
    /// Whether it was ended since memory for packets that wait was about to run out.
    pub is_out_of_memory: bool,
    /// Everything created and delivered after the warm-up.
    pub total: Batch,
    /// Why it is unsettled, if it is; a saturated one may be, too.
    pub unsettled: Option<Unsettled>,
    /// Whether the estimates are of a time without a trend, so that their intervals mean something.
    pub has_intervals: bool,
    /// Whether that of the accepted flits does: latencies of a saturated network grow for ever, what it accepts does not.
    pub has_accepted_interval: bool,
    /// Mean packet latency.
    pub packet_latency: Estimate,
    /// Mean network latency.
    pub network_latency: Estimate,
    /// Accepted flits per cycle, over all nodes and rails.
    pub accepted: Estimate,
    /// Mean latency of a reply.
    pub reply_latency: Estimate,
    /// Mean time from the creation of a request to the last flit of its reply.
    pub round_trip: Estimate,
    /// Mean latency of the last copy of a multicast operation.
    pub last_copy_latency: Estimate,
    /// Mean latency of the copies of one.
    pub mean_copy_latency: Estimate,
    /// Mean latency of a barrier, to the last release.
    pub barrier_latency: Estimate,
    /// The same in the mean over releases.
    pub mean_release_latency: Estimate,
    /// Flits per cycle delivered after the warm-up, over all rails, by the node that sent them.
    pub accepted_of: Vec<f64>,
    /// Flits per cycle of packets for one node created after the warm-up, over all rails, by that node.
    pub wanted_by: Vec<f64>,
    /// Flits per cycle sent after the warm-up by each channel, in the order of [`Simulation::sent_flits`]. `None` where they
    /// are not counted, or too many to keep.
    pub sent_of: Option<Vec<f64>>,
    /// Cycles of warm-up.
    pub warm_up: u64,
    /// Cycles measured after it.
    pub duration: u64,
    /// Totals over both.
    pub counters: Counters,
    /// The books at the end.
    pub books: Conservation,
    /// Wall-clock time of the run.
    pub wall: Duration,
}

/// How far a measurement is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Batches run.
    pub batches: usize,
    /// Cycles simulated.
    pub now: Cycle,
    /// Half-width of the interval as a fraction of the mean, once there is one.
    pub precision: Option<f64>,
    /// More goes into the network than comes out, by more than chance: what is measured is not yet what it will be.
    pub is_filling: bool,
}

impl Progress {
    /// That nothing more is known than how far simulated time is.
    #[must_use]
    pub fn at(now: Cycle) -> Self {
        Progress { batches: 0, now, precision: None, is_filling: false }
    }
}

/// The course of a run, where it is more than letting the simulation run.
pub trait Course<A: Architecture, E: Endpoint> {
    /// Runs until `until`, or a little longer.
    fn advance(
        &mut self,
        simulation: &mut Simulation<A, E, Recorder>,
        until: Cycle,
        stop: &AtomicBool,
    ) -> Outcome {
        simulation.run_until(until, stop)
    }

    /// The same in strides, with a word to `tell` after each but the last, and until the guard says that memory runs out. How
    /// often a run pauses changes nothing in it.
    fn stride(
        &mut self,
        simulation: &mut Simulation<A, E, Recorder>,
        until: Cycle,
        stop: &AtomicBool,
        (guard, tell): (&mut Guard, &mut dyn FnMut(Cycle)),
    ) -> Outcome {
        let nodes = simulation.nodes().max(1) as u64;
        let stride = (STRIDE / nodes).max(1).next_multiple_of(simulation.window_length());
        loop {
            if guard.is_exhausted() {
                return Outcome::Stopped;
            }
            // Time in which nothing happens passes at once.
            let from = simulation.next_work().unwrap_or(until);
            let outcome = self.advance(simulation, until.min(from + stride), stop);
            if outcome == Outcome::Stopped || simulation.now() >= until {
                return outcome;
            }
            tell(simulation.now());
        }
    }

    /// What has to be known. The first decides on the warm-up, and whether the network is saturated.
    fn aims(&self) -> Vec<Aim> {
        vec![Aim::Packets]
    }

    /// Adds to `batch`, whose packets are counted, what else has happened since the last call.
    fn collect(&mut self, simulation: &mut Simulation<A, E, Recorder>, batch: &mut Batch) {
        let _ = (simulation, batch);
    }
}

/// Whose latency has to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// That of packets.
    Packets,
    /// That from requests to their replies.
    RoundTrips,
    /// That of the last copies of multicast operations.
    LastCopies,
    /// That of barriers in the switches, which is known in a saturated network, too.
    Barriers,
    /// That of barriers by messages, which queue behind other packets.
    MessageBarriers,
}

/// Nothing special.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl<A: Architecture, E: Endpoint> Course<A, E> for Plain {}

/// The most snapshots that are kept.
const SNAPSHOTS_MAX: usize = 16;

/// The most channels whose flits are kept: snapshots of more take too much memory.
const CHANNELS_MAX: usize = 1 << 20;

/// Cycles of one node between two calls of `progress` within a batch; those of a large network take a second.
const STRIDE: u64 = 1 << 20;

/// Measures `simulation` as `plan` says; `progress` is called after every batch, and within one that takes long.
pub fn measure<A: Architecture, E: Endpoint>(
    simulation: &mut Simulation<A, E, Recorder>,
    plan: &Plan,
    course: &mut impl Course<A, E>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Measurement {
    let started = Instant::now();
    let length = plan.batch.max(1).next_multiple_of(simulation.window_length());
    let mut series = Series::new(length, plan, course.aims());
    let mut guard = Guard::new();
    if let Some(warm_up) = plan.warm_up {
        let mut tell = |now| progress(Progress::at(now));
        course.stride(simulation, Cycle(warm_up), stop, (&mut guard, &mut tell));
        series.warmed_up = series.take(simulation, course);
    }
    let start = simulation.now();
    series.snapshots.push(Snapshot::new(0, simulation).with_channels(simulation));
    let (mut precision, mut is_filling, mut deadlock) = (None, false, None);
    let (verdict, cut) = loop {
        let until = simulation.now() + length;
        let batches = series.batches.len();
        let mut tell = |now| progress(Progress { batches, now, precision, is_filling });
        let outcome = course.stride(simulation, until, stop, (&mut guard, &mut tell));
        if outcome == Outcome::Stopped {
            break (Verdict::Stopped, series.fallback());
        }
        let batch = series.take(simulation, course);
        let snapshot = Snapshot::new(series.batches.len() + 1, simulation);
        // Channels are many, so they are read only where the snapshot stays.
        let stays = snapshot.after.is_multiple_of(spacing(snapshot.after));
        series.push(batch, if stays { snapshot.with_channels(simulation) } else { snapshot });
        if series.asks_for_deadlock() {
            deadlock = simulation.deadlock();
            if deadlock.is_some() {
                break (Verdict::Deadlock, series.fallback());
            }
        }
        is_filling = series.still_fills();
        let (batches, now) = (series.batches.len(), simulation.now());
        progress(Progress { batches, now, precision, is_filling });
        match series.judge() {
            Judgement::Over(verdict, cut) => break (verdict, cut),
            Judgement::GoOn(reached) => precision = reached,
        }
    };
    if verdict != Verdict::Stopped
        && let Some(last) = series.snapshots.pop()
    {
        series.snapshots.push(last.with_channels(simulation));
    }
    let mut measurement = series.measurement(start, verdict, cut);
    measurement.deadlock = deadlock;
    measurement.is_out_of_memory = guard.is_exhausted();
    if measurement.is_out_of_memory {
        (measurement.verdict, measurement.unsettled) = (Verdict::Unsettled, Some(Unsettled::Memory));
    }
    simulation.settle();
    measurement.counters = simulation.counters();
    measurement.books = simulation.audit();
    measurement.wall = started.elapsed();
    measurement
}

/// The batches so far.
struct Series<'a> {
    length: u64,
    plan: &'a Plan,
    aims: Vec<Aim>,
    /// What happened in the warm-up that was asked for.
    warmed_up: Batch,
    batches: Vec<Batch>,
    /// Flits that NIC ports have sent since the start.
    sent: u64,
    /// A few, evenly spaced, and the last one.
    snapshots: Vec<Snapshot>,
}

/// What there was after so many batches.
struct Snapshot {
    after: usize,
    /// Flits delivered since the start, by source node.
    delivered_of: Vec<u64>,
    /// Flits created since the start, by the node that they are for.
    wanted_by: Vec<u64>,
    /// Flits sent since the start, by channel.
    sent_of: Option<Vec<u64>>,
}

/// Flits per cycle between two snapshots.
#[derive(Default)]
struct Rates {
    delivered_of: Vec<f64>,
    wanted_by: Vec<f64>,
    sent_of: Option<Vec<f64>>,
}

impl Snapshot {
    fn new<A: Architecture, E: Endpoint>(
        after: usize,
        simulation: &mut Simulation<A, E, Recorder>,
    ) -> Snapshot {
        let delivered_of = sums(simulation, Recorder::delivered_of);
        Snapshot { after, delivered_of, wanted_by: sums(simulation, Recorder::wanted_by), sent_of: None }
    }

    /// With what each channel has sent by now, if there is room for that.
    fn with_channels<A: Architecture, E: Endpoint>(
        self,
        simulation: &mut Simulation<A, E, Recorder>,
    ) -> Snapshot {
        Snapshot { sent_of: sent_flits(simulation), ..self }
    }
}

/// What each channel has sent by now, if there is room for that.
pub(crate) fn sent_flits<A: Architecture, E: Endpoint>(
    simulation: &mut Simulation<A, E, Recorder>,
) -> Option<Vec<u64>> {
    if simulation.channels() <= CHANNELS_MAX { simulation.sent_flits() } else { None }
}

/// How many batches lie between two snapshots that stay, after `count` of them.
fn spacing(count: usize) -> usize {
    count.div_ceil(SNAPSHOTS_MAX).next_power_of_two()
}

impl<'a> Series<'a> {
    fn new(length: u64, plan: &'a Plan, aims: Vec<Aim>) -> Self {
        let (warmed_up, batches, snapshots) = (Batch::default(), Vec::new(), Vec::new());
        Series { length, plan, aims, warmed_up, batches, sent: 0, snapshots }
    }
}

impl Series<'_> {
    /// What has happened since the last call.
    fn take<A: Architecture, E: Endpoint>(
        &mut self,
        simulation: &mut Simulation<A, E, Recorder>,
        course: &mut impl Course<A, E>,
    ) -> Batch {
        let mut batch = Batch::default();
        simulation.gather_observers(Recorder::take).iter().for_each(|part| batch.add(part));
        // Where nobody counts what is sent, it is what comes.
        let sent = simulation.injected_flits().unwrap_or(self.sent + batch.delivered_flits);
        batch.injected_flits = sent - std::mem::replace(&mut self.sent, sent) + batch.discarded_flits;
        course.collect(simulation, &mut batch);
        batch
    }

    fn push(&mut self, batch: Batch, snapshot: Snapshot) {
        self.batches.push(batch);
        self.snapshots.push(snapshot);
        self.thin_snapshots();
    }

    /// Keeps at most `SNAPSHOTS_MAX`, evenly spaced: a snapshot of a large machine is large.
    fn thin_snapshots(&mut self) {
        let count = self.batches.len();
        let spacing = spacing(count);
        self.snapshots.retain(|snapshot| snapshot.after % spacing == 0 || snapshot.after == count);
    }

    /// What has happened per cycle, from the first snapshot at or after the cut on (or the last one before the end).
    fn rates(&self, cut: usize) -> Rates {
        let [earlier @ .., last] = &self.snapshots[..] else { return Rates::default() };
        let first = earlier.iter().find(|snapshot| snapshot.after >= cut).or_else(|| earlier.last());
        let Some(first) = first else { return Rates::default() };
        let cycles = ((last.after - first.after) as u64 * self.length) as f64;
        let rates = |last: &[u64], first: &[u64]| {
            last.iter().zip(first).map(|(last, first)| (last - first) as f64 / cycles).collect()
        };
        let sent_of = last.sent_of.as_ref().zip(first.sent_of.as_ref());
        Rates {
            delivered_of: rates(&last.delivered_of, &first.delivered_of),
            wanted_by: rates(&last.wanted_by, &first.wanted_by),
            sent_of: sent_of.map(|(last, first)| rates(last, first)),
        }
    }

    fn measurement(&self, start: Cycle, verdict: Verdict, cut: usize) -> Measurement {
        let mut total = Batch::default();
        self.batches[cut..].iter().for_each(|batch| total.add(batch));
        // Losses are few: none of them is left out.
        for batch in std::iter::once(&self.warmed_up).chain(&self.batches[..cut]) {
            total.barriers.disturbed.add(&batch.barriers.disturbed);
            total.barriers.undisturbed.add(&batch.barriers.undisturbed);
            total.barriers.by_rule.extend(&batch.barriers.by_rule);
        }
        let per_cycle = |estimate: Estimate| Estimate {
            mean: estimate.mean / self.length as f64,
            half_width: estimate.half_width / self.length as f64,
        };
        let network = |batch: &Batch| batch.network_latency as f64 / batch.packets as f64;
        let Rates { delivered_of: accepted_of, wanted_by, sent_of } = self.rates(cut);
        // The mean is that over packets; batches, which differ a little in size, tell how far to trust it.
        let over_packets =
            |sum: u64, estimate: Estimate| Estimate { mean: sum as f64 / total.packets as f64, ..estimate };
        let unsettled = self.unsettled(verdict, cut);
        let is_saturated = verdict == Verdict::Saturated;
        let is_imprecise = unsettled == Some(Unsettled::Imprecise);
        let has_intervals = verdict == Verdict::Steady || (is_imprecise && !is_saturated);
        // Where barriers are looked at, nobody has looked whether what is accepted changes.
        let is_even = is_saturated && self.aim() != Aim::Barriers && (is_imprecise || unsettled.is_none());
        Measurement {
            verdict,
            unsettled,
            has_intervals,
            has_accepted_interval: has_intervals || is_even,
            deadlock: None,
            is_out_of_memory: false,
            packet_latency: over_packets(
                total.packet_latency,
                self.estimate(cut, Batch::mean_packet_latency),
            ),
            network_latency: over_packets(total.network_latency, self.estimate(cut, network)),
            accepted: per_cycle(Estimate {
                mean: total.flits as f64 / (self.batches.len() - cut).max(1) as f64,
                ..self.estimate(cut, |batch| batch.flits as f64)
            }),
            reply_latency: self.estimate(cut, |batch| batch.replies.latency.mean()),
            round_trip: self.estimate(cut, |batch| batch.replies.round_trip.mean()),
            last_copy_latency: self.estimate(cut, |batch| batch.operations.last.mean()),
            mean_copy_latency: self.estimate(cut, |batch| batch.operations.mean.mean()),
            barrier_latency: self.estimate(cut, |batch| batch.barriers.last.mean()),
            mean_release_latency: self.estimate(cut, |batch| batch.barriers.mean.mean()),
            accepted_of,
            wanted_by,
            sent_of,
            warm_up: start.0 + cut as u64 * self.length,
            duration: (self.batches.len() - cut) as u64 * self.length,
            counters: Counters::default(),
            books: Conservation::default(),
            wall: Duration::ZERO,
            total,
        }
    }
}

/// Counts by node, over all shards.
fn sums<A: Architecture, E: Endpoint>(
    simulation: &mut Simulation<A, E, Recorder>,
    of: fn(&Recorder) -> &[u64],
) -> Vec<u64> {
    let mut sums: Vec<u64> = Vec::new();
    for part in simulation.gather_observers(|recorder| of(recorder).to_vec()) {
        sums.resize(part.len(), 0);
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sums
}
