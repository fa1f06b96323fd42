use super::*;
use crate::topology::{
    Arrangement, DragonflyPlus, DragonflyShape, Graph, GraphLink, RandomRegular, StageWiring,
    TopologySettings,
};
use flitway_engine::random::{Purpose, Stream};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn routing(kind: RoutingKind, settings: &TopologySettings) -> Routing {
    let routing = Routing::new(kind, Arc::new(Topology::build(settings).unwrap())).unwrap();
    assert!(classes(kind, settings).is_none_or(|classes| classes == routing.classes()));
    routing
}

pub(super) fn hops(routing: &Routing, source: u32, destination: u32) -> usize {
    routing.path(NodeId(source), NodeId(destination)).count()
}

/// What every routing must keep: paths end at their destination, do not visit a channel twice, the header field says
/// the same as the walk, and the dependencies between channels are free of cycles.
pub(super) fn conformance(routing: &Routing) {
    let nodes = routing.topology().nodes();
    let mut depends: BTreeMap<(SwitchId, Hop), BTreeSet<(SwitchId, Hop)>> = BTreeMap::new();
    for source in (0..nodes).map(NodeId) {
        let (here, arrival) = routing.start(source);
        let is_beside = |node: &NodeId| routing.start(*node).0 == here;
        for other in (0..nodes).map(NodeId).filter(is_beside) {
            let same =
                |node| routing.next(here, routing.start(other).1, node) == routing.next(here, arrival, node);
            let is_told = routing.tells_nodes_apart();
            assert!(
                is_told || (0..nodes).map(NodeId).all(same),
                "{source} and {other} are nodes of one switch"
            );
        }
        for destination in (0..nodes).map(NodeId) {
            let path: Vec<_> = routing.path(source, destination).take(1_000).collect();
            let &(last, hop) = path.last().unwrap();
            assert_eq!(routing.topology().wire(last, hop.port).unwrap().1, End::Node(destination));
            assert_eq!(path.iter().collect::<BTreeSet<_>>().len(), path.len());
            assert!(path.iter().all(|(_, hop)| u32::from(hop.class) < routing.classes()));
            assert_eq!(unpacked(routing, source, destination), path);
            let walked = routing.walk(source, destination);
            assert_eq!(routing.way(source, destination), walked);
            assert_eq!(routing.relation.way(source, destination).unwrap_or(walked), walked);
            for pair in path.windows(2) {
                depends.entry(pair[0]).or_default().insert(pair[1]);
            }
        }
    }
    assert!(is_acyclic(&depends), "{routing:?}");
    crate::dependency::tests::is_free(routing);
}

impl Routing {
    /// A routing by a relation of a test.
    pub(crate) fn of_relation(relation: Arc<dyn Relation>, topology: &Arc<Topology>) -> Routing {
        let kind = RoutingKind::UpDown;
        Routing {
            kind,
            topology: Arc::clone(topology),
            selection: Selection::First,
            is_plain: relation.is_plain(),
            relation,
            ways: Arc::new([]),
            down: None,
        }
    }
}

fn unpacked(routing: &Routing, source: NodeId, destination: NodeId) -> Vec<(SwitchId, Hop)> {
    let (mut here, mut arrival) = routing.start(source);
    let mut route = routing.route(here, arrival, destination);
    let mut path = Vec::new();
    loop {
        path.push((here, route.hop()));
        let Some(next) = routing.follow(here, route.hop()) else { return path };
        (here, arrival) = next;
        route = route.rest();
        assert!(!route.has_arrived());
        if route.is_continued() {
            route = routing.route(here, arrival, destination);
        }
    }
}

fn is_acyclic<T: Ord + Copy>(depends: &BTreeMap<T, BTreeSet<T>>) -> bool {
    let mut incoming: BTreeMap<T, usize> = BTreeMap::new();
    for (&from, to) in depends {
        incoming.entry(from).or_default();
        for &to in to {
            *incoming.entry(to).or_default() += 1;
        }
    }
    let mut ready: Vec<T> = incoming.iter().filter(|&(_, &count)| count == 0).map(|(&at, _)| at).collect();
    let mut done = 0;
    while let Some(at) = ready.pop() {
        done += 1;
        for next in depends.get(&at).into_iter().flatten() {
            let count = incoming.get_mut(next).unwrap();
            *count -= 1;
            if *count == 0 {
                ready.push(*next);
            }
        }
    }
    done == incoming.len()
}

