//! A world: two ends, what is on the way, and every step that it can take.

use super::deviation::Deviation;
use super::wire::{Back, Bag, CAPACITY_MAX, Forward, Use};
use super::words;
use crate::explore::{Meaning, Model};

/// Contexts of an end, and operations, that there can be.
pub(super) const CONTEXTS: usize = 2;
pub(super) const OPERATIONS: usize = 3;

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// Sender contexts, at most 2.
    pub senders: usize,
    /// Receiver contexts, at most 2.
    pub receivers: usize,
    /// Operations, at most 3.
    pub operations: u8,
    /// Packets of each, at most 2.
    pub packets: u8,
    /// Packets that can be on the way to the receiver; one more is lost.
    pub forward: usize,
    /// Answers that can be on the way; one more is lost.
    pub back: usize,
    /// Whether anything on the way is lost.
    pub loses: bool,
    /// Whether anything on the way is doubled.
    pub doubles: bool,
    /// Whether data are corrupted.
    pub corrupts: bool,
    /// Whether what has come finds no room now and then.
    pub refuses: bool,
    /// After how many failures an end gives up, if it does.
    pub tries: Option<u8>,
    /// What it does otherwise than the protocol says.
    pub deviations: &'static [Deviation],
}

/// How far the connection of a sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Setup,
    BackOff,
    To(Use),
}

/// A sender context that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) operation: u8,
    pub(super) open: Open,
    pub(super) sent: u8,
    /// A bit for each packet.
    pub(super) again: u8,
    pub(super) failures: u8,
}

/// A receiver context that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Receiving {
    pub(super) sender: Use,
    pub(super) operation: u8,
    /// A bit for each packet that it takes itself to have.
    pub(super) has: u8,
    /// The same of those that have come with their own bytes.
    pub(super) right: u8,
    pub(super) is_done: bool,
    pub(super) silent: u8,
}

/// A context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot<T> {
    pub(super) generation: u8,
    pub(super) used: Option<T>,
}

/// What has become of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fate {
    /// It has begun.
    pub(super) is_begun: bool,
    /// It has been delivered.
    pub(super) is_delivered: bool,
    /// It is over at the sender: told, or given up.
    pub(super) is_over: bool,
}

/// Everything that there is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub(super) senders: [Slot<Sending>; CONTEXTS],
    pub(super) receivers: [Slot<Receiving>; CONTEXTS],
    pub(super) forward: Bag<Forward>,
    pub(super) back: Bag<Back>,
    pub(super) fates: [Fate; OPERATIONS],
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next operation begins.
    Begin,
    /// A packet goes out for the first time.
    Send(u8),
    /// A packet goes out again.
    SendAgain(u8),
    /// A back-off is over.
    SetUpAgain(u8),
    /// The timer of a sender expires.
    TimeOut(u8),
    /// The timer of a receiver expires.
    ReceiverTimeOut(u8),
    /// All packets that have come are dealt with.
    Finish(u8),
    /// A packet, or the event of its transfer, finds no room.
    Refuse(u8, u8),
    /// Something comes to the receiver.
    Hear(usize),
    /// The same, and it will come once more.
    HearDouble(usize),
    /// Data come, and are corrupt.
    HearCorrupt(usize),
    /// Something is lost on the way to the receiver.
    Lose(usize),
    /// Something comes back to the sender.
    HearBack(usize),
    /// The same, and it will come once more.
    HearBackDouble(usize),
    /// Something is lost on the way back.
    LoseBack(usize),
    /// All is over, and nothing happens.
    Rest,
}

/// What must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// An operation is delivered that was delivered before.
    Twice,
    /// An operation is delivered without all of its own bytes.
    Wrong,
    /// A sender tells its process of an operation that has not been delivered.
    TooEarly,
}

/// What a step leads to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub(super) next: Snapshot,
    pub(super) violation: Option<Violation>,
    is_home: bool,
}

impl World {
    /// The protocol as it is, with so many operations of so many packets, one context at each end, and room for two each way.
    #[must_use]
    pub fn new(operations: u8, packets: u8) -> Self {
        World {
            senders: 1,
            receivers: 1,
            operations,
            packets,
            forward: 2,
            back: 2,
            loses: true,
            doubles: true,
            corrupts: true,
            refuses: true,
            tries: None,
            deviations: &[],
        }
    }

    pub(super) fn deviates(&self, deviation: Deviation) -> bool {
        self.deviations.contains(&deviation)
    }

    /// All operations are over, and all contexts free.
    fn is_home(&self, now: &Snapshot) -> bool {
        let is_over = now.fates[..usize::from(self.operations)].iter().all(|fate| fate.is_over);
        is_over
            && now.senders.iter().all(|slot| slot.used.is_none())
            && now.receivers.iter().all(|slot| slot.used.is_none())
    }

    /// What the contexts of senders can do.
    fn sender_steps(&self, now: &Snapshot, all: &mut Vec<Step>) {
        let is_free = now.senders[..self.senders].iter().any(|slot| slot.used.is_none());
        if is_free && now.fates[..usize::from(self.operations)].iter().any(|fate| !fate.is_begun) {
            all.push(Step::Begin);
        }
        for (place, slot) in (0..).zip(&now.senders) {
            let Some(sending) = slot.used else { continue };
            match sending.open {
                Open::BackOff if self.deviates(Deviation::NackEnds) => {}
                Open::BackOff => all.push(Step::SetUpAgain(place)),
                Open::Setup => {}
                Open::To(_) => {
                    all.extend((sending.sent < self.packets).then_some(Step::Send(place)));
                    all.extend((sending.again != 0).then_some(Step::SendAgain(place)));
                }
            }
            if sending.open != Open::BackOff && !self.deviates(Deviation::NoSenderTimer) {
                all.push(Step::TimeOut(place));
            }
        }
    }

