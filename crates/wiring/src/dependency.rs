//! Which channels wait for which: the channel-dependency graph of a routing, and whether it has a cycle.
//!
//! Source: Dally and Seitz, *IEEE Trans. Computers* C-36(5), 1987. A packet holds room behind the channel by which it has
//! come and waits for room behind the channel by which it goes on: the first *depends* on the second. If the graph of all
//! dependencies has no cycle no deadlock is possible: whatever waits for a channel of the highest place in an order waits for
//! nothing that waits itself. If it has one, packets can wait for each other for ever: under virtual cut-through that
//! takes a packet (and no room for another) behind each channel of the cycle.
//!
//! * A [`Channel`] is one direction of a link and one class of virtual channels; a packet keeps its lane, and so what is
//!   true of one lane is true of all. Channels out of nodes (injection) and into nodes (ejection) count: a node takes what
//!   arrives, so that nothing follows the latter.
//! * Dependencies come from walking the routing relation for every pair of different nodes; a turn that no pair takes
//!   makes none. The walk goes destination by destination through the states (switch, arrival) and sees each once.
//! * Where switches select among candidates, a packet waits for all of them. Only those that are *escapes* need be free of
//!   cycles, if every packet has one wherever it is (Duato, *IEEE Trans. Parallel and Distributed Systems* 4(12), 1993): an
//!   escape depends on those that its packets may take next, or may take after channels that are none.
//! * Where packets are answered, and a node that has no room for a reply takes no request, what comes into a node waits for
//!   what goes out of it ([`Dependencies::with_replies`]). In virtual channels of their own replies wait for no request, and
//!   so nothing has to be added.
//! * A packet for a group waits for all of its outputs: its arrival channel depends on each. Where it gathers them
//!   [one by one](Copies::OneByOne) it holds some while it waits for others, and so they depend on each other too.
//!
//! ```
//! use flitway_wiring::dependency::{Dependencies, Verdict};
//! use flitway_wiring::routing::{Routing, RoutingKind};
//! use flitway_wiring::topology::{Topology, TopologySettings};
//! let ring = TopologySettings::Torus { dimensions: vec![5], nodes_per_switch: 1 };
//! let topology = Topology::build(&ring)?;
//! let routing = Routing::new(RoutingKind::DimensionOrderWithoutDateline, topology.into())?;
//! let Verdict::Cyclic(cycle) = Dependencies::of(&routing).verdict() else { panic!("five switches close a ring") };
//! assert_eq!(cycle.dependencies.len(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod copies;
mod loads;
mod walk;

use crate::Destination;
use crate::digraph::{self, Digraph};
use crate::multicast::Groups;
use crate::routing::{Routing, Selection};
use crate::topology::End;
use crate::{NodeId, PortId, SwitchId};
use copies::OtherDependency;
use walk::{Along, Map, Walker};

/// One direction of a link and one class of its virtual channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The end of the link that sends.
    pub sender: End,
    /// The class.
    pub class: u8,
}

/// A packet that takes one channel after another: why one depends on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Who sends it.
    pub source: NodeId,
    /// To whom.
    pub destination: Destination,
}

/// A channel whose packets wait for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Behind which the packet is.
    pub from: Channel,
    /// For which it waits.
    pub to: Channel,
    /// Such a packet; of pairs of nodes one of those with the fewest hops.
    pub witness: Witness,
}

/// Channels that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Each ends where the next begins, and the last where the first begins.
    pub dependencies: Vec<Dependency>,
    /// Whether no other cycle is smaller; otherwise the search for one was cut short.
    pub is_smallest: bool,
}

/// Whether channels can wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Free of cyclic dependence: no deadlock is possible. The certificate is an order in which each channel comes before
    /// those that it depends on.
    Free(Vec<Channel>),
    /// Cyclic dependence: packets can wait for each other for ever.
    Cyclic(Cycle),
}

/// A packet that does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Who sends it.
    pub source: NodeId,
    /// To whom.
    pub destination: NodeId,
    /// What becomes of it.
    pub how: Loss,
}

/// What becomes of a packet that does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It is sent to a port that nothing is wired to.
    Unwired(SwitchId, PortId),
    /// It comes to another node.
    WrongNode(NodeId),
    /// It takes this channel again and again.
    Circles(Channel),
    /// It has no escape in this switch, of all the channels that it may take.
    NoEscape(SwitchId),
}

