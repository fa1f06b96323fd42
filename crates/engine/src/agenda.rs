//! The agenda of one component: what it has to do, by cycle.
//!
//! A component numbers the things it may have to do: its *slots* (a link scheduler, a request, an arbiter). Each slot
//! has at most one due cycle, and asking for an earlier one replaces it; asking for a later one changes nothing, so a
//! handler that finds itself early asks again. Due slots come out by (cycle, slot number), and a handler may add
//! higher slots in the cycle being handled: slot numbers are the phases of a cycle.
//!
//! A two-level wheel of bit masks: 64 single cycles (the current block), then 16 blocks of 64 cycles. The exact due
//! cycle lives beside the masks, so a bit may be stale and is then skipped. Everything that is looked at often fits a
//! few cache lines, which is what makes an event cost a few nanoseconds.

use crate::Cycle;

const BLOCK: u64 = 64;
const BLOCKS: u64 = 16;

/// What one component has to do, by cycle.
#[derive(Debug)]
pub struct Agenda {
    /// First cycle of the current block.
    block: u64,
    /// Cycles of the current block that hold a bit.
    near_cycles: u64,
    /// Later blocks that hold a bit, by `block number % BLOCKS`.
    far_blocks: u64,
    words: usize,
    /// `BLOCK` rows of `words`, then `BLOCKS` rows of `words`.
    bits: Box<[u64]>,
    /// When each slot is due; `NEVER` if it is not.
    due: Box<[Cycle]>,
}

impl Agenda {
    /// An empty agenda of `slots` slots.
    #[must_use]
    pub fn new(slots: usize) -> Self {
        let words = slots.div_ceil(64);
        Agenda {
            block: 0,
            near_cycles: 0,
            far_blocks: 0,
            words,
            bits: vec![0; words * (BLOCK + BLOCKS) as usize].into_boxed_slice(),
            due: vec![Cycle::NEVER; slots].into_boxed_slice(),
        }
    }

    /// Bytes that an agenda of `slots` slots has outside itself.
    #[must_use]
    pub fn bytes(slots: usize) -> usize {
        8 * (slots.div_ceil(64) * (BLOCK + BLOCKS) as usize + slots)
    }

    /// Asks for `slot` to come out at cycle `at`, or earlier if it was asked for earlier.
    #[inline]
    pub fn schedule(&mut self, slot: usize, at: Cycle) {
        debug_assert!(at.0 >= self.block, "{slot} is scheduled for {at}, before block {}", self.block);
        if at < self.due[slot] {
            self.due[slot] = at;
            self.place(slot, at);
        }
    }

    /// When `slot` is due.
    #[inline]
    #[must_use]
    pub fn due(&self, slot: usize) -> Option<Cycle> {
        (self.due[slot] != Cycle::NEVER).then_some(self.due[slot])
    }

    #[inline]
    fn place(&mut self, slot: usize, at: Cycle) {
        let row = if at.0 < self.block + BLOCK {
            let cycle = at.0 % BLOCK;
            self.near_cycles |= 1 << cycle;
            cycle
        } else {
            // Beyond the horizon the last block holds it until the wheel comes round.
            let ahead = ((at.0 - self.block) / BLOCK).min(BLOCKS - 1);
            let far = (self.block / BLOCK + ahead) % BLOCKS;
            self.far_blocks |= 1 << far;
            BLOCK + far
        };
        self.bits[row as usize * self.words + slot / 64] |= 1 << (slot % 64);
    }

