//! Task graphs side by side: files in the GOAL text format, and where their ranks run.

use super::option::{LINES, ValueKind, WorkloadOption, default_of, joined, several};
use super::{
    Described, Kind, KindId, Measured, Outcome, Problem, Surroundings, Tasks, Workload, WorkloadOptions,
    Written,
};
use flitway_fabric::PROCESSES_MAX;
use flitway_machine::digest::Digest;
use flitway_machine::input;
use flitway_process::Exchange;
use flitway_report::graph::GraphResult;
use flitway_report::measure::Progress;
use flitway_report::memory::{self, Guard};
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::stages::Stages;
use flitway_report::watch::Watch;
use flitway_wiring::NodeId;
use flitway_workload::catalog::ChoiceError;
use flitway_workload::graph::goal::Diagnostics as Mistakes;
use flitway_workload::graph::placement::{self, Order};
use flitway_workload::graph::{Placement, RankId, TaskGraph, TaskId, Work, goal};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) const KIND: Kind = Kind {
    id: KindId::Graph,
    name: "a task graph",
    selectors: &["graph"],
    asks: Kind::is_selected,
    example: "app.goal",
    heading: "Task graph",
    options: &[
        WorkloadOption::new(
            "graph",
            KindId::Graph,
            ValueKind::File("FILE"),
            "Run a task graph (GOAL text, plain or gzip; `-`: from standard input), beside synthetic traffic \
             if a --load is given, and beside multicasts, barriers and a train; several run side by side",
        )
        .several(LINES),
        WorkloadOption::new(
            "placement",
            KindId::Graph,
            ValueKind::File("PLACEMENT"),
            "Where ranks run: {} (unless given), random, block(switches), cyclic(groups), ..., on nodes that no \
             graph before has (`flitway list placements`), or a file with a node number for each rank; one for \
             all graphs, or one for each",
        )
        .default("linear")
        .several(LINES),
    ],
    shares: &[],
    of_a_point: None,
    fields: &[GraphResult::FIELDS, Stages::FIELDS],
    check,
};

/// What stands for standard input in the place of a file.
const STANDARD_INPUT: &str = "-";

/// Task graphs that run side by side, checked.
#[derive(Clone, Debug)]
pub struct GraphWorkload {
    /// The options, as written or by default.
    pub written: Written,
    /// The graphs; never empty.
    pub jobs: Vec<GraphJob>,
}

/// A task graph, and where its ranks run.
#[derive(Clone, Debug)]
pub struct GraphJob {
    /// The path of the file, as written.
    pub path: String,
    /// The graph.
    pub graph: Arc<TaskGraph>,
    /// Of the bytes of the file.
    digest: String,
    /// Where its ranks run, as written.
    placement: String,
    places: Places,
}

/// Where ranks run.
#[derive(Clone, Debug)]
enum Places {
    /// On free nodes, in this order.
    Order(Order),
    /// On those that a file lists, whose text this is.
    List(String),
}

/// A task graph that has been read, and the digest of its file.
type GraphFile = (Arc<TaskGraph>, String);

/// The task graphs that have been read, so that each is read once.
#[derive(Debug, Default)]
pub struct GraphFiles {
    read: RefCell<BTreeMap<String, Result<GraphFile, Problem>>>,
}

impl GraphFiles {
    fn get(&self, path: &str) -> Result<GraphFile, Problem> {
        self.read.borrow_mut().entry(path.to_owned()).or_insert_with(|| read(path)).clone()
    }
}

fn check(options: &WorkloadOptions, around: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let paths = several(options.get("graph"));
    let placements = several(options.get("placement"));
    if placements.len() > 1 && placements.len() != paths.len() {
        let message = format!("{} are given, and `--graph` {} times", placements.len(), paths.len());
        problems.push(Problem::new("placement", message).help("give one for all of them, or one for each"));
    }
    let mut jobs = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let placement =
            placements.get(number).or(placements.first()).copied().unwrap_or(default_of("placement"));
        match (around.graphs.get(path), places(placement)) {
            (Ok((graph, digest)), Ok(places)) => {
                let placement = placement.to_owned();
                jobs.push(GraphJob { path: (*path).to_owned(), graph, digest, placement, places });
            }
            (file, places) => problems.extend(file.err().into_iter().chain(places.err())),
        }
    }
    if jobs.len() >= usize::from(PROCESSES_MAX) {
        let message = format!("{} graphs: at most {} run side by side", jobs.len(), PROCESSES_MAX - 1);
        problems.push(Problem::new("graph", message).help("merge some of them into one file"));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Workload::Graph(Box::new(GraphWorkload { written: Written::new(&KIND, options), jobs })))
}

