//! Options: what a machine file and the `--set` of a command say, as written, with the place of each value.
//!
//! This is the first of the three steps from text to a built fabric. Nothing has a default here and nothing is checked
//! except that each name exists; [`Options::check`] takes the second step. An override is applied as if it were written
//! in the file, but its problems point into the override.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::code::Code;
use crate::convert::convert;
use crate::diagnostic::{Diagnostic, Diagnostics, Location, Source};
use crate::document::{Document, Field, Raw, read_value};
use crate::entry::{Entry, Origin};
use crate::load;
use crate::nearest::{nearest, nearest_within};
use crate::overrides;
use crate::schema;
use crate::setting::{Kind, Setting, is_within};
use crate::units::show;

/// What was written, before any check of values.
#[derive(Debug)]
pub struct Options {
    pub(crate) file: Arc<Source>,
    /// The file that it was read from; `None` if that was none.
    pub(crate) read_from: Option<PathBuf>,
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
        let options = Options::from_text(&loaded.name, loaded.text, &loaded.folder);
        Ok(Options { read_from: loaded.path, ..options })
    }

    /// Takes `text` for the content of the machine file `name`, whose paths are relative to `folder`.
    #[must_use]
    pub fn from_text(name: &str, text: String, folder: &Path) -> Options {
        let file = Arc::new(Source { name: name.to_owned(), text });
        let mut options = Options::of_nothing(Arc::clone(&file), folder);
        if file.text.trim().is_empty() {
            let empty = Diagnostic::error(Code::Empty, Location::whole(&file), "the machine file is empty");
            options
                .findings
                .push(empty.help("`flitway list` names the built-in machines; copy one and change it"));
            options.complete = false;
            return options;
        }
        let document = Document::read(&file, &mut options.findings);
        options.complete = document.is_complete;
        options.collect("", document.fields, Origin::File);
        options
    }

    fn of_nothing(file: Arc<Source>, folder: &Path) -> Options {
        Options {
            file,
            read_from: None,
            folder: folder.to_owned(),
            sets: Vec::new(),
            entries: Vec::new(),
            tables: Vec::new(),
            spoilt: Vec::new(),
            complete: true,
            findings: Diagnostics::default(),
        }
    }

    /// Checks overrides before the machine is known: whether each is understood, names a setting and gives it a value that it
    /// can have. Whether they fit each other and a machine is found by [`check`](Self::check).
    ///
    /// ```
    /// use flitway_machine::Options;
    /// let problems = Options::check_overrides(&["switch.vcs=three".to_owned()]).unwrap_err();
    /// assert!(problems.to_string().contains("`switch.vcs` is a count, but `three` is text"));
    /// assert!(Options::check_overrides(&["topology.kind=torus".to_owned()]).is_ok());
    /// ```
    ///
    /// # Errors
    /// All problems, in the order of the overrides.
    pub fn check_overrides(overrides: &[String]) -> Result<(), Diagnostics> {
        let nobody = Arc::new(Source { name: overrides::SOURCE.to_owned(), text: String::new() });
        let mut options = Options::of_nothing(nobody, Path::new(""));
        overrides.iter().for_each(|text| options.set(text));
        for entry in &options.entries {
            // Kinds of switches share names; one of them is enough.
            let mut read = schema::named(&entry.path).map(|setting| convert(setting, entry));
            let first = read.next();
            if let Some(Err(problem)) = first.filter(|_| !read.any(|other| other.is_ok())) {
                options.findings.push(problem);
            }
        }
        if options.findings.is_empty() { Ok(()) } else { Err(options.findings.in_order(&options.sets)) }
    }

    /// Applies one override, `path=value`.
    pub fn set(&mut self, text: &str) {
        let source = Arc::new(Source { name: overrides::SOURCE.to_owned(), text: text.to_owned() });
        self.sets.push(Arc::clone(&source));
        if let Err(problem) = self.apply(&source) {
            self.findings.push(problem);
        }
    }

    /// Applies one override as [`set`](Self::set) does, but one that another file has written: its problems point there.
    pub fn set_field(&mut self, field: Field) {
        if let Err(problem) = self.replace(field) {
            self.findings.push(problem);
        }
    }

    fn apply(&mut self, source: &Arc<Source>) -> Result<(), Diagnostic> {
        let text = source.text.as_str();
        let bad = |span, message: String| {
            Diagnostic::error(Code::BadSet, Location::new(source, span), message)
                .expected("path=value, for example switch.vcs=2")
        };
        let Some((before, after)) = text.split_once('=') else {
            let problem = bad(0..text.len(), format!("`{}` has no `=`", show(text)));
            let example = schema::named(text.trim()).next();
            let example = example.map(|setting| overrides::written(text.trim(), setting.example));
            return Err(problem.maybe_help(example.map(|example| format!("write {example}, for example"))));
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
        if schema::named(path).next().is_none() && !schema::is_table(path) {
            return Err(unknown(path, path_at));
        }
        self.refuse_second_set(path, &path_at)?;
        let raw = read_value(value, source, value_start)?;
        let at = Location::new(source, value_start..value_start + value.len());
        self.replace(Field { name: path.to_owned(), name_at: path_at, raw, at })
    }

    /// Puts a setting, or all settings of a table, in the place of what was written before.
    fn replace(&mut self, field: Field) -> Result<(), Diagnostic> {
        let Field { name: path, name_at, raw, at } = field;
        if schema::named(&path).next().is_some() {
            self.entries.retain(|entry| entry.path != path);
            self.entries.push(Entry { path, raw, location: at, origin: Origin::Set });
            return Ok(());
        }
        if !schema::is_table(&path) {
            return Err(unknown(&path, name_at));
        }
        let fields = match raw {
            Raw::Table(fields) => fields,
            raw if overrides::holds(&at) => return Err(no_table_in_override(&path, raw, at)),
            _ => return Err(not_a_table(&path, at)),
        };
        self.entries.retain(|entry| !is_within(&entry.path, &path));
        self.tables.retain(|(name, _)| *name != path && !is_within(name, &path));
        self.tables.push((path.clone(), name_at));
        self.collect(&path, fields, Origin::Set);
        Ok(())
    }

    fn refuse_second_set(&self, path: &str, at: &Location) -> Result<(), Diagnostic> {
        let same = |source: &&Arc<Source>| {
            !Arc::ptr_eq(source, &at.source)
                && source.text.split_once('=').is_some_and(|(other, _)| {
                    let other = other.trim();
                    other == path || is_within(path, other) || is_within(other, path)
                })
        };
        match self.sets.iter().find(same) {
            Some(first) => Err(Diagnostic::error(
                Code::Duplicate,
                at.clone(),
                format!("`{path}` is set by two --set options"),
            )
            .related(Location::new(first, 0..first.text.len()), "the first")
            .help(keep_one(first, &at.source))),
            None => Ok(()),
        }
    }

    /// Takes the values of a table, and of the tables in it.
    fn collect(&mut self, prefix: &str, fields: Vec<Field>, origin: Origin) {
        for Field { name, name_at, raw, at } in fields {
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            if name.contains('.') {
                let message = format!("the key in quotes is one name, `{}`", show(&name));
                let problem = Diagnostic::error(Code::UnknownSetting, name_at, message);
                self.findings.push(problem.help("remove the quotes around the path"));
            } else if schema::named(&path).next().is_some() {
                self.entries.push(Entry { path, raw, location: at, origin });
            } else if !schema::is_table(&path) {
                self.findings.push_with(|| unknown(&path, name_at));
            } else if let Raw::Table(inner) = raw {
                self.tables.push((path.clone(), at));
                self.collect(&path, inner, origin);
            } else {
                self.findings.push(not_a_table(&path, at));
                self.spoilt.push(path);
            }
        }
    }
}

