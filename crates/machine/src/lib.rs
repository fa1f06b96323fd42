//! The machine: text becomes a checked description; every diagnostic and every unit.
//!
//! This crate is the only parser of machines. It knows no traffic, runs nothing and prints nothing: what is wrong is a
//! value, [`Diagnostics`], which the command line renders.
//!
//! The way through it has three types and three steps:
//!
//! 1. [`Options`]: what a file and its overrides say, as written, with the place of each value ([`options`]);
//! 2. [`Machine`]: complete, typed and cross-checked; nothing has a default after this ([`machine`]);
//! 3. [`Machine::fabric`]: the fabric, in which nothing is configurable.
//!
//! Text with the place of every value ([`document`]) and the pictures of mistakes serve the files of experiments too.
//!
//! What a file may say is data, one table of [`schema::Setting`]s, from which reading, `explain`, the reference pages
//! and the effective values in results are made. The settings of a part and the checks of it stand together under
//! `section/`.
//!
//! ```
//! use flitway_machine::{Colour, Machine};
//! let problems = Machine::load("hpp-switch", &["switch.buffer=4096".to_owned()]).unwrap_err();
//! assert_eq!(problems.render(Colour::Plain), r#"
//! error[FW-M013]: `switch.buffer` has no unit: 4096
//!  --> --set:1:15
//!   |
//! 1 | switch.buffer=4096
//!   |               ^^^^
//!   |
//!   = expected: a size from 1 B to 1 GiB, in B, KiB, MiB, GiB, kB, MB, GB
//!   = help: write --set 'switch.buffer=4096 B' if that is meant"#.trim_start());
//! ```

pub mod code;
mod convert;
pub mod diagnostic;
pub mod digest;
pub mod document;
mod entry;
mod explain;
mod graph;
pub mod input;
mod json;
mod load;
pub mod machine;
mod nearest;
pub mod options;
mod overrides;
mod place;
mod printable;
mod render;
mod resolve;
pub mod schema;
mod section;
mod setting;
mod tables;
pub mod thread;
pub mod units;
mod values;

pub use code::Code;
pub use convert::Value;
pub use convert::kind_of;
pub use diagnostic::{Diagnostic, Diagnostics, Location, Severity, Source};
pub use entry::Origin;
pub use explain::{codes_reference, explain, settings_reference};
pub use flitway_nic::NicSettings;
pub use flitway_switch::SwitchSettings;
pub use flitway_wiring::routing::RoutingKind;
pub use graph::GraphFile;
pub use load::{builtin, is_folder, is_path, not_built_in, or_built_in, read_text};
pub use machine::{Machine, MemoryNeeded, Rounding};
pub use nearest::nearest;
pub use options::Options;
pub use place::{Place, lane_states, switch_called};
pub use printable::printable;
pub use render::{Colour, render};
pub use section::link::rates::LinkRates;
pub use section::link::{LinkSettings, probability_of_error};
pub use section::nic::NodeSettings;
pub use tables::TableFile;
pub use units::{Dimension, show};
pub use values::Effective;

/// The switch architectures: name and what it is.
#[must_use]
pub fn architectures() -> Vec<(&'static str, &'static str)> {
    names(&section::switch::ARCHITECTURE)
}

/// The NICs: name and what it is.
#[must_use]
pub fn nics() -> Vec<(&'static str, &'static str)> {
    names(&section::nic::MODEL)
}

/// The names that `setting` can have, and what they mean.
fn names(setting: &schema::Setting) -> Vec<(&'static str, &'static str)> {
    setting.choices().iter().map(|choice| (choice.name, choice.doc)).collect()
}
