//! Multicasts, barriers and trains as a user and a script meet them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;
use std::path::PathBuf;

#[test]
fn barriers_do_not_depend_on_threads() {
    for by in ["hardware", "three-trips", "pairwise"] {
        let run = |threads: &str| {
            let barrier = ["--barrier", "random(members=20)", "--interval", "1us", "--imbalance", "500ns"];
            let way = ["--load", "0.3", "--by", by, "--duration", "60us", "--warm-up", "5us"];
            let set = ["--threads", threads, "--set", "switch.barrier.bit_errors=10 errors/Mbit"];
            reproducible(json(&[&["run", "fattree-128"][..], &barrier, &way, &set].concat()))
        };
        let one = run("1");
        assert!(one["points"][0]["barrier"]["operations"].as_u64() > Some(50), "{one}");
        assert_eq!(one, run("2"), "{by}");
        assert_eq!(one, run("4"), "{by}");
    }
}

/// On QsNetII, with late processes, in two ranges: nobody is asked in vain for ever.
#[test]
fn barriers_by_tests_do_not_depend_on_threads() {
    let run = |by: &str, threads: &str| {
        let barrier = ["--barrier", "nodes(0-9+12-40)", "--interval", "8us", "--imbalance", "6us"];
        let way =
            ["--load", "0.1", "--by", by, "--duration", "60us", "--warm-up", "5us", "--threads", threads];
        reproducible(json(&[&["run", "qsnet2-64"][..], &barrier, &way].concat()))
    };
    for by in ["conditional", "three-trips"] {
        let one = run(by, "1");
        let barrier = &one["points"][0]["barrier"];
        assert!(barrier["operations"].as_u64() > Some(4), "{one}");
        assert_eq!(barrier["tests"]["false"].as_u64() > Some(10), by == "conditional", "{one}");
        assert_eq!(one, run(by, "2"), "{by}");
    }
}

#[test]
fn multicasts_do_not_depend_on_threads() {
    for (root, by) in [("table", "hardware"), ("hlse", "hardware"), ("llp-ec", "ranges"), ("table", "postal")]
    {
        let run = |threads: &str| {
            let multicast = ["--multicast", "random(members=20)", "--multicast-load", "0.2", "--load", "0.3"];
            let way =
                ["--root", root, "--by", by, "--staleness", "2us", "--duration", "10us", "--warm-up", "5us"];
            let arguments = ["run", "fattree-128", "--threads", threads];
            reproducible(json(&[&arguments[..], &multicast, &way].concat()))
        };
        let one = run("1");
        assert!(one["points"][0]["multicast"]["copies"].as_u64() > Some(100), "{one}");
        assert_eq!(one, run("2"), "{root} {by}");
        assert_eq!(one, run("4"), "{root} {by}");
    }
}

/// Unicast, multicast and barriers in one run, in the switches and by messages: each is there, none is faster than alone, and
/// the result does not depend on threads.
#[test]
fn multicasts_and_barriers_run_together_beside_traffic() {
    let multicast = ["--multicast", "random(members=8, groups=4)", "--multicast-load", "0.05"];
    let barrier = ["--barrier", "random(members=16, groups=2)", "--interval", "2us"];
    let beside = ["--load", "0.3", "--duration", "60us", "--warm-up", "5us"];
    for way in [
        ["--multicast-by", "hardware", "--barrier-by", "hardware"],
        ["--multicast-by", "binomial", "--barrier-by", "pairwise"],
        ["--multicast-by", "binomial", "--barrier-by", "three-trips"],
        ["--multicast-by", "hardware", "--barrier-by", "node-root"],
    ] {
        let run = |threads: &str| {
            let parts =
                [&["run", "fattree-128", "--threads", threads][..], &multicast, &barrier, &beside, &way];
            reproducible(json(&parts.concat()))
        };
        let alone = |part: &[&str], by: &str| {
            json(&[&["run", "fattree-128", "--by", by][..], part, &beside].concat())["points"][0].clone()
        };
        let all = run("1");
        let point = &all["points"][0];
        let number = |point: &serde_json::Value, path: &str| point.pointer(path).unwrap().as_f64().unwrap();
        let (copy, release) = ("/multicast/last_copy_latency_ns/mean", "/barrier/latency_ns/mean");
        assert!(number(point, copy) > number(&alone(&multicast, way[1]), copy), "{way:?}: {point}");
        assert!(
            number(point, release) > 0.98 * number(&alone(&barrier, way[3]), release),
            "{way:?}: {point}"
        );
        assert!(number(point, "/packets") > 3_000.0 && number(point, "/barrier/operations") > 5.0, "{point}");
        assert_eq!(all["workload"]["barrier_by"], way[3]);
        assert_eq!(all, run("3"), "{way:?}");
    }
}

