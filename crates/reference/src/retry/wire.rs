//! What is on the way on a channel.

/// The most that a channel has room for.
pub(super) const CAPACITY_MAX: usize = 3;

/// A packet, as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// Its sequence number, as many bits as the wire has.
    pub(super) sequence: u16,
    /// Its true number, modulo [`super::world::PAYLOADS`].
    pub(super) payload: u8,
}

/// An acknowledgement, as it is on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) expected: u16,
    pub(super) is_nack: bool,
    pub(super) returned: [u16; 2],
}

/// What is on the way on one channel, the first to come out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queue<T> {
    items: [Option<T>; CAPACITY_MAX],
}

impl<T: Copy> Queue<T> {
    pub(super) const EMPTY: Queue<T> = Queue { items: [None; CAPACITY_MAX] };

    pub(super) fn len(&self) -> usize {
        self.items.iter().take_while(|item| item.is_some()).count()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.items.into_iter().flatten()
    }

    pub(super) fn get(&self, position: usize) -> T {
        self.items[position].expect("something is on the way there")
    }

    /// Puts one in; if there is no room, it is lost.
    pub(super) fn push(&mut self, item: T, capacity: usize) {
        let len = self.len();
        if len < capacity {
            self.items[len] = Some(item);
        }
    }

    pub(super) fn take(&mut self, position: usize) -> T {
        let item = self.get(position);
        self.items.copy_within(position + 1.., position);
        self.items[CAPACITY_MAX - 1] = None;
        item
    }

    pub(super) fn replace(&mut self, position: usize, item: T) {
        self.items[position] = Some(item);
    }

    pub(super) fn map(&self, change: impl Fn(T) -> T) -> Self {
        Queue { items: self.items.map(|item| item.map(&change)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_the_order_and_loses_what_finds_no_room() {
        let mut queue = Queue::EMPTY;
        (1..=3).for_each(|item| queue.push(item, 2));
        assert_eq!(queue.iter().collect::<Vec<_>>(), [1, 2]);
        queue.push(3, 3);
        queue.replace(0, 7);
        assert_eq!((queue.take(1), queue.len()), (2, 2));
        assert_eq!(queue.map(|item| item * 10).iter().collect::<Vec<_>>(), [70, 30]);
        assert_eq!((queue.take(0), queue.take(0), queue.len()), (7, 3, 0));
    }
}
