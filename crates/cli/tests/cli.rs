//! `flitway` as a user and a script meet it: what is printed, what is written, the exit status.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const QUICK: [&str; 6] = ["--load", "0.2,0.5", "--warm-up", "5us", "--duration", "20us"];

const GRAPH: &str = "num_ranks 2
rank 0 {\na: calc 1000\nb: send 5000b to 1 tag 3\nb requires a\n}
rank 1 {\na: recv 5000b from 0 tag 3\nb: calc 500\nb requires a\n}\n";

#[test]
fn results_keep_to_the_schema() {
    let result = json(&[&["run", "hpp-switch"], &QUICK[..]].concat());
    assert_valid(&result);
    assert_eq!(result["points"].as_array().unwrap().len(), 2);
    assert_eq!(result["machine"]["name"], "hpp-switch");
    assert_valid(&json(&["run", "hpp-switch", "--load", "max", "--duration", "20us"]));
    let answered =
        ["run", "hpp-switch", "--traffic", "uniform(reply=64B)", "--outstanding", "4", "--load", "0.1"];
    let result = json(&answered);
    assert_valid(&result);
    let (of, latency) = (&result["points"][0]["reply"], &result["points"][0]["packet_latency_ns"]["mean"]);
    assert!(of["round_trip_latency_ns"]["mean"].as_f64() > latency.as_f64(), "{of}");
    assert_eq!(result["workload"]["outstanding"], "4");
    let multicast =
        ["run", "fattree-128", "--multicast", "random(members=9)", "--load", "0.2", "--duration", "20us"];
    let result = json(&multicast);
    assert_valid(&result);
    let of = &result["points"][0]["multicast"];
    // 16 groups of 9, nearly at rest: the last copy comes a little later than the closed form.
    let (theory, median) = (&of["zero_load_last_copy_ns"], &of["last_copy_latency_ns"]["p50"]);
    assert!(median.as_f64() > theory.as_f64() && of["missed"] == 0, "{of}");
    assert_valid(&json(&[
        "run",
        "hpp-switch",
        "--multicast",
        "broadcast",
        "--by",
        "binomial",
        "--overheads",
    ]));
    let barrier = ["run", "hpp-switch", "--barrier", "all", "--interval", "2us", "--duration", "200us"];
    let lose = ["--lose", "combine(at=switch 0 port 5, nth=3)", "--lose", "any(at=node 7)", "--load", "0.2"];
    let result = json(&[&barrier[..], &lose].concat());
    assert_valid(&result);
    let of = &result["points"][0]["barrier"];
    assert_eq!(
        (&of["packets"]["lost_by_fault"], &of["recovery"]["operations"]),
        (&2.into(), &2.into()),
        "{of}"
    );
    assert!(of["latency_ns"]["p50"].as_f64() > of["zero_load_latency_ns"].as_f64(), "{of}");
    assert_valid(&json(&[&barrier[..], &["--by", "pairwise", "--overheads"]].concat()));
    let train = |set: &str| {
        let arguments =
            ["run", "fattree-128", "--train", "0-127", "--count", "500", "--packet", "64B", "--set", set];
        let result = json(&arguments);
        assert_valid(&result);
        let of = |field: &str| result["points"][0]["train"][field].as_f64().unwrap();
        // Links set the pace, and now and then an advert is in the way.
        assert!((1.0..1.1).contains(&(of("time_ns") / of("pipelined_ns"))), "{result}");
        of("time_ns")
    };
    assert!(train("rails=1") / train("rails=2") > 1.9);
    let graph = scratch("schema.goal", GRAPH);
    let result = json(&["run", "dawning5000", "--graph", graph.to_str().unwrap()]);
    assert_valid(&result);
    // 1,000 ns of calc, o_s and o_r of 700 ns, 500 ns of calc, and the network: 5 packets over 4 rails.
    let completion = result["points"][0]["graph"]["completion_ns"].as_f64().unwrap();
    assert!((2_900.0 + 5_000.0..2_900.0 + 15_000.0).contains(&completion), "{completion}");
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let (_, sample) = readme.split_once("$ flitway run ").unwrap();
    let (command, shown) = sample.split_once('\n').unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let output = flitway(&[&["run"], &command.split(' ').collect::<Vec<_>>()[..]].concat());
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with(shown.trim_end()), "the README shows what is printed:\n{printed}");
}

