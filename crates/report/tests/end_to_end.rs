//! Operations that are reliable from end to end: what the network loses and corrupts, contexts that run out, full queues.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::{Cycle, Picos};
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::simulation::Architecture;
use flitway_fabric::{Fabric, Faults, NicPorts, Simulation, Unobserved};
use flitway_machine::Machine;
use flitway_nic::host::contents::Contents;
use flitway_nic::host::memory::{Address, Memory};
use flitway_nic::host::program::{Completion, CompletionKind, Operation, Program, Submission, Verb};
use flitway_nic::host::{Hosted, Hosts, IdleTime, Surroundings};
use flitway_nic::th::Th;
use flitway_nic::{NicModel, NicSettings, Place};
use flitway_report::session::Session;
use flitway_report::session::nic::{Manner, NicChoice, NicResult};
use flitway_switch::on_architecture;
use flitway_test_kit::nic::Nobody;
use flitway_wiring::{NodeId, PortId};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const PUT: NicChoice = NicChoice {
    verb: Verb::Put,
    nodes: [0, 1],
    by: Submission::Hdq,
    is_reliable: true,
    bytes: 8,
    count: 100,
    warm_up: 0,
    outstanding: Some(32),
    processes: 1,
    chain: 1,
    manner: Manner::USUAL,
    group: None,
    matching: None,
    lock: None,
    noise: None,
};

fn machine(name: &str, set: &[&str]) -> Machine {
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    Machine::load(name, &set).unwrap_or_else(|problems| panic!("{problems}"))
}

fn run(name: &str, set: &[&str], choice: NicChoice) -> NicResult {
    let session = Session::new(machine(name, set), 1, 1);
    session.nic(&session.fit_nic(choice).unwrap(), None, &AtomicBool::new(false), &mut |_| {})
}

fn counter(result: &NicResult, side: usize, name: &str) -> u64 {
    let all = result.counters_of(side);
    all.iter().find(|(it, _)| *it == name).unwrap_or_else(|| panic!("{name} is in {all:?}")).1
}

#[test]
fn when_256_contexts_are_used_queues_wait_and_all_operations_arrive() {
    let many = NicChoice { processes: 8, outstanding: Some(128), count: 300, ..PUT };
    let result = run("th-frame", &[], NicChoice { nodes: [0, 31], ..many });
    assert!(result.is_complete);
    assert_eq!(counter(&result, 0, "sender contexts in use at most"), 256);
    assert!(counter(&result, 0, "descriptors that waited for a context") > 100);
    let few = run("nrc", &["nic.end_to_end.receivers=3"], many);
    assert!(few.is_complete && counter(&few, 0, "set-ups refused") > 100);
    assert_eq!(counter(&few, 1, "receiver contexts in use at most"), 3);
    // Of two queues one has no context; the other one is another process's, and needs none.
    let single = run("nrc", &["nic.end_to_end.senders=1"], NicChoice { verb: Verb::Get, ..many });
    assert!(single.is_complete && counter(&single, 0, "sender contexts in use at most") == 1);
}

#[test]
fn what_finds_its_queue_full_comes_again() {
    let slow = ["nic.mpq=4", "nic.eq=4", "host.poll=1 us", "nic.hold=300 ns"];
    for verb in [Verb::Send, Verb::Put] {
        let result = run("nrc", &slow, NicChoice { verb, outstanding: None, processes: 8, count: 40, ..PUT });
        assert!(result.is_complete, "{verb:?}");
        let stream = run("nrc", &slow, NicChoice { verb, outstanding: Some(16), count: 40, ..PUT });
        assert!(stream.is_complete, "{verb:?}");
        assert!(counter(&stream, 1, "packets refused for want of an entry") > 0, "{verb:?}");
        assert_eq!(counter(&stream, 1, "events dropped") + counter(&stream, 1, "mini-packets dropped"), 0);
    }
}

#[test]
fn stages_of_reliable_operations_sum_to_their_latency() {
    for (verb, bytes) in [(Verb::Send, 100), (Verb::Put, 5_000), (Verb::Get, 5_000)] {
        let result =
            run("th-frame", &[], NicChoice { verb, bytes, nodes: [0, 31], outstanding: Some(4), ..PUT });
        let (sum, mean) = (result.stages().iter().map(|it| it.1).sum::<f64>(), result.mean_ns().unwrap());
        assert!((sum - mean).abs() < 1e-3 && result.is_complete, "{verb:?}: {sum} {mean}");
    }
}

/// Puts, gets and messages between two nodes, both ways, one behind the other; it writes down what it sees.
#[derive(Debug)]
struct Script {
    other: NodeId,
    count: u64,
    seen: Vec<(Picos, Completion)>,
}

