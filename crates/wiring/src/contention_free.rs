//! A permutation whose pairs do not meet: each node sends to one and hears from one, and no channel between switches is on the
//! ways of two pairs, where that can be had.
//!
//! What a network carries of random pairs is less than what their channels carry, because some pairs share one. Pairs that
//! share none show the rest: what the switches themselves cost. From a permutation that is drawn, destinations of two sources
//! are exchanged as long as fewer pairs meet, or as many. The ways are the first of each pair, which adaptive routing begins
//! with as well.

use crate::routing::Routing;
use crate::{NodeId, SwitchId};
use std::collections::VecDeque;

/// Exchanges that are tried for each node, and for all of them at most, which is half a minute in a fabric of 18,432 nodes.
const TRIES: [u64; 2] = [400, 3_000_000];

/// The permutation that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentionFree {
    /// The node that each node sends to, which is another one.
    pub map: Vec<u32>,
    /// Channels between switches that are on the ways of several pairs; 0 unless the search has failed.
    pub shared: u32,
}

/// A permutation for `routing` whose pairs do not meet, as far as a search finds one; `draw` gives a number below its argument.
/// `None` for a single node, and where ways are drawn.
#[must_use]
pub fn contention_free(routing: &Routing, mut draw: impl FnMut(u64) -> u64) -> Option<ContentionFree> {
    let nodes = routing.topology().nodes();
    if nodes < 2 || routing.starts_max() > 1 {
        return None;
    }
    let mut map: Vec<u32> = (0..nodes).collect();
    // A single cycle (Sattolo), so that nobody sends to itself.
    for last in (1..map.len()).rev() {
        map.swap(last, draw(last as u64) as usize);
    }
    let mut pairs = Pairs::new(routing, map);
    // Those who may meet somebody, in the order of their turns.
    let mut turns: VecDeque<usize> = (0..nodes as usize).collect();
    let mut tries = TRIES[1].min(TRIES[0] * u64::from(nodes));
    while let Some(source) = turns.pop_front() {
        if !pairs.meets(source) {
            continue;
        }
        if pairs.excess == 0 || tries == 0 {
            break;
        }
        tries -= 1;
        let other = draw(u64::from(nodes)) as usize;
        if pairs.exchange(source, other) {
            turns.push_back(other);
        }
        turns.push_back(source);
    }
    let shared = pairs.taken.iter().filter(|&&taken| taken > 1).count() as u32;
    Some(ContentionFree { map: pairs.map, shared })
}

/// A permutation and who takes which channels.
struct Pairs<'a> {
    routing: &'a Routing,
    map: Vec<u32>,
    /// The first channel of each switch.
    first: Vec<usize>,
    /// By channel between switches: pairs that take it. Channels into nodes are left out, which pairs never share.
    taken: Vec<u32>,
    /// By source: the channels that its pair takes.
    ways: Vec<Way>,
    /// Pairs beyond the first, over all channels.
    excess: u64,
}

type Way = Box<[u32]>;

impl<'a> Pairs<'a> {
    fn new(routing: &'a Routing, map: Vec<u32>) -> Self {
        let topology = routing.topology();
        let mut first = vec![0];
        for switch in (0..topology.switches()).map(SwitchId) {
            first.push(first[switch.index()] + topology.ports(switch) as usize);
        }
        let taken = vec![0; first[first.len() - 1]];
        let mut pairs = Pairs { routing, map, first, taken, ways: Vec::new(), excess: 0 };
        for source in 0..pairs.map.len() {
            let way = pairs.way(source, pairs.map[source]);
            pairs.take(&way);
            pairs.ways.push(way);
        }
        pairs
    }

    /// The channels between switches on the way from `source` to `destination`.
    fn way(&self, source: usize, destination: u32) -> Way {
        let topology = self.routing.topology();
        let path = self.routing.path(NodeId(source as u32), NodeId(destination));
        path.filter(|&(switch, hop)| topology.leads_to_switch(switch, hop.port))
            .map(|(switch, hop)| (self.first[switch.index()] + hop.port.index()) as u32)
            .collect()
    }

