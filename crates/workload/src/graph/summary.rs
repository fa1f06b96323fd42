//! What a run of a task graph came to.

use super::RankId;
use flitway_engine::Cycle;

/// What a rank did with its time, in cycles.
///
/// Every cycle up to the completion is one of three: some cpu computes; none does, but one is busy with overhead; all
/// cpus wait. `computing + overhead + waiting` is the completion time, or the time so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankSummary {
    /// The rank.
    pub rank: RankId,
    /// When its last task completed; `None` if tasks are left.
    pub completion: Option<Cycle>,
    /// Cycles in which a cpu computes.
    pub computing: u64,
    /// Cycles in which no cpu computes and one is busy with o_s or o_r.
    pub overhead: u64,
    /// Cycles in which all cpus wait.
    pub waiting: u64,
    /// Cycles spent in calc, summed over cpus.
    pub calc_busy: u64,
    /// Cycles spent in o_s, summed over cpus.
    pub send_busy: u64,
    /// Cycles spent in o_r, summed over cpus.
    pub receive_busy: u64,
    /// Messages handed over.
    pub messages_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages that a receive has taken.
    pub messages_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Messages received that were longer than the receive had asked for.
    pub truncated: u64,
}

impl RankSummary {
    /// The part of the time that goes to communication: waiting and overhead over all. Zero for a rank without time.
    #[must_use]
    pub fn communication_share(&self) -> f64 {
        let communication = self.overhead + self.waiting;
        let all = communication + self.computing;
        if all == 0 { 0.0 } else { communication as f64 / all as f64 }
    }
}

/// What all ranks came to.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphSummary {
    /// When the last rank completed; `None` if one has not.
    pub completion: Option<Cycle>,
    /// Messages handed over.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Communication shares: smallest, mean over ranks, largest.
    pub communication_share: [f64; 3],
    /// Each rank, in order.
    pub ranks: Vec<RankSummary>,
}

impl GraphSummary {
    /// Sums up ranks, given in any order.
    #[must_use]
    pub fn new(mut ranks: Vec<RankSummary>) -> Self {
        ranks.sort_by_key(|summary| summary.rank);
        let shares = || ranks.iter().map(RankSummary::communication_share);
        let mean = shares().sum::<f64>() / ranks.len().max(1) as f64;
        let (low, high) =
            shares().fold((1.0f64, 0.0f64), |(low, high), share| (low.min(share), high.max(share)));
        GraphSummary {
            completion: ranks.iter().try_fold(Cycle::ZERO, |last, rank| Some(last.max(rank.completion?))),
            messages: ranks.iter().map(|rank| rank.messages_sent).sum(),
            bytes: ranks.iter().map(|rank| rank.bytes_sent).sum(),
            communication_share: [low.min(high), mean, high],
            ranks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, completion: Option<u64>, [computing, overhead, waiting]: [u64; 3]) -> RankSummary {
        RankSummary {
            rank: RankId(rank),
            completion: completion.map(Cycle),
            computing,
            overhead,
            waiting,
            calc_busy: 0,
            send_busy: 0,
            receive_busy: 0,
            messages_sent: 2,
            bytes_sent: 10,
            messages_received: 0,
            bytes_received: 0,
            truncated: 0,
        }
    }

    #[test]
    fn the_last_rank_decides_and_shares_are_averaged() {
        let summary = GraphSummary::new(vec![
            rank(1, Some(80), [60, 10, 10]),
            rank(0, Some(100), [50, 25, 25]),
            rank(2, Some(0), [0, 0, 0]),
        ]);
        assert_eq!(summary.completion, Some(Cycle(100)));
        assert_eq!((summary.messages, summary.bytes), (6, 30));
        assert_eq!(summary.communication_share, [0.0, 0.25, 0.5]);
        assert!(summary.ranks.is_sorted_by_key(|summary| summary.rank));
    }

    #[test]
    fn a_rank_that_has_not_finished_leaves_no_completion() {
        let summary = GraphSummary::new(vec![rank(0, None, [1, 0, 9]), rank(1, Some(3), [3, 0, 0])]);
        assert_eq!(summary.completion, None);
    }
}
