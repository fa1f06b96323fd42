//! `flitway run --nic`: what it says, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_refused, assert_valid, flitway, json, scratch, stderr, stdout};
use serde_json::Value;
use std::path::PathBuf;

#[test]
fn every_wrong_nic_operation_has_its_message_and_status_2() {
    let put = ["run", "nrc", "--nic", "put(0-1)"];
    let with = |more: &[&'static str]| [&put[..], more].concat();
    let dawning = |operation| vec!["run", "dawning5000-single", "--nic", operation];
    let qsnet = |operation| vec!["run", "qsnet2-64", "--nic", operation];
    let cases: [(Vec<&str>, &[&str]); 29] = [
        (vec!["run", "nrc", "--nic", "putt(0-1)"], &["--nic", "did you mean `put`?"]),
        (vec!["run", "nrc", "--nic", "put"], &["--nic", "two different nodes"]),
        (vec!["run", "nrc", "--nic", "put(0-0)"], &["--nic", "two different nodes"]),
        (vec!["run", "nrc", "--nic", "put(0-24)"], &["--nic", "no node 24"]),
        (vec!["run", "nrc", "--nic", "put(0-1, queue=dma)"], &["--nic", "`hdq` or `sdq`"]),
        (vec!["run", "nrc", "--nic", "send(0-1)", "--size", "1KiB"], &["--size", "120 B", "use `put`"]),
        (vec!["run", "mesh-8x8", "--nic", "put(0-1)"], &["--nic", "nic.model=th"]),
        (dawning("put(0-1, by=pio)"), &["--nic", "`by=rendezvous` and `by=dma`"]),
        (dawning("send(0-16)"), &["--nic", "no node 16"]),
        (dawning("put(0-1, queue=hdq)"), &["--nic", "has no put with `queue=hdq`"]),
        (vec!["run", "nrc", "--nic", "remote-load(0-1)"], &["--nic", "has no remote-load"]),
        ([&dawning("remote-load(0-1)")[..], &["--size", "9B"]].concat(), &["--size", "8 B", "use `get`"]),
        (with(&["--size", "8"]), &["--size", "has no unit"]),
        (with(&["--size", "64B..8B"]), &["--size", "use `8B..64B`"]),
        (with(&["--processes", "9"]), &["--processes", "queue=sdq"]),
        (with(&["--precision", "0.1"]), &["--precision", "not of NIC operations"]),
        (with(&["--packet", "64B"]), &["--packet", "needs a load", "--load 0.3"]),
        (with(&["--faults", "down(link=7)"]), &["--faults"]),
        (with(&["--trace", "x.json"]), &["--trace", "no trace"]),
        (vec!["run", "nrc", "--nic", "send(0-1, match=1)"], &["--nic", "no thread processor", "qsnet2-64"]),
        (vec!["run", "nrc", "--nic", "reduce(0-3)"], &["--nic", "no thread processor"]),
        (qsnet("send(0-1, match=0)"), &["--nic", "a number from 1 to 10000"]),
        (qsnet("send(0-1, late=5us)"), &["--nic", "`late`", "beside `match=1`"]),
        (qsnet("send(0-1, match=1, unexpected=drop)"), &["--nic", "`refuse`"]),
        (qsnet("send(0-1, match=1, late=2ms)"), &["--nic", "0 ns to 1 ms"]),
        (
            [&qsnet("send(0-1, match=1)")[..], &["--size", "113B", "--outstanding", "2"]].concat(),
            &["--outstanding", "leave --outstanding out"],
        ),
        ([&qsnet("reduce(0-3)")[..], &["--size", "8B"]].concat(), &["--size", "is of a word"]),
        (qsnet("thread(0-3)"), &["--nic", "path of a program"]),
        (qsnet("thread(0-3, program=none.thread)"), &["none.thread", "does not exist"]),
    ];
    let cases: Vec<(&[&str], &[&str])> =
        cases.iter().map(|(arguments, expected)| (&arguments[..], *expected)).collect();
    assert_refused(&cases);
}

/// Result and text of puts from node 0 to node 31 of `machine`, with `more` said.
fn puts(machine: &str, name: &str, more: &[&str], status: i32) -> (Value, String) {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let put = ["run", machine, "--nic", "put(0-31)", "--json", file.to_str().unwrap()];
    let output = flitway(&[&put, more].concat());
    assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
    let result = std::fs::read_to_string(&file).unwrap();
    (serde_json::from_str(&result).unwrap(), stdout(&output) + &stderr(&output))
}

#[test]
fn traffic_beside_operations_costs_them_contention_and_nothing_else() {
    let (alone, _) = puts("th-frame", "nic-alone.json", &["--size", "64B"], 0);
    let (beside, text) =
        puts("th-frame", "nic-beside.json", &["--size", "64B", "--load", "0.2,0.6", "--packet", "256B"], 0);
    for part in ["beside uniform traffic at 0.200", "beside uniform traffic at 0.600", "contention"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mean = |point: &Value| point["nic"]["latency_ns"]["mean"].as_f64().unwrap();
    let means = [&alone["points"][0], &beside["points"][0], &beside["points"][1]].map(mean);
    assert!(means[0] < means[1] && means[1] < means[2], "{means:?}");
    let stage = |point: &Value, unit: &str| {
        let stages = point["nic"]["stages"].as_array().unwrap();
        stages.iter().filter(|stage| stage["unit"] == unit).map(|it| it["ns"].as_f64().unwrap()).sum::<f64>()
    };
    for unit in ["processor", "bus", "polling", "protocol engine", "switches"] {
        let of = [&alone["points"][0], &beside["points"][1]].map(|point| stage(point, unit));
        assert!((of[0] - of[1]).abs() < 0.01, "{unit}: {of:?}");
    }
    let point = &beside["points"][1];
    assert_eq!(point["offered_load"], 0.6);
    assert!((point["accepted_load"].as_f64().unwrap() - 0.6).abs() < 0.02, "{point}");
    assert!(alone["points"][0].get("accepted_load").is_none());
}

#[test]
fn what_links_corrupt_comes_again_and_what_has_no_way_is_lost() {
    let (result, text) = puts("th-frame", "nic-errors.json", &["--faults", "bit-errors(1e-5)"], 0);
    let point = &result["points"][0];
    assert!(point["link_errors"]["repeated"].as_u64().unwrap() > 0, "{point}");
    assert_eq!(point["nic"]["complete"], true);
    assert!(text.contains("sent again"), "{text}");
    for (machine, more) in [("th-frame", &[][..]), ("qsnet2-64", &[]), ("qsnet2-64", &["--load", "0.1"])] {
        let down = ["--faults", "down(link=\"node 31\", at=20us)"];
        let (result, text) = puts(machine, "nic-down.json", &[&down, more].concat(), 1);
        let point = &result["points"][0];
        assert_eq!(point["nic"]["complete"], false);
        assert!(point["faults"]["lost"].as_object().unwrap().values().any(|count| count != 0), "{point}");
        assert!(text.contains("not every put of 8 B was seen: packets were lost"), "{text}");
    }
}

/// What links corrupt unseen the user CRC of reliable operations finds, and others have it in memory; what has no way is
/// given up.
#[test]
fn reliable_operations_say_what_they_made_up_for_or_gave_up() {
    let run = |operation: &str, faults: &str, status: i32| {
        let output = flitway(&[
            "run", "th-frame", "--nic", operation, "--size", "1KiB", "--count", "100", "--faults", faults,
        ]);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        format!("{}{}", stdout(&output), stderr(&output)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let text = run("put(0-31, reliable=yes)", "undetected(1e-2)", 0);
    for said in
        ["reliable put between nodes 0 and 31", "found corrupt by their user CRC", "packets sent again"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = run("put(0-31)", "undetected(1e-2)", 0);
    assert!(text.contains("end to end operations are not reliable"), "{text}");
    let text = run("put(0-31, reliable=yes)", "down(link=\"node 31\", at=20us)", 1);
    assert!(text.contains("transfers given up in the NIC of node"), "{text}");
}

#[test]
fn a_nic_operation_is_shown_with_its_stages_and_a_page() {
    let page = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("nic.html");
    let output = flitway(&[
        "run",
        "nrc",
        "--nic",
        "put(0-1)",
        "--size",
        "8B,1KiB",
        "--report",
        page.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in ["ping-pong", "8 B", "1 KiB", "near     processor", "network  switches", "far      polling"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let html = std::fs::read_to_string(&page).unwrap();
    for part in ["Where the time goes", "fig-nic-stages", "far: polling"] {
        assert!(html.contains(part), "{part}");
    }
    let lost = flitway(&[
        "run",
        "nrc",
        "--nic",
        "put(0-1)",
        "--set",
        "nic.eq=1",
        "--set",
        "nic.hold=0ns",
        "--outstanding",
        "8",
    ]);
    assert_eq!(lost.status.code(), Some(1), "{}", stderr(&lost));
    assert!(stderr(&lost).contains("events dropped in the NIC of node"), "{}", stderr(&lost));
}

/// What the NIC of Dawning 5000 is asked for, from a terminal: each operation, sizes that double, and what limits a stream.
#[test]
fn operations_of_dawning_5000_are_shown() {
    let run = |operation: &str, more: &[&str]| {
        let output =
            flitway(&[&["run", "dawning5000-single", "--nic", operation, "--count", "40"], more].concat());
        assert!(output.status.success(), "{operation}: {}", stderr(&output));
        stdout(&output)
    };
    let operations = [
        ("put(0-1)", "by rendezvous", "far      polling"),
        ("send(0-1)", "by pio", "near     DMA engine"),
        ("get(0-1)", "by dma", "far      DMA engine"),
    ];
    for (operation, by, stage) in operations {
        let text = run(operation, &["--size", "8B..64KiB"]);
        for part in [by, "8 B", "64 KiB", stage, "network  switches"] {
            assert!(text.contains(part), "{operation}: {part}: {text}");
        }
    }
    assert!(run("send(0-1)", &[]).contains("1730.0"), "1.4 us, two links of 0.1 us, a switch of 0.13 us");
    for word in ["remote-load(0-1)", "remote-store(0-1)", "fetch-add(0-1)"] {
        assert!(run(word, &["--size", "4B"]).contains("near     remote access unit"), "{word}");
    }
    let stream = run("send(0-1)", &["--size", "1KiB", "--outstanding", "16"]);
    assert!(stream.contains("limited by"), "{stream}");
}

/// How processes go about operations, from a terminal and as an object.
#[test]
fn interrupts_physical_addresses_and_buffers_are_shown() {
    let operation = "put(0-1, wait=interrupt, addresses=physical, buffers=4)";
    let args = ["run", "nrc", "--nic", operation];
    let result = json(&args);
    assert_valid(&result);
    let nic = &result["points"][0]["nic"];
    let said = (&nic["wait"], &nic["addresses"], &nic["buffers"]);
    assert_eq!(said, (&"interrupt".into(), &"physical".into(), &4.into()));
    let text = stdout(&flitway(&args)).replace("\n  ", " ");
    for part in
        ["processes sleep until an interrupt; physical addresses; 4 buffers in turn", "far      interrupt"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Noise is said, and costs barriers time.
#[test]
fn system_noise_is_shown() {
    let run = |operation: &str| {
        let result = json(&["run", "th-group", "--nic", operation, "--count", "100"]);
        assert_valid(&result);
        result["points"][0]["nic"].clone()
    };
    let [quiet, noisy] =
        ["", ", noise=5us/100us"].map(|noise| run(&format!("barrier(0-15, by=hosts{noise})")));
    assert_eq!(quiet.get("noise"), None);
    assert_eq!(noisy["noise"], serde_json::json!({ "length_ns": 5_000.0, "period_ns": 100_000.0 }));
    let rate = |nic: &Value| nic["rate_per_s"].as_f64().expect("a number");
    assert!(rate(&noisy) < 0.9 * rate(&quiet), "{noisy} {quiet}");
    let text = stdout(&flitway(&["run", "th-group", "--nic", "send(0-1, noise=5us/11us)"]));
    for part in ["system software has each processor for 5 us of every 11 us", "far      system noise"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let short = stdout(&flitway(&["run", "th-group", "--nic", "send(0-1, noise=1us/1ms)"]));
    assert!(short.contains("less than a period of the noise"), "{short}");
    let several = json(&["run", "th-group", "--nic", "barrier(0-3, noise=1us/10us)", "--seeds", "2"]);
    assert_valid(&several);
    assert_eq!(several["spread"][0]["size_bytes"], 0);
    let arguments: &[&str] = &["run", "th-group", "--nic", "send(0-1, noise=1us/1us)"];
    assert_refused(&[(arguments, &["`noise` of `send` cannot be `1us/1us`"])]);
}

/// Faults of pages cost time at both ends, and are counted.
#[test]
fn translations_on_demand_are_shown() {
    let latency = |operation: &str| {
        let result = json(&["run", "qsnet2-64", "--nic", operation, "--count", "10"]);
        assert_valid(&result);
        let nic = &result["points"][0]["nic"];
        (nic["latency_ns"]["mean"].as_f64().expect("a number"), nic["translations"].clone())
    };
    let (before, none) = latency("put(0-1, by=dma)");
    let (faults, said) = latency("put(0-1, by=dma, buffers=50, translations=on-demand)");
    assert_eq!((none, said), (Value::Null, "on-demand".into()));
    assert!(
        faults > before + 5_000.0,
        "two faults of 5 us for two buffers of 4 KiB in a page of 8 KiB: {faults} {before}"
    );
}

/// What threads of Elan4 carry out, from a terminal and as an object.
#[test]
fn operations_of_threads_are_shown() {
    fn run(operation: &str) -> [&str; 4] {
        ["run", "qsnet2-64", "--nic", operation]
    }
    let matched = json(&run("send(0-1, match=10, unexpected=interrupt, late=5us)"));
    assert_valid(&matched);
    let nic = &matched["points"][0]["nic"];
    let said = (&nic["match"], &nic["unexpected"], &nic["late_ns"], &nic["program"]);
    assert_eq!(said, (&10.into(), &"interrupt".into(), &5000.0.into(), &"match".into()));
    let text = stdout(&flitway(&run("send(0-1, match=10)")));
    for part in ["receive 10 of the list", "far      thread processor", "480.0"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let refused = stdout(&flitway(&run("send(0-1, match=1, unexpected=refuse, late=20us)")));
    assert!(refused.contains("refused, as no receive waited"), "{refused}");
    for (operation, by) in
        [("reduce(0-15)", "nic"), ("reduce(0-15, by=hosts)", "hosts"), ("gather(2-9, arity=2)", "nic")]
    {
        let result = json(&run(operation));
        assert_valid(&result);
        assert_eq!(result["points"][0]["nic"]["by"], by);
    }
}

/// The program that `docs/elan4-threads.md` shows runs; one that is wrong is refused, with all mistakes in their places; one
/// that does not end, or does not free its slots, is a fault.
#[test]
fn programs_of_users_run_or_say_what_is_wrong() {
    let page = include_str!("../../../docs/elan4-threads.md");
    let shown = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let operation = |name: &str, text: &str, nodes: &str| {
        format!("thread({nodes}, program={})", scratch(name, text).display())
    };
    let ring = operation("ring.thread", shown, "0-7");
    let result = json(&["run", "qsnet2-64", "--nic", &ring]);
    assert_valid(&result);
    assert_eq!(result["points"][0]["nic"]["operations"], 80);
    let wrong = operation("wrong.thread", "next: wait\n ad r1, r2, r3\n jump nxt\n", "0-7");
    assert_refused(&[(
        &["run", "qsnet2-64", "--nic", &wrong],
        &[
            "FW-M075",
            "wrong.thread:2:2",
            "did you mean `add`?",
            "FW-M076",
            "wrong.thread:3:7",
            "did you mean `next`?",
        ],
    )]);
    let fails = |name: &str, text: &str| {
        let operation = operation(name, text, "2-5");
        let output = flitway(&["run", "qsnet2-64", "--nic", &operation]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stderr(&output)
    };
    let endless = fails("endless.thread", "a: add r1, r1, 1\njump a\n");
    assert!(endless.contains("on node 2 the thread of process 0 stopped in line 1"), "{endless}");
    let silent = fails("silent.thread", "a: wait\nfree r7\njump a\n");
    assert!(silent.contains("wait for what does not come"), "{silent}");
}
