//! The sections of a page, in the order in which they are read: what came out, the curves, then one point in detail.

use super::operations::Kind;
use super::parts::ByParts;
use super::picture::Drawing;
use super::{Page, curves, distributions, escape, faults, nic, operations, words};
use crate::shown;
use serde_json::Value;
use std::fmt::Write;

/// How the fabric is drawn.
pub(super) enum Picture<'a> {
    /// Every channel.
    Channels(Drawing),
    /// Its parts.
    Parts(&'a ByParts),
}

/// What every page ends with.
const FOOTER: &str = "</main>\n<footer>Made by Flitway. Everything on this page is in this one file: the result as JSON (the same \
                      that <code>--json</code> writes), the data of every figure, the machine. What the words mean stands beside \
                      them; times are simulated.</footer>\n<div id=\"tip\" role=\"status\" hidden></div>";

/// The body of the page, with the `picture` of the fabric, if there is one.
pub(super) fn body(page: &Page<'_>, picture: Option<Picture<'_>>) -> String {
    let mut html = header(page);
    html.push_str("<main>\n");
    if nic::is(page.points()) {
        // It is about two nodes: of channels and other nodes there is nothing to say.
        let mut faults = faults::section(page);
        if !faults.is_empty() {
            faults.insert_str(0, &chosen_point(page));
        }
        return html + &nic::sections(page) + &faults + &machine(page) + FOOTER;
    }
    if page.is_graph() {
        html.push_str(&graph_summary(page));
        html.push_str(&operations::section(page));
    } else {
        html.push_str(&summary(page));
        html.push_str(&operations::section(page));
        html.push_str(&curves::section(page));
    }
    html.push_str(&chosen_point(page));
    html.push_str(&faults::section(page));
    if !page.is_graph() {
        html.push_str(&stages());
    }
    html.push_str(&fabric(page, picture));
    html.push_str(&distributions::section(page));
    html.push_str(&slowest());
    html.push_str(&machine(page));
    html.push_str(FOOTER);
    html
}

