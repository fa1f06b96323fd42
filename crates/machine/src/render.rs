//! The picture of a diagnostic: file, line, caret, what was expected, what to write.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Element, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Diagnostics, Location, Related, Severity, Source};
use crate::printable::printable;

/// Whether a picture carries terminal colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Text only.
    Plain,
    /// With ANSI escapes.
    Ansi,
}

/// The picture of one diagnostic, without a final newline.
#[must_use]
pub fn render(diagnostic: &Diagnostic, colour: Colour) -> String {
    let diagnostic = &harmless(diagnostic);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut elements = places(diagnostic);
    if let Some(expected) = &diagnostic.expected {
        elements.push(Level::NOTE.with_name("expected").message(&**expected).into());
    }
    if let Some(help) = &diagnostic.help {
        elements.push(Level::HELP.message(&**help).into());
    }
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.id());
    let renderer = match colour {
        Colour::Plain => Renderer::plain(),
        Colour::Ansi => Renderer::styled(),
    };
    renderer.decor_style(DecorStyle::Ascii).render(&[title.elements(elements)])
}

impl Diagnostics {
    /// All of them as pictures, with a blank line between.
    #[must_use]
    pub fn render(&self, colour: Colour) -> String {
        let pictures: Vec<String> = self.iter().map(|diagnostic| render(diagnostic, colour)).collect();
        let more = format!("\n\nthere are more problems than these {}; the rest is not listed", self.len());
        pictures.join("\n\n") + if self.has_more() { &more } else { "" }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Colour::Plain))
    }
}

impl std::error::Error for Diagnostics {}

/// The same without what would steer a terminal; only colours of the renderer go there.
fn harmless(diagnostic: &Diagnostic) -> Diagnostic {
    let mut harmless = diagnostic.clone();
    let text = |text: &str| printable(text).into_owned();
    harmless.message = text(&harmless.message);
    for part in [&mut harmless.expected, &mut harmless.help].into_iter().flatten() {
        *part = text(part).into();
    }
    let mut known: Vec<(Arc<Source>, Arc<Source>)> = Vec::new();
    let mut place = |at: &mut Location| {
        if printable(&at.source.name) == at.source.name.as_str() {
            return;
        }
        // Places in one text stay in one text.
        let found =
            known.iter().find(|(old, _)| Arc::ptr_eq(old, &at.source)).map(|(_, new)| Arc::clone(new));
        let new = found.unwrap_or_else(|| {
            let new = Arc::new(Source { name: text(&at.source.name), text: at.source.text.clone() });
            known.push((Arc::clone(&at.source), Arc::clone(&new)));
            new
        });
        at.source = new;
    };
    harmless.location.iter_mut().for_each(&mut place);
    for related in &mut harmless.related {
        related.label = text(&related.label);
        place(&mut related.location);
    }
    harmless
}

fn places(diagnostic: &Diagnostic) -> Vec<Element<'_>> {
    let Some(primary) = &diagnostic.location else { return Vec::new() };
    if primary.span == (0..0) {
        return vec![Origin::path(primary.source.name.as_str()).into()];
    }
    let (here, elsewhere): (Vec<&Related>, Vec<&Related>) =
        diagnostic.related.iter().partition(|related| Arc::ptr_eq(&related.location.source, &primary.source));
    let mut elements: Vec<Element<'_>> = vec![snippet(Some(primary), &here).into()];
    elements.extend(elsewhere.iter().map(|related| snippet(None, &[related]).into()));
    elements
}

/// The lines of one text that the marks stand on. Only they are handed to the renderer, however long the text is.
fn snippet<'a>(primary: Option<&'a Location>, related: &[&'a Related]) -> Snippet<'a, Annotation<'a>> {
    let places = primary.into_iter().chain(related.iter().map(|related| &related.location));
    let source = places.clone().next().map(|at| &at.source).expect("a snippet has a place");
    let text = source.text.as_str();
    let spans: Vec<Range<usize>> = places.map(|at| within(text, &at.span)).collect();
    let first = spans.iter().map(|span| span.start).min().unwrap_or(0);
    let last = spans.iter().map(|span| span.end).max().unwrap_or(0);
    let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline);
    let line = 1 + text[..start].bytes().filter(|&byte| byte == b'\n').count();
    let labels = primary.map(|_| "").into_iter().chain(related.iter().map(|related| related.label.as_str()));
    let mut snippet = Snippet::source(&text[start..end]).path(source.name.as_str()).line_start(line);
    for (index, (span, label)) in spans.into_iter().zip(labels).enumerate() {
        let is_primary = index == 0 && primary.is_some();
        let kind = if is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let mark = kind.span(span.start - start..span.end - start);
        snippet = snippet.annotation(if label.is_empty() { mark } else { mark.label(label) });
    }
    snippet
}

/// The span cut to the first line it touches, on character boundaries.
fn within(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = floor_boundary(text, span.start.min(text.len()));
    let end = floor_boundary(text, span.end.clamp(start, text.len()));
    let line = text[start..end].find('\n').map_or(end, |newline| start + newline);
    start..line.max(start)
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
