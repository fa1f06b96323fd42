//! A collective operation of NICs, again and again, among the processes of consecutive nodes: what is measured with `--nic`.
//!
//! The nodes are a tree: node `r` of them, from 0, has the children `k r + 1` to `k r + k`, as far as there are such
//! (th-express-2.txt section 5.2, a k-ary tree; OQ-T17). **Barrier**: a node tells its parent when its process and all of its
//! children have come; the root then tells its children that all have, and each node its own. **Broadcast**: the root puts data
//! into the memory of its children, and each node on into that of its own. When all below a node have the data it tells its
//! parent, and so the root begins the next one when all have them.
//!
//! **Reduce**: as a barrier, and what comes up and goes down is a word, which each node adds up. **Gather**: each process
//! puts its data into the memory of the root, which then tells its children that all have come, and they theirs.
//!
//! *By the NICs* each process posts the descriptors of its part at once, and the NICs carry them out (mechanisms 2.7). *By the
//! hosts* a process sends messages and posts what follows when it has seen what that waits for.

use crate::operator::Done;
use flitway_engine::Picos;
use flitway_nic::host::program::{
    Collective, Completion, CompletionKind, Operation, Program, Submission, Verb,
};
use flitway_wiring::NodeId;
use std::any::Any;

/// Which operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// No process goes on until all have come.
    Barrier,
    /// The data of one come to all others.
    Broadcast,
    /// A word of each is added up, and all get the sum.
    Reduce,
    /// The data of all come to one.
    Gather,
    /// What a program of the threads of the NICs does.
    Threads,
}

impl CollectiveKind {
    /// All of them.
    pub const ALL: [CollectiveKind; 5] = [
        CollectiveKind::Barrier,
        CollectiveKind::Broadcast,
        CollectiveKind::Reduce,
        CollectiveKind::Gather,
        CollectiveKind::Threads,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CollectiveKind::Barrier => "barrier",
            CollectiveKind::Broadcast => "broadcast",
            CollectiveKind::Reduce => "reduce",
            CollectiveKind::Gather => "gather",
            CollectiveKind::Threads => "thread",
        }
    }

    /// Whether threads carry it out, where NICs do; otherwise they are [collective](Collective) operations.
    #[must_use]
    pub const fn is_of_threads(self) -> bool {
        !matches!(self, CollectiveKind::Barrier | CollectiveKind::Broadcast)
    }
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveSettings {
    /// Which operation.
    pub kind: CollectiveKind,
    /// Whether NICs carry it out, not processors.
    pub is_offloaded: bool,
    /// How descriptors reach the NIC.
    pub by: Submission,
    /// The root, and how many nodes there are from it on; two or more.
    pub nodes: (NodeId, u32),
    /// The most children of a node; 1 at least.
    pub arity: u32,
    /// Data of a broadcast, or of each node of a gather, in bytes.
    pub bytes: u64,
    /// How many count.
    pub count: u32,
    /// How many come before those.
    pub warm_up: u32,
}

/// The only process of each node.
const PROCESS: u8 = 0;
/// Data of a message by which a host tells another one, in bytes.
const MESSAGE: u64 = 8;
/// Where the data of a broadcast are, in the memory of every process, and those of its own that a process gives.
const DATA: u64 = 0;
/// Where data that are gathered come to.
const RESULT: u64 = 1 << 32;
/// The most data that are put by STEN where there is the DMA engine beside it. Source: \[assumed\].
const STEN: u64 = 1 << 10;

impl CollectiveSettings {
    /// All of them, those of the warm-up too.
    fn all(&self) -> u32 {
        self.count + self.warm_up
    }

    /// The parent of a node.
    fn parent(&self, rank: u32) -> Option<u32> {
        rank.checked_sub(1).map(|below| below / self.arity)
    }

    /// The first child of a node, and how many it has.
    fn children(&self, rank: u32) -> (u32, u32) {
        let first = rank.saturating_mul(self.arity).saturating_add(1);
        (first, self.arity.min(self.nodes.1.saturating_sub(first)))
    }