/// A connected random graph with `nodes` spread over its switches.
pub(crate) fn random_graph(stream: &mut Stream) -> Graph {
    let (switches, nodes) = (1 + stream.below(9) as u32, 1 + stream.below(12) as u32);
    let mut ports = vec![0; switches as usize];
    let mut take = |switch: u32| {
        ports[switch as usize] += 1;
        End::Switch(SwitchId(switch), PortId(ports[switch as usize] - 1))
    };
    let mut links = Vec::new();
    for node in 0..nodes {
        let switch = stream.below(u64::from(switches)) as u32;
        links.push(GraphLink { ends: [End::Node(NodeId(node)), take(switch)], length_mm: None });
    }
    for switch in 1..switches {
        let other = stream.below(u64::from(switch)) as u32;
        links.push(GraphLink { ends: [take(switch), take(other)], length_mm: None });
    }
    for _ in 0..stream.below(8) {
        let a = stream.below(u64::from(switches)) as u32;
        let b = stream.below(u64::from(switches)) as u32;
        if a != b {
            links.push(GraphLink { ends: [take(a), take(b)], length_mm: None });
        }
    }
    Graph { nodes, switches, links, servers: Vec::new() }
}

#[test]
fn d_mod_k_climbs_to_the_lowest_common_switch_and_no_further() {
    let ft = routing(RoutingKind::DModK, &TopologySettings::FatTree { ports: 16, levels: 3 });
    assert_eq!([hops(&ft, 0, 7), hops(&ft, 0, 63), hops(&ft, 0, 64), hops(&ft, 0, 1023)], [1, 3, 5, 5]);
    for settings in [
        TopologySettings::FatTree { ports: 4, levels: 3 },
        TopologySettings::FatTree { ports: 8, levels: 2 },
        TopologySettings::FatTree { ports: 6, levels: 1 },
        TopologySettings::KaryNTree { arity: 3, levels: 3 },
    ] {
        conformance(&routing(RoutingKind::DModK, &settings));
    }
}

#[test]
fn d_mod_k_gives_every_destination_of_a_leaf_its_own_way_up() {
    let ft = routing(RoutingKind::DModK, &TopologySettings::FatTree { ports: 16, levels: 3 });
    let first = |d| ft.path(NodeId(0), NodeId(d)).next().unwrap().1.port;
    assert_eq!((512..520).map(first).collect::<BTreeSet<_>>().len(), 8);
}

#[test]
fn dimension_order_takes_the_shortest_way() {
    let mesh = routing(
        RoutingKind::DimensionOrder,
        &TopologySettings::Mesh { dimensions: vec![8, 8], nodes_per_switch: 1 },
    );
    assert_eq!([hops(&mesh, 0, 0), hops(&mesh, 0, 7), hops(&mesh, 0, 63)], [1, 8, 15]);
    let torus = routing(
        RoutingKind::DimensionOrder,
        &TopologySettings::Torus { dimensions: vec![8, 8], nodes_per_switch: 1 },
    );
    assert_eq!(
        [hops(&torus, 0, 0), hops(&torus, 0, 7), hops(&torus, 0, 63), hops(&torus, 0, 36)],
        [1, 2, 3, 9]
    );
    for dimensions in [vec![5, 3], vec![2, 2, 2], vec![4], vec![1, 6], vec![3, 1, 2]] {
        let settings = TopologySettings::Torus { dimensions: dimensions.clone(), nodes_per_switch: 2 };
        conformance(&routing(RoutingKind::DimensionOrder, &settings));
        let settings = TopologySettings::Mesh { dimensions, nodes_per_switch: 1 };
        conformance(&routing(RoutingKind::DimensionOrder, &settings));
    }
}

