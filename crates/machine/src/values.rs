//! Values: every setting of a machine with its effective value and who gave it.
//!
//! Made from [`Options`] by reading each entry as its setting says, filling in defaults, and reporting what is missing
//! or does not apply. The sections then ask for values by setting; that each is asked for is asserted at the end, so
//! that no setting is accepted and ignored.

use std::cell::Cell;

use flitway_engine::Picos;

use crate::code::Code;
use crate::convert::{Value, convert};
use crate::diagnostic::{Diagnostic, Diagnostics, Location};
use crate::load::BUILT_IN;
use crate::options::{Entry, Options, Origin, default_entry};
use crate::overrides;
use crate::schema::{self, Kind, Presence, Setting};
use crate::units::Dimension;

/// One setting with its effective value.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The setting.
    pub setting: &'static Setting,
    /// Its path, with the number where the setting has `N`.
    pub path: String,
    /// Its value.
    pub value: Value,
    /// Who gave it.
    pub origin: Origin,
    /// Where it is written; `None` for a default.
    pub location: Option<Location>,
}

/// A time, counted either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Time(Picos),
    Cycles(u64),
}

/// The effective values that could be determined.
#[derive(Debug)]
pub(crate) struct Values {
    list: Vec<Effective>,
    /// Whether a section has asked for it, for each of the list.
    asked: Vec<Cell<bool>>,
}

/// Whether a setting belongs to the choices that are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Applies {
    Yes,
    No,
    /// Its selector is missing or wrong.
    Unknown,
}

