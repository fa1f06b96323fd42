//! The calendar of a shard: which component has work in which window.
//!
//! Inside a window a component keeps its own [`Agenda`](crate::agenda::Agenda); here stands only *that* it must run.
//! A ring of bit masks, one row a window, and an ordered map for windows beyond the ring.

use std::collections::BTreeMap;

const ROWS: u64 = 64;

/// Which component has work in which window.
#[derive(Debug)]
pub struct Calendar {
    /// The window that was taken last.
    now: u64,
    /// Rows that hold a bit, by `window % ROWS`.
    rows: u64,
    words: usize,
    bits: Vec<u64>,
    far: BTreeMap<u64, Vec<u32>>,
}

impl Calendar {
    /// An empty calendar for `components` components, before window 0.
    #[must_use]
    pub fn new(components: usize) -> Self {
        let words = components.div_ceil(64);
        Calendar { now: 0, rows: 0, words, bits: vec![0; words * ROWS as usize], far: BTreeMap::new() }
    }

    /// Asks for `component` to run in `window`; if that has passed, in the one taken last, which is then taken again.
    #[inline(always)]
    pub fn schedule(&mut self, component: u32, window: u64) {
        let window = window.max(self.now);
        if window < self.now + ROWS {
            let row = window % ROWS;
            self.rows |= 1 << row;
            self.bits[row as usize * self.words + component as usize / 64] |= 1 << (component % 64);
        } else {
            self.schedule_far(component, window);
        }
    }

    #[cold]
    #[inline(never)]
    fn schedule_far(&mut self, component: u32, window: u64) {
        self.far.entry(window).or_default().push(component);
    }

    /// The first window with work.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        if self.rows != 0 {
            let ahead = self.rows.rotate_right((self.now % ROWS) as u32).trailing_zeros();
            return Some(self.now + u64::from(ahead));
        }
        self.far.first_key_value().map(|(&window, _)| window)
    }

    /// Hands the components with work in `window` to `due`, in order.
    ///
    /// # Panics
    /// If there is work in an earlier one.
    pub fn take(&mut self, window: u64, due: &mut Vec<u32>) {
        assert!(self.next().unwrap_or(window) >= window.max(self.now), "work of an earlier window is left");
        due.clear();
        self.now = window;
        self.refill();
        let row = window % ROWS;
        if self.rows >> row & 1 == 1 {
            self.rows &= !(1 << row);
            let words = &mut self.bits[row as usize * self.words..][..self.words];
            for (number, word) in (0..).zip(words) {
                let mut bits = std::mem::take(word);
                while bits != 0 {
                    due.push(number * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Brings windows that have come within reach from the map into the ring.
    fn refill(&mut self) {
        while let Some(entry) = self.far.first_entry().filter(|entry| *entry.key() < self.now + ROWS) {
            let (window, components) = entry.remove_entry();
            for component in components {
                self.schedule(component, window);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeSet;

    #[test]
    fn a_calendar_is_a_sorted_set_of_windows_and_components() {
        for seed in 0..40 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let components = 1 + stream.below(300);
            let mut calendar = Calendar::new(components as usize);
            let mut model: BTreeSet<(u64, u32)> = BTreeSet::new();
            let (mut now, mut due) = (0, Vec::new());
            for _ in 0..500 {
                for _ in 0..stream.below(5) {
                    let reach = if stream.below(4) == 0 { 500 } else { 20 };
                    let window = now + stream.below(reach);
                    let component = stream.below(components) as u32;
                    calendar.schedule(component, window);
                    model.insert((window, component));
                }
                let first = model.first().map(|&(window, _)| window);
                assert_eq!(calendar.next(), first, "seed {seed}");
                let Some(window) = first else { continue };
                calendar.take(window, &mut due);
                assert!(due.is_sorted(), "seed {seed}");
                for component in 0..components as u32 {
                    let is_due = due.iter().filter(|&&due| due == component).count();
                    assert_eq!(is_due, usize::from(model.remove(&(window, component))), "seed {seed}");
                }
                if stream.below(4) == 0 {
                    // What has passed comes out when the window is taken again.
                    calendar.schedule(0, window.saturating_sub(stream.below(3)));
                    calendar.take(window, &mut due);
                    assert_eq!(due, [0], "seed {seed}");
                }
                now = window + 1;
            }
        }
    }
}
