//! A machine that is ready to run: the way from a checked machine and a workload to a result.
//!
//! ```text
//! Machine -> Fabric + NICs with processes -> Simulation -> measurement -> Point or GraphResult
//! ```
//!
//! Simulations are compiled here, once for all programs that measure something: no entry point is generic, and what hears of
//! progress is a trait object.

pub mod barrier;
mod broken;
pub mod follow;
mod forwarding;
mod graph;
mod job;
pub mod mix;
pub mod multicast;
pub mod nic;
mod nodes;
pub mod operations;
pub mod train;

use crate::details::Details;
use crate::faults::FaultPlan;
use crate::measure::{Measurement, Plan, Progress};
use crate::point::{Point, Scale};
use crate::story::Story;
use crate::watch::{Selection, Slowest, Steps, Watch};
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::{Fabric, Faults, LinkErrors};
use flitway_machine::Machine;
use flitway_switch::AnyFabric;
use flitway_wiring::contention_free::{ContentionFree, contention_free};
use flitway_wiring::worst::{Worst, worst_permutation};
use flitway_workload::traffic::destination::Search;
use flitway_workload::traffic::{Injection, Shape, Traffic, TrafficChoice, TrafficError};
use flitway_workload::{Fraction, Parts};
use job::{Injectors, Job, Requesters};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

pub use job::Background;

/// A machine, built.
#[derive(Clone, Debug)]
pub struct Session {
    machine: Machine,
    fabric: AnyFabric,
    shape: Shape,
    seed: u64,
    threads: u32,
    /// Whether points come with what a report page shows beyond them.
    has_details: bool,
    /// What breaks.
    faults: Option<Arc<FaultPlan>>,
    /// See [`Session::worst`].
    worst: Arc<OnceLock<Option<Worst>>>,
    /// See [`Session::contention_free`].
    contention_free: Arc<OnceLock<Option<ContentionFree>>>,
}

/// How to measure, in simulated time where that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// Half-width of the confidence interval to reach, as a fraction of the mean.
    pub precision: f64,
    /// Warm-up; `None` to find it from the data.
    pub warm_up: Option<Cycle>,
    /// Time measured after the warm-up; `None` until the precision is reached.
    pub duration: Option<Cycle>,
}

/// Packets that a batch should hold.
const PACKETS_PER_BATCH: f64 = 2_000.0;

/// Batches into which a time that is asked for is cut.
const BATCHES_ASKED: u64 = 50;

/// Bytes of a fabric that are worth a thread: with fewer a window is soon over, and threads do more where each has a point of
/// its own.
const BYTES_OF_A_THREAD: u64 = 512 << 10;

/// Switches that a thread has to have for another thread to be of use.
const SWITCHES_OF_A_THREAD: u32 = 8;

/// Batches after which an unsettled run is given up.
pub const BATCHES_MAX: usize = 400;

impl Session {
    /// Builds `machine`. Every random choice follows from `seed`; results do not depend on `threads`.
    #[must_use]
    pub fn new(machine: Machine, seed: u64, threads: u32) -> Self {
        let mut fabric = machine.fabric();
        fabric.errors.seed = seed;
        let shape = shape(&fabric);
        let threads = threads.max(1);
        let refuses = fabric.chip.offers().refuses;
        let nothing_breaks =
            FaultPlan { faults: Faults::default(), errors: LinkErrors::default(), manager: None };
        Session {
            machine,
            fabric,
            shape,
            seed,
            threads,
            has_details: false,
            // Where packets can be lost for good what becomes of them is recorded.
            faults: refuses.then(|| Arc::new(nothing_breaks)),
            worst: Arc::default(),
            contention_free: Arc::default(),
        }
    }

    /// With the details that a report page shows, if it is to have them: every point is then run a second time, to follow its
    /// slowest packets. The results are the same.
    #[must_use]
    pub fn with_details(self, has_details: bool) -> Self {
        Session { has_details, ..self }
    }

    /// The same, in which breaks what `plan` says.
    #[must_use]
    pub fn with_faults(mut self, plan: FaultPlan) -> Self {
        // How lanes are from the start the machine says.
        let first = self.fabric.faults.first().clone();
        self.fabric.faults = plan.faults.clone().after(first);
        self.fabric.errors.flit = self.fabric.errors.flit.max(plan.errors.flit);
        self.fabric.errors.channels.extend(&plan.errors.channels);
        self.fabric.errors.undetected = plan.errors.undetected;
        self.fabric.errors.rules.extend(&plan.errors.rules);
        Session { faults: Some(Arc::new(plan)), ..self }
    }

