use super::super::tests::{conformance, hops, routing};
use super::super::{ForwardingTables, Routing, RoutingError, RoutingKind, Selection};
use super::*;
use crate::dependency::{Channel, Dependencies, Loss, Verdict};
use crate::topology::th_tree::tests::{small, tianhe};
use crate::topology::{End, Stage, Topology, TopologySettings};
use std::collections::BTreeSet;
use std::sync::Arc;

fn of(kind: RoutingKind, tree: &ThTree) -> Routing {
    routing(kind, &TopologySettings::ThTree(tree.clone()))
}

fn kinds() -> [RoutingKind; 2] {
    [RoutingKind::Rtb, RoutingKind::RtbByDestination]
}

fn nodes(routing: &Routing) -> impl Iterator<Item = NodeId> + Clone + use<> {
    (0..routing.topology().nodes()).map(NodeId)
}

fn ports(routing: &Routing, here: SwitchId, port: u32, node: u32) -> Vec<u32> {
    let (arrival, mut ports) = (Arrival { port: PortId(port), class: 0 }, Vec::new());
    routing.candidates(here, arrival, Header::to(NodeId(node)), |next| ports.push(next.hop.port.0));
    ports
}

#[test]
fn packets_arrive_by_the_shortest_way_in_one_class() {
    for kind in kinds() {
        for tree in [
            small(),
            tianhe(1, 1),
            ThTree { frames_per_group: 1, ..small() },
            ThTree { groups: 2, ..small() },
        ] {
            conformance(&of(kind, &tree));
        }
        let group = of(kind, &tianhe(2, 6));
        assert_eq!([0, 10, 11, 31, 32, 191, 192].map(|node| hops(&group, 0, node)), [1, 1, 3, 3, 5, 5, 7]);
        let all = of(kind, &tianhe(48, 12));
        assert_eq!([383, 384, 4607, 4608, 18_431].map(|node| hops(&all, 0, node)), [5, 7, 7, 9, 9]);
    }
    let tree = TopologySettings::FatTree { ports: 4, levels: 2 };
    let topology = Arc::new(Topology::build(&tree).unwrap());
    assert_eq!(Routing::new(RoutingKind::Rtb, topology).unwrap_err(), RoutingError::NotAThTree);
}

#[test]
fn items_of_a_packet_are_those_of_the_first_level_that_knows_more_than_the_group() {
    let tree = tianhe(48, 12);
    assert_eq!(items_needed(&tree), [128, 384, 48]);
    assert_eq!([items_needed(&tianhe(1, 12)), items_needed(&tianhe(1, 1))], [[128, 384, 0], [32, 0, 0]]);
    let topology = Topology::build(&TopologySettings::ThTree(tree.clone())).unwrap();
    let (rtb, holes) = Rtb::new(&tree, &topology, Oblivious::ByInput, &Down::default());
    assert_eq!(holes, []);
    let number = |here, node| rtb.chips.item(here, NodeId(node)).number;
    // A chip of frame 5, which is in cabinet 1 of group 0: its cabinet has nodes 128 to 255.
    let here = tree.switch(Stage::NrmUpper, 5, 0);
    assert_eq!(
        [128, 255, 127, 256, 383, 384, 18_431].map(|node| number(here, node)),
        [0, 127, 127, 256, 383, 1, 47]
    );
    let [leaf, root] = [tree.switch(Stage::Leaf, 1, 35), tree.switch(Stage::RootLower, 431, 3)];
    assert_eq!([0, 384, 767, 768].map(|node| number(leaf, node)), [0, 0, 383, 2]);
    assert_eq!([0, 384, 18_431].map(|node| number(root, node)), [0, 1, 47]);
    // What the tables take: 128 + 384 + 48 items for 3,456 chips of NRMs, 384 + 48 for leaf switches, 48 for the others.
    assert_eq!(rtb.items.len(), 3_456 * (128 + 384 + 48) + 1_728 * (384 + 48) + 2_592 * 48);
    assert_eq!(rtb.items.len() as u64, items_of_all(&tree));
    assert!(rtb.sets.len() < 100, "{}", rtb.sets.len());
}

/// OQ-T14: "(input port + item) mod n"; OQ-T15: four, "consecutive up-ports beginning at the port of OQ-T14".
#[test]
fn inputs_begin_with_different_ports_of_an_item_and_go_round() {
    let tree = tianhe(2, 12);
    let first = of(RoutingKind::Rtb, &tree);
    let adaptive = first.clone().with_selection(Selection::LeastLoaded);
    let lower = tree.switch(Stage::NrmLower, 0, 0);
    // Item 1 of the system level: ports 12 to 23.
    assert_eq!(ports(&first, lower, 0, 384), [13]);
    assert_eq!(ports(&adaptive, lower, 0, 384), [13, 14, 15, 16]);
    assert_eq!(ports(&adaptive, lower, 9, 384), [22, 23, 12, 13]);
    let ways: BTreeSet<u32> = (0..11).map(|input| ports(&first, lower, input, 384)[0]).collect();
    assert_eq!(ways.len(), 11, "11 nodes of a chip go 11 ways");
    // Down to lower chip 2 of the frame: item 22 of the cabinet level, four links.
    let upper = tree.switch(Stage::NrmUpper, 0, 1);
    assert_eq!(ports(&adaptive, upper, 12, 22), [10, 11, 8, 9]);
    assert_eq!(ports(&adaptive, lower, 5, 3), [3], "a node has one port");
}

