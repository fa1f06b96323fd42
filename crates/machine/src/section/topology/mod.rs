//! `[topology]`: what is wired to what.
//!
//! Each kind has its settings, its [`Row`] and its checks in one file here, and a line in [`KINDS`].

mod dragonfly;
mod dragonfly_plus;
mod graph_file;
pub(crate) mod grid;
mod hyperx;
mod random_regular;
mod single;
mod slim_fly;
mod stages;
mod th_tree;
mod tree;
mod xgft;

use flitway_wiring::routing::RoutingKind;
use flitway_wiring::topology::{MAX_COMPONENTS, Topology as Wiring, TopologyError, TopologySettings};

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::graph::GraphFile;
use crate::setting::{Choice, Setting, When, choices_of, settings};
use crate::values::Values;

settings! {
    pub(crate) static SETTINGS;

    /// The kind of topology of one rail. The other settings of the table depend on it.
    pub(crate) KIND = "topology.kind", choices_of!(KINDS, row => row.choice), required, example("fat-tree"),
        source("dawning5000.txt section 2.3 (P-DN-003); OQ-D4 for the two conventions of fat trees; \
                multidestination-worms.txt section 2 for unidirectional networks");
}

/// A kind of topology.
pub(crate) struct Row {
    choice: Choice,
    /// As a message names one.
    pub(crate) noun: &'static str,
    /// The routing that is made for it.
    pub(crate) own_routing: RoutingKind,
    links: Links,
    /// Settings that stand with it on the reference page, in the order there.
    pub(crate) settings: &'static [&'static Setting],
    /// Those that it takes too, and that stand with another kind.
    shared: &'static [&'static Setting],
    build: fn(&Values, &mut Diagnostics) -> Option<Topology>,
}

/// What a message calls the kinds of these `names`.
pub(crate) fn nouns(names: &[&str]) -> impl Iterator<Item = &'static str> {
    KINDS.iter().filter(|row| names.contains(&row.choice.name)).map(|row| row.noun)
}

/// Every kind.
pub(crate) static KINDS: &[&Row] = &[
    &tree::FAT_TREE,
    &tree::KARY_N_TREE,
    &xgft::XGFT,
    &th_tree::TH_TREE,
    &stages::OMEGA,
    &stages::BUTTERFLY,
    &grid::MESH,
    &grid::TORUS,
    &hyperx::HYPERX,
    &dragonfly::DRAGONFLY,
    &dragonfly_plus::DRAGONFLY_PLUS,
    &slim_fly::SLIM_FLY,
    &random_regular::RANDOM_REGULAR,
    &single::SINGLE,
    &graph_file::GRAPH,
];

/// What links a topology has between switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// None: there is one switch.
    None,
    /// Of one class.
    Alike,
    /// Of the levels of a tree.
    Levels,
    /// Within boards and switches of several chips, and between them.
    Boards,
    /// Of the stages of a unidirectional network, all of them one-way.
    Stages,
    /// Of dimensions.
    Dimensions,
    /// Of dimensions that close to rings.
    Rings,
    /// Within groups, and between them.
    Groups,
}

/// What is said of the kind `name`.
fn named(name: &str) -> Option<&'static Row> {
    KINDS.iter().copied().find(|row| row.choice.name == name)
}

/// What links topologies of the kind `name` have.
pub(crate) fn links(name: &str) -> Links {
    named(name).map_or(Links::None, |row| row.links)
}

/// Settings of the kinds that take them.
const OF_KIND: When = When {
    selector: &KIND,
    holds: |setting, name| {
        let taken = named(name).into_iter().flat_map(|row| row.settings.iter().chain(row.shared));
        taken.copied().any(|taken| std::ptr::eq(taken, setting))
    },
};

/// What `settings` describe, with the names of the graph file behind them.
pub(crate) fn wired(settings: &TopologySettings, graph: Option<&GraphFile>) -> Result<Wiring, TopologyError> {
    let wiring = Wiring::build(settings)?;
    Ok(match graph {
        Some(file) => wiring.with_names(file.names.clone()),
        None => wiring,
    })
}

/// A topology and what other sections check themselves against.
pub(crate) struct Topology {
    pub(crate) settings: TopologySettings,
    pub(crate) row: &'static Row,
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
    /// Switches of the longest ring of a torus.
    pub(crate) longest_ring: Option<u32>,
    /// Whether a switch of a tree has several links to another one.
    pub(crate) has_parallel_links: bool,
    /// Whether packets can go by way of an intermediate that is drawn.
    pub(crate) has_intermediates: bool,
    /// Whether a switch can choose between that and the shortest way.
    pub(crate) has_alternatives: bool,
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
    /// The whole, with the names of a graph file.
    pub(crate) fn wired(&self) -> Result<Wiring, TopologyError> {
        wired(&self.settings, self.graph.as_ref())
    }

    /// How large a rail is.
    pub(crate) fn size(&self) -> Size {
        let ports =
            self.graph.as_ref().map_or(self.ports * self.switches, |it| 2 * it.graph.links.len() as u64);
        Size { nodes: self.nodes, switches: self.switches, ports }
    }

    /// The name of its kind.
    pub(crate) fn kind(&self) -> &'static str {
        self.row.choice.name
    }

    /// Whether its links are one-way.
    pub(crate) fn is_one_way(&self) -> bool {
        self.row.links == Links::Stages
    }

    /// One whose links have no classes of their own, and which has no ring, no parallel links and no intermediates.
    fn plain(row: &'static Row, settings: TopologySettings, nodes: u64, switches: u64) -> Self {
        Topology {
            settings,
            row,
            graph: None,
            classes: Vec::new(),
            wired_classes: Vec::new(),
            ports: 0,
            nodes,
            switches,
            longest_ring: None,
            has_parallel_links: false,
            has_intermediates: false,
            has_alternatives: false,
        }
    }
}

pub(crate) fn build(values: &Values, findings: &mut Diagnostics) -> Option<Topology> {
    let row = named(values.choice(&KIND)?)?;
    (row.build)(values, findings)
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
