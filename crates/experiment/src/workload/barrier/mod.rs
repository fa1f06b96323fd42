//! Barriers: among whom, how often, carried out how; alone or beside synthetic traffic.

pub mod losses;

use super::beside::{self, Beside, Task};
use super::broken::Broken;
use super::option::{ValueKind, WorkloadOption};
use super::{
    Described, Kind, KindId, Problem, Surroundings, Tasks, Workload, WorkloadOptions, Written, flag, named,
    time, traffic,
};
use flitway_report::faults::FaultsResult;
use flitway_report::measure::Progress;
use flitway_report::point::{BarrierPoint, Point};
use flitway_report::session::barrier::{BY, BarrierMisfit, BarrierRun, BarrierSettings};
use flitway_report::session::follow::Follow;
use flitway_report::session::{Patience, Session};
use flitway_report::stages::Stages;
use flitway_report::watch::Watch;
use flitway_workload::barrier::BarrierChoice;
use flitway_workload::multicast::members::{self, MembersChoice};
use losses::LossRule;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    id: KindId::Barrier,
    name: "barriers",
    selectors: &["barrier"],
    asks: Kind::is_selected,
    example: "all",
    heading: "Barriers (--traffic, --packet, --arrival, --load: what runs beside them)",
    options: &[
        WorkloadOption::new(
            "barrier",
            KindId::Barrier,
            ValueKind::Text("GROUPS"),
            "Among whom: all, random(members=16, groups=16), nodes(0+4+8-15)",
        ),
        // OQ-H9: nobody says how often.
        WorkloadOption::new(
            "interval",
            KindId::Barrier,
            ValueKind::Time,
            "From the beginning of a barrier to that of the next in its group, if it is over by then: {} \
             unless given",
        )
        .default("50 us"),
        WorkloadOption::new(
            "imbalance",
            KindId::Barrier,
            ValueKind::Time,
            "Each process is late by a random time of up to so much: {} unless given",
        )
        .default("0 us"),
        WorkloadOption::new(
            "lose",
            KindId::Barrier,
            ValueKind::Text("PACKET"),
            "Lose a barrier packet: combine(at=switch 5 port 7, group=3, nth=2), any(at=node 12); as often as \
             needed",
        )
        .several("; "),
    ],
    shares: &["traffic", "packet", "arrival", "load", "precision", "warm_up", "duration", "by", "overheads", "faults"],
    of_a_point: None,
    fields: &[Point::FIELDS, Stages::FIELDS, BarrierPoint::FIELDS, FaultsResult::FIELDS],
    check,
};

/// Barriers, checked.
#[derive(Clone, Debug)]
pub struct BarrierWorkload {
    /// The options, as written or by default.
    pub written: Written,
    /// What is run, without what is lost.
    pub settings: BarrierSettings,
    /// What is lost.
    pub losses: Vec<LossRule>,
    /// The traffic beside them.
    pub beside: Option<Beside>,
    /// How long to measure.
    pub patience: Patience,
    /// What breaks.
    faults: Option<Broken>,
}

/// One point: barriers, and the traffic beside them with its offered load.
pub type BarrierTask = Task<BarrierRun>;

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let written = Written::new(&KIND, options);
    let text = |name| written.text(name);
    let members = match members::parse(text("barrier")) {
        Ok(MembersChoice::Fresh { .. }) => {
            let message = "who waits for each other is not drawn anew for each barrier";
            Err(Problem::new("barrier", message).help("use `random(members=16, groups=16)`"))
        }
        Ok(members) => Ok(members),
        Err(error) => Err(Problem::new("barrier", error.to_string())),
    };
    let members = members.map_err(|problem| problems.push(problem));
    let interval = time("interval", text("interval"), around, &mut problems);
    let imbalance = time("imbalance", text("imbalance"), around, &mut problems);
    let by = named("by", text("by"), &BY, &mut problems);
    let has_overheads = flag(options, "overheads", &mut problems);
    let losses = options.get("lose").map_or(Ok(Vec::new()), |text| {
        losses::parse(text).map_err(|error| problems.push(Problem::new("lose", error.to_string())))
    });
    let beside = beside::check(options, &mut problems);
    let patience = traffic::patience(options, text("precision"), around.clock, &mut problems);
    let faults = Broken::check(options).map_err(|found| problems.extend(found)).unwrap_or(None);
    match (members, interval, imbalance, (by, has_overheads, losses, beside, patience)) {
        (
            Ok(members),
            Some(interval),
            Some(imbalance),
            (Some(by), Some(has_overheads), Ok(losses), Some(beside), Some(patience)),
        ) if problems.is_empty() => {
            let choice = BarrierChoice { members, interval: interval.0, imbalance: imbalance.0 };
            let settings = BarrierSettings { choice, by, has_overheads, losses: Vec::new() };
            let workload = BarrierWorkload { written, settings, losses, beside, patience, faults };
            Ok(Workload::Barrier(Box::new(workload)))
        }
        _ => Err(problems),
    }
}

