//! The workload: what was asked for, as text, becomes a checked [`Workload`] that a session can run.
//!
//! There is one way in for the command line, for experiment files and for programs: [`WorkloadOptions`], text as a
//! person writes it. Which kind of workload is meant follows from the options that are given. A kind is one file here:
//! a [`Kind`] (its options, its check, what it measures), a type that implements [`Run`], a variant of [`Workload`] and
//! a line in `KINDS`.

pub mod barrier;
pub mod beside;
pub mod graph;
mod kind;
pub mod multicast;
pub mod option;
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
pub use kind::{Kind, KindId};
pub use multicast::MulticastWorkload;
pub use option::{WorkloadOption, WorkloadOptions, argument};
pub use together::TogetherWorkload;
pub use traffic::{Load, TrafficWorkload};
pub use train::TrainWorkload;
pub use written::Written;

impl WorkloadOptions {
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
        let given = options.given().map(|(name, _)| name);
        let misplaced: Vec<Problem> =
            given.filter(|name| !kind.takes(name)).map(|name| kind.misplaced(name)).collect();
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
