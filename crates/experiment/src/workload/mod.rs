//! The workload: what was asked for, as text, becomes a checked [`Workload`] that a session can run.
//!
//! There is one way in for the command line, for experiment files and for programs: [`WorkloadOptions`], text as a
//! person writes it. Which kind of workload is meant follows from the options that are given. A kind is one file here:
//! a [`Kind`] (its options, its check, what it measures), a type that implements [`Run`], a variant of [`Workload`] and
//! a line in `KINDS`.

pub mod barrier;
pub mod beside;
pub mod graph;
pub mod multicast;
pub mod together;
pub mod traffic;
pub mod train;
mod written;

use crate::side_by_side::side_by_side;
use flitway_engine::{Clock, Cycle};
use flitway_machine::{nearest, units};
use flitway_report::details::Details;
use flitway_report::measure::Progress;
use flitway_report::point::Point;
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::theory::Theory;
use flitway_report::watch;
use serde_json::Value;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub use barrier::BarrierWorkload;
pub use graph::{GraphFiles, GraphWorkload};
pub use multicast::MulticastWorkload;
pub use together::TogetherWorkload;
pub use traffic::{Load, TrafficWorkload};
pub use train::TrainWorkload;
pub use written::Written;

macro_rules! options {
    ($($(#[doc = $doc:literal])+ $name:ident)*) => {
        /// The options of a workload as they are written: `--warm-up 5us` is `warm_up` with the text `5us`.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct WorkloadOptions {
            $($(#[doc = $doc])+ pub $name: Option<String>,)*
        }

        impl WorkloadOptions {
            /// The name of every option.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The text given for the option `name`.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<&str> {
                match name {
                    $(stringify!($name) => self.$name.as_deref(),)*
                    _ => None,
                }
            }

            /// Gives `text` for the option `name`; false if there is no such option.
            pub fn set(&mut self, name: &str, text: String) -> bool {
                match name {
                    $(stringify!($name) => self.$name = Some(text),)*
                    _ => return false,
                }
                true
            }
        }
    };
}

options! {
    /// Synthetic traffic: to whom.
    traffic
    /// How large.
    packet
    /// When.
    arrival
    /// Offered load.
    load
    /// Precision to reach.
    precision
    /// Warm-up in simulated time.
    warm_up
    /// Simulated time to measure.
    duration
    /// Multicast operations: among whom.
    multicast
    /// At which load.
    multicast_load
    /// How large.
    multicast_packet
    /// Carried out how.
    by
    /// The same, of multicast operations, where there are barriers too.
    multicast_by
    /// Of barriers, where there are multicast operations too.
    barrier_by
    /// By way of which root.
    root
    /// How old the known load of switches becomes.
    staleness
    /// Whether the overheads of nodes count.
    overheads
    /// Barriers: among whom.
    barrier
    /// From the beginning of one to that of the next.
    interval
    /// By how much processes then are late at random.
    imbalance
    /// Barrier packets that are lost.
    lose
    /// A train of packets: from which node to which.
    train
    /// How many.
    count
    /// The files of task graphs that run side by side, a line each.
    graph
    /// Where their ranks run: for all of them, or a line each.
    placement
}

/// The values of an option that can be given several times: a line each.
fn several(text: Option<&str>) -> Vec<&str> {
    text.map_or_else(Vec::new, |text| text.split('\n').collect())
}

/// The values of such an option as one text.
#[must_use]
pub fn joined(values: impl IntoIterator<Item = String>) -> String {
    values.into_iter().collect::<Vec<_>>().join("\n")
}

impl WorkloadOptions {
    /// The options that are given, with their text.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        Self::NAMES.iter().filter_map(|name| Some((*name, self.get(name)?)))
    }

    /// The files that they name, each with its option.
    #[must_use]
    pub fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let mut files = traffic::files(self);
        files.extend(graph::files(self));
        files
    }

    /// The same options with paths that begin in `folder`, for another current directory.
    #[must_use]
    pub fn within(mut self, folder: &Path) -> Self {
        traffic::place_files(&mut self, folder);
        graph::place_files(&mut self, folder);
        self
    }
}

/// What is wrong with an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The option.
    pub option: &'static str,
    /// What is wrong with it.
    pub message: String,
    /// The likely fix.
    pub help: Option<String>,
    /// The mistakes of a file that it names, drawn; they say all that the message says.
    pub picture: Option<String>,
}

