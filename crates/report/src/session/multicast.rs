//! Multicast operations on a machine: in the switches or by forwarding, alone or beside synthetic traffic.

use super::forwarding::Sender;
use super::job::Background;
use super::nodes::gather_processes;
use super::operations::Operations;
use super::{Patience, Session};
use crate::measure::{Measurement, Plan, Progress};
use crate::operations::Copies;
use crate::point::{ClosedForms, Point, Scale};
use crate::recorder::{Batch, Recorder};
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_engine::window::Outcome;
use flitway_fabric::Simulation;
use flitway_fabric::chip::Offers;
use flitway_fabric::simulation::Architecture;
use flitway_nic::Nic;
use flitway_process::multicaster::{
    Copying, Manager, Method, MulticastPlan, OperationTag, PlanSettings, RootPolicy,
};
use flitway_process::{Multicaster, PlanError, Together};
use flitway_switch::AnyFabric;
use flitway_wiring::multicast::Ascent;
use flitway_wiring::{GroupId, NodeId, NodeSet};
use flitway_workload::Fraction;
use flitway_workload::multicast::{Multicast, MulticastChoice, MulticastError};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How operations are carried out, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By copies in the switches.
    Hardware,
    /// By copies in the switches, for runs of consecutive nodes.
    Ranges,
    /// By packets from the sender to each of the others.
    Sequence,
    /// Along a binomial tree.
    Binomial,
    /// Along the tree of the postal model, with the overheads and latencies of this machine.
    Postal,
}

impl By {
    /// All ways, with their names and what they are.
    pub const TABLE: [(&'static str, By, &'static str); 5] = [
        (
            "hardware",
            By::Hardware,
            "copies in the switches: one packet for the group, or a worm for its receivers",
        ),
        (
            "ranges",
            By::Ranges,
            "copies in the switches for consecutive nodes only: one packet for each run of members (QsNetII)",
        ),
        ("sequence", By::Sequence, "a packet from the sender to each of the others"),
        ("binomial", By::Binomial, "nodes forward along a binomial tree over the ordered members (U-Min)"),
        ("postal", By::Postal, "nodes forward along the tree that the postal model says is the fastest"),
    ];
}

/// What decides how operations are carried out and observed.
#[derive(Clone, Debug)]
pub struct MulticastSettings {
    /// Among whom, how large, when.
    pub choice: MulticastChoice,
    /// How.
    pub by: By,
    /// By way of which root.
    pub root: RootPolicy,
    /// How long the load that is known of switches stays the same.
    pub staleness: Cycle,
    /// Whether packets of operations take the processors of nodes for the overheads of the machine.
    pub has_overheads: bool,
}

/// Why operations cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MulticastMisfit {
    /// Groups, sizes, load or arrivals.
    Operations(MulticastError),
    /// The way they are carried out.
    Plan(PlanError),
}

impl fmt::Display for MulticastMisfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MulticastMisfit::Operations(error) => error.fmt(f),
            MulticastMisfit::Plan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MulticastMisfit {}

/// Operations fitted to a machine, at one load.
#[derive(Clone, Debug)]
pub struct MulticastRun {
    plan: Arc<MulticastPlan>,
    /// The fabric with the groups in its tables.
    fabric: AnyFabric,
    offered_load: f64,
    staleness: Cycle,
}

impl MulticastRun {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &MulticastPlan {
        &self.plan
    }

    pub(super) fn shared_plan(&self) -> &Arc<MulticastPlan> {
        &self.plan
    }

    /// Flits of copies to be delivered, as a fraction of what all nodes can receive.
    #[must_use]
    pub fn offered_load(&self) -> f64 {
        self.offered_load
    }

    /// Operations that all senders together begin in a cycle.
    #[must_use]
    pub fn operations_per_cycle(&self) -> f64 {
        let multicast = self.plan.multicast();
        multicast.rate().as_f64() * multicast.senders() as f64
    }

