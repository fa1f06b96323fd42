//! What broke in a run, and what came of it: how much got through in the course of time, what was lost, what the manager did.

use super::operations::{Quantity, count, load, table};
use super::plot::{At, Axis, Line, Mark, Plot, Theory, zero_range};
use super::sections::{figure, for_each_point};
use super::{Page, escape, words};
use serde_json::Value;
use std::fmt::Write;

const QUANTITIES: &[Quantity] = &[
    ("packets created", "/faults/created", count),
    ("– delivered", "/faults/delivered", count),
    ("– lost in a switch that died", "/faults/lost/in_dead_switch", count),
    ("– lost for a link that is down", "/faults/lost/link_down", count),
    ("– lost on a link that went down", "/faults/lost/unacknowledged", count),
    ("– lost without a route", "/faults/lost/no_route", count),
    ("– lost as NIC ports refused them", "/faults/lost/refused", count),
    ("pairs of nodes that lost packets", "/faults/pairs", count),
    ("– the longest, from its first loss to its last", "/faults/longest_ns", words::time),
    ("packets and acknowledgements that links corrupted, and noticed", "/link_errors/corrupted", count),
    ("packets that links sent again", "/link_errors/repeated", count),
    ("time-outs of links", "/link_errors/timeouts", count),
    ("packets that NIC ports refused because they were full", "/link_errors/refused", count),
    ("packets delivered corrupt: no check of a link showed it", "/link_errors/undetected", count),
    ("first fault at", "/faults/broken_ns", words::time),
    ("the last change that came of faults at", "/faults/changed_ns", words::time),
    ("nothing of them changed or was lost after", "/faults/settled_ns", words::time),
    ("– after the first fault", "/faults/recovery_ns", words::time),
    ("what had not broken by the end was to from", "/faults/next_ns", words::time),
    ("rules that found nothing to corrupt", "/faults/unmatched", count),
    ("load delivered before them", "/faults/accepted_before", load),
    ("load delivered from then to that, or to the end", "/faults/accepted_during", load),
    ("load delivered after", "/faults/accepted_after", load),
];

/// What the section is called, if there is one.
pub(super) fn name(points: &[Value]) -> Option<&'static str> {
    let has = |key: &str| points.iter().any(|point| point.get(key).is_some());
    if has("faults") { Some("Faults") } else { has("links").then_some("Errors of links") }
}

/// The section; nothing for runs in which nothing could break and links made up for nothing.
pub(super) fn section(page: &Page<'_>) -> String {
    let points = page.points();
    let Some(name) = name(points) else { return String::new() };
    let links = for_each_point(page, "Links have counted no errors.", |_, point| {
        links(point.pointer("/faults/links").or(point.get("links"))?)
    });
    let links = figure(
        "fig-faults-links",
        "Channels with the most errors",
        "CRC errors are counted where packets and acknowledgements come, the rest where they are sent.",
        &links,
    );
    let quantities = table(points, QUANTITIES);
    let explained =
        for_each_point(page, "Nothing went wrong.", |_, point| explained(&point["faults"]["explained"]));
    if points.iter().all(|point| point.get("faults").is_none()) {
        return format!("<section id=\"faults\"><h2>{name}</h2>{quantities}{links}</section>\n");
    }
    let plots = |nothing, draw: fn(&Value) -> Option<Plot>| {
        for_each_point(page, nothing, |_, point| Some(draw(&point["faults"])?.svg()))
    };
    let log = for_each_point(page, "The manager has noted nothing, and no node was stalled.", |_, point| {
        log(&point["faults"]["log"])
    });
    format!(
        "<section id=\"faults\"><h2>{name}</h2>{quantities}{explained}<div class=\"pair\">{}{}</div>{links}{}</section>\n",
        figure(
            "fig-faults-load",
            "Load created and delivered in the course of time",
            "Flits a bin, as a fraction of the injection rate. Dashed: the first fault, and the last change that came of it.",
            &plots("The run is shorter than a bin.", load_plot)
        ),
        figure(
            "fig-faults-lost",
            "Packets lost in the course of time",
            "Packets that nothing brings back, by the time at which they were lost.",
            &plots("No packet was lost.", lost_plot)
        ),
        figure(
            "fig-faults-log",
            "What the manager read and did, and nodes that were stalled",
            "It reads the states of all links every so often; new tables count once they are written.",
            &log
        )
    )
}

