//! Whatever the text, the reader of graph files answers.

#![no_main]

use flitway_machine::{Colour, GraphFile};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(problems) = GraphFile::from_text("fuzz.graph", text.to_owned()) {
        assert!(!problems.render(Colour::Plain).is_empty());
    }
});
