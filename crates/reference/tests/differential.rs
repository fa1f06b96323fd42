//! The fast engine is held against the reference model on random cases.
//!
//! `FLITWAY_CASE=SEED` replays one case. `cargo xtask campaign` runs as many as there is time for.

use flitway_reference::campaign::{Extent, campaign, replay};

/// The cases of a CI run are always the same.
const CASES: u64 = 2_000;

#[test]
fn engine_and_reference_agree_on_random_cases() {
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let outcome = match std::env::var("FLITWAY_CASE") {
        Ok(seed) => replay(seed.parse().expect("FLITWAY_CASE is a number")),
        Err(_) => campaign(0, Extent::Cases(CASES), workers),
    };
    match outcome {
        Ok(coverage) => println!("{coverage:?}"),
        Err(finding) => panic!("{finding}"),
    }
}
