//! `flitway import`: what others have written of a fabric becomes files of one's own.

use crate::args::ImportArguments;
use crate::failure::Failure;
use crate::inputs;
use crate::layout::broken;
use crate::output::{Target, manner, say};
use flitway_import::{Format, Imported, Inputs, import as imported, machine_name};
use flitway_machine::{Diagnostics, Source, input, read_text};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The option that names where the files go.
const OUT: &str = "--out";

/// Imports a fabric, writes its files and reports what was taken.
pub(crate) fn import(arguments: &ImportArguments) -> Result<(), Failure> {
    let format = arguments.format.as_deref().map(format).transpose()?;
    let place = Place::new(arguments)?;
    let all: Vec<PathBuf> = arguments.files.iter().chain(&arguments.tables).map(PathBuf::from).collect();
    let outputs = ["toml", "graph", "tables"].map(|ending| place.file(ending));
    let named: Vec<(&str, &Path)> = outputs.iter().map(|path| (OUT, path.as_path())).collect();
    inputs::keep(&named, &all)?;
    let read = |paths: &[String], what| paths.iter().map(|path| source(path, what)).collect();
    let fabrics: Result<Vec<_>, Diagnostics> = read(&arguments.files, "description of a fabric");
    let tables: Result<Vec<_>, Diagnostics> = read(&arguments.tables, "file of forwarding tables");
    let nodes_per_switch = arguments.nodes_per_switch;
    let inputs =
        Inputs { fabrics: fabrics?, tables: tables?, format, nodes_per_switch, name: place.name.clone() };
    let made = imported(&inputs)?;
    keep_edited(&made, &place)?;
    let written = write(&made, &place)?;
    if !manner().quiet {
        say(&broken(&report(&made, &written), COLUMN))?;
    }
    Ok(())
}

/// Columns of a heading of the report.
const COLUMN: usize = 9;

fn format(name: &str) -> Result<Format, Failure> {
    let found = Format::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names = Format::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        Failure::input(format!("--format {name}: there is no such format, expected one of {names}"), None)
    })
}

fn source(path: &str, what: &str) -> Result<Arc<Source>, Diagnostics> {
    let text = read_text(Path::new(path), path, (what, input::MADE_MAX), None)?;
    Ok(Arc::new(Source { name: path.to_owned(), text }))
}

/// Where the files go.
struct Place {
    folder: PathBuf,
    name: String,
}

impl Place {
    /// A folder, which is there or whose name ends so, takes files with the name of the input; anything else is how they begin.
    fn new(arguments: &ImportArguments) -> Result<Place, Failure> {
        let out = arguments.out.as_str();
        if out.is_empty() || out == "-" {
            let message =
                format!("{OUT} {out}: several files are written, expected a folder or how they begin");
            return Err(Failure::input(message, None));
        }
        let path = Path::new(out);
        let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() || out.ends_with(std::path::MAIN_SEPARATOR) {
            let name = stem(Path::new(arguments.files.first().map_or("", String::as_str)));
            let folder = if out == "." { PathBuf::new() } else { path.to_owned() };
            return Ok(Place { folder, name: machine_name(&name) });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = name.strip_suffix(".toml").unwrap_or(&name).to_owned();
        if machine_name(&name) != name {
            let message = format!("{OUT} {out}: `{name}` names no machine");
            let help = format!("for example `{OUT} {}`", path.with_file_name(machine_name(&name)).display());
            return Err(Failure::input(message, Some(help)));
        }
        Ok(Place { folder: path.parent().map(Path::to_owned).unwrap_or_default(), name })
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }
}

/// Refuses to replace a machine file that says something else than this import does: it has been edited, most likely.
fn keep_edited(made: &Imported, place: &Place) -> Result<(), Failure> {
    let path = place.file("toml");
    let Ok(there) = std::fs::read_to_string(&path) else { return Ok(()) };
    if there.trim_end() == made.machine.trim_end() {
        return Ok(());
    }
    let message = format!(
        "{OUT}: {} is there, and is not what this import writes: it may have been edited",
        path.display()
    );
    Err(Failure::input(message, Some("remove it, or name another place".to_owned())))
}

/// Writes the files, the machine last: it names the others.
fn write(made: &Imported, place: &Place) -> Result<Vec<String>, Failure> {
    if !place.folder.as_os_str().is_empty() {
        std::fs::create_dir_all(&place.folder).map_err(|error| {
            Failure::input(format!("{OUT} {}: cannot make the folder: {error}", place.folder.display()), None)
        })?;
    }
    let tables = made.tables.as_ref().map(|text| ("tables", text));
    let files: Vec<(String, &String)> = std::iter::once(("graph", &made.graph))
        .chain(tables)
        .chain([("toml", &made.machine)])
        .map(|(ending, text)| (place.file(ending).display().to_string(), text))
        .collect();
    let targets: Vec<Target> = files.iter().map(|(path, _)| Target::new(OUT, path)).collect();
    targets.iter().try_for_each(Target::probe)?;
    for (target, (_, text)) in targets.iter().zip(&files) {
        target.write(text.trim_end())?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// What was taken, guessed, dropped and written.
fn report(made: &Imported, written: &[String]) -> String {
    let machine = written.last().map_or("", String::as_str);
    let last = [("wrote", written.join(", ")), ("next", format!("flitway check {machine}"))];
    let mut before = "";
    let lines = made.report.iter().chain(&last).map(|(head, text)| {
        let shown = if *head == before { "" } else { head };
        before = head;
        format!("{shown:COLUMN$}{text}")
    });
    format!("{}\n\n{}", made.name, lines.collect::<Vec<_>>().join("\n"))
}
