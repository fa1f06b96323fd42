//! What every switch must keep, whatever it is: the conformance kit.
//!
//! [`conforms`] asks a switch by its [`Architecture`] and [`Chip`] alone, on every topology and routing that it can be used
//! with. A new switch calls it from a test of its own with some of its settings; how it works in every cycle is the business of
//! its reference model.

use crate::bytes::InBytes;
use crate::test_nic::{NicCounts, TestNic, TestNicSettings};
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::faults::{Fault, FaultKind, PortFault};
use flitway_fabric::headroom::Longest;
use flitway_fabric::link::lanes::{LaneStates, RATES_MAX};
use flitway_fabric::observer::{LinkObserver, MessageObserver, NicObserver, SwitchObserver};
use flitway_fabric::simulation::{Architecture, Counters};
use flitway_fabric::{
    ANY_PAYLOAD, BarrierId, Barriers, Change, ChangeError, ChangeKind, Chip, Delivery, Endpoint, Fabric,
    Faults, Flow, FlowKind, LinkErrors, NicPorts, Outgoing, Packet, Rate, Rates, Simulation, Up, barrier,
};
use flitway_nic::{NicModel, Place};
use flitway_wiring::multicast::{Ascent, GroupSettings};
use flitway_wiring::reach::Reach;
use flitway_wiring::routing::{Routing, RoutingKind, Selection};
use flitway_wiring::topology::{Arrangement, DragonflyShape, End, StageWiring, Topology, TopologySettings};
use flitway_wiring::{Destination, GroupId, Groups, NodeId, NodeSet, PortId, RailId, SetId, SwitchId};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Cycles in which packets are created.
const LENGTH: u64 = 3_000;

/// Holds `chips` of one architecture to all that every switch must keep. Returns the kinds of mail that have gone through
/// bytes: the test of a switch holds them against those that there are.
///
/// # Panics
/// If one of them does not.
pub fn conforms<A: Architecture>(chips: &[A::Chip]) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    for (number, chip) in chips.iter().enumerate() {
        let mut fabrics = 0;
        for (topology, kind) in topologies() {
            let Some(fabric) = fabric::<A>(chip, &topology, kind, number as u32) else { continue };
            fabrics += 1;
            describes_itself::<A>(&fabric);
            one_packet_takes_its_closed_form::<A>(&fabric);
            a_loaded_network_loses_nothing::<A>(&fabric);
            if chip.offers().errors {
                let errors = LinkErrors { seed: 3, flit: u64::MAX / 150, ..LinkErrors::default() };
                a_loaded_network_loses_nothing::<A>(&Fabric { errors, ..fabric.clone() });
            }
            if chip.offers().faults {
                kinds.append(&mut what_breaks_is_accounted_for::<A>(&fabric));
            }
            a_slow_nic_presses_back_and_loses_nothing::<A>(&fabric);
            kinds.append(&mut mail_goes_through_bytes::<A>(&fabric));
            kinds.append(&mut changes_count_from_their_dates::<A>(&fabric));
        }
        assert!(fabrics >= 3, "chip {number} goes with {fabrics} of the topologies: {chip:?}");
        refuses_what_it_does_not_offer::<A>(chip);
    }
    kinds
}

/// Small fabrics of every kind.
fn topologies() -> Vec<(TopologySettings, RoutingKind)> {
    let stages = |wiring, arity, stages| TopologySettings::Stages { wiring, arity, stages };
    let dragonfly = DragonflyShape {
        groups: 4,
        switches_per_group: 2,
        nodes_per_switch: 1,
        global_ports: 2,
        arrangement: Arrangement::PalmTree,
    };
    vec![
        (TopologySettings::Single { nodes: 4 }, RoutingKind::UpDown),
        (TopologySettings::FatTree { ports: 4, levels: 2 }, RoutingKind::DModK),
        (TopologySettings::KaryNTree { arity: 2, levels: 3 }, RoutingKind::DModK),
        (TopologySettings::KaryNTree { arity: 2, levels: 2 }, RoutingKind::UpDown),
        (TopologySettings::Mesh { dimensions: vec![3, 2], nodes_per_switch: 1 }, RoutingKind::DimensionOrder),
        (
            TopologySettings::Torus { dimensions: vec![4, 3], nodes_per_switch: 1 },
            RoutingKind::DimensionOrder,
        ),
        (TopologySettings::Dragonfly(dragonfly), RoutingKind::UgalG),
        (stages(StageWiring::Omega, 2, 3), RoutingKind::DestinationTag),
        (stages(StageWiring::Butterfly, 2, 2), RoutingKind::DestinationTag),
    ]
}

