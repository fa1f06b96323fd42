//! Arbiters: requests in, one grant out.
//!
//! An [`ArbiterBank`] holds the arbiters of one switch, all of one kind. Requests are a bit mask of up to 64 inputs; a
//! [`WideBank`] has more.
//! A grant is always used, so choosing and updating are one step, but where what is chosen has to be chosen again elsewhere.
//!
//! * **Matrix** (hpp-switch.txt section 2.2, "strong fairness"): bit `W[i][j]` says that `i` goes before `j`; the winner
//!   goes behind everyone. The bits of a matrix that starts upper triangular always spell out a total order, so it is
//!   *least recently granted* in the form of hardware; [`Matrix`] is that form, and a test holds the two together.
//! * **Round robin**: the first requester after the one granted last.
//! * **Least recently granted**: the input whose last grant is the longest ago.
//!
//! Fairness: under matrix and least recently granted, an input that keeps requesting is passed over at most once by
//! each other input; under round robin likewise, but who goes first depends on the neighbourhood, not on the past.

use crate::bits::WideMask;
use flitway_engine::prefetch;

/// Makes the table of arbiters: what each is called in files, and what it is. Whoever has to know all kinds, from machine files
/// to random cases, asks it.
macro_rules! arbiters {
    ($($Kind:ident $name:literal $doc:literal;)+) => {
        /// Which arbiter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ArbiterKind {
            $(#[doc = $doc] $Kind,)+
        }

        impl ArbiterKind {
            /// All of them.
            pub const ALL: &[ArbiterKind] = &[$(ArbiterKind::$Kind),+];

            /// What it is called in files.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(ArbiterKind::$Kind => $name,)+
                }
            }

            /// What it is, in a sentence.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self {
                    $(ArbiterKind::$Kind => $doc,)+
                }
            }
        }
    };
}

arbiters! {
    Matrix "matrix" "The hardware matrix of bits: least recently served first.";
    RoundRobin "round-robin" "The first requester after the last one served.";
    LeastRecentlyGranted "lrg" "Least recently granted, kept as a list.";
}

impl ArbiterKind {
    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// The arbiters of one switch.
#[derive(Clone, Debug)]
pub struct ArbiterBank {
    inputs: usize,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Per arbiter: the input granted last.
    Last(Box<[u8]>),
    /// Per arbiter: a count of grants, and when by that count each input was granted last.
    Stamps(Box<[u8]>),
}

impl ArbiterBank {
    /// `arbiters` arbiters over `inputs` inputs, 1 to 64; at first input 0 goes before input 1, and so on.
    #[must_use]
    pub fn new(kind: ArbiterKind, arbiters: usize, inputs: usize) -> Self {
        assert!((1..=64).contains(&inputs), "requests are a mask of 64 bits");
        let state = match kind {
            ArbiterKind::RoundRobin => State::Last(vec![inputs as u8 - 1; arbiters].into()),
            ArbiterKind::Matrix | ArbiterKind::LeastRecentlyGranted => {
                let fresh: Vec<u8> = std::iter::once(inputs as u8).chain(0..inputs as u8).collect();
                State::Stamps(fresh.repeat(arbiters).into())
            }
        };
        ArbiterBank { inputs, state }
    }

    /// Bytes of an arbiter over `inputs` inputs, at most.
    #[must_use]
    pub const fn bytes(inputs: usize) -> usize {
        1 + inputs
    }

    /// Asks the memory for what a grant of `input` by `arbiter` touches.
    #[inline]
    pub fn prefetch(&self, arbiter: usize, input: usize) {
        match &self.state {
            State::Last(last) => prefetch::element(last, arbiter),
            State::Stamps(stamps) => {
                let state = arbiter * (1 + self.inputs);
                prefetch::element(stamps, state);
                prefetch::element(stamps, state + 1 + input);
            }
        }
    }

    /// Asks the memory for all of it.
    #[inline]
    pub fn prefetch_all(&self) {
        let (State::Last(state) | State::Stamps(state)) = &self.state;
        prefetch::slice(state);
    }

    /// Grants the request of `input`, the only one, at `arbiter`.
    #[inline(always)]
    pub fn grant_only(&mut self, arbiter: usize, input: usize) {
        match &mut self.state {
            State::Last(last) => last[arbiter] = input as u8,
            State::Stamps(stamps) => stamp(stamps, arbiter * (1 + self.inputs), self.inputs, input),
        }
    }

