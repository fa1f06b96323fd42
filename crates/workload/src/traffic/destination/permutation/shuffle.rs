//! Node `s` sends to the node whose number has the bits of `s` rotated left by one: the perfect shuffle.

use super::{half, pattern};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "shuffle",
    aliases: &[Alias { name: "perfect-shuffle", tool: "others" }],
    doc: "the bits of the node number rotated left by one",
    details: "s < n / 2 to 2 s, else to 2 s - n + 1: the same in BookSim2, Garnet and Noxim where the number of \
              nodes is a power of two; the formula, Garnet's, needs an even number only. The first and the last \
              node stay silent.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, _| {
        let half = half(shape)?;
        Ok((0..shape.nodes).map(|node| node % half * 2 + node / half).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    use crate::traffic::destination::Lack;

    #[test]
    fn the_first_bit_becomes_the_last() {
        assert_eq!(map("shuffle", &[8]), [0, 2, 4, 6, 1, 3, 5, 7]);
        assert_eq!(map("shuffle", &[6]), [0, 2, 4, 1, 3, 5]);
        assert_eq!(lack("shuffle", 9), Lack::Even { nodes: 9 });
    }
}
