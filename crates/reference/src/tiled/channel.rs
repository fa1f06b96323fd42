//! Channels as shift registers, and what is on them.

use super::Flit;
use flitway_fabric::link::handshake::Hello;
use flitway_fabric::link::lanes::LaneStates;
use flitway_fabric::link::retry::Sequence;
use std::collections::VecDeque;

/// Flits of a channel in so many cycles.
pub(super) type Ratio = (u32, u32);

/// Whether cycle `at` is a slot: one flit more has had its time by the end of it than before.
pub(super) fn is_slot((flits, cycles): Ratio, at: u64) -> bool {
    let done = |at: u64| u128::from(at) * u128::from(flits) / u128::from(cycles);
    done(at + 1) > done(at)
}

/// What an acknowledgement says: absolute numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    /// Packets.
    pub(super) accepted: u64,
    /// Flits of each virtual channel that have given back their room.
    pub(super) returned: Vec<u64>,
    /// The number of the packet that is expected next, and whether it has been missed.
    pub(super) expected: Sequence,
    pub(super) is_nack: bool,
}

/// What comes with the last flit of a packet.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    pub(super) ack: Ack,
    pub(super) sequence: Sequence,
    pub(super) is_corrupt: bool,
    /// Its payload is wrong, and no check shows it.
    pub(super) is_wrong: bool,
}

/// What is on a wire in one cycle.
#[derive(Clone, Debug)]
pub(super) enum Symbol {
    /// A flit of a packet, with its virtual channel; the cycles until the last one, which the first one tells; and what comes
    /// with the last one.
    Flit(Flit, usize, Option<u64>, Option<Tail>),
    /// An acknowledgement alone, unless it is corrupt.
    Ack(Option<Ack>),
}

/// The sender's pipeline, the cable and the receiver's wire, as one shift register.
#[derive(Debug)]
pub(super) struct Channel {
    /// `line[k]` is on the receiver's wire in `k` cycles.
    pub(super) line: VecDeque<Option<Symbol>>,
    /// What it carries, each from a cycle on; nothing while it is stopped.
    rates: Vec<(u64, Option<Ratio>)>,
    /// The packets that have begun and not arrived, by virtual channel: they keep their order.
    pub(super) begun: Vec<VecDeque<usize>>,
    /// What its ends tell each other while they train the link, and when it is on the receiver's wire.
    pub(super) signals: VecDeque<(u64, Signal)>,
    /// Loads that the switch at its sending end tells, by told port, and from when on the other end knows them.
    pub(super) loads: VecDeque<(u64, Vec<u32>)>,
}

/// Frames of a test, or a hello with what has come.
#[derive(Clone, Debug)]
pub(super) enum Signal {
    Test,
    Hello(Hello<LaneStates>, Ack),
    /// No more than bookkeeping: the packets that are not acknowledged, with the number of the first, are given up.
    GivenUp(Sequence, Vec<usize>),
}

impl Channel {
    /// So many cycles after the decision a flit is on the receiver's wire.
    pub(super) fn new(cycles: u32, vcs: usize, rate: Ratio) -> Self {
        let line = vec![None; cycles as usize + 1].into();
        Channel {
            line,
            rates: vec![(0, Some(rate))],
            begun: vec![VecDeque::new(); vcs],
            signals: VecDeque::new(),
            loads: VecDeque::new(),
        }
    }

    pub(super) fn change(&mut self, from: u64, rate: Option<Ratio>) {
        self.rates.push((from, rate));
    }

    /// The rate of what begins in cycle `now`.
    pub(super) fn rate(&self, now: u64) -> Option<Ratio> {
        let so_far = self.rates.iter().filter(|(from, _)| *from <= now);
        so_far.max_by_key(|(from, _)| *from).and_then(|(_, rate)| *rate)
    }

    /// A signal begins in cycle `now`.
    pub(super) fn signal(&mut self, now: u64, signal: Signal) {
        self.signals.push_back((now + self.line.len() as u64 - 1, signal));
    }

    /// Loads are told in cycle `now`; the other end knows what is on its wire `receive` cycles later.
    pub(super) fn tell(&mut self, now: u64, receive: u64, loads: Vec<u32>) {
        self.loads.push_back((now + self.line.len() as u64 - 1 + receive, loads));
    }

    pub(super) fn send(&mut self, symbol: Symbol) {
        let place = self.line.back_mut().expect("a channel has places");
        assert!(place.is_none(), "a wire carries one flit a cycle");
        *place = Some(symbol);
    }

    pub(super) fn shift(&mut self) {
        self.line.pop_front();
        self.line.push_back(None);
    }

    /// By virtual channel: flits that are not yet on the receiver's wire.
    pub(super) fn flits(&self) -> Vec<u64> {
        let mut flits = vec![0; self.begun.len()];
        for symbol in self.line.iter().skip(1).flatten() {
            if let Symbol::Flit(_, vc, ..) = symbol {
                flits[*vc] += 1;
            }
        }
        flits
    }
}
