//! What is too large to draw channel by channel, by its parts: a box for each group of the machine with cells for the switches
//! and nodes in it, and a map of what one group sends to another. A cell stands for many channels; the page colours it by the
//! busiest of them, or by their mean.
//!
//! Which parts there are, the topology knows ([`Topology::switch_parts`]): of its ways to divide the switches the finest with
//! few enough parts makes the boxes, the finest with few enough cells in all makes the cells. A graph that nothing is known
//! of has one box, and its switches stand in the order of their numbers.

mod between;
mod groups;
pub(super) mod plan;

use super::picture::{Given, graph};
use crate::stages;
use between::Between;
use flitway_fabric::Fabric;
use flitway_wiring::topology::{Layout, Topology};
use plan::{Band, Plan, plural};
use serde_json::{Value, json};
use std::fmt::Write;

/// Width of a picture; the browser scales it.
const WIDTH: f64 = 1_000.0;

/// Room for the names of rows.
const LEFT: f64 = 132.0;

/// Between two boxes.
const GAP: f64 = 14.0;

/// A row of cells with what is between it and the next.
const ROW: f64 = 13.0;

/// The narrowest cell.
const CELL_MIN: f64 = 8.0;

/// Boxes side by side at most.
const ACROSS_MAX: usize = 16;

/// Room for the name of a box.
const TITLE: f64 = 16.0;

/// Nodes, and switches, up to which every channel is drawn.
pub(super) const DRAWN_MAX: u32 = 2_048;

/// The two pictures, and which channels their cells stand for.
pub(super) struct ByParts {
    pub(super) cells: String,
    pub(super) between: String,
    pub(super) caption: String,
    /// What the rows and columns of the map are.
    pub(super) rows: String,
    /// Cells of both, those of the map last.
    count: u32,
    /// By channel, wired or not: its cell, and that of the map.
    of: Vec<[Option<u32>; 2]>,
}

impl ByParts {
    /// The parts of `fabric`, of whose switches a graph file says that; `None` if it is drawn by channels.
    pub(super) fn new(fabric: &Fabric, given: Given<'_>) -> Option<Self> {
        let topology = fabric.topology();
        let is_graph = matches!(topology.layout(), Layout::Springs);
        let is_tangled = is_graph && !given.has_spots(topology.switches()) && !graph::is_readable(topology);
        let is_large = topology.nodes().max(topology.switches()) > DRAWN_MAX;
        if topology.switches() == 1 || !(is_tangled || is_large) {
            return None;
        }
        let plan = Plan::new(fabric, given.names);
        let between = Between::new(&plan, topology);
        let first = plan.cells();
        let channel = |channel: Option<stages::ChannelEnds>| {
            channel.map_or([None, None], |channel| {
                let pair = between.cell_of(&channel).map(|cell| first + cell);
                [plan.cell_of(&channel), pair]
            })
        };
        let of = stages::channels(fabric).map(channel).collect();
        Some(ByParts {
            cells: svg(&plan),
            between: between.svg(),
            caption: caption(&plan, topology),
            rows: between.caption(&plan),
            count: first + between.cells(),
            of,
        })
    }

    /// How many channels each cell stands for.
    pub(super) fn counts(&self) -> Value {
        let mut counts = vec![0_u32; self.count as usize];
        self.of.iter().flatten().flatten().for_each(|cell| counts[*cell as usize] += 1);
        json!(counts)
    }

    /// The loads of the busiest channel of each cell and of all in the mean, of those of all channels, packed.
    pub(super) fn loads(&self, load_of: &[f64]) -> Value {
        let none = (0_u32, 0.0, 0.0_f64);
        let mut cells = vec![none; self.count as usize];
        for (of, load) in self.of.iter().zip(load_of) {
            for cell in of.iter().flatten() {
                let (count, sum, most) = &mut cells[*cell as usize];
                (*count, *sum, *most) = (*count + 1, *sum + load, most.max(*load));
            }
        }
        let busiest: Vec<f64> = cells.iter().map(|(_, _, most)| *most).collect();
        let mean: Vec<f64> = cells.iter().map(|&(count, sum, _)| sum / f64::from(count.max(1))).collect();
        json!({ "busiest": super::packed(&busiest), "mean": super::packed(&mean) })
    }
}

/// Boxes side by side, and the cells in a row of each.
struct Grid {
    across: usize,
    columns: usize,
    /// Width of a box.
    wide: f64,
    /// By band from the top: its rows.
    rows: Vec<usize>,
}