#[test]
fn a_tiny_load_is_shown_as_it_is_offered() {
    let output =
        flitway(&["run", "hpp-switch", "--load", "0.0001,0.1", "--warm-up", "0us", "--duration", "1ms"]);
    let text = stdout(&output);
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("offered")).skip(1).collect();
    assert!(rows[0].starts_with(" 0.0001  0.0") && rows[1].starts_with("  0.100    0.1"), "{text}");
}

#[test]
fn a_saturated_point_says_which_stage_limits_it() {
    let limit = |arguments: &[&str], duration: &str| {
        let result = json(&[&["run"], arguments, &["--warm-up", "200us", "--duration", duration]].concat());
        assert_valid(&result);
        let point = &result["points"][0];
        assert_eq!(point["verdict"], "saturated");
        (point["limit"].as_str().unwrap().to_owned(), point["channel_load"].clone())
    };
    let hot = ["fattree-128", "--traffic", "hotspot(nodes=5, fraction=20%)", "--load", "0.5"];
    let (by, loads) = limit(&hot, "100us");
    assert_eq!((by.as_str(), &loads["busiest"][0]["to"]["node"]), ("ejection", &Value::from(5)));
    let one_fifo = ["hpp-switch", "--set", "switch.vcs=1", "--load", "0.9"];
    assert_eq!(
        limit(&one_fifo, "100us").0,
        "arbitration",
        "head-of-line blocking leaves every channel idle at times"
    );
    // Eleven flits in turn, two of them adverts.
    let short = ["hpp-switch", "--traffic", "bit-complement", "--packet", "8B", "--load", "0.9"];
    assert_eq!(limit(&short, "100us").0, "injection");
    // Adverts take three hundredths of the links, which is not seen at once.
    assert_eq!(limit(&["hpp-switch", "--traffic", "transpose", "--load", "max"], "3ms").0, "injection");
    // Some nodes next to their partner happen to be sent almost all that their channel carries, and receive it.
    for seed in ["1", "2", "3", "4"] {
        let crowded = ["mesh-8x8", "--traffic", "transpose", "--load", "0.9", "--seed", seed];
        let (by, loads) = limit(&crowded, "100us");
        assert_eq!(by, "network", "seed {seed}");
        let class = |channel: &Value| channel["class"].as_str().unwrap().to_owned();
        let mut classes = loads["busiest"].as_array().unwrap().iter().map(class);
        assert!(classes.any(|class| class.starts_with("dimension")), "{loads}");
    }
}

/// It accepts 0.83 for ever.
#[test]
fn a_point_that_is_probably_saturated_says_so_with_both_numbers() {
    let arguments = ["run", "hpp-switch", "--load", "0.84", "--warm-up", "500us", "--duration", "3ms"];
    let result = json(&arguments);
    assert_valid(&result);
    let point = &result["points"][0];
    assert_eq!([&point["verdict"], &point["unsettled"]], ["unsettled", "growing"]);
    let shown = |field: &str| format!("{:.4}", point[field].as_f64().unwrap());
    let expected =
        format!("created {}, accepted {}: source queues grow", shown("created_load"), shown("accepted_load"));
    let text = stdout(&flitway(&arguments));
    assert!(text.contains(&expected) && text.contains("probably saturated"), "{text}");
}

