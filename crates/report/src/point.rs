//! One load point of synthetic traffic: a measurement in the units of people, as a value and as JSON.

mod barrier;
#[cfg(test)]
mod tests;

pub use barrier::{BarrierPoint, Recovery};

use crate::details::Details;
use crate::faults::FaultsResult;
use crate::latencies::Latencies;
use crate::link_counts::LinkCounts;
use crate::measure::{Measurement, Unsettled, Verdict};
use crate::memory::peak_rss_bytes;
use crate::order::Order;
use crate::stages::Stages;
use crate::stats::Estimate;
use crate::tally::Tally;
use crate::theory::Theory;
use flitway_engine::Clock;
use flitway_fabric::Fabric;
use flitway_fabric::deadlock::{Deadlock, Fifo, Link, Need, Side};
use flitway_fabric::simulation::LinkCounters;
use flitway_wiring::Destination;
use flitway_wiring::topology::Topology;
use flitway_wiring::{NodeId, SwitchId};
use serde_json::{Map, Value, json};
use std::fmt;

/// A node that gets less through than this part of the mean is starved.
const STARVED: f64 = 0.1;

/// One latency, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// The mean over packets.
    pub mean: f64,
    /// Half-width of its 95 % confidence interval; `None` where there were too few batches.
    pub ci95: Option<f64>,
    /// Half of the packets were at least this fast.
    pub p50: f64,
    /// 99 % of the packets were at least this fast.
    pub p99: f64,
    /// 99.9 % of the packets were at least this fast.
    pub p999: f64,
    /// The slowest packet.
    pub max: f64,
}

/// One load point.
#[derive(Clone, Debug)]
pub struct Point {
    /// Offered load as asked for: a fraction of a node's injection rate.
    pub offered_load: f64,
    /// Load delivered: flits, header and trailer included, as a fraction of the injection rate of all nodes.
    pub accepted_load: f64,
    /// Half-width of its 95 % confidence interval.
    pub accepted_load_ci95: Option<f64>,
    /// The part of the accepted load that is payload.
    pub accepted_payload: f64,
    /// Load created: flits handed to NIC ports, as a fraction of the injection rate of all nodes. `None` beside
    /// multicast operations, whose packets are created with them.
    pub created_load: Option<f64>,
    /// How the measurement has ended.
    pub verdict: Verdict,
    /// Why a longer measurement would say something else, if it would.
    pub unsettled: Option<Unsettled>,
    /// Packets measured.
    pub packets: u64,
    /// Their mean payload in bytes.
    pub packet_bytes: f64,
    /// Switches crossed by a packet, in the mean.
    pub hops_mean: f64,
    /// Packets that came after a newer one of their pair of nodes; `None` where all of a pair take one way, or nodes are too
    /// many.
    pub reordered: Option<u64>,
    /// From creation to the last flit delivered, source queue included. `None` if no packet was delivered.
    pub packet_latency: Option<Latency>,
    /// From the head leaving the source to the last flit delivered.
    pub network_latency: Option<Latency>,
    /// Accepted load of the node that got least through.
    pub accepted_min_node: f64,
    /// Accepted load of the node that got most through.
    pub accepted_max_node: f64,
    /// Nodes that got less than a tenth of the mean through. Once it is saturated the network is unfair to them, unless the
    /// pattern leaves them silent.
    pub starved_nodes: u32,
    /// Simulated time measured, in nanoseconds.
    pub duration_ns: f64,
    /// Simulated time before that.
    pub warmup_ns: f64,
    /// Things that components did, warm-up included; and so for the next two.
    pub events: u64,
    /// Packets that have left a switch.
    pub packet_hops: u64,
    /// Their flits.
    pub flit_hops: u64,
    /// Adverts sent.
    pub adverts: u64,
    /// What links have made up for, warm-up included.
    pub link: LinkCounters,
    /// What each channel has counted of errors, the most affected first; those that have counted any.
    pub links: Vec<LinkCounts>,
    /// What broke and what came of it, where something was to break.
    pub faults: Option<FaultsResult>,
    /// The packets that wait for each other for ever, if there are any.
    pub deadlock: Option<Vec<WaitingPacket>>,
    /// What the channels carried, where that is measured, as a value and as JSON.
    pub stages: Option<(Stages, Value)>,
    /// What theory says of the traffic, as JSON, where it says something.
    pub theory: Option<Value>,
    /// What a report page shows beyond the rest, where somebody asks for it; it is not part of the result.
    pub details: Option<Box<Details>>,
    /// The replies to the packets, if they are answered; they do not count in the rest.
    pub reply: Option<ReplyPoint>,
    /// Multicast operations, if there are any; they do not count in the rest.
    pub multicast: Option<MulticastPoint>,
    /// Barriers, likewise.
    pub barrier: Option<BarrierPoint>,
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// The most memory that the process has used so far, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

/// What turns cycles and flits into nanoseconds and loads.
#[derive(Clone, Copy, Debug)]
pub struct Scale<'a> {
    /// The network clock.
    pub clock: Clock,
    /// A rail.
    pub topology: &'a Topology,
    /// NIC ports of a node; each can inject a flit a cycle.
    pub rails: u32,
    /// Bytes of a flit.
    pub flit_bytes: u32,
}

