//! Runs that are made again to see more of them: the steps of chosen packets.

use super::barrier::BarrierRun;
use super::multicast::MulticastRun;
use super::{Session, steps_of};
use crate::watch::{Selection, Step, Steps, Watch};
use flitway_engine::Cycle;
use flitway_fabric::SwitchSettings;
use flitway_fabric::hpp::Hpp;
use flitway_fabric::simulation::Architecture;
use flitway_fabric::sp::Sp;
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
        fn on<A: Architecture>(
            session: &Session,
            traffic: &Arc<Traffic>,
            follow: &Follow,
            stop: &AtomicBool,
        ) -> (Vec<Step>, u64) {
            let mut simulation = session.injection_of::<A>(traffic, &session.watch(follow));
            simulation.run_until(follow.until, stop);
            Steps::join(steps_of(&mut simulation))
        }
        match self.fabric().switch {
            SwitchSettings::Hpp(_) => on::<Hpp>(self, traffic, follow, stop),
            SwitchSettings::Sp(_) => on::<Sp>(self, traffic, follow, stop),
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
        fn on<A: Architecture>(
            session: &Session,
            exchange: &Arc<Exchange>,
            follow: &Follow,
            stop: &AtomicBool,
        ) -> (Vec<Step>, u64) {
            let mut simulation = session.exchange_of::<A>(exchange, &session.watch(follow));
            simulation.run_until(follow.until, stop);
            Steps::join(simulation.observers_mut().filter_map(Watch::take_steps).collect())
        }
        match self.fabric().switch {
            SwitchSettings::Hpp(_) => on::<Hpp>(self, exchange, follow, stop),
            SwitchSettings::Sp(_) => on::<Sp>(self, exchange, follow, stop),
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
        let (watch, until) = (self.watch(follow), follow.until);
        Steps::join(match self.fabric().switch {
            SwitchSettings::Hpp(_) => self.operations_again::<Hpp>(run, traffic, &watch, until, stop),
            SwitchSettings::Sp(_) => self.operations_again::<Sp>(run, traffic, &watch, until, stop),
        })
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
        let (watch, until) = (self.watch(follow), follow.until);
        Steps::join(match self.fabric().switch {
            SwitchSettings::Hpp(_) => self.barriers_again::<Hpp>(run, traffic, &watch, until, stop),
            SwitchSettings::Sp(_) => self.barriers_again::<Sp>(run, traffic, &watch, until, stop),
        })
    }
}