    /// Grants one of `requests` at `arbiter`.
    ///
    /// # Panics
    /// If there are none.
    #[inline(always)]
    pub fn grant(&mut self, arbiter: usize, requests: u64) -> usize {
        let winner = self.choose(arbiter, requests);
        self.grant_only(arbiter, winner);
        winner
    }

    /// The one of `requests` that `arbiter` would grant.
    ///
    /// # Panics
    /// If there are none.
    #[inline(always)]
    #[must_use]
    pub fn choose(&self, arbiter: usize, requests: u64) -> usize {
        assert!(requests != 0, "an arbiter grants when somebody requests");
        match &self.state {
            State::Last(last) => {
                let after = requests & !(u64::MAX >> (63 - last[arbiter]));
                if after != 0 { after } else { requests }.trailing_zeros() as usize
            }
            State::Stamps(stamps) => {
                let first = arbiter * (1 + self.inputs);
                let mut winner = requests.trailing_zeros() as usize;
                let mut others = requests & (requests - 1);
                while others != 0 {
                    let other = others.trailing_zeros() as usize;
                    others &= others - 1;
                    winner =
                        if stamps[first + 1 + other] < stamps[first + 1 + winner] { other } else { winner };
                }
                winner
            }
        }
    }
}

/// The latest grant of the arbiter whose count is at `first` is that of `winner`, one of so many `inputs`.
#[inline(always)]
fn stamp(stamps: &mut [u8], first: usize, inputs: usize, winner: usize) {
    debug_assert!(winner < inputs, "input {winner} of {inputs}");
    let count = stamps[first];
    stamps[first + 1 + winner] = count;
    stamps[first] = count.wrapping_add(1);
    if count == u8::MAX {
        stamps[first] = restamp(&mut stamps[first + 1..][..inputs]);
    }
}

/// Numbers the stamps, which all differ, from zero, in their order; returns the next number.
#[cold]
fn restamp(stamps: &mut [u8]) -> u8 {
    let old: Vec<u8> = stamps.to_vec();
    for (stamp, was) in stamps.iter_mut().zip(&old) {
        *stamp = old.iter().filter(|&other| other < was).count() as u8;
    }
    stamps.len() as u8
}

/// The same for arbiters of more inputs than a mask has bits, up to 512.
#[derive(Clone, Debug)]
pub struct WideBank {
    inputs: usize,
    state: WideState,
}

#[derive(Clone, Debug)]
enum WideState {
    /// Per arbiter: the input granted last.
    Last(Box<[u16]>),
    /// Per arbiter: a count of grants, and when by that count each input was granted last.
    Stamps(Box<[u64]>),
}

impl WideBank {
    /// `arbiters` arbiters over `inputs` inputs, 1 to 512; at first input 0 goes before input 1, and so on.
    #[must_use]
    pub fn new(kind: ArbiterKind, arbiters: usize, inputs: usize) -> Self {
        assert!((1..=WideMask::BITS).contains(&inputs), "requests are a wide mask");
        let state = match kind {
            ArbiterKind::RoundRobin => WideState::Last(vec![inputs as u16 - 1; arbiters].into()),
            ArbiterKind::Matrix | ArbiterKind::LeastRecentlyGranted => {
                let fresh: Vec<u64> = std::iter::once(inputs as u64).chain(0..inputs as u64).collect();
                WideState::Stamps(fresh.repeat(arbiters).into())
            }
        };
        WideBank { inputs, state }
    }

    /// Bytes of an arbiter over `inputs` inputs, at most.
    #[must_use]
    pub const fn bytes(inputs: usize) -> usize {
        8 * (1 + inputs)
    }

    /// Grants the request of `input`, the only one, at `arbiter`.
    pub fn grant_only(&mut self, arbiter: usize, input: usize) {
        match &mut self.state {
            WideState::Last(last) => last[arbiter] = input as u16,
            WideState::Stamps(stamps) => {
                let stamps = &mut stamps[arbiter * (1 + self.inputs)..][..1 + self.inputs];
                stamps[1 + input] = stamps[0];
                stamps[0] += 1;
            }
        }
    }

