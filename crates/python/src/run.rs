//! Runs: a workload on a machine, and a point of an experiment.

use crate::attend::{attended, guarded};
use crate::errors::{self, Failure, Fields};
use crate::machine::Source;
use flitway_experiment::frame::Frame;
use flitway_experiment::result::{Heading, result};
use flitway_experiment::workload::{GraphFiles, Problem, Step, Surroundings, Tell};
use flitway_experiment::{Point, RunError, Workload, WorkloadOptions, command};
use flitway_machine::{Machine, nearest};
use flitway_report::memory;
use flitway_report::session::Session;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// Runs the workload of `options` on a machine: a `flitway/result/1`, and the warnings of the machine.
#[pyfunction]
pub(crate) fn run<'py>(
    py: Python<'py>,
    source: Source,
    options: Vec<(String, String)>,
    seed: u64,
    threads: u32,
    tell: &Bound<'py, PyAny>,
) -> PyResult<(String, Vec<Bound<'py, PyTuple>>)> {
    let options = workload_of(options).map_err(|problem| errors::workload(py, &[problem]))?;
    let request = Request { source, options, seed, threads };
    let done = attended(py, tell, |stop, tell| request.carry_out(stop, tell))?;
    let (text, warnings) = done.map_err(|failure| failure.raise(py))?;
    Ok((text, errors::tuples(py, warnings)?))
}

/// Runs the point of a description: a `flitway/result/1`.
#[pyfunction]
pub(crate) fn run_point(py: Python<'_>, description: &str, tell: &Bound<'_, PyAny>) -> PyResult<String> {
    let run = |stop: &AtomicBool, _: &mut Tell<'_>| {
        let description = serde_json::from_str(description)
            .map_err(|error| Failure::Point(RunError::Description(error.to_string())))?;
        let point = Point::from_description(&description).map_err(Failure::Point)?;
        let result = point.run(stop).map_err(Failure::Point)?;
        result.map(|result| result.to_string()).ok_or(Failure::Stopped)
    };
    attended(py, tell, run)?.map_err(|failure| failure.raise(py))
}

/// The points of a `flitway/result/1` or a `flitway/experiment/1` as the content of a Parquet file.
#[pyfunction]
pub(crate) fn parquet<'py>(py: Python<'py>, result: &str) -> PyResult<Bound<'py, PyBytes>> {
    guarded(py, || {
        let result: Value =
            serde_json::from_str(result).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &py.detach(|| Frame::new(&result).to_parquet())))
    })
}

/// The names of the options of workloads.
#[pyfunction]
pub(crate) fn workload_options() -> Vec<&'static str> {
    WorkloadOptions::NAMES.to_vec()
}

fn workload_of(given: Vec<(String, String)>) -> Result<WorkloadOptions, Problem> {
    let mut options = WorkloadOptions::default();
    for (name, text) in given {
        if !options.set(&name, text) {
            let meant = nearest(&name, WorkloadOptions::NAMES.iter().copied());
            let problem = Problem::new("workload", format!("there is no option `{name}`"));
            return Err(match meant {
                Some(meant) => problem.help(format!("did you mean `{meant}`?")),
                None => problem,
            });
        }
    }
    Ok(options)
}

struct Request {
    source: Source,
    options: WorkloadOptions,
    seed: u64,
    threads: u32,
}

impl Request {
    fn carry_out(
        &self,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(Step),
    ) -> Result<(String, Vec<Fields>), Failure> {
        let machine: Machine = self.source.check().map_err(Failure::Machine)?;
        let surroundings = Surroundings { clock: machine.clock, graphs: &GraphFiles::default() };
        let workload = Workload::check(&self.options, &surroundings).map_err(Failure::Workload)?;
        let workload = workload.as_run();
        let session = Session::new(machine, self.seed, self.threads);
        memory::fits(session.fabric().bytes()).map_err(Failure::TooLarge)?;
        let points = workload.run(&session, stop, tell).map_err(Failure::Workload)?;
        let command = command(&self.source.name, &self.source.sets, &self.options, self.seed);
        let heading = Heading { machine: session.machine(), seed: self.seed, command: &command, workload };
        let text = points.map(|points| result(heading, points).to_string()).ok_or(Failure::Stopped)?;
        Ok((text, errors::fields(&session.machine().warnings)))
    }
}
