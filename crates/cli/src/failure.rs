//! How a command fails.

use flitway_experiment::workload::Problem;
use flitway_machine::Diagnostics;

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The machine is wrong.
    Machine(Diagnostics),
    /// Something else of the input is wrong; one message, finished but for the word `error`.
    Input(String),
    /// The simulation found a fault in the network or in the task graph; it has been printed.
    Fault(String),
    /// Whoever read our output has had enough.
    Silenced,
    /// Somebody interrupted it; what there was has been shown and written.
    Interrupted,
}

impl Failure {
    /// Wrong input, in one sentence, and the likely fix in another.
    pub(crate) fn input(message: impl Into<String>, help: Option<String>) -> Self {
        let message = message.into();
        Failure::Input(match help {
            Some(help) => format!("error: {message}\n  = help: {help}"),
            None => format!("error: {message}"),
        })
    }

    /// Wrong options of a workload, all of them.
    pub(crate) fn workload(problems: Vec<Problem>) -> Self {
        let lines: Vec<String> = problems
            .into_iter()
            .map(|problem| {
                let help =
                    problem.help.as_ref().map_or_else(String::new, |help| format!("\n  = help: {help}"));
                let argument = problem.argument();
                problem.picture.unwrap_or_else(|| format!("error: {argument}: {}{help}", problem.message))
            })
            .collect();
        Failure::Input(lines.join("\n"))
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Failure::Machine(diagnostics)
    }
}
