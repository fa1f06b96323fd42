//! Runs: a workload on a machine, and a point of an experiment.

use crate::attend::{attended, guarded};
use crate::errors::{self, Failure, Fields};
use crate::machine::Source;
use flitway_experiment::frame::Frame;
use flitway_experiment::result::{Heading, result};
use flitway_experiment::views::{Views, interval, selection, without};
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

/// A result, the warnings of the machine, and a page, a trace and counters if they are asked for.
type Done<W> = (String, Vec<W>, [Option<String>; 3]);

/// What a run is shown as beside its result: whether as a page, as a trace of what, and as counters, read so often if that is
/// said.
type Shown = (bool, Option<String>, Option<(Option<String>,)>);

/// Runs the workload of `options` on a machine: a `flitway/result/1`, the warnings of the machine, and what else it is to be
/// `shown` as.
#[pyfunction]
pub(crate) fn run<'py>(
    py: Python<'py>,
    source: Source,
    options: Vec<(String, String)>,
    seed: u64,
    threads: u32,
    shown: Shown,
    tell: &Bound<'py, PyAny>,
) -> PyResult<Done<Bound<'py, PyTuple>>> {
    let options = workload_of(options).map_err(|problem| errors::workload(py, &[problem]))?;
    let request = Request { source, options, seed, threads, shown };
    let done = attended(py, tell, |stop, tell| request.carry_out(stop, tell))?;
    let (text, warnings, views) = done.map_err(|failure| failure.raise(py))?;
    Ok((text, errors::tuples(py, warnings)?, views))
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
    WorkloadOptions::names().to_vec()
}

fn workload_of(given: Vec<(String, String)>) -> Result<WorkloadOptions, Problem> {
    let mut options = WorkloadOptions::default();
    for (name, text) in given {
        if !options.set(&name, text) {
            let meant = nearest(&name, WorkloadOptions::names().iter().copied());
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
    shown: Shown,
}

impl Request {
    fn carry_out(&self, stop: &AtomicBool, tell: &mut dyn FnMut(Step)) -> Result<Done<Fields>, Failure> {
        let machine: Machine = self.source.check().map_err(Failure::Machine)?;
        memory::fits_machine(&machine, true).map_err(Failure::TooLarge)?;
        let graphs = GraphFiles::default();
        let surroundings = Surroundings::of(&machine, &graphs);
        let workload = Workload::check(&self.options, &surroundings).map_err(Failure::Workload)?;
        let (has_page, trace_of, every) = &self.shown;
        let has_views = *has_page || trace_of.is_some() || every.is_some();
        let session = Session::new(machine, self.seed, self.threads).with_details(has_views);
        if has_views {
            self.fit_views(&workload, &session).map_err(|problem| Failure::Workload(vec![problem]))?;
        }
        let workload = workload.as_run();
        memory::fits(session.fabric().bytes()).map_err(Failure::TooLarge)?;
        let points = workload.run(&session, stop, tell).map_err(Failure::Workload)?;
        let measured = points.ok_or(Failure::Stopped)?;
        let command = command(&self.source.name, &self.source.sets, &self.options, self.seed);
        let heading = Heading { machine: session.machine(), seed: self.seed, command: &command, workload };
        let theory = if *has_page { workload.theory(&session) } else { None };
        let views = Views { heading, session: &session, measured: &measured, theory: theory.as_ref() };
        let page = has_page.then(|| views.page());
        let trace = trace_of.as_ref().map(|of| {
            let steps = views.steps(of, stop).map_err(|problem| Failure::Workload(vec![problem]))?;
            Ok(steps.map(|(steps, left_out)| views.trace(of, &steps, left_out).pieces().collect()))
        });
        let trace = trace.transpose()?.flatten();
        let counters = every.as_ref().map(|every| {
            let lines = views.counters(every.0.as_deref(), stop);
            lines.map(Iterator::collect).map_err(|problem| Failure::Workload(vec![problem]))
        });
        let counters: Option<String> = counters.transpose()?;
        let values = measured.iter().map(|point| point.value.clone()).collect();
        let text = result(heading, values).to_string();
        Ok((text, errors::fields(&session.machine().warnings), [page, trace, counters]))
    }

    /// Refuses what cannot be shown, before anything runs.
    fn fit_views(&self, workload: &Workload, session: &Session) -> Result<(), Problem> {
        let (has_page, trace_of, every) = &self.shown;
        let asked = [("report", *has_page), ("trace", trace_of.is_some()), ("counters", every.is_some())];
        for (option, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
            if let Some(why) = without(workload.as_run(), option) {
                return Err(Problem::new(option, why));
            }
        }
        if let Some((Some(every),)) = &self.shown.2 {
            interval(every, session.machine().clock)?;
        }
        let Some(of) = &self.shown.1 else { return Ok(()) };
        selection(of, session.fabric(), None).map(drop)
    }
}
