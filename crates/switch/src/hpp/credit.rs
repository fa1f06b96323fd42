//! Absolute credits (dawning5000.txt section 3, hpp-switch.txt section 2.2): both halves of a virtual channel's flow
//! control count credit units from the start of time, modulo 2^32.
//!
//! `sent` units taken by the sender + `limit - sent` it may still take = `limit`; the receiver's position is its
//! capacity plus what has left its FIFO. Since positions are absolute, a lost advert is healed by the next.

use super::Shared;
use super::credit_schedule::CreditRun;
use super::link_sender::{Advertises, ReceiverHalf, ShardCx};
use super::packet_state::CreditUpdate;
use super::timing::Timing;
use flitway_engine::Cycle;
use flitway_engine::time32::Time;
use flitway_fabric::pool::{Pool, Slot};
use flitway_fabric::simulation::Conservation;

/// The sender half: how far it may send, and how far it has.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    limit: u32,
    sent: u32,
    /// The last advert that has come and is not known to count yet: from which cycle on it does (`NEVER`: there is none), and
    /// what it says.
    from: Cycle,
    position: u32,
    /// Those before it, the latest first. There are hardly ever any.
    before: Slot,
}

impl Sender {
    pub(super) fn new(timing: &Timing) -> Self {
        Sender { limit: timing.capacity, sent: 0, from: Cycle::NEVER, position: 0, before: Slot::NONE }
    }

    /// Takes in an advert. Adverts come in order, and nobody acts on credits in a cycle before `passed` any more.
    #[inline(always)]
    pub(super) fn advertise(
        &mut self,
        limits: &mut Pool<CreditUpdate>,
        advert: &CreditUpdate,
        passed: Cycle,
    ) {
        if self.from <= passed {
            self.count_last(limits);
        } else if self.from != Cycle::NEVER {
            self.before = limits.put(CreditUpdate {
                from: self.from,
                position: self.position,
                next: self.before,
                ..*advert
            });
        }
        (self.from, self.position) = (advert.from, advert.position);
    }

    /// Whether it may send `units` in any cycle from now on, as far as is known without taking adverts in.
    #[inline]
    pub(super) fn has_known(&self, units: u32) -> bool {
        self.limit.wrapping_sub(self.sent) >= units
    }

    #[inline(never)]
    fn has_more(&mut self, limits: &mut Pool<CreditUpdate>, now: Cycle, units: u32) -> bool {
        if self.from <= now {
            self.count_last(limits);
        } else if self.before != Slot::NONE {
            self.count_before(limits, now);
        }
        self.limit.wrapping_sub(self.sent) >= units
    }

    /// The last advert counts.
    #[inline(always)]
    fn count_last(&mut self, limits: &mut Pool<CreditUpdate>) {
        (self.limit, self.from) = (self.position, Cycle::NEVER);
        if self.before != Slot::NONE {
            limits.free_chain(std::mem::replace(&mut self.before, Slot::NONE));
        }
    }

    /// The latest of the adverts before the last one that counts in cycle `now` counts, if there is one.
    #[inline(never)]
    fn count_before(&mut self, limits: &mut Pool<CreditUpdate>, now: Cycle) {
        let (mut later, mut slot) = (Slot::NONE, self.before);
        while slot != Slot::NONE && limits[slot].from > now {
            (later, slot) = (slot, limits[slot].next);
        }
        if slot == Slot::NONE {
            return;
        }
        self.limit = limits[slot].position;
        let link = if later == Slot::NONE { &mut self.before } else { &mut limits[later].next };
        *link = Slot::NONE;
        limits.free_chain(slot);
    }

