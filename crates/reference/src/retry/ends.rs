//! What the two ends do, with deviations.

use super::deviation::Deviation;
use super::wire::{Answer, Packet, Queue};
use super::world::{PAYLOADS, Snapshot, VCS, Violation, World};
use flitway_fabric::link::retry::{Acknowledgement, Gap, Reception, Sequence};

impl World {
    /// A number as the wire carries it.
    fn narrow(number: u16, bits: u32) -> u16 {
        number & ((1 << bits) - 1)
    }

    /// The number that ends with what the wire carries, from `first` on: what an end makes of it.
    fn widen(first: u16, number: u16, bits: u32) -> u16 {
        first.wrapping_add(Self::narrow(number.wrapping_sub(first), bits))
    }

    pub(super) fn send(&self, now: &mut Snapshot) {
        let payload = (now.base + now.sender.held as u8) % PAYLOADS;
        let sequence = now.sender.send(&self.numbers());
        self.debit(now, payload);
        self.go_out(now, sequence, payload);
    }

    pub(super) fn replay(&self, now: &mut Snapshot) {
        let replay = now.sender.replay(&self.numbers()).expect("a packet is next");
        let payload = (now.base + replay.position as u8) % PAYLOADS;
        if self.deviates(Deviation::DebitedAgain) {
            self.debit(now, payload);
        }
        self.go_out(now, replay.sequence, payload);
    }

    fn debit(&self, now: &mut Snapshot, payload: u8) {
        if let Some(vc) = self.vc(payload) {
            now.credits[vc] -= 1;
        }
    }

    fn go_out(&self, now: &mut Snapshot, sequence: Sequence, payload: u8) {
        let sequence = Self::narrow(sequence.0, self.sequence_bits);
        now.packets.push(Some(Packet { sequence, payload }), self.packets);
    }

    /// The receiver hears a packet.
    pub(super) fn hear(&self, now: &mut Snapshot, packet: Option<Packet>) -> (Reception, Option<Violation>) {
        let numbers = self.numbers();
        let before = now.receiver;
        let sequence = packet.map(|packet| {
            // What is not expected is from before, where the wire does not tell.
            let expected = before.expected.0;
            let behind = Self::narrow(expected.wrapping_sub(packet.sequence), self.sequence_bits);
            if self.deviates(Deviation::SequenceTooNarrow) {
                let space = 1 << (self.sequence_bits + 1);
                return Sequence((expected + space - behind) % space);
            }
            Sequence(packet.sequence)
        });
        let reception = now.receiver.hear(&numbers, sequence);
        let mut violation = None;
        match (reception, packet) {
            (Reception::Accept, Some(packet)) => violation = self.deliver(now, packet.payload),
            (Reception::Duplicate, Some(packet)) if self.deviates(Deviation::DuplicatesReturned) => {
                self.vc(packet.payload).into_iter().for_each(|vc| now.receiver.give_back(&numbers, vc, 1));
            }
            (Reception::Duplicate, _) if self.deviates(Deviation::DuplicatesUnanswered) => {
                now.receiver = before;
            }
            (Reception::Discard, _) if self.deviates(Deviation::NackForEach) => {
                now.receiver.gap = Gap::Found;
            }
            _ => {}
        }
        if self.deviates(Deviation::OutOfOrderKept) && violation.is_none() {
            violation = self.keep(now, before.expected, reception, packet);
        }
        (reception, violation)
    }

    /// Keeps the packet behind the expected one, and delivers what is kept when that has come.
    fn keep(
        &self,
        now: &mut Snapshot,
        expected: Sequence,
        reception: Reception,
        packet: Option<Packet>,
    ) -> Option<Violation> {
        let numbers = self.numbers();
        let packet = packet?;
        if reception != Reception::Accept && Sequence(packet.sequence) == numbers.after(expected, 1) {
            now.kept = Some(packet.payload);
        }
        if reception != Reception::Accept {
            return None;
        }
        let kept = now.kept.take()?;
        now.receiver.hear(&numbers, Some(now.receiver.expected));
        self.deliver(now, kept)
    }

