//! GraphML, as NetworkX, igraph, yEd, Gephi and the Topology Zoo write it.
//!
//! ```xml
//! <graphml><key id="k" for="edge" attr.name="length" attr.type="string"/>
//! <graph edgedefault="undirected">
//!   <node id="a"/><node id="b"/><edge source="a" target="b"><data key="k">3 m</data></edge>
//! </graph></graphml>
//! ```
//!
//! Of the data of a vertex `label` or `name` is what it is called, and `type`, `kind` or `role` says whether it is a switch or
//! a node, `x` and `y` where a switch is drawn; of those of an edge `length` and `rate` are those of the cable, with their
//! units, and `backrate` is the rate from its target to its source, if it is another; `sourceport` and `targetport` are the
//! ports of switches that it leads to, and `class` what kind of cable it is called. All others are left out, and counted.

use crate::fabric::{Fabric, Rate, Read, counted};
use crate::lines::Text;
use crate::vertices::{Edge, Vertex, fabric};
use flitway_machine::{Dimension, Source, nearest, show, units};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What a vertex is, as others call it.
const SWITCHES: &[&str] = &["switch", "spine", "leaf", "core", "aggregation", "edge", "tor"];

/// The same of nodes.
const NODES: &[&str] = &["node", "host", "server", "nic", "endpoint", "compute", "terminal"];

/// Reads such a file.
pub(crate) fn read(source: &Arc<Source>, nodes_per_switch: Option<u32>) -> Read<Fabric> {
    let mut text = Text::new(source);
    // A document type is read over; entities of its own are limited by the parser.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = match Document::parse_with_options(&source.text, options) {
        Ok(document) => document,
        Err(error) => {
            let at = error.pos();
            let place = byte_of(&source.text, at.row, at.col);
            text.wrong(&(place..place), format!("this is not XML: {error}"), "GraphML");
            return text.done(Fabric::default());
        }
    };
    let mut reader = Reader {
        text,
        keys: keys(&document),
        ids: BTreeMap::new(),
        ports: BTreeMap::new(),
        left_out: BTreeMap::new(),
    };
    let graphs: Vec<Node<'_, '_>> = document.descendants().filter(|it| it.has_tag_name_of("graph")).collect();
    let [graph, ..] = graphs.as_slice() else {
        let message = format!("there is no graph in `<{}>`", show(document.root_element().tag_name().name()));
        reader.text.wrong(&(0..0), message, "`<graphml>` with a `<graph>`");
        return reader.text.done(Fabric::default());
    };
    let vertices: Vec<Vertex> = graph
        .descendants()
        .filter(|it| it.has_tag_name_of("node"))
        .filter_map(|it| reader.vertex(it))
        .collect();
    let edges: Vec<Edge> = graph
        .descendants()
        .filter(|it| it.has_tag_name_of("edge"))
        .filter_map(|it| reader.edge(it))
        .collect();
    reader.text.done(())?;
    let mut fabric = fabric(&vertices, &edges, nodes_per_switch)?;
    for (name, count) in reader.left_out {
        fabric.notes.dropped.push(format!("data `{}`, {}", show(&name), counted(count, "time")));
    }
    if graphs.len() > 1 {
        fabric.notes.dropped.push(counted(graphs.len() - 1, "further graph"));
    }
    if graph.attribute("edgedefault") == Some("directed") {
        fabric.notes.guessed.push("edges are directed: each is a cable, which leads both ways".to_owned());
    }
    Ok(fabric)
}

/// Tags without their name space, which programs write or not.
trait Tagged {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl Tagged for Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// The names of data, by their key.
fn keys(document: &Document<'_>) -> BTreeMap<String, String> {
    let keys = document.descendants().filter(|it| it.has_tag_name_of("key"));
    let named = keys.filter_map(|key| {
        let id = key.attribute("id")?;
        Some((id.to_owned(), key.attribute("attr.name").unwrap_or(id).to_ascii_lowercase()))
    });
    named.collect()
}

/// The byte at which column `column` of line `row` begins, both counted from 1.
fn byte_of(text: &str, row: u32, column: u32) -> usize {
    let line_start: usize =
        text.split_inclusive('\n').take(row.saturating_sub(1) as usize).map(str::len).sum();
    let rest = text.get(line_start..).unwrap_or("");
    let inside = rest.char_indices().nth(column.saturating_sub(1) as usize).map_or(rest.len(), |(at, _)| at);
    line_start + inside
}

struct Reader {
    text: Text,
    keys: BTreeMap<String, String>,
    ids: BTreeMap<String, (usize, Range<usize>)>,
    /// The edge at each port of a vertex.
    ports: BTreeMap<(usize, u32), Range<usize>>,
    /// Data that say nothing here, by name.
    left_out: BTreeMap<String, usize>,
}

impl Reader {
    /// The data of an element by name; what is not one of `wanted` is counted.
    fn data<'a>(&mut self, element: Node<'a, '_>, wanted: &[&str]) -> BTreeMap<String, &'a str> {
        let mut found = BTreeMap::new();
        for data in element.children().filter(|it| it.has_tag_name_of("data")) {
            let key = data.attribute("key").unwrap_or_default();
            let name = self.keys.get(key).map_or(key, String::as_str).to_owned();
            match data.text().map(str::trim) {
                Some(text) if wanted.contains(&name.as_str()) => {
                    found.insert(name, text);
                }
                _ => *self.left_out.entry(name).or_default() += 1,
            }
        }
        found
    }

