//! Latency and accepted load of all points over the load that is offered, with what theory says of them.

use super::operations::Kind;
use super::plot::{At, Axis, Line, Mark, Plot, Theory, log_range, zero_range};
use super::sections::{figure, latency, zero_load_of_operations};
use super::{Page, words};
use crate::shown;
use serde_json::Value;

/// The section.
pub(super) fn section(page: &Page<'_>) -> String {
    let of = Kind::of(page.points()).curve();
    let (latency_note, latency_drawing) = if page.points().iter().any(words::has_latency) {
        let note = format!("{of} The band is the 95 % interval of the mean; dashed is theory.");
        (note, latency_plot(page).svg())
    } else {
        (of.to_owned(), "<p class=\"note\">No point is steady, so there is no curve to draw.</p>".to_owned())
    };
    format!(
        "<section id=\"curves\"><h2>Load and latency</h2><div class=\"pair\">{}{}</div></section>\n",
        figure("fig-latency", "Latency over offered load", &latency_note, &latency_drawing),
        figure(
            "fig-accepted",
            "Accepted over offered load",
            &accepted_note(page),
            &accepted_plot(page).svg()
        )
    )
}

fn accepted_note(page: &Page<'_>) -> String {
    let part = page.sending_part();
    if part == 1.0 {
        return "On the dashed diagonal everything that is offered gets through. Hollow: not steady."
            .to_owned();
    }
    format!(
        "On the dashed line everything that is offered gets through: {part:.3} of the load of a sending node, since the others are \
         silent. The worst and the best node are of those that send. Hollow: not steady."
    )
}

/// What theory says of offered loads, as far as `x` reaches.
fn bounds(page: &Page<'_>) -> Vec<Theory> {
    let Some(theory) = page.theory else { return Vec::new() };
    let bound = |name: &str, at| Theory { name: name.to_owned(), at: At::X(at) };
    let mut bounds = vec![bound("channel bound", theory.channel_bound)];
    // Where one channel is full before, the bisection stands beside it; else they are one line.
    let bisection = theory.bisection_bound.filter(|&at| at > theory.channel_bound * 1.01 && at <= 1.0);
    bounds.extend(bisection.map(|at| bound("bisection bound", at)));
    bounds.extend(theory.head_of_line.map(|limit| bound("head-of-line limit", limit)));
    bounds
}

fn load_axis(page: &Page<'_>, title: &str) -> Axis {
    let most = page.points().iter().map(words::offered).fold(0.1, f64::max);
    let bound = page.theory.map_or(0.0, |theory| theory.channel_bound.min(1.0));
    let end = if bound <= most * 1.6 { most.max(bound) } else { most };
    Axis {
        title: title.to_owned(),
        range: 0.0..end * 1.02,
        is_log: false,
        format: words::tick_load,
        names: Vec::new(),
    }
}

fn latency_plot(page: &Page<'_>) -> Plot {
    let steady: Vec<&Value> = page.points().iter().filter(|point| words::has_latency(point)).collect();
    let line = |name: &str, key: &str, colour: usize| Line {
        name: name.to_owned(),
        colour,
        has_marks: true,
        marks: steady
            .iter()
            .filter_map(|point| {
                let y = latency(point, key)?;
                let ci95 = if key == "mean" { latency(point, "ci95") } else { None };
                let half = ci95.map_or(String::new(), |half| format!(" ± {}", words::time(half)));
                let x = words::offered(point);
                let tip = format!("load {}: {name} {}{half}", words::load(point), words::time(y));
                Some(Mark { x, y, ci95, tip, is_hollow: false })
            })
            .collect(),
    };
    let lines =
        vec![line("mean", "mean", 0), line("p50", "p50", 1), line("p99", "p99", 2), line("p99.9", "p999", 3)];
    let zero_load = page.points().first().and_then(zero_load_of_operations).or_else(|| page.theory_ns());
    let values = lines.iter().flat_map(|line| &line.marks).map(|mark| mark.y).chain(zero_load);
    let y = Axis {
        title: "latency".to_owned(),
        range: log_range(values.collect::<Vec<_>>().into_iter()),
        is_log: true,
        format: words::tick_time,
        names: Vec::new(),
    };
    let mut theory = bounds(page);
    theory.extend(zero_load.map(|at| Theory { name: "zero load".to_owned(), at: At::Y(at) }));
    let label = "Latency over offered load: mean and percentiles, with theory".to_owned();
    Plot { label, x: load_axis(page, "offered load"), y, lines, theory }
}

fn accepted_plot(page: &Page<'_>) -> Plot {
    let points = page.points();
    let line = |name: &str, colour: usize, has_marks: bool, of: &dyn Fn(usize, &Value) -> Option<f64>| Line {
        name: name.to_owned(),
        colour,
        has_marks,
        marks: points
            .iter()
            .enumerate()
            .filter_map(|(place, point)| {
                let (x, y) = (words::offered(point), of(place, point)?);
                let ci95 = if has_marks { point["accepted_load_ci95"].as_f64() } else { None };
                let is_steady = point["verdict"] == "steady";
                let word = if is_steady { "" } else { point["verdict"].as_str().unwrap_or("") };
                let tip = format!("load {}: {name} {} {word}", words::load(point), shown::load(y, 4));
                Some(Mark { x, y, ci95, tip, is_hollow: !is_steady })
            })
            .collect(),
    };
    let mut lines = vec![line("accepted", 0, true, &|_, point| Some(words::accepted(point)))];
    if points.iter().all(|point| point.get("multicast").is_none()) {
        let worst = |place: usize| page.details.get(place)?.as_ref()?.accepted_min_sender();
        lines.push(line("worst node", 2, false, &|place, _| worst(place)));
        lines.push(line("best node", 1, false, &|_, point| point["accepted_max_node"].as_f64()));
    }
    let values = lines.iter().flat_map(|line| &line.marks).map(|mark| mark.y);
    let x = load_axis(page, "offered load");
    let range = zero_range(values.collect::<Vec<_>>().into_iter());
    let mut theory = bounds(page);
    let slope = page.sending_part();
    let until = x.range.end.min(range.end / slope);
    theory.push(Theory { name: "all".to_owned(), at: At::Rising { slope, until } });
    let y = Axis {
        title: "accepted load".to_owned(),
        range,
        is_log: false,
        format: words::tick_load,
        names: Vec::new(),
    };
    Plot { label: "Accepted over offered load".to_owned(), x, y, lines, theory }
}
