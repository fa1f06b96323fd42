//! Conservative windows: the one loop that runs every simulation, on one thread or several.
//!
//! Simulated time is cut into windows of equal length, no longer than the *lookahead*: what a component does in window
//! `w` can be felt by another only in window `w + 1` or later. So within a window the components are independent. Each
//! is run through the whole window before the next one (its state stays in the cache), and components are dealt out to
//! *shards* that run side by side. What shards say to each other is mail, written in window `w` and read at the start
//! of `w + 1`; they share nothing else, so a shard may as well be a process on another host.
//!
//! The result does not depend on the number of shards: a component sees the same mail in the same window, and mail
//! from different senders must commute (that is the shard's part of the contract).
//!
//! Where components fall into two *sides*, and none says anything to another of its own side, the sides take turns. Side
//! `w % 2` runs in window `w` of length `L`, from cycle `(w - 1) L`, where it stopped, up to `(w + 1) L`: the other side
//! has come to `w L`, and what that does from then on is not felt before `(w + 1) L`. So a component runs twice as far
//! at a time and half as often, and what it costs to begin (its state is not in the cache any more) is paid half as often.
//! At the end of a run the side that is behind comes up to the other in a window of its own.
//!
//! A shard that is alone has nobody to wait for. If it likes it is given many windows at a time, no further than the run goes,
//! and keeps to the lookahead by itself.

use crate::Cycle;
use crate::rounds::{self, ThreadCount};
use serde::{Serialize, de::DeserializeOwned};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One window of simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its number from the start of the simulation.
    pub number: u64,
    /// Its first cycle.
    pub start: Cycle,
    /// The cycle after its last.
    pub end: Cycle,
    /// The cycle after the last that is run before somebody may look from outside, unless the run is stopped.
    pub horizon: Cycle,
    /// It ends a run: the side that is behind comes up to the other. Its number comes again when the run goes on.
    pub is_last: bool,
}

/// What crosses from one shard to another. It can be written to bytes and read again, so a shard may be a process on another
/// host.
pub trait Mail: Send + Serialize + DeserializeOwned {}

impl<M: Send + Serialize + DeserializeOwned> Mail for M {}

/// A set of components that run one after the other, and mail for the rest.
pub trait Shard: Send {
    /// What crosses from one shard to another.
    type Mail: Mail;

    /// Takes a piece of mail that was written in an earlier window.
    fn receive(&mut self, mail: Self::Mail);

    /// Runs every component that has work through `window`. Mail for shard `s` goes to `outbox[s]`. Where two sides take turns
    /// only components of side `window.number % 2` may have work in it. It is longer than others if a shard is alone and has
    /// a [`stretch`](Self::stretch).
    fn run(&mut self, window: Window, outbox: &mut [Vec<Self::Mail>]);

    /// The number of the next window with work, if any is known.
    fn next_window(&self) -> Option<u64>;

    /// Windows that it takes at a time, at most, where it is alone on one side.
    fn stretch(&self) -> u64 {
        1
    }
}

/// Why a run came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Simulated time has reached the cycle asked for.
    Reached,
    /// Nothing is left to happen, ever.
    Idle,
    /// The stop flag was raised.
    Stopped,
}

/// Shards and the windows they run through.
#[derive(Debug)]
pub struct Windows<S: Shard> {
    shards: Vec<S>,
    thread_count: ThreadCount,
    length: u64,
    sides: u64,
    next: u64,
}

/// The mail and the agreement after one window. There are two, by parity: one is written while the other is read.
struct Exchange<M> {
    /// `boxes[from * shards + to]`
    boxes: Vec<Mailbox<M>>,
    /// What each shard proposes to do next.
    proposals: Vec<AtomicU64>,
}

/// What one shard has written to another.
struct Mailbox<M> {
    /// Whether there is anything in it: to ask the others for their mail takes longer, with many shards, than to read it.
    is_full: AtomicBool,
    mail: Mutex<Vec<M>>,
}

/// Proposals, smallest first: whoever wants to stop decides for all, then the earliest window.
const STOP: u64 = 0;
const NOTHING: u64 = u64::MAX;

