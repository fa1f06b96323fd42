//! Tables of names: what can be chosen, what other tools call it, and what it takes.
//!
//! One table per choice is the only list of its names: parsing looks up in it, `flitway list` and `flitway explain`
//! print it. A choice is written `name`, or `name(parameter=value, ...)`, or, in the order of the table,
//! `name(value, ...)`. What all entries of a table may take besides is written by its name. Case does not matter, nor whether
//! words are joined by `-` or `_`. A value in double quotes, such as the path of a file, may contain what otherwise has a
//! meaning: `,()=`.

use crate::fraction::Fraction;
use std::fmt;

/// One name that can be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name that output uses.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [Alias],
    /// One line: what it is.
    pub doc: &'static str,
    /// The exact definition, what it asks of the machine, and where tools differ.
    pub details: &'static str,
    /// What it takes, in positional order.
    pub parameters: &'static [Parameter],
}

/// Another name for an entry.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The name, in lower case with hyphens.
    pub name: &'static str,
    /// The tool that uses it.
    pub tool: &'static str,
}

/// Something an entry takes.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What is expected, with the unit.
    pub expected: &'static str,
    /// What it is when not given; `None` if it must be given.
    pub default: Option<&'static str>,
    /// What it does, and the source of the default.
    pub doc: &'static str,
}

/// The names of one choice, each with the function that reads its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Catalog<R: 'static> {
    subject: &'static str,
    rows: &'static [(Entry, R)],
    common: &'static [Parameter],
}

/// Why a text is not a choice from a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChoiceError {
    /// No entry or alias has this name.
    UnknownName {
        /// What is chosen: `traffic pattern`.
        subject: &'static str,
        /// What was read.
        read: String,
        /// The nearest name, if one is near.
        nearest: Option<&'static str>,
        /// What that is another name of, if it is.
        meaning: Option<&'static str>,
        /// All names, aliases left out.
        valid: Vec<&'static str>,
    },
    /// The entry takes no such parameter, or not so many.
    UnknownParameter {
        /// The entry.
        name: &'static str,
        /// What was read.
        read: String,
        /// The nearest parameter, if one is near.
        nearest: Option<&'static str>,
        /// All parameters of the entry.
        valid: Vec<&'static str>,
    },
    /// A parameter was given twice.
    Repeated {
        /// The entry.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// A parameter without default was not given.
    Missing {
        /// The entry.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What is expected.
        expected: &'static str,
    },
    /// A parameter has a value that it cannot have.
    BadValue {
        /// The entry.
        name: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What was read.
        read: String,
        /// What is expected.
        expected: &'static str,
        /// What is likely meant.
        meant: Option<String>,
    },
    /// A file that a parameter names cannot be read, or says something wrong.
    File {
        /// The file.
        path: String,
        /// What is wrong with it; never empty.
        mistakes: Vec<String>,
    },
    /// A double quote or a parenthesis is opened and not closed.
    Unclosed {
        /// What was read.
        read: String,
        /// What closes it.
        mark: char,
    },
    /// Two arguments stand behind each other without a comma.
    NoComma {
        /// The entry.
        name: &'static str,
        /// What was read.
        read: String,
        /// The parameter before which the comma is missing.
        before: &'static str,
    },
    /// The text is not of the form `name(parameter=value, ...)`.
    Malformed {
        /// What is chosen: `traffic pattern`.
        subject: &'static str,
        /// What was read.
        read: String,
    },
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[&str]| names.join(", ");
        match self {
            ChoiceError::UnknownName { subject, read, nearest, meaning, valid } => {
                write!(f, "there is no {subject} `{read}`")?;
                if let Some(nearest) = nearest {
                    write!(f, "; did you mean `{nearest}`")?;
                    if let Some(meaning) = meaning {
                        write!(f, ", which is another name of `{meaning}`")?;
                    }
                    f.write_str("?")?;
                }
                write!(f, " (known: {})", list(valid))
            }
            ChoiceError::UnknownParameter { name, read, valid, .. } if valid.is_empty() => {
                write!(f, "`{name}` takes no parameter, but `{read}` was given")
            }
            ChoiceError::UnknownParameter { name, read, nearest, valid } => {
                write!(f, "`{name}` takes no parameter `{read}`")?;
                if let Some(nearest) = nearest {
                    write!(f, "; did you mean `{nearest}`?")?;
                }
                write!(f, " (it takes: {})", list(valid))?;
                // The rest of a name that a comma has cut off, or what stands before its `=`.
                let names_file = valid.contains(&"file");
                f.write_str(if names_file {
                    "; a path with any of `,()=` is put in double quotes"
                } else {
                    ""
                })
            }
            ChoiceError::Repeated { name, parameter } => {
                write!(f, "`{parameter}` of `{name}` was given twice")
            }
            ChoiceError::Missing { name, parameter, expected } => {
                write!(f, "`{name}` needs `{parameter}`: {expected}")
            }
            ChoiceError::BadValue { name, parameter, read, expected, meant } => {
                write!(f, "`{parameter}` of `{name}` cannot be `{read}`: expected {expected}")?;
                meant.as_ref().map_or(Ok(()), |meant| write!(f, "; did you mean `{meant}`?"))
            }
            ChoiceError::Unclosed { read, mark } => {
                write!(f, "`{read}` is not closed: expected a `{mark}` for each that is opened")
            }
            ChoiceError::NoComma { name, read, before } => {
                write!(f, "a comma is missing in `{read}` of `{name}`: expected one before `{before}=`")
            }
            ChoiceError::File { path, mistakes } => write!(f, "{path}: {}", mistakes.join("; ")),
            ChoiceError::Malformed { subject, read } => {
                write!(f, "`{read}` is no {subject}: expected `name` or `name(parameter=value, ...)`")?;
                let is_nested = read.matches(['(', ')']).count() > 2;
                f.write_str(if is_nested { ", and a value with any of `,()=` in double quotes" } else { "" })
            }
        }
    }
}

