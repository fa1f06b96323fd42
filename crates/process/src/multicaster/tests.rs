use super::plan::OperationTag;
use super::root::RootChooser;
use super::*;
use crate::PlanError;
use crate::testing::{run, run_observed};
use flitway_wiring::routing::{Routing, RoutingKind};
use flitway_wiring::topology::{Topology, TopologySettings};
use flitway_workload::Fraction;
use flitway_workload::multicast::{Multicast, MulticastChoice, members};
use flitway_workload::traffic::size::{self, SizeChoice};
use flitway_workload::traffic::{Injection, arrival};

fn plan(members: &str, method: Method, root: RootPolicy, overheads: [u64; 2]) -> Arc<MulticastPlan> {
    let SizeChoice::Sizes(sizes) = size::parse("64B").unwrap() else { panic!("a size") };
    let choice = MulticastChoice {
        members: members::parse(members).unwrap(),
        sizes,
        arrivals: arrival::parse("bernoulli").unwrap(),
    };
    let injection = Injection { rails: 2, mtu: 64, flits: &|_| 32, load: Fraction::percent(1) };
    let multicast = Arc::new(Multicast::build(&choice, 16, &injection, 3).unwrap());
    let tree = Topology::build(&TopologySettings::FatTree { ports: 4, levels: 3 }).unwrap();
    let routing = Routing::new(RoutingKind::DModK, Arc::new(tree)).unwrap();
    let [send_overhead, receive_overhead] = overheads;
    let settings = PlanSettings {
        method,
        root,
        switches: Copying::Groups(16),
        rails: 2,
        send_overhead,
        receive_overhead,
        seed: 3,
    };
    Arc::new(MulticastPlan::new(&multicast, &routing, settings).unwrap())
}

/// Every packet of every operation: (handed over, from, to, operation, created).
fn sent(plan: &Arc<MulticastPlan>, cycles: u64) -> Vec<(u64, u32, u32, OperationTag, u64)> {
    let mut nodes: Vec<Multicaster> = (0..16).map(|node| Multicaster::new(plan, NodeId(node))).collect();
    run(&mut nodes, &[50, 50], cycles)
        .into_iter()
        .map(|(at, from, packet)| {
            let Destination::Node(to) = packet.destination else { panic!("nodes forward to nodes") };
            (at, from, to.0, OperationTag::of(packet.flow).expect("an operation"), packet.created.0)
        })
        .collect()
}

#[test]
fn forwarding_reaches_every_member_once() {
    for method in [Method::Sequence, Method::Binomial, Method::Postal { gap: 3, latency: 60 }] {
        for members in ["broadcast", "nodes(1+4-9+15)", "random(members=5, groups=3)", "fresh(receivers=6)"] {
            let plan = plan(members, method, RootPolicy::Table, [3, 2]);
            let packets = sent(&plan, 40_000);
            let mut tags: Vec<OperationTag> = packets.iter().map(|packet| packet.3).collect();
            tags.sort_unstable();
            tags.dedup();
            assert!(tags.len() > 10, "{method:?} {members}: {} operations", tags.len());
            // The last ones may not be over.
            for tag in tags.iter().filter(|tag| packets.iter().any(|it| it.3 == **tag && it.4 < 35_000)) {
                let mut reached: Vec<u32> =
                    packets.iter().filter(|packet| packet.3 == *tag).map(|packet| packet.2).collect();
                reached.sort_unstable();
                let members = plan.multicast().members(tag.group, tag.source, tag.sequence);
                let members = members.iter();
                let others: Vec<u32> =
                    members.filter(|node| **node != tag.source).map(|node| node.0).collect();
                assert_eq!(reached, others, "{method:?} {tag:?}");
            }
        }
    }
}

#[test]
fn the_processor_does_one_thing_at_a_time() {
    let plan = plan("nodes(0-3)", Method::Sequence, RootPolicy::Table, [7, 5]);
    let packets = sent(&plan, 30_000);
    let first = packets[0].3;
    let of: Vec<u64> = packets.iter().filter(|packet| packet.3 == first).map(|packet| packet.0).collect();
    let created = packets[0].4;
    assert_eq!(of, [created + 7, created + 14, created + 21]);
    let binomial = sent(&self::plan("nodes(0-3)", Method::Binomial, RootPolicy::Table, [7, 5]), 30_000);
    let first: Vec<_> = binomial.iter().filter(|packet| packet.3 == binomial[0].3).collect();
    let created = first[0].4;
    // The sender sends to the third of four at once; 50 cycles on the way, 5 to receive, 7 to send on.
    let forwarded = first.iter().find(|packet| packet.1 != first[0].3.source.0).expect("someone forwards");
    assert_eq!(forwarded.0, created + 7 + 50 + 5 + 7);
}

