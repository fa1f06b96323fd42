//! The fast engine is held against the reference model on random cases, and on those that have failed before.
//!
//! `FLITWAY_CASE=SEED` replays one case. `cargo xtask campaign` runs as many as there is time for.

use flitway_reference::campaign::{Coverage, Extent, campaign, check, replay};
use std::path::Path;

/// The cases of a CI run are always the same: of eight, three are of HPP Switches, one of SP Switches, two of tiled switches,
/// and two of Elite4s.
const CASES: u64 = 3_000;

#[test]
fn engine_and_reference_agree_on_random_cases() {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let outcome = match std::env::var("FLITWAY_CASE") {
        Ok(seed) => replay(seed.parse().expect("FLITWAY_CASE is a number")),
        Err(_) => campaign(0, Extent::Cases(CASES), workers),
    };
    match outcome {
        Ok(coverage) => {
            println!("{coverage:?}");
            let is_replay = coverage.cases == 1;
            assert!(is_replay || coverage.cases == CASES, "every case has a fabric");
            assert!(is_replay || coverage.in_batches > CASES / 30, "both models of the HPP Switch");
            assert!(is_replay || coverage.posting > CASES / 60, "both ways of adverts on wires of their own");
            assert!(is_replay || coverage.choosing > CASES / 60, "switches that choose ways");
            assert!(is_replay || coverage.answering > CASES / 120, "NIC ports that tell answers");
        }
        Err(finding) => panic!("{finding}"),
    }
}

/// Each file in `cases` has failed once; its first lines say why. What a campaign prints can be kept there as it is.
#[test]
fn engine_and_reference_agree_on_what_has_failed_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut total = Coverage::default();
    for entry in folder.read_dir().expect("there are cases") {
        let path = entry.expect("a folder can be read").path();
        let name = path.display();
        let text = std::fs::read_to_string(&path).expect("a case can be read");
        let case = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        match check(&case) {
            Ok(coverage) => {
                assert_eq!(coverage.cases, 1, "{name}: its parts do not go together");
                total += coverage;
            }
            Err(finding) => panic!("{name}:\n{finding}"),
        }
    }
    assert!(total.in_batches > 0 && total.posting > 0, "they go the ways on which they failed: {total:?}");
}
