//! Linked lists in one arena: queues that are short, many and mostly empty.
//!
//! A [`List`] is eight bytes wherever it lives. An item stays in its slot from the day it is made until it is freed; it
//! is in one list at a time, and to hand it on is to write two links. The slot freed last is used next, so a busy
//! simulation stays within a few warm cache lines.

use flitway_engine::prefetch;
use std::ops::{Index, IndexMut};

/// Where an item lives in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    /// No slot: the end of a list.
    pub const NONE: Slot = Slot(u32::MAX);
}

impl Default for Slot {
    fn default() -> Self {
        Slot::NONE
    }
}

/// An item of a [`Pool`]. It keeps the link itself, which costs nothing where it has a few bytes to spare.
pub trait Linked: Copy {
    /// The slot of the next item in the same list.
    fn next(&self) -> Slot;

    /// Sets it; the pool's business alone.
    fn set_next(&mut self, next: Slot);
}

/// A type whose field `next` is the link.
#[macro_export]
macro_rules! linked {
    ($type:ty) => {
        impl $crate::pool::Linked for $type {
            #[inline]
            fn next(&self) -> $crate::pool::Slot {
                self.next
            }

            #[inline]
            fn set_next(&mut self, next: $crate::pool::Slot) {
                self.next = next;
            }
        }
    };
}
pub use crate::linked;

/// Arena of list items.
#[derive(Debug)]
pub struct Pool<T> {
    items: Vec<T>,
    free: Slot,
}

/// A first-in first-out queue whose items live in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: Slot,
    tail: Slot,
}

/// The same in half the bytes: the slot of the last item, to which the first one is linked. Who asks for the first item reads
/// the last one too.
#[derive(Clone, Copy, Debug)]
pub struct Ring {
    last: Slot,
}

impl Default for Ring {
    fn default() -> Self {
        Ring { last: Slot::NONE }
    }
}

impl Ring {
    /// The slot of the last item; `NONE` if there is none.
    #[inline(always)]
    #[must_use]
    pub fn last(self) -> Slot {
        self.last
    }

    /// Whether nothing is in it.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.last == Slot::NONE
    }
}

impl Default for List {
    fn default() -> Self {
        List { head: Slot::NONE, tail: Slot::NONE }
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { items: Vec::new(), free: Slot::NONE }
    }
}

impl List {
    /// Whether nothing is in it.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == Slot::NONE
    }

    /// The slot of the last item, if there is one.
    #[inline]
    #[must_use]
    pub fn tail(&self) -> Slot {
        if self.is_empty() { Slot::NONE } else { self.tail }
    }

    /// Takes the first item out, behind which is the one in slot `next`, if there is one.
    #[inline(always)]
    pub fn pop_to(&mut self, next: Slot) {
        debug_assert!(!self.is_empty(), "there is one to take out");
        self.head = next;
    }

    /// The slot of the first item; `NONE` if there is none.
    #[inline]
    #[must_use]
    pub fn head(&self) -> Slot {
        self.head
    }
}

impl<T> Index<Slot> for Pool<T> {
    type Output = T;

    #[inline]
    fn index(&self, slot: Slot) -> &T {
        &self.items[slot.0 as usize]
    }
}

impl<T> IndexMut<Slot> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.items[slot.0 as usize]
    }
}

impl<T> Pool<T> {
    /// Asks the memory for what is in `slot`, if that is one.
    #[inline]
    pub fn prefetch(&self, slot: Slot) {
        if let Some(item) = self.items.get(slot.0 as usize) {
            prefetch::line(item);
        }
    }
}

impl<T: Linked> Pool<T> {
    /// Makes a slot for `item`, in no list yet.
    #[inline]
    pub fn put(&mut self, item: T) -> Slot {
        self.put_with(|| item)
    }

    /// The same of what `make` makes, there: what is made elsewhere, field by field, and then copied, is waited for.
    #[inline(always)]
    pub fn put_with(&mut self, make: impl Fn() -> T) -> Slot {
        let slot = self.free;
        if slot == Slot::NONE {
            return self.grow(make());
        }
        let place = &mut self[slot];
        let free = place.next();
        *place = make();
        self.free = free;
        slot
    }

    #[cold]
    fn grow(&mut self, item: T) -> Slot {
        let slot = u32::try_from(self.items.len()).ok().map(Slot).filter(|&slot| slot != Slot::NONE);
        self.items.push(item);
        slot.expect("fewer than 2^32 packets are under way")
    }

