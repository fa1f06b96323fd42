//! `flitway import`: fabrics in every format become machines that can be checked and run; wrong ones are refused with the line.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_refused, flitway, scratch, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};

/// Two leaves with two nodes each and two cables between them, as ibnetdiscover prints it.
const TWO_LEAVES: &str = include_str!("import/two-leaves.ibnetdiscover");

/// The tables of its switches, as `dump_lfts.sh` prints them.
const TWO_LEAVES_TABLES: &str = include_str!("import/two-leaves.lfts");

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Imports `files` with `options`. Gives the folder and the report, once the machine has been checked and has run.
fn imported(name: &str, files: &[(&str, &str)], options: &[&str]) -> (PathBuf, String) {
    let folder = folder(name);
    let paths = files.iter().map(|(name, text)| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name).display().to_string()
    });
    let paths: Vec<String> = paths.collect();
    let out = folder.join("made").display().to_string();
    let options: Vec<String> =
        options.iter().map(|it| it.replace('@', &format!("{}/", folder.display()))).collect();
    let mut arguments = vec!["import"];
    arguments.extend(paths.iter().chain(&options).map(String::as_str));
    arguments.extend(["--out", &out]);
    let output = flitway(&arguments);
    assert!(output.status.success(), "{name}: {}", stderr(&output));
    let machine = format!("{out}.toml");
    for arguments in [
        &["check", &machine][..],
        &["run", &machine, "--load", "0.2", "--warm-up", "1us", "--duration", "3us"],
    ] {
        let output = flitway(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        assert!(arguments[0] != "check" || stderr(&output).is_empty(), "{}", stderr(&output));
    }
    (folder, stdout(&output))
}

fn says(report: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(report.contains(part), "{part:?} in:\n{report}"));
}

#[test]
fn what_ibnetdiscover_prints_becomes_a_machine() {
    let (folder, report) = imported("discover", &[("net.txt", TWO_LEAVES)], &[]);
    says(
        &report,
        &[
            "2 switches, 4 nodes, 6 cables, 2 of them between switches",
            "200 Gbit/s on 5 cables (4xHDR): flits of 16 B, clock 1.5625 GHz",
            "100 Gbit/s on 1 cable (4xEDR): 100 Gbit/s in the graph file",
            "the switch: a tiled switch, whose links may have several rates",
            "1 cable to an aggregation node inside a switch",
            "names    `MF0;leaf-a:MQM8700/U1` is MF0_leaf-a_MQM8700_U1",
            "next     flitway check ",
        ],
    );
    let graph = fs::read_to_string(folder.join("made.graph")).unwrap();
    says(
        &graph,
        &["\nswitch MF0_leaf-a_MQM8700_U1 leaf-b\nnode n1 n2 n3 n4\n", "\nlink leaf-b:1 - n4 100 Gbit/s\n"],
    );
    says(&graph, &["# MF0_leaf-a_MQM8700_U1 is `MF0;leaf-a:MQM8700/U1`\n"]);
}

#[test]
fn tables_of_a_subnet_manager_come_along() {
    let files = [("net.txt", TWO_LEAVES)];
    let path = scratch("two-leaves.lfts", TWO_LEAVES_TABLES);
    let (folder, report) = imported("tables", &files, &["--tables", path.to_str().unwrap()]);
    says(
        &report,
        &["8 entries of forwarding tables", "4 entries for switches themselves", "1 entry for LIDs that"],
    );
    let tables = fs::read_to_string(folder.join("made.tables")).unwrap();
    says(&tables, &["switch leaf-b\nto n3 port 0\nto n4 port 1\nto n1 port 34\nto n2 port 35\n"]);
    let machine = fs::read_to_string(folder.join("made.toml")).unwrap();
    says(&machine, &["algorithm = \"tables\"\nfile = \"made.tables\"\n"]);
}

#[test]
fn a_hole_in_the_tables_is_told_by_import_and_shown_by_check() {
    let holed: String =
        TWO_LEAVES_TABLES.lines().filter(|line| !line.starts_with("0x000d")).collect::<Vec<_>>().join("\n");
    let (net, tables) = (scratch("holed.net", TWO_LEAVES), scratch("holed.lfts", &holed));
    let out = folder("holed").join("h").display().to_string();
    let files = [net.to_str().unwrap(), "--tables", tables.to_str().unwrap()];
    let output = flitway(&[&["import"], &files[..], &["--out", &out]].concat());
    says(
        &stdout(&output),
        &["holes    2 entries missing: `MF0;leaf-a:MQM8700/U1` for `n3`, `leaf-b` for `n3`"],
    );
    assert_refused(&[(&["check", &format!("{out}.toml")], &["FW-M061", "has no port for node n3"])]);
}

