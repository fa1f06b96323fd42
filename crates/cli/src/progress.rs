//! Progress on a terminal, nothing when piped; and a clean end on Ctrl-C.

use crate::failure::Failure;
use flitway_report::measure::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A line at the bottom of the terminal.
pub(crate) struct Line(Option<ProgressBar>);

impl Line {
    /// A line, if standard error is a terminal.
    pub(crate) fn new() -> Self {
        Line(std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            let style = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }))
    }

    /// Shows how far a load point is, and of how many; `left` is the estimate for the rest.
    pub(crate) fn point(&self, label: &str, progress: Progress, left: Option<Duration>) {
        if let Some(bar) = &self.0 {
            bar.set_message(told(label, progress, left));
        }
    }

    /// Shows that a load point begins, of which nothing is known until its first batch is over.
    pub(crate) fn begin(&self, label: &str, left: Option<Duration>) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("{label}: begins{}", told_left(left)));
        }
    }

    /// Shows a message.
    pub(crate) fn message(&self, message: String) {
        if let Some(bar) = &self.0 {
            bar.set_message(message);
        }
    }

    /// Takes the line away while `print` prints.
    pub(crate) fn clear_for<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn told(label: &str, progress: Progress, left: Option<Duration>) -> String {
    let Progress { batches, now, precision } = progress;
    let reached = precision.map_or_else(String::new, |reached| format!(", +-{:.1} %", reached * 100.0));
    format!("{label}: {batches} batches, cycle {now}{reached}{}", told_left(left))
}

fn told_left(left: Option<Duration>) -> String {
    left.map_or_else(String::new, |left| format!(", about {} s left", left.as_secs().max(1)))
}

/// How fast a run of several points goes.
pub(crate) struct Pace {
    /// How many points it has.
    pub(crate) points: usize,
    /// Cycles of a point, if a duration is asked for; a warm-up that is found in the data comes to it.
    pub(crate) cycles: Option<u64>,
}

impl Pace {
    /// How long the rest will take, if that can be known after `elapsed`, when `done` points are over and the next one is at
    /// cycle `now`.
    pub(crate) fn left(&self, elapsed: Duration, done: usize, now: u64) -> Option<Duration> {
        let of_next = self.cycles.map_or(0.0, |cycles| (now as f64 / cycles.max(1) as f64).min(1.0));
        let done = done as f64 + of_next;
        (done > 0.0).then(|| elapsed.mul_f64((self.points as f64 - done) / done))
    }
}

/// The flag that Ctrl-C raises: the run ends cleanly with what was measured. A second Ctrl-C ends the process.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let handler = move || {
        if raised.swap(true, Ordering::SeqCst) {
            interrupt();
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::input(format!("cannot watch for Ctrl-C: {error}"), None))?;
    Ok(flag)
}

/// Ends the process the way a shell expects after an interrupt.
#[expect(clippy::exit, reason = "the user asked twice; the run cannot be trusted to return soon")]
fn interrupt() {
    std::process::exit(130);
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::Cycle;

    #[test]
    fn the_rest_is_told_from_points_that_are_over_and_from_the_duration_asked_for() {
        let ten = Duration::from_secs(10);
        let by_points = Pace { points: 3, cycles: None };
        assert_eq!(by_points.left(ten, 0, 500), None, "nobody knows how long a point takes");
        assert_eq!(by_points.left(ten, 1, 500), Some(Duration::from_secs(20)));
        let by_cycles = Pace { points: 3, cycles: Some(1_000) };
        assert_eq!(by_cycles.left(ten, 0, 0), None);
        assert_eq!(by_cycles.left(ten, 0, 500), Some(Duration::from_secs(50)));
        assert_eq!(by_cycles.left(ten, 2, 1_500), Some(Duration::ZERO), "its warm-up was not asked for");
    }

    #[test]
    fn the_line_says_where_a_point_is() {
        let progress = Progress { batches: 7, now: Cycle(900), precision: Some(0.031) };
        let left = Some(Duration::from_secs(12));
        assert_eq!(
            told("load 0.3", progress, left),
            "load 0.3: 7 batches, cycle 900, +-3.1 %, about 12 s left"
        );
    }
}
