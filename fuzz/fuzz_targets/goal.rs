//! Whatever the bytes, the reader of task graphs answers.

#![no_main]

use flitway_workload::graph::goal;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Err(mistakes) = goal::read(bytes) {
        assert!(!mistakes.list.is_empty());
        assert!(mistakes.list.iter().all(|mistake| !mistake.to_string().is_empty()));
    }
});