impl Point {
    /// What `measurement` says at `offered_load`.
    #[must_use]
    pub fn new(offered_load: f64, measurement: &Measurement, scale: Scale<'_>) -> Self {
        let total = &measurement.total;
        let packets = total.packets as f64;
        let per_node = f64::from(scale.rails);
        let everything = f64::from(scale.topology.nodes()) * per_node;
        let nodes = measurement.accepted_of.iter().map(|flits| flits / per_node);
        let starved = nodes.clone().sum::<f64>() / f64::from(scale.topology.nodes()) * STARVED;
        let created = total.created_flits - total.replies.created_flits;
        let payload_flits = total.payload as f64 / f64::from(scale.flit_bytes);
        // Without a steady mean an interval would tell how far the mean is from itself.
        let known = |estimate: Estimate| Estimate {
            half_width: if measurement.has_intervals { estimate.half_width } else { f64::INFINITY },
            ..estimate
        };
        let accepted = measurement.accepted;
        let accepted_ci95 = measurement.has_accepted_interval.then_some(accepted.half_width / everything);
        Point {
            offered_load,
            accepted_load: accepted.mean / everything,
            accepted_load_ci95: accepted_ci95.and_then(finite),
            accepted_payload: payload_flits / (everything * measurement.duration.max(1) as f64),
            created_load: finite(created as f64 / (everything * measurement.duration as f64)),
            verdict: measurement.verdict,
            unsettled: measurement.unsettled,
            packets: total.packets,
            packet_bytes: total.payload as f64 / packets.max(1.0),
            hops_mean: total.hops as f64 / packets.max(1.0),
            reordered: None,
            packet_latency: (total.packets > 0).then(|| {
                let max = total.packet_latency_max;
                latency(known(measurement.packet_latency), &total.packet_latencies, max, scale.clock)
            }),
            network_latency: (total.packets > 0).then(|| {
                let max = total.network_latency_max;
                latency(known(measurement.network_latency), &total.network_latencies, max, scale.clock)
            }),
            accepted_min_node: nodes.clone().fold(f64::INFINITY, f64::min),
            accepted_max_node: nodes.clone().fold(0.0, f64::max),
            starved_nodes: nodes.filter(|load| *load < starved).count() as u32,
            duration_ns: scale.clock.nanos(measurement.duration as f64),
            warmup_ns: scale.clock.nanos(measurement.warm_up as f64),
            events: measurement.counters.events,
            packet_hops: measurement.counters.packet_hops,
            flit_hops: measurement.counters.flit_hops,
            adverts: measurement.counters.adverts,
            link: measurement.counters.link,
            links: Vec::new(),
            faults: None,
            deadlock: measurement.deadlock.as_ref().map(|found| waiting_packets(found, scale)),
            stages: None,
            theory: None,
            details: None,
            reply: None,
            multicast: None,
            barrier: None,
            wall_s: measurement.wall.as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
        }
    }

