//! Every size of a range, equally likely.

use super::{SizeArguments, SizeChoice, Sizes, payload};
use crate::catalog::{ChoiceError, Entry, Parameter};
use flitway_engine::random::Stream;

pub(super) const ENTRY: Entry = Entry {
    name: "range",
    aliases: &[],
    doc: "every size of a range of bytes, equally likely",
    details: "Both ends included. Noxim draws its packet sizes like this, in flits.",
    parameters: &[
        Parameter {
            name: "min",
            expected: "1 B to 65,535 B with a unit",
            default: None,
            doc: "The smallest size.",
        },
        Parameter {
            name: "max",
            expected: "a size with a unit, not below `min`",
            default: None,
            doc: "The largest size.",
        },
    ],
};

pub(super) fn read(arguments: &SizeArguments) -> Result<SizeChoice, ChoiceError> {
    let first = payload(arguments, 0)?;
    let last = payload(arguments, 1)?;
    let last = arguments.0.value(1, |_| (last >= first).then_some(last))?;
    Ok(SizeChoice::Sizes(Sizes::Range(Range { first, last })))
}

/// Every size from the first to the last.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    first: u16,
    last: u16,
}

impl Range {
    #[inline]
    pub(super) fn draw(self, stream: &mut Stream) -> u16 {
        self.first + stream.below(u64::from(self.last - self.first) + 1) as u16
    }

    pub(super) fn largest(self) -> u16 {
        self.last
    }

    pub(super) fn outcomes(self) -> impl Iterator<Item = (u16, u64)> {
        (self.first..=self.last).map(|size| (size, 1))
    }
}
