//! Makes a failing case smaller: fewer packets first, then plainer settings, as long as it still fails.

use super::case::Case;
use super::chip;
use super::compare::{Failure, compare};
use crate::script::{ASKS, TESTS};
use flitway_fabric::LinkErrors;
use flitway_fabric::barrier::Root;
use flitway_wiring::topology::TopologySettings;
use flitway_wiring::{Destination, GroupId, NodeId};

/// The most attempts; small cases take a millisecond each.
const ATTEMPTS: u32 = 4_000;

/// A smaller case that fails too (perhaps in another way), with its failure.
#[must_use]
pub fn shrink(case: &Case, failure: &Failure) -> (Case, Failure) {
    let mut shrinker = Shrinker { best: (case.clone(), failure.clone()), attempts: 0 };
    shrinker.forget_the_future();
    loop {
        let before = shrinker.best.0.clone();
        shrinker.remove_packets();
        shrinker.simplify();
        shrinker.forget_the_future();
        if shrinker.best.0 == before || shrinker.attempts >= ATTEMPTS {
            return shrinker.best;
        }
    }
}

struct Shrinker {
    best: (Case, Failure),
    attempts: u32,
}

impl Shrinker {
    /// Keeps `candidate` if it is another case that fails.
    fn attempt(&mut self, candidate: Case) -> bool {
        if candidate == self.best.0 || candidate.fabric().is_none() || self.attempts >= ATTEMPTS {
            return false;
        }
        self.attempts += 1;
        let failure = compare(&candidate).err();
        let failed = failure.is_some();
        if let Some(failure) = failure {
            self.best = (candidate, failure);
        }
        failed
    }

    /// What is created after the first difference has nothing to do with it, nor has what happens then.
    fn forget_the_future(&mut self) {
        let Some(cycle) = self.best.1.cycle() else { return };
        let mut case = self.best.0.clone();
        for packets in &mut case.scripts {
            packets.retain(|packet| packet.created <= cycle);
        }
        for arrivals in &mut case.arrivals {
            arrivals.retain(|arrivals| arrivals.first <= cycle);
        }
        self.attempt(case.clone());
        self.attempt(Case { limit: cycle + 1, margin: 0, pauses: Vec::new(), ..case });
    }

    /// Takes out halves, quarters, ..., single packets.
    fn remove_packets(&mut self) {
        let mut chunk = self.best.0.packets().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            while start < self.best.0.packets() {
                if !self.attempt(without(&self.best.0, start, chunk)) {
                    start += chunk;
                }
            }
            if chunk == 1 {
                return;
            }
            chunk /= 2;
        }
    }

    /// Makes `change` as often as the case still fails after it.
    fn repeat(&mut self, change: impl Fn(&mut Case)) {
        for _ in 0..16 {
            let mut candidate = self.best.0.clone();
            change(&mut candidate);
            if !self.attempt(candidate) {
                break;
            }
        }
    }

    fn simplify(&mut self) {
        for change in CHANGES {
            self.repeat(change);
        }
        let mut way = 0;
        while chip::simplify(&mut self.best.0.chip.clone(), way) {
            self.repeat(|case| _ = chip::simplify(&mut case.chip, way));
            way += 1;
        }
        for link in 0..self.best.0.latencies.len() {
            let mut candidate = self.best.0.clone();
            candidate.latencies[link] = candidate.latencies[link].min(1);
            self.attempt(candidate);
        }
        for node in 0..self.best.0.arrivals.len() {
            for index in (0..self.best.0.arrivals[node].len()).rev() {
                let mut candidate = self.best.0.clone();
                candidate.arrivals[node].remove(index);
                self.attempt(candidate);
            }
        }
        for index in 0..self.best.0.packets() {
            for change in PACKET_CHANGES {
                let mut candidate = self.best.0.clone();
                if let Some(packet) = candidate.scripts.iter_mut().flatten().nth(index) {
                    change(packet);
                }
                self.attempt(candidate);
            }
        }
    }
}

/// `case` without the packets `start..start + count`, counted through all nodes.
fn without(case: &Case, start: usize, count: usize) -> Case {
    let mut case = case.clone();
    let mut index = 0;
    for packets in &mut case.scripts {
        packets.retain(|_| {
            index += 1;
            !(start + 1..start + 1 + count).contains(&index)
        });
    }
    case
}