    /// The point with what `measurement` says of the channels of `fabric`.
    #[must_use]
    pub fn with_stages(self, fabric: &Fabric, measurement: &Measurement) -> Self {
        let stages = Stages::new(fabric, measurement).map(|stages| stages.with_json(fabric.topology()));
        Point { stages, ..self }
    }

    /// The point with what `measurement` says of the order of packets on `fabric`, if it does.
    pub(crate) fn with_order(self, fabric: &Fabric, measurement: &Measurement) -> Self {
        Point { reordered: Order::is_counted(fabric).then_some(measurement.total.reordered), ..self }
    }

    /// The point with what `theory` says of its traffic.
    #[must_use]
    pub fn with_theory(self, theory: Option<&Theory>, clock: Clock) -> Self {
        Point { theory: theory.map(|theory| theory.to_json(clock)), ..self }
    }

    /// The point with what `measurement` says of the replies to its packets.
    #[must_use]
    pub fn with_replies(self, measurement: &Measurement, scale: Scale<'_>) -> Self {
        let of = &measurement.total.replies;
        let everything =
            f64::from(scale.topology.nodes()) * f64::from(scale.rails) * measurement.duration.max(1) as f64;
        let shown = |estimate: Estimate, tally: &Tally| {
            let half_width = if measurement.has_intervals { estimate.half_width } else { f64::INFINITY };
            let estimate = Estimate { mean: tally.mean(), half_width };
            tallied(estimate, tally, scale.clock)
        };
        let reply = ReplyPoint {
            accepted_load: of.flits as f64 / everything,
            packets: of.latency.count,
            packet_latency: shown(measurement.reply_latency, &of.latency),
            round_trip_latency: shown(measurement.round_trip, &of.round_trip),
        };
        Point { reply: Some(reply), ..self }
    }

    /// The point with what `measurement` says of multicast operations, and what is known of them before.
    #[must_use]
    pub fn with_multicast(self, closed: &ClosedForms, measurement: &Measurement, scale: Scale<'_>) -> Self {
        let of = &measurement.total.operations;
        let everything =
            f64::from(scale.topology.nodes()) * f64::from(scale.rails) * measurement.duration.max(1) as f64;
        let known = |estimate: Estimate, mean: f64| Estimate {
            mean,
            half_width: if measurement.has_intervals { estimate.half_width } else { f64::INFINITY },
        };
        let multicast = MulticastPoint {
            offered_load: closed.offered_load,
            accepted_load: of.flits as f64 / everything,
            zero_load_last_copy_ns: scale.clock.nanos(closed.last_copy_cycles),
            ranges: closed.ranges,
            operations: of.last.count,
            copies: of.copies,
            last_copy_latency: tallied(
                known(measurement.last_copy_latency, of.last.mean()),
                &of.last,
                scale.clock,
            ),
            mean_copy_latency: tallied(
                known(measurement.mean_copy_latency, of.mean.mean()),
                &of.mean,
                scale.clock,
            ),
            missed: measurement.counters.packets_missed,
        };
        Point { multicast: Some(multicast), created_load: None, ..self }
    }

