//! A task graph: a file in the GOAL text format, and where its ranks run.

use super::{Kind, Measured, Problem, Run, Step, Surroundings, Tell, Workload, WorkloadOptions};
use crate::digest::Digest;
use flitway_machine::input;
use flitway_report::graph::GraphResult;
use flitway_report::memory::{self, Guard};
use flitway_report::session::Session;
use flitway_report::session::follow::Follow;
use flitway_report::stages::Stages;
use flitway_report::watch;
use flitway_workload::graph::goal::Diagnostics as Mistakes;
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
    name: "a task graph",
    selectors: &["graph"],
    example: "app.goal",
    of_a_point: None,
    options: &["graph", "placement"],
    fields: &[GraphResult::FIELDS, Stages::FIELDS],
    check,
};

/// What stands for standard input in the place of a file.
const STANDARD_INPUT: &str = "-";

/// Where ranks run, unless it is said.
pub const PLACEMENT_DEFAULT: &str = "linear";

/// A task graph, checked.
#[derive(Clone, Debug)]
pub struct GraphWorkload {
    /// The path of the file, as written.
    pub path: String,
    /// The graph.
    pub graph: Arc<TaskGraph>,
    /// Of the bytes of the file.
    digest: String,
    placement: String,
    /// What the file says that the placement names.
    list: Option<String>,
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
    let path = options.graph.clone().unwrap_or_default();
    let placement = options.placement.clone().unwrap_or_else(|| PLACEMENT_DEFAULT.to_owned());
    let file = around.graphs.get(&path);
    let list = match placement.as_str() {
        "linear" | "random" => Ok(None),
        file => input::read_text(Path::new(file), input::MADE_MAX).map(Some).map_err(|error| {
            let help = "expected `linear`, `random` or a file with a node number for each rank";
            Problem::new("placement", format!("{file}: cannot read: it {error}")).help(help)
        }),
    };
    match (file, list) {
        (Ok((graph, digest)), Ok(list)) => {
            Ok(Workload::Graph(GraphWorkload { path, graph, digest, placement, list }))
        }
        (file, list) => Err(file.err().into_iter().chain(list.err()).collect()),
    }
}

/// The files that the options name.
pub(super) fn files(options: &WorkloadOptions) -> Vec<(&'static str, PathBuf)> {
    let named = |option| options.get(option).map(|path| (option, PathBuf::from(path)));
    let placement = named("placement").filter(|_| !is_way(options.get("placement")));
    named("graph")
        .filter(|(_, path)| path.as_os_str() != STANDARD_INPUT)
        .into_iter()
        .chain(placement)
        .collect()
}

/// Whether a placement is a way to place ranks, and no file.
fn is_way(placement: Option<&str>) -> bool {
    matches!(placement, Some("linear" | "random"))
}

/// Paths in the options begin in `folder`.
pub(super) fn place_files(options: &mut WorkloadOptions, folder: &Path) {
    let place = |path: &str| folder.join(path).display().to_string();
    options.graph = options.graph.as_deref().map(place);
    options.placement =
        options.placement.take().map(|text| if is_way(Some(&text)) { text } else { place(&text) });
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

impl GraphWorkload {
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

    /// Puts the ranks on the nodes of `session`.
    ///
    /// # Errors
    /// If there are not as many places as ranks, or messages are larger than memory.
    pub fn placement(&self, session: &Session) -> Result<Placement, Vec<Problem>> {
        self.fits_memory(session).map_err(|problem| vec![problem])?;
        let (ranks, nodes) = (self.graph.ranks(), session.fabric().nodes());
        let placed = match (&self.list, self.placement.as_str()) {
            (Some(list), _) => Placement::from_text(list, ranks, nodes),
            (None, "random") => Placement::random(ranks, nodes, session.seed()).map_err(|error| vec![error]),
            (None, _) => Placement::linear(ranks, nodes).map_err(|error| vec![error]),
        };
        placed.map_err(|errors| {
            let problem = |error| Problem::new("placement", format!("{}: {error}", self.placement));
            errors.iter().map(problem).collect()
        })
    }

    /// That the graph does not go with the machine.
    #[must_use]
    pub fn misfit(&self, error: impl std::fmt::Display) -> Problem {
        Problem::new("graph", format!("{}: {error}", self.path))
    }
}

impl Run for GraphWorkload {
    fn to_json(&self) -> Value {
        json!({ "graph": self.path, "placement": self.placement })
    }

    fn identity(&self) -> Value {
        // Not the path: a graph that has moved is the same.
        let list = self.list.as_deref().unwrap_or(&self.placement);
        json!({ "graph": self.digest, "placement": list })
    }

    fn fit(&self, session: &Session) -> Result<(), Vec<Problem>> {
        let placement = self.placement(session)?;
        session.exchange(&self.graph, placement).map(drop).map_err(|error| vec![self.misfit(error)])
    }

    fn run(
        &self,
        session: &Session,
        stop: &AtomicBool,
        tell: &mut Tell<'_>,
    ) -> Result<Option<Vec<Measured>>, Vec<Problem>> {
        let placement = self.placement(session)?;
        let result = session.graph(&self.graph, placement, stop, |now| tell(Step::first(now)));
        let result = result.map_err(|error| vec![self.misfit(error)])?;
        Ok((!result.stopped).then(|| vec![Measured { value: result.to_json(), details: result.details }]))
    }

    fn follow(
        &self,
        session: &Session,
        place: usize,
        follow: &Follow,
        stop: &AtomicBool,
    ) -> Option<(Vec<watch::Step>, u64)> {
        debug_assert!(place == 0, "a graph is one point");
        let exchange = session.exchange(&self.graph, self.placement(session).ok()?).ok()?;
        Some(session.follow_graph(&exchange, follow, stop))
    }
}
