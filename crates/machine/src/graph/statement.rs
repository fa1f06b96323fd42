//! One line of a graph file becomes a statement.

use std::ops::Range;
use std::sync::Arc;

use super::DECLARED_MAX;
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Location, Source};
use crate::nearest::nearest;
use crate::units::{self, Dimension, QuantityError, show};

/// The farthest that a switch can be drawn from zero, in either direction.
const COORDINATE_MAX: f64 = 1e9;

/// What a line says.
#[derive(Debug)]
pub(super) enum Statement {
    Switches(Vec<Name>),
    Nodes(Vec<Name>),
    /// Nodes that are the NICs of one server.
    Server(Vec<Name>),
    Link(Link),
    At(Spot),
}

/// Where a switch is drawn, as written: across from the left, and down from the top.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) switch: Name,
    pub(super) at: [f64; 2],
}

/// A word, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// A link as written.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) ends: [EndText; 2],
    pub(super) length_mm: Option<u64>,
    /// Bits a second: from the first end to the second, and back.
    pub(super) rates: [Option<u64>; 2],
    /// What kind of cable it is called.
    pub(super) class: Option<String>,
    pub(super) span: Range<usize>,
}

/// An end of a link as written.
#[derive(Debug)]
pub(super) struct EndText {
    pub(super) name: String,
    pub(super) port: Option<u32>,
    pub(super) span: Range<usize>,
}

/// Why a line is not understood.
#[derive(Debug)]
pub(super) struct LineError {
    code: Code,
    span: Range<usize>,
    message: String,
    expected: String,
    help: Option<String>,
}

impl LineError {
    fn new(span: Range<usize>, message: impl Into<String>, expected: impl Into<String>) -> Self {
        let (message, expected) = (message.into(), expected.into());
        LineError { code: Code::GraphLine, span, message, expected, help: None }
    }

    fn quantity(what: &str, error: &QuantityError, start: usize) -> Self {
        let code = match error.reason {
            units::Reason::NoUnit => Code::NoUnit,
            units::Reason::NoNumber | units::Reason::NotWhole(_) => Code::NotAQuantity,
            units::Reason::Negative | units::Reason::TooLarge => Code::OutOfRange,
            _ => Code::WrongUnit,
        };
        LineError {
            code,
            span: start..start + error.text.len(),
            message: format!("the {what} of the link: {error}"),
            expected: error.expectation(),
            help: error.help().map(|help| help.replace('"', "`")),
        }
    }

    pub(super) fn into_diagnostic(self, source: &Arc<Source>) -> Diagnostic {
        Diagnostic::error(self.code, Location::new(source, self.span), self.message)
            .expected(self.expected)
            .maybe_help(self.help)
    }
}

const LINK: &str = "`link END - END [LENGTH] [RATE] [back RATE] [class NAME]`, for example `link a:0 - n0 3 m` or `link a:0 - n0 3 m 100 Gbit/s`";

/// Reads one line that begins at byte `start` of the file; `None` if it says nothing.
pub(super) fn read(line: &str, start: usize) -> Result<Option<Statement>, LineError> {
    let body = line.split('#').next().unwrap_or("");
    let words = words(body, start);
    let Some((keyword, rest)) = words.split_first() else { return Ok(None) };
    match keyword.text.as_str() {
        "switch" | "node" | "server" if rest.is_empty() => {
            let expected = format!("`{} NAME ...`", keyword.text);
            Err(LineError::new(keyword.span.clone(), "a name is missing", expected))
        }
        "switch" => names(rest).map(|names| Some(Statement::Switches(names))),
        "node" => names(rest).map(|names| Some(Statement::Nodes(names))),
        "server" => names(rest).map(|names| Some(Statement::Server(names))),
        "link" => link(body, start, keyword.span.end).map(|link| Some(Statement::Link(link))),
        "at" => spot(keyword, rest).map(|spot| Some(Statement::At(spot))),
        other => {
            let message = format!("`{}` does not begin a line of a graph file", show(other));
            let expected = "`switch`, `node`, `server`, `link` or `at`";
            let mut error = LineError::new(keyword.span.clone(), message, expected);
            let singular = nearest(other, ["switch", "node", "server", "link", "at"]);
            error.help = singular.map(|word| format!("did you mean `{word}`?"));
            Err(error)
        }
    }
}

/// The words of `body`, which begins at byte `start` of the file.
pub(crate) fn words(body: &str, start: usize) -> Vec<Name> {
    let mut words = Vec::new();
    let mut at = 0;
    for part in body.split_inclusive(char::is_whitespace) {
        let text = part.trim_end();
        if !text.is_empty() {
            words.push(Name { text: text.to_owned(), span: start + at..start + at + text.len() });
        }
        at += part.len();
    }
    words
}

