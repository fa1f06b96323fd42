//! Barriers in the HPP fabric from outside: nobody goes on too early, every barrier completes, how long it takes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Script, fabric, hpp, random_scripts};
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::barrier::{BarrierSettings, DunStart, Faults, Loss, PacketKind, Root};
use flitway_fabric::headroom::Longest;
use flitway_fabric::observer::{
    BarrierLoss, ComponentNumber, LinkObserver, LossReason, MessageObserver, NicObserver, SwitchObserver,
};
use flitway_fabric::simulation::Counters;
use flitway_fabric::{BarrierId, Barriers, Delivery, Endpoint, Fabric, Outgoing, Simulation, Up};
use flitway_switch::hpp::{self, Hpp, HppSettings};
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::TopologySettings;
use flitway_wiring::{NodeId, PortId, RailId};
use std::sync::atomic::AtomicBool;

/// A process that arrives at barriers of a group, some time after each release.
#[derive(Clone, Debug)]
struct Process {
    group: BarrierId,
    due: Option<Cycle>,
    /// Last one first.
    pauses: Vec<u64>,
}

/// Sends packets and arrives at barriers.
#[derive(Clone, Debug, Default)]
struct Node {
    script: Script,
    processes: Vec<Process>,
}

impl Node {
    fn next(&self) -> Option<Cycle> {
        let packet = self.script.packets.last().map(|packet| packet.created);
        self.processes.iter().filter_map(|process| process.due).chain(packet).min()
    }
}

impl Endpoint for Node {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.script.wake(now, out);
        for process in self.processes.iter_mut().filter(|process| process.due == Some(now)) {
            out.arrive(process.group);
            process.due = None;
        }
        self.next()
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        let Up::Released(group) = up else { return self.next() };
        let process = self.processes.iter_mut().find(|process| process.group == group).unwrap();
        match process.pauses.pop() {
            Some(0) => out.arrive(group),
            pause => process.due = pause.map(|pause| now + pause),
        }
        self.next()
    }
}

/// What happens at barriers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Watch {
    arrivals: Vec<(BarrierId, NodeId, Cycle)>,
    releases: Vec<(BarrierId, NodeId, Cycle)>,
    completions: Vec<(BarrierId, ComponentNumber, Cycle)>,
    losses: Vec<(Cycle, ComponentNumber, u32, LossReason)>,
}

impl LinkObserver for Watch {
    fn barrier_lost(&mut self, loss: &BarrierLoss) {
        self.losses.push((loss.cycle, loss.component, loss.port.0, loss.reason));
    }
}

impl SwitchObserver for Watch {
    fn completed(&mut self, now: Cycle, switch: ComponentNumber, group: BarrierId) {
        self.completions.push((group, switch, now));
    }
}

impl NicObserver for Watch {
    fn arrived(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        self.arrivals.push((group, node, now));
    }

    fn released(&mut self, now: Cycle, node: NodeId, group: BarrierId) {
        self.releases.push((group, node, now));
    }
}

impl MessageObserver for Watch {}

/// Runs until `end`; what happened, by group and node, and the totals.
fn run(fabric: &Fabric<HppSettings>, nodes: Vec<Node>, threads: u32, end: u64) -> (Watch, Counters) {
    let mut simulation = Simulation::<Hpp, _, _>::new(fabric, nodes, threads, Watch::default);
    for until in [end / 7, end / 2, end] {
        simulation.run_until(Cycle(until), &AtomicBool::new(false));
        simulation.settle();
        assert!(simulation.audit().holds(), "{:?}", simulation.audit());
    }
    let mut all = Watch::default();
    for mut watch in simulation.gather_observers(std::mem::take) {
        all.arrivals.append(&mut watch.arrivals);
        all.releases.append(&mut watch.releases);
        all.completions.append(&mut watch.completions);
        all.losses.append(&mut watch.losses);
    }
    all.arrivals.sort_unstable();
    all.releases.sort_unstable();
    all.completions.sort_unstable();
    all.losses.sort_unstable();
    (all, Counters { wakes: 0, ..simulation.counters() })
}

fn group(members: &[u32]) -> BarrierSettings {
    BarrierSettings {
        members: members.iter().copied().map(NodeId).collect(),
        root: Root::Switch(1),
        rail: RailId(0),
    }
}

/// `members` arrive once, in cycle 10; the last of them in cycle `at`.
fn one_operation(fabric: &Fabric<HppSettings>, members: &[u32], at: u64) -> Vec<Node> {
    let mut nodes = vec![Node::default(); fabric.nodes() as usize];
    for (index, &member) in members.iter().enumerate() {
        let due = if index + 1 == members.len() { at } else { 10 };
        let process = Process { group: BarrierId(0), due: Some(Cycle(due)), pauses: Vec::new() };
        nodes[member as usize].processes.push(process);
    }
    nodes
}