/// `chip` on that topology, if the two go together; latencies and rails differ by `number`.
fn fabric<A: Architecture>(
    chip: &A::Chip,
    topology: &TopologySettings,
    kind: RoutingKind,
    number: u32,
) -> Option<Fabric<A::Chip>> {
    let topology = Arc::new(Topology::build(topology).expect("these can be built"));
    let fits =
        topology.ports_max() <= chip.ports() && (chip.offers().one_way_links || !topology.is_one_way());
    // Where switches select, the closed form is that of first candidates: all ways of a length take as long then.
    let vary = if chip.selection() == Selection::First { 7 } else { 0 };
    let latencies = (0..topology.links().len() as u32).map(|link| 1 + (link * vary + number) % 9).collect();
    let routing = Routing::new(kind, topology).ok()?.with_selection(chip.selection());
    let has_classes = routing.classes() <= chip.vcs() && chip.vcs().is_multiple_of(routing.classes());
    (fits && has_classes).then(|| Fabric {
        routing,
        rails: 1 + number % 2,
        latencies,
        rates: Rates::full(),
        errors: LinkErrors::default(),
        faults: Faults::default(),
        groups: Groups::none(),
        barriers: Barriers::none(),
        payloads: ANY_PAYLOAD,
        nic_ports: NicPorts::Ideal,
        chip: chip.clone(),
    })
}

/// What it says of itself goes together.
fn describes_itself<A: Architecture>(fabric: &Fabric<A::Chip>) {
    let (chip, offers) = (&fabric.chip, fabric.chip.offers());
    assert!(chip.bytes_per_port(fabric).iter().all(|&bytes| bytes > 0), "a port takes memory");
    let headroom = chip.headroom(Longest::of(fabric.topology(), &fabric.latencies));
    assert!(headroom.units_needed > 0 && headroom.units > 0, "credits take a round trip: {headroom:?}");
    let longer = chip.headroom(Longest { nodes: 500, switches: Some(500) });
    assert!(longer.units_needed >= headroom.units_needed, "longer links need no less: {longer:?}");
    let set = NodeSet::new([NodeId(0)]);
    let worm = fabric.zero_load_worm(NodeId(0), &set, 1);
    assert!(worm.is_none() || offers.sets.is_some(), "who has no sets has no closed form for them");
    let mut costs = chip.costs();
    costs.retain(|cost| cost.is_chosen);
    assert!(chip.costs().is_empty() || costs.len() == 1, "one organisation is that of the settings");
    let [short, long] = [1, chip.format().mtu_bytes].map(|payload| chip.zero_load_cycles(1, payload));
    assert!(short <= long && long <= fabric.zero_load_cycles_max(chip.format().mtu_bytes));
}

/// A packet alone takes the closed form to the cycle, from any node to any other; longer if its flits wait for credits.
fn one_packet_takes_its_closed_form<A: Architecture>(fabric: &Fabric<A::Chip>) {
    let nodes = fabric.nodes();
    let headroom = fabric.chip.headroom(Longest::of(fabric.topology(), &fabric.latencies));
    let has_credits = headroom.units >= headroom.units_needed;
    for destination in (1..nodes).map(NodeId) {
        let source = NodeId(destination.0 * 5 % nodes);
        let payload = 1 + destination.0 * 37 % fabric.chip.format().mtu_bytes;
        let mut scripts = vec![Script::default(); nodes as usize];
        scripts[source.index()].packets = vec![packet(destination, payload as u16, Cycle(40), 0)];
        let (deliveries, _) = run::<A>(fabric, scripts, 1, &[]);
        let [delivery] = deliveries[..] else { panic!("{source} to {destination}: {deliveries:?}") };
        let latency = delivery.delivered.since(delivery.created);
        let (closed, hops) = fabric.zero_load_cycles(source, destination, payload);
        assert_eq!(u32::from(delivery.hops), hops, "from {source} to {destination}");
        let agrees = if has_credits { latency == closed } else { latency >= closed };
        assert!(agrees, "{payload} B from {source} to {destination}: {latency}, in closed form {closed}");
    }
}

