//! A place in a fabric, as rules name it: the NIC port of a node, or a port of a switch.

/// A place: an end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The NIC port of a node.
    Node(u32),
    /// A port of a switch.
    Switch(u32, u32),
}

impl Place {
    /// Reads `node 12`, or `switch 5 port 7`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["node", node] => Some(Place::Node(node.parse().ok()?)),
            ["switch", switch, "port", port] => Some(Place::Switch(switch.parse().ok()?, port.parse().ok()?)),
            _ => None,
        }
    }
}