#[test]
fn results_do_not_depend_on_threads_and_repeat() {
    let run = |threads: &str, seed: &str| {
        let arguments = ["run", "fattree-128", "--traffic", "uniform", "--threads", threads, "--seed", seed];
        reproducible(json(&[&arguments, &QUICK[..]].concat()))
    };
    let one = run("1", "1");
    assert_eq!(one, run("1", "1"));
    assert_eq!(one, run("2", "1"));
    assert_eq!(one, run("4", "1"));
    assert_ne!(one["points"], run("1", "2")["points"]);
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let path = scratch("result.json", "before");
    let name = path.to_str().unwrap();
    let wrong = flitway(&["run", "hpp-switch", "--load", "often", "--json", name]);
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before", "wrong input overwrites nothing");
    let right = flitway(&[&["run", "hpp-switch", "--json", name], &QUICK[..]].concat());
    assert!(right.status.success());
    assert!(
        stdout(&right).contains("creation to last flit delivered"),
        "the definition stands beside the number"
    );
    assert_valid(&serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap());
    let folder = flitway(&["run", "hpp-switch", "--json", env!("CARGO_TARGET_TMPDIR")]);
    assert_eq!(folder.status.code(), Some(2));
    assert!(stderr(&folder).contains("this is a folder"));
    let nowhere = flitway(&["run", "hpp-switch", "--json", "no/such/folder/x.json"]);
    assert!(stderr(&nowhere).contains("cannot write there"), "{}", stderr(&nowhere));
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_written_to_and_a_link_is_followed() {
    use std::os::unix::fs::FileTypeExt;
    let run = |name: &str| flitway(&[&["run", "hpp-switch", "--json", name], &QUICK[..]].concat());
    assert!(run("/dev/null").status.success());
    assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = run("/dev/full");
    assert_eq!(full.status.code(), Some(2));
    assert!(stderr(&full).contains("--json /dev/full: cannot write"), "{}", stderr(&full));
    let (file, link) = (scratch("linked.json", ""), scratch("link.json", ""));
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(run(link.to_str().unwrap()).status.success());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_valid(&serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap());
}

#[test]
fn a_result_is_written_even_when_nobody_reads_the_table() {
    let path = scratch("unread.json", "");
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitway"));
    command.args(["run", "hpp-switch", "--json", path.to_str().unwrap()]).args(QUICK);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_valid(&serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap());
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_it_has_and_says_so() {
    for signal in ["-INT", "-TERM"] {
        let path = scratch(&format!("interrupted{signal}.json"), "");
        let mut command = Command::new(env!("CARGO_BIN_EXE_flitway"));
        command.args(["run", "dawning5000", "--load", "0.1,0.8", "--precision", "0.001%", "--json"]);
        let mut child = command.arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The heading is printed when the first point begins; then there is somebody to listen.
        let mut heading = String::new();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
        while !heading.starts_with("offered") {
            heading.clear();
            assert!(std::io::BufRead::read_line(&mut lines, &mut heading).unwrap() > 0);
        }
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut lines, &mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("interrupted"));
        assert!(rest.contains("interrupted before the precision was reached"), "{rest}");
        let result: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_valid(&result);
        assert_eq!(result["points"][0]["verdict"], "stopped");
    }
}

#[test]
fn every_wrong_argument_has_its_message_and_status_2() {
    let sizes = scratch("sizes.txt", "64 1\nbig 2\n");
    let sizes = format!("file({})", sizes.display());
    let placement = scratch("placement.txt", "0 99999\n");
    let graph = scratch("fine.goal", GRAPH);
    let broken =
        scratch("broken.goal", "num_ranks 2\nrank 0 {\na: sned 5b to 1\n}\nrank 1 {\nb: recv 5b from 7\n}\n");
    let (placement, graph, broken) =
        (placement.to_str().unwrap(), graph.to_str().unwrap(), broken.to_str().unwrap());
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["run", "dawning500"],
            &["there is no built-in machine `dawning500`", "did you mean `dawning5000`"],
        ),
        (&["run", "nowhere.toml"], &["nowhere.toml", "expected: the path of a machine file"]),
        (&["run", "dawning5000.toml"], &["did you mean the built-in machine `dawning5000`?"]),
        (&["run", "hpp-switch", "--set", "switch.vc=2"], &["did you mean `switch.vcs`"]),
        (&["run", "hpp-switch", "--traffic", "tornadoo"], &["did you mean `tornado`"]),
        (&["run", "hpp-switch", "--traffic", "hotspot(fraction=2)"], &["--traffic", "`fraction`"]),
        (&["run", "hpp-switch", "--packet", "256"], &["--packet", "with a unit", "did you mean `256B`?"]),
        (&["run", "hpp-switch", "--packet", "2KiB"], &["--packet", "1024"]),
        (&["run", "hpp-switch", "--packet", "256KB"], &["--packet"]),
        (&["run", "hpp-switch", "--packet", &sizes], &["--packet", "big"]),
        (
            &["run", "hpp-switch", "--packet", "file(none.txt)"],
            &["none.txt: cannot read", "expected numbers"],
        ),
        (&["run", "hpp-switch", "--arrival", "randomly"], &["--arrival", "bernoulli"]),
        (&["run", "hpp-switch", "--arrival", "bursts(length=3)"], &["--arrival", "`length`"]),
        (
            &["run", "hpp-switch", "--arrival", "saturating", "--load", "0.3"],
            &["--arrival", "have no load", "--load max"],
        ),
        (&["run", "hpp-switch", "--json", ""], &["--json", "the name is empty"]),
        (&["run", "hpp-switch", "--load", "0"], &["--load", "above 0"]),
        (&["run", "hpp-switch", "--load", "0.1..0.9"], &["no step"]),
        (&["run", "hpp-switch", "--load", "1e9"], &["--load: `1e9` is no load", "above 0 and up to 10"]),
        (&["run", "hpp-switch", "--precision", "2"], &["--precision", "between 0 and 1"]),
        (&["run", "hpp-switch", "--warm-up", "5"], &["--warm-up", "unit"]),
        (&["run", "hpp-switch", "--duration", "5 lightyears"], &["--duration"]),
        (
            &["run", "hpp-switch", "--duration", "0us"],
            &["--duration: `0us` is no time to measure", "write a time such as `100 us`"],
        ),
        (&["run", "hpp-switch", "--threads", "0"], &["--threads"]),
        (&["run", "hpp-switch", "--seed", "x"], &["--seed"]),
        (&["run", "hpp-switch", "--laod", "0.3"], &["--load"]),
        (&["run", "hpp-switch", "--graph", graph, "--precision", "1%"], &["--graph", "--precision"]),
        (&["run", "hpp-switch", "--graph", graph, "--by", "hardware"], &["--graph", "--by"]),
        (&["run", "hpp-switch", "--placement", "linear"], &["--graph"]),
        (
            &["run", "hpp-switch", "--graph", "none.goal"],
            &["none.goal: cannot open", "expected a task graph"],
        ),
        (
            &["run", "hpp-switch", "--graph", broken],
            &["broken.goal:3:4", "sned", "broken.goal:6", "error[goal-"],
        ),
        (&["run", "hpp-switch", "--graph", graph, "--placement", placement], &["--placement", "99999"]),
        (
            &["run", "hpp-switch", "--graph", graph, "--placement", "nofile"],
            &["expected `linear`, `random`, `block`, `cyclic` or a file"],
        ),
        (&["run", "hpp-switch", "--traffic", "transpose", "--set", "topology.nodes=12"], &["transpose"]),
        (&["simulate"], &["simulate"]),
    ];
    assert_refused(cases);
}

