use super::*;
use crate::topology::{Arrangement, DragonflyShape, End, Graph, GraphLink, RandomRegular, TopologySettings};
use crate::{NodeId, PortId};

/// A graph of so many nodes at each switch, and these cables between switches.
fn graph(nodes: &[u32], cables: &[[u32; 2]]) -> Topology {
    let mut ports = vec![0; nodes.len()];
    let mut port = |switch: u32| {
        ports[switch as usize] += 1;
        End::Switch(SwitchId(switch), PortId(ports[switch as usize] - 1))
    };
    let mut links = Vec::new();
    for (switch, &count) in (0..).zip(nodes) {
        for _ in 0..count {
            let node = End::Node(NodeId(links.len() as u32));
            links.push(GraphLink { ends: [node, port(switch)], length_mm: None });
        }
    }
    let count = links.len() as u32;
    links.extend(cables.iter().map(|ends| GraphLink { ends: ends.map(&mut port), length_mm: None }));
    let graph = Graph { nodes: count, switches: nodes.len() as u32, links, servers: Vec::new() };
    Topology::build(&TopologySettings::Graph(graph)).unwrap()
}

/// The cables between switches of `settings`, and the nodes of each switch.
fn wired(settings: &TopologySettings) -> (Vec<u32>, Vec<[u32; 2]>) {
    let topology = Topology::build(settings).unwrap();
    let ends = |link: &crate::topology::Link| match link.ends {
        [End::Switch(one, _), End::Switch(other, _)] => Some([one.0, other.0]),
        _ => None,
    };
    (Cables::new(&topology).nodes, topology.links().iter().filter_map(ends).collect())
}

/// The pattern of `settings` without the cables of these numbers.
fn without(settings: &TopologySettings, numbers: &[usize]) -> (Pattern, Vec<[SwitchId; 2]>) {
    let (nodes, mut cables) = wired(settings);
    let mut gone = Vec::new();
    for &number in numbers {
        let mut ends = cables.remove(number);
        ends.sort_unstable();
        gone.push(ends.map(SwitchId));
    }
    gone.sort_unstable();
    (pattern(&graph(&nodes, &cables)), gone)
}

fn leaf_spine(leaves: u32, spines: u32, cables: u32) -> TopologySettings {
    TopologySettings::xgft(&[4, leaves], &[1, spines], &[1, cables], 1)
}

fn dragonfly() -> TopologySettings {
    let arrangement = Arrangement::PalmTree;
    let shape = DragonflyShape {
        groups: 9,
        switches_per_group: 4,
        nodes_per_switch: 2,
        global_ports: 2,
        arrangement,
    };
    TopologySettings::Dragonfly(shape)
}

fn random(seed: u64) -> TopologySettings {
    TopologySettings::RandomRegular(RandomRegular { switches: 40, degree: 5, nodes_per_switch: 2, seed })
}

fn torus() -> TopologySettings {
    TopologySettings::Torus { dimensions: vec![5, 4, 3], nodes_per_switch: 1 }
}

#[test]
fn whole_fabrics_are_symmetric_and_have_the_roles_that_people_name() {
    for (settings, roles) in [
        (leaf_spine(4, 4, 1), 2),
        (TopologySettings::FatTree { ports: 8, levels: 3 }, 3),
        (dragonfly(), 1),
        (torus(), 1),
        (random(1), 1),
        (TopologySettings::SlimFly { q: 5, nodes_per_switch: 3 }, 1),
        (TopologySettings::Mesh { dimensions: vec![8, 8], nodes_per_switch: 1 }, 10),
        (TopologySettings::Mesh { dimensions: vec![20, 20], nodes_per_switch: 1 }, 55),
        (TopologySettings::Mesh { dimensions: vec![7, 9], nodes_per_switch: 1 }, 20),
    ] {
        let (found, _) = without(&settings, &[]);
        assert_eq!(
            (found.roles.len(), found.kinds, found.is_symmetric()),
            (roles, roles as u32, true),
            "{settings:?}"
        );
        assert_eq!((found.missing, found.untold), (Vec::new(), Vec::new()));
    }
}

#[test]
fn a_leaf_spine_network_without_a_cable_tells_which() {
    let (found, gone) = without(&leaf_spine(4, 4, 1), &[9]);
    assert_eq!(found.missing, gone, "{found:?}");
    assert!(!found.is_symmetric() && found.untold.is_empty());
    let [leaf, spine] = gone[0];
    let lacks = |switch, role, towards| Departure {
        switch,
        role,
        towards: Some(towards),
        has: 3,
        others_have: 4,
        others: 3,
    };
    assert_eq!(found.departures, [lacks(leaf, 0, 1), lacks(spine, 1, 0)]);
    assert_eq!(found.roles[0].cables, [(1, 4)]);
    assert_eq!((found.roles[0].nodes, found.roles[1].nodes), (Some(4), Some(0)));
}

