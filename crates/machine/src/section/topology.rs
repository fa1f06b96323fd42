//! `[topology]`: what is wired to what.

use std::path::Path;

use flitway_fabric::topology::{MAX_COMPONENTS, StageWiring, TopologySettings};

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::graph::{self, GraphFile};
use crate::machine::Size;
use crate::options::{Options, Origin};
use crate::schema::{Choice, Kind, Presence, Setting, When};
use crate::values::Values;

pub(crate) static SETTINGS: &[&Setting] =
    &[&KIND, &PORTS, &ARITY, &LEVELS, &STAGES, &DIMENSIONS, &NODES_PER_SWITCH, &NODES, &FILE];

const FAT_TREE: &str = "fat-tree";
const KARY_N_TREE: &str = "k-ary-n-tree";
const OMEGA: &str = "omega";
const BUTTERFLY: &str = "butterfly";
const MESH: &str = "mesh";
const TORUS: &str = "torus";
const SINGLE: &str = "single";
const GRAPH: &str = "graph";

pub(crate) static KIND: Setting = Setting {
    path: "topology.kind",
    kind: Kind::Choice(&[
        Choice {
            name: FAT_TREE,
            doc: "FT(p, n), the p-port n-tree: n levels of p-port switches with all ports used, 2 (p/2)^n nodes.",
        },
        Choice {
            name: KARY_N_TREE,
            doc: "The k-ary n-tree: n levels of k^(n-1) switches with k ports down and k up, unused at the top; \
                  k^n nodes.",
        },
        Choice {
            name: OMEGA,
            doc: "A unidirectional multistage network with a perfect shuffle before each of its n stages of k^(n-1) \
                  switches, k inputs and k outputs each; k^n nodes. For SP Switches.",
        },
        Choice { name: BUTTERFLY, doc: "The k-ary n-fly: the same size, wired as a butterfly." },
        Choice { name: MESH, doc: "A grid of switches in any number of dimensions." },
        Choice { name: TORUS, doc: "A grid whose rows close to rings." },
        Choice { name: SINGLE, doc: "One switch with all nodes." },
        Choice { name: GRAPH, doc: "Whatever a graph file says." },
    ]),
    presence: Presence::Required,
    when: None,
    doc: "The kind of topology of one rail. The other settings of the table depend on it.",
    example: "\"fat-tree\"",
    source: "dawning5000.txt section 2.3 (P-DN-003); OQ-D4 for the two conventions of fat trees; \
             multidestination-worms.txt section 2 for unidirectional networks",
};

static PORTS: Setting = Setting {
    path: "topology.ports",
    kind: Kind::Count { min: 2, max: 64 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[FAT_TREE] }),
    doc: "p of FT(p, n): the ports of each switch that the tree uses, an even number. The top switches turn all of \
          them down; the others half of them.",
    example: "16",
    source: "dawning5000.txt section 2.3 (P-DN-003)",
};

static ARITY: Setting = Setting {
    path: "topology.arity",
    kind: Kind::Count { min: 1, max: 32 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[KARY_N_TREE, OMEGA, BUTTERFLY] }),
    doc: "k: of a k-ary n-tree the ports down, and the ports up, of each switch; of an omega network or a butterfly the \
          inputs, and the outputs, of each switch, at least 2.",
    example: "4",
    source: "the usual definition; OQ-D4",
};

static LEVELS: Setting = Setting {
    path: "topology.levels",
    kind: Kind::Count { min: 1, max: 16 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[FAT_TREE, KARY_N_TREE] }),
    doc: "n: the levels of switches. The longest way crosses 2n - 1 switches.",
    example: "3",
    source: "dawning5000.txt section 2.3 (P-DN-003)",
};

static STAGES: Setting = Setting {
    path: "topology.stages",
    kind: Kind::Count { min: 1, max: 24 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[OMEGA, BUTTERFLY] }),
    doc: "n: the stages of switches of an omega network or a butterfly. Every packet crosses all of them.",
    example: "2",
    source: "multidestination-worms.txt section 2",
};

pub(crate) static DIMENSIONS: Setting = Setting {
    path: "topology.dimensions",
    kind: Kind::Counts { min: 1, max: 65_536, longest: 16 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[MESH, TORUS] }),
    doc: "Switches in each dimension, dimension 0 first. In a torus a ring of two switches has two links and a ring \
          of one has none.",
    example: "[8, 8]",
    source: "the usual definition",
};

static NODES_PER_SWITCH: Setting = Setting {
    path: "topology.nodes_per_switch",
    kind: Kind::Count { min: 1, max: 62 },
    presence: Presence::Default("1"),
    when: Some(When { selector: &KIND, values: &[MESH, TORUS] }),
    doc: "Nodes on each switch.",
    example: "1",
    source: "the usual definition",
};