impl<S: Shard> Windows<S> {
    /// `shards` with a common lookahead of `length` cycles, of components on one side or two.
    ///
    /// # Panics
    /// If there are no shards, the windows are empty, or there are more sides.
    #[must_use]
    pub fn new(shards: Vec<S>, length: u64, sides: u64) -> Self {
        assert!(!shards.is_empty(), "a simulation has a shard");
        assert!(length > 0, "a window is at least one cycle long");
        assert!((1..=2).contains(&sides), "components are all on one side or take turns on two");
        let thread_count = ThreadCount::new(shards.len());
        Windows { shards, thread_count, length, sides, next: 0 }
    }

    /// The shards, in the order given.
    #[must_use]
    pub fn shards(&self) -> &[S] {
        &self.shards
    }

    /// The shards, to be read out or changed between windows.
    pub fn shards_mut(&mut self) -> &mut [S] {
        &mut self.shards
    }

    /// Cycles that pass in a window.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The first cycle not yet simulated.
    #[must_use]
    pub fn now(&self) -> Cycle {
        Cycle(self.next * self.length)
    }

    /// The first cycle in which something may happen, no earlier than [`now`](Self::now); `None` if nothing will, ever. A run
    /// comes to it at once.
    #[must_use]
    pub fn next_work(&self) -> Option<Cycle> {
        let next = self.shards.iter().filter_map(Shard::next_window).min()?;
        Some(Cycle(next.max(self.next) * self.length))
    }

    /// Runs whole windows until simulated time is at least `until`, nothing is left to do, or `stop` is raised.
    ///
    /// # Panics
    /// If a shard does.
    pub fn run_until(&mut self, until: Cycle, stop: &AtomicBool) -> Outcome {
        let count = self.shards.len();
        let stretch = match &self.shards[..] {
            [alone] if self.sides == 1 => alone.stretch(),
            _ => 1,
        };
        let run = Run {
            length: self.length,
            stretch,
            sides: self.sides,
            first: self.next,
            last: until.0.div_ceil(self.length),
            exchange: [Exchange::new(count), Exchange::new(count)],
            stop,
        };
        let lane = |(me, shard)| Lane::new(&run, me, shard);
        let mut lanes: Vec<Lane<'_, S>> = self.shards.iter_mut().enumerate().map(lane).collect();
        rounds::run(&mut self.thread_count, &mut lanes, Lane::turn);
        let end = |lane: &Lane<'_, S>| (lane.window, lane.outcome);
        let (next, outcome) = end(&lanes[0]);
        debug_assert!(lanes.iter().all(|lane| end(lane) == (next, outcome)), "all shards agree");
        self.next = next;
        outcome.expect("rounds end when the outcome is known")
    }
}

impl<M> Exchange<M> {
    fn new(shards: usize) -> Self {
        Exchange {
            boxes: (0..shards * shards).map(|_| Mailbox::new()).collect(),
            proposals: (0..shards).map(|_| AtomicU64::new(NOTHING)).collect(),
        }
    }

    fn mailbox(&self, from: usize, to: usize) -> &Mailbox<M> {
        &self.boxes[from * self.proposals.len() + to]
    }
}

impl<M> Mailbox<M> {
    fn new() -> Self {
        Mailbox { is_full: AtomicBool::new(false), mail: Mutex::new(Vec::new()) }
    }

    /// Puts `mail` into the empty box, and what held the mail before back.
    fn fill(&self, mail: &mut Vec<M>) {
        std::mem::swap(&mut *self.open(), mail);
        debug_assert!(mail.is_empty(), "a box is emptied before it is filled again");
        self.is_full.store(true, Ordering::Relaxed);
    }

    /// Gives what is in it to `receive`.
    fn empty(&self, receive: impl FnMut(M)) {
        if self.is_full.load(Ordering::Relaxed) {
            self.is_full.store(false, Ordering::Relaxed);
            self.open().drain(..).for_each(receive);
        }
    }

    fn open(&self) -> MutexGuard<'_, Vec<M>> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run, the same for all shards.
struct Run<'a, M> {
    length: u64,
    /// Windows that are run at a time.
    stretch: u64,
    sides: u64,
    /// The window it begins with.
    first: u64,
    /// The window it does not come to any more.
    last: u64,
    /// What was written in a round is read in the next one.
    exchange: [Exchange<M>; 2],
    stop: &'a AtomicBool,
}

