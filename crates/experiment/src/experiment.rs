//! An experiment, checked: its points, and what is made of their results.

use crate::VERSION;
use crate::finding::Finding;
use crate::plot::{Plot, PlotData};
use crate::point::Point;
use crate::schema;
use crate::select::Space;
use crate::store::Store;
use crate::value::number;
use crate::vary::Axis;
use flitway_machine::Diagnostics;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a command changes in an experiment, for a quick look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Settings of every machine: `path=value`.
    pub set: Vec<String>,
    /// The seed of every point.
    pub seed: Option<u64>,
    /// `precision` of every workload.
    pub precision: Option<String>,
    /// `duration` of every workload.
    pub duration: Option<String>,
}

impl Overrides {
    /// The options of workloads among them.
    pub const OPTIONS: [&str; 2] = ["precision", "duration"];
}

/// An experiment whose every point is known to run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name, which files can be named after.
    pub name: String,
    /// What it is about; may be empty.
    pub title: String,
    /// The whole file.
    pub text: String,
    /// What was changed for this run of it.
    pub overrides: Overrides,
    /// Memory that the largest of its machines needs, about, in bytes.
    pub memory_bytes: u64,
    /// What the user should know; never an error.
    pub warnings: Diagnostics,
    /// The file that it was read from; `None` if that was none.
    pub(crate) read_from: Option<PathBuf>,
    pub(crate) space: Space,
    pub(crate) points: Vec<Point>,
    pub(crate) plots: Vec<Plot>,
    pub(crate) findings: Vec<Finding>,
}

/// What came out of an experiment.
#[derive(Clone, Debug)]
pub struct Report {
    /// The data of each plot.
    pub plots: Vec<PlotData>,
    /// Each finding with its numbers; `None` if they are not all there.
    pub findings: Vec<Option<String>>,
    results: Vec<Option<Value>>,
}

impl Experiment {
    /// Its points, in the order of the file: the first `[[vary]]` varies slowest.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// How many of its points so many `threads` run side by side, unless some are kept.
    #[must_use]
    pub fn beside(&self, threads: u32) -> u32 {
        threads.min(self.points.len() as u32)
    }

    /// Every file that it was read from: its own, those of its machines and workloads. Each once.
    #[must_use]
    pub fn files(&self) -> BTreeSet<PathBuf> {
        let of_points = self.points.iter().flat_map(|point| {
            let of_workload = point.options.files().into_iter().map(|(_, path)| path);
            point.machine.files.iter().cloned().chain(of_workload)
        });
        self.read_from.iter().cloned().chain(of_points).collect()
    }

    /// The files that it writes in the folder of `store`: its points, and data and picture of each plot.
    pub fn written(&self, store: &Store) -> Vec<PathBuf> {
        let points = self.points.iter().map(|point| store.path(point.key()));
        let plots = self.plots.iter().flat_map(|plot| {
            ["csv", "svg"].map(|ending| store.folder().join(format!("{}.{ending}", plot.name)))
        });
        points.chain(plots).collect()
    }

    /// What is varied.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.space.axes
    }

    /// Its plots.
    #[must_use]
    pub fn plots(&self) -> &[Plot] {
        &self.plots
    }

    /// The sentences of its findings, not yet computed.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        self.findings.iter().map(|finding| finding.template.as_str())
    }

    /// The same with what `report` knows of them: a question mark stands for each value that is not known.
    pub fn sentences_so_far(&self, report: &Report) -> impl Iterator<Item = String> {
        self.findings.iter().map(|finding| finding.state_partly(&self.space, &report.results))
    }

    /// The values of the point `index`: name and value as written.
    pub fn values(&self, index: usize) -> impl Iterator<Item = (&str, String)> {
        let place = &self.space.points[index];
        self.space.axes.iter().zip(place).flat_map(|(axis, row)| {
            axis.names().iter().enumerate().map(|(column, name)| (name.as_str(), axis.label(*row, column)))
        })
    }

    /// Makes plots and findings of `results`, one for each point, each a `flitway/result/1`; `None` where a point has not
    /// been run.
    ///
    /// # Panics
    /// If there are not as many results as points.
    #[must_use]
    pub fn gather(&self, results: Vec<Option<Value>>) -> Report {
        assert_eq!(results.len(), self.points.len(), "a result for each point");
        let plots = self.plots.iter().map(|plot| plot.data(&self.space, &results)).collect();
        let findings = self.findings.iter().map(|finding| finding.state(&self.space, &results)).collect();
        Report { plots, findings, results }
    }

    /// The object `flitway/experiment/1`, which `docs/experiments.md` describes. `command` is what made it.
    #[must_use]
    pub fn to_json(&self, report: &Report, command: &[String]) -> Value {
        let points: Vec<Value> = report
            .results
            .iter()
            .enumerate()
            .map(|(index, result)| {
                let values: Map<String, Value> =
                    self.values(index).map(|(name, value)| (name.to_owned(), plain(&value))).collect();
                let mut point = json!({ "values": values, "key": self.points[index].key() });
                if let Some(result) = result {
                    point["result"] = result.clone();
                }
                point
            })
            .collect();
        let findings: Vec<Value> = self
            .sentences()
            .zip(&report.findings)
            .map(|(sentence, text)| {
                let mut finding = json!({ "sentence": sentence });
                if let Some(text) = text {
                    finding["text"] = json!(text);
                }
                finding
            })
            .collect();
        schema::written(json!({
            "schema": "flitway/experiment/1",
            "flitway": VERSION,
            "command": command,
            "experiment": { "name": self.name, "title": self.title, "text": self.text },
            "points": points,
            "plots": report.plots.iter().map(PlotData::to_json).collect::<Vec<_>>(),
            "findings": findings,
        }))
    }
}

impl Report {
    /// The result of each point.
    #[must_use]
    pub fn results(&self) -> &[Option<Value>] {
        &self.results
    }
}

/// A value as written: a bare number is one, everything else is text.
fn plain(label: &str) -> Value {
    let is_bare = label.parse::<f64>().is_ok_and(f64::is_finite);
    number(label).filter(|_| is_bare).map_or_else(
        || json!(label),
        |_| {
            label
                .parse::<u64>()
                .map_or_else(|_| json!(label.parse::<f64>().unwrap_or_default()), |whole| json!(whole))
        },
    )
}
