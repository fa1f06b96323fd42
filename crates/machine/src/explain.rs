//! The reference: pages of settings and codes, made from the tables that the reader uses.

use std::fmt::Write;

use crate::code::{Code, PAGES, Page};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::nearest::nearest;
use crate::schema;
use crate::section::{nic, switch};
use crate::setting::{Choice, Presence, Setting, is_within};
use crate::units::show;

/// The page of a setting, a table of settings, a name that a setting can have, or a code, as plain text.
///
/// ```
/// let page = flitway_machine::explain("switch.vcs").unwrap();
/// assert!(page.contains("a whole number from 1 to 16"));
/// assert!(flitway_machine::explain("FW-M013").unwrap().contains("unit"));
/// assert!(flitway_machine::explain("torus").unwrap().contains("topology.dimensions"));
/// ```
///
/// # Errors
/// If there is no such setting, table, name or code; with the nearest.
pub fn explain(topic: &str) -> Result<String, Diagnostics> {
    if let Some(code) = Code::from_id(topic) {
        return Ok(code_page(code.page()));
    }
    let pages: Vec<String> = schema::named(topic).map(setting_page).collect();
    if !pages.is_empty() {
        return Ok(pages.join("\n\n"));
    }
    if !topic.is_empty() && schema::is_table(topic) {
        return Ok(table_page(topic));
    }
    let pages: Vec<String> = schema::settings()
        .flat_map(|setting| setting.choices().iter().map(move |choice| (setting, choice)))
        .filter(|(_, choice)| choice.name == topic)
        .map(|(setting, choice)| choice_page(setting, choice))
        .collect();
    if !pages.is_empty() {
        return Ok(pages.join("\n\n"));
    }
    let is_code = topic.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("fw-"));
    Err(if is_code { unknown_code(topic) } else { unknown_topic(topic) }.into())
}

fn setting_page(setting: &Setting) -> String {
    let mut page = format!("{}\n\n{}\n", setting.path, indent(setting.doc, 2));
    let mut row = |name: &str, text: &str| {
        let _ = write!(page, "\n{name:<9} {text}");
    };
    row("value", &setting.accepts());
    row("default", &default_text(setting));
    if let Some((selector, names)) = setting.only_for() {
        row("only for", &format!("{} {}", selector.path, quoted(&names)));
    }
    row("example", &format!("{} = {}", setting.path.replace("-N", "-1"), setting.example));
    row("source", setting.source);
    for choice in setting.choices() {
        let _ = write!(page, "\n\n  \"{}\"\n{}", choice.name, indent(choice.doc, 4));
    }
    page
}

/// What a name selects, and the settings that come with it.
fn choice_page(setting: &Setting, choice: &Choice) -> String {
    let mut page = format!("{} = \"{}\"\n\n{}\n", setting.path, choice.name, indent(choice.doc, 2));
    let switches = switch::ARCHITECTURES.iter().map(|it| (it.choice.name, it.page));
    let nics = nic::MODELS.iter().map(|it| (it.choice.name, it.page));
    let own = switches.chain(nics).find(|(name, _)| *name == choice.name);
    for paragraph in own.iter().flat_map(|(_, page)| *page) {
        let _ = write!(page, "\n{}\n", indent(paragraph, 2));
    }
    for other in schema::settings().filter(|other| other.belongs_to(setting, choice.name)) {
        let _ = write!(page, "\n{}\n{}", other.path, indent(first_sentence(other.doc), 2));
    }
    page
}

fn table_page(table: &str) -> String {
    let mut page = format!("[{table}]\n");
    for setting in schema::settings().filter(|setting| is_within(setting.path, table)) {
        let condition = setting.only_for().map_or_else(String::new, |(selector, names)| {
            format!("  (only for {} {})", selector.path, quoted(&names))
        });
        let _ = write!(page, "\n{}{condition}\n{}", setting.path, indent(first_sentence(setting.doc), 2));
    }
    page
}

fn code_page(page: &Page) -> String {
    format!(
        "{}: {}\n\n{}\n\nwrong\n{}\n\nright\n{}",
        page.id,
        page.title,
        indent(page.text, 2),
        verbatim(page.wrong),
        verbatim(page.right)
    )
}