fn workload(page: &Page<'_>) -> String {
    if let Some(text) = nic::workload(&page.result["workload"]) {
        return text;
    }
    let of = |key: &str| match &page.result["workload"][key] {
        Value::String(text) => Some(text.clone()),
        // Of an option that was given several times.
        Value::Array(texts) => Some(texts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")),
        _ => None,
    };
    let traffic = || {
        let packet = of("packet").unwrap_or_else(|| "256B".to_owned());
        format!("{} traffic, {packet} packets", of("traffic").unwrap_or_else(|| "uniform".to_owned()))
    };
    let by = |part: &str| of("by").or_else(|| of(part)).unwrap_or_default();
    let multicast = of("multicast").map(|multicast| {
        let packet = of("multicast_packet").unwrap_or_default();
        format!("multicast {multicast}, {packet}, by {}", by("multicast_by"))
    });
    let barrier = of("barrier").map(|barrier| {
        format!("barrier {barrier} every {}, by {}", of("interval").unwrap_or_default(), by("barrier_by"))
    });
    let beside = || if of("load").is_some() { format!(" beside {}", traffic()) } else { String::new() };
    if let Some(graph) = of("graph") {
        let placement = of("placement").unwrap_or_default();
        let several = if page.result["workload"]["graph"].is_array() { "s" } else { "" };
        let train = of("train")
            .map(|train| format!("a train of {} packets, {train}", of("count").unwrap_or_default()));
        let others: Vec<String> = multicast.into_iter().chain(barrier).chain(train).collect();
        let others = if others.is_empty() { String::new() } else { format!(", with {}", others.join("; ")) };
        return format!("Task graph{several} {graph}, placement {placement}{others}{}", beside());
    }
    let parts: Vec<String> = multicast.into_iter().chain(barrier).collect();
    if parts.is_empty() {
        return format!("{}, {} arrivals", traffic(), of("arrival").unwrap_or_default());
    }
    let mut text = parts.join(", and ");
    text[..1].make_ascii_uppercase();
    text + &beside()
}

fn header(page: &Page<'_>) -> String {
    let command = words::command(page.result);
    let sections: &[(&str, &str)] = if nic::is(page.points()) {
        &[("summary", "Summary"), ("where", "Where the time goes"), ("machine", "Machine")]
    } else if page.is_graph() {
        &[
            ("summary", "Summary"),
            ("fabric", "Fabric"),
            ("latency", "Latency and nodes"),
            ("slowest", "Slowest"),
            ("machine", "Machine"),
        ]
    } else {
        &[
            ("summary", "Summary"),
            ("curves", "Curves"),
            ("stages", "Limits"),
            ("fabric", "Fabric"),
            ("latency", "Latency and nodes"),
            ("slowest", "Slowest"),
            ("machine", "Machine"),
        ]
    };
    let mut links = String::new();
    let mut sections = sections.to_vec();
    sections.retain(|(id, _)| *id != "where" || nic::has_stages(page.points()));
    if let Some(name) = operations::name(page.points()) {
        sections.insert(1, ("operations", name));
    }
    if let Some(name) = faults::name(page.points()) {
        let after =
            sections.iter().position(|(id, _)| ["stages", "fabric", "machine"].contains(id)).unwrap_or(1);
        sections.insert(after, ("faults", name));
    }
    for (id, name) in sections {
        // Writing to a string does not fail.
        let _ = write!(links, "<a href=\"#{id}\">{name}</a>");
    }
    format!(
        "<header><div class=\"bar\"><nav aria-label=\"Sections\">{links}</nav>\
         <button id=\"theme\" type=\"button\" aria-label=\"Switch between light and dark\">◐</button></div>\
         <div class=\"title\"><h1>{}</h1><p class=\"what\">{}</p>\
         <p class=\"command\"><code id=\"command\">{}</code><button id=\"copy\" type=\"button\">Copy</button></p>\
         <p class=\"meta\">Flitway {}, seed {}. The same command gives the same numbers on every computer.</p></div></header>\n",
        escape(page.machine()),
        escape(&workload(page)),
        escape(&command),
        escape(page.result["flitway"].as_str().unwrap_or("")),
        page.result["seed"],
    )
}

pub(super) fn tile(name: &str, value: &str, note: &str) -> String {
    format!(
        "<div class=\"tile\"><span class=\"name\">{}</span><span class=\"value\">{}</span><span class=\"note\">{}</span></div>",
        escape(name),
        escape(value),
        escape(note)
    )
}

fn size_tile(page: &Page<'_>) -> String {
    let topology = page.fabric.topology();
    let rails =
        if page.fabric.rails == 1 { "one rail".to_owned() } else { format!("{} rails", page.fabric.rails) };
    let switches = topology.switches();
    let note = format!(
        "{rails} of {} switch{}",
        words::count(switches.into()),
        if switches == 1 { "" } else { "es" }
    );
    tile("Nodes", &words::count(topology.nodes().into()), &note)
}

fn summary(page: &Page<'_>) -> String {
    let points = page.points();
    let is_steady = |point: &&Value| point["verdict"] == "steady";
    let mut tiles = size_tile(page);
    let of = Kind::of(points);
    let has_load = points.iter().any(|point| words::offered(point) > 0.0);
    let best = points
        .iter()
        .filter(is_steady)
        .filter(|_| has_load)
        .max_by(|a, b| words::offered(a).total_cmp(&words::offered(b)));
    if let Some(best) = best {
        let note = format!("{:.1} % of {} is delivered", words::accepted(best) * 100.0, words::rate(best));
        tiles.push_str(&tile("Highest load that is steady", &words::load(best), &note));
    }
    let saturated = points.iter().filter(|point| point["saturated"] == true);
    if let Some(first) = saturated.min_by(|a, b| words::offered(a).total_cmp(&words::offered(b))) {
        let limit = first["limit_link"].as_str().or_else(|| first["limit"].as_str());
        let limit = limit.map_or(String::new(), |limit| format!("limited by {limit}"));
        tiles.push_str(&tile("Saturated from load", &words::load(first), &limit));
    }
    if let Some(nanos) = page.theory_ns().filter(|_| of == Kind::Packets) {
        tiles.push_str(&tile("Zero-load latency", &words::time(nanos), "theory: nothing in the way"));
    }
    if let Some(nanos) = points.first().and_then(zero_load_of_operations) {
        tiles.push_str(&tile("Zero-load latency", &words::time(nanos), of.zero_load()));
    }
    tiles.push_str(&mean_tile(points));
    if let Some(theory) = page.theory {
        let note = if theory.selects {
            "theory: then the busiest channel of a node is full"
        } else {
            "theory: then the busiest channel is full"
        };
        tiles.push_str(&tile("Channel bound", &format!("{:.3}", theory.channel_bound), note));
        if let Some(bound) = theory.bisection_bound.filter(|bound| bound.is_finite()) {
            let note = "theory: then the links between halves are full";
            tiles.push_str(&tile("Bisection bound", &format!("{bound:.3}"), note));
        }
    }
    format!(
        "<section id=\"summary\"><h2>What came out</h2><div class=\"tiles\">{tiles}</div>{}\
         <ul class=\"verdicts\">{}</ul>{}{}{}</section>\n",
        silence(page),
        verdicts(points),
        deadlock(points),
        point_table(points),
        reordered(points)
    )
}

/// The mean latency of the first point that has one.
fn mean_tile(points: &[Value]) -> String {
    let name = Kind::of(points).mean();
    let mut known = points.iter().filter(|point| words::has_latency(point)).peekable();
    if known.peek().is_none() {
        return tile(name, "–", "unknown: no point is steady");
    }
    let has_load = points.iter().any(|point| words::offered(point) > 0.0);
    let with_mean = known.find_map(|point| Some((point, latency(point, "mean")?)));
    with_mean.map_or_else(String::new, |(point, mean)| {
        let at = if has_load { format!(" at load {}", words::load(point)) } else { String::new() };
        tile(name, &words::time(mean), &format!("measured{at}"))
    })
}

/// What loads mean where nodes are silent.
fn silence(page: &Page<'_>) -> String {
    let part = page.sending_part();
    if part == 1.0 {
        return String::new();
    }
    format!(
        "<p class=\"note\" id=\"silent\">{} of {} nodes are silent, since the pattern sends them to nobody else. Offered load \
         is per sending node, accepted load per node, and so up to {part:.3} of it.</p>",
        words::count(page.silent_nodes() as u64),
        words::count(page.fabric.nodes().into()),
    )
}

/// What became of the points, in words; those of which the same is to be said stand together.
fn verdicts(points: &[Value]) -> String {
    let said = |place: usize| ["verdict", "limit", "limit_link", "unsettled"].map(|key| &points[place][key]);
    let mut html = String::new();
    let mut first = 0;
    while first < points.len() {
        let same = (first..points.len()).take_while(|&place| said(place) == said(first));
        let last = same.last().unwrap_or(first);
        let loads = words::span(points[first..=last].iter().map(words::offered), |load| shown::load(load, 3));
        let name = format!("{} {loads}", if first == last { "load" } else { "loads" });
        // Writing to a string does not fail.
        let _ = write!(
            html,
            "<li class=\"verdict {}\"><button type=\"button\" data-point=\"{last}\">{name}</button> <span>{}</span></li>",
            points[first]["verdict"].as_str().unwrap_or(""),
            escape(&words::verdict(&points[first..=last]))
        );
        first = last + 1;
    }
    html
}

/// The ring of a deadlock, if there is one.
fn deadlock(points: &[Value]) -> String {
    let Some(ring) = points.iter().find_map(|point| point["deadlock"].as_array()) else {
        return String::new();
    };
    let mut rows = String::new();
    for packet in ring {
        // Writing to a string does not fail.
        let _ = write!(rows, "<li>{}</li>", escape(packet["text"].as_str().unwrap_or("")));
    }
    format!(
        "<div class=\"note bad\" id=\"ring\"><h3>The ring</h3><p>Each of these packets waits for the next, and the last for \
         the first:</p><ol>{rows}</ol></div>"
    )
}

/// A number of the latency of a point: of its operations, if it has some.
pub(super) fn latency(point: &Value, key: &str) -> Option<f64> {
    let of = match (point.get("multicast"), point.get("barrier")) {
        (Some(multicast), _) => &multicast["last_copy_latency_ns"],
        (_, Some(barrier)) => &barrier["latency_ns"],
        _ => &point["packet_latency_ns"],
    };
    of[key].as_f64()
}

/// What theory says of the operations of a point when nothing is in their way.
pub(super) fn zero_load_of_operations(point: &Value) -> Option<f64> {
    let of_multicast = point.pointer("/multicast/zero_load_last_copy_ns");
    of_multicast.or_else(|| point.pointer("/barrier/zero_load_latency_ns"))?.as_f64()
}

/// How many packets came after a newer one of their pair of nodes, where that is counted and some did.
fn reordered(points: &[Value]) -> String {
    let told = |point: &Value| {
        let count = point["reordered"].as_u64().filter(|count| *count > 0)?;
        let percent = 100.0 * count as f64 / point["packets"].as_f64()?.max(1.0);
        Some(format!("at load {} {} of them ({percent:.2} %)", words::load(point), words::count(count)))
    };
    let told: Vec<String> = points.iter().filter_map(told).collect();
    if told.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"note\" id=\"reordered\">Reordered are packets that came after a newer one of their pair of nodes: {}.</p>",
        told.join(", ")
    )
}

