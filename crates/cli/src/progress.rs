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
            // A message that is too long is cut, and takes no second line.
            let style = ProgressStyle::with_template("{spinner} [{elapsed}] {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        }))
    }

    /// Shows how far a load point is on the way to `goal`, and how `far` the run is.
    pub(crate) fn point(&self, label: &str, progress: Progress, goal: &Goal, far: Far) {
        if let Some(bar) = &self.0 {
            bar.set_message(told(label, progress, goal, far));
        }
    }

    /// Shows that a load point begins, of which nothing is known until its first batch is over.
    pub(crate) fn begin(&self, label: &str, far: Far) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("{far}{label}: begins"));
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

    /// The part of a point that is over, as far as that is known: a mean twice as precise takes four times as long.
    pub(crate) fn part(&self, progress: &Progress) -> f64 {
        let Progress { now, precision, .. } = progress;
        let part = match (self.cycles(), precision) {
            (Some(cycles), _) => now.0 as f64 / cycles.max(1) as f64,
            (None, Some(reached)) if *reached > 0.0 => (self.patience.precision / reached).powi(2),
            (None, _) => 0.0,
        };
        part.min(1.0)
    }
}

fn told(label: &str, progress: Progress, goal: &Goal, far: Far) -> String {
    let Progress { batches, now, precision, is_filling } = progress;
    let simulated = |cycles: u64| time(goal.clock.nanos(cycles as f64));
    let now = simulated(now.0);
    let reached = precision.map_or_else(String::new, |reached| format!(", +-{:.1} %", reached * 100.0));
    let here = match goal.cycles() {
        Some(cycles) => {
            let least = if goal.patience.warm_up.is_some() { "" } else { "at least " };
            format!("{now} of {least}{} simulated{reached}", simulated(cycles))
        }
        None if reached.is_empty() => {
            let batch = (batches + 1).min(BATCHES_MAX);
            format!("{now} simulated, batch {batch} of at most {BATCHES_MAX}")
        }
        None => format!("{now} simulated{reached} of {:.1} %", goal.patience.precision * 100.0),
    };
    let fills = if is_filling { ", still filling" } else { "" };
    format!("{far}{label}: {here}{fills}")
}

/// How far a run of several points is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Far {
    /// Points that are over.
    pub(crate) over: usize,
    /// Points of the run.
    pub(crate) all: usize,
    /// The part of the run that is over, those that run included.
    pub(crate) share: f64,
    /// How long the rest will take at the pace so far, once there is one.
    pub(crate) left: Option<Duration>,
}

impl Far {
    /// That of a run of so many points, whose parts that are over make `done` points, which took `elapsed`.
    pub(crate) fn of(over: usize, all: usize, done: f64, elapsed: Duration) -> Self {
        let count = all.max(1) as f64;
        let left = (done > 0.0).then(|| elapsed.mul_f64((count - done).max(0.0) / done));
        Far { over, all, share: done / count, left }
    }
}

impl std::fmt::Display for Far {
    /// As the beginning of a line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Far { over, all, share, left } = self;
        if *all > 1 {
            write!(f, "{over} of {all} points, ")?;
        }
        if *all > 1 || left.is_some() {
            write!(f, "{:.0} %", share * 100.0)?;
        }
        if let Some(left) = left {
            let seconds = left.as_secs().max(1);
            let (number, unit) = match seconds {
                ..100 => (seconds, "s"),
                100..6_000 => (seconds.div_ceil(60), "min"),
                _ => (seconds.div_ceil(3_600), "h"),
            };
            write!(f, ", about {number} {unit} left")?;
        }
        if *all > 1 || left.is_some() { f.write_str("; ") } else { Ok(()) }
    }
}

/// How fast a run of several points goes. A point near saturation may take a hundred times as long as those before it, where no
/// duration is asked for, so the time left is that at the pace so far.
pub(crate) struct Pace {
    started: Instant,
    /// The part of each point that is over.
    parts: Vec<f64>,
    over: usize,
}

impl Pace {
    /// That of a run of so many `points`, which begins now.
    pub(crate) fn new(points: usize) -> Self {
        Pace { started: Instant::now(), parts: vec![0.0; points], over: 0 }
    }

    /// So much of the point at `place` is over.
    pub(crate) fn reach(&mut self, place: usize, part: f64) {
        self.parts[place] = part;
    }

