//! Multicast operations: one sender, one payload, many receivers.
//!
//! Three independent choices, like those of synthetic traffic: among whom ([`members`]), how large and when (those of
//! [`crate::traffic`]). A [`Multicast`] is the three fitted to a machine; each node draws its operations from its own
//! [`OperationSource`]. How an operation is carried out is another matter: in the switches, or by forwarding along a
//! [`tree`].
//!
//! **Offered multicast load** is that of the copies: flits of copies to be delivered, per node and cycle, as a fraction of
//! what a node can receive. An operation with `m` receivers and packets of `f` flits brings `m f` flits, so with `n` nodes and
//! `r` rails a load of `L` is `L n r / (m f)` operations a cycle, shared evenly by the nodes that are in a group.

pub mod members;
pub mod tree;

use crate::fraction::Fraction;
use crate::traffic::arrival::{ArrivalChoice, Arrivals, Progress};
use crate::traffic::size::Sizes;
use crate::traffic::{Injection, Rate, TrafficError};
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::NodeId;
use members::{MembersChoice, Unfit};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The three choices.
#[derive(Clone, Debug)]
pub struct MulticastChoice {
    /// Among whom.
    pub members: MembersChoice,
    /// How large.
    pub sizes: Sizes,
    /// When.
    pub arrivals: ArrivalChoice,
}

/// Why multicast operations cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MulticastError {
    /// The groups do not fit the machine.
    Members(Unfit),
    /// Sizes, load or arrivals do not.
    Traffic(TrafficError),
}

impl fmt::Display for MulticastError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MulticastError::Members(unfit) => unfit.fmt(f),
            MulticastError::Traffic(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MulticastError {}

/// Multicast operations, fitted to a machine. Immutable; shared by all sources.
#[derive(Debug)]
pub struct Multicast {
    /// The members of each group, ascending.
    groups: Vec<Box<[NodeId]>>,
    /// Receivers of an operation, where they are drawn for each anew.
    fresh: Option<u32>,
    /// By node: the groups that it is in, of those with two members or more.
    groups_of: Vec<Box<[u32]>>,
    sizes: Sizes,
    arrivals: Arrivals,
    rate: Rate,
    receivers_mean: f64,
    mean_flits: f64,
    seed: u64,
}

/// Parts of a receiver in which the mean over the groups of a node is counted.
const PARTS: u64 = 1 << 20;

impl Multicast {
    /// Fits the three choices to a machine of `nodes` nodes.
    ///
    /// # Errors
    /// If the groups do not fit, packets exceed the MTU or the rate has too many digits.
    pub fn build(
        choice: &MulticastChoice,
        nodes: u32,
        injection: &Injection<'_>,
        seed: u64,
    ) -> Result<Self, MulticastError> {
        let groups = choice.members.fit(nodes, seed).map_err(MulticastError::Members)?;
        let mut groups_of = vec![Vec::new(); nodes as usize];
        for (number, members) in groups.iter().enumerate().filter(|(_, members)| members.len() > 1) {
            members.iter().for_each(|node| groups_of[node.index()].push(number as u32));
        }
        let fresh = match choice.members {
            MembersChoice::Fresh { receivers } => Some(receivers),
            _ => None,
        };
        let groups_of: Vec<Box<[u32]>> = groups_of.into_iter().map(Into::into).collect();
        let senders = groups_of.iter().filter(|groups| !groups.is_empty()).count() as u64;
        if senders == 0 {
            return Err(MulticastError::Members(Unfit::NobodyElse));
        }
        // Receivers of an operation of each sender, summed up.
        let receivers: u64 = groups_of
            .iter()
            .filter(|of| !of.is_empty())
            .map(|of| {
                let all: u64 = of
                    .iter()
                    .map(|&group| fresh.map_or(groups[group as usize].len() as u64 - 1, u64::from))
                    .sum();
                all * PARTS / of.len() as u64
            })
            .sum();
        let (rate, arrivals, mean_flits) = rate(choice, nodes, receivers, injection)?;
        Ok(Multicast {
            groups,
            fresh,
            groups_of,
            sizes: choice.sizes.clone(),
            arrivals,
            rate,
            receivers_mean: receivers as f64 / PARTS as f64 / senders as f64,
            mean_flits,
            seed,
        })
    }

    /// Whether receivers are drawn for each operation anew.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.fresh.is_some()
    }

    /// Receivers of an operation in `group`.
    #[must_use]
    pub fn receivers(&self, group: u32) -> u32 {
        self.fresh.unwrap_or(self.groups[group as usize].len() as u32 - 1)
    }

    /// Sender and receivers of operation `sequence` of `source`, which is in `group`, ascending.
    #[must_use]
    pub fn members(&self, group: u32, source: NodeId, sequence: u32) -> Cow<'_, [NodeId]> {
        let all = &self.groups[group as usize];
        match self.fresh {
            None => Cow::Borrowed(all),
            Some(receivers) => members::draw_fresh(all.len() as u32, receivers, self.seed, source, sequence)
                .into_vec()
                .into(),
        }
    }

    /// The members of each group, ascending; all nodes, where receivers are drawn for each operation anew.
    #[must_use]
    pub fn groups(&self) -> &[Box<[NodeId]>] {
        &self.groups
    }

    /// Nodes that send.
    #[must_use]
    pub fn senders(&self) -> usize {
        self.groups_of.iter().filter(|groups| !groups.is_empty()).count()
    }

    /// Operations that a sender begins in a cycle.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// How large.
    #[must_use]
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Receivers of an operation, in the mean over operations.
    #[must_use]
    pub fn receivers_mean(&self) -> f64 {
        self.receivers_mean
    }

    /// Mean length of a copy on the link in flits.
    #[must_use]
    pub fn mean_flits(&self) -> f64 {
        self.mean_flits
    }
}

