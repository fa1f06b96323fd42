//! From what is written to values: each entry is read as its setting says, defaults are filled in, and what is missing or
//! does not apply is reported.

use crate::code::Code;
use crate::convert::{Value, convert};
use crate::diagnostic::{Diagnostic, Diagnostics, Location};
use crate::entry::{Entry, Origin};
use crate::load::BUILT_IN;
use crate::options::Options;
use crate::overrides;
use crate::schema;
use crate::setting::{Presence, Setting, When, is_within};
use crate::values::{Effective, Values};

/// Whether a setting belongs to the choices that are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Applies {
    Yes,
    No,
    /// Its selector is missing or wrong.
    Unknown,
}

/// Reads each entry as its setting says, and fills in defaults; what is missing or does not apply goes to `findings`.
pub(crate) fn resolve(options: &Options, findings: &mut Diagnostics) -> Values {
    let mut values = Values::new(&options.file.name, &options.folder);
    let mut missing: Vec<&'static Setting> = Vec::new();
    let mut misplaced: Vec<(&Entry, &'static Setting)> = Vec::new();
    let mut placed: Vec<&str> = Vec::new();
    for setting in schema::settings() {
        let written: Vec<&Entry> = options.entries.iter().filter(|e| setting.matches(&e.path)).collect();
        match applies(&values, setting) {
            Applies::Unknown => placed.extend(written.iter().map(|entry| entry.path.as_str())),
            Applies::No => misplaced.extend(written.iter().map(|&entry| (entry, setting))),
            Applies::Yes if !written.is_empty() => {
                placed.extend(written.iter().map(|entry| entry.path.as_str()));
                written.iter().for_each(|entry| take(&mut values, setting, entry, findings));
            }
            Applies::Yes if !options.complete => {}
            Applies::Yes => match setting.presence {
                Presence::Required => missing.push(setting),
                Presence::Default(text) => {
                    take(&mut values, setting, &Entry::default_of(setting.path, text), findings)
                }
                Presence::Optional => {}
            },
        }
    }
    for (entry, setting) in misplaced {
        if !placed.contains(&entry.path.as_str()) {
            // Once, however many settings have that path.
            placed.push(&entry.path);
            findings.push(not_applicable(&values, entry, setting));
        }
    }
    report_missing(options, &missing, findings);
    values
}

fn take(values: &mut Values, setting: &'static Setting, entry: &Entry, findings: &mut Diagnostics) {
    match convert(setting, entry) {
        Ok(value) => values.add(Effective {
            setting,
            path: entry.path.clone(),
            value,
            origin: entry.origin,
            location: (entry.origin != Origin::Default).then(|| entry.location.clone()),
        }),
        Err(problem) => findings.push(problem),
    }
}

fn applies(values: &Values, setting: &Setting) -> Applies {
    let Some(when) = &setting.when else { return Applies::Yes };
    match values.effective(when.selector) {
        Some(Effective { value: Value::Choice(name), .. }) if setting.belongs_to(when.selector, name) => {
            Applies::Yes
        }
        Some(_) => Applies::No,
        // Where its selector does not apply, it does not either.
        None if applies(values, when.selector) == Applies::No => Applies::No,
        None => Applies::Unknown,
    }
}

fn not_applicable(values: &Values, entry: &Entry, setting: &Setting) -> Diagnostic {
    let Some((selector, names)) = setting.only_for() else {
        unreachable!("a setting without a condition always applies")
    };
    let chosen = values.effective(selector);
    let name = chosen.map_or("", |effective| match effective.value {
        Value::Choice(name) => name,
        _ => "",
    });
    let rivals: Vec<&'static Setting> = schema::settings()
        .filter(|other| other.belongs_to(selector, name) && other.table() == setting.table())
        .collect();
    let selector = selector.path;
    let message = format!("`{}` does not apply to {selector} \"{name}\"", entry.path);
    let mut remedy = entry.location.source.name.strip_suffix(BUILT_IN).map_or_else(
        || "delete it here".to_owned(),
        |machine| format!("save `flitway explain {machine}` as a file and change that"),
    );
    if let Some(table) = chosen.and_then(|chosen| whole_table(values, chosen, entry, &rivals)) {
        remedy = format!("set the whole table, for example --set '{table}', or {remedy}");
    }
    let mut problem = Diagnostic::error(Code::NotApplicable, entry.location.clone(), message)
        .help(format!("it belongs to {selector} {}; {remedy}", quoted(&names)));
    if !rivals.is_empty() {
        let paths: Vec<&str> = rivals.iter().map(|rival| rival.path).collect();
        problem = problem.expected(format!("for {selector} \"{name}\": {}", paths.join(", ")));
    }
    if let Some(at) = chosen.and_then(|effective| effective.location.clone()) {
        problem = problem.related(at, "chosen here");
    }
    problem
}

/// The table of `chosen`, which a `--set` replaces in the midst of one that is written, so that `entry` is left over: with
/// what is written of the settings that it takes, `rivals` among them, and an example of what is missing.
fn whole_table(
    values: &Values,
    chosen: &Effective,
    entry: &Entry,
    rivals: &[&'static Setting],
) -> Option<String> {
    let table = chosen.setting.table();
    let is_alone = schema::settings().all(|other| !is_within(other.table(), table));
    let is_left_over = entry.origin == Origin::File && entry.path.starts_with(&format!("{table}."));
    if chosen.location.as_ref()?.source.name != overrides::SOURCE || !is_left_over || !is_alone {
        return None;
    }
    let value = |setting: &'static Setting| {
        let written = values.effective(setting).filter(|effective| effective.origin != Origin::Default);
        match written {
            Some(effective) => Some(effective.value.to_string()),
            None => matches!(setting.presence, Presence::Required).then(|| setting.example.to_owned()),
        }
    };
    let fields = std::iter::once(chosen.setting).chain(rivals.iter().copied());
    let fields = fields.filter_map(|field| Some(format!("{}={}", field.key(), value(field)?)));
    Some(format!("{table}={{{}}}", fields.collect::<Vec<_>>().join(", ")))
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

/// Whether nobody can write `setting` into the file, or nobody would who has only overridden its selector.
fn is_out_of_reach(options: &Options, setting: &Setting) -> bool {
    let is_overridden = |when: &When| {
        let of = |entry: &&Entry| when.selector.matches(&entry.path);
        options.entries.iter().find(of).is_some_and(|entry| overrides::holds(&entry.location))
    };
    options.file.name.ends_with(BUILT_IN) || setting.when.as_ref().is_some_and(is_overridden)
}

/// How to add `setting`, which is missing in a table that begins at `at`.
fn how_to_add(options: &Options, setting: &Setting, at: &Location) -> String {
    let Setting { path, example, .. } = setting;
    if overrides::holds(at) {
        return format!("add `{} = {example}` between the braces, for example", setting.key());
    }
    if is_out_of_reach(options, setting) {
        return format!("add {}, for example", overrides::written(path, example));
    }
    format!("add `{} = {example}`, for example", setting.key())
}

/// One problem for each missing setting, or for each missing table.
fn report_missing(options: &Options, missing: &[&'static Setting], findings: &mut Diagnostics) {
    let mut tables: Vec<&str> = Vec::new();
    let spoilt = |table: &str| options.spoilt.iter().any(|name| name == table || is_within(table, name));
    for setting in missing.iter().filter(|setting| !spoilt(setting.table())) {
        let table = setting.table();
        let header = options.tables.iter().find(|(name, _)| name == table).map(|(_, at)| at.clone());
        let begun =
            table.is_empty() || header.is_some() || options.entries.iter().any(|e| is_within(&e.path, table));
        if begun {
            let at = header.unwrap_or_else(|| Location::whole(&options.file));
            let message = format!("`{}` is missing", setting.path);
            findings.push(
                Diagnostic::error(Code::Missing, at.clone(), message)
                    .expected(setting.accepts())
                    .help(how_to_add(options, setting, &at)),
            );
        } else if !tables.contains(&table) {
            tables.push(table);
            let keys = missing.iter().filter(|other| other.table() == table);
            let lines: Vec<String> =
                keys.map(|other| format!("{} = {}", other.key(), other.example)).collect();
            let lines = lines.join(", ");
            let at = Location::whole(&options.file);
            let whole = overrides::written(table, &format!("{{{lines}}}"));
            let help = is_out_of_reach(options, setting).then(|| format!("add {whole}, for example"));
            findings.push(
                Diagnostic::error(Code::Missing, at, format!("the table [{table}] is missing"))
                    .expected(format!("[{table}] with at least: {lines}"))
                    .maybe_help(help),
            );
        }
    }
}