#[test]
fn every_wrong_placement_has_its_message_and_status_2() {
    let graph = scratch("placed.goal", GRAPH);
    let graph = graph.to_str().unwrap();
    let with = |placement: &str, says: &[&str]| {
        let arguments = ["run", "hpp-switch", "--graph", graph, "--placement", placement];
        assert_refused(&[(&arguments, says)]);
    };
    with("cylic(switches)", &["cylic(switches): cannot read", "did you mean `cyclic`?"]);
    with("cyclic(groups)", &["the machine is not divided into `groups`", "nodes, switches"]);
    with("cyclic(swiches)", &["did you mean `switches`?"]);
    with("block", &["`block` needs `parts`"]);
}

#[test]
fn every_wrong_question_has_its_message_and_status_2() {
    let graph = scratch("no-result.goal", GRAPH);
    let graph = graph.to_str().unwrap();
    assert_refused(&[
        (&["list", "machine"], &["there is no list of `machine`", "did you mean `machines`?"]),
        (&["check", "hpp-switch", "--load", "0.3"], &["tip: `--load` is an option of `flitway run`"]),
        (&["explain", "--nothing"], &["there is nothing to explain named `--nothing`"]),
        (&["list", "planets"], &["there is no list of `planets`", "machines"]),
        (&["explain", "switch.vsc"], &["did you mean `switch.vcs`"]),
        (&["explain", "FW-M999"], &["there is no code `FW-M999`", "expected: a code from FW-M001 to"]),
        (&["compare", "a.json", "b.json"], &["a.json: cannot read", "expected a result"]),
        (&["compare", graph, graph], &["this is no JSON"]),
    ]);
}

