//! The receiver half of absolute credits, where it is known when each flit will have left.

use super::context::BatchedCx;
use crate::hpp::link_sender::{Advertises, ReceiverHalf};
use crate::hpp::timing::Timing;
use flitway_engine::Cycle;
use flitway_engine::time32::{Time, Time32};
use flitway_fabric::observer::Observer;
use flitway_fabric::pool::{Pool, Ring, Slot, linked};
use flitway_fabric::simulation::Conservation;

/// How much has left a FIFO, or the buffer of a NIC port, and what has been said of that. Units are counted when somebody
/// looks, and nobody looks back in time.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Capacity plus units counted so far.
    position: u32,
    /// When the link was free of the last advert with news.
    said: Time32,
    /// The first cycle at whose start one unit more has left; `NEVER` if all have been counted.
    next: Time32,
    /// The packets that leave behind the one that is leaving: no more than the buffer holds, since a sender that may need what
    /// it has not been told is told at once.
    behind: Ring,
    /// The last position that the sender was told of, and units that have arrived from it: the lower halves. They are no
    /// further apart than the buffer is large.
    told: u16,
    arrived: u16,
    /// The first cycle at whose start all of the packet that is leaving has left: the lower half.
    end: u16,
    unsaid: Unsaid,
}

/// Units that have not been advertised: those of the packet that is leaving that have not been counted, times two; and one if
/// the last unit of the packet before has been counted, early.
#[derive(Clone, Copy, Debug)]
struct Unsaid(u16);

impl Unsaid {
    #[inline(always)]
    fn new(uncounted: u16, is_early: bool) -> Self {
        Unsaid(uncounted << 1 | u16::from(is_early))
    }

    #[inline(always)]
    fn uncounted(self) -> u16 {
        self.0 >> 1
    }

    #[inline(always)]
    fn is_early(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether that is one unit, or none.
    #[inline(always)]
    fn is_one_at_most(self) -> bool {
        self.0 <= 2
    }
}

/// A packet that leaves from cycle `base` on, or as if it had from then on without a stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) base: Time32,
    pub(super) flits: u16,
    pub(super) units: u16,
    pub(super) next: Slot,
}

linked!(Leaving);

impl Leaving {
    /// The cycle in which its last flit leaves.
    #[inline(always)]
    pub(super) fn end(&self) -> Time32 {
        self.base + u64::from(self.flits - 1)
    }
}

impl Receiver {
    pub(super) fn new(timing: &Timing) -> Self {
        Receiver {
            position: timing.capacity,
            said: Time32::ZERO,
            next: Time32::NEVER,
            behind: Ring::default(),
            told: timing.capacity as u16,
            arrived: 0,
            end: 0,
            unsaid: Unsaid::new(0, false),
        }
    }

    /// The next packet begins to leave, when those before have left. Returns when the first unit will have left that has not
    /// been counted.
    ///
    /// If there is but one unit before it that has not been advertised, that is counted now: nobody asks before there is
    /// something to say, of which the advert timer knows already, and by then it has left.
    #[inline(always)]
    pub(super) fn begin(&mut self, timing: &Timing, behind: &mut Pool<Leaving>, leaving: Leaving) -> Time32 {
        if self.behind.is_empty() & self.unsaid.is_one_at_most() {
            self.position = self.position.wrapping_add(self.unsaid.uncounted().into());
            self.start(timing, leaving, self.unsaid.0 != 0);
        } else {
            self.queue(behind, leaving.base, [leaving.flits, leaving.units]);
        }
        self.next
    }

    /// By its numbers: see `expect_in_nic`.
    #[inline(never)]
    fn queue(&mut self, behind: &mut Pool<Leaving>, base: Time32, [flits, units]: [u16; 2]) {
        behind.append_to_ring(&mut self.behind, Leaving { base, flits, units, next: Slot::NONE });
    }

