//! Graphs: a box for each switch, as large as its name and its nodes need. What is a tree by its links stands in rows, by how
//! far it is from nodes; where the file says coordinates, switches stand there; others stand as far from each other as links
//! say.

use super::stress::{apart, reach, stress};
use super::{Canvas, Given, Spot, WIDTH, rows};
use crate::page::parts::plan::{levels, neighbours};
use flitway_wiring::topology::{End, Topology};
use flitway_wiring::{NodeId, SwitchId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Switches in rows up to which each has a box.
const IN_ROWS_MAX: u32 = 400;

/// Switches elsewhere up to which they are drawn.
const FREE_MAX: u32 = 400;

/// Pairs of switches that links join, up to which they are drawn wherever they lead, and where they are short, as those of a
/// grid are: in the mean no longer than this part of the picture.
const FREE_LINKS_MAX: usize = 320;
const SHORT_LINKS_MAX: usize = 900;
const SHORT: f64 = 0.16;

/// Links between rows up to which they are drawn.
const ROW_LINKS_MAX: usize = 640;

/// Room for the names of rows.
const LEFT: f64 = 70.0;

/// Width of a letter of a name, height of a line, and what a box has beside them.
const LETTER: f64 = 6.4;
const LINE: f64 = 14.0;
const INSET: f64 = 2.0;

/// Letters of a name at most.
const LETTERS_MAX: usize = 16;

/// Names of more letters are shown without what they have in common.
const LONG: usize = 10;

/// Height of the cells of channels up and down, and of the cells of a node.
const STRIP: f64 = 6.0;
const NODE: f64 = 10.0;

/// What a picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Rows { has_lines: bool },
    Free,
    Given,
}

/// The levels of the switches of a graph that stands in rows.
fn in_rows(topology: &Topology) -> Option<Vec<u32>> {
    let neighbours = neighbours(topology);
    let levels = levels(topology, &neighbours);
    rows::are_rows(&levels, &neighbours).then_some(levels)
}

/// The pairs of switches that links join.
fn pairs(topology: &Topology) -> BTreeSet<(u32, u32)> {
    let ends = topology.links().iter().filter_map(|link| match link.ends {
        [End::Switch(one, _), End::Switch(other, _)] => Some((one.0.min(other.0), one.0.max(other.0))),
        _ => None,
    });
    ends.collect()
}

/// Whether boxes and lines of a graph without coordinates can be told apart.
pub(in crate::page) fn is_readable(topology: &Topology) -> bool {
    let switches = topology.switches();
    if switches <= IN_ROWS_MAX && in_rows(topology).is_some() {
        return true;
    }
    let pairs = pairs(topology);
    if switches > FREE_MAX || pairs.len() > SHORT_LINKS_MAX {
        return false;
    }
    pairs.len() <= FREE_LINKS_MAX || {
        let spots = stress(&neighbours(topology));
        let length = |&(one, other): &(u32, u32)| {
            let (from, to) = (spots[one as usize], spots[other as usize]);
            (from.0 - to.0).hypot(from.1 - to.1)
        };
        let [(left, right), _] = reach(&spots);
        pairs.iter().map(length).sum::<f64>() / pairs.len() as f64 <= SHORT * (right - left)
    }
}

/// Names as they are shown.
struct Labels {
    of: Vec<String>,
    /// What all begin with and is not shown.
    cut: String,
}

impl Labels {
    fn new(names: &[String], switches: u32) -> Self {
        if names.is_empty() {
            return Labels {
                of: (0..switches).map(|switch| switch.to_string()).collect(),
                cut: String::new(),
            };
        }
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let cut = if longest > LONG { common(names) } else { "" };
        Labels { of: names.iter().map(|name| short(&name[cut.len()..])).collect(), cut: cut.to_owned() }
    }

    fn longest<'a>(&self, switches: impl IntoIterator<Item = &'a u32>) -> usize {
        let letters = switches.into_iter().map(|&switch| self.of[switch as usize].chars().count());
        letters.max().unwrap_or(0)
    }
}