/// Under load every packet is delivered once, the books agree, and neither threads nor looks from outside change a thing.
fn a_loaded_network_loses_nothing<A: Architecture>(fabric: &Fabric<A::Chip>) {
    let scripts = random_scripts(fabric);
    let sent: usize = scripts.iter().map(|script| script.packets.len()).sum();
    let (deliveries, counters) = run::<A>(fabric, scripts.clone(), 1, &[]);
    assert_eq!((deliveries.len(), counters.packets_delivered), (sent, sent as u64), "each arrives once");
    let mut names: Vec<_> = deliveries.iter().map(|it| (it.source, it.flow.tag)).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), sent, "none arrives twice");
    let pauses: Vec<Cycle> = (0..40).map(|number| Cycle(17 + number * 89)).collect();
    for (threads, pauses) in [(1, &[][..]), (2, &[]), (4, &[]), (1, &pauses), (3, &pauses)] {
        let (again, other) = run::<A>(fabric, scripts.clone(), threads, pauses);
        assert!(
            again == deliveries,
            "{threads} threads, {} looks from outside: other deliveries",
            pauses.len()
        );
        assert_eq!(Counters { wakes: 0, ..other }, Counters { wakes: 0, ..counters });
    }
}

/// Shards that write to each other in bytes do the same as one alone, and so do threads, with all that the switch offers.
/// Returns the kinds of mail.
fn mail_goes_through_bytes<A: Architecture>(fabric: &Fabric<A::Chip>) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    let plain = (fabric.clone(), random_scripts(fabric));
    let collective = with_collectives::<A>(fabric).map(|fabric| {
        let scripts = collective_scripts(&fabric);
        (fabric, scripts)
    });
    for (fabric, scripts) in [Some(plain), collective].into_iter().flatten() {
        let (deliveries, counters) = run::<A>(&fabric, scripts.clone(), 1, &[]);
        let same = |again: &[Delivery], other: Counters| {
            assert!(again == deliveries, "other deliveries on several shards");
            assert_eq!(Counters { wakes: 0, ..other }, Counters { wakes: 0, ..counters });
        };
        let (again, other) = run::<A>(&fabric, scripts.clone(), 2, &[]);
        same(&again, other);
        let (mut simulation, again) = simulation::<InBytes<A>>(&fabric, scripts, 3, &[]);
        same(&again, simulation.counters());
        kinds.extend(simulation.gather(|shard| shard.kinds().clone()).into_iter().flatten());
    }
    kinds
}

/// What breaks loses packets by name, and none besides: the link of a node is cut, another has a bad lane for a while, and the
/// switch of a third one dies. Neither threads nor bytes change a thing. Returns the kinds of mail.
fn what_breaks_is_accounted_for<A: Architecture>(fabric: &Fabric<A::Chip>) -> BTreeSet<String> {
    let topology = fabric.topology();
    let switches = fabric.rails * topology.switches();
    let at_switch = |node: u32| {
        let (switch, port) = topology.home(NodeId(node));
        (switch.0, port)
    };
    let fault =
        |at, (component, port), fault| Fault { at: Cycle(at), component, kind: FaultKind::Port(port, fault) };
    let nic = |node| (switches + node, PortId(0));
    let one_is_bad = LaneStates { works_at: [!1; RATES_MAX] };
    let mut list = vec![
        fault(LENGTH / 3, nic(0), PortFault::Cut),
        fault(LENGTH / 3, at_switch(0), PortFault::Cut),
        fault(LENGTH / 4, at_switch(1), PortFault::Lanes(one_is_bad)),
        fault(LENGTH / 2, at_switch(1), PortFault::Lanes(LaneStates { works_at: [!0; RATES_MAX] })),
    ];
    if topology.switches() > 1 {
        let (component, _) = at_switch(fabric.nodes() - 1);
        list.push(Fault { at: Cycle(2 * LENGTH / 3), component, kind: FaultKind::Dead });
        let neighbours = (0..topology.ports(SwitchId(component)))
            .filter_map(|port| topology.wire(SwitchId(component), PortId(port)));
        list.extend(neighbours.map(|(_, end)| match end {
            End::Switch(switch, port) => fault(2 * LENGTH / 3 + 9, (switch.0, port), PortFault::Cut),
            End::Node(node) => fault(2 * LENGTH / 3 + 9, nic(node.0), PortFault::Cut),
        }));
    }
    let fabric = Fabric { faults: Faults::new(list), ..fabric.clone() };
    let scripts = random_scripts(&fabric);
    let sent: usize = scripts.iter().map(|script| script.packets.len()).sum();
    let (mut simulation, deliveries) = simulation::<InBytes<A>>(&fabric, scripts.clone(), 3, &[]);
    let counters = simulation.counters();
    assert!(counters.lost.sum() > 0, "packets are lost: {counters:?}");
    // Where sources try again, those of a dead node still do at the end, with all that is behind it.
    let tries = fabric.chip.offers().answers.is_some();
    let waits = if tries { simulation.audit().in_network } else { 0 };
    assert_eq!(deliveries.len() as u64 + counters.lost.sum() + waits, sent as u64, "all others arrive");
    for threads in [1, 2, 4] {
        let (again, other) = run::<A>(&fabric, scripts.clone(), threads, &[Cycle(LENGTH / 2)]);
        assert!(again == deliveries, "{threads} threads: other deliveries");
        assert_eq!(Counters { wakes: 0, ..other }, Counters { wakes: 0, ..counters });
    }
    simulation.gather(|shard| shard.kinds().clone()).into_iter().flatten().collect()
}

