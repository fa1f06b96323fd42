//! Snapshots as numbers. Snapshots that differ in what does not matter are one number.
//!
//! * Sequence numbers are compared by difference only. A key is of the one in which 0 is expected, unless a deviation has
//!   numbers begin again.
//! * So are counts, of each VC, and what packets carry, but for the VC that a packet is for.
//! * Of news only that there is any matters here: when it is told is open.

use super::deviation::Deviation;
use super::wire::{Answer, Packet, Queue};
use super::world::{PAYLOADS, Snapshot, VCS, World};
use crate::explore::{Bits, Model as _};
use flitway_fabric::link::retry::{Gap, News, Sequence};

/// Bits of a number of a packet.
const PAYLOAD: usize = 4;

/// Bits of a number of flits, or of places in the replay buffer.
const SMALL: usize = 3;

/// How far numbers are turned back.
#[derive(Clone, Copy)]
struct Turn {
    sequence: u16,
    payload: u8,
    returned: [u16; VCS],
}

fn back(number: u16, by: u16, bits: usize) -> u16 {
    number.wrapping_sub(by) & ((1 << bits) - 1)
}

fn payload_back(payload: u8, by: u8) -> u8 {
    (PAYLOADS + payload - by) % PAYLOADS
}

impl World {
    fn wire_sequence(&self) -> usize {
        self.sequence_bits as usize
    }

    fn wire_count(&self) -> usize {
        self.count_bits as usize
    }

    fn sequence_width(&self) -> usize {
        self.wire_sequence() + usize::from(self.deviates(Deviation::SequenceTooNarrow))
    }

    pub(super) fn count_width(&self) -> usize {
        self.wire_count() + usize::from(self.deviates(Deviation::CountTooNarrow))
    }

    /// The snapshot that stands for all those that differ in what does not matter.
    pub(super) fn normal(&self, snapshot: &Snapshot) -> Snapshot {
        use Deviation::{TrainingEmpties, TrainingRenumbers, TrainingRenumbersReceiver};
        let mut now = *snapshot;
        let renumbers = [TrainingEmpties, TrainingRenumbers, TrainingRenumbersReceiver];
        let renumbers = renumbers.iter().any(|&deviation| self.deviates(deviation));
        let turn = Turn {
            sequence: if renumbers { 0 } else { now.receiver.expected.0 },
            payload: if self.vcs == 2 { now.due & !1 } else { now.due },
            returned: if self.deviates(Deviation::TrainingRefills) {
                [0; VCS]
            } else {
                now.receiver.returned
            },
        };
        let sequence = |it: Sequence| Sequence(back(it.0, turn.sequence, self.sequence_width()));
        now.sender.base = sequence(now.sender.base);
        now.receiver.expected = sequence(now.receiver.expected);
        for vc in 0..VCS {
            let count = |it: u16| back(it, turn.returned[vc], self.count_width());
            now.sender.returned[vc] = count(now.sender.returned[vc]);
            now.receiver.returned[vc] = count(now.receiver.returned[vc]);
            if self.deviates(Deviation::Increments) {
                now.told[vc] = count(now.told[vc]);
            }
        }
        now.base = payload_back(now.base, turn.payload);
        now.due = payload_back(now.due, turn.payload);
        now.kept = now.kept.map(|payload| payload_back(payload, turn.payload));
        now.packets = now.packets.map(|packet| packet.map(|packet| self.turned_packet(packet, turn)));
        now.answers = now.answers.map(|answer| self.turned_answer(answer, turn));
        now.old = now.old.map(|answer| self.turned_answer(answer, turn));
        let has_news = now.receiver.news != News::default();
        now.receiver.news = News { is_asked: has_news, ..News::default() };
        now
    }

    fn turned_packet(&self, packet: Packet, turn: Turn) -> Packet {
        Packet {
            sequence: back(packet.sequence, turn.sequence, self.wire_sequence()),
            payload: payload_back(packet.payload, turn.payload),
        }
    }

    fn turned_answer(&self, answer: Answer, turn: Turn) -> Answer {
        let count = |vc: usize| back(answer.returned[vc], turn.returned[vc], self.wire_count());
        Answer {
            expected: back(answer.expected, turn.sequence, self.wire_sequence()),
            returned: if self.deviates(Deviation::Increments) { answer.returned } else { [0, 1].map(count) },
            ..answer
        }
    }

