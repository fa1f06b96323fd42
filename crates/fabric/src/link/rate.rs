//! How many flits a channel carries in a cycle: an exact ratio, at most one.
//!
//! A channel of `p` flits in `q` cycles has *slots*: cycle `t` is one if `floor((t + 1) p / q) > floor(t p / q)`. So of `q`
//! cycles in a row `p` are slots, spread as evenly as can be, and cycle `q - 1` is always one. A flit is sent in slots only; it
//! is on the wire as one that a channel of full rate sends in that cycle.

use flitway_engine::Cycle;
use flitway_wiring::topology::End;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Flits per cycle of a channel, above 0 and at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    flits: u32,
    cycles: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Rate::FULL
    }
}

impl Rate {
    /// A flit in every cycle.
    pub const FULL: Rate = Rate { flits: 1, cycles: 1 };

    /// `flits` in `cycles`; `None` if that is nothing or more than a flit in every cycle.
    #[must_use]
    pub fn new(flits: u32, cycles: u32) -> Option<Rate> {
        if flits == 0 || flits > cycles {
            return None;
        }
        let common = greatest_common_divisor(flits, cycles);
        Some(Rate { flits: flits / common, cycles: cycles / common })
    }

    /// Flits, and the cycles that they take, in lowest terms.
    #[must_use]
    pub const fn ratio(self) -> (u32, u32) {
        (self.flits, self.cycles)
    }

    /// Flits per cycle, for what is shown.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.flits) / f64::from(self.cycles)
    }

    /// Whether it is a flit in every cycle.
    #[inline]
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.flits == self.cycles
    }

    /// Whether a flit can be sent in cycle `at`.
    #[must_use]
    pub fn is_slot(self, at: Cycle) -> bool {
        let (flits, cycles) = (u64::from(self.flits), u64::from(self.cycles));
        let place = at.0 % cycles;
        (place + 1) * flits / cycles > place * flits / cycles
    }

    /// The first slot from cycle `at` on; never after never.
    #[inline]
    #[must_use]
    pub fn slot_from(self, at: Cycle) -> Cycle {
        if self.is_full() || at == Cycle::NEVER {
            return at;
        }
        let (flits, cycles) = (u64::from(self.flits), u64::from(self.cycles));
        let place = at.0 % cycles;
        let before = place * flits / cycles;
        Cycle(at.0 - place + ((before + 1) * cycles).div_ceil(flits) - 1)
    }

    /// The slot that comes `count` slots after cycle `at`, which is one.
    #[inline]
    #[must_use]
    pub fn slot_after(self, at: Cycle, count: u32) -> Cycle {
        if self.is_full() {
            return at + u64::from(count);
        }
        let (flits, cycles) = (u64::from(self.flits), u64::from(self.cycles));
        let place = at.0 % cycles;
        let before = place * flits / cycles;
        Cycle(at.0 - place + ((before + 1 + u64::from(count)) * cycles).div_ceil(flits) - 1)
    }

    /// Slots in a row from cycle `at` on, none if that is none; as many as there can be of a full rate.
    #[inline]
    #[must_use]
    pub fn slots_in_a_row(self, at: Cycle) -> u32 {
        if self.is_full() {
            return u32::MAX;
        }
        let slots = (0..self.flits).take_while(|&span| self.is_slot(at + u64::from(span)));
        slots.count() as u32
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The rates of all channels of a rail: full, but for those that are said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// By the end that sends.
    slow: BTreeMap<End, Rate>,
}

impl Rates {
    /// All of them full.
    #[must_use]
    pub fn full() -> Self {
        Rates::default()
    }

    /// The channel that `sender` sends on has `rate`.
    pub fn set(&mut self, sender: End, rate: Rate) {
        if rate.is_full() {
            self.slow.remove(&sender);
        } else {
            self.slow.insert(sender, rate);
        }
    }

    /// Of the channel that `sender` sends on.
    #[must_use]
    pub fn of(&self, sender: End) -> Rate {
        self.slow.get(&sender).copied().unwrap_or(Rate::FULL)
    }

    /// Those of less than a flit a cycle, in the order of their senders.
    pub fn iter(&self) -> impl Iterator<Item = Rate> {
        self.slow.values().copied()
    }

    /// Whether all of them are full.
    #[must_use]
    pub fn are_full(&self) -> bool {
        self.slow.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_as_many_as_the_ratio_says_and_spread_evenly() {
        for cycles in 1..=12 {
            for flits in 1..=cycles {
                let rate = Rate::new(flits, cycles).expect("it is at most one");
                let slots: Vec<u64> = (0..240).filter(|&at| rate.is_slot(Cycle(at))).collect();
                for start in 0..120 {
                    let in_row = slots.iter().filter(|&&at| (start..start + u64::from(cycles)).contains(&at));
                    assert_eq!(in_row.count(), flits as usize, "{rate:?} from {start}");
                }
                assert!(rate.is_slot(Cycle(u64::from(cycles) - 1)));
                let gaps = slots.windows(2).map(|pair| pair[1] - pair[0]);
                let (least, most) = (gaps.clone().min(), gaps.max());
                assert!(most <= least.map(|least| least + 1), "{rate:?}: {slots:?}");
            }
        }
    }

    #[test]
    fn the_next_slot_and_slots_in_a_row_are_found() {
        for (flits, cycles) in [(1, 1), (1, 2), (2, 3), (4, 5), (5, 8), (7, 8), (3, 7), (1, 9)] {
            let rate = Rate::new(flits, cycles).expect("it is at most one");
            for at in (0..60).map(Cycle) {
                let next = (0..).map(|span| at + span).find(|&at| rate.is_slot(at));
                assert_eq!(Some(rate.slot_from(at)), next, "{rate:?} from {at}");
                let mut slots = (0..).map(|span| at + span).filter(|&at| rate.is_slot(at));
                if rate.is_slot(at) {
                    for count in 0..20 {
                        assert_eq!(Some(rate.slot_after(at, count)), slots.next(), "{count} after {at}");
                    }
                }
                if !rate.is_full() {
                    let in_a_row = (0..).take_while(|&span| rate.is_slot(at + span)).count() as u32;
                    assert_eq!(rate.slots_in_a_row(at), in_a_row, "{rate:?} from {at}");
                }
            }
        }
        assert_eq!(Rate::new(1, 2).map(|rate| rate.slot_from(Cycle::NEVER)), Some(Cycle::NEVER));
    }

    #[test]
    fn more_than_a_flit_a_cycle_and_nothing_are_refused() {
        assert_eq!([Rate::new(0, 1), Rate::new(3, 2), Rate::new(1, 0)], [None; 3]);
        assert_eq!(Rate::new(6, 8).map(Rate::ratio), Some((3, 4)));
    }
}
