//! One value as written becomes the kind that its setting has, or a diagnostic.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Location};
use crate::document::Raw;
use crate::entry::Entry;
use crate::nearest::nearest;
use crate::overrides;
use crate::setting::{Kind, Setting};
use crate::units::{self, Dimension, QuantityError, Reason, show};

/// The value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Text or a path.
    Text(String),
    /// One name of a choice.
    Choice(&'static str),
    /// Yes or no.
    Flag(bool),
    /// A count.
    Count(u32),
    /// A list of counts.
    Counts(Vec<u32>),
    /// A quantity in the base unit of its dimension.
    Quantity(u64, Dimension),
    /// A frequency, as hertz and what they are divided by.
    Frequency(u64, u64),
    /// Switched off.
    Off,
}

/// The largest span that can be written: an hour of simulated time, or as many cycles at 1 GHz.
const SPAN_MAX: u64 = 3_600_000_000_000_000;
const CYCLES_MAX: u64 = u32::MAX as u64;

pub(crate) fn convert(setting: &Setting, entry: &Entry) -> Result<Value, Diagnostic> {
    let read = Read { setting, entry };
    match &setting.kind {
        Kind::Text { least } => read.text(*least),
        Kind::Path => read.text(1),
        Kind::Choice(choices) => read.choice(&choices.iter().map(|choice| choice.name).collect::<Vec<_>>()),
        Kind::Flag => match entry.raw {
            Raw::Flag(flag) => Ok(Value::Flag(flag)),
            _ => Err(read.wrong_type()),
        },
        Kind::Count { min, max } => read.count(&entry.raw, &entry.location, *min, *max).map(Value::Count),
        Kind::Counts { min, max, longest } => read.counts(*min, *max, *longest),
        Kind::Quantity { dimension, min, max } => read.quantity(&[*dimension], |_| (*min, *max)),
        Kind::Frequency { min, max } => read.frequency(*min, *max),
        Kind::SpanOrOff => match &entry.raw {
            Raw::Text(text) if text == "off" => Ok(Value::Off),
            Raw::Flag(false) => Err(read.wrong_type().help(read.write("\"off\""))),
            _ => read.quantity(&[Dimension::Time, Dimension::Cycles], |dimension| match dimension {
                Dimension::Cycles => (1, CYCLES_MAX),
                _ => (1, SPAN_MAX),
            }),
        },
    }
}

/// One entry being read.
struct Read<'a> {
    setting: &'a Setting,
    entry: &'a Entry,
}