    /// The adverts that have come and are not known to count yet, the latest first: from when on they do, and what they say.
    fn coming<'a>(&self, limits: &'a Pool<CreditUpdate>) -> impl Iterator<Item = (Cycle, u32)> + use<'a> {
        let last = (self.from != Cycle::NEVER).then_some((self.from, self.position));
        last.into_iter().chain(limits.chain(self.before).map(|advert| (advert.from, advert.position)))
    }

    /// The limit in cycle `now`, without taking anything in.
    fn limit_in(&self, limits: &Pool<CreditUpdate>, now: Cycle) -> u32 {
        let known = self.coming(limits).find(|coming| coming.0 <= now);
        known.map_or(self.limit, |coming| coming.1)
    }

    /// The same as [`has_credits`](Self::has_credits), without taking anything in: for a look from outside.
    pub(super) fn would_have(&self, limits: &Pool<CreditUpdate>, now: Cycle, units: u32) -> bool {
        self.limit_in(limits, now).wrapping_sub(self.sent) >= units
    }

    /// Credit units that it has taken and that it does not know to have been given back, in cycle `now`; where adverts are
    /// posted, by `schedule`. It is told all adverts where this is asked: see [`rules::slack`](super::rules::slack).
    pub(super) fn load(&self, shared: &Shared, schedule: usize, now: Cycle) -> u32 {
        let limit = if shared.timing.posts {
            shared.pools.schedules.limit(schedule, now)
        } else {
            self.limit_in(&shared.pools.limits, now)
        };
        // What it may still take is the capacity without that.
        shared.timing.capacity - limit.wrapping_sub(self.sent)
    }

    /// When the next advert begins to count, if one has come that does not yet.
    #[inline(never)]
    pub(super) fn next_advert(&self, limits: &Pool<CreditUpdate>) -> Option<Cycle> {
        self.coming(limits).last().map(|coming| coming.0)
    }

    /// Whether it may send `units` in cycle `now`. Adverts are taken in when they are needed, or when more of them come;
    /// where they are posted, from `schedule`.
    #[inline(always)]
    pub(super) fn has_credits(
        &mut self,
        shared: &mut Shared,
        schedule: usize,
        now: Cycle,
        units: u32,
    ) -> bool {
        self.has_known(units) || self.has_more_credits(shared, schedule, now, units)
    }

    #[inline(never)]
    fn has_more_credits(&mut self, shared: &mut Shared, schedule: usize, now: Cycle, units: u32) -> bool {
        if !shared.timing.posts {
            return self.has_more(&mut shared.pools.limits, now, units);
        }
        self.limit = shared.pools.schedules.limit(schedule, now);
        self.has_known(units)
    }

    /// The same as [`would_have`](Self::would_have), also where adverts are posted, by `schedule`.
    pub(super) fn would_have_credits(
        &self,
        shared: &Shared,
        schedule: usize,
        now: Cycle,
        units: u32,
    ) -> bool {
        if !shared.timing.posts {
            return self.would_have(&shared.pools.limits, now, units);
        }
        shared.pools.schedules.limit(schedule, now).wrapping_sub(self.sent) >= units
    }

    /// The same as [`next_advert`](Self::next_advert), after cycle `now`, also where adverts are posted, by `schedule`.
    #[inline]
    pub(super) fn next_credits(&self, shared: &mut Shared, schedule: usize, now: Cycle) -> Option<Cycle> {
        if !shared.timing.posts {
            return self.next_advert(&shared.pools.limits);
        }
        shared.pools.schedules.wait(schedule, now)
    }

    /// Takes `units` credits.
    #[inline]
    pub(super) fn take(&mut self, units: u32) {
        debug_assert!(
            self.limit.wrapping_sub(self.sent) >= units,
            "credits are taken only where there are any"
        );
        self.sent = self.sent.wrapping_add(units);
    }

    /// Units sent since the start.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }
}

/// When a receiver has something to say. Those of one port stand side by side, for its link to look over.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdvertTimer<T = Cycle> {
    /// The first cycle in which there is something to say that has not been advertised, as far as known.
    pub(super) news: T,
    /// When the next advert is due: with news, or because none has been sent for long.
    pub(super) due: T,
}

