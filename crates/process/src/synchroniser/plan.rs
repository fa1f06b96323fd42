//! How the barriers of a machine are carried out: what all nodes know.

use crate::PlanError;
use flitway_fabric::barrier::{BarrierSettings, Faults, Root};
use flitway_fabric::chip::Repeats;
use flitway_fabric::{BarrierId, Barriers, Flow, FlowKind};
use flitway_wiring::NodeId;
use flitway_wiring::multicast::{Ascent, GroupSettings, takes_ranges};
use flitway_wiring::routing::Routing;
use flitway_wiring::{GroupId, Groups, NodeSet, RailId};
use flitway_workload::barrier::Barrier;
use std::sync::Arc;

/// How a barrier is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By the switches, up to a switch and down again (hpp-switch.txt section 2.4, dawning5000.txt section 4.2).
    Switches,
    /// By the switches, up to a node and down again.
    NodeRoot,
    /// The node at the root asks first, members answer, and it says that all are released (QsNetII, as dawning5000.txt
    /// section 4.2 describes it). Where switches combine barriers a multicast goes down, combines come up, and distributes go
    /// down; where they broadcast to ranges the first and the last are broadcasts, and a message comes from each member.
    ThreeTrips,
    /// The first member tests, by a broadcast that all nodes answer, whether all have arrived, again and again until they have,
    /// and broadcasts that they are released: the network conditional of QsNetII (`mechanisms.md` 3.8, OQ-Q11).
    Conditional,
    /// By messages to one member, which counts, and from it (hpp-switch.txt section 3.4).
    CentralCounter,
    /// By messages in rounds: in round `r` to the member `2^r` further on (hpp-switch.txt section 3.4: pair-wise).
    PairWise,
}

impl Method {
    /// Whether the switches combine, if they can.
    #[must_use]
    pub fn is_of_switches(self) -> bool {
        !matches!(self, Method::Conditional | Method::CentralCounter | Method::PairWise)
    }

    /// Whether nodes send [messages](BarrierPlan::MESSAGE_BYTES).
    #[must_use]
    pub fn sends_messages(self) -> bool {
        !matches!(self, Method::Switches | Method::NodeRoot)
    }
}

/// What decides how barriers are carried out.
#[derive(Clone, Debug)]
pub struct PlanSettings {
    /// How.
    pub method: Method,
    /// Barrier groups that the switches have room for.
    pub barriers_max: u32,
    /// Multicast groups that they have room for.
    pub groups_max: u32,
    /// When a test that was false is made again, where switches broadcast to ranges of nodes that answer; `None` where they do
    /// not.
    pub ranges: Option<Repeats>,
    /// Whether barrier packets share a virtual channel with multicast.
    pub shares_with_multicast: bool,
    /// Rails; groups take turns.
    pub rails: u32,
    /// Cycles that the processor takes for a message sent, and for an arrival that it tells its NIC.
    pub send_overhead: u64,
    /// Cycles that it takes for a message received, and for a release that its NIC tells.
    pub receive_overhead: u64,
    /// What happens to barrier packets of the switches on the way.
    pub faults: Faults,
    /// Of every random choice.
    pub seed: u64,
}

/// How the barriers of a machine are carried out.
#[derive(Debug)]
pub struct BarrierPlan {
    barrier: Arc<Barrier>,
    settings: PlanSettings,
    /// The barrier groups of the switches; none where messages do it.
    barriers: Barriers,
    /// The multicast groups; none unless the root asks first.
    groups: Groups,
    /// Of each group the ranges of its members, where they are broadcast to.
    ranges: Vec<Vec<Arc<NodeSet>>>,
}

impl BarrierPlan {
    /// Bytes of a message.
    pub const MESSAGE_BYTES: u16 = 8;