fn point_table(points: &[Value]) -> String {
    let of = Kind::of(points);
    let mut rows = String::new();
    for (place, point) in points.iter().enumerate() {
        let cell = |key: &str| latency(point, key).map_or("–".to_owned(), words::time);
        let interval =
            latency(point, "ci95").map_or(String::new(), |half| format!(" ± {}", words::time(half)));
        // Writing to a string does not fail.
        let _ = write!(
            rows,
            "<tr data-row=\"{place}\"><td>{}</td><td>{}</td><td>{}{interval}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td></tr>",
            words::load(point),
            shown::load(words::accepted(point), 4),
            cell("mean"),
            cell("p50"),
            cell("p99"),
            cell("p999"),
            words::count(point.pointer(of.count()).and_then(Value::as_u64).unwrap_or(0)),
            point["verdict"].as_str().unwrap_or("")
        );
    }
    let (latency, counted) = of.columns();
    format!(
        "<div class=\"scroll\"><table class=\"points\"><thead><tr><th>offered</th><th>accepted</th><th>{latency}</th>\
         <th>p50</th><th>p99</th><th>p99.9</th><th>{counted}</th><th>verdict</th></tr></thead><tbody>{rows}</tbody></table></div>\
         <p class=\"note\">{} ± is half of the 95 % interval.</p>",
        of.note()
    )
}

