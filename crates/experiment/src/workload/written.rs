//! The options of a workload as text: what a result repeats.

use super::{Kind, WorkloadOptions, several};
use serde_json::{Map, Value, json};

/// Every option of a kind that is given or has a default, as text.
#[derive(Clone, Debug)]
pub struct Written {
    options: Vec<(&'static str, String)>,
    /// Those that are given.
    given: Vec<&'static str>,
}

impl Written {
    /// The options of `kind` in `options`, or what `default` says.
    pub(super) fn new(
        kind: &Kind,
        options: &WorkloadOptions,
        default: fn(&str) -> Option<&'static str>,
    ) -> Self {
        let of = |name: &&'static str| {
            let text = options.get(name).or_else(|| default(name))?;
            Some((*name, text.to_owned()))
        };
        let given = kind.options.iter().copied().filter(|name| options.get(name).is_some());
        Written { options: kind.options.iter().filter_map(of).collect(), given: given.collect() }
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