/// Which of two overrides could stay; the same one twice is one too many.
fn keep_one(first: &Source, second: &Source) -> String {
    let quoted = |source: &Source| {
        let (path, value) = source.text.split_once('=').unwrap_or((&source.text, ""));
        overrides::written(path.trim(), value.trim())
    };
    let (first, second) = (quoted(first), quoted(second));
    if first == second {
        format!("keep one {first}")
    } else {
        format!("keep {first} or {second}, and leave the other out")
    }
}

fn not_a_table(path: &str, at: Location) -> Diagnostic {
    let first = schema::names_in(path).first().copied().unwrap_or("...");
    Diagnostic::error(Code::WrongType, at, format!("`{path}` is a table, not a single value"))
        .expected(format!("[{path}] once, with its settings below it"))
        .help(format!("`flitway explain {path}` lists its settings; the first is `{path}.{first}`"))
}

/// That the override at `at` gives the table `path` a single value.
fn no_table_in_override(path: &str, raw: Raw, at: Location) -> Diagnostic {
    let entry = Entry { path: path.to_owned(), raw, location: at.clone(), origin: Origin::Set };
    let names = schema::names_in(path).join(", ");
    Diagnostic::error(Code::WrongType, at, format!("`{path}` is a table, not a single value"))
        .expected(format!("{path}.NAME=VALUE, where NAME is one of: {names} (`flitway explain {path}`)"))
        .maybe_help(setting_that_is_meant(&entry))
}

