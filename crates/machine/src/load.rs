//! Reading the text of machine files and graph files, and the built-in machines.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Location, Source};
use crate::input::{self, Unreadable};
use crate::nearest::{meant, nearest};
use crate::units::show;

/// The machines that are built in: name and text, the smallest first.
#[must_use]
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    &[
        ("elite4", include_str!("../../../machines/elite4.toml")),
        ("hpp-switch", include_str!("../../../machines/hpp-switch.toml")),
        ("sp-switch-16", include_str!("../../../machines/sp-switch-16.toml")),
        ("sp-switch-16-input", include_str!("../../../machines/sp-switch-16-input.toml")),
        ("nrc", include_str!("../../../machines/nrc.toml")),
        ("th-frame", include_str!("../../../machines/th-frame.toml")),
        ("sp-switch-64", include_str!("../../../machines/sp-switch-64.toml")),
        ("sp-switch-64-input", include_str!("../../../machines/sp-switch-64-input.toml")),
        ("sp-omega-64", include_str!("../../../machines/sp-omega-64.toml")),
        ("yarc", include_str!("../../../machines/yarc.toml")),
        ("qsnet2-64", include_str!("../../../machines/qsnet2-64.toml")),
        ("mesh-8x8", include_str!("../../../machines/mesh-8x8.toml")),
        ("torus-8x8", include_str!("../../../machines/torus-8x8.toml")),
        ("fattree-128", include_str!("../../../machines/fattree-128.toml")),
        ("th-group", include_str!("../../../machines/th-group.toml")),
        ("qsnet2-512", include_str!("../../../machines/qsnet2-512.toml")),
        ("qsnet2-1024", include_str!("../../../machines/qsnet2-1024.toml")),
        ("dawning5000", include_str!("../../../machines/dawning5000.toml")),
        ("dawning5000-single", include_str!("../../../machines/dawning5000-single.toml")),
        ("dawning5000-asic", include_str!("../../../machines/dawning5000-asic.toml")),
        ("dawning5000-hpp", include_str!("../../../machines/dawning5000-hpp.toml")),
        ("qsnet2-4096", include_str!("../../../machines/qsnet2-4096.toml")),
        ("tianhe2", include_str!("../../../machines/tianhe2.toml")),
    ]
}

/// What stands behind the name of a built-in machine where the place of a text is shown.
pub(crate) const BUILT_IN: &str = " (built in)";

/// The text of a machine file and where it comes from.
pub(crate) struct MachineText {
    pub(crate) name: String,
    pub(crate) text: String,
    /// The file; `None` if it is built in.
    pub(crate) path: Option<PathBuf>,
    /// Where the paths in it begin.
    pub(crate) folder: PathBuf,
}

pub(crate) fn machine_text(name_or_path: &str) -> Result<MachineText, Diagnostics> {
    if let Some((name, text)) = builtin().iter().find(|(name, _)| *name == name_or_path) {
        let name = format!("{name}{BUILT_IN}");
        return Ok(MachineText { name, text: (*text).to_owned(), path: None, folder: PathBuf::from(".") });
    }
    if name_or_path == "-" {
        return standard_input();
    }
    let names: Vec<&str> = builtin().iter().map(|(name, _)| *name).collect();
    if !is_path(name_or_path) && !is_folder(name_or_path) {
        return Err(not_built_in(Code::UnknownMachine, "machine", name_or_path, &names).into());
    }
    let path = Path::new(name_or_path);
    let text = read_text(path, name_or_path, ("machine file", input::WRITTEN_MAX), None)
        .map_err(|problem| or_built_in(problem, path, "machine", &names))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(MachineText { name: name_or_path.to_owned(), text, path: Some(path.to_owned()), folder })
}

/// A machine file from standard input, whose paths begin in the current folder.
fn standard_input() -> Result<MachineText, Diagnostics> {
    let name = "standard input".to_owned();
    match input::text_of(std::io::stdin().lock(), input::WRITTEN_MAX) {
        Ok(text) => Ok(MachineText { name, text, path: None, folder: PathBuf::new() }),
        Err(error) => {
            let problem =
                Diagnostic::error(Code::Unreadable, None, format!("the machine file from {name} {error}"));
            Err(problem.expected("a machine file, as UTF-8 text").into())
        }
    }
}