    /// The packet `leaving` comes next, and all units before have been counted, the last one perhaps early.
    #[inline(always)]
    fn start(&mut self, timing: &Timing, leaving: Leaving, is_early: bool) {
        let Leaving { base, flits, units, .. } = leaving;
        self.unsaid = Unsaid::new(units, is_early);
        self.end = (base + u64::from(flits)).0 as u16;
        self.next = base + u64::from(if units == 1 { flits } else { timing.first_unit });
    }

    /// Time is counted from a cycle on that is `span` later than the one so far.
    pub(super) fn count_from(&mut self, span: u32, behind: &mut Pool<Leaving>) {
        debug_assert!(self.next.0 >= span, "what has left before the new epoch has been advertised");
        for time in [&mut self.said, &mut self.next] {
            *time = time.moved(span);
        }
        self.end = self.end.wrapping_sub(span as u16);
        behind.for_each_in_ring(self.behind, |leaving| leaving.base = leaving.base.moved(span));
    }

    /// Counts the units that have left before cycle `now`, by which there is something to say; `next_behind` takes out the next
    /// packet behind, if there is one.
    #[inline(always)]
    fn count(
        &mut self,
        timing: &Timing,
        now: Time32,
        mut next_behind: impl FnMut(&mut Ring) -> Option<Leaving>,
    ) {
        // What was counted early has left.
        let uncounted = self.unsaid.uncounted();
        if self.behind.is_empty() & (uncounted <= 1) {
            // The last unit, if it has not been counted: whether it has left nobody has to guess.
            let left = self.next <= now;
            self.position = self.position.wrapping_add(left.into());
            self.unsaid = Unsaid::new(uncounted - u16::from(left), false);
            self.next = self.next.or_never(left);
            return;
        }
        self.unsaid = Unsaid::new(uncounted, false);
        while self.next <= now {
            self.position = self.position.wrapping_add(1);
            let uncounted = self.unsaid.uncounted() - 1;
            self.unsaid = Unsaid::new(uncounted, false);
            match uncounted {
                0 => match next_behind(&mut self.behind) {
                    Some(leaving) => self.start(timing, leaving, false),
                    None => self.next = Time32::NEVER,
                },
                1 => self.next = self.next + u64::from(self.end.wrapping_sub(self.next.0 as u16)),
                _ => self.next = self.next + u64::from(timing.unit_flits),
            }
        }
    }

    /// What the last advert said.
    #[inline(always)]
    fn advertised(&self) -> u32 {
        self.position.wrapping_sub(self.unsaid.is_early().into())
    }

    /// `units` have arrived. Says whether the sender may come to need what it has not been told.
    #[inline]
    pub(super) fn arrive(&mut self, units: u16, slack: u32) -> bool {
        self.arrived = self.arrived.wrapping_add(units);
        self.is_credit_critical(slack)
    }

    /// The position at the start of cycle `now`, and the units of packets that leave that have not left, for a look from
    /// outside. A unit that has been counted early has left then, since links decide no further than to where somebody looks;
    /// where they have gone further (in audits of windows, and of what is on its way to NIC ports) both together are right.
    fn look(&self, timing: &Timing, behind: &Pool<Leaving>, now: Cycle) -> (u32, u64) {
        let (mut receiver, mut rest) = (self.clone(), behind.iter_ring(self.behind));
        receiver.count(timing, Time32::of(now, timing.epoch), |_| rest.next().copied());
        let held = rest.map(|leaving| u64::from(leaving.units)).sum::<u64>()
            + u64::from(receiver.unsaid.uncounted());
        (receiver.position, held)
    }

    /// The position at the start of cycle `now`, for a look from outside.
    pub(super) fn position(&self, timing: &Timing, behind: &Pool<Leaving>, now: Cycle) -> u32 {
        self.look(timing, behind, now).0
    }

    /// Enters what has left, and what of the packets that leave has not, into the books at the start of cycle `now`.
    pub(super) fn audit(
        &self,
        timing: &Timing,
        behind: &Pool<Leaving>,
        now: Cycle,
        books: &mut Conservation,
    ) {
        let (position, held) = self.look(timing, behind, now);
        books.units_freed += u64::from(position.wrapping_sub(timing.capacity));
        books.units_held += held;
    }
}

