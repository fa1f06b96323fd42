//! Workloads that end, task graphs and a train, with others beside them that go on until they have: multicast operations,
//! barriers, synthetic traffic.

use super::Session;
use super::barrier::BarrierRun;
use super::follow::Follow;
use super::graph::{Whole, left_under_way, results, summaries};
use super::job::{Background, Job};
use super::multicast::MulticastRun;
use super::nodes::{ask_process, gather_processes, on_kinds};
use super::operations::Operations;
use super::train::{TrainResult, TrainRun};
use crate::graph::GraphResult;
use crate::measure::{Progress, measure_whole};
use crate::point::Point;
use crate::recorder::Recorder;
use crate::watch::Watch;
use flitway_fabric::Simulation;
use flitway_fabric::simulation::Architecture;
use flitway_nic::Nic;
use flitway_process::{Exchange, Together, Train};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Workloads in one run, fitted to a machine; at least one that ends.
#[derive(Clone, Copy, Debug)]
pub struct Mix<'a> {
    /// Task graphs.
    pub exchanges: &'a [Arc<Exchange>],
    /// A train.
    pub train: Option<TrainRun>,
    /// Multicast operations.
    pub multicast: Option<&'a MulticastRun>,
    /// Barriers.
    pub barrier: Option<&'a BarrierRun>,
    /// The traffic, with its offered load.
    pub background: Background<'a>,
}

/// What each of them came to.
#[derive(Clone, Debug)]
pub struct MixResult {
    /// Task graphs.
    pub graphs: Vec<GraphResult>,
    /// The train.
    pub train: Option<TrainResult>,
    /// Operations and traffic, from the beginning until everything was over that ends.
    pub point: Point,
    /// Whether there is synthetic traffic.
    has_traffic: bool,
}

impl MixResult {
    /// The numbers of what runs beside a task graph or a train in an entry of `points`: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("offered_load", "fraction of the injection rate"),
        ("accepted_load", "fraction of the injection rate"),
        ("packet_latency_ns.mean", "ns"),
        ("packet_latency_ns.p50", "ns"),
        ("packet_latency_ns.p99", "ns"),
        ("packet_latency_ns.p999", "ns"),
        ("packet_latency_ns.max", "ns"),
        ("train.time_ns", "ns"),
        ("train.packets_per_us", "packets per us"),
        ("train.model_ns", "ns"),
        ("train.pipelined_ns", "ns"),
        ("duration_ns", "ns"),
    ];

    /// Whether somebody stopped it.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.point.is_stopped()
    }

    /// The objects that `--json` has in `points`: one for each graph, or one for the train, each with what ran beside it.
    #[must_use]
    pub fn to_json(&self) -> Vec<Value> {
        let train = self.train.as_ref().map(TrainResult::to_json);
        let mut entries: Vec<Value> = self.graphs.iter().map(GraphResult::to_json).collect();
        if entries.is_empty() {
            entries.extend(train.clone());
        }
        let mut point = self.point.to_json();
        if let Some(train) = train {
            point["train"] = train["train"].clone();
        }
        let of_traffic = ["offered_load", "accepted_load", "packet_latency_ns", "network_latency_ns"];
        let of_all = [
            "train",
            "multicast",
            "barrier",
            "channel_load",
            "deadlock",
            "duration_ns",
            "link_errors",
            "links",
            "faults",
        ];
        let beside = of_traffic.iter().filter(|_| self.has_traffic).chain(&of_all);
        for key in beside {
            let Some(value) = point.get(*key) else { continue };
            for object in entries.iter_mut().filter_map(Value::as_object_mut) {
                object.entry(*key).or_insert_with(|| value.clone());
            }
        }
        entries
    }
}

impl<'a> Mix<'a> {
    fn job(&self, session: &'a Session) -> Operations<'a> {
        let traffic = self.background.map(|(traffic, _)| traffic);
        Operations::new(session, traffic, self.multicast, self.barrier).with_ends(self.exchanges, self.train)
    }
}

impl Session {
    /// Runs `mix` until everything is over in it that ends.
    pub fn mix(&self, mix: Mix<'_>, stop: &AtomicBool, progress: &mut dyn FnMut(Progress)) -> MixResult {
        let job = mix.job(self);
        on_kinds!(self, job.fabric(), kinds => {
            let record = self.fault_record(None);
            let mut simulation = self.simulation_of(&job, kinds, &Watch::slowest(self.has_details), record);
            self.run_mix(mix, &job, &mut simulation, (stop, progress))
        })
    }

    fn run_mix<A: Architecture, N: Nic<Process = Together>>(
        &self,
        mix: Mix<'_>,
        job: &Operations<'_>,
        simulation: &mut Simulation<A, N, Recorder>,
        (stop, progress): (&AtomicBool, &mut dyn FnMut(Progress)),
    ) -> MixResult {
        /// Cycles between two looks whether everything is over.
        const STRIDE: u64 = 1 << 10;
        let of_train = |simulation: &mut Simulation<A, N, Recorder>| {
            mix.train.map_or(0, |run| {
                let received = |it: &mut Together| it.train().map_or(0, Train::received);
                u64::from(run.count() - ask_process(simulation, run.to(), received))
            })
        };
        let lost = |simulation: &mut Simulation<A, N, Recorder>| {
            let lost = |it: &mut Recorder| it.faults().map_or(0, |faults| faults.messages_lost);
            simulation.gather_observers(lost).into_iter().sum::<u64>()
        };
        let is_over = |simulation: &mut Simulation<A, N, Recorder>| {
            left_under_way(simulation).is_some_and(|left| left + of_train(simulation) == lost(simulation))
        };
        let mut course = self.managed(job.course::<A, N>());
        let measurement = measure_whole(simulation, STRIDE, &mut course, stop, progress, is_over);
        let offered = mix.background.map(|(_, load)| load);
        let scale = self.scale();
        let faults = self.faults_result(simulation, &course, &measurement);
        let point =
            Point::new(offered.unwrap_or(0.0), &measurement, scale).with_stages(&self.fabric, &measurement);
        let mut point = Point { links: self.link_counts(simulation), faults, ..point };
        if let Some(run) = mix.multicast {
            point = run.complete(point, &measurement, scale);
        }
        if let Some(run) = mix.barrier {
            point = run.complete(point, &measurement, scale);
        }
        let whole = Whole {
            offered_load: offered,
            stopped: point.is_stopped(),
            out_of_memory: measurement.is_out_of_memory,
            stages: point.stages.clone(),
            wall: measurement.wall,
        };
        let nodes = gather_processes(simulation, |_, together| std::mem::take(together));
        let summaries = summaries(&nodes, mix.exchanges.len());
        let mut graphs = results(simulation, (&nodes, summaries), &whole, self.machine.clock);
        let train = mix.train.and_then(|run| {
            let receiver = nodes[run.to().index()].train()?;
            Some(self.train_result(run, receiver, simulation.counters(), measurement.wall))
        });
        if self.has_details {
            // They saw the same network.
            let details =
                self.details(job, &measurement, |watch, until| self.again(job, &watch, until, stop));
            graphs.iter_mut().for_each(|result| result.details = Some(details.clone()));
        }
        MixResult { graphs, train, point, has_traffic: offered.is_some() }
    }

    /// What the shards have watched of a run of `mix`.
    #[must_use]
    pub fn follow_mix(&self, mix: Mix<'_>, follow: &Follow, stop: &AtomicBool) -> Vec<Watch> {
        self.follow(&mix.job(self), follow, stop)
    }
}
