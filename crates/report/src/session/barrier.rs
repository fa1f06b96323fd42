//! Barriers on a machine: in the switches or by messages, alone or beside synthetic traffic.

use super::job::Background;
use super::operations::Operations;
use super::{Patience, Session};
use crate::barriers::Book;
use crate::measure::{Aim, Measurement, Plan, Progress};
use crate::point::{Point, Scale};
use crate::recorder::{Batch, Recorder};
use flitway_fabric::barrier::{Faults, Loss};
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{BarrierId, Simulation};
use flitway_nic::Nic;
use flitway_process::PlanError;
use flitway_process::synchroniser::{BarrierPlan, Method, PlanSettings};
use flitway_switch::AnyFabric;
use flitway_wiring::{GroupId, NodeId, NodeSet};
use flitway_workload::barrier::{Barrier, BarrierChoice};
use flitway_workload::multicast::members::Unfit;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// All ways to carry out a barrier, with their names and what they are.
pub const BY: [(&str, Method, &str); 6] = [
    ("hardware", Method::Switches, "switches combine up to a switch at the top and distribute from there"),
    ("node-root", Method::NodeRoot, "switches combine up to a node and distribute from there"),
    (
        "three-trips",
        Method::ThreeTrips,
        "a node asks, all answer, and it says that all have (QsNetII): where switches combine a multicast goes down, \
         combines come up and distributes go down; where they broadcast to ranges there are a broadcast, a message \
         from each member, and a broadcast",
    ),
    (
        "conditional",
        Method::Conditional,
        "a node tests by broadcasts, whose answers switches combine, whether all have arrived, until they have, and \
         broadcasts that (QsNetII)",
    ),
    (
        "central-counter",
        Method::CentralCounter,
        "a message to one member, which counts, and one back to each",
    ),
    ("pairwise", Method::PairWise, "messages in rounds, each to the member twice as far on (dissemination)"),
];

/// What decides how barriers are carried out and observed.
#[derive(Clone, Debug)]
pub struct BarrierSettings {
    /// Among whom, how often.
    pub choice: BarrierChoice,
    /// How.
    pub by: Method,
    /// Whether messages, and words with the NIC, take the processors of nodes for the overheads of the machine.
    pub has_overheads: bool,
    /// Packets of switches that are lost.
    pub losses: Vec<Loss>,
}

/// Why barriers cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BarrierMisfit {
    /// The groups.
    Groups(Unfit),
    /// The way they are carried out.
    Plan(PlanError),
    /// Switches are to combine, and cannot; but whether they broadcast to ranges.
    NoEngine {
        /// Whether they do.
        has_ranges: bool,
    },
    /// Nodes are to answer tests as they come, and their NICs do not take everything at once.
    NoTests,
    /// Messages are to be sent, and are above the MTU.
    AboveMtu {
        /// Bytes that a packet can have.
        mtu: u32,
    },
}

impl fmt::Display for BarrierMisfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BarrierMisfit::NoEngine { .. } => {
                f.write_str("the switches of this machine do not combine barriers")
            }
            BarrierMisfit::NoTests => f.write_str(
                "a test is answered as it comes, and the NICs of this machine do not take everything at once",
            ),
            BarrierMisfit::AboveMtu { mtu } => {
                write!(
                    f,
                    "messages of barriers have {} B and exceed the MTU, {mtu} B",
                    BarrierPlan::MESSAGE_BYTES
                )
            }
            BarrierMisfit::Groups(error) => error.fmt(f),
            BarrierMisfit::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BarrierMisfit {}

/// Barriers fitted to a machine.
#[derive(Clone, Debug)]
pub struct BarrierRun {
    plan: Arc<BarrierPlan>,
    /// The fabric with the groups in its registers and tables.
    fabric: AnyFabric,
    overheads: [u64; 2],
}

impl BarrierRun {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &BarrierPlan {
        &self.plan
    }

    pub(super) fn shared_plan(&self) -> &Arc<BarrierPlan> {
        &self.plan
    }

