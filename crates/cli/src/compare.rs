//! `flitway compare`: results, or results of experiments, point by point.

mod estimate;
mod input;

use crate::args::CompareArguments;
use crate::failure::Failure;
use crate::inputs;
use crate::layout::fitted;
use crate::output::{Target, manner, say};
use crate::table::bare_table;
use estimate::{Chance, Estimate};
use flitway_experiment::spread::QUANTITIES;
use flitway_experiment::{VERSION, schema};
use flitway_machine::units::{self, Dimension};
use flitway_report::shown::load;
use input::{Entry, Input};
use serde_json::{Map, Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Compares the results that `arguments` name.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<(), Failure> {
    let target = arguments.json.as_deref().map(|text| Target::new("--json", text));
    if let Some(Target::File { option, path }) = &target {
        let files: Vec<PathBuf> = arguments.files.iter().map(PathBuf::from).collect();
        inputs::keep(&[(option, path.as_ref())], &files)?;
    }
    let inputs = input::read_all(&arguments.files)?;
    let comparison = Comparison::new(&inputs)?;
    if target != Some(Target::Standard) && !manner().quiet {
        say(&fitted(&comparison.heads(), 3))?;
        let differences = comparison.shown_differences();
        if !differences.is_empty() {
            say(&differences)?;
        }
        say(&format!("\n{}", comparison.table()))?;
        if !comparison.remarks.is_empty() {
            say(&fitted(&format!("\n{}", comparison.remarks.join("\n")), 2))?;
        }
    }
    target.map_or(Ok(()), |target| target.write(&format!("{:#}", comparison.to_json())))
}

/// What a comparison comes to.
struct Comparison<'a> {
    inputs: &'a [Input],
    /// What is not the same in another file than the first: its place, and each difference.
    differences: Vec<(usize, Difference)>,
    /// The points of the first file, those of the others that are the same, and what was measured.
    points: Vec<Compared<'a>>,
    remarks: Vec<String>,
}

/// A point in all files.
struct Compared<'a> {
    point: &'a Entry,
    /// Path, heading, and the number in each file.
    quantities: Vec<(&'static str, &'static str, Vec<Option<Estimate>>)>,
}

/// A setting, or a part of the workload, that is not the same.
#[derive(Clone, Debug, PartialEq)]
struct Difference {
    path: String,
    from: Value,
    to: Value,
}