    /// The numbers of the object that `--json` has in `points`, but for those of the computer it ran on: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("offered_load", "fraction of the injection rate"),
        ("accepted_load", "fraction of the injection rate"),
        ("accepted_load_ci95", "fraction of the injection rate"),
        ("accepted_payload", "fraction of the injection rate"),
        ("created_load", "fraction of the injection rate"),
        ("packets", "packets"),
        ("packet_bytes", "B"),
        ("hops_mean", "hops"),
        ("reordered", "packets"),
        ("packet_latency_ns.mean", "ns"),
        ("packet_latency_ns.ci95", "ns"),
        ("packet_latency_ns.p50", "ns"),
        ("packet_latency_ns.p99", "ns"),
        ("packet_latency_ns.p999", "ns"),
        ("packet_latency_ns.max", "ns"),
        ("network_latency_ns.mean", "ns"),
        ("network_latency_ns.ci95", "ns"),
        ("network_latency_ns.p50", "ns"),
        ("network_latency_ns.p99", "ns"),
        ("network_latency_ns.p999", "ns"),
        ("network_latency_ns.max", "ns"),
        ("accepted_min_node", "fraction of the injection rate"),
        ("accepted_max_node", "fraction of the injection rate"),
        ("starved_nodes", "nodes"),
        ("duration_ns", "ns"),
        ("warmup_ns", "ns"),
        ("events", "events"),
        ("packet_hops", "packets"),
        ("flit_hops", "flits"),
        ("adverts", "adverts"),
        ("link_errors.corrupted", "packets and acknowledgements"),
        ("link_errors.undetected", "packets"),
        ("link_errors.dropped", "packets"),
        ("link_errors.repeated", "packets"),
        ("link_errors.nacks", "acknowledgements"),
        ("link_errors.timeouts", "timeouts"),
        ("link_errors.refused", "packets"),
    ];

    /// Whether somebody stopped it before its end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.verdict == Verdict::Stopped
    }

    /// The object that `--json` has in `points`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut point = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                point.insert(key.to_owned(), value);
            }
        };
        put("offered_load", Some(json!(self.offered_load)));
        put("accepted_load", Some(json!(self.accepted_load)));
        put("accepted_load_ci95", self.accepted_load_ci95.map(|half| json!(half)));
        put("accepted_payload", Some(json!(self.accepted_payload)));
        put("created_load", self.created_load.map(|load| json!(load)));
        put("saturated", Some(json!(self.verdict == Verdict::Saturated)));
        put("verdict", Some(json!(self.verdict.name())));
        let limit = self.stages.as_ref().and_then(|(stages, _)| stages.limit);
        put("limit", limit.map(|limit| json!(limit.name())));
        let slow = self.stages.as_ref().and_then(|(stages, _)| stages.slow.as_ref());
        put("limit_link", slow.map(|slow| json!(slow)));
        put("unsettled", self.unsettled.map(|why| json!(why.name())));
        put("packets", Some(json!(self.packets)));
        put("packet_bytes", Some(json!(self.packet_bytes)));
        put("hops_mean", Some(json!(self.hops_mean)));
        put("reordered", self.reordered.map(|count| json!(count)));
        put("packet_latency_ns", self.packet_latency.as_ref().map(Latency::to_json));
        put("network_latency_ns", self.network_latency.as_ref().map(Latency::to_json));
        put("accepted_min_node", finite(self.accepted_min_node).map(|load| json!(load)));
        put("accepted_max_node", Some(json!(self.accepted_max_node)));
        put("starved_nodes", Some(json!(self.starved_nodes)));
        put("theory", self.theory.clone());
        put("channel_load", self.stages.as_ref().map(|(_, value)| value.clone()));
        put("duration_ns", Some(json!(self.duration_ns)));
        put("warmup_ns", Some(json!(self.warmup_ns)));
        put("events", Some(json!(self.events)));
        put("packet_hops", Some(json!(self.packet_hops)));
        put("flit_hops", Some(json!(self.flit_hops)));
        put("adverts", Some(json!(self.adverts)));
        put("link_errors", link_errors(&self.link));
        let (mut faults, mut links) =
            (self.faults.as_ref().map(FaultsResult::to_json), LinkCounts::to_json(&self.links));
        if let Some(faults) = faults.as_mut().and_then(Value::as_object_mut) {
            faults.extend(links.take().map(|links| ("links".to_owned(), links)));
        }
        put("links", links);
        put("faults", faults);
        put("deadlock", self.deadlock.as_ref().map(|ring| ring.iter().map(WaitingPacket::to_json).collect()));
        put("reply", self.reply.as_ref().map(ReplyPoint::to_json));
        put("multicast", self.multicast.as_ref().map(MulticastPoint::to_json));
        put("barrier", self.barrier.as_ref().map(BarrierPoint::to_json));
        put("wall_s", Some(json!(self.wall_s)));
        put("peak_rss_bytes", self.peak_rss_bytes.map(|bytes| json!(bytes)));
        Value::Object(point)
    }
}

