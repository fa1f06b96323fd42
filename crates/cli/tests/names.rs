//! What a graph file calls its switches and nodes: they are told by these names, and can be named so.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_refused, assert_valid, flitway, json, scratch, stderr, stdout};
use std::path::Path;

/// Three switches in a ring, with links that retry.
const GRAPH: &str = "\
switch yew oak elm
node ann bob cy dan
link ann - yew:0
link bob - yew:1
link cy - oak:0
link dan - elm:0
link yew:2 - oak:2
link oak:1 - elm:2
link elm:1 - yew:3
";

/// The machine file of that graph, with the routing `algorithm`, in a folder of its own.
fn machine(name: &str, algorithm: &str) -> String {
    let graph = scratch(&format!("{name}.graph"), GRAPH);
    let file = Path::new(&graph).file_name().unwrap().to_str().unwrap().to_owned();
    let nrc = stdout(&flitway(&["explain", "nrc"]));
    let machine = nrc
        .replace("kind = \"single\"\nnodes = 24", &format!("kind = \"graph\"\nfile = \"{file}\"\n#"))
        .replace("algorithm = \"up-down\"", &format!("algorithm = \"{algorithm}\""))
        .replace("[link.length]\n", "[link.length]\nswitch = \"3 m\"\n");
    scratch(&format!("{name}.toml"), &machine).to_str().unwrap().to_owned()
}

const SHORT: [&str; 6] = ["--load", "0.2", "--warm-up", "5us", "--duration", "60us"];

#[test]
fn what_breaks_is_named_as_in_the_graph_file() {
    let machine = machine("named-faults", "up-down");
    let of = |faults: &str| {
        let result = json(&[&["run", &machine], &SHORT[..], &["--faults", faults]].concat());
        assert_valid(&result);
        result["points"][0]["faults"].clone()
    };
    let places = |faults: &serde_json::Value| {
        let log = faults["log"].as_array().unwrap().iter();
        let places = log.map(|note| note["place"].as_str().unwrap().to_owned());
        places.collect::<std::collections::BTreeSet<String>>()
    };
    let by_node = of("lanes(link=\"node cy\", good=4, at=10us)");
    assert!(places(&by_node).contains("node cy"), "{by_node}");
    assert!(places(&by_node).contains("switch oak port 0"), "{by_node}");
    assert_eq!(
        by_node["log"],
        of("lanes(link=\"node 2\", good=4, at=10us)")["log"],
        "the same link by number"
    );
    let by_switch = of("lanes(link=\"switch yew port 2\", good=4, at=10us)");
    assert!(places(&by_switch).contains("switch yew port 2"), "{by_switch}");
    assert!(places(&by_switch).contains("switch oak port 2"), "{by_switch}");
    let nobody = |faults| [&["run", &machine], &SHORT[..], &["--faults", faults]].concat();
    assert_refused(&[
        (&nobody("down(link=\"node cyy\")"), &["no node is called `cyy`; did you mean `cy`?"]),
        (&nobody("down(link=\"node walter\")"), &["no node is called `walter`", "from `ann` on"]),
        (&nobody("down(switch=okk)"), &["no switch is called `okk`; did you mean `oak`?"]),
        (&nobody("down(link=\"switch oak port 7\")"), &["there is no port 7 of switch oak"]),
    ]);
}

#[test]
fn the_fullest_channel_the_page_the_trace_and_counters_have_the_names() {
    let machine = machine("named-views", "up-down");
    let [page, trace, counters] =
        ["named.html", "named-trace.json", "named.csv"].map(|name| scratch(name, ""));
    for file in [&page, &trace, &counters] {
        std::fs::remove_file(file).unwrap();
    }
    let files = [("--report", &page), ("--trace", &trace), ("--counters", &counters)];
    let files = files.iter().flat_map(|(option, file)| [*option, file.to_str().unwrap()]);
    let files: Vec<&str> = files.collect();
    let full = ["--load", "1", "--warm-up", "20us", "--duration", "60us"];
    let output = flitway(&[&["run", &machine], &full[..], &files, &["--traffic", "hotspot(3)"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("fullest channel: switch elm port 0 to node dan, rail 0"), "{shown}");
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains("oak") && page.contains("\"dan\""), "the page knows the names");
    let trace = std::fs::read_to_string(&trace).unwrap();
    assert!(trace.contains("\"switch elm of rail 0\"") && trace.contains("\"node dan\""), "processes");
    assert!(trace.contains(" delivered\"") && trace.contains("\"node ann @"), "packets");
    let counters = std::fs::read_to_string(&counters).unwrap();
    assert!(counters.starts_with("point,") && counters.lines().next().unwrap().ends_with(",name"));
    for name in ["yew", "oak", "elm", "ann", "dan"] {
        assert!(counters.lines().any(|line| line.ends_with(&format!(",{name}"))), "{name}");
    }
    let chosen = ["--trace-of", "switches(elm)"];
    let output = flitway(&[&["run", &machine], &full[..], &files[2..4], &chosen].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let nobody = ["--trace-of", "nodes(ann+ben)"];
    let arguments = [&["run", &machine], &full[..], &files[2..4], &nobody].concat();
    assert_refused(&[(&arguments, &["`ben` names none of 4 nodes", "names of the graph file"])]);
}
