//! What switches and nodes are called: by whoever describes them, or by number.

use super::{End, Topology};
use crate::{NodeId, SwitchId};

/// The names that the switches and nodes of a topology have been given; none of either where they have numbers only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    switches: Vec<String>,
    nodes: Vec<String>,
}

impl Names {
    /// A name for each switch, and one for each node, in their order. No two switches share one, and no two nodes.
    #[must_use]
    pub fn new(switches: Vec<String>, nodes: Vec<String>) -> Self {
        Names { switches, nodes }
    }

    /// Those of the switches, in their order.
    #[must_use]
    pub fn switches(&self) -> &[String] {
        &self.switches
    }

    /// Those of the nodes, in their order.
    #[must_use]
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// What `switch` is called: `leaf0`, or its number.
    #[must_use]
    pub fn switch(&self, switch: SwitchId) -> String {
        self.switches.get(switch.index()).cloned().unwrap_or_else(|| switch.to_string())
    }

    /// What `node` is called.
    #[must_use]
    pub fn node(&self, node: NodeId) -> String {
        self.nodes.get(node.index()).cloned().unwrap_or_else(|| node.to_string())
    }

    /// An end of a link: `switch leaf0 port 2`, or `node 12`.
    #[must_use]
    pub fn end(&self, end: End) -> String {
        match end {
            End::Node(node) => format!("node {}", self.node(node)),
            End::Switch(switch, port) => format!("switch {} port {port}", self.switch(switch)),
        }
    }
}

impl Topology {
    /// The same, whose switches and nodes have `names`.
    #[must_use]
    pub fn with_names(self, names: Names) -> Self {
        Topology { names, ..self }
    }

    /// What its switches and nodes are called.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The switch that is called `text`, or has that number.
    #[must_use]
    pub fn find_switch(&self, text: &str) -> Option<SwitchId> {
        find(&self.names.switches, text, self.switches()).map(SwitchId)
    }

    /// The node that is called `text`, or has that number.
    #[must_use]
    pub fn find_node(&self, text: &str) -> Option<NodeId> {
        find(&self.names.nodes, text, self.nodes()).map(NodeId)
    }
}

fn find(names: &[String], text: &str, count: u32) -> Option<u32> {
    let named = names.iter().position(|name| name == text);
    named.map(|place| place as u32).or_else(|| text.parse().ok().filter(|&number| number < count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortId;
    use crate::topology::TopologySettings;

    #[test]
    fn ends_are_found_and_told_by_name_and_by_number() {
        let topology = Topology::build(&TopologySettings::Mesh { dimensions: vec![2], nodes_per_switch: 1 });
        let topology = topology.unwrap();
        assert_eq!(topology.find_switch("1"), Some(SwitchId(1)));
        assert_eq!([topology.find_switch("2"), topology.find_switch("leaf")], [None, None]);
        assert_eq!(topology.names().end(End::Switch(SwitchId(1), PortId(2))), "switch 1 port 2");
        let names = |all: [&str; 2]| all.map(str::to_owned).to_vec();
        let named = topology.with_names(Names::new(names(["spine", "leaf"]), names(["a", "b"])));
        let found = ["spine", "0", "leaf", "2"].map(|text| named.find_switch(text));
        assert_eq!(found, [Some(SwitchId(0)), Some(SwitchId(0)), Some(SwitchId(1)), None]);
        assert_eq!(
            ["b", "1", "c"].map(|text| named.find_node(text)),
            [Some(NodeId(1)), Some(NodeId(1)), None]
        );
        assert_eq!(named.names().end(End::Node(NodeId(1))), "node b");
        assert_eq!(named.names().end(End::Switch(SwitchId(1), PortId(2))), "switch leaf port 2");
    }
}