/// What links have made up for, as an object; nothing where they corrupted nothing.
fn link_errors(link: &LinkCounters) -> Option<Value> {
    let LinkCounters { corrupted, undetected, dropped, repeated, nacks, timeouts, refused } = *link;
    (*link != LinkCounters::default()).then(|| {
        json!({
            "corrupted": corrupted,
            "undetected": undetected,
            "dropped": dropped,
            "repeated": repeated,
            "nacks": nacks,
            "timeouts": timeouts,
            "refused": refused,
        })
    })
}

/// One of the packets that wait for each other for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPacket {
    /// Where it is first in line.
    pub rail: u32,
    /// In a switch of that rail, at a port.
    pub switch: Option<(u32, u32)>,
    /// Or in a node.
    pub node: Option<u32>,
    /// At which side: `input` or `output`.
    pub side: &'static str,
    /// The virtual channel.
    pub vc: u8,
    /// Who sent it.
    pub source: u32,
    /// What that node is called.
    pub sender: String,
    /// For whom, in words.
    pub destination: String,
    /// Where in its rail it waits, in words.
    pub place: String,
    /// What it waits for, in words.
    pub needs: String,
}

impl WaitingPacket {
    fn to_json(&self) -> Value {
        let mut packet = json!({
            "rail": self.rail, "side": self.side, "vc": self.vc,
            "source": self.source, "destination": self.destination, "needs": self.needs, "text": self.to_string(),
        });
        if let Some((switch, port)) = self.switch {
            (packet["switch"], packet["port"]) = (json!(switch), json!(port));
        }
        if let Some(node) = self.node {
            packet["node"] = json!(node);
        }
        packet
    }
}

impl fmt::Display for WaitingPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WaitingPacket { rail, place, vc, sender, destination, needs, .. } = self;
        write!(f, "rail {rail}, {place}, VC {vc}: a packet of node {sender} for {destination} needs {needs}")
    }
}

/// Where packets wait: before the switch or node has done something with them, or after it.
fn side(fifo: &Fifo) -> &'static str {
    if fifo.side == Side::Output { "output" } else { "input" }
}

fn waiting_packets(deadlock: &Deadlock, scale: Scale<'_>) -> Vec<WaitingPacket> {
    let (names, switches) = (scale.topology.names(), scale.topology.switches());
    let place = |fifo: &Fifo| match fifo.switch.checked_sub(switches * scale.rails) {
        None => (fifo.switch / switches, Some((fifo.switch % switches, fifo.port.0)), None),
        Some(node) => (fifo.port.0, None, Some(node)),
    };
    let packet = |link: &Link| WaitingPacket {
        rail: place(&link.fifo).0,
        switch: place(&link.fifo).1,
        node: place(&link.fifo).2,
        side: side(&link.fifo),
        place: match place(&link.fifo) {
            (_, None, node) => {
                let buffer = if link.fifo.side == Side::Output { "source queue" } else { "receive buffer" };
                format!("node {}, {buffer}", names.node(NodeId(node.unwrap_or_default())))
            }
            (_, Some((switch, port)), _) => {
                format!("switch {}, {} port {port}", names.switch(SwitchId(switch)), side(&link.fifo))
            }
        },
        vc: link.fifo.vc,
        source: link.source.0,
        sender: names.node(link.source),
        destination: match link.destination {
            Destination::Node(node) => format!("node {}", names.node(node)),
            Destination::Group(group, _) => format!("group {group}"),
            Destination::Nodes(id) => format!("{} nodes", id.nodes),
        },
        needs: match link.need {
            Need::Output { output, by } => {
                format!("output port {output}, which is kept for the packet at input port {by}")
            }
            Need::Space { vc, units, .. } if place(&link.fifo).2.is_some() => {
                format!("room for {units} credit units on VC {vc} in the switch of the node")
            }
            Need::Space { output, vc, units, .. } => {
                format!("room for {units} credit units on VC {vc} behind output port {output}")
            }
            Need::Queue { .. } if place(&link.fifo).2.is_some() => {
                "room in the reply queue: one of the replies in it has to leave".to_owned()
            }
            Need::Queue { output, .. } => {
                format!("output port {output}, for which others are queued before it")
            }
            Need::Room { output } => {
                format!("room in the central buffer, of which packets for output port {output} have some")
            }
            Need::Copies { input, .. } => {
                format!("flits that the other copies of it keep out of the buffer at input port {input}")
            }
            Need::Flits { input, .. } => {
                format!("the rest of its own flits, which come by input port {input}")
            }
        },
    };
    deadlock.ring.iter().map(packet).collect()
}