impl<O: Observer> Advertises<Time32, BatchedCx<O>> for Receiver {
    #[inline(always)]
    fn advertise(&mut self, cx: &mut BatchedCx<O>, now: Time32, sent: Time32) -> (u32, Time32) {
        let BatchedCx { timing, behind, .. } = cx;
        let before = self.advertised();
        self.count(timing, now, |ring| behind.take_from_ring(ring));
        debug_assert_ne!(self.position, before, "there is something to say");
        self.said = sent;
        (self.position, self.next)
    }
}

impl ReceiverHalf<Time32> for Receiver {
    #[inline]
    fn tell(&mut self) -> Option<(u32, Time32)> {
        let advertised = self.advertised();
        let is_new = std::mem::replace(&mut self.told, advertised as u16) != advertised as u16;
        is_new.then_some((advertised, self.said))
    }

    #[inline]
    fn is_credit_critical(&self, slack: u32) -> bool {
        u32::from(self.told.wrapping_sub(self.arrived)) < slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    fn timing() -> Timing {
        Timing {
            epoch: Cycle::ZERO,
            vcs: 1,
            lanes: 1,
            lane_choice: flitway_fabric::LaneChoice::ByPacket,
            reply_lanes: flitway_fabric::ReplyLanes::Shared,
            to_crossbar: 1,
            receive: 1,
            transmit_buffer: 1,
            transmit: 1,
            tx_fifo: 16,
            cuts_through: false,
            is_batched: true,
            show_ahead: 0,
            advert_flits: 1,
            sideband: false,
            posts: false,
            refresh: 0,
            long: 0,
            to_engine: 0,
            from_engine: 0,
            unit_flits: 32,
            first_unit: 36,
            capacity: 10,
            slack: 0,
            nic_slack: 0,
        }
    }

    /// The cycles from which on each unit of a packet has left.
    fn units(timing: &Timing, packet: &Leaving) -> Vec<Time32> {
        let whole = (1..u64::from(packet.units)).map(|unit| {
            packet.base + u64::from(timing.first_unit) + (unit - 1) * u64::from(timing.unit_flits)
        });
        whole.chain([packet.end() + 1]).collect()
    }

    /// Against the plain rule: a position is how many units have left by then.
    #[test]
    fn who_counts_late_counts_what_had_left() {
        let timing = timing();
        let [mut early, mut behind_two] = [0; 2];
        for seed in 0..100 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let (mut receiver, mut behind) = (Receiver::new(&timing), Pool::default());
            let (mut left, mut news, mut base, mut now) = (Vec::new(), Time32::NEVER, Time32(5), Time32(0));
            for _ in 0..500 {
                for _ in 0..stream.below(4) {
                    let units = 1 + stream.below(3) as u16 * stream.below(2) as u16;
                    let flits = 5 + 32 * (units - 1) + 1 + stream.below(32) as u16;
                    let packet = Leaving { base, flits, units, next: Slot::NONE };
                    news = news.min(receiver.begin(&timing, &mut behind, packet));
                    left.extend(self::units(&timing, &packet));
                    base = packet.end() + 1 + stream.below(60);
                }
                early += u32::from(receiver.unsaid.is_early());
                behind_two += u32::from(behind.iter_ring(receiver.behind).count() > 1);
                now = now + stream.below(150);
                let position = timing.capacity + left.iter().filter(|&&at| at <= now).count() as u32;
                assert_eq!(news <= now, position != receiver.advertised(), "seed {seed}, cycle {now:?}");
                if news <= now {
                    receiver.count(&timing, now, |ring| behind.take_from_ring(ring));
                    assert_eq!(receiver.position, position, "seed {seed}, cycle {now:?}");
                    news = receiver.next;
                }
            }
        }
        assert!(early > 100 && behind_two > 100, "{early} early, {behind_two} times two or more behind");
    }
}
