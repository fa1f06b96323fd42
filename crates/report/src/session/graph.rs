//! Task graphs on a machine, side by side, with nothing else beside them.

use super::nodes::{Kinds, gather_processes, on_kinds};
use super::operations::Operations;
use super::{Session, stories};
use crate::details::Details;
use crate::graph::GraphResult;
use crate::latencies::latencies;
use crate::measure::sent_flits;
use crate::memory::{Guard, peak_rss_bytes};
use crate::recorder::Recorder;
use crate::stages::{Stages, shares_of_run};
use crate::watch::{Slowest, Watch};
use flitway_engine::window::Outcome;
use flitway_engine::{Clock, Cycle};
use flitway_fabric::simulation::{Architecture, ShardModel};
use flitway_fabric::{Endpoint, Simulation};
use flitway_nic::{Nic, NicModel};
use flitway_process::{Exchange, ExchangeError, Messenger, MessengerSettings, Together};
use flitway_workload::graph::{GraphSummary, Placement, RankCosts, TaskGraph};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

impl Session {
    /// Fits `graph`, number `job` of those that run together, to the machine.
    ///
    /// # Errors
    /// If the graph does not go with the placement or the machine.
    pub fn exchange(
        &self,
        graph: &Arc<TaskGraph>,
        placement: Placement,
        job: usize,
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
            // Graphs on one node draw lanes of their own.
            seed: self.seed.wrapping_add(job as u64),
        };
        Ok(Arc::new(Exchange::new(Arc::clone(graph), placement, settings)?))
    }

    /// Runs `graphs` until all of them are over: what each came to. Packets, channels and costs are those of the whole run.
    pub fn graphs(
        &self,
        graphs: &[Arc<Exchange>],
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Cycle),
    ) -> Vec<GraphResult> {
        on_kinds!(self, &self.fabric, kinds => self.graphs_on(kinds, graphs, stop, progress))
    }

    fn graphs_on<A: Architecture, M: NicModel>(
        &self,
        kinds: Kinds<'_, A, M>,
        graphs: &[Arc<Exchange>],
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Cycle),
    ) -> Vec<GraphResult> {
        /// Cycles between two looks at the clock on the wall.
        const STRIDE: u64 = 1 << 14;
        let started = Instant::now();
        let watch = Watch::slowest(self.has_details).with_latencies();
        let job = Operations::of_graphs(self, graphs);
        let mut simulation = self.simulation_of(&job, kinds, &watch, None);
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
        // The run is over: nodes give up what they have run.
        let nodes = gather_processes(&mut simulation, |_, together| std::mem::take(together));
        let summaries = summaries(&nodes, graphs.len());
        let completions: Option<Vec<Cycle>> = summaries.iter().map(|summary| summary.completion).collect();
        let stopped = outcome == Outcome::Stopped;
        // Graphs that cannot finish have no end that their channels were busy until.
        let has_end = stopped || completions.is_some();
        let end = completions.and_then(|ends| ends.into_iter().max()).unwrap_or_else(|| simulation.now());
        // A packet counts when its link has chosen it: what is still to be sent at the end takes its time, too.
        let load = |flits: &u64| *flits as f64 / end.0.max(*flits).max(1) as f64;
        let load_of = sent_flits(&mut simulation).filter(|_| has_end);
        let load_of = load_of.map(|sent| sent.iter().map(load).collect::<Vec<f64>>());
        let counters = simulation.counters();
        let flits = counters.flit_hops as f64 / counters.packet_hops.max(1) as f64;
        let stages = load_of.as_ref().map(|load_of| {
            Stages::of_run(&self.fabric, load_of, end, flits).with_json(self.fabric.topology())
        });
        let share_of = load_of.as_ref().map(|load_of| shares_of_run(&self.fabric, load_of, end, flits));
        let whole = Whole { offered_load: None, stopped, out_of_memory: guard.is_exhausted(), stages, wall };
        let mut results = results(&mut simulation, (&nodes, summaries), &whole, self.machine.clock);
        if self.has_details {
            // They saw the same network.
            let details = self.graph_details(&job, &mut simulation, (share_of, end), stop);
            results.iter_mut().for_each(|result| result.details = Some(details.clone()));
        }
        results
    }

    /// The details of a run of task graphs, which is over.
    fn graph_details<A: Architecture, N: Nic<Process = Together>>(
        &self,
        job: &Operations<'_>,
        simulation: &mut Simulation<A, N, Recorder>,
        (share_of, end): (Option<Vec<f64>>, Cycle),
        stop: &AtomicBool,
    ) -> Box<Details> {
        let (mut slowest, mut latencies) = (Slowest::default(), latencies());
        for mut watch in simulation.gather_observers(|recorder| std::mem::take(recorder.watch_mut())) {
            let (part, of_packets) = (watch.take_slowest(), watch.latencies());
            slowest.add(&part);
            let part = of_packets.map(|part| latencies.add(part));
            part.transpose().expect("histograms of one precision that grow as needed can be added");
        }
        let stories = stories(&self.fabric, &slowest, |watch, until| self.again(job, &watch, until, stop));
        let span = [Cycle::ZERO, end];
        let mut details = Details { share_of, stories, span, ..Details::default() };
        let max = slowest.packets().first().map_or(0, |packet| packet.delivered.since(packet.created));
        details.add("packet", Some(&latencies), max, self.machine.clock);
        Box::new(details)
    }
}

