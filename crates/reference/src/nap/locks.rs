//! The locks of a node.

use super::{Host, Packet, Peer, Unit, What};
use flitway_nic::host::memory::Address;

impl Host {
    /// Who has the lock of a packet.
    fn has_lock(&self, packet: &Packet) -> Option<Peer> {
        let place = lock_place(packet);
        self.locks.iter().find(|lock| lock.0 == place).map(|lock| lock.1)
    }

    /// The lock goes to who sent the packet.
    fn lock_goes_to(&mut self, packet: Packet) {
        self.locks.push((lock_place(&packet), packet.from));
        self.answer_with(What::Answer, packet, self.around.at);
    }

    /// A process wants a lock, and waits for it.
    pub(super) fn lock_asked_for(&mut self, packet: Packet) {
        if self.has_lock(&packet).is_some() {
            self.counts.locks[1] += 1;
            self.locks_waited_for.push(packet);
        } else {
            self.counts.locks[0] += 1;
            self.lock_goes_to(packet);
        }
    }

    /// A process wants a lock, and does not wait for it.
    pub(super) fn lock_tried(&mut self, packet: Packet) {
        if self.has_lock(&packet).is_some() {
            self.counts.locks[2] += 1;
            self.answer_with(What::No, packet, self.around.at);
        } else {
            self.counts.locks[0] += 1;
            self.lock_goes_to(packet);
        }
    }

    /// A process has done with a lock.
    pub(super) fn lock_given_back(&mut self, packet: Packet) {
        if self.has_lock(&packet) != Some(packet.from) {
            self.counts.locks[3] += 1;
            return self.answer_with(What::No, packet, self.around.at);
        }
        let lock = lock_place(&packet);
        self.locks.retain(|it| it.0 != lock);
        if let Some(place) = self.locks_waited_for.iter().position(|it| lock_place(it) == lock) {
            let mut next = self.locks_waited_for.remove(place);
            next.story.pass(Unit::Lock, self.around.at);
            self.lock_goes_to(next);
        }
        self.answer_with(What::Answer, packet, self.around.at);
    }
}

/// Which lock a packet is for.
fn lock_place(packet: &Packet) -> Address {
    Address { process: packet.to.process, byte: packet.operation.there }
}