/// Two task graphs side by side do on disjoint nodes what one does that is both of them, written by hand.
#[test]
fn graphs_side_by_side_are_as_one_that_is_both() {
    let part = |first: u32| {
        format!(
            "rank {first} {{\na: send 50000b to {}\nb: recv 3000b from {0}\nb requires a\n}}\n\
             rank {0} {{\na: recv 50000b from {first}\nb: calc 700\nc: send 3000b to {first}\n\
             b requires a\nc requires b\n}}\n",
            first + 1
        )
    };
    let one = scratch("one.goal", &format!("num_ranks 2\n{}", part(0)));
    let both = scratch("both.goal", &format!("num_ranks 4\n{}{}", part(0), part(2)));
    let run =
        |arguments: &[&str]| json(&[&["run", "hpp-switch", "--set", "switch.vcs=1"], arguments].concat());
    let ends = |point: &serde_json::Value| -> Vec<f64> {
        let ranks = point["graph"]["ranks"].as_array().unwrap();
        ranks.iter().map(|rank| rank["completion_ns"].as_f64().unwrap()).collect()
    };
    let (one, both) = (one.to_str().unwrap(), both.to_str().unwrap());
    let apart = run(&["--graph", one, "--graph", one]);
    let points = apart["points"].as_array().unwrap();
    assert_eq!([ends(&points[0]), ends(&points[1])].concat(), ends(&run(&["--graph", both])["points"][0]));
    assert_eq!(points[1]["graph"]["name"], format!("{one} (2)"));
    assert_eq!(apart["workload"]["graph"], serde_json::json!([one, one]));
    // Traffic beside them holds them up, more of it more, on any number of threads.
    let beside = |threads: &str| {
        reproducible(run(&["--graph", one, "--graph", one, "--load", "0.2,0.8", "--threads", threads]))
    };
    let loaded = beside("1");
    let slowest = |point: &serde_json::Value| ends(point).into_iter().fold(0.0, f64::max);
    let slow: Vec<f64> = loaded["points"].as_array().unwrap().iter().map(slowest).collect();
    assert!(slow.len() == 4 && slowest(&points[0]) < slow[0] && slow[0] < slow[2], "{slow:?}");
    let result = run(&["--graph", one, "--graph", one, "--load", "0.2,0.8"]);
    let results = scratch("side-by-side.json", &result.to_string());
    let compared = stdout(&flitway(&["compare", results.to_str().unwrap(), results.to_str().unwrap()]));
    assert!(
        compared.contains("one.goal (2) 0.800") && compared.matches("completion ns").count() == 4,
        "{compared}"
    );
    assert_eq!(compared.matches("1.000").count(), 20, "{compared}");
    assert_eq!(loaded["points"][2]["offered_load"], 0.8);
    assert!(loaded["points"][2]["accepted_load"].as_f64().unwrap() > 0.4, "{}", loaded["points"][2]);
    assert_eq!(loaded, beside("3"));
    // What runs beside them is in the workload, as where it runs alone.
    for (option, default) in [("traffic", "uniform"), ("packet", "256B"), ("arrival", "bernoulli")] {
        assert_eq!(loaded["workload"][option], default, "{option}");
        assert!(apart["workload"].get(option).is_none(), "{option}");
    }
    let shown = stdout(&flitway(&["run", "hpp-switch", "--graph", one, "--graph", one]));
    assert_eq!(shown.matches("\n\nhpp-switch: ").count(), 1, "a line stands between two graphs: {shown}");
}

#[test]
fn a_graph_that_cannot_finish_ends_though_traffic_goes_on() {
    let goal = "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 1\n}\nrank 1 {\nb: calc 5\n}\n";
    let stuck = scratch("stuck-beside.goal", goal);
    let output = flitway(&["run", "hpp-switch", "--graph", stuck.to_str().unwrap(), "--load", "0.3"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("rank 0 a: recv 8b from 1 tag 1"), "{message}");
}

#[test]
fn graphs_side_by_side_are_dealt_to_the_parts_of_the_machine() {
    // A leaf switch of `fattree-128` has four nodes. Ranks 0 and 1 of the second graph are on one switch, or on two: their
    // message crosses one switch, or three.
    let pair = "rank 0 {
send 8b to 1
}
rank 1 {
recv 8b from 0
}
";
    let others: String = (2..8)
        .map(|rank| {
            format!(
                "rank {rank} {{
}}
"
            )
        })
        .collect();
    let goal = scratch(
        "eight.goal",
        &format!(
            "num_ranks 8
{pair}{others}"
        ),
    );
    let goal = goal.to_str().unwrap();
    let completions = |placements: [&str; 2]| {
        let [first, second] = placements;
        let graphs = ["run", "fattree-128", "--graph", goal, "--graph", goal, "--json", "-"];
        let output = flitway(&[&graphs[..], &["--placement", first, "--placement", second]].concat());
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let points = result["points"].as_array().unwrap();
        let end = |point: &serde_json::Value| point["graph"]["ranks"][1]["completion_ns"].as_f64().unwrap();
        points.iter().map(end).collect::<Vec<f64>>()
    };
    let together = completions(["linear", "block(switches)"]);
    assert_eq!(together[0], together[1]);
    let apart = completions(["linear", "cyclic(switches)"]);
    assert_eq!(apart[0], together[0]);
    assert!(apart[1] > together[1], "{apart:?} {together:?}");
    assert_eq!(completions(["block(level-1, ranks=4)", "cyclic(switches, ranks=2)"])[1], together[1]);
}

