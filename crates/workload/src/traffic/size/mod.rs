//! How large: the payload of each packet in bytes.
//!
//! Adding a distribution: one file with its entry, its reader and its draw, a variant of [`Sizes`], and one line in
//! [`CATALOG`].

mod bimodal;
mod list;
mod range;

use crate::catalog::{Catalog, Choice, ChoiceError, Entry, Parameter};
use bimodal::Bimodal;
use flitway_engine::random::Stream;
use list::List;
pub use list::{ListError, ListProblem};
use range::Range;

/// Reads the parameters of a distribution.
pub type Reader = fn(&SizeArguments) -> Result<SizeChoice, ChoiceError>;

/// The parameters of a distribution, as written.
#[derive(Debug)]
pub struct SizeArguments(Choice);

/// A distribution, or the name of the file that holds it.
#[derive(Clone, Debug)]
pub enum SizeChoice {
    /// Ready to draw from.
    Sizes(Sizes),
    /// To be read by [`Sizes::list`] from the file with this path.
    File(String),
}

/// All distributions. A number of bytes alone, `256B`, is `fixed`.
pub const CATALOG: Catalog<Reader> = Catalog::new(
    "packet size",
    &[
        (FIXED, read_fixed),
        (bimodal::ENTRY, bimodal::read),
        (range::ENTRY, range::read),
        (list::ENTRY, list::read),
    ],
);

const FIXED: Entry = Entry {
    name: "fixed",
    aliases: &[],
    doc: "all packets of one size",
    details: "A number of bytes alone means this: `256B` is `fixed(256B)`.",
    parameters: &[Parameter {
        name: "size",
        expected: "1 B to 65,535 B with a unit: B, kB (1,000 B) or KiB (1,024 B)",
        default: None,
        doc: "The payload of every packet.",
    }],
};

fn read_fixed(arguments: &SizeArguments) -> Result<SizeChoice, ChoiceError> {
    let size = payload(arguments, 0)?;
    Ok(SizeChoice::Sizes(Sizes::Fixed(size)))
}

/// The parameter at `place`: a payload of at least one byte.
fn payload(arguments: &SizeArguments, place: usize) -> Result<u16, ChoiceError> {
    let size = arguments.0.bytes(place)?;
    arguments.0.value(place, |_| (size > 0).then_some(size))
}

/// Reads a distribution: `256B`, `bimodal(64B, 1KiB, 20%)`.
///
/// # Errors
/// If it is not in [`CATALOG`] or its parameters are wrong.
pub fn parse(text: &str) -> Result<SizeChoice, ChoiceError> {
    let text = text.trim();
    let is_number = text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    let (choice, read) =
        if is_number { CATALOG.choose(&format!("fixed({text})"))? } else { CATALOG.choose(text)? };
    read(&SizeArguments(choice))
}

/// A distribution of payloads, each from 1 to 65,535 bytes.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// All of this size.
    Fixed(u16),
    /// One of two sizes.
    Bimodal(Bimodal),
    /// Every size of a range, equally likely.
    Range(Range),
    /// A weighted list.
    List(List),
}

impl Sizes {
    /// Reads a weighted list: a line for each size, `bytes weight`, with `#` comments.
    ///
    /// # Errors
    /// All lines that cannot be read, and an empty list.
    pub fn list(text: &str) -> Result<Self, Vec<ListError>> {
        List::read(text).map(Sizes::List)
    }

