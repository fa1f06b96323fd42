//! The ranks of a task graph on one node, and their messages as packets.
//!
//! **Out.** A message of `b` bytes becomes `ceil(b / MTU)` packets, all of the MTU but the last; a message without bytes
//! is one packet of one byte. All are handed to the NIC ports in the cycle in which the send overhead ends. A message
//! of up to `whole_up_to` bytes goes whole on one rail, the rails taking turns by message; a longer one packet by
//! packet, the rails taking turns by packet (OQ-D2). A send that names a NIC takes that rail. Each packet draws its
//! lane (OQ-H12).
//!
//! **In.** Messages are put together by [`crate::assembly`]. The ranks match them in the order of sending.
//!
//! **Within the node.** A message between ranks of one node, or of a rank to itself, costs o_s and o_r like any other
//! and no time in between; it makes no packet.

use crate::assembly::{Assembly, Part, Progress};
use crate::exchange::{Exchange, Numbered};
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::{Delivery, Endpoint, Outgoing, Packet, Up};
use flitway_wiring::NodeId;
use flitway_wiring::{Destination, RailId};
use flitway_workload::graph::stuck::{self, Stuck};
use flitway_workload::graph::{Envelope, GraphSummary, HandOver, MessageId, RankId, RankRun, Work};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a messenger has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessengerCounts {
    /// Messages to other nodes.
    pub messages: u64,
    /// Their packets.
    pub packets: u64,
    /// Messages within the node.
    pub local_messages: u64,
    /// Packets that have come from other nodes.
    pub packets_received: u64,
}

/// The ranks of a task graph on one node; there may be none.
#[derive(Debug)]
pub struct Messenger {
    exchange: Arc<Exchange>,
    node: NodeId,
    ranks: Vec<RankRun>,
    lanes: Stream,
    /// The rail of the next message that goes whole.
    message_rail: u32,
    /// The rail of the next packet of a message that does not.
    packet_rail: u32,
    /// Messages handed over so far, by node.
    sequences: BTreeMap<NodeId, u32>,
    /// Messages that have begun to arrive, by node.
    assemblies: BTreeMap<NodeId, Assembly>,
    counts: MessengerCounts,
    /// Room that is used again.
    handed: Vec<HandOver>,
    progress: Vec<Progress>,
}

impl Messenger {
    /// The messenger of `node`.
    #[must_use]
    pub fn new(exchange: &Arc<Exchange>, node: NodeId) -> Self {
        let settings = exchange.settings();
        let ranks = exchange.placement().ranks_on(node);
        Messenger {
            ranks: ranks.map(|rank| RankRun::new(exchange.graph(), rank, settings.costs)).collect(),
            lanes: Stream::new(settings.seed, node.0.into(), Purpose::Lane),
            exchange: Arc::clone(exchange),
            node,
            message_rail: 0,
            packet_rail: 0,
            sequences: BTreeMap::new(),
            assemblies: BTreeMap::new(),
            counts: MessengerCounts::default(),
            handed: Vec::new(),
            progress: Vec::new(),
        }
    }

    /// The ranks of this node.
    #[must_use]
    pub fn ranks(&self) -> &[RankRun] {
        &self.ranks
    }

