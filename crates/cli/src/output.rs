//! The only places that write to the terminal or to result files.

use crate::args::{Color, MannerArguments, RunArguments};
use crate::failure::{Failure, Mistake};
use crate::inputs::outputs;
use crate::layout::message;
use flitway_experiment::frame::Frame;
use flitway_experiment::whole;
use flitway_machine::{Colour, printable};
use serde_json::Value;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

/// How this process talks, said once at its start.
static MANNER: OnceLock<MannerArguments> = OnceLock::new();

/// Says how this process talks.
pub(crate) fn set_manner(manner: MannerArguments) {
    // It is said once, by `main`.
    let _ = MANNER.set(manner);
}

/// How this process talks.
pub(crate) fn manner() -> MannerArguments {
    MANNER.get().copied().unwrap_or_default()
}

/// Prints `text` and a line end to standard output.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout().lock(), "{}", printable(text)).map_err(|error| unsaid(&error))
}

fn unsaid(error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Failure::Silenced,
        _ => Failure::input(format!("standard output: cannot write: {error}"), None),
    }
}

/// Whether `a` and `b` name the same file, which need not be there yet.
pub(crate) fn is_same_file(a: &str, b: &str) -> bool {
    a == b || (a != "-" && b != "-" && whole::is_same(Path::new(a), Path::new(b)))
}

/// Prints `text` and a line end to standard error, nothing of which steers the terminal. If even that fails there is nobody to
/// tell.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", message(&printable(text)));
}

/// Prints a warning, which nobody wants to hear who wants quiet.
pub(crate) fn warn(picture: &str) {
    if !manner().quiet {
        draw(picture);
    }
}

/// Prints what a renderer has drawn, with its colours.
pub(crate) fn draw(picture: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", message(picture));
}

/// Where a result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Standard output.
    Standard,
    /// A file, replaced only when the whole result is there.
    File {
        /// The option that named it.
        option: &'static str,
        /// Its name.
        path: String,
    },
}

impl Target {
    /// What `text`, given with `option`, names.
    pub(crate) fn new(option: &'static str, text: &str) -> Self {
        if text == "-" { Target::Standard } else { Target::File { option, path: text.to_owned() } }
    }

    /// Finds out before the run whether the result can be written.
    pub(crate) fn probe(&self) -> Result<(), Failure> {
        let Target::File { option, path } = self else { return Ok(()) };
        if path.is_empty() {
            let takes_standard = ["--json", "--parquet"].contains(option);
            let help = takes_standard.then(|| format!("write `{option} -` for standard output"));
            return Err(Failure::input(format!("{option}: the name is empty, expected a file"), help));
        }
        if Path::new(path).is_dir() {
            return Err(Failure::input(format!("{option} {path}: this is a folder, expected a file"), None));
        }
        let probed = if is_device(path) { open_device(path).map(drop) } else { whole::probe(path.as_ref()) };
        probed.map_err(|error| {
            Failure::input(
                format!("{option} {path}: cannot write there: {error}"),
                Some("nothing was run".into()),
            )
        })
    }

    /// Writes `text` and a line end.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        self.write_pieces([text, "\n"].into_iter().map(str::to_owned))
    }

    /// Writes `pieces` one after the other.
    pub(crate) fn write_pieces(&self, pieces: impl Iterator<Item = String>) -> Result<(), Failure> {
        if *self == Target::Standard {
            return say(pieces.collect::<String>().trim_end());
        }
        self.fill(|out| {
            for piece in pieces {
                out.write_all(piece.as_bytes())?;
            }
            Ok(())
        })
    }

    /// Writes `bytes`, which are no text.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        if *self == Target::Standard {
            let mut out = std::io::stdout().lock();
            return out.write_all(bytes).and_then(|()| out.flush()).map_err(|error| unsaid(&error));
        }
        self.fill(|out| out.write_all(bytes))
    }

    /// Fills the file with what `write` writes.
    fn fill(&self, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
        let Target::File { option, path } = self else { return Ok(()) };
        let written = if is_device(path) {
            open_device(path).and_then(|device| {
                let mut buffer = std::io::BufWriter::new(device);
                write(&mut buffer)?;
                buffer.flush()
            })
        } else {
            whole::replace(path.as_ref(), write)
        };
        written.map_err(|error| Failure::input(format!("{option} {path}: cannot write: {error}"), None))
    }
}

