//! Lists of edges: two vertices a line, and perhaps a length.
//!
//! ```text
//! # comment
//! a b
//! a c 3 m
//! ```
//!
//! A number without a unit behind the vertices is a weight and no length, and so is what NetworkX writes there: `{}` or
//! `{'weight': 1}`.

use crate::fabric::{Fabric, Read, counted};
use crate::lines::{Line, Text, lines};
use crate::vertices::{Edge, Vertex, fabric};
use flitway_machine::{Dimension, Source, show, units};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a line reads.
const FORM: &str = "`VERTEX VERTEX [LENGTH]`, for example `a b 3 m`";

/// Whether `line` may be one of such a list.
pub(crate) fn is_line(line: &str) -> bool {
    // Data of NetworkX may have any number of words.
    let words = words(line.split('{').next().unwrap_or("")).len();
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_.:/ \t,{}'\"".contains(letter);
    !line.starts_with(['#', '%', '{', '[']) && (2..=4).contains(&words) && line.chars().all(is_plain)
}

fn words(line: &str) -> Vec<&str> {
    line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect()
}

/// Reads such a list.
pub(crate) fn read(source: &Arc<Source>, nodes_per_switch: Option<u32>) -> Read<Fabric> {
    let mut reader = Reader {
        text: Text::new(source),
        numbers: BTreeMap::new(),
        vertices: Vec::new(),
        edges: Vec::new(),
        weights: 0,
    };
    for line in lines(&source.text) {
        let body = line.text.trim();
        if !body.is_empty() && !body.starts_with(['#', '%']) {
            reader.edge(&line);
        }
    }
    let Reader { text, vertices, edges, weights, .. } = reader;
    text.done(())?;
    let mut fabric = fabric(&vertices, &edges, nodes_per_switch)?;
    if weights > 0 {
        fabric.notes.dropped.push(format!("weights of {}: a length has a unit", counted(weights, "edge")));
    }
    Ok(fabric)
}

struct Reader {
    text: Text,
    numbers: BTreeMap<String, usize>,
    vertices: Vec<Vertex>,
    edges: Vec<Edge>,
    weights: usize,
}

impl Reader {
    fn edge(&mut self, line: &Line<'_>) {
        let body = line.text.split('#').next().unwrap_or("");
        let words = words(body);
        let [a, b, rest @ ..] = words.as_slice() else {
            let message = format!("`{}` is not an edge", show(body.trim()));
            return self.text.wrong(&line.span(), message, FORM);
        };
        let rest = rest.join(" ");
        let length_mm = match rest.as_str() {
            "" => None,
            data if data.starts_with('{') || data.parse::<f64>().is_ok() => {
                self.weights += usize::from(data != "{}");
                None
            }
            length => match units::parse(length, Dimension::Length) {
                Ok(length) => Some(length),
                Err(error) => return self.text.wrong(&line.span(), format!("the length: {error}"), FORM),
            },
        };
        let ends = [self.vertex(a), self.vertex(b)];
        self.edges.push(Edge { ends, ports: [None, None], rates: [None, None], length_mm, class: None });
    }

    fn vertex(&mut self, name: &str) -> usize {
        let next = self.vertices.len();
        let number = *self.numbers.entry(name.to_owned()).or_insert(next);
        if number == next {
            self.vertices.push(Vertex { name: name.to_owned(), is_node: None, spot: None });
        }
        number
    }
}