/// The replies of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplyPoint {
    /// Flits of replies delivered, as a fraction of the injection rate of all nodes.
    pub accepted_load: f64,
    /// Replies delivered.
    pub packets: u64,
    /// From the creation of a reply to its last flit delivered. `None` if none was.
    pub packet_latency: Option<Latency>,
    /// From the creation of a request to the last flit of its reply delivered.
    pub round_trip_latency: Option<Latency>,
}

impl ReplyPoint {
    /// The numbers of the object `reply` of a point: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("reply.accepted_load", "fraction of the injection rate"),
        ("reply.packets", "packets"),
        ("reply.packet_latency_ns.mean", "ns"),
        ("reply.packet_latency_ns.ci95", "ns"),
        ("reply.packet_latency_ns.p50", "ns"),
        ("reply.packet_latency_ns.p99", "ns"),
        ("reply.packet_latency_ns.p999", "ns"),
        ("reply.packet_latency_ns.max", "ns"),
        ("reply.round_trip_latency_ns.mean", "ns"),
        ("reply.round_trip_latency_ns.ci95", "ns"),
        ("reply.round_trip_latency_ns.p50", "ns"),
        ("reply.round_trip_latency_ns.p99", "ns"),
        ("reply.round_trip_latency_ns.p999", "ns"),
        ("reply.round_trip_latency_ns.max", "ns"),
    ];

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("accepted_load".to_owned(), json!(self.accepted_load));
        object.insert("packets".to_owned(), json!(self.packets));
        let latencies = [
            ("packet_latency_ns", &self.packet_latency),
            ("round_trip_latency_ns", &self.round_trip_latency),
        ];
        for (key, latency) in latencies {
            if let Some(latency) = latency {
                object.insert(key.to_owned(), latency.to_json());
            }
        }
        Value::Object(object)
    }
}

/// The multicast operations of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct MulticastPoint {
    /// Flits of copies to be delivered, as a fraction of what all nodes can receive.
    pub offered_load: f64,
    /// Flits of copies delivered, likewise.
    pub accepted_load: f64,
    /// In closed form: the last copy when nothing else is in the network, in nanoseconds.
    pub zero_load_last_copy_ns: f64,
    /// Ranges of consecutive nodes into which an operation is cut, in the mean, where switches copy to such alone.
    pub ranges: Option<f64>,
    /// Operations that are over.
    pub operations: u64,
    /// Copies delivered.
    pub copies: u64,
    /// From the beginning of an operation to its last copy at a NIC. `None` if none is over.
    pub last_copy_latency: Option<Latency>,
    /// The same for the mean over its copies.
    pub mean_copy_latency: Option<Latency>,
    /// Packets for groups that a switch discarded for want of an entry in its table.
    pub missed: u64,
}

