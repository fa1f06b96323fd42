//! Node `s` sends to the node whose number has the bits of `s` rotated right by one.

use super::{half, pattern};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "bit-rotation",
    aliases: &[Alias { name: "bitrot", tool: "others" }],
    doc: "the bits of the node number rotated right by one",
    details: "Even s to s / 2, odd s to (s - 1) / 2 + n / 2: Garnet's definition, which needs an even number of \
              nodes only. The inverse of shuffle.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, _| {
        let half = half(shape)?;
        Ok((0..shape.nodes).map(|node| node / 2 + node % 2 * half).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    use crate::traffic::destination::Lack;

    #[test]
    fn the_last_bit_becomes_the_first() {
        assert_eq!(map("bit-rotation", &[8]), [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(map("bit-rotation", &[6]), [0, 3, 1, 4, 2, 5]);
        assert_eq!(lack("bit-rotation", 7), Lack::Even { nodes: 7 });
    }

    #[test]
    fn it_is_the_inverse_of_shuffle() {
        let (rotation, shuffle) = (map("bit-rotation", &[4, 4]), map("shuffle", &[4, 4]));
        assert!((0..16).all(|node| rotation[shuffle[node] as usize] as usize == node));
    }
}
