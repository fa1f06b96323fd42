//! The sender half of absolute credits: as [`credit::Sender`](crate::hpp::credit), in less than half of its bytes. It knows
//! what it may still send, not up to where, and adverts that have come and do not count yet are a ring: where links are long
//! many can come in one window.

use crate::hpp::packet_state::CreditUpdate;
use crate::hpp::timing::Timing;
use flitway_engine::Cycle;
use flitway_fabric::pool::{Pool, Ring};

/// How far it has sent, and how much it may still send. It is packed so that an output is not larger than it has to be.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed(2))]
pub(super) struct Sender {
    sent: u32,
    /// The adverts that are not known to count yet.
    coming: Ring,
    /// Units that it may send beyond those: no more than the buffer holds.
    credits: u16,
}

impl Sender {
    pub(super) fn new(timing: &Timing) -> Self {
        Sender { sent: 0, coming: Ring::default(), credits: timing.capacity as u16 }
    }

    /// Takes in an advert. Adverts come in order, and nobody acts on credits in a cycle before `passed` any more.
    #[inline]
    pub(super) fn advertise(
        &mut self,
        limits: &mut Pool<CreditUpdate>,
        advert: &CreditUpdate,
        passed: Cycle,
    ) {
        self.count(limits, passed);
        let mut coming = self.coming;
        limits.append_to_ring(&mut coming, *advert);
        self.coming = coming;
    }

    /// Whether it may send `units` in any cycle from now on, as far as is known without taking adverts in.
    #[inline(always)]
    pub(super) fn has_known(&self, units: u32) -> bool {
        u32::from(self.credits) >= units
    }

    /// Whether it may send `units` in cycle `now`. Adverts are taken in when they are needed.
    #[inline]
    pub(super) fn has(&mut self, limits: &mut Pool<CreditUpdate>, now: Cycle, units: u32) -> bool {
        self.has_known(units) || self.has_more(limits, now, units)
    }

    #[inline(never)]
    fn has_more(&mut self, limits: &mut Pool<CreditUpdate>, now: Cycle, units: u32) -> bool {
        self.count(limits, now);
        self.has_known(units)
    }

    /// The adverts count that do in cycle `now`.
    #[inline]
    pub(super) fn count(&mut self, limits: &mut Pool<CreditUpdate>, now: Cycle) {
        let mut coming = self.coming;
        while let Some(advert) = limits.take_from_ring_if(&mut coming, |advert| advert.from <= now) {
            self.credits = self.credits_of(&advert);
        }
        self.coming = coming;
    }

    /// The same as [`has`](Self::has), without taking anything in: for a look from outside.
    pub(super) fn would_have(&self, limits: &Pool<CreditUpdate>, now: Cycle, units: u32) -> bool {
        let known = limits.iter_ring(self.coming).take_while(|advert| advert.from <= now).last();
        u32::from(known.map_or(self.credits, |advert| self.credits_of(advert))) >= units
    }

    /// What it may still send once `advert` counts.
    fn credits_of(&self, advert: &CreditUpdate) -> u16 {
        advert.position.wrapping_sub(self.sent) as u16
    }

    /// When the next advert begins to count, if one has come that does not yet.
    #[inline]
    pub(super) fn next_advert(&self, limits: &Pool<CreditUpdate>) -> Option<Cycle> {
        limits.first_of_ring(self.coming).map(|advert| advert.from)
    }

    /// Takes `units` credits.
    #[inline(always)]
    pub(super) fn take(&mut self, units: u32) {
        debug_assert!(self.has_known(units), "credits are taken only where there are any");
        self.sent = self.sent.wrapping_add(units);
        self.credits = self.credits.wrapping_sub(units as u16);
    }

    /// Units sent since the start.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};
    use flitway_fabric::pool::Slot;

    /// Against the plain rule: the limit in a cycle is that of the last advert that counts by then.
    #[test]
    fn a_sender_that_takes_adverts_in_late_answers_as_if_it_took_them_in_at_once() {
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let mut limits = Pool::default();
            let mut sender = Sender { sent: 0, coming: Ring::default(), credits: 10 };
            let (mut adverts, mut position, mut from, mut told) = (vec![(0, 10)], 10, 0, 0);
            for now in 0..2_000 {
                for _ in 0..stream.below(3) * stream.below(2) {
                    from = now.max(from) + stream.below(3);
                    position += stream.below(4) as u32;
                    adverts.push((from, position));
                    let advert =
                        CreditUpdate { from: Cycle(from), position, next: Slot::NONE, port: 0, vc: 0 };
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
            assert!(told > 500 && sender.sent() > 500, "{told} adverts, {} units", sender.sent());
        }
    }
}
