//! Walking a routing relation: every packet for one destination at a time, each state once.
//!
//! Where a switch has the same candidates for several destinations ([`Relation::alike`](crate::routing::Relation::alike)), a
//! walk along candidates goes on there for the first of them alone. Those that come next to a switch that tells them
//! apart wait there for the walks of their own destinations, so that all walks together take each turn once that any
//! packet takes.

use super::{Channel, Loss, Lost};
use crate::routing::{Arrival, Candidate, Header, Hop, Routing};
use crate::topology::{End, Topology};
use crate::{NodeId, PortId, SwitchId};
use std::collections::{BTreeMap, HashSet};

/// Numbers for channels: first those out of switches, by switch, port and class; then those out of nodes.
#[derive(Clone, Debug)]
pub(super) struct Map {
    classes: u32,
    /// Per switch: the number of its port 0 among all ports, and at the end the number of ports.
    first: Vec<u32>,
    /// Per port: where its link leads.
    ends: Vec<Option<End>>,
    /// Per port: its switch.
    switches: Vec<SwitchId>,
    /// Per node: the switch that it sends to, and the port there.
    homes: Vec<(SwitchId, PortId)>,
    /// Per node: the switch that sends to it, and the port there.
    exits: Vec<(SwitchId, PortId)>,
    /// Whether packets of the nodes of one switch may go different ways.
    tells_nodes_apart: bool,
}

impl Map {
    pub(super) fn new(routing: &Routing) -> Self {
        let topology: &Topology = routing.topology();
        let (mut first, mut ends, mut switches) = (vec![0], Vec::new(), Vec::new());
        for switch in (0..topology.switches()).map(SwitchId) {
            let ports = (0..topology.ports(switch)).map(PortId);
            ends.extend(ports.map(|port| topology.wire(switch, port).map(|(_, end)| end)));
            switches.resize(ends.len(), switch);
            first.push(ends.len() as u32);
        }
        let nodes = || (0..topology.nodes()).map(NodeId);
        let homes = nodes().map(|node| topology.home(node)).collect();
        let exits = nodes().map(|node| topology.exit(node)).collect();
        let tells_nodes_apart = routing.tells_nodes_apart();
        Map { classes: routing.classes(), first, ends, switches, homes, exits, tells_nodes_apart }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.homes.len() as u32
    }

    fn out_of_switches(&self) -> u32 {
        self.ends.len() as u32 * self.classes
    }

    pub(super) fn vertices(&self) -> u32 {
        self.out_of_switches() + self.nodes()
    }

    /// The channel out of `node`.
    pub(super) fn injection(&self, node: NodeId) -> u32 {
        self.out_of_switches() + node.0
    }

    /// Number of states of packets on their way: a channel they have come by, or whence they start.
    pub(super) fn states(&self) -> usize {
        let starts = if self.tells_nodes_apart { self.homes.len() } else { self.first.len() - 1 };
        self.out_of_switches() as usize + starts
    }

    /// The state of what `node` sends: that of its switch, unless it may go other ways than what others send there.
    pub(super) fn start(&self, node: NodeId) -> u32 {
        let start = if self.tells_nodes_apart { node.0 } else { self.homes[node.index()].0.0 };
        self.out_of_switches() + start
    }

    /// Whether packets in `state` have not made a hop yet.
    pub(super) fn is_start(&self, state: u32) -> bool {
        state >= self.out_of_switches()
    }

    /// The channel that `hop` takes from `switch`; `None` where nothing is wired.
    pub(super) fn hop(&self, switch: SwitchId, hop: Hop) -> Option<(u32, End)> {
        assert!(u32::from(hop.class) < self.classes, "a routing needs as many classes as it says");
        let port = self.first[switch.index()] + hop.port.0;
        if port >= self.first[switch.index() + 1] {
            return None;
        }
        Some((port * self.classes + u32::from(hop.class), self.ends[port as usize]?))
    }

    pub(super) fn channel(&self, vertex: u32) -> Channel {
        if let Some(node) = vertex.checked_sub(self.out_of_switches()) {
            return Channel { sender: End::Node(NodeId(node)), class: 0 };
        }
        let port = vertex / self.classes;
        let switch = self.switches[port as usize];
        let sender = End::Switch(switch, PortId(port - self.first[switch.index()]));
        Channel { sender, class: (vertex % self.classes) as u8 }
    }

    /// Whether `vertex` is a channel that is there.
    pub(super) fn is_wired(&self, vertex: u32) -> bool {
        self.ends.get((vertex / self.classes) as usize).is_none_or(Option::is_some)
    }

    /// The switch that `vertex` leads to; `None` for a node.
    fn receiver(&self, vertex: u32) -> Option<SwitchId> {
        if let Some(node) = vertex.checked_sub(self.out_of_switches()) {
            return Some(self.homes[node as usize].0);
        }
        match self.ends[(vertex / self.classes) as usize] {
            Some(End::Switch(switch, _)) => Some(switch),
            _ => None,
        }
    }

