//! Work lists: what is due in which batch of cycles, for a shard whose parts are arrays and not components.
//!
//! A *batch* is as many cycles as no decision can be felt within: the shortest time from a decision to its effect. In each
//! batch a shard runs all parts of one kind that have something to do, then all of the next kind; so each kind is one loop
//! over one list, and what a part needs is asked for ahead. The switch says how long a batch is, how many kinds of parts there
//! are (`KINDS`), and what comes from other blocks or shards (`L`).
//!
//! * What is due within [`SEEN`](WorkLists::SEEN) batches lies in *buckets*, by batch, block and kind, in no order and perhaps
//!   several times: a part looks whether it is its time. What is due later is kept apart, in order.
//! * Parts are numbered, and divided into *blocks* of `2^shift`, so that the state of one block fits a cache. Blocks take turns
//!   in each batch, to and fro.
//! * A list that begins takes the memory of one that has been run, which the cache still holds.
//!
//! ```
//! use flitway_engine::time32::Time32;
//! use flitway_engine::worklist::{Bucket, WorkLists};
//! let mut lists = WorkLists::<2, ()>::new(100, 6, 16);
//! lists.call(0, 7, 0, Time32(5));
//! lists.call(1, 8, 0, Time32(40));
//! let mut due = Bucket::default();
//! lists.take(0, &mut due);
//! assert_eq!(due[..], [7]);
//! assert_eq!(lists.next(), Some(Time32(32)));
//! ```

use crate::prefetch;
use crate::time32::{Time, Time32};
use std::collections::BTreeMap;
use std::ops::Deref;

/// Batches that have buckets.
const SEEN: u32 = 32;

/// What is due in which batch, block by block. Batches begin at multiples of their length.
#[derive(Debug)]
pub struct WorkLists<const KINDS: usize, L> {
    length: Length,
    /// The first cycle that has not been run.
    now: Time32,
    /// The last batch that has a bucket.
    last: u32,
    /// Bits of a number that say which part of a block it is; the others are the number of the block.
    shift: u32,
    /// The block that runs, and its buckets, within reach.
    running: usize,
    batches: [Batch<KINDS, L>; SEEN as usize],
    /// Those of the other blocks; nothing in place of the one that runs.
    others: Vec<[Batch<KINDS, L>; SEEN as usize]>,
    spare: Spare<L>,
    /// What is due in batches without buckets, and the first of them.
    far: BTreeMap<u32, Vec<Far<L>>>,
    first_far: u32,
}

/// Cycles of a batch. Whatever is put into a list is divided by them, so that is a multiplication.
#[derive(Clone, Copy, Debug)]
struct Length {
    cycles: u32,
    /// `2^64 / cycles`, rounded up.
    reciprocal: u64,
}

impl Length {
    fn new(cycles: u32) -> Self {
        assert!(cycles > 1, "the reciprocal of a batch has 64 bits");
        Length { cycles, reciprocal: u64::MAX / u64::from(cycles) + 1 }
    }

    /// The batch that cycle `at` is in: rounding up adds less than `1 / cycles` to a number of 32 bits.
    #[inline(always)]
    fn batch(self, at: Time32) -> u32 {
        ((u128::from(at.0) * u128::from(self.reciprocal)) >> 64) as u32
    }

    /// The first cycle of `batch`.
    #[inline(always)]
    fn start(self, batch: u32) -> Time32 {
        Time32(batch * self.cycles)
    }
}

/// What is due in a far batch: an item of a kind, or a letter, for a block.
#[derive(Clone, Debug)]
enum Far<L> {
    Item(usize, u32, usize),
    Letter(Box<L>, usize),
}

/// What is due in a block in a batch.
#[derive(Clone, Debug)]
struct Batch<const KINDS: usize, L> {
    items: [Bucket; KINDS],
    letters: Vec<L>,
}

impl<const KINDS: usize, L> Default for Batch<KINDS, L> {
    fn default() -> Self {
        Batch { items: std::array::from_fn(|_| Bucket::default()), letters: Vec::new() }
    }
}

