//! Each coordinate moves to the next in its dimension.

use super::{DIMENSIONS, pattern, shift, shifted};
use crate::catalog::{ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "neighbor",
    aliases: &[],
    doc: "each coordinate x of a dimension of k to (x + 1) mod k",
    details: "In all dimensions, as in BookSim2; Garnet moves the first coordinate only (dimensions=first). \
              Without a grid the nodes form one dimension.",
    parameters: &[DIMENSIONS],
};

pub(in super::super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    let shifted = shifted(arguments)?;
    pattern(ENTRY.name, move |shape, _| shift(shape, shifted, |_| 1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    #[test]
    fn each_coordinate_moves_by_one() {
        assert_eq!(map("neighbor", &[4]), [1, 2, 3, 0]);
        assert_eq!(map("neighbor", &[2, 2]), [3, 2, 1, 0]);
        assert_eq!(map("neighbor(first)", &[2, 2]), [1, 0, 3, 2]);
    }
}
