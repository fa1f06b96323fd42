//! The options of a workload as text: what a result repeats.

use super::{Kind, WorkloadOptions, several};
use serde_json::{Map, Value, json};

/// Every option of a kind that is given or has a default, as text.
#[derive(Clone, Debug)]
pub struct Written(Vec<(&'static str, String)>);

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
        Written(kind.options.iter().filter_map(of).collect())
    }

    /// The text of `option`; nothing if it is neither given nor has a default.
    #[must_use]
    pub fn text(&self, option: &str) -> &str {
        self.0.iter().find(|(name, _)| *name == option).map_or("", |(_, text)| text)
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
        Value::Object(self.0.iter().map(|(name, text)| ((*name).to_owned(), of(text))).collect::<Map<_, _>>())
    }
}
