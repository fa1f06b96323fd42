//! Task graphs and trains on machines that break: what they come to, and what is told of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_refused, assert_valid, flitway, json, reproducible, scratch, stderr};
use serde_json::Value;

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/halo-8.goal");

/// What a task graph came to on a frame in which `faults` break.
fn point(faults: &[&str]) -> Value {
    let result = json(&[&["run", "th-frame", "--graph", GRAPH], faults].concat());
    assert_valid(&result);
    result["points"][0].clone()
}

#[test]
fn a_task_graph_takes_longer_over_a_link_with_bad_lanes() {
    let completion = |faults: &[&str]| point(faults)["graph"]["completion_ns"].as_f64().unwrap();
    let whole = completion(&[]);
    let slow = completion(&["--faults", "lanes(link=\"node 3\", good=4)"]);
    let late = completion(&["--faults", "lanes(link=\"node 3\", good=4, at=1ms)"]);
    assert_eq!(whole, late, "it is over before anything breaks");
    assert!(slow > 1.2 * whole, "{slow} and {whole} ns");
}

/// Channels are compared by the share of what they could carry, also where lanes go bad during the run.
#[test]
fn a_link_with_bad_lanes_is_among_the_busiest() {
    let loaded = ["--load", "0.5", "--warm-up", "10us", "--duration", "20us"];
    let from_the_start = ["--set", "switch.link.lane_states=node 3: 5"];
    for lanes in [from_the_start, ["--faults", "lanes(link=\"node 3\", good=5, at=1us)"]] {
        let result = json(&[&["run", "nrc"], &loaded[..], &lanes].concat());
        assert_valid(&result);
        let channels = &result["points"][0]["channel_load"];
        let node = |place: usize, end: &str| &channels["busiest"][place][end]["node"];
        let both = [0, 1].map(|place| node(place, "from").as_u64().or(node(place, "to").as_u64()));
        assert_eq!(both, [Some(3); 2], "{channels}");
        let number = |place: usize, key: &str| channels["busiest"][place][key].as_f64().unwrap();
        assert!((number(0, "share") - number(0, "load") * 8.0 / 5.0).abs() < 1e-9, "{channels}");
        assert!(number(0, "share") > 0.7 && number(2, "share") < 0.6, "{channels}");
        let most = ["injection", "ejection"].map(|stage| channels[stage]["max_share"].as_f64().unwrap());
        assert_eq!(most[0].max(most[1]), number(0, "share"));
    }
}

#[test]
fn the_busiest_channel_of_a_task_graph_is_that_of_the_link_with_bad_lanes() {
    let lanes = ["--set", "switch.link.lane_states=node 6: 5"];
    let output = flitway(&[&["run", "th-frame", "--graph", GRAPH], &lanes[..]].concat());
    let shown = common::stdout(&output);
    let busiest = shown.lines().find(|line| line.starts_with("busiest channel: ")).unwrap();
    assert!(busiest.contains("node 6") && busiest.ends_with(" % of what it could carry"), "{busiest}");
}

