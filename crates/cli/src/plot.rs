//! What came out of an experiment, as text: of each plot a table with a line for each x and a column for each line of the plot.

use crate::layout;
use crate::table::{bare_table, digits, plural};
use flitway_experiment::{Experiment, Mark, PlotData, Report, Series};
use flitway_report::shown::Unit;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What is about to be run.
pub(crate) fn heading(experiment: &Experiment, set: &[String], folder: &Path, threads: u32) -> String {
    let beside = experiment.beside(threads);
    let side = if beside > 1 { format!(", {beside} side by side") } else { String::new() };
    let with = if set.is_empty() { String::new() } else { format!(" with {}", set.join(", ")) };
    let title = if experiment.title.is_empty() { String::new() } else { format!(": {}", experiment.title) };
    format!(
        "{}{with}{title}\n{}{side}; finished ones are kept in {}",
        experiment.name,
        plural(experiment.points().len() as u32, "point", "s"),
        folder.display()
    )
}

/// What came out of an experiment: a table for each plot, the findings, where the data are.
pub(crate) fn experiment(experiment: &Experiment, report: &Report, files: &[PathBuf]) -> String {
    let mut text = String::new();
    for (data, file) in report.plots.iter().zip(files) {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{}\n{}\ndata: {}", data.plot.title, table_of(data), file.display());
        let _ = writeln!(text, "; picture: {}", file.with_extension("svg").display());
    }
    if report.plots.is_empty() && report.findings.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{}", all_points(experiment, report));
    }
    if report.plots.iter().flat_map(|data| &data.series).flat_map(|series| &series.marks).any(is_doubtful) {
        text.push_str("\n*  not steady: what is shown depends on how long the point ran\n");
    }
    let open = report.results().iter().filter(|result| result.is_none()).count();
    let why = if open > 0 { "not known yet" } else { "not measured by any point" };
    for (finding, sentence) in report.findings.iter().zip(experiment.sentences_so_far(report)) {
        let _ = match finding {
            Some(finding) => write!(text, "\n* {finding}"),
            None => write!(text, "\n* `?` is {why}: {sentence}"),
        };
    }
    if open > 0 {
        let _ = write!(
            text,
            "\n\n{} not run; the same command goes on from here",
            plural(open as u32, "point", "s")
        );
    }
    text.truncate(text.trim_end().len());
    text
}

/// Numbers of a point that are shown where an experiment says nothing of what it is about: path and heading.
const NUMBERS: [(&str, &str); 6] = [
    ("/points/0/accepted_load", "accepted"),
    ("/points/0/packet_latency_ns/mean", "latency ns"),
    ("/points/0/multicast/last_copy_latency_ns/mean", "last copy ns"),
    ("/points/0/barrier/latency_ns/mean", "barrier ns"),
    ("/points/0/graph/completion_ns", "completion ns"),
    ("/points/0/train/time_ns", "train ns"),
];

/// A line for each point: what is varied, and the numbers that it has.
fn all_points(experiment: &Experiment, report: &Report) -> String {
    let results = report.results();
    let number = |result: &Value, path: &str| result.pointer(path).and_then(Value::as_f64);
    let has = |path: &str| results.iter().flatten().any(|result| number(result, path).is_some());
    let numbers: Vec<&(&str, &str)> = NUMBERS.iter().filter(|(path, _)| has(path)).collect();
    let names: Vec<String> = experiment.values(0).map(|(name, _)| name.to_owned()).collect();
    let heading = names.iter().map(String::as_str).chain(numbers.iter().map(|(_, name)| *name));
    let mut table = bare_table(&heading.chain(["verdict"]).collect::<Vec<_>>());
    for (index, result) in results.iter().enumerate() {
        let mut cells: Vec<String> = experiment.values(index).map(|(_, value)| value).collect();
        let of = |path| result.as_ref().and_then(|result| number(result, path));
        cells.extend(
            numbers.iter().map(|(path, _)| of(path).map_or_else(|| "-".to_owned(), |it| digits(it, 4))),
        );
        let verdict = result.as_ref().and_then(|result| result.pointer("/points/0/verdict")?.as_str());
        cells.push(verdict.unwrap_or_default().to_owned());
        table.add_row(cells);
    }
    format!(
        "{table}\n--json, --csv and --parquet have all numbers; a [[plot]] or a [[finding]] says what is of interest\n"
    )
}

fn is_doubtful(mark: &Mark) -> bool {
    mark.y.is_some() && !mark.is_trusted
}

/// Digits of a number, where there is room for them.
const DIGITS: [i32; 2] = [4, 3];

/// Columns between two cells.
const SPACE: usize = 2;

