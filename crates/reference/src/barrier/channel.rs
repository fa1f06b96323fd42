//! The packets in flight on one channel of the tree.

use flitway_fabric::barrier::{Packet, PacketKind, Sequence};

/// In which order packets come out of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they went in (rule 10).
    Fifo,
    /// As they went in, among packets of one kind: a queue for each kind, each of the capacity of the channel.
    FifoPerKind,
    /// Any.
    Any,
}

/// How a channel holds packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// In which order they come out.
    pub order: Order,
    /// How many there is room for; one more, and one is lost.
    pub capacity: usize,
}

/// Which packet a channel loses that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The one that comes.
    Newcomer,
    /// The one that came last: so of two packets that are sent at once either can be the one that gets through.
    Last,
}

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To the parent: combine and dun.
    Up,
    /// To the child: combine-ACK and distribute.
    Down,
}

impl Way {
    /// A packet in two bits: the kind above, S below.
    pub(super) fn code(self, packet: Packet) -> u32 {
        let kind = match (self, packet.kind) {
            (Way::Up, PacketKind::Combine) | (Way::Down, PacketKind::CombineAck) => 0,
            (Way::Up, PacketKind::DistributeDun) | (Way::Down, PacketKind::Distribute) => 2,
            _ => panic!("a packet travels its way"),
        };
        kind | u32::from(packet.sequence.bit())
    }

    fn packet(self, code: u32) -> Packet {
        let kind = match (self, code & 2) {
            (Way::Up, 0) => PacketKind::Combine,
            (Way::Up, _) => PacketKind::DistributeDun,
            (Way::Down, 0) => PacketKind::CombineAck,
            (Way::Down, _) => PacketKind::Distribute,
        };
        Packet { kind, sequence: Sequence::of(u64::from(code)) }
    }
}

/// Packets of two bits each, the first one lowest, and a one above them. So an empty channel is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Channel(u32);

impl Channel {
    pub(super) const EMPTY: Channel = Channel(1);

    /// Bits that hold a channel of so many packets.
    pub(super) const fn width(packets: usize) -> usize {
        2 * packets + 1
    }

    pub(super) fn bits(self) -> u32 {
        self.0
    }

    pub(super) fn from_bits(bits: u32) -> Self {
        Channel(bits)
    }

    pub(super) fn len(self) -> usize {
        self.0.ilog2() as usize / 2
    }

    fn code(self, position: usize) -> u32 {
        self.0 >> (2 * position) & 3
    }

    pub(super) fn packet(self, way: Way, position: usize) -> Packet {
        way.packet(self.code(position))
    }

    /// Where the next packet to come out can be.
    pub(super) fn exits(self, order: Order) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |&position| match order {
            Order::Fifo => position == 0,
            Order::FifoPerKind => {
                (0..position).all(|before| self.code(before) & 2 != self.code(position) & 2)
            }
            Order::Any => (0..position).all(|before| self.code(before) != self.code(position)),
        })
    }

    /// Puts a packet in. Says whether a packet was lost because there was no room. Where the order does not matter,
    /// packets lie sorted, so that equal contents are equal bits.
    pub(super) fn push(&mut self, code: u32, queue: Queue, overflow: Overflow) -> bool {
        let Queue { order, capacity } = queue;
        let alike = |&position: &usize| order != Order::FifoPerKind || self.code(position) & 2 == code & 2;
        let is_full = (0..self.len()).filter(alike).count() == capacity;
        if is_full && overflow == Overflow::Newcomer {
            return true;
        }
        if is_full {
            let last = (0..self.len()).rfind(alike).expect("a full channel holds a packet");
            self.remove(last);
        }
        let rank = |code: u32| match order {
            Order::Fifo => 0,
            Order::FifoPerKind => code & 2,
            Order::Any => code,
        };
        let at = (0..self.len()).filter(|&position| rank(self.code(position)) <= rank(code)).count();
        let below = (1 << (2 * at)) - 1;
        self.0 = self.0 & below | code << (2 * at) | (self.0 & !below) << 2;
        is_full
    }

    pub(super) fn remove(&mut self, position: usize) {
        let below = (1 << (2 * position)) - 1;
        self.0 = self.0 & below | self.0 >> 2 & !below;
    }

    /// Keeps only some packets.
    pub(super) fn retain(&mut self, keeps: impl Fn(Packet) -> bool, way: Way) {
        for position in (0..self.len()).rev() {
            if !keeps(self.packet(way, position)) {
                self.remove(position);
            }
        }
    }

    /// The same with every S inverted.
    pub(super) fn invert(self, order: Order) -> Self {
        if order != Order::Any {
            return Channel(self.0 ^ (0x5555_5555 & ((1 << (2 * self.len())) - 1)));
        }
        let mut sorted = Channel::EMPTY;
        for position in 0..self.len() {
            let queue = Queue { order, capacity: usize::MAX };
            sorted.push(self.code(position) ^ 1, queue, Overflow::Newcomer);
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes put in, then all codes in the order of their places.
    fn contents(order: Order, codes: &[u32]) -> Vec<u32> {
        let mut channel = Channel::EMPTY;
        for &code in codes {
            channel.push(code, Queue { order, capacity: 3 }, Overflow::Newcomer);
        }
        (0..channel.len()).map(|position| channel.code(position)).collect()
    }

    #[test]
    fn packets_lie_as_the_order_says() {
        assert_eq!(contents(Order::Fifo, &[3, 0, 2, 1]), [3, 0, 2]);
        assert_eq!(contents(Order::FifoPerKind, &[3, 1, 2, 0, 3, 2]), [1, 0, 3, 2, 3]);
        assert_eq!(contents(Order::Any, &[3, 0, 2, 1]), [0, 2, 3]);
    }

    #[test]
    fn a_full_channel_loses_what_comes_or_what_came_last() {
        for (overflow, left) in [(Overflow::Newcomer, [3, 0]), (Overflow::Last, [3, 2])] {
            let mut channel = Channel::EMPTY;
            let lost =
                [3, 0, 2].map(|code| channel.push(code, Queue { order: Order::Fifo, capacity: 2 }, overflow));
            assert_eq!(lost, [false, false, true]);
            assert_eq!([channel.code(0), channel.code(1)], left);
        }
    }

    #[test]
    fn what_is_removed_is_gone_and_the_others_keep_their_order() {
        let mut channel = Channel::EMPTY;
        for code in [3, 0, 2] {
            channel.push(code, Queue { order: Order::Fifo, capacity: 3 }, Overflow::Newcomer);
        }
        channel.remove(1);
        assert_eq!([channel.code(0), channel.code(1)], [3, 2]);
        assert_eq!(channel.invert(Order::Fifo).code(0), 2);
        channel.remove(0);
        channel.remove(0);
        assert_eq!(channel, Channel::EMPTY);
    }

    #[test]
    fn the_exits_are_one_place_one_place_a_kind_or_one_place_a_packet() {
        let channel = |order| {
            let mut channel = Channel::EMPTY;
            for code in [1, 1, 3, 2] {
                channel.push(code, Queue { order, capacity: 4 }, Overflow::Newcomer);
            }
            channel.exits(order).collect::<Vec<_>>()
        };
        assert_eq!(channel(Order::Fifo), [0]);
        assert_eq!(channel(Order::FifoPerKind), [0, 2]);
        assert_eq!(channel(Order::Any), [0, 2, 3]);
    }
}
