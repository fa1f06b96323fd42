//! What the nodes of a task graph share, and never change: the graph, the placement, the settings, and a number for
//! each message.
//!
//! A packet carries 32 bits. They hold the message's **sequence number** among the messages from its node to the other,
//! in the order of hand-over, and its **number** in a list of those messages that both ends look up: the sends of the
//! ranks of one node to ranks of the other, by rank and task. The number tells the receiver which send this is, and so
//! its length and tag; the sequence tells the order, which is known at run time only.

use flitway_fabric::{Flow, FlowKind};
use flitway_wiring::NodeId;
use flitway_workload::graph::{MessageId, Placement, RankCosts, RankId, TaskGraph, TaskId, Work};
use std::fmt;
use std::sync::Arc;

/// How messages become packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessengerSettings {
    /// NIC ports of a node, one in each rail.
    pub rails: u32,
    /// Largest payload of a packet in bytes.
    pub mtu: u16,
    /// Messages of up to this many bytes go whole on one rail, the rails taking turns by message (NAP); longer ones
    /// packet by packet over the rails (MSG). Source: OQ-D2.
    pub whole_up_to: u64,
    /// What communication costs a cpu. Source: OQ-H17.
    pub costs: RankCosts,
    /// For the lanes of packets.
    pub seed: u64,
}

/// Why a graph cannot run with a placement and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeError {
    /// The placement is for another number of ranks.
    WrongPlacement {
        /// Ranks of the graph.
        ranks: u32,
        /// Ranks placed.
        placed: u32,
    },
    /// A send names a NIC that the nodes do not have.
    NoSuchNic {
        /// The rank.
        rank: RankId,
        /// The label of the send.
        label: String,
        /// The NIC named.
        nic: u8,
        /// Rails, and so NIC ports of a node.
        rails: u32,
    },
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExchangeError::WrongPlacement { ranks, placed } => {
                write!(f, "the graph has {ranks} ranks, and {placed} are placed")
            }
            ExchangeError::NoSuchNic { rank, label, nic, rails } => {
                write!(f, "rank {rank} {label} names nic {nic}, and nodes have {rails}, numbered from 0")
            }
        }
    }
}

impl std::error::Error for ExchangeError {}

/// What the nodes of a task graph share.
#[derive(Debug)]
pub struct Exchange {
    graph: Arc<TaskGraph>,
    placement: Placement,
    settings: MessengerSettings,
    /// The list of each pair of nodes, by source and destination: where it begins.
    pairs: Box<[(NodeId, NodeId, usize)]>,
    /// The lists, one behind the other, each by rank and task.
    messages: Box<[MessageId]>,
}

/// A message among those from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    /// In the order of hand-over.
    pub(crate) sequence: u32,
    /// In the list of the pair of nodes.
    pub(crate) number: u32,
}

impl Numbered {
    pub(crate) fn flow(self) -> Flow {
        Flow::new(FlowKind::Message, u64::from(self.sequence) << 32 | u64::from(self.number))
    }

    pub(crate) fn of(flow: Flow) -> Self {
        Numbered { sequence: (flow.tag >> 32) as u32, number: flow.tag as u32 }
    }
}

impl Exchange {
    /// Fits a graph to a machine.
    ///
    /// # Errors
    /// If the placement is for another graph, or a send names a NIC that is not there.
    ///
    /// # Panics
    /// Without a rail, or with an MTU of zero.
    pub fn new(
        graph: Arc<TaskGraph>,
        placement: Placement,
        settings: MessengerSettings,
    ) -> Result<Self, ExchangeError> {
        assert!(settings.rails > 0 && settings.mtu > 0, "packets of a byte or more on a rail or more");
        if placement.ranks() != graph.ranks() {
            let (ranks, placed) = (graph.ranks(), placement.ranks());
            return Err(ExchangeError::WrongPlacement { ranks, placed });
        }
        let mut sends = Vec::new();
        for rank in (0..graph.ranks()).map(RankId) {
            for id in (0..graph.tasks_of(rank)).map(TaskId) {
                let task = graph.task(rank, id);
                let Work::Send { to, .. } = task.work else { continue };
                if let Some(nic) = task.nic.filter(|&nic| u32::from(nic) >= settings.rails) {
                    let label = graph.label(rank, id);
                    return Err(ExchangeError::NoSuchNic { rank, label, nic, rails: settings.rails });
                }
                let (source, destination) = (placement.node(rank), placement.node(to));
                if source != destination {
                    sends.push((source, destination, MessageId { source: rank, task: id }));
                }
            }
        }
        sends.sort_unstable();
        let mut pairs = Vec::new();
        for list in sends.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (source, destination, _) = list[0];
            let start = pairs.last().map_or(0, |&(_, _, end)| end);
            pairs.push((source, destination, start + list.len()));
        }
        // Ends become beginnings.
        let mut start = 0;
        for pair in &mut pairs {
            start = std::mem::replace(&mut pair.2, start);
        }
        let messages = sends.into_iter().map(|(_, _, message)| message).collect();
        Ok(Exchange { graph, placement, settings, pairs: pairs.into(), messages })
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &Arc<TaskGraph> {
        &self.graph
    }

