//! Progress on a terminal, nothing when piped; and a clean end on Ctrl-C.

use crate::failure::Failure;
use flitway_engine::Clock;
use flitway_report::measure::Progress;
use flitway_report::page::time;
use flitway_report::session::{BATCHES_MAX, Patience};
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

    /// Shows how far a load point is on the way to `goal`; `left` is the estimate for the rest of the run.
    pub(crate) fn point(&self, label: &str, progress: Progress, goal: &Goal, left: Option<Duration>) {
        if let Some(bar) = &self.0 {
            bar.set_message(told(label, progress, goal, left));
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

/// When a point is over.
pub(crate) struct Goal {
    /// Whose cycles are counted.
    pub(crate) clock: Clock,
    /// After how much time, or how precisely known.
    pub(crate) patience: Patience,
}

impl Goal {
    /// Cycles of a point, if a duration is asked for; a warm-up that is found in the data comes to it.
    pub(crate) fn cycles(&self) -> Option<u64> {
        let Patience { warm_up, duration, .. } = self.patience;
        duration.map(|duration| duration.0 + warm_up.map_or(0, |warm_up| warm_up.0))
    }
}

fn told(label: &str, progress: Progress, goal: &Goal, left: Option<Duration>) -> String {
    let Progress { batches, now, precision } = progress;
    let simulated = |cycles: u64| time(goal.clock.nanos(cycles as f64));
    let now = simulated(now.0);
    let reached = precision.map_or_else(String::new, |reached| format!(", +-{:.1} %", reached * 100.0));
    let far = match goal.cycles() {
        Some(cycles) => {
            let least = if goal.patience.warm_up.is_some() { "" } else { "at least " };
            format!("{now} of {least}{} simulated{reached}", simulated(cycles))
        }
        None => {
            let batch = (batches + 1).min(BATCHES_MAX);
            let wanted = if reached.is_empty() {
                String::new()
            } else {
                format!(" of {:.1} %", goal.patience.precision * 100.0)
            };
            format!("{now} simulated, batch {batch} of at most {BATCHES_MAX}{reached}{wanted}")
        }
    };
    format!("{label}: {far}{}", told_left(left))
}

fn told_left(left: Option<Duration>) -> String {
    left.map_or_else(String::new, |left| format!(", about {} s left", left.as_secs().max(1)))
}

/// How fast a run of several points goes, each of which takes a duration that is asked for. Without one nobody knows: a point
/// near saturation may take a hundred times as long as those before it.
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
        let cycles = self.cycles?;
        let done = done as f64 + (now as f64 / cycles.max(1) as f64).min(1.0);
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
    fn the_rest_is_told_from_the_duration_asked_for() {
        let ten = Duration::from_secs(10);
        assert_eq!(
            Pace { points: 3, cycles: None }.left(ten, 1, 500),
            None,
            "nobody knows how long a point takes"
        );
        let by_cycles = Pace { points: 3, cycles: Some(1_000) };
        assert_eq!(by_cycles.left(ten, 0, 0), None);
        assert_eq!(by_cycles.left(ten, 0, 500), Some(Duration::from_secs(50)));
        assert_eq!(by_cycles.left(ten, 2, 1_500), Some(Duration::ZERO), "its warm-up was not asked for");
    }

    #[test]
    fn the_line_says_where_a_point_is_and_where_it_goes() {
        let goal = |warm_up, duration| {
            let patience = Patience { precision: 0.02, warm_up, duration };
            Goal { clock: Clock::new(100_000_000).unwrap(), patience }
        };
        let of = |progress, goal: &Goal, left| told("load 0.3", progress, goal, left);
        let begun = Progress { batches: 1, now: Cycle(900), precision: None };
        let further = Progress { precision: Some(0.031), ..begun };
        let to_precision = goal(None, None);
        assert_eq!(of(begun, &to_precision, None), "load 0.3: 9.00 µs simulated, batch 2 of at most 400");
        let left = Some(Duration::from_secs(12));
        assert_eq!(
            of(further, &to_precision, left),
            "load 0.3: 9.00 µs simulated, batch 2 of at most 400, +-3.1 % of 2.0 %, about 12 s left"
        );
        let timed = goal(Some(Cycle(500)), Some(Cycle(1_500)));
        assert_eq!(
            of(further, &timed, left),
            "load 0.3: 9.00 µs of 20.0 µs simulated, +-3.1 %, about 12 s left"
        );
        let warming = goal(None, Some(Cycle(1_500)));
        assert_eq!(of(begun, &warming, None), "load 0.3: 9.00 µs of at least 15.0 µs simulated");
    }
}
