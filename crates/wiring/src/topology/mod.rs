//! Topologies: immutable graphs of switches, nodes and links. They know nothing of routing, VCs or drawing.
//!
//! A [`Topology`] is one rail. Every link belongs to a *class* (`node`, `level-1`, `dimension-0`, ...), so that a
//! machine can give cable lengths by class. [`Shape`] keeps the coordinates that structured routings compute with.

mod dragonfly;
mod dragonfly_plus;
mod grid;
mod hyperx;
mod names;
mod parts;
mod random_regular;
mod slim_fly;
mod stages;
mod structure;
pub(crate) mod th_tree;
mod tree;
mod xgft;

pub use dragonfly::{Arrangement, DragonflyShape};
pub use dragonfly_plus::DragonflyPlus;
pub use grid::{Direction, GridShape};
pub use hyperx::HyperXShape;
pub use names::Names;
pub use parts::Parts;
pub use random_regular::RandomRegular;
pub use stages::{StageShape, StageWiring};
pub use structure::{Layout, Spots, Structure};
pub use th_tree::{Chip, Misfit, Stage, ThTree};
pub use tree::TreeShape;
pub use xgft::XgftShape;

use crate::NodeId;
use crate::{PortId, SwitchId};

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologySettings {
    /// FT(p, n): `n` levels of `p`-port switches, all ports used, `2 (p/2)^n` nodes.
    FatTree {
        /// Ports of a switch, even.
        ports: u32,
        /// Levels of switches.
        levels: u32,
    },
    /// The k-ary n-tree: `n` levels of `k^(n-1)` switches with `k` ports down and `k` up (unused at the top), `k^n` nodes.
    KaryNTree {
        /// Ports down (and up) of a switch.
        arity: u32,
        /// Levels of switches.
        levels: u32,
    },
    /// An extended generalized fat tree.
    Xgft {
        /// What is below a switch, by level.
        down: Vec<u32>,
        /// What is above a node, a leaf switch, and so on: 1 first.
        up: Vec<u32>,
        /// Cables between two of them: a number for each level, 1 first, or one for all above the nodes.
        cables: Vec<u32>,
        /// NICs of a server, each of which is a node, at a leaf switch of its own.
        nics: u32,
        /// Nodes that are there, the first ones; all unless given.
        populated: Option<u32>,
    },
    /// The fat tree of Tianhe-2.
    ThTree(ThTree),
    /// A k-ary n-cube without wrap-around, with `nodes_per_switch` nodes on every switch.
    Mesh {
        /// Switches in each dimension.
        dimensions: Vec<u32>,
        /// Nodes on every switch.
        nodes_per_switch: u32,
    },
    /// A k-ary n-cube with wrap-around.
    Torus {
        /// Switches in each dimension.
        dimensions: Vec<u32>,
        /// Nodes on every switch.
        nodes_per_switch: u32,
    },
    /// A HyperX: every row of every dimension is a full mesh.
    HyperX {
        /// Switches in each dimension.
        dimensions: Vec<u32>,
        /// Links between two switches of a row: a number for each dimension, or one for all.
        links: Vec<u32>,
        /// Nodes on every switch.
        nodes_per_switch: u32,
    },
    /// A dragonfly.
    Dragonfly(DragonflyShape),
    /// A dragonfly whose groups are leaf-spine networks.
    DragonflyPlus(DragonflyPlus),
    /// A graph of diameter two.
    SlimFly {
        /// An odd prime: there are `2 q^2` switches.
        q: u32,
        /// Nodes on every switch.
        nodes_per_switch: u32,
    },
    /// A graph of switches with as many links each, drawn at random.
    RandomRegular(RandomRegular),
    /// A unidirectional multistage network: `stages` of `arity^(stages-1)` switches, `arity^stages` nodes.
    Stages {
        /// How the stages are wired.
        wiring: StageWiring,
        /// Inputs (and outputs) of a switch.
        arity: u32,
        /// Stages of switches.
        stages: u32,
    },
    /// One switch with a node on each of its first `nodes` ports.
    Single {
        /// Nodes.
        nodes: u32,
    },
    /// Whatever a file says.
    Graph(Graph),
}