impl Read<'_> {
    fn problem(&self, code: Code, message: String) -> Diagnostic {
        Diagnostic::error(code, self.entry.location.clone(), message).expected(self.setting.accepts())
    }

    /// What to write instead, as a file or an override has it.
    fn write(&self, value: &str) -> String {
        let Entry { path, location, .. } = self.entry;
        let is_override = overrides::is_value_of(location, path);
        format!("write {}", if is_override { overrides::written(path, value) } else { value.to_owned() })
    }

    fn wrong_type(&self) -> Diagnostic {
        let path = &self.entry.path;
        self.problem(Code::WrongType, format!("`{path}` is {}", kind_of(&self.entry.raw)))
    }

    fn text(&self, least: usize) -> Result<Value, Diagnostic> {
        match &self.entry.raw {
            Raw::Text(text) if text.trim().len() >= least => Ok(Value::Text(text.clone())),
            Raw::Text(_) => Err(self.problem(Code::OutOfRange, format!("`{}` is empty", self.entry.path))),
            _ => Err(self.wrong_type()),
        }
    }

    fn choice(&self, names: &[&'static str]) -> Result<Value, Diagnostic> {
        let Raw::Text(text) = &self.entry.raw else { return Err(self.wrong_type()) };
        if let Some(name) = names.iter().find(|name| *name == text) {
            return Ok(Value::Choice(name));
        }
        let message = format!("`{}` is not a choice for `{}`", show(text), self.entry.path);
        let meant = nearest(text, names.iter().copied());
        Err(self
            .problem(Code::UnknownChoice, message)
            .maybe_help(meant.map(|name| format!("did you mean \"{name}\"?"))))
    }

    fn count(&self, raw: &Raw, at: &Location, min: u32, max: u32) -> Result<u32, Diagnostic> {
        let path = &self.entry.path;
        match raw {
            Raw::Integer(number) => {
                let value = number.and_then(|number| u32::try_from(number).ok());
                value.filter(|value| (min..=max).contains(value)).ok_or_else(|| {
                    let code = Code::OutOfRange;
                    Diagnostic::error(code, at.clone(), format!("`{path}` is {}", show(at.text())))
                        .expected(self.setting.accepts())
                })
            }
            Raw::Text(text) => {
                let what =
                    if std::ptr::eq(raw, &self.entry.raw) { "is a count" } else { "is a list of counts" };
                let message = format!("`{path}` {what}, but `{}` is text", show(text));
                let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
                let is_override = std::ptr::eq(raw, &self.entry.raw) && overrides::is_value_of(at, path);
                let help = (!digits.is_empty()).then(|| {
                    if is_override { self.write(&digits) } else { format!("write {digits}, without quotes") }
                });
                Err(Diagnostic::error(Code::CountWithUnit, at.clone(), message)
                    .expected(self.setting.accepts())
                    .maybe_help(help))
            }
            other => {
                Err(Diagnostic::error(Code::WrongType, at.clone(), format!("`{path}` is {}", kind_of(other)))
                    .expected(self.setting.accepts()))
            }
        }
    }

    fn counts(&self, min: u32, max: u32, longest: usize) -> Result<Value, Diagnostic> {
        let Raw::List(items) = &self.entry.raw else {
            let meant = meant_counts(&self.entry.raw).filter(|counts| {
                counts.len() <= longest && counts.iter().all(|count| (min..=max).contains(count))
            });
            let help = meant.map(|counts| self.write(&Value::Counts(counts).to_string()));
            return Err(self.wrong_type().maybe_help(help));
        };
        if items.is_empty() || items.len() > longest {
            let message = format!("`{}` has {} numbers", self.entry.path, items.len());
            return Err(self.problem(Code::OutOfRange, message));
        }
        let counts: Result<Vec<u32>, Diagnostic> =
            items.iter().map(|(raw, at)| self.count(raw, at, min, max)).collect();
        counts.map(Value::Counts)
    }

    fn quantity(
        &self,
        dimensions: &[Dimension],
        limits: impl Fn(Dimension) -> (u64, u64),
    ) -> Result<Value, Diagnostic> {
        let path = &self.entry.path;
        // What would be refused in its turn is no help.
        let is_wrong = |text: &str| match units::parse_any(text, dimensions) {
            Ok((dimension, value)) => {
                let (min, max) = limits(dimension);
                !(min..=max).contains(&value)
            }
            Err(_) => true,
        };
        let help = |error: &QuantityError| match error.meant() {
            Some(meant) if is_wrong(&meant) => None,
            Some(meant) => Some(format!("{} if that is meant", self.write(&format!("\"{meant}\"")))),
            None => error.help(),
        };
        let text = match &self.entry.raw {
            Raw::Text(text) => text.as_str(),
            Raw::Integer(_) | Raw::Decimal => {
                let number = self.entry.location.text();
                let error = units::parse_any(number, dimensions).err();
                let help = error.and_then(|error| help(&error));
                let message = format!("`{path}` has no unit: {}", show(number));
                return Err(self.problem(Code::NoUnit, message).maybe_help(help));
            }
            _ => return Err(self.wrong_type()),
        };
        let (dimension, value) = units::parse_any(text, dimensions)
            .map_err(|error| self.quantity_problem(&error, help(&error)))?;
        let (min, max) = limits(dimension);
        if (min..=max).contains(&value) {
            return Ok(Value::Quantity(value, dimension));
        }
        Err(self.problem(Code::OutOfRange, format!("`{path}` is {}", show(text))))
    }

    /// `14/33 GHz` is 14 GHz divided by 33; what has no fraction is read as any quantity.
    fn frequency(&self, min: u64, max: u64) -> Result<Value, Diagnostic> {
        let written = match &self.entry.raw {
            Raw::Text(text) => text.as_str(),
            _ => "",
        };
        let Some((text, divisor)) = units::fraction(written) else {
            let value = self.quantity(&[Dimension::Frequency], |_| (min, max))?;
            let Value::Quantity(hertz, _) = value else { unreachable!("a quantity has been read") };
            return Ok(Value::Frequency(hertz, 1));
        };
        if text.ends_with(' ') {
            let message = format!("`{}`: `{}` has no unit", self.entry.path, show(written));
            let usual = format!("{}/{divisor} {}", text.trim(), Dimension::Frequency.usual_unit());
            let help = format!("{} if that is meant", self.write(&format!("\"{usual}\"")));
            return Err(self.problem(Code::NoUnit, message).help(help));
        }
        let hertz = units::parse(&text, Dimension::Frequency)
            .map_err(|error| self.quantity_problem(&error, error.help()))?;
        let [least, most] = [min, max].map(|limit| u128::from(limit) * u128::from(divisor));
        if divisor > 0 && (least..=most).contains(&hertz.into()) {
            return Ok(Value::Frequency(hertz, divisor));
        }
        Err(self.problem(Code::OutOfRange, format!("`{}` is {}", self.entry.path, show(written))))
    }

    fn quantity_problem(&self, error: &QuantityError, help: Option<String>) -> Diagnostic {
        let code = match error.reason {
            Reason::NoUnit => Code::NoUnit,
            Reason::OtherDimension(_) | Reason::AmbiguousUnit { .. } | Reason::UnknownUnit { .. } => {
                Code::WrongUnit
            }
            Reason::Negative | Reason::TooLarge => Code::OutOfRange,
            Reason::NoNumber | Reason::NotWhole(_) => Code::NotAQuantity,
        };
        self.problem(code, format!("`{}`: {error}", self.entry.path)).maybe_help(help)
    }
}

