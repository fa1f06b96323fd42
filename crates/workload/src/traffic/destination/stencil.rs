//! Each node sends to its neighbours in a Cartesian grid of all nodes: the exchange of halos.

use super::listed::Listed;
use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{Alias, ChoiceError, Entry, Parameter};
use crate::traffic::Shape;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "stencil",
    aliases: &[Alias { name: "halo", tool: "others" }],
    doc: "the neighbours of each node in a Cartesian grid of all nodes, one before and one after in every dimension",
    details: "Each equally likely: two in a row, four in a plane (the 5-point stencil), six in space (7 points), eight \
              in four dimensions. Dimension 0 varies fastest: node x + X (y + Y z) has the coordinates x, y, z in a grid \
              of X x Y x Z. Where a dimension is two and periodic, both neighbours are one node, which gets the packets \
              of both. A node on the border of a grid that is not periodic sends as much as others, to fewer \
              neighbours.",
    parameters: &[
        Parameter {
            name: "dimensions",
            expected: "`machine`, or one to four numbers from 1 on joined by `x`, such as `8x4x4`",
            default: Some("machine"),
            doc: "The nodes in each dimension of the grid. Default: those of a mesh, torus or HyperX; in a dragonfly the \
                  nodes of a group, and groups; elsewhere one dimension of all nodes.",
        },
        Parameter {
            name: "periodic",
            expected: "`yes` or `no`",
            default: Some("yes"),
            doc: "Whether the first and the last of a dimension are neighbours. Default: chosen.",
        },
    ],
};

/// The most dimensions of a grid that is given.
const DIMENSIONS_MAX: usize = 4;

pub(super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    let sides = |text: &str| -> Option<Vec<u32>> {
        let side = |side: &str| side.trim().parse().ok().filter(|&side: &u32| side > 0);
        text.split('x')
            .map(side)
            .collect::<Option<_>>()
            .filter(|sides: &Vec<u32>| sides.len() <= DIMENSIONS_MAX)
    };
    let dimensions = |text: &str| if text == "machine" { Some(None) } else { sides(text).map(Some) };
    let is_periodic = |text: &str| match text {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    };
    Ok(Arc::new(Stencil {
        dimensions: arguments.0.value(0, dimensions)?,
        is_periodic: arguments.0.value(1, is_periodic)?,
    }))
}

#[derive(Debug)]
struct Stencil {
    /// Those of the machine if not given.
    dimensions: Option<Vec<u32>>,
    is_periodic: bool,
}

impl Pattern for Stencil {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let nodes = shape.nodes;
        let misfit = |lack| Err(Misfit { pattern: ENTRY.name, lack });
        if nodes < 2 {
            return misfit(Lack::SecondNode);
        }
        let dimensions = self.dimensions.as_ref().unwrap_or(&shape.dimensions);
        let product = dimensions.iter().try_fold(1_u32, |product, &side| product.checked_mul(side));
        if product != Some(nodes) {
            return misfit(Lack::Dimensions { nodes });
        }
        let (mut destinations, mut lists) = (Vec::new(), Vec::new());
        for node in 0..nodes {
            let begin = destinations.len() as u32;
            destinations.extend(neighbours(node, dimensions, self.is_periodic));
            lists.push([begin, destinations.len() as u32]);
        }
        Ok(Destinations { nodes, kind: Kind::Listed(Listed::new(destinations, lists)) })
    }
}

/// The neighbours of a node, by dimension: the one before it, then the one after.
fn neighbours(node: u32, dimensions: &[u32], is_periodic: bool) -> Vec<u32> {
    let (mut neighbours, mut stride) = (Vec::new(), 1);
    for &side in dimensions.iter().filter(|&&side| side > 1) {
        let at = node / stride % side;
        let first = node - at * stride;
        if at > 0 || is_periodic {
            neighbours.push(first + (at + side - 1) % side * stride);
        }
        if at + 1 < side || is_periodic {
            neighbours.push(first + (at + 1) % side * stride);
        }
        stride *= side;
    }
    neighbours
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::Parts;
    use flitway_wiring::NodeId;

    fn fit(text: &str, dimensions: &[u32]) -> Result<Destinations, Misfit> {
        let nodes = dimensions.iter().product();
        parse(text).unwrap().fit(
            &Shape {
                nodes,
                dimensions: dimensions.to_vec(),
                parts: vec![Parts::switches(vec![0; nodes as usize])],
                found: None,
            },
            1,
        )
    }

    /// To whom a node sends, and what part.
    fn row(destinations: &Destinations, source: u32) -> Vec<(u32, f64)> {
        let weight = |node| (node, destinations.weight(NodeId(source), NodeId(node)));
        (0..destinations.nodes()).map(weight).filter(|&(_, weight)| weight > 0.0).collect()
    }

    #[test]
    fn neighbours_are_before_and_after_in_every_dimension() {
        let plane = fit("stencil(4x3)", &[12]).unwrap();
        assert_eq!(row(&plane, 5), [(1, 0.25), (4, 0.25), (6, 0.25), (9, 0.25)]);
        assert_eq!(row(&plane, 0), [(1, 0.25), (3, 0.25), (4, 0.25), (8, 0.25)]);
        let space = fit("stencil(dimensions=3x3x3)", &[27]).unwrap();
        let nodes: Vec<u32> = row(&space, 13).into_iter().map(|(node, _)| node).collect();
        assert_eq!(nodes, [4, 10, 12, 14, 16, 22]);
        assert_eq!(row(&fit("halo(3x3x3x3)", &[81]).unwrap(), 40).len(), 8);
        assert_eq!(row(&fit("stencil", &[6]).unwrap(), 0), [(1, 0.5), (5, 0.5)]);
    }

    #[test]
    fn a_border_has_fewer_neighbours_and_a_ring_of_two_has_one_twice() {
        let bounded = fit("stencil(4x3, periodic=no)", &[12]).unwrap();
        assert_eq!(row(&bounded, 0), [(1, 0.5), (4, 0.5)]);
        assert_eq!(row(&bounded, 11), [(7, 0.5), (10, 0.5)]);
        assert_eq!(row(&bounded, 5).len(), 4);
        assert_eq!(row(&fit("stencil(2x3)", &[6]).unwrap(), 0), [(1, 0.5), (2, 0.25), (4, 0.25)]);
        assert_eq!(row(&fit("stencil(1x6)", &[6]).unwrap(), 0), [(1, 0.5), (5, 0.5)]);
    }

    #[test]
    fn a_grid_has_as_many_nodes_as_the_machine() {
        let message = fit("stencil(4x4)", &[12]).unwrap_err().to_string();
        assert_eq!(message, "`stencil` needs dimensions whose product is the number of nodes, 12");
        assert_eq!(fit("stencil(65536x65536)", &[12]).unwrap_err().lack, Lack::Dimensions { nodes: 12 });
        for text in ["stencil(4x)", "stencil(0x4)", "stencil(2x2x2x2x2)", "stencil(periodic=maybe)"] {
            assert!(matches!(parse(text), Err(ChoiceError::BadValue { .. })), "{text}");
        }
    }
}