impl<T: Time> AdvertTimer<T> {
    /// Adverts count as sent in cycle 0.
    pub(super) fn new(timing: &Timing) -> Self {
        AdvertTimer { news: T::NEVER, due: T::ZERO.later(timing.refresh) }
    }

    /// There will be something new to say from cycle `news` on, if there is not from an earlier one on.
    #[inline]
    pub(super) fn expect(&mut self, news: T) {
        self.news = self.news.min(news);
        self.due = self.due.min(news);
    }
}

/// The receiver half: how much has left its FIFO, and what it has said of that.
///
/// The packet that is leaving is described by a *run*: flits up to `upto` leave one a cycle, flit `j` in cycle
/// `base + j`. When they stall (a full TX FIFO), `base` moves. Units are counted when somebody looks, and nobody looks
/// back in time.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// When the link was free of the last advert with news. Where adverts are posted: when the packet before had left.
    pub(super) said: Cycle,
    base: Cycle,
    /// Capacity plus units counted so far, those of the leaving packet included.
    position: u32,
    /// What the last advert said. Where adverts are posted: how many had been and were not sent when somebody looked last.
    advertised: u32,
    /// The last position that the sender was told of, and units that have arrived from it.
    told: u32,
    arrived: u32,
    upto: u16,
    flits: u16,
    /// Units of the leaving packet that have not been counted, and how many flits have left when the next of them has.
    uncounted: u16,
    unit_end: u16,
}

impl Receiver {
    pub(super) fn new(timing: &Timing) -> Self {
        // As if a packet of one flit and no unit had left in cycle 0.
        Receiver {
            said: Cycle::ZERO,
            base: Cycle::ZERO,
            position: timing.capacity,
            advertised: if timing.posts { 0 } else { timing.capacity },
            told: timing.capacity,
            arrived: 0,
            upto: 1,
            flits: 1,
            uncounted: 0,
            unit_end: 0,
        }
    }

    /// The next packet begins to leave: its first `upto` flits from cycle `start` on. The packet before has left.
    #[inline(always)]
    pub(super) fn begin(&mut self, timing: &Timing, start: Cycle, upto: u16, flits: u16, units: u16) {
        debug_assert_eq!(self.upto, self.flits, "the packet before has left");
        if timing.posts {
            self.said = self.base + u64::from(self.flits);
        }
        self.position = self.position.wrapping_add(u32::from(self.uncounted));
        (self.base, self.upto, self.flits) = (start, upto, flits);
        self.uncounted = units;
        self.unit_end = if units == 1 { flits } else { timing.first_unit };
    }

    /// Whether units of the packet that has left last have not been counted: then what is advertised has to be settled before
    /// the next one begins to leave.
    #[inline]
    pub(super) fn is_uncounted(&self) -> bool {
        self.uncounted > 0
    }

