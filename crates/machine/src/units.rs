//! Quantities: text with a unit becomes an exact integer, or an error that says which units there are.
//!
//! A quantity is a decimal number, an optional space and a unit: `"0.7 us"`, `"4KiB"`, `"5 ns/m"`. The arithmetic is
//! exact: what is not a whole number of the base unit of its [`Dimension`] is an error, never rounded. Bytes have
//! binary units (KiB = 1024 B) and decimal units (kB = 1000 B); `KB` is refused because people mean both by it.
//!
//! ```
//! use flitway_machine::units::{self, Dimension};
//! assert_eq!(units::time("0.7 us").unwrap().0, 700_000);
//! assert_eq!(units::size("256B").unwrap(), 256);
//! assert_eq!(units::parse("5 ns/m", Dimension::Propagation).unwrap(), 5_000);
//! assert_eq!(units::size("4096").unwrap_err().to_string(), "`4096` has no unit");
//! ```

use std::fmt;
use std::ops::Range;

use flitway_engine::Picos;

use crate::nearest::nearest;

/// What a quantity measures. Each has one base unit, in which its value is an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// In picoseconds.
    Time,
    /// In hertz.
    Frequency,
    /// In bytes.
    Size,
    /// In bits per second.
    BitRate,
    /// In millimetres.
    Length,
    /// Time per length, in picoseconds per metre.
    Propagation,
    /// In flits.
    Flits,
    /// In cycles of the network clock.
    Cycles,
    /// Wrong bits, in errors per 10^15 bits.
    BitErrors,
}

/// One unit of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// As it is written.
    pub symbol: &'static str,
    /// Base units in one of it.
    pub scale: u64,
    /// Whether messages and canonical text use it; the others are accepted spellings.
    pub shown: bool,
}

const fn unit(symbol: &'static str, scale: u64) -> Unit {
    Unit { symbol, scale, shown: true }
}

const fn alias(symbol: &'static str, scale: u64) -> Unit {
    Unit { symbol, scale, shown: false }
}

const KI: u64 = 1 << 10;
const MI: u64 = 1 << 20;
const GI: u64 = 1 << 30;

const TIME: &[Unit] = &[
    unit("ps", 1),
    unit("ns", 1_000),
    unit("us", 1_000_000),
    unit("ms", 1_000_000_000),
    unit("s", 1_000_000_000_000),
    alias("\u{b5}s", 1_000_000),
    alias("\u{3bc}s", 1_000_000),
];
const FREQUENCY: &[Unit] =
    &[unit("Hz", 1), unit("kHz", 1_000), unit("MHz", 1_000_000), unit("GHz", 1_000_000_000)];
const SIZE: &[Unit] = &[
    unit("B", 1),
    unit("KiB", KI),
    unit("MiB", MI),
    unit("GiB", GI),
    unit("kB", 1_000),
    unit("MB", 1_000_000),
    unit("GB", 1_000_000_000),
];
const BIT_RATE: &[Unit] = &[
    unit("bit/s", 1),
    unit("kbit/s", 1_000),
    unit("Mbit/s", 1_000_000),
    unit("Gbit/s", 1_000_000_000),
    unit("Tbit/s", 1_000_000_000_000),
    unit("B/s", 8),
    unit("kB/s", 8_000),
    unit("MB/s", 8_000_000),
    unit("GB/s", 8_000_000_000),
    alias("Mb/s", 1_000_000),
    alias("Gb/s", 1_000_000_000),
    alias("Tb/s", 1_000_000_000_000),
    alias("Mbps", 1_000_000),
    alias("Gbps", 1_000_000_000),
    alias("Tbps", 1_000_000_000_000),
];
const LENGTH: &[Unit] = &[unit("mm", 1), unit("cm", 10), unit("m", 1_000), unit("km", 1_000_000)];
const PROPAGATION: &[Unit] = &[unit("ps/m", 1), unit("ns/m", 1_000)];
const FLITS: &[Unit] = &[alias("flit", 1), unit("flits", 1)];
const CYCLES: &[Unit] = &[alias("cycle", 1), unit("cycles", 1)];

const BIT_ERRORS: &[Unit] = &[
    unit("errors/Pbit", 1),
    unit("errors/Tbit", 1_000),
    unit("errors/Gbit", 1_000_000),
    unit("errors/Mbit", 1_000_000_000),
    unit("errors/kbit", 1_000_000_000_000),
];

