//! What is varied: axes, and the points that they span.
//!
//! Each `[[vary]]` is an [`Axis`]. One name makes a list, several names at once a zip: their values go together row by
//! row. Axes multiply, the first one varying slowest; what `[[omit]]` names is left out.

use crate::options::{Given, Text, VaryOptions, unknown_key};
use crate::value::{meaning, same};
use crate::workload::{WorkloadOptions, load};
use flitway_machine::document::{Field, Raw};
use flitway_machine::{Code, Diagnostic, Diagnostics, Location, kind_of, schema, show};
use std::collections::BTreeMap;

/// What one `[[vary]]` varies.
#[derive(Clone, Debug)]
pub struct Axis {
    names: Vec<String>,
    pub(crate) targets: Vec<Target>,
    /// Where the names stand.
    pub(crate) places: Vec<Location>,
    /// A value for each name.
    pub(crate) rows: Vec<Vec<Given>>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Machine,
    Seed,
    /// An option of the workload.
    Option(&'static str),
    /// A setting of the machine, or a table of settings.
    Setting,
}

impl Target {
    /// What `name` stands for; `None` if there is nothing of that name.
    pub(crate) fn of(name: &str) -> Option<Target> {
        match name {
            "machine" => Some(Target::Machine),
            "seed" => Some(Target::Seed),
            _ => {
                if let Some(option) = WorkloadOptions::names().iter().find(|option| **option == name) {
                    return Some(Target::Option(option));
                }
                let is_setting = schema::named(name).next().is_some() || schema::is_table(name);
                (is_setting && !name.is_empty()).then_some(Target::Setting)
            }
        }
    }

    /// Whether `raw` is of a type that it takes; otherwise what is expected.
    pub(crate) fn accepts(self, raw: &Raw) -> Result<(), &'static str> {
        match (self, raw) {
            (Target::Setting, _)
            | (Target::Machine | Target::Option(_), Raw::Text(_))
            | (Target::Option(_), Raw::Integer(_) | Raw::Decimal | Raw::Flag(_)) => Ok(()),
            (Target::Seed, Raw::Integer(Some(number))) if u64::try_from(*number).is_ok() => Ok(()),
            (Target::Machine, _) => Err("a built-in name or a path, in quotes"),
            (Target::Seed, _) => Err("a whole number from 0 to 18446744073709551615"),
            (Target::Option(_), _) => Err("text in quotes, a number, true or false"),
        }
    }
}

/// The most points of an experiment.
pub(crate) const POINTS_MAX: usize = 10_000;

impl Axis {
    /// The names varied.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of each row, as they are written: one for each name.
    pub fn rows(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        self.rows.iter().map(|row| row.iter().map(Given::label).collect())
    }

    /// The names, with the places where they are written.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&str, &Location)> {
        self.names.iter().map(String::as_str).zip(&self.places)
    }

    /// The value of the name at `column` in the row `row`.
    pub(crate) fn label(&self, row: usize, column: usize) -> String {
        self.rows[row][column].label()
    }
}

/// The axes of all `[[vary]]`; `None` if one of them cannot be read at all, so that nothing is known of the points.
pub(crate) fn axes(options: &[VaryOptions], problems: &mut Diagnostics) -> Option<Vec<Axis>> {
    let mut axes: Vec<Axis> = Vec::new();
    let mut is_whole = true;
    for vary in options {
        match axis(vary, &axes, problems) {
            Some(axis) => axes.push(axis),
            None => is_whole = false,
        }
    }
    is_whole.then_some(axes)
}

fn axis(vary: &VaryOptions, axes: &[Axis], problems: &mut Diagnostics) -> Option<Axis> {
    let before = problems.seen();
    let targets: Vec<Option<Target>> = vary.over.iter().map(|name| target(name, problems)).collect();
    for (index, name) in vary.over.iter().enumerate() {
        let earlier = vary.over[..index].iter().map(|other| (other.text.as_str(), &other.at));
        let others = axes.iter().flat_map(Axis::written).chain(earlier);
        if let Some((_, at)) = others.into_iter().find(|(other, _)| overlap(other, &name.text)) {
            let message = format!("`{}` is varied twice", show(&name.text));
            let problem = Diagnostic::error(Code::BadVary, name.at.clone(), message);
            problems.push(problem.related(at.clone(), "here first").help("delete one of them"));
        }
    }
    let targets: Vec<Target> = targets.into_iter().collect::<Option<_>>()?;
    if targets.is_empty() || problems.seen() > before {
        return None;
    }
    let rows = rows(&vary.over, &targets, vary.values.as_ref()?, problems);
    let names = vary.over.iter().map(|name| name.text.clone()).collect();
    let places = vary.over.iter().map(|name| name.at.clone()).collect();
    (!rows.is_empty()).then_some(Axis { names, targets, places, rows })
}

