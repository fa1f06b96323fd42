//! The post office of a shard: inboxes, and the calendar of who has to run when.

use super::Rest;
use crate::simulation::Address;
use flitway_engine::calendar::Calendar;
use flitway_engine::window::Window;
use flitway_engine::{Cycle, prefetch};
use serde::{Deserialize, Serialize};

/// The post office of a shard.
pub struct Post<I, M> {
    shard: u32,
    calendar: Calendar,
    /// The next window of each side, and the cycle in which it begins; in the first one and after a pause it has less to do.
    next: [(u64, Cycle); 2],
    /// When the window began that is being run or was run last.
    start: Cycle,
    /// Cycles that pass in a window.
    window_length: u64,
    /// Sides that take turns, 1 or 2.
    sides: u64,
    /// By place in this shard.
    places: Vec<Place<I>>,
    /// Mail for other shards.
    away: Vec<Vec<Letter<M>>>,
}

struct Place<I> {
    inbox: I,
    side: u8,
    /// It waits for mail without a date.
    waits: bool,
    /// It runs in the next window of its side. So it reads what comes, and asks for a later one itself.
    runs_next: bool,
}

/// Mail between shards.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Letter<M> {
    /// The place of the component that it is for.
    pub place: u32,
    /// When that has to run, no later.
    pub by: Cycle,
    /// What it says.
    pub mail: M,
}

impl<I, M> std::fmt::Debug for Post<I, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Post").field("shard", &self.shard).finish_non_exhaustive()
    }
}

impl<I: Default, M> Post<I, M> {
    /// That of `shard`, whose component at each place is on that side of `sides`.
    pub(super) fn new(shard: u32, shards: u32, places: &[u8], window_length: u64, sides: u64) -> Self {
        let place = |&side| Place { inbox: I::default(), side, waits: false, runs_next: false };
        Post {
            shard,
            calendar: Calendar::new(places.len()),
            next: [(0, Cycle::ZERO), (1, Cycle::ZERO)],
            start: Cycle::ZERO,
            window_length,
            sides,
            places: places.iter().map(place).collect(),
            away: (0..shards).map(|_| Vec::new()).collect(),
        }
    }

    /// The inbox of component `to`, if it lives in this shard. It runs and reads it after this window: no later than in
    /// cycle `by`, which is in a later window. Mail without a date (`NEVER`) wakes nobody but a component that waits for
    /// it.
    #[inline(always)]
    pub fn inbox(&mut self, to: Address, by: Cycle) -> Option<&mut I> {
        if to.shard != self.shard {
            return None;
        }
        self.call(to.place, by);
        Some(&mut self.places[to.place as usize].inbox)
    }

    /// No component acts in a cycle before this one any more.
    #[inline]
    pub fn start(&self) -> Cycle {
        self.start
    }

    /// Whether component `to` lives in this shard.
    #[inline]
    pub fn is_here(&self, to: Address) -> bool {
        to.shard == self.shard
    }

    /// Sends `mail` to a component that lives in another shard; `by` is that of [`Post::inbox`].
    pub fn send_away(&mut self, to: Address, by: Cycle, mail: M) {
        self.away[to.shard as usize].push(Letter { place: to.place, by, mail });
    }

    /// Has the component at `place`, which gets mail, run by cycle `by`; without a date only if it waits.
    #[inline(always)]
    fn call(&mut self, place: u32, by: Cycle) {
        if by != Cycle::NEVER {
            return self.schedule(place, by);
        }
        let Place { side, waits, runs_next, .. } = self.places[place as usize];
        if waits & !runs_next {
            self.calendar.schedule(place, self.next[usize::from(side)].0);
        }
    }

    /// Has the component at `place` run in the window of its side that cycle `at` is in, which is a later one.
    #[inline(always)]
    pub(super) fn schedule(&mut self, place: u32, at: Cycle) {
        let Place { side, runs_next, .. } = &mut self.places[place as usize];
        if *runs_next {
            return;
        }
        let (next, start) = self.next[usize::from(*side)];
        let (ahead, length) = (at.0 - start.0, self.sides * self.window_length);
        // Most of what is to come comes soon, and then nothing is divided nor guessed.
        let later = if ahead < 2 * length { u64::from(ahead >= length) } else { ahead / length };
        *runs_next = later == 0;
        self.calendar.schedule(place, next + later * self.sides);
    }