/// How the outputs of a packet for a group are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// All at once or none.
    Together,
    /// Each as it comes free, and kept until the last one has.
    OneByOne,
}

/// The channel-dependency graph of a routing.
#[derive(Clone, Debug)]
pub struct Dependencies {
    routing: Routing,
    map: Map,
    graph: Digraph,
    /// Dependencies of packets for groups, and those over channels that are no escapes, in order, each once.
    others: Vec<OtherDependency>,
    lost: Option<Lost>,
}

/// What flows through the channels: see [`Dependencies::loads`].
#[derive(Clone, Debug, PartialEq)]
pub struct Loads {
    /// The load of each channel.
    pub of: Vec<(Channel, f64)>,
    /// Whether switches select among outputs somewhere, each of which was given an equal part: what they will make of it is
    /// up to them.
    pub are_shared: bool,
}

impl Dependencies {
    /// The dependencies of packets between nodes.
    #[must_use]
    pub fn of(routing: &Routing) -> Self {
        Dependencies::with(routing, Vec::new(), false)
    }

    /// The dependencies of packets that are answered on the same virtual channels: a request stays in the channel into a node
    /// until there is room for its reply, and that waits for the channel out of it.
    #[must_use]
    pub fn with_replies(routing: &Routing) -> Self {
        Dependencies::with(routing, Vec::new(), true)
    }

    /// The dependencies of packets between nodes and of those for `groups`, on a virtual channel that both use.
    ///
    /// With [`Copies::OneByOne`] outputs depend on each other in every switch where packets for two outputs or more come
    /// in by two ports or more. That is free only if no deadlock is possible; it may be cyclic where one is not.
    #[must_use]
    pub fn with_groups(routing: &Routing, groups: &Groups, copies: Copies) -> Self {
        Dependencies::with(routing, copies::dependencies(routing, groups, copies), false)
    }

    fn with(routing: &Routing, mut others: Vec<OtherDependency>, are_answered: bool) -> Self {
        let map = Map::new(routing);
        let mut turns = map.turns();
        let mut walker = Walker::new(&map, routing);
        let mut lost = None;
        for destination in (0..map.nodes()).map(NodeId) {
            let strayed = walker.walk(destination, Along::Candidates, |step| {
                if let Some(node) = map.node_after(step.hop).filter(|_| are_answered) {
                    let witness = Witness { source: step.source, destination: Destination::Node(node) };
                    others.push(OtherDependency { from: step.hop, to: map.injection(node), witness });
                }
                if !step.is_escape {
                    return;
                }
                if step.held == step.state {
                    turns.add(step.state, step.hop);
                } else {
                    let witness =
                        Witness { source: step.source, destination: Destination::Node(destination) };
                    others.push(OtherDependency { from: step.held, to: step.hop, witness });
                }
            });
            lost = lost.or(strayed);
        }
        copies::in_order(&mut others);
        let graph = Digraph::new((0..map.vertices()).map(|vertex| {
            let copied = others.partition_point(|other| other.from < vertex);
            let copied =
                others[copied..].iter().take_while(move |other| other.from == vertex).map(|other| other.to);
            let mut row: Vec<u32> = turns.of(&map, vertex).chain(copied).collect();
            row.sort_unstable();
            row.dedup();
            row
        }));
        // Whoever goes in circles depends on itself in the end.
        if lost.is_none() && routing.is_plain() && graph.order().is_none() {
            lost = (0..map.nodes()).find_map(|node| walker.circling(NodeId(node)));
        }
        Dependencies { routing: routing.clone(), map, graph, others, lost }
    }

    /// The channels that some packet takes.
    pub fn channels(&self) -> impl Iterator<Item = Channel> {
        self.taken(0..self.graph.vertices())
    }

    /// Those of `vertices` that some packet takes.
    fn taken(&self, vertices: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Channel> {
        let mut is_taken = vec![false; self.graph.vertices() as usize];
        for vertex in 0..self.graph.vertices() {
            for &next in self.graph.successors(vertex) {
                is_taken[vertex as usize] = true;
                is_taken[next as usize] = true;
            }
        }
        let taken = vertices.into_iter().filter(move |&vertex| is_taken[vertex as usize]);
        taken.map(|vertex| self.map.channel(vertex))
    }

    /// Number of dependencies.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.graph.edges()
    }

