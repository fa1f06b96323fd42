//! The report page: one HTML file with everything in it, which asks nobody for anything.
//!
//! What it shows comes from the object that `--json` writes, which it carries whole, and from the [`Details`] of the points.
//! Curves and the picture of the fabric are drawn here, as SVG whose colours the style sheet gives; the script colours
//! channels by load, switches between points, and makes tables and CSV of the same data.

mod curves;
mod distributions;
pub mod experiment;
mod faults;
mod nic;
mod operations;
mod parts;
mod picture;
mod plot;
mod sections;
mod words;

use crate::channels::direction;
use crate::details::{Details, rounded};
use crate::stages;
use crate::theory::Theory;
use flitway_engine::Clock;
use flitway_fabric::Fabric;
use flitway_fabric::chip::Waits;
use flitway_wiring::topology::End;
use parts::ByParts;
use picture::{Given, Numbers};
use serde_json::{Value, json};
use std::fmt::Write;

pub use words::time;

/// The style sheet and the script, as they stand in the page.
const STYLE: &str = include_str!("style.css");
/// The colours by name, in the light.
const COLOURS: &str = include_str!("colours.css");
/// How curves are drawn.
const CURVES: &str = include_str!("plot.css");
const COMMON: &str = include_str!("common.js");
const SCRIPT: &str = include_str!("page.js");

/// Channels of all rails up to which the page carries the load of each; of more it has the distribution.
const CHANNELS_MAX: usize = 40_000;

/// Values that stand for a distribution.
const QUANTILES: usize = 100;

/// What a page is made of.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The object that `--json` writes.
    pub result: &'a Value,
    /// The fabric that it is about.
    pub fabric: &'a Fabric,
    /// Its clock.
    pub clock: Clock,
    /// What theory says of the traffic, where it says something.
    pub theory: Option<&'a Theory>,
    /// For each point, what the result does not hold.
    pub details: &'a [Option<&'a Details>],
}

impl Page<'_> {
    /// The file.
    #[must_use]
    pub fn html(&self) -> String {
        let numbers = Numbers::new(self.fabric);
        let title = format!("{} · Flitway", self.machine());
        let (names, spots) = (self.fabric.topology().names().switches(), self.switch_spots());
        let given = Given { names, spots: &spots };
        let parts = ByParts::new(self.fabric, given);
        let picture = match &parts {
            Some(parts) => Some(sections::Picture::Parts(parts)),
            None => picture::drawing(self.fabric, &numbers, given).map(sections::Picture::Channels),
        };
        let body = sections::body(self, picture);
        let data = self.data(&numbers, parts.as_ref());
        document(&title, &body, &[("result", self.result), ("details", &data)], SCRIPT)
    }

    /// Where a graph file says that its switches are drawn.
    fn switch_spots(&self) -> Vec<[f64; 2]> {
        let spots = self.result.pointer("/machine/description/graph/at").and_then(Value::as_array);
        let spot = |spot: &Value| Some([spot.get(0)?.as_f64()?, spot.get(1)?.as_f64()?]);
        spots.into_iter().flatten().filter_map(spot).collect()
    }

    fn machine(&self) -> &str {
        self.result["machine"]["name"].as_str().unwrap_or("")
    }

    fn points(&self) -> &[Value] {
        self.result["points"].as_array().map_or(&[], Vec::as_slice)
    }

    fn is_graph(&self) -> bool {
        self.points().iter().any(|point| point.get("graph").is_some())
    }

    /// How many nodes the pattern leaves silent.
    fn silent_nodes(&self) -> usize {
        self.details.iter().flatten().map(|details| details.silent.len()).max().unwrap_or(0)
    }

    /// The part of the nodes that send: offered load is per sending node, accepted load per node. That of copies is both per
    /// node.
    fn sending_part(&self) -> f64 {
        match operations::Kind::of(self.points()) {
            operations::Kind::Multicasts => 1.0,
            _ => 1.0 - self.silent_nodes() as f64 / f64::from(self.fabric.nodes().max(1)),
        }
    }

    fn theory_ns(&self) -> Option<f64> {
        self.theory.map(|theory| self.clock.nanos(theory.zero_load_cycles))
    }

    /// What the script needs beside the result.
    fn data(&self, numbers: &Numbers, parts: Option<&ByParts>) -> Value {
        let groups = Groups::new(self.fabric);
        let is_small = groups.of.len() <= CHANNELS_MAX;
        let points: Vec<Value> = self
            .details
            .iter()
            .map(|details| {
                let mut value = details.map_or(json!({}), |details| details.to_json(self.clock));
                if let Some(loads) = details.and_then(|details| details.load_of.as_ref())
                    && operations::Kind::of(self.points()) == operations::Kind::Multicasts
                {
                    value["received_of"] = rounded(distributions::received_of(self.fabric, loads));
                }
                if let Some(all) = details.and_then(|details| details.share_of.as_ref()) {
                    let wired =
                        stages::channels(self.fabric).zip(all).filter(|(channel, _)| channel.is_some());
                    let shares: Vec<f64> = wired.map(|(_, share)| *share).collect();
                    value["quantiles"] = groups.quantiles(&shares);
                    if let Some(parts) = parts {
                        value["parts"] = parts.loads(all);
                    }
                    if is_small {
                        value["loads"] = json!(packed(&shares));
                    }
                }
                value
            })
            .collect();
        let mut data = json!({
            "points": points,
            "groups": groups.names,
            "rails": self.fabric.rails,
            "nodes": self.fabric.nodes(),
            "sending_part": self.sending_part(),
            "has_vcs": self.fabric.chip.offers().virtual_channels,
            "waits": waits(&self.fabric.chip.waits()),
        });
        if let (Some(theory), Some(zero_load)) = (self.theory, self.theory_ns()) {
            data["theory"] = json!({
                "zero_load_ns": zero_load,
                "channel_bound": theory.channel_bound,
                "bisection_bound": theory.bisection_bound.filter(|bound| bound.is_finite()),
                "head_of_line": theory.head_of_line,
                "fullest": theory.expected(),
            });
        }
        if let Some(parts) = parts {
            data["in_parts"] = parts.counts();
        }
        if is_small {
            data["channels"] =
                numbers.of_switches.iter().map(|channel| ends(channel.from, channel.to)).collect();
            let topology = self.fabric.topology();
            let homes = (0..topology.nodes()).map(|node| {
                let (switch, port) = topology.home(flitway_wiring::NodeId(node));
                json!([switch.0, port.0])
            });
            data["homes"] = homes.collect();
        }
        data
    }
}

