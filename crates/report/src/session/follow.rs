//! Runs that are made again to see more of them: the steps of chosen packets, or what the counters of every port held.

use super::Session;
use super::barrier::BarrierRun;
use super::job::{Injectors, Job, Requesters};
use super::multicast::MulticastRun;
use super::operations::{Operations, OperationsRun};
use crate::watch::Watch;
use flitway_engine::Cycle;
use flitway_process::Exchange;
use flitway_workload::traffic::Traffic;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is written down of a run that is made again.
#[derive(Clone, Debug)]
pub struct Follow {
    /// What to watch.
    pub watch: Watch,
    /// Until about this cycle.
    pub until: Cycle,
}

impl Session {
    /// What the shards have watched of a run of `traffic`.
    #[must_use]
    pub fn follow_traffic(&self, traffic: &Arc<Traffic>, follow: &Follow, stop: &AtomicBool) -> Vec<Watch> {
        if traffic.replies().is_some() {
            return self.follow(&Requesters::new(self, traffic), follow, stop);
        }
        self.follow(&Injectors::new(self, traffic), follow, stop)
    }

    /// The same of task graphs.
    #[must_use]
    pub fn follow_graphs(&self, graphs: &[Arc<Exchange>], follow: &Follow, stop: &AtomicBool) -> Vec<Watch> {
        self.follow(&Operations::of_graphs(self, graphs), follow, stop)
    }

    /// The same of multicast operations, with `traffic` beside them.
    #[must_use]
    pub fn follow_multicast(
        &self,
        run: &MulticastRun,
        traffic: Option<&Arc<Traffic>>,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Vec<Watch> {
        self.follow(&Operations::new(self, traffic, Some(run), None), follow, stop)
    }

    /// The same of barriers, with `traffic` beside them. Barrier packets of switches are not followed.
    #[must_use]
    pub fn follow_barriers(
        &self,
        run: &BarrierRun,
        traffic: Option<&Arc<Traffic>>,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Vec<Watch> {
        self.follow(&Operations::new(self, traffic, None, Some(run)), follow, stop)
    }

    /// The same of both in one run.
    #[must_use]
    pub fn follow_operations(
        &self,
        run: &OperationsRun,
        traffic: Option<&Arc<Traffic>>,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Vec<Watch> {
        let (multicast, barrier) = (Some(run.multicast()), Some(run.barrier()));
        self.follow(&Operations::new(self, traffic, multicast, barrier), follow, stop)
    }

    pub(super) fn follow(&self, job: &impl Job, follow: &Follow, stop: &AtomicBool) -> Vec<Watch> {
        self.again(job, &follow.watch, follow.until, stop)
    }
}
