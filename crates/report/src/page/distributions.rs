//! Latencies and nodes of one point: how slow the slow ones are, and who gets how much.

use super::operations::Kind;
use super::plot::{At, Axis, Line, Mark, Plot, Theory, log_range, zero_range};
use super::sections::{figure, for_each_point};
use super::{Page, words};
use crate::details::Details;
use crate::stages;
use flitway_fabric::Fabric;
use flitway_wiring::topology::End;
use serde_json::Value;

/// A drawing of what is known beside the result of each point.
fn for_each_details(page: &Page<'_>, draw: impl Fn(&Details, &Value) -> Option<String>) -> String {
    for_each_point(page, "Nothing was delivered.", |place, point| draw((*page.details.get(place)?)?, point))
}

/// The section.
pub(super) fn section(page: &Page<'_>) -> String {
    let drawings = for_each_details(page, |details, _| distribution_plot(details).map(|plot| plot.svg()));
    let (of, is_beside) = (Kind::of(page.points()), words::has_packets(page.points()));
    let packets =
        "packet latency from creation on, network latency from the moment the head leaves the source";
    let what = match of {
        Kind::Packets => format!("How many packets were slower than a given time: {packets}."),
        Kind::Multicasts => "How many operations took longer than a given time from their beginning, until their last copy was \
             there, and to a copy in the mean over their copies."
            .to_owned(),
        Kind::Barriers => "How many barriers took longer than a given time from the last arrival, until the last release, and \
             to a release in the mean over their members."
            .to_owned(),
    };
    let beside = if of != Kind::Packets && is_beside {
        format!(" Of packets beside them: {packets}.")
    } else {
        String::new()
    };
    let mut figures = figure(
        "fig-distribution",
        "Latency distribution",
        &format!("{what}{beside} A tenth as many are always the same step lower."),
        &drawings,
    );
    if !page.is_graph() {
        if is_beside {
            figures.push_str(&fairness(page, of));
        }
        if of == Kind::Multicasts && page.details.iter().flatten().any(|details| details.load_of.is_some()) {
            figures.push_str(&received(page));
        }
    }
    format!(
        "<section id=\"latency\"><h2>How slow, and who gets how much</h2><div class=\"pair\">{figures}</div></section>\n"
    )
}

fn distribution_plot(details: &Details) -> Option<Plot> {
    let mut lines = Vec::new();
    for (place, (name, marks)) in details.distributions.iter().enumerate() {
        let marks = marks.as_array()?;
        let mark = |mark: &Value| Some((mark[0].as_f64()?, mark[1].as_f64()?));
        let mut marks: Vec<(f64, f64)> = marks.iter().filter_map(mark).collect();
        // The slowest of all is slower than none: it stands at half of the last step.
        let last = marks.iter().rev().find(|(_, share)| *share > 0.0).map_or(0.5, |(_, share)| share / 2.0);
        marks.iter_mut().for_each(|(_, share)| *share = share.max(last));
        let line = marks.into_iter().map(|(x, y)| Mark { x, y, ..Mark::default() });
        lines.push(Line { name: (*name).to_owned(), colour: place, marks: line.collect(), has_marks: false });
    }
    let all = || lines.iter().flat_map(|line: &Line| &line.marks);
    let least = all().map(|mark| mark.y).fold(1.0, f64::min);
    let x = Axis {
        title: "latency".to_owned(),
        range: log_range(all().map(|mark| mark.x)),
        is_log: true,
        format: words::tick_time,
        names: Vec::new(),
    };
    let y = Axis {
        title: "share that is slower".to_owned(),
        range: 10_f64.powf(least.log10().floor())..1.0,
        is_log: true,
        format: words::tick_share,
        names: Vec::new(),
    };
    let label = "Share slower than a given latency, falling by decades".to_owned();
    (!lines.is_empty()).then_some(Plot { label, x, y, lines, theory: Vec::new() })
}

fn fairness(page: &Page<'_>, of: Kind) -> String {
    let drawings = for_each_details(page, |details, point| {
        let mean = point["accepted_load"].as_f64().unwrap_or(0.0);
        Some(nodes_plot(details.accepted_of.as_ref()?, "accepted load", mean).svg())
    });
    let beside = if of == Kind::Packets { "" } else { ", of packets beside them only" };
    let silent = match page.silent_nodes() {
        0 => "",
        _ => " Nodes at 0 may be silent by the pattern; the mean is that of all nodes.",
    };
    figure(
        "fig-fairness",
        &format!("Accepted load of each node{beside}"),
        &format!(
            "Flits of what each node sent that were delivered, as a fraction of its injection rate. Steps downward are nodes \
             that get less than others.{silent}"
        ),
        &drawings,
    )
}

fn received(page: &Page<'_>) -> String {
    let drawings = for_each_details(page, |details, _| {
        let all = received_of(page.fabric, details.load_of.as_ref()?);
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        Some(nodes_plot(&all, "load into the node", mean).svg())
    });
    figure(
        "fig-received",
        "What each node receives",
        "Flits of copies, and of all else that comes to the node, as a fraction of what it can receive.",
        &drawings,
    )
}

/// By node: the load of the channels into it, from that of all channels, in the mean over rails.
pub(super) fn received_of(fabric: &Fabric, load_of: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; fabric.nodes() as usize];
    for (channel, load) in stages::channels(fabric).zip(load_of) {
        if let Some(End::Node(node)) = channel.map(|channel| channel.to) {
            all[node.0 as usize] += load / f64::from(fabric.rails);
        }
    }
    all
}

fn nodes_plot(loads: &[f64], title: &str, mean: f64) -> Plot {
    let mut marks: Vec<Mark> = (0..)
        .zip(loads)
        .flat_map(|(node, &y)| {
            // A step as wide as the node's number.
            [node, node + 1].map(|x| Mark { x: f64::from(x), y, ..Mark::default() })
        })
        .collect();
    // A picture has fewer columns than a large machine has nodes.
    let step = marks.len().div_ceil(4_096).max(1);
    marks = marks.into_iter().step_by(step).collect();
    let line = Line { name: "nodes".to_owned(), colour: 0, marks, has_marks: false };
    let x = Axis {
        title: "node".to_owned(),
        range: 0.0..(loads.len() as f64),
        is_log: false,
        format: |value| format!("{value:.0}"),
        names: Vec::new(),
    };
    let y = Axis {
        title: title.to_owned(),
        range: zero_range(loads.iter().copied()),
        is_log: false,
        format: words::tick_load,
        names: Vec::new(),
    };
    let theory = vec![Theory { name: format!("mean {mean:.3}"), at: At::Y(mean) }];
    Plot { label: format!("By node: {title}"), x, y, lines: vec![line], theory }
}
