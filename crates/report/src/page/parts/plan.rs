//! Which boxes and cells there are, and which channel belongs to which cell.

use super::groups::{self, Groups};
use crate::stages::{self, ChannelEnds};
use flitway_fabric::Fabric;
use flitway_wiring::topology::{End, Layout, Parts, Topology};
use flitway_wiring::{NodeId, SwitchId};
use std::collections::{BTreeMap, VecDeque};

/// Boxes at most.
pub(super) const BOXES_MAX: usize = 64;

/// Cells of switches at most, each of which has two halves.
const CELLS_MAX: usize = 5_000;

/// The place of nodes among the bands; level `n` of switches is `n + 1`.
const NODES: usize = 0;

/// What several parts in one box are called.
const RUN: &str = "run";

/// Ways of channels out of a switch: up, on its level to another box, down, on its level within its box.
const UP: u8 = 1;
const ACROSS: u8 = 2;
const DOWN: u8 = 4;
const BESIDE: u8 = 8;

/// A row, or some, of cells that are alike.
#[derive(Clone, Debug, Default)]
pub(super) struct Band {
    pub(super) name: String,
    /// What each cell stands for.
    pub(super) units: Vec<String>,
    /// The halves of a cell.
    pub(super) ways: Vec<String>,
    /// [`NODES`], or how far its switches are from nodes.
    at: usize,
    /// The number of its first half.
    first: u32,
}

/// A part of the machine, which is drawn as a box.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: String,
    /// From the top.
    pub(super) bands: Vec<Band>,
}

/// What a switch is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// Above all boxes: the number of what it is part of there.
    Above(u32),
    /// The number of a box.
    Box(u32),
}

/// All of it.
pub(super) struct Plan {
    /// What a box is; there is only one that is everything if it is nothing.
    pub(super) kind: Option<String>,
    /// What a cell is.
    pub(super) cell: String,
    /// The bands of a box from the top: their names.
    pub(super) levels: Vec<String>,
    pub(super) boxes: Vec<Part>,
    above: Vec<Band>,
    /// By switch.
    pub(super) places: Vec<Place>,
    /// What is above all boxes: how many.
    pub(super) count_above: u32,
    level_of: Vec<u32>,
    /// The user's names of switches; none if they have numbers.
    pub(super) names: Vec<String>,
    /// By switch: its place among the cells of its band, and that of its nodes.
    unit_of: Vec<[u32; 2]>,
    /// By level, above all boxes and in them: the ways that channels out of switches go.
    ways: BTreeMap<(bool, usize), u8>,
    homes: Vec<SwitchId>,
    /// By switch.
    has_nodes: Vec<bool>,
}

/// The switches that each switch is joined to.
pub(in crate::page) fn neighbours(topology: &Topology) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new(); topology.switches() as usize];
    for link in topology.links() {
        if let [End::Switch(one, _), End::Switch(other, _)] = link.ends {
            all[one.index()].push(other.0);
            all[other.index()].push(one.0);
        }
    }
    all
}

/// How many links each switch is from one that has nodes.
pub(in crate::page) fn levels(topology: &Topology, neighbours: &[Vec<u32>]) -> Vec<u32> {
    let mut levels = vec![u32::MAX; neighbours.len()];
    let mut next: VecDeque<u32> = (0..topology.nodes()).map(|node| topology.home(NodeId(node)).0.0).collect();
    next.iter().for_each(|&switch| levels[switch as usize] = 0);
    while let Some(switch) = next.pop_front() {
        let level = levels[switch as usize] + 1;
        for &other in &neighbours[switch as usize] {
            if levels[other as usize] == u32::MAX {
                levels[other as usize] = level;
                next.push_back(other);
            }
        }
    }
    levels
}

/// What one of `parts` is called.
fn singular(parts: &str) -> &str {
    match parts {
        "switches" => "switch",
        "frames" | "cabinets" | "groups" => &parts[..parts.len() - 1],
        level if level.starts_with("level") => "subtree",
        _ => "part",
    }
}

