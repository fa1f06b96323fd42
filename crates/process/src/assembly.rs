//! Puts the packets of one source together again.
//!
//! Packets of different rails and lanes overtake each other, and so do messages. Each message carries its sequence
//! number among those of its source for this node. A message is *announced* in that order, when it and all before it
//! have begun to arrive, so that receives match in the order of sending; it is *complete* when all of its bytes are
//! here, which a short message may be before a long one in front of it.

use flitway_workload::graph::MessageId;
use std::collections::BTreeMap;

/// What a packet brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The message may be matched.
    Announced(MessageId),
    /// All of the message is here.
    Complete(MessageId),
}

/// A packet as the assembly sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) sequence: u32,
    pub(crate) message: MessageId,
    /// Payload of the packet in bytes.
    pub(crate) payload: u64,
    /// Payload of all packets of the message in bytes.
    pub(crate) total: u64,
}

/// The messages of one source that have begun and are not complete, or not announced.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// The sequence number that is to be announced next.
    next: u32,
    begun: BTreeMap<u32, Begun>,
}

#[derive(Debug)]
struct Begun {
    message: MessageId,
    missing: u64,
}

impl Assembly {
    /// A packet has arrived; what it brings about goes to `progress`, in order.
    ///
    /// # Panics
    /// If a message is given more than all of its bytes.
    pub(crate) fn arrive(&mut self, part: Part, progress: &mut Vec<Progress>) {
        let Part { sequence, message, payload, total } = part;
        let begun = self.begun.entry(sequence).or_insert(Begun { message, missing: total });
        assert_eq!(begun.message, message, "a sequence number names one message");
        begun.missing = begun.missing.checked_sub(payload).expect("a message arrives once");
        if sequence < self.next && begun.missing == 0 {
            self.begun.remove(&sequence);
            progress.push(Progress::Complete(message));
        }
        while let Some(begun) = self.begun.get(&self.next) {
            progress.push(Progress::Announced(begun.message));
            if begun.missing == 0 {
                progress.push(Progress::Complete(begun.message));
                self.begun.remove(&self.next);
            }
            self.next += 1;
        }
    }

    /// Messages that have begun to arrive and are not complete, or wait for one before them.
    pub(crate) fn len(&self) -> usize {
        self.begun.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_workload::graph::{RankId, TaskId};

    fn message(sequence: u32) -> MessageId {
        MessageId { source: RankId(1), task: TaskId(10 + sequence) }
    }

    fn arrive(assembly: &mut Assembly, sequence: u32, payload: u64, total: u64) -> Vec<Progress> {
        let mut progress = Vec::new();
        assembly.arrive(Part { sequence, message: message(sequence), payload, total }, &mut progress);
        progress
    }

    #[test]
    fn a_message_that_overtakes_another_waits_for_its_beginning() {
        use Progress::{Announced, Complete};
        let mut assembly = Assembly::default();
        assert_eq!(arrive(&mut assembly, 1, 5, 5), []);
        assert_eq!(arrive(&mut assembly, 2, 3, 9), []);
        assert_eq!(assembly.len(), 2);
        let expected =
            [Announced(message(0)), Announced(message(1)), Complete(message(1)), Announced(message(2))];
        assert_eq!(arrive(&mut assembly, 0, 4, 8), expected);
        assert_eq!(arrive(&mut assembly, 2, 6, 9), [Complete(message(2))]);
        assert_eq!(arrive(&mut assembly, 0, 4, 8), [Complete(message(0))]);
        assert_eq!(assembly.len(), 0);
        assert_eq!(arrive(&mut assembly, 3, 1, 1), [Announced(message(3)), Complete(message(3))]);
    }

    #[test]
    #[should_panic(expected = "a message arrives once")]
    fn a_packet_too_many_is_a_broken_invariant() {
        let mut assembly = Assembly::default();
        arrive(&mut assembly, 1, 4, 4);
        arrive(&mut assembly, 1, 1, 4);
    }
}