/// A figure with its data, which the script lays out as a table and as CSV under the name `id`.
pub(super) fn figure(id: &str, title: &str, note: &str, content: &str) -> String {
    format!(
        "<figure id=\"{id}\" data-figure=\"{id}\"><figcaption><a class=\"anchor\" href=\"#{id}\" \
         aria-label=\"Link to this figure\">#</a><strong>{title}</strong> <span>{note}</span></figcaption>\
         <div class=\"drawing\">{content}</div>\
         <div class=\"tools\"><details class=\"data\"><summary>Data</summary><div class=\"scroll\"></div></details>\
         <button type=\"button\" class=\"csv\">CSV</button></div></figure>\n"
    )
}

/// A drawing for each point, of which the script shows one; in place of those that are not there, a note.
pub(super) fn for_each_point(
    page: &Page<'_>,
    nothing: &str,
    draw: impl Fn(usize, &Value) -> Option<String>,
) -> String {
    let mut html = String::new();
    for (place, point) in page.points().iter().enumerate() {
        let drawing = draw(place, point).unwrap_or_else(|| format!("<p class=\"note\">{nothing}</p>"));
        // Writing to a string does not fail.
        let _ = write!(html, "<div class=\"of-point\" data-of=\"{place}\">{drawing}</div>");
    }
    html
}