impl<M> Run<'_, M> {
    /// Window `number`, and those up to `next` that are run with it.
    fn window(&self, number: u64, next: u64) -> Window {
        // After a pause both sides have come equally far.
        let start = (number + 1).saturating_sub(self.sides).max(self.first);
        Window {
            number,
            start: Cycle(start * self.length),
            end: Cycle(next * self.length),
            horizon: Cycle(self.last * self.length),
            is_last: false,
        }
    }
}

/// One shard's way through a run.
struct Lane<'a, S: Shard> {
    run: &'a Run<'a, S::Mail>,
    me: usize,
    shard: &'a mut S,
    outbox: Vec<Vec<S::Mail>>,
    /// The window that comes next. In every round this is the same in all lanes, and so is the outcome.
    window: u64,
    /// Why the run ends, once that is known.
    outcome: Option<Outcome>,
}

impl<'a, S: Shard> Lane<'a, S> {
    fn new(run: &'a Run<'a, S::Mail>, me: usize, shard: &'a mut S) -> Self {
        let shards = run.exchange[0].proposals.len();
        let outbox = (0..shards).map(|_| Vec::new()).collect();
        Lane { run, me, shard, outbox, window: run.first, outcome: None }
    }

    /// Takes in what was written in the round before, runs the window on which all agree, writes and proposes. Says whether
    /// another round is to come.
    fn turn(&mut self, round: u64) -> bool {
        let [now, before] = [round, round + 1].map(|round| &self.run.exchange[(round % 2) as usize]);
        if round > 0 {
            self.collect(before);
            if self.outcome.is_some() {
                return false;
            }
            self.outcome = self.advance(before);
        }
        match self.outcome {
            None => {
                let mailed = self.post(now);
                let next = if mailed { Some(self.window) } else { self.shard.next_window() };
                self.propose(now, next);
                true
            }
            // What the last window has written is still to be taken in.
            Some(Outcome::Stopped | Outcome::Reached)
                if self.run.sides == 2 && self.window > self.run.first =>
            {
                let window = self.run.window(self.window, self.window);
                let window = Window { horizon: window.end, is_last: true, ..window };
                self.shard.run(window, &mut self.outbox);
                self.post(now);
                true
            }
            Some(_) => false,
        }
    }

    /// Runs the next window with work, or says why the run ends. Everyone reads the same proposals, so everyone takes the same
    /// decision.
    fn advance(&mut self, exchange: &Exchange<S::Mail>) -> Option<Outcome> {
        let proposals = exchange.proposals.iter().map(|proposal| proposal.load(Ordering::Relaxed));
        let last = self.run.last;
        match proposals.min().unwrap_or(NOTHING) {
            STOP => Some(Outcome::Stopped),
            NOTHING => {
                self.window = self.window.max(last);
                Some(Outcome::Idle)
            }
            next if next > last => {
                self.window = self.window.max(last);
                Some(Outcome::Reached)
            }
            next => {
                let number = next - 1;
                self.window = (number + self.run.stretch).min(last);
                self.shard.run(self.run.window(number, self.window), &mut self.outbox);
                None
            }
        }
    }

    /// Takes in what is for this shard.
    fn collect(&mut self, exchange: &Exchange<S::Mail>) {
        for from in 0..exchange.proposals.len() {
            exchange.mailbox(from, self.me).empty(|mail| self.shard.receive(mail));
        }
    }