/// What all names begin with, up to a mark between words, so that something is left of each.
fn common(names: &[String]) -> &str {
    let Some(first) = names.first() else { return "" };
    let shared = names.iter().map(|name| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count());
    let shared = shared.min().unwrap_or(0);
    let shared = (0..=shared).rev().find(|&at| first.is_char_boundary(at)).unwrap_or(0);
    let end = first[..shared].rfind(['-', '_', '.']).map_or(0, |at| at + 1);
    if names.iter().any(|name| name.len() == end) { "" } else { &first[..end] }
}

/// As much of a name as there is room for: its beginning and its end.
fn short(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= LETTERS_MAX {
        return name.to_owned();
    }
    let half = LETTERS_MAX / 2;
    letters[..half - 1].iter().chain(['…'].iter()).chain(&letters[letters.len() - half..]).collect()
}

/// How a name stands in a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lettering {
    Across,
    Upright,
    /// Only in the tooltip.
    None,
}

/// What boxes that are alike look like.
#[derive(Clone, Copy, Debug)]
struct Look {
    size: Spot,
    lettering: Lettering,
    /// Whether there is a cell for channels up, and one for channels down.
    strips: [bool; 2],
}

impl Look {
    /// For names of so many letters, and so many nodes at a switch.
    fn new(letters: usize, nodes: usize, strips: [bool; 2], lettering: Lettering) -> Self {
        let length = letters as f64 * LETTER + 2.0 * INSET;
        let (wide, named) = match lettering {
            Lettering::Across => (length.max(nodes.min(4) as f64 * 7.0 + 2.0 * INSET).max(24.0), LINE),
            Lettering::Upright => (17.0, length),
            Lettering::None => (14.0, INSET),
        };
        let columns = (((wide - 2.0 * INSET) / 6.0) as usize).max(1);
        let high = named + nodes.div_ceil(columns) as f64 * NODE + INSET;
        let high = high + strips.iter().filter(|&&has| has).count() as f64 * STRIP;
        Look { size: (wide, high), lettering, strips }
    }

    /// With the room around.
    fn with(self, room: Spot) -> Spot {
        (self.size.0 + room.0, self.size.1 + room.1)
    }
}

/// A row of a picture in rows: how its boxes look, how many stand side by side, and how many lines of them there are.
struct Row {
    look: Look,
    across: usize,
    lines: usize,
}

impl Row {
    /// For so many boxes with room beside each, in pods of so many, if all have as many.
    fn new(count: usize, pod: Option<usize>, look: Look, room: f64) -> Self {
        let fit = (((WIDTH - LEFT) / (look.size.0 + room)) as usize).max(1);
        let lines = count.div_ceil(fit).max(1);
        let across = match pod {
            // Lines begin with a pod, or each pod has lines of its own.
            Some(pod) if lines > 1 && pod <= fit => {
                let pods = count.div_ceil(pod);
                pods.div_ceil(pods.div_ceil(fit / pod)) * pod
            }
            Some(pod) if lines > 1 => pod.div_ceil(pod.div_ceil(fit)),
            _ => count.div_ceil(lines).max(1),
        };
        Row { look, across, lines: count.div_ceil(across) }
    }

    fn high(&self) -> f64 {
        self.lines as f64 * (self.look.size.1 + 6.0)
    }
}

