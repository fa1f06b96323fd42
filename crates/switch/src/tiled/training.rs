//! What a port has beside others where something breaks: the state of its link. The paragraph *Faults* of the normative text.

use super::Shared;
use super::packet_state::{Ack, GivenUp};
use flitway_engine::Cycle;
use flitway_fabric::faults::PortFault;
use flitway_fabric::link::handshake::{Handshake, Hello};
use flitway_fabric::link::lanes::{Agreement, LaneStates, Lanes};
use flitway_fabric::observer::{ComponentNumber, TrainingReason, end_at};
use flitway_wiring::PortId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What one end of a link tells the other while they train it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Signal {
    /// When the other end hears it.
    pub(super) at: Cycle,
    pub(super) kind: SignalKind,
}

/// What it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum SignalKind {
    /// Frames with which it tests the lanes.
    Test,
    /// What it has found, and what has come so far.
    Hello(Hello<LaneStates>, Ack),
}

/// What an end has to do because the state of its link is another.
#[derive(Clone, Debug)]
pub(super) enum Action {
    /// It begins to test the lanes, and was active or not.
    Test(TrainingReason),
    /// It says what it has found.
    Hello(Hello<LaneStates>),
    /// It is active, and this is what the other end says has come.
    Resume(Ack, Agreement),
    /// It gives up.
    GiveUp,
}

/// What a link is trained by, as the settings say.
#[derive(Debug)]
struct Times {
    test: u64,
    silence: u64,
    give_up: u64,
}

/// The state of a link, at one of its ends.
#[derive(Debug)]
pub(super) struct Training {
    times: Times,
    lanes: Lanes,
    /// What is still to break, or to be mended.
    faults: VecDeque<(Cycle, PortFault)>,
    /// What is still to be heard.
    signals: VecDeque<Signal>,
    /// What the other end has given up.
    given_up: VecDeque<Box<GivenUp>>,
    /// How the lanes of the channel that comes here work.
    states: LaneStates,
    is_cut: bool,
    handshake: Handshake<LaneStates>,
    is_active: bool,
    is_down: bool,
    is_dead: bool,
    /// When the test of the lanes is over, the link counts as silent, and the end gives up.
    tested_at: Cycle,
    silent_at: Cycle,
    given_up_at: Cycle,
    /// Cycles from and up to which it was not active, and those in which the channel that comes here was cut.
    inactive: Vec<(Cycle, Cycle)>,
    cut: Vec<(Cycle, Cycle)>,
    /// What is to be done in this cycle.
    actions: Vec<Action>,
}

impl Training {
    /// That of `port` of `component`, if something breaks in this fabric.
    pub(super) fn new(shared: &Shared, component: ComponentNumber, port: PortId) -> Option<Box<Self>> {
        let (settings, faults) = (&shared.settings, &shared.faults);
        let retry = settings.retry.filter(|_| !faults.are_none())?;
        let training = &settings.training;
        let lanes = settings.lanes();
        let topology = shared.routings.first().topology();
        let (_, end) = end_at(topology, shared.rails, component, port);
        let [states, other] = faults.first().of(topology, &lanes, end);
        Some(Box::new(Training {
            times: Times {
                test: training.test.into(),
                silence: u64::from(training.misses) * u64::from(retry.heartbeat),
                give_up: training.give_up.into(),
            },
            lanes,
            faults: faults.of_port(component, port).into(),
            signals: VecDeque::new(),
            given_up: VecDeque::new(),
            states,
            is_cut: false,
            handshake: Handshake::Active { found: states, heard: other },
            is_active: true,
            is_down: false,
            is_dead: false,
            tested_at: Cycle::NEVER,
            silent_at: Cycle::NEVER,
            given_up_at: Cycle::NEVER,
            inactive: Vec::new(),
            cut: Vec::new(),
            actions: Vec::new(),
        }))
    }

    /// A signal comes.
    pub(super) fn expect(&mut self, signal: Signal) {
        self.signals.push_back(signal);
    }

    /// The other end has given up packets.
    pub(super) fn expect_given_up(&mut self, given_up: Box<GivenUp>) {
        self.given_up.push_back(given_up);
    }

    /// What the other end has given up by cycle `now`.
    pub(super) fn take_given_up(&mut self, now: Cycle) -> Option<GivenUp> {
        pop_if(&mut self.given_up, |it| it.at <= now).map(|it| *it)
    }

    /// When something happens next, as far as known; now if something is still to be done.
    pub(super) fn next(&self) -> Cycle {
        if !self.actions.is_empty() {
            return Cycle::ZERO;
        }
        let fault = self.faults.front().map_or(Cycle::NEVER, |(at, _)| *at);
        let signal = self.signals.front().map_or(Cycle::NEVER, |signal| signal.at);
        let given_up = self.given_up.front().map_or(Cycle::NEVER, |it| it.at);
        fault.min(signal).min(given_up).min(self.silent_at).min(self.tested_at).min(self.given_up_at)
    }

