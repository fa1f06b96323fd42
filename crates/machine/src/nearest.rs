//! The name that somebody most likely meant.

/// The candidate spelt most like `name`, if one is close enough to be a slip: at most one third of its letters differ.
/// Case, and `-` for `_`, do not count. The first of equals wins.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    // A text much longer than any name is no slip; measuring its distance would only take time.
    if wanted.chars().count() > 64 {
        return None;
    }
    let distance = |candidate: &str| strsim::damerau_levenshtein(&wanted, &plain(candidate));
    let closest =
        candidates.into_iter().map(|candidate| (distance(candidate), candidate)).min_by_key(|&(d, _)| d);
    closest.filter(|&(d, candidate)| d <= candidate.chars().count().div_ceil(3).min(3)).map(|(_, c)| c)
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::nearest;

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
