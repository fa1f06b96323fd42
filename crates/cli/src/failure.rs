//! How a command fails: what is printed, and the exit status.

use crate::args::Color;
use crate::output::manner;
use flitway_experiment::workload::Problem;
use flitway_machine::{Colour, Diagnostics};
use std::io::IsTerminal;
use std::process::ExitCode;

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

    /// Prints it and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let (text, status) = match self {
            Failure::Machine(diagnostics) => {
                crate::output::draw(&diagnostics.render(colour()));
                return ExitCode::from(2);
            }
            Failure::Input(text) => (text, 2),
            Failure::Fault(text) => (text, 1),
            Failure::Silenced => return ExitCode::SUCCESS,
            // As a shell reports a process that an interrupt has ended.
            Failure::Interrupted => ("interrupted: what there was until then is shown".to_owned(), 130),
        };
        crate::output::complain(&text);
        ExitCode::from(status)
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Failure::Machine(diagnostics)
    }
}

/// Colours go to a terminal that wants them.
pub(crate) fn colour() -> Colour {
    match manner().color {
        Color::Always => return Colour::Ansi,
        Color::Never => return Colour::Plain,
        Color::Auto => {}
    }
    if std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") {
        return Colour::Ansi;
    }
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let able = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    if wanted && able && std::io::stderr().is_terminal() { Colour::Ansi } else { Colour::Plain }
}
