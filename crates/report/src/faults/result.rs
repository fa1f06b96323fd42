//! What a run in which something broke came to, as a value and as JSON.

use super::FaultPlan;
use super::explained::Explained;
use super::operator::{About, Entry};
use crate::fault_record::FaultRecord;
use flitway_engine::{Clock, Cycle};
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::observer::{LinkState, Loss};
use flitway_fabric::simulation::LostCounters;
use flitway_wiring::NodeId;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a run in which something broke came to.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultsResult {
    /// Packets created, and delivered, since the start.
    pub created: u64,
    pub delivered: u64,
    /// Packets lost for good.
    pub lost: LostCounters,
    /// Pairs of nodes that have lost packets.
    pub pairs: u64,
    /// The pair that lost packets for the longest time, from its first loss to its last one, in nanoseconds.
    pub longest: Option<([NodeId; 2], f64)>,
    /// When the first thing broke, in nanoseconds; absent if nothing broke.
    pub broken_ns: Option<f64>,
    /// When the last link changed because of it, or tables that were written came to count, in nanoseconds; absent if more was
    /// to come of it at the end of the run.
    pub changed_ns: Option<f64>,
    /// From when on nothing changed because of it and no packet was lost, in nanoseconds; absent if more was to come of it at
    /// the end of the run, or packets were lost up to then.
    pub settled_ns: Option<f64>,
    /// Nanoseconds from the first fault until then.
    pub recovery_ns: Option<f64>,
    /// When the first thing was to break that had not by the end of the run, in nanoseconds.
    pub next_ns: Option<f64>,
    /// Rules that had not come to corrupt anything by the end, where that is known.
    pub unmatched: u64,
    /// What explains most of what went wrong; absent where nothing did.
    pub explained: Option<Explained>,
    /// Flits delivered a cycle and NIC port, before anything broke but after the warm-up, in between, and after the last that
    /// came of it; where packets are lost up to the end, after the last change.
    pub accepted: [Option<f64>; 3],
    /// What the manager has noted, and nodes that were stalled.
    pub log: Vec<Note>,
    /// Of each bin: the load created, the load delivered, and packets lost.
    pub series: Series,
}

/// A line of the log of the manager, with times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// When it was read or decided.
    pub at_ns: f64,
    /// What it is about.
    pub about: About,
    /// What it says.
    pub text: String,
    /// Since when, or from when on, that is so.
    pub since_ns: f64,
}

/// Loads in the course of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Nanoseconds of a bin.
    pub bin_ns: f64,
    /// Of each: the load created.
    pub created: Vec<f64>,
    /// The load delivered.
    pub accepted: Vec<f64>,
    /// Packets lost.
    pub lost: Vec<u64>,
}

impl FaultsResult {
    /// What `record` and `log` say of a run under `plan` whose warm-up and which itself ended in these cycles, with these
    /// totals of packets created, delivered and lost, on a machine with this clock and so many NIC ports.
    #[must_use]
    pub fn new(
        plan: &FaultPlan,
        record: &FaultRecord,
        log: &[Entry],
        (created, delivered, lost): (u64, u64, LostCounters),
        [warm_up, end]: [Cycle; 2],
        (clock, ports): (Clock, u32),
    ) -> Self {
        let nanos = |cycle: Cycle| clock.nanos(cycle.0 as f64);
        let pairs = pairs(&record.losses);
        let longest =
            pairs.iter().max_by_key(|(pair, [first, last])| (last.since(*first), std::cmp::Reverse(**pair)));
        let first = plan.first();
        // What the manager reads changes nothing; tables that it has written do, once they count.
        let written = log.iter().filter(|entry| entry.about == About::Tables && entry.since > entry.at);
        let last_table = written.map(|entry| entry.since).max();
        let last_change = record.changes.last().map(|change| change.at);
        // No link tells of a node that is stalled, or goes on.
        let of_nodes = plan.faults.list().iter().filter(|fault| fault.at < end && is_of_node(fault));
        let last_stall = of_nodes.map(|fault| fault.at).max();
        let changed = [last_change, last_table, last_stall].into_iter().flatten().max().unwrap_or(first);
        let has_broken = first < end;
        let is_over = has_broken && is_over(plan, record, log, end);
        let goes_on = loses_on(record, changed, end);
        // What is lost up to the end is lost for ever: that is how things are after the fault.
        let last_loss = record.losses.last().map(|loss| loss.at).filter(|_| !goes_on);
        let last = last_loss.unwrap_or(changed).max(changed);
        let settled = if is_over { last } else { end };
        let mean = |from: Cycle, until: Cycle| mean(&record.delivered, record.bin, [from, until], ports);
        FaultsResult {
            created,
            delivered,
            lost,
            pairs: pairs.len() as u64,
            longest: longest.map(|(&(source, destination), [first, last])| {
                ([source, destination], nanos(Cycle(last.since(*first))))
            }),
            broken_ns: has_broken.then(|| nanos(first)),
            changed_ns: is_over.then(|| nanos(changed)),
            settled_ns: (is_over && !goes_on).then(|| nanos(settled)),
            recovery_ns: (is_over && !goes_on).then(|| nanos(Cycle(settled.since(first)))),
            next_ns: plan.faults.list().iter().find(|fault| fault.at >= end).map(|fault| nanos(fault.at)),
            unmatched: 0,
            explained: None,
            accepted: if has_broken {
                [mean(warm_up, first), mean(first, settled), mean(settled, end)]
            } else {
                [mean(warm_up, end), None, None]
            },
            log: log
                .iter()
                .map(|entry| Note {
                    at_ns: nanos(entry.at),
                    about: entry.about.clone(),
                    text: entry.text.clone(),
                    since_ns: nanos(entry.since),
                })
                .collect(),
            series: Series::new(record, end, (clock, ports)),
        }
    }