/// What packets wait for in words, where it is something else than an output of the crossbar or the link.
fn waits(waits: &Waits) -> Value {
    let mut words = json!({});
    for (key, word) in [("output", waits.output), ("link", waits.link)] {
        if let Some(word) = word {
            words[key] = json!(word);
        }
    }
    words
}

/// `[switch, port, switch, port]`, or `[switch, port, node]`.
fn ends(from: End, to: End) -> Value {
    let mut all = Vec::new();
    for end in [from, to] {
        match end {
            End::Node(node) => all.push(node.0),
            End::Switch(switch, port) => all.extend([switch.0, port.0]),
        }
    }
    json!(all)
}

/// The classes of channels with their directions.
struct Groups {
    names: Vec<String>,
    /// The group of each channel that is wired.
    of: Vec<usize>,
}

impl Groups {
    fn new(fabric: &Fabric) -> Self {
        let topology = fabric.topology();
        let mut groups = Groups { names: Vec::new(), of: Vec::new() };
        for channel in stages::channels(fabric).flatten() {
            let link = topology.link_of(channel.from);
            let Some(link) = link.map(|link| &topology.links()[link.index()]) else { continue };
            let way = direction(topology, link.ends, channel.from);
            let class = &topology.classes()[link.class as usize];
            let name = if class == "node" { way.to_owned() } else { format!("{class}, {way}") };
            let known = groups.names.iter().position(|other| *other == name);
            groups.of.push(known.unwrap_or_else(|| {
                groups.names.push(name);
                groups.names.len() - 1
            }));
        }
        groups
    }

    /// Of each group: the least load, some in between, the largest.
    fn quantiles(&self, loads: &[f64]) -> Value {
        let mut parts: Vec<Vec<f64>> = vec![Vec::new(); self.names.len()];
        self.of.iter().zip(loads).for_each(|(&group, &load)| parts[group].push(load));
        parts.iter_mut().for_each(|part| part.sort_by(f64::total_cmp));
        let quantiles = |part: &Vec<f64>| -> Value {
            let count = part.len().min(QUANTILES);
            let place = |turn: usize| turn * (part.len() - 1) / count.saturating_sub(1).max(1);
            (0..count).map(|turn| (part[place(turn)] * 1e4).round() / 1e4).collect()
        };
        parts.iter().map(quantiles).collect()
    }
}

/// Loads in ten-thousandths, two bytes each, in the letters that every browser can read back (base 64).
fn packed(loads: &[f64]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = loads.iter().flat_map(|load| ((load * 1e4).round() as u16).to_le_bytes()).collect();
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().enumerate().fold(0_u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for letter in 0..4 {
            if letter <= chunk.len() {
                text.push(char::from(LETTERS[(word >> (18 - 6 * letter) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// A whole document with `data`, by name, for its `script`.
fn document(title: &str, body: &str, data: &[(&str, &Value)], script: &str) -> String {
    let mut scripts = String::new();
    for (name, value) in data {
        // A tag that ends a script may stand in no text of it.
        let text = value.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
        // Writing to a string does not fail.
        let _ = writeln!(scripts, "<script type=\"application/json\" id=\"{name}\">{text}</script>");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{COLOURS}{STYLE}{CURVES}</style>\n</head>\n<body>\n{body}\n{scripts}\
         <script>\n(() => {{\n{COMMON}{script}}})();\n</script>\n</body>\n</html>",
        escape(title)
    )
}

/// `text` as it may stand in HTML, attributes included.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_packed_as_browsers_unpack_them() {
        // 0x1388, 0x2710 and 0 in little-endian order.
        assert_eq!(packed(&[0.5, 1.0, 0.0]), "iBMQJwAA");
        assert_eq!(packed(&[0.5]), "iBM=");
    }

    #[test]
    fn data_cannot_end_the_script_that_they_stand_in() {
        let page = document("a < b", "", &[("x", &json!("</script><!-- & \"quoted\""))], "");
        assert!(page.contains(r#"id="x">"<\/script><\u0021-- & \"quoted\""</script>"#), "{page}");
        assert!(page.contains("<title>a &lt; b</title>"));
    }
}
