//! What `flitway` says of its own options.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::*;

#[test]
fn options_are_explained_and_stand_under_their_heading() {
    for topic in ["warm-up", "--warm-up"] {
        let text = stdout(&flitway(&["explain", topic]));
        assert!(text.starts_with("--warm-up TIME (option of `flitway run`): Warm-up in simulated"), "{text}");
    }
    let text = stdout(&flitway(&["explain", "packet"]));
    assert!(text.contains("--packet SIZE") && text.contains("packet.mtu"), "{text}");
    let help = stdout(&flitway(&["run", "--help"]));
    let (_, of_experiments) = help.split_once("\nExperiment:\n").unwrap();
    let (of_experiments, of_any) = of_experiments.split_once("\nAny run:\n").unwrap();
    assert!(of_experiments.contains("--out") && !of_experiments.contains("--json <"), "{help}");
    assert!(
        of_any.contains("--seed") && of_any.contains("--json <") && of_any.contains("--trace-of"),
        "{help}"
    );
}
