//! Why a run of a task graph came to an end before its tasks did, and which messages nobody received.
//!
//! Looked at after the run, over all ranks: a receive may wait for a message that no task sends, for one whose send is
//! itself stuck, or for one that the network has lost.

use super::run::State;
use super::{Event, RankId, RankRun, TaskId, Work};
use std::fmt;

/// What is left of a graph after its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Ranks with unfinished tasks, in order.
    pub ranks: Vec<StuckRank>,
    /// Messages that arrived and were never received, the first of them.
    pub unmatched: Vec<Unmatched>,
    /// How many there are in all.
    pub unmatched_count: usize,
}

/// A rank that did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckRank {
    /// The rank.
    pub rank: RankId,
    /// Its unfinished tasks.
    pub unfinished: usize,
    /// The first of those that wait for a message or a cpu: the causes. Then the first that wait for other tasks.
    pub tasks: Vec<StuckTask>,
}

/// A task that did not complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckTask {
    /// The rank.
    pub rank: RankId,
    /// Its label.
    pub label: String,
    /// What it does.
    pub work: Work,
    /// What it waits for.
    pub waits: WaitsFor,
}

/// What a task waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A message that no task has left to send.
    NoSuchMessage {
        /// Messages like it that were sent, and that other receives took.
        taken: u64,
    },
    /// A message whose send has not completed.
    UnfinishedSend {
        /// The rank that sends.
        rank: RankId,
        /// The label of the send.
        label: String,
    },
    /// A message that was sent and has not arrived.
    MessageInNetwork {
        /// The rank that sent it.
        rank: RankId,
    },
    /// The rest of a message of which a part has arrived.
    RestOfMessage,
    /// Its turn on a cpu, or the end of its time there: the run was ended early.
    Cpu,
    /// Other tasks of its rank.
    Tasks {
        /// Labels of the first of them.
        labels: Vec<String>,
        /// How many there are.
        count: usize,
    },
}

/// A message that arrived and was never received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The rank that sent it.
    pub source: RankId,
    /// The label of the send.
    pub label: String,
    /// The rank that it came to.
    pub destination: RankId,
    /// Its length.
    pub bytes: u64,
    /// Its tag.
    pub tag: u64,
}

impl fmt::Display for StuckTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} {}: {}: ", self.rank, self.label, self.work)?;
        let (Work::Recv { from, tag, .. }, WaitsFor::NoSuchMessage { taken }) = (self.work, &self.waits)
        else {
            return self.waits.fmt(f);
        };
        if *taken == 0 {
            f.write_str("no message")?
        } else {
            write!(f, "all {taken} messages")?
        }
        if let Some(from) = from {
            write!(f, " from {from}")?;
        }
        if tag.is_some() {
            f.write_str(" with that tag")?;
        }
        f.write_str(if *taken == 0 { " was ever sent" } else { " went to other receives" })
    }
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitsFor::NoSuchMessage { .. } => f.write_str("no message is left for it"),
            WaitsFor::UnfinishedSend { rank, label } => {
                write!(f, "the send, rank {rank} {label}, has not completed")
            }
            WaitsFor::MessageInNetwork { rank } => {
                write!(f, "the message was sent by rank {rank} and has not arrived")
            }
            WaitsFor::RestOfMessage => f.write_str("a part of the message has not arrived"),
            WaitsFor::Cpu => f.write_str("the run ended while it was on its cpu or in the queue of it"),
            WaitsFor::Tasks { labels, count } => {
                write!(f, "dependency {} unfinished", labels.join(", "))?;
                if *count > labels.len() {
                    write!(f, ", and {} more", count - labels.len())?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmatched { source, label, destination, bytes, tag } = self;
        write!(f, "rank {source} {label}: send {bytes}b to {destination} tag {tag}: arrived, never received")
    }
}

/// What is left after a run: `None` if every task has completed and every message was received.
///
/// `runs` holds all ranks, in order. At most `most` tasks are listed for each rank, and `most` unmatched messages.
#[must_use]
pub fn stuck(runs: &[&RankRun], most: usize) -> Option<Stuck> {
    debug_assert!(
        runs.iter().enumerate().all(|(rank, run)| run.rank().index() == rank),
        "all ranks, in order"
    );
    let ranks: Vec<StuckRank> =
        runs.iter().filter(|run| !run.is_finished()).map(|run| stuck_rank(runs, run, most)).collect();
    let unmatched_count = runs.iter().map(|run| run.unexpected().count()).sum();
    let unmatched = runs
        .iter()
        .flat_map(|run| run.unexpected().map(|envelope| (run.rank(), envelope)))
        .take(most)
        .map(|(destination, envelope)| Unmatched {
            source: envelope.message.source,
            label: run_label(runs, envelope.message.source, envelope.message.task),
            destination,
            bytes: envelope.bytes,
            tag: envelope.tag,
        })
        .collect();
    let clean = ranks.is_empty() && unmatched_count == 0;
    (!clean).then_some(Stuck { ranks, unmatched, unmatched_count })
}

