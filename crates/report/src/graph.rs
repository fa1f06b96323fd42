//! What a run of a task graph came to, in the units of people, as a value and as JSON.

use crate::details::Details;
use crate::stages::Stages;
use flitway_engine::{Clock, Cycle};
use flitway_fabric::simulation::{Conservation, Counters};
use flitway_workload::graph::GraphSummary;
use flitway_workload::graph::stuck::Stuck;
use serde_json::{Value, json};
use std::time::Duration;

/// A run of a task graph.
#[derive(Clone, Debug)]
pub struct GraphResult {
    /// The graph, where there are several in the run.
    pub name: Option<String>,
    /// What all ranks came to.
    pub summary: GraphSummary,
    /// What is left undone; `None` if every task has completed and every message was received.
    pub stuck: Option<Stuck>,
    /// The load of synthetic traffic beside it, if there was some.
    pub offered_load: Option<f64>,
    /// Whether somebody stopped it, or memory ran out.
    pub stopped: bool,
    /// Whether it was ended since memory for packets that wait was about to run out.
    pub out_of_memory: bool,
    /// The last cycle simulated.
    pub last: Cycle,
    /// Totals.
    pub counters: Counters,
    /// The books at the end.
    pub books: Conservation,
    /// Wall-clock time of the run.
    pub wall: Duration,
    /// The most memory that the process had used by its end, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// How busy the channels were in the mean over the run, and its JSON; `None` where there are too many to count.
    pub stages: Option<(Stages, Value)>,
    /// What a report page shows beyond the rest, where somebody asks for it; it is not part of the result.
    pub details: Option<Box<Details>>,
    /// The network clock, in whose cycles the summary counts.
    pub clock: Clock,
}

impl GraphResult {
    /// Tasks listed for each rank that is stuck, and unmatched messages listed.
    pub const STUCK_MAX: usize = 8;

    /// The numbers of the object that `--json` has in `points`, but for those of the computer it ran on: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("packets", "packets"),
        ("graph.completion_ns", "ns"),
        ("graph.messages", "messages"),
        ("graph.bytes", "B"),
        ("graph.communication_share.min", "fraction"),
        ("graph.communication_share.mean", "fraction"),
        ("graph.communication_share.max", "fraction"),
        ("events", "events"),
        ("packet_hops", "packets"),
        ("flit_hops", "flits"),
        ("adverts", "adverts"),
    ];

    /// The object that `--json` has in `points`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let nanos = |cycles: u64| self.clock.nanos(cycles as f64);
        let ranks: Vec<Value> = self
            .summary
            .ranks
            .iter()
            .map(|rank| {
                let mut entry = json!({
                    "rank": rank.rank.0,
                    "computing_ns": nanos(rank.computing),
                    "overhead_ns": nanos(rank.overhead),
                    "waiting_ns": nanos(rank.waiting),
                    "communication_share": rank.communication_share(),
                    "messages_sent": rank.messages_sent,
                    "bytes_sent": rank.bytes_sent,
                    "messages_received": rank.messages_received,
                    "bytes_received": rank.bytes_received,
                });
                if let Some(completion) = rank.completion {
                    entry["completion_ns"] = json!(nanos(completion.0));
                }
                entry
            })
            .collect();
        let [least, mean, most] = self.summary.communication_share;
        let mut graph = json!({
            "completed": self.stuck.is_none() && !self.stopped,
            "messages": self.summary.messages,
            "bytes": self.summary.bytes,
            "communication_share": { "min": least, "mean": mean, "max": most },
            "ranks": ranks,
        });
        if let Some(name) = &self.name {
            graph["name"] = json!(name);
        }
        if self.out_of_memory {
            graph["out_of_memory"] = json!(true);
        }
        if let Some(completion) = self.summary.completion {
            graph["completion_ns"] = json!(nanos(completion.0));
        }
        if let Some(stuck) = &self.stuck {
            let (unmatched, tasks) = waiting(stuck);
            graph["waiting"] = json!([unmatched, tasks].concat());
        }
        let mut point = json!({
            "packets": self.counters.packets_created,
            "graph": graph,
            "events": self.counters.events,
            "packet_hops": self.counters.packet_hops,
            "flit_hops": self.counters.flit_hops,
            "adverts": self.counters.adverts,
            "wall_s": self.wall.as_secs_f64(),
        });
        if let Some(load) = self.offered_load {
            point["offered_load"] = json!(load);
        }
        if let Some((_, value)) = &self.stages {
            point["channel_load"] = value.clone();
        }
        if let Some(bytes) = self.peak_rss_bytes {
            point["peak_rss_bytes"] = json!(bytes);
        }
        point
    }
}

/// What is left undone, a line each: messages that nobody received, which are often the cause, and what ranks wait for.
#[must_use]
pub fn waiting(stuck: &Stuck) -> (Vec<String>, Vec<String>) {
    let mut lines = Vec::new();
    for rank in &stuck.ranks {
        lines.extend(rank.tasks.iter().map(ToString::to_string));
        if rank.unfinished > rank.tasks.len() {
            lines.push(format!(
                "rank {}: {} more tasks unfinished",
                rank.rank,
                rank.unfinished - rank.tasks.len()
            ));
        }
    }
    let mut unmatched: Vec<String> = stuck.unmatched.iter().map(ToString::to_string).collect();
    if stuck.unmatched_count > stuck.unmatched.len() {
        unmatched.push(format!(
            "{} more messages were never received",
            stuck.unmatched_count - stuck.unmatched.len()
        ));
    }
    (unmatched, lines)
}