#[test]
fn up_down_reaches_everything_on_random_graphs_without_cycles() {
    for seed in 0..200 {
        let mut stream = Stream::new(seed, 0, Purpose::Test);
        conformance(&routing(RoutingKind::UpDown, &TopologySettings::Graph(random_graph(&mut stream))));
    }
    conformance(&routing(RoutingKind::UpDown, &TopologySettings::FatTree { ports: 4, levels: 3 }));
    conformance(&routing(
        RoutingKind::UpDown,
        &TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 },
    ));
}

/// The busiest channel between switches when every node sends as much to every other, in packets.
pub(super) fn busiest(routing: &Routing) -> f64 {
    let loads = crate::dependency::Dependencies::of(routing);
    let is_between = |sender| match sender {
        End::Switch(switch, port) => {
            matches!(routing.topology().wire(switch, port), Some((_, End::Switch(..))))
        }
        End::Node(_) => false,
    };
    let mut by_sender: BTreeMap<End, f64> = BTreeMap::new();
    for (channel, load) in
        loads.loads(|_, _| 1.0).of.into_iter().filter(|(channel, _)| is_between(channel.sender))
    {
        *by_sender.entry(channel.sender).or_default() += load;
    }
    by_sender.into_values().fold(0.0, f64::max)
}

#[test]
fn a_ring_of_two_uses_both_of_its_cables_and_a_ring_of_six_both_ways_alike() {
    let busiest = |dimensions: &[u32], nodes_per_switch| {
        let settings = TopologySettings::Torus { dimensions: dimensions.to_vec(), nodes_per_switch };
        busiest(&routing(RoutingKind::DimensionOrder, &settings))
    };
    // Of 4 x 4 packets each way, each cable has half.
    assert_eq!([busiest(&[2], 4), busiest(&[2, 2, 2], 4), busiest(&[2, 2, 2], 2)], [8.0, 32.0, 8.0]);
    // A node sends over 1 + 2 + 3 / 2 links of a ring of six each way, and over 1 + 2 / 2 links of one of four.
    assert_eq!(
        [busiest(&[6], 2), busiest(&[6, 6], 2), busiest(&[4], 1), busiest(&[4, 4], 1)],
        [18.0, 108.0, 2.0, 8.0]
    );
}

#[test]
fn a_dimension_of_one_is_a_dimension_of_none() {
    let with = |dimensions: &[u32]| {
        let settings = TopologySettings::Torus { dimensions: dimensions.to_vec(), nodes_per_switch: 1 };
        routing(RoutingKind::DimensionOrder, &settings)
    };
    let (with_one, without) = (with(&[3, 1, 1, 4]), with(&[3, 4]));
    for (source, node) in (0..12).flat_map(|source| (0..12).map(move |node| (NodeId(source), NodeId(node)))) {
        let path = |routing: &Routing| routing.path(source, node).collect::<Vec<_>>();
        assert_eq!(path(&with_one), path(&without));
    }
    assert_eq!(with_one.topology().ports_max(), 5);
}

#[test]
fn up_down_is_as_good_as_the_routing_of_a_fat_tree() {
    for settings in [
        TopologySettings::FatTree { ports: 8, levels: 3 },
        TopologySettings::FatTree { ports: 6, levels: 2 },
        TopologySettings::KaryNTree { arity: 2, levels: 4 },
    ] {
        let [up_down, own] =
            [RoutingKind::UpDown, RoutingKind::DModK].map(|kind| busiest(&routing(kind, &settings)));
        assert!(up_down <= 1.05 * own, "{settings:?}: {up_down} of {own}");
    }
}

