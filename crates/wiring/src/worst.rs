//! The permutation that is worst for a routing: each node sends to one and hears from one, and a channel has more to carry than
//! in any other.
//!
//! Source: Towles and Dally, "Worst-case traffic for oblivious routing functions", SPAA 2002. Where ways do not depend on
//! traffic, the most that permutations have a channel carry is a matching of sources and destinations of the greatest weight;
//! a pair weighs the part of its packets that takes the channel. The worst permutation holds the matching of the channel that
//! is full first.
//!
//! A channel carries no more than its sources send over it at most, nor than its destinations hear. Channels are taken in the
//! order of that bound, and when the next one's is no more than what was found, nothing is worse. Where a matching would take
//! too long, pairs are exchanged as long as that helps, from a beginning that is drawn: then there may be worse ones.

use crate::routing::Routing;
use crate::topology::End;
use crate::{NodeId, PortId, SwitchId};
use std::cmp::Ordering;

/// Pairs and channels on their ways, up to which ways are followed.
const STEPS_MAX: u64 = 1 << 25;

/// Steps of matchings up to which channels are taken in turn.
const MATCHING_MAX: u64 = 1 << 31;

/// Loads that differ by no more are equal.
const ROUNDING: f64 = 1e-9;

/// The worst permutation that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    /// The node that each node sends to; itself where nobody else is left.
    pub map: Vec<u32>,
    /// The channel that is full first.
    pub channel: End,
    /// What it has to carry if every node sends a flit in every cycle.
    pub load: f64,
    /// Whether no permutation is worse.
    pub is_exact: bool,
}

/// A pair of nodes whose packets take a channel.
#[derive(Clone, Copy, Debug)]
struct Pair {
    source: u32,
    destination: u32,
    /// The part that does.
    part: f64,
}

