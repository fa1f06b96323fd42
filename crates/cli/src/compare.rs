//! `flitway compare`: two results, point by point.

use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::layout::fitted;
use crate::output::say;
use crate::table::bare_table;
use flitway_experiment::schema;
use flitway_machine::input;
use flitway_report::shown::load;
use serde_json::Value;
use std::path::Path;

/// Problems of a result that are told.
const PROBLEMS_MAX: usize = 8;

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
    say(&fitted(&format!("A: {} ({})\nB: {} ({})", arguments.a, name(&a), arguments.b, name(&b)), 3))?;
    let differences = workload_that_differs(&a, &b);
    if !differences.is_empty() {
        say(&format!("\nworkloads that differ:\n{}", differences.join("\n")))?;
    }
    let differences = settings_that_differ(&a, &b);
    if !differences.is_empty() {
        say(&format!("\nsettings that differ:\n{}", differences.join("\n")))?;
    }
    let mut table = bare_table(&["offered", "", "A", "B", "B / A"]);
    let mut is_any_unclear = false;
    for (point, partner) in pairs(&a, &b) {
        for (path, heading) in QUANTITIES {
            let (Some(left), Some(right)) = (Estimate::of(point, path), Estimate::of(partner, path)) else {
                continue;
            };
            // Beside operations there need not be other packets.
            if left.mean == 0.0 && right.mean == 0.0 {
                continue;
            }
            let ratio = right.over(&left);
            let is_unclear = ratio.as_ref().is_some_and(Estimate::may_be_one);
            is_any_unclear |= is_unclear;
            let mark = if is_unclear { " ~" } else { "" };
            table.add_row([
                offered(point),
                heading.to_owned(),
                left.shown(heading),
                right.shown(heading),
                ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{}{mark}", ratio.shown_as_ratio())),
            ]);
        }
    }
    let legend = if is_any_unclear { "\n+- is half of the 95 % interval; ~ may be chance" } else { "" };
    say(&format!("\n{table}{legend}"))?;
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
    if remarks.is_empty() { Ok(()) } else { say(&fitted(&format!("\n{}", remarks.join("\n")), 2)) }
}

/// A value, and half of its 95 % interval where there is one.
struct Estimate {
    mean: f64,
    half: Option<f64>,
}

impl Estimate {
    /// That at `path` of `point`; the interval of a mean is called `ci95`, that of a load after the load.
    fn of(point: &Value, path: &str) -> Option<Self> {
        let number = |path: &str| point.pointer(path).and_then(Value::as_f64);
        let half = match path.strip_suffix("/mean") {
            Some(of) => number(&format!("{of}/ci95")),
            None => number(&format!("{path}_ci95")),
        };
        Some(Estimate { mean: number(path)?, half })
    }

    /// Its ratio to `other`, unless that is nothing; with an interval where both have one.
    fn over(&self, other: &Estimate) -> Option<Estimate> {
        let mean = (other.mean != 0.0).then(|| self.mean / other.mean)?;
        let half =
            self.half.zip(other.half).map(|(own, its)| (own / other.mean).hypot(mean * its / other.mean));
        Some(Estimate { mean, half })
    }

    /// Whether a ratio of one is within its interval, though it is not one.
    fn may_be_one(&self) -> bool {
        self.mean != 1.0 && self.half.is_some_and(|half| (self.mean - 1.0).abs() <= half)
    }

    /// As the table of a run has it: times to a tenth, loads to four decimals.
    fn shown(&self, heading: &str) -> String {
        let number = |it| if heading.ends_with(" ns") { format!("{it:.1}") } else { load(it, 4) };
        let half = self.half.map_or_else(String::new, |half| format!(" +-{}", number(half)));
        format!("{}{half}", number(self.mean))
    }

    fn shown_as_ratio(&self) -> String {
        let half = self.half.map_or_else(String::new, |half| format!(" +-{half:.3}"));
        format!("{:.3}{half}", self.mean)
    }
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
    let text = input::read_text(Path::new(path), input::MADE_MAX)
        .map_err(|error| refused(format!("cannot read: it {error}")))?;
    let value: Value =
        serde_json::from_str(&text).map_err(|error| refused(format!("this is no JSON: {error}")))?;
    match value.get("schema").and_then(Value::as_str) {
        Some("flitway/result/1") => match &schema::problems(&value)[..] {
            [] => Ok(value),
            problems => {
                let some = problems.iter().take(PROBLEMS_MAX).cloned().collect::<Vec<_>>().join("\n  ");
                let more = problems.len().saturating_sub(PROBLEMS_MAX);
                let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
                Err(refused(format!("this does not pass `docs/result.schema.json`:\n  {some}{more}")))
            }
        },
        other => {
            Err(refused(other.map_or_else(|| "no schema".to_owned(), |schema| format!("schema `{schema}`"))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_ratio_may_be_one_as_far_as_both_intervals_say() {
        let point = |mean: f64, half: f64| json!({"accepted_load": mean, "accepted_load_ci95": half});
        let of = |mean, half| Estimate::of(&point(mean, half), "/accepted_load").unwrap();
        let ratio = of(0.51, 0.03).over(&of(0.5, 0.04)).unwrap();
        // 1.02 +-1.02 x sqrt((3/51)^2 + (4/50)^2)
        assert_eq!(ratio.shown_as_ratio(), "1.020 +-0.101");
        assert!(ratio.may_be_one());
        let ratio = of(0.51, 0.003).over(&of(0.5, 0.004)).unwrap();
        assert!(!ratio.may_be_one(), "a difference that both intervals exclude");
        assert!(!of(0.5, 0.1).over(&of(0.5, 0.1)).unwrap().may_be_one(), "there is no difference");
        assert!(of(0.5, 0.1).over(&of(0.0, 0.1)).is_none());
        assert_eq!(of(0.0, 0.1).over(&of(0.5, 0.1)).unwrap().shown_as_ratio(), "0.000 +-0.200");
    }

    #[test]
    fn what_has_no_interval_has_none_in_the_ratio() {
        let latency = json!({"packet_latency_ns": {"mean": 20.0, "ci95": 1.0, "p99": 40.0}});
        let of = |path| Estimate::of(&latency, path).unwrap();
        assert_eq!(of("/packet_latency_ns/mean").shown("latency ns"), "20.0 +-1.0");
        assert_eq!(
            of("/packet_latency_ns/p99").over(&of("/packet_latency_ns/mean")).unwrap().shown_as_ratio(),
            "2.000"
        );
        assert!(Estimate::of(&latency, "/accepted_load").is_none());
    }
}
