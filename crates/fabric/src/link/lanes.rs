//! The lanes of a link, and what its two ends agree on when they train it, without time.
//!
//! Sources: th-express-2.txt section 4.3.1; `mechanisms.md` 2.3; OQ-T22. A *lane* here is a wire of the link, one each way,
//! that carries an equal part of it.
//!
//! This text is normative. Each lane has a list of rates at which it can run, and training finds the highest at which it
//! *works*; it works at all lower ones too, or at none. A lane is good at a rate if it works at both ends. The ends take the
//! highest rate at which no more lanes are bad than may be discarded, all lanes at the same, and of that rate every good
//! lane. If there is no such rate the link is down. ("Up to four lanes can be picked out and discarded. ... If four more lanes
//! are bad, PCS should ... downgrade the data rate of all SerDes in the port": we read *more than four*.)
//!
//! So a link never trades a lane for a rate: 4 of 8 lanes at the full rate are taken before 8 at 10/14 of it, which would be
//! more. That is what the paper says.

use super::Rate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The most lanes of a link.
pub const LANES_MAX: u32 = 64;

/// The most rates of a lane.
pub const RATES_MAX: usize = 4;

/// The lanes of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSettings {
    /// How many there are.
    pub lanes: u32,
    /// How many may be discarded.
    pub discarded_max: u32,
    /// What a lane can run at, in ratios to the highest rate, from the highest to the lowest.
    pub rates: Vec<Rate>,
}

/// Why lanes cannot be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneError {
    /// There are none, or more than [`LANES_MAX`].
    Lanes(u32),
    /// All of them may be discarded.
    AllDiscarded,
    /// They run at no rate, or at more than [`RATES_MAX`].
    Rates(usize),
    /// This rate in the list, counted from 0, is no less than the one before.
    NotDescending(usize),
    /// This rate in the list, counted from 0, has too large a ratio for eighths of it to have one.
    TooFine(usize),
}

impl fmt::Display for LaneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LaneError::Lanes(lanes) => write!(f, "a link has 1 to {LANES_MAX} lanes, not {lanes}"),
            LaneError::AllDiscarded => write!(f, "a link has to keep a lane"),
            LaneError::Rates(rates) => write!(f, "a lane has 1 to {RATES_MAX} rates, not {rates}"),
            LaneError::NotDescending(rate) => write!(f, "rate {} is no lower than the one before", rate + 1),
            LaneError::TooFine(rate) => {
                write!(f, "rate {} is too fine a ratio to be shared by lanes", rate + 1)
            }
        }
    }
}

impl std::error::Error for LaneError {}

/// How well a lane works, as training at one end finds it. The default is at the highest rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneState {
    /// The place in the list of rates of the highest at which it works.
    best: Option<u8>,
}

impl Default for LaneState {
    fn default() -> Self {
        LaneState::at(0)
    }
}

impl LaneState {
    /// It works at no rate.
    pub const DEAD: LaneState = LaneState { best: None };

    /// It works at the rate of that place in the list, and at all after it.
    #[must_use]
    pub const fn at(rate: u8) -> Self {
        LaneState { best: Some(rate) }
    }

    /// Whether it works at the rate of that place in the list.
    #[must_use]
    pub fn works_at(self, rate: u8) -> bool {
        self.best.is_some_and(|best| best <= rate)
    }
}

/// The lanes of a link as training at one end finds them. The default is that none works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaneStates {
    /// By the place of a rate in the list, a bit for each lane that works at it.
    pub works_at: [u64; RATES_MAX],
}

impl LaneStates {
    /// These, of the lanes from 0 on.
    #[must_use]
    pub fn new(states: &[LaneState]) -> Self {
        let lanes_at = |rate: usize| {
            let works = states.iter().enumerate().filter(|(_, state)| state.works_at(rate as u8));
            works.fold(0, |mask, (lane, _)| mask | 1 << lane)
        };
        LaneStates { works_at: std::array::from_fn(lanes_at) }
    }
}