    /// Whether there are none: a machine of one node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The load of every channel, taken or not, where `weight` says what part of what a source sends goes to a
    /// destination, and every node sends as much as its channel carries: the fraction of its cycles that a channel is taken
    /// for, if there were room for all of it. Where a switch selects among several outputs, each gets an equal part;
    /// where it hashes, the one that it takes gets all.
    ///
    /// # Panics
    /// If packets are [lost](Dependencies::lost).
    pub fn loads(&self, weight: impl Fn(NodeId, NodeId) -> f64) -> Loads {
        assert!(self.lost.is_none(), "what circles has no load: {:?}", self.lost);
        let goes_by_pair = self.routing.selection() == Selection::Hashed;
        let (loads, are_shared) = if self.routing.is_plain() && !goes_by_pair {
            loads::loads(&self.map, &self.routing, weight)
        } else {
            (loads::loads_of_ways(&self.map, &self.routing, weight), false)
        };
        let wired = (0..).zip(loads).filter(|&(vertex, _)| self.map.is_wired(vertex));
        Loads { of: wired.map(|(vertex, load)| (self.map.channel(vertex), load)).collect(), are_shared }
    }

    /// Every dependency: a channel and one that it depends on.
    pub fn iter(&self) -> impl Iterator<Item = (Channel, Channel)> {
        (0..self.graph.vertices()).flat_map(move |vertex| {
            let row = self.graph.successors(vertex).iter();
            row.map(move |&next| (self.map.channel(vertex), self.map.channel(next)))
        })
    }

    /// A packet that does not arrive; `None` if every node reaches every other.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        self.lost
    }

    /// Whether channels can wait for each other, with the proof: an order, or a smallest cycle.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if let Some(order) = self.graph.order() {
            return Verdict::Free(self.taken(order).collect());
        }
        let ring = self.graph.smallest_cycle(digraph::BUDGET);
        let ring = ring.expect("a graph without an order has a cycle");
        Verdict::Cyclic(Cycle { dependencies: self.witnessed(&ring.vertices), is_smallest: ring.is_smallest })
    }

    /// The dependencies of a cycle, each with the packet that makes it.
    fn witnessed(&self, ring: &[u32]) -> Vec<Dependency> {
        let mut place: Vec<Option<u32>> = vec![None; self.graph.vertices() as usize];
        (0..).zip(ring).for_each(|(at, &vertex)| place[vertex as usize] = Some(at));
        let next = |at: usize| ring[(at + 1) % ring.len()];
        let injections: Vec<(usize, NodeId)> = ring
            .iter()
            .enumerate()
            .filter_map(|(at, &vertex)| match self.map.channel(vertex).sender {
                End::Node(node) => Some((at, node)),
                End::Switch(..) => None,
            })
            .collect();
        // By dependency: hops of the way, and the pair of nodes; no way over both channels is shorter than three hops.
        let mut found: Vec<Option<(usize, NodeId, NodeId)>> = vec![None; ring.len()];
        let is_best = |found: &Option<(usize, NodeId, NodeId)>| found.is_some_and(|(hops, ..)| hops <= 3);
        let mut walker = Walker::new(&self.map, &self.routing);
        for destination in (0..self.map.nodes()).map(NodeId) {
            if found.iter().all(is_best) {
                break;
            }
            let mut hits: Vec<(usize, NodeId)> = Vec::new();
            let _ = walker.walk(destination, Along::Candidates, |step| {
                if self.map.is_start(step.state) {
                    // Whatever starts there takes the same hop.
                    let of_ring = injections.iter().filter(|(at, node)| {
                        *node != destination && self.map.start(*node) == step.state && next(*at) == step.hop
                    });
                    hits.extend(of_ring);
                    return;
                }
                let at = place.get(step.state as usize).copied().flatten();
                if let Some(at) = at.filter(|&at| next(at as usize) == step.hop) {
                    hits.push((at as usize, step.source));
                }
            });
            for (at, source) in hits {
                let bound = self.graph.vertices() as usize;
                let hops = self.routing.path(source, destination).take(bound).count();
                if found[at].is_none_or(|(best, ..)| hops < best) {
                    found[at] = Some((hops, source, destination));
                }
            }
        }
        let witness = |at: usize| match found[at] {
            Some((_, source, node)) => Witness { source, destination: Destination::Node(node) },
            None => copies::witness(&self.others, ring[at], next(at)),
        };
        let dependency = |at| Dependency {
            from: self.map.channel(ring[at]),
            to: self.map.channel(next(at)),
            witness: witness(at),
        };
        (0..ring.len()).map(dependency).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
