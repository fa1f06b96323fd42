//! A map of what parts send to each other: a row for each that sends, a column for each that receives.

use super::plan::{Place, Plan, run, switches};
use super::{WIDTH, text};
use crate::stages::ChannelEnds;
use flitway_wiring::SwitchId;
use flitway_wiring::topology::{End, Layout, Topology};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows at most where switches are not in parts.
const ROWS_MAX: u32 = 96;

/// Switches of a graph up to which each has a row.
const SWITCHES_MAX: usize = 400;

/// Rows at most of what is above all boxes.
const ABOVE_MAX: u32 = 48;

/// Room for the names of rows, and for those of columns, at most, and for a letter of them.
const NAMES_MAX: f64 = 172.0;
const LETTER: f64 = 6.8;

/// The map.
pub(super) struct Between {
    rows: Vec<String>,
    /// By switch: its row.
    row_of: Vec<u32>,
    /// The pairs of rows that channels join, row by row, each with the number of its cell.
    cells: BTreeMap<(u32, u32), u32>,
    /// Whether a row is a switch.
    has_all: bool,
    is_by_numbers: bool,
}

impl Between {
    pub(super) fn new(plan: &Plan, topology: &Topology) -> Self {
        let is_graph = matches!(topology.layout(), Layout::Springs);
        let has_all = is_graph && plan.places.len() <= SWITCHES_MAX;
        let (mut rows, row_of) = match plan.kind {
            _ if has_all => of_each(plan),
            Some(_) => of_parts(plan, topology),
            None => of_switches(plan),
        };
        rows.iter_mut().for_each(|name| *name = name.replace('|', "/"));
        let mut cells = BTreeMap::new();
        for link in topology.links() {
            if let [End::Switch(one, _), End::Switch(other, _)] = link.ends {
                let [one, other] = [one, other].map(|switch| row_of[switch.index()]);
                cells.insert((one, other), 0);
                if !link.is_one_way {
                    cells.insert((other, one), 0);
                }
            }
        }
        (0..).zip(cells.values_mut()).for_each(|(number, cell)| *cell = number);
        Between { rows, row_of, cells, has_all, is_by_numbers: plan.kind.is_none() }
    }

    pub(super) fn cells(&self) -> u32 {
        self.cells.len() as u32
    }

    /// The cell of a channel between switches.
    pub(super) fn cell_of(&self, channel: &ChannelEnds) -> Option<u32> {
        let (End::Switch(from, _), End::Switch(to, _)) = (channel.from, channel.to) else { return None };
        let row = |switch: SwitchId| self.row_of[switch.index()];
        self.cells.get(&(row(from), row(to))).copied()
    }

    pub(super) fn svg(&self) -> String {
        let count = self.rows.len();
        let longest = self.rows.iter().map(|name| short(name).chars().count()).max().unwrap_or(0);
        let names = (longest as f64 * LETTER + 8.0).min(NAMES_MAX);
        let pitch = ((WIDTH - 3.0 - names) / count.max(1) as f64).min(28.0);
        // So many rows have a name each that it can be read.
        let step = (13.0 / pitch).ceil() as usize;
        let mut svg = String::new();
        for (place, name) in self.rows.iter().enumerate().step_by(step) {
            let middle = names + (place as f64 + 0.5) * pitch;
            text(&mut svg, (0.0, middle + 4.0), &short(name));
            // Writing to a string does not fail.
            let _ = write!(
                svg,
                "<text class=\"row\" transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
                middle + 4.0,
                names - 4.0,
                super::super::escape(&short(name))
            );
        }
        let mut last = None;
        for &(row, column) in self.cells.keys() {
            if last != Some(row) {
                let end = if last.is_some() { "</g>" } else { "" };
                let y = names + f64::from(row) * pitch;
                let _ = write!(
                    svg,
                    "{end}<g class=\"cells\" transform=\"translate({names:.1} {y:.1}) scale({pitch:.3})\" data-row=\"{row}\">"
                );
                last = Some(row);
            }
            let _ = write!(svg, "<rect x=\"{column}\" width=\".9\" height=\".9\"/>");
        }
        if last.is_some() {
            svg.push_str("</g>");
        }
        let side = names + count as f64 * pitch;
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<rect class=\"sw\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            names - 2.0,
            names - 2.0,
            side - names + 3.0,
            side - names + 3.0
        );
        format!(
            "<svg class=\"wide\" id=\"between-svg\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"What parts send to \
             each other; every cell is the channels from one to another, coloured by load\" data-rows=\"{}\">{svg}</svg>",
            side + 6.0,
            super::super::escape(&self.rows.join("|"))
        )
    }

    pub(super) fn caption(&self, plan: &Plan) -> String {
        let what = if self.is_by_numbers {
            "switches in the order of their numbers".to_owned()
        } else if self.has_all {
            "switches, group by group".to_owned()
        } else {
            let kind = plan.kind.as_deref().unwrap_or("part");
            let above = if plan.count_above > 0 { ", and what is above them" } else { "" };
            format!("every {kind}{above}")
        };
        format!(
            "A row is what sends, a column what receives: {what}. Coloured are the channels from one to the other; where \
             nothing is, no link leads."
        )
    }
}

/// As much of a name as there is room for.
fn short(name: &str) -> String {
    const LETTERS: usize = 26;
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    name.chars().take(LETTERS - 1).chain(['…']).collect()
}

/// Boxes and what is above them.
fn of_parts(plan: &Plan, topology: &Topology) -> (Vec<String>, Vec<u32>) {
    let boxes = plan.boxes.len() as u32;
    let each = plan.count_above.div_ceil(ABOVE_MAX).max(1);
    let row = |place: &Place| match place {
        Place::Box(number) => *number,
        Place::Above(number) => boxes + number / each,
    };
    let kind = topology.level_names().map_or("top switch", |(_, above)| above);
    let mut switch_of = vec![0; plan.count_above as usize];
    for (switch, place) in (0..).zip(&plan.places) {
        if let Place::Above(number) = place {
            switch_of[*number as usize] = switch;
        }
    }
    let above = (0..plan.count_above).step_by(each as usize).map(|first| {
        let last = (first + each).min(plan.count_above) - 1;
        // Above the groups of a graph file are single switches, with names.
        match plan.names.is_empty() {
            true => run(kind, first, last),
            false => switches(&plan.names, switch_of[first as usize], switch_of[last as usize]),
        }
    });
    let names = plan.boxes.iter().map(|it| it.name.clone()).chain(above).collect();
    (names, plan.places.iter().map(row).collect())
}

/// Each switch, part by part and, where there are no parts, by number.
fn of_each(plan: &Plan) -> (Vec<String>, Vec<u32>) {
    let part = |switch: u32| match plan.places[switch as usize] {
        Place::Box(number) => number,
        Place::Above(_) => u32::MAX,
    };
    let mut order: Vec<u32> = (0..plan.places.len() as u32).collect();
    order.sort_by_key(|&switch| part(switch));
    let mut row_of = vec![0; order.len()];
    (0..).zip(&order).for_each(|(row, switch)| row_of[*switch as usize] = row);
    (order.iter().map(|&switch| switches(&plan.names, switch, switch)).collect(), row_of)
}

/// All switches by number.
fn of_switches(plan: &Plan) -> (Vec<String>, Vec<u32>) {
    let count = plan.places.len() as u32;
    let each = count.div_ceil(ROWS_MAX).max(1);
    let name = |first: u32| switches(&plan.names, first, (first + each).min(count) - 1);
    let rows = (0..count).step_by(each as usize).map(name).collect();
    (rows, (0..count).map(|switch| switch / each).collect())
}
