//! The permutation that is worst for the routing of the machine.

use super::{Kind, Lack, Misfit, Pattern, Permutation};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::Shape;
use crate::traffic::destination::{DestinationArguments, DestinationChoice, Destinations};
use std::sync::Arc;

pub(in super::super) const ENTRY: Entry = Entry {
    name: "worst-case",
    aliases: &[Alias { name: "worst_case", tool: "others" }],
    doc: "the permutation that loads one channel more than any other does",
    details: "Looked for among all permutations for the routing of the machine, which must not choose by load: where ways are \
              fixed, or drawn, the most that a channel can have to carry is a matching of sources and destinations (Towles \
              and Dally, SPAA 2002), and that of the channel that is full first is completed to all nodes. It is exact unless \
              matchings would take too long; then pairs are exchanged as long as that helps, from a beginning that the seed \
              draws. `flitway check --traffic worst-case` says which channel it is. Machines of some thousand nodes have too \
              many ways.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    Ok(Arc::new(WorstCase))
}

#[derive(Debug)]
struct WorstCase;

impl Pattern for WorstCase {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let misfit = |lack| Misfit { pattern: ENTRY.name, lack };
        if shape.nodes < 2 {
            return Err(misfit(Lack::SecondNode));
        }
        let map = shape.worst.as_ref().ok_or(misfit(Lack::Ways))?;
        Ok(Destinations {
            nodes: shape.nodes,
            kind: Kind::Permutation(Permutation(map.iter().copied().collect())),
        })
    }

    fn is_worst_case(&self) -> bool {
        true
    }
}
