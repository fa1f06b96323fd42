//! Operations of NICs, by their size: latency, bandwidth, and where the time goes.

use super::plot::{Axis, Line, Mark, Plot, log_range};
use super::sections::{figure, tile};
use super::{Page, escape, words};
use crate::session::nic::{CollectiveKind, Stage, stage_names};
use flitway_machine::units::{self, Dimension};
use flitway_nic::host::program::Verb;
use flitway_nic::host::story::Unit;
use serde_json::Value;
use std::fmt::Write;

/// Whether the points are such operations.
pub(super) fn is(points: &[Value]) -> bool {
    points.iter().any(|point| point.get("nic").is_some())
}

/// What was measured, in words.
pub(super) fn workload(workload: &Value) -> Option<String> {
    let of = |key: &str| workload[key].as_str();
    let is = |name: &str| of("nic").is_some_and(|it| it.starts_with(name));
    let has_end = Verb::ALL.into_iter().any(|verb| verb.comes_back() && is(verb.name()));
    let is_of_many = CollectiveKind::ALL.into_iter().any(|kind| is(&format!("{}(", kind.name())));
    let alone = match () {
        () if is(&format!("{}(", Verb::Lock.name())) => "handed round",
        () if has_end || is_of_many => "one after the other",
        () => "ping-pong",
    };
    let how = of("outstanding").map_or(alone.to_owned(), |many| format!("{many} under way"));
    let processes = of("processes").filter(|many| *many != "1");
    let processes = processes.map_or(String::new(), |many| format!(", {many} processes of each node"));
    let beside = of("load").map_or(String::new(), |load| {
        format!(", beside {} traffic at load {load}", of("traffic").unwrap_or("uniform"))
    });
    let size = of("size").map_or(String::new(), |size| format!(", {size}"));
    Some(format!("NIC operation {}{size}, {how}{processes}{beside}", of("nic")?))
}

/// The sections.
pub(super) fn sections(page: &Page<'_>) -> String {
    summary(page) + &curves(page) + &stages(page)
}

/// The size of a point, as a person writes it.
fn size(point: &Value) -> String {
    units::format(point["nic"]["size_bytes"].as_u64().unwrap_or(0), Dimension::Size)
}

/// The load of the traffic beside it, if there is some.
fn load_beside(point: &Value) -> Option<String> {
    point.get("offered_load").map(|_| format!("load {}", words::load(point)))
}

/// What a point is called: its size, and the load of the traffic beside it.
pub(super) fn label(point: &Value) -> String {
    let beside = load_beside(point).map_or(String::new(), |load| format!(", {load}"));
    let what = match point["nic"]["operation"].as_str() {
        Some(name) if [CollectiveKind::Barrier.name(), Verb::Lock.name()].contains(&name) => name.to_owned(),
        _ => size(point),
    };
    format!("{what}{beside}")
}

fn mean(point: &Value) -> Option<f64> {
    point["nic"]["latency_ns"]["mean"].as_f64()
}

fn bandwidth(point: &Value) -> Option<f64> {
    point["nic"]["bandwidth_mb_per_s"].as_f64()
}

fn summary(page: &Page<'_>) -> String {
    let points = page.points();
    let mut tiles = String::new();
    if let Some((point, latency)) = points.iter().find_map(|point| Some((point, mean(point)?))) {
        tiles.push_str(&tile("Mean latency", &words::time(latency), &format!("of {}", label(point))));
    }
    let most = points.iter().filter_map(|point| Some((point, bandwidth(point)?)));
    if let Some((point, most)) = most.max_by(|a, b| a.1.total_cmp(&b.1)) {
        tiles.push_str(&tile(
            "Highest bandwidth",
            &format!("{most:.0} MB/s"),
            &format!("at {}", label(point)),
        ));
    }
    let rates = points.iter().filter_map(|point| Some((point, point["nic"]["rate_per_s"].as_f64()?)));
    if let Some((point, rate)) = rates.max_by(|a, b| a.1.total_cmp(&b.1)) {
        let text = match rate {
            rate if rate < 1e5 => format!("{:.1} thousand/s", rate / 1e3),
            rate => format!("{:.2} million/s", rate / 1e6),
        };
        tiles.push_str(&tile("Highest rate", &text, &format!("operations of {}", label(point))));
    }
    let mut rows = String::new();
    for point in points {
        let nic = &point["nic"];
        let time = |key: &str| nic["latency_ns"][key].as_f64().map_or("–".to_owned(), words::time);
        let processor = |side: &str| nic["processor_ns"][side].as_f64().map_or("–".to_owned(), words::time);
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.2}"));
        let missing = if nic["complete"] == false { " (not all were seen)" } else { "" };
        // Writing to a string does not fail.
        let _ = write!(
            rows,
            "<tr><td>{}{missing}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            label(point),
            time("mean"),
            time("p50"),
            time("p99"),
            nic["zero_load_ns"].as_f64().map_or("–".to_owned(), words::time),
            number(bandwidth(point)),
            number(nic["rate_per_s"].as_f64().map(|rate| rate / 1e6)),
            processor("sender"),
            processor("receiver"),
        );
    }
    let limits: String = points.iter().filter_map(limit).collect();
    format!(
        "<section id=\"summary\"><h2>What came out</h2><div class=\"tiles\">{tiles}</div><ul class=\"verdicts\">{limits}</ul>\
         <div class=\"scroll\">\
         <table class=\"points\"><thead><tr><th>size</th><th>mean latency</th><th>p50</th><th>p99</th><th>idle</th><th>MB/s</th>\
         <th>million/s</th><th>sender's processor</th><th>receiver's processor</th></tr></thead><tbody>{rows}</tbody></table></div>\
         <p class=\"note\">Latency: from when the caller's processor begins to post until the process that gets the data has seen \
         them; of an operation of many nodes for each process, and sender and receiver are the first node and the last; of a lock \
         until a process has it. Idle: the closed form for the first operation of an idle machine, where one packet has the data. MB/s: 10<sup>6</sup> B \
         of data a second. Processors: busy for each operation.</p></section>\n"
    )
}

