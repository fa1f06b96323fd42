//! Operations of several kinds in one run, with synthetic traffic beside them: what stands on each node, and how it goes.

use super::barrier::{BarrierRun, Watched};
use super::job::Job;
use super::multicast::{Managed, MulticastRun, copies_of};
use super::train::TrainRun;
use super::{Background, Patience, Session};
use crate::measure::{Aim, Course, Progress};
use crate::point::Point;
use crate::recorder::{Batch, Recorder};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::Simulation;
use flitway_fabric::simulation::Architecture;
use flitway_nic::Nic;
use flitway_process::{Exchange, Messenger, Multicaster, Process, Synchroniser, Together};
use flitway_switch::AnyFabric;
use flitway_wiring::NodeId;
use flitway_workload::traffic::Traffic;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Multicast operations and barriers that are fitted to a machine and go together.
#[derive(Clone, Debug)]
pub struct OperationsRun {
    multicast: MulticastRun,
    barrier: BarrierRun,
}

/// Why they do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationsMisfit {
    /// Both need the groups of the switches.
    Groups,
    /// Barrier packets keep the order of the virtual channel that multicast has.
    SameChannel,
}

impl fmt::Display for OperationsMisfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OperationsMisfit::Groups => {
                "the question of three-trips barriers is a multicast, and the groups of the switches are those of the \
                 operations beside it"
            }
            OperationsMisfit::SameChannel => {
                "barriers have no virtual channel of their own here, and multicast has the one that they share"
            }
        })
    }
}

impl std::error::Error for OperationsMisfit {}

impl OperationsMisfit {
    /// The likely fix.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            OperationsMisfit::Groups => "use `--barrier-by hardware`, or `--multicast-by binomial`",
            OperationsMisfit::SameChannel => {
                "use `--set switch.barrier.dedicated=true`, or `--set switch.vcs=2`"
            }
        }
    }
}

impl OperationsRun {
    /// `multicast` and `barrier` on the machine of `session`.
    ///
    /// # Errors
    /// If they do not go together.
    pub fn new(
        session: &Session,
        multicast: MulticastRun,
        barrier: BarrierRun,
    ) -> Result<Self, OperationsMisfit> {
        let offers = session.fabric.chip.offers();
        let has_groups = !multicast.plan().groups().is_empty();
        let shares = offers.barriers.is_some_and(|barriers| barriers.shares_with_groups);
        if has_groups && !barrier.plan().groups().is_empty() {
            Err(OperationsMisfit::Groups)
        } else if has_groups && shares && barrier.plan().is_of_switches() {
            Err(OperationsMisfit::SameChannel)
        } else {
            Ok(OperationsRun { multicast, barrier })
        }
    }

    /// The multicast operations.
    #[must_use]
    pub fn multicast(&self) -> &MulticastRun {
        &self.multicast
    }

    /// The barriers.
    #[must_use]
    pub fn barrier(&self) -> &BarrierRun {
        &self.barrier
    }
}

impl Session {
    /// Measures `run`, with `background` traffic offered beside it.
    pub fn operations_point(
        &self,
        run: &OperationsRun,
        background: Background<'_>,
        patience: Patience,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let OperationsRun { multicast, barrier } = run;
        // A batch holds as many of each as it would alone.
        let plans = [
            self.plan_of_multicast(multicast, background, patience),
            self.plan_of_barriers(barrier, background, patience),
        ];
        let [first, second] = plans;
        let plan = if first.batch >= second.batch { first } else { second };
        let traffic = background.map(|(traffic, _)| traffic);
        let job = Operations::new(self, traffic, Some(multicast), Some(barrier));
        let offered = background.map_or(0.0, |(_, load)| load);
        let (point, measurement) = self.measured(&job, offered, &plan, stop, progress);
        let point = multicast.complete(point, &measurement, self.scale());
        barrier.complete(point, &measurement, self.scale())
    }
}

/// Operations on every node, with `traffic` beside them.
pub(super) struct Operations<'a> {
    session: &'a Session,
    traffic: Option<&'a Arc<Traffic>>,
    multicast: Option<&'a MulticastRun>,
    barrier: Option<&'a BarrierRun>,
    /// What ends: task graphs, and a train.
    exchanges: &'a [Arc<Exchange>],
    train: Option<TrainRun>,
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
        // The groups of the switches are those of one of them: see `OperationsMisfit`.
        if let Some(run) = multicast.filter(|run| !run.plan().groups().is_empty()) {
            fabric.groups = run.plan().groups().clone();
        }
        Operations { session, traffic, multicast, barrier, exchanges: &[], train: None, fabric }
    }

    /// Of task graphs alone.
    pub(super) fn of_graphs(session: &'a Session, exchanges: &'a [Arc<Exchange>]) -> Self {
        Operations::new(session, None, None, None).with_ends(exchanges, None)
    }

    /// With task graphs and a train beside them.
    pub(super) fn with_ends(self, exchanges: &'a [Arc<Exchange>], train: Option<TrainRun>) -> Self {
        Operations { exchanges, train, ..self }
    }
}

impl Job for Operations<'_> {
    type Process = Together;

    fn fabric(&self) -> &AnyFabric {
        &self.fabric
    }

    fn process(&self, node: NodeId) -> Together {
        let injector = self.traffic.map(|traffic| Process::Injector(self.session.injector(traffic, node)));
        let multicaster = self.multicast.map(|run| {
            let multicaster = Multicaster::new(run.shared_plan(), node);
            Process::Multicaster(Box::new(multicaster))
        });
        let synchroniser = self.barrier.map(|run| {
            let synchroniser = Synchroniser::new(run.shared_plan(), node);
            Process::Synchroniser(Box::new(synchroniser))
        });
        let train = self.train.map(|run| Process::Train(self.session.train_of(run, node)));
        let messenger =
            |exchange: &Arc<Exchange>| Process::Messenger(Box::new(Messenger::new(exchange, node)));
        let going = [injector, multicaster, synchroniser, train].into_iter().flatten();
        Together::new(going.chain(self.exchanges.iter().map(messenger)).collect())
    }

    fn traffic(&self) -> Option<&Traffic> {
        self.traffic.map(Arc::as_ref)
    }

    fn instruct(&self, recorder: Recorder) -> Recorder {
        let has_receipts = self.multicast.is_some_and(|run| run.plan().receive_overhead() > 0);
        recorder.with_groups(&copies_of(&self.fabric.groups)).with_receipts(has_receipts)
    }

    fn course<A: Architecture, N: Nic<Process = Together>>(&self) -> impl Course<A, N> {
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

impl<A: Architecture, N: Nic<Process = Together>> Course<A, N> for Conducted {
    fn advance(
        &mut self,
        simulation: &mut Simulation<A, N, Recorder>,
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
        let aims: Vec<Aim> = multicast.into_iter().chain(barrier).collect();
        if aims.is_empty() { vec![Aim::Packets] } else { aims }
    }

    fn collect(&mut self, simulation: &mut Simulation<A, N, Recorder>, batch: &mut Batch) {
        if let Some(multicast) = &mut self.multicast {
            multicast.collect(simulation, batch);
        }
        if let Some(barrier) = &mut self.barrier {
            barrier.collect(simulation, batch);
        }
    }
}
