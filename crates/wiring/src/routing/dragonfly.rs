//! Minimal routing in a dragonfly: to the switch of a global link that leads to the group of the destination, over it, and to
//! the switch of the destination.
//!
//! Source: Kim, Dally, Scott and Abts, ISCA 2008, section 4.1. Local channels are of class 0 before the global hop and in
//! the group of the destination if that is the own one, of class 1 after the global hop; global channels are of class 0.
//! Local of class 0, global, local of class 1: no ring of dependencies closes. Where several links join two groups, one of
//! the own switch is taken if there is, and otherwise destinations are dealt out among them by their number in their group.
//!
//! In one class, for study, packets of three groups or more can wait for each other for ever.

use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::topology::DragonflyShape;
use crate::{PortId, SwitchId};

#[derive(Debug)]
pub(super) struct Dragonfly {
    shape: DragonflyShape,
    has_classes: bool,
}

impl Dragonfly {
    pub(super) fn new(shape: &DragonflyShape, has_classes: bool) -> Self {
        Dragonfly { shape: shape.clone(), has_classes }
    }
}

/// The end of the global link that packets at `here` take to `group`, dealt out by `number`.
pub(super) fn exit(shape: &DragonflyShape, here: SwitchId, group: u32, number: u32) -> (SwitchId, PortId) {
    let (own, copies) = (shape.group(here), shape.links_between_groups());
    let end = |copy| shape.global_end(own, group, copy);
    let of_here = || (0..copies).map(end).filter(|&(switch, _)| switch == here);
    match of_here().count() as u32 {
        0 => end(number % copies),
        count => of_here().nth((number % count) as usize).unwrap_or_else(|| end(0)),
    }
}

impl Relation for Dragonfly {
    fn classes(&self) -> u32 {
        if self.has_classes { 2 } else { 1 }
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let shape = &self.shape;
        let node = header.destination().0;
        let target = SwitchId(node / shape.nodes_per_switch);
        let group = shape.group(target);
        let hop = if here == target {
            Hop { port: PortId(node % shape.nodes_per_switch), class: arrival.class }
        } else if shape.group(here) == group {
            let class = u8::from(self.has_classes && shape.is_global(arrival.port));
            Hop { port: shape.local_port(here, target), class }
        } else {
            let (switch, port) = exit(shape, here, group, node);
            Hop { port: if switch == here { port } else { shape.local_port(here, switch) }, class: 0 }
        };
        Candidate { hop, header }
    }
}
