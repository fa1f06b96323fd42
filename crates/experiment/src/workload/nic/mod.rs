//! Operations of NICs between two nodes, and of many.

mod catalog;

use super::beside::{self, Beside, Task};
use super::broken::{self, Broken};
use super::option::{ValueKind, WorkloadOption};
use super::{
    Described, Kind, KindId, Measured, Outcome, Problem, Surroundings, Tasks, Workload, WorkloadOptions,
    Written,
};
use flitway_machine::thread::{ProgramFile, read_program};
use flitway_machine::units;
use flitway_report::faults::FaultsResult;
use flitway_report::measure::Progress;
use flitway_report::session::Session;
use flitway_report::session::nic::{
    CollectiveKind, GroupChoice, Manner, NicChoice, NicMisfit, NicResult, NicRun,
};
use flitway_workload::catalog::quoted;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use catalog::{CATALOG, Operation, Reader};

/// Operations of a process that count, unless it is said how many: one after the other on an idle network, where they differ
/// by the phase of the clock alone, and of a stream or beside others.
const COUNT: u32 = 10;
const COUNT_OF_MANY: u32 = 1000;

pub(super) const KIND: Kind = Kind {
    id: KindId::Nic,
    name: "NIC operations",
    selectors: &["nic"],
    asks: Kind::is_selected,
    example: "'put(0-1)'",
    heading: "NIC operations (--count says how many)",
    options: &[
        WorkloadOption::new(
            "nic",
            KindId::Nic,
            ValueKind::Text("OPERATION"),
            "An operation of NICs between two nodes: put(0-1), get(...), send(...), remote-load(...), remote-store(...), fetch-add(...), or of many, lock(0-15), barrier(0-15), broadcast(0-15), reduce(0-15), gather(0-15), thread(0-15, program=FILE); with \
             queue=... or by=..., as the NIC has it, reliable=yes, match=N (flitway explain put); its latency, bandwidth and rate, and where the time goes",
        ),
        WorkloadOption::new(
            "size",
            KindId::Nic,
            ValueKind::Text("SIZES"),
            "Data of each: one size, several (8B,1KiB), or a range that doubles (8B..4MiB); {} unless given",
        )
        .default("8B"),
        WorkloadOption::new(
            "processes",
            KindId::Nic,
            ValueKind::Count,
            "Processes of each of the two nodes, each with a processor and queues of its own; {} unless given",
        )
        .default("1"),
    ],
    shares: &["count", "outstanding", "traffic", "packet", "arrival", "load", "faults"],
    of_a_point: None,
    fields: &[NicResult::FIELDS, FaultsResult::FIELDS],
    check,
};

/// Operations of NICs, checked.
#[derive(Clone, Debug)]
pub struct NicWorkload {
    /// The operation.
    pub operation: Operation,
    /// The same, as written.
    pub written: String,
    /// The program of the threads, if a user says which.
    program: Option<ProgramFile>,
    /// Data of each, in bytes, a point each.
    pub sizes: Vec<u64>,
    size: String,
    /// How many count, for each process.
    pub count: u32,
    /// How many are under way for each process; `None` for ping-pong.
    pub outstanding: Option<u32>,
    /// Processes of each node.
    pub processes: u32,
    /// Synthetic traffic beside it.
    pub beside: Option<Beside>,
    /// What breaks.
    faults: Option<Broken>,
    /// What is said of those two.
    of_others: Written,
}

/// One point: operations of one size, with what is beside them.
pub type NicTask = Task<NicRun>;

impl NicWorkload {
    /// How many come before those that count, for each process. A stream is what it is when as many are under way as there
    /// will be, and a buffer when it has been used before, but for translations that are given on demand. All turns of a lock
    /// count.
    #[must_use]
    pub fn warm_up(&self) -> u32 {
        if self.operation.lock.is_some() {
            return 0;
        }
        let Manner { buffers, is_on_demand, .. } = self.operation.manner;
        let of_buffers = if buffers > 1 && !is_on_demand { buffers } else { 0 };
        self.count.div_ceil(10).max(self.outstanding.unwrap_or(0)).max(of_buffers)
    }
}

