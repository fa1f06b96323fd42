//! Barriers of the processes of a node, in the switches or by messages.
//!
//! A node has one process for each group that it is a member of. **In the switches** a process tells its NIC that it has
//! arrived, and is told when it is released. **By messages** it sends and receives packets of
//! [`BarrierPlan::MESSAGE_BYTES`] like all others.
//!
//! **Processor.** Each message, and each word with the NIC, takes the processor of the node for the send or the receive
//! overhead, before it goes out or counts. The processor does one thing at a time, in the order in which they come up. A
//! process has arrived when it begins to say so, and is released when it knows. What the root of a [`Method::ThreeTrips`]
//! asks, NICs answer by themselves; where the answers are messages, the NIC of the root counts them, and its processor hears of
//! the last. What a [`Method::Conditional`] tests is a word of each node that its process has written, and NICs answer that by
//! themselves, too. A test that was false is made again as the machine sends again what was refused
//! ([`Repeats`](flitway_fabric::chip::Repeats)), and the processor does not work while it waits. With several ranges each is
//! tested by itself, until it is true.

mod plan;

pub use plan::{BarrierPlan, BarrierTag, Method, PlanSettings, Word};

use crate::processor::Processor;
use flitway_engine::Cycle;
use flitway_engine::random::{Purpose, Stream};
use flitway_fabric::observer::{BarrierPassage, MessageEvent};
use flitway_fabric::{BarrierId, Delivery, Endpoint, Outgoing, Packet, Up};
use flitway_wiring::NodeId;
use flitway_wiring::{Destination, RailId};
use flitway_workload::barrier::Pace;
use plan::{barrier_id, group_id};
use std::sync::Arc;

/// The barriers of a node.
#[derive(Debug)]
pub struct Synchroniser {
    plan: Arc<BarrierPlan>,
    node: NodeId,
    processes: Box<[Process]>,
    processor: Processor<Step>,
    next_rail: u32,
    lanes: Stream,
}

/// What the processor has done.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It has told its NIC that the process of the group has arrived.
    Told(BarrierId),
    /// It has written into the word of the process of the group that it has arrived.
    Written(u32),
    /// It has made a message.
    Made(Destination, BarrierTag),
    /// It has made one for the range of the group with that number.
    Broadcast(u32, BarrierTag),
    /// It has heard whether the test of the group's range with that number is true.
    Answered(u32, u32, bool),
    /// It has heard that all members of the group have arrived, which its NIC has counted.
    Counted(u32),
    /// It has taken in a message.
    Taken(BarrierTag),
    /// It has learnt that its process of the group is released.
    Learnt(u32),
}

#[derive(Debug)]
struct Process {
    group: u32,
    pace: Pace,
    /// When it arrives next; none while it waits.
    due: Option<Cycle>,
    arrived: Cycle,
    operation: u32,
    /// The round that it is in, where there are rounds.
    round: u8,
    /// What it has been told of even and of odd operations: a bit for each round, or the first for a question.
    heard: [u32; 2],
    /// Members that have arrived, where it counts them.
    count: u32,
    /// It has written that it has arrived, and what it has to test.
    has_written: bool,
    tests: Tests,
}

/// What a process tests.
#[derive(Clone, Debug, Default)]
struct Tests {
    /// Ranges of which it is not known that all of their members have arrived.
    open: u32,
    /// By range, how often it has been tested in vain in this operation.
    in_vain: Vec<u32>,
    /// Ranges to test again, and when.
    again: Vec<(Cycle, u32)>,
}

impl Process {
    fn is_odd(&self) -> bool {
        self.operation % 2 == 1
    }
}

impl Synchroniser {
    /// The barriers of `node`.
    #[must_use]
    pub fn new(plan: &Arc<BarrierPlan>, node: NodeId) -> Self {
        let process = |group| {
            let mut pace = Pace::new(plan.barrier(), node, group);
            let due = Some(pace.arrival(Cycle::ZERO));
            let arrived = Cycle::ZERO;
            Process {
                group,
                pace,
                due,
                arrived,
                operation: 0,
                round: 0,
                heard: [0; 2],
                count: 0,
                has_written: false,
                tests: Tests::default(),
            }
        };
        Synchroniser {
            plan: Arc::clone(plan),
            node,
            processes: plan.barrier().groups_of(node).map(process).collect(),
            processor: Processor::new(),
            // So that messages of different nodes go by different rails.
            next_rail: node.0 % plan.settings().rails,
            lanes: Stream::new(plan.settings().seed, node.0.into(), Purpose::Synchronising),
        }
    }