#[test]
fn every_wrong_matrix_has_its_message_and_status_2() {
    let matrix = scratch("wrong-matrix.txt", "0 1 -2\n1 nan 0\n1 1\n");
    let matrix = format!("matrix({})", matrix.display());
    let small = scratch("small-matrix.txt", "0 1\n1 0\n");
    let small = format!("matrix(file={})", small.display());
    assert_refused(&[
        (&["run", "hpp-switch", "--traffic", "matrix"], &["--traffic", "`matrix` needs `file`"]),
        (&["run", "hpp-switch", "--traffic", "matrix(none.txt)"], &["--traffic: none.txt: cannot read"]),
        (
            &["run", "hpp-switch", "--traffic", &matrix],
            &["node 2 cannot be `-2`", "node 1 cannot be `nan`", "line 3 has 2 weights, and line 1 has 3"],
        ),
        (&["run", "hpp-switch", "--traffic", &small], &["a line for each of 16 nodes, and the file has 2"]),
    ]);
}

#[test]
fn a_newcomer_is_told_what_to_do_instead() {
    let omega = ["run", "sp-omega-64", "--multicast", "fresh(4)"];
    assert_refused(&[
        (&["run", "hpp"], &["did you mean `hpp-switch`?"]),
        (&["check", "."], &["`.` is a directory"]),
        (&["run", "hpp-vcs"], &["`hpp-vcs` is an experiment", "flitway run --experiment hpp-vcs"]),
        (&["check", "../../experiments/hpp-vcs.toml"], &["is an experiment, and no machine"]),
        (&["run", "hpp-switch", "--load", "0.1..0.9:1e-9"], &["`1e-9`: a step is a decimal number"]),
        (&["run", "--experiment", ".."], &["`..` is a directory", "the path of an experiment file"]),
        (
            &["run", "hpp-switch", "--experiment", "hpp-vcs"],
            &["names its machines itself: leave the machine out"],
        ),
        (
            &["run", "hpp-switch", "--multicast", "broadcast", "--by", "ranges"],
            &[
                "--by: ranges of nodes go up to a root that covers them, and only a fat tree has several",
                "use `--by hardware`, or a fat tree",
            ],
        ),
        (&["run", "hpp-switch", "--load", "-0.1"], &["--load", "`-0.1`: a load is above 0"]),
        (&["run", "hpp-switch", "--load", "0.1..0.9:0"], &["`0`: a step is above 0"]),
        (&["run", "hpp-switch", "--warm-up", "-5us"], &["--warm-up: `-5us` is below zero"]),
        (&["run", "hpp-switch", "--precision", "-2%"], &["--precision: `-2%`", "between 0 and 1"]),
        (&["run", "hpp-switch", "--packet", "-64B"], &["--packet", "`-64B`"]),
        (&["run", "hpp-switch", "--duration", "5", "us"], &["a value of two words is put in quotes: '5 us'"]),
        (&["run", "hpp-switch", "--set", "rails", "2"], &["an override has a `=`: --set rails=2"]),
        (&["run", "hpp-switch", "--load", "0.1,30"], &["--load: `30`", "did you mean `30%`?"]),
        (&["run", "hpp-switch", "--precision", "5"], &["--precision: `5`", "did you mean `5%`?"]),
        (&["run", "--duration", "5", "us", "hpp-switch"], &["in quotes: '5 us'"]),
        (&["run", "hpp-switch", "--set", "switch.buffer=4", "KiB"], &["in quotes: 'switch.buffer=4 KiB'"]),
        (
            &["run", "hpp-switch", "--lose", "any(at=node 7)"],
            &["--lose: `lose` is an option of barriers", "`--barrier all`"],
        ),
        (
            &["run", "hpp-switch", "--root", "llp"],
            &["--root: ", "of multicast", "as in `--multicast broadcast`"],
        ),
        (&["run", "hpp-switch", "--threads", "-1"], &["--threads", "-1 is not in 1..=256"]),
        (&["run", "hpp-switch", "--seed", "-1"], &["--seed", "a whole number from 0"]),
        (&["run", "hpp-switch", "--traffic", "matrix(a,b.txt)"], &["`b.txt`", "in double quotes"]),
        (&["run", "hpp-switch", "--traffic", "matrix(a(1).txt)"], &["in double quotes"]),
        (&["run", "hpp-switch", "--traffic", "matrix(\"a,(1).txt\")"], &["a,(1).txt: cannot read"]),
        (&[&omega[..], &["--root", "llp"]].concat(), &["--root: worms"]),
        (&[&omega[..], &["--by", "ranges"]].concat(), &["--by: a worm"]),
        (
            &["check", "hpp-switch", "--set", "topology.kind=omega"],
            &["save `flitway explain hpp-switch` as a file and change that"],
        ),
    ]);
    for (set, wrong) in [("foo=bar", "did you mean"), ("packet.header=70", "write \"70 flits\"")] {
        let output = flitway(&["check", "hpp-switch", "--set", set]);
        assert!(!stderr(&output).contains(wrong), "{}", stderr(&output));
    }
}

