//! Runs that are made again to see more of them: the steps of chosen packets.

use super::barrier::BarrierRun;
use super::job::{Injectors, Job};
use super::multicast::MulticastRun;
use super::operations::{Operations, OperationsRun};
use super::{Graphs, Session};
use crate::watch::{Selection, Step, Steps, Watch};
use flitway_engine::Cycle;
use flitway_switch::on_architecture;
use flitway_workload::traffic::Traffic;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is written down of a run that is made again.
#[derive(Clone, Debug)]
pub struct Follow {
    /// Of which packets.
    pub selection: Selection,
    /// From this cycle on.
    pub from: Cycle,
    /// Until about this one.
    pub until: Cycle,
    /// Steps at most.
    pub room: usize,
}

impl Session {
    fn watch(&self, follow: &Follow) -> Watch {
        let selection = follow.selection.clone();
        Watch::steps(Steps::new(self.fabric(), selection, follow.from, follow.room))
    }

    /// The steps of chosen packets of `traffic`, in order of time, and how many there was no room for.
    #[must_use]
    pub fn follow_traffic(
        &self,
        traffic: &Arc<Traffic>,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> (Vec<Step>, u64) {
        self.follow(&Injectors::new(self, traffic), follow, stop)
    }

    /// The same of task graphs.
    #[must_use]
    pub fn follow_graphs(&self, graphs: Graphs<'_>, follow: &Follow, stop: &AtomicBool) -> (Vec<Step>, u64) {
        on_architecture!(self.fabric(), A, fabric => {
            let mut simulation = self.graphs_of::<A>(fabric, graphs, &self.watch(follow));
            simulation.run_until(follow.until, stop);
            Steps::join(simulation.gather_observers(Watch::take_steps).into_iter().flatten().collect())
        })
    }

    /// The same of multicast operations, with `traffic` beside them.
    #[must_use]
    pub fn follow_multicast(
        &self,
        run: &MulticastRun,
        traffic: Option<&Arc<Traffic>>,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> (Vec<Step>, u64) {
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
    ) -> (Vec<Step>, u64) {
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
    ) -> (Vec<Step>, u64) {
        let (multicast, barrier) = (Some(run.multicast()), Some(run.barrier()));
        self.follow(&Operations::new(self, traffic, multicast, barrier), follow, stop)
    }

    pub(super) fn follow(&self, job: &impl Job, follow: &Follow, stop: &AtomicBool) -> (Vec<Step>, u64) {
        Steps::join(self.again(job, &self.watch(follow), follow.until, stop))
    }
}
