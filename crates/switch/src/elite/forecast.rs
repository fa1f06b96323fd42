//! How much has come by each cycle, and will, as far as known: flits that are ready, credits that are back.

use super::period::{Period, Places};
use flitway_engine::Cycle;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::iter;

/// What the other end of a link tells of a virtual channel: from a cycle on things come in a pattern, until it tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The port that it is told (of a node: the rail).
    pub(super) port: u16,
    /// The virtual channel.
    pub(super) vc: u8,
    /// From when on.
    pub(super) at: Cycle,
    /// How many have come before.
    pub(super) before: u64,
    /// The pattern.
    pub(super) places: Places,
    /// How many there are when the packet has gone: no more come in this pattern.
    pub(super) end: u64,
}

/// Numbers of things by cycle.
#[derive(Debug)]
pub(super) struct Forecast {
    /// The first part; mostly there is no other.
    first: Part,
    /// How many there will be at the end of the last part.
    end: u64,
    /// Those after it.
    later: VecDeque<Part>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    from: Cycle,
    before: u64,
    places: Places,
}

/// What of a forecast goes on as it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steady {
    /// From when on, and how many have come before.
    pub(super) from: Cycle,
    pub(super) before: u64,
    /// The pattern.
    pub(super) places: Places,
    /// The first cycle from which on that is not certain.
    pub(super) until: Cycle,
}

/// What comes in the cycles of a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    /// How many have come before.
    pub(super) before: u64,
    /// The cycles in which one comes, the first in the lowest bit.
    pub(super) cycles: u64,
}

/// The `count` lowest of `bits`.
#[inline]
fn lowest(bits: u64, count: u64) -> u64 {
    if u64::from(bits.count_ones()) <= count {
        return bits;
    }
    let mut above = bits;
    for _ in 0..count {
        above &= above - 1;
    }
    bits & !above
}

impl Forecast {
    /// So many have come, and no more do.
    pub(super) fn new(count: u64) -> Self {
        let first = Part { from: Cycle::ZERO, before: count, places: Places::NONE };
        Forecast { first, end: count, later: VecDeque::new() }
    }

    /// So many have come by cycle `at`, and no more do.
    pub(super) fn reset(&mut self, at: Cycle, count: u64) {
        self.first = Part { from: at, before: count, places: Places::NONE };
        self.end = count;
        self.later.clear();
    }

    /// Takes in what is told.
    pub(super) fn add(&mut self, period: Period, run: &Run) {
        debug_assert_eq!(
            self.count(period, Cycle(run.at.0 - 1)),
            run.before,
            "what has been told agrees with what has been: {run:?}"
        );
        let part = Part { from: run.at, before: run.before, places: run.places };
        match self.later.back_mut() {
            Some(last) if last.from == run.at => *last = part,
            None if self.first.from == run.at => self.first = part,
            _ => self.later.push_back(part),
        }
        self.end = run.end;
    }

    /// Forgets what was before cycle `now`: nobody asks for that any more.
    #[inline]
    pub(super) fn forget(&mut self, now: Cycle) {
        while let Some(next) = self.later.front().copied().filter(|next| next.from <= now) {
            self.first = next;
            self.later.pop_front();
        }
    }

    /// How many there are at the end of the first part.
    #[inline]
    fn end_of_first(&self) -> u64 {
        self.later.front().map_or(self.end, |next| next.before)
    }

    /// How many have come in cycle `at` or before.
    #[inline]
    pub(super) fn count(&self, period: Period, at: Cycle) -> u64 {
        let (mut part, mut end) = (&self.first, self.end_of_first());
        for (index, next) in self.later.iter().enumerate() {
            if next.from > at {
                break;
            }
            (part, end) = (next, self.later.get(index + 1).map_or(self.end, |after| after.before));
        }
        (part.before + period.count(part.places, part.from, at + 1)).min(end)
    }

    /// What comes in the period from cycle `now` on, which is not before the first part.
    #[inline]
    pub(super) fn coming(&self, period: Period, now: Cycle) -> Coming {
        let Part { from, before, places } = self.first;
        let end = self.end_of_first();
        let before = (before + period.count(places, from, now)).min(end);
        let coming = Coming { before, cycles: lowest(period.from(places, now), end - before) };
        match self.later.front() {
            Some(next) if next.from < now + period.cycles() => self.coming_later(period, now, coming),
            _ => coming,
        }
    }

