//! What a port has beside others where links corrupt flits: its replay buffer and timer, and what was told and not heard.

use super::Shared;
use super::packet_state::{GivenUp, PacketState};
use super::settings::{RetrySettings, VCS_MAX};
use super::training::Training;
use flitway_engine::Cycle;
use flitway_engine::agenda::Reminder;
use flitway_fabric::link::ChannelErrors;
use flitway_fabric::link::retry::{self, Acknowledgement, Heard, Numbers, Sequence};
use flitway_fabric::observer::ComponentNumber;
use flitway_fabric::simulation::Conservation;
use flitway_wiring::PortId;
use std::collections::VecDeque;

/// The part of a port that makes up for errors.
#[derive(Debug)]
pub(super) struct Unreliable {
    pub(super) component: ComponentNumber,
    pub(super) port: PortId,
    settings: RetrySettings,
    pub(super) errors: ChannelErrors,
    /// Packets that are not acknowledged, as they were sent.
    replay: VecDeque<PacketState>,
    /// When the timer expires, if a packet is kept.
    deadline: Cycle,
    /// Packets that the link has begun first, and those that have been accepted here or are known to be lost on the way here.
    begun_packets: u64,
    ended_packets: u64,
    /// Flits of those that have been accepted here.
    accepted_flits: u64,
    /// Flits of packets that were sent, and never accepted.
    written_off: u64,
    /// Of what has been given up nothing is sent again.
    has_given_up: bool,
    /// The state of the link, where something breaks.
    pub(super) training: Option<Box<Training>>,
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
            component,
            port,
            settings,
            errors: shared.errors.of(component, port),
            replay: VecDeque::new(),
            deadline: Cycle::NEVER,
            begun_packets: 0,
            ended_packets: 0,
            accepted_flits: 0,
            written_off: 0,
            has_given_up: false,
            training: Training::new(shared, component, port),
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
        self.begun_packets += 1;
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

    /// A packet of so many flits is accepted here.
    pub(super) fn note_accepted(&mut self, flits: u32) {
        self.ended_packets += 1;
        self.accepted_flits += u64::from(flits);
    }

    /// Of the packets that the other end has given up those that were not accepted here, where number `expected` is next.
    pub(super) fn lost_of(
        &mut self,
        numbers: &Numbers,
        given_up: GivenUp,
        expected: Sequence,
    ) -> impl Iterator<Item = PacketState> + use<> {
        let accepted = usize::from(numbers.since(expected, given_up.first));
        self.ended_packets += given_up.packets.len().saturating_sub(accepted) as u64;
        given_up.packets.into_iter().skip(accepted)
    }

    /// The link stops: the timer does not run.
    pub(super) fn stop(&mut self) {
        self.deadline = Cycle::NEVER;
    }

    /// What is kept is given up. Returns it.
    pub(super) fn give_up(&mut self) -> Vec<PacketState> {
        self.has_given_up = true;
        self.replay.iter().copied().collect()
    }

    /// The link is back in cycle `now`. Returns what was given up and was not accepted at the other end: its room comes back.
    pub(super) fn resume(&mut self, now: Cycle) -> Vec<PacketState> {
        self.restart(now);
        if !std::mem::take(&mut self.has_given_up) {
            return Vec::new();
        }
        let lost: Vec<PacketState> = self.replay.drain(..).collect();
        self.written_off += lost.iter().map(|state| u64::from(state.flits)).sum::<u64>();
        lost
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

    /// Enters the packets on the link into the books, of whose flits so many have been sent: as far as this end knows of them.
    pub(super) fn audit(&self, flits: u64, books: &mut Conservation) {
        let sent = flits - self.written_off;
        books.units_sent += u64::from(sent as u32);
        books.on_links += self.begun_packets as i64 - self.ended_packets as i64;
        books.units_on_links += sent as i64 - self.accepted_flits as i64;
    }
}