fn run_label(runs: &[&RankRun], rank: RankId, task: TaskId) -> String {
    runs[rank.index()].graph().label(rank, task)
}

fn tasks(run: &RankRun) -> impl Iterator<Item = TaskId> + '_ {
    (0..run.graph().tasks_of(run.rank())).map(TaskId)
}

fn stuck_rank(runs: &[&RankRun], run: &RankRun, most: usize) -> StuckRank {
    let is_cause = |&task: &TaskId| !matches!(run.state(task), State::Waiting | State::Completed);
    let causes = tasks(run).filter(is_cause);
    let effects = tasks(run).filter(|&task| run.state(task) == State::Waiting);
    let listed: Vec<TaskId> = causes.chain(effects).take(most).collect();
    let prerequisites = prerequisites(run, &listed);
    let tasks = listed.iter().zip(prerequisites).map(|(&task, on)| StuckTask {
        rank: run.rank(),
        label: run.graph().label(run.rank(), task),
        work: run.graph().task(run.rank(), task).work,
        waits: waits_for(runs, run, task, &on),
    });
    StuckRank { rank: run.rank(), unfinished: run.unfinished(), tasks: tasks.collect() }
}

/// The tasks that each of `listed` still waits for.
fn prerequisites(run: &RankRun, listed: &[TaskId]) -> Vec<Vec<TaskId>> {
    let mut prerequisites = vec![Vec::new(); listed.len()];
    let mut order: Vec<(TaskId, usize)> = listed.iter().copied().zip(0..).collect();
    order.sort_unstable();
    for task in tasks(run).filter(|&task| run.state(task) != State::Completed) {
        for (dependent, event) in run.graph().dependents(run.rank(), task) {
            let met = event == Event::Started && has_started(run, task);
            if let (false, Ok(place)) = (met, order.binary_search_by_key(&dependent, |&(task, _)| task)) {
                prerequisites[order[place].1].push(task);
            }
        }
    }
    prerequisites
}

fn has_started(run: &RankRun, task: TaskId) -> bool {
    match run.state(task) {
        State::Waiting => false,
        State::Ready => matches!(run.graph().task(run.rank(), task).work, Work::Recv { .. }),
        State::Matched | State::Running | State::Completed => true,
    }
}

fn waits_for(runs: &[&RankRun], run: &RankRun, task: TaskId, on: &[TaskId]) -> WaitsFor {
    match (run.state(task), run.graph().task(run.rank(), task).work) {
        (State::Ready, Work::Recv { from, tag, .. }) => waits_for_message(runs, run.rank(), from, tag),
        (State::Matched, _) => WaitsFor::RestOfMessage,
        (State::Waiting, _) => WaitsFor::Tasks {
            labels: on.iter().take(3).map(|&task| run.graph().label(run.rank(), task)).collect(),
            count: on.len(),
        },
        (State::Ready | State::Running | State::Completed, _) => WaitsFor::Cpu,
    }
}

