//! Synthetic traffic: to whom x how large x when.
//!
//! Three independent choices, each a table of names and one file per implementation:
//! * to whom: [`destination`];
//! * how large: [`size`];
//! * when: [`arrival`].
//!
//! A [`Traffic`] is the three of them fitted to a machine; each node draws its packets from its own [`Source`].
//!
//! **Offered load** is a fraction of a node's injection rate. A packet of `f` flits occupies its link for `f` cycles, so
//! with `r` rails a node of load `L` creates `L r / mean(f)` packets a cycle. That number is an exact fraction until it
//! becomes 64-bit fixed point, once, when the traffic is built.

pub mod arrival;
pub mod destination;
mod geometric;
pub mod size;
mod source;

use crate::Parts;
use crate::fraction::{Fraction, fixed_point, greatest_common_divisor};
use arrival::{ArrivalChoice, Arrivals};
use destination::{DestinationChoice, Destinations, Misfit};
use flitway_wiring::NodeId;
use size::Sizes;
pub use source::{Creation, Source};
use std::fmt;
use std::sync::Arc;

/// What patterns may know of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes.
    pub nodes: u32,
    /// The sides of a mesh or torus of nodes, the fastest varying first; one dimension of all nodes elsewhere.
    pub dimensions: Vec<u32>,
    /// The ways to divide the nodes; by `switches` is the first.
    pub parts: Vec<Parts>,
    /// To whom each node sends in the permutation that the pattern has looked for ([`destination::Search`]), if one was found.
    pub found: Option<Arc<[u32]>>,
}

/// What a node can inject.
#[derive(Clone, Copy)]
pub struct Injection<'a> {
    /// Rails, each of which takes one flit a cycle from the node.
    pub rails: u32,
    /// Largest payload of a packet in bytes.
    pub mtu: u16,
    /// Flits on the link for a payload in bytes, header and trailer included; at least one.
    pub flits: &'a dyn Fn(u16) -> u16,
    /// Offered load as a fraction of the node's injection rate; may exceed one.
    pub load: Fraction,
}

impl fmt::Debug for Injection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injection")
            .field("rails", &self.rails)
            .field("mtu", &self.mtu)
            .field("load", &self.load)
            .finish_non_exhaustive()
    }
}

/// How the packets of traffic are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replies {
    /// Payload of a reply in bytes.
    pub payload: u16,
    /// Requests of a node that may be under way without their replies; `None` for any number.
    pub outstanding: Option<u32>,
}

/// The three choices, and whether packets are answered.
#[derive(Clone, Debug)]
pub struct TrafficChoice {
    /// To whom.
    pub destinations: DestinationChoice,
    /// How large.
    pub sizes: Sizes,
    /// When.
    pub arrivals: ArrivalChoice,
    /// How packets are answered, if they are.
    pub replies: Option<Replies>,
}

/// Packets a cycle, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    numerator: u128,
    denominator: u128,
}

impl Rate {
    /// `numerator / denominator` packets a cycle; `None` if that does not fit 126 bits or divides by zero.
    pub(crate) fn new(numerators: &[u128], denominators: &[u128]) -> Option<Self> {
        let mut rate = Rate { numerator: 1, denominator: 1 };
        for place in 0..numerators.len().max(denominators.len()) {
            rate.numerator = rate.numerator.checked_mul(numerators.get(place).copied().unwrap_or(1))?;
            rate.denominator = rate.denominator.checked_mul(denominators.get(place).copied().unwrap_or(1))?;
            let divisor = greatest_common_divisor(rate.numerator, rate.denominator);
            if divisor == 0 || rate.denominator == 0 {
                return None;
            }
            rate.numerator /= divisor;
            rate.denominator /= divisor;
        }
        (rate.numerator.max(rate.denominator) < 1 << 126).then_some(rate)
    }

    /// This many times as much.
    fn times(self, factor: Fraction) -> Option<Self> {
        Rate::new(
            &[self.numerator, factor.numerator().into()],
            &[self.denominator, factor.denominator().into()],
        )
    }

    fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// The smallest number of equal parts of which none exceeds one; at least one.
    fn parts(self) -> u64 {
        u64::try_from(self.numerator.div_ceil(self.denominator)).unwrap_or(u64::MAX).max(1)
    }

