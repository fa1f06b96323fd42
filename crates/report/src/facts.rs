//! What follows from a machine without running it: sizes, distances, latencies when nothing is in the way.

use crate::theory::rate_between_switches;
use flitway_fabric::{Fabric, Rate};
use flitway_machine::{Machine, Rounding};
use flitway_wiring::NodeId;
use flitway_wiring::bisection::{Bisection, bisection};
use flitway_wiring::topology::{End, Link, Topology};
use serde_json::{Value, json};

/// Facts derived from a machine.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Nodes.
    pub nodes: u32,
    /// Rails.
    pub rails: u32,
    /// Switches of one rail.
    pub switches_per_rail: u32,
    /// Links of one rail.
    pub links_per_rail: u32,
    /// Servers that have several NICs, each of which is a node; none where a node is on its own.
    pub servers: u32,
    /// The most NICs of one of them.
    pub nics_max: u32,
    /// Links of one rail that join the two halves of the nodes: what the structure says, or else what its cables tell; `None`
    /// where links are one-way.
    pub bisection: Option<Bisection>,
    /// The part of a flit a cycle that each of them carries; `None` where links between switches have several rates.
    pub bisection_rate: Option<f64>,
    /// Bits a second that a NIC port injects: one flit a cycle.
    pub injection_bits_per_second: u64,
    /// Bits a second that the links of nodes carry out of them, the slowest and the fastest, if some carry less than what
    /// links do otherwise.
    pub node_bits_per_second: Option<[u64; 2]>,
    /// Distances, shortest first.
    pub distances: Vec<Distance>,
    /// Mean hops between two different nodes.
    pub hops_mean: f64,
    /// Whether distances are those of all pairs of nodes; otherwise those from a sample of sources.
    pub all_pairs: bool,
    /// Payload of the packets whose latencies the distances give.
    pub payload_bytes: u32,
    /// Memory for switches and NIC ports without packets, about, in bytes.
    pub memory_bytes: u64,
    /// Lengths of time that are no whole number of cycles.
    pub roundings: Vec<Rounding>,
}

/// Pairs of nodes so many hops apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Switches crossed.
    pub hops: u32,
    /// The part of the ordered pairs of different nodes.
    pub share: f64,
    /// Packet latency when nothing is in the way, of the nearest pair, in nanoseconds.
    pub latency_min_ns: f64,
    /// And of the farthest; they differ where cables do.
    pub latency_max_ns: f64,
}

/// Nodes up to which all pairs are looked at, and beyond that about how many pairs, of how many sources at most.
const ALL_PAIRS_MAX: u32 = 2_048;
const SAMPLE: u32 = 256;
const PAIRS: u32 = 1 << 22;

impl Facts {
    /// The facts of `machine`, with latencies of packets of `payload_bytes`.
    #[must_use]
    pub fn new(machine: &Machine, fabric: &Fabric, payload_bytes: u32) -> Self {
        let topology = fabric.topology();
        let nodes = topology.nodes();
        let all_pairs = nodes <= ALL_PAIRS_MAX;
        let stride = if all_pairs { 1 } else { nodes / (PAIRS / nodes).clamp(1, SAMPLE) };
        let mut found: Vec<Option<(u64, u64, u64)>> = Vec::new();
        for source in (0..nodes).step_by(stride as usize).map(NodeId) {
            for destination in (0..nodes).map(NodeId).filter(|&destination| destination != source) {
                let (cycles, hops) = fabric.zero_load_cycles(source, destination, payload_bytes);
                if found.len() <= hops as usize {
                    found.resize(hops as usize + 1, None);
                }
                let entry = found[hops as usize].get_or_insert((0, cycles, cycles));
                *entry = (entry.0 + 1, entry.1.min(cycles), entry.2.max(cycles));
            }
        }
        let pairs: u64 = found.iter().flatten().map(|entry| entry.0).sum();
        let nanos = |cycles: u64| machine.clock.nanos(cycles as f64);
        let distances: Vec<Distance> = (0..)
            .zip(&found)
            .filter_map(|(hops, entry)| {
                let (count, least, most) = (*entry)?;
                let share = count as f64 / pairs as f64;
                Some(Distance { hops, share, latency_min_ns: nanos(least), latency_max_ns: nanos(most) })
            })
            .collect();
        let servers = topology.servers().iter().filter(|nics| nics.len() > 1);
        Facts {
            nodes,
            rails: fabric.rails,
            switches_per_rail: topology.switches(),
            links_per_rail: topology.links().len() as u32,
            servers: servers.clone().count() as u32,
            nics_max: servers.map(Vec::len).max().unwrap_or(1) as u32,
            bisection: bisection_of(topology),
            bisection_rate: rate_between_switches(fabric).map(Rate::as_f64),
            injection_bits_per_second: bits_per_second(machine, Rate::FULL),
            node_bits_per_second: node_bits_per_second(machine, fabric),
            // Of nothing the sum of floating-point numbers is minus zero.
            hops_mean: distances.iter().fold(0.0, |sum, it| sum + f64::from(it.hops) * it.share),
            distances,
            all_pairs,
            payload_bytes,
            memory_bytes: fabric.bytes(),
            roundings: machine.roundings(),
        }
    }