    /// True when all ranks of this node have finished.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.ranks.iter().all(RankRun::is_finished)
    }

    /// What it has sent so far.
    #[must_use]
    pub fn counts(&self) -> MessengerCounts {
        self.counts
    }

    /// Messages that have begun to arrive and are not whole, or wait for one before them.
    #[must_use]
    pub fn incomplete_messages(&self) -> usize {
        self.assemblies.values().map(Assembly::len).sum()
    }

    /// Does all that happens in cycle `now` without an arrival.
    fn run(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        loop {
            let mut next = Cycle::NEVER;
            let mut handed = std::mem::take(&mut self.handed);
            for rank in &mut self.ranks {
                next = next.min(rank.advance(now, &mut handed).unwrap_or(Cycle::NEVER));
            }
            let mut local = false;
            for message in handed.drain(..) {
                local |= self.hand_over(now, &message, out);
            }
            self.handed = handed;
            if !local {
                return (next != Cycle::NEVER).then_some(next);
            }
        }
    }

    /// Sends a message, or passes it on within the node: then a rank has to be looked at again.
    fn hand_over(&mut self, now: Cycle, message: &HandOver, out: &mut Outgoing) -> bool {
        let destination = self.exchange.placement().node(message.destination);
        if destination == self.node {
            self.counts.local_messages += 1;
            let rank = self.rank(message.destination);
            rank.announce(message.envelope);
            rank.complete(message.envelope.message);
            return true;
        }
        self.send(now, message, destination, out);
        false
    }

    fn send(&mut self, now: Cycle, message: &HandOver, destination: NodeId, out: &mut Outgoing) {
        let settings = self.exchange.settings();
        let number = self.exchange.number(self.node, destination, message.envelope.message);
        let sequence = self.sequences.entry(destination).or_insert(0);
        let flow = Numbered { sequence: *sequence, number }.flow();
        *sequence += 1;
        let bytes = message.envelope.bytes;
        let mut left = payload_of_all(bytes);
        let one_rail = message.nic.map(u32::from).or_else(|| {
            (bytes <= settings.whole_up_to).then(|| take_turn(&mut self.message_rail, settings.rails))
        });
        while left > 0 {
            let payload = left.min(settings.mtu.into()) as u16;
            left -= u64::from(payload);
            let rail = one_rail.unwrap_or_else(|| take_turn(&mut self.packet_rail, settings.rails));
            let lane = self.lanes.bits() as u32;
            let destination = Destination::Node(destination);
            out.push(Packet { destination, rail: RailId(rail), lane, payload, created: now, flow });
            self.counts.packets += 1;
        }
        self.counts.messages += 1;
    }

    /// Puts a packet where it belongs and tells the ranks.
    fn arrive(&mut self, delivery: &Delivery) {
        self.counts.packets_received += 1;
        let numbered = Numbered::of(delivery.flow);
        let message = self.exchange.message(delivery.source, self.node, numbered.number);
        let (_, envelope) = self.envelope(message);
        let part = Part {
            sequence: numbered.sequence,
            message,
            payload: delivery.payload.into(),
            total: payload_of_all(envelope.bytes),
        };
        let mut progress = std::mem::take(&mut self.progress);
        self.assemblies.entry(delivery.source).or_default().arrive(part, &mut progress);
        for step in progress.drain(..) {
            match step {
                Progress::Announced(message) => {
                    let (to, envelope) = self.envelope(message);
                    self.rank(to).announce(envelope);
                }
                Progress::Complete(message) => {
                    let (to, _) = self.envelope(message);
                    self.rank(to).complete(message);
                }
            }
        }
        self.progress = progress;
    }

    /// What the graph says of a message, and for whom it is.
    fn envelope(&self, message: MessageId) -> (RankId, Envelope) {
        match self.exchange.graph().task(message.source, message.task).work {
            Work::Send { to, bytes, tag } => (to, Envelope { message, tag, bytes }),
            Work::Calc { .. } | Work::Recv { .. } => unreachable!("a message comes from a send"),
        }
    }

    fn rank(&mut self, rank: RankId) -> &mut RankRun {
        let place = self.ranks.binary_search_by_key(&rank, RankRun::rank);
        &mut self.ranks[place.expect("a message comes to the node of its rank")]
    }
}

/// Payload of all packets of a message: one byte at least, so that there is a packet.
fn payload_of_all(bytes: u64) -> u64 {
    bytes.max(1)
}

fn take_turn(rail: &mut u32, rails: u32) -> u32 {
    let turn = *rail;
    *rail = (turn + 1) % rails;
    turn
}