/// Memory of lists that have been run, what was used last at the end. Few lists have anything in them at a time, and the memory
/// of those is all that is touched.
#[derive(Debug)]
struct Spare<L> {
    items: Vec<Vec<u32>>,
    letters: Vec<Vec<L>>,
}

/// Items of one kind: the first `count` of those that there is room for.
#[derive(Clone, Debug, Default)]
pub struct Bucket {
    items: Vec<u32>,
    count: usize,
}

impl Bucket {
    /// Adds `item` if `is_due`, without a branch.
    #[inline(always)]
    fn push_if<L>(&mut self, item: u32, is_due: bool, spare: &mut Spare<L>) {
        match self.items.get_mut(self.count) {
            Some(place) => *place = item,
            None => self.make_room(item, &mut spare.items),
        }
        self.count += usize::from(is_due);
    }

    /// Puts `item` where there is no room yet: each list begins without, and takes the memory of one that has been run. Most
    /// items find room.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, item: u32, spare: &mut Vec<Vec<u32>>) {
        if self.items.is_empty() {
            self.items = spare.pop().unwrap_or_default();
        }
        if self.count == self.items.len() {
            self.items.push(0);
            self.items.resize(self.items.capacity(), 0);
        }
        self.items[self.count] = item;
    }

    /// Takes everything out of `other`, into itself. What it had has been run.
    #[inline(always)]
    fn take(&mut self, other: &mut Bucket, spare: &mut Vec<Vec<u32>>) {
        if other.is_empty() {
            self.count = 0;
            return;
        }
        let run = std::mem::replace(self, std::mem::take(other));
        if !run.items.is_empty() {
            spare.push(run.items);
        }
    }
}

impl Deref for Bucket {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.items[..self.count]
    }
}

impl<const KINDS: usize, L> WorkLists<KINDS, L> {
    /// Batches that have buckets, that of now included.
    pub const SEEN: u32 = SEEN;

    /// Those of so many `parts`, in blocks of `2^shift`, with batches of so many `cycles`.
    ///
    /// # Panics
    /// If a batch has fewer than two cycles.
    #[must_use]
    pub fn new(parts: usize, shift: u32, cycles: u32) -> Self {
        let blocks = (parts.saturating_sub(1) >> shift) + 1;
        let batches = || std::array::from_fn(|_| Batch::default());
        WorkLists {
            length: Length::new(cycles),
            now: Time32::ZERO,
            last: SEEN - 1,
            shift,
            running: 0,
            batches: batches(),
            spare: Spare { items: Vec::new(), letters: Vec::new() },
            others: (0..blocks).map(|_| batches()).collect(),
            far: BTreeMap::new(),
            first_far: u32::MAX,
        }
    }

    /// Cycles of a batch.
    #[inline(always)]
    #[must_use]
    pub fn batch_length(&self) -> u32 {
        self.length.cycles
    }

    /// Cycles after which the same bucket comes again.
    #[must_use]
    pub fn round(&self) -> u64 {
        u64::from(self.length.cycles) * u64::from(SEEN)
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.others.len()
    }

    /// The block that runs.
    #[inline(always)]
    #[must_use]
    pub fn running(&self) -> usize {
        self.running
    }

    /// The block whose turn number `turn` of this batch is: to and fro, since the cache holds those that came last.
    #[must_use]
    pub fn block_in(&self, turn: usize) -> usize {
        let is_even = self.length.batch(self.now).is_multiple_of(2);
        if is_even { turn } else { self.others.len() - 1 - turn }
    }

    /// It is the turn of `block`.
    pub fn turn_to(&mut self, block: usize) {
        if block == self.running {
            return;
        }
        std::mem::swap(&mut self.batches, &mut self.others[self.running]);
        std::mem::swap(&mut self.batches, &mut self.others[block]);
        self.running = block;
    }

