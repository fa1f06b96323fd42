//! The bisection of any graph: the fewest links that cut the nodes in two halves.
//!
//! Each switch is on one side, and its nodes with it; those of at most one switch may be divided, where the halves would
//! not be equal otherwise, and each of them that is on the other side counts as a link. Switches without nodes stand where they
//! cut least. Of up to [`EXACT_MAX`] switches all divisions are tried. Of more the fewest links are searched for, so that
//! what is found is *at most*: by moves of single switches, the best first even if it costs, each once in a pass, of which
//! the best beginning is kept (Fiduccia and Mattheyses, "A linear-time heuristic for improving network partitions", DAC 1982).
//! They begin at the order of the numbers, the order along the slowest mode of the graph (Fiedler, 1973) and divisions that
//! are drawn.

use crate::cables::Cables;
use crate::drawn;
use crate::topology::Topology;
use std::collections::BinaryHeap;

/// Switches up to which the bisection is exact.
pub const EXACT_MAX: u32 = 20;

/// Passes of one search at most.
const PASSES_MAX: u32 = 24;

/// Divisions that are drawn: as many as make so many ends of cables, and no more than that.
const DRAWN_ENDS: usize = 1 << 17;
const DRAWN_MAX: usize = 24;

/// Moves after the best division of a pass, beside a quarter of all switches, before it is given up.
const MOVES_BEYOND: usize = 256;

/// Rounds in which the slowest mode is approached.
const ROUNDS: u32 = 300;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// Links that join the halves.
    pub links: u64,
    /// Whether no other division has fewer; otherwise one may have.
    pub is_exact: bool,
}

/// The bisection of `topology`; `None` where fewer than two nodes, or one-way links, are.
#[must_use]
pub fn bisection(topology: &Topology) -> Option<Bisection> {
    if topology.nodes() < 2 || topology.is_one_way() {
        return None;
    }
    let cables = Cables::new(topology);
    let is_exact = topology.switches() <= EXACT_MAX;
    let links = if is_exact { least_of_all(&cables) } else { searched(&cables) };
    Some(Bisection { links, is_exact })
}

/// A division of the switches.
struct Division<'a> {
    cables: &'a Cables,
    /// Whether each switch is on the upper side.
    is_upper: Vec<bool>,
    /// Links between the sides.
    cut: i64,
    /// Nodes of the upper side, and of all.
    upper: i64,
    all: i64,
    /// The most nodes of a switch.
    most: i64,
}

impl<'a> Division<'a> {
    fn new(cables: &'a Cables, is_upper: Vec<bool>) -> Self {
        let nodes = |switch: usize| i64::from(cables.nodes[switch]);
        let switches = || 0..is_upper.len();
        let crosses = |switch: usize, to: u32| !is_upper[switch] && is_upper[to as usize];
        let links = |switch: usize| {
            let across = cables.of[switch].iter().filter(|&&(to, _)| crosses(switch, to));
            across.map(|&(_, count)| i64::from(count)).sum::<i64>()
        };
        let (cut, all) = (switches().map(links).sum(), switches().map(nodes).sum());
        let upper = switches().filter(|&switch| is_upper[switch]).map(nodes).sum();
        let most = switches().map(nodes).max().unwrap_or(0);
        Division { cables, is_upper, cut, upper, all, most }
    }

    /// By how much one side has more nodes than the other.
    fn excess(&self) -> i64 {
        2 * self.upper - self.all
    }

    /// Links that cut the nodes in halves; `None` if those of more than one switch have to be divided for that.
    fn links(&self) -> Option<i64> {
        let excess = self.excess().abs();
        (excess <= self.most.max(1)).then_some(self.cut + excess / 2)
    }

    /// By how many links a move of `switch` would make the cut smaller.
    fn gain(&self, switch: usize) -> i64 {
        let side = self.is_upper[switch];
        let links = self.cables.of[switch].iter();
        links
            .map(
                |&(to, count)| {
                    if self.is_upper[to as usize] == side { -i64::from(count) } else { i64::from(count) }
                },
            )
            .sum()
    }

    /// Moves `switch`, whose gain that is.
    fn flip(&mut self, switch: usize, gain: i64) {
        self.cut -= gain;
        let nodes = i64::from(self.cables.nodes[switch]);
        self.upper += if self.is_upper[switch] { -nodes } else { nodes };
        self.is_upper[switch] = !self.is_upper[switch];
    }

    /// Whether a move of `switch` leaves sides that few moves make equal.
    fn may_flip(&self, switch: usize) -> bool {
        let nodes = i64::from(self.cables.nodes[switch]);
        let excess = self.excess() + if self.is_upper[switch] { -2 * nodes } else { 2 * nodes };
        excess.abs() <= (2 * self.most).max(1) || excess.abs() < self.excess().abs()
    }
}