    /// Frees `slot`, which is in no list, and gives back what was in it, with the link as it was.
    #[inline]
    pub fn take(&mut self, slot: Slot) -> T {
        let item = self[slot];
        self.free(slot);
        item
    }

    /// Frees `slot`, which is in no list.
    #[inline]
    pub fn free(&mut self, slot: Slot) {
        let free = self.free;
        self.free = slot;
        self[slot].set_next(free);
    }

    /// Frees `slot` and those linked behind it.
    pub fn free_chain(&mut self, slot: Slot) {
        let mut slot = slot;
        while slot != Slot::NONE {
            let next = self[slot].next();
            self.take(slot);
            slot = next;
        }
    }

    /// Appends the item in `slot`, which is in no list, to `list`.
    #[inline]
    pub fn append(&mut self, list: &mut List, slot: Slot) {
        self[slot].set_next(Slot::NONE);
        if list.head == Slot::NONE {
            list.head = slot;
        } else {
            self[list.tail].set_next(slot);
        }
        list.tail = slot;
    }

    /// Appends the item in `slot`, which is linked to none, to `list`. It is not touched.
    #[inline(always)]
    pub fn append_ended(&mut self, list: &mut List, slot: Slot) {
        debug_assert!(self[slot].next() == Slot::NONE, "it is linked to none");
        if list.head == Slot::NONE {
            list.head = slot;
        } else {
            self[list.tail].set_next(slot);
        }
        list.tail = slot;
    }

    /// Takes the first item out of `list`, but not out of the pool; `NONE` if there is none.
    #[inline]
    pub fn unlink(&mut self, list: &mut List) -> Slot {
        let slot = list.head;
        if slot != Slot::NONE {
            list.head = self[slot].next();
        }
        slot
    }

    /// Takes the first item out of `list`, which has one, but not out of the pool.
    #[inline(always)]
    pub fn pop(&mut self, list: &mut List) -> (Slot, &mut T) {
        let slot = list.head;
        let item = &mut self[slot];
        list.head = item.next();
        (slot, item)
    }

    /// The first item of `list`.
    #[inline]
    #[must_use]
    pub fn first(&self, list: &List) -> Option<&T> {
        (list.head != Slot::NONE).then(|| &self[list.head])
    }

    /// The items of `list`, first to last.
    pub fn iter(&self, list: &List) -> impl Iterator<Item = &T> {
        self.chain(list.head)
    }

    /// Puts `item` into the pool, and into `ring`, as the last one.
    #[inline]
    pub fn append_to_ring(&mut self, ring: &mut Ring, item: T) {
        let slot = self.put(item);
        self.link_to_ring(ring, slot);
    }

    /// Links the item in `slot`, which is in no list, to `ring`, as the last one.
    #[inline]
    pub fn link_to_ring(&mut self, ring: &mut Ring, slot: Slot) {
        if ring.is_empty() {
            self[slot].set_next(slot);
        } else {
            let first = self[ring.last].next();
            self[slot].set_next(first);
            self[ring.last].set_next(slot);
        }
        ring.last = slot;
    }

    /// The slot of the first item of `ring`, which has one.
    #[inline]
    #[must_use]
    pub fn head_of_ring(&self, ring: Ring) -> Slot {
        self[ring.last].next()
    }

    /// Takes the first item out of `ring`, which has one, but not out of the pool.
    #[inline]
    pub fn unlink_from_ring(&mut self, ring: &mut Ring) -> Slot {
        let slot = self.head_of_ring(*ring);
        if slot == ring.last {
            ring.last = Slot::NONE;
        } else {
            let next = self[slot].next();
            self[ring.last].set_next(next);
        }
        slot
    }

    /// The first item of `ring`.
    #[inline]
    #[must_use]
    pub fn first_of_ring(&self, ring: Ring) -> Option<&T> {
        (!ring.is_empty()).then(|| &self[self[ring.last].next()])
    }

    /// Takes the first item out of `ring`, and out of the pool.
    #[inline]
    pub fn take_from_ring(&mut self, ring: &mut Ring) -> Option<T> {
        self.take_from_ring_if(ring, |_| true)
    }

