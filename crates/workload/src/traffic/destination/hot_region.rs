//! A part of the packets goes to the first nodes of the machine (OQ-D6).

use super::favoured::Favoured;
use super::uniform::Uniform;
use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Misfit, Pattern};
use crate::catalog::{ChoiceError, Entry, Parameter};
use crate::fraction::Fraction;
use crate::traffic::Shape;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "hot-region",
    aliases: &[],
    doc: "a part of the packets to the first nodes of the machine, the rest uniform",
    details: "With probability `packets` to one of the first `nodes` x n nodes (rounded up), each equally likely; else \
              to any other node, the region included.",
    parameters: &[
        Parameter {
            name: "packets",
            expected: "a fraction from 0 to 1, such as `25 %`",
            default: Some("25%"),
            doc: "The part of the packets that goes to the region. Default: OQ-D6.",
        },
        Parameter {
            name: "nodes",
            expected: "a fraction above 0 and up to 1, such as `12.5 %`",
            default: Some("12.5%"),
            doc: "The part of the nodes that is the region. Default: OQ-D6.",
        },
    ],
};

pub(super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    let nodes = arguments.0.value(1, |text| {
        text.parse().ok().filter(|nodes: &Fraction| nodes.is_part() && *nodes != Fraction::ZERO)
    })?;
    Ok(Arc::new(HotRegion { packets: arguments.0.part(0)?, nodes }))
}

#[derive(Debug)]
struct HotRegion {
    packets: Fraction,
    nodes: Fraction,
}

impl Pattern for HotRegion {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let rest = Uniform::new(shape, ENTRY.name)?;
        let scaled = u128::from(shape.nodes) * u128::from(self.nodes.numerator());
        let region = scaled.div_ceil(self.nodes.denominator().into()) as u32;
        let favoured = Favoured::one_group(self.packets, rest, (0..region).collect());
        Ok(Destinations { nodes: shape.nodes, kind: Kind::Favoured(favoured) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::Parts;
    use flitway_wiring::NodeId;

    /// "hot-region: 25 % of packets to the first 12.5 % of nodes, rest uniform" (OQ-D6).
    #[test]
    fn the_default_is_a_quarter_of_the_packets_to_an_eighth_of_the_nodes() {
        let shape =
            Shape { nodes: 64, dimensions: vec![64], parts: vec![Parts::switches(vec![0; 64])], found: None };
        let region = parse("hot-region").unwrap().fit(&shape, 0).unwrap();
        let to_region = |source| (0..8).map(|node| region.weight(NodeId(source), NodeId(node))).sum::<f64>();
        assert!((to_region(20) - (0.25 + 0.75 * 8.0 / 63.0)).abs() < 1e-12);
        assert!((to_region(3) - (0.25 + 0.75 * 7.0 / 63.0)).abs() < 1e-12);
    }

    #[test]
    fn a_region_is_rounded_up_to_whole_nodes() {
        let shape =
            Shape { nodes: 9, dimensions: vec![9], parts: vec![Parts::switches(vec![0; 9])], found: None };
        let region = parse("hot-region(packets=1)").unwrap().fit(&shape, 0).unwrap();
        assert_eq!(region.weight(NodeId(8), NodeId(1)), 0.5);
        assert_eq!(region.weight(NodeId(8), NodeId(2)), 0.0);
    }
}
