//! What is repeated: which cycles of a period something happens in.

use flitway_engine::Cycle;
use flitway_fabric::Rate;
use flitway_fabric::link::Rates;
use serde::{Deserialize, Serialize};

/// Cycles of a period in which something happens, a bit for each: that of cycle `t` is `t mod period`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Places(u64);

impl Places {
    /// None.
    pub(super) const NONE: Places = Places(0);

    /// How many.
    #[inline]
    pub(super) fn count(self) -> u64 {
        self.0.count_ones().into()
    }

    #[inline]
    pub(super) fn are_none(self) -> bool {
        self.0 == 0
    }
}

/// A number of cycles, 1 to 64, after which patterns are repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Period {
    cycles: u32,
    /// 2^64 / `cycles`, rounded up: to divide is to multiply by that.
    inverse: u64,
}

impl Period {
    const MOST: u32 = u64::BITS;

    /// One in which `vcs` virtual channels take turns on channels of these `rates`, if it is short enough: then patterns that
    /// are repeated are told once. Otherwise they are told piece by piece.
    pub(super) fn of(rates: &Rates, vcs: u32) -> Self {
        let turns = (1..=vcs).fold(1, least_common_multiple);
        let slots = rates.iter().fold(1, |all, rate| least_common_multiple(all, rate.ratio().1));
        let period = turns * slots;
        Period::new(if period <= Self::MOST { period } else { Self::MOST })
    }

    fn new(cycles: u32) -> Self {
        // One cycle is the whole of each period: what is a power of two is not divided by.
        Period { cycles, inverse: (u64::MAX / u64::from(cycles)).wrapping_add(1) }
    }

    /// How many cycles it has.
    #[inline]
    pub(super) fn cycles(self) -> u64 {
        self.cycles.into()
    }

    /// Every cycle.
    pub(super) fn every(self) -> Places {
        Places(self.all())
    }

    /// `cycles` in whole periods, and those that are left; exact below 2^58, as 64 times what the inverse is rounded up by is
    /// less than 2^64 then.
    #[inline]
    fn divided(self, cycles: u64) -> (u64, u32) {
        debug_assert!(cycles < 1 << 58, "cycle {cycles} is far beyond the end of any run");
        let whole = if self.cycles.is_power_of_two() {
            cycles >> self.cycles.trailing_zeros()
        } else {
            ((u128::from(cycles) * u128::from(self.inverse)) >> u64::BITS) as u64
        };
        (whole, (cycles - whole * self.cycles()) as u32)
    }

    /// The slots of a channel of `rate`, if they are the same in every period.
    pub(super) fn slots(self, rate: Rate) -> Option<Places> {
        let slots = (0..self.cycles()).filter(|&at| rate.is_slot(Cycle(at)));
        let is_same = self.cycles.is_multiple_of(rate.ratio().1);
        is_same.then(|| Places(slots.fold(0, |slots, at| slots | 1 << at)))
    }

    #[inline]
    fn place(self, at: Cycle) -> u32 {
        self.divided(at.0).1
    }

    #[inline]
    fn all(self) -> u64 {
        u64::MAX >> (u64::BITS - self.cycles)
    }

    #[inline]
    fn rotated(self, places: u64, by: u32) -> u64 {
        if by == 0 { places } else { (places << by | places >> (self.cycles - by)) & self.all() }
    }

    /// `places` with that of cycle `at`.
    #[inline]
    pub(super) fn with(self, places: Places, at: Cycle) -> Places {
        Places(places.0 | 1 << self.place(at))
    }

    /// The places of what happens so many cycles later.
    #[inline]
    pub(super) fn later(self, places: Places, cycles: u64) -> Places {
        Places(self.rotated(places.0, self.place(Cycle(cycles))))
    }

    /// `places` as they are from cycle `at` on: the first is in the lowest bit.
    #[inline]
    pub(super) fn from(self, places: Places, at: Cycle) -> u64 {
        let place = self.place(at);
        self.rotated(places.0, if place == 0 { 0 } else { self.cycles - place })
    }

    /// The places of the cycles from `at` on whose bits are set, the first in the lowest one.
    #[inline]
    pub(super) fn places(self, bits: u64, at: Cycle) -> Places {
        Places(self.rotated(bits, self.place(at)))
    }