fn names(words: &[Name]) -> Result<Vec<Name>, LineError> {
    let mut names = Vec::new();
    for word in words {
        match word.text.split_once("..") {
            None => {
                check_name(&word.text, &word.span)?;
                names.push(word.clone());
            }
            Some((first, last)) => {
                let Some((stem, numbers)) = range(first, last) else {
                    let message = format!("`{}` is not a range of names", show(&word.text));
                    return Err(LineError::new(word.span.clone(), message, "a range such as n0..n7"));
                };
                check_name(stem, &word.span)?;
                if numbers.len() > DECLARED_MAX {
                    let (message, expected) = too_many(numbers.len());
                    return Err(LineError {
                        code: Code::TooLarge,
                        ..LineError::new(word.span.clone(), message, expected)
                    });
                }
                for number in numbers {
                    names.push(Name { text: format!("{stem}{number}"), span: word.span.clone() });
                }
            }
        }
    }
    Ok(names)
}

/// Message and expectation for a graph of too many names.
pub(super) fn too_many(count: usize) -> (String, String) {
    let expected = format!("at most {DECLARED_MAX} switches and as many nodes in a graph file");
    (format!("{count} names are too many"), expected)
}

/// `SWITCH X Y` behind `at`.
fn spot(keyword: &Name, words: &[Name]) -> Result<Spot, LineError> {
    const AT: &str = "`at SWITCH X Y`, for example `at leaf0 3 1`: 3 from the left, 1 from the top";
    let [switch, x, y] = words else {
        let end = words.last().map_or(keyword.span.end, |last| last.span.end);
        let message = "a switch and its two coordinates are expected";
        return Err(LineError::new(keyword.span.start..end, message, AT));
    };
    check_name(&switch.text, &switch.span)?;
    let number = |word: &Name| match word.text.parse::<f64>() {
        Ok(number) if number.abs() <= COORDINATE_MAX => Ok(number),
        Ok(number) if !number.is_nan() => {
            let message = format!("`{}` is too far away", show(&word.text));
            let expected = format!("a number from -{COORDINATE_MAX} to {COORDINATE_MAX}");
            let error = LineError::new(word.span.clone(), message, expected);
            Err(LineError { code: Code::OutOfRange, ..error })
        }
        Ok(_) | Err(_) => {
            Err(LineError::new(word.span.clone(), format!("`{}` is not a number", show(&word.text)), AT))
        }
    };
    Ok(Spot { switch: switch.clone(), at: [number(x)?, number(y)?] })
}

/// The common stem and the numbers of `n0..n7`.
pub(crate) fn range<'a>(first: &'a str, last: &str) -> Option<(&'a str, Range<usize>)> {
    let split = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let stem = &first[..split(first)];
    let (from, to): (u32, u32) = (first[stem.len()..].parse().ok()?, last[split(last)..].parse().ok()?);
    let same = last[..split(last)] == *stem && !stem.is_empty() && from <= to;
    same.then(|| (stem, from as usize..to as usize + 1))
}

fn check_name(name: &str, span: &Range<usize>) -> Result<(), LineError> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')) {
        return Ok(());
    }
    let expected = "a letter, then letters, digits, `_`, `-` and `.`";
    Err(LineError::new(span.clone(), format!("`{}` is not a name", show(name)), expected))
}

/// `END - END [LENGTH] [RATE] [back RATE] [class NAME]`. The hyphen between the ends stands after a port or between spaces,
/// because names may have one.
fn link(body: &str, start: usize, after: usize) -> Result<Link, LineError> {
    let text = &body[after - start..];
    let trimmed = text.trim();
    let begin = after + (text.len() - text.trim_start().len());
    let span = begin..begin + trimmed.len();
    let missing = |what: &str| LineError::new(after - 4..span.end.max(after), what.to_owned(), LINK);
    if trimmed.is_empty() {
        return Err(missing("the two ends of the link are missing"));
    }
    let Some(hyphen) = separator(trimmed) else {
        return Err(missing("there is no ` - ` between the two ends of the link"));
    };
    let first = trimmed[..hyphen].trim_end();
    let tail = &trimmed[hyphen + 1..];
    let second_at = hyphen + 1 + (tail.len() - tail.trim_start().len());
    let rest = &trimmed[second_at..];
    let second = rest.split_whitespace().next().unwrap_or("");
    if first.is_empty() || second.is_empty() {
        return Err(missing("an end of the link is missing"));
    }
    let (text, text_end, class) = before_class(rest[second.len()..].trim_start(), span.end)?;
    let (length_mm, rates) = cable(text, text_end)?;
    let ends = [end(first, begin)?, end(second, begin + second_at)?];
    Ok(Link { ends, length_mm, rates, class, span })
}

