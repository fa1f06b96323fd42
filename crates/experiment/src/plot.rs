//! Plots: which column over which, and the data of it, as a table for people, CSV and JSON.

use crate::options::{PlotOptions, Text};
use crate::select::{Column, Space, is_trusted, measured, verdict};
use crate::value::number;
use flitway_machine::{Code, Diagnostic, Diagnostics};
use serde_json::{Map, Value, json};

/// A plot, checked.
#[derive(Clone, Debug)]
pub struct Plot {
    /// What its file is named after.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// What stands along the axis.
    pub x_title: String,
    /// What stands up the axis, with the unit.
    pub y_title: String,
    pub(crate) x: Column,
    pub(crate) y: Column,
    pub(crate) by: Vec<Column>,
}

/// What there is to draw.
#[derive(Clone, Debug)]
pub struct PlotData {
    /// The plot.
    pub plot: Plot,
    /// One for each combination of what `by` names, in the order of the points.
    pub series: Vec<Series>,
}

/// The points that one line joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The value of each name in `by`, as written.
    pub by: Vec<String>,
    /// Its marks, in the order of the points.
    pub marks: Vec<Mark>,
}

/// One mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// As it is written, or measured.
    pub x: String,
    /// The number that it stands for, if it does.
    pub x_number: Option<f64>,
    /// The height; `None` if it was not measured.
    pub y: Option<f64>,
    /// Half of its 95 % confidence interval.
    pub ci95: Option<f64>,
    /// How the measurement has ended, where that is said.
    pub verdict: Option<String>,
    /// Whether `y` means what it says: the latency of a saturated point does not.
    pub is_trusted: bool,
}

/// Checks the plots.
pub(crate) fn plots(options: &[PlotOptions], space: &Space, problems: &mut Diagnostics) -> Vec<Plot> {
    let mut plots: Vec<Plot> = Vec::new();
    for option in options {
        let before = problems.seen();
        if let Some(name) = &option.name {
            check_name("plot", name, problems);
            if plots.iter().any(|plot| plot.name == name.text) {
                let message = format!("there are two plots `{}`", name.text);
                problems.push(Diagnostic::error(Code::WrongValue, name.at.clone(), message));
            }
        }
        let (x, y) = (column(option.x.as_ref(), space, problems), column(option.y.as_ref(), space, problems));
        if let (Some(Column::Varied { name, .. }), Some(at)) = (&y, &option.y) {
            let message = format!("`{name}` is varied, and not measured");
            let problem = Diagnostic::error(Code::UnknownField, at.at.clone(), message);
            problems.push(problem.expected("what is measured, such as `accepted_load`"));
        }
        let by = by(option, x.as_ref(), space, problems);
        if let (Some(x), Some(y), Some(name), true) = (x, y, &option.name, problems.seen() == before) {
            let titled = |column: &Column, title: &Option<Text>| {
                title.as_ref().map_or_else(|| axis_title(space, column), |title| title.text.clone())
            };
            plots.push(Plot {
                title: option.title.as_ref().unwrap_or(name).text.clone(),
                name: name.text.clone(),
                x_title: titled(&x, &option.x_title),
                y_title: titled(&y, &option.y_title),
                by,
                x,
                y,
            });
        }
    }
    plots
}

/// That a file can be named `name`.
pub(crate) fn check_name(what: &str, name: &Text, problems: &mut Diagnostics) {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.text.is_empty() || name.text.starts_with('.') || !name.text.chars().all(is_plain) {
        let message = format!("`{}` cannot name the {what}", flitway_machine::show(&name.text));
        let problem = Diagnostic::error(Code::WrongValue, name.at.clone(), message);
        problems.push(problem.expected("letters, digits, `-`, `_` and `.`, since files are named after it"));
    }
}

fn axis_title(space: &Space, column: &Column) -> String {
    match space.unit(column) {
        "" => column.name().to_owned(),
        unit => format!("{} ({unit})", column.name()),
    }
}

fn column(name: Option<&Text>, space: &Space, problems: &mut Diagnostics) -> Option<Column> {
    let name = name?;
    space
        .column(&name.text)
        .map_err(|unknown| {
            let problem = Diagnostic::error(Code::UnknownField, name.at.clone(), unknown.message);
            problems.push(problem.expected(unknown.expected).maybe_help(unknown.help));
        })
        .ok()
}

/// What tells the lines of a plot apart: what is said, or all that is varied and is not `x`. Along a line one axis may
/// run that neither names, if `x` is measured.
fn by(option: &PlotOptions, x: Option<&Column>, space: &Space, problems: &mut Diagnostics) -> Vec<Column> {
    let axis_of = |column: &Column| match column {
        Column::Varied { axis, .. } => Some(*axis),
        Column::Measured(_) => None,
    };
    let x_axis = x.and_then(axis_of);
    let several = |axis: &usize| space.axes[*axis].rows.len() > 1;
    let mut open: Vec<usize> = (0..space.axes.len()).filter(several).collect();
    open.retain(|axis| Some(*axis) != x_axis);
    let runs_along = usize::from(x.is_some_and(|x| axis_of(x).is_none()));
    let Some(names) = &option.by else {
        open.truncate(open.len().saturating_sub(runs_along));
        let first =
            |axis: usize| Column::Varied { axis, place: 0, name: space.axes[axis].names()[0].clone() };
        return open.into_iter().map(first).collect();
    };
    let mut columns = Vec::new();
    for name in names {
        match space.varied(&name.text) {
            Some(column) => columns.push(column),
            None => {
                let known: Vec<&str> = space.names().collect();
                let message = format!("`{}` is not varied", flitway_machine::show(&name.text));
                let meant = flitway_machine::nearest(&name.text, known.iter().copied());
                let problem = Diagnostic::error(Code::UnknownField, name.at.clone(), message);
                let problem = problem.expected(format!("one of: {}", known.join(", ")));
                problems.push(problem.maybe_help(meant.map(|meant| format!("did you mean `{meant}`?"))));
            }
        }
    }
    open.retain(|axis| !columns.iter().any(|column| axis_of(column) == Some(*axis)));
    if open.len() > runs_along && columns.len() == names.len() {
        let names: Vec<&str> = open.iter().map(|axis| space.axes[*axis].names()[0].as_str()).collect();
        let message = format!("the plot does not tell points apart that differ in `{}`", names.join("`, `"));
        let at = option.by.as_ref().and_then(|by| by.first()).map_or(&option.at, |first| &first.at);
        let problem = Diagnostic::error(Code::Ambiguous, at.clone(), message);
        problems.push(problem.help(format!("add it to `by`: \"{}\"", names[0])));
    }
    columns
}