/// What limits a stream, and what was lost.
fn limit(point: &Value) -> Option<String> {
    let nic = &point["nic"];
    if nic["complete"] == false {
        let counters =
            nic["counters"].as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
        let dropped = counters.filter(|(name, count)| name.ends_with("dropped") && count.as_u64() > Some(0));
        let dropped: Vec<String> = dropped.map(|(name, count)| format!("{count} {name}")).collect();
        let why = if dropped.is_empty() { "packets were lost".to_owned() } else { dropped.join(", ") };
        return Some(format!(
            "<li><strong>{}</strong>: not all were seen, {}</li>",
            label(point),
            escape(&why)
        ));
    }
    let busiest = nic.get("rate_per_s").and(nic["busy"].get(0))?;
    Some(format!(
        "<li><strong>{}</strong>: the busiest part, full {:.0} % of the time, was the {} (node {})</li>",
        label(point),
        100.0 * busiest["share"].as_f64()?,
        escape(busiest["part"].as_str()?),
        busiest["node"]
    ))
}

fn curves(page: &Page<'_>) -> String {
    if page.points().len() < 2 {
        return String::new();
    }
    let latency = ["mean", "p99"].map(|key| (key, key));
    let latency = plot(page, "latency", words::tick_time, &latency, &|point, key| {
        point["nic"]["latency_ns"][key].as_f64()
    });
    let tick = |value: f64| format!("{value}");
    // Operations of many nodes have none.
    let has_bandwidth = page.points().iter().any(|point| bandwidth(point).is_some());
    let bandwidth = has_bandwidth.then(|| {
        let plot = plot(page, "MB/s", tick, &[("bandwidth", "")], &|point, _| bandwidth(point));
        figure("fig-nic-bandwidth", "Bandwidth over size", "Data a second.", &plot.svg())
    });
    format!(
        "<section id=\"curves\"><h2>By size</h2><div class=\"pair\">{}{}</div></section>\n",
        figure("fig-nic-latency", "Latency over size", "Mean and 99th percentile.", &latency.svg()),
        bandwidth.unwrap_or_default()
    )
}

fn plot(
    page: &Page<'_>,
    title: &str,
    format: fn(f64) -> String,
    names: &[(&str, &str)],
    of: &dyn Fn(&Value, &str) -> Option<f64>,
) -> Plot {
    let mut loads: Vec<Option<String>> = page.points().iter().map(load_beside).collect();
    loads.dedup();
    let lines = loads.iter().flat_map(|load| names.iter().map(move |name| (load, name)));
    let lines: Vec<Line> = lines
        .enumerate()
        .map(|(colour, (load, (name, key)))| {
            let mark = |point: &Value| {
                let (x, y) = (point["nic"]["size_bytes"].as_f64()?, of(point, key)?);
                let tip = format!("{}: {name} {}", label(point), format(y));
                Some(Mark { x, y, ci95: None, tip, is_hollow: false })
            };
            let of_load = page.points().iter().filter(|point| load_beside(point) == *load);
            let marks = of_load.filter_map(mark).collect();
            let name = load.as_ref().map_or((*name).to_owned(), |load| format!("{name}, {load}"));
            Line { name, colour, has_marks: true, marks }
        })
        .collect();
    let axis = |title: &str, format, of: &dyn Fn(&Mark) -> f64| {
        let values: Vec<f64> = lines.iter().flat_map(|line| &line.marks).map(of).collect();
        Axis {
            title: title.to_owned(),
            range: log_range(values.into_iter()),
            is_log: true,
            format,
            names: Vec::new(),
        }
    };
    let x = axis("size", tick_size, &|mark| mark.x);
    let y = axis(title, format, &|mark| mark.y);
    Plot { label: format!("{title} over size"), x, y, lines, theory: Vec::new() }
}