    /// Deals its threads to a run of so many `points`: the same with the threads of one point, and how many of them are to be
    /// measured side by side.
    #[must_use]
    pub fn dealt(&self, points: usize) -> (Session, usize) {
        let beside = self.beside(points);
        (Session { threads: self.threads / beside as u32, ..self.clone() }, beside)
    }

    /// Threads of a simulation: those that are of use.
    fn shards(&self) -> u32 {
        let switches = self.fabric.topology().switches() * self.fabric.rails;
        self.threads.min(switches / SWITCHES_OF_A_THREAD).max(1)
    }

    /// How many of so many `points` are to be measured side by side.
    #[must_use]
    pub fn beside(&self, points: usize) -> usize {
        let of_a_point = (self.fabric.bytes() / BYTES_OF_A_THREAD).max(1);
        (u64::from(self.threads) / of_a_point).clamp(1, points.max(1) as u64) as usize
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The fabric built from it.
    #[must_use]
    pub fn fabric(&self) -> &AnyFabric {
        &self.fabric
    }

    /// The fabric, which is promised that packets are as long as those of `traffic`.
    #[must_use]
    pub fn fabric_for(&self, traffic: &Traffic) -> AnyFabric {
        let sizes = traffic.sizes();
        let reply = traffic.replies().map(|replies| replies.payload);
        let smallest = reply.map_or(sizes.smallest(), |reply| reply.min(sizes.smallest()));
        let largest = reply.map_or(sizes.largest(), |reply| reply.max(sizes.largest()));
        let payloads = smallest.into()..=largest.into();
        let mut fabric = self.fabric.clone();
        fabric.payloads = payloads;
        fabric
    }

    /// The seed of every random choice.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The ways to divide the nodes.
    #[must_use]
    pub fn parts(&self) -> &[Parts] {
        &self.shape.parts
    }

    /// What turns cycles and flits into nanoseconds and loads.
    #[must_use]
    pub fn scale(&self) -> Scale<'_> {
        Scale {
            clock: self.machine.clock,
            topology: self.fabric.topology(),
            rails: self.fabric.rails,
            flit_bytes: self.machine.packet.flit_bytes,
        }
    }

    /// Fits `choice` to the machine at `load`.
    ///
    /// # Errors
    /// If the pattern or the packets do not fit.
    pub fn traffic(&self, choice: &TrafficChoice, load: Fraction) -> Result<Traffic, TrafficError> {
        let flits = self.flits();
        let injection = self.injection(&flits, load);
        let map = match choice.destinations.search() {
            None => return Traffic::build(choice, &self.shape, &injection, self.seed),
            Some(Search::WorstCase) => self.worst().map(|found| &found.map),
            Some(Search::ContentionFree) => self.contention_free().map(|found| &found.map),
        };
        let found = map.map(|map| map.as_slice().into());
        Traffic::build(choice, &Shape { found, ..self.shape.clone() }, &injection, self.seed)
    }

    /// The worst permutation for the routing; looked for once. `None` where there is none or ways cannot be followed.
    pub fn worst(&self) -> Option<&Worst> {
        let look = || {
            let mut stream = Stream::new(self.seed, 0, Purpose::Permutation);
            let rate = |sender| self.fabric.rates.of(sender).as_f64();
            worst_permutation(&self.fabric.routing, rate, |below| stream.below(below))
        };
        self.worst.get_or_init(look).as_ref()
    }

    /// A permutation whose pairs share no channel, as far as one is found; looked for once. `None` for a single
    /// node, and where ways are drawn.
    pub fn contention_free(&self) -> Option<&ContentionFree> {
        let look = || {
            let mut stream = Stream::new(self.seed, 0, Purpose::Permutation);
            contention_free(&self.fabric.routing, |below| stream.below(below))
        };
        self.contention_free.get_or_init(look).as_ref()
    }

    /// Packets of `traffic` that all nodes together create in a cycle.
    #[must_use]
    pub fn packets_per_cycle(&self, traffic: &Traffic) -> f64 {
        packets_per_cycle(self.fabric.nodes(), traffic)
    }

