//! A barrier by the barrier modules of NICs, again and again: what is measured with `--nic 'barrier(...)'` where NICs have
//! those.
//!
//! Each process of each node comes, and comes again when it has seen that all have.

use crate::operator::Done;
use flitway_engine::Picos;
use flitway_nic::host::program::{
    Completion, CompletionKind, Meeting, Operation, Program, Setup, Submission, Verb,
};
use flitway_wiring::NodeId;
use std::any::Any;

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttendantSettings {
    /// The node, and its barrier.
    pub node: NodeId,
    /// See [`Setup::barrier`].
    pub meeting: Meeting,
    /// How many count.
    pub count: u32,
    /// How many come before those.
    pub warm_up: u32,
}

impl AttendantSettings {
    /// The barrier of the node of that rank, from 0, of `count` nodes from `first` on, up a tree in which each has so many
    /// children at most.
    #[must_use]
    pub fn tree((first, count): (NodeId, u32), arity: u32, rank: u32) -> Meeting {
        let children = |rank: u32| first.0 + rank.saturating_mul(arity).saturating_add(1).min(count);
        let parent = rank.checked_sub(1).map(|below| NodeId(first.0 + below / arity));
        Meeting::Tree { parent, children: children(rank)..children(rank + 1) }
    }
}

/// A process that comes to its barrier.
#[derive(Clone, Debug)]
pub struct Attendant {
    settings: AttendantSettings,
    come: u32,
    done: Done,
}

impl Attendant {
    /// A process of the node.
    #[must_use]
    pub fn new(settings: AttendantSettings) -> Self {
        Attendant { settings, come: 0, done: Done::default() }
    }

    /// What it has seen: the end of each barrier.
    #[must_use]
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Whether it has seen the end of all.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done.seen == self.all()
    }

    fn all(&self) -> u32 {
        self.settings.count + self.settings.warm_up
    }
}

impl Program for Attendant {
    fn act(&mut self, _: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        if let Some(completion) = completion {
            assert_eq!(
                completion.what,
                CompletionKind::Reached,
                "a process that meets others sees that they have come"
            );
            self.done.record(&completion.story, self.settings.warm_up);
        }
        if self.come < self.all() {
            self.come += 1;
            todo.push(Operation::plain(Verb::Barrier, Submission::Pio, (self.settings.node, 0)));
        }
    }

    fn setup(&self) -> Setup {
        Setup { barrier: Some(self.settings.meeting.clone()), ..Setup::default() }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_of_a_tree_is_the_child_of_one() {
        for (count, arity) in [(2, 1), (5, 2), (16, 4), (17, 4), (18, 16), (7, 64)] {
            let tree = |rank| AttendantSettings::tree((NodeId(3), count), arity, rank);
            let mut children = Vec::new();
            for rank in 0..count {
                let Meeting::Tree { children: of, .. } = tree(rank) else { panic!("a tree") };
                for child in of {
                    let Meeting::Tree { parent, .. } = tree(child - 3) else { panic!("a tree") };
                    assert_eq!(parent, Some(NodeId(3 + rank)));
                    children.push(child);
                }
            }
            assert!(children.into_iter().eq(4..3 + count), "{count} nodes, {arity} children");
        }
    }

    #[test]
    fn a_process_comes_again_when_all_have_come() {
        let meeting = AttendantSettings::tree((NodeId(0), 2), 4, 0);
        let settings = AttendantSettings { node: NodeId(0), meeting, count: 2, warm_up: 1 };
        let mut attendant = Attendant::new(settings);
        let mut came = Vec::new();
        for seen in 0..4_u64 {
            let story = flitway_nic::host::story::Story::begin(Picos(seen));
            let what = CompletionKind::Reached;
            let completion = Completion { what, number: seen, node: NodeId(0), process: 0, bytes: 0, story };
            let mut todo = Vec::new();
            attendant.act(Picos(0), (seen > 0).then_some(&completion), &mut todo);
            came.push((todo.len(), attendant.is_done()));
        }
        assert_eq!(came, [(1, false), (1, false), (1, false), (0, true)]);
        assert_eq!(attendant.done().latencies.len(), 2);
    }
}
