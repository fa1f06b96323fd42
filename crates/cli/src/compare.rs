//! `flitway compare`: two results, point by point.

use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::output::say;
use crate::table::bare_table;
use flitway_report::shown::load;
use serde_json::Value;

/// Quantities that are compared: path in a point, and heading.
const QUANTITIES: [(&str, &str); 5] = [
    ("/accepted_load", "accepted"),
    ("/packet_latency_ns/mean", "latency ns"),
    ("/packet_latency_ns/p99", "p99 ns"),
    ("/network_latency_ns/mean", "network ns"),
    ("/graph/completion_ns", "completion ns"),
];

/// Compares the results that `arguments` name.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let (a, b) = (read(&arguments.a)?, read(&arguments.b)?);
    if pairs(&a, &b).next().is_none() {
        let help = "expected two results with a load in common, or two of task graphs";
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
            let offered = point.get("offered_load").and_then(Value::as_f64);
            table.add_row([
                offered.map_or_else(String::new, |offered| load(offered, 3)),
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
                .map(|point| format!("load {} is in {name} only", point["offered_load"])),
        );
        remarks.extend(points(result).iter().filter_map(|point| {
            let verdict = point.get("verdict")?.as_str().filter(|verdict| *verdict != "steady")?;
            Some(format!(
                "load {} of {name} is {verdict}: its latencies depend on how long it ran",
                point["offered_load"]
            ))
        }));
    }
    if remarks.is_empty() { Ok(()) } else { say(&format!("\n{}", remarks.join("\n"))) }
}

fn nothing_in_common(a: &Value, b: &Value) -> String {
    let what = |result: &Value| {
        let loads: Vec<String> =
            points(result).iter().filter_map(|point| Some(point.get("offered_load")?.to_string())).collect();
        if loads.is_empty() { "a task graph".to_owned() } else { format!("the loads {}", loads.join(", ")) }
    };
    format!("nothing to compare: A has {}, B has {}", what(a), what(b))
}

fn points(result: &Value) -> &[Value] {
    result["points"].as_array().map_or(&[][..], Vec::as_slice)
}

fn partner<'a>(point: &Value, other: &'a Value) -> Option<&'a Value> {
    points(other).iter().find(|partner| partner.get("offered_load") == point.get("offered_load"))
}

/// What was run, where it is not the same.
fn workload_that_differs(a: &Value, b: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for key in ["workload", "seed"] {
        walk(key, a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null), &mut lines);
    }
    lines
}

/// Points of the same offered load, or the two runs of task graphs.
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
