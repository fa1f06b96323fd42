//! A queue in the memory of a process that its NIC fills: a receive queue of mini-packets, or of events.

use std::collections::VecDeque;

/// What a NIC knows of the queue.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    entries: u32,
    /// Entries that are written and, as far as the NIC knows, have not been seen.
    used: u32,
    /// Entries that the process has seen, and the NIC has not been told of.
    seen: u32,
    /// What waits for an entry.
    waiting: VecDeque<T>,
    /// How many have waited, or given up: the number of the first that waits.
    first: u64,
}

impl<T> Ring<T> {
    /// An empty one.
    pub(crate) fn new(entries: u32) -> Self {
        Ring { entries, used: 0, seen: 0, waiting: VecDeque::new(), first: 0 }
    }

    /// Takes an entry for `item`, which comes back if it has one; otherwise it waits, and what comes back is its number.
    pub(crate) fn enter(&mut self, item: T) -> Result<T, u64> {
        if self.enter_if_free() {
            return Ok(item);
        }
        self.waiting.push_back(item);
        Err(self.first + self.waiting.len() as u64 - 1)
    }

    /// Whether an entry is free.
    pub(crate) fn has_room(&self) -> bool {
        self.used < self.entries && self.waiting.is_empty()
    }

    /// Takes an entry, if one is free: whether it has.
    pub(crate) fn enter_if_free(&mut self) -> bool {
        let is_free = self.has_room();
        self.used += u32::from(is_free);
        is_free
    }

    /// The process has seen an entry: how many it tells the NIC of now. It tells of a quarter of them at a time.
    pub(crate) fn see(&mut self) -> Option<u32> {
        self.seen += 1;
        (self.seen >= self.entries.div_ceil(4)).then(|| std::mem::take(&mut self.seen))
    }

    /// The NIC has been told that `entries` are free: what waited for them.
    pub(crate) fn free(&mut self, entries: u32) -> Vec<T> {
        self.used -= entries;
        let fit = self.waiting.len().min((self.entries - self.used) as usize);
        self.used += fit as u32;
        self.first += fit as u64;
        self.waiting.drain(..fit).collect()
    }

    /// What waits under `number` gives up, and what came before it has, too, if it waits still.
    pub(crate) fn give_up(&mut self, number: u64) -> Option<T> {
        if number < self.first {
            return None;
        }
        self.first += 1;
        self.waiting.pop_front()
    }

    /// Whether nothing waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_entry_waits_until_some_are_free_or_gives_up() {
        let mut ring = Ring::new(4);
        assert!((0..4).all(|item| ring.enter(item) == Ok(item)));
        assert_eq!([ring.enter(4), ring.enter(5), ring.enter(6)], [Err(0), Err(1), Err(2)]);
        assert_eq!([ring.see(), ring.see()], [Some(1), Some(1)]);
        assert_eq!(ring.free(1), [4]);
        // The first has its entry; the second gives up; then one is free for the third.
        assert_eq!([ring.give_up(0), ring.give_up(1)], [None, Some(5)]);
        assert_eq!(ring.free(1), [6]);
        assert!(ring.give_up(2).is_none() && ring.is_idle());
    }

    #[test]
    fn a_process_tells_of_a_quarter_at_a_time() {
        let mut ring = Ring::<()>::new(10);
        let told: Vec<Option<u32>> = (0..6).map(|_| ring.see()).collect();
        assert_eq!(told, [None, None, Some(3), None, None, Some(3)]);
    }
}
