//! Destination tags: the way through a unidirectional multistage network is the number of the destination, a digit for each
//! stage, the highest first (Lawrie, *IEEE Trans. Computers* C-24(12), 1975). There is no other way, and no ring of
//! dependencies: every channel leads to a later stage.

use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::SwitchId;
use crate::topology::StageShape;

#[derive(Debug)]
pub(super) struct DestinationTag {
    shape: StageShape,
}

impl DestinationTag {
    pub(super) fn new(shape: &StageShape) -> Self {
        DestinationTag { shape: shape.clone() }
    }
}

impl Relation for DestinationTag {
    fn next(&self, here: SwitchId, _: Arrival, header: Header) -> Candidate {
        let destination = header.destination();
        Candidate {
            hop: Hop { port: self.shape.output_to(self.shape.stage(here), destination), class: 0 },
            header,
        }
    }
}
