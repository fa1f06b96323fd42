//! The state of a link at one of its ends, where something breaks, cycle by cycle: the paragraph *Faults* of the text.

use super::channel::{Ack, Signal};
use flitway_fabric::faults::PortFault;
use flitway_fabric::link::handshake::{Handshake, Hello};
use flitway_fabric::link::lanes::{Agreement, LaneStates, Lanes};
use flitway_fabric::observer::TrainingReason;
use flitway_switch::tiled::TiledSettings;

#[derive(Debug)]
pub(super) struct Training {
    lanes: Lanes,
    test: u64,
    silence: u64,
    give_up: u64,
    /// What breaks here, by date.
    faults: Vec<(u64, PortFault)>,
    states: LaneStates,
    /// Since when nothing comes.
    cut: Option<u64>,
    is_silent: bool,
    handshake: Handshake<LaneStates>,
    test_began: Option<u64>,
    /// Since when it has not been active.
    inactive: u64,
    pub(super) is_active: bool,
    pub(super) is_down: bool,
    pub(super) is_dead: bool,
    /// The cycle up to which everything has been done.
    next: u64,
}

/// What follows for the port.
#[derive(Debug)]
pub(super) enum Deed {
    Test(TrainingReason),
    Hello(Hello<LaneStates>),
    Resume(Ack, Agreement),
    GiveUp,
}

impl Training {
    /// With what breaks here, by date, and the lanes as they are from the start: here, and at the other end.
    pub(super) fn new(
        settings: &TiledSettings,
        faults: Vec<(u64, PortFault)>,
        [states, other]: [LaneStates; 2],
    ) -> Self {
        let training = &settings.training;
        let heartbeat = settings.retry.map_or(0, |retry| retry.heartbeat);
        Training {
            lanes: settings.lanes(),
            test: training.test.into(),
            silence: u64::from(training.misses) * u64::from(heartbeat),
            give_up: training.give_up.into(),
            faults,
            states,
            cut: None,
            is_silent: false,
            handshake: Handshake::Active { found: states, heard: other },
            test_began: None,
            inactive: 0,
            is_active: true,
            is_down: false,
            is_dead: false,
            next: 0,
        }
    }

    /// Whether what would be heard in this cycle is.
    pub(super) fn hears(&self) -> bool {
        self.is_active && self.cut.is_none()
    }

    /// Whether cycle `now` has still to be done.
    pub(super) fn has_to_step(&self, now: u64) -> bool {
        self.next <= now
    }

    /// Cycle `now`, in which these signals are heard unless the channel is cut.
    pub(super) fn step(&mut self, now: u64, signals: Vec<Signal>) -> Vec<Deed> {
        self.next = now + 1;
        let mut deeds = Vec::new();
        if !self.is_dead {
            let faults: Vec<_> = self.faults.iter().filter(|(at, _)| *at == now).map(|it| it.1).collect();
            faults.into_iter().for_each(|fault| self.breaks(now, fault, &mut deeds));
            if self.cut.is_none() {
                signals.into_iter().for_each(|signal| self.hear(now, signal, &mut deeds));
            }
            if self.cut.is_some_and(|since| since + self.silence <= now) && !self.is_silent {
                self.is_silent = true;
                self.begin_test(now, TrainingReason::Silent, &mut deeds);
            }
            if self.test_began.is_some_and(|began| began + self.test <= now) {
                self.test_began = None;
                let found = if self.cut.is_some() { LaneStates::default() } else { self.states };
                self.handshake.found(found);
                deeds.extend(self.handshake.hello().map(Deed::Hello));
            }
        }
        if !self.is_active && self.inactive + self.give_up <= now {
            self.go_down(&mut deeds);
        }
        deeds
    }

    fn breaks(&mut self, now: u64, fault: PortFault, deeds: &mut Vec<Deed>) {
        match fault {
            PortFault::Cut => _ = self.cut.get_or_insert(now),
            PortFault::Mended => {
                if self.cut.take().is_some() {
                    self.is_silent = false;
                    self.begin_test(now, TrainingReason::Signal, deeds);
                }
            }
            // NIC ports of tiled switches are always fed.
            PortFault::Stalled | PortFault::Resumed => {}
            PortFault::Lanes(states) => {
                self.states = states;
                self.begin_test(now, TrainingReason::Lanes, deeds);
            }
        }
    }

    fn hear(&mut self, now: u64, signal: Signal, deeds: &mut Vec<Deed>) {
        let (hello, ack) = match signal {
            Signal::Test => {
                if self.handshake.hear_test() {
                    self.begin_test(now, TrainingReason::OtherEnd, deeds);
                }
                return;
            }
            Signal::Hello(hello, ack) => (hello, ack),
            Signal::GivenUp(..) => return,
        };
        let answer = self.handshake.hear(&hello);
        if answer.restarts {
            self.begin_test(now, TrainingReason::OtherEnd, deeds);
        }
        if let Handshake::Active { found, heard } = self.handshake
            && answer.becomes_active
        {
            match self.lanes.agree(&found, &heard) {
                None => self.go_down(deeds),
                Some(agreement) => {
                    (self.is_active, self.is_down) = (true, false);
                    deeds.push(Deed::Resume(ack, agreement));
                }
            }
        }
        if answer.says_hello {
            deeds.extend(self.handshake.hello().map(Deed::Hello));
        }
    }

    fn begin_test(&mut self, now: u64, reason: TrainingReason, deeds: &mut Vec<Deed>) {
        self.handshake.restart();
        self.test_began = Some(now);
        self.stop(now);
        deeds.push(Deed::Test(reason));
    }

    fn stop(&mut self, now: u64) {
        if self.is_active {
            (self.is_active, self.inactive) = (false, now);
        }
    }

    fn go_down(&mut self, deeds: &mut Vec<Deed>) {
        if !self.is_down {
            self.is_down = true;
            deeds.push(Deed::GiveUp);
        }
    }

    /// Its switch dies.
    pub(super) fn die(&mut self, now: u64) {
        self.stop(now);
        self.is_dead = true;
    }
}
