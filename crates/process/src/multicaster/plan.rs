//! How the operations of a machine are carried out: what all nodes know.

use super::To;
use super::root::{Loads, RootPolicy};
use crate::PlanError;
use flitway_fabric::{Flow, FlowKind};
use flitway_wiring::NodeId;
use flitway_wiring::multicast::{Ascent, GroupSettings, takes_ranges};
use flitway_wiring::routing::Routing;
use flitway_wiring::{GroupId, Groups, NodeSet};
use flitway_workload::multicast::Multicast;
use flitway_workload::multicast::tree::ForwardingTree;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How an operation is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By copies in the switches: one packet for the group.
    Hardware,
    /// By copies in the switches, to consecutive nodes only: one packet for each run of members (QsNetII).
    Ranges,
    /// By a packet from the sender to each of the others.
    Sequence,
    /// Along a binomial tree of nodes.
    Binomial,
    /// Along the tree that the postal model says is the fastest.
    Postal {
        /// Cycles between two packets of a node.
        gap: u64,
        /// Cycles from when a node begins to send until the receiver can.
        latency: u64,
    },
}

/// What decides how operations are carried out.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// How.
    pub method: Method,
    /// By way of which root, where switches copy.
    pub root: RootPolicy,
    /// What the switches can do for groups.
    pub switches: Copying,
    /// Rails.
    pub rails: u32,
    /// Cycles that the processor takes for a packet sent.
    pub send_overhead: u64,
    /// Cycles that it takes for one received.
    pub receive_overhead: u64,
    /// Of every random choice.
    pub seed: u64,
}

/// What switches copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// Packets for groups, of which their tables hold so many.
    Groups(u32),
    /// Worms, to any nodes.
    Worms,
    /// Broadcasts, to consecutive nodes.
    Ranges,
    /// Nothing.
    Nothing,
}

/// How the operations of a machine are carried out.
#[derive(Debug)]
pub struct MulticastPlan {
    multicast: Arc<Multicast>,
    settings: PlanSettings,
    /// The groups of the switches; none where nodes forward.
    groups: Groups,
    /// By group of the workload: those of the switches that it is made of.
    parts: Vec<Box<[GroupId]>>,
    /// By number of ranks.
    trees: BTreeMap<u32, ForwardingTree>,
    loads: Arc<Loads>,
}

impl MulticastPlan {
    /// Plans the operations of `multicast` on a fabric that `routing` routes.
    ///
    /// # Errors
    /// If its groups do not go with the fabric.
    pub fn new(
        multicast: &Arc<Multicast>,
        routing: &Routing,
        settings: PlanSettings,
    ) -> Result<Self, PlanError> {
        let mut plan = MulticastPlan {
            multicast: Arc::clone(multicast),
            loads: Arc::new(Loads::new(settings.rails, routing.topology().switches())),
            settings,
            groups: Groups::none(),
            parts: Vec::new(),
            trees: BTreeMap::new(),
        };
        match plan.settings.method {
            Method::Hardware | Method::Ranges => plan.lay(routing)?,
            Method::Sequence | Method::Binomial | Method::Postal { .. } => plan.grow_trees(),
        }
        Ok(plan)
    }

    fn lay(&mut self, routing: &Routing) -> Result<(), PlanError> {
        let in_runs = self.settings.method == Method::Ranges;
        match self.settings.switches {
            Copying::Nothing => Err(PlanError::NoCopies),
            Copying::Worms if in_runs => Err(PlanError::RangesOfWorms),
            Copying::Worms | Copying::Ranges if self.settings.root != RootPolicy::Table => {
                Err(PlanError::RootOfWorms)
            }
            Copying::Worms => Ok(()),
            Copying::Ranges if !takes_ranges(routing) => Err(PlanError::RangesNeedTree),
            Copying::Ranges => Ok(()),
            Copying::Groups(_) if self.multicast.is_fresh() => Err(PlanError::FreshNeedsWorms),
            Copying::Groups(room) => self.lay_groups(routing, room),
        }
    }