/// The least links of all divisions: each differs from the one before by a switch.
fn least_of_all(cables: &Cables) -> u64 {
    let switches = cables.nodes.len();
    let mut division = Division::new(cables, vec![false; switches]);
    let mut least = division.links();
    // The last switch stays where it is: the other divisions are these, upside down.
    for number in 1_u32..1 << (switches - 1) {
        let switch = number.trailing_zeros() as usize;
        let gain = division.gain(switch);
        division.flip(switch, gain);
        least = [least, division.links()].into_iter().flatten().min();
    }
    least.expect("filling one side switch by switch passes the half within a switch") as u64
}

/// The fewest links that searches from several divisions find.
fn searched(cables: &Cables) -> u64 {
    let switches = cables.nodes.len();
    let by_number: Vec<u32> = (0..switches as u32).collect();
    let ends: usize = cables.of.iter().map(Vec::len).sum::<usize>().max(1);
    let drawn = (DRAWN_ENDS / ends).min(DRAWN_MAX);
    let mut state = 1;
    let shuffled = (0..drawn).map(|_| {
        let mut order = by_number.clone();
        (1..switches).rev().for_each(|last| order.swap(last, below(&mut state, last as u64 + 1)));
        order
    });
    let orders: Vec<Vec<u32>> =
        [by_number.clone(), slowest_mode(cables)].into_iter().chain(shuffled).collect();
    let found = orders.into_iter().map(|order| descended(halved(cables, &order)));
    found.min().expect("there are orders") as u64
}

/// The next number of a sequence, below `bound`.
fn below(key: &mut u64, bound: u64) -> usize {
    let number = drawn::below(*key, bound) as usize;
    *key = key.wrapping_add(drawn::STEP);
    number
}

/// The switches in `order`, half of the nodes below.
fn halved<'a>(cables: &'a Cables, order: &[u32]) -> Division<'a> {
    let all: u32 = cables.nodes.iter().sum();
    let mut is_upper = vec![false; order.len()];
    let mut before = 0;
    for &switch in order {
        let nodes = cables.nodes[switch as usize];
        is_upper[switch as usize] = before + nodes / 2 >= all.div_ceil(2);
        before += nodes;
    }
    // A switch without nodes stands where more of its cables lead to.
    let sides = is_upper.clone();
    let lead_up = |switch: usize| {
        let up =
            |&(to, count): &(u32, u32)| if sides[to as usize] { i64::from(count) } else { -i64::from(count) };
        cables.of[switch].iter().map(up).sum::<i64>() > 0
    };
    (0..order.len())
        .filter(|&switch| cables.nodes[switch] == 0)
        .for_each(|switch| is_upper[switch] = lead_up(switch));
    Division::new(cables, is_upper)
}

/// The links of the best division that passes find from there.
fn descended(mut division: Division<'_>) -> i64 {
    let mut best = division.links().unwrap_or(i64::MAX);
    for _ in 0..PASSES_MAX {
        let found = pass(&mut division);
        if found >= best {
            break;
        }
        best = found;
    }
    best
}

/// Moves each switch once, the best first, and takes back what comes after the best division; returns its links.
fn pass(division: &mut Division<'_>) -> i64 {
    let switches = division.is_upper.len();
    let mut gains: Vec<i64> = (0..switches).map(|switch| division.gain(switch)).collect();
    let mut is_moved = vec![false; switches];
    // By side, and by whether there are nodes at the switch: one that has none may always move.
    let heap_of = |division: &Division<'_>, switch: usize| {
        2 * usize::from(division.is_upper[switch]) + usize::from(division.cables.nodes[switch] > 0)
    };
    let mut heaps: [BinaryHeap<(i64, u32)>; 4] = Default::default();
    (0..switches).for_each(|switch| heaps[heap_of(division, switch)].push((gains[switch], switch as u32)));
    let (mut best, mut kept) = (division.links().unwrap_or(i64::MAX), 0);
    let mut moves: Vec<u32> = Vec::new();
    while moves.len() <= kept + switches / 4 + MOVES_BEYOND {
        // What is no longer so is thrown away.
        for heap in &mut heaps {
            while heap.peek().is_some_and(|&(gain, of)| is_moved[of as usize] || gains[of as usize] != gain) {
                heap.pop();
            }
        }
        let tops =
            heaps.iter().filter_map(|heap| heap.peek()).filter(|top| division.may_flip(top.1 as usize));
        let Some(&(gain, switch)) = tops.max() else { break };
        let at = switch as usize;
        division.flip(at, gain);
        is_moved[at] = true;
        moves.push(switch);
        for &(to, count) in &division.cables.of[at] {
            let (other, count) = (to as usize, i64::from(count));
            if !is_moved[other] {
                gains[other] +=
                    if division.is_upper[other] == division.is_upper[at] { -2 * count } else { 2 * count };
                heaps[heap_of(division, other)].push((gains[other], to));
            }
        }
        if let Some(links) = division.links().filter(|&links| links < best) {
            (best, kept) = (links, moves.len());
        }
    }
    for &switch in moves[kept..].iter().rev() {
        let gain = division.gain(switch as usize);
        division.flip(switch as usize, gain);
    }
    best
}