    /// The earliest cycle at which something is due, if anything is. Never later than the truth; may be earlier, when
    /// a slot has moved.
    #[must_use]
    pub fn next(&self) -> Option<Cycle> {
        if self.near_cycles != 0 {
            return Some(Cycle(self.block + u64::from(self.near_cycles.trailing_zeros())));
        }
        let (row, number) = self.first_far_block()?;
        // A bit may be stale, or stand for a cycle beyond the horizon: then the truth is no earlier than the next block.
        let mut earliest = Cycle((number + 1) * BLOCK);
        for word in 0..self.words {
            let mut bits = self.bits[row * self.words + word];
            while bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                earliest = earliest.min(self.due[slot]);
            }
        }
        Some(earliest)
    }

    /// Row and number of the first later block that holds a bit.
    fn first_far_block(&self) -> Option<(usize, u64)> {
        if self.far_blocks == 0 {
            return None;
        }
        let here = self.block / BLOCK;
        let ahead = (1..BLOCKS).find(|ahead| self.far_blocks >> ((here + ahead) % BLOCKS) & 1 == 1)?;
        let number = here + ahead;
        Some(((BLOCK + number % BLOCKS) as usize, number))
    }

    /// The next due slot before `until`, by (cycle, slot).
    #[inline]
    pub fn pop(&mut self, until: Cycle) -> Option<(Cycle, usize)> {
        loop {
            while self.near_cycles != 0 {
                let cycle = u64::from(self.near_cycles.trailing_zeros());
                let now = Cycle(self.block + cycle);
                if now >= until {
                    return None;
                }
                let row = cycle as usize * self.words;
                for word in row..row + self.words {
                    while self.bits[word] != 0 {
                        let slot = (word - row) * 64 + self.bits[word].trailing_zeros() as usize;
                        self.bits[word] &= self.bits[word] - 1;
                        if self.due[slot] == now {
                            self.due[slot] = Cycle::NEVER;
                            return Some((now, slot));
                        }
                    }
                }
                self.near_cycles &= self.near_cycles - 1;
            }
            if !self.enter_next_block(until) {
                return None;
            }
        }
    }

    /// Moves on to the next block that holds a bit and starts before `until`; without one, to the block of `until`.
    fn enter_next_block(&mut self, until: Cycle) -> bool {
        let last = if until.0 == 0 { 0 } else { (until.0 - 1) / BLOCK };
        let Some((row, number)) = self.first_far_block().filter(|&(_, number)| number <= last) else {
            self.block = self.block.max(last * BLOCK);
            return false;
        };
        self.block = number * BLOCK;
        self.far_blocks &= !(1 << (number % BLOCKS));
        for word in 0..self.words {
            let mut bits = std::mem::take(&mut self.bits[row * self.words + word]);
            while bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                // A slot that has moved to an earlier cycle has its bit there, or has already come out.
                if self.due[slot] != Cycle::NEVER && self.due[slot].0 >= self.block {
                    self.place(slot, self.due[slot]);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    /// Against the obviously right model: a due cycle per slot, the smallest (cycle, slot) first.
    #[test]
    fn an_agenda_is_a_sorted_list_of_due_slots() {
        for seed in 0..60 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let slots = 1 + stream.below(200) as usize;
            let reach = [3, 70, 300, 5_000][stream.below(4) as usize];
            let mut agenda = Agenda::new(slots);
            let mut model = vec![Cycle::NEVER; slots];
            let mut now = Cycle::ZERO;
            for _ in 0..2_000 {
                let until = now + stream.below(40);
                loop {
                    let expected =
                        (0..slots).map(|slot| (model[slot], slot)).min().filter(|&(at, _)| at < until);
                    assert_eq!(agenda.pop(until), expected, "seed {seed}");
                    let Some((at, slot)) = expected else { break };
                    model[slot] = Cycle::NEVER;
                    if stream.below(2) == 0 && slot + 1 < slots {
                        // A higher slot in the same cycle.
                        let higher = slot + 1 + stream.below((slots - slot - 1) as u64) as usize;
                        agenda.schedule(higher, at);
                        model[higher] = model[higher].min(at);
                    }
                }
                now = now.max(until);
                for _ in 0..stream.below(4) {
                    let slot = stream.below(slots as u64) as usize;
                    let at = now + stream.below(reach);
                    agenda.schedule(slot, at);
                    model[slot] = model[slot].min(at);
                }
                let earliest = model.iter().copied().min().filter(|&at| at != Cycle::NEVER);
                match (agenda.next(), earliest) {
                    (Some(next), Some(earliest)) => assert!(next <= earliest),
                    (next, earliest) => assert!(earliest.is_none(), "{next:?} {earliest:?}"),
                }
            }
        }
    }
}