    /// Plans the operations of `barrier` on a fabric that `routing` routes.
    ///
    /// # Errors
    /// If its groups do not go with the fabric.
    pub fn new(barrier: &Arc<Barrier>, routing: &Routing, settings: PlanSettings) -> Result<Self, PlanError> {
        let mut plan = BarrierPlan {
            barrier: Arc::clone(barrier),
            settings,
            barriers: Barriers::none(),
            groups: Groups::none(),
            ranges: Vec::new(),
        };
        if plan.is_of_switches() {
            plan.lay_barriers(routing)?;
        }
        if plan.broadcasts() {
            plan.lay_ranges(routing)?;
        } else if plan.settings.method == Method::ThreeTrips {
            plan.lay_groups(routing)?;
        }
        Ok(plan)
    }

    fn lay_ranges(&mut self, routing: &Routing) -> Result<(), PlanError> {
        if self.settings.ranges.is_none() {
            return Err(PlanError::NoAnswers);
        }
        if !takes_ranges(routing) {
            return Err(PlanError::RangesNeedTree);
        }
        let runs = |members: Vec<NodeId>| NodeSet::new(members).runs(&NodeSet::default());
        let runs = |(_, members)| runs(members).into_iter().map(Arc::new).collect();
        self.ranges = self.all_members().map(runs).collect();
        Ok(())
    }

    fn lay_barriers(&mut self, routing: &Routing) -> Result<(), PlanError> {
        let (needed, room) = (self.barrier.groups().len() as u32, self.settings.barriers_max);
        if needed > room {
            return Err(PlanError::TooManyGroups { needed, room });
        }
        let group = |(number, members)| BarrierSettings {
            members,
            root: match self.settings.method {
                // Trees of different groups have different roots, as far as there are enough.
                Method::Switches => Root::Switch(number),
                _ => Root::Node(self.first(number)),
            },
            rail: self.rail(number),
        };
        let groups: Vec<BarrierSettings> = self.all_members().map(group).collect();
        let barriers = Barriers::new(routing, &groups).map_err(PlanError::Groups)?;
        self.barriers = barriers.with_faults(self.settings.faults.clone());
        Ok(())
    }

    fn lay_groups(&mut self, routing: &Routing) -> Result<(), PlanError> {
        if self.settings.shares_with_multicast {
            return Err(PlanError::SameChannel);
        }
        let (needed, room) = (self.barrier.groups().len() as u32, self.settings.groups_max);
        if needed > room {
            return Err(PlanError::TooManyGroups { needed, room });
        }
        let group = |(root, members)| GroupSettings { members, root };
        let groups: Vec<GroupSettings> = self.all_members().map(group).collect();
        self.groups = Groups::new(routing, Ascent::Table, &groups).map_err(PlanError::Groups)?;
        Ok(())
    }

    /// The number and the members of each group.
    fn all_members(&self) -> impl Iterator<Item = (u32, Vec<NodeId>)> {
        (0..).zip(self.barrier.groups().iter().map(|members| members.to_vec()))
    }

    /// Whether the switches combine.
    #[must_use]
    pub fn is_of_switches(&self) -> bool {
        self.settings.method.is_of_switches() && !self.broadcasts()
    }

    /// Whether the first member broadcasts to ranges of nodes.
    #[must_use]
    pub fn broadcasts(&self) -> bool {
        match self.settings.method {
            Method::Conditional => true,
            Method::ThreeTrips => self.settings.ranges.is_some(),
            Method::Switches | Method::NodeRoot | Method::CentralCounter | Method::PairWise => false,
        }
    }

    /// The ranges that the members of `group` are, where they are broadcast to.
    #[must_use]
    pub fn ranges(&self, group: u32) -> &[Arc<NodeSet>] {
        &self.ranges[group as usize]
    }

    /// Ranges of a group in the mean, where they are broadcast to.
    #[must_use]
    pub fn ranges_mean(&self) -> Option<f64> {
        let all: usize = self.ranges.iter().map(Vec::len).sum();
        self.broadcasts().then(|| all as f64 / self.ranges.len() as f64)
    }

