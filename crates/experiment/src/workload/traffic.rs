//! Synthetic traffic: to whom, how large, when, at which load, and how long to measure.

use super::broken::{Broken, with_faults};
use super::load::{Load, loads};
use super::option::{ValueKind, WorkloadOption, default_of};
use super::{Described, Kind, KindId, Problem, Surroundings, Tasks, Workload, WorkloadOptions};
use crate::faults;
use flitway_engine::{Clock, Cycle};
use flitway_machine::{input, units};
use flitway_report::faults::{FaultPlan, FaultsResult};
use flitway_report::measure::Progress;
use flitway_report::page::time;
use flitway_report::point::{Point, ReplyPoint};
use flitway_report::session::follow::Follow;
use flitway_report::session::{Patience, Session};
use flitway_report::shown::load as load_shown;
use flitway_report::stages::Stages;
use flitway_report::theory::Theory;
use flitway_report::watch::Watch;
use flitway_wiring::NodeId;
use flitway_workload::Fraction;
use flitway_workload::catalog::{ChoiceError, quoted};
use flitway_workload::traffic::destination::DestinationChoice;
use flitway_workload::traffic::size::{SizeChoice, Sizes};
use flitway_workload::traffic::{Replies, Traffic, TrafficChoice, TrafficError, arrival, destination, size};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

pub(super) const KIND: Kind = Kind {
    id: KindId::Traffic,
    name: "synthetic traffic",
    selectors: &["traffic"],
    asks: Kind::is_selected,
    example: "uniform",
    heading: "Synthetic traffic",
    options: &[
        WorkloadOption::new(
            "traffic",
            KindId::Traffic,
            ValueKind::Text("PATTERN"),
            "To whom: {} (unless given), transpose, hotspot(nodes=0+5, fraction=10%), ... (see `flitway list`); \
             `uniform(reply=64B)` has each packet answered",
        )
        .default("uniform"),
        WorkloadOption::new(
            "packet",
            KindId::Traffic,
            ValueKind::Size,
            "How large: {} (unless given, or the MTU if that is less), bimodal(64B, 1KiB, 20%), range(8B, 1KiB), file(sizes.txt)",
        )
        .default("256B"),
        WorkloadOption::new(
            "arrival",
            KindId::Traffic,
            ValueKind::Text("ARRIVAL"),
            "When: {} (unless given), exponential, bursts(...), periodic, saturating",
        )
        .default("bernoulli"),
        WorkloadOption::new(
            "load",
            KindId::Traffic,
            ValueKind::Loads,
            "Offered load as a fraction of a node's injection rate: one (0.3), a range ({}, unless given), \
             several of both (0.1,0.3..0.9:0.2), or `max` alone (sources that always have a packet)",
        )
        .default("0.1..0.9:0.1"),
        WorkloadOption::new(
            "outstanding",
            KindId::Traffic,
            ValueKind::Count,
            "Packets of a node that may be under way without their replies, with a pattern that is answered, such as \
             `uniform(reply=64B)`; any number unless given. With `--load max` a node sends one for each reply. NIC operations of a process that are under way",
        ),
        WorkloadOption::new(
            "precision",
            KindId::Traffic,
            ValueKind::Fraction,
            "Run each point until the 95 % confidence interval of the mean latency is this narrow (either \
             side); {} unless given",
        )
        .default("2%"),
        WorkloadOption::new(
            "warm_up",
            KindId::Traffic,
            ValueKind::Time,
            "Warm-up in simulated time, instead of finding it from the data",
        ),
        WorkloadOption::new(
            "duration",
            KindId::Traffic,
            ValueKind::Time,
            "Simulated time to measure after the warm-up, instead of running to the precision; without \
             --warm-up at least this long, since a warm-up is found in twenty fiftieths of it or more",
        ),
        WorkloadOption::new(
            "faults",
            KindId::Traffic,
            ValueKind::File("RULES|FILE"),
            "What breaks when, on machines whose links retry: rules such as down(link=\"switch 5 port 7\", at=20us), \
             joined by `;`, or a file with one a line (`flitway list faults`). Times count from the start of each \
             point. Status 1 if packets are lost for good",
        ),
    ],
    shares: &[],
    of_a_point: Some("load"),
    fields: &[Point::FIELDS, ReplyPoint::FIELDS, Stages::FIELDS, Theory::FIELDS, FaultsResult::FIELDS],
    check,
};

