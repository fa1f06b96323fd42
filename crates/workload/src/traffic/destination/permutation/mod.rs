//! Each node sends to one node only.
//!
//! A file for each permutation: its definition on node numbers `0..n`, and what it needs. Dimension 0 varies fastest:
//! node `x0 + k0 * (x1 + k1 * (x2 + ...))` has coordinates `x0, x1, x2, ...`.

pub(super) mod anti_transpose;
pub(super) mod bit_complement;
pub(super) mod bit_reverse;
pub(super) mod bit_rotation;
pub(super) mod butterfly;
pub(super) mod neighbor;
pub(super) mod random;
pub(super) mod searched;
pub(super) mod shuffle;
pub(super) mod tornado;
pub(super) mod transpose;

use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{ChoiceError, Parameter};
use crate::traffic::Shape;
use flitway_wiring::NodeId;
use std::sync::Arc;

/// Where each node sends to; itself if it stays silent.
#[derive(Clone, Debug)]
pub(super) struct Permutation(Box<[u32]>);

impl Permutation {
    #[inline]
    pub(super) fn destination(&self, source: NodeId) -> Option<NodeId> {
        let destination = self.0[source.index()];
        (destination != source.0).then_some(NodeId(destination))
    }
}

/// Makes the permutation of a machine: shape and seed in, the destination of each node out.
trait Formula: Fn(&Shape, u64) -> Result<Vec<u32>, Lack> + Send + Sync + 'static {}
impl<F: Fn(&Shape, u64) -> Result<Vec<u32>, Lack> + Send + Sync + 'static> Formula for F {}

/// A permutation with its formula.
struct Mapping<F> {
    name: &'static str,
    formula: F,
}

impl<F> std::fmt::Debug for Mapping<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapping").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F: Formula> Pattern for Mapping<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fit(&self, shape: &Shape, seed: u64) -> Result<Destinations, Misfit> {
        let misfit = |lack| Misfit { pattern: self.name, lack };
        if shape.nodes < 2 {
            return Err(misfit(Lack::SecondNode));
        }
        let map = (self.formula)(shape, seed).map_err(misfit)?;
        assert_eq!(map.len(), shape.nodes as usize, "{} maps every node", self.name);
        Ok(Destinations { nodes: shape.nodes, kind: Kind::Permutation(Permutation(map.into())) })
    }
}

/// A pattern made of a name and a formula.
fn pattern(name: &'static str, formula: impl Formula) -> Result<DestinationChoice, ChoiceError> {
    Ok(Arc::new(Mapping { name, formula }))
}

/// The number of bits of a node number, if the number of nodes is a power of two.
fn bits(shape: &Shape) -> Result<u32, Lack> {
    if !shape.nodes.is_power_of_two() {
        return Err(Lack::PowerOfTwo { nodes: shape.nodes });
    }
    Ok(shape.nodes.trailing_zeros())
}

/// The side of the square that the nodes fill.
fn side(shape: &Shape) -> Result<u32, Lack> {
    let side = shape.nodes.isqrt();
    if side * side == shape.nodes { Ok(side) } else { Err(Lack::Square { nodes: shape.nodes }) }
}

/// Half the nodes, if their number is even.
fn half(shape: &Shape) -> Result<u32, Lack> {
    if shape.nodes.is_multiple_of(2) { Ok(shape.nodes / 2) } else { Err(Lack::Even { nodes: shape.nodes }) }
}

/// In which dimensions a pattern shifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shifted {
    All,
    First,
}

const DIMENSIONS: Parameter = Parameter {
    name: "dimensions",
    expected: "`all` or `first`",
    default: Some("all"),
    doc: "In which dimensions the coordinate is shifted. Default: all, as in BookSim2; Garnet shifts the first only.",
};

fn shifted(arguments: &DestinationArguments<'_>) -> Result<Shifted, ChoiceError> {
    arguments.0.value(0, |text| match text {
        "all" => Some(Shifted::All),
        "first" => Some(Shifted::First),
        _ => None,
    })
}

/// Shifts coordinates round their dimension: by `shift(k)` in a dimension of `k`.
fn shift(shape: &Shape, shifted: Shifted, shift: impl Fn(u32) -> u32) -> Result<Vec<u32>, Lack> {
    let product: u64 = shape.dimensions.iter().map(|&k| u64::from(k)).product();
    if product != u64::from(shape.nodes) {
        return Err(Lack::Dimensions { nodes: shape.nodes });
    }
    let destination = |node: u32| {
        let (mut destination, mut stride) = (0, 1);
        for (dimension, &k) in shape.dimensions.iter().enumerate() {
            let moves = shifted == Shifted::All || dimension == 0;
            let by = if moves { u64::from(shift(k)) } else { 0 };
            let coordinate = (u64::from(node / stride % k) + by) % u64::from(k);
            destination += coordinate as u32 * stride;
            stride *= k;
        }
        destination
    };
    Ok((0..shape.nodes).map(destination).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parts;
    use crate::traffic::destination::tests::example;
    use crate::traffic::destination::{CATALOG, parse};

    /// The map of `pattern` on `nodes` nodes in the given dimensions.
    pub(super) fn map(pattern: &str, dimensions: &[u32]) -> Vec<u32> {
        let nodes = dimensions.iter().product();
        let shape = Shape {
            nodes,
            dimensions: dimensions.to_vec(),
            parts: vec![Parts::switches(vec![0; nodes as usize])],
            found: None,
        };
        let destinations = parse(pattern).unwrap().fit(&shape, 3).unwrap();
        let Kind::Permutation(Permutation(map)) = destinations.kind else {
            panic!("{pattern} is no permutation")
        };
        map.into()
    }

    pub(super) fn lack(pattern: &str, nodes: u32) -> Lack {
        let shape = Shape {
            nodes,
            dimensions: vec![nodes],
            parts: vec![Parts::switches(vec![0; nodes as usize])],
            found: None,
        };
        parse(pattern).unwrap().fit(&shape, 3).unwrap_err().lack
    }

    #[test]
    fn each_of_them_is_a_permutation_on_every_machine_that_it_accepts() {
        let mut accepted = 0;
        for entry in CATALOG.entries() {
            for dimensions in
                [vec![2], vec![7], vec![4, 4], vec![3, 5], vec![2, 3, 4], vec![64], vec![10, 10]]
            {
                let nodes: u32 = dimensions.iter().product();
                let shape = Shape {
                    nodes,
                    dimensions,
                    parts: vec![Parts::switches(vec![0; nodes as usize])],
                    found: None,
                };
                let Ok(destinations) = example(entry.name, nodes).fit(&shape, 9) else { continue };
                let Kind::Permutation(Permutation(map)) = &destinations.kind else { continue };
                let mut sorted = map.to_vec();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq(0..nodes), "{} on {nodes} nodes: {map:?}", entry.name);
                let fixed = (0..nodes).filter(|&node| map[node as usize] == node).count();
                assert_eq!(destinations.silent_nodes() as usize, fixed);
                accepted += 1;
            }
        }
        assert!(accepted > 40, "{accepted}");
    }

    #[test]
    fn dimensions_must_multiply_to_the_nodes() {
        let shape =
            Shape { nodes: 8, dimensions: vec![3, 3], parts: vec![Parts::switches(vec![0; 8])], found: None };
        let misfit = parse("tornado").unwrap().fit(&shape, 0).unwrap_err();
        assert_eq!(misfit.lack, Lack::Dimensions { nodes: 8 });
    }
}
