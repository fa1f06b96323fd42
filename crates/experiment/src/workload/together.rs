//! Multicast operations and barriers in one run, with synthetic traffic beside them: each is what it is alone.

use super::barrier::BarrierWorkload;
use super::beside::Task;
use super::multicast::MulticastWorkload;
use super::option::ValueKind;
use super::{
    Described, Kind, KindId, Problem, Surroundings, Tasks, Workload, WorkloadOption, WorkloadOptions,
    Written, argument, barrier, multicast,
};
use flitway_report::faults::FaultsResult;
use flitway_report::measure::Progress;
use flitway_report::point::{BarrierPoint, MulticastPoint, Point};
use flitway_report::session::Session;
use flitway_report::session::barrier::BarrierRun;
use flitway_report::session::follow::Follow;
use flitway_report::session::multicast::MulticastRun;
use flitway_report::session::operations::OperationsRun;
use flitway_report::stages::Stages;
use flitway_report::watch::Watch;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    id: KindId::Together,
    name: "multicast with barriers",
    selectors: &["multicast", "barrier"],
    asks: Kind::is_selected,
    example: "broadcast --barrier all",
    heading: "",
    options: &[
        WorkloadOption::new(
            "multicast_by",
            KindId::Multicast,
            ValueKind::Text("METHOD"),
            "How multicasts are carried out beside barriers, a task graph or a train, instead of --by",
        )
        .default("hardware"),
        WorkloadOption::new(
            "barrier_by",
            KindId::Barrier,
            ValueKind::Text("METHOD"),
            "How, beside multicasts, a task graph or a train, instead of --by",
        )
        .default("hardware"),
    ],
    shares: &[
        "traffic",
        "packet",
        "arrival",
        "load",
        "precision",
        "warm_up",
        "duration",
        "multicast",
        "multicast_load",
        "multicast_packet",
        "root",
        "staleness",
        "overheads",
        "barrier",
        "interval",
        "imbalance",
        "lose",
        "faults",
    ],
    of_a_point: None,
    fields: &[
        Point::FIELDS,
        Stages::FIELDS,
        MulticastPoint::FIELDS,
        BarrierPoint::FIELDS,
        FaultsResult::FIELDS,
    ],
    check,
};

/// Options that say how something is carried out: alone, of multicasts here, of barriers here.
pub(super) const BY: [&str; 3] = ["by", "multicast_by", "barrier_by"];

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

/// Options of `kind` as they are written for it alone, where `by` says how; of those that are `its_own`.
pub(super) fn part(
    options: &WorkloadOptions,
    kind: &Kind,
    by: &str,
    its_own: impl Fn(&WorkloadOption) -> bool,
) -> WorkloadOptions {
    let mut part = options.none_given();
    for option in kind.taken().into_iter().filter(|option| its_own(option)) {
        let from = if option.name == BY[0] { by } else { option.name };
        if let Some(text) = options.get(from) {
            part.set(option.name, text.to_owned());
        }
    }
    part
}

/// `problems` of a part in which `by` says how.
pub(super) fn of_part(problems: Vec<Problem>, by: &'static str) -> Vec<Problem> {
    let renamed = |text: String| text.replace(&argument(BY[0]), &argument(by));
    let of_part = |problem: Problem| Problem {
        option: if problem.option == BY[0] { by } else { problem.option },
        message: renamed(problem.message),
        help: problem.help.map(renamed),
        picture: problem.picture,
    };
    problems.into_iter().map(of_part).collect()
}

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let [_, multicast_by, barrier_by] = BY;
    let of_multicasts = part(options, &multicast::KIND, multicast_by, |_| true);
    // What both have is said of multicasts, but for how, and what it costs the nodes.
    let of_barriers = part(options, &barrier::KIND, barrier_by, |option| {
        ["by", "overheads"].contains(&option.name) || !multicast::KIND.takes(option.name)
    });
    let operations = (multicast::KIND.check)(&of_multicasts, around);
    let barriers = (barrier::KIND.check)(&of_barriers, around);
    match (operations, barriers) {
        (Ok(Workload::Multicast(multicast)), Ok(Workload::Barrier(barrier))) => {
            let written = Written::new(&KIND, options);
            Ok(Workload::Together(Box::new(TogetherWorkload {
                written,
                multicast: *multicast,
                barrier: *barrier,
            })))
        }
        (operations, barriers) => {
            let of = |checked: Result<Workload, _>, by| of_part(checked.err().unwrap_or_default(), by);
            Err([of(operations, multicast_by), of(barriers, barrier_by)].concat())
        }
    }
}

/// `multicast` and `barrier` in one run.
pub(super) fn fit_together(
    session: &Session,
    multicast: &MulticastRun,
    barrier: &BarrierRun,
) -> Result<OperationsRun, Problem> {
    OperationsRun::new(session, multicast.clone(), barrier.clone())
        .map_err(|misfit| Problem::new(BY[2], misfit.to_string()).help(misfit.help()))
}

impl Described for TogetherWorkload {
    fn to_json(&self) -> Value {
        self.written.to_json()
    }

    fn identity(&self) -> Value {
        json!({ "options": self.to_json(), "parts": [self.multicast.identity(), self.barrier.identity()] })
    }
}

impl Tasks for TogetherWorkload {
    type Task = TogetherTask;
    type Outcome = Point;

    /// At each load of the operations and of the traffic beside them.
    fn tasks(&self, session: &Session) -> Result<Vec<TogetherTask>, Vec<Problem>> {
        let [_, multicast_by, barrier_by] = BY;
        let multicasts = self.multicast.tasks(session).map_err(|problems| of_part(problems, multicast_by))?;
        let barrier = self.barrier.fit_barriers(session);
        let barrier = barrier.map_err(|problem| of_part(vec![problem], barrier_by))?;
        let together = |Task { run, background, faults }| {
            Ok(Task { run: fit_together(session, &run, &barrier)?, background, faults })
        };
        let tasks: Result<_, Problem> = multicasts.into_iter().map(together).collect();
        Ok(tasks?)
    }

    fn measure(
        &self,
        session: &Session,
        task: &TogetherTask,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let session = task.with_faults(session);
        session.operations_point(&task.run, task.background(), self.multicast.patience, stop, progress)
    }

    fn again(
        &self,
        session: &Session,
        task: &TogetherTask,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        Some(task.with_faults(session).follow_operations(&task.run, task.traffic(), follow, stop))
    }
}
