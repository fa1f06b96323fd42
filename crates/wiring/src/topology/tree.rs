//! Fat trees, in both conventions.
//!
//! Levels are numbered from 0 (leaf switches, which hold the nodes). With `k` ports down and `k` up, a switch at level
//! `i` below the top is named by its subtree `s` (nodes `s k^(i+1) ..`) and its index `w` in `0..k^i` within that
//! subtree. Up-port `u` of switch `(s, w)` leads to switch `(s / k, w + u k^i)` one level up, and arrives at its
//! down-port `s % k`.
//!
//! * **FT(p, n)**, the *p-port n-tree* (dawning5000.txt section 2.3): top switches turn all `p = 2k` ports down, so
//!   there are `2 k^n` nodes, `2 k^(n-1)` switches a level and `k^(n-1)` at the top.
//! * The **k-ary n-tree**: top switches leave their `k` up-ports unused: `k^n` nodes, `k^(n-1)` switches a level.

use super::{Builder, End, Layout, Shape, Structure, Topology, TopologyError, power};
use crate::NodeId;
use crate::{PortId, SwitchId};

/// Coordinates in a fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Ports down of a switch below the top, and its ports up: `k`.
    pub arity: u32,
    /// Ports down of a top switch: `k` or `2k`.
    pub top_arity: u32,
    /// Levels of switches: `n`.
    pub levels: u32,
    /// `k^i` for `i` in `0..=n`.
    powers: Vec<u64>,
}

impl TreeShape {
    fn new(arity: u32, top_arity: u32, levels: u32) -> Result<Self, TopologyError> {
        if arity == 0 || levels == 0 {
            return Err(TopologyError::Size("a tree has at least one port down and one level".into()));
        }
        let powers =
            (0..=levels).map(|i| power(u64::from(arity), i, "the tree")).collect::<Result<Vec<u64>, _>>()?;
        Ok(TreeShape { arity, top_arity, levels, powers })
    }

    /// `k^exponent`.
    #[must_use]
    pub fn power(&self, exponent: u32) -> u64 {
        self.powers[exponent as usize]
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        u64::from(self.top_arity) * self.power(self.levels - 1)
    }

    /// Switches of `level`.
    #[must_use]
    pub fn switches_at(&self, level: u32) -> u64 {
        if level + 1 == self.levels {
            self.power(level)
        } else {
            u64::from(self.top_arity) * self.power(self.levels - 2)
        }
    }

    /// Number of the first switch of `level`.
    #[must_use]
    pub fn first_switch(&self, level: u32) -> u64 {
        if level == 0 { 0 } else { u64::from(level) * self.switches_at(0) }
    }

    /// Level, subtree and index within the subtree of `switch`.
    #[must_use]
    pub fn place(&self, switch: SwitchId) -> (u32, u64, u64) {
        let number = u64::from(switch.0);
        let level =
            if self.levels == 1 { 0 } else { ((number / self.switches_at(0)) as u32).min(self.levels - 1) };
        let within = number - self.first_switch(level);
        if level + 1 == self.levels {
            (level, 0, within)
        } else {
            (level, within / self.power(level), within % self.power(level))
        }
    }

    /// The switch at that place.
    #[must_use]
    pub fn switch(&self, level: u32, subtree: u64, index: u64) -> SwitchId {
        let within = if level + 1 == self.levels { index } else { subtree * self.power(level) + index };
        SwitchId::new((self.first_switch(level) + within) as usize)
    }
}

impl Structure for TreeShape {
    fn hops_max(&self) -> Option<u32> {
        Some(2 * self.levels - 1)
    }

    /// Every level has as many links up as there are nodes below: half of the nodes reach the other half.
    fn bisection_links(&self, topology: &Topology) -> Option<u64> {
        Some(u64::from(topology.nodes() / 2))
    }

    /// Links are built from below.
    fn directions(&self) -> [&'static str; 2] {
        ["up", "down"]
    }

    fn layout(&self, _: &Topology) -> Layout<'_> {
        Layout::Levels
    }
}

pub(super) fn fat_tree(ports: u32, levels: u32) -> Result<Topology, TopologyError> {
    if ports < 2 || ports % 2 == 1 {
        return Err(TopologyError::Size(format!(
            "{ports} ports: expected an even number, half down and half up"
        )));
    }
    build(TreeShape::new(ports / 2, ports, levels)?)
}

pub(super) fn kary_ntree(arity: u32, levels: u32) -> Result<Topology, TopologyError> {
    build(TreeShape::new(arity, arity, levels)?)
}

fn build(shape: TreeShape) -> Result<Topology, TopologyError> {
    let arity = u64::from(shape.arity);
    let switches = (0..shape.levels).map(|level| shape.switches_at(level)).sum();
    let mut classes = vec!["node".to_owned()];
    classes.extend((1..shape.levels).map(|level| format!("level-{level}")));
    let mut builder = Builder::new(shape.nodes(), switches, classes)?;
    let leaf_ports = if shape.levels == 1 { u64::from(shape.top_arity) } else { arity };
    for node in 0..shape.nodes() {
        let (leaf, port) = (SwitchId::new((node / leaf_ports) as usize), PortId((node % leaf_ports) as u32));
        builder.link([End::Node(NodeId::new(node as usize)), End::Switch(leaf, port)], 0);
    }
    for level in 0..shape.levels - 1 {
        let parents_top = level + 2 == shape.levels;
        for number in 0..shape.switches_at(level) {
            let child = SwitchId::new((shape.first_switch(level) + number) as usize);
            let (_, subtree, index) = shape.place(child);
            for up in 0..arity {
                let parent_index = index + up * shape.power(level);
                let (above, down) =
                    if parents_top { (0, subtree) } else { (subtree / arity, subtree % arity) };
                let parent = shape.switch(level + 1, above, parent_index);
                let ends = [
                    End::Switch(child, PortId((arity + up) as u32)),
                    End::Switch(parent, PortId(down as u32)),
                ];
                builder.link(ends, level + 1);
            }
        }
    }
    builder.finish(Shape::Tree(shape))
}
