//! Experiments and the folders of their points. Which process runs a point is decided in Python.

use crate::attend::guarded;
use crate::errors::{self, Exception, fields, tuples};
use flitway_experiment::Overrides;
use flitway_report::memory;
use flitway_report::page::experiment::pictures;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde_json::Value;
use std::path::PathBuf;

/// A checked experiment.
#[pyclass(frozen, module = "flitway._flitway")]
#[derive(Debug)]
pub(crate) struct Experiment(flitway_experiment::Experiment);

/// Name and value, as written, of all that is varied.
type Values = Vec<(String, String)>;

#[pymethods]
impl Experiment {
    #[new]
    fn new(
        py: Python<'_>,
        name_or_path: &str,
        set: Vec<String>,
        seed: Option<u64>,
        precision: Option<String>,
        duration: Option<String>,
    ) -> PyResult<Self> {
        let overrides = Overrides { set, seed, precision, duration };
        guarded(py, || {
            let loaded = py.detach(|| flitway_experiment::Experiment::load(name_or_path, &overrides));
            loaded.map(Experiment).map_err(|problems| Exception::Experiment.because(py, &problems))
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// The warnings, as the fields of `flitway.Diagnostic`.
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        tuples(py, fields(&self.0.warnings))
    }

    /// Refuses what is larger than the memory that is left, with `workers` points side by side.
    fn fits(&self, py: Python<'_>, workers: u32) -> PyResult<()> {
        let needed = self.0.memory_bytes.saturating_mul(workers.into());
        memory::fits(needed).map_err(|message| Exception::TooLarge.says(py, message))
    }

    fn __len__(&self) -> usize {
        self.0.points().len()
    }

    /// Key, description and values of the point `index`.
    fn point(&self, index: usize) -> PyResult<(String, String, Values)> {
        let point =
            self.0.points().get(index).ok_or_else(|| PyIndexError::new_err("there is no such point"))?;
        let values = self.0.values(index).map(|(name, value)| (name.to_owned(), value)).collect();
        Ok((point.key().to_owned(), point.description().to_string(), values))
    }

    /// What came out: a `flitway/experiment/1`, and name and text of the data and of a picture of each plot.
    fn gather(
        &self,
        py: Python<'_>,
        results: Vec<Option<String>>,
        command: Vec<String>,
    ) -> PyResult<(String, Vec<(String, String)>)> {
        guarded(py, || {
            if results.len() != self.0.points().len() {
                return Err(Exception::Experiment.says(py, "there must be a result for each point"));
            }
            let results: Vec<Option<Value>> = results
                .iter()
                .map(|text| text.as_deref().map(|text| json(py, text)).transpose())
                .collect::<PyResult<_>>()?;
            let report = self.0.gather(results);
            let data = report.plots.iter().map(|data| (format!("{}.csv", data.plot.name), data.to_csv()));
            let object = self.0.to_json(&report, &command);
            let pictures = pictures(&object).map(|(name, picture)| (format!("{name}.svg"), picture));
            Ok((object.to_string(), data.chain(pictures).collect()))
        })
    }
}

/// The folder of an experiment.
#[pyclass(frozen, module = "flitway._flitway")]
#[derive(Debug)]
pub(crate) struct Store(flitway_experiment::Store);

#[pymethods]
impl Store {
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        flitway_experiment::Store::open(&folder).map(Store).map_err(|error| errors::store(py, &error))
    }

    /// The result kept under `key`; `None` if there is none.
    fn load(&self, py: Python<'_>, key: &str) -> PyResult<Option<String>> {
        let result = self.0.load(key).map_err(|error| errors::store(py, &error))?;
        Ok(result.map(|result| result.to_string()))
    }

    /// Keeps `result` under `key`.
    fn save(&self, py: Python<'_>, key: &str, result: &str) -> PyResult<()> {
        self.0.save(key, &json(py, result)?).map_err(|error| errors::store(py, &error))
    }

    /// Writes a file of the folder; its path.
    fn write(&self, py: Python<'_>, name: &str, text: &str) -> PyResult<PathBuf> {
        self.0.write(name, text).map_err(|error| errors::store(py, &error))
    }
}

fn json(py: Python<'_>, text: &str) -> PyResult<Value> {
    serde_json::from_str(text)
        .map_err(|error| Exception::Experiment.says(py, format!("this is no result: {error}")))
}
