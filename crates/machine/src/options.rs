//! Options: what a machine file and the `--set` of a command say, as written, with the place of each value.
//!
//! This is the first of the three steps from text to a built fabric. Nothing has a default here and nothing is checked
//! except that each name exists; [`Options::check`] takes the second step. An override is applied as if it were written
//! in the file, but its problems point into the override.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Location, Source};
use crate::load;
use crate::machine::Machine;
use crate::nearest::nearest;
use crate::schema;
use crate::units::show;

/// Who gave a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The machine file.
    File,
    /// Nobody: it is the default.
    Default,
    /// A `--set` of the command.
    Set,
}

impl Origin {
    /// As results name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Origin::File => "file",
            Origin::Default => "default",
            Origin::Set => "--set",
        }
    }
}

/// A value as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Raw {
    Text(String),
    /// A whole number; `None` if it does not fit.
    Integer(Option<i128>),
    Decimal,
    Flag(bool),
    List(Vec<(Raw, Location)>),
    Table,
    Date,
}

/// A setting as written.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) raw: Raw,
    /// Of the value.
    pub(crate) location: Location,
    pub(crate) origin: Origin,
}

/// What was written, before any check of values.
#[derive(Debug)]
pub struct Options {
    pub(crate) file: Arc<Source>,
    /// Where the paths that the file names begin.
    pub(crate) folder: PathBuf,
    pub(crate) sets: Vec<Arc<Source>>,
    pub(crate) entries: Vec<Entry>,
    /// The tables that are written, with the place of their header.
    pub(crate) tables: Vec<(String, Location)>,
    /// Tables that are written as a value; that is reported, and not what is missing in them.
    pub(crate) spoilt: Vec<String>,
    /// Whether a setting that is not among the entries was surely not written.
    pub(crate) complete: bool,
    pub(crate) findings: Diagnostics,
}

impl Options {
    /// Reads a built-in machine or a machine file.
    ///
    /// # Errors
    /// If there is no such machine, or no text in the file. Problems *in* the text are reported by
    /// [`check`](Self::check).
    pub fn read(name_or_path: &str) -> Result<Options, Diagnostics> {
        let loaded = load::machine_text(name_or_path)?;
        Ok(Options::from_text(&loaded.name, loaded.text, &loaded.folder))
    }

    /// Takes `text` for the content of the machine file `name`, whose paths are relative to `folder`.
    #[must_use]
    pub fn from_text(name: &str, text: String, folder: &Path) -> Options {
        let file = Arc::new(Source { name: name.to_owned(), text });
        let mut options = Options {
            file: Arc::clone(&file),
            folder: folder.to_owned(),
            sets: Vec::new(),
            entries: Vec::new(),
            tables: Vec::new(),
            spoilt: Vec::new(),
            complete: true,
            findings: Diagnostics::default(),
        };
        if file.text.trim().is_empty() {
            let empty = Diagnostic::error(Code::Empty, Location::whole(&file), "the machine file is empty");
            options
                .findings
                .push(empty.help("`flitway list` names the built-in machines; copy one and change it"));
            options.complete = false;
            return options;
        }
        options.read_file(&file);
        options
    }

    /// Applies one override, `path=value`.
    pub fn set(&mut self, text: &str) {
        let source = Arc::new(Source { name: "--set".to_owned(), text: text.to_owned() });
        self.sets.push(Arc::clone(&source));
        if let Err(problem) = self.apply(&source) {
            self.findings.push(problem);
        }
    }

    /// Checks everything that was written: the second of the three steps.
    ///
    /// # Errors
    /// All problems, in the order of the text.
    pub fn check(self) -> Result<Machine, Diagnostics> {
        Machine::from_options(self)
    }

    fn apply(&mut self, source: &Arc<Source>) -> Result<(), Diagnostic> {
        let text = source.text.as_str();
        let bad = |span, message: String| {
            Diagnostic::error(Code::BadSet, Location::new(source, span), message)
                .expected("path=value, for example switch.vcs=2")
        };
        let Some((before, after)) = text.split_once('=') else {
            return Err(bad(0..text.len(), format!("`{}` has no `=`", show(text))));
        };
        let path = before.trim();
        let path_start = before.len() - before.trim_start().len();
        let path_at = Location::new(source, path_start..path_start + path.len());
        if path.is_empty() {
            return Err(bad(0..text.len(), "the path before `=` is missing".to_owned()));
        }
        let value = after.trim();
        let value_start = before.len() + 1 + (after.len() - after.trim_start().len());
        if value.is_empty() {
            return Err(bad(0..text.len(), format!("`{}` is set to nothing", show(path))));
        }
        let is_setting = schema::named(path).next().is_some();
        if !is_setting && !schema::is_table(path) {
            return Err(unknown(path, path_at));
        }
        self.refuse_second_set(path, &path_at)?;
        let reading = Reading { source: Arc::clone(source), offset: value_start, origin: Origin::Set };
        let parsed = parse_value(value, &reading)?;
        if let (false, Some(DeValue::Table(table))) = (is_setting, &parsed) {
            self.entries.retain(|entry| !schema::is_within(&entry.path, path));
            self.tables.retain(|(name, _)| name != path && !schema::is_within(name, path));
            self.tables.push((path.to_owned(), path_at));
            self.collect(path, table, &reading);
            return Ok(());
        }
        let location = Location::new(source, value_start..value_start + value.len());
        if !is_setting {
            return Err(not_a_table(path, location));
        }
        let raw = parsed.map_or_else(|| Raw::Text(value.to_owned()), |value| reading.raw(&value));
        self.entries.retain(|entry| entry.path != path);
        self.entries.push(Entry { path: path.to_owned(), raw, location, origin: Origin::Set });
        Ok(())
    }