impl Dimension {
    /// Every dimension.
    pub const ALL: &'static [Dimension] = &[
        Dimension::Time,
        Dimension::Frequency,
        Dimension::Size,
        Dimension::BitRate,
        Dimension::Length,
        Dimension::Propagation,
        Dimension::Flits,
        Dimension::Cycles,
        Dimension::BitErrors,
    ];

    /// The units it can be written in, the smallest first.
    #[must_use]
    pub const fn units(self) -> &'static [Unit] {
        match self {
            Dimension::Time => TIME,
            Dimension::Frequency => FREQUENCY,
            Dimension::Size => SIZE,
            Dimension::BitRate => BIT_RATE,
            Dimension::Length => LENGTH,
            Dimension::Propagation => PROPAGATION,
            Dimension::Flits => FLITS,
            Dimension::Cycles => CYCLES,
            Dimension::BitErrors => BIT_ERRORS,
        }
    }

    /// With its article, for sentences: `a size`.
    #[must_use]
    pub const fn article_name(self) -> &'static str {
        match self {
            Dimension::Time => "a time",
            Dimension::Frequency => "a frequency",
            Dimension::Size => "a size",
            Dimension::BitRate => "a bit rate",
            Dimension::Length => "a length",
            Dimension::Propagation => "a propagation delay",
            Dimension::Flits => "a number of flits",
            Dimension::Cycles => "a number of cycles",
            Dimension::BitErrors => "a bit error rate",
        }
    }

    /// The base unit in words, plural.
    #[must_use]
    pub const fn base_name(self) -> &'static str {
        match self {
            Dimension::Time => "picoseconds",
            Dimension::Frequency => "hertz",
            Dimension::Size => "bytes",
            Dimension::BitRate => "bits per second",
            Dimension::Length => "millimetres",
            Dimension::Propagation => "picoseconds per metre",
            Dimension::Flits => "flits",
            Dimension::Cycles => "cycles",
            Dimension::BitErrors => "errors per 10^15 bits",
        }
    }

    /// Its units as a list for a sentence: `B, KiB, MiB`.
    #[must_use]
    pub fn unit_list(self) -> String {
        let shown: Vec<&str> = self.units().iter().filter(|u| u.shown).map(|u| u.symbol).collect();
        shown.join(", ")
    }

    /// The unit that a bare number most likely means.
    pub(crate) const fn usual_unit(self) -> &'static str {
        match self {
            Dimension::Time => "ns",
            Dimension::Frequency => "MHz",
            Dimension::Size => "B",
            Dimension::BitRate => "Gbit/s",
            Dimension::Length => "m",
            Dimension::Propagation => "ns/m",
            Dimension::Flits => "flits",
            Dimension::Cycles => "cycles",
            Dimension::BitErrors => "errors/Tbit",
        }
    }
}

/// Why a text is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantityError {
    /// What is wrong.
    pub reason: Reason,
    /// The text that was read.
    pub text: String,
    /// The part of the text that is wrong, in bytes.
    pub span: Range<usize>,
    /// What would be accepted.
    pub expected: Vec<Dimension>,
}

/// What is wrong with the text of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It does not begin with a decimal number.
    NoNumber,
    /// It is below zero.
    Negative,
    /// A number without a unit.
    NoUnit,
    /// The unit is one of another dimension.
    OtherDimension(Dimension),
    /// The unit could mean a power of two or of ten.
    AmbiguousUnit {
        /// The binary unit.
        binary: &'static str,
        /// The decimal one.
        decimal: &'static str,
    },
    /// There is no such unit.
    UnknownUnit {
        /// A unit that is spelt almost like it.
        nearest: Option<&'static str>,
    },
    /// It is not a whole number of base units.
    NotWhole(Dimension),
    /// It does not fit 64 bits.
    TooLarge,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = show(&self.text);
        let part = show(self.text.get(self.span.clone()).unwrap_or(""));
        match &self.reason {
            Reason::NoNumber => write!(f, "`{text}` does not begin with a number"),
            Reason::Negative => write!(f, "`{text}` is below zero"),
            Reason::NoUnit => write!(f, "`{text}` has no unit"),
            Reason::OtherDimension(dimension) => {
                write!(f, "`{text}` is {}", dimension.article_name())
            }
            Reason::AmbiguousUnit { .. } => write!(f, "`{part}` can mean two different units"),
            Reason::UnknownUnit { .. } => write!(f, "there is no unit `{part}`"),
            Reason::NotWhole(dimension) => {
                write!(f, "`{text}` is not a whole number of {}", dimension.base_name())
            }
            Reason::TooLarge => write!(f, "`{text}` is too large to count"),
        }
    }
}