/// As in d-mod-k: destinations that one stage sends by one way the next one spreads.
#[test]
fn by_destination_all_for_a_node_meet_and_those_of_a_frame_go_apart() {
    let tree = tianhe(4, 12);
    let by_node = of(RoutingKind::RtbByDestination, &tree);
    assert!(!by_node.tells_nodes_apart() && of(RoutingKind::Rtb, &tree).tells_nodes_apart());
    // So a port for each switch and node says it all, where by input it does not.
    let tables = |kind| ForwardingTables::of(&of(kind, &small()));
    assert!(tables(RoutingKind::RtbByDestination).is_some() && tables(RoutingKind::Rtb).is_none());
    let roots = |source: u32| -> Vec<SwitchId> {
        (384..416).map(|node| by_node.path(NodeId(source), NodeId(node)).nth(3).unwrap().0).collect()
    };
    assert_eq!(roots(0), roots(768), "whoever sends");
    assert_eq!(
        roots(0).into_iter().collect::<BTreeSet<_>>().len(),
        32,
        "each node has a root switch of its own"
    );
}

/// Every turn that some packet can take, pair by pair.
fn turns(routing: &Routing) -> BTreeSet<(Channel, Channel)> {
    let (topology, mut turns) = (routing.topology(), BTreeSet::new());
    for (source, node) in nodes(routing).flat_map(|source| nodes(routing).map(move |node| (source, node))) {
        let (here, arrival) = routing.start(source);
        let mut open = vec![(Channel { sender: End::Node(source), class: 0 }, here, arrival)];
        let mut seen = BTreeSet::new();
        while let Some((from, here, arrival)) = open.pop().filter(|_| source != node) {
            routing.candidates(here, arrival, Header::to(node), |next| {
                let to = Channel { sender: End::Switch(here, next.hop.port), class: 0 };
                turns.insert((from, to));
                match topology.wire(here, next.hop.port).unwrap().1 {
                    End::Switch(..) if seen.insert(to) => {
                        let (next, arrival) = routing.follow(here, next.hop).unwrap();
                        open.push((to, next, arrival));
                    }
                    End::Switch(..) => {}
                    End::Node(end) => assert_eq!(end, node),
                }
            });
        }
    }
    turns
}

/// The walk by items finds what walks of all pairs find.
#[test]
fn all_candidates_are_free_of_cyclic_dependence() {
    for kind in kinds() {
        for tree in [small(), ThTree { frames_per_group: 1, groups: 4, ..small() }, tianhe(1, 2)] {
            let routing = of(kind, &tree).with_selection(Selection::LeastLoaded);
            let dependencies = Dependencies::of(&routing);
            assert_eq!(dependencies.iter().collect::<BTreeSet<_>>(), turns(&routing));
            assert_eq!(dependencies.lost(), None);
            assert!(matches!(dependencies.verdict(), Verdict::Free(_)));
        }
        let group = of(kind, &tianhe(1, 12)).with_selection(Selection::LeastLoaded);
        assert!(matches!(Dependencies::of(&group).verdict(), Verdict::Free(_)));
    }
}

#[test]
fn all_of_tianhe_2_is_free_of_cyclic_dependence() {
    let all = of(RoutingKind::Rtb, &tianhe(48, 12)).with_selection(Selection::LeastLoaded);
    let dependencies = Dependencies::of(&all);
    assert_eq!(dependencies.lost(), None);
    assert!(matches!(dependencies.verdict(), Verdict::Free(_)));
}

