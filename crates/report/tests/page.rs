//! Pages of machines that are too large to draw channel by channel: by their parts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use flitway_machine::Machine;
use flitway_report::details::Details;
use flitway_report::page::Page;
use flitway_report::session::Session;
use flitway_report::stages::{self, ChannelEnds};
use flitway_wiring::topology::End;
use serde_json::{Value, json};

/// A machine whose channels carry something.
struct Loaded {
    session: Session,
    /// By channel, wired or not.
    loads: Vec<f64>,
}

impl Loaded {
    /// So much as `load` says.
    fn new(machine: &str, set: &[&str], load: impl Fn(&ChannelEnds) -> f64) -> Self {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        let session =
            Session::new(Machine::load(machine, &set).unwrap_or_else(|problems| panic!("{problems}")), 1, 1);
        let loads = stages::channels(session.fabric()).map(|it| it.as_ref().map_or(0.0, &load)).collect();
        Loaded { session, loads }
    }

    fn channels(&self) -> impl Iterator<Item = (ChannelEnds, f64)> {
        stages::channels(self.session.fabric()).zip(&self.loads).filter_map(|(it, load)| Some((it?, *load)))
    }

    fn page(&self) -> String {
        let machine = self.session.machine();
        let result = json!({
            "flitway": "1", "seed": 1, "command": ["flitway", "run"],
            "machine": { "name": machine.name, "description": machine.to_json() },
            "workload": { "load": "0.2", "arrival": "bernoulli" },
            "points": [{ "offered_load": 0.2, "accepted_load": 0.2, "verdict": "steady", "packets": 1 }],
        });
        let details = Details { share_of: Some(self.loads.clone()), ..Details::default() };
        let details = [Some(&details)];
        let page = Page {
            result: &result,
            fabric: self.session.fabric(),
            clock: machine.clock,
            theory: None,
            details: &details,
        };
        page.html()
    }
}

/// What stands in `text` between two others.
fn between<'a>(text: &'a str, from: &str, until: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("there is no {from}"));
    rest.split_once(until).unwrap().0
}

/// Numbers of two bytes each, in base 64.
fn unpacked(text: &Value) -> Vec<f64> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits =
        text.as_str().unwrap().bytes().filter_map(|letter| LETTERS.bytes().position(|it| it == letter));
    let (mut bytes, mut word, mut held) = (Vec::new(), 0_usize, 0);
    for six in bits {
        (word, held) = (word << 6 | six, held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((word >> held & 255) as u8);
        }
    }
    bytes.chunks_exact(2).map(|two| f64::from(u16::from_le_bytes([two[0], two[1]])) / 1e4).collect()
}

/// The cells of both pictures: what each is, how many channels it has, and their loads.
struct Cells {
    names: Vec<String>,
    counts: Vec<u64>,
    busiest: Vec<f64>,
    mean: Vec<f64>,
}