    /// One of `parts` equal parts in 64-bit fixed point; `None` if the denominator becomes too large.
    fn part(self, parts: u64) -> Option<u128> {
        let denominator = self.denominator.checked_mul(parts.into()).filter(|&product| product < 1 << 127)?;
        Some(fixed_point(self.numerator, denominator))
    }

    /// Cycles a packet in 64-bit fixed point; `None` for zero and for 2^62 cycles and more.
    fn interval(self) -> Option<u128> {
        let near = self.numerator > 0 && self.denominator / self.numerator < 1 << 62;
        near.then(|| fixed_point(self.denominator, self.numerator))
    }

    /// Packets a cycle, for reports and theory.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// Why traffic cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrafficError {
    /// The pattern does not fit the machine.
    Misfit(Misfit),
    /// A packet may be larger than the MTU.
    AboveMtu {
        /// The largest payload that may be drawn, in bytes.
        largest: u16,
        /// The largest payload that the machine takes, in bytes.
        mtu: u16,
    },
    /// Replies are larger than the MTU.
    ReplyAboveMtu {
        /// Their payload in bytes.
        payload: u16,
        /// The largest payload that the machine takes, in bytes.
        mtu: u16,
    },
    /// The load, the sizes and the arrivals together have more digits than exact arithmetic holds.
    TooManyDigits,
    /// The load is so low that on-off bursts would almost all be empty.
    TooRare,
    /// The pattern leaves every node silent.
    NobodySends {
        /// The pattern.
        pattern: &'static str,
        /// The nodes of the machine.
        nodes: u32,
    },
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TrafficError::Misfit(misfit) => misfit.fmt(f),
            TrafficError::AboveMtu { largest, mtu } => {
                write!(f, "packets of {largest} B exceed the MTU of {mtu} B (`packet.mtu` of the machine)")
            }
            TrafficError::ReplyAboveMtu { payload, mtu } => {
                write!(f, "replies of {payload} B exceed the MTU of {mtu} B (`packet.mtu` of the machine)")
            }
            TrafficError::TooManyDigits => {
                f.write_str("the packet rate has too many digits: write loads and fractions with fewer")
            }
            TrafficError::TooRare => {
                f.write_str("fewer than one packet in 65,536 bursts: raise the load or lengthen the bursts")
            }
            TrafficError::NobodySends { pattern, nodes } => write!(
                f,
                "nobody sends: `{pattern}` maps each of the {nodes} nodes to itself, expected a pattern that gives one of \
                 them another node"
            ),
        }
    }
}

impl std::error::Error for TrafficError {}

/// Synthetic traffic, fitted to a machine. Immutable; shared by all sources.
#[derive(Debug)]
pub struct Traffic {
    destinations: Destinations,
    sizes: Sizes,
    arrivals: Arrivals,
    rate: Rate,
    mean_flits: f64,
    replies: Option<Replies>,
    /// Flits of a reply for each flit of a request, in the mean.
    reply_share: f64,
    seed: u64,
}

impl Traffic {
    /// Fits the three choices to a machine.
    ///
    /// A saturating source ignores the load: where it has to create without being asked, it creates at load 1.
    ///
    /// # Errors
    /// If the pattern does not fit the machine or leaves all of its nodes silent, packets exceed the MTU or the rate has too
    /// many digits.
    pub fn build(
        choice: &TrafficChoice,
        shape: &Shape,
        injection: &Injection<'_>,
        seed: u64,
    ) -> Result<Self, TrafficError> {
        let destinations = choice.destinations.fit(shape, seed).map_err(TrafficError::Misfit)?;
        if (0..shape.nodes).all(|node| destinations.is_silent(NodeId(node))) {
            let pattern = choice.destinations.name();
            return Err(TrafficError::NobodySends { pattern, nodes: shape.nodes });
        }
        let sizes = choice.sizes.clone();
        if sizes.largest() > injection.mtu {
            return Err(TrafficError::AboveMtu { largest: sizes.largest(), mtu: injection.mtu });
        }
        let replies = choice.replies;
        if let Some(Replies { payload, .. }) = replies.filter(|replies| replies.payload > injection.mtu) {
            return Err(TrafficError::ReplyAboveMtu { payload, mtu: injection.mtu });
        }
        let (flits, weight) =
            sizes.total(|payload| (injection.flits)(payload).into()).ok_or(TrafficError::TooManyDigits)?;
        let load = if choice.arrivals.ignores_load() { Fraction::ONE } else { injection.load };
        let rate = Rate::new(
            &[load.numerator().into(), injection.rails.into(), weight],
            &[load.denominator().into(), flits],
        )
        .ok_or(TrafficError::TooManyDigits)?;
        let arrivals = choice.arrivals.fit(rate)?;
        let mean_flits = flits as f64 / weight as f64;
        let reply_flits = replies.map_or(0, |replies| (injection.flits)(replies.payload));
        let reply_share = f64::from(reply_flits) / mean_flits;
        Ok(Traffic { destinations, sizes, arrivals, rate, mean_flits, replies, reply_share, seed })
    }