    fn lay_groups(&mut self, routing: &Routing, room: u32) -> Result<(), PlanError> {
        let in_runs = self.settings.method == Method::Ranges;
        let mut laid = Vec::new();
        for members in self.multicast.groups() {
            let first = laid.len();
            if in_runs {
                laid.extend(members.chunk_by(|a, b| a.0 + 1 == b.0).map(<[NodeId]>::to_vec));
            } else {
                laid.push(members.to_vec());
            }
            self.parts.push((first..laid.len()).map(GroupId::new).collect());
        }
        // Runs of nodes are named in the packet, not in a table.
        let needed = laid.len() as u32;
        if needed > room && !in_runs {
            return Err(PlanError::TooManyGroups { needed, room });
        }
        // Who is not in a run sends to it, too, so it has to climb to its root.
        let is_routed = in_runs || self.settings.root != RootPolicy::Table;
        let ascent = if is_routed { Ascent::Routed } else { Ascent::Table };
        let settings: Vec<GroupSettings> = (0..)
            .zip(laid)
            // Trees of different groups have different roots, as far as there are enough.
            .map(|(root, members)| GroupSettings { members, root })
            .collect();
        self.groups = Groups::new(routing, ascent, &settings).map_err(PlanError::Groups)?;
        Ok(())
    }

    fn grow_trees(&mut self) {
        for group in 0..self.multicast.groups().len() {
            let ranks = self.multicast.receivers(group as u32) + 1;
            self.trees.entry(ranks).or_insert_with(|| match self.settings.method {
                Method::Binomial => ForwardingTree::binomial(ranks),
                Method::Postal { gap, latency } => ForwardingTree::postal(ranks, gap, latency),
                Method::Sequence | Method::Hardware | Method::Ranges => ForwardingTree::sequence(ranks),
            });
        }
    }

    /// The groups to write into the tables of the switches.
    #[must_use]
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The operations.
    #[must_use]
    pub fn multicast(&self) -> &Arc<Multicast> {
        &self.multicast
    }

    /// What management says of the load of switches.
    #[must_use]
    pub fn loads(&self) -> &Arc<Loads> {
        &self.loads
    }

    /// The root policy.
    #[must_use]
    pub fn root(&self) -> RootPolicy {
        self.settings.root
    }

    /// Receivers of an operation in `group`.
    #[must_use]
    pub fn receivers(&self, group: u32) -> u32 {
        self.multicast.receivers(group)
    }

