//! The name that somebody most likely meant.

/// The candidate spelt most like `name`, if one is close enough to be a slip: at most one third of its letters differ.
/// Case, and `-` for `_`, do not count. The first of equals wins.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(name, candidates, 3)
}

/// The same with at most `furthest` letters different.
pub(crate) fn nearest_within<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    furthest: usize,
) -> Option<&'a str> {
    let wanted = plain(name);
    // A text much longer than any name is no slip; measuring its distance would only take time.
    if wanted.chars().count() > 64 {
        return None;
    }
    let distance = |candidate: &str| strsim::damerau_levenshtein(&wanted, &plain(candidate));
    let closest =
        candidates.into_iter().map(|candidate| (distance(candidate), candidate)).min_by_key(|&(d, _)| d);
    closest.filter(|&(d, candidate)| d <= candidate.chars().count().div_ceil(3).min(furthest)).map(|(_, c)| c)
}

/// A question about what `name` may have been meant for: the nearest, or else all that begin so.
pub(crate) fn meant(name: &str, names: &[&str]) -> Option<String> {
    let wanted = plain(name);
    let begun = names.iter().copied().filter(|name| wanted.len() > 1 && plain(name).starts_with(&wanted));
    let mut all = nearest(name, names.iter().copied()).map_or_else(|| begun.collect(), |one| vec![one]);
    let last = format!("`{}`", all.pop()?);
    let rest: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
    Some(match rest.is_empty() {
        true => format!("did you mean {last}?"),
        false => format!("did you mean {} or {last}?", rest.join(", ")),
    })
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::{meant, nearest};

    #[test]
    fn a_beginning_may_be_meant_for_several() {
        let names = ["hpp-switch", "mesh-8x8", "dawning5000", "dawning5000-asic", "dawning5000-hpp"];
        let ask = |name: &str| meant(name, &names);
        assert_eq!(ask("hpp").unwrap(), "did you mean `hpp-switch`?");
        assert_eq!(ask("mesh8x8").unwrap(), "did you mean `mesh-8x8`?");
        let all = "did you mean `dawning5000`, `dawning5000-asic` or `dawning5000-hpp`?";
        assert_eq!(ask("dawning").unwrap(), all);
        assert_eq!(ask("h"), None);
        assert_eq!(ask(""), None);
    }

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let names = ["vcs", "buffer", "show_ahead", "dawning5000", "dawning5000-asic"];
        for (slip, meant) in [
            ("vc", Some("vcs")),
            ("bufer", Some("buffer")),
            ("show-ahead", Some("show_ahead")),
            ("Showahead", Some("show_ahead")),
            ("dawning", None),
            ("dawning500", Some("dawning5000")),
            ("bandwidth", None),
            ("", None),
        ] {
            assert_eq!(nearest(slip, names), meant, "{slip}");
        }
    }
}
