//! The barriers of a point.

use super::{Latency, Point, Scale, tallied};
use crate::measure::{Measurement, Verdict};
use crate::stations::Stations;
use crate::stats::Estimate;
use crate::tally::Tally;
use flitway_fabric::simulation::BarrierCounters;
use serde_json::{Map, Value, json};

/// The barriers of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct BarrierPoint {
    /// Operations that are over.
    pub operations: u64,
    /// In closed form: the latency when nothing else is in the network, in nanoseconds.
    pub zero_load_latency_ns: f64,
    /// From the last arrival to the last release. `None` if no operation is over; likewise for the rest.
    pub latency: Option<Latency>,
    /// From the last arrival to a release, in the mean over the members.
    pub release_latency: Option<Latency>,
    /// From the last arrival until the root knew, where switches combine.
    pub combine: Option<Latency>,
    /// From then on to the last release.
    pub distribute: Option<Latency>,
    /// What they have taken in single switches, from pin to pin; `None` where switches do not combine.
    pub switch: Option<SwitchLatencies>,
    /// What operations that have lost packets needed to recover; `None` where switches do not combine or none has.
    pub recovery: Option<Recovery>,
    /// What switches and NIC ports have done with barrier packets, warm-up included; `None` where they do not combine.
    pub packets: Option<BarrierCounters>,
    /// Tests that were answered while measured, where a node tests whether all have arrived.
    pub tests: Option<Tests>,
    /// The rules of `--lose` that never came true, by their place from 0: fewer packets arrived there.
    pub idle_rules: Vec<usize>,
}

/// Tests of whether all members of a range of nodes have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tests {
    /// How many were answered.
    pub answered: u64,
    /// Those that were false: somebody had not arrived.
    pub false_ones: u64,
}

/// What operations take in one switch, from its pins to its pins: see [`Stations`]. `None` where there was nothing of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchLatencies {
    /// From the first combine in to the combine out.
    pub combine_from_first: Option<Latency>,
    /// From the last combine in.
    pub combine_from_last: Option<Latency>,
    /// From the distribute in to the last one out.
    pub distribute_to_last: Option<Latency>,
    /// In the mean over those out.
    pub distribute_to_mean: Option<Latency>,
    /// From the last combine, and to the last distribute, of one operation.
    pub stage: Option<Latency>,
    /// At the root, from the last combine in to the last distribute out.
    pub root: Option<Latency>,
}

/// Operations that have lost packets, warm-up included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// How many.
    pub operations: u64,
    /// By how much their latency is above that of the others, in the mean, in nanoseconds. `None` if there are no others.
    pub mean_ns: Option<f64>,
    /// The latency of the slowest of them.
    pub latency_max_ns: f64,
}