/// The choice of the point that the rest of the page is about.
fn chosen_point(page: &Page<'_>) -> String {
    let points = page.points();
    if points.len() < 2 {
        return String::new();
    }
    let mut options = String::new();
    for (place, point) in points.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = write!(options, "<option value=\"{place}\">{}</option>", escape(&point_name(point)));
    }
    format!(
        "<div class=\"choice\"><label for=\"point\">One point in detail</label> <select id=\"point\">{options}</select>\
         <button type=\"button\" id=\"earlier\" aria-label=\"Lower load\">‹</button>\
         <button type=\"button\" id=\"later\" aria-label=\"Higher load\">›</button></div>\n"
    )
}

/// What tells a point from others.
fn point_name(point: &Value) -> String {
    let load = || format!("load {}", words::load(point));
    if point.get("nic").is_some() {
        return nic::label(point);
    }
    let Some(graph) = point.get("graph") else {
        return format!("{}, {}", load(), point["verdict"].as_str().unwrap_or(""));
    };
    let name = graph["name"].as_str().map(str::to_owned);
    let beside = point.get("offered_load").map(|_| format!("beside {}", load()));
    let parts: Vec<String> = name.into_iter().chain(beside).collect();
    parts.join(" ")
}

fn stages() -> String {
    format!(
        "<section id=\"stages\"><h2>Where the load is</h2>{}{}</section>\n",
        figure(
            "fig-stages",
            "The way of a packet, stage by stage",
            "What part of what its channels could carry each stage carries: the mean over them, a line at the busiest, a dashed \
             one where theory expects the busiest. A stage that is full limits what comes before it.",
            "<div id=\"stage-bars\"></div>"
        ),
        figure(
            "fig-busiest",
            "The ten busiest channels",
            "100 % is all that a channel could carry: a flit in every cycle, or less where its link is slower, has bad lanes, or \
             waits for its window. Headers and trailers count, adverts do not.",
            "<div id=\"busy-bars\"></div>"
        )
    )
}

fn fabric(page: &Page<'_>, drawing: Option<Picture<'_>>) -> String {
    let drawn = match drawing {
        None => String::new(),
        Some(Picture::Channels(drawing)) => figure(
            "fig-fabric",
            "The fabric as built",
            &format!(
                "{} Point at a shape to see which channel it is, and how much it carries.",
                escape(&drawing.caption)
            ),
            &format!("{}<div class=\"scroll picture\">{}</div>", legend(&rails(page)), drawing.svg),
        ),
        Some(Picture::Parts(parts)) => by_parts(parts),
    };
    let ribbon = figure(
        "fig-classes",
        "Channels by class",
        "All channels of a class side by side, from the idlest to the busiest: an even colour is an even load.",
        "<div id=\"ribbons\"></div>",
    );
    format!("<section id=\"fabric\"><h2>The fabric</h2>{drawn}{ribbon}</section>\n")
}

/// The two pictures of what is drawn by its parts.
fn by_parts(parts: &ByParts) -> String {
    let choice = "<label>Colour <select id=\"shows\"><option value=\"busiest\">busiest channel</option>\
                  <option value=\"mean\">mean of the channels</option></select></label>";
    let cells = figure(
        "fig-parts",
        "The fabric by its parts",
        &format!("{} Point at a cell to see what it is, and how much it carries.", escape(&parts.caption)),
        &format!("{}<div class=\"scroll picture\">{}</div>", legend(choice), parts.cells),
    );
    let between = figure(
        "fig-between",
        "What parts send to each other",
        &escape(&parts.rows),
        &format!("<div class=\"scroll picture\">{}</div>", parts.between),
    );
    cells + &between
}

/// The colours of loads, and what else there is to choose.
fn legend(more: &str) -> String {
    let scale: String = (0..=10).map(|step| format!("<i class=\"h{step}\"></i>")).collect();
    format!(
        "<div class=\"legend\"><span>load 0</span><span class=\"steps\">{scale}</span><span><span id=\"scale\">1</span> of what a \
         channel could carry</span> {more}</div>"
    )
}

/// The choice of a rail, where there are several.
fn rails(page: &Page<'_>) -> String {
    let mut rails = String::new();
    if page.fabric.rails > 1 {
        rails.push_str("<label for=\"rail\">Rail</label> <select id=\"rail\"><option value=\"all\">mean over all</option>");
        for rail in 0..page.fabric.rails {
            // Writing to a string does not fail.
            let _ = write!(rails, "<option value=\"{rail}\">{rail}</option>");
        }
        rails.push_str("</select>");
    }
    rails
}

