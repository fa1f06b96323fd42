//! A world: two ends, two channels, a buffer, and every step that it can take.

use super::deviation::Deviation;
use super::wire::{Answer, CAPACITY_MAX, Packet, Queue};
use super::words;
use crate::explore::{Meaning, Model};
use flitway_fabric::link::retry::{Numbers, Receiver, Reception, RetrySettings, Sender};

/// Packets carry their number modulo this, which is more than all differences that there can be.
pub(super) const PAYLOADS: u8 = 16;

/// Virtual channels that there can be.
pub(super) const VCS: usize = 2;

/// What is checked. Every packet is a flit; packets are for the VCs in turn.
#[derive(Clone, Copy, Debug)]
pub struct World {
    /// W: packets that may be sent and not acknowledged.
    pub window: u32,
    /// b: bits of a sequence number.
    pub sequence_bits: u32,
    /// w: bits of a count of flits returned.
    pub count_bits: u32,
    /// Virtual channels, at most 2; with none there are no credits.
    pub vcs: usize,
    /// Flits for which the receiver has room, for each VC.
    pub buffer: u8,
    /// Packets that can be on the way; one more is lost.
    pub packets: usize,
    /// Acknowledgements that can be on the way; one more is lost.
    pub answers: usize,
    /// Whether anything gets lost or corrupted on the way.
    pub is_lossy: bool,
    /// Whether acknowledgements go out without news too (rule 9).
    pub has_heartbeats: bool,
    /// Whether the link may be trained again.
    pub is_trained_again: bool,
    /// What it does otherwise than the protocol says.
    pub deviations: &'static [Deviation],
}

/// Everything that there is at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub(super) sender: Sender<VCS>,
    /// The true number of the packet at the sender's base.
    pub(super) base: u8,
    pub(super) credits: [u8; VCS],
    pub(super) receiver: Receiver<VCS>,
    /// The true number of the packet that is to be delivered next.
    pub(super) due: u8,
    /// Flits in the buffer.
    pub(super) stored: [u8; VCS],
    /// `None` is a packet that is corrupt.
    pub(super) packets: Queue<Option<Packet>>,
    pub(super) answers: Queue<Answer>,
    /// Under [`Deviation::OutOfOrderKept`]: what the packet behind the expected one carries.
    pub(super) kept: Option<u8>,
    /// Under [`Deviation::Increments`]: the counts when an acknowledgement last went out.
    pub(super) told: [u16; VCS],
    /// Under [`Deviation::OldAcknowledgements`]: one that may go out again.
    pub(super) old: Option<Answer>,
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A new packet goes out.
    Send,
    /// The next packet of the replay buffer goes out.
    Replay,
    /// The timer expires.
    TimeOut,
    /// A packet comes out of its channel.
    Hear(usize),
    /// A packet is lost.
    Lose(usize),
    /// A packet is corrupted.
    Corrupt(usize),
    /// A flit leaves the buffer.
    Leave(usize),
    /// An acknowledgement goes out.
    Tell,
    /// Under [`Deviation::OldAcknowledgements`]: one goes out with a packet that is kept for replay.
    TellAndKeep,
    /// Under [`Deviation::OldAcknowledgements`]: that packet goes out again.
    TellOld,
    /// An acknowledgement comes out of its channel.
    HearAnswer(usize),
    /// An acknowledgement is lost.
    LoseAnswer(usize),
    /// The link is trained again.
    Train,
    /// Only the receiver notices a training.
    Resume,
}

/// What must not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// A packet is delivered that was delivered before.
    Twice,
    /// A packet is delivered before its turn.
    TooEarly,
    /// A packet leaves the replay buffer that was not delivered.
    Released,
    /// The buffer of a VC has no room for a flit.
    Overflow(usize),
    /// A VC has more credits than its buffer has room.
    Invented(usize),
}

/// What a step leads to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    pub(super) next: Snapshot,
    pub(super) violation: Option<Violation>,
    /// What became of a packet, if one came.
    pub(super) reception: Option<Reception>,
    pub(super) is_home: bool,
}

impl World {
    /// The protocol as it is, with one VC whose buffer has room for a window, and channels of two places.
    #[must_use]
    pub fn new(window: u32, sequence_bits: u32) -> Self {
        World {
            window,
            sequence_bits,
            count_bits: window.ilog2() + 1,
            vcs: 1,
            buffer: window as u8,
            packets: 2,
            answers: 2,
            is_lossy: true,
            has_heartbeats: true,
            is_trained_again: false,
            deviations: &[],
        }
    }

    pub(super) fn deviates(&self, deviation: Deviation) -> bool {
        self.deviations.contains(&deviation)
    }

    /// What both ends know. Where the wire is too narrow, the ends have the bit that it has not.
    pub(super) fn numbers(&self) -> Numbers {
        let more = |deviation| u32::from(self.deviates(deviation));
        let settings = RetrySettings {
            window: self.window,
            sequence_bits: self.sequence_bits + more(Deviation::SequenceTooNarrow),
            count_bits: self.count_bits + more(Deviation::CountTooNarrow),
            flits_max: self.buffer.into(),
        };
        settings.numbers().expect("a world keeps the bounds that it does not deviate from")
    }

    /// The VC of a packet, if there are credits.
    pub(super) fn vc(&self, payload: u8) -> Option<usize> {
        usize::from(payload).checked_rem(self.vcs)
    }

    /// Whether there is a credit for a packet.
    fn is_paid(&self, now: &Snapshot, payload: u8) -> bool {
        self.vc(payload).is_none_or(|vc| now.credits[vc] > 0)
    }

