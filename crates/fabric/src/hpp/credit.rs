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

    /// Units it may send in cycle `now`.
    #[inline]
    pub(super) fn available(&mut self, pool: &mut Pool<Pending>, now: Cycle) -> u32 {
        while let Some(&pending) = pool.first(&self.pending)
            && pending.from <= now
        {
            self.limit = pending.position;
            pool.pop(&mut self.pending);
        }
        self.limit.wrapping_sub(self.sent)
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
/// they stall (a full TX FIFO), the next run begins where this one ends.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// The position when nothing of the leaving packet has left.
    base: u32,
    pub(super) advertised: u32,
    pub(super) last_advert: Cycle,
    start: Cycle,
    from: u32,
    upto: u32,
    flits: u32,
    units: u32,
}

impl Receiver {
    pub(super) fn new(timing: &Timing) -> Self {
        Receiver {
            base: timing.capacity,
            advertised: timing.capacity,
            last_advert: Cycle::ZERO,
            start: Cycle::ZERO,
            from: 0,
            upto: 0,
            flits: 0,
            units: 0,
        }
    }

    /// The next packet begins to leave: its first `upto` flits from cycle `start` on. The packet before has left.
    #[inline]
    pub(super) fn begin(&mut self, start: Cycle, upto: u32, flits: u32, units: u32) {
        debug_assert_eq!(self.upto, self.flits, "the packet before has left");
        self.base = self.base.wrapping_add(self.units);
        (self.start, self.from, self.upto, self.flits, self.units) = (start, 0, upto, flits, units);
    }

    /// Whether it is not yet known when the leaving packet will have left.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.upto < self.flits
    }

    /// The leaving packet may go on by `more` flits, those beyond the present run not before cycle `at`.
    #[inline]
    pub(super) fn extend(&mut self, at: Cycle, more: u32) {
        if self.start + u64::from(self.upto - self.from) < at {
            (self.start, self.from) = (at, self.upto);
        }
        self.upto = self.flits.min(self.upto + more);
    }

    /// The cycle in which the last flit leaves, once that is known.
    #[inline]
    pub(super) fn end(&self) -> Cycle {
        debug_assert!(!self.is_open());
        self.start + u64::from(self.flits - 1 - self.from)
    }

    /// Flits of the leaving packet that have left before cycle `now`.
    #[inline]
    fn gone(&self, now: Cycle) -> u32 {
        self.from + now.since(self.start).min(u64::from(self.upto - self.from)) as u32
    }

    /// The position at the start of cycle `now`: units taken out before it count.
    #[inline]
    pub(super) fn position(&self, timing: &Timing, now: Cycle) -> u32 {
        if self.flits == 0 {
            return self.base;
        }
        self.base.wrapping_add(timing.units_within(self.gone(now), self.flits, self.units))
    }

    /// The first cycle, `now` or later, at whose start the position differs from what was advertised, as far as known.
    #[inline]
    pub(super) fn next_change(&self, timing: &Timing, now: Cycle) -> Cycle {
        if self.position(timing, now) != self.advertised {
            return now;
        }
        let gone = self.gone(now);
        if gone >= self.upto {
            return Cycle::NEVER;
        }
        let unit = timing.units_within(gone, self.flits, self.units);
        let last = timing.last_flit(unit, self.flits, self.units);
        if last < self.upto { self.start + u64::from(last - self.from) + 1 } else { Cycle::NEVER }
    }

    /// Enters what has left, and what of the leaving packet has not, into the books at the start of cycle `now`.
    pub(super) fn audit(&self, timing: &Timing, now: Cycle, books: &mut Conservation) {
        let position = self.position(timing, now);
        books.units_freed += u64::from(position.wrapping_sub(timing.capacity));
        books.units_held += u64::from(self.base.wrapping_add(self.units).wrapping_sub(position));
    }
}
