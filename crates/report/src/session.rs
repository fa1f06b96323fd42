//! A machine that is ready to run: the way from a checked machine and a workload to a result.
//!
//! ```text
//! Machine -> Fabric + endpoints -> Simulation -> measurement -> Point or GraphResult
//! ```

pub mod barrier;
pub mod follow;
mod forwarding;
mod job;
pub mod multicast;
pub mod operations;
pub mod train;

use crate::details::Details;
use crate::graph::GraphResult;
use crate::latencies::latencies;
use crate::measure::{Measurement, Plan, Progress, sent_flits};
use crate::memory::{Guard, peak_rss_bytes};
use crate::point::{Point, Scale};
use crate::stages::Stages;
use crate::story::Story;
use crate::watch::{Selection, Slowest, Steps, Watch};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{Fabric, Simulation};
use flitway_machine::Machine;
use flitway_process::{Exchange, ExchangeError, Messenger, MessengerSettings};
use flitway_switch::{AnyFabric, on_architecture};
use flitway_wiring::NodeId;
use flitway_workload::Fraction;
use flitway_workload::graph::{Placement, RankCosts, TaskGraph};
use flitway_workload::traffic::{Injection, Shape, Traffic, TrafficChoice, TrafficError};
use job::{Injectors, Job};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

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
        let fabric = machine.fabric();
        let shape = shape(&fabric);
        Session { machine, fabric, shape, seed, threads: threads.max(1), has_details: false }
    }

    /// With the details that a report page shows, if it is to have them: every point is then run a second time, to follow its
    /// slowest packets. The results are the same.
    #[must_use]
    pub fn with_details(self, has_details: bool) -> Self {
        Session { has_details, ..self }
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
        let payloads = sizes.smallest().into()..=sizes.largest().into();
        let mut fabric = self.fabric.clone();
        fabric.payloads = payloads;
        fabric
    }

    /// The seed of every random choice.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What turns cycles and flits into nanoseconds and loads.
    #[must_use]
    pub fn scale(&self) -> Scale {
        Scale {
            clock: self.machine.clock,
            nodes: self.fabric.nodes(),
            switches: self.fabric.topology().switches(),
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
        Traffic::build(choice, &self.shape, &self.injection(&flits, load), self.seed)
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
        progress: impl FnMut(Progress),
    ) -> Point {
        let packets = packets_per_cycle(self.fabric.nodes(), traffic);
        let plan = self.plan(packets, traffic.sizes().mean(), patience);
        self.measured(&Injectors::new(self, traffic), offered_load, &plan, stop, progress).0
    }

    /// The details of `measurement`; `follow` runs the same again until the cycle that it is given, seen by the watch that it
    /// is given, and says what that has seen.
    fn details<J: Job>(
        &self,
        job: &J,
        measurement: &Measurement,
        follow: impl FnOnce(Watch, Cycle) -> Vec<Steps>,
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

    /// Fits `graph` to the machine.
    ///
    /// # Errors
    /// If the graph does not go with the placement or the machine.
    pub fn exchange(
        &self,
        graph: &Arc<TaskGraph>,
        placement: Placement,
    ) -> Result<Arc<Exchange>, ExchangeError> {
        let settings = MessengerSettings {
            rails: self.fabric.rails,
            mtu: self.machine.packet.mtu_bytes as u16,
            whole_up_to: self.machine.nic.stripe_threshold_bytes,
            costs: RankCosts {
                clock: self.machine.clock,
                send_overhead: self.machine.nic.send_overhead,
                receive_overhead: self.machine.nic.receive_overhead,
            },
            seed: self.seed,
        };
        Ok(Arc::new(Exchange::new(Arc::clone(graph), placement, settings)?))
    }

    /// Runs `graph` to its end.
    ///
    /// # Errors
    /// If the graph does not go with the placement or the machine.
    pub fn graph(
        &self,
        graph: &Arc<TaskGraph>,
        placement: Placement,
        stop: &AtomicBool,
        progress: impl FnMut(Cycle),
    ) -> Result<GraphResult, ExchangeError> {
        let exchange = self.exchange(graph, placement)?;
        Ok(on_architecture!(&self.fabric, A, fabric => self.graph_on::<A>(fabric, &exchange, stop, progress)))
    }

    fn graph_on<A: Architecture>(
        &self,
        fabric: &Fabric<A::Chip>,
        exchange: &Arc<Exchange>,
        stop: &AtomicBool,
        mut progress: impl FnMut(Cycle),
    ) -> GraphResult {
        /// Cycles between two looks at the clock on the wall.
        const STRIDE: u64 = 1 << 14;
        let started = Instant::now();
        let watch = Watch::slowest(self.has_details).with_latencies();
        let mut simulation = self.exchange_of::<A>(fabric, exchange, &watch);
        let mut guard = Guard::new();
        let outcome = loop {
            let outcome = simulation.run_stride(STRIDE, stop);
            if outcome != Outcome::Reached {
                break outcome;
            }
            if guard.is_exhausted() {
                break Outcome::Stopped;
            }
            progress(simulation.now());
        };
        simulation.settle();
        let wall = started.elapsed();
        let summary = flitway_process::summary(simulation.endpoints());
        let stopped = outcome == Outcome::Stopped;
        // A graph that cannot finish has no end that its channels were busy until.
        let has_end = stopped || summary.completion.is_some();
        let end = summary.completion.unwrap_or_else(|| simulation.now());
        let load = |sent: Vec<u64>| -> Vec<f64> {
            sent.iter().map(|&flits| flits as f64 / end.0.max(1) as f64).collect()
        };
        let load_of = sent_flits(&simulation).filter(|_| has_end).map(load);
        let stages = load_of
            .as_ref()
            .map(|load_of| Stages::of_run(&self.fabric, load_of).with_json(self.fabric.topology()));
        GraphResult {
            summary,
            stuck: flitway_process::stuck(simulation.endpoints(), GraphResult::STUCK_MAX),
            stopped,
            last: simulation.now(),
            out_of_memory: guard.is_exhausted(),
            counters: simulation.counters(),
            books: simulation.audit(),
            stages,
            details: self
                .has_details
                .then(|| self.graph_details(fabric, &mut simulation, exchange, (load_of, end), stop)),
            wall,
            peak_rss_bytes: peak_rss_bytes(),
            clock: self.machine.clock,
        }
    }

    fn exchange_of<A: Architecture>(
        &self,
        fabric: &Fabric<A::Chip>,
        exchange: &Arc<Exchange>,
        watch: &Watch,
    ) -> Simulation<A, Messenger, Watch> {
        let messengers =
            (0..self.fabric.nodes()).map(|node| Messenger::new(exchange, NodeId(node))).collect();
        Simulation::new(fabric, messengers, self.shards(), || watch.clone())
    }

    /// The details of a run of a task graph, which is over.
    fn graph_details<A: Architecture>(
        &self,
        fabric: &Fabric<A::Chip>,
        simulation: &mut Simulation<A, Messenger, Watch>,
        exchange: &Arc<Exchange>,
        (load_of, end): (Option<Vec<f64>>, Cycle),
        stop: &AtomicBool,
    ) -> Box<Details> {
        let (mut slowest, mut latencies) = (Slowest::default(), latencies());
        for watch in simulation.observers_mut() {
            slowest.add(&watch.take_slowest());
            let part = watch.latencies().map(|part| latencies.add(part));
            part.transpose().expect("histograms of one precision that grow as needed can be added");
        }
        let stories = stories(&self.fabric, &slowest, |watch, until| {
            let mut again = self.exchange_of::<A>(fabric, exchange, &watch);
            again.run_until(until, stop);
            again.observers_mut().filter_map(Watch::take_steps).collect()
        });
        let span = [Cycle::ZERO, end];
        let mut details = Details { load_of, stories, span, ..Details::default() };
        let max = slowest.packets().first().map_or(0, |packet| packet.delivered.since(packet.created));
        details.add("packet", &latencies, max, self.machine.clock);
        Box::new(details)
    }
}

/// The stories of the `slowest` packets; see [`Session::details`].
fn stories(
    fabric: &Fabric,
    slowest: &Slowest,
    follow: impl FnOnce(Watch, Cycle) -> Vec<Steps>,
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
    let leaf = (0..topology.nodes()).map(|node| topology.home(NodeId(node)).0.0).collect();
    Shape { nodes: topology.nodes(), dimensions: topology.node_dimensions(), leaf }
}
