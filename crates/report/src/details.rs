//! What a report page shows of a point beyond its result: distributions, every node, every channel, the slowest packets.

use crate::latencies::Latencies;
use crate::measure::Measurement;
use crate::stages::shares_of;
use crate::story::Story;
use flitway_engine::{Clock, Cycle};
use flitway_fabric::Fabric;
use flitway_wiring::NodeId;
use flitway_workload::traffic::Traffic;
use serde_json::{Value, json};

/// Marks of a distribution, at most.
const MARKS: usize = 160;

/// The details of one point.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The cycles in which it was measured: from, until.
    pub span: [Cycle; 2],
    /// Each with its name: how many were how slow.
    pub distributions: Vec<(&'static str, Value)>,
    /// Accepted load of each node, by sender, as a fraction of its injection rate.
    pub accepted_of: Option<Vec<f64>>,
    /// Nodes that the pattern of synthetic traffic leaves silent.
    pub silent: Vec<NodeId>,
    /// Flits per cycle of each channel, in the order of [`channels`](crate::stages::channels); not of a run of task graphs.
    pub load_of: Option<Vec<f64>>,
    /// What each channel carried as a part of what it could.
    pub share_of: Option<Vec<f64>>,
    /// The slowest packets, slowest first.
    pub stories: Vec<Story>,
}

impl Details {
    /// Those of `measurement` of a run with `traffic`, without stories.
    #[must_use]
    pub fn new(measurement: &Measurement, fabric: &Fabric, traffic: Option<&Traffic>, clock: Clock) -> Self {
        let per_node = f64::from(fabric.rails);
        let total = &measurement.total;
        let until = measurement.warm_up + measurement.duration;
        let mut details = Details {
            span: [Cycle(measurement.warm_up), Cycle(until)],
            accepted_of: Some(measurement.accepted_of.iter().map(|flits| flits / per_node).collect()),
            silent: traffic.map_or_else(Vec::new, |traffic| {
                let nodes = (0..fabric.nodes()).map(NodeId);
                nodes.filter(|node| traffic.destinations().is_silent(*node)).collect()
            }),
            load_of: measurement.sent_of.clone(),
            share_of: shares_of(fabric, measurement),
            ..Details::default()
        };
        details.add("packet", Some(&total.packet_latencies), total.packet_latency_max, clock);
        details.add("network", Some(&total.network_latencies), total.network_latency_max, clock);
        let operations = &total.operations;
        details.add("last copy", operations.last.latencies(), operations.last.max, clock);
        details.add("mean copy", operations.mean.latencies(), operations.mean.max, clock);
        let barriers = &total.barriers;
        details.add("barrier", barriers.last.latencies(), barriers.last.max, clock);
        details.add("mean release", barriers.mean.latencies(), barriers.mean.max, clock);
        details
    }

    pub(crate) fn add(&mut self, name: &'static str, latencies: Option<&Latencies>, max: u64, clock: Clock) {
        if let Some(latencies) = latencies.filter(|latencies| !latencies.is_empty()) {
            self.distributions.push((name, distribution(latencies, max, clock)));
        }
    }

    /// Accepted load of the node that got least through, of those that send.
    #[must_use]
    pub fn accepted_min_sender(&self) -> Option<f64> {
        let of = (0..).map(NodeId).zip(self.accepted_of.as_ref()?);
        let sending = of.filter(|(node, _)| self.silent.binary_search(node).is_err());
        sending.map(|(_, load)| *load).min_by(f64::total_cmp)
    }

    /// As an object, but for the channels.
    #[must_use]
    pub fn to_json(&self, clock: Clock) -> Value {
        let mut details = json!({});
        let distribution = |(name, value): &(&str, Value)| json!({ "name": name, "marks": value });
        details["distributions"] = self.distributions.iter().map(distribution).collect();
        if let Some(accepted_of) = &self.accepted_of {
            details["accepted_of"] = rounded(accepted_of.iter().copied());
            details["accepted_min_sender"] = json!(self.accepted_min_sender());
        }
        details["slowest"] = self.stories.iter().map(|story| story.to_json(clock)).collect();
        details
    }

    /// The packets of a run that are to be looked at again, from what was delivered.
    #[must_use]
    pub fn with_stories(self, stories: Vec<Story>) -> Self {
        Details { stories, ..self }
    }
}

/// Loads with as many digits as a picture can show.
pub(crate) fn rounded(loads: impl IntoIterator<Item = f64>) -> Value {
    loads.into_iter().map(|load| (load * 1e5).round() / 1e5).collect()
}

/// Which fraction of the values is larger than how many nanoseconds: `[ns, fraction]`, falling.
fn distribution(latencies: &Latencies, max: u64, clock: Clock) -> Value {
    let total = latencies.len() as f64;
    let mut marks: Vec<(u64, f64)> = Vec::new();
    let mut below = 0;
    for bucket in latencies.iter_recorded() {
        below += bucket.count_since_last_iteration();
        marks.push((bucket.value_iterated_to().min(max), 1.0 - below as f64 / total));
    }
    // Enough marks, evenly over the decades of what is left, where the eye is.
    let step = marks.len().div_ceil(MARKS).max(1);
    let tail = marks.len().saturating_sub(MARKS / 2);
    let kept = marks.iter().enumerate().filter(|(at, _)| at % step == 0 || *at >= tail);
    kept.map(|(_, &(value, left))| json!([clock.nanos(value as f64), left.max(0.0)])).collect()
}
