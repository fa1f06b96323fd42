//! Runs the points of an experiment side by side. What comes out depends neither on how many nor on the order.

use crate::experiment::Experiment;
use crate::point::RunError;
use crate::store::{Store, StoreError};
use serde_json::Value;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How the points of an experiment are run.
#[derive(Clone, Copy, Debug)]
pub struct Runner<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Where finished points are kept, and found.
    pub store: Option<&'a Store>,
    /// Points run side by side, each on one thread, or on several if there are fewer points.
    pub threads: u32,
    /// Raised to end: points that have not finished are dropped.
    pub stop: &'a AtomicBool,
}

/// How far a runner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Points that were there from an earlier run.
    pub kept: usize,
    /// Points run since.
    pub done: usize,
    /// Points of the experiment.
    pub all: usize,
}

/// Why a runner gave up.
#[derive(Clone, Debug)]
pub enum RunnerError {
    /// A finished point cannot be read or written.
    Store(StoreError),
    /// A point does not run.
    Run(RunError),
}

impl fmt::Display for RunnerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunnerError::Store(error) => error.fmt(f),
            RunnerError::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunnerError {}

/// What the threads share.
struct Shared {
    results: Vec<Option<Value>>,
    failure: Option<RunnerError>,
    progress: Progress,
}

impl Runner<'_> {
    /// Runs all points that are not kept: a result for each, `None` where `stop` came first. `progress` is called before
    /// the first point and after each, by any thread but never by two at once.
    ///
    /// # Errors
    /// If a finished point cannot be read, before anything runs, or cannot be written.
    pub fn run(&self, progress: impl Fn(Progress) + Send) -> Result<Vec<Option<Value>>, RunnerError> {
        let points = self.experiment.points();
        let results = self.kept()?;
        let open: Vec<usize> = (0..points.len()).filter(|index| results[*index].is_none()).collect();
        let found = Progress { kept: points.len() - open.len(), done: 0, all: points.len() };
        progress(found);
        let shared = Mutex::new((Shared { results, failure: None, progress: found }, progress));
        let next = AtomicUsize::new(0);
        let beside = self.threads.min(open.len() as u32);
        std::thread::scope(|scope| {
            for _ in 0..beside {
                scope.spawn(|| {
                    while let Some(index) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if self.stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let outcome = self.finish(*index, self.threads / beside);
                        let mut guard = shared.lock().expect("no thread panics while it holds the results");
                        let (shared, progress) = &mut *guard;
                        match outcome {
                            Ok(Some(result)) if shared.failure.is_none() => {
                                shared.results[*index] = Some(result);
                                shared.progress.done += 1;
                                progress(shared.progress);
                            }
                            Ok(_) => {}
                            Err(failure) => shared.failure = shared.failure.take().or(Some(failure)),
                        }
                        if shared.failure.is_some() {
                            return;
                        }
                    }
                });
            }
        });
        let (shared, _) = shared.into_inner().expect("no thread panics while it holds the results");
        shared.failure.map_or(Ok(shared.results), Err)
    }

    fn kept(&self) -> Result<Vec<Option<Value>>, RunnerError> {
        let points = self.experiment.points().iter();
        let Some(store) = self.store else { return Ok(points.map(|_| None).collect()) };
        points.map(|point| store.load(point.key())).collect::<Result<_, _>>().map_err(RunnerError::Store)
    }

    /// Runs a point and keeps it.
    fn finish(&self, index: usize, threads: u32) -> Result<Option<Value>, RunnerError> {
        let point = &self.experiment.points()[index];
        let Some(result) = point.run_on(threads, self.stop).map_err(RunnerError::Run)? else {
            return Ok(None);
        };
        if let Some(store) = self.store {
            store.save(point.key(), &result).map_err(RunnerError::Store)?;
        }
        Ok(Some(result))
    }
}