    /// How many processes send to one at most, by the hosts: to the first one all others in a gather, else children and the
    /// parent.
    #[must_use]
    pub fn senders(&self) -> u32 {
        let children = |rank| self.children(rank).1;
        match self.kind {
            CollectiveKind::Gather => self.nodes.1 - 1,
            // No node behind the second has more children than that.
            _ => children(0).max(children(1) + 1),
        }
    }

    /// An operation with the node of that rank.
    fn with(&self, verb: Verb, rank: u32, collective: Collective) -> Operation {
        let by = match (verb, self.by) {
            (Verb::Put, Submission::Sten) if self.bytes > STEN => Submission::Dma,
            // A rendezvous is of puts: messages are written.
            (Verb::Send, Submission::Rendezvous) => Submission::Pio,
            (_, by) => by,
        };
        Operation {
            bytes: match verb {
                Verb::Put => self.bytes,
                Verb::Send => MESSAGE,
                _ => 0,
            },
            here: DATA,
            there: DATA,
            collective,
            ..Operation::plain(verb, by, (NodeId(self.nodes.0.0 + rank), PROCESS))
        }
    }

    /// An operation for all children of a node by one descriptor, which waits for so many control packets.
    fn for_children(&self, verb: Verb, rank: u32, waits: u32) -> Option<Operation> {
        let (first, count) = self.children(rank);
        let further = count.checked_sub(1)?;
        let collective = Collective { waits, further, follows: false, triggers: verb == Verb::Put };
        Some(self.with(verb, first, collective))
    }

    /// The descriptors of a node for one operation.
    fn sequence(&self, rank: u32) -> Vec<Operation> {
        let (parent, children) = (self.parent(rank), self.children(rank).1);
        let waiting = |waits| Collective { waits, follows: waits == 0, ..Collective::default() };
        let up = |waits| {
            let begins = Collective { waits, ..Collective::default() };
            parent.map(|parent| self.with(Verb::Control, parent, begins))
        };
        // Who is told is the process of this node, whatever node stands there.
        let event = |waits| Some(self.with(Verb::Event, rank, waiting(waits)));
        let by_parent = u32::from(parent.is_some());
        let parts = match self.kind {
            CollectiveKind::Barrier => {
                let waits = if parent.is_some() { by_parent } else { children };
                let down = self.for_children(Verb::Control, rank, waits);
                let end = event(if down.is_some() { 0 } else { by_parent });
                [up(children), down, end, None]
            }
            // Those are of threads.
            CollectiveKind::Reduce | CollectiveKind::Gather | CollectiveKind::Threads => [None; 4],
            CollectiveKind::Broadcast => {
                let down = self.for_children(Verb::Put, rank, by_parent);
                let has_data = event(if down.is_some() { 0 } else { by_parent });
                match parent {
                    Some(_) => [down, has_data, up(children), None],
                    None => [down, event(children), None, None],
                }
            }
        };
        parts.into_iter().flatten().collect()
    }
}

/// The process of a node.
#[derive(Clone, Debug)]
pub struct Member {
    settings: CollectiveSettings,
    rank: u32,
    /// How many have begun, and how many it has seen the end of.
    begun: u32,
    ended: u32,
    /// By the hosts: what has come from children and from the parent, and was not waited for yet; and what this one waits for.
    from_children: u32,
    from_parent: u32,
    step: Step,
    done: Done,
}

/// What a process waits for, by the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Its children.
    Children,
    /// Its parent.
    Parent,
    /// It has come to the end.
    Nothing,
}

impl Member {
    /// That of `node`.
    ///
    /// # Panics
    /// If it is none of the nodes.
    #[must_use]
    pub fn new(settings: CollectiveSettings, node: NodeId) -> Self {
        let rank = node.0.checked_sub(settings.nodes.0.0).filter(|&rank| rank < settings.nodes.1);
        let rank = rank.expect("a node of those that take part");
        let step = Step::Nothing;
        Member {
            settings,
            rank,
            begun: 0,
            ended: 0,
            from_children: 0,
            from_parent: 0,
            step,
            done: Done::default(),
        }
    }

