//! What is measured in batches: synthetic traffic, multicast operations, barriers. How a run of it goes is said here once.

use super::nodes::{Kinds, on_kinds};
use super::{PACKETS_PER_BATCH, Patience, Session, packets_per_cycle};
use crate::fault_record::FaultRecord;
use crate::measure::{Aim, Course, Measurement, Plain, Plan, Progress, measure};
use crate::order::Order;
use crate::point::Point;
use crate::recorder::Recorder;
use crate::watch::Watch;
use flitway_engine::Cycle;
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{Endpoint, Simulation};
use flitway_nic::{Nic, NicModel};
use flitway_process::{Injector, Process, Requester, Together};
use flitway_switch::AnyFabric;
use flitway_wiring::NodeId;
use flitway_workload::traffic::Traffic;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A workload that is measured in batches, fitted to a machine.
pub(super) trait Job {
    /// What runs on a node. Every kind of it costs a compilation of all switches and NICs: there are two, synthetic traffic
    /// alone and anything [`Together`].
    type Process: Endpoint;

    /// The fabric, with what it needs in tables and registers.
    fn fabric(&self) -> &AnyFabric;

    /// What runs on `node`.
    fn process(&self, node: NodeId) -> Self::Process;

    /// The synthetic traffic, if there is some.
    fn traffic(&self) -> Option<&Traffic>;

    /// `recorder`, with what it has to know to see what happens.
    fn instruct(&self, recorder: Recorder) -> Recorder;

    /// How a run of it goes, from the start.
    fn course<A: Architecture, N: Nic<Process = Self::Process>>(&self) -> impl Course<A, N>;
}

/// Synthetic traffic on every node.
pub(super) struct Injectors<'a> {
    session: &'a Session,
    traffic: &'a Arc<Traffic>,
    fabric: AnyFabric,
}

impl<'a> Injectors<'a> {
    pub(super) fn new(session: &'a Session, traffic: &'a Arc<Traffic>) -> Self {
        Injectors { session, traffic, fabric: session.fabric_for(traffic) }
    }
}

impl Job for Injectors<'_> {
    type Process = Injector;

    fn fabric(&self) -> &AnyFabric {
        &self.fabric
    }

    fn process(&self, node: NodeId) -> Injector {
        self.session.injector(self.traffic, node)
    }

    fn traffic(&self) -> Option<&Traffic> {
        Some(self.traffic)
    }

    fn instruct(&self, recorder: Recorder) -> Recorder {
        recorder
    }

    fn course<A: Architecture, N: Nic<Process = Injector>>(&self) -> impl Course<A, N> {
        Plain
    }
}

/// Synthetic traffic on every node whose packets are answered.
pub(super) struct Requesters<'a> {
    session: &'a Session,
    traffic: &'a Arc<Traffic>,
    fabric: AnyFabric,
}

impl<'a> Requesters<'a> {
    pub(super) fn new(session: &'a Session, traffic: &'a Arc<Traffic>) -> Self {
        Requesters { session, traffic, fabric: session.fabric_for(traffic) }
    }
}

impl Job for Requesters<'_> {
    type Process = Together;

    fn fabric(&self) -> &AnyFabric {
        &self.fabric
    }

    fn process(&self, node: NodeId) -> Together {
        let Session { machine, fabric, seed, .. } = self.session;
        let requester = Requester::new(self.traffic, machine.packet, node, fabric.rails, *seed);
        Together::new(vec![Process::Requester(Box::new(requester.expect("somebody answers its packets")))])
    }

    fn traffic(&self) -> Option<&Traffic> {
        Some(self.traffic)
    }

    fn instruct(&self, recorder: Recorder) -> Recorder {
        recorder
    }

    fn course<A: Architecture, N: Nic<Process = Together>>(&self) -> impl Course<A, N> {
        Answered
    }
}

/// The course of a run in which packets are answered.
struct Answered;

impl<A: Architecture, N: Nic<Process = Together>> Course<A, N> for Answered {
    fn aims(&self) -> Vec<Aim> {
        vec![Aim::Packets, Aim::RoundTrips]
    }
}

/// The traffic beside operations, with its offered load.
pub type Background<'a> = Option<(&'a Arc<Traffic>, f64)>;

impl Session {
    /// Measures a point of `job`, beside which `offered` is the load of synthetic traffic.
    pub(super) fn measured<J: Job>(
        &self,
        job: &J,
        offered: f64,
        plan: &Plan,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> (Point, Measurement) {
        on_kinds!(self, job.fabric(), kinds => {
            let whole = plan.duration.map(|duration| duration + plan.warm_up.unwrap_or(0));
            let record = self.fault_record(whole);
            let mut simulation = self.simulation_of(job, kinds, &Watch::slowest(self.has_details), record);
            let mut course = self.managed(job.course());
            let measurement = measure(&mut simulation, plan, &mut course, stop, progress);
            let faults = self.faults_result(&mut simulation, &course, &measurement);
            let point = Point::new(offered, &measurement, self.scale()).with_stages(&self.fabric, &measurement);
            let point = point.with_order(&self.fabric, &measurement);
            let links = self.link_counts(&mut simulation);
            let point = Point { links, faults, ..point };
            let details = self.has_details.then(|| {
                self.details(job, &measurement, |watch, until| self.again(job, &watch, until, stop))
            });
            (Point { details, ..point }, measurement)
        })
    }

    /// What the shards have watched, as `watch` says, of the same run when it is made again, until about `until`.
    pub(super) fn again<J: Job>(
        &self,
        job: &J,
        watch: &Watch,
        until: Cycle,
        stop: &AtomicBool,
    ) -> Vec<Watch> {
        on_kinds!(self, job.fabric(), kinds => {
            // The manager reads what recorders see.
            let record = self.faults.as_ref().map(|plan| {
                FaultRecord::new(u64::MAX).read_by_manager(plan.manager.is_some())
            });
            let mut again = self.simulation_of(job, kinds, watch, record);
            self.managed(job.course()).advance(&mut again, until, stop);
            again.gather_observers(|recorder| std::mem::take(recorder.watch_mut()))
        })
    }

    /// A run of `job` at its start, seen by a recorder with `watch`.
    pub(super) fn simulation_of<A: Architecture, M: NicModel, J: Job>(
        &self,
        job: &J,
        kinds: Kinds<'_, A, M>,
        watch: &Watch,
        faults: Option<FaultRecord>,
    ) -> Simulation<A, M::Nic<J::Process>, Recorder> {
        let recorder = || {
            let recorder = Recorder::new(self.fabric.nodes()).with_watch(watch.clone());
            job.instruct(recorder.with_faults(faults.clone()).with_order(Order::of(&self.fabric)))
        };
        self.simulation(kinds, |node| job.process(node), recorder)
    }

    /// The injector of `traffic` on `node`.
    pub(super) fn injector(&self, traffic: &Arc<Traffic>, node: NodeId) -> Injector {
        Injector::new(traffic, node, self.fabric.rails, self.seed)
    }

    /// The plan to measure operations of which `per_cycle` begin in the mean and a batch should hold `per_batch`, with packets
    /// of `payload` bytes. The traffic beside them, if there is any, has its packets in a batch too.
    pub(super) fn plan_of_operations(
        &self,
        [per_cycle, per_batch]: [f64; 2],
        payload: f64,
        background: Background<'_>,
        patience: Patience,
    ) -> Plan {
        let packets =
            background.map_or(f64::INFINITY, |(traffic, _)| packets_per_cycle(self.fabric.nodes(), traffic));
        self.plan(packets.min(per_cycle * PACKETS_PER_BATCH / per_batch), payload, patience)
    }
}