#[test]
fn every_generation_of_infiniband_is_a_machine_without_warnings() {
    for rate in ["1xSDR", "4xQDR", "4xFDR10", "4xNDR", "12xXDR"] {
        let net = TWO_LEAVES.replace("4xHDR", rate).replace("4xEDR", rate);
        let (_, report) = imported(&format!("rate-{rate}"), &[("net.txt", &net)], &[]);
        says(&report, &[&format!("on 6 cables ({rate})")]);
    }
}

#[test]
fn cables_of_other_generations_have_rates_of_their_own() {
    for (fast, slow, written) in [
        ("4xEDR", "4xFDR", "54545454.545 kbit/s"),
        ("4xXDR", "1xSDR", "2 Gbit/s"),
        ("12xNDR", "4xQDR", "32 Gbit/s"),
    ] {
        let net =
            TWO_LEAVES.replace("4xHDR", fast).replace("4xEDR", if fast == "4xEDR" { fast } else { slow });
        // One cable, from both of its ends.
        let net = net.replacen(fast, slow, 1);
        let (folder, _) = imported(&format!("mixed-{fast}"), &[("net.txt", &net)], &[]);
        says(&fs::read_to_string(folder.join("made.graph")).unwrap(), &[&format!(" {written}\n")]);
    }
    let same = TWO_LEAVES.replace("4xEDR", "2xNDR");
    let (folder, report) = imported("same", &[("net.txt", &same)], &[]);
    says(&report, &["200 Gbit/s on 1 cable (2xNDR)", "an HPP Switch"]);
    assert!(!fs::read_to_string(folder.join("made.graph")).unwrap().contains("bit/s"));
}

#[test]
fn graphml_takes_rates_there_and_back() {
    let rates = ["--set", "link.rate.level-1=600 Mbit/s"];
    let output = flitway(&[&["export", "sp-switch-16", "--format", "graphml"][..], &rates].concat());
    let text = stdout(&output);
    says(
        &text,
        &["attr.name=\"rate\"", "<data key=\"r\">600 Mbit/s</data>", "<data key=\"r\">1.2 Gbit/s</data>"],
    );
    assert!(!text.contains("<data key=\"b\">"), "both directions are alike");
    let one = text.replacen(
        "<data key=\"r\">600 Mbit/s</data>",
        "<data key=\"r\">600 Mbit/s</data><data key=\"b\">300 Mbit/s</data>",
        1,
    );
    let (folder, report) = imported("rates-back", &[("there.graphml", &one)], &[]);
    says(&report, &["1.2 Gbit/s on 16 cables", "0.6 Gbit/s on 16 cables", "0.3 Gbit/s on 1 cable"]);
    let graph = fs::read_to_string(folder.join("made.graph")).unwrap();
    says(&graph, &[" 600 Mbit/s back 300 Mbit/s class "]);
    let wrong = text.replacen("600 Mbit/s", "600 furlongs", 1);
    let path = scratch("wrong-rate.graphml", &wrong);
    assert_refused(&[(
        &["import", path.to_str().unwrap(), "--out", "x"],
        &["the rate: there is no unit `furlongs`"],
    )]);
}

/// The fabric a second time, as another network of the same nodes.
fn second_plane() -> String {
    TWO_LEAVES.replace("S-00", "S-10").replace("0x00000000000000", "0x10000000000000").replace("H-00", "H-10")
}

#[test]
fn networks_that_are_alike_are_rails() {
    let both = format!("{TWO_LEAVES}\n{}", second_plane());
    let (folder, report) = imported("rails", &[("net.txt", &both)], &[]);
    says(
        &report,
        &["2 switches, 4 nodes, 6 cables", "2 networks that are alike, port by port: as many rails"],
    );
    says(&fs::read_to_string(folder.join("made.toml")).unwrap(), &["\nrails = 2\n"]);
    let files = [("a.txt", TWO_LEAVES), ("b.txt", &second_plane())];
    let (_, report) = imported("rails-files", &files, &[]);
    says(&report, &["as many rails"]);
}

