//! What a command reads: a machine, and no experiment in its place; and that it is not what it writes.

use crate::args::RunArguments;
use crate::failure::Failure;
use flitway_experiment::whole::is_same;
use flitway_machine::{Machine, input};
use std::path::{Path, PathBuf};

/// The machine `name`, changed as `set` says.
pub(crate) fn machine(name: &str, set: &[String]) -> Result<Machine, Failure> {
    Machine::load(name, set).map_err(|problems| match is_experiment(name) {
        true => {
            let help = format!("write `flitway run --experiment {name}`");
            Failure::input(format!("`{name}` is an experiment, and no machine"), Some(help))
        }
        false => problems.into(),
    })
}

/// Whether `name` is that of an experiment, or of a file with the table `run` that each has.
fn is_experiment(name: &str) -> bool {
    let is_built_in = flitway_experiment::builtin().iter().any(|(known, _)| *known == name);
    is_built_in || {
        let path = Path::new(name);
        let has_run = |text: String| text.lines().any(|line| line.trim() == "[run]");
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        is_toml && input::read_text(path, input::WRITTEN_MAX).is_ok_and(has_run)
    }
}

/// The outputs that `arguments` name, each with its option.
pub(crate) fn outputs(arguments: &RunArguments) -> Vec<(&'static str, &Path)> {
    let RunArguments { json, parquet, csv, report, trace, counters, .. } = arguments;
    let named = [
        ("--json", json),
        ("--parquet", parquet),
        ("--csv", csv),
        ("--report", report),
        ("--trace", trace),
        ("--counters", counters),
    ];
    let files = named.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
    files.filter(|(_, path)| *path != "-").map(|(option, path)| (option, Path::new(path))).collect()
}

/// Refuses an output that is one of `inputs`, by whatever name.
pub(crate) fn keep<'a>(
    outputs: &[(&str, &Path)],
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Failure> {
    for input in inputs {
        let replaces = |(_, output): &&(&str, &Path)| is_file(input) && is_same(output, input);
        if let Some((option, output)) = outputs.iter().find(replaces) {
            let (output, input) = (output.display(), input.display());
            let message = format!("{option} {output}: this would replace an input, {input}");
            return Err(Failure::input(message, Some("name another file; nothing was run".to_owned())));
        }
    }
    Ok(())
}

/// Refuses an output that is one of the files `kept` in the folder of an experiment, which need not be there yet.
pub(crate) fn keep_store(outputs: &[(&str, &Path)], kept: &[PathBuf]) -> Result<(), Failure> {
    for file in kept {
        if let Some((option, output)) = outputs.iter().find(|(_, output)| is_same(output, file)) {
            let message =
                format!("{option} {}: the experiment itself keeps {}", output.display(), file.display());
            return Err(Failure::input(message, Some("name another file; nothing was run".to_owned())));
        }
    }
    Ok(())
}

/// What is no file, such as `/dev/null`, is never replaced.
fn is_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file())
}
