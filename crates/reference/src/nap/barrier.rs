//! The barrier module.

use super::channel::Ready;
use super::{
    Completion, Due, Host, Operation, Packet, Peer, Program, Sight, Story, Submission, Unit, Verb, What,
};
use flitway_fabric::BarrierId;
use flitway_nic::host::program::Meeting;
use flitway_nic::nap::{MEET, POINTER};
use flitway_wiring::NodeId;

/// The processes of a node that meet with those of others.
#[derive(Debug)]
pub(super) struct Meeters {
    /// Who they are, and with whom they meet.
    members: Vec<u8>,
    meeting: Option<Meeting>,
    /// Those that have come and wait, and nodes below.
    waiting: Vec<Completion>,
    below: usize,
    /// The node waits for others.
    waits: bool,
}

impl Meeters {
    pub(super) fn new(programs: &[Box<dyn Program>]) -> Self {
        let of: Vec<Option<Meeting>> = programs.iter().map(|program| program.setup().barrier).collect();
        let members = (0..of.len()).filter(|&process| of[process].is_some()).map(|it| it as u8).collect();
        let meeting = of.into_iter().flatten().next();
        Meeters { members, meeting, waiting: Vec::new(), below: 0, waits: false }
    }

    pub(super) fn group(&self) -> Option<BarrierId> {
        match self.meeting {
            Some(Meeting::Switches(group)) => Some(group),
            _ => None,
        }
    }

    pub(super) fn wait_for_switches(&self) -> bool {
        self.waits && self.group().is_some()
    }

    pub(super) fn are_idle(&self) -> bool {
        self.waiting.is_empty() && self.below == 0 && !self.waits
    }

    fn children(&self) -> Vec<NodeId> {
        match &self.meeting {
            Some(Meeting::Tree { children, .. }) => children.clone().map(NodeId).collect(),
            _ => Vec::new(),
        }
    }

    /// Where the first that waits of a process stands.
    fn first_of(&self, process: u8) -> Option<usize> {
        self.waiting.iter().position(|completion| completion.process == process)
    }
}

impl Host {
    pub(super) fn comes(&mut self, completion: Completion) {
        self.meeters.waiting.push(completion);
        self.look_who_has_come();
    }

    pub(super) fn comes_below(&mut self) {
        self.meeters.below += 1;
        self.look_who_has_come();
    }

    /// The switches, or the node above, say that all have come.
    pub(super) fn all_are_said_to_have(&mut self) {
        self.around.ask(self.around.after(self.settings.barrier), Due::AllHave);
    }

    pub(super) fn all_have(&mut self) {
        self.let_go();
        self.look_who_has_come();
    }

    fn look_who_has_come(&mut self) {
        let of = &self.meeters;
        let all_wait = of.members.iter().all(|&process| of.first_of(process).is_some());
        if of.waits || !all_wait || of.below < of.children().len() {
            return;
        }
        self.meeters.waits = true;
        self.meeters.below = 0;
        match self.meeters.meeting {
            Some(Meeting::Switches(group)) => self.around.come.push(group),
            Some(Meeting::Tree { parent: Some(parent), .. }) => self.tell_node(What::Below, parent),
            _ => {
                self.let_go();
                self.look_who_has_come();
            }
        }
    }

    /// All have come: nodes below are told, and the processes here.
    fn let_go(&mut self) {
        self.meeters.waits = false;
        self.counts.barriers += 1;
        for child in self.meeters.children() {
            self.tell_node(What::All, child);
        }
        for process in self.meeters.members.clone() {
            let place = self.meeters.first_of(process).expect("it waits");
            let mut completion = self.meeters.waiting.remove(place);
            completion.story.pass(Unit::Barrier, self.around.at);
            let (_, visible) = self.bus.post(process, self.around.at, POINTER);
            completion.story.pass(Unit::Bus, visible);
            self.around.ask(visible, Due::Visible(process, Sight::Barrier(completion)));
        }
    }

    fn tell_node(&mut self, what: What, node: NodeId) {
        // No operation has it: what stands for one is never looked at.
        let operation = Operation::plain(Verb::Barrier, Submission::Pio, (node, 0));
        let own = Peer { node: self.around.node, process: 0 };
        let (name, story) = ((own.node, 0, u64::MAX), Story::begin(self.around.at));
        let packet = Packet::of_word(what, name, operation, [own, Peer { node, process: 0 }], story);
        self.ready.push(Ready::Alone(Box::new(Packet { payload: MEET, ..packet })));
    }
}