/// A channel that is stopped carries nothing from that cycle on until it has a rate again, one of half the rate half as much,
/// and neither threads, nor when it is ordered, nor bytes change a thing. Who offers no changes refuses them. Returns the kinds
/// of mail.
fn changes_count_from_their_dates<A: Architecture>(fabric: &Fabric<A::Chip>) -> BTreeSet<String> {
    const STOPPED: [u64; 2] = [LENGTH / 3, LENGTH / 2];
    let kind = |rate| ChangeKind::Rate { sender: End::Node(NodeId(0)), rate };
    let change = |at, rate| Change { at: Cycle(at), rail: RailId(0), kind: kind(rate) };
    let changes =
        [change(STOPPED[0], None), change(STOPPED[1], Rate::new(1, 2)), change(LENGTH, Rate::new(1, 1))];
    let scripts = random_scripts(fabric);
    if !fabric.chip.offers().changes {
        let mut simulation = Simulation::<A, _, _>::new(fabric, scripts, 1, Deliveries::default);
        assert_eq!(simulation.change(&changes[0]), Err(ChangeError::NotOffered));
        return BTreeSet::new();
    }
    let (stopped, mut simulation) = changed::<InBytes<A>>(fabric, &scripts, 3, &changes, Cycle::ZERO);
    let kinds = simulation.gather(|shard| shard.kinds().clone()).into_iter().flatten().collect();
    let of_first = |it: &&Delivery| it.source == NodeId(0) && it.rail == RailId(0) && it.hops > 0;
    let injected = |span: [u64; 2]| {
        let sent = stopped.iter().filter(of_first).filter(|it| (span[0]..span[1]).contains(&it.injected.0));
        sent.map(|it| u64::from(it.flits)).sum::<u64>()
    };
    // A packet whose first flit was sent in the last cycle before is on the wire a little later.
    assert_eq!(injected([STOPPED[0] + 20, STOPPED[1]]), 0, "nothing begins while the channel is stopped");
    let half = injected([STOPPED[1], LENGTH]);
    assert!(half > 0 && half <= (LENGTH - STOPPED[1]) / 2 + 400, "half a flit a cycle: {half}");
    for (threads, ordered) in [(1, 0), (2, 0), (4, STOPPED[0] / 2), (1, STOPPED[0] / 2)] {
        let (again, _) = changed::<A>(fabric, &scripts, threads, &changes, Cycle(ordered));
        assert!(again == stopped, "{threads} threads, ordered in cycle {ordered}: other deliveries");
    }
    kinds
}

/// Deliveries of a run whose `changes` are ordered in cycle `ordered`, or a little later, and the simulation after it.
fn changed<A: Architecture>(
    fabric: &Fabric<A::Chip>,
    scripts: &[Script],
    threads: u32,
    changes: &[Change],
    ordered: Cycle,
) -> (Vec<Delivery>, Simulation<A, Script, Deliveries>) {
    let mut simulation = Simulation::<A, _, _>::new(fabric, scripts.to_vec(), threads, Deliveries::default);
    simulation.run_until(ordered, &AtomicBool::new(false));
    for change in changes {
        simulation.change(change).expect("the switches offer changes, and it is early");
    }
    simulation.run_until(Cycle(40 * LENGTH), &AtomicBool::new(false));
    assert!(simulation.audit().holds(), "{:?}", simulation.audit());
    let late = Change { at: simulation.now(), ..changes[0] };
    assert_eq!(simulation.change(&late), Err(ChangeError::TooEarly(simulation.earliest_change())));
    (deliveries(&mut simulation), simulation)
}