impl std::error::Error for ChoiceError {}

impl<R: Copy> Catalog<R> {
    /// The names of `rows`, for choosing a `subject`.
    #[must_use]
    pub const fn new(subject: &'static str, rows: &'static [(Entry, R)]) -> Self {
        Catalog { subject, rows, common: &[] }
    }

    /// The same, where every entry may take these too, by their names.
    #[must_use]
    pub const fn with_common(self, common: &'static [Parameter]) -> Self {
        Catalog { common, ..self }
    }

    /// What every entry may take.
    #[must_use]
    pub const fn common(&self) -> &'static [Parameter] {
        self.common
    }

    /// What is chosen: `traffic pattern`.
    #[must_use]
    pub const fn subject(&self) -> &'static str {
        self.subject
    }

    /// What can be chosen, in the order in which it is listed.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + use<R> {
        self.rows.iter().map(|(entry, _)| entry)
    }

    /// The entry of a name or alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.row(name).map(|(entry, _)| entry)
    }

    fn row(&self, name: &str) -> Option<&'static (Entry, R)> {
        let name = normal(name);
        self.rows.iter().find(|(entry, _)| entry.names().any(|known| known == name))
    }

    /// Reads `name` or `name(parameter=value, ...)`: the choice, and what reads its parameters.
    ///
    /// # Errors
    /// If there is no such entry, or it does not take that.
    pub fn choose(&self, text: &str) -> Result<(Choice, R), ChoiceError> {
        let malformed = || ChoiceError::Malformed { subject: self.subject, read: text.to_owned() };
        let text = text.trim();
        let unclosed = |mark| ChoiceError::Unclosed { read: text.to_owned(), mark };
        if !text.matches('"').count().is_multiple_of(2) {
            return Err(unclosed('"'));
        }
        let (name, list) = match text.split_once('(') {
            Some((_, rest)) if split_outside_quotes(rest, &[')']).len() == 1 => return Err(unclosed(')')),
            Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').ok_or_else(malformed)?)),
            None => (text, None),
        };
        let list = list.unwrap_or("");
        if name.is_empty() || split_outside_quotes(list, &['(', ')']).len() > 1 {
            return Err(malformed());
        }
        let (entry, read) = self.row(name).ok_or_else(|| self.unknown(name))?;
        let parameters: Vec<&Parameter> = entry.parameters.iter().chain(self.common).collect();
        let mut values: Vec<Option<String>> = vec![None; parameters.len()];
        let arguments = split_outside_quotes(list, &[',']);
        let is_one = arguments.len() == 1;
        for (position, argument) in arguments.into_iter().enumerate() {
            let argument = argument.trim();
            if argument.is_empty() && is_one {
                continue;
            }
            let (place, value) = entry.place(position, argument, &parameters)?;
            if values[place].replace(unquoted(value).to_owned()).is_some() {
                let parameter = parameters[place].name;
                return Err(ChoiceError::Repeated { name: entry.name, parameter });
            }
        }
        let given = values.iter().map(Option::is_some).collect();
        for (value, parameter) in values.iter_mut().zip(entry.parameters) {
            if value.is_none() {
                *value = Some(parameter.default.map(str::to_owned).ok_or(ChoiceError::Missing {
                    name: entry.name,
                    parameter: parameter.name,
                    expected: parameter.expected,
                })?);
            }
        }
        let common = self.common.iter().zip(values.split_off(entry.parameters.len())).collect();
        Ok((Choice { entry, values: values.into_iter().flatten().collect(), given, common }, *read))
    }

    fn unknown(&self, read: &str) -> ChoiceError {
        let name = normal(read);
        ChoiceError::UnknownName {
            subject: self.subject,
            read: read.to_owned(),
            nearest: nearest(&name, self.entries().flat_map(Entry::names)),
            meaning: nearest(&name, self.entries().flat_map(Entry::names))
                .and_then(|alias| self.entries().find(|entry| entry.is_alias(alias)).map(|entry| entry.name)),
            valid: self.entries().map(|entry| entry.name).collect(),
        }
    }
}

