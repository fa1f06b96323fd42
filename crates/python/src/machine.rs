//! Machines: the options of a machine file, from Python, checked.

use crate::attend::attended;
use crate::errors::{Failure, fields, tuples};
use flitway_experiment::Examination;
use flitway_experiment::workload::Tell;
use flitway_machine::{Diagnostics, Machine, Options};
use flitway_report::memory;
use flitway_report::session::Session;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A machine as `flitway.Machine` holds it: what a machine file says, and what was set since.
#[derive(Debug, FromPyObject)]
pub(crate) struct Source {
    /// A built-in name or a path; with a text, what it is called.
    pub(crate) name: String,
    text: Option<String>,
    folder: PathBuf,
    /// `path=value`, as after `--set`.
    pub(crate) sets: Vec<String>,
}

impl Source {
    pub(crate) fn check(&self) -> Result<Machine, Diagnostics> {
        let mut options = match &self.text {
            Some(text) => Options::from_text(&self.name, text.clone(), &self.folder),
            None => Options::read(&self.name)?,
        };
        self.sets.iter().for_each(|set| options.set(set));
        options.check()
    }
}

/// Examines a machine: a `flitway/check/1`, and the warnings. Loads of channels are those of the pattern `traffic`, and
/// latencies those of packets of the size `packet`, of which a node may have so many `outstanding`.
#[pyfunction]
pub(crate) fn check_machine<'py>(
    py: Python<'py>,
    source: Source,
    traffic: Option<String>,
    packet: Option<String>,
    outstanding: Option<String>,
) -> PyResult<(String, Vec<Bound<'py, PyTuple>>)> {
    let examine = |_: &AtomicBool, _: &mut Tell<'_>| {
        let machine = source.check().map_err(Failure::Machine)?;
        memory::fits_machine(&machine, false).map_err(Failure::TooLarge)?;
        let warnings = fields(&machine.warnings);
        let session = Session::new(machine, 1, 1);
        let examination =
            Examination::new(&session, packet.as_deref(), traffic.as_deref(), outstanding.as_deref())
                .map_err(Failure::Workload)?;
        Ok((examination.to_json(&session).to_string(), warnings))
    };
    let nobody = py.None().into_bound(py);
    let (text, warnings) = attended(py, &nobody, examine)?.map_err(|failure: Failure| failure.raise(py))?;
    Ok((text, tuples(py, warnings)?))
}

/// Checks settings, `path=value`, by themselves.
#[pyfunction]
pub(crate) fn check_settings(py: Python<'_>, sets: Vec<String>) -> PyResult<()> {
    Options::check_overrides(&sets).map_err(|problems| Failure::Machine(problems).raise(py))
}

/// Name and text of each built-in machine.
#[pyfunction]
pub(crate) fn builtin_machines() -> Vec<(&'static str, &'static str)> {
    flitway_machine::builtin().to_vec()
}

/// The schema of a `flitway/result/1`.
#[pyfunction]
pub(crate) fn result_schema() -> &'static str {
    flitway_experiment::schema::RESULT
}

/// Name and text of each built-in experiment.
#[pyfunction]
pub(crate) fn builtin_experiments() -> Vec<(&'static str, &'static str)> {
    flitway_experiment::builtin().to_vec()
}
