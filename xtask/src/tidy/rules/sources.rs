//! An identifier of a source (`P-HP-007`, `OQ-H5`) leads somewhere: a page says what it is.

use super::super::{Findings, Rule, tree::Tree};
use std::collections::BTreeSet;

pub(in super::super) const RULE: Rule = Rule { name: "sources", check };

/// The page that lists them.
const PAGE: &str = "docs/sources.md";

fn check(tree: &Tree, findings: &mut Findings) {
    let listed: BTreeSet<&str> = tree
        .files()
        .iter()
        .filter(|file| file.path == PAGE)
        .flat_map(|file| file.lines())
        .filter_map(|(_, line)| line.strip_prefix("| ")?.split(' ').next())
        .filter(|word| identifiers(word).next() == Some(*word))
        .collect();
    for file in tree.files().iter().filter(|file| file.path != PAGE && !file.path.starts_with("xtask/")) {
        for (number, line) in file.lines() {
            for name in identifiers(line).filter(|name| !listed.contains(name)) {
                findings.add(
                    &file.path,
                    number,
                    format!("`{name}` is not in {PAGE}; add a line that says what it is"),
                );
            }
        }
    }
}

/// The identifiers in a line: `P-`, two capital letters, `-` and digits, or `OQ-`, a capital letter and digits.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    words.filter(|word| {
        let rest = match (word.strip_prefix("OQ-"), word.strip_prefix("P-")) {
            (Some(rest), _) => rest.strip_prefix(|letter: char| letter.is_ascii_uppercase()),
            (_, Some(rest)) => rest.split_once('-').filter(|(of, _)| is_paper(of)).map(|(_, digits)| digits),
            _ => None,
        };
        rest.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
    })
}

fn is_paper(letters: &str) -> bool {
    letters.len() == 2 && letters.bytes().all(|letter| letter.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::found;
    use super::*;

    #[test]
    fn an_identifier_that_leads_nowhere_is_found() {
        let bad = [
            (PAGE, "| P-HP-007 | the clock | 4 |\nOQ-H5 is no line of the list\n"),
            ("machines/a.toml", "clock = \"1 GHz\" # P-HP-007, P-HP-008 and OQ-H5\n"),
        ];
        assert_eq!(
            found(&RULE, &bad),
            [
                "machines/a.toml:1: `OQ-H5` is not in docs/sources.md; add a line that says what it is",
                "machines/a.toml:1: `P-HP-008` is not in docs/sources.md; add a line that says what it is",
            ]
        );
    }

    #[test]
    fn listed_ones_and_other_words_pass() {
        let good = [
            (PAGE, "| P-HP-007 | the clock | 4 |\n| OQ-H14 | engines | one |\n"),
            ("docs/settings.md", "(P-HP-007); OQ-H14, P-..., OQ-... P-HP- P-core-1 OQ-14\n"),
        ];
        assert_eq!(found(&RULE, &good), [""; 0]);
    }
}