    /// Posts what was written; says whether that was anything.
    fn post(&mut self, exchange: &Exchange<S::Mail>) -> bool {
        let mut mailed = false;
        for (to, mail) in self.outbox.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
            mailed = true;
            exchange.mailbox(self.me, to).fill(mail);
        }
        mailed
    }

    fn propose(&self, exchange: &Exchange<S::Mail>, next: Option<u64>) {
        let proposal = match next {
            _ if self.run.stop.load(Ordering::Relaxed) => STOP,
            Some(next) => next.max(self.window) + 1,
            None => NOTHING,
        };
        exchange.proposals[self.me].store(proposal, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Calendar;
    use std::sync::Arc;

    /// Counters that pass tokens on: token `t` at counter `c` goes to counter `(c * 7 + t) % n`, ten cycles later. On two
    /// sides, even and odd, it goes to one of the other parity.
    struct Ring {
        me: usize,
        shards: usize,
        sides: u64,
        counters: u32,
        calendar: Calendar,
        waiting: Vec<(u64, u32, u32)>,
        seen: Vec<(u64, u32, u32)>,
        /// Raises a flag when it runs the window of this number.
        stops: Option<(u64, Arc<AtomicBool>)>,
        stretch: u64,
    }

    const LENGTH: u64 = 10;

    impl Ring {
        fn new(me: usize, shards: usize, counters: u32, sides: u64) -> Self {
            let calendar = Calendar::new(counters as usize);
            let (waiting, seen) = (Vec::new(), Vec::new());
            Ring { me, shards, sides, counters, calendar, waiting, seen, stops: None, stretch: 1 }
        }

        fn run_one(&mut self, window: Window, outbox: &mut [Vec<(u64, u32, u32)>]) {
            let mut due = Vec::new();
            self.calendar.take(window.number, &mut due);
            assert!(
                due.iter().all(|&counter| (window.number ^ u64::from(counter)).is_multiple_of(self.sides))
            );
            let is_now = |mail: &(u64, u32, u32)| mail.0 < window.end.0 && due.contains(&mail.1);
            let (mut now, later): (Vec<_>, Vec<_>) = self.waiting.drain(..).partition(is_now);
            later.into_iter().for_each(|mail| self.receive(mail));
            now.sort_unstable();
            for (at, counter, token) in now {
                assert!(at >= window.start.0);
                self.seen.push((at, counter, token));
                let next = match self.sides {
                    1 => (counter * 7 + token) % self.counters,
                    _ => (counter * 7 + 2 * token + 1) % self.counters,
                };
                let mail = (at + LENGTH + u64::from(token % 3) * 900, next, token);
                let shard = next as usize % self.shards;
                if shard == self.me { self.receive(mail) } else { outbox[shard].push(mail) }
            }
        }
    }

    impl Shard for Ring {
        type Mail = (u64, u32, u32);

        fn receive(&mut self, mail: Self::Mail) {
            let window = mail.0 / LENGTH;
            self.calendar.schedule(mail.1, window + (window ^ u64::from(mail.1)) % self.sides);
            self.waiting.push(mail);
        }

        fn run(&mut self, window: Window, outbox: &mut [Vec<Self::Mail>]) {
            if let Some((number, stop)) = &self.stops {
                stop.fetch_or(*number == window.number, Ordering::Relaxed);
            }
            let last = (window.end.0 / LENGTH).max(window.number + 1);
            for number in window.number..last {
                let end = if last - window.number > 1 { Cycle((number + 1) * LENGTH) } else { window.end };
                self.run_one(Window { number, end, ..window }, outbox);
            }
        }

        fn next_window(&self) -> Option<u64> {
            self.calendar.next()
        }

        fn stretch(&self) -> u64 {
            self.stretch
        }
    }

    fn start(shards: usize, sides: u64) -> Windows<Ring> {
        let rings = (0..shards).map(|me| Ring::new(me, shards, 22 + sides as u32 % 2, sides));
        let mut windows = Windows::new(rings.collect(), LENGTH, sides);
        for token in 0..9 {
            windows.shards_mut()[token as usize % shards].receive((u64::from(token), token, token));
        }
        windows
    }

    fn assert_all_are_at(windows: &Windows<Ring>, now: u64) {
        let done = |ring: &Ring| {
            ring.seen.iter().all(|seen| seen.0 < now) && ring.waiting.iter().all(|mail| mail.0 >= now)
        };
        assert!(windows.shards().iter().all(done), "everyone has come to cycle {now}, and no further");
    }

    fn run(shards: usize, sides: u64, stops: &[u64]) -> Vec<(u64, u32, u32)> {
        let mut windows = start(shards, sides);
        for &stop in stops {
            assert_eq!(windows.run_until(Cycle(stop), &AtomicBool::new(false)), Outcome::Reached);
            let now = windows.now().0;
            assert!((stop..stop + LENGTH).contains(&now));
            assert_all_are_at(&windows, now);
        }
        seen(&windows)
    }

    fn seen(windows: &Windows<Ring>) -> Vec<(u64, u32, u32)> {
        let mut seen: Vec<_> = windows.shards().iter().flat_map(|shard| shard.seen.clone()).collect();
        seen.sort_unstable();
        seen
    }

    #[test]
    fn the_result_does_not_depend_on_the_number_of_shards_or_on_pauses() {
        for sides in [1, 2] {
            let one = run(1, sides, &[5_000]);
            assert!(one.len() > 1_000);
            assert_eq!(one, run(1, sides, &[7, 100, 101, 3_333, 5_000]));
            for shards in [2, 3, 4] {
                assert_eq!(one, run(shards, sides, &[5_000]));
                assert_eq!(one, run(shards, sides, &[1_234, 5_000]));
            }
        }
    }

    #[test]
    fn a_shard_that_is_alone_and_takes_many_windows_at_a_time_does_the_same() {
        let mut windows = start(1, 1);
        windows.shards_mut()[0].stretch = 64;
        for stop in [7, 100, 1_234, 5_000] {
            assert_eq!(windows.run_until(Cycle(stop), &AtomicBool::new(false)), Outcome::Reached);
            assert_all_are_at(&windows, windows.now().0);
            assert!(windows.now().0 < stop + LENGTH);
        }
        assert_eq!(seen(&windows), run(1, 1, &[5_000]));
    }

    #[test]
    fn a_run_that_ends_at_the_next_work_each_time_is_the_same() {
        for (shards, sides) in [(1, 1), (1, 2), (3, 1), (3, 2)] {
            let undisturbed = run(shards, sides, &[5_000]);
            let mut windows = start(shards, sides);
            assert_eq!(windows.next_work(), Some(Cycle(0)));
            while let Some(next) = windows.next_work().filter(|next| next.0 < 5_000) {
                assert!(next >= windows.now());
                let before = seen(&windows).len();
                assert_eq!(windows.run_until(next, &AtomicBool::new(false)), Outcome::Reached);
                assert_eq!(seen(&windows).len(), before, "nothing happens before {next:?}");
                assert_eq!(windows.run_until(next + 1, &AtomicBool::new(false)), Outcome::Reached);
                assert!(sides == 2 || seen(&windows).len() > before, "something happens in {next:?}");
            }
            assert_eq!(windows.run_until(Cycle(5_000), &AtomicBool::new(false)), Outcome::Reached);
            assert_eq!(seen(&windows), undisturbed, "{shards} shards, {sides} sides");
        }
        let rings = (0..2).map(|me| Ring::new(me, 2, 6, 1)).collect();
        assert_eq!(Windows::new(rings, LENGTH, 1).next_work(), None);
    }

    #[test]
    fn a_run_that_is_stopped_half_way_goes_on_as_if_it_had_not_been() {
        for (shards, sides) in [(1, 1), (1, 2), (3, 1), (3, 2)] {
            let undisturbed = run(shards, sides, &[5_000]);
            for window in [0, 1, 50, 51, 333] {
                let mut windows = start(shards, sides);
                let stop = Arc::new(AtomicBool::new(false));
                windows.shards_mut()[shards - 1].stops = Some((window, Arc::clone(&stop)));
                assert_eq!(windows.run_until(Cycle(5_000), &stop), Outcome::Stopped);
                let now = windows.now().0;
                assert!((window..window + 10).contains(&(now / LENGTH)), "stopped in window {window}: {now}");
                assert_all_are_at(&windows, now);
                stop.store(false, Ordering::Relaxed);
                windows.shards_mut()[shards - 1].stops = None;
                assert_eq!(windows.run_until(Cycle(5_000), &stop), Outcome::Reached);
                assert_eq!(seen(&windows), undisturbed, "{shards} shards, {sides} sides, window {window}");
            }
        }
    }

    #[test]
    fn a_raised_flag_stops_all_shards() {
        for (shards, sides) in [(1, 1), (1, 2), (3, 1), (3, 2)] {
            let rings = (0..shards).map(|me| Ring::new(me, shards, 6, sides));
            let mut windows = Windows::new(rings.collect(), LENGTH, sides);
            assert_eq!(windows.run_until(Cycle(50), &AtomicBool::new(false)), Outcome::Idle);
            windows.shards_mut()[0].receive((60, 0, 1));
            assert_eq!(windows.run_until(Cycle(1_000), &AtomicBool::new(true)), Outcome::Stopped);
            assert!(windows.shards().iter().all(|shard| shard.seen.is_empty()));
        }
    }
}
