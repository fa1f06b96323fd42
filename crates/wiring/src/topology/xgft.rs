//! Extended generalized fat trees: any number of ports down and up at every level, and parallel cables. A tapered tree has
//! fewer ports up than down; leaf-spine is a tree of two levels.
//!
//! Sources: Öhring, Ibel, Das and Kumar, "On generalized fat trees", IPPS 1995; with parallel cables Zahavi, "D-Mod-K
//! routing providing non-blocking traffic for shift permutations on real life fat trees", CCIT report 776, 2010. XGFT(h; m1
//! .. mh; w1 .. wh): a switch of level `i` has `m_i` below it, and what is below has `w_i` above it, by `p_i` cables each.
//! A node has one port, so `w1` and `p1` are 1.
//!
//! Levels are numbered from 1 (leaf switches). The switches of level `i` are named by their subtree `s`, whose nodes are `s
//! M_i ..` with `M_i = m1 .. m_i`, and by their index in `0 .. W_i` with `W_i = w1 .. w_i`. Above `(s, w)` by way `u`
//! stands `(s / m, w + u W_i)`. The first ports of a switch lead down, cables side by side; port `q` of those up leads way
//! `q mod w` by cable `q / w`.
//!
//! **Partly populated.** A tree may have the first of its nodes only. Then it has the switches that have nodes below, and ports
//! down of theirs stay free.
//!
//! **Rail-optimised.** Where servers have `k` NICs each, a node is a NIC with what uses it, such as an accelerator, and node
//! `k s + i` is NIC `i` of server `s`. `k` leaf switches make a pod of `m1` servers, and NIC `i` of each of those is at leaf
//! `i` of the pod: *rail* `i`. So nodes have other places in the tree than their numbers. Source: NVIDIA, "DGX SuperPOD
//! reference architecture", 2023, compute fabric; with one NIC a server is a node.

use super::{Builder, End, Layout, MAX_COMPONENTS, Shape, Structure, Topology, TopologyError};
use crate::{NodeId, PortId, SwitchId};

/// Coordinates in an extended generalized fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XgftShape {
    /// m: what is below a switch, by level, the leaves first.
    pub down: Vec<u32>,
    /// w: what is above it, below a level.
    pub up: Vec<u32>,
    /// p: cables between the two.
    pub cables: Vec<u32>,
    /// k: NICs of a server, each of which is a node.
    nics: u32,
    /// Nodes that are there.
    nodes: u64,
    /// By level, and one before the leaves: nodes that fit below a switch, its indices, and the number of the first switch.
    below: Vec<u64>,
    indices: Vec<u64>,
    first: Vec<u64>,
}

impl XgftShape {
    /// The shape, where `cables` has one number for each level, or one for all above the nodes, and servers have `nics` NICs;
    /// with the first `populated` nodes, or all.
    pub(super) fn new(
        [down, up, cables]: [&[u32]; 3],
        nics: u32,
        populated: Option<u32>,
    ) -> Result<Self, TopologyError> {
        let size = |what: &str| TopologyError::Size(what.into());
        let levels = down.len();
        let cables = match *cables {
            [one] if levels > 0 => [&[1], &vec![one; levels - 1][..]].concat(),
            _ => cables.to_vec(),
        };
        if levels == 0 || up.len() != levels || cables.len() != levels {
            return Err(size("a tree has a level or more, and as many numbers up and of cables as down"));
        }
        if [down, up, &cables].concat().contains(&0) || up[0] != 1 || cables[0] != 1 {
            return Err(size("a tree has one cable to each node, and one or more of everything else"));
        }
        let product = |numbers: &[u32]| {
            let multiply = |product: u64, &factor: &u32| product.checked_mul(factor.into());
            numbers.iter().try_fold(1, multiply).filter(|&product| product <= MAX_COMPONENTS)
        };
        let products = |numbers: &[u32]| {
            let all: Option<Vec<u64>> = (0..=levels).map(|level| product(&numbers[..level])).collect();
            all.ok_or_else(|| size("the tree is too large"))
        };
        let (below, indices) = (products(down)?, products(up)?);
        let leaves = below[levels] / u64::from(down[0]);
        if nics == 0 || !leaves.is_multiple_of(nics.into()) {
            return Err(size(
                "a pod has as many leaf switches as a server has NICs, and there are whole pods",
            ));
        }
        let nodes = populated.map_or(below[levels], u64::from);
        let pod = if nics == 1 { 1 } else { nics * down[0] };
        if nodes == 0 || nodes > below[levels] || !nodes.is_multiple_of(pod.into()) {
            return Err(size(
                "a tree is populated with a node or more, as many as fit, and whole pods of servers",
            ));
        }
        let mut first = vec![0, 0];
        for level in 1..=levels {
            let switches = nodes.div_ceil(below[level]) * indices[level];
            first.push(first[level] + switches);
        }
        Ok(XgftShape { down: down.to_vec(), up: up.to_vec(), cables, nics, nodes, below, indices, first })
    }

    /// Levels of switches.
    fn levels(&self) -> usize {
        self.down.len()
    }

    /// The level of a switch from 1, its subtree and its index.
    #[must_use]
    pub fn place(&self, switch: SwitchId) -> (usize, u64, u64) {
        let number = u64::from(switch.0);
        let level = self.first.partition_point(|&first| first <= number) - 1;
        let level = level.min(self.levels());
        let within = number - self.first[level];
        (level, within / self.indices[level], within % self.indices[level])
    }

    fn switch(&self, level: usize, subtree: u64, index: u64) -> SwitchId {
        SwitchId((self.first[level] + subtree * self.indices[level] + index) as u32)
    }