    /// Latency in cycles of a barrier of the first group with several members, when nothing else is in the network, in
    /// closed form. In the switches: the slowest member arrives when all others have. By messages, as in the LogP model: all
    /// arrive at once, and messages wait for each other at the member that counts alone. Where a root asks, it arrives
    /// last.
    #[must_use]
    pub fn zero_load(&self) -> u64 {
        let groups = self.plan.barrier().groups();
        let number = groups.iter().position(|members| members.len() > 1).unwrap_or(0) as u32;
        let members = self.some_of(number);
        let [send, receive] = self.overheads;
        let words = send + receive;
        match self.plan.method() {
            Method::Switches => words + self.slowest(number, &members, &members),
            Method::NodeRoot => {
                let root = self.plan.first(number);
                let others: Vec<NodeId> = members.into_iter().filter(|&node| node != root).collect();
                words + self.slowest(number, &others, &others)
            }
            Method::Conditional => self.tested(number),
            Method::ThreeTrips if self.plan.broadcasts() => {
                self.asked(number, &members) + receive + self.told(number)
            }
            Method::ThreeTrips => send + self.three_trips(number) + receive,
            Method::CentralCounter => self.counted(number, &members),
            Method::PairWise => self.rounds(number),
        }
    }

    /// `point` with what `measurement` says of them.
    pub(super) fn complete(&self, point: Point, measurement: &Measurement, scale: Scale<'_>) -> Point {
        let losses = &self.plan.barriers().faults().losses;
        let idle_rules = measurement.total.barriers.idle_rules(losses);
        let point = point.with_barrier(self.plan.is_of_switches(), self.zero_load(), measurement, scale);
        point.with_idle_rules(idle_rules)
    }

    /// Members of a group; some are enough of a large one.
    fn some_of(&self, group: u32) -> Vec<NodeId> {
        const SOME: usize = 64;
        let members = &self.plan.barrier().groups()[group as usize];
        let mut some: Vec<NodeId> = members.iter().copied().step_by(members.len().div_ceil(SOME)).collect();
        some.extend(members.last());
        some
    }

    /// From the arrival of the slowest of `last` to the slowest release of `released`.
    fn slowest(&self, group: u32, last: &[NodeId], released: &[NodeId]) -> u64 {
        let group = BarrierId(group);
        let pairs = last.iter().flat_map(|&last| released.iter().map(move |&member| (last, member)));
        pairs
            .filter_map(|(last, member)| self.fabric.zero_load_barrier_cycles(group, last, member))
            .max()
            .unwrap_or(0)
    }

    /// The root asks; whom it reaches last, answers last.
    fn three_trips(&self, group: u32) -> u64 {
        let root = self.plan.first(group);
        let payload = BarrierPlan::MESSAGE_BYTES.into();
        let asked = self.fabric.zero_load_copies(root, GroupId(group), 0, payload).unwrap_or_default();
        let others = asked.into_iter().filter(|&(node, _)| node != root);
        let Some((node, question)) = others.max_by_key(|&(_, cycles)| cycles) else { return 0 };
        let send = self.overheads[0];
        question + send + self.slowest(group, &[node], &self.some_of(group))
    }

    /// The first member writes its word like all others, then tests each range, and hears of the last of them.
    fn tested(&self, group: u32) -> u64 {
        let [send, receive] = self.overheads;
        let answered = self.broadcast(group).last().map_or(0, |sent| sent.0 + sent.1);
        send + answered + 1 + receive + self.told(group)
    }

    /// The first member broadcasts to each range that all members are released.
    fn told(&self, group: u32) -> u64 {
        let released = self.broadcast(group).into_iter().map(|(start, _, copy)| start + copy).max();
        released.unwrap_or(0) + self.overheads[1]
    }

