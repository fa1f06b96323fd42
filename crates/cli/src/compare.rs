//! `flitway compare`: two results, point by point.

use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::output::say;
use crate::table::bare_table;
use flitway_report::shown::load;
use serde_json::Value;

/// Quantities that are compared: path in a point, and heading.
const QUANTITIES: [(&str, &str); 9] = [
    ("/multicast/accepted_load", "copies accepted"),
    ("/multicast/last_copy_latency_ns/mean", "last copy ns"),
    ("/barrier/latency_ns/mean", "barrier ns"),
    ("/accepted_load", "accepted"),
    ("/packet_latency_ns/mean", "latency ns"),
    ("/packet_latency_ns/p99", "p99 ns"),
    ("/network_latency_ns/mean", "network ns"),
    ("/graph/completion_ns", "completion ns"),
    ("/train/time_ns", "train ns"),
];

/// Compares the results that `arguments` name.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let (a, b) = (read(&arguments.a)?, read(&arguments.b)?);
    if pairs(&a, &b).next().is_none() {
        let help = "expected two results with a load in common, or two of barriers, task graphs or trains";
        return Err(Failure::input(nothing_in_common(&a, &b), Some(help.to_owned())));
    }
    let name =
        |result: &Value| result.pointer("/machine/name").and_then(Value::as_str).unwrap_or("?").to_owned();
    say(&format!("A: {} ({})\nB: {} ({})", arguments.a, name(&a), arguments.b, name(&b)))?;
    let differences = workload_that_differs(&a, &b);
    if !differences.is_empty() {
        say(&format!("\nworkloads that differ:\n{}", differences.join("\n")))?;
    }
    let differences = settings_that_differ(&a, &b);
    if !differences.is_empty() {
        say(&format!("\nsettings that differ:\n{}", differences.join("\n")))?;
    }
    let mut table = bare_table(&["offered", "", "A", "B", "B / A"]);
    for (point, partner) in pairs(&a, &b) {
        for (path, heading) in QUANTITIES {
            let value = |point: &Value| point.pointer(path).and_then(Value::as_f64);
            let (Some(left), Some(right)) = (value(point), value(partner)) else { continue };
            // Beside operations there need not be other packets.
            if left == 0.0 && right == 0.0 {
                continue;
            }
            table.add_row([
                offered(point),
                heading.to_owned(),
                load(left, 4),
                load(right, 4),
                if left == 0.0 { "-".to_owned() } else { format!("{:.3}", right / left) },
            ]);
        }
    }
    say(&format!("\n{table}"))?;
    let mut remarks = Vec::new();
    for (name, result, other) in [("A", &a, &b), ("B", &b, &a)] {
        remarks.extend(
            points(result)
                .iter()
                .filter(|point| partner(point, other).is_none())
                .map(|point| format!("{} is in {name} only", named(point))),
        );
        remarks.extend(points(result).iter().filter_map(|point| {
            let verdict = point.get("verdict")?.as_str().filter(|verdict| *verdict != "steady")?;
            let why = match point.get("unsettled").and_then(Value::as_str) {
                Some("imprecise") if verdict == "unsettled" => "its interval is wider than asked for",
                _ => "its latencies depend on how long it ran",
            };
            Some(format!("{} of {name} is {verdict}: {why}", named(point)))
        }));
    }
    if remarks.is_empty() { Ok(()) } else { say(&format!("\n{}", remarks.join("\n"))) }
}

fn nothing_in_common(a: &Value, b: &Value) -> String {
    let what = |result: &Value| {
        let names: Vec<String> = points(result).iter().map(named).collect();
        let loads: Option<Vec<&str>> = names.iter().map(|name| name.strip_prefix("load ")).collect();
        match loads {
            _ if names.is_empty() => "no points".to_owned(),
            Some(loads) => format!("the loads {}", loads.join(", ")),
            None => names.join(", "),
        }
    };
    format!("nothing to compare: A has {}, B has {}", what(a), what(b))
}

