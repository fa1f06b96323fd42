//! Findings: a sentence in which what stands in braces is computed from the points.
//!
//! ```text
//! placeholder := value [" / " value] [" as %"]
//! value       := what [" at " NAME "=" VALUE {", " NAME "=" VALUE}]
//! what        := COLUMN                            of the one point that `at` leaves
//!              | ("max" | "min" | "mean") COLUMN   over all points that `at` leaves
//!              | COLUMN " of " ("max" | "min") COLUMN    where that extreme is
//! ```
//!
//! A COLUMN is what is varied or measured; NAME is varied. Extremes and means of latencies leave out points that are not
//! steady, and the latency of one such point is followed by its verdict.

use crate::options::Text;
use crate::select::{Column, Space, format, is_trusted, measured, verdict};
use crate::value::{number, same};
use flitway_machine::{Code, Diagnostic, Diagnostics, Location, show};
use serde_json::Value;

/// A sentence to complete.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) template: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Placeholder(Box<Placeholder>),
}

/// What stands in braces.
#[derive(Clone, Debug)]
struct Placeholder {
    value: Quantity,
    divisor: Option<Quantity>,
    is_percent: bool,
}

/// Something to compute from some of the points.
#[derive(Clone, Debug)]
struct Quantity {
    what: What,
    points: Vec<usize>,
}

#[derive(Clone, Debug)]
enum What {
    One(Column),
    Mean(Column),
    Extreme(Extreme, Column),
    /// The first column where the second is extreme.
    Where(Column, Extreme, Column),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extreme {
    Max,
    Min,
}

/// Checks the findings.
pub(crate) fn findings(texts: &[Text], space: &Space, problems: &mut Diagnostics) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in texts {
        // A line end is a blank: as many bytes, so that places stay what they are.
        let sentence = text.text.replace(['\n', '\r', '\t'], " ");
        match (Parser { text, sentence: &sentence, space }).finding() {
            Ok(finding) => findings.push(finding),
            Err(problem) => problems.push(*problem),
        }
    }
    findings
}

/// Reads one sentence.
struct Parser<'a> {
    text: &'a Text,
    /// Its text on one line.
    sentence: &'a str,
    space: &'a Space,
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

impl<'a> Parser<'a> {
    fn finding(&self) -> Parsed<Finding> {
        let template = self.sentence;
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = template;
        while let Some(brace) = rest.find(['{', '}']) {
            plain += &rest[..brace];
            let here = &rest[brace..];
            if here.starts_with("{{") || here.starts_with("}}") {
                plain.push_str(&here[..1]);
                rest = &here[2..];
                continue;
            }
            let end = here.find('}').filter(|_| here.starts_with('{'));
            let Some(end) = end else {
                let what = if here.starts_with('{') { "is not closed" } else { "was not opened" };
                let problem = self.bad(&here[..1], format!("the brace {what}"));
                return Err(Box::new(problem.help("write it twice if a brace is meant")));
            };
            parts.push(Part::Text(std::mem::take(&mut plain)));
            parts.push(self.placeholder(&here[1..end])?);
            rest = &here[end + 1..];
        }
        plain += rest;
        parts.push(Part::Text(plain));
        if parts.len() == 1 {
            let problem = self.bad(template, "nothing in this sentence is computed".to_owned());
            return Err(Box::new(problem.expected("a value in braces, such as {max accepted_load}")));
        }
        Ok(Finding { template: on_one_line(template), parts })
    }

    fn placeholder(&self, text: &'a str) -> Parsed<Part> {
        let (body, unit) = text.split_once(" as ").unwrap_or((text, ""));
        if !matches!(unit.trim(), "" | "%") {
            let problem =
                self.bad(unit.trim(), format!("a value cannot be shown as `{}`", show(unit.trim())));
            return Err(Box::new(problem.expected("%")));
        }
        let is_percent = !unit.is_empty();
        let (first, second) = match body.split_once(" / ") {
            Some((first, second)) => (first, Some(second)),
            None => (body, None),
        };
        let value = self.quantity(first)?;
        let divisor = second.map(|second| self.quantity(second)).transpose()?;
        if is_percent || divisor.is_some() {
            for (quantity, text) in [(Some(&value), first), (divisor.as_ref(), second.unwrap_or(""))] {
                self.must_be_numbers(quantity, text)?;
            }
        }
        Ok(Part::Placeholder(Box::new(Placeholder { value, divisor, is_percent })))
    }

    fn must_be_numbers(&self, quantity: Option<&Quantity>, text: &str) -> Parsed<()> {
        let column = match quantity.map(|quantity| &quantity.what) {
            Some(What::One(column) | What::Where(column, ..)) => column,
            _ => return Ok(()),
        };
        let Column::Varied { axis, place, name } = column else { return Ok(()) };
        match self.space.labels(*axis, *place).iter().find(|label| number(label).is_none()) {
            Some(label) => Err(Box::new(
                self.bad(text.trim(), format!("`{name}` can be `{}`, which is no number", show(label))),
            )),
            None => Ok(()),
        }
    }