#[test]
fn graphs_that_do_not_go_together_are_refused() {
    let others: String = (2..9).map(|rank| format!("rank {rank} {{\n}}\n")).collect();
    let pair = "rank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
    let goal = scratch("pair.goal", &format!("num_ranks 9\n{pair}{others}"));
    let goal = goal.to_str().unwrap();
    let with = |more: &[&str], says: &[&str]| {
        assert_refused(&[(&[&["run", "hpp-switch", "--graph", goal], more].concat()[..], says)]);
    };
    with(&["--graph", goal], &["--placement", "9 ranks do not fit 7 free nodes"]);
    with(&["--placement", "linear", "--placement", "random"], &["--placement: 2 are given", "one for each"]);
    with(&["--packet", "64B"], &["--packet", "--load 0.3"]);
    with(&["--graph", "nowhere.goal"], &["--graph: nowhere.goal: cannot open"]);
    with(&["--graph", goal].repeat(8), &["--graph: 9 graphs: at most 7 run side by side"]);
}

#[test]
fn multicasts_and_barriers_that_do_not_go_together_are_refused() {
    let both = ["run", "hpp-switch", "--multicast", "broadcast", "--barrier", "all"];
    let with = |more: &[&'static str], says: &[&'static str]| {
        assert_refused(&[(&[&both[..], more].concat()[..], says)]);
    };
    with(&["--by", "binomial"], &["not of multicast with barriers", "`--multicast-by` and `--barrier-by`"]);
    with(&["--multicast-by", "x", "--barrier-by", "y"], &["--multicast-by: `x`", "--barrier-by: `y`"]);
    with(&["--barrier-by", "three-trips"], &["--barrier-by", "`--multicast-by binomial`"]);
    let shared = ["--set", "switch.barrier.dedicated=false", "--set", "switch.vcs=1"];
    with(&shared, &["--barrier-by", "switch.vcs=2"]);
    with(&["--load", "x"], &["--load: `x`"]);
    let alone = ["run", "hpp-switch", "--multicast", "broadcast", "--multicast-by", "binomial"];
    assert_refused(&[(&alone[..], &["not of multicast", "use `--by`"])]);
}

/// Of a task graph, a train and multicasts that share nothing each is what it is alone; every entry has what ran beside it.
#[test]
fn graphs_trains_and_multicasts_that_do_not_meet_are_as_alone() {
    let machine = ["run", "hpp-switch", "--set", "switch.vcs=1"];
    let run = |arguments: &[&str]| json(&[&machine[..], arguments].concat());
    let goal = scratch("apart.goal", PAIR);
    let (graph, train) = (["--graph", goal.to_str().unwrap()], ["--train", "4-5", "--count", "50"]);
    let multicast = ["--multicast", "nodes(8-15)", "--multicast-load", "0.3"];
    let number = |point: &serde_json::Value, path: &str| point.pointer(path).unwrap().as_f64().unwrap();
    let (end, time) = ("/graph/completion_ns", "/train/time_ns");
    let alone = [number(&run(&graph)["points"][0], end), number(&run(&train)["points"][0], time)];
    let all = run(&[&graph[..], &graph, &train, &multicast].concat());
    assert_valid(&all);
    let points = all["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        assert_eq!(number(point, "/graph/completion_ns"), alone[0]);
        assert_eq!([number(&points[0], end), number(point, time)], alone);
        assert_eq!(point["multicast"], points[0]["multicast"]);
        assert!(number(point, "/multicast/operations") > 5.0 && number(point, "/duration_ns") >= alone[1]);
    }
    // A packet that switches replicate counts once.
    let sent = |name: &str| number(&points[0], name);
    assert!(sent("/packets") < sent("/multicast/copies"), "{}", points[0]);
    let two = run(&[&train[..], &multicast].concat());
    assert_valid(&two);
    assert_eq!(number(&two["points"][0], time), alone[1]);
    assert_eq!(all["workload"]["multicast_by"], "hardware");
}