    /// The component at `place` has gone to rest.
    #[inline(always)]
    pub(super) fn rest(&mut self, place: u32, rest: Rest) {
        self.places[place as usize].waits = rest.waits;
        if rest.next != Cycle::NEVER {
            self.schedule(place, rest.next);
        }
    }

    /// The inbox of the component at `place`, which runs now.
    #[inline]
    pub(super) fn inbox_at(&mut self, place: usize) -> &mut I {
        let Place { inbox, runs_next, .. } = &mut self.places[place];
        *runs_next = false;
        inbox
    }

    /// What has come so far for the component at `place`.
    #[inline]
    #[must_use]
    pub fn inbox_of(&self, place: usize) -> &I {
        &self.places[place].inbox
    }

    /// Asks the memory for the inbox of the component at `place`.
    #[inline]
    pub(super) fn prefetch(&self, place: usize) {
        prefetch::item(&self.places[place]);
    }

    /// Asks the memory for the inbox of component `to`, if it lives in this shard.
    #[inline]
    pub fn prefetch_inbox(&self, to: Address) {
        if to.shard == self.shard {
            self.prefetch(to.place as usize);
        }
    }

    pub(super) fn inboxes(&self) -> impl Iterator<Item = &I> {
        self.places.iter().map(|place| &place.inbox)
    }

    /// Takes in a letter from another shard: `take` puts it into the inbox of its place.
    pub(super) fn accept(&mut self, letter: Letter<M>, take: impl FnOnce(u32, &mut I, M, Cycle)) {
        let inbox = &mut self.places[letter.place as usize].inbox;
        take(letter.place, inbox, letter.mail, self.start);
        self.call(letter.place, letter.by);
    }

    /// Begins `window`: hands the places that have to run in it to `due`, in order.
    pub(super) fn open(&mut self, window: Window, due: &mut Vec<u32>) {
        self.start = window.start;
        let side = (window.number % self.sides) as usize;
        let again = window.number + if window.is_last { 0 } else { self.sides };
        (self.next[side], self.next[1 - side]) = (self.begin_of(again), self.begin_of(window.number + 1));
        self.calendar.take(window.number, due);
    }

    /// A window, and the cycle from which on it is the next one of its side.
    fn begin_of(&self, window: u64) -> (u64, Cycle) {
        (window, Cycle((window + 1).saturating_sub(self.sides) * self.window_length))
    }

    /// Ends a window: hands the mail for other shards to `outbox`.
    pub(super) fn close(&mut self, outbox: &mut [Vec<Letter<M>>]) {
        for (away, outbox) in self.away.iter_mut().zip(outbox) {
            std::mem::swap(away, outbox);
        }
    }

    /// The next window in which somebody has to run.
    pub(super) fn next_window(&self) -> Option<u64> {
        self.calendar.next()
    }

    /// Whether nothing is on its way to another shard.
    pub(super) fn is_quiet(&self) -> bool {
        self.away.iter().all(Vec::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(post: &mut Post<(), ()>, number: u64) -> Vec<u32> {
        let (start, end) = (Cycle(10 * number), Cycle(10 * number + 10));
        let mut due = Vec::new();
        post.open(Window { number, start, end, horizon: Cycle::NEVER, is_last: false }, &mut due);
        due
    }

    /// Component 1 gets mail for the next window, and then some for a later one: it has read that by then.
    #[test]
    fn who_runs_next_is_not_called_for_later_but_asks() {
        let mut post = Post::<(), ()>::new(0, 1, &[0, 0], 10, 1);
        let to = Address { shard: 0, place: 1 };
        assert_eq!(open(&mut post, 0), []);
        post.inbox(to, Cycle(15));
        post.inbox(to, Cycle(35));
        assert_eq!((open(&mut post, 1), post.next_window()), (vec![1], None));
        post.inbox_at(1);
        post.inbox(to, Cycle(47));
        post.rest(1, Rest { next: Cycle(35), waits: false });
        assert_eq!((open(&mut post, 2), post.next_window()), (vec![], Some(3)));
        assert_eq!((open(&mut post, 3), open(&mut post, 4)), (vec![1], vec![1]));
    }
}