    fn quantity(&self, text: &'a str) -> Parsed<Quantity> {
        let (head, conditions) = match text.split_once(" at ") {
            Some((head, conditions)) => (head, Some(conditions)),
            None => (text, None),
        };
        let what = self.what(head)?;
        let mut points: Vec<usize> = (0..self.space.points.len()).collect();
        for condition in conditions.map(split_list).unwrap_or_default() {
            self.keep(condition, &mut points)?;
        }
        if points.is_empty() {
            return Err(Box::new(self.bad(text.trim(), "no point has all of these values".to_owned())));
        }
        if points.len() > 1 && matches!(what, What::One(_)) {
            return Err(Box::new(self.ambiguous(text.trim(), &points)));
        }
        Ok(Quantity { what, points })
    }

    fn what(&self, head: &'a str) -> Parsed<What> {
        let words: Vec<&str> = head.split_whitespace().collect();
        let extreme = |word: &str| match word {
            "max" => Some(Extreme::Max),
            "min" => Some(Extreme::Min),
            _ => None,
        };
        match words[..] {
            [name] => Ok(What::One(self.column(name)?)),
            ["mean", name] => Ok(What::Mean(self.measured(name)?)),
            [word, name] if extreme(word).is_some() => {
                Ok(What::Extreme(extreme(word).unwrap_or(Extreme::Max), self.measured(name)?))
            }
            [wanted, "of", word, name] if extreme(word).is_some() => {
                let extreme = extreme(word).unwrap_or(Extreme::Max);
                Ok(What::Where(self.column(wanted)?, extreme, self.measured(name)?))
            }
            _ => {
                let problem = match head.trim() {
                    "" => self.bad(self.sentence, "nothing stands in the braces".to_owned()),
                    head => self.bad(head, format!("`{}` is not something to compute", show(head))),
                };
                Err(Box::new(
                    problem.expected("NAME, `max NAME`, `min NAME`, `mean NAME` or `NAME of max NAME`"),
                ))
            }
        }
    }

    fn column(&self, name: &str) -> Parsed<Column> {
        self.space.column(name).map_err(|unknown| {
            let problem = Diagnostic::error(Code::UnknownField, self.locate(name), unknown.message);
            Box::new(problem.expected(unknown.expected).maybe_help(unknown.help))
        })
    }

    fn measured(&self, name: &str) -> Parsed<Column> {
        let column = self.column(name)?;
        if let Column::Varied { .. } = column {
            let problem = self.bad(name, format!("`{name}` is varied: its extremes are no finding"));
            return Err(Box::new(problem.expected("what is measured, such as `accepted_load`")));
        }
        Ok(column)
    }

    /// Keeps the points that meet `condition`, `NAME=VALUE`.
    fn keep(&self, condition: &str, points: &mut Vec<usize>) -> Parsed<()> {
        let Some((name, value)) = condition.split_once('=') else {
            let problem = self.bad(condition.trim(), format!("`{}` has no `=`", show(condition.trim())));
            return Err(Box::new(problem.expected("NAME=VALUE, for example switch.vcs=3")));
        };
        let (name, value) = (name.trim(), value.trim());
        let Some(Column::Varied { axis, place, .. }) = self.space.varied(name) else {
            let names: Vec<&str> = self.space.names().collect();
            let meant = flitway_machine::nearest(name, names.iter().copied());
            let message = format!("`{}` is not varied", show(name));
            let problem = Diagnostic::error(Code::UnknownField, self.locate(name), message)
                .expected(format!("one of: {}", names.join(", ")));
            return Err(Box::new(problem.maybe_help(meant.map(|meant| format!("did you mean `{meant}`?")))));
        };
        let labels = self.space.labels(axis, place);
        if !labels.iter().any(|label| same(label, value)) {
            let message = format!("`{}` is not one of the values of `{name}`", show(value));
            let problem = self.bad(value, message);
            return Err(Box::new(problem.expected(format!("one of: {}", labels.join(", ")))));
        }
        points.retain(|point| same(&self.space.label(*point, axis, place), value));
        Ok(())
    }

    fn ambiguous(&self, text: &str, points: &[usize]) -> Diagnostic {
        let differs = |axis: &usize| {
            points.iter().any(|point| self.space.points[*point][*axis] != self.space.points[points[0]][*axis])
        };
        let axes = (0..self.space.axes.len()).filter(differs);
        let missing: Vec<&str> = axes.map(|axis| self.space.axes[axis].names()[0].as_str()).collect();
        let message = format!("`{}` is one value, and {} points are meant", show(text), points.len());
        Diagnostic::error(Code::Ambiguous, self.locate(text), message)
            .expected(format!("`at` with {}; or `max`, `min` or `mean`", missing.join(" and ")))
    }

    fn bad(&self, part: &str, message: String) -> Diagnostic {
        Diagnostic::error(Code::BadFinding, self.locate(part), message)
    }

