//! `gen`: the reference pages, from the tables that the code uses.

mod options;
mod traffic;

use crate::Outcome;
use crate::files::{Made, compare, write};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Write nothing; fail if a page in the tree is not what would be written
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let pages = pages();
    if !arguments.check {
        return write(&pages);
    }
    let stale = compare(&pages);
    if !stale.is_empty() {
        return Err(format!(
            "not current: {}; run `cargo xtask gen` and commit the result",
            stale.join(", ")
        ));
    }
    println!("{} pages are current", pages.len());
    Ok(())
}

fn pages() -> Vec<Made> {
    let page = |name: &str, text: String| Made { path: format!("docs/{name}.md"), text };
    vec![
        page("settings", flitway_machine::settings_reference()),
        page("codes", flitway_machine::codes_reference()),
        page("traffic", traffic::reference()),
        page("workload-options", options::page()),
        Made { path: "python/flitway/_options.py".to_owned(), text: options::python() },
    ]
}
