//! The Elite4 from outside: what holding a path costs, deadlock and its absence.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{Deliveries, Script, fabric, random_scripts};
use flitway_engine::Cycle;
use flitway_engine::window::Outcome;
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::observer::{LinkObserver, Loss, MessageObserver, NicObserver, SwitchObserver};
use flitway_fabric::packet::{BlockFormat, PacketFormat};
use flitway_fabric::{
    Delivery, Endpoint, ErrorRule, Fabric, Faults, Flow, LossCause, NicPorts, Outgoing, Packet, SentKind,
    Simulation, Ticket, Up,
};
use flitway_switch::elite::{
    AnswerSettings, Elite, ElitePipeline, EliteSettings, PrioritySettings, Roots, WhenFull,
};
use flitway_wiring::dependency::{Dependencies, Verdict};
use flitway_wiring::routing::{Down, RoutingKind, Selection};
use flitway_wiring::topology::{End, TopologySettings};
use flitway_wiring::{Destination, NodeId, NodeSet, PortId, RailId, SetId, SwitchId};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const HELD: Option<AnswerSettings> = Some(AnswerSettings {
    node: 1,
    switch: 7,
    repeats: 16,
    back_off: 334,
    attempts: 64,
    half_packet: 3_334,
    when_full: WhenFull::Hold,
});

/// The Elite4 with so many virtual channels.
fn elite(vcs: u32, answer: Option<AnswerSettings>) -> EliteSettings {
    EliteSettings {
        ports: 8,
        vcs,
        buffer_flits: 256,
        selection: Selection::First,
        priority: None,
        roots: Roots::One,
        answer,
        pipeline: ElitePipeline { receive: 2, route: 3, transmit: 2 },
        credit: 1,
        is_coded: false,
        format: PacketFormat {
            flit_bytes: 4,
            header_flits: 8,
            trailer_flits: 4,
            mtu_bytes: 2_048,
            block: Some(BlockFormat { bytes: 128, header_flits: 4 }),
        },
    }
}

/// Runs until nothing is left to do, and gives what was delivered, the packets that are left, and the length of a ring of
/// those that wait for each other.
fn run(fabric: &Fabric<EliteSettings>, scripts: Vec<Script>) -> (Vec<Delivery>, u64, Option<usize>) {
    let mut simulation = Simulation::<Elite, _, _>::new(fabric, scripts, 1, Deliveries::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    simulation.settle();
    let books = simulation.audit();
    assert!(books.holds(), "{books:?}");
    let delivered = simulation.gather_observers(|observer| std::mem::take(&mut observer.0));
    let delivered = delivered.into_iter().flatten().collect();
    (delivered, books.in_network, simulation.deadlock().map(|deadlock| deadlock.ring.len()))
}

fn packet(destination: u32, payload: u16, tag: u64) -> Packet {
    let destination = Destination::Node(NodeId(destination));
    Packet { destination, rail: RailId(0), lane: 0, payload, created: Cycle(0), flow: Flow::traffic(tag) }
}

/// Cycles between the deliveries of packets of so many flits that one node sends to another over a link of `latency`.
fn interval(payload: u16, latency: u32, vcs: u32, answer: Option<AnswerSettings>) -> u64 {
    let pair = TopologySettings::Single { nodes: 2 };
    let fabric = fabric(&pair, RoutingKind::UpDown, latency, elite(vcs, answer));
    let packets = (0..20).map(|tag| packet(1, payload, tag)).collect();
    let (delivered, left, _) = run(&fabric, vec![Script::new(packets), Script::default()]);
    assert_eq!((delivered.len(), left), (20, 0));
    (delivered[18].delivered.0 - delivered[10].delivered.0) / 8
}

/// A packet is on its way for `transmit + latency + 7 + latency + flits` cycles, and its answer for `1 + latency + 7 +
/// latency`.
#[test]
fn who_holds_paths_waits_for_answers_as_virtual_channels_run_out() {
    for latency in [2, 14, 67] {
        // 588 and 18 flits.
        for (payload, flits) in [(2_048, 588), (8, 18)] {
            let round_trip = flits + 2 + 7 + 1 + 7 + 4 * u64::from(latency);
            assert_eq!(interval(payload, latency, 1, HELD), round_trip);
            assert_eq!(interval(payload, latency, 2, HELD), flits.max(round_trip / 2), "{latency}");
            assert_eq!(interval(payload, latency, 1, None), flits);
        }
    }
}

/// With two flits of a thousand wrong on each link hardly a long packet comes through at once, and all do in the end.
#[test]
fn corrupt_packets_are_sent_again_until_each_has_been_delivered_once() {
    let tree = TopologySettings::KaryNTree { arity: 2, levels: 3 };
    for vcs in [1, 2] {
        let mut fabric = fabric(&tree, RoutingKind::DModK, 5, elite(vcs, HELD));
        fabric.errors.flit = u64::MAX / 1_000;
        let scripts = random_scripts(3, &fabric, 400, 20_000, 700);
        let sent: usize = scripts.iter().map(|script| script.packets.len()).sum();
        let mut simulation = Simulation::<Elite, _, _>::new(&fabric, scripts, 1, Deliveries::default);
        assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
        assert!(simulation.audit().holds());
        let link = simulation.counters().link;
        // Void answers are no NACKs.
        assert!(link.nacks > sent as u64 / 4 && link.repeated > link.nacks, "{link:?}");
        assert!(link.corrupted >= link.repeated && link.dropped == 0, "{link:?}");
        let delivered = simulation.gather_observers(|observer| std::mem::take(&mut observer.0));
        let mut names: Vec<_> = delivered.iter().flatten().map(|it| (it.source, it.flow.tag)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), delivered.iter().map(Vec::len).sum()), (sent, sent));
    }
}