impl BarrierWorkload {
    pub(super) fn fit_barriers(&self, session: &Session) -> Result<BarrierRun, Problem> {
        let misfit = |error| super::blame_what_is_given(misfit(error), &self.written, "barrier");
        let run = session.barrier(&self.settings).map_err(misfit)?;
        if self.losses.is_empty() {
            return Ok(run);
        }
        let lose = |message: String| Problem::new("lose", message);
        if !run.plan().is_of_switches() {
            let message = "only barrier packets of switches can be lost, and messages are ordinary packets";
            return Err(lose(message.to_owned()).help("leave it out, or use `--by hardware`"));
        }
        let (fabric, barriers) = (session.fabric(), run.plan().barriers());
        let losses = self.losses.iter().map(|rule| rule.fit(fabric, barriers)).collect::<Result<_, _>>();
        let settings = BarrierSettings { losses: losses.map_err(lose)?, ..self.settings.clone() };
        session.barrier(&settings).map_err(misfit)
    }
}

/// The option that is most likely at fault.
fn misfit(error: BarrierMisfit) -> Problem {
    use flitway_process::PlanError;
    let message = error.to_string();
    match error {
        BarrierMisfit::Groups(_) => Problem::new("barrier", message),
        BarrierMisfit::NoEngine { has_ranges: true } => Problem::new("by", message)
            .help("use `--by conditional` or `--by three-trips`, which broadcast, or `--by pairwise`"),
        BarrierMisfit::NoEngine { has_ranges: false } => Problem::new("by", message)
            .help("use `--by pairwise` or `--by central-counter`, which need nothing of the switches"),
        BarrierMisfit::NoTests => {
            Problem::new("by", message).help("use `--by three-trips`, or `--set nic.model=ideal`")
        }
        BarrierMisfit::Plan(PlanError::NoAnswers) => Problem::new("by", message).help(
            "use `--by pairwise`, or a machine of Elite4s that hold paths (`switch.answer.hold = true`), such as qsnet2-64",
        ),
        BarrierMisfit::Plan(PlanError::RangesNeedTree) => {
            Problem::new("by", message).help("use `--set routing.algorithm=up-down`, or `--by pairwise`")
        }
        BarrierMisfit::AboveMtu { .. } => Problem::new("by", message)
            .help("use `--by hardware` or `--by node-root`, which send none, or `--set packet.mtu=8B`"),
        BarrierMisfit::Plan(PlanError::TooManyGroups { needed, .. }) => Problem::new("barrier", message)
            .help(format!(
                "use fewer groups, or `--set switch.barrier.groups={needed}` (and `--by three-trips` needs \
                 `switch.multicast.groups` too)"
            )),
        BarrierMisfit::Plan(PlanError::SameChannel) => Problem::new("by", message)
            .help("use `--set switch.vcs=2`, or `--set switch.barrier.dedicated=true`"),
        BarrierMisfit::Plan(_) => Problem::new("by", message)
            .help("use `--set routing.algorithm=up-down`, or `--by hardware`, which needs no multicast"),
    }
}

impl Described for BarrierWorkload {
    fn to_json(&self) -> Value {
        self.written.to_json()
    }

    fn identity(&self) -> Value {
        let identity =
            json!({ "options": self.to_json(), "background": self.beside.as_ref().map(Beside::identity) });
        Broken::identified(identity, self.faults.as_ref())
    }
}

impl Tasks for BarrierWorkload {
    type Task = BarrierTask;
    type Outcome = Point;

    /// At each load of the operations and of the traffic beside them.
    fn tasks(&self, session: &Session) -> Result<Vec<BarrierTask>, Vec<Problem>> {
        let run = self.fit_barriers(session)?;
        let backgrounds = beside::fit(self.beside.as_ref(), session)?;
        let faults = Broken::fit(self.faults.as_ref(), session)?;
        let task = |background| Task { run: run.clone(), background, faults: faults.clone() };
        Ok(backgrounds.into_iter().map(task).collect())
    }

    fn measure(
        &self,
        session: &Session,
        task: &BarrierTask,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let session = task.with_faults(session);
        session.barrier_point(&task.run, task.background(), self.patience, stop, progress)
    }

    fn again(
        &self,
        session: &Session,
        task: &BarrierTask,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        Some(task.with_faults(session).follow_barriers(&task.run, task.traffic(), follow, stop))
    }
}