    /// The node that `vertex` leads to; `None` for a switch.
    pub(super) fn node_after(&self, vertex: u32) -> Option<NodeId> {
        match self.ends.get((vertex / self.classes) as usize) {
            Some(Some(End::Node(node))) => Some(*node),
            _ => None,
        }
    }

    /// No turns yet.
    pub(super) fn turns(&self) -> Turns {
        let widest = self.first.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let width = (widest * self.classes).div_ceil(u64::BITS).max(1) as usize;
        let from = (0..self.out_of_switches()).map(|vertex| match self.receiver(vertex) {
            Some(switch) => self.first[switch.index()] * self.classes,
            None => 0,
        });
        let switch = |start: usize| if self.tells_nodes_apart { self.homes[start].0.index() } else { start };
        let starts = 0..self.states() - self.out_of_switches() as usize;
        let base = from.chain(starts.map(|start| self.first[switch(start)] * self.classes)).collect();
        Turns { width, bits: vec![0; self.states() * width], base }
    }
}

/// Which channels follow which, as a row of bits for each state: a bit for each channel out of the switch.
#[derive(Debug)]
pub(super) struct Turns {
    width: usize,
    bits: Vec<u64>,
    /// Per row: the channel of its bit 0.
    base: Vec<u32>,
}

impl Turns {
    pub(super) fn add(&mut self, state: u32, hop: u32) {
        let bit = (hop - self.base[state as usize]) as usize;
        self.bits[state as usize * self.width + bit / 64] |= 1 << (bit % 64);
    }

    /// What follows the channel `vertex`. A node does not send to itself.
    pub(super) fn of(&self, map: &Map, vertex: u32) -> impl Iterator<Item = u32> + use<'_> {
        let node = vertex.checked_sub(map.out_of_switches());
        let row = match node {
            Some(node) => map.start(NodeId(node)),
            None => vertex,
        };
        let own = node.and_then(|node| {
            let (switch, port) = map.exits[node as usize];
            map.hop(switch, Hop { port, class: 0 }).map(|(vertex, _)| vertex)
        });
        let words = &self.bits[row as usize * self.width..][..self.width];
        let base = self.base[row as usize];
        let bits = (0..).zip(words).flat_map(|(place, &word)| {
            let lowest =
                |left: &u64| (*left != 0).then_some(left & left.wrapping_sub(1)).filter(|&left| left != 0);
            let lefts = std::iter::successors((word != 0).then_some(word), lowest);
            lefts.map(move |left| place * u64::BITS + left.trailing_zeros())
        });
        bits.map(move |bit| base + bit).filter(move |&next| Some(next) != own)
    }
}

/// One hop of packets for a destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The channel they have come by, or whence they start.
    pub(super) state: u32,
    /// The last one of those that is an escape, or from a node: the same unless they have come by another since.
    pub(super) held: u32,
    /// The channel they take.
    pub(super) hop: u32,
    /// Whether that is an escape.
    pub(super) is_escape: bool,
    /// Who has sent such a packet: one of those that have come here with the fewest hops.
    pub(super) source: NodeId,
}

/// Which hops are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// Those that switches may select.
    Candidates,
    /// The same for each destination by itself.
    Each,
    /// The first candidates.
    First,
}

/// Where packets are.
#[derive(Clone, Copy, Debug)]
struct Place {
    state: u32,
    held: u32,
    here: SwitchId,
    arrival: Arrival,
    header: Header,
    source: NodeId,
    /// The first destination that packets here are not for: they are for this one and those after it as well.
    end: u32,
}