    /// Broadcasts of the first member to its ranges, from when its processor begins to make them: when each goes out, after
    /// how long it is answered, and after how long its last copy has come.
    fn broadcast(&self, group: u32) -> Vec<(u64, u64, u64)> {
        let (first, payload) = (self.plan.first(group), BarrierPlan::MESSAGE_BYTES.into());
        let (mut made, mut free) = (0, 0);
        let sent = |range: &Arc<NodeSet>| {
            made += self.overheads[0];
            let start = free.max(made);
            let answer = self.fabric.zero_load_answer(first, range, payload).unwrap_or(0);
            free = start + answer;
            let copies = self.fabric.zero_load_worm(first, range, payload).unwrap_or_default();
            let copies = copies.into_iter().filter(|copy| copy.0 != first);
            (start, answer, copies.map(|copy| copy.1).max().unwrap_or(0))
        };
        self.plan.ranges(group).iter().map(sent).collect()
    }

    /// From a question of the first member, in as many broadcasts as there are ranges, until it has heard from all others:
    /// messages come one after the other.
    fn asked(&self, group: u32, members: &[NodeId]) -> u64 {
        let (root, send) = (self.plan.first(group), self.overheads[0]);
        let question = self.broadcast(group).into_iter().map(|(start, _, copy)| start + copy).max();
        let others = u64::from(self.plan.members(group)) - 1;
        let way =
            |&from: &NodeId| self.fabric.zero_load_cycles(from, root, BarrierPlan::MESSAGE_BYTES.into()).0;
        let way = members.iter().filter(|&&node| node != root).map(way).max().unwrap_or(0);
        let interval = self.fabric.packet_interval(root, BarrierPlan::MESSAGE_BYTES.into());
        let rest = others.saturating_sub(1) * interval / u64::from(self.fabric.rails);
        question.unwrap_or(0) + send + way + rest
    }

    fn counted(&self, group: u32, members: &[NodeId]) -> u64 {
        let counter = self.plan.first(group);
        let [send, receive] = self.overheads;
        let others = u64::from(self.plan.members(group)) - 1;
        let way = |from, to| self.fabric.zero_load_cycles(from, to, BarrierPlan::MESSAGE_BYTES.into()).0;
        let farthest = members.iter().filter(|&&node| node != counter);
        let way = farthest.map(|&node| way(node, counter).max(way(counter, node))).max().unwrap_or(0);
        let rails = u64::from(self.fabric.rails);
        let interval = self.fabric.packet_interval(counter, BarrierPlan::MESSAGE_BYTES.into());
        // Messages come and go one after the other, the first without a wait. Rails take turns.
        let all = |overhead: u64| overhead + others.saturating_sub(1) * overhead.max(interval / rails);
        send + way + all(receive) + all(send) + way + receive
    }

    /// Who is in a round when: it has been in the one before, and has got the message of that.
    fn rounds(&self, group: u32) -> u64 {
        let members = &self.plan.barrier().groups()[group as usize];
        let [send, receive] = self.overheads;
        let mut since = vec![0; members.len()];
        for round in 0..BarrierPlan::rounds(members.len() as u32) {
            let sent: Vec<u64> = since.iter().map(|since| since + send).collect();
            for (place, &from) in members.iter().enumerate() {
                let to = self.plan.partner(group, from, round);
                let way = self.fabric.zero_load_cycles(from, to, BarrierPlan::MESSAGE_BYTES.into()).0;
                let to = (place + (1 << round)) % members.len();
                since[to] = sent[to].max(sent[place] + way) + receive;
            }
        }
        since.into_iter().max().unwrap_or(0)
    }
}

/// Barriers that a batch should hold.
const OPERATIONS_PER_BATCH: f64 = 16.0;

