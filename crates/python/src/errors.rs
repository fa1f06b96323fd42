//! Wrong input becomes the exceptions of `flitway._errors`: a message for people, and each diagnostic as the fields of
//! `flitway.Diagnostic`.

use flitway_experiment::workload::Problem;
use flitway_experiment::{RunError, StoreError};
use flitway_machine::{Colour, Diagnostic, Diagnostics, Severity, render};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    Machine(Diagnostics),
    Workload(Vec<Problem>),
    Point(RunError),
    TooLarge(String),
    /// The stop flag was raised.
    Stopped,
}

impl Failure {
    pub(crate) fn raise(&self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Machine(problems) => Exception::Machine.because(py, problems),
            Failure::Workload(problems) => workload(py, problems),
            Failure::Point(error) => point(py, error),
            Failure::TooLarge(message) => Exception::TooLarge.says(py, message),
            // Only who has raised another exception raises the flag, so that this one is not seen.
            Failure::Stopped => PyKeyboardInterrupt::new_err(()),
        }
    }
}

/// The exceptions: `Machine` is `MachineError` in Python.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exception {
    Machine,
    Workload,
    Experiment,
    Store,
    TooLarge,
    Internal,
}

/// The fields of `flitway.Diagnostic`, in its order.
#[derive(Debug)]
pub(crate) struct Fields {
    code: Option<&'static str>,
    severity: &'static str,
    path: Option<String>,
    message: String,
    expected: Option<String>,
    help: Option<String>,
    rendered: String,
}

impl Exception {
    /// The exception with a message and no diagnostics.
    pub(crate) fn says(self, py: Python<'_>, message: impl Into<String>) -> PyErr {
        self.of(py, message.into(), Vec::new())
    }

    /// The exception with `problems`.
    pub(crate) fn because(self, py: Python<'_>, problems: &Diagnostics) -> PyErr {
        self.of(py, problems.render(Colour::Plain), fields(problems))
    }

    fn of(self, py: Python<'_>, message: String, list: Vec<Fields>) -> PyErr {
        let make = || -> PyResult<Bound<'_, PyAny>> {
            let class = py.import("flitway._errors")?.getattr(format!("{self:?}Error"))?;
            class.call1((message, tuples(py, list)?))
        };
        make().map_or_else(|error| error, PyErr::from_value)
    }
}

impl Fields {
    fn tuple<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Fields { code, severity, path, message, expected, help, rendered } = self;
        (code, severity, path, message, expected, help, rendered).into_pyobject(py)
    }

    fn of_problem(problem: &Problem) -> Self {
        let help = problem.help.as_ref().map_or_else(String::new, |help| format!("\n  = help: {help}"));
        let drawn = || format!("error: `{}`: {}{help}", problem.option, problem.message);
        Fields {
            code: None,
            severity: "error",
            path: Some(problem.option.to_owned()),
            message: problem.message.clone(),
            expected: None,
            help: problem.help.clone(),
            rendered: problem.picture.clone().unwrap_or_else(drawn),
        }
    }

    fn of_diagnostic(diagnostic: &Diagnostic) -> Self {
        let path = diagnostic.location.as_ref().map(|at| match at.span.start {
            0 if at.span.is_empty() => at.source.name.clone(),
            _ => format!("{}:{}", at.source.name, at.line()),
        });
        Fields {
            code: Some(diagnostic.code.id()),
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            path,
            message: diagnostic.message.clone(),
            expected: diagnostic.expected.as_deref().map(str::to_owned),
            help: diagnostic.help.as_deref().map(str::to_owned),
            rendered: render(diagnostic, Colour::Plain),
        }
    }
}

/// Each of `problems` as the fields of a `flitway.Diagnostic`.
pub(crate) fn fields(problems: &Diagnostics) -> Vec<Fields> {
    problems.iter().map(Fields::of_diagnostic).collect()
}

/// What `flitway.Diagnostic` is made of.
pub(crate) fn tuples<'py>(py: Python<'py>, list: Vec<Fields>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    list.into_iter().map(|fields| fields.tuple(py)).collect()
}

/// Wrong options of a workload.
pub(crate) fn workload(py: Python<'_>, problems: &[Problem]) -> PyErr {
    let list: Vec<Fields> = problems.iter().map(Fields::of_problem).collect();
    let message: Vec<&str> = list.iter().map(|fields| fields.rendered.as_str()).collect();
    Exception::Workload.of(py, message.join("\n"), list)
}

/// A point that does not run.
pub(crate) fn point(py: Python<'_>, error: &RunError) -> PyErr {
    match error {
        RunError::Machine(problems) => Exception::Machine.because(py, problems),
        RunError::Workload(problems) => workload(py, problems),
        RunError::Description(message) => Exception::Experiment.says(py, message),
    }
}

/// A folder that cannot be used.
pub(crate) fn store(py: Python<'_>, error: &StoreError) -> PyErr {
    let help = error.help.map_or_else(String::new, |help| format!("\n  = help: {help}"));
    Exception::Store.says(py, format!("{error}{help}"))
}
