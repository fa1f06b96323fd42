//! Exact fractions, and chances in 64-bit fixed point.
//!
//! A load of `0.35`, `35 %` or `7/20` is the same exact number. No floating point decides anything while running, so
//! a probability becomes a threshold for 64 random bits, once, when the workload is built.

use flitway_engine::random::Stream;
use std::fmt;

/// A fraction that is not negative, in lowest terms.
///
/// ```
/// use flitway_workload::Fraction;
/// let load: Fraction = "35 %".parse().expect("a fraction");
/// assert_eq!(load, Fraction::new(7, 20).expect("a fraction"));
/// assert_eq!(load.to_string(), "7/20");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fraction {
    numerator: u64,
    denominator: u64,
}

impl Fraction {
    /// Nothing.
    pub const ZERO: Fraction = Fraction { numerator: 0, denominator: 1 };
    /// The whole.
    pub const ONE: Fraction = Fraction { numerator: 1, denominator: 1 };
    /// The most digits with which a number is written.
    pub const DIGITS_MAX: usize = 18;

    /// `numerator / denominator` in lowest terms; `None` if the denominator is zero.
    #[must_use]
    pub const fn new(numerator: u64, denominator: u64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let divisor = greatest_common_divisor(numerator as u128, denominator as u128) as u64;
        Some(Fraction { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// `percent` hundredths.
    #[must_use]
    pub const fn percent(percent: u64) -> Self {
        let divisor = greatest_common_divisor(percent as u128, 100) as u64;
        Fraction { numerator: percent / divisor, denominator: 100 / divisor }
    }

    /// A whole number.
    #[must_use]
    pub const fn whole(number: u64) -> Self {
        Fraction { numerator: number, denominator: 1 }
    }

    /// What stands above the line, in lowest terms.
    #[must_use]
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// What stands below the line, in lowest terms; never zero.
    #[must_use]
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// True from zero up to and including one.
    #[must_use]
    pub const fn is_part(self) -> bool {
        self.numerator <= self.denominator
    }

    /// The nearest floating-point number, for reports and theory.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            self.numerator.fmt(f)
        } else {
            write!(f, "{}/{}", self.numerator, self.denominator)
        }
    }
}

/// A text is not a fraction: expected `0.35`, `35 %` or `7/20`, with at most 18 digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAFraction;

impl fmt::Display for NotAFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a fraction such as `0.35`, `35 %` or `7/20`")
    }
}

impl std::error::Error for NotAFraction {}

impl std::str::FromStr for Fraction {
    type Err = NotAFraction;

    fn from_str(text: &str) -> Result<Self, NotAFraction> {
        let text = text.trim();
        if let Some(percent) = text.strip_suffix('%') {
            let value = decimal(percent.trim_end())?;
            let denominator = value.denominator.checked_mul(100).ok_or(NotAFraction)?;
            return Fraction::new(value.numerator, denominator).ok_or(NotAFraction);
        }
        if let Some((above, below)) = text.split_once('/') {
            let (above, below) = (digits(above.trim())?, digits(below.trim())?);
            return Fraction::new(above, below).ok_or(NotAFraction);
        }
        decimal(text)
    }
}

/// `12`, `0.35` or `.5`, without sign or exponent.
fn decimal(text: &str) -> Result<Fraction, NotAFraction> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && part.is_empty()
        || text.ends_with('.')
        || whole.len() + part.len() > Fraction::DIGITS_MAX
    {
        return Err(NotAFraction);
    }
    let joined = digits(&format!("{whole}{part}"))?;
    Fraction::new(joined, 10u64.pow(part.len() as u32)).ok_or(NotAFraction)
}

fn digits(text: &str) -> Result<u64, NotAFraction> {
    if text.is_empty() || text.len() > Fraction::DIGITS_MAX || !text.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Err(NotAFraction);
    }
    text.parse().map_err(|_| NotAFraction)
}

pub(crate) const fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// One in 64-bit fixed point.
pub(crate) const FIXED_ONE: u128 = 1 << 64;

/// `numerator / denominator` in 64-bit fixed point, rounded to nearest.
///
/// # Panics
/// If the denominator is zero or 2^127 and more, or the result does not fit 128 bits.
pub(crate) fn fixed_point(numerator: u128, denominator: u128) -> u128 {
    assert!(denominator > 0 && denominator < 1 << 127, "a denominator of at most 127 bits");
    let whole = numerator / denominator;
    assert!(whole < FIXED_ONE, "the whole part fits 64 bits");
    let mut remainder = numerator % denominator;
    let mut value = whole;
    for _ in 0..64 {
        remainder <<= 1;
        value <<= 1;
        if remainder >= denominator {
            remainder -= denominator;
            value |= 1;
        }
    }
    // The next bit decides the rounding.
    value + u128::from(remainder << 1 >= denominator)
}

/// An event with a given probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chance(u128);

impl Chance {
    /// True with probability `fraction`, which is at most one.
    pub(crate) fn new(fraction: Fraction) -> Self {
        debug_assert!(fraction.is_part());
        Chance(fixed_point(fraction.numerator.into(), fraction.denominator.into()).min(FIXED_ONE))
    }

    #[inline]
    pub(crate) fn draw(self, stream: &mut Stream) -> bool {
        u128::from(stream.bits()) < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::Purpose;

    #[test]
    fn the_same_number_in_three_notations_is_one_fraction() {
        for text in ["0.35", "35%", "35 %", "7/20", " 0.350 ", "14 / 40", ".35"] {
            assert_eq!(text.parse(), Ok(Fraction { numerator: 7, denominator: 20 }), "{text}");
        }
        assert_eq!("1".parse(), Ok(Fraction::ONE));
        assert_eq!("0".parse(), Ok(Fraction::ZERO));
        assert_eq!("12.5 %".parse(), Ok(Fraction { numerator: 1, denominator: 8 }));
    }

    #[test]
    fn what_is_no_fraction_is_refused() {
        for text in ["", ".", "1.", "-1", "+1", "1e3", "%", "1/0", "1/", "/2", "0,5", "NaN", "1 2", "１"] {
            assert_eq!(text.parse::<Fraction>(), Err(NotAFraction), "{text}");
        }
        assert_eq!("1234567890123456789".parse::<Fraction>(), Err(NotAFraction));
    }

    #[test]
    fn fixed_point_rounds_to_nearest() {
        assert_eq!(fixed_point(1, 2), 1 << 63);
        assert_eq!(fixed_point(1, 1), FIXED_ONE);
        assert_eq!(fixed_point(1, 3), FIXED_ONE / 3);
        assert_eq!(fixed_point(2, 3), FIXED_ONE * 2 / 3 + 1);
        assert_eq!(fixed_point(5, 2), FIXED_ONE * 5 / 2);
    }

    #[test]
    fn a_chance_of_one_always_happens_and_of_zero_never() {
        let mut stream = Stream::new(1, 0, Purpose::Test);
        let quarter = Chance::new(Fraction::percent(25));
        let mut hits = 0;
        for _ in 0..40_000 {
            assert!(Chance::new(Fraction::ONE).draw(&mut stream));
            assert!(!Chance::new(Fraction::ZERO).draw(&mut stream));
            hits += u32::from(quarter.draw(&mut stream));
        }
        // Standard deviation 87.
        assert!(hits.abs_diff(10_000) < 350, "{hits}");
    }
}