    fn take(&mut self, way: &Way) {
        for &channel in way {
            let taken = &mut self.taken[channel as usize];
            self.excess += u64::from(*taken > 0);
            *taken += 1;
        }
    }

    fn leave(&mut self, way: &Way) {
        for &channel in way {
            let taken = &mut self.taken[channel as usize];
            *taken -= 1;
            self.excess -= u64::from(*taken > 0);
        }
    }

    /// Whether another pair takes a channel of that of `source`.
    fn meets(&self, source: usize) -> bool {
        self.ways[source].iter().any(|&channel| self.taken[channel as usize] > 1)
    }

    /// Exchanges the destinations of two sources, unless more pairs meet then, or one sends to itself. Says whether it has.
    fn exchange(&mut self, one: usize, other: usize) -> bool {
        if one == other || self.map[one] as usize == other || self.map[other] as usize == one {
            return false;
        }
        let before = self.excess;
        let new = [(one, other), (other, one)].map(|(source, of)| self.way(source, self.map[of]));
        let old = [one, other].map(|source| std::mem::take(&mut self.ways[source]));
        old.iter().for_each(|way| self.leave(way));
        new.iter().for_each(|way| self.take(way));
        let is_better = self.excess <= before;
        let kept = if is_better {
            self.map.swap(one, other);
            new
        } else {
            new.iter().for_each(|way| self.leave(way));
            old.iter().for_each(|way| self.take(way));
            old
        };
        for (source, way) in [one, other].into_iter().zip(kept) {
            self.ways[source] = way;
        }
        is_better
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routing::RoutingKind;
    use crate::topology::{Topology, TopologySettings};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn found(settings: &TopologySettings, kind: RoutingKind) -> (Routing, ContentionFree) {
        let routing = Routing::new(kind, Arc::new(Topology::build(settings).unwrap())).unwrap();
        let mut state = 1_u64;
        let draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let found = contention_free(&routing, draw).unwrap();
        (routing, found)
    }

    #[test]
    fn pairs_of_trees_do_not_meet() {
        for settings in [
            TopologySettings::FatTree { ports: 16, levels: 3 },
            TopologySettings::KaryNTree { arity: 4, levels: 3 },
        ] {
            let (routing, found) = found(&settings, RoutingKind::DModK);
            assert_eq!(found.shared, 0, "{settings:?}");
            let mut taken = BTreeSet::new();
            let mut heard = BTreeSet::new();
            for (source, &destination) in (0..).zip(&found.map) {
                assert!(source != destination && heard.insert(destination));
                let way = routing.path(NodeId(source), NodeId(destination));
                assert!(way.into_iter().all(|(switch, hop)| taken.insert((switch, hop.port))), "{source}");
            }
            // More than neighbours: it is drawn.
            let away = (0..).zip(&found.map).filter(|(source, other)| source / 8 != *other / 8).count();
            assert!(away * 2 > found.map.len(), "{away} leave their switch");
        }
    }

    #[test]
    fn what_cannot_be_had_is_counted() {
        // Two nodes at each of two switches, and one cable: neighbours do not need it.
        let mesh = TopologySettings::Mesh { dimensions: vec![2], nodes_per_switch: 2 };
        assert_eq!(found(&mesh, RoutingKind::DimensionOrder).1.shared, 0);
        // One node at each of three switches in a row: some pair crosses the middle whichever.
        let row = TopologySettings::Mesh { dimensions: vec![3], nodes_per_switch: 1 };
        let (_, found) = found(&row, RoutingKind::DimensionOrder);
        assert_eq!(found.shared, 0, "a cycle of three takes each channel once: {:?}", found.map);
        let star = TopologySettings::Single { nodes: 1 };
        let routing = Routing::new(RoutingKind::UpDown, Arc::new(Topology::build(&star).unwrap())).unwrap();
        assert_eq!(contention_free(&routing, |_| 0), None);
    }
}
