//! Options: what an experiment file says, as written, with the place of each value.
//!
//! The first of the three steps: keys that do not exist and values of the wrong type are found here, nothing else is.

use flitway_machine::document::{Document, Field, Raw};
use flitway_machine::{Code, Diagnostic, Diagnostics, Location, Source, kind_of, nearest, show};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text as written.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) at: Location,
}

/// A value as written.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) raw: Raw,
    pub(crate) at: Location,
}

impl Given {
    /// As people name it: text without its quotes, everything else as it stands in the file.
    pub(crate) fn label(&self) -> String {
        match &self.raw {
            Raw::Text(text) => text.trim().to_owned(),
            _ => self.at.text().split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

/// `[[vary]]`.
#[derive(Debug)]
pub(crate) struct VaryOptions {
    pub(crate) at: Location,
    pub(crate) over: Vec<Text>,
    pub(crate) values: Option<Given>,
}

/// `[[plot]]`.
#[derive(Debug)]
pub(crate) struct PlotOptions {
    pub(crate) at: Location,
    pub(crate) name: Option<Text>,
    pub(crate) title: Option<Text>,
    pub(crate) x: Option<Text>,
    pub(crate) y: Option<Text>,
    pub(crate) by: Option<Vec<Text>>,
    pub(crate) x_title: Option<Text>,
    pub(crate) y_title: Option<Text>,
}

/// What was written, before any check of values.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) file: Arc<Source>,
    /// Where the paths that the file names begin.
    pub(crate) folder: PathBuf,
    pub(crate) name: Option<Text>,
    pub(crate) title: Option<Text>,
    /// `[run]`, but for its settings.
    pub(crate) run: Vec<Field>,
    /// Where `[run]` stands.
    pub(crate) run_at: Option<Location>,
    /// `[run.set]`: a field a setting, named by its path.
    pub(crate) set: Vec<Field>,
    pub(crate) vary: Vec<VaryOptions>,
    /// `[[omit]]`: its place and its fields.
    pub(crate) omit: Vec<(Location, Vec<Field>)>,
    pub(crate) plots: Vec<PlotOptions>,
    /// The texts of `[[finding]]`.
    pub(crate) findings: Vec<Text>,
    /// Whether what is not here was surely not written.
    pub(crate) is_complete: bool,
    pub(crate) problems: Diagnostics,
}

const TOP: &[&str] = &["name", "title", "run", "vary", "omit", "plot", "finding"];

impl Options {
    /// Takes `text` for the content of the experiment file `name`, whose paths begin in `folder`.
    pub(crate) fn from_text(name: &str, text: String, folder: &Path) -> Options {
        let file = Arc::new(Source { name: name.to_owned(), text });
        let mut problems = Diagnostics::default();
        let mut document = Document::read(&file, &mut problems);
        if file.text.trim().is_empty() {
            let empty =
                Diagnostic::error(Code::Empty, Location::whole(&file), "the experiment file is empty");
            problems.push(
                empty.help("`flitway list experiments` names the built-in ones; copy one and change it"),
            );
            document.is_complete = false;
        }
        let top = Table { name: "the file", at: Location::whole(&file), fields: document.fields };
        let mut reader = Reader { problems };
        reader.refuse_unknown(&top, TOP);
        let (run_at, run, set) = reader.run(&top);
        Options {
            folder: folder.to_owned(),
            name: reader.text(&top, "name"),
            title: reader.text(&top, "title"),
            run,
            run_at,
            set,
            vary: reader.tables(&top, "vary").into_iter().map(|table| reader.vary(table)).collect(),
            omit: reader.tables(&top, "omit").into_iter().map(|table| (table.at, table.fields)).collect(),
            plots: reader.tables(&top, "plot").into_iter().map(|table| reader.plot(&table)).collect(),
            findings: reader
                .tables(&top, "finding")
                .iter()
                .filter_map(|table| reader.finding(table))
                .collect(),
            is_complete: document.is_complete,
            problems: reader.problems,
            file,
        }
    }
}

/// A table of the file.
struct Table {
    name: &'static str,
    at: Location,
    fields: Vec<Field>,
}

impl Table {
    fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == key)
    }
}

/// Takes tables apart, and collects what is wrong with them.
struct Reader {
    problems: Diagnostics,
}

impl Reader {
    fn refuse_unknown(&mut self, table: &Table, keys: &[&str]) {
        for field in table.fields.iter().filter(|field| !keys.contains(&field.name.as_str())) {
            self.problems.push(unknown_key(&field.name, &field.name_at, table.name, keys));
        }
    }

    fn wrong(&mut self, key: &str, raw: &Raw, at: &Location, expected: &str) {
        let message = format!("`{key}` is {}", kind_of(raw));
        self.problems.push(Diagnostic::error(Code::WrongValue, at.clone(), message).expected(expected));
    }

    fn text(&mut self, table: &Table, key: &str) -> Option<Text> {
        let field = table.field(key)?;
        match &field.raw {
            Raw::Text(text) => Some(Text { text: text.clone(), at: field.at.clone() }),
            raw => {
                self.wrong(key, raw, &field.at, "text in quotes");
                None
            }
        }
    }

