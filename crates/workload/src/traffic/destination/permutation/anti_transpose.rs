//! Node `(x, y)` of a square of side `k` sends to node `(k - 1 - y, k - 1 - x)`.

use super::{pattern, side};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "anti-transpose",
    aliases: &[Alias { name: "transpose1", tool: "Noxim" }],
    doc: "node (x, y) of the square of all nodes to node (k - 1 - y, k - 1 - x)",
    details: "By node number s = x + k y with k = sqrt(n). Noxim's transpose1 on a square mesh. Needs a square \
              number of nodes. The other diagonal stays silent.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, _| {
        let side = side(shape)?;
        let mirror = |node: u32| (side - 1 - node / side) + side * (side - 1 - node % side);
        Ok((0..shape.nodes).map(mirror).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    use crate::traffic::destination::Lack;

    #[test]
    fn the_square_is_mirrored_at_its_other_diagonal() {
        assert_eq!(map("anti-transpose", &[3, 3]), [8, 5, 2, 7, 4, 1, 6, 3, 0]);
        assert_eq!(lack("transpose1", 10), Lack::Square { nodes: 10 });
    }
}
