//! The checked machine as JSON, for results.
//!
//! The object has the tables and keys of the machine file, with every default filled in; quantities are text with a
//! unit, as in the file, so that the object says everything needed to repeat a run. Beside them stand keys that a
//! machine file does not have:
//!
//! * `origin`: for each setting that the file does not give, who does: `default` or `--set`;
//! * `graph`, for topology `graph`: `switches` and `nodes` (their names by number) and `links`, one text each in the
//!   form of a graph file;
//! * `tables`, for routing `tables`: `sha256` of the file of forwarding tables.

use flitway_wiring::topology::End;
use serde_json::{Map, Value, json};

use crate::diagnostic::{Diagnostic, Diagnostics, Location, Severity};
use crate::entry::Origin;
use crate::graph::GraphFile;
use crate::machine::Machine;
use crate::render::{Colour, render};
use crate::units::{self, Dimension};

impl Machine {
    /// The full checked description.
    ///
    /// ```
    /// let machine = flitway_machine::Machine::load("hpp-switch", &[]).unwrap();
    /// let json = machine.to_json();
    /// assert_eq!(json["clock"], "312.5 MHz");
    /// assert_eq!(json["switch"]["ports"], 16);
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut origins = Map::new();
        for effective in &self.effective {
            insert(&mut object, &effective.path, effective.value.to_json());
            if effective.origin != Origin::File {
                origins.insert(effective.path.clone(), effective.origin.name().into());
            }
        }
        object.insert("origin".to_owned(), origins.into());
        if let Some(graph) = &self.graph {
            object.insert("graph".to_owned(), graph_object(graph));
        }
        if let Some(file) = &self.tables {
            object.insert("tables".to_owned(), json!({ "sha256": file.digest }));
        }
        object.into()
    }
}

/// Puts `value` at `path`, making the tables on the way.
impl Diagnostics {
    /// Each problem as an object of `diagnostics` in `docs/check.schema.json`.
    ///
    /// ```
    /// let set = ["switch.vcs=\"three\"".to_owned()];
    /// let problems = flitway_machine::Machine::load("hpp-switch", &set).unwrap_err().to_json();
    /// assert_eq!((&problems[0]["code"], &problems[0]["source"]), (&"FW-M019".into(), &"--set".into()));
    /// assert_eq!((&problems[0]["line"], &problems[0]["column"]), (&1.into(), &12.into()));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> Vec<Value> {
        self.iter().map(diagnostic).collect()
    }
}

fn diagnostic(problem: &Diagnostic) -> Value {
    let mut object = json!({
        "code": problem.code.id(),
        "severity": match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": problem.message,
        "rendered": render(problem, Colour::Plain),
    });
    for (key, text) in [("expected", &problem.expected), ("help", &problem.help)] {
        if let Some(text) = text {
            object[key] = json!(text);
        }
    }
    if let Some(location) = &problem.location {
        place(&mut object, location);
    }
    if !problem.related.is_empty() {
        let related = problem.related.iter().map(|related| {
            let mut object = json!({ "message": related.label });
            place(&mut object, &related.location);
            object
        });
        object["related"] = related.collect();
    }
    object
}

/// Adds where `location` is: the source and, unless all of it is meant, lines and columns from 1, the last ones not included.
fn place(object: &mut Value, location: &Location) {
    object["source"] = json!(location.source.name);
    if location.span == (0..0) {
        return;
    }
    let text = &location.source.text;
    let at = |byte: usize| {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        [1 + before.matches('\n').count(), 1 + line.chars().count()]
    };
    let keys = [["line", "column"], ["end_line", "end_column"]];
    for (keys, byte) in keys.iter().zip([location.span.start, location.span.end]) {
        for (key, number) in keys.iter().zip(at(byte)) {
            object[*key] = json!(number);
        }
    }
}

fn insert(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            object.insert(path.to_owned(), value);
        }
        Some((table, rest)) => {
            let inner = object.entry(table).or_insert_with(|| Map::new().into());
            if let Some(inner) = inner.as_object_mut() {
                insert(inner, rest, value);
            }
        }
    }
}

fn graph_object(file: &GraphFile) -> Value {
    let end = |end: End| match end {
        End::Node(node) => file.names.node(node),
        End::Switch(switch, port) => format!("{}:{port}", file.names.switch(switch)),
    };
    let links: Vec<String> = file
        .graph
        .links
        .iter()
        .zip(&file.links)
        .map(|(link, placed)| {
            let ends = format!("{} - {}", end(link.ends[0]), end(link.ends[1]));
            let length = link.length_mm.map(|length| units::format(length, Dimension::Length));
            let [there, back] =
                placed.rates.map(|bits| bits.map(|bits| units::format(bits, Dimension::BitRate)));
            let back = back.filter(|back| there.as_ref() != Some(back)).map(|back| format!("back {back}"));
            let class = placed.class.as_ref().map(|class| format!("class {class}"));
            [Some(ends), length, there, back, class].into_iter().flatten().collect::<Vec<_>>().join(" ")
        })
        .collect();
    let mut object = serde_json::json!({
        "switches": file.names.switches(),
        "nodes": file.names.nodes(),
        "links": links,
    });
    if !file.spots.is_empty() {
        object["at"] = serde_json::json!(file.spots);
    }
    object
}