fn slowest() -> String {
    format!(
        "<section id=\"slowest\"><h2>The slowest packets</h2>{}</section>\n",
        figure(
            "fig-slowest",
            "Their lives, hop by hop",
            "Where they waited, and for what: grey is moving, colours are waits. Open one to see every hop.",
            "<div id=\"stories\"></div>"
        )
    )
}

/// What each of several graphs, or runs of one, came to.
fn graph_table(points: &[Value]) -> String {
    let mut rows = String::new();
    for (place, point) in points.iter().enumerate() {
        let graph = &point["graph"];
        let completion = graph["completion_ns"].as_f64().map_or("not completed".to_owned(), words::time);
        let share = graph["communication_share"]["mean"].as_f64().unwrap_or(0.0) * 100.0;
        // Writing to a string does not fail.
        let _ = write!(
            rows,
            "<tr data-row=\"{place}\"><td>{}</td><td>{completion}</td><td>{}</td><td>{}</td><td>{share:.1} %</td></tr>",
            escape(&point_name(point)),
            graph["ranks"].as_array().map_or(0, Vec::len),
            words::count(graph["messages"].as_u64().unwrap_or(0)),
        );
    }
    format!(
        "<div class=\"scroll\"><table class=\"points\"><thead><tr><th>graph</th><th>completed after</th><th>ranks</th>\
         <th>messages</th><th>communication</th></tr></thead><tbody>{rows}</tbody></table></div><p class=\"note\">Below, \
         channels, latencies and packets are those of the whole run that a graph was part of.</p>"
    )
}

fn graph_summary(page: &Page<'_>) -> String {
    let graph = &page.points()[0]["graph"];
    let mut tiles = size_tile(page);
    if page.points().len() > 1 {
        let tiles = format!("<div class=\"tiles\">{tiles}</div>");
        let faults = page.points().iter().filter(|point| point["graph"]["completed"] != true);
        let faults: String = faults.map(|point| graph_verdict(&point["graph"])).collect();
        return format!(
            "<section id=\"summary\"><h2>What came out</h2>{tiles}<ul class=\"verdicts\">{faults}</ul>{}{}</section>\n",
            graph_table(page.points()),
            rank_figure("Of the one that is shown in detail: time")
        );
    }
    if let Some(nanos) = graph["completion_ns"].as_f64() {
        tiles.push_str(&tile("Completed after", &words::time(nanos), "simulated time"));
    }
    let ranks = graph["ranks"].as_array().map_or(0, Vec::len);
    let messages = words::count(graph["messages"].as_u64().unwrap_or(0));
    tiles.push_str(&tile("Ranks", &words::count(ranks as u64), &format!("{messages} messages")));
    if let Some(share) = graph["communication_share"]["mean"].as_f64() {
        tiles.push_str(&tile(
            "Communication",
            &format!("{:.1} %", share * 100.0),
            "mean share of the ranks' time",
        ));
    }
    format!(
        "<section id=\"summary\"><h2>What came out</h2><div class=\"tiles\">{tiles}</div><ul class=\"verdicts\">{}</ul>{}\
         </section>\n",
        graph_verdict(graph),
        rank_figure("Time")
    )
}

