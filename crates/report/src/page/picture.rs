//! The fabric as it is built: where its switches and nodes stand on the page, and a shape for every channel, which the page
//! colours by load. A shape names its channels by number; the page knows them by the same numbers.
//!
//! Trees stand on their leaves, a row for each level; grids lie as they are numbered; unidirectional multistage networks run
//! from left to right, a column for each stage; one switch has its nodes around it; other graphs are in [`graph`]. Where links
//! would cover each other they are left out, and switches show their ports up and down as two halves.

pub(super) mod graph;
pub(super) mod rows;
mod stress;

use super::parts::DRAWN_MAX;
use crate::stages::{self, ChannelEnds};
use flitway_fabric::Fabric;
use flitway_wiring::NodeId;
use flitway_wiring::topology::{End, GridShape, Layout, Spots, StageShape, Topology};
use flitway_wiring::{PortId, SwitchId};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Width of the picture; the browser scales it.
const WIDTH: f64 = 1_000.0;

/// Width of a digit of the number of a switch.
const DIGIT: f64 = 6.6;

/// Links between switches up to which they are drawn in a tree.
const TREE_LINKS_MAX: usize = 640;

/// The channels of a fabric by number: those of the switches of one rail, then those of the nodes.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Channels that switches of a rail send on, in order.
    pub(super) of_switches: Vec<ChannelEnds>,
    by_sender: BTreeMap<End, u32>,
}

impl Numbers {
    pub(super) fn new(fabric: &Fabric) -> Self {
        let of_rail = stages::channels(fabric).flatten().take_while(|channel| channel.rail == 0);
        let of_switches: Vec<ChannelEnds> =
            of_rail.filter(|channel| matches!(channel.from, End::Switch(..))).collect();
        let by_sender = (0..).zip(&of_switches).map(|(number, channel)| (channel.from, number)).collect();
        Numbers { of_switches, by_sender }
    }

    fn of(&self, sender: End) -> Option<u32> {
        match sender {
            End::Node(node) => Some(self.of_switches.len() as u32 + node.0),
            End::Switch(..) => self.by_sender.get(&sender).copied(),
        }
    }
}

/// Draws.
struct Canvas<'a> {
    topology: &'a Topology,
    numbers: &'a Numbers,
    given: Given<'a>,
    /// What the names of all switches begin with, if they are shown without it.
    cut: String,
    svg: String,
}

/// What the graph file says of switches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given<'a> {
    /// Their names; none if they have numbers only.
    pub(super) names: &'a [String],
    /// Where they stand; none if it does not say that.
    pub(super) spots: &'a [[f64; 2]],
}

/// A picture.
pub(super) struct Drawing {
    /// As an `svg` element.
    pub(super) svg: String,
    /// What it shows, in words.
    pub(super) caption: String,
}

/// A point of the picture.
type Spot = (f64, f64);

/// The picture; `None` if there is too much to see.
pub(super) fn drawing(fabric: &Fabric, numbers: &Numbers, given: Given<'_>) -> Option<Drawing> {
    let topology = fabric.topology();
    if topology.nodes() > DRAWN_MAX {
        return None;
    }
    let mut canvas = Canvas { topology, numbers, given, cut: String::new(), svg: String::new() };
    let layout = topology.layout();
    let mut form = None;
    let height = match &layout {
        Layout::Levels => canvas.tree(),
        Layout::Grid(shape) => canvas.grid(shape),
        Layout::Columns(shape) => canvas.stages(shape),
        Layout::Spots(spots) => canvas.spots(spots),
        Layout::Star => canvas.star(),
        Layout::Springs => {
            let (height, drawn) = canvas.graph();
            form = Some(drawn);
            height
        }
    };
    // What is wide keeps its size, and is scrolled where there is no room for it.
    let class = if form.is_some() || matches!(layout, Layout::Levels) { "wide" } else { "" };
    Some(Drawing {
        svg: format!(
            "<svg class=\"{class}\" id=\"fabric-svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
             aria-label=\"The fabric; every shape is one or more channels, coloured by load\">{}</svg>",
            canvas.svg
        ),
        caption: form.map_or_else(|| caption(&layout), |form| graph::caption(form, &canvas.cut)),
    })
}