/// The marks of `bins` as steps: a value at the beginning of its bin and at its end.
fn steps(bins: &Value, bin_ns: f64) -> Vec<Mark> {
    let values = bins.as_array().into_iter().flatten().filter_map(Value::as_f64);
    let edges =
        (0..).zip(values).flat_map(|(bin, y)| [bin, bin + 1].map(|edge| (f64::from(edge) * bin_ns, y)));
    edges.map(|(x, y)| Mark { x, y, ..Mark::default() }).collect()
}

/// Lines over time, with the dates of `faults`.
fn plot(
    faults: &Value,
    label: &str,
    title: &str,
    named: &[(&str, &str)],
    format: fn(f64) -> String,
) -> Option<Plot> {
    let series = &faults["series"];
    let bin_ns = series["bin_ns"].as_f64()?;
    let line = |(colour, &(name, key)): (usize, &(&str, &str))| Line {
        name: name.to_owned(),
        colour,
        marks: steps(&series[key], bin_ns),
        has_marks: false,
    };
    let lines: Vec<Line> = named.iter().enumerate().map(line).collect();
    let marks = || lines.iter().flat_map(|line| &line.marks);
    let end = marks().map(|mark| mark.x).fold(0.0, f64::max);
    if end == 0.0 {
        return None;
    }
    let y = Axis {
        title: title.to_owned(),
        range: zero_range(marks().map(|mark| mark.y)),
        is_log: false,
        format,
        names: Vec::new(),
    };
    let x = Axis {
        title: "time".to_owned(),
        range: 0.0..end,
        is_log: false,
        format: words::tick_time,
        names: Vec::new(),
    };
    let date =
        |(name, key): (&str, &str)| Some(Theory { name: name.to_owned(), at: At::X(faults[key].as_f64()?) });
    let theory =
        [("first fault", "broken_ns"), ("last change", "changed_ns")].into_iter().filter_map(date).collect();
    Some(Plot { label: label.to_owned(), x, y, lines, theory })
}

fn load_plot(faults: &Value) -> Option<Plot> {
    let lines = [("delivered", "accepted"), ("created", "created")];
    plot(faults, "Load created and delivered over time", "load", &lines, words::tick_load)
}

fn lost_plot(faults: &Value) -> Option<Plot> {
    if faults["pairs"] == 0 {
        return None;
    }
    plot(faults, "Packets lost over time", "packets lost a bin", &[("lost", "lost")], |value| {
        format!("{value:.0}")
    })
}

/// What explains most of what went wrong.
fn explained(explained: &Value) -> Option<String> {
    let (what, share) = (explained["what"].as_str()?, explained["share"].as_f64()?);
    let what = escape(what);
    Some(format!(
        "<p class=\"note\">{:.0} % of CRC errors, losses and links down: {what}.</p>",
        100.0 * share
    ))
}

/// What channels have counted of errors, a line for each.
fn links(links: &Value) -> Option<String> {
    let mut rows = String::new();
    for link in links.as_array()? {
        let name = escape(link["link"].as_str().unwrap_or(""));
        let [crc_errors, repeated, timeouts, refused] = ["crc_errors", "repeated", "timeouts", "refused"]
            .map(|key| count(link[key].as_f64().unwrap_or(0.0)));
        // Writing to a string does not fail.
        let _ = write!(
            rows,
            "<tr><td>{name}</td><td>{crc_errors}</td><td>{repeated}</td><td>{timeouts}</td><td>{refused}</td></tr>"
        );
    }
    Some(format!(
        "<div class=\"scroll log\"><table class=\"points\"><thead><tr><th>channel</th><th>CRC errors</th>\
         <th>packets sent again</th><th>time-outs</th><th>refused by the node</th></tr></thead><tbody>{rows}</tbody></table></div>"
    ))
}

/// The log of the manager, a line for each note.
fn log(notes: &Value) -> Option<String> {
    let notes = notes.as_array().filter(|notes| !notes.is_empty())?;
    let mut rows = String::new();
    for note in notes {
        let time = |key: &str| words::time(note[key].as_f64().unwrap_or(0.0));
        let text = |key: &str| escape(note[key].as_str().unwrap_or(""));
        // Writing to a string does not fail.
        let _ = write!(
            rows,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            time("at_ns"),
            text("place"),
            text("text"),
            time("since_ns")
        );
    }
    Some(format!(
        "<div class=\"scroll log\"><table class=\"points\"><thead><tr><th>read, or stalled, at</th><th>where</th><th>what</th>\
         <th>since, or from then on</th></tr></thead><tbody>{rows}</tbody></table></div>"
    ))
}