    /// The payload of the next packet in bytes.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u16 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Bimodal(bimodal) => bimodal.draw(stream),
            Sizes::Range(range) => range.draw(stream),
            Sizes::List(list) => list.draw(stream),
        }
    }

    /// The largest payload in bytes that may be drawn.
    #[must_use]
    pub fn largest(&self) -> u16 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Bimodal(bimodal) => bimodal.largest(),
            Sizes::Range(range) => range.largest(),
            Sizes::List(list) => list.largest(),
        }
    }

    /// The smallest payload in bytes that may be drawn.
    #[must_use]
    pub fn smallest(&self) -> u16 {
        self.outcomes().filter(|&(_, weight)| weight > 0).map(|(size, _)| size).min().unwrap_or(0)
    }

    /// All payloads, each with its weight.
    fn outcomes(&self) -> Box<dyn Iterator<Item = (u16, u64)> + '_> {
        match self {
            Sizes::Fixed(size) => Box::new(std::iter::once((*size, 1))),
            Sizes::Bimodal(bimodal) => Box::new(bimodal.outcomes()),
            Sizes::Range(range) => Box::new(range.outcomes()),
            Sizes::List(list) => Box::new(list.outcomes()),
        }
    }

    /// The sum of `cost` over all payloads by their weights, and the sum of the weights: the mean cost as an exact
    /// fraction. `None` if it does not fit 128 bits.
    #[must_use]
    pub fn total(&self, cost: impl Fn(u16) -> u64) -> Option<(u128, u128)> {
        self.outcomes().try_fold((0u128, 0u128), |(sum, weights), (size, weight)| {
            let part = u128::from(weight).checked_mul(cost(size).into())?;
            Some((sum.checked_add(part)?, weights.checked_add(weight.into())?))
        })
    }

    /// Mean payload in bytes, for reports.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.total(u64::from).map_or(f64::NAN, |(sum, weights)| sum as f64 / weights as f64)
    }
}

#[cfg(test)]
pub(crate) fn fixed(text: &str) -> Sizes {
    let SizeChoice::Sizes(sizes) = parse(text).unwrap() else { panic!("{text} is a file") };
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::random::Purpose;

    /// The conformance kit of every distribution.
    #[test]
    fn draws_have_the_weights_that_the_mean_is_made_of() {
        let list = Sizes::list("8 1\n64 5 # most\n1024 2\n").unwrap();
        for sizes in [fixed("256B"), fixed("bimodal(64B, 1KiB, 20%)"), fixed("range(60B, 67B)"), list] {
            let mut stream = Stream::new(4, 0, Purpose::Size);
            let draws = 80_000u32;
            let mut counts = vec![0u32; 2_000];
            for _ in 0..draws {
                counts[usize::from(sizes.draw(&mut stream))] += 1;
            }
            let (_, weights) = sizes.total(|_| 1).unwrap();
            for payload in 1..2_000u16 {
                let (weight, _) = sizes.total(|size| u64::from(size == payload)).unwrap();
                let expected = f64::from(draws) * weight as f64 / weights as f64;
                let count = f64::from(counts[usize::from(payload)]);
                assert!((count - expected).abs() <= 4.5 * expected.sqrt(), "{sizes:?}: {payload} B");
                assert!(weight == 0 || (sizes.smallest()..=sizes.largest()).contains(&payload));
            }
            for end in [sizes.smallest(), sizes.largest()] {
                assert!(sizes.total(|size| u64::from(size == end)).unwrap().0 > 0);
            }
        }
    }

    #[test]
    fn means_are_exact() {
        assert_eq!(fixed("256B").total(u64::from), Some((256, 1)));
        assert_eq!(fixed("bimodal(64B, 1024B, 1/3)").mean(), 384.0);
        assert_eq!(fixed("range(min=8B, max=11B)").mean(), 9.5);
        assert_eq!(Sizes::list("10 1\n20 3").unwrap().mean(), 17.5);
    }

    #[test]
    fn wrong_sizes_are_refused() {
        for text in ["256", "0B", "fixed", "bimodal(64B, 0B)", "range(9B, 8B)", "range(0B, 8B)", "65536B"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(matches!(parse("list(sizes.txt)"), Ok(SizeChoice::File(path)) if path == "sizes.txt"));
        assert_eq!(
            parse("256").unwrap_err().to_string(),
            "`size` of `fixed` cannot be `256`: expected 1 B to 65,535 B with a unit: B, kB (1,000 B) or KiB (1,024 B); \
             did you mean `256B`?"
        );
    }
}
