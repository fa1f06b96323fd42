//! What is due within a node, by picosecond: first what is due first, and of the same date what was asked for first; what is
//! to be last comes after all of that.

use flitway_engine::Picos;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The events that are due within one node.
#[derive(Clone, Debug)]
pub struct Agenda<E> {
    due: BinaryHeap<Entry<E>>,
    /// How many have been asked for.
    asked: u64,
}

/// An event. The greatest entry comes out of a heap first, so an earlier one is greater.
#[derive(Clone, Debug)]
struct Entry<E> {
    at: Picos,
    is_last: bool,
    number: u64,
    event: E,
}

impl<E> Agenda<E> {
    /// Nothing is due.
    #[must_use]
    pub fn new() -> Self {
        Agenda { due: BinaryHeap::new(), asked: 0 }
    }

    /// Asks for `event` at `at`.
    pub fn ask(&mut self, at: Picos, event: E) {
        self.push(at, false, event);
    }

    /// Asks for `event` at `at`, after whatever else has that date, also if that is asked for later.
    pub fn ask_last(&mut self, at: Picos, event: E) {
        self.push(at, true, event);
    }

    fn push(&mut self, at: Picos, is_last: bool, event: E) {
        self.due.push(Entry { at, is_last, number: self.asked, event });
        self.asked += 1;
    }

    /// The next event, if it is due by `until`.
    pub fn next_by(&mut self, until: Picos) -> Option<(Picos, E)> {
        if self.due.peek()?.at > until {
            return None;
        }
        self.due.pop().map(|entry| (entry.at, entry.event))
    }

    /// When the next event is due.
    #[must_use]
    pub fn next(&self) -> Option<Picos> {
        self.due.peek().map(|entry| entry.at)
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Agenda::new()
    }
}

impl<E> Entry<E> {
    fn key(&self) -> (Picos, bool, u64) {
        (self.at, self.is_last, self.number)
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_date_and_then_as_they_were_asked_for() {
        let mut agenda = Agenda::new();
        for (at, event) in [(30, 'a'), (10, 'b'), (30, 'c'), (20, 'd')] {
            agenda.ask(Picos(at), event);
        }
        assert_eq!(agenda.next(), Some(Picos(10)));
        let mut by = |until| agenda.next_by(Picos(until)).map(|(at, event)| (at.0, event));
        assert_eq!(by(9), None);
        assert_eq!([by(20), by(20), by(20)], [Some((10, 'b')), Some((20, 'd')), None]);
        assert_eq!([by(30), by(30), by(99)], [Some((30, 'a')), Some((30, 'c')), None]);
    }

    #[test]
    fn what_is_to_be_last_comes_after_what_is_asked_for_later() {
        let mut agenda = Agenda::new();
        agenda.ask_last(Picos(10), 'b');
        agenda.ask(Picos(20), 'c');
        agenda.ask(Picos(10), 'a');
        let events: String =
            std::iter::from_fn(|| agenda.next_by(Picos(30))).map(|(_, event)| event).collect();
        assert_eq!(events, "abc");
    }
}