/// The worst permutation for `routing`, if channels carry what `rate` says; `draw` gives a number below its argument, where
/// something is drawn. `None` if no channel joins two switches, if switches choose the ways, or if there are too many.
#[must_use]
pub fn worst_permutation(
    routing: &Routing,
    rate: impl Fn(End) -> f64,
    mut draw: impl FnMut(u64) -> u64,
) -> Option<Worst> {
    let topology = routing.topology();
    let nodes = u64::from(topology.nodes());
    let steps = nodes * nodes * routing.starts_max() * u64::from(routing.hops_max());
    if routing.is_adaptive() || nodes < 2 || steps > STEPS_MAX {
        return None;
    }
    let mut channels: Vec<(End, f64, Vec<Pair>)> = pairs(routing)
        .into_iter()
        .map(|(sender, pairs)| (sender, bound(&pairs, topology.nodes()) / rate(sender), pairs))
        .collect();
    // Stable: of equal ones the first.
    channels.sort_by(|(_, a, _), (_, b, _)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    let mut found: Option<(f64, End, Matching)> = None;
    let (mut is_exact, mut steps) = (true, 0);
    for (sender, bound, pairs) in &channels {
        if found.as_ref().is_some_and(|(fullness, ..)| *bound <= fullness + ROUNDING) {
            break;
        }
        let cost = Matching::steps(pairs, topology.nodes());
        let exact = steps + cost <= MATCHING_MAX;
        let matching = if exact {
            steps += cost;
            Matching::greatest(pairs, topology.nodes())
        } else {
            Matching::searched(pairs, topology.nodes(), &mut draw)
        };
        let fullness = matching.weight / rate(*sender);
        // A matching that comes to the bound is the greatest, however it was found.
        is_exact &= exact || fullness >= bound - ROUNDING;
        if found.as_ref().is_none_or(|(most, ..)| fullness > most + ROUNDING) {
            found = Some((fullness, *sender, matching));
        }
    }
    let (_, channel, matching) = found?;
    Some(Worst { load: matching.weight, map: matching.permutation(), channel, is_exact })
}

/// The pairs of nodes that take each channel between switches, in the order of channels.
fn pairs(routing: &Routing) -> Vec<(End, Vec<Pair>)> {
    let topology = routing.topology();
    let mut first = vec![0];
    let mut found: Vec<(End, Vec<Pair>)> = Vec::new();
    for switch in (0..topology.switches()).map(SwitchId) {
        found.extend((0..topology.ports(switch)).map(|port| (End::Switch(switch, PortId(port)), Vec::new())));
        first.push(found.len());
    }
    let nodes = || (0..topology.nodes()).map(NodeId);
    for (source, destination) in nodes().flat_map(|source| nodes().map(move |node| (source, node))) {
        if source == destination {
            continue;
        }
        let ways = routing.paths(source, destination);
        let part = (ways.len() as f64).recip();
        for (switch, hop) in ways.flatten() {
            let of_channel = &mut found[first[switch.index()] + hop.port.index()].1;
            match of_channel.last_mut() {
                Some(last) if (last.source, last.destination) == (source.0, destination.0) => {
                    last.part += part
                }
                _ => of_channel.push(Pair { source: source.0, destination: destination.0, part }),
            }
        }
    }
    found.retain(|(sender, pairs)| {
        !pairs.is_empty()
            && matches!(*sender, End::Switch(switch, port) if topology.leads_to_switch(switch, port))
    });
    found
}

/// No less than the weight of any matching of `pairs`.
fn bound(pairs: &[Pair], nodes: u32) -> f64 {
    let mut most = [vec![0.0_f64; nodes as usize], vec![0.0_f64; nodes as usize]];
    for pair in pairs {
        for (side, node) in [pair.source, pair.destination].into_iter().enumerate() {
            let of = &mut most[side][node as usize];
            *of = of.max(pair.part);
        }
    }
    let [sent, heard]: [f64; 2] = most.map(|side| side.iter().sum());
    sent.min(heard)
}

/// Sources and destinations, each in one pair at most.
#[derive(Clone, Debug)]
struct Matching {
    /// By source.
    to: Vec<Option<u32>>,
    weight: f64,
}

impl Matching {
    /// About how long the greatest one takes.
    fn steps(pairs: &[Pair], nodes: u32) -> u64 {
        let nodes = u64::from(nodes);
        if are_whole(pairs) { pairs.len() as u64 * nodes.isqrt() } else { nodes.pow(3) }
    }

    /// The greatest of `pairs`.
    fn greatest(pairs: &[Pair], nodes: u32) -> Matching {
        if are_whole(pairs) { Matching::of_most(pairs, nodes) } else { Matching::of_weights(pairs, nodes) }
    }

    /// One of as many pairs as can be: a source that is left over takes the destination of another, which takes another one.
    fn of_most(pairs: &[Pair], nodes: u32) -> Matching {
        let mut known: Vec<Vec<u32>> = vec![Vec::new(); nodes as usize];
        pairs.iter().for_each(|pair| known[pair.source as usize].push(pair.destination));
        let mut from: Vec<Option<u32>> = vec![None; nodes as usize];
        let mut seen = vec![u32::MAX; nodes as usize];
        let mut count = 0;
        for source in 0..nodes {
            if augment(source, &known, &mut from, &mut seen, source) {
                count += 1;
            }
        }
        let mut to = vec![None; nodes as usize];
        for (destination, source) in (0..nodes).zip(from) {
            if let Some(source) = source {
                to[source as usize] = Some(destination);
            }
        }
        Matching { to, weight: f64::from(count) }
    }

    /// The one of greatest weight, by the Hungarian method: potentials of sources and destinations, raised until each source
    /// has a pair that costs nothing beyond them.
    fn of_weights(pairs: &[Pair], nodes: u32) -> Matching {
        let parts = Parts::new(pairs, nodes);
        let size = nodes as usize;
        // Number 0 stands for nobody.
        let (mut of_source, mut of_destination) = (vec![0.0; size + 1], vec![0.0; size + 1]);
        let (mut taken_by, mut before) = (vec![0; size + 1], vec![0; size + 1]);
        for source in 1..=size {
            taken_by[0] = source;
            let mut here = 0;
            let (mut least, mut used) = (vec![f64::INFINITY; size + 1], vec![false; size + 1]);
            while taken_by[here] != 0 {
                used[here] = true;
                let (row, mut delta, mut next) = (taken_by[here], f64::INFINITY, 0);
                for column in (1..=size).filter(|&column| !used[column]) {
                    let cost = -parts.of(row - 1, column - 1) - of_source[row] - of_destination[column];
                    if cost < least[column] {
                        (least[column], before[column]) = (cost, here);
                    }
                    if least[column] < delta {
                        (delta, next) = (least[column], column);
                    }
                }
                for column in 0..=size {
                    if used[column] {
                        of_source[taken_by[column]] += delta;
                        of_destination[column] -= delta;
                    } else {
                        least[column] -= delta;
                    }
                }
                here = next;
            }
            while here != 0 {
                taken_by[here] = taken_by[before[here]];
                here = before[here];
            }
        }
        let mut map = vec![0; size];
        (1..=size).for_each(|column| map[taken_by[column] - 1] = column as u32 - 1);
        Matching::of_map(&parts, &map)
    }

    /// A good one: from a permutation that is drawn, destinations are exchanged while that helps.
    fn searched(pairs: &[Pair], nodes: u32, draw: &mut impl FnMut(u64) -> u64) -> Matching {
        let parts = Parts::new(pairs, nodes);
        let size = nodes as usize;
        let mut map: Vec<u32> = (0..nodes).collect();
        for last in (1..size).rev() {
            map.swap(last, draw(last as u64 + 1) as usize);
        }
        loop {
            let mut has_helped = false;
            for first in 0..size {
                for second in 0..first {
                    let [a, b] = [first, second].map(|source| map[source] as usize);
                    let gain =
                        parts.of(first, b) + parts.of(second, a) - parts.of(first, a) - parts.of(second, b);
                    if gain > ROUNDING {
                        map.swap(first, second);
                        has_helped = true;
                    }
                }
            }
            if !has_helped {
                return Matching::of_map(&parts, &map);
            }
        }
    }

    fn of_map(parts: &Parts, map: &[u32]) -> Matching {
        let part = |source: usize| parts.of(source, map[source] as usize);
        let to = (0..map.len()).map(|source| (part(source) > 0.0).then_some(map[source])).collect();
        Matching { to, weight: (0..map.len()).map(part).sum() }
    }

    /// All nodes: who is in no pair sends to one that hears from nobody yet, and to itself only if there is no other.
    fn permutation(&self) -> Vec<u32> {
        let mut is_heard = vec![false; self.to.len()];
        self.to.iter().flatten().for_each(|&node| is_heard[node as usize] = true);
        let left: Vec<u32> =
            (0..self.to.len() as u32).filter(|&node| self.to[node as usize].is_none()).collect();
        let mut free: Vec<u32> = (0..self.to.len() as u32).filter(|&node| !is_heard[node as usize]).collect();
        for place in 0..left.len() {
            let is_itself = |&(source, node): &(usize, u32)| left[source] == node;
            if is_itself(&(place, free[place])) {
                let other = (0..left.len()).find(|&other| {
                    other != place && !is_itself(&(place, free[other])) && !is_itself(&(other, free[place]))
                });
                if let Some(other) = other {
                    free.swap(place, other);
                }
            }
        }
        let mut map: Vec<u32> = self.to.iter().map(|to| to.unwrap_or(0)).collect();
        left.iter().zip(free).for_each(|(&source, node)| map[source as usize] = node);
        map
    }
}

/// Whether each pair takes the channel with all of its packets.
fn are_whole(pairs: &[Pair]) -> bool {
    pairs.iter().all(|pair| pair.part >= 1.0 - ROUNDING)
}

/// Finds a destination for `source`, if another source can take another one. `seen` says in which `turn` a destination was
/// looked at.
fn augment(source: u32, known: &[Vec<u32>], from: &mut [Option<u32>], seen: &mut [u32], turn: u32) -> bool {
    // A way of sources that ask each other for their destination: each with how many of its own it has looked at.
    let mut way = vec![(source, 0)];
    while let Some((source, place)) = way.last_mut() {
        let Some(&destination) = known[*source as usize].get(*place) else {
            way.pop();
            continue;
        };
        *place += 1;
        if std::mem::replace(&mut seen[destination as usize], turn) == turn {
            continue;
        }
        match from[destination as usize] {
            Some(other) => way.push((other, 0)),
            None => {
                for (source, place) in way {
                    from[known[source as usize][place - 1] as usize] = Some(source);
                }
                return true;
            }
        }
    }
    false
}

/// The parts of all pairs of nodes.
struct Parts {
    nodes: usize,
    parts: Vec<f64>,
}

impl Parts {
    fn new(pairs: &[Pair], nodes: u32) -> Self {
        let nodes = nodes as usize;
        let mut parts = vec![0.0; nodes * nodes];
        pairs
            .iter()
            .for_each(|pair| parts[pair.source as usize * nodes + pair.destination as usize] = pair.part);
        Parts { nodes, parts }
    }

    fn of(&self, source: usize, destination: usize) -> f64 {
        self.parts[source * self.nodes + destination]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::RoutingKind;
    use crate::topology::{DragonflyShape, Topology, TopologySettings};
    use std::sync::Arc;

    fn worst(settings: &TopologySettings, kind: RoutingKind) -> Worst {
        let topology = Topology::build(settings).unwrap();
        let routing = Routing::new(kind, Arc::new(topology)).unwrap();
        worst_permutation(&routing, |_| 1.0, |below| below / 2).unwrap()
    }

    fn is_permutation(map: &[u32]) -> bool {
        let mut sorted = map.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..map.len() as u32)
    }

    /// All permutations of so many.
    fn permutations(count: u32) -> Vec<Vec<u32>> {
        let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
        let insert = |map: Vec<u32>| {
            (0..=map.len()).map(move |place| [&map[..place], &[last], &map[place..]].concat())
        };
        permutations(last).into_iter().flat_map(insert).collect()
    }

    #[test]
    fn small_fabrics_have_no_worse_one_among_all() {
        let mesh = TopologySettings::Mesh { dimensions: vec![3, 2], nodes_per_switch: 1 };
        let ring = TopologySettings::Torus { dimensions: vec![7], nodes_per_switch: 1 };
        let tree = TopologySettings::KaryNTree { arity: 2, levels: 2 };
        let hyperx = TopologySettings::HyperX { dimensions: vec![3, 2], links: vec![1], nodes_per_switch: 1 };
        for (settings, kind) in [
            (mesh, RoutingKind::DimensionOrder),
            (ring, RoutingKind::DimensionOrder),
            (tree.clone(), RoutingKind::DModK),
            (tree, RoutingKind::MultiPath),
            (hyperx, RoutingKind::Valiant),
        ] {
            let topology = Arc::new(Topology::build(&settings).unwrap());
            let routing = Routing::new(kind, Arc::clone(&topology)).unwrap();
            let of_channels = pairs(&routing);
            let load = |map: &[u32]| {
                let carried = |pairs: &[Pair]| -> f64 {
                    pairs
                        .iter()
                        .filter(|it| map[it.source as usize] == it.destination)
                        .map(|it| it.part)
                        .sum()
                };
                of_channels.iter().map(|(_, pairs)| carried(pairs)).fold(0.0, f64::max)
            };
            let all = permutations(topology.nodes());
            let most = all.iter().map(|map| load(map)).fold(0.0, f64::max);
            let found = worst(&settings, kind);
            assert!(found.is_exact && is_permutation(&found.map), "{kind:?}");
            assert!((found.load - most).abs() < 1e-9, "{kind:?}: {} of {most}", found.load);
            assert!((load(&found.map) - most).abs() < 1e-9, "{kind:?}");
        }
    }

    #[test]
    fn a_search_finds_the_same_and_draws_from_what_it_is_given() {
        let settings =
            TopologySettings::HyperX { dimensions: vec![3, 3], links: vec![1], nodes_per_switch: 2 };
        let topology = Arc::new(Topology::build(&settings).unwrap());
        let routing = Routing::new(RoutingKind::Valiant, topology).unwrap();
        let (_, pairs) = pairs(&routing).swap_remove(0);
        let exact = Matching::greatest(&pairs, 18).weight;
        let searched = Matching::searched(&pairs, 18, &mut |below| below / 3).weight;
        assert!(searched <= exact + 1e-9 && searched >= 0.9 * exact, "{searched} of {exact}");
    }

    #[test]
    fn minimal_routing_of_a_dragonfly_sends_a_group_over_one_channel() {
        let shape = DragonflyShape {
            groups: 9,
            switches_per_group: 4,
            nodes_per_switch: 2,
            global_ports: 2,
            arrangement: crate::topology::Arrangement::PalmTree,
        };
        let minimal = worst(&TopologySettings::Dragonfly(shape.clone()), RoutingKind::Minimal);
        assert!((minimal.load - 8.0).abs() < 1e-9 && minimal.is_exact, "{minimal:?}");
        let valiant = worst(&TopologySettings::Dragonfly(shape), RoutingKind::Valiant);
        // Seven other groups: an intermediate is one of them, and local channels to global ports have most to carry.
        assert!((valiant.load - 30.0 / 7.0).abs() < 1e-9 && valiant.is_exact, "{}", valiant.load);
    }
}
