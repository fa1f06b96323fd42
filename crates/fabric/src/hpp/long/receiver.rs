//! The receiver half of absolute credits, where it is known when each flit will have left.

use crate::hpp::line::ReceiverHalf;
use crate::hpp::moment::{Moment, Time};
use crate::hpp::timing::Timing;
use crate::simulation::Conservation;
use flitway_engine::Cycle;

/// How much has left a FIFO, or the buffer of a NIC port, and what has been said of that. Units are counted when somebody
/// looks, and nobody looks back in time.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Capacity plus units counted so far.
    position: u32,
    advertised: u32,
    /// The last position that the sender was told of, and units that have arrived from it.
    told: u32,
    arrived: u32,
    /// When the link was free of the last advert with news.
    said: Moment,
    /// The first cycle at whose start one unit more has left; `NEVER` if all have been counted.
    next: Moment,
    /// The cycle in which the last flit of the packet that is leaving leaves, or that of the last one left.
    end: Moment,
    /// Units of the packet that is leaving that have not been counted.
    uncounted: u16,
}

/// A packet that leaves from cycle `base` on, or as if it had from then on without a stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) base: Moment,
    pub(super) flits: u16,
    pub(super) units: u16,
}

impl Leaving {
    /// The cycle in which its last flit leaves.
    #[inline(always)]
    pub(super) fn end(&self) -> Moment {
        self.base + u64::from(self.flits - 1)
    }
}

impl Receiver {
    pub(super) fn new(timing: &Timing) -> Self {
        Receiver {
            said: Moment::ZERO,
            next: Moment::NEVER,
            end: Moment::ZERO,
            position: timing.capacity,
            advertised: timing.capacity,
            told: timing.capacity,
            arrived: 0,
            uncounted: 0,
        }
    }

    /// The next packet begins to leave. Those units of the one before that have not been advertised have left. Returns when
    /// its first unit will have left.
    #[inline(always)]
    pub(super) fn begin(&mut self, timing: &Timing, leaving: &Leaving) -> Moment {
        let Leaving { base, flits, units } = *leaving;
        self.position = self.position.wrapping_add(u32::from(self.uncounted));
        (self.uncounted, self.end) = (units, leaving.end());
        self.next = base + u64::from(if units == 1 { flits } else { timing.first_unit });
        self.next
    }

    /// Whether units of the packet that is leaving or left last have not been counted: then what is advertised has to be
    /// settled before the next one begins to leave.
    #[inline]
    pub(super) fn is_uncounted(&self) -> bool {
        self.uncounted > 0
    }

    /// Time is counted from a cycle on that is `span` later than the one so far.
    pub(super) fn count_from(&mut self, span: u32) {
        for time in [&mut self.said, &mut self.next, &mut self.end] {
            *time = time.moved(span);
        }
    }

    /// Counts the units that have left before cycle `now`.
    #[inline(always)]
    fn count(&mut self, timing: &Timing, now: Moment) {
        while self.next <= now {
            self.position = self.position.wrapping_add(1);
            self.uncounted -= 1;
            self.next = match self.uncounted {
                0 => Moment::NEVER,
                1 => self.end + 1,
                _ => self.next + u64::from(timing.unit_flits),
            };
        }
    }

    /// `units` have arrived. Says whether the sender may come to need what it has not been told.
    #[inline]
    pub(super) fn arrive(&mut self, units: u16, slack: u32) -> bool {
        self.arrived = self.arrived.wrapping_add(u32::from(units));
        self.is_tight(slack)
    }

    /// The position at the start of cycle `now`, for a look from outside.
    pub(super) fn position(&self, timing: &Timing, now: Cycle) -> u32 {
        let mut receiver = self.clone();
        receiver.count(timing, Moment::of(now, timing.epoch));
        receiver.position
    }

    /// Enters what has left, and what of the leaving packet has not, into the books at the start of cycle `now`.
    pub(super) fn audit(&self, timing: &Timing, now: Cycle, books: &mut Conservation) {
        let mut receiver = self.clone();
        receiver.count(timing, Moment::of(now, timing.epoch));
        books.units_freed += u64::from(receiver.position.wrapping_sub(timing.capacity));
        books.units_held += u64::from(receiver.uncounted);
    }
}

impl ReceiverHalf<Moment> for Receiver {
    #[inline(always)]
    fn advertise(&mut self, timing: &Timing, now: Moment, sent: Moment) -> (u32, Moment) {
        self.count(timing, now);
        debug_assert_ne!(self.position, self.advertised, "there is something to say");
        (self.advertised, self.said) = (self.position, sent);
        (self.position, self.next)
    }

    #[inline]
    fn tell(&mut self) -> Option<(u32, Moment)> {
        let is_new = std::mem::replace(&mut self.told, self.advertised) != self.advertised;
        is_new.then_some((self.advertised, self.said))
    }

    #[inline]
    fn is_tight(&self, slack: u32) -> bool {
        self.told.wrapping_sub(self.arrived) < slack
    }
}
