//! Whatever the text, the reader of machine files answers.

#![no_main]

use flitway_machine::{Colour, Options};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match Options::from_text("fuzz.toml", text.to_owned(), Path::new(".")).check() {
        Ok(machine) => assert!(machine.to_json().is_object()),
        Err(problems) => assert!(!problems.render(Colour::Plain).is_empty()),
    }
});
