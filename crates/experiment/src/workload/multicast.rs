//! Multicast operations: among whom, how large, when, at which load, carried out how; alone or beside synthetic traffic.

use super::traffic::{self, Load};
use super::{Kind, Problem, Run, Surroundings, Workload, WorkloadOptions};
use flitway_engine::Cycle;
use flitway_machine::nearest;
use flitway_machine::units;
use flitway_nic::multicaster::RootPolicy;
use flitway_report::point::{MulticastPoint, Point};
use flitway_report::session::Session;
use flitway_report::session::multicast::{By, MulticastMisfit, MulticastRun, MulticastSettings};
use flitway_workload::multicast::{MulticastChoice, MulticastError, members};
use flitway_workload::traffic::{Traffic, TrafficChoice, TrafficError, destination};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    name: "multicast",
    selector: "multicast",
    of_a_point: None,
    options: &[
        "multicast",
        "multicast_load",
        "multicast_packet",
        "by",
        "root",
        "staleness",
        "overheads",
        "traffic",
        "packet",
        "arrival",
        "load",
        "precision",
        "warm_up",
        "duration",
    ],
    fields: &[Point::FIELDS, MulticastPoint::FIELDS],
    check,
};

/// At which load, unless it is said.
pub const LOAD_DEFAULT: &str = "0.1";
/// How, unless it is said.
pub const BY_DEFAULT: &str = "hardware";
/// By way of which root, unless it is said.
pub const ROOT_DEFAULT: &str = "table";
/// How old the known load of switches becomes, unless it is said (OQ-D5).
pub const STALENESS_DEFAULT: &str = "50 us";

/// Multicast operations, checked.
#[derive(Clone, Debug)]
pub struct MulticastWorkload {
    /// The options, as written or by default.
    written: Vec<(&'static str, String)>,
    /// What is run.
    pub settings: MulticastSettings,
    /// The loads of the operations; never empty.
    pub loads: Vec<Load>,
    /// The traffic beside them, with its loads.
    pub background: Option<(TrafficChoice, Vec<Load>)>,
    /// How long to measure.
    pub patience: flitway_report::session::Patience,
}

/// One point: the operations, and the traffic beside them with its offered load.
#[derive(Clone, Debug)]
pub struct MulticastTask {
    /// The operations.
    pub run: MulticastRun,
    /// The traffic.
    pub background: Option<Background>,
}

/// Traffic beside operations, and its offered load.
pub type Background = (Arc<Traffic>, f64);

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let text = |name: &str, default: &str| options.get(name).unwrap_or(default).to_owned();
    let members = members::parse(&text("multicast", ""))
        .map_err(|error| problems.push(Problem::new("multicast", error.to_string())));
    let packet = text("multicast_packet", traffic::PACKET_DEFAULT);
    let sizes = traffic::sizes("multicast_packet", &packet).map_err(|errors| problems.extend(errors));
    let load = text("multicast_load", LOAD_DEFAULT);
    let loads =
        traffic::loads(&load).map_err(|message| problems.push(Problem::new("multicast_load", message)));
    let arrivals = flitway_workload::traffic::arrival::parse(traffic::arrival_of(&load))
        .map_err(|error| problems.push(Problem::new("multicast_load", error.to_string())));
    let by = named("by", &text("by", BY_DEFAULT), &By::TABLE, &mut problems);
    let root = named("root", &text("root", ROOT_DEFAULT), &RootPolicy::TABLE, &mut problems);
    let staleness = staleness(&text("staleness", STALENESS_DEFAULT), around, &mut problems);
    let has_overheads = match options.get("overheads").unwrap_or("false") {
        "true" => Some(true),
        "false" => Some(false),
        other => {
            problems.push(Problem::new("overheads", format!("`{other}`: expected `true` or `false`")));
            None
        }
    };
    let background = background(options, &mut problems);
    let precision = text("precision", traffic::PRECISION_DEFAULT);
    let patience = traffic::patience(options, &precision, around.clock, &mut problems);
    let choice = (members, sizes, arrivals, loads);
    let way = (by, root, staleness, has_overheads, background, patience);
    match (choice, way) {
        (
            (Ok(members), Ok(sizes), Ok(arrivals), Ok(loads)),
            (Some(by), Some(root), Some(staleness), Some(has_overheads), Some(background), Some(patience)),
        ) => {
            let choice = MulticastChoice { members, sizes, arrivals };
            Ok(Workload::Multicast(MulticastWorkload {
                written: written(options),
                settings: MulticastSettings { choice, by, root, staleness, has_overheads },
                loads,
                background,
                patience,
            }))
        }
        _ => Err(problems),
    }
}

