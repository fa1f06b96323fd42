//! Operations of NICs between two nodes: what they take, and with what.

mod json;
mod locks;
mod measured;
mod members;
mod misfit;
mod noisy;
mod threads;

use super::Session;
use super::job::{Background, Job as _};
use super::nodes::{Kinds, ask_nic};
use super::operations::Operations;
use crate::measure::{Measurement, Progress, measure_whole};
use crate::memory::peak_rss_bytes;
use crate::point::Point;
use crate::recorder::Recorder;
use crate::watch::Watch;
use flitway_engine::{Clock, Picos};
use flitway_fabric::Simulation;
use flitway_fabric::simulation::{Architecture, Counters};
use flitway_nic::host::program::{Program, Submission, Verb, Waits};
use flitway_nic::host::thread::{Code, ThreadFault};
use flitway_nic::host::{AnyHost, HostCounts, Hosted, Hosts, IdleTime, IdleTimes, OnABus, Way};
use flitway_process::Together;
use flitway_process::operator::{Done, Operator, OperatorSettings};
use flitway_switch::{AnyFabric, on_architecture};
use flitway_wiring::NodeId;
use flitway_wiring::topology::End;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use measured::{Measured, measured};

pub use flitway_nic::host::Noise;
pub use flitway_nic::host::program;
pub use flitway_nic::host::story::Stage;
pub use flitway_process::collective::CollectiveKind;
pub use flitway_process::locker::Taking;
pub use flitway_process::matching::Unexpected;
pub use flitway_process::operator::Manner;
pub use locks::LockChoice;
pub use members::Meets;
pub use misfit::NicMisfit;

/// Operations of a NIC, as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NicChoice {
    /// What is done.
    pub verb: Verb,
    /// Who does it, and with whom.
    pub nodes: [u32; 2],
    /// How descriptors reach the NIC.
    pub by: Submission,
    /// Whether they are reliable from end to end.
    pub is_reliable: bool,
    /// Data of each in bytes.
    pub bytes: u64,
    /// How many count, for each process.
    pub count: u32,
    /// How many come before those.
    pub warm_up: u32,
    /// How many are under way for each process; `None` for ping-pong.
    pub outstanding: Option<u32>,
    /// Processes of each node.
    pub processes: u32,
    /// Operations in a row, to and fro, in the place of one, each but the first started by the event of the one before; 1 for
    /// no such chain.
    pub chain: u32,
    /// How processes go about it.
    pub manner: Manner,
    /// Of an operation of all nodes from the one to the other: which, and how. Its verb is that of what goes down the tree.
    pub group: Option<GroupChoice>,
    /// Of sends that threads match with receives: how.
    pub matching: Option<MatchChoice>,
    /// Of a lock of the first node, which the processes of all others up to the last hand round: how.
    pub lock: Option<LockChoice>,
    /// When system software has the processors, if it has.
    pub noise: Option<Noise>,
}

/// How threads match sends with receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatchChoice {
    /// The place in the list of the receive that matches, 1 for the first.
    pub place: u32,
    /// What becomes of a message that no receive waits for.
    pub unexpected: Unexpected,
    /// For how long the process of the other node computes before it posts a receive.
    pub late: Picos,
}

/// An operation of many nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupChoice {
    /// Which.
    pub kind: CollectiveKind,
    /// Whether NICs carry it out, not processors.
    pub is_offloaded: bool,
    /// The most children of a node of their tree.
    pub arity: u32,
    /// Of a barrier of barrier modules of NICs: whether these tell each other, where switches could combine what they say.
    pub by_messages: bool,
}

impl NicChoice {
    /// Whether the caller sees the end of an operation.
    #[must_use]
    pub fn comes_back(&self) -> bool {
        self.group.is_some() || self.verb.comes_back() || self.chain.is_multiple_of(2)
    }

    /// The nodes that take part, in order: of two the caller's first.
    fn members(&self) -> Vec<u32> {
        let [from, to] = self.nodes;
        if self.group.is_some() || self.lock.is_some() { (from..=to).collect() } else { vec![from, to] }
    }

    /// The name of what is done.
    #[must_use]
    pub fn name(&self) -> &'static str {
        let of_one = if self.lock.is_some() { Verb::Lock } else { self.verb };
        self.group.map_or(of_one.name(), |group| group.kind.name())
    }
}

