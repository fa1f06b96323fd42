//! A world: a tree, its channels, its timers, and every step that it can take.

use super::channel::{Channel, Order, Overflow, Queue, Way};
use super::deviation::{Deviation, Registers};
use super::tree::Tree;
use flitway_fabric::barrier::{
    Actions, DunStart, Event, Packet, PacketKind, Phase, Sequence, TimerChange, To,
};
use flitway_wiring::PortId;

/// The most members of a tree.
pub(super) const MEMBERS_MAX: usize = 7;

/// The process of a leaf.
const PROCESS: PortId = PortId(0);

/// How a world begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As out-of-band management should leave it.
    Clean,
    /// Against rule 7: the first leaf begins with the other S.
    OddLeaf,
    /// Against rule 8: a packet of an earlier set-up is still on the way between the first leaf and its parent.
    Stale(Packet),
}

/// What is checked.
#[derive(Clone, Debug)]
pub struct World {
    /// Who waits for whom.
    pub tree: Tree,
    /// When dun timers start.
    pub dun_start: DunStart,
    /// Every channel.
    pub queue: Queue,
    /// Whether packets get lost. If not, nothing happens that would fill a channel beyond its capacity.
    pub is_lossy: bool,
    /// Whether a packet can come out and yet stay.
    pub is_duplicating: bool,
    /// Whether packets get lost that are still in flight when their receiver enters the second operation after theirs.
    pub is_short_lived: bool,
    /// Whether siblings that look alike may change places in the number of a state, which makes fewer states.
    pub is_reduced: bool,
    /// How it begins.
    pub start: Start,
    /// What it does otherwise than the protocol says.
    pub deviations: &'static [Deviation],
}

/// A member of the tree, with the channels between it and its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub(super) registers: Registers,
    pub(super) retransmit_runs: bool,
    pub(super) dun_runs: bool,
    /// Of a leaf: whether its process has been released once more than that of the last leaf. An operation number would
    /// grow for ever; differences are all that matters.
    pub(super) is_ahead: bool,
    pub(super) up: Channel,
    pub(super) down: Channel,
}

/// Everything that there is at one moment.
pub(super) type Snapshot = [Member; MEMBERS_MAX];

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The member at the lower end.
    pub(super) child: usize,
    pub(super) way: Way,
    pub(super) position: usize,
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Arrive(usize),
    Deliver(Flight),
    /// Delivered, and yet still in flight.
    DeliverCopy(Flight),
    Lose(Flight),
    RetransmitExpires(usize),
    DunExpires(usize),
    /// What [`Deviation::FlipAfterFirst`] and [`Deviation::DistributeLater`] put off.
    Finish(usize),
}

/// What a step is to the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Nothing,
    /// The last leaf is released from an operation.
    Complete,
    /// A leaf is released from an operation at which another one has not arrived.
    Unsafe {
        leaf: usize,
        missing: usize,
    },
}

/// What a step leads to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub(super) next: Snapshot,
    pub(super) meaning: Meaning,
    /// Whether a packet was lost because a channel was full.
    pub(super) overflows: bool,
    /// The member that acted, if one did, and what it did.
    pub(super) acted: Option<(usize, Actions)>,
}

impl World {
    /// The protocol as it is, with the timers of the HPP Switch, on channels that lose.
    #[must_use]
    pub fn new(tree: Tree, capacity: usize) -> Self {
        assert!(tree.members.len() <= MEMBERS_MAX, "a snapshot has room for the tree");
        World {
            tree,
            dun_start: DunStart::AtAck,
            queue: Queue { order: Order::Fifo, capacity },
            is_lossy: true,
            is_duplicating: false,
            is_short_lived: false,
            is_reduced: true,
            start: Start::Clean,
            deviations: &[],
        }
    }

    /// The moment at which everything begins.
    pub(super) fn fresh(&self) -> Snapshot {
        let mut snapshot = [Member::fresh(); MEMBERS_MAX];
        let leaf = self.tree.leaves().next().expect("a tree has leaves");
        match self.start {
            Start::Clean => {}
            Start::OddLeaf => snapshot[leaf].registers.state.sequence = Sequence::FIRST.other(),
            Start::Stale(packet) => {
                let way = match packet.kind {
                    PacketKind::Combine | PacketKind::DistributeDun => Way::Up,
                    PacketKind::CombineAck | PacketKind::Distribute => Way::Down,
                };
                snapshot[leaf].channel(way).push(way.code(packet), self.queue, Overflow::Newcomer);
            }
        }
        snapshot
    }