/// `fabric` with a group and a barrier of all its nodes, as far as its switches offer them; `None` if they do not.
fn with_collectives<A: Architecture>(fabric: &Fabric<A::Chip>) -> Option<Fabric<A::Chip>> {
    let offers = fabric.chip.offers();
    let members: Vec<NodeId> = (0..fabric.nodes()).map(NodeId).collect();
    let group = GroupSettings { members: members.clone(), root: 0 };
    let groups = offers.groups.and_then(|_| Groups::new(&fabric.routing, Ascent::Routed, &[group]).ok());
    let settings = barrier::BarrierSettings { members, root: barrier::Root::Switch(0), rail: RailId(0) };
    let barriers = offers.barriers.filter(|offer| !offer.shares_with_groups);
    let barriers = barriers.and_then(|_| Barriers::new(&fabric.routing, &[settings]).ok());
    let has_sets = offers.sets.is_some() && Reach::new(&fabric.routing).is_some();
    let has_some = groups.is_some() || barriers.is_some() || has_sets;
    has_some.then(|| Fabric {
        groups: groups.unwrap_or_else(Groups::none),
        barriers: barriers.unwrap_or_else(Barriers::none),
        ..fabric.clone()
    })
}

/// NICs that take packets slower than they come refuse some and keep others in their ports: the network fills, every packet is
/// taken once in the end, its sender learns of it, and neither threads nor looks from outside change a thing.
fn a_slow_nic_presses_back_and_loses_nothing<A: Architecture>(fabric: &Fabric<A::Chip>) {
    let fabric = Fabric { nic_ports: NicPorts::Bounded, ..fabric.clone() };
    let mut scripts = random_scripts(&fabric);
    for packet in scripts.iter_mut().flat_map(|script| &mut script.packets) {
        let kind = if packet.flow.tag % 2 == 0 { FlowKind::Traffic } else { FlowKind::Message };
        packet.flow = Flow::new(kind, packet.flow.tag);
    }
    let longest = u64::from(fabric.chip.format().packet_flits(fabric.chip.format().mtu_bytes));
    let settings = TestNicSettings { window: 2, room: 2, gap: 3 * longest.max(12) };
    let place = |node| Place { node, rails: fabric.rails, seed: 0 };
    let nodes = (0..).map(NodeId).zip(&scripts);
    let nics: Vec<TestNic<Script>> =
        nodes.map(|(node, script)| settings.nic(place(node), script.clone())).collect();
    let sent: u64 = scripts.iter().map(|script| script.packets.len() as u64).sum();
    let run = |threads, pauses: &[Cycle]| {
        let stop = AtomicBool::new(false);
        let mut simulation = Simulation::<A, _, _>::new(&fabric, nics.clone(), threads, Deliveries::default);
        let mut queued = 0;
        for until in pauses.iter().copied().chain([Cycle(40 * LENGTH)]) {
            simulation.run_until(until, &stop);
            simulation.settle();
            assert!(simulation.audit().holds(), "after {}: {:?}", simulation.now(), simulation.audit());
            queued = simulation.queued_flits().iter().sum::<u64>().max(queued);
        }
        let counts: NicCounts = simulation.gather_endpoints(|_, nic| nic.counts()).into_iter().sum();
        assert!(
            simulation.gather_endpoints(|_, nic| nic.is_idle()).into_iter().all(|is_idle| is_idle),
            "everything comes to an end: {counts:?}"
        );
        let mut all: Vec<Delivery> = simulation
            .gather_observers(|observer| std::mem::take(&mut observer.0))
            .into_iter()
            .flatten()
            .collect();
        all.sort_by_key(|it| (it.delivered, it.destination, it.rail, it.vc, it.source, it.flow));
        (counts, all, queued)
    };
    let (counts, deliveries, queued) = run(1, &[Cycle(LENGTH)]);
    assert!(queued > 0, "what a node does not take waits in the network");
    assert_eq!((counts.taken, counts.accepted), (sent, sent), "each is taken once, and its sender knows");
    assert!(counts.held > 0 && counts.refused > 0, "NICs are too slow: {counts:?}");
    assert_eq!(counts.refused, counts.sent_again, "what is refused is sent again");
    assert_eq!(deliveries.len() as u64, 2 * (counts.taken + counts.refused), "each is answered");
    let pauses: Vec<Cycle> = (0..40).map(|number| Cycle(29 + number * 83)).collect();
    for (threads, pauses) in [(2, &[][..]), (4, &[]), (1, &pauses), (3, &pauses)] {
        let (others, again, _) = run(threads, pauses);
        assert!(others == counts && again == deliveries, "{threads} threads, {} looks", pauses.len());
    }
}

