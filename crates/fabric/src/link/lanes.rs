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
use std::fmt;

/// The most lanes of a link.
pub const LANES_MAX: u32 = 64;

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
    /// They run at no rate, or at more than 255.
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
            LaneError::Rates(rates) => write!(f, "a lane has 1 to 255 rates, not {rates}"),
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
        if !(1..=255).contains(&rates.len()) {
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

    /// What a lane can run at, from the highest to the lowest.
    #[must_use]
    pub fn rates(&self) -> &[Rate] {
        &self.settings.rates
    }

    /// What the ends agree on that have found their lanes to be so; `None` if the link is down. It is the same at both ends.
    ///
    /// # Panics
    /// If an end has not as many lanes as the link.
    #[must_use]
    pub fn agree(&self, here: &[LaneState], there: &[LaneState]) -> Option<Agreement> {
        let LaneSettings { lanes, discarded_max, rates } = &self.settings;
        let count = *lanes as usize;
        assert!(here.len() == count && there.len() == count, "both ends know every lane");
        let good_at = |rate: u8| {
            let pairs = here.iter().zip(there).enumerate();
            let good = pairs.filter(|(_, (here, there))| here.works_at(rate) && there.works_at(rate));
            good.fold(0_u64, |mask, (lane, _)| mask | 1 << lane)
        };
        (0..).zip(rates).find_map(|(lane_rate, rate)| {
            let used = good_at(lane_rate);
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

    fn check(count: u32, here: &[LaneState], there: &[LaneState]) {
        let found = lanes(count).agree(here, there);
        assert_eq!(found, lanes(count).agree(there, here), "both ends agree");
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
        let agree = |bad: usize, state| {
            let ends: Vec<LaneState> = (0..8).map(|lane| if lane < bad { state } else { full }).collect();
            lanes(8).agree(&ends, &[full; 8])
        };
        let agreed = |lanes, lane_rate, rate| Some(Agreement { lanes, lane_rate, rate });
        assert_eq!(agree(0, slow), agreed(0xff, 0, Rate::FULL));
        assert_eq!(agree(1, slow), agreed(0xfe, 0, rate(7, 8)));
        assert_eq!(agree(4, slow), agreed(0xf0, 0, rate(1, 2)));
        assert_eq!(agree(5, slow), agreed(0xff, 1, rate(10, 14)));
        assert_eq!(agree(8, LaneState::at(2)), agreed(0xff, 2, rate(5, 14)));
        assert_eq!(agree(5, LaneState::DEAD), None);
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
