//! The barrier module. See point 10 of the header of this module.

use super::{Content, DOORBELL, MEET, Nap, NapContext, NapEvent, Outbound, POINTER};
use crate::host::bus::{BusSettings as _, plus};
use crate::host::program::{Completion, CompletionKind, Meeting};
use crate::host::story::Unit;
use crate::host::{Post, Posting};
use flitway_fabric::BarrierId;
use flitway_wiring::NodeId;
use std::collections::VecDeque;

/// The barrier of the processes of this node, with those of others.
#[derive(Debug)]
pub(super) struct Barrier {
    meeting: Option<Meeting>,
    /// By process: for a member, what it waits for, the first first.
    members: Box<[Option<VecDeque<Completion>>]>,
    /// Children that have come.
    children: u32,
    /// The node has come, and waits for the others.
    has_come: bool,
}

/// What is due of the barrier module.
#[derive(Debug)]
pub enum BarrierDue {
    /// A processor has written that its process has come.
    Written(Box<Completion>),
    /// It has come.
    Comes(Box<Completion>),
    /// A child has.
    ChildComes,
    /// All nodes have.
    Met,
}

impl Barrier {
    pub(super) fn new(processes: usize) -> Self {
        let members = (0..processes).map(|_| None).collect();
        Barrier { meeting: None, members, children: 0, has_come: false }
    }

    /// `process` is a member, if there is a barrier for it.
    ///
    /// # Panics
    /// If another process of the node is a member of another one.
    pub(super) fn admit(&mut self, process: u8, meeting: Option<Meeting>) {
        let Some(meeting) = meeting else { return };
        assert!(self.meeting.as_ref().is_none_or(|it| *it == meeting), "a node has one barrier");
        self.meeting = Some(meeting);
        self.members[usize::from(process)] = Some(VecDeque::new());
    }

    /// The group of the switches.
    pub(super) fn group(&self) -> Option<BarrierId> {
        match self.meeting {
            Some(Meeting::Switches(group)) => Some(group),
            _ => None,
        }
    }

    pub(super) fn waits_for_switches(&self) -> bool {
        self.has_come && self.group().is_some()
    }

    /// Whether all below have come, and the barrier before is over.
    fn is_complete(&self) -> bool {
        let children = match &self.meeting {
            None => return false,
            Some(Meeting::Switches(_)) => 0,
            Some(Meeting::Tree { children, .. }) => children.len() as u32,
        };
        let mut members = self.members.iter().flatten();
        !self.has_come && self.children == children && members.all(|waits| !waits.is_empty())
    }

    pub(super) fn is_idle(&self) -> bool {
        self.members.iter().flatten().all(VecDeque::is_empty) && self.children == 0 && !self.has_come
    }
}

impl Nap {
    /// A process comes to its barrier.
    pub(super) fn post_barrier(&mut self, cx: &mut NapContext<'_>, process: u8, post: &Post) -> Posting {
        let Post { number, story, .. } = *post;
        let what = CompletionKind::Reached;
        let completion = Completion { what, number, node: self.node, process, bytes: 0, story };
        let written = plus(cx.at, cx.bus.settings().burst_time());
        cx.ask(written, NapEvent::Barrier(BarrierDue::Written(Box::new(completion))));
        Posting::Until(written)
    }

    /// Something of the barrier module is due.
    pub(super) fn barrier_due(&mut self, cx: &mut NapContext<'_>, due: BarrierDue) {
        match due {
            BarrierDue::Written(mut completion) => {
                completion.story.pass(Unit::Processor, cx.at);
                let there = cx.bus.write_through(self.settings.port(completion.process), cx.at, DOORBELL);
                completion.story.pass(Unit::Bus, there);
                let comes = plus(there, self.settings.barrier);
                cx.ask(comes, NapEvent::Barrier(BarrierDue::Comes(completion)));
            }
            BarrierDue::Comes(completion) => {
                let waits = self.barrier.members[usize::from(completion.process)].as_mut();
                waits.expect("a member comes").push_back(*completion);
                self.meet(cx);
            }
            BarrierDue::ChildComes => {
                self.barrier.children += 1;
                self.meet(cx);
            }
            BarrierDue::Met => {
                self.met(cx);
                self.meet(cx);
            }
        }
    }

    /// The packet of a child is dealt with.
    pub(super) fn child_has_come(&mut self, cx: &mut NapContext<'_>) {
        let at = plus(cx.at, self.settings.barrier);
        cx.ask(at, NapEvent::Barrier(BarrierDue::ChildComes));
    }

    /// The switches, or the parent, say that all nodes have come.
    pub(super) fn all_have_come(&mut self, cx: &mut NapContext<'_>) {
        let at = plus(cx.at, self.settings.barrier);
        cx.ask(at, NapEvent::Barrier(BarrierDue::Met));
    }

    /// The node has come if all below have. Without other nodes above all have.
    fn meet(&mut self, cx: &mut NapContext<'_>) {
        while self.barrier.is_complete() {
            (self.barrier.has_come, self.barrier.children) = (true, 0);
            match self.barrier.meeting {
                Some(Meeting::Switches(group)) => cx.arrive(group),
                Some(Meeting::Tree { parent: Some(parent), .. }) => self.say(cx, parent, Content::Meets),
                _ => self.met(cx),
            }
        }
    }

    /// All nodes have come.
    fn met(&mut self, cx: &mut NapContext<'_>) {
        self.barrier.has_come = false;
        self.counts.barriers += 1;
        if let Some(Meeting::Tree { children, .. }) = self.barrier.meeting.clone() {
            children.for_each(|child| self.say(cx, NodeId(child), Content::Met));
        }
        let firsts = self.barrier.members.iter_mut().flatten().map(VecDeque::pop_front);
        let firsts: Vec<Completion> = firsts.map(|first| first.expect("all members have come")).collect();
        for mut completion in firsts {
            completion.story.pass(Unit::Barrier, cx.at);
            let posted = cx.bus.post_through(self.settings.port(completion.process), cx.at, POINTER);
            completion.story.pass(Unit::Bus, posted.visible);
            self.tell_word(cx, completion.process, posted.visible, completion);
        }
    }

    fn say(&mut self, cx: &mut NapContext<'_>, to: NodeId, content: Content) {
        self.ready(
            cx,
            Outbound { to, payload: MEET, content, engine: None, reads: false, tells_left: false },
        );
    }
}
