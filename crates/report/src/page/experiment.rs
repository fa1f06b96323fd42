//! The page of an experiment: its findings, its plots with their data, its file.

use super::plot::{Axis, Line, Mark, Plot, log_range, zero_range};
use super::{COLOURS, CURVES, document, escape, words};
use serde_json::Value;
use std::fmt::Write;

const SCRIPT: &str = include_str!("experiment.js");

/// From this ratio of largest to least on, an axis counts in factors.
const FACTORS: f64 = 20.0;

/// The page of `experiment`, the object `flitway/experiment/1`.
#[must_use]
pub fn html(experiment: &Value) -> String {
    let of = |key: &str| experiment["experiment"][key].as_str().unwrap_or("");
    let points = experiment["points"].as_array().map_or(&[][..], Vec::as_slice);
    let done = points.iter().filter(|point| point.get("result").is_some()).count();
    let plots = experiment["plots"].as_array().map_or(&[][..], Vec::as_slice);
    let figures: String = plots.iter().map(figure).collect();
    let body = format!(
        "<header><div class=\"bar\"><nav aria-label=\"Sections\"><a href=\"#findings\">Findings</a><a href=\"#plots\">Plots</a>\
         <a href=\"#file\">File</a></nav><button id=\"theme\" type=\"button\" aria-label=\"Switch between light and dark\">◐</button>\
         </div><div class=\"title\"><h1>{}</h1><p class=\"what\">{}</p><p class=\"command\"><code id=\"command\">{}</code>\
         <button id=\"copy\" type=\"button\">Copy</button></p><p class=\"meta\">Flitway {}; {done} of {} points. The same \
         command gives the same numbers on every computer.</p></div></header>\n<main>\
         <section id=\"findings\"><h2>Findings</h2>{}</section>\n<section id=\"plots\"><h2>Plots</h2>\
         <div class=\"pair\">{figures}</div></section>\n<section id=\"file\"><h2>The experiment</h2><details><summary>The file\
         </summary><div class=\"scroll\"><pre>{}</pre></div></details></section></main>\n<footer>Made by Flitway. Everything \
         on this page is in this one file: the experiment as JSON, with the result and the machine of every point. Hollow \
         marks are of points that are not steady; bands are 95 % intervals.</footer>\n\
         <div id=\"tip\" role=\"status\" hidden></div>",
        escape(of("name")),
        escape(of("title")),
        escape(&words::command(experiment)),
        escape(experiment["flitway"].as_str().unwrap_or("")),
        points.len(),
        findings(experiment),
        escape(of("text")),
    );
    document(&format!("{} · Flitway", of("name")), &body, &[("result", experiment)], SCRIPT)
}

/// A picture of each plot of `experiment`, by the name of the plot: an SVG file that needs nothing else.
pub fn pictures(experiment: &Value) -> impl Iterator<Item = (&str, String)> {
    let plots = experiment["plots"].as_array().map_or(&[][..], Vec::as_slice);
    plots.iter().map(|plot| {
        let series = plot["series"].as_array().map_or(&[][..], Vec::as_slice);
        (plot["name"].as_str().unwrap_or(""), drawing(plot, series).file(&format!("{COLOURS}{CURVES}")))
    })
}

fn findings(experiment: &Value) -> String {
    let mut items = String::new();
    for finding in experiment["findings"].as_array().into_iter().flatten() {
        let text = finding["text"].as_str().unwrap_or("Not all of its points have been run.");
        // Writing to a string does not fail.
        let _ = write!(items, "<li class=\"verdict steady\"><span>{}</span></li>", escape(text));
    }
    format!("<ul class=\"verdicts\">{items}</ul>")
}

/// A mark of a plot.
struct Found<'a> {
    x: &'a Value,
    y: f64,
    ci95: Option<f64>,
    verdict: &'a str,
}

fn marks(series: &Value) -> Vec<Found<'_>> {
    let mark = |mark: &'_ Value| -> Option<f64> { mark["y"].as_f64() };
    let found = series["marks"].as_array().map_or(&[][..], Vec::as_slice);
    found
        .iter()
        .filter_map(|one| {
            let verdict = one["verdict"].as_str().unwrap_or("");
            Some(Found { x: &one["x"], y: mark(one)?, ci95: one["ci95"].as_f64(), verdict })
        })
        .collect()
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What tells the line of `series` from others.
fn name(series: &Value) -> String {
    let of = |(key, value): (&String, &Value)| {
        // A word says what it is of; a number, a size or a truth does not.
        let is_word = value
            .as_str()
            .is_some_and(|text| text.starts_with(char::is_alphabetic) && text.parse::<bool>().is_err());
        let short = key.rsplit('.').next().unwrap_or(key);
        if is_word { shown(value) } else { format!("{short} {}", shown(value)) }
    };
    let by = series["by"].as_object();
    by.map_or_else(String::new, |by| by.iter().map(of).collect::<Vec<_>>().join(", "))
}