/// An answer on the link of a node is corrupt, or the link breaks while it is there, before it is mended: the source sends the
/// packet again, which is delivered once.
#[test]
fn a_void_answer_has_a_packet_sent_again_and_delivered_once() {
    let pair = TopologySettings::Single { nodes: 2 };
    let run = |by_rule: bool, latency: u32, attempts: u32| {
        let answer = HELD.map(|answer| AnswerSettings { attempts, ..answer });
        let mut fabric = fabric(&pair, RoutingKind::UpDown, latency, elite(1, answer));
        // Nodes are components after the switch; 18 flits are with node 1 by then, and the answer has left it.
        let port = |at, fault| Fault { at: Cycle(at), component: 2, kind: FaultKind::Port(PortId(0), fault) };
        let answered = u64::from(2 + latency + 7 + latency + 18 + 2);
        match by_rule {
            true => {
                fabric.errors.rules =
                    vec![ErrorRule { component: 2, port: PortId(0), kind: SentKind::Acknowledgement, nth: 1 }]
            }
            false => {
                let times = [(answered, PortFault::Cut), (answered + 1, PortFault::Mended)];
                fabric.faults = Faults::new(times.map(|(at, fault)| port(at, fault)).to_vec());
            }
        }
        let scripts = vec![Script::new(vec![packet(1, 8, 0)]), Script::default()];
        let mut simulation = Simulation::<Elite, _, _>::new(&fabric, scripts, 1, Deliveries::default);
        assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
        let (books, counters) = (simulation.audit(), simulation.counters());
        assert!(books.holds() && books.in_network == 0, "{books:?}");
        assert_eq!((counters.packets_delivered, counters.lost.sum(), counters.link.nacks), (1, 0, 0));
        (counters.link.corrupted, counters.link.repeated)
    };
    for latency in [2, 30] {
        assert_eq!(run(true, latency, 64), (1, 1));
        assert_eq!(run(false, latency, 64), (0, 1));
        // What is given up has been delivered, and is not lost.
        assert_eq!(run(true, latency, 1), (1, 0));
    }
}

/// `script` with a broadcast to `nodes` in cycle `created`.
fn with_broadcast(script: Script, nodes: std::ops::Range<u32>, created: u64, payload: u16) -> Script {
    let set = NodeSet::new(nodes.map(NodeId));
    let to = Destination::Nodes(SetId { set: 0, nodes: set.len() });
    let broadcast = Packet { destination: to, created: Cycle(created), ..packet(0, payload, 99) };
    let packets = script.packets.into_iter().chain([broadcast]).collect();
    Script { set: Some(Arc::new(set)), ..Script::new(packets) }
}

