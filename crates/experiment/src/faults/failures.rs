//! Failures at a rate: links that are drawn fail at times that are drawn.

use super::{given, number, picos};
use flitway_engine::random::{Purpose, Stream};
use flitway_wiring::topology::{LinkId, Topology};
use flitway_workload::catalog::{Choice, ChoiceError, Entry, Parameter};
use std::collections::BTreeMap;

pub(super) const FAILURES: Entry = Entry {
    name: "failures",
    aliases: &[],
    doc: "links fail at random, so many in a time",
    details: "Between `from` and `to` as many links fail as `every` goes into that time, each at a time and a place that the seed \
              draws; a link that has failed is not drawn again before it is mended. They are cut, or have `good` lanes left. \
              With `repair` each works again after that time; without, never.",
    parameters: &[
        Parameter {
            name: "every",
            expected: "a time, such as `50us`",
            default: None,
            doc: "The mean time between two failures of all links that can fail.",
        },
        Parameter {
            name: "to",
            expected: "a time after `from`, such as `1ms`",
            default: None,
            doc: "Until when they fail.",
        },
        Parameter {
            name: "from",
            expected: "a time, such as `20us`",
            default: Some("0us"),
            doc: "From when on.",
        },
        Parameter {
            name: "repair",
            expected: "a time above 0, such as `30us`",
            default: Some(""),
            doc: "How long each failure lasts; for ever unless given.",
        },
        Parameter {
            name: "links",
            expected: "a class of links of the machine, such as `node` or `level-1`",
            default: Some(""),
            doc: "The links that can fail; all unless given.",
        },
        Parameter {
            name: "good",
            expected: "how many lanes are left",
            default: Some(""),
            doc: "Lanes that still work; none unless given, and the link is cut.",
        },
        super::RAIL,
    ],
};

/// The most failures of a rule.
const COUNT_MAX: u64 = 100_000;

/// The rule, as written; times are in picoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Failures {
    every: u64,
    span: [u64; 2],
    repair: Option<u64>,
    class: Option<String>,
    /// Lanes that are left, of links that are not cut.
    pub(super) good: Option<u32>,
    /// Of which rail.
    pub(super) rail: u32,
}

/// A link that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) link: LinkId,
    pub(super) at: u64,
    pub(super) until: Option<u64>,
}

pub(super) fn read(choice: &Choice) -> Result<Failures, ChoiceError> {
    let every = choice.value(0, |text| picos(text).filter(|&every| every > 0))?;
    let from = choice.value(2, picos)?;
    let to = choice.value(1, |text| picos(text).filter(|&to| to > from))?;
    Ok(Failures {
        every,
        span: [from, to],
        repair: choice.value(3, given(|text| picos(text).filter(|&repair| repair > 0)))?,
        class: choice.value(4, given(|text| Some(text.to_owned())))?,
        good: choice.value(5, given(number))?,
        rail: choice.value(6, number)?,
    })
}

impl Failures {
    /// Which links of `topology` fail when, drawn from `seed`, in the order of time. `place` tells rules of one run apart.
    ///
    /// # Errors
    /// If there are no such links, if none or too many fail, or if more fail at a time than there are.
    pub(super) fn draw(&self, topology: &Topology, seed: u64, place: u64) -> Result<Vec<Failure>, String> {
        let links = self.links(topology)?;
        let [from, to] = self.span;
        let count = (to - from) / self.every;
        match count {
            0 => return Err("`every` is longer than the time from `from` to `to`: nothing fails".to_owned()),
            1..=COUNT_MAX => {}
            _ => {
                return Err(format!(
                    "{count} links would fail, expected up to {COUNT_MAX}: a longer `every`"
                ));
            }
        }
        let mut stream = Stream::new(seed, place, Purpose::Failure);
        let mut times: Vec<u64> = (0..count).map(|_| from + stream.below(to - from)).collect();
        times.sort_unstable();
        // Links that have failed, and until when.
        let mut down: BTreeMap<LinkId, Option<u64>> = BTreeMap::new();
        let mut failures = Vec::new();
        for at in times {
            down.retain(|_, until| until.is_none_or(|until| until > at));
            if down.len() == links.len() {
                let what =
                    self.class.as_deref().map_or(String::new(), |class| format!(" of class `{class}`"));
                return Err(format!(
                    "all {} links{what} have failed at some time: expected fewer failures, or a shorter `repair`",
                    links.len()
                ));
            }
            let link = loop {
                let link = links[stream.below(links.len() as u64) as usize];
                if !down.contains_key(&link) {
                    break link;
                }
            };
            let until = self.repair.map(|repair| at + repair);
            down.insert(link, until);
            failures.push(Failure { link, at, until });
        }
        Ok(failures)
    }

    /// The links that can fail.
    fn links(&self, topology: &Topology) -> Result<Vec<LinkId>, String> {
        let classes = topology.classes();
        let class = match &self.class {
            None => None,
            Some(class) => Some(classes.iter().position(|it| it == class).ok_or_else(|| {
                let known: Vec<String> = classes.iter().map(|it| format!("`{it}`")).collect();
                format!("no link is of class `{class}`: expected one of {}", known.join(", "))
            })?),
        };
        let of_class =
            |link: &LinkId| class.is_none_or(|class| topology.links()[link.index()].class as usize == class);
        Ok((0..topology.links().len()).map(LinkId::new).filter(of_class).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_wiring::topology::TopologySettings;

    fn failures(class: Option<&str>, repair: Option<u64>) -> Failures {
        let class = class.map(str::to_owned);
        Failures { every: 10, span: [100, 1_100], repair, class, good: None, rail: 0 }
    }

    #[test]
    fn as_many_fail_as_the_rate_says_and_none_that_is_down() {
        let topology = Topology::build(&TopologySettings::FatTree { ports: 4, levels: 2 }).unwrap();
        let drawn = failures(Some("level-1"), Some(20)).draw(&topology, 1, 0).unwrap();
        assert_eq!(drawn.len(), 100);
        for (place, failure) in drawn.iter().enumerate() {
            assert!((100..1_100).contains(&failure.at) && failure.until == Some(failure.at + 20));
            let class = topology.links()[failure.link.index()].class as usize;
            assert_eq!(topology.classes()[class], "level-1");
            let is_down = |it: &&Failure| it.link == failure.link && it.until > Some(failure.at);
            assert_eq!(drawn[..place].iter().filter(is_down).count(), 0, "{failure:?}");
        }
        assert!(drawn.is_sorted_by_key(|failure| failure.at));
        let again = |seed, place| failures(None, Some(20)).draw(&topology, seed, place).unwrap();
        assert_eq!(again(1, 0), again(1, 0));
        assert!(again(1, 0) != again(2, 0) && again(1, 0) != again(1, 1), "the seed and the rule decide");
    }

    #[test]
    fn what_cannot_be_drawn_says_why() {
        let topology = Topology::build(&TopologySettings::FatTree { ports: 4, levels: 2 }).unwrap();
        let message = |failures: Failures| failures.draw(&topology, 1, 0).unwrap_err();
        assert!(message(failures(Some("board"), None)).contains("expected one of `node`, `level-1`"));
        assert!(message(failures(None, None)).contains("have failed at some time"));
        assert!(message(Failures { every: 2_000, ..failures(None, None) }).contains("nothing fails"));
        assert!(message(Failures { span: [0, u64::MAX], ..failures(None, None) }).contains("longer `every`"));
    }
}