    /// Flits on the link for a payload in bytes.
    fn flits(&self) -> impl Fn(u16) -> u16 + use<> {
        let format = self.machine.packet;
        move |payload| format.packet_flits(u32::from(payload)) as u16
    }

    /// Cycles that a processor takes for a message sent and for one received, if overheads count.
    fn overheads(&self, do_count: bool) -> [u64; 2] {
        let of = [self.machine.nic.send_overhead, self.machine.nic.receive_overhead];
        of.map(|time| if do_count { self.machine.clock.cycles_ceil(time).0 } else { 0 })
    }

    /// What a node can inject at `load`.
    fn injection<'a>(&self, flits: &'a dyn Fn(u16) -> u16, load: Fraction) -> Injection<'a> {
        Injection { rails: self.fabric.rails, mtu: self.machine.packet.mtu_bytes as u16, flits, load }
    }

    /// Measures `traffic`, offered at `offered_load`.
    pub fn point(
        &self,
        traffic: &Arc<Traffic>,
        offered_load: f64,
        patience: Patience,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let packets = packets_per_cycle(self.fabric.nodes(), traffic);
        let plan = self.plan(packets, traffic.sizes().mean(), patience);
        if traffic.replies().is_some() {
            let requesters = Requesters::new(self, traffic);
            let (point, measurement) = self.measured(&requesters, offered_load, &plan, stop, progress);
            return point.with_replies(&measurement, self.scale());
        }
        self.measured(&Injectors::new(self, traffic), offered_load, &plan, stop, progress).0
    }

    /// The details of `measurement`; `follow` runs the same again until the cycle that it is given, seen by the watch that it
    /// is given, and says what that has seen.
    fn details<J: Job>(
        &self,
        job: &J,
        measurement: &Measurement,
        follow: impl FnOnce(Watch, Cycle) -> Vec<Watch>,
    ) -> Box<Details> {
        let fabric = job.fabric();
        let details = Details::new(measurement, fabric, job.traffic(), self.machine.clock);
        Box::new(details.with_stories(stories(fabric, &measurement.total.slowest, follow)))
    }

    /// Batches long enough for their packets to be many and to cross the whole machine; a time that is asked for is cut
    /// into a fixed number of them.
    fn plan(&self, packets_per_cycle: f64, payload_mean: f64, patience: Patience) -> Plan {
        let crossing = self.fabric.zero_load_cycles_max(payload_mean.ceil() as u32);
        let batch = ((PACKETS_PER_BATCH / packets_per_cycle).ceil() as u64).max(crossing);
        Plan {
            precision: patience.precision,
            batch: patience.duration.map_or(batch, |asked| (asked.0 / BATCHES_ASKED).max(1)),
            warm_up: patience.warm_up.map(|cycles| cycles.0),
            duration: patience.duration.map(|cycles| cycles.0),
            batches_max: BATCHES_MAX,
        }
    }
}

/// The stories of the `slowest` packets; see [`Session::details`].
fn stories(
    fabric: &Fabric,
    slowest: &Slowest,
    follow: impl FnOnce(Watch, Cycle) -> Vec<Watch>,
) -> Vec<Story> {
    let packets = slowest.packets();
    let Some(last) = packets.iter().map(|packet| packet.delivered).max() else { return Vec::new() };
    let selection = Selection::packets(packets);
    let watch = Watch::steps(Steps::new(fabric, selection, Cycle::ZERO, usize::MAX));
    let (steps, _) = Steps::join(follow(watch, last + 1));
    packets.iter().filter_map(|packet| Story::new(fabric, packet, &steps)).collect()
}

/// Packets of `traffic` that all `nodes` together create in a cycle.
fn packets_per_cycle(nodes: u32, traffic: &Traffic) -> f64 {
    let active = f64::from(nodes - traffic.destinations().silent_nodes());
    (traffic.rate().as_f64() * active).max(1e-12)
}

/// What patterns may know of the fabric.
fn shape(fabric: &Fabric) -> Shape {
    let topology = fabric.topology();
    let dimensions = topology.node_dimensions();
    let parts = topology.parts().into_iter().map(|parts| Parts { name: parts.name, of: parts.of }).collect();
    Shape { nodes: topology.nodes(), dimensions, parts, found: None }
}
