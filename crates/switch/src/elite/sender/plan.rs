//! A plan: what each virtual channel sends in a period, and how long that goes on.

use super::Sender;
use crate::elite::forecast::{Coming, Forecast, Run};
use crate::elite::period::{Period, Places};
use flitway_engine::Cycle;
use flitway_fabric::bits::bits;

/// Flits that are ready, or credits, while the sender goes through a period.
#[derive(Clone, Copy, Debug)]
struct Stock {
    coming: Coming,
    /// How many are there.
    count: u64,
}

impl Stock {
    /// As many as are ever needed.
    const ENOUGH: Stock = Stock { coming: Coming { before: 0, cycles: 0 }, count: u64::MAX / 2 };

    /// Of `coming`, so many have been used.
    #[inline]
    fn new(coming: Coming, used: u64) -> Self {
        debug_assert!(coming.before >= used, "what is used has come");
        Stock { coming, count: coming.before.wrapping_sub(used) }
    }

    /// Takes in what comes in cycle `at` of the period.
    #[inline]
    fn take(&mut self, at: u64) {
        self.count += self.coming.cycles >> at & 1;
    }
}

/// A virtual channel while the sender goes through a period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    flits: Stock,
    credits: Stock,
    /// Flits of the packet that have not been sent.
    left: u64,
    /// In which cycles of the period it sends, the first in the lowest bit.
    sends: u64,
    /// In a slot it has had no flit that was ready, or no credit.
    has_lacked: bool,
}

impl Step {
    pub(super) const NOTHING: Step =
        Step { flits: Stock::ENOUGH, credits: Stock::ENOUGH, left: 0, sends: 0, has_lacked: false };

    /// Takes in what comes in cycle `at` of the period, and says whether it can send then.
    #[inline]
    fn is_ready(&mut self, at: u64) -> bool {
        self.flits.take(at);
        self.credits.take(at);
        self.flits.count.min(self.credits.count) > 0
    }

    /// It sends in cycle `at` of the period.
    #[inline]
    fn send(&mut self, at: u64) {
        self.flits.count -= 1;
        self.credits.count -= 1;
        self.left -= 1;
        self.sends |= 1 << at;
    }
}

/// A sender while it goes through a period.
#[derive(Debug)]
struct Walk {
    /// Virtual channels that have flits to send, those that begin to in the first cycle, and the one that sent last.
    active: u64,
    begins: u64,
    last: u8,
}

/// Of those that are ready the one after the `last`, going round.
#[inline]
fn first_after(last: u8, ready: u64) -> usize {
    let later = ready & (u64::MAX << last << 1);
    (if later == 0 { ready } else { later }).trailing_zeros() as usize
}

