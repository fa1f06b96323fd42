//! Snapshots as numbers. Snapshots that differ in what does not matter are one number.
//!
//! Of the generations of a receiver context only the order of those that are named anywhere matters: a key has their ranks.

use super::deviation::Deviation;
use super::wire::{Back, Bag, Forward, Use};
use super::world::{Open, Receiving, Sending, Slot, Snapshot, World};
use crate::explore::{Bits, Model as _};

/// Bits of a generation of a receiver context, and of a sender context.
const RANK: usize = 3;
const GENERATION: usize = 2;
/// Bits of the number of an operation, of a set of packets, and of failures.
const OPERATION: usize = 2;
const PACKETS: usize = 2;
const FAILURES: usize = 2;

impl Snapshot {
    /// All uses of receiver contexts that are named anywhere.
    fn each_receiver_use(&mut self, mut visit: impl FnMut(&mut Use)) {
        for (context, slot) in (0..).zip(&mut self.receivers) {
            let mut own = Use { context, generation: slot.generation };
            visit(&mut own);
            slot.generation = own.generation;
        }
        for sending in self.senders.iter_mut().filter_map(|slot| slot.used.as_mut()) {
            if let Open::To(receiver) = &mut sending.open {
                visit(receiver);
            }
        }
        self.forward.change(|packet| match packet {
            Forward::Setup(..) => {}
            Forward::Data(receiver, ..) | Forward::Ask(receiver) | Forward::Release(receiver) => {
                visit(receiver)
            }
        });
        self.back.change(|answer| {
            if let (_, Some(receiver)) = answer.uses() {
                visit(receiver);
            }
        });
    }
}

impl World {
    /// The snapshot that stands for all those that differ in what does not matter.
    pub(super) fn normal(&self, snapshot: &Snapshot) -> Snapshot {
        let mut now = *snapshot;
        if self.deviates(Deviation::NarrowGenerations) {
            return now;
        }
        let mut named = Vec::new();
        now.each_receiver_use(|it| named.push(*it));
        named.sort_unstable();
        named.dedup();
        let rank = |it: &Use| {
            named
                .iter()
                .filter(|other| other.context == it.context && other.generation < it.generation)
                .count()
        };
        now.each_receiver_use(|it| it.generation = rank(it) as u8);
        now
    }

    /// Bits of the number of a context.
    fn context(contexts: usize) -> usize {
        usize::from(contexts > 1)
    }

    fn push_sender(&self, bits: &mut Bits, it: Use) {
        bits.push(it.context.into(), Self::context(self.senders));
        bits.push(it.generation.into(), GENERATION);
    }

    fn push_receiver(&self, bits: &mut Bits, it: Use) {
        bits.push(it.context.into(), Self::context(self.receivers));
        bits.push(it.generation.into(), RANK);
    }

    fn pull_sender(&self, bits: &mut Bits) -> Use {
        let context = bits.pull(Self::context(self.senders)) as u8;
        Use { context, generation: bits.pull(GENERATION) as u8 }
    }

    fn pull_receiver(&self, bits: &mut Bits) -> Use {
        let context = bits.pull(Self::context(self.receivers)) as u8;
        Use { context, generation: bits.pull(RANK) as u8 }
    }

    fn failures_width(&self) -> usize {
        if self.tries.is_some() { FAILURES } else { 0 }
    }

    fn sender_width(&self) -> usize {
        Self::context(self.senders) + GENERATION
    }

    fn receiver_width(&self) -> usize {
        Self::context(self.receivers) + RANK
    }

    /// A snapshot bit by bit.
    pub(super) fn bits(&self, now: &Snapshot) -> Bits {
        let mut bits = Bits::NONE;
        now.senders[..self.senders].iter().for_each(|slot| self.push_sending(&mut bits, slot));
        now.receivers[..self.receivers].iter().for_each(|slot| self.push_receiving(&mut bits, slot));
        for fate in &now.fates[..usize::from(self.operations)] {
            bits.push(fate.is_begun.into(), 1);
            bits.push(fate.is_delivered.into(), 1);
            bits.push(fate.is_over.into(), 1);
        }
        bits.push(now.forward.len() as u32, 2);
        now.forward.iter().for_each(|packet| self.push_forward(&mut bits, packet));
        bits.append(Bits { value: 0, width: (self.forward - now.forward.len()) * self.forward_width() });
        bits.push(now.back.len() as u32, 2);
        now.back.iter().for_each(|answer| self.push_back(&mut bits, answer));
        bits.append(Bits { value: 0, width: (self.back - now.back.len()) * self.back_width() });
        bits
    }

