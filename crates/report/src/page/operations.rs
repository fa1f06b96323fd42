//! What barriers and multicast operations came to beyond their latency: their parts, what was lost, how it was made good. A
//! line for each quantity that was measured, a column for each point.

use super::{escape, words};
use serde_json::Value;
use std::fmt::Write;

/// A quantity: its name, its path in the result of a point, how it is written.
type Quantity = (&'static str, &'static str, fn(f64) -> String);

const BARRIER: &[Quantity] = &[
    ("barriers that were over", "/barrier/operations", count),
    ("zero-load latency, in closed form", "/barrier/zero_load_latency_ns", words::time),
    ("last arrival to last release, mean", "/barrier/latency_ns/mean", words::time),
    ("– to a release, mean over members", "/barrier/release_latency_ns/mean", words::time),
    ("– until the root knew (combine), mean", "/barrier/combine_ns/mean", words::time),
    ("– the slowest", "/barrier/combine_ns/max", words::time),
    ("– from then on (distribute), mean", "/barrier/distribute_ns/mean", words::time),
    ("– the slowest", "/barrier/distribute_ns/max", words::time),
    ("barriers that lost packets", "/barrier/recovery/operations", count),
    ("– slower than the others by, mean", "/barrier/recovery/mean_ns", words::time),
    ("– latency of the slowest", "/barrier/recovery/latency_max_ns", words::time),
    ("barrier packets sent by links", "/barrier/packets/sent", count),
    ("– lost by a fault", "/barrier/packets/lost_by_fault", count),
    ("– lost by a full queue", "/barrier/packets/lost_by_full_queue", count),
    ("– combines sent again", "/barrier/packets/retransmissions", count),
    ("– duns", "/barrier/packets/duns", count),
];

const MULTICAST: &[Quantity] = &[
    ("operations that were over", "/multicast/operations", count),
    ("copies delivered", "/multicast/copies", count),
    ("copies offered, part of what nodes can receive", "/multicast/offered_load", load),
    ("– and accepted", "/multicast/accepted_load", load),
    ("zero-load last copy, in closed form", "/multicast/zero_load_last_copy_ns", words::time),
    ("beginning to last copy, mean", "/multicast/last_copy_latency_ns/mean", words::time),
    ("– the slowest", "/multicast/last_copy_latency_ns/max", words::time),
    ("– to a copy, mean over copies", "/multicast/mean_copy_latency_ns/mean", words::time),
    ("packets discarded for want of a table entry", "/multicast/missed", count),
    ("unicast packets beside them", "/packets", count),
    ("– mean latency", "/packet_latency_ns/mean", words::time),
];

/// The kind of operations of `points`, if there are some: the name of the section, and its quantities.
fn kind(points: &[Value]) -> Option<(&'static str, &'static [Quantity])> {
    let has = |name: &str| points.iter().any(|point| point.get(name).is_some());
    match (has("barrier"), has("multicast")) {
        (true, _) => Some(("Barriers", BARRIER)),
        (_, true) => Some(("Multicasts", MULTICAST)),
        _ => None,
    }
}

/// What the section is called, if there is one.
pub(super) fn name(points: &[Value]) -> Option<&'static str> {
    kind(points).map(|(name, _)| name)
}

/// The section; nothing for other runs.
pub(super) fn section(points: &[Value]) -> String {
    let Some((name, quantities)) = kind(points) else { return String::new() };
    let heads: String =
        points.iter().map(|point| format!("<th>at load {:.3}</th>", words::offered(point))).collect();
    let mut rows = String::new();
    for (quantity, path, written) in quantities {
        let values: Vec<Option<f64>> =
            points.iter().map(|point| point.pointer(path).and_then(Value::as_f64)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        // Writing to a string does not fail.
        let _ = write!(rows, "<tr data-path=\"{}\"><td>{}</td>", escape(path), escape(quantity));
        for value in values {
            let _ = match value {
                Some(value) => write!(rows, "<td data-value=\"{value}\">{}</td>", written(value)),
                None => write!(rows, "<td>–</td>"),
            };
        }
        rows.push_str("</tr>");
    }
    format!(
        "<section id=\"operations\"><h2>{name}</h2><div class=\"scroll whole\"><table class=\"operations\"><thead><tr><th></th>{heads}\
         </tr></thead><tbody>{rows}</tbody></table></div><p class=\"note\">Packets and losses are counted from the beginning, \
         warm-up included; latencies after it.</p></section>\n"
    )
}

fn count(value: f64) -> String {
    words::count(value as u64)
}

fn load(value: f64) -> String {
    format!("{value:.4}")
}