/// Operations that are fitted to a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicRun {
    choice: NicChoice,
    /// What threads run, if there are some.
    code: Option<Arc<Code>>,
}

impl NicRun {
    /// What was asked for.
    #[must_use]
    pub fn choice(&self) -> &NicChoice {
        &self.choice
    }
}

/// What came of operations of one size.
#[derive(Clone, Debug)]
pub struct NicResult {
    /// What was asked for.
    pub choice: NicChoice,
    /// The name of the program that threads ran.
    pub program: Option<String>,
    /// The first thread that could not go on, of the nodes in order, with the number of its node.
    pub fault: Option<(u32, ThreadFault)>,
    /// Whether all of them were seen.
    pub is_complete: bool,
    /// Whether the run was stopped from outside.
    pub is_stopped: bool,
    /// What the processes have seen of those that bring data to the other node, or for a get to the caller's.
    done: Vec<Done>,
    /// The latencies of those that count, in picoseconds, the shortest first.
    latencies: Vec<u64>,
    /// What both hosts have done.
    hosts: [HostCounts; 2],
    /// When the last operation was seen.
    end: Picos,
    clock: Clock,
    rails: u32,
    /// Flits per cycle that the links out of each node and into it carry of the longest packets.
    carries: [[f64; 2]; 2],
    /// What an operation takes in an idle machine, if it needs one packet.
    pub zero_load: Option<Picos>,
    /// The network, from the start until all operations were over.
    pub point: Point,
    /// Whether there was synthetic traffic beside them.
    has_traffic: bool,
    /// Totals.
    pub counters: Counters,
    /// Wall-clock time of the run.
    pub wall: Duration,
    /// The most memory that the process had used by its end, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

/// A part of a node, and the share of the time in which it was busy.
#[derive(Clone, Debug, PartialEq)]
pub struct Busy {
    /// What it is.
    pub part: &'static str,
    /// Of which of the two nodes: 0 is the caller's.
    pub side: usize,
    /// The share.
    pub share: f64,
}

/// A share from which on a part is what limits a stream.
const LIMITS: f64 = 0.9;

impl NicResult {
    /// The numbers of the object that `--json` has in `points`, but for those of the computer it ran on: path and unit.
    pub const FIELDS: &[(&str, &str)] = &[
        ("packets", "packets"),
        ("nic.size_bytes", "bytes"),
        ("nic.operations", "operations"),
        ("nic.latency_ns.mean", "ns"),
        ("nic.latency_ns.min", "ns"),
        ("nic.latency_ns.p50", "ns"),
        ("nic.latency_ns.p99", "ns"),
        ("nic.latency_ns.p999", "ns"),
        ("nic.latency_ns.max", "ns"),
        ("nic.zero_load_ns", "ns"),
        ("nic.bandwidth_mb_per_s", "MB/s"),
        ("nic.rate_per_s", "operations per s"),
        ("nic.hand_over_ns", "ns"),
        ("nic.processor_ns.sender", "ns"),
        ("nic.processor_ns.receiver", "ns"),
        ("offered_load", "fraction of the injection rate"),
        ("accepted_load", "fraction of the injection rate"),
        ("packet_latency_ns.mean", "ns"),
        ("packet_latency_ns.p50", "ns"),
        ("packet_latency_ns.p99", "ns"),
        ("packet_latency_ns.p999", "ns"),
        ("packet_latency_ns.max", "ns"),
        ("duration_ns", "ns"),
        ("events", "events"),
        ("packet_hops", "packets"),
        ("flit_hops", "flits"),
    ];

    /// The latencies of the operations that count, in picoseconds, the shortest first.
    #[must_use]
    pub fn latencies(&self) -> &[u64] {
        &self.latencies
    }

    /// Their mean in nanoseconds.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        let all = &self.latencies;
        (!all.is_empty()).then(|| all.iter().sum::<u64>() as f64 / all.len() as f64 / 1_000.0)
    }

    /// The latency that so many of a thousand of them do not exceed, in nanoseconds.
    #[must_use]
    pub fn percentile_ns(&self, permille: usize) -> Option<f64> {
        let place = (self.latencies.len() * permille).div_ceil(1_000).max(1) - 1;
        self.latencies.get(place).map(|&picos| Picos(picos).as_nanos())
    }