/// Up to the root and down again, 20 cycles for each pass through a switch with show-ahead (two of them are the 128 ns of
/// hpp-switch.txt section 3.3), one more without.
#[test]
fn a_barrier_takes_two_ways_of_20_cycles_a_switch() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
    let single = TopologySettings::Single { nodes: 5 };
    let cases: [(_, _, &[u32], u64); 4] = [
        (&single, RoutingKind::UpDown, &[0, 3, 4], 1),
        (&tree, RoutingKind::DModK, &[0, 1], 1),
        (&tree, RoutingKind::DModK, &[0, 1, 2], 2),
        (&tree, RoutingKind::DModK, &[0, 1, 5, 15], 3),
    ];
    for show_ahead in [false, true] {
        for (topology, routing, members, levels) in cases {
            let settings = HppSettings { show_ahead, ..hpp(8) };
            let pass = 21 - u64::from(show_ahead);
            assert_eq!(settings.barrier_pass_cycles(), pass);
            let mut fabric = fabric(topology, routing, 7, settings);
            fabric.barriers = Barriers::new(&fabric.routing, &[group(members)]).unwrap();
            let (watch, counters) = run(&fabric, one_operation(&fabric, members, 1_000), 1, 2_000);
            let last = NodeId(*members.last().unwrap());
            let ways = 2 * levels * 7 + (2 * levels - 1) * pass;
            for &(_, node, released) in &watch.releases {
                // To the node by whose way the root has come to know, too: the distribute is its combine-ACK.
                let cycles = 1 - u64::from(show_ahead) + ways + 5;
                assert_eq!(released, Cycle(1_000 + cycles), "{members:?}: node {node}");
                assert_eq!(fabric.zero_load_barrier_cycles(BarrierId(0), last, node), Some(cycles));
            }
            assert_eq!((watch.releases.len(), watch.completions.len()), (members.len(), 1));
            assert_eq!((counters.barrier.retransmissions, counters.barrier.duns), (0, 0));
            assert_eq!(counters.barrier.made, counters.barrier.handled);
        }
    }
}

/// A node for a root: up to the top switch, down to the node, and the same way back.
#[test]
fn the_tree_of_a_node_is_twice_as_long() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
    for show_ahead in [false, true] {
        let settings = HppSettings { show_ahead, ..hpp(8) };
        let (pass, start) = (settings.barrier_pass_cycles(), 1 - u64::from(show_ahead));
        let mut fabric = fabric(&tree, RoutingKind::DModK, 7, settings);
        let members = [0, 1, 5, 15];
        let root = NodeId(5);
        let rooted = BarrierSettings { root: Root::Node(root), ..group(&members) };
        fabric.barriers = Barriers::new(&fabric.routing, &[rooted]).unwrap();
        for last in [15, 5] {
            let mut nodes = one_operation(&fabric, &members, 10);
            nodes[last].processes[0].due = Some(Cycle(1_000));
            let (watch, counters) = run(&fabric, nodes, 1, 2_000);
            let last = NodeId::new(last);
            for &(_, node, released) in &watch.releases {
                let cycles = fabric.zero_load_barrier_cycles(BarrierId(0), last, node).unwrap();
                assert_eq!(released, Cycle(1_000 + cycles), "node {node}, {last} being last");
            }
            let (_, component, completed) = watch.completions[0];
            let switches = fabric.topology().switches();
            assert_eq!((watch.releases.len(), watch.completions.len()), (members.len(), 1));
            assert_eq!((component, counters.barrier.lost_by_fault), (switches + root.0, 0));
            // Node 0 is as far from the root as node 15 is: 5 switches.
            let way = start + 6 * 7 + 5 * pass + 5;
            let (to_root, back) = if last == root { (0, way) } else { (way, 2 * way) };
            assert_eq!(completed, Cycle(1_000 + to_root));
            assert_eq!(fabric.zero_load_barrier_cycles(BarrierId(0), last, NodeId(0)), Some(back));
            let own = if last == root { 1 } else { way };
            assert_eq!(fabric.zero_load_barrier_cycles(BarrierId(0), last, root), Some(own));
        }
    }
}