/// What it does not offer it does not run in silence.
fn refuses_what_it_does_not_offer<A: Architecture>(chip: &A::Chip) {
    let offers = chip.offers();
    let settings = TopologySettings::FatTree { ports: 4, levels: 2 };
    let plain = fabric::<A>(chip, &settings, RoutingKind::DModK, 0).expect("every switch has four ports");
    let refuses = |fabric: Fabric<A::Chip>| {
        let scripts = vec![Script::default(); fabric.nodes() as usize];
        catch_unwind(AssertUnwindSafe(|| run::<A>(&fabric, scripts, 1, &[]))).is_err()
    };
    assert!(!refuses(plain.clone()), "it runs what it offers");
    let mut rates = Rates::full();
    rates.set(End::Node(NodeId(1)), Rate::new(4, 5).expect("less than one"));
    assert_eq!(refuses(Fabric { rates, ..plain.clone() }), !offers.rates, "rates");
    let errors = LinkErrors { flit: u64::MAX / 100, ..LinkErrors::default() };
    assert_eq!(refuses(Fabric { errors, ..plain.clone() }), !offers.errors, "errors");
    let members: Vec<NodeId> = (0..4).map(NodeId).collect();
    let group = GroupSettings { members: members.clone(), root: 0 };
    let groups = Groups::new(&plain.routing, Ascent::Routed, &[group]).expect("the members are there");
    assert!(groups.members(GroupId(0)) == members);
    assert_eq!(refuses(Fabric { groups, ..plain.clone() }), offers.groups.is_none(), "groups");
    let settings = barrier::BarrierSettings { members, root: barrier::Root::Switch(0), rail: RailId(0) };
    let barriers = Barriers::new(&plain.routing, &[settings]).expect("the members are there");
    let has_barriers = offers.barriers.is_some();
    let with_barriers = Fabric { barriers, ..plain };
    let closed = with_barriers.zero_load_barrier_cycles(BarrierId(0), NodeId(0), NodeId(1));
    assert_eq!(closed.is_some(), has_barriers, "a closed form for what it offers");
    assert_eq!(refuses(with_barriers), !has_barriers, "barriers");
}

fn packet(destination: NodeId, payload: u16, created: Cycle, tag: u64) -> Packet {
    let destination = Destination::Node(destination);
    Packet { destination, rail: RailId(0), lane: tag as u32, payload, created, flow: Flow::traffic(tag) }
}

/// Random packets, at about half of what a node can send.
fn random_scripts<C: Chip + 'static>(fabric: &Fabric<C>) -> Vec<Script> {
    let format = fabric.chip.format();
    let gap = 2 * u64::from(format.packet_flits(format.mtu_bytes / 2));
    let script = |node: u32| {
        let mut stream = Stream::new(11, u64::from(node), Purpose::Test);
        let (mut packets, mut at) = (Vec::new(), stream.below(gap));
        while at < LENGTH {
            let destination = NodeId(stream.below(fabric.nodes().into()) as u32);
            let payload = 1 + stream.below(format.mtu_bytes.into()) as u16;
            let rail = RailId(stream.below(fabric.rails.into()) as u32);
            packets.push(Packet { rail, ..packet(destination, payload, Cycle(at), packets.len() as u64) });
            at += stream.below(2 * gap);
        }
        packets.reverse();
        Script { packets, ..Script::default() }
    };
    (0..fabric.nodes()).map(script).collect()
}