/// Copies take as long as packets for their nodes on the same way, and the next broadcast waits for all answers.
#[test]
fn broadcasts_take_their_closed_forms() {
    let trees = [
        (TopologySettings::KaryNTree { arity: 2, levels: 3 }, 8),
        (
            TopologySettings::Xgft {
                down: vec![4, 4, 2],
                up: vec![1, 4, 2],
                cables: vec![1, 1, 2],
                nics: 1,
                populated: None,
            },
            32,
        ),
    ];
    for (tree, nodes) in trees {
        let fabric = fabric(&tree, RoutingKind::DModK, 5, elite(2, HELD));
        for (source, range) in [(0, 0..nodes), (5, 4..7), (1, 3..nodes - 1), (nodes - 1, 0..1)] {
            let mut scripts = vec![Script::default(); nodes as usize];
            let from = &mut scripts[source as usize];
            *from = with_broadcast(std::mem::take(from), range.clone(), 3, 2_048);
            *from = with_broadcast(std::mem::take(from), range.clone(), 3, 2_048);
            let (mut delivered, left, _) = run(&fabric, scripts);
            assert_eq!((delivered.len(), left), (2 * range.len(), 0));
            delivered.sort_by_key(|it| (it.delivered, it.destination));
            let set = NodeSet::new(range.map(NodeId));
            let copies = fabric.zero_load_worm(NodeId(source), &set, 2_048).unwrap();
            let answer = fabric.zero_load_answer(NodeId(source), &set, 2_048).unwrap();
            let times = |start: u64| copies.iter().map(move |it| (it.0, start + it.1, it.2));
            let mut expected: Vec<_> = times(3).chain(times(3 + answer)).collect();
            expected.sort_by_key(|it| (it.1, it.0));
            let got = delivered.iter().map(|it| (it.destination, it.delivered.0, u32::from(it.hops)));
            assert_eq!(got.collect::<Vec<_>>(), expected, "{source}");
        }
    }
}

/// Two broadcasts come down from two roots to the same switches, each to another one first. By way of one tree they do not.
#[test]
fn two_broadcasts_by_way_of_two_roots_deadlock_and_of_one_do_not() {
    let tree = TopologySettings::KaryNTree { arity: 2, levels: 2 };
    for (roots, payload, is_stuck) in
        [(Roots::Any, 2_048, true), (Roots::Any, 512, false), (Roots::One, 2_048, false)]
    {
        let chip = EliteSettings { roots, ..elite(2, HELD) };
        let mut fabric = fabric(&tree, RoutingKind::DModK, 2, chip);
        // From the first root it is far to the second leaf, and from the second root to the first.
        for (link, latency) in fabric.routing.topology().links().iter().zip(&mut fabric.latencies) {
            let ends = link.ends.map(|end| match end {
                End::Switch(switch, _) => switch.0,
                End::Node(_) => 0,
            });
            let [lower, upper] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
            let is_far = matches!((lower, upper), (1, 2) | (0, 3));
            *latency = if is_far { 300 } else { 2 };
        }
        let broadcast = |script| with_broadcast(script, 0..4, 50, payload);
        // What takes the first way up from the second leaf sends the second broadcast to the other root.
        let unicast = Script::new(vec![packet(0, 2_048, 0)]);
        let scripts =
            vec![broadcast(Script::default()), Script::default(), broadcast(Script::default()), unicast];
        let (delivered, left, ring) = run(&fabric, scripts);
        assert_eq!(ring.is_some(), is_stuck, "{roots:?} {payload}: {left} left");
        assert_eq!(delivered.len() == 9, !is_stuck, "{}", delivered.len());
    }
}

