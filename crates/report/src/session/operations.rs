//! Operations of several kinds in one run, with synthetic traffic beside them: what stands on each node, and how it goes.

use super::Session;
use super::barrier::{BarrierRun, Watched};
use super::job::Job;
use super::multicast::{Managed, MulticastRun, copies_of};
use crate::measure::{Aim, Course};
use crate::recorder::{Batch, Recorder};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::Simulation;
use flitway_fabric::simulation::Architecture;
use flitway_process::{Multicaster, Process, Synchroniser, Together};
use flitway_switch::AnyFabric;
use flitway_wiring::NodeId;
use flitway_workload::traffic::Traffic;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Operations on every node, with `traffic` beside them.
pub(super) struct Operations<'a> {
    session: &'a Session,
    traffic: Option<&'a Arc<Traffic>>,
    multicast: Option<&'a MulticastRun>,
    barrier: Option<&'a BarrierRun>,
    /// With what all of them need in tables and registers.
    fabric: AnyFabric,
}

impl<'a> Operations<'a> {
    /// Of `multicast` and `barrier`, as far as there are such.
    pub(super) fn new(
        session: &'a Session,
        traffic: Option<&'a Arc<Traffic>>,
        multicast: Option<&'a MulticastRun>,
        barrier: Option<&'a BarrierRun>,
    ) -> Self {
        let mut fabric = session.fabric.clone();
        if let Some(run) = barrier {
            fabric.groups = run.plan().groups().clone();
            fabric.barriers = run.plan().barriers().clone();
        }
        // Barriers have groups of their own only where nothing else is multicast.
        if let Some(run) = multicast {
            fabric.groups = run.plan().groups().clone();
        }
        Operations { session, traffic, multicast, barrier, fabric }
    }
}

impl Job for Operations<'_> {
    type Endpoint = Together;

    fn fabric(&self) -> &AnyFabric {
        &self.fabric
    }

    fn endpoint(&self, node: NodeId) -> Together {
        let injector = self.traffic.map(|traffic| Process::Injector(self.session.injector(traffic, node)));
        let multicaster = self.multicast.map(|run| {
            let multicaster = Multicaster::new(run.shared_plan(), node);
            Process::Multicaster(Box::new(multicaster))
        });
        let synchroniser = self.barrier.map(|run| {
            let synchroniser = Synchroniser::new(run.shared_plan(), node);
            Process::Synchroniser(Box::new(synchroniser))
        });
        Together::new([injector, multicaster, synchroniser].into_iter().flatten().collect())
    }

    fn traffic(&self) -> Option<&Traffic> {
        self.traffic.map(Arc::as_ref)
    }

    fn instruct(&self, recorder: Recorder) -> Recorder {
        let has_receipts = self.multicast.is_some_and(|run| run.plan().receive_overhead() > 0);
        recorder.with_groups(&copies_of(&self.fabric.groups)).with_receipts(has_receipts)
    }

    fn course<A: Architecture>(&self) -> impl Course<A, Together> {
        Conducted {
            multicast: self.multicast.map(Managed::new),
            barrier: self.barrier.map(|run| Watched::new(run.shared_plan())),
        }
    }
}

/// The course of a run with operations.
struct Conducted {
    multicast: Option<Managed>,
    barrier: Option<Watched>,
}

impl<A: Architecture> Course<A, Together> for Conducted {
    fn advance(
        &mut self,
        simulation: &mut Simulation<A, Together, Recorder>,
        until: Cycle,
        stop: &AtomicBool,
    ) -> Outcome {
        match &mut self.multicast {
            Some(multicast) => multicast.advance(simulation, until, stop),
            None => simulation.run_until(until, stop),
        }
    }

    fn aims(&self) -> Vec<Aim> {
        let multicast = self.multicast.is_some().then_some(Aim::LastCopies);
        let barrier = self.barrier.as_ref().map(Watched::aim);
        multicast.into_iter().chain(barrier).collect()
    }

    fn collect(&mut self, simulation: &mut Simulation<A, Together, Recorder>, batch: &mut Batch) {
        if let Some(multicast) = &mut self.multicast {
            multicast.collect(simulation, batch);
        }
        if let Some(barrier) = &mut self.barrier {
            barrier.collect(simulation, batch);
        }
    }
}