/// Everything at once: it holds the graph and the train up, and the result does not depend on threads.
#[test]
fn everything_runs_together() {
    let goal = scratch("together.goal", PAIR);
    let graph = ["--graph", goal.to_str().unwrap(), "--placement", "random"];
    let train = ["--train", "0-99", "--count", "200"];
    // Messages of node 0 would wait behind the train.
    let barrier = ["--barrier", "nodes(1-60)", "--interval", "1us"];
    let multicast = ["--multicast", "random(members=8, groups=4)", "--multicast-load", "0.02"];
    for way in [["hardware", "hardware"], ["binomial", "pairwise"], ["binomial", "three-trips"]] {
        let way = ["--multicast-by", way[0], "--barrier-by", way[1]];
        let run = |threads: &str| {
            let base = ["run", "fattree-128", "--threads", threads, "--load", "0.1,0.4"];
            let result = json(&[&base[..], &graph, &train, &barrier, &multicast, &way].concat());
            assert_valid(&result);
            reproducible(result)
        };
        let all = run("1");
        let number = |place: usize, path: &str| all["points"][place].pointer(path).unwrap().as_f64().unwrap();
        assert_eq!(all["points"].as_array().unwrap().len(), 2);
        for path in ["/graph/completion_ns", "/train/time_ns", "/packet_latency_ns/mean"] {
            assert!(number(0, path) < number(1, path), "{path}: {} {}", number(0, path), number(1, path));
        }
        assert!(number(0, "/barrier/operations") > 2.0 && number(0, "/multicast/copies") > 10.0, "{all}");
        assert_eq!(all, run("3"), "{way:?}");
    }
}

