//! Adverts on wires of their own, where buffers are small. They are in nobody's way, so when one is sent is known as soon as it
//! is known when its unit leaves, and it is posted where the sender looks it up when it needs it: all those of a packet that
//! become known together, as one [`Notice`].

use super::timing::Timing;
use super::token::Limit;
use crate::pool::Slot;
use flitway_engine::Cycle;

/// Notices on a board at first.
const KEPT: usize = 4;

/// What has been posted for the senders of a shard: one board for each, by place, port and VC.
#[derive(Debug)]
pub(super) struct Boards {
    vcs: usize,
    /// Cycles between units of a notice that are not the last.
    unit_flits: u64,
    /// By place: its first board.
    places: Vec<u32>,
    boards: Vec<Board>,
    /// The latest notices on a board, a power of two. All adverts of those before have counted for long.
    kept: usize,
    /// By board, and there by number modulo `kept`.
    notices: Vec<Notice>,
}

#[derive(Clone, Copy, Debug)]
struct Board {
    /// What the latest advert says. Each says one unit more than the one before.
    position: u32,
    /// The number of its notice.
    latest: u32,
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

/// As if it had come before all others.
const NONE: Notice = Notice { first: Cycle::ZERO, span: 0, units: 0 };

impl Notice {
    #[inline]
    pub(super) fn last(self) -> Cycle {
        self.first + u64::from(self.span)
    }

    /// The first of its adverts, for a sender at `port` and `vc` that waits for it.
    pub(super) fn first_advert(self, port: u16, vc: u8) -> Limit {
        // What it says is on the board.
        Limit { from: self.first, position: 0, next: Slot::NONE, port, vc }
    }

    /// When the adverts of its units count, where a unit has `unit_flits`.
    #[inline]
    pub(super) fn cycles(self, unit_flits: u64) -> impl Iterator<Item = Cycle> {
        let cycle = move |unit| {
            if unit + 1 == self.units { self.last() } else { self.first + u64::from(unit) * unit_flits }
        };
        (0..self.units).map(cycle)
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
            kept: KEPT,
            notices: Vec::new(),
        }
    }

    /// Bytes for one sender.
    pub(super) fn bytes() -> usize {
        size_of::<Board>() + KEPT * size_of::<Notice>()
    }

    /// A further place; its ports come next.
    pub(super) fn add_place(&mut self) {
        self.places.push(self.boards.len() as u32);
    }

    /// Boards for further ports of the last place. Returns the first of them; the others follow, by port and VC.
    pub(super) fn add_ports(&mut self, timing: &Timing, ports: usize) -> usize {
        let first = self.boards.len();
        if timing.posts {
            let board = Board { position: timing.capacity, latest: 0, is_awaited: false };
            self.boards.resize(first + ports * self.vcs, board);
            self.notices.resize(self.boards.len() * self.kept, NONE);
        }
        first
    }

    /// The board of the sender at `place`, `port` and `vc`.
    #[inline]
    pub(super) fn find(&self, place: u32, port: u16, vc: u8) -> usize {
        self.places[place as usize] as usize + usize::from(port) * self.vcs + usize::from(vc)
    }

    #[inline]
    fn slot(&self, board: usize, number: u32) -> usize {
        board * self.kept + (number as usize & (self.kept - 1))
    }

    /// Posts a notice, when nobody looks at a cycle before `passed` any more. Says whether the sender has waited for it.
    #[inline(always)]
    pub(super) fn post(&mut self, board: usize, notice: Notice, passed: Cycle) -> bool {
        let number = self.boards[board].latest.wrapping_add(1);
        let slot = self.slot(board, number);
        let oldest = &mut self.notices[slot];
        if oldest.last() > passed {
            return self.grow_and_post(board, notice, passed);
        }
        *oldest = notice;
        let board = &mut self.boards[board];
        (board.position, board.latest) = (board.position.wrapping_add(notice.units.into()), number);
        std::mem::take(&mut board.is_awaited)
    }

    /// The same where a notice is kept of which not all adverts count: from now on twice as many are kept.
    #[cold]
    #[inline(never)]
    fn grow_and_post(&mut self, board: usize, notice: Notice, passed: Cycle) -> bool {
        self.grow();
        self.post(board, notice, passed)
    }

