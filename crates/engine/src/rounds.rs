//! Rounds: every job has its turn once in each of them, and a round begins when the one before is over. On as many threads
//! as there are jobs and processors.
//!
//! Nobody waits for a thread that has not come: whoever has time takes the turn of a job that nobody has begun. So a thread
//! that the operating system keeps from running, since others want its processor too, is missed but not waited for, unless
//! it was amid a turn. A job stays with the thread that took its last turn, whose cache knows it, as long as it comes in time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Looks in vain after which a thread takes the turn of another's job: about a microsecond, much longer than a thread that is
/// running takes to notice that a round has begun.
const COURTESY: u32 = 50;

/// Looks in vain after which a thread gives way to others between two of them.
const SPINS: u32 = 2_000;

/// Gives each of `jobs` a `turn` in round 0, 1 and so on, up to the round in which turns say that it was the last: all of them
/// in the same one.
///
/// # Panics
/// If a turn does.
pub(crate) fn run<J: Send>(jobs: &mut [J], turn: impl Fn(&mut J, u64) -> bool + Sync) {
    match jobs {
        [] => {}
        [only] => {
            let mut rounds = 0..;
            while rounds.next().is_some_and(|round| turn(only, round)) {}
        }
        jobs => {
            let threads =
                thread::available_parallelism().map_or(jobs.len(), |cores| jobs.len().min(cores.get()));
            on_threads(threads, jobs, turn);
        }
    }
}

fn on_threads<J: Send>(threads: usize, jobs: &mut [J], turn: impl Fn(&mut J, u64) -> bool + Sync) {
    let crew = Crew::new(threads, jobs);
    thread::scope(|scope| {
        for me in 1..threads {
            let (crew, turn) = (&crew, &turn);
            scope.spawn(move || crew.work(me, turn));
        }
        crew.work(0, &turn);
    });
}

/// A job, and who has it.
#[repr(align(128))]
struct Place<'a, J> {
    /// The first round in which nobody has begun its turn.
    round: AtomicU64,
    /// The thread that took its last turn.
    thread: AtomicUsize,
    /// Never held by two at once.
    job: Mutex<&'a mut J>,
}

/// What the threads share.
struct Crew<'a, J> {
    places: Vec<Place<'a, J>>,
    /// Turns that are over, of all rounds.
    turns: AtomicU64,
    /// The round that does not begin any more.
    end: AtomicU64,
    has_panicked: AtomicBool,
}

impl<'a, J: Send> Crew<'a, J> {
    fn new(threads: usize, jobs: &'a mut [J]) -> Self {
        let place = |(number, job)| Place {
            round: AtomicU64::new(0),
            thread: AtomicUsize::new(number % threads),
            job: Mutex::new(job),
        };
        Crew {
            places: jobs.iter_mut().enumerate().map(place).collect(),
            turns: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            has_panicked: AtomicBool::new(false),
        }
    }