static NODES: Setting = Setting {
    path: "topology.nodes",
    kind: Kind::Count { min: 1, max: 64 },
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[SINGLE] }),
    doc: "Nodes on the one switch, on its first ports.",
    example: "16",
    source: "hpp-switch.txt section 3.1 (P-HP-065)",
};

static FILE: Setting = Setting {
    path: "topology.file",
    kind: Kind::Path,
    presence: Presence::Required,
    when: Some(When { selector: &KIND, values: &[GRAPH] }),
    doc: "The graph file. Its path is relative to the machine file that names it; in a `--set`, to the current \
          directory. Lines are `switch NAME ...`, `node NAME ...` and `link END - END [LENGTH]`, where the end at a \
          switch is NAME:PORT; `s0..s7` declares s0 to s7; `#` begins a comment.",
    example: "\"ring.graph\"",
    source: "Flitway",
};

/// A topology and what other sections check themselves against.
pub(crate) struct Topology {
    pub(crate) settings: TopologySettings,
    pub(crate) kind: &'static str,
    pub(crate) graph: Option<GraphFile>,
    /// Names of the link classes that a length can be given for, besides `node` and `switch`.
    pub(crate) classes: Vec<String>,
    /// Ports that the switches need; of a graph, see its links.
    pub(crate) ports: u64,
    pub(crate) nodes: u64,
    /// Switches in a rail.
    pub(crate) switches: u64,
}

impl Topology {
    /// How large a rail is.
    pub(crate) fn size(&self) -> Size {
        let ports =
            self.graph.as_ref().map_or(self.ports * self.switches, |it| 2 * it.graph.links.len() as u64);
        Size { nodes: self.nodes, switches: self.switches, ports }
    }

    pub(crate) fn is_tree(&self) -> bool {
        matches!(self.settings, TopologySettings::FatTree { .. } | TopologySettings::KaryNTree { .. })
    }

    pub(crate) fn is_grid(&self) -> bool {
        matches!(self.settings, TopologySettings::Mesh { .. } | TopologySettings::Torus { .. })
    }

    /// Whether its links are one-way.
    pub(crate) fn is_one_way(&self) -> bool {
        matches!(self.settings, TopologySettings::Stages { .. })
    }

    /// The classes of links between switches that have links; of a graph, see its links.
    pub(crate) fn wired_classes(&self) -> impl Iterator<Item = &str> {
        let has_links = |class: usize| match &self.settings {
            TopologySettings::Mesh { dimensions, .. } | TopologySettings::Torus { dimensions, .. } => {
                dimensions[class] > 1
            }
            _ => true,
        };
        (0..self.classes.len())
            .filter(move |&class| has_links(class))
            .map(|class| self.classes[class].as_str())
    }

    /// Switches of the longest ring of a torus.
    pub(crate) fn longest_ring(&self) -> Option<u32> {
        match &self.settings {
            TopologySettings::Torus { dimensions, .. } => dimensions.iter().copied().max(),
            _ => None,
        }
    }

    pub(crate) fn is_torus(&self) -> bool {
        matches!(self.settings, TopologySettings::Torus { .. })
    }
}

pub(crate) fn build(options: &Options, values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    match values.choice(&KIND)? {
        kind @ FAT_TREE => fat_tree(values, kind, findings),
        kind @ KARY_N_TREE => kary_n_tree(values, kind, findings),
        kind @ (OMEGA | BUTTERFLY) => stages(values, kind, findings),
        kind @ (MESH | TORUS) => grid(values, kind, findings),
        kind @ SINGLE => {
            let nodes = values.count(&NODES)?;
            let settings = TopologySettings::Single { nodes };
            let nodes = u64::from(nodes);
            Some(Topology {
                settings,
                kind,
                graph: None,
                classes: Vec::new(),
                ports: nodes,
                nodes,
                switches: 1,
            })
        }
        kind => {
            let name = values.text(&FILE)?;
            let folder = match values.origin(&FILE) {
                Some(Origin::Set) => Path::new(""),
                _ => options.folder.as_path(),
            };
            let graph = graph::read(&folder.join(name), values.location(&FILE).as_ref(), findings)?;
            let settings = TopologySettings::Graph(graph.graph.clone());
            let [nodes, switches] = [graph.graph.nodes, graph.graph.switches].map(u64::from);
            Some(Topology {
                settings,
                kind,
                graph: Some(graph),
                classes: Vec::new(),
                ports: 0,
                nodes,
                switches,
            })
        }
    }
}

