//! HyperX: in every dimension each switch is joined to all others that differ from it there alone. With one link between
//! two switches and as many nodes as the sides are long it is a flattened butterfly; of one dimension it is a full mesh;
//! with sides of two it is a hypercube.
//!
//! Source: Ahn et al., "HyperX: topology, routing, and packaging of efficient large-scale networks", SC 2009, section 3.1: L
//! dimensions of S switches, K links between two, T nodes on a switch; S and K may differ by dimension.
//!
//! Switches are numbered as in a grid, dimension 0 first. The first ports hold the nodes; then come those of dimension 0, by
//! the coordinate of the switch that they lead to, parallel links side by side, then those of dimension 1, and so on.

use super::{Builder, End, Layout, Shape, Spots, Structure, Topology, TopologyError};
use crate::NodeId;
use crate::{PortId, SwitchId};

/// Coordinates in a HyperX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyperXShape {
    /// Switches in each dimension.
    pub dimensions: Vec<u32>,
    /// Links between two switches of a row, by dimension.
    pub links: Vec<u32>,
    /// Nodes on every switch.
    pub nodes_per_switch: u32,
}

impl HyperXShape {
    /// The shape, where `links` has one number for each dimension, or one for all.
    pub(super) fn new(
        dimensions: &[u32],
        links: &[u32],
        nodes_per_switch: u32,
    ) -> Result<Self, TopologyError> {
        let fits = links.len() == 1 || links.len() == dimensions.len();
        if dimensions.is_empty() || dimensions.contains(&0) || nodes_per_switch == 0 {
            let what =
                "a HyperX has at least one dimension, of at least one switch each, with at least one node";
            return Err(TopologyError::Size(what.into()));
        }
        if !fits || links.contains(&0) {
            let what = "a HyperX has one or more links between two switches, the same or a number for each dimension";
            return Err(TopologyError::Size(what.into()));
        }
        let links = (0..dimensions.len()).map(|dimension| links[dimension % links.len()]).collect();
        Ok(HyperXShape { dimensions: dimensions.to_vec(), links, nodes_per_switch })
    }

    /// Ports of a switch before those of `dimension`.
    fn first_port(&self, dimension: usize) -> u32 {
        let sides = self.dimensions[..dimension].iter().zip(&self.links);
        self.nodes_per_switch + sides.map(|(size, links)| (size - 1) * links).sum::<u32>()
    }

    /// The port by which a switch at coordinate `here` of `dimension` reaches `there`, over one of the parallel links.
    #[must_use]
    pub fn port(&self, dimension: usize, here: u32, there: u32, link: u32) -> PortId {
        let place = if there < here { there } else { there - 1 };
        PortId(self.first_port(dimension) + place * self.links[dimension] + link)
    }

    /// Links of a row that join its halves.
    fn links_across(&self, dimension: usize) -> u64 {
        let half = u64::from(self.dimensions[dimension] / 2);
        let rest = u64::from(self.dimensions[dimension]) - half;
        half * rest * u64::from(self.links[dimension])
    }

    fn switches(&self) -> u64 {
        self.dimensions.iter().map(|&size| u64::from(size)).product()
    }

    /// The dimension of even size that the fewest links cross, and how many.
    fn narrowest(&self) -> Option<(u64, usize)> {
        let even =
            (0..self.dimensions.len()).filter(|&dimension| self.dimensions[dimension].is_multiple_of(2));
        even.map(|dimension| {
            (
                self.switches() / u64::from(self.dimensions[dimension]) * self.links_across(dimension),
                dimension,
            )
        })
        .min()
    }

    /// The coordinate of `switch` in `dimension`.
    fn coordinate(&self, switch: SwitchId, dimension: usize) -> u32 {
        switch.0 / self.dimensions[..dimension].iter().product::<u32>() % self.dimensions[dimension]
    }
}

impl Structure for HyperXShape {
    fn hops_max(&self) -> Option<u32> {
        Some(1 + self.dimensions.iter().filter(|&&size| size > 1).count() as u32)
    }

    /// Across a dimension of even size; of a HyperX without one it is not known.
    fn bisection_links(&self, _: &Topology) -> Option<u64> {
        self.narrowest().map(|(links, _)| links)
    }

    fn is_in_upper_half(&self, topology: &Topology, node: NodeId) -> bool {
        match self.narrowest() {
            Some((_, dimension)) => {
                self.coordinate(topology.home(node).0, dimension) >= self.dimensions[dimension] / 2
            }
            None => node.0 >= topology.nodes() / 2,
        }
    }

    /// The nodes of a switch extend its first dimension: numbers run through them first.
    fn node_dimensions(&self, _: &Topology) -> Vec<u32> {
        let mut dimensions = self.dimensions.clone();
        dimensions[0] *= self.nodes_per_switch;
        dimensions
    }

    /// A row for dimension 0 and a column for dimension 1, further dimensions as a grid of such grids; links are bowed, since
    /// those of a row lie on one another.
    fn layout(&self, topology: &Topology) -> Layout<'_> {
        let stretch = |dimension: usize| if dimension < 2 { 1.0 } else { 1.35 };
        let spot = |switch| {
            let (mut at, mut step) = ([0.0, 0.0], [1.0, 1.0]);
            for dimension in 0..self.dimensions.len() {
                let axis = dimension % 2;
                step[axis] *= stretch(dimension);
                at[axis] += f64::from(self.coordinate(SwitchId(switch), dimension)) * step[axis];
                step[axis] *= f64::from(self.dimensions[dimension]);
            }
            at
        };
        Layout::Spots(Spots::new((0..topology.switches()).map(spot).collect(), true))
    }
}

pub(super) fn build(shape: HyperXShape) -> Result<Topology, TopologyError> {
    let too_many = || TopologyError::Size(format!("{:?} switches are too many", shape.dimensions));
    let multiply = |product: u64, &size: &u32| product.checked_mul(u64::from(size));
    let switches = shape.dimensions.iter().try_fold(1, multiply).ok_or_else(too_many)?;
    let nodes = switches.checked_mul(shape.nodes_per_switch.into()).ok_or_else(too_many)?;
    let mut classes = vec!["node".to_owned()];
    classes.extend((0..shape.dimensions.len()).map(|dimension| format!("dimension-{dimension}")));
    let mut builder = Builder::new(nodes, switches, classes)?;
    builder.nodes(shape.nodes_per_switch);
    let mut stride = 1;
    for (dimension, &size) in shape.dimensions.iter().enumerate() {
        for switch in (0..switches as u32).map(SwitchId) {
            let here = shape.coordinate(switch, dimension);
            for (there, link) in
                (here + 1..size).flat_map(|there| (0..shape.links[dimension]).map(move |link| (there, link)))
            {
                let other = SwitchId(switch.0 + (there - here) * stride);
                let ends = [
                    End::Switch(switch, shape.port(dimension, here, there, link)),
                    End::Switch(other, shape.port(dimension, there, here, link)),
                ];
                builder.link(ends, dimension as u32 + 1);
            }
        }
        stride *= size;
    }
    builder.finish(Shape::HyperX(shape))
}
