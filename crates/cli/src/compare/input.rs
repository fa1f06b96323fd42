//! What is compared: the points of results and of results of experiments.

use super::estimate::Estimate;
use super::{Difference, of_graph, of_size, offered};
use crate::failure::Failure;
use flitway_experiment::schema;
use flitway_machine::input;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Problems of a result that are told.
const PROBLEMS_MAX: usize = 8;

/// The kinds of workload that have one point without a load of its own, by the object that it has in the result.
const WITHOUT_LOAD: [(&str, &str); 4] = [
    ("graph", "a task graph"),
    ("train", "a train"),
    ("barrier", "a run of barriers"),
    ("nic", "NIC operations"),
];

/// A file.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) path: String,
    /// What it is called in tables.
    pub(super) name: String,
    /// The schema that it names.
    pub(super) schema: String,
    /// The machine, or the experiment.
    pub(super) of: String,
    pub(super) entries: Vec<Entry>,
}

/// A point, or what several seeds made of one.
#[derive(Debug)]
pub(super) struct Entry {
    /// What an experiment varies, in this point.
    values: Map<String, Value>,
    /// The point; of several seeds, what of it is the same with all of them.
    pub(super) point: Value,
    /// The spread over several seeds.
    spread: Option<Value>,
    /// What was run on what.
    description: Value,
    /// How many points before it in the file look like it: graphs that run side by side.
    nth: usize,
}

/// Reads `paths`, and names each file by what tells it from the others.
pub(super) fn read_all(paths: &[String]) -> Result<Vec<Input>, Failure> {
    let stem =
        |path: &String| Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or(path).to_owned();
    let stems: Vec<String> = paths.iter().map(stem).collect();
    let is_alone = |place: usize| {
        let same = |(other, stem): (&String, &String)| *stem == stems[place] && *other != paths[place];
        !paths.iter().zip(&stems).any(same)
    };
    let named = |(place, path): (usize, &String)| {
        let name = if is_alone(place) { stems[place].clone() } else { path.clone() };
        // One file may be named twice.
        let before = paths[..place].iter().filter(|other| *other == path).count();
        let name = if before > 0 { format!("{name} ({})", before + 1) } else { name };
        read(path, name)
    };
    paths.iter().enumerate().map(named).collect()
}

fn read(path: &str, name: String) -> Result<Input, Failure> {
    let refused = |message: String| {
        let help =
            "expected a result of `flitway run --json`, schema `flitway/result/1` or `flitway/experiment/1`";
        Failure::input(format!("{path}: {message}"), Some(help.into()))
    };
    let text = input::read_text(Path::new(path), input::MADE_MAX)
        .map_err(|error| refused(format!("cannot read: it {error}")))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| refused(format!("this is no JSON: {error}")))?;
    let is_known = |schema: &str| matches!(schema, "flitway/result/1" | "flitway/experiment/1");
    let Some(schema) = value.get("schema").and_then(Value::as_str).map(str::to_owned) else {
        return Err(refused("no schema".to_owned()));
    };
    if !is_known(&schema) {
        return Err(refused(format!("schema `{schema}`")));
    }
    let problems = schema::problems(&value);
    if !problems.is_empty() {
        let some = problems.iter().take(PROBLEMS_MAX).cloned().collect::<Vec<_>>().join("\n  ");
        let more = problems.len().saturating_sub(PROBLEMS_MAX);
        let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
        let file = schema.split('/').nth(1).unwrap_or_default();
        return Err(refused(format!("this does not pass `docs/{file}.schema.json`:\n  {some}{more}")));
    }
    let named = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or("?").to_owned();
    let (of, mut entries) = if schema == "flitway/experiment/1" {
        (format!("experiment {}", named("/experiment/name")), of_experiment(&value))
    } else {
        (named("/machine/name"), of_result(&value, &Map::new()))
    };
    for place in 1..entries.len() {
        entries[place].nth =
            entries[..place].iter().filter(|before| before.looks_like(&entries[place])).count();
    }
    Ok(Input { path: path.to_owned(), name, schema, of, entries })
}

fn of_experiment(value: &Value) -> Vec<Entry> {
    let points = value["points"].as_array().map_or(&[][..], Vec::as_slice);
    let of_point = |point: &Value| {
        let values = point["values"].as_object().cloned().unwrap_or_default();
        point.get("result").map(|result| of_result(result, &values)).unwrap_or_default()
    };
    points.iter().flat_map(of_point).collect()
}

fn of_result(result: &Value, values: &Map<String, Value>) -> Vec<Entry> {
    let mut description = json!({});
    for key in ["workload", "seed", "seeds"] {
        if let Some(part) = result.get(key) {
            description[key] = part.clone();
        }
    }
    let machine = result.pointer("/machine/description").and_then(Value::as_object);
    for (key, part) in machine.into_iter().flatten() {
        // What a machine is called and who says so makes no difference.
        if !["name", "description", "origin"].contains(&key.as_str()) {
            description[key] = part.clone();
        }
    }
    let points = result["points"].as_array().map_or(&[][..], Vec::as_slice);
    let entry = |point: &Value, spread: Option<Value>| Entry {
        values: values.clone(),
        point: point.clone(),
        spread,
        description: description.clone(),
        nth: 0,
    };
    match result.get("spread").and_then(Value::as_array) {
        Some(spread) => {
            let place = spread.iter().zip(points);
            place.map(|(spread, point)| entry(&without_verdict(point), Some(spread.clone()))).collect()
        }
        None => points.iter().map(|point| entry(point, None)).collect(),
    }
}

