//! Runs that are made again to see more of them: the steps of chosen packets.

use super::barrier::BarrierRun;
use super::multicast::MulticastRun;
use super::{Session, steps_of};
use crate::watch::{Selection, Step, Steps, Watch};
use flitway_engine::Cycle;
use flitway_fabric::SwitchSettings;
use flitway_fabric::hpp::Hpp;
use flitway_nic::Exchange;
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
        match self.fabric().switch {
            SwitchSettings::Hpp(_) => {
                let mut simulation = self.injection_of::<Hpp>(traffic, &self.watch(follow));
                simulation.run_until(follow.until, stop);
                Steps::join(steps_of(&mut simulation))
            }
        }
    }

    /// The same of a task graph.
    #[must_use]
    pub fn follow_graph(
        &self,
        exchange: &Arc<Exchange>,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> (Vec<Step>, u64) {
        match self.fabric().switch {
            SwitchSettings::Hpp(_) => {
                let mut simulation = self.exchange_of::<Hpp>(exchange, &self.watch(follow));
                simulation.run_until(follow.until, stop);
                Steps::join(simulation.observers_mut().filter_map(Watch::take_steps).collect())
            }
        }
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
        match self.fabric().switch {
            SwitchSettings::Hpp(_) => Steps::join(self.operations_again::<Hpp>(
                run,
                traffic,
                &self.watch(follow),
                follow.until,
                stop,
            )),
        }
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
        match self.fabric().switch {
            SwitchSettings::Hpp(_) => {
                let watch = self.watch(follow);
                Steps::join(self.barriers_again::<Hpp>(run, traffic, &watch, follow.until, stop))
            }
        }
    }
}
