//! Dimension-order routing in meshes and tori: dimension 0 is finished before dimension 1 begins, and so on.
//!
//! In a torus the shorter way round is taken. When both are equal, in a ring of even size, one half goes upwards and the
//! other downwards, so that uniform traffic loads the channels of both directions alike: where the size is a multiple of
//! four, that is what starts from even coordinates, and from odd ones; elsewhere (a ring of two, with its two cables, of
//! six, of ten) each switch deals out destinations, by whether the sum of its own coordinate, the coordinates of the
//! destination in all other dimensions and the place of the node on its switch is even. A packet travels in class 0 of each
//! dimension until it crosses the *dateline*, the link between the last coordinate and the first, and in class 1 from that
//! link on: no ring of dependencies closes.
//!
//! Without the dateline there is one class, and a ring of five switches or more closes: for study, since packets can then
//! wait for each other for ever. (Shorter rings stay open: two hops one way round are taken from even coordinates alone
//! in a ring of four, and from none in a smaller one.)

use super::{Arrival, Candidate, Header, Hop, Relation};
use crate::NodeId;
use crate::topology::{Direction, GridShape};
use crate::{PortId, SwitchId};

#[derive(Debug)]
pub(super) struct DimensionOrder {
    shape: GridShape,
    /// Whether crossing the dateline of a ring changes the class.
    has_dateline: bool,
}

impl DimensionOrder {
    pub(super) fn new(shape: &GridShape) -> Self {
        DimensionOrder { shape: shape.clone(), has_dateline: shape.wraps }
    }

    pub(super) fn without_dateline(shape: &GridShape) -> Self {
        DimensionOrder { shape: shape.clone(), has_dateline: false }
    }

    /// The way from coordinate `here` to `there` of a row of `size`, on which packets for `destination` are.
    fn direction(&self, here: u32, there: u32, size: u32, destination: NodeId) -> Direction {
        if !self.shape.wraps {
            return if there > here { Direction::Higher } else { Direction::Lower };
        }
        let up = (there + size - here) % size;
        match (2 * up).cmp(&size) {
            std::cmp::Ordering::Less => Direction::Higher,
            std::cmp::Ordering::Greater => Direction::Lower,
            std::cmp::Ordering::Equal => {
                // Modulo two a sum without `there` is one with it.
                let dealt = if size.is_multiple_of(4) { 0 } else { self.sum(destination) + there };
                if (here + dealt).is_multiple_of(2) { Direction::Higher } else { Direction::Lower }
            }
        }
    }

    /// The sum of all coordinates of a node and of its place on its switch.
    fn sum(&self, node: NodeId) -> u32 {
        let GridShape { dimensions, nodes_per_switch, .. } = &self.shape;
        let (mut sum, mut rest) = (node.0 % nodes_per_switch, node.0 / nodes_per_switch);
        for size in dimensions {
            sum += rest % size;
            rest /= size;
        }
        sum
    }

    /// The hop towards the switch of `destination`, in class 0 or 1; `None` at that switch. `crossed` says whether the packet
    /// has crossed the dateline of the dimension in which it came.
    pub(super) fn towards(
        &self,
        here: SwitchId,
        arrival: Arrival,
        crossed: bool,
        destination: NodeId,
    ) -> Option<Hop> {
        let target = destination.0 / self.shape.nodes_per_switch;
        let (mut here, mut target) = (here.0, target);
        for (dimension, &size) in self.shape.dimensions.iter().enumerate() {
            let (at, to) = (here % size, target % size);
            (here, target) = (here / size, target / size);
            if at == to {
                continue;
            }
            let direction = self.direction(at, to, size, destination);
            let crosses = match direction {
                Direction::Higher => at + 1 == size,
                Direction::Lower => at == 0,
            };
            let crossed = crossed && self.shape.dimension_of(arrival.port) == Some(dimension);
            let class = u8::from(self.has_dateline && (crosses || crossed));
            return Some(Hop { port: self.shape.port(dimension, direction), class });
        }
        None
    }
}

impl Relation for DimensionOrder {
    fn classes(&self) -> u32 {
        if self.has_dateline { 2 } else { 1 }
    }

    fn next(&self, here: SwitchId, arrival: Arrival, header: Header) -> Candidate {
        let destination = header.destination();
        let into_node =
            || Hop { port: PortId(destination.0 % self.shape.nodes_per_switch), class: arrival.class };
        let hop = self.towards(here, arrival, arrival.class == 1, destination).unwrap_or_else(into_node);
        Candidate { hop, header }
    }
}
