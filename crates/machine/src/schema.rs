//! Every setting of a machine file, as data.
//!
//! The table drives reading, unknown-key detection, defaults, `explain`, the reference page and the effective values in
//! results; the code that builds a part asks for a value by the setting itself, so that a name is written in one place.

use crate::section::{self, nic};
use crate::setting::is_within;

pub use crate::setting::{Choice, Kind, Presence, Setting, When};

/// Every setting, in the order of the reference page; a setting stands after its selector.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    section::tables().flatten().copied()
}

/// Whether `path` names a setting of a host, or of NICs on its bus alone.
#[must_use]
pub fn is_of_host(path: &str) -> bool {
    let is_on_a_bus = |name: &&str| nic::named(name).is_some_and(|it| it.bus.is_some());
    let mut choices = named(path).filter_map(Setting::only_for);
    choices.any(|(of, names)| std::ptr::eq(of, &nic::MODEL) && names.iter().all(is_on_a_bus))
}

/// The settings that `path` names: more than one if kinds of switches share a name.
pub fn named(path: &str) -> impl Iterator<Item = &'static Setting> {
    settings().filter(move |setting| setting.matches(path))
}

/// Whether `path` is a table that holds settings.
#[must_use]
pub fn is_table(path: &str) -> bool {
    settings().any(|setting| is_within(setting.path, path))
}

/// The names of the settings and tables that stand directly in `table`.
pub(crate) fn names_in(table: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    for setting in settings().filter(|setting| is_within(setting.path, table)) {
        let rest = if table.is_empty() { setting.path } else { &setting.path[table.len() + 1..] };
        let name = rest.split('.').next().unwrap_or(rest);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