impl std::error::Error for QuantityError {}

impl QuantityError {
    /// What would be accepted, for a person.
    #[must_use]
    pub fn expectation(&self) -> String {
        let each: Vec<String> = self
            .expected
            .iter()
            .map(|dimension| format!("{} in {}", dimension.article_name(), dimension.unit_list()))
            .collect();
        each.join(", or ")
    }

    /// The quantity that was probably meant.
    #[must_use]
    pub fn meant(&self) -> Option<String> {
        let unit = self.text.get(self.span.clone()).unwrap_or("");
        match &self.reason {
            Reason::NoUnit => {
                let dimension = self.expected.first()?;
                Some(format!("{} {}", show(&self.text), dimension.usual_unit()))
            }
            Reason::UnknownUnit { nearest: Some(symbol) } => {
                let number = self.text[..self.text.len() - unit.len()].trim();
                Some(format!("{} {symbol}", show(number)))
            }
            _ => None,
        }
    }

    /// The likely fix, for a person.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match &self.reason {
            Reason::AmbiguousUnit { binary, decimal } => {
                let scale = |symbol: &str| find_unit(symbol).map_or(0, |(_, unit)| unit.scale);
                Some(format!("write {binary} ({} B) or {decimal} ({} B)", scale(binary), scale(decimal)))
            }
            _ => self.meant().map(|meant| format!("write \"{meant}\" if that is meant")),
        }
    }
}

/// A quantity of `dimension` in its base unit.
///
/// # Errors
/// If the text is not exactly such a quantity.
pub fn parse(text: &str, dimension: Dimension) -> Result<u64, QuantityError> {
    parse_any(text, &[dimension]).map(|(_, value)| value)
}

/// A quantity of one of several dimensions: which, and its value in base units.
///
/// # Errors
/// If the text is not exactly such a quantity.
pub fn parse_any(text: &str, expected: &[Dimension]) -> Result<(Dimension, u64), QuantityError> {
    let fail = |reason: Reason, span: Range<usize>| QuantityError {
        reason,
        text: text.to_owned(),
        span,
        expected: expected.to_vec(),
    };
    let start = text.len() - text.trim_start().len();
    let end = start + text.trim().len();
    let body = &text[start..end];
    if body.starts_with('-') {
        return Err(fail(Reason::Negative, start..end));
    }
    let Some(number) = decimal_prefix(body) else {
        return Err(fail(Reason::NoNumber, start..end));
    };
    let unit_text = body[number.len()..].trim_start();
    if unit_text.is_empty() {
        return Err(fail(Reason::NoUnit, start..end));
    }
    let unit_span = end - unit_text.len()..end;
    let known =
        expected.iter().find_map(|&d| d.units().iter().find(|u| u.symbol == unit_text).map(|u| (d, u.scale)));
    let Some((dimension, scale)) = known else {
        return Err(fail(unit_problem(unit_text, expected), unit_span));
    };
    match scaled(number, scale) {
        Scaled::Exact(value) => Ok((dimension, value)),
        Scaled::NotWhole => Err(fail(Reason::NotWhole(dimension), start..end)),
        Scaled::TooLarge => Err(fail(Reason::TooLarge, start..end)),
    }
}

/// A time.
///
/// # Errors
/// If the text is not exactly a time.
pub fn time(text: &str) -> Result<Picos, QuantityError> {
    parse(text, Dimension::Time).map(Picos)
}

/// A size in bytes.
///
/// # Errors
/// If the text is not exactly a size.
pub fn size(text: &str) -> Result<u64, QuantityError> {
    parse(text, Dimension::Size)
}