#[test]
fn networks_that_differ_are_no_rails_and_the_largest_stays() {
    let other =
        second_plane().replace("[35]\t\"S-1000000000000002\"[35]", "[34]\t\"S-1000000000000002\"[35]");
    let other = other.replace("[35]\t\"S-1000000000000001\"[35]", "[35]\t\"S-1000000000000001\"[34]");
    assert_ne!(other, second_plane());
    let (_, report) = imported("differ", &[("net.txt", &format!("{TWO_LEAVES}\n{other}"))], &[]);
    says(
        &report,
        &[
            "2 networks that are not alike, so no rails: `MF0;leaf-a:MQM8700/U1` of one and ",
            "2 switches with 4 NIC ports, which no cable joins",
        ],
    );
}

#[test]
fn several_nic_ports_in_one_network_are_nodes_of_their_own() {
    let net = "Switch 8 \"Switch1\"\n[1] \"Hca1\"[1]\n[2] \"Hca1\"[2]\n[3] \"Hca2\"[1]\nHca 2 \"Hca1\"\nHca 2 \"Hca2\"\n";
    let (folder, report) = imported("ports", &[("a.net", net)], &[]);
    says(
        &report,
        &["1 server with several NIC ports in one network, each of which is a node", "`Hca1 p1` is Hca1_p1"],
    );
    let graph = fs::read_to_string(folder.join("made.graph")).unwrap();
    says(&graph, &["node Hca1_p1 Hca1_p2 Hca2\n", "server Hca1_p1 Hca1_p2\n"]);
}

/// Two switches with two nodes each, and a third with one.
const BOOKSIM: &str =
    "router 0 node 0 node 1 router 1 15\nrouter 1 node 2 node 3 router 2\nrouter 2 node 4\n"; // of BookSim

#[test]
fn files_of_another_simulator_keep_their_latencies() {
    let (folder, report) = imported("booksim", &[("anynet", BOOKSIM)], &[]);
    says(&report, &["3 switches, 5 nodes, 7 cables", "a cycle of latency is 128 mm", "400 Gbit/s"]);
    let graph = fs::read_to_string(folder.join("made.graph")).unwrap();
    says(
        &graph,
        &[
            "switch s0 s1 s2\n",
            "node n0 n1 n2 n3 n4\n",
            "link s0:0 - s1:0 1.92 m\n",
            "link s0:1 - n0 12.8 cm\n",
        ],
    );
}

#[test]
fn edges_are_cables_and_vertices_are_nodes_or_switches() {
    let (folder, report) = imported("leaves", &[("net.txt", "a x\na y\na b 3 m\nb z\nb w 1.5\n")], &[]);
    says(&report, &["4 vertices with one edge: nodes", "weights of 1 edge: a length has a unit"]);
    says(
        &fs::read_to_string(folder.join("made.graph")).unwrap(),
        &["switch a b\nnode x y z w\n", " - b:0 3 m\n"],
    );
    let ring = [("net.txt", "0 1\n1 2\n2 0\n")];
    let (folder, report) = imported("ring", &ring, &["--nodes-per-switch", "2"]);
    says(&report, &["3 switches, 6 nodes, 9 cables", "2 nodes of each switch, as asked for", "`0` is s0"]);
    says(&fs::read_to_string(folder.join("made.graph")).unwrap(), &["node n0-n0 n0-n1 n1-n0"]);
}

#[test]
fn a_topology_of_slurm_in_yaml_is_the_same_tree() {
    let text = "---\n# of the cluster\n- topology: gpus\n  block:\n    blocks:\n      - block: b1\n        nodes: n[0-3]\n\
                - topology: fabric\n  cluster_default: true\n  tree:\n    switches:\n      - switch: top\n        \
                children: s[0-1]\n      - switch: s0\n        nodes: n[0-3]\n      - switch: s1\n        nodes: n[4-7]\n";
    let (folder, report) = imported("slurm-yaml", &[("topology.yaml", text)], &[]);
    says(&report, &["3 switches, 8 nodes, 10 cables, 2 of them", "other topologies than `fabric`: 1"]);
    says(&fs::read_to_string(folder.join("made.graph")).unwrap(), &["link s0:0 - n0", "switch top s0 s1\n"]);
}

