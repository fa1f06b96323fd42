//! How a workload runs, whatever kind it is: its points fitted to a machine, measured side by side, and run again to follow
//! packets.

use super::Problem;
use crate::side_by_side::side_by_side;
use flitway_engine::Cycle;
use flitway_report::details::Details;
use flitway_report::measure::Progress;
use flitway_report::point::Point;
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::theory::Theory;
use flitway_report::watch::Watch;
use serde_json::Value;
use std::cell::Cell;
use std::sync::atomic::AtomicBool;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Points that are over.
    pub done: usize,
    /// Points of the run.
    pub all: usize,
    /// Cycles simulated of the point that runs.
    pub now: Cycle,
    /// Half-width of its interval as a fraction of the mean, once there is one.
    pub precision: Option<f64>,
}

/// Who is told how far a run is.
pub type Tell<'a> = dyn FnMut(Step) + 'a;

/// A point that has been run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The entry of `points` in a result.
    pub value: Value,
    /// What a report page shows beyond it, in a session with details.
    pub details: Option<Box<Details>>,
}

impl From<Point> for Measured {
    fn from(point: Point) -> Self {
        Measured { value: point.to_json(), details: point.details }
    }
}

/// What a result says of a workload beside its points.
pub trait Described: Sync {
    /// The object `workload` of a result: the options that matter, as they were written.
    fn to_json(&self) -> Value;

    /// Everything that the result depends on besides machine, seed and version: equal identities, equal results.
    fn identity(&self) -> Value;

    /// What theory says of it, where it says something.
    fn theory(&self, _session: &Session) -> Option<Theory> {
        None
    }

    /// Whether its points can be shown as a page.
    fn has_page(&self) -> bool {
        self.has_views()
    }

    /// Whether their packets can be followed too, as a trace, and the counters of ports read.
    fn has_views(&self) -> bool {
        true
    }
}

/// A workload as tasks, of each of which something is measured: what is particular to a kind.
pub trait Tasks: Described {
    /// What is run at once, fitted to a machine.
    type Task: Sync;
    /// What it comes to.
    type Outcome: Outcome;

    /// Fits it to the machine of `session`. Runs nothing.
    ///
    /// # Errors
    /// What keeps it from running.
    fn tasks(&self, session: &Session) -> Result<Vec<Self::Task>, Vec<Problem>>;

    /// Runs `task`, until it is over or `stop` comes first.
    fn measure(
        &self,
        session: &Session,
        task: &Self::Task,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Self::Outcome;

    /// How many entries of a result a task comes to.
    fn entries(&self) -> usize {
        1
    }

    /// Runs `task` again, to follow packets; `None` if it has none that could be followed.
    fn again(
        &self,
        _session: &Session,
        _task: &Self::Task,
        _follow: &Follow,
        _stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        None
    }
}

/// What a task comes to.
pub trait Outcome: Send {
    /// Whether somebody stopped it.
    fn is_stopped(&self) -> bool;

    /// Its entries in a result.
    fn measured(self) -> Vec<Measured>;
}

impl Outcome for Point {
    fn is_stopped(&self) -> bool {
        Point::is_stopped(self)
    }

    fn measured(self) -> Vec<Measured> {
        vec![Measured::from(self)]
    }
}

/// What every kind of workload can do.
pub trait Run: Described {
    /// Whether it can run on the machine of `session`. Runs nothing.
    ///
    /// # Errors
    /// What keeps it from running.
    fn fit(&self, session: &Session) -> Result<(), Vec<Problem>>;

    /// Runs it: its points; `None` if `stop` came first. Tells now and then how far it is.
    ///
    /// # Errors
    /// What [`fit`](Self::fit) says.
    fn run(
        &self,
        session: &Session,
        stop: &AtomicBool,
        tell: &mut Tell<'_>,
    ) -> Result<Option<Vec<Measured>>, Vec<Problem>>;

    /// How many entries of a result a run of it comes to, one after the other.
    fn entries_of_a_run(&self) -> usize;

    /// Runs again what came to some entries of the result, by their places: what the shards have watched of each of which
    /// anything can be.
    fn follow(
        &self,
        session: &Session,
        follows: &[(usize, Follow)],
        stop: &AtomicBool,
    ) -> Vec<(usize, Vec<Watch>)>;
}

impl<W: Tasks> Run for W {
    fn fit(&self, session: &Session) -> Result<(), Vec<Problem>> {
        self.tasks(session).map(drop)
    }

    fn run(
        &self,
        session: &Session,
        stop: &AtomicBool,
        tell: &mut Tell<'_>,
    ) -> Result<Option<Vec<Measured>>, Vec<Problem>> {
        let tasks = self.tasks(session)?;
        let (session, beside) = session.dealt(tasks.len());
        let (mut measured, done) = (Vec::new(), Cell::new(0));
        let over = |_, outcome: W::Outcome| {
            if outcome.is_stopped() {
                return Err(());
            }
            measured.extend(outcome.measured());
            done.set(done.get() + 1);
            Ok(())
        };
        // The first task that is not over stands for those beside it.
        let told = |place, Progress { now, precision, .. }| {
            if place == done.get() {
                tell(Step { done: place, all: tasks.len(), now, precision });
            }
        };
        let measure =
            |task: &W::Task, progress: &mut dyn FnMut(Progress)| self.measure(&session, task, stop, progress);
        let outcome = side_by_side(&tasks, beside, stop, measure, told, over);
        Ok((outcome.is_ok() && done.get() == tasks.len()).then_some(measured))
    }

    fn entries_of_a_run(&self) -> usize {
        self.entries().max(1)
    }

    fn follow(
        &self,
        session: &Session,
        follows: &[(usize, Follow)],
        stop: &AtomicBool,
    ) -> Vec<(usize, Vec<Watch>)> {
        let Ok(tasks) = self.tasks(session) else { return Vec::new() };
        let again = |(place, follow): &(usize, Follow)| {
            let task = tasks.get(place / self.entries_of_a_run())?;
            Some((*place, self.again(session, task, follow, stop)?))
        };
        follows.iter().filter_map(again).collect()
    }
}
