//! The NIC port as a leaf of barrier groups, or their root: the section *Barriers* of the normative text.

use super::Port;
use crate::hpp::barrier::{Check, FLITS, Member, Signal, Timer, count_timer, output_room, pop_checked};
use crate::hpp::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_fabric::barrier::{Actions, BarrierId, Barriers};
use flitway_fabric::observer::{LossReason, Observer};
use flitway_fabric::pool::Slot;
use flitway_fabric::simulation::Conservation;
use flitway_wiring::{NodeId, PortId, RailId};
use std::collections::VecDeque;

/// What a NIC port has for barriers.
#[derive(Debug)]
pub(super) struct Leaf {
    number: u32,
    check: Check,
    /// By group; none where the node is no member.
    members: Box<[Option<Member>]>,
    /// Packets on the way in, not checked yet.
    coming: VecDeque<Signal>,
    output: VecDeque<Signal>,
    output_room: usize,
    /// Groups that have been completed by the arrival of the process, with the cycle in which it is released.
    completed: VecDeque<(Cycle, BarrierId)>,
}

impl Leaf {
    /// That of the node component `number` in `rail`, if there are groups.
    pub(super) fn new(shared: &Shared, number: u32, rail: RailId) -> Option<Box<Self>> {
        let barriers = &shared.barriers;
        if barriers.is_empty() {
            return None;
        }
        let node = NodeId(number - shared.first_node);
        Some(Box::new(Leaf {
            number,
            check: Check::new(shared, number, PortId(rail.0)),
            members: barriers.ids().map(|group| barriers.leaf(rail, node, group).map(Member::new)).collect(),
            coming: VecDeque::new(),
            output: VecDeque::new(),
            output_room: output_room(shared),
            completed: VecDeque::new(),
        }))
    }

    /// When a packet has been checked or a timer expires next.
    fn next(&self) -> Cycle {
        let checked = self.coming.front().map_or(Cycle::NEVER, |signal| signal.at + FLITS);
        let released = self.completed.front().map_or(Cycle::NEVER, |&(at, _)| at);
        self.members
            .iter()
            .flatten()
            .fold(checked.min(released), |next, member| next.min(member.next_expiry()))
    }
}

impl Port {
    fn leaf(&mut self) -> &mut Leaf {
        self.leaf.as_mut().expect("barrier packets are sent where there are barriers")
    }

    /// Takes in a barrier packet that is on the way.
    #[cold]
    #[inline(never)]
    pub(super) fn hear_signal(&mut self, signal: Signal) {
        self.leaf().coming.push_back(signal);
        self.decide_at = self.decide_at.min(signal.at + FLITS);
    }