    /// What it has seen: of a broadcast by the NICs, the root nothing. By the hosts there are dates, and no latencies.
    #[must_use]
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Whether it has seen the end of all.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.ended == self.settings.all()
    }

    fn is_root(&self) -> bool {
        self.rank == 0
    }

    /// The next operation begins.
    fn begin(&mut self, at: Picos, todo: &mut Vec<Operation>) {
        if self.begun == self.settings.all() {
            return;
        }
        self.begun += 1;
        if self.settings.is_offloaded {
            todo.extend(self.settings.sequence(self.rank));
            return;
        }
        self.done.begun.push(at);
        let kind = self.settings.kind;
        if kind == CollectiveKind::Broadcast && self.is_root() {
            self.tell_children(Verb::Put, todo);
        }
        if kind == CollectiveKind::Gather && !self.is_root() {
            let put = self.settings.with(Verb::Put, 0, Collective::default());
            let there = RESULT + u64::from(self.rank) * self.settings.bytes;
            todo.push(Operation { there, ..put });
        }
        let is_first_down = matches!(kind, CollectiveKind::Broadcast | CollectiveKind::Gather);
        self.step = if is_first_down && !self.is_root() { Step::Parent } else { Step::Children };
        self.go_on(at, todo);
    }

    /// It has come to the end of one.
    fn end(&mut self, at: Picos, todo: &mut Vec<Operation>) {
        self.ended += 1;
        self.step = Step::Nothing;
        if !self.settings.is_offloaded && self.settings.kind != CollectiveKind::Broadcast {
            self.done.dates.push(at);
        }
        self.begin(at, todo);
    }

    /// By the hosts: it goes on as far as what it waits for is there.
    fn go_on(&mut self, at: Picos, todo: &mut Vec<Operation>) {
        let is_barrier = self.settings.kind != CollectiveKind::Broadcast;
        let awaited = match self.settings.kind {
            CollectiveKind::Gather => self.settings.nodes.1 - 1,
            _ => self.settings.children(self.rank).1,
        };
        match self.step {
            Step::Children if self.from_children >= awaited => {
                self.from_children -= awaited;
                match self.settings.parent(self.rank) {
                    Some(parent) => {
                        todo.push(self.settings.with(Verb::Send, parent, Collective::default()));
                        if !is_barrier {
                            return self.end(at, todo);
                        }
                        self.step = Step::Parent;
                        self.go_on(at, todo);
                    }
                    None => {
                        if is_barrier {
                            self.tell_children(Verb::Send, todo);
                        }
                        self.end(at, todo);
                    }
                }
            }
            Step::Parent if self.from_parent > 0 => {
                self.from_parent -= 1;
                if is_barrier {
                    self.tell_children(Verb::Send, todo);
                    return self.end(at, todo);
                }
                self.done.dates.push(at);
                self.tell_children(Verb::Put, todo);
                self.step = Step::Children;
                self.go_on(at, todo);
            }
            Step::Children | Step::Parent | Step::Nothing => {}
        }
    }

    fn tell_children(&self, verb: Verb, todo: &mut Vec<Operation>) {
        let (first, count) = self.settings.children(self.rank);
        let one = |rank| self.settings.with(verb, rank, Collective::default());
        todo.extend((first..first + count).map(one));
    }
}

