//! What a setting is: its path, kind, default, range, meaning, example and source, each said once.
//!
//! The settings of a part stand in the file of that part under `section/`; [`schema`](crate::schema) has all of them.

use crate::units::{self, Dimension};

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Its path: the tables and the key, with points. A last part that ends in `-N` stands for every number.
    pub path: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Whether it can be left out.
    pub presence: Presence,
    /// The choice that it belongs to; `None` for a setting of every machine.
    pub when: Option<When>,
    /// What it means.
    pub doc: &'static str,
    /// A value, as it is written in a file.
    pub example: &'static str,
    /// Where the default or the idea comes from: a paper's section, a parameter id, an open question.
    pub source: &'static str,
}

/// What the value of a setting is.
#[derive(Debug)]
pub enum Kind {
    /// Any text, of at least so many characters.
    Text {
        /// Fewest characters.
        least: usize,
    },
    /// The path of a file.
    Path,
    /// One of a few names.
    Choice(&'static [Choice]),
    /// `true` or `false`.
    Flag,
    /// A whole number, without unit.
    Count {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// A list of counts.
    Counts {
        /// Smallest count.
        min: u32,
        /// Largest count.
        max: u32,
        /// Longest list; the shortest has one.
        longest: usize,
    },
    /// Text with a unit; limits in base units.
    Quantity {
        /// What it measures.
        dimension: Dimension,
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A frequency, or an exact fraction of one; limits in hertz.
    Frequency {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A time, a number of cycles, or `"off"`.
    SpanOrOff,
}

/// One name of a choice.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// As it is written.
    pub name: &'static str,
    /// What it selects.
    pub doc: &'static str,
}

/// Whether a setting can be left out.
#[derive(Debug)]
pub enum Presence {
    /// It must be written.
    Required,
    /// Left out, it is this value, written as in a file.
    Default(&'static str),
    /// Left out, there is none.
    Optional,
}

/// A setting applies only where another one has certain values.
#[derive(Debug)]
pub struct When {
    /// The choice.
    pub selector: &'static Setting,
    /// Whether the setting exists where the choice is so.
    pub holds: fn(&Setting, &str) -> bool,
}

impl Setting {
    /// Whether `path` names this setting.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.path == path || self.number_in(path).is_some()
    }

    /// The number that `path` has where the setting has `N`.
    #[must_use]
    pub fn number_in(&self, path: &str) -> Option<u32> {
        let number = path.strip_prefix(self.path.strip_suffix('N')?)?;
        let plain = number == "0" || !number.starts_with('0');
        (plain && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| number.parse().ok()).flatten()
    }

    /// The table it stands in; empty for the top of the file.
    #[must_use]
    pub fn table(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// Its name in that table.
    #[must_use]
    pub fn key(&self) -> &'static str {
        self.path.rsplit_once('.').map_or(self.path, |(_, key)| key)
    }

    /// What can be chosen, if it is a choice.
    #[must_use]
    pub fn choices(&self) -> &'static [Choice] {
        if let Kind::Choice(choices) = self.kind { choices } else { &[] }
    }

    /// Whether it exists where `selector` is chosen to be `name`.
    #[must_use]
    pub fn belongs_to(&self, selector: &Setting, name: &str) -> bool {
        let of_it = self.when.as_ref().filter(|when| std::ptr::eq(when.selector, selector));
        of_it.is_some_and(|when| (when.holds)(self, name))
    }

    /// The choice that it belongs to, and the names for which it exists; `None` for a setting of every machine.
    #[must_use]
    pub fn only_for(&self) -> Option<(&'static Setting, Vec<&'static str>)> {
        let selector = self.when.as_ref()?.selector;
        let names = selector.choices().iter().map(|choice| choice.name);
        Some((selector, names.filter(|name| self.belongs_to(selector, name)).collect()))
    }

    /// What would be accepted, in words.
    #[must_use]
    pub fn accepts(&self) -> String {
        match &self.kind {
            Kind::Text { least: 0 } => "text in quotes".to_owned(),
            Kind::Text { .. } => "text in quotes, not empty".to_owned(),
            Kind::Path => "the path of a file, in quotes".to_owned(),
            Kind::Choice(choices) => {
                let names: Vec<String> =
                    choices.iter().map(|choice| format!("\"{}\"", choice.name)).collect();
                match names.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => names.concat(),
                }
            }
            Kind::Flag => "true or false".to_owned(),
            Kind::Count { min, max } => format!("a whole number from {min} to {max}, without unit"),
            Kind::Counts { min, max, longest } => {
                format!("a list of 1 to {longest} whole numbers from {min} to {max}")
            }
            Kind::Quantity { dimension: dimension @ (Dimension::Flits | Dimension::Cycles), min, max } => {
                format!("{min} to {}", units::format(*max, *dimension))
            }
            Kind::Quantity { dimension, min, max } => format!(
                "{} from {} to {}, in {}",
                dimension.article_name(),
                units::format(*min, *dimension),
                units::format(*max, *dimension),
                dimension.unit_list()
            ),
            Kind::Frequency { min, max } => format!(
                "a frequency from {} to {}, in {}, or a fraction of one, such as \"14/33 GHz\"",
                units::format(*min, Dimension::Frequency),
                units::format(*max, Dimension::Frequency),
                Dimension::Frequency.unit_list()
            ),
            Kind::SpanOrOff => {
                format!("a time in {}, a number of cycles, or \"off\"", Dimension::Time.unit_list())
            }
        }
    }
}

/// Whether `path` lies in the table `table`; everything lies in the empty one.
pub(crate) fn is_within(path: &str, table: &str) -> bool {
    table.is_empty() || path.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

/// Declares settings, and a list of them if it begins with one. Each is told as a machine file has it:
///
/// ```text
/// settings! {
///     static SETTINGS;
///
///     /// What it means.
///     TX_FIFO = "switch.tx_fifo", Kind::SpanOrOff, default("16 cycles"), for HPP, example("off"), source("OQ-H17");
/// }
/// ```
///
/// `one of { NAME = "name", ... }`, each name with what it selects above it, stands for a [`Kind::Choice`], and declares the
/// names; `required` and `optional` stand where there is no default. A setting of every machine has no `for`, and one whose
/// default is its example no `example`.
macro_rules! settings {
    (@items () [$($name:ident)*]) => {};
    (@items ($vis:vis static $list:ident) [$($name:ident)*]) => {
        $vis static $list: &[&$crate::setting::Setting] = &[$(&$name),*];
    };
    // One of some names.
    (@items $list:tt $before:tt
        $(#[doc = $doc:literal])+
        $vis:vis $name:ident = $path:literal, one of {
            $($(#[doc = $what:literal])+ $choice_vis:vis $choice:ident = $word:literal),+ $(,)?
        }, $($rest:tt)+
    ) => {
        $($choice_vis const $choice: &str = $word;)+
        settings! { @items $list $before
            $(#[doc = $doc])+
            $vis $name = $path, $crate::setting::Kind::Choice(&[$($crate::setting::Choice {
                name: $choice,
                doc: concat!($($what),+).trim_ascii_start(),
            }),+]), $($rest)+
        }
    };
    (@items $list:tt [$($before:ident)*]
        $(#[doc = $doc:literal])+
        $vis:vis $name:ident = $path:literal, $kind:expr, $presence:ident $(($default:tt))?
            $(, for $when:expr)? $(, example($example:tt))?, source($source:literal);
        $($rest:tt)*
    ) => {
        $(#[doc = $doc])+
        $vis static $name: $crate::setting::Setting = $crate::setting::Setting {
            path: $path,
            kind: $kind,
            presence: settings!(@presence $presence $($default)?),
            when: settings!(@when $($when)?),
            doc: concat!($($doc),+).trim_ascii_start(),
            example: settings!(@first $($example)? $($default)?),
            source: $source,
        };
        settings! { @items $list [$($before)* $name] $($rest)* }
    };

    (@presence required) => { $crate::setting::Presence::Required };
    (@presence optional) => { $crate::setting::Presence::Optional };
    (@presence default $text:tt) => { $crate::setting::Presence::Default(stringify!($text)) };
    (@when) => { None };
    (@when $when:expr) => { Some($when) };
    (@first $first:tt $($rest:tt)*) => { stringify!($first) };

    ($vis:vis static $list:ident; $($items:tt)+) => { settings! { @items ($vis static $list) [] $($items)+ } };
    ($($items:tt)+) => { settings! { @items () [] $($items)+ } };
}

/// The choices of a table, one for each row.
macro_rules! choices_of {
    ($table:expr, $row:ident => $choice:expr) => {{
        use $crate::setting::{Choice, Kind};
        const CHOICES: &[Choice] = &{
            let mut choices = [Choice { name: "", doc: "" }; $table.len()];
            let mut place = 0;
            while place < choices.len() {
                let $row = &$table[place];
                choices[place] = $choice;
                place += 1;
            }
            choices
        };
        Kind::Choice(CHOICES)
    }};
}

pub(crate) use {choices_of, settings};