/// All arrive at once at one switch. One by one the combines take a turn each, and the one before the last has its ACK in
/// front of the distribute; together they take one turn, and there are no ACKs at all.
#[test]
fn combines_that_are_noted_together_wait_for_no_turn() {
    let single = TopologySettings::Single { nodes: 8 };
    let members = [0, 1, 2, 3, 4, 5, 6, 7];
    let last = |together: bool| {
        let barrier = hpp::BarrierSettings { together, ..hpp::BarrierSettings::published() };
        let mut fabric = fabric(&single, RoutingKind::UpDown, 7, HppSettings { barrier, ..hpp(8) });
        fabric.barriers = Barriers::new(&fabric.routing, &[group(&members)]).unwrap();
        let (watch, counters) = run(&fabric, one_operation(&fabric, &members, 10), 1, 2_000);
        assert_eq!((watch.releases.len(), counters.barrier.retransmissions), (8, 0));
        let alone = fabric.zero_load_barrier_cycles(BarrierId(0), NodeId(7), NodeId(0)).unwrap();
        let last = watch.releases.iter().map(|release| release.2).max().unwrap();
        (last.0 - 10 - alone, counters.barrier.made)
    };
    assert_eq!(last(false), (7 + 4, 8 + 7 + 8));
    assert_eq!(last(true), (0, 8 + 8));
}

/// A timer of that many cycles expires as the answer comes: one that is longer never does, one that is shorter always.
#[test]
fn the_shortest_timer_that_is_not_in_vain_is_known() {
    let single = TopologySettings::Single { nodes: 3 };
    let tree = TopologySettings::FatTree { ports: 4, levels: 2 };
    for (topology, routing, members) in
        [(&single, RoutingKind::UpDown, [0, 1]), (&tree, RoutingKind::DModK, [0, 7])]
    {
        for show_ahead in [false, true] {
            let again = |retransmit: u32| {
                let barrier = hpp::BarrierSettings { retransmit, ..hpp::BarrierSettings::published() };
                let settings = HppSettings { barrier, show_ahead, ..hpp(4) };
                let mut fabric = fabric(topology, routing, 9, settings);
                fabric.barriers = Barriers::new(&fabric.routing, &[group(&members)]).unwrap();
                let longest = Longest::of(fabric.topology(), &fabric.latencies);
                let settings = &fabric.chip;
                let (_, counters) = run(&fabric, one_operation(&fabric, &members, 500), 1, 4_000);
                (settings.barrier_answer_cycles(longest), counters.barrier.retransmissions)
            };
            let (answer, none) = again(3_000);
            assert_eq!(none, 0);
            assert_eq!(again(answer + 1).1, 0, "{topology:?}");
            assert!(again(answer - 1).1 > 0, "{topology:?}");
        }
    }
}

/// A rule loses the packet that it names; the retransmission timer or the dun timer mends it, as the protocol says.
#[test]
fn a_timer_mends_what_a_rule_loses() {
    // Component 0 is the switch; node 0, which arrives first, and node 1, the last, are the components 1 and 2.
    let lost = [
        (PacketKind::Combine, 0, PortId(1)),
        (PacketKind::CombineAck, 1, PortId(0)),
        (PacketKind::Distribute, 1, PortId(0)),
        (PacketKind::Distribute, 2, PortId(0)),
    ];
    let repeats = lost.map(|(kind, component, port)| {
        let single = TopologySettings::Single { nodes: 3 };
        let barrier = hpp::BarrierSettings { retransmit: 200, dun: 500, ..hpp::BarrierSettings::published() };
        let mut fabric = fabric(&single, RoutingKind::UpDown, 3, HppSettings { barrier, ..hpp(3) });
        let losses = vec![Loss { component, port, group: BarrierId(0), kind: Some(kind), nth: 1 }];
        let barriers = Barriers::new(&fabric.routing, &[group(&[0, 1])]).unwrap();
        fabric.barriers = barriers.with_faults(Faults { seed: 0, losses });
        let (watch, counters) = run(&fabric, one_operation(&fabric, &[0, 1], 20), 1, 4_000);
        assert_eq!((watch.releases.len(), watch.losses.len()), (2, 1), "{kind:?}");
        assert_eq!(watch.losses[0].3, LossReason::Rule);
        assert_eq!(counters.barrier.lost_by_fault, 1);
        (counters.barrier.retransmissions, counters.barrier.duns)
    });
    // A distribute that comes without an ACK counts as one, and who comes last has no other.
    assert_eq!(repeats, [(1, 0), (0, 0), (0, 1), (1, 0)]);
}