/// Without header and trailer, and with a payload of a flit, as simulators have it that count packets.
#[test]
fn packets_may_be_one_flit_long() {
    let format = [
        "packet.header=0 flits",
        "packet.trailer=0 flits",
        "packet.flit=64 B",
        "switch.credit.advert=0 flits",
    ];
    for machine in ["mesh-8x8", "sp-switch-16"] {
        let sets = format.iter().take(if machine == "mesh-8x8" { 4 } else { 3 });
        let sets: Vec<&str> = sets.flat_map(|set| ["--set", set]).collect();
        let run =
            ["run", machine, "--load", "0.01", "--packet", "64B", "--warm-up", "2us", "--duration", "200us"];
        let result = json(&[&run[..], &sets].concat());
        let point = &result["points"][0];
        let hops = |key: &str| point[key].as_f64().unwrap();
        // A flit for each packet and hop.
        assert_eq!(hops("flit_hops"), hops("packet_hops"), "{machine}");
        let zero_load = point["theory"]["zero_load_latency_ns"].as_f64().unwrap();
        let latency = point["packet_latency_ns"]["mean"].as_f64().unwrap();
        assert!((latency / zero_load - 1.0).abs() < 0.02, "{machine}: {latency} ns of {zero_load} ns");
        assert!((hops("accepted_load") / 0.01 - 1.0).abs() < 0.1, "{machine}: {point}");
    }
}

#[test]
fn a_machine_that_was_changed_is_not_described_by_its_file() {
    let headline = |arguments: &[&str]| {
        let output = flitway(&[&["check", "sp-omega-64"], arguments].concat());
        stdout(&output).lines().next().unwrap().to_owned()
    };
    assert!(headline(&[]).starts_with("sp-omega-64: 64 nodes, an omega network"));
    let sets = ["--set", "topology.kind=butterfly", "--set", "packet.mtu=\"256 B\""];
    assert_eq!(headline(&sets), "sp-omega-64 with topology.kind=butterfly, packet.mtu=256 B");
}

#[test]
fn a_name_of_several_things_is_explained_as_each_of_them() {
    for (name, meanings) in [
        ("butterfly", ["butterfly (traffic pattern): ", "topology.kind = \"butterfly\""]),
        ("matrix", ["matrix (traffic pattern): ", "switch.arbiter = \"matrix\""]),
        ("random", ["random (kind of group): ", "random (the root of a multicast): "]),
        ("Saturated", ["saturation, saturated: packets are created faster", "saturated, verdict (field): "]),
        ("network", ["network latency: head leaves the source", "(What limits a saturated point, limit): "]),
    ] {
        let text = stdout(&flitway(&["explain", name]));
        assert!(meanings.iter().all(|meaning| text.contains(meaning)), "{name}: {text}");
    }
}

#[test]
fn a_graph_says_how_busy_channels_were() {
    let path = scratch("busy.goal", GRAPH);
    let path = path.to_str().unwrap();
    let result = json(&["run", "hpp-switch", "--graph", path]);
    let load = &result["points"][0]["channel_load"];
    let sum = |stage: &str| load[stage]["mean"].as_f64().unwrap() * load[stage]["channels"].as_f64().unwrap();
    let busiest = &load["busiest"];
    // All that node 0 sends crosses one switch to node 1, and nothing else is sent.
    let [sent, received] = [0, 1].map(|index| busiest[index]["load"].as_f64().unwrap());
    assert!(sent > 0.0 && sent < 1.0 && (sent - received).abs() < 1e-12, "{busiest}");
    assert!((sum("injection") - sent).abs() < 1e-12 && (sum("ejection") - sent).abs() < 1e-12, "{load}");
    let ends: Vec<_> =
        (0..2).flat_map(|it| [&busiest[it]["from"]["node"], &busiest[it]["to"]["node"]]).collect();
    assert!(ends.contains(&&Value::from(0)) && ends.contains(&&Value::from(1)), "{busiest}");
    assert_eq!(busiest[2]["load"], 0.0, "{busiest}");
    let text = stdout(&flitway(&["run", "hpp-switch", "--graph", path]));
    assert!(text.contains("busiest channel: ") && text.contains("into nodes"), "{text}");
}

