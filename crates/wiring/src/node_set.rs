//! Sets of nodes as bit strings: the header of a worm, and what a port of a switch reaches.

use crate::NodeId;
use serde::{Deserialize, Serialize};

/// A set of nodes: one bit for each node of the fabric, or fewer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// The set of these nodes.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let mut set = NodeSet::default();
        nodes.into_iter().for_each(|node| set.insert(node));
        set
    }

    /// Adds `node`.
    pub fn insert(&mut self, node: NodeId) {
        let word = node.index() / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (node.index() % 64);
    }

    /// Takes out `node`.
    pub fn remove(&mut self, node: NodeId) {
        if let Some(word) = self.words.get_mut(node.index() / 64) {
            *word &= !(1 << (node.index() % 64));
        }
    }

    /// Whether `node` is in it.
    #[inline]
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        self.words.get(node.index() / 64).is_some_and(|word| word >> (node.index() % 64) & 1 == 1)
    }

    /// Whether a node is in both: the bitwise AND is not zero.
    #[inline]
    #[must_use]
    pub fn intersects(&self, other: &NodeSet) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// Adds the nodes of `other`.
    pub fn add_all(&mut self, other: &NodeSet) {
        self.words.resize(self.words.len().max(other.words.len()), 0);
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Its nodes that are in `other`, too.
    #[must_use]
    pub fn of_both(&self, other: &NodeSet) -> NodeSet {
        NodeSet { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    /// Its nodes that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &NodeSet) -> NodeSet {
        let others = other.words.iter().copied().chain(std::iter::repeat(0));
        NodeSet { words: self.words.iter().zip(others).map(|(word, other)| word & !other).collect() }
    }

    /// Whether all of its nodes are in `other`.
    #[must_use]
    pub fn is_within(&self, other: &NodeSet) -> bool {
        let beyond = self.words.iter().skip(other.words.len()).all(|&word| word == 0);
        beyond && self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    /// Whether it is a run: consecutive nodes, one or more.
    #[must_use]
    pub fn is_run(&self) -> bool {
        let mut nodes = self.iter();
        let first = nodes.next();
        let last = nodes.last().or(first);
        first.zip(last).is_some_and(|(first, last)| last.0 - first.0 + 1 == self.len())
    }

    /// The fewest runs of consecutive nodes that it is made of, where those that are also in `free` may be in a run, too.
    #[must_use]
    pub fn runs(&self, free: &NodeSet) -> Vec<NodeSet> {
        let mut runs: Vec<NodeSet> = Vec::new();
        let mut last: Option<NodeId> = None;
        for node in self.iter() {
            let between = |last: NodeId| last.0 + 1..node.0;
            match last.filter(|last| between(*last).all(|gap| free.contains(NodeId(gap)))) {
                Some(last) => {
                    if let Some(run) = runs.last_mut() {
                        (last.0 + 1..=node.0).for_each(|node| run.insert(NodeId(node)));
                    }
                }
                None => runs.push(NodeSet::new([node])),
            }
            last = Some(node);
        }
        runs
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Number of nodes in it.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Its nodes, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> {
        let bits = |(place, &word): (usize, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| NodeId::new(64 * place + bit))
        };
        self.words.iter().enumerate().flat_map(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_what_was_put_into_it() {
        let mut set = NodeSet::new([3, 64, 3, 200].map(NodeId));
        assert_eq!((set.len(), set.iter().map(|node| node.0).collect::<Vec<_>>()), (3, vec![3, 64, 200]));
        assert!(set.contains(NodeId(64)) && !set.contains(NodeId(65)) && !set.contains(NodeId(9_999)));
        let low = NodeSet::new([NodeId(3)]);
        assert!(low.is_within(&set) && !set.is_within(&low) && set.intersects(&low));
        assert!(!NodeSet::new([NodeId(4), NodeId(65)]).intersects(&set));
        let all = NodeSet::new([3, 4, 5, 7, 9].map(NodeId));
        let runs = |free: &[u32]| {
            let free = NodeSet::new(free.iter().copied().map(NodeId));
            let runs = all.runs(&free);
            assert!(runs.iter().all(NodeSet::is_run));
            runs.iter().map(NodeSet::len).collect::<Vec<_>>()
        };
        assert_eq!((runs(&[]), runs(&[6, 2]), runs(&[6, 8])), (vec![3, 1, 1], vec![5, 1], vec![7]));
        assert!(!all.is_run() && !NodeSet::default().is_run() && NodeSet::default().runs(&all).is_empty());
        set.remove(NodeId(200));
        assert!(!set.is_within(&low));
        set.remove(NodeId(64));
        assert!(set.is_within(&low) && !set.is_empty());
        set.remove(NodeId(3));
        set.remove(NodeId(9_999));
        assert!(set.is_empty() && !set.intersects(&low));
    }

    #[test]
    fn sets_are_joined_cut_and_subtracted() {
        let mut set = NodeSet::new([3, 64].map(NodeId));
        let low = NodeSet::new([NodeId(3)]);
        let ids = |set: &NodeSet| set.iter().map(|node| node.0).collect::<Vec<_>>();
        let far = NodeSet::new([3, 300].map(NodeId));
        assert_eq!((ids(&far.of_both(&set)), ids(&set.of_both(&far))), (vec![3], vec![3]));
        assert_eq!(
            (ids(&far.without(&low)), ids(&low.without(&far)), ids(&set.without(&low))),
            (vec![300], vec![], vec![64])
        );
        set.add_all(&far);
        assert_eq!(ids(&set), [3, 64, 300]);
    }
}