/// The parts of the switches that are in none of `boxes` parts: what links among them join, unless that is all of them.
fn above(of: &[u32], boxes: u32, neighbours: &[Vec<u32>]) -> Vec<Option<u32>> {
    let is_above = |switch: u32| of[switch as usize] >= boxes;
    let mut parts = vec![None; of.len()];
    let mut count = 0;
    for switch in (0..of.len() as u32).filter(|&switch| is_above(switch)) {
        if parts[switch as usize].is_some() {
            continue;
        }
        parts[switch as usize] = Some(count);
        let mut next = vec![switch];
        while let Some(here) = next.pop() {
            for &other in neighbours[here as usize].iter().filter(|&&other| is_above(other)) {
                if parts[other as usize].is_none() {
                    parts[other as usize] = Some(count);
                    next.push(other);
                }
            }
        }
        count += 1;
    }
    if count == 1 {
        (0..).zip(parts.iter_mut().flatten()).for_each(|(number, part)| *part = number);
    }
    parts
}

/// Where switches are, and how boxes are made.
struct Division {
    /// What a box is.
    kind: Option<String>,
    names: Vec<String>,
    places: Vec<Place>,
    /// The ways to divide the switches that are no coarser than boxes, the finest first.
    finer: Vec<Parts>,
}

impl Division {
    /// A box for each group, and switches that are in none above all.
    fn of_groups(topology: &Topology, groups: Groups) -> Self {
        let mut count_above = 0;
        let place = |group: Option<u32>| {
            group.map_or_else(
                || {
                    count_above += 1;
                    Place::Above(count_above - 1)
                },
                Place::Box,
            )
        };
        let places = groups.of.into_iter().map(place).collect();
        let mut finer = topology.switch_parts();
        finer.truncate(1);
        Division { kind: Some("group".to_owned()), names: groups.names, places, finer }
    }

    fn new(topology: &Topology, neighbours: &[Vec<u32>]) -> Self {
        let mut divisions = topology.switch_parts();
        let homes = || (0..topology.nodes()).map(|node| topology.home(NodeId(node)).0);
        let count =
            |parts: &Parts| homes().map(|home| parts.of[home.index()] + 1).max().unwrap_or(1) as usize;
        // Single switches are no boxes.
        let fits = |parts: &Parts| (2..=BOXES_MAX).contains(&count(parts));
        let chosen = divisions.iter().skip(1).position(fits).map_or(divisions.len() - 1, |place| place + 1);
        if chosen == 0 {
            let places = vec![Place::Box(0); topology.switches() as usize];
            return Division { kind: None, names: vec![String::new()], places, finer: divisions };
        }
        divisions.truncate(chosen + 1);
        let parts = &divisions[chosen];
        let all = count(parts) as u32;
        let each = all.div_ceil(BOXES_MAX as u32);
        let above = above(&parts.of, all, neighbours);
        let place = |(part, above): (&u32, &Option<u32>)| above.map_or(Place::Box(part / each), Place::Above);
        let kind = singular(&parts.name);
        let names =
            (0..all).step_by(each as usize).map(|first| run(kind, first, (first + each).min(all) - 1));
        Division {
            kind: Some(if each == 1 { kind.to_owned() } else { format!("{RUN} of {each} {kind}s") }),
            names: names.collect(),
            places: parts.of.iter().zip(&above).map(place).collect(),
            finer: divisions,
        }
    }
}

/// `group 3`, or `groups 3 to 5`.
pub(super) fn run(kind: &str, first: u32, last: u32) -> String {
    if first == last { format!("{kind} {first}") } else { format!("{} {first} to {last}", plural(kind)) }
}

/// `groups`, `switches`.
pub(super) fn plural(kind: &str) -> String {
    format!("{kind}{}", if kind.ends_with('h') { "es" } else { "s" })
}

