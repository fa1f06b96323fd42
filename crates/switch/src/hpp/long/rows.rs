//! What nodes, arbiters and links have to do in which stretch, and what comes from elsewhere.

use super::port::Coming;
use super::{STRETCH, VCS};
use crate::hpp::moment::{Moment, Time};
use flitway_engine::prefetch;
use flitway_wiring::routing::Route;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Stretches that can be seen.
const ROWS: u32 = 8;

/// Cycles after which the same row comes again.
pub(super) const ROUND: u64 = STRETCH as u64 * ROWS as u64;

/// What is due in which stretch, block by block. Stretches begin at multiples of their length.
#[derive(Debug)]
pub(super) struct Rows {
    /// The first cycle that has not been run.
    now: Moment,
    /// The last stretch that can be seen.
    last: u32,
    /// Bits of a place that say which port of a block it is; the others are the number of the block.
    shift: u32,
    /// The block that runs, and its rows, within reach.
    running: usize,
    rows: [Row; ROWS as usize],
    /// Those of the other blocks; nothing in place of the one that runs.
    others: Vec<[Row; ROWS as usize]>,
    spare: Spare,
    /// What is due in stretches that cannot be seen yet, and the first of them.
    far: BTreeMap<u32, Vec<Far>>,
    first_far: u32,
}

/// What is due in a far stretch: an arbiter or the link of a port, a node of a block, a letter to one.
#[derive(Clone, Debug)]
enum Far {
    Arbiter(u32),
    Link(u32),
    Node(u32, u32),
    Letter(Box<Letter>, u32),
}

/// What is due in a block in a stretch, in no order; some of it several times.
#[derive(Clone, Debug, Default)]
struct Row {
    arbiters: Due,
    links: Due,
    nodes: Due,
    letters: Vec<Letter>,
}

/// Memory of lists that have been run, what was used last at the end. The cache still holds that, so a list that begins takes
/// it: few lists have anything in them at a time, and the memory of those is all that is touched.
#[derive(Debug, Default)]
struct Spare {
    due: Vec<Vec<u32>>,
    letters: Vec<Vec<Letter>>,
}

/// Those of one kind: the first `count` of the items. Behind them is room.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    items: Vec<u32>,
    count: usize,
}

impl Due {
    /// Adds `item` if `is_due`, without a branch.
    #[inline(always)]
    fn push_if(&mut self, item: u32, is_due: bool, spare: &mut Spare) {
        match self.items.get_mut(self.count) {
            Some(place) => *place = item,
            None => self.make_room(item, spare),
        }
        self.count += usize::from(is_due);
    }

    /// Puts `item` where there is no room yet: each list begins without, and takes the memory of one that has been run. Most
    /// items find room.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, item: u32, spare: &mut Spare) {
        if self.items.is_empty() {
            self.items = spare.due.pop().unwrap_or_default();
        }
        if self.count == self.items.len() {
            self.items.push(0);
            self.items.resize(self.items.capacity(), 0);
        }
        self.items[self.count] = item;
    }

    /// Takes everything out of `row`, into itself. What it had has been run.
    fn take(&mut self, row: &mut Due, spare: &mut Spare) {
        let run = std::mem::replace(self, std::mem::take(row));
        if !run.items.is_empty() {
            spare.due.push(run.items);
        }
    }
}

impl Deref for Due {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.items[..self.count]
    }
}

/// A packet that another block, or another shard, has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Letter {
    /// The place of the port that it comes to, and the first port of that switch (of a NIC port: nothing).
    pub(super) place: u32,
    pub(super) base: u32,
    pub(super) coming: Coming,
    /// From there on.
    pub(super) route: Route,
}

const _: () = assert!(size_of::<Letter>() == 32, "half a cache line");

