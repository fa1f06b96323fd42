//! Multicast operations and barriers in one run, with synthetic traffic beside them: each is what it is alone.

use super::barrier::BarrierWorkload;
use super::beside::Task;
use super::multicast::MulticastWorkload;
use super::{
    Kind, KindId, Measured, Problem, Run, Surroundings, Tell, Workload, WorkloadOptions, Written, argument,
    barrier, measured, multicast,
};
use flitway_report::point::{BarrierPoint, MulticastPoint, Point};
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::session::operations::OperationsRun;
use flitway_report::stages::Stages;
use flitway_report::watch;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    id: KindId::Together,
    name: "multicast with barriers",
    selectors: &["multicast", "barrier"],
    example: "broadcast --barrier all",
    of_a_point: None,
    fields: &[Point::FIELDS, Stages::FIELDS, MulticastPoint::FIELDS, BarrierPoint::FIELDS],
    check,
};

/// Options that say how something is carried out: alone, of multicasts here, of barriers here.
const BY: [&str; 3] = ["by", "multicast_by", "barrier_by"];

/// Multicast operations and barriers, checked.
#[derive(Clone, Debug)]
pub struct TogetherWorkload {
    /// The options, as written or by default.
    pub written: Written,
    /// The operations, with the traffic beside both, and how long to measure.
    pub multicast: MulticastWorkload,
    /// The barriers.
    pub barrier: BarrierWorkload,
}

/// One point: operations and barriers, and the traffic beside them.
pub type TogetherTask = Task<OperationsRun>;

/// Options of `kind` as they are written for it alone, where `by` says how; without those that both have, if `is_second`.
fn part(options: &WorkloadOptions, kind: &Kind, by: &str, is_second: bool) -> WorkloadOptions {
    let shared = |name: &str| is_second && name != "by" && name != "overheads" && multicast::KIND.takes(name);
    let mut part = WorkloadOptions::default();
    for name in kind.options().iter().map(|option| option.name).filter(|name| !shared(name)) {
        let from = if name == BY[0] { by } else { name };
        if let Some(text) = options.get(from) {
            part.set(name, text.to_owned());
        }
    }
    part
}

/// `problem` of a part in which `by` says how.
fn of_part(problem: Problem, by: &'static str) -> Problem {
    let renamed = |text: String| text.replace(&argument(BY[0]), &argument(by));
    Problem {
        option: if problem.option == BY[0] { by } else { problem.option },
        message: renamed(problem.message),
        help: problem.help.map(renamed),
        picture: problem.picture,
    }
}

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let [_, multicast_by, barrier_by] = BY;
    let operations = (multicast::KIND.check)(&part(options, &multicast::KIND, multicast_by, false), around);
    let barriers = (barrier::KIND.check)(&part(options, &barrier::KIND, barrier_by, true), around);
    match (operations, barriers) {
        (Ok(Workload::Multicast(multicast)), Ok(Workload::Barrier(barrier))) => {
            let written = Written::new(&KIND, options);
            Ok(Workload::Together(Box::new(TogetherWorkload { written, multicast, barrier })))
        }
        (operations, barriers) => {
            let of = |problems: Result<Workload, Vec<Problem>>, by| {
                problems.err().into_iter().flatten().map(move |problem| of_part(problem, by))
            };
            Err(of(operations, multicast_by).chain(of(barriers, barrier_by)).collect())
        }
    }
}

impl TogetherWorkload {
    /// Fits operations, barriers and the traffic beside them to the machine of `session`, at each of their loads.
    ///
    /// # Errors
    /// What does not fit.
    pub fn tasks(&self, session: &Session) -> Result<Vec<TogetherTask>, Problem> {
        let [_, multicast_by, barrier_by] = BY;
        let multicasts = self.multicast.tasks(session).map_err(|problem| of_part(problem, multicast_by))?;
        let barrier = self.barrier.fit_barriers(session).map_err(|problem| of_part(problem, barrier_by))?;
        let together = |Task { run, background }| {
            let run = OperationsRun::new(session, run, barrier.clone())
                .map_err(|misfit| Problem::new(barrier_by, misfit.to_string()).help(misfit.help()))?;
            Ok(Task { run, background })
        };
        multicasts.into_iter().map(together).collect()
    }
}

impl Run for TogetherWorkload {
    fn to_json(&self) -> Value {
        self.written.to_json()
    }

    fn identity(&self) -> Value {
        json!({ "options": self.to_json(), "parts": [self.multicast.identity(), self.barrier.identity()] })
    }

    fn fit(&self, session: &Session) -> Result<(), Vec<Problem>> {
        self.tasks(session).map(drop).map_err(|problem| vec![problem])
    }

    fn run(
        &self,
        session: &Session,
        stop: &AtomicBool,
        tell: &mut Tell<'_>,
    ) -> Result<Option<Vec<Measured>>, Vec<Problem>> {
        let tasks = self.tasks(session).map_err(|problem| vec![problem])?;
        Ok(measured(session, &tasks, stop, tell, |session, task, progress| {
            session.operations_point(&task.run, task.background(), self.multicast.patience, stop, progress)
        }))
    }

    fn follow(
        &self,
        session: &Session,
        place: usize,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<(Vec<watch::Step>, u64)> {
        let task = self.tasks(session).ok()?.into_iter().nth(place)?;
        Some(session.follow_operations(&task.run, task.traffic(), follow, stop))
    }
}