#[test]
fn a_topology_of_slurm_is_a_tree() {
    let text = "# ours\nSwitchName=s0 Nodes=n[0-3,7]\nSwitchName=s1 Nodes=n[08-10]\nSwitchName=top \\\n Switches=s[0-1]\n";
    let (folder, report) = imported("slurm", &[("topology.conf", text)], &[]);
    says(&report, &["3 switches, 8 nodes, 10 cables, 2 of them", "Slurm does not say how many"]);
    says(&fs::read_to_string(folder.join("made.graph")).unwrap(), &["node n0 n1 n2 n3 n7 n08 n09 n10\n"]);
}

#[test]
fn graphml_says_what_is_a_node_and_how_long_cables_are() {
    let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE graphml>\n<graphml xmlns=\"urn:graphml\">\n\
        <key id=\"d0\" for=\"node\" attr.name=\"label\"/><key id=\"d1\" for=\"node\" attr.name=\"type\"/>\n\
        <key id=\"d2\" for=\"edge\" attr.name=\"length\"/><key id=\"d3\" for=\"node\" attr.name=\"x\"/>\n\
        <graph edgedefault=\"undirected\">\n\
        <node id=\"0\"><data key=\"d0\">Leaf &quot;A&quot;</data><data key=\"d1\">switch</data></node>\n\
        <node id=\"1\"><data key=\"d0\">B</data><data key=\"d1\">Switch</data><data key=\"d3\">7</data></node>\n\
        <node id=\"2\"><data key=\"d0\">h1</data><data key=\"d1\">host</data></node>\n\
        <node id=\"3\"><data key=\"d0\">h2</data><data key=\"d1\">host</data></node>\n\
        <edge source=\"0\" target=\"1\"><data key=\"d2\">12 m</data></edge>\n\
        <edge source=\"0\" target=\"2\"/><edge source=\"3\" target=\"1\"/>\n</graph></graphml>\n";
    let (folder, report) = imported("graphml", &[("net.graphml", text)], &[]);
    says(&report, &["2 switches, 2 nodes, 3 cables", "data `x`, 1 time", "`Leaf \"A\"` is Leaf_A"]);
    says(
        &fs::read_to_string(folder.join("made.graph")).unwrap(),
        &["link Leaf_A:0 - B:0 12 m\n", " - h1\n", "link h2 - B:1\n"],
    );
}