/// What is alike: where it is and its band.
type Key = (Place, usize);

/// The cells before they have names: for each band the parts that they are, and their switches.
fn gathered(division: &Division, levels: &[u32], of: &[u32]) -> BTreeMap<Key, BTreeMap<u32, Vec<u32>>> {
    let mut cells: BTreeMap<Key, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
    for (switch, (&place, &level)) in (0..).zip(division.places.iter().zip(levels)) {
        let (place, part) = match place {
            Place::Above(part) => (Place::Above(0), part),
            Place::Box(_) => (place, of[switch as usize]),
        };
        let band = cells.entry((place, level as usize + 1)).or_default();
        band.entry(part).or_default().push(switch);
    }
    cells
}

impl Plan {
    pub(super) fn new(fabric: &Fabric, names: &[String]) -> Self {
        let topology = fabric.topology();
        let neighbours = neighbours(topology);
        let level_of = levels(topology, &neighbours);
        let is_graph = matches!(topology.layout(), Layout::Springs) && topology.switch_parts().len() == 1;
        let groups = is_graph.then(|| groups::find(names, &level_of, &neighbours)).flatten();
        let division = match groups {
            Some(groups) => Division::of_groups(topology, groups),
            None => Division::new(topology, &neighbours),
        };
        let count = |parts: &Parts| {
            gathered(&division, &level_of, &parts.of).values().map(BTreeMap::len).sum::<usize>()
        };
        let finest = division.finer.iter().position(|parts| count(parts) <= CELLS_MAX);
        let parts = &division.finer[finest.unwrap_or(division.finer.len() - 1)];
        // So many parts are one cell.
        let each = count(parts).div_ceil(CELLS_MAX);
        let cells = gathered(&division, &level_of, &parts.of);
        let cell = match (singular(&parts.name), each) {
            ("switch", 1) => "a switch".to_owned(),
            ("switch", each) => format!("up to {each} switches"),
            (kind, 1) => format!("the switches of a {kind} on that level"),
            (kind, each) => format!("the switches of up to {each} {kind}s on that level"),
        };
        let homes = (0..topology.nodes()).map(|node| topology.home(NodeId(node)).0).collect();
        let mut has_nodes = vec![false; topology.switches() as usize];
        for node in (0..topology.nodes()).map(NodeId) {
            // What sends to a node may be another switch than what it sends to, where links are one-way.
            for (switch, _) in [topology.home(node), topology.exit(node)] {
                has_nodes[switch.index()] = true;
            }
        }
        let count_above = division.places.iter().filter_map(|place| match place {
            Place::Above(part) => Some(part + 1),
            Place::Box(_) => None,
        });
        let mut plan = Plan {
            kind: division.kind.clone(),
            cell,
            levels: Vec::new(),
            boxes: Vec::new(),
            above: Vec::new(),
            count_above: count_above.max().unwrap_or(0),
            places: division.places.clone(),
            level_of,
            names: names.to_vec(),
            unit_of: vec![[0; 2]; topology.switches() as usize],
            ways: BTreeMap::new(),
            homes,
            has_nodes,
        };
        plan.find_ways(fabric);
        plan.fill(topology, &division, &Cells { cells, each, kind: singular(&parts.name), names });
        plan.number();
        plan
    }

    /// Which ways channels go from each level.
    fn find_ways(&mut self, fabric: &Fabric) {
        for channel in stages::channels(fabric).flatten() {
            if let (End::Switch(from, _), End::Switch(to, _)) = (channel.from, channel.to) {
                let (is_above, level) = self.band_of(from);
                *self.ways.entry((is_above, level)).or_default() |= self.way(from, to);
            }
        }
    }

    fn band_of(&self, switch: SwitchId) -> (bool, usize) {
        let is_above = matches!(self.places[switch.index()], Place::Above(_));
        (is_above, self.level_of[switch.index()] as usize + 1)
    }

