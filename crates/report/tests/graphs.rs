//! Pictures of graph files: boxes that do not cover each other, with the names of the user, and by groups what is too much.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use flitway_machine::Machine;
use flitway_report::details::Details;
use flitway_report::page::Page;
use flitway_report::session::Session;
use flitway_report::stages;
use serde_json::json;
use std::fmt::Write;

/// A graph file in the making: links take the next free port of their switches.
#[derive(Default)]
struct Graph {
    switches: Vec<String>,
    ports: Vec<u32>,
    nodes: usize,
    links: String,
    lines: String,
}

impl Graph {
    fn switch(&mut self, name: String) -> usize {
        self.switches.push(name);
        self.ports.push(0);
        self.switches.len() - 1
    }

    fn end(&mut self, switch: usize) -> String {
        self.ports[switch] += 1;
        format!("{}:{}", self.switches[switch], self.ports[switch] - 1)
    }

    fn node(&mut self, switch: usize) {
        let end = self.end(switch);
        writeln!(self.links, "link n{} - {end}", self.nodes).unwrap();
        self.nodes += 1;
    }

    fn link(&mut self, one: usize, other: usize) {
        let ends = [self.end(one), self.end(other)];
        writeln!(self.links, "link {} - {}", ends[0], ends[1]).unwrap();
    }

    /// Leaves with two nodes each under spines, each joined to all.
    fn leaf_spine(leaves: usize, spines: usize) -> Self {
        let mut graph = Graph::default();
        let leaves: Vec<usize> = (0..leaves).map(|at| graph.switch(format!("leaf{at}"))).collect();
        let spines: Vec<usize> = (0..spines).map(|at| graph.switch(format!("spine{at}"))).collect();
        for leaf in leaves {
            (0..2).for_each(|_| graph.node(leaf));
            spines.iter().for_each(|&spine| graph.link(leaf, spine));
        }
        graph
    }

    /// Pods of leaves and spines, and cores, each joined to a spine of every pod.
    fn three_levels(pods: usize, leaves: usize, spines: usize) -> Self {
        let mut graph = Graph::default();
        let cores: Vec<usize> = (0..2 * spines).map(|at| graph.switch(format!("core{at}"))).collect();
        for pod in 0..pods {
            let spines: Vec<usize> =
                (0..spines).map(|at| graph.switch(format!("pod{pod}-spine{at}"))).collect();
            for at in 0..leaves {
                let leaf = graph.switch(format!("pod{pod}-leaf{at}"));
                graph.node(leaf);
                spines.iter().for_each(|&spine| graph.link(leaf, spine));
            }
            cores.iter().enumerate().for_each(|(at, &core)| graph.link(spines[at / 2], core));
        }
        graph
    }

    /// A torus whose switches have a node each.
    fn torus(columns: usize, rows: usize) -> Self {
        let mut graph = Graph::default();
        for at in 0..columns * rows {
            let switch = graph.switch(format!("t{}-{}", at / columns, at % columns));
            graph.node(switch);
        }
        for at in 0..columns * rows {
            let (row, column) = (at / columns, at % columns);
            graph.link(at, row * columns + (column + 1) % columns);
            graph.link(at, (row + 1) % rows * columns + column);
        }
        graph
    }

    /// So many switches with a node each, in rings that go through them by these steps.
    fn rings(switches: usize, steps: &[usize]) -> Self {
        let mut graph = Graph::default();
        for at in 0..switches {
            let switch = graph.switch(format!("hub{at}"));
            graph.node(switch);
        }
        for at in 0..switches {
            steps.iter().for_each(|step| graph.link(at, (at + step) % switches));
        }
        graph
    }

    /// The same with each switch at the place that `spot` says.
    fn at(mut self, spot: impl Fn(usize) -> (f64, f64)) -> Self {
        for (number, name) in self.switches.iter().enumerate() {
            let (x, y) = spot(number);
            writeln!(self.lines, "at {name} {x} {y}").unwrap();
        }
        self
    }

