//! Tables for people: numbers with their definitions beside them, and theory beside measurement.

use crate::layout::{self, Column};
use crate::remarks;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use flitway_experiment::workload::beside::Beside;
use flitway_experiment::workload::traffic::{PACKET_DEFAULT, TRAFFIC_DEFAULT};
use flitway_experiment::workload::{Load, TrafficWorkload, Written};
use flitway_experiment::{Experiment, Mark, PlotData, Report};
use flitway_fabric::chip::Cost;
use flitway_machine::{Machine, Origin, Rounding};
use flitway_report::facts::Facts;
use flitway_report::measure::Verdict;
use flitway_report::point::{Latency, Point};
use flitway_report::session::Session;
use flitway_report::shown::load;
use flitway_report::theory::Theory;
use flitway_workload::traffic::Traffic;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What is about to be measured, and what theory says of it.
pub(crate) fn traffic_header(
    session: &Session,
    workload: &TrafficWorkload,
    traffic: &Traffic,
    theory: Option<&Theory>,
) -> String {
    let mut text = format!(
        "{}; {} traffic, {} packets, {} arrivals",
        sizes_of(session),
        workload.traffic,
        workload.packet,
        workload.arrival,
    );
    let silent = traffic.destinations().silent_nodes();
    if silent > 0 {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\nsilent, since the pattern sends them to nobody else: {}; offered is per sending node, accepted per node, and so \
             up to {:.3} of it",
            plural(silent, "node", "s"),
            sending_part(session.scale().nodes, silent)
        );
    }
    text.push_str(&remarks::above_one(&workload.loads, true));
    if let Some(theory) = theory {
        let zero_load = session.machine().clock.nanos(theory.zero_load_cycles);
        let _ = write!(
            text,
            "\ntheory: zero-load latency {zero_load:.0} ns in the mean; the busiest channel, {}, is full at load {:.3}",
            theory.first_full(),
            theory.channel_bound
        );
        if let Some(bound) = theory.bisection_bound.filter(|bound| bound.is_finite()) {
            let _ = write!(text, ", the bisection at {bound:.3}");
        }
        if let Some(limit) = theory.head_of_line {
            let _ = write!(text, "; the head-of-line limit, adverts aside, is {limit:.3}");
        }
    }
    text
}

/// The part of the `nodes` that send, when so many are `silent`.
fn sending_part(nodes: u32, silent: u32) -> f64 {
    f64::from(nodes - silent) / f64::from(nodes.max(1))
}

const COLUMNS: [Column; 9] = [
    Column("offered", 7, Some(7)),
    Column("accepted", 8, Some(8)),
    Column("latency ns", 18, Some(16)),
    Column("p50", 8, Some(7)),
    Column("p99", 9, Some(8)),
    Column("p99.9", 9, Some(8)),
    Column("network ns", 10, None),
    Column("packets", 9, Some(8)),
    Column("", 9, Some(9)),
];

/// The heading of the table of load points, which is printed line by line as points come in.
pub(crate) fn point_heading() -> String {
    layout::heading(&COLUMNS)
}

/// A line of that table.
pub(crate) fn point(point: &Point) -> String {
    let latency = |pick: fn(&Latency) -> f64| {
        point
            .packet_latency
            .as_ref()
            .map_or_else(|| "-".to_owned(), |latency| format!("{:.0}", pick(latency)))
    };
    let mean = point.packet_latency.as_ref().map_or_else(
        || "-".to_owned(),
        |latency| match latency.ci95 {
            Some(ci95) => format!("{:.1} +-{:.1}", latency.mean, ci95),
            None => format!("{:.1}", latency.mean),
        },
    );
    let network = point.network_latency.as_ref().map_or_else(|| "-".to_owned(), |l| format!("{:.1}", l.mean));
    let verdict = if point.verdict == Verdict::Steady { "" } else { point.verdict.name() };
    let cells = [
        load(point.offered_load, 3),
        load(point.accepted_load, 4),
        mean,
        latency(|latency| latency.p50),
        latency(|latency| latency.p99),
        latency(|latency| latency.p999),
        network,
        point.packets.to_string(),
        verdict.to_owned(),
    ];
    layout::line(&COLUMNS, cells.iter().map(String::as_str))
}

