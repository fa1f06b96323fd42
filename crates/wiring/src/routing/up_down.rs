//! Up*/down* routing on any topology: every link has an up end, a legal path takes links upwards first and then only
//! downwards, and so no ring of dependencies closes. Of the legal paths a shortest one is taken.
//!
//! *Up* is towards the root in breadth-first order: the end with the smaller (distance from the root, number). The root
//! is the switch with the smallest greatest distance to any other (the lowest number among equals). Where several next
//! hops are equally short, destinations are dealt out among them.

use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::NodeId;
use crate::topology::{End, Topology};
use crate::{PortId, SwitchId};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct UpDown {
    switches: usize,
    homes: Vec<(SwitchId, PortId)>,
    /// Per switch and port: whether what arrives there has come down.
    arrives_down: Vec<Vec<bool>>,
    /// `next[(target * 2 + has come down) * switches + here]`: the port to take.
    next: Vec<u8>,
}

/// A link end as seen from a switch: its port and the switch behind it.
type Neighbour = (PortId, usize);

impl UpDown {
    pub(super) fn new(topology: &Topology) -> Self {
        let switches = topology.switches() as usize;
        let neighbours = neighbours(topology);
        let rank = ranks(&neighbours);
        let arrives_down = (0..switches)
            .map(|switch| {
                let mut down = vec![false; topology.ports(SwitchId::new(switch)) as usize];
                for &(port, other) in &neighbours[switch] {
                    down[port.index()] = rank[other] < rank[switch];
                }
                down
            })
            .collect();
        let homes = (0..topology.nodes()).map(|node| topology.home(NodeId(node))).collect();
        let mut next = vec![0; 2 * switches * switches];
        for (target, table) in next.chunks_exact_mut(2 * switches).enumerate() {
            fill(target, &neighbours, &rank, table);
        }
        UpDown { switches, homes, arrives_down, next }
    }
}

impl Relation for UpDown {
    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let destination = header.destination();
        let (target, port) = self.homes[destination.index()];
        if target == here {
            return Candidate { hop: Hop { port, class: 0 }, header };
        }
        let down = usize::from(self.arrives_down[here.index()][arrival.port.index()]);
        let port = self.next[(target.index() * 2 + down) * self.switches + here.index()];
        Candidate { hop: Hop { port: PortId(u32::from(port)), class: 0 }, header }
    }
}

/// The links of every switch to others.
fn neighbours(topology: &Topology) -> Vec<Vec<Neighbour>> {
    let of = |switch: u32| {
        let ports = (0..topology.ports(SwitchId(switch))).map(PortId);
        let neighbour = |port| match topology.wire(SwitchId(switch), port) {
            Some((_, End::Switch(next, _))) => Some((port, next.index())),
            _ => None,
        };
        ports.filter_map(neighbour).collect()
    };
    (0..topology.switches()).map(of).collect()
}

/// A tree of up links that reaches every switch: for each but the root its port up, the switch there, and the port it
/// arrives at.
pub(crate) fn spanning_tree(topology: &Topology) -> Vec<Option<(PortId, SwitchId, PortId)>> {
    let neighbours = neighbours(topology);
    let rank = ranks(&neighbours);
    let parent = |(switch, links): (usize, &Vec<Neighbour>)| {
        let &(port, next) = links.iter().min_by_key(|&&(port, next)| (rank[next], port))?;
        if rank[next] > rank[switch] {
            return None;
        }
        match topology.wire(SwitchId::new(switch), port) {
            Some((_, End::Switch(parent, down))) => Some((port, parent, down)),
            _ => None,
        }
    };
    neighbours.iter().enumerate().map(parent).collect()
}

/// (distance from the root, number) of every switch, as one number to compare: its place in that order.
fn ranks(neighbours: &[Vec<Neighbour>]) -> Vec<usize> {
    let eccentricity = |root| distances(root, neighbours).into_iter().max().unwrap_or(0);
    // The exact centre of a large graph takes as long as its routing tables; that is what we compute anyway.
    let root = (0..neighbours.len()).min_by_key(|&root| eccentricity(root)).unwrap_or(0);
    let distance = distances(root, neighbours);
    let mut order: Vec<usize> = (0..neighbours.len()).collect();
    order.sort_by_key(|&switch| (distance[switch], switch));
    let mut rank = vec![0; order.len()];
    for (place, switch) in order.into_iter().enumerate() {
        rank[switch] = place;
    }
    rank
}

fn distances(root: usize, neighbours: &[Vec<Neighbour>]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; neighbours.len()];
    let mut queue = VecDeque::from([root]);
    distance[root] = 0;
    while let Some(switch) = queue.pop_front() {
        for &(_, next) in &neighbours[switch] {
            if distance[next] == u32::MAX {
                distance[next] = distance[switch] + 1;
                queue.push_back(next);
            }
        }
    }
    distance
}

/// Fills the ports towards `target` for packets that may still go up (first half) and that may not (second half).
fn fill(target: usize, neighbours: &[Vec<Neighbour>], rank: &[usize], table: &mut [u8]) {
    let switches = neighbours.len();
    // Breadth-first, backwards from the target, over the states (switch, has come down).
    let mut distance = vec![u32::MAX; 2 * switches];
    let mut queue = VecDeque::from([target, switches + target]);
    distance[target] = 0;
    distance[switches + target] = 0;
    while let Some(state) = queue.pop_front() {
        let (here, down) = (state % switches, state >= switches);
        for &(_, before) in &neighbours[here] {
            // The hop before -> here goes up if `here` ranks lower; after it the packet is in state (here, down).
            let goes_up = rank[here] < rank[before];
            let from: &[usize] = match (goes_up, down) {
                (true, false) => &[before],
                (false, true) => &[before, switches + before],
                _ => &[],
            };
            for &from in from {
                if distance[from] == u32::MAX {
                    distance[from] = distance[state] + 1;
                    queue.push_back(from);
                }
            }
        }
    }
    for state in 0..2 * switches {
        let (here, down) = (state % switches, state >= switches);
        if here == target || distance[state] == u32::MAX {
            continue;
        }
        let shortest: Vec<PortId> = neighbours[here]
            .iter()
            .filter(|&&(_, next)| {
                let goes_up = rank[next] < rank[here];
                let after = if goes_up { next } else { switches + next };
                !(goes_up && down) && distance[after] == distance[state] - 1
            })
            .map(|&(port, _)| port)
            .collect();
        table[state] = shortest[target % shortest.len()].0 as u8;
    }
}