/// What is known of multicast operations before they are measured.
#[derive(Clone, Copy, Debug)]
pub struct ClosedForms {
    /// Flits of copies to be delivered, as a fraction of what all nodes can receive.
    pub offered_load: f64,
    /// Latency of the last copy when nothing else is in the network.
    pub last_copy_cycles: f64,
    /// Ranges of an operation, where its receivers are cut into such.
    pub ranges: Option<f64>,
}

impl MulticastPoint {
    /// The numbers of the object `multicast` of a point: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("multicast.offered_load", "fraction of what nodes can receive"),
        ("multicast.accepted_load", "fraction of what nodes can receive"),
        ("multicast.zero_load_last_copy_ns", "ns"),
        ("multicast.ranges", "ranges"),
        ("multicast.operations", "operations"),
        ("multicast.copies", "copies"),
        ("multicast.last_copy_latency_ns.mean", "ns"),
        ("multicast.last_copy_latency_ns.ci95", "ns"),
        ("multicast.last_copy_latency_ns.p50", "ns"),
        ("multicast.last_copy_latency_ns.p99", "ns"),
        ("multicast.last_copy_latency_ns.p999", "ns"),
        ("multicast.last_copy_latency_ns.max", "ns"),
        ("multicast.mean_copy_latency_ns.mean", "ns"),
        ("multicast.mean_copy_latency_ns.ci95", "ns"),
        ("multicast.mean_copy_latency_ns.p50", "ns"),
        ("multicast.mean_copy_latency_ns.p99", "ns"),
        ("multicast.mean_copy_latency_ns.p999", "ns"),
        ("multicast.mean_copy_latency_ns.max", "ns"),
        ("multicast.missed", "packets"),
    ];

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("offered_load".to_owned(), json!(self.offered_load));
        object.insert("accepted_load".to_owned(), json!(self.accepted_load));
        object.insert("zero_load_last_copy_ns".to_owned(), json!(self.zero_load_last_copy_ns));
        if let Some(ranges) = self.ranges {
            object.insert("ranges".to_owned(), json!(ranges));
        }
        object.insert("operations".to_owned(), json!(self.operations));
        object.insert("copies".to_owned(), json!(self.copies));
        for (key, latency) in [
            ("last_copy_latency_ns", &self.last_copy_latency),
            ("mean_copy_latency_ns", &self.mean_copy_latency),
        ] {
            if let Some(latency) = latency {
                object.insert(key.to_owned(), latency.to_json());
            }
        }
        object.insert("missed".to_owned(), json!(self.missed));
        Value::Object(object)
    }
}

impl Latency {
    fn to_json(&self) -> Value {
        let mut latency = Map::new();
        latency.insert("mean".to_owned(), json!(self.mean));
        if let Some(ci95) = self.ci95 {
            latency.insert("ci95".to_owned(), json!(ci95));
        }
        for (key, value) in [("p50", self.p50), ("p99", self.p99), ("p999", self.p999), ("max", self.max)] {
            latency.insert(key.to_owned(), json!(value));
        }
        Value::Object(latency)
    }
}

impl Verdict {
    /// The word for it in tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Steady => "steady",
            Verdict::Saturated => "saturated",
            Verdict::Deadlock => "deadlock",
            Verdict::Unsettled => "unsettled",
            Verdict::Stopped => "stopped",
        }
    }
}

fn latency(estimate: Estimate, histogram: &Latencies, max: u64, clock: Clock) -> Latency {
    // A bucket's upper edge may lie above the largest value in it.
    let quantile = |quantile| clock.nanos(histogram.value_at_quantile(quantile).min(max) as f64);
    Latency {
        mean: clock.nanos(estimate.mean),
        ci95: finite(clock.nanos(estimate.half_width)),
        p50: quantile(0.5),
        p99: quantile(0.99),
        p999: quantile(0.999),
        max: clock.nanos(max as f64),
    }
}

/// The latency of what has been tallied; `None` if that is nothing.
fn tallied(estimate: Estimate, tally: &Tally, clock: Clock) -> Option<Latency> {
    Some(latency(estimate, tally.latencies()?, tally.max, clock))
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
