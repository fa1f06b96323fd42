//! Dependencies of packets for groups.

use super::walk::Map;
use super::{Copies, Witness};
use crate::Destination;
use crate::multicast::{Ascent, GroupId, Groups};
use crate::routing::{Hop, Routing};
use crate::topology::End;
use crate::{NodeId, PortId, SwitchId};
use std::collections::BTreeSet;

/// A dependency beside those of turns between two escapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherDependency {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) witness: Witness,
}

/// The packet that makes `from` depend on `to`.
pub(super) fn witness(copies: &[OtherDependency], from: u32, to: u32) -> Witness {
    let found = copies.binary_search_by_key(&(from, to), |copy| (copy.from, copy.to));
    copies[found.expect("some packet makes every dependency")].witness
}

/// A packet for a group that is copied in a switch.
struct Branch {
    switch: SwitchId,
    /// The channel it has come by.
    arrival: u32,
    /// The channels it takes.
    outputs: Vec<u32>,
    witness: Witness,
}

/// The dependencies of packets for `groups`, in order, each once.
pub(super) fn dependencies(routing: &Routing, groups: &Groups, copies: Copies) -> Vec<OtherDependency> {
    assert!(routing.classes() == 1 || groups.is_empty(), "packets for groups do not change their class");
    let walk = Walk { map: Map::new(routing), routing, groups };
    let mut branches = Vec::new();
    let mut found = Vec::new();
    for group in (0..groups.len()).map(GroupId::new) {
        let senders: Vec<NodeId> = match groups.ascent() {
            Ascent::Table => groups.members(group).to_vec(),
            Ascent::Routed => (0..routing.topology().nodes()).map(NodeId).collect(),
        };
        let mut seen = BTreeSet::new();
        for source in senders {
            let roots = match groups.ascent() {
                Ascent::Table => 1,
                Ascent::Routed => groups.roots(source, group),
            };
            for root in 0..roots {
                let destination = Destination::Group(group, root);
                walk.packet(group, Witness { source, destination }, &mut seen, &mut branches, &mut found);
            }
        }
    }
    for branch in &branches {
        let edge = |&to: &u32| OtherDependency { from: branch.arrival, to, witness: branch.witness };
        found.extend(branch.outputs.iter().map(edge));
    }
    if copies == Copies::OneByOne {
        one_by_one(&branches, &mut found);
    }
    in_order(&mut found);
    found
}

/// Sorts dependencies, each once.
pub(super) fn in_order(found: &mut Vec<OtherDependency>) {
    found.sort_by_key(|other| (other.from, other.to));
    found.dedup_by_key(|other| (other.from, other.to));
}

/// Outputs that are held while others are waited for. It takes two packets to wait for each other, and so two arrivals.
fn one_by_one(branches: &[Branch], found: &mut Vec<OtherDependency>) {
    let holds = |branch: &&Branch| branch.outputs.len() > 1;
    let arrivals: BTreeSet<(SwitchId, u32)> =
        branches.iter().filter(holds).map(|branch| (branch.switch, branch.arrival)).collect();
    let has_rival = |branch: &&Branch| {
        arrivals
            .range((branch.switch, 0)..=(branch.switch, u32::MAX))
            .any(|&(_, other)| other != branch.arrival)
    };
    for branch in branches.iter().filter(holds).filter(has_rival) {
        for &from in &branch.outputs {
            let others = branch.outputs.iter().filter(|&&to| to != from);
            found.extend(others.map(|&to| OtherDependency { from, to, witness: branch.witness }));
        }
    }
}

struct Walk<'a> {
    map: Map,
    routing: &'a Routing,
    groups: &'a Groups,
}

impl Walk<'_> {
    /// Follows a packet for `group` up and then to all of its copies. Behind a channel that has been `seen` into a switch
    /// that copies for the group it goes on as others did before.
    fn packet(
        &self,
        group: GroupId,
        witness: Witness,
        seen: &mut BTreeSet<u32>,
        branches: &mut Vec<Branch>,
        found: &mut Vec<OtherDependency>,
    ) {
        let (mut here, start) = self.routing.start(witness.source);
        let (mut arrival, mut port) = (self.map.injection(witness.source), start.port);
        let Destination::Group(_, root) = witness.destination else { return };
        let mut way = self.groups.way_up(witness.source, group, root);
        while !way.has_arrived() {
            let (vertex, end) = self.output(here, way.hop().port);
            found.push(OtherDependency { from: arrival, to: vertex, witness });
            let End::Switch(next, at) = end else { return };
            (here, arrival, port, way) = (next, vertex, at, way.rest());
        }
        let mut open = vec![(here, arrival, port)];
        while let Some((here, arrival, port)) = open.pop() {
            if !seen.insert(arrival) {
                continue;
            }
            let mask = self.groups.outputs(here, group, port);
            let ports = (0..u64::BITS).filter(|&port| mask >> port & 1 == 1).map(PortId);
            let taken: Vec<(u32, End)> = ports.map(|port| self.output(here, port)).collect();
            for &(vertex, end) in &taken {
                if let End::Switch(next, at) = end {
                    open.push((next, vertex, at));
                }
            }
            let outputs = taken.into_iter().map(|(vertex, _)| vertex).collect();
            branches.push(Branch { switch: here, arrival, outputs, witness });
        }
    }

    fn output(&self, switch: SwitchId, port: PortId) -> (u32, End) {
        self.map.hop(switch, Hop { port, class: 0 }).expect("tables name ports that are wired")
    }
}
