//! The differential campaign: random cases, run on the reference and on the fast engine, compared in everything.
//!
//! A case is made from one 64-bit seed ([`generate()`]): fabric, settings, traffic, and how it is looked at.
//! [`compare()`] runs it and demands the same deliveries (every field), the same grants, the same new adverts, of tiled
//! switches also the same passages and departures, the same totals, and books that balance. A case that fails is
//! [shrunk](shrink()) and comes back as a [`Finding`], which prints the smallest case, as text that can be kept as a file
//! and read again, with the first difference.

mod case;
mod chip;
mod compare;
mod dice;
mod generate;
mod shrink;
mod tables;
mod text;

pub use case::{Case, Slow};
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
    /// The seed of the case as it was found, if it is from one.
    pub seed: Option<u64>,
    /// The smallest case that still fails.
    pub case: Case,
    /// How that one fails.
    pub failure: Failure,
}

/// As the text of a case, with the rest in remarks: it can be kept as a file.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Reference and engine differ on this case. From a file: cargo xtask campaign --case FILE"
        )?;
        for line in self.failure.to_string().lines() {
            writeln!(f, "# {line}")?;
        }
        if let Some(seed) = self.seed {
            writeln!(f, "# Before it was cut down: cargo xtask campaign --replay {seed}")?;
        }
        write!(f, "{}", self.case)
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

/// Runs one case; if it fails, it is shrunk.
///
/// # Errors
/// If the engines differ.
pub fn check(case: &Case) -> Result<Coverage, Box<Finding>> {
    compare(case).map_err(|failure| {
        // The assertions that fail on the way to the smallest case would only bury it.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (case, failure) = shrink(case, &failure);
        std::panic::set_hook(hook);
        Box::new(Finding { seed: None, case, failure })
    })
}

/// Runs the case of one seed; if it fails, it is shrunk.
///
/// # Errors
/// If the engines differ.
pub fn replay(seed: u64) -> Result<Coverage, Box<Finding>> {
    check(&generate(seed)).map_err(|finding| Box::new(Finding { seed: Some(seed), ..*finding }))
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