impl Endpoint for Messenger {
    fn takes_part(&self) -> bool {
        !self.ranks.is_empty()
    }

    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.run(now, out)
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        // What ends in this cycle comes before what arrives in it, whether or not the node has been woken in it.
        self.run(now, out);
        if let Up::Delivery(delivery) = up {
            self.arrive(delivery);
        }
        self.run(now, out)
    }
}

fn all_ranks<'a>(messengers: impl IntoIterator<Item = &'a Messenger>) -> Vec<&'a RankRun> {
    let mut runs: Vec<&RankRun> = messengers.into_iter().flat_map(Messenger::ranks).collect();
    runs.sort_by_key(|run| run.rank());
    runs
}

/// What is left of the graph after a run; see [`stuck::stuck`]. Takes the messengers of all nodes.
#[must_use]
pub fn stuck<'a>(messengers: impl IntoIterator<Item = &'a Messenger>, most: usize) -> Option<Stuck> {
    stuck::stuck(&all_ranks(messengers), most)
}

/// What the graph came to. Takes the messengers of all nodes.
#[must_use]
pub fn summary<'a>(messengers: impl IntoIterator<Item = &'a Messenger>) -> GraphSummary {
    GraphSummary::new(all_ranks(messengers).into_iter().map(RankRun::summary).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::MessengerSettings;
    use crate::testing::run;
    use flitway_engine::{Clock, Picos};
    use flitway_workload::graph::{Placement, RankCosts, goal};

    /// Nanoseconds are cycles; o_s is 3, o_r is 5; two rails; an MTU of 64.
    fn messengers(goal: &[u8], placement: &str) -> Vec<Messenger> {
        let graph = Arc::new(goal::read(goal).unwrap());
        let nodes = 64;
        let placement = match placement {
            "" => Placement::linear(graph.ranks(), &Placement::everywhere(nodes)).unwrap(),
            text => Placement::from_text(text, graph.ranks(), nodes).unwrap(),
        };
        let clock = Clock::new(1_000_000_000).unwrap();
        let costs = RankCosts { send_overhead: Picos(3_000), receive_overhead: Picos(5_000), clock };
        let settings = MessengerSettings { rails: 2, mtu: 64, whole_up_to: 64, costs, seed: 1 };
        let exchange = Arc::new(Exchange::new(graph, placement, settings).unwrap());
        (0..nodes).map(|node| Messenger::new(&exchange, NodeId(node))).collect()
    }

    fn completions(messengers: &[Messenger]) -> Vec<Option<u64>> {
        summary(messengers).ranks.iter().map(|rank| rank.completion.map(|cycle| cycle.0)).collect()
    }

    #[test]
    fn a_ping_pong_over_two_rails_takes_turns() {
        // Ranks send on rail 0 first (10 cycles), then on rail 1 (30 cycles).
        let goal = b"num_ranks 2
            rank 0 {
                a: send 8b to 1\nb: recv 8b from 1\nb requires a
                c: send 8b to 1\nc requires b
            }
            rank 1 {
                a: recv 8b from 0\nb: send 8b to 0\nb requires a\nc: recv 8b from 0\n c requires b
            }";
        let mut nodes = messengers(goal, "");
        let sent = run(&mut nodes, &[10, 30], 1_000);
        // 3 + 10 + 5 = 18, + 3 + 10 + 5 = 36, + 3 = 39 + 30 + 5.
        assert_eq!(completions(&nodes), [Some(39), Some(74)]);
        let rails: Vec<u32> = sent.iter().map(|(_, _, packet)| packet.rail.0).collect();
        assert_eq!(rails, [0, 0, 1]);
        assert_eq!(stuck(&nodes, 5), None);
    }

    #[test]
    fn a_long_message_is_cut_to_the_mtu_and_striped() {
        let mut nodes =
            messengers(b"num_ranks 2\nrank 0 {\nsend 200b to 1\n}\nrank 1 {\nrecv 200b from 0\n}", "");
        let sent = run(&mut nodes, &[10, 30], 1_000);
        let packets: Vec<(u64, u32, u16)> =
            sent.iter().map(|(now, _, packet)| (*now, packet.rail.0, packet.payload)).collect();
        assert_eq!(packets, [(3, 0, 64), (3, 1, 64), (3, 0, 64), (3, 1, 8)]);
        // The last byte comes by the slow rail.
        assert_eq!(completions(&nodes), [Some(3), Some(38)]);
        let counts = MessengerCounts { messages: 1, packets: 4, ..MessengerCounts::default() };
        assert_eq!(nodes[0].counts(), counts);
    }

    #[test]
    fn a_message_of_the_threshold_goes_whole_and_one_byte_more_does_not() {
        let rails = |bytes: u64| -> Vec<u32> {
            let goal =
                format!("num_ranks 2\nrank 0 {{\nsend {bytes}b to 1\n}}\nrank 1 {{\nrecv 9b from 0\n}}");
            let sent = run(&mut messengers(goal.as_bytes(), ""), &[1, 1], 1_000);
            sent.iter().map(|(_, _, packet)| packet.rail.0).collect()
        };
        assert_eq!(rails(64), [0]);
        assert_eq!(rails(65), [0, 1]);
        assert_eq!(rails(0), [0]);
    }

    #[test]
    fn a_send_that_names_a_nic_takes_that_rail() {
        let goal = b"num_ranks 2\nrank 0 {\nsend 200b to 1 nic 1\nsend 4b to 1 nic 1\n}\nrank 1 {\n}";
        let sent = run(&mut messengers(goal, ""), &[1, 1], 1_000);
        assert!(sent.len() == 5 && sent.iter().all(|(_, _, packet)| packet.rail == RailId(1)));
    }

    #[test]
    fn equal_messages_that_overtake_each_other_are_received_in_order() {
        // The first message takes rail 0, which is slow; the second rail 1.
        let goal = b"num_ranks 2
            rank 0 {
                a: send 1b to 1\nb: send 2b to 1\nb requires a
            }
            rank 1 {
                x: recv 1b from 0\ny: recv 2b from 0\ny requires x
            }";
        let mut nodes = messengers(goal, "");
        run(&mut nodes, &[100, 1], 1_000);
        // Both are announced at 103: o_r of x, then of y.
        assert_eq!(completions(&nodes), [Some(6), Some(113)]);
        assert_eq!(summary(&nodes).ranks[1].truncated, 0);
    }

    #[test]
    fn a_short_message_does_not_wait_for_the_end_of_a_long_one() {
        // The long one takes both rails from 3 on, the short one rail 0 at 6.
        let goal = b"num_ranks 2
            rank 0 {
                a: send 128b to 1 tag 1\nb: send 1b to 1 tag 2\nb requires a
            }
            rank 1 {
                x: recv 1b from 0 tag 2\ny: recv 128b from 0 tag 1
            }";
        let mut nodes = messengers(goal, "");
        run(&mut nodes, &[10, 100], 17);
        assert_eq!(summary(&nodes).ranks[1].messages_received, 2);
        assert_eq!(nodes[1].incomplete_messages(), 1);
        let mut nodes = messengers(goal, "");
        run(&mut nodes, &[10, 100], 1_000);
        // x from 16 to 21, y from 103 to 108.
        let second = summary(&nodes).ranks[1];
        assert_eq!((second.completion, second.overhead, second.waiting), (Some(Cycle(108)), 10, 98));
    }

    #[test]
    fn ranks_of_one_node_need_no_network() {
        let goal = b"num_ranks 3
            rank 0 {
                a: send 8b to 1\nb: send 8b to 0\nb requires a\nc: recv 8b from 0
            }
            rank 1 {
                a: recv 8b from 0\nb: send 8b to 2\nb requires a
            }
            rank 2 {
                a: recv 8b from 1
            }";
        // Ranks 0 and 1 on node 4, rank 2 on node 1.
        let mut nodes = messengers(goal, "4 4 1");
        let sent = run(&mut nodes, &[10, 10], 1_000);
        assert_eq!(sent.len(), 1);
        // Rank 0: 3, 6, then o_r of its own message. Rank 1: 3 + 5, + 3. Rank 2: 11 + 10 + 5.
        assert_eq!(completions(&nodes), [Some(11), Some(11), Some(26)]);
        assert_eq!(
            nodes[4].counts(),
            MessengerCounts { messages: 1, packets: 1, local_messages: 2, packets_received: 0 }
        );
        assert!(nodes[0].is_finished() && nodes[0].ranks().is_empty());
    }

    #[test]
    fn a_deadlocked_graph_ends_and_says_why() {
        let goal = b"num_ranks 3
            rank 0 {
                a: recv 8b from 1\nb: send 8b to 1\nb requires a
            }
            rank 1 {
                a: recv 8b from 0\nb: send 8b to 0\nb requires a
            }
            rank 2 {
                c: send 7b to 0 tag 5
            }";
        let mut nodes = messengers(goal, "");
        run(&mut nodes, &[10, 10], 1_000);
        assert_eq!(summary(&nodes).completion, None);
        let stuck = stuck(&nodes, 1).unwrap();
        let lines: Vec<String> = stuck.ranks.iter().map(|rank| rank.tasks[0].to_string()).collect();
        let expected = [
            "rank 0 a: recv 8b from 1 tag 0: the send, rank 1 b, has not completed",
            "rank 1 a: recv 8b from 0 tag 0: the send, rank 0 b, has not completed",
        ];
        assert_eq!(lines, expected);
        assert_eq!(stuck.unmatched[0].to_string(), "rank 2 c: send 7b to 0 tag 5: arrived, never received");
    }

    #[test]
    fn the_order_of_deliveries_and_wakes_in_a_cycle_does_not_matter() {
        // A calc ends in the cycle in which the message arrives: what it allows goes first.
        let goal = b"num_ranks 2
            rank 0 {\nsend 1b to 1\n}
            rank 1 {
                r: recv 1b from 0\nc: calc 13\nd: calc 20\nd requires c
            }";
        let mut nodes = messengers(goal, "");
        run(&mut nodes, &[10, 10], 1_000);
        assert_eq!(completions(&nodes)[1], Some(13 + 20 + 5));
        let mut nodes = messengers(goal, "");
        let mut out = Outgoing::new();
        nodes[0].wake(Cycle(0), &mut out);
        nodes[0].wake(Cycle(3), &mut out);
        let packet = out.packets.remove(0);
        assert_eq!(nodes[1].wake(Cycle(0), &mut out), Some(Cycle(13)));
        assert_eq!(nodes[1].wake(Cycle(13), &mut out), Some(Cycle(33)));
        let delivery = Delivery {
            source: NodeId(0),
            destination: NodeId(1),
            group: None,
            rail: packet.rail,
            vc: 0,
            payload: packet.payload,
            flits: 1,
            hops: 1,
            created: packet.created,
            injected: packet.created,
            delivered: Cycle(13),
            is_corrupt: false,
            flow: packet.flow,
        };
        assert_eq!(nodes[1].hear(Cycle(13), Up::Delivery(&delivery), &mut out), Some(Cycle(33)));
        assert_eq!(nodes[1].wake(Cycle(33), &mut out), Some(Cycle(38)));
    }

    /// The recording of a real LAMMPS run on 32 ranks.
    #[test]
    fn the_lammps_trace_runs_to_completion() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces/lammps-lj-32.goal.gz");
        let Ok(file) = std::fs::read(path) else { return };
        let mut nodes = messengers(&file, "");
        run(&mut nodes, &[100, 170], u64::MAX);
        assert_eq!(stuck(&nodes, 5), None);
        let summary = summary(&nodes);
        assert_eq!(summary.messages, 23_133);
        assert!(summary.completion.is_some());
        assert!(nodes.iter().all(|node| node.incomplete_messages() == 0));
    }
}