    fn push_sending(&self, bits: &mut Bits, slot: &Slot<Sending>) {
        bits.push(slot.generation.into(), GENERATION);
        bits.push(slot.used.is_some().into(), 1);
        let none = Sending { operation: 0, open: Open::Setup, sent: 0, again: 0, failures: 0 };
        let it = slot.used.unwrap_or(none);
        bits.push(it.operation.into(), OPERATION);
        let (phase, receiver) = match it.open {
            Open::Setup => (0, Use::default()),
            Open::BackOff => (1, Use::default()),
            Open::To(receiver) => (2, receiver),
        };
        bits.push(phase, 2);
        self.push_receiver(bits, receiver);
        bits.push(it.sent.into(), PACKETS);
        bits.push(it.again.into(), PACKETS);
        bits.push(it.failures.into(), self.failures_width());
    }

    fn pull_sending(&self, bits: &mut Bits) -> Slot<Sending> {
        let generation = bits.pull(GENERATION) as u8;
        let is_used = bits.pull(1) == 1;
        let operation = bits.pull(OPERATION) as u8;
        let phase = bits.pull(2);
        let receiver = self.pull_receiver(bits);
        let open = match phase {
            0 => Open::Setup,
            1 => Open::BackOff,
            _ => Open::To(receiver),
        };
        let (sent, again) = (bits.pull(PACKETS) as u8, bits.pull(PACKETS) as u8);
        let failures = bits.pull(self.failures_width()) as u8;
        Slot { generation, used: is_used.then_some(Sending { operation, open, sent, again, failures }) }
    }

    fn push_receiving(&self, bits: &mut Bits, slot: &Slot<Receiving>) {
        bits.push(slot.generation.into(), RANK);
        bits.push(slot.used.is_some().into(), 1);
        let sender = Use::default();
        let none = Receiving { sender, operation: 0, has: 0, right: 0, is_done: false, silent: 0 };
        let it = slot.used.unwrap_or(none);
        self.push_sender(bits, it.sender);
        bits.push(it.operation.into(), OPERATION);
        bits.push(it.has.into(), PACKETS);
        bits.push(it.right.into(), PACKETS);
        bits.push(it.is_done.into(), 1);
        bits.push(it.silent.into(), self.failures_width());
    }

    fn pull_receiving(&self, bits: &mut Bits) -> Slot<Receiving> {
        let generation = bits.pull(RANK) as u8;
        let is_used = bits.pull(1) == 1;
        let sender = self.pull_sender(bits);
        let operation = bits.pull(OPERATION) as u8;
        let (has, right) = (bits.pull(PACKETS) as u8, bits.pull(PACKETS) as u8);
        let is_done = bits.pull(1) == 1;
        let silent = bits.pull(self.failures_width()) as u8;
        let used = Receiving { sender, operation, has, right, is_done, silent };
        Slot { generation, used: is_used.then_some(used) }
    }

    /// Bits of a packet on the way.
    fn forward_width(&self) -> usize {
        2 + OPERATION + self.sender_width().max(self.receiver_width() + 1)
    }

    fn push_forward(&self, bits: &mut Bits, packet: Forward) {
        let width = bits.width + self.forward_width();
        let (kind, receiver) = match packet {
            Forward::Setup(..) => (0, None),
            Forward::Data(receiver, ..) => (1, Some(receiver)),
            Forward::Ask(receiver) => (2, Some(receiver)),
            Forward::Release(receiver) => (3, Some(receiver)),
        };
        bits.push(kind, 2);
        if let Some(receiver) = receiver {
            self.push_receiver(bits, receiver);
        }
        match packet {
            Forward::Setup(sender, operation) => {
                self.push_sender(bits, sender);
                bits.push(operation.into(), OPERATION);
            }
            Forward::Data(_, packet, operation) => {
                bits.push(packet.into(), 1);
                bits.push(operation.into(), OPERATION);
            }
            Forward::Ask(_) | Forward::Release(_) => {}
        }
        bits.append(Bits { value: 0, width: width - bits.width });
    }