    /// How many of the cycles from `from` to before `to` are in `places`.
    #[inline]
    pub(super) fn count(self, places: Places, from: Cycle, to: Cycle) -> u64 {
        if places.are_none() || to <= from {
            return 0;
        }
        let (whole, rest) = self.divided(to.0 - from.0);
        let part = self.from(places, from) & ((1 << rest) - 1);
        whole * places.count() + u64::from(part.count_ones())
    }

    /// The cycle of number `n` of `places` from cycle `from` on; the first has number 0.
    #[inline]
    pub(super) fn nth(self, places: Places, from: Cycle, n: u64) -> Cycle {
        if places.are_none() {
            return Cycle::NEVER;
        }
        let (whole, rest) = quotient(n, places.count());
        let mut left = self.from(places, from);
        for _ in 0..rest {
            left &= left - 1;
        }
        from + (whole * self.cycles() + u64::from(left.trailing_zeros()))
    }

    /// The last of `places` from cycle `from` to before `to`.
    #[inline]
    pub(super) fn last(self, places: Places, from: Cycle, to: Cycle) -> Option<Cycle> {
        if places.are_none() || to <= from {
            return None;
        }
        // Of the period before `to`, the first cycle in the lowest bit.
        let cycles = self.from(places, to);
        let back = u64::from(self.cycles - 1 - cycles.ilog2()) + 1;
        (back <= to.0 - from.0).then(|| Cycle(to.0 - back))
    }

    /// `told` with what is planned in `places` for the cycles from `from` to before `to`; the same where that is as told.
    #[inline]
    pub(super) fn merged(self, told: Places, places: Places, from: Cycle, to: Cycle) -> Places {
        let cycles = to.0 - from.0;
        if cycles >= self.cycles() {
            return places;
        }
        let window = self.rotated((1 << cycles) - 1, self.place(from));
        Places(told.0 & !window | places.0 & window)
    }
}

/// `n / count`, and what is left.
#[inline]
fn quotient(n: u64, count: u64) -> (u64, u64) {
    match (u32::try_from(n), u32::try_from(count)) {
        // To divide by half as many bits is much faster.
        (Ok(n), Ok(count)) => ((n / count).into(), (n % count).into()),
        _ => (n / count, n % count),
    }
}

fn least_common_multiple(a: u32, b: u32) -> u32 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).saturating_mul(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_counted_as_cycle_by_cycle() {
        for period in [1, 2, 6, 10, 63, 64].map(Period::new) {
            for seed in 1..40_u64 {
                let places = Places(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) & period.all());
                let is_in = |at: u64| places.0 >> (at % period.cycles()) & 1 == 1;
                for from in [0, 1, 5, 63, 64, 129] {
                    let mut cycles = (from..).filter(|&at| is_in(at)).take(100);
                    for to in from..from + 150 {
                        let count = (from..to).filter(|&at| is_in(at)).count() as u64;
                        assert_eq!(period.count(places, Cycle(from), Cycle(to)), count);
                        let last = (from..to).rev().find(|&at| is_in(at)).map(Cycle);
                        assert_eq!(period.last(places, Cycle(from), Cycle(to)), last);
                    }
                    for n in 0..100 {
                        let cycle = if places.are_none() { None } else { cycles.next() };
                        let cycle = cycle.map_or(Cycle::NEVER, Cycle);
                        assert_eq!(period.nth(places, Cycle(from), n), cycle);
                    }
                    let later = period.later(places, from);
                    let counts = (period.count(later, Cycle(from + 3), Cycle(from + 40)),);
                    assert_eq!(counts.0, period.count(places, Cycle(3), Cycle(40)));
                }
            }
        }
    }

    #[test]
    fn periods_are_divided_exactly() {
        for cycles in 1..=64 {
            let period = Period::new(cycles);
            for near in [0, 1 << 20, 1 << 40, (1 << 58) - 70] {
                for at in near..near + 70 {
                    assert_eq!(period.divided(at), (at / period.cycles(), (at % period.cycles()) as u32));
                }
            }
        }
    }

    #[test]
    fn only_what_is_planned_is_told_anew() {
        let period = Period::new(10);
        let told = Places(0b11_1111_1111);
        let merged = period.merged(told, Places::NONE, Cycle(18), Cycle(21));
        assert_eq!(merged, Places(0b00_1111_1110));
        assert_eq!(period.merged(told, Places(0b1), Cycle(3), Cycle(13)), Places(0b1));
        assert_eq!(period.merged(told, told, Cycle(7), Cycle(9)), told);
    }
}
