//! What a topology knows of itself beyond its links: each kind says it in its own file, and nobody else asks which kind it is.

use super::{GridShape, Parts, Shape, StageShape, Topology};
use crate::NodeId;

/// What one kind of topology knows of itself. Arguments named `topology` are the one that it is the structure of.
pub trait Structure {
    /// No less than the switches that any way crosses; `None` if only their number bounds it.
    fn hops_max(&self) -> Option<u32> {
        None
    }

    /// Links between the halves: the fewest that cut the nodes in two; `None` where that is not known.
    fn bisection_links(&self, topology: &Topology) -> Option<u64> {
        let _ = topology;
        None
    }

    /// On which side of those links a node is.
    fn is_in_upper_half(&self, topology: &Topology, node: NodeId) -> bool {
        node.0 >= topology.nodes() / 2
    }

    /// What the directions of a link between switches are called: from its first end to its second, and back.
    fn directions(&self) -> [&'static str; 2] {
        ["either", "either"]
    }

    /// The numbers of nodes as coordinates, for traffic patterns that go by dimension: nodes in each, dimension 0 first.
    fn node_dimensions(&self, topology: &Topology) -> Vec<u32> {
        vec![topology.nodes()]
    }

    /// Its [`Parts`] above switches, the smallest first, where it knows them better than its links do.
    fn parts(&self, topology: &Topology) -> Option<Vec<Parts>> {
        let _ = topology;
        None
    }

    /// What its levels of switches are called, from the nodes up, and a switch that is above all parts: `None` where they
    /// have no names but their numbers.
    fn levels(&self) -> Option<(&'static [&'static str], &'static str)> {
        None
    }

    /// How it is drawn.
    fn layout(&self, topology: &Topology) -> Layout<'_>;
}

/// How a topology is drawn.
#[derive(Clone, Debug)]
pub enum Layout<'a> {
    /// A row for each level of switches, nodes below.
    Levels,
    /// Switches at their coordinates.
    Grid(&'a GridShape),
    /// A column for each stage, from the left to the right.
    Columns(&'a StageShape),
    /// Switches where the topology says.
    Spots(Spots),
    /// One switch with its nodes around it.
    Star,
    /// Pulled into shape by the links.
    Springs,
}

/// Where switches stand: across and down, from 0 to 1.
#[derive(Clone, Debug)]
pub struct Spots {
    /// By switch.
    pub at: Vec<[f64; 2]>,
    /// Width by height.
    pub ratio: f64,
    /// Whether links are bowed, the longer the more, since many lie on one line.
    pub is_bowed: bool,
}

impl Spots {
    /// Of any coordinates.
    #[must_use]
    pub fn new(mut at: Vec<[f64; 2]>, is_bowed: bool) -> Self {
        let reach = [0, 1].map(|axis| {
            let all = || at.iter().map(|spot| spot[axis]);
            let (low, high) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
            (low, high - low)
        });
        for spot in &mut at {
            // What does not reach at all stands in the middle.
            *spot = [0, 1].map(|axis| match reach[axis] {
                (low, size) if size > 0.0 => (spot[axis] - low) / size,
                _ => 0.5,
            });
        }
        let ratio = (reach[0].1 / reach[1].1.max(1e-9)).clamp(1.0, 4.0);
        Spots { at, ratio, is_bowed }
    }
}

/// No structure.
struct Irregular;

impl Structure for Irregular {
    fn bisection_links(&self, topology: &Topology) -> Option<u64> {
        (topology.switches() == 1).then(|| u64::from(topology.nodes() / 2))
    }

    fn layout(&self, topology: &Topology) -> Layout<'_> {
        if topology.switches() == 1 { Layout::Star } else { Layout::Springs }
    }
}

impl Shape {
    /// What stands in the file of each kind.
    pub(super) fn structure(&self) -> &dyn Structure {
        match self {
            Shape::Tree(tree) => tree,
            Shape::Xgft(tree) => tree,
            Shape::ThTree(tree) => tree,
            Shape::Grid(grid) => grid,
            Shape::HyperX(hyperx) => hyperx,
            Shape::Dragonfly(dragonfly) => dragonfly,
            Shape::Stages(stages) => stages,
            Shape::Irregular => &Irregular,
        }
    }
}

impl Topology {
    /// See [`Structure::hops_max`]; the number of switches where nothing less is known.
    #[must_use]
    pub fn hops_max(&self) -> u32 {
        self.shape().structure().hops_max().unwrap_or(self.switches())
    }

    /// See [`Structure::bisection_links`].
    #[must_use]
    pub fn bisection_links(&self) -> Option<u64> {
        self.shape().structure().bisection_links(self)
    }

    /// See [`Structure::is_in_upper_half`].
    #[must_use]
    pub fn is_in_upper_half(&self, node: NodeId) -> bool {
        self.shape().structure().is_in_upper_half(self, node)
    }

    /// See [`Structure::directions`].
    #[must_use]
    pub fn directions(&self) -> [&'static str; 2] {
        self.shape().structure().directions()
    }

    /// See [`Structure::node_dimensions`].
    #[must_use]
    pub fn node_dimensions(&self) -> Vec<u32> {
        self.shape().structure().node_dimensions(self)
    }

    /// See [`Structure::levels`].
    #[must_use]
    pub fn level_names(&self) -> Option<(&'static [&'static str], &'static str)> {
        self.shape().structure().levels()
    }

    /// See [`Structure::layout`].
    #[must_use]
    pub fn layout(&self) -> Layout<'_> {
        self.shape().structure().layout(self)
    }
}
