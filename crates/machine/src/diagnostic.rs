//! Diagnostics: what is wrong with an input, as values.
//!
//! A [`Diagnostic`] says what was read, where, what was expected and what is likely meant, under a stable
//! [`Code`] that has a page of its own. Reading never stops at the first: a failed load returns
//! [`Diagnostics`], all of them, in the order of the text. Rendering is in [`render`](crate::render).

use std::ops::Range;
use std::sync::Arc;

use crate::code::Code;

/// A text that was read: a machine file, a graph file, or one `--set`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As the user named it.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Which text.
    pub source: Arc<Source>,
    /// Which bytes of it; empty at the end of a text and where the whole text is meant.
    pub span: Range<usize>,
}

impl Location {
    /// The bytes `span` of `source`.
    #[must_use]
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        Location { source: Arc::clone(source), span }
    }

    /// The place stands for the whole text.
    #[must_use]
    pub fn whole(source: &Arc<Source>) -> Self {
        Location::new(source, 0..0)
    }

    /// The text at the place.
    #[must_use]
    pub fn text(&self) -> &str {
        self.source.text.get(self.span.clone()).unwrap_or("")
    }

    /// The line of its first byte, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        let before =
            self.source.text.as_bytes().get(..self.span.start).unwrap_or(self.source.text.as_bytes());
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is run.
    Error,
    /// It runs; the user should know.
    Warning,
}

/// A place that explains the primary one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Where.
    pub location: Location,
    /// What is there.
    pub label: String,
}

/// One problem of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind, stable over versions.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where it was read; `None` if it was not read from a text.
    pub location: Option<Location>,
    /// Other places that explain it.
    pub related: Vec<Related>,
    /// What would be accepted.
    pub expected: Option<Box<str>>,
    /// The likely fix.
    pub help: Option<Box<str>>,
}

impl Diagnostic {
    /// Nothing is run because of this.
    #[must_use]
    pub fn error(code: Code, location: impl Into<Option<Location>>, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            location: location.into(),
            related: Vec::new(),
            expected: None,
            help: None,
        }
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, location: Location, label: impl Into<String>) -> Self {
        self.related.push(Related { location, label: label.into() });
        self
    }

    /// Adds what would be accepted.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(expected.into().into_boxed_str());
        self
    }

    /// Adds the likely fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into().into_boxed_str());
        self
    }

    /// It runs all the same.
    #[must_use]
    pub fn warning(self) -> Self {
        Diagnostic { severity: Severity::Warning, ..self }
    }

    /// Adds the likely fix, if there is one.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = self.help.or(help.map(String::into_boxed_str));
        self
    }
}

/// All problems of an input, in the order of the text, as far as somebody would read them. Never empty as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// Those that there were beyond that.
    more: usize,
}

impl Diagnostics {
    /// The most errors, and the most warnings, that are kept.
    pub const MOST: usize = 100;

    /// Whether no more problems of this severity are kept.
    #[must_use]
    pub fn is_full(&self, severity: Severity) -> bool {
        let of_it = self.list.iter().filter(|diagnostic| diagnostic.severity == severity);
        self.list.len() >= Self::MOST && of_it.count() >= Self::MOST
    }

    /// Whether there were more problems than are kept.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.more > 0
    }

    /// How many problems there were, kept or not.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.list.len() + self.more
    }

    /// Adds an error, which is made only if it is kept.
    pub fn push_with(&mut self, error: impl FnOnce() -> Diagnostic) {
        if self.is_full(Severity::Error) {
            self.more += 1;
        } else {
            self.push(error());
        }
    }

    /// The problems.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// How many are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Adds a problem, if so many are not there yet.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.is_full(diagnostic.severity) {
            self.more += 1;
        } else {
            self.list.push(diagnostic);
        }
    }

    /// That there may be more, which nobody has looked for.
    pub fn give_up(&mut self) {
        self.more += 1;
    }

    /// Adds those of another list.
    pub fn extend(&mut self, other: Diagnostics) {
        self.more += other.more;
        other.list.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// Whether anything keeps it from running.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// In the order of the text; texts in the order in which `sources` lists them, what has no place first.
    #[must_use]
    pub fn in_order(mut self, sources: &[Arc<Source>]) -> Self {
        self.list.sort_by_key(|diagnostic| {
            diagnostic.location.as_ref().map(|at| {
                let rank = sources.iter().position(|source| Arc::ptr_eq(source, &at.source));
                (rank.unwrap_or(sources.len()), at.span.start)
            })
        });
        self
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics { list: vec![diagnostic], more: 0 }
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
