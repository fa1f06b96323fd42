//! A case: the machine, and what its processes do.

use super::Outcome;
use flitway_engine::random::{Purpose, Stream};
use flitway_engine::{Clock, Cycle, Picos};
use flitway_fabric::barrier::{BarrierSettings, Root};
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::observer::component_at;
use flitway_fabric::{ANY_PAYLOAD, Barriers, Fabric, Faults, LinkErrors, NicPorts, Rates};
use flitway_nic::elan4::ElanSettings;
use flitway_nic::host::Noise;
use flitway_nic::host::bus::{BusSettings, Reference};
use flitway_nic::host::program::{
    Collective, Completion, CountedEvent, Operation, Program, Setup, Submission,
};
use flitway_nic::host::thread::Thread;
use flitway_nic::nap::{self as dawning, NapSettings};
use flitway_nic::th::{MINI_PACKET, ThSettings};
use flitway_switch::{AnyFabric, SwitchSettings};
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{Topology, TopologySettings};
use flitway_wiring::{Groups, NodeId, RailId};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use flitway_nic::host::program::Verb;

mod chips;
mod elan4;
mod nap;
mod th;
mod threads;

pub(crate) use threads::RESULT;

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) nic: Nic,
    chip: SwitchSettings,
    topology: TopologySettings,
    latency: u32,
    errors: LinkErrors,
    faults: Faults,
    rails: u32,
    cycles: (u64, u64),
    /// No two operations touch the same bytes.
    pub(crate) are_apart: bool,
    /// Ends can wait for each other, or fill the network with what they say in vain: it is looked at as far as it has come.
    pub(crate) may_last: bool,
    /// By node and process.
    pub(crate) plans: Vec<Vec<Plan>>,
}

/// What becomes of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaks {
    /// None breaks.
    Never,
    /// Some do, and are mended.
    Mended,
    /// Some stay broken.
    Broken,
}

/// Which NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Th,
    Elan4,
    Nap,
}

/// A NIC with its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Nic {
    Th(ThSettings),
    Elan4(ElanSettings),
    Nap(NapSettings),
}

/// A node, a process there, and its valid addresses.
type ValidOf = ((usize, usize), Vec<Range<u64>>);

/// What a process does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// At the start.
    start: Vec<Operation>,
    /// One each time that it sees something.
    then: Vec<Operation>,
    /// Its counted events.
    events: Vec<CountedEvent>,
    /// What the system software has set up for it.
    setup: Setup,
    /// Its thread.
    thread: Option<Thread>,
}

impl Plan {
    /// What it asks for, and what its events start.
    fn operations(&self) -> impl Iterator<Item = &Operation> {
        let of_events = self.events.iter().flat_map(|event| &event.then);
        self.start.iter().chain(&self.then).chain(of_events)
    }

    fn has_sends(&self) -> bool {
        self.operations().any(|operation| operation.verb == Verb::Send)
    }
}

/// Where the data of an operation of a process come from, and where they go: node, process, byte.
pub(crate) fn ends(operation: &Operation, (node, process): (u32, u8)) -> [(u32, u8, u64); 2] {
    let own = (node, process, operation.here);
    let other = (operation.node.0, operation.process, operation.there);
    match operation.verb {
        Verb::Get | Verb::Load => [other, own],
        _ => [own, other],
    }
}

struct Dice {
    stream: Stream,
    /// All times are multiples of [`STEP`], so that very many dates coincide.
    is_coarse: bool,
}

/// Picoseconds.
const STEP: u64 = 16_000;

