//! Linked lists in one arena: queues that are short, many and mostly empty.
//!
//! A [`List`] is eight bytes wherever it lives; its items share the arena of their shard, and the slot freed last is
//! used next, so a busy simulation stays within a few warm cache lines.

/// Arena of list items.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    slots: Vec<(T, u32)>,
    free: u32,
}

/// End of a list, and of the free list.
const NONE: u32 = u32::MAX;

/// A first-in first-out queue whose items live in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE }
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { slots: Vec::new(), free: NONE }
    }
}

impl List {
    /// Whether nothing is in it.
    #[inline]
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

impl<T: Copy> Pool<T> {
    /// Appends `item` to `list`.
    #[inline]
    pub(crate) fn push(&mut self, list: &mut List, item: T) {
        let slot = self.free;
        let slot = if slot == NONE {
            let slot = u32::try_from(self.slots.len()).ok().filter(|&slot| slot != NONE);
            self.slots.push((item, NONE));
            slot.expect("fewer than 2^32 packets are under way")
        } else {
            let place = &mut self.slots[slot as usize];
            self.free = place.1;
            *place = (item, NONE);
            slot
        };
        if list.head == NONE {
            list.head = slot;
        } else {
            self.slots[list.tail as usize].1 = slot;
        }
        list.tail = slot;
    }

    /// Takes the first item of `list`.
    #[inline]
    pub(crate) fn pop(&mut self, list: &mut List) -> Option<T> {
        if list.head == NONE {
            return None;
        }
        let slot = list.head;
        let place = &mut self.slots[slot as usize];
        list.head = std::mem::replace(&mut place.1, self.free);
        self.free = slot;
        Some(place.0)
    }

    /// Moves the first item of `from` to the end of `to`, changed by `change`.
    #[inline]
    pub(crate) fn transfer(&mut self, from: &mut List, to: &mut List, change: impl FnOnce(&mut T)) {
        if from.head == NONE {
            return;
        }
        let slot = from.head;
        let place = &mut self.slots[slot as usize];
        from.head = std::mem::replace(&mut place.1, NONE);
        change(&mut place.0);
        if to.head == NONE {
            to.head = slot;
        } else {
            self.slots[to.tail as usize].1 = slot;
        }
        to.tail = slot;
    }

    /// The first item of `list`.
    #[inline]
    #[must_use]
    pub(crate) fn first(&self, list: &List) -> Option<&T> {
        (list.head != NONE).then(|| &self.slots[list.head as usize].0)
    }

    /// The items of `list`, first to last.
    pub(crate) fn iter(&self, list: &List) -> impl Iterator<Item = &T> {
        let mut at = list.head;
        std::iter::from_fn(move || {
            let (item, next) = self.slots.get(at as usize)?;
            at = *next;
            Some(item)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_queues_and_share_slots() {
        let mut pool = Pool::default();
        let (mut a, mut b) = (List::default(), List::default());
        for n in 0..4 {
            pool.push(&mut a, n);
            pool.push(&mut b, 10 + n);
        }
        assert_eq!(pool.iter(&a).copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((pool.pop(&mut a), pool.first(&a).copied()), (Some(0), Some(1)));
        pool.push(&mut b, 14);
        pool.transfer(&mut a, &mut b, |item| *item += 50);
        assert_eq!(pool.slots.len(), 8, "the freed slot was used again");
        assert_eq!(pool.iter(&a).copied().collect::<Vec<_>>(), [2, 3]);
        assert_eq!(std::iter::from_fn(|| pool.pop(&mut b)).collect::<Vec<_>>(), [10, 11, 12, 13, 14, 51]);
        assert!(b.is_empty() && pool.pop(&mut b).is_none());
    }
}
