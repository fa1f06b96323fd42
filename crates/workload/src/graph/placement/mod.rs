//! Which rank runs on which node.
//!
//! In an [`Order`] of the nodes that are free, one on each: by their numbers, or by the parts of the machine. From a file: a
//! node number for each rank, in order, with `#` comments; only a file may put several ranks on one node.

mod order;

pub use order::{CATALOG, Order, OrderArguments, Reader, is_order, parse};

use super::RankId;
use crate::Parts;
use crate::catalog::nearest;
use flitway_wiring::NodeId;
use std::fmt;

/// The node of each rank, and the ranks of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    nodes: Box<[NodeId]>,
    /// Ranks by node, then by number.
    by_node: Box<[(NodeId, RankId)]>,
}

/// Why ranks cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// Fewer nodes than ranks.
    TooFewNodes {
        /// Ranks to place.
        ranks: u32,
        /// Nodes that are free.
        nodes: u32,
    },
    /// Fewer places than ranks, where each part takes so many.
    TooFewPlaces {
        /// Ranks to place.
        ranks: u32,
        /// Ranks that a part takes at most.
        each: u32,
        /// What the parts are.
        parts: String,
        /// Places that they have on free nodes.
        places: u32,
    },
    /// Parts that the machine does not have.
    NoSuchParts {
        /// What was read.
        read: String,
        /// What it has.
        known: Vec<String>,
    },
    /// A file that does not have a node for each rank.
    WrongCount {
        /// Ranks to place.
        ranks: u32,
        /// Nodes in the file.
        listed: usize,
    },
    /// A word that is not a node number.
    NotANumber {
        /// The line, from 1.
        line: u32,
        /// The word.
        read: String,
    },
    /// A node that the machine does not have.
    NoSuchNode {
        /// The line, from 1.
        line: u32,
        /// What was read.
        read: String,
        /// Nodes of the machine.
        nodes: u32,
    },
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacementError::TooFewNodes { ranks, nodes } => {
                write!(
                    f,
                    "{ranks} ranks do not fit {nodes} free nodes, one on each; a file may put several on a node"
                )
            }
            PlacementError::TooFewPlaces { ranks, each, parts, places } => {
                write!(
                    f,
                    "{ranks} ranks do not fit: at most {each} in each of the {parts} are {places} places"
                )
            }
            PlacementError::NoSuchParts { read, known } => {
                let meant = nearest(read, known.iter().map(String::as_str));
                write!(f, "the machine is not divided into `{read}`")?;
                if let Some(meant) = meant {
                    write!(f, "; did you mean `{meant}`?")?;
                }
                write!(f, " (it has: {})", known.join(", "))
            }
            PlacementError::WrongCount { ranks, listed } => {
                write!(f, "expected a node for each of {ranks} ranks, found {listed}")
            }
            PlacementError::NotANumber { line, read } => {
                write!(f, "line {line}: expected a node number, not `{read}`")
            }
            PlacementError::NoSuchNode { line, read, nodes } => {
                write!(f, "line {line}: there is no node {read}: the machine has {nodes}, numbered from 0")
            }
        }
    }
}

impl std::error::Error for PlacementError {}

impl Placement {
    /// Rank r on the node number r of those that are `free`.
    ///
    /// # Errors
    /// If there are more ranks than nodes.
    pub fn linear(ranks: u32, free: &[NodeId]) -> Result<Self, PlacementError> {
        Self::ordered(&Order::Linear, ranks, free, &[], 0)
    }

    /// Each rank on a node of its own among those that are `free`, taken in `order`. The machine is divided as `divisions`
    /// say; `seed` decides what is random.
    ///
    /// # Errors
    /// If there are more ranks than nodes, or the machine does not have the parts that `order` names.
    pub fn ordered(
        order: &Order,
        ranks: u32,
        free: &[NodeId],
        divisions: &[Parts],
        seed: u64,
    ) -> Result<Self, PlacementError> {
        let nodes = free.len() as u32;
        if ranks > nodes {
            return Err(PlacementError::TooFewNodes { ranks, nodes });
        }
        order.take(ranks, free, divisions, seed).map(Self::new)
    }