    fn pull_forward(&self, bits: &mut Bits) -> Forward {
        let width = bits.width - self.forward_width();
        let packet = match bits.pull(2) {
            0 => {
                let sender = self.pull_sender(bits);
                Forward::Setup(sender, bits.pull(OPERATION) as u8)
            }
            1 => {
                let receiver = self.pull_receiver(bits);
                let packet = bits.pull(1) as u8;
                Forward::Data(receiver, packet, bits.pull(OPERATION) as u8)
            }
            2 => Forward::Ask(self.pull_receiver(bits)),
            _ => Forward::Release(self.pull_receiver(bits)),
        };
        bits.pull(bits.width - width);
        packet
    }

    /// Bits of an answer.
    fn back_width(&self) -> usize {
        2 + self.sender_width() + self.receiver_width() + PACKETS + 1
    }

    fn push_back(&self, bits: &mut Bits, mut answer: Back) {
        let (sender, receiver) = answer.uses();
        let (sender, receiver) = (*sender, receiver.map_or(Use::default(), |it| *it));
        let (kind, missing, is_full) = match answer {
            Back::Ack(..) => (0, 0, false),
            Back::Refused(_) => (1, 0, false),
            Back::Nack(_, _, missing, is_full) => (2, missing, is_full),
            Back::Done(..) => (3, 0, false),
        };
        bits.push(kind, 2);
        self.push_sender(bits, sender);
        self.push_receiver(bits, receiver);
        bits.push(missing.into(), PACKETS);
        bits.push(is_full.into(), 1);
    }

    fn pull_back(&self, bits: &mut Bits) -> Back {
        let kind = bits.pull(2);
        let (sender, receiver) = (self.pull_sender(bits), self.pull_receiver(bits));
        let (missing, is_full) = (bits.pull(PACKETS) as u8, bits.pull(1) == 1);
        match kind {
            0 => Back::Ack(sender, receiver),
            1 => Back::Refused(sender),
            2 => Back::Nack(sender, receiver, missing, is_full),
            _ => Back::Done(sender, receiver),
        }
    }

    /// The snapshot with those bits.
    pub(super) fn of_bits(&self, key: u128) -> Snapshot {
        let mut now = self.first();
        let mut bits = Bits { value: key, width: self.width() };
        now.senders[..self.senders].fill_with(|| self.pull_sending(&mut bits));
        now.receivers[..self.receivers].fill_with(|| self.pull_receiving(&mut bits));
        for fate in &mut now.fates[..usize::from(self.operations)] {
            fate.is_begun = bits.pull(1) == 1;
            fate.is_delivered = bits.pull(1) == 1;
            fate.is_over = bits.pull(1) == 1;
        }
        let len = bits.pull(2) as usize;
        let forward: Vec<Forward> = (0..self.forward).map(|_| self.pull_forward(&mut bits)).collect();
        now.forward = bag(&forward[..len]);
        let len = bits.pull(2) as usize;
        let back: Vec<Back> = (0..self.back).map(|_| self.pull_back(&mut bits)).collect();
        now.back = bag(&back[..len]);
        now
    }
}

fn bag<T: Copy + Ord>(items: &[T]) -> Bag<T> {
    let mut bag = Bag::EMPTY;
    items.iter().for_each(|&item| bag.push(item, items.len()));
    bag
}

#[cfg(test)]
mod tests {
    use crate::end_to_end::claims;
    use crate::explore::keys_are_those_of_their_snapshots;

    #[test]
    fn a_key_gives_a_snapshot_with_that_key() {
        for claim in claims() {
            // Where everything is done, nothing comes after it.
            assert!(keys_are_those_of_their_snapshots(&claim.world, 300) > 0, "{}", claim.name);
        }
    }
}