/// Walks a relation destination by destination.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    map: &'a Map,
    routing: &'a Routing,
    /// Per switch with nodes: those whose packets are walked, of which one may be the destination.
    senders: Vec<(SwitchId, Vec<NodeId>)>,
    /// Per channel: the last walk in which it was taken, and the first destination for which it was not.
    taken: Vec<(u32, u32)>,
    walks: u32,
    /// Where headers change or some channels are no escape: what packets have taken in this walk.
    seen: HashSet<(u32, u32, Header)>,
    queue: Vec<Place>,
    /// By destination: packets that have come on with those for a lower one, to where they are told apart.
    waiting: BTreeMap<NodeId, Vec<Place>>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(map: &'a Map, routing: &'a Routing) -> Self {
        let mut senders: Vec<Vec<NodeId>> = vec![Vec::new(); map.first.len() - 1];
        for (node, &(switch, _)) in (0..).map(NodeId).zip(&map.homes) {
            let of_switch = &mut senders[switch.index()];
            if map.tells_nodes_apart || of_switch.len() < 2 {
                of_switch.push(node);
            }
        }
        let senders = (0..).map(SwitchId).zip(senders).filter(|(_, nodes)| !nodes.is_empty()).collect();
        Walker {
            map,
            routing,
            senders,
            taken: vec![(0, 0); map.out_of_switches() as usize],
            walks: 0,
            seen: HashSet::new(),
            queue: Vec::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Tells `visit` every hop of packets for `destination` from all other nodes, each state once and the nearest to its
    /// source first; along candidates, not those that were told of a lower destination already, for which there has to be
    /// a walk before. Returns one that goes astray.
    pub(super) fn walk(
        &mut self,
        destination: NodeId,
        along: Along,
        mut visit: impl FnMut(Step),
    ) -> Option<Lost> {
        self.begin(destination, along);
        let (is_plain, routing) = (self.routing.is_plain(), self.routing);
        let (mut done, mut lost, mut hops) = (0, None, Vec::new());
        while let Some(&place) = self.queue.get(done) {
            let Place { state, held, here, arrival, header, source, end } = place;
            done += 1;
            hops.clear();
            match along {
                Along::Candidates | Along::Each => {
                    routing.candidates(here, arrival, header, |next| hops.push(next))
                }
                Along::First => routing.candidates_of_first(here, arrival, header, |next| hops.push(next)),
            }
            let stray = |how| Some(Lost { source, destination, how });
            if along == Along::Candidates && !hops.iter().any(|next| routing.is_escape(here, next.hop)) {
                lost = lost.or(stray(Loss::NoEscape(here)));
            }
            for &Candidate { hop, header } in &hops {
                let Some((vertex, next)) = self.map.hop(here, hop) else {
                    lost = lost.or(stray(Loss::Unwired(here, hop.port)));
                    continue;
                };
                let is_escape = routing.is_escape(here, hop);
                visit(Step { state, held, hop: vertex, is_escape, source });
                match next {
                    End::Node(node) => {
                        // Whom it is not for comes to another one.
                        let mut others = (destination.0..end).map(NodeId).filter(|&other| other != node);
                        let how = Loss::WrongNode(node);
                        lost = lost.or(others.next().map(|destination| Lost { source, destination, how }));
                    }
                    End::Switch(next, port) => {
                        let held = if is_escape { vertex } else { held };
                        let is_new = if is_plain && held == vertex {
                            self.take(vertex, end)
                        } else {
                            self.seen.insert((vertex, held, header))
                        };
                        if is_new {
                            let arrival = Arrival { port, class: hop.class };
                            self.come(
                                destination,
                                Place { state: vertex, held, here: next, arrival, header, source, end },
                            );
                        }
                    }
                }
            }
        }
        lost
    }

    /// Takes the channel `vertex` in this walk, for destinations up to `end`. Returns whether it is new.
    fn take(&mut self, vertex: u32, end: u32) -> bool {
        let taken = &mut self.taken[vertex as usize];
        let is_new = *taken < (self.walks, end);
        if is_new {
            *taken = (self.walks, end);
        }
        is_new
    }

    /// Packets for `destination`, and perhaps for those after it, have come to a switch. Where it tells them apart, the
    /// others wait for their own walk.
    fn come(&mut self, destination: NodeId, place: Place) {
        let alike = |first: u32| self.routing.alike(place.here, NodeId(first)).end.min(place.end);
        let is_one = place.end == destination.0 + 1;
        let mut end = if is_one { place.end } else { alike(destination.0) };
        self.queue.push(Place { end, ..place });
        while end < place.end {
            let first = NodeId(end);
            end = alike(end);
            let place = Place { header: Header::to(first), end, ..place };
            self.waiting.entry(first).or_default().push(place);
        }
    }

    /// Puts packets for `destination` at the switches of all other nodes, for a new walk, and those that have waited for it.
    fn begin(&mut self, destination: NodeId, along: Along) {
        let Walker { map, routing, senders, walks, seen, queue, waiting, .. } = self;
        queue.clear();
        seen.clear();
        *walks += 1;
        for (here, nodes) in senders.iter() {
            let alike = match along {
                Along::Candidates => routing.alike(*here, destination),
                Along::Each | Along::First => destination.0..destination.0 + 1,
            };
            if alike.start != destination.0 {
                continue;
            }
            let others = nodes.iter().copied().filter(|&node| node != destination);
            for source in others.take(if map.tells_nodes_apart { usize::MAX } else { 1 }) {
                let (arrival, state) = (routing.start(source).1, map.start(source));
                let place = |header| Place {
                    state,
                    held: state,
                    here: *here,
                    arrival,
                    header,
                    source,
                    end: alike.end,
                };
                queue.extend(routing.starts(source, destination).into_iter().map(place));
            }
        }
        if along == Along::Candidates {
            queue.extend(waiting.remove(&destination).into_iter().flatten());
        }
    }

    /// A packet for `destination` that never stops.
    pub(super) fn circling(&mut self, destination: NodeId) -> Option<Lost> {
        let states = self.map.states();
        let mut next: Vec<Option<u32>> = vec![None; states];
        let _ = self.walk(destination, Along::First, |step| next[step.state as usize] = Some(step.hop));
        // Who has followed the packets of a state first; who meets itself goes round.
        let mut followed_by: Vec<Option<usize>> = vec![None; states];
        for (follower, place) in self.queue.iter().enumerate() {
            let mut at = place.state;
            while let Some(hop) = next[at as usize] {
                match followed_by[at as usize] {
                    None => followed_by[at as usize] = Some(follower),
                    Some(first) if first == follower => {
                        let how = Loss::Circles(self.map.channel(at));
                        return Some(Lost { source: place.source, destination, how });
                    }
                    Some(_) => break,
                }
                at = hop;
            }
        }
        None
    }
}