/// What the two ends of a link agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// A bit for each lane that is used.
    pub lanes: u64,
    /// The place in the list of the rate at which all of them run.
    pub lane_rate: u8,
    /// What the link carries, in ratio to all lanes at a lane's full rate.
    pub rate: Rate,
}

/// The lanes of a link, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    settings: LaneSettings,
}

impl LaneSettings {
    /// Checks them.
    ///
    /// # Errors
    /// Says the first thing that is wrong.
    pub fn check(self) -> Result<Lanes, LaneError> {
        let LaneSettings { lanes, discarded_max, ref rates } = self;
        if !(1..=LANES_MAX).contains(&lanes) {
            return Err(LaneError::Lanes(lanes));
        }
        if discarded_max >= lanes {
            return Err(LaneError::AllDiscarded);
        }
        if !(1..=RATES_MAX).contains(&rates.len()) {
            return Err(LaneError::Rates(rates.len()));
        }
        if let Some(place) = (1..rates.len()).find(|&place| !is_less(rates[place], rates[place - 1])) {
            return Err(LaneError::NotDescending(place));
        }
        // A lower rate of few lanes is the finest ratio that there can be.
        let is_too_fine = |rate: &Rate| rate.ratio().1.checked_mul(lanes).is_none();
        match rates.iter().position(is_too_fine) {
            Some(place) => Err(LaneError::TooFine(place)),
            None => Ok(Lanes { settings: self }),
        }
    }
}

fn is_less(a: Rate, b: Rate) -> bool {
    let ((a, of_a), (b, of_b)) = (a.ratio(), b.ratio());
    u64::from(a) * u64::from(of_b) < u64::from(b) * u64::from(of_a)
}

