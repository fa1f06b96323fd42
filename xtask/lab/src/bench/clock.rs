//! Time that this machine has spent on us. Other work on the machine makes the clock on the wall useless, so processor
//! time is what counts.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Seconds of one stretch of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent {
    /// On the wall.
    pub(super) wall: f64,
    /// Of a processor, by the calling thread.
    pub(super) processor: f64,
}

/// Measures `work`, done by this thread.
pub(super) fn spent(work: impl FnOnce()) -> Spent {
    let (started, before) = (Instant::now(), thread_time());
    work();
    let (wall, processor) = (started.elapsed(), thread_time() - before);
    Spent { wall: wall.as_secs_f64(), processor: processor.as_secs_f64() }
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("POSIX has this clock").into()
}

/// Processor time of all child processes that have ended, in user and in system mode.
pub(super) fn children_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("POSIX has this count");
    let span =
        |time: TimeVal| Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()).unsigned_abs());
    span(usage.user_time()) + span(usage.system_time())
}

/// The median; of an even number, the lower one.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len().max(1) - 1) / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_middle_value() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn work_takes_time() {
        let spent = spent(|| {
            std::hint::black_box((0..3_000_000_u64).fold(0, |sum, x| std::hint::black_box(sum ^ x)));
        });
        assert!(spent.wall > 0.0 && spent.processor > 0.0);
    }
}
