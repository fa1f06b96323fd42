//! The one writer: a fabric and its layout become a machine file, a graph file and, with tables, a file of them.

mod levels;
mod spots;

use crate::fabric::{Cable, End, Fabric, Framing, Notes, Rate, Tables, counted};
use crate::layout::{HPP_PORTS_MAX, Layout, PORTS_MAX};
use crate::names::{Names, valid};
use flitway_machine::{show, units};
use levels::Written;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What cables carry if nobody says.
const USUAL: (u64, &str) = (400_000_000_000, "400 Gbit/s");

/// Names on a line.
pub(crate) const ON_A_LINE: usize = 12;

/// Changed names that the report shows.
const SHOWN: usize = 6;

/// The files, as text.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) machine: String,
    pub(crate) graph: String,
    pub(crate) tables: Option<String>,
    pub(crate) notes: Notes,
    /// What became of names.
    pub(crate) names: Vec<String>,
}

/// What names are in the files.
pub(crate) struct Called {
    /// By the number of the switch in the fabric.
    pub(crate) switches: BTreeMap<usize, String>,
    /// By the number of the NIC port.
    pub(crate) nodes: BTreeMap<usize, String>,
    names: Names,
}

/// Writes the files of the machine `name`, which come from `origin`.
pub(crate) fn write(
    name: &str,
    origin: &str,
    fabric: &Fabric,
    layout: &Layout,
    tables: Option<&Tables>,
) -> Files {
    let mut notes = Notes::default();
    let called = called(fabric, layout);
    let cables: Vec<&Cable> = fabric.cables.iter().filter(|cable| called.has(cable)).collect();
    let between = cables.iter().filter(|it| it.ends.iter().all(|end| matches!(end, End::Switch(..)))).count();
    notes.taken.push(format!(
        "{}, {}, {}, {between} of them between switches{}",
        counted(layout.switches.len(), "switch"),
        counted(layout.nodes.len(), "node"),
        counted(cables.len(), "cable"),
        if layout.rails > 1 { ", in each rail" } else { "" },
    ));
    let rates = Rates::of(&cables, &mut notes);
    let rate = &rates.full;
    if cables.iter().any(|cable| cable.length_mm.is_none()) {
        notes
            .guessed
            .push("lengths of cables: 2 m at nodes, 8 m between switches (`link.length`)".to_owned());
    }
    let levels = tables.and_then(|tables| tables.levels.as_ref());
    let levels = levels.map(|of| levels::write(of, fabric, layout, &called));
    let classes = levels.as_ref().map(|levels| levels.classes);
    notes.guessed.push(match why_tiled(&rates, layout, classes) {
        Some((_, why)) => format!("the switch: a tiled switch, {why}, packets of at most 4 KiB"),
        None => {
            let buffer = buffer(rate.flit());
            format!(
                "the switch: an HPP Switch with {buffer} for each virtual channel, packets of at most 4 KiB"
            )
        }
    });
    let routing = if tables.is_some() { "tables" } else { "up-down" };
    if tables.is_none() {
        let other = match fabric.framing {
            Framing::Bytes { .. } => "; `--tables FILE` takes that of a subnet manager",
            Framing::Unknown => "",
        };
        notes.guessed.push(format!("the routing: up-down{other}"));
    }
    let levels = levels.unwrap_or_default();
    let tables = tables.map(|tables| forwarding(origin, (tables, &levels), layout, &called, &mut notes));
    Files {
        machine: machine(name, origin, fabric.framing, layout, (&rates, routing, classes)),
        graph: graph(origin, &cables, layout, (&called, &rates))
            + &spots::lines(fabric, layout, &called, &mut notes),
        tables,
        names: renamed(&called.names, name),
        notes,
    }
}

fn called(fabric: &Fabric, layout: &Layout) -> Called {
    let mut names = Names::default();
    let switches =
        layout.switches.iter().map(|&it| (it, names.give(&fabric.switches[it].name, "s"))).collect();
    let nodes = layout.nodes.iter().map(|(name, nic)| (*nic, names.give(name, "n"))).collect();
    Called { switches, nodes, names }
}

impl Called {
    fn has(&self, cable: &Cable) -> bool {
        cable.ends.iter().all(|end| match end {
            End::Switch(switch, _) => self.switches.contains_key(switch),
            End::Nic(nic) => self.nodes.contains_key(nic),
        })
    }

    fn end(&self, end: End) -> String {
        match end {
            End::Switch(switch, port) => format!("{}:{}", self.switches[&switch], port.unwrap_or_default()),
            End::Nic(nic) => self.nodes[&nic].clone(),
        }
    }
}

/// What the machine has of the rates of cables.
struct Rates {
    /// Of a flit in every cycle.
    full: Rate,
    /// Of cables of which nothing is said.
    usual: Rate,
    are_several: bool,
}

