//! The kinds of workload: which one is meant, and what it takes.

use super::option::{WorkloadOption, WorkloadOptions, argument, named};
use super::{KINDS, KindId, Problem, Surroundings, Workload, listed};

/// A kind of workload.
#[derive(Debug)]
pub struct Kind {
    /// As the table of options names it.
    pub id: KindId,
    /// In words.
    pub name: &'static str,
    /// The options that ask for it.
    pub selectors: &'static [&'static str],
    /// Whether some options ask for it.
    pub(super) asks: fn(&Kind, &WorkloadOptions) -> bool,
    /// A value of the first of them.
    pub example: &'static str,
    /// The heading of its section of the help, if it has one.
    pub heading: &'static str,
    /// The options that it brings.
    pub(super) options: &'static [WorkloadOption],
    /// The options of other kinds that it takes, too.
    pub(super) shares: &'static [&'static str],
    /// The option that has no one default: where each run is one point, it has to be given.
    pub of_a_point: Option<&'static str>,
    /// The numbers in the result of a point, in parts: path and unit.
    pub fields: &'static [&'static [(&'static str, &'static str)]],
    pub(super) check: fn(&WorkloadOptions, &Surroundings<'_>) -> Result<Workload, Vec<Problem>>,
}

impl Kind {
    /// Every kind.
    #[must_use]
    pub fn all() -> &'static [Kind] {
        KINDS
    }

    /// The kind that `options` ask for.
    #[must_use]
    pub fn of(options: &WorkloadOptions) -> &'static Kind {
        let asked = KINDS.iter().find(|kind| (kind.asks)(kind, options));
        asked.unwrap_or(&KINDS[KINDS.len() - 1])
    }

    /// Whether each option is given that asks for it.
    pub(super) fn is_selected(&self, options: &WorkloadOptions) -> bool {
        self.selectors.iter().all(|name| options.is_given(name))
    }

    /// The options that it takes: first those of what asks for it, last those of synthetic traffic.
    #[must_use]
    pub fn taken(&self) -> Vec<&'static WorkloadOption> {
        let parts: Vec<KindId> = self.selectors.iter().filter_map(|name| part_of(name)).collect();
        let place = |option: &&WorkloadOption| {
            let asked = parts.iter().position(|part| *part == option.part);
            asked.unwrap_or(parts.len() + usize::from(option.part == KindId::Traffic))
        };
        let table = WorkloadOptions::table().iter().copied();
        let mut options: Vec<_> = table.filter(|option| self.takes(option.name)).collect();
        options.sort_by_key(place);
        options
    }

    /// Whether it takes the option `name`.
    #[must_use]
    pub fn takes(&self, name: &str) -> bool {
        self.shares.contains(&name) || self.options.iter().any(|option| option.name == name)
    }

    /// What asks for it, in words.
    fn asked_by(&self) -> String {
        listed(self.selectors.iter().map(|name| format!("`{name}`")), "with")
    }

    /// Whether it is asked for by one option, or no kind that is takes the option `name`.
    fn asks_first(&self, name: &str) -> bool {
        self.selectors.len() == 1 || !KINDS.iter().any(|kind| kind.selectors.len() == 1 && kind.takes(name))
    }

    /// That it does not take the option `name`.
    pub(super) fn misplaced(&self, name: &'static str) -> Problem {
        // Kinds that are asked for together have the options of each.
        let takers = || KINDS.iter().filter(|kind| kind.takes(name) && kind.asks_first(name));
        let names = listed(takers().map(|kind| kind.name.to_owned()), "and");
        let message = format!("`{name}` is an option of {names}, not of {}", self.name);
        let parts = self.taken().into_iter().filter(|option| option.name.ends_with(&format!("_{name}")));
        let parts: Vec<String> = parts.map(|option| format!("`{}`", option.argument())).collect();
        if !parts.is_empty() {
            return Problem::new(name, message).help(format!("use {}", parts.join(" and ")));
        }
        // `multicast_by` is the `by` of multicasts alone; `multicast_load` is no `load` of them.
        let alone =
            name.rsplit_once('_').filter(|(of, alone)| self.selectors.contains(of) && self.takes(alone));
        if let Some((_, alone)) = alone {
            let help = format!("use `{}`, since nothing runs beside it", argument(alone));
            return Problem::new(name, message).help(help);
        }
        let only = takers().next().filter(|kind| takers().count() == 1 && !kind.selectors.is_empty());
        let example = |kind: &Kind| format!("`{} {}`", argument(kind.selectors[0]), kind.example);
        if self.id != KindId::Traffic {
            let asked = self.selectors.iter().chain([&name]).map(|name| format!("`{}`", argument(name)));
            let more = only.map_or_else(String::new, |kind| format!(", or add {}", example(kind)));
            return Problem::new(name, message).help(format!("leave out {}{more}", listed(asked, "or")));
        }
        let asking = takers().filter(|kind| !kind.selectors.is_empty());
        let selectors = listed(asking.map(Kind::asked_by), "or");
        let as_in = only.map_or_else(String::new, |kind| format!(", as in {}", example(kind)));
        Problem::new(name, message).help(format!("what asks for that is {selectors}{as_in}"))
    }
}

/// What the option `name` is about.
pub(super) fn part_of(name: &str) -> Option<KindId> {
    named(name).map(|option| option.part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of the option `name` where the kind with the selectors of `id` is meant.
    fn help(id: KindId, name: &'static str) -> String {
        let kind = KINDS.iter().find(|kind| kind.id == id).unwrap();
        kind.misplaced(name).help.unwrap()
    }

    #[test]
    fn what_is_missing_or_too_much_is_told_with_what_to_write() {
        for (id, name, expected) in [
            (
                KindId::Traffic,
                "multicast_load",
                "what asks for that is `multicast`, as in `--multicast broadcast`",
            ),
            (KindId::Traffic, "multicast_by", "what asks for that is `multicast` with `barrier`"),
            (KindId::Traffic, "by", "what asks for that is `multicast` or `barrier`"),
            (
                KindId::Barrier,
                "multicast_load",
                "leave out `--barrier` or `--multicast-load`, or add `--multicast broadcast`",
            ),
            (KindId::Barrier, "barrier_by", "use `--by`, since nothing runs beside it"),
            (
                KindId::Multicast,
                "interval",
                "leave out `--multicast` or `--interval`, or add `--barrier all`",
            ),
            (KindId::Graph, "count", "leave out `--graph` or `--count`"),
            (KindId::Graph, "precision", "leave out `--graph` or `--precision`"),
            (KindId::Together, "by", "use `--multicast-by` and `--barrier-by`"),
            (KindId::Mix, "warm_up", "leave out `--warm-up`"),
        ] {
            assert_eq!(help(id, name), expected, "{name}");
        }
    }
}