    /// Latency in cycles of the last copy of an operation with packets of the mean size when nothing else is in the network,
    /// in closed form: the mean over senders of the first group with receivers. Packets of one operation do not wait for
    /// each other but at their sender, as in the LogP model; where those overtake each other on several virtual channels it is
    /// the mean over which they draw.
    #[must_use]
    pub fn zero_load_last_copy(&self) -> f64 {
        /// Senders that are looked at: of a large group some are enough.
        const SENDERS: usize = 64;
        /// Operations of each, where receivers are drawn for each anew.
        const OPERATIONS: u32 = 16;
        /// Draws over all senders, and packets of them.
        const DRAWS: usize = 512;
        const PACKETS: usize = 1 << 16;
        let groups = self.plan.multicast().groups();
        let number = groups.iter().position(|members| members.len() > 1).unwrap_or(0);
        let members = &groups[number];
        let some = members.iter().step_by(members.len().div_ceil(SENDERS));
        let draws =
            if self.overtakes() { DRAWS.min(PACKETS / members.len()).div_ceil(some.len()).max(1) } else { 1 };
        let operations = if self.plan.multicast().is_fresh() { OPERATIONS } else { 1 };
        let tag = |source, sequence| OperationTag { group: number as u32, source, sequence };
        let tags = some.flat_map(|&source| (0..operations).map(move |sequence| tag(source, sequence)));
        let mut lanes = Stream::new(0, 0, Purpose::Forwarding);
        let latest: Vec<u64> = tags
            .flat_map(|tag| std::iter::repeat_n(tag, draws))
            .map(|tag| self.last_copy_of(tag, &mut lanes))
            .collect();
        latest.iter().sum::<u64>() as f64 / latest.len().max(1) as f64
    }

    /// `point` with what `measurement` says of them.
    pub(super) fn complete(&self, point: Point, measurement: &Measurement, scale: Scale<'_>) -> Point {
        let closed = ClosedForms {
            offered_load: self.offered_load,
            last_copy_cycles: self.zero_load_last_copy(),
            ranges: self.plan.ranges_mean(),
        };
        point.with_multicast(&closed, measurement, scale)
    }

    /// Whether packets that a node sends one after the other overtake each other on several virtual channels, which then is in
    /// [`zero_load_last_copy`](Self::zero_load_last_copy).
    #[must_use]
    pub fn overtakes(&self) -> bool {
        self.is_forwarded() && !self.sender().keeps_order()
    }

    /// Whether nodes forward what they receive.
    fn is_forwarded(&self) -> bool {
        !matches!(self.plan.method(), Method::Hardware | Method::Ranges)
    }

    /// How a node sends packets to nodes.
    fn sender(&self) -> Sender {
        let lanes = self.fabric.chip.vcs() / self.fabric.routing.classes();
        Sender {
            rails: self.fabric.rails.into(),
            overhead: self.plan.send_overhead(),
            flits: self.plan.multicast().mean_flits().ceil() as u64,
            lanes: lanes.max(1).into(),
        }
    }

    fn last_copy_of(&self, tag: OperationTag, lanes: &mut Stream) -> u64 {
        let OperationTag { group, source, .. } = tag;
        let payload = self.plan.multicast().sizes().mean().ceil() as u32;
        let mut last = 0;
        let worms = self.plan.worms(tag);
        if !worms.is_empty() {
            return self.last_of_worms(source, &worms, payload) + self.plan.receive_overhead();
        }
        // Packets for groups have one lane.
        let of_groups = Sender { lanes: 1, ..self.sender() };
        let parts = self.plan.parts(group, source);
        for (start, part) in of_groups.starts(0, parts.len(), |_| 0).into_iter().zip(parts) {
            let copies = self.fabric.zero_load_copies(source, part, 0, payload).unwrap_or_default();
            let others = copies.into_iter().filter(|(node, _)| *node != source);
            last = others.map(|(_, cycles)| start + cycles).fold(last, u64::max);
        }
        // Who has a copy, and from when on it can forward it.
        let mut holders = vec![(source, 0)];
        while let Some((node, at)) = holders.pop() {
            let children = self.plan.children(tag, node);
            let starts = self.sender().starts(at, children.len(), |count| lanes.below(count));
            for (child, start) in children.into_iter().zip(starts) {
                let arrival = start + self.fabric.zero_load_cycles(node, child, payload).0;
                last = last.max(arrival);
                holders.push((child, arrival + self.plan.receive_overhead()));
            }
        }
        // Who has got the last copy takes it in.
        last + self.plan.receive_overhead()
    }
}