#[test]
fn wrong_inputs_are_refused_with_their_line() {
    let out = folder("wrong").join("x").display().to_string();
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "Switch 8 \"a\"\n[1] \"b\"\n",
            &[],
            &["FW-I001", "wrong-@:2:1", "is not a port", "[PORT] \"ID\"[PORT]"],
        ),
        ("Switch 8 \"a\"\n", &[], &["FW-I002", "it has 1 switch and no nodes"]),
        ("digraph {\n}\n", &[], &["this is a Graphviz file"]),
        ("\u{1}\n", &[], &["this is in no format that is known", "ibnetdiscover", "--format NAME"]),
        (TWO_LEAVES_TABLES, &[], &["these are forwarding tables", "--tables"]),
        ("a b\na b three\n", &[], &["FW-I001", "wrong-@:2:1", "the length", "VERTEX VERTEX [LENGTH]"]),
        ("a b\nb c\nc a\n", &[], &["FW-I002", "it has 3 switches and no nodes", "--nodes-per-switch N"]),
        (
            "SwitchName=a Nodes=n[3-1]\n",
            &[],
            &["wrong-@:1:1", "`n[3-1]` is not a list of names", "such as n[0-3,7]"],
        ),
        (
            "SwitchName=a Nodes=x\nSwitchName=b Switches=aa\n",
            &[],
            &["wrong-@:2:1", "no switch is called `aa`"],
        ),
        ("SwitchName=a Nodes=x\nSwitchName=b Nodes=x\n", &[], &["`x` is below two switches", "first here"]),
        ("BlockName=a Nodes=x\n", &[], &["`BlockName=a` is no key of a switch", "SwitchName=NAME"]),
        ("router 0 node 0\nrouter 1 nodes 1\n", &[], &["wrong-@:2:1", "`nodes` names no switch"]), // of BookSim
        ("router 0 node 0\nrouter 1 node 0\n", &[], &["node 0 has two links", "first here"]), // of BookSim
        ("<graphml>\n<graph>\n<node>\n</graph></graphml>\n", &[], &["wrong-@:4:", "this is not XML"]),
        (
            "<graphml><graph><node id=\"a\"/><node id=\"b\"/>\n<edge source=\"a\" target=\"b\"><data key=\"sourceport\">x</data>\
             </edge></graph></graphml>\n",
            &[],
            &["wrong-@:2:", "the sourceport: `x` is not a port number"],
        ),
        (
            "<graphml><graph><node id=\"a\"/><node id=\"b\"/>\n<edge source=\"a\" target=\"b\"><data key=\"sourceport\">1</data>\
             </edge>\n<edge source=\"a\" target=\"b\"><data key=\"sourceport\">1</data></edge></graph></graphml>\n",
            &[],
            &["wrong-@:3:", "the sourceport: port 1 has a cable already"],
        ),
        ("<graphml>\n</graphml>\n", &[], &["there is no graph in `<graphml>`"]),
        (
            "<graphml><graph><node id=\"aa\"/>\n<edge source=\"aa\" target=\"a\"/></graph></graphml>\n",
            &[],
            &["wrong-@:2:1", "no vertex has the id `a`", "the id of a `<node>`"],
        ),
        ("switch a\nnode n\nlink a:0 - n\n", &[], &["this is a graph file already"]),
        (TWO_LEAVES, &["--nodes-per-switch", "2"], &["this names its nodes"]),
        ("a b\na c\n", &["--tables", "Cargo.toml"], &["this has no LIDs"]),
        (TWO_LEAVES, &["--format", "x"], &["there is no such format", "ibnetdiscover"]),
        (TWO_LEAVES, &["--tables", "Cargo.toml"], &["an entry before the first table", "Unicast lids"]),
    ];
    for (number, (text, options, parts)) in cases.iter().enumerate() {
        let path = scratch(&format!("wrong-{number}"), text).display().to_string();
        let parts: Vec<String> = parts.iter().map(|part| part.replace('@', &number.to_string())).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        assert_refused(&[(&[&["import", &path, "--out", &out], *options].concat(), &parts)]);
    }
    let missing = ["import", "no-such-file", "--out", &out];
    assert_refused(&[(&missing, &["no-such-file", "does not exist"])]);
    let path = scratch("wrong", TWO_LEAVES).display().to_string();
    assert_refused(&[(&["import", &path, "--out", "-"], &["expected a folder or how they begin"])]);
    assert_refused(&[(&["import", &path, "--out", "a b"], &["names no machine", "--out a_b"])]);
    assert!(!Path::new(&format!("{out}.toml")).exists());
}

#[test]
fn no_file_that_is_made_replaces_an_input() {
    let folder = folder("keep");
    let path = folder.join("net.graph");
    fs::write(&path, TWO_LEAVES).unwrap();
    let (input, out) = (path.display().to_string(), folder.display().to_string());
    assert_refused(&[(&["import", &input, "--out", &out], &["would replace an input"])]);
    assert_eq!(fs::read_to_string(&path).unwrap(), TWO_LEAVES);
}

/// Ports, classes, lengths and rates of cables come back too: what is imported is exported as the same text.
#[test]
fn what_is_exported_as_graphml_and_imported_is_exported_as_the_same_text() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-dragonfly/dragonfly-72.toml");
    let folder = folder("round-trip");
    let export = |machine: &str| stdout(&flitway(&["export", machine, "--format", "graphml"]));
    for (machine, name, parts) in [
        ("torus-8x8", "torus-8x8", ["<data key=\"r\">5 Gbit/s</data>", "<data key=\"c\">dimension-1</data>"]),
        (example, "dragonfly-72", ["<data key=\"c\">global</data>", "<data key=\"c\">local</data>"]),
    ] {
        let text = export(machine);
        says(&text, &parts);
        let path = folder.join(format!("{name}.graphml"));
        fs::write(&path, &text).unwrap();
        let out = folder.join(name).display().to_string();
        let output = flitway(&["import", path.to_str().unwrap(), "--out", &out]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!stdout(&output).contains("dropped"), "{}", stdout(&output));
        assert_eq!(export(&format!("{out}.toml")), text, "{name}");
    }
}

