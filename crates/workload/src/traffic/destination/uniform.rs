//! Every other node with equal probability.

use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Lack, Misfit, Pattern};
use crate::catalog::{Alias, ChoiceError, Entry};
use crate::traffic::Shape;
use flitway_engine::random::Stream;
use flitway_wiring::NodeId;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "uniform",
    aliases: &[Alias { name: "uniform-random", tool: "Garnet" }, Alias { name: "random", tool: "Noxim" }],
    doc: "every other node with equal probability",
    details: "Never the node itself, as in Noxim. BookSim2 and Garnet include the node itself: at equal offered load \
              they offer 1/n less to the network.",
    parameters: &[],
};

pub(super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    Ok(Arc::new(UniformPattern))
}

#[derive(Debug)]
struct UniformPattern;

impl Pattern for UniformPattern {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let uniform = Uniform::new(shape, ENTRY.name)?;
        Ok(Destinations { nodes: shape.nodes, kind: Kind::Uniform(uniform) })
    }
}

/// Draws among the other nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uniform {
    others: u32,
}

impl Uniform {
    pub(super) fn new(shape: &Shape, pattern: &'static str) -> Result<Self, Misfit> {
        if shape.nodes < 2 {
            return Err(Misfit { pattern, lack: Lack::SecondNode });
        }
        Ok(Uniform { others: shape.nodes - 1 })
    }

    #[inline]
    pub(super) fn draw(self, source: NodeId, stream: &mut Stream) -> NodeId {
        let node = stream.below(self.others.into()) as u32;
        NodeId(node + u32::from(node >= source.0))
    }

    pub(super) fn weight(self, source: NodeId, destination: NodeId) -> f64 {
        if source == destination { 0.0 } else { 1.0 / f64::from(self.others) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parts;
    use flitway_engine::random::Purpose;

    #[test]
    fn of_two_nodes_each_sends_to_the_other() {
        let shape =
            Shape { nodes: 2, dimensions: vec![2], parts: vec![Parts::switches(vec![0, 0])], found: None };
        let uniform = Uniform::new(&shape, "uniform").unwrap();
        let mut stream = Stream::new(1, 0, Purpose::Test);
        for _ in 0..20 {
            assert_eq!(uniform.draw(NodeId(0), &mut stream), NodeId(1));
            assert_eq!(uniform.draw(NodeId(1), &mut stream), NodeId(0));
        }
    }
}
