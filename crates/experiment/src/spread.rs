//! What comes of a run with one seed after the other: how far each number is from seed to seed. `docs/results.md` describes it.

use flitway_report::stats::independent;
use serde_json::{Map, Value, json};

/// The numbers that are compared, from seed to seed and from result to result: path in a point, and heading.
pub const QUANTITIES: [(&str, &str); 12] = [
    ("/multicast/accepted_load", "copies accepted"),
    ("/multicast/last_copy_latency_ns/mean", "last copy ns"),
    ("/barrier/latency_ns/mean", "barrier ns"),
    ("/accepted_load", "accepted"),
    ("/packet_latency_ns/mean", "latency ns"),
    ("/packet_latency_ns/p99", "p99 ns"),
    ("/network_latency_ns/mean", "network ns"),
    ("/graph/completion_ns", "completion ns"),
    ("/train/time_ns", "train ns"),
    ("/nic/latency_ns/mean", "latency ns"),
    ("/nic/bandwidth_mb_per_s", "MB/s"),
    ("/nic/rate_per_s", "operations/s"),
];

/// The points of runs that differ in their seed alone, each under its seed, as one result: the `points` have their `seed`, and
/// `spread` has an entry for the points of one load.
///
/// ```
/// use serde_json::json;
/// let run = |load, accepted| vec![json!({ "offered_load": load, "accepted_load": accepted, "verdict": "steady" })];
/// let (points, spread) = flitway_experiment::spread::spread(&[(1, run(0.5, 0.4)), (2, run(0.5, 0.6))]);
/// assert_eq!((points.len(), &points[1]["seed"]), (2, &json!(2)));
/// let accepted = &spread[0]["quantities"]["accepted_load"];
/// assert_eq!((&accepted["min"], &accepted["mean"], &accepted["max"]), (&json!(0.4), &json!(0.5), &json!(0.6)));
/// ```
#[must_use]
pub fn spread(runs: &[(u64, Vec<Value>)]) -> (Vec<Value>, Vec<Value>) {
    let places = runs.iter().map(|(_, points)| points.len()).max().unwrap_or(0);
    let spread = (0..places).map(|place| {
        let points: Vec<&Value> = runs.iter().filter_map(|(_, points)| points.get(place)).collect();
        of_a_load(&points)
    });
    let spread = spread.collect();
    let points = runs.iter().flat_map(|(seed, points)| points.iter().map(move |point| (seed, point)));
    let with_seed = |(seed, point): (&u64, &Value)| {
        let mut object = Map::from_iter([("seed".to_owned(), json!(seed))]);
        object.extend(point.as_object().cloned().unwrap_or_default());
        Value::Object(object)
    };
    (points.map(with_seed).collect(), spread)
}

/// The spread over `points` that differ in their seed alone.
fn of_a_load(points: &[&Value]) -> Value {
    let mut object = json!({ "seeds": points.len() });
    for (key, path) in [
        ("offered_load", "/offered_load"),
        ("multicast_offered_load", "/multicast/offered_load"),
        ("graph", "/graph/name"),
        ("size_bytes", "/nic/size_bytes"),
    ] {
        if let Some(load) = points.first().and_then(|point| point.pointer(path)) {
            object[key] = load.clone();
        }
    }
    let mut verdicts: Map<String, Value> = Map::new();
    for verdict in points.iter().filter_map(|point| point.get("verdict")?.as_str()) {
        let count = verdicts.get(verdict).and_then(Value::as_u64).unwrap_or(0);
        verdicts.insert(verdict.to_owned(), json!(count + 1));
    }
    if !verdicts.is_empty() {
        object["verdicts"] = verdicts.into();
    }
    let quantities = QUANTITIES.iter().filter_map(|(path, _)| {
        let values: Vec<f64> = points.iter().filter_map(|point| point.pointer(path)?.as_f64()).collect();
        // Beside operations there need not be other packets.
        let is_any = values.iter().any(|value| *value != 0.0);
        is_any.then(|| (path[1..].replace('/', "."), of(&values)))
    });
    object["quantities"] = Value::Object(quantities.collect());
    object
}

/// The spread of `values`, of which there are some.
fn of(values: &[f64]) -> Value {
    let estimate = independent(values);
    let mut object = json!({
        "count": values.len(),
        "mean": estimate.mean,
        "min": values.iter().copied().fold(f64::INFINITY, f64::min),
        "max": values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    });
    if estimate.half_width.is_finite() {
        object["ci95"] = json!(estimate.half_width);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_three_seeds_by_hand() {
        let point = |verdict: &str, latency: Option<f64>| {
            let mut point = json!({ "offered_load": 0.9, "accepted_load": 0.5, "verdict": verdict });
            if let Some(latency) = latency {
                point["packet_latency_ns"] = json!({ "mean": latency, "p99": 2.0 * latency });
            }
            vec![point]
        };
        let runs = [
            (5, point("steady", Some(100.0))),
            (6, point("saturated", None)),
            (7, point("steady", Some(110.0))),
        ];
        let (points, spread) = spread(&runs);
        assert_eq!(points.iter().map(|point| point["seed"].as_u64().unwrap()).collect::<Vec<_>>(), [5, 6, 7]);
        assert_eq!(spread.len(), 1);
        let spread = &spread[0];
        assert_eq!((&spread["offered_load"], &spread["seeds"]), (&json!(0.9), &json!(3)));
        assert_eq!(spread["verdicts"], json!({ "steady": 2, "saturated": 1 }));
        let latency = &spread["quantities"]["packet_latency_ns.mean"];
        assert_eq!(
            [&latency["count"], &latency["mean"], &latency["min"], &latency["max"]],
            [&json!(2), &json!(105.0), &json!(100.0), &json!(110.0)]
        );
        // t(1) is 12.706, and the deviation of 100 and 110 is 7.071: 12.706 x 7.071 / sqrt(2) = 63.53.
        assert!((latency["ci95"].as_f64().unwrap() - 63.53).abs() < 1e-9, "{latency}");
        assert_eq!(spread["quantities"]["accepted_load"]["ci95"], json!(0.0), "all are the same");
        assert!(spread["quantities"].get("network_latency_ns.mean").is_none(), "absent means not measured");
    }
}