    /// Operations a second; `None` for ping-pong, whose latency says it, and if the run is too short. Those of a lock are
    /// counted from the first process that got it to the last. Those of many nodes follow each other, and are counted from when
    /// all processes have seen their warm-up until all have seen the last. Those of a stream are counted from when the warm-up
    /// of every process has been seen until the first process begins its last one: those that begin then, or those that are
    /// seen then, if they are fewer.
    #[must_use]
    pub fn rate_per_s(&self) -> Option<f64> {
        if self.choice.lock.is_some() {
            return self.turns_per_s().filter(|_| self.is_complete);
        }
        let from = self.done.iter().map(|done| done.warm).max()?;
        if self.choice.group.is_some() {
            let time = self.done.iter().map(Done::last).max()?.0.saturating_sub(from.0);
            let count = f64::from(self.choice.count);
            return (self.is_complete && time > 0).then(|| count / time as f64 * 1e12);
        }
        self.choice.outstanding.filter(|_| self.is_complete)?;
        let until = self.done.iter().filter_map(|done| done.begun.iter().max()).min()?;
        let within = |dates: &mut dyn Iterator<Item = &Picos>| {
            dates.filter(|&&date| from < date && date <= *until).count() as u32
        };
        let begun = within(&mut self.done.iter().flat_map(|done| &done.begun));
        let seen = within(&mut self.done.iter().flat_map(|done| &done.dates));
        let counted = begun.min(seen);
        (counted > 1).then(|| f64::from(counted) / (until.0 - from.0) as f64 * 1e12)
    }

    /// Data in MB (10^6 B) a second: of a stream over its time, of ping-pong over the latency of one.
    #[must_use]
    pub fn bandwidth_mb_per_s(&self) -> Option<f64> {
        let bytes = self.choice.bytes as f64;
        match self.choice.outstanding {
            // Of many nodes each has the data at another time.
            _ if !self.is_complete || self.choice.group.is_some() || self.choice.lock.is_some() => None,
            Some(_) => Some(self.rate_per_s()? * bytes / 1e6),
            None => Some(bytes / self.mean_ns()? * 1e3 * f64::from(self.choice.processes)),
        }
    }

    /// The mean time of each stage in nanoseconds, as an operation meets them; those that take none are left out.
    #[must_use]
    pub fn stages(&self) -> Vec<(Stage, f64)> {
        let count = self.latencies.len() as f64;
        let sum = |place: usize| self.done.iter().filter_map(|done| done.spent.get(place)).sum::<u64>();
        let all = Stage::all().enumerate().map(|(place, stage)| (stage, sum(place)));
        all.filter(|&(_, sum)| sum > 0).map(|(stage, sum)| (stage, sum as f64 / count / 1_000.0)).collect()
    }

    /// The mean time that the processors of the callers and of the others are busy for an operation, in nanoseconds, if all
    /// were seen. In ping-pong each sees and posts as many. `None` for a lock, whose processors are held by it.
    #[must_use]
    pub fn processor_ns(&self) -> Option<[f64; 2]> {
        if !self.is_complete || self.choice.lock.is_some() {
            return None;
        }
        let NicChoice { count, warm_up, outstanding, processes, .. } = self.choice;
        let both = u32::from(outstanding.is_none() && !self.choice.comes_back()) + 1;
        let operations = f64::from((count + warm_up) * processes * both);
        Some([0, 1].map(|side| self.hosts[side].busy.iter().sum::<u64>() as f64 / operations / 1_000.0))
    }

    /// How busy the parts of both nodes were, over the whole run, the busiest first.
    #[must_use]
    pub fn busy(&self) -> Vec<Busy> {
        let whole = self.end.0.max(1) as f64;
        let of = |side: usize| {
            let HostCounts { bus, busy, full, flits, .. } = &self.hosts[side];
            let processor = busy.iter().copied().max().unwrap_or(0);
            let link = |flits: u64, carries: f64| {
                (self.clock.nanos(flits as f64 / f64::from(self.rails) / carries) * 1e3) as u64
            };
            let [out_of, into] = self.carries[side];
            let links = [
                ("link into the node", link(*flits, into)),
                ("link out of the node", link(self.hosts[1 - side].flits, out_of)),
            ];
            let parts = std::iter::once(("processor", processor)).chain(bus.busy()).chain(links);
            let all = parts.chain(full.iter().copied());
            all.map(move |(part, time)| Busy { part, side, share: (time as f64 / whole).min(1.0) })
        };
        let mut all: Vec<Busy> = of(0).chain(of(1)).collect();
        all.sort_by(|a, b| b.share.total_cmp(&a.share));
        all
    }

