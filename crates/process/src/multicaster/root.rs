//! By way of which root a packet for a group goes (dawning5000.txt section 5.2, `mechanisms.md` 1.6).
//!
//! In a fat tree the root decides the whole way. The policies differ in what they make of the load of the candidates, which
//! out-of-band management tells everybody from time to time: between two tellings the load is stale, and all nodes that
//! decide in between know the same. With LLP_EC management decides itself ([`Manager`]), and counts what it has issued since.

use super::MulticastPlan;
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::{GroupId, NodeId, RailId, SwitchId};
use std::collections::BTreeMap;
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
    /// The same, where management decides for all senders and adds what it has issued by way of each since the load was known
    /// (OQ-D5).
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
            "the same, counting what management has issued for all nodes since the load was known (LLP_EC)",
        ),
        ("hlse", RootPolicy::NotHeavilyLoaded, "any root whose known load is not above the mean (HLSE)"),
    ];

    /// Whether it asks for the load of switches.
    #[must_use]
    pub fn looks_at_load(self) -> bool {
        !matches!(self, RootPolicy::Table | RootPolicy::Random)
    }

    /// Whether management decides, for all nodes.
    #[must_use]
    pub fn is_managed(self) -> bool {
        self == RootPolicy::LeastLoadedEstimated
    }
}

/// What management last said of the load of every switch: flits queued in it.
#[derive(Debug)]
pub struct Loads {
    switches: u32,
    /// By rail and switch.
    flits: Box<[AtomicU32]>,
}

impl Loads {
    pub(super) fn new(rails: u32, switches: u32) -> Self {
        let flits = (0..rails * switches).map(|_| AtomicU32::new(0)).collect();
        Loads { switches, flits }
    }

    /// Tells everybody: `flits` are those queued in the switches of rail 0, of rail 1, ... Nobody may be running.
    pub fn tell(&self, flits: impl IntoIterator<Item = u32>) {
        for (known, flits) in self.flits.iter().zip(flits) {
            known.store(flits, Ordering::Relaxed);
        }
    }

    fn place(&self, rail: RailId, switch: SwitchId) -> usize {
        (rail.0 * self.switches + switch.0) as usize
    }

    fn of(&self, rail: RailId, switch: SwitchId) -> u64 {
        u64::from(self.flits[self.place(rail, switch)].load(Ordering::Relaxed))
    }
}

/// What a node chooses with.
#[derive(Debug)]
pub(super) struct RootChooser {
    stream: Stream,
}

impl RootChooser {
    pub(super) fn new(plan: &MulticastPlan, node: NodeId) -> Self {
        RootChooser { stream: Stream::new(plan.seed(), node.0.into(), Purpose::Root) }
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
        (0..roots).min_by_key(|&root| (load(root), root)).unwrap_or(0)
    }
}

/// Management that issues the multicasts of all nodes: it decides on their roots in the order in which they begin, of nodes
/// that begin at once the lowest first. To the load that it knows it adds what it has issued since it knows it. That nodes
/// need no time to ask is assumed.
#[derive(Debug)]
pub struct Manager {
    /// Flits issued by way of each switch of each rail since then.
    issued: Vec<u64>,
    /// Operations that begin before have a root.
    until: Cycle,
}

/// A packet of an operation to come.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub(super) created: Cycle,
    pub(super) node: NodeId,
    pub(super) rail: RailId,
    pub(super) group: GroupId,
}

impl Manager {
    /// That of the operations of `plan`.
    #[must_use]
    pub fn new(plan: &MulticastPlan) -> Self {
        Manager { issued: vec![0; plan.loads().flits.len()], until: Cycle::ZERO }
    }

    /// The load of switches is known anew: what nodes have not begun yet is decided once more, when they have
    /// [forgotten](super::Multicaster::forget_roots) the roots that they know.
    pub fn learn(&mut self) {
        self.issued.fill(0);
        self.until = Cycle::ZERO;
    }

    /// Whether operations that begin before `until` have no root yet. If so they get one now.
    pub fn is_to_decide(&mut self, until: Cycle) -> bool {
        let is_later = until > self.until;
        self.until = self.until.max(until);
        is_later
    }

    /// The roots of `requests`, those of all nodes, by node.
    #[must_use]
    pub fn decide(&mut self, plan: &MulticastPlan, mut requests: Vec<Request>) -> BTreeMap<NodeId, Vec<u32>> {
        // Those of one node are in order.
        requests.sort_by_key(|request| (request.created, request.node));
        let mut roots: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
        for request in requests {
            roots.entry(request.node).or_default().push(self.choose(plan, request));
        }
        roots
    }

    fn choose(&mut self, plan: &MulticastPlan, request: Request) -> u32 {
        let Request { node, rail, group, .. } = request;
        let (groups, loads) = (plan.groups(), plan.loads());
        let switch = |root| groups.root(node, group, root);
        let estimate = |root| {
            switch(root).map_or(0, |switch| loads.of(rail, switch) + self.issued[loads.place(rail, switch)])
        };
        let roots = groups.roots(node, group);
        let least = (0..roots).min_by_key(|&root| (estimate(root), root)).unwrap_or(0);
        if let Some(switch) = switch(least) {
            self.issued[loads.place(rail, switch)] += plan.packet_flits();
        }
        least
    }
}