/// Whether a graph was completed, and if not, what it waits for.
fn graph_verdict(graph: &Value) -> String {
    if graph["completed"] == true {
        return "<li class=\"verdict steady\"><span>Completed: every task was done and every message received.</span></li>"
            .to_owned();
    }
    let name = graph["name"].as_str().map_or(String::new(), |name| format!(": {}", escape(name)));
    let waiting = graph["waiting"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let waiting: String = waiting.map(|line| format!("<li>{}</li>", escape(line))).collect();
    format!("<li class=\"verdict deadlock\"><span>Not completed{name}.</span><ul>{waiting}</ul></li>")
}

/// What the ranks did, in a sentence that begins so.
fn rank_figure(begins: &str) -> String {
    figure(
        "fig-ranks",
        "What the ranks did",
        &format!(
            "{begins} of each rank until its last task: computing, overhead of sending and receiving, waiting for messages."
        ),
        "<div id=\"rank-bars\"></div>",
    )
}

fn machine(page: &Page<'_>) -> String {
    let mut rows = String::new();
    leaves("", &page.result["machine"]["description"], &mut rows);
    format!(
        "<section id=\"machine\"><h2>The machine</h2><details><summary>Every setting, checked and complete</summary>\
         <div class=\"scroll\"><table class=\"settings\"><thead><tr><th>setting</th><th>value</th></tr></thead>\
         <tbody>{rows}</tbody></table></div></details></section>\n"
    )
}

fn leaves(path: &str, value: &Value, rows: &mut String) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                leaves(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, value, rows);
            }
        }
        value => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            // Writing to a string does not fail.
            let _ = write!(rows, "<tr><td><code>{}</code></td><td>{}</td></tr>", escape(path), escape(&text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Points at loads of 0.1, 0.2, ..., with these verdicts, limits and reasons.
    fn points(all: &[(&str, Option<&str>, Option<&str>)]) -> Vec<Value> {
        (1..)
            .zip(all)
            .map(|(tenths, (verdict, limit, unsettled))| {
                let load = f64::from(tenths) / 10.0;
                json!({ "offered_load": load, "accepted_load": load, "verdict": verdict, "limit": limit, "unsettled": unsettled })
            })
            .collect()
    }

    /// The items of the list of verdicts, without the tags.
    fn said(points: &[Value]) -> Vec<String> {
        let text = |item: &str| {
            item.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect::<String>()
        };
        verdicts(points).split("<li").skip(1).map(text).collect()
    }

    #[test]
    fn points_with_other_reasons_do_not_stand_together() {
        let said = said(&points(&[
            ("unsettled", None, Some("imprecise")),
            ("unsettled", None, Some("trend")),
            ("saturated", Some("network"), None),
            ("saturated", Some("network"), Some("imprecise")),
            ("saturated", Some("network"), None),
            ("saturated", Some("network"), None),
        ]));
        let begins = ["load 0.100 ", "load 0.200 ", "load 0.300 ", "load 0.400 ", "loads 0.500 to 0.600 "];
        assert!(
            said.len() == 5 && said.iter().zip(begins).all(|(it, begin)| it.starts_with(begin)),
            "{said:?}"
        );
        assert!(said[0].contains("wider than asked for") && said[1].contains("grow or fall"), "{said:?}");
        let has_doubts: Vec<bool> = said[2..].iter().map(|it| it.contains(" But ")).collect();
        assert_eq!(has_doubts, [false, true, false]);
    }

    #[test]
    fn the_mean_latency_is_that_of_a_point_that_has_one() {
        let mut points = points(&[
            ("saturated", None, None),
            ("unsettled", None, Some("trend")),
            ("steady", None, None),
            ("steady", None, None),
        ]);
        for (place, point) in points.iter_mut().enumerate() {
            point["packet_latency_ns"] = json!({ "mean": 100 + place });
        }
        let tile = mean_tile(&points);
        assert!(tile.contains(">102 ns<") && tile.contains("measured at load 0.300"), "{tile}");
        let tile = mean_tile(&points[..2]);
        assert!(tile.contains(">–<") && tile.contains("no point is steady"), "{tile}");
        points[0]["barrier"] = json!({ "latency_ns": { "mean": 7 } });
        assert!(mean_tile(&points).contains(">7 ns<"), "barriers have one in a saturated network, too");
    }

    #[test]
    fn packets_that_were_reordered_are_told_where_there_are_some() {
        let mut points = points(&[("steady", None, None); 2]);
        assert_eq!(reordered(&points), "");
        (points[1]["reordered"], points[1]["packets"]) = (json!(5), json!(100));
        let told = reordered(&points);
        assert!(told.contains(": at load 0.200 5 of them (5.00 %)."), "{told}");
    }

    #[test]
    fn loads_that_fall_are_told_from_the_least_on() {
        let mut points = points(&[("steady", None, None); 3]);
        points.swap(0, 1);
        assert!(said(&points)[0].starts_with("loads 0.100 to 0.300 "));
    }
}