impl Lanes {
    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.settings.lanes
    }

    /// How many the ends can do without.
    #[must_use]
    pub const fn discarded_max(&self) -> u32 {
        self.settings.discarded_max
    }

    /// All of them at the highest rate.
    #[must_use]
    pub fn good(&self) -> LaneStates {
        LaneStates::new(&vec![LaneState::default(); self.settings.lanes as usize])
    }

    /// What a lane can run at, from the highest to the lowest.
    #[must_use]
    pub fn rates(&self) -> &[Rate] {
        &self.settings.rates
    }

    /// What the ends agree on that have found their lanes to be so; `None` if the link is down. It is the same at both ends.
    #[must_use]
    pub fn agree(&self, here: &LaneStates, there: &LaneStates) -> Option<Agreement> {
        let LaneSettings { lanes, discarded_max, rates } = &self.settings;
        let all = u64::MAX >> (LANES_MAX - lanes);
        (0..).zip(rates).find_map(|(lane_rate, rate)| {
            let place = usize::from(lane_rate);
            let used = here.works_at[place] & there.works_at[place] & all;
            let (flits, cycles) = rate.ratio();
            let rate = Rate::new(flits * used.count_ones(), cycles * lanes)?;
            (lanes - used.count_ones() <= *discarded_max).then_some(Agreement {
                lanes: used,
                lane_rate,
                rate,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(flits: u32, cycles: u32) -> Rate {
        Rate::new(flits, cycles).expect("it is at most one")
    }

    /// Lanes at 14, 10 and 5 Gbit/s, of which half may be discarded.
    fn settings(lanes: u32) -> LaneSettings {
        let rates = vec![Rate::FULL, rate(10, 14), rate(5, 14)];
        LaneSettings { lanes, discarded_max: lanes / 2, rates }
    }

    fn lanes(count: u32) -> Lanes {
        settings(count).check().expect("they are right")
    }

    /// The states of so many lanes, one combination a number.
    fn states(count: u32, number: u32) -> Vec<LaneState> {
        let state = |lane: u32| match number >> (2 * lane) & 3 {
            3 => LaneState::DEAD,
            best => LaneState::at(best as u8),
        };
        (0..count).map(state).collect()
    }

    /// The definition: of all rates, and all sets of lanes that keep enough of them and work at both ends, the highest rate and
    /// then the largest set.
    fn plain(count: u32, here: &[LaneState], there: &[LaneState]) -> Option<(u64, u8)> {
        let works = |set: u64, rate| {
            let both = |lane: u32| [here, there].map(|end| end[lane as usize].works_at(rate)) == [true; 2];
            (0..count).filter(|lane| set >> lane & 1 == 1).all(both)
        };
        let kept = |set: &u64| set.count_ones() >= count - count / 2;
        let sets_at = |rate| (0..1_u64 << count).filter(kept).filter(move |&set| works(set, rate));
        (0..3).find_map(|rate| sets_at(rate).max_by_key(|set| set.count_ones()).map(|set| (set, rate)))
    }

    fn agree(count: u32, here: &[LaneState], there: &[LaneState]) -> Option<Agreement> {
        lanes(count).agree(&LaneStates::new(here), &LaneStates::new(there))
    }

    fn check(count: u32, here: &[LaneState], there: &[LaneState]) {
        let found = agree(count, here, there);
        assert_eq!(found, agree(count, there, here), "both ends agree");
        let expected = plain(count, here, there);
        assert_eq!(found.map(|it| (it.lanes, it.lane_rate)), expected, "{here:?} {there:?}");
        if let Some(Agreement { lanes, lane_rate, rate }) = found {
            let gigabits = [14, 10, 5][usize::from(lane_rate)];
            assert_eq!(Some(rate), Rate::new(lanes.count_ones() * gigabits, count * 14));
        }
    }

    #[test]
    fn all_states_of_eight_lanes_give_what_the_definition_says() {
        let good = [LaneState::default(); 8];
        for number in 0..1 << 16 {
            check(8, &states(8, number), &good);
        }
    }

    #[test]
    fn all_states_of_few_lanes_at_both_ends_give_what_the_definition_says() {
        for count in 1..=3 {
            for number in 0..1 << (4 * count) {
                check(count, &states(count, number), &states(count, number >> (2 * count)));
            }
        }
    }

    #[test]
    fn four_lanes_are_discarded_and_with_a_fifth_the_whole_port_goes_to_the_next_rate() {
        let (full, slow) = (LaneState::default(), LaneState::at(1));
        let agreed_with = |bad: usize, state| {
            let ends: Vec<LaneState> = (0..8).map(|lane| if lane < bad { state } else { full }).collect();
            agree(8, &ends, &[full; 8])
        };
        let agreed = |lanes, lane_rate, rate| Some(Agreement { lanes, lane_rate, rate });
        assert_eq!(agreed_with(0, slow), agreed(0xff, 0, Rate::FULL));
        assert_eq!(agreed_with(1, slow), agreed(0xfe, 0, rate(7, 8)));
        assert_eq!(agreed_with(4, slow), agreed(0xf0, 0, rate(1, 2)));
        assert_eq!(agreed_with(5, slow), agreed(0xff, 1, rate(10, 14)));
        assert_eq!(agreed_with(8, LaneState::at(2)), agreed(0xff, 2, rate(5, 14)));
        assert_eq!(agreed_with(5, LaneState::DEAD), None);
    }

    #[test]
    fn lanes_that_cannot_be_are_refused() {
        let check = |change: fn(&mut LaneSettings)| {
            let mut settings = settings(8);
            change(&mut settings);
            settings.check().err()
        };
        assert_eq!(check(|it| it.discarded_max = 7), None);
        assert_eq!(check(|it| it.lanes = 0), Some(LaneError::Lanes(0)));
        assert_eq!(check(|it| it.lanes = 65), Some(LaneError::Lanes(65)));
        assert_eq!(check(|it| it.discarded_max = 8), Some(LaneError::AllDiscarded));
        assert_eq!(check(|it| it.rates.clear()), Some(LaneError::Rates(0)));
        assert_eq!(check(|it| it.rates[1] = Rate::FULL), Some(LaneError::NotDescending(1)));
        assert_eq!(check(|it| it.rates[2] = rate(1, u32::MAX)), Some(LaneError::TooFine(2)));
    }
}