/// When, for a load of `max`.
const SATURATING: &str = "saturating";

/// Synthetic traffic, checked.
#[derive(Clone, Debug)]
pub struct TrafficWorkload {
    /// To whom, as written.
    pub traffic: String,
    /// How large, as written.
    pub packet: String,
    /// When, as written or as the load implies.
    pub arrival: String,
    /// How precisely, as written.
    pub precision: String,
    outstanding: Option<String>,
    warm_up: Option<String>,
    duration: Option<String>,
    /// What breaks.
    faults: Option<Broken>,
    /// The three choices.
    pub choice: TrafficChoice,
    /// The loads, one point each; never empty.
    pub loads: Vec<Load>,
    /// How long to measure.
    pub patience: Patience,
}

/// One point: the traffic of a load, fitted to a machine.
#[derive(Clone, Debug)]
pub struct TrafficTask {
    /// The offered load.
    pub load: f64,
    /// The traffic.
    pub traffic: Arc<Traffic>,
    /// What all points have in common.
    common: Arc<Common>,
}

/// What the points of a run have in common.
#[derive(Debug)]
struct Common {
    /// The traffic of the first of them.
    first: Arc<Traffic>,
    /// What theory says of it at any load, once somebody has asked.
    theory: OnceLock<Option<Theory>>,
    /// What breaks.
    faults: Option<FaultPlan>,
}

impl TrafficTask {
    /// What theory says of the traffic at any load.
    #[must_use]
    pub fn theory(&self, session: &Session) -> Option<&Theory> {
        let Common { first, theory, .. } = &*self.common;
        theory.get_or_init(|| Theory::new(session.fabric(), first)).as_ref()
    }

    /// `session`, in which breaks what is to break.
    fn with_faults<'a>(&self, session: &'a Session) -> Cow<'a, Session> {
        with_faults(session, self.common.faults.as_ref())
    }
}

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let text = |name| options.text(name).to_owned();
    let [traffic, packet, load, precision] = ["traffic", "packet", "load", "precision"].map(text);
    let arrival = options.get("arrival").unwrap_or(arrival_of(&load)).to_owned();
    let destinations = destinations(&traffic, &mut problems);
    let sizes = sizes("packet", &packet).map_err(|errors| problems.extend(errors));
    let (arrivals, loads) = when(&arrival, &load, &mut problems);
    let patience = patience(options, &precision, around.clock, &mut problems);
    let faults = Broken::check(options).map_err(|found| problems.extend(found)).unwrap_or(None);
    let replies = replies(options, &traffic, &mut problems);
    match (destinations, sizes, arrivals, loads, patience) {
        (Some(destinations), Ok(sizes), Some(arrivals), Some(loads), Some(patience))
            if problems.is_empty() =>
        {
            Ok(Workload::Traffic(Box::new(TrafficWorkload {
                traffic,
                packet,
                arrival,
                precision,
                outstanding: options.get("outstanding").map(str::to_owned),
                warm_up: options.get("warm_up").map(str::to_owned),
                duration: options.get("duration").map(str::to_owned),
                faults,
                choice: TrafficChoice { destinations, sizes, arrivals, replies },
                loads,
                patience,
            })))
        }
        _ => Err(problems),
    }
}

/// Mistakes of a file that are told one by one.
const MISTAKES_MAX: usize = 8;

fn read_list(path: &str) -> Result<String, String> {
    let read = input::read_text(Path::new(path), input::MADE_MAX);
    read.map_err(|error| format!("cannot read: it {error}; expected numbers in a UTF-8 text file"))
}

