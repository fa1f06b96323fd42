//! The topology of a case, and a routing on it.

use super::super::dice::Dice;
use super::super::tables;
use super::super::text::Choice;
use flitway_wiring::routing::{Route, RoutingKind};
use flitway_wiring::topology::{
    Arrangement, DragonflyPlus, DragonflyShape, End, Graph, GraphLink, RandomRegular, StageWiring, ThTree,
    Topology, TopologySettings,
};
use flitway_wiring::{NodeId, PortId, SwitchId};
use std::sync::Arc;

type Draw = fn(&mut Dice) -> TopologySettings;

/// How often a topology is drawn, of as many cases as all shares together; how; and the routing that is its own, or made
/// for it. A test asks for every topology.
const DRAWN: &[(u64, Draw, RoutingKind)] = &[
    (6, single, RoutingKind::UpDown),
    (4, fat_tree, RoutingKind::DModK),
    (4, kary_ntree, RoutingKind::DModK),
    (2, fat_tree, RoutingKind::SModK),
    (3, xgft, RoutingKind::DModK),
    (4, th_tree, RoutingKind::Rtb),
    (4, th_tree, RoutingKind::RtbByDestination),
    (3, mesh, RoutingKind::DimensionOrder),
    (5, torus, RoutingKind::DimensionOrder),
    (1, torus, RoutingKind::Valiant),
    (3, hyperx, RoutingKind::DimensionOrder),
    (3, dragonfly, RoutingKind::Minimal),
    (1, dragonfly, RoutingKind::Ugal),
    (1, dragonfly, RoutingKind::Valiant),
    (2, dragonfly, RoutingKind::UgalG),
    (2, dragonfly, RoutingKind::Par),
    (1, hyperx, RoutingKind::Ugal),
    (2, torus, RoutingKind::Adaptive),
    (1, dragonfly_plus, RoutingKind::Minimal),
    (1, slim_fly, RoutingKind::Minimal),
    (2, random_regular, RoutingKind::Minimal),
    (4, |dice| TopologySettings::Graph(graph(dice)), RoutingKind::UpDown),
];

/// A topology whose links lead both ways, and its own routing or another one that goes there.
pub(in super::super) fn topology(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    let (settings, own) = drawn(dice);
    let topology = Arc::new(Topology::build(&settings).expect("a generated topology can be built"));
    let fits = |kind: &RoutingKind| {
        let routing = tables::routing(*kind, Arc::clone(&topology));
        routing.is_ok_and(|routing| Route::holds(topology.ports_max(), routing.classes()))
    };
    let routing = match dice.below(6) {
        0..3 => own,
        3 => RoutingKind::UpDown,
        _ => dice.pick(&routings().into_iter().filter(fits).collect::<Vec<_>>()),
    };
    (settings, routing)
}

/// A topology with a routing that names two ways.
pub(in super::super) fn with_two_ways(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    match dice.below(4) {
        0 => (hyperx(dice), RoutingKind::Ugal),
        1 => (dragonfly(dice), RoutingKind::Ugal),
        _ => (dragonfly(dice), RoutingKind::Par),
    }
}

fn drawn(dice: &mut Dice) -> (TopologySettings, RoutingKind) {
    let mut place = dice.below(DRAWN.iter().map(|(share, ..)| share).sum());
    for &(share, draw, own) in DRAWN {
        if place < share {
            return (draw(dice), own);
        }
        place -= share;
    }
    unreachable!("a place below the sum of shares is in one of them")
}

/// Every routing but those in which packets can wait for each other for ever.
fn routings() -> Vec<RoutingKind> {
    let is_safe = |kind: &RoutingKind| {
        !matches!(kind, RoutingKind::DimensionOrderWithoutDateline | RoutingKind::MinimalInOneClass)
    };
    RoutingKind::words().into_iter().filter(is_safe).collect()
}

fn single(dice: &mut Dice) -> TopologySettings {
    TopologySettings::Single { nodes: dice.between(2, 16) }
}

fn fat_tree(dice: &mut Dice) -> TopologySettings {
    let (ports, levels) = dice.pick(&[(4, 1), (4, 2), (4, 2), (4, 3), (6, 2), (8, 1), (8, 2)]);
    TopologySettings::FatTree { ports, levels }
}

fn kary_ntree(dice: &mut Dice) -> TopologySettings {
    let (arity, levels) = dice.pick(&[(2, 1), (2, 2), (2, 3), (2, 4), (3, 2), (4, 2)]);
    TopologySettings::KaryNTree { arity, levels }
}