impl Rows {
    /// Those of so many `ports`, in blocks of `2^shift`.
    pub(super) fn new(ports: usize, shift: u32) -> Self {
        let blocks = (ports.saturating_sub(1) >> shift) + 1;
        Rows {
            now: Moment::ZERO,
            last: ROWS - 1,
            shift,
            running: 0,
            rows: Default::default(),
            spare: Spare::default(),
            others: vec![Default::default(); blocks],
            far: BTreeMap::new(),
            first_far: u32::MAX,
        }
    }

    /// Blocks of ports.
    pub(super) fn blocks(&self) -> usize {
        self.others.len()
    }

    /// The block that runs.
    #[inline(always)]
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// The block whose turn number `turn` of this stretch is: to and fro, since the cache holds those that came last.
    pub(super) fn block_in(&self, turn: usize) -> usize {
        let is_even = (self.now.0 / STRETCH).is_multiple_of(2);
        if is_even { turn } else { self.others.len() - 1 - turn }
    }

    /// It is the turn of `block`.
    pub(super) fn turn_to(&mut self, block: usize) {
        if block == self.running {
            return;
        }
        std::mem::swap(&mut self.rows, &mut self.others[self.running]);
        std::mem::swap(&mut self.rows, &mut self.others[block]);
        self.running = block;
    }

    /// A `row` of `block`, and the memory that it may take.
    #[inline(always)]
    fn row_of(&mut self, block: usize, row: usize) -> (&mut Row, &mut Spare) {
        let rows = if block == self.running { &mut self.rows } else { &mut self.others[block] };
        (&mut rows[row], &mut self.spare)
    }

    /// Those of all blocks.
    fn all(&self) -> impl Iterator<Item = &[Row; ROWS as usize]> {
        std::iter::once(&self.rows).chain(&self.others)
    }

    /// The block of the port at `place`.
    #[inline(always)]
    pub(super) fn block_of(&self, place: u32) -> usize {
        (place >> self.shift) as usize
    }

    /// The first cycle that has not been run.
    #[inline(always)]
    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// The end of the stretch that it is in.
    #[inline(always)]
    pub(super) fn end(&self) -> Moment {
        Moment((self.now.0 / STRETCH + 1) * STRETCH)
    }

    /// The first cycle that is beyond what can be seen.
    #[inline(always)]
    pub(super) fn far(&self) -> Moment {
        Moment((self.now.0 / STRETCH + ROWS) * STRETCH)
    }

    /// The row of now.
    #[inline(always)]
    fn row_of_now(&self) -> usize {
        (self.now.0 / STRETCH % ROWS) as usize
    }

    /// The row of the stretch that cycle `at` is in, if that can be seen.
    #[inline(always)]
    fn row(&self, at: Moment) -> Option<usize> {
        debug_assert!(self.now <= at, "nothing is due in a cycle that has been run");
        let stretch = at.0 / STRETCH;
        (stretch <= self.last).then_some((stretch % ROWS) as usize)
    }

    /// The arbiter of output `vc` at `place`, in the block that runs, looks in the stretch of cycle `at`.
    #[inline(always)]
    pub(super) fn wake_arbiter(&mut self, place: u32, vc: usize, at: Moment) {
        debug_assert_eq!(self.block_of(place), self.running, "a switch wakes its own arbiters");
        let arbiter = Rows::arbiter(place, vc);
        match self.row(at) {
            Some(row) => self.rows[row].arbiters.push_if(arbiter, true, &mut self.spare),
            None => self.put_off(at, Far::Arbiter(arbiter)),
        }
    }

    /// The same in any block.
    pub(super) fn call_arbiter(&mut self, place: u32, vc: usize, at: Moment) {
        let (arbiter, block) = (Rows::arbiter(place, vc), self.block_of(place));
        match self.row(at) {
            Some(row) => {
                let (row, spare) = self.row_of(block, row);
                row.arbiters.push_if(arbiter, true, spare);
            }
            None => self.put_off(at, Far::Arbiter(arbiter)),
        }
    }