    /// The numbers of the object that `--json` has in `points`: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("faults.created", "packets"),
        ("faults.delivered", "packets"),
        ("faults.lost.in_dead_switch", "packets"),
        ("faults.lost.link_down", "packets"),
        ("faults.lost.unacknowledged", "packets"),
        ("faults.lost.no_route", "packets"),
        ("faults.lost.refused", "packets"),
        ("faults.pairs", "pairs of nodes"),
        ("faults.longest_ns", "ns"),
        ("faults.broken_ns", "ns"),
        ("faults.changed_ns", "ns"),
        ("faults.settled_ns", "ns"),
        ("faults.recovery_ns", "ns"),
        ("faults.next_ns", "ns"),
        ("faults.unmatched", "rules"),
        ("faults.explained.share", "fraction"),
        ("faults.accepted_before", "fraction of the injection rate"),
        ("faults.accepted_during", "fraction of the injection rate"),
        ("faults.accepted_after", "fraction of the injection rate"),
    ];

    /// The object that `--json` has in `points`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let LostCounters { in_dead_switch, link_down, unacknowledged, no_route, refused } = self.lost;
        let [before, during, after] = self.accepted;
        let mut value = json!({
            "created": self.created,
            "delivered": self.delivered,
            "lost": {
                "in_dead_switch": in_dead_switch,
                "link_down": link_down,
                "unacknowledged": unacknowledged,
                "no_route": no_route,
                "refused": refused,
            },
            "pairs": self.pairs,
            "log": self.log.iter().map(Note::to_json).collect::<Vec<_>>(),
            "series": {
                "bin_ns": self.series.bin_ns,
                "created": self.series.created,
                "accepted": self.series.accepted,
                "lost": self.series.lost,
            },
        });
        let known = [
            ("longest_ns", self.longest.map(|(_, time)| time)),
            ("broken_ns", self.broken_ns),
            ("changed_ns", self.changed_ns),
            ("settled_ns", self.settled_ns),
            ("recovery_ns", self.recovery_ns),
            ("next_ns", self.next_ns),
            ("accepted_before", before),
            ("accepted_during", during),
            ("accepted_after", after),
        ];
        for (name, number) in known {
            if let Some(number) = number {
                value[name] = json!(number);
            }
        }
        if let Some(explained) = &self.explained {
            value["explained"] = explained.to_json();
        }
        if self.unmatched > 0 {
            value["unmatched"] = json!(self.unmatched);
        }
        if let Some((nodes, _)) = self.longest {
            value["longest_pair"] = json!(nodes.map(|node| node.0));
        }
        value
    }
}