/// What the numbers of the table mean, and the rest of what was measured.
pub(crate) fn definitions(
    session: &Session,
    workload: &TrafficWorkload,
    traffic: &Traffic,
    points: &[Point],
) -> String {
    let mut text = String::from(
        "\noffered, accepted  flits created, delivered; fraction of the injection rate, header and trailer included\n\
         latency            creation to last flit delivered, source queue included; mean +-half of the 95 % interval, where known\n\
         network            head leaves the source to last flit delivered; mean",
    );
    let (nodes, silent) = (session.scale().nodes, traffic.destinations().silent_nodes());
    if workload.loads != [Load::Max] {
        text.push_str(&remarks::created(points, sending_part(nodes, silent)));
    }
    text.push_str(&verdicts(points));
    let wall: f64 = points.iter().map(|point| point.wall_s).sum();
    let hops: u64 = points.iter().map(|point| point.packet_hops).sum();
    if let Some(point) = points.iter().rfind(|point| point.packets > 0) {
        let scale = session.scale();
        let rate = scale.clock.hertz() * f64::from(scale.flit_bytes) * f64::from(scale.rails) / 1e6;
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n\nat the last point: accepted payload {:.1} MB/s per node of {rate:.0} MB/s; load of single nodes {} to {}; {:.2} hops",
            point.accepted_payload * rate,
            load(point.accepted_min_node, 4),
            load(point.accepted_max_node, 4),
            point.hops_mean
        );
    }
    text.push_str(&remarks::unfair(points, nodes, silent));
    if hops > 0 {
        let work = match session.beside(points.len()) {
            1 => String::new(),
            beside => format!(" of work, {beside} points side by side"),
        };
        let each = wall * 1e9 / hops as f64;
        let _ = write!(text, "\n{hops} packet-hops in {wall:.1} s{work}: {each:.0} ns each");
    }
    text
}

/// What the verdicts of `points` mean, as far as there are any.
pub(crate) fn verdicts(points: &[Point]) -> String {
    let mut text = String::new();
    if points.iter().any(|point| point.verdict == Verdict::Saturated) {
        text.push_str(
            "\nsaturated          packets are created faster than delivered: latencies of these points would grow for ever",
        );
    }
    text.push_str(&remarks::accepted(points));
    text.push_str(&remarks::limits(points));
    text.push_str(&remarks::unsettled(points, Verdict::Saturated, "  not settled"));
    if points.iter().any(|point| point.verdict == Verdict::Deadlock) {
        text.push_str("\ndeadlock           packets wait for each other for ever");
    }
    text.push_str(&remarks::unsettled(points, Verdict::Unsettled, "unsettled"));
    if points.iter().any(|point| point.verdict == Verdict::Stopped) {
        text.push_str("\nstopped            interrupted before the precision was reached: what is shown was measured until then, perhaps\n\
         \x20                  while the network still filled");
    }
    text
}

/// What is about to be run.
pub(crate) fn experiment_heading(experiment: &Experiment, folder: &Path, threads: u32) -> String {
    let beside = experiment.beside(threads);
    let side = if beside > 1 { format!(", {beside} side by side") } else { String::new() };
    let title = if experiment.title.is_empty() { String::new() } else { format!(": {}", experiment.title) };
    format!(
        "{}{title}\n{}{side}; finished ones are kept in {}",
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
        let _ = write!(text, "\n{}\n{}\ndata: {}", data.plot.title, plot(data), file.display());
        let _ = writeln!(text, "; picture: {}", file.with_extension("svg").display());
    }
    if report.plots.is_empty() && report.findings.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{}", all_points(experiment, report));
    }
    if report.plots.iter().flat_map(|data| &data.series).flat_map(|series| &series.marks).any(is_doubtful) {
        text.push_str("\n*  not steady: what is shown depends on how long the point ran\n");
    }
    for (finding, sentence) in report.findings.iter().zip(experiment.sentences()) {
        let _ = match finding {
            Some(finding) => write!(text, "\n* {finding}"),
            None => write!(text, "\n* not known yet: {sentence}"),
        };
    }
    let open = report.results().iter().filter(|result| result.is_none()).count();
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
        cells.extend(numbers.iter().map(|(path, _)| of(path).map_or_else(|| "-".to_owned(), digits)));
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