/// To whom.
pub(super) fn destinations(pattern: &str, problems: &mut Vec<Problem>) -> Option<DestinationChoice> {
    let problem = |message: String| Problem::new("traffic", message);
    match destination::parse_with(pattern, &read_list) {
        Ok(destinations) => return Some(destinations),
        Err(ChoiceError::File { path, mistakes }) => {
            let shown = mistakes.iter().take(MISTAKES_MAX);
            problems.extend(shown.map(|mistake| problem(format!("{path}: {mistake}"))));
            if let Some(more) = mistakes.len().checked_sub(MISTAKES_MAX).filter(|&more| more > 0) {
                problems.push(problem(format!("{path}: {more} more mistakes")));
            }
        }
        Err(error) => problems.push(problem(error.to_string())),
    }
    None
}

/// How the packets of `pattern` are answered, if they are.
fn replies(options: &WorkloadOptions, pattern: &str, problems: &mut Vec<Problem>) -> Option<Replies> {
    // What is wrong with the pattern has been said.
    let payload = match destination::reply(pattern) {
        Ok(payload) => payload,
        Err(error) => {
            if problems.iter().all(|problem| problem.option != "traffic") {
                problems.push(Problem::new("traffic", error.to_string()));
            }
            return None;
        }
    };
    let text = options.get("outstanding");
    let outstanding = text.and_then(|text| text.parse().ok()).filter(|&most: &u32| most > 0);
    if let Some(text) = text {
        if outstanding.is_none() {
            let message = format!("`{text}`: expected a number of packets, 1 or more");
            problems.push(Problem::new("outstanding", message));
        } else if payload.is_none() {
            let help = "add `reply=SIZE` to the pattern, such as `uniform(reply=64B)`, or leave it out";
            let message = "nothing is outstanding where nothing is answered";
            problems.push(Problem::new("outstanding", message).help(help));
        }
    }
    payload.map(|payload| Replies { payload, outstanding })
}

/// When packets are created, and how many loads there are.
pub(super) fn when(
    arrival: &str,
    load: &str,
    problems: &mut Vec<Problem>,
) -> (Option<arrival::ArrivalChoice>, Option<Vec<Load>>) {
    let arrivals = arrival::parse(arrival)
        .map_err(|error| problems.push(Problem::new("arrival", error.to_string())))
        .ok();
    let loads = loads(load).map_err(|message| problems.push(Problem::new("load", message))).ok();
    let ignores_load = arrivals.as_ref().is_some_and(|arrivals| arrivals.ignores_load());
    if load == "max" && arrivals.is_some() && !ignores_load {
        let message = format!("a load of `max` means sources that always have a packet, and not `{arrival}`");
        problems.push(Problem::new("arrival", message).help("leave it out, or give a load below `max`"));
        return (None, loads);
    }
    if ignores_load
        && loads.as_ref().is_some_and(|loads: &Vec<Load>| loads.iter().any(|load| *load != Load::Max))
    {
        let message = "saturating sources take what they get: they have no load";
        let help = "write `--load max`, which implies `--arrival saturating`";
        problems.push(Problem::new("arrival", message).help(help));
        return (None, loads);
    }
    (arrivals, loads)
}