impl Point {
    /// The point with what `measurement` says of barriers, in the switches (`is_of_switches`) or by messages.
    #[must_use]
    pub fn with_barrier(
        self,
        is_of_switches: bool,
        zero_load_cycles: u64,
        measurement: &Measurement,
        scale: Scale<'_>,
    ) -> Self {
        let of = &measurement.total.barriers;
        // Of messages it would be one around a mean that grows.
        let is_known = is_of_switches || measurement.verdict == Verdict::Steady;
        let known = |estimate: Estimate| Estimate {
            half_width: if is_known { estimate.half_width } else { f64::INFINITY },
            ..estimate
        };
        let show = |tally: &Tally, estimate: Estimate| {
            let estimate = Estimate { mean: tally.mean(), ..estimate };
            tallied(estimate, tally, scale.clock)
        };
        let unknown = Estimate { mean: 0.0, half_width: f64::INFINITY };
        let Stations { combine_from_first, combine_from_last, .. } = &of.stations;
        let switch = SwitchLatencies {
            combine_from_first: show(combine_from_first, unknown),
            combine_from_last: show(combine_from_last, unknown),
            distribute_to_last: show(&of.stations.distribute_to_last, unknown),
            distribute_to_mean: show(&of.stations.distribute_to_mean, unknown),
            stage: show(&of.stations.stage, unknown),
            root: show(&of.stations.root, unknown),
        };
        let recovery = (of.disturbed.count > 0).then(|| Recovery {
            operations: of.disturbed.count,
            mean_ns: (of.undisturbed.count > 0)
                .then(|| scale.clock.nanos(of.disturbed.mean() - of.undisturbed.mean())),
            latency_max_ns: scale.clock.nanos(of.disturbed.max as f64),
        });
        let barrier = BarrierPoint {
            operations: of.last.count,
            zero_load_latency_ns: scale.clock.nanos(zero_load_cycles as f64),
            latency: show(&of.last, known(measurement.barrier_latency)),
            release_latency: show(&of.mean, known(measurement.mean_release_latency)),
            combine: show(&of.combine, unknown),
            distribute: show(&of.distribute, unknown),
            switch: is_of_switches.then_some(switch),
            recovery,
            packets: is_of_switches.then_some(measurement.counters.barrier),
            tests: (of.tests > 0).then_some(Tests { answered: of.tests, false_ones: of.false_tests }),
            idle_rules: Vec::new(),
        };
        Point { barrier: Some(barrier), ..self }
    }

    /// The point with the rules of `--lose` that never came true.
    #[must_use]
    pub(crate) fn with_idle_rules(self, idle_rules: Vec<usize>) -> Self {
        Point { barrier: self.barrier.map(|barrier| BarrierPoint { idle_rules, ..barrier }), ..self }
    }
}

