//! Integer time.
//!
//! The engine counts [`Cycle`]s of one network clock. The world outside counts [`Picos`]. Only a [`Clock`]
//! converts, and every conversion says how it rounds: a duration becomes cycles by rounding **up** (hardware waits
//! for the next edge), cycles become picoseconds by rounding **down**.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in time, or a span of it, in cycles of the network clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cycle(pub u64);

impl Cycle {
    /// The first cycle.
    pub const ZERO: Cycle = Cycle(0);
    /// Later than every cycle that a simulation reaches; compares as "not yet known".
    pub const NEVER: Cycle = Cycle(u64::MAX);

    /// The span from `earlier` to `self`, zero if `earlier` is not earlier.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Cycle) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Cycle {
    type Output = Cycle;
    #[inline]
    fn add(self, span: u64) -> Cycle {
        Cycle(self.0 + span)
    }
}

impl AddAssign<u64> for Cycle {
    #[inline]
    fn add_assign(&mut self, span: u64) {
        self.0 += span;
    }
}

impl Sub<u64> for Cycle {
    type Output = Cycle;
    #[inline]
    fn sub(self, span: u64) -> Cycle {
        Cycle(self.0 - span)
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picos(pub u64);

impl Picos {
    /// Whole nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Picos(nanos * 1_000)
    }

    /// In nanoseconds, for people and reports.
    #[must_use]
    pub fn as_nanos(self) -> f64 {
        self.0 as f64 / 1_000.0
    }
}

/// A clock: an exact ratio of cycles to seconds, so that no conversion drifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Cycles in so many seconds, in lowest terms.
    cycles: u64,
    seconds: u64,
}

const PICOS_PER_SECOND: u128 = 1_000_000_000_000;

impl Clock {
    /// A clock of `hertz` cycles a second; `None` for zero or above 1 THz (a cycle shorter than a picosecond).
    #[must_use]
    pub fn new(hertz: u64) -> Option<Self> {
        Clock::ratio(hertz, 1)
    }

    /// A clock of `cycles` in so many `seconds`; `None` for less than one cycle or more than 10^12 in a second.
    ///
    /// ```
    /// use flitway_engine::{Clock, Cycle, Picos};
    /// let clock = Clock::ratio(14_000_000_000, 33).expect("a clock"); // 14/33 GHz: 33 cycles are 77.786 ns
    /// assert_eq!(clock.picos_floor(Cycle(14_000)), Picos(33_000_000));
    /// ```
    #[must_use]
    pub fn ratio(cycles: u64, seconds: u64) -> Option<Self> {
        let (many, few) = (u128::from(cycles), u128::from(seconds));
        if seconds == 0 || many < few || many > few * PICOS_PER_SECOND {
            return None;
        }
        let common = greatest_common_divisor(cycles, seconds);
        Some(Clock { cycles: cycles / common, seconds: seconds / common })
    }

    /// Cycles in so many seconds, in lowest terms.
    #[must_use]
    pub const fn as_ratio(self) -> (u64, u64) {
        (self.cycles, self.seconds)
    }

    /// Cycles a second, for people and reports.
    #[must_use]
    pub fn hertz(self) -> f64 {
        self.cycles as f64 / self.seconds as f64
    }

    /// The first cycle edge at or after `span`: rounds up.
    ///
    /// ```
    /// use flitway_engine::{Clock, Cycle, Picos};
    /// let clock = Clock::new(312_500_000).expect("a clock"); // 3.2 ns
    /// assert_eq!(clock.cycles_ceil(Picos(38_400)), Cycle(12));
    /// assert_eq!(clock.cycles_ceil(Picos(38_401)), Cycle(13));
    /// assert_eq!(clock.picos_floor(Cycle(12)), Picos(38_400));
    /// ```
    #[must_use]
    pub fn cycles_ceil(self, span: Picos) -> Cycle {
        Cycle(narrow(self.cycles_ceil_of(span.0.into(), 1)))
    }

    /// Cycles in `spans` parts of a picosecond, `parts` of which are one: rounds up. For sums that are finer than
    /// picoseconds, or longer than 64 bits of them.
    #[must_use]
    pub fn cycles_ceil_of(self, spans: u128, parts: u64) -> u128 {
        let second = u128::from(parts) * PICOS_PER_SECOND * u128::from(self.seconds);
        (spans * u128::from(self.cycles)).div_ceil(second)
    }

    /// Whether `span` is a whole number of cycles.
    #[must_use]
    pub fn is_whole(self, span: Picos) -> bool {
        (u128::from(span.0) * u128::from(self.cycles))
            .is_multiple_of(PICOS_PER_SECOND * u128::from(self.seconds))
    }

    /// The span of `cycles`, rounded down to a picosecond.
    #[must_use]
    pub fn picos_floor(self, cycles: Cycle) -> Picos {
        let span = u128::from(cycles.0) * PICOS_PER_SECOND * u128::from(self.seconds);
        Picos(narrow(span / u128::from(self.cycles)))
    }

    /// A mean or other fractional count of cycles in nanoseconds, for people and reports.
    #[must_use]
    pub fn nanos(self, cycles: f64) -> f64 {
        cycles * 1e9 * self.seconds as f64 / self.cycles as f64
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).expect("a simulated time fits 64 bits: 213 days in picoseconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_with_a_fractional_period_does_not_drift() {
        let clock = Clock::new(75_000_000).unwrap(); // 13.333 ns, the SP switch
        assert_eq!(clock.picos_floor(Cycle(3)), Picos(40_000));
        assert_eq!(clock.picos_floor(Cycle(3_000_000_000)), Picos(40_000_000_000_000));
        for cycles in [0, 1, 2, 3, 17, 1_000_001] {
            assert_eq!(clock.cycles_ceil(clock.picos_floor(Cycle(cycles))), Cycle(cycles));
        }
    }

    #[test]
    fn a_clock_may_be_any_ratio() {
        let clock = Clock::ratio(14_000_000_000, 33).unwrap();
        assert_eq!(clock.as_ratio(), (14_000_000_000, 33));
        assert_eq!(clock.cycles_ceil(Picos(33_000)), Cycle(14));
        assert_eq!(clock.cycles_ceil(Picos(33_001)), Cycle(15));
        assert!(clock.is_whole(Picos(16_500)) && !clock.is_whole(Picos(16_501)));
        assert_eq!(Clock::ratio(1_000_000_000, 2), Clock::new(500_000_000));
        assert_eq!([Clock::ratio(1, 2), Clock::ratio(5, 0)], [None; 2]);
        for cycles in [0, 1, 2, 3, 13, 14, 15, 1_000_003] {
            let span = clock.picos_floor(Cycle(cycles));
            assert!(
                clock.cycles_ceil(span) <= Cycle(cycles)
                    && clock.cycles_ceil(Picos(span.0 + 1)) > Cycle(cycles)
            );
        }
    }

    #[test]
    fn a_clock_is_between_one_hertz_and_one_terahertz() {
        assert!(Clock::new(0).is_none());
        assert!(Clock::new(1_000_000_000_001).is_none());
        assert!(Clock::new(1_000_000_000_000).is_some());
    }
}
