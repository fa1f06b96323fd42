//! Node `s` sends to `n - 1 - s`.

use super::pattern;
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "bit-complement",
    aliases: &[Alias { name: "bitcomp", tool: "BookSim2" }, Alias { name: "complement", tool: "others" }],
    doc: "node s to node n - 1 - s: every bit of the node number inverted",
    details: "Fits any number of nodes; for a power of two it is the complement of all bits, as in BookSim2, and \
              on a square mesh the point reflection that Garnet defines. The middle one of an odd number of nodes \
              stays silent.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, _| Ok((0..shape.nodes).rev().collect()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    #[test]
    fn every_bit_is_inverted() {
        assert_eq!(map("bit-complement", &[8]), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(map("bitcomp", &[3]), [2, 1, 0]);
    }
}