impl Entry {
    fn is_alias(&self, name: &str) -> bool {
        self.aliases.iter().any(|alias| alias.name == name)
    }

    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().map(|alias| alias.name))
    }

    /// Which of `parameters`, its own and those of all entries, an argument is for, and its value.
    fn place<'a>(
        &self,
        position: usize,
        argument: &'a str,
        parameters: &[&'static Parameter],
    ) -> Result<(usize, &'a str), ChoiceError> {
        let unknown = |read: &str| ChoiceError::UnknownParameter {
            name: self.name,
            read: read.to_owned(),
            nearest: nearest(&normal(read), parameters.iter().map(|parameter| parameter.name)),
            valid: parameters.iter().map(|parameter| parameter.name).collect(),
        };
        let pieces = split_outside_quotes(argument, &['=']);
        let before = |piece: &&str| {
            let (first, key) = piece.trim().rsplit_once(char::is_whitespace)?;
            let wanted = normal(key);
            let known = parameters.iter().find(|parameter| parameter.name == wanted);
            known.filter(|_| !first.is_empty()).map(|parameter| parameter.name)
        };
        if let Some(before) = pieces[..pieces.len() - 1].iter().find_map(before) {
            return Err(ChoiceError::NoComma { name: self.name, read: argument.to_owned(), before });
        }
        let equals = pieces[0].len();
        match argument.split_at_checked(equals).filter(|_| equals < argument.len()) {
            Some((key, value)) => {
                let value = &value[1..];
                let key = key.trim();
                let wanted = normal(key);
                let place = parameters.iter().position(|parameter| parameter.name == wanted);
                Ok((place.ok_or_else(|| unknown(key))?, value.trim()))
            }
            None if position < self.parameters.len() => Ok((position, argument)),
            None => Err(unknown(argument)),
        }
    }
}

/// An entry with the value of every parameter, as text.
#[derive(Clone, Debug)]
pub struct Choice {
    entry: &'static Entry,
    values: Vec<String>,
    /// Which of its parameters are written.
    given: Vec<bool>,
    /// What every entry may take, where it is given.
    common: Vec<(&'static Parameter, Option<String>)>,
}

impl Choice {
    /// What was chosen.
    pub(crate) fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// Whether the parameter at `place` is written, and not its default.
    #[must_use]
    pub fn is_given(&self, place: usize) -> bool {
        self.given[place]
    }

    /// The value of the parameter at `place`, read by `read`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn value<T>(&self, place: usize, read: impl FnOnce(&str) -> Option<T>) -> Result<T, ChoiceError> {
        let text = &self.values[place];
        read(text).ok_or_else(|| ChoiceError::BadValue {
            name: self.entry.name,
            parameter: self.entry.parameters[place].name,
            read: text.clone(),
            expected: self.entry.parameters[place].expected,
            meant: None,
        })
    }

    /// The value of `parameter`, read by `read`; `None` if its entry does not take that.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn taken<T>(
        &self,
        parameter: &Parameter,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ChoiceError> {
        let place = self.entry.parameters.iter().position(|it| it.name == parameter.name);
        place.map(|place| self.value(place, read)).transpose()
    }

    /// The value of the parameter at `place` of those that every entry may take, a number of bytes with its unit; `None` if
    /// it is not given.
    pub(crate) fn common_bytes(&self, place: usize) -> Result<Option<u16>, ChoiceError> {
        let (parameter, text) = &self.common[place];
        let Some(read) = text else { return Ok(None) };
        bytes(read).filter(|&size| size > 0).map(Some).ok_or_else(|| ChoiceError::BadValue {
            name: self.entry.name,
            parameter: parameter.name,
            read: read.clone(),
            expected: parameter.expected,
            meant: meant_bytes(read),
        })
    }

