//! The barrier engine of the switch: the section *Barriers* of the normative text.

use super::Switch;
use super::parts::Parts;
use crate::hpp::barrier::{Check, FLITS, Member, Signal, Timer, count_timer, output_room, pop_checked};
use crate::hpp::{Cx, Shared};
use flitway_engine::Cycle;
use flitway_engine::agenda::Reminder;
use flitway_fabric::barrier::PacketKind;
use flitway_fabric::barrier::{Actions, BarrierId, To};
use flitway_fabric::bits::bits;
use flitway_fabric::observer::BarrierNote;
use flitway_fabric::observer::{LossReason, Observer};
use flitway_fabric::pool::Slot;
use flitway_fabric::simulation::Conservation;
use flitway_wiring::{PortId, RailId, SwitchId};
use std::collections::VecDeque;

/// What a switch has for barriers.
#[derive(Debug)]
pub(super) struct Barrier {
    ports: Box<[Queues]>,
    /// By group; none where the switch is not in its tree.
    members: Box<[Option<Member>]>,
    /// The place in the ring after the one that had its turn last. Places are inputs, then the timers of group 0, of group
    /// 1, ...
    turn: usize,
    /// Of the first timer.
    reminder: Reminder,
    input_room: usize,
    output_room: usize,
}

/// Barrier packets at one port.
#[derive(Debug)]
struct Queues {
    check: Check,
    /// On the way in, not checked yet.
    coming: VecDeque<Ordered>,
    input: VecDeque<Ordered>,
    output: VecDeque<Ordered>,
    /// Where barrier packets share the order of VC 0: packets granted out of its FIFO, and those chosen by the link out of
    /// its TX FIFO.
    granted: u32,
    chosen: u32,
}

/// A barrier packet, and how many packets of VC 0 have to be gone before it is its turn.
#[derive(Debug)]
struct Ordered {
    signal: Signal,
    after: u32,
}

impl Barrier {
    /// That of switch component `number`, if there are groups.
    pub(super) fn new(shared: &Shared, number: u32, ports: usize) -> Option<Box<Self>> {
        let barriers = &shared.barriers;
        if barriers.is_empty() {
            return None;
        }
        let switches = shared.routing.topology().switches();
        let (rail, here) = (RailId(number / switches), SwitchId(number % switches));
        let queues = |port| Queues {
            check: Check::new(shared, number, PortId::new(port)),
            coming: VecDeque::new(),
            input: VecDeque::new(),
            output: VecDeque::new(),
            granted: 0,
            chosen: 0,
        };
        Some(Box::new(Barrier {
            ports: (0..ports).map(queues).collect(),
            members: barriers.ids().map(|group| barriers.place(rail, here, group).map(Member::new)).collect(),
            turn: 0,
            reminder: Reminder::default(),
            input_room: shared.barrier.buffer_packets as usize,
            output_room: output_room(shared),
        }))
    }

    /// The timer at `place` of the ring, if it is one of a group that is here.
    fn timer(&self, place: usize) -> Option<(BarrierId, Timer)> {
        let timer = place.checked_sub(self.ports.len())?;
        let group = timer / Timer::ALL.len();
        self.members[group].as_ref()?;
        Some((BarrierId::new(group), Timer::ALL[timer % Timer::ALL.len()]))
    }

    fn places(&self) -> usize {
        self.ports.len() + Timer::ALL.len() * self.members.len()
    }

    /// Whether there is something to do at `place` of the ring in cycle `now`.
    fn is_waiting(&self, place: usize, now: Cycle) -> bool {
        match self.timer(place) {
            Some((group, timer)) => self.member(group).expires(timer) <= now,
            None => self.ports.get(place).is_some_and(Queues::has_input),
        }
    }

    /// Takes the next turn in cycle `now`.
    fn take_turn(&mut self, now: Cycle) -> Option<usize> {
        let places = self.places();
        let mut ring = (self.turn..places).chain(0..self.turn);
        let place = ring.find(|&place| self.is_waiting(place, now))?;
        self.turn = (place + 1) % places;
        Some(place)
    }