    /// The link of the port at `place`, in the block that runs, decides after the arbiters of the stretch of cycle `at`, if it
    /// `decides` at all.
    #[inline(always)]
    pub(super) fn wake_link_if(&mut self, place: u32, at: Moment, decides: bool) {
        debug_assert_eq!(self.block_of(place), self.running, "a switch wakes its own links");
        match self.row(at) {
            Some(row) => self.rows[row].links.push_if(place, decides, &mut self.spare),
            None if decides => self.put_off(at, Far::Link(place)),
            None => {}
        }
    }

    /// Node number `node`, of the block that runs, acts in the stretch of cycle `at`.
    #[inline(always)]
    pub(super) fn wake_node(&mut self, node: u32, at: Moment) {
        match self.row(at) {
            Some(row) => self.rows[row].nodes.push_if(node, true, &mut self.spare),
            None => self.put_off(at, Far::Node(node, self.running as u32)),
        }
    }

    /// Node number `node`, of `block`, acts in the stretch of cycle `at`.
    pub(super) fn call_node(&mut self, node: u32, block: u32, at: Moment) {
        match self.row(at) {
            Some(row) => {
                let (row, spare) = self.row_of(block as usize, row);
                row.nodes.push_if(node, true, spare);
            }
            None => self.put_off(at, Far::Node(node, block)),
        }
    }

    /// A packet from elsewhere comes to a port in `block`; it is felt there so many cycles after it has come.
    #[inline(always)]
    pub(super) fn post(&mut self, block: u32, letter: Letter, felt: u64) {
        // It is read before it has come so long ago that the epoch may pass it. From another shard it may be told later.
        let at = (letter.coming.at + felt.min(ROUND)).max(self.now);
        self.post_at(block, letter, at);
    }

    #[inline(always)]
    fn post_at(&mut self, block: u32, letter: Letter, at: Moment) {
        match self.row(at) {
            Some(row) => {
                let (Row { letters, .. }, spare) = self.row_of(block as usize, row);
                if letters.capacity() == 0 {
                    *letters = spare.letters.pop().unwrap_or_default();
                }
                letters.push(letter);
                prefetch::element(letters, letters.len() + 2);
            }
            None => self.put_off(at, Far::Letter(Box::new(letter), block)),
        }
    }

    /// Keeps what is due in cycle `at` until that can be seen.
    #[cold]
    #[inline(never)]
    fn put_off(&mut self, at: Moment, what: Far) {
        let stretch = at.0 / STRETCH;
        self.far.entry(stretch).or_default().push(what);
        self.first_far = self.first_far.min(stretch);
    }

    /// Puts what can be seen now into rows.
    #[cold]
    #[inline(never)]
    fn take_far(&mut self) {
        while let Some(entry) = self.far.first_entry().filter(|entry| *entry.key() <= self.last) {
            let (stretch, all) = entry.remove_entry();
            let at = self.now.max(Moment(stretch * STRETCH));
            for what in all {
                match what {
                    Far::Arbiter(arbiter) => {
                        self.call_arbiter(Rows::place_of(arbiter), Rows::vc_of(arbiter), at);
                    }
                    Far::Link(place) => {
                        let row = self.row(at).expect("it can be seen");
                        let (row, spare) = self.row_of(self.block_of(place), row);
                        row.links.push_if(place, true, spare);
                    }
                    Far::Node(node, block) => self.call_node(node, block, at),
                    Far::Letter(letter, block) => self.post_at(block, *letter, at),
                }
            }
        }
        self.first_far = self.far.first_key_value().map_or(u32::MAX, |(&stretch, _)| stretch);
    }

    /// The packets that have been sent to blocks that have not read them.
    pub(super) fn letters(&self) -> impl Iterator<Item = &Letter> {
        let far = self.far.values().flatten().filter_map(|what| match what {
            Far::Letter(letter, _) => Some(&**letter),
            Far::Arbiter(_) | Far::Link(_) | Far::Node(..) => None,
        });
        self.all().flatten().flat_map(|row| &row.letters).chain(far)
    }