    /// What limits a stream: the busiest part, if it is hardly ever idle.
    #[must_use]
    pub fn limit(&self) -> Option<Busy> {
        self.limits().into_iter().next()
    }

    /// All parts that are hardly ever idle in a stream, the busiest first: one of them may be so because it waits for another.
    #[must_use]
    pub fn limits(&self) -> Vec<Busy> {
        if self.choice.outstanding.is_none() || !self.is_complete {
            return Vec::new();
        }
        self.busy().into_iter().take_while(|busy| busy.share >= LIMITS).collect()
    }

    /// The load that the network accepts of the traffic beside the operations, if that is much less than is offered.
    #[must_use]
    pub fn accepted_of_saturated(&self) -> Option<f64> {
        /// The part of what is offered that a network which is not saturated accepts at least.
        const KEEPS_UP: f64 = 0.9;
        let Point { offered_load, accepted_load, .. } = self.point;
        (self.has_traffic && accepted_load < KEEPS_UP * offered_load).then_some(accepted_load)
    }

    /// What the NICs of the caller's node and of the other have counted.
    #[must_use]
    pub fn counters_of(&self, side: usize) -> &[(&'static str, u64)] {
        &self.hosts[side].nic
    }
}

/// Where a stage is, and what takes the time there.
#[must_use]
pub fn stage_names(stage: Stage) -> [&'static str; 2] {
    match stage {
        Stage::Near(unit) => ["near", unit.name()],
        Stage::NicPort => ["network", "NIC port"],
        Stage::Links => ["network", "links"],
        Stage::Switches => ["network", "switches"],
        Stage::Contention => ["network", "contention"],
        Stage::Far(unit) => ["far", unit.name()],
    }
}

impl Session {
    /// Fits `choice` to the machine.
    ///
    /// # Errors
    /// What does not fit.
    pub fn fit_nic(&self, choice: NicChoice) -> Result<NicRun, NicMisfit> {
        self.fit_nic_with(choice, None)
    }

    /// The same of operations that threads carry out which run `program`.
    ///
    /// # Errors
    /// What does not fit.
    pub fn fit_nic_with(&self, choice: NicChoice, program: Option<Arc<Code>>) -> Result<NicRun, NicMisfit> {
        let nodes = self.fabric.nodes();
        let code = threads::code(&choice, program);
        let nic = self.machine.nic.model.on_a_bus();
        if code.is_some() && !nic.is_some_and(|nic| nic.has_threads()) {
            return Err(NicMisfit::NoThreads);
        }
        if let Some(group) = choice.group {
            members::fit(&choice, group, nic)?;
        }
        self.nic_way(choice.verb, Some(choice.by))?;
        let nic = self.on_a_bus();
        if let Some(what) = nic.misses(self.fabric.rails, &self.fabric.chip.offers()) {
            return Err(NicMisfit::Misses(what));
        }
        if let Some(&node) = choice.nodes.iter().find(|&&node| node >= nodes) {
            return Err(NicMisfit::NoNode { node, nodes });
        }
        let NicChoice { verb, bytes, by, processes, is_reliable, .. } = choice;
        if is_reliable && !nic.has_reliable() {
            return Err(NicMisfit::NotReliable);
        }
        if !nic.takes(&choice.manner.setup()) {
            return Err(NicMisfit::NoSetup(choice.manner));
        }
        // What threads do not send with a message they have the DMA engine send.
        let (most, source) = nic.most(if code.is_some() { Verb::Get } else { verb });
        if let (Some(_), Some(_)) = (choice.matching, choice.outstanding)
            && !threads::matched(&choice, Arc::default(), nic).has_data()
        {
            return Err(NicMisfit::Fetched { bytes });
        }
        if bytes > most {
            let instead = match verb {
                Verb::Send | Verb::Store => Some(Verb::Put),
                Verb::Load => Some(Verb::Get),
                Verb::Put | Verb::Get | Verb::FetchAdd | Verb::Control | Verb::Event | Verb::Thread => None,
                Verb::Lock | Verb::TryLock | Verb::Unlock | Verb::Barrier => None,
            };
            let instead = instead.filter(|&other| !nic.ways(other).is_empty() && bytes <= nic.most(other).0);
            return Err(NicMisfit::TooLarge { verb, bytes, most, source, instead });
        }
        if choice.chain > 1 {
            nic.chains(&operators(&choice).operation(0, 0, 0)).map_err(NicMisfit::Misses)?;
        }
        let queues = nic.queues(by);
        if processes > queues {
            let others = nic.ways(verb).iter().filter(|it| **it != by).map(|&it| nic.queues(it)).sum();
            return Err(NicMisfit::NoQueue { by, queues, others });
        }
        Ok(NicRun { choice, code })
    }