    /// The page of a run in which all channels carry the same.
    fn page(&self, name: &str) -> String {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.graph"));
        let declared = format!("switch {}\nnode n0..n{}\n", self.switches.join(" "), self.nodes - 1);
        std::fs::write(&path, declared + &self.links + &self.lines).unwrap();
        let set = [
            format!("topology={{kind=\"graph\", file={:?}}}", path.to_str().unwrap()),
            "switch.ports=64".to_owned(),
            "link.length.switch=\"5 m\"".to_owned(),
        ];
        let machine = Machine::load("hpp-switch", &set).unwrap_or_else(|problems| panic!("{problems}"));
        let session = Session::new(machine, 1, 1);
        let machine = session.machine();
        let result = json!({
            "flitway": "1", "seed": 1, "command": ["flitway", "run"],
            "machine": { "name": machine.name, "description": machine.to_json() },
            "workload": { "load": "0.2", "arrival": "bernoulli" },
            "points": [{ "offered_load": 0.2, "accepted_load": 0.2, "verdict": "steady", "packets": 1 }],
        });
        let loads =
            stages::channels(session.fabric()).map(|it| if it.is_some() { 0.5 } else { 0.0 }).collect();
        let details = Details { share_of: Some(loads), ..Details::default() };
        let details = [Some(&details)];
        let fabric = session.fabric();
        Page { result: &result, fabric, clock: machine.clock, theory: None, details: &details }.html()
    }
}

/// The box of a switch: what its tooltip says, and left, top, width and height.
struct Drawn {
    title: String,
    at: [f64; 4],
}

