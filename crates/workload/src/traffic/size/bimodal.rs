//! Packets of two sizes: requests and data, say.

use super::{SizeArguments, SizeChoice, Sizes, payload};
use crate::catalog::{ChoiceError, Entry, Parameter};
use crate::fraction::{Chance, Fraction};
use flitway_engine::random::Stream;

pub(super) const ENTRY: Entry = Entry {
    name: "bimodal",
    aliases: &[],
    doc: "packets of two sizes",
    details: "Size `b` with probability `fraction`, else size `a`. The fraction counts packets, not bytes.",
    parameters: &[
        Parameter { name: "a", expected: "1 B to 65,535 B with a unit", default: None, doc: "One size." },
        Parameter {
            name: "b",
            expected: "1 B to 65,535 B with a unit",
            default: None,
            doc: "The other size.",
        },
        Parameter {
            name: "fraction",
            expected: "a fraction from 0 to 1, such as `20 %`",
            default: Some("50%"),
            doc: "The part of the packets that has size `b`. Default: half.",
        },
    ],
};

pub(super) fn read(arguments: &SizeArguments) -> Result<SizeChoice, ChoiceError> {
    let fraction = arguments.0.part(2)?;
    let bimodal = Bimodal {
        a: payload(arguments, 0)?,
        b: payload(arguments, 1)?,
        fraction,
        chance: Chance::new(fraction),
    };
    Ok(SizeChoice::Sizes(Sizes::Bimodal(bimodal)))
}

/// One of two sizes.
#[derive(Clone, Debug)]
pub struct Bimodal {
    a: u16,
    b: u16,
    fraction: Fraction,
    chance: Chance,
}

impl Bimodal {
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> u16 {
        if self.chance.draw(stream) { self.b } else { self.a }
    }

    pub(super) fn largest(&self) -> u16 {
        self.outcomes().filter(|&(_, weight)| weight > 0).map(|(size, _)| size).max().unwrap_or(self.a)
    }

    pub(super) fn outcomes(&self) -> impl Iterator<Item = (u16, u64)> + use<> {
        let other = self.fraction.denominator() - self.fraction.numerator();
        [(self.a, other), (self.b, self.fraction.numerator())].into_iter()
    }
}