impl Problem {
    /// What is wrong with `option`, in a sentence.
    #[must_use]
    pub fn new(option: &'static str, message: impl Into<String>) -> Self {
        Problem { option, message: message.into(), help: None, picture: None }
    }

    /// Adds the likely fix.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Problem { help: Some(help.into()), ..self }
    }

    /// The option as the command line has it: `--warm-up`.
    #[must_use]
    pub fn argument(&self) -> String {
        argument(self.option)
    }
}

/// An option as the command line has it.
#[must_use]
pub fn argument(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// `problem` blames an option that nobody has given: then the option that asks for this kind of workload is told, and what the
/// other is unless given.
fn blame_what_is_given(problem: Problem, written: &Written, selector: &'static str) -> Problem {
    if problem.option == selector || written.is_given(problem.option) {
        return problem;
    }
    let unless = format!(
        "{} (unless given, {} is `{}`)",
        problem.message,
        problem.argument(),
        written.text(problem.option)
    );
    Problem { option: selector, message: unless, ..problem }
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

/// The time of an option, in cycles.
fn time(
    option: &'static str,
    text: &str,
    around: &Surroundings<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Cycle> {
    match units::time(text) {
        Ok(span) => Some(around.clock.cycles_ceil(span)),
        Err(error) => {
            let problem = Problem::new(option, format!("{error}: expected {}", error.expectation()));
            problems.push(Problem { help: error.help(), ..problem });
            None
        }
    }
}

/// An option that is true or false; false unless given.
fn flag(options: &WorkloadOptions, option: &'static str, problems: &mut Vec<Problem>) -> Option<bool> {
    match options.get(option).unwrap_or("false") {
        "true" => Some(true),
        "false" => Some(false),
        other => {
            problems.push(Problem::new(option, format!("`{other}`: expected `true` or `false`")));
            None
        }
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(items: impl Iterator<Item = String>, last: &str) -> String {
    let items: Vec<String> = items.collect();
    match &items[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// A kind of workload.
#[derive(Debug)]
pub struct Kind {
    /// In words.
    pub name: &'static str,
    /// The options that ask for it.
    pub selectors: &'static [&'static str],
    /// A value of the first of them.
    pub example: &'static str,
    /// The options that it takes.
    pub options: &'static [&'static str],
    /// The option that has no one default: where each run is one point, it has to be given.
    pub of_a_point: Option<&'static str>,
    /// The numbers in the result of a point, in parts: path and unit.
    pub fields: &'static [&'static [(&'static str, &'static str)]],
    check: fn(&WorkloadOptions, &Surroundings<'_>) -> Result<Workload, Vec<Problem>>,
}

/// The kinds, those that more options ask for first. Synthetic traffic is last: it is meant where nothing else is asked for.
static KINDS: &[Kind] =
    &[graph::KIND, together::KIND, multicast::KIND, barrier::KIND, train::KIND, traffic::KIND];

impl Kind {
    /// Every kind.
    #[must_use]
    pub fn all() -> &'static [Kind] {
        KINDS
    }

    /// The kind that `options` ask for.
    #[must_use]
    pub fn of(options: &WorkloadOptions) -> &'static Kind {
        let asks = |kind: &&Kind| kind.selectors.iter().all(|name| options.get(name).is_some());
        let asked = KINDS.iter().find(asks);
        asked.unwrap_or(&KINDS[KINDS.len() - 1])
    }

    /// What asks for it, in words.
    fn asked_by(&self) -> String {
        listed(self.selectors.iter().map(|name| format!("`{name}`")), "with")
    }

    /// Whether it is asked for by one option, or no kind that is takes the option `name`.
    fn asks_first(&self, name: &str) -> bool {
        self.selectors.len() == 1 || !KINDS.iter().any(|kind| kind.selectors.len() == 1 && kind.takes(name))
    }

    /// Whether it takes the option `name`.
    #[must_use]
    pub fn takes(&self, name: &str) -> bool {
        self.options.contains(&name)
    }
}

/// What a workload is checked against. Whether it fits the machine is asked later, by [`Run::fit`].
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The clock of the machine, in whose cycles times are.
    pub clock: Clock,
    /// The task graphs read so far.
    pub graphs: &'a GraphFiles,
}

/// A checked workload.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Synthetic traffic.
    Traffic(TrafficWorkload),
    /// A task graph.
    Graph(GraphWorkload),
    /// Multicast operations.
    Multicast(MulticastWorkload),
    /// Barriers.
    Barrier(BarrierWorkload),
    /// Multicast operations and barriers.
    Together(Box<TogetherWorkload>),
    /// A train of packets.
    Train(TrainWorkload),
}

impl Workload {
    /// Checks `options`.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn check(
        options: &WorkloadOptions,
        surroundings: &Surroundings<'_>,
    ) -> Result<Workload, Vec<Problem>> {
        let kind = Kind::of(options);
        let misplaced: Vec<Problem> = options
            .given()
            .filter(|(name, _)| !kind.takes(name))
            .map(|(name, _)| {
                // Kinds that are asked for together have the options of each.
                let takers = || KINDS.iter().filter(|kind| kind.takes(name) && kind.asks_first(name));
                let names = listed(takers().map(|kind| kind.name.to_owned()), "and");
                let message = format!("`{name}` is an option of {names}, not of {}", kind.name);
                let parts = kind.options.iter().filter(|option| option.ends_with(&format!("_{name}")));
                let parts: Vec<String> = parts.map(|option| format!("`{}`", argument(option))).collect();
                if !parts.is_empty() {
                    return Problem::new(name, message).help(format!("use {}", parts.join(" and ")));
                }
                if let Some((_, alone)) = name.rsplit_once('_').filter(|(_, alone)| kind.takes(alone)) {
                    let help = format!("use `{}`, since nothing runs beside it", argument(alone));
                    return Problem::new(name, message).help(help);
                }
                let selectors = listed(takers().map(|kind| kind.asked_by()), "or");
                let example =
                    takers().next().filter(|_| takers().count() == 1).map_or_else(String::new, |kind| {
                        format!(", as in `{} {}`", argument(kind.selectors[0]), kind.example)
                    });
                Problem::new(name, message).help(format!("what asks for that is {selectors}{example}"))
            })
            .collect();
        let checked = (kind.check)(options, surroundings);
        match checked {
            Ok(workload) if misplaced.is_empty() => Ok(workload),
            Ok(_) => Err(misplaced),
            Err(problems) => Err([misplaced, problems].concat()),
        }
    }

    /// What every kind can do.
    #[must_use]
    pub fn as_run(&self) -> &dyn Run {
        match self {
            Workload::Traffic(traffic) => traffic,
            Workload::Graph(graph) => graph,
            Workload::Multicast(multicast) => multicast,
            Workload::Barrier(barrier) => barrier,
            Workload::Together(together) => &**together,
            Workload::Train(train) => train,
        }
    }
}

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

