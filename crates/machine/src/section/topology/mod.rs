//! `[topology]`: what is wired to what.
//!
//! Each kind has its settings and its checks in one file here, and a line in [`KINDS`], in that of choices, and in the list of
//! settings, which has the order of the reference page.

pub(crate) mod dragonfly;
mod dragonfly_plus;
mod graph_file;
pub(crate) mod grid;
mod hyperx;
mod random_regular;
mod single;
mod slim_fly;
pub(crate) mod stages;
pub(crate) mod tree;
pub(crate) mod xgft;

use flitway_wiring::topology::{MAX_COMPONENTS, TopologySettings};

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::graph::GraphFile;
use crate::setting::{Kind, Presence, Setting, When};
use crate::values::Values;

pub(crate) static SETTINGS: &[&Setting] = &[
    &KIND,
    &tree::PORTS,
    &ARITY,
    &tree::LEVELS,
    &xgft::DOWN,
    &xgft::UP,
    &stages::STAGES,
    &grid::DIMENSIONS,
    &hyperx::LINKS,
    &dragonfly::SWITCHES_PER_GROUP,
    &dragonfly_plus::LEAVES,
    &dragonfly_plus::SPINES,
    &dragonfly::GLOBAL_PORTS,
    &dragonfly::GROUPS,
    &dragonfly::ARRANGEMENT,
    &slim_fly::Q,
    &random_regular::SWITCHES,
    &random_regular::DEGREE,
    &random_regular::SEED,
    &grid::NODES_PER_SWITCH,
    &single::NODES,
    &graph_file::FILE,
];

pub(crate) static KIND: Setting = Setting {
    path: "topology.kind",
    kind: Kind::Choice(&[
        tree::FAT_CHOICE,
        tree::KARY_CHOICE,
        xgft::CHOICE,
        stages::OMEGA_CHOICE,
        stages::BUTTERFLY_CHOICE,
        grid::MESH_CHOICE,
        grid::TORUS_CHOICE,
        hyperx::CHOICE,
        dragonfly::CHOICE,
        dragonfly_plus::CHOICE,
        slim_fly::CHOICE,
        random_regular::CHOICE,
        single::CHOICE,
        graph_file::CHOICE,
    ]),
    presence: Presence::Required,
    when: None,
    doc: "The kind of topology of one rail. The other settings of the table depend on it.",
    example: "\"fat-tree\"",
    source: "dawning5000.txt section 2.3 (P-DN-003); OQ-D4 for the two conventions of fat trees; \
             multidestination-worms.txt section 2 for unidirectional networks",
};

/// A kind of topology.
struct KindRow {
    name: &'static str,
    build: fn(&Values, &mut Diagnostics) -> Option<Topology>,
}

/// Every kind.
static KINDS: &[KindRow] = &[
    tree::FAT,
    tree::KARY,
    xgft::ROW,
    stages::OMEGA_ROW,
    stages::BUTTERFLY_ROW,
    grid::MESH_ROW,
    grid::TORUS_ROW,
    hyperx::ROW,
    dragonfly::ROW,
    dragonfly_plus::ROW,
    slim_fly::ROW,
    random_regular::ROW,
    single::ROW,
    graph_file::ROW,
];

/// The kinds that have links between switches.
pub(crate) const OF_SEVERAL_SWITCHES: &[&str] = &[
    "fat-tree",
    "k-ary-n-tree",
    "xgft",
    "omega",
    "butterfly",
    "mesh",
    "torus",
    "hyperx",
    "dragonfly",
    "dragonfly-plus",
    "slim-fly",
    "random-regular",
    "graph",
];

static ARITY: Setting = Setting {
    path: "topology.arity",
    kind: Kind::Count { min: 1, max: 32 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &["k-ary-n-tree", "omega", "butterfly"] }),
    doc: "k: of a k-ary n-tree the ports down, and the ports up, of each switch; of an omega network or a butterfly the \
          inputs, and the outputs, of each switch, at least 2.",
    example: "4",
    source: "the usual definition; OQ-D4",
};

/// A topology and what other sections check themselves against.
pub(crate) struct Topology {
    pub(crate) settings: TopologySettings,
    pub(crate) kind: &'static str,
    pub(crate) graph: Option<GraphFile>,
    /// Names of the link classes that a length can be given for, besides `node` and `switch`.
    pub(crate) classes: Vec<String>,
    /// Those of them that have links; of a graph, see its links.
    pub(crate) wired_classes: Vec<String>,
    /// Ports that the switches need; of a graph, see its links.
    pub(crate) ports: u64,
    pub(crate) nodes: u64,
    /// Switches in a rail.
    pub(crate) switches: u64,
    /// The routing that is made for it.
    pub(crate) own_routing: &'static str,
    /// Whether its links are one-way.
    pub(crate) is_one_way: bool,
    /// Switches of the longest ring of a torus.
    pub(crate) longest_ring: Option<u32>,
}

/// How large a rail is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) nodes: u64,
    pub(crate) switches: u64,
    /// Ports of all switches.
    pub(crate) ports: u64,
}

impl Topology {
    /// How large a rail is.
    pub(crate) fn size(&self) -> Size {
        let ports =
            self.graph.as_ref().map_or(self.ports * self.switches, |it| 2 * it.graph.links.len() as u64);
        Size { nodes: self.nodes, switches: self.switches, ports }
    }

    /// Whether a switch of a tree has several links to another one.
    pub(crate) fn has_parallel_links(&self) -> bool {
        matches!(&self.settings, TopologySettings::Xgft { cables, .. } if cables.iter().any(|&it| it > 1))
    }

    /// Whether packets can go by way of an intermediate that is drawn.
    pub(crate) fn has_intermediates(&self) -> bool {
        match &self.settings {
            TopologySettings::Dragonfly(_) => true,
            TopologySettings::HyperX { dimensions, .. } => {
                dimensions.iter().filter(|&&size| size > 1).count() <= 3
            }
            _ => false,
        }
    }

    /// One whose links have no classes of their own, and which any routing for graphs goes with.
    fn plain(kind: &'static str, settings: TopologySettings, nodes: u64, switches: u64) -> Self {
        Topology {
            settings,
            kind,
            graph: None,
            classes: Vec::new(),
            wired_classes: Vec::new(),
            ports: 0,
            nodes,
            switches,
            own_routing: "up-down",
            is_one_way: false,
            longest_ring: None,
        }
    }
}

pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let name = values.choice(&KIND)?;
    let kind = KINDS.iter().find(|kind| kind.name == name)?;
    (kind.build)(values, findings)
}

/// Checks the numbers of nodes and switches, and gives them; `None` among them is beyond 64 bits.
fn fits(
    values: &Values,
    settings: &[&'static Setting],
    [nodes, switches]: [Option<u64>; 2],
    rule: &str,
    findings: &mut Diagnostics,
) -> Option<[u64; 2]> {
    let small = |count: Option<u64>| count.filter(|&count| count <= MAX_COMPONENTS);
    if let (Some(nodes), Some(switches)) = (small(nodes), small(switches)) {
        return Some([nodes, switches]);
    }
    let size = match (nodes, switches) {
        (Some(nodes), Some(switches)) => format!("{nodes} nodes and {switches} switches"),
        _ => "more than 2^64".to_owned(),
    };
    findings.push(
        values
            .conflict(Code::TooLarge, settings, format!("the machine is too large: {size}; {rule}"))
            .expected(format!("at most {MAX_COMPONENTS} nodes and as many switches in a rail")),
    );
    None
}