#[test]
fn up_down_uses_parallel_cables_alike() {
    let end = |switch, port| End::Switch(SwitchId(switch), PortId(port));
    let node = |node| End::Node(NodeId(node));
    let pairs = [
        [node(0), end(0, 0)],
        [node(1), end(0, 1)],
        [node(2), end(1, 0)],
        [node(3), end(1, 1)],
        [end(0, 2), end(1, 2)],
        [end(0, 3), end(1, 3)],
    ];
    let links = pairs.map(|ends| GraphLink { ends, length_mm: None }).to_vec();
    let graph = TopologySettings::Graph(Graph { nodes: 4, switches: 2, links, servers: Vec::new() });
    assert_eq!(busiest(&routing(RoutingKind::UpDown, &graph)), 2.0);
}

/// A table holds a byte of a port, and of large switches another one.
#[test]
fn ports_beyond_a_byte_are_found_again() {
    let end = |switch, port| End::Switch(SwitchId(switch), PortId(port));
    let pairs = [
        [End::Node(NodeId(0)), end(0, 511)],
        [End::Node(NodeId(1)), end(2, 3)],
        [end(0, 1), end(1, 4)],
        [end(0, 300), end(2, 400)],
    ];
    let links = pairs.map(|ends| GraphLink { ends, length_mm: None }).to_vec();
    let graph = TopologySettings::Graph(Graph { nodes: 2, switches: 3, links, servers: Vec::new() });
    for kind in [RoutingKind::UpDown, RoutingKind::Minimal] {
        let routing = routing(kind, &graph);
        assert_eq!(routing.topology().ports_max(), 512);
        assert_eq!([hops(&routing, 0, 1), hops(&routing, 1, 0)], [2, 2], "{kind:?}");
    }
}

#[test]
fn destination_tags_lead_through_all_stages_by_the_only_way() {
    for wiring in [StageWiring::Omega, StageWiring::Butterfly] {
        for (arity, stages) in [(2, 1), (2, 4), (3, 3), (4, 2), (8, 2)] {
            let routing =
                routing(RoutingKind::DestinationTag, &TopologySettings::Stages { wiring, arity, stages });
            conformance(&routing);
            assert_eq!((hops(&routing, 0, 0), hops(&routing, 1, 0)), (stages as usize, stages as usize));
            assert_eq!(routing.hops_max(), stages);
        }
    }
}

#[test]
fn a_routing_refuses_a_topology_without_its_coordinates() {
    let single = Arc::new(Topology::build(&TopologySettings::Single { nodes: 4 }).unwrap());
    assert_eq!(Routing::new(RoutingKind::DModK, Arc::clone(&single)).unwrap_err(), RoutingError::NotATree);
    let refused = |kind| Routing::new(kind, Arc::clone(&single)).unwrap_err();
    assert_eq!(refused(RoutingKind::DimensionOrder), RoutingError::NotAGrid);
    assert_eq!(refused(RoutingKind::DestinationTag), RoutingError::NotStages);
    let omega = TopologySettings::Stages { wiring: StageWiring::Omega, arity: 2, stages: 2 };
    let omega = Arc::new(Topology::build(&omega).unwrap());
    assert_eq!(Routing::new(RoutingKind::UpDown, omega).unwrap_err(), RoutingError::OneWay);
    let large = TopologySettings::Mesh { dimensions: vec![1 << 8, 129], nodes_per_switch: 1 };
    let large = Arc::new(Topology::build(&large).unwrap());
    assert_eq!(Routing::new(RoutingKind::UpDown, large).unwrap_err(), RoutingError::TooLarge);
}

#[test]
fn a_route_gives_its_hops_back() {
    let hops = [(63, 3), (0, 0), (4, 1), (8, 2)].map(|(port, class)| Hop { port: PortId(port), class });
    let mut route = Route::of(hops);
    for hop in hops {
        assert_eq!(route.hop(), hop);
        route = route.rest();
    }
    assert!(route.has_arrived());
}

#[test]
#[should_panic(expected = "a route holds ports below 64 and classes below 4")]
fn a_route_refuses_a_fifth_class() {
    let _ = Route::of([Hop { port: PortId(4), class: 4 }, Hop { port: PortId(8), class: 0 }]);
}

#[test]
#[should_panic(expected = "a route holds ports below 64 and classes below 4")]
fn a_route_refuses_port_64() {
    let _ = Route::of([Hop { port: PortId(64), class: 0 }]);
}

