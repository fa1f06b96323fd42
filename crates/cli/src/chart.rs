//! Charts for the terminal.

use crate::layout;
use flitway_report::page::time;
use textplots::{Chart, LabelBuilder, LabelFormat, Plot, Shape};

/// Latency in microseconds over accepted load, as braille dots; empty if there are fewer than two points.
pub(crate) fn latency_load(points: &[(f64, f64)]) -> String {
    // A letter has two dots beside each other, and figures stand right of them.
    let dots = layout::width().map_or(120, |width| 2 * width.saturating_sub(12));
    let width = u32::try_from(dots).unwrap_or(120).clamp(40, 240);
    const HEIGHT: u32 = 40;
    let [(first, _), .., (last, _)] = points else { return String::new() };
    if first >= last {
        return String::new();
    }
    let points: Vec<(f32, f32)> =
        points.iter().map(|&(load, latency)| (load as f32, latency as f32)).collect();
    let top = points.iter().map(|point| point.1).fold(0.0, f32::max) * 1.05;
    let mut chart = Chart::new_with_y_range(width, HEIGHT, *first as f32, *last as f32, 0.0, top);
    let lines = Shape::Lines(&points);
    let chart = chart
        .lineplot(&lines)
        .x_label_format(LabelFormat::Custom(Box::new(|load| format!("{load:.2}"))))
        .y_label_format(LabelFormat::Custom(Box::new(|latency| time(f64::from(latency) * 1_000.0))));
    chart.axis();
    chart.figures();
    chart.to_string()
}