/// Where ranks run by `placement`, as written.
fn places(placement: &str) -> Result<Places, Problem> {
    if placement::is_order(placement) {
        let order = placement::parse(placement).map(Places::Order);
        return order.map_err(|error| Problem::new("placement", error.to_string()));
    }
    input::read_text(Path::new(placement), input::MADE_MAX).map(Places::List).map_err(|error| {
        let names = placement::CATALOG.entries().map(|entry| format!("`{}`", entry.name));
        let names = names.collect::<Vec<_>>().join(", ");
        let meant = match placement::parse(placement) {
            Err(ChoiceError::UnknownName { nearest: Some(nearest), .. }) => {
                format!("; did you mean `{nearest}`?")
            }
            _ => String::new(),
        };
        Problem::new("placement", format!("{placement}: cannot read: it {error}"))
            .help(format!("expected {names} or a file with a node number for each rank{meant}"))
    })
}

/// The files that the options name.
pub(super) fn files(options: &WorkloadOptions) -> Vec<(&'static str, PathBuf)> {
    let graphs = several(options.get("graph")).into_iter().filter(|path| *path != STANDARD_INPUT);
    let placements = several(options.get("placement")).into_iter().filter(|text| !placement::is_order(text));
    let named = |option| move |path: &str| (option, PathBuf::from(path));
    graphs.map(named("graph")).chain(placements.map(named("placement"))).collect()
}

/// Paths in the options begin in `folder`.
pub(super) fn place_files(options: &mut WorkloadOptions, folder: &Path) {
    let place = |path: &str| folder.join(path).display().to_string();
    let placed = |text: &str| if placement::is_order(text) { text.to_owned() } else { place(text) };
    let all = |text: &str, place: &dyn Fn(&str) -> String| joined(several(Some(text)).into_iter().map(place));
    options.change("graph", |paths| all(paths, &place));
    options.change("placement", |placements| all(placements, &placed));
}

fn read(path: &str) -> Result<GraphFile, Problem> {
    let file: Box<dyn Read> = if path == STANDARD_INPUT {
        Box::new(std::io::stdin())
    } else {
        Box::new(input::open(Path::new(path)).map_err(|error| {
            let help = "expected a task graph as GOAL text, plain or gzip";
            Problem::new("graph", format!("{path}: cannot open: it {error}")).help(help)
        })?)
    };
    let mut bytes = Digested { file, digest: Digest::default(), guard: Guard::new() };
    let graph = goal::read(BufReader::new(&mut bytes)).map_err(|mistakes| {
        let first = mistakes.list.first().map_or_else(String::new, |first| first.problem.to_string());
        let message = format!("{path}: {} mistakes, the first: {first}", mistakes.list.len());
        Problem { picture: Some(picture(path, &mistakes)), ..Problem::new("graph", message) }
    })?;
    // What stands behind the end of a compressed file belongs to the file.
    std::io::copy(&mut bytes, &mut std::io::sink())
        .map_err(|error| Problem::new("graph", format!("{path}: cannot read: {error}")))?;
    Ok((Arc::new(graph), bytes.digest.finish()))
}

/// A file whose bytes are digested as they are read.
struct Digested {
    file: Box<dyn Read>,
    digest: Digest,
    /// What is read grows in memory.
    guard: Guard,
}

impl Read for Digested {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.guard.is_exhausted() {
            return Err(std::io::Error::other("memory for its tasks is about to run out"));
        }
        let count = self.file.read(buffer)?;
        self.digest.add(&buffer[..count]);
        Ok(count)
    }
}

/// The mistakes of a GOAL file, each with its place.
fn picture(path: &str, mistakes: &Mistakes) -> String {
    let mut text = String::new();
    for problem in &mistakes.list {
        let span = problem.span;
        let number = span.line.to_string();
        let margin = " ".repeat(number.len());
        // Writing to a string does not fail.
        let _ = writeln!(text, "error[{}]: {}", problem.problem.code(), problem.problem);
        let _ = writeln!(text, "{margin}--> {path}:{}:{}", span.line, span.column);
        if !problem.source_line.is_empty() {
            let before: String = problem
                .source_line
                .chars()
                .take(span.column.saturating_sub(1) as usize)
                .map(|character| if character == '\t' { '\t' } else { ' ' })
                .collect();
            let _ = writeln!(text, "{margin} |\n{number} | {}", problem.source_line);
            let _ = writeln!(text, "{margin} | {before}{}", "^".repeat(span.length.clamp(1, 80) as usize));
        }
        if let Some(help) = problem.problem.help() {
            let _ = writeln!(text, "{margin} = help: {help}");
        }
        text.push('\n');
    }
    match mistakes.omitted {
        0 => text.truncate(text.trim_end().len()),
        omitted => {
            let _ = write!(text, "error: {omitted} more mistakes in {path}");
        }
    }
    text
}

