//! Where switches are drawn, as lines `at` of the graph file.

use super::Called;
use crate::fabric::{Fabric, Notes, counted};
use crate::layout::Layout;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The farthest from zero that a graph file can say.
const COORDINATE_MAX: f64 = 1e9;

/// The lines for the switches of `layout`; none if one has no coordinates, or two have the same.
pub(super) fn lines(fabric: &Fabric, layout: &Layout, called: &Called, notes: &mut Notes) -> String {
    let spots: Vec<(usize, [f64; 2])> = layout
        .switches
        .iter()
        .filter_map(|&switch| Some((switch, fabric.switches[switch].spot?)))
        .filter(|(_, spot)| spot.iter().all(|it| it.abs() <= COORDINATE_MAX))
        .collect();
    if spots.is_empty() {
        return String::new();
    }
    let places: BTreeSet<[u64; 2]> =
        spots.iter().map(|(_, spot)| spot.map(|it| (it + 0.0).to_bits())).collect();
    let why = match (spots.len() < layout.switches.len(), places.len() < spots.len()) {
        (true, _) => "which not all have",
        (false, true) => "where two are in one place",
        (false, false) => {
            let mut text = String::new();
            for (switch, [x, y]) in spots {
                let _ = writeln!(text, "at {} {x} {y}", called.switches[&switch]);
            }
            return text;
        }
    };
    notes.dropped.push(format!("coordinates of {}, {why}", counted(spots.len(), "switch")));
    String::new()
}