    fn grow(&mut self) {
        let (before, kept) = (self.kept, 2 * self.kept);
        let mut notices = vec![NONE; self.boards.len() * kept];
        for (index, board) in self.boards.iter().enumerate() {
            for age in 0..before as u32 {
                let number = board.latest.wrapping_sub(age);
                notices[index * kept + (number as usize & (kept - 1))] =
                    self.notices[self.slot(index, number)];
            }
        }
        (self.kept, self.notices) = (kept, notices);
    }

    /// The limit in cycle `now`, which was `known` in a cycle before.
    #[inline]
    pub(super) fn limit(&self, board: usize, known: u32, now: Cycle) -> u32 {
        let Board { position, latest, .. } = self.boards[board];
        let (mut limit, mut number) = (position, latest);
        for _ in 0..self.kept {
            let notice = self.notices[self.slot(board, number)];
            if limit == known || notice.last() <= now {
                break;
            }
            limit = limit.wrapping_sub(notice.units.into());
            if notice.first <= now {
                let passed = (now.since(notice.first) / self.unit_flits) as u32 + 1;
                return limit.wrapping_add(passed.min(u32::from(notice.units) - 1));
            }
            number = number.wrapping_sub(1);
        }
        limit
    }

    /// When the advert counts that comes after `limit`, which is that of a cycle past; if it has not been posted, the sender
    /// waits for it from now on.
    pub(super) fn wait(&mut self, board: usize, limit: u32) -> Option<Cycle> {
        let Board { position, latest, is_awaited } = &mut self.boards[board];
        *is_awaited = *position == limit;
        let (mut coming, mut number) = (position.wrapping_sub(limit), *latest);
        if coming == 0 {
            return None;
        }
        loop {
            let notice = self.notices[self.slot(board, number)];
            if let Some(counted) = u32::from(notice.units).checked_sub(coming) {
                return notice.cycles(self.unit_flits).nth(counted as usize);
            }
            (coming, number) = (coming - u32::from(notice.units), number.wrapping_sub(1));
        }
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
        Notice { first: Cycle(after + 1 + stream.below(20)), span: span as u16, units }
    }

    /// Against the plain rule: the limit in a cycle is what the last advert says that counts by then.
    #[test]
    fn who_looks_late_finds_the_same_limit() {
        let (mut waits, mut most) = (0, 0);
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let start = u32::MAX - stream.below(500) as u32;
            let board = Board { position: start, latest: u32::MAX - 50, is_awaited: false };
            let mut boards = Boards {
                vcs: 3,
                unit_flits: UNIT_FLITS,
                places: vec![0],
                boards: vec![board; 3],
                kept: KEPT,
                notices: vec![NONE; 3 * KEPT],
            };
            let at = boards.find(0, 0, 1);
            let (mut from, mut known, mut is_awaited) = (Vec::new(), start, false);
            // How far ahead adverts are known, and how late it is looked.
            let (ahead, late) = (1 + stream.below(3) * stream.below(100), 1 + stream.below(30));
            for now in 10..5_000 {
                let last = from.last().map_or(now, |last: &Cycle| last.0.max(now));
                if last < now + ahead && stream.below(4) == 0 {
                    let notice = notice(&mut stream, last);
                    from.extend(notice.cycles(UNIT_FLITS));
                    assert_eq!(*from.last().unwrap(), notice.last(), "seed {seed}, cycle {now}");
                    let is_told = boards.post(at, notice, Cycle(now - stream.below(10)));
                    assert_eq!(is_told, std::mem::take(&mut is_awaited), "seed {seed}, cycle {now}");
                }
                if stream.below(late) == 0 {
                    let plain = from.partition_point(|&from| from <= Cycle(now));
                    known = boards.limit(at, known, Cycle(now));
                    assert_eq!(known, start.wrapping_add(plain as u32), "seed {seed}, cycle {now}");
                    let next = from.get(plain).copied();
                    assert_eq!(boards.wait(at, known), next, "seed {seed}, cycle {now}");
                    is_awaited = next.is_none();
                    waits += u32::from(is_awaited);
                }
            }
            assert!(from.len() > 500, "{} adverts", from.len());
            most = most.max(boards.kept);
        }
        assert!(waits > 1_000 && most > 2 * KEPT, "{waits} waits, {most} notices");
    }
}
