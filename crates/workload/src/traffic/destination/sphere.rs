//! Most packets stay on the leaf switch of their source (OQ-D6).

use super::favoured::Favoured;
use super::uniform::Uniform;
use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{ChoiceError, Entry, Parameter};
use crate::fraction::Fraction;
use crate::traffic::Shape;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "sphere",
    aliases: &[],
    doc: "most packets to nodes on the same leaf switch, the rest uniform",
    details: "With probability `fraction` to one of the other nodes on the source's leaf switch, each equally likely; \
              else to any other node. All packets of a node that is alone on its switch are uniform. Needs a leaf \
              switch with two nodes or more.",
    parameters: &[Parameter {
        name: "fraction",
        expected: "a fraction from 0 to 1, such as `80 %`",
        default: Some("80%"),
        doc: "The part of the packets that stays on the leaf switch. Default: OQ-D6.",
    }],
};

pub(super) fn read(arguments: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    Ok(Arc::new(Sphere { fraction: arguments.0.part(0)? }))
}

#[derive(Debug)]
struct Sphere {
    fraction: Fraction,
}

impl Pattern for Sphere {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let rest = Uniform::new(shape, ENTRY.name)?;
        let group_of = shape.parts[0].of.clone();
        assert_eq!(group_of.len(), shape.nodes as usize, "a shape knows the leaf switch of every node");
        let leaves = group_of.iter().max().map_or(0, |&leaf| leaf as usize + 1);
        let mut groups = vec![Vec::new(); leaves];
        for (node, &leaf) in (0u32..).zip(&group_of) {
            groups[leaf as usize].push(node);
        }
        if groups.iter().all(|group| group.len() < 2) {
            return Err(Misfit { pattern: ENTRY.name, lack: Lack::LeafNeighbors });
        }
        let favoured = Favoured::groups(self.fraction, rest, groups, group_of);
        Ok(Destinations { nodes: shape.nodes, kind: Kind::Favoured(favoured) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::Parts;
    use flitway_wiring::NodeId;

    /// "Sphere: 80 % to the same leaf switch, rest uniform" (OQ-D6).
    #[test]
    fn four_packets_of_five_stay_on_the_leaf() {
        // Node 4 is alone.
        let shape = Shape {
            nodes: 5,
            dimensions: vec![5],
            parts: vec![Parts::switches(vec![0, 0, 1, 1, 2])],
            found: None,
        };
        let sphere = parse("sphere").unwrap().fit(&shape, 0).unwrap();
        let weight = |source, destination| sphere.weight(NodeId(source), NodeId(destination));
        assert!((weight(0, 1) - (0.8 + 0.2 / 4.0)).abs() < 1e-12);
        assert!((weight(2, 3) - (0.8 + 0.2 / 4.0)).abs() < 1e-12);
        assert!((weight(2, 0) - 0.05).abs() < 1e-12);
        assert!((weight(4, 0) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_machine_with_one_node_on_each_switch_has_no_sphere() {
        let shape = Shape {
            nodes: 4,
            dimensions: vec![4],
            parts: vec![Parts::switches(vec![0, 1, 2, 3])],
            found: None,
        };
        let misfit = parse("sphere").unwrap().fit(&shape, 0).unwrap_err();
        assert_eq!(misfit.lack, Lack::LeafNeighbors);
    }
}
