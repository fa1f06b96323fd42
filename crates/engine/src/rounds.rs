//! Rounds: every job has its turn once in each of them, and a round begins when the one before is over. On several threads,
//! where that pays.
//!
//! Nobody waits for a thread that has not come: whoever has time takes the turn of a job that nobody has begun. So a thread
//! that the operating system keeps from running, since others want its processor too, is missed but not waited for, unless
//! it was amid a turn. A job stays with the thread that took its last turn, whose cache knows it, as long as it comes in time.
//!
//! That threads meet takes a while, less than a microsecond, and rounds may be as short. So the number of threads is tried
//! out ([`ThreadCount`]).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Looks in vain after which a thread takes the turn of another's job: about a microsecond, much longer than a thread that is
/// running takes to notice that a round has begun.
const COURTESY: u32 = 50;

/// Looks in vain after which a thread gives way to others between two of them.
const SPINS: u32 = 2_000;

/// Nanoseconds: rounds that take longer are worth meeting for.
const LONG: u64 = 20_000;

/// What it may take to start threads, which is not counted as a part of rounds when their length is judged.
const START: Duration = Duration::from_millis(1);

/// How often each number of threads is tried: the first run finds the caches cold.
const TRIALS: usize = 2;

/// Runs after which the number of threads is tried out again.
const RUNS: usize = 64;

/// How many threads there are for a number of jobs. What comes of the jobs does not depend on it.
#[derive(Debug)]
pub(crate) struct ThreadCount {
    /// The numbers that are tried in turns, the largest first, with the least nanoseconds of a round in the trials.
    sizes: Vec<(usize, f64)>,
    /// Runs since the trials began.
    runs: usize,
}

impl ThreadCount {
    /// As many as there are `jobs` and processors, or fewer.
    pub(crate) fn new(jobs: usize) -> Self {
        let threads = thread::available_parallelism().map_or(jobs, |cores| jobs.min(cores.get()));
        let halves =
            std::iter::successors(Some(threads), |threads| Some(threads / 2)).take_while(|size| *size > 0);
        ThreadCount { sizes: halves.map(|size| (size, 0.0)).collect(), runs: 0 }
    }

    /// For the next run.
    fn threads(&self) -> usize {
        let best = || self.sizes.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        self.on_trial().map(|place| &self.sizes[place]).or_else(best).map_or(1, |size| size.0)
    }

    /// The place of the size that the next run tries, if it is a trial.
    fn on_trial(&self) -> Option<usize> {
        let sizes = self.sizes.len();
        (self.runs < TRIALS * sizes).then(|| self.runs % sizes)
    }

    /// A run of so many `rounds` has taken so long.
    fn took(&mut self, time: Duration, rounds: u64) {
        let round = time.as_nanos() as f64 / rounds as f64;
        if self.runs == 0 {
            if time.saturating_sub(START).as_nanos() > u128::from(LONG) * u128::from(rounds) {
                // The first size it is, and stays.
                return;
            }
            self.sizes.iter_mut().for_each(|size| size.1 = f64::INFINITY);
        }
        if let Some(place) = self.on_trial() {
            let (_, least) = &mut self.sizes[place];
            *least = least.min(round);
        }
        self.runs = (self.runs + 1) % RUNS;
    }
}

/// Gives each of `jobs` a `turn` in round 0, 1 and so on, up to the round in which turns say that it was the last: all of them
/// in the same one.
///
/// # Panics
/// If a turn does.
pub(crate) fn run<J: Send>(
    thread_count: &mut ThreadCount,
    jobs: &mut [J],
    turn: impl Fn(&mut J, u64) -> bool + Sync,
) {
    if let [only] = jobs {
        let mut rounds = 0..;
        while rounds.next().is_some_and(|round| turn(only, round)) {}
        return;
    }
    let started = Instant::now();
    let rounds = on_threads(thread_count.threads(), jobs, turn);
    thread_count.took(started.elapsed(), rounds);
}