#[test]
fn the_load_of_a_channel_is_over_the_time_of_the_graph() {
    // A packet of 1 KiB is 512 flits, with header and trailer 517; a flit is 2 B at 5 Gbit/s, so a cycle is 3.2 ns.
    let one = "num_ranks 2\nrank 0 {\nsend 1024b to 1\n}\nrank 1 {\nrecv 1024b from 0\n}\n";
    let path = scratch("one-packet.goal", one);
    let result = json(&["run", "hpp-switch", "--graph", path.to_str().unwrap()]);
    let point = &result["points"][0];
    let cycles = point["graph"]["completion_ns"].as_f64().unwrap() / 3.2;
    let load = point["channel_load"]["busiest"][0]["load"].as_f64().unwrap();
    assert!(cycles > 517.0 && (load - 517.0 / cycles).abs() < 1e-9, "{load} in {cycles} cycles");

    // What cannot finish has no end that channels were busy until.
    let never =
        scratch("no-end.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1\nrecv 8b from 1\n}\nrank 1 {\n}\n");
    let output = flitway(&["run", "hpp-switch", "--graph", never.to_str().unwrap(), "--json", "-"]);
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_valid(&result);
    assert!(result["points"][0].get("channel_load").is_none(), "absent means not measured");
}

#[test]
fn words_of_the_field_are_answered() {
    let words = [
        ("dragonfly", "topology.groups"),
        ("leaf-spine", "xgft"),
        ("hypercube", "hyperx"),
        ("UGAL", "routing.algorithm"),
        ("flowlet", "not modelled"),
        ("incast", "hotspot"),
        ("PFC", "credits keep every buffer from overflowing"),
        ("o_s", "nic.send_overhead"),
        ("bisection", "theory.bisection_bound"),
    ];
    let phrases = [
        ("source queue", "wait in a NIC port for its link"),
        ("credit return", "receiver has room again"),
        ("channel load", "flits per cycle"),
        ("head leaves the source", "network latency"),
    ];
    assert_eq!(
        stdout(&flitway(&["explain", "source", "queue"])),
        stdout(&flitway(&["explain", "source queue"]))
    );
    for (word, meaning) in words.into_iter().chain(phrases) {
        let text = stdout(&flitway(&["explain", word]));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(meaning), "{word}: {text}");
    }
}

