//! `flitway check` as a user meets it: deadlocks, loads of channels, facts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use flitway_experiment::schema::problems;
use serde_json::Value;

#[test]
fn every_wrong_argument_of_check_has_its_message_and_status_2() {
    assert_refused(&[
        (&["check", "hpp-switch", "--packet", "9KiB"], &["to the MTU"]),
        (&["check", "hpp-switch", "--traffic", "tornadoo"], &["--traffic", "did you mean `tornado`"]),
        (
            &["check", "hpp-switch", "--traffic", "transpose", "--set", "topology.nodes=12"],
            &["--traffic", "square"],
        ),
        (
            &["check", "mesh-8x8", "--set", "topology.dimensions=4x4"],
            &["= help: write --set 'topology.dimensions=[4, 4]'"],
        ),
        (&["check", "mesh-8x8", "--set", "routing.dateline=false"], &["FW-M018", "topology.kind"]),
    ]);
}

#[test]
fn check_tells_the_facts_of_dawning_5000() {
    let output = flitway(&["check", "dawning5000"]);
    assert!(output.status.success());
    let text = stdout(&output);
    for fact in ["1024 nodes, 4 rails", "320 switches and 3072 links", "1.600 Gbit/s", "diameter: 5 hops"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    // 5 switches of 130 ns, 6 links of 100 ns, 133 flits and a cycle to transmit, 10 ns each.
    assert!(text.contains("2590.0"), "{text}");
    let facts = json(&["check", "hpp-switch", "--packet", "8B"]);
    // NIC and switch save a cycle each by show-ahead: 0 and 11 cycles, two links of one, 9 flits, in 3.2 ns.
    let latency = facts["facts"]["distances"][0]["latency_min_ns"].as_f64().unwrap();
    assert!((latency - 3.2 * (0.0 + 1.0 + 11.0 + 1.0 + 9.0)).abs() < 1e-6, "{latency}");
}

#[test]
fn check_finds_the_worst_permutation_for_a_routing() {
    let worst = |arguments: &[&str]| {
        let checked = json(&[&["check", "--traffic", "worst-case"], arguments].concat());
        let loads = &checked["channel_loads"];
        assert_eq!(loads["worst"]["exact"], true, "{arguments:?}");
        let load = loads["worst"]["load"].as_f64().unwrap();
        assert!((loads["bound"].as_f64().unwrap() - 1.0 / load).abs() < 1e-9, "{arguments:?}: {load}");
        load
    };
    // A row of 8 x 8 turns into the column of its last switch; a leaf with four nodes goes up by one port.
    assert!((worst(&["mesh-8x8"]) - 7.0).abs() < 1e-9);
    assert!((worst(&["qsnet2-64", "--set", "switch.selection=first"]) - 4.0).abs() < 1e-9);
    assert_refused(&[
        (
            &["check", "hpp-switch", "--traffic", "worst-case"],
            &["`worst-case` needs channels between switches"],
        ),
        (
            &["run", "hpp-switch", "--traffic", "worst-case"],
            &["`worst-case` needs channels between switches"],
        ),
    ]);
}

/// The sections of `flitway check` from `Deadlock` on, without blanks at line ends.
fn sections(arguments: &[&str]) -> String {
    let output = flitway(arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let (_, sections) = text.split_once("\nDeadlock\n").unwrap();
    sections.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn check_tells_when_copies_can_deadlock() {
    for (machine, setting) in [
        ("hpp-switch", "switch.multicast.gathering=one-by-one"),
        ("sp-switch-16", "switch.multicast.replication=lock-step"),
        ("qsnet2-64", "switch.broadcast.roots=any"),
    ] {
        let text = sections(&["check", machine, "--set", setting]);
        let name = setting.split_once('=').unwrap().0;
        let told = format!("copies of a multicast can deadlock with {name}");
        assert!(text.lines().next().unwrap().contains(&told), "{text}");
        let text = sections(&["check", machine]);
        assert!(text.starts_with("free of cyclic dependence: no deadlock is possible\n"), "{text}");
    }
    let text = sections(&["check", "qsnet2-64"]);
    let line = text.lines().nth(1).unwrap();
    assert!(line.starts_with("of copies neither: broadcasts go over one tree"), "{line}");
}

#[test]
fn check_tells_that_a_mesh_cannot_deadlock_and_how_busy_it_will_be() {
    assert_eq!(
        sections(&["check", "mesh-8x8", "--set", "topology.dimensions=[3]"]),
        "free of cyclic dependence: no deadlock is possible
in each rail 10 channels, counted by VC class, with 10 dependencies; every node reaches every other
credits come back after 55 cycles on the longest link (2 cycles); a VC alone needs 17 units to fill it, and has 64

Channels
expected loads of uniform traffic at load 1, if there were room for all of it; 1 is a flit in every cycle
       links     direction  channels  mean load  max load
        node    into nodes         3     1.0000    1.0000
        node  out of nodes         3     1.0000    1.0000
 dimension-0        higher         2     1.0000    1.0000
 dimension-0         lower         2     1.0000    1.0000
         all                      10     1.0000    1.0000

busiest: switch 0 port 0, switch 0 port 1, switch 1 port 0, switch 1 port 1, switch 1 port 2 and 5 more
the busiest channel is full at load 1.0000; beyond that, those who send over it get no more
balanced shortest paths, free of deadlock or not, would be full at load 1.0000"
    );
}

/// A ring of five switches without its dateline, as the page on checks shows it.
const RING: [&str; 7] = [
    "torus-8x8",
    "--set",
    "topology.dimensions=[5]",
    "--set",
    "routing.dateline=false",
    "--set",
    "switch.vcs=3",
];

#[test]
fn check_shows_the_ring_of_a_torus_without_dateline_and_run_warns_of_it() {
    let arguments = [&["check"], &RING[..], &["--traffic", "tornado"]].concat();
    let text = sections(&arguments);
    assert_eq!(
        text,
        "cyclic dependence: packets can wait for each other for ever
in each rail 20 channels, counted by VC class, with 30 dependencies; every node reaches every other
the smallest cycle: 5 channels, each waits for the next, and the last for the first
 switch  port  VC class  a route over this channel and the next
      0     1         0                        node 0 to node 2
      1     1         0                        node 1 to node 3
      2     1         0                        node 2 to node 4
      3     1         0                        node 3 to node 0
      4     1         0                        node 4 to node 1
fix: routing.dateline = true and switch.vcs = 4, for its 2 classes; or routing.algorithm = \"up-down\" without routing.dateline
credits come back after 55 cycles on the longest link (2 cycles); a VC alone needs 17 units to fill it, and has 64

Channels
expected loads of tornado traffic at load 1, if there were room for all of it; 1 is a flit in every cycle
       links     direction  channels  mean load  max load
 dimension-0        higher         5     2.0000    2.0000
        node    into nodes         5     1.0000    1.0000
        node  out of nodes         5     1.0000    1.0000
 dimension-0         lower         5     0.0000    0.0000
         all                      20     1.0000    2.0000

busiest: switch 0 port 1, switch 1 port 1, switch 2 port 1, switch 3 port 1, switch 4 port 1
the busiest channel is full at load 0.5000; beyond that, those who send over it get no more
balanced shortest paths, free of deadlock or not, would be full at load 0.5000"
    );
    let page = include_str!("../../../docs/checks.md");
    assert!(text.split("\n\n").all(|part| page.contains(part)), "docs/checks.md shows this output");
    let run =
        flitway(&[&["run"], &RING[..], &["--load", "0.1", "--duration", "5us", "--warm-up", "1us"]].concat());
    assert!(run.status.success());
    for output in [flitway(&arguments), run] {
        assert!(stderr(&output).starts_with("warning[FW-M042]: cyclic dependence: "), "{}", stderr(&output));
    }
    // What it says helps.
    let fixed = [&["check"], &RING[..3], &["--set", "switch.vcs=4"]].concat();
    assert!(sections(&fixed).starts_with("free of cyclic dependence"));
    let other = [&["check"], &RING[..3], &["--set", "routing.algorithm=up-down"]].concat();
    assert!(sections(&other).starts_with("free of cyclic dependence"));
}

#[test]
fn checks_as_json_keep_to_their_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../docs/check.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let checked = |arguments: &[&str]| {
        let checked = json(arguments);
        let errors: Vec<String> = validator.iter_errors(&checked).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{arguments:?}: {errors:#?}");
        checked
    };
    let dawning = checked(&["check", "dawning5000"]);
    assert_eq!(
        (&dawning["deadlock"]["free"], &dawning["deadlock"]["channels"]),
        (&true.into(), &6144.into())
    );
    assert_eq!(dawning["channel_loads"]["traffic"], "uniform");
    assert_eq!(dawning["credits"]["units"], 64);
    let ring = checked(&[&["check"], &RING[..]].concat());
    assert_eq!(ring["deadlock"]["cycle"].as_array().unwrap().len(), 5);
    assert_eq!(ring["deadlock"]["cycle"][1]["from"], serde_json::json!({"switch": 1, "port": 1, "class": 0}));
    assert_eq!(ring["deadlock"]["cycle"][1]["destination"]["node"], 3);
    let alone = checked(&["check", "hpp-switch", "--set", "topology.nodes=1"]);
    assert!(alone.get("channel_loads").is_none(), "absent means not computed");
}

#[test]
fn check_prints_the_bill_and_what_part_of_a_full_bisection_it_buys() {
    let shown = |arguments: &[&str]| {
        let text = stdout(&flitway(&[&["check"], arguments].concat()));
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    let tree = shown(&["fattree-128"]);
    let bill = "Bill of materials
80 switches of 8 ports, 640 in all: 640 used, 0 free; 128 NIC ports
  cables  length m  count    metres
    node     8.000    128  1024.000
 level-1     8.000    128  1024.000
 level-2     8.000    128  1024.000
     all              384  3072.000
";
    assert!(tree.contains(bill) && include_str!("../../../docs/checks.md").contains(bill), "{tree}");
    assert!(tree.contains("\nbisection: 64 links per rail (full), 320.0 Gbit/s each way"), "{tree}");
    // Eight rings are cut twice.
    assert!(shown(&["torus-8x8"]).contains("\nbisection: 16 links per rail (50.0 % of full), "));
    let checked = json(&["check", "torus-8x8", "--set", "rails=2"]);
    assert_eq!(checked["facts"]["bisection_share"], 0.5);
    assert_eq!((&checked["bill"]["switches"], &checked["bill"]["cable_count"]), (&128.into(), &384.into()));
}

#[test]
fn loads_of_many_to_few_of_neighbours_and_of_turns_are_known_by_hand() {
    let loads = |machine: &str, traffic: &str| {
        let mut loads = json(&["check", machine, "--traffic", traffic])["channel_loads"].clone();
        loads.as_object_mut().unwrap().remove("traffic");
        loads
    };
    let max = |loads: &Value, class: &str| {
        let classes = loads["classes"].as_array().unwrap().iter().filter(|one| one["class"] == class);
        classes.map(|one| one["max"].as_f64().unwrap()).collect::<Vec<f64>>()
    };
    // Fifteen nodes to one, and six to two.
    assert_eq!(loads("hpp-switch", "incast")["max"], 15.0);
    let few = loads("hpp-switch", "incast(receivers=2, senders=6)");
    assert_eq!((&few["max"], &few["busiest_count"]), (&3.0.into(), &2.into()));
    // A quarter of what a node sends goes over each of its links; from a corner half.
    assert_eq!(max(&loads("torus-8x8", "stencil"), "dimension-1"), [0.25, 0.25]);
    assert_eq!(max(&loads("mesh-8x8", "stencil(8x8, periodic=no)"), "dimension-0"), [0.5, 0.5]);
    assert_eq!(loads("fattree-128", "all-to-all"), loads("fattree-128", "uniform"));
}

/// A machine around a leaf-spine graph of four leaf switches and four spines, with these cables between switches.
fn leaf_spine(name: &str, cables: &str) -> String {
    let mut graph = "switch leaf0..leaf3 spine0..spine3\nnode n0..n15\n".to_owned();
    (0..16).for_each(|node| graph += &format!("link n{node} - leaf{}:{}\n", node / 4, node % 4));
    let file = scratch(&format!("{name}.graph"), &(graph + cables));
    let machine = include_str!("../../../machines/hpp-switch.toml")
        .replace("kind = \"single\"\nnodes = 16 ", &format!("kind = \"graph\"\nfile = {file:?} "))
        .replace("node = \"0 m\"", "node = \"1 m\"\nswitch = \"1 m\"");
    scratch(&format!("{name}.toml"), &machine).to_str().unwrap().to_owned()
}

#[test]
fn check_of_a_graph_names_the_cable_that_is_missing_and_gives_its_bisection() {
    let cable = |number: usize| {
        let (leaf, spine) = (number / 4, number % 4);
        format!("link leaf{leaf}:{} - spine{spine}:{leaf}\n", 4 + spine)
    };
    let whole = leaf_spine("whole", &(0..16).map(cable).collect::<String>());
    let shown = |machine: &str| stdout(&flitway(&["check", machine]));
    let text = shown(&whole);
    assert!(text.contains("\nbisection: 8 links per rail (full), "), "{text}");
    assert!(text.contains("\nsymmetric: all of a role have the same\n"), "{text}");
    let torn = leaf_spine("torn", &(0..16).filter(|&number| number != 9).map(cable).collect::<String>());
    let text = shown(&torn);
    let docs = include_str!("../../../docs/checks.md");
    let begin = docs.find("Cabling\n4 switches").unwrap();
    let section = docs[begin..].split("```").next().unwrap();
    assert!(text.contains(section), "{text}");
    assert!(text.contains("\nbisection: 7 links per rail (87.5 % of full), "), "{text}");
    let checked = json(&["check", &torn]);
    let cabling = &checked["cabling"];
    assert_eq!(cabling["missing"], serde_json::json!([[2, 5]]));
    assert_eq!((&cabling["symmetric"], &cabling["kinds"]), (&false.into(), &4.into()));
    assert_eq!(checked["facts"]["bisection_is_exact"], true);
    // What a formula joins has no cable missing, and what is drawn at random no more than equal counts.
    assert!(json(&["check", "torus-8x8"]).get("cabling").is_none());
    let random = "topology={kind=\"random-regular\", switches=24, degree=4}";
    let random = ["dawning5000", "--set", random, "--set", "routing={algorithm=\"up-down\"}"];
    let checked = json(&[&["check"], &random[..]].concat());
    let cabling = &checked["cabling"];
    assert_eq!((&cabling["symmetric"], &cabling["kinds"]), (&true.into(), &1.into()));
    assert_eq!(checked["facts"]["bisection_is_exact"], false);
    let text = stdout(&flitway(&[&["check"], &random[..]].concat()));
    assert!(text.contains("\nbisection: at most "), "{text}");
    assert!(text.contains("24 switches like switch 0: each has 1 node, 4 cables to each other\n"), "{text}");
}

/// Nobody has asked for packets of 256 B: of a machine whose MTU is less they are one MTU, and the output says so.
#[test]
fn packets_of_which_nothing_is_said_fit_a_small_mtu() {
    let small = ["hpp-switch", "--set", "packet.mtu=128B"];
    let checked = json(&[&["check"], &small[..]].concat());
    assert_eq!(checked["facts"]["payload_bytes"], 128);
    let shown = stdout(&flitway(&[&["check"], &small[..]].concat()));
    assert!(shown.contains("of a packet of 128 B with nothing in its way"), "{shown}");
    let short = ["--warm-up", "2us", "--duration", "5us"];
    let measured = json(&[&["run"], &small[..], &["--load", "0.1"], &short].concat());
    assert_eq!(measured["points"][0]["packet_bytes"], 128.0);
    for workload in [
        &["--multicast", "all", "--duration", "5us"][..],
        &["--multicast", "all", "--barrier", "all"],
        &["--barrier", "all", "--load", "0.1"],
        &["--train", "0-1"],
    ] {
        let shown = stdout(&flitway(&[&["run"], &small[..], workload].concat()));
        assert!(shown.contains("128B"), "{workload:?}: {shown}");
    }
    // What is asked for is what is meant.
    let refused = flitway(&[&["check"], &small[..], &["--packet", "256B"]].concat());
    assert!(
        stderr(&refused).contains("--packet: `256B`: expected 1 B to the MTU, 128 B"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(json(&["check", "hpp-switch"])["facts"]["payload_bytes"], 256);
}

#[test]
fn check_uses_the_names_of_a_graph_file_and_says_what_it_does_not_compute() {
    scratch(
        "named.graph",
        "switch left right\nnode a b\nlink left:0 - a\nlink right:3 - b\nlink left:1 - right:1\n",
    );
    let machine = include_str!("../../../machines/hpp-switch.toml")
        .replace("kind = \"single\"", "kind = \"graph\"\nfile = \"named.graph\"")
        .lines()
        .filter(|line| !line.starts_with("nodes"))
        .map(|line| {
            if line.starts_with("node =") {
                format!("{line}\nswitch = \"1 m\"\n")
            } else {
                format!("{line}\n")
            }
        })
        .collect::<String>();
    let path = scratch("named.toml", &machine);
    let text = sections(&["check", path.to_str().unwrap()]);
    assert!(
        text.contains(
            "busiest: switch left port 0, switch left port 1, switch right port 1, switch right port 3"
        ),
        "{text}"
    );
    let tree = "topology={kind=\"fat-tree\", ports=16, levels=4}";
    let text = sections(&["check", "dawning5000", "--set", tree]);
    assert!(text.contains("expected loads are not computed: the machine has more than 4096 nodes"), "{text}");
    let alone = sections(&["check", "hpp-switch", "--set", "topology.nodes=1"]);
    assert!(alone.starts_with("a single node has nobody to send to: no deadlock is possible"), "{alone}");
}

#[test]
fn everything_that_is_wrong_is_in_the_json_with_its_place() {
    let refused = |arguments: &[&str]| {
        let output = flitway(&[&["check"], arguments, &["--json", "-"]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(problems(&value), [] as [&str; 0], "{arguments:?}");
        assert_eq!(value.as_object().unwrap().len(), 3, "nothing but diagnostics: {value}");
        (value["diagnostics"].clone(), stderr(&output))
    };
    let machine = include_str!("../../../machines/hpp-switch.toml").replace("ports = 16", "ports = \"é\"");
    let line = 1 + machine.lines().position(|line| line.starts_with("ports = ")).unwrap();
    let path = scratch("diagnosed.toml", &machine);
    let (found, shown) = refused(&[path.to_str().unwrap()]);
    let at = |index: usize, key: &str| found[index][key].clone();
    assert_eq!(found.as_array().unwrap().len(), shown.matches("error[").count(), "{shown}");
    let wrong = found.as_array().unwrap().iter().position(|it| it["code"] == "FW-M019").unwrap();
    let place = ["source", "line", "column", "end_line", "end_column"].map(|key| at(wrong, key));
    let file = Value::from(path.to_str().unwrap());
    assert_eq!(place, [file, line.into(), 9.into(), line.into(), 12.into()], "{found:#}");
    for value in found.as_array().unwrap() {
        assert!(shown.contains(value["message"].as_str().unwrap()), "{value}");
    }

    let (found, _) = refused(&["hpp-switch", "--traffic", "tornadoo", "--packet", "64B"]);
    assert_eq!((&found[0]["source"], &found[0]["severity"]), (&"--traffic".into(), &"error".into()));
    let (found, _) = refused(&["hpp-swich"]);
    assert!(found[0]["help"].as_str().unwrap().contains("hpp-switch"), "{found}");
    let (found, _) = refused(&["hpp-packet-types"]);
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn warnings_are_in_the_json_and_a_right_machine_has_none() {
    assert_eq!(json(&["check", "hpp-switch"])["diagnostics"], serde_json::json!([]));
    let ring = json(&[&["check"], &RING[..]].concat());
    assert_eq!(ring["diagnostics"][0]["code"], "FW-M042");
    assert_eq!(ring["diagnostics"][0]["severity"], "warning");
    assert!(ring["facts"].is_object());
}

#[test]
fn why_a_machine_is_refused_replaces_nothing_but_what_check_wrote() {
    let machine = scratch("refused.toml", "switch = 3\n");
    let machine = machine.to_str().unwrap();
    let check = |json: &str| flitway(&["check", machine, "--json", json]);
    let output = check(machine);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nothing is written: it is there"), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(machine).unwrap(), "switch = 3\n");

    let target = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("refused.json");
    let _ = std::fs::remove_file(&target);
    for _ in 0..2 {
        assert_eq!(check(target.to_str().unwrap()).status.code(), Some(2));
        let text = std::fs::read_to_string(&target).unwrap();
        assert!(text.contains("\"diagnostics\"") && text.contains("refused.toml"), "{text}");
    }
    let right = ["check", "hpp-switch", "--json", target.to_str().unwrap()];
    assert!(flitway(&right).status.success(), "and is replaced by what follows from a machine");
    assert!(std::fs::read_to_string(&target).unwrap().contains("\"facts\""));
}

#[test]
fn a_window_allows_about_as_much_as_is_said_and_no_less() {
    for window in ["2", "7", "8", "12"] {
        let set = format!("switch.link.window={window}");
        let train = ["run", "nrc", "--train", "0-1", "--count", "4000", "--packet", "256B", "--set", &set];
        let output = flitway(&[&train[..], &["--json", "-"]].concat());
        let warning = stderr(&output);
        let said = warning.split("it allows about ").nth(1).and_then(|rest| rest.split(' ').next());
        let said: f64 = said.unwrap_or_else(|| panic!("{warning}")).parse().unwrap();
        let result: Value = serde_json::from_str(&stdout(&output)).unwrap();
        // 9 flits a packet, at 14/33 GHz.
        let full = 4_000.0 * 9.0 * 33.0 / 14.0;
        let share = 100.0 * full / result["points"][0]["train"]["time_ns"].as_f64().unwrap();
        assert!((said - 0.5..said + 6.0).contains(&share), "window {window}: {share} %, {said} % said");
        // What comes one way is acknowledged late, and what links alone would take says so.
        let train = &result["points"][0]["train"];
        let [time, links] = ["time_ns", "pipelined_ns"].map(|key| train[key].as_f64().unwrap());
        assert!((0.85 * links..1.01 * links).contains(&time), "window {window}: {time} ns, {links} ns said");
    }
}

#[test]
fn what_a_hop_and_the_costs_of_a_switch_are_made_of_is_told() {
    let shown = stdout(&flitway(&["check", "nrc", "--set", "switch.pipeline.row=5 cycles"]));
    let hop = shown.lines().find(|line| line.starts_with("a hop: 44 cycles, 103.7 ns")).unwrap();
    let (_, parts) = hop.split_once("(switch.pipeline: ").unwrap();
    let (parts, rest) = parts.split_once(')').unwrap();
    let cycles = parts.split(", ").map(|part| part.split_once(' ').unwrap().1.parse::<u32>().unwrap());
    assert_eq!(
        (cycles.sum::<u32>(), rest.contains("and 8 until all of a packet of 256 B")),
        (44, true),
        "{hop}"
    );
    assert!(shown.contains("\ncrosspoints: inputs of all multiplexers, each one flit wide; "), "{shown}");
    assert!(!stdout(&flitway(&["check", "hpp-switch"])).contains("a hop: "));
}

#[test]
fn a_window_is_named_where_it_is_why_channels_are_full() {
    let shown = |window: &str| {
        let set = format!("switch.link.window={window}");
        stdout(&flitway(&["check", "nrc", "--set", &set]))
    };
    let narrow = shown("4");
    let window = "allow at most 0.5143 of the full rate, and 0.2323 where no packets come the other way";
    assert!(narrow.contains(window) && narrow.contains("full at"), "{narrow}");
    assert!(!shown("64").contains("windows (switch"));
    let checked = json(&["check", "nrc", "--set", "switch.link.window=4"]);
    let allowed = &checked["channel_loads"]["window"];
    assert!(allowed["answered"].as_f64() > allowed["alone"].as_f64(), "{allowed}");
}
