//! How the rate of a channel changes in time.

use super::Rate;
use flitway_engine::Cycle;

/// The rates of a channel, each from a date on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// None where there is a flit in every cycle, for ever: the usual case, which costs a look at this.
    slow: Option<Box<Rates>>,
}

/// The rates of a channel of which at least one is not full.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rates {
    first: Rate,
    /// From when on, in order, and what: `None` while it is stopped.
    later: Vec<(Cycle, Option<Rate>)>,
}

impl From<Rate> for Pace {
    fn from(rate: Rate) -> Self {
        let slow = Rates { first: rate, later: Vec::new() };
        Pace { slow: (!rate.is_full()).then(|| Box::new(slow)) }
    }
}

impl Rates {
    /// The rate in cycle `at`, and the cycle in which it changes next.
    fn at(&self, at: Cycle) -> (Option<Rate>, Cycle) {
        let place = self.later.partition_point(|(from, _)| *from <= at);
        let rate = place.checked_sub(1).map_or(Some(self.first), |last| self.later[last].1);
        (rate, self.later.get(place).map_or(Cycle::NEVER, |(from, _)| *from))
    }

    #[inline(never)]
    fn slot_from(&self, mut at: Cycle) -> Cycle {
        while at < Cycle::NEVER {
            let (rate, until) = self.at(at);
            let slot = rate.map_or(Cycle::NEVER, |rate| rate.slot_from(at));
            if slot < until {
                return slot;
            }
            at = until;
        }
        Cycle::NEVER
    }

    #[inline(never)]
    fn slots_in_a_row(&self, at: Cycle) -> u32 {
        let (rate, until) = self.at(at);
        let slots = rate.map_or(0, |rate| rate.slots_in_a_row(at));
        slots.min(until.since(at).try_into().unwrap_or(u32::MAX))
    }
}

impl Pace {
    /// The rate is another from cycle `from` on, or the channel is stopped. Of two for the same cycle the later one counts.
    pub fn change(&mut self, from: Cycle, rate: Option<Rate>) {
        let slow = self.slow.get_or_insert_with(|| Box::new(Rates { first: Rate::FULL, later: Vec::new() }));
        let place = slow.later.partition_point(|(at, _)| *at <= from);
        slow.later.insert(place, (from, rate));
    }

    /// The first cycle from `at` on in which the slots may not be those of `period` cycles before, for all that is known.
    #[inline]
    #[must_use]
    pub fn steady_until(&self, at: Cycle, period: u64) -> Cycle {
        self.slow.as_ref().map_or(Cycle::NEVER, |slow| {
            let (rate, until) = slow.at(at);
            let repeats = rate.is_none_or(|rate| period.is_multiple_of(rate.ratio().1.into()));
            if repeats { until } else { at }
        })
    }

    /// Whether a flit can be sent in cycle `at`.
    #[must_use]
    pub fn is_slot(&self, at: Cycle) -> bool {
        self.slow.as_ref().is_none_or(|slow| slow.at(at).0.is_some_and(|rate| rate.is_slot(at)))
    }

    /// The first slot from cycle `at` on; never if the channel is stopped for ever, and after never.
    #[inline]
    #[must_use]
    pub fn slot_from(&self, at: Cycle) -> Cycle {
        self.slow.as_ref().map_or(at, |slow| slow.slot_from(at))
    }

    /// The slot that comes `count` slots after cycle `at`, which is one, at the rate of that cycle.
    #[inline]
    #[must_use]
    pub fn slot_after(&self, at: Cycle, count: u32) -> Cycle {
        let rate = self.slow.as_ref().and_then(|slow| slow.at(at).0).unwrap_or(Rate::FULL);
        rate.slot_after(at, count)
    }

    /// Slots in a row from cycle `at` on, none if that is none; no more than up to the next change.
    #[inline]
    #[must_use]
    pub fn slots_in_a_row(&self, at: Cycle) -> u32 {
        self.slow.as_ref().map_or(u32::MAX, |slow| slow.slots_in_a_row(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_rate_of_each_cycle() {
        let rate = |flits, cycles| Rate::new(flits, cycles);
        let mut pace = Pace::from(Rate::FULL);
        // Told in no order; the second for cycle 30 counts.
        for (from, to) in [(30, rate(1, 3)), (17, rate(2, 5)), (30, None), (55, rate(1, 1)), (70, rate(3, 4))]
        {
            pace.change(Cycle(from), to);
        }
        let plain = |at: u64| match at {
            0..17 => true,
            17..30 => Rate::new(2, 5).is_some_and(|rate| rate.is_slot(Cycle(at))),
            30..55 => false,
            55..70 => true,
            _ => Rate::new(3, 4).is_some_and(|rate| rate.is_slot(Cycle(at))),
        };
        for at in 0..120 {
            assert_eq!(pace.is_slot(Cycle(at)), plain(at), "cycle {at}");
            let next = (at..).find(|&at| plain(at)).map(Cycle);
            assert_eq!(Some(pace.slot_from(Cycle(at))), next, "from cycle {at}");
            let row = u64::from(pace.slots_in_a_row(Cycle(at)));
            assert!((at..at + row.min(200)).all(plain), "{row} in a row from cycle {at}");
            assert_eq!(row > 0, plain(at), "cycle {at}");
        }
        pace.change(Cycle(100), None);
        assert_eq!((pace.slot_from(Cycle(100)), pace.slot_from(Cycle::NEVER)), (Cycle::NEVER, Cycle::NEVER));
    }
}