impl Note {
    fn to_json(&self) -> Value {
        let mut note = json!({ "at_ns": self.at_ns, "text": self.text, "since_ns": self.since_ns });
        if let About::Link(place) | About::Switch(place) | About::Node(place) = &self.about {
            note["place"] = json!(place);
        }
        note
    }
}

/// Whether all that comes of faults has come by cycle `end`: nothing is still to break, every end of a link has found out what
/// became of it, and the manager has read that, and its tables count.
fn is_over(plan: &FaultPlan, record: &FaultRecord, log: &[Entry], end: Cycle) -> bool {
    let is_dead = |component| plan.faults.death(component) < end;
    let mut states = BTreeMap::new();
    for change in record.changes.iter().filter(|change| !is_dead(change.component)) {
        states.insert((change.component, change.port), (change.at, change.state));
    }
    let is_trained = states.values().all(|(_, state)| !matches!(state, LinkState::Trains(_)));
    let has_noticed = |fault: &Fault| match fault.kind {
        _ if is_dead(fault.component) || is_of_node(fault) => true,
        FaultKind::Port(port, _) => {
            states.get(&(fault.component, port)).is_some_and(|(since, _)| *since >= fault.at)
        }
        FaultKind::Dead => true,
    };
    let last_change = record.changes.last().map_or(Cycle::ZERO, |change| change.at);
    let is_read = plan.manager.is_none_or(|manager| last_change + manager.every <= end);
    let has_happened = plan.faults.list().last().is_none_or(|fault| fault.at < end);
    let have_tables = log.iter().all(|entry| entry.since <= end);
    has_happened && is_trained && plan.faults.list().iter().all(has_noticed) && is_read && have_tables
}

/// Whether it befalls what feeds a NIC port, and no link.
fn is_of_node(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Port(_, PortFault::Stalled | PortFault::Resumed))
}

/// Whether packets are lost up to cycle `end`, as they are in the mean after the last change, in cycle `changed`.
fn loses_on(record: &FaultRecord, changed: Cycle, end: Cycle) -> bool {
    /// Losses that tell how often there are some, and so many times the time between two that pass without one.
    const TOLD: u64 = 3;
    let after = record.losses.iter().filter(|loss| loss.at > changed).count() as u64;
    let Some(last) = record.losses.last().map(|loss| loss.at) else { return false };
    let usual = last.0.saturating_sub(changed.0) / after.max(1);
    last + record.bin >= end || (after >= TOLD && last + TOLD * usual >= end)
}

/// By pair of different nodes: when it lost its first packet and its last one. The copy of a broadcast for its own sender is of
/// no pair.
fn pairs(losses: &[Loss]) -> BTreeMap<(NodeId, NodeId), [Cycle; 2]> {
    let mut pairs: BTreeMap<(NodeId, NodeId), [Cycle; 2]> = BTreeMap::new();
    for loss in losses.iter().filter(|loss| loss.source != loss.destination) {
        let times = pairs.entry((loss.source, loss.destination)).or_insert([loss.at; 2]);
        *times = [times[0].min(loss.at), times[1].max(loss.at)];
    }
    pairs
}

/// Flits a cycle and NIC port in the whole bins between two cycles; `None` if there is none.
fn mean(flits: &[u64], bin: u64, [from, until]: [Cycle; 2], ports: u32) -> Option<f64> {
    let bins = from.0.div_ceil(bin)..until.0 / bin;
    let count = bins.clone().count();
    let sum: u64 = bins.map(|place| flits.get(place as usize).copied().unwrap_or(0)).sum();
    (count > 0).then(|| sum as f64 / (count as u64 * bin) as f64 / f64::from(ports))
}

impl Series {
    fn new(record: &FaultRecord, end: Cycle, (clock, ports): (Clock, u32)) -> Self {
        let bins = (end.0 / record.bin) as usize;
        let full = record.bin as f64 * f64::from(ports);
        let loads =
            |flits: &[u64]| (0..bins).map(|bin| flits.get(bin).copied().unwrap_or(0) as f64 / full).collect();
        let mut lost = vec![0; bins];
        for loss in &record.losses {
            if let Some(lost) = lost.get_mut((loss.at.0 / record.bin) as usize) {
                *lost += 1;
            }
        }
        Series {
            bin_ns: clock.nanos(record.bin as f64),
            created: loads(&record.created),
            accepted: loads(&record.delivered),
            lost,
        }
    }
}
