//! `--report`: the report page of a run.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, complain};
use flitway_experiment::result::{Heading, result};
use flitway_experiment::workload::Run;
use flitway_report::details::Details;
use flitway_report::page::Page;
use flitway_report::session::Session;
use flitway_report::theory::Theory;
use serde_json::Value;

/// The file that the page goes to, if one is asked for, once it is known that it can be written.
fn target(arguments: &RunArguments) -> Result<Option<Target>, Failure> {
    let Some(path) = &arguments.report else { return Ok(None) };
    if path == "-" {
        return Err(Failure::input("--report -: a page goes to a file, not to standard output", None));
    }
    for (option, other) in [("--json", &arguments.json), ("--parquet", &arguments.parquet)] {
        if other.as_ref() == Some(path) {
            let message = format!("--report {path}: {option} writes to the same file");
            return Err(Failure::input(message, None));
        }
    }
    Ok(Some(Target::new("--report", path)))
}

/// Finds out before the run whether the page can be written.
pub(crate) fn probe(arguments: &RunArguments) -> Result<(), Failure> {
    target(arguments)?.map_or(Ok(()), |target| target.probe())
}

/// What a page is made of beside the session.
pub(crate) struct Material<'a> {
    /// What ran.
    pub(crate) workload: &'a dyn Run,
    /// The points, as `--json` has them.
    pub(crate) points: Vec<Value>,
    /// What theory says of it.
    pub(crate) theory: Option<&'a Theory>,
    /// For each point, what the result does not hold.
    pub(crate) details: Vec<Option<&'a Details>>,
}

/// Writes the page, if one is asked for.
pub(crate) fn write(
    arguments: &RunArguments,
    session: &Session,
    material: Material<'_>,
) -> Result<(), Failure> {
    if arguments.report.is_none() {
        return Ok(());
    }
    let Material { workload, points, theory, details } = material;
    let command: Vec<String> = std::env::args().collect();
    let heading = Heading { machine: session.machine(), seed: session.seed(), command: &command, workload };
    let page = Page {
        result: &result(heading, points),
        fabric: session.fabric(),
        clock: session.machine().clock,
        theory,
        details: &details,
    };
    put(arguments, &page.html())
}

/// Writes `html`, if a page is asked for.
pub(crate) fn put(arguments: &RunArguments, html: &str) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    target.write(html)?;
    if arguments.json.as_deref() != Some("-") {
        complain(&format!("report: {}", arguments.report.as_deref().unwrap_or_default()));
    }
    Ok(())
}