/// Many operations of three groups, among random packets, on links that lose one barrier packet in ten.
fn stormy(dun_start: DunStart) -> (Fabric<HppSettings>, Vec<Node>) {
    let barrier = hpp::BarrierSettings {
        retransmit: 250,
        dun: 700,
        dun_start,
        buffer_packets: 2,
        packet_error: u64::MAX / 10,
        ..hpp::BarrierSettings::published()
    };
    let tree = TopologySettings::FatTree { ports: 8, levels: 2 };
    let mut fabric = fabric(&tree, RoutingKind::DModK, 9, HppSettings { barrier, ..hpp(8) });
    let groups: [&[u32]; 3] = [&[0, 1, 2, 3], &[1, 5, 9, 17, 31], &[0, 2, 4, 6, 8, 10, 20, 30]];
    let barriers = Barriers::new(&fabric.routing, &groups.map(group)).unwrap();
    fabric.barriers = barriers.with_faults(Faults { seed: 11, losses: Vec::new() });
    let scripts = random_scripts(3, &fabric, 300, 40_000, 500);
    let mut nodes: Vec<Node> =
        scripts.into_iter().map(|script| Node { script, processes: Vec::new() }).collect();
    let mut stream = Stream::new(8, 0, Purpose::Test);
    for id in fabric.barriers.ids() {
        for &member in fabric.barriers.members(id) {
            let pauses = (1..OPERATIONS).map(|_| stream.below(60)).collect();
            let due = Some(Cycle(stream.below(500)));
            nodes[member.index()].processes.push(Process { group: id, due, pauses });
        }
    }
    (fabric, nodes)
}

const OPERATIONS: usize = 60;

#[test]
fn nobody_is_released_too_early_and_everybody_at_last() {
    for dun_start in [DunStart::AtAck, DunStart::AtCombine] {
        let (fabric, nodes) = stormy(dun_start);
        let (watch, counters) = run(&fabric, nodes, 1, 400_000);
        for group in fabric.barriers.ids() {
            let members = fabric.barriers.members(group);
            let of = |events: &[(BarrierId, NodeId, Cycle)], node: NodeId| -> Vec<Cycle> {
                events.iter().filter(|event| (event.0, event.1) == (group, node)).map(|it| it.2).collect()
            };
            let completions: Vec<Cycle> =
                watch.completions.iter().filter(|it| it.0 == group).map(|it| it.2).collect();
            assert_eq!(completions.len(), OPERATIONS);
            for &member in members {
                let releases = of(&watch.releases, member);
                assert_eq!(releases.len(), OPERATIONS, "{member} in {group}");
                for &other in members {
                    let arrivals = of(&watch.arrivals, other);
                    let in_time = |operation: usize| {
                        arrivals[operation] < completions[operation]
                            && completions[operation] < releases[operation]
                    };
                    assert!((0..OPERATIONS).all(in_time), "{member} waits for {other} in {group}");
                }
            }
        }
        let barrier = &counters.barrier;
        assert!(barrier.lost_by_fault > 100 && barrier.retransmissions > 100 && barrier.duns > 20);
        assert_eq!(barrier.made, barrier.handled + barrier.lost_by_fault + barrier.lost_by_full_queue);
    }
}

#[test]
fn barriers_do_not_depend_on_the_number_of_threads() {
    let (fabric, nodes) = stormy(DunStart::AtAck);
    let one = run(&fabric, nodes.clone(), 1, 60_000);
    for threads in [2, 4] {
        assert!(one == run(&fabric, nodes.clone(), threads, 60_000), "{threads} threads");
    }
}

/// Where groups are configured the engine runs with shorter windows and more slots; packets do not feel it.
#[test]
fn groups_without_operations_change_nothing_for_others() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 2 };
    let settings =
        HppSettings { advert: hpp::AdvertSettings { refresh: Some(100), ..hpp(4).advert }, ..hpp(4) };
    let plain = fabric(&tree, RoutingKind::DModK, 5, settings);
    let mut with = plain.clone();
    with.barriers = Barriers::new(&with.routing, &[group(&[0, 5, 6])]).unwrap();
    let nodes: Vec<Node> = random_scripts(9, &plain, 80, 20_000, 300)
        .into_iter()
        .map(|script| Node { script, processes: Vec::new() })
        .collect();
    let totals = |fabric: &Fabric<HppSettings>| {
        let mut simulation =
            Simulation::<Hpp, _, _>::new(fabric, nodes.clone(), 1, common::Deliveries::default);
        simulation.run_until(Cycle(1 << 30), &AtomicBool::new(false));
        simulation
            .gather_observers(|observer| std::mem::take(&mut observer.0))
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let by_place = |mut deliveries: Vec<Delivery>| {
        deliveries.sort_by_key(|it| (it.delivered, it.destination, it.source, it.flow.tag));
        deliveries
    };
    assert!(by_place(totals(&plain)) == by_place(totals(&with)));
}