/// The counts that somebody meant who wrote no list: `8x8`, `8,8` or `8`.
fn meant_counts(raw: &Raw) -> Option<Vec<u32>> {
    match raw {
        Raw::Integer(Some(number)) => Some(vec![u32::try_from(*number).ok()?]),
        Raw::Text(text) => text.split(['x', 'X', '×', ',']).map(|part| part.trim().parse().ok()).collect(),
        _ => None,
    }
}

/// What `raw` is, for a message: `the number 3`.
#[must_use]
pub fn kind_of(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) => format!("the text \"{}\"", show(text)),
        Raw::Integer(Some(number)) => format!("the number {number}"),
        Raw::Integer(None) => "a number too large to read".to_owned(),
        Raw::Decimal => "a decimal number".to_owned(),
        Raw::Flag(flag) => format!("{flag}"),
        Raw::List(_) => "a list".to_owned(),
        Raw::Table(_) => "a table".to_owned(),
        Raw::Date => "a date".to_owned(),
    }
}

impl Value {
    /// As it is written in a machine file, in the largest unit that fits.
    ///
    /// ```
    /// use flitway_machine::{Dimension, Value};
    /// assert_eq!(Value::Quantity(4_096, Dimension::Size).to_string(), "\"4 KiB\"");
    /// assert_eq!(Value::Counts(vec![8, 8]).to_string(), "[8, 8]");
    /// ```
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Text(text) => text.as_str().into(),
            Value::Choice(name) => (*name).into(),
            Value::Flag(flag) => (*flag).into(),
            Value::Count(count) => (*count).into(),
            Value::Counts(counts) => counts.clone().into(),
            Value::Quantity(value, dimension) => units::format(*value, *dimension).into(),
            Value::Frequency(hertz, divisor) => units::format_fraction(*hertz, *divisor).into(),
            Value::Off => "off".into(),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Counts(counts) => {
                let items: Vec<String> = counts.iter().map(u32::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            other => other.to_json().fmt(f),
        }
    }
}
