//! `flitway run --experiment`: the points of an experiment side by side, its plots, its findings.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::inputs;
use crate::layout::{broken, fitted};
use crate::output;
use crate::output::{Targets, colour};
use crate::plot;
use crate::progress::{Far, Line, stop_flag};
use crate::report;
use crate::task::{Voice, fits_memory};
use flitway_experiment::{Experiment, Overrides, Progress, Report, Runner, RunnerError, Store, StoreError};
use flitway_report::page;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Columns before what is left of a line that is too long.
const FINDING: usize = 4;

/// Runs the experiment `name`.
pub(crate) fn run(arguments: &RunArguments, name: &str) -> Result<(), Failure> {
    let experiment = Experiment::load(name, &overrides(arguments))?;
    warn(&experiment);
    let outputs = inputs::outputs(arguments);
    inputs::keep(&outputs, &experiment.files())?;
    let targets = Targets::new(arguments)?;
    report::probe(arguments)?;
    let beside = experiment.beside(arguments.threads);
    fits_memory(experiment.memory_bytes.saturating_mul(beside.into()))?;
    let folder = arguments.experiment.out.as_ref().map_or_else(|| default_folder(&experiment), PathBuf::from);
    let store = Store::open(&folder)?;
    let kept = experiment.written(&store);
    inputs::keep_store(&outputs, &kept)?;
    let kept: Vec<(&str, &Path)> = kept.iter().map(|file| ("--out", file.as_path())).collect();
    inputs::keep(&kept, &experiment.files())?;
    let mut voice = Voice::new(&targets).with_report(arguments.report.is_some());
    let stop = stop_flag()?;
    let results = run_points(&experiment, &store, arguments, &stop, &mut voice)?;
    let gathered = experiment.gather(results);
    let command: Vec<String> = std::env::args().collect();
    let value = experiment.to_json(&gathered, &command);
    let files = write_plots(&gathered, &value, &store)?;
    voice.say(|| broken(&plot::experiment(&experiment, &gathered, &files), FINDING))?;
    targets.write(&value)?;
    if arguments.report.is_some() {
        report::write(arguments, || page::experiment::html(&value))?;
    }
    fault(&experiment, &gathered)?;
    voice.end(&stop)
}

fn overrides(arguments: &RunArguments) -> Overrides {
    let options = arguments.workload.options();
    Overrides {
        set: arguments.set.clone(),
        seed: arguments.seed,
        precision: options.get("precision").map(str::to_owned),
        duration: options.get("duration").map(str::to_owned),
    }
}

fn default_folder(experiment: &Experiment) -> PathBuf {
    Path::new("results").join(&experiment.name)
}

/// Shows each kind of warning once: what an experiment varies it often varies to the limit.
fn warn(experiment: &Experiment) {
    let mut shown: Vec<flitway_machine::Code> = Vec::new();
    for warning in &experiment.warnings {
        if shown.contains(&warning.code) {
            continue;
        }
        shown.push(warning.code);
        let more = experiment.warnings.iter().filter(|other| other.code == warning.code).count() - 1;
        output::warn(&flitway_machine::render(warning, colour()));
        if more > 0 {
            output::warn(&format!("  = note: {more} more of this kind"));
        }
    }
}

fn run_points(
    experiment: &Experiment,
    store: &Store,
    arguments: &RunArguments,
    stop: &AtomicBool,
    voice: &mut Voice,
) -> Result<Vec<Option<Value>>, Failure> {
    let RunArguments { set, threads, .. } = arguments;
    let threads = *threads;
    voice.say(|| fitted(&plot::heading(experiment, set, store.folder(), threads), 2))?;
    let (line, started) = (Line::new(), Instant::now());
    let show = |progress: Progress| {
        let Progress { kept, done, all } = progress;
        // Points differ in length; how many are left is the best guess that costs nothing.
        let run = Far::of(done, all - kept, done as f64, started.elapsed());
        let far = Far { over: kept + done, all, share: (kept + done) as f64 / all.max(1) as f64, ..run };
        line.message(format!("{far}{}", experiment.name));
    };
    let outcome = Runner { experiment, store: Some(store), threads, stop }.run(show);
    line.clear();
    outcome.map_err(|error| match error {
        RunnerError::Store(error) => Failure::from(error),
        RunnerError::Run(error) => Failure::input(error.to_string(), None),
    })
}

/// Writes the data and a picture of each plot; the files of the data.
fn write_plots(report: &Report, experiment: &Value, store: &Store) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for data in &report.plots {
        files.push(store.write(&format!("{}.csv", data.plot.name), &data.to_csv())?);
    }
    for (name, picture) in page::experiment::pictures(experiment) {
        store.write(&format!("{name}.svg"), &picture)?;
    }
    Ok(files)
}

/// A task graph that did not finish is a fault that the simulation found.
fn fault(experiment: &Experiment, report: &Report) -> Result<(), Failure> {
    let stuck = |result: &&Value| result.pointer("/points/0/graph/completed") == Some(&Value::Bool(false));
    let Some(result) = report.results().iter().flatten().find(stuck) else { return Ok(()) };
    let command: Vec<&str> =
        result["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let waiting: Vec<&str> = result
        .pointer("/points/0/graph/waiting")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    Err(Failure::Fault(format!(
        "fault: a task graph of {} cannot finish\n  {}\n  = note: {}",
        experiment.name,
        waiting.join("\n  "),
        command.join(" ")
    )))
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::input(error.to_string(), error.help.map(str::to_owned))
    }
}
