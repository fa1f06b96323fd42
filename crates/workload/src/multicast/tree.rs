//! Multicast by forwarding: trees of packets from node to node, the baselines of multicast in the switches
//! (hpp-switch.txt section 3.4, `mechanisms.md` 1.11 and 4.5).
//!
//! Nodes of an operation have *ranks*: the sender 0, then the other members in ascending order from the sender on, going
//! round. A tree says to which ranks each rank forwards, in which order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// To which ranks each rank forwards, first first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardingTree {
    children: Vec<Box<[u32]>>,
}

impl ForwardingTree {
    /// The sender sends to everybody itself.
    #[must_use]
    pub fn sequence(ranks: u32) -> Self {
        Self::from_lists((0..ranks).map(|rank| if rank == 0 { (1..ranks).collect() } else { Vec::new() }))
    }

    /// Recursive halving of the ordered list: who holds the head of a part sends to the head of its other half. The packets
    /// of one operation never share a link in a tree or a mesh (U-Min, multidestination-worms.txt).
    #[must_use]
    pub fn binomial(ranks: u32) -> Self {
        let mut children = vec![Vec::new(); ranks as usize];
        let mut parts = vec![(0, ranks)];
        while let Some((first, end)) = parts.pop() {
            if end - first > 1 {
                let middle = first + (end - first).div_ceil(2);
                children[first as usize].push(middle);
                // The larger half, which the sender keeps, is halved again before anything else of it.
                parts.extend([(middle, end), (first, middle)]);
            }
        }
        Self::from_lists(children)
    }

    /// The tree that informs `ranks` nodes soonest in the postal model: a node sends every `gap` cycles, and who gets a packet
    /// can send it on `latency` cycles after its sender began. Greedy is optimal: whoever can send first sends to the next.
    #[must_use]
    pub fn postal(ranks: u32, gap: u64, latency: u64) -> Self {
        let mut children = vec![Vec::new(); ranks as usize];
        // When each informed rank can send next.
        let mut free = BinaryHeap::from([Reverse((0_u64, 0_u32))]);
        for next in 1..ranks {
            let Some(Reverse((at, rank))) = free.pop() else { break };
            children[rank as usize].push(next);
            free.push(Reverse((at.saturating_add(gap), rank)));
            free.push(Reverse((at.saturating_add(latency), next)));
        }
        Self::from_lists(children)
    }

    fn from_lists(lists: impl IntoIterator<Item = Vec<u32>>) -> Self {
        ForwardingTree { children: lists.into_iter().map(Into::into).collect() }
    }

    /// To which ranks `rank` forwards.
    #[must_use]
    pub fn children(&self, rank: u32) -> &[u32] {
        &self.children[rank as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step in which each rank is informed, when a node sends once a step and a packet takes one.
    fn steps(tree: &ForwardingTree) -> Vec<u32> {
        let ranks = tree.children.len();
        let mut at = vec![u32::MAX; ranks];
        at[0] = 0;
        let mut informed = vec![0_u32];
        while let Some(rank) = informed.pop() {
            for (step, &child) in (1..).zip(tree.children(rank)) {
                assert_eq!(at[child as usize], u32::MAX, "nobody is told twice");
                at[child as usize] = at[rank as usize] + step;
                informed.push(child);
            }
        }
        assert!(!at.contains(&u32::MAX), "everybody is told");
        at
    }

    #[test]
    fn everybody_is_told_once_and_a_binomial_tree_takes_log_steps() {
        for ranks in 1..70 {
            assert_eq!(steps(&ForwardingTree::sequence(ranks)).into_iter().max(), Some(ranks - 1));
            let binomial = steps(&ForwardingTree::binomial(ranks)).into_iter().max();
            assert_eq!(binomial, Some(ranks.next_power_of_two().ilog2()), "{ranks} ranks");
            // With equal gap and latency the postal tree is binomial, too.
            let postal = steps(&ForwardingTree::postal(ranks, 7, 7)).into_iter().max();
            assert_eq!(postal, Some(ranks.next_power_of_two().ilog2()), "{ranks} ranks");
            steps(&ForwardingTree::postal(ranks, 1, 5));
        }
    }

    /// With a latency of `l` gaps the number of nodes informed after `t` gaps is N(t) = N(t - 1) + N(t - l).
    #[test]
    fn a_postal_tree_is_as_fast_as_the_recurrence() {
        let (gap, latency) = (10, 30);
        let mut informed = vec![1_u32; 3];
        while informed.len() < 15 {
            let t = informed.len();
            informed.push(informed[t - 1] + informed[t - 3]);
        }
        for (t, &ranks) in informed.iter().enumerate().skip(3) {
            let tree = ForwardingTree::postal(ranks, gap, latency);
            let mut at = vec![0; ranks as usize];
            for rank in 0..ranks {
                for (turn, &child) in (0..).zip(tree.children(rank)) {
                    at[child as usize] = at[rank as usize] + turn * gap + latency;
                }
            }
            assert_eq!(at.into_iter().max(), Some(t as u64 * gap), "{ranks} ranks");
        }
    }
}
