//! Each node sends to all others in turn.

use super::uniform::Uniform;
use super::{DestinationArguments, DestinationChoice, Destinations, Kind, Misfit, Pattern};
use crate::catalog::{ChoiceError, Entry};
use crate::traffic::Shape;
use flitway_wiring::NodeId;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    name: "all-to-all",
    aliases: &[],
    doc: "all other nodes in turn, beginning with the next one",
    details: "Packet i of node s, from 0, goes to node s + 1 + (i mod (n - 1)), modulo n: while nodes keep step, each turn is \
              a shift, in which every node gets one packet (the linear shift of MPI_Alltoall). A node that creates more \
              than others is ahead of them, and only then do packets for one node meet. Loads of channels in the mean \
              are those of uniform traffic.",
    parameters: &[],
};

pub(super) fn read(_: &DestinationArguments<'_>) -> Result<DestinationChoice, ChoiceError> {
    Ok(Arc::new(AllToAllPattern))
}

#[derive(Debug)]
struct AllToAllPattern;

impl Pattern for AllToAllPattern {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn fit(&self, shape: &Shape, _seed: u64) -> Result<Destinations, Misfit> {
        let even = Uniform::new(shape, ENTRY.name)?;
        Ok(Destinations { nodes: shape.nodes, kind: Kind::AllToAll(AllToAll { nodes: shape.nodes, even }) })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct AllToAll {
    nodes: u32,
    /// What a node sends in the mean.
    even: Uniform,
}

impl AllToAll {
    #[inline]
    pub(super) fn destination(self, source: NodeId, turn: u64) -> NodeId {
        let ahead = 1 + turn % u64::from(self.nodes - 1);
        NodeId(((u64::from(source.0) + ahead) % u64::from(self.nodes)) as u32)
    }

    pub(super) fn weight(self, source: NodeId, destination: NodeId) -> f64 {
        self.even.weight(source, destination)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use crate::Parts;
    use flitway_engine::random::{Purpose, Stream};

    #[test]
    fn every_turn_is_a_shift_and_no_node_is_left_out() {
        let shape =
            Shape { nodes: 5, dimensions: vec![5], parts: vec![Parts::switches(vec![0; 5])], found: None };
        let all = parse("all-to-all").unwrap().fit(&shape, 1).unwrap();
        let mut stream = Stream::new(1, 0, Purpose::Destination);
        let mut row =
            |turn| (0..5).map(|node| all.draw(NodeId(node), turn, &mut stream).unwrap().0).collect();
        let rows: Vec<Vec<u32>> = (0..5).map(&mut row).collect();
        assert_eq!(
            rows,
            [[1, 2, 3, 4, 0], [2, 3, 4, 0, 1], [3, 4, 0, 1, 2], [4, 0, 1, 2, 3], [1, 2, 3, 4, 0]]
        );
        assert_eq!([all.weight(NodeId(1), NodeId(1)), all.weight(NodeId(1), NodeId(0))], [0.0, 0.25]);
        assert!(!all.is_uniform(), "what is drawn meets by chance, and what takes turns does not");
    }
}
