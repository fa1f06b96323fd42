//! One setting as written, and who gave it.

use std::sync::Arc;

use crate::diagnostic::{Location, Source};
use crate::document::{Raw, read_value};
use crate::overrides;

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
            Origin::Set => overrides::SOURCE,
        }
    }
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

impl Entry {
    /// That of a default, which is written in the table of settings.
    pub(crate) fn default_of(path: &str, text: &'static str) -> Entry {
        let source = Arc::new(Source { name: "default".to_owned(), text: text.to_owned() });
        let raw = read_value(text, &source, 0).unwrap_or_else(|_| Raw::Text(text.to_owned()));
        Entry { path: path.to_owned(), raw, location: Location::whole(&source), origin: Origin::Default }
    }
}