    /// A `batch` of `block`, and the memory that it may take.
    #[inline(always)]
    fn batch_of(&mut self, block: usize, batch: usize) -> (&mut Batch<KINDS, L>, &mut Spare<L>) {
        let batches = if block == self.running { &mut self.batches } else { &mut self.others[block] };
        (&mut batches[batch], &mut self.spare)
    }

    /// Those of all blocks.
    fn all(&self) -> impl Iterator<Item = &[Batch<KINDS, L>; SEEN as usize]> {
        std::iter::once(&self.batches).chain(&self.others)
    }

    /// The block of part `number`.
    #[inline(always)]
    #[must_use]
    pub fn block_of(&self, number: u32) -> usize {
        (number >> self.shift) as usize
    }

    /// The first cycle that has not been run.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Time32 {
        self.now
    }

    /// The end of the batch that it is in.
    #[inline(always)]
    #[must_use]
    pub fn end(&self) -> Time32 {
        self.length.start(self.length.batch(self.now) + 1)
    }

    /// The first cycle of a batch without buckets.
    #[inline(always)]
    #[must_use]
    pub fn far(&self) -> Time32 {
        self.length.start(self.last + 1)
    }

    #[inline(always)]
    fn batch_of_now(&self) -> usize {
        (self.length.batch(self.now) % SEEN) as usize
    }

    /// The place of the batch that cycle `at` is in, if that has buckets.
    #[inline(always)]
    fn batch(&self, at: Time32) -> Option<usize> {
        debug_assert!(self.now <= at, "nothing is due in a cycle that has been run");
        let batch = self.length.batch(at);
        (batch <= self.last).then_some((batch % SEEN) as usize)
    }

    /// `item` of the block that runs is due in the batch of cycle `at`.
    #[inline(always)]
    pub fn wake(&mut self, kind: usize, item: u32, at: Time32) {
        match self.batch(at) {
            Some(batch) => self.batches[batch].items[kind].push_if(item, true, &mut self.spare),
            None => self.put_off(at, Far::Item(kind, item, self.running)),
        }
    }

    /// The same if `is_due`, without a branch where there are buckets.
    #[inline(always)]
    pub fn wake_if(&mut self, kind: usize, item: u32, at: Time32, is_due: bool) {
        match self.batch(at) {
            Some(batch) => self.batches[batch].items[kind].push_if(item, is_due, &mut self.spare),
            None if is_due => self.put_off(at, Far::Item(kind, item, self.running)),
            None => {}
        }
    }

    /// `item` of any `block` is due in the batch of cycle `at`.
    pub fn call(&mut self, kind: usize, item: u32, block: usize, at: Time32) {
        match self.batch(at) {
            Some(batch) => {
                let (batch, spare) = self.batch_of(block, batch);
                batch.items[kind].push_if(item, true, spare);
            }
            None => self.put_off(at, Far::Item(kind, item, block)),
        }
    }

    /// `letter` is read in `block` in the batch of cycle `at`.
    #[inline(always)]
    pub fn post(&mut self, block: usize, letter: L, at: Time32) {
        match self.batch(at) {
            Some(batch) => {
                let (Batch { letters, .. }, spare) = self.batch_of(block, batch);
                if letters.capacity() == 0 {
                    *letters = spare.letters.pop().unwrap_or_default();
                }
                letters.push(letter);
                prefetch::element(letters, letters.len() + 2);
            }
            None => self.put_off(at, Far::Letter(Box::new(letter), block)),
        }
    }

    /// Keeps what is due in cycle `at` until its batch has buckets.
    #[cold]
    #[inline(never)]
    fn put_off(&mut self, at: Time32, what: Far<L>) {
        let batch = self.length.batch(at);
        self.far.entry(batch).or_default().push(what);
        self.first_far = self.first_far.min(batch);
    }

    /// Puts what has buckets now into them.
    #[cold]
    #[inline(never)]
    fn take_far(&mut self) {
        while let Some(entry) = self.far.first_entry().filter(|entry| *entry.key() <= self.last) {
            let (batch, all) = entry.remove_entry();
            let at = self.now.max(self.length.start(batch));
            for what in all {
                match what {
                    Far::Item(kind, item, block) => self.call(kind, item, block, at),
                    Far::Letter(letter, block) => self.post(block, *letter, at),
                }
            }
        }
        self.first_far = self.far.first_key_value().map_or(u32::MAX, |(&batch, _)| batch);
    }

    /// The letters that have not been read.
    pub fn letters(&self) -> impl Iterator<Item = &L> {
        let far = self.far.values().flatten().filter_map(|what| match what {
            Far::Letter(letter, _) => Some(&**letter),
            Far::Item(..) => None,
        });
        self.all().flatten().flat_map(|batch| &batch.letters).chain(far)
    }

    /// Takes out what of `kind` is due in the block that runs, in the batch of now; what `due` holds has been run.
    #[inline(always)]
    pub fn take(&mut self, kind: usize, due: &mut Bucket) {
        due.take(&mut self.batches[self.batch_of_now()].items[kind], &mut self.spare.items);
    }

    /// The same of letters.
    pub fn take_letters(&mut self, due: &mut Vec<L>) {
        let batch = self.batch_of_now();
        if self.batches[batch].letters.is_empty() {
            due.clear();
            return;
        }
        let mut read = std::mem::replace(due, std::mem::take(&mut self.batches[batch].letters));
        if read.capacity() > 0 {
            read.clear();
            self.spare.letters.push(read);
        }
    }

    /// Whether nothing is due in the batch of now.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let batch = self.batch_of_now();
        self.all().all(|batches| batches[batch].is_empty())
    }

    /// Whether there are letters for the block that runs in the batch of now.
    #[inline(always)]
    #[must_use]
    pub fn has_letters(&self) -> bool {
        !self.batches[self.batch_of_now()].letters.is_empty()
    }

    /// Whether nothing is due in `block` in the batch of now.
    #[must_use]
    pub fn is_idle_in(&self, block: usize) -> bool {
        let batches = if block == self.running { &self.batches } else { &self.others[block] };
        batches[self.batch_of_now()].is_empty()
    }

    /// Goes on to cycle `now`.
    #[inline(always)]
    pub fn pass(&mut self, now: Time32) {
        debug_assert!(
            self.length.batch(self.now) == self.length.batch(now) || self.is_idle(),
            "what is due in a batch is done in it"
        );
        self.now = now;
        self.last = self.length.batch(now) + (SEEN - 1);
        if self.first_far <= self.last {
            self.take_far();
        }
    }

    /// The same cycle is now, counted from an epoch that is `span` later, a multiple of [`round`](Self::round); `moved` moves
    /// the times in a letter.
    pub fn count_from(&mut self, span: u32, mut moved: impl FnMut(&mut L)) {
        debug_assert!(u64::from(span).is_multiple_of(self.round()), "buckets keep their places");
        self.now = self.now.moved(span);
        self.last = self.length.batch(self.now) + (SEEN - 1);
        let cycles = self.length.cycles;
        let earlier = |batch: u32| batch.saturating_sub(span / cycles);
        self.far = std::mem::take(&mut self.far).into_iter().map(|(at, all)| (earlier(at), all)).collect();
        self.first_far = self.far.first_key_value().map_or(u32::MAX, |(&batch, _)| batch);
        let far = self.far.values_mut().flatten().filter_map(|what| match what {
            Far::Letter(letter, _) => Some(&mut **letter),
            Far::Item(..) => None,
        });
        let near = self.batches.iter_mut().chain(self.others.iter_mut().flatten());
        near.flat_map(|batch| &mut batch.letters).chain(far).for_each(&mut moved);
    }

    /// The first cycle, from now on, in whose batch something is due.
    #[must_use]
    pub fn next(&self) -> Option<Time32> {
        let first = self.length.batch(self.now);
        let is_due = |&batch: &u32| {
            let place = (batch % SEEN) as usize;
            self.all().any(|batches| !batches[place].is_empty())
        };
        let near = (first..first + SEEN).find(is_due);
        let next = near.or_else(|| self.far.first_key_value().map(|(&batch, _)| batch));
        next.map(|batch| self.now.max(self.length.start(batch)))
    }
}