    /// Whether the link carries packets.
    pub(super) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether it has been given up.
    pub(super) fn is_down(&self) -> bool {
        self.is_down
    }

    /// Whether what is received in cycle `at`, up to which everything has happened, is heard.
    pub(super) fn hears(&self, at: Cycle) -> bool {
        let covers = |times: &[(Cycle, Cycle)]| {
            times.iter().rev().take(3).any(|(from, until)| (*from..*until).contains(&at))
        };
        !covers(&self.inactive) && !covers(&self.cut)
    }

    /// What is to be done.
    pub(super) fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// Step 1 of cycle `now`, as far as it is about links. Once more in the same cycle nothing happens.
    pub(super) fn process(&mut self, now: Cycle) {
        while let Some((_, fault)) = pop_if(&mut self.faults, |(at, _)| *at <= now) {
            self.suffer(now, fault);
        }
        while let Some(signal) = pop_if(&mut self.signals, |signal| signal.at <= now) {
            if !self.is_cut && !self.is_dead {
                self.hear(now, &signal.kind);
            }
        }
        if self.silent_at <= now {
            self.silent_at = Cycle::NEVER;
            self.restart(now, TrainingReason::Silent);
        }
        if self.tested_at <= now {
            self.tested_at = Cycle::NEVER;
            self.handshake.found(if self.is_cut { LaneStates::default() } else { self.states });
            self.say_hello();
        }
        if self.given_up_at <= now {
            self.give_up();
        }
    }

    fn suffer(&mut self, now: Cycle, fault: PortFault) {
        match fault {
            PortFault::Cut if !self.is_cut => {
                self.is_cut = true;
                self.silent_at = now + self.times.silence;
                self.cut.push((now, Cycle::NEVER));
            }
            PortFault::Mended if self.is_cut => {
                self.is_cut = false;
                self.silent_at = Cycle::NEVER;
                end_last(&mut self.cut, now);
                self.restart(now, TrainingReason::Signal);
            }
            PortFault::Cut | PortFault::Mended | PortFault::Stalled | PortFault::Resumed => {}
            PortFault::Lanes(states) => {
                self.states = states;
                self.restart(now, TrainingReason::Lanes);
            }
        }
    }

    fn hear(&mut self, now: Cycle, signal: &SignalKind) {
        match signal {
            SignalKind::Test => {
                if self.handshake.hear_test() {
                    self.restart(now, TrainingReason::OtherEnd);
                }
            }
            SignalKind::Hello(hello, ack) => {
                let answer = self.handshake.hear(hello);
                if answer.restarts {
                    self.restart(now, TrainingReason::OtherEnd);
                }
                if answer.becomes_active {
                    self.agree(now, *ack);
                }
                if answer.says_hello {
                    self.say_hello();
                }
            }
        }
    }

    /// It begins to test its lanes.
    fn restart(&mut self, now: Cycle, reason: TrainingReason) {
        if self.is_dead {
            return;
        }
        self.handshake.restart();
        self.tested_at = now + self.times.test;
        self.stop(now);
        self.actions.push(Action::Test(reason));
    }

    /// It is not active from cycle `now` on.
    fn stop(&mut self, now: Cycle) {
        if self.is_active {
            self.is_active = false;
            self.inactive.push((now, Cycle::NEVER));
            self.given_up_at = now + self.times.give_up;
        }
    }

    fn say_hello(&mut self) {
        self.actions.extend(self.handshake.hello().map(Action::Hello));
    }

    /// Both ends know what both have found.
    fn agree(&mut self, now: Cycle, ack: Ack) {
        let Handshake::Active { found, heard } = self.handshake else { return };
        match self.lanes.agree(&found, &heard) {
            Some(agreement) => {
                (self.is_active, self.is_down) = (true, false);
                self.given_up_at = Cycle::NEVER;
                end_last(&mut self.inactive, now);
                self.actions.push(Action::Resume(ack, agreement));
            }
            None => self.give_up(),
        }
    }

    fn give_up(&mut self) {
        self.given_up_at = Cycle::NEVER;
        if !self.is_down {
            self.is_down = true;
            self.actions.push(Action::GiveUp);
        }
    }

    /// The switch dies in cycle `now`.
    pub(super) fn die(&mut self, now: Cycle) {
        self.stop(now);
        self.is_dead = true;
        self.faults.clear();
        (self.silent_at, self.tested_at) = (Cycle::NEVER, Cycle::NEVER);
        self.actions.clear();
    }
}

/// The last of these times ends in cycle `now`.
fn end_last(times: &mut [(Cycle, Cycle)], now: Cycle) {
    if let Some((_, until)) = times.last_mut() {
        *until = now;
    }
}

/// Takes the first of `queue` out if it is due.
fn pop_if<T>(queue: &mut VecDeque<T>, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
    if queue.front().is_some_and(is_due) { queue.pop_front() } else { None }
}