    /// The point at `place`, and all before it, are over.
    pub(crate) fn end(&mut self, place: usize) {
        self.parts[place] = 1.0;
        self.over = place + 1;
    }

    /// Points that are over.
    pub(crate) fn over(&self) -> usize {
        self.over
    }

    /// How far the run is.
    pub(crate) fn far(&self) -> Far {
        self.far_after(self.started.elapsed())
    }

    fn far_after(&self, elapsed: Duration) -> Far {
        Far::of(self.over, self.parts.len(), self.parts.iter().sum(), elapsed)
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

    fn goal(warm_up: Option<Cycle>, duration: Option<Cycle>) -> Goal {
        let patience = Patience { precision: 0.02, warm_up, duration };
        Goal { clock: Clock::new(100_000_000).unwrap(), patience }
    }

    #[test]
    fn the_rest_is_told_at_the_pace_so_far() {
        let ten = Duration::from_secs(10);
        let far = |parts: [f64; 3]| {
            let mut pace = Pace::new(3);
            parts.into_iter().enumerate().for_each(|(place, part)| pace.reach(place, part));
            pace.far_after(ten)
        };
        assert_eq!(far([0.0, 0.0, 0.0]).left, None, "nothing is known yet");
        assert_eq!(far([0.5, 0.0, 0.0]).left, Some(Duration::from_secs(50)));
        assert_eq!(far([0.25, 0.25, 0.0]).left, Some(Duration::from_secs(50)), "side by side");
        assert_eq!(far([1.0, 1.0, 1.0]).left, Some(Duration::ZERO));
        let mut pace = Pace::new(2);
        pace.end(0);
        let far = pace.far_after(ten);
        assert_eq!(far, Far { over: 1, all: 2, share: 0.5, left: Some(ten) });
        assert_eq!(far.to_string(), "1 of 2 points, 50 %, about 10 s left; ");
        let far = |seconds| Far::of(1, 2, 1.0, Duration::from_secs(seconds)).to_string();
        assert_eq!(far(130), "1 of 2 points, 50 %, about 3 min left; ");
        assert_eq!(far(7_300), "1 of 2 points, 50 %, about 3 h left; ");
    }

    #[test]
    fn the_part_of_a_point_follows_from_time_or_from_the_precision_reached() {
        let at = |now, precision| Progress { precision, ..Progress::at(Cycle(now)) };
        let timed = goal(Some(Cycle(500)), Some(Cycle(1_500)));
        assert_eq!([500, 2_000, 9_000].map(|now| timed.part(&at(now, None))), [0.25, 1.0, 1.0]);
        let to_precision = goal(None, None);
        let parts = [None, Some(0.04), Some(0.01), Some(0.0)];
        assert_eq!(parts.map(|reached| to_precision.part(&at(9, reached))), [0.0, 0.25, 1.0, 0.0]);
    }

    #[test]
    fn the_line_says_where_a_point_is_and_where_it_goes() {
        let alone = Far { over: 0, all: 1, share: 0.0, left: None };
        let of = |progress, goal: &Goal, far| told("load 0.3", progress, goal, far);
        let begun = Progress { batches: 1, ..Progress::at(Cycle(900)) };
        let further = Progress { precision: Some(0.031), ..begun };
        let to_precision = goal(None, None);
        assert_eq!(of(begun, &to_precision, alone), "load 0.3: 9.00 µs simulated, batch 2 of at most 400");
        let full = Progress { is_filling: true, ..begun };
        assert!(of(full, &to_precision, alone).ends_with("batch 2 of at most 400, still filling"));
        let third = Far::of(2, 9, 2.25, Duration::from_secs(4));
        assert_eq!(
            of(further, &to_precision, third),
            "2 of 9 points, 25 %, about 12 s left; load 0.3: 9.00 µs simulated, +-3.1 % of 2.0 %"
        );
        let timed = goal(Some(Cycle(500)), Some(Cycle(1_500)));
        let alone = Far { left: Some(Duration::from_secs(12)), share: 0.45, ..alone };
        assert_eq!(
            of(further, &timed, alone),
            "45 %, about 12 s left; load 0.3: 9.00 µs of 20.0 µs simulated, +-3.1 %"
        );
        let warming = goal(None, Some(Cycle(1_500)));
        assert!(of(begun, &warming, alone).ends_with("load 0.3: 9.00 µs of at least 15.0 µs simulated"));
    }
}