impl Sender {
    /// Makes a plan from cycle `now` on; `source` says when flits of an incoming virtual channel are ready. Returns the virtual
    /// channels whose packets begin in this cycle, as bits.
    pub(in crate::elite) fn plan<'a>(
        &mut self,
        period: Period,
        now: Cycle,
        source: impl Fn(u16) -> &'a Forecast,
    ) -> u64 {
        let mut walk = Walk { active: 0, last: self.last, begins: 0 };
        self.start(period, now, &mut walk, &source);
        if walk.active == 0 {
            (self.since, self.until) = (now, Cycle::NEVER);
            return 0;
        }
        let until = self.walk(period, now, &mut walk);
        let mut sends = 0;
        for vc in bits(walk.active) {
            let lane = &mut self.lanes[vc];
            sends |= lane.step.sends;
            lane.places = period.places(lane.step.sends, now);
        }
        let until = match until {
            Some(until) => until,
            // Until then nothing is sent at all, where nothing was.
            None if sends == 0 => self.first_slot(period, now, &walk, &source),
            None => self.goes_on_until(period, now, &walk, &source),
        };
        (self.since, self.until) = (now, until);
        walk.begins
    }

    /// What virtual channels have to send in cycle `now`.
    #[inline]
    fn start<'a>(
        &mut self,
        period: Period,
        now: Cycle,
        walk: &mut Walk,
        source: &impl Fn(u16) -> &'a Forecast,
    ) {
        for (vc, lane) in self.lanes.iter_mut().enumerate() {
            lane.places = Places::NONE;
            if let Some(owner) = lane.owner.filter(|_| lane.is_sending()) {
                lane.credits.forget(now);
                lane.step = Step {
                    flits: Stock::new(source(owner).coming(period, now), lane.taken()),
                    credits: if self.is_sink {
                        Stock::ENOUGH
                    } else {
                        Stock::new(lane.credits.coming(period, now), lane.sent)
                    },
                    left: lane.end - lane.sent,
                    sends: 0,
                    has_lacked: false,
                };
                walk.active |= 1 << vc;
            }
        }
    }

    /// Goes through a period from cycle `now` on, cycle by cycle. Returns where the plan ends, if that is in it.
    fn walk(&mut self, period: Period, now: Cycle, walk: &mut Walk) -> Option<Cycle> {
        let slots = self.slots(period, now);
        for at in 0..period.cycles() {
            let (mut ready, is_slot) = (0, slots >> at & 1 == 1);
            for vc in bits(walk.active) {
                let step = &mut self.lanes[vc].step;
                let is_ready = step.is_ready(at);
                step.has_lacked |= is_slot && !is_ready;
                ready |= u64::from(is_ready) << vc;
            }
            if ready == 0 || !is_slot {
                continue;
            }
            let vc = first_after(walk.last, ready);
            let lane = &mut self.lanes[vc];
            if !lane.has_begun {
                if at > 0 {
                    return Some(now + at);
                }
                walk.begins |= 1 << vc;
            }
            lane.step.send(at);
            walk.last = vc as u8;
            if lane.step.left == 0 {
                return Some(now + at + 1);
            }
        }
        None
    }

    /// The slots of the period from cycle `now` on, the first in the lowest bit.
    #[inline]
    fn slots(&self, period: Period, now: Cycle) -> u64 {
        let is_slot = |at: &u64| self.pace.is_slot(now + *at);
        match self.regular {
            Some(slots) => period.from(slots, now),
            None => (0..period.cycles()).filter(is_slot).fold(0, |slots, at| slots | 1 << at),
        }
    }

    /// The first slot in which a flit can be sent, where none can in the period from cycle `now` on.
    fn first_slot<'a>(
        &self,
        period: Period,
        now: Cycle,
        walk: &Walk,
        source: &impl Fn(u16) -> &'a Forecast,
    ) -> Cycle {
        let next =
            bits(walk.active).map(|vc| self.next_of(period, vc, source)).fold(Cycle::NEVER, Cycle::min);
        if next == Cycle::NEVER { next } else { self.pace.slot_from(next.max(now + period.cycles())) }
    }

    /// When the next flit of `vc` is ready and has a credit, or needs none.
    fn next_of<'a>(&self, period: Period, vc: usize, source: &impl Fn(u16) -> &'a Forecast) -> Cycle {
        let lane = &self.lanes[vc];
        let ready = source(lane.owner.unwrap_or_default()).when(period, lane.taken());
        if self.is_sink { ready } else { ready.max(lane.credits.when(period, lane.sent)) }
    }

    /// How long what was found in the period from cycle `now` on goes on; to its end at least.
    fn goes_on_until<'a>(
        &self,
        period: Period,
        now: Cycle,
        walk: &Walk,
        source: &impl Fn(u16) -> &'a Forecast,
    ) -> Cycle {
        let end = now + period.cycles();
        let senders = bits(walk.active).filter(|&vc| self.lanes[vc].step.sends != 0).count();
        if senders > 1 && walk.last != self.last {
            return end;
        }
        let of_slots = self.pace.steady_until(now, period.cycles());
        let limits = bits(walk.active).map(|vc| self.holds_until(period, now, vc, source));
        limits.fold(of_slots, Cycle::min).max(end)
    }

    /// How long what `vc` did in the period from cycle `now` on goes on, for all that it knows.
    fn holds_until<'a>(
        &self,
        period: Period,
        now: Cycle,
        vc: usize,
        source: &impl Fn(u16) -> &'a Forecast,
    ) -> Cycle {
        let lane = &self.lanes[vc];
        let step = &lane.step;
        if step.sends == 0 {
            return self.next_of(period, vc, source);
        }
        let (left, flits) = (lane.end - lane.sent, source(lane.owner.unwrap_or_default()));
        let of_packet = period.nth(lane.places, now, left - 1) + 1;
        let supplies = |forecast, stock: &Stock, used| {
            let sends = Sends { used, left, places: lane.places, has_lacked: step.has_lacked };
            supplies(forecast, &stock.coming, period, now, sends)
        };
        let of_flits = supplies(flits, &step.flits, lane.taken());
        let of_credits =
            if self.is_sink { Cycle::NEVER } else { supplies(&lane.credits, &step.credits, lane.sent) };
        of_packet.min(of_flits).min(of_credits)
    }

    /// When there has to be another plan after `run` has told of flits or credits of `vc`, of which `used` were used before the
    /// plan began: in that cycle, unless the plan ends before or there is enough in any case.
    pub(in crate::elite) fn revises_at(&self, period: Period, vc: usize, run: &Run, used: u64) -> Cycle {
        let lane = &self.lanes[vc];
        if !lane.is_sending() || run.at >= self.until {
            return Cycle::NEVER;
        }
        if self.until < self.since + period.cycles() {
            return run.at;
        }
        let sent = period.count(lane.places, self.since, run.at);
        let (stock, left) = (run.before.saturating_sub(used + sent), lane.end - lane.sent - sent);
        if stock >= left {
            return Cycle::NEVER;
        }
        let at = lasts(period, run.at, stock, run.places.count(), lane.places.count());
        if at < self.until { at } else { Cycle::NEVER }
    }
}

