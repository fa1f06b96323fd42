//! Topologies: immutable graphs of switches, nodes and links. They know nothing of routing, VCs or drawing.
use crate::{PortId, SwitchId};
use flitway_engine::NodeId;

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