fn unknown_topic(topic: &str) -> Diagnostic {
    let message = format!("there is nothing to explain named `{}`", show(topic));
    let problem = Diagnostic::error(Code::UnknownSetting, None, message).expected(
        "a setting (switch.vcs), a table (switch), a name (torus, tornado, dawning5000), a word of the output (saturated) or a code (FW-M013)",
    );
    let names = schema::settings().flat_map(Setting::choices).map(|choice| choice.name);
    let paths = schema::settings().map(|setting| setting.path).chain(names);
    let ids = PAGES.iter().map(|page| page.id);
    let key = topic.rsplit('.').next().unwrap_or(topic);
    let by_key = || schema::settings().find(|setting| setting.key() == key).map(|setting| setting.path);
    let meant = nearest(topic, paths.chain(ids)).or_else(by_key);
    problem.maybe_help(meant.map(|path| format!("did you mean `{path}`?")))
}

fn unknown_code(topic: &str) -> Diagnostic {
    let message = format!("there is no code `{}`", show(topic));
    let range = |family: &str| {
        let mut ids = PAGES.iter().map(|page| page.id).filter(|id| id.starts_with(family));
        let first = ids.next().unwrap_or_default();
        format!("{first} to {}", ids.next_back().unwrap_or(first))
    };
    let (machines, experiments, imports) = (range("FW-M"), range("FW-X"), range("FW-I"));
    let number =
        |id: &str| id.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse::<u32>().ok();
    // The number tells codes apart, so one with another was not meant: FW-X1, FW-M-013 and FW-13 are slips, FW-M999 is none.
    let families = ["FW-X", "FW-I"];
    let is_meant = |family: &&&str| topic.to_ascii_uppercase().contains(&family[3..]);
    let family = *families.iter().find(is_meant).unwrap_or(&"FW-M");
    let mut ids = PAGES.iter().map(|page| page.id).filter(|id| id.starts_with(family));
    let meant = number(topic).and_then(|wanted| ids.find(|id| number(id) == Some(wanted)));
    Diagnostic::error(Code::UnknownSetting, None, message)
        .expected(format!(
            "a code from {machines} (machines), {experiments} (experiments) or {imports} (imports)"
        ))
        .maybe_help(meant.map(|id| format!("did you mean `{id}`?")))
}

/// The reference of all settings, in Markdown.
#[must_use]
pub fn settings_reference() -> String {
    let mut text = String::from(
        "# Settings of a machine file\n\n\
         Made by `cargo xtask gen` from the table that the reader uses; do not edit.\n\n\
         Quantities are text with a unit; a count is a bare number. Any setting can be overridden for one run with\n\
         `--set path=value`. What a source is, and what P-HP-007 or OQ-H5 says, is in [sources.md](sources.md).\n",
    );
    let mut table = None;
    for setting in schema::settings() {
        if table != Some(setting.table()) {
            table = Some(setting.table());
            let title = if setting.table().is_empty() { "Top of the file" } else { setting.table() };
            let _ = write!(text, "\n## {title}\n");
        }
        setting_section(&mut text, setting);
    }
    text
}

fn setting_section(text: &mut String, setting: &Setting) {
    let _ = write!(text, "\n### `{}`\n\n{}\n\n", setting.path, setting.doc);
    let _ = writeln!(text, "* value: {}", setting.accepts());
    let _ = writeln!(text, "* default: {}", default_text(setting));
    if let Some((selector, names)) = setting.only_for() {
        let _ = writeln!(text, "* only for: `{}` {}", selector.path, quoted(&names));
    }
    let _ = writeln!(text, "* example: `{} = {}`", setting.key().replace("-N", "-1"), setting.example);
    let _ = writeln!(text, "* source: {}", setting.source);
    for choice in setting.choices() {
        let _ = writeln!(text, "* `\"{}\"`: {}", choice.name, choice.doc);
    }
}

/// The reference of all codes, in Markdown.
#[must_use]
pub fn codes_reference() -> String {
    let mut text = String::from(
        "# Diagnostics of machine files, experiment files and imports\n\n\
         Made by `cargo xtask gen` from the table that the reader uses; do not edit.\n",
    );
    for page in PAGES {
        let _ = write!(
            text,
            "\n## {}: {}\n\n{}\n\n```text\n{}\n```\n\nright:\n\n```text\n{}\n```\n",
            page.id, page.title, page.text, page.wrong, page.right
        );
    }
    text
}

fn default_text(setting: &Setting) -> String {
    match setting.presence {
        Presence::Required => "none: it must be written".to_owned(),
        Presence::Default(text) => text.to_owned(),
        Presence::Optional => "none: it may be left out".to_owned(),
    }
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

fn verbatim(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// The text in one line, `margin` to the right: who shows it knows how wide a line may be.
fn indent(text: &str, margin: usize) -> String {
    format!("{:margin$}{}", "", text.split_whitespace().collect::<Vec<_>>().join(" "))
}
