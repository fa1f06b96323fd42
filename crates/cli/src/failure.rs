//! How a command fails.

use flitway_experiment::workload::Problem;
use flitway_machine::Diagnostics;
use serde_json::{Value, json};

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The machine is wrong.
    Machine(Diagnostics),
    /// Something else of the input is wrong, at least one thing.
    Input(Vec<Mistake>),
    /// The simulation found a fault in the network or in the task graph; it has been printed.
    Fault(String),
    /// Whoever read our output has had enough.
    Silenced,
    /// Somebody interrupted it; what there was has been shown and written.
    Interrupted,
}

/// Something that is wrong with the input and has no place in a machine file.
#[derive(Debug)]
pub(crate) struct Mistake {
    /// The option, as the command line has it.
    option: Option<String>,
    /// What is wrong, in one sentence.
    message: String,
    /// The likely fix.
    help: Option<String>,
    /// The mistakes of a file, drawn; they say all that the message says.
    picture: Option<String>,
}

impl Mistake {
    /// As a person reads it.
    pub(crate) fn shown(&self) -> String {
        let Mistake { option, message, help, picture } = self;
        let option = option.as_ref().map_or_else(String::new, |option| format!("{option}: "));
        let help = help.as_ref().map_or_else(String::new, |help| format!("\n  = help: {help}"));
        picture.clone().unwrap_or_else(|| format!("error: {option}{message}{help}"))
    }

    fn to_json(&self) -> Value {
        let mut object = json!({ "severity": "error", "message": self.message, "rendered": self.shown() });
        for (key, text) in [("source", &self.option), ("help", &self.help)] {
            if let Some(text) = text {
                object[key] = json!(text);
            }
        }
        object
    }
}

impl Failure {
    /// Wrong input, in one sentence, and the likely fix in another.
    pub(crate) fn input(message: impl Into<String>, help: Option<String>) -> Self {
        Failure::Input(vec![Mistake { option: None, message: message.into(), help, picture: None }])
    }

    /// Wrong options of a workload, all of them.
    pub(crate) fn workload(problems: Vec<Problem>) -> Self {
        let mistake = |problem: Problem| Mistake {
            option: Some(problem.argument()),
            message: problem.message,
            help: problem.help,
            picture: problem.picture,
        };
        Failure::Input(problems.into_iter().map(mistake).collect())
    }

    /// What is wrong with the input, as `flitway check --json` says it, and whether there is more.
    pub(crate) fn diagnostics(&self) -> (Vec<Value>, bool) {
        match self {
            Failure::Machine(problems) => (problems.to_json(), problems.has_more()),
            Failure::Input(mistakes) => (mistakes.iter().map(Mistake::to_json).collect(), false),
            Failure::Fault(_) | Failure::Silenced | Failure::Interrupted => (Vec::new(), false),
        }
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Failure::Machine(diagnostics)
    }
}
