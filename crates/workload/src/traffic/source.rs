//! The packets of one node, drawn one after another.

use super::Traffic;
use super::arrival::Progress;
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::NodeId;
use std::sync::Arc;

/// A packet as it comes into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Creation {
    /// When.
    pub created: Cycle,
    /// For whom.
    pub destination: NodeId,
    /// How much, in bytes.
    pub payload: u16,
}

/// The packets of one node: a sequence that (traffic, seed, node) determines.
#[derive(Clone, Debug)]
pub struct Source {
    traffic: Arc<Traffic>,
    node: NodeId,
    /// The next creation, and the cycle that it is in.
    next: Option<(Progress, Cycle)>,
    /// Packets drawn so far.
    drawn: u64,
    arrivals: Stream,
    destinations: Stream,
    sizes: Stream,
}

impl Source {
    /// The source of `node`.
    #[must_use]
    pub fn new(traffic: &Arc<Traffic>, node: NodeId) -> Self {
        let stream = |purpose| Stream::new(traffic.seed, node.0.into(), purpose);
        let mut arrivals = stream(Purpose::Arrival);
        let silent = traffic.destinations.is_silent(node);
        let progress = if silent { None } else { traffic.arrivals.start(&mut arrivals) };
        Source {
            traffic: Arc::clone(traffic),
            node,
            next: progress.map(|progress| (progress, traffic.arrivals.cycle(progress))),
            drawn: 0,
            arrivals,
            destinations: stream(Purpose::Destination),
            sizes: stream(Purpose::Size),
        }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The traffic that it is a part of.
    #[must_use]
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// When the next packet comes into being; `None` if none ever does.
    #[inline]
    #[must_use]
    pub fn next_creation(&self) -> Option<Cycle> {
        self.next.map(|(_, cycle)| cycle)
    }

    /// The next packet, created at [`Source::next_creation`].
    #[inline]
    pub fn create(&mut self) -> Option<Creation> {
        let (progress, created) = self.next?;
        let arrivals = &self.traffic.arrivals;
        let next = arrivals.advance(progress, &mut self.arrivals);
        self.next = next.map(|progress| (progress, arrivals.cycle(progress)));
        self.draw(created)
    }

    /// A packet created now, for a source that always has one; `None` if the node is silent or the source is not
    /// saturating.
    pub fn pull(&mut self, now: Cycle) -> Option<Creation> {
        let saturating = self.traffic.arrivals.is_saturating() && self.next.is_some();
        if saturating { self.draw(now) } else { None }
    }

    #[inline]
    fn draw(&mut self, created: Cycle) -> Option<Creation> {
        let destination = self.traffic.destinations.draw(self.node, self.drawn, &mut self.destinations)?;
        self.drawn += 1;
        Some(Creation { created, destination, payload: self.traffic.sizes.draw(&mut self.sizes) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Injection, Shape, TrafficChoice, arrival, destination, size};
    use super::*;
    use crate::Fraction;
    use crate::Parts;

    fn traffic(pattern: &str, arrival: &str, seed: u64) -> Arc<Traffic> {
        let choice = TrafficChoice {
            destinations: destination::parse(pattern).unwrap(),
            sizes: size::fixed("64B"),
            arrivals: arrival::parse(arrival).unwrap(),
            replies: None,
        };
        let shape = Shape {
            nodes: 16,
            dimensions: vec![4, 4],
            parts: vec![Parts::switches(vec![0; 16])],
            found: None,
        };
        let injection = Injection { rails: 1, mtu: 64, flits: &|_| 32, load: Fraction::percent(50) };
        Arc::new(Traffic::build(&choice, &shape, &injection, seed).unwrap())
    }

    fn first(traffic: &Arc<Traffic>, node: u32) -> Vec<Creation> {
        let mut source = Source::new(traffic, NodeId(node));
        (0..50).map_while(|_| source.create()).collect()
    }

    #[test]
    fn seed_and_node_determine_the_sequence() {
        let one = traffic("uniform", "bernoulli", 1);
        assert_eq!(first(&one, 3), first(&traffic("uniform", "bernoulli", 1), 3));
        assert_ne!(first(&one, 3), first(&one, 4));
        assert_ne!(first(&one, 3), first(&traffic("uniform", "bernoulli", 2), 3));
        assert!(first(&one, 3).is_sorted_by_key(|creation| creation.created));
    }

    #[test]
    fn another_arrival_process_does_not_change_the_destinations() {
        let destinations = |arrival| -> Vec<NodeId> {
            first(&traffic("uniform", arrival, 1), 3).iter().map(|creation| creation.destination).collect()
        };
        assert_eq!(destinations("bernoulli"), destinations("periodic"));
    }

    #[test]
    fn a_node_that_the_permutation_fixes_is_silent() {
        let transpose = traffic("transpose", "saturating", 1);
        let mut diagonal = Source::new(&transpose, NodeId(5));
        assert_eq!(
            (diagonal.next_creation(), diagonal.create(), diagonal.pull(Cycle(9))),
            (None, None, None)
        );
        assert_eq!(transpose.destinations().silent_nodes(), 4);
    }

    #[test]
    fn only_a_saturating_source_has_a_packet_whenever_it_is_asked() {
        let mut source = Source::new(&traffic("transpose", "saturating", 1), NodeId(1));
        for now in [0, 0, 7] {
            let expected = Creation { created: Cycle(now), destination: NodeId(4), payload: 64 };
            assert_eq!(source.pull(Cycle(now)), Some(expected));
        }
        let mut source = Source::new(&traffic("transpose", "bernoulli", 1), NodeId(1));
        assert_eq!(source.pull(Cycle(0)), None);
    }
}
