//! The agenda of one component: what it has to do, by cycle.
//!
//! A component numbers the things it may have to do: its *slots* (a link scheduler, a request, an arbiter). A slot comes
//! out in the cycle it was asked for, or earlier; slots come out by (cycle, slot number), and a handler may ask for
//! higher slots in the cycle being handled: slot numbers are the phases of a cycle. What a slot has to do, and whether
//! the time has come, only its component knows: *a handler that finds itself early asks again*, and one that finds
//! nothing to do does nothing. That is what makes an agenda cheap: asking sets a bit.
//!
//! A wheel of bit masks: a row for each of the next 64 cycles, and 16 rows for blocks of 64 cycles beyond. What is asked
//! for beyond the next 64 cycles comes out in the first cycle of its block at the latest.

use crate::{Cycle, prefetch};

/// Cycles that have a row of their own, and cycles of a block beyond.
const NEAR: u64 = 64;
/// Blocks beyond.
const BLOCKS: u64 = 16;

/// What one component has to do, by cycle.
#[derive(Debug)]
pub struct Agenda {
    /// No slot comes out before this cycle any more.
    now: u64,
    /// Cycles from `now` on that hold a bit, by `cycle % NEAR`.
    near: u64,
    /// First cycle of the first block beyond that holds a bit.
    far: u64,
    /// Blocks beyond that hold a bit, by `block number % BLOCKS`.
    blocks: u64,
    words: usize,
    /// `NEAR` rows of `words`, then `BLOCKS` rows of `words`.
    bits: Box<[u64]>,
}