impl Session {
    /// Fits `settings` to the machine.
    ///
    /// # Errors
    /// If groups or the way they are carried out do not fit.
    pub fn barrier(&self, settings: &BarrierSettings) -> Result<BarrierRun, BarrierMisfit> {
        let barrier = Barrier::build(&settings.choice, self.fabric.nodes(), self.seed);
        let barrier = Arc::new(barrier.map_err(BarrierMisfit::Groups)?);
        let offers = self.fabric.chip.offers();
        let ranges = offers.answers.filter(|_| offers.sets.is_some_and(|sets| !sets.any));
        let goes_by_ranges = settings.by == Method::ThreeTrips && ranges.is_some();
        if offers.barriers.is_none() && settings.by.is_of_switches() && !goes_by_ranges {
            return Err(BarrierMisfit::NoEngine { has_ranges: ranges.is_some() });
        }
        if settings.by == Method::Conditional && self.fabric.nic_ports.are_bounded() {
            return Err(BarrierMisfit::NoTests);
        }
        let mtu = self.machine.packet.mtu_bytes;
        if settings.by.sends_messages() && mtu < BarrierPlan::MESSAGE_BYTES.into() {
            return Err(BarrierMisfit::AboveMtu { mtu });
        }
        let overheads = self.overheads(settings.has_overheads);
        let plan = PlanSettings {
            method: settings.by,
            barriers_max: offers.barriers.map_or(0, |barriers| barriers.groups),
            groups_max: offers.groups.unwrap_or(0),
            ranges,
            shares_with_multicast: offers.barriers.is_some_and(|barriers| barriers.shares_with_groups),
            rails: self.fabric.rails,
            send_overhead: overheads[0],
            receive_overhead: overheads[1],
            faults: Faults { seed: self.seed, losses: settings.losses.clone() },
            seed: self.seed,
        };
        let plan = BarrierPlan::new(&barrier, &self.fabric.routing, plan).map_err(BarrierMisfit::Plan)?;
        let mut fabric = self.fabric.clone();
        (fabric.groups, fabric.barriers) = (plan.groups().clone(), plan.barriers().clone());
        Ok(BarrierRun { plan: Arc::new(plan), fabric, overheads })
    }

    /// Measures `run`, with `background` traffic offered beside it.
    pub fn barrier_point(
        &self,
        run: &BarrierRun,
        background: Background<'_>,
        patience: Patience,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let plan = self.plan_of_barriers(run, background, patience);
        let offered = background.map_or(0.0, |(_, load)| load);
        let job = Operations::new(self, background.map(|(traffic, _)| traffic), None, Some(run));
        let (point, measurement) = self.measured(&job, offered, &plan, stop, progress);
        run.complete(point, &measurement, self.scale())
    }

    /// The plan to measure `run`, with `background` traffic offered beside it.
    pub(super) fn plan_of_barriers(
        &self,
        run: &BarrierRun,
        background: Background<'_>,
        patience: Patience,
    ) -> Plan {
        let operations = run.plan.barrier().groups().len() as f64
            / (run.plan.barrier().interval() + run.zero_load()) as f64;
        let payload = background.map_or(0.0, |(traffic, _)| traffic.sizes().mean());
        let payload = payload.max(BarrierPlan::MESSAGE_BYTES.into());
        self.plan_of_operations([operations, OPERATIONS_PER_BATCH], payload, background, patience)
    }
}

/// The course of a run with barriers.
pub(super) struct Watched {
    book: Book,
    is_of_switches: bool,
}

impl Watched {
    pub(super) fn new(plan: &Arc<BarrierPlan>) -> Self {
        Watched { book: Book::new(plan), is_of_switches: plan.is_of_switches() }
    }

    /// Whose latency has to be known.
    pub(super) fn aim(&self) -> Aim {
        if self.is_of_switches { Aim::Barriers } else { Aim::MessageBarriers }
    }

    /// Adds the barriers that are over to `batch`.
    pub(super) fn collect<A: Architecture, N: Nic>(
        &mut self,
        simulation: &mut Simulation<A, N, Recorder>,
        batch: &mut Batch,
    ) {
        for signs in simulation.gather_observers(Recorder::take_signs) {
            self.book.enter_signs(signs);
        }
        self.book.close(&mut batch.barriers);
    }
}