    /// Takes every step that can be taken, in every way.
    pub(super) fn each_step(&self, snapshot: &Snapshot, mut visit: impl FnMut(Step, &Outcome)) {
        let mut take = |step| {
            let outcome = self.take(snapshot, step, Overflow::Newcomer);
            if outcome.overflows && !self.is_lossy {
                return;
            }
            visit(step, &outcome);
            // Without an order there is no last packet; there, each can be lost in a step before.
            if outcome.overflows && self.queue.order != Order::Any {
                visit(step, &self.take(snapshot, step, Overflow::Last));
            }
        };
        for (number, part) in self.tree.members.iter().enumerate() {
            let member = &snapshot[number];
            if part.is_leaf() && member.registers.state.phase == Phase::Collect {
                take(Step::Arrive(number));
            }
            if member.retransmit_runs {
                take(Step::RetransmitExpires(number));
            }
            if member.dun_runs {
                take(Step::DunExpires(number));
            }
            if member.registers.distributing {
                take(Step::Finish(number));
            }
            for (way, channel) in [(Way::Up, member.up), (Way::Down, member.down)] {
                let flight = |position| Flight { child: number, way, position };
                let is_heard = way == Way::Down || !self.is_busy(snapshot, number);
                for position in channel.exits(self.queue.order).filter(|_| is_heard) {
                    take(Step::Deliver(flight(position)));
                    if self.is_duplicating {
                        take(Step::DeliverCopy(flight(position)));
                    }
                }
                if self.is_lossy {
                    (0..channel.len()).for_each(|position| take(Step::Lose(flight(position))));
                }
            }
        }
    }

    /// Whether the parent of `child` hears nothing.
    fn is_busy(&self, snapshot: &Snapshot, child: usize) -> bool {
        let parent = self.tree.members[child].parent;
        parent.is_some_and(|(parent, _)| snapshot[parent].registers.distributing)
            && self.deviations.contains(&Deviation::DistributeLater)
    }

    /// Takes a step.
    fn take(&self, snapshot: &Snapshot, step: Step, overflow: Overflow) -> Outcome {
        let mut next = *snapshot;
        let (actor, actions) = match step {
            Step::Arrive(leaf) => {
                let state = &mut next[leaf].registers.state;
                (leaf, state.arrive(&self.tree.members[leaf].place, self.dun_start, PROCESS))
            }
            Step::Lose(flight) => {
                next[flight.child].channel(flight.way).remove(flight.position);
                return Outcome { next, meaning: Meaning::Nothing, acted: None, overflows: false };
            }
            Step::Deliver(flight) => {
                next[flight.child].channel(flight.way).remove(flight.position);
                self.deliver(&mut next, flight, snapshot)
            }
            Step::DeliverCopy(flight) => self.deliver(&mut next, flight, snapshot),
            Step::RetransmitExpires(member) => {
                next[member].retransmit_runs = false;
                (member, self.happen(&mut next, member, Event::RetransmitExpired))
            }
            Step::DunExpires(member) => {
                next[member].dun_runs = false;
                (member, self.happen(&mut next, member, Event::DunExpired))
            }
            Step::Finish(member) => {
                (member, next[member].registers.finish(self.deviations, &self.tree.members[member].place))
            }
        };
        let (meaning, overflows) = self.act(&mut next, actor, &actions, overflow);
        Outcome { next, meaning, acted: Some((actor, actions)), overflows }
    }

    /// A packet that was in flight at `before` comes out.
    fn deliver(&self, next: &mut Snapshot, flight: Flight, before: &Snapshot) -> (usize, Actions) {
        let packet = self.packet(before, flight);
        let (parent, port) = self.tree.members[flight.child].parent.expect("the root has no channels");
        let (receiver, port) = match flight.way {
            Way::Up => (parent, Some(port)),
            Way::Down => (flight.child, self.tree.members[flight.child].place.parent()),
        };
        let event = port.and_then(|port| self.tree.members[receiver].place.event(port, packet));
        let event = event.expect("packets go their way in the tree");
        (receiver, self.happen(next, receiver, event))
    }

