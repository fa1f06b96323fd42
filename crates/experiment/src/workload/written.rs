//! The options of a workload as text: what a result repeats.

use super::option::{default_of, several};
use super::{Kind, WorkloadOptions, beside, traffic};
use serde_json::{Map, Value, json};

/// Every option of a kind that is given or has a default, as text.
#[derive(Clone, Debug)]
pub struct Written {
    options: Vec<(&'static str, String)>,
    /// Those that are given.
    given: Vec<&'static str>,
}

impl Written {
    /// The options of `kind`, which synthetic traffic may run beside, in `options`, or what they are unless given.
    pub(super) fn new(kind: &Kind, options: &WorkloadOptions) -> Self {
        Self::of(kind.taken().iter().map(|option| option.name), options)
    }

    /// The same of the options that have these `names`.
    pub(super) fn of(names: impl Iterator<Item = &'static str>, options: &WorkloadOptions) -> Self {
        let names: Vec<&'static str> = names.collect();
        let load = options.get("load");
        let is_said = |name: &&'static str| {
            // Of traffic beside it nothing is said unless there is some; a train has packets of its own.
            let is_there = match *name {
                "packet" => load.is_some() || options.is_given("train"),
                name => load.is_some() || !beside::OPTIONS.contains(&name),
            };
            options.is_given(name) || (is_there && !default_of(name).is_empty())
        };
        let text = |name: &'static str| match (name, options.get(name), load) {
            ("arrival", None, Some(load)) => traffic::arrival_of(load),
            _ => options.text(name),
        };
        let texts = names.iter().copied().filter(is_said).map(|name| (name, text(name).to_owned()));
        let given = names.iter().copied().filter(|name| options.is_given(name));
        Written { options: texts.collect(), given: given.collect() }
    }

    /// The text of `option`; nothing if it is neither given nor has a default.
    #[must_use]
    pub fn text(&self, option: &str) -> &str {
        self.options.iter().find(|(name, _)| *name == option).map_or("", |(_, text)| text)
    }

    /// Whether `option` is given, and does not only have a default.
    pub(super) fn is_given(&self, option: &str) -> bool {
        self.given.contains(&option)
    }

    /// The text of `option` in one line.
    #[must_use]
    pub fn shown(&self, option: &str) -> String {
        several(Some(self.text(option))).join(", ")
    }

    pub(super) fn to_json(&self) -> Value {
        // Of an option that is given several times a list.
        let of = |text: &str| match &several(Some(text))[..] {
            [_] => json!(text),
            texts => json!(texts),
        };
        Value::Object(
            self.options.iter().map(|(name, text)| ((*name).to_owned(), of(text))).collect::<Map<_, _>>(),
        )
    }
}
