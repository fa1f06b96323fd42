//! A text that is read line by line, with what is wrong with it.

use flitway_machine::{Code, Diagnostic, Diagnostics, Location, Source};
use std::ops::Range;
use std::sync::Arc;

/// A text and its problems.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) source: Arc<Source>,
    findings: Diagnostics,
}

/// A line, and the byte at which it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
}

impl Line<'_> {
    /// The place of the line without the blanks around it.
    pub(crate) fn span(&self) -> Range<usize> {
        let begin = self.start + (self.text.len() - self.text.trim_start().len());
        begin..begin + self.text.trim().len()
    }
}

/// The lines of `text`.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let begin = start;
        start += line.len();
        Line { text: line.trim_end_matches(['\n', '\r']), start: begin }
    })
}

impl Text {
    pub(crate) fn new(source: &Arc<Source>) -> Self {
        Text { source: Arc::clone(source), findings: Diagnostics::default() }
    }

    pub(crate) fn at(&self, span: &Range<usize>) -> Location {
        Location::new(&self.source, span.clone())
    }

    /// That a line is wrong.
    pub(crate) fn wrong(&mut self, span: &Range<usize>, message: impl Into<String>, expected: &str) {
        self.push(Diagnostic::error(Code::ForeignLine, self.at(span), message).expected(expected));
    }

    /// That a line says something else than another one at `first`.
    pub(crate) fn contradicts(
        &mut self,
        span: &Range<usize>,
        message: String,
        (first, expected): (&Range<usize>, &str),
    ) {
        let problem = Diagnostic::error(Code::ForeignLine, self.at(span), message);
        self.push(problem.related(self.at(first), "first here").expected(expected));
    }

    pub(crate) fn push(&mut self, problem: Diagnostic) {
        self.findings.push_with(|| problem);
    }

    /// `value`, if nothing is wrong.
    pub(crate) fn done<T>(self, value: T) -> Result<T, Diagnostics> {
        if self.findings.has_errors() { Err(self.findings) } else { Ok(value) }
    }
}