    fn way(&self, from: SwitchId, to: SwitchId) -> u8 {
        match self.level_of[from.index()].cmp(&self.level_of[to.index()]) {
            std::cmp::Ordering::Less => UP,
            std::cmp::Ordering::Greater => DOWN,
            std::cmp::Ordering::Equal if self.places[from.index()] == self.places[to.index()] => BESIDE,
            std::cmp::Ordering::Equal => ACROSS,
        }
    }

    /// The halves of the cells of a band: those that some channel needs.
    fn halves(&self, is_above: bool, band: usize) -> Vec<String> {
        if band == NODES {
            return vec!["into nodes".to_owned(), "out of nodes".to_owned()];
        }
        let ways = self.ways.get(&(is_above, band)).copied().unwrap_or(0);
        let kind = self.kind.as_deref().filter(|kind| !kind.starts_with(RUN)).unwrap_or("part");
        let across = format!("to other {}", plural(kind));
        let beside = if self.kind.is_some() { "on its level, within" } else { "on its level" };
        let name = |all: [(u8, &str); 2]| {
            let said: Vec<&str> = all.iter().filter(|(way, _)| ways & way != 0).map(|(_, it)| *it).collect();
            (!said.is_empty()).then(|| said.join(" and "))
        };
        [name([(UP, "up"), (ACROSS, &across)]), name([(DOWN, "down"), (BESIDE, beside)])]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Bands with the names of their cells.
    fn fill(&mut self, topology: &Topology, division: &Division, cells: &Cells<'_>) {
        let known = topology.level_names();
        let top = self.level_of.iter().max().map_or(1, |level| *level as usize + 1);
        let name = |band: usize| match known.and_then(|(names, _)| names.get(band.wrapping_sub(1))) {
            Some(name) => (*name).to_owned(),
            None if band == NODES => "nodes".to_owned(),
            None if top == 1 => "switches".to_owned(),
            None => format!("level {band}"),
        };
        let has = |is_above: bool, band: usize| {
            cells.cells.keys().any(|&(place, at)| at == band && is_above == matches!(place, Place::Above(_)))
        };
        for band in (1..=top).rev().filter(|&band| has(true, band)) {
            let units = self.units(cells, (Place::Above(0), band));
            let name =
                known.map_or_else(|| name(band), |(_, above)| format!("{}: {}", plural(above), name(band)));
            self.above.push(Band { name, units, ways: self.halves(true, band), at: band, first: 0 });
        }
        let bands: Vec<usize> = (0..=top).rev().filter(|&band| band == NODES || has(false, band)).collect();
        self.levels = bands.iter().map(|&band| name(band)).collect();
        for (number, of) in (0..).zip(&division.names) {
            let band = |plan: &mut Plan, band: usize| Band {
                name: name(band),
                units: plan.units(cells, (Place::Box(number), band)),
                ways: plan.halves(false, band),
                at: band,
                first: 0,
            };
            let bands = bands.iter().map(|&it| band(self, it)).collect();
            self.boxes.push(Part { name: of.clone(), bands });
        }
    }

    /// The names of the cells of a band, in which its switches, or those of its nodes, are put.
    fn units(&mut self, cells: &Cells<'_>, key: Key) -> Vec<String> {
        let (place, band) = key;
        // Nodes are where their switches are.
        let of_nodes = band == NODES;
        let mut parts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let (from, until) = if of_nodes { (0, usize::MAX) } else { (band, band) };
        for (_, found) in cells.cells.range((place, from)..=(place, until)) {
            for (&part, switches) in found {
                let wanted = switches.iter().filter(|&&switch| !of_nodes || self.has_nodes[switch as usize]);
                let wanted: Vec<u32> = wanted.copied().collect();
                if !wanted.is_empty() {
                    parts.entry(part).or_default().extend(wanted);
                }
            }
        }
        let parts: Vec<(u32, Vec<u32>)> = parts.into_iter().collect();
        let mut names = Vec::new();
        for (unit, run) in (0..).zip(parts.chunks(cells.each)) {
            for &switch in run.iter().flat_map(|(_, switches)| switches) {
                self.unit_of[switch as usize][usize::from(of_nodes)] = unit;
            }
            names.push(cells.name(run, matches!(place, Place::Above(_)), of_nodes));
        }
        names
    }

    /// Counts the halves of cells in the order in which they are drawn.
    fn number(&mut self) {
        let mut next = 0;
        let bands = self.above.iter_mut().chain(self.boxes.iter_mut().flat_map(|it| &mut it.bands));
        for band in bands {
            band.first = next;
            next += (band.units.len() * band.ways.len()) as u32;
        }
    }

    /// What is above all boxes, from the top.
    pub(super) fn above(&self) -> &[Band] {
        &self.above
    }

    /// Halves of cells.
    pub(super) fn cells(&self) -> u32 {
        let last = self.boxes.last().and_then(|part| part.bands.last());
        last.map_or(0, |band| band.first + (band.units.len() * band.ways.len()) as u32)
    }

    /// The half of a cell that `channel` belongs to.
    pub(super) fn cell_of(&self, channel: &ChannelEnds) -> Option<u32> {
        match (channel.from, channel.to) {
            (End::Node(node), _) => self.half(self.homes[node.index()], NODES, 1),
            (End::Switch(switch, _), End::Node(_)) => self.half(switch, NODES, 0),
            (End::Switch(from, _), End::Switch(to, _)) => {
                let ways = self.ways[&self.band_of(from)];
                let is_second = self.way(from, to) & (DOWN | BESIDE) != 0;
                let has_first = ways & (UP | ACROSS) != 0;
                self.half(from, self.band_of(from).1, usize::from(is_second && has_first))
            }
        }
    }

    fn half(&self, switch: SwitchId, band: usize, half: usize) -> Option<u32> {
        let unit = self.unit_of[switch.index()][usize::from(band == NODES)];
        let bands = match self.places[switch.index()] {
            Place::Above(_) => &self.above,
            Place::Box(number) => &self.boxes[number as usize].bands,
        };
        let found = bands.iter().find(|found| found.at == band)?;
        Some(found.first + unit * found.ways.len() as u32 + half as u32)
    }
}

/// The cells of all bands, and what they are called by.
struct Cells<'a> {
    cells: BTreeMap<Key, BTreeMap<u32, Vec<u32>>>,
    /// Parts in a cell.
    each: usize,
    /// What a part is.
    kind: &'a str,
    /// The user's names of switches; none if they have numbers.
    names: &'a [String],
}

impl Cells<'_> {
    /// That of a cell of these parts, with their switches.
    fn name(&self, run_of: &[(u32, Vec<u32>)], is_above: bool, of_nodes: bool) -> String {
        let [Some((first, from)), Some((last, until))] = [run_of.first(), run_of.last()] else {
            return String::new();
        };
        let is_single = self.kind == "switch" || run_of.iter().all(|(_, switches)| switches.len() == 1);
        if is_single && !of_nodes || self.kind == "switch" {
            let [first, last] = [from.first(), until.last()].map(|switch| switch.copied().unwrap_or(0));
            return switches(self.names, first, last);
        }
        match is_above {
            true if first == last => format!("no. {first}"),
            true => format!("no. {first} to {last}"),
            false => run(self.kind, *first, *last),
        }
    }
}

/// Switches by the names that users gave them, or by number.
pub(super) fn switches(names: &[String], first: u32, last: u32) -> String {
    match [first, last].map(|switch| names.get(switch as usize)) {
        [Some(name), _] if first == last => name.replace('|', "/"),
        [Some(first), Some(last)] => format!("{first} to {last}").replace('|', "/"),
        _ => run("switch", first, last),
    }
}