#[test]
fn a_copy_has_been_received_when_the_processor_has_taken_it_in() {
    let receipts = |overheads| {
        let plan = plan("nodes(0-3)", Method::Binomial, RootPolicy::Table, overheads);
        let mut nodes: Vec<Multicaster> = (0..16).map(|node| Multicaster::new(&plan, NodeId(node))).collect();
        let (_, events) = run_observed(&mut nodes, &[50, 50], 30_000);
        let receipts = events.into_iter().map(|event| match event {
            MessageEvent::Received(receipt) => receipt,
            MessageEvent::Synchronised(_) | MessageEvent::Requested(_) => {
                panic!("there are neither barriers nor requests")
            }
        });
        receipts.collect::<Vec<_>>()
    };
    let all = receipts([7, 5]);
    let of_first: Vec<_> = all.iter().filter(|receipt| receipt.flow == all[0].flow).collect();
    let mut latencies: Vec<u64> =
        of_first.iter().map(|receipt| receipt.received.since(receipt.created)).collect();
    latencies.sort_unstable();
    // To the third of four at once, which sends to the fourth; the second is sent to after the third.
    assert_eq!(latencies, [7 + 50 + 5, 14 + 50 + 5, 7 + 50 + 5 + 7 + 50 + 5]);
    assert!(receipts([7, 0]).is_empty(), "at once: whoever sees them delivered knows");
}

#[test]
fn runs_of_members_are_groups_of_their_own() {
    let plan = plan("nodes(1+4-9+15)", Method::Ranges, RootPolicy::Table, [0, 0]);
    let groups: Vec<usize> = (0..3).map(|group| plan.groups().members(GroupId(group)).len()).collect();
    assert_eq!((plan.groups().len(), groups), (3, vec![1, 6, 1]));
    // Who is alone in a run does not send there.
    assert_eq!(plan.parts(0, NodeId(1)), [GroupId(1), GroupId(2)]);
    assert_eq!(plan.parts(0, NodeId(5)).len(), 3);
}

#[test]
fn roots_are_chosen_by_what_is_known_of_their_load() {
    let choose = |policy, loads: [u32; 4], times: usize| {
        let plan = plan("broadcast", Method::Hardware, policy, [0, 0]);
        let node = NodeId(0);
        let roots = plan.groups().roots(node, GroupId(0));
        assert_eq!(roots, 4);
        // 20 switches in each rail, the four at the top last.
        let mut flits = vec![0; 2 * 20];
        flits[20 + 16..].copy_from_slice(&loads);
        plan.loads().tell(flits);
        let mut chooser = RootChooser::new(&plan, node);
        let mut counts = [0; 4];
        for _ in 0..times {
            counts[chooser.choose(&plan, node, RailId(1), GroupId(0)) as usize] += 1;
        }
        counts
    };
    assert_eq!(choose(RootPolicy::LeastLoaded, [900, 700, 100, 500], 10), [0, 0, 10, 0]);
    assert_eq!(choose(RootPolicy::LeastLoaded, [3, 3, 3, 3], 10), [10, 0, 0, 0]);
    let [heavy, a, b, c] = choose(RootPolicy::NotHeavilyLoaded, [900, 100, 200, 300], 3_000);
    assert!(heavy == 0 && [a, b, c].iter().all(|count| (850..1_150).contains(count)), "{a} {b} {c}");
    let all = choose(RootPolicy::Random, [900, 0, 0, 0], 4_000);
    assert!(all.iter().all(|count| (850..1_150).contains(count)), "{all:?}");
}

/// The roots and rails of the packets of `nodes` of a tree with four roots, in the order of the beginnings of their operations;
/// management decides on those before each of `stops` at a time.
fn managed(loads: [u32; 4], nodes: &[u32], stops: &[u64]) -> Vec<(u32, u32)> {
    let plan = plan("broadcast", Method::Hardware, RootPolicy::LeastLoadedEstimated, [3, 0]);
    let mut manager = Manager::new(&plan);
    let mut all: Vec<Multicaster> = nodes.iter().map(|&node| Multicaster::new(&plan, NodeId(node))).collect();
    // 20 switches in each rail, the four at the top last.
    let mut flits = vec![0; 2 * 20];
    flits[16..20].copy_from_slice(&loads);
    flits[36..].copy_from_slice(&loads);
    plan.loads().tell(flits);
    all.iter_mut().for_each(Multicaster::forget_roots);
    for &stop in stops {
        assert!(manager.is_to_decide(Cycle(stop)));
        let requests = all.iter_mut().flat_map(|node| node.requests(Cycle(stop))).collect();
        let roots = manager.decide(&plan, requests);
        for node in &mut all {
            node.learn_roots(roots.get(&node.node).map_or(&[], Vec::as_slice));
        }
    }
    let mut sent = Vec::new();
    for node in &mut all {
        let mut now = Cycle::ZERO;
        while now.0 < stops[stops.len() - 1] {
            let mut out = Outgoing::new();
            let next = node.wake(now, &mut out);
            for packet in out.packets {
                let Destination::Group(_, root) = packet.destination else { panic!("to a group") };
                sent.push((packet.created, node.node, root, packet.rail.0));
            }
            now = next.expect("there is always another");
        }
    }
    sent.sort_unstable();
    sent.into_iter().map(|(.., root, rail)| (root, rail)).collect()
}

