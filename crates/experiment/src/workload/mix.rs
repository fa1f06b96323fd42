//! Task graphs and a train, which end, with multicast operations, barriers and synthetic traffic beside them, which go on
//! until then: each is what it is alone.

use super::barrier::BarrierWorkload;
use super::beside::{self, Background, Beside};
use super::broken::{self, Broken, with_faults};
use super::graph::GraphWorkload;
use super::kind::part_of;
use super::multicast::MulticastWorkload;
use super::option::several;
use super::together::{BY, fit_together, of_part, part};
use super::train::TrainWorkload;
use super::{
    Described, Kind, KindId, Measured, Outcome, Problem, Surroundings, Tasks, Workload, WorkloadOption,
    WorkloadOptions, Written, argument, barrier, graph, multicast, train,
};
use flitway_fabric::PROCESSES_MAX;
use flitway_process::Exchange;
use flitway_report::faults::{FaultPlan, FaultsResult};
use flitway_report::graph::GraphResult;
use flitway_report::measure::Progress;
use flitway_report::point::{BarrierPoint, MulticastPoint};
use flitway_report::session::Session;
use flitway_report::session::barrier::BarrierRun;
use flitway_report::session::follow::Follow;
use flitway_report::session::mix::{Mix, MixResult};
use flitway_report::session::multicast::MulticastRun;
use flitway_report::session::train::TrainRun;
use flitway_report::stages::Stages;
use flitway_report::watch::Watch;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    id: KindId::Mix,
    name: "a task graph or a train beside others",
    selectors: &[],
    asks: |_, options| asks(options),
    example: "",
    heading: "",
    options: &[],
    shares: &[
        "traffic",
        "packet",
        "arrival",
        "load",
        "multicast",
        "multicast_load",
        "multicast_packet",
        "root",
        "staleness",
        "overheads",
        "multicast_by",
        "barrier",
        "interval",
        "imbalance",
        "lose",
        "barrier_by",
        "train",
        "count",
        "graph",
        "placement",
        "faults",
    ],
    of_a_point: None,
    fields: &[
        GraphResult::FIELDS,
        Stages::FIELDS,
        MixResult::FIELDS,
        MulticastPoint::FIELDS,
        BarrierPoint::FIELDS,
        FaultsResult::FIELDS,
    ],
    check,
};

/// Workloads side by side of which one ends, checked.
#[derive(Clone, Debug)]
pub struct MixWorkload {
    /// The options, as written or by default.
    pub written: Written,
    /// Task graphs.
    pub graph: Option<GraphWorkload>,
    /// The train.
    pub train: Option<TrainWorkload>,
    /// Multicast operations.
    pub multicast: Option<MulticastWorkload>,
    /// Barriers.
    pub barrier: Option<BarrierWorkload>,
    /// Synthetic traffic.
    pub beside: Option<Beside>,
    /// What breaks.
    faults: Option<Broken>,
}

/// One run: everything as fitted to a machine.
#[derive(Clone, Debug)]
pub struct MixTask {
    exchanges: Vec<Arc<Exchange>>,
    train: Option<TrainRun>,
    multicast: Option<MulticastRun>,
    barrier: Option<BarrierRun>,
    background: Option<Background>,
    faults: Option<FaultPlan>,
}

impl MixTask {
    /// The multicast operations.
    #[must_use]
    pub fn multicast(&self) -> Option<&MulticastRun> {
        self.multicast.as_ref()
    }

    /// The barriers.
    #[must_use]
    pub fn barrier(&self) -> Option<&BarrierRun> {
        self.barrier.as_ref()
    }

    /// As a session takes it.
    fn mix(&self) -> Mix<'_> {
        Mix {
            exchanges: &self.exchanges,
            train: self.train,
            multicast: self.multicast.as_ref(),
            barrier: self.barrier.as_ref(),
            background: self.background.as_ref().map(|(traffic, load)| (traffic, *load)),
        }
    }
}

