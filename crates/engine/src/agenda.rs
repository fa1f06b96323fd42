//! The agenda of one component: what it has to do, by cycle.
//!
//! A component numbers the things it may have to do: its *slots* (a link scheduler, a request, an arbiter). Slots come out
//! by (cycle, slot number), and a handler may ask for higher slots in the cycle being handled: slot numbers are the phases
//! of a cycle. Asking twice for a slot and cycle is asking once. What a slot has to do, and whether that has been done
//! meanwhile, only its component knows: a handler that finds nothing to do does nothing. That is what makes an agenda
//! cheap: asking sets a bit, and nothing has to be taken back.
//!
//! A wheel of bit masks, a row for each of the next 64 cycles, and a list of what is due later.

use crate::{Cycle, prefetch};

/// Cycles that have a row of their own.
const NEAR: u64 = 64;

/// What one component has to do, by cycle.
#[derive(Debug)]
pub struct Agenda {
    /// No slot comes out before this cycle any more.
    now: u64,
    /// Cycles from `now` on that hold a bit, by `cycle % NEAR`.
    near: u64,
    /// The first cycle of what is due later.
    far: u64,
    words: usize,
    /// By word and row: slot `s` of the cycles of row `r` is bit `s % 64` of word `s / 64`, which has `NEAR` rows.
    bits: Box<[u64]>,
    /// What is due later; the same may stand there more than once.
    later: Vec<Entry>,
}

/// A cycle, and in its low bits a slot.
#[derive(Clone, Copy, Debug)]
struct Entry(u64);

const SLOT_BITS: u32 = 12;

impl Entry {
    /// No simulation gets to what is too far off to be told from the last cycle that can be written.
    #[inline]
    fn new(at: u64, slot: usize) -> Self {
        Entry(at.min(u64::MAX >> SLOT_BITS) << SLOT_BITS | slot as u64)
    }

    #[inline]
    fn at(self) -> u64 {
        self.0 >> SLOT_BITS
    }

    #[inline]
    fn slot(self) -> usize {
        (self.0 & ((1 << SLOT_BITS) - 1)) as usize
    }
}

/// For dates that move and are asked for again and again, most of them far off: the first of several timers. See
/// [`Agenda::remind`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Reminder {
    /// The slot comes out in this cycle, if that is still to come.
    at: Cycle,
}

impl Agenda {
    /// The most slots that a component can have.
    pub const SLOTS_MAX: usize = 1 << SLOT_BITS;

