//! Import: fabrics as others describe them become a machine file, a graph file and a file of forwarding tables.
//!
//! Each format has a reader, all readers make one neutral description, and one writer makes the files. This crate simulates
//! nothing and does not touch files: text goes in, text and a report come out, and what is wrong with the input is a value.
//!
//! ```text
//! text -> Format -> reader -> Fabric (switches, NIC ports, cables) -> Layout (rails, nodes, ports) -> files and report
//! ```

mod booksim;
mod edges;
mod fabric;
mod format;
mod graphml;
mod guid;
mod infiniband;
mod layout;
mod levels;
mod lines;
mod names;
mod opensm;
mod rate;
mod slurm;
mod vertices;
mod write;

use fabric::{Fabric, Notes};
use flitway_machine::{Code, Diagnostic, Diagnostics, Location, Source};
use std::sync::Arc;

pub use format::Format;

/// What to import, and how.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Descriptions of the fabric.
    pub fabrics: Vec<Arc<Source>>,
    /// Forwarding tables of it, and service levels.
    pub tables: Vec<Arc<Source>>,
    /// The format of the descriptions, if it is not to be told by their content.
    pub format: Option<Format>,
    /// Nodes that each switch has, where the description names none.
    pub nodes_per_switch: Option<u32>,
    /// What the machine will be called, and with it the files that name each other.
    pub name: String,
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The name of the machine, and the stem of its files.
    pub name: String,
    /// The text of `NAME.toml`.
    pub machine: String,
    /// The text of `NAME.graph`.
    pub graph: String,
    /// The text of `NAME.tables`.
    pub tables: Option<String>,
    /// What was taken, guessed, dropped, is missing, is called otherwise: a heading and a sentence.
    pub report: Vec<(&'static str, String)>,
}

/// The name of a machine that a file of the name `stem` describes.
#[must_use]
pub fn machine_name(stem: &str) -> String {
    names::valid(stem, "m")
}

/// Reads `inputs` and makes files of them.
///
/// # Errors
/// All that is wrong with a text, or with the fabric that it describes.
pub fn import(inputs: &Inputs) -> Result<Imported, Diagnostics> {
    let mut fabric = Fabric::default();
    let mut origins = Vec::new();
    for (number, source) in inputs.fabrics.iter().enumerate() {
        let format = match inputs.format {
            Some(format) => format,
            None => Format::of(source).map_err(|problem| Diagnostics::from(*problem))?,
        };
        fabric.add(read(source, format, inputs)?, number);
        origins.push(source.name.as_str());
    }
    once_each(&fabric)?;
    let layout = layout::lay_out(&mut fabric)?;
    let mut tables = match inputs.tables.is_empty() {
        true => None,
        false => {
            let is_levels = |source: &Arc<Source>| levels::is_levels(&source.text);
            let (of_levels, of_ports) = inputs.tables.iter().cloned().partition::<Vec<_>, _>(is_levels);
            let mut tables = opensm::read(&of_ports, &fabric)?;
            if let Some(first) = of_levels.first() {
                if of_ports.is_empty() {
                    let message = "service levels without forwarding tables";
                    let problem = Diagnostic::error(Code::ForeignFabric, Location::whole(first), message);
                    return Err(problem.expected("`opensm-lfts.dump` or the like beside it").into());
                }
                tables.levels = Some(levels::read(&of_levels, &fabric, &mut tables.notes)?);
            }
            Some(tables)
        }
    };
    if let Some(tables) = &mut tables {
        opensm::note_holes(tables, &fabric, &layout.switches, &layout.nodes);
    }
    let name = machine_name(&inputs.name);
    let files = write::write(&name, &origins.join(", "), &fabric, &layout, tables.as_ref());
    let mut notes = Notes::default();
    let of_tables = tables.map(|tables| tables.notes).unwrap_or_default();
    [files.notes, fabric.notes, layout.notes, of_tables].into_iter().for_each(|more| notes.add(more));
    let report = [
        ("taken", notes.taken),
        ("guessed", notes.guessed),
        ("dropped", notes.dropped),
        ("holes", notes.holes),
        ("names", files.names),
    ];
    let report = report.into_iter().flat_map(|(head, list)| list.into_iter().map(move |it| (head, it)));
    Ok(Imported {
        name,
        machine: files.machine,
        graph: files.graph,
        tables: files.tables,
        report: report.collect(),
    })
}

fn read(source: &Arc<Source>, format: Format, inputs: &Inputs) -> Result<Fabric, Diagnostics> {
    let nodes_per_switch = inputs.nodes_per_switch;
    let wrong = |message: &str, expected: &str| {
        let problem = Diagnostic::error(Code::ForeignFabric, Location::whole(source), message);
        Err(problem.expected(expected).into())
    };
    if nodes_per_switch.is_some() && !format.is_graph() {
        return wrong("this names its nodes, so that switches get no others", "no `--nodes-per-switch`");
    }
    if !inputs.tables.is_empty() && format != Format::Ibnetdiscover {
        return wrong(
            "this has no LIDs, by which forwarding tables go",
            "the output of ibnetdiscover with `--tables`",
        );
    }
    match format {
        Format::Edges => edges::read(source, nodes_per_switch),
        Format::Ibnetdiscover => infiniband::read(source),
        Format::Booksim => booksim::read(source),
        Format::Slurm => slurm::read(source),
        Format::Graphml => graphml::read(source, nodes_per_switch),
    }
}

/// Refuses a switch that two files describe.
fn once_each(fabric: &Fabric) -> Result<(), Diagnostics> {
    let mut guids = std::collections::BTreeMap::new();
    for switch in &fabric.switches {
        let Some(guid) = switch.guid else { continue };
        if let Some(file) = guids.insert(guid, switch.file).filter(|file| *file != switch.file) {
            let message =
                format!("the switch of GUID 0x{guid:016x} is in files {} and {}", file + 1, switch.file + 1);
            let problem = Diagnostic::error(Code::ForeignFabric, None, message);
            return Err(problem.expected("files of different networks").into());
        }
    }
    Ok(())
}