    /// Everything is delivered and acknowledged, and all credits are back.
    fn is_home(&self, snapshot: &Snapshot) -> bool {
        snapshot.sender.held == 0 && (0..self.vcs).all(|vc| snapshot.credits[vc] == self.buffer)
    }

    /// All steps that can be taken.
    fn steps(&self, now: &Snapshot) -> impl Iterator<Item = Step> {
        let (sender, numbers) = (&now.sender, self.numbers());
        let next = (now.base + sender.held as u8) % PAYLOADS;
        let again = (now.base + sender.cursor as u8) % PAYLOADS;
        let is_paid_again = !self.deviates(Deviation::DebitedAgain) || self.is_paid(now, again);
        let keeps = self.deviates(Deviation::OldAcknowledgements);
        // Where nothing is lost, a full channel is not written to.
        let has_room = self.is_lossy || now.packets.len() < self.packets;
        let has_room_back = self.is_lossy || now.answers.len() < self.answers;
        let tells = has_room_back && (self.has_heartbeats || now.receiver.has_news());
        let single = [
            (Step::Send, has_room && sender.may_send(&numbers) && self.is_paid(now, next)),
            (Step::Replay, has_room && sender.is_replaying() && is_paid_again),
            (Step::TimeOut, sender.cursor > 0 && !self.deviates(Deviation::NoTimer)),
            (Step::Tell, tells),
            (Step::TellAndKeep, tells && keeps && now.old.is_none()),
            (Step::TellOld, now.old.is_some()),
            (Step::Leave(0), now.stored[0] > 0),
            (Step::Leave(1), now.stored[1] > 0),
            (Step::Train, self.is_trained_again),
            (Step::Resume, self.is_trained_again),
        ];
        let exits =
            |overtakes: Deviation, len: usize| if self.deviates(overtakes) { len } else { len.min(1) };
        let (packets, answers) = (now.packets.len(), now.answers.len());
        let lossy = |len: usize| 0..if self.is_lossy { len } else { 0 };
        let now = *now;
        let heard = (0..exits(Deviation::PacketsOvertake, packets)).map(Step::Hear);
        let told = (0..exits(Deviation::AnswersOvertake, answers)).map(Step::HearAnswer);
        let corrupted = lossy(packets).filter(move |&at| now.packets.get(at).is_some()).map(Step::Corrupt);
        let lost = lossy(packets).map(Step::Lose).chain(lossy(answers).map(Step::LoseAnswer));
        let single = single.into_iter().filter(|(_, can_be)| *can_be).map(|(step, _)| step);
        single.chain(heard).chain(told).chain(corrupted).chain(lost)
    }

    /// Takes a step.
    fn take(&self, snapshot: &Snapshot, step: Step) -> Outcome {
        let mut next = *snapshot;
        let (mut violation, mut reception) = (None, None);
        match step {
            Step::Send => self.send(&mut next),
            Step::Replay => self.replay(&mut next),
            Step::TimeOut => drop(next.sender.go_back()),
            Step::Hear(at) => {
                let packet = next.packets.take(at);
                let (heard, wrong) = self.hear(&mut next, packet);
                (reception, violation) = (Some(heard), wrong);
            }
            Step::Lose(at) => drop(next.packets.take(at)),
            Step::Corrupt(at) => next.packets.replace(at, None),
            Step::Leave(vc) => {
                next.stored[vc] -= 1;
                next.receiver.give_back(&self.numbers(), vc, 1);
            }
            Step::Tell | Step::TellAndKeep => {
                let answer = self.tell(&mut next);
                next.answers.push(answer, self.answers);
                if step == Step::TellAndKeep {
                    next.old = Some(answer);
                }
            }
            Step::TellOld => {
                let old = next.old.expect("there is one");
                next.answers.push(old, self.answers);
            }
            Step::HearAnswer(at) => {
                let answer = next.answers.take(at);
                violation = self.hear_answer(&mut next, answer);
            }
            Step::LoseAnswer(at) => drop(next.answers.take(at)),
            Step::Train => self.train(&mut next),
            Step::Resume => next.receiver.resume(),
        }
        Outcome { next, violation, reception, is_home: self.is_home(&next) }
    }
}

impl Model for World {
    type Snapshot = Snapshot;
    type Step = Step;
    type Outcome = Outcome;
    const STUCK: &'static str = "from here on not everything can be delivered with all credits back";

    fn first(&self) -> Snapshot {
        assert!(self.vcs <= VCS, "a snapshot has room for all VCs");
        assert!(self.packets <= CAPACITY_MAX && self.answers <= CAPACITY_MAX, "a channel has room for all");
        let mut credits = [0; VCS];
        credits[..self.vcs].fill(self.buffer);
        Snapshot {
            sender: Sender::default(),
            base: 0,
            credits,
            receiver: Receiver::default(),
            due: 0,
            stored: [0; VCS],
            packets: Queue::EMPTY,
            answers: Queue::EMPTY,
            kept: None,
            told: [0; VCS],
            old: None,
        }
    }

    fn each(&self, snapshot: &Snapshot, mut visit: impl FnMut(Step, &Outcome)) {
        self.steps(snapshot).for_each(|step| visit(step, &self.take(snapshot, step)));
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

    fn line(&self, before: &Snapshot, step: Step, outcome: &Outcome) -> String {
        words::line(self, before, step, outcome)
    }

    fn violation(&self, outcome: &Outcome) -> String {
        words::violation(outcome.violation)
    }
}