impl Dice {
    /// Those with that number of a case, which change nothing that others throw.
    fn new(seed: u64, number: u64) -> Self {
        Dice { stream: Stream::new(seed, number, Purpose::Test), is_coarse: seed.is_multiple_of(3) }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.stream.below(bound)
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(u64::from(high - low) + 1) as u32
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn rails(&mut self, kind: Kind) -> u32 {
        match kind {
            Kind::Th => self.between(1, 2),
            Kind::Elan4 => 1,
            Kind::Nap => self.between(1, 4),
        }
    }

    fn topology(&mut self) -> TopologySettings {
        match self.below(3) {
            0 => TopologySettings::FatTree { ports: 4, levels: 2 },
            _ => TopologySettings::Single { nodes: self.between(2, 6) },
        }
    }

    /// The clock of the network.
    fn cycles(&mut self) -> (u64, u64) {
        match self.is_coarse {
            true => self.pick(&[(62_500_000, 1), (125_000_000, 1), (1_000_000_000, 1)]),
            false => self.pick(&[(312_500_000, 1), (14_000_000_000, 33), (1_000_000_000, 1)]),
        }
    }

    /// Now and then none, or so long that dates coincide.
    fn time(&mut self) -> Picos {
        match self.below(8) {
            0 => Picos(0),
            1..4 => Picos(STEP * self.below(6)),
            _ if self.is_coarse => Picos(STEP * self.below(3)),
            _ => Picos(self.below(150_000)),
        }
    }
}

impl Case {
    pub(crate) fn of(kind: Kind, seed: u64) -> Self {
        let dice = &mut Dice::new(seed, 0);
        let [are_apart, is_reliable] = [dice.one_in(2), kind == Kind::Th && dice.one_in(2)];
        // What is reliable is no part of a collective operation.
        let has_collectives = kind == Kind::Th && !is_reliable && dice.one_in(2);
        let mut nic = match kind {
            Kind::Th => Nic::Th(th::settings(dice, are_apart && is_reliable || has_collectives)),
            Kind::Elan4 => Nic::Elan4(elan4::settings(dice)),
            Kind::Nap => Nic::Nap(nap::settings(dice)),
        };
        let topology = dice.topology();
        let (chip, errors, breaks) = match &nic {
            Nic::Th(settings) => th::chip(dice, settings, is_reliable),
            Nic::Elan4(settings) => {
                (elan4::chip(dice, settings.mtu), elan4::errors(dice, settings.mtu), Breaks::Never)
            }
            Nic::Nap(settings) => (nap::chip(dice, settings.mtu), LinkErrors::default(), Breaks::Never),
        };
        let rails = dice.rails(kind);
        // What is lost is known to the ends of reliable operations only.
        let unreliable = match (is_reliable, breaks) {
            (false, _) => Some(1),
            (true, Breaks::Never) => Some(3),
            (true, _) => None,
        };
        let nodes = Topology::build(&topology).expect("a topology").nodes();
        let mut next = vec![vec![0; PROCESSES as usize]; nodes as usize];
        let processes: Vec<u32> = (0..nodes).map(|_| dice.between(1, PROCESSES)).collect();
        let busiest = dice.pick(&[2, 4, u64::from(OPERATIONS) / 2]);
        let plans = (0..nodes).map(|node| {
            let plan = |process| {
                let mut operations = |dice: &mut Dice| {
                    let count = dice.below(busiest);
                    let of = (node, process as u8);
                    let one = |_| {
                        let is_reliable = unreliable.is_none_or(|one_in| !dice.one_in(one_in));
                        let next = are_apart.then_some(&mut next);
                        let operation = operation(dice, (&nic, has_collectives), of, &processes, next);
                        Operation { is_reliable, ..operation }
                    };
                    (0..count).map(one).collect()
                };
                Plan { start: operations(dice), then: operations(dice), ..Plan::default() }
            };
            (0..processes[node as usize]).map(plan).collect()
        });
        let mut plans: Vec<Vec<Plan>> = plans.collect();
        match &mut nic {
            // What is reliable and illegal is never done, and patient ends would try for ever.
            Nic::Th(_) if !(are_apart && is_reliable) && dice.one_in(2) => th::protect(dice, &mut plans),
            Nic::Th(_) => {}
            Nic::Elan4(of) => elan4::add(dice, of, &mut plans, are_apart.then_some(&mut next), seed),
            Nic::Nap(settings) => nap::finish(dice, seed, settings, &mut plans),
        }
        add_noise(&mut Dice { stream: Stream::new(seed, 3, Purpose::Test), ..*dice }, &mut plans);
        let cycles = dice.cycles();
        let faults = faults(dice, breaks, &topology, rails);
        let errors = LinkErrors { seed, ..errors };
        let latency = dice.between(1, 4);
        // Processes whose command queues are full of what the other refuses wait for each other.
        let mut all = plans.iter().flatten();
        let may_wait = kind == Kind::Elan4 && all.any(|plan| plan.has_sends() || plan.thread.is_some());
        let may_last = is_reliable && !are_apart || may_wait;
        Case { seed, nic, chip, topology, latency, errors, faults, rails, cycles, are_apart, may_last, plans }
    }

    /// Whether operations may wait for control packets, of which chance sends too few, or too many.
    pub(crate) fn has_collectives(&self) -> bool {
        let mut all = self.plans.iter().flatten().flat_map(Plan::operations);
        all.any(|operation| operation.collective != Collective::default() || operation.verb == Verb::Control)
    }

