//! Node `(x, y)` of a square sends to node `(y, x)`.

use super::{pattern, side};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "transpose",
    aliases: &[Alias { name: "transpose2", tool: "Noxim" }],
    doc: "node (x, y) of the square of all nodes to node (y, x)",
    details: "By node number s = x + k y with k = sqrt(n), whatever the dimensions of the machine: for an even \
              power of two the halves of the bits change places, as in BookSim2; on a square mesh it is Garnet's \
              and Noxim's. Needs a square number of nodes; Noxim clamps coordinates on other meshes, which is no \
              permutation. The diagonal stays silent.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, _| {
        let side = side(shape)?;
        Ok((0..shape.nodes).map(|node| node % side * side + node / side).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    use crate::traffic::destination::Lack;

    #[test]
    fn rows_become_columns() {
        assert_eq!(map("transpose", &[3, 3]), [0, 3, 6, 1, 4, 7, 2, 5, 8]);
        assert_eq!(map("transpose", &[16])[0b0111], 0b1101);
        assert_eq!(lack("transpose", 8), Lack::Square { nodes: 8 });
    }
}