    /// How the NIC is asked for `verb`: as is said, if it has that, or as it is first of all.
    ///
    /// # Errors
    /// What it does not have.
    pub fn nic_way(&self, verb: Verb, by: Option<Submission>) -> Result<Submission, NicMisfit> {
        let nic = self.machine.nic.model.on_a_bus().ok_or(NicMisfit::NoOperations)?;
        let ways = nic.ways(verb);
        let Some(&first) = ways.first() else {
            let has = Verb::ALL.map(|verb| (!nic.ways(verb).is_empty()).then_some(verb));
            return Err(NicMisfit::NoOperation { verb, has });
        };
        let by = by.unwrap_or(first);
        if ways.contains(&by) { Ok(by) } else { Err(NicMisfit::NoWay { verb, by, ways }) }
    }

    /// Runs operations to their end, with `background` traffic offered beside them by all nodes, past their NICs.
    pub fn nic(
        &self,
        run: &NicRun,
        background: Background<'_>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> NicResult {
        let mut fabric = self.fabric.clone();
        fabric.nic_ports = self.on_a_bus().ports();
        if let Some(group) = self.met_by_switches(&run.choice) {
            fabric.barriers = group;
        }
        on_architecture!(&fabric, A, fabric => self.nic_on::<A>(run, fabric, background, (stop, progress)))
    }

    fn nic_on<A: Architecture>(
        &self,
        run: &NicRun,
        fabric: &flitway_fabric::Fabric<A::Chip>,
        background: Background<'_>,
        (stop, progress): (&AtomicBool, &mut dyn FnMut(Progress)),
    ) -> NicResult {
        /// Cycles between two looks whether everything is over.
        const STRIDE: u64 = 1 << 10;
        let NicChoice { processes, .. } = run.choice;
        let (job, model) = (Operations::new(self, background.map(|it| it.0), None, None), self.hosts(run));
        let kinds = Kinds::<A, _> { fabric, nic: &model };
        let mut simulation = self.simulation_of(&job, kinds, &Watch::default(), self.fault_record(None));
        let mut course = self.managed(job.course::<A, Hosted<Together>>());
        let ends = run.choice.nodes.map(NodeId);
        let all: Vec<NodeId> = run.choice.members().into_iter().map(NodeId).collect();
        let is_over = |simulation: &mut Simulation<A, Hosted<Together>, Recorder>| {
            let looks = all.iter().map(|&node| ask_host::<A, _>(simulation, node, processes, Look::at));
            let looks: Vec<Look> = looks.collect();
            let lost = |it: &mut Recorder| it.faults().map_or(0, |faults| faults.messages_lost);
            let lost: u64 = simulation.gather_observers(lost).into_iter().sum();
            // What is lost is never answered: with nothing else under way, nothing comes any more.
            let unanswered: u64 = looks.iter().map(|look| look.unanswered).sum();
            let is_quiet = looks.iter().all(|look| look.is_quiet && look.under_way == lost);
            looks.iter().all(|look| look.is_done) || (is_quiet && unanswered <= lost)
        };
        let measurement = measure_whole(&mut simulation, STRIDE, &mut course, stop, progress, is_over);
        let faults = self.faults_result(&mut simulation, &course, &measurement);
        let offered = background.map_or(0.0, |(_, load)| load);
        let links = self.link_counts(&mut simulation);
        let point = Point { links, faults, ..Point::new(offered, &measurement, self.scale()) };
        let point = point.with_stages(&self.fabric, &measurement);
        let at = self.machine.clock.picos_floor(simulation.now());
        let seen = all.iter().map(|&node| {
            ask_host::<A, _>(&mut simulation, node, processes, |host, programs| {
                let done = programs.iter().map(|program| program.done().clone()).collect();
                Seen { done, counts: host.counts(at), is_done: Look::at(host, programs).is_done }
            })
        });
        let seen: Vec<Seen> = seen.collect();
        let is_complete = seen.iter().all(|it| it.is_done);
        let fault = all.iter().zip(&seen).find_map(|(node, it)| Some((node.0, it.counts.fault.clone()?)));
        let end = seen.iter().flat_map(|it| &it.done).map(Done::last).max().unwrap_or_default();
        let hosts = [seen.first(), seen.last()].map(|it| it.map(|it| it.counts.clone()).unwrap_or_default());
        let done = done_of(&run.choice, seen);
        let mut latencies: Vec<u64> = done.iter().flat_map(|done| done.latencies.iter().copied()).collect();
        latencies.sort_unstable();
        let Measurement { counters, wall, .. } = measurement;
        NicResult {
            choice: run.choice,
            program: run.code.as_ref().map(|code| code.name.clone()),
            fault,
            is_complete,
            is_stopped: point.is_stopped() && !is_complete,
            latencies,
            done,
            hosts,
            end,
            clock: self.machine.clock,
            rails: self.fabric.rails,
            carries: ends.map(|node| self.carries_of(node)),
            zero_load: self.nic_theory(&run.choice),
            point,
            has_traffic: background.is_some(),
            counters,
            wall,
            peak_rss_bytes: peak_rss_bytes(),
        }
    }

