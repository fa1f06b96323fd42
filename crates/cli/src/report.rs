//! `--report`: the report page of a run.

use crate::args::RunArguments;
use crate::failure::Failure;
use crate::output::{Target, complain, is_same_file};

/// The file that the page goes to, if one is asked for, once it is known that it can be written.
fn target(arguments: &RunArguments) -> Result<Option<Target>, Failure> {
    let Some(path) = &arguments.report else { return Ok(None) };
    if path == "-" {
        return Err(Failure::input("--report -: a page goes to a file, not to standard output", None));
    }
    for (option, other) in
        [("--json", &arguments.json), ("--parquet", &arguments.parquet), ("--csv", &arguments.csv)]
    {
        if other.as_ref().is_some_and(|other| is_same_file(other, path)) {
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

/// Writes the page, if one is asked for.
pub(crate) fn write(arguments: &RunArguments, html: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(target) = target(arguments)? else { return Ok(()) };
    target.write(&html())?;
    if arguments.json.as_deref() != Some("-") {
        complain(&format!("report: {}", arguments.report.as_deref().unwrap_or_default()));
    }
    Ok(())
}