/// Every option of the kind that is given or has a default.
fn written(options: &WorkloadOptions) -> Vec<(&'static str, String)> {
    let default = |name: &str| match name {
        "multicast_load" => Some(LOAD_DEFAULT),
        "multicast_packet" => Some(traffic::PACKET_DEFAULT),
        "by" => Some(BY_DEFAULT),
        "root" => Some(ROOT_DEFAULT),
        "staleness" => Some(STALENESS_DEFAULT),
        "precision" => Some(traffic::PRECISION_DEFAULT),
        _ => None,
    };
    let of = |name: &&'static str| Some((*name, options.get(name).or_else(|| default(name))?.to_owned()));
    KIND.options.iter().filter_map(of).collect()
}

/// The traffic beside the operations: some, if anything is said of it.
#[expect(clippy::option_option, reason = "nothing asked for is not the same as something wrong")]
fn background(
    options: &WorkloadOptions,
    problems: &mut Vec<Problem>,
) -> Option<Option<(TrafficChoice, Vec<Load>)>> {
    let given = ["traffic", "packet", "arrival", "load"].into_iter().find(|name| options.get(name).is_some());
    let Some(given) = given else { return Some(None) };
    let Some(load) = options.get("load") else {
        let message = "synthetic traffic beside multicast needs a load";
        problems.push(Problem::new(given, message).help("add `--load 0.3`, for example"));
        return None;
    };
    let before = problems.len();
    let pattern = options.get("traffic").unwrap_or(traffic::TRAFFIC_DEFAULT);
    let destinations = destination::parse(pattern)
        .map_err(|error| problems.push(Problem::new("traffic", error.to_string())));
    let packet = options.get("packet").unwrap_or(traffic::PACKET_DEFAULT);
    let sizes = traffic::sizes("packet", packet).map_err(|errors| problems.extend(errors));
    let arrival = options.get("arrival").unwrap_or(traffic::arrival_of(load));
    let (arrivals, loads) = traffic::when(arrival, load, problems);
    match (destinations, sizes, arrivals, loads) {
        (Ok(destinations), Ok(sizes), Some(arrivals), Some(loads)) if problems.len() == before => {
            Some(Some((TrafficChoice { destinations, sizes, arrivals }, loads)))
        }
        _ => None,
    }
}

/// The row of `table` that `text` names.
fn named<T: Copy>(
    option: &'static str,
    text: &str,
    table: &'static [(&'static str, T, &'static str)],
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let found = table.iter().find(|(name, ..)| *name == text).map(|row| row.1);
    if found.is_none() {
        let names: Vec<&str> = table.iter().map(|row| row.0).collect();
        let problem = Problem::new(option, format!("`{text}`: expected one of {}", names.join(", ")));
        let meant = nearest(text, names).map(|name| format!("did you mean `{name}`?"));
        problems.push(Problem { help: meant, ..problem });
    }
    found
}

fn staleness(text: &str, around: &Surroundings<'_>, problems: &mut Vec<Problem>) -> Option<Cycle> {
    match units::time(text) {
        Ok(span) => Some(around.clock.cycles_ceil(span)),
        Err(error) => {
            let problem = Problem::new("staleness", format!("{error}: expected {}", error.expectation()));
            problems.push(Problem { help: error.help(), ..problem });
            None
        }
    }
}

