//! Matches messages with receives, as MPI does.
//!
//! Two queues: receives that have been posted and found no message, and unexpected messages that found no receive. A
//! message takes the receive posted first among those that it matches; a receive takes the message that came first.
//! Messages of one source come in the order in which it sent them: the caller sees to that.

use super::{RankId, TaskId};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Names a message in the whole graph: the send task that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The rank that sends it.
    pub source: RankId,
    /// The send, in the tasks of that rank.
    pub task: TaskId,
}

/// What a message looks like to a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Which message.
    pub message: MessageId,
    /// Its tag.
    pub tag: u64,
    /// Its length.
    pub bytes: u64,
}

/// What a receive asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) source: Option<RankId>,
    pub(super) tag: Option<u64>,
}

impl Wanted {
    fn takes(self, key: Key) -> bool {
        self.source.is_none_or(|source| source == key.0) && self.tag.is_none_or(|tag| tag == key.1)
    }
}

type Key = (RankId, u64);

/// The two queues of one rank. Maps are looked up and never walked through, except the ordered one.
#[derive(Debug, Default)]
pub(super) struct Matching {
    sequence: u64,
    /// Posted receives of a definite source and tag, by the order of posting.
    posted: HashMap<Key, VecDeque<(u64, TaskId)>>,
    /// Posted receives that take anyone's message or any tag.
    posted_any: Vec<(u64, Wanted, TaskId)>,
    /// Unexpected messages in the order of their coming.
    unexpected: BTreeMap<u64, Envelope>,
    unexpected_by_key: HashMap<Key, VecDeque<u64>>,
}

impl Matching {
    /// A receive has been posted: the message that it takes, if one has come.
    pub(super) fn post(&mut self, wanted: Wanted, task: TaskId) -> Option<Envelope> {
        let found = match (wanted.source, wanted.tag) {
            (Some(source), Some(tag)) => {
                self.unexpected_by_key.get(&(source, tag)).and_then(|queue| queue.front().copied())
            }
            _ => self
                .unexpected
                .iter()
                .find(|(_, envelope)| wanted.takes((envelope.message.source, envelope.tag)))
                .map(|(&sequence, _)| sequence),
        };
        if let Some(envelope) = found.and_then(|sequence| self.unexpected.remove(&sequence)) {
            // The first of its key, whether it was found by key or by order.
            let key = (envelope.message.source, envelope.tag);
            if let Some(queue) = self.unexpected_by_key.get_mut(&key) {
                let first = queue.pop_front();
                debug_assert_eq!(first, found);
            }
            return Some(envelope);
        }
        self.sequence += 1;
        match (wanted.source, wanted.tag) {
            (Some(source), Some(tag)) => {
                self.posted.entry((source, tag)).or_default().push_back((self.sequence, task));
            }
            _ => self.posted_any.push((self.sequence, wanted, task)),
        }
        None
    }

    /// A message has come: the receive that takes it, if one has been posted.
    pub(super) fn come(&mut self, envelope: Envelope) -> Option<TaskId> {
        let key = (envelope.message.source, envelope.tag);
        let queue = self.posted.get_mut(&key);
        let definite = queue.as_ref().and_then(|queue| queue.front().map(|&(sequence, _)| sequence));
        let any = self.posted_any.iter().position(|(_, wanted, _)| wanted.takes(key));
        let any_is_first = match (definite, any) {
            (Some(definite), Some(place)) => self.posted_any[place].0 < definite,
            (None, Some(_)) => true,
            _ => false,
        };
        if any_is_first {
            return any.map(|place| self.posted_any.remove(place).2);
        }
        if let Some((_, task)) = queue.and_then(VecDeque::pop_front) {
            return Some(task);
        }
        self.sequence += 1;
        self.unexpected.insert(self.sequence, envelope);
        self.unexpected_by_key.entry(key).or_default().push_back(self.sequence);
        None
    }

    /// Messages that no receive has taken, in the order of their coming.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = Envelope> + '_ {
        self.unexpected.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::{Purpose, Stream};

    fn wanted(source: Option<u32>, tag: Option<u64>) -> Wanted {
        Wanted { source: source.map(RankId), tag }
    }

    fn envelope(source: u32, task: u32, tag: u64) -> Envelope {
        Envelope { message: MessageId { source: RankId(source), task: TaskId(task) }, tag, bytes: 1 }
    }

    #[test]
    fn equal_receives_take_messages_first_come_first_served() {
        let mut matching = Matching::default();
        assert_eq!(matching.post(wanted(Some(1), Some(5)), TaskId(0)), None);
        assert_eq!(matching.post(wanted(Some(1), Some(5)), TaskId(1)), None);
        assert_eq!(matching.come(envelope(1, 8, 6)), None);
        assert_eq!(matching.come(envelope(1, 9, 5)), Some(TaskId(0)));
        assert_eq!(matching.come(envelope(1, 3, 5)), Some(TaskId(1)));
        assert_eq!(matching.come(envelope(1, 4, 5)), None);
        assert_eq!(matching.unexpected().count(), 2);
        assert_eq!(matching.post(wanted(Some(1), Some(5)), TaskId(2)), Some(envelope(1, 4, 5)));
    }

    #[test]
    fn a_receive_from_anyone_keeps_its_turn() {
        let mut matching = Matching::default();
        matching.post(wanted(None, Some(5)), TaskId(0));
        matching.post(wanted(Some(1), Some(5)), TaskId(1));
        assert_eq!(matching.come(envelope(1, 0, 5)), Some(TaskId(0)));
        matching.post(wanted(Some(1), None), TaskId(2));
        assert_eq!(matching.come(envelope(1, 1, 5)), Some(TaskId(1)));
        assert_eq!(matching.come(envelope(2, 0, 5)), None);
        assert_eq!(matching.come(envelope(1, 2, 7)), Some(TaskId(2)));
    }

    /// Against two plain lists, searched from the front.
    #[test]
    fn matching_is_two_lists_searched_from_the_front() {
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, Purpose::Test);
            let mut matching = Matching::default();
            let mut receives: Vec<(Wanted, TaskId)> = Vec::new();
            let mut messages: Vec<Envelope> = Vec::new();
            for step in 0..400 {
                let (source, tag) = (stream.below(3) as u32, stream.below(2));
                if stream.below(2) == 0 {
                    let message = envelope(source, step, tag);
                    let place = receives.iter().position(|(wanted, _)| wanted.takes((RankId(source), tag)));
                    let expected = place.map(|place| receives.remove(place).1);
                    if expected.is_none() {
                        messages.push(message);
                    }
                    assert_eq!(matching.come(message), expected, "seed {seed}");
                } else {
                    let any = stream.below(6);
                    let wanted = wanted((any != 0).then_some(source), (any > 1).then_some(tag));
                    let place = messages
                        .iter()
                        .position(|message| wanted.takes((message.message.source, message.tag)));
                    let expected = place.map(|place| messages.remove(place));
                    if expected.is_none() {
                        receives.push((wanted, TaskId(step)));
                    }
                    assert_eq!(matching.post(wanted, TaskId(step)), expected, "seed {seed}");
                }
                assert!(matching.unexpected().eq(messages.iter().copied()));
            }
        }
    }
}