    /// Everything due by cycle `now`.
    fn act(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        loop {
            if let Some(step) = self.processor.done(now) {
                self.take(step, now, out);
            } else if let Some(place) =
                self.processes.iter().position(|process| process.due.is_some_and(|due| due <= now))
            {
                self.arrive(place, now);
            } else if let Some((place, range)) = self.test_due(now) {
                self.broadcast(place, range, Word::Tested(range), now);
            } else {
                break;
            }
        }
        let due = self.processes.iter().filter_map(|process| process.due);
        let tests = self.processes.iter().flat_map(|process| &process.tests.again).map(|&(at, _)| at);
        due.chain(tests).chain(self.processor.next()).min()
    }

    /// The process at `place` arrives.
    fn arrive(&mut self, place: usize, now: Cycle) {
        let process = &mut self.processes[place];
        (process.due, process.arrived, process.round) = (None, now, 0);
        let group = process.group;
        match self.plan.method() {
            Method::Switches | Method::NodeRoot => self.tell(group, now),
            Method::Conditional => {
                self.processor.work(now, self.plan.settings().send_overhead, Step::Written(group));
            }
            Method::ThreeTrips if self.plan.broadcasts() && self.plan.first(group) == self.node => {
                self.say_to_ranges(place, |_| Word::Asked, now);
                self.count(place, now);
            }
            Method::ThreeTrips if self.plan.first(group) == self.node => {
                self.say(place, Destination::Group(group_id(group), 0), Word::Asked, now);
                self.tell(group, now);
            }
            Method::ThreeTrips => self.answer(place, now),
            Method::CentralCounter if self.plan.first(group) == self.node => self.count(place, now),
            Method::CentralCounter => {
                self.say(place, Destination::Node(self.plan.first(group)), Word::Arrived, now);
            }
            Method::PairWise => self.begin_round(place, now),
        }
    }

    /// Tells the NIC of an arrival.
    fn tell(&mut self, group: u32, now: Cycle) {
        self.processor.work(now, self.plan.settings().send_overhead, Step::Told(barrier_id(group)));
    }

    /// Says `word` of the current operation of the process at `place`.
    fn say(&mut self, place: usize, to: Destination, word: Word, now: Cycle) {
        let step = Step::Made(to, self.tag(place, word));
        self.processor.work(now, self.plan.settings().send_overhead, step);
    }

    /// Says it to the range with that number of its group.
    fn broadcast(&mut self, place: usize, range: u32, word: Word, now: Cycle) {
        let step = Step::Broadcast(range, self.tag(place, word));
        self.processor.work(now, self.plan.settings().send_overhead, step);
    }

    fn tag(&self, place: usize, word: Word) -> BarrierTag {
        let process = &self.processes[place];
        BarrierTag { group: process.group, is_odd: process.is_odd(), word }
    }

    /// Says to each range of the group of the process at `place` the word of its number.
    fn say_to_ranges(&mut self, place: usize, word: impl Fn(u32) -> Word, now: Cycle) {
        let ranges = self.plan.ranges(self.processes[place].group).len() as u32;
        for range in 0..ranges {
            self.broadcast(place, range, word(range), now);
        }
    }

    /// A test that is to be made again by cycle `now`.
    fn test_due(&mut self, now: Cycle) -> Option<(usize, u32)> {
        self.processes.iter_mut().enumerate().find_map(|(place, process)| {
            let again = &mut process.tests.again;
            let due = again.iter().position(|&(at, _)| at <= now)?;
            Some((place, again.remove(due).1))
        })
    }

