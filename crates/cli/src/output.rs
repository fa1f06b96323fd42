//! The only places that write to the terminal or to result files.

use crate::failure::Failure;
use std::io::Write;
use std::path::Path;

/// Prints `text` and a line end to standard output.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Prints `text` and a line end to standard error. If even that fails there is nobody to tell.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Where a result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output.
    Standard,
    /// A file, replaced only when the whole result is there.
    File(String),
}

impl Target {
    pub(crate) fn new(text: &str) -> Self {
        if text == "-" { Target::Standard } else { Target::File(text.to_owned()) }
    }

    /// Finds out before the run whether the result can be written.
    pub(crate) fn probe(&self) -> Result<(), Failure> {
        let Target::File(path) = self else { return Ok(()) };
        if Path::new(path).is_dir() {
            return Err(Failure::input(format!("--json {path}: this is a folder, expected a file"), None));
        }
        let draft = draft(path);
        std::fs::File::create(&draft).and_then(|_| std::fs::remove_file(&draft)).map_err(|error| {
            Failure::input(
                format!("--json {path}: cannot write there: {error}"),
                Some("nothing was run".into()),
            )
        })
    }

    /// Writes `text` and a line end.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let Target::File(path) = self else { return say(text) };
        let draft = draft(path);
        let written =
            std::fs::write(&draft, format!("{text}\n")).and_then(|()| std::fs::rename(&draft, path));
        written.map_err(|error| Failure::input(format!("{path}: cannot write: {error}"), None))
    }
}

/// The file that becomes `path` when it is complete.
fn draft(path: &str) -> String {
    format!("{path}.{}.part", std::process::id())
}