    /// Whether it is not yet known when the leaving packet will have left.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.upto < self.flits
    }

    /// Flits of the leaving packet that may go.
    #[inline]
    pub(super) fn upto(&self) -> u16 {
        self.upto
    }

    /// Flit `j` of them leaves in cycle `base + j`, if it has not left in a run before.
    #[inline]
    pub(super) fn base(&self) -> Cycle {
        self.base
    }

    /// Whether the flits of the leaving packet that may go will all have left before cycle `at`.
    #[inline]
    pub(super) fn stalls_before(&self, at: Cycle) -> bool {
        self.base + u64::from(self.upto) < at
    }

    /// The leaving packet, all of whose flits that may go have gone, may go on from cycle `at` on.
    #[inline(always)]
    pub(super) fn resume(&mut self, timing: &Timing, at: Cycle) {
        self.count(timing, at);
        self.base = at - u64::from(self.upto);
    }

    /// The leaving packet may go on by `more` flits.
    #[inline(always)]
    pub(super) fn extend(&mut self, more: u16) {
        self.upto = self.flits.min(self.upto.saturating_add(more));
    }

    /// The cycle in which the last flit leaves or left, once that is known.
    #[inline]
    pub(super) fn end(&self) -> Cycle {
        debug_assert!(!self.is_open());
        self.base + u64::from(self.flits - 1)
    }

    /// The first cycle at whose start one unit more has left; `NEVER` while that is not known.
    #[inline(always)]
    pub(super) fn next_unit(&self) -> Cycle {
        let is_known = (self.uncounted > 0) & (self.unit_end <= self.upto);
        if is_known { self.base + u64::from(self.unit_end) } else { Cycle::NEVER }
    }

    /// Counts the units that have left before cycle `now`; returns when the next one will have, as far as known.
    #[inline(always)]
    fn count(&mut self, timing: &Timing, now: Cycle) -> Cycle {
        loop {
            let change = self.next_unit();
            if change > now {
                return change;
            }
            self.count_one(timing);
        }
    }

    #[inline(always)]
    fn count_one(&mut self, timing: &Timing) {
        self.position = self.position.wrapping_add(1);
        self.uncounted -= 1;
        self.unit_end = if self.uncounted > 1 { self.unit_end + timing.unit_flits } else { self.flits };
    }

    /// With adverts on wires of their own, where each unit is advertised in the cycle at whose start it has left: the first of
    /// the adverts that have not been counted, if it comes before cycle `now` or in it. Gives its cycle and position.
    #[inline]
    pub(super) fn next_sideband(&mut self, timing: &Timing, now: Cycle) -> Option<(Cycle, u32)> {
        // The last unit of a packet may have left when the next one begins to.
        let is_late = self.advertised != self.position;
        let at = if is_late { self.base } else { self.next_unit() };
        if at > now {
            return None;
        }
        if !is_late {
            self.count_one(timing);
        }
        (self.advertised, self.said) = (self.position, at + 1);
        Some((at, self.position))
    }

    /// Units that the sender has not been told of, of packets that have left and of the one that is leaving.
    #[inline]
    pub(super) fn pending_adverts(&self) -> u32 {
        self.position.wrapping_add(self.uncounted.into()).wrapping_sub(self.told)
    }

    /// With adverts on wires of their own: the first advert that the sender has not been told, as far as known, which counts as
    /// told from now on. Those that have been counted are one. Gives its position, and the cycle after it.
    #[inline]
    pub(super) fn tell_sideband(&mut self, timing: &Timing) -> Option<(u32, Cycle)> {
        let (uncounted, pending_adverts) = (u32::from(self.uncounted), self.pending_adverts());
        if pending_adverts > uncounted {
            self.told = self.position;
            let said = if self.advertised == self.position { self.said } else { self.base + 1 };
            return Some((self.position, said));
        }
        let end = match pending_adverts {
            0 => return None,
            1 => self.flits,
            _ => self.unit_end + (uncounted - pending_adverts) as u16 * timing.unit_flits,
        };
        if end > self.upto {
            return None;
        }
        self.told = self.told.wrapping_add(1);
        Some((self.told, self.base + u64::from(end) + 1))
    }

    /// Where adverts are posted: tells those of the leaving packet that are known and have not been told, if there are
    /// any. The cycles are those at whose start their units have left.
    #[inline(always)]
    pub(super) fn tell_ahead(&mut self, timing: &Timing) -> Option<CreditRun> {
        if self.is_open() | (self.told != self.position) {
            return self.tell_more_ahead(timing);
        }
        // Most often all of a packet is known when it begins to leave.
        let (units, first) = (self.uncounted, self.unit_end);
        self.told = self.told.wrapping_add(units.into());
        (units > 0).then(|| CreditRun {
            first: self.base + u64::from(first),
            span: self.flits - first,
            units,
        })
    }

    #[inline(never)]
    fn tell_more_ahead(&mut self, timing: &Timing) -> Option<CreditRun> {
        let pending_adverts = self.pending_adverts() as u16;
        let more = (self.uncounted - pending_adverts) * timing.unit_flits;
        let first = if pending_adverts == 1 { self.flits } else { self.unit_end + more };
        if pending_adverts == 0 || first > self.upto {
            return None;
        }
        let (units, last) = if self.is_open() {
            let more = ((self.upto - first) / timing.unit_flits).min(pending_adverts - 2);
            (1 + more, first + more * timing.unit_flits)
        } else {
            (pending_adverts, self.flits)
        };
        self.told = self.told.wrapping_add(units.into());
        Some(CreditRun { first: self.base + u64::from(first), span: last - first, units })
    }

    /// The positions of the last `units` that have been told.
    #[inline(always)]
    pub(super) fn told_last(&self, units: u16) -> impl Iterator<Item = u32> + use<> {
        let first = self.told.wrapping_sub(units.into());
        (1..=u32::from(units)).map(move |unit| first.wrapping_add(unit))
    }

    /// Where adverts are posted: those that have been told and are not sent by the end of cycle `last`. Before, it
    /// returns those of the last time. Of a run that has been stopped the units of a packet that NIC ports know of ahead of
    /// that cycle are taken for sent.
    pub(super) fn settle_told(&mut self, timing: &Timing, last: Cycle) -> [u32; 2] {
        self.count(timing, last);
        // The last unit of a packet may have left when the next one begins to.
        let is_late = self.base > last && self.base == self.said;
        let ahead = self.told.wrapping_sub(self.position).wrapping_add(is_late.into());
        [std::mem::replace(&mut self.advertised, ahead), ahead]
    }

    /// `units` have arrived. Says whether the sender may come to need what it has not been told.
    #[inline]
    pub(super) fn arrive(&mut self, units: u16, slack: u32) -> bool {
        self.arrived = self.arrived.wrapping_add(u32::from(units));
        self.is_credit_critical(slack)
    }

    /// The position at the start of cycle `now`, for a look from outside.
    pub(super) fn position(&self, timing: &Timing, now: Cycle) -> u32 {
        let mut receiver = self.clone();
        receiver.count(timing, now);
        receiver.position
    }

    /// Enters what has left, and what of the leaving packet has not, into the books at the start of cycle `now`.
    pub(super) fn audit(&self, timing: &Timing, now: Cycle, books: &mut Conservation) {
        let mut receiver = self.clone();
        receiver.count(timing, now);
        books.units_freed += u64::from(receiver.position.wrapping_sub(timing.capacity));
        books.units_held += u64::from(receiver.uncounted);
    }
}

