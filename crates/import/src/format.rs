//! Formats of fabrics, known by their content.

use crate::{booksim, edges, opensm, slurm};
use flitway_machine::{Code, Diagnostic, Location, Source};
use std::sync::Arc;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The output of `ibnetdiscover`, and net files of `ibsim`.
    Ibnetdiscover,
    /// Files of BookSim's `anynet`.
    Booksim,
    /// Lists of edges.
    Edges,
    /// `topology.conf` and `topology.yaml` of Slurm.
    Slurm,
    /// GraphML.
    Graphml,
}

/// Lines that are looked at.
const LINES: usize = 60;

impl Format {
    /// All of them, each with its name.
    pub const ALL: &'static [(&'static str, Format)] = &[
        ("ibnetdiscover", Format::Ibnetdiscover),
        ("booksim", Format::Booksim),
        ("edges", Format::Edges),
        ("slurm", Format::Slurm),
        ("graphml", Format::Graphml),
    ];

    /// Whether it has vertices, of which nobody says what is a node.
    pub(crate) fn is_graph(self) -> bool {
        matches!(self, Format::Edges | Format::Graphml)
    }

    /// What `source` is in.
    ///
    /// # Errors
    /// If it is in none of them, or cannot be told.
    pub fn of(source: &Arc<Source>) -> Result<Format, Box<Diagnostic>> {
        let problem = |message: &str| Diagnostic::error(Code::ForeignLine, Location::whole(source), message);
        if opensm::is_table(&source.text) {
            let problem = problem("these are forwarding tables, and not the fabric that they are of");
            return Err(Box::new(
                problem.help("name the output of ibnetdiscover, and these after `--tables`"),
            ));
        }
        let found = source.text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES);
        if let Some(format) = found.clone().find_map(of_line) {
            return Ok(format);
        }
        let first = found.clone().next().unwrap_or("");
        if is_graph_file(found.clone()) {
            let problem = problem("this is a graph file already, and needs no import");
            return Err(Box::new(problem.help("name it in a machine file: `flitway explain topology.file`")));
        }
        let other = OTHERS.iter().find(|(start, _)| first.starts_with(start)).map(|(_, what)| *what);
        // Two words are an edge where nothing else is known.
        let vertices = found.clone().find(|line| !line.starts_with(['#', '%']));
        if other.is_none() && vertices.is_some_and(edges::is_line) {
            return Ok(Format::Edges);
        }
        let message = other.unwrap_or("this is in no format that is known");
        let names = Format::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let problem = problem(message).expected(format!("one of: {names}"));
        let help = "`--format NAME` says which format a file is in".to_owned();
        Err(Box::new(problem.maybe_help(other.is_none().then_some(help))))
    }
}

/// How a text begins that is something else, and what it is.
const OTHERS: &[(&str, &str)] = &[
    ("digraph", "this is a Graphviz file, which cannot be imported; NetworkX can read it"),
    ("strict ", "this is a Graphviz file, which cannot be imported; NetworkX can read it"),
    ("graph {", "this is a Graphviz file, which cannot be imported; NetworkX can read it"),
    ("{", "this is a JSON file, which cannot be imported"),
    ("[", "this is a machine file or a list, and no fabric of others"),
];

/// Whether the lines are those of a graph file of Flitway.
fn is_graph_file<'a>(mut lines: impl Iterator<Item = &'a str>) -> bool {
    let begins = |line: &str| ["switch ", "node ", "link "].iter().any(|word| line.starts_with(word));
    lines.find(|line| !line.starts_with('#')).is_some_and(begins)
}

/// What a file with such a line is in, if the line says it.
fn of_line(line: &str) -> Option<Format> {
    let is_block = |line: &str| {
        let mut words = line.split_whitespace();
        let kind = words
            .next()
            .is_some_and(|word| ["switch", "ca", "hca"].contains(&word.to_ascii_lowercase().as_str()));
        kind && words.next().is_some_and(|word| word.parse::<u32>().is_ok())
            && words.next().is_some_and(|word| word.starts_with('"'))
    };
    let starts = ["# Topology file: generated on", "vendid=0x", "switchguid=", "caguid=", "sysimgguid="];
    let is_infiniband = starts.iter().any(|start| line.starts_with(start)) || is_block(line);
    if line.starts_with("<?xml") || line.starts_with("<graphml") {
        return Some(Format::Graphml);
    }
    if is_infiniband {
        return Some(Format::Ibnetdiscover);
    }
    let others = [(booksim::is_line(line), Format::Booksim), (slurm::is_line(line), Format::Slurm)];
    others.into_iter().find_map(|(is, format)| is.then_some(format))
}
