//! Absolute credits (dawning5000.txt section 3, hpp-switch.txt section 2.2): both halves of a virtual channel's flow
//! control count credit units from the start of time, modulo 2^32.
//!
//! `sent` units taken by the sender + `limit - sent` it may still take = `limit`; the receiver's position is its
//! capacity plus what has left its FIFO. Since positions are absolute, a lost advert is healed by the next.

use super::timing::Timing;
use crate::pool::{List, Pool};
use crate::simulation::Conservation;
use flitway_engine::Cycle;

/// An advert that has been received but does not count yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    from: Cycle,
    position: u32,
}

/// The sender half: how far it may send, and how far it has.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    limit: u32,
    sent: u32,
    pending: List,
    /// Somebody waits for credits and no pending advert can help.
    pub(super) starved: bool,
}

impl Sender {
    pub(super) fn new(timing: &Timing) -> Self {
        Sender { limit: timing.capacity, sent: 0, pending: List::default(), starved: false }
    }

    /// Notes an advert that counts from cycle `from` on. Adverts come in order.
    #[inline]
    pub(super) fn advertise(&mut self, pool: &mut Pool<Pending>, from: Cycle, position: u32) {
        pool.push(&mut self.pending, Pending { from, position });
    }

    /// Whether it may send `units` in cycle `now`.
    #[inline]
    pub(super) fn has(&mut self, pool: &mut Pool<Pending>, now: Cycle, units: u32) -> bool {
        while let Some(&pending) = pool.first(&self.pending)
            && pending.from <= now
        {
            self.limit = pending.position;
            pool.pop(&mut self.pending);
        }
        self.limit.wrapping_sub(self.sent) >= units
    }

    /// When the next advert begins to count; `None` marks the sender as starved, so that the next one is noticed.
    #[inline]
    pub(super) fn next_advert(&mut self, pool: &Pool<Pending>) -> Option<Cycle> {
        let next = pool.first(&self.pending).map(|pending| pending.from);
        self.starved = next.is_none();
        next
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

/// The receiver half: how much has left its FIFO, and what it has said of that.
///
/// The packet that is leaving is described by a *run*: from cycle `start` on, flits `from..upto` leave one a cycle. When
/// they stall (a full TX FIFO), the next run begins where this one ends. Units are counted when somebody looks, and
/// nobody looks back in time.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Capacity plus units counted so far, those of the leaving packet included.
    position: u32,
    advertised: u32,
    /// The last position that the sender was told of, and units that have arrived from it.
    told: u32,
    arrived: u32,
    /// The first cycle at whose start one unit more has left; `NEVER` while that is not known.
    change: Cycle,
    /// The first cycle in which there is something to say that has not been advertised, as far as known.
    pub(super) news: Cycle,
    pub(super) last_advert: Cycle,
    /// When the last advert with news counts at the other end.
    pub(super) counts_from: Cycle,
    start: Cycle,
    from: u32,
    upto: u32,
    flits: u32,
    units: u16,
    /// Units of the leaving packet counted so far.
    counted: u16,
}

impl Receiver {
    pub(super) fn new(timing: &Timing) -> Self {
        Receiver {
            position: timing.capacity,
            advertised: timing.capacity,
            told: timing.capacity,
            arrived: 0,
            change: Cycle::NEVER,
            news: Cycle::NEVER,
            last_advert: Cycle::ZERO,
            counts_from: Cycle::ZERO,
            start: Cycle::ZERO,
            from: 0,
            upto: 0,
            flits: 0,
            units: 0,
            counted: 0,
        }
    }

    /// The next packet begins to leave: its first `upto` flits from cycle `start` on. The packet before has left.
    #[inline]
    pub(super) fn begin(&mut self, timing: &Timing, start: Cycle, upto: u32, flits: u32, units: u16) {
        debug_assert_eq!(self.upto, self.flits, "the packet before has left");
        self.position = self.position.wrapping_add(u32::from(self.units - self.counted));
        (self.start, self.from, self.upto, self.flits) = (start, 0, upto, flits);
        (self.units, self.counted) = (units, 0);
        self.expect_unit(timing);
    }

    /// Whether it is not yet known when the leaving packet will have left.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.upto < self.flits
    }

    /// The leaving packet may go on by `more` flits, those beyond the present run not before cycle `at`.
    #[inline]
    pub(super) fn extend(&mut self, timing: &Timing, at: Cycle, more: u32) {
        if self.start + u64::from(self.upto - self.from) < at {
            self.count(timing, at);
            (self.start, self.from) = (at, self.upto);
        }
        self.upto = self.flits.min(self.upto + more);
        self.expect_unit(timing);
    }

    /// The cycle in which the last flit leaves, once that is known.
    #[inline]
    pub(super) fn end(&self) -> Cycle {
        debug_assert!(!self.is_open());
        self.start + u64::from(self.flits - 1 - self.from)
    }

    /// The first cycle at whose start the first unit not yet counted has left, if the present run brings it.
    #[inline]
    fn next_unit(&self, timing: &Timing) -> Cycle {
        if self.counted == self.units {
            return Cycle::NEVER;
        }
        let last = timing.last_flit(u32::from(self.counted), self.flits, u32::from(self.units));
        if last < self.upto { self.start + u64::from(last - self.from) + 1 } else { Cycle::NEVER }
    }

    #[inline]
    fn expect_unit(&mut self, timing: &Timing) {
        self.change = self.next_unit(timing);
        if self.news == Cycle::NEVER {
            self.news = self.change;
        }
    }

    /// Counts the units that have left before cycle `now`.
    #[inline]
    fn count(&mut self, timing: &Timing, now: Cycle) {
        while self.change <= now {
            self.position = self.position.wrapping_add(1);
            self.counted += 1;
            self.change = self.next_unit(timing);
        }
    }

    /// The position to advertise in cycle `now`, and whether it is new.
    #[inline]
    pub(super) fn advertise(&mut self, timing: &Timing, now: Cycle) -> (u32, bool) {
        self.count(timing, now);
        (self.last_advert, self.news) = (now, self.change);
        (self.position, std::mem::replace(&mut self.advertised, self.position) != self.position)
    }

    /// `units` have arrived.
    #[inline]
    pub(super) fn arrive(&mut self, units: u16) {
        self.arrived = self.arrived.wrapping_add(u32::from(units));
    }

    /// Whether the sender may come to need what it has not been told; see [`Timing::slack`].
    #[inline]
    pub(super) fn is_tight(&self, timing: &Timing) -> bool {
        self.told.wrapping_sub(self.arrived) < timing.slack
    }

    /// Marks the last advert as told, and gives it if it had not been.
    #[inline]
    pub(super) fn tell(&mut self) -> Option<u32> {
        (std::mem::replace(&mut self.told, self.advertised) != self.advertised).then_some(self.advertised)
    }

    /// Enters what has left, and what of the leaving packet has not, into the books at the start of cycle `now`.
    pub(super) fn audit(&self, timing: &Timing, now: Cycle, books: &mut Conservation) {
        let mut receiver = self.clone();
        receiver.count(timing, now);
        books.units_freed += u64::from(receiver.position.wrapping_sub(timing.capacity));
        books.units_held += u64::from(receiver.units - receiver.counted);
    }
}