/// Bytes of an operation, of which each has its own place in the memory of both processes.
const BYTES: u64 = 3_000;

impl Script {
    fn operation(&self, number: u64) -> Operation {
        let verb = [Verb::Put, Verb::Get, Verb::Send][(number % 3) as usize];
        let by = [Submission::Hdq, Submission::Sdq][(number % 2) as usize];
        let bytes = if verb == Verb::Send { 120 } else { BYTES };
        // What comes here is in the upper half.
        let [low, high] = [number * BYTES, (self.count + number) * BYTES];
        let [here, there] = if verb == Verb::Get { [high, low] } else { [low, high] };
        let (node, process) = (self.other, 0);
        Operation {
            bytes,
            here,
            there,
            tells_left: true,
            is_reliable: true,
            ..Operation::plain(verb, by, (node, process))
        }
    }
}

impl Program for Script {
    fn act(&mut self, at: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        match completion {
            None => todo.extend((0..self.count).map(|number| self.operation(number))),
            Some(completion) => self.seen.push((at, *completion)),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What is in memory at the start.
fn first_byte(node: u32, byte: u64) -> u8 {
    ((u64::from(node) << 32 | byte).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// What two nodes have seen and what is in their memory, when the script has run between them; and link counters.
struct Found {
    seen: Vec<Vec<(Picos, Completion)>>,
    memory: Vec<Box<[u8]>>,
    lost: u64,
    undetected: u64,
    counters: Vec<(&'static str, u64)>,
}

impl Found {
    fn counter(&self, name: &str) -> u64 {
        self.counters.iter().filter(|(it, _)| *it == name).map(|it| it.1).sum()
    }
}

fn run_script<A: Architecture>(machine: &Machine, fabric: &Fabric<A::Chip>, count: u64) -> Found
where
    Fabric<A::Chip>: Clone + Send + Sync + 'static,
{
    let NicSettings::Th(settings) = &machine.nic.model else { panic!("it has the NIC of TH Express-2") };
    let ends = [NodeId(0), NodeId(31)];
    let idle = Arc::new(|_, _, _| IdleTime { all: 40, switches: 20 });
    let contents = Arc::new(Contents::new(fabric.nodes()));
    let surroundings = Surroundings { clock: machine.clock, idle, contents };
    let settings = **settings;
    let hosts = Hosts(Arc::new(move |place: Place| {
        let mut memory = Memory::with_bytes();
        let side = ends.iter().position(|&node| node == place.node);
        let bytes: Vec<u8> = (0..2 * count * BYTES).map(|byte| first_byte(place.node.0, byte)).collect();
        memory.write(Address { process: 0, byte: 0 }, &bytes);
        let script = side.map(|side| Script { other: ends[1 - side], count, seen: Vec::new() });
        let programs = script.into_iter().map(|script| Box::new(script) as Box<dyn Program>);
        Th::host(&settings, place, memory, programs.collect(), surroundings.clone())
    }));
    let nics = (0..fabric.nodes()).map(NodeId).map(|node| {
        let place = Place { node, rails: fabric.rails, seed: 1 };
        hosts.nic(place, Nobody)
    });
    let mut simulation = Simulation::<A, _, _>::new(fabric, nics.collect(), 1, || Unobserved);
    simulation.run_until(Cycle(20_000_000), &AtomicBool::new(false));
    simulation.settle();
    assert!(simulation.audit().holds(), "{:?}", simulation.audit());
    let at = machine.clock.picos_floor(simulation.now());
    let mut found = simulation.gather_endpoints(|node, nic: &mut Hosted<Nobody>| {
        ends.contains(&node).then(|| {
            let host = nic.host_mut();
            assert!(host.is_idle(), "nobody waits for ever");
            let seen = host.program(0).as_any().downcast_ref::<Script>().expect("it runs it").seen.clone();
            let address = Address { process: 0, byte: 0 };
            let memory = host.memory().read(address, 2 * count * BYTES).expect("bytes are kept");
            (seen, memory, host.counts(at).nic)
        })
    });
    let of_ends: Vec<_> = found.drain(..).flatten().collect();
    let counters = simulation.counters();
    Found {
        lost: counters.lost.sum(),
        undetected: counters.link.undetected,
        counters: of_ends.iter().flat_map(|(.., counters)| counters.iter().copied()).collect(),
        seen: of_ends.iter().map(|(seen, ..)| seen.clone()).collect(),
        memory: of_ends.into_iter().map(|(_, memory, _)| memory).collect(),
    }
}

/// Every operation is seen once by the process that it is for, its own process hears once that it is over, and its bytes are
/// where they go.
fn all_arrived_once(found: &Found, count: u64) {
    for (side, node) in [(0, 0), (1, 31)] {
        let other = 31 - node;
        for number in 0..count {
            let script = Script { other: NodeId(other), count, seen: Vec::new() };
            let Operation { verb, bytes, here, there, .. } = script.operation(number);
            let times = |side: usize, what| {
                let is_it = |(_, it): &&(Picos, Completion)| {
                    (it.node, it.number, it.what) == (NodeId(node), number, what)
                };
                found.seen[side].iter().filter(is_it).count()
            };
            assert_eq!(times(side, CompletionKind::Left), 1, "{verb:?} {number} of node {node}");
            let (at, what, from, to, of) = match verb {
                Verb::Get => (side, CompletionKind::Fetched, there, here, other),
                _ => (1 - side, CompletionKind::Received, here, there, node),
            };
            assert_eq!(times(at, what), 1, "{verb:?} {number} of node {node}");
            let data = (from..from + bytes).map(|byte| first_byte(of, byte));
            let there = &found.memory[at][to as usize..][..bytes as usize];
            assert!(there.iter().copied().eq(data), "{verb:?} {number} of node {node}: its bytes");
        }
    }
}

#[test]
fn links_that_corrupt_what_no_crc_sees_deliver_every_operation_once_with_its_bytes() {
    let machine = machine("th-frame", &["nic.end_to_end.timeout=20 us"]);
    let mut fabric = machine.fabric();
    (fabric.nic_ports, fabric.errors.seed) = (NicPorts::Bounded, 7);
    (fabric.errors.undetected, fabric.errors.flit) = (u64::MAX / 50, u64::MAX / 400);
    let found = on_architecture!(&fabric, A, fabric => run_script::<A>(&machine, fabric, 60));
    assert!(found.undetected > 20, "{}", found.undetected);
    assert!(found.counter("CRC errors") > 20 && found.counter("packets sent again, or after a refusal") > 10);
    all_arrived_once(&found, 60);
}

#[test]
fn links_that_go_down_lose_packets_and_no_operation() {
    // Lower switch 0 has nodes below and uplinks from port 12 on; of these the first four come and go.
    let set = ["nic.end_to_end.timeout=20 us", "switch.selection=\"least-loaded\""];
    let machine = machine("th-frame", &set);
    let mut fabric = machine.fabric();
    fabric.nic_ports = NicPorts::Bounded;
    let mut faults = Vec::new();
    for turn in 0..4 {
        let from = 2_000 + 20_000 * u64::from(turn);
        for (at, kind) in [(from, PortFault::Cut), (from + 100_000, PortFault::Mended)] {
            let kind = FaultKind::Port(PortId(12 + turn), kind);
            faults.push(Fault { at: Cycle(at), component: 0, kind });
        }
    }
    // The cable of a node, for a while: nothing else leads there.
    for (at, kind) in [(30_000, PortFault::Cut), (60_000, PortFault::Mended)] {
        let kind = FaultKind::Port(PortId(0), kind);
        faults.push(Fault { at: Cycle(at), component: 6 + 31, kind });
    }
    fabric.faults = Faults::new(faults);
    let found = on_architecture!(&fabric, A, fabric => run_script::<A>(&machine, fabric, 150));
    assert!(found.lost > 0, "some packets were lost for good");
    assert!(found.counter("time-outs of senders") > 0 && found.counter("transfers given up") == 0);
    all_arrived_once(&found, 150);
}

#[test]
fn a_sender_gives_up_when_nothing_leads_to_the_other_node() {
    let machine = machine("th-frame", &["nic.end_to_end.timeout=5 us", "nic.end_to_end.tries=4"]);
    let mut fabric = machine.fabric();
    fabric.nic_ports = NicPorts::Bounded;
    let kind = FaultKind::Port(PortId(0), PortFault::Cut);
    fabric.faults = Faults::new(vec![Fault { at: Cycle(1_500), component: 6 + 31, kind }]);
    let found = on_architecture!(&fabric, A, fabric => run_script::<A>(&machine, fabric, 30));
    assert!(found.counter("transfers given up") > 0);
    let mut over = 0;
    for (side, node) in [(0, NodeId(0)), (1, NodeId(31))] {
        let left: Vec<u64> = found.seen[side]
            .iter()
            .filter(|(_, it)| it.node == node && it.what == CompletionKind::Left)
            .map(|(_, it)| it.number)
            .collect();
        over += left.len();
        // What its process was told of has arrived.
        for number in left {
            let came = |(_, it): &(Picos, Completion)| {
                (it.node, it.number) == (node, number) && it.what != CompletionKind::Left
            };
            let is_get = number % 3 == 1;
            assert!(is_get || found.seen[1 - side].iter().filter(|it| came(it)).count() == 1);
        }
    }
    assert!(over < 60, "some are not over: {over}");
}
