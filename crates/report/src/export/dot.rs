//! Graphviz: `neato -Tsvg` and `sfdp` draw it.
//!
//! Source: the DOT language, graphviz.org/doc/info/lang.html.

use super::{Named, metres, rates};
use std::fmt::Write;

/// The fabric as a graph, directed if its links lead one way. Ends of cables say their ports.
pub(super) fn text(fabric: &Named<'_>) -> String {
    let (kind, edge) = if fabric.is_one_way() { ("digraph", "->") } else { ("graph", "--") };
    let mut text = format!("{kind} {} {{\n", quoted(&fabric.machine.name));
    // Writing to a string does not fail.
    for switch in fabric.switches() {
        // Graphviz counts from below.
        let spot = fabric.spot(switch).map(|[x, y]| format!(", pos=\"{x},{}!\"", 0.0 - y));
        let spot = spot.unwrap_or_default();
        let _ = writeln!(text, "  {} [shape=box{spot}];", quoted(&fabric.switch(switch)));
    }
    for node in fabric.nodes() {
        let _ = writeln!(text, "  {} [shape=ellipse];", quoted(&fabric.node(node)));
    }
    let has_rates = fabric.has_rates();
    for cable in fabric.cables() {
        let [(from, out), (to, into)] = &cable.ends;
        let port = |label: &str, port: &Option<u32>| port.map(|port| format!("{label}=\"{port}\""));
        let [there, back] = if has_rates { rates(&cable) } else { [None, None] };
        let said = [
            Some(cable.class.clone()),
            Some(metres(cable.length_mm)),
            there,
            back.map(|back| format!("back {back}")),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        let length = Some(format!("comment={}", quoted(&said.join(", "))));
        let labels: Vec<String> =
            [port("taillabel", out), port("headlabel", into), length].into_iter().flatten().collect();
        let _ = writeln!(text, "  {} {edge} {} [{}];", quoted(from), quoted(to), labels.join(", "));
    }
    text + "}"
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}