impl Agenda {
    /// An empty agenda of `slots` slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let words = slots.div_ceil(64);
        let bits = vec![0; words * (NEAR + BLOCKS) as usize].into_boxed_slice();
        Agenda { now: 0, near: 0, far: u64::MAX, blocks: 0, words, bits }
    }

    /// Bytes that an agenda of `slots` slots has outside itself.
    #[must_use]
    pub fn bytes(slots: usize) -> usize {
        8 * slots.div_ceil(64) * (NEAR + BLOCKS) as usize
    }

    /// Asks for `slot` to come out no later than in cycle `at`, which is not before what has come out already.
    #[inline]
    pub fn schedule(&mut self, slot: usize, at: Cycle) {
        debug_assert!(at.0 >= self.now, "{slot} is scheduled for {at}, before {}", self.now);
        if at.0.wrapping_sub(self.now) < NEAR {
            let row = at.0 % NEAR;
            self.near |= 1 << row;
            self.set(row, slot);
        } else {
            self.schedule_far(slot, at.0 / NEAR);
        }
    }

    /// Beyond the horizon the last block holds it until the wheel comes round.
    fn schedule_far(&mut self, slot: usize, block: u64) {
        let block = block.min(self.now / NEAR + BLOCKS - 1);
        self.blocks |= 1 << (block % BLOCKS);
        self.far = self.far.min(block * NEAR);
        self.set(NEAR + block % BLOCKS, slot);
    }

    #[inline]
    fn set(&mut self, row: u64, slot: usize) {
        self.bits[row as usize * self.words + slot / 64] |= 1 << (slot % 64);
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

    /// Whether one of `slots`, fewer than 64, is still to come out in cycle `now`, the one that is being handled.
    #[inline]
    #[must_use]
    pub fn is_due(&self, slots: std::ops::Range<usize>, now: Cycle) -> bool {
        let (first, shift, count) = (slots.start / 64, slots.start % 64, slots.len());
        if count == 0 {
            return false;
        }
        let row = (now.0 % NEAR) as usize * self.words + first;
        let mut bits = self.bits[row] >> shift;
        if shift + count > 64 {
            bits |= self.bits[row + 1] << (64 - shift);
        }
        bits & ((1 << count) - 1) != 0
    }

    /// Asks the memory for the rows of the cycles before `until`.
    #[inline]
    pub fn prefetch(&self, until: Cycle) {
        let cycles = until.0.saturating_sub(self.now).min(NEAR);
        let first = self.now % NEAR;
        let wrapped = (first + cycles).saturating_sub(NEAR);
        let row = |row: u64| row as usize * self.words;
        prefetch::slice(&self.bits[row(first)..row(first + cycles - wrapped)]);
        prefetch::slice(&self.bits[..row(wrapped)]);
    }

    /// The slots that are known to come out before `until`, in no order that matters; some may be left out.
    #[inline]
    pub fn coming(&self, until: Cycle) -> impl Iterator<Item = usize> {
        let cycles = until.0.saturating_sub(self.now).min(NEAR);
        let window = if cycles == NEAR { u64::MAX } else { (1 << cycles) - 1 };
        let mut rows = self.near & window.rotate_left((self.now % NEAR) as u32);
        let (mut word, mut bits) = (self.words, 0);
        let mut row = 0;
        std::iter::from_fn(move || {
            while bits == 0 {
                if word == self.words {
                    if rows == 0 {
                        return None;
                    }
                    row = rows.trailing_zeros() as usize * self.words;
                    rows &= rows - 1;
                    word = 0;
                }
                bits = self.bits[row + word];
                word += 1;
            }
            let slot = (word - 1) * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            Some(slot)
        })
    }

    /// Lets the time before cycle `start` pass, in which nothing is left to do. What is asked for after a long silence would
    /// otherwise lie beyond all blocks, and come out once in each of them on the way there.
    #[inline]
    pub fn pass(&mut self, start: Cycle) {
        self.now = self.now.max(start.0.min(self.next_near()).min(self.far));
    }

    /// The next slot before `until`, by (cycle, slot).
    #[inline]
    pub fn pop(&mut self, until: Cycle) -> Option<(Cycle, usize)> {
        loop {
            let near = self.next_near();
            if near.min(self.far) >= until.0 {
                self.now = self.now.max(until.0);
                return None;
            }
            if self.far <= near {
                self.enter_block();
                continue;
            }
            self.now = near;
            let row = near % NEAR;
            let slot = if self.words == 1 {
                let word = &mut self.bits[row as usize];
                let slot = word.trailing_zeros() as usize;
                *word &= *word - 1;
                self.near &= !(u64::from(*word == 0) << row);
                slot
            } else {
                self.take_first(row)
            };
            return Some((Cycle(near), slot));
        }
    }

    /// Takes the first slot out of `row`, which has one.
    fn take_first(&mut self, row: u64) -> usize {
        let words = &mut self.bits[row as usize * self.words..][..self.words];
        let number = words.iter().position(|&word| word != 0).unwrap_or(0);
        let slot = number * 64 + words[number].trailing_zeros() as usize;
        words[number] &= words[number].wrapping_sub(1);
        let is_empty = words[number..].iter().all(|&word| word == 0);
        self.near &= !(u64::from(is_empty) << row);
        slot
    }

    /// Lets the slots of the first block beyond come out in its first cycle.
    #[cold]
    fn enter_block(&mut self) {
        self.now = self.now.max(self.far);
        let block = self.far / NEAR;
        self.near |= 1 << (self.now % NEAR);
        let (near, far) =
            ((self.now % NEAR) as usize * self.words, (NEAR + block % BLOCKS) as usize * self.words);
        for word in 0..self.words {
            self.bits[near + word] |= std::mem::take(&mut self.bits[far + word]);
        }
        self.blocks &= !(1 << (block % BLOCKS));
        let next = block + 1;
        let turned = self.blocks >> (next % BLOCKS) | self.blocks << (BLOCKS - next % BLOCKS);
        let ring = turned & ((1 << BLOCKS) - 1);
        self.far = if ring == 0 { u64::MAX } else { (next + u64::from(ring.trailing_zeros())) * NEAR };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// Against the obviously right model: a due cycle per slot, the smallest (cycle, slot) first. The handler knows when
    /// its slot is due, does nothing if that has been, and asks again if it finds itself early.
    #[test]
    fn an_agenda_is_a_sorted_list_of_due_slots() {
        for seed in 0..60 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let slots = 1 + stream.below(200) as usize;
            let reach = [3, 70, 300, 5_000][stream.below(4) as usize];
            let mut agenda = Agenda::new(slots);
            let mut due = vec![Cycle::NEVER; slots];
            let mut now = Cycle::ZERO;
            for _ in 0..2_000 {
                let until = now + stream.below(40);
                let coming: Vec<usize> = agenda.coming(until).collect();
                let near = (0..slots).filter(|&slot| due[slot] < until.min(now + NEAR / 2));
                assert!(reach > 40 || near.clone().all(|slot| coming.contains(&slot)), "seed {seed}");
                agenda.prefetch(until);
                loop {
                    let expected =
                        (0..slots).map(|slot| (due[slot], slot)).min().filter(|&(at, _)| at < until);
                    let popped = loop {
                        match agenda.pop(until) {
                            Some((at, slot)) if due[slot] > at => {
                                if due[slot] != Cycle::NEVER {
                                    agenda.schedule(slot, due[slot]);
                                }
                            }
                            popped => break popped,
                        }
                    };
                    assert_eq!(popped, expected, "seed {seed}");
                    let Some((at, slot)) = expected else { break };
                    due[slot] = Cycle::NEVER;
                    // What is due is known, and little else.
                    let coming = slot + 1..slots.min(slot + 4);
                    if coming.clone().any(|slot| due[slot] == at) {
                        assert!(agenda.is_due(coming, at), "seed {seed}");
                    }
                    assert!(!agenda.is_due(slot..slot + 1, at));
                    if stream.below(2) == 0 && slot + 1 < slots {
                        // A higher slot in the same cycle.
                        let higher = slot + 1 + stream.below((slots - slot - 1) as u64) as usize;
                        agenda.schedule(higher, at);
                        due[higher] = due[higher].min(at);
                    }
                }
                now = now.max(until);
                if stream.below(8) == 0 && agenda.next().is_none() {
                    // A long silence.
                    now += 100 * stream.below(100);
                    agenda.pass(now);
                }
                for _ in 0..stream.below(4) {
                    let slot = stream.below(slots as u64) as usize;
                    let at = now + stream.below(reach);
                    agenda.schedule(slot, at);
                    due[slot] = due[slot].min(at);
                }
                let earliest = due.iter().copied().min().filter(|&at| at != Cycle::NEVER);
                match (agenda.next(), earliest) {
                    (Some(next), Some(earliest)) => assert!(next <= earliest),
                    // What has been done already may still come out.
                    (Some(_) | None, None) => {}
                    (None, Some(earliest)) => panic!("{earliest} is forgotten"),
                }
            }
        }
    }
}