    /// What the contexts of receivers can do.
    fn receiver_steps(&self, now: &Snapshot, all: &mut Vec<Step>) {
        for (place, slot) in (0..).zip(&now.receivers) {
            let Some(receiving) = slot.used else { continue };
            if !self.deviates(Deviation::NoReceiverTimer) {
                all.push(Step::ReceiverTimeOut(place));
            }
            if receiving.has + 1 == 1 << self.packets && !receiving.is_done {
                all.push(Step::Finish(place));
                let refused = if self.refuses { self.packets } else { 0 };
                all.extend((0..refused).map(|packet| Step::Refuse(place, packet)));
            }
        }
    }

    /// All steps that can be taken.
    fn steps(&self, now: &Snapshot) -> Vec<Step> {
        let mut all = Vec::new();
        self.sender_steps(now, &mut all);
        self.receiver_steps(now, &mut all);
        for (place, packet) in now.forward.iter().enumerate() {
            all.push(Step::Hear(place));
            all.extend(self.doubles.then_some(Step::HearDouble(place)));
            let is_data = matches!(packet, Forward::Data(..));
            all.extend((is_data && self.corrupts).then_some(Step::HearCorrupt(place)));
            all.extend(self.loses.then_some(Step::Lose(place)));
        }
        for place in 0..now.back.len() {
            all.push(Step::HearBack(place));
            all.extend(self.doubles.then_some(Step::HearBackDouble(place)));
            all.extend(self.loses.then_some(Step::LoseBack(place)));
        }
        all.extend(self.is_home(now).then_some(Step::Rest));
        all
    }

    /// Takes a step.
    fn take(&self, snapshot: &Snapshot, step: Step) -> Outcome {
        let mut next = *snapshot;
        let mut violation = None;
        match step {
            Step::Begin => self.begin(&mut next),
            Step::Send(context) => violation = self.send(&mut next, context),
            Step::SendAgain(context) => self.send_again(&mut next, context),
            Step::SetUpAgain(context) => self.set_up_again(&mut next, context),
            Step::TimeOut(context) => self.time_out(&mut next, context),
            Step::ReceiverTimeOut(context) => self.receiver_time_out(&mut next, context),
            Step::Finish(context) => violation = self.finish(&mut next, context),
            Step::Refuse(context, packet) => self.refuse(&mut next, context, packet),
            Step::Hear(place) | Step::HearCorrupt(place) => {
                let packet = next.forward.take(place);
                self.hear(&mut next, packet, matches!(step, Step::Hear(_)));
            }
            Step::HearDouble(place) => {
                let packet = next.forward.get(place);
                self.hear(&mut next, packet, true);
            }
            Step::Lose(place) => drop(next.forward.take(place)),
            Step::HearBack(place) => {
                let answer = next.back.take(place);
                violation = self.hear_back(&mut next, answer);
            }
            Step::HearBackDouble(place) => {
                let answer = next.back.get(place);
                violation = self.hear_back(&mut next, answer);
            }
            Step::LoseBack(place) => drop(next.back.take(place)),
            Step::Rest => {}
        }
        Outcome { next, violation, is_home: self.is_home(&next) }
    }
}

impl Model for World {
    type Snapshot = Snapshot;
    type Step = Step;
    type Outcome = Outcome;
    const STUCK: &'static str = "from here on not everything can be over with all contexts free";

    fn first(&self) -> Snapshot {
        assert!(
            self.senders <= CONTEXTS && self.receivers <= CONTEXTS,
            "a snapshot has room for all contexts"
        );
        assert!(
            self.forward <= CAPACITY_MAX && self.back <= CAPACITY_MAX,
            "there is room for all on the way"
        );
        assert!(
            usize::from(self.operations) <= OPERATIONS && self.packets <= 2,
            "operations are few and short"
        );
        Snapshot {
            senders: [Slot { generation: 0, used: None }; CONTEXTS],
            receivers: [Slot { generation: 0, used: None }; CONTEXTS],
            forward: Bag::EMPTY,
            back: Bag::EMPTY,
            fates: [Fate::default(); OPERATIONS],
        }
    }

    fn each(&self, snapshot: &Snapshot, mut visit: impl FnMut(Step, &Outcome)) {
        self.steps(snapshot).into_iter().for_each(|step| visit(step, &self.take(snapshot, step)));
    }

    fn next(outcome: &Outcome) -> &Snapshot {
        &outcome.next
    }

    fn meaning(outcome: &Outcome) -> Meaning {
        Meaning::of(outcome.violation.is_some(), outcome.is_home)
    }

    fn width(&self) -> usize {
        self.bits(&self.first()).width
    }

    fn key(&self, snapshot: &Snapshot) -> u128 {
        self.bits(&self.normal(snapshot)).value
    }

    fn snapshot(&self, key: u128) -> Snapshot {
        self.of_bits(key)
    }

    fn line(&self, before: &Snapshot, step: Step, _: &Outcome) -> String {
        words::line(before, step)
    }

    fn violation(&self, outcome: &Outcome) -> String {
        words::violation(outcome.violation)
    }
}