/// Whether two names say something about the same thing.
pub(crate) fn overlap(a: &str, b: &str) -> bool {
    let is_setting = |name: &str| Target::of(name) == Some(Target::Setting);
    let within = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('.'));
    a == b || is_setting(a) && is_setting(b) && (within(a, b) || within(b, a))
}

fn target(name: &Text, problems: &mut Diagnostics) -> Option<Target> {
    let target = Target::of(&name.text);
    if target.is_none() {
        problems.push(no_target(&name.text, &name.at));
    }
    target
}

/// That nothing of this name can be varied or written in `[run]`.
pub(crate) fn no_target(name: &str, at: &Location) -> Diagnostic {
    let mut names: Vec<&str> = vec!["machine", "seed"];
    names.extend(WorkloadOptions::names());
    let problem = unknown_key(name, at, "run", &names);
    let message = format!("there is nothing to vary named `{}`", show(name));
    let expected = format!("one of: {}; or a setting of the machine, such as switch.vcs", names.join(", "));
    let settings = || schema::settings().map(|setting| setting.path);
    let by_key = settings().find(|path| path.rsplit('.').next() == name.rsplit('.').next());
    let meant = flitway_machine::nearest(name, names.iter().copied().chain(settings())).or(by_key);
    Diagnostic { message, help: None, ..problem }
        .expected(expected)
        .maybe_help(meant.map(|meant| format!("did you mean `{meant}`?")))
}

/// The rows of an axis. Ranges of loads are spread out.
fn rows(names: &[Text], targets: &[Target], values: &Given, problems: &mut Diagnostics) -> Vec<Vec<Given>> {
    let is_load = matches!(*targets, [Target::Option(name)] if WorkloadOptions::loads().any(|it| it == name));
    let single = [(values.raw.clone(), values.at.clone())];
    let items = match &values.raw {
        Raw::List(items) => &items[..],
        Raw::Text(_) if is_load => &single[..],
        raw => {
            let message = format!("`values` is {}", kind_of(raw));
            let problem = Diagnostic::error(Code::WrongValue, values.at.clone(), message);
            problems.push(problem.expected("a list, for example [1, 2, 4]"));
            return Vec::new();
        }
    };
    if items.is_empty() {
        let message = "there are no values".to_owned();
        problems.push(Diagnostic::error(Code::BadVary, values.at.clone(), message).expected("at least one"));
    }
    let (mut rows, mut taken) = (Vec::new(), BTreeMap::new());
    for (raw, at) in items {
        let item = Given { raw: raw.clone(), at: at.clone() };
        let found = match (names.len(), raw) {
            (1, _) if is_load => {
                spread(&item).map(|loads| loads.into_iter().map(|load| vec![load]).collect())
            }
            (1, _) => Ok(vec![vec![item]]),
            (width, Raw::List(cells)) if cells.len() == width => {
                Ok(vec![cells.iter().map(|(raw, at)| Given { raw: raw.clone(), at: at.clone() }).collect()])
            }
            (width, raw) => Err(narrow(names, width, raw, at)),
        };
        match found {
            Ok(found) => found.into_iter().for_each(|row| {
                take(row, names, targets, (&mut rows, &mut taken), problems);
            }),
            Err(problem) => problems.push(problem),
        }
    }
    rows
}

fn narrow(names: &[Text], width: usize, raw: &Raw, at: &Location) -> Diagnostic {
    let names: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
    let what = match raw {
        Raw::List(cells) if cells.len() == 1 => "has one value".to_owned(),
        Raw::List(cells) => format!("has {} values", cells.len()),
        other => format!("is {}", kind_of(other)),
    };
    let message = format!("{width} names are varied at once, and this {what}");
    Diagnostic::error(Code::BadVary, at.clone(), message)
        .expected(format!("a list of {width} values: [{}]", names.join(", ")))
}

