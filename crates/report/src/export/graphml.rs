//! GraphML, as NetworkX, igraph, yEd and Gephi read it, and `flitway import`.
//!
//! Source: Brandes et al., "GraphML progress report", Graph Drawing 2001. Vertices have `type`, `switch` or `host`, and
//! switches `x` and `y` where the graph file says where they are drawn; edges
//! have `length` with its unit, `class`, the ports at their ends and `rate`, with `backrate` where it is another one back. What
//! `flitway import` makes of it is exported as the same text.

use super::{Named, metres, rates};
use std::fmt::Write;

/// What is said of vertices and edges: key, whom it is for, name, type.
const KEYS: [[&str; 4]; 9] = [
    ["t", "node", "type", "string"],
    ["x", "node", "x", "double"],
    ["y", "node", "y", "double"],
    ["l", "edge", "length", "string"],
    ["c", "edge", "class", "string"],
    ["p", "edge", "sourceport", "int"],
    ["q", "edge", "targetport", "int"],
    ["r", "edge", "rate", "string"],
    ["b", "edge", "backrate", "string"],
];

/// The fabric as a graph, directed if its links lead one way.
pub(super) fn text(fabric: &Named<'_>) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
    );
    // Writing to a string does not fail.
    for [id, of, name, kind] in KEYS {
        let _ = writeln!(text, "  <key id=\"{id}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>");
    }
    let direction = if fabric.is_one_way() { "directed" } else { "undirected" };
    let name = escaped(&fabric.machine.name);
    let _ = writeln!(text, "  <graph id=\"{name}\" edgedefault=\"{direction}\">");
    let mut vertex = |name: String, kind: &str, spot: Option<[f64; 2]>| {
        let name = escaped(&name);
        let spot = spot.map(|[x, y]| format!("<data key=\"x\">{x}</data><data key=\"y\">{y}</data>"));
        let spot = spot.unwrap_or_default();
        let _ = writeln!(text, "    <node id=\"{name}\"><data key=\"t\">{kind}</data>{spot}</node>");
    };
    fabric.switches().for_each(|switch| vertex(fabric.switch(switch), "switch", fabric.spot(switch)));
    fabric.nodes().for_each(|node| vertex(fabric.node(node), "host", None));
    for cable in fabric.cables() {
        let [(from, out), (to, into)] = &cable.ends;
        let _ = write!(text, "    <edge source=\"{}\" target=\"{}\">", escaped(from), escaped(to));
        let ports = [("p", out), ("q", into)].map(|(key, port)| port.map(|port| (key, port.to_string())));
        let data = [("l", metres(cable.length_mm)), ("c", escaped(&cable.class))];
        let rates = ["r", "b"].into_iter().zip(rates(&cable)).filter_map(|(key, rate)| Some((key, rate?)));
        for (key, value) in data.into_iter().chain(ports.into_iter().flatten()).chain(rates) {
            let _ = write!(text, "<data key=\"{key}\">{value}</data>");
        }
        text.push_str("</edge>\n");
    }
    text + "  </graph>\n</graphml>"
}

fn escaped(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