    /// Where `node` is among the nodes of all leaf switches, from the first one on.
    fn slot(&self, node: NodeId) -> u64 {
        let (node, nics, servers) = (u64::from(node.0), u64::from(self.nics), u64::from(self.down[0]));
        if nics == 1 {
            return node;
        }
        let (server, nic) = (node / nics, node % nics);
        (server / servers * nics + nic) * servers + server % servers
    }

    /// Whether `node` is below a switch of this level and subtree.
    #[must_use]
    pub fn is_below(&self, level: usize, subtree: u64, node: NodeId) -> bool {
        self.slot(node) / self.below[level] == subtree
    }

    /// The port down towards `node`, over the cable that stands for it.
    #[must_use]
    pub fn port_down(&self, level: usize, node: NodeId) -> PortId {
        let slot = self.slot(node);
        let child = slot / self.below[level - 1] % u64::from(self.down[level - 1]);
        let (cables, ways) = (u64::from(self.cables[level - 1]), u64::from(self.up[level - 1]));
        let cable = slot / self.indices[level - 1] / ways % cables;
        PortId((child * cables + cable) as u32)
    }

    /// The port up that stands for `node`: destination modulo the ports there are.
    #[must_use]
    pub fn port_up(&self, level: usize, node: NodeId) -> PortId {
        let ports = u64::from(self.up[level]) * u64::from(self.cables[level]);
        PortId(self.ports_down(level) + (self.slot(node) / self.indices[level] % ports) as u32)
    }

    /// Whether a switch has one port to each of those below it.
    #[must_use]
    pub fn is_simple(&self) -> bool {
        self.cables.iter().all(|&cables| cables == 1)
    }

    /// The ports up of a switch of `level`; none at the top.
    #[must_use]
    pub fn ports_up(&self, level: usize) -> std::ops::Range<u32> {
        let first = self.ports_down(level);
        let count = if level < self.levels() { self.up[level] * self.cables[level] } else { 0 };
        first..first + count
    }

    /// Ports down of a switch of `level`.
    fn ports_down(&self, level: usize) -> u32 {
        self.down[level - 1] * self.cables[level - 1]
    }

    /// Links from `level` to the next, or from the nodes to level 1.
    fn links_above(&self, level: usize) -> u64 {
        let below = self.below[self.levels()] / self.below[level] * self.indices[level];
        below * u64::from(self.up[level]) * u64::from(self.cables[level])
    }
}

impl Structure for XgftShape {
    fn hops_max(&self) -> Option<u32> {
        Some(2 * self.levels() as u32 - 1)
    }

    /// Half of the subtrees below the top are cut off where they have the fewest links up.
    fn bisection_links(&self, topology: &Topology) -> Option<u64> {
        if self.nodes < self.below[self.levels()] {
            return None;
        }
        let fewest = (1..self.levels()).map(|level| self.links_above(level)).min();
        let top = self.down[self.levels() - 1];
        let links = fewest.unwrap_or_else(|| u64::from(topology.nodes())) / 2;
        top.is_multiple_of(2).then_some(links)
    }

    fn is_in_upper_half(&self, topology: &Topology, node: NodeId) -> bool {
        self.slot(node) >= u64::from(topology.nodes() / 2)
    }

    /// Servers with several NICs: NIC by NIC, and server by server.
    fn node_dimensions(&self, topology: &Topology) -> Vec<u32> {
        match self.nics {
            1 => vec![topology.nodes()],
            nics => vec![nics, topology.nodes() / nics],
        }
    }

    /// Links are built from below.
    fn directions(&self) -> [&'static str; 2] {
        ["up", "down"]
    }

    fn layout(&self, topology: &Topology) -> Layout<'_> {
        if topology.switches() == 1 { Layout::Star } else { Layout::Levels }
    }
}

pub(super) fn build(shape: XgftShape) -> Result<Topology, TopologyError> {
    let levels = shape.levels();
    let mut classes = vec!["node".to_owned()];
    classes.extend((1..levels).map(|level| format!("level-{level}")));
    let mut builder = Builder::new(shape.nodes, shape.first[levels + 1], classes)?;
    for node in (0..builder.nodes).map(NodeId) {
        let (slot, servers) = (shape.slot(node), u64::from(shape.down[0]));
        let leaf = End::Switch(SwitchId((slot / servers) as u32), PortId((slot % servers) as u32));
        builder.link([End::Node(node), leaf], 0);
    }
    if shape.nics > 1 {
        let nodes: Vec<NodeId> = (0..builder.nodes).map(NodeId).collect();
        builder.servers = nodes.chunks(shape.nics as usize).map(<[NodeId]>::to_vec).collect();
    }
    for level in 1..levels {
        let (down, ways, cables) = (u64::from(shape.down[level]), shape.up[level], shape.cables[level]);
        for here in (shape.first[level]..shape.first[level + 1]).map(|number| SwitchId(number as u32)) {
            let (_, subtree, index) = shape.place(here);
            for (cable, way) in (0..cables).flat_map(|cable| (0..ways).map(move |way| (cable, way))) {
                let above =
                    shape.switch(level + 1, subtree / down, index + u64::from(way) * shape.indices[level]);
                let port = (subtree % down) as u32 * cables + cable;
                let up = PortId(shape.ports_down(level) + cable * ways + way);
                builder.link([End::Switch(here, up), End::Switch(above, PortId(port))], level as u32);
            }
        }
    }
    builder.finish(Shape::Xgft(shape))
}