/// What of `text`, up to byte `end` of the file, stands before `class NAME`, where that ends, and the name.
fn before_class(text: &str, end: usize) -> Result<(&str, usize, Option<String>), LineError> {
    let start = end - text.len();
    let words = words(text, start);
    let Some(place) = words.iter().position(|word| word.text == "class") else {
        return Ok((text, end, None));
    };
    match &words[place..] {
        [keyword, name] => {
            check_name(&name.text, &name.span)?;
            let before = text[..keyword.span.start - start].trim_end();
            Ok((before, start + before.len(), Some(name.text.clone())))
        }
        [_, _, more, ..] => {
            let message = format!("`{}` stands behind `class NAME`, which ends the line", show(&more.text));
            Err(LineError::new(more.span.start..end, message, LINK))
        }
        _ => Err(LineError::new(words[place].span.clone(), "the name behind `class` is missing", LINK)),
    }
}

/// `[LENGTH] [RATE] [back RATE]`, up to byte `end` of the file: the length, and the rate from the first end and that back.
fn cable(text: &str, end: usize) -> Result<(Option<u64>, [Option<u64>; 2]), LineError> {
    let mut backs = text.match_indices("back").map(|(at, _)| at);
    let (there, back) = match backs.find(|&at| is_word(text, at, "back".len())) {
        Some(at) => (text[..at].trim_end(), Some(text[at + "back".len()..].trim_start())),
        None => (text, None),
    };
    let at = end - text.len();
    let (length, rate) = there.split_at(rate_begins(there));
    let quantity = |what, text: &str, at, dimension| match text.trim_end() {
        "" => Ok(None),
        text => {
            units::parse(text, dimension).map(Some).map_err(|error| LineError::quantity(what, &error, at))
        }
    };
    let length_mm = quantity("length", length, at, Dimension::Length)?;
    let rate = quantity("rate", rate, at + length.len(), Dimension::BitRate)?;
    let Some(back) = back else { return Ok((length_mm, [rate; 2])) };
    let back_at = end - back.len();
    if back.is_empty() {
        return Err(LineError::new(back_at - "back".len()..end, "the rate after `back` is missing", LINK));
    }
    Ok((length_mm, [rate, quantity("rate", back, back_at, Dimension::BitRate)?]))
}

/// Whether the `length` bytes at byte `at` are between blanks or the ends of `text`.
fn is_word(text: &str, at: usize, length: usize) -> bool {
    let blank = |rest: &str, byte: Option<&u8>| rest.is_empty() || byte.is_none_or(u8::is_ascii_whitespace);
    let (before, after) = (&text[..at], &text[at + length..]);
    blank(before, before.as_bytes().last()) && blank(after, after.as_bytes().first())
}

/// The byte where the first quantity begins whose unit is one a second, or the end.
fn rate_begins(text: &str) -> usize {
    let mut number = None;
    for word in words(text, 0) {
        let is_rate = word.text.contains("/s") || word.text.ends_with("bps");
        let has_number = word.text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        if is_rate {
            return if has_number { word.span.start } else { number.unwrap_or(word.span.start) };
        }
        number = has_number.then_some(word.span.start);
    }
    text.len()
}

/// The byte of the hyphen between two ends: right after the port of the first, or between blanks.
fn separator(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let after_port = text.find(':').and_then(|colon| {
        let digits = text[colon + 1..].bytes().take_while(u8::is_ascii_digit).count();
        (bytes.get(colon + 1 + digits) == Some(&b'-')).then_some(colon + 1 + digits)
    });
    let spaced = text.match_indices('-').map(|(at, _)| at).find(|&at| {
        let blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        blank(at.checked_sub(1).and_then(|before| bytes.get(before))) && blank(bytes.get(at + 1))
    });
    match (after_port, spaced) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}

fn end(text: &str, at: usize) -> Result<EndText, LineError> {
    let span = at..at + text.len();
    let (name, port) = match text.split_once(':') {
        None => (text, None),
        Some((name, port)) => match port.parse::<u32>() {
            Ok(number) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(number)),
            _ => {
                let message = format!("`{}` is not a port number", show(port));
                let expected = "a switch with its port, for example a:0";
                return Err(LineError { code: Code::GraphPort, ..LineError::new(span, message, expected) });
            }
        },
    };
    check_name(name, &span)?;
    Ok(EndText { name: name.to_owned(), port, span })
}
