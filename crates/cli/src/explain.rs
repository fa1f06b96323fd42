//! `flitway explain`: one setting, one name, one error code.

use crate::args::ExplainArguments;
use crate::failure::Failure;
use crate::output::say;
use flitway_experiment::workload::barrier::losses;
use flitway_machine::builtin;
use flitway_nic::multicaster::RootPolicy;
use flitway_report::session::barrier::BY;
use flitway_report::session::multicast::By;
use flitway_workload::catalog::Entry;
use flitway_workload::graph::goal::Problem;
use flitway_workload::multicast::members;
use flitway_workload::traffic::{arrival, destination, size};
use std::fmt::Write;

/// Explains what `arguments` ask for.
pub(crate) fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    let topic = arguments.topic.trim();
    let entry = destination::CATALOG
        .find(topic)
        .or_else(|| size::CATALOG.find(topic))
        .or_else(|| arrival::CATALOG.find(topic))
        .or_else(|| members::CATALOG.find(topic))
        .or_else(|| losses::CATALOG.find(topic));
    if let Some(entry) = entry {
        return say(page(entry).trim_end());
    }
    let ways = By::TABLE.map(|row| (row.0, row.2)).into_iter();
    let ways = ways.map(|(name, doc)| (name, "of a multicast", doc));
    let ways = ways.chain(BY.map(|row| (row.0, "of a barrier", row.2)));
    let ways = ways.chain(RootPolicy::TABLE.map(|row| (row.0, "the root of a multicast", row.2)));
    let meant: Vec<String> = ways
        .filter(|(name, ..)| *name == topic)
        .map(|(name, of, doc)| format!("{name} ({of}): {doc}"))
        .collect();
    if !meant.is_empty() {
        return say(&meant.join("\n"));
    }
    let files = || builtin().iter().chain(flitway_experiment::builtin());
    if let Some((_, text)) = files().find(|(name, _)| *name == topic) {
        return say(text.trim_end());
    }
    if let Some(kind) = Problem::KINDS.iter().find(|kind| kind.code.eq_ignore_ascii_case(topic)) {
        return say(&format!("{}: {}", kind.code, kind.doc));
    }
    say(flitway_machine::explain(topic)?.trim_end())
}

fn page(entry: &Entry) -> String {
    let mut text = format!("{}: {}\n\n{}\n", entry.name, entry.doc, entry.details);
    // Writing to a string does not fail.
    for parameter in entry.parameters {
        let default =
            parameter.default.map_or_else(|| "required".to_owned(), |default| format!("default {default}"));
        let _ = write!(
            text,
            "\n  {}: {} ({default})\n      {}\n",
            parameter.name, parameter.expected, parameter.doc
        );
    }
    if !entry.aliases.is_empty() {
        let aliases: Vec<String> =
            entry.aliases.iter().map(|alias| format!("{} ({})", alias.name, alias.tool)).collect();
        let _ = write!(text, "\nalso known as: {}\n", aliases.join(", "));
    }
    text
}