impl<C: ShardCx> Advertises<Cycle, C> for Receiver {
    #[inline(always)]
    fn advertise(&mut self, cx: &mut C, now: Cycle, sent: Cycle) -> (u32, Cycle) {
        let news = self.count(cx.timing(), now);
        debug_assert_ne!(self.position, self.advertised, "there is something to say");
        (self.advertised, self.said) = (self.position, sent);
        (self.position, news)
    }
}

impl ReceiverHalf<Cycle> for Receiver {
    #[inline]
    fn tell(&mut self) -> Option<(u32, Cycle)> {
        let is_new = std::mem::replace(&mut self.told, self.advertised) != self.advertised;
        is_new.then_some((self.advertised, self.said))
    }

    #[inline]
    fn is_credit_critical(&self, slack: u32) -> bool {
        self.told.wrapping_sub(self.arrived) < slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    /// Against the plain rule: the limit in a cycle is that of the last advert that counts by then.
    #[test]
    fn a_sender_that_takes_adverts_in_late_answers_as_if_it_took_them_in_at_once() {
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let mut limits = Pool::default();
            let mut sender =
                Sender { limit: 10, sent: 0, from: Cycle::NEVER, position: 0, before: Slot::NONE };
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
                    let has = sender.has_known(units) || sender.has_more(&mut limits, Cycle(now), units);
                    assert_eq!(has, fits, "seed {seed}, cycle {now}");
                    sender.take(if fits { units } else { 0 });
                }
            }
            assert!(told > 500 && sender.sent > 500, "{told} adverts, {} units", sender.sent);
        }
    }
}
