//! `flitway run --nic`: what it says, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_refused, flitway, stderr, stdout};
use std::path::PathBuf;

#[test]
fn every_wrong_nic_operation_has_its_message_and_status_2() {
    let put = ["run", "nrc", "--nic", "put(0-1)"];
    let with = |more: &[&'static str]| [&put[..], more].concat();
    let cases: [(Vec<&str>, &[&str]); 12] = [
        (vec!["run", "nrc", "--nic", "putt(0-1)"], &["--nic", "did you mean `put`?"]),
        (vec!["run", "nrc", "--nic", "put"], &["--nic", "two nodes"]),
        (vec!["run", "nrc", "--nic", "put(0-0)"], &["--nic", "two nodes"]),
        (vec!["run", "nrc", "--nic", "put(0-24)"], &["--nic", "no node 24"]),
        (vec!["run", "nrc", "--nic", "put(0-1, queue=dma)"], &["--nic", "`hdq` or `sdq`"]),
        (vec!["run", "nrc", "--nic", "send(0-1)", "--size", "1KiB"], &["--size", "120 B", "use `put`"]),
        (vec!["run", "dawning5000", "--nic", "put(0-1)"], &["--nic", "nic.model=th"]),
        (with(&["--size", "8"]), &["--size", "has no unit"]),
        (with(&["--size", "64B..8B"]), &["--size", "use `8B..64B`"]),
        (with(&["--processes", "9"]), &["--processes", "queue=sdq"]),
        (with(&["--load", "0.3"]), &["--load", "not of NIC operations"]),
        (with(&["--trace", "x.json"]), &["--trace", "no trace"]),
    ];
    let cases: Vec<(&[&str], &[&str])> =
        cases.iter().map(|(arguments, expected)| (&arguments[..], *expected)).collect();
    assert_refused(&cases);
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
