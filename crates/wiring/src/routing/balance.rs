//! Shortest paths of a graph of states, balanced: for each destination node one way from everywhere, and of equally short
//! ways the one whose channels the destinations before have left the least to carry.
//!
//! Source: Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale InfiniBand Networks", Hot Interconnects
//! 2009: destinations one after the other, and after each the channels that it uses cost as much more as ways go over them.
//! Here no cost makes a way longer, and every destination takes its ways off and chooses again when all have chosen. A
//! state is a switch and what a packet may still do there; up*/down* has two for each switch, and shortest paths without a
//! constraint have one.
//!
//! Within one destination all ways of a state go on alike, so that a table tells them. Channels count every way: what all
//! sources send to the destination, each as much as the caller says. Parallel cables are channels of their own.

use crate::PortId;
use crate::topology::{End, Topology};
use crate::{NodeId, SwitchId};

/// A hop from a state.
#[derive(Clone, Copy, Debug)]
struct Edge {
    port: u16,
    /// The state that it leads to.
    next: u32,
    /// The number of its channel among all.
    channel: u32,
}

/// A link of a switch to another one, for whoever says which states it joins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// The port.
    pub(super) port: PortId,
    /// The switch behind it.
    pub(super) next: usize,
}

/// The links of every switch to others.
pub(super) fn links(topology: &Topology) -> Vec<Vec<Link>> {
    let of = |switch: u32| {
        let ports = (0..topology.ports(SwitchId(switch))).map(PortId);
        let link = |port| match topology.wire(SwitchId(switch), port) {
            Some((_, End::Switch(next, _))) => Some(Link { port, next: next.index() }),
            _ => None,
        };
        ports.filter_map(link).collect()
    };
    (0..topology.switches()).map(of).collect()
}

/// Rows of a table that are of different length.
#[derive(Debug)]
struct Rows<T> {
    first: Vec<u32>,
    all: Vec<T>,
}

impl<T> Rows<T> {
    fn new(rows: impl IntoIterator<Item = Vec<T>>) -> Self {
        let (mut first, mut all) = (vec![0], Vec::new());
        for row in rows {
            all.extend(row);
            first.push(all.len() as u32);
        }
        Rows { first, all }
    }