/// A broadcast of which a copy is corrupt goes to all nodes again, and each delivers it once.
#[test]
fn corrupt_broadcasts_are_sent_again_and_delivered_once() {
    let tree = TopologySettings::KaryNTree { arity: 2, levels: 3 };
    let mut fabric = fabric(&tree, RoutingKind::DModK, 5, elite(2, HELD));
    fabric.errors.flit = u64::MAX / 3_000;
    let script = |source: u32| {
        (0..6_u32).fold(Script::default(), |script, turn| {
            with_broadcast(script, 0..8, u64::from(100 * turn + source), 512)
        })
    };
    let mut simulation =
        Simulation::<Elite, _, _>::new(&fabric, (0..8).map(script).collect(), 1, Deliveries::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    let (books, counters) = (simulation.audit(), simulation.counters());
    assert!(books.holds() && books.in_network == 0, "{books:?}");
    assert!(counters.link.nacks > 20 && counters.link.repeated >= counters.link.nacks, "{counters:?}");
    assert_eq!(counters.packets_delivered, 8 * 6 * 8);
}

/// Sends a test to all nodes until it is true.
#[derive(Debug, Default)]
struct Tester {
    set: Option<Arc<NodeSet>>,
    /// What it has heard, and when.
    answers: Vec<(Cycle, bool)>,
    /// It does not try again.
    once: bool,
    /// Tests that it denies, and copies that it has been delivered.
    denies: u32,
    copies: u32,
}

impl Tester {
    fn test(&self, now: Cycle, out: &mut Outgoing) {
        if let Some(set) = &self.set {
            out.push_to_set(Packet { created: now, ..packet(0, 8, 5) }, Arc::clone(set));
        }
    }
}

impl Endpoint for Tester {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.test(now, out);
        None
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        match up {
            Up::Delivery(delivery) => {
                self.copies += 1;
                if self.copies <= self.denies {
                    out.deny(delivery.ticket());
                }
            }
            Up::Answered(_, flow, is_true) => {
                assert_eq!(flow.tag, 5);
                self.answers.push((now, is_true));
                if !is_true && !self.once {
                    self.test(now, out);
                }
            }
            Up::Sent(..) | Up::Released(_) => panic!("there is neither"),
        }
        None
    }
}