    /// The NIC of the machine, which is on a bus.
    fn on_a_bus(&self) -> &dyn OnABus {
        self.machine.nic.model.on_a_bus().expect("operations are fitted to a NIC that has them")
    }

    /// What makes the host of each node.
    fn hosts(&self, run: &NicRun) -> Hosts {
        let choice = run.choice;
        let NicChoice { nodes, processes, .. } = choice;
        let operators = operators(&choice);
        let meets = self.meets_by(&choice);
        let of_threads = run.code.clone().map(|code| threads::Programs::new(&choice, code, self.on_a_bus()));
        let programs = move |node: NodeId| {
            if let Some(of_threads) = &of_threads {
                return of_threads.of(node);
            }
            if let Some(lock) = choice.lock {
                let takes_part = (nodes[0]..=nodes[1]).contains(&node.0);
                return if takes_part { locks::programs(&choice, lock, node) } else { Vec::new() };
            }
            if let Some(group) = choice.group {
                let [first, last] = nodes;
                let takes_part = (first..=last).contains(&node.0);
                return if takes_part { members::programs(&choice, group, node, meets) } else { Vec::new() };
            }
            let side = nodes.iter().position(|&it| it == node.0);
            side.map(|side| programs(operators, side, processes)).unwrap_or_default()
        };
        let programs = Arc::new(move |node| noisy::all(choice.noise, programs(node)));
        self.on_a_bus().hosts(self.fabric.nodes(), self.machine.clock, idle_times(&self.fabric), programs)
    }

    /// Flits per cycle that the links out of `node` and into it carry of the longest packets, by rate, lanes and window.
    fn carries_of(&self, node: NodeId) -> [f64; 2] {
        let (switch, port) = self.fabric.topology().home(node);
        let format = self.fabric.chip.format();
        let flits = format.packet_flits(format.mtu_bytes);
        [End::Node(node), End::Switch(switch, port)].map(|end| self.fabric.carries(end, flits, 1.0))
    }