#[test]
fn a_task_graph_that_loses_packets_does_not_complete_and_a_train_ends_without_them() {
    let cut = ["--faults", "down(link=\"node 3\", at=5us)"];
    let ends = [vec!["--graph", GRAPH], vec!["--train", "0-3", "--count", "500"]];
    for end in ends {
        let target = scratch("faults-lost.json", "");
        std::fs::remove_file(&target).unwrap();
        let written = ["--json", target.to_str().unwrap()];
        let output = flitway(&[&["run", "th-frame"], &end[..], &cut, &written].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("packets lost for good"), "{}", stderr(&output));
        let result: Value = serde_json::from_str(&std::fs::read_to_string(&target).unwrap()).unwrap();
        assert_valid(&result);
        let point = &result["points"][0];
        let count = |key: &str| point["faults"][key].as_u64().unwrap();
        let lost =
            point["faults"]["lost"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>();
        assert!(lost > 0);
        assert_eq!(count("created"), count("delivered") + lost, "what is not delivered is lost");
        match point.get("graph") {
            Some(graph) => assert!(graph["completed"] == false && graph.get("completion_ns").is_none()),
            None => assert!(point["train"].get("time_ns").is_none()),
        }
    }
}

#[test]
fn traffic_beside_a_task_graph_may_lose_packets_and_the_graph_completes() {
    // Only the traffic goes to node 20, whose link is given up before the graph is over.
    let soon = ["switch.link.misses=1", "switch.link.training=1us", "switch.link.give_up=2us"];
    let soon: Vec<&str> = soon.into_iter().flat_map(|set| ["--set", set]).collect();
    let faults = "down(link=\"node 20\", at=2us)";
    let arguments = ["run", "th-frame", "--graph", GRAPH, "--load", "0.2", "--faults", faults];
    let arguments = [&arguments[..], &soon].concat();
    let target = scratch("faults-beside.json", "");
    std::fs::remove_file(&target).unwrap();
    let mut results = Vec::new();
    for threads in ["1", "2"] {
        let written = ["--threads", threads, "--json", target.to_str().unwrap()];
        let output = flitway(&[&arguments[..], &written].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let result: Value = serde_json::from_str(&std::fs::read_to_string(&target).unwrap()).unwrap();
        assert_valid(&result);
        assert_eq!(result["points"][0]["graph"]["completed"], true);
        results.push(reproducible(result));
    }
    assert_eq!(results[0], results[1], "on any number of threads");
}

#[test]
fn barriers_wait_for_ever_for_a_message_that_is_lost_and_multicasts_go_on() {
    let cut = ["--faults", "down(link=\"node 3\", at=30us)", "--warm-up", "10us", "--duration", "90us"];
    let both =
        ["--barrier", "all", "--interval", "5us", "--barrier-by", "pairwise", "--multicast", "nodes(0-7)"];
    let both = [&both[..], &["--multicast-by", "binomial"]].concat();
    let cases = [vec!["--barrier", "all", "--interval", "5us", "--by", "pairwise"], both];
    for what in cases {
        let target = scratch("faults-operations.json", "");
        std::fs::remove_file(&target).unwrap();
        let written = ["--json", target.to_str().unwrap()];
        let output = flitway(&[&["run", "th-frame"], &what[..], &cut, &written].concat());
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains("packets lost for good"), "{}", stderr(&output));
        let result: Value = serde_json::from_str(&std::fs::read_to_string(&target).unwrap()).unwrap();
        assert_valid(&result);
        let point = &result["points"][0];
        // Those before the link broke: one every 5 us, of which none is over later.
        let barriers = point["barrier"]["operations"].as_u64().unwrap();
        assert!((1..8).contains(&barriers), "{barriers}");
        if let Some(multicast) = point.get("multicast") {
            assert!(multicast["operations"].as_u64().unwrap() > 100);
        }
        assert!(point["faults"]["lost"].as_object().unwrap().values().any(|count| count.as_u64() > Some(0)));
    }
}

/// With several seeds, too, and the log says of no tables that they count.
#[test]
fn what_is_lost_with_any_seed_is_a_fault() {
    let arguments = ["run", "nrc", "--load", "0.2", "--warm-up", "5us", "--duration", "120us"];
    let arguments = [&arguments[..], &["--faults", "down(link=\"node 3\", at=20us)"]].concat();
    let one = flitway(&arguments);
    assert_eq!(one.status.code(), Some(1));
    let shown = common::stdout(&one);
    assert!(shown.contains("under way at the end") && shown.contains("nothing is written\n"), "{shown}");
    let two = flitway(&[&arguments[..], &["--seeds", "2"]].concat());
    assert_eq!(two.status.code(), Some(1));
    assert!(stderr(&two).contains("lost for good with seed 1"), "{}", stderr(&two));
}

/// Each block says of which load it is; a run that ends too early says so, and one in which most is lost is limited by that.
#[test]
fn what_is_told_of_several_loads_and_of_a_run_that_is_too_short() {
    let arguments = ["run", "nrc", "--load", "0.2,0.3", "--warm-up", "5us", "--duration", "30us"];
    let short = flitway(&[&arguments[..], &["--faults", "down(switch=0, at=20us)"]].concat());
    let shown = common::stdout(&short);
    for part in
        ["\nat load 0.200:\n", "\nat load 0.300:\n", "more was to come of it at the end", " from then on"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let noisy = ["run", "nrc", "--load", "0.9", "--warm-up", "50us", "--duration", "200us"];
    let noisy = common::stdout(&flitway(&[&noisy[..], &["--faults", "bit-errors(2e-5)"]].concat()));
    assert!(noisy.contains("at load 0.900, faults: what broke"), "{noisy}");
    // All is lost up to the end: so it is after the fault.
    let dead = ["run", "nrc", "--load", "0.3", "--warm-up", "100us", "--duration", "200us"];
    let dead = common::stdout(&flitway(&[&dead[..], &["--faults", "down(switch=0, at=10us)"]].concat()));
    assert!(dead.contains("until the last change, 0.0000 after; fraction of the injection rate"), "{dead}");
    assert!(
        dead.contains("; packets are lost up to the end\n") && dead.contains("before: not known, "),
        "{dead}"
    );
}

/// Readings of the manager change nothing, and what is lost up to the end has no date after which nothing is.
#[test]
fn the_last_that_came_of_a_fault_is_a_change_or_a_loss() {
    let times = |faults: &str| {
        let arguments = ["run", "nrc", "--load", "0.3", "--warm-up", "5us", "--duration", "250us"];
        let target = scratch("faults-settled.json", "");
        std::fs::remove_file(&target).unwrap();
        let written = ["--faults", faults, "--json", target.to_str().unwrap()];
        flitway(&[&arguments[..], &written].concat());
        let result: Value = serde_json::from_str(&std::fs::read_to_string(&target).unwrap()).unwrap();
        assert_valid(&result);
        let faults = &result["points"][0]["faults"];
        ["changed_ns", "settled_ns"].map(|key| faults[key].as_f64())
    };
    // The link of a node: its packets are lost as long as there are some.
    let [changed, settled] = times("down(link=\"node 3\", at=20us); manager(every=150us)");
    assert!(
        changed.is_some_and(|changed| changed < 100_000.0) && settled.is_none(),
        "{changed:?} {settled:?}"
    );
    // A link that is mended loses nothing.
    let [changed, settled] = times("down(link=\"node 3\", at=20us, until=40us); manager(every=150us)");
    assert!(changed.is_some() && settled == changed, "{changed:?} {settled:?}");
}

#[test]
fn more_time_is_no_advice_where_packets_are_lost_for_good() {
    let cut = ["--faults", "down(link=\"node 3\", at=30us)", "--warm-up", "10us", "--duration", "90us"];
    let barriers = ["run", "th-frame", "--barrier", "all", "--interval", "5us", "--by", "pairwise"];
    let shown = common::stdout(&flitway(&[&barriers[..], &cut].concat()));
    assert!(shown.contains("packets are lost for good, which no longer time makes up for"), "{shown}");
    assert!(!shown.contains("measure longer"), "{shown}");
    let graph = ["run", "th-frame", "--graph", GRAPH, "--faults", "down(link=\"node 3\", at=5us)"];
    let shown = common::stdout(&flitway(&graph));
    assert!(
        shown.contains("not completed: 29 packets lost for good, 29 on a link that went down"),
        "{shown}"
    );
}

#[test]
fn what_is_hardly_accepted_is_not_known() {
    let time = ["--load", "0.3", "--warm-up", "20us", "--duration", "30us"];
    let dead = ["--faults", "down(switch=0, at=10us)"];
    let shown = common::stdout(&flitway(&[&["run", "nrc"], &time[..], &dead].concat()));
    assert!(shown.contains("so little that it is not known") && !shown.contains("known to"), "{shown}");
}

#[test]
fn bit_errors_are_told_as_the_setting_tells_them_or_as_a_probability() {
    let of = |faults: &str| {
        let arguments = ["run", "nrc", "--load", "0.3", "--warm-up", "5us", "--duration", "20us"];
        let mut result = reproducible(json(&[&arguments[..], &["--faults", faults]].concat()));
        result.as_object_mut().unwrap().remove("workload");
        result
    };
    let (rate, probability) = (of("bit-errors(1 errors/Mbit)"), of("bit-errors(1e-6)"));
    assert!(rate["points"][0]["link_errors"]["corrupted"].as_u64() > Some(0));
    assert_eq!(rate, probability);
    let run = ["run", "nrc", "--load", "0.1", "--faults"];
    let refused = |rules| [&run[..], &[rules]].concat();
    assert_refused(&[
        (&refused("bit-errors(1 us)"), &["1 errors/Gbit"]),
        (&refused("bit-errors(1e-6, link=\"node 99\")"), &["there is no node 99"]),
        (&refused("bit-errors(1e-6, rail=0)"), &["needs `link`"]),
        (&refused("bit-errors(1e-6); bit-errors(1e-7)"), &["all links have bit errors already"]),
        (
            &refused("bit-errors(1e-6, link=\"node 3\"); bit-errors(1e-7, link=\"switch 0 port 3\")"),
            &["that link has bit errors already"],
        ),
    ]);
    // One link alone: fewer are corrupted than if all links were so bad, and some are.
    let corrupted = |rules| {
        let result = of(rules);
        result["points"][0]["link_errors"]["corrupted"].as_u64().unwrap_or_else(|| panic!("{result}"))
    };
    let [all, one] = ["bit-errors(1e-5)", "bit-errors(1e-5, link=\"node 3\")"].map(corrupted);
    assert!(one > 0 && one * 8 < all, "{one} of {all}");
}

/// What each channel has counted adds up to the totals, and the link with the most errors is first.
#[test]
fn channels_count_their_errors() {
    let arguments = ["run", "nrc", "--load", "0.3", "--warm-up", "5us", "--duration", "60us"];
    let faults = ["--faults", "bit-errors(1e-5); bit-errors(2e-4, link=\"node 3\")"];
    let setting = ["--set", "link.bit_errors=10 errors/Mbit"];
    for (written, place) in [(&faults, "/faults/links"), (&setting, "/links")] {
        let result = json(&[&arguments[..], &written[..]].concat());
        assert_valid(&result);
        let point = &result["points"][0];
        let links = point.pointer(place).unwrap().as_array().unwrap();
        let sum = |key: &str| links.iter().map(|link| link[key].as_u64().unwrap()).sum::<u64>();
        for (key, total) in [("crc_errors", "corrupted"), ("repeated", "repeated"), ("timeouts", "timeouts")]
        {
            assert_eq!(sum(key), point["link_errors"][total].as_u64().unwrap(), "{key} of {place}");
        }
        assert!(sum("crc_errors") > 100 && sum("repeated") > 100, "{links:?}");
        assert_eq!(point.get("links").is_some(), place == "/links");
    }
    let result = json(&[&arguments[..], &faults].concat());
    let first = [0, 1]
        .map(|place| result["points"][0]["faults"]["links"][place]["link"].as_str().unwrap().to_owned());
    let mut both = first.clone();
    both.sort();
    assert_eq!(both, ["node 3 to switch 0 port 3", "switch 0 port 3 to node 3"]);
    let shown = common::stdout(&flitway(&[&arguments[..], &faults].concat()));
    let to = first[0].split(" to ").nth(1).unwrap();
    assert!(shown.contains(&format!("most at {to}, from ")), "{shown}");
}

/// A rate of one link is that of its rail alone, in the place of that of all.
#[test]
fn one_link_of_a_rail_has_bit_errors() {
    let arguments = ["run", "qsnet2-64", "--set", "rails=2", "--load", "0.3", "--warm-up", "5us"];
    let rules = "bit-errors(1e-15); bit-errors(1e-4, link=\"node 3\", rail=1)";
    let result = json(&[&arguments[..], &["--duration", "60us", "--faults", rules]].concat());
    assert_valid(&result);
    let links = result["points"][0]["faults"]["links"].as_array().unwrap();
    assert!(links[0]["crc_errors"].as_u64() > Some(10), "{links:?}");
    for link in links.iter().filter(|link| link["crc_errors"].as_u64() > Some(0)) {
        let words = link["link"].as_str().unwrap();
        assert!(words.contains("rail 1, node 3"), "{words}");
    }
    let refused =
        ["run", "qsnet2-64", "--load", "0.1", "--faults", "bit-errors(1e-5, link=\"node 3\", rail=1)"];
    assert_refused(&[(&refused, &["there is no rail 1"])]);
}

/// The manager notes a port with many CRC errors once, and the result names what explains most of what went wrong.
#[test]
fn the_manager_reads_error_counters_and_the_culprit_is_named() {
    let run = |machine: &str, faults: &str| {
        let arguments = ["run", machine, "--load", "0.3", "--warm-up", "5us", "--duration", "60us"];
        let result = json(&[&arguments[..], &["--faults", faults]].concat());
        assert_valid(&result);
        result["points"][0]["faults"].clone()
    };
    let noted = |faults: &Value| {
        let log = faults["log"].as_array().unwrap().clone();
        let of_errors =
            log.into_iter().filter(|note| note["text"].as_str().unwrap().ends_with(" CRC errors"));
        of_errors.map(|note| note["place"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let noisy = "bit-errors(1e-9); bit-errors(2e-4, link=\"node 3\")";
    let faults = run("nrc", noisy);
    let mut places = noted(&faults);
    places.sort();
    assert_eq!(places, ["node 3", "switch 0 port 3"], "{}", faults["log"]);
    assert_eq!(faults["explained"]["what"], "link between node 3 and switch 0 port 3");
    assert!(faults["explained"]["share"].as_f64() > Some(0.9), "{}", faults["explained"]);
    let quiet = run("nrc", &format!("{noisy}; manager(errors=100000)"));
    assert!(noted(&quiet).is_empty(), "{}", quiet["log"]);
    let lanes = run("nrc", "lanes(link=\"node 3\", good=5, at=20us)");
    assert_eq!(lanes["explained"]["what"], "lanes of the link between node 3 and switch 0 port 3");
    let nothing = run("nrc", "down(link=\"node 3\", at=1ms)");
    assert!(nothing.get("explained").is_none(), "{nothing}");
    let never = "manager(never, errors=3)";
    assert_refused(&[(&["run", "nrc", "--load", "0.1", "--faults", never], &["nothing beside `never`"])]);
}

#[test]
fn a_dead_switch_is_named_first() {
    let arguments = ["run", "th-group", "--load", "0.1", "--warm-up", "5us", "--duration", "60us"];
    let output =
        flitway(&[&arguments[..], &["--faults", "down(switch=48, at=10us)", "--json", "-"]].concat());
    assert_eq!(output.status.code(), Some(1), "it loses packets for good");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_valid(&result);
    let faults = &result["points"][0]["faults"];
    assert_eq!(faults["explained"]["what"], "switch 48");
    let log = faults["log"].as_array().unwrap();
    let place = |text: &str| log.iter().position(|note| note["text"].as_str().unwrap().starts_with(text));
    let dead = place("dead: ").unwrap();
    assert!(log[..dead].iter().all(|note| note["at_ns"].as_f64() < log[dead]["at_ns"].as_f64()), "{log:?}");
}

/// Tests of 10 us are 140,000 bits at 14 Gbit/s and 100,000 at 10 Gbit/s.
#[test]
fn lanes_work_at_the_rate_at_which_a_test_finds_no_error() {
    let arguments = ["run", "nrc", "--load", "0.3", "--warm-up", "5us", "--duration", "60us", "--faults"];
    // A link that is given up loses packets, which is a fault.
    let log = |lanes: &str| {
        let rule = format!("lanes(link=\"node 3\", {lanes}, at=5us)");
        let output = flitway(&[&arguments[..], &[&rule, "--json", "-"]].concat());
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["points"][0]["faults"]["log"].clone()
    };
    for (errors, rate) in [("1e-5+0+0", "rate=10"), ("1e-5+1.1e-5+1e-6", "rate=5"), ("7e-6+0.5+0", "rate=14")]
    {
        assert_eq!(log(&format!("errors={errors}")), log(rate), "{errors}");
    }
    assert_eq!(log("errors=1e-5+9e-6+0, good=5"), log("rate=10, good=5"));
    let dead = log("errors=1e-3+1e-3+1e-3");
    assert_eq!(dead, log("good=0"), "they work at no rate");
    assert_ne!(dead, log("rate=5"));
    let refused = |rule: &str, told: &str| {
        assert_refused(&[(&[&arguments[..], &[rule]].concat(), &[told])]);
    };
    refused(
        "lanes(link=\"node 3\", errors=1e-3)",
        "read 1 bit error rate, expected 3: one at 14, 10, 5 Gbit/s each",
    );
    refused("lanes(link=\"node 3\", errors=1e-3+0+0, rate=10)", "nothing beside `rate`");
}

#[test]
fn links_fail_at_a_rate_and_are_mended() {
    let run = |machine: &str, more: &[&str]| {
        let load = ["--load", "0.1", "--warm-up", "5us", "--duration", "400us"];
        let result = json(&[&["run", machine], &load[..], more].concat());
        assert_valid(&result);
        result["points"][0]["faults"].clone()
    };
    let ends = |faults: &Value, text: &str| {
        let log = faults["log"].as_array().unwrap().iter();
        log.filter(|note| note["text"].as_str().unwrap().starts_with(text)).count()
    };
    let rule = "failures(every=50us, from=10us, to=210us, repair=40us, links=node, good=5)";
    let faults = run("nrc", &["--faults", rule]);
    assert_eq!(ends(&faults, "active on 5 lanes"), 8, "four links, two ends each: {}", faults["log"]);
    assert_eq!(ends(&faults, "active on 8 lanes"), 8, "all are mended: {}", faults["log"]);
    assert_eq!(faults["log"], run("nrc", &["--faults", rule])["log"]);
    assert_ne!(faults["log"], run("nrc", &["--faults", rule, "--seed", "2"])["log"], "the seed decides");
    // Cables that are cut, among those up from the leaves: adaptive tags take others.
    let rule = "failures(every=30us, to=200us, links=level-1, repair=50us)";
    let cut = run("qsnet2-64", &["--faults", rule]);
    assert_eq!(ends(&cut, "down"), 12, "{}", cut["log"]);
    assert_eq!(cut["lost"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(), 0);
    let refused = |machine: &str, rule: &str, told: &str| {
        assert_refused(&[(&["run", machine, "--load", "0.1", "--faults", rule], &[told])]);
    };
    refused("nrc", "failures(every=10us, to=100us, links=level-9)", "expected one of `node`");
    refused("nrc", "failures(every=10us, to=1ms)", "all 24 links have failed at some time");
    refused("qsnet2-64", "failures(every=10us, to=100us, good=3)", "expected no `good`");
    refused("nrc", "failures(every=10us)", "to");
}

#[test]
fn all_wrong_rules_are_told_each_with_its_line() {
    let path =
        scratch("faults-wrong.txt", "# first\nfoo(1);\ndown(link=\"node 3\");\nlanes(link=\"node 4\")\n");
    let lines = [", line 2: there is no fault `foo`", ", line 4: `lanes` needs `good`"];
    let remarks = scratch("faults-none.txt", "# nothing\n\n");
    let run = |faults: &str, parts: &[&str]| {
        assert_refused(&[(&["run", "nrc", "--load", "0.1", "--faults", faults], parts)]);
    };
    run(path.to_str().unwrap(), &lines);
    run(remarks.to_str().unwrap(), &["faults-none.txt: no rule is given, only remarks"]);
    run(
        "foo(1); down(link=\"node 3\", at=x)",
        &["`foo(1)`: there is no fault", "`at` of `down` cannot be `x`"],
    );
    run("down(link=\"node 99\"); down(switch=7)", &["no node 99", "no switch 7"]);
    run("down(link=\"node 3, at=5us)", &["is not closed: expected a `\"`"]);
    run("down(link=\"node 3\", at=5us", &["is not closed: expected a `)`"]);
    run("down(link=\"node 3\" at=5us)", &["a comma is missing", "before `at=`"]);
    run("down(link=\"node 3\"); down(link=\"switch 0 port 3\")", &["cut at that time already"]);
    run("down(switch=0); down(switch=0, at=1us)", &["dies already"]);
    run("manager(never); manager(every=1us)", &["a second manager"]);
    run("manager(never, latency=1us)", &["nothing beside `never`"]);
    let right = scratch("faults-right.txt", "down(link=\"node 3\", at=500us);  # with a semicolon\n");
    json(&[
        "run",
        "nrc",
        "--load",
        "0.1",
        "--warm-up",
        "1us",
        "--duration",
        "5us",
        "--faults",
        right.to_str().unwrap(),
    ]);
}

/// A switch of the middle dies: adaptive tags go round it at once, and nothing is lost; a node that is cut off loses its
/// packets without a route once the manager has looked.
#[test]
fn elite4s_go_round_what_is_down_and_lose_what_has_no_way() {
    let run = |rules: &str| {
        let load = ["--load", "0.3", "--packet", "1KiB", "--warm-up", "5us", "--duration", "120us"];
        let output =
            flitway(&[&["run", "qsnet2-64"][..], &load, &["--faults", rules, "--json", "-"]].concat());
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_valid(&result);
        let faults = result["points"][0]["faults"].clone();
        let lost: u64 = faults["lost"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(output.status.code(), Some(i32::from(lost > 0)), "who loses packets for good ends with 1");
        faults
    };
    let around = run("down(switch=20, at=20us); manager(every=5us, latency=10us)");
    let lost = |faults: &Value, cause: &str| faults["lost"][cause].as_u64().unwrap();
    for cause in ["in_dead_switch", "link_down", "unacknowledged", "no_route", "refused"] {
        assert_eq!(lost(&around, cause), 0, "{around}");
    }
    let log = around["log"].as_array().unwrap();
    assert_eq!(log[log.len() - 1]["text"], "tables avoid 1 switch and 8 links");
    assert!((30_000.0..30_050.0).contains(&around["settled_ns"].as_f64().unwrap()), "{around}");
    let off = run("down(link=\"node 3\", at=20us); manager(every=5us, latency=10us)");
    assert!(lost(&off, "no_route") > 10 && lost(&off, "in_dead_switch") == 0, "{off}");
}

/// A switch of the middle costs barriers by broadcasts nothing once there are new tables; a leaf switch that dies with four
/// members is the end of them, and the run says so. Multicasts go on to those who are left.
#[test]
fn broadcasts_of_elite4s_go_round_what_is_down_and_are_lost_for_who_is_not_reached() {
    let run = |what: &[&str], switch: u32| {
        let rules = format!("down(switch={switch}, at=20us); manager(every=5us, latency=10us)");
        let told = ["--duration", "500us", "--faults", &rules, "--json", "-"];
        let output = flitway(&[&["run", "qsnet2-64"][..], what, &told].concat());
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_valid(&result);
        let point = result["points"][0].clone();
        let lost = point["faults"]["lost"]["link_down"].as_u64().unwrap();
        assert_eq!(output.status.code(), Some(i32::from(lost > 0)), "{}", stderr(&output));
        (point, lost)
    };
    for by in ["conditional", "three-trips"] {
        let barriers = ["--barrier", "all", "--interval", "10us", "--by", by];
        let (point, lost) = run(&barriers, 16);
        assert!(lost == 0 && point["barrier"]["operations"].as_u64().unwrap() > 30, "{point}");
        let (point, lost) = run(&barriers, 3);
        assert!(lost > 0 && lost % 4 == 0 && point["barrier"]["operations"] == 0, "{point}");
    }
    let multicasts = ["--multicast", "nodes(0-63)", "--multicast-load", "0.001"];
    let (point, lost) = run(&multicasts, 3);
    assert!(lost > 0 && lost % 4 == 0 && point["faults"]["pairs"].as_u64() <= Some(64 * 4), "{point}");
    let (point, lost) = run(&multicasts, 32);
    assert!(lost == 0 && point["multicast"]["operations"].as_u64() > Some(5), "{point}");
}

#[test]
fn up_down_tables_of_any_network_go_round_what_is_down() {
    let topology = r#"topology={kind="torus", dimensions=[4, 4], nodes_per_switch=2}"#;
    let lengths = r#"link.length={node="1 m", switch="1 m"}"#;
    let machine = ["run", "nrc", "--set", topology, "--set", lengths, "--set", "routing.algorithm=up-down"];
    let time = ["--load", "0.05", "--warm-up", "5us", "--duration", "250us"];
    let rules = "down(switch=10, at=20us); manager(every=5us, latency=10us)";
    let output = flitway(&[&machine[..], &time, &["--faults", rules, "--json", "-"]].concat());
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_valid(&result);
    let point = &result["points"][0];
    assert!(point.get("deadlock").is_none(), "{point}");
    let faults = &point["faults"];
    let log = faults["log"].as_array().unwrap();
    let is_written = |note: &&Value| {
        let text = note["text"].as_str().unwrap();
        text.starts_with("tables avoid 1 switch and 6 links")
            && note["since_ns"].as_f64() > note["at_ns"].as_f64()
    };
    assert!(log.iter().any(|note| is_written(&note)), "{log:?}");
    assert_eq!(faults["explained"]["what"], "switch 10");
    // What the two nodes of the dead switch send, and what is for them, is lost.
    let [before, after] = ["accepted_before", "accepted_after"].map(|key| faults[key].as_f64().unwrap());
    assert!((0.85..0.95).contains(&(after / before)), "{before} {after}");
}

/// The answer that node 0 gives first is corrupt: the packet is sent again, and the operation is over once, later.
#[test]
fn an_answer_that_is_corrupt_loses_nothing() {
    let run = |faults: &[&str]| {
        let run =
            ["run", "qsnet2-64", "--load", "0.05", "--packet", "256B", "--duration", "50us", "--json", "-"];
        let output = flitway(&[&run[..], faults].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_valid(&result);
        result["points"][0].clone()
    };
    let point = run(&["--faults", "lose-ack(link=\"node 0\")"]);
    let link = |key: &str| point["link_errors"][key].as_u64().unwrap();
    assert_eq!(["corrupted", "repeated", "nacks", "refused"].map(link), [1, 1, 0, 0]);
    assert!(point["faults"].get("unmatched").is_none(), "{point}");
    assert_eq!(point["faults"]["links"][0]["link"], "node 0 to switch 0 port 0");
    assert!(run(&[]).get("link_errors").is_none());
}

/// Nobody tells a manager of a node that is stalled: the run says so itself, and why no barrier is over.
#[test]
fn a_node_that_is_stalled_is_named() {
    let barrier = ["run", "qsnet2-64", "--barrier", "all", "--by", "conditional", "--duration", "100us"];
    let faults = ["--faults", "stall(node=0, at=0us, until=1ms); manager(never)"];
    let output = flitway(&[&barrier[..], &faults].concat());
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("stalled                 0 ns  node 0: nothing feeds its NIC port"), "{shown}");
    assert!(shown.contains("none was over in the time measured: from 0 ns on node 0"), "{shown}");
}

#[test]
fn what_cannot_break_is_told() {
    let rules = "down(link=\"node 3\", at=5us)";
    let lanes = "lanes(link=\"node 3\", good=4); undetected(1e-9)";
    assert_refused(&[
        (&["run", "qsnet2-64", "--load", "0.1", "--faults", lanes], &["no lanes", "find every error"]),
        (&["run", "dawning5000", "--graph", GRAPH, "--faults", rules], &["--faults", "model no faults"]),
        (&["run", "th-frame", "--graph", GRAPH, "--faults", "down(link=\"node 99\")"], &["no node 99"]),
        (&["run", "th-frame", "--load", "0.1", "--faults", " ; "], &["--faults", "no rule is given"]),
        (&["run", "nrc", "--load", "0.1", "--faults", "down()"], &["--faults", "down(switch=48)"]),
        (&["run", "nrc", "--load", "0.1", "--faults", "lanes(link=\"node 3\")"], &["`good`", "or both"]),
        (&["run", "hpp-switch", "--barrier", "all", "--faults", rules], &["--faults", "model no faults"]),
    ]);
}