    /// A group whose process is released in cycle `now`: one that it has completed, or one that is complete with the packet
    /// that has been checked by then.
    #[cold]
    #[inline(never)]
    pub(super) fn release_one<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) -> Option<BarrierId> {
        let completed = &mut self.leaf().completed;
        if completed.front().is_some_and(|&(at, _)| at <= now) {
            return completed.pop_front().map(|(_, group)| group);
        }
        self.take_signal(now, cx)
    }

    /// Takes in the packet that has been checked by cycle `now`, if one has; the group that is complete with it.
    fn take_signal<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) -> Option<BarrierId> {
        let rail = self.rail;
        let leaf = self.leaf();
        let signal = pop_checked(&mut leaf.coming, |signal| signal.at + FLITS <= now)?;
        debug_assert_eq!(signal.at + FLITS, now, "a wire carries one packet at a time");
        if let Some(reason) = leaf.check.fault(&signal) {
            cx.counters.barrier.lost_by_fault += 1;
            cx.observer.barrier_lost(&signal.lost(now, leaf.number, PortId(rail.0), reason));
            return None;
        }
        let member = leaf.members[signal.group.index()].as_mut();
        let member = member.expect("packets of a group stay in its tree");
        let port = Barriers::leaf_ports().1;
        let actions = member.take(&cx.shared.barrier, now, port, signal.packet);
        cx.counters.events += 1;
        cx.counters.barrier.handled += 1;
        self.act(signal.group, &actions, now, cx);
        actions.completed.then_some(signal.group)
    }

    /// The node's process arrives at a barrier of `group`. Says whether the group is in this rail and the node its member.
    #[cold]
    #[inline(never)]
    pub(super) fn take_arrival<O: Observer>(
        &mut self,
        group: BarrierId,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> bool {
        let leaf = self.leaf.as_mut();
        let member = leaf.and_then(|leaf| leaf.members.get_mut(group.index())?.as_mut());
        let Some(member) = member else { return false };
        let process = Barriers::leaf_ports().0;
        let actions = member.arrive(&cx.shared.barrier, now, process);
        self.act(group, &actions, now, cx);
        if actions.completed {
            self.leaf().completed.push_back((now + 1, group));
        }
        self.decide_at = self.decide_at.min(now);
        true
    }

    /// What is due in cycle `now`, in a port that is a leaf or might be one.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_as_leaf<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        self.expire_timers(now, cx);
        self.catch_up_to_decide(now, cx);
        if self.link.free_at <= now {
            if self.link.barrier_at <= now {
                self.send_signal(now, cx);
            } else if let Some(vc) = self.choose(cx.shared, now) {
                self.send(vc, now, cx);
            }
        }
        self.arm(cx.shared, now);
        self.decide_at = self.decide_at.min(self.next_signal());
    }

    /// Timers that expire in cycle `now`.
    fn expire_timers<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        for group in cx.shared.barriers.ids() {
            for timer in Timer::ALL {
                let member = self.leaf().members[group.index()].as_mut();
                if let Some(member) = member.filter(|member| member.expires(timer) <= now) {
                    let actions = member.expire(&cx.shared.barrier, now, timer);
                    cx.counters.events += 1;
                    count_timer(&mut cx.counters.barrier, &actions);
                    self.act(group, &actions, now, cx);
                }
            }
        }
    }

    /// Does what an event of `group` leads to; what is for the process is the caller's business.
    fn act<O: Observer>(&mut self, group: BarrierId, actions: &Actions, now: Cycle, cx: &mut Cx<'_, O>) {
        let port = PortId(self.rail.0);
        let place = self.leaf().members[group.index()].as_ref().expect("it is in the tree").place;
        if actions.completed && place.parent().is_none() {
            cx.observer.completed(now, self.leaf().number, group);
        }
        let nic_port = Barriers::leaf_ports().1;
        for addressed in actions.sends.iter().flatten().filter(|it| place.leaves_by(it.to, nic_port)) {
            let signal = Signal { at: now, next: Slot::NONE, group, port: 0, packet: addressed.packet };
            cx.counters.barrier.made += 1;
            let leaf = self.leaf();
            if leaf.output.len() >= leaf.output_room {
                cx.counters.barrier.lost_by_full_queue += 1;
                cx.observer.barrier_lost(&signal.lost(now, leaf.number, port, LossReason::OutputFull));
                continue;
            }
            leaf.output.push_back(signal);
            if leaf.output.len() == 1 {
                self.link.barrier_at = now;
            }
        }
    }

    /// The link has chosen, in cycle `now`, the first barrier packet in its queue.
    fn send_signal<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        let output = &mut self.leaf().output;
        let signal = output.pop_front().expect("a link that chooses a barrier packet has one");
        let next = output.front().map_or(Cycle::NEVER, |signal| signal.at);
        self.link.barrier_at = next;
        let (number, port) = (self.leaf().number, PortId(self.rail.0));
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let at = self.link.send(timing, now, FLITS);
        let leaves = Cycle(at.0 - u64::from(self.link.wire.latency));
        cx.observer.barrier_departed(&signal.departs(now, number, port, leaves));
        pools.signal(cx.post, &self.link.wire, Signal { at, ..signal });
        cx.counters.events += 1;
        cx.counters.barrier.sent += 1;
    }

    /// When there is something to do for barriers next.
    fn next_signal(&self) -> Cycle {
        let next = self.leaf.as_ref().map_or(Cycle::NEVER, |leaf| leaf.next());
        next.min(self.link.barrier_at.max(self.link.free_at))
    }

    /// Enters the barrier packets that it holds into the books.
    pub(super) fn audit_signals(&self, books: &mut Conservation) {
        let Some(leaf) = &self.leaf else { return };
        books.barrier_in_network += (leaf.coming.len() + leaf.output.len()) as u64;
    }
}