    /// When the first operation is seen in an idle machine with all translations.
    fn nic_theory(&self, choice: &NicChoice) -> Option<Picos> {
        if choice.group.is_some() {
            return None;
        }
        let clock = self.machine.clock;
        let [from, to] =
            choice.lock.map_or(choice.nodes, |_| [choice.nodes[0] + 1, choice.nodes[0]]).map(NodeId);
        let network = |at, way, payload: u16| {
            let (from, to) = if way == Way::There { (from, to) } else { (to, from) };
            let (cycles, _) = self.fabric.zero_load_cycles(from, to, payload.into());
            clock.picos_floor(clock.cycles_ceil(at) + cycles)
        };
        if let Some(matching) = choice.matching {
            let send = threads::matched(choice, Arc::default(), self.on_a_bus()).send(0, 0);
            let is_expected = matching.late == Picos(0);
            return self
                .on_a_bus()
                .matched_seen_at(&send, matching.place - 1, &network)
                .filter(|_| is_expected);
        }
        if let Some(lock) = choice.lock {
            return self.on_a_bus().seen_at(&locks::first(choice, lock), &network);
        }
        let operation = operators(choice).operation(0, 0, 0);
        match choice.chain {
            // Which faults an operation meets depends on those before it.
            _ if choice.manner.is_on_demand => None,
            1 if choice.manner.waits == Waits::Sleeping => {
                let seen = self.on_a_bus().seen_at(&operation, &network)?;
                Some(Picos(seen.0 + self.on_a_bus().wakes_in()?.0))
            }
            1 => self.on_a_bus().seen_at(&operation, &network),
            chain => self.on_a_bus().chain_seen_at(&operation, chain, &network),
        }
    }
}

/// What the processes of a node have seen in the end.
struct Seen {
    done: Vec<Done>,
    counts: HostCounts,
    is_done: bool,
}

/// What those have seen that the data come to, of all nodes that take part.
fn done_of(choice: &NicChoice, seen: Vec<Seen>) -> Vec<Done> {
    let mut done: Vec<Vec<Done>> = seen.into_iter().map(|it| it.done).collect();
    match choice.group {
        Some(group) => members::done(group, choice.warm_up, done.concat()),
        None if choice.lock.is_some() => done.concat(),
        None if choice.comes_back() => done.swap_remove(0),
        None => done.swap_remove(1),
    }
}

/// What is seen of a host from outside.
struct Look {
    /// Its processes have seen all that they are to see.
    is_done: bool,
    /// Nothing is due in it.
    is_quiet: bool,
    /// Packets of all NICs in the network, and of its own that have not been answered; lost ones too.
    under_way: u64,
    unanswered: u64,
}

impl Look {
    fn at(host: &dyn AnyHost, programs: &[&dyn Measured]) -> Look {
        let is_done = programs.iter().all(|program| program.is_done());
        let is_quiet = host.next().is_none();
        Look { is_done, is_quiet, under_way: host.under_way(), unanswered: host.unanswered() }
    }
}

fn operators(choice: &NicChoice) -> OperatorSettings {
    let NicChoice { verb, by, is_reliable, bytes, count, warm_up, outstanding, chain, manner, .. } = *choice;
    let nodes = choice.nodes.map(NodeId);
    OperatorSettings { verb, by, is_reliable, nodes, bytes, count, warm_up, outstanding, chain, manner }
}

fn programs(settings: OperatorSettings, side: usize, processes: u32) -> Vec<Box<dyn Program>> {
    let program = |process| Box::new(Operator::new(settings, process as u8, side == 0)) as Box<dyn Program>;
    (0..processes).map(program).collect()
}

/// What packets take in an idle network; looked up once for each pair and size.
fn idle_times(fabric: &AnyFabric) -> IdleTimes {
    let fabric = fabric.clone();
    let known: Mutex<BTreeMap<(NodeId, NodeId, u16), IdleTime>> = Mutex::default();
    Arc::new(move |from, to, payload| {
        // What a thread that panicked has left there is right.
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry((from, to, payload)).or_insert_with(|| {
            let bytes = u32::from(payload);
            let (all, hops) = fabric.zero_load_cycles(from, to, bytes);
            let [one, two] = [1, 2].map(|hops| fabric.chip.zero_load_cycles(hops, bytes));
            IdleTime { all, switches: (two - one) * u64::from(hops) }
        })
    })
}

/// What `ask` answers of the host of `node`.
fn ask_host<A: Architecture, T: Send + 'static>(
    simulation: &mut Simulation<A, Hosted<Together>, Recorder>,
    node: NodeId,
    processes: u32,
    ask: impl Fn(&dyn AnyHost, &[&dyn Measured]) -> T,
) -> T {
    ask_nic(simulation, node, |nic| {
        let host = &*nic.host_mut();
        let program = |process: u32| measured(host.program(process as u8));
        ask(host, &(0..processes).map(program).collect::<Vec<_>>())
    })
}