    /// When the engine has something to do next, after cycle `now`.
    fn next(&self, shared: &Shared, now: Cycle) -> Cycle {
        let mut next = Cycle::NEVER;
        for queues in &self.ports {
            if queues.has_input() {
                return now + 1;
            }
            // What has to wait for packets of VC 0 is woken by the last of them.
            if let Some(Ordered { signal, .. }) = queues.coming.front() {
                next = next.min(signal.at + shared.timing.to_engine);
            }
        }
        self.members.iter().flatten().fold(next, |next, member| next.min(member.next_expiry())).max(now + 1)
    }

    fn member(&self, group: BarrierId) -> &Member {
        self.members[group.index()].as_ref().expect("packets of a group stay in its tree")
    }

    fn member_mut(&mut self, group: BarrierId) -> &mut Member {
        self.members[group.index()].as_mut().expect("packets of a group stay in its tree")
    }
}

impl Queues {
    /// Whether there is a packet for the engine whose turn it is.
    fn has_input(&self) -> bool {
        self.first_input().is_some()
    }

    /// That packet.
    fn first_input(&self) -> Option<&Signal> {
        let first = self.input.front().filter(|it| self.granted.wrapping_sub(it.after) as i32 >= 0);
        first.map(|first| &first.signal)
    }

    /// The barrier packet that the link is to send before all packets of VC 0, if they share an order.
    fn first_output(&self) -> Option<&Signal> {
        self.output.front().filter(|first| first.after == self.chosen).map(|first| &first.signal)
    }
}

