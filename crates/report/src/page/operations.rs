//! What barriers and multicast operations came to beyond their latency: their parts, what was lost, how it was made good. A
//! line for each quantity that was measured, a column for each point.

use super::{Page, escape, nic, words};
use crate::shown;
use serde_json::Value;
use std::fmt::Write;

/// A quantity: its name, its path in the result of a point, how it is written.
pub(super) type Quantity = (&'static str, &'static str, fn(f64) -> String);

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

/// What the loads and latencies of a page are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Packets,
    Multicasts,
    Barriers,
}

impl Kind {
    pub(super) fn of(points: &[Value]) -> Self {
        let has = |name: &str| points.iter().any(|point| point.get(name).is_some());
        // Of multicasts with barriers, multicasts have the loads that tell points apart.
        match (has("multicast"), has("barrier")) {
            (true, _) => Kind::Multicasts,
            (_, true) => Kind::Barriers,
            _ => Kind::Packets,
        }
    }

    /// What the mean latency is called.
    pub(super) fn mean(self) -> &'static str {
        match self {
            Kind::Packets => "Mean latency",
            Kind::Multicasts => "Mean time to the last copy",
            Kind::Barriers => "Mean latency of a barrier",
        }
    }

    /// What is said of the zero-load latency.
    pub(super) fn zero_load(self) -> &'static str {
        match self {
            Kind::Packets => "theory: nothing in the way",
            Kind::Multicasts => "of the last copy; theory: nothing in the way",
            Kind::Barriers => "of a barrier; theory: nothing in the way",
        }
    }

    /// Where a point says how many there were.
    pub(super) fn count(self) -> &'static str {
        match self {
            Kind::Packets => "/packets",
            Kind::Multicasts => "/multicast/copies",
            Kind::Barriers => "/barrier/operations",
        }
    }

    /// What the columns of latency and count are called.
    pub(super) fn columns(self) -> (&'static str, &'static str) {
        match self {
            Kind::Packets => ("mean latency", "packets"),
            Kind::Multicasts => ("mean to last copy", "copies"),
            Kind::Barriers => ("mean latency", "barriers"),
        }
    }

    /// What the columns mean.
    pub(super) fn note(self) -> &'static str {
        match self {
            Kind::Packets => {
                "Offered and accepted load are flits created and delivered, as a fraction of the injection rate (one flit a \
                 cycle for every NIC port), header and trailer included. Latency is from creation to the last flit \
                 delivered, source queue included;"
            }
            Kind::Multicasts => {
                "Offered and accepted load are flits of copies to be delivered and delivered, as a fraction of what the nodes \
                 can receive (one flit a cycle for every NIC port), header and trailer included. Latency is from the \
                 beginning of an operation to its last copy;"
            }
            Kind::Barriers => {
                "Latency is that of barriers, from the last arrival to the last release. Offered and accepted load are those of \
                 the traffic beside them, as a fraction of the injection rate (one flit a cycle for every NIC port);"
            }
        }
    }

    /// What is said of the curves of latency.
    pub(super) fn curve(self) -> &'static str {
        match self {
            Kind::Packets => "From creation to delivery of the packet, for points that are steady.",
            Kind::Multicasts => {
                "From the beginning of an operation to delivery of its last copy, for points that are steady."
            }
            Kind::Barriers => {
                "From the last arrival at a barrier to the last release, over the load beside it."
            }
        }
    }
}

/// The quantities of the operations of `points`.
fn quantities(points: &[Value]) -> Vec<Quantity> {
    let has = |name: &str| points.iter().any(|point| point.get(name).is_some());
    let of = |name: &str, quantities: &'static [Quantity]| if has(name) { quantities } else { &[] };
    [of("multicast", MULTICAST), of("barrier", BARRIER)].concat()
}

/// Whether packets of `page` look for their group in tables of switches.
fn has_tables(page: &Page<'_>) -> bool {
    let workload = &page.result["workload"];
    let by = workload.get("multicast_by").unwrap_or(&workload["by"]).as_str().unwrap_or("hardware");
    page.fabric.chip.offers().groups.is_some() && ["hardware", "ranges"].contains(&by)
}

/// What the section is called, if there is one.
pub(super) fn name(points: &[Value]) -> Option<&'static str> {
    let has = |name: &str| points.iter().any(|point| point.get(name).is_some());
    match (has("multicast"), has("barrier")) {
        (true, true) => Some("Multicasts and barriers"),
        (true, false) => Some("Multicasts"),
        (false, true) => Some("Barriers"),
        (false, false) => None,
    }
}

/// Of points that graphs side by side have each for itself, those of the first: operations ran beside all of them.
fn runs(points: &[Value]) -> Vec<Value> {
    let graph = |point: &Value| point.pointer("/graph/name").cloned();
    let first = points.first().and_then(graph);
    points.iter().filter(|point| graph(point) == first).cloned().collect()
}

/// The section; nothing for other runs.
pub(super) fn section(page: &Page<'_>) -> String {
    let points = runs(page.points());
    let points = &points[..];
    let Some(name) = name(points) else { return String::new() };
    let (has_tables, has_packets) = (has_tables(page), words::has_packets(points));
    let applies = |path: &str| match path {
        "/multicast/missed" => has_tables,
        "/packets" => has_packets,
        _ => true,
    };
    let mut quantities = quantities(points);
    quantities.retain(|(_, path, _)| applies(path));
    format!(
        "<section id=\"operations\"><h2>{name}</h2>{}<p class=\"note\">Packets and losses are counted from the beginning, \
         warm-up included; latencies after it.</p></section>\n",
        table(points, &quantities)
    )
}

/// A line for each quantity that a point has, a column for each point.
pub(super) fn table(points: &[Value], quantities: &[Quantity]) -> String {
    let head = |point: &Value| match words::offered_load(point) {
        _ if point.get("nic").is_some() => format!("<th>{}</th>", nic::label(point)),
        Some(_) => format!("<th>at load {}</th>", words::load(point)),
        None => "<th></th>".to_owned(),
    };
    let heads: String = points.iter().map(head).collect();
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
        "<div class=\"scroll whole\"><table class=\"operations\"><thead><tr><th></th>{heads}</tr></thead><tbody>{rows}</tbody>\
         </table></div>"
    )
}

pub(super) fn count(value: f64) -> String {
    words::count(value as u64)
}

pub(super) fn load(value: f64) -> String {
    shown::load(value, 4)
}