fn check(options: &WorkloadOptions, _: &Surroundings<'_>) -> Result<Workload, Vec<Problem>> {
    let mut problems = Vec::new();
    let written = options.get("nic").unwrap_or("").to_owned();
    let chosen = CATALOG
        .choose(&written)
        .and_then(|(choice, read)| catalog::read(&choice, read).map(|it| (choice, it)));
    let chosen = chosen.map_err(|error| problems.push(Problem::new("nic", error.to_string()))).ok();
    let path = chosen.as_ref().and_then(|(choice, operation)| catalog::program(choice, operation));
    let program = path.map(|path| program(&path).map_err(|problem| problems.push(problem)).ok());
    let operation = chosen.map(|(_, operation)| operation);
    let size = options.text("size").to_owned();
    let sizes = sizes(&size).map_err(|problem| problems.push(problem)).ok();
    let mut number = |option: &'static str, text: &str, most: u32| {
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        if number.is_none() {
            problems.push(Problem::new(option, format!("`{text}`: expected a number from 1 to {most}")));
        }
        number
    };
    let processes = number("processes", options.text("processes"), 32);
    let outstanding = options.get("outstanding").map(|text| number("outstanding", text, 1_000_000));
    let are_many = outstanding.is_some() || options.is_given("load") || options.is_given(broken::OPTION);
    let unless_given = if are_many { COUNT_OF_MANY } else { COUNT };
    let count = options.get("count").map_or(Some(unless_given), |text| number("count", text, 1_000_000));
    let beside = beside::check(options, &mut problems);
    let faults = Broken::check(options).map_err(|found| problems.extend(found)).unwrap_or(None);
    let (sizes, size) = match operation.and_then(|operation: Operation| operation.group) {
        Some(group) => {
            problems.extend(misfits_of_group(group, options));
            let fixed = fixed_size(group.kind);
            let size = if fixed.is_none() { size } else { String::new() };
            (sizes.map(|sizes| fixed.map_or(sizes, |bytes| vec![bytes])), size)
        }
        None if operation.is_some_and(|operation| operation.lock.is_some()) => {
            problems.extend(misfits_of_lock(options));
            (sizes.map(|_| vec![0]), String::new())
        }
        None => (sizes, size),
    };
    let program = program.flatten();
    match (operation, sizes, count, processes, outstanding, beside) {
        (Some(operation), Some(sizes), Some(count), Some(processes), None | Some(Some(_)), Some(beside))
            if problems.is_empty() =>
        {
            let of_others = beside::OPTIONS.into_iter().chain([broken::OPTION]);
            Ok(Workload::Nic(Box::new(NicWorkload {
                operation,
                written,
                program,
                sizes,
                size,
                count,
                outstanding: outstanding.flatten(),
                processes,
                beside,
                faults,
                of_others: Written::of(of_others, options),
            })))
        }
        _ => Err(problems),
    }
}

/// Reads the program of the threads.
fn program(path: &Path) -> Result<ProgramFile, Problem> {
    read_program(path).map_err(|problems| {
        let count = problems.len();
        let first = problems.iter().next().map_or_else(String::new, |first| first.message.clone());
        let message = match count {
            1 => format!("{}: {first}", path.display()),
            _ => format!("{}: {count} mistakes, the first: {first}", path.display()),
        };
        Problem { picture: Some(problems.to_string()), ..Problem::new("nic", message) }
    })
}

/// The files that the options name.
pub(super) fn files(options: &WorkloadOptions) -> Vec<(&'static str, PathBuf)> {
    let path = options.get("nic").and_then(named);
    path.map(|path| ("nic", path)).into_iter().collect()
}

/// The program that an operation names.
fn named(text: &str) -> Option<PathBuf> {
    let (choice, read) = CATALOG.choose(text).ok()?;
    catalog::program(&choice, &read(&choice).ok()?)
}

