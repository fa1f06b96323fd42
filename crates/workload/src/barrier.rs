//! Barrier operations: processes of a group that arrive, wait until all have, and go on.
//!
//! Three choices: among whom ([`members`](crate::multicast::members), one process of each node for each group that it is
//! in), how far apart operations of a group begin ([`BarrierChoice::interval`]), and by how much each process is late at
//! random ([`BarrierChoice::imbalance`]). Who is released later than that arrives again at once: so an operation never
//! begins before the one before is over, and they do not pile up. The first operation of each group begins at a time of
//! its own within the first interval. How an operation is carried out is another matter: in the switches, or by messages.

use crate::multicast::members::{MembersChoice, Unfit};
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::NodeId;

/// The three choices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarrierChoice {
    /// Among whom.
    pub members: MembersChoice,
    /// Cycles from the beginning of an operation to that of the next.
    pub interval: u64,
    /// The most cycles by which a process arrives later, each number as likely as any other.
    pub imbalance: u64,
}

/// Barrier operations, fitted to a machine. Immutable; shared by all processes.
#[derive(Debug)]
pub struct Barrier {
    /// The members of each group, ascending.
    groups: Vec<Box<[NodeId]>>,
    interval: u64,
    imbalance: u64,
    seed: u64,
}

impl Barrier {
    /// Fits `choice` to a machine of `nodes` nodes.
    ///
    /// # Errors
    /// If the groups do not fit, or all of them are of one node.
    pub fn build(choice: &BarrierChoice, nodes: u32, seed: u64) -> Result<Self, Unfit> {
        let groups = choice.members.fit(nodes, seed)?;
        if groups.iter().all(|members| members.len() < 2) {
            return Err(Unfit::NobodyElse);
        }
        Ok(Barrier { groups, interval: choice.interval, imbalance: choice.imbalance, seed })
    }

    /// The members of each group, ascending.
    #[must_use]
    pub fn groups(&self) -> &[Box<[NodeId]>] {
        &self.groups
    }

    /// The groups that `node` is a member of, ascending.
    pub fn groups_of(&self, node: NodeId) -> impl Iterator<Item = u32> {
        let is_member = move |members: &[NodeId]| members.binary_search(&node).is_ok();
        (0..).zip(&self.groups).filter(move |(_, members)| is_member(members)).map(|(group, _)| group)
    }

    /// Members of a group, in the mean.
    #[must_use]
    pub fn members_mean(&self) -> f64 {
        self.groups.iter().map(|members| members.len()).sum::<usize>() as f64 / self.groups.len() as f64
    }

    /// Cycles from the beginning of an operation to that of the next, if it is over by then.
    #[must_use]
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Cycles by which a process is late at most.
    #[must_use]
    pub fn imbalance(&self) -> u64 {
        self.imbalance
    }
}

/// When the process of a node arrives at the barriers of one of its groups.
#[derive(Clone, Debug)]
pub struct Pace {
    /// When the next operation begins.
    next: Cycle,
    interval: u64,
    imbalance: u64,
    stream: Stream,
}

impl Pace {
    /// The pace of `node` in `group`.
    #[must_use]
    pub fn new(barrier: &Barrier, node: NodeId, group: u32) -> Self {
        let mut of_the_group = Stream::new(barrier.seed, group.into(), Purpose::FirstOperation);
        let of_the_process = u64::from(group) << 32 | u64::from(node.0);
        Pace {
            next: Cycle(of_the_group.below(barrier.interval + 1)),
            interval: barrier.interval,
            imbalance: barrier.imbalance,
            stream: Stream::new(barrier.seed, of_the_process, Purpose::Imbalance),
        }
    }

    /// When it arrives at the next operation, having been released in cycle `now`, or in cycle 0 from nothing.
    pub fn arrival(&mut self, now: Cycle) -> Cycle {
        let lateness = if self.imbalance == 0 { 0 } else { self.stream.below(self.imbalance + 1) };
        let begin = self.next;
        self.next += self.interval;
        now.max(begin + lateness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multicast::members;

    fn build(members: &str, interval: u64, imbalance: u64) -> Result<Barrier, Unfit> {
        let choice = BarrierChoice { members: members::parse(members).unwrap(), interval, imbalance };
        Barrier::build(&choice, 12, 3)
    }

    #[test]
    fn a_group_begins_together_and_goes_on_after_the_interval_or_at_once() {
        let barrier = build("random(members=5, groups=40)", 100, 0).unwrap();
        let mut firsts = Vec::new();
        for (group, members) in (0..).zip(barrier.groups()) {
            let mut paces: Vec<Pace> = members.iter().map(|&node| Pace::new(&barrier, node, group)).collect();
            let first = paces[0].clone().arrival(Cycle(0));
            for pace in &mut paces {
                assert!(first.0 <= 100 && pace.arrival(Cycle(0)) == first);
                assert_eq!(pace.arrival(first + 7), first + 100);
                assert_eq!(pace.arrival(first + 450), first + 450);
                assert_eq!(pace.arrival(first + 460), first + 460);
            }
            firsts.push(first);
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert!(firsts.len() > 25, "{firsts:?}");
    }

    #[test]
    fn imbalance_is_uniform_and_each_process_has_its_own() {
        let barrier = build("broadcast", 10, 6).unwrap();
        let (mut one, mut other) = (Pace::new(&barrier, NodeId(0), 0), Pace::new(&barrier, NodeId(1), 0));
        let (mut times, mut equal) = ([0_u32; 7], 0);
        for _ in 0..7_000 {
            let begin = one.next;
            let lateness = one.arrival(Cycle(0)).since(begin);
            times[lateness as usize] += 1;
            equal += u32::from(other.arrival(Cycle(0)).since(begin) == lateness);
        }
        assert!(times.iter().all(|&times| times.abs_diff(1_000) < 150), "{times:?}");
        assert!(equal.abs_diff(1_000) < 150, "{equal}");
    }

    #[test]
    fn nobody_waits_alone() {
        assert_eq!(build("nodes(3)", 1, 0).unwrap_err(), Unfit::NobodyElse);
        assert_eq!(build("nodes(12)", 1, 0).unwrap_err(), Unfit::NoNode { node: 12, nodes: 12 });
        let barrier = build("nodes(1+5)", 1, 0).unwrap();
        let of = |node| barrier.groups_of(NodeId(node)).collect::<Vec<_>>();
        assert_eq!((of(1), of(2)), (vec![0], vec![]));
    }
}