fn boxes(page: &str) -> Vec<Drawn> {
    let number = |text: &str, key: &str| -> f64 {
        let (_, rest) = text.split_once(&format!(" {key}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let drawn = page.split("<rect class=\"sw full\"").skip(1).map(|text| {
        let (_, title) = text.split_once("<title>").unwrap();
        let title = title.split("</title>").next().unwrap().to_owned();
        Drawn { title, at: ["x", "y", "width", "height"].map(|key| number(text, key)) }
    });
    drawn.collect()
}

/// Every switch has a box within the picture, over which no other lies, with its name in the tooltip.
fn check(graph: &Graph, page: &str) {
    let all = boxes(page);
    assert_eq!(all.len(), graph.switches.len());
    let (_, size) = page.split_once("id=\"fabric-svg\" viewBox=\"0 0 ").unwrap();
    let size: Vec<f64> = size.split('"').next().unwrap().split(' ').map(|it| it.parse().unwrap()).collect();
    for (place, Drawn { title, at: [x, y, wide, high] }) in all.iter().enumerate() {
        assert!(
            *x >= 0.0 && x + wide <= size[0] + 0.1 && *y >= 0.0 && y + high <= size[1] + 0.6,
            "{title} is outside"
        );
        assert!(title.contains(&graph.switches[place]), "{title}");
        for other in &all[..place] {
            let [ox, oy, owide, ohigh] = other.at;
            // Coordinates have one digit behind the point.
            let parts = x + 0.11 >= ox + owide
                || ox + 0.11 >= x + wide
                || y + 0.11 >= oy + ohigh
                || oy + 0.11 >= y + high;
            assert!(parts, "{title} and {} cover each other", other.title);
        }
    }
}

/// Every name stands in the picture.
fn check_names(graph: &Graph, page: &str) {
    for name in &graph.switches {
        assert!(page.contains(&format!(">{name}</text>")), "{name} is not to be seen");
    }
}

#[test]
fn no_two_boxes_cover_each_other_and_all_names_can_be_read() {
    for (name, graph) in [
        ("leaf-spine-20", Graph::leaf_spine(16, 4)),
        ("leaf-spine-60", Graph::leaf_spine(50, 10)),
        ("leaf-spine-300", Graph::leaf_spine(60, 20)),
        ("three-levels-104", Graph::three_levels(8, 8, 4)),
        ("three-levels-300", Graph::three_levels(12, 16, 8)),
        ("rings-20", Graph::rings(20, &[1, 7])),
        ("rings-60", Graph::rings(60, &[1, 11])),
        ("rings-100", Graph::rings(100, &[1, 37])),
        ("torus-200", Graph::torus(20, 10)),
        ("torus-300", Graph::torus(20, 15)),
    ] {
        let page = graph.page(name);
        check(&graph, &page);
        check_names(&graph, &page);
        assert!(page.len() < 700_000, "{name}: {} bytes", page.len());
    }
}

#[test]
fn rows_are_named_and_leaves_stand_below_spines() {
    let page = Graph::leaf_spine(16, 4).page("leaf-spine-rows");
    let rows: Vec<&str> = page.split("<text class=\"row\" x=\"0.0\"").skip(1).collect();
    let named = |row: &str, name: &str| row.split_once('>').is_some_and(|(_, rest)| rest.starts_with(name));
    assert!(rows.len() == 2 && named(rows[0], "spine<") && named(rows[1], "leaf<"));
    let all = boxes(&page);
    let top = |number: usize| all[number].at[1];
    assert!((1..16).all(|leaf| top(leaf) == top(0)), "leaves stand in one row");
    assert!((16..20).all(|spine| top(spine) + all[spine].at[3] < top(0)), "spines stand above");
    assert!((1..16).all(|leaf| all[leaf - 1].at[0] < all[leaf].at[0]), "in the order of the file");
}

#[test]
fn switches_stand_where_the_file_says() {
    let spot = |number: usize| (f64::from(number as u32 % 7) * 3.0, f64::from(number as u32 / 7) * -2.0);
    let graph = Graph::rings(28, &[1, 5]).at(spot);
    let page = graph.page("coordinates");
    check(&graph, &page);
    check_names(&graph, &page);
    assert!(page.contains("Switches stand where the graph file says."));
    let all = boxes(&page);
    let middle = |number: usize| {
        let [x, y, wide, high] = all[number].at;
        (x + wide / 2.0, y + high / 2.0)
    };
    let (origin, scale) = (middle(0), (middle(6).0 - middle(0).0) / 18.0);
    for number in 0..28 {
        let ((x, y), (wanted_x, wanted_y)) = (middle(number), spot(number));
        let apart = (x - origin.0 - wanted_x * scale).hypot(y - origin.1 - wanted_y * scale);
        assert!(apart < 0.3, "switch {number} stands {apart} from its place");
    }
}

#[test]
fn coordinates_that_are_close_together_leave_room_for_boxes_without_names() {
    let graph = Graph::rings(300, &[1, 50])
        .at(|number| (f64::from(number as u32).cos(), f64::from(number as u32).sin()));
    let page = graph.page("close");
    check(&graph, &page);
    assert!(!page.contains(">hub7</text>"));
}

#[test]
fn long_names_are_shown_without_what_all_begin_with() {
    let mut graph = Graph::leaf_spine(4, 2);
    let rename = |name: &str| format!("building_west_hall_2_{name}");
    let plain = graph.switches.clone();
    for name in &plain {
        graph.links = graph.links.replace(&format!(" {name}:"), &format!(" {}:", rename(name)));
    }
    graph.switches = plain.iter().map(|name| rename(name)).collect();
    let page = graph.page("long-names");
    check(&graph, &page);
    assert!(plain.iter().all(|name| page.contains(&format!(">{name}</text>"))));
    assert!(page.contains("Names are shown without the building_west_hall_2_ that all begin with."));
}

/// Ten links at each of 200 switches, all across: nobody could follow them.
#[test]
fn a_tangle_is_a_map_with_a_row_for_each_switch() {
    let graph = Graph::rings(200, &[17, 41, 59, 73, 97]);
    let page = graph.page("tangle");
    assert!(boxes(&page).is_empty());
    let (_, rows) = page.split_once("data-rows=\"").unwrap();
    let rows: Vec<&str> = rows.split('"').next().unwrap().split('|').collect();
    assert_eq!(rows, graph.switches);
    assert!(page.len() < 700_000, "{} bytes", page.len());
}

/// Rings of 25 with a cable between neighbours: found by their links, or by names that say them.
#[test]
fn groups_of_a_large_graph_are_boxes() {
    for (name, is_named) in [("named", true), ("unnamed", false)] {
        let mut graph = Graph::default();
        for at in 0..450 {
            let switch = graph.switch(if is_named {
                format!("rack{}-s{}", at / 25, at % 25)
            } else {
                format!("x{at}")
            });
            graph.node(switch);
        }
        for at in 0..450 {
            let first = at / 25 * 25;
            (1..4).for_each(|step| graph.link(at, first + (at - first + step) % 25));
            if at % 25 == 0 {
                graph.link(at, (at + 37) % 450);
            }
        }
        let page = graph.page(name);
        let (first, last) = if is_named { ("rack0", "rack17") } else { ("group 0", "group 17") };
        for group in [first, last] {
            assert!(page.contains(&format!("data-part=\"{group}, switches\"")), "{group}");
        }
        assert!(!page.contains("group 18") && !page.contains("rack18"));
    }
}