#[test]
fn a_graph_that_cannot_finish_is_a_fault_with_its_witness() {
    let goal = "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 1\nb: send 8b to 1 tag 2\nb requires a\n}
rank 1 {\na: recv 8b from 0 tag 2\nb: send 8b to 0 tag 1\nb requires a\n}\n";
    let path = scratch("stuck.goal", goal);
    let output = flitway(&["run", "hpp-switch", "--graph", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains("rank 0 a: recv 8b from 1 tag 1"), "{message}");
    assert!(message.contains("rank 1 a: recv 8b from 0 tag 2"), "{message}");
    let unmatched =
        scratch("unmatched.goal", "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\n}\nrank 1 {\n}\n");
    let output = flitway(&["run", "mesh-8x8", "--graph", unmatched.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("arrived, never received"), "{}", stderr(&output));
}

#[test]
fn a_deadlock_is_a_fault_with_its_witness() {
    let torus =
        ["run", "torus-8x8", "--set", "routing.dateline=false", "--traffic", "tornado", "--load", "max"];
    let one_by_one = ["run", "hpp-switch", "--multicast", "random(members=5)", "--multicast-load", "0.4"];
    let gathering = ["--set", "switch.multicast.gathering=one-by-one"];
    let time = ["--duration", "100us", "--json", "-"];
    for (arguments, need) in [
        ([&torus[..], &time].concat(), "room for 4 credit units on VC"),
        ([&one_by_one[..], &gathering, &time].concat(), "which is kept for the packet at input port"),
    ] {
        let output = flitway(&arguments);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("fault: packets wait for each other for ever"),
            "{}",
            stderr(&output)
        );
        let result: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_valid(&result);
        let point = &result["points"][0];
        assert_eq!(point["verdict"], "deadlock");
        let ring = point["deadlock"].as_array().unwrap();
        assert!(
            ring.len() >= 2 && ring.iter().all(|it| it["needs"].as_str().unwrap().contains(need)),
            "{ring:?}"
        );
    }
}

/// Settings name them as their source.
#[test]
fn design_values_and_open_questions_are_explained() {
    for (id, parts) in [
        (
            "P-QS-043",
            ["P-QS-043, a design value", "that command queue alone in error (qsnet2.txt, Command queues)"],
        ),
        ("oq-d3", ["OQ-D3, an open question: the buffer of", "unless a setting says otherwise: 4 KiB"]),
    ] {
        let text = stdout(&flitway(&["explain", id])).replace("\n  ", " ");
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    assert_refused(&[(&["explain", "OQ-D"], &["OQ-D"])]);
    let noise = stdout(&flitway(&["explain", "noise"]));
    assert!(noise.contains("noise (of a NIC operation)"), "{noise}");
}

#[test]
fn everything_listed_can_be_explained_and_every_machine_checks() {
    let listed = stdout(&flitway(&["list"]));
    let names: Vec<&str> = listed
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names.iter().chain(&["torus", "matrix", "d-mod-k", "switch", "FW-M013"]) {
        assert!(flitway(&["explain", name]).status.success(), "{name}");
    }
    let machines = stdout(&flitway(&["list", "machines"]));
    let machines: Vec<&str> = machines
        .lines()
        .filter(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(machines.contains(&"torus-8x8") && machines.len() >= 7);
    for machine in machines {
        assert!(flitway(&["check", machine]).status.success(), "{machine}");
    }
}

#[test]
fn two_results_are_compared_with_the_settings_that_differ() {
    let path =
        |name: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().to_owned();
    let (a, b) = (path("compare-a.json"), path("compare-b.json"));
    assert!(flitway(&[&["run", "hpp-switch", "--json", &a], &QUICK[..]].concat()).status.success());
    let other = ["run", "hpp-switch", "--set", "switch.vcs=1", "--json", &b];
    assert!(flitway(&[&other, &QUICK[..]].concat()).status.success());
    let output = flitway(&["compare", &a, &b]);
    let text = stdout(&output);
    assert!(text.contains("switch.vcs: 3 -> 1") && text.contains("latency ns"), "{text}");
    assert!(!text.contains("workloads that differ"), "{text}");
    let c = path("compare-c.json");
    let other =
        ["run", "hpp-switch", "--traffic", "tornado", "--seed", "5", "--load", "0.5,0.99", "--json", &c];
    assert!(flitway(&[&other, &QUICK[2..]].concat()).status.success());
    let text = stdout(&flitway(&["compare", &a, &c]));
    for part in
        ["workload.traffic: \"uniform\" -> \"tornado\"", "seed: 1 -> 5", "load 0.2 is in compare-a only"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let graph = scratch("compare.goal", GRAPH);
    let d = path("compare-d.json");
    let run = ["run", "hpp-switch", "--graph", graph.to_str().unwrap(), "--json", &d];
    assert!(flitway(&run).status.success());
    let nothing = flitway(&["compare", &a, &d]);
    assert_eq!(nothing.status.code(), Some(2));
    assert_eq!(stdout(&nothing), "", "what is not compared has no differences to show");
    assert!(
        stderr(&nothing).contains("compare-a has the loads 0.2, 0.5, compare-d has a task graph"),
        "{}",
        stderr(&nothing)
    );
    let e = path("compare-e.json");
    let run = ["run", "hpp-switch", "--graph", graph.to_str().unwrap(), "--load", "0.3", "--json", &e];
    assert!(flitway(&run).status.success());
    let beside = stderr(&flitway(&["compare", &d, &e]));
    let says = "compare-d has a task graph, compare-e has a task graph beside load 0.3";
    assert!(beside.contains(says) && beside.contains("a load in common where there are loads"), "{beside}");
}