/// What is said of a whole run with every graph of it.
pub(super) struct Whole {
    pub(super) offered_load: Option<f64>,
    pub(super) stopped: bool,
    pub(super) out_of_memory: bool,
    pub(super) stages: Option<(Stages, Value)>,
    pub(super) wall: Duration,
}

/// What is said of each graph, with its summary, in a run that is over, on `nodes`.
pub(super) fn results<A: Architecture, E: Endpoint>(
    simulation: &mut Simulation<A, E, Recorder>,
    (nodes, summaries): (&[Together], Vec<GraphSummary>),
    whole: &Whole,
    clock: Clock,
) -> Vec<GraphResult> {
    let (last, counters, books) = (simulation.now(), simulation.counters(), simulation.audit());
    let result = |(job, summary): (usize, GraphSummary)| GraphResult {
        name: None,
        summary,
        stuck: flitway_process::stuck(messengers(nodes, job), GraphResult::STUCK_MAX),
        offered_load: whole.offered_load,
        stopped: whole.stopped,
        last,
        out_of_memory: whole.out_of_memory,
        counters,
        books,
        stages: whole.stages.clone(),
        details: None,
        wall: whole.wall,
        peak_rss_bytes: peak_rss_bytes(),
        clock,
    };
    summaries.into_iter().enumerate().map(result).collect()
}

/// Packets of messages that are on their way, those that are lost included, if no rank has anything to do.
pub(super) fn left_under_way<A: Architecture, N: Nic<Process = Together>>(
    simulation: &mut Simulation<A, N, Recorder>,
) -> Option<u64> {
    let under_way = simulation.gather(|shard| {
        let of_node = |together: &mut Together| {
            let counts = together.messengers().map(Messenger::counts);
            let under_way = counts.map(|it| it.packets as i64 - it.packets_received as i64).sum::<i64>();
            (!together.has_ranks_to_wake()).then_some(under_way)
        };
        shard.endpoints().map(|(_, nic)| of_node(nic.process_mut())).sum::<Option<i64>>()
    });
    under_way.into_iter().sum::<Option<i64>>()?.try_into().ok()
}

/// What each of `count` graphs has come to on all nodes.
pub(super) fn summaries(nodes: &[Together], count: usize) -> Vec<GraphSummary> {
    (0..count).map(|job| flitway_process::summary(messengers(nodes, job))).collect()
}

/// The ranks of graph `job` on all nodes.
fn messengers(nodes: &[Together], job: usize) -> impl Iterator<Item = &Messenger> {
    nodes.iter().filter_map(move |it| it.messengers().nth(job))
}