impl MulticastRun {
    /// When the last copy of `worms` comes that `source` sends one after the other; where they are answered each waits for the
    /// answers to the one before on its rail.
    fn last_of_worms(&self, source: NodeId, worms: &[NodeSet], payload: u32) -> u64 {
        let rails = self.fabric.rails as usize;
        let (mut free, mut made, mut last) = (vec![0; rails], 0, 0);
        for (place, set) in worms.iter().enumerate() {
            made += self.plan.send_overhead();
            let start = made.max(free[place % rails]);
            free[place % rails] = start + self.fabric.zero_load_answer(source, set, payload).unwrap_or(0);
            let copies = self.fabric.zero_load_worm(source, set, payload).unwrap_or_default();
            let others = copies.iter().filter(|copy| copy.0 != source);
            last = others.map(|copy| start + copy.1).fold(last, u64::max);
        }
        last
    }
}

/// Operations that a batch should hold.
const OPERATIONS_PER_BATCH: f64 = 100.0;

impl Session {
    /// Fits `settings` to the machine at `load`.
    ///
    /// # Errors
    /// If groups, sizes or the way they are carried out do not fit.
    pub fn multicast(
        &self,
        settings: &MulticastSettings,
        load: Fraction,
    ) -> Result<MulticastRun, MulticastMisfit> {
        let nodes = self.fabric.nodes();
        let offers = self.fabric.chip.offers();
        let sets = offers.sets.filter(|_| matches!(settings.by, By::Hardware | By::Ranges));
        let format = sets.map_or(self.machine.packet, |sets| sets.format);
        let flits = |payload: u16| format.packet_flits(u32::from(payload)) as u16;
        let injection = self.injection(&flits, load);
        let multicast = Multicast::build(&settings.choice, nodes, &injection, self.seed)
            .map_err(MulticastMisfit::Operations)?;
        let [send_overhead, receive_overhead] = self.overheads(settings.has_overheads);
        let plan = PlanSettings {
            method: self.method(settings, &multicast, [send_overhead, receive_overhead]),
            root: settings.root,
            switches: copying(&offers),
            rails: self.fabric.rails,
            send_overhead,
            receive_overhead,
            seed: self.seed,
        };
        let plan = MulticastPlan::new(&Arc::new(multicast), &self.fabric.routing, plan)
            .map_err(MulticastMisfit::Plan)?;
        let mut fabric = self.fabric.clone();
        fabric.groups = plan.groups().clone();
        Ok(MulticastRun {
            plan: Arc::new(plan),
            fabric,
            offered_load: load.as_f64(),
            staleness: settings.staleness,
        })
    }

    /// The way of `settings`, on this machine; `overheads` are those of sending and receiving, in cycles.
    fn method(&self, settings: &MulticastSettings, multicast: &Multicast, overheads: [u64; 2]) -> Method {
        let [send, receive] = overheads;
        match settings.by {
            By::Hardware => Method::Hardware,
            By::Ranges => Method::Ranges,
            By::Sequence => Method::Sequence,
            By::Binomial => Method::Binomial,
            By::Postal => {
                let payload = settings.choice.sizes.mean().ceil() as u32;
                // The most distant nodes: a tree has one latency.
                let crossing = self.fabric.zero_load_cycles_max(payload);
                Method::Postal {
                    gap: send.max(multicast.mean_flits().ceil() as u64),
                    latency: send + crossing + receive,
                }
            }
        }
    }