/// Operations of a sender per cycle, and what follows from that.
fn rate(
    choice: &MulticastChoice,
    nodes: u32,
    receivers: u64,
    injection: &Injection<'_>,
) -> Result<(Rate, Arrivals, f64), MulticastError> {
    let wrong = MulticastError::Traffic;
    let largest = choice.sizes.largest();
    if largest > injection.mtu {
        return Err(wrong(TrafficError::AboveMtu { largest, mtu: injection.mtu }));
    }
    let too_many = || wrong(TrafficError::TooManyDigits);
    let (flits, weight) =
        choice.sizes.total(|payload| (injection.flits)(payload).into()).ok_or_else(too_many)?;
    let load = if choice.arrivals.ignores_load() { Fraction::ONE } else { injection.load };
    let all = [load.numerator().into(), u128::from(nodes), injection.rails.into(), weight, PARTS.into()];
    let rate = Rate::new(&all, &[load.denominator().into(), flits, receivers.into()]).ok_or_else(too_many)?;
    let arrivals = choice.arrivals.fit(rate).map_err(wrong)?;
    Ok((rate, arrivals, flits as f64 / weight as f64))
}

/// An operation as it comes into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When.
    pub created: Cycle,
    /// In which group.
    pub group: u32,
    /// How much, in bytes.
    pub payload: u16,
}

/// The operations of one node: a sequence that (multicast, seed, node) determines.
#[derive(Clone, Debug)]
pub struct OperationSource {
    multicast: Arc<Multicast>,
    node: NodeId,
    progress: Option<Progress>,
    arrivals: Stream,
    groups: Stream,
    sizes: Stream,
}

impl OperationSource {
    /// The source of `node`.
    #[must_use]
    pub fn new(multicast: &Arc<Multicast>, node: NodeId) -> Self {
        let stream = |purpose| Stream::new(multicast.seed, node.0.into(), purpose);
        let mut arrivals = stream(Purpose::Operation);
        let sends = !multicast.groups_of[node.index()].is_empty();
        OperationSource {
            progress: if sends { multicast.arrivals.start(&mut arrivals) } else { None },
            multicast: Arc::clone(multicast),
            node,
            arrivals,
            groups: stream(Purpose::Group),
            sizes: stream(Purpose::OperationSize),
        }
    }

    /// When the next operation begins; `None` if none ever does.
    #[must_use]
    pub fn next_creation(&self) -> Option<Cycle> {
        self.progress.map(|progress| self.multicast.arrivals.cycle(progress))
    }

    /// The next operation, which begins at [`OperationSource::next_creation`].
    pub fn create(&mut self) -> Option<Operation> {
        let progress = self.progress?;
        let created = self.multicast.arrivals.cycle(progress);
        self.progress = self.multicast.arrivals.advance(progress, &mut self.arrivals);
        let groups = &self.multicast.groups_of[self.node.index()];
        let group = groups[self.groups.below(groups.len() as u64) as usize];
        Some(Operation { created, group, payload: self.multicast.sizes.draw(&mut self.sizes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{arrival, size};

    fn build(members: &str, nodes: u32, load: &str) -> Result<Multicast, MulticastError> {
        let choice = MulticastChoice {
            members: members::parse(members).unwrap(),
            sizes: size::fixed("60B"),
            arrivals: arrival::parse("bernoulli").unwrap(),
        };
        let flits = |payload: u16| 2 + payload.div_ceil(2);
        let injection = Injection { rails: 2, mtu: 1024, flits: &flits, load: load.parse().unwrap() };
        Multicast::build(&choice, nodes, &injection, 5)
    }

    #[test]
    fn the_load_is_that_of_the_copies() {
        for members in ["broadcast", "random(members=5, groups=7)", "nodes(1+4-6)"] {
            let multicast = Arc::new(build(members, 16, "0.3").unwrap());
            let cycles = 300_000;
            let mut flits = 0;
            for node in 0..16 {
                let mut source = OperationSource::new(&multicast, NodeId(node));
                while source.next_creation().is_some_and(|created| created.0 < cycles) {
                    let operation = source.create().unwrap();
                    let members = &multicast.groups()[operation.group as usize];
                    assert!(members.contains(&NodeId(node)));
                    flits += (members.len() as u64 - 1) * 32;
                }
            }
            let load = flits as f64 / (16.0 * 2.0 * cycles as f64);
            assert!((load - 0.3).abs() < 0.012, "{members}: {load}");
        }
    }

    #[test]
    fn who_is_in_no_group_sends_nothing() {
        let multicast = Arc::new(build("nodes(1+4)", 6, "0.3").unwrap());
        let sends = |node| OperationSource::new(&multicast, NodeId(node)).next_creation().is_some();
        assert_eq!((0..6).filter(|&node| sends(node)).collect::<Vec<_>>(), [1, 4]);
        assert_eq!((multicast.senders(), multicast.receivers_mean()), (2, 1.0));
        assert_eq!(build("nodes(3)", 6, "0.3").unwrap_err(), MulticastError::Members(Unfit::NobodyElse));
    }
}