/// Why a posted receive has no message.
fn waits_for_message(
    runs: &[&RankRun],
    receiver: RankId,
    from: Option<RankId>,
    tag: Option<u64>,
) -> WaitsFor {
    let (mut unfinished, mut taken) = (None, 0);
    for sender in runs.iter().filter(|run| from.is_none_or(|from| from == run.rank())) {
        let mut sent: Vec<u64> = Vec::new();
        for task in tasks(sender) {
            let Work::Send { to, tag: sent_tag, .. } = sender.graph().task(sender.rank(), task).work else {
                continue;
            };
            if to != receiver || tag.is_some_and(|tag| tag != sent_tag) {
                continue;
            }
            if sender.state(task) == State::Completed {
                sent.push(sent_tag);
            } else {
                unfinished.get_or_insert((sender.rank(), task));
            }
        }
        taken += sent.len() as u64;
        sent.sort_unstable();
        let lost =
            |tags: &[u64]| tags.len() as u64 > runs[receiver.index()].announced(sender.rank(), tags[0]);
        if sent.chunk_by(|a, b| a == b).any(lost) {
            return WaitsFor::MessageInNetwork { rank: sender.rank() };
        }
    }
    match unfinished {
        Some((rank, task)) => WaitsFor::UnfinishedSend { rank, label: run_label(runs, rank, task) },
        None => WaitsFor::NoSuchMessage { taken },
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::{run, runs};
    use super::*;
    use flitway_engine::Cycle;

    fn report(goal: &str) -> Vec<String> {
        let mut ranks = runs(goal);
        run(&mut ranks, 10);
        let all: Vec<&RankRun> = ranks.iter().collect();
        let Some(stuck) = stuck(&all, 10) else { return Vec::new() };
        let tasks = stuck.ranks.iter().flat_map(|rank| rank.tasks.iter().map(ToString::to_string));
        tasks.chain(stuck.unmatched.iter().map(ToString::to_string)).collect()
    }

    #[test]
    fn a_finished_graph_has_nothing_to_report() {
        let goal = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}";
        assert_eq!(report(goal), [""; 0]);
    }

    #[test]
    fn a_receive_without_send_is_named_before_what_depends_on_it() {
        let goal = "num_ranks 2
            rank 0 {
                l1: send 4b to 1 tag 8
            }
            rank 1 {
                l3: calc 1
                l1: recv 4b from 0 tag 9
                l3 requires l1
            }";
        let expected = [
            "rank 1 l1: recv 4b from 0 tag 9: no message from 0 with that tag was ever sent",
            "rank 1 l3: calc 1: dependency l1 unfinished",
            "rank 0 l1: send 4b to 1 tag 8: arrived, never received",
        ];
        assert_eq!(report(goal), expected);
    }

    #[test]
    fn a_receive_too_many_is_told_how_many_messages_there_were() {
        let goal =
            "num_ranks 1\nrank 0 {\nsend 1b to 0 tag 3\na: recv 1b from 0 tag 3\nb: recv 1b from -1 tag 3\n}";
        let expected =
            ["rank 0 b: recv 1b from -1 tag 3: all 1 messages with that tag went to other receives"];
        assert_eq!(report(goal), expected);
    }

    #[test]
    fn ranks_that_wait_for_each_other_name_the_sends() {
        let rank = |me: u32, other: u32| {
            format!(
                "rank {me} {{\nr: recv 1b from {other} tag 0\ns: send 1b to {other} tag 0\ns requires r\n}}\n"
            )
        };
        let expected = [
            "rank 0 r: recv 1b from 1 tag 0: the send, rank 1 s, has not completed",
            "rank 0 s: send 1b to 1 tag 0: dependency r unfinished",
            "rank 1 r: recv 1b from 0 tag 0: the send, rank 0 s, has not completed",
            "rank 1 s: send 1b to 0 tag 0: dependency r unfinished",
        ];
        assert_eq!(report(&format!("num_ranks 2\n{}{}", rank(0, 1), rank(1, 0))), expected);
    }

    #[test]
    fn a_message_that_the_network_loses_is_told_from_one_never_sent() {
        let mut ranks =
            runs("num_ranks 2\nrank 0 {\nsend 1b to 1 tag 2\n}\nrank 1 {\nr: recv 1b from -1 tag 2\n}");
        let mut lost = Vec::new();
        ranks[0].advance(Cycle(0), &mut lost);
        ranks[0].advance(Cycle(3), &mut lost);
        ranks[1].advance(Cycle(0), &mut lost);
        let all: Vec<&RankRun> = ranks.iter().collect();
        let stuck = stuck(&all, 10).unwrap();
        assert_eq!(
            stuck.ranks[0].tasks[0].to_string(),
            "rank 1 r: recv 1b from -1 tag 2: the message was sent by rank 0 and has not arrived"
        );
    }

    #[test]
    fn a_list_is_cut_and_counted() {
        let mut goal = String::from("num_ranks 1\nrank 0 {\nr: recv 1b from 0 tag 1\nx: calc 1\n");
        for task in 0..30 {
            goal.push_str(&format!("c{task}: calc 1\nc{task} requires r\nx requires c{task}\n"));
        }
        goal.push('}');
        let mut ranks = runs(&goal);
        run(&mut ranks, 10);
        let stuck = stuck(&[&ranks[0]], 3).unwrap();
        assert_eq!(stuck.ranks[0].unfinished, 32);
        assert_eq!(stuck.ranks[0].tasks.len(), 3);
        assert_eq!(
            stuck.ranks[0].tasks[1].to_string(),
            "rank 0 x: calc 1: dependency c0, c1, c2 unfinished, and 27 more"
        );
    }
}