    /// An empty agenda of `slots` slots.
    ///
    /// # Panics
    /// If there are too many.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        assert!(slots <= Self::SLOTS_MAX, "a component has up to {} slots, not {slots}", Self::SLOTS_MAX);
        let words = slots.div_ceil(64);
        let bits = vec![0; words * NEAR as usize].into_boxed_slice();
        Agenda { now: 0, near: 0, far: u64::MAX, words, bits, later: Vec::new() }
    }

    /// Bytes that an agenda of `slots` slots has outside itself.
    #[must_use]
    pub fn bytes(slots: usize) -> usize {
        8 * slots.div_ceil(64) * NEAR as usize
    }

    /// Asks for `slot` to come out in cycle `at`, which is not before what has come out already.
    #[inline]
    pub fn schedule(&mut self, slot: usize, at: Cycle) {
        debug_assert!(at.0 >= self.now, "{slot} is scheduled for {at}, before {}", self.now);
        if at.0.wrapping_sub(self.now) < NEAR {
            let row = at.0 % NEAR;
            self.near |= 1 << row;
            self.set(row, slot);
        } else {
            self.schedule_later(slot, at.0);
        }
    }

    /// Asks for `slot` to come out in cycle `at` or before, when its component asks again. So dates that move on do not pile
    /// up: as long as one stands nothing is asked for that comes after it.
    pub fn remind(&mut self, reminder: &mut Reminder, slot: usize, at: Cycle) {
        if at.0 < self.now + NEAR {
            self.schedule(slot, at);
        } else if reminder.at.0 <= self.now || at < reminder.at {
            reminder.at = at;
            self.schedule(slot, at);
        }
    }

    #[inline(never)]
    fn schedule_later(&mut self, slot: usize, at: u64) {
        let entry = Entry::new(at, slot);
        self.far = self.far.min(entry.at());
        self.later.push(entry);
    }

    #[inline]
    fn set(&mut self, row: u64, slot: usize) {
        self.bits[slot / 64 * NEAR as usize + row as usize] |= 1 << (slot % 64);
    }

    /// The first cycle with a row of its own that holds a bit.
    #[inline]
    fn next_near(&self) -> u64 {
        if self.near == 0 {
            return u64::MAX;
        }
        self.now + u64::from(self.near.rotate_right((self.now % NEAR) as u32).trailing_zeros())
    }

    /// The cycle in which the next slot comes out, if there is any.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<Cycle> {
        let next = self.next_near().min(self.far);
        (next != u64::MAX).then_some(Cycle(next))
    }

    /// The slots of the word of `slot` that are still to come out in cycle `now`, the one that is being handled.
    #[inline]
    #[must_use]
    pub fn left(&self, slot: usize, now: Cycle) -> u64 {
        self.bits[slot / 64 * NEAR as usize + (now.0 % NEAR) as usize]
    }

    /// Whether one of the slots behind `slot`, so many and fewer than 63, is still to come out in cycle `now`, the one that is
    /// being handled; of the word of `slot` those are `left`.
    #[inline]
    #[must_use]
    pub fn is_due_behind(&self, left: u64, slot: usize, count: usize, now: Cycle) -> bool {
        debug_assert!(count < 63, "{count} slots are more than a word");
        let shift = slot % 64;
        let mut bits = left >> shift;
        if shift + count > 63 {
            bits |= self.left(slot + 64, now) << (64 - shift);
        }
        bits >> 1 & ((1 << count) - 1) != 0
    }

    /// Asks the memory for the rows of the cycles before `until`.
    #[inline]
    pub fn prefetch(&self, until: Cycle) {
        let cycles = until.0.saturating_sub(self.now).min(NEAR);
        let first = self.now % NEAR;
        let wrapped = (first + cycles).saturating_sub(NEAR);
        for rows in self.bits.chunks_exact(NEAR as usize) {
            prefetch::slice(&rows[first as usize..(first + cycles - wrapped) as usize]);
            prefetch::slice(&rows[..wrapped as usize]);
        }
    }

    /// The slots that are to come out before `until`, as far as they have a row of their own by now.
    #[inline]
    pub fn coming(&self, until: Cycle) -> impl Iterator<Item = usize> {
        let cycles = until.0.saturating_sub(self.now).min(NEAR);
        let window = if cycles == NEAR { u64::MAX } else { (1 << cycles) - 1 };
        let rows = self.near & window.rotate_left((self.now % NEAR) as u32);
        (0..self.words).flat_map(move |word| {
            let (mut rows, mut slots) = (rows, 0);
            while rows != 0 {
                slots |= self.bits[word * NEAR as usize + rows.trailing_zeros() as usize];
                rows &= rows - 1;
            }
            std::iter::from_fn(move || {
                let slot = word * 64 + slots.trailing_zeros() as usize;
                let is_some = slots != 0;
                slots &= slots.wrapping_sub(1);
                is_some.then_some(slot)
            })
        })
    }

    /// Lets the time before cycle `start` pass, in which nothing is left to do.
    #[inline]
    pub fn pass(&mut self, start: Cycle) {
        self.now = self.now.max(start.0.min(self.next_near()).min(self.far));
    }

    /// Goes on to the first cycle before `until` in which a slot comes out.
    #[inline(always)]
    fn go_on(&mut self, until: Cycle) -> Option<Cycle> {
        loop {
            let near = self.next_near();
            if near.min(self.far) >= until.0 {
                self.now = self.now.max(until.0);
                return None;
            }
            if near < self.far {
                self.now = near;
                return Some(Cycle(near));
            }
            self.take_over();
        }
    }

    /// The next slot before `until`, by (cycle, slot).
    #[inline(always)]
    pub fn pop(&mut self, until: Cycle) -> Option<(Cycle, usize)> {
        let now = self.go_on(until)?;
        let row = now.0 % NEAR;
        let slot = if self.words == 1 {
            let word = &mut self.bits[row as usize];
            let slot = word.trailing_zeros() as usize;
            *word &= *word - 1;
            self.near &= !(u64::from(*word == 0) << row);
            slot
        } else {
            self.take_first_of(row)
        };
        Some((now, slot))
    }

    /// The first cycle before `until` in which slots come out: all at once, for a component that knows which of them ask for
    /// which. It takes all of them, with [`take`](Self::take) and [`take_first`](Self::take_first).
    #[inline]
    pub fn open(&mut self, until: Cycle) -> Option<Cycle> {
        let now = self.go_on(until)?;
        self.near &= !(1 << (now.0 % NEAR));
        Some(now)
    }

    /// The first cycle before `until` in which slots come out. Its component takes all of them, those that are asked for
    /// meanwhile included, word by word with [`take_next`](Self::take_next), and then [closes](Self::close) the cycle.
    #[inline(always)]
    pub fn reach(&mut self, until: Cycle) -> Option<Cycle> {
        self.go_on(until)
    }

    /// Takes the first slot of `word` out of cycle `now`, which has been reached, if one is due.
    #[inline(always)]
    pub fn take_next(&mut self, now: Cycle, word: usize) -> Option<usize> {
        let bits = &mut self.bits[word * NEAR as usize + (now.0 % NEAR) as usize];
        let due = *bits;
        *bits = due & due.wrapping_sub(1);
        (due != 0).then_some(word * 64 + due.trailing_zeros() as usize)
    }

    /// Cycle `now` has been reached, and all of its slots have been taken.
    #[inline]
    pub fn close(&mut self, now: Cycle) {
        debug_assert!(
            (0..self.words).all(|word| self.left(64 * word, now) == 0),
            "no slot is asked for in a word that has been passed"
        );
        self.near &= !(1 << (now.0 % NEAR));
    }

    /// Words of 64 slots.
    #[inline]
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// Takes the slots of `word` out of cycle `now`, which has been opened. Returns those that were due.
    #[inline]
    pub fn take(&mut self, now: Cycle, word: usize) -> u64 {
        std::mem::take(&mut self.bits[word * NEAR as usize + (now.0 % NEAR) as usize])
    }

    /// Takes the first slot of `mask` in the first word out of cycle `now`, which has been opened, if one is due.
    #[inline]
    pub fn take_first(&mut self, now: Cycle, mask: u64) -> Option<usize> {
        let bits = &mut self.bits[(now.0 % NEAR) as usize];
        let due = *bits & mask;
        *bits ^= due & due.wrapping_neg();
        (due != 0).then_some(due.trailing_zeros() as usize)
    }

    /// Takes the first slot out of `row`, which has one.
    #[inline(always)]
    fn take_first_of(&mut self, row: u64) -> usize {
        // A row that is said to hold a bit holds one.
        let mut place = row as usize;
        while self.bits[place] == 0 {
            place += NEAR as usize;
        }
        let word = self.bits[place];
        let left = word & (word - 1);
        self.bits[place] = left;
        if left == 0
            && !self.bits[place..].iter().skip(NEAR as usize).step_by(NEAR as usize).any(|word| *word != 0)
        {
            self.near &= !(1 << row);
        }
        place / NEAR as usize * 64 + word.trailing_zeros() as usize
    }

    /// Gives what is due in the 64 cycles from the first on that is due later rows of their own.
    #[inline(never)]
    fn take_over(&mut self) {
        self.now = self.now.max(self.far);
        let (mut kept, mut far) = (0, u64::MAX);
        for index in 0..self.later.len() {
            let entry = self.later[index];
            let at = entry.at();
            if at < self.now + NEAR {
                self.near |= 1 << (at % NEAR);
                self.set(at % NEAR, entry.slot());
            } else {
                self.later[kept] = entry;
                kept += 1;
                far = far.min(at);
            }
        }
        self.later.truncate(kept);
        self.far = far;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeSet;

    /// Timers of two lengths, armed anew again and again, the first of which is asked for whenever something happens: it comes
    /// out in time, and the agenda does not fill with it.
    #[test]
    fn reminders_of_timers_do_not_pile_up() {
        let mut stream = Stream::new(0, 0, Purpose::Test);
        let (mut agenda, mut reminder) = (Agenda::new(1), Reminder::default());
        let lengths = [3_000, 3_000, 3_000, 3_000, 20_000, 20_000];
        let mut timers = lengths;
        let mut asked = 0;
        for now in 0..200_000 {
            let comes_out = agenda.pop(Cycle(now + 1)).is_some();
            let expires = timers.contains(&now);
            assert!(comes_out || !expires, "a timer expires in cycle {now}");
            let happens = stream.below(4) == 0;
            if happens {
                let timer = stream.below(6) as usize;
                timers[timer] = now + lengths[timer];
                agenda.schedule(0, Cycle(now + 1 + stream.below(20)));
            }
            if happens || comes_out {
                for (timer, length) in timers.iter_mut().zip(lengths).filter(|(timer, _)| **timer <= now) {
                    *timer = now + length;
                }
                let first = *timers.iter().min().unwrap();
                agenda.remind(&mut reminder, 0, Cycle(first));
                asked += 1;
            }
            assert!(agenda.later.len() <= 10, "{} entries", agenda.later.len());
        }
        assert!(asked > 40_000, "{asked}");
    }

    /// All that is due in a cycle at once: first slots that may ask for others in the same cycle, themselves included, then the
    /// rest.
    #[test]
    fn cycles_that_are_opened_hold_what_would_come_out_one_by_one() {
        for seed in 0..80 {
            let mut stream = Stream::new(seed, 1, Purpose::Test);
            let first = 1 + stream.below(64);
            let slots = first + 1 + stream.below(200);
            let reach = [3, 70, 300][stream.below(3) as usize];
            let mut agenda = Agenda::new(slots as usize);
            let mut model: BTreeSet<(u64, usize)> = BTreeSet::new();
            let (mut until, mut opened) = (0, 0);
            while opened < 300 {
                until += 1 + stream.below(40);
                while let Some(Cycle(now)) = agenda.open(Cycle(until)) {
                    opened += 1;
                    while let Some(slot) = agenda.take_first(Cycle(now), u64::MAX >> (64 - first)) {
                        assert_eq!(model.pop_first(), Some((now, slot)), "seed {seed}");
                        if stream.below(3) == 0 {
                            let again = [slot as u64, first + stream.below(slots - first)];
                            let again = again[stream.below(2) as usize] as usize;
                            agenda.schedule(again, Cycle(now));
                            model.insert((now, again));
                        }
                    }
                    for word in 0..agenda.words() {
                        let mut left = agenda.take(Cycle(now), word);
                        while left != 0 {
                            let slot = word * 64 + left.trailing_zeros() as usize;
                            left &= left - 1;
                            assert_eq!(model.pop_first(), Some((now, slot)), "seed {seed}");
                            let higher = slot + 1..(slots as usize).min(slot + 4);
                            let is_due = higher.clone().any(|slot| model.contains(&(now, slot)));
                            let due = agenda.is_due_behind(left, slot, higher.len(), Cycle(now));
                            assert_eq!(due, is_due, "seed {seed}");
                        }
                    }
                }
                assert!(model.first().is_none_or(|first| first.0 >= until), "seed {seed}");
                for _ in 0..stream.below(6) {
                    let entry = (until + stream.below(reach), stream.below(slots) as usize);
                    agenda.schedule(entry.1, Cycle(entry.0));
                    model.insert(entry);
                }
            }
        }
    }

    /// Cycle by cycle and word by word comes out what would come out one by one, what is asked for meanwhile included.
    #[test]
    fn cycles_that_are_reached_hold_what_would_come_out_one_by_one() {
        for seed in 0..80 {
            let mut stream = Stream::new(seed, 2, Purpose::Test);
            let slots = 1 + stream.below(200);
            let reach = [3, 70, 300][stream.below(3) as usize];
            let mut agenda = Agenda::new(slots as usize);
            let mut model: BTreeSet<(u64, usize)> = BTreeSet::new();
            let (mut until, mut reached) = (0, 0);
            while reached < 300 {
                until += 1 + stream.below(40);
                while let Some(Cycle(now)) = agenda.reach(Cycle(until)) {
                    reached += 1;
                    for word in 0..agenda.words() {
                        while let Some(slot) = agenda.take_next(Cycle(now), word) {
                            assert_eq!(model.pop_first(), Some((now, slot)), "seed {seed}");
                            let again = slot as u64 + stream.below(slots - slot as u64);
                            let at = now + u64::from(stream.below(3) == 0 || again == slot as u64);
                            if stream.below(2) == 0 {
                                agenda.schedule(again as usize, Cycle(at));
                                model.insert((at, again as usize));
                            }
                        }
                    }
                    agenda.close(Cycle(now));
                }
                assert!(model.first().is_none_or(|first| first.0 >= until), "seed {seed}");
                assert_eq!(agenda.next(), model.first().map(|first| Cycle(first.0)), "seed {seed}");
                for _ in 0..stream.below(6) {
                    let entry = (until + stream.below(reach), stream.below(slots) as usize);
                    agenda.schedule(entry.1, Cycle(entry.0));
                    model.insert(entry);
                }
            }
        }
    }

    /// Against the obviously right model: a sorted set of (cycle, slot).
    #[test]
    fn an_agenda_is_a_sorted_set_of_cycles_and_slots() {
        for seed in 0..80 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let slots = 1 + stream.below(200);
            let reach = [3, 70, 300, 5_000][stream.below(4) as usize];
            let mut agenda = Agenda::new(slots as usize);
            let mut model: BTreeSet<(u64, usize)> = BTreeSet::new();
            let mut now = 0;
            for _ in 0..1_000 {
                let until = now + stream.below([5, 40, 400][seed as usize % 3]);
                let mut coming = model.iter().filter(|entry| entry.0 < until.min(now + NEAR));
                let later =
                    |entry: &(u64, usize)| agenda.later.iter().any(|it| (it.at(), it.slot()) == *entry);
                let known: BTreeSet<usize> = agenda.coming(Cycle(until)).collect();
                assert!(coming.all(|entry| known.contains(&entry.1) || later(entry)), "seed {seed}");
                assert!(known.iter().all(|slot| model.iter().any(|entry| entry.1 == *slot)), "seed {seed}");
                agenda.prefetch(Cycle(until));
                while let Some(first) = model.first().copied().filter(|first| first.0 < until) {
                    assert_eq!(agenda.pop(Cycle(until)), Some((Cycle(first.0), first.1)), "seed {seed}");
                    model.remove(&first);
                    let higher = first.1 + 1..(slots as usize).min(first.1 + 4);
                    let is_due = higher.clone().any(|slot| model.contains(&(first.0, slot)));
                    let left = agenda.left(first.1, Cycle(first.0));
                    let due = agenda.is_due_behind(left, first.1, higher.len(), Cycle(first.0));
                    assert_eq!(due, is_due, "seed {seed}");
                    if stream.below(2) == 0 && !higher.is_empty() {
                        // A higher slot in the same cycle, and another one later.
                        agenda.schedule(higher.start, Cycle(first.0));
                        model.insert((first.0, higher.start));
                        let later = (first.0 + 1 + stream.below(reach), stream.below(slots) as usize);
                        agenda.schedule(later.1, Cycle(later.0));
                        model.insert(later);
                    }
                }
                assert_eq!(agenda.pop(Cycle(until)), None, "seed {seed}");
                now = until;
                if model.is_empty() {
                    // A long silence.
                    now += 100 * stream.below(100);
                    agenda.pass(Cycle(now));
                }
                for _ in 0..stream.below(4) {
                    let entry = (now + stream.below(reach), stream.below(slots) as usize);
                    agenda.schedule(entry.1, Cycle(entry.0));
                    model.insert(entry);
                }
                assert_eq!(agenda.next(), model.first().map(|first| Cycle(first.0)), "seed {seed}");
            }
        }
    }
}
