//! Permutations that are looked for, for the routing of the machine.

use super::{Kind, Lack, Misfit, Pattern, Permutation};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::Shape;
use crate::traffic::destination::{DestinationArguments, DestinationChoice, Destinations, Search};
use std::sync::Arc;

pub(in super::super) const WORST_CASE: Entry = Entry {
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

pub(in super::super) const CONTENTION_FREE: Entry = Entry {
    name: "contention-free",
    aliases: &[
        Alias { name: "conflict-free", tool: "others" },
        Alias { name: "contention_free", tool: "others" },
    ],
    doc: "random pairs that share no channel between switches",
    details: "Looked for among permutations for the routing of the machine: from one that the seed draws, destinations of two \
              nodes are exchanged as long as no more pairs meet on the first of their ways. No node sends to itself. Near \
              pairs meet less, so those that are found are nearer than random ones; beside `random-permutation` they show \
              what collisions cost, and some hops. Not where ways are drawn (`valiant`, `multi-path`). Where the routing or the fabric leaves no such \
              permutation to be found, some pairs still meet; `flitway check --traffic contention-free` says on how many \
              channels.",
    parameters: &[],
};

pub(in super::super) fn worst_case(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    Ok(Arc::new(Searched { name: WORST_CASE.name, search: Search::WorstCase }))
}

pub(in super::super) fn contention_free(
    _: &DestinationArguments<'_>,
) -> Result<DestinationChoice, ChoiceError> {
    Ok(Arc::new(Searched { name: CONTENTION_FREE.name, search: Search::ContentionFree }))
}

#[derive(Debug)]
struct Searched {
    name: &'static str,
    search: Search,
}

impl Pattern for Searched {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let misfit = |lack| Misfit { pattern: self.name, lack };
        if shape.nodes < 2 {
            return Err(misfit(Lack::SecondNode));
        }
        let lack = if self.search == Search::WorstCase { Lack::Ways } else { Lack::OneWay };
        let map = shape.found.as_ref().ok_or(misfit(lack))?;
        Ok(Destinations {
            nodes: shape.nodes,
            kind: Kind::Permutation(Permutation(map.iter().copied().collect())),
        })
    }

    fn search(&self) -> Option<Search> {
        Some(self.search)
    }
}
