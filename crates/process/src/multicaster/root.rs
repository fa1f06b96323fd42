//! By way of which root a packet for a group goes (dawning5000.txt section 5.2, `mechanisms.md` 1.6).
//!
//! In a fat tree the root decides the whole way. The policies differ in what they make of the load of the candidates, which
//! out-of-band management tells everybody from time to time: between two tellings the load is stale, and all nodes that
//! decide in between know the same.

use super::MulticastPlan;
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::NodeId;
use flitway_wiring::{GroupId, RailId, SwitchId};
use std::sync::atomic::{AtomicU32, Ordering};

/// How a root is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootPolicy {
    /// The group has one, in the tables of the switches; packets are copied upwards and downwards at once.
    Table,
    /// Any, for each packet.
    Random,
    /// The one with the least load known; of equals the first.
    LeastLoaded,
    /// The same, where the sender adds what it has sent by way of each since the load was told (OQ-D5).
    LeastLoadedEstimated,
    /// Any of those whose load is not above the mean (HLSE).
    NotHeavilyLoaded,
}

impl RootPolicy {
    /// All policies with their names and what they do.
    pub const TABLE: [(&'static str, RootPolicy, &'static str); 5] = [
        ("table", RootPolicy::Table, "the root that the tables of the switches have for the group"),
        ("random", RootPolicy::Random, "any root, for each packet"),
        ("llp", RootPolicy::LeastLoaded, "the root with the least load that is known (LLP)"),
        (
            "llp-ec",
            RootPolicy::LeastLoadedEstimated,
            "the same, counting what the node has sent since the load was told (LLP_EC)",
        ),
        ("hlse", RootPolicy::NotHeavilyLoaded, "any root whose known load is not above the mean (HLSE)"),
    ];

    /// Whether it asks for the load of switches.
    #[must_use]
    pub fn looks_at_load(self) -> bool {
        !matches!(self, RootPolicy::Table | RootPolicy::Random)
    }
}

/// What management last said of the load of every switch: flits queued in it.
#[derive(Debug)]
pub struct Loads {
    switches: u32,
    /// By rail and switch.
    flits: Box<[AtomicU32]>,
    /// How often it has been told.
    told: AtomicU32,
}

impl Loads {
    pub(super) fn new(rails: u32, switches: u32) -> Self {
        let flits = (0..rails * switches).map(|_| AtomicU32::new(0)).collect();
        Loads { switches, flits, told: AtomicU32::new(0) }
    }

    /// Tells everybody: `flits` are those queued in the switches of rail 0, of rail 1, ... Nobody may be running.
    pub fn tell(&self, flits: impl IntoIterator<Item = u32>) {
        for (known, flits) in self.flits.iter().zip(flits) {
            known.store(flits, Ordering::Relaxed);
        }
        self.told.fetch_add(1, Ordering::Relaxed);
    }

    fn of(&self, rail: RailId, switch: SwitchId) -> u64 {
        u64::from(self.flits[(rail.0 * self.switches + switch.0) as usize].load(Ordering::Relaxed))
    }
}

/// What a node chooses with.
#[derive(Debug)]
pub(super) struct RootChooser {
    stream: Stream,
    /// Flits sent by way of each root of each rail since the load was told, for the last number of roots.
    sent: Vec<u64>,
    told: u32,
}

impl RootChooser {
    pub(super) fn new(plan: &MulticastPlan, node: NodeId) -> Self {
        RootChooser {
            stream: Stream::new(plan.seed(), node.0.into(), Purpose::Root),
            sent: Vec::new(),
            told: 0,
        }
    }

    /// The root of a packet of `node` for `group` in `rail`.
    pub(super) fn choose(&mut self, plan: &MulticastPlan, node: NodeId, rail: RailId, group: GroupId) -> u32 {
        let roots = plan.groups().roots(node, group);
        let policy = plan.root();
        if policy == RootPolicy::Table || roots == 1 {
            return 0;
        }
        if policy == RootPolicy::Random {
            return self.stream.below(u64::from(roots)) as u32;
        }
        let load = |root: u32| {
            plan.groups().root(node, group, root).map_or(0, |switch| plan.loads().of(rail, switch))
        };
        if policy == RootPolicy::NotHeavilyLoaded {
            let loads: Vec<u64> = (0..roots).map(load).collect();
            let sum: u64 = loads.iter().sum();
            let light: Vec<u32> =
                (0..roots).filter(|&root| loads[root as usize] * u64::from(roots) <= sum).collect();
            return light[self.stream.below(light.len() as u64) as usize];
        }
        let sent = self.sent(plan, rail, roots);
        let added = |root: u32| if policy == RootPolicy::LeastLoaded { 0 } else { sent[root as usize] };
        let least = (0..roots).min_by_key(|&root| (load(root) + added(root), root)).unwrap_or(0);
        sent[least as usize] += plan.packet_flits();
        least
    }

    /// Flits that the node has sent by way of each of `roots` in `rail` since the load was told.
    fn sent(&mut self, plan: &MulticastPlan, rail: RailId, roots: u32) -> &mut [u64] {
        let told = plan.loads().told.load(Ordering::Relaxed);
        let room = (plan.rails() * roots) as usize;
        if told != self.told || self.sent.len() != room {
            self.sent.clear();
            self.sent.resize(room, 0);
            self.told = told;
        }
        let first = (rail.0 * roots) as usize;
        &mut self.sent[first..first + roots as usize]
    }
}