/// The file that `option` names, if it is given: what `goes` there ("a trace goes") goes to no other output's.
pub(crate) fn own_file(
    arguments: &RunArguments,
    option: &'static str,
    path: Option<&str>,
    goes: &str,
) -> Result<Option<Target>, Failure> {
    let Some(path) = path else { return Ok(None) };
    if path == "-" {
        return Err(Failure::input(format!("{option} -: {goes} to a file, not to standard output"), None));
    }
    // Of two with the same file the second is told.
    let outputs = outputs(arguments);
    let mut before = outputs.iter().take_while(|(other, _)| *other != option);
    if before.any(|(_, other)| whole::is_same(other, Path::new(path))) {
        return Err(Failure::input(format!("{option} {path}: another result goes to the same file"), None));
    }
    Ok(Some(Target::new(option, path)))
}

/// Where the result of a run goes, if anywhere: all of it as JSON, its points as Parquet and as CSV.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    json: Option<Target>,
    parquet: Option<Target>,
    csv: Option<Target>,
}

impl Targets {
    /// What the options of `arguments` name, once it is known that it can be written.
    pub(crate) fn new(arguments: &RunArguments) -> Result<Self, Failure> {
        let named =
            [("--json", &arguments.json), ("--parquet", &arguments.parquet), ("--csv", &arguments.csv)];
        let given: Vec<(&str, &str)> =
            named.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?))).collect();
        for (place, (option, path)) in given.iter().enumerate() {
            if let Some((other, _)) = given[..place].iter().find(|(_, other)| is_same_file(path, other)) {
                let message = format!("{option} {path}: {other} writes to the same place");
                return Err(Failure::input(message, None));
            }
        }
        if arguments.parquet.as_deref() == Some("-") && std::io::stdout().is_terminal() {
            let help = "name a file, or let another program read it".to_owned();
            return Err(Failure::input("--parquet -: what is no text does not go to a terminal", Some(help)));
        }
        let [json, parquet, csv] =
            named.map(|(option, path)| path.as_deref().map(|path| Target::new(option, path)));
        let targets = Targets { json, parquet, csv };
        for target in targets.all() {
            target.probe()?;
        }
        Ok(targets)
    }

    fn all(&self) -> impl Iterator<Item = &Target> {
        [&self.json, &self.parquet, &self.csv].into_iter().flatten()
    }

    /// Whether a result is asked for at all.
    pub(crate) fn is_any(&self) -> bool {
        self.all().next().is_some()
    }

    /// Whether a result goes to standard output, so that nothing else does.
    pub(crate) fn has_standard(&self) -> bool {
        self.all().any(|target| *target == Target::Standard)
    }

    /// Writes `result` as it is asked for. What cannot be written keeps nothing else from being written.
    pub(crate) fn write(&self, result: &Value) -> Result<(), Failure> {
        let json = self.json.as_ref().map_or(Ok(()), |target| target.write(&format!("{result:#}")));
        let frame = || Frame::new(result);
        let parquet =
            self.parquet.as_ref().map_or(Ok(()), |target| target.write_bytes(&frame().to_parquet()));
        let csv = self.csv.as_ref().map_or(Ok(()), |target| target.write_bytes(frame().to_csv().as_bytes()));
        json.and(parquet).and(csv)
    }
}

/// Whether `path` leads to a pipe, a terminal or `/dev/null`, which is written to and never replaced.
fn is_device(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn open_device(path: &str) -> std::io::Result<std::fs::File> {
    std::fs::OpenOptions::new().write(true).open(path)
}

/// Prints how a command has failed and gives the exit status.
pub(crate) fn fail(failure: Failure) -> ExitCode {
    let (text, status) = match failure {
        Failure::Machine(diagnostics) => {
            draw(&diagnostics.render(colour()));
            return ExitCode::from(2);
        }
        Failure::Input(mistakes) => (mistakes.iter().map(Mistake::shown).collect::<Vec<_>>().join("\n"), 2),
        Failure::Fault(text) => (text, 1),
        Failure::Silenced => return ExitCode::SUCCESS,
        // As a shell reports a process that an interrupt has ended.
        Failure::Interrupted => ("interrupted: what there was until then is shown".to_owned(), 130),
    };
    complain(&text);
    ExitCode::from(status)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_however_it_is_spelled() {
        for (a, b) in
            [("x", "./x"), ("src/../x", "x"), ("src/x", "./src//x"), ("Cargo.toml", "src/../Cargo.toml")]
        {
            assert!(is_same_file(a, b), "{a} {b}");
        }
        for (a, b) in [("x", "y"), ("src/x", "x"), ("-", "./-")] {
            assert!(!is_same_file(a, b), "{a} {b}");
        }
    }
}