impl Canvas<'_> {
    /// Any graph; its height, and what it shows.
    pub(super) fn graph(&mut self) -> (f64, Form) {
        if self.given.has_spots(self.topology.switches()) {
            return (self.at_coordinates(), Form::Given);
        }
        match in_rows(self.topology) {
            Some(levels) => self.rows(&levels),
            None => (self.free(), Form::Free),
        }
    }

    fn free(&mut self) -> f64 {
        let (labels, homes) = (self.labels(), self.homes());
        let most = homes.iter().map(Vec::len).max().unwrap_or(0);
        let all: Vec<u32> = (0..self.topology.switches()).collect();
        let look = Look::new(labels.longest(&all), most, [false; 2], Lettering::Across);
        let (places, height) = apart(&stress(&neighbours(self.topology)), look.with((14.0, 14.0)), WIDTH);
        self.boxes(&places, look, &labels, &homes);
        height
    }

    /// Switches at the coordinates of the file: as they lie to each other there.
    fn at_coordinates(&mut self) -> f64 {
        const EDGE: f64 = 60.0;
        const HIGH: f64 = 1_600.0;
        let spots = self.given.spots.iter().map(|&[x, y]| (x, y)).collect::<Vec<Spot>>();
        let [(left, right), (top, bottom)] = reach(&spots);
        let scale = ((WIDTH - 2.0 * EDGE) / (right - left).max(1e-9)).min(HIGH / (bottom - top).max(1e-9));
        let aside = (WIDTH - (right - left) * scale) / 2.0;
        let places: Vec<Spot> =
            spots.iter().map(|&(x, y)| (aside + (x - left) * scale, EDGE + (y - top) * scale)).collect();
        let (labels, homes) = (self.labels(), self.homes());
        let most = homes.iter().map(Vec::len).max().unwrap_or(0);
        let all: Vec<u32> = (0..self.topology.switches()).collect();
        let named = [Lettering::Across, Lettering::Upright];
        let looks = named.map(|it| Look::new(labels.longest(&all), most, [false; 2], it));
        let fits = |look: &Look| look.size.1 < 2.0 * EDGE && nearest(&places, look.size) >= 1.12;
        let side = || (0.7 * nearest(&places, (1.0, 1.0))).clamp(1.0, 26.0);
        let look = looks.into_iter().find(fits);
        let look = look.unwrap_or_else(|| Look {
            size: (side(), side()),
            lettering: Lettering::None,
            strips: [false; 2],
        });
        self.boxes(&places, look, &labels, &homes);
        (bottom - top) * scale + 2.0 * EDGE
    }

    fn labels(&mut self) -> Labels {
        let labels = Labels::new(self.given.names, self.topology.switches());
        self.cut.clone_from(&labels.cut);
        labels
    }

    /// Boxes that look alike at these places, over the lines between them.
    fn boxes(&mut self, places: &[Spot], look: Look, labels: &Labels, homes: &[Vec<u32>]) {
        let width = (look.size.0.min(look.size.1) * 0.09).clamp(0.5, 2.2);
        for switch in 0..self.topology.switches() {
            for (next, senders) in self.joined(switch) {
                self.line_of(places[switch as usize], places[next as usize], width, &senders);
            }
        }
        for (switch, &at) in (0..).zip(places) {
            let index = switch as usize;
            self.named_box(at, look, (switch, &labels.of[index]), &homes[index], [Vec::new(), Vec::new()]);
        }
    }

    /// What `switch` is joined to, each with the ports that lead there.
    fn joined(&self, switch: u32) -> BTreeMap<u32, Vec<End>> {
        let mut joined: BTreeMap<u32, Vec<End>> = BTreeMap::new();
        for (port, next) in self.neighbours(switch) {
            joined.entry(next).or_default().push(End::Switch(SwitchId(switch), port));
        }
        joined
    }

    /// The box of a switch around the point `at`: the cells of channels up and down at its edges, its name, its nodes.
    fn named_box(
        &mut self,
        at: Spot,
        look: Look,
        (switch, label): (u32, &str),
        nodes: &[u32],
        [up, down]: [Vec<End>; 2],
    ) {
        let (wide, high) = look.size;
        let (left, top) = (at.0 - wide / 2.0, at.1 - high / 2.0);
        self.box_of_class("sw full", (left, top), look.size, switch);
        let strips = look.strips.map(|has| if has { STRIP } else { 0.0 });
        self.cell((left + 0.5, top + 0.5), (wide - 1.0, STRIP - 1.0), up);
        self.cell((left + 0.5, top + high - STRIP + 0.5), (wide - 1.0, STRIP - 1.0), down);
        let letters = label.chars().count() as f64 * LETTER;
        let named = match look.lettering {
            Lettering::Across => LINE,
            Lettering::Upright => letters + 2.0 * INSET,
            Lettering::None => INSET.min(high * 0.1),
        };
        let inset = INSET.min(wide * 0.12);
        let room = high - strips[0] - strips[1] - named - inset;
        if !nodes.is_empty() && room > 1.0 {
            let size = (wide - 2.0 * inset, room);
            self.nodes_in((left + inset, top + high - strips[1] - inset - room), size, nodes);
        }
        match look.lettering {
            Lettering::Across => self.text((at.0, top + strips[0] + 11.0), "in", label),
            Lettering::Upright => {
                // Writing to a string does not fail.
                let _ = write!(
                    self.svg,
                    "<text class=\"in\" transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
                    at.0 + 4.0,
                    top + strips[0] + INSET + letters / 2.0,
                    crate::page::escape(label)
                );
            }
            Lettering::None => {}
        }
    }

    /// Nodes in a box: two halves for each, or for all where there is no room for that.
    fn nodes_in(&mut self, at: Spot, size: Spot, nodes: &[u32]) {
        let columns = ((size.0 / 6.0) as usize).clamp(1, nodes.len());
        let rows = nodes.len().div_ceil(columns);
        if size.1 / rows as f64 >= 5.0 {
            let high = (rows as f64 * NODE).min(size.1);
            return self.nodes(at, (size.0, high), nodes);
        }
        let into = nodes.iter().map(|&node| self.topology.exit(NodeId(node)));
        let into: Vec<End> = into.map(|(switch, port)| End::Switch(switch, port)).collect();
        let half = (size.0, size.1 * 0.46);
        self.cell(at, half, into);
        self.cell((at.0, at.1 + size.1 - half.1), half, nodes.iter().map(|&node| End::Node(NodeId(node))));
    }

    /// A row for each level, the highest above.
    fn rows(&mut self, levels: &[u32]) -> (f64, Form) {
        let (labels, homes) = (self.labels(), self.homes());
        let neighbours = neighbours(self.topology);
        let pods = rows::pods(levels, &neighbours);
        let order = rows::ordered(levels, &neighbours, &pods);
        let links = pairs(self.topology).len();
        let has_lines = links <= ROW_LINKS_MAX;
        let rise = if has_lines { (60.0 + links as f64 / 4.0).min(150.0) } else { 26.0 };
        let (mut y, mut places) = (6.0, vec![(0.0, 0.0); levels.len()]);
        let mut laid = Vec::new();
        for (level, switches) in order.iter().enumerate().rev() {
            let strips = [level + 1 < order.len(), level > 0];
            let nodes = switches.iter().map(|&switch| homes[switch as usize].len()).max().unwrap_or(0);
            let look = |it| Look::new(labels.longest(switches), nodes, strips, it);
            let pod = size_of_pods(switches.iter().filter_map(|&switch| pods[switch as usize]));
            let across = Row::new(switches.len(), pod, look(Lettering::Across), 6.0);
            let upright = Row::new(switches.len(), pod, look(Lettering::Upright), 4.0);
            // Lines between rows want few of them, and names are read across rather than upright.
            let is_lower = !has_lines && across.high() <= upright.high() * 2.0;
            let row = if across.lines == 1 || is_lower { across } else { upright };
            let pitch = (WIDTH - LEFT) / row.across as f64;
            for (place, &switch) in switches.iter().enumerate() {
                let line = (place / row.across) as f64;
                let x = LEFT + ((place % row.across) as f64 + 0.5) * pitch;
                places[switch as usize] = (x, y + line * (row.look.size.1 + 6.0) + row.look.size.1 / 2.0);
            }
            self.text((0.0, y + 12.0), "row", &self.name_of_row(switches, level));
            y += row.high() - 6.0 + if level > 0 { rise } else { 8.0 };
            laid.push(row);
        }
        laid.reverse();
        if has_lines {
            self.lines_of_rows(levels, &places, &laid);
        }
        for (switch, &level) in (0..).zip(levels) {
            let mut ways = [Vec::new(), Vec::new()];
            for (next, senders) in self.joined(switch) {
                ways[usize::from(levels[next as usize] < level)].extend(senders);
            }
            let (at, look) = (places[switch as usize], laid[level as usize].look);
            self.named_box(at, look, (switch, &labels.of[switch as usize]), &homes[switch as usize], ways);
        }
        (y, Form::Rows { has_lines })
    }

    /// The channels from row to row, and those within one.
    fn lines_of_rows(&mut self, levels: &[u32], places: &[Spot], laid: &[Row]) {
        let width = if levels.len() > 80 { 0.9 } else { 1.5 };
        for switch in 0..self.topology.switches() {
            let (level, from) = (levels[switch as usize], places[switch as usize]);
            for (next, senders) in self.joined(switch) {
                let (other, to) = (levels[next as usize], places[next as usize]);
                if level == other {
                    senders.into_iter().for_each(|sender| self.bowed((from, to), 1.2, width, sender));
                    continue;
                }
                let edge = |at: Spot, level: u32, is_up: bool| {
                    let half = laid[level as usize].look.size.1 / 2.0;
                    (at.0, at.1 + if is_up { -half } else { half })
                };
                let is_up = other > level;
                self.line_of(edge(from, level, is_up), edge(to, other, !is_up), width, &senders);
            }
        }
    }

    /// The last word of the names of its switches, or the number of its level.
    fn name_of_row(&self, switches: &[u32], level: usize) -> String {
        let stem = |&switch: &u32| {
            let name = self.given.names.get(switch as usize)?;
            let mut words = name.split(|letter: char| !letter.is_alphabetic());
            words.rfind(|word| !word.is_empty()).filter(|word| (2..=9).contains(&word.chars().count()))
        };
        let stems: BTreeSet<Option<&str>> = switches.iter().map(stem).collect();
        match stems.into_iter().collect::<Vec<_>>().as_slice() {
            [Some(stem)] => (*stem).to_owned(),
            _ => format!("level {}", level + 1),
        }
    }
}