    /// Whether processes may wait for locks that nobody frees.
    pub(crate) fn has_locks(&self) -> bool {
        self.plans.iter().flatten().flat_map(Plan::operations).any(|operation| operation.verb == Verb::Lock)
    }

    /// Whether a process meets others by the barrier module of its NIC.
    pub(crate) fn meets(&self, node: usize, process: usize) -> bool {
        self.plans[node][process].setup.barrier.is_some()
    }

    pub(crate) fn has_threads(&self) -> bool {
        self.plans.iter().flatten().any(|plan| plan.thread.is_some())
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::ratio(self.cycles.0, self.cycles.1).expect("a clock")
    }

    pub(crate) fn fabric(&self) -> AnyFabric {
        let topology = Arc::new(Topology::build(&self.topology).expect("a topology"));
        let links = topology.links().len();
        let routing = Routing::new(RoutingKind::UpDown, topology).expect("up and down go anywhere");
        let bare = Fabric {
            barriers: self.barriers(&routing),
            routing,
            rails: self.rails,
            latencies: vec![self.latency; links],
            rates: Rates::full(),
            errors: self.errors.clone(),
            faults: self.faults.clone(),
            groups: Groups::none(),
            payloads: ANY_PAYLOAD,
            nic_ports: match self.nic {
                Nic::Th(_) | Nic::Nap(_) => NicPorts::Bounded,
                Nic::Elan4(_) => NicPorts::Answering,
            },
            chip: (),
        };
        self.chip.clone().fabric(bare)
    }

    /// The group of the switches whose nodes meet, if some do.
    fn barriers(&self, routing: &Routing) -> Barriers {
        let members = nap::meeters(&self.plans);
        if members.is_empty() {
            return Barriers::none();
        }
        let group = BarrierSettings { members, root: Root::Switch(0), rail: RailId(self.rails - 1) };
        Barriers::new(routing, &[group]).expect("a group of nodes")
    }

    /// The memory that operations are in, of each process.
    pub(crate) fn extent(&self) -> u64 {
        let plans = self.plans.iter().flatten();
        let operations = plans.flat_map(Plan::operations);
        operations.map(|it| it.here.max(it.there) + it.bytes).max().unwrap_or(0)
    }

