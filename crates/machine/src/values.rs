//! Values: every setting of a machine with its effective value and who gave it.
//!
//! The sections ask for values by setting; that each is asked for is asserted at the end, so that no setting is accepted and
//! ignored.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use flitway_engine::Picos;

use crate::code::Code;
use crate::convert::Value;
use crate::diagnostic::{Diagnostic, Location};
use crate::entry::Origin;
use crate::load::BUILT_IN;
use crate::overrides;
use crate::setting::{Kind, Setting};
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
    /// Where the paths that the file names begin.
    folder: PathBuf,
    /// Whether nobody can write into the file.
    is_built_in: bool,
}

impl Values {
    /// None yet, of the file called `name` in `folder`.
    pub(crate) fn new(name: &str, folder: &Path) -> Self {
        let is_built_in = name.ends_with(BUILT_IN);
        Values { list: Vec::new(), asked: Vec::new(), folder: folder.to_owned(), is_built_in }
    }

    pub(crate) fn add(&mut self, effective: Effective) {
        self.list.push(effective);
        self.asked.push(Cell::new(false));
    }

    /// What `setting` is, without asking for it.
    pub(crate) fn effective(&self, setting: &Setting) -> Option<&Effective> {
        self.list.iter().find(|effective| std::ptr::eq(effective.setting, setting))
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

    /// The path of a file, which begins in the folder of the machine file, or in the current one for an override.
    pub(crate) fn path(&self, setting: &'static Setting) -> Option<PathBuf> {
        let name = self.text(setting)?;
        let is_override = self.origin(setting) == Some(Origin::Set);
        Some(if is_override { PathBuf::from(name) } else { self.folder.join(name) })
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

    /// Every value of a setting, which has several where its path ends in `N`: its name in the table, the quantity, the place.
    pub(crate) fn quantities(&self, setting: &'static Setting) -> Vec<(String, u64, Option<Location>)> {
        let mut found = Vec::new();
        let written = self.list.iter().zip(&self.asked);
        for (effective, asked) in written.filter(|(effective, _)| std::ptr::eq(effective.setting, setting)) {
            asked.set(true);
            let Value::Quantity(value, _) = effective.value else { wrong_ask(setting, &effective.value) };
            let name = effective.path.rsplit('.').next().unwrap_or_default();
            found.push((name.to_owned(), value, effective.location.clone()));
        }
        found
    }

    /// Where a setting is written; `None` for a default.
    pub(crate) fn location(&self, setting: &'static Setting) -> Option<Location> {
        self.effective(setting)?.location.clone()
    }

    /// Who gave a setting.
    fn origin(&self, setting: &'static Setting) -> Option<Origin> {
        self.effective(setting).map(|found| found.origin)
    }

    /// What to do so that `setting` is `value`, which is as a machine file has it: where it is written, or by an override if
    /// nobody can write there.
    pub(crate) fn fix(&self, setting: &'static Setting, value: &str) -> String {
        match self.location(setting) {
            Some(at) if overrides::is_value_of(&at, setting.path) => {
                format!("write {}", overrides::written(setting.path, value))
            }
            Some(at) if overrides::holds(&at) => format!("write {} = {value}", setting.key()),
            _ if self.is_built_in => format!("add {}", overrides::written(setting.path, value)),
            _ => format!("write {} = {value}", setting.key()),
        }
    }

    /// What to do so that `setting`, which is written, is not.
    pub(crate) fn leave_out(&self, setting: &'static Setting) -> String {
        match self.location(setting) {
            Some(at) if overrides::is_value_of(&at, setting.path) => {
                format!("leave out {} {}", overrides::SOURCE, at.source.text)
            }
            _ => format!("delete `{}`", setting.path),
        }
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
