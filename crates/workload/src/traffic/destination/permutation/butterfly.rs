//! Node `s` sends to the node whose number has the first and the last bit of `s` exchanged.

use super::{bits, pattern};
use crate::catalog::{ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "butterfly",
    aliases: &[],
    doc: "the first and the last bit of the node number exchanged",
    details: "Needs a power of two of nodes. Noxim's definition. Half the nodes, those with equal bits, stay \
              silent.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, _| {
        let high = bits(shape)? - 1;
        let exchange = |node: u32| {
            let differ = (node ^ node >> high) & 1;
            node ^ (differ | differ << high)
        };
        // One bit is first and last at once.
        Ok((0..shape.nodes).map(|node| if high == 0 { node } else { exchange(node) }).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    use crate::traffic::destination::Lack;

    #[test]
    fn first_and_last_bit_change_places() {
        assert_eq!(map("butterfly", &[8]), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(map("butterfly", &[16])[0b0111], 0b1110);
        assert_eq!(map("butterfly", &[2]), [0, 1]);
        assert_eq!(lack("butterfly", 6), Lack::PowerOfTwo { nodes: 6 });
    }
}
