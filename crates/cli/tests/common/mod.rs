//! What tests of the command line have in common.

#![allow(dead_code, reason = "each test file needs some of it")]
#![allow(unreachable_pub, reason = "test files are crates of their own")]

pub mod shown;

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

pub fn flitway(arguments: &[&str]) -> Output {
    // Whoever runs the tests may have said how wide the terminal is.
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitway"));
    command.args(arguments).env_remove("COLUMNS").output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A file of this test run.
pub fn scratch(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

pub fn json(arguments: &[&str]) -> Value {
    let output = flitway(&[arguments, &["--json", "-"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// The result without what may differ between equal runs.
pub fn reproducible(mut result: Value) -> Value {
    result.as_object_mut().unwrap().remove("command");
    for point in result["points"].as_array_mut().unwrap() {
        let point = point.as_object_mut().unwrap();
        point.remove("wall_s");
        point.remove("peak_rss_bytes");
    }
    result
}

pub fn assert_valid(result: &Value) {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/result.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Each of the arguments is refused with status 2 and a message with these parts, and runs nothing.
pub fn assert_refused(cases: &[(&[&str], &[&str])]) {
    for (arguments, expected) in cases {
        let output = flitway(arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?} ran something");
        for part in *expected {
            assert!(message.contains(part), "{arguments:?} should say {part:?}:\n{message}");
        }
        assert!(!message.contains("panicked"), "{message}");
    }
}
