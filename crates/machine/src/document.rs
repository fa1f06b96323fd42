//! A TOML text as a tree in which every key and every value knows its place.
//!
//! Machine files and experiment files are read with it. A line that is not TOML is reported, blanked, and the rest is
//! read again, so that one slip does not hide the others.

use std::ops::Range;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics, Location, Source};
use crate::units::show;

/// A value as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    /// Text in quotes.
    Text(String),
    /// A whole number; `None` if it does not fit.
    Integer(Option<i128>),
    /// A number with a point or an exponent; its digits stand at its place.
    Decimal,
    /// `true` or `false`.
    Flag(bool),
    /// A list, each item with its place.
    List(Vec<(Raw, Location)>),
    /// A table.
    Table(Vec<Field>),
    /// A date or a time of day.
    Date,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key, without quotes.
    pub name: String,
    /// Where the key stands.
    pub name_at: Location,
    /// The value.
    pub raw: Raw,
    /// Where the value stands.
    pub at: Location,
}

/// Lines that are no TOML before reading is given up: after each of them all is read again.
const ROUNDS_MAX: usize = 20;

/// The top of a text.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its keys, in the order of the text.
    pub fields: Vec<Field>,
    /// Whether all of it could be read: what is not among the fields was surely not written.
    pub is_complete: bool,
}

impl Document {
    /// Reads `file`; what is not TOML goes to `findings`.
    #[must_use]
    pub fn read(file: &Arc<Source>, findings: &mut Diagnostics) -> Document {
        let reading = Reading { source: file, offset: 0 };
        let mut text = file.text.clone();
        let (mut is_complete, mut rounds) = (true, 0);
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
                    findings.push(Diagnostic::error(Code::Duplicate, at, message).help("delete one of them"));
                }
                return Document { fields: reading.fields(table.get_ref()), is_complete };
            };
            is_complete = false;
            let at = Location::new(file, first.span().unwrap_or(text.len()..text.len()));
            let line = line_around(&text, at.span.start);
            let is_header = text[line.clone()].trim_start().starts_with('[');
            let is_blank = text[line.clone()].trim().is_empty();
            let from_above =
                text[line.start..at.span.start].trim().is_empty() && first.message().starts_with("missing");
            let help = from_above.then(|| "a bracket or brace above may not be closed".to_owned());
            findings.push(syntax_error(first.message(), at).maybe_help(help));
            rounds += 1;
            if rounds == ROUNDS_MAX {
                findings.give_up();
                return Document::default();
            }
            // Below a broken header nothing is known to stand in the right table, and behind an open quote or bracket
            // nothing is known at all.
            if is_header || is_blank || first.message().starts_with("unclosed") {
                return Document::default();
            }
            text.replace_range(line.clone(), &" ".repeat(line.len()));
        }
    }
}

/// The line that byte `at` lies in, without its newline.
fn line_around(text: &str, at: usize) -> Range<usize> {
    let at = at.min(text.len());
    let start =
        text.as_bytes()[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let end =
        text.as_bytes()[start..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |n| start + n);
    start..end
}

/// What is being read, and how its byte offsets map to the source.
struct Reading<'a> {
    source: &'a Arc<Source>,
    offset: usize,
}

impl Reading<'_> {
    fn locate(&self, span: Range<usize>) -> Location {
        Location::new(self.source, span.start + self.offset..span.end + self.offset)
    }

    fn fields(&self, table: &DeTable<'_>) -> Vec<Field> {
        let field =
            |(key, value): (&toml::Spanned<toml::de::DeString<'_>>, &toml::Spanned<DeValue<'_>>)| Field {
                name: key.get_ref().as_ref().to_owned(),
                name_at: self.locate(key.span()),
                raw: self.raw(value.get_ref()),
                at: self.locate(value.span()),
            };
        table.iter().map(field).collect()
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
            DeValue::Table(table) => Raw::Table(self.fields(table)),
        }
    }
}

/// Reads the value of a `--set` that begins at byte `offset` of `source`: TOML, or a bare word, which stands for itself
/// in quotes.
pub(crate) fn read_value(text: &str, source: &Arc<Source>, offset: usize) -> Result<Raw, Diagnostic> {
    let reading = Reading { source, offset };
    match DeValue::parse(text) {
        Ok(value) if !matches!(value.get_ref(), DeValue::Datetime(_)) => Ok(reading.raw(value.get_ref())),
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => {
            Err(syntax_error(error.message(), reading.locate(error.span().unwrap_or(0..text.len()))))
        }
        _ => Ok(Raw::Text(text.to_owned())),
    }
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
        ("invalid boolean", _) => (what, Some("`true`, `false`, or text in quotes")),
        (_, Some("nothing")) => (what, None),
        _ => (what, expected),
    };
    let mut problem = Diagnostic::error(Code::Syntax, at, format!("this is not valid TOML: {what}"));
    problem.expected = expected.map(Box::from);
    problem
}