impl Rates {
    /// That of most cables is the usual one, of several the fastest; a flit in every cycle is the fastest of all.
    fn of(cables: &[&Cable], notes: &mut Notes) -> Self {
        let mut counts: BTreeMap<&Rate, usize> = BTreeMap::new();
        for cable in cables {
            let [there, back] = &cable.rates;
            let both = if there == back { [there.as_ref(), None] } else { [there.as_ref(), back.as_ref()] };
            both.into_iter().flatten().for_each(|rate| *counts.entry(rate).or_default() += 1);
        }
        let usual = counts.iter().max_by(|(a, count), (b, other)| count.cmp(other).then(a.compare(b)));
        let full = counts.keys().copied().max_by(|a, b| a.compare(b));
        let (Some((&usual, _)), Some(full)) = (usual, full) else {
            notes.guessed.push(format!("the rate of cables, which nothing says: {}", USUAL.1));
            let rate = || Rate::new(USUAL.0, 1, USUAL.1);
            return Rates { full: rate(), usual: rate(), are_several: false };
        };
        for (&rate, &count) in &counts {
            let (what, shown) = (counted(count, "cable"), rate.shown());
            let clock = match rate.compare(full).is_eq() {
                true => format!(": flits of {} B, clock {}", rate.flit(), rate.clock(rate.flit())),
                false => format!(": {} in the graph file", rate.written()),
            };
            let label = if rate.label == shown { String::new() } else { format!(" ({})", rate.label) };
            notes.taken.push(format!("{shown} on {what}{label}{clock}"));
        }
        let silent = cables.iter().filter(|cable| cable.rates.iter().all(Option::is_none)).count();
        if silent > 0 {
            let (what, shown) = (counted(silent, "cable"), usual.shown());
            notes.guessed.push(format!("the rate of {what}, which nothing says: {shown}, as most"));
        }
        let are_several = counts.keys().any(|rate| rate.compare(full).is_ne());
        Rates { full: full.clone(), usual: usual.clone(), are_several }
    }

    /// What the line of `cable` in the graph file says.
    fn written(&self, cable: &Cable) -> String {
        let [there, back] = cable.rates.each_ref().map(|rate| rate.as_ref().unwrap_or(&self.usual));
        match (there.compare(&self.full).is_eq(), there.compare(back).is_eq()) {
            (true, true) => String::new(),
            (false, true) => format!(" {}", there.written()),
            (_, false) => format!(" {} back {}", there.written(), back.written()),
        }
    }
}

/// Why the switches are tiled and no HPP Switches, for the file and for the report; nothing if they are not.
fn why_tiled(rates: &Rates, layout: &Layout, classes: Option<u32>) -> Option<(&'static str, &'static str)> {
    if classes.is_some() {
        Some((
            "what packets of an HPP Switch carry of a way may not suffice for service levels",
            "as what packets of an HPP Switch carry of a way may not suffice for service levels",
        ))
    } else if rates.are_several {
        Some(("its links may have several rates", "whose links may have several rates"))
    } else if layout.ports > HPP_PORTS_MAX {
        Some(("an HPP Switch has 64 ports at most", "as an HPP Switch has 64 ports at most"))
    } else {
        None
    }
}

/// Rows and columns of tiles for so many ports: as square as can be, and no more tiles than a switch has.
fn tiles(ports: u32) -> [u32; 2] {
    let square = (1..=ports).take_while(|rows| rows * rows <= ports);
    let tiles = square.map(|rows| [rows, ports.div_ceil(rows)]);
    tiles.filter(|[rows, columns]| rows * columns <= PORTS_MAX).last().unwrap_or([1, ports])
}

fn machine(
    name: &str,
    origin: &str,
    framing: Framing,
    layout: &Layout,
    (rates, routing, classes): (&Rates, &str, Option<u32>),
) -> String {
    let rate = &rates.full;
    let flit = rate.flit();
    let (header, trailer) = match framing {
        Framing::Bytes { header, trailer } => (header.div_ceil(flit), trailer.div_ceil(flit)),
        Framing::Unknown => (1, 1),
    };
    let plural = |flits: u64| if flits == 1 { "1 flit".to_owned() } else { format!("{flits} flits") };
    let name = valid(name, "m");
    let rails = if layout.rails > 1 { format!("rails = {}\n", layout.rails) } else { String::new() };
    let switch = if let Some((why, _)) = why_tiled(rates, layout, classes) {
        let [rows, columns] = tiles(layout.ports);
        // A round trip of flits, and no more than a buffer can have.
        let vcs = u64::from(classes.unwrap_or(1).max(4));
        let input = (vcs * (16 << 10)).clamp(1024 * flit, 32_768 * flit);
        let [input, inner] =
            [input, vcs * (8 << 10)].map(|bytes| units::format(bytes, units::Dimension::Size));
        let several = classes.filter(|classes| *classes > 1);
        let vcs = several.map_or_else(String::new, |classes| format!("vcs = {classes}\n"));
        format!(
            "architecture = \"tiled\"   # {why}\nrows = {rows}\ncolumns = {columns}\n{vcs}\
             link.retry = false\nbuffers.input = \"{input}\"\nbuffers.row = \"{inner}\"\nbuffers.column = \"{inner}\"\n"
        )
    } else {
        let (ports, buffer, unit) = (layout.ports, buffer(flit), credit_unit(flit));
        format!(
            "architecture = \"hpp\"\nports = {ports}\nbuffer = \"{buffer}\"\ncredit.unit = \"{unit} B\"\n"
        )
    };
    let file = if routing == "tables" { format!("file = \"{name}.tables\"\n") } else { String::new() };
    format!(
        "# Made by `flitway import` from {}.\n\
         name = \"{name}\"\nclock = \"{}\"   # x {flit} B = {}\n{rails}\n\
         [topology]\nkind = \"graph\"\nfile = \"{name}.graph\"\n\n\
         [routing]\nalgorithm = \"{routing}\"\n{file}\n\
         [packet]\nflit = \"{flit} B\"\nheader = \"{}\"\ntrailer = \"{}\"\nmtu = \"4 KiB\"\n\n\
         [switch]\n{switch}\n\
         [link.length]           # of links that say no length in the graph file\n\
         node = \"2 m\"\nswitch = \"8 m\"\n",
        show(origin),
        rate.clock(flit),
        rate.shown(),
        plural(header),
        plural(trailer),
    )
}