/// Where switches are drawn goes out in GraphML and DOT, and comes back from GraphML, if all have a place of their own.
#[test]
fn coordinates_of_switches_go_out_and_come_back() {
    let text = "<graphml><key id=\"x\" for=\"node\" attr.name=\"x\"/><key id=\"y\" for=\"node\" attr.name=\"y\"/>\n<graph>\n\
        <node id=\"a\"><data key=\"x\">-1.5</data><data key=\"y\">2</data></node>\n\
        <node id=\"b\"><data key=\"x\">40</data><data key=\"y\">2</data></node>\n\
        <node id=\"h\"><data key=\"x\">9</data><data key=\"y\">9</data></node><node id=\"i\"/>\n\
        <edge source=\"a\" target=\"b\"/><edge source=\"a\" target=\"h\"/><edge source=\"b\" target=\"i\"/>\n</graph></graphml>\n";
    let (folder, report) = imported("places", &[("net.graphml", text)], &[]);
    says(&report, &["dropped  coordinates of 1 node: nodes are drawn with their switches"]);
    let graph = fs::read_to_string(folder.join("made.graph")).unwrap();
    says(&graph, &["\nat a -1.5 2\nat b 40 2\n"]);
    let machine = folder.join("made.toml").display().to_string();
    let export = |format: &str| stdout(&flitway(&["export", &machine, "--format", format]));
    says(&export("dot"), &["\"a\" [shape=box, pos=\"-1.5,-2!\"];", "\"b\" [shape=box, pos=\"40,-2!\"];"]);
    let exported = export("graphml");
    says(&exported, &["<data key=\"x\">-1.5</data><data key=\"y\">2</data>"]);
    let (folder, _) = imported("places-again", &[("net.graphml", &exported)], &[]);
    says(&fs::read_to_string(folder.join("made.graph")).unwrap(), &["\nat a -1.5 2\nat b 40 2\n"]);
    for (from, to, why) in [
        (">40<", ">-1.5<", "coordinates of 2 switches, where two are in one place"),
        (">40<", ">left<", "coordinates of 1 switch, which not all have"),
    ] {
        let (folder, report) = imported("places-wrong", &[("net.graphml", &text.replace(from, to))], &[]);
        says(&report, &[why]);
        assert!(!fs::read_to_string(folder.join("made.graph")).unwrap().contains("\nat "));
    }
}

/// What is exported as GraphML comes back with all switches, nodes and cables, and their lengths.
#[test]
fn what_is_exported_comes_back() {
    let folder = folder("export");
    let (graphml, slurm) = (folder.join("there.graphml"), folder.join("topology.conf"));
    let export = |format: &str, out: &Path| {
        let out = out.display().to_string();
        let output = flitway(&["export", "fattree-128", "--format", format, "--out", &out]);
        assert!(output.status.success(), "{}", stderr(&output));
        fs::read_to_string(out).unwrap()
    };
    let text = export("graphml", &graphml);
    let (_, report) = imported("export-back", &[("there.graphml", &text)], &[]);
    says(&report, &["taken    80 switches, 128 nodes, 384 cables"]);
    let facts = |machine: &str| {
        let output = flitway(&["check", machine, "--json", "-"]);
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let facts = &json["facts"];
        ["nodes", "switches_per_rail", "links_per_rail", "hops_mean"].map(|key| facts[key].clone())
    };
    let back = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import/export-back/made.toml");
    assert_eq!(facts(&back.display().to_string()), facts("fattree-128"));
    let text = export("slurm", &slurm);
    let (_, report) = imported("export-slurm", &[("topology.conf", &text)], &[]);
    says(&report, &["33 switches, 128 nodes"]);
    let dot = stdout(&flitway(&["export", "fattree-128", "--format", "dot"]));
    assert!(dot.starts_with("graph \"fattree-128\" {") && dot.trim_end().ends_with('}'), "{dot}");
    assert_eq!(dot.matches(" -- ").count(), text_links());
    assert_refused(&[(
        &["export", "fattree-128", "--format", "svg"],
        &["expected one of dot, graphml, slurm"],
    )]);
}

/// Links of a rail of `fattree-128`.
fn text_links() -> usize {
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&flitway(&["check", "fattree-128", "--json", "-"]))).unwrap();
    json["facts"]["links_per_rail"].as_u64().unwrap() as usize
}

