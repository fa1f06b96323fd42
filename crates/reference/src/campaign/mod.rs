//! The differential campaign: random cases, run on the reference and on the fast engine, compared in everything.
//!
//! A case is made from one 64-bit seed ([`generate()`]): fabric, settings, traffic, and how it is looked at.
//! [`compare()`] runs it and demands the same deliveries (every field), the same grants, the same new adverts, the same
//! totals, and books that balance. A case that fails is [shrunk](shrink()) and comes back as a [`Finding`], which prints
//! the smallest case, the first difference and the command that replays it.

mod case;
mod compare;
mod generate;
mod shrink;

pub use case::{Case, SpPart};
pub use compare::{Coverage, Failure, compare};
pub use generate::generate;
pub use shrink::shrink;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A case on which the engines differ.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The seed of the case as it was found.
    pub seed: u64,
    /// The smallest case that still fails.
    pub case: Case,
    /// How that one fails.
    pub failure: Failure,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reference and engine differ on a case cut down from\n{}{}", self.case, self.failure)?;
        let seed = self.seed;
        write!(
            f,
            "replay: FLITWAY_CASE={seed} cargo test -p flitway-reference --test differential -- --nocapture"
        )
    }
}

/// How long a campaign goes on.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// So many cases.
    Cases(u64),
    /// So long; what is covered depends on the machine.
    Time(Duration),
}

/// Runs the case of one seed; a failure is shrunk.
///
/// # Errors
/// If the engines differ.
pub fn replay(seed: u64) -> Result<Coverage, Box<Finding>> {
    let case = generate(seed);
    compare(&case).map_err(|failure| {
        // The assertions that fail on the way to the smallest case would only bury it.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (case, failure) = shrink(&case, &failure);
        std::panic::set_hook(hook);
        Box::new(Finding { seed, case, failure })
    })
}

/// Runs cases from seed `first` on, on `workers` threads, until enough have passed or one fails.
///
/// # Errors
/// With the finding of the smallest seed that failed.
pub fn campaign(first: u64, extent: Extent, workers: u32) -> Result<Coverage, Box<Finding>> {
    let started = Instant::now();
    let next = AtomicU64::new(first);
    let failed = AtomicU64::new(u64::MAX);
    let total = Mutex::new(Coverage::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let over = match extent {
                Extent::Cases(cases) => seed - first >= cases,
                Extent::Time(time) => started.elapsed() >= time,
            };
            if over || failed.load(Ordering::Relaxed) < seed {
                return;
            }
            match compare(&generate(seed)) {
                Ok(coverage) => *total.lock().unwrap_or_else(PoisonError::into_inner) += coverage,
                Err(_) => _ = failed.fetch_min(seed, Ordering::Relaxed),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    match failed.into_inner() {
        u64::MAX => Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner)),
        seed => replay(seed),
    }
}