    /// What is in memory at the start.
    pub(crate) fn first_byte(&self, node: u32, process: u8, byte: u64) -> u8 {
        let place = self.seed + (u64::from(node) << 48) + (u64::from(process) << 40) + byte;
        (place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
    }

    /// What the system software has set up for a process, if there is one of that number.
    fn setup(&self, node: u32, process: u8) -> Option<&Setup> {
        self.plans[node as usize].get(usize::from(process)).map(|plan| &plan.setup)
    }

    /// Whether an operation of a process is carried out, as far as keys and addresses go. `None` if it names a process that is
    /// not there, or perhaps in part.
    pub(crate) fn is_carried_out(&self, operation: &Operation, (node, process): (u32, u8)) -> Option<bool> {
        let own = self.setup(node, process)?;
        let other = self.setup(operation.node.0, operation.process)?;
        if matches!(self.nic, Nic::Elan4(_)) && own.valid.is_some() {
            // Its command queue may be in error by then.
            return None;
        }
        let has = |setup: &Setup, from: u64| {
            let is_in = |range: &Range<u64>| range.start <= from && from + operation.bytes <= range.end;
            setup.valid.as_ref().is_none_or(|valid| valid.iter().any(is_in))
        };
        let names_none = operation.verb == Verb::Send || own.is_physical;
        let is_valid = names_none || has(own, operation.here) && has(other, operation.there);
        if own.key == other.key { is_valid.then_some(true) } else { Some(false) }
    }

    /// Whether memory has not been written to where that is not valid, unless operations name physical addresses. A process
    /// takes what it is sent to its place itself.
    pub(crate) fn has_kept_what_is_not_valid(&self, outcome: &Outcome) -> bool {
        let sends = self.plans.iter().flatten().flat_map(Plan::operations).filter(|it| it.verb == Verb::Send);
        let sends: Vec<Operation> = sends.copied().collect();
        self.valid().into_iter().all(|((node, process), mut valid)| {
            let to_it =
                sends.iter().filter(|it| (it.node.index(), usize::from(it.process)) == (node, process));
            valid.extend(to_it.map(|it| it.there..it.there + it.bytes));
            let memory = outcome.nodes[node].memory[process].iter();
            (0..).zip(memory).all(|(byte, is)| {
                valid.iter().any(|range| range.contains(&byte))
                    || *is == self.first_byte(node as u32, process as u8, byte)
            })
        })
    }

    /// Whether the system software has set up something for processes.
    pub(crate) fn is_protected(&self) -> bool {
        let has_all =
            |setup: &Setup| Setup { is_on_demand: false, barrier: None, ..setup.clone() }.is_usual();
        !self.plans.iter().flatten().all(|plan| has_all(&plan.setup))
    }

    /// The valid addresses of processes that have others too, by node and process, where no operation names physical ones.
    fn valid(&self) -> Vec<ValidOf> {
        let mut all = Vec::new();
        for (node, plans) in self.plans.iter().enumerate() {
            for (process, Plan { setup, .. }) in plans.iter().enumerate() {
                match &setup.valid {
                    _ if setup.is_physical => return Vec::new(),
                    Some(valid) => all.push(((node, process), valid.to_vec())),
                    None => {}
                }
            }
        }
        all
    }

    /// The operations that were posted, by node, process and number.
    pub(crate) fn posted(&self, outcome: &Outcome) -> Vec<((u32, u8, u64), Operation)> {
        let mut all = Vec::new();
        for (node, plans) in (0..).zip(&self.plans) {
            for (process, plan) in (0..).zip(plans) {
                let posted = outcome.nodes[node as usize].posted[usize::from(process)];
                let operations = plan.start.iter().chain(&plan.then).take(posted);
                all.extend((0..).zip(operations).map(|(number, it)| ((node, process, number), *it)));
            }
        }
        all
    }

    /// This case with one rail, without errors, without faults, without the operations of one process, or without one of them.
    pub(crate) fn smaller(&self) -> Vec<Case> {
        let mut all = Vec::new();
        let mut one = Vec::new();
        if self.rails > 1 {
            all.push(Case { rails: 1, ..self.clone() });
        }
        if !self.errors.are_none() {
            all.push(Case { errors: LinkErrors::default(), ..self.clone() });
        }
        if !self.faults.are_none() {
            all.push(Case { faults: Faults::default(), ..self.clone() });
        }
        for (node, plans) in self.plans.iter().enumerate() {
            for (process, plan) in plans.iter().enumerate() {
                let (start, then) = (plan.start.len(), plan.then.len());
                if start + then > 1 && plan.setup.barrier.is_none() {
                    let mut case = self.clone();
                    let plan = plan.clone();
                    case.plans[node][process] = Plan { start: Vec::new(), then: Vec::new(), ..plan };
                    all.push(case);
                }
                if plan.setup != Setup::default() && plan.setup.barrier.is_none() {
                    let mut case = self.clone();
                    case.plans[node][process].setup = Setup::default();
                    all.push(case);
                }
                for place in (0..start + then).rev() {
                    // Who does not come keeps all others.
                    if plan.start.get(place).is_some_and(|it| it.verb == Verb::Barrier) {
                        continue;
                    }
                    let mut case = self.clone();
                    let Plan { start: first, then, .. } = &mut case.plans[node][process];
                    _ = if place < start { first.remove(place) } else { then.remove(place - start) };
                    one.push(case);
                }
            }
        }
        all.append(&mut one);
        all
    }
}

/// System software has the processors of some processes now and then, in a third of all cases.
fn add_noise(dice: &mut Dice, plans: &mut [Vec<Plan>]) {
    if dice.below(3) > 0 {
        return;
    }
    for plan in plans.iter_mut().flatten() {
        let length = Picos(STEP * u64::from(dice.between(1, 40)));
        let period = Picos(length.0 + STEP * u64::from(dice.between(1, 100)));
        plan.setup.noise = dice.one_in(2).then_some(Noise { length, period });
    }
}

/// Links that break, both ways or one.
fn faults(dice: &mut Dice, breaks: Breaks, topology: &TopologySettings, rails: u32) -> Faults {
    if breaks == Breaks::Never {
        return Faults::default();
    }
    let topology = Topology::build(topology).expect("a topology");
    let mut list = Vec::new();
    for _ in 0..dice.between(1, 3) {
        let link = &topology.links()[dice.below(topology.links().len() as u64) as usize];
        let rail = RailId(dice.below(rails.into()) as u32);
        let (component, port) = component_at(&topology, rails, rail, link.ends[dice.below(2) as usize]);
        let from = dice.below(10_000);
        let mut fault = |at, what| {
            list.push(Fault { at: Cycle(at), component, kind: FaultKind::Port(port, what) });
        };
        fault(from, PortFault::Cut);
        if breaks == Breaks::Mended || dice.one_in(2) {
            fault(from + 100 + dice.below(10_000), PortFault::Mended);
        }
    }
    Faults::new(list)
}

/// The longest message of `nic` in bytes, if it is one packet.
fn longest_message(nic: &Nic) -> u64 {
    match nic {
        Nic::Th(_) => MINI_PACKET,
        Nic::Elan4(settings) => settings.sten_packet.into(),
        Nic::Nap(_) => u64::MAX,
    }
}

/// Operations of a process at most.
const OPERATIONS: u32 = 24;

/// Processes of a node at most.
const PROCESSES: u32 = 3;

/// An operation of a process, in memory that no other touches if `next` says what is free.
fn operation(
    dice: &mut Dice,
    (nic, has_collectives): (&Nic, bool),
    (own, process): (u32, u8),
    processes: &[u32],
    next: Option<&mut Vec<Vec<u64>>>,
) -> Operation {
    let nodes = processes.len() as u64;
    let node = (u64::from(own) + 1 + dice.below(nodes - 1)) % nodes;
    let other = dice.below(processes[node as usize].into()) as u8;
    let (verb, by) = match nic {
        Nic::Th(settings) => th::what(dice, settings, process, has_collectives),
        Nic::Elan4(_) => elan4::what(dice),
        Nic::Nap(_) => nap::what(dice),
    };
    let most = match verb {
        Verb::Load | Verb::Store | Verb::FetchAdd => dawning::WORD.into(),
        Verb::Send if longest_message(nic) < u64::MAX => longest_message(nic),
        // Each packet of STEN has commands.
        _ if by == Submission::Sten && verb == Verb::Put => dice.pick(&[96, 96, 1_000]),
        _ => dice.pick(&[96, 96, 1_000, 4_500]),
    };
    let bytes = if dice.one_in(6) { most } else { 1 + dice.below(most) };
    let bytes = if matches!(verb, Verb::Control | Verb::Event) { 0 } else { bytes };
    let may_copy = next.is_none();
    let [here, there] = match next {
        None => [dice.below(9_000), dice.below(9_000)],
        Some(next) => [(own as usize, process), (node as usize, other)].map(|(node, process)| {
            let byte = &mut next[node][usize::from(process)];
            let from = *byte + dice.pick(&[0, 0, 1, 37]);
            *byte = from + bytes;
            from
        }),
    };
    let tells_left = dice.one_in(3);
    let operation = Operation {
        bytes,
        here,
        there,
        tells_left,
        ..Operation::plain(verb, by, (NodeId(node as u32), other))
    };
    // Nodes behind that one with a process of that number, but for its own.
    let has_it = |&at: &u32| at != own && processes[at as usize] > u32::from(other);
    let last = (operation.node.0..nodes as u32).take_while(has_it).last().unwrap_or(operation.node.0);
    let collective = match has_collectives {
        true => th::collective(dice, &operation, last, may_copy),
        false => Collective::default(),
    };
    Operation { collective, ..operation }
}

/// Gives the latencies of `bus`, which are none, and which are no shorter than it is itself.
fn with_latencies<S: BusSettings>(
    dice: &mut Dice,
    mut bus: S,
    latency: fn(&mut S, Reference) -> &mut Picos,
) -> S {
    while let Some(short) = bus.too_short() {
        *latency(&mut bus, short.of) = Picos(short.least.0 + dice.time().0);
    }
    bus
}

/// Does what it was given, and writes down what it sees.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    plan: Plan,
    then: usize,
    pub(crate) seen: Vec<(Picos, Completion)>,
}

impl Script {
    pub(crate) fn new(plan: &Plan) -> Self {
        Script { plan: plan.clone(), then: 0, seen: Vec::new() }
    }

    /// Operations that it has asked for.
    pub(crate) fn posted(&self) -> usize {
        self.plan.start.len() + self.then
    }
}

impl Program for Script {
    fn act(&mut self, at: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        match completion {
            None => todo.extend(&self.plan.start),
            Some(completion) => {
                self.seen.push((at, *completion));
                if let Some(operation) = self.plan.then.get(self.then) {
                    todo.push(*operation);
                    self.then += 1;
                }
            }
        }
    }

    fn events(&self) -> Vec<CountedEvent> {
        self.plan.events.clone()
    }

    fn setup(&self) -> Setup {
        self.plan.setup.clone()
    }

    fn thread(&self) -> Option<Thread> {
        self.plan.thread.clone()
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}