fn xgft(dice: &mut Dice) -> TopologySettings {
    let (down, up, nics) = dice.pick(&[
        (vec![2, 3], vec![1, 2], 1),
        (vec![2, 3], vec![1, 2], 3),
        (vec![3, 2], vec![1, 3], 1),
        (vec![2, 2, 2], vec![1, 2, 1], 1),
        (vec![2, 2, 2], vec![1, 2, 1], 2),
        (vec![3], vec![1], 1),
    ]);
    let cables = vec![dice.between(1, 2)];
    // Some are partly populated, which draws nothing.
    let all: u32 = down.iter().product();
    let populated = (nics == 1 && cables == [1] && down.len() > 1).then(|| (all - down[0] - 1).max(2));
    TopologySettings::Xgft { down, up, cables, nics, populated }
}

/// A frame, a group, or two groups under root switches, of small chips.
fn th_tree(dice: &mut Dice) -> TopologySettings {
    let (groups, frames_per_group, chip_ports) = dice.pick(&[(1, 1, 4), (1, 2, 4), (2, 1, 2), (2, 1, 4)]);
    let half = chip_ports / 2;
    TopologySettings::ThTree(ThTree {
        chip_ports,
        nodes_per_frame: dice.between(if groups * frames_per_group == 1 { 2 } else { 1 }, half),
        lower_chips: if chip_ports == 2 { 1 } else { dice.between(1, 2) },
        upper_chips: half,
        up_ports_per_nrm: dice.between(1, half),
        frames_per_cabinet: dice.between(1, 2),
        frames_per_group,
        leaf_ports: if groups == 1 { 4 } else { 2 },
        groups,
        root_lower_chips: 3 - half,
        root_upper_chips: 1,
    })
}

fn mesh(dice: &mut Dice) -> TopologySettings {
    let (dimensions, nodes_per_switch) = grid(dice);
    TopologySettings::Mesh { dimensions, nodes_per_switch }
}

fn torus(dice: &mut Dice) -> TopologySettings {
    let (dimensions, nodes_per_switch) = grid(dice);
    TopologySettings::Torus { dimensions, nodes_per_switch }
}

fn hyperx(dice: &mut Dice) -> TopologySettings {
    let dimensions = dice.pick(&[vec![3], vec![5], vec![2, 2, 2], vec![3, 2], vec![4, 3], vec![2, 1, 3]]);
    let links = vec![dice.between(1, 2); dimensions.len()];
    TopologySettings::HyperX { dimensions, links, nodes_per_switch: dice.scaled(1, 3) }
}

fn dragonfly(dice: &mut Dice) -> TopologySettings {
    let (switches_per_group, global_ports, groups) =
        dice.pick(&[(1, 2, 3), (2, 1, 3), (2, 2, 3), (3, 1, 4), (3, 2, 3), (4, 1, 5), (2, 1, 2)]);
    TopologySettings::Dragonfly(DragonflyShape {
        groups,
        switches_per_group,
        nodes_per_switch: dice.scaled(1, 3),
        global_ports,
        arrangement: dice.pick(&[Arrangement::PalmTree, Arrangement::Absolute]),
    })
}

fn dragonfly_plus(dice: &mut Dice) -> TopologySettings {
    TopologySettings::DragonflyPlus(DragonflyPlus {
        groups: dice.between(2, 3),
        leaves: dice.between(1, 2),
        spines: dice.between(1, 2),
        nodes_per_switch: dice.scaled(1, 3),
        global_ports: 2,
        arrangement: Arrangement::Absolute,
    })
}

fn slim_fly(_: &mut Dice) -> TopologySettings {
    TopologySettings::SlimFly { q: 3, nodes_per_switch: 1 }
}

fn random_regular(dice: &mut Dice) -> TopologySettings {
    let (switches, degree) = dice.pick(&[(4, 2), (5, 2), (6, 3), (8, 3), (9, 4)]);
    let (nodes_per_switch, seed) = (dice.scaled(1, 3), dice.below(100));
    TopologySettings::RandomRegular(RandomRegular { switches, degree, nodes_per_switch, seed })
}

/// A unidirectional multistage network.
pub(in super::super) fn stages(dice: &mut Dice) -> TopologySettings {
    let (arity, stages) = dice.pick(&[(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (4, 2), (5, 1)]);
    let wiring = dice.pick(&[StageWiring::Omega, StageWiring::Butterfly]);
    TopologySettings::Stages { wiring, arity, stages }
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
    Graph { nodes, switches, links, servers: Vec::new() }
}