    /// How operations are carried out.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.settings.method
    }

    /// Cycles that the processor takes for a packet sent.
    #[must_use]
    pub fn send_overhead(&self) -> u64 {
        self.settings.send_overhead
    }

    /// Cycles that it takes for one received.
    #[must_use]
    pub fn receive_overhead(&self) -> u64 {
        self.settings.receive_overhead
    }

    /// The nodes to which `node` forwards the operation of `tag`.
    #[must_use]
    pub fn children(&self, tag: OperationTag, node: NodeId) -> Vec<NodeId> {
        let OperationTag { group, source, sequence } = tag;
        let Some(tree) = self.trees.get(&(self.multicast.receivers(group) + 1)) else { return Vec::new() };
        let members = self.multicast.members(group, source, sequence);
        let ranks = members.len() as u32;
        let place = |node: NodeId| members.binary_search(&node).map_or(0, |place| place as u32);
        let first = place(source);
        let children = tree.children((place(node) + ranks - first) % ranks);
        children.iter().map(|child| members[((first + child) % ranks) as usize]).collect()
    }

    /// The groups of the switches to which `source` sends an operation in `group`.
    #[must_use]
    pub fn parts(&self, group: u32, source: NodeId) -> Vec<GroupId> {
        let Some(parts) = self.parts.get(group as usize) else { return Vec::new() };
        parts.iter().copied().filter(|&part| self.groups.members(part) != [source]).collect()
    }

    /// The sets of nodes for which the sender of `tag` sends a worm or a broadcast each, if it does. Ranges are the fewest: one
    /// goes on across the sender, which then gets a copy, too.
    #[must_use]
    pub fn worms(&self, tag: OperationTag) -> Vec<NodeSet> {
        let sends = matches!(self.settings.method, Method::Hardware | Method::Ranges);
        let switches = self.settings.switches;
        if !sends || !matches!(switches, Copying::Worms | Copying::Ranges) {
            return Vec::new();
        }
        let members = self.multicast.members(tag.group, tag.source, tag.sequence);
        let receivers = NodeSet::new(members.iter().copied().filter(|&node| node != tag.source));
        match switches {
            Copying::Ranges => receivers.runs(&NodeSet::new([tag.source])),
            _ => vec![receivers],
        }
    }

    /// Ranges of an operation in the mean over its senders, of which some are looked at; `None` where operations are not cut
    /// into ranges.
    #[must_use]
    pub fn ranges_mean(&self) -> Option<f64> {
        /// Senders that are looked at in a group, and operations of each.
        const SENDERS: usize = 64;
        const OPERATIONS: u32 = 16;
        let operations = if self.multicast.is_fresh() { OPERATIONS } else { 1 };
        let mut counts = Vec::new();
        for (group, members) in (0..).zip(self.multicast.groups().iter()).filter(|it| it.1.len() > 1) {
            for &source in members.iter().step_by(members.len().div_ceil(SENDERS)) {
                let tag = |sequence| OperationTag { group, source, sequence };
                counts.extend((0..operations).map(|sequence| self.worms(tag(sequence)).len()));
            }
        }
        let sum: usize = counts.iter().sum();
        (self.settings.switches == Copying::Ranges && sum > 0).then(|| sum as f64 / counts.len() as f64)
    }

    /// Flits of a packet of the mean size, rounded up.
    pub(super) fn packet_flits(&self) -> u64 {
        self.multicast.mean_flits().ceil() as u64
    }

    pub(super) fn rails(&self) -> u32 {
        self.settings.rails
    }

    pub(super) fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// What the sender of `tag` sends when it begins the operation.
    pub(super) fn first_packets(&self, tag: OperationTag) -> Vec<To> {
        let parts = self.parts(tag.group, tag.source).into_iter().map(|part| To::Group(part, None));
        let worms = self.worms(tag).into_iter().map(|set| To::Set(Arc::new(set)));
        let children = self.children(tag, tag.source).into_iter().map(To::Node);
        parts.chain(worms).chain(children).collect()
    }

    /// What `node` sends on of an operation.
    pub(super) fn forwards(&self, tag: OperationTag, node: NodeId) -> Vec<To> {
        self.children(tag, node).into_iter().map(To::Node).collect()
    }
}

/// What the flow of a packet of an operation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationTag {
    /// The group of the workload, below 2^16.
    pub group: u32,
    /// Who began the operation.
    pub source: NodeId,
    /// How many operations it had begun before, modulo 2^24.
    pub sequence: u32,
}

impl OperationTag {
    /// What `flow` says, if it is that of an operation.
    #[inline]
    #[must_use]
    pub fn of(flow: Flow) -> Option<Self> {
        let part = |shift: u32, bits: u32| (flow.tag >> shift & ((1 << bits) - 1)) as u32;
        flow.is(FlowKind::Multicast).then(|| OperationTag {
            group: part(48, 16),
            source: NodeId(part(24, 24)),
            sequence: part(0, 24),
        })
    }
}

impl From<OperationTag> for Flow {
    fn from(tag: OperationTag) -> Flow {
        let OperationTag { group, source, sequence } = tag;
        let tag = u64::from(group) << 48 | u64::from(source.0) << 24 | u64::from(sequence & 0xFF_FFFF);
        Flow::new(FlowKind::Multicast, tag)
    }
}
