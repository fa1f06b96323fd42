//! Up*/down* routing on any topology: every link has an up end, a legal path takes links upwards first and then only
//! downwards, and so no ring of dependencies closes. Of the legal paths a shortest one is taken.
//!
//! *Up* is towards the root in breadth-first order: the end with the smaller (distance from the root, number). The root
//! is the switch with the smallest greatest distance to any other (the lowest number among equals). Where several next
//! hops are equally short, each destination node takes what those before it have left free: see [`balance`](super::balance).

mod around;

pub(crate) use around::tree_around;

use super::balance::{Balance, Link, Table, links};
use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::NodeId;
use crate::topology::{End, Topology};
use crate::{PortId, SwitchId};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct UpDown {
    switches: usize,
    /// Per node: the switch and port that send to it.
    exits: Vec<(SwitchId, PortId)>,
    /// Per switch and port: whether what arrives there has come down.
    arrives_down: Vec<Vec<bool>>,
    /// By node, and by whether packets have come down, the port to take.
    next: Table,
}

/// What a packet may still do at a switch: go up and down, or only down.
const UP: usize = 0;
const DOWN: usize = 1;

impl UpDown {
    pub(super) fn new(topology: &Topology) -> Self {
        let links = links(topology);
        let rank = ranks(&links);
        Self::over(topology, &links, &rank)
    }

    /// Ways over `links`, some of those of `topology`, of which each leads up to the switch of the lower rank.
    fn over(topology: &Topology, links: &[Vec<Link>], rank: &[usize]) -> Self {
        let switches = topology.switches() as usize;
        let whole = super::balance::links(topology);
        let arrives_down = (0..switches)
            .map(|switch| {
                let mut down = vec![false; topology.ports(SwitchId::new(switch)) as usize];
                for link in &whole[switch] {
                    down[link.port.index()] = rank[link.next] < rank[switch];
                }
                down
            })
            .collect();
        let exits = (0..topology.nodes()).map(|node| topology.exit(NodeId(node))).collect();
        let next = table(topology, links, rank);
        UpDown { switches, exits, arrives_down, next }
    }

    /// The first port from `here`, which is not where the packet is for, of one that may still go up.
    pub(super) fn first_port(&self, here: SwitchId, destination: NodeId) -> PortId {
        self.next.port(destination, UP * self.switches + here.index())
    }
}

/// The ports towards each node, for packets that may still go up and for those that may not.
fn table(topology: &Topology, links: &[Vec<Link>], rank: &[usize]) -> Table {
    let mut balance = Balance::new(links, 2, |before, here, next| match (before, rank[next] < rank[here]) {
        (UP, true) => Some(UP),
        (_, false) => Some(DOWN),
        (_, true) => None,
    });
    let mut nodes = vec![0; links.len()];
    (0..topology.nodes()).for_each(|node| nodes[topology.home(NodeId(node)).0.index()] += 1);
    Table::new(topology, &mut balance, |_, weights| weights.copy_from_slice(&nodes))
}

impl Relation for UpDown {
    fn hops_max(&self) -> Option<u32> {
        Some(self.next.longest())
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let destination = header.destination();
        let (target, port) = self.exits[destination.index()];
        if target == here {
            return Candidate { hop: Hop { port, class: 0 }, header };
        }
        let down = usize::from(self.arrives_down[here.index()][arrival.port.index()]);
        let port = self.next.port(destination, down * self.switches + here.index());
        Candidate { hop: Hop { port, class: 0 }, header }
    }
}

/// A tree of up links that reaches every switch: for each but the root its port up, the switch there, and the port it
/// arrives at.
pub(crate) fn spanning_tree(topology: &Topology) -> Vec<Parent> {
    let links = links(topology);
    tree_over(topology, &links, &ranks(&links))
}

/// Where a tree leads up from a switch: the port, the switch there, and the port that it arrives at; from a root nowhere.
pub(crate) type Parent = Option<(PortId, SwitchId, PortId)>;

/// The tree of the links to the neighbours of the lowest rank: one for each part that `links` join.
fn tree_over(topology: &Topology, links: &[Vec<Link>], rank: &[usize]) -> Vec<Parent> {
    let parent = |(switch, links): (usize, &Vec<Link>)| {
        let &Link { port, next } = links.iter().min_by_key(|link| (rank[link.next], link.port))?;
        if rank[next] > rank[switch] {
            return None;
        }
        match topology.wire(SwitchId::new(switch), port) {
            Some((_, End::Switch(parent, down))) => Some((port, parent, down)),
            _ => None,
        }
    };
    links.iter().enumerate().map(parent).collect()
}

/// (distance from the root, number) of every switch, as one number to compare: its place in that order.
fn ranks(links: &[Vec<Link>]) -> Vec<usize> {
    let distance = distances(centre(links), links);
    places(links.len(), |&switch| (distance[switch], switch))
}

/// The place of each of so many switches in the order of `key`.
fn places<K: Ord>(switches: usize, key: impl FnMut(&usize) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..switches).collect();
    order.sort_by_key(key);
    let mut rank = vec![0; order.len()];
    for (place, switch) in order.into_iter().enumerate() {
        rank[switch] = place;
    }
    rank
}

/// The switch with the smallest greatest distance to any other; of several, that with the lowest number.
fn centre(links: &[Vec<Link>]) -> usize {
    // By switch: no more than its greatest distance. Whoever is next to a known one has nearly the same.
    let mut least = vec![0; links.len()];
    let mut is_open = vec![true; links.len()];
    let mut best: Option<(u32, usize)> = None;
    while let Some(switch) = (0..links.len()).filter(|&it| is_open[it]).min_by_key(|&it| (least[it], it)) {
        if best.is_some_and(|best| best < (least[switch], switch)) {
            break;
        }
        let distance = distances(switch, links);
        let greatest = distance.iter().copied().max().unwrap_or(0);
        best = Some(best.map_or((greatest, switch), |best| best.min((greatest, switch))));
        is_open[switch] = false;
        for (least, distance) in least.iter_mut().zip(distance) {
            *least = (*least).max(distance).max(greatest - distance);
        }
    }
    best.map_or(0, |(_, switch)| switch)
}

fn distances(root: usize, links: &[Vec<Link>]) -> Vec<u32> {
    let mut distance = vec![u32::MAX; links.len()];
    let mut queue = VecDeque::from([root]);
    distance[root] = 0;
    while let Some(switch) = queue.pop_front() {
        for link in &links[switch] {
            if distance[link.next] == u32::MAX {
                distance[link.next] = distance[switch] + 1;
                queue.push_back(link.next);
            }
        }
    }
    distance
}
