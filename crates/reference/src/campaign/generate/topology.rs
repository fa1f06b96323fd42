//! The topology of a case, and a routing on it.

use super::super::dice::Dice;
use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{
    Arrangement, DragonflyPlus, DragonflyShape, End, Graph, GraphLink, RandomRegular, TopologySettings,
};
use flitway_wiring::{NodeId, PortId, SwitchId};

/// A topology and a routing: one of the first ones that there were, or, of another stream, one of those that came later, so
/// that other cases of older campaigns stay as they were.
pub(in super::super) fn topology(dice: &mut Dice, seed: u64) -> (TopologySettings, RoutingKind) {
    let first = first_topology(dice);
    let mut later = Dice::new(seed, 4);
    if later.one_in(5) { later_topology(&mut later) } else { first }
}

fn first_topology(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    let (settings, own) = match dice.below(8) {
        0 | 1 => (TopologySettings::Single { nodes: dice.between(2, 16) }, RoutingKind::UpDown),
        2 => {
            let (ports, levels) = dice.pick(&[(4, 1), (4, 2), (4, 2), (4, 3), (6, 2), (8, 1), (8, 2)]);
            (TopologySettings::FatTree { ports, levels }, RoutingKind::DModK)
        }
        3 => {
            let (arity, levels) = dice.pick(&[(2, 1), (2, 2), (2, 3), (2, 4), (3, 2), (4, 2)]);
            (TopologySettings::KaryNTree { arity, levels }, RoutingKind::DModK)
        }
        4 => {
            let (dimensions, nodes_per_switch) = grid(dice);
            (TopologySettings::Mesh { dimensions, nodes_per_switch }, RoutingKind::DimensionOrder)
        }
        5 | 6 => {
            let (dimensions, nodes_per_switch) = grid(dice);
            (TopologySettings::Torus { dimensions, nodes_per_switch }, RoutingKind::DimensionOrder)
        }
        _ => (TopologySettings::Graph(graph(dice)), RoutingKind::UpDown),
    };
    (settings, if dice.one_in(4) { RoutingKind::UpDown } else { own })
}

/// A HyperX, a dragonfly, a random regular graph, a tree of any ports or any graph, in a routing of its own or any other.
fn later_topology(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    let nodes_per_switch = dice.scaled(1, 3);
    let (settings, own) = match dice.below(4) {
        0 => {
            let dimensions =
                dice.pick(&[vec![3], vec![5], vec![2, 2, 2], vec![3, 2], vec![4, 3], vec![2, 1, 3]]);
            let links = vec![dice.between(1, 2); dimensions.len()];
            (TopologySettings::HyperX { dimensions, links, nodes_per_switch }, RoutingKind::DimensionOrder)
        }
        1 => {
            let (switches_per_group, global_ports, groups) =
                dice.pick(&[(1, 2, 3), (2, 1, 3), (2, 2, 3), (3, 1, 4), (3, 2, 3), (4, 1, 5), (2, 1, 2)]);
            let arrangement = dice.pick(&[Arrangement::PalmTree, Arrangement::Absolute]);
            let shape =
                DragonflyShape { groups, switches_per_group, nodes_per_switch, global_ports, arrangement };
            (TopologySettings::Dragonfly(shape), RoutingKind::Minimal)
        }
        2 if dice.one_in(3) => {
            (TopologySettings::SlimFly { q: 3, nodes_per_switch: 1 }, RoutingKind::Minimal)
        }
        2 if dice.one_in(2) => {
            let plus = DragonflyPlus {
                groups: dice.between(2, 3),
                leaves: dice.between(1, 2),
                spines: dice.between(1, 2),
                nodes_per_switch,
                global_ports: 2,
                arrangement: Arrangement::Absolute,
            };
            (TopologySettings::DragonflyPlus(plus), RoutingKind::Minimal)
        }
        2 => {
            let (switches, degree) = dice.pick(&[(4, 2), (5, 2), (6, 3), (8, 3), (9, 4)]);
            let seed = dice.below(100);
            let graph = RandomRegular { switches, degree, nodes_per_switch, seed };
            (TopologySettings::RandomRegular(graph), RoutingKind::Minimal)
        }
        3 => {
            let (down, up) = dice.pick(&[
                (vec![2, 3], vec![1, 2]),
                (vec![3, 2], vec![1, 3]),
                (vec![2, 2, 2], vec![1, 2, 1]),
                (vec![3], vec![1]),
            ]);
            let cables = vec![dice.between(1, 2)];
            (TopologySettings::Xgft { down, up, cables }, RoutingKind::DModK)
        }
        _ => (TopologySettings::Graph(graph(dice)), RoutingKind::Minimal),
    };
    let has_intermediates =
        matches!(settings, TopologySettings::HyperX { .. } | TopologySettings::Dragonfly(_));
    let drawn = if has_intermediates { RoutingKind::Valiant } else { own };
    (settings, dice.pick(&[own, own, drawn, drawn, RoutingKind::Minimal, RoutingKind::UpDown]))
}

/// Sizes of a grid of at most 16 switches, and nodes on each.
fn grid(dice: &mut Dice) -> (Vec<u32>, u32) {
    let mut dimensions = Vec::new();
    let mut room = 16;
    for _ in 0..dice.between(1, 3) {
        let size = dice.between(1, 6.min(room));
        dimensions.push(size);
        room /= size;
    }
    (dimensions, dice.scaled(1, 3))
}

/// A connected graph with parallel links and unused ports.
fn graph(dice: &mut Dice) -> Graph {
    let (switches, nodes) = (dice.between(1, 8), dice.between(2, 12));
    let mut next_port = vec![0; switches as usize];
    let mut end = |dice: &mut Dice, switch: u32| {
        let port = &mut next_port[switch as usize];
        *port += 1 + u32::from(dice.one_in(6));
        End::Switch(SwitchId(switch), PortId(*port - 1))
    };
    let mut links = Vec::new();
    let mut link = |ends| links.push(GraphLink { ends, length_mm: None });
    for node in 0..nodes {
        let switch = dice.between(0, switches - 1);
        link([End::Node(NodeId(node)), end(dice, switch)]);
    }
    for switch in 1..switches {
        let other = dice.between(0, switch - 1);
        link([end(dice, switch), end(dice, other)]);
    }
    if switches > 1 {
        for _ in 0..dice.between(0, switches) {
            let a = dice.between(0, switches - 1);
            let b = (a + dice.between(1, switches - 1)) % switches;
            link([end(dice, a), end(dice, b)]);
        }
    }
    Graph { nodes, switches, links }
}
