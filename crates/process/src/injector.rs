//! Synthetic traffic at a node.
//!
//! Each packet of the node's [`Source`] goes whole to one rail, the rails taking turns (OQ-D2), on a lane drawn for it
//! alone (OQ-H12).

use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::{Endpoint, Flow, Outgoing, Packet, Up};
use flitway_wiring::NodeId;
use flitway_wiring::{Destination, RailId};
use flitway_workload::traffic::{Source, Traffic};
use std::sync::Arc;

/// What an injector has created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InjectorCounts {
    /// Packets created.
    pub packets: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

/// Synthetic traffic at a node.
///
/// A saturating source creates at load 1, the rate of the links, at equal intervals: ideal NIC ports do not tell when they are
/// idle.
#[derive(Clone, Debug)]
pub struct Injector {
    source: Source,
    lanes: Stream,
    rails: u32,
    next_rail: u32,
    end: Cycle,
    counts: InjectorCounts,
}

impl Injector {
    /// The injector of `node`, with `rails` NIC ports.
    ///
    /// # Panics
    /// Without a rail.
    #[must_use]
    pub fn new(traffic: &Arc<Traffic>, node: NodeId, rails: u32, seed: u64) -> Self {
        assert!(rails > 0, "a node has a NIC port in one rail or more");
        Injector {
            source: Source::new(traffic, node),
            lanes: Stream::new(seed, node.0.into(), Purpose::Lane),
            rails,
            next_rail: 0,
            end: Cycle::NEVER,
            counts: InjectorCounts::default(),
        }
    }

    /// Creates nothing in cycle `end` and later, so that the network runs empty.
    #[must_use]
    pub fn until(mut self, end: Cycle) -> Self {
        self.end = end;
        self
    }

    /// What it has created so far.
    #[must_use]
    pub fn counts(&self) -> InjectorCounts {
        self.counts
    }

    fn next(&self) -> Option<Cycle> {
        self.source.next_creation().filter(|&created| created < self.end)
    }
}

impl Endpoint for Injector {
    const REACTS: bool = false;

    fn takes_part(&self) -> bool {
        self.next().is_some()
    }

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        while self.next().is_some_and(|created| created <= now) {
            let Some(creation) = self.source.create() else { break };
            out.push(Packet {
                destination: Destination::Node(creation.destination),
                rail: RailId(self.next_rail),
                lane: self.lanes.bits() as u32,
                payload: creation.payload,
                created: creation.created,
                flow: Flow::traffic(self.counts.packets),
            });
            self.next_rail = if self.next_rail + 1 < self.rails { self.next_rail + 1 } else { 0 };
            self.counts.packets += 1;
            self.counts.bytes += u64::from(creation.payload);
        }
        self.next()
    }

    fn hear(&mut self, _: Cycle, _: Up<'_>, _: &mut Outgoing) -> Option<Cycle> {
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;
    use flitway_workload::Fraction;
    use flitway_workload::Parts;
    use flitway_workload::traffic::size::{self, SizeChoice};
    use flitway_workload::traffic::{Injection, Shape, TrafficChoice, arrival, destination};

    const NODES: u32 = 8;

    fn injectors(pattern: &str, arrival: &str) -> Vec<Injector> {
        let SizeChoice::Sizes(sizes) = size::parse("64B").unwrap() else { panic!("a size") };
        let choice = TrafficChoice {
            destinations: destination::parse(pattern).unwrap(),
            sizes,
            arrivals: arrival::parse(arrival).unwrap(),
            replies: None,
        };
        let shape = Shape {
            nodes: NODES,
            dimensions: vec![NODES],
            parts: vec![Parts::switches(vec![0; NODES as usize])],
            found: None,
        };
        let injection = Injection { rails: 3, mtu: 64, flits: &|_| 32, load: Fraction::percent(50) };
        let traffic = Arc::new(Traffic::build(&choice, &shape, &injection, 7).unwrap());
        (0..NODES).map(|node| Injector::new(&traffic, NodeId(node), 3, 7)).collect()
    }

    #[test]
    fn packets_take_turns_over_the_rails_and_are_handed_over_when_created() {
        let mut injectors = injectors("uniform", "bernoulli");
        let sent = run(&mut injectors, &[5, 9, 30], 20_000);
        for node in 0..NODES {
            let packets: Vec<_> = sent.iter().filter(|&&(_, source, _)| source == node).collect();
            // 3 rails at half load of 32 flits: 0.046875 a cycle; standard deviation 30.
            assert!(packets.len().abs_diff(937) < 120, "{}", packets.len());
            for (turn, (now, _, packet)) in packets.iter().enumerate() {
                assert_eq!((packet.rail.0, packet.flow.tag), (turn as u32 % 3, turn as u64));
                assert_eq!(packet.created.0, *now);
            }
            let counts = injectors[node as usize].counts();
            assert_eq!(
                counts,
                InjectorCounts { packets: packets.len() as u64, bytes: packets.len() as u64 * 64 }
            );
        }
    }

    #[test]
    fn lanes_are_random() {
        let sent = run(&mut injectors("uniform", "bernoulli"), &[5, 5, 5], 20_000);
        let mut lanes = [0u32; 3];
        for (_, _, packet) in &sent {
            lanes[packet.lane as usize % 3] += 1;
        }
        // 7,500 packets in three lanes: standard deviation 41.
        assert!(lanes.iter().all(|lane| lane.abs_diff(sent.len() as u32 / 3) < 170), "{lanes:?}");
    }

    #[test]
    fn a_saturating_source_creates_at_the_rate_of_the_links() {
        let sent = run(&mut injectors("uniform", "saturating"), &[5, 5, 5], 32_000);
        for node in 0..NODES {
            let packets = sent.iter().filter(|&&(_, source, _)| source == node).count();
            assert!(packets.abs_diff(3_000) <= 1, "{packets}");
        }
    }

    #[test]
    fn nothing_is_created_at_the_end_or_by_a_silent_node() {
        let until = |end| -> Vec<Injector> {
            injectors("shuffle", "bernoulli").into_iter().map(|injector| injector.until(Cycle(end))).collect()
        };
        let sent = run(&mut until(1_000), &[5, 5, 5], 20_000);
        assert!(sent.len() > 100 && sent.iter().all(|&(now, ..)| now < 1_000));
        assert!(sent.iter().all(|&(_, source, _)| source != 0 && source != NODES - 1));
        assert_eq!(run(&mut until(0), &[5, 5, 5], 20_000), []);
    }
}