/// How many of a row are in each pod, if that is the same number.
fn size_of_pods(pods: impl Iterator<Item = u32>) -> Option<usize> {
    let mut sizes: BTreeMap<u32, usize> = BTreeMap::new();
    pods.for_each(|pod| *sizes.entry(pod).or_default() += 1);
    let size = sizes.values().next().copied()?;
    (size > 1 && sizes.values().all(|&other| other == size)).then_some(size)
}

/// By how much boxes of `size` could grow until two of those around `places` touch.
fn nearest(places: &[Spot], size: Spot) -> f64 {
    let pairs = places.iter().enumerate().flat_map(|(place, one)| {
        places[..place]
            .iter()
            .map(move |other| ((one.0 - other.0).abs() / size.0).max((one.1 - other.1).abs() / size.1))
    });
    pairs.fold(WIDTH / size.0, f64::min)
}

/// What a picture of that form shows, in words, where names are shown without `cut`.
pub(super) fn caption(form: Form, cut: &str) -> String {
    let boxes = "in a box are the nodes of its switch, each with two halves: into it (above) and out of it";
    let text = match form {
        Form::Rows { has_lines } => {
            let lines =
                if has_lines { "A line is a channel" } else { "There are too many channels for lines" };
            format!(
                "A row for each distance from the nodes. {lines}; the edges of a box are the busiest channel of its switch up, \
                 and the busiest down; {boxes}."
            )
        }
        Form::Free => format!(
            "A line is the channels from one switch to another; {boxes}. Switches stand the farther apart the more links are \
             between them."
        ),
        Form::Given => {
            format!(
                "Switches stand where the graph file says. A line is the channels from one to another; {boxes}."
            )
        }
    };
    if cut.is_empty() {
        text
    } else {
        format!("{text} Names are shown without the {cut} that all begin with.")
    }
}

/// What the graph file says of switches, if it says anything.
impl Given<'_> {
    /// Whether it says where each of so many stands.
    pub(in crate::page) fn has_spots(&self, switches: u32) -> bool {
        self.spots.len() == switches as usize && switches > 1
    }
}