/// Whether something that ends is asked for, with something beside it that no other kind has.
fn asks(options: &WorkloadOptions) -> bool {
    let has = |part| has_part(options, part);
    let ends = [KindId::Graph, KindId::Train].map(has);
    let goes_on = [KindId::Multicast, KindId::Barrier, KindId::Traffic].map(has);
    // The size of its packets is said of nothing but traffic beside a graph, which lacks its load then.
    let lacks_load = ends[0] && options.is_given("packet");
    let has_others = goes_on.contains(&true) || options.is_given(broken::OPTION);
    ends == [true, true] || (ends.contains(&true) && has_others) || lacks_load
}

/// Whether `options` ask for the workload that `part` is about.
fn has_part(options: &WorkloadOptions, part: KindId) -> bool {
    let is_given = |name: &&str| options.is_given(name);
    if part == KindId::Traffic {
        // The size alone is that of the packets of a train.
        return beside::OPTIONS.iter().filter(|name| **name != "packet").any(is_given);
    }
    let mut alone =
        Kind::all().iter().filter_map(|kind| if let [one] = kind.selectors { Some(one) } else { None });
    alone.any(|name| part_of(name) == Some(part) && is_given(name))
}

/// Whether `option` says something of what `options` ask for.
fn is_used(option: &WorkloadOption, options: &WorkloadOptions) -> bool {
    match option.name {
        // Of traffic beside the rest, which is told to lack its load.
        "packet" | broken::OPTION => true,
        "overheads" => has_part(options, KindId::Multicast) || has_part(options, KindId::Barrier),
        _ => has_part(options, option.part),
    }
}

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let [_, multicast_by, barrier_by] = BY;
    let mut problems: Vec<Problem> = Vec::new();
    let idle = KIND.taken().into_iter().filter(|option| options.is_given(option.name));
    problems.extend(idle.filter(|option| !is_used(option, options)).map(unused));
    let mut checked = |of: KindId, kind: &Kind, by: &'static str| {
        let is_there = has_part(options, of);
        // The options of traffic are of what runs beside it, but for the size of the packets of a train.
        let its_own = |option: &WorkloadOption| {
            option.part != KindId::Traffic || (option.name == "packet" && kind.id == KindId::Train)
        };
        let checked = is_there.then(|| (kind.check)(&part(options, kind, by, its_own), around));
        checked?.map_err(|found| problems.extend(of_part(found, by))).ok()
    };
    let graph = checked(KindId::Graph, &graph::KIND, "");
    let train = checked(KindId::Train, &train::KIND, "");
    let multicast = checked(KindId::Multicast, &multicast::KIND, multicast_by);
    let barrier = checked(KindId::Barrier, &barrier::KIND, barrier_by);
    let needs_traffic = has_part(options, KindId::Traffic)
        || (options.is_given("packet") && !has_part(options, KindId::Train));
    let beside = if needs_traffic { beside::check(options, &mut problems).flatten() } else { None };
    problems.extend(too_many(options));
    let faults = Broken::check(options).map_err(|found| problems.extend(found)).unwrap_or(None);
    if !problems.is_empty() {
        return Err(problems);
    }
    let names = KIND.taken().into_iter().filter(|option| is_used(option, options));
    let mut mix = MixWorkload {
        written: Written::of(names.map(|option| option.name), options),
        graph: None,
        train: None,
        multicast: None,
        barrier: None,
        beside,
        faults,
    };
    for part in [graph, train, multicast, barrier].into_iter().flatten() {
        match part {
            Workload::Graph(graph) => mix.graph = Some(*graph),
            Workload::Train(train) => mix.train = Some(*train),
            Workload::Multicast(multicast) => mix.multicast = Some(*multicast),
            Workload::Barrier(barrier) => mix.barrier = Some(*barrier),
            _ => {}
        }
    }
    Ok(Workload::Mix(Box::new(mix)))
}

/// That a node would run more processes than it can.
fn too_many(options: &WorkloadOptions) -> Option<Problem> {
    let graphs = several(options.get("graph")).len();
    let others = [KindId::Train, KindId::Multicast, KindId::Barrier, KindId::Traffic];
    let others = others.into_iter().filter(|part| has_part(options, *part)).count();
    let room = usize::from(PROCESSES_MAX) - others;
    let message = || format!("{graphs} graphs: at most {room} run side by side with what else there is");
    (graphs > room).then(|| Problem::new("graph", message()).help("merge some of them into one file"))
}