/// As text, table, page, trace, comparison and over seeds.
#[test]
fn what_runs_beside_a_graph_is_shown_with_it() {
    let goal = scratch("shown.goal", PAIR);
    let [page, trace, csv, result] = ["html", "json", "csv", "result.json"]
        .map(|ending| scratch(&format!("beside-a-graph.{ending}"), "").to_str().unwrap().to_owned());
    let beside = ["--multicast", "broadcast", "--barrier", "all", "--interval", "2us", "--load", "0.2"];
    let beside = [&beside[..], &["--traffic", "tornado"]].concat();
    let run = [&["run", "hpp-switch", "--graph", goal.to_str().unwrap()][..], &beside].concat();
    let files = ["--report", &page, "--trace", &trace, "--csv", &csv, "--json", &result];
    let text = stdout(&flitway(&[&run[..], &files].concat()));
    for part in [
        "beside multicast, barriers and tornado traffic at load 0.200",
        "\nmulticast   offered 0.100, accepted 0.",
        "\nbarriers    last arrival to last release ",
        "\nunicast     offered 0.200, accepted 0.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let html = read(&page);
    assert!(html.contains("with multicast broadcast, 256B, by hardware; barrier all every 2us"), "{html}");
    assert!(html.contains("Multicasts and barriers") && html.contains("last arrival to last release, mean"));
    assert!(read(&trace).contains("traceEvents"));
    let head = read(&csv).lines().next().unwrap().to_owned();
    for column in ["graph.completion_ns", "multicast.last_copy_latency_ns.mean", "barrier.latency_ns.mean"] {
        assert!(head.split(',').any(|name| name == column), "{column}: {head}");
    }
    let compared = stdout(&flitway(&["compare", &result, &result]));
    let seeds = stdout(&flitway(&[&run[..], &["--seeds", "3"]].concat()));
    for quantity in ["last copy ns", "barrier ns", "latency ns", "completion ns"] {
        assert!(compared.contains(quantity) && seeds.contains(quantity), "{quantity}: {compared}{seeds}");
    }
    let lone = stdout(&flitway(&["run", "hpp-switch", "--train", "0-3", "--count", "50", "--load", "0.1"]));
    assert!(lone.contains("to the last packet delivered") && lone.contains("\nunicast     offered 0.100"));
}

/// A train that would never end in a network that deadlocks: the run does, and says why.
#[test]
fn a_deadlock_ends_a_run_that_would_go_on() {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-dragonfly/dragonfly-72.toml");
    let routing = ["routing.algorithm=minimal", "routing.vc_classes=false", "switch.vcs=1"];
    let set: Vec<&str> = routing.iter().flat_map(|set| ["--set", set]).collect();
    let beside = ["--traffic", "tornado", "--load", "1", "--packet", "1KiB", "--train", "0-63"];
    let output = flitway(&[&["run", machine][..], &set, &beside, &["--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("fault: packets wait for each other for ever"), "{}", stderr(&output));
    let result: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_valid(&result);
    let point = &result["points"][0];
    assert!(point["deadlock"].as_array().unwrap().len() > 1 && point["train"].get("time_ns").is_none());
}

#[test]
fn what_ends_refuses_options_of_what_is_not_there() {
    let with = |more: &[&'static str], says: &[&'static str]| {
        let base = ["run", "hpp-switch", "--train", "0-3", "--barrier", "all"];
        assert_refused(&[(&[&base[..], more].concat()[..], says)]);
    };
    with(&["--by", "hardware"], &["--by", "`--multicast-by` and `--barrier-by`"]);
    with(
        &["--root", "llp"],
        &["--root", "an option of multicast, and there is none", "--multicast broadcast"],
    );
    with(&["--precision", "1%"], &["--precision", "leave out `--precision`"]);
    with(&["--barrier-by", "x"], &["--barrier-by: `x`: expected one of hardware"]);
    with(&["--multicast", "broadcast", "--barrier-by", "three-trips"], &["--multicast-by binomial"]);
    with(&["--train", "0-0"], &["cannot be used multiple times"]);
    let nothing = "a train has no page, no trace and no counters, unless a task graph runs beside it";
    with(&["--report", "x.html"], &["--report", nothing]);
    let goal = scratch("many.goal", PAIR);
    let many = [&["--graph", goal.to_str().unwrap()].repeat(7)[..], &["--load", "0.1"]].concat();
    let base = ["run", "hpp-switch", "--train", "0-3", "--barrier", "all"];
    assert_refused(&[(&[&base[..], &many].concat()[..], &["--graph: 7 graphs: at most 5 run side by side"])]);
}

/// A task graph of two ranks that send something there and back.
const PAIR: &str = "num_ranks 2\nrank 0 {\na: send 50000b to 1\nb: recv 3000b from 1\nb requires a\n}\n\
    rank 1 {\na: recv 50000b from 0\nb: calc 700\nc: send 3000b to 0\nb requires a\nc requires b\n}\n";

/// With overheads an operation is over when the processor of the last node has taken its copy in.
#[test]
fn the_last_copy_is_over_when_it_has_been_taken_in() {
    let of = |more: &[&str]| {
        let alone = ["--multicast", "nodes(0+5)", "--multicast-load", "0.00005", "--multicast-packet", "8B"];
        let result = json(&[&["run", "hpp-switch", "--duration", "40ms"][..], &alone, more].concat());
        let of = &result["points"][0]["multicast"];
        let number = |path: &str| of.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        (number("/zero_load_last_copy_ns"), number("/last_copy_latency_ns/p50"))
    };
    // In cycles of 3.2 ns: o_s is 197 of them, o_r 219; a packet of 8 B takes 22.
    for by in ["hardware", "sequence"] {
        let plain = of(&["--by", by]);
        let with = of(&["--by", by, "--overheads"]);
        assert!((with.0 - plain.0 - 416.0 * 3.2).abs() < 1e-6, "{by}: {with:?}, {plain:?}");
        assert!((with.1 / with.0 - 1.0).abs() < 0.02, "{by}: {with:?}");
    }
}

/// A set with a hole is two ranges, and the second waits for the answers to the first; the sender may be inside of a range.
#[test]
fn broadcasts_of_qsnet2_go_to_ranges_and_take_their_closed_form() {
    let of = |nodes: &str, by: &str| {
        let alone = ["--multicast", nodes, "--multicast-load", "0.00001", "--duration", "200ms"];
        let result = json(&[&["run", "qsnet2-64", "--by", by][..], &alone].concat());
        assert_valid(&result);
        let of = &result["points"][0]["multicast"];
        let number = |path: &str| of.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
        let theory = number("/zero_load_last_copy_ns");
        assert!((number("/last_copy_latency_ns/p50") / theory - 1.0).abs() < 0.01, "{nodes}: {of}");
        (number("/ranges"), theory)
    };
    let (one, whole) = of("nodes(0-63)", "hardware");
    let (two, cut) = of("nodes(0-31+33-63)", "hardware");
    assert_eq!((one, two), (1.0, 2.0));
    assert!(cut > 2.0 * whole, "{cut} ns, {whole} ns");
    assert_eq!(of("nodes(0-63)", "ranges"), (one, whole));
}

/// Where broadcasts climb by any link, two of them come to hold what the other needs; in one tree they do not.
#[test]
fn broadcasts_by_way_of_any_root_deadlock_and_are_explained() {
    let run = |roots: &str| {
        let setting = format!("switch.broadcast.roots={roots}");
        let broadcasts = ["--multicast", "nodes(0-63)", "--multicast-load", "0.3", "--by", "hardware"];
        let more = ["--multicast-packet", "2048B", "--load", "0.1", "--duration", "300us", "--set", &setting];
        flitway(&[&["run", "qsnet2-64"][..], &broadcasts, &more].concat())
    };
    let (stuck, free) = (run("any"), run("one"));
    let text = String::from_utf8(stuck.stderr).unwrap() + &String::from_utf8(stuck.stdout).unwrap();
    assert_eq!((stuck.status.code(), free.status.code()), (Some(1), Some(0)), "{text}");
    for part in
        ["wait for each other for ever", "the other copies of it keep out of the buffer", "for 64 nodes"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Two passes of an HPP Switch are 128 ns: what one stage of a barrier takes when the last of its members is late enough.
#[test]
fn a_stage_of_a_barrier_is_two_passes_of_a_switch() {
    let arguments = ["run", "hpp-switch", "--barrier", "all", "--by", "node-root"];
    let late = ["--interval", "20us", "--imbalance", "5us", "--duration", "4ms"];
    let result = json(&[&arguments[..], &late].concat());
    let switch = &result["points"][0]["barrier"]["switch"];
    let number = |path: &str| switch.pointer(path).and_then(serde_json::Value::as_f64).unwrap();
    for (path, nanos) in [
        ("/combine_from_last_ns/p50", 64.0),
        ("/distribute_to_last_ns/p50", 64.0),
        ("/distribute_to_mean_ns/p50", 64.0),
        ("/stage_ns/p50", 128.0),
    ] {
        assert!((number(path) - nanos).abs() < 1e-9, "{path}: {switch}");
    }
    assert!(number("/combine_from_first_ns/mean") > 3_000.0, "{switch}");
    assert!(number("/distribute_to_last_ns/mean") >= number("/distribute_to_mean_ns/mean"), "{switch}");
    assert!(switch.get("root_ns").is_none(), "the root is a node: {switch}");
    let by_switch = json(&["run", "hpp-switch", "--barrier", "all", "--duration", "100us"]);
    let switch = &by_switch["points"][0]["barrier"]["switch"];
    assert!(switch.get("stage_ns").is_none() && switch["root_ns"]["mean"].as_f64() >= Some(64.0), "{switch}");
}

#[test]
fn every_wrong_barrier_has_its_message_and_status_2() {
    let wrong: [(&[&str], &[&str]); 15] = [
        (
            &["--barrier", "al"],
            &[
                "--barrier: there is no kind of group `al`; did you mean `all`, which is another name of `broadcast`?",
            ],
        ),
        (&["--barrier", "everybody"], &["--barrier", "broadcast"]),
        (&["--barrier", "nodes(99)"], &["--barrier", "no node 99"]),
        (&["--barrier", "nodes(3)"], &["--barrier", "two members"]),
        (&["--barrier", "random(groups=17)"], &["--barrier", "17", "switch.barrier.groups=17"]),
        (&["--barrier", "all", "--by", "binomial"], &["--by", "pairwise"]),
        (&["--barrier", "all", "--interval", "5"], &["--interval", "5 ns"]),
        (&["--barrier", "all", "--imbalance", "1 week"], &["--imbalance"]),
        (&["--barrier", "all", "--packet", "64B"], &["--packet", "--load"]),
        (&["--barrier", "all", "--lose", "comb(at=node 1)"], &["--lose", "`combine`"]),
        (
            &["--barrier", "all", "--lose", "combine(at=node 1)"],
            &["--lose", "only `combine-ack` and `distribute`"],
        ),
        (&["--barrier", "all", "--lose", "any(at=switch 0 port 16)"], &["--lose", "has 16, from 0"]),
        (&["--barrier", "all", "--lose", "any(at=node 1, group=1)"], &["--lose", "no group 1"]),
        (&["--barrier", "all", "--lose", "any(at=node 1)", "--by", "pairwise"], &["--lose", "--by hardware"]),
        (&["--barrier", "all", "--by", "pairwise", "--set", "packet.mtu=4B"], &["--by", "8 B", "4 B"]),
    ];
    for (arguments, says) in wrong {
        let arguments = [&["run", "hpp-switch"], arguments].concat();
        assert_refused(&[(&arguments[..], says)]);
    }
    assert_refused(&[
        (&["run", "mesh-8x8", "--barrier", "all", "--by", "three-trips"], &["--by", "up-down"]),
        (&["run", "hpp-switch", "--barrier", "all", "--by", "conditional"], &["--by", "qsnet2-64"]),
        (&["run", "qsnet2-64", "--barrier", "all"], &["--barrier", "--by conditional"]),
        (
            &[
                "run",
                "qsnet2-64",
                "--barrier",
                "all",
                "--by",
                "conditional",
                "--set",
                "switch.answer.hold=false",
            ],
            &["--by", "switch.answer"],
        ),
        (
            &["run", "qsnet2-64", "--barrier", "all", "--by", "conditional", "--set", "nic.model=bounded"],
            &["--by", "nic.model=ideal"],
        ),
    ]);
    let shared = ["--set", "switch.barrier.dedicated=false", "--set", "switch.vcs=1"];
    let arguments = [&["run", "hpp-switch", "--barrier", "all", "--by", "three-trips"][..], &shared].concat();
    assert_refused(&[(&arguments[..], &["--by", "switch.vcs=2"])]);
}

#[test]
fn every_wrong_train_has_its_message_and_status_2() {
    assert_refused(&[
        (&["run", "hpp-switch", "--train", "0-16"], &["--train", "no node 16"]),
        (&["run", "hpp-switch", "--train", "3-3"], &["--train: `3-3`: this is one node; expected two"]),
        (&["run", "hpp-switch", "--train", "all"], &["--train", "two node numbers"]),
        (&["run", "hpp-switch", "--train", "0-1", "--count", "0"], &["--count", "from 1"]),
        (&["run", "hpp-switch", "--train", "0-1", "--packet", "2KiB"], &["--packet", "MTU"]),
        (&["run", "hpp-switch", "--train", "0-1", "--packet", "bimodal"], &["--packet", "a size"]),
        (&["run", "hpp-switch", "--train", "0-1", "--duration", "1us"], &["--duration", "not of a train"]),
        (&["run", "hpp-switch", "--count", "3"], &["what asks for that is `nic` or `train`"]),
    ]);
}

#[test]
fn every_wrong_multicast_has_its_message_and_status_2() {
    assert_refused(&[
        (&["run", "hpp-switch", "--multicast", "broadcst"], &["--multicast", "did you mean `broadcast`"]),
        (&["run", "hpp-switch", "--multicast", "random(members=17)"], &["--multicast", "the machine has 16"]),
        (
            &["run", "hpp-switch", "--multicast", "random(members=3, groups=17)"],
            &["--multicast", "have room for 16", "switch.multicast.groups=17"],
        ),
        (&["run", "hpp-switch", "--multicast", "nodes(3)"], &["--multicast", "two members"]),
        (
            &["run", "hpp-switch", "--multicast", "broadcast", "--multicast-packet", "2KiB"],
            &["--multicast-packet", "MTU"],
        ),
        (&["run", "hpp-switch", "--multicast", "broadcast", "--root", "hlse"], &["--root", "fat tree"]),
        (&["run", "hpp-switch", "--multicast", "broadcast", "--by", "magic"], &["--by", "binomial"]),
        (&["run", "hpp-switch", "--multicast", "broadcast", "--traffic", "uniform"], &["--load 0.3"]),
        (&["run", "mesh-8x8", "--multicast", "broadcast"], &["--by", "routing.algorithm=up-down"]),
        (&["run", "hpp-switch", "--by", "binomial"], &["--by", "of multicast and barriers", "`barrier`"]),
    ]);
}

#[test]
fn barriers_that_are_never_over_are_a_fault() {
    let lose_all = "switch.barrier.bit_errors=1000 errors/kbit";
    let output = flitway(&["run", "hpp-switch", "--barrier", "all", "--set", lose_all, "--duration", "50us"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("no barrier was over"), "{}", stderr(&output));
}

#[test]
fn messages_of_barriers_end_with_the_traffic_that_saturates() {
    let way = ["--by", "pairwise", "--load", "max", "--interval", "1us"];
    let result = json(&[&["run", "hpp-switch", "--barrier", "all"][..], &way].concat());
    assert_eq!(result["points"][0]["verdict"], "saturated");
    assert!(result["points"][0]["barrier"]["latency_ns"]["ci95"].is_null());
}

#[test]
fn results_of_operations_are_compared_by_what_they_measure() {
    let result = |name: &str, arguments: &[&str]| {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().to_owned();
        let output = flitway(&[&["run", "hpp-switch", "--json", &path], arguments].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        path
    };
    let time = ["--warm-up", "5us", "--duration", "100us"];
    let near = result("near.json", &["--train", "0-3", "--count", "50"]);
    let far = result("far.json", &["--train", "0-9", "--count", "100"]);
    let multicast = |name: &str, loads: &str| {
        result(name, &[&["--multicast", "broadcast", "--multicast-load", loads], &time[..]].concat())
    };
    let (some, more) = (multicast("some.json", "0.1,0.2"), multicast("more.json", "0.2,0.4"));
    let barrier = |name: &str, by: &str| {
        result(name, &[&["--barrier", "all", "--interval", "2us", "--by", by], &time[..]].concat())
    };
    let (switches, messages) = (barrier("switches.json", "hardware"), barrier("messages.json", "pairwise"));
    let compared = |a: &str, b: &str| {
        let output = flitway(&["compare", a, b]);
        (stdout(&output), stderr(&output))
    };
    assert!(compared(&near, &far).0.contains("train ns"), "{:?}", compared(&near, &far));
    let (text, _) = compared(&some, &more);
    let rows = text.lines().filter(|line| line.contains("last copy ns")).collect::<Vec<_>>();
    assert!(rows.len() == 1 && rows[0].trim_start().starts_with("0.200 "), "{text}");
    assert!(text.contains("multicast load 0.1 is in some only"), "{text}");
    let (text, _) = compared(&switches, &messages);
    assert!(text.contains("barrier ns") && !text.contains(" accepted"), "{text}");
    let (_, message) = compared(&near, &some);
    assert!(
        message.contains("near has a train, some has multicast load 0.1, multicast load 0.2"),
        "{message}"
    );
}

#[test]
fn an_option_that_is_not_given_is_not_blamed() {
    assert_refused(&[
        (
            &["run", "sp-switch-16", "--barrier", "all"],
            &["--barrier: the switches of this machine do not combine", "(unless given, --by is `hardware`)"],
        ),
        (
            &["run", "sp-switch-16", "--barrier", "all", "--by", "hardware"],
            &["--by: the switches of this machine do not combine barriers\n"],
        ),
        (
            &["run", "mesh-8x8", "--multicast", "all"],
            &["--multicast: multicast needs a routing", "(unless given, --by is `hardware`)"],
        ),
        (
            &["run", "hpp-switch", "--multicast", "all", "--by", "ranges"],
            &["--by: ranges of nodes go up to a root", "only a fat tree"],
        ),
    ]);
}

#[test]
fn the_screen_says_for_which_arrivals_theory_of_barriers_stands() {
    let run = ["run", "hpp-switch", "--barrier", "all", "--warm-up", "5us", "--duration", "100us"];
    let text = stdout(&flitway(&run));
    let when = "the slowest comes alone, after all others; without --imbalance all come at once";
    assert!(text.replace("\n        ", " ").contains(when), "{text}");
    let late = stdout(&flitway(&[&run[..], &["--imbalance", "10us"]].concat()));
    assert!(late.contains("after all others\n") && !late.contains("all come at once"), "{late}");
}

/// Traffic beside a graph goes on for ever, so nothing but the deadlock ends the run.
#[test]
fn a_graph_beside_traffic_that_deadlocks_ends_with_a_fault() {
    let text = "num_ranks 2\nrank 0 {\na: send 100000b to 1\n}\nrank 1 {\na: recv 100000b from 0\n}\n";
    let graph = scratch("deadlocked.goal", text);
    let fabric = ["run", "torus-8x8", "--set", "routing.dateline=false", "--set", "switch.vcs=1"];
    let load = ["--graph", graph.to_str().unwrap(), "--load", "1", "--traffic", "tornado"];
    let output = flitway(&[&fabric[..], &load].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("packets wait for each other for ever"), "{}", stderr(&output));
    assert!(stderr(&output).contains("needs room for 4 credit units on VC 0"), "{}", stderr(&output));
}

/// 50 of the 64 nodes of a 4-ary 3-tree: packets, broadcasts and tests reach them all, as long as closed forms say.
#[test]
fn a_tree_of_qsnet2_may_have_any_number_of_nodes() {
    let part = ["qsnet2-64", "--set", "topology.populated=50"];
    let checked = json(&[&["check"], &part[..]].concat());
    let [nodes, switches] = ["nodes", "switches_per_rail"].map(|key| checked["facts"][key].as_u64().unwrap());
    assert_eq!([nodes, switches], [50, 13 + 4 * 4 + 16]);
    assert_eq!(
        (&checked["deadlock"]["free"], &checked["deadlock"]["all_reachable"]),
        (&true.into(), &true.into())
    );
    let point = |more: &[&str]| {
        let span = ["--warm-up", "5us", "--duration", "60us"];
        let result = json(&[&["run"], &part[..], more, &span].concat());
        assert_valid(&result);
        result["points"][0].clone()
    };
    let unicast = point(&["--load", "0.2"]);
    assert_eq!(unicast["verdict"], "steady");
    assert!((unicast["accepted_load"].as_f64().unwrap() - 0.2).abs() < 0.02, "{unicast}");
    let broadcast = point(&["--multicast", "all", "--by", "hardware", "--multicast-load", "0.05"]);
    let [operations, copies] =
        ["operations", "copies"].map(|key| broadcast["multicast"][key].as_u64().unwrap());
    assert!(operations > 3 && copies.abs_diff(operations * 49) < 2 * 49, "{broadcast}");
    let barrier = point(&["--barrier", "all", "--by", "conditional", "--interval", "10us"]);
    let [measured, closed] = ["latency_ns", "zero_load_latency_ns"].map(|key| {
        let value = &barrier["barrier"][key];
        value.as_f64().or(value["mean"].as_f64()).unwrap_or_else(|| panic!("{barrier}"))
    });
    assert!((measured / closed - 1.0).abs() < 0.01, "{measured} and {closed} ns");
}
