//! Whatever the text, the reader of experiment files answers.

#![no_main]

use flitway_experiment::{Experiment, Overrides};
use flitway_machine::Colour;
use std::path::Path;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match Experiment::from_text("fuzz.toml", text.to_owned(), Path::new(""), &Overrides::default()) {
        Ok(experiment) => assert!(!experiment.points().is_empty()),
        Err(problems) => assert!(!problems.render(Colour::Plain).is_empty()),
    }
});