    /// To whom.
    #[must_use]
    pub fn destinations(&self) -> &Destinations {
        &self.destinations
    }

    /// How large.
    #[must_use]
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Packets that a node which is not silent creates in a cycle.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Mean length of a packet on the link in flits, header and trailer included.
    #[must_use]
    pub fn mean_flits(&self) -> f64 {
        self.mean_flits
    }

    /// How packets are answered, if they are.
    #[must_use]
    pub fn replies(&self) -> Option<Replies> {
        self.replies
    }

    /// What part of the load of a source goes to `destination`: of what it is asked it answers as many flits as are in
    /// replies for each flit of a request.
    #[must_use]
    pub fn weight(&self, source: NodeId, destination: NodeId) -> f64 {
        let asked = self.destinations.weight(source, destination);
        if self.replies.is_none() {
            return asked;
        }
        asked + self.reply_share * self.destinations.weight(destination, source)
    }

    /// Whether packets are created by need: as many are under way as may be, and a new one follows each reply.
    #[must_use]
    pub fn is_closed_loop(&self) -> bool {
        self.arrivals.is_saturating() && self.replies.is_some_and(|replies| replies.outstanding.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_wiring::NodeId;
    use std::sync::Arc;

    fn build(pattern: &str, size: &str, arrival: &str, load: &str) -> Result<Traffic, TrafficError> {
        let choice = TrafficChoice {
            destinations: destination::parse(pattern).unwrap(),
            sizes: size::fixed(size),
            arrivals: arrival::parse(arrival).unwrap(),
            replies: None,
        };
        let shape = Shape {
            nodes: 16,
            dimensions: vec![4, 4],
            parts: vec![Parts::switches(vec![0; 16])],
            found: None,
        };
        // A header and a trailer flit, two bytes a flit.
        let flits = |payload: u16| 2 + payload.div_ceil(2);
        let injection = Injection { rails: 4, mtu: 1024, flits: &flits, load: load.parse().unwrap() };
        Traffic::build(&choice, &shape, &injection, 1)
    }

    #[test]
    fn the_rate_follows_from_load_rails_and_flits() {
        let traffic = build("uniform", "60B", "bernoulli", "0.4").unwrap();
        // 32 flits a packet, 4 rails: 0.4 * 4 / 32.
        assert_eq!(traffic.rate(), Rate { numerator: 1, denominator: 20 });
        assert_eq!(traffic.mean_flits(), 32.0);
    }

    #[test]
    fn every_arrival_process_keeps_the_offered_load() {
        for arrival in ["bernoulli", "exponential", "bursts(on=50, off=150)", "periodic", "saturating"] {
            let load = if arrival == "saturating" { "1" } else { "0.4" };
            let traffic = Arc::new(build("uniform", "60B", arrival, load).unwrap());
            let expected = traffic.rate().as_f64();
            let cycles = 400_000;
            let mut packets = 0;
            for node in 0..16 {
                let mut source = Source::new(&traffic, NodeId(node));
                while source.next_creation().is_some_and(|created| created.0 < cycles) {
                    packets += u64::from(source.create().is_some());
                }
            }
            let mean = expected * cycles as f64 * 16.0;
            let error = (packets as f64 - mean).abs() / mean;
            assert!(error < 0.01, "{arrival}: {packets} packets, expected {mean}");
        }
    }

    #[test]
    fn packets_above_the_mtu_and_misfits_are_refused() {
        assert_eq!(
            build("uniform", "1025B", "bernoulli", "0.4").unwrap_err(),
            TrafficError::AboveMtu { largest: 1025, mtu: 1024 }
        );
        assert!(matches!(build("hotspot(99)", "64B", "bernoulli", "0.4"), Err(TrafficError::Misfit(_))));
    }

    #[test]
    fn a_pattern_that_leaves_every_node_silent_is_refused() {
        let build = |pattern: &str, nodes: u32, seed: u64| {
            let choice = TrafficChoice {
                destinations: destination::parse(pattern).unwrap(),
                sizes: size::fixed("64B"),
                arrivals: arrival::parse("bernoulli").unwrap(),
                replies: None,
            };
            let side = if nodes == 4 { vec![2, 2] } else { vec![nodes] };
            let shape = Shape {
                nodes,
                dimensions: side,
                parts: vec![Parts::switches(vec![0; nodes as usize])],
                found: None,
            };
            let injection = Injection { rails: 1, mtu: 1024, flits: &|_| 10, load: Fraction::ONE };
            Traffic::build(&choice, &shape, &injection, seed)
        };
        for pattern in ["tornado", "bit-reverse", "bit-rotation", "butterfly", "shuffle"] {
            let nobody = TrafficError::NobodySends { pattern, nodes: 2 };
            assert_eq!(build(pattern, 2, 1).unwrap_err(), nobody);
        }
        assert!(matches!(build("tornado", 4, 1), Err(TrafficError::NobodySends { nodes: 4, .. })));
        assert!(matches!(build("random-permutation", 2, 2), Err(TrafficError::NobodySends { .. })));
        assert!(build("random-permutation", 2, 1).is_ok() && build("neighbor", 2, 1).is_ok());
    }

    #[test]
    fn a_load_of_many_digits_is_exact_or_refused() {
        let traffic = build("uniform", "60B", "bernoulli", ".123456789012345678").unwrap();
        assert!((traffic.rate().as_f64() * 8.0 - 0.123_456_789_012_345_68).abs() < 1e-15);
        assert_eq!(Rate::new(&[u128::MAX, 3], &[1, 2]), None);
        assert_eq!(Rate::new(&[1], &[0]), None);
    }

    #[test]
    fn replies_load_the_way_back() {
        let choice = TrafficChoice {
            destinations: destination::parse("tornado").unwrap(),
            sizes: size::fixed("20B"),
            arrivals: arrival::parse("saturating").unwrap(),
            replies: Some(Replies { payload: 60, outstanding: Some(4) }),
        };
        let shape =
            Shape { nodes: 8, dimensions: vec![8], parts: vec![Parts::switches(vec![0; 8])], found: None };
        let flits = |payload: u16| 2 + payload.div_ceil(2);
        let injection = Injection { rails: 1, mtu: 1024, flits: &flits, load: Fraction::ONE };
        let traffic = Traffic::build(&choice, &shape, &injection, 1).unwrap();
        // 12 flits to the node three on, and 32 flits back for each 12.
        let [there, back] = [(0, 3), (3, 0)].map(|(a, b)| traffic.weight(NodeId(a), NodeId(b)));
        assert!((there - 1.0).abs() < 1e-12 && (back - 32.0 / 12.0).abs() < 1e-12, "{there} {back}");
        assert!(traffic.is_closed_loop());
        let large = TrafficChoice { replies: Some(Replies { payload: 1025, outstanding: None }), ..choice };
        let error = Traffic::build(&large, &shape, &injection, 1).unwrap_err();
        assert_eq!(error, TrafficError::ReplyAboveMtu { payload: 1025, mtu: 1024 });
    }

    #[test]
    fn no_load_creates_nothing() {
        let traffic = Arc::new(build("uniform", "60B", "bernoulli", "0").unwrap());
        assert_eq!(Source::new(&traffic, NodeId(3)).next_creation(), None);
    }
}