impl Parts<'_> {
    /// What it has for barriers, where a barrier packet or a timer says that there is something.
    fn engine(&mut self) -> &mut Barrier {
        self.barrier.as_mut().expect("barrier packets are sent where there are barriers")
    }

    /// Has the engine look in cycle `at`: its slot of the agenda is the last one before the arbiters.
    fn wake_engine(&mut self, at: Cycle) {
        if at != Cycle::NEVER {
            self.agenda.schedule(self.first_arbiter - 1, at);
        }
    }

    /// Takes in a barrier packet that is on the way.
    #[cold]
    #[inline(never)]
    pub(super) fn hear_signal(&mut self, shared: &Shared, signal: Signal) {
        let port = usize::from(signal.port);
        let fifo = &self.inputs[port * self.vcs].waiting;
        let before = if self.shares_order {
            shared.pools.states.iter(fifo).filter(|state| state.at < signal.at).count() as u32
        } else {
            0
        };
        let queues = &mut self.engine().ports[port];
        queues.coming.push_back(Ordered { signal, after: queues.granted.wrapping_add(before) });
        self.wake_engine(signal.at + shared.timing.to_engine);
    }

    /// A packet of VC 0 has been granted to input `port` in cycle `now`, where barrier packets share its order.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_turn_in(&mut self, port: usize, now: Cycle) {
        let queues = &mut self.engine().ports[port];
        queues.granted = queues.granted.wrapping_add(1);
        if queues.has_input() {
            self.wake_engine(now + 1);
        }
    }

    /// The link of `port` is to send what is first in the order of VC 0, in cycle `now`: if that is a barrier packet, it
    /// sends it, and it says whether it has.
    #[cold]
    #[inline(never)]
    pub(super) fn sends_signal_in_order<O: Observer>(
        &mut self,
        port: usize,
        now: Cycle,
        cx: &mut Cx<'_, O>,
    ) -> bool {
        let queues = &mut self.engine().ports[port];
        if queues.first_output().is_none() {
            queues.chosen = queues.chosen.wrapping_add(1);
            return false;
        }
        self.links[port].data_turn = 0;
        let output = &mut self.outputs[port * self.vcs];
        output.ready = cx.shared.pools.states.first(&output.granted).map_or(Cycle::NEVER, |next| next.at);
        let is_empty = output.granted.is_empty();
        self.links[port].waiting &= !u16::from(is_empty);
        self.send_signal(port, now, cx);
        true
    }

    /// Sees to it that `output` of crossbar 0 shows a barrier packet as ready, if one is first in the order of VC 0.
    #[cold]
    #[inline(never)]
    pub(super) fn expose_signal(&mut self, output: usize) {
        let port = output / self.vcs;
        if let Some(&Signal { at, .. }) = self.engine().ports[port].first_output() {
            self.outputs[output].ready = at;
            self.links[port].waiting |= 1;
        }
    }

    /// The engine looks, in cycle `now`.
    pub(super) fn run_engine<O: Observer>(&mut self, now: Cycle, cx: &mut Cx<'_, O>) {
        for port in 0..self.links.len() {
            self.fill_input(port, now, cx);
        }
        let engine = self.engine();
        if let Some(place) = engine.take_turn(now) {
            cx.counters.events += 1;
            match engine.timer(place) {
                Some((group, timer)) => {
                    let actions = engine.member_mut(group).expire(&cx.shared.barrier, now, timer);
                    count_timer(&mut cx.counters.barrier, &actions);
                    self.act(group, &actions, now, cx);
                }
                None => self.turn(place, now, cx),
            }
        }
        let slot = self.first_arbiter - 1;
        let engine = self.barrier.as_mut().expect("it has been woken for barriers");
        let next = engine.next(cx.shared, now);
        if next != Cycle::NEVER {
            self.agenda.remind(&mut engine.reminder, slot, next);
        }
    }

    /// What has been checked by cycle `now` at `port` comes into the queue of the input.
    fn fill_input<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let to_engine = cx.shared.timing.to_engine;
        let (number, engine) = (self.number, self.engine());
        let (room, queues) = (engine.input_room, &mut engine.ports[port]);
        while let Some(ordered) = pop_checked(&mut queues.coming, |it| it.signal.at + to_engine <= now) {
            let Ordered { signal, .. } = ordered;
            let fault = queues.check.fault(&signal);
            let counters = &mut cx.counters.barrier;
            let reason = if fault.is_some() {
                counters.lost_by_fault += 1;
                fault
            } else if queues.input.len() >= room {
                counters.lost_by_full_queue += 1;
                Some(LossReason::InputFull)
            } else {
                queues.input.push_back(ordered);
                None
            };
            if let Some(reason) = reason {
                cx.observer.barrier_lost(&signal.lost(now, number, PortId::new(port), reason));
            }
        }
    }

    /// Input `port` has its turn: its first packet, and with it what says the same, where combines are noted together.
    fn turn<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let first = self.engine().ports[port].first_input().copied();
        let (group, actions) = self.take_in(port, now, cx);
        let is_combine = first.is_some_and(|first| first.packet.kind == PacketKind::Combine);
        let Some(first) = first.filter(|_| cx.shared.barrier.together && is_combine) else {
            return self.act(group, &actions, now, cx);
        };
        let mut taken = vec![actions];
        for other in (port + 1..self.links.len()).chain(0..port) {
            if is_complete(&taken) {
                break;
            }
            let waiting = self.engine().ports[other].first_input();
            if waiting.is_some_and(|it| (it.group, it.packet) == (group, first.packet)) {
                taken.push(self.take_in(other, now, cx).1);
            }
        }
        // The distribute is the ACK of all of them.
        let first = if is_complete(&taken) { taken.len() - 1 } else { 0 };
        taken[first..].iter().for_each(|actions| self.act(group, actions, now, cx));
    }

    /// The engine takes the first packet out of the queue of input `port`.
    fn take_in<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) -> (BarrierId, Actions) {
        let engine = self.engine();
        let first = engine.ports[port].input.pop_front();
        let Ordered { signal, .. } = first.expect("an input that has its turn has a packet");
        let (group, settings) = (signal.group, &cx.shared.barrier);
        let (member, port) = (engine.member_mut(group), PortId::new(port));
        let (place, before) = (member.place, member.state());
        let actions = member.take(settings, now, port, signal.packet);
        if before != member.state() {
            let (switch, packet, arrived) = (self.number, signal.packet, signal.at);
            let note = BarrierNote { cycle: now, switch, port, group, packet, arrived, place };
            cx.observer.barrier_noted(&note);
        }
        cx.counters.barrier.handled += 1;
        (group, actions)
    }

    /// Does what an event of `group` leads to.
    fn act<O: Observer>(&mut self, group: BarrierId, actions: &Actions, now: Cycle, cx: &mut Cx<'_, O>) {
        let place = self.engine().member(group).place;
        if actions.completed && place.parent().is_none() {
            cx.observer.completed(now, self.number, group);
        }
        for addressed in actions.sends.iter().flatten() {
            let ports = match addressed.to {
                To::Parent => place.parent().map_or(0, |port| 1 << port.0),
                To::Child(port) => 1 << port.0,
                To::Children => place.children(),
            };
            for port in bits(ports) {
                let at = now + cx.shared.timing.from_engine;
                let signal = Signal { at, next: Slot::NONE, group, port: 0, packet: addressed.packet };
                self.put(port, signal, now, cx);
            }
        }
    }

    /// `signal` comes into the queue of output `port`.
    fn put<O: Observer>(&mut self, port: usize, signal: Signal, now: Cycle, cx: &mut Cx<'_, O>) {
        cx.counters.barrier.made += 1;
        let shares = self.shares_order;
        let granted = &self.outputs[port * self.vcs].granted;
        let before = if shares { cx.shared.pools.states.iter(granted).count() as u32 } else { 0 };
        let (number, engine) = (self.number, self.engine());
        let room = engine.output_room;
        let Queues { output, chosen, .. } = &mut engine.ports[port];
        if output.len() >= room {
            cx.counters.barrier.lost_by_full_queue += 1;
            let loss = signal.lost(now, number, PortId::new(port), LossReason::OutputFull);
            cx.observer.barrier_lost(&loss);
            return;
        }
        output.push_back(Ordered { signal, after: chosen.wrapping_add(before) });
        if output.len() == 1 {
            if shares {
                self.expose_signal(port * self.vcs);
            } else {
                self.links[port].barrier_at = signal.at;
            }
            let decides = signal.at.max(self.links[port].free_at);
            self.wake_link(port, decides);
        }
    }

    /// The link of `port` has chosen, in cycle `now`, the first barrier packet in its queue.
    #[cold]
    #[inline(never)]
    pub(super) fn send_signal<O: Observer>(&mut self, port: usize, now: Cycle, cx: &mut Cx<'_, O>) {
        let shares = self.shares_order;
        let output = &mut self.engine().ports[port].output;
        let first = output.pop_front();
        let Ordered { signal, .. } = first.expect("a link that chooses a barrier packet has one");
        let next = output.front().map_or(Cycle::NEVER, |next| next.signal.at);
        if shares {
            self.expose_signal(port * self.vcs);
        } else {
            self.links[port].barrier_at = next;
        }
        let link = &mut self.links[port];
        let Shared { timing, pools, .. } = &mut *cx.shared;
        let at = link.send(timing, now, FLITS);
        let leaves = Cycle(at.0 - u64::from(link.wire.latency));
        cx.observer.barrier_departed(&signal.departs(now, self.number, PortId::new(port), leaves));
        pools.signal(cx.post, &link.wire, Signal { at, ..signal });
        cx.counters.events += 1;
        cx.counters.barrier.sent += 1;
        self.arm_link(port);
    }
}

/// Whether the last of these combines has completed the operation, as it can at the root.
fn is_complete(taken: &[Actions]) -> bool {
    taken.last().is_some_and(|actions| actions.completed)
}

impl Switch {
    /// Enters the barrier packets that it holds into the books.
    pub(super) fn audit_signals(&self, books: &mut Conservation) {
        let Some(engine) = &self.barrier else { return };
        for Queues { coming, input, output, .. } in &engine.ports {
            books.barrier_in_network += (coming.len() + input.len() + output.len()) as u64;
        }
    }
}