/// What is true of every topology that is a direct network: who is joined, and that its own routing and two others go.
pub(super) fn direct(
    settings: &TopologySettings,
    own: RoutingKind,
    [nodes, switches, links]: [usize; 3],
) -> Routing {
    let routing = routing(own, settings);
    let topology = routing.topology();
    assert_eq!(
        [topology.nodes() as usize, topology.switches() as usize, topology.links().len()],
        [nodes, switches, links],
        "{settings:?}"
    );
    conformance(&routing);
    let pairs = (0..topology.nodes()).flat_map(|one| (0..topology.nodes()).map(move |other| (one, other)));
    let most = pairs.map(|(one, other)| hops(&routing, one, other)).max().unwrap_or(0);
    assert!(most <= routing.hops_max() as usize, "{most} of {}", routing.hops_max());
    for kind in [RoutingKind::UpDown, RoutingKind::Minimal] {
        conformance(&Routing::new(kind, Arc::clone(topology)).unwrap());
    }
    routing
}

fn hyperx(dimensions: &[u32], links: &[u32], nodes_per_switch: u32) -> TopologySettings {
    TopologySettings::HyperX { dimensions: dimensions.to_vec(), links: links.to_vec(), nodes_per_switch }
}

#[test]
fn a_hyperx_takes_a_hop_for_each_dimension() {
    let own = RoutingKind::DimensionOrder;
    let routing = direct(&hyperx(&[4, 3], &[1], 2), own, [24, 12, 24 + 3 * 6 + 4 * 3]);
    assert_eq!([hops(&routing, 0, 1), hops(&routing, 0, 6), hops(&routing, 0, 23)], [1, 2, 3]);
    direct(&hyperx(&[2, 2, 2], &[1], 1), own, [8, 8, 8 + 12]);
    direct(&hyperx(&[5], &[2], 3), own, [15, 5, 15 + 20]);
    direct(&hyperx(&[3, 1, 2], &[1, 1, 3], 1), own, [6, 6, 6 + 6 + 9]);
    direct(&hyperx(&[1], &[1], 4), own, [4, 1, 4]);
}

#[test]
fn a_hyperx_with_as_many_nodes_as_its_sides_are_long_takes_uniform_traffic_in_dimension_order() {
    // Ahn et al., SC 2009: S = T is full bisection. 7 of 8 coordinates lie elsewhere, 64 packets for each over one channel.
    let settings = hyperx(&[8, 8], &[1], 8);
    assert_eq!(busiest(&routing(RoutingKind::DimensionOrder, &settings)), 512.0);
    // Two cables between two switches have half of it each.
    let settings = hyperx(&[4, 4], &[2], 4);
    assert_eq!(busiest(&routing(RoutingKind::DimensionOrder, &settings)), 32.0);
}

fn dragonfly(groups: u32, [a, p, h]: [u32; 3], arrangement: Arrangement) -> TopologySettings {
    TopologySettings::Dragonfly(DragonflyShape {
        groups,
        switches_per_group: a,
        nodes_per_switch: p,
        global_ports: h,
        arrangement,
    })
}

#[test]
fn a_dragonfly_joins_every_two_groups_and_crosses_one_global_link() {
    for arrangement in [Arrangement::PalmTree, Arrangement::Absolute] {
        let own = RoutingKind::Minimal;
        // Balanced: a = 2 p = 2 h, and a h + 1 groups.
        let routing = direct(&dragonfly(9, [4, 2, 2], arrangement), own, [72, 36, 72 + 9 * 6 + 36]);
        assert_eq!([routing.classes(), routing.hops_max()], [2, 4]);
        // Three links between two groups, two ports of a group are left over; and fewer.
        direct(&dragonfly(3, [4, 1, 2], arrangement), own, [12, 12, 12 + 3 * 6 + 3 * 4]);
        direct(&dragonfly(4, [4, 1, 2], arrangement), own, [16, 16, 16 + 4 * 6 + 6 * 2]);
        direct(&dragonfly(5, [1, 1, 4], arrangement), own, [5, 5, 5 + 10]);
        direct(&dragonfly(1, [3, 2, 0], arrangement), own, [6, 3, 6 + 3]);
    }
}

