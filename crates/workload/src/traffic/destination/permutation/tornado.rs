//! Each coordinate moves almost half way round its dimension.

use super::{DIMENSIONS, pattern, shift, shifted};
use crate::catalog::{ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "tornado",
    aliases: &[],
    doc: "each coordinate x of a dimension of k to (x + ceil(k / 2) - 1) mod k",
    details: "In all dimensions, as in BookSim2 and in Dally and Towles (2004), section 3.2; Garnet moves the \
              first coordinate only (dimensions=first) and, by integer division, rounds k / 2 down, which differs \
              for odd k. Without a grid the nodes form one dimension. Dimensions of one or two stay as they are.",
    parameters: &[DIMENSIONS],
};

pub(in super::super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    let shifted = shifted(arguments)?;
    pattern(ENTRY.name, move |shape, _| shift(shape, shifted, |k| k.div_ceil(2) - 1))
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    #[test]
    fn each_coordinate_moves_almost_half_way_round() {
        assert_eq!(map("tornado", &[8]), [3, 4, 5, 6, 7, 0, 1, 2]);
        assert_eq!(map("tornado", &[5]), [2, 3, 4, 0, 1]);
        assert_eq!(map("tornado", &[4, 3])[0], 1 + 4);
        assert_eq!(map("tornado(dimensions=first)", &[4, 4])[..5], [1, 2, 3, 0, 5]);
        assert_eq!(map("tornado", &[2]), [0, 1]);
    }
}
