//! A point of an experiment: one run of one workload on one machine.

use crate::VERSION;
use crate::result::{Heading, result};
use crate::workload::{GraphFiles, Measured, Problem, Surroundings, Workload, WorkloadOptions, argument};
use flitway_machine::digest::Digest;
use flitway_machine::{Diagnostics, Machine};
use flitway_report::session::Session;
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A point. It stands for itself: nothing of the experiment is needed to run it.
#[derive(Clone, Debug)]
pub struct Point {
    pub(crate) key: String,
    /// The machine, as a command would name it, and its overrides.
    pub(crate) machine_name: String,
    pub(crate) set: Vec<String>,
    pub(crate) machine: Arc<Machine>,
    pub(crate) options: WorkloadOptions,
    pub(crate) workload: Workload,
    pub(crate) seed: u64,
}

/// Why a point cannot be run.
#[derive(Clone, Debug)]
pub enum RunError {
    /// The machine is wrong.
    Machine(Diagnostics),
    /// The workload is wrong, or does not fit the machine.
    Workload(Vec<Problem>),
    /// The description is not one of a point.
    Description(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Machine(problems) => problems.fmt(f),
            RunError::Workload(problems) => {
                let lines: Vec<String> = problems
                    .iter()
                    .map(|problem| format!("`{}`: {}", problem.option, problem.message))
                    .collect();
                f.write_str(&lines.join("\n"))
            }
            RunError::Description(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for RunError {}

impl Point {
    /// A digest of everything that the result depends on: the checked machine, the workload with the files it names, the
    /// seed and the version of Flitway. Who gave a value, how it is written and what the machine is called do not matter.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The workload.
    #[must_use]
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs the point: a `flitway/result/1`; `None` if `stop` came first.
    ///
    /// # Errors
    /// If the workload does not fit the machine; that is known of the points of an [`Experiment`](crate::Experiment).
    pub fn run(&self, stop: &AtomicBool) -> Result<Option<Value>, RunError> {
        self.run_on(1, stop)
    }

    /// The same on so many `threads`, on which the result does not depend.
    pub(crate) fn run_on(&self, threads: u32, stop: &AtomicBool) -> Result<Option<Value>, RunError> {
        let session = Session::new(Machine::clone(&self.machine), self.seed, threads);
        let workload = self.workload.as_run();
        let points = workload.run(&session, stop, &mut |_| {}).map_err(RunError::Workload)?;
        let command = self.command();
        let heading = Heading { machine: &self.machine, seed: self.seed, command: &command, workload };
        let values = |points: Vec<Measured>| points.into_iter().map(|point| point.value).collect();
        Ok(points.map(|points| result(heading, values(points))))
    }

    /// The command that runs this point alone.
    #[must_use]
    pub fn command(&self) -> Vec<String> {
        command(&self.machine_name, &self.set, &self.options, self.seed)
    }

    /// What another process needs to run the point, which reads the same files.
    #[must_use]
    pub fn description(&self) -> Value {
        let options: Map<String, Value> =
            self.options.given().map(|(name, text)| (name.to_owned(), json!(text))).collect();
        json!({
            "machine": self.machine_name,
            "set": self.set,
            "workload": options,
            "seed": self.seed,
            "key": self.key,
        })
    }

    /// The point of this [`description`](Self::description).
    ///
    /// # Errors
    /// If it describes none, or if the files that it names have changed since.
    pub fn from_description(description: &Value) -> Result<Point, RunError> {
        let bad = |what: &str| RunError::Description(format!("the description of a point has no {what}"));
        let text = |key: &str| description.get(key).and_then(Value::as_str).ok_or_else(|| bad(key));
        let (name, key) = (text("machine")?, text("key")?);
        let set = description.get("set").and_then(Value::as_array).ok_or_else(|| bad("set"))?;
        let set: Option<Vec<String>> = set.iter().map(|set| set.as_str().map(str::to_owned)).collect();
        let set = set.ok_or_else(|| bad("set"))?;
        let seed = description.get("seed").and_then(Value::as_u64).ok_or_else(|| bad("seed"))?;
        let written =
            description.get("workload").and_then(Value::as_object).ok_or_else(|| bad("workload"))?;
        let mut options = WorkloadOptions::default();
        for (name, text) in written {
            let known = text.as_str().is_some_and(|text| options.set(name, text.to_owned()));
            if !known {
                return Err(bad(&format!("workload option `{name}`")));
            }
        }
        let machine = Arc::new(Machine::load(name, &set).map_err(RunError::Machine)?);
        let graphs = GraphFiles::default();
        let surroundings = Surroundings::of(&machine, &graphs);
        let workload = Workload::check(&options, &surroundings).map_err(RunError::Workload)?;
        let found = self::key(&identity(&machine), &workload, seed);
        if found != key {
            let message = format!("the files of point {key} have changed: it would now be {found}");
            return Err(RunError::Description(message));
        }
        Ok(Point { key: found, machine_name: name.to_owned(), set, machine, options, workload, seed })
    }
}

/// The command that runs the workload of `options` on the machine `name` with the overrides `set`.
#[must_use]
pub fn command(name: &str, set: &[String], options: &WorkloadOptions, seed: u64) -> Vec<String> {
    let mut command = vec!["flitway".to_owned(), "run".to_owned(), name.to_owned()];
    for set in set {
        command.extend(["--set".to_owned(), set.clone()]);
    }
    for (name, text) in options.given() {
        match text {
            // What is there or not has no value on the command line.
            "true" => command.push(argument(name)),
            "false" => {}
            // Of an option that can be given several times each value.
            _ => command.extend(text.split('\n').flat_map(|text| [argument(name), text.to_owned()])),
        }
    }
    command.extend(["--seed".to_owned(), seed.to_string()]);
    command
}

/// What matters of a machine.
pub(crate) fn identity(machine: &Machine) -> Value {
    let mut description = machine.to_json();
    if let Some(object) = description.as_object_mut() {
        for key in ["name", "description", "origin"] {
            object.shift_remove(key);
        }
    }
    description
}

/// The key of a point: 128 bits of the digest are plenty to tell points apart.
pub(crate) fn key(machine: &Value, workload: &Workload, seed: u64) -> String {
    let everything = json!({
        "flitway": VERSION,
        "machine": machine,
        "workload": workload.as_run().identity(),
        "seed": seed,
    });
    let mut key = Digest::of(&everything.to_string());
    key.truncate(32);
    key
}