impl<'a> Comparison<'a> {
    fn new(inputs: &'a [Input]) -> Result<Self, Failure> {
        let (first, others) = inputs.split_first().expect("the arguments name two files or more");
        let has_partner = |other: &Input| first.entries.iter().any(|entry| entry.partner(other).is_some());
        if let Some(other) = others.iter().find(|other| !has_partner(other)) {
            let help = "expected results of one kind, with a load in common where there are loads, or two results of one \
                        experiment";
            return Err(Failure::input(nothing_in_common(first, other), Some(help.to_owned())));
        }
        let differences = others.iter().enumerate().flat_map(|(place, other)| {
            first.differences(other).into_iter().map(move |difference| (place + 1, difference))
        });
        let points = first.entries.iter().filter(|entry| others.iter().any(|it| entry.partner(it).is_some()));
        let points = points.map(|point| {
            let of_file = |input: &'a Input| {
                if std::ptr::eq(input, first) { Some(point) } else { point.partner(input) }
            };
            let entries: Vec<Option<&Entry>> = inputs.iter().map(of_file).collect();
            Compared { point, quantities: quantities(&entries) }
        });
        Ok(Comparison {
            inputs,
            differences: differences.collect(),
            points: points.collect(),
            remarks: remarks(inputs),
        })
    }

    /// What each file is.
    fn heads(&self) -> String {
        let head = |input: &Input| format!("{}: {} ({})", input.name, input.path, input.of);
        self.inputs.iter().map(head).collect::<Vec<_>>().join("\n")
    }

    fn shown_differences(&self) -> String {
        let mut text = String::new();
        for (place, input) in self.inputs.iter().enumerate().skip(1) {
            let of = if self.inputs.len() > 2 { format!(" of {}", input.name) } else { String::new() };
            let (workload, settings): (Vec<_>, Vec<_>) = self
                .differences
                .iter()
                .filter(|(of, _)| *of == place)
                .map(|(_, difference)| difference)
                .partition(|difference| difference.is_of_workload());
            for (what, lines) in [("workloads", workload), ("settings", settings)] {
                if !lines.is_empty() {
                    let lines: Vec<String> = lines.into_iter().map(Difference::shown).collect();
                    text += &format!("\n{what}{of} that differ:\n{}\n", lines.join("\n"));
                }
            }
        }
        text.trim_end().to_owned()
    }

    fn table(&self) -> String {
        let (first, second) = (&self.inputs[0].name, &self.inputs[1].name);
        let is_pair = self.inputs.len() == 2;
        let mut table = if is_pair {
            bare_table(&["offered", "", first, second, &format!("{second} / {first}")])
        } else {
            bare_table(&["offered", "", "file", "", "ratio"])
        };
        let (mut marks, mut has_interval) = (Vec::new(), false);
        for Compared { point, quantities } in &self.points {
            for (_, heading, values) in quantities {
                let ratios = ratios(values);
                has_interval |= values.iter().flatten().any(|value| value.half.is_some());
                marks.extend(ratios.iter().flatten().map(|(_, chance)| *chance));
                let value = |place: usize| {
                    values[place].as_ref().map_or_else(|| "-".to_owned(), |it| it.shown(heading))
                };
                let ratio = |place: usize| match &ratios[place] {
                    Some((ratio, chance)) => format!("{}{}", ratio.shown_as_ratio(), chance.mark()),
                    None => "-".to_owned(),
                };
                if is_pair {
                    table.add_row([point.offered(), (*heading).to_owned(), value(0), value(1), ratio(1)]);
                    continue;
                }
                for (place, input) in self.inputs.iter().enumerate() {
                    let [offered, what, ratio] = match place {
                        0 => [point.offered(), (*heading).to_owned(), String::new()],
                        _ => [String::new(), String::new(), ratio(place)],
                    };
                    table.add_row([offered, what, input.name.clone(), value(place), ratio]);
                }
            }
        }
        let legend = Chance::legend(has_interval, &marks);
        let to = if is_pair { String::new() } else { format!("\nratio: to {first}") };
        format!("{table}{}", fitted(&format!("{to}{legend}"), 3))
    }

    fn to_json(&self) -> Value {
        let files = self.inputs.iter().map(
            |input| json!({ "path": input.path, "name": input.name, "schema": input.schema, "of": input.of }),
        );
        let differences = self.differences.iter().map(|(file, difference)| {
            json!({ "file": file, "path": difference.path, "from": difference.from, "to": difference.to })
        });
        let points = self.points.iter().map(|Compared { point, quantities }| {
            let quantities = quantities.iter().map(|(path, _, values)| {
                let values_json: Vec<Value> =
                    values.iter().map(|it| it.as_ref().map_or(Value::Null, Estimate::to_json)).collect();
                let ratios: Vec<Value> = ratios(values)
                    .into_iter()
                    .skip(1)
                    .map(|it| it.map_or(Value::Null, |(ratio, chance)| chance.to_json(&ratio)))
                    .collect();
                (path[1..].replace('/', "."), json!({ "values": values_json, "ratios": ratios }))
            });
            let mut object = point.identity();
            object["quantities"] = Value::Object(quantities.collect::<Map<_, _>>());
            object
        });
        schema::written(json!({
            "schema": "flitway/compare/1",
            "flitway": VERSION,
            "files": files.collect::<Vec<_>>(),
            "differences": differences.collect::<Vec<_>>(),
            "points": points.collect::<Vec<_>>(),
            "remarks": self.remarks,
        }))
    }
}

impl Difference {
    fn is_of_workload(&self) -> bool {
        self.path == "seed" || self.path == "seeds" || self.path.starts_with("workload")
    }

    fn shown(&self) -> String {
        let said = |value: &Value| if value.is_null() { "absent".to_owned() } else { value.to_string() };
        format!("  {}: {} -> {}", self.path, said(&self.from), said(&self.to))
    }
}