    /// The process at `place` has written that it has arrived. If it is the first of its group it tests who else has.
    fn write(&mut self, place: usize, now: Cycle) {
        let process = &mut self.processes[place];
        process.has_written = true;
        if self.plan.first(process.group) != self.node {
            return;
        }
        let ranges = self.plan.ranges(process.group).len();
        process.tests.open = ranges as u32;
        process.tests.in_vain = vec![0; ranges];
        self.say_to_ranges(place, Word::Tested, now);
    }

    /// Whether what `tag` tests is true here: the process has written of that operation that it has arrived, or it is ahead.
    fn is_true(&self, tag: BarrierTag) -> bool {
        let process = &self.processes[self.place(tag.group)];
        process.has_written && process.is_odd() == tag.is_odd
    }

    /// The processor has heard whether a test of `range` is true. With the last of them all members are released.
    fn judge(&mut self, place: usize, range: u32, is_true: bool, now: Cycle) {
        let tests = &mut self.processes[place].tests;
        if !is_true {
            let times = &mut tests.in_vain[range as usize];
            let wait = self.plan.wait(*times);
            *times += 1;
            return tests.again.push((now + wait, range));
        }
        tests.open -= 1;
        if tests.open == 0 {
            self.release_ranges(place, now);
        }
    }

    /// Tells all members that they are released, then goes on.
    fn release_ranges(&mut self, place: usize, now: Cycle) {
        self.say_to_ranges(place, |_| Word::Released, now);
        self.processor.work(now, 0, Step::Learnt(self.processes[place].group));
    }

    /// What follows from what the processor has done.
    fn take(&mut self, step: Step, now: Cycle, out: &mut Outgoing) {
        match step {
            Step::Told(group) => out.arrive(group),
            Step::Written(group) => self.write(self.place(group), now),
            Step::Made(to, tag) => {
                let packet = self.packet(to, tag, now);
                out.push(packet);
            }
            Step::Broadcast(range, tag) => {
                // Of the rail of the group; the set takes the place of its destination.
                let packet = self.packet(Destination::Group(group_id(tag.group), 0), tag, now);
                out.push_to_set(packet, Arc::clone(&self.plan.ranges(tag.group)[range as usize]));
            }
            Step::Answered(group, range, is_true) => self.judge(self.place(group), range, is_true, now),
            Step::Counted(group) => self.release_ranges(self.place(group), now),
            Step::Taken(tag) => self.learn(tag, now, out),
            Step::Learnt(group) => {
                let place = self.place(group);
                self.release(place, now, out);
            }
        }
    }

    fn packet(&mut self, destination: Destination, tag: BarrierTag, created: Cycle) -> Packet {
        let rail = match destination {
            Destination::Group(..) => self.plan.rail(tag.group),
            Destination::Node(_) | Destination::Nodes(_) => {
                let rail = RailId(self.next_rail);
                self.next_rail = (self.next_rail + 1) % self.plan.settings().rails;
                rail
            }
        };
        let (lane, payload) = (self.lanes.bits() as u32, BarrierPlan::MESSAGE_BYTES);
        Packet { destination, rail, lane, payload, created, flow: tag.into() }
    }

    fn place(&self, group: u32) -> usize {
        let found = self.processes.binary_search_by_key(&group, |process| process.group);
        found.expect("messages of a group go to its members")
    }

    /// A message has come. Some of them NICs deal with by themselves.
    fn take_in(&mut self, tag: BarrierTag, delivery: &Delivery, now: Cycle, out: &mut Outgoing) {
        match tag.word {
            Word::Tested(_) if self.is_true(tag) => {}
            Word::Tested(_) => out.deny(delivery.ticket()),
            // A copy of its own.
            Word::Asked | Word::Released if delivery.source == self.node => {}
            Word::Asked => self.learn(tag, now, out),
            Word::Arrived if self.plan.broadcasts() => self.learn(tag, now, out),
            Word::Arrived | Word::Released | Word::Round(_) => {
                self.processor.work(now, self.plan.settings().receive_overhead, Step::Taken(tag));
            }
        }
    }