    /// Measures `run`, with `background` traffic offered beside it.
    pub fn multicast_point(
        &self,
        run: &MulticastRun,
        background: Background<'_>,
        patience: Patience,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Point {
        let plan = self.plan_of_multicast(run, background, patience);
        let offered = background.map_or(0.0, |(_, load)| load);
        let job = Operations::new(self, background.map(|(traffic, _)| traffic), Some(run), None);
        let (point, measurement) = self.measured(&job, offered, &plan, stop, progress);
        run.complete(point, &measurement, self.scale())
    }

    /// The plan to measure `run`, with `background` traffic offered beside it.
    pub(super) fn plan_of_multicast(
        &self,
        run: &MulticastRun,
        background: Background<'_>,
        patience: Patience,
    ) -> Plan {
        let operations = run.operations_per_cycle().max(1e-12);
        let payload = run.plan.multicast().sizes().mean();
        self.plan_of_operations([operations, OPERATIONS_PER_BATCH], payload, background, patience)
    }
}

/// What the switches copy.
fn copying(offers: &Offers) -> Copying {
    match (offers.groups, offers.sets) {
        (Some(groups), _) => Copying::Groups(groups),
        (None, Some(sets)) if sets.any => Copying::Worms,
        (None, Some(_)) => Copying::Ranges,
        (None, None) => Copying::Nothing,
    }
}

/// By group of the switches: copies of a packet for it that are delivered.
pub(super) fn copies_of(groups: &flitway_wiring::Groups) -> Arc<[u32]> {
    let own = u32::from(groups.ascent() == Ascent::Table);
    (0..groups.len()).map(|group| groups.members(GroupId::new(group)).len() as u32 - own).collect()
}

/// The course of a run with multicast operations: management tells the load of switches from time to time.
pub(super) struct Managed {
    plan: Arc<MulticastPlan>,
    period: u64,
    due: Cycle,
    /// It decides on roots, where it does.
    manager: Option<Manager>,
    /// Those of operations that are not over.
    copies: Copies,
}

impl Managed {
    pub(super) fn new(run: &MulticastRun) -> Self {
        // Nobody has been told of any load.
        run.plan.loads().tell(std::iter::repeat(0));
        let period = run.staleness.0.max(1);
        let manager = run.plan.root().is_managed().then(|| Manager::new(&run.plan));
        let (plan, due) = (Arc::clone(&run.plan), Cycle(period));
        Managed { plan, period, due, manager, copies: Copies::default() }
    }
}

impl Managed {
    /// Runs until `until`, or a little longer, and tells and learns in between.
    pub(super) fn advance<A: Architecture, N: Nic<Process = Together>>(
        &mut self,
        simulation: &mut Simulation<A, N, Recorder>,
        until: Cycle,
        stop: &AtomicBool,
    ) -> Outcome {
        if !self.plan.root().looks_at_load() {
            return simulation.run_until(until, stop);
        }
        loop {
            let end = until.min(self.due);
            // A run may pass its end by a window, and nodes of one side may be ahead.
            self.decide(simulation, end + 4 * simulation.window_length());
            let outcome = simulation.run_until(end, stop);
            if simulation.now() >= self.due {
                let loads = simulation.queued_flits();
                self.plan.loads().tell(loads.into_iter().map(|flits| flits.try_into().unwrap_or(u32::MAX)));
                self.due += self.period;
                if let Some(manager) = &mut self.manager {
                    manager.learn();
                    of_multicasters(simulation, |_, multicaster| multicaster.forget_roots());
                }
            }
            if outcome != Outcome::Reached || simulation.now() >= until {
                return outcome;
            }
        }
    }

    /// Decides on the roots of operations that begin before `until`, if management does.
    fn decide<A: Architecture, N: Nic<Process = Together>>(
        &mut self,
        simulation: &mut Simulation<A, N, Recorder>,
        until: Cycle,
    ) {
        let Some(manager) = &mut self.manager else { return };
        if !manager.is_to_decide(until) {
            return;
        }
        let requests = of_multicasters(simulation, |_, multicaster| multicaster.requests(until));
        let roots = manager.decide(&self.plan, requests.concat());
        of_multicasters(simulation, |node, multicaster| {
            multicaster.learn_roots(roots.get(&node).map_or(&[], Vec::as_slice));
        });
    }

    /// Adds the operations that are over to `batch`.
    pub(super) fn collect<A: Architecture, N: Nic>(
        &mut self,
        simulation: &mut Simulation<A, N, Recorder>,
        batch: &mut Batch,
    ) {
        for copies in simulation.gather_observers(Recorder::take_copies) {
            self.copies.merge(copies, &self.plan, &mut batch.operations);
        }
    }
}

/// What the multicast operations of each node that has some answer to `ask`.
fn of_multicasters<A: Architecture, N: Nic<Process = Together>, T: Default + Send + 'static>(
    simulation: &mut Simulation<A, N, Recorder>,
    ask: impl Fn(NodeId, &mut Multicaster) -> T,
) -> Vec<T> {
    gather_processes(simulation, |node, together| {
        together.multicaster_mut().map_or_else(T::default, |multicaster| ask(node, multicaster))
    })
}