    /// From the text of a file: node numbers divided by white space, one for each rank.
    ///
    /// # Errors
    /// All words that are no nodes of the machine; then a wrong number of nodes.
    pub fn from_text(text: &str, ranks: u32, nodes: u32) -> Result<Self, Vec<PlacementError>> {
        let (mut placed, mut errors) = (Vec::new(), Vec::new());
        for (line, content) in (1u32..).zip(text.lines()) {
            for word in content.split('#').next().unwrap_or("").split_whitespace() {
                if !word.bytes().all(|byte| byte.is_ascii_digit()) {
                    errors.push(PlacementError::NotANumber { line, read: word.to_owned() });
                    continue;
                }
                match word.parse().ok().filter(|&node| node < nodes) {
                    Some(node) => placed.push(NodeId(node)),
                    None => errors.push(PlacementError::NoSuchNode { line, read: word.to_owned(), nodes }),
                }
            }
        }
        let listed = placed.len() + errors.len();
        if listed != ranks as usize {
            errors.push(PlacementError::WrongCount { ranks, listed });
        }
        if errors.is_empty() { Ok(Self::new(placed)) } else { Err(errors) }
    }

    /// All nodes of a machine: those that are free where nothing has been placed.
    #[must_use]
    pub fn everywhere(nodes: u32) -> Vec<NodeId> {
        (0..nodes).map(NodeId).collect()
    }

    fn new(nodes: Vec<NodeId>) -> Self {
        let mut by_node: Vec<(NodeId, RankId)> =
            nodes.iter().enumerate().map(|(rank, &node)| (node, RankId::new(rank))).collect();
        by_node.sort_unstable();
        Placement { nodes: nodes.into(), by_node: by_node.into() }
    }

    /// Ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// The node of a rank.
    #[inline]
    #[must_use]
    pub fn node(&self, rank: RankId) -> NodeId {
        self.nodes[rank.index()]
    }

    /// Takes the nodes on which it puts ranks out of those that are `free`.
    pub fn occupy(&self, free: &mut Vec<NodeId>) {
        free.retain(|&node| self.ranks_on(node).next().is_none());
    }

    /// The ranks of a node, in order.
    pub fn ranks_on(&self, node: NodeId) -> impl Iterator<Item = RankId> + '_ {
        let first = self.by_node.partition_point(|&(other, _)| other < node);
        self.by_node[first..].iter().take_while(move |&&(other, _)| other == node).map(|&(_, rank)| rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(placement: &Placement) -> Vec<u32> {
        (0..placement.ranks()).map(|rank| placement.node(RankId(rank)).0).collect()
    }

    #[test]
    fn linear_and_random_use_each_node_once() {
        let everywhere = Placement::everywhere(8);
        let random =
            |ranks, seed| Placement::ordered(&parse("random").unwrap(), ranks, &everywhere, &[], seed);
        assert_eq!(nodes(&Placement::linear(3, &everywhere).unwrap()), [0, 1, 2]);
        let mut sorted = nodes(&random(8, 1).unwrap());
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(random(8, 1), random(8, 1));
        assert_ne!(random(8, 1), random(8, 2));
        let error = PlacementError::TooFewNodes { ranks: 9, nodes: 8 };
        assert_eq!(Placement::linear(9, &everywhere), Err(error.clone()));
        assert_eq!(random(9, 1), Err(error));
    }

    #[test]
    fn a_file_may_put_several_ranks_on_a_node() {
        let placement = Placement::from_text("# four ranks\n3 1\n3 # again\n0\n", 4, 4).unwrap();
        assert_eq!(nodes(&placement), [3, 1, 3, 0]);
        assert_eq!(placement.ranks_on(NodeId(3)).collect::<Vec<_>>(), [RankId(0), RankId(2)]);
        assert_eq!(placement.ranks_on(NodeId(2)).count(), 0);
    }

    #[test]
    fn all_mistakes_of_a_file_are_reported() {
        let errors = Placement::from_text("0 x\n4\n99999999999\n", 5, 4).unwrap_err();
        let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let expected = [
            "line 1: expected a node number, not `x`",
            "line 2: there is no node 4: the machine has 4, numbered from 0",
            "line 3: there is no node 99999999999: the machine has 4, numbered from 0",
            "expected a node for each of 5 ranks, found 4",
        ];
        assert_eq!(messages, expected);
    }
}