/// Changes that make a case plainer. Each may be tried several times over.
const CHANGES: &[fn(&mut Case)] = &[
    |case| case.promises = false,
    |case| case.threads = 1,
    |case| (case.test_nics, case.answering) = (None, false),
    |case| case.answering = false,
    |case| case.margin = 0,
    |case| case.pauses.clear(),
    |case| case.pauses.truncate(case.pauses.len().saturating_sub(1)),
    |case| _ = case.pauses.drain(..case.pauses.len().div_ceil(2)),
    |case| _ = case.pauses.drain(..case.pauses.len().min(1)),
    fewer_rails,
    fewer_nodes,
    |case| case.latencies.fill(1),
    |case| case.latencies.iter_mut().for_each(|latency| *latency = latency.div_ceil(2)),
    |case| case.rates.clear(),
    |case| case.changes.clear(),
    |case| _ = case.changes.pop(),
    fewer_receivers,
    |case| case.groups.iter_mut().for_each(|group| group.root = 0),
    fewer_groups,
    fewer_members,
    fewer_barriers,
    fewer_arrivals,
    |case| _ = case.faults.losses.pop(),
    |case| case.errors = LinkErrors::default(),
    |case| case.broken.clear(),
    |case| case.first_lanes.clear(),
    |case| _ = case.first_lanes.pop(),
    |case| case.tables.clear(),
    |case| _ = case.tables.pop(),
    |case| _ = case.broken.pop(),
    |case| case.broken = case.broken.split_off(1.min(case.broken.len())),
    |case| case.errors.flit = 0,
    |case| case.errors.channels.clear(),
    |case| _ = case.errors.rules.pop(),
    |case| case.errors.rules = case.errors.rules.split_off(1.min(case.errors.rules.len())),
    |case| case.faults.losses = case.faults.losses.split_off(1.min(case.faults.losses.len())),
    |case| case.barriers.iter_mut().for_each(|group| group.root = Root::Switch(0)),
];

/// Cuts off the last node of the largest set.
fn fewer_receivers(case: &mut Case) {
    let largest = case.sets.iter_mut().max_by_key(|set| set.len());
    if let Some(set) = largest.filter(|set| set.len() > 1) {
        set.pop();
    }
}

/// Changes that make a packet plainer.
const PACKET_CHANGES: &[fn(&mut flitway_fabric::Packet)] = &[
    |packet| packet.flow.tag &= !ASKS,
    |packet| packet.flow.tag &= !TESTS,
    |packet| packet.lane = 0,
    |packet| packet.payload = 1,
    |packet| packet.payload = packet.payload.div_ceil(2),
];

fn fewer_rails(case: &mut Case) {
    case.rails = 1;
    case.changes.iter_mut().for_each(|change| change.rail.0 = 0);
    for packet in case.scripts.iter_mut().flatten() {
        packet.rail.0 = 0;
    }
    for group in &mut case.barriers {
        group.rail.0 = 0;
    }
}

/// Cuts off the last node of a single switch, if it takes no part.
fn fewer_nodes(case: &mut Case) {
    let TopologySettings::Single { nodes } = &mut case.topology else { return };
    let last = *nodes - 1;
    let mut packets = case.scripts.iter().flatten();
    if last == 0
        || !case.scripts[last as usize].is_empty()
        || packets.any(|it| it.destination == Destination::Node(NodeId(last)))
        || case.groups.iter().any(|group| group.members.contains(&NodeId(last)))
        || case.barriers.iter().any(|group| group.members.contains(&NodeId(last)))
    {
        return;
    }
    *nodes = last;
    case.scripts.pop();
    case.arrivals.pop();
    case.latencies.pop();
}

/// Takes out a group that no packet is for.
fn fewer_groups(case: &mut Case) {
    let mut destinations: Vec<&mut GroupId> = Vec::new();
    for packet in case.scripts.iter_mut().flatten() {
        if let Destination::Group(group, _) = &mut packet.destination {
            destinations.push(group);
        }
    }
    let is_idle = |group: &usize| destinations.iter().all(|it| it.index() != *group);
    if let Some(idle) = (0..case.groups.len()).find(is_idle) {
        case.groups.remove(idle);
        for group in destinations.into_iter().filter(|group| group.index() > idle) {
            group.0 -= 1;
        }
    }
}

/// Cuts off the last member of the largest group.
fn fewer_members(case: &mut Case) {
    let largest = case.groups.iter_mut().max_by_key(|group| group.members.len());
    if let Some(group) = largest.filter(|group| group.members.len() > 1) {
        group.members.pop();
    }
}

/// Takes out the last barrier group.
fn fewer_barriers(case: &mut Case) {
    case.barriers.pop();
    let left = case.barriers.len();
    case.faults.losses.retain(|loss| loss.group.index() < left);
    for arrivals in &mut case.arrivals {
        arrivals.retain(|arrivals| arrivals.group.index() < left);
    }
}

/// Takes out the last arrival of those who arrive most often.
fn fewer_arrivals(case: &mut Case) {
    let most = case.arrivals.iter().flatten().map(|arrivals| arrivals.pauses.len()).max();
    for arrivals in case.arrivals.iter_mut().flatten() {
        if Some(arrivals.pauses.len()) == most {
            arrivals.pauses.pop();
        }
    }
}