/// A line for each x and a column for each line of the plot. Where x is measured no two lines share one, so that there is
/// nothing to put side by side.
fn plot(data: &PlotData) -> String {
    let names: Vec<String> = data.series.iter().map(|series| series.by.join(", ")).collect();
    let [x, y] = data.plot.columns();
    if data.plot.is_x_measured() {
        let marks = data.series.iter().map(|series| series.marks.len()).max().unwrap_or(0);
        return format!(
            "{y} over {x}, {} of {marks} marks: {}",
            plural(names.len() as u32, "line", "s"),
            names.join("; ")
        );
    }
    let height = |mark: &Mark| {
        let doubt = if is_doubtful(mark) { "*" } else { "" };
        mark.y.map_or_else(|| "-".to_owned(), |y| format!("{}{doubt}", digits(y)))
    };
    let mut places: Vec<&str> = Vec::new();
    for mark in data.series.iter().flat_map(|series| &series.marks) {
        if !places.contains(&mark.x.as_str()) {
            places.push(&mark.x);
        }
    }
    let columns = names.iter().map(|name| if name.is_empty() { y } else { name });
    let mut table = bare_table(&std::iter::once(x).chain(columns).collect::<Vec<_>>());
    for place in places {
        let cells = data
            .series
            .iter()
            .map(|series| series.marks.iter().find(|mark| mark.x == place).map_or_else(String::new, height));
        table.add_row(std::iter::once(place.to_owned()).chain(cells));
    }
    table.to_string()
}

/// A number with four significant digits, or its whole part.
fn digits(number: f64) -> String {
    let size = if number == 0.0 { 0 } else { number.abs().log10().floor() as i32 };
    format!("{number:.decimals$}", decimals = (3 - size).clamp(0, 9) as usize)
}

/// The facts of a machine.
pub(crate) fn facts(session: &Session, facts: &Facts) -> String {
    let machine = session.machine();
    let mut text = format!(
        "{}\n\n{}, {}; in each rail {} and {}\n",
        headline(machine),
        plural(facts.nodes, "node", "s"),
        plural(facts.rails, "rail", "s"),
        plural(facts.switches_per_rail, "switch", "es"),
        plural(facts.links_per_rail, "link", "s"),
    );
    let gigabits = facts.injection_bits_per_second as f64 / 1e9;
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "injection rate: {gigabits:.3} Gbit/s per NIC port, {:.3} Gbit/s per node",
        gigabits * f64::from(facts.rails)
    );
    if let Some(links) = facts.bisection_links {
        let _ = writeln!(
            text,
            "bisection: {links} links per rail, {:.1} Gbit/s each way over all rails",
            links as f64 * gigabits * f64::from(facts.rails)
        );
    }
    let diameter = facts.distances.last().map_or(0, |distance| distance.hops);
    let _ = writeln!(
        text,
        "diameter: {}; {:.3} hops in the mean between two nodes{}",
        plural(diameter, "hop", "s"),
        facts.hops_mean,
        if facts.all_pairs { "" } else { " (from a sample of sources)" }
    );
    let memory = if facts.memory_bytes < 1 << 20 {
        format!("{} KiB", facts.memory_bytes.div_ceil(1 << 10))
    } else {
        format!("{} MiB", facts.memory_bytes.div_ceil(1 << 20))
    };
    let _ = writeln!(text, "memory for switches and NIC ports without packets: about {memory}");
    let hertz = machine.clock.hertz();
    let _ = writeln!(text, "clock: {:.3} MHz, so a cycle is {:.3} ns", hertz / 1e6, 1e9 / hertz);
    let rounded = |Rounding { what, exact, cycles }: &Rounding| format!("{what} from {exact:.3} to {cycles}");
    if !facts.roundings.is_empty() {
        let all: Vec<String> = facts.roundings.iter().map(rounded).collect();
        let _ = writeln!(text, "rounded up to whole cycles: {}", all.join(", "));
    }
    text.push('\n');
    let mut table = bare_table(&["hops", "pairs %", "zero-load latency ns"]);
    for distance in &facts.distances {
        let latency = if distance.latency_min_ns == distance.latency_max_ns {
            format!("{:.1}", distance.latency_min_ns)
        } else {
            format!("{:.1} to {:.1}", distance.latency_min_ns, distance.latency_max_ns)
        };
        table.add_row([distance.hops.to_string(), format!("{:.3}", distance.share * 100.0), latency]);
    }
    let _ = write!(
        text,
        "{table}\n\nzero-load latency: creation to last flit delivered of a packet of {} B with nothing in its way",
        facts.payload_bytes
    );
    text
}