impl GraphJob {
    /// Refuses a graph whose messages have more packets than memory can hold. The packets of a message are there at once, and
    /// each rank may send its largest one while the others do.
    fn fits_memory(&self, session: &Session) -> Result<(), Problem> {
        let (graph, mtu) = (&self.graph, u64::from(session.machine().packet.mtu_bytes));
        let packets = |task: TaskId, rank: RankId| match graph.task(rank, task).work {
            Work::Send { to, bytes, .. } if to != rank => bytes.div_ceil(mtu),
            _ => 0,
        };
        let largest =
            |rank| (0..graph.tasks_of(rank)).map(|task| packets(TaskId(task), rank)).max().unwrap_or(0);
        let packets: u64 = (0..graph.ranks()).map(|rank| largest(RankId(rank))).sum();
        // A list that is full moves to one of twice its size.
        let needed = packets.saturating_mul(2 * memory::BYTES_PER_PACKET);
        let what = format!("{}: its largest message of each rank, {packets} packets of {mtu} B,", self.path);
        memory::fits_for(needed, &what).map_err(|message| {
            Problem::new("graph", message)
                .help("send large messages in parts that wait for each other, or use a larger `packet.mtu`")
        })
    }

    /// Puts the ranks on nodes of `session`, on those that are `free` where nothing else is said.
    fn place(&self, session: &Session, free: &[NodeId]) -> Result<Placement, Vec<Problem>> {
        self.fits_memory(session).map_err(|problem| vec![problem])?;
        let (ranks, nodes) = (self.graph.ranks(), session.fabric().nodes());
        let placed = match &self.places {
            Places::List(list) => Placement::from_text(list, ranks, nodes),
            Places::Order(order) => Placement::ordered(order, ranks, free, session.parts(), session.seed())
                .map_err(|error| vec![error]),
        };
        placed.map_err(|errors| {
            let problem = |error| Problem::new("placement", format!("{}: {error}", self.placement));
            errors.iter().map(problem).collect()
        })
    }
}

impl GraphWorkload {
    /// Fits the graphs to the machine of `session`, one after the other.
    ///
    /// # Errors
    /// If there are not as many places as ranks, or messages are larger than memory.
    pub(super) fn fit_graphs(&self, session: &Session) -> Result<Vec<Arc<Exchange>>, Vec<Problem>> {
        let mut free = Placement::everywhere(session.fabric().nodes());
        let mut run = Vec::new();
        for (number, job) in self.jobs.iter().enumerate() {
            let placement = job.place(session, &free)?;
            placement.occupy(&mut free);
            let exchange = session.exchange(&job.graph, placement, number);
            let misfit = |error| vec![Problem::new("graph", format!("{}: {error}", job.path))];
            run.push(exchange.map_err(misfit)?);
        }
        Ok(run)
    }

    /// Names `results`, where there are several.
    pub(super) fn name_results(&self, results: &mut [GraphResult]) {
        if self.jobs.len() > 1 {
            for (number, result) in results.iter_mut().enumerate() {
                result.name = Some(self.name(number));
            }
        }
    }

    /// What tells graph `number` from the others: its path, and which one it is of those with that.
    fn name(&self, number: usize) -> String {
        let path = &self.jobs[number].path;
        match self.jobs[..number].iter().filter(|job| job.path == *path).count() {
            0 => path.clone(),
            before => format!("{path} ({})", before + 1),
        }
    }
}

impl Described for GraphWorkload {
    fn to_json(&self) -> Value {
        self.written.to_json()
    }

    fn identity(&self) -> Value {
        // Not the path: a graph that has moved is the same.
        let places = |job: &GraphJob| match &job.places {
            Places::List(list) => list.clone(),
            Places::Order(_) => job.placement.clone(),
        };
        let of = |job: &GraphJob| json!([job.digest, places(job)]);
        json!({ "graphs": self.jobs.iter().map(of).collect::<Vec<_>>() })
    }
}

impl Tasks for GraphWorkload {
    type Task = Vec<Arc<Exchange>>;
    type Outcome = Vec<GraphResult>;

    fn tasks(&self, session: &Session) -> Result<Vec<Self::Task>, Vec<Problem>> {
        Ok(vec![self.fit_graphs(session)?])
    }

    fn measure(
        &self,
        session: &Session,
        task: &Self::Task,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Vec<GraphResult> {
        let mut results = session.graphs(task, stop, &mut |now| progress(Progress::at(now)));
        self.name_results(&mut results);
        results
    }

    fn entries(&self) -> usize {
        self.jobs.len()
    }

    fn again(
        &self,
        session: &Session,
        task: &Self::Task,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<Vec<Watch>> {
        Some(session.follow_graphs(task, follow, stop))
    }
}

impl Outcome for Vec<GraphResult> {
    fn is_stopped(&self) -> bool {
        self.iter().any(|result| result.stopped)
    }

    fn measured(self) -> Vec<Measured> {
        self.into_iter().map(Measured::from).collect()
    }
}

impl From<GraphResult> for Measured {
    fn from(result: GraphResult) -> Self {
        Measured { value: result.to_json(), details: result.details }
    }
}
