//! A map of what parts send to each other: a row for each that sends, a column for each that receives.

use super::plan::{Place, Plan, run, switches};
use super::{WIDTH, text};
use crate::stages::ChannelEnds;
use flitway_wiring::SwitchId;
use flitway_wiring::topology::{End, Topology};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rows at most.
const ROWS_MAX: u32 = 96;

/// Rows at most of what is above all boxes.
const ABOVE_MAX: u32 = 48;

/// Room for the names of rows, and for those of columns.
const NAMES: f64 = 172.0;

/// The map.
pub(super) struct Between {
    rows: Vec<String>,
    /// By switch: its row.
    row_of: Vec<u32>,
    /// The pairs of rows that channels join, row by row, each with the number of its cell.
    cells: BTreeMap<(u32, u32), u32>,
    is_by_numbers: bool,
}

impl Between {
    pub(super) fn new(plan: &Plan, topology: &Topology) -> Self {
        let (mut rows, row_of) = match plan.kind {
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
        Between { rows, row_of, cells, is_by_numbers: plan.kind.is_none() }
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
        let pitch = ((WIDTH - NAMES) / count.max(1) as f64).min(28.0);
        // So many rows have a name each that it can be read.
        let step = (13.0 / pitch).ceil() as usize;
        let mut svg = String::new();
        for (place, name) in self.rows.iter().enumerate().step_by(step) {
            let middle = NAMES + (place as f64 + 0.5) * pitch;
            text(&mut svg, (0.0, middle + 4.0), &short(name));
            // Writing to a string does not fail.
            let _ = write!(
                svg,
                "<text class=\"row\" transform=\"translate({:.1} {:.1}) rotate(-90)\">{}</text>",
                middle + 4.0,
                NAMES - 4.0,
                super::super::escape(&short(name))
            );
        }
        let mut last = None;
        for &(row, column) in self.cells.keys() {
            if last != Some(row) {
                let end = if last.is_some() { "</g>" } else { "" };
                let y = NAMES + f64::from(row) * pitch;
                let _ = write!(
                    svg,
                    "{end}<g class=\"cells\" transform=\"translate({NAMES} {y:.1}) scale({pitch:.3})\" data-row=\"{row}\">"
                );
                last = Some(row);
            }
            let _ = write!(svg, "<rect x=\"{column}\" width=\".9\" height=\".9\"/>");
        }
        if last.is_some() {
            svg.push_str("</g>");
        }
        let side = NAMES + count as f64 * pitch;
        // Writing to a string does not fail.
        let _ = write!(
            svg,
            "<rect class=\"sw\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            NAMES - 2.0,
            NAMES - 2.0,
            side - NAMES + 3.0,
            side - NAMES + 3.0
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
    let above = (0..plan.count_above)
        .step_by(each as usize)
        .map(|first| run(kind, first, (first + each).min(plan.count_above) - 1));
    let names = plan.boxes.iter().map(|it| it.name.clone()).chain(above).collect();
    (names, plan.places.iter().map(row).collect())
}

/// All switches by number.
fn of_switches(plan: &Plan) -> (Vec<String>, Vec<u32>) {
    let count = plan.places.len() as u32;
    let each = count.div_ceil(ROWS_MAX).max(1);
    let name = |first: u32| switches(&plan.names, first, (first + each).min(count) - 1);
    let rows = (0..count).step_by(each as usize).map(name).collect();
    (rows, (0..count).map(|switch| switch / each).collect())
}
