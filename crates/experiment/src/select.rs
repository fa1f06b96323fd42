//! Picking from the points of an experiment: a column is a varied name or a number of the result; conditions pick points.

use crate::value::base_unit;
use crate::vary::Axis;
use flitway_machine::{Dimension, nearest, show, units};
use serde_json::Value;

/// A column of the table that has a line for each point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// A varied name: its axis, its place in it.
    Varied { axis: usize, place: usize, name: String },
    /// A number of the result, by its path.
    Measured(String),
}

impl Column {
    pub(crate) fn name(&self) -> &str {
        match self {
            Column::Varied { name, .. } | Column::Measured(name) => name,
        }
    }
}

/// The points: their axes, their places on them, and what is measured at each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    pub(crate) axes: Vec<Axis>,
    /// The row of each axis, point by point.
    pub(crate) points: Vec<Vec<usize>>,
    /// Path and unit of what is measured.
    pub(crate) fields: Vec<(&'static str, &'static str)>,
}

/// A message, what is expected, and the likely fix.
#[derive(Debug)]
pub(crate) struct Unknown {
    pub(crate) message: String,
    pub(crate) expected: String,
    pub(crate) help: Option<String>,
}

impl Space {
    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Result<Column, Unknown> {
        if let Some(column) = self.varied(name) {
            return Ok(column);
        }
        if self.fields.iter().any(|(path, _)| *path == name) {
            return Ok(Column::Measured(name.to_owned()));
        }
        let names: Vec<&str> = self.names().collect();
        let paths = || self.fields.iter().map(|(path, _)| *path);
        // The beginning of a path is what people try first.
        let longer = paths().find(|path| path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        let meant = longer.or_else(|| nearest(name, names.iter().copied().chain(paths())));
        let varied = if names.is_empty() { "nothing is varied".to_owned() } else { names.join(", ") };
        Err(Unknown {
            message: format!("`{}` is neither varied nor measured", show(name)),
            expected: format!("what is varied ({varied}) or measured ({})", in_short(paths())),
            help: meant.map(|meant| format!("did you mean `{meant}`?")),
        })
    }

    /// The column of this name, which must be varied.
    pub(crate) fn varied(&self, name: &str) -> Option<Column> {
        self.axes.iter().enumerate().find_map(|(axis, found)| {
            let place = found.names().iter().position(|other| other == name)?;
            Some(Column::Varied { axis, place, name: name.to_owned() })
        })
    }

    /// All names that are varied.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().flat_map(|axis| axis.names().iter().map(String::as_str))
    }

    /// The value of a varied column at `point`, as written.
    pub(crate) fn label(&self, point: usize, axis: usize, place: usize) -> String {
        self.axes[axis].label(self.points[point][axis], place)
    }

    /// All values of a varied column, as written.
    pub(crate) fn labels(&self, axis: usize, place: usize) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for row in 0..self.axes[axis].rows.len() {
            let label = self.axes[axis].label(row, place);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    /// The unit of a column for the title of an axis; empty if it has none.
    pub(crate) fn unit(&self, column: &Column) -> &'static str {
        match column {
            Column::Measured(path) => {
                self.fields.iter().find(|(other, _)| other == path).map_or("", |(_, unit)| unit)
            }
            Column::Varied { axis, place, .. } => {
                let labels = self.labels(*axis, *place);
                let dimension = |label: &String| Some(units::parse_any(label, Dimension::ALL).ok()?.0);
                match labels.first().and_then(dimension) {
                    Some(first) if labels.iter().all(|label| dimension(label) == Some(first)) => {
                        base_unit(first)
                    }
                    _ => "",
                }
            }
        }
    }
}

/// Paths as a list for a sentence: `packets, packet_latency_ns.{mean, p99}`.
fn in_short<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for path in paths {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        match groups.last_mut() {
            Some((last, keys)) if *last == table && !table.is_empty() => keys.push(key),
            _ => groups.push((table, vec![key])),
        }
    }
    let shown = groups.iter().map(|(table, keys)| match (*table, &keys[..]) {
        ("", keys) => keys.concat(),
        (table, [key]) => format!("{table}.{key}"),
        (table, keys) => format!("{table}.{{{}}}", keys.join(", ")),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// The number at `path` in the point of a `flitway/result/1`; `None` if it was not measured.
pub(crate) fn measured(result: &Value, path: &str) -> Option<f64> {
    point(result)?.pointer(&format!("/{}", path.replace('.', "/")))?.as_f64()
}

/// How the measurement of a point has ended, where that is said.
pub(crate) fn verdict(result: &Value) -> Option<&str> {
    point(result)?.get("verdict")?.as_str()
}

/// Whether the number at `path` means what it says: a latency does at a steady point only, that of a barrier in a saturated
/// network, too, and what is computed always.
pub(crate) fn is_trusted(result: &Value, path: &str) -> bool {
    let is_measured = path.contains("latency_ns") && !path.contains("zero_load");
    !is_measured
        || match verdict(result) {
            None | Some("steady") => true,
            Some("saturated") => path.starts_with("barrier."),
            Some(_) => false,
        }
}

fn point(result: &Value) -> Option<&Value> {
    result.get("points")?.get(0)
}

/// A number for people: three significant digits, but never fewer than its whole part.
pub(crate) fn format(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let decimals = (2 - number.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{number:.decimals$}");
    // 9.996 has become 10.00.
    let digits = text.chars().filter(char::is_ascii_digit).collect::<String>();
    let excess = digits.trim_start_matches('0').len() > 3 && decimals > 0;
    if excess { format!("{number:.places$}", places = decimals - 1) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_no_fewer_than_they_need() {
        for (number, text) in [
            (0.82345, "0.823"),
            (12.345, "12.3"),
            (1234.5, "1234"),
            (123456.7, "123457"),
            (0.001234, "0.00123"),
            (9.996, "10.0"),
            (0.9999, "1.00"),
            (99.96, "100"),
            (1.0, "1.00"),
            (0.0, "0"),
            (-0.5, "-0.500"),
        ] {
            assert_eq!(format(number), text);
        }
    }
}