/// What was measured of a point in at least two of the files; the first has it.
fn quantities(entries: &[Option<&Entry>]) -> Vec<(&'static str, &'static str, Vec<Option<Estimate>>)> {
    let of = |(path, heading): &(&'static str, &'static str)| {
        let values: Vec<Option<Estimate>> =
            entries.iter().map(|entry| entry.as_ref()?.estimate(path)).collect();
        let known = values.iter().flatten().count();
        // Beside operations there need not be other packets.
        let is_any = values.iter().flatten().any(|value| value.mean != 0.0);
        (known > 1 && values[0].is_some() && is_any).then_some((*path, *heading, values))
    };
    QUANTITIES.iter().filter_map(of).collect()
}

/// The ratio of each value to the first, and whether it may be chance.
fn ratios(values: &[Option<Estimate>]) -> Vec<Option<(Estimate, Chance)>> {
    let first = values.first().and_then(Option::as_ref);
    let of = |value: &Option<Estimate>| {
        let ratio = value.as_ref()?.over(first?)?;
        let chance = ratio.chance();
        Some((ratio, chance))
    };
    values.iter().map(of).collect()
}

/// Points that are in one file only, and those that are not steady.
fn remarks(inputs: &[Input]) -> Vec<String> {
    let mut remarks = Vec::new();
    for (place, input) in inputs.iter().enumerate() {
        let others =
            || inputs.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, input)| input);
        for entry in &input.entries {
            if others().all(|other| entry.partner(other).is_none()) {
                remarks.push(format!("{} is in {} only", entry.named(), input.name));
            }
        }
        for entry in &input.entries {
            let verdict = entry.point.get("verdict").and_then(Value::as_str).filter(|it| *it != "steady");
            let Some(verdict) = verdict else { continue };
            let why = match entry.point.get("unsettled").and_then(Value::as_str) {
                Some("imprecise") if verdict == "unsettled" => "its interval is wider than asked for",
                _ => "its latencies depend on how long it ran",
            };
            remarks.push(format!("{} of {} is {verdict}: {why}", entry.named(), input.name));
        }
    }
    remarks
}

fn nothing_in_common(first: &Input, other: &Input) -> String {
    let what = |input: &Input| {
        let mut names: Vec<String> = input.entries.iter().map(Entry::named).collect();
        // Graphs that run side by side have the same load beside them.
        names.dedup();
        let loads: Option<Vec<&str>> = names.iter().map(|name| name.strip_prefix("load ")).collect();
        match loads {
            _ if names.is_empty() => "no points".to_owned(),
            Some(loads) => format!("the loads {}", loads.join(", ")),
            None => names.join(", "),
        }
    };
    format!("nothing to compare: {} has {}, {} has {}", first.name, what(first), other.name, what(other))
}

/// What tells a point from others, as a table has it: `shown`, of the task graph of that name if there are several.
pub(crate) fn of_graph(name: Option<&str>, shown: String) -> String {
    let file = name.map(|name| Path::new(name).file_name().and_then(OsStr::to_str).unwrap_or(name));
    file.map_or(shown.clone(), |file| format!("{file} {shown}").trim_end().to_owned())
}

/// What NIC operations of `size` are called, or `shown` of what has none.
pub(crate) fn of_size(size: Option<&Value>, shown: String) -> String {
    let bytes = size.and_then(Value::as_u64);
    bytes.map_or(shown, |bytes| units::format(bytes, Dimension::Size))
}

/// The loads of a point, that of synthetic traffic and that of multicast operations, as the table has them.
pub(crate) fn offered(loads: [Option<&Value>; 2]) -> String {
    let is_some = |load: &&Value| load.as_f64() != Some(0.0);
    let [unicast, multicast] = loads;
    let shown = [unicast.filter(is_some), multicast].map(|load_of| Some(load(load_of?.as_f64()?, 3)));
    match shown {
        [Some(unicast), Some(multicast)] => format!("{multicast} beside {unicast}"),
        [one, other] => one.or(other).unwrap_or_default(),
    }
}