fn figure(plot: &Value) -> String {
    let of = |key: &str| plot[key].as_str().unwrap_or("");
    let series = plot["series"].as_array().map_or(&[][..], Vec::as_slice);
    let by: Vec<&str> = plot["by"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let note = if by.is_empty() { String::new() } else { format!("A line for each {}.", by.join(", ")) };
    format!(
        "<figure id=\"fig-{0}\" data-figure=\"fig-{0}\"><figcaption><a class=\"anchor\" href=\"#fig-{0}\" \
         aria-label=\"Link to this figure\">#</a><strong>{1}</strong> <span>{2}</span></figcaption>\
         <div class=\"drawing\">{3}</div><div class=\"tools\"><details class=\"data\"><summary>Data</summary>\
         <div class=\"scroll\">{4}</div></details><button type=\"button\" class=\"csv\">CSV</button></div></figure>\n",
        escape(of("name")),
        escape(of("title")),
        escape(&note),
        drawing(plot, series).svg(),
        table(plot, &by, series)
    )
}

fn drawing(plot: &Value, series: &[Value]) -> Plot {
    let of = |axis: &str, key: &str| plot[axis][key].as_str().unwrap_or("").to_owned();
    let all: Vec<(usize, &Value, Found<'_>)> = (0..)
        .zip(series)
        .flat_map(|(place, one)| marks(one).into_iter().map(move |mark| (place, one, mark)))
        .collect();
    let mut names: Vec<String> = Vec::new();
    if all.iter().any(|(_, _, mark)| mark.x.as_f64().is_none()) {
        for (_, _, mark) in &all {
            let name = shown(mark.x);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let x_of = |value: &Value| match names.iter().position(|name| *name == shown(value)) {
        Some(place) => place as f64,
        None => value.as_f64().unwrap_or(0.0),
    };
    let (x_name, y_name) = (of("x", "name"), of("y", "name"));
    let lines = (0..).zip(series).map(|(place, one)| Line {
        name: name(one),
        colour: place,
        has_marks: true,
        marks: all
            .iter()
            .filter(|(of, ..)| *of == place)
            .map(|(_, series, mark)| Mark {
                x: x_of(mark.x),
                y: mark.y,
                ci95: mark.ci95,
                tip: format!(
                    "{} {x_name} {}: {y_name} {:.5} {}",
                    name(series),
                    shown(mark.x),
                    mark.y,
                    mark.verdict
                ),
                is_hollow: !["steady", ""].contains(&mark.verdict),
            })
            .collect(),
    });
    let lines: Vec<Line> = lines.collect();
    let values =
        |pick: fn(&Mark) -> f64| lines.iter().flat_map(|line| &line.marks).map(pick).collect::<Vec<_>>();
    let x = axis(of("x", "title"), values(|mark| mark.x), names.clone());
    let y = axis(of("y", "title"), values(|mark| mark.y), Vec::new());
    Plot { label: plot["title"].as_str().unwrap_or("").to_owned(), x, y, lines, theory: Vec::new() }
}

fn axis(title: String, values: Vec<f64>, names: Vec<String>) -> Axis {
    let positive = values.iter().copied().filter(|value| *value > 0.0);
    let (least, most) = positive.fold((f64::INFINITY, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
    let is_log = names.is_empty() && most > FACTORS * least && values.iter().all(|value| *value > 0.0);
    let range = match names.len() {
        0 if is_log => log_range(values.into_iter()),
        0 => zero_range(values.into_iter()),
        count => -0.5..count as f64 - 0.5,
    };
    Axis { title, range, is_log, format: tick, names }
}

/// A number with as many digits as it needs.
fn tick(value: f64) -> String {
    if value.abs() < 1e5 {
        return format!("{}", (value * 1e6).round() / 1e6);
    }
    let text = format!("{value:.2e}");
    // The zeros that say nothing are left out: 2.50e6.
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

fn table(plot: &Value, by: &[&str], series: &[Value]) -> String {
    let names = [plot["x"]["name"].as_str().unwrap_or(""), plot["y"]["name"].as_str().unwrap_or("")];
    let heads = by.iter().copied().chain(names).chain(["ci95", "verdict"]);
    let heads: String = heads.map(|head| format!("<th>{}</th>", escape(head))).collect();
    let mut rows = String::new();
    for one in series {
        let labels = one["by"].as_object().into_iter().flat_map(|by| by.values().map(shown));
        let labels: String = labels.map(|label| format!("<td>{}</td>", escape(&label))).collect();
        for mark in marks(one) {
            let number = |value: f64| format!("<td data-value=\"{value}\">{value:.6}</td>");
            // Writing to a string does not fail.
            let _ = write!(
                rows,
                "<tr>{labels}<td>{}</td>{}{}<td>{}</td></tr>",
                escape(&shown(mark.x)),
                number(mark.y),
                mark.ci95.map_or("<td></td>".to_owned(), number),
                escape(mark.verdict)
            );
        }
    }
    format!("<table><tr>{heads}</tr>{rows}</table>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_the_digits_that_tell_them_apart() {
        let ticks = [0.25, 5.0, 99_999.0, 100_000.0, 2_500_000.0, 1.25e7, -3e5, 0.1 + 0.2].map(tick);
        assert_eq!(ticks, ["0.25", "5", "99999", "1e5", "2.5e6", "1.25e7", "-3e5", "0.3"]);
    }
}
