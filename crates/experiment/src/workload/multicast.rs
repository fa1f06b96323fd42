//! Multicast operations: among whom, how large, when, at which load, carried out how; alone or beside synthetic traffic.

use super::beside::{self, Beside, Task};
use super::broken::Broken;
use super::load::{Load, loads};
use super::option::{ValueKind, WorkloadOption};
use super::traffic;
use super::{
    Described, Kind, KindId, Problem, Surroundings, Tasks, Workload, WorkloadOptions, Written, flag, named,
    time,
};
use flitway_process::multicaster::RootPolicy;
use flitway_report::faults::FaultsResult;
use flitway_report::measure::Progress;
use flitway_report::point::{MulticastPoint, Point};
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::session::multicast::{By, MulticastMisfit, MulticastRun, MulticastSettings};
use flitway_report::stages::Stages;
use flitway_report::watch::Watch;
use flitway_workload::multicast::{MulticastChoice, MulticastError, members};
use flitway_workload::traffic::TrafficError;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    id: KindId::Multicast,
    name: "multicast",
    selectors: &["multicast"],
    asks: Kind::is_selected,
    example: "broadcast",
    heading: "Multicast (beside synthetic traffic, if a --load is given)",
    options: &[
        WorkloadOption::new(
            "multicast",
            KindId::Multicast,
            ValueKind::Text("GROUPS"),
            "Among whom: broadcast, random(members=16, groups=16), nodes(0+4+8-15); with worms \
             fresh(receivers=4)",
        ),
        WorkloadOption::new(
            "multicast_load",
            KindId::Multicast,
            ValueKind::Loads,
            "Copies to be delivered as a fraction of what the nodes can receive: {} (unless given), several, a \
             range, `max`",
        )
        .default("0.1"),
        WorkloadOption::new(
            "multicast_packet",
            KindId::Multicast,
            ValueKind::Size,
            "How large: {} (unless given, or the MTU if that is less) and whatever --packet takes",
        )
        .default("256B"),
        WorkloadOption::new(
            "by",
            KindId::Multicast,
            ValueKind::Text("METHOD"),
            "How: {} (unless given), ranges, sequence, binomial, postal; of barriers: {} (unless given), \
             node-root, three-trips, conditional, central-counter, pairwise",
        )
        .default("hardware"),
        WorkloadOption::new(
            "root",
            KindId::Multicast,
            ValueKind::Text("POLICY"),
            "By way of which root of the tree: {} (unless given), random, llp, llp-ec, hlse",
        )
        .default("table"),
        // OQ-D5: nobody says how old.
        WorkloadOption::new(
            "staleness",
            KindId::Multicast,
            ValueKind::Time,
            "How old the load of switches becomes that llp, llp-ec and hlse know: {} unless given",
        )
        .default("50 us"),
        WorkloadOption::new(
            "overheads",
            KindId::Multicast,
            ValueKind::Flag,
            "Nodes spend nic.send_overhead and nic.receive_overhead on each packet of an operation, of \
             barriers also on each arrival and release",
        ),
    ],
    shares: &["traffic", "packet", "arrival", "load", "precision", "warm_up", "duration", "faults"],
    of_a_point: None,
    fields: &[Point::FIELDS, Stages::FIELDS, MulticastPoint::FIELDS, FaultsResult::FIELDS],
    check,
};

/// Multicast operations, checked.
#[derive(Clone, Debug)]
pub struct MulticastWorkload {
    /// The options, as written or by default.
    pub written: Written,
    /// What is run.
    pub settings: MulticastSettings,
    /// The loads of the operations; never empty.
    pub loads: Vec<Load>,
    /// The traffic beside them.
    pub beside: Option<Beside>,
    /// How long to measure.
    pub patience: flitway_report::session::Patience,
    /// What breaks.
    faults: Option<Broken>,
}

/// One point: the operations, and the traffic beside them with its offered load.
pub type MulticastTask = Task<MulticastRun>;

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let written = Written::new(&KIND, options);
    let text = |name| written.text(name);
    let members = members::parse(text("multicast"))
        .map_err(|error| problems.push(Problem::new("multicast", error.to_string())));
    let packet = text("multicast_packet");
    let sizes = traffic::sizes("multicast_packet", packet).map_err(|errors| problems.extend(errors));
    let load = text("multicast_load");
    let loads = loads(load).map_err(|message| problems.push(Problem::new("multicast_load", message)));
    let arrivals = flitway_workload::traffic::arrival::parse(traffic::arrival_of(load))
        .map_err(|error| problems.push(Problem::new("multicast_load", error.to_string())));
    let by = named("by", text("by"), &By::TABLE, &mut problems);
    let root = named("root", text("root"), &RootPolicy::TABLE, &mut problems);
    let staleness = time("staleness", text("staleness"), around, &mut problems);
    let has_overheads = flag(options, "overheads", &mut problems);
    let beside = beside::check(options, &mut problems);
    let precision = text("precision");
    let patience = traffic::patience(options, precision, around.clock, &mut problems);
    let faults = Broken::check(options).map_err(|found| problems.extend(found)).unwrap_or(None);
    let choice = (members, sizes, arrivals, loads);
    let way = (by, root, staleness, has_overheads, beside, patience);
    match (choice, way) {
        (
            (Ok(members), Ok(sizes), Ok(arrivals), Ok(loads)),
            (Some(by), Some(root), Some(staleness), Some(has_overheads), Some(beside), Some(patience)),
        ) if problems.is_empty() => {
            let choice = MulticastChoice { members, sizes, arrivals };
            Ok(Workload::Multicast(Box::new(MulticastWorkload {
                written,
                settings: MulticastSettings { choice, by, root, staleness, has_overheads },
                loads,
                beside,
                patience,
                faults,
            })))
        }
        _ => Err(problems),
    }
}