    /// The arbiter of output `vc` at `place`.
    #[inline(always)]
    fn arbiter(place: u32, vc: usize) -> u32 {
        place * VCS as u32 + vc as u32
    }

    /// The place of an arbiter.
    #[inline(always)]
    pub(super) fn place_of(arbiter: u32) -> u32 {
        arbiter / VCS as u32
    }

    /// The VC of an arbiter.
    #[inline(always)]
    pub(super) fn vc_of(arbiter: u32) -> usize {
        arbiter as usize % VCS
    }

    /// Takes out the arbiters of the block that runs that are due in the stretch of now.
    pub(super) fn take_arbiters(&mut self, due: &mut Due) {
        due.take(&mut self.rows[self.row_of_now()].arbiters, &mut self.spare);
    }

    /// The same of links.
    pub(super) fn take_links(&mut self, due: &mut Due) {
        due.take(&mut self.rows[self.row_of_now()].links, &mut self.spare);
    }

    /// The same of nodes.
    pub(super) fn take_nodes(&mut self, due: &mut Due) {
        due.take(&mut self.rows[self.row_of_now()].nodes, &mut self.spare);
    }

    /// The same of letters.
    pub(super) fn take_letters(&mut self, due: &mut Vec<Letter>) {
        let row = self.row_of_now();
        let mut read = std::mem::replace(due, std::mem::take(&mut self.rows[row].letters));
        if read.capacity() > 0 {
            read.clear();
            self.spare.letters.push(read);
        }
    }

    /// Whether nothing is due in the stretch of now.
    pub(super) fn is_idle(&self) -> bool {
        let row = self.row_of_now();
        self.all().all(|rows| rows[row].is_empty())
    }

    /// Whether nothing is due in `block` in the stretch of now.
    pub(super) fn is_idle_in(&self, block: usize) -> bool {
        let rows = if block == self.running { &self.rows } else { &self.others[block] };
        rows[self.row_of_now()].is_empty()
    }

    /// Goes on to cycle `now`.
    #[inline(always)]
    pub(super) fn pass(&mut self, now: Moment) {
        debug_assert!(
            self.now.0 / STRETCH == now.0 / STRETCH || self.is_idle(),
            "what is due in a stretch is done in it"
        );
        self.now = now;
        self.last = now.0 / STRETCH + (ROWS - 1);
        if self.first_far <= self.last {
            self.take_far();
        }
    }

    /// The same cycle is now, counted from an epoch that is `span` later.
    pub(super) fn count_from(&mut self, span: u32) {
        self.now = self.now.moved(span);
        self.last = self.now.0 / STRETCH + (ROWS - 1);
        let moved = |stretch: u32| stretch.saturating_sub(span / STRETCH);
        self.far = std::mem::take(&mut self.far).into_iter().map(|(at, all)| (moved(at), all)).collect();
        self.first_far = self.far.first_key_value().map_or(u32::MAX, |(&stretch, _)| stretch);
        let far = self.far.values_mut().flatten().filter_map(|what| match what {
            Far::Letter(letter, _) => Some(&mut **letter),
            Far::Arbiter(_) | Far::Link(_) | Far::Node(..) => None,
        });
        let near =
            self.rows.iter_mut().chain(self.others.iter_mut().flatten()).flat_map(|row| &mut row.letters);
        near.chain(far).for_each(|letter| letter.coming.at = letter.coming.at.moved(span));
    }

    /// The first cycle, from now on, in whose stretch something is due.
    pub(super) fn next(&self) -> Option<Moment> {
        let first = self.now.0 / STRETCH;
        let is_due = |&stretch: &u32| {
            let row = (stretch % ROWS) as usize;
            self.all().any(|rows| !rows[row].is_empty())
        };
        let near = (first..first + ROWS).find(is_due);
        let next = near.or_else(|| self.far.first_key_value().map(|(&stretch, _)| stretch));
        next.map(|stretch| self.now.max(Moment(stretch * STRETCH)))
    }
}