/// What a virtual channel does with things that come: so many have been used, so many are needed for the rest of the packet,
/// when it uses them in a period, and whether in that period it has lacked flits or credits in a slot.
#[derive(Clone, Copy, Debug)]
struct Sends {
    used: u64,
    left: u64,
    places: Places,
    has_lacked: bool,
}

/// How long `forecast`, of which so much is `coming`, supplies things as in the period from cycle `now` on.
fn supplies(forecast: &Forecast, coming: &Coming, period: Period, now: Cycle, sends: Sends) -> Cycle {
    let (used, sent) = (sends.used, sends.places.count());
    let (mut at, mut stock) = (now, (coming.before + (coming.cycles & 1)).saturating_sub(used));
    if stock >= sends.left {
        return Cycle::NEVER;
    }
    for steady in forecast.steady(period, now, used + sends.left) {
        let comes = steady.places.count();
        let is_first = steady.from <= now;
        if !is_first {
            let of_first = period.count(steady.places, steady.from, steady.from + 1);
            let sent_before = period.count(sends.places, now, steady.from);
            (at, stock) = (steady.from, (steady.before + of_first).saturating_sub(used + sent_before));
        }
        // What comes as fast as it goes, or faster and was always there, will be there.
        let goes_on = is_first && (comes == sent || comes > sent && !sends.has_lacked);
        let until = match goes_on {
            true => Cycle::NEVER,
            // What comes in another pattern may fill slots in which it has lacked some.
            false if !is_first && sends.has_lacked => at,
            false => lasts(period, at, stock, comes, sent),
        };
        if until <= steady.until {
            return until;
        }
        at = steady.until;
    }
    at
}

/// To when a `stock` lasts of which so many come in each period from cycle `at` on, and so many are sent: none of those is
/// waited for before.
#[inline]
fn lasts(period: Period, at: Cycle, stock: u64, comes: u64, sent: u64) -> Cycle {
    match stock.saturating_sub(sent) {
        0 if sent > 0 || stock == 0 => at,
        _ if comes >= sent => Cycle::NEVER,
        spare => at + ((spare - 1) / (sent - comes) + 1) * period.cycles(),
    }
}