    /// A snapshot bit by bit.
    pub(super) fn bits(&self, now: &Snapshot) -> Bits {
        let mut bits = Bits::NONE;
        let (sequence, count) = (self.sequence_width(), self.count_width());
        bits.push(now.sender.base.0.into(), sequence);
        bits.push(now.sender.held.into(), SMALL);
        bits.push(now.sender.cursor.into(), SMALL);
        bits.push(now.base.into(), PAYLOAD);
        bits.push(now.receiver.expected.0.into(), sequence);
        bits.push(now.receiver.gap as u32, 2);
        bits.push(now.receiver.news.is_asked.into(), 1);
        bits.push(now.due.into(), PAYLOAD);
        for vc in 0..self.vcs {
            bits.push(now.credits[vc].into(), SMALL);
            bits.push(now.stored[vc].into(), SMALL);
            bits.push(now.sender.returned[vc].into(), count);
            bits.push(now.receiver.returned[vc].into(), count);
            if self.deviates(Deviation::Increments) {
                bits.push(now.told[vc].into(), count);
            }
        }
        bits.push(now.packets.len() as u32, 2);
        for packet in now.packets.iter() {
            bits.push(packet.is_some().into(), 1);
            let Packet { sequence, payload } = packet.unwrap_or(Packet { sequence: 0, payload: 0 });
            bits.push(sequence.into(), self.wire_sequence());
            bits.push(payload.into(), PAYLOAD);
        }
        let missing = self.packets - now.packets.len();
        bits.append(Bits { value: 0, width: missing * (1 + self.wire_sequence() + PAYLOAD) });
        bits.push(now.answers.len() as u32, 2);
        now.answers.iter().for_each(|answer| self.push_answer(&mut bits, answer));
        bits.append(Bits { value: 0, width: (self.answers - now.answers.len()) * self.answer_width() });
        if self.deviates(Deviation::OutOfOrderKept) {
            bits.push(now.kept.is_some().into(), 1);
            bits.push(now.kept.unwrap_or(0).into(), PAYLOAD);
        }
        if self.deviates(Deviation::OldAcknowledgements) {
            bits.push(now.old.is_some().into(), 1);
            let none = Answer { expected: 0, is_nack: false, returned: [0; VCS] };
            self.push_answer(&mut bits, now.old.unwrap_or(none));
        }
        bits
    }

    fn answer_width(&self) -> usize {
        self.wire_sequence() + 1 + self.vcs * self.wire_count()
    }

    fn push_answer(&self, bits: &mut Bits, answer: Answer) {
        bits.push(answer.expected.into(), self.wire_sequence());
        bits.push(answer.is_nack.into(), 1);
        answer.returned[..self.vcs].iter().for_each(|&count| bits.push(count.into(), self.wire_count()));
    }

    fn pull_answer(&self, bits: &mut Bits) -> Answer {
        let expected = bits.pull(self.wire_sequence()) as u16;
        let is_nack = bits.pull(1) == 1;
        let mut returned = [0; VCS];
        returned[..self.vcs].fill_with(|| bits.pull(self.wire_count()) as u16);
        Answer { expected, is_nack, returned }
    }

    /// The snapshot with those bits.
    pub(super) fn of_bits(&self, key: u128) -> Snapshot {
        let mut now = self.first();
        let mut bits = Bits { value: key, width: self.width() };
        let (sequence, count) = (self.sequence_width(), self.count_width());
        now.sender.base = Sequence(bits.pull(sequence) as u16);
        now.sender.held = bits.pull(SMALL) as u16;
        now.sender.cursor = bits.pull(SMALL) as u16;
        now.base = bits.pull(PAYLOAD) as u8;
        now.receiver.expected = Sequence(bits.pull(sequence) as u16);
        now.receiver.gap = [Gap::None, Gap::Found, Gap::Told][bits.pull(2) as usize];
        now.receiver.news.is_asked = bits.pull(1) == 1;
        now.due = bits.pull(PAYLOAD) as u8;
        for vc in 0..self.vcs {
            now.credits[vc] = bits.pull(SMALL) as u8;
            now.stored[vc] = bits.pull(SMALL) as u8;
            now.sender.returned[vc] = bits.pull(count) as u16;
            now.receiver.returned[vc] = bits.pull(count) as u16;
            if self.deviates(Deviation::Increments) {
                now.told[vc] = bits.pull(count) as u16;
            }
        }
        now.packets = self.pull_packets(&mut bits);
        now.answers = self.pull_answers(&mut bits);
        if self.deviates(Deviation::OutOfOrderKept) {
            let is_kept = bits.pull(1) == 1;
            let payload = bits.pull(PAYLOAD) as u8;
            now.kept = is_kept.then_some(payload);
        }
        if self.deviates(Deviation::OldAcknowledgements) {
            let is_kept = bits.pull(1) == 1;
            let answer = self.pull_answer(&mut bits);
            now.old = is_kept.then_some(answer);
        }
        now
    }

    fn pull_packets(&self, bits: &mut Bits) -> Queue<Option<Packet>> {
        let mut queue = Queue::EMPTY;
        let len = bits.pull(2) as usize;
        for position in 0..self.packets {
            let is_good = bits.pull(1) == 1;
            let sequence = bits.pull(self.wire_sequence()) as u16;
            let payload = bits.pull(PAYLOAD) as u8;
            if position < len {
                queue.push(is_good.then_some(Packet { sequence, payload }), self.packets);
            }
        }
        queue
    }

    fn pull_answers(&self, bits: &mut Bits) -> Queue<Answer> {
        let mut queue = Queue::EMPTY;
        let len = bits.pull(2) as usize;
        for position in 0..self.answers {
            let answer = self.pull_answer(bits);
            if position < len {
                queue.push(answer, self.answers);
            }
        }
        queue
    }
}

#[cfg(test)]
mod tests {
    use crate::explore::keys_are_those_of_their_snapshots;
    use crate::retry::claims;

    #[test]
    fn a_key_gives_a_snapshot_with_that_key() {
        for claim in claims() {
            assert_eq!(keys_are_those_of_their_snapshots(&claim.world, 500), 500, "{}", claim.name);
        }
    }
}