/// A test is false as long as one node denies it, and each node is asked once for each test, though copies and answers are sent
/// again where links corrupt them.
#[test]
fn a_test_is_true_when_no_node_denies_it() {
    let tree = TopologySettings::KaryNTree { arity: 2, levels: 3 };
    for (errors, most) in [(0, 5_u32), (u64::MAX / 500, 40)] {
        let mut fabric = fabric(&tree, RoutingKind::DModK, 5, elite(2, HELD));
        fabric.errors.flit = errors;
        let set = Arc::new(NodeSet::new((1..8).map(NodeId)));
        let tester = |node: u32| Tester {
            set: (node == 0).then(|| Arc::clone(&set)),
            denies: if node.is_multiple_of(3) { 0 } else { most.saturating_sub(node) },
            ..Tester::default()
        };
        let mut simulation =
            Simulation::<Elite, _, _>::new(&fabric, (0..8).map(tester).collect(), 1, Deliveries::default);
        assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
        let (books, counters) = (simulation.audit(), simulation.counters());
        assert!(books.holds() && books.in_network == 0, "{books:?}");
        assert_eq!(counters.link.nacks > 0, errors > 0);
        let mut ends =
            simulation.gather_endpoints(|_, node| (node.copies, std::mem::take(&mut node.answers)));
        let answers = std::mem::take(&mut ends[0].1);
        let expected = vec![false; most as usize - 1].into_iter().chain([true]);
        assert_eq!(answers.iter().map(|it| it.1).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(
            ends.iter().map(|it| it.0).collect::<Vec<_>>(),
            [0].into_iter().chain([most; 7]).collect::<Vec<_>>()
        );
        if errors == 0 {
            let answer = fabric.zero_load_answer(NodeId(0), &set, 8).unwrap();
            let heard: Vec<u64> = answers.iter().map(|it| it.0.0).collect();
            assert_eq!(heard, (1..=u64::from(most)).map(|test| test * (answer + 1)).collect::<Vec<_>>());
        }
    }
}

/// A short packet overtakes those that wait, unless they have waited for long.
#[test]
fn the_high_priority_comes_first_and_ageing_gives_it_to_all() {
    let star = TopologySettings::Single { nodes: 4 };
    let order = |priority| {
        let chip = EliteSettings { priority, ..elite(1, HELD) };
        let fabric = fabric(&star, RoutingKind::UpDown, 2, chip);
        let send =
            |payload, created| Script::new(vec![Packet { created: Cycle(created), ..packet(3, payload, 0) }]);
        let (delivered, _, _) =
            run(&fabric, vec![send(2_048, 0), send(2_048, 10), send(8, 100), Script::default()]);
        delivered.iter().map(|it| it.source.0).collect::<Vec<_>>()
    };
    assert_eq!(order(None), [0, 1, 2]);
    assert_eq!(order(Some(PrioritySettings { up_to_bytes: 8, ageing: 10_000 })), [0, 2, 1]);
    assert_eq!(order(Some(PrioritySettings { up_to_bytes: 7, ageing: 10_000 })), [0, 1, 2]);
    assert_eq!(order(Some(PrioritySettings { up_to_bytes: 8, ageing: 300 })), [0, 1, 2]);
}

/// Keeps every loss.
#[derive(Debug, Default)]
struct Losses(Vec<Loss>);

impl LinkObserver for Losses {
    fn lost(&mut self, loss: &Loss) {
        self.0.push(*loss);
    }
}

impl SwitchObserver for Losses {}

impl NicObserver for Losses {}

impl MessageObserver for Losses {}

/// A switch takes 41 cycles to refuse a packet of 18 flits: its first flit is ready in cycle 2 + 2 + 5, its last leaves 17
/// cycles later, the NACK comes after 2 + 1 + 3, and is at the source 7 + 2 later.
#[test]
fn what_has_no_way_is_refused_and_given_up() {
    let answer = HELD.map(|answer| AnswerSettings { repeats: 1, attempts: 3, ..answer });
    let mut fabric = fabric(&TopologySettings::Single { nodes: 2 }, RoutingKind::UpDown, 2, elite(2, answer));
    let cut = FaultKind::Port(PortId(1), PortFault::Cut);
    fabric.faults = Faults::new(vec![Fault { at: Cycle(0), component: 0, kind: cut }]);
    let scripts = vec![Script::new(vec![packet(1, 8, 0)]), Script::new(vec![packet(0, 8, 0)])];
    let mut simulation = Simulation::<Elite, _, _>::new(&fabric, scripts, 1, Losses::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    assert!(simulation.audit().holds());
    let lost: Vec<_> = simulation.gather_observers(|observer| std::mem::take(&mut observer.0)).concat();
    let lost: Vec<_> = lost.iter().map(|it| (it.source.0, it.at.0, it.was_sent, it.cause)).collect();
    // At once, again at once, and after the back-off. A NIC port whose own link is down refuses in no time.
    let expected = [(1, 334, false, LossCause::LinkDown), (0, 3 * 41 + 334, true, LossCause::LinkDown)];
    assert_eq!(lost, expected);
}

/// Half of a tree is cut off: who is reached is delivered a copy once, though the broadcast is sent again and again, and it is
/// lost for the others. The sender of a test hears that it is false.
#[test]
fn a_broadcast_is_lost_for_the_nodes_that_are_cut_off_and_for_no_others() {
    let answer = HELD.map(|answer| AnswerSettings { repeats: 1, attempts: 3, ..answer });
    for roots in [Roots::One, Roots::Any] {
        let tree = TopologySettings::KaryNTree { arity: 2, levels: 2 };
        let mut fabric = fabric(&tree, RoutingKind::DModK, 2, EliteSettings { roots, ..elite(2, answer) });
        // The second leaf dies, and a node of the first is cut off.
        let cut = FaultKind::Port(PortId(1), PortFault::Cut);
        let fault = |component, kind| Fault { at: Cycle(0), component, kind };
        fabric.faults = Faults::new(vec![fault(1, FaultKind::Dead), fault(0, cut)]);
        let tester =
            Tester { set: Some(Arc::new(NodeSet::new((0..4).map(NodeId)))), once: true, ..Tester::default() };
        let others = (0..3).map(|_| Tester::default());
        let endpoints = std::iter::once(tester).chain(others).collect();
        let mut simulation = Simulation::<Elite, _, _>::new(&fabric, endpoints, 1, Losses::default);
        assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
        simulation.settle();
        let books = simulation.audit();
        assert!(books.holds() && books.in_network == 0, "{books:?}");
        let lost = simulation.gather_observers(|observer| std::mem::take(&mut observer.0)).concat();
        let lost: Vec<_> = lost.iter().map(|it| (it.destination.0, it.was_sent, it.cause)).collect();
        assert_eq!(lost, [1, 2, 3].map(|node| (node, true, LossCause::LinkDown)), "{roots:?}");
        assert_eq!((simulation.counters().packets_delivered, simulation.counters().link.nacks), (1, 3));
        let told = simulation.gather_endpoints(|_, tester| std::mem::take(&mut tester.answers)).concat();
        assert_eq!(told.iter().map(|it| it.1).collect::<Vec<_>>(), [false]);
    }
}

/// A link of the one tree breaks for good. Broadcasts wait for new tables, and by those all are reached.
#[test]
fn new_tables_give_broadcasts_another_tree() {
    let tree = TopologySettings::KaryNTree { arity: 2, levels: 3 };
    let mut fabric = fabric(&tree, RoutingKind::DModK, 3, elite(2, HELD));
    // The first way up of the second leaf, by which the root reaches its nodes.
    let cut = FaultKind::Port(PortId(2), PortFault::Cut);
    fabric.faults = Faults::new(vec![Fault { at: Cycle(1_000), component: 1, kind: cut }]);
    let topology = Arc::clone(fabric.routing.topology());
    let link = topology.wire(SwitchId(1), PortId(2)).unwrap().0;
    let around = fabric.routing.around(&Down { switches: Vec::new(), links: vec![link] }).unwrap().0;
    let script = |source: u32| {
        (0..20_u64).fold(Script::default(), |script, turn| {
            with_broadcast(script, 0..8, 100 * turn + u64::from(source), 512)
        })
    };
    let mut simulation =
        Simulation::<Elite, _, _>::new(&fabric, (0..8).map(script).collect(), 1, Deliveries::default);
    simulation.run_until(Cycle(4_000), &AtomicBool::new(false));
    simulation.reroute(Cycle(6_000), &around).unwrap();
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    assert!(simulation.deadlock().is_none());
    simulation.settle();
    let (books, counters) = (simulation.audit(), simulation.counters());
    assert!(books.holds() && books.in_network == 0, "{books:?}");
    assert!(counters.link.nacks > 5, "{counters:?}");
    assert_eq!((counters.lost.sum(), counters.packets_delivered), (0, 8 * 20 * 8));
}

/// A process is descheduled in the midst of a packet. Others wait for its path no longer than up to the time-out, and it is
/// sent again when the process goes on.
#[test]
fn a_packet_that_is_not_fed_is_closed_so_that_others_do_not_wait_for_it() {
    let times = |half_packet: u32| {
        let answer = HELD.map(|answer| AnswerSettings { half_packet, ..answer });
        let mut fabric =
            fabric(&TopologySettings::Single { nodes: 3 }, RoutingKind::UpDown, 2, elite(1, answer));
        // Nodes are components after the switch.
        let fault = |at, kind| Fault { at: Cycle(at), component: 1, kind: FaultKind::Port(PortId(0), kind) };
        fabric.faults = Faults::new(vec![fault(100, PortFault::Stalled), fault(20_000, PortFault::Resumed)]);
        let other = Script::new(vec![Packet { created: Cycle(200), ..packet(2, 8, 1) }]);
        let scripts = vec![Script::new(vec![packet(2, 2_048, 0)]), other, Script::default()];
        let (mut delivered, left, ring) = run(&fabric, scripts);
        assert_eq!((delivered.len(), left, ring), (2, 0, None));
        delivered.sort_by_key(|it| it.source);
        [delivered[0].delivered.0, delivered[1].delivered.0]
    };
    let [[own, other], [own_without, other_without]] = [times(1_000), times(1 << 30)];
    // 588 flits, of which 100 had been sent.
    assert!((1_100 + 488..1_100 + 600).contains(&other), "{other}");
    assert!((20_000 + 488..20_000 + 600).contains(&other_without), "{other_without}");
    assert!((20_000 + 588..20_000 + 700).contains(&own) && own_without < own, "{own} {own_without}");
}

/// A node that drains nothing before a cycle, and everything from it on.
struct Late {
    script: Script,
    held: Vec<Ticket>,
    from: Cycle,
}

impl Late {
    fn next(&self, script: Option<Cycle>) -> Option<Cycle> {
        let drains = (!self.held.is_empty()).then_some(self.from);
        script.into_iter().chain(drains).min()
    }
}

impl Endpoint for Late {
    const BOUNDED: bool = true;

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        if now >= self.from {
            self.held.drain(..).for_each(|ticket| out.drain(ticket));
        }
        let next = self.script.wake(now, out);
        self.next(next)
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        if let Up::Delivery(delivery) = up {
            match now < self.from {
                true => self.held.push(delivery.ticket()),
                false => out.drain(delivery.ticket()),
            }
        }
        let next = self.script.hear(now, up, out);
        self.next(next)
    }
}

/// Two nodes to a switch, and one link between two switches. The first node sends three long packets to the last one, which
/// drains nothing before cycle 20,000, and a broadcast to the two of the other switch; meanwhile the second one sends a short
/// packet over the same link. Gives when that is delivered, what else is, and the counters.
fn to_a_node_that_is_full(answer: AnswerSettings) -> (u64, Vec<u64>, flitway_fabric::simulation::Counters) {
    let tree = TopologySettings::Xgft {
        down: vec![2, 2],
        up: vec![1, 1],
        cables: vec![1, 1],
        nics: 1,
        populated: None,
    };
    let mut fabric = fabric(&tree, RoutingKind::DModK, 2, elite(1, Some(answer)));
    fabric.nic_ports = NicPorts::Bounded;
    let long = (0..3).map(|tag| packet(3, 2_048, tag)).collect();
    let short = Packet { created: Cycle(3_000), ..packet(2, 8, 7) };
    let scripts = [
        with_broadcast(Script::new(long), 2..4, 1, 2_048),
        Script::new(vec![short]),
        Script::default(),
        Script::default(),
    ];
    let froms = [0, 0, 0, 20_000].map(Cycle);
    let late = |(script, from)| Late { script, held: Vec::new(), from };
    let nodes = scripts.into_iter().zip(froms).map(late).collect();
    let mut simulation = Simulation::<Elite, _, _>::new(&fabric, nodes, 1, Deliveries::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    simulation.settle();
    let books = simulation.audit();
    assert!(books.holds() && books.in_network == 0, "{books:?}");
    let delivered = simulation.gather_observers(|observer| std::mem::take(&mut observer.0)).concat();
    let short = delivered.iter().find(|it| it.flow.tag == 7).unwrap().delivered.0;
    let mut others: Vec<u64> =
        delivered.iter().filter(|it| it.source == NodeId(0)).map(|it| it.flow.tag).collect();
    others.sort_unstable();
    (short, others, simulation.counters())
}

/// A NIC port that is full holds what comes, and with it a path; or refuses it, and the path is free in between.
#[test]
fn a_full_nic_port_holds_paths_or_refuses_packets() {
    let held = HELD.unwrap();
    let (short, others, counters) = to_a_node_that_is_full(held);
    assert!(short > 20_000 && others == [0, 1, 2, 99, 99], "{short} {others:?}");
    assert_eq!((counters.link.nacks, counters.link.refused), (0, 0));

    let refuses = AnswerSettings { when_full: WhenFull::Refuse, ..held };
    let (short, others, counters) = to_a_node_that_is_full(refuses);
    assert!(short < 4_500 && others == [0, 1, 2, 99, 99], "{short} {others:?}");
    assert!(counters.link.nacks > 16 && counters.lost.sum() == 0, "{counters:?}");
    // A packet that is refused is sent again, and no other: no link corrupts any.
    assert_eq!((counters.link.refused, counters.link.repeated), (counters.link.nacks, counters.link.nacks));

    let (_, others, counters) = to_a_node_that_is_full(AnswerSettings { attempts: 3, ..refuses });
    assert_eq!((others, counters.lost.refused, counters.lost.sum()), (vec![1, 2, 99], 2, 2));
    assert_eq!(counters.link.refused, 6);
}

/// What is on a link that breaks comes corrupt, and what has climbed to where no way leads down is refused; the next time it
/// climbs by other links.
#[test]
fn a_dead_switch_in_a_tree_of_adaptive_tags_costs_no_packet() {
    let tree = TopologySettings::KaryNTree { arity: 2, levels: 3 };
    let chip = EliteSettings { selection: Selection::LeastLoaded, ..elite(2, HELD) };
    let mut fabric = fabric(&tree, RoutingKind::DModK, 5, chip);
    fabric.routing = fabric.routing.with_selection(Selection::LeastLoaded);
    // The leaves are switches 0 to 3.
    fabric.faults = Faults::new(vec![Fault { at: Cycle(5_000), component: 5, kind: FaultKind::Dead }]);
    let scripts = random_scripts(4, &fabric, 400, 20_000, 700);
    let sent: usize = scripts.iter().map(|script| script.packets.len()).sum();
    let mut simulation = Simulation::<Elite, _, _>::new(&fabric, scripts, 1, Deliveries::default);
    assert_eq!(simulation.run_until(Cycle(1 << 40), &AtomicBool::new(false)), Outcome::Idle);
    assert!(simulation.audit().holds());
    let counters = simulation.counters();
    assert!(counters.link.nacks > 20 && counters.lost.sum() == 0, "{counters:?}");
    let delivered = simulation.gather_observers(|observer| std::mem::take(&mut observer.0));
    let mut names: Vec<_> = delivered.iter().flatten().map(|it| (it.source, it.flow.tag)).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!((names.len(), delivered.iter().map(Vec::len).sum()), (sent, sent));
}

/// Two packets on one link take turns: both take twice as long, and no longer.
#[test]
fn virtual_channels_share_a_link_flit_by_flit() {
    let star = TopologySettings::Single { nodes: 4 };
    let fabric = fabric(&star, RoutingKind::UpDown, 2, elite(2, HELD));
    let sends = || Script::new(vec![packet(3, 2_048, 0)]);
    let (delivered, _, _) = run(&fabric, vec![sends(), sends(), Script::default(), Script::default()]);
    let times: Vec<u64> = delivered.iter().map(|it| it.delivered.0).collect();
    let alone = 2 + 2 + 7 + 2 + 588;
    assert_eq!(times, [alone + 587, alone + 588]);
}

/// Every node sends three hops up a ring: each packet holds what the one before needs.
#[test]
fn a_ring_without_dateline_deadlocks_and_with_it_does_not() {
    let ring = TopologySettings::Torus { dimensions: vec![8], nodes_per_switch: 1 };
    for answer in [None, HELD] {
        for seed in [1, 2] {
            let run = |kind, vcs| {
                let fabric = fabric(&ring, kind, 5, elite(vcs, answer));
                let mut scripts = random_scripts(seed, &fabric, 400, 20_000, 2_048);
                for (node, script) in (0..).zip(&mut scripts) {
                    for packet in &mut script.packets {
                        packet.destination = Destination::Node(NodeId((node + 3) % 8));
                    }
                }
                let packets = scripts.iter().map(|script| script.packets.len()).sum::<usize>() as u64;
                let (delivered, left, ring) = run(&fabric, scripts);
                assert_eq!(delivered.len() as u64 + left, packets);
                let is_free = matches!(Dependencies::of(&fabric.routing).verdict(), Verdict::Free(_));
                (is_free, left == 0, ring.is_some())
            };
            for vcs in [1, 2] {
                let without = run(RoutingKind::DimensionOrderWithoutDateline, vcs);
                assert_eq!(without, (false, false, true), "{vcs} {answer:?}");
            }
            assert_eq!(run(RoutingKind::DimensionOrder, 2), (true, true, false));
        }
    }
}
