//! The options of workloads, from their table: a page for people, and the types of the arguments for Python.

use flitway_experiment::workload::option::ValueKind;
use flitway_experiment::workload::{Kind, WorkloadOption, WorkloadOptions};
use std::fmt::Write;

const HEAD: &str = "\
# Options of workloads

Made by `cargo xtask gen` from the table that the reader uses; do not edit.

An option is written `--warm-up \"5 us\"` on the command line, `warm_up = \"5 us\"` in the `[run]` of an
[experiment file](experiments.md), where it can be varied too, and `warm_up=\"5 us\"` in [Python](python.md).
Which kind of workload is meant follows from the options that are given; without any it is uniform traffic at nine loads.
";

const PYTHON_HEAD: &str = "\
\"\"\"The options of workloads. Made by `cargo xtask gen` from the table that the reader uses; do not edit.\"\"\"

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypedDict, Union

_File = Union[str, \"os.PathLike[str]\"]


class WorkloadOptions(TypedDict, total=False):
    \"\"\"The options of a workload, as on the command line with ``_`` for ``-``.

    Quantities are text with a unit, loads text or numbers. Which kind of workload is meant follows from the options
    that are given; without any it is uniform traffic at nine loads.
    \"\"\"
";

/// The page in Markdown.
pub(super) fn page() -> String {
    let mut page = String::from(HEAD);
    let mut heading = "";
    for option in WorkloadOptions::table() {
        // Writing to a string cannot fail.
        if heading != option.heading() {
            heading = option.heading();
            let _ = writeln!(page, "\n## {heading}");
        }
        let _ = writeln!(page, "\n### `{}`\n\n{}.\n\n{}", option.argument(), option.help(), facts(option));
    }
    page
}

/// What is said of `option` beside its help.
fn facts(option: &WorkloadOption) -> String {
    let mut facts = vec![format!("* value: {}", value(option.value))];
    if option.separator.is_some() {
        facts.push("* as often as needed".to_owned());
    }
    if let Some(default) = option.default {
        facts.push(format!("* default: `{default}`"));
    }
    let kinds = Kind::all().iter().filter(|kind| kind.takes(option.name));
    let kinds: Vec<&str> = kinds.map(|kind| kind.name).collect();
    facts.push(format!("* of: {}", kinds.join(", ")));
    facts.join("\n")
}

fn value(value: ValueKind) -> &'static str {
    match value {
        ValueKind::Text(_) => "text, in the syntax that the help shows",
        ValueKind::File(_) => "a path, or one of the words that the help names",
        ValueKind::Loads => "fractions and ranges of them, or `max`; a point is run for each",
        ValueKind::Fraction => "a fraction: `2%`, `0.02` or `1/50`",
        ValueKind::Size => "sizes with their units: `256B`, `4 KiB`, or a choice of them",
        ValueKind::Time => "a time with its unit: `5us`, `1 ms`",
        ValueKind::Count => "a whole number",
        ValueKind::Flag => "none on the command line; `true` or `false` elsewhere",
    }
}

/// The module `flitway._options`.
pub(super) fn python() -> String {
    let mut module = String::from(PYTHON_HEAD);
    for option in WorkloadOptions::table() {
        let doc = wrapped(&format!("\"\"\"{}.\"\"\"", option.help()));
        let _ = writeln!(module, "\n    {}: {}\n{doc}", option.name, annotation(option));
    }
    module.push_str(
        "\n\nWorkloadOptions.__module__ = \"flitway\"\n\n# What joins the values of an option to one text.\n",
    );
    let joined = WorkloadOptions::table().iter().filter_map(|option| Some((option.name, option.separator?)));
    let joined: Vec<String> = joined.map(|(name, text)| format!("\"{name}\": {text:?}")).collect();
    let _ = writeln!(module, "SEPARATORS = {{{}}}", joined.join(", "));
    module
}

/// The type of the values of `option`.
fn annotation(option: &WorkloadOption) -> String {
    let one = match option.value {
        ValueKind::Text(_) | ValueKind::Size | ValueKind::Time => "str",
        ValueKind::File(_) => "_File",
        ValueKind::Loads => "str | float | Iterable[float]",
        ValueKind::Fraction => "str | float",
        ValueKind::Count => "int",
        ValueKind::Flag => "bool",
    };
    if option.separator.is_some() { format!("{one} | Iterable[{one}]") } else { one.to_owned() }
}

/// `text` in lines of a class body.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 120;
    let mut lines = vec!["   ".to_owned()];
    for word in text.split_whitespace() {
        if lines.last().is_some_and(|line| line.len() + 1 + word.len() > WIDTH) {
            lines.push("   ".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_its_place() {
        let (page, module) = (page(), python());
        for option in WorkloadOptions::table() {
            assert!(page.contains(&format!("\n### `{}`\n", option.argument())), "{}", option.name);
            assert!(
                module.contains(&format!("\n    {}: {}\n", option.name, annotation(option))),
                "{}",
                option.name
            );
        }
        assert!(module.lines().all(|line| line.len() <= 120));
    }
}