impl Program for Member {
    fn act(&mut self, at: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        let Some(completion) = completion else { return self.begin(at, todo) };
        if completion.what == CompletionKind::Reached {
            // What the root of a broadcast sees is that all others have told it.
            if !(self.is_root() && self.settings.kind == CollectiveKind::Broadcast) {
                self.done.record(&completion.story, self.settings.warm_up);
            }
            return self.end(at, todo);
        }
        let rank = completion.node.0 - self.settings.nodes.0.0;
        if self.settings.parent(self.rank) == Some(rank) {
            self.from_parent += 1;
        } else {
            self.from_children += 1;
        }
        self.go_on(at, todo);
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn settings(kind: CollectiveKind, count: u32, arity: u32) -> CollectiveSettings {
        let nodes = (NodeId(3), count);
        let by = Submission::Hdq;
        CollectiveSettings { kind, is_offloaded: true, by, nodes, arity, bytes: 8, count: 1, warm_up: 0 }
    }

    /// NICs without time: by rank the descriptors, and the control packets that are kept.
    struct Nics {
        queues: Vec<VecDeque<Operation>>,
        kept: Vec<u32>,
        /// By rank: events.
        events: Vec<u32>,
        /// By rank: whether the data have come since its last event.
        has_data: Vec<bool>,
    }

    impl Nics {
        /// Carries out the first descriptor of `rank`, if that waits for nothing.
        fn step(&mut self, rank: usize) -> bool {
            let Some(operation) = self.queues[rank].front().copied() else { return false };
            let Collective { waits, further, triggers, .. } = operation.collective;
            if self.kept[rank] < waits {
                return false;
            }
            self.kept[rank] -= waits;
            self.queues[rank].pop_front();
            for node in operation.node.0..=operation.node.0 + further {
                let there = (node - 3) as usize;
                match operation.verb {
                    Verb::Event => self.events[rank] += 1,
                    Verb::Put => {
                        assert!(triggers && (rank == 0 || self.has_data[rank]), "who has data sends them on");
                        self.has_data[there] = true;
                        self.kept[there] += 1;
                    }
                    _ => self.kept[there] += 1,
                }
            }
            true
        }
    }

    /// Whoever posts when, and whichever NIC is fast: nobody leaves a barrier that not all have come to, and everybody gets to
    /// the end of three operations in a row.
    #[test]
    fn sequences_keep_what_they_promise_in_whatever_order_they_are_carried_out() {
        let mut chance = 1_u32;
        let mut below = |bound: usize| {
            chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (chance >> 16) as usize % bound
        };
        for (count, arity, kind) in [2, 3, 5, 9, 22].into_iter().flat_map(|count| {
            let of = move |arity| {
                [CollectiveKind::Barrier, CollectiveKind::Broadcast].map(|kind| (count, arity, kind))
            };
            [1, 2, 4, 16].into_iter().flat_map(of)
        }) {
            let settings = settings(kind, count, arity);
            let all = count as usize;
            let mut nics = Nics {
                queues: vec![VecDeque::new(); all],
                kept: vec![0; all],
                events: vec![0; all],
                has_data: vec![false; all],
            };
            let mut posted = vec![0_u32; all];
            let mut idle = 0;
            while idle < 200 * all {
                let rank = below(all);
                // As a process does: the next one when it has seen the end of the one before.
                let posts = posted[rank] < 3 && posted[rank] == nics.events[rank] && below(4) == 0;
                if posts {
                    nics.queues[rank].extend(settings.sequence(rank as u32));
                    posted[rank] += 1;
                }
                let steps = nics.step(rank);
                if kind == CollectiveKind::Barrier {
                    let [last, first] = [nics.events.iter().max(), posted.iter().min()];
                    assert!(last <= first, "{settings:?}: {posted:?} {:?}", nics.events);
                }
                idle = if posts || steps { 0 } else { idle + 1 };
            }
            assert!(nics.events.iter().all(|&events| events == 3), "{settings:?}: {:?}", nics.events);
            assert!(nics.kept.iter().all(|&kept| kept == 0) && nics.queues.iter().all(VecDeque::is_empty));
        }
    }

    #[test]
    fn a_tree_of_many_has_the_descriptors_of_the_paper() {
        let settings = settings(CollectiveKind::Barrier, 64, 4);
        let what = |rank| -> Vec<(Verb, u32, u32, u32)> {
            let sequence = settings.sequence(rank);
            let of = |it: &Operation| (it.verb, it.node.0 - 3, it.collective.waits, it.collective.further);
            sequence.iter().map(of).collect()
        };
        assert_eq!(what(0), [(Verb::Control, 1, 4, 3), (Verb::Event, 0, 0, 0)]);
        let inner = [(Verb::Control, 0, 4, 0), (Verb::Control, 9, 1, 3), (Verb::Event, 2, 0, 0)];
        assert_eq!(what(2), inner);
        assert_eq!(what(15), [(Verb::Control, 3, 3, 0), (Verb::Control, 61, 1, 2), (Verb::Event, 15, 0, 0)]);
        assert_eq!(what(63), [(Verb::Control, 15, 0, 0), (Verb::Event, 63, 1, 0)]);
    }
}
