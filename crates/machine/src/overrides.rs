//! Overrides as a command has them: how a message on one of them, or one that an override would help, is worded.

use std::sync::Arc;

use crate::diagnostic::{Location, Source};
use crate::document::{Raw, read_value};

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