impl Row {
    fn is_empty(&self) -> bool {
        self.arbiters.is_empty() && self.links.is_empty() && self.nodes.is_empty() && self.letters.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};
    use flitway_fabric::pool::Slot;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_due_comes_in_its_stretch_and_is_seen_coming() {
        for ports in [1, 16, 70, 2_000] {
            let mut stream = Stream::new(ports, 0, Purpose::Test);
            let mut rows = Rows::new(ports as usize, 5);
            let mut model: BTreeSet<(u32, u32)> = BTreeSet::new();
            let (mut due, mut of_block) = (Vec::new(), Due::default());
            for _ in 0..200 {
                for _ in 0..stream.below(9) {
                    let (place, vc) = (stream.below(ports) as u32, stream.below(VCS as u64) as usize);
                    let at = rows.now() + stream.below(300);
                    rows.call_arbiter(place, vc, at);
                    rows.turn_to(rows.block_of(place));
                    rows.wake_arbiter(place, vc, at);
                    model.insert((at.0 / STRETCH, place * VCS as u32 + vc as u32));
                }
                let next = model.first().map(|&(stretch, _)| rows.now().max(Moment(stretch * STRETCH)));
                assert_eq!(rows.next(), next);
                let now = rows.now().0 / STRETCH;
                due.clear();
                for block in 0..rows.blocks() {
                    rows.turn_to(block);
                    rows.take_arbiters(&mut of_block);
                    assert!(of_block.iter().all(|&bit| rows.block_of(Rows::place_of(bit)) == block));
                    due.extend_from_slice(&of_block);
                }
                due.sort_unstable();
                due.dedup();
                let expected: Vec<u32> =
                    model.iter().filter(|&&(stretch, _)| stretch == now).map(|&(_, bit)| bit).collect();
                assert_eq!(due, expected);
                model.retain(|&(stretch, _)| stretch != now);
                rows.pass(rows.end());
            }
        }
    }

    #[test]
    fn a_letter_that_comes_late_is_read_now() {
        let mut rows = Rows::new(10, 6);
        rows.pass(Moment(1_000));
        let coming = |at| Coming { slot: Slot::NONE, at: Moment(at), flits: 1, units: 1, vc: 0 };
        for (at, felt) in [(1_000 - ROUND as u32 - 9, ROUND + 20), (1_001, 40)] {
            rows.post(0, Letter { place: 3, base: 0, coming: coming(at), route: Route::default() }, felt);
        }
        let mut read = Vec::new();
        rows.take_letters(&mut read);
        assert_eq!(read.iter().map(|letter| letter.coming.at.0).collect::<Vec<_>>(), [863]);
        assert_eq!(rows.letters().count(), 1);
    }

    #[test]
    fn arbiters_links_and_nodes_are_apart() {
        let mut rows = Rows::new(100, 6);
        rows.turn_to(1);
        rows.wake_link_if(70, Moment(40), true);
        rows.wake_link_if(71, Moment(40), false);
        rows.call_node(7, 0, Moment(50));
        assert_eq!((rows.next(), rows.far()), (Some(Moment(32)), Moment(128)));
        rows.pass(Moment(32));
        rows.pass(Moment(35));
        let mut due = Due::default();
        rows.take_arbiters(&mut due);
        assert_eq!(due[..], []);
        rows.take_links(&mut due);
        assert_eq!((&due[..], rows.next()), (&[70][..], Some(Moment(48))));
        rows.pass(Moment(48));
        rows.turn_to(0);
        rows.take_nodes(&mut due);
        assert_eq!((&due[..], rows.next()), (&[7][..], None));
    }
}