/// A size on an axis.
fn tick_size(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 1e3 => format!("{bytes} B"),
        bytes if bytes < 1e6 => format!("{} kB", bytes / 1e3),
        bytes => format!("{} MB", bytes / 1e6),
    }
}

/// Whether it is known where the time went: not of operations of many nodes by the hosts.
pub(super) fn has_stages(points: &[Value]) -> bool {
    points.iter().any(|point| point["nic"]["stages"].as_array().is_some_and(|all| !all.is_empty()))
}

/// Where the time goes, if it went anywhere: a bar for each point, whose parts are in the order of the way.
fn stages(page: &Page<'_>) -> String {
    if !has_stages(page.points()) {
        return String::new();
    }
    let mut bars = String::new();
    for point in page.points() {
        let Some(all) = mean(point) else { continue };
        let mut parts = String::new();
        for stage in point["nic"]["stages"].as_array().into_iter().flatten() {
            let (place, unit, ns) = parts_of(stage);
            // Writing to a string does not fail.
            let _ = write!(
                parts,
                "<span class=\"part {place}\" style=\"width:{:.3}%;{}\" title=\"{place}: {} {ns:.1} ns\"></span>",
                ns / all * 100.0,
                shade(unit),
                escape(unit)
            );
        }
        let _ = write!(
            bars,
            "<div class=\"bar-row\"><span class=\"bar-name\">{}</span><span class=\"stack\">{parts}</span><span \
             class=\"bar-name\">{}</span></div>",
            label(point),
            words::time(all)
        );
    }
    let drawing = format!("<div class=\"stacks\">{bars}</div>{}", stage_table(page));
    let note = "Along the longest way, by place: <span class=\"key near\"></span> the caller's node, \
                <span class=\"key network\"></span> the network, <span class=\"key far\"></span> the other node. The parts of a bar \
                sum to the mean latency; each bar has a scale of its own. The table has their names, in the order of the bars.";
    format!(
        "<section id=\"where\"><h2>Where the time goes</h2>{}</section>\n",
        figure("fig-nic-stages", "Stages", note, &drawing)
    )
}

/// How bright a unit is, so that neighbours can be told apart and found in the table.
fn shade(unit: &str) -> String {
    let units = Unit::ALL.map(Unit::name).into_iter().chain(["NIC port", "links", "switches", "contention"]);
    let place = units.into_iter().position(|it| it == unit).unwrap_or(0);
    let brightness = [0.75, 1.0, 1.25, 1.5, 1.75][place % 5];
    format!("filter:brightness({brightness})")
}

/// Place, unit and time of a stage.
fn parts_of(stage: &Value) -> (&str, &str, f64) {
    let text = |key: &str| stage[key].as_str().unwrap_or("");
    (text("place"), text("unit"), stage["ns"].as_f64().unwrap_or(0.0))
}

/// The same in numbers: a row for each stage, a column for each size.
fn stage_table(page: &Page<'_>) -> String {
    let stages =
        || page.points().iter().flat_map(|point| point["nic"]["stages"].as_array().into_iter().flatten());
    let all = Stage::all()
        .map(stage_names)
        .filter(|[place, unit]| stages().map(parts_of).any(|(of, it, _)| (of, it) == (*place, *unit)));
    let heads: String = page.points().iter().map(|point| format!("<th>{}</th>", label(point))).collect();
    let mut rows = String::new();
    for [place, unit] in all {
        let cell = |point: &Value| {
            let mut stages = point["nic"]["stages"].as_array().into_iter().flatten().map(parts_of);
            stages
                .find(|it| (it.0, it.1) == (place, unit))
                .map_or("–".to_owned(), |(_, _, ns)| format!("{ns:.1}"))
        };
        let cells: String = page.points().iter().map(|point| format!("<td>{}</td>", cell(point))).collect();
        let _ = write!(
            rows,
            "<tr><td><span class=\"key {place}\" style=\"{}\"></span> {place}: {}</td>{cells}</tr>",
            shade(unit),
            escape(unit)
        );
    }
    format!(
        "<div class=\"scroll\"><table class=\"operations\"><thead><tr><th>stage, ns</th>{heads}</tr></thead><tbody>{rows}</tbody>\
         </table></div>"
    )
}