impl Values {
    pub(crate) fn resolve(options: &Options, findings: &mut Diagnostics) -> Values {
        let mut values = Values { list: Vec::new(), asked: Vec::new() };
        let mut missing: Vec<&'static Setting> = Vec::new();
        let mut misplaced: Vec<(&Entry, &'static Setting)> = Vec::new();
        let mut placed: Vec<&str> = Vec::new();
        for setting in schema::settings() {
            let written: Vec<&Entry> = options.entries.iter().filter(|e| setting.matches(&e.path)).collect();
            match values.applies(setting) {
                Applies::Unknown => placed.extend(written.iter().map(|entry| entry.path.as_str())),
                Applies::No => misplaced.extend(written.iter().map(|&entry| (entry, setting))),
                Applies::Yes if !written.is_empty() => {
                    placed.extend(written.iter().map(|entry| entry.path.as_str()));
                    written.iter().for_each(|entry| values.take(setting, entry, findings));
                }
                Applies::Yes if !options.complete => {}
                Applies::Yes => match setting.presence {
                    Presence::Required => missing.push(setting),
                    Presence::Default(text) => {
                        values.take(setting, &default_entry(setting.path, text), findings)
                    }
                    Presence::Optional => {}
                },
            }
        }
        for (entry, setting) in misplaced {
            if !placed.contains(&entry.path.as_str()) {
                findings.push(values.not_applicable(entry, setting));
            }
        }
        report_missing(options, &missing, findings);
        values
    }

    /// The effective values, in the order of the schema.
    ///
    /// # Panics
    /// If a value was never asked for: a setting would be accepted and ignored.
    pub(crate) fn into_effective(self) -> Vec<Effective> {
        for (effective, asked) in self.list.iter().zip(&self.asked) {
            assert!(asked.get(), "a section asks for `{}`", effective.path);
        }
        self.list
    }

    fn take(&mut self, setting: &'static Setting, entry: &Entry, findings: &mut Diagnostics) {
        match convert(setting, entry) {
            Ok(value) => {
                self.asked.push(Cell::new(false));
                self.list.push(Effective {
                    setting,
                    path: entry.path.clone(),
                    value,
                    origin: entry.origin,
                    location: (entry.origin != Origin::Default).then(|| entry.location.clone()),
                });
            }
            Err(problem) => findings.push(problem),
        }
    }

    fn applies(&self, setting: &Setting) -> Applies {
        let Some(when) = &setting.when else { return Applies::Yes };
        match self.list.iter().find(|effective| std::ptr::eq(effective.setting, when.selector)) {
            Some(Effective { value: Value::Choice(name), .. }) if when.values.contains(name) => Applies::Yes,
            Some(_) => Applies::No,
            None => Applies::Unknown,
        }
    }

    fn not_applicable(&self, entry: &Entry, setting: &Setting) -> Diagnostic {
        let Some(when) = &setting.when else { unreachable!("a setting without a condition always applies") };
        let chosen = self.find(when.selector);
        let name = chosen.map_or("", |effective| match effective.value {
            Value::Choice(name) => name,
            _ => "",
        });
        let rivals: Vec<&'static Setting> = schema::settings()
            .filter(|other| other.when.as_ref().is_some_and(|w| w.values.contains(&name)))
            .filter(|other| other.when.as_ref().is_some_and(|w| std::ptr::eq(w.selector, when.selector)))
            .filter(|other| other.table() == setting.table())
            .collect();
        let selector = when.selector.path;
        let message = format!("`{}` does not apply to {selector} \"{name}\"", entry.path);
        let mut remedy = entry.location.source.name.strip_suffix(BUILT_IN).map_or_else(
            || "delete it here".to_owned(),
            |machine| format!("save `flitway explain {machine}` as a file and change that"),
        );
        if let Some(table) = chosen.and_then(|chosen| self.whole_table(chosen, entry, &rivals)) {
            remedy = format!("set the whole table, for example --set '{table}', or {remedy}");
        }
        let mut problem = Diagnostic::error(Code::NotApplicable, entry.location.clone(), message)
            .help(format!("it belongs to {selector} {}; {remedy}", quoted(when.values)));
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
    fn whole_table(&self, chosen: &Effective, entry: &Entry, rivals: &[&'static Setting]) -> Option<String> {
        let table = chosen.setting.table();
        let is_alone = schema::settings().all(|other| !schema::is_within(other.table(), table));
        let is_left_over = entry.origin == Origin::File && entry.path.starts_with(&format!("{table}."));
        if chosen.location.as_ref()?.source.name != overrides::SOURCE || !is_left_over || !is_alone {
            return None;
        }
        let value = |setting: &'static Setting| {
            let written = self.list.iter().find(|effective| std::ptr::eq(effective.setting, setting));
            match written.filter(|effective| effective.origin != Origin::Default) {
                Some(effective) => Some(effective.value.to_string()),
                None => matches!(setting.presence, Presence::Required).then(|| setting.example.to_owned()),
            }
        };
        let fields = std::iter::once(chosen.setting).chain(rivals.iter().copied());
        let fields = fields.filter_map(|field| Some(format!("{}={}", field.key(), value(field)?)));
        Some(format!("{table}={{{}}}", fields.collect::<Vec<_>>().join(", ")))
    }

    fn find(&self, setting: &'static Setting) -> Option<&Effective> {
        let found = self.list.iter().position(|effective| std::ptr::eq(effective.setting, setting))?;
        self.asked[found].set(true);
        Some(&self.list[found])
    }

    pub(crate) fn text(&self, setting: &'static Setting) -> Option<&str> {
        match &self.find(setting)?.value {
            Value::Text(text) => Some(text),
            other => wrong_ask(setting, other),
        }
    }

    pub(crate) fn choice(&self, setting: &'static Setting) -> Option<&'static str> {
        match self.find(setting)?.value {
            Value::Choice(name) => Some(name),
            ref other => wrong_ask(setting, other),
        }
    }

    pub(crate) fn flag(&self, setting: &'static Setting) -> Option<bool> {
        match self.find(setting)?.value {
            Value::Flag(flag) => Some(flag),
            ref other => wrong_ask(setting, other),
        }
    }

    pub(crate) fn count(&self, setting: &'static Setting) -> Option<u32> {
        match self.find(setting)?.value {
            Value::Count(count) => Some(count),
            ref other => wrong_ask(setting, other),
        }
    }

    pub(crate) fn counts(&self, setting: &'static Setting) -> Option<Vec<u32>> {
        match &self.find(setting)?.value {
            Value::Counts(counts) => Some(counts.clone()),
            other => wrong_ask(setting, other),
        }
    }

    /// A quantity in the base unit of its dimension.
    pub(crate) fn quantity(&self, setting: &'static Setting) -> Option<u64> {
        match self.find(setting)?.value {
            Value::Quantity(value, _) => Some(value),
            ref other => wrong_ask(setting, other),
        }
    }

    /// A frequency, as hertz and what they are divided by.
    pub(crate) fn frequency(&self, setting: &'static Setting) -> Option<(u64, u64)> {
        match self.find(setting)?.value {
            Value::Frequency(hertz, divisor) => Some((hertz, divisor)),
            ref other => wrong_ask(setting, other),
        }
    }

    /// A quantity whose range ends below 2^32.
    pub(crate) fn quantity_u32(&self, setting: &'static Setting) -> Option<u32> {
        let fits = matches!(setting.kind, Kind::Quantity { max, .. } if u32::try_from(max).is_ok());
        assert!(fits, "the range of `{}` ends below 2^32", setting.path);
        self.quantity(setting).and_then(|value| u32::try_from(value).ok())
    }

    /// A time or number of cycles; `Some(None)` for off.
    pub(crate) fn span_or_off(&self, setting: &'static Setting) -> Option<Option<Span>> {
        match self.find(setting)?.value {
            Value::Off => Some(None),
            Value::Quantity(value, Dimension::Cycles) => Some(Some(Span::Cycles(value))),
            Value::Quantity(value, _) => Some(Some(Span::Time(Picos(value)))),
            ref other => wrong_ask(setting, other),
        }
    }

    /// Every value of a setting that stands for several: the number in its path, the value, the place.
    pub(crate) fn numbered(&self, setting: &'static Setting) -> Vec<(u32, u64, Option<Location>)> {
        let mut found = Vec::new();
        let written = self.list.iter().zip(&self.asked);
        for (effective, asked) in written.filter(|(effective, _)| std::ptr::eq(effective.setting, setting)) {
            asked.set(true);
            if let (Some(number), Value::Quantity(value, _)) =
                (setting.number_in(&effective.path), &effective.value)
            {
                found.push((number, *value, effective.location.clone()));
            }
        }
        found
    }

    /// Where a setting is written; `None` for a default.
    pub(crate) fn location(&self, setting: &'static Setting) -> Option<Location> {
        self.list.iter().find(|effective| std::ptr::eq(effective.setting, setting))?.location.clone()
    }

    /// Who gave a setting.
    pub(crate) fn origin(&self, setting: &'static Setting) -> Option<Origin> {
        self.list.iter().find(|effective| std::ptr::eq(effective.setting, setting)).map(|found| found.origin)
    }

    /// A problem between settings: it points at the first that is written, an override before the file, and shows the
    /// others.
    pub(crate) fn conflict(&self, code: Code, settings: &[&'static Setting], message: String) -> Diagnostic {
        let mut written: Vec<(&'static Setting, Location)> =
            settings.iter().filter_map(|&setting| Some((setting, self.location(setting)?))).collect();
        // Stable: within the file, and within the overrides, the order of `settings` stands.
        written.sort_by_key(|(setting, _)| self.origin(setting) != Some(Origin::Set));
        let mut places = written.into_iter();
        let mut problem = Diagnostic::error(code, places.next().map(|(_, location)| location), message);
        for (setting, location) in places {
            problem = problem.related(location, format!("`{}`", setting.path));
        }
        problem
    }
}

/// A section asks for a value of another kind than the schema says.
fn wrong_ask(setting: &Setting, value: &Value) -> ! {
    panic!("`{}` was asked for as another kind than {value:?}", setting.path)
}

fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

/// Whether nobody can write `setting` into the file, or nobody would who has only overridden its selector.
fn is_out_of_reach(options: &Options, setting: &Setting) -> bool {
    let is_overridden = |when: &schema::When| {
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
    let spoilt =
        |table: &str| options.spoilt.iter().any(|name| name == table || schema::is_within(table, name));
    for setting in missing.iter().filter(|setting| !spoilt(setting.table())) {
        let table = setting.table();
        let header = options.tables.iter().find(|(name, _)| name == table).map(|(_, at)| at.clone());
        let begun = table.is_empty()
            || header.is_some()
            || options.entries.iter().any(|e| schema::is_within(&e.path, table));
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
