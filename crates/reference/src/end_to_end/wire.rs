//! What is on the way: in no order.

use flitway_nic::th::end_to_end::{ContextUse, DataTag, Ends, Message};

/// The most that there is room for.
pub(super) const CAPACITY_MAX: usize = 3;

/// A use of a context, in few bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub(super) context: u8,
    pub(super) generation: u8,
}

impl Use {
    pub(super) fn of(it: ContextUse) -> Self {
        Use { context: it.context as u8, generation: it.generation as u8 }
    }

    pub(super) fn wide(self) -> ContextUse {
        ContextUse { context: self.context.into(), generation: self.generation.into() }
    }
}

/// What goes to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Forward {
    /// Of which operation.
    Setup(Use, u8),
    /// For which use, which packet, and of which operation its bytes are.
    Data(Use, u8, u8),
    Ask(Use),
    Release(Use),
}

/// What comes back to the sender, with the uses of the sender and of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Back {
    Ack(Use, Use),
    Refused(Use),
    /// Which packets are missing, a bit each, and whether they found no room.
    Nack(Use, Use, u8, bool),
    Done(Use, Use),
}

impl Forward {
    pub(super) fn data(tag: DataTag, operation: u8) -> Self {
        Forward::Data(Use::of(tag.receiver), tag.sequence as u8, operation)
    }
}

impl Back {
    pub(super) fn of(message: Message) -> Self {
        let both = |Ends { sender, receiver }: Ends| (Use::of(sender), Use::of(receiver));
        match message {
            Message::SetupAck(ends) => Back::Ack(both(ends).0, both(ends).1),
            Message::SetupNack { sender } => Back::Refused(Use::of(sender)),
            Message::Nack { ends, first, missing, is_full } => {
                Back::Nack(both(ends).0, both(ends).1, (missing << first) as u8, is_full)
            }
            Message::Done(ends) => Back::Done(both(ends).0, both(ends).1),
            other => panic!("{other:?} goes the other way"),
        }
    }

    pub(super) fn message(self) -> Message {
        let ends = |sender: Use, receiver: Use| Ends { sender: sender.wide(), receiver: receiver.wide() };
        match self {
            Back::Ack(sender, receiver) => Message::SetupAck(ends(sender, receiver)),
            Back::Refused(sender) => Message::SetupNack { sender: sender.wide() },
            Back::Nack(sender, receiver, missing, is_full) => {
                Message::Nack { ends: ends(sender, receiver), first: 0, missing: missing.into(), is_full }
            }
            Back::Done(sender, receiver) => Message::Done(ends(sender, receiver)),
        }
    }

    /// The uses of sender and receiver that it names.
    pub(super) fn uses(&mut self) -> (&mut Use, Option<&mut Use>) {
        match self {
            Back::Refused(sender) => (sender, None),
            Back::Ack(sender, receiver) | Back::Nack(sender, receiver, ..) | Back::Done(sender, receiver) => {
                (sender, Some(receiver))
            }
        }
    }
}

/// What is on the way in one direction; the lowest first, as the order says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bag<T> {
    items: [Option<T>; CAPACITY_MAX],
}

impl<T: Copy + Ord> Bag<T> {
    pub(super) const EMPTY: Bag<T> = Bag { items: [None; CAPACITY_MAX] };

    pub(super) fn len(&self) -> usize {
        self.items.iter().flatten().count()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        self.items.into_iter().flatten()
    }

    pub(super) fn get(&self, place: usize) -> T {
        self.items[place].expect("something is on the way there")
    }

    /// Puts one in; if there is no room, it is lost.
    pub(super) fn push(&mut self, item: T, capacity: usize) {
        let len = self.len();
        if len < capacity {
            self.items[len] = Some(item);
            self.sort();
        }
    }

    pub(super) fn take(&mut self, place: usize) -> T {
        let item = self.get(place);
        self.items.copy_within(place + 1.., place);
        self.items[CAPACITY_MAX - 1] = None;
        item
    }

    fn sort(&mut self) {
        let len = self.len();
        self.items[..len].sort_unstable();
    }

    /// Changes each.
    pub(super) fn change(&mut self, change: impl FnMut(&mut T)) {
        self.items.iter_mut().flatten().for_each(change);
        self.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bag_has_no_order_and_loses_what_finds_no_room() {
        let mut bag = Bag::EMPTY;
        [3, 1, 2].into_iter().for_each(|item| bag.push(item, 2));
        assert_eq!(bag.iter().collect::<Vec<_>>(), [1, 3]);
        bag.change(|item| *item = 4 - *item);
        assert_eq!((bag.take(1), bag.len(), bag.get(0)), (3, 1, 1));
    }
}
