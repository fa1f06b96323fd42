//! Node `s` sends to the node whose number has the bits of `s` in reverse order.

use super::{bits, pattern};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "bit-reverse",
    aliases: &[
        Alias { name: "bitrev", tool: "BookSim2" },
        Alias { name: "bit-reversal", tool: "Noxim" },
        Alias { name: "bitreversal", tool: "Noxim" },
    ],
    doc: "the bits of the node number in reverse order",
    details: "Needs a power of two of nodes. The same in BookSim2, Garnet and Noxim. Palindromes stay silent.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, _| {
        let bits = bits(shape)?;
        Ok((0..shape.nodes).map(|node| node.reverse_bits() >> (32 - bits)).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    use crate::traffic::destination::Lack;

    #[test]
    fn the_first_bit_becomes_the_last() {
        assert_eq!(map("bit-reverse", &[8]), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(lack("bit-reverse", 12), Lack::PowerOfTwo { nodes: 12 });
    }
}
