mod merged;

use super::*;
use crate::multicast::{Ascent, GroupSettings};
use crate::routing::tests::random_graph;
use crate::routing::{Arrival, Candidate, Header, Hop, Relation, RoutingKind, Selection};
use crate::topology::{Direction, GridShape, Shape, StageWiring, Topology, TopologySettings};
use flitway_engine::random::{Purpose, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn routing(kind: RoutingKind, settings: &TopologySettings) -> Routing {
    Routing::new(kind, Arc::new(Topology::build(settings).unwrap())).unwrap()
}

/// The channels that a packet takes, one after the other, on each of its ways.
fn channels(routing: &Routing, source: NodeId, destination: NodeId) -> Vec<Vec<Channel>> {
    let of = |hop: (SwitchId, Hop)| Channel { sender: End::Switch(hop.0, hop.1.port), class: hop.1.class };
    let first = Channel { sender: End::Node(source), class: 0 };
    let ways = routing.paths(source, destination);
    ways.map(|hops| std::iter::once(first).chain(hops.take(1_000).map(of)).collect()).collect()
}

/// The dependencies are those of the pairs, walked one by one; every packet arrives; and the order is one.
pub(crate) fn is_free(routing: &Routing) {
    let nodes = || (0..routing.topology().nodes()).map(NodeId);
    let (mut expected, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for (source, destination) in nodes().flat_map(|source| nodes().map(move |node| (source, node))) {
        if source != destination {
            for channels in channels(routing, source, destination) {
                expected.extend(channels.windows(2).map(|pair| (pair[0], pair[1])));
                taken.extend(channels);
            }
        }
    }
    let dependencies = Dependencies::of(routing);
    assert_eq!(dependencies.iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(dependencies.len(), expected.len() as u64);
    assert_eq!(dependencies.channels().collect::<BTreeSet<_>>(), taken);
    assert_eq!(dependencies.lost(), None);
    is_certified(&dependencies);
}

/// Each channel comes before those that it depends on, edge by edge.
fn is_certified(dependencies: &Dependencies) {
    let Verdict::Free(order) = dependencies.verdict() else { panic!("{:?}", dependencies.verdict()) };
    let place: BTreeMap<Channel, usize> = order.iter().copied().zip(0..).collect();
    assert_eq!(place.len(), order.len(), "each once");
    assert_eq!(place.len(), dependencies.channels().count());
    for (from, to) in dependencies.iter() {
        assert!(place[&from] < place[&to], "{from:?} before {to:?}");
    }
}

/// Two nodes that ask each other are enough, on any routing; and every witness takes its two channels.
#[test]
fn packets_that_are_answered_on_the_same_channels_close_a_cycle() {
    let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
    let mesh = TopologySettings::Mesh { dimensions: vec![3, 3], nodes_per_switch: 2 };
    for (kind, settings) in [
        (RoutingKind::UpDown, TopologySettings::Single { nodes: 2 }),
        (RoutingKind::DModK, tree),
        (RoutingKind::DimensionOrder, mesh),
    ] {
        let routing = routing(kind, &settings);
        is_free(&routing);
        let cycle = cycle(&Dependencies::with_replies(&routing));
        // There, in, out, back, in, out.
        assert_eq!((cycle.dependencies.len(), cycle.is_smallest), (4, true), "{cycle:?}");
        for Dependency { from, to, witness } in cycle.dependencies {
            let Destination::Node(node) = witness.destination else { panic!("there are no groups") };
            let mut way = channels(&routing, witness.source, node).remove(0);
            way.push(Channel { sender: End::Node(node), class: 0 });
            assert!(way.windows(2).any(|pair| pair == [from, to]), "{from:?} {to:?} {witness:?}: {way:?}");
        }
    }
}

fn cycle(dependencies: &Dependencies) -> Cycle {
    let Verdict::Cyclic(cycle) = dependencies.verdict() else { panic!("free of cyclic dependence") };
    let next = cycle.dependencies.iter().cycle().skip(1);
    assert!(cycle.dependencies.iter().zip(next).all(|(one, other)| one.to == other.from));
    assert!(cycle.dependencies.iter().all(|one| dependencies.iter().any(|edge| edge == (one.from, one.to))));
    cycle
}

#[test]
fn a_torus_without_dateline_closes_its_shortest_ring_of_five_or_more() {
    let cases: [(&[u32], Option<usize>); 10] = [
        (&[2], None),
        (&[3], None),
        (&[4, 4], None),
        (&[5], Some(5)),
        (&[6], Some(6)),
        (&[7, 2], Some(7)),
        (&[8, 8], Some(8)),
        (&[4, 9], Some(9)),
        (&[7, 5], Some(5)),
        (&[3, 6, 8], Some(6)),
    ];
    for (dimensions, ring) in cases {
        for nodes_per_switch in [1, 3] {
            let settings = TopologySettings::Torus { dimensions: dimensions.to_vec(), nodes_per_switch };
            let routing = routing(RoutingKind::DimensionOrderWithoutDateline, &settings);
            let Some(ring) = ring else {
                is_free(&routing);
                continue;
            };
            let dependencies = Dependencies::of(&routing);
            assert_eq!(dependencies.lost(), None);
            let cycle = cycle(&dependencies);
            assert_eq!((cycle.dependencies.len(), cycle.is_smallest), (ring, true), "{dimensions:?}");
            for Dependency { from, to, witness } in cycle.dependencies {
                let Destination::Node(node) = witness.destination else { panic!("there are no groups") };
                let taken = channels(&routing, witness.source, node).concat();
                assert!(taken.windows(2).any(|pair| pair == [from, to]), "{witness:?}");
                // Out of its node, two links of the ring, and into the other node: no shorter way takes both.
                assert_eq!(taken.len(), 4, "{witness:?}");
            }
        }
    }
}

#[test]
fn a_mesh_has_no_rings_with_or_without_dateline() {
    let settings = TopologySettings::Mesh { dimensions: vec![6, 5], nodes_per_switch: 1 };
    is_free(&routing(RoutingKind::DimensionOrderWithoutDateline, &settings));
}

#[test]
fn a_node_alone_waits_for_nobody() {
    let dependencies =
        Dependencies::of(&routing(RoutingKind::UpDown, &TopologySettings::Single { nodes: 1 }));
    assert!(dependencies.is_empty());
    assert_eq!((dependencies.channels().count(), dependencies.verdict()), (0, Verdict::Free(vec![])));
}

#[test]
fn nodes_of_one_switch_depend_on_the_ways_to_the_others() {
    let dependencies =
        Dependencies::of(&routing(RoutingKind::UpDown, &TopologySettings::Single { nodes: 70 }));
    assert_eq!((dependencies.channels().count(), dependencies.len()), (140, 70 * 69));
    is_certified(&dependencies);
}

/// Sends everything by one port, in one class.
#[derive(Debug)]
struct Always(u32);

impl Relation for Always {
    fn next(&self, _: SwitchId, _: Arrival, header: Header) -> Candidate {
        Candidate { hop: Hop { port: PortId(self.0), class: 0 }, header }
    }
}

#[test]
fn a_packet_that_does_not_arrive_is_a_finding() {
    let ring = TopologySettings::Torus { dimensions: vec![3], nodes_per_switch: 1 };
    let topology = Arc::new(Topology::build(&ring).unwrap());
    let lost = |port| {
        let routing = Routing::of_relation(Arc::new(Always(port)), &topology);
        Dependencies::of(&routing).lost().unwrap()
    };
    let pair = |lost: Lost| (lost.source.0, lost.destination.0);
    assert_eq!((pair(lost(0)), lost(0).how), ((1, 0), Loss::WrongNode(NodeId(1))));
    assert_eq!((pair(lost(9)), lost(9).how), ((1, 0), Loss::Unwired(SwitchId(1), PortId(9))));
    assert_eq!(pair(lost(1)), (1, 0));
    let Loss::Circles(channel) = lost(1).how else { panic!("{:?}", lost(1)) };
    assert!(matches!(channel.sender, End::Switch(_, PortId(1))), "{channel:?}");
    let routing = Routing::of_relation(Arc::new(Always(1)), &topology);
    assert_eq!(cycle(&Dependencies::of(&routing)).dependencies.len(), 3);
}

fn groups(routing: &Routing, ascent: Ascent, members: &[&[u32]]) -> Groups {
    let settings: Vec<GroupSettings> = members
        .iter()
        .zip(0..)
        .map(|(members, root)| GroupSettings { members: members.iter().copied().map(NodeId).collect(), root })
        .collect();
    Groups::new(routing, ascent, &settings).unwrap()
}

#[test]
fn groups_are_free_together_and_cyclic_one_by_one() {
    let tree = routing(RoutingKind::DModK, &TopologySettings::FatTree { ports: 4, levels: 3 });
    let members: [&[u32]; 2] = [&[0, 1, 5, 15], &[2, 5, 9, 15]];
    let unicast = Dependencies::of(&tree).len();
    for ascent in [Ascent::Table, Ascent::Routed] {
        let groups = groups(&tree, ascent, &members);
        let together = Dependencies::with_groups(&tree, &groups, Copies::Together);
        is_certified(&together);
        assert!(together.len() >= unicast);
        let one_by_one = Dependencies::with_groups(&tree, &groups, Copies::OneByOne);
        let cycle = cycle(&one_by_one);
        assert_eq!(cycle.dependencies.len(), 2, "two outputs of one switch");
        let is_copy = |one: &Dependency| matches!(one.witness.destination, Destination::Group(..));
        assert!(cycle.dependencies.iter().all(is_copy), "{cycle:?}");
    }
}

#[test]
fn a_copy_adds_the_turns_that_packets_do_not_take() {
    // d-mod-k sends everything for a node up by one port; the tree of a group has one root for all of its members.
    let tree = routing(RoutingKind::DModK, &TopologySettings::KaryNTree { arity: 2, levels: 2 });
    let groups = groups(&tree, Ascent::Table, &[&[0, 1, 2, 3]]);
    let plain: BTreeSet<_> = Dependencies::of(&tree).iter().collect();
    let copied: BTreeSet<_> = Dependencies::with_groups(&tree, &groups, Copies::Together).iter().collect();
    let channel = |switch, port| Channel { sender: End::Switch(SwitchId(switch), PortId(port)), class: 0 };
    // Root 0: from the left leaf up by port 2, and down to the right leaf by port 1 and to both of its nodes there.
    let added: Vec<_> = copied.difference(&plain).copied().collect();
    let turn = (channel(2, 1), channel(1, 1));
    assert!(copied.is_superset(&plain) && added.contains(&turn), "{added:?}");
}

#[test]
fn groups_on_one_switch_wait_for_each_other_only_where_two_come_in() {
    let single = routing(RoutingKind::UpDown, &TopologySettings::Single { nodes: 4 });
    let three = groups(&single, Ascent::Table, &[&[0, 1, 2]]);
    assert_eq!(cycle(&Dependencies::with_groups(&single, &three, Copies::OneByOne)).dependencies.len(), 2);
    // Packets of two members have one output each.
    let two = groups(&single, Ascent::Table, &[&[0, 1], &[2, 3]]);
    is_certified(&Dependencies::with_groups(&single, &two, Copies::OneByOne));
}

#[test]
fn groups_over_random_graphs_go_with_up_down_routing() {
    for seed in 0..200 {
        let mut stream = Stream::new(seed, 1, Purpose::Test);
        let graph = random_graph(&mut stream);
        let nodes: Vec<u32> = (0..graph.nodes).collect();
        let routing = routing(RoutingKind::UpDown, &TopologySettings::Graph(graph));
        let groups = groups(&routing, Ascent::Table, &[&nodes, &nodes[nodes.len() / 2..]]);
        is_certified(&Dependencies::with_groups(&routing, &groups, Copies::Together));
    }
}

#[test]
fn the_load_of_a_channel_is_that_of_the_pairs_that_take_it() {
    let torus = TopologySettings::Torus { dimensions: vec![5, 3], nodes_per_switch: 2 };
    let mesh = TopologySettings::Mesh { dimensions: vec![3, 3], nodes_per_switch: 1 };
    let tree = TopologySettings::FatTree { ports: 4, levels: 3 };
    let omega = TopologySettings::Stages { wiring: StageWiring::Omega, arity: 3, stages: 2 };
    let mut stream = Stream::new(7, 0, Purpose::Test);
    let graph = TopologySettings::Graph(random_graph(&mut stream));
    for (kind, settings) in [
        (RoutingKind::DimensionOrder, torus.clone()),
        (RoutingKind::DimensionOrderWithoutDateline, torus),
        (RoutingKind::DimensionOrder, mesh),
        (RoutingKind::DModK, tree),
        (RoutingKind::UpDown, graph),
        (RoutingKind::DestinationTag, omega),
    ] {
        let routing = routing(kind, &settings);
        // Whole numbers, whose sums have no rounding.
        let weight = |source: NodeId, node: NodeId| f64::from((3 * source.0 + 5 * node.0) % 7);
        let mut expected: BTreeMap<Channel, f64> = BTreeMap::new();
        let nodes = || (0..routing.topology().nodes()).map(NodeId);
        for (source, node) in nodes().flat_map(|source| nodes().map(move |node| (source, node))) {
            for channel in channels(&routing, source, node).concat().into_iter().filter(|_| source != node) {
                *expected.entry(channel).or_default() += weight(source, node);
            }
        }
        let loads = Dependencies::of(&routing).loads(weight).of;
        let links = routing.topology().links();
        let channels = links.iter().map(|link| if link.is_one_way { 1 } else { 2 }).sum::<u32>();
        let nodes = routing.topology().nodes();
        assert_eq!(loads.len() as u32, (channels - nodes) * routing.classes() + nodes);
        for (channel, load) in loads {
            assert_eq!(load, expected.remove(&channel).unwrap_or(0.0), "{channel:?}");
        }
        assert!(expected.is_empty());
    }
}

/// Minimal adaptive routing on a mesh in class 1, by any port that leads closer, with dimension order in class 0 beside it, to
/// which packets may come back at every switch. Without `has_escape` class 0 is left out.
#[derive(Debug)]
struct Adaptive {
    shape: GridShape,
    has_escape: bool,
    all_escape: bool,
}

impl Adaptive {
    /// Ports that lead closer, dimension 0 first.
    fn closer(&self, here: SwitchId, destination: NodeId) -> Vec<PortId> {
        let target = SwitchId(destination.0 / self.shape.nodes_per_switch);
        let towards = |dimension: usize| {
            let [at, to] = [here, target].map(|switch| self.shape.coordinate(switch, dimension));
            let direction = if to > at { Direction::Higher } else { Direction::Lower };
            (at != to).then(|| self.shape.port(dimension, direction))
        };
        (0..self.shape.dimensions.len()).filter_map(towards).collect()
    }
}

impl Relation for Adaptive {
    fn classes(&self) -> u32 {
        2
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let mut first = None;
        self.candidates(here, arrival, header, &mut |next| first = first.or(Some(next)));
        first.expect("there is a way")
    }

    fn candidates(&self, here: SwitchId, _: Arrival, header: Header, take: &mut dyn FnMut(Candidate)) {
        let closer = self.closer(here, header.destination());
        let Some(&first) = closer.first() else {
            let port = PortId(header.destination().0 % self.shape.nodes_per_switch);
            return take(Candidate { hop: Hop { port, class: 0 }, header });
        };
        if self.has_escape {
            take(Candidate { hop: Hop { port: first, class: 0 }, header });
        }
        for port in closer {
            take(Candidate { hop: Hop { port, class: 1 }, header });
        }
    }

    fn is_escape(&self, _: SwitchId, hop: Hop) -> bool {
        self.all_escape || hop.class == 0
    }
}

fn adaptive(has_escape: bool, all_escape: bool) -> Dependencies {
    let settings = TopologySettings::Mesh { dimensions: vec![3, 3], nodes_per_switch: 1 };
    let topology = Arc::new(Topology::build(&settings).unwrap());
    let Shape::Grid(shape) = topology.shape().clone() else { panic!("it is a grid") };
    let relation = Arc::new(Adaptive { shape, has_escape, all_escape });
    Dependencies::of(&Routing::of_relation(relation, &topology).with_selection(Selection::LeastLoaded))
}

/// Duato's theorem on a mesh: minimal adaptive routing closes rings, and is free of deadlock with an escape beside it.
#[test]
fn an_escape_lets_other_channels_close_rings() {
    let with_escape = adaptive(true, false);
    assert_eq!(with_escape.lost(), None);
    assert!(matches!(with_escape.verdict(), Verdict::Free(_)));
    // Nobody may count on a channel that closes a ring with others.
    let Verdict::Cyclic(cycle) = adaptive(true, true).verdict() else { panic!("four turns close a ring") };
    assert!(cycle.dependencies.iter().any(|it| it.from.class == 1), "{:?}", cycle.dependencies[0]);
}

#[test]
fn a_packet_without_an_escape_is_a_finding() {
    let lost = adaptive(false, false).lost().expect("class 0 is left out");
    assert!(matches!(lost.how, Loss::NoEscape(_)), "{lost:?}");
}

/// Valiant's routing on a ring of two phases: to an intermediate switch, then on, each phase in classes of its own or not.
#[derive(Debug)]
struct Valiant {
    ring: GridShape,
    switches: u32,
    phases: u8,
}

impl Relation for Valiant {
    fn classes(&self) -> u32 {
        u32::from(self.phases)
    }

    fn start(&self, _: NodeId, destination: NodeId, draw: u64) -> Header {
        Header::to(destination).by_way_of((draw % u64::from(self.switches)) as u32)
    }

    fn starts(&self, source: NodeId, destination: NodeId) -> Vec<Header> {
        (0..self.switches).map(|via| self.start(source, destination, via.into())).collect()
    }

    fn is_plain(&self) -> bool {
        false
    }

    fn next(&self, here: SwitchId, _: Arrival, header: Header) -> Candidate {
        let is_there = header.phase() == 1 || header.via() == here.0;
        let header = header.in_phase(u16::from(is_there));
        let target = if is_there { header.destination().0 } else { header.via() };
        let class = if self.phases == 2 && is_there { 1 } else { 0 };
        let port = match target.cmp(&here.0) {
            std::cmp::Ordering::Equal => PortId(0),
            std::cmp::Ordering::Greater => self.ring.port(0, Direction::Higher),
            std::cmp::Ordering::Less => self.ring.port(0, Direction::Lower),
        };
        let class = if port.0 == 0 { 0 } else { class };
        Candidate { hop: Hop { port, class }, header }
    }
}

/// On a line a way back after a way forth closes a ring in one class, and none in two.
#[test]
fn a_header_with_phases_is_walked_phase_by_phase() {
    let settings = TopologySettings::Mesh { dimensions: vec![4], nodes_per_switch: 1 };
    let topology = Arc::new(Topology::build(&settings).unwrap());
    let Shape::Grid(ring) = topology.shape().clone() else { panic!("it is a grid") };
    let of = |phases| {
        let relation = Valiant { ring: ring.clone(), switches: 4, phases };
        Dependencies::of(&Routing::of_relation(Arc::new(relation), &topology))
    };
    let (one, two) = (of(1), of(2));
    assert_eq!((one.lost(), two.lost()), (None, None));
    assert!(matches!(two.verdict(), Verdict::Free(_)));
    let Verdict::Cyclic(cycle) = one.verdict() else { panic!("back and forth in one class") };
    assert_eq!(cycle.dependencies.len(), 2);
}

/// All ports up of a tree of switches that select, without a ring.
#[test]
fn a_tree_is_free_whichever_port_up_is_selected() {
    for settings in [
        TopologySettings::KaryNTree { arity: 3, levels: 3 },
        TopologySettings::FatTree { ports: 4, levels: 3 },
        TopologySettings::KaryNTree { arity: 1, levels: 3 },
        TopologySettings::FatTree { ports: 6, levels: 1 },
    ] {
        let first = routing(RoutingKind::DModK, &settings);
        let selecting = first.clone().with_selection(Selection::LeastLoaded);
        let (first, selecting) = (Dependencies::of(&first), Dependencies::of(&selecting));
        is_certified(&selecting);
        assert!(selecting.len() >= first.len());
        let all: BTreeSet<_> = selecting.iter().collect();
        assert!(first.iter().all(|it| all.contains(&it)));
    }
}