/// What a machine is called, and how large it is.
pub(crate) fn sizes_of(session: &Session) -> String {
    let fabric = session.fabric();
    format!(
        "{}: {}, {} of {}",
        session.machine().name,
        plural(fabric.nodes(), "node", "s"),
        plural(fabric.rails, "rail", "s"),
        plural(fabric.topology().switches(), "switch", "es"),
    )
}

/// The machine in a line: what its file says of it, or what is different, of which the file knows nothing.
fn headline(machine: &Machine) -> String {
    let sets = machine.effective.iter().filter(|effective| effective.origin == Origin::Set);
    let sets: Vec<String> = sets.map(|set| format!("{}={}", set.path, set.value)).collect();
    if sets.is_empty() && machine.description.is_empty() {
        machine.name.clone()
    } else if sets.is_empty() {
        format!("{}: {}", machine.name, machine.description)
    } else {
        format!("{} with {}", machine.name, sets.join(", ").replace('"', ""))
    }
}

/// The line on the `traffic` beside operations, if there is some.
pub(crate) fn beside(traffic: Option<&Beside>, written: &Written) -> String {
    let Some(Beside { loads, .. }) = traffic else { return String::new() };
    let or = |option: &str, default: &'static str| match written.text(option) {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    let (traffic, packet) = (or("traffic", TRAFFIC_DEFAULT), or("packet", PACKET_DEFAULT));
    format!("\nbeside it {traffic} traffic, {packet} packets{}", remarks::above_one(loads, true))
}

/// `1 switch`, `2 switches`.
pub(crate) fn plural(count: u32, what: &str, ending: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { ending })
}

/// What a switch costs, by the ways to build it.
pub(crate) fn costs(costs: &[Cost]) -> String {
    let mut table = bare_table(&["a switch built as", "flit-MUXs", "RAM bits", "register bits", "wires"]);
    for cost in costs {
        let counts = [cost.flit_muxes, cost.ram_bits, cost.register_bits, cost.wires];
        table.add_row(std::iter::once(cost.organisation.to_owned()).chain(counts.map(|it| it.to_string())));
    }
    let timing = match costs.iter().find(|cost| cost.is_chosen) {
        Some(chosen) if costs.len() > 1 => {
            format!("\nthis one: {}; all of them have the same timing", chosen.organisation)
        }
        _ => String::new(),
    };
    format!("Cost\n{table}{timing}")
}

/// A table whose lines end with their last letter.
pub(crate) struct Bare(Table);

impl Bare {
    pub(crate) fn add_row(&mut self, row: impl Into<comfy_table::Row>) {
        self.0.add_row(row);
    }
}

impl std::fmt::Display for Bare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut table = self.0.clone();
        if let Some(width) = layout::width() {
            let width = u16::try_from(width).unwrap_or(u16::MAX);
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
            keep_words(&mut table);
        }
        f.write_str(&table.trim_fmt())
    }
}

/// Makes each column at least as wide as its longest word, and the space around it.
fn keep_words(table: &mut Table) {
    let mut longest: Vec<usize> = Vec::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (place, cell) in row.cell_iter().enumerate() {
            let content = cell.content();
            let word = content.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0);
            longest.resize(longest.len().max(place + 1), 0);
            longest[place] = longest[place].max(word);
        }
    }
    for (column, word) in table.column_iter_mut().zip(longest) {
        let width = u16::try_from(word + 2).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
}

/// A table without lines, numbers to the right.
pub(crate) fn bare_table(heading: &[&str]) -> Bare {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(heading.iter().copied());
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Bare(table)
}