    fn vertex(&mut self, element: Node<'_, '_>) -> Option<Vertex> {
        let span = tag(element);
        let Some(id) = element.attribute("id") else {
            self.text.wrong(&span, "a vertex has no id", "`<node id=\"...\">`");
            return None;
        };
        let number = self.ids.len();
        if let Some((_, first)) = self.ids.get(id) {
            let (message, first) = (format!("the vertex `{}` is there already", show(id)), first.clone());
            self.text.contradicts(&span, message, (&first, "an id of its own for each vertex"));
            return None;
        }
        self.ids.insert(id.to_owned(), (number, span));
        let data = self.data(element, &["label", "name", "type", "kind", "role", "x", "y"]);
        let name = ["label", "name"].iter().find_map(|key| data.get(*key)).filter(|name| !name.is_empty());
        let kind =
            ["type", "kind", "role"].iter().find_map(|key| data.get(*key)).map(|it| it.to_ascii_lowercase());
        let is_node = kind.and_then(|kind| match kind.as_str() {
            kind if NODES.contains(&kind) => Some(true),
            kind if SWITCHES.contains(&kind) => Some(false),
            _ => None,
        });
        let [x, y] = ["x", "y"].map(|key| {
            let number = data.get(key).and_then(|text| text.parse::<f64>().ok());
            number.filter(|number| number.is_finite())
        });
        let spot = x.zip(y).map(|(x, y)| [x, y]);
        for key in ["x", "y"].into_iter().filter(|key| spot.is_none() && data.contains_key(*key)) {
            *self.left_out.entry(key.to_owned()).or_default() += 1;
        }
        Some(Vertex { name: name.map_or(id, |name| *name).to_owned(), is_node, spot })
    }

    fn edge(&mut self, element: Node<'_, '_>) -> Option<Edge> {
        let span = tag(element);
        let mut ends = [0; 2];
        for (end, attribute) in ends.iter_mut().zip(["source", "target"]) {
            let Some(id) = element.attribute(attribute) else {
                self.text.wrong(
                    &span,
                    format!("an edge has no {attribute}"),
                    "`<edge source=\"...\" target=\"...\">`",
                );
                return None;
            };
            let Some((number, _)) = self.ids.get(id) else {
                let meant = nearest(id, self.ids.keys().map(String::as_str));
                let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
                let message = format!("no vertex has the id `{}`", show(id));
                self.text.wrong(&span, message, &format!("the id of a `<node>`{meant}"));
                return None;
            };
            *end = *number;
        }
        let data = self.data(element, &["length", "rate", "backrate", "class", "sourceport", "targetport"]);
        let ports = [("sourceport", ends[0]), ("targetport", ends[1])]
            .map(|(name, vertex)| self.port(&span, data.get(name).copied(), (name, vertex)));
        let class = data.get("class").copied().filter(|class| crate::names::valid(class, "c") == *class);
        if data.contains_key("class") && class.is_none() {
            *self.left_out.entry("class (which is no name)".to_owned()).or_default() += 1;
        }
        let length_mm = self.quantity(&span, &data, ("length", Dimension::Length));
        let [there, back] = ["rate", "backrate"].map(|name| {
            let bits = self.quantity(&span, &data, (name, Dimension::BitRate)).filter(|bits| *bits > 0);
            bits.map(|bits| Rate::new(bits, 1, &units::format(bits, Dimension::BitRate)))
        });
        let back = back.or_else(|| there.clone());
        let class = class.map(str::to_owned);
        Some(Edge { ends, ports, rates: [there, back], length_mm, class })
    }

    /// The port of `vertex` that `text` says, which no other edge has.
    fn port(
        &mut self,
        span: &Range<usize>,
        text: Option<&str>,
        (name, vertex): (&str, usize),
    ) -> Option<u32> {
        let text = text?;
        let Ok(port) = text.parse::<u32>() else {
            self.text.wrong(
                span,
                format!("the {name}: `{}` is not a port number", show(text)),
                "a number from 0",
            );
            return None;
        };
        if let Some(first) = self.ports.insert((vertex, port), span.clone()) {
            let message = format!("the {name}: port {port} has a cable already");
            self.text.contradicts(span, message, (&first, "each port once"));
        }
        Some(port)
    }

    /// What `data` say under a name. Without a unit it says nothing here.
    fn quantity(
        &mut self,
        span: &Range<usize>,
        data: &BTreeMap<String, &str>,
        (name, dimension): (&str, Dimension),
    ) -> Option<u64> {
        let text = *data.get(name)?;
        if text.parse::<f64>().is_ok() {
            *self.left_out.entry(format!("{name} (which has no unit)")).or_default() += 1;
            return None;
        }
        let example = if dimension == Dimension::Length {
            "a length such as `3 m`"
        } else {
            "a rate such as `100 Gbit/s`"
        };
        match units::parse(text, dimension) {
            Ok(value) => Some(value),
            Err(error) => {
                self.text.wrong(span, format!("the {name}: {error}"), example);
                None
            }
        }
    }
}

/// The place of the tag with which `element` begins.
fn tag(element: Node<'_, '_>) -> Range<usize> {
    let whole = element.range();
    let text = element.document().input_text().get(whole.clone()).unwrap_or("");
    whole.start..whole.start + text.find('>').map_or(text.len(), |end| end + 1)
}
