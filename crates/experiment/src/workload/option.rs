//! The options of workloads, as data. From the rows of each kind come the command line with its help, the keys of experiment
//! files, the arguments of the Python package and `docs/workload-options.md`.
//!
//! A new option is a row in its [`Kind`], and the code that uses it; `cargo xtask gen` brings the rest up to date.

use super::{KINDS, Kind, KindId};
use flitway_machine::units;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What kind of value an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Text in a syntax of its own, for which this word stands in the help.
    Text(&'static str),
    /// A file, or a word instead of one; this stands for it in the help.
    File(&'static str),
    /// Loads: fractions, ranges or `max`. They are what a run sweeps, a point for each.
    Loads,
    /// A fraction.
    Fraction,
    /// A size with its unit.
    Size,
    /// A time with its unit.
    Time,
    /// A whole number.
    Count,
    /// None: the option is there or not.
    Flag,
}

/// An option of workloads.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadOption {
    /// Its key in experiment files and Python; the command line has `-` for `_`.
    pub name: &'static str,
    /// The kind in whose section of the help it stands.
    pub part: KindId,
    /// What it takes.
    pub value: ValueKind,
    /// What joins its values to one text, where it can be given several times.
    pub separator: Option<&'static str>,
    /// What it is unless given; nothing if it then has no effect, or follows from others.
    pub default: Option<&'static str>,
    /// The help, in which `{}` stands for the default.
    help: &'static str,
}

impl WorkloadOption {
    /// An option that is given once and has no default.
    pub(super) const fn new(name: &'static str, part: KindId, value: ValueKind, help: &'static str) -> Self {
        WorkloadOption { name, part, value, separator: None, default: None, help }
    }

    /// What it is unless given.
    pub(super) const fn default(self, text: &'static str) -> Self {
        WorkloadOption { default: Some(text), ..self }
    }

    /// It can be given several times; `separator` joins its values.
    pub(super) const fn several(self, separator: &'static str) -> Self {
        WorkloadOption { separator: Some(separator), ..self }
    }

    /// What it says in the help.
    #[must_use]
    pub fn help(&self) -> String {
        self.help.replace("{}", self.default.unwrap_or_default())
    }

    /// The heading of its section of the help.
    #[must_use]
    pub fn heading(&self) -> &'static str {
        Kind::all().iter().find(|kind| kind.id == self.part).map_or("", |kind| kind.heading)
    }

    /// The option as the command line has it: `--warm-up`.
    #[must_use]
    pub fn argument(&self) -> String {
        argument(self.name)
    }

    /// Whether some kind of workload takes both.
    #[must_use]
    pub fn goes_with(&self, other: &WorkloadOption) -> bool {
        Kind::all().iter().any(|kind| kind.takes(self.name) && kind.takes(other.name))
    }
}

/// An option as the command line has it.
#[must_use]
pub fn argument(option: &str) -> String {
    format!("--{}", option.replace('_', "-"))
}

/// What joins values of which none has two lines.
pub(super) const LINES: &str = "\n";

/// The options that are sizes of packets: one MTU unless given, if that is less than their default.
const PACKETS: [&str; 2] = ["packet", "multicast_packet"];

/// The options of a workload as they are written: `--warm-up 5us` is `warm_up` with the text `5us`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadOptions {
    texts: BTreeMap<&'static str, String>,
    /// What the size of packets is unless given, where it is not the default: see [`WorkloadOptions::fitted`].
    packet: Option<String>,
}

/// The sections of the help, synthetic traffic first, with the options of each, its own first.
static TABLE: LazyLock<Vec<&WorkloadOption>> = LazyLock::new(|| {
    let (last, others) = KINDS.split_last().expect("there are kinds");
    let options = |section: &'static Kind| {
        let others = KINDS.iter().filter(|kind| kind.id != section.id).flat_map(|kind| kind.options);
        section.options.iter().chain(others).filter(|option| option.part == section.id)
    };
    std::iter::once(last).chain(others).flat_map(options).collect()
});

/// The name of every option.
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| TABLE.iter().map(|option| option.name).collect());

impl WorkloadOptions {
    /// Every option, by sections of the help.
    #[must_use]
    pub fn table() -> &'static [&'static WorkloadOption] {
        &TABLE
    }

    /// The name of every option.
    #[must_use]
    pub fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// The text given for the option `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Whether the option `name` is given.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// Gives `text` for the option `name`; false if there is no such option.
    pub fn set(&mut self, name: &str, text: impl Into<String>) -> bool {
        let option = named(name);
        option.map(|option| self.texts.insert(option.name, text.into()));
        option.is_some()
    }

    /// The text given for the option `name` becomes what `change` makes of it.
    pub(super) fn change(&mut self, name: &str, change: impl FnOnce(&str) -> String) {
        if let Some(text) = self.texts.get_mut(name) {
            *text = change(text);
        }
    }

    /// The options that are given, with their text.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &str)> {
        Self::names().iter().filter_map(|name| Some((*name, self.get(name)?)))
    }

    /// The text of the option `name`: what is given, or what it is unless given.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        let fitted = self.packet.as_deref().filter(|_| PACKETS.contains(&name));
        self.get(name).or(fitted).unwrap_or_else(|| default_of(name))
    }

    /// The same for a machine whose packets have a payload of at most `mtu_bytes`: packets are no larger unless given.
    #[must_use]
    pub fn fitted(&self, mtu_bytes: u32) -> Self {
        let usual = units::size(default_of(PACKETS[0])).unwrap_or(u64::MAX);
        let is_less = u64::from(mtu_bytes) < usual;
        WorkloadOptions { packet: is_less.then(|| format!("{mtu_bytes}B")), ..self.clone() }
    }

    /// None given, and what they are unless given as here.
    pub(super) fn none_given(&self) -> Self {
        WorkloadOptions { packet: self.packet.clone(), ..WorkloadOptions::default() }
    }

    /// The options that are loads, over which a run sweeps.
    pub fn loads() -> impl Iterator<Item = &'static str> {
        Self::table().iter().filter(|option| option.value == ValueKind::Loads).map(|option| option.name)
    }
}

/// The option `name`.
pub(super) fn named(name: &str) -> Option<&'static WorkloadOption> {
    WorkloadOptions::table().iter().find(|option| option.name == name).copied()
}

/// What the option `name` is unless given; nothing if it has no default.
#[must_use]
pub fn default_of(name: &str) -> &'static str {
    named(name).and_then(|option| option.default).unwrap_or("")
}

/// The values of an option that can be given several times, a line each.
pub(super) fn several(text: Option<&str>) -> Vec<&str> {
    text.map_or_else(Vec::new, |text| text.split(LINES).collect())
}

/// The values of such an option as one text.
pub(super) fn joined(values: impl IntoIterator<Item = String>) -> String {
    values.into_iter().collect::<Vec<_>>().join(LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_taken_and_every_default_is_told_once() {
        for option in WorkloadOptions::table() {
            assert!(Kind::all().iter().any(|kind| kind.takes(option.name)), "{}", option.name);
            // The methods of operations side by side are those of `by`.
            let refers = option.name.ends_with("_by");
            assert_eq!(option.help.contains("{}"), option.default.is_some() && !refers, "{}", option.name);
        }
        let names = WorkloadOptions::names();
        for (place, name) in names.iter().enumerate() {
            assert!(!names[..place].contains(name), "{name} stands twice");
        }
        let shared = Kind::all().iter().flat_map(|kind| kind.shares);
        shared.for_each(|name| assert!(names.contains(name), "{name} is no option"));
    }
}