    /// A packet goes on into the buffer.
    fn deliver(&self, now: &mut Snapshot, payload: u8) -> Option<Violation> {
        let ahead = (PAYLOADS + payload - now.due) % PAYLOADS;
        if ahead != 0 {
            return Some(if ahead < PAYLOADS / 2 { Violation::TooEarly } else { Violation::Twice });
        }
        now.due = (now.due + 1) % PAYLOADS;
        let vc = self.vc(payload)?;
        now.stored[vc] += 1;
        (now.stored[vc] > self.buffer).then_some(Violation::Overflow(vc))
    }

    /// The receiver tells what it has to tell.
    pub(super) fn tell(&self, now: &mut Snapshot) -> Answer {
        let told = now.receiver.tell();
        let before = std::mem::replace(&mut now.told, told.returned);
        let is_count = !self.deviates(Deviation::Increments);
        if is_count {
            now.told = [0; VCS];
        }
        let returned =
            |vc: usize| if is_count { told.returned[vc] } else { told.returned[vc].wrapping_sub(before[vc]) };
        Answer {
            expected: Self::narrow(told.expected.0, self.sequence_bits),
            is_nack: told.is_nack,
            returned: [0, 1].map(|vc| Self::narrow(returned(vc), self.count_bits)),
        }
    }

    /// The sender hears an acknowledgement.
    pub(super) fn hear_answer(&self, now: &mut Snapshot, answer: Answer) -> Option<Violation> {
        let numbers = self.numbers();
        let sender = now.sender;
        let mut expected = answer.expected;
        if self.deviates(Deviation::SequenceTooNarrow) {
            expected = Self::widen(sender.base.0, expected, self.sequence_bits);
        }
        if self.deviates(Deviation::NumberOfTheLast) && sender.held > 0 {
            expected += 1;
        }
        let returned = [0, 1].map(|vc| match answer.returned[vc] {
            increment if self.deviates(Deviation::Increments) => {
                Self::narrow(sender.returned[vc].wrapping_add(increment), self.count_bits)
            }
            count if self.deviates(Deviation::CountTooNarrow) => {
                let count = Self::widen(sender.returned[vc], count, self.count_bits);
                Self::narrow(count, self.count_bits + 1)
            }
            count => count,
        });
        let is_unheeded = self.deviates(Deviation::NoNack)
            || self.deviates(Deviation::NackUnheededInReplay) && sender.is_replaying();
        let told = Acknowledgement {
            expected: numbers.after(Sequence(expected), 0),
            is_nack: answer.is_nack && !is_unheeded,
            returned,
        };
        let heard = now.sender.hear(&numbers, &told);
        self.release(now, heard.released, heard.returned)
    }

    /// Packets leave the replay buffer, and credits come back.
    fn release(&self, now: &mut Snapshot, packets: u32, flits: [u32; VCS]) -> Option<Violation> {
        let undelivered = (PAYLOADS + now.due - now.base) % PAYLOADS;
        now.base = (now.base + packets as u8) % PAYLOADS;
        if packets > undelivered.into() {
            return Some(Violation::Released);
        }
        for (vc, flits) in flits.into_iter().enumerate() {
            now.credits[vc] += flits as u8;
            if now.credits[vc] > self.buffer {
                return Some(Violation::Invented(vc));
            }
        }
        None
    }

    /// The link is trained again: nothing is on the way any more.
    pub(super) fn train(&self, now: &mut Snapshot) {
        (now.packets, now.answers) = (Queue::EMPTY, Queue::EMPTY);
        now.sender.go_back();
        now.receiver.resume();
        let renumbers = [Deviation::TrainingRenumbers, Deviation::TrainingEmpties];
        if renumbers.iter().any(|&deviation| self.deviates(deviation)) {
            (now.sender.base, now.receiver.expected) = (Sequence(0), Sequence(0));
        }
        if self.deviates(Deviation::TrainingRenumbersReceiver) {
            now.receiver.expected = Sequence(0);
        }
        if self.deviates(Deviation::TrainingEmpties) {
            now.base = (now.base + now.sender.held as u8) % PAYLOADS;
            now.sender.held = 0;
        }
        if self.deviates(Deviation::TrainingRefills) {
            now.credits[..self.vcs].fill(self.buffer);
            (now.sender.returned, now.receiver.returned) = ([0; VCS], [0; VCS]);
        }
    }
}