/// An explicit graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of switches.
    pub switches: u32,
    /// The links, each between two different ends; a port is used once.
    pub links: Vec<GraphLink>,
    /// The servers that have several NICs: their nodes, each in one server at most.
    pub servers: Vec<Vec<NodeId>>,
}

/// A link of an explicit graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphLink {
    /// Its two ends.
    pub ends: [End; 2],
    /// Cable length in millimetres; `None` for that of its class (`node` or `switch`).
    pub length_mm: Option<u64>,
}

/// One end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The NIC port of a node.
    Node(NodeId),
    /// A port of a switch.
    Switch(SwitchId, PortId),
}

flitway_engine::id! {
    /// A link of one rail, from 0.
    LinkId
}

/// A link: a channel in each direction between its two ends, or one from the first to the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its two ends.
    pub ends: [End; 2],
    /// Whether the channel from the first end to the second is all there is.
    pub is_one_way: bool,
    /// Index into [`Topology::classes`].
    pub class: u32,
    /// Cable length in millimetres, where it differs from that of the class.
    pub length_mm: Option<u64>,
}

/// The coordinates behind a topology, for routings that compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A fat tree of either convention.
    Tree(TreeShape),
    /// An extended generalized fat tree.
    Xgft(XgftShape),
    /// The fat tree of Tianhe-2.
    ThTree(ThTree),
    /// A mesh or torus.
    Grid(GridShape),
    /// A HyperX.
    HyperX(HyperXShape),
    /// A dragonfly.
    Dragonfly(DragonflyShape),
    /// A unidirectional multistage network.
    Stages(StageShape),
    /// No structure that a routing could use.
    Irregular,
}

/// A built topology: one rail.
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: u32,
    classes: Vec<String>,
    links: Vec<Link>,
    /// `wires[switch][port]`: the link out of there and the end it leads to.
    wires: Wires,
    /// The switch port each node sends to, and the link between.
    homes: Vec<Home>,
    /// The same the other way, where links are one-way; otherwise they are no others.
    incoming: Option<Incoming>,
    /// The servers that have several NICs, each of which is a node, by their numbers there.
    servers: Vec<Vec<NodeId>>,
    names: Names,
    shape: Shape,
}

type Wires = Vec<Vec<Option<(LinkId, End)>>>;
type Home = (SwitchId, PortId, LinkId);

/// What leads to switches and nodes.
#[derive(Clone, Debug)]
struct Incoming {
    /// `feeders[switch][port]`: the link into there and the end that sends on it.
    feeders: Wires,
    /// The switch port that sends to each node, and the link between.
    exits: Vec<Home>,
}

/// Why settings do not describe a topology. The machine reader checks the same limits with a position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyError {
    /// A size is zero, odd where it must be even, or too large to build.
    Size(String),
    /// A port is used twice, or beyond the ports of its switch.
    Port(SwitchId, PortId),
    /// A node is not on exactly one link.
    Node(NodeId),
    /// A switch cannot be reached from switch 0.
    Unreachable(SwitchId),
}

impl std::fmt::Display for TopologyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TopologyError::Size(what) => f.write_str(what),
            TopologyError::Port(switch, port) => write!(f, "port {port} of switch {switch} is used twice"),
            TopologyError::Node(node) => write!(f, "node {node} is not on exactly one link"),
            TopologyError::Unreachable(switch) => write!(f, "switch {switch} is not connected to switch 0"),
        }
    }
}

impl std::error::Error for TopologyError {}

/// The most ports of a switch that topologies are for.
pub const PORTS_MAX: u32 = 512;

/// The most nodes or switches that can be built.
pub const MAX_COMPONENTS: u64 = 1 << 24;