impl Plot {
    /// The data that `results` have for it, point by point.
    pub(crate) fn data(&self, space: &Space, results: &[Option<Value>]) -> PlotData {
        let mut series: Vec<Series> = Vec::new();
        for (point, result) in results.iter().enumerate() {
            let label = |column: &Column| match column {
                Column::Varied { axis, place, .. } => space.label(point, *axis, *place),
                Column::Measured(_) => String::new(),
            };
            let by: Vec<String> = self.by.iter().map(label).collect();
            let mark = self.mark(space, point, result.as_ref());
            match series.iter_mut().find(|series| series.by == by) {
                Some(series) => series.marks.push(mark),
                None => series.push(Series { by, marks: vec![mark] }),
            }
        }
        PlotData { plot: self.clone(), series }
    }

    fn mark(&self, space: &Space, point: usize, result: Option<&Value>) -> Mark {
        let at = |path: &str| result.and_then(|result| measured(result, path));
        let y = self.y.name();
        let (x, x_number) = match &self.x {
            Column::Varied { axis, place, .. } => {
                let label = space.label(point, *axis, *place);
                let number = number(&label);
                (label, number)
            }
            Column::Measured(path) => {
                let number = at(path);
                (number.map_or_else(String::new, |number| number.to_string()), number)
            }
        };
        let interval =
            y.strip_suffix(".mean").map_or_else(|| format!("{y}_ci95"), |path| format!("{path}.ci95"));
        Mark {
            x,
            x_number,
            y: at(y),
            ci95: at(&interval),
            verdict: result.and_then(verdict).map(str::to_owned),
            is_trusted: result.is_some_and(|result| is_trusted(result, y)),
        }
    }

    /// The names of the columns that tell its lines apart.
    pub fn by(&self) -> impl Iterator<Item = &str> {
        self.by.iter().map(Column::name)
    }

    /// Whether what stands along the axis is measured, and not varied.
    #[must_use]
    pub fn is_x_measured(&self) -> bool {
        matches!(self.x, Column::Measured(_))
    }

    /// What it shows along the axis and up.
    #[must_use]
    pub fn columns(&self) -> [&str; 2] {
        [self.x.name(), self.y.name()]
    }
}

impl PlotData {
    /// A line for each mark: what tells lines apart, x as written, y, half of its 95 % confidence interval, the verdict.
    /// What was not measured is empty.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let [x, y] = self.plot.columns();
        let interval = format!("{y} ci95");
        let head = self.plot.by().chain([x, y, &interval, "verdict"]).map(cell);
        let mut text = head.collect::<Vec<_>>().join(",") + "\n";
        for series in &self.series {
            for mark in &series.marks {
                let optional =
                    |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
                let mut cells: Vec<String> = series.by.iter().map(|value| cell(value)).collect();
                // A number where it is one, so that other programs can draw it.
                cells.push(mark.x_number.map_or_else(|| cell(&mark.x), |number| number.to_string()));
                cells.extend([optional(mark.y), optional(mark.ci95)]);
                cells.push(mark.verdict.clone().unwrap_or_default());
                text += &(cells.join(",") + "\n");
            }
        }
        text
    }

    /// As an object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let [x, y] = self.plot.columns();
        let series: Vec<Value> = self.series.iter().map(|series| self.series_json(series)).collect();
        json!({
            "name": self.plot.name,
            "title": self.plot.title,
            "x": { "name": x, "title": self.plot.x_title },
            "y": { "name": y, "title": self.plot.y_title },
            "by": self.plot.by().collect::<Vec<_>>(),
            "series": series,
        })
    }

    fn series_json(&self, series: &Series) -> Value {
        let by: Map<String, Value> =
            self.plot.by().map(str::to_owned).zip(series.by.iter().map(|v| json!(v))).collect();
        let marks: Vec<Value> = series.marks.iter().filter_map(Mark::to_json).collect();
        json!({ "by": by, "marks": marks })
    }
}

impl Mark {
    /// As an object; `None` if there is nothing to draw.
    fn to_json(&self) -> Option<Value> {
        let x = self.x_number.map_or_else(|| json!(self.x), |number| json!(number));
        let mut object = json!({ "x": x, "y": self.y? });
        if let Some(ci95) = self.ci95 {
            object["ci95"] = json!(ci95);
        }
        if let Some(verdict) = &self.verdict {
            object["verdict"] = json!(verdict);
        }
        Some(object)
    }
}

/// A cell of a CSV file (RFC 4180). What a spreadsheet would take for a formula gets an apostrophe, which it takes for text;
/// a number is none.
pub(crate) fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let text = &if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_is_no_formula() {
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-1", "-1"),
            ("-1e-3", "-1e-3"),
            ("-x,\"y\"", "\"'-x,\"\"y\"\"\""),
            ("256 B", "256 B"),
        ] {
            assert_eq!(cell(text), written);
        }
    }
}