    /// What a message says counts.
    fn learn(&mut self, tag: BarrierTag, now: Cycle, out: &mut Outgoing) {
        let place = self.place(tag.group);
        let process = &mut self.processes[place];
        match tag.word {
            Word::Arrived => self.count(place, now),
            Word::Tested(_) => {}
            Word::Released => self.release(place, now, out),
            Word::Asked => {
                process.heard[usize::from(tag.is_odd)] |= 1;
                self.answer(place, now);
            }
            Word::Round(round) => {
                process.heard[usize::from(tag.is_odd)] |= 1 << round;
                self.end_rounds(place, now);
            }
        }
    }

    /// One more member has arrived at the one that counts; with the last of them it tells all others, then goes on.
    fn count(&mut self, place: usize, now: Cycle) {
        let process = &mut self.processes[place];
        process.count += 1;
        let group = process.group;
        if process.count < self.plan.members(group) {
            return;
        }
        process.count = 0;
        if self.plan.broadcasts() {
            return self.processor.work(now, self.plan.settings().receive_overhead, Step::Counted(group));
        }
        let plan = Arc::clone(&self.plan);
        for &member in &plan.barrier().groups()[group as usize] {
            if member != self.node {
                self.say(place, Destination::Node(member), Word::Released, now);
            }
        }
        self.processor.work(now, 0, Step::Learnt(group));
    }

    /// Who has arrived and been asked, answers.
    fn answer(&mut self, place: usize, now: Cycle) {
        let process = &mut self.processes[place];
        let heard = &mut process.heard[process.operation as usize % 2];
        if process.due.is_none() && *heard != 0 {
            *heard = 0;
            let group = process.group;
            if self.plan.broadcasts() {
                self.say(place, Destination::Node(self.plan.first(group)), Word::Arrived, now);
            } else {
                self.tell(group, now);
            }
        }
    }

    /// Sends the message of the round that the process at `place` is in.
    fn begin_round(&mut self, place: usize, now: Cycle) {
        let Process { group, round, .. } = self.processes[place];
        let partner = self.plan.partner(group, self.node, round.into());
        self.say(place, Destination::Node(partner), Word::Round(round), now);
        self.end_rounds(place, now);
    }

    /// Ends the rounds whose message has come, if the process at `place` has arrived.
    fn end_rounds(&mut self, place: usize, now: Cycle) {
        let process = &mut self.processes[place];
        let heard = &mut process.heard[process.operation as usize % 2];
        if process.due.is_some() || *heard >> process.round & 1 == 0 {
            return;
        }
        *heard &= !(1 << process.round);
        process.round += 1;
        if u32::from(process.round) < BarrierPlan::rounds(self.plan.members(process.group)) {
            self.begin_round(place, now);
        } else {
            // Not before it has sent what it still has to send.
            self.processor.work(now, 0, Step::Learnt(self.processes[place].group));
        }
    }

    /// The process at `place` knows that it is released.
    fn release(&mut self, place: usize, now: Cycle, out: &mut Outgoing) {
        let process = &mut self.processes[place];
        let Process { group, operation, arrived, .. } = *process;
        let passage = BarrierPassage { group, operation, arrived, released: now };
        out.report(MessageEvent::Synchronised(passage));
        process.operation += 1;
        process.has_written = false;
        process.due = Some(process.pace.arrival(now));
    }
}

impl Endpoint for Synchroniser {
    fn wake(&mut self, now: Cycle, out: &mut Outgoing) -> Option<Cycle> {
        self.act(now, out)
    }

    fn hear(&mut self, now: Cycle, up: Up<'_>, out: &mut Outgoing) -> Option<Cycle> {
        let overhead = self.plan.settings().receive_overhead;
        match up {
            Up::Delivery(delivery) => {
                if let Some(tag) = BarrierTag::of(delivery.flow) {
                    self.take_in(tag, delivery, now, out);
                }
            }
            Up::Answered(_, flow, is_true) => {
                if let Some(BarrierTag { group, word: Word::Tested(range), .. }) = BarrierTag::of(flow) {
                    self.processor.work(now, overhead, Step::Answered(group, range, is_true));
                }
            }
            Up::Released(group) => self.processor.work(now, overhead, Step::Learnt(group.0)),
            Up::Sent(..) => {}
        }
        self.act(now, out)
    }
}

#[cfg(test)]
mod tests;