#[test]
fn adversarial_traffic_in_a_dragonfly_has_one_link_of_a_group_under_minimal_routing() {
    // Kim et al., ISCA 2008, section 4.2: each node sends to a node of the next group; the one link between takes all of a p.
    let routing = routing(RoutingKind::Minimal, &dragonfly(9, [4, 2, 2], Arrangement::PalmTree));
    let dependencies = crate::dependency::Dependencies::of(&routing);
    let to_next = |source: NodeId, node: NodeId| f64::from(u8::from((source.0 + 8) % 72 == node.0));
    let max = dependencies.loads(to_next).of.into_iter().map(|(_, load)| load).fold(0.0, f64::max);
    assert_eq!(max, 8.0);
}

#[test]
fn without_a_second_class_a_dragonfly_closes_a_ring() {
    use crate::dependency::{Dependencies, Verdict};
    let settings = dragonfly(9, [4, 2, 2], Arrangement::PalmTree);
    let one = Dependencies::of(&routing(RoutingKind::MinimalInOneClass, &settings));
    assert!(one.lost().is_none());
    let Verdict::Cyclic(cycle) = one.verdict() else { panic!("one class closes rings") };
    assert!(cycle.is_smallest && cycle.dependencies.len() >= 3, "{cycle:?}");
}

#[test]
fn random_regular_graphs_are_simple_and_the_same_for_one_seed() {
    let settings = |switches, degree, seed| {
        TopologySettings::RandomRegular(RandomRegular { switches, degree, nodes_per_switch: 2, seed })
    };
    for (switches, degree) in [(2, 1), (5, 2), (8, 3), (10, 4), (12, 11), (6, 5)] {
        for seed in 0..8 {
            let settings = settings(switches, degree, seed);
            let count = (switches * degree / 2 + 2 * switches) as usize;
            let sizes = [2 * switches as usize, switches as usize, count];
            let topology = Arc::clone(direct(&settings, RoutingKind::Minimal, sizes).topology());
            assert_eq!(topology.links(), Topology::build(&settings).unwrap().links());
            let pairs: BTreeSet<[End; 2]> =
                topology.links().iter().skip(2 * switches as usize).map(simple).collect();
            assert_eq!(pairs.len(), (switches * degree / 2) as usize, "no link is parallel to another");
        }
    }
    let links = |seed| Topology::build(&settings(20, 4, seed)).unwrap().links().to_vec();
    assert_ne!(links(1), links(2));
    for (switches, degree) in [(5, 3), (4, 4), (4, 1), (3, 0)] {
        assert!(Topology::build(&settings(switches, degree, 1)).is_err());
    }
}

/// The two switches of a link, without their ports.
fn simple(link: &crate::topology::Link) -> [End; 2] {
    let [one, other] = link.ends.map(|end| match end {
        End::Switch(switch, _) => End::Switch(switch, PortId(0)),
        End::Node(_) => end,
    });
    [one.min(other), one.max(other)]
}

#[test]
fn minimal_paths_are_shortest_and_free_of_deadlock_in_layers() {
    for seed in 0..100 {
        let mut stream = Stream::new(seed, 3, Purpose::Test);
        let settings = TopologySettings::Graph(random_graph(&mut stream));
        let minimal = routing(RoutingKind::Minimal, &settings);
        conformance(&minimal);
        let up_down = routing(RoutingKind::UpDown, &settings);
        let nodes = minimal.topology().nodes();
        for (one, other) in (0..nodes).flat_map(|one| (0..nodes).map(move |other| (one, other))) {
            assert!(hops(&minimal, one, other) <= hops(&up_down, one, other));
        }
    }
    // A ring of five needs two layers, as it needs two classes at a dateline.
    let ring = TopologySettings::Torus { dimensions: vec![5], nodes_per_switch: 1 };
    assert_eq!(routing(RoutingKind::Minimal, &ring).classes(), 2);
    let one = crate::dependency::Dependencies::of(&routing(RoutingKind::MinimalInOneClass, &ring));
    let crate::dependency::Verdict::Cyclic(cycle) = one.verdict() else { panic!("a ring closes") };
    assert_eq!(cycle.dependencies.len(), 5);
}