/// Those of `page`, in the order of their numbers.
fn cells(page: &str) -> Cells {
    let rows: Vec<&str> = between(page, "data-rows=\"", "\"").split('|').collect();
    let mut names = Vec::new();
    for group in page.split("<g class=\"cells\"").skip(1) {
        let group = group.split("</g>").next().unwrap();
        let rects = group.split("<rect ").skip(1);
        if let Some((_, row)) = group.split_once("data-row=\"") {
            let from = rows[row.split('"').next().unwrap().parse::<usize>().unwrap()];
            let to = |rect: &str| rows[between(rect, "x=\"", "\"").parse::<usize>().unwrap()];
            names.extend(rects.map(|rect| format!("{from} -> {}", to(rect))));
        } else {
            let part = between(group, "data-part=\"", "\"");
            let units: Vec<&str> = between(group, "data-units=\"", "\"").split('|').collect();
            let ways: Vec<&str> = between(group, "data-ways=\"", "\"").split('|').collect();
            let all = units.iter().flat_map(|unit| ways.iter().map(move |way| (unit, way)));
            let all: Vec<String> = all.map(|(unit, way)| format!("{part}, {unit}, {way}")).collect();
            assert_eq!(rects.count(), all.len(), "{part}");
            names.extend(all);
        }
    }
    let data = between(page, "id=\"details\">", "</script>");
    let data: Value = serde_json::from_str(data).unwrap();
    let counts: Vec<u64> = data["in_parts"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    let parts = &data["points"][0]["parts"];
    let (busiest, mean) = (unpacked(&parts["busiest"]), unpacked(&parts["mean"]));
    assert_eq!([names.len(), busiest.len(), mean.len()], [counts.len(); 3]);
    Cells { names, counts, busiest, mean }
}

impl Cells {
    /// How many channels the one of that name has, their mean load, and that of the busiest.
    fn of(&self, name: &str) -> (u64, f64, f64) {
        let place = self.names.iter().position(|it| it == name);
        let place = place.unwrap_or_else(|| panic!("{name} is none of {:?} ...", &self.names[..40]));
        (self.counts[place], self.mean[place], self.busiest[place])
    }

    /// Channels of the cells whose names hold `part`.
    fn channels(&self, part: &str) -> u64 {
        self.names
            .iter()
            .zip(&self.counts)
            .filter(|(name, _)| name.contains(part))
            .map(|(_, count)| count)
            .sum()
    }
}

fn is_between_switches(channel: &ChannelEnds) -> bool {
    matches!((channel.from, channel.to), (End::Switch(..), End::Switch(..)))
}

/// 7,776 chips: each group is a box, each frame of it a cell on each level; each channel is in one cell.
#[test]
fn all_of_tianhe2_is_drawn_by_groups() {
    // One channel up of a leaf switch of group 3 carries more than the others.
    let hot = |it: &ChannelEnds| matches!(it.from, End::Switch(switch, port) if switch.0 == 3_456 + 3 * 36 && port.0 == 12);
    let machine = Loaded::new("tianhe2", &[], |it| if hot(it) { 0.9 } else { 0.25 });
    let page = machine.page();
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let cells = cells(&page);
    assert_eq!(cells.channels(", "), machine.channels().count() as u64, "every channel has a cell");
    let between = machine.channels().filter(|(channel, _)| is_between_switches(channel)).count() as u64;
    assert_eq!(cells.channels(" -> "), between);
    assert_eq!(cells.of("group 3, leaf switches, switch 3564, up"), (12, 0.3042, 0.9));
    assert_eq!(cells.of("group 3, leaf switches, switch 3564, down"), (12, 0.25, 0.25));
    assert_eq!(cells.of("group 47, upper chips of NRMs, frame 575, up"), (36, 0.25, 0.25));
    assert_eq!(cells.of("group 47, lower chips of NRMs, frame 575, up"), (36, 0.25, 0.25));
    assert_eq!(cells.of("group 47, nodes, frame 575, out of nodes"), (32, 0.25, 0.25));
    // 48 groups on four lower chips, each with six links to both upper chips.
    assert_eq!(cells.of("root switches: lower chips, no. 431, down"), (48, 0.25, 0.25));
    assert_eq!(cells.of("root switches: upper chips, no. 431, down"), (48, 0.25, 0.25));
    // 36 leaf switches, each on twelve root switches: 432, of which nine are in a row of the map.
    let (count, _, most) = cells.of("group 3 -> root switches 0 to 8");
    assert_eq!((count, most, cells.of("root switches 0 to 8 -> group 3")), (9, 0.9, (9, 0.25, 0.25)));
    assert!(!cells.names.contains(&"group 3 -> group 4".to_owned()), "no link leads there");
}

/// 33 groups of eight switches with eight nodes and four global ports each.
#[test]
fn groups_of_a_large_dragonfly_are_boxes_and_the_map_has_what_is_between_them() {
    let topology = "topology={kind=\"dragonfly\", switches_per_group=8, nodes_per_switch=8, global_ports=4}";
    let set = [
        topology,
        "routing={algorithm=\"minimal\"}",
        "link.length={node=\"1 m\", switch=\"1 m\"}",
        "switch.buffers.row=4 KiB",
        "switch.buffers.column=4 KiB",
    ];
    let machine = Loaded::new("th-frame", &set, |it| if is_between_switches(it) { 0.5 } else { 0.125 });
    let cells = cells(&machine.page());
    assert_eq!(cells.channels(", "), machine.channels().count() as u64, "every channel has a cell");
    assert_eq!(cells.of("group 2, switches, switch 17, to other groups"), (4, 0.5, 0.5));
    assert_eq!(cells.of("group 2, switches, switch 17, on its level, within"), (7, 0.5, 0.5));
    assert_eq!(cells.of("group 2, nodes, switch 17, into nodes"), (8, 0.125, 0.125));
    assert_eq!((cells.of("group 2 -> group 31").0, cells.of("group 2 -> group 2").0), (1, 8 * 7));
    assert_eq!(cells.names.iter().filter(|name| name.contains(" -> ")).count(), 33 * 33, "all to all");
}

/// Twelve links at each of 480 switches: too many to be drawn, and in no groups.
#[test]
fn a_large_graph_has_its_switches_in_order_with_the_names_of_the_user() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("rings.graph");
    let ring = |at: usize, place: usize, step: usize| {
        format!("link hub{at}:{} - hub{}:{}\n", 2 * place, (at + step) % 480, 2 * place + 1)
    };
    let rings = |at: usize| {
        let rings = [1, 37, 67, 101, 173, 229].into_iter().enumerate();
        rings.map(move |(place, step)| ring(at, place, step)).collect::<String>()
    };
    let links = (0..480).map(|at| format!("link host{at} - hub{at}:12\n{}", rings(at)));
    let text = format!("switch hub0..hub479\nnode host0..host479\n{}", links.collect::<String>());
    std::fs::write(&path, text).unwrap();
    let topology = format!("topology={{kind=\"graph\", file={:?}}}", path.to_str().unwrap());
    let set = [&topology, "routing={algorithm=\"up-down\"}", "link.length={node=\"1 m\", switch=\"1 m\"}"];
    let machine = Loaded::new("th-frame", &set, |_| 0.5);
    let cells = cells(&machine.page());
    assert_eq!(cells.channels(", "), 14 * 480, "every channel has a cell");
    assert_eq!(cells.of("switches, hub7, on its level"), (12, 0.5, 0.5));
    assert_eq!(cells.of("nodes, hub7, out of nodes"), (1, 0.5, 0.5));
    // Five switches are a row of the map: four cables within, one to each neighbour.
    assert_eq!(cells.of("hub5 to hub9 -> hub5 to hub9").0, 8);
    assert_eq!(
        (cells.of("hub5 to hub9 -> hub10 to hub14").0, cells.of("hub5 to hub9 -> hub0 to hub4").0),
        (1, 1)
    );
    assert!(!cells.names.contains(&"hub5 to hub9 -> hub15 to hub19".to_owned()), "no link leads there");
}