/// Paths in the options begin in `folder`.
pub(super) fn place_files(options: &mut WorkloadOptions, folder: &Path) {
    options.change("nic", |text| match named(text) {
        Some(path) => {
            let (choice, read) = CATALOG.choose(text).expect("it names a program");
            let operation = read(&choice).expect("it names a program");
            let placed = quoted(&folder.join(path).display().to_string());
            let [first, last] = operation.nodes;
            let arity = operation.group.map_or(4, |group| group.arity);
            format!("thread({first}-{last}, program={placed}, arity={arity})")
        }
        None => text.to_owned(),
    });
}

/// Data of an operation of many nodes, where nobody says how much: of a barrier none, of a reduction a word.
fn fixed_size(kind: CollectiveKind) -> Option<u64> {
    match kind {
        CollectiveKind::Barrier => Some(0),
        CollectiveKind::Reduce => Some(8),
        CollectiveKind::Broadcast | CollectiveKind::Gather | CollectiveKind::Threads => None,
    }
}

/// What is said beside a lock and does not go with it.
fn misfits_of_lock(options: &WorkloadOptions) -> Vec<Problem> {
    let refused = [("size", "has no data"), ("outstanding", "is taken again when it has been freed")];
    let given = refused.into_iter().filter(|(option, _)| options.is_given(option));
    let problem =
        |(option, why)| Problem::new(option, format!("a lock {why}")).help(format!("leave --{option} out"));
    given.map(problem).collect()
}

/// What is said beside an operation of many nodes and does not go with it.
fn misfits_of_group(group: GroupChoice, options: &WorkloadOptions) -> Vec<Problem> {
    let name = group.kind.name();
    // Barrier modules have all processes of a node for leaves: whether the NIC has one is seen with the machine.
    let may_be_many = group.kind == CollectiveKind::Barrier && group.is_offloaded;
    let refused = [
        ("size", fixed_size(group.kind) == Some(0), "has no data"),
        ("size", fixed_size(group.kind) == Some(8), "is of a word of 8 B"),
        (
            "processes",
            options.get("processes") != Some("1") && !may_be_many,
            "is of one process of each node",
        ),
        ("outstanding", true, "is followed by the next one when it is over"),
    ];
    let given = refused.into_iter().filter(|&(option, is_wrong, _)| is_wrong && options.is_given(option));
    let problem = |(option, _, why)| {
        Problem::new(option, format!("a {name} {why}")).help(format!("leave --{option} out"))
    };
    given.map(problem).collect()
}

/// The sizes that `text` says.
fn sizes(text: &str) -> Result<Vec<u64>, Problem> {
    let one = |text: &str| {
        let text = text.trim();
        match units::size(text) {
            Ok(0) => Err(Problem::new("size", format!("`{text}`: expected at least 1 B"))),
            Ok(bytes) => Ok(bytes),
            Err(error) => {
                let message =
                    format!("{error}: expected {}, or a range such as `8B..4MiB`", error.expectation());
                Err(Problem { help: error.help(), ..Problem::new("size", message) })
            }
        }
    };
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let Some((low, high)) = part.split_once("..") else {
            sizes.push(one(part)?);
            continue;
        };
        let (first, last) = (one(low)?, one(high)?);
        if first > last {
            let message = format!("`{part}`: a range goes from the smaller size to the larger");
            return Err(Problem::new("size", message).help(format!("use `{high}..{low}`")));
        }
        let doubled = std::iter::successors(Some(first), |size| size.checked_mul(2));
        sizes.extend(doubled.take_while(|&size| size < last));
        sizes.push(last);
    }
    Ok(sizes)
}