/// All packets of a routing with intermediates arrive, in as few hops as it says, and cannot wait for each other for ever.
fn by_intermediates(settings: &TopologySettings) -> Routing {
    let routing = routing(RoutingKind::Valiant, settings);
    let dependencies = crate::dependency::Dependencies::of(&routing);
    assert_eq!(dependencies.lost(), None);
    assert!(matches!(dependencies.verdict(), crate::dependency::Verdict::Free(_)), "{settings:?}");
    let nodes = routing.topology().nodes();
    let mut stream = Stream::new(1, 0, Purpose::Test);
    for (source, node) in
        (0..nodes).flat_map(|source| (0..nodes).map(move |node| (NodeId(source), NodeId(node))))
    {
        let draw = stream.bits() as u32;
        let header = routing.header(source, node, draw);
        assert!(routing.starts(source, node).contains(&header), "{header:?}");
        let (mut at, mut route, mut hops) =
            (Some(routing.start(source)), routing.way_drawn(source, node, draw), 0);
        while let Some((here, arrival)) = at {
            let hop = routing.first(here, arrival, header).hop;
            assert_eq!(route.hop(), hop);
            assert!(u32::from(hop.class) < routing.classes());
            (at, route, hops) = (routing.follow(here, hop), route.rest(), hops + 1);
            if let Some((here, arrival)) = at.filter(|_| route.is_continued()) {
                route = routing.continued(route, here, arrival, node);
            }
        }
        assert!(route.has_arrived() && hops <= routing.hops_max());
    }
    routing
}

#[test]
fn valiant_takes_any_traffic_at_half_the_load() {
    let max = |routing: &Routing, weight: &dyn Fn(NodeId, NodeId) -> f64| {
        let dependencies = crate::dependency::Dependencies::of(routing);
        let mut by_sender: BTreeMap<End, f64> = BTreeMap::new();
        for (channel, load) in dependencies.loads(weight).of {
            *by_sender.entry(channel.sender).or_default() += load;
        }
        by_sender.into_values().fold(0.0, f64::max)
    };
    // Kim et al., ISCA 2008, section 4.2: minimally the next group has 1 / 8. Of eight links to other groups seven are used
    // on the way out and seven on the way on, so that each carries 2 x 8 / 7.
    for arrangement in [Arrangement::PalmTree, Arrangement::Absolute] {
        let dragonfly = by_intermediates(&dragonfly(9, [4, 2, 2], arrangement));
        assert_eq!((dragonfly.classes(), dragonfly.hops_max()), (3, 6));
        let to_next = |source: NodeId, node: NodeId| f64::from(u8::from((source.0 + 8) % 72 == node.0));
        let load = max(&dragonfly, &to_next);
        assert!((load - 16.0 / 7.0).abs() < 1e-9, "{load}");
    }
    // All nodes of a switch of a HyperX send to the next one of its row: 4 over one channel in dimension order, and by way of
    // any switch 2 x 4 / 4, all channels alike.
    let settings = hyperx(&[4, 4], &[1], 4);
    let to_next = |source: NodeId, node: NodeId| {
        f64::from(u8::from(source.0 / 16 == node.0 / 16 && (source.0 + 4) % 16 == node.0 % 16))
    };
    assert_eq!(max(&routing(RoutingKind::DimensionOrder, &settings), &to_next), 4.0);
    let load = max(&by_intermediates(&settings), &to_next);
    assert!((load - 2.0).abs() < 1e-9, "{load}");
    // Tornado traffic of a ring of eight: three hops of all packets go upwards. By way of any switch each channel carries twice
    // what it does of uniform traffic, 8 / 8. (Dally and Towles, Principles and Practices, section 9.1.1.)
    for (dimensions, tornado) in [(vec![8], 3.0), (vec![8, 3], 3.0)] {
        let settings = TopologySettings::Torus { dimensions, nodes_per_switch: 1 };
        let half_way = |source: NodeId, node: NodeId| {
            f64::from(u8::from(source.0 / 8 == node.0 / 8 && (source.0 + 3) % 8 == node.0 % 8))
        };
        assert_eq!(max(&routing(RoutingKind::DimensionOrder, &settings), &half_way), tornado);
        let valiant = by_intermediates(&settings);
        assert_eq!((valiant.classes(), max(&valiant, &half_way)), (4, 2.0));
    }
}

