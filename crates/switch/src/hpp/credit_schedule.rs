//! Adverts on wires of their own, where buffers are small, and packets and links short. They are in nobody's way, so when
//! one is sent is known as soon as it is known when its unit leaves, and it is posted where the sender looks it up when it
//! needs it: all those of a packet that become known together, as one [`Notice`].

use super::timing::Timing;
use super::token::Limit;
use flitway_engine::Cycle;
use flitway_fabric::pool::Slot;

/// Adverts are posted at most so many cycles before they count, from the start of the window on.
pub(super) const SPAN: u64 = u64::BITS as u64;

/// What has been posted for the senders of a shard: one board for each, by place, port and VC.
#[derive(Debug)]
pub(super) struct Boards {
    vcs: usize,
    /// Cycles between units of a notice that are not the last.
    unit_flits: u64,
    /// By place: its first board.
    places: Vec<u32>,
    boards: Vec<Board>,
}

/// Each advert says one unit more than the one before, in a later cycle. So which cycles is all there is to keep of them.
#[derive(Clone, Copy, Debug)]
struct Board {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When the first of them counts.
    pub(super) first: Cycle,
    /// Cycles from then until the last of them counts.
    pub(super) span: u16,
    /// How many they are.
    pub(super) units: u16,
}

impl Notice {
    /// The first of its adverts, for a sender at `port` and `vc` that waits for it.
    pub(super) fn first_advert(self, port: u16, vc: u8) -> Limit {
        // What it says is on the board.
        Limit { from: self.first, position: 0, next: Slot::NONE, port, vc }
    }

    /// When the adverts of its units count, where a unit has `unit_flits`.
    #[inline]
    pub(super) fn cycles(self, unit_flits: u64) -> impl Iterator<Item = Cycle> {
        let ahead =
            move |unit| if unit + 1 == self.units { self.span.into() } else { u64::from(unit) * unit_flits };
        (0..self.units).map(move |unit| self.first + ahead(unit))
    }
}

impl Board {
    /// Those that count after cycle `now`: bit 0 is in the next one.
    #[inline(always)]
    fn coming_after(self, now: Cycle) -> u64 {
        let passed = now.since(self.passed);
        if passed < SPAN { self.coming >> passed } else { 0 }
    }
}

impl Boards {
    /// None yet.
    pub(super) fn new(timing: &Timing) -> Self {
        Boards {
            vcs: timing.vcs,
            unit_flits: timing.unit_flits.into(),
            places: Vec::new(),
            boards: Vec::new(),
        }
    }

    /// Bytes for one sender.
    pub(super) fn bytes() -> usize {
        size_of::<Board>()
    }

    /// A further place; its ports come next.
    pub(super) fn add_place(&mut self) {
        self.places.push(self.boards.len() as u32);
    }

    /// Boards for further ports of the last place. Returns the first of them; the others follow, by port and VC.
    pub(super) fn add_ports(&mut self, timing: &Timing, ports: usize) -> usize {
        let first = self.boards.len();
        if timing.posts {
            let board =
                Board { passed: Cycle::ZERO, coming: 0, position: timing.capacity, is_awaited: false };
            self.boards.resize(first + ports * self.vcs, board);
        }
        first
    }

    /// The board of the sender at `place`, `port` and `vc`.
    #[inline]
    pub(super) fn find(&self, place: u32, port: u16, vc: u8) -> usize {
        self.places[place as usize] as usize + usize::from(port) * self.vcs + usize::from(vc)
    }

    /// Posts a notice, when nobody looks at a cycle before `passed` any more. Says whether the sender has waited for it.
    #[inline(always)]
    pub(super) fn post(&mut self, board: usize, notice: Notice, passed: Cycle) -> bool {
        let board = &mut self.boards[board];
        debug_assert!(passed >= board.passed, "time goes on: {passed} after {}", board.passed);
        (board.coming, board.passed) = (board.coming_after(passed), passed);
        // What counts in the cycle after `passed` is bit 0.
        let first = notice.first.0.wrapping_sub(passed.0 + 1);
        assert!(first < SPAN && u64::from(notice.span) < SPAN - first, "notices are posted in time");
        board.coming |= 1 << first;
        if notice.units > 1 {
            let ahead = notice.cycles(self.unit_flits).map(|at| at.since(notice.first));
            board.coming |= ahead.fold(0, |coming, ahead| coming | 1 << ahead) << first;
        }
        board.position = board.position.wrapping_add(notice.units.into());
        std::mem::take(&mut board.is_awaited)
    }

    /// The limit in cycle `now`.
    #[inline]
    pub(super) fn limit(&self, board: usize, now: Cycle) -> u32 {
        let board = self.boards[board];
        board.position.wrapping_sub(board.coming_after(now).count_ones())
    }

    /// When the next advert counts that counts after cycle `now`; if it has not been posted, the sender waits for it from now
    /// on.
    pub(super) fn wait(&mut self, board: usize, now: Cycle) -> Option<Cycle> {
        let board = &mut self.boards[board];
        let later = board.coming_after(now);
        board.is_awaited = later == 0;
        (later != 0).then(|| now + 1 + u64::from(later.trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    const UNIT_FLITS: u64 = 3;

    fn notice(stream: &mut Stream, after: u64) -> Notice {
        let units = 1 + stream.below(5) as u16;
        // The last unit may be shorter.
        let span =
            if units == 1 { 0 } else { (units as u64 - 2) * UNIT_FLITS + 1 + stream.below(UNIT_FLITS) };
        Notice { first: Cycle(after + 1 + stream.below(10)), span: span as u16, units }
    }

    /// Against the plain rule: the limit in a cycle is what the last advert says that counts by then.
    #[test]
    fn who_looks_late_finds_the_same_limit() {
        let mut waits = 0;
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let start = u32::MAX - stream.below(500) as u32;
            let board = Board { passed: Cycle::ZERO, coming: 0, position: start, is_awaited: false };
            let mut boards =
                Boards { vcs: 3, unit_flits: UNIT_FLITS, places: vec![0], boards: vec![board; 3] };
            let at = boards.find(0, 0, 1);
            let (mut from, mut is_awaited) = (Vec::new(), false);
            // How far ahead adverts are known, how long ago somebody may still look at, and how late it is looked.
            let (ahead, past) = (1 + stream.below(20), stream.below(10));
            let late = 1 + stream.below(3) * stream.below(80);
            for now in 10..5_000 {
                let last = from.last().map_or(now, |last: &Cycle| last.0.max(now));
                if last < now + ahead && stream.below(4) == 0 {
                    let notice = notice(&mut stream, last);
                    from.extend(notice.cycles(UNIT_FLITS));
                    let last = notice.first + u64::from(notice.span);
                    assert_eq!(*from.last().unwrap(), last, "seed {seed}, cycle {now}");
                    let is_told = boards.post(at, notice, Cycle(now - past));
                    assert_eq!(is_told, std::mem::take(&mut is_awaited), "seed {seed}, cycle {now}");
                }
                if stream.below(late) == 0 {
                    let plain = from.partition_point(|&from| from <= Cycle(now));
                    let known = boards.limit(at, Cycle(now));
                    assert_eq!(known, start.wrapping_add(plain as u32), "seed {seed}, cycle {now}");
                    let next = from.get(plain).copied();
                    assert_eq!(boards.wait(at, Cycle(now)), next, "seed {seed}, cycle {now}");
                    is_awaited = next.is_none();
                    waits += u32::from(is_awaited);
                }
            }
            assert!(from.len() > 500, "{} adverts", from.len());
        }
        assert!(waits > 1_000, "{waits} waits");
    }
}