/// What the picture of a fabric that is drawn so shows, in words.
fn caption(layout: &Layout<'_>) -> String {
    let text = match layout {
        Layout::Levels => {
            "A row for each level, nodes below. A line is a channel; a switch has two halves, the busiest of its channels up \
             and the busiest of those down; a node too: into it (above) and out of it."
        }
        Layout::Grid(shape) => {
            let around = if shape.wraps { ", a short one at the edge leads around" } else { "" };
            let slices = if shape.dimensions.len() > 2 {
                " Links between slices, side by side here, are not drawn."
            } else {
                ""
            };
            return format!(
                "A line is a channel to a neighbour{around}; in a switch are its nodes, each with two halves: into it (above) and \
                 out of it.{slices}"
            );
        }
        Layout::Columns(_) => {
            "A line is a channel, from the left to the right. Every node stands on both sides: it sends on the left and \
             receives on the right."
        }
        Layout::Spots(spots) if spots.is_bowed => {
            "A line is a channel between switches, bowed the more the longer it is; in a switch are its nodes, each with two \
             halves: into it (above) and out of it."
        }
        Layout::Spots(_) => {
            "A line is a channel between switches, those of a group in a circle of their own; in a switch are its nodes, each with \
             two halves: into it (above) and out of it."
        }
        Layout::Star => {
            "One switch with its nodes around it: of the two lines of each node one is the channel into it, the other that \
             out of it."
        }
        Layout::Springs => "A line is the channels between two switches.",
    };
    text.to_owned()
}