    fn happen(&self, next: &mut Snapshot, member: usize, event: Event) -> Actions {
        let place = &self.tree.members[member].place;
        next[member].registers.next(self.deviations, place, self.dun_start, event)
    }

    /// Does what a member wants. Says what that is to the barrier, and whether a channel was full.
    fn act(
        &self,
        next: &mut Snapshot,
        actor: usize,
        actions: &Actions,
        overflow: Overflow,
    ) -> (Meaning, bool) {
        let part = &self.tree.members[actor];
        set(&mut next[actor].retransmit_runs, actions.retransmit);
        set(&mut next[actor].dun_runs, actions.dun);
        let (mut meaning, mut overflows) = (Meaning::Nothing, false);
        for send in actions.sends.iter().flatten() {
            let mut push = |child: usize, way: Way| {
                let code = way.code(send.packet);
                overflows |= next[child].channel(way).push(code, self.queue, overflow);
            };
            match send.to {
                To::Parent => push(actor, Way::Up),
                _ if part.is_leaf() && send.packet.kind == PacketKind::Distribute => {
                    meaning = self.release(next, actor);
                }
                // The process is content with having arrived.
                _ if part.is_leaf() => {}
                To::Child(port) => push(part.children[port.index()], Way::Down),
                To::Children => part.children.iter().for_each(|&child| push(child, Way::Down)),
            }
        }
        if actions.completed && self.is_short_lived {
            self.forget(next, actor);
        }
        (meaning, overflows)
    }

    /// `member` has entered an operation, so what travels towards it with the S of that one is two operations old: neither
    /// its parent nor its children can be ahead of it now.
    fn forget(&self, next: &mut Snapshot, member: usize) {
        let sequence = next[member].registers.state.sequence;
        next[member].down.retain(|packet| packet.sequence != sequence, Way::Down);
        for &child in &self.tree.members[member].children {
            next[child].up.retain(|packet| packet.sequence != sequence, Way::Up);
        }
    }

    /// The process of `leaf` goes on.
    fn release(&self, next: &mut Snapshot, leaf: usize) -> Meaning {
        // How often a leaf has arrived, less how often the last leaf has been released.
        let arrivals = |member: &Member| {
            u32::from(member.is_ahead) + u32::from(member.registers.state.phase != Phase::Collect)
        };
        let releases = u32::from(next[leaf].is_ahead) + 1;
        let mut others = self.tree.leaves().filter(|&other| other != leaf);
        if let Some(missing) = others.find(|&other| arrivals(&next[other]) < releases) {
            return Meaning::Unsafe { leaf, missing };
        }
        assert!(releases == 1, "a leaf that is ahead waits for the others");
        next[leaf].is_ahead = true;
        if self.tree.leaves().any(|other| !next[other].is_ahead) {
            return Meaning::Nothing;
        }
        self.tree.leaves().for_each(|other| next[other].is_ahead = false);
        Meaning::Complete
    }

    /// The packet of a flight.
    pub(super) fn packet(&self, snapshot: &Snapshot, flight: Flight) -> Packet {
        let member = &snapshot[flight.child];
        let channel = match flight.way {
            Way::Up => member.up,
            Way::Down => member.down,
        };
        channel.packet(flight.way, flight.position)
    }
}

impl Member {
    /// After a set-up.
    pub(super) fn fresh() -> Self {
        Member {
            registers: Registers::default(),
            retransmit_runs: false,
            dun_runs: false,
            is_ahead: false,
            up: Channel::EMPTY,
            down: Channel::EMPTY,
        }
    }

    fn channel(&mut self, way: Way) -> &mut Channel {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }
}

/// A timer that has expired runs again only if it is armed again.
fn set(runs: &mut bool, change: TimerChange) {
    match change {
        TimerChange::Keep => {}
        TimerChange::Arm => *runs = true,
        TimerChange::Stop => *runs = false,
    }
}
