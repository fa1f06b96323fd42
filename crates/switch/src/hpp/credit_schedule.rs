//! Adverts on wires of their own, where buffers are small, and packets and links short. They are in nobody's way, so when
//! one is sent is known as soon as it is known when its unit leaves, and it is posted where the sender looks it up when it
//! needs it: all those of a packet that become known together, as one [`CreditRun`].

use super::packet_state::CreditUpdate;
use super::timing::Timing;
use flitway_engine::Cycle;
use flitway_fabric::pool::Slot;
use serde::{Deserialize, Serialize};

/// Adverts are posted at most so many cycles before they count, from the start of the window on.
pub(super) const SPAN: u64 = u64::BITS as u64;

/// What has been posted for the senders of a shard: one schedule for each, by place, port and VC.
#[derive(Debug)]
pub(super) struct CreditSchedules {
    vcs: usize,
    /// Cycles between units of a credit run that are not the last.
    unit_flits: u64,
    /// By place: its first schedule.
    places: Vec<u32>,
    schedules: Vec<CreditSchedule>,
}

/// Each advert says one unit more than the one before, in a later cycle. So which cycles is all there is to keep of them.
#[derive(Clone, Copy, Debug)]
struct CreditSchedule {
    /// Nobody looks at a cycle before this one any more.
    passed: Cycle,
    /// In which cycles after `passed` an advert begins to count: bit 0 is the next one.
    coming: u64,
    /// What the last of them says.
    position: u32,
    /// The sender waits for the next.
    is_awaited: bool,
}

/// Adverts of units that leave one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreditRun {
    /// When the first of them counts.
    pub(super) first: Cycle,
    /// Cycles from then until the last of them counts.
    pub(super) span: u16,
    /// How many they are.
    pub(super) units: u16,
}

impl CreditRun {
    /// The first of its adverts, for a sender at `port` and `vc` that waits for it.
    pub(super) fn first_advert(self, port: u16, vc: u8) -> CreditUpdate {
        // What it says is on the schedule.
        CreditUpdate { from: self.first, position: 0, next: Slot::NONE, port, vc }
    }

    /// When the adverts of its units count, where a unit has `unit_flits`.
    #[inline]
    pub(super) fn cycles(self, unit_flits: u64) -> impl Iterator<Item = Cycle> {
        let ahead =
            move |unit| if unit + 1 == self.units { self.span.into() } else { u64::from(unit) * unit_flits };
        (0..self.units).map(move |unit| self.first + ahead(unit))
    }
}

impl CreditSchedule {
    /// Those that count after cycle `now`: bit 0 is in the next one.
    #[inline(always)]
    fn coming_after(self, now: Cycle) -> u64 {
        let passed = now.since(self.passed);
        if passed < SPAN { self.coming >> passed } else { 0 }
    }
}

impl CreditSchedules {
    /// None yet.
    pub(super) fn new(timing: &Timing) -> Self {
        CreditSchedules {
            vcs: timing.vcs,
            unit_flits: timing.unit_flits.into(),
            places: Vec::new(),
            schedules: Vec::new(),
        }
    }

    /// Bytes for one sender.
    pub(super) fn bytes() -> usize {
        size_of::<CreditSchedule>()
    }

    /// A further place; its ports come next.
    pub(super) fn add_place(&mut self) {
        self.places.push(self.schedules.len() as u32);
    }

    /// Schedules for further ports of the last place. Returns the first of them; the others follow, by port and VC.
    pub(super) fn add_ports(&mut self, timing: &Timing, ports: usize) -> usize {
        let first = self.schedules.len();
        if timing.posts {
            let schedule = CreditSchedule {
                passed: Cycle::ZERO,
                coming: 0,
                position: timing.capacity,
                is_awaited: false,
            };
            self.schedules.resize(first + ports * self.vcs, schedule);
        }
        first
    }

    /// The schedule of the sender at `place`, `port` and `vc`.
    #[inline]
    pub(super) fn find(&self, place: u32, port: u16, vc: u8) -> usize {
        self.places[place as usize] as usize + usize::from(port) * self.vcs + usize::from(vc)
    }