/// A list that goes from vertex to vertex names each cable twice.
#[test]
fn cables_that_are_named_from_both_ends_are_there_once() {
    let edges = "a b\nb a\na c\nc a\nb c\nc b\na n0\nn0 a\nb n1\nn1 b\n";
    let (_, report) = imported("twice", &[("twice.txt", edges)], &[]);
    says(
        &report,
        &["3 switches, 2 nodes, 5 cables", "10 edges are 5 cables: each is named from both of its ends"],
    );
    // One that is not named back may as well be a second cable.
    let parallel = "a b\nb a\na c\nb c\na n0\nb n1\n";
    let (_, report) = imported("parallel", &[("parallel.txt", parallel)], &[]);
    says(&report, &["3 switches, 2 nodes, 6 cables"]);
}

#[test]
fn a_machine_that_has_been_edited_is_not_replaced() {
    let (folder, _) = imported("edited", &[("net.txt", TWO_LEAVES)], &[]);
    let (net, out) =
        (folder.join("net.txt").display().to_string(), folder.join("made").display().to_string());
    let again = ["import", &net, "--out", &out];
    assert!(flitway(&again).status.success(), "nothing has changed");
    let machine = folder.join("made.toml");
    let edited = fs::read_to_string(&machine).unwrap() + "# mine\n";
    fs::write(&machine, &edited).unwrap();
    assert_refused(&[(&again, &["it may have been edited", "remove it, or name another place"])]);
    assert_eq!(fs::read_to_string(&machine).unwrap(), edited);
}

/// Tables of two times, or of another time than the cables.
#[test]
fn tables_that_contradict_each_other_are_refused_and_guids_outlast_lids() {
    let folder = folder("contradict");
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name).display().to_string()
    };
    let (net, one) = (write("net.txt", TWO_LEAVES), write("one.lfts", TWO_LEAVES_TABLES));
    let line =
        TWO_LEAVES_TABLES.lines().find(|line| line.contains(" 035 ") && line.contains("Channel")).unwrap();
    let other = write("other.lfts", &TWO_LEAVES_TABLES.replace(line, &line.replace(" 035 ", " 036 ")));
    let out = folder.join("made").display().to_string();
    let both = ["import", &net, "--tables", &one, &other, "--out", &out];
    assert_refused(&[(&both, &["a file before this one has port 35 for this LID"])]);
}