pub(super) fn patience(
    options: &WorkloadOptions,
    precision: &str,
    clock: Clock,
    problems: &mut Vec<Problem>,
) -> Option<Patience> {
    let fraction = precision.parse().map(Fraction::as_f64).ok().filter(|value| *value > 0.0 && *value < 1.0);
    if fraction.is_none() {
        let message = format!("`{precision}`: expected a fraction between 0 and 1, such as `2%`");
        let help = precision.parse::<f64>().ok().and_then(|number| match number {
            1.0..100.0 => Some(format!("did you mean `{precision}%`?")),
            // A power of ten.
            0.000_001..1.0 => Some(format!("did you mean `{number}`?")),
            _ => None,
        });
        problems.push(Problem { help, ..Problem::new("precision", message) });
    }
    let mut span = |option: &'static str| match options.get(option) {
        None => Some(None),
        Some(text) => match units::time(text) {
            Ok(span) => Some(Some(clock.cycles_ceil(span))),
            Err(error) => {
                let problem = Problem::new(option, format!("{error}: expected {}", error.expectation()));
                problems.push(Problem { help: error.help(), ..problem });
                None
            }
        },
    };
    let (warm_up, duration) = (span("warm_up"), span("duration"));
    if duration == Some(Some(Cycle::ZERO)) {
        let message = format!("`{}` is no time to measure", options.text("duration"));
        let help = "write a time such as `100 us`, or leave it out to run until the precision is reached";
        problems.push(Problem::new("duration", message).help(help));
        return None;
    }
    Some(Patience { precision: fraction?, warm_up: warm_up?, duration: duration? })
}

pub(super) fn sizes(option: &'static str, text: &str) -> Result<Sizes, Vec<Problem>> {
    let problem = |message: String| Problem::new(option, message);
    match size::parse(text).map_err(|error| vec![problem(error.to_string())])? {
        SizeChoice::Sizes(sizes) => Ok(sizes),
        SizeChoice::File(path) => {
            let list = read_list(&path).map_err(|message| vec![problem(format!("{path}: {message}"))])?;
            Sizes::list(&list)
                .map_err(|errors| errors.iter().map(|error| problem(format!("{path}: {error}"))).collect())
        }
    }
}

/// The files that the options name.
pub(super) fn files(options: &WorkloadOptions) -> Vec<(&'static str, PathBuf)> {
    let mut files = Vec::new();
    if let Some(pattern) = options.get("traffic") {
        let found = RefCell::new(None);
        let _placed = destination::placed(pattern, |path| {
            *found.borrow_mut() = Some(PathBuf::from(path));
            path.to_owned()
        });
        files.extend(found.into_inner().map(|path| ("traffic", path)));
    }
    let of_faults = options.get("faults").filter(|text| !faults::are_rules(text));
    files.extend(of_faults.map(|path| ("faults", PathBuf::from(path))));
    for option in ["packet", "multicast_packet"] {
        if let Some(Ok(SizeChoice::File(path))) = options.get(option).map(size::parse) {
            files.push((option, PathBuf::from(path)));
        }
    }
    files
}

/// Paths in the options begin in `folder`.
pub(super) fn place_files(options: &mut WorkloadOptions, folder: &Path) {
    options.change("traffic", |pattern| {
        let placed = destination::placed(pattern, |path| folder.join(path).display().to_string());
        placed.unwrap_or_else(|| pattern.to_owned())
    });
    options.change("faults", |text| {
        let is_path = !faults::are_rules(text);
        if is_path { folder.join(text).display().to_string() } else { text.to_owned() }
    });
    for packet in ["packet", "multicast_packet"] {
        options.change(packet, |packet| match size::parse(packet) {
            Ok(SizeChoice::File(path)) => {
                format!("file({})", quoted(&folder.join(path).display().to_string()))
            }
            _ => packet.to_owned(),
        });
    }
}

/// Refuses what most likely sends nothing, or sees nothing arrive, in the time that is asked for: with so many packets or
/// operations `per_cycle` of all nodes at the `load` that `option` says.
pub(super) fn in_time(
    session: &Session,
    option: &'static str,
    load: Load,
    per_cycle: f64,
    patience: Patience,
) -> Result<(), Problem> {
    let Some(duration) = patience.duration else { return Ok(()) };
    let cycles = duration.0.saturating_add(patience.warm_up.map_or(0, |warm_up| warm_up.0));
    let span = time(session.machine().clock.nanos(cycles as f64));
    let expected = per_cycle * cycles as f64;
    if expected < 0.1 {
        let what = if option == "load" { "packets" } else { "operations" };
        let message = format!(
            "`{}`: nothing is sent in {span}: all nodes together begin {} {what} in that time",
            load.text(),
            load_shown(expected, 3)
        );
        let help =
            if load == Load::Max { "lengthen --duration" } else { "raise the load, or lengthen --duration" };
        return Err(Problem::new(option, message).help(help));
    }
    let crossing = session.fabric().zero_load_cycles(NodeId(0), NodeId(1), 1).0;
    if cycles < crossing {
        let needed = time(session.machine().clock.nanos(crossing as f64));
        let message = format!("nothing can arrive in {span}: the way to the next node takes {needed}");
        return Err(Problem::new("duration", message).help("lengthen --duration"));
    }
    Ok(())
}

