//! A permutation drawn once for the whole machine.

use super::pattern;
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::destination::{DestinationArguments, DestinationChoice};
use flitway_engine::random::{Purpose, Stream};

pub(in super::super) const ENTRY: Entry = Entry {
    name: "random-permutation",
    aliases: &[Alias { name: "randperm", tool: "BookSim2" }, Alias { name: "permutation", tool: "others" }],
    doc: "one permutation drawn from the seed for the whole machine",
    details: "Each of the n! permutations is equally likely (Fisher and Yates), as in BookSim2; a node that is \
              mapped to itself, one on average, stays silent.",
    parameters: &[],
};

pub(in super::super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    pattern(ENTRY.name, |shape, seed| {
        let mut stream = Stream::new(seed, 0, Purpose::Permutation);
        let mut map: Vec<u32> = (0..shape.nodes).collect();
        for last in (1..map.len()).rev() {
            map.swap(last, stream.below(last as u64 + 1) as usize);
        }
        Ok(map)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;
    use crate::Parts;

    use crate::traffic::Shape;
    use crate::traffic::destination::parse;
    use flitway_wiring::NodeId;
    use std::collections::BTreeMap;

    #[test]
    fn every_permutation_is_equally_likely() {
        let shape =
            Shape { nodes: 3, dimensions: vec![3], parts: vec![Parts::switches(vec![0; 3])], found: None };
        let pattern = parse("randperm").unwrap();
        let mut counts = BTreeMap::new();
        for seed in 0..6_000 {
            let destinations = pattern.fit(&shape, seed).unwrap();
            let row: Vec<Vec<bool>> = (0..3)
                .map(|s| (0..3).map(|d| destinations.weight(NodeId(s), NodeId(d)) == 1.0).collect())
                .collect();
            *counts.entry(row).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Standard deviation 29.
        assert!(counts.values().all(|&count| count.abs_diff(1_000) < 120), "{counts:?}");
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(map("randperm", &[50]), map("randperm", &[50]));
    }
}
