//! Synthetic traffic: to whom, how large, when, at which load, and how long to measure.

use super::option::default_of;
use super::{Described, Kind, KindId, Problem, Surroundings, Tasks, Workload, WorkloadOptions};
use flitway_engine::{Clock, Cycle};
use flitway_machine::{input, units};
use flitway_report::measure::Progress;
use flitway_report::page::time;
use flitway_report::point::Point;
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
use flitway_workload::traffic::{Traffic, TrafficChoice, TrafficError, arrival, destination, size};
use serde_json::{Value, json};
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
    of_a_point: Some("load"),
    fields: &[Point::FIELDS, Stages::FIELDS, Theory::FIELDS],
    check,
};

/// When, for a load of `max`.
const SATURATING: &str = "saturating";

/// The most load points of one run.
const LOADS_MAX: usize = 1_000;

/// A load to offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A fraction of the injection rate.
    Fraction(Fraction),
    /// Sources that always have a packet.
    Max,
}

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
    warm_up: Option<String>,
    duration: Option<String>,
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
}

impl TrafficTask {
    /// What theory says of the traffic at any load.
    #[must_use]
    pub fn theory(&self, session: &Session) -> Option<&Theory> {
        let Common { first, theory } = &*self.common;
        theory.get_or_init(|| Theory::new(session.fabric(), first)).as_ref()
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
    match (destinations, sizes, arrivals, loads, patience) {
        (Some(destinations), Ok(sizes), Some(arrivals), Some(loads), Some(patience)) => {
            Ok(Workload::Traffic(Box::new(TrafficWorkload {
                traffic,
                packet,
                arrival,
                precision,
                warm_up: options.warm_up.clone(),
                duration: options.duration.clone(),
                choice: TrafficChoice { destinations, sizes, arrivals },
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
    let mut span = |option: &'static str, text: &Option<String>| match text {
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
    let (warm_up, duration) = (span("warm_up", &options.warm_up), span("duration", &options.duration));
    if duration == Some(Some(Cycle::ZERO)) {
        let message = format!("`{}` is no time to measure", options.duration.as_deref().unwrap_or(""));
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
    if let Some(pattern) = &options.traffic {
        let found = RefCell::new(None);
        let _placed = destination::placed(pattern, |path| {
            *found.borrow_mut() = Some(PathBuf::from(path));
            path.to_owned()
        });
        files.extend(found.into_inner().map(|path| ("traffic", path)));
    }
    for option in ["packet", "multicast_packet"] {
        if let Some(Ok(SizeChoice::File(path))) = options.get(option).map(size::parse) {
            files.push((option, PathBuf::from(path)));
        }
    }
    files
}

/// Paths in the options begin in `folder`.
pub(super) fn place_files(options: &mut WorkloadOptions, folder: &Path) {
    if let Some(pattern) = &mut options.traffic {
        let placed = destination::placed(pattern, |path| folder.join(path).display().to_string());
        *pattern = placed.unwrap_or_else(|| pattern.clone());
    }
    for packet in [&mut options.packet, &mut options.multicast_packet].into_iter().flatten() {
        if let Ok(SizeChoice::File(path)) = size::parse(packet) {
            *packet = format!("file({})", quoted(&folder.join(path).display().to_string()));
        }
    }
}

/// `max`, one load, a range `A..B:STEP`, or several of both with commas. What is in it twice is there once.
///
/// # Errors
/// What is wrong, and what is expected.
pub fn loads(text: &str) -> Result<Vec<Load>, String> {
    if text == "max" {
        return Ok(vec![Load::Max]);
    }
    let mut loads = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            None => push(Load::Fraction(one_load(part)?), &mut loads),
            Some((first, rest)) => range_of_loads(part, first, rest, &mut loads)?,
        }
        if loads.len() > LOADS_MAX {
            return Err(format!("`{text}` has more than {LOADS_MAX} points"));
        }
    }
    Ok(loads)
}

/// Adds `load` to `loads`, if it is not one of them.
fn push(load: Load, loads: &mut Vec<Load>) {
    if !loads.contains(&load) {
        loads.push(load);
    }
}

/// What a load may be.
const EXPECTED: &str = "expected a load above 0 and up to 10 (0.3, 30% or 3/10), a range with a step (0.1..0.9:0.1), several of \
                        both (0.1,0.3..0.9:0.2) or `max`";

/// The loads of the range `text`, which is `first`, two points and the `rest`, to `loads`; no more than one too many.
fn range_of_loads(text: &str, first: &str, rest: &str, loads: &mut Vec<Load>) -> Result<(), String> {
    let (last, step) = rest.split_once(':').ok_or_else(|| format!("`{text}` has no step: {EXPECTED}"))?;
    let step_problem = |_| match step.trim().parse::<Fraction>() {
        Ok(_) => format!("`{step}`: a step is above 0, and at most 10"),
        Err(_) => format!("`{step}`: a step is a decimal number (0.05), a percentage or a fraction"),
    };
    let (first, last) = (one_load(first.trim())?, one_load(last.trim())?);
    let step = one_load(step.trim()).map_err(step_problem)?;
    let parts = |load: Fraction| (u128::from(load.numerator()), u128::from(load.denominator()));
    let ((a, b), (s, t)) = (parts(first), parts(step));
    for k in 0.. {
        // first + k step, exactly.
        let (top, bottom) = (a * t + k * s * b, b * t);
        let load =
            u64::try_from(top).ok().zip(u64::try_from(bottom).ok()).and_then(|(n, d)| Fraction::new(n, d));
        let load = load.ok_or_else(|| format!("`{text}`: too many digits"))?;
        if load.as_f64() > last.as_f64() + 1e-12 {
            return if k == 0 { Err(format!("`{text}` is empty: it begins above its end")) } else { Ok(()) };
        }
        push(Load::Fraction(load), loads);
        if loads.len() > LOADS_MAX {
            break;
        }
    }
    Ok(())
}

/// One load.
fn one_load(text: &str) -> Result<Fraction, String> {
    let is_load = |load: &Fraction| (0.0..=10.0).contains(&load.as_f64()) && *load != Fraction::ZERO;
    if text.strip_prefix('-').is_some_and(|rest| rest.parse::<Fraction>().is_ok()) {
        return Err(format!("`{text}`: a load is above 0"));
    }
    let load: Fraction = text.parse().map_err(|_| {
        let number = text.parse::<f64>().map(|number| number.to_string()).unwrap_or_default();
        let is_meant = number.parse().is_ok_and(|load| is_load(&load));
        let meant = if is_meant { format!("; did you mean `{number}`?") } else { String::new() };
        match text {
            "max" => "`max` stands alone: its sources always have a packet".to_owned(),
            _ if text.bytes().filter(u8::is_ascii_digit).count() > Fraction::DIGITS_MAX => {
                format!("`{text}`: too many digits, expected up to {}{meant}", Fraction::DIGITS_MAX)
            }
            _ => format!("`{text}` is no load: {EXPECTED}{meant}"),
        }
    })?;
    match load {
        Fraction::ZERO => Err(format!("`{text}`: a load is above 0")),
        load if is_load(&load) => Ok(load),
        load => {
            let is_percent = load.as_f64() <= 100.0 && text.parse::<f64>().is_ok();
            let meant = if is_percent { format!("; did you mean `{text}%`?") } else { String::new() };
            Err(format!("`{text}`: a load is a fraction of the injection rate, at most 10{meant}"))
        }
    }
}

impl Load {
    /// As it is written: `0.1`, `1/3`, `max`.
    #[must_use]
    pub fn text(self) -> String {
        let Load::Fraction(load) = self else { return "max".to_owned() };
        let (numerator, denominator) = (load.numerator(), load.denominator());
        let digits = (0..10_u32).find(|&digits| 10_u64.pow(digits).is_multiple_of(denominator));
        match digits {
            // Exact: the denominator divides a power of ten.
            Some(digits) => {
                let scaled = u128::from(numerator) * u128::from(10_u64.pow(digits)) / u128::from(denominator);
                let text = format!("{scaled:0width$}", width = digits as usize + 1);
                let (whole, part) = text.split_at(text.len() - digits as usize);
                if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
            }
            None => load.to_string(),
        }
    }

    pub(super) fn fraction(self) -> Fraction {
        match self {
            Load::Fraction(load) => load,
            Load::Max => Fraction::ONE,
        }
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
        TrafficError::Misfit(_) | TrafficError::NobodySends { .. } => "traffic",
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
        for (name, text) in [("warm_up", &self.warm_up), ("duration", &self.duration)] {
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
        json!({ "options": self.to_json(), "loads": loads, "sizes": sizes, "destinations": content })
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
        let fit = |load: &Load| {
            let offered = load.fraction();
            let traffic = session.traffic(&self.choice, offered).map_err(|error| misfit(&error))?;
            in_time(session, "load", *load, session.packets_per_cycle(&traffic), self.patience)?;
            let traffic = Arc::new(traffic);
            let of_first = || Arc::new(Common { first: Arc::clone(&traffic), theory: OnceLock::new() });
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
        let point = session.point(&task.traffic, task.load, self.patience, stop, progress);
        point.with_theory(task.theory(session), session.machine().clock)
    }

    fn again(
        &self,
        session: &Session,
        task: &TrafficTask,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        Some(session.follow_traffic(&task.traffic, follow, stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_loads_is_exact_and_holds_its_end() {
        let list = loads("0.1..0.9:0.1").unwrap();
        assert_eq!(list.len(), 9);
        assert_eq!(list[8], Load::Fraction(Fraction::new(9, 10).unwrap()));
        assert_eq!(loads("0.3").unwrap(), [Load::Fraction(Fraction::new(3, 10).unwrap())]);
        assert_eq!(loads("10%, 0.5").unwrap().len(), 2);
        assert_eq!(loads("max").unwrap(), [Load::Max]);
        let mixed: Vec<String> =
            loads("0.05, 0.1..0.3:0.1,0.7").unwrap().iter().map(|load| load.text()).collect();
        assert_eq!(mixed, ["0.05", "0.1", "0.2", "0.3", "0.7"]);
        assert_eq!(loads("0.3,0.1..0.3:0.1,30%").unwrap().len(), 3, "what is there is not added again");
    }

    #[test]
    fn what_is_no_load_says_what_is() {
        for (text, message) in [
            ("0", "above 0"),
            ("fast", "`fast` is no load"),
            ("0.1..0.9", "no step"),
            ("0.9..0.1:0.1", "empty"),
            ("0.1..0.9:0.0001", "more than 1000 points"),
            ("0.1..0.9:0.001,1..2:0.001", "more than 1000 points"),
            ("0.1,0.9..0.3:0.1", "`0.9..0.3:0.1` is empty"),
            ("0.1..0.3:0.1,0.5..0.7", "`0.5..0.7` has no step"),
            ("0.1,,0.3", "`` is no load"),
            ("30", "at most 10; did you mean `30%`?"),
            ("120", "the injection rate, at most 10"),
            ("0.1..0.9:0", "above 0"),
            ("0.5,max", "`max` stands alone"),
            (
                "0.3333333333333333333333",
                "too many digits, expected up to 18; did you mean `0.3333333333333333`?",
            ),
            ("1e9", "`1e9` is no load: expected a load above 0 and up to 10 (0.3, 30% or 3/10)"),
            ("1e-3", "or `max`; did you mean `0.001`?"),
            ("0.1,5.", "did you mean `5`?"),
            ("nan", "`nan` is no load"),
        ] {
            let error = loads(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_load_is_written_as_a_person_would() {
        for (text, shown) in
            [("0.10", "0.1"), ("1", "1"), ("1.25", "1.25"), ("35 %", "0.35"), ("1/3", "1/3"), ("max", "max")]
        {
            let loads = loads(text).unwrap();
            assert_eq!(loads[0].text(), shown);
            assert_eq!(super::loads(shown).unwrap(), loads);
        }
    }
}