/// The option that is most likely at fault.
pub(super) fn misfit(error: &TrafficError) -> Problem {
    let option = match error {
        TrafficError::Misfit(_) | TrafficError::NobodySends { .. } | TrafficError::ReplyAboveMtu { .. } => {
            "traffic"
        }
        TrafficError::AboveMtu { .. } => "packet",
        _ => "load",
    };
    Problem::new(option, error.to_string())
}

/// When, for a load of which nothing else is said: `max` stands for sources that always have a packet.
pub(super) fn arrival_of(load: &str) -> &'static str {
    if load == "max" { SATURATING } else { default_of("arrival") }
}

impl Described for TrafficWorkload {
    fn to_json(&self) -> Value {
        let mut object = json!({
            "traffic": self.traffic,
            "packet": self.packet,
            "arrival": self.arrival,
            "precision": self.precision,
        });
        let faults = self.faults.as_ref().map(|broken| broken.text().to_owned());
        let given = [
            ("outstanding", &self.outstanding),
            ("warm_up", &self.warm_up),
            ("duration", &self.duration),
            ("faults", &faults),
        ];
        for (name, text) in given {
            if let Some(text) = text {
                object[name] = json!(text);
            }
        }
        object
    }

    fn identity(&self) -> Value {
        let loads: Vec<String> = self.loads.iter().map(|load| load.text()).collect();
        // Sizes and destinations too, since the text may only name the file that says them.
        let (sizes, content) = (format!("{:?}", self.choice.sizes), self.choice.destinations.content());
        let identity =
            json!({ "options": self.to_json(), "loads": loads, "sizes": sizes, "destinations": content });
        Broken::identified(identity, self.faults.as_ref())
    }

    fn theory(&self, session: &Session) -> Option<Theory> {
        self.tasks(session).ok()?.first()?.theory(session).cloned()
    }
}

impl Tasks for TrafficWorkload {
    type Task = TrafficTask;
    type Outcome = Point;

    fn tasks(&self, session: &Session) -> Result<Vec<TrafficTask>, Vec<Problem>> {
        let mut common: Option<Arc<Common>> = None;
        let faults = Broken::fit(self.faults.as_ref(), session)?;
        let fit = |load: &Load| {
            let offered = load.fraction();
            let traffic = session.traffic(&self.choice, offered).map_err(|error| misfit(&error))?;
            in_time(session, "load", *load, session.packets_per_cycle(&traffic), self.patience)?;
            let traffic = Arc::new(traffic);
            let of_first = || {
                let (first, theory) = (Arc::clone(&traffic), OnceLock::new());
                Arc::new(Common { first, theory, faults: faults.clone() })
            };
            let common = Arc::clone(common.get_or_insert_with(of_first));
            Ok(TrafficTask { load: offered.as_f64(), traffic, common })
        };
        self.loads.iter().map(fit).collect()
    }

    fn measure(
        &self,
        session: &Session,
        task: &TrafficTask,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let point = task.with_faults(session).point(&task.traffic, task.load, self.patience, stop, progress);
        point.with_theory(task.theory(session), session.machine().clock)
    }

    fn again(
        &self,
        session: &Session,
        task: &TrafficTask,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        Some(task.with_faults(session).follow_traffic(&task.traffic, follow, stop))
    }
}
