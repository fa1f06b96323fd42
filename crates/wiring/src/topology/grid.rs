//! k-ary n-cubes: meshes and tori of any size in each dimension.
//!
//! Switch `x + X (y + Y (z + ...))` has coordinates `(x, y, z, ...)`. Its first ports hold its nodes; then come, for
//! dimension `i`, port `c + 2i` towards the next higher coordinate and port `c + 2i + 1` towards the next lower, where
//! `c` is the number of nodes on a switch. A dimension of one switch is a dimension of none: it has no links, no ports, and no
//! place among those that are counted here. In a torus the last coordinate is next to the first; a ring of two has two links.

use super::{Builder, End, Layout, Shape, Structure, Topology, TopologyError};
use crate::NodeId;
use crate::{PortId, SwitchId};

/// Coordinates in a mesh or torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridShape {
    /// Switches in each dimension.
    pub dimensions: Vec<u32>,
    /// Nodes on every switch.
    pub nodes_per_switch: u32,
    /// Whether rows close to rings.
    pub wraps: bool,
}

impl GridShape {
    pub(super) fn new(dimensions: &[u32], nodes_per_switch: u32, wraps: bool) -> Result<Self, TopologyError> {
        if dimensions.is_empty() || dimensions.contains(&0) || nodes_per_switch == 0 {
            let what =
                "a grid has at least one dimension, of at least one switch each, with at least one node";
            return Err(TopologyError::Size(what.into()));
        }
        Ok(GridShape { dimensions: dimensions.to_vec(), nodes_per_switch, wraps })
    }

    /// The port of a switch in `direction` of `dimension`.
    #[must_use]
    pub fn port(&self, dimension: usize, direction: Direction) -> PortId {
        let before = self.dimensions[..dimension].iter().filter(|&&size| size > 1).count() as u32;
        PortId(self.nodes_per_switch + 2 * before + u32::from(direction == Direction::Lower))
    }

    /// The dimension that `port` lies in; `None` for a node's port.
    #[must_use]
    pub fn dimension_of(&self, port: PortId) -> Option<usize> {
        let place = port.0.checked_sub(self.nodes_per_switch)? / 2;
        let mut wired = (0..self.dimensions.len()).filter(|&dimension| self.dimensions[dimension] > 1);
        wired.nth(place as usize)
    }

    fn longest(&self) -> u32 {
        self.dimensions.iter().copied().max().unwrap_or(1)
    }

    /// The coordinate of `switch` in `dimension`.
    #[must_use]
    pub fn coordinate(&self, switch: SwitchId, dimension: usize) -> u32 {
        let stride: u32 = self.dimensions[..dimension].iter().product();
        switch.0 / stride % self.dimensions[dimension]
    }
}

impl Structure for GridShape {
    fn hops_max(&self) -> Option<u32> {
        let side = |&size: &u32| if self.wraps { size / 2 } else { size - 1 };
        Some(self.dimensions.iter().map(side).sum::<u32>() + 1)
    }

    /// Across the longest dimension.
    fn bisection_links(&self, topology: &Topology) -> Option<u64> {
        let longest = self.longest();
        let rows = u64::from(topology.switches() / longest);
        let across = if self.wraps { 2 } else { 1 };
        (longest > 1).then_some(rows * across)
    }

    fn is_in_upper_half(&self, topology: &Topology, node: NodeId) -> bool {
        let longest = self.longest();
        let before = self.dimensions.iter().take_while(|&&side| side < longest);
        let place = topology.home(node).0.0 / before.product::<u32>() % longest;
        place >= longest / 2
    }

    /// Links are built from the lower coordinate.
    fn directions(&self) -> [&'static str; 2] {
        ["higher", "lower"]
    }

    /// The nodes of a switch extend its first dimension: numbers run through them first.
    fn node_dimensions(&self, _: &Topology) -> Vec<u32> {
        let mut dimensions = self.dimensions.clone();
        dimensions[0] *= self.nodes_per_switch;
        dimensions
    }

    fn layout(&self, _: &Topology) -> Layout<'_> {
        Layout::Grid(self)
    }
}

/// Towards the next higher coordinate, or the next lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Coordinate plus one.
    Higher,
    /// Coordinate minus one.
    Lower,
}

pub(super) fn build(shape: GridShape) -> Result<Topology, TopologyError> {
    let overflow = || TopologyError::Size(format!("{:?} switches are too many", shape.dimensions));
    let switches = shape
        .dimensions
        .iter()
        .try_fold(1u64, |product, &size| product.checked_mul(u64::from(size)))
        .filter(|&count| count <= super::MAX_COMPONENTS)
        .ok_or_else(overflow)?;
    let mut classes = vec!["node".to_owned()];
    classes.extend((0..shape.dimensions.len()).map(|dimension| format!("dimension-{dimension}")));
    let per_switch = shape.nodes_per_switch;
    let mut builder = Builder::new(switches * u64::from(per_switch), switches, classes)?;
    for switch in (0..switches as u32).map(SwitchId) {
        for port in 0..per_switch {
            builder.link(
                [End::Node(NodeId(switch.0 * per_switch + port)), End::Switch(switch, PortId(port))],
                0,
            );
        }
    }
    let mut stride = 1;
    for (dimension, &size) in shape.dimensions.iter().enumerate() {
        let (higher, lower) =
            (shape.port(dimension, Direction::Higher), shape.port(dimension, Direction::Lower));
        for switch in (0..switches as u32).map(SwitchId).filter(|_| size > 1) {
            let here = shape.coordinate(switch, dimension);
            let next = if here + 1 < size {
                switch.0 + stride
            } else if shape.wraps {
                switch.0 - here * stride
            } else {
                continue;
            };
            let ends = [End::Switch(switch, higher), End::Switch(SwitchId(next), lower)];
            builder.link(ends, dimension as u32 + 1);
        }
        stride *= size;
    }
    builder.finish(Shape::Grid(shape))
}