impl Grid {
    /// The lowest one for so many boxes with bands of so many cells.
    fn new(boxes: usize, bands: &[usize]) -> Self {
        let most = bands.iter().copied().max().unwrap_or(1).max(1);
        let of = |across: usize| {
            let wide = Self::wide(across);
            let columns = ((wide / CELL_MIN) as usize).clamp(1, most);
            let rows = |columns: usize| bands.iter().map(|cells| cells.div_ceil(columns)).collect();
            let fewest: Vec<usize> = rows(columns);
            // No more columns than these rows need.
            let columns = (1..=columns).find(|&fewer| rows(fewer) == fewest).unwrap_or(columns);
            Grid { across, columns, wide, rows: fewest }
        };
        let grids = (1..=boxes.clamp(1, ACROSS_MAX)).map(of).filter(|grid| grid.wide >= CELL_MIN);
        let height = |grid: &Grid| boxes.div_ceil(grid.across) as f64 * grid.height();
        let lowest = grids.min_by(|a, b| height(a).total_cmp(&height(b)));
        let mut grid = lowest.unwrap_or_else(|| of(1));
        // The last row of boxes is as full as the others, as far as it can be.
        grid.across = boxes.div_ceil(boxes.div_ceil(grid.across).max(1)).max(1);
        grid.wide = Self::wide(grid.across);
        grid
    }

    /// Width of each of so many boxes side by side.
    fn wide(across: usize) -> f64 {
        (WIDTH - LEFT - 4.0 + GAP) / across as f64 - GAP
    }

    /// Of a box, with what is between it and the next.
    fn height(&self) -> f64 {
        TITLE + self.rows.iter().map(|&rows| rows as f64 * ROW + 2.0).sum::<f64>() + GAP
    }

    /// Width of a cell with what is between it and the next.
    fn pitch(&self) -> f64 {
        (self.wide / self.columns as f64).min(40.0)
    }
}

fn svg(plan: &Plan) -> String {
    let mut svg = String::new();
    let mut y = 4.0;
    for band in plan.above() {
        let grid = Grid::new(1, &[band.units.len()]);
        text(&mut svg, (LEFT, y + 10.0), &band.name);
        draw(&mut svg, band, "", (LEFT, y + TITLE), &grid);
        y += TITLE + grid.rows[0] as f64 * ROW + 6.0;
    }
    let most = |level: usize| plan.boxes.iter().map(|it| it.bands[level].units.len()).max().unwrap_or(0);
    let cells: Vec<usize> = (0..plan.levels.len()).map(most).collect();
    let grid = Grid::new(plan.boxes.len(), &cells);
    for (place, part) in plan.boxes.iter().enumerate() {
        let x = LEFT + (place % grid.across) as f64 * (grid.wide + GAP);
        let top = y + (place / grid.across) as f64 * grid.height();
        text(&mut svg, (x, top + 10.0), &part.name);
        let mut down = top + TITLE;
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<rect class=\"sw\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>",
            x - 3.0,
            down - 3.0,
            grid.pitch() * grid.columns as f64 + 5.0,
            grid.height() - TITLE - GAP + 3.0
        );
        for ((band, rows), level) in part.bands.iter().zip(&grid.rows).zip(&plan.levels) {
            if place % grid.across == 0 && *rows > 0 {
                text(&mut svg, (0.0, down + 9.0), level);
            }
            draw(&mut svg, band, &part.name, (x, down), &grid);
            down += *rows as f64 * ROW + 2.0;
        }
    }
    let height = y + plan.boxes.len().div_ceil(grid.across) as f64 * grid.height();
    format!(
        "<svg class=\"wide\" id=\"parts-svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" \
         aria-label=\"The fabric by its parts; every cell is some channels, coloured by load\">{svg}</svg>"
    )
}

fn text(svg: &mut String, (x, y): (f64, f64), text: &str) {
    // Writing to a string does not fail.
    let _ = write!(svg, "<text class=\"row\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", super::escape(text));
}

/// The cells of `band` of the box of that name, from there on: what each is stands once for all.
fn draw(svg: &mut String, band: &Band, of: &str, (x, y): (f64, f64), grid: &Grid) {
    if band.units.is_empty() {
        return;
    }
    let name = [of, &band.name].into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
    // Writing to a string does not fail.
    let _ = write!(
        svg,
        "<g class=\"cells\" transform=\"translate({x:.1} {y:.1}) scale({:.3} 1)\" data-part=\"{}\" data-units=\"{}\" \
         data-ways=\"{}\">",
        grid.pitch(),
        super::escape(&name),
        super::escape(&band.units.join("|")),
        super::escape(&band.ways.join("|"))
    );
    let high = if band.ways.len() == 1 { 10.5 } else { 5.0 };
    for place in 0..band.units.len() {
        let (x, y) = (place % grid.columns, (place / grid.columns) as f64 * ROW);
        for way in 0..band.ways.len() {
            let y = y + way as f64 * 5.5;
            // Writing to a string does not fail.
            let _ = write!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\".88\" height=\"{high}\"/>");
        }
    }
    svg.push_str("</g>");
}

fn caption(plan: &Plan, topology: &Topology) -> String {
    let levels = plan.levels.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let boxes = match &plan.kind {
        Some(kind) => format!("A box is a {kind}. From the top it has rows of cells for"),
        None => "Rows of cells stand for".to_owned(),
    };
    let above = if plan.above().is_empty() {
        String::new()
    } else {
        let of = topology.level_names().map_or("top switch", |(_, above)| above);
        format!(" Above all boxes: the {}.", plural(of))
    };
    format!(
        "{boxes}: {levels}.{above} A cell is {}, with halves for its channels one way and the other: up and down, into nodes \
         and out of them.",
        plan.cell
    )
}