    /// The links between the halves of the nodes as a part of what is full: one for each node of a half.
    #[must_use]
    pub fn bisection_share(&self) -> Option<f64> {
        let full = f64::from(self.nodes / 2);
        self.bisection.as_ref().filter(|_| self.nodes > 1).map(|bisection| bisection.links as f64 / full)
    }

    /// As an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let distances: Vec<Value> = self
            .distances
            .iter()
            .map(|distance| {
                json!({
                    "hops": distance.hops,
                    "share": distance.share,
                    "latency_min_ns": distance.latency_min_ns,
                    "latency_max_ns": distance.latency_max_ns,
                })
            })
            .collect();
        let mut facts = json!({
            "nodes": self.nodes,
            "rails": self.rails,
            "switches_per_rail": self.switches_per_rail,
            "links_per_rail": self.links_per_rail,
            "injection_bits_per_second": self.injection_bits_per_second,
            "hops_mean": self.hops_mean,
            "all_pairs": self.all_pairs,
            "payload_bytes": self.payload_bytes,
            "distances": distances,
            "memory_bytes": self.memory_bytes,
        });
        if self.servers > 0 {
            facts["servers"] = json!({ "count": self.servers, "nics_max": self.nics_max });
        }
        if !self.roundings.is_empty() {
            let rounding =
                |it: &Rounding| json!({ "what": it.what, "exact_cycles": it.exact, "cycles": it.cycles });
            facts["roundings"] = self.roundings.iter().map(rounding).collect();
        }
        if let Some([least, most]) = self.node_bits_per_second {
            facts["node_bits_per_second"] = json!({ "least": least, "most": most });
        }
        if let Some(bisection) = &self.bisection {
            facts["bisection_links"] = json!(bisection.links);
            facts["bisection_is_exact"] = json!(bisection.is_exact);
        }
        if let Some(share) = self.bisection_share() {
            facts["bisection_share"] = json!(share);
        }
        facts
    }
}

/// What the structure of a topology says of its bisection, or what its cables tell.
fn bisection_of(topology: &Topology) -> Option<Bisection> {
    let known = topology.bisection_links().map(|links| Bisection { links, is_exact: true });
    known.or_else(|| bisection(topology))
}

/// Bits of flits that a channel of `rate` carries in a second, rounded down.
fn bits_per_second(machine: &Machine, rate: Rate) -> u64 {
    let ((cycles, seconds), (flits, of)) = (machine.clock.as_ratio(), rate.ratio());
    let bits = u128::from(cycles) * u128::from(machine.packet.flit_bytes) * 8 * u128::from(flits);
    u64::try_from(bits / (u128::from(seconds) * u128::from(of))).unwrap_or(u64::MAX)
}

/// Whether some channels carry less than what links do otherwise.
pub(crate) fn has_rates(fabric: &Fabric) -> bool {
    fabric.rates.iter().any(|rate| rate != fabric.chip.link_rate())
}

/// Bits a second from the first end of `link` to the second, and back.
pub(crate) fn link_bits_per_second(machine: &Machine, fabric: &Fabric, link: &Link) -> [u64; 2] {
    let senders = if link.is_one_way { [link.ends[0]; 2] } else { link.ends };
    senders.map(|end| bits_per_second(machine, fabric.rates.of(end)))
}

/// The least and the most that the links of nodes carry out of them, in bits a second; `None` if all carry what links do
/// otherwise.
fn node_bits_per_second(machine: &Machine, fabric: &Fabric) -> Option<[u64; 2]> {
    let rates = || (0..fabric.nodes()).map(|node| fabric.rates.of(End::Node(NodeId(node))));
    let bits = || rates().map(|rate| bits_per_second(machine, rate));
    let is_less = rates().any(|rate| rate != fabric.chip.link_rate());
    Some([bits().min()?, bits().max()?]).filter(|_| is_less)
}
