//! Dimension-order routing in a HyperX: each dimension takes one hop, dimension 0 first. No channel of a dimension is
//! followed by one of the same or a lower dimension, and so one class is free of deadlock.
//!
//! Source: Ahn et al., SC 2009, section 4.1. Of parallel links destinations are dealt out: by the sum of the coordinates of
//! the destination and of its place on its switch.

use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::topology::HyperXShape;
use crate::{PortId, SwitchId};

#[derive(Debug)]
pub(super) struct HyperX {
    shape: HyperXShape,
}

impl HyperX {
    pub(super) fn new(shape: &HyperXShape) -> Self {
        HyperX { shape: shape.clone() }
    }
}

impl Relation for HyperX {
    fn next(&self, here: SwitchId, _: Arrival, header: Header) -> Candidate {
        let HyperXShape { dimensions, links, nodes_per_switch } = &self.shape;
        let node = header.destination().0;
        let place = node % nodes_per_switch;
        let (mut at, mut target) = (here.0, node / nodes_per_switch);
        let mut dealt = place;
        // The dimension of the hop, and its two coordinates; what is finished is not dealt by.
        let mut hop = None;
        for (dimension, &size) in dimensions.iter().enumerate() {
            let (here, there) = (at % size, target % size);
            (at, target) = (at / size, target / size);
            match hop {
                None if here != there => hop = Some((dimension, here, there)),
                None => {}
                Some(_) => dealt += there,
            }
        }
        let port = match hop {
            Some((dimension, here, there)) => {
                self.shape.port(dimension, here, there, dealt % links[dimension])
            }
            None => PortId(place),
        };
        Candidate { hop: Hop { port, class: 0 }, header }
    }
}