    /// Where the ranks are.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// How messages become packets.
    #[must_use]
    pub fn settings(&self) -> &MessengerSettings {
        &self.settings
    }

    /// The messages from `source` to `destination`.
    fn list(&self, source: NodeId, destination: NodeId) -> &[MessageId] {
        let place = self
            .pairs
            .binary_search_by_key(&(source, destination), |&(source, destination, _)| (source, destination));
        let place = place.expect("a message goes from one node to another of the graph");
        let end = self.pairs.get(place + 1).map_or(self.messages.len(), |&(_, _, start)| start);
        &self.messages[self.pairs[place].2..end]
    }

    /// The number of a message in the list of its nodes.
    pub(crate) fn number(&self, source: NodeId, destination: NodeId, message: MessageId) -> u32 {
        let place = self.list(source, destination).binary_search(&message);
        place.expect("every message is in the list of its nodes") as u32
    }

    /// The message with a number in the list of its nodes.
    pub(crate) fn message(&self, source: NodeId, destination: NodeId, number: u32) -> MessageId {
        self.list(source, destination)[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::{Clock, Picos};
    use flitway_workload::graph::goal;

    fn exchange(goal: &str, placement: &str) -> Result<Exchange, ExchangeError> {
        let graph = Arc::new(goal::read(goal.as_bytes()).unwrap());
        let placement =
            Placement::from_text(placement, placement.split_whitespace().count() as u32, 9).unwrap();
        let clock = Clock::new(1_000_000_000).unwrap();
        let costs = RankCosts { send_overhead: Picos(0), receive_overhead: Picos(0), clock };
        Exchange::new(
            graph,
            placement,
            MessengerSettings { rails: 2, mtu: 64, whole_up_to: 64, costs, seed: 1 },
        )
    }

    #[test]
    fn both_ends_agree_on_the_number_of_a_message() {
        let goal = "num_ranks 3
            rank 0 {\nsend 1b to 1\ncalc 1\nsend 1b to 2\nsend 1b to 1\n}
            rank 1 {\nsend 1b to 0\nsend 1b to 2\n}
            rank 2 {\nsend 1b to 0\n}";
        // Ranks 0 and 2 share node 5.
        let exchange = exchange(goal, "5 3 5").unwrap();
        let (five, three) = (NodeId(5), NodeId(3));
        let id = |rank, task| MessageId { source: RankId(rank), task: TaskId(task) };
        let cases = [
            (five, three, id(0, 0)),
            (five, three, id(0, 3)),
            (three, five, id(1, 0)),
            (three, five, id(1, 1)),
        ];
        for (source, destination, message) in cases {
            let number = exchange.number(source, destination, message);
            assert_eq!(exchange.message(source, destination, number), message);
        }
        assert_eq!(exchange.messages.len(), 4, "messages within a node have no number");
    }

    #[test]
    fn a_tag_holds_sequence_and_number() {
        for numbered in
            [Numbered { sequence: 0, number: u32::MAX }, Numbered { sequence: u32::MAX, number: 1 }]
        {
            assert_eq!(Numbered::of(numbered.flow()), numbered);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let goal = "num_ranks 2\nrank 0 {\nl1: send 1b to 1 nic 2\n}\nrank 1 {\n}";
        assert_eq!(
            exchange(goal, "0 1").unwrap_err().to_string(),
            "rank 0 l1 names nic 2, and nodes have 2, numbered from 0"
        );
        assert_eq!(exchange(goal, "0").unwrap_err(), ExchangeError::WrongPlacement { ranks: 2, placed: 1 });
    }
}