/// What is the same with all seeds.
fn without_verdict(point: &Value) -> Value {
    let mut point = point.clone();
    if let Some(object) = point.as_object_mut() {
        for key in ["verdict", "unsettled", "seed"] {
            object.shift_remove(key);
        }
    }
    point
}

impl Input {
    /// What is not the same in `other`, over all points that both have.
    pub(super) fn differences(&self, other: &Input) -> Vec<Difference> {
        let mut all: Vec<Difference> = Vec::new();
        for (entry, partner) in self.entries.iter().filter_map(|entry| Some((entry, entry.partner(other)?))) {
            let mut found = Vec::new();
            walk("", &entry.description, &partner.description, &mut found);
            all.extend(found.into_iter().filter(|difference| !all.contains(difference)).collect::<Vec<_>>());
        }
        all
    }
}

impl Entry {
    /// The load of synthetic traffic and that of multicast operations, as far as there are any.
    fn loads(&self) -> [Option<&Value>; 2] {
        let is_some = |load: &&Value| load.as_f64() != Some(0.0);
        let unicast = self.point.get("offered_load").filter(is_some);
        [unicast, self.point.pointer("/multicast/offered_load")]
    }

    /// The same point of `other`.
    pub(super) fn partner<'a>(&self, other: &'a Input) -> Option<&'a Entry> {
        other.entries.iter().find(|it| it.looks_like(self) && it.nth == self.nth)
    }

    /// Whether nothing but its place tells it from `other`.
    fn looks_like(&self, other: &Entry) -> bool {
        let kind = |it: &Entry| ["graph", "train", "multicast"].map(|kind| it.point.get(kind).is_some());
        self.loads() == other.loads()
            && self.size() == other.size()
            && kind(self) == kind(other)
            && self.values == other.values
    }

    /// The size of NIC operations.
    fn size(&self) -> Option<&Value> {
        let spread = self.spread.as_ref().and_then(|spread| spread.get("size_bytes"));
        self.point.pointer("/nic/size_bytes").or(spread)
    }

    /// The task graph, where there are several in a run.
    fn graph(&self) -> Option<&str> {
        self.point.pointer("/graph/name")?.as_str()
    }

    /// The number at `path`.
    pub(super) fn estimate(&self, path: &str) -> Option<Estimate> {
        let Some(spread) = &self.spread else { return Estimate::of(&self.point, path) };
        let of = spread["quantities"].get(path.get(1..)?.replace('/', "."))?;
        Some(Estimate { mean: of["mean"].as_f64()?, half: of["ci95"].as_f64() })
    }

    /// As a sentence has it.
    pub(super) fn named(&self) -> String {
        let varied = self.varied();
        if !varied.is_empty() {
            return varied;
        }
        let loads = match self.loads() {
            [None, None] => None,
            [None, Some(multicast)] => Some(format!("multicast load {multicast}")),
            [Some(unicast), Some(multicast)] => {
                Some(format!("multicast load {multicast} beside load {unicast}"))
            }
            [Some(unicast), None] => Some(format!("load {unicast}")),
        };
        let kind = WITHOUT_LOAD.iter().find(|(key, _)| self.point.get(key).is_some());
        match (kind, loads) {
            (Some(("graph" | "train", name)), Some(loads)) => format!("{name} beside {loads}"),
            (_, Some(loads)) => loads,
            (Some(("nic", name)), None) => format!("{name} of {}", of_size(self.size(), String::new())),
            (kind, None) => kind.map_or("a point without load", |(_, name)| name).to_owned(),
        }
    }

    /// What an experiment varies, in this point.
    fn varied(&self) -> String {
        let shown = |(path, value): (&String, &Value)| {
            format!("{path}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        self.values.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    /// As the first column of a table has it.
    pub(super) fn offered(&self) -> String {
        let varied = self.varied();
        let shown = if varied.is_empty() { of_size(self.size(), offered(self.loads())) } else { varied };
        of_graph(self.graph(), shown)
    }

    /// What tells it from others, as JSON.
    pub(super) fn identity(&self) -> Value {
        let mut object = json!({});
        if !self.values.is_empty() {
            object["values"] = json!(self.values);
        }
        for (key, load) in ["offered_load", "multicast_offered_load"].iter().zip(self.loads()) {
            if let Some(load) = load {
                object[*key] = load.clone();
            }
        }
        if let Some(graph) = self.graph() {
            object["graph"] = json!(graph);
        }
        if let Some(size) = self.size() {
            object["size_bytes"] = size.clone();
        }
        object
    }
}

fn walk(path: &str, a: &Value, b: &Value, found: &mut Vec<Difference>) {
    if a == b {
        return;
    }
    let (Value::Object(left), Value::Object(right)) = (a, b) else {
        found.push(Difference { path: path.to_owned(), from: a.clone(), to: b.clone() });
        return;
    };
    let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        let missing = Value::Null;
        walk(&path, left.get(key).unwrap_or(&missing), right.get(key).unwrap_or(&missing), found);
    }
}