#[test]
fn management_counts_what_it_has_issued_for_all_nodes() {
    const END: u64 = 1_000_000;
    let sent = managed([5_000, 250, 100, 5_000], &[0, 3, 9], &[END]);
    // 32 flits a packet: after five of them in a rail, whoever has sent them, the third root is no longer the least loaded.
    for rail in 0..2 {
        let roots: Vec<u32> = sent.iter().filter(|it| it.1 == rail).map(|it| it.0).collect();
        assert_eq!(roots[..12], [2, 2, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1], "rail {rail}");
    }
    // When it is asked makes no difference.
    assert_eq!(managed([5_000, 250, 100, 5_000], &[0, 3, 9], &[10, 17, 50_000, 50_001, END]), sent);
}

#[test]
fn groups_need_room_in_the_switches() {
    let plan = |method| {
        let choice = MulticastChoice {
            members: members::parse("random(members=3, groups=17)").unwrap(),
            sizes: match size::parse("64B").unwrap() {
                SizeChoice::Sizes(sizes) => sizes,
                SizeChoice::File(_) => panic!("a size"),
            },
            arrivals: arrival::parse("bernoulli").unwrap(),
        };
        let injection = Injection { rails: 1, mtu: 64, flits: &|_| 32, load: Fraction::percent(1) };
        let multicast = Arc::new(Multicast::build(&choice, 16, &injection, 3).unwrap());
        let single = Topology::build(&TopologySettings::Single { nodes: 16 }).unwrap();
        let routing = Routing::new(RoutingKind::UpDown, Arc::new(single)).unwrap();
        let settings = PlanSettings {
            method,
            root: RootPolicy::Table,
            switches: Copying::Groups(16),
            rails: 1,
            send_overhead: 0,
            receive_overhead: 0,
            seed: 3,
        };
        MulticastPlan::new(&multicast, &routing, settings).map(|plan| plan.groups().len())
    };
    assert_eq!(plan(Method::Hardware), Err(PlanError::TooManyGroups { needed: 17, room: 16 }));
    assert_eq!(plan(Method::Binomial), Ok(0));
    let worms = |method, root, switches| {
        let single = Topology::build(&TopologySettings::Single { nodes: 16 }).unwrap();
        let routing = Routing::new(RoutingKind::UpDown, Arc::new(single)).unwrap();
        let settings =
            PlanSettings { method, root, switches, rails: 1, send_overhead: 0, receive_overhead: 0, seed: 3 };
        let multicast = Arc::clone(
            self::plan("fresh(receivers=3)", Method::Sequence, RootPolicy::Table, [0, 0]).multicast(),
        );
        MulticastPlan::new(&multicast, &routing, settings)
    };
    let (table, hardware) = (RootPolicy::Table, Method::Hardware);
    assert_eq!(worms(hardware, table, Copying::Groups(16)).unwrap_err(), PlanError::FreshNeedsWorms);
    assert_eq!(worms(hardware, table, Copying::Nothing).unwrap_err(), PlanError::NoCopies);
    assert_eq!(worms(Method::Ranges, table, Copying::Worms).unwrap_err(), PlanError::RangesOfWorms);
    assert_eq!(worms(hardware, RootPolicy::Random, Copying::Worms).unwrap_err(), PlanError::RootOfWorms);
    let plan = worms(hardware, table, Copying::Worms).unwrap();
    let tag = OperationTag { group: 0, source: NodeId(2), sequence: 5 };
    let [worm] = &plan.worms(tag)[..] else { panic!("one worm for all") };
    assert_eq!((worm.len(), worm.contains(NodeId(2)), plan.receivers(0)), (3, false, 3));
    let cut = worms(Method::Ranges, table, Copying::Ranges).unwrap().worms(tag);
    let receivers: u32 = cut.iter().map(|run| run.len() - u32::from(run.contains(NodeId(2)))).sum();
    assert!(receivers == 3 && cut.iter().all(NodeSet::is_run), "{cut:?}");
}