/// Whether `text` is the path of a file, and not a built-in name.
#[must_use]
pub fn is_path(text: &str) -> bool {
    text.contains(['/', '\\']) || Path::new(text).extension().is_some_and(|end| end == "toml")
}

/// Whether `text` can only mean a folder: `.` and `..`.
#[must_use]
pub fn is_folder(text: &str) -> bool {
    text.chars().all(|letter| letter == '.') && Path::new(text).is_dir()
}

/// Reads a text file of at most `limit` bytes, `shown` so in messages, which is a `what`. `named_at` is where another file
/// names it.
///
/// # Errors
/// If there is no such file, or no text in it.
pub fn read_text(
    path: &Path,
    shown: &str,
    (what, limit): (&str, u64),
    named_at: Option<&Location>,
) -> Result<String, Diagnostic> {
    let read = input::read_text(path, limit).and_then(|text| match text.contains('\0') {
        true => Err(Unreadable::NotText(text.into_bytes(), 0)),
        false => Ok(text),
    });
    read.map_err(|error| {
        let article = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let Unreadable::NotText(bytes, valid) = error else {
            let message = format!("the {what} `{}` {error}", show(shown));
            let help = if matches!(error, Unreadable::Missing) { similar_file(path) } else { None };
            return Diagnostic::error(Code::Unreadable, named_at.cloned(), message)
                .expected(format!("the path of {article} {what}"))
                .maybe_help(help);
        };
        // No text has such a byte.
        if bytes.contains(&0) {
            let message = format!("`{}` is a binary file, and not {article} {what}", show(shown));
            return Diagnostic::error(Code::NotUtf8, named_at.cloned(), message)
                .expected(format!("{article} {what}, as UTF-8 text"));
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let source = Arc::new(Source { name: shown.to_owned(), text });
        let end = source.text[valid..].chars().next().map_or(valid, |wrong| valid + wrong.len_utf8());
        let byte = bytes.get(valid).copied().unwrap_or_default();
        Diagnostic::error(
            Code::NotUtf8,
            Location::new(&source, valid..end),
            format!("the {what} is not UTF-8 text: byte 0x{byte:02X} at offset {valid}"),
        )
        .help("save the file as UTF-8")
    })
}

/// A file of almost the same name in the same folder.
fn similar_file(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let meant = nearest(wanted, names.iter().map(String::as_str))?;
    Some(format!("did you mean `{}`?", path.with_file_name(meant).display()))
}

/// Adds to `problem` that no file is at `path`, but that a built-in `what` may be meant, one of `names`.
#[must_use]
pub fn or_built_in(problem: Diagnostic, path: &Path, what: &str, names: &[&str]) -> Diagnostic {
    let Some(stem) = path.file_stem().and_then(OsStr::to_str).filter(|_| !path.exists()) else {
        return problem;
    };
    match nearest(stem, names.iter().copied()) {
        // A file of almost the same name is meant rather than a name that is almost that of the file.
        Some(name) if name == stem || problem.help.is_none() => {
            problem.help(format!("did you mean the built-in {what} `{name}`?"))
        }
        _ => problem.maybe_help(Some(format!("`flitway list {what}s` names the built-in ones"))),
    }
}

/// That `name` is none of the built-in `names` of `what`, and what was meant perhaps.
#[must_use]
pub fn not_built_in(code: Code, what: &str, name: &str, names: &[&str]) -> Diagnostic {
    let problem = Diagnostic::error(code, None, format!("there is no built-in {what} `{}`", show(name)))
        .expected(format!("one of: {}; or the path of a file that ends in .toml", names.join(", ")));
    if let Some(meant) = meant(name, names) {
        return problem.help(meant);
    }
    let path = Path::new(name);
    if path.is_dir() {
        return problem.help(format!("`{name}` is a folder; name a file in it"));
    }
    problem.maybe_help(path.exists().then(|| format!("write `./{name}` for the file of that name")))
}