impl Step {
    fn of(done: usize, all: usize, progress: Progress) -> Self {
        Step { done, all, now: progress.now, precision: progress.precision }
    }

    /// Of a run that is one point, which is not measured in batches.
    fn first(now: Cycle) -> Self {
        Step { done: 0, all: 1, now, precision: None }
    }
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

/// Measures a point for each of `tasks` on the machine of `session`; `None` if `stop` came first.
fn measured<T: Sync>(
    session: &Session,
    tasks: &[T],
    stop: &AtomicBool,
    tell: &mut Tell<'_>,
    measure: impl Fn(&Session, &T, &mut dyn FnMut(Progress)) -> Point + Sync,
) -> Option<Vec<Measured>> {
    let (session, beside) = session.dealt(tasks.len());
    let (mut measured, done) = (Vec::new(), Cell::new(0));
    let over = |_, point: Point| {
        if point.is_stopped() {
            return Err(());
        }
        measured.push(Measured::from(point));
        done.set(measured.len());
        Ok(())
    };
    // The first point that is not over stands for those beside it.
    let told = |place, now| {
        if place == done.get() {
            tell(Step::of(place, tasks.len(), now));
        }
    };
    let measure = |task: &T, tell: &mut dyn FnMut(Progress)| measure(&session, task, tell);
    side_by_side(tasks, beside, stop, measure, told, over).ok()?;
    (measured.len() == tasks.len()).then_some(measured)
}

/// What every kind of workload can do.
pub trait Run: Sync {
    /// The object `workload` of a result: the options that matter, as they were written.
    fn to_json(&self) -> Value;

    /// Everything that the result depends on besides machine, seed and version: equal identities, equal results.
    fn identity(&self) -> Value;

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

    /// What theory says of it, where it says something.
    fn theory(&self, _session: &Session) -> Option<Theory> {
        None
    }

    /// Runs the point `place` again: the steps of the packets to be followed, and how many there was no room for; `None` if
    /// it has no packets that could be.
    fn follow(
        &self,
        session: &Session,
        place: usize,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<(Vec<watch::Step>, u64)>;
}