    /// The same, if it is such that it `is_due`.
    #[inline]
    pub fn take_from_ring_if(&mut self, ring: &mut Ring, is_due: impl Fn(&T) -> bool) -> Option<T> {
        if ring.is_empty() {
            return None;
        }
        let slot = self.head_of_ring(*ring);
        if !is_due(&self[slot]) {
            return None;
        }
        self.unlink_from_ring(ring);
        Some(self.take(slot))
    }

    /// The items of `ring`, first to last.
    pub fn iter_ring(&self, ring: Ring) -> impl Iterator<Item = &T> {
        let mut left = self.first_of_ring(ring);
        std::iter::from_fn(move || {
            let item = left?;
            left = (!std::ptr::eq(item, &self[ring.last])).then(|| &self[item.next()]);
            Some(item)
        })
    }

    /// Does `what` with the items of `ring`.
    pub fn for_each_in_ring(&mut self, ring: Ring, mut what: impl FnMut(&mut T)) {
        if ring.is_empty() {
            return;
        }
        let mut slot = ring.last;
        loop {
            let item = &mut self[slot];
            what(item);
            slot = item.next();
            if slot == ring.last {
                return;
            }
        }
    }

    /// The item in `slot`, if that is one, and those linked behind it.
    #[inline]
    pub fn chain(&self, slot: Slot) -> impl Iterator<Item = &T> {
        let mut at = slot;
        std::iter::from_fn(move || {
            let item = (at != Slot::NONE).then(|| &self[at])?;
            at = item.next();
            Some(item)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};
    use std::collections::VecDeque;

    #[derive(Clone, Copy, Debug)]
    struct Item(u32, Slot);

    impl Linked for Item {
        fn next(&self) -> Slot {
            self.1
        }

        fn set_next(&mut self, next: Slot) {
            self.1 = next;
        }
    }

    fn push(pool: &mut Pool<Item>, list: &mut List, number: u32) {
        let slot = pool.put(Item(number, Slot::NONE));
        pool.append(list, slot);
    }

    fn numbers(pool: &Pool<Item>, list: &List) -> Vec<u32> {
        pool.iter(list).map(|item| item.0).collect()
    }

    #[test]
    fn lists_are_queues_and_share_slots() {
        let mut pool = Pool::default();
        let (mut a, mut b) = (List::default(), List::default());
        for number in 0..4 {
            push(&mut pool, &mut a, number);
            push(&mut pool, &mut b, 10 + number);
        }
        assert_eq!(numbers(&pool, &a), [0, 1, 2, 3]);
        let first = pool.unlink(&mut a);
        assert_eq!((pool.take(first).0, pool.first(&a).map(|item| item.0)), (0, Some(1)));
        push(&mut pool, &mut b, 14);
        let second = pool.unlink(&mut a);
        pool[second].0 += 50;
        pool.append(&mut b, second);
        assert_eq!(pool.items.len(), 8, "the freed slot was used again");
        assert_eq!(numbers(&pool, &a), [2, 3]);
        assert_eq!(numbers(&pool, &b), [10, 11, 12, 13, 14, 51]);
        pool.free_chain(b.head());
        b = List::default();
        for number in 20..26 {
            push(&mut pool, &mut b, number);
        }
        assert_eq!((pool.items.len(), numbers(&pool, &a)), (8, vec![2, 3]), "what was freed is used again");
        assert_eq!(numbers(&pool, &b), [20, 21, 22, 23, 24, 25]);
    }

    #[test]
    fn rings_are_queues_too() {
        let mut pool = Pool::default();
        let mut stream = Stream::new(1, 0, Purpose::Test);
        let mut rings = [(); 3].map(|()| (Ring::default(), VecDeque::new()));
        for number in 0..5_000 {
            let (ring, model) = &mut rings[stream.below(3) as usize];
            // They grow for a while, and then become empty.
            let grows = number / 500 % 2 == 0;
            if stream.below(5) < if grows { 4 } else { 1 } {
                pool.append_to_ring(ring, Item(number, Slot::NONE));
                model.push_back(number);
            } else {
                assert_eq!(pool.take_from_ring(ring).map(|item| item.0), model.pop_front());
            }
            assert_eq!(pool.first_of_ring(*ring).map(|item| item.0), model.front().copied());
            if number % 50 == 0 {
                pool.for_each_in_ring(*ring, |item| item.0 += 1);
                model.iter_mut().for_each(|number| *number += 1);
            }
            assert!(pool.iter_ring(*ring).map(|item| item.0).eq(model.iter().copied()));
        }
    }
}
