//! `flitway explain`: one setting, one name, one word of the output, one error code.

use crate::args::{self, ExplainArguments};
use crate::failure::Failure;
use crate::layout::prose;
use crate::output::say;
use crate::{sources, words};
use flitway_experiment::faults;
use flitway_experiment::workload::barrier::losses;
use flitway_experiment::workload::nic;
use flitway_machine::builtin;
use flitway_process::multicaster::RootPolicy;
use flitway_report::session::barrier::BY;
use flitway_report::session::multicast::By;
use flitway_workload::catalog::{Entry, Parameter};
use flitway_workload::graph::goal::Problem;
use flitway_workload::graph::placement;
use flitway_workload::multicast::members;
use flitway_workload::traffic::{arrival, destination, size};
use std::fmt::Write;

/// Explains what `arguments` ask for: everything that has this name.
pub(crate) fn explain(arguments: &ExplainArguments) -> Result<(), Failure> {
    let phrase = arguments.topic.join(" ");
    let topic = phrase.trim();
    let files = builtin().iter().chain(flitway_experiment::builtin()).filter(|(name, _)| *name == topic);
    let files: Vec<&str> = files.map(|(_, text)| text.trim_end()).collect();
    // Words of a phrase are one name where they are joined.
    let spellings = [" ", "_", "-", "."].map(|mark| topic.split_whitespace().collect::<Vec<_>>().join(mark));
    let mut pages: Vec<String> = Vec::new();
    for spelling in if topic.contains(' ') { &spellings[..] } else { &spellings[..1] } {
        let found = names(spelling).into_iter().chain(args::explained(spelling));
        let found = found
            .chain(sources::explained(spelling))
            .chain(words::explained(spelling))
            .chain(flitway_machine::explain(spelling).ok());
        for page in found {
            if !pages.contains(&page) {
                pages.push(page);
            }
        }
    }
    if pages.is_empty() && topic.contains(' ') {
        pages = words::mentioning(topic);
    }
    if pages.is_empty() && files.is_empty() {
        pages.push(flitway_machine::explain(topic)?);
    }
    // A file is there to be copied: its lines are not broken.
    let pages = pages.iter().map(|page| prose(page.trim_end())).chain(files.into_iter().map(str::to_owned));
    say(&pages.collect::<Vec<_>>().join("\n\n\n"))
}

/// What is called `topic`, but for files, settings of machines and their values.
fn names(topic: &str) -> Vec<String> {
    let patterns = &destination::CATALOG;
    let entries = [
        (patterns.subject(), patterns.find(topic), patterns.common()),
        (size::CATALOG.subject(), size::CATALOG.find(topic), &[]),
        (arrival::CATALOG.subject(), arrival::CATALOG.find(topic), &[]),
        (placement::CATALOG.subject(), placement::CATALOG.find(topic), &[]),
        (members::CATALOG.subject(), members::CATALOG.find(topic), &[]),
        (losses::CATALOG.subject(), losses::CATALOG.find(topic), &[]),
        (faults::CATALOG.subject(), faults::CATALOG.find(topic), &[]),
        (nic::CATALOG.subject(), nic::CATALOG.find(topic), &[]),
    ];
    let found = entries.iter().filter_map(|(subject, entry, common)| Some((subject, (*entry)?, *common)));
    let mut pages: Vec<String> = found.map(|(subject, entry, common)| page(subject, entry, common)).collect();
    let of_all = patterns.common().iter().filter(|parameter| parameter.name == topic);
    pages.extend(
        of_all.map(|it| format!("{} (of every {}): {}{}", it.name, patterns.subject(), it.doc, value(it))),
    );
    let mut of_nics = nic::CATALOG.entries().flat_map(|entry| entry.parameters);
    let of_nics = of_nics.find(|parameter| parameter.name == topic && topic != "nodes");
    pages.extend(
        of_nics.map(|it| format!("{} (of a {}): {}{}", it.name, nic::CATALOG.subject(), it.doc, value(it))),
    );
    let ways = By::TABLE.map(|row| (row.0, row.2)).into_iter();
    let ways = ways.map(|(name, doc)| (name, "of a multicast", doc));
    let ways = ways.chain(BY.map(|row| (row.0, "of a barrier", row.2)));
    let ways = ways.chain(RootPolicy::TABLE.map(|row| (row.0, "the root of a multicast", row.2)));
    let ways: Vec<String> = ways
        .filter(|(name, ..)| *name == topic)
        .map(|(name, of, doc)| format!("{name} ({of}): {doc}"))
        .collect();
    if !ways.is_empty() {
        pages.push(ways.join("\n"));
    }
    let kinds = Problem::KINDS.iter().filter(|kind| kind.code.eq_ignore_ascii_case(topic));
    pages.extend(kinds.map(|kind| format!("{}: {}", kind.code, kind.doc)));
    pages
}

/// What a parameter expects, as a sentence.
fn value(parameter: &Parameter) -> String {
    format!(" Value: {}.", parameter.expected)
}

/// The page of an entry; `common` is what all entries of its catalog may take.
fn page(subject: &str, entry: &Entry, common: &[Parameter]) -> String {
    let mut text = format!("{} ({subject}): {}\n\n{}\n", entry.name, entry.doc, entry.details);
    // Writing to a string does not fail.
    for parameter in entry.parameters {
        let default = match parameter.default {
            None => "required".to_owned(),
            Some("") => "not given by default".to_owned(),
            Some(default) => format!("default {default}"),
        };
        let _ = write!(
            text,
            "\n  {}: {} ({default})\n      {}\n",
            parameter.name, parameter.expected, parameter.doc
        );
    }
    for it in common {
        let _ = write!(text, "\n  {}: {} (not given by default)\n      {}\n", it.name, it.expected, it.doc);
    }
    if !entry.aliases.is_empty() {
        let aliases: Vec<String> =
            entry.aliases.iter().map(|alias| format!("{} ({})", alias.name, alias.tool)).collect();
        let _ = write!(text, "\nalso known as: {}\n", aliases.join(", "));
    }
    text
}
