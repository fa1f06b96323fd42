//! The page of traffic: patterns, sizes and arrivals, from their catalogs.

use flitway_workload::catalog::Entry;
use flitway_workload::traffic::{arrival, destination, size};
use std::fmt::Write;

const HEAD: &str = "\
# Traffic

Made by `cargo xtask gen` from the tables that the reader uses; do not edit.

Synthetic traffic is three independent choices: to whom (`--traffic`), how large (`--packet`) and when (`--arrival`).
A choice is written `name`, `name(parameter=value, ...)` or, in the order given here, `name(value, ...)`. Case does not
matter, nor whether words are joined by `-` or `_`. Names that other tools use are understood too.
";

/// The page in Markdown.
pub(super) fn reference() -> String {
    let mut page = String::from(HEAD);
    section(&mut page, "To whom", "--traffic", destination::CATALOG.entries());
    let common = destination::CATALOG
        .common()
        .iter()
        .map(|it| format!("* `{}=`: {} Value: {}; without default.", it.name, it.doc, it.expected));
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n### Every pattern\n\n{}", common.collect::<Vec<_>>().join("\n"));
    section(&mut page, "How large", "--packet", size::CATALOG.entries());
    section(&mut page, "When", "--arrival", arrival::CATALOG.entries());
    page
}

fn section(page: &mut String, title: &str, option: &str, entries: impl Iterator<Item = &'static Entry>) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "\n## {title}: `{option}`");
    for entry in entries {
        let _ = writeln!(page, "\n### `{}`\n\n{}.\n\n{}", entry.name, capital(entry.doc), entry.details);
        let mut facts = Vec::new();
        for parameter in entry.parameters {
            let default = match parameter.default {
                Some(default) => format!("; default `{default}`"),
                None => "; must be given".to_owned(),
            };
            let (name, expected, doc) = (parameter.name, parameter.expected, parameter.doc);
            facts.push(format!("* `{name}`: {doc} Value: {expected}{default}."));
        }
        if !entry.aliases.is_empty() {
            let aliases = entry.aliases.iter().map(|alias| format!("`{}` ({})", alias.name, alias.tool));
            facts.push(format!("* also: {}", aliases.collect::<Vec<_>>().join(", ")));
        }
        if !facts.is_empty() {
            let _ = writeln!(page, "\n{}", facts.join("\n"));
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_has_its_place_on_the_page() {
        let page = reference();
        let catalogs =
            destination::CATALOG.entries().chain(size::CATALOG.entries()).chain(arrival::CATALOG.entries());
        for entry in catalogs {
            assert!(page.contains(&format!("### `{}`", entry.name)), "{}", entry.name);
        }
        assert!(page.contains("## To whom") && page.contains("default `"));
    }
}