/// The text that [`parse`] reads back as `value`, in the largest unit that needs at most three decimals.
///
/// ```
/// use flitway_machine::units::{self, Dimension};
/// assert_eq!(units::format(156_250_000, Dimension::Frequency), "156.25 MHz");
/// assert_eq!(units::format(1_000, Dimension::Size), "1000 B");
/// ```
#[must_use]
pub fn format(value: u64, dimension: Dimension) -> String {
    // Sizes are printed in binary units only, bit rates in bits only: one way to write each value.
    let canonical = |u: &&Unit| {
        u.shown
            && !(dimension == Dimension::Size && matches!(u.symbol, "kB" | "MB" | "GB"))
            && !(dimension == Dimension::BitRate && u.symbol.ends_with("B/s"))
    };
    let fits =
        |u: &&Unit| value >= u.scale && (u128::from(value) * 1_000).is_multiple_of(u128::from(u.scale));
    if value == 0 {
        return format!("0 {}", dimension.usual_unit());
    }
    let units = dimension.units();
    let best = units.iter().filter(canonical).filter(fits).max_by_key(|u| u.scale);
    let base = units.iter().find(|u| u.shown);
    let (symbol, scale) = best.or(base).map_or(("", 1), |u| (u.symbol, u.scale));
    let symbol = match (dimension, value) {
        (Dimension::Flits, 1) => "flit",
        (Dimension::Cycles, 1) => "cycle",
        _ => symbol,
    };
    let thousandths = u128::from(value % scale) * 1_000 / u128::from(scale);
    let whole = value / scale;
    if thousandths == 0 {
        return format!("{whole} {symbol}");
    }
    let decimals = format!("{thousandths:03}");
    format!("{whole}.{} {symbol}", decimals.trim_end_matches('0'))
}

/// The quantity and the divisor of a text such as `14/33 GHz`: `14 GHz` and 33.
pub(crate) fn fraction(text: &str) -> Option<(String, u64)> {
    let (number, rest) = text.split_once('/')?;
    let digits = rest.trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let divisor = digits[..end].parse().ok()?;
    Some((format!("{} {}", number.trim(), digits[end..].trim()), divisor))
}

/// The text of a frequency that is divided by `divisor`.
pub(crate) fn format_fraction(hertz: u64, divisor: u64) -> String {
    let whole = format(hertz, Dimension::Frequency);
    match whole.split_once(' ') {
        Some((number, unit)) if divisor != 1 => format!("{number}/{divisor} {unit}"),
        _ => whole,
    }
}

/// The longest prefix of the form `12` or `12.5` or `.5`.
fn decimal_prefix(text: &str) -> Option<&str> {
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text.as_bytes()[whole..];
    let decimals = match rest.split_first() {
        Some((b'.', after)) => after.iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => 0,
    };
    let length = if decimals > 0 { whole + 1 + decimals } else { whole };
    (length > 0).then(|| &text[..length])
}

/// The digits without the point and without needless zeros, and how many of them stand after it.
fn split_decimal(number: &str) -> (String, u32) {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let decimals = decimals.trim_end_matches('0');
    let digits = format!("{whole}{decimals}");
    let digits = digits.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    (digits.to_owned(), u32::try_from(decimals.len()).unwrap_or(u32::MAX))
}

enum Scaled {
    Exact(u64),
    NotWhole,
    TooLarge,
}

fn scaled(number: &str, scale: u64) -> Scaled {
    let (digits, decimals) = split_decimal(number);
    // No unit has more than 12 decimals of its base unit, so more decimals than that are never whole.
    if decimals > 12 {
        return Scaled::NotWhole;
    }
    let Ok(mantissa) = digits.parse::<u128>() else {
        return Scaled::TooLarge;
    };
    let Some(product) = mantissa.checked_mul(u128::from(scale)) else {
        return Scaled::TooLarge;
    };
    let divisor = 10_u128.pow(decimals);
    if !product.is_multiple_of(divisor) {
        return Scaled::NotWhole;
    }
    u64::try_from(product / divisor).map_or(Scaled::TooLarge, Scaled::Exact)
}

fn unit_problem(unit: &str, expected: &[Dimension]) -> Reason {
    let ambiguous =
        [("KB", "KiB", "kB"), ("K", "KiB", "kB"), ("k", "KiB", "kB"), ("M", "MiB", "MB"), ("G", "GiB", "GB")];
    if expected.contains(&Dimension::Size)
        && let Some((_, binary, decimal)) = ambiguous.iter().find(|(symbol, ..)| *symbol == unit)
    {
        return Reason::AmbiguousUnit { binary, decimal };
    }
    if let Some((dimension, _)) = find_unit(unit) {
        return Reason::OtherDimension(dimension);
    }
    let symbols = expected.iter().flat_map(|d| d.units()).filter(|u| u.shown).map(|u| u.symbol);
    Reason::UnknownUnit { nearest: nearest(unit, symbols) }
}

fn find_unit(symbol: &str) -> Option<(Dimension, Unit)> {
    Dimension::ALL.iter().find_map(|&d| d.units().iter().find(|u| u.symbol == symbol).map(|u| (d, *u)))
}