/// The table of `data`, which says what is in it. Where x is measured no two lines share one, so that there is nothing to put
/// side by side.
fn table_of(data: &PlotData) -> String {
    let [x, y] = data.plot.columns();
    if data.plot.is_x_measured() {
        let names: Vec<String> = data.series.iter().map(|series| series.by.join(", ")).collect();
        let marks = data.series.iter().map(|series| series.marks.len()).max().unwrap_or(0);
        return format!(
            "{y} over {x}, {} of {marks} marks: {}",
            plural(names.len() as u32, "line", "s"),
            names.join("; ")
        );
    }
    let heights = || data.series.iter().flat_map(|series| &series.marks).filter_map(|mark| mark.y);
    let is_time = y.split('.').any(|part| part.ends_with("_ns"));
    let unit = is_time.then(|| Unit::of(heights().fold(0.0, f64::max)));
    let what = match unit {
        Some(unit) => format!("{y} in {}", unit.name()),
        None => data.plot.y_title.clone(),
    };
    let by: Vec<&str> = data.plot.by().collect();
    let over = if by.is_empty() { String::new() } else { format!(", a column for each {}", by.join(", ")) };
    let places = places(data);
    let table =
        |count| Table::new(data, &by, &places, |y| digits(unit.map_or(y, |unit| unit.of_nanos(y)), count));
    let width = layout::width().unwrap_or(usize::MAX);
    let table =
        DIGITS.map(table).into_iter().reduce(|wide, narrow| if wide.width() > width { narrow } else { wide });
    let parts = table.map_or_else(String::new, |table| table.parts(width).join("\n\n"));
    format!("{what}{over}\n{parts}")
}

/// The places along the axis, in the order of the points.
fn places(data: &PlotData) -> Vec<&str> {
    let mut places: Vec<&str> = Vec::new();
    for mark in data.series.iter().flat_map(|series| &series.marks) {
        if !places.contains(&mark.x.as_str()) {
            places.push(&mark.x);
        }
    }
    places
}

/// Columns of text, the first one along the axis. A heading has a line for each name that tells lines of the plot apart.
struct Table(Vec<Vec<String>>);

impl Table {
    fn new(data: &PlotData, by: &[&str], places: &[&str], number: impl Fn(f64) -> String) -> Self {
        let [x, y] = data.plot.columns();
        let height = |mark: &Mark| {
            let doubt = if is_doubtful(mark) { "*" } else { "" };
            mark.y.map_or_else(|| "-".to_owned(), |y| format!("{}{doubt}", number(y)))
        };
        // One name needs no line of its own: it is said above.
        let names = if by.len() > 1 { by } else { &[] };
        let first = [names.iter().copied().chain([x]).collect::<Vec<_>>().join("\n")];
        let mut columns = vec![first.into_iter().chain(places.iter().map(|it| (*it).to_owned())).collect()];
        let column = |series: &Series| {
            let heading = match &series.by[..] {
                [] => y.to_owned(),
                [one] => one.clone(),
                several => several.join("\n"),
            };
            let of = |place: &&str| {
                series.marks.iter().find(|mark| mark.x == *place).map_or_else(String::new, height)
            };
            std::iter::once(heading).chain(places.iter().map(of)).collect()
        };
        columns.extend(data.series.iter().map(column));
        Table(columns)
    }

    /// Columns of the screen that a column takes.
    fn width_of(column: &[String]) -> usize {
        let lines = column.iter().flat_map(|cell| cell.lines());
        SPACE + lines.map(|line| line.chars().count()).max().unwrap_or(0)
    }

    fn width(&self) -> usize {
        self.0.iter().map(|column| Self::width_of(column)).sum()
    }

    /// The table in as many parts as it takes for each to fit a `width`.
    fn parts(&self, width: usize) -> Vec<String> {
        let Some((first, others)) = self.0.split_first() else { return Vec::new() };
        let mut parts: Vec<Vec<&Vec<String>>> = Vec::new();
        let mut room = 0;
        for column in others {
            let needed = Self::width_of(column);
            if parts.is_empty() || needed > room {
                parts.push(vec![first]);
                room = width.saturating_sub(Self::width_of(first));
            }
            room = room.saturating_sub(needed);
            if let Some(part) = parts.last_mut() {
                part.push(column);
            }
        }
        parts.iter().map(|columns| Self::part(columns)).collect()
    }

    fn part(columns: &[&Vec<String>]) -> String {
        let heading: Vec<&str> = columns.iter().map(|column| column[0].as_str()).collect();
        let mut table = bare_table(&heading);
        for row in 1..columns[0].len() {
            table.add_row(columns.iter().map(|column| column[row].as_str()).collect::<Vec<_>>());
        }
        table.to_string()
    }
}