    /// What is given of what every entry may take, as it is written: `, name=value`.
    pub(crate) fn common_text(&self) -> String {
        let given = self.common.iter().filter_map(|(parameter, text)| Some((parameter, text.as_ref()?)));
        given.map(|(parameter, text)| format!(", {}={}", parameter.name, quoted(text))).collect()
    }

    /// The value of the parameter at `place`: a fraction of at most one.
    pub(crate) fn part(&self, place: usize) -> Result<Fraction, ChoiceError> {
        self.value(place, |text| text.parse().ok().filter(|fraction: &Fraction| fraction.is_part()))
    }

    /// The value of the parameter at `place`: a number of bytes with its unit.
    pub(crate) fn bytes(&self, place: usize) -> Result<u16, ChoiceError> {
        self.value(place, bytes).map_err(|error| match error {
            ChoiceError::BadValue { name, parameter, read, expected, .. } => {
                let meant = meant_bytes(&read);
                ChoiceError::BadValue { name, parameter, read, expected, meant }
            }
            other => other,
        })
    }
}

/// A number of bytes with its unit: `256B`, `1 KiB`, `1 kB`. `KB` means two different numbers and is refused.
pub(crate) fn bytes(text: &str) -> Option<u16> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u16 = text[..end].parse().ok()?;
    match text[end..].trim() {
        "B" => Some(number),
        "kB" => number.checked_mul(1_000),
        "KiB" => number.checked_mul(1_024),
        _ => None,
    }
}

/// The bytes that somebody meant who wrote no unit, or another name of it: `256`, `256b`, `256 bytes`.
fn meant_bytes(text: &str) -> Option<String> {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let is_unit =
        matches!(text[number.len()..].trim().to_ascii_lowercase().as_str(), "" | "b" | "byte" | "bytes");
    let meant = format!("{number}B");
    (is_unit && bytes(&meant).is_some_and(|size| size > 0)).then_some(meant)
}

/// The parts of a text between `separators` that do not stand in double quotes; at least one.
fn split_outside_quotes<'a>(text: &'a str, separators: &[char]) -> Vec<&'a str> {
    let mut is_quoted = false;
    text.split(|letter: char| {
        is_quoted ^= letter == '"';
        !is_quoted && separators.contains(&letter)
    })
    .collect()
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

/// A value as it is written in a choice: in quotes if it would be misunderstood without.
#[must_use]
pub fn quoted(value: &str) -> String {
    let is_plain = !value.contains([',', '(', ')', '=']) && value.trim() == value;
    if is_plain { value.to_owned() } else { format!("\"{value}\"") }
}

/// Lower case, words joined by hyphens, without Noxim's prefix.
fn normal(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase().replace('_', "-");
    name.strip_prefix("traffic-").map_or_else(|| name.clone(), str::to_owned)
}