#[test]
fn valiant_goes_on_small_and_uneven_networks_too() {
    for settings in [
        dragonfly(2, [2, 1, 1], Arrangement::PalmTree),
        dragonfly(3, [4, 1, 2], Arrangement::Absolute),
        dragonfly(1, [3, 2, 1], Arrangement::Absolute),
        dragonfly(5, [1, 1, 4], Arrangement::PalmTree),
        hyperx(&[3, 1, 2], &[1, 1, 2], 2),
        hyperx(&[2, 2, 3], &[1], 1),
        hyperx(&[1], &[1], 3),
        TopologySettings::Mesh { dimensions: vec![4, 3], nodes_per_switch: 2 },
        TopologySettings::Mesh { dimensions: vec![1], nodes_per_switch: 3 },
        TopologySettings::Torus { dimensions: vec![2, 1, 3], nodes_per_switch: 2 },
        TopologySettings::Torus { dimensions: vec![5, 4], nodes_per_switch: 1 },
        TopologySettings::Torus { dimensions: vec![15], nodes_per_switch: 1 },
    ] {
        by_intermediates(&settings);
    }
    let refused = |settings: TopologySettings| {
        Routing::new(RoutingKind::Valiant, Arc::new(Topology::build(&settings).unwrap())).unwrap_err()
    };
    assert_eq!(refused(hyperx(&[2, 2, 2, 2], &[1], 1)), RoutingError::TooLong);
    assert_eq!(refused(TopologySettings::Single { nodes: 2 }), RoutingError::NoIntermediates);
    let torus = TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 };
    let ugal = Routing::new(RoutingKind::Ugal, Arc::new(Topology::build(&torus).unwrap()));
    assert_eq!(ugal.unwrap_err(), RoutingError::NoAlternatives);
}

#[test]
fn a_slim_fly_has_diameter_two() {
    // Besta and Hoefler, SC 2014: q = 5 is the graph of Hoffman and Singleton, 50 switches of degree 7.
    for (q, degree) in [(3, 5), (5, 7), (7, 11)] {
        let settings = TopologySettings::SlimFly { q, nodes_per_switch: 1 };
        let count = (2 * q * q) as usize;
        let routing = direct(&settings, RoutingKind::Minimal, [count, count, count + count * degree / 2]);
        assert_eq!(routing.topology().ports_max() as usize, 1 + degree);
        assert_eq!((routing.hops_max(), routing.classes()), (3, 2), "by hop");
    }
    for q in [1, 2, 4, 9, 15] {
        assert!(Topology::build(&TopologySettings::SlimFly { q, nodes_per_switch: 1 }).is_err());
    }
}

#[test]
fn a_dragonfly_plus_needs_one_class() {
    for (arrangement, groups, links) in
        [(Arrangement::PalmTree, 5, 10), (Arrangement::Absolute, 5, 10), (Arrangement::PalmTree, 3, 3 * 2)]
    {
        let settings = TopologySettings::DragonflyPlus(DragonflyPlus {
            groups,
            leaves: 3,
            spines: 2,
            nodes_per_switch: 2,
            global_ports: 2,
            arrangement,
        });
        let groups = groups as usize;
        let routing = direct(&settings, RoutingKind::Minimal, [groups * 6, groups * 5, groups * 12 + links]);
        assert_eq!((routing.hops_max(), routing.classes()), (4, 1));
    }
}
