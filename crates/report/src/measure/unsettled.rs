//! Why a measurement is not settled: the reasons, each with its words.

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $reason:ident $name:literal: $meaning:literal)*) => {
        /// Why what a measurement says is not what a longer one would.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Unsettled {
            $($(#[doc = $doc])+ $reason,)*
        }

        impl Unsettled {
            /// All of them.
            pub const ALL: &[Unsettled] = &[$(Unsettled::$reason),*];

            /// The word for it in JSON.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Unsettled::$reason => $name,)*
                }
            }

            /// What it means, and what helps, for people.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Unsettled::$reason => $meaning,)*
                }
            }

            /// The same where packets are lost for good, if `is_lossy`: no longer time brings them back.
            #[must_use]
            pub fn told(self, is_lossy: bool) -> String {
                match self.meaning().rsplit_once("; ") {
                    Some((what, _)) if is_lossy && self != Unsettled::Memory => {
                        format!("{what}; packets are lost for good, which no longer time makes up for")
                    }
                    _ => self.meaning().to_owned(),
                }
            }
        }
    };
}

reasons! {
    /// More goes into the network than comes out of it.
    Filling "filling": "more goes into the network than comes out, so what it accepts is not what it will be; measure later \
        (--warm-up)"
    /// Nothing has been delivered for long, after much was.
    Stalled "stalled": "nothing was delivered in the last quarter of the time, so what was before is no steady state; what \
        sources wait for may be lost (--faults)"
    /// What a saturated network delivers, or holds, grows or falls.
    Drift "drift": "what the network accepts, or holds, still grows or falls, so what it accepts is not what it will be; \
        measure later and longer (--warm-up, --duration)"
    /// Source queues grow at an even pace, by less than the precision: it is probably saturated.
    Growing "growing": "source queues grow at an even pace, so it is probably saturated; a longer measurement with a smaller \
        --precision tells"
    /// Latencies grow or fall.
    Trend "trend": "latencies grow or fall, so a mean is not reliable; measure later and longer (--warm-up, --duration)"
    /// Too little was measured for any verdict.
    Short "short": "too little was measured for a verdict: less than ten mean latencies, too few operations, or so few packets \
        that chance hides what is not delivered; measure longer (--duration)"
    /// Memory ran out for packets that wait.
    Memory "memory": "memory for packets that wait was about to run out, so it was ended early; offer less, or measure shorter \
        (--load, --duration)"
    /// The interval is wider than asked for.
    Imprecise "imprecise": "the interval of the latency or of the accepted load is wider than asked for; ask for less \
        (--precision), or measure longer (--warm-up, --duration)"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_reasons_are_those_of_the_schema() {
        let schema = include_str!("../../../../docs/result.schema.json");
        let schema: Value = serde_json::from_str(schema).expect("the schema is JSON");
        let mut found = Vec::new();
        find(&schema, &mut found);
        assert!(!found.is_empty());
        for names in found {
            assert_eq!(*names, Unsettled::ALL.iter().map(|why| why.name()).collect::<Value>());
        }
    }

    /// The values that `unsettled` may have, wherever it stands in `schema`.
    fn find<'a>(schema: &'a Value, found: &mut Vec<&'a Value>) {
        found.extend(schema.pointer("/unsettled/enum"));
        let parts = schema.as_object().into_iter().flat_map(serde_json::Map::values);
        parts.for_each(|part| find(part, found));
    }
}