    /// Where `part`, which is a part of the sentence, stands in the file.
    fn locate(&self, part: &str) -> Location {
        let Text { text, at } = self.text;
        let offset = (part.as_ptr() as usize).checked_sub(self.sentence.as_ptr() as usize);
        // With escapes in it the sentence is not what stands in the file, letter by letter.
        match (at.text().find(text.as_str()), offset) {
            (Some(quotes), Some(offset)) if offset + part.len() <= text.len() && !part.is_empty() => {
                let start = at.span.start + quotes + offset;
                Location::new(&at.source, start..start + part.len())
            }
            _ => at.clone(),
        }
    }
}

/// The parts between commas that do not stand in parentheses.
fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .collect()
}

/// A value that has been computed.
struct Computed {
    /// As it is shown on its own.
    text: String,
    number: Option<f64>,
    /// Why the number is not to be trusted.
    doubt: Option<String>,
}

impl Finding {
    /// The sentence; `None` if a point that it needs has not been run, or has not measured what it asks for.
    pub(crate) fn state(&self, space: &Space, results: &[Option<Value>]) -> Option<String> {
        self.complete(|placeholder| placeholder.state(space, results))
    }

    /// The same with a question mark for each value that is not known.
    pub(crate) fn state_partly(&self, space: &Space, results: &[Option<Value>]) -> String {
        let value = |it: &Placeholder| Some(it.state(space, results).unwrap_or_else(|| "?".to_owned()));
        self.complete(value).unwrap_or_default()
    }

    /// The sentence with what `value` says of its placeholders.
    fn complete(&self, value: impl Fn(&Placeholder) -> Option<String>) -> Option<String> {
        let part = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Placeholder(placeholder) => value(placeholder),
        };
        Some(on_one_line(&self.parts.iter().map(part).collect::<Option<String>>()?))
    }
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Placeholder {
    fn state(&self, space: &Space, results: &[Option<Value>]) -> Option<String> {
        let Computed { mut text, mut number, mut doubt } = self.value.compute(space, results)?;
        if let Some(divisor) = &self.divisor {
            let divisor = divisor.compute(space, results)?;
            let ratio = number? / divisor.number?;
            if !ratio.is_finite() {
                return None;
            }
            (number, text) = (Some(ratio), format(ratio));
            doubt = doubt.or(divisor.doubt);
        }
        if self.is_percent {
            text = format!("{} %", format(number? * 100.0));
        }
        Some(match doubt {
            Some(doubt) => format!("{text} ({doubt})"),
            None => text,
        })
    }
}

impl Quantity {
    fn compute(&self, space: &Space, results: &[Option<Value>]) -> Option<Computed> {
        // Nothing is said of points that have not been run.
        let points: Vec<(usize, &Value)> = self
            .points
            .iter()
            .map(|point| Some((*point, results[*point].as_ref()?)))
            .collect::<Option<_>>()?;
        let trusted = |column: &Column| -> Vec<(usize, &Value, f64)> {
            let path = column.name();
            let numbers = points.iter().filter(|(_, result)| is_trusted(result, path));
            numbers.filter_map(|(point, result)| Some((*point, *result, measured(result, path)?))).collect()
        };
        let plain = |number: f64| Computed { text: format(number), number: Some(number), doubt: None };
        match &self.what {
            What::One(column) => {
                points.first().and_then(|(point, result)| look(column, space, *point, result))
            }
            What::Mean(column) => {
                let numbers = trusted(column);
                let sum: f64 = numbers.iter().map(|(.., number)| number).sum();
                (!numbers.is_empty()).then(|| plain(sum / numbers.len() as f64))
            }
            What::Extreme(extreme, column) => extreme.of(&trusted(column)).map(|(.., number)| plain(number)),
            What::Where(wanted, extreme, column) => {
                let (point, result, _) = extreme.of(&trusted(column))?;
                look(wanted, space, point, result)
            }
        }
    }
}

/// A column at one point.
fn look(column: &Column, space: &Space, point: usize, result: &Value) -> Option<Computed> {
    match column {
        Column::Varied { axis, place, .. } => {
            let label = space.label(point, *axis, *place);
            Some(Computed { number: number(&label), text: label, doubt: None })
        }
        Column::Measured(path) => {
            let number = measured(result, path)?;
            let doubt = (!is_trusted(result, path)).then(|| verdict(result).unwrap_or("").to_owned());
            Some(Computed { text: format(number), number: Some(number), doubt })
        }
    }
}

impl Extreme {
    /// The first of the points at which it is reached.
    fn of<'v>(self, numbers: &[(usize, &'v Value, f64)]) -> Option<(usize, &'v Value, f64)> {
        let better = |a: f64, b: f64| if self == Extreme::Max { a > b } else { a < b };
        numbers.iter().copied().reduce(|best, next| if better(next.2, best.2) { next } else { best })
    }
}