/// Takes a row if each of its values can be one of its name, and no row before is the same.
fn take(
    row: Vec<Given>,
    names: &[Text],
    targets: &[Target],
    (rows, taken): (&mut Vec<Vec<Given>>, &mut BTreeMap<Vec<String>, usize>),
    problems: &mut Diagnostics,
) {
    let before = problems.seen();
    for ((value, target), name) in row.iter().zip(targets).zip(names) {
        if let Err(expected) = target.accepts(&value.raw) {
            let message = format!("`{}` is {}", name.text, kind_of(&value.raw));
            let problem = Diagnostic::error(Code::WrongValue, value.at.clone(), message);
            problems.push(problem.expected(expected));
        }
    }
    let meaning: Vec<String> = row.iter().map(|value| meaning(&value.label())).collect();
    let first = taken.entry(meaning).or_insert(rows.len());
    if let Some(first) = rows.get(*first) {
        let (here, there) = (row[0].at.clone(), first[0].at.clone());
        let message = format!("`{}` is listed twice", show(&row[0].label()));
        let problem = Diagnostic::error(Code::BadVary, here, message).help("delete one of them");
        problems.push(problem.related(there, "here first"));
    }
    if problems.seen() == before {
        rows.push(row);
    }
}

/// The loads of one value: `0.1..0.9:0.1` is nine.
fn spread(item: &Given) -> Result<Vec<Given>, Diagnostic> {
    let Raw::Text(text) = &item.raw else { return Ok(vec![item.clone()]) };
    if !text.contains([',']) && !text.contains("..") {
        return Ok(vec![item.clone()]);
    }
    let loads = load::loads(text).map_err(|message| {
        Diagnostic::error(Code::BadWorkload, item.at.clone(), format!("`load`: {message}"))
    })?;
    Ok(loads.into_iter().map(|load| Given { raw: Raw::Text(load.text()), at: item.at.clone() }).collect())
}

/// The row of every axis at each point, in order; `None` if there are too many.
pub(crate) fn product(axes: &[Axis]) -> Option<Vec<Vec<usize>>> {
    let mut points: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in axes {
        if points.len().checked_mul(axis.rows.len()).is_none_or(|count| count > POINTS_MAX) {
            return None;
        }
        points = points
            .iter()
            .flat_map(|point| (0..axis.rows.len()).map(move |row| [&point[..], &[row]].concat()))
            .collect();
    }
    Some(points)
}

/// Leaves out what one `[[omit]]` names: points at which each of its names has one of its values.
pub(crate) fn omit(
    at: &Location,
    fields: &[Field],
    axes: &[Axis],
    points: &mut Vec<Vec<usize>>,
    problems: &mut Diagnostics,
) {
    let errors = problems.seen();
    let conditions: Vec<(usize, Vec<usize>)> =
        fields.iter().filter_map(|field| condition(field, axes, problems)).collect();
    if problems.seen() > errors {
        return;
    }
    let before = points.len();
    points.retain(|point| !conditions.iter().all(|(axis, rows)| rows.contains(&point[*axis])));
    if points.is_empty() || points.len() == before {
        let which = if points.is_empty() { "every point" } else { "no point" };
        problems.push(Diagnostic::error(Code::BadVary, at.clone(), format!("this leaves out {which}")));
    }
}

/// The axis and its rows at which the name of `field` has one of the values.
fn condition(field: &Field, axes: &[Axis], problems: &mut Diagnostics) -> Option<(usize, Vec<usize>)> {
    let Field { name, name_at, raw, at } = field;
    let place = axes
        .iter()
        .enumerate()
        .find_map(|(index, axis)| Some((index, axis.names.iter().position(|other| other == name)?)));
    let Some((index, column)) = place else {
        let names: Vec<&str> = axes.iter().flat_map(|axis| axis.names.iter().map(String::as_str)).collect();
        problems.push(unknown_key(name, name_at, "omit", &names));
        return None;
    };
    let labels: Vec<String> = (0..axes[index].rows.len()).map(|row| axes[index].label(row, column)).collect();
    let single = [(raw.clone(), at.clone())];
    let items = if let Raw::List(items) = raw { &items[..] } else { &single[..] };
    let mut rows = Vec::new();
    for (raw, at) in items {
        let value = Given { raw: raw.clone(), at: at.clone() }.label();
        let found = (0..labels.len()).filter(|row| same(&labels[*row], &value));
        let before = rows.len();
        rows.extend(found);
        if rows.len() == before {
            let message = format!("`{}` is not one of the values of `{name}`", show(&value));
            let problem = Diagnostic::error(Code::BadVary, at.clone(), message);
            problems.push(problem.expected(format!("one of: {}", labels.join(", "))));
        }
    }
    Some((index, rows))
}
