//! The sender half of absolute credits: as [`credit::Sender`](crate::hpp::credit), in two thirds of its bytes. Adverts that
//! have come and do not count yet are a list; there are hardly ever any.

use crate::hpp::timing::Timing;
use crate::hpp::token::Limit;
use crate::pool::{List, Pool};
use flitway_engine::Cycle;

/// How far it may send, and how far it has.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    limit: u32,
    sent: u32,
    /// Adverts that are not known to count yet, the first first.
    coming: List,
}

impl Sender {
    pub(super) fn new(timing: &Timing) -> Self {
        Sender { limit: timing.capacity, sent: 0, coming: List::default() }
    }

    /// Takes in an advert. Adverts come in order, and nobody acts on credits in a cycle before `passed` any more.
    #[inline]
    pub(super) fn advertise(&mut self, limits: &mut Pool<Limit>, advert: &Limit, passed: Cycle) {
        self.count(limits, passed);
        let slot = limits.put(*advert);
        limits.append(&mut self.coming, slot);
    }

    /// Whether it may send `units` in any cycle from now on, as far as is known without taking adverts in.
    #[inline(always)]
    pub(super) fn has_known(&self, units: u32) -> bool {
        self.limit.wrapping_sub(self.sent) >= units
    }

    /// Whether it may send `units` in cycle `now`. Adverts are taken in when they are needed.
    #[inline]
    pub(super) fn has(&mut self, limits: &mut Pool<Limit>, now: Cycle, units: u32) -> bool {
        self.has_known(units) || self.has_more(limits, now, units)
    }

    #[inline(never)]
    fn has_more(&mut self, limits: &mut Pool<Limit>, now: Cycle, units: u32) -> bool {
        self.count(limits, now);
        self.has_known(units)
    }

    /// The adverts count that do in cycle `now`.
    #[inline]
    fn count(&mut self, limits: &mut Pool<Limit>, now: Cycle) {
        while limits.first(&self.coming).is_some_and(|advert| advert.from <= now) {
            let slot = limits.unlink(&mut self.coming);
            self.limit = limits.take(slot).position;
        }
    }

    /// The same as [`has`](Self::has), without taking anything in: for a look from outside.
    pub(super) fn would_have(&self, limits: &Pool<Limit>, now: Cycle, units: u32) -> bool {
        let known = limits.iter(&self.coming).take_while(|advert| advert.from <= now).last();
        let limit = known.map_or(self.limit, |advert| advert.position);
        limit.wrapping_sub(self.sent) >= units
    }

    /// When the next advert begins to count, if one has come that does not yet.
    #[inline]
    pub(super) fn next_advert(&self, limits: &Pool<Limit>) -> Option<Cycle> {
        limits.first(&self.coming).map(|advert| advert.from)
    }

    /// Takes `units` credits.
    #[inline(always)]
    pub(super) fn take(&mut self, units: u32) {
        debug_assert!(self.has_known(units), "credits are taken only where there are any");
        self.sent = self.sent.wrapping_add(units);
    }

    /// Units sent since the start.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Slot;
    use flitway_engine::random::{Purpose, Stream};

    /// Against the plain rule: the limit in a cycle is that of the last advert that counts by then.
    #[test]
    fn a_sender_that_takes_adverts_in_late_answers_as_if_it_took_them_in_at_once() {
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let mut limits = Pool::default();
            let mut sender = Sender { limit: 10, sent: 0, coming: List::default() };
            let (mut adverts, mut position, mut from, mut told) = (vec![(0, 10)], 10, 0, 0);
            for now in 0..2_000 {
                for _ in 0..stream.below(3) * stream.below(2) {
                    from = now.max(from) + stream.below(3);
                    position += stream.below(4) as u32;
                    adverts.push((from, position));
                    let advert = Limit { from: Cycle(from), position, next: Slot::NONE, port: 0, vc: 0 };
                    sender.advertise(&mut limits, &advert, Cycle(now));
                    told += 1;
                }
                let known = adverts.iter().rev().find(|advert| advert.0 <= now).unwrap().1;
                let units = 1 + stream.below(6) as u32;
                let fits = known - sender.sent >= units;
                assert_eq!(sender.would_have(&limits, Cycle(now), units), fits, "seed {seed}, cycle {now}");
                if stream.below(3) == 0 {
                    assert_eq!(sender.has(&mut limits, Cycle(now), units), fits, "seed {seed}, cycle {now}");
                    sender.take(if fits { units } else { 0 });
                }
            }
            assert!(told > 500 && sender.sent > 500, "{told} adverts, {} units", sender.sent);
        }
    }
}