#[test]
fn switches_of_up_to_512_ports_are_tiled_and_larger_ones_refused() {
    let joined = |nodes: u32| {
        let nodes_of_first: String = (0..nodes).map(|node| format!(" node {node}")).collect();
        format!("router 0{nodes_of_first} router 1\nrouter 1 node {nodes}\n") // of BookSim
    };
    let (folder, report) = imported("wide", &[("wide.anynet", &joined(90))], &[]);
    says(&report, &["a tiled switch, as an HPP Switch has 64 ports at most"]);
    let machine = fs::read_to_string(folder.join("made.toml")).unwrap();
    says(&machine, &["architecture = \"tiled\"   # an HPP Switch has 64 ports at most"]);
    let folder = folder.join("too-wide.anynet");
    fs::write(&folder, joined(512)).unwrap();
    let output = flitway(&["import", folder.to_str().unwrap(), "--out", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    says(&stderr(&output), &["needs 513 ports", "at most 512 ports"]);
}

/// Five switches in a ring with a node each, port 1; port 2 leads to port 3 of the next one.
fn ring() -> String {
    let switches = (0..5).map(|it| {
        let (next, before) = ((it + 1) % 5, (it + 4) % 5);
        format!(
            "switchguid=0x1{it}(1{it})\nSwitch 4 \"S-1{it}\" # \"s{it}\" enhanced port 0 lid {} lmc 0\n\
             [1] \"H-2{it}\"[1](3{it}) # \"n{it} HCA-1\" lid {} 4xHDR\n\
             [2] \"S-1{next}\"[3] # \"s{next}\" lid {} 4xHDR\n[3] \"S-1{before}\"[2] # \"s{before}\" lid {} 4xHDR\n\n",
            1 + it,
            11 + it,
            1 + next,
            1 + before,
        )
    });
    let nodes = (0..5).map(|it| {
        format!(
            "caguid=0x2{it}\nCa 1 \"H-2{it}\" # \"n{it} HCA-1\"\n\
             [1](3{it}) \"S-1{it}\"[1] # lid {} lmc 0 \"s{it}\" lid {} 4xHDR\n\n",
            11 + it,
            1 + it,
        )
    });
    switches.chain(nodes).collect()
}

/// Tables of it that lead round in one direction, as OpenSM itself prints them.
fn ring_tables() -> String {
    let of = |here: usize| {
        let entries = (0..5).map(|node| {
            let port = if node == here { 1 } else { 2 };
            format!("0x{:04x} {port:03} # Channel Adapter portguid 0x3{node}: 'n{node} HCA-1'\n", 11 + node)
        });
        let head = format!("Unicast lids [0-15] of switch Lid {} guid 0x1{here} ('s{here}'):\n", 1 + here);
        head + &entries.collect::<String>() + "15 lids dumped\n"
    };
    (0..5).map(of).collect()
}

/// Level i is that of packets of node i, which is in lane 1 behind switch 0.
fn ring_maps() -> String {
    let heading = "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15\n#-----\n";
    let of = |here: usize| {
        let lanes = (0..16).map(|level| if level > 4 { 15 } else { usize::from(here < level) });
        let lanes: String = lanes.map(|lane| format!(" {lane:<2}")).collect();
        let ports = (0..4).flat_map(|to| (0..4).map(move |from| (from, to)));
        let rows = ports.map(|(from, to)| format!("{from:<3} {to:<3} :{lanes}\n")).collect::<String>();
        format!("Switch 0x1{here}, base LID {}, \"s{here}\"\n{heading}{rows}#-----\n\n", 1 + here)
    };
    let of_nic =
        format!("Channel Adapter 0x30, base LID 11, \"n0\"\n{heading}0   0   :{}\n", " 0 ".repeat(16));
    (0..5).map(of).chain([of_nic]).collect()
}

fn ring_records() -> String {
    let of = |source: usize| {
        let paths = (0..5).map(|node| format!("0x{:04X} : {source:<2} : 4   : 12  \n", 11 + node));
        let head =
            format!("Channel Adapter 0x3{source}, base LID {}, \"n{source} HCA-1\", port 1\n", 11 + source);
        format!("{head}# LID  : SL : MTU : RATE\n{}0x0001 : 0  : 4   : 12\n\n", paths.collect::<String>())
    };
    (0..5).map(of).collect()
}

#[test]
fn service_levels_come_along_and_make_a_ring_free_of_deadlock() {
    let paths: String = (0..5)
        .flat_map(|source| (0..5).map(move |node| format!("0x2{source} {} {source}\n", 11 + node)))
        .collect();
    let of = |name: &str, text: &str| scratch(name, text).display().to_string();
    let (tables, maps) = (of("ring.lfts", &ring_tables()), of("opensm-sl2vl.dump", &ring_maps()));
    for (name, levels) in [("ring.records", ring_records()), ("ring.psl", paths)] {
        let options = ["--tables", &tables, &maps, &of(name, &levels)];
        let (folder, report) = imported(name, &[("net.txt", &ring())], &options);
        says(
            &report,
            &[
                "45 rows of maps from service levels to virtual channels, levels of 25 paths",
                "1 row of NIC ports, which have no way to choose",
                "a tiled switch, as what packets of an HPP Switch carry of a way",
            ],
        );
        let made = fs::read_to_string(folder.join("made.tables")).unwrap();
        says(&made, &["from n1 to n0 n2 n3 n4 level 1\n", "\nlevels classes 0 0 0 1 1\n"]);
        says(&fs::read_to_string(folder.join("made.toml")).unwrap(), &["\nvcs = 2\n"]);
        let check = flitway(&["check", &folder.join("made.toml").display().to_string()]);
        says(&stdout(&check), &["free of cyclic dependence: no deadlock is possible"]);
    }
    // Without levels all are in one class.
    let (net, out) = (of("ring.net", &ring()), folder("ring-bare").join("made").display().to_string());
    let output = flitway(&["import", &net, "--tables", &tables, "--out", &out]);
    assert!(output.status.success(), "{}", stderr(&output));
    let check = flitway(&["check", &format!("{out}.toml")]);
    says(&stdout(&check), &["cyclic dependence"]);
    assert!(!stdout(&check).contains("free of cyclic dependence"), "{}", stdout(&check));
    let alone = ["import", &net, "--tables", &maps, "--out", &out];
    assert_refused(&[(&alone, &["service levels without forwarding tables"])]);
}
