//! Overrides as a command has them: how a message on one of them, or one that an override would help, is worded.

use std::sync::Arc;

use crate::code::Code;
use crate::convert::convert;
use crate::diagnostic::{Diagnostic, Location, Source};
use crate::document::{Raw, read_value};
use crate::nearest::nearest;
use crate::options::{Entry, Origin};
use crate::schema::{self, Kind, Setting};

/// The name of a text that is one `--set`.
pub(crate) const SOURCE: &str = "--set";

/// Whether `at` lies in an override of a command.
pub(crate) fn holds(at: &Location) -> bool {
    at.source.name == SOURCE
}

/// Whether `at` is the value that an override of a command gives to `path`, and not a part of a table.
pub(crate) fn is_value_of(at: &Location, path: &str) -> bool {
    holds(at) && at.source.text.split_once('=').is_some_and(|(before, _)| before.trim() == path)
}

/// The override that gives `path` the value that a machine file has as `value`, in quotes where a shell needs them.
pub(crate) fn written(path: &str, value: &str) -> String {
    let word = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|word| is_word(word));
    let text = format!("{path}={}", word.unwrap_or(value));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-=/+,:".contains(letter);
    if text.chars().all(is_plain) { format!("{SOURCE} {text}") } else { format!("{SOURCE} '{text}'") }
}

/// Whether an override takes `text` for itself, without quotes.
fn is_word(text: &str) -> bool {
    let source = Arc::new(Source { name: SOURCE.to_owned(), text: text.to_owned() });
    read_value(text, &source, 0).is_ok_and(|raw| raw == Raw::Text(text.to_owned()))
}

/// That the override at `at` gives the table `path` a single value.
pub(crate) fn not_a_table(path: &str, raw: Raw, at: Location) -> Diagnostic {
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
        return Some(format!("did you mean {}?", written(setting.path, name)));
    }
    let is_any_text = |setting: &Setting| matches!(setting.kind, Kind::Text { .. } | Kind::Path);
    let mut taking = inside().filter(|setting| !is_any_text(setting) && convert(setting, entry).is_ok());
    if let Some(setting) = taking.next() {
        return Some(format!("did you mean {}?", written(setting.path, entry.location.text())));
    }
    let mut choices =
        inside().filter(|_| !text.is_empty()).filter_map(|setting| Some((setting, names_of(setting)?)));
    if let Some((setting, names)) = choices.next() {
        let names = names.join(", ");
        return Some(format!("write {SOURCE} {}=NAME, where NAME is one of: {names}", setting.path));
    }
    let below = || schema::settings().find(|setting| schema::is_within(setting.path, &entry.path));
    let example = inside().next().or_else(below)?;
    Some(format!("write {}, for example", written(example.path, example.example)))
}

/// What can be chosen, if `setting` is a choice.
fn names_of(setting: &Setting) -> Option<Vec<&'static str>> {
    let Kind::Choice(choices) = setting.kind else { return None };
    Some(choices.iter().map(|choice| choice.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_is_written_as_a_shell_takes_it() {
        for (value, override_text) in [
            ("2", "--set a.b=2"),
            ("\"torus\"", "--set a.b=torus"),
            ("\"8 m\"", "--set 'a.b=8 m'"),
            ("[8, 8]", "--set 'a.b=[8, 8]'"),
            ("\"2\"", "--set 'a.b=\"2\"'"),
            ("\"off\"", "--set a.b=off"),
        ] {
            assert_eq!(written("a.b", value), override_text);
        }
    }
}