    fn row(&self, at: usize) -> &[T] {
        &self.all[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

/// A state on the shortest ways to a switch, and its equally short hops among those of all.
#[derive(Clone, Copy, Debug)]
struct Stop {
    state: u32,
    first: u32,
    end: u32,
}

/// The graph, what its channels carry so far, and what is known of the ways to one destination.
#[derive(Debug)]
pub(super) struct Balance {
    switches: usize,
    edges: Rows<Edge>,
    /// Per state: those from which a hop leads to it.
    before: Rows<u32>,
    /// Per channel: what it carries.
    carried: Vec<u64>,
    distance: Vec<u32>,
    /// The states at the target.
    targets: Vec<u32>,
    /// The states by distance from the target, the nearest first; those of the target are left out.
    stops: Vec<Stop>,
    ties: Vec<Edge>,
    cost: Vec<u64>,
    flow: Vec<u64>,
    chosen: Vec<Edge>,
}

impl Balance {
    /// Of `per_switch` states for each of the switches that `links` join; state `k` of switch `s` has number
    /// `k * switches + s`. `follow` gives the `k` after a hop, given the one before, from one switch to another, and `None`
    /// where there is no such hop.
    pub(super) fn new(
        links: &[Vec<Link>],
        per_switch: usize,
        follow: impl Fn(usize, usize, usize) -> Option<usize>,
    ) -> Self {
        let switches = links.len();
        let states = switches * per_switch;
        let mut first_channel = vec![0_u32];
        first_channel.extend(links.iter().scan(0, |sum, links| {
            *sum += links.len() as u32;
            Some(*sum)
        }));
        let mut before = vec![Vec::new(); states];
        let mut edges = Vec::with_capacity(states);
        for state in 0..states {
            let (kind, here) = (state / switches, state % switches);
            let edge = |(link, channel): (&Link, u32)| {
                let next = follow(kind, here, link.next)? * switches + link.next;
                Some(Edge { port: link.port.0 as u16, next: next as u32, channel })
            };
            let row: Vec<Edge> = links[here].iter().zip(first_channel[here]..).filter_map(edge).collect();
            row.iter().for_each(|edge| before[edge.next as usize].push(state as u32));
            edges.push(row);
        }
        Balance {
            switches,
            edges: Rows::new(edges),
            before: Rows::new(before),
            carried: vec![0; first_channel[switches] as usize],
            distance: vec![u32::MAX; states],
            targets: Vec::new(),
            stops: Vec::with_capacity(states),
            ties: Vec::new(),
            cost: vec![0; states],
            flow: vec![0; states],
            chosen: vec![Edge { port: 0, next: 0, channel: 0 }; states],
        }
    }

    /// Turns to the ways to the switch `target`, from any state there.
    pub(super) fn aim(&mut self, target: usize) {
        let Balance { switches, edges, before, distance, targets, stops, ties, cost, .. } = self;
        distance.fill(u32::MAX);
        let mut queue: Vec<u32> =
            (target..distance.len()).step_by(*switches).map(|state| state as u32).collect();
        targets.clone_from(&queue);
        targets.iter().for_each(|&state| (distance[state as usize], cost[state as usize]) = (0, 0));
        let mut done = 0;
        while let Some(&state) = queue.get(done) {
            done += 1;
            for &from in before.row(state as usize) {
                if distance[from as usize] == u32::MAX {
                    distance[from as usize] = distance[state as usize] + 1;
                    queue.push(from);
                }
            }
        }
        stops.clear();
        ties.clear();
        for &state in &queue[targets.len()..] {
            let first = ties.len() as u32;
            let is_shortest =
                |edge: &&Edge| distance[edge.next as usize].checked_add(1) == Some(distance[state as usize]);
            ties.extend(edges.row(state as usize).iter().filter(is_shortest));
            stops.push(Stop { state, first, end: ties.len() as u32 });
        }
    }

    /// Chooses the ways for one destination at the target, to which every switch sends what `weights` say from its first
    /// state. After that [`ports`](Balance::ports) gives them.
    pub(super) fn choose(&mut self, weights: &[u64]) {
        let Balance { carried, stops, ties, cost, chosen, .. } = self;
        for stop in stops.iter() {
            let ties = &ties[stop.first as usize..stop.end as usize];
            let cost_of = |edge: &Edge| carried[edge.channel as usize] + cost[edge.next as usize];
            let mut best = ties[0];
            let mut least = cost_of(&best);
            for &edge in &ties[1..] {
                let cost = cost_of(&edge);
                if cost < least {
                    (best, least) = (edge, cost);
                }
            }
            cost[stop.state as usize] = least;
            chosen[stop.state as usize] = best;
        }
        self.carry(weights, |carried, amount| carried + amount);
    }

    /// Takes off what [`choose`](Balance::choose) has once put on the channels with these ports and the same weights.
    pub(super) fn lift(&mut self, weights: &[u64], ports: &[u16]) {
        for stop in &self.stops {
            let ties = &self.ties[stop.first as usize..stop.end as usize];
            let port = ports[stop.state as usize];
            let former = ties.iter().find(|edge| edge.port == port);
            self.chosen[stop.state as usize] = *former.expect("a way was chosen among these");
        }
        self.carry(weights, |carried, amount| carried - amount);
    }

    /// Changes what the chosen channels carry.
    fn carry(&mut self, weights: &[u64], change: impl Fn(u64, u64) -> u64) {
        let Balance { carried, targets, stops, flow, chosen, .. } = self;
        for stop in stops.iter().rev() {
            let state = stop.state as usize;
            let own = weights.get(state).copied().unwrap_or(0);
            let amount = std::mem::take(&mut flow[state]) + own;
            let edge = chosen[state];
            carried[edge.channel as usize] = change(carried[edge.channel as usize], amount);
            flow[edge.next as usize] += amount;
        }
        targets.iter().for_each(|&state| flow[state as usize] = 0);
    }

    /// Every state on ways to the target, and the port by which ways go on from there.
    pub(super) fn ports(&self) -> impl Iterator<Item = (usize, u16)> {
        self.stops.iter().map(|stop| (stop.state as usize, self.chosen[stop.state as usize].port))
    }

    /// Links to the target from the farthest of those that send there.
    fn farthest(&self, weights: &[u64]) -> u32 {
        let senders = self.distance.iter().zip(weights);
        let senders = senders.filter(|&(&distance, &weight)| weight > 0 && distance < u32::MAX);
        senders.map(|(&distance, _)| distance).max().unwrap_or(0)
    }

    /// What the busiest channel carries.
    fn busiest(&self) -> u64 {
        self.carried.iter().copied().max().unwrap_or(0)
    }
}

/// Balanced ways to every node of a topology, as a table of ports: `row(node)[state]`. A state without a way has a port that
/// no switch has.
#[derive(Debug)]
pub(super) struct Table {
    states: usize,
    ports: Vec<u8>,
    /// What is above their eight bits; empty if nothing is.
    upper: Vec<u8>,
    /// The longest way of those that send, in switches.
    longest: u32,
}

/// How often each destination chooses, in a table that is not large and in one that is: the first ones know nothing of those
/// after them, and choose again.
const PASSES: [u32; 2] = [4, 2];

/// A port that no switch has of which the numbers take a byte.
const NO_PORT: u32 = u8::MAX as u32;

/// Entries of a large table.
const LARGE: usize = 1 << 26;

impl Table {
    /// The ways that `balance` finds when every switch sends to each node what `weight(node, switch)` says.
    pub(super) fn new(
        topology: &Topology,
        balance: &mut Balance,
        mut weight: impl FnMut(NodeId, &mut [u64]),
    ) -> Self {
        let (switches, states) = (balance.switches, balance.distance.len());
        let mut nodes: Vec<NodeId> = (0..topology.nodes()).map(NodeId).collect();
        nodes.sort_by_key(|&node| topology.exit(node).0);
        let entries = states * nodes.len();
        let upper = if topology.ports_max() > NO_PORT { vec![u8::MAX; entries] } else { Vec::new() };
        let mut table = Table { states, ports: vec![u8::MAX; entries], upper, longest: 1 };
        let mut row = vec![0; states];
        let mut weights = vec![0; switches];
        for pass in 0..PASSES[usize::from(table.ports.len() >= LARGE)] {
            for group in nodes.chunk_by(|&one, &other| topology.exit(one).0 == topology.exit(other).0) {
                balance.aim(topology.exit(group[0]).0.index());
                for &node in group {
                    weight(node, &mut weights);
                    table.longest = table.longest.max(1 + balance.farthest(&weights));
                    if pass > 0 {
                        table.read_row(node, &mut row);
                        balance.lift(&weights, &row);
                    }
                    balance.choose(&weights);
                    balance.ports().for_each(|(state, port)| table.set(node, state, port));
                }
            }
        }
        table
    }

    /// Switches on the longest way.
    pub(super) fn longest(&self) -> u32 {
        self.longest
    }

    fn read_row(&self, node: NodeId, row: &mut [u16]) {
        row.iter_mut().enumerate().for_each(|(state, port)| *port = self.port(node, state).0 as u16);
    }

    fn set(&mut self, node: NodeId, state: usize, port: u16) {
        let [lower, upper] = port.to_le_bytes();
        let at = self.states * node.index() + state;
        self.ports[at] = lower;
        if let Some(place) = self.upper.get_mut(at) {
            *place = upper;
        }
    }

    /// The port by which packets for `node` leave `state`.
    #[inline]
    pub(super) fn port(&self, node: NodeId, state: usize) -> PortId {
        let at = self.states * node.index() + state;
        let upper = self.upper.get(at).copied().unwrap_or(0);
        PortId(u16::from_le_bytes([self.ports[at], upper]).into())
    }
}

/// The load of the busiest channel between switches if all ways were shortest ones, balanced, whether or not packets could then
/// wait for each other for ever: of every node `weight` says what part of what it sends goes to another.
#[must_use]
pub fn load_of_shortest(topology: &Topology, weight: impl Fn(NodeId, NodeId) -> f64) -> f64 {
    /// What stands for 1.
    const SCALE: f64 = (1_u64 << 32) as f64;
    let mut balance = Balance::new(&links(topology), 1, |_, _, _| Some(0));
    let _ = Table::new(topology, &mut balance, |destination, weights| {
        weights.fill(0);
        for source in (0..topology.nodes()).map(NodeId).filter(|&source| source != destination) {
            let part = (weight(source, destination) * SCALE).round() as u64;
            weights[topology.home(source).0.index()] += part;
        }
    });
    balance.busiest() as f64 / SCALE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologySettings;

    fn load(settings: &TopologySettings) -> f64 {
        let topology = Topology::build(settings).unwrap();
        load_of_shortest(&topology, |_, _| 1.0 / f64::from(topology.nodes() - 1))
    }

    #[test]
    fn shortest_ways_are_balanced_where_a_structured_routing_is() {
        // Of a leaf's four nodes each of the four channels up carries one: 124 of 127 packets leave it.
        let tree = load(&TopologySettings::FatTree { ports: 8, levels: 3 });
        assert!((tree - 124.0 / 127.0).abs() < 1e-6, "{tree}");
        // A ring of five: 1 + 2 links each way, to four others.
        let ring = load(&TopologySettings::Torus { dimensions: vec![5], nodes_per_switch: 1 });
        assert!((ring - 0.75).abs() < 1e-6, "{ring}");
        assert_eq!(load(&TopologySettings::Single { nodes: 4 }), 0.0);
    }

    #[test]
    fn what_is_lifted_was_put_there() {
        let topology =
            Topology::build(&TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 })
                .unwrap();
        let mut balance = Balance::new(&links(&topology), 1, |_, _, _| Some(0));
        balance.aim(5);
        let weights = [3; 16];
        balance.choose(&weights);
        let mut row = vec![0; 16];
        balance.ports().for_each(|(state, port)| row[state] = port);
        assert_eq!(balance.carried.iter().sum::<u64>(), 3 * (4 + 6 * 2 + 4 * 3 + 4));
        balance.lift(&weights, &row);
        assert_eq!(balance.carried.iter().sum::<u64>(), 0);
    }
}