    fn refuse_second_set(&self, path: &str, at: &Location) -> Result<(), Diagnostic> {
        let same = |source: &&Arc<Source>| {
            !Arc::ptr_eq(source, &at.source)
                && source.text.split_once('=').is_some_and(|(other, _)| {
                    let other = other.trim();
                    other == path || schema::is_within(path, other) || schema::is_within(other, path)
                })
        };
        match self.sets.iter().find(same) {
            Some(first) => Err(Diagnostic::error(
                Code::Duplicate,
                at.clone(),
                format!("`{path}` is set by two --set options"),
            )
            .related(Location::new(first, 0..first.text.len()), "the other")
            .help("delete one of them")),
            None => Ok(()),
        }
    }

    /// Takes the values of a table, and of the tables in it.
    fn collect(&mut self, prefix: &str, table: &DeTable<'_>, reading: &Reading) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            let key_at = reading.locate(key.span());
            let value_at = reading.locate(value.span());
            if name.contains('.') {
                let message = format!("the key in quotes is one name, `{}`", show(name));
                let problem = Diagnostic::error(Code::UnknownSetting, key_at, message);
                self.findings.push(problem.help("remove the quotes around the path"));
            } else if schema::named(&path).next().is_some() {
                let raw = reading.raw(value.get_ref());
                self.entries.push(Entry { path, raw, location: value_at, origin: reading.origin });
            } else if !schema::is_table(&path) {
                self.findings.push(unknown(&path, key_at));
            } else if let DeValue::Table(inner) = value.get_ref() {
                self.tables.push((path.clone(), value_at));
                self.collect(&path, inner, reading);
            } else {
                self.findings.push(not_a_table(&path, value_at));
                self.spoilt.push(path);
            }
        }
    }

    /// Takes the values of the file. A line that is not TOML is reported and blanked, and the rest is read again, so
    /// that one slip does not hide the others.
    fn read_file(&mut self, file: &Arc<Source>) {
        let reading = Reading { source: Arc::clone(file), offset: 0, origin: Origin::File };
        let mut text = file.text.clone();
        // Each round blanks a line, or is the last.
        loop {
            let (table, errors) = DeTable::parse_recoverable(&text);
            let (duplicates, broken): (Vec<_>, Vec<_>) =
                errors.iter().partition(|error| error.message().starts_with("duplicate key"));
            // A later error may follow from an earlier one on another line, so only the first is sure.
            let first = broken.iter().min_by_key(|error| error.span().map_or(usize::MAX, |span| span.start));
            let Some(first) = first else {
                for error in duplicates {
                    let at = Location::new(file, error.span().unwrap_or_default());
                    let message = format!("`{}` is given twice", show(at.text().trim()));
                    self.findings
                        .push(Diagnostic::error(Code::Duplicate, at, message).help("delete one of them"));
                }
                self.collect("", table.get_ref(), &reading);
                return;
            };
            self.complete = false;
            let at = Location::new(file, first.span().unwrap_or(text.len()..text.len()));
            let line = line_around(&text, at.span.start);
            let is_header = text[line.clone()].trim_start().starts_with('[');
            let is_blank = text[line.clone()].trim().is_empty();
            let from_above =
                text[line.start..at.span.start].trim().is_empty() && first.message().starts_with("missing");
            let help = from_above.then(|| "a bracket or brace above may not be closed".to_owned());
            self.findings.push(syntax_error(first.message(), at).maybe_help(help));
            // Below a broken header nothing is known to stand in the right table, and behind an open quote or bracket
            // nothing is known at all.
            if is_header || is_blank || first.message().starts_with("unclosed") {
                return;
            }
            text.replace_range(line.clone(), &" ".repeat(line.len()));
        }
    }
}