impl Topology {
    /// Builds what `settings` describe.
    ///
    /// # Errors
    /// If a size is out of range, or an explicit graph is not well formed.
    pub fn build(settings: &TopologySettings) -> Result<Self, TopologyError> {
        match settings {
            TopologySettings::FatTree { ports, levels } => tree::fat_tree(*ports, *levels),
            TopologySettings::KaryNTree { arity, levels } => tree::kary_ntree(*arity, *levels),
            TopologySettings::Xgft { down, up, cables, nics, populated } => {
                xgft::build(XgftShape::new([down, up, cables], *nics, *populated)?)
            }
            TopologySettings::ThTree(tree) => th_tree::build(tree),
            TopologySettings::Mesh { dimensions, nodes_per_switch } => {
                grid::build(GridShape::new(dimensions, *nodes_per_switch, false)?)
            }
            TopologySettings::Torus { dimensions, nodes_per_switch } => {
                grid::build(GridShape::new(dimensions, *nodes_per_switch, true)?)
            }
            TopologySettings::HyperX { dimensions, links, nodes_per_switch } => {
                hyperx::build(HyperXShape::new(dimensions, links, *nodes_per_switch)?)
            }
            TopologySettings::Dragonfly(shape) => dragonfly::build(shape.clone()),
            TopologySettings::DragonflyPlus(settings) => dragonfly_plus::build(settings),
            TopologySettings::SlimFly { q, nodes_per_switch } => slim_fly::build(*q, *nodes_per_switch),
            TopologySettings::RandomRegular(settings) => random_regular::build(settings),
            TopologySettings::Stages { wiring, arity, stages } => stages::build(*wiring, *arity, *stages),
            TopologySettings::Single { nodes } => single(*nodes),
            TopologySettings::Graph(graph) => explicit(graph),
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> u32 {
        self.wires.len() as u32
    }

    /// The servers that have several NICs: the nodes that these are.
    #[must_use]
    pub fn servers(&self) -> &[Vec<NodeId>] {
        &self.servers
    }

    /// The links.
    #[must_use]
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Names of the link classes.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The coordinates behind it.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Ports of `switch` that could be wired: one more than the highest that is.
    #[must_use]
    pub fn ports(&self, switch: SwitchId) -> u32 {
        self.wires[switch.index()].len() as u32
    }

    /// The most ports that any switch needs.
    #[must_use]
    pub fn ports_max(&self) -> u32 {
        self.wires.iter().map(Vec::len).max().unwrap_or(0) as u32
    }

    /// Whether links are one-way: then what comes in at a port does not come from where the port leads to.
    #[must_use]
    pub fn is_one_way(&self) -> bool {
        self.incoming.is_some()
    }

    /// The link out of a port of a switch and the end it leads to; `None` where nothing is wired.
    #[must_use]
    pub fn wire(&self, switch: SwitchId, port: PortId) -> Option<(LinkId, End)> {
        self.wires[switch.index()].get(port.index()).copied().flatten()
    }

    /// Whether a port of a switch leads to another switch.
    #[must_use]
    pub fn leads_to_switch(&self, switch: SwitchId, port: PortId) -> bool {
        matches!(self.wire(switch, port), Some((_, End::Switch(..))))
    }

    /// The link that `sender` sends on; `None` at a port where nothing is wired.
    #[must_use]
    pub fn link_of(&self, sender: End) -> Option<LinkId> {
        match sender {
            End::Node(node) => Some(self.node_link(node)),
            End::Switch(switch, port) => self.wire(switch, port).map(|(link, _)| link),
        }
    }

    /// The link into a port of a switch and the end that sends on it; `None` where nothing is wired.
    #[must_use]
    pub fn feeder(&self, switch: SwitchId, port: PortId) -> Option<(LinkId, End)> {
        let feeders = self.incoming.as_ref().map_or(&self.wires, |incoming| &incoming.feeders);
        feeders[switch.index()].get(port.index()).copied().flatten()
    }

    /// The switch port that `node` sends to.
    #[must_use]
    pub fn home(&self, node: NodeId) -> (SwitchId, PortId) {
        let (switch, port, _) = self.homes[node.index()];
        (switch, port)
    }

    /// The switch port that sends to `node`.
    #[must_use]
    pub fn exit(&self, node: NodeId) -> (SwitchId, PortId) {
        let exits = self.incoming.as_ref().map_or(&self.homes, |incoming| &incoming.exits);
        let (switch, port, _) = exits[node.index()];
        (switch, port)
    }

    /// The link from `node` to its switch.
    #[must_use]
    pub fn node_link(&self, node: NodeId) -> LinkId {
        self.homes[node.index()].2
    }
}

/// Collects links, then checks that they make a topology.
struct Builder {
    nodes: u32,
    switches: u32,
    classes: Vec<String>,
    links: Vec<Link>,
    servers: Vec<Vec<NodeId>>,
}

impl Builder {
    fn new(nodes: u64, switches: u64, classes: Vec<String>) -> Result<Self, TopologyError> {
        for (count, what) in [(nodes, "nodes"), (switches, "switches")] {
            if count == 0 || count > MAX_COMPONENTS {
                return Err(TopologyError::Size(format!("{count} {what}: expected 1 to {MAX_COMPONENTS}")));
            }
        }
        Ok(Builder {
            nodes: nodes as u32,
            switches: switches as u32,
            classes,
            links: Vec::new(),
            servers: Vec::new(),
        })
    }

    /// Links, of class 0, from the first ports of every switch to nodes of its own, which are numbered through the switches.
    fn nodes(&mut self, per_switch: u32) {
        for node in 0..self.nodes {
            let switch = End::Switch(SwitchId(node / per_switch), PortId(node % per_switch));
            self.link([End::Node(NodeId(node)), switch], 0);
        }
    }

    fn link(&mut self, ends: [End; 2], class: u32) {
        self.links.push(Link { ends, is_one_way: false, class, length_mm: None });
    }

    /// A link with a channel from the first of its ends only.
    fn one_way(&mut self, ends: [End; 2], class: u32) {
        self.links.push(Link { ends, is_one_way: true, class, length_mm: None });
    }

    fn finish(self, shape: Shape) -> Result<Topology, TopologyError> {
        let is_one_way = self.links.iter().any(|link| link.is_one_way);
        let mut out = Ends::new(self.nodes, self.switches);
        let mut into = is_one_way.then(|| Ends::new(self.nodes, self.switches));
        for (index, link) in self.links.iter().enumerate() {
            let ([first, second], id) = (link.ends, LinkId::new(index));
            out.add(first, second, id)?;
            if !link.is_one_way {
                out.add(second, first, id)?;
            }
            if let Some(into) = &mut into {
                into.add(second, first, id)?;
                if !link.is_one_way {
                    into.add(first, second, id)?;
                }
            }
        }
        let (wires, homes) = out.finish()?;
        let incoming = into.map(Ends::finish).transpose()?;
        let incoming = incoming.map(|(feeders, exits)| Incoming { feeders, exits });
        let Builder { nodes, classes, links, servers, .. } = self;
        let names = Names::default();
        let topology = Topology { nodes, classes, links, wires, homes, incoming, servers, names, shape };
        topology.first_unreachable().map_or(Ok(topology), |switch| Err(TopologyError::Unreachable(switch)))
    }
}

/// The other ends of links, as they are found.
struct Ends {
    wires: Wires,
    homes: Vec<Option<Home>>,
}

impl Ends {
    fn new(nodes: u32, switches: u32) -> Self {
        Ends { wires: vec![Vec::new(); switches as usize], homes: vec![None; nodes as usize] }
    }

    /// Link `id` joins `end` to `other`.
    fn add(&mut self, end: End, other: End, id: LinkId) -> Result<(), TopologyError> {
        match end {
            End::Switch(switch, port) => {
                let ports = &mut self.wires[switch.index()];
                if ports.len() <= port.index() {
                    ports.resize(port.index() + 1, None);
                }
                if ports[port.index()].replace((id, other)).is_some() {
                    return Err(TopologyError::Port(switch, port));
                }
            }
            End::Node(node) => match other {
                End::Switch(switch, port) if self.homes[node.index()].is_none() => {
                    self.homes[node.index()] = Some((switch, port, id));
                }
                _ => return Err(TopologyError::Node(node)),
            },
        }
        Ok(())
    }

    fn finish(self) -> Result<(Wires, Vec<Home>), TopologyError> {
        if let Some(node) = self.homes.iter().position(Option::is_none) {
            return Err(TopologyError::Node(NodeId::new(node)));
        }
        Ok((self.wires, self.homes.into_iter().flatten().collect()))
    }
}

impl Topology {
    /// A switch that no links, whichever way they lead, join to switch 0.
    fn first_unreachable(&self) -> Option<SwitchId> {
        let mut seen = vec![false; self.wires.len()];
        let mut stack = vec![0];
        seen[0] = true;
        let feeders = self.incoming.as_ref().map(|incoming| &incoming.feeders);
        while let Some(switch) = stack.pop() {
            let fed = feeders.iter().flat_map(|feeders| &feeders[switch]);
            for (_, end) in self.wires[switch].iter().chain(fed).flatten() {
                if let End::Switch(next, _) = end
                    && !std::mem::replace(&mut seen[next.index()], true)
                {
                    stack.push(next.index());
                }
            }
        }
        seen.iter().position(|seen| !seen).map(SwitchId::new)
    }
}

fn single(nodes: u32) -> Result<Topology, TopologyError> {
    let mut builder = Builder::new(u64::from(nodes), 1, vec!["node".into()])?;
    for node in 0..nodes {
        builder.link([End::Node(NodeId(node)), End::Switch(SwitchId(0), PortId(node))], 0);
    }
    builder.finish(Shape::Irregular)
}

fn explicit(graph: &Graph) -> Result<Topology, TopologyError> {
    let classes = vec!["node".into(), "switch".into()];
    let mut builder = Builder::new(u64::from(graph.nodes), u64::from(graph.switches), classes)?;
    builder.servers.clone_from(&graph.servers);
    for link in &graph.links {
        for end in link.ends {
            match end {
                End::Node(node) if node.0 >= graph.nodes => return Err(TopologyError::Node(node)),
                End::Switch(switch, port) if switch.0 >= graph.switches || port.0 >= PORTS_MAX => {
                    return Err(TopologyError::Port(switch, port));
                }
                _ => {}
            }
        }
        let class = u32::from(link.ends.iter().all(|end| matches!(end, End::Switch(..))));
        builder.links.push(Link { ends: link.ends, is_one_way: false, class, length_mm: link.length_mm });
    }
    builder.finish(Shape::Irregular)
}

/// `base^exponent`, or an error that names what is too large.
fn power(base: u64, exponent: u32, what: &str) -> Result<u64, TopologyError> {
    base.checked_pow(exponent).filter(|&value| value <= MAX_COMPONENTS).ok_or_else(|| {
        TopologyError::Size(format!("{what}: {base}^{exponent} is more than {MAX_COMPONENTS}"))
    })
}

#[cfg(test)]
impl TopologySettings {
    /// An extended generalized fat tree for tests, with all of its nodes.
    pub(crate) fn xgft(down: &[u32], up: &[u32], cables: &[u32], nics: u32) -> Self {
        let [down, up, cables] = [down, up, cables].map(<[u32]>::to_vec);
        TopologySettings::Xgft { down, up, cables, nics, populated: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(settings: &TopologySettings) -> Topology {
        Topology::build(settings).unwrap()
    }

    #[test]
    fn dawning_5000_is_ft_16_3() {
        // dawning5000.txt section 4.1: 1024 nodes need 320 switches and 3072 links.
        let topology = build(&TopologySettings::FatTree { ports: 16, levels: 3 });
        assert_eq!((topology.nodes(), topology.switches(), topology.links().len()), (1024, 320, 3072));
        assert_eq!(topology.ports_max(), 16);
        assert_eq!(topology.classes(), ["node", "level-1", "level-2"]);
    }

    #[test]
    fn the_two_fat_tree_conventions_differ_by_two() {
        let ft = build(&TopologySettings::FatTree { ports: 8, levels: 3 });
        assert_eq!((ft.nodes(), ft.switches()), (128, 80));
        let tree = build(&TopologySettings::KaryNTree { arity: 4, levels: 3 });
        assert_eq!((tree.nodes(), tree.switches()), (64, 48));
        for topology in [&ft, &tree] {
            let used: usize = (0..topology.switches())
                .map(|switch| {
                    (0..8).filter(|&port| topology.wire(SwitchId(switch), PortId(port)).is_some()).count()
                })
                .sum();
            let nodes = topology.nodes() as usize;
            assert_eq!(used, 2 * (topology.links().len() - nodes) + nodes, "each switch port is wired once");
        }
    }

    #[test]
    fn a_tree_of_one_level_is_one_switch() {
        let ft = build(&TopologySettings::FatTree { ports: 8, levels: 1 });
        assert_eq!((ft.nodes(), ft.switches(), ft.links().len()), (8, 1, 8));
    }

    #[test]
    fn grids_have_the_links_they_should() {
        let mesh = build(&TopologySettings::Mesh { dimensions: vec![8, 8], nodes_per_switch: 1 });
        assert_eq!((mesh.nodes(), mesh.switches(), mesh.links().len()), (64, 64, 64 + 2 * 8 * 7));
        let torus = build(&TopologySettings::Torus { dimensions: vec![3, 4, 5], nodes_per_switch: 2 });
        assert_eq!((torus.nodes(), torus.switches(), torus.links().len()), (120, 60, 120 + 3 * 60));
        let line = build(&TopologySettings::Torus { dimensions: vec![2, 1], nodes_per_switch: 1 });
        assert_eq!(line.links().len(), 2 + 2, "a ring of two has two links, a ring of one none");
    }

    #[test]
    fn every_wire_leads_back() {
        for settings in [
            TopologySettings::FatTree { ports: 6, levels: 3 },
            TopologySettings::KaryNTree { arity: 3, levels: 3 },
            TopologySettings::Torus { dimensions: vec![4, 3], nodes_per_switch: 2 },
            TopologySettings::Single { nodes: 5 },
        ] {
            let topology = build(&settings);
            for switch in (0..topology.switches()).map(SwitchId) {
                for port in (0..topology.ports(switch)).map(PortId) {
                    match topology.wire(switch, port) {
                        Some((link, End::Switch(other, back))) => {
                            assert_eq!(topology.wire(other, back), Some((link, End::Switch(switch, port))));
                        }
                        Some((_, End::Node(node))) => assert_eq!(topology.home(node), (switch, port)),
                        None => {}
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_built_says_why() {
        let failure = |settings| Topology::build(&settings).unwrap_err().to_string();
        let wires = |links: &[[End; 2]]| {
            TopologySettings::Graph(Graph {
                nodes: 2,
                switches: 2,
                links: links.iter().map(|&ends| GraphLink { ends, length_mm: None }).collect(),
                servers: Vec::new(),
            })
        };
        let (node, port) = (|n| End::Node(NodeId(n)), |s, p| End::Switch(SwitchId(s), PortId(p)));
        assert!(failure(TopologySettings::FatTree { ports: 7, levels: 2 }).contains("even"));
        assert!(failure(TopologySettings::FatTree { ports: 16, levels: 40 }).contains("more than"));
        assert!(
            failure(TopologySettings::Mesh { dimensions: vec![], nodes_per_switch: 1 }).contains("dimension")
        );
        assert!(failure(TopologySettings::Single { nodes: 0 }).contains("0 nodes"));
        assert!(failure(wires(&[[node(0), port(0, 0)], [node(1), port(0, 0)]])).contains("used twice"));
        assert!(failure(wires(&[[node(0), port(0, 0)]])).contains("node 1"));
        assert!(failure(wires(&[[node(0), port(0, 0)], [node(1), port(1, 0)]])).contains("not connected"));
    }
}