/// `text` as a message shows it: on one line, and not longer than a line.
#[must_use]
pub fn show(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut line = String::new();
    for character in text.chars().take(LONGEST) {
        if matches!(character, '"' | '\'' | '\\') {
            line.push(character);
        } else {
            line.extend(character.escape_debug());
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_of_every_dimension_is_exact() {
        for &dimension in Dimension::ALL {
            for unit in dimension.units() {
                assert_eq!(parse(&format!("3 {}", unit.symbol), dimension), Ok(3 * unit.scale));
                assert_eq!(parse(&format!(" 3{} ", unit.symbol), dimension), Ok(3 * unit.scale));
            }
        }
    }

    #[test]
    fn decimals_are_exact_or_refused() {
        assert_eq!(time("0.7 us"), Ok(Picos(700_000)));
        assert_eq!(time("0.1 us"), Ok(Picos(100_000)));
        assert_eq!(time(".5 ns"), Ok(Picos(500)));
        assert_eq!(time("3.2000 ns"), Ok(Picos(3_200)));
        assert_eq!(time("0.000000000001 s"), Ok(Picos(1)));
        assert_eq!(size("1.5 KiB"), Ok(1_536));
        assert_eq!(parse("312.5 MHz", Dimension::Frequency), Ok(312_500_000));
        assert_eq!(time("0.3 ps").unwrap_err().reason, Reason::NotWhole(Dimension::Time));
        assert_eq!(size("0.3 KiB").unwrap_err().reason, Reason::NotWhole(Dimension::Size));
        assert_eq!(time("0.0000000000001 s").unwrap_err().reason, Reason::NotWhole(Dimension::Time));
    }

    #[test]
    fn the_largest_value_fits_and_the_next_does_not() {
        assert_eq!(size("18446744073709551615 B"), Ok(u64::MAX));
        for text in ["18446744073709551616 B", "99999999999 GiB", &format!("{} B", "9".repeat(60))] {
            assert_eq!(size(text).unwrap_err().reason, Reason::TooLarge, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_quantity_says_why() {
        let cases = [
            ("4096", "`4096` has no unit", "write \"4096 B\" if that is meant"),
            ("4 KB", "`KB` can mean two different units", "write KiB (1024 B) or kB (1000 B)"),
            ("4 kib", "there is no unit `kib`", "write \"4 KiB\" if that is meant"),
            ("4 ns", "`4 ns` is a time", ""),
            ("-4 B", "`-4 B` is below zero", ""),
            ("four", "`four` does not begin with a number", ""),
            ("", "`` does not begin with a number", ""),
            ("1e3 B", "there is no unit `e3 B`", ""),
            ("1,000 B", "there is no unit `,000 B`", ""),
            ("1. B", "there is no unit `. B`", ""),
            ("7 parsecs", "there is no unit `parsecs`", ""),
        ];
        for (text, message, help) in cases {
            let error = size(text).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!(error.help().unwrap_or_default(), help, "{text}");
            assert_eq!(error.expectation(), "a size in B, KiB, MiB, GiB, kB, MB, GB");
        }
    }

    #[test]
    fn a_quantity_of_two_dimensions_names_both() {
        let both = [Dimension::Time, Dimension::Cycles];
        assert_eq!(parse_any("3 cycles", &both), Ok((Dimension::Cycles, 3)));
        assert_eq!(parse_any("1 us", &both), Ok((Dimension::Time, 1_000_000)));
        let expectation = parse_any("3", &both).unwrap_err().expectation();
        assert_eq!(expectation, "a time in ps, ns, us, ms, s, or a number of cycles in cycles");
    }

    #[test]
    fn canonical_text_reads_back_as_the_same_value() {
        let values =
            [0, 1, 2, 7, 64, 999, 1_000, 1_024, 1_536, 4_096, 100_000, 156_250_000, u64::MAX - 1, u64::MAX];
        for &dimension in Dimension::ALL {
            for value in values {
                assert_eq!(parse(&format(value, dimension), dimension), Ok(value), "{value} {dimension:?}");
            }
        }
        assert_eq!(format(700_000, Dimension::Time), "700 ns");
        assert_eq!(format(100_000_000, Dimension::Frequency), "100 MHz");
        assert_eq!(format(4_096, Dimension::Size), "4 KiB");
        assert_eq!(format(1, Dimension::Flits), "1 flit");
        assert_eq!(format(0, Dimension::Time), "0 ns");
    }
}