/// The option that is most likely at fault.
fn misfit(error: MulticastMisfit, settings: &MulticastSettings) -> Problem {
    let message = error.to_string();
    match error {
        MulticastMisfit::Operations(MulticastError::Members(_)) => Problem::new("multicast", message),
        MulticastMisfit::Operations(MulticastError::Traffic(TrafficError::AboveMtu { .. })) => {
            Problem::new("multicast_packet", message)
        }
        MulticastMisfit::Operations(MulticastError::Traffic(_)) => Problem::new("multicast_load", message),
        MulticastMisfit::Plan(plan) => plan_misfit(&plan, message, settings),
    }
}

fn plan_misfit(plan: &flitway_process::PlanError, message: String, settings: &MulticastSettings) -> Problem {
    use flitway_process::PlanError;
    use flitway_wiring::multicast::GroupError;
    match plan {
        PlanError::TooManyGroups { needed, .. } => Problem::new("multicast", message)
            .help(format!("use fewer groups, or `--set switch.multicast.groups={needed}`")),
        PlanError::Groups(GroupError::Routing) => Problem::new("by", message).help(
            "use `--set routing.algorithm=up-down`, or `--by binomial`, which needs nothing of the switches",
        ),
        PlanError::Groups(GroupError::NoRoots) if settings.by == By::Ranges => {
            let message = "ranges of nodes go up to a root that covers them, and only a fat tree has several";
            Problem::new("by", message).help("use `--by hardware`, or a fat tree such as fattree-128")
        }
        PlanError::Groups(GroupError::NoRoots) => {
            Problem::new("root", message).help("use `--root table`, or a fat tree")
        }
        PlanError::SameChannel | PlanError::Groups(_) => {
            Problem::new("root", message).help("use `--root table`")
        }
        PlanError::NoCopies | PlanError::NoAnswers => Problem::new("by", message)
            .help("use `--by binomial`; or of SP Switches `--set switch.multicast.bit_string=N` for N nodes, of Elite4s \
                   `--set switch.answer.hold=true`"),
        PlanError::FreshNeedsWorms => Problem::new("multicast", message)
            .help("use `--by binomial`, groups that stay, or a machine with worms, such as sp-switch-16"),
        PlanError::RangesOfWorms => {
            Problem::new("by", message).help("use `--by hardware`, or `--by binomial`")
        }
        PlanError::RangesNeedTree => Problem::new("by", message)
            .help("use `--by binomial`, or a fat tree with `--set routing.algorithm=d-mod-k`"),
        PlanError::RootOfWorms => {
            Problem::new("root", message).help("use `--root table`, or `--by binomial`")
        }
    }
}

impl Described for MulticastWorkload {
    fn to_json(&self) -> Value {
        self.written.to_json()
    }

    fn identity(&self) -> Value {
        let sizes = format!("{:?}", self.settings.choice.sizes);
        let beside = self.beside.as_ref().map(Beside::identity);
        let identity = json!({ "options": self.to_json(), "sizes": sizes, "background": beside });
        Broken::identified(identity, self.faults.as_ref())
    }
}

impl Tasks for MulticastWorkload {
    type Task = MulticastTask;
    type Outcome = Point;

    /// At each load of the operations and of the traffic beside them.
    fn tasks(&self, session: &Session) -> Result<Vec<MulticastTask>, Vec<Problem>> {
        let mut tasks = Vec::new();
        let faults = Broken::fit(self.faults.as_ref(), session)?;
        for background in beside::fit(self.beside.as_ref(), session)? {
            for load in &self.loads {
                let run = session.multicast(&self.settings, load.fraction());
                let blame = |problem| super::blame_what_is_given(problem, &self.written, "multicast");
                let run = run.map_err(|error| blame(misfit(error, &self.settings)))?;
                let operations = run.operations_per_cycle();
                traffic::in_time(session, "multicast_load", *load, operations, self.patience)?;
                tasks.push(Task { run, background: background.clone(), faults: faults.clone() });
            }
        }
        Ok(tasks)
    }

    fn measure(
        &self,
        session: &Session,
        task: &MulticastTask,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let session = task.with_faults(session);
        session.multicast_point(&task.run, task.background(), self.patience, stop, progress)
    }

    fn again(
        &self,
        session: &Session,
        task: &MulticastTask,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        Some(task.with_faults(session).follow_multicast(&task.run, task.traffic(), follow, stop))
    }
}