/// The candidate nearest to `read` by edits, if it is near enough to be meant.
pub(crate) fn nearest<'a>(read: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(read, candidate), candidate))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, candidate)| distance <= candidate.len().max(read.len()) / 3 + 1)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Entry = Entry { name: "plain", aliases: &[], doc: "", details: "", parameters: &[] };
    const TWO_WORDS: Entry = Entry {
        name: "two-words",
        aliases: &[Alias { name: "tw", tool: "T" }],
        doc: "",
        details: "",
        parameters: &[
            Parameter { name: "size", expected: "a size", default: None, doc: "" },
            Parameter { name: "share", expected: "a share", default: Some("1/2"), doc: "" },
        ],
    };
    const CATALOG: Catalog<()> = Catalog::new("test thing", &[(PLAIN, ()), (TWO_WORDS, ())]);
    const ANSWER: Parameter = Parameter { name: "answer", expected: "bytes", default: None, doc: "" };

    fn parse(text: &str) -> Result<Choice, ChoiceError> {
        CATALOG.choose(text).map(|(choice, ())| choice)
    }

    fn values(text: &str) -> Vec<String> {
        parse(text).unwrap().values
    }

    #[test]
    fn a_choice_is_read_by_name_alias_position_and_key() {
        assert_eq!(parse(" plain ").unwrap().entry.name, "plain");
        assert_eq!(parse("plain()").unwrap().entry.name, "plain");
        assert_eq!(parse("TRAFFIC_PLAIN").unwrap().entry.name, "plain");
        for text in ["TW(3)", "two_words( size = 3 )", "two-words(share=1/2, size=3)", "tw(3,share=1/2)"] {
            assert_eq!(values(text), ["3", "1/2"], "{text}");
        }
    }

    #[test]
    fn every_mistake_has_its_error() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            error("plian"),
            "there is no test thing `plian`; did you mean `plain`? (known: plain, two-words)"
        );
        assert_eq!(error("xyzzy"), "there is no test thing `xyzzy` (known: plain, two-words)");
        assert_eq!(error("plain(3)"), "`plain` takes no parameter, but `3` was given");
        assert_eq!(
            error("tw(sise=3)"),
            "`two-words` takes no parameter `sise`; did you mean `size`? (it takes: size, share)"
        );
        assert_eq!(error("tw(3, size=4)"), "`size` of `two-words` was given twice");
        assert_eq!(error("tw"), "`two-words` needs `size`: a size");
        assert_eq!(error("tw(3"), "`tw(3` is not closed: expected a `)` for each that is opened");
        assert_eq!(error("tw(\"3)"), "`tw(\"3)` is not closed: expected a `\"` for each that is opened");
        for text in ["tw(3B share=1/2)", "tw(size=3B share=1/2)", "tw(\"3 B\" Share = 1/2)"] {
            assert!(error(text).ends_with(" of `two-words`: expected one before `share=`"), "{text}");
        }
        for text in ["(3)", "tw(3)x", ""] {
            assert!(error(text).ends_with("expected `name` or `name(parameter=value, ...)`"), "{text}");
        }
        let choice = parse("tw(3)").unwrap();
        assert_eq!(
            choice.bytes(0).unwrap_err().to_string(),
            "`size` of `two-words` cannot be `3`: expected a size; did you mean `3B`?"
        );
        assert_eq!(choice.part(1), Ok(Fraction::percent(50)));
    }

    #[test]
    fn what_every_entry_may_take_is_given_by_name_or_not_at_all() {
        let answer = |text: &str| {
            let (choice, ()) = CATALOG.with_common(&[ANSWER]).choose(text)?;
            let values = choice.values.join("+");
            Ok::<_, ChoiceError>((values, choice.common_bytes(0)?, choice.common_text()))
        };
        let given = |values: &str| Ok((values.to_owned(), Some(64), ", answer=64B".to_owned()));
        assert_eq!(answer("plain"), Ok((String::new(), None, String::new())));
        assert_eq!(answer("plain(answer=64B)"), given(""));
        assert_eq!(answer("tw(3, answer=64B)"), given("3+1/2"));
        let error = |text: &str| answer(text).unwrap_err().to_string();
        assert_eq!(error("plain(64B)"), "`plain` takes no parameter `64B` (it takes: answer)");
        assert_eq!(
            error("plain(answer=64)"),
            "`answer` of `plain` cannot be `64`: expected bytes; did you mean `64B`?"
        );
        assert_eq!(error("plain(answer=1B, answer=2B)"), "`answer` of `plain` was given twice");
    }

    #[test]
    fn a_value_in_quotes_may_contain_what_has_a_meaning() {
        for (text, size) in [
            ("tw(\"a, (1)=b.txt\", 1/3)", "a, (1)=b.txt"),
            ("tw( size = \"a=b\" , 1/3)", "a=b"),
            ("tw(\"(\", share=1/3)", "("),
            ("tw(\" a \", share=\"1/3\")", " a "),
        ] {
            assert_eq!(values(text), [size, "1/3"], "{text}");
            assert_eq!(values(&format!("tw({}, 1/3)", quoted(size))), [size, "1/3"]);
        }
        assert_eq!(quoted("a.txt"), "a.txt");
        for text in ["tw(\"a)", "tw(a\")\""] {
            assert!(matches!(parse(text).unwrap_err(), ChoiceError::Unclosed { .. }), "{text}");
        }
        assert!(matches!(parse("tw(a(1))").unwrap_err(), ChoiceError::Malformed { .. }));
        let error = parse("tw(a(1).txt)").unwrap_err().to_string();
        assert!(error.ends_with(", and a value with any of `,()=` in double quotes"), "{error}");
    }

    #[test]
    fn a_number_of_bytes_needs_an_unambiguous_unit() {
        assert_eq!(bytes("256B"), Some(256));
        assert_eq!(bytes("1 KiB"), Some(1024));
        assert_eq!(bytes("1 kB"), Some(1000));
        for text in ["256", "256b", "1 KB", "B", "-1B", "65536B", "64 KiB", ""] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(meant_bytes(" 256 bytes"), Some("256B".to_owned()));
        for text in ["0", "65536", "-1", "1 KB", "1x2", ""] {
            assert_eq!(meant_bytes(text), None, "{text}");
        }
    }
}
