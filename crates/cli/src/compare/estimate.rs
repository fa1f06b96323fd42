//! Values with intervals, and whether a difference may be chance.

use flitway_report::shown::load;
use serde_json::{Value, json};

/// A value, and half of its 95 % interval where there is one.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) half: Option<f64>,
}

/// What intervals say of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chance {
    /// Both are the same number.
    Equal,
    /// One is within the interval of the ratio.
    Possible,
    /// It is not.
    Excluded,
    /// One of the two has no interval.
    Unknown,
}

impl Estimate {
    /// That at `path` of `point`; the interval of a mean is called `ci95`, that of a load after the load.
    pub(super) fn of(point: &Value, path: &str) -> Option<Self> {
        let number = |path: &str| point.pointer(path).and_then(Value::as_f64);
        let half = match path.strip_suffix("/mean") {
            Some(of) => number(&format!("{of}/ci95")),
            None => number(&format!("{path}_ci95")),
        };
        Some(Estimate { mean: number(path)?, half })
    }

    /// Its ratio to `other`, unless that is nothing; with an interval where both have one.
    pub(super) fn over(&self, other: &Estimate) -> Option<Estimate> {
        let mean = (other.mean != 0.0).then(|| self.mean / other.mean)?;
        let half =
            self.half.zip(other.half).map(|(own, its)| (own / other.mean).hypot(mean * its / other.mean));
        Some(Estimate { mean, half })
    }

    /// Whether this ratio may be one.
    pub(super) fn chance(&self) -> Chance {
        match self.half {
            _ if self.mean == 1.0 => Chance::Equal,
            Some(half) if (self.mean - 1.0).abs() <= half => Chance::Possible,
            Some(_) => Chance::Excluded,
            None => Chance::Unknown,
        }
    }

    /// As the table of a run has it: times to a tenth, loads to four decimals.
    pub(super) fn shown(&self, heading: &str) -> String {
        let number = |it| if heading.ends_with(" ns") { format!("{it:.1}") } else { load(it, 4) };
        let half = self.half.map_or_else(String::new, |half| format!(" +-{}", number(half)));
        format!("{}{half}", number(self.mean))
    }

    pub(super) fn shown_as_ratio(&self) -> String {
        let half = self.half.map_or_else(String::new, |half| format!(" +-{half:.3}"));
        format!("{:.3}{half}", self.mean)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut object = json!({ "mean": self.mean });
        if let Some(half) = self.half {
            object["ci95"] = json!(half);
        }
        object
    }
}

impl Chance {
    /// Behind a ratio.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Chance::Possible => " ~",
            Chance::Unknown => " ?",
            Chance::Equal | Chance::Excluded => "",
        }
    }

    /// What the marks mean, of those that are there, and the interval where there is one.
    pub(super) fn legend(has_interval: bool, marks: &[Chance]) -> String {
        let parts = [
            (Chance::Possible, "~: may be chance"),
            (Chance::Unknown, "?: no interval is known, so this may be chance or not"),
        ];
        let interval = has_interval.then_some("+-: half of the 95 % interval");
        let marked = parts.iter().filter(|(chance, _)| marks.contains(chance)).map(|(_, text)| *text);
        let all: Vec<&str> = interval.into_iter().chain(marked).collect();
        if all.is_empty() { String::new() } else { format!("\n{}", all.join("; ")) }
    }

    /// The object of a `ratio` that it is said of.
    pub(super) fn to_json(self, ratio: &Estimate) -> Value {
        let mut object = ratio.to_json();
        object["chance"] = json!(match self {
            Chance::Equal => "equal",
            Chance::Possible => "possible",
            Chance::Excluded => "excluded",
            Chance::Unknown => "unknown",
        });
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_may_be_one_as_far_as_both_intervals_say() {
        let point = |mean: f64, half: f64| json!({"accepted_load": mean, "accepted_load_ci95": half});
        let of = |mean, half| Estimate::of(&point(mean, half), "/accepted_load").unwrap();
        let ratio = of(0.51, 0.03).over(&of(0.5, 0.04)).unwrap();
        // 1.02 +-1.02 x sqrt((3/51)^2 + (4/50)^2)
        assert_eq!(ratio.shown_as_ratio(), "1.020 +-0.101");
        assert_eq!(ratio.chance(), Chance::Possible);
        let ratio = of(0.51, 0.003).over(&of(0.5, 0.004)).unwrap();
        assert_eq!(ratio.chance(), Chance::Excluded);
        assert_eq!(of(0.5, 0.1).over(&of(0.5, 0.1)).unwrap().chance(), Chance::Equal);
        assert!(of(0.5, 0.1).over(&of(0.0, 0.1)).is_none());
        assert_eq!(of(0.0, 0.1).over(&of(0.5, 0.1)).unwrap().shown_as_ratio(), "0.000 +-0.200");
    }

    #[test]
    fn what_has_no_interval_has_none_in_the_ratio_and_says_so() {
        let latency = json!({"packet_latency_ns": {"mean": 20.0, "ci95": 1.0, "p99": 40.0}});
        let of = |path| Estimate::of(&latency, path).unwrap();
        assert_eq!(of("/packet_latency_ns/mean").shown("latency ns"), "20.0 +-1.0");
        let ratio = of("/packet_latency_ns/p99").over(&of("/packet_latency_ns/mean")).unwrap();
        assert_eq!((ratio.shown_as_ratio().as_str(), ratio.chance()), ("2.000", Chance::Unknown));
        assert!(Estimate::of(&latency, "/accepted_load").is_none());
        let legend = Chance::legend(false, &[Chance::Unknown, Chance::Equal]);
        assert_eq!(legend, "\n?: no interval is known, so this may be chance or not");
        assert_eq!(Chance::legend(false, &[Chance::Equal]), "");
    }
}