fn fat_tree(values: &Values, kind: &'static str, findings: &mut Diagnostics) -> Option<Topology> {
    let (ports, levels) = (values.count(&PORTS), values.count(&LEVELS));
    let (ports, levels) = (ports?, levels?);
    if !ports.is_multiple_of(2) {
        let message = format!("`{}` is {ports}, an odd number", PORTS.path);
        findings.push(
            values
                .conflict(Code::OutOfRange, &[&PORTS], message)
                .expected("an even number: half of the ports lead up, half down"),
        );
        return None;
    }
    let half = u64::from(ports / 2);
    let per_half = half.checked_pow(levels - 1);
    let nodes = per_half.and_then(|count| count.checked_mul(2 * half));
    let switches = per_half.and_then(|count| count.checked_mul(2 * u64::from(levels) - 1));
    let rule = format!("FT({ports},{levels}) has 2 x {half}^{levels} nodes");
    let [nodes, switches] = fits(values, &[&LEVELS, &PORTS], [nodes, switches], &rule, findings)?;
    let settings = TopologySettings::FatTree { ports, levels };
    Some(Topology {
        settings,
        kind,
        graph: None,
        classes: level_classes(levels),
        ports: u64::from(ports),
        nodes,
        switches,
    })
}

fn kary_n_tree(values: &Values, kind: &'static str, findings: &mut Diagnostics) -> Option<Topology> {
    let (arity, levels) = (values.count(&ARITY), values.count(&LEVELS));
    let (arity, levels) = (arity?, levels?);
    let nodes = u64::from(arity).checked_pow(levels);
    let switches =
        u64::from(arity).checked_pow(levels - 1).and_then(|count| count.checked_mul(u64::from(levels)));
    let rule = format!("the {arity}-ary {levels}-tree has {arity}^{levels} nodes");
    let [nodes, switches] = fits(values, &[&LEVELS, &ARITY], [nodes, switches], &rule, findings)?;
    let settings = TopologySettings::KaryNTree { arity, levels };
    let ports = u64::from(arity) * if levels > 1 { 2 } else { 1 };
    Some(Topology { settings, kind, graph: None, classes: level_classes(levels), ports, nodes, switches })
}

fn stages(values: &Values, kind: &'static str, findings: &mut Diagnostics) -> Option<Topology> {
    let (arity, stages) = (values.count(&ARITY), values.count(&STAGES));
    let (arity, stages) = (arity?, stages?);
    if arity < 2 {
        let message =
            format!("`{}` is {arity}, and a switch without a choice of outputs leads nowhere", ARITY.path);
        let problem = values.conflict(Code::OutOfRange, &[&ARITY, &KIND], message);
        findings.push(problem.expected("at least 2 inputs and outputs"));
        return None;
    }
    let nodes = u64::from(arity).checked_pow(stages);
    let switches =
        u64::from(arity).checked_pow(stages - 1).and_then(|count| count.checked_mul(u64::from(stages)));
    let rule = format!("{stages} stages of {arity} x {arity} switches have {arity}^{stages} nodes");
    let [nodes, switches] = fits(values, &[&STAGES, &ARITY], [nodes, switches], &rule, findings)?;
    let wiring = if kind == OMEGA { StageWiring::Omega } else { StageWiring::Butterfly };
    let settings = TopologySettings::Stages { wiring, arity, stages };
    let classes = (1..stages).map(|stage| format!("stage-{stage}")).collect();
    Some(Topology { settings, kind, graph: None, classes, ports: u64::from(arity), nodes, switches })
}

fn grid(values: &Values, kind: &'static str, findings: &mut Diagnostics) -> Option<Topology> {
    let (dimensions, nodes_per_switch) = (values.counts(&DIMENSIONS), values.count(&NODES_PER_SWITCH));
    let (dimensions, nodes_per_switch) = (dimensions?, nodes_per_switch?);
    let switches = dimensions.iter().try_fold(1_u64, |product, &size| product.checked_mul(u64::from(size)));
    let nodes = switches.and_then(|count| count.checked_mul(u64::from(nodes_per_switch)));
    let sizes: Vec<String> = dimensions.iter().map(u32::to_string).collect();
    let each = if nodes_per_switch == 1 { "a node".to_owned() } else { format!("{nodes_per_switch} nodes") };
    let rule = format!("the {kind} has {} switches with {each} on each", sizes.join(" x "));
    let [nodes, switches] = fits(values, &[&DIMENSIONS], [nodes, switches], &rule, findings)?;
    // Ports are numbered by dimension; a dimension of one switch wires none, which only shortens the end of the list.
    let wired = dimensions.iter().rposition(|&size| size > 1).map_or(0, |last| last + 1);
    let ports = u64::from(nodes_per_switch) + 2 * wired as u64;
    let classes = (0..dimensions.len()).map(|dimension| format!("dimension-{dimension}")).collect();
    let settings = match kind {
        MESH => TopologySettings::Mesh { dimensions, nodes_per_switch },
        _ => TopologySettings::Torus { dimensions, nodes_per_switch },
    };
    Some(Topology { settings, kind, graph: None, classes, ports, nodes, switches })
}

fn level_classes(levels: u32) -> Vec<String> {
    (1..levels).map(|level| format!("level-{level}")).collect()
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