impl<const KINDS: usize, L> Batch<KINDS, L> {
    fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.items.iter().all(|items| items.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeSet;

    type Lists = WorkLists<3, u32>;

    /// Against a set of all that is due, for batches of few cycles and of more.
    #[test]
    fn what_is_due_comes_in_its_batch_and_is_seen_coming() {
        for cycles in [2, 5, 16] {
            against_a_set(cycles);
        }
    }

    fn against_a_set(cycles: u32) {
        for parts in [1, 16, 70, 2_000] {
            let mut stream = Stream::new(parts, 0, Purpose::Test);
            let mut lists = WorkLists::<1, ()>::new(parts as usize, 5, cycles);
            let mut model: BTreeSet<(u32, u32)> = BTreeSet::new();
            let (mut due, mut of_block) = (Vec::new(), Bucket::default());
            for _ in 0..200 {
                for _ in 0..stream.below(9) {
                    let part = stream.below(parts) as u32;
                    let at = lists.now() + stream.below(2 * u64::from(SEEN * cycles));
                    lists.call(0, part, lists.block_of(part), at);
                    lists.turn_to(lists.block_of(part));
                    lists.wake(0, part, at);
                    model.insert((at.0 / cycles, part));
                }
                let next = model.first().map(|&(batch, _)| lists.now().max(Time32(batch * cycles)));
                assert_eq!(lists.next(), next);
                let now = lists.now().0 / cycles;
                due.clear();
                for block in 0..lists.blocks() {
                    lists.turn_to(block);
                    lists.take(0, &mut of_block);
                    assert!(of_block.iter().all(|&part| lists.block_of(part) == block));
                    due.extend_from_slice(&of_block);
                }
                due.sort_unstable();
                due.dedup();
                let expected: Vec<u32> =
                    model.iter().filter(|&&(batch, _)| batch == now).map(|&(_, part)| part).collect();
                assert_eq!(due, expected);
                model.retain(|&(batch, _)| batch != now);
                lists.pass(lists.end());
            }
        }
    }

    #[test]
    fn kinds_are_apart() {
        let mut lists = Lists::new(100, 6, 16);
        lists.turn_to(1);
        lists.wake_if(1, 70, Time32(40), true);
        lists.wake_if(1, 71, Time32(40), false);
        lists.call(2, 7, 0, Time32(50));
        assert_eq!((lists.next(), lists.far()), (Some(Time32(32)), Time32(512)));
        lists.pass(Time32(32));
        lists.pass(Time32(35));
        let mut due = Bucket::default();
        lists.take(0, &mut due);
        assert_eq!(due[..], []);
        lists.take(1, &mut due);
        assert_eq!((&due[..], lists.next()), (&[70][..], Some(Time32(48))));
        lists.pass(Time32(48));
        lists.turn_to(0);
        lists.take(2, &mut due);
        assert_eq!((&due[..], lists.next()), (&[7][..], None));
    }

    #[test]
    fn letters_move_with_the_epoch() {
        let mut lists = Lists::new(10, 6, 16);
        lists.pass(Time32(1_024));
        lists.post(0, 1_030, Time32(1_030));
        lists.post(0, 9_000, Time32(9_000));
        lists.count_from(1_024, |letter| *letter -= 1_024);
        assert_eq!((lists.now(), lists.next(), lists.letters().count()), (Time32(0), Some(Time32(0)), 2));
        let mut read = Vec::new();
        lists.take_letters(&mut read);
        assert_eq!(read, [6]);
        assert_eq!(lists.next(), Some(Time32(7_968)));
    }
}