/// That nothing is asked for that `option` says something of.
fn unused(option: &WorkloadOption) -> Problem {
    let kinds = Kind::all().iter().filter(|kind| kind.selectors.len() == 1 && kind.takes(option.name));
    let takers: Vec<&Kind> = kinds.collect();
    let names: Vec<&str> = takers.iter().map(|kind| kind.name).collect();
    let asked: Vec<String> =
        takers.iter().map(|kind| format!("`{} {}`", argument(kind.selectors[0]), kind.example)).collect();
    let message = format!("`{}` is an option of {}, and there is none", option.name, names.join(" and "));
    Problem::new(option.name, message).help(format!("leave it out, or add {}", asked.join(" or ")))
}

impl Described for MixWorkload {
    fn to_json(&self) -> Value {
        self.written.to_json()
    }

    fn identity(&self) -> Value {
        json!({
            "options": self.to_json(),
            "graph": self.graph.as_ref().map(Described::identity),
            "multicast": self.multicast.as_ref().map(Described::identity),
            "background": self.beside.as_ref().map(Beside::identity),
            "faults": self.faults.as_ref().map(Broken::identity),
        })
    }

    fn has_views(&self) -> bool {
        self.graph.is_some()
    }
}

impl MixWorkload {
    /// The multicast operations of each of their loads, as fitted to the machine of `session`.
    fn multicasts(&self, session: &Session) -> Result<Vec<Option<MulticastRun>>, Vec<Problem>> {
        let Some(multicast) = &self.multicast else { return Ok(vec![None]) };
        let fitted = multicast.tasks(session).map_err(|problems| of_part(problems, BY[1]))?;
        Ok(fitted.into_iter().map(|task| Some(task.run)).collect())
    }
}

impl Tasks for MixWorkload {
    type Task = MixTask;
    type Outcome = MixResult;

    /// At each load of the operations and of the traffic.
    fn tasks(&self, session: &Session) -> Result<Vec<MixTask>, Vec<Problem>> {
        let exchanges = self.graph.as_ref().map_or(Ok(Vec::new()), |graph| graph.fit_graphs(session))?;
        let train = self.train.as_ref().map(|train| train.tasks(session)).transpose()?;
        let barrier = self.barrier.as_ref().map(|barrier| barrier.fit_barriers(session)).transpose();
        let barrier = barrier.map_err(|problem| of_part(vec![problem], BY[2]))?;
        let faults = Broken::fit(self.faults.as_ref(), session)?;
        let mut tasks = Vec::new();
        for background in beside::fit(self.beside.as_ref(), session)? {
            // Each task its own: nodes are told of loads by way of the plan.
            for multicast in self.multicasts(session)? {
                if let (Some(multicast), Some(barrier)) = (&multicast, &barrier) {
                    fit_together(session, multicast, barrier)?;
                }
                tasks.push(MixTask {
                    exchanges: exchanges.clone(),
                    train: train.as_ref().map(|runs| runs[0]),
                    multicast,
                    barrier: barrier.clone(),
                    background: background.clone(),
                    faults: faults.clone(),
                });
            }
        }
        Ok(tasks)
    }

    fn measure(
        &self,
        session: &Session,
        task: &MixTask,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> MixResult {
        let mut result = with_faults(session, task.faults.as_ref()).mix(task.mix(), stop, progress);
        if let Some(graph) = &self.graph {
            graph.name_results(&mut result.graphs);
        }
        result
    }

    fn entries(&self) -> usize {
        self.graph.as_ref().map_or(1, Tasks::entries)
    }

    fn again(
        &self,
        session: &Session,
        task: &MixTask,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        Some(with_faults(session, task.faults.as_ref()).follow_mix(task.mix(), follow, stop))
    }
}

impl Outcome for MixResult {
    fn is_stopped(&self) -> bool {
        MixResult::is_stopped(self)
    }

    fn measured(self) -> Vec<Measured> {
        let values = self.to_json().into_iter();
        let mut details = self.graphs.into_iter().map(|graph| graph.details);
        values.map(|value| Measured { value, details: details.next().flatten() }).collect()
    }
}