    /// Cycles to wait with a test that was false so often before.
    pub(super) fn wait(&self, times: u32) -> u64 {
        self.settings.ranges.map_or(0, |repeats| repeats.wait(times))
    }

    /// The operations.
    #[must_use]
    pub fn barrier(&self) -> &Arc<Barrier> {
        &self.barrier
    }

    /// The barrier groups to write into the registers of the switches.
    #[must_use]
    pub fn barriers(&self) -> &Barriers {
        &self.barriers
    }

    /// The multicast groups to write into their tables.
    #[must_use]
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// How.
    #[must_use]
    pub fn method(&self) -> Method {
        self.settings.method
    }

    /// The member of `group` that counts, or asks, where one does.
    #[must_use]
    pub fn first(&self, group: u32) -> NodeId {
        let members = &self.barrier.groups()[group as usize];
        // Different groups have different ones, as far as there are enough.
        members[group as usize % members.len()]
    }

    /// Members of `group`.
    #[must_use]
    pub fn members(&self, group: u32) -> u32 {
        self.barrier.groups()[group as usize].len() as u32
    }

    /// The rail of the packets of `group` in the switches.
    #[must_use]
    pub fn rail(&self, group: u32) -> RailId {
        RailId(group % self.settings.rails)
    }

    /// The rounds that a group of `members` takes where messages go in rounds.
    #[must_use]
    pub fn rounds(members: u32) -> u32 {
        members.next_power_of_two().trailing_zeros()
    }

    /// The member to which `node` sends in `round`.
    #[must_use]
    pub fn partner(&self, group: u32, node: NodeId, round: u32) -> NodeId {
        let members = &self.barrier.groups()[group as usize];
        let place = members.binary_search(&node).expect("a process is one of a member");
        members[(place + (1 << round)) % members.len()]
    }

    pub(super) fn settings(&self) -> &PlanSettings {
        &self.settings
    }
}

/// What the flow of a message of a barrier says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierTag {
    /// Of which group, below 2^24; as many ranges a group can have.
    pub group: u32,
    /// Whether of an odd operation: that of the operation before may still be on its way.
    pub is_odd: bool,
    /// What it says.
    pub word: Word,
}

/// What a message of a barrier says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// To the member that counts: its sender has arrived.
    Arrived,
    /// From it: all have.
    Released,
    /// Of the root: who has arrived?
    Asked,
    /// Of this round.
    Round(u8),
    /// A test of the range with this number: have all arrived?
    Tested(u32),
}

impl BarrierTag {
    /// What `flow` says, if it is that of a message of a barrier.
    #[inline]
    #[must_use]
    pub fn of(flow: Flow) -> Option<Self> {
        if !flow.is(FlowKind::Barrier) {
            return None;
        }
        let tag = flow.tag;
        let word = match (tag >> 8 & 7, tag as u8) {
            (0, round) => Word::Round(round),
            (1, _) => Word::Arrived,
            (2, _) => Word::Released,
            (3, _) => Word::Asked,
            _ => Word::Tested((tag >> 40) as u32),
        };
        Some(BarrierTag { group: (tag >> 16 & 0xFF_FFFF) as u32, is_odd: tag >> 11 & 1 == 1, word })
    }
}

impl From<BarrierTag> for Flow {
    fn from(tag: BarrierTag) -> Flow {
        let word = match tag.word {
            Word::Round(round) => u64::from(round),
            Word::Arrived => 1 << 8,
            Word::Released => 2 << 8,
            Word::Asked => 3 << 8,
            Word::Tested(range) => 4 << 8 | u64::from(range) << 40,
        };
        let tag = u64::from(tag.group) << 16 | u64::from(tag.is_odd) << 11 | word;
        Flow::new(FlowKind::Barrier, tag)
    }
}

/// A group of the workload among those of the switches: they have the same numbers.
pub(super) fn barrier_id(group: u32) -> BarrierId {
    BarrierId(group)
}

/// The same for multicast.
pub(super) fn group_id(group: u32) -> GroupId {
    GroupId(group)
}