/// The line that byte `at` lies in, without its newline.
fn line_around(text: &str, at: usize) -> std::ops::Range<usize> {
    let at = at.min(text.len());
    let start =
        text.as_bytes()[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let end =
        text.as_bytes()[start..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |n| start + n);
    start..end
}

/// What is being read, and how its byte offsets map to the source.
struct Reading {
    source: Arc<Source>,
    offset: usize,
    origin: Origin,
}

impl Reading {
    fn locate(&self, span: std::ops::Range<usize>) -> Location {
        Location::new(&self.source, span.start + self.offset..span.end + self.offset)
    }

    fn raw(&self, value: &DeValue<'_>) -> Raw {
        match value {
            DeValue::String(text) => Raw::Text(text.to_string()),
            DeValue::Integer(number) => {
                Raw::Integer(i128::from_str_radix(number.as_str(), number.radix()).ok())
            }
            DeValue::Float(_) => Raw::Decimal,
            DeValue::Boolean(flag) => Raw::Flag(*flag),
            DeValue::Datetime(_) => Raw::Date,
            DeValue::Array(list) => Raw::List(
                list.iter().map(|item| (self.raw(item.get_ref()), self.locate(item.span()))).collect(),
            ),
            DeValue::Table(_) => Raw::Table,
        }
    }
}

/// Reads the value of a `--set`: TOML, or `None` for a bare word, which stands for itself in quotes.
fn parse_value<'t>(text: &'t str, reading: &Reading) -> Result<Option<DeValue<'t>>, Diagnostic> {
    match DeValue::parse(text) {
        Ok(value) if matches!(value.get_ref(), DeValue::Datetime(_)) => Ok(None),
        Ok(value) => Ok(Some(value.into_inner())),
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => {
            Err(syntax_error(error.message(), reading.locate(error.span().unwrap_or(0..text.len()))))
        }
        Err(_) => Ok(None),
    }
}

/// The entry of a default, which is written in the schema.
pub(crate) fn default_entry(path: &str, text: &'static str) -> Entry {
    let source = Arc::new(Source { name: "default".to_owned(), text: text.to_owned() });
    let reading = Reading { source: Arc::clone(&source), offset: 0, origin: Origin::Default };
    let raw = match DeValue::parse(text) {
        Ok(value) => reading.raw(value.get_ref()),
        Err(_) => Raw::Text(text.to_owned()),
    };
    Entry { path: path.to_owned(), raw, location: Location::whole(&source), origin: Origin::Default }
}

fn syntax_error(message: &str, at: Location) -> Diagnostic {
    let (what, expected) = match message.split_once(", expected ") {
        Some((what, expected)) => (what, Some(expected)),
        None => (message, None),
    };
    let (what, expected) = match (what, expected) {
        ("string values must be quoted", _) => (what, Some("text in quotes, for example \"4 KiB\"")),
        ("invalid basic string", Some("`\"`")) | ("invalid literal string", Some("`'`")) => {
            ("the text is not closed", expected)
        }
        ("invalid multi-line basic string", Some("`\"`")) => ("the text is not closed", Some("`\"\"\"`")),
        ("invalid multi-line literal string", Some("`'`")) => ("the text is not closed", Some("`'''`")),
        (_, Some("nothing")) => (what, None),
        _ => (what, expected),
    };
    let mut problem = Diagnostic::error(Code::Syntax, at, format!("this is not valid TOML: {what}"));
    problem.expected = expected.map(Box::from);
    problem
}

fn not_a_table(path: &str, at: Location) -> Diagnostic {
    let first = schema::names_in(path).first().copied().unwrap_or("...");
    Diagnostic::error(Code::WrongType, at, format!("`{path}` is a table, not a single value"))
        .expected(format!("[{path}] once, with its settings below it"))
        .help(format!("`flitway explain {path}` lists its settings; the first is `{path}.{first}`"))
}

pub(crate) fn unknown(path: &str, at: Location) -> Diagnostic {
    let mut known = "";
    // The longest beginning of the path that is a table.
    for (point, _) in path.match_indices('.') {
        if schema::is_table(&path[..point]) {
            known = &path[..point];
        }
    }
    let rest = if known.is_empty() { path } else { &path[known.len() + 1..] };
    let name = rest.split('.').next().unwrap_or(rest);
    let names = schema::names_in(known);
    let place = if known.is_empty() { "at the top of the file".to_owned() } else { format!("in [{known}]") };
    let problem =
        Diagnostic::error(Code::UnknownSetting, at, format!("there is no setting `{}` {place}", show(name)))
            .expected(format!("one of: {}", names.join(", ")));
    let join = |name: &str| if known.is_empty() { name.to_owned() } else { format!("{known}.{name}") };
    if let Some(meant) = nearest(name, names.iter().copied()) {
        return problem.help(format!("did you mean `{}`?", join(meant)));
    }
    // The right name in the wrong table.
    let last = rest.rsplit('.').next().unwrap_or(rest);
    let elsewhere = schema::settings().find(|setting| setting.key() == last).or_else(|| {
        let meant = nearest(last, schema::settings().map(|setting| setting.key()))?;
        schema::settings().find(|setting| setting.key() == meant)
    });
    problem.maybe_help(elsewhere.map(|setting| format!("did you mean `{}`?", setting.path)))
}