    /// `coming` with what the later parts have for the period from cycle `now` on.
    fn coming_later(&self, period: Period, now: Cycle, coming: Coming) -> Coming {
        let mut cycles = coming.cycles;
        for (index, part) in self.later.iter().enumerate() {
            let after = part.from.since(now);
            if after >= period.cycles() {
                break;
            }
            let end = self.later.get(index + 1).map_or(self.end, |next| next.before);
            let own = lowest(period.from(part.places, part.from), end - part.before);
            cycles = cycles & ((1 << after) - 1) | own << after;
        }
        Coming { before: coming.before, cycles: cycles & period.from(period.every(), now) }
    }

    /// When number `n` comes, the first being number 0, as far as known; cycle zero if it has come before.
    #[inline]
    pub(super) fn when(&self, period: Period, n: u64) -> Cycle {
        if n < self.first.before {
            Cycle::ZERO
        } else if n < self.end_of_first() {
            period.nth(self.first.places, self.first.from, n - self.first.before)
        } else if n < self.end {
            self.when_later(period, n)
        } else {
            Cycle::NEVER
        }
    }

    /// The same of what does not come in the first part.
    fn when_later(&self, period: Period, n: u64) -> Cycle {
        let after = self.later.partition_point(|part| part.before <= n);
        match after.checked_sub(1).and_then(|index| self.later.get(index)) {
            Some(part) => period.nth(part.places, part.from, n - part.before),
            None => Cycle::NEVER,
        }
    }

    /// The patterns from cycle `now` on, which is not before the first part, one after the other; nothing beyond number
    /// `needed` matters. After one that runs out there is no other.
    #[inline]
    pub(super) fn steady(&self, period: Period, now: Cycle, needed: u64) -> impl Iterator<Item = Steady> {
        let parts = iter::once(&self.first).chain(&self.later).enumerate();
        let steady = move |(index, part): (usize, &Part)| {
            let &Part { from, before, places } = part;
            let next = self.later.get(index);
            let (next, end) = next.map_or((Cycle::NEVER, self.end), |next| (next.from, next.before));
            if places.are_none() || end >= needed {
                return Steady { from, before, places, until: next };
            }
            let over = if end == before { from } else { period.nth(places, from, end - before - 1) };
            if over < now {
                return Steady { from, before, places: Places::NONE, until: next };
            }
            Steady { from, before, places, until: next.min(over + 1) }
        };
        let mut until = self.first.from;
        parts.map(steady).take_while(move |steady| {
            let follows = steady.from == until;
            until = steady.until;
            follows
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_follow_each_other_up_to_their_ends() {
        let period = Period::of(&flitway_fabric::Rates::full(), 2);
        let every = |first: u64| period.with(Places::NONE, Cycle(first));
        let both = period.with(every(0), Cycle(1));
        let mut flits = Forecast::new(0);
        let run = |at, before, places, end| Run { port: 0, vc: 0, at: Cycle(at), before, places, end };
        flits.add(period, &run(10, 0, both, 8));
        assert_eq!((flits.count(period, Cycle(12)), flits.count(period, Cycle(40))), (3, 8));
        assert_eq!((flits.when(period, 7), flits.when(period, 8)), (Cycle(17), Cycle::NEVER));
        flits.add(period, &run(13, 3, every(0), 8));
        assert_eq!((flits.when(period, 2), flits.when(period, 3)), (Cycle(12), Cycle(14)));
        assert_eq!(flits.count(period, Cycle(100)), 8);
        // The next packet begins later.
        flits.add(period, &run(30, 8, both, 10));
        assert_eq!((flits.count(period, Cycle(29)), flits.when(period, 8)), (8, Cycle(30)));
        flits.forget(Cycle(13));
        let steady = |at, needed| {
            let patterns = flits.steady(period, Cycle(at), needed);
            patterns.map(|it| (it.from.0, it.before, it.places, it.until.0)).collect::<Vec<_>>()
        };
        assert_eq!(steady(13, 9), [(13, 3, every(0), 23)]);
        let next = (30, 8, both, Cycle::NEVER.0);
        assert_eq!(steady(13, 8), [(13, 3, every(0), 30), next]);
        assert_eq!(steady(24, 9), [(13, 3, Places::NONE, 30), next]);
        flits.reset(Cycle(50), 20);
        assert_eq!((flits.count(period, Cycle(50)), flits.when(period, 20)), (20, Cycle::NEVER));
    }
}