/// The same, but that every fourth packet is for the group of `fabric`, or for a set of nodes, and with barriers beside them.
fn collective_scripts<C: Chip + 'static>(fabric: &Fabric<C>) -> Vec<Script> {
    let sets = fabric.chip.offers().sets;
    let nodes = fabric.nodes();
    let set: NodeSet = match sets {
        Some(sets) if !sets.any => NodeSet::new((1..=nodes / 2).map(NodeId)),
        _ => NodeSet::new((0..nodes).step_by(2).map(NodeId)),
    };
    let to_group = (!fabric.groups.is_empty()).then_some(Destination::Group(GroupId(0), 0));
    let to_set = Destination::Nodes(SetId { set: 0, nodes: set.len() });
    let destination = to_group.or_else(|| sets.map(|_| to_set));
    let (set, barriers) = (Arc::new(set), if fabric.barriers.is_empty() { 0 } else { 9 });
    let mut scripts = random_scripts(fabric);
    for script in &mut scripts {
        (script.set, script.barriers) = (Some(Arc::clone(&set)), barriers);
        for packet in script.packets.iter_mut().step_by(4) {
            packet.destination = destination.unwrap_or(packet.destination);
        }
    }
    scripts
}

/// Deliveries in order of time, and totals, of a run to its end; the books are looked at after each of `pauses` and then.
fn run<A: Architecture>(
    fabric: &Fabric<A::Chip>,
    scripts: Vec<Script>,
    threads: u32,
    pauses: &[Cycle],
) -> (Vec<Delivery>, Counters) {
    let (mut simulation, deliveries) = simulation::<A>(fabric, scripts, threads, pauses);
    (deliveries, simulation.counters())
}

/// The same, with the simulation after the run.
fn simulation<A: Architecture>(
    fabric: &Fabric<A::Chip>,
    scripts: Vec<Script>,
    threads: u32,
    pauses: &[Cycle],
) -> (Simulation<A, Script, Deliveries>, Vec<Delivery>) {
    let stop = AtomicBool::new(false);
    let mut simulation = Simulation::<A, _, _>::new(fabric, scripts, threads, Deliveries::default);
    for until in pauses.iter().copied().chain([Cycle(40 * LENGTH)]) {
        simulation.run_until(until, &stop);
        simulation.settle();
        assert!(simulation.audit().holds(), "after {}: {:?}", simulation.now(), simulation.audit());
    }
    let found = simulation.deadlock();
    assert!(found.is_none(), "nothing waits for ever: {found:?}");
    let all = deliveries(&mut simulation);
    (simulation, all)
}

/// Deliveries in order of time.
fn deliveries<A: Architecture>(simulation: &mut Simulation<A, Script, Deliveries>) -> Vec<Delivery> {
    let mut all: Vec<Delivery> = simulation
        .gather_observers(|observer| std::mem::take(&mut observer.0))
        .into_iter()
        .flatten()
        .collect();
    all.sort_by_key(|it| (it.delivered, it.destination, it.rail, it.source, it.flow.tag));
    all
}

/// Sends given packets, the last one first.
#[derive(Clone, Debug, Default)]
struct Script {
    packets: Vec<Packet>,
    /// The nodes that packets for a set are for.
    set: Option<Arc<NodeSet>>,
    /// Barriers of group 0 that it still arrives at.
    barriers: u32,
}

impl Script {
    fn arrive(&mut self, out: &mut Outgoing) {
        if let Some(left) = self.barriers.checked_sub(1) {
            self.barriers = left;
            out.arrive(BarrierId(0));
        }
    }
}

impl Endpoint for Script {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        if now == Cycle::ZERO {
            self.arrive(out);
        }
        while let Some(packet) = self.packets.pop_if(|packet| packet.created <= now) {
            match (packet.destination, &self.set) {
                (Destination::Nodes(_), Some(set)) => out.push_to_set(packet, Arc::clone(set)),
                _ => out.push(packet),
            }
        }
        self.packets.last().map(|packet| packet.created)
    }

    fn hear(&mut self, _: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        if let Up::Released(_) = up {
            self.arrive(out);
        }
        self.packets.last().map(|packet| packet.created)
    }
}

/// Keeps every delivery.
#[derive(Debug, Default)]
struct Deliveries(Vec<Delivery>);

impl LinkObserver for Deliveries {}

impl SwitchObserver for Deliveries {}

impl NicObserver for Deliveries {
    fn delivered(&mut self, delivery: &Delivery) {
        self.0.push(*delivery);
    }
}

impl MessageObserver for Deliveries {}
