//! Whatever the text, the readers of traffic matrices, size lists and placements answer.

#![no_main]

use flitway_workload::graph::Placement;
use flitway_workload::traffic::destination;
use flitway_workload::traffic::size::Sizes;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let is_told = |message: String| assert!(!message.is_empty());
    match destination::parse_with("matrix(fuzz)", &|_| Ok(text.to_owned())) {
        Ok(matrix) => assert!(!matrix.name().is_empty()),
        Err(error) => is_told(error.to_string()),
    }
    match Sizes::list(text) {
        Ok(sizes) => assert!(sizes.smallest() <= sizes.largest() && sizes.mean() > 0.0),
        Err(errors) => errors.iter().for_each(|error| is_told(error.to_string())),
    }
    for nodes in [1, 4, 64] {
        if let Err(errors) = Placement::from_text(text, 4, nodes) {
            errors.iter().for_each(|error| is_told(error.to_string()));
        }
    }
});