    /// What thread `me` does, up to the end of the last round.
    fn work(&self, me: usize, turn: &impl Fn(&mut J, u64) -> bool) {
        let _guard = TellOfPanic(&self.has_panicked);
        let (mut looks, mut last) = (0, 0);
        loop {
            let round = self.turns.load(Ordering::Acquire) / self.places.len() as u64;
            if round == self.end.load(Ordering::Relaxed) {
                return;
            }
            looks = if round == last { looks + 1 } else { 0 };
            last = round;
            if let Some(place) = self.begin(me, round, looks > COURTESY) {
                self.finish(place, round, turn);
                looks = 0;
                continue;
            }
            assert!(!self.has_panicked.load(Ordering::Relaxed), "a turn on another thread panicked");
            if looks < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }

    /// Thread `me` begins a turn of `round` that nobody has begun: of a job of its own, or of `any`.
    fn begin(&self, me: usize, round: u64, any: bool) -> Option<&Place<'a, J>> {
        let begin = |place: &&Place<'a, J>| {
            let next = &place.round;
            next.load(Ordering::Relaxed) == round
                && next.compare_exchange(round, round + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let is_mine = |place: &&Place<'a, J>| place.thread.load(Ordering::Relaxed) == me;
        let place = self.places.iter().filter(is_mine).find(begin);
        let place = if any { place.or_else(|| self.places.iter().find(begin)) } else { place }?;
        place.thread.store(me, Ordering::Relaxed);
        Some(place)
    }

    fn finish(&self, place: &Place<'a, J>, round: u64, turn: &impl Fn(&mut J, u64) -> bool) {
        let mut job = place.job.lock().unwrap_or_else(PoisonError::into_inner);
        if !turn(&mut job, round) {
            self.end.store(round + 1, Ordering::Relaxed);
        }
        drop(job);
        self.turns.fetch_add(1, Ordering::AcqRel);
    }
}

/// Frees the others from waiting for a turn that will never be over.
struct TellOfPanic<'a>(&'a AtomicBool);

impl Drop for TellOfPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    /// The rounds that `jobs` jobs have seen on `threads` threads, of `rounds`; each checks that no other is ahead by a round.
    fn seen(jobs: usize, threads: usize, rounds: u64) -> Vec<Vec<u64>> {
        let mut seen: Vec<(usize, Vec<u64>)> = (0..jobs).map(|job| (job, Vec::new())).collect();
        let over: Vec<AtomicU64> = (0..jobs).map(|_| AtomicU64::new(0)).collect();
        on_threads(threads, &mut seen, |(job, seen), round| {
            assert!(over.iter().all(|over| over.load(Ordering::Relaxed) >= round), "a round is over");
            seen.push(round);
            over[*job].store(round + 1, Ordering::Relaxed);
            round + 1 < rounds
        });
        seen.into_iter().map(|(_, seen)| seen).collect()
    }

    #[test]
    fn every_job_has_one_turn_in_each_round() {
        for (jobs, threads) in [(2, 2), (3, 2), (5, 5), (4, 1), (2, 3)] {
            let all: Vec<u64> = (0..2_000).collect();
            assert!(
                seen(jobs, threads, 2_000).iter().all(|seen| *seen == all),
                "{jobs} jobs on {threads} threads"
            );
        }
        assert_eq!(seen(3, 2, 1), [[0], [0], [0]], "the first round may be the last");
        let mut alone = [0];
        run(&mut alone, |job, round| {
            *job += round;
            round < 10
        });
        assert_eq!(alone, [55]);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_does_not_come() {
        let mut jobs = [0, 0];
        let crew = Crew::new(2, &mut jobs);
        // Thread 1 never comes.
        crew.work(0, &|job: &mut u64, round| {
            *job += 1;
            round < 99
        });
        drop(crew);
        assert_eq!(jobs, [100, 100]);
    }

    #[test]
    fn a_thread_that_comes_late_takes_jobs_over() {
        let mut jobs = [Vec::new(), Vec::new()];
        let crew = Crew::new(2, &mut jobs);
        let turn = |job: &mut Vec<thread::ThreadId>, round: u64| {
            thread::sleep(Duration::from_micros(500));
            job.push(thread::current().id());
            round < 40
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(4));
                crew.work(1, &turn);
            });
            crew.work(0, &turn);
        });
        drop(crew);
        assert!(jobs.iter().all(|job| job.len() == 41));
        assert!(jobs.concat().contains(&thread::current().id()));
        assert!(jobs.concat().iter().any(|id| *id != thread::current().id()), "it takes part");
    }

    #[test]
    fn a_panic_on_any_thread_ends_all() {
        for bad in [0, 1, 2] {
            let mut jobs = [0, 1, 2];
            let run =
                || on_threads(3, &mut jobs, |job, round| round < 10 || *job != bad || panic!("as it should"));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        }
    }
}