/// Bytes of a credit unit: with less than 16 flits adverts would take much of the channels.
fn credit_unit(flit: u64) -> u64 {
    (16 * flit).max(64)
}

/// The buffer of a virtual channel: 16 credit units, and four packets.
fn buffer(flit: u64) -> String {
    units::format((16 * credit_unit(flit)).max(16 << 10), units::Dimension::Size)
}

fn graph(origin: &str, cables: &[&Cable], layout: &Layout, (called, rates): (&Called, &Rates)) -> String {
    let mut text = format!("# Made by `flitway import` from {}.\n", show(origin));
    for (raw, name) in &called.names.changed {
        let _ = writeln!(text, "# {name} is `{}`", show(raw));
    }
    let switches: Vec<&str> = layout.switches.iter().map(|it| called.switches[it].as_str()).collect();
    let nodes: Vec<&str> = layout.nodes.iter().map(|(_, nic)| called.nodes[nic].as_str()).collect();
    for (keyword, names) in [("switch", switches), ("node", nodes)] {
        for line in names.chunks(ON_A_LINE) {
            let _ = writeln!(text, "{keyword} {}", line.join(" "));
        }
    }
    for nics in &layout.servers {
        let names: Vec<&str> = nics.iter().map(|nic| called.nodes[nic].as_str()).collect();
        let _ = writeln!(text, "server {}", names.join(" "));
    }
    for cable in cables {
        let [a, b] = cable.ends.map(|end| called.end(end));
        let length =
            cable.length_mm.map(|length| format!(" {}", units::format(length, units::Dimension::Length)));
        let class = cable.class.as_ref().map(|class| format!(" class {class}")).unwrap_or_default();
        let _ = writeln!(text, "link {a} - {b}{}{}{class}", length.unwrap_or_default(), rates.written(cable));
    }
    text
}

fn forwarding(
    origin: &str,
    (tables, levels): (&Tables, &Written),
    layout: &Layout,
    called: &Called,
    notes: &mut Notes,
) -> String {
    let mut text = format!("# Made by `flitway import` from {}.\n{}", show(origin), levels.head);
    for switch in &layout.switches {
        let mut by_port: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for (_, nic) in &layout.nodes {
            if let Some(port) = tables.entries.get(&(*switch, *nic)) {
                by_port.entry(*port).or_default().push(&called.nodes[nic]);
            }
        }
        if !by_port.is_empty() || levels.switches.contains_key(switch) {
            let _ = writeln!(text, "switch {}", called.switches[switch]);
        }
        for (port, nodes) in by_port {
            for line in nodes.chunks(ON_A_LINE) {
                let _ = writeln!(text, "to {} port {port}", line.join(" "));
            }
        }
        text.push_str(levels.switches.get(switch).map_or("", String::as_str));
    }
    let is_left_out = |(switch, nic): &&(usize, usize)| {
        !called.switches.contains_key(switch) || !called.nodes.contains_key(nic)
    };
    let left_out = tables.entries.keys().filter(is_left_out).count();
    if left_out > 0 {
        let what =
            if layout.rails > 1 { "other rails: all rails forward as the first" } else { "what is left out" };
        notes.dropped.push(format!("{left_out} entries of {what}"));
    }
    text
}

/// What the report says of names that could not stay.
fn renamed(names: &Names, name: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        names.changed.iter().take(SHOWN).map(|(raw, made)| format!("`{}` is {made}", show(raw))).collect();
    if names.changed.len() > SHOWN {
        let more = names.changed.len() - SHOWN;
        lines.push(format!("{more} more, which begin {}.graph", valid(name, "m")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_ports_has_its_tiles() {
        for ports in 2..=PORTS_MAX {
            let [rows, columns] = tiles(ports);
            assert!(ports <= rows * columns && rows * columns <= PORTS_MAX, "{ports}: {rows} x {columns}");
            assert!(rows <= columns && rows * 3 >= columns || ports < 12, "{ports}: {rows} x {columns}");
        }
        assert_eq!([tiles(24), tiles(64), tiles(511)], [[4, 6], [8, 8], [16, 32]]);
    }
}