/// A root switch gives an item for its own group a port up as well: what comes down from a leaf switch can go up again.
#[test]
fn a_port_up_in_an_item_of_those_down_closes_a_cycle() {
    let tree = small();
    let topology = Arc::new(Topology::build(&TopologySettings::ThTree(tree.clone())).unwrap());
    let with = |changes: &[(SwitchId, u32, &[u16])]| {
        let (mut rtb, _) = Rtb::new(&tree, &topology, Oblivious::ByInput, &Down::default());
        for &(here, node, ports) in changes {
            let place = rtb.chips.item(here, NodeId(node)).place;
            rtb.items[place] = rtb.sets.len() as u32;
            rtb.sets.push((rtb.ports.len() as u32, ports.len() as u32));
            rtb.ports.extend(ports);
        }
        Routing::of_relation(Arc::new(rtb), &topology).with_selection(Selection::LeastLoaded)
    };
    let [leaf, upper] = [tree.switch(Stage::Leaf, 0, 0), tree.switch(Stage::NrmUpper, 0, 0)];
    let right = with(&[(leaf, 0, &[0])]);
    assert!(matches!(Dependencies::of(&right).verdict(), Verdict::Free(_)));
    // Node 0 is in frame 0, whose upper chip sends what is for it back to the leaf switch.
    let wrong = with(&[(upper, 0, &[0, 2])]);
    let dependencies = Dependencies::of(&wrong);
    let Verdict::Cyclic(cycle) = dependencies.verdict() else { panic!("a packet can go round") };
    assert_eq!((cycle.dependencies.len(), cycle.is_smallest), (2, true));
    for dependency in &cycle.dependencies {
        assert_eq!(dependency.witness.destination, crate::Destination::Node(NodeId(0)));
        let End::Switch(sender, _) = dependency.from.sender else { panic!("between switches") };
        assert!([leaf, upper].contains(&sender));
    }
    // The same of a system item, which is for all nodes of group 1: the walk finds it for the first of them.
    let root = tree.switch(Stage::RootLower, 0, 0);
    let Verdict::Cyclic(cycle) =
        Dependencies::of(&with(&[(root, 6, &[1, 2]), (tree.switch(Stage::RootUpper, 0, 0), 6, &[0, 1])]))
            .verdict()
    else {
        panic!("between the chips of a root switch")
    };
    assert!(
        cycle.dependencies.iter().all(|it| it.witness.destination == crate::Destination::Node(NodeId(6)))
    );
    // And one without ports loses packets.
    let lost = Dependencies::of(&with(&[(leaf, 0, &[])])).lost().unwrap();
    assert_eq!((lost.destination, lost.how), (NodeId(0), Loss::Unwired(leaf, PortId(4))));
}

/// What the manager writes leads around what is down, whoever it is told of, and says whom nobody reaches.
#[test]
fn the_manager_leads_around_what_is_down() {
    let tree = tianhe(2, 3);
    let whole = of(RoutingKind::Rtb, &tree);
    let topology = Arc::clone(whole.topology());
    let link = |here, port| topology.wire(here, PortId(port)).unwrap().0;
    let lower = tree.switch(Stage::NrmLower, 0, 0);
    let [upper, leaf] = [tree.switch(Stage::NrmUpper, 2, 1), tree.switch(Stage::Leaf, 1, 7)];
    let root = tree.switch(Stage::RootLower, 100, 0);
    let cases = [
        (vec![leaf], vec![]),
        (vec![upper], vec![]),
        (vec![root], vec![]),
        (vec![leaf, root, tree.switch(Stage::RootUpper, 3, 1)], vec![]),
        (vec![], vec![link(lower, 12), link(lower, 23), link(leaf, 1), link(leaf, 14)]),
        (vec![], (12..23).map(|port| link(lower, port)).collect()),
    ];
    for (switches, links) in cases {
        let (around, holes) =
            whole.around(&Down { switches: switches.clone(), links: links.clone() }).unwrap();
        let adaptive = around.with_selection(Selection::LeastLoaded);
        let dependencies = Dependencies::of(&adaptive);
        assert_eq!(dependencies.lost(), None, "{switches:?} {links:?}");
        assert!(matches!(dependencies.verdict(), Verdict::Free(_)));
        // No packet comes to what is down, nor to an item without a port.
        for (_, to) in dependencies.iter() {
            let End::Switch(here, port) = to.sender else { panic!("a node is no next hop") };
            let (link, end) = topology.wire(here, port).unwrap();
            assert!(!links.contains(&link) && !switches.contains(&here));
            assert!(!matches!(end, End::Switch(next, _) if switches.contains(&next)));
        }
        // There are holes where nobody comes, as at the root switches behind a leaf switch, but not where packets start.
        let first_upper = tree.switch(Stage::NrmUpper, 0, 0);
        assert!(holes.iter().all(|hole| hole.at >= first_upper), "{holes:?}");
    }
    let (_, holes) = whole.around(&Down::default()).unwrap();
    assert_eq!(holes, []);
}

#[test]
fn whom_nobody_reaches_is_a_hole_at_each_chip() {
    let tree = tianhe(2, 3);
    let whole = of(RoutingKind::Rtb, &tree);
    let node = whole.topology().node_link(NodeId(5));
    let (_, holes) = whole.around(&Down { links: vec![node], switches: vec![] }).unwrap();
    // Every chip of group 0 has an item for the node; other groups have one for the whole group.
    assert_eq!(holes.len(), 3 * 6 + 36);
    assert!(holes.iter().all(|hole| hole.nodes == (5..6)));
    // Without its leaf switches a group is cut off, and its frames from each other.
    let switches: Vec<SwitchId> = (0..36).map(|leaf| tree.switch(Stage::Leaf, 1, leaf)).collect();
    let (_, holes) = whole.around(&Down { switches, links: vec![] }).unwrap();
    assert!(holes.iter().any(|hole| hole.nodes == (96..192)));
    let minimal = of(RoutingKind::Minimal, &small());
    assert_eq!(minimal.around(&Down::default()).unwrap_err(), RoutingError::NoTables);
}
