//! Whatever the text, what reads our own JSON answers: results, results of experiments, finished points of a store.

#![no_main]

use flitway_experiment::frame::Frame;
use flitway_experiment::{Store, schema};
use serde_json::Value;

const KEY: &str = "0123456789abcdef0123456789abcdef";

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(value) = serde_json::from_str::<Value>(text)
        && schema::problems(&value).is_empty()
    {
        let frame = Frame::new(&value);
        assert!(!frame.to_csv().is_empty() && !frame.to_parquet().is_empty());
    }
    let folder = std::env::temp_dir().join(format!("flitway-fuzz-{}", std::process::id()));
    let store = Store::open(&folder).expect("a folder for temporary files can be written");
    std::fs::write(store.path(KEY), text).expect("and a file in it");
    if let Err(error) = store.load(KEY) {
        assert!(!error.to_string().is_empty());
    }
});