#[test]
fn any_cable_of_any_fabric_is_found_when_it_is_missing() {
    for settings in [
        leaf_spine(3, 2, 1),
        leaf_spine(8, 1, 2),
        leaf_spine(16, 4, 2),
        TopologySettings::FatTree { ports: 6, levels: 3 },
        dragonfly(),
        torus(),
        random(2),
        TopologySettings::HyperX { dimensions: vec![4, 4], links: vec![1], nodes_per_switch: 2 },
    ] {
        for number in 0..wired(&settings).1.len() {
            let (found, gone) = without(&settings, &[number]);
            assert_eq!((&found.missing, found.untold.len()), (&gone, 0), "{settings:?} {number}");
            assert_eq!(found.departures.len(), 2);
        }
    }
}

#[test]
fn two_cables_are_told_where_what_is_around_them_tells() {
    // Between leaf switches and those above, in different pods; among groups; between the same two switches.
    let tree = TopologySettings::FatTree { ports: 8, levels: 3 };
    for (settings, numbers) in
        [(tree.clone(), [40, 3]), (tree, [100, 5]), (dragonfly(), [30, 1]), (leaf_spine(8, 4, 2), [9, 8])]
    {
        let (found, gone) = without(&settings, &numbers);
        assert_eq!((&found.missing, found.untold.len()), (&gone, 0), "{settings:?} {numbers:?}: {found:?}");
    }
    // Of a random graph nothing tells which of the four lacks which.
    let (found, gone) = without(&random(3), &[7, 61]);
    let ends = found.untold.first().map(|untold| (untold.cables, untold.between[0].len()));
    assert!(found.missing == gone || ends == Some((2, 4)), "{found:?}");
    assert_eq!(found.departures.len(), 4);
}

#[test]
fn what_is_no_missing_cable_is_told_as_what_it_is() {
    // A cable of leaf 2 that is plugged into leaf 3.
    let (nodes, mut cables) = wired(&leaf_spine(4, 4, 1));
    let moved = cables.iter().position(|&[one, other]| one.min(other) == 2).unwrap();
    cables[moved] = cables[moved].map(|end| if end == 2 { 3 } else { end });
    let found = pattern(&graph(&nodes, &cables));
    let have: Vec<(u32, u32)> = found.departures.iter().map(|it| (it.switch.0, it.has)).collect();
    assert_eq!(have, [(2, 3), (3, 5)], "{found:?}");
    assert_eq!((found.missing, found.untold), (Vec::new(), Vec::new()));
    // A leaf with fewer nodes.
    let (mut nodes, cables) = wired(&leaf_spine(8, 4, 1));
    nodes[5] = 1;
    let found = pattern(&graph(&nodes, &cables));
    assert_eq!(found.departures.len(), 1);
    assert_eq!(
        (found.departures[0].towards, found.departures[0].has, found.departures[0].others),
        (None, 1, 7)
    );
    // Nodes by no rule.
    let (_, cables) = wired(&leaf_spine(8, 4, 1));
    let found = pattern(&graph(&[1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0], &cables));
    assert_eq!((found.roles[0].nodes, found.departures.len(), found.is_symmetric()), (None, 0, false));
}

#[test]
fn a_switch_of_its_own_kind_does_not_hide_a_cable_that_is_missing() {
    // A service switch at two of twelve spines, and a cable of leaf 7 that is gone.
    let (mut nodes, mut cables) = wired(&leaf_spine(12, 12, 1));
    let spines = [12, 13];
    nodes.push(2);
    cables.extend(spines.map(|spine| [24, spine]));
    let whole = pattern(&graph(&nodes, &cables));
    assert_eq!((whole.roles.len(), whole.is_symmetric()), (4, true), "{whole:?}");
    let gone = cables.iter().position(|&[one, other]| one.min(other) == 7 && one.max(other) == 20).unwrap();
    cables.remove(gone);
    let found = pattern(&graph(&nodes, &cables));
    assert_eq!(found.missing, [[SwitchId(7), SwitchId(20)]], "{found:?}");
}

#[test]
fn graphs_without_a_rule_have_no_pattern() {
    // Each of twelve switches is joined to those before it whose number a hash likes.
    let likes = |one: u32, other: u32| (one * 7919 + other * 104_729) % 11 < 4 || other + 1 == one;
    let cables: Vec<[u32; 2]> = (0..24)
        .flat_map(|one| (0..one).filter(move |&other| likes(one, other)).map(move |other| [one, other]))
        .collect();
    let found = pattern(&graph(&[1; 24], &cables));
    assert_eq!((found.roles.len(), found.is_symmetric(), found.kinds), (0, false, 24), "{found:?}");
    assert_eq!((found.departures.len(), found.missing.len()), (0, 0));
}
