//! A part of the packets goes to a few hot nodes.

use super::favoured::Favoured;
use super::uniform::Uniform;
use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{ChoiceError, Entry, Parameter};
use crate::fraction::Fraction;
use crate::traffic::Shape;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "hotspot",
    aliases: &[],
    doc: "a part of the packets to a few hot nodes, the rest uniform",
    details: "With probability `fraction` to one of `nodes`, each equally likely; else to any other node, hot ones \
              included. A hot node draws among the other hot nodes; if it is the only one, all its packets are \
              uniform. BookSim2's `hotspot` sends every packet to a hot node: write fraction=1. Noxim's hot spots \
              have a fraction each on top of `random`.",
    parameters: &[
        Parameter {
            name: "nodes",
            expected: "node numbers joined by `+`, such as `0+5+9`",
            default: Some("0"),
            doc: "The hot nodes. Default: the first node.",
        },
        Parameter {
            name: "fraction",
            expected: "a fraction from 0 to 1, such as `10 %`",
            default: Some("10%"),
            doc: "The part of the packets that goes to hot nodes. Default: chosen.",
        },
    ],
};

pub(super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    let nodes = arguments.0.value(0, |text| {
        let nodes: Option<Vec<u32>> = text.split('+').map(|node| node.trim().parse().ok()).collect();
        let mut nodes = nodes?;
        nodes.sort_unstable();
        nodes.dedup();
        Some(nodes)
    })?;
    Ok(Arc::new(Hotspot { nodes, fraction: arguments.0.part(1)? }))
}

#[derive(Debug)]
struct Hotspot {
    nodes: Vec<u32>,
    fraction: Fraction,
}

impl Pattern for Hotspot {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let rest = Uniform::new(shape, ENTRY.name)?;
        if let Some(&node) = self.nodes.iter().find(|&&node| node >= shape.nodes) {
            return Err(Misfit { pattern: ENTRY.name, lack: Lack::Node { node, nodes: shape.nodes } });
        }
        let favoured = Favoured::one_group(self.fraction, rest, self.nodes.clone());
        Ok(Destinations { nodes: shape.nodes, kind: Kind::Favoured(favoured) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::Parts;
    use flitway_wiring::NodeId;

    #[test]
    fn a_hot_node_gets_its_fraction_and_a_share_of_the_rest() {
        let shape =
            Shape { nodes: 11, dimensions: vec![11], parts: vec![Parts::switches(vec![0; 11])], found: None };
        let hot = parse("hotspot(nodes=3+7, fraction=1/2)").unwrap().fit(&shape, 0).unwrap();
        let weight = |source, destination| hot.weight(NodeId(source), NodeId(destination));
        assert!((weight(0, 3) - (0.25 + 0.05)).abs() < 1e-12);
        assert!((weight(0, 1) - 0.05).abs() < 1e-12);
        assert!((weight(3, 7) - (0.5 + 0.05)).abs() < 1e-12);
        assert_eq!(weight(3, 3), 0.0);
        let alone = parse("hotspot(3, 100%)").unwrap().fit(&shape, 0).unwrap();
        assert!((alone.weight(NodeId(3), NodeId(1)) - 0.1).abs() < 1e-12);
        assert_eq!(alone.weight(NodeId(0), NodeId(1)), 0.0);
    }

    #[test]
    fn a_hot_node_must_exist_and_be_a_number() {
        let shape =
            Shape { nodes: 8, dimensions: vec![8], parts: vec![Parts::switches(vec![0; 8])], found: None };
        let misfit = parse("hotspot(nodes=8)").unwrap().fit(&shape, 0).unwrap_err();
        assert_eq!(
            misfit.to_string(),
            "`hotspot` needs node 8, and the machine has 8 nodes, numbered from 0"
        );
        assert!(matches!(parse("hotspot(nodes=a)"), Err(ChoiceError::BadValue { .. })));
        assert!(matches!(parse("hotspot(fraction=1.5)"), Err(ChoiceError::BadValue { .. })));
    }
}
