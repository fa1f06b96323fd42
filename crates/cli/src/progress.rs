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
            let reached = progress
                .precision
                .map_or_else(String::new, |reached| format!(", +-{:.1} %", reached * 100.0));
            let left =
                left.map_or_else(String::new, |left| format!(", about {} s left", left.as_secs().max(1)));
            bar.set_message(format!(
                "{label}: {} batches, cycle {}{reached}{left}",
                progress.batches, progress.now
            ));
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