/// The switches along the slowest mode of the graph: the second vector of its Laplacian, about. Its numbers only choose where
/// searches begin.
fn slowest_mode(cables: &Cables) -> Vec<u32> {
    let switches = cables.nodes.len();
    let degrees: Vec<f64> = (0..switches).map(|switch| f64::from(cables.degree(switch).max(1))).collect();
    let all: f64 = degrees.iter().sum();
    let mut state = 2;
    let mut mode: Vec<f64> = (0..switches).map(|_| below(&mut state, 1 << 20) as f64).collect();
    for _ in 0..ROUNDS {
        // What all have in common is taken off; what is left grows at the slowest mode more than at others.
        let common = mode.iter().zip(&degrees).map(|(value, degree)| value * degree).sum::<f64>() / all;
        mode.iter_mut().for_each(|value| *value -= common);
        let mean = |switch: usize| {
            let sum: f64 =
                cables.of[switch].iter().map(|&(to, count)| mode[to as usize] * f64::from(count)).sum();
            0.5 * (mode[switch] + sum / degrees[switch])
        };
        let next: Vec<f64> = (0..switches).map(mean).collect();
        let size = next.iter().map(|value| value.abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        mode = next.into_iter().map(|value| value / size).collect();
    }
    let mut order: Vec<u32> = (0..switches as u32).collect();
    order.sort_by(|&one, &other| mode[one as usize].total_cmp(&mode[other as usize]).then(one.cmp(&other)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{DragonflyShape, RandomRegular, TopologySettings};

    fn build(settings: &TopologySettings) -> Topology {
        Topology::build(settings).unwrap()
    }

    fn torus(dimensions: &[u32], nodes_per_switch: u32) -> TopologySettings {
        TopologySettings::Torus { dimensions: dimensions.to_vec(), nodes_per_switch }
    }

    fn hyperx(dimensions: &[u32], nodes_per_switch: u32) -> TopologySettings {
        TopologySettings::HyperX { dimensions: dimensions.to_vec(), links: vec![1], nodes_per_switch }
    }

    #[test]
    fn what_is_known_of_a_structure_its_graph_alone_tells_too() {
        let arrangement = crate::topology::Arrangement::PalmTree;
        let dragonfly = DragonflyShape {
            groups: 6,
            switches_per_group: 5,
            nodes_per_switch: 2,
            global_ports: 1,
            arrangement,
        };
        for settings in [
            torus(&[4, 4], 1),
            torus(&[8, 8], 1),
            torus(&[16, 4, 4], 2),
            TopologySettings::Mesh { dimensions: vec![8, 8], nodes_per_switch: 3 },
            TopologySettings::FatTree { ports: 8, levels: 3 },
            TopologySettings::KaryNTree { arity: 4, levels: 2 },
            hyperx(&[8], 2),
            hyperx(&[2; 6], 1),
            TopologySettings::Dragonfly(dragonfly),
        ] {
            let topology = build(&settings);
            let found = bisection(&topology).unwrap();
            assert_eq!(Some(found.links), topology.bisection_links(), "{settings:?}");
            assert_eq!(found.is_exact, topology.switches() <= EXACT_MAX);
        }
    }

    #[test]
    fn a_search_finds_what_trying_all_does() {
        for seed in 0..12 {
            let settings = RandomRegular { switches: 18, degree: 5, nodes_per_switch: 3, seed };
            let cables = Cables::new(&build(&TopologySettings::RandomRegular(settings)));
            assert_eq!(searched(&cables), least_of_all(&cables), "seed {seed}");
        }
    }

    #[test]
    fn nodes_of_one_switch_may_be_divided() {
        let one = |settings| bisection(&build(&settings)).unwrap().links;
        assert_eq!(one(TopologySettings::Single { nodes: 7 }), 3, "three nodes of it are cut off");
        // A triangle with two nodes at each switch: the one in the middle has a cable to either side, and a node there.
        assert_eq!(one(hyperx(&[3], 2)), 3);
        assert_eq!(bisection(&build(&TopologySettings::Single { nodes: 1 })), None);
    }
}
