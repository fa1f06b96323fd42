//! Progress on a terminal, nothing when piped; and a clean end on Ctrl-C.

use crate::failure::Failure;
use crate::output::manner;
use flitway_engine::Clock;
use flitway_machine::printable;
use flitway_report::measure::Progress;
use flitway_report::page::time;
use flitway_report::session::{BATCHES_MAX, Patience};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A line at the bottom of the terminal.
pub(crate) struct Line(Option<ProgressBar>);

impl Line {
    /// A line, if standard error is a terminal.
    pub(crate) fn new() -> Self {
        let is_wanted = !manner().quiet && !manner().no_progress;
        Line((is_wanted && std::io::stderr().is_terminal()).then(|| {
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
            bar.set_message(printable(&message).into_owned());
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
    started: Instant,
    /// Cycles of a point, if a duration is asked for; a warm-up that is found in the data comes to it.
    cycles: Option<u64>,
    /// The cycle that each point has reached.
    reached: Vec<u64>,
    over: usize,
}

impl Pace {
    /// That of a run of so many `points`, of so many `cycles` each if that is known, which begins now.
    pub(crate) fn new(points: usize, cycles: Option<u64>) -> Self {
        Pace { started: Instant::now(), cycles, reached: vec![0; points], over: 0 }
    }

    /// The point at `place` is at cycle `now`.
    pub(crate) fn reach(&mut self, place: usize, now: u64) {
        self.reached[place] = now;
    }

    /// The point at `place`, and all before it, are over.
    pub(crate) fn end(&mut self, place: usize) {
        self.reached[place] = u64::MAX;
        self.over = place + 1;
    }

    /// Points that are over.
    pub(crate) fn over(&self) -> usize {
        self.over
    }

    /// How long the rest will take, if that can be known.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.left_after(self.started.elapsed())
    }

    fn left_after(&self, elapsed: Duration) -> Option<Duration> {
        let cycles = self.cycles?.max(1);
        let done: f64 = self.reached.iter().map(|&now| now.min(cycles) as f64 / cycles as f64).sum();
        (done > 0.0).then(|| elapsed.mul_f64((self.reached.len() as f64 - done) / done))
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
        let left = |cycles, reached: [u64; 3]| {
            let mut pace = Pace::new(3, cycles);
            reached.into_iter().enumerate().for_each(|(place, now)| pace.reach(place, now));
            pace.left_after(ten)
        };
        assert_eq!(left(None, [500, 0, 0]), None, "nobody knows how long a point takes");
        assert_eq!(left(Some(1_000), [0, 0, 0]), None);
        assert_eq!(left(Some(1_000), [500, 0, 0]), Some(Duration::from_secs(50)));
        assert_eq!(left(Some(1_000), [250, 250, 0]), Some(Duration::from_secs(50)), "side by side");
        let warmed_up = left(Some(1_000), [1_000, 1_000, 1_500]);
        assert_eq!(warmed_up, Some(Duration::ZERO), "its warm-up was not asked for");
        let mut pace = Pace::new(2, Some(1_000));
        pace.end(0);
        assert_eq!((pace.over(), pace.left_after(ten)), (1, Some(ten)));
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