    /// One text, or a list of texts.
    fn texts(&mut self, table: &Table, key: &str) -> Option<Vec<Text>> {
        let field = table.field(key)?;
        let single = [(field.raw.clone(), field.at.clone())];
        let items = if let Raw::List(items) = &field.raw { &items[..] } else { &single[..] };
        let mut texts = Vec::new();
        for (raw, at) in items {
            match raw {
                Raw::Text(text) => texts.push(Text { text: text.clone(), at: at.clone() }),
                raw => self.wrong(key, raw, at, "text in quotes, or a list of texts"),
            }
        }
        Some(texts)
    }

    /// The tables `[[key]]`.
    fn tables(&mut self, top: &Table, key: &'static str) -> Vec<Table> {
        let Some(field) = top.field(key) else { return Vec::new() };
        let expected = format!("[[{key}]], as often as needed, with its keys below it");
        let Raw::List(items) = &field.raw else {
            self.wrong(key, &field.raw, &field.at, &expected);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (raw, at) in items {
            match raw {
                Raw::Table(fields) => {
                    tables.push(Table { name: key, at: at.clone(), fields: fields.clone() });
                }
                raw => self.wrong(key, raw, at, &expected),
            }
        }
        tables
    }

    fn run(&mut self, top: &Table) -> (Option<Location>, Vec<Field>, Vec<Field>) {
        let Some(field) = top.field("run") else { return (None, Vec::new(), Vec::new()) };
        let Raw::Table(fields) = &field.raw else {
            self.wrong("run", &field.raw, &field.at, "[run] once, with its keys below it");
            return (Some(field.at.clone()), Vec::new(), Vec::new());
        };
        let mut settings = Vec::new();
        for field in fields.iter().filter(|field| field.name == "set") {
            match &field.raw {
                Raw::Table(fields) => flatten("", fields, &mut settings),
                raw => self.wrong("set", raw, &field.at, "[run.set], with a setting on each line below it"),
            }
        }
        let others = fields.iter().filter(|field| field.name != "set").cloned().collect();
        (Some(field.at.clone()), others, settings)
    }

    fn vary(&mut self, table: Table) -> VaryOptions {
        self.refuse_unknown(&table, &["over", "values"]);
        let before = self.problems.seen();
        let over = self.texts(&table, "over");
        if over.as_ref().is_some_and(Vec::is_empty) && self.problems.seen() == before {
            let at = table.field("over").map_or(&table.at, |field| &field.at);
            let problem = Diagnostic::error(Code::BadVary, at.clone(), "`over` names nothing");
            self.problems.push(problem.expected("a name, or a list of names"));
        }
        let values =
            table.field("values").map(|field| Given { raw: field.raw.clone(), at: field.at.clone() });
        for (key, is_there, expected) in [
            ("over", over.is_some(), "over = \"switch.vcs\", for example"),
            ("values", values.is_some(), "values = [1, 2, 4], for example"),
        ] {
            if !is_there {
                self.missing(&table, key, expected);
            }
        }
        VaryOptions { over: over.unwrap_or_default(), values, at: table.at }
    }

    fn plot(&mut self, table: &Table) -> PlotOptions {
        let keys = ["name", "title", "x", "y", "by", "x_title", "y_title"];
        self.refuse_unknown(table, &keys);
        for (key, expected) in [
            ("name", "name = \"load\", for example; the file of its data is named after it"),
            ("x", "x = \"switch.vcs\", for example"),
            ("y", "y = \"accepted_load\", for example"),
        ] {
            if table.field(key).is_none() {
                self.missing(table, key, expected);
            }
        }
        PlotOptions {
            at: table.at.clone(),
            name: self.text(table, "name"),
            title: self.text(table, "title"),
            x: self.text(table, "x"),
            y: self.text(table, "y"),
            by: self.texts(table, "by"),
            x_title: self.text(table, "x_title"),
            y_title: self.text(table, "y_title"),
        }
    }

    fn finding(&mut self, table: &Table) -> Option<Text> {
        self.refuse_unknown(table, &["text"]);
        if table.field("text").is_none() {
            self.missing(table, "text", "text = \"At most {max accepted_load} is accepted.\", for example");
        }
        self.text(table, "text")
    }

    fn missing(&mut self, table: &Table, key: &str, expected: &str) {
        let message = format!("`{key}` of [[{}]] is missing", table.name);
        self.problems.push(Diagnostic::error(Code::MissingKey, table.at.clone(), message).expected(expected));
    }
}

/// The settings in `fields` under their paths, whether they are written `"a.b" = 1`, `a.b = 1` or below `[run.set.a]`.
fn flatten(prefix: &str, fields: &[Field], settings: &mut Vec<Field>) {
    for field in fields {
        let path = if prefix.is_empty() { field.name.clone() } else { format!("{prefix}.{}", field.name) };
        match &field.raw {
            Raw::Table(inner) => flatten(&path, inner, settings),
            _ => settings.push(Field { name: path, ..field.clone() }),
        }
    }
}

/// That there is no key `name` in `table`.
pub(crate) fn unknown_key(name: &str, at: &Location, table: &str, keys: &[&str]) -> Diagnostic {
    let place = match table {
        "the file" => "at the top of the file".to_owned(),
        "run" => "in [run]".to_owned(),
        table => format!("in [[{table}]]"),
    };
    let meant = nearest(name, keys.iter().copied());
    Diagnostic::error(Code::UnknownKey, at.clone(), format!("there is no key `{}` {place}", show(name)))
        .expected(format!("one of: {}", keys.join(", ")))
        .maybe_help(meant.map(|meant| format!("did you mean `{meant}`?")))
}