impl Canvas<'_> {
    /// A rectangle that stands for the channels of `senders`.
    fn cell(&mut self, at: Spot, size: Spot, senders: impl IntoIterator<Item = End>) {
        let numbers = self.numbers;
        let channels: Vec<String> =
            senders.into_iter().filter_map(|sender| numbers.of(sender)).map(|n| n.to_string()).collect();
        if channels.is_empty() {
            return;
        }
        // Writing to a string does not fail.
        let _ = write!(
            self.svg,
            "<rect class=\"ch\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" data-c=\"{}\"/>",
            at.0,
            at.1,
            size.0,
            size.1,
            channels.join(" ")
        );
    }

    /// A line for the channel of `sender` from `from` to `to`, on the right of the way.
    fn line(&mut self, from: Spot, to: Spot, width: f64, sender: End) {
        self.line_of(from, to, width, &[sender]);
    }

    /// The same for the channels of several.
    fn line_of(&mut self, from: Spot, to: Spot, width: f64, senders: &[End]) {
        let numbers = senders.iter().filter_map(|sender| self.numbers.of(*sender));
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        if numbers.is_empty() {
            return;
        }
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1e-9);
        let (ox, oy) = (-dy / length * width * 0.62, dx / length * width * 0.62);
        // Writing to a string does not fail.
        let _ = write!(
            self.svg,
            "<path class=\"ch\" stroke-width=\"{width:.1}\" d=\"M{:.1} {:.1}L{:.1} {:.1}\" data-c=\"{}\"/>",
            from.0 + ox,
            from.1 + oy,
            to.0 + ox,
            to.1 + oy,
            numbers.join(" ")
        );
    }

    /// The same bowed to the right by so much times the root of its length.
    fn bowed(&mut self, (from, to): (Spot, Spot), bow: f64, width: f64, sender: End) {
        if bow == 0.0 {
            return self.line(from, to, width, sender);
        }
        let Some(number) = self.numbers.of(sender) else { return };
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        // A curve reaches half as far as the point that it is drawn by.
        let aside = 2.0 * bow / dx.hypot(dy).sqrt().max(1e-9);
        let middle = ((from.0 + to.0) / 2.0 - aside * dy, (from.1 + to.1) / 2.0 + aside * dx);
        // Writing to a string does not fail.
        let _ = write!(
            self.svg,
            "<path class=\"ch\" stroke-width=\"{width:.1}\" d=\"M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}\" \
             data-c=\"{number}\"/>",
            from.0, from.1, middle.0, middle.1, to.0, to.1
        );
    }

    fn box_of_switch(&mut self, at: Spot, size: Spot, switch: u32) {
        self.box_of_class("sw", at, size, switch);
    }

    fn box_of_class(&mut self, class: &str, at: Spot, size: Spot, switch: u32) {
        let name = self.given.names.get(switch as usize);
        let name = name.map_or_else(String::new, |name| format!(" ({})", super::escape(name)));
        // Writing to a string does not fail.
        let _ = write!(
            self.svg,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\">\
             <title>switch {switch}{name}</title></rect>",
            at.0, at.1, size.0, size.1
        );
    }

    fn text(&mut self, at: Spot, class: &str, text: &str) {
        // Writing to a string does not fail.
        let _ = write!(
            self.svg,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            at.0,
            at.1,
            super::escape(text)
        );
    }

    /// Two halves for the channels into and out of each of `nodes`, in rows that fill `size`.
    fn nodes(&mut self, at: Spot, size: Spot, nodes: &[u32]) {
        let columns = nodes.len().min(((size.0 / 6.0) as usize).max(1));
        let (width, height) = (size.0 / columns as f64, size.1 / nodes.len().div_ceil(columns) as f64);
        for (place, &node) in nodes.iter().enumerate() {
            let (x, y) = (at.0 + (place % columns) as f64 * width, at.1 + (place / columns) as f64 * height);
            let gap = (width * 0.12).min(1.0);
            let half = (width - gap, (height - 1.5) / 2.0);
            let (switch, port) = self.topology.exit(NodeId(node));
            self.cell((x, y), half, [End::Switch(switch, port)]);
            self.cell((x, y + half.1), half, [End::Node(NodeId(node))]);
        }
    }

    /// The nodes of each switch.
    fn homes(&self) -> Vec<Vec<u32>> {
        let mut homes = vec![Vec::new(); self.topology.switches() as usize];
        for node in 0..self.topology.nodes() {
            homes[self.topology.home(NodeId(node)).0.index()].push(node);
        }
        homes
    }

    /// The ports of `switch` that lead to switches, and where.
    fn neighbours(&self, switch: u32) -> Vec<(PortId, u32)> {
        let id = SwitchId(switch);
        let ports = (0..self.topology.ports(id)).map(PortId);
        ports
            .filter_map(|port| match self.topology.wire(id, port)?.1 {
                End::Switch(next, _) => Some((port, next.0)),
                End::Node(_) => None,
            })
            .collect()
    }

    fn tree(&mut self) -> f64 {
        let homes = self.homes();
        let levels = self.levels(&homes);
        let top = levels.iter().copied().max().unwrap_or(0);
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); top as usize + 1];
        (0..).zip(&levels).for_each(|(switch, level)| rows[*level as usize].push(switch));
        let links = self.topology.links().len() - self.topology.nodes() as usize;
        let has_links = links <= TREE_LINKS_MAX;
        let rise = if has_links { 110.0 } else { 64.0 };
        let (mut spots, mut widths) = (vec![(0.0, 0.0); levels.len()], vec![0.0; levels.len()]);
        for (level, row) in rows.iter().enumerate() {
            let pitch = (WIDTH - 70.0) / row.len() as f64;
            let number = row.last().map_or(0, |switch| switch.to_string().len()) as f64 * DIGIT + 3.0;
            for (place, &switch) in row.iter().enumerate() {
                let x = 70.0 + (place as f64 + 0.5) * pitch;
                spots[switch as usize] = (x, 24.0 + (top as usize - level) as f64 * rise);
                // With its number beside it, if there is room for both.
                let has_number = pitch - number >= 12.0;
                let width =
                    if has_number { (pitch - number).min(pitch * 0.84) } else { pitch * 0.84 }.min(46.0);
                widths[switch as usize] = width;
                if has_number {
                    // Both together stand in the middle.
                    let x = x - number / 2.0;
                    spots[switch as usize].0 = x;
                    let at = (x + width / 2.0 + 1.0 + number / 2.0, spots[switch as usize].1 + 4.0);
                    self.text(at, "no", &switch.to_string());
                }
            }
        }
        if has_links {
            for switch in 0..levels.len() as u32 {
                for (port, next) in self.neighbours(switch) {
                    let edge = |at: u32, other: u32| {
                        let up = levels[other as usize] > levels[at as usize];
                        (spots[at as usize].0, spots[at as usize].1 + if up { -9.0 } else { 9.0 })
                    };
                    let sender = End::Switch(SwitchId(switch), port);
                    self.line(edge(switch, next), edge(next, switch), 1.6, sender);
                }
            }
        }
        for switch in 0..levels.len() as u32 {
            let ((x, y), width) = (spots[switch as usize], widths[switch as usize]);
            let level = |next: u32| levels[next as usize];
            let (up, down): (Vec<_>, Vec<_>) =
                self.neighbours(switch).into_iter().partition(|&(_, next)| level(next) > level(switch));
            self.box_of_switch((x - width / 2.0 - 0.5, y - 9.0), (width + 1.0, 18.0), switch);
            let senders = |ports: Vec<(PortId, u32)>| {
                ports.into_iter().map(move |(port, _)| End::Switch(SwitchId(switch), port))
            };
            self.cell((x - width / 2.0, y - 8.0), (width, 7.5), senders(up));
            let down: Vec<End> = if down.is_empty() {
                let homes = homes[switch as usize].iter().map(|&node| self.topology.home(NodeId(node)));
                homes.map(|(switch, port)| End::Switch(switch, port)).collect()
            } else {
                senders(down).collect()
            };
            self.cell((x - width / 2.0, y + 0.5), (width, 7.5), down);
        }
        for level in 0..=top {
            let y = 24.0 + f64::from(top - level) * rise + 4.0;
            self.text((0.0, y), "row", &format!("level {}", level + 1));
        }
        let leaves: Vec<(f64, &[u32])> =
            rows[0].iter().map(|&leaf| (spots[leaf as usize].0, homes[leaf as usize].as_slice())).collect();
        self.nodes_of_leaves(24.0 + f64::from(top) * rise + 22.0, &leaves)
    }

    /// The nodes of the `leaves` of a tree, each with its place from the left, from `floor` down; where the picture ends.
    fn nodes_of_leaves(&mut self, floor: f64, leaves: &[(f64, &[u32])]) -> f64 {
        let mut depth = 0.0_f64;
        let width = (WIDTH - 70.0) / leaves.len() as f64 * 0.9;
        for (x, nodes) in leaves {
            let rows = nodes.len().div_ceil(nodes.len().min(((width / 6.0) as usize).max(1)).max(1));
            let height = rows as f64 * 12.0;
            depth = depth.max(height);
            self.nodes((x - width / 2.0, floor), (width, height), nodes);
        }
        self.text((0.0, floor + 10.0), "row", "nodes");
        floor + depth + 10.0
    }

    /// How far above the nodes each switch stands.
    fn levels(&self, homes: &[Vec<u32>]) -> Vec<u32> {
        let mut levels: Vec<Option<u32>> =
            homes.iter().map(|nodes| (!nodes.is_empty()).then_some(0)).collect();
        let mut level = 0;
        while levels.contains(&None) && level < 64 {
            for switch in 0..levels.len() as u32 {
                let is_next = levels[switch as usize].is_none()
                    && self.neighbours(switch).iter().any(|&(_, next)| levels[next as usize] == Some(level));
                if is_next {
                    levels[switch as usize] = Some(level + 1);
                }
            }
            level += 1;
        }
        levels.into_iter().map(|level| level.unwrap_or(0)).collect()
    }

    fn grid(&mut self, shape: &GridShape) -> f64 {
        let of = |dimension: usize| shape.dimensions.get(dimension).copied().unwrap_or(1);
        let (columns, rows) = (of(0), of(1));
        let slices: u32 = shape.dimensions.iter().skip(2).product();
        let across = slices.min(((f64::from(slices)).sqrt().ceil()) as u32).max(1);
        let cells = f64::from(columns * across) + f64::from(across - 1) * 0.6;
        let pitch = ((WIDTH - 20.0) / (cells + 0.6)).min(78.0);
        let side = pitch * 0.46;
        let left = (WIDTH - cells * pitch) / 2.0;
        let spot = |switch: u32| {
            let at = |dimension: usize| {
                if dimension < shape.dimensions.len() {
                    shape.coordinate(SwitchId(switch), dimension)
                } else {
                    0
                }
            };
            let slice = switch / (columns * rows);
            let (sx, sy) = (f64::from(slice % across), f64::from(slice / across));
            (
                left + (f64::from(at(0)) + 0.5) * pitch + sx * (f64::from(columns) + 0.6) * pitch,
                pitch * 0.8 + f64::from(at(1)) * pitch + sy * (f64::from(rows) + 0.6) * pitch,
            )
        };
        let homes = self.homes();
        for switch in 0..self.topology.switches() {
            let from = spot(switch);
            for (port, next) in self.neighbours(switch) {
                let (to, sender) = (spot(next), End::Switch(SwitchId(switch), port));
                let (dx, dy) = (to.0 - from.0, to.1 - from.1);
                let distance = dx.hypot(dy).max(1e-9);
                // Within a slice neighbours are a step apart; others are around the edge, or in another slice.
                let far = distance > pitch * 1.01;
                let sign = if far { -1.0 } else { 1.0 };
                let unit = (dx / distance * sign, dy / distance * sign);
                let end = if far { 0.30 } else { distance / pitch - 0.23 };
                let along = |part: f64| (from.0 + unit.0 * part * pitch, from.1 + unit.1 * part * pitch);
                if far && shape.dimension_of(port).is_some_and(|dimension| dimension > 1) {
                    continue;
                }
                self.line(
                    along(0.23),
                    along(if far { 0.23 + end } else { end }),
                    (pitch * 0.07).min(4.5),
                    sender,
                );
            }
            self.box_of_switch((from.0 - side / 2.0, from.1 - side / 2.0), (side, side), switch);
            let inset = side * 0.12;
            let size = (side - 2.0 * inset, side - 2.0 * inset);
            self.nodes((from.0 - size.0 / 2.0, from.1 - size.1 / 2.0), size, &homes[switch as usize]);
            let number = switch.to_string();
            if pitch >= 40.0 {
                let half = number.len() as f64 * DIGIT / 2.0;
                self.text((from.0 - side / 2.0 - half + 2.0, from.1 - side / 2.0 - 3.0), "no", &number);
            }
        }
        let down = slices.div_ceil(across);
        pitch * 0.6 + f64::from(rows * down) * pitch + f64::from(down - 1) * 0.6 * pitch + pitch * 0.3
    }

    /// A column for each stage, nodes left and right of them.
    fn stages(&mut self, shape: &StageShape) -> f64 {
        let per_stage = shape.switches_per_stage();
        let (top, pitch) = (26.0, (640.0 / f64::from(per_stage)).clamp(7.0, 96.0));
        let step = (WIDTH - 180.0) / f64::from(shape.stages + 1);
        let side = (step * 0.24).min(46.0);
        let high = pitch * 0.8;
        let x = |stage: u32| 90.0 + f64::from(stage + 1) * step;
        let of = |port: u32| (f64::from(port) + 0.5) / f64::from(shape.arity) * high - high / 2.0;
        let y = |switch: SwitchId, port: PortId| {
            top + (f64::from(switch.0 % per_stage) + 0.5) * pitch + of(port.0)
        };
        let node_y = |node: u32| {
            let (switch, port) = (SwitchId(node / shape.arity), PortId(node % shape.arity));
            y(switch, port)
        };
        let width = (high / f64::from(shape.arity) * 0.5).clamp(0.6, 3.0);
        for node in (0..self.topology.nodes()).map(NodeId) {
            let (switch, port) = self.topology.home(node);
            self.line((90.0, node_y(node.0)), (x(0) - side / 2.0, y(switch, port)), width, End::Node(node));
        }
        for switch in (0..self.topology.switches()).map(SwitchId) {
            let stage = shape.stage(switch);
            for port in (0..shape.arity).map(PortId) {
                let from = (x(stage) + side / 2.0, y(switch, port));
                let to = match self.topology.wire(switch, port) {
                    Some((_, End::Switch(next, input))) => (x(stage + 1) - side / 2.0, y(next, input)),
                    Some((_, End::Node(node))) => (WIDTH - 90.0, node_y(node.0)),
                    None => continue,
                };
                self.line(from, to, width, End::Switch(switch, port));
            }
        }
        for switch in 0..self.topology.switches() {
            let at = (x(shape.stage(SwitchId(switch))) - side / 2.0, y(SwitchId(switch), PortId(0)) - of(0));
            self.box_of_switch((at.0, at.1 - high / 2.0), (side, high), switch);
            let number = switch.to_string();
            if high >= 11.0 && side >= number.len() as f64 * DIGIT + 2.0 {
                self.text((at.0 + side / 2.0, at.1 + 4.0), "no", &number);
            }
        }
        for stage in 0..shape.stages {
            self.text((x(stage), 14.0), "num", &format!("stage {}", stage + 1));
        }
        for (place, name) in [(80.0, "from nodes"), (WIDTH - 80.0, "to nodes")] {
            self.text((place, 14.0), "num", name);
        }
        // As many numbers as there is room for: so many in each switch, or every so manieth switch.
        let between = |step: u32| match step / shape.arity {
            0 => high / f64::from(shape.arity) * f64::from(step),
            switches => pitch * f64::from(switches),
        };
        let fits = |step: &u32| {
            (shape.arity.is_multiple_of(*step) || step.is_multiple_of(shape.arity)) && between(*step) >= 14.0
        };
        if let Some(step) = (1..=self.topology.nodes()).find(fits) {
            for node in (0..self.topology.nodes()).step_by(step as usize) {
                self.text((70.0, node_y(node) + 4.0), "num", &node.to_string());
                self.text((WIDTH - 70.0, node_y(node) + 4.0), "num", &node.to_string());
            }
        }
        top + f64::from(per_stage) * pitch + 10.0
    }

    /// One switch with its nodes around it.
    fn star(&mut self) -> f64 {
        let nodes = self.topology.nodes();
        let (centre, radius) = ((WIDTH / 2.0, 210.0), 180.0);
        for node in 0..nodes {
            let angle =
                std::f64::consts::TAU * f64::from(node) / f64::from(nodes) - std::f64::consts::FRAC_PI_2;
            let at = |radius: f64| (centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin());
            let (switch, port) = self.topology.home(NodeId(node));
            let width = if nodes > 32 { 3.5 } else { 7.0 };
            self.line(at(62.0), at(radius - 14.0), width, End::Switch(switch, port));
            self.line(at(radius - 14.0), at(62.0), width, End::Node(NodeId(node)));
            // Letters need this much of the circle.
            let step = (f64::from(nodes) * 20.0 / (std::f64::consts::TAU * radius)).ceil() as u32;
            if !node.is_multiple_of(step) {
                continue;
            }
            let (x, y) = at(radius);
            self.text((x, y + 4.0), "num", &node.to_string());
        }
        self.box_of_switch((centre.0 - 44.0, centre.1 - 44.0), (88.0, 88.0), 0);
        self.text((centre.0, centre.1 + 4.0), "num", "switch 0");
        2.0 * centre.1
    }

    /// Switches where the topology puts them.
    fn spots(&mut self, spots: &Spots) -> f64 {
        /// Room at the edge.
        const EDGE: f64 = 60.0;
        let (across, down) = (WIDTH - 2.0 * EDGE, (WIDTH - 2.0 * EDGE) / spots.ratio);
        let places: Vec<Spot> = spots.at.iter().map(|&[x, y]| (EDGE + x * across, EDGE + y * down)).collect();
        let pitch = nearest(&places);
        let side = (if spots.is_bowed { 0.4 } else { 0.55 } * pitch).clamp(3.0, 44.0);
        // Between two rows there is room for the bows of one.
        let bow = if spots.is_bowed { 0.42 * pitch / across.sqrt() } else { 0.0 };
        self.at(&places, side, bow);
        down + 2.0 * EDGE
    }

    /// Switches in these places, as squares of so large a side, and lines between them that are bowed by so much times the
    /// root of their length.
    fn at(&mut self, spots: &[Spot], side: f64, bow: f64) {
        let switches = self.topology.switches();
        for switch in 0..switches {
            for (port, next) in self.neighbours(switch) {
                let (from, to) = (spots[switch as usize], spots[next as usize]);
                let width = (side * if bow > 0.0 { 0.04 } else { 0.09 }).clamp(0.6, 4.0);
                self.bowed((from, to), bow, width, End::Switch(SwitchId(switch), port));
            }
        }
        let homes = self.homes();
        for switch in 0..switches {
            let (x, y) = spots[switch as usize];
            self.box_of_switch((x - side / 2.0, y - side / 2.0), (side, side), switch);
            let nodes = &homes[switch as usize];
            let size = (side * 0.76, side * 0.76);
            if !nodes.is_empty() {
                self.nodes((x - size.0 / 2.0, y - size.1 / 2.0), size, nodes);
            }
            if side >= 14.0 {
                self.text((x, y - side / 2.0 - 3.0), "no", &switch.to_string());
            }
        }
    }
}

/// The distance of the two nearest of `spots`, of a few hundred at the most.
fn nearest(spots: &[Spot]) -> f64 {
    let pairs = spots.iter().enumerate().flat_map(|(place, one)| {
        spots[..place].iter().map(move |other| (one.0 - other.0).hypot(one.1 - other.1))
    });
    pairs.fold(WIDTH / 4.0, f64::min)
}
