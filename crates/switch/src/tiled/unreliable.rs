//! What a port has beside others where links corrupt flits: its replay buffer and timer, and what was told and not heard.

use super::Shared;
use super::packet_state::PacketState;
use super::settings::{RetrySettings, VCS_MAX};
use flitway_engine::Cycle;
use flitway_engine::agenda::Reminder;
use flitway_fabric::link::ChannelErrors;
use flitway_fabric::link::retry::{self, Acknowledgement, Heard, Numbers, Sequence};
use flitway_fabric::observer::ComponentNumber;
use flitway_fabric::simulation::Conservation;
use flitway_wiring::PortId;
use std::collections::VecDeque;

/// What becomes of a packet that is sent, which the sender can tell: the channel keeps the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is accepted.
    Accepted,
    /// It comes corrupt.
    Corrupt,
    /// It comes again, or behind one that is lost.
    Dropped,
}

/// The part of a port that makes up for errors.
#[derive(Debug)]
pub(super) struct Unreliable {
    settings: RetrySettings,
    pub(super) errors: ChannelErrors,
    /// Packets that are not acknowledged, as they were sent.
    replay: VecDeque<PacketState>,
    /// When the timer expires, if a packet is kept.
    deadline: Cycle,
    /// The number that the other end will expect when all that is on the link has come.
    expected: Sequence,
    /// When the link has begun something last.
    pub(super) begun: Cycle,
    /// What was told last, and whether it was corrupted.
    told: Acknowledgement<VCS_MAX>,
    pub(super) is_unheard: bool,
    /// Of the timer.
    pub(super) reminder: Reminder,
}

impl Unreliable {
    pub(super) fn new(shared: &Shared, component: ComponentNumber, port: PortId) -> Option<Self> {
        let settings = shared.settings.retry.filter(|_| shared.is_unreliable())?;
        Some(Unreliable {
            settings,
            errors: shared.errors.of(component, port),
            replay: VecDeque::new(),
            deadline: Cycle::NEVER,
            expected: Sequence::default(),
            begun: Cycle::ZERO,
            told: retry::Receiver::default().acknowledgement(),
            is_unheard: false,
            reminder: Reminder::default(),
        })
    }

    fn restart(&mut self, now: Cycle) {
        self.deadline = now + u64::from(self.settings.timeout);
    }

    /// Keeps `state`, which is begun in cycle `now`; `is_first` if nothing else is kept.
    pub(super) fn keep(&mut self, now: Cycle, state: PacketState, is_first: bool) {
        self.replay.push_back(state);
        if is_first {
            self.restart(now);
        }
    }

    /// The packet in that place of the replay buffer.
    pub(super) fn packet(&self, position: u32) -> PacketState {
        self.replay[position as usize]
    }

    /// An acknowledgement has been heard in cycle `at`.
    pub(super) fn note_heard(&mut self, at: Cycle, heard: &Heard<VCS_MAX>) {
        self.replay.drain(..heard.released as usize);
        if heard.released > 0 {
            self.restart(at);
        }
    }

    /// Has `sender` go back if the timer has expired by cycle `now`. Says whether it has.
    pub(super) fn expire(&mut self, now: Cycle, sender: &mut retry::Sender<VCS_MAX>) -> bool {
        let has_expired = self.deadline() <= now;
        if has_expired {
            sender.go_back();
            self.restart(now);
        }
        has_expired
    }

    /// When the timer expires; never if it does not run.
    pub(super) fn deadline(&self) -> Cycle {
        if self.replay.is_empty() { Cycle::NEVER } else { self.deadline }
    }

    /// What becomes of the packet with number `sequence`, which is sent now.
    pub(super) fn fate(&mut self, numbers: &Numbers, sequence: Sequence, is_corrupt: bool) -> Fate {
        if is_corrupt {
            Fate::Corrupt
        } else if sequence == self.expected {
            self.expected = numbers.after(sequence, 1);
            Fate::Accepted
        } else {
            Fate::Dropped
        }
    }

    /// `told` goes with what is begun in cycle `now`.
    pub(super) fn note_told(&mut self, now: Cycle, told: Acknowledgement<VCS_MAX>, is_lost: bool) {
        (self.told, self.is_unheard, self.begun) = (told, is_lost, now);
    }

    /// What was told last is said again in cycle `now`; a NACK is not.
    pub(super) fn say_again(&mut self, now: Cycle, is_lost: bool) -> Acknowledgement<VCS_MAX> {
        (self.is_unheard, self.begun) = (is_lost, now);
        Acknowledgement { is_nack: false, ..self.told }
    }

    /// When it is, if nothing is begun before; never if it has been heard.
    pub(super) fn beats_at(&self, shared: &Shared) -> Cycle {
        let heartbeat = shared.settings.retry.map_or(0, |retry| retry.heartbeat);
        if self.is_unheard { self.begun + u64::from(heartbeat) } else { Cycle::NEVER }
    }

    /// Enters the packets that have been sent, and of which none on the link will be accepted, into the books.
    pub(super) fn audit(&self, numbers: &Numbers, sender: &retry::Sender<VCS_MAX>, books: &mut Conservation) {
        let accepted = numbers.since(self.expected, sender.base);
        for state in self.replay.iter().skip(accepted.into()) {
            super::packet_state::enter(state, books);
        }
    }
}