impl MulticastWorkload {
    /// The text of an option, as written or by default.
    #[must_use]
    pub fn text(&self, option: &str) -> &str {
        self.written.iter().find(|(name, _)| *name == option).map_or("", |(_, text)| text)
    }

    /// Fits the operations and the traffic beside them to the machine of `session`, at each of their loads.
    ///
    /// # Errors
    /// What does not fit.
    pub fn tasks(&self, session: &Session) -> Result<Vec<MulticastTask>, Problem> {
        let mut tasks = Vec::new();
        for background in self.backgrounds(session)? {
            for load in &self.loads {
                let run = session.multicast(&self.settings, load.fraction()).map_err(misfit)?;
                tasks.push(MulticastTask { run, background: background.clone() });
            }
        }
        Ok(tasks)
    }

    fn backgrounds(&self, session: &Session) -> Result<Vec<Option<Background>>, Problem> {
        let Some((choice, loads)) = &self.background else { return Ok(vec![None]) };
        let fit = |load: &Load| {
            let load = load.fraction();
            Ok(Some((Arc::new(session.traffic(choice, load)?), load.as_f64())))
        };
        loads.iter().map(fit).collect::<Result<_, _>>().map_err(|error| traffic::misfit(&error))
    }
}

/// The option that is most likely at fault.
fn misfit(error: MulticastMisfit) -> Problem {
    let message = error.to_string();
    match error {
        MulticastMisfit::Operations(MulticastError::Members(_)) => Problem::new("multicast", message),
        MulticastMisfit::Operations(MulticastError::Traffic(TrafficError::AboveMtu { .. })) => {
            Problem::new("multicast_packet", message)
        }
        MulticastMisfit::Operations(MulticastError::Traffic(_)) => Problem::new("multicast_load", message),
        MulticastMisfit::Plan(plan) => plan_misfit(&plan, message),
    }
}

fn plan_misfit(plan: &flitway_nic::multicaster::PlanError, message: String) -> Problem {
    use flitway_fabric::multicast::GroupError;
    use flitway_nic::multicaster::PlanError;
    match plan {
        PlanError::TooManyGroups { needed, .. } => Problem::new("multicast", message)
            .help(format!("use fewer groups, or `--set switch.multicast.groups={needed}`")),
        PlanError::Groups(GroupError::Routing) => Problem::new("by", message).help(
            "use `--set routing.algorithm=up-down`, or `--by binomial`, which needs nothing of the switches",
        ),
        PlanError::Groups(GroupError::NoRoots) => Problem::new("root", message)
            .help("use `--root table`, and `--by` anything but `ranges`, or a fat tree"),
        PlanError::Groups(_) => Problem::new("root", message).help("use `--root table`"),
    }
}

impl Run for MulticastWorkload {
    fn to_json(&self) -> Value {
        let mut object = json!({});
        for (name, text) in &self.written {
            object[*name] = json!(text);
        }
        object
    }

    fn identity(&self) -> Value {
        let background = self.background.as_ref().map(|(choice, _)| format!("{:?}", choice.sizes));
        let sizes = format!("{:?}", self.settings.choice.sizes);
        json!({ "options": self.to_json(), "sizes": sizes, "background": background })
    }

    fn fit(&self, session: &Session) -> Result<(), Vec<Problem>> {
        self.tasks(session).map(drop).map_err(|problem| vec![problem])
    }

    fn run(&self, session: &Session, stop: &AtomicBool) -> Result<Option<Vec<Value>>, Vec<Problem>> {
        let tasks = self.tasks(session).map_err(|problem| vec![problem])?;
        let mut measured = Vec::new();
        for MulticastTask { run, background } in &tasks {
            let background = background.as_ref().map(|(traffic, load)| (traffic, *load));
            let point = session.multicast_point(run, background, self.patience, stop, |_| {});
            if point.is_stopped() {
                return Ok(None);
            }
            measured.push(point.to_json());
        }
        Ok(Some(measured))
    }
}
