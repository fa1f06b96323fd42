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
        let node = header.destination().0;
        let (place, target) = (node % self.shape.nodes_per_switch, node / self.shape.nodes_per_switch);
        let port = port(&self.shape, here, SwitchId(target), place).unwrap_or(PortId(place));
        Candidate { hop: Hop { port, class: 0 }, header }
    }
}

/// The port from `here` towards `target`, of parallel links dealt out by `number` too; `None` at the target.
pub(super) fn port(shape: &HyperXShape, here: SwitchId, target: SwitchId, number: u32) -> Option<PortId> {
    let (mut at, mut to, mut dealt) = (here.0, target.0, number);
    // The dimension of the hop, and its two coordinates; what is finished is not dealt by.
    let mut hop = None;
    for (dimension, &size) in shape.dimensions.iter().enumerate() {
        let (here, there) = (at % size, to % size);
        (at, to) = (at / size, to / size);
        match hop {
            None if here != there => hop = Some((dimension, here, there)),
            None => {}
            Some(_) => dealt += there,
        }
    }
    let (dimension, here, there) = hop?;
    Some(shape.port(dimension, here, there, dealt % shape.links[dimension]))
}