    /// Grants one of `requests` at `arbiter`.
    ///
    /// # Panics
    /// If there are none.
    pub fn grant(&mut self, arbiter: usize, requests: WideMask) -> usize {
        let mut places = requests.iter();
        let winner = match &self.state {
            WideState::Last(last) => {
                let is_after = |place: &usize| *place > usize::from(last[arbiter]);
                let first = places.next();
                first.filter(is_after).or_else(|| places.find(is_after)).or(first)
            }
            WideState::Stamps(stamps) => {
                let stamps = &stamps[arbiter * (1 + self.inputs)..][..1 + self.inputs];
                places.min_by_key(|&place| stamps[1 + place])
            }
        };
        let winner = winner.expect("an arbiter grants when somebody requests");
        self.grant_only(arbiter, winner);
        winner
    }
}

/// One matrix arbiter as hardware has it.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Bit `j` of `before[i]`: `i` goes before `j`.
    before: Vec<Vec<bool>>,
}

impl Matrix {
    /// Over `inputs` inputs, upper triangular.
    #[must_use]
    pub fn new(inputs: usize) -> Self {
        Matrix { before: (0..inputs).map(|i| (0..inputs).map(|j| i < j).collect()).collect() }
    }

    /// Grants the requester that goes before all others.
    pub fn grant(&mut self, requests: &[bool]) -> Option<usize> {
        let goes_first = |i: usize| (0..requests.len()).all(|j| i == j || !requests[j] || self.before[i][j]);
        let winner = (0..requests.len()).find(|&i| requests[i] && goes_first(i))?;
        self.before[winner].fill(false);
        for (i, before) in self.before.iter_mut().enumerate() {
            before[winner] = i != winner;
        }
        Some(winner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    fn requests(stream: &mut Stream, inputs: usize) -> u64 {
        let mask = u64::MAX >> (64 - inputs);
        (stream.bits() & stream.bits() & mask) | 1 << stream.below(inputs as u64)
    }

    fn bools(requests: u64, inputs: usize) -> Vec<bool> {
        (0..inputs).map(|input| requests >> input & 1 == 1).collect()
    }

    #[test]
    fn every_kind_grants_a_requester_and_passes_nobody_over_for_long() {
        for &kind in ArbiterKind::ALL {
            for inputs in [1, 2, 5, 16, 63, 64] {
                let mut stream = Stream::new(inputs as u64, 0, Purpose::Test);
                let mut bank = ArbiterBank::new(kind, 3, inputs);
                let mut waited = vec![0; inputs];
                let stubborn = stream.below(inputs as u64) as usize;
                for _ in 0..2_000 {
                    let requests = requests(&mut stream, inputs) | 1 << stubborn;
                    let winner = bank.grant(1, requests);
                    assert!(requests >> winner & 1 == 1);
                    waited[stubborn] = if winner == stubborn { 0 } else { waited[stubborn] + 1 };
                    assert!(waited[stubborn] < inputs, "{kind:?} with {inputs} inputs");
                }
            }
        }
    }

    #[test]
    fn with_everybody_requesting_each_is_granted_in_turn() {
        for &kind in ArbiterKind::ALL {
            let mut bank = ArbiterBank::new(kind, 1, 5);
            let grants: Vec<usize> = (0..10).map(|_| bank.grant(0, 0b11111)).collect();
            assert_eq!(grants, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4], "{kind:?}");
        }
    }

    #[test]
    fn round_robin_goes_on_behind_the_last_and_least_recently_granted_looks_back() {
        let mut round_robin = ArbiterBank::new(ArbiterKind::RoundRobin, 1, 4);
        let mut least_recent = ArbiterBank::new(ArbiterKind::LeastRecentlyGranted, 1, 4);
        let sequence = [0b0100, 0b1011, 0b0111];
        assert_eq!(sequence.map(|requests| round_robin.grant(0, requests)), [2, 3, 0]);
        assert_eq!(sequence.map(|requests| least_recent.grant(0, requests)), [2, 0, 1]);
    }

    #[test]
    fn the_matrix_is_least_recently_granted_in_hardware() {
        for inputs in [1, 2, 7, 16, 64] {
            let mut stream = Stream::new(99, inputs as u64, Purpose::Test);
            let mut matrix = Matrix::new(inputs);
            let mut bank = ArbiterBank::new(ArbiterKind::Matrix, 1, inputs);
            for _ in 0..3_000 {
                let requests = requests(&mut stream, inputs);
                let winner = bank.grant(0, requests);
                assert_eq!(matrix.grant(&bools(requests, inputs)), Some(winner));
                let only = stream.below(inputs as u64) as usize;
                bank.grant_only(0, only);
                assert_eq!(matrix.grant(&bools(1 << only, inputs)), Some(only));
            }
            assert_eq!(matrix.grant(&bools(0, inputs)), None);
        }
    }
}