/// The option that is most likely at fault.
fn misfit(error: NicMisfit) -> Problem {
    let option = match error {
        NicMisfit::NoOperations
        | NicMisfit::NoOperation { .. }
        | NicMisfit::NoWay { .. }
        | NicMisfit::NotReliable
        | NicMisfit::NoSetup(_)
        | NicMisfit::NoCollectives { .. }
        | NicMisfit::Senders { .. }
        | NicMisfit::NoThreads
        | NicMisfit::Misses(_)
        | NicMisfit::NoNode { .. } => "nic",
        NicMisfit::TooLarge { .. } => "size",
        NicMisfit::Fetched { .. } => "outstanding",
        NicMisfit::NoQueue { .. } => "processes",
    };
    Problem { help: error.help(), ..Problem::new(option, error.to_string()) }
}

impl Described for NicWorkload {
    fn to_json(&self) -> Value {
        let mut workload = json!({
            "nic": self.written,
            "count": self.count.to_string(),
            "processes": self.processes.to_string(),
        });
        if !self.size.is_empty() {
            workload["size"] = json!(self.size);
        }
        if let Some(outstanding) = self.outstanding {
            workload["outstanding"] = json!(outstanding.to_string());
        }
        if let (Some(workload), Value::Object(others)) = (workload.as_object_mut(), self.of_others.to_json())
        {
            workload.extend(others);
        }
        workload
    }

    fn identity(&self) -> Value {
        let beside = self.beside.as_ref().map(Beside::identity);
        let mut identity = json!({ "options": self.to_json(), "background": beside });
        if let Some(program) = &self.program {
            identity["program"] = json!(program.digest);
        }
        Broken::identified(identity, self.faults.as_ref())
    }

    fn has_page(&self) -> bool {
        true
    }

    fn has_views(&self) -> bool {
        false
    }
}

impl Tasks for NicWorkload {
    type Task = NicTask;
    type Outcome = NicResult;

    /// Of each size at each load of the traffic.
    fn tasks(&self, session: &Session) -> Result<Vec<NicTask>, Vec<Problem>> {
        let Operation { verb, nodes, by, is_reliable, chain, manner, group, matching, lock, noise } =
            self.operation;
        let program = || self.program.as_ref().map(|program| Arc::clone(&program.code));
        let NicWorkload { count, outstanding, processes, .. } = *self;
        let warm_up = self.warm_up();
        // What is said is checked with all else.
        let by = by.map_or_else(|| session.nic_way(verb, None), Ok).map_err(|error| vec![misfit(error)])?;
        let faults = Broken::fit(self.faults.as_ref(), session)?;
        let mut tasks = Vec::new();
        for background in beside::fit(self.beside.as_ref(), session)? {
            for &bytes in &self.sizes {
                let choice = NicChoice {
                    verb,
                    nodes,
                    by,
                    is_reliable,
                    bytes,
                    count,
                    warm_up,
                    outstanding,
                    processes,
                    chain,
                    manner,
                    group,
                    matching,
                    lock,
                    noise,
                };
                let run = session.fit_nic_with(choice, program()).map_err(|error| vec![misfit(error)])?;
                tasks.push(Task { run, background: background.clone(), faults: faults.clone() });
            }
        }
        Ok(tasks)
    }

    fn measure(
        &self,
        session: &Session,
        task: &NicTask,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> NicResult {
        task.with_faults(session).nic(&task.run, task.background(), stop, progress)
    }
}

impl Outcome for NicResult {
    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    fn measured(self) -> Vec<Measured> {
        vec![Measured { value: self.to_json(), details: None }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_listed_and_doubled() {
        assert_eq!(sizes("8B"), Ok(vec![8]));
        assert_eq!(sizes("8B..64B, 1KiB"), Ok(vec![8, 16, 32, 64, 1024]));
        assert_eq!(sizes("8B..20B"), Ok(vec![8, 16, 20]));
        let wrong = |text| sizes(text).unwrap_err().message;
        assert_eq!(wrong("64B..8B"), "`64B..8B`: a range goes from the smaller size to the larger");
        assert_eq!(wrong("0B"), "`0B`: expected at least 1 B");
        assert!(wrong("8").contains("or a range such as `8B..4MiB`"), "{}", wrong("8"));
    }
}