/// What to write for an override that gives a table the value of `entry`: the setting in it that takes such a value, or an
/// example.
fn setting_that_is_meant(entry: &Entry) -> Option<String> {
    let inside =
        || schema::settings().filter(|setting| setting.table() == entry.path && !setting.path.ends_with('N'));
    let text = if let Raw::Text(text) = &entry.raw { text } else { "" };
    let mut chosen = inside().filter_map(|setting| Some((setting, nearest(text, names_of(setting)?)?)));
    if let Some((setting, name)) = chosen.next() {
        return Some(format!("did you mean {}?", overrides::written(setting.path, name)));
    }
    let is_any_text = |setting: &Setting| matches!(setting.kind, Kind::Text { .. } | Kind::Path);
    let mut taking = inside().filter(|setting| !is_any_text(setting) && convert(setting, entry).is_ok());
    if let Some(setting) = taking.next() {
        return Some(format!("did you mean {}?", overrides::written(setting.path, entry.location.text())));
    }
    let mut choices =
        inside().filter(|_| !text.is_empty()).filter_map(|setting| Some((setting, names_of(setting)?)));
    if let Some((setting, names)) = choices.next() {
        let names = names.join(", ");
        let name = overrides::SOURCE;
        return Some(format!("write {name} {}=NAME, where NAME is one of: {names}", setting.path));
    }
    let below = || schema::settings().find(|setting| is_within(setting.path, &entry.path));
    let example = inside().next().or_else(below)?;
    Some(format!("write {}, for example", overrides::written(example.path, example.example)))
}

/// What can be chosen, if `setting` is a choice.
fn names_of(setting: &Setting) -> Option<Vec<&'static str>> {
    let names: Vec<&str> = setting.choices().iter().map(|choice| choice.name).collect();
    (!names.is_empty()).then_some(names)
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
    let place = match (overrides::holds(&at), known) {
        (true, "") => "of a machine".to_owned(),
        (true, table) => format!("in `{table}`"),
        (false, "") => "at the top of the file".to_owned(),
        (false, table) => format!("in [{table}]"),
    };
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
        // Of so many names one is always a little like it.
        let meant = nearest_within(last, schema::settings().map(|setting| setting.key()), 1)?;
        schema::settings().find(|setting| setting.key() == meant)
    });
    problem.maybe_help(elsewhere.map(|setting| format!("did you mean `{}`?", setting.path)))
}