/// The same on so many `threads`. Returns how many rounds there were.
fn on_threads<J: Send>(threads: usize, jobs: &mut [J], turn: impl Fn(&mut J, u64) -> bool + Sync) -> u64 {
    let work = Work::new(threads, jobs);
    thread::scope(|scope| {
        for me in 1..threads {
            let (work, turn) = (&work, &turn);
            scope.spawn(move || work.share(me, turn));
        }
        work.share(0, &turn);
    });
    work.end.load(Ordering::Relaxed)
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
struct Work<'a, J> {
    places: Vec<Place<'a, J>>,
    /// Turns that are over, of all rounds.
    turns: AtomicU64,
    /// The round that does not begin any more.
    end: AtomicU64,
    has_panicked: AtomicBool,
}

impl<'a, J: Send> Work<'a, J> {
    fn new(threads: usize, jobs: &'a mut [J]) -> Self {
        let place = |(number, job)| Place {
            round: AtomicU64::new(0),
            thread: AtomicUsize::new(number % threads),
            job: Mutex::new(job),
        };
        Work {
            places: jobs.iter_mut().enumerate().map(place).collect(),
            turns: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            has_panicked: AtomicBool::new(false),
        }
    }

    /// What thread `me` does, up to the end of the last round.
    fn share(&self, me: usize, turn: &impl Fn(&mut J, u64) -> bool) {
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
        for jobs in 1..5 {
            let mut jobs = vec![0; jobs];
            run(&mut ThreadCount::new(jobs.len()), &mut jobs, |job, round| {
                *job += round;
                round < 10
            });
            assert!(jobs.iter().all(|job| *job == 55));
        }
    }

    #[test]
    fn as_many_threads_as_pay() {
        let thread_count = |threads: usize| {
            let mut thread_count = ThreadCount::new(threads);
            thread_count.sizes = [4, 2, 1].map(|size| (size, 0.0)).into();
            thread_count
        };
        let run = |thread_count: &mut ThreadCount, micros: [u64; 5]| {
            let threads = thread_count.threads();
            thread_count.took(Duration::from_micros(1_000 * micros[threads]), 1_000);
            threads
        };
        let mut short = thread_count(4);
        for _ in 0..3 {
            assert_eq!([0; 3].map(|_| run(&mut short, [0, 8, 9, 0, 10])), [4, 2, 1]);
            assert_eq!([0; 3].map(|_| run(&mut short, [0, 5, 3, 0, 7])), [4, 2, 1]);
            assert!((6..RUNS).all(|_| run(&mut short, [0, 5, 3, 0, 7]) == 2), "the best, between trials");
        }
        let mut long = thread_count(4);
        assert!((0..200).all(|_| run(&mut long, [0, 5, 3, 0, 50]) == 4), "rounds are long");
        assert!(ThreadCount::new(64).sizes.last().is_some_and(|last| last.0 == 1));
        assert_eq!(ThreadCount::new(1).sizes.len(), 1);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_does_not_come() {
        let mut jobs = [0, 0];
        let work = Work::new(2, &mut jobs);
        // Thread 1 never comes.
        work.share(0, &|job: &mut u64, round| {
            *job += 1;
            round < 99
        });
        drop(work);
        assert_eq!(jobs, [100, 100]);
    }

    #[test]
    fn a_thread_that_comes_late_takes_jobs_over() {
        let mut jobs = [Vec::new(), Vec::new()];
        let work = Work::new(2, &mut jobs);
        let has_come = AtomicBool::new(false);
        let turn = |job: &mut Vec<thread::ThreadId>, round: u64| {
            while round == 10 && !has_come.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            thread::sleep(Duration::from_micros(500));
            job.push(thread::current().id());
            round < 40
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(4));
                has_come.store(true, Ordering::Relaxed);
                work.share(1, &turn);
            });
            work.share(0, &turn);
        });
        drop(work);
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