impl BarrierPoint {
    /// The numbers of the object `barrier` of a point: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("barrier.operations", "operations"),
        ("barrier.zero_load_latency_ns", "ns"),
        ("barrier.latency_ns.mean", "ns"),
        ("barrier.latency_ns.ci95", "ns"),
        ("barrier.latency_ns.p50", "ns"),
        ("barrier.latency_ns.p99", "ns"),
        ("barrier.latency_ns.p999", "ns"),
        ("barrier.latency_ns.max", "ns"),
        ("barrier.release_latency_ns.mean", "ns"),
        ("barrier.release_latency_ns.ci95", "ns"),
        ("barrier.release_latency_ns.p50", "ns"),
        ("barrier.release_latency_ns.p99", "ns"),
        ("barrier.release_latency_ns.p999", "ns"),
        ("barrier.release_latency_ns.max", "ns"),
        ("barrier.combine_ns.mean", "ns"),
        ("barrier.combine_ns.p50", "ns"),
        ("barrier.combine_ns.p99", "ns"),
        ("barrier.combine_ns.p999", "ns"),
        ("barrier.combine_ns.max", "ns"),
        ("barrier.distribute_ns.mean", "ns"),
        ("barrier.distribute_ns.p50", "ns"),
        ("barrier.distribute_ns.p99", "ns"),
        ("barrier.distribute_ns.p999", "ns"),
        ("barrier.distribute_ns.max", "ns"),
        ("barrier.switch.combine_from_first_ns.mean", "ns"),
        ("barrier.switch.combine_from_first_ns.p50", "ns"),
        ("barrier.switch.combine_from_first_ns.p99", "ns"),
        ("barrier.switch.combine_from_first_ns.p999", "ns"),
        ("barrier.switch.combine_from_first_ns.max", "ns"),
        ("barrier.switch.combine_from_last_ns.mean", "ns"),
        ("barrier.switch.combine_from_last_ns.p50", "ns"),
        ("barrier.switch.combine_from_last_ns.p99", "ns"),
        ("barrier.switch.combine_from_last_ns.p999", "ns"),
        ("barrier.switch.combine_from_last_ns.max", "ns"),
        ("barrier.switch.distribute_to_last_ns.mean", "ns"),
        ("barrier.switch.distribute_to_last_ns.p50", "ns"),
        ("barrier.switch.distribute_to_last_ns.p99", "ns"),
        ("barrier.switch.distribute_to_last_ns.p999", "ns"),
        ("barrier.switch.distribute_to_last_ns.max", "ns"),
        ("barrier.switch.distribute_to_mean_ns.mean", "ns"),
        ("barrier.switch.distribute_to_mean_ns.p50", "ns"),
        ("barrier.switch.distribute_to_mean_ns.p99", "ns"),
        ("barrier.switch.distribute_to_mean_ns.p999", "ns"),
        ("barrier.switch.distribute_to_mean_ns.max", "ns"),
        ("barrier.switch.stage_ns.mean", "ns"),
        ("barrier.switch.stage_ns.p50", "ns"),
        ("barrier.switch.stage_ns.p99", "ns"),
        ("barrier.switch.stage_ns.p999", "ns"),
        ("barrier.switch.stage_ns.max", "ns"),
        ("barrier.switch.root_ns.mean", "ns"),
        ("barrier.switch.root_ns.p50", "ns"),
        ("barrier.switch.root_ns.p99", "ns"),
        ("barrier.switch.root_ns.p999", "ns"),
        ("barrier.switch.root_ns.max", "ns"),
        ("barrier.recovery.operations", "operations"),
        ("barrier.recovery.mean_ns", "ns"),
        ("barrier.recovery.latency_max_ns", "ns"),
        ("barrier.packets.sent", "packets"),
        ("barrier.packets.lost_by_fault", "packets"),
        ("barrier.packets.lost_by_full_queue", "packets"),
        ("barrier.packets.retransmissions", "packets"),
        ("barrier.packets.duns", "packets"),
        ("barrier.tests.answered", "tests"),
        ("barrier.tests.false", "tests"),
    ];

    pub(super) fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("operations".to_owned(), json!(self.operations));
        object.insert("zero_load_latency_ns".to_owned(), json!(self.zero_load_latency_ns));
        for (key, latency) in [
            ("latency_ns", &self.latency),
            ("release_latency_ns", &self.release_latency),
            ("combine_ns", &self.combine),
            ("distribute_ns", &self.distribute),
        ] {
            if let Some(latency) = latency {
                object.insert(key.to_owned(), latency.to_json());
            }
        }
        if let Some(switch) = &self.switch {
            object.insert("switch".to_owned(), switch.to_json());
        }
        if let Some(Recovery { operations, mean_ns, latency_max_ns }) = self.recovery {
            let mut recovery = json!({ "operations": operations });
            if let Some(mean) = mean_ns {
                recovery["mean_ns"] = json!(mean);
            }
            recovery["latency_max_ns"] = json!(latency_max_ns);
            object.insert("recovery".to_owned(), recovery);
        }
        if let Some(packets) = self.packets {
            let packets = json!({
                "sent": packets.sent,
                "lost_by_fault": packets.lost_by_fault,
                "lost_by_full_queue": packets.lost_by_full_queue,
                "retransmissions": packets.retransmissions,
                "duns": packets.duns,
            });
            object.insert("packets".to_owned(), packets);
        }
        if let Some(Tests { answered, false_ones }) = self.tests {
            object.insert("tests".to_owned(), json!({ "answered": answered, "false": false_ones }));
        }
        if !self.idle_rules.is_empty() {
            object.insert("idle_lose_rules".to_owned(), json!(self.idle_rules));
        }
        Value::Object(object)
    }
}

impl SwitchLatencies {
    fn to_json(&self) -> Value {
        let all = [
            ("combine_from_first_ns", &self.combine_from_first),
            ("combine_from_last_ns", &self.combine_from_last),
            ("distribute_to_last_ns", &self.distribute_to_last),
            ("distribute_to_mean_ns", &self.distribute_to_mean),
            ("stage_ns", &self.stage),
            ("root_ns", &self.root),
        ];
        let known = all.into_iter().filter_map(|(key, it)| Some((key.to_owned(), it.as_ref()?.to_json())));
        Value::Object(known.collect())
    }
}