    /// Posts a credit_run, when nobody looks at a cycle before `passed` any more. Says whether the sender has waited for it.
    #[inline(always)]
    pub(super) fn post(&mut self, schedule: usize, credit_run: CreditRun, passed: Cycle) -> bool {
        let schedule = &mut self.schedules[schedule];
        debug_assert!(passed >= schedule.passed, "time goes on: {passed} after {}", schedule.passed);
        (schedule.coming, schedule.passed) = (schedule.coming_after(passed), passed);
        // What counts in the cycle after `passed` is bit 0.
        let first = credit_run.first.0.wrapping_sub(passed.0 + 1);
        assert!(first < SPAN && u64::from(credit_run.span) < SPAN - first, "credit runs are posted in time");
        schedule.coming |= 1 << first;
        if credit_run.units > 1 {
            let ahead = credit_run.cycles(self.unit_flits).map(|at| at.since(credit_run.first));
            schedule.coming |= ahead.fold(0, |coming, ahead| coming | 1 << ahead) << first;
        }
        schedule.position = schedule.position.wrapping_add(credit_run.units.into());
        std::mem::take(&mut schedule.is_awaited)
    }

    /// The limit in cycle `now`.
    #[inline]
    pub(super) fn limit(&self, schedule: usize, now: Cycle) -> u32 {
        let schedule = self.schedules[schedule];
        schedule.position.wrapping_sub(schedule.coming_after(now).count_ones())
    }

    /// When the next advert counts that counts after cycle `now`; if it has not been posted, the sender waits for it from now
    /// on.
    pub(super) fn wait(&mut self, schedule: usize, now: Cycle) -> Option<Cycle> {
        let schedule = &mut self.schedules[schedule];
        let later = schedule.coming_after(now);
        schedule.is_awaited = later == 0;
        (later != 0).then(|| now + 1 + u64::from(later.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    const UNIT_FLITS: u64 = 3;

    fn credit_run(stream: &mut Stream, after: u64) -> CreditRun {
        let units = 1 + stream.below(5) as u16;
        // The last unit may be shorter.
        let span =
            if units == 1 { 0 } else { (units as u64 - 2) * UNIT_FLITS + 1 + stream.below(UNIT_FLITS) };
        CreditRun { first: Cycle(after + 1 + stream.below(10)), span: span as u16, units }
    }

    /// Against the plain rule: the limit in a cycle is what the last advert says that counts by then.
    #[test]
    fn who_looks_late_finds_the_same_limit() {
        let mut waits = 0;
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let start = u32::MAX - stream.below(500) as u32;
            let schedule =
                CreditSchedule { passed: Cycle::ZERO, coming: 0, position: start, is_awaited: false };
            let mut schedules = CreditSchedules {
                vcs: 3,
                unit_flits: UNIT_FLITS,
                places: vec![0],
                schedules: vec![schedule; 3],
            };
            let at = schedules.find(0, 0, 1);
            let (mut from, mut is_awaited) = (Vec::new(), false);
            // How far ahead adverts are known, how long ago somebody may still look at, and how late it is looked.
            let (ahead, past) = (1 + stream.below(20), stream.below(10));
            let late = 1 + stream.below(3) * stream.below(80);
            for now in 10..5_000 {
                let last = from.last().map_or(now, |last: &Cycle| last.0.max(now));
                if last < now + ahead && stream.below(4) == 0 {
                    let credit_run = credit_run(&mut stream, last);
                    from.extend(credit_run.cycles(UNIT_FLITS));
                    let last = credit_run.first + u64::from(credit_run.span);
                    assert_eq!(*from.last().unwrap(), last, "seed {seed}, cycle {now}");
                    let is_told = schedules.post(at, credit_run, Cycle(now - past));
                    assert_eq!(is_told, std::mem::take(&mut is_awaited), "seed {seed}, cycle {now}");
                }
                if stream.below(late) == 0 {
                    let plain = from.partition_point(|&from| from <= Cycle(now));
                    let known = schedules.limit(at, Cycle(now));
                    assert_eq!(known, start.wrapping_add(plain as u32), "seed {seed}, cycle {now}");
                    let next = from.get(plain).copied();
                    assert_eq!(schedules.wait(at, Cycle(now)), next, "seed {seed}, cycle {now}");
                    is_awaited = next.is_none();
                    waits += u32::from(is_awaited);
                }
            }
            assert!(from.len() > 500, "{} adverts", from.len());
        }
        assert!(waits > 1_000, "{waits} waits");
    }
}