/// The kinds of workload that have one point without a load of its own, by the object that it has in the result.
const WITHOUT_LOAD: [(&str, &str); 3] =
    [("graph", "a task graph"), ("train", "a train"), ("barrier", "a run of barriers")];

/// The load of synthetic traffic and that of multicast operations, as far as there are any.
fn loads(point: &Value) -> [Option<&Value>; 2] {
    let is_some = |load: &&Value| load.as_f64() != Some(0.0);
    [point.get("offered_load").filter(is_some), point.pointer("/multicast/offered_load")]
}

/// A point as a sentence has it.
fn named(point: &Value) -> String {
    match loads(point) {
        [None, Some(multicast)] => format!("multicast load {multicast}"),
        [Some(unicast), Some(multicast)] => format!("multicast load {multicast} beside load {unicast}"),
        [Some(unicast), None] => format!("load {unicast}"),
        [None, None] => {
            let kind = WITHOUT_LOAD.iter().find(|(key, _)| point.get(key).is_some());
            kind.map_or("a point without load", |(_, name)| name).to_owned()
        }
    }
}

/// The load of a point as the table has it.
fn offered(point: &Value) -> String {
    let [unicast, multicast] = loads(point).map(|load_of| Some(load(load_of?.as_f64()?, 3)));
    match (multicast, unicast) {
        (Some(multicast), Some(unicast)) => format!("{multicast} beside {unicast}"),
        (one, other) => one.or(other).unwrap_or_default(),
    }
}

fn points(result: &Value) -> &[Value] {
    result["points"].as_array().map_or(&[][..], Vec::as_slice)
}

fn partner<'a>(point: &Value, other: &'a Value) -> Option<&'a Value> {
    let kind = |point: &Value| ["graph", "train", "multicast"].map(|kind| point.get(kind).is_some());
    points(other).iter().find(|partner| loads(partner) == loads(point) && kind(partner) == kind(point))
}

/// What was run, where it is not the same.
fn workload_that_differs(a: &Value, b: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for key in ["workload", "seed"] {
        walk(key, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), &mut lines);
    }
    lines
}

/// Points of the same loads, or two that have none.
fn pairs<'a>(a: &'a Value, b: &'a Value) -> impl Iterator<Item = (&'a Value, &'a Value)> {
    points(a).iter().filter_map(move |point| Some((point, partner(point, b)?)))
}

/// Leaves of the machine descriptions that are not the same.
fn settings_that_differ(a: &Value, b: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let description = |result: &Value| result.pointer("/machine/description").cloned().unwrap_or(Value::Null);
    walk("", &description(a), &description(b), &mut lines);
    let told = ["  name:", "  description:", "  origin"];
    lines.retain(|line| !told.iter().any(|start| line.starts_with(start)));
    lines
}

fn walk(path: &str, a: &Value, b: &Value, lines: &mut Vec<String>) {
    if a == b {
        return;
    }
    match (a, b) {
        (Value::Object(left), Value::Object(right)) => {
            let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let missing = Value::Null;
                walk(&path, left.get(key).unwrap_or(&missing), right.get(key).unwrap_or(&missing), lines);
            }
        }
        _ => {
            let said = |value: &Value| if value.is_null() { "absent".to_owned() } else { value.to_string() };
            lines.push(format!("  {path}: {} -> {}", said(a), said(b)));
        }
    }
}

fn read(path: &str) -> Result<Value, Failure> {
    let refused = |message: String| {
        let help = "expected a result of `flitway run --json`, schema `flitway/result/1`";
        Failure::input(format!("{path}: {message}"), Some(help.into()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| refused(format!("cannot read: {error}")))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| refused(format!("this is no JSON: {error}")))?;
    match value.get("schema").and_then(Value::as_str) {
        Some("flitway/result/1") => Ok(value),
        other => {
            Err(refused(other.map_or_else(|| "no schema".to_owned(), |schema| format!("schema `{schema}`"))))
        }
    }
}
